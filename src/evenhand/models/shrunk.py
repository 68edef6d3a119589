"""Priors of values and biases, whose variances the scores tell: the fewer the scores, the further drawn (App. F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.setting import Setting, Unknown, Work, log_unknown, put_number
from evenhand.panel.panel import Panel
from evenhand.solve.choose import choose_solver
from evenhand.solve.equations import make_system
from evenhand.words import count_of

_SMALLEST, _LARGEST = -14.0, 14.0
"""Logarithms of the smallest and largest ratio of a prior variance to w that is tried."""


def prior_precisions(panel: Panel, setting: Setting, stretch: Floats) -> tuple[Floats | None, Floats | None]:
    """Return precisions of the priors of values and biases, beside a score of confidence 1; None for none."""
    of_values = None if setting.value_ratio is None else np.full(panel.n_objects, 1.0 / setting.value_ratio)
    return of_values, np.square(stretch) / setting.bias_ratio if setting.bias_ratio else None


def ratio_prior(x: float) -> float:
    """Log density of the log variance ratio: proportional to the standard deviation near zero, Cauchy's tail far out.

    A prior that avoids zero (Chung et al. 2013): few assessors often make a variance look like zero that is not, and
    intervals that believe it would be too narrow.
    """
    return x - 1.5 * float(np.logaddexp(0.0, x))


def ratio_unknown(name: str, start: float, *, may_vanish: bool) -> Unknown:
    """Return the ratio of a prior variance to w as a number that the scores must tell."""
    return replace(log_unknown(name, start, _SMALLEST, _LARGEST, ratio_prior), may_vanish=may_vanish)


def seen_once(panel: Panel) -> bool:
    """Return whether every assessor scored one object, so that bias and noise are one."""
    return panel.n_assessors == panel.n_assessments


def starts(work: Work, *, has_biases: bool = True) -> dict[str, float]:
    """Return where the search for variances starts, in logarithms: from the spread of plain values and biases."""
    panel = work.panel
    if has_biases:
        found = choose_solver(make_system(panel, work.parts), work.solver).solve(panel.score)
        values, biases = found.values, found.biases
        nu = panel.n_assessments - panel.n_objects - panel.n_assessors + work.parts.n_components
    else:
        values = sum_by(panel.object_index, panel.precision * panel.score, panel.n_objects) / panel.object_confidence
        biases, nu = np.zeros(panel.n_assessors), panel.n_assessments - panel.n_objects
    residuals = panel.score - values[panel.object_index] - biases[panel.assessor_index]
    w = float(panel.precision @ np.square(residuals)) / max(nu, 1)
    if not w > 1e-12 * work.spread**2 * float(panel.precision.mean()):  # nothing but rounding
        w = 1e-6 * work.spread**2 * float(panel.precision.mean())

    def ratio(estimate: Floats, confidence: Floats) -> float:
        return log(min(max(float(np.var(estimate)) / w - float((1 / confidence).mean()), 0.02), 1e4))

    return {
        "w": log(w),
        "value_ratio": ratio(values, panel.object_confidence),
        "bias_ratio": ratio(biases, panel.assessor_confidence),
    }


def with_ratio(noise: Unknown, name: str, sd: float) -> Unknown:
    """Return the unknown noise variance, which a prior of known standard deviation is compared with."""

    def put(setting: Setting, x: float) -> Setting:
        return put_number(noise.put(setting, x), name, sd**2 / exp(x))

    return replace(noise, put=put, moves={**noise.moves, name: -1.0})


def refuse_untold(panel: Panel, unknowns: Sequence[Unknown]) -> None:
    """Refuse a panel whose scores cannot tell variances of values, of biases and of the noise from each other."""
    names = {one.name for one in unknowns}
    if not names & {"value_ratio", "bias_ratio", "w"}:
        return
    reason = None
    if panel.n_assessments == panel.n_objects:
        reason = "no object was seen twice"
    elif "bias_ratio" in names and panel.n_assessors < 2:
        reason = f"{count_of(panel.n_assessors, 'assessor')} cannot tell how biases spread"
    elif "value_ratio" in names and panel.n_objects < 2:
        reason = f"{count_of(panel.n_objects, 'object')} cannot tell how values spread"
    if reason is not None:
        raise SolveError(
            f"The variances of the model cannot be estimated, since {reason}: give value_sd and bias_sd, and declared "
            "noise, or use a plain method."
        )


def refuse_perfect(unknowns: Sequence[Unknown], point: Floats, step: float | None) -> None:
    """Refuse scores that leave no noise at all."""
    for one, at in zip(unknowns, point.tolist(), strict=True):
        left = {"value_ratio": one.high - at, "bias_ratio": one.high - at, "w": at - one.low}.get(one.name, np.inf)
        if left < 0.5:
            beyond = "" if step is None else f" beyond rounding to {step:g}"
            instead = "which says the same without priors" if step is None else "or leave the step out"
            raise SolveError(
                "The scores agree with values and biases so well that there is no noise to estimate"
                f"{beyond}: use calibrate, {instead}."
            )
