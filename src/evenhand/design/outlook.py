"""What to expect of a design before anyone has scored: beside chance, without an assessor, with more or less work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.design.find import find
from evenhand.design.inverse import Inverse
from evenhand.design.result import Design
from evenhand.design.start import least_cost, mix, parts_of
from evenhand.design.task import Flags, Task
from evenhand.errors import NoDesignError
from evenhand.progress import report

LARGEST: Final = 1_500
"""Up to this many objects and assessors together, these questions are answered."""


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
        How many of them are connected.
    mean_sd, max_sd
        Mean over these of the mean and of the largest standard deviation; None where none is connected.
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
    task = design.task
    if task.n_objects + task.n_assessors > LARGEST:
        return None
    return Outlook(design, lost_assessors(design), with_more(design, more), chance(design, draws))


def lost_assessors(design: Design) -> tuple[LostAssessor, ...]:
    """Return what the loss of each assessor would cost, the dearest first."""
    task, found = design.task, []
    for count, at in enumerate(design.used.tolist()):
        report("without each assessor", count, design.used.size)
        rest = design.chosen & (task.assessor != at)
        read = task.readings(rest) > 0
        parts = parts_of(task, rest)[0] if rest.any() else 0
        sds = _sds(task, rest, read) if parts == 1 else None
        found.append(
            LostAssessor(
                task.assessors[at],
                None if sds is None else float(sds.mean()),
                None if sds is None else float(sds.max()),
                int((~read).sum()),
                parts,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.unread, -one.parts, -(one.mean_sd or np.inf))))


def _sds(task: Task, chosen: Flags, read: Flags | None = None) -> Floats:
    """Return the standard deviations of values in the gauge of a fit, of the objects that are read."""
    if read is not None and not read.all():
        kept = read[task.object]
        code = np.cumsum(read) - 1
        task = replace(
            task,
            objects=[task.objects[at] for at in np.flatnonzero(read).tolist()],
            object=code[task.object[kept]],
            assessor=task.assessor[kept],
            precision=task.precision[kept],
            expertise=None,
            cost=task.cost[kept],
            fixed=task.fixed[kept],
            least=task.least[read],
            most=task.most[read],
        )
        chosen = chosen[kept]
    return np.sqrt(Inverse(task, chosen).variances())


def with_more(design: Design, more: int) -> tuple[DesignStep, ...]:
    """Return how the standard deviation falls with the number of assessments per object, quickly searched."""
    task = design.task
    now = task.readings(design.chosen)
    steps = []
    first = -min(int(np.median(now)) - 1, 2)
    for change in range(first, more + 1):
        report("with more and with less", change - first, more - first + 1)
        if change == 0:
            steps.append(DesignStep(float(now.mean()), int(now.sum()), design.mean_sd, design.max_sd))
            continue
        possible = np.bincount(task.object, minlength=task.n_objects)
        linked = now == possible
        wanted = np.where(linked, now, np.clip(now + change, np.maximum(1, task.readings(task.fixed)), possible))
        if (wanted == now).all() or (steps and steps[-1].assessments == wanted.sum()):
            break
        share = wanted.sum() / now.sum()
        loads = np.minimum(np.ceil(task.most_load * max(share, 1.0)).astype(np.int64), task.n_objects)
        asked = replace(
            task,
            least=wanted,
            most=wanted,
            total=int(wanted.sum()),
            least_load=np.floor(task.least_load * min(share, 1.0)).astype(np.int64),
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
    for count, chosen in enumerate(random_designs(design.task, draws, seed=design.seed)):
        report("assigning at random", count, draws)
        if parts_of(design.task, chosen)[0] > 1:
            continue
        sds = _sds(design.task, chosen)
        means.append(float(sds.mean()))
        worst.append(float(sds.max()))
        variances.append(float(np.square(sds).mean()))
    if not means:
        return RandomDesigns(draws, 0, None, None, None, None)
    average = [float(np.mean(numbers)) for numbers in (means, worst, variances)]
    return RandomDesigns(draws, len(means), average[0], average[1], average[2], min(variances))


def random_designs(task: Task, count: int, *, seed: int) -> Iterator[Flags]:
    """Yield designs at random that keep all rules, connected or not.

    A chain of exchanges, each drawn at random and made if it keeps the rules, visits all designs alike in the long run.
    """
    generator = np.random.default_rng(seed)
    chosen = least_cost(task, generator.random(task.n_pairs))
    if chosen is None:
        return
    chosen = chosen.copy()
    for _ in range(count):
        mix(task, chosen, generator)
        yield chosen.copy()
