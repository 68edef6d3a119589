"""Plans for a panel that is still to meet: how many assessors per object it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evenhand.errors import NotConnectedError, bad_option
from evenhand.frames import Shown
from evenhand.models.additive import calibrate
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import report
from evenhand.words import count_of

_OBJECTS: Final = 3000
"""Objects to average over, in as many random designs as that takes: at least 3, at most 100."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to expect from a number of assessors per object.

    Attributes
    ----------
    per_object
        Assessors per object.
    sd
        Mean standard deviation of the values after calibration with confidence, as in a design.
    sd_averages
        The same for plain averages, whose values take on the biases of those who happened to read the object.
    load
        Objects that each assessor reads, on average.
    """

    per_object: int
    sd: float
    sd_averages: float
    load: float


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Shown):
    """How many assessors per object a panel needs.

    Attributes
    ----------
    target_sd
        The mean standard deviation of values that is wanted.
    profile
        Frequencies of the uncertainties.
    steps
        What each number of assessors per object gives, up to the first that is enough, or to all assessors.
    """

    target_sd: float
    profile: tuple[float, ...]
    n_objects: int
    n_assessors: int
    steps: tuple[PlanStep, ...]

    @property
    def answer(self) -> PlanStep | None:
        """The fewest assessors per object that are enough; None if all of them are not."""
        last = self.steps[-1]
        return last if last.sd <= self.target_sd else None

    def columns(self) -> dict[str, list[Any]]:
        """Return the steps as columns."""
        return {name: [getattr(step, name) for step in self.steps] for name in PlanStep.__slots__}

    def __str__(self) -> str:
        last = self.steps[-1]
        if self.answer is None:
            return (
                f"No: even if all {count_of(self.n_assessors, 'assessor')} read every object, the sd of a value is "
                f"{last.sd:.2f}, above {self.target_sd:g}."
            )
        return (
            f"For an sd of {self.target_sd:g}, {count_of(last.per_object, 'assessor')} per object (sd {last.sd:.2f}), "
            f"which is about {last.load:,.0f} objects for each of {self.n_assessors:,} assessors."
        )


def plan(
    target_sd: float,
    *,
    n_objects: int = 3000,
    n_assessors: int = 15,
    uncertainties: Sequence[float] = (5.0, 10.0, 15.0),
    profile: Sequence[float] = (1.0, 1.0, 1.0),
    bias_sd: float = 15.0,
    seed: int = 1,
) -> Plan:
    """Return how many assessors per object are needed for values of a given standard deviation.

    Variances of values need no scores: Cov(v) = diag(1/C_o) + Q Sigma_b Q^T (App. D) depends on who reads what, and
    how surely. They are averaged over random designs, for r = 2, 3, ... until they are small enough. They are
    in the weighted gauge: about the level of the panel as a whole, which no design can know.

    Parameters
    ----------
    target_sd
        The mean standard deviation of values that is wanted, in points: as for :func:`evenhand.assign`, which finds
        the cheapest design that reaches it.
    n_objects, n_assessors
        Size of the panel.
    uncertainties, profile
        The uncertainties of scores to expect, and how often each.
    bias_sd
        Spread of the biases to expect; matters for plain averages only.
    seed
        Seed of the designs.

    Examples
    --------
    >>> print(plan(5, n_objects=200, n_assessors=10))
    For an sd of 5, 3 assessors per object (sd 4.89), which is about 60 objects for each of 10 assessors.
    """
    if not target_sd > 0:
        raise bad_option("The standard deviation that is wanted must be positive.")
    if n_assessors < 2 or n_objects < 2 or seed < 0:
        raise bad_option("A plan needs two objects and two assessors at least, and a seed that is not negative.")
    designs = min(100, max(3, math.ceil(_OBJECTS / n_objects)))
    steps: list[PlanStep] = []
    for per_object in range(2, n_assessors + 1):
        report("planning", per_object - 2, n_assessors - 1)
        drawn = [
            simulate_panel(
                n_objects,
                n_assessors,
                per_object,
                seed=(seed, per_object, design),
                bias_sd=bias_sd,
                uncertainties=uncertainties,
                profile=profile,
            ).panel
            for design in range(designs)
        ]
        try:
            sds = [calibrate(panel, noise="declared").values.sd for panel in drawn]
        except NotConnectedError:
            continue  # too few for a random design to hold together
        sd = float(np.mean(np.asarray(sds, dtype=np.float64)))
        luck = bias_sd**2 * (1 / per_object - 1 / n_assessors)
        noise = [np.bincount(panel.object_index, 1 / panel.precision) / per_object**2 for panel in drawn]
        averages = float(np.mean(np.sqrt(np.concatenate(noise) + luck)))
        load = per_object * n_objects / n_assessors
        steps.append(PlanStep(per_object, sd, averages, load))
        if sd <= target_sd:
            break
    return Plan(target_sd, tuple(float(part) for part in profile), n_objects, n_assessors, tuple(steps))
