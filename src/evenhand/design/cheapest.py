"""The cheapest design whose values are as precise as is wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.design.connect import parts_of
from evenhand.design.exchange import Found, search
from evenhand.design.find import find
from evenhand.design.grow import open_pairs
from evenhand.design.impossible import no_design
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.objectives import Aim
from evenhand.design.problem import Flags, Problem
from evenhand.errors import NoDesignError
from evenhand.progress import report
from evenhand.words import count_of

MOST_FILLED: Final = 3_000
"""Up to so many pairs, all of them that the rules allow are a start too."""

TURNS: Final = 10
"""Turns of exchanging and dropping."""

REPLACED: Final = 20
"""Further assessments that are tried for making others needless."""


def cheapest(
    problem: Problem, aim: Aim, target_sd: float, *, seed: int, effort: float, time_limit: float | None
) -> tuple[Problem, Found]:
    """Return a design of least cost whose mean standard deviation (largest, for the worst) is at most the target.

    The fewest assessments per object, the same for all, that are enough are found first. Then assessments are
    dropped, those first that cost most for what they bring; what is left is improved by exchanges, cheaper
    assessors take over where that leaves enough, and so on as long as the cost falls.
    """
    first = None
    for readings in range(1, problem.n_assessors + 1):
        report("assessments per object", readings, problem.n_assessors)
        most = np.maximum(np.minimum(problem.most, readings), problem.least)
        even = replace(problem, least=most, most=most, total=int(most.sum()))
        try:
            found = find(even, aim, seed=seed, effort=min(effort, 0.1), time_limit=time_limit)
        except NoDesignError:
            if (most == problem.most).all():
                break
            continue
        if level(problem, found.chosen, aim) <= target_sd:
            first = found
            break
        first = None
        if (most == problem.most).all():
            raise NoDesignError(
                f"A standard deviation of {target_sd:g} cannot be reached: with as many assessments as may be made, "
                f"{count_of(int(most.sum()), 'assessment')}, it is {level(problem, found.chosen, aim):.3g}. Allow more "
                "assessments per object or a higher load, or find surer assessors.",
                kind="target",
            )
    if first is None:
        raise no_design(problem)
    starts = [first.chosen]
    if problem.n_pairs <= MOST_FILLED:
        starts.append(_filled(problem, first.chosen))
    best = min((_settled(problem, start, aim, target_sd) for start in starts), key=lambda one: _price(problem, one))
    for turn in range(max(2, round(TURNS * effort))):
        report("lowering the cost", turn, None)
        before = _price(problem, best)
        fewer = replace(problem, total=int(best.sum()))
        looks = max(100, round(1_000 * effort))
        found = search(fewer, [best], aim, seed=seed + turn, shakes=2, looks=looks, time_limit=time_limit)
        if level(problem, found.chosen, aim) <= target_sd and _price(problem, found.chosen) <= before:
            best = found.chosen
        best = _replaced(problem, _settled(problem, best, aim, target_sd), aim, target_sd)
        if _price(problem, best) >= before - 1e-9:
            break
    return replace(problem, total=int(best.sum())), Found(best, first.height, first.descents + 1, in_time=True)


def _settled(problem: Problem, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design from which nothing can be dropped, and nothing handed to somebody cheaper."""
    while True:
        before = _price(problem, chosen)
        chosen = _handed_over(problem, _thinned(problem, chosen, aim, target_sd), aim, target_sd)
        if _price(problem, chosen) >= before - 1e-9:
            return chosen


def _filled(problem: Problem, chosen: Flags) -> Flags:
    """Return a design with as many more assessments as the rules allow."""
    full = chosen.copy()
    while (possible := open_pairs(problem, full)).size:
        full[possible[np.argmin(problem.cost[possible])]] = True
    return full


def _replaced(problem: Problem, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a cheaper design, in which one further assessment makes others needless, as long as there is one."""
    weight = np.full(problem.n_objects, 1 / problem.n_objects)
    while True:
        possible = open_pairs(problem, chosen)
        if not possible.size:
            return chosen
        gain = Inverse(problem, chosen, weight).changes([possible], (1,)).variance
        for pair in possible[np.lexsort((coarse(gain), problem.cost[possible]))][:REPLACED].tolist():
            more = chosen.copy()
            more[pair] = True
            tried = _settled(problem, more, aim, target_sd)
            if _price(problem, tried) < _price(problem, chosen) - 1e-9:
                chosen = tried
                break
        else:
            return chosen


def level(problem: Problem, chosen: Flags, aim: Aim) -> float:
    """Return the mean standard deviation of the values of a design, or the largest for the worst."""
    if parts_of(problem, chosen)[0] > 1:
        return np.inf
    weight = np.full(problem.n_objects, 1 / problem.n_objects)
    return _level(Inverse(problem, chosen, weight).variances(), aim)


def _level(variances: np.ndarray, aim: Aim) -> float:
    sd = np.sqrt(np.maximum(variances, 0))
    return float(sd.max() if aim.objective == "worst" else sd.mean())


def _price(problem: Problem, chosen: Flags) -> float:
    return float(problem.cost[chosen].sum())


def _thinned(problem: Problem, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design without the assessments that are not needed, dearest for what they bring first."""
    weight = np.full(problem.n_objects, 1 / problem.n_objects)
    inverse = Inverse(problem, chosen, weight)
    while True:
        loads, readings = problem.loads(inverse.chosen), problem.readings(inverse.chosen)
        free = inverse.chosen & ~problem.fixed & (problem.cost > 0)
        free &= (loads > problem.least_load)[problem.assessor] & (readings > problem.least)[problem.object]
        pairs = np.flatnonzero(free)
        if not pairs.size:
            return inverse.chosen.copy()
        rise = inverse.changes([pairs], (-1,)).variance - inverse.variance
        for pair in pairs[np.argsort(coarse(rise / problem.cost[pairs]), kind="stable")].tolist():
            if rise[np.flatnonzero(pairs == pair)[0]] > 1e3 * inverse.variance:
                continue
            if _level(inverse.variances_after([pair], (-1,)), aim) <= target_sd:
                inverse.move([pair], (-1,))
                break
        else:
            return inverse.chosen.copy()


def _handed_over(problem: Problem, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design in which cheaper pairs have taken over where that leaves values precise enough."""
    if np.ptp(problem.cost) == 0:
        return chosen
    inverse = Inverse(problem, chosen, np.full(problem.n_objects, 1 / problem.n_objects))
    moved = True
    while moved:
        moved = False
        for pair in np.flatnonzero(inverse.chosen & ~problem.fixed)[
            np.argsort(-problem.cost[inverse.chosen & ~problem.fixed], kind="stable")
        ].tolist():
            loads = problem.loads(inverse.chosen)
            object_, assessor = int(problem.object[pair]), int(problem.assessor[pair])
            if loads[assessor] <= problem.least_load[assessor]:
                continue
            target = np.arange(problem.start[object_], problem.start[object_ + 1])
            target = target[~inverse.chosen[target] & (problem.cost[target] < problem.cost[pair])]
            target = target[(loads < problem.most_load)[problem.assessor[target]]]
            for other in target[np.argsort(problem.cost[target], kind="stable")].tolist():
                if _level(inverse.variances_after([pair, other], (-1, 1)), aim) <= target_sd:
                    inverse.move([pair, other], (-1, 1))
                    moved = True
                    break
    return inverse.chosen.copy()
