"""Assessors' own scales lambda: some spread their scores, some bunch them (App. F).

The score is s = lambda (v - m) + m + b + noise, m the mean score, and the log scales have a prior centred at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log, log1p
from typing import Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.models.effects import Table
from evenhand.models.setting import Fitted, Node, Setting, Unknown, Work
from evenhand.models.shrunk import ratio_prior
from evenhand.solve.bordered import BorderedSolver
from evenhand.solve.direct import Cholesky

_FIRM: Final = 1e6
"""How much firmer than each log scale their sum is held at zero."""

_WIDEST: Final = 2.0
_LESS: Final = 2.0
"""Log scales of assessors have no larger standard deviation than this; and the noise without them may be so much less
than with, in logarithms."""

_FAR: Final = 0.5
"""Newton's step of a log scale that is longer than this is not believed."""

_BESIDE: Final = 1e-4
"""Largest step of a log scale in differences of slopes."""

_TURNS: Final = (6, 3)
_ENOUGH: Final = (1e-8, 1e-4)
_MANY: Final = 500
"""Steps of conjugate gradients to how scales follow, at most, and the part of the first error, squared, that is enough;
the second of each for more assessors than this."""


def next_scales(
    work: Work,
    ratio: float,
    found: Fitted,
    log_scale: Floats,
    target: Floats,
    weight: Floats,
    w: float,
    inner: Cholesky | None = None,
) -> Floats:
    """Return the scales that suit the scores best when values and biases are known only as far as they are.

    One step of the EM algorithm: lambda_a fits E[v - m] and E[(v - m)^2], the second of which has the variance of v, so
    that unsure values do not inflate the scales; drawn to 1 by the prior, and with a product of 1. Where it is known
    how the log scales are tied (``inner``: about w times minus the second derivatives of their density, factorised),
    it is Newton's step, which ends in the same place sooner.
    """
    squares, product = _moments(work, found, target, weight, w)
    if inner is not None:
        stretch = np.exp(log_scale)
        step = _held(inner.solve(stretch * (stretch * squares - product) + log_scale / ratio))
        if float(np.abs(step).max()) <= _FAR:
            return np.asarray(log_scale - step)
    logs = log_scale
    for _ in range(8):
        stretch = np.exp(logs)
        slope = stretch * (stretch * squares - product) + logs / ratio
        bend = np.maximum(stretch * (2 * stretch * squares - product), 0.1 * stretch**2 * squares) + 1.0 / ratio
        level = float((slope / bend).sum() / (1.0 / bend).sum())  # holds the sum of the logs
        step = (slope - level) / bend
        logs = logs - step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
    return np.asarray(logs)


def _moments(work: Work, found: Fitted, target: Floats, weight: Floats, w: float) -> tuple[Floats, Floats]:
    """Return for each assessor the sums of c E[(v - m)^2] and of c E[(v - m)(s - m - b)]."""
    panel = work.panel
    of_values, cross, _ = (found.plain if found.border is None else found.border).edges()
    own = found.stretch[panel.assessor_index]
    away = found.values[panel.object_index] - work.centre
    left = target - work.centre - found.biases[panel.assessor_index]
    if work.columns is not None:
        left = left - work.columns @ found.coefficients
    squares = sum_by(panel.assessor_index, weight * (np.square(away) + w * of_values), panel.n_assessors)
    joint = own * cross  # of a value with all else that a score is made of
    if found.border is not None and work.columns is not None:
        with_coefficients = (found.border.images[0] @ found.border.covariance)[panel.object_index]
        joint = joint - (work.columns.toarray() * with_coefficients).sum(axis=1)
    return squares, sum_by(panel.assessor_index, weight * (away * left - w * joint), panel.n_assessors)


def _held(logs: Floats) -> Floats:
    """Return a step of the log scales that holds their sum."""
    return np.asarray(logs - logs.mean())


def tied(node: Node, ratio: float) -> Cholesky | None:
    """Return how the log scales are tied at a fit, were their spread this one, factorised; None where not known."""
    border, before, count = node.border, node.setting.scale_ratio, node.log_scale.size
    if border is None or before is None or border.count != count:
        return None
    more = 1.0 / ratio - 1.0 / before
    inner = np.asfortranarray(border.inner + more * _FIRM / count)
    inner[np.diag_indices(count)] += more
    return Cholesky.of(inner, 0.0)


