"""Designs of least cost that keep all rules: a flow where rules are nested, an integer programme where they are not.

Where that is too large, flows in which broken rules have a price, and moves that mend what is left.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.limits import SLACK, Limits, Tally
from evenhand.design.task import Task
from evenhand.errors import NoDesignError

COST_UNITS: Final = 1_000_000
"""Costs are whole numbers up to this, as flows need them."""

MOST_WHOLE: Final = 6_000
"""Up to this many pairs, an integer programme finds a first design where rules are not nested."""

MOST_TRIED: Final = 100_000
"""Up to this many pairs, it is tried where flows and moves have failed."""

SECONDS: Final = 60.0
"""Integer programming takes at most this long."""

ROUNDS: Final = 6
"""Flows in which broken rules have a price."""

PRICE: Final = 20.0
"""What a pair costs more, or less, where it would break or mend a rule, in units of the dearest pair."""

WALK: Final = 20
"""Moves that are looked at for each limit that is broken, and times that a walk may go through all of them."""

_INFEASIBLE: Final = 2
"""What programs of scipy answer where they have proved that there is no solution."""


def least_cost(task: Task, cost: Floats) -> Flags | None:
    """Return the design of least total cost that keeps all rules; None where there is none.

    Each pair costs something from 0 to 1. The cost is the least up to some thousand pairs, and at any size where limits
    are nested and no objects linked; otherwise it is low. Raises ``NoDesignError``, of kind ``"not_found"``, where the
    search ended without a design and without a proof that there is none.
    """
    everything = np.ones(task.n_pairs, dtype=bool)
    if (task.limits.sums(everything) < task.limits.least - SLACK).any():
        return None
    nest = Nest.of(task)
    if nest.is_whole and not len(task.linked):
        return _flow(task, cost, nest)
    if task.n_pairs <= MOST_WHOLE:
        chosen, is_proof = by_integers(task, cost)
        if chosen is None and not is_proof:
            raise _gave_up()
        return chosen
    first = _flow(task, cost, nest)
    if first is None:
        return None
    found = _in_rounds(task, cost, nest, first)
    if found is None and task.n_pairs <= MOST_TRIED:
        found, is_proof = by_integers(task, cost)
        if is_proof:
            return None
    if found is None:
        raise _gave_up()
    return found


def has_ortools() -> bool:
    """Whether OR-Tools can be had; otherwise HiGHS solves the same task, more slowly."""
    return importlib.util.find_spec("ortools") is not None


def _gave_up() -> NoDesignError:
    """Return the error of a solver that ended without a design and without a proof."""
    return NoDesignError(
        "No design was found, which is no proof that there is none: the solver gave up. Ask for fewer objects or "
        "assessors at a time, allow a higher load, or drop a rule.",
        kind="not_found",
    )


# --- flows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Limits on pairs of one object each, any two of which share no pair, unless one has all pairs of the other.

    They are nodes of a flow, between assessors and objects.
    """

    is_in: Flags
    """Which limits of the task are among them (M)."""
    above: Codes
    """The next larger limit around each; -1 where there is none, or it is not among them (M)."""
    inner: Codes
    """The smallest limit around each pair; -1 where there is none (K)."""

    @property
    def is_whole(self) -> bool:
        """Whether all limits are among them."""
        return bool(self.is_in.all())

    @classmethod
    def of(cls, task: Task) -> Nest:
        """Return all limits if they are nested, otherwise some: those first that ask for something."""
        whole = cls._made(task, np.zeros(len(task.limits), dtype=bool))
        return whole if whole.is_whole else cls._made(task, task.limits.least <= 0)

    @classmethod
    def _made(cls, task: Task, later: Flags) -> Nest:
        """Return nested limits, taking large sets before small ones, after those that come ``later`` or not."""
        limits = task.limits
        sizes = np.diff(limits.start)
        inner, above = np.full(task.n_pairs, -1), np.full(len(limits), -1)
        is_in = np.zeros(len(limits), dtype=bool)
        full = np.flatnonzero(sizes > 0)
        if not full.size:
            return cls(is_in, above, inner)
        object_ = task.object[limits.pair]
        low, high = (end.reduceat(object_, limits.start[full]) for end in (np.minimum, np.maximum))
        plain = np.logical_and.reduceat(limits.weight == 1.0, limits.start[full]) & (low == high)
        full, low = full[plain], low[plain]
        order = np.lexsort((-sizes[full], later[full], low))
        full, low = full[order], low[order]
        # a round for the first limit of each object, one for the second, and so on
        turn = np.full(len(limits), -1)
        turn[full] = np.arange(full.size) - np.searchsorted(low, low)
        entries = np.argsort(turn[limits.limit], kind="stable")
        begin = np.searchsorted(turn[limits.limit][entries], np.arange(int(turn.max(initial=-1)) + 2))
        for one in range(begin.size - 1):
            now = entries[begin[one] : begin[one + 1]]
            limit, pair = limits.limit[now], limits.pair[now]
            first = np.flatnonzero(np.diff(limit, prepend=-1))
            around = inner[pair]
            fits = np.minimum.reduceat(around, first) == np.maximum.reduceat(around, first)
            is_in[limit[first[fits]]] = True
            above[limit[first[fits]]] = around[first[fits]]
            inner[pair[is_in[limit]]] = limit[is_in[limit]]
        return cls(is_in, above, inner)


