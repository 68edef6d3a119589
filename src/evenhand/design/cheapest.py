"""The cheapest design whose values are as precise as is wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.design.exchange import Found, search
from evenhand.design.find import find, open_pairs
from evenhand.design.impossible import no_design
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.start import parts_of
from evenhand.design.task import Aim, Flags, Task
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
    task: Task, aim: Aim, target_sd: float, *, seed: int, effort: float, time_limit: float | None
) -> tuple[Task, Found]:
    """Return a design of least cost whose mean standard deviation (largest, for the worst) is at most the target.

    The fewest assessments per object, the same for all, that are enough are found first. Then assessments are
    dropped, those first that cost most for what they bring; what is left is improved by exchanges, cheaper
    assessors take over where that leaves enough, and so on as long as the cost falls.
    """
    first = None
    for readings in range(1, task.n_assessors + 1):
        report("assessments per object", readings, task.n_assessors)
        most = np.maximum(np.minimum(task.most, readings), task.least)
        even = replace(task, least=most, most=most, total=int(most.sum()))
        try:
            found = find(even, aim, seed=seed, effort=min(effort, 0.1), time_limit=time_limit)
        except NoDesignError:
            if (most == task.most).all():
                break
            continue
        if level(task, found.chosen, aim) <= target_sd:
            first = found
            break
        first = None
        if (most == task.most).all():
            raise NoDesignError(
                f"A standard deviation of {target_sd:g} cannot be reached: with as many assessments as may be made, "
                f"{count_of(int(most.sum()), 'assessment')}, it is {level(task, found.chosen, aim):.3g}. Allow more "
                "assessments per object or a higher load, or find surer assessors.",
                kind="target",
            )
    if first is None:
        raise no_design(task)
    starts = [first.chosen]
    if task.n_pairs <= MOST_FILLED:
        starts.append(_filled(task, first.chosen))
    best = min((_settled(task, start, aim, target_sd) for start in starts), key=lambda one: _price(task, one))
    for turn in range(max(2, round(TURNS * effort))):
        report("lowering the cost", turn, None)
        before = _price(task, best)
        fewer = replace(task, total=int(best.sum()))
        looks = max(100, round(1_000 * effort))
        found = search(fewer, [best], aim, seed=seed + turn, shakes=2, looks=looks, time_limit=time_limit)
        if level(task, found.chosen, aim) <= target_sd and _price(task, found.chosen) <= before:
            best = found.chosen
        best = _replaced(task, _settled(task, best, aim, target_sd), aim, target_sd)
        if _price(task, best) >= before - 1e-9:
            break
    return replace(task, total=int(best.sum())), Found(best, first.height, first.descents + 1, in_time=True)


def _settled(task: Task, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design from which nothing can be dropped, and nothing handed to somebody cheaper."""
    while True:
        before = _price(task, chosen)
        chosen = _handed_over(task, _thinned(task, chosen, aim, target_sd), aim, target_sd)
        if _price(task, chosen) >= before - 1e-9:
            return chosen


def _filled(task: Task, chosen: Flags) -> Flags:
    """Return a design with as many more assessments as the rules allow."""
    full = chosen.copy()
    while (possible := open_pairs(task, full)).size:
        full[possible[np.argmin(task.cost[possible])]] = True
    return full


def _replaced(task: Task, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a cheaper design, in which one further assessment makes others needless, as long as there is one."""
    while True:
        possible = open_pairs(task, chosen)
        if not possible.size:
            return chosen
        gain = Inverse(task, chosen).mean_variances([possible], (1,))
        for pair in possible[np.lexsort((coarse(gain), task.cost[possible]))][:REPLACED].tolist():
            more = chosen.copy()
            more[pair] = True
            tried = _settled(task, more, aim, target_sd)
            if _price(task, tried) < _price(task, chosen) - 1e-9:
                chosen = tried
                break
        else:
            return chosen


def level(task: Task, chosen: Flags, aim: Aim) -> float:
    """Return the mean standard deviation of the values of a design, or the largest for the worst."""
    if parts_of(task, chosen)[0] > 1:
        return np.inf
    return _level(Inverse(task, chosen).variances(), aim)


def _level(variances: np.ndarray, aim: Aim) -> float:
    sd = np.sqrt(np.maximum(variances, 0))
    return float(sd.max() if aim.objective == "worst" else sd.mean())


def _price(task: Task, chosen: Flags) -> float:
    return float(task.cost[chosen].sum())


def _thinned(task: Task, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design without the assessments that are not needed, dearest for what they bring first."""
    inverse = Inverse(task, chosen)
    while True:
        loads, readings = task.loads(inverse.chosen), task.readings(inverse.chosen)
        free = inverse.chosen & ~task.fixed & (task.cost > 0)
        free &= (loads > task.least_load)[task.assessor] & (readings > task.least)[task.object]
        pairs = np.flatnonzero(free)
        if not pairs.size:
            return inverse.chosen.copy()
        rise = inverse.mean_variances([pairs], (-1,)) - inverse.variance
        for pair in pairs[np.argsort(coarse(rise / task.cost[pairs]), kind="stable")].tolist():
            if rise[np.flatnonzero(pairs == pair)[0]] > 1e3 * inverse.variance:
                continue
            if _level(inverse.variances_after([pair], (-1,)), aim) <= target_sd:
                inverse.move([pair], (-1,))
                break
        else:
            return inverse.chosen.copy()


def _handed_over(task: Task, chosen: Flags, aim: Aim, target_sd: float) -> Flags:
    """Return a design in which cheaper pairs have taken over where that leaves values precise enough."""
    if np.ptp(task.cost) == 0:
        return chosen
    inverse = Inverse(task, chosen)
    moved = True
    while moved:
        moved = False
        for pair in np.flatnonzero(inverse.chosen & ~task.fixed)[
            np.argsort(-task.cost[inverse.chosen & ~task.fixed], kind="stable")
        ].tolist():
            loads = task.loads(inverse.chosen)
            object_, assessor = int(task.object[pair]), int(task.assessor[pair])
            if loads[assessor] <= task.least_load[assessor]:
                continue
            target = np.arange(task.start[object_], task.start[object_ + 1])
            target = target[~inverse.chosen[target] & (task.cost[target] < task.cost[pair])]
            target = target[(loads < task.most_load)[task.assessor[target]]]
            for other in target[np.argsort(task.cost[target], kind="stable")].tolist():
                if _level(inverse.variances_after([pair, other], (-1, 1)), aim) <= target_sd:
                    inverse.move([pair, other], (-1, 1))
                    moved = True
                    break
    return inverse.chosen.copy()
