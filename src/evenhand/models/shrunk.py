"""Priors of values and biases, whose variances the scores tell: the fewer the scores, the further drawn (App. F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from typing import Final

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.setting import Setting, Unknown, Work, log_unknown, put_number
from evenhand.panel.panel import Panel
from evenhand.words import argument, count_of

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
    """Return where the search for variances starts, in logarithms: from moments.

    Sums of squares within all scores, between objects and between assessors have expectations that are linear in the
    three variances (Henderson 1953, method 1).
    """
    panel, c = work.panel, work.panel.precision
    left, total = panel.score - float(np.average(panel.score, weights=c)), float(c.sum())
    pull, sides = c * left, [(panel.object_index, panel.object_confidence)]
    if has_biases:
        sides.append((panel.assessor_index, panel.assessor_confidence))
    level = [float(np.square(confidence).sum()) / total for _, confidence in sides]
    rows = [[panel.n_assessments - 1.0, *(total - one for one in level)]]
    found = [float(pull @ left)]
    for at, (index, confidence) in enumerate(sides):
        rows.append([confidence.size - 1.0, *(float((np.square(c) / confidence[index]).sum()) - one for one in level)])
        rows[-1][1 + at] = total - level[at]
        found.append(float((np.square(sum_by(index, pull, confidence.size)) / confidence).sum()))
    least = 1e-6 * work.spread**2 * float(c.mean())
    moments = np.linalg.lstsq(np.array(rows), np.array(found), rcond=None)[0]
    typical = found[0] / panel.n_assessments
    w = max(float(moments[0]) if moments[0] > 0.02 * typical else typical / 4, least)
    ratios = [log(min(max(float(one) / w, 0.02), 1e4)) for one in moments[1:]]
    return {"w": log(w), **dict(zip(("value_ratio", "bias_ratio"), [*ratios, log(0.02)], strict=False))}


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
            f"The variances of the model cannot be estimated, since {reason}: give {argument('value_sd')} and "
            f"{argument('bias_sd')}, and declared noise, or use a plain method."
        )


def refuse_perfect(unknowns: Sequence[Unknown], point: Floats, step: float | None) -> None:
    """Refuse scores that leave no noise at all."""
    for one, at in zip(unknowns, point.tolist(), strict=True):
        left = {"value_ratio": one.high - at, "bias_ratio": one.high - at, "w": at - one.low}.get(one.name, np.inf)
        if left < 0.5:
            beyond = "" if step is None else f" beyond rounding to {step:g}"
            instead = "" if step is None else ", or leave the step out"
            raise SolveError(
                "The scores agree with values and biases so well that there is no noise to estimate"
                f"{beyond}: calibrate without refinements{instead}."
            )


RANDOM: Final = (
    "The scores contradict each other as much as marks at random would, so that a scale with ends tells nothing of the "
    "values: leave its ends out, or take the scores as categories."
)


def refuse_random(unknowns: Sequence[Unknown], point: Floats) -> None:
    """Refuse scores whose noise is as large as a scale with ends has room for."""
    if any(one.name == "w" and at >= one.high - 1e-6 for one, at in zip(unknowns, point.tolist(), strict=True)):
        raise SolveError(RANDOM)
