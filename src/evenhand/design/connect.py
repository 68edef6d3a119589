"""Joining a design into one piece: without that its assessors' standards cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from evenhand.design.impossible import no_connection
from evenhand.design.problem import Codes, Flags, Problem
from evenhand.errors import NoDesignError
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity

TRIES: Final = 300
"""So many attempts are made to join two parts, with exchanges at random between those that fail."""

FEW: Final = 20
"""Attempts that may fail before a small problem is settled exactly."""

SMALL: Final = 600
"""Up to so many pairs, whether a connected design exists is settled by integer programming."""

SECONDS: Final = 60.0
"""Longest time of that."""

Move = tuple[tuple[int, ...], tuple[int, ...]]
"""Pairs that go and pairs that come."""


def parts_of(problem: Problem, chosen: Flags) -> tuple[int, Codes, Codes]:
    """Return the number of parts of a design, and the part of each object and assessor; -1 for those without work."""
    vertices = problem.n_objects + problem.n_assessors
    ends = problem.object[chosen], problem.assessor[chosen] + problem.n_objects
    _, label = connected_components(
        sp.coo_array((np.ones(ends[0].size, dtype=bool), ends), shape=(vertices, vertices)), directed=False
    )
    busy = np.zeros(vertices, dtype=bool)
    busy[ends[0]] = busy[ends[1]] = True
    names, code = np.unique(label[busy], return_inverse=True)
    part = np.full(vertices, -1)
    part[busy] = code
    return names.size, part[: problem.n_objects], part[problem.n_objects :]


def join(problem: Problem, chosen: Flags, generator: np.random.Generator) -> Flags:
    """Return a connected design near the given one.

    Two parts are joined by a swap of two assessments, or by handing one over, of which one at least lies on a cycle.
    Where no such move is to be had, moves at random shuffle the design first, and small problems are settled exactly.

    Raises
    ------
    NoDesignError
        If there is no connected design, or none was found.
    """
    error = no_connection(problem)
    if error is not None:
        raise error
    chosen, failed = chosen.copy(), 0
    for _ in range(TRIES):
        count, of_object, of_assessor = parts_of(problem, chosen)
        if count == 1:
            return chosen
        move = next(_joins(problem, chosen, of_object, of_assessor, generator), None)
        if move is None:
            failed += 1
            if failed > FEW and problem.n_pairs <= SMALL:
                break
            _shuffle(problem, chosen, generator)
            continue
        chosen[list(move[0])] = False
        chosen[list(move[1])] = True
    count, _, _ = parts_of(problem, chosen)
    if count == 1:
        return chosen
    exact = _exactly(problem) if problem.n_pairs <= SMALL else None
    if exact is None:
        certain = problem.n_pairs <= SMALL
        raise NoDesignError(
            f"{'No' if certain else 'No connected design was found: no'} way of keeping the loads, conflicts and fixed "
            f"pairs joins all objects; {count} parts remain. Allow more assessments per object, or lift conflicts.",
            kind="connection",
            short=count - 1,
        )
    return exact


def _on_cycles(problem: Problem, chosen: Flags) -> Flags:
    """Return the assessments without which their part still holds together."""
    at = np.flatnonzero(chosen)
    code = np.unique(problem.assessor[at], return_inverse=True)[1]
    object_ = np.unique(problem.object[at], return_inverse=True)[1]
    cycles = chosen.copy()
    cycles[at[connectivity(Panel.from_arrays(object_, code, np.zeros(at.size))).bridges]] = False
    return cycles


def _joins(
    problem: Problem, chosen: Flags, of_object: Codes, of_assessor: Codes, generator: np.random.Generator
) -> Iterator[Move]:
    """Yield moves that join the smallest part to another, those of its own assessments first."""
    cycles, loads = _on_cycles(problem, chosen), problem.loads(chosen)
    smallest = int(np.argmin(np.bincount(of_object)))
    inside = np.flatnonzero(chosen & ~problem.fixed & (of_object[problem.object] == smallest))
    work = np.argsort(problem.assessor[chosen], kind="stable")
    by_assessor = np.flatnonzero(chosen)[work]
    begin = np.concatenate([[0], np.cumsum(loads)])
    for pair in generator.permutation(inside).tolist():
        object_, assessor = int(problem.object[pair]), int(problem.assessor[pair])
        possible = np.arange(problem.start[object_], problem.start[object_ + 1])
        possible = possible[(of_assessor[problem.assessor[possible]] >= 0) & ~chosen[possible]]
        possible = possible[of_assessor[problem.assessor[possible]] != smallest]
        leaves = loads[assessor] > problem.least_load[assessor]
        for come in generator.permutation(possible).tolist():
            other = int(problem.assessor[come])
            if leaves and loads[other] < problem.most_load[other] and (cycles[pair] or loads[assessor] == 1):
                yield (pair,), (come,)
            theirs = by_assessor[begin[other] : begin[other + 1]]
            theirs = theirs[~problem.fixed[theirs] & (cycles[theirs] | cycles[pair])]
            back = problem.position(np.full(theirs.size, assessor), problem.object[theirs])
            for partner, returned in zip(theirs.tolist(), back.tolist(), strict=True):
                if returned >= 0:
                    yield (pair, partner), (come, returned)
    outside = np.flatnonzero(~chosen & (of_assessor[problem.assessor] == smallest))
    outside = outside[of_object[problem.object[outside]] != smallest]
    for come in generator.permutation(outside).tolist():
        if loads[problem.assessor[come]] >= problem.most_load[problem.assessor[come]]:
            continue
        object_ = int(problem.object[come])
        theirs = np.arange(problem.start[object_], problem.start[object_ + 1])
        theirs = theirs[cycles[theirs] & ~problem.fixed[theirs]]
        for pair in theirs.tolist():
            if loads[problem.assessor[pair]] > problem.least_load[problem.assessor[pair]]:
                yield (pair,), (come,)


def _shuffle(problem: Problem, chosen: Flags, generator: np.random.Generator) -> None:
    """Make some swaps and transfers at random, whatever becomes of the parts."""
    loads = problem.loads(chosen)
    for _ in range(20):
        free = np.flatnonzero(chosen & ~problem.fixed)
        if not free.size:
            return
        pair = int(generator.choice(free))
        object_, assessor = int(problem.object[pair]), int(problem.assessor[pair])
        possible = np.arange(problem.start[object_], problem.start[object_ + 1])
        possible = possible[~chosen[possible]]
        if not possible.size:
            continue
        come = int(generator.choice(possible))
        other = int(problem.assessor[come])
        if loads[other] < problem.most_load[other] and loads[assessor] > problem.least_load[assessor]:
            chosen[pair], chosen[come] = False, True
            loads[assessor] -= 1
            loads[other] += 1
            continue
        theirs = free[problem.assessor[free] == other]
        back = problem.position(np.full(theirs.size, assessor), problem.object[theirs])
        good = np.flatnonzero((back >= 0) & ~chosen[back])
        if good.size:
            at = int(generator.choice(good))
            chosen[[pair, int(theirs[at])]] = False
            chosen[[come, int(back[at])]] = True


def _exactly(problem: Problem) -> Flags | None:
    """Return a connected design, or None if there is none, by integer programming.

    A pair is chosen (x = 1) or not, an assessor employed (y = 1) or not, and one unit of something flows from the first
    object to every other and to every employed assessor, along chosen pairs only.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_pairs, n_objects, n_assessors = problem.n_pairs, problem.n_objects, problem.n_assessors
    units = n_objects + n_assessors
    pair, object_, assessor = np.arange(n_pairs), problem.object, problem.assessor
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
    most = rows(np.arange(n_assessors), employed, problem.most_load.astype(float), n_assessors)
    used = rows(pair, pair, 1.0, n_pairs) - rows(pair, 2 * n_pairs + assessor, 1.0, n_pairs)
    constraints = [
        LinearConstraint(rows(object_, pair, 1.0, n_objects), problem.least, problem.most),
        LinearConstraint(loads, problem.least_load, problem.most_load),
        LinearConstraint(loads - most, -np.inf, 0),
        LinearConstraint(used, -np.inf, 0),
        LinearConstraint(rows(np.zeros(n_pairs, dtype=np.int64), pair, 1.0, 1), problem.total, problem.total),
        LinearConstraint(into, demand, np.where(demand > 0, demand, np.inf)),
        LinearConstraint(out, 0, 0),
        LinearConstraint(room - flow, 0, np.inf),
        LinearConstraint(room + flow, 0, np.inf),
    ]
    low = np.concatenate([problem.fixed.astype(float), np.full(n_pairs, -units), np.zeros(n_assessors)])
    high = np.concatenate([np.ones(n_pairs), np.full(n_pairs, units), np.ones(n_assessors)])
    whole = np.concatenate([np.ones(n_pairs), np.zeros(n_pairs), np.ones(n_assessors)])
    found = milp(
        np.zeros(width),
        constraints=constraints,
        bounds=Bounds(low, high),
        integrality=whole,
        options={"time_limit": SECONDS},
    )
    if found.x is None:
        return None
    chosen = found.x[:n_pairs] > 0.5
    return chosen if not problem.broken(chosen) and parts_of(problem, chosen)[0] == 1 else None
