"""Finding a good design, by the method that the size of a task calls for; and the cheapest that is precise enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.compiled import Codes
from evenhand.design.balanced import balanced_blocks, balanced_objects
from evenhand.design.exchange import Found, search
from evenhand.design.impossible import no_connection, no_design
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.spread import spread
from evenhand.design.start import join, least_cost
from evenhand.design.task import Aim, Flags, Task
from evenhand.errors import LimitError, NoDesignError, Problem
from evenhand.progress import report

LARGEST_INVERSE: Final = 1_200
"""Up to so many objects and assessors together, every exchange is scored with the whole inverse of the Laplacian."""

LARGEST_WHOLE: Final = 4_000
"""Largest number of objects and assessors together for questions that need that inverse and have no other answer."""

UNEVEN: Final = 8
"""By how much loads may exceed the even one before no limit is tried."""


def find(task: Task, aim: Aim, *, seed: int, effort: float, time_limit: float | None) -> Found:
    """Return a good connected design, by the method that the size of the task calls for."""
    if aim.expertise_weight == 1:
        return Found(next(_starts(task, seed, ["expertise"])), math.nan, 0, in_time=True)
    if task.n_objects + task.n_assessors > LARGEST_INVERSE:
        chosen = next(_starts(task, seed, ["expertise" if task.expertise is not None else "people"]))
        report("exchanging assessments", 0, None)
        chosen = spread(task, chosen, weight=aim.expertise_weight, seed=seed)
        return Found(chosen, math.nan, 1, in_time=True)
    built = _built(task, seed)
    if built is not None and aim.expertise_weight == 0 and aim.objective != "top":
        return Found(built, math.nan, 0, in_time=True)
    starts = _starts(task, seed, ["pairs", "people"] * (2 if task.total <= 60 else 1))
    return searched(task, starts, aim, seed=seed, effort=effort, time_limit=time_limit)


def searched(
    task: Task, starts: Iterable[Flags], aim: Aim, *, seed: int, effort: float, time_limit: float | None
) -> Found:
    """Return the best design that exchanges reach from some starts, with as much work as their number calls for."""
    free = max(task.total - int(task.fixed.sum()), 1)
    shakes = max(1, round(effort * min(max(1_500 // free, 2), 40)))
    looks = round(effort * min(max(100 * free, 3_000), 12_000))
    if not aim.is_linear and aim.objective != "determinant":
        looks //= 3  # each look takes longer
    done = 0

    def tell(_: float) -> None:
        nonlocal done
        done += 1
        if done % 20 == 0:
            report("exchanging assessments", min(done, looks), looks)

    return search(task, starts, aim, seed=seed, shakes=shakes, looks=looks, time_limit=time_limit, tell=tell)


def _starts(task: Task, seed: int, kinds: Sequence[str]) -> Iterator[Flags]:
    """Yield connected designs of least cost, for costs of several kinds.

    ``"expertise"`` is what expertise is lost, ``"pairs"`` that with chance, and ``"people"`` a random order of
    assessors, of whom the first get as much work as they may: fewer assessors have fewer biases to be found.
    """
    generator = np.random.default_rng(seed)
    lost = np.zeros(task.n_pairs) if task.expertise is None else 1 - task.expertise
    for kind in kinds:
        report("a first design", 0, None)
        cost = lost + (0 if kind == "expertise" else (0.3 if lost.any() else 1) * generator.random(task.n_pairs))
        if kind == "people":
            cost = cost + 3 * generator.permutation(task.n_assessors)[task.assessor] / task.n_assessors
        chosen = least_cost(task, cost / max(float(cost.max()), 1e-300))
        if chosen is None:
            raise no_design(task)
        yield join(task, chosen, generator)


def _built(task: Task, seed: int) -> Flags | None:
    """Return a balanced design in a random order of labels, where one can be built that keeps all rules."""
    readings, loads = int(task.least.max()), task.total // task.n_assessors
    full = task.n_pairs == task.n_objects * task.n_assessors
    if not (full and task.is_even and not task.fixed.any()):
        return None
    if (task.least != readings).any() or (task.most != readings).any() or readings < 2:
        return None
    if loads * task.n_assessors != task.total or (task.most_load < loads).any():
        return None
    if (task.most_load > loads).any() or (task.least_load > loads).any():
        return None
    generator = np.random.default_rng(seed)
    chosen = np.zeros((task.n_objects, task.n_assessors), dtype=bool)
    blocks = balanced_blocks(task.n_objects, task.n_assessors, loads)
    if blocks is not None:
        chosen[blocks.ravel(), np.repeat(np.arange(task.n_assessors), loads)] = True
    else:
        blocks = balanced_objects(task.n_objects, task.n_assessors, readings)
        if blocks is None:
            return None
        chosen[np.repeat(np.arange(task.n_objects), readings), blocks.ravel()] = True
    chosen = chosen[generator.permutation(task.n_objects)][:, generator.permutation(task.n_assessors)]
    return np.asarray(chosen.ravel(), dtype=bool)


def even_loads(task: Task, *, at_least: bool) -> tuple[Task, list[Problem]]:
    """Return the task with the smallest most load, the same for all, that leaves a design.

    Where ``at_least``, everybody also reads at least their share, rounded down, if that can be.
    """
    share, even = task.total // task.n_assessors, -(-task.total // task.n_assessors)
    bound = np.maximum(task.loads(task.fixed), task.least_load)
    highest = [*range(even, min(even + UNEVEN, task.n_objects)), task.n_objects]
    loads = [*([(share, even)] if at_least else []), *((0, load) for load in highest)]
    error: NoDesignError | None = None
    for least, most in loads:
        tried = replace(task, least_load=np.maximum(task.least_load, least), most_load=np.maximum(bound, most))
        error = no_connection(tried)
        if error is None and least_cost(tried, np.zeros(task.n_pairs)) is None:
            error = no_design(tried)
        if error is None:
            words = f"an even load would be {even}; what was asked for takes up to {most} for some assessors."
            return tried, [] if most == even else [Problem("uneven_load", words)]
    raise error if error is not None else no_design(task)


def require_inverse(task: Task, what: str) -> None:
    """Refuse what needs the whole inverse of the Laplacian where that is too large."""
    if task.n_objects + task.n_assessors > LARGEST_WHOLE:
        raise LimitError(f"{what} is computed for up to {LARGEST_WHOLE:,} objects and assessors together.")


def grow(task: Task, aim: Aim, start: Flags | None = None) -> Flags | None:
    """Return a design of all assessments that are wanted, added to the fixed ones or to another start one at a time.

    Each is the one that lowers the mean variance of values most, objects weighted as the aim has it. Returns None where
    the rules leave no room for so many.
    """
    chosen = task.fixed if start is None else start
    inverse = Inverse(task, chosen)
    missing = task.total - int(chosen.sum())
    for count in range(missing):
        report("adding assessments", count, missing)
        if not aim.is_linear and aim.objective not in ("gap", "determinant"):
            inverse.reweigh(aim.weights(inverse.variances()))
        possible = open_pairs(task, inverse.chosen)
        if not possible.size:
            return None
        best = int(possible[np.argmin(coarse(inverse.mean_variances([possible], (1,))))])
        inverse.move([best], (1,))
    return inverse.chosen


def open_pairs(task: Task, chosen: Flags) -> Codes:
    """Return the pairs that could be added without breaking a rule."""
    room = (task.loads(chosen) < task.most_load)[task.assessor]
    room &= (task.readings(chosen) < task.most)[task.object]
    return np.flatnonzero(room & ~chosen)