def _flow(task: Task, cost: Floats, nest: Nest) -> Flags | None:
    """Return the design of least total cost that keeps the rules, of the limits those that are nested.

    Work flows from a source to assessors, between their fewest and most assessments, on to objects, one to a pair,
    through the limits around it, and between the fewest and most assessments of each object to a sink. The part of a
    flow that must be there is taken for granted: it is there already where it arrives, and owed where it leaves.
    """
    fixed, limits = task.fixed, task.limits
    loads, readings = task.loads(fixed), task.readings(fixed)
    if (loads > task.most_load).any() or (readings > task.most).any():
        return None
    amount = task.total - int(fixed.sum())
    open_ = np.flatnonzero(~fixed)
    must_load, may_load = np.maximum(task.least_load - loads, 0), task.most_load - loads
    must_read, may_read = np.maximum(task.least - readings, 0), task.most - readings
    limit = np.flatnonzero(nest.is_in)
    held = np.rint(limits.sums(fixed)[limit]).astype(np.int64)
    room = np.minimum(limits.most[limit], task.n_assessors).astype(np.int64)  # of whole numbers at most the part below
    must_keep = np.maximum(np.ceil(limits.least[limit] - SLACK).astype(np.int64) - held, 0)
    may_keep = room - held
    if amount < 0 or must_load.sum() > amount or must_read.sum() > amount:
        return None
    if (must_load > may_load).any() or (must_read > may_read).any() or (must_keep > may_keep).any():
        return None
    if amount == 0:
        return None if _breaks(task, fixed, nest) else fixed.copy()
    n_objects, n_members = task.n_objects, task.n_objects + task.n_assessors
    node = np.full(len(limits) + 1, -1)  # the last one, which is also that of -1, stands for no limit
    node[limit] = n_members + np.arange(limit.size)
    source = n_members + limit.size
    sink = source + 1
    objects, assessors = np.arange(n_objects), np.arange(n_objects, n_members)
    from_limit = n_members + np.arange(limit.size)
    of_limit = task.object[limits.pair[limits.start[limit]]]
    to = np.where(nest.above[limit] >= 0, node[nest.above[limit]], of_limit)
    inner = nest.inner[open_]
    arcs = [  # from, to, least, most
        (np.full_like(assessors, source), assessors, must_load, may_load),
        (objects, np.full_like(objects, sink), must_read, may_read),
        (from_limit, to, must_keep, may_keep),
        (
            task.assessor[open_] + n_objects,
            np.where(inner >= 0, node[inner], task.object[open_]),
            np.zeros_like(open_),
            np.ones_like(open_),
        ),
    ]
    tail, head, must, may = (np.concatenate(part).astype(np.int64) for part in zip(*arcs, strict=True))
    price = np.zeros_like(tail)
    price[tail.size - open_.size :] = np.rint(cost[open_] * COST_UNITS)
    supply = np.bincount(head, must, sink + 1) - np.bincount(tail, must, sink + 1)
    supply[source] += amount
    supply[sink] -= amount
    network = Network(tail, head, may - must, price, np.rint(supply).astype(np.int64))
    if not cost.any():
        flow = network.any_flow()
    else:
        flow = network.by_ortools() if has_ortools() else network.by_linear_program()
    if flow is None:
        return None
    chosen = fixed.copy()
    chosen[open_] = flow[-open_.size :] > 0 if open_.size else False
    return None if _breaks(task, chosen, nest) else chosen


