"""Finding a good design, by the method that the size of a task calls for; and the cheapest that is precise enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.compiled import Codes, Flags
from evenhand.design.balanced import balanced_blocks, balanced_objects
from evenhand.design.exchange import Found, Inverse, coarse, search
from evenhand.design.spread import spread
from evenhand.design.start import join, least_cost, no_connection, no_design, parts_of
from evenhand.design.task import Aim, Task
from evenhand.errors import LimitError, NoDesignError, Problem
from evenhand.progress import report
from evenhand.words import count_of

LARGEST_INVERSE: Final = 1_200
"""Up to this many objects and assessors together, every exchange is scored with the whole inverse of the Laplacian."""

LARGEST_WHOLE: Final = 4_000
"""Largest number of objects and assessors together for questions that need that inverse and have no other answer."""

UNEVEN: Final = 8
"""Loads are limited to at most this much above the even one; beyond, no limit is tried."""

MOST_FILLED: Final = 3_000
"""Up to this many pairs, a design of as many as the rules allow is a start too."""

TURNS: Final = 10
"""Turns of exchanging and dropping."""

REPLACED: Final = 20
"""Further assessments that are tried for making others needless."""


def find(task: Task, aim: Aim, *, seed: int, effort: float, time_limit: float | None) -> Found:
    """Return a good connected design, by the method that the size of the task calls for."""
    if aim.expertise_weight == 1:
        return Found(next(_starts(task, seed, ["expertise"])), 0, in_time=True)
    if task.n_objects + task.n_assessors > LARGEST_INVERSE:
        chosen = next(_starts(task, seed, ["expertise" if task.expertise is not None else "people"]))
        report("exchanging assessments", 0, None)
        chosen = spread(task, chosen, weight=aim.expertise_weight, seed=seed)
        return Found(chosen, 1, in_time=True)
    if task.fixed.any() and (task.least < task.most).any():
        start = grow(task, aim) if task.readings(task.fixed).all() else None
        starts = _starts(task, seed, ["pairs"]) if start is None else iter([start])
        return searched(task, starts, aim, seed=seed, effort=effort, time_limit=time_limit)
    built = _built(task, seed)
    if built is not None and aim.expertise_weight == 0 and aim.objective != "top":
        return Found(built, 0, in_time=True)
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

    def tell(looked: int) -> None:
        if looked % 20 == 0:
            report("exchanging assessments", min(looked, looks), looks)

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
    if not (full and task.is_even and not task.fixed.any()) or readings < 2:
        return None
    if loads * task.n_assessors != task.total or (task.most_load != loads).any() or (task.least_load > loads).any():
        return None
    if (task.least != readings).any() or (task.most != readings).any():
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


def grow(task: Task, aim: Aim) -> Flags | None:
    """Return a design of all assessments that are wanted, added to the fixed ones one at a time.

    Each is the one that lowers the mean variance of values most, objects weighted as the aim has it. Returns None where
    the rules leave no room for so many.
    """
    inverse = Inverse(task, task.fixed)
    missing = task.total - int(task.fixed.sum())
    for count in range(missing):
        report("adding assessments", count, missing)
        if aim.objective in ("worst", "top"):
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


def cheapest(
    task: Task, aim: Aim, target_sd: float, *, seed: int, effort: float, time_limit: float | None
) -> tuple[Task, Found]:
    """Return a design of least cost whose mean standard deviation (largest, for the worst) is at most the target.

    The fewest assessments per object, the same for all, that are enough are found first. Then assessments are
    dropped, those first that cost most for what they bring; what is left is improved by exchanges, cheaper
    assessors take over where that leaves enough, and so on as long as the cost falls.
    """
    first, refusal, closest = None, None, np.inf
    for readings in range(1, task.n_assessors + 1):
        report("assessments per object", readings, task.n_assessors)
        most = np.maximum(np.minimum(task.most, readings), task.least)
        even = replace(task, least=most, most=most, total=int(most.sum()))
        try:
            found = find(even, aim, seed=seed, effort=min(effort, 0.1), time_limit=time_limit)
        except NoDesignError as error:
            refusal = error
        else:
            reached = level(task, found.chosen, aim)
            if reached <= target_sd:
                first = found
                break
            closest = min(closest, reached)
            if found.chosen.all():
                raise NoDesignError(
                    f"A standard deviation of {target_sd:g} cannot be reached: with every assessment that may be made, "
                    f"{count_of(task.n_pairs, 'assessment')}, it is {reached:.3g}. Find further or surer assessors, or "
                    "lift conflicts.",
                    kind="target",
                )
        if (most == task.most).all():
            break
    if first is None:
        raise _not_reached(target_sd, closest, refusal)
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
    return replace(task, total=int(best.sum())), Found(best, first.descents + 1, in_time=True)


def _not_reached(target_sd: float, closest: float, refusal: NoDesignError | None) -> NoDesignError:
    """Return the error of a search that found no design precise enough, of as many assessments for every object."""
    why = "" if refusal is None else f" With more for each: {refusal}"
    if np.isinf(closest):
        return NoDesignError(
            "No design was found in which every object has the same number of assessments, from which the search for "
            f"the cheapest starts. With the most that may be asked for: {refusal}",
            kind="not_found" if refusal is None else refusal.kind,
        )
    return NoDesignError(
        f"A standard deviation of {target_sd:g} was not reached: the best design that was found has {closest:.3g}. "
        f"Allow more assessments per object or a higher load, find surer assessors, or search longer.{why}",
        kind="target",
    )


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
        free = np.flatnonzero(inverse.chosen & ~task.fixed)
        for pair in free[np.argsort(-task.cost[free], kind="stable")].tolist():
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
