"""Why there is no design: a smallest set of rules that cannot be kept together, by name and number."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from evenhand.compiled import Codes, Flags
from evenhand.design.program import by_integers
from evenhand.design.rules import APART, EACH_OTHER
from evenhand.design.task import Task
from evenhand.errors import NoDesignError
from evenhand.words import count_of, is_or_are, name_some

MOST_PAIRS: Final = 20_000
"""Up to this many pairs, integer programmes tell which rules are to blame."""

MOST_CONNECTED: Final = 600
"""Up to this many, where the design is to be connected too."""

SECONDS: Final = 20.0
"""Looking for a smaller cause takes at most this long."""


def no_design(task: Task, *, connected: bool = False) -> NoDesignError:
    """Return why no choice of pairs keeps all rules, looking at single members before groups.

    ``connected`` if there are designs that keep the rules, and none of them is connected.
    """
    if not connected:
        error = simple_cause(task)
        for look in (_objects_together, _assessors_together):
            error = error or look(task)
        if error is not None:
            return error
    culprits, is_smallest = _smallest(task, _kinds(task, connected=connected))
    if culprits is not None:
        return _in_words(task, culprits, is_smallest=is_smallest)
    end = " in a connected design" if connected else ""
    pairs, most = _wide(task).n_pairs, MOST_CONNECTED if connected else MOST_PAIRS
    why = f"was not found within {SECONDS:g} seconds"
    if pairs > most:
        why = f"was not searched for: that is done up to {most:,} pairs of an assessor and an object, not for {pairs:,}"
    return NoDesignError(
        f"No design keeps all rules together{end}: the least and most assessments per assessor, those per object, "
        f"conflicts, fixed pairs, and who may read together. Which of them are to blame {why}. Relax the loads first, "
        "then leave out one kind of rule after another.",
        kind="together",
    )


def simple_cause(task: Task) -> NoDesignError | None:
    """Return why there is no design where a single member or a sum tells; None where there is no simple reason."""
    for look in (_fixed_pairs, _one_object, _one_assessor, _in_all):
        error = look(task)
        if error is not None:
            return error
    return None


# --- which rules ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Culprit:
    """Rules of one kind that are dropped together or not at all: positions among the task's."""

    kind: str
    """``per_object``, ``min_load``, ``max_load``, ``fixed``, ``conflicts``, ``limit``, ``linked`` or ``connected``."""
    members: tuple[int, ...] = ()


CONFLICTS: Final = Culprit("conflicts", (0,))
CONNECTED: Final = Culprit("connected", (0,))


def _wide(task: Task) -> Task:
    """Return the task with every pair possible, where that is known and small enough; otherwise as it is."""
    if task.n_objects * task.n_assessors > MOST_PAIRS or task.wide is None:
        return task
    wide = task.wide()
    is_fixed = np.isin(wide.keys, task.keys[task.fixed])
    bounds = {name: getattr(task, name) for name in ("least", "most", "least_load", "most_load", "total", "linked")}
    return replace(wide, fixed=is_fixed, **bounds)


def _kinds(task: Task, *, connected: bool) -> list[Culprit]:
    """Return all rules of a task, one culprit for each kind, those first that had best not be to blame."""
    wide = _wide(task)
    kinds = [
        *(
            Culprit("limit", tuple(np.flatnonzero(wide.limits.kind == kind).tolist()))
            for kind in range(len(wide.limits.names))
        ),
        Culprit("linked", tuple(range(len(task.linked)))),
        Culprit("fixed", tuple(np.flatnonzero(wide.fixed).tolist())),
        *([CONFLICTS] if wide.n_pairs > task.n_pairs else []),
        Culprit("min_load", tuple(np.flatnonzero(task.least_load > 0).tolist())),
        Culprit("max_load", tuple(np.flatnonzero(task.most_load < task.n_objects).tolist())),
        Culprit("per_object", tuple(range(task.n_objects))),
        *([CONNECTED] if connected else []),
    ]
    return [one for one in kinds if one.members]