def _breaks(task: Task, chosen: Flags, nest: Nest) -> bool:
    """Say whether a design breaks a rule; of the limits, one that is nested."""
    kept = replace(task, limits=Limits(), linked=task.linked[:0])
    return bool(kept.broken(chosen)) or bool((task.limits.beyond(chosen)[nest.is_in] != 0).any())


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Arcs from ``tail`` to ``head`` with a capacity and a price for each unit, and what nodes give (+) or take (-)."""

    tail: Codes
    head: Codes
    capacity: Codes
    price: Codes
    supply: Codes

    def any_flow(self) -> Codes | None:
        """Return some flow, whatever it costs; None where there is none. No two arcs may have the same ends."""
        source, sink = self.supply.size, self.supply.size + 1
        gives, takes = np.flatnonzero(self.supply > 0), np.flatnonzero(self.supply < 0)
        rows = np.concatenate([self.tail, np.full(gives.size, source), takes])
        columns = np.concatenate([self.head, gives, np.full(takes.size, sink)])
        room = np.concatenate([self.capacity, self.supply[gives], -self.supply[takes]]).astype(np.int32)
        found = maximum_flow(sp.csr_array((room, (rows, columns)), shape=(sink + 1, sink + 1)), source, sink)
        if int(found.flow_value) < int(self.supply[gives].sum()):
            return None
        return np.asarray(found.flow[self.tail, self.head], dtype=np.int64)

    def by_ortools(self) -> Codes | None:
        """Return the flow of least cost; None where there is none."""
        from ortools.graph.python import min_cost_flow

        network = min_cost_flow.SimpleMinCostFlow()
        arcs = network.add_arcs_with_capacity_and_unit_cost(self.tail, self.head, self.capacity, self.price)
        network.set_nodes_supplies(np.arange(self.supply.size), self.supply)
        answer = network.solve()
        if answer not in (network.OPTIMAL, network.INFEASIBLE):
            raise _gave_up()
        return np.asarray(network.flows(arcs), dtype=np.int64) if answer == network.OPTIMAL else None

    def by_linear_program(self) -> Codes | None:
        """Return the same by linear programming."""
        from scipy.optimize import linprog

        count, arcs = self.supply.size, np.arange(self.tail.size)
        ends = np.concatenate([self.tail, self.head]), np.concatenate([arcs, arcs])
        balance: Any = sp.coo_array((np.repeat([1.0, -1.0], arcs.size), ends), shape=(count, arcs.size)).tocsr()
        # corners of flow polytopes are whole numbers, and the simplex method ends in a corner
        bounds: Any = np.stack([0 * self.capacity, self.capacity], axis=1)
        found = linprog(self.price / COST_UNITS, A_eq=balance, b_eq=self.supply, bounds=bounds, method="highs-ds")
        if found.status == _INFEASIBLE:
            return None
        if found.status != 0 or found.x is None:
            raise _gave_up()
        return np.rint(found.x).astype(np.int64)


# --- integer programmes --------------------------------------------------------------------------


def by_integers(
    task: Task,
    cost: Floats,
    *,
    connected: bool = False,
    counted: bool = True,
    barred: Flags | None = None,
    seconds: float = SECONDS,
) -> tuple[Flags | None, bool]:
    """Return a design of least cost by integer programming; or None, and whether that proves that there is none.

    A pair is chosen (x = 1) or not. Of all who may read two linked objects, one who reads both is marked (z = 1). Where
    a design is to be ``connected``, an assessor is employed (y = 1) or not, and one unit of something flows from the
    first object to every other and to every employed assessor, along chosen pairs only. Unless ``counted``, the number
    of assessments in all is left open; ``barred`` pairs must not be chosen (K).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_pairs, n_objects, n_assessors = task.n_pairs, task.n_objects, task.n_assessors
    limits, pair = task.limits, np.arange(n_pairs)
    common = [task.common(np.ones(n_pairs, dtype=bool), link) for link in range(len(task.linked))]
    size = np.array([one.size for one, _ in common], dtype=np.int64)
    n_links, n_flow, n_used = int(size.sum()), n_pairs * connected, n_assessors * connected
    width = n_pairs + n_links + n_flow + n_used

    def rows(at: Codes, columns: Codes, data: object, count: int) -> sp.csr_array[np.float64]:
        return sp.csr_array((np.broadcast_to(np.asarray(data, dtype=float), at.shape), (at, columns)), (count, width))

    if not n_pairs:
        nothing = np.zeros(0, dtype=bool)
        is_enough = not (task if counted else replace(task, total=0)).broken(nothing)
        return (nothing if is_enough else None), not is_enough
    loads = rows(task.assessor, pair, 1.0, n_assessors)
    constraints = [
        LinearConstraint(rows(task.object, pair, 1.0, n_objects), task.least, task.most),
        LinearConstraint(loads, task.least_load, task.most_load),
    ]
    if counted:
        constraints.append(LinearConstraint(rows(0 * pair, pair, 1.0, 1), task.total, task.total))
    if len(limits):
        rows_of_limits = rows(limits.limit, limits.pair, limits.weight, len(limits))
        constraints.append(LinearConstraint(rows_of_limits, limits.least - SLACK, limits.most + SLACK))
    if common:
        mark = np.arange(n_links)
        marked = rows(mark, n_pairs + mark, 1.0, n_links)
        for side in (0, 1):
            own = np.concatenate([one[side] for one in common])
            constraints.append(LinearConstraint(marked - rows(mark, own, 1.0, n_links), -np.inf, 0))
        of_link = np.repeat(np.arange(size.size), size)
        constraints.append(LinearConstraint(rows(of_link, n_pairs + mark, 1.0, size.size), 1, np.inf))
    if connected:
        constraints += _connection(task, rows, n_pairs + n_links)
    units = n_objects + n_assessors
    low = np.concatenate([task.fixed.astype(float), np.zeros(n_links), np.full(n_flow, -units), np.zeros(n_used)])
    may = np.ones(n_pairs) if barred is None else (~barred).astype(float)
    if (low[:n_pairs] > may).any():
        return None, True
    high = np.concatenate([may, np.ones(n_links), np.full(n_flow, units), np.ones(n_used)])
    whole = np.concatenate([np.ones(n_pairs), np.zeros(n_links + n_flow), np.ones(n_used)])
    price = np.concatenate([cost, np.zeros(width - n_pairs)])
    options: Any = {"time_limit": seconds, "mip_rel_gap": 1e-6}
    found = milp(price, constraints=constraints, bounds=Bounds(low, high), integrality=whole, options=options)
    if found.x is not None:
        chosen = np.asarray(found.x[:n_pairs] > 0.5, dtype=bool)
        checked = task if counted else replace(task, total=int(chosen.sum()))
        if not checked.broken(chosen):
            return chosen, False
    return None, found.status == _INFEASIBLE


