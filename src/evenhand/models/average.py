"""Averages, which hold every bias to be zero: simple (SA) and confidence-weighted (CWA)."""

from __future__ import annotations

from typing import Final

import numpy as np

from evenhand.compiled import sum_by
from evenhand.errors import SolveError, too_extreme
from evenhand.models.family import INTERVAL, check_options, make_fit, refuse_criteria
from evenhand.models.fit import Fit, Method
from evenhand.models.noise import NoiseKind, NoisePrior
from evenhand.panel.gauge import Gauge, condition
from evenhand.panel.panel import Panel
from evenhand.solve import Solution
from evenhand.solve.connectivity import connectivity
from evenhand.solve.digits import UNTOLD, tells_residual


def simple_average(
    panel: Panel,
    *,
    gauge: Gauge = "weighted",
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
) -> Fit:
    """Return the plain mean score of each object (SA).

    Parameters
    ----------
    panel
        The panel; declared confidences are not used.
    gauge
        Accepted so that all methods are called alike; averages have no degeneracy to break.
    noise
        Treatment of the noise variance.
    interval
        Probability of intervals.

    Examples
    --------
    >>> simple_average(Panel.from_arrays([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0])).values.estimate
    array([3.5, 5. ])
    """
    return _average(panel, SA, gauge, noise, interval)


def weighted_average(
    panel: Panel,
    *,
    gauge: Gauge = "weighted",
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
) -> Fit:
    """Return the mean score of each object weighted by declared confidence (CWA); options as in :func:`simple_average`.

    Examples
    --------
    >>> weighted_average(Panel.from_arrays([0, 0], [0, 1], [3.0, 4.0], [3.0, 1.0])).values.estimate
    array([3.25])
    """
    return _average(panel, CWA, gauge, noise, interval)


SA: Final = Method("sa", calibrates=False, weighs=False, make=simple_average)
CWA: Final = Method("cwa", calibrates=False, weighs=True, make=weighted_average)


def _average(panel: Panel, method: Method, gauge: Gauge, noise: NoiseKind | NoisePrior, interval: float) -> Fit:
    refuse_criteria(panel)
    check_options(panel, method, noise, interval)
    seen = panel if method.uses_confidence else panel.with_equal_confidence()
    parts = connectivity(seen)
    if not isinstance(gauge, str) or gauge not in ("weighted", "zero_sum", "zero-sum"):
        condition(gauge, seen, parts)  # not used, but a wrong one is wrong here too
    origin = float(np.median(seen.score))
    centred = seen.score - origin
    with np.errstate(over="ignore", invalid="ignore"):
        sums = sum_by(seen.object_index, seen.precision * centred, seen.n_objects)
        means = sums / seen.object_confidence
        residuals = centred - means[seen.object_index]
        # one step of refinement, so that means of large scores keep their last digits
        step = sum_by(seen.object_index, seen.precision * residuals, seen.n_objects) / seen.object_confidence
    if not np.isfinite(step).all():
        raise too_extreme()
    residuals = residuals - step[seen.object_index]
    error = float(np.finfo(np.float64).eps) * float(np.abs(centred).max())
    if not tells_residual(seen.precision, residuals, error, seen.score):
        raise SolveError(UNTOLD)
    solution = Solution(origin + (means + step), np.zeros(seen.n_assessors), residuals)
    return make_fit(panel, seen, method, solution, parts, noise=noise, interval=interval)
