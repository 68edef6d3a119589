"""Calibrated confidences: a noise factor kappa for each assessor, and the power of declared confidence (App. F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lgamma, log, pi

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.models.effects import Table
from evenhand.models.setting import Node, Setting, Unknown, log_unknown
from evenhand.panel.panel import Panel


def next_factors(factor: Floats, strength: float, squares: Floats, left_over: Floats) -> Floats:
    """Return kappa_a = (nu_0 + sum c r^2 / w) / (nu_0 + sum (1 - h)): REML, drawn to 1 by the prior."""
    own = squares * factor  # precisions carry the factors already
    return np.asarray(np.maximum(strength + own, 1e-6) / (strength + left_over))


def left_out_change(panel: Panel, node: Node, leverage: Floats) -> Floats:
    """Return for each score by what its assessor's noise factor is multiplied if the score is left out.

    With m = nu_0 + sum (1 - h), kappa m = nu_0 + sum c r^2 / w. A score takes its own part of both sums with it, and
    what it does to other residuals concerns other assessors in the main. With c r^2 / w in units of kappa, as weights
    have it, (m - c r^2 / w) / (m - 1 + h) is left.
    """
    strength, assessor = node.setting.strength, panel.assessor_index
    if strength is None:
        return np.ones(panel.n_assessments)
    squares = node.precision * np.square(node.residuals) / node.w
    if node.sites is not None:  # of which what is expected has the variance of the fit in it
        squares = node.sites.tilted.scatter - leverage
    m = strength + sum_by(assessor, 1.0 - leverage, panel.n_assessors)[assessor]
    return np.asarray((m - squares) / (m - 1.0 + leverage))


def factor_level(factor: Floats, strength: float, left_over: Floats) -> float:
    """Return the log prior density of log kappa at the fit, with Laplace's factor for integrating it out."""
    half = strength / 2
    density = half * log(half) - lgamma(half) - half * (np.log(factor) + 1.0 / factor)
    bend = (strength + left_over) / 2
    return float((density + 0.5 * np.log(2 * pi / bend)).sum())


def factor_table(panel: Panel, best: Node, nodes: Sequence[tuple[float, Node]], interval: float) -> Table:
    """Return the noise factors, each close to an inverse gamma given the others, for all credible settings."""
    from scipy.special import gammainccinv

    tails = np.array([(1 - interval) / 2, (1 + interval) / 2])
    grid = (np.arange(200) + 0.5) / 200
    drawn, share = [], []
    for part, node in nodes:
        slack = np.square(1.0 - np.clip(node.weight * node.solver.fitted_variances(), 0.0, 1.0))
        strength = node.setting.strength if node.setting.strength is not None else np.inf
        shape = (strength + sum_by(panel.assessor_index, slack, panel.n_assessors)) / 2
        drawn.append(shape * node.noise_factor / gammainccinv(shape, grid[:, None]))
        share.append(np.full(grid.size, part / grid.size))
    factors, weights = np.concatenate(drawn), np.concatenate(share)
    sd = np.sqrt(weights @ np.square(factors - best.noise_factor))
    ends = np.empty((2, panel.n_assessors))
    for at in range(panel.n_assessors):
        order = np.argsort(factors[:, at])
        ends[:, at] = np.interp(tails, np.cumsum(weights[order]), factors[order, at])
    return Table("assessor", panel.assessors, best.noise_factor, sd, ends[0], ends[1], panel.backend)


def strength_unknown() -> Unknown:
    """Return how alike the noise factors are, as a number that the scores must tell."""
    return log_unknown("strength", log(8.0), log(2.0), log(500.0), lambda x: -((x - log(8.0)) ** 2) / 4.5)


def power_unknown() -> Unknown:
    """Return the power of declared confidence as a number that the scores must tell."""

    def put(setting: Setting, x: float) -> Setting:
        return replace(setting, power=x)

    return Unknown("power", put, {"power": 1.0}, 0.5, -3.0, 5.0, lambda x: -((x - 1.0) ** 2) / 2)
