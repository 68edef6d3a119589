"""What error to expect of a given design: its scores simulated, beside what it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evenhand.answers.next_best import variances_about_mean
from evenhand.compiled import Floats
from evenhand.errors import LimitError, bad_option
from evenhand.frames import Shown
from evenhand.models.additive import calibrate
from evenhand.models.average import simple_average
from evenhand.panel.panel import Panel
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import report

_LARGEST: Final = 4_000
"""Largest number of objects and assessors together whose covariance is held in memory."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DesignStudy(Shown):
    """How far calibrated values and plain averages are from the truth on simulated scores of one design.

    Values count from the mean of all, which no panel can tell from the mean bias.

    Attributes
    ----------
    panel
        Who reads what.
    runs, seed
        How often scores were simulated, and the seed behind all of it.
    sd
        Expected standard deviation of each calibrated value, from the design alone (n_O).
    error, error_averages
        Root of the mean squared error of each calibrated value and of each plain average (n_O).
    """

    panel: Panel
    runs: int
    seed: int
    sd: Floats
    error: Floats
    error_averages: Floats

    def columns(self) -> dict[str, list[Any]]:
        """Return the objects as columns."""
        readings = np.bincount(self.panel.object_index, minlength=self.panel.n_objects)
        numbers = {name: getattr(self, name).tolist() for name in ("sd", "error", "error_averages")}
        return {"object": list(self.panel.objects), "assessments": readings.tolist(), **numbers}


def design_study(panel: Panel, *, runs: int = 100, seed: int = 1, **numbers: Any) -> DesignStudy:
    """Return what error to expect of a design, by simulating its scores, beside the standard deviations predicted.

    Parameters
    ----------
    panel
        Who reads what, such as the ``panel`` of a design; its scores are not used.
    runs
        How often scores are simulated.
    seed
        Seed of the random numbers.
    numbers
        What values, biases and scores are like, as for :func:`~evenhand.simulate_panel`.

    Examples
    --------
    >>> from evenhand import assign
    >>> found = design_study(assign(12, 4, per_object=2).panel, runs=200, bounds=None, step=None)
    >>> bool(abs(found.error.mean() / found.sd.mean() - 1) < 0.1), bool((found.error_averages > found.error).all())
    (True, True)
    """
    if runs < 1 or seed < 0:
        raise bad_option("A study needs a run at least, and a seed that is not negative.")
    if panel.n_objects + panel.n_assessors > _LARGEST:
        raise LimitError(f"A design is simulated for up to {_LARGEST:,} objects and assessors together.")
    squares = np.zeros((3, panel.n_objects))
    for run in range(runs):
        report("simulating scores", run, runs)
        drawn = simulate_panel(seed=(seed, run), design=panel, **numbers)
        fit = calibrate(drawn.panel)
        truth = drawn.values - drawn.values.mean()
        estimates = fit.values.estimate, simple_average(drawn.panel).values.estimate
        squares[:2] += [np.square(estimate - estimate.mean() - truth) for estimate in estimates]
        squares[2] += variances_about_mean(fit.posterior.unit_covariance(), panel.n_objects)
    error, averages, sd = np.sqrt(squares / runs)
    return DesignStudy(panel, runs, seed, sd, error, averages)