def _connection(task: Task, rows: Any, flow_at: int) -> list[Any]:
    """Return the constraints under which one unit flows from the first object to all others and to the employed."""
    from scipy.optimize import LinearConstraint

    n_pairs, n_objects, n_assessors = task.n_pairs, task.n_objects, task.n_assessors
    pair, everyone, units = np.arange(n_pairs), np.arange(n_assessors), float(n_objects + n_assessors)
    flow_of, used_of = flow_at + pair, flow_at + n_pairs
    employed = rows(everyone, used_of + everyone, 1.0, n_assessors)
    loads = rows(task.assessor, pair, 1.0, n_assessors)
    most = rows(everyone, used_of + everyone, task.most_load.astype(float), n_assessors)
    used = rows(pair, pair, 1.0, n_pairs) - rows(pair, used_of + task.assessor, 1.0, n_pairs)
    demand = np.ones(n_objects)
    demand[0] = -np.inf
    room, flow = rows(pair, pair, units, n_pairs), rows(pair, flow_of, 1.0, n_pairs)
    return [
        LinearConstraint(loads - most, -np.inf, 0),
        LinearConstraint(employed - loads, -np.inf, 0),
        LinearConstraint(used, -np.inf, 0),
        LinearConstraint(rows(task.object, flow_of, 1.0, n_objects), demand, np.where(demand > 0, demand, np.inf)),
        LinearConstraint(rows(task.assessor, flow_of, -1.0, n_assessors) - employed, 0, 0),
        LinearConstraint(room - flow, 0, np.inf),
        LinearConstraint(room + flow, 0, np.inf),
    ]


