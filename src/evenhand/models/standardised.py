"""Z-scores of each judge, as award platforms use them: for comparison only, since they cannot say how sure they are.

Each judge's scores are standardised by their own mean and standard deviation, averaged for each object, and stretched
back to points by the mean and standard deviation of all scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Unpack

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.effects import both_sides
from evenhand.models.family import INTERVAL, refuse_criteria
from evenhand.models.fit import Fit, Model, Options, Question
from evenhand.models.noise import EstimatedNoise, NoDistribution, Normal
from evenhand.models.posterior import Posterior
from evenhand.models.predictive import Part
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from evenhand.words import name_some

_SHOWN_ONLY: Final = (
    "Z-scores are for comparison only: they have no standard deviations, and nothing else is asked of them. Use "
    "calibrate(panel), or refine(panel, shrink=True, scale=True) where judges spread their scores differently."
)
_NO_NOISE: Final = "z-scores have no model of the noise, so there are no standard deviations and no intervals"
_LEAST: Final = 1e-200
"""A sum of squares that is zero, for those that are divided by it."""

_FEWEST: Final = 3
"""A judge needs so many scores for one of them to be predicted by the mean and the spread of the others."""


@dataclass(frozen=True)
class Standardised(Model):
    """Z-scores of each judge, averaged."""

    method: str = "z"

    @property
    def uses_confidence(self) -> bool:
        """Whether scores weigh by declared confidence: no."""
        return False

    @property
    def is_offered(self) -> bool:
        """Whether it may be recommended: no, since it cannot say how sure it is."""
        return False

    @property
    def solved_by(self) -> str:
        """How values were found."""
        return "means and standard deviations of each judge"

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the z-scores of another panel."""
        return standardise(panel, interval=options.get("interval", INTERVAL))

    def why_not(self, question: Question) -> str | None:
        """Return why a question cannot be answered."""
        if question == "log_evidence":
            return f"no log-evidence for {self.method}: z-scores have no model of the noise."
        return None if question in ("refit", "ranks", "evidence") else _SHOWN_ONLY

    def left_out(self, fit: Fit) -> Part:
        """Return what all other scores say of each: the judge's own mean plus spread times the z-score of the object.

        Everything is computed without the score itself; the noise is what such predictions miss of the other scores.
        """
        panel = fit.panel
        judges, objects = panel.assessor_index, panel.object_index
        mean, sd, count = _spread(panel)
        z = _standard(panel, mean, sd)
        away, left = panel.score - mean[judges], count[judges] - 1.0
        squares = np.square(sd)[judges] * left - np.square(away) * (left + 1) / np.maximum(left, 1.0)
        others = panel.object_assessments[objects] - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            own_sd = np.where(count[judges] >= _FEWEST, np.sqrt(np.maximum(squares, 0.0) / (left - 1)), np.nan)
            of_object = (sum_by(objects, z, panel.n_objects)[objects] - z) / others
            expected = mean[judges] - away / left + own_sd * of_object
        missed = np.nan_to_num(np.square(panel.score - expected))
        told = int(np.isfinite(expected).sum())
        unit = np.maximum(missed.sum() - missed, _LEAST)
        noise = EstimatedNoise(1.0, max(told - 1, 1))
        return Part(1.0, noise, Normal(), expected, np.zeros(z.size), 1.0 / unit)


def standardise(panel: Panel, *, interval: float = INTERVAL) -> Fit:
    """Return the average z-score of each object, in points, and how far each judge's mean lies from that of all scores.

    Parameters
    ----------
    panel
        The panel; declared confidences are not used.
    interval
        Probability of intervals, of which there are none.

    Raises
    ------
    SolveError
        If a judge has one score, which has no spread.

    Examples
    --------
    >>> standardise(Panel.from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [3.0, 4.0, 10.0, 30.0])).values.estimate.round(2)
    array([ 2.87, 20.63])
    """
    refuse_criteria(panel)
    lone = [panel.assessors[at] for at in np.flatnonzero(panel.assessor_assessments < 2).tolist()]
    if lone:
        raise SolveError(
            f"One score has no spread to be standardised by, and these judges have one: {name_some(lone)}."
        )
    mean, sd, _ = _spread(panel)
    z = _standard(panel, mean, sd)
    average = sum_by(panel.object_index, z, panel.n_objects) / panel.object_assessments
    level, width = float(panel.score.mean()), float(panel.score.std(ddof=1))
    fitted = mean[panel.assessor_index] + sd[panel.assessor_index] * average[panel.object_index]
    seen = panel.with_equal_confidence()
    posterior = Posterior(NoDistribution(_NO_NOISE), seen.object_confidence, panel.n_assessors)
    values, biases = both_sides(panel, seen, (level + width * average, mean - level), None, posterior, interval)
    residuals = panel.score - fitted
    return Fit(
        panel=panel,
        model=Standardised(),
        gauge=None,
        values=values,
        biases=biases,
        weight=seen.precision,
        residual=float(residuals @ residuals),
        degrees_of_freedom=panel.n_assessments - panel.n_objects - 2 * (panel.n_assessors - 1),
        connectivity=connectivity(seen),
        posterior=posterior,
        given_notes=panel.notes,
        given_residuals=residuals,
    )


def _spread(panel: Panel) -> tuple[Floats, Floats, Floats]:
    """Return the mean and the standard deviation of each judge's scores, and how many there are."""
    count = panel.assessor_assessments.astype(np.float64)
    mean = sum_by(panel.assessor_index, panel.score, panel.n_assessors) / count
    squares = np.square(panel.score - mean[panel.assessor_index])
    return mean, np.sqrt(sum_by(panel.assessor_index, squares, panel.n_assessors) / (count - 1)), count


def _standard(panel: Panel, mean: Floats, sd: Floats) -> Floats:
    """Return the z-scores; 0 for a judge who gave everything the same score."""
    away, own = panel.score - mean[panel.assessor_index], sd[panel.assessor_index]
    return np.asarray(away / np.where(own > 0, own, 1.0))
