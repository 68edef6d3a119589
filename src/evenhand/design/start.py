"""A first design that keeps all rules, joined into one piece, or mixed at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from evenhand.compiled import Codes, Flags
from evenhand.design.causes import no_connection, no_design, simple_cause
from evenhand.design.limits import Tally
from evenhand.design.program import SECONDS, by_integers
from evenhand.design.task import Move, Task
from evenhand.errors import NoDesignError
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity

TRIES: Final = 300
"""Attempts to join two parts, with exchanges at random between those that fail."""

FEW: Final = 20
"""Attempts that may fail before a small task is settled exactly."""

MOST_EXACT: Final = 600
"""Up to this many pairs, integer programming settles whether there is a connected design."""

MIXING: Final = 10
"""Exchanges at random, for each assessment, between two random designs."""

NUDGE: Final = 100
"""Exchanges at random after an attempt that failed."""


def parts_of(task: Task, chosen: Flags) -> tuple[int, Codes, Codes]:
    """Return the number of parts of a design, and the part of each object and assessor; -1 for those without work."""
    busy = np.concatenate([task.readings(chosen), task.loads(chosen)]) > 0
    names, code = np.unique(task.components(chosen)[1][busy], return_inverse=True)
    part = np.full(busy.size, -1)
    part[busy] = code
    return names.size, part[: task.n_objects], part[task.n_objects :]


def join(task: Task, chosen: Flags, generator: np.random.Generator) -> Flags:
    """Return a connected design near the given one; raise ``NoDesignError`` where there is none, or none is found."""
    error = no_connection(task)
    if error is not None:
        raise simple_cause(task) or error
    found, is_proof = joined(task, chosen, generator)
    if found is not None:
        return found
    if is_proof:
        raise no_design(task, connected=True)
    count = parts_of(task, chosen)[0]
    within = f"within {SECONDS:g} seconds" if task.n_pairs <= MOST_EXACT else f"in {TRIES} attempts"
    raise NoDesignError(
        f"No connected design was found {within}, which is no proof that there is none: the best falls into {count} "
        "parts. Try another seed, allow more assessments per object or a higher load, or lift conflicts.",
        kind="not_found",
        short=count - 1,
    )


def joined(
    task: Task, chosen: Flags, generator: np.random.Generator, *, seconds: float = SECONDS
) -> tuple[Flags | None, bool]:
    """Return a connected design near the given one; or None, and whether that proves that there is none.

    Two parts are joined by a swap of two assessments, or by handing one over, of which one at least lies on a cycle.
    Where no such move is to be had, moves at random shuffle the design first, and small tasks are settled exactly.
    Readers whom linked objects have in common stay.
    """
    held, chosen, failed = task.held(chosen), chosen.copy(), 0
    for _ in range(TRIES):
        count, of_object, of_assessor = parts_of(task, chosen)
        if count == 1:
            return chosen, False
        keeps = Tally(task.limits, chosen).allows
        joins = _joins(held, chosen, of_object, of_assessor, generator)
        move = next((one for one in joins if keeps(*one)), None)
        if move is None:
            failed += 1
            if failed > FEW and task.n_pairs <= MOST_EXACT:
                break
            mix(held, chosen, generator, NUDGE)
            continue
        chosen[move[0]] = np.asarray(move[1]) > 0
    if parts_of(task, chosen)[0] == 1:
        return chosen, False
    if task.n_pairs > MOST_EXACT:
        return None, False
    exact, is_proof = by_integers(task, np.zeros(task.n_pairs), connected=True, seconds=seconds)
    whole = exact is not None and parts_of(task, exact)[0] == 1
    return (exact if whole else None), is_proof


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
    task = task.held(chosen)
    free = np.flatnonzero(chosen & ~task.fixed)
    if free.size < 2:
        return
    loads, readings = task.loads(chosen), task.readings(chosen)
    tally, swap, transfer = Tally(task.limits, chosen), (-1, -1, 1, 1), (-1, 1)
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