# --- large tasks ---------------------------------------------------------------------------------


def _in_rounds(task: Task, cost: Floats, nest: Nest, first: Flags) -> Flags | None:
    """Return a design of low cost that keeps all rules, or None where none was found; ``first`` is from the first flow.

    Linked objects get a common reader first. Then flows keep the nested limits, and what they break of the others gets
    a price in the next: pairs of a limit that was beyond its most become dear, but for the cheapest; pairs of one that
    was below its least become cheap. Moves mend the little that is left.
    """
    generator = np.random.default_rng(0)
    limits, extra = task.limits, np.zeros(task.n_pairs)
    best, fewest = None, np.inf
    for turn in range(ROUNDS):
        with_readers = _with_readers(task, cost, generator, turn)
        if with_readers is None:
            continue
        chosen = first if with_readers is task and turn == 0 else _flow(with_readers, cost + extra, nest)
        if chosen is None:
            continue
        beyond = limits.beyond(chosen)
        wrong = int(np.count_nonzero(beyond))
        if wrong == 0:
            return chosen
        if wrong < fewest:
            best, fewest = (with_readers, chosen), wrong
        if wrong <= max(50, 0.002 * task.total) and mend(with_readers, chosen, generator):
            return chosen
        _priced(limits, chosen, beyond, cost + extra, extra)
    return best[1] if best is not None and mend(*best, generator) else None


def _priced(limits: Limits, chosen: Flags, beyond: Floats, cost: Floats, extra: Floats) -> None:
    """Change the prices of pairs of limits that are broken."""
    for limit in np.flatnonzero(beyond).tolist():
        pairs = limits.pair[limits.start[limit] : limits.start[limit + 1]]
        order = pairs[np.argsort(cost[pairs] - 10 * PRICE * chosen[pairs], kind="stable")]
        weight = limits.weight[limits.start[limit] : limits.start[limit + 1]]
        if beyond[limit] > 0:
            kept = int(limits.most[limit] / max(float(weight.max()), SLACK))
            extra[order[kept:]] += PRICE
        else:
            extra[order[: int(np.ceil(limits.least[limit] / max(float(weight.max()), SLACK)))]] -= PRICE


def _with_readers(task: Task, cost: Floats, generator: np.random.Generator, turn: int) -> Task | None:
    """Return the task with a common reader fixed for linked objects, the cheapest who has room; None without any."""
    if not len(task.linked):
        return task
    fixed, tally = task.fixed.copy(), Tally(task.limits, task.fixed)
    loads, readings = task.loads(fixed), task.readings(fixed)
    for link in generator.permutation(len(task.linked)).tolist():
        if task.common(fixed, link)[0].size:
            continue
        mine, theirs = task.common(np.ones(task.n_pairs, dtype=bool), link)
        noise = 0.5 * turn * generator.random(mine.size)
        for at in np.argsort(cost[mine] + cost[theirs] + noise, kind="stable").tolist():
            new = [pair for pair in (int(mine[at]), int(theirs[at])) if not fixed[pair]]
            who = int(task.assessor[mine[at]])
            room = loads[who] + len(new) <= task.most_load[who]
            room = room and all(readings[task.object[pair]] < task.most[task.object[pair]] for pair in new)
            if room and tally.allows(new, [1] * len(new)):
                tally.make(new, [1] * len(new))
                fixed[new] = True
                loads[who] += len(new)
                readings[task.object[new]] += 1
                break
        else:
            return None
    return replace(task, fixed=fixed)


