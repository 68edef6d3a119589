"""Which model the scores support: the simplest whose predictions are about as good as the best, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.heldout import HeldOut
from evenhand.frames import Shown
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit, method_name
from evenhand.models.refined import Refinements
from evenhand.panel.panel import Panel

THIN: Final = 10
"""With fewer scores than this that others can predict, or fewer degrees of freedom than half of it, none is advised."""

NOTHING: Final = 2.0
"""A difference in log density, over all scores together, that is next to nothing."""

_MANY: Final = 20_000
"""Panels of more scores than this are tried with the quick refinements only."""

_WORK: Final = 6
"""Assessors must have this many scores on average before scales and noise factors of their own are tried."""


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation(Shown):
    """The method that the data support, and why.

    Attributes
    ----------
    method
        The method, or None where the panel is too thin to tell.
    reason
        The reason, in a sentence.
    """

    method: str | None
    reason: str

    def columns(self) -> dict[str, list[Any]]:
        """Return the method and the reason as columns of one row."""
        return {"method": [self.method], "reason": [self.reason]}

    def __str__(self) -> str:
        return f"{self.method or 'none'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommendation, and how far each method's predictions fall behind the best.

    Attributes
    ----------
    recommendation
        The recommendation.
    behind
        By method, the mean loss of log density on held-out scores beside the best method, and its standard error.
    """

    recommendation: Recommendation
    behind: Mapping[str, tuple[float, float]]


def applicable(panel: Panel) -> list[Refinements]:
    """Return the refinements worth trying on a panel, from the simplest.

    Shrinkage always; without declared confidences where they differ; power, scales, noise factors and heavy tails on
    panels of some size. Bounds, steps and covariates are known only to the user.
    """
    differ = float(np.ptp(np.log(panel.precision))) > 0
    found = [Refinements(shrink=True)]
    if differ:
        found.insert(0, Refinements(shrink=True, power=0.0))
    if panel.n_assessments > _MANY:
        return found
    work = panel.n_assessments / panel.n_assessors
    if differ:
        found.append(Refinements(shrink=True, power="estimated"))
    found.append(Refinements(shrink=True, tails="student"))
    if work >= _WORK and panel.n_assessors >= 3:
        found.append(Refinements(shrink=True, calibrate_confidence=True))
        found.append(Refinements(shrink=True, scale=True))
    return found


def advise(fits: Mapping[str, Fit | None], predicted: Mapping[str, HeldOut], predictable: NDArray[np.bool_]) -> Advice:
    """Return the simplest method that predicts held-out scores about as well as the best.

    That is, its mean log density is within one standard error of the best's (Breiman's rule), and the difference, score
    by score, is not more than twice its own standard error. Differences that are next to nothing in all do not count.

    Parameters
    ----------
    fits
        Fits by method, from the simplest to the richest; None where a method could not be computed.
    predicted
        How well each predicts held-out scores.
    predictable
        Which scores all of them can predict.
    """
    count = int(predictable.sum())
    usable = [method for method, one in predicted.items() if count and np.isfinite(one.log_density[predictable]).all()]
    missing = [method for method, fit in fits.items() if fit is None]
    if not usable:
        return Advice(Recommendation(None, _THIN), {})
    density = {method: predicted[method].log_density[predictable] for method in usable}
    best = max(usable, key=lambda method: float(density[method].mean()))
    behind = {}
    for method in usable:
        loss = density[best] - density[method]
        error = float(loss.std(ddof=1) / np.sqrt(count)) if count > 1 else np.inf
        behind[method] = (float(loss.mean()), error)
    calibrated = [fit for fit in fits.values() if fit is not None and fit.posterior.condition is not None]
    slack = min((fit.degrees_of_freedom for fit in calibrated), default=0)
    if count < THIN or (calibrated and slack < THIN / 2):
        return Advice(Recommendation(None, _THIN), behind)
    if any(METHODS[method].is_calibrated for method in missing if method in METHODS):
        reason = (
            f"{' and '.join(missing)} cannot be computed for this panel, so there is nothing to compare calibration by."
        )
        return Advice(Recommendation(None, reason), behind)
    margin = float(density[best].std(ddof=1) / np.sqrt(count))
    good = next(loss for loss, error in behind.values() if loss <= max(min(margin, 2 * error), NOTHING / count))
    chosen = next(method for method, (loss, _) in behind.items() if loss <= good + NOTHING / count)
    return Advice(Recommendation(chosen, _reason(chosen, best, behind, fits)), behind)


_THIN: Final = "this panel is too thin to tell: hardly any score can be predicted from the others."


def _reason(chosen: str, best: str, behind: Mapping[str, tuple[float, float]], fits: Mapping[str, Fit | None]) -> str:
    """Return the reason for a choice, in a sentence."""
    name = method_name(chosen)
    beside = f"{behind[chosen][0]:.2g} per score behind {method_name(best)}, standard error {behind[chosen][1]:.2g}"
    if chosen == best:
        others = sorted((loss, method) for method, (loss, _) in behind.items() if method != best)
        second = f" (next is {method_name(others[0][1])}, {others[0][0]:.2g} per score behind)" if others else ""
        return f"{name} predicts held-out scores best{second}."
    if chosen in METHODS and not METHODS[chosen].is_calibrated:
        return (
            f"averages are as good here: the biases are small beside the noise, and {name} predicts held-out scores as "
            f"well as anything ({beside})."
        )
    return f"{name} is the simplest method that predicts held-out scores about as well as the best ({beside})."
