"""A first design that keeps all rules: a flow of least cost, joined into one piece, or mixed at random.

Where there is none, the smallest cause that can be found is said, by name and number.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.rules import Tally
from evenhand.design.task import Move, Task
from evenhand.errors import NoDesignError
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from evenhand.words import count_of, is_or_are, name_some

COST_UNITS: Final = 1_000_000
"""Costs are whole numbers up to this, as flows need them."""

TRIES: Final = 300
"""Attempts to join two parts, with exchanges at random between those that fail."""

FEW: Final = 20
"""Attempts that may fail before a small task is settled exactly."""

MOST_EXACT: Final = 600
"""Up to this many pairs, integer programming settles whether there is a connected design."""

SECONDS: Final = 60.0
"""Integer programming takes at most this long."""

_INFEASIBLE: Final = 2
"""What programs of scipy answer where they have proved that there is no solution."""

MIXING: Final = 10
"""Exchanges at random, for each assessment, between two random designs."""

NUDGE: Final = 100
"""Exchanges at random after an attempt that failed."""


def least_cost(task: Task, cost: Floats) -> Flags | None:
    """Return the design of least total cost that keeps all rules; None where there is none.

    Each pair costs something from 0 to 1. Work flows from a source to assessors, between their fewest and most
    assessments, on to objects, one to a pair, and between the fewest and most assessments of each object to a sink. The
    part of a flow that must be there has a cost so low that it always pays.
    """
    fixed = task.fixed
    loads, readings = task.loads(fixed), task.readings(fixed)
    if (loads > task.most_load).any() or (readings > task.most).any():
        return None
    amount = task.total - int(fixed.sum())
    open_ = np.flatnonzero(~fixed)
    must_load, may_load = np.maximum(task.least_load - loads, 0), task.most_load - loads
    must_read, may_read = np.maximum(task.least - readings, 0), task.most - readings
    if amount < 0 or must_load.sum() > amount or must_read.sum() > amount:
        return None
    if (must_load > may_load).any() or (must_read > may_read).any():
        return None
    if amount == 0:
        return fixed.copy()
    source = task.n_objects + task.n_assessors
    sink = source + 1
    objects, assessors = np.arange(task.n_objects), np.arange(task.n_objects, source)
    must = -(2 * COST_UNITS + 1) * 1_000
    arcs = [  # from, to, capacity, price
        (np.full_like(assessors, source), assessors, must_load, np.full_like(assessors, must)),
        (np.full_like(assessors, source), assessors, may_load - must_load, np.zeros_like(assessors)),
        (objects, np.full_like(objects, sink), must_read, np.full_like(objects, must)),
        (objects, np.full_like(objects, sink), may_read - must_read, np.zeros_like(objects)),
        (
            task.assessor[open_] + task.n_objects,
            task.object[open_],
            np.ones_like(open_),
            np.rint(cost[open_] * COST_UNITS).astype(np.int64),
        ),
    ]
    tail, head, capacity, price = (np.concatenate(part).astype(np.int64) for part in zip(*arcs, strict=True))
    solve = _by_ortools if has_ortools() else _by_linear_program
    flow = solve(tail, head, capacity, price, source, sink, amount)
    if flow is None:
        return None
    chosen = fixed.copy()
    chosen[open_] = flow[-open_.size :] > 0 if open_.size else False
    return None if task.broken(chosen) else chosen


def has_ortools() -> bool:
    """Whether OR-Tools can be had; otherwise HiGHS solves the same task, more slowly."""
    return importlib.util.find_spec("ortools") is not None


def _by_ortools(
    tail: Codes, head: Codes, capacity: Codes, price: Codes, source: int, sink: int, amount: int
) -> Codes | None:
    from ortools.graph.python import min_cost_flow

    network = min_cost_flow.SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, price)
    network.set_node_supply(source, amount)
    network.set_node_supply(sink, -amount)
    answer = network.solve()
    if answer not in (network.OPTIMAL, network.INFEASIBLE):
        raise _gave_up()
    return np.asarray(network.flows(arcs), dtype=np.int64) if answer == network.OPTIMAL else None


def _by_linear_program(
    tail: Codes, head: Codes, capacity: Codes, price: Codes, source: int, sink: int, amount: int
) -> Codes | None:
    from scipy.optimize import linprog

    count, arcs = max(source, sink) + 1, np.arange(tail.size)
    balance = sp.coo_array(
        (np.repeat([1.0, -1.0], tail.size), (np.concatenate([tail, head]), np.concatenate([arcs, arcs]))),
        shape=(count, tail.size),
    ).tocsr()
    supply = np.zeros(count)
    supply[source], supply[sink] = amount, -amount
    # corners of flow polytopes are whole numbers, and the simplex method ends in a corner
    bounds: Any = np.stack([0 * capacity, capacity], axis=1)
    matrix: Any = balance
    found = linprog(price / COST_UNITS, A_eq=matrix, b_eq=supply, bounds=bounds, method="highs-ds")
    if found.status == _INFEASIBLE:
        return None
    if found.status != 0 or found.x is None:
        raise _gave_up()
    return np.rint(found.x).astype(np.int64)


def _gave_up() -> NoDesignError:
    """Return the error of a solver that ended without a design and without a proof."""
    return NoDesignError(
        "No design was found, which is no proof that there is none: the solver of flows gave up. Ask for fewer objects "
        "or assessors at a time.",
        kind="not_found",
    )


def parts_of(task: Task, chosen: Flags) -> tuple[int, Codes, Codes]:
    """Return the number of parts of a design, and the part of each object and assessor; -1 for those without work."""
    busy = np.concatenate([task.readings(chosen), task.loads(chosen)]) > 0
    names, code = np.unique(task.components(chosen)[1][busy], return_inverse=True)
    part = np.full(busy.size, -1)
    part[busy] = code
    return names.size, part[: task.n_objects], part[task.n_objects :]


def join(task: Task, chosen: Flags, generator: np.random.Generator) -> Flags:
    """Return a connected design near the given one, or raise ``NoDesignError`` where there is none, or none is found.

    Two parts are joined by a swap of two assessments, or by handing one over, of which one at least lies on a cycle.
    Where no such move is to be had, moves at random shuffle the design first, and small tasks are settled exactly.
    """
    error = no_connection(task)
    if error is not None:
        raise error
    chosen, failed = chosen.copy(), 0
    for _ in range(TRIES):
        count, of_object, of_assessor = parts_of(task, chosen)
        if count == 1:
            return chosen
        keeps = Tally(task.rules, chosen).allows
        joins = _joins(task, chosen, of_object, of_assessor, generator)
        move = next((one for one in joins if keeps(*one)), None)
        if move is None:
            failed += 1
            if failed > FEW and task.n_pairs <= MOST_EXACT:
                break
            mix(task, chosen, generator, NUDGE)
            continue
        chosen[move[0]] = np.asarray(move[1]) > 0
    count = parts_of(task, chosen)[0]
    if count == 1:
        return chosen
    exact, is_proof = _exactly(task) if task.n_pairs <= MOST_EXACT else (None, False)
    if exact is not None:
        return exact
    if is_proof:
        raise NoDesignError(
            f"No way of keeping the loads, conflicts and fixed pairs joins all objects; {count} parts remain. Allow "
            "more assessments per object, or lift conflicts.",
            kind="connection",
            short=count - 1,
        )
    within = f"within {SECONDS:g} seconds" if task.n_pairs <= MOST_EXACT else f"in {TRIES} attempts"
    raise NoDesignError(
        f"No connected design was found {within}, which is no proof that there is none: the best falls into {count} "
        "parts. Try another seed, allow more assessments per object or a higher load, or lift conflicts.",
        kind="not_found",
        short=count - 1,
    )


def _on_cycles(task: Task, chosen: Flags) -> Flags:
    """Return the assessments that are no bridges: their part stays connected without any one of them."""
    at = np.flatnonzero(chosen)
    object_, code = (np.unique(side[at], return_inverse=True)[1] for side in (task.object, task.assessor))
    cycles = chosen.copy()
    cycles[at[connectivity(Panel.from_arrays(object_, code, np.zeros(at.size))).bridges]] = False
    return cycles


def _joins(
    task: Task, chosen: Flags, of_object: Codes, of_assessor: Codes, generator: np.random.Generator
) -> Iterator[Move]:
    """Yield moves that join the smallest part to another, those of its own assessments first."""
    cycles, loads = _on_cycles(task, chosen), task.loads(chosen)
    smallest = int(np.argmin(np.bincount(of_object)))
    inside = np.flatnonzero(chosen & ~task.fixed & (of_object[task.object] == smallest))
    work = np.argsort(task.assessor[chosen], kind="stable")
    by_assessor = np.flatnonzero(chosen)[work]
    begin = np.concatenate([[0], np.cumsum(loads)])
    for pair in generator.permutation(inside).tolist():
        object_, assessor = int(task.object[pair]), int(task.assessor[pair])
        possible = np.arange(task.start[object_], task.start[object_ + 1])
        possible = possible[(of_assessor[task.assessor[possible]] >= 0) & ~chosen[possible]]
        possible = possible[of_assessor[task.assessor[possible]] != smallest]
        leaves = loads[assessor] > task.least_load[assessor]
        for come in generator.permutation(possible).tolist():
            other = int(task.assessor[come])
            if leaves and loads[other] < task.most_load[other] and (cycles[pair] or loads[assessor] == 1):
                yield [pair, come], (-1, 1)
            theirs = by_assessor[begin[other] : begin[other + 1]]
            theirs = theirs[~task.fixed[theirs] & (cycles[theirs] | cycles[pair])]
            back = task.position(np.full(theirs.size, assessor), task.object[theirs])
            for partner, returned in zip(theirs.tolist(), back.tolist(), strict=True):
                if returned >= 0:
                    yield [pair, partner, come, returned], (-1, -1, 1, 1)
    outside = np.flatnonzero(~chosen & (of_assessor[task.assessor] == smallest))
    outside = outside[of_object[task.object[outside]] != smallest]
    for come in generator.permutation(outside).tolist():
        if loads[task.assessor[come]] >= task.most_load[task.assessor[come]]:
            continue
        object_ = int(task.object[come])
        theirs = np.arange(task.start[object_], task.start[object_ + 1])
        theirs = theirs[cycles[theirs] & ~task.fixed[theirs]]
        for pair in theirs.tolist():
            if loads[task.assessor[pair]] > task.least_load[task.assessor[pair]]:
                yield [pair, come], (-1, 1)


def mix(task: Task, chosen: Flags, generator: np.random.Generator, moves: int | None = None) -> None:
    """Make exchanges at random that keep the rules, whatever becomes of the parts; for a random design by default."""
    free = np.flatnonzero(chosen & ~task.fixed)
    if free.size < 2:
        return
    loads, readings = task.loads(chosen), task.readings(chosen)
    tally, swap, transfer = Tally(task.rules, chosen), (-1, -1, 1, 1), (-1, 1)
    object_, assessor, width = task.object, task.assessor, task.n_assessors
    at = {key: place for place, key in enumerate(task.keys.tolist())}
    moves = MIXING * free.size if moves is None else moves
    first, second = generator.integers(0, free.size, (2, moves)).tolist()
    target = generator.integers(0, task.n_pairs, moves).tolist()
    for i, j, other in zip(first, second, target, strict=True):
        pair, partner = int(free[i]), int(free[j])
        o, a = int(object_[pair]), int(assessor[pair])
        p, b = int(object_[partner]), int(assessor[partner])
        come, back = at.get(p * width + a, -1), at.get(o * width + b, -1)
        fits = o != p and a != b and come >= 0 and back >= 0 and not chosen[come] and not chosen[back]
        if fits and tally.allows((pair, partner, come, back), swap):
            tally.make((pair, partner, come, back), swap)
            chosen[[pair, partner]], chosen[[come, back]] = False, True
            free[i], free[j] = come, back
        # another assessor for the object, or where its number of assessments is open, any other pair
        pair, p, b = int(free[i]), int(object_[other]), int(assessor[other])
        o, a = int(object_[pair]), int(assessor[pair])
        if chosen[other] or (o != p and not (readings[o] > task.least[o] and readings[p] < task.most[p])):
            continue
        if a != b and not (loads[a] > task.least_load[a] and loads[b] < task.most_load[b]):
            continue
        if not tally.allows((pair, other), transfer):
            continue
        tally.make((pair, other), transfer)
        chosen[pair], chosen[other] = False, True
        free[i] = other
        loads[a] -= 1
        loads[b] += 1
        readings[o] -= 1
        readings[p] += 1


def _exactly(task: Task) -> tuple[Flags | None, bool]:
    """Return a connected design by integer programming; or None, and whether that proves that there is none.

    A pair is chosen (x = 1) or not, an assessor employed (y = 1) or not, and one unit of something flows from the first
    object to every other and to every employed assessor, along chosen pairs only.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_pairs, n_objects, n_assessors = task.n_pairs, task.n_objects, task.n_assessors
    units = n_objects + n_assessors
    pair, object_, assessor = np.arange(n_pairs), task.object, task.assessor
    width = 2 * n_pairs + n_assessors  # x, flow from assessor to object, y

    def rows(at: Codes, columns: Codes, data: object, count: int) -> sp.csr_array[np.float64]:
        return sp.csr_array((np.broadcast_to(np.asarray(data, dtype=float), at.shape), (at, columns)), (count, width))

    employed = 2 * n_pairs + np.arange(n_assessors)
    into = rows(object_, n_pairs + pair, 1.0, n_objects)
    demand = np.ones(n_objects)
    demand[0] = -np.inf
    out = rows(assessor, n_pairs + pair, -1.0, n_assessors) - rows(np.arange(n_assessors), employed, 1.0, n_assessors)
    room = rows(pair, pair, float(units), n_pairs)
    flow = rows(pair, n_pairs + pair, 1.0, n_pairs)
    loads = rows(assessor, pair, 1.0, n_assessors)
    most = rows(np.arange(n_assessors), employed, task.most_load.astype(float), n_assessors)
    used = rows(pair, pair, 1.0, n_pairs) - rows(pair, 2 * n_pairs + assessor, 1.0, n_pairs)
    rules = task.rules
    limits = rows(rules.limit, rules.pair, rules.weight, len(rules))
    constraints = [
        LinearConstraint(rows(object_, pair, 1.0, n_objects), task.least, task.most),
        LinearConstraint(loads, task.least_load, task.most_load),
        LinearConstraint(loads - most, -np.inf, 0),
        LinearConstraint(used, -np.inf, 0),
        LinearConstraint(rows(np.zeros(n_pairs, dtype=np.int64), pair, 1.0, 1), task.total, task.total),
        LinearConstraint(into, demand, np.where(demand > 0, demand, np.inf)),
        LinearConstraint(out, 0, 0),
        *([LinearConstraint(limits, rules.least, rules.most)] if len(rules) else []),
        LinearConstraint(room - flow, 0, np.inf),
        LinearConstraint(room + flow, 0, np.inf),
    ]
    low = np.concatenate([task.fixed.astype(float), np.full(n_pairs, -units), np.zeros(n_assessors)])
    high = np.concatenate([np.ones(n_pairs), np.full(n_pairs, units), np.ones(n_assessors)])
    whole = np.concatenate([np.ones(n_pairs), np.zeros(n_pairs), np.ones(n_assessors)])
    bounds, nothing = Bounds(low, high), np.zeros(width)
    found = milp(nothing, constraints=constraints, bounds=bounds, integrality=whole, options={"time_limit": SECONDS})
    if found.x is not None:
        chosen = found.x[:n_pairs] > 0.5
        if not task.broken(chosen) and parts_of(task, chosen)[0] == 1:
            return chosen, False
    return None, found.status == _INFEASIBLE


# --- why there is none ---------------------------------------------------------------------------


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
    found = _too_needy(task.least, task.most_load, task.assessor, task.object)
    if found is None:
        return None
    group, short = found
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
    found = _too_needy(task.least_load, task.most, task.object, task.assessor)
    if found is None:
        return None
    group, short = found
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