def _smallest(task: Task, kinds: Sequence[Culprit]) -> tuple[list[Culprit] | None, bool]:
    """Return culprits that cannot all be kept, and whether none of them can be left out, or there was no time to see.

    They are None where it is not known that they cannot be kept. First whole kinds are left out that are not needed,
    then single rules of those that are left.
    """
    wide = _wide(task)
    connected = any(one.kind == "connected" for one in kinds)
    if wide.n_pairs > (MOST_CONNECTED if connected else MOST_PAIRS):
        return None, False
    barred = ~np.isin(wide.keys, task.keys)
    end, in_time = time.monotonic() + SECONDS, True

    def is_impossible(some: Sequence[Culprit]) -> bool:
        nonlocal in_time
        left = end - time.monotonic()
        if left <= 0:
            in_time = False
            return False
        relaxed, ruled_out = _relaxed(wide, some, barred)
        together = any(one.kind == "connected" for one in some)
        zero = np.zeros(wide.n_pairs)
        is_counted = bool((task.least != task.most).any())
        found, is_proof = by_integers(
            relaxed, zero, connected=together, counted=is_counted, barred=ruled_out, seconds=left
        )
        in_time = in_time and (found is not None or is_proof)
        return found is None and is_proof

    left = list(kinds)
    if not is_impossible(left):
        return None, False
    left = _needed(left, is_impossible)
    single = [Culprit(one.kind, (member,)) for one in left for member in one.members]
    return _needed(single, is_impossible), in_time


