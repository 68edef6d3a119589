"""Finding a good design, by the method that the size of a problem calls for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.design.balanced import balanced_blocks, balanced_objects
from evenhand.design.connect import join
from evenhand.design.exchange import Found, search
from evenhand.design.flow import least_cost
from evenhand.design.impossible import no_connection, no_design
from evenhand.design.objectives import Aim
from evenhand.design.problem import Flags, Problem
from evenhand.design.spread import spread
from evenhand.errors import LimitError, NoDesignError
from evenhand.errors import Problem as Note
from evenhand.progress import report

LARGEST_INVERSE: Final = 1_200
"""Up to so many objects and assessors together, every exchange is scored with the whole inverse of the Laplacian."""

LARGEST_WHOLE: Final = 4_000
"""Largest number of objects and assessors together for questions that need that inverse and have no other answer."""

UNEVEN: Final = 8
"""By how much loads may exceed the even one before no limit is tried."""


def find(problem: Problem, aim: Aim, *, seed: int, effort: float, time_limit: float | None) -> Found:
    """Return a good connected design, by the method that the size of the problem calls for."""
    if aim.expertise_weight == 1:
        return Found(next(_starts(problem, seed, ["expertise"])), math.nan, 0, in_time=True)
    if problem.n_objects + problem.n_assessors > LARGEST_INVERSE:
        chosen = next(_starts(problem, seed, ["expertise" if problem.expertise is not None else "people"]))
        report("exchanging assessments", 0, None)
        chosen = spread(problem, chosen, weight=aim.expertise_weight, seed=seed)
        return Found(chosen, math.nan, 1, in_time=True)
    built = _built(problem, seed)
    if built is not None and aim.expertise_weight == 0 and aim.objective != "top":
        return Found(built, math.nan, 0, in_time=True)
    starts = _starts(problem, seed, ["pairs", "people"] * (2 if problem.total <= 60 else 1))
    return searched(problem, starts, aim, seed=seed, effort=effort, time_limit=time_limit)


def searched(
    problem: Problem, starts: Iterable[Flags], aim: Aim, *, seed: int, effort: float, time_limit: float | None
) -> Found:
    """Return the best design that exchanges reach from some starts, with as much work as their number calls for."""
    free = max(problem.total - int(problem.fixed.sum()), 1)
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

    return search(problem, starts, aim, seed=seed, shakes=shakes, looks=looks, time_limit=time_limit, tell=tell)


def _starts(problem: Problem, seed: int, kinds: Sequence[str]) -> Iterator[Flags]:
    """Yield connected designs of least cost, for costs of several kinds.

    ``"expertise"`` is what expertise is lost, ``"pairs"`` that with chance, and ``"people"`` a random order of
    assessors, of whom the first get as much work as they may: fewer assessors have fewer biases to be found.
    """
    generator = np.random.default_rng(seed)
    lost = np.zeros(problem.n_pairs) if problem.expertise is None else 1 - problem.expertise
    for kind in kinds:
        report("a first design", 0, None)
        cost = lost + (0 if kind == "expertise" else (0.3 if lost.any() else 1) * generator.random(problem.n_pairs))
        if kind == "people":
            cost = cost + 3 * generator.permutation(problem.n_assessors)[problem.assessor] / problem.n_assessors
        chosen = least_cost(problem, cost / max(float(cost.max()), 1e-300))
        if chosen is None:
            raise no_design(problem)
        yield join(problem, chosen, generator)


def _built(problem: Problem, seed: int) -> Flags | None:
    """Return a balanced design in a random order of labels, where one can be built that keeps all rules."""
    readings, loads = int(problem.least.max()), problem.total // problem.n_assessors
    full = problem.n_pairs == problem.n_objects * problem.n_assessors
    if not (full and problem.is_even and not problem.fixed.any()):
        return None
    if (problem.least != readings).any() or (problem.most != readings).any() or readings < 2:
        return None
    if loads * problem.n_assessors != problem.total or (problem.most_load < loads).any():
        return None
    if (problem.most_load > loads).any() or (problem.least_load > loads).any():
        return None
    generator = np.random.default_rng(seed)
    chosen = np.zeros((problem.n_objects, problem.n_assessors), dtype=bool)
    blocks = balanced_blocks(problem.n_objects, problem.n_assessors, loads)
    if blocks is not None:
        chosen[blocks.ravel(), np.repeat(np.arange(problem.n_assessors), loads)] = True
    else:
        blocks = balanced_objects(problem.n_objects, problem.n_assessors, readings)
        if blocks is None:
            return None
        chosen[np.repeat(np.arange(problem.n_objects), readings), blocks.ravel()] = True
    chosen = chosen[generator.permutation(problem.n_objects)][:, generator.permutation(problem.n_assessors)]
    return np.asarray(chosen.ravel(), dtype=bool)


def even_loads(problem: Problem, *, at_least: bool) -> tuple[Problem, list[Note]]:
    """Return the problem with the smallest most load, the same for all, that leaves a design.

    Where ``at_least``, everybody also reads at least their share, rounded down, if that can be.
    """
    share, even = problem.total // problem.n_assessors, -(-problem.total // problem.n_assessors)
    bound = np.maximum(problem.loads(problem.fixed), problem.least_load)
    highest = [*range(even, min(even + UNEVEN, problem.n_objects)), problem.n_objects]
    loads = [*([(share, even)] if at_least else []), *((0, load) for load in highest)]
    error: NoDesignError | None = None
    for least, most in loads:
        tried = replace(problem, least_load=np.maximum(problem.least_load, least), most_load=np.maximum(bound, most))
        error = no_connection(tried)
        if error is None and least_cost(tried, np.zeros(problem.n_pairs)) is None:
            error = no_design(tried)
        if error is None:
            words = f"an even load would be {even}; what was asked for takes up to {most} for some assessors."
            return tried, [] if most == even else [Note("uneven_load", words)]
    raise error if error is not None else no_design(problem)


def require_inverse(problem: Problem, what: str) -> None:
    """Refuse what needs the whole inverse of the Laplacian where that is too large."""
    if problem.n_objects + problem.n_assessors > LARGEST_WHOLE:
        raise LimitError(f"{what} is computed for up to {LARGEST_WHOLE:,} objects and assessors together.")