def mend(task: Task, chosen: Flags, generator: np.random.Generator) -> bool:
    """Make moves, in place, until no limit is broken, and say whether that was reached; all other rules stay kept."""
    limits = task.limits
    tally, loads = Tally(limits, chosen), task.loads(chosen)
    mine: list[list[int]] = [[] for _ in range(task.n_assessors)]
    for pair in np.flatnonzero(chosen & ~task.fixed).tolist():
        mine[int(task.assessor[pair])].append(pair)
    at = {key: place for place, key in enumerate(task.keys.tolist())}
    for walk in range(WALK):
        wrong = np.flatnonzero(tally.beyond())
        if not wrong.size:
            return True
        for limit in generator.permutation(wrong).tolist():
            if not tally.is_broken(limit):
                continue
            move = _mending(task, chosen, limit, tally, loads, mine, at, generator, strict=walk % 2 == 0)
            if move is None:
                continue
            pairs, signs = move
            tally.make(pairs, signs)
            for pair, sign in zip(pairs, signs, strict=True):
                who = int(task.assessor[pair])
                loads[who] += sign
                chosen[pair] = sign > 0
                if sign > 0:
                    mine[who].append(pair)
                else:
                    mine[who].remove(pair)
    return not tally.beyond().any()


def _mending(
    task: Task,
    chosen: Flags,
    limit: int,
    tally: Tally,
    loads: Codes,
    mine: list[list[int]],
    at: dict[int, int],
    generator: np.random.Generator,
    *,
    strict: bool,
) -> tuple[list[int], tuple[int, ...]] | None:
    """Return a move that brings a limit nearer to its bounds and breaks nothing else, or less than it mends.

    Unless ``strict``, one that breaks as much as it mends will do.
    """
    best: tuple[list[int], tuple[int, ...]] | None = None
    least = -SLACK if strict else SLACK
    for gone, come in _replacements(task, chosen, limit, tally, generator):
        who, other, object_ = int(task.assessor[gone]), int(task.assessor[come]), int(task.object[gone])
        moves: list[tuple[list[int], tuple[int, ...]]] = []
        if loads[who] > task.least_load[who] and loads[other] < task.most_load[other]:
            moves.append(([gone, come], (-1, 1)))
        for partner in mine[other]:  # who is relieved of one in turn, by the first or by anybody with room
            theirs = int(task.object[partner])
            if theirs == object_:
                continue
            back = at.get(theirs * task.n_assessors + who, -1)
            if back >= 0 and not chosen[back]:
                moves.append(([gone, partner, come, back], (-1, -1, 1, 1)))
            elif loads[who] > task.least_load[who]:
                further = int(generator.integers(task.start[theirs], task.start[theirs + 1]))
                third = int(task.assessor[further])
                if not chosen[further] and third not in (other, who) and loads[third] < task.most_load[third]:
                    moves.append(([gone, partner, come, further], (-1, -1, 1, 1)))
        for move in moves:
            rise = tally.rise(*move)
            if rise < -1 + SLACK:
                return move
            if rise < least:
                best, least = move, rise
    return best


def _replacements(
    task: Task, chosen: Flags, limit: int, tally: Tally, generator: np.random.Generator
) -> list[tuple[int, int]]:
    """Return pairs that could go, each with one of the same object that could come, to mend a limit."""
    limits = task.limits
    pairs = limits.pair[limits.start[limit] : limits.start[limit + 1]]
    is_in = set(pairs.tolist())
    found = []
    over = tally.is_broken(limit) > 0
    for pair in generator.permutation(pairs[chosen[pairs] & ~task.fixed[pairs]] if over else pairs[~chosen[pairs]]):
        object_ = int(task.object[pair])
        others = np.arange(task.start[object_], task.start[object_ + 1])
        others = others[~chosen[others]] if over else others[chosen[others] & ~task.fixed[others]]
        beside = [one for one in generator.permutation(others).tolist() if one not in is_in]
        found += [(int(pair), one) if over else (one, int(pair)) for one in beside[:WALK]]
    return found