def _needed(some: list[Culprit], is_impossible: Callable[[Sequence[Culprit]], bool]) -> list[Culprit]:
    """Return culprits without those that are not needed: halves are tried first, then quarters, and so on."""
    left, size = list(some), max(len(some) // 2, 1)
    while True:
        at = 0
        while at < len(left):
            rest = left[:at] + left[at + size :]
            if len(rest) < len(left) and is_impossible(rest):
                left = rest
            else:
                at += size
        if size == 1:
            return left
        size = max(size // 2, 1)


def _relaxed(wide: Task, some: Sequence[Culprit], barred: Flags) -> tuple[Task, Flags]:
    """Return a task with some rules only, and the pairs that must not be chosen."""

    def chosen(kind: str, count: int) -> Flags:
        flags = np.zeros(count, dtype=bool)
        flags[[member for one in some if one.kind == kind for member in one.members]] = True
        return flags

    n_objects, n_assessors = wide.n_objects, wide.n_assessors
    asked, least, most = (
        chosen("per_object", n_objects),
        chosen("min_load", n_assessors),
        chosen("max_load", n_assessors),
    )
    task = replace(
        wide,
        fixed=wide.fixed & chosen("fixed", wide.n_pairs),
        least=np.where(asked, wide.least, 0),
        most=np.where(asked, wide.most, n_assessors),
        least_load=np.where(least, wide.least_load, 0),
        most_load=np.where(most, wide.most_load, n_objects),
        limits=wide.limits.some(chosen("limit", len(wide.limits))),
        linked=wide.linked[chosen("linked", len(wide.linked))],
    )
    return task, barred if chosen("conflicts", 1)[0] else np.zeros(barred.size, dtype=bool)


def _pairs(task: Task, at: Sequence[int]) -> list[tuple[str, str]]:
    """Return the labels of pairs, assessor and object."""
    return [(task.assessors[task.assessor[one]], task.objects[task.object[one]]) for one in at]


def _cause(task: Task, culprits: Sequence[Culprit]) -> list[tuple[object, ...]]:
    """Return rules by name, as `NoDesignError.cause` says."""
    wide, found = _wide(task), list[tuple[object, ...]]()
    labels = {"per_object": task.objects, "min_load": task.assessors, "max_load": task.assessors}
    for one in culprits:
        if one.kind in labels and len(one.members) == len(labels[one.kind]) > 1:
            found.append((one.kind,))
            continue
        for at in one.members:
            if one.kind in labels:
                found.append((one.kind, labels[one.kind][at]))
            elif one.kind == "fixed":
                found.append(("fixed", *_pairs(wide, [at])[0]))
            elif one.kind == "limit":
                limits = wide.limits
                pairs = _pairs(wide, limits.pair[limits.start[at] : limits.start[at + 1]].tolist())
                found.append(("limit", limits.names[limits.kind[at]], tuple(pairs)))
            elif one.kind == "linked":
                found.append(("linked", *(task.objects[o] for o in task.linked[at].tolist())))
            else:
                found.append((one.kind,))
    return found


def _in_words(task: Task, culprits: Sequence[Culprit], *, is_smallest: bool) -> NoDesignError:
    """Return the error that names rules which cannot be kept together."""
    wide, said = _wide(task), []
    objects: dict[str, None] = {}
    assessors: dict[str, None] = {}

    def of(kind: str) -> list[int]:
        return [member for one in culprits if one.kind == kind for member in one.members]

    if needy := of("per_object"):
        needs = task.least[needy]
        names = [task.objects[at] for at in needy]
        objects |= dict.fromkeys(names)
        count = count_of(int(needs[0]), "assessment") + (" each" if len(needy) > 1 else "")
        if np.ptp(needs):
            count = f"{count_of(int(needs.sum()), 'assessment')} together"
        said.append(f"{_small(_objects(names))} {'need' if len(needy) > 1 else 'needs'} {count}")
    for kind, words in (("max_load", "may read at most"), ("min_load", "must read at least")):
        load = task.most_load if kind == "max_load" else task.least_load
        by_number: dict[int, list[str]] = {}
        for at in of(kind):
            by_number.setdefault(int(load[at]), []).append(task.assessors[at])
        for number, names in by_number.items():
            assessors |= dict.fromkeys(names)
            said.append(f"{name_some(names, 4)} {words} {number}{' each' if len(names) > 1 else ''}")
    fixed = _pairs(wide, of("fixed"))
    for who in dict.fromkeys(who for who, _ in fixed):
        own = [label for one, label in fixed if one == who]
        assessors[who] = None
        objects |= dict.fromkeys(own)
        said.append(f"{who} is fixed to {name_some(own, 4)}")
    said += _limits_in_words(wide, of("limit"), objects, assessors)
    for at in of("linked"):
        one, other = (task.objects[o] for o in task.linked[at].tolist())
        objects |= dict.fromkeys((one, other))
        said.append(f"{one} and {other} need a reader in common")
    if of("conflicts"):
        said.append("conflicts, or lists of who may read what, rule pairs out")
    if of("connected"):
        said.append("all objects are to be comparable with each other")
    head = "This cannot be" if len(said) == 1 else "These rules cannot be kept together"
    tail = " Without any one of them there would be a design: relax the one that matters least."
    if not is_smallest:
        tail = f" Perhaps fewer are to blame: the search for a smaller cause ended after {SECONDS:g} seconds."
    tail = tail if len(said) > 1 or not is_smallest else ""
    return NoDesignError(
        f"{head}: {'; '.join(said)}.{tail}",
        kind="connection" if of("connected") else "together",
        objects=list(objects),
        assessors=list(assessors),
        cause=_cause(task, culprits),
    )


def _limits_in_words(
    task: Task, which: Sequence[int], objects: dict[str, None], assessors: dict[str, None]
) -> list[str]:
    """Return limits in words, those of one kind together, and add whom they concern."""
    limits, said = task.limits, []
    by_name: dict[str, list[str]] = {}
    for at in which:
        name = limits.names[limits.kind[at]]
        pairs = _pairs(task, limits.pair[limits.start[at] : limits.start[at + 1]].tolist())
        about = int(limits.whose[at])
        concerned = [task.objects[about]] if about >= 0 else list(dict.fromkeys(label for _, label in pairs))
        objects |= dict.fromkeys(concerned)
        if name in (APART, EACH_OTHER):
            assessors |= dict.fromkeys(who for who, _ in pairs)
            one, other = (who for who, _ in pairs)
            if name == APART:
                by_name.setdefault(f"{one} and {other} are kept apart", []).append(concerned[0])
            else:
                said.append(f"{one} and {other} must not review each other's work ({name_some(concerned)})")
        else:
            if len(pairs) <= 4 and limits.most[at] < np.inf:
                assessors |= dict.fromkeys(who for who, _ in pairs)
            by_name.setdefault(name.removesuffix(" for each object"), []).extend(concerned)
    return [f"{name} ({_small(_objects(list(dict.fromkeys(ones))))})" for name, ones in by_name.items()] + said


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


# --- simple causes -------------------------------------------------------------------------------


def _fixed_pairs(task: Task) -> NoDesignError | None:
    loads, readings = task.loads(task.fixed), task.readings(task.fixed)
    for count, most, labels, side in (
        (loads, task.most_load, task.assessors, task.assessor),
        (readings, task.most, task.objects, task.object),
    ):
        over = count - most
        if not (over > 0).any():
            continue
        is_object = side is task.object
        at = int(np.argmax(over))
        who = f"Object {labels[at]} has" if is_object else f"Assessor {labels[at]} has"
        rule = "may be read" if is_object else "may read"
        own = _pairs(task, np.flatnonzero(task.fixed & (side == at)).tolist())
        return NoDesignError(
            f"{who} {count_of(int(count[at]), 'fixed pair')} and {rule} at most {int(most[at])}: "
            f"{int(over[at])} too many. Free some of these pairs, or allow more.",
            kind="fixed",
            objects=[labels[at]] if is_object else [],
            assessors=[] if is_object else [labels[at]],
            short=int(over[at]),
            cause=[
                ("per_object" if is_object else "max_load", labels[at]),
                *(("fixed", *pair) for pair in own[: int(most[at]) + 1]),
            ],
        )
    return None


def _in_conflict(task: Task, *, object_: int | None = None, assessor: int | None = None) -> int:
    """Return how many conflicts an object or an assessor has."""
    of_object, of_assessor = np.divmod(task.conflicts, task.n_assessors)
    return int((of_object == object_).sum() if object_ is not None else (of_assessor == assessor).sum())


def _fixed_of(task: Task, of_assessor: Flags) -> Culprit:
    """Return the fixed pairs of some assessors (n_A)."""
    wide = _wide(task)
    return Culprit("fixed", tuple(np.flatnonzero(wide.fixed & of_assessor[wide.assessor]).tolist()))


def _one_object(task: Task) -> NoDesignError | None:
    room = task.most_load > task.loads(task.fixed)
    may = task.fixed | room[task.assessor]
    possible = np.bincount(task.object[may], minlength=task.n_objects)
    short = task.least - possible
    if not (short > 0).any():
        return None
    at = int(np.argmax(short))
    label, conflicts = task.objects[at], _in_conflict(task, object_=at)
    others = int((short > 0).sum()) - 1
    reason = f"; {count_of(conflicts, 'assessor')} of {task.n_assessors} are in conflict with it" if conflicts else ""
    full = int((~may & (task.object == at)).sum())
    reason += f"; {count_of(full, 'assessor')} {'have' if full > 1 else 'has'} no room for it" if full else ""
    more = f" {count_of(others, 'more object')} lack assessors too." if others else ""
    everybody = count_of(task.n_assessors, "assessor")
    who = (
        f"{f'only {int(possible[at])}' if possible[at] else 'none'} of {everybody} may read it"
        if possible[at] < task.n_assessors
        else f"there are only {everybody}"
    )
    full_at = np.flatnonzero(~room)
    return NoDesignError(
        f"Object {label} needs {count_of(int(task.least[at]), 'assessment')}, and {who}{reason}: "
        f"{int(short[at])} short.{more} "
        "Find further assessors, lift conflicts, or ask for fewer assessments.",
        kind="object",
        objects=[task.objects[i] for i in np.flatnonzero(short > 0).tolist()],
        short=int(short[at]),
        cause=_single(
            task,
            _fixed_of(task, ~room),
            Culprit("max_load", tuple(full_at.tolist())),
            CONFLICTS,
            Culprit("per_object", (at,)),
        ),
    )


def _one_assessor(task: Task) -> NoDesignError | None:
    open_ = task.fixed | (task.most > task.readings(task.fixed))[task.object]
    possible = np.minimum(np.bincount(task.assessor[open_], minlength=task.n_assessors), task.most_load)
    short = task.least_load - possible
    if not (short > 0).any():
        return None
    at = int(np.argmax(short))
    label, least = task.assessors[at], int(task.least_load[at])
    remedy = "Lower the least load, or lift conflicts."
    if task.least_load[at] > task.most_load[at]:
        alike = int(((task.least_load > task.most_load) & (short > 0)).sum()) - 1
        why = f"and at most {int(task.most_load[at])}"
        remedy = "Lower the least load, or raise the most load."
        if alike:
            remedy = f"The same holds for {count_of(alike, 'more assessor')}. {remedy}"
    elif possible[at] == task.n_objects:
        why = f"and there are only {count_of(task.n_objects, 'object')}"
        remedy = "Lower the least load."
    else:
        conflicts = _in_conflict(task, assessor=at)
        why = f"and may read only {count_of(int(possible[at]), 'object')}"
        why += f" ({count_of(conflicts, 'conflict')})" if conflicts else ""
    full = tuple(np.flatnonzero(task.most <= task.readings(task.fixed)).tolist())
    wide = _wide(task)
    taken = np.flatnonzero(wide.fixed & np.isin(wide.object, full)).tolist()
    return NoDesignError(
        f"Assessor {label} is to read at least {least} {why}: {int(short[at])} short. {remedy}",
        kind="load",
        assessors=[label],
        short=int(short[at]),
        cause=_single(
            task,
            Culprit("fixed", tuple(taken)),
            Culprit("per_object", full),
            CONFLICTS,
            Culprit("max_load", (at,)),
            Culprit("min_load", (at,)),
        ),
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
            cause=[("per_object",), ("max_load",)],
        )
    least, most = int(task.least_load.sum()), min(task.total, int(task.most.sum()))
    if least > most:
        return NoDesignError(
            f"The assessors are to read at least {least:,} in all; the objects take {count_of(most, 'assessment')}: "
            f"{least - most:,} too many. Lower the least load, or ask for more assessments per object.",
            kind="capacity",
            short=least - most,
            cause=[("per_object",), ("min_load",)],
        )
    return None


def _too_needy(need: Codes, room: Codes, tail: Codes, head: Codes) -> tuple[Flags, int] | None:
    """Return a smallest group of the needy that cannot all be served, and its shortage; None where all can.

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
    group = np.asarray(reached[n_room : n_room + n_need], dtype=bool)

    def shortage(some: Flags) -> int:
        served = np.minimum(room, np.bincount(tail[some[head]], minlength=room.size))  # at most one to each member
        return int(need[some].sum() - served.sum())

    for member in np.flatnonzero(group).tolist():  # whoever can be left out without the shortage going away
        rest = group.copy()
        rest[member] = False
        if shortage(rest) > 0:
            group = rest
    return group, shortage(group)


def _objects_together(task: Task) -> NoDesignError | None:
    open_, loads, readings = ~task.fixed, task.loads(task.fixed), task.readings(task.fixed)
    need, room = np.maximum(task.least - readings, 0), task.most_load - loads
    found = _too_needy(need, room, task.assessor[open_], task.object[open_])
    if found is None:
        return None
    group, short = found
    labels = [task.objects[i] for i in np.flatnonzero(group).tolist()]
    readers = np.unique(task.assessor[open_ & group[task.object]])
    names = [task.assessors[i] for i in readers.tolist()]
    needed = int(need[group].sum())
    beside = " beside fixed pairs" if task.fixed.any() else ""
    among = np.isin(np.arange(task.n_assessors), readers)
    return NoDesignError(
        f"{_objects(labels)} need {count_of(needed, 'assessment')} together{beside}, and the "
        f"{count_of(len(names), 'assessor')} who may read them ({name_some(names, 4)}) can give {needed - short}: "
        f"{short} short. Raise the load of these assessors, lift conflicts, or find further assessors.",
        kind="capacity",
        objects=labels,
        assessors=names,
        short=short,
        cause=_single(
            task,
            _fixed_of(task, np.ones(task.n_assessors, dtype=bool)),
            CONFLICTS,
            Culprit("max_load", tuple(np.flatnonzero(among).tolist())),
            Culprit("per_object", tuple(np.flatnonzero(group).tolist())),
        ),
    )


def _single(task: Task, *some: Culprit) -> list[tuple[object, ...]]:
    """Return as a cause the single rules, of some that cannot be kept together, that are needed for that."""
    kinds = [one for one in some if one.members]
    smaller, _ = _smallest(task, kinds)
    return _cause(task, smaller or kinds)


def _assessors_together(task: Task) -> NoDesignError | None:
    open_, loads, readings = ~task.fixed, task.loads(task.fixed), task.readings(task.fixed)
    need, room = np.maximum(task.least_load - loads, 0), task.most - readings
    found = _too_needy(need, room, task.object[open_], task.assessor[open_])
    if found is None:
        return None
    group, short = found
    names = [task.assessors[i] for i in np.flatnonzero(group).tolist()]
    needed = int(need[group].sum())
    beside = " beside fixed pairs" if task.fixed.any() else ""
    return NoDesignError(
        f"Assessors {name_some(names, 4)} are to read at least {needed} together{beside}, and the objects that they "
        f"may read take {needed - short} from them: {short} short. Lower their least load, or lift conflicts.",
        kind="load",
        assessors=names,
        short=short,
        cause=_single(
            task,
            _fixed_of(task, np.ones(task.n_assessors, dtype=bool)),
            CONFLICTS,
            Culprit("per_object", tuple(range(task.n_objects))),
            Culprit("min_load", tuple(np.flatnonzero(group).tolist())),
        ),
    )


def _objects(labels: list[str]) -> str:
    return f"Object {labels[0]}" if len(labels) == 1 else f"Objects {name_some(labels, 4)}"


# --- connection ----------------------------------------------------------------------------------


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
            cause=[("connected",), ("per_object",), *_employers(task)],
        )
    every = np.ones(task.n_pairs, dtype=bool)
    count, group = task.components((task.most_load > 0)[task.assessor])
    groups = np.unique(group[:n_objects])
    if groups.size == 1:
        return None
    sizes = np.bincount(group[:n_objects], minlength=count)
    smallest = int(groups[np.argmin(sizes[groups])])
    objects = [task.objects[i] for i in np.flatnonzero(group[:n_objects] == smallest).tolist()]
    assessors = [task.assessors[i] for i in np.flatnonzero(group[n_objects:] == smallest).tolist()]
    who = (
        f"for which only {'assessor' if len(assessors) == 1 else 'assessors'} {name_some(assessors, 4)} "
        f"{is_or_are(len(assessors))} possible. Let one of them read outside the group, or one from outside within it"
        if assessors
        else "which nobody may read. Let somebody read it"
    )
    return NoDesignError(
        f"The objects fall into {groups.size} groups that no assessor may read across, so that they could not be "
        f"compared: the smallest is {_small(_objects(objects))}, {who}: {groups.size - 1} short.",
        kind="groups",
        objects=objects,
        assessors=assessors,
        short=int(groups.size - 1),
        cause=[("connected",), ("conflicts",), *([("max_load",)] if task.components(every)[0] < count else [])],
    )


def _employers(task: Task) -> list[tuple[object, ...]]:
    """Return the rules that make so many assessors necessary that too few assessments are left to link them."""
    left, kept = task, list[tuple[object, ...]]()
    for kind, drop in (
        ("fixed", {"fixed": np.zeros(task.n_pairs, dtype=bool)}),
        ("min_load", {"least_load": 0 * task.least_load}),
        ("max_load", {"most_load": np.full(task.n_assessors, task.n_objects)}),
    ):
        without = replace(left, **drop)
        if task.total < task.n_objects + _fewest_assessors(without) - 1:
            left = without
        else:
            kept.append((kind,))
    return kept


def _fewest_assessors(task: Task) -> int:
    """Return how many assessors any design employs at the least."""
    must = (task.least_load > 0) | (task.loads(task.fixed) > 0)
    rest = task.total - int(task.most_load[must].sum())
    if rest <= 0:
        return int(must.sum())
    room = np.cumsum(np.sort(task.most_load[~must])[::-1])
    return int(must.sum()) + int(np.searchsorted(room, rest)) + 1
