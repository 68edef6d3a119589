"""Why there is no design: the smallest cause that can be found, by name and number."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from evenhand.compiled import Codes
from evenhand.design.task import Flags, Task
from evenhand.errors import NoDesignError
from evenhand.words import count_of, is_or_are, name_some


def no_design(task: Task) -> NoDesignError:
    """Return why no choice of pairs keeps the numbers of assessments, looking at single members before groups."""
    for look in (_fixed_pairs, _one_object, _one_assessor, _in_all, _objects_together, _assessors_together):
        error = look(task)
        if error is not None:
            return error
    return NoDesignError(
        "No design keeps all rules together: the least and most assessments per assessor, those per object, conflicts "
        "and fixed pairs. Each of them can be kept on its own; relax the loads first.",
        kind="together",
    )


def _fixed_pairs(task: Task) -> NoDesignError | None:
    loads, readings = task.loads(task.fixed), task.readings(task.fixed)
    for count, most, labels, is_object in (
        (loads, task.most_load, task.assessors, False),
        (readings, task.most, task.objects, True),
    ):
        over = count - most
        if not (over > 0).any():
            continue
        at = int(np.argmax(over))
        who = f"Object {labels[at]} has" if is_object else f"Assessor {labels[at]} has"
        rule = "may be read" if is_object else "may read"
        return NoDesignError(
            f"{who} {count_of(int(count[at]), 'fixed pair')} and {rule} at most {int(most[at])}: "
            f"{int(over[at])} too many. Free some of these pairs, or allow more.",
            kind="fixed",
            objects=[labels[at]] if is_object else [],
            assessors=[] if is_object else [labels[at]],
            short=int(over[at]),
        )
    return None


def _in_conflict(task: Task, *, object_: int | None = None, assessor: int | None = None) -> int:
    """Return how many conflicts an object or an assessor has."""
    of_object, of_assessor = np.divmod(task.conflicts, task.n_assessors)
    return int((of_object == object_).sum() if object_ is not None else (of_assessor == assessor).sum())


def _one_object(task: Task) -> NoDesignError | None:
    willing = (task.most_load > 0)[task.assessor]
    possible = np.bincount(task.object[willing], minlength=task.n_objects)
    short = task.least - possible
    if not (short > 0).any():
        return None
    at = int(np.argmax(short))
    label, conflicts = task.objects[at], _in_conflict(task, object_=at)
    others = int((short > 0).sum()) - 1
    reason = f"; {count_of(conflicts, 'assessor')} of {task.n_assessors} are in conflict with it" if conflicts else ""
    more = f" {count_of(others, 'more object')} lack assessors too." if others else ""
    everybody = count_of(task.n_assessors, "assessor")
    who = (
        f"only {int(possible[at])} of {everybody} may read it"
        if possible[at] < task.n_assessors
        else f"there are only {everybody}"
    )
    return NoDesignError(
        f"Object {label} needs {count_of(int(task.least[at]), 'assessment')}, and {who}{reason}: "
        f"{int(short[at])} short.{more} "
        "Find further assessors, lift conflicts, or ask for fewer assessments.",
        kind="object",
        objects=[task.objects[i] for i in np.flatnonzero(short > 0).tolist()],
        short=int(short[at]),
    )


def _one_assessor(task: Task) -> NoDesignError | None:
    possible = np.minimum(np.bincount(task.assessor, minlength=task.n_assessors), task.most_load)
    short = task.least_load - possible
    if not (short > 0).any():
        return None
    at = int(np.argmax(short))
    label, least = task.assessors[at], int(task.least_load[at])
    if task.least_load[at] > task.most_load[at]:
        why = f"and at most {int(task.most_load[at])}"
    else:
        conflicts = _in_conflict(task, assessor=at)
        why = f"and may read only {count_of(int(possible[at]), 'object')}"
        why += f" ({count_of(conflicts, 'conflict')})" if conflicts else ""
    return NoDesignError(
        f"Assessor {label} is to read at least {least} {why}: {int(short[at])} short. Lower the least load, or lift "
        "conflicts.",
        kind="load",
        assessors=[label],
        short=int(short[at]),
    )


def _in_all(task: Task) -> NoDesignError | None:
    room, needed = int(task.most_load.sum()), max(task.total, int(task.least.sum()))
    if room < needed:
        return NoDesignError(
            f"{count_of(task.n_objects, 'object')} need {count_of(needed, 'assessment')} in all, and "
            f"{count_of(task.n_assessors, 'assessor')} have room for {room:,}: {needed - room:,} short. Raise the "
            "most load, find further assessors, or ask for fewer assessments per object.",
            kind="capacity",
            short=needed - room,
        )
    least, most = int(task.least_load.sum()), min(task.total, int(task.most.sum()))
    if least > most:
        return NoDesignError(
            f"The assessors are to read at least {least:,} in all; the objects take {count_of(most, 'assessment')}: "
            f"{least - most:,} too many. Lower the least load, or ask for more assessments per object.",
            kind="capacity",
            short=least - most,
        )
    return None


def _cut(need: Codes, room: Codes, tail: Codes, head: Codes) -> Flags | None:
    """Return which of the needy cannot all be served; None if they can.

    Each of some pairs can carry one unit from ``tail``, which has room, to ``head``, which has needs. By the theorem of
    Ford and Fulkerson the needs that cannot be met are those on the far side of a smallest cut.
    """
    n_room, n_need = room.size, need.size
    source, sink = n_room + n_need, n_room + n_need + 1
    rows = np.concatenate([np.full(n_room, source), tail, n_room + np.arange(n_need)])
    columns = np.concatenate([np.arange(n_room), n_room + head, np.full(n_need, sink)])
    capacity = np.concatenate([room, np.ones(tail.size, dtype=np.int64), need]).astype(np.int32)
    network = sp.csr_array((capacity, (rows, columns)), shape=(sink + 1, sink + 1))
    found = maximum_flow(network, source, sink)
    if int(found.flow_value) >= int(need.sum()):
        return None
    left = sp.csr_array(network - found.flow)
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    # whoever can still pass something on to the sink is not the cause
    backwards = sp.csr_array(left.T)
    reached = np.zeros(sink + 1, dtype=bool)
    order = sp.csgraph.breadth_first_order(backwards, sink, return_predecessors=False)
    reached[order] = True
    return np.asarray(reached[n_room : n_room + n_need], dtype=bool)


def _smallest(need: Codes, room: Codes, tail: Codes, head: Codes, group: Flags) -> tuple[Flags, int]:
    """Return a group of which nobody can be left out without its shortage going away, and the shortage."""

    def shortage(some: Flags) -> int:
        served = np.minimum(room, np.bincount(tail[some[head]], minlength=room.size))  # at most one to each member
        return int(need[some].sum() - served.sum())

    for member in np.flatnonzero(group).tolist():
        rest = group.copy()
        rest[member] = False
        if shortage(rest) > 0:
            group = rest
    return group, shortage(group)


def _objects_together(task: Task) -> NoDesignError | None:
    group = _cut(task.least, task.most_load, task.assessor, task.object)
    if group is None:
        return None
    group, short = _smallest(task.least, task.most_load, task.assessor, task.object, group)
    labels = [task.objects[i] for i in np.flatnonzero(group).tolist()]
    readers = np.unique(task.assessor[group[task.object]])
    names = [task.assessors[i] for i in readers.tolist()]
    needed = int(task.least[group].sum())
    return NoDesignError(
        f"{_objects(labels)} need {count_of(needed, 'assessment')} together, and the "
        f"{count_of(len(names), 'assessor')} who may read them ({name_some(names, 4)}) can give {needed - short}: "
        f"{short} short. Raise the load of these assessors, lift conflicts, or find further assessors.",
        kind="capacity",
        objects=labels,
        assessors=names,
        short=short,
    )


def _assessors_together(task: Task) -> NoDesignError | None:
    group = _cut(task.least_load, task.most, task.object, task.assessor)
    if group is None:
        return None
    group, short = _smallest(task.least_load, task.most, task.object, task.assessor, group)
    names = [task.assessors[i] for i in np.flatnonzero(group).tolist()]
    needed = int(task.least_load[group].sum())
    return NoDesignError(
        f"Assessors {name_some(names, 4)} are to read at least {needed} together, and the objects that they may read "
        f"take {needed - short} from them: {short} short. Lower their least load, or lift conflicts.",
        kind="load",
        assessors=names,
        short=short,
    )


def _objects(labels: list[str]) -> str:
    return f"Object {labels[0]}" if len(labels) == 1 else f"Objects {name_some(labels, 4)}"


def no_connection(task: Task) -> NoDesignError | None:
    """Return why no design can be connected, where the reason is simple; None where there is no simple reason."""
    n_objects = task.n_objects
    needed = n_objects + _fewest_assessors(task) - 1
    if task.total < needed:
        short = needed - task.total
        return NoDesignError(
            f"{count_of(n_objects, 'object')} and {count_of(needed + 1 - n_objects, 'assessor')}, the fewest that will "
            f"do, can be compared with each other only through {count_of(needed, 'assessment')} or more, and "
            f"{task.total:,} are asked for: {short:,} short. Ask for more assessments per object.",
            kind="connection",
            short=short,
        )
    count, group = task.components((task.most_load > 0)[task.assessor])
    groups = np.unique(group[:n_objects])
    if groups.size == 1:
        return None
    sizes = np.bincount(group[:n_objects], minlength=count)
    smallest = int(groups[np.argmin(sizes[groups])])
    objects = [task.objects[i] for i in np.flatnonzero(group[:n_objects] == smallest).tolist()]
    assessors = [task.assessors[i] for i in np.flatnonzero(group[n_objects:] == smallest).tolist()]
    return NoDesignError(
        f"The objects fall into {groups.size} groups that no assessor may read across, so that they could not be "
        f"compared: the smallest is {_objects(objects)[0].lower() + _objects(objects)[1:]}, for which only "
        f"{'assessor' if len(assessors) == 1 else 'assessors'} {name_some(assessors, 4)} "
        f"{is_or_are(len(assessors))} possible. Let one of them read outside the group, or one from "
        f"outside within it: {groups.size - 1} short.",
        kind="groups",
        objects=objects,
        assessors=assessors,
        short=int(groups.size - 1),
    )


def _fewest_assessors(task: Task) -> int:
    """Return how many assessors any design employs at the least."""
    must = (task.least_load > 0) | (task.loads(task.fixed) > 0)
    rest = task.total - int(task.most_load[must].sum())
    if rest <= 0:
        return int(must.sum())
    room = np.cumsum(np.sort(task.most_load[~must])[::-1])
    return int(must.sum()) + int(np.searchsorted(room, rest)) + 1