def turned_slopes(work: Work, node: Node, at_scales: Callable[[Floats], Fitted]) -> dict[str, float]:
    """Return how the log marginal likelihood rises with numbers of the setting because scales and values follow them.

    The log scales are where the density g that they have with values and biases integrated out is highest, so that g
    does not change with them to first order; but the determinant of what ties them, h, does. With its slope a in the
    log scales, and H minus the second derivatives of g, that is a^T H^-1 times the mixed derivatives of g: the change
    of its other slopes along y = H^-1 a, which a few fits beside this one tell (``at_scales``). H is nearly what ties
    the scales, so that y takes two or three steps of conjugate gradients.
    """
    border, setting = node.border, node.setting
    if border is None or setting.scale_ratio is None:
        return {}
    panel, w, count = work.panel, node.w, node.log_scale.size
    object_, assessor = panel.object_index, panel.assessor_index
    stretch, weight = np.exp(node.log_scale), border.weight
    own = stretch[assessor]
    of_prior = np.square(stretch) / setting.bias_ratio if setting.bias_ratio else np.zeros(count)
    bias, away = node.biases / stretch, node.values[object_] - work.centre
    # how h falls with the weight of each score, and with the value of each object
    (one, other), (one_turned, other_turned) = border.images, border.turned
    sure = np.diagonal(border.covariance)[assessor]
    along = one_turned[object_, assessor] + np.diagonal(other_turned)[assessor]
    of_objects, of_assessors = (one_turned * one).sum(axis=1), (other_turned * other).sum(axis=1)
    cross = (one_turned[object_] * other[assessor]).sum(axis=1)
    more = away * (away * sure - 2 * along) + of_objects[object_] + 2 * cross + of_assessors[assessor]
    force = -sum_by(object_, weight * (away * sure - along), panel.n_objects)
    with_values, with_biases = border.base.apply(force, np.zeros(count))
    pulled = weight * (with_values[object_] + with_biases[assessor])
    left, given = node.residuals / own, (panel.score - work.centre) / own
    rises = sum_by(assessor, pulled * (2 * left - given) - weight * more, count)
    rises = _held(rises - of_prior * (of_assessors + 2 * bias * with_biases))
    found = {"value_ratio": 0.0, "bias_ratio": float(of_prior @ (bias * with_biases)), "scale_ratio": 0.0}
    if setting.value_ratio is not None:
        found["value_ratio"] = float((node.values - node.mean) @ with_values) / setting.value_ratio

    def beside(step: Floats) -> tuple[Floats, dict[str, float]]:
        ends = [_slopes_of_g(work, node, at_scales(node.log_scale + sign * step), sign * step) for sign in (1, -1)]
        return (ends[0][0] - ends[1][0]) / 2, {name: (ends[0][1][name] - ends[1][1][name]) / 2 for name in ends[0][1]}

    prepared = w * _held(border.covariance @ rises)
    way, height = prepared, float(rises @ prepared)
    least = _ENOUGH[count > _MANY] * height
    for _ in range(_TURNS[count > _MANY]):
        size = _BESIDE / max(float(np.abs(way).max()), 1e-300)
        bent, changes = beside(size * way)
        bent = -_held(bent) / size
        if not float(way @ bent) > 0:
            break
        share = height / float(way @ bent)
        for name, change in changes.items():
            found[name] = found.get(name, 0.0) + share * change / size
        rises = rises - share * bent
        prepared = w * _held(border.covariance @ rises)
        before, height = height, float(rises @ prepared)
        if height <= least:
            break
        way = prepared + height / before * way
    return found


def _slopes_of_g(work: Work, node: Node, found: Fitted, step: Floats) -> tuple[Floats, dict[str, float]]:
    """Return slopes in log scales a step from a fit, and in numbers of the setting, while scales are held."""
    panel, setting, logs = work.panel, node.setting, node.log_scale + step
    ratio = setting.scale_ratio or 1.0
    squares = float(np.square(logs).sum()) / ratio
    w = (found.residual + squares) / node.freedom if setting.w is None else setting.w
    first, product = _moments(work, found, panel.score, node.precision, w)
    rises = -(found.stretch * (found.stretch * first - product) + logs / ratio) / w
    of_values, of_biases = found.plain.diagonal()
    slopes = {"scale_ratio": squares / (2 * w)}
    if setting.w is not None:
        slopes["w"] = (found.residual + squares) / (2 * w)
    if setting.bias_ratio:
        own = np.square(found.stretch) * of_biases + np.square(found.biases) / w
        slopes["bias_ratio"] = float(own.sum()) / (2 * setting.bias_ratio)
    if setting.value_ratio is not None:
        average = np.full(panel.n_objects, 1.0 / panel.n_objects), np.zeros(panel.n_assessors)
        about = float(of_values.sum()) - panel.n_objects * float(found.plain.contrasts(*average))
        squares = float(np.square(found.values - found.values.mean()).sum())
        slopes["value_ratio"] = (about + squares / w) / (2 * setting.value_ratio)
    return rises, slopes


def scale_border(work: Work, ratio: float, found: Fitted) -> BorderedSolver:
    """Return the solver bordered by the scales as well, linearised about where they stand, with a product of 1."""
    panel = work.panel
    away = found.values[panel.object_index] - work.centre
    shape = (panel.n_assessments, panel.n_assessors)
    scales = sp.csr_array((away, (np.arange(away.size), panel.assessor_index)), shape=shape)
    columns = scales if found.columns is None else sp.csr_array(sp.hstack([found.columns, scales], format="csr"))
    count = columns.shape[1] - panel.n_assessors
    prior = np.zeros((columns.shape[1], columns.shape[1]))
    own = np.eye(panel.n_assessors) / ratio
    prior[count:, count:] = own + _FIRM / ratio / panel.n_assessors
    return BorderedSolver(found.plain, panel.object_index, panel.assessor_index, found.weight, columns, prior)


def scale_level(ratio: float, count: int) -> float:
    """Return half the log-determinant of the precisions of so many log scales, their sum held."""
    return (log1p(_FIRM) - count * log(ratio)) / 2


def scale_unknown(work: Work, log_noise: float) -> Unknown:
    """Return the spread of the log scales as a number that the scores must tell, for noise of about this log variance.

    It may be as large as is credible of log scales, however small the noise is; which scales make look larger at first.
    """
    typical = work.spread**-2
    high = max(6.0, 2 * log(_WIDEST * work.spread) - log_noise + _LESS)

    def put(setting: Setting, x: float) -> Setting:
        return replace(setting, scale_ratio=typical * exp(x))

    return Unknown("scale_ratio", put, {"scale_ratio": 1.0}, 0.0, -12.0, high, ratio_prior, may_vanish=True)


def scales_of(logs: Table) -> Table:
    """Return the table of the scales from that of their logarithms."""
    estimate = np.exp(logs.estimate)
    return replace(logs, estimate=estimate, sd=estimate * logs.sd, lower=np.exp(logs.lower), upper=np.exp(logs.upper))
