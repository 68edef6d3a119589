"""What to expect of a design before anyone has scored: beside chance, without an assessor, with more or less work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.design.connect import parts_of
from evenhand.design.find import find
from evenhand.design.flow import least_cost
from evenhand.design.inverse import Inverse
from evenhand.design.problem import Flags, Problem
from evenhand.design.result import Design
from evenhand.errors import NoDesignError
from evenhand.progress import report

LARGEST: Final = 1_500
"""Up to so many objects and assessors together these questions are answered."""

MIXING: Final = 10
"""Exchanges at random, for each assessment, between two random designs."""


@dataclass(frozen=True, slots=True)
class LostAssessor:
    """What the loss of an assessor would cost.

    Attributes
    ----------
    assessor
        Who.
    mean_sd, max_sd
        Mean and largest standard deviation of the values that could still be compared; None where they fall apart.
    unread
        Objects that nobody else reads.
    parts
        Number of parts into which the rest would fall.
    """

    assessor: str
    mean_sd: float | None
    max_sd: float | None
    unread: int
    parts: int


@dataclass(frozen=True, slots=True)
class DesignStep:
    """What another number of assessments per object would give.

    Attributes
    ----------
    per_object
        Assessments per object, on average.
    assessments
        Assessments in all.
    mean_sd, max_sd
        Mean and largest standard deviation of the values; None where no connected design was found.
    """

    per_object: float
    assessments: int
    mean_sd: float | None
    max_sd: float | None


@dataclass(frozen=True, slots=True)
class RandomDesigns:
    """What assigning at random would give, under the same rules.

    Attributes
    ----------
    count
        Designs that were drawn.
    connected
        How many of them hold together.
    mean_sd, max_sd
        Mean over these of the mean and of the largest standard deviation; None where none holds together.
    mean_variance, least_variance
        Mean and smallest of their mean variances.
    """

    count: int
    connected: int
    mean_sd: float | None
    max_sd: float | None
    mean_variance: float | None
    least_variance: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Outlook(frames.Shown):
    """What to expect of a design.

    Attributes
    ----------
    design
        The design.
    lost
        For each assessor with work, what losing them would cost, the dearest first.
    steps
        How the standard deviation falls with the number of assessments per object.
    chance
        What assigning at random would give.
    """

    design: Design
    lost: tuple[LostAssessor, ...]
    steps: tuple[DesignStep, ...]
    chance: RandomDesigns

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.design.backend

    def columns(self) -> dict[str, list[Any]]:
        """Return how the standard deviation falls with the number of assessments, as columns."""
        return self.step_columns()

    def lost_columns(self) -> dict[str, list[Any]]:
        """Return what losing each assessor would cost, as columns."""
        return {name: [getattr(one, name) for one in self.lost] for name in LostAssessor.__slots__}

    def step_columns(self) -> dict[str, list[Any]]:
        """Return how the standard deviation falls, as columns."""
        return {name: [getattr(one, name) for one in self.steps] for name in DesignStep.__slots__}


def outlook(design: Design, *, draws: int = 100, more: int = 3) -> Outlook | None:
    """Return what to expect of a design; None where it is too large for that.

    Parameters
    ----------
    design
        The design.
    draws
        Random designs to compare with.
    more
        Up to how many more assessments per object to look ahead.
    """
    problem = design.problem
    if problem.n_objects + problem.n_assessors > LARGEST:
        return None
    return Outlook(design, lost_assessors(design), with_more(design, more), chance(design, draws))


def lost_assessors(design: Design) -> tuple[LostAssessor, ...]:
    """Return what the loss of each assessor would cost, the dearest first."""
    problem, found = design.problem, []
    for count, at in enumerate(design.used.tolist()):
        report("without each assessor", count, design.used.size)
        rest = design.chosen & (problem.assessor != at)
        read = problem.readings(rest) > 0
        parts = parts_of(problem, rest)[0] if rest.any() else 0
        sds = _sds(problem, rest, read) if parts == 1 else None
        found.append(
            LostAssessor(
                problem.assessors[at],
                None if sds is None else float(sds.mean()),
                None if sds is None else float(sds.max()),
                int((~read).sum()),
                parts,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.unread, -one.parts, -(one.mean_sd or np.inf))))


def _sds(problem: Problem, chosen: Flags, read: Flags | None = None) -> Floats:
    """Return the standard deviations of values in the gauge of a fit, of the objects that are read."""
    if read is not None and not read.all():
        kept = read[problem.object]
        code = np.cumsum(read) - 1
        problem = replace(
            problem,
            objects=[problem.objects[at] for at in np.flatnonzero(read).tolist()],
            object=code[problem.object[kept]],
            assessor=problem.assessor[kept],
            precision=problem.precision[kept],
            expertise=None,
            cost=problem.cost[kept],
            fixed=problem.fixed[kept],
            least=problem.least[read],
            most=problem.most[read],
        )
        chosen = chosen[kept]
    weight = np.full(problem.n_objects, 1 / problem.n_objects)
    return np.sqrt(Inverse(problem, chosen, weight).variances())


def with_more(design: Design, more: int) -> tuple[DesignStep, ...]:
    """Return how the standard deviation falls with the number of assessments per object, quickly searched."""
    problem = design.problem
    now = problem.readings(design.chosen)
    steps = []
    first = -min(int(np.median(now)) - 1, 2)
    for change in range(first, more + 1):
        report("with more and with less", change - first, more - first + 1)
        if change == 0:
            steps.append(DesignStep(float(now.mean()), int(now.sum()), design.mean_sd, design.max_sd))
            continue
        possible = np.bincount(problem.object, minlength=problem.n_objects)
        linked = now == possible
        wanted = np.where(linked, now, np.clip(now + change, np.maximum(1, problem.readings(problem.fixed)), possible))
        if (wanted == now).all() or (steps and steps[-1].assessments == wanted.sum()):
            break
        share = wanted.sum() / now.sum()
        loads = np.minimum(np.ceil(problem.most_load * max(share, 1.0)).astype(np.int64), problem.n_objects)
        asked = replace(
            problem,
            least=wanted,
            most=wanted,
            total=int(wanted.sum()),
            least_load=np.floor(problem.least_load * min(share, 1.0)).astype(np.int64),
            most_load=loads,
        )
        try:
            found = find(asked, design.aim, seed=design.seed, effort=0.05, time_limit=None)
        except NoDesignError:
            steps.append(DesignStep(float(wanted.mean()), int(wanted.sum()), None, None))
            continue
        sds = _sds(asked, found.chosen)
        steps.append(DesignStep(float(wanted.mean()), int(wanted.sum()), float(sds.mean()), float(sds.max())))
    return tuple(steps)


def chance(design: Design, draws: int) -> RandomDesigns:
    """Return what assigning at random would give, under the same rules."""
    means, worst, variances = [], [], []
    for count, chosen in enumerate(random_designs(design.problem, draws, seed=design.seed)):
        report("assigning at random", count, draws)
        if parts_of(design.problem, chosen)[0] > 1:
            continue
        sds = _sds(design.problem, chosen)
        means.append(float(sds.mean()))
        worst.append(float(sds.max()))
        variances.append(float(np.square(sds).mean()))
    if not means:
        return RandomDesigns(draws, 0, None, None, None, None)
    average = [float(np.mean(numbers)) for numbers in (means, worst, variances)]
    return RandomDesigns(draws, len(means), average[0], average[1], average[2], min(variances))


def random_designs(problem: Problem, count: int, *, seed: int) -> Iterator[Flags]:
    """Yield designs at random that keep all rules, connected or not.

    A chain of exchanges, each drawn at random and made if it keeps the rules, visits all designs alike in the long run.
    """
    generator = np.random.default_rng(seed)
    chosen = least_cost(problem, generator.random(problem.n_pairs))
    if chosen is None:
        return
    chosen = chosen.copy()
    for _ in range(count):
        _mix(problem, chosen, generator)
        yield chosen.copy()


def _mix(problem: Problem, chosen: Flags, generator: np.random.Generator) -> None:
    """Make many exchanges at random."""
    free = np.flatnonzero(chosen & ~problem.fixed)
    if free.size < 2:
        return
    loads, readings = problem.loads(chosen), problem.readings(chosen)
    object_, assessor, width = problem.object, problem.assessor, problem.n_assessors
    at = {key: place for place, key in enumerate(problem.keys.tolist())}
    moves = MIXING * free.size
    first, second = generator.integers(0, free.size, (2, moves)).tolist()
    target = generator.integers(0, problem.n_pairs, moves).tolist()
    for i, j, other in zip(first, second, target, strict=True):
        pair, partner = int(free[i]), int(free[j])
        o, a = int(object_[pair]), int(assessor[pair])
        p, b = int(object_[partner]), int(assessor[partner])
        come, back = at.get(p * width + a, -1), at.get(o * width + b, -1)
        if o != p and a != b and come >= 0 and back >= 0 and not chosen[come] and not chosen[back]:
            chosen[[pair, partner]], chosen[[come, back]] = False, True
            free[i], free[j] = come, back
        # another assessor for the object, or where its number of assessments is open, any other pair
        pair, p, b = int(free[i]), int(object_[other]), int(assessor[other])
        o, a = int(object_[pair]), int(assessor[pair])
        if chosen[other] or (o != p and not (readings[o] > problem.least[o] and readings[p] < problem.most[p])):
            continue
        if a != b and not (loads[a] > problem.least_load[a] and loads[b] < problem.most_load[b]):
            continue
        chosen[pair], chosen[other] = False, True
        free[i] = other
        loads[a] -= 1
        loads[b] += 1
        readings[o] -= 1
        readings[p] += 1
