"""Finding a good design, by the method that the size of a task calls for; and the cheapest that is precise enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.compiled import Codes, Flags, one_thread
from evenhand.design.balanced import balanced_blocks, balanced_objects
from evenhand.design.causes import no_design
from evenhand.design.exchange import Exchange, Found, search
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.program import by_integers, least_cost
from evenhand.design.spread import spread
from evenhand.design.start import MOST_EXACT, join, parts_of
from evenhand.design.task import Aim, Task
from evenhand.errors import LimitError, NoDesignError
from evenhand.progress import report
from evenhand.words import count_of

LARGEST_INVERSE: Final = 1_200
"""Up to this many objects and assessors together, every exchange is scored with the whole inverse of the Laplacian."""

LARGEST_WHOLE: Final = 4_000
"""Largest number of objects and assessors together for questions that need that inverse and have no other answer."""

MOST_FILLED: Final = 3_000
"""Up to this many pairs, a design of as many as the rules allow is a start too."""

MOST_TRIED: Final = 4_500_000
"""So many exchanges are tried in all, about a second of work, or more where assessments are so many that each gets one
look only; small tasks, for which that would be looks without end, have a bound of their own."""

MANY: Final = 400
"""From more assessments than this on, the best of all starts comes first."""

EXACT_SECONDS: Final = 10.0
"""Integer programming takes at most this long for the most expert design that is connected."""

LINKINGS: Final = 3
"""How often readers of linked objects are chosen anew, in two ways each."""

ORDERS: Final = 200
"""Random orders of labels in which a balanced design is tried where there are rules."""

TURNS: Final = 10
"""Turns of exchanging and dropping."""

REPLACED: Final = 20
"""Further assessments that are tried for making others needless."""


def find(task: Task, aim: Aim, *, seed: int, effort: float, time_limit: float | None) -> Found:
    """Return a good connected design, by the method that the size of the task calls for."""
    if aim.expertise_weight == 1:
        return Found(_most_expert(task, seed), 0, in_time=True)
    if len(task.linked):
        return _linked(task, aim, seed=seed, effort=effort, time_limit=time_limit)
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
    kinds = ["pairs", "people"] * (2 if task.total <= 60 else 1)
    if task.total > MANY:
        starts = _best_first(task, _starts(task, seed, kinds + ["expertise"] * (task.expertise is not None)), aim, seed)
    else:
        starts = _starts(task, seed, kinds)
    return searched(task, starts, aim, seed=seed, effort=effort, time_limit=time_limit)


def _best_first(task: Task, starts: Iterable[Flags], aim: Aim, seed: int) -> Iterator[Flags]:
    """Yield designs in the order of what they promise: of many assessments there may be time for the first alone."""
    listed = list(starts)
    judge = Exchange(task, aim, listed[0], np.random.default_rng(seed))
    heights = []
    for start in listed:
        judge.restart(start)
        heights.append(judge.height)
    yield from (listed[at] for at in np.argsort(coarse(np.array(heights)), kind="stable").tolist())


def _most_expert(task: Task, seed: int) -> Flags:
    """Return a connected design of much expertise; of a small task the most, even if joining the best cost some."""
    chosen = next(_starts(task, seed, ["expertise"]))
    expertise = task.expertise
    if task.n_pairs > MOST_EXACT or expertise is None:
        return chosen
    best = least_cost(task, 1 - expertise)
    if best is None or (expertise @ best) <= (expertise @ chosen) + 1e-9:
        return chosen
    exact, _ = by_integers(task, 1 - expertise, connected=True, seconds=EXACT_SECONDS)
    is_better = exact is not None and parts_of(task, exact)[0] == 1 and expertise @ exact > expertise @ chosen
    return exact if exact is not None and is_better else chosen


def _linked(task: Task, aim: Aim, *, seed: int, effort: float, time_limit: float | None) -> Found:
    """Return the best of some designs, in each of which other readers of linked objects are held fixed."""
    is_large = task.n_objects + task.n_assessors > LARGEST_INVERSE
    kinds = ["expertise"] if is_large else ["pairs", "people"] * LINKINGS
    best, lowest, judge = None, np.inf, None
    for start in _starts(task, seed, kinds):
        held = replace(task.held(start), linked=task.linked[:0])
        share = effort if len(kinds) == 1 else effort / 2
        found = find(held, aim, seed=seed, effort=share, time_limit=time_limit)
        if is_large:
            return found
        if judge is None:
            judge = Exchange(task, aim, found.chosen, np.random.default_rng(seed))
        else:
            judge.restart(found.chosen)
        if judge.height < lowest:
            best, lowest = found, judge.height
    if best is None:
        raise no_design(task)
    return best


def searched(
    task: Task, starts: Iterable[Flags], aim: Aim, *, seed: int, effort: float, time_limit: float | None
) -> Found:
    """Return the best design that exchanges reach from some starts, with as much work as their number calls for."""
    free = max(task.total - int(task.fixed.sum()), 1)
    shakes = max(1, round(effort * min(max(1_500 // free, 2), 40)))
    tried = MOST_TRIED if task.is_even else MOST_TRIED // 2  # where precisions differ, each takes twice as long
    looks = round(effort * min(max(100 * free, 3_000), 12_000, max(tried // free, free)))
    if not aim.is_linear and aim.objective != "determinant":
        looks //= 3  # each look takes longer

    def tell(looked: int) -> None:
        if looked % 20 == 0:
            report("exchanging assessments", min(looked, looks), looks)

    with one_thread(task.n_objects + task.n_assessors):
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
    for _ in range(ORDERS if len(task.limits) else 1):
        mixed = chosen[generator.permutation(task.n_objects)][:, generator.permutation(task.n_assessors)]
        if not task.limits.broken(mixed.ravel()):
            return np.asarray(mixed.ravel(), dtype=bool)
    return None


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
        after = inverse.mean_variances([possible], (1,))
        best = int(possible[np.argmin(coarse(after, inverse.variance))])
        inverse.move([best], (1,))
    return inverse.chosen


def open_pairs(task: Task, chosen: Flags) -> Codes:
    """Return the pairs that could be added without breaking a rule."""
    room = (task.loads(chosen) < task.most_load)[task.assessor]
    room &= (task.readings(chosen) < task.most)[task.object]
    pairs = np.flatnonzero(room & ~chosen)
    return pairs[task.allowed(task.limits.sums(chosen), [pairs], (1,))]


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
    asked, task = task, task.held(first.chosen)
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
    return replace(asked, total=int(best.sum())), Found(best, first.descents + 1, in_time=True)


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
        pairs = pairs[task.allowed(task.limits.sums(inverse.chosen), [pairs], (-1,))]
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
            sums = task.limits.sums(inverse.chosen)
            target = target[task.allowed(sums, [np.array([pair]), target], (-1, 1))]
            for other in target[np.argsort(task.cost[target], kind="stable")].tolist():
                if _level(inverse.variances_after([pair, other], (-1, 1)), aim) <= target_sd:
                    inverse.move([pair, other], (-1, 1))
                    moved = True
                    break
    return inverse.chosen.copy()
