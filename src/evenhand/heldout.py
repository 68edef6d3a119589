"""What all other scores say of each score: the error with which they predict it, and how probable they make it."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenhand.fit import Fit
from evenhand.models import MEDIANS
from evenhand.models.working import Node, leverages_of
from evenhand.solve.base import Solver

Floats = NDArray[np.float64]

BRIDGE: Final = 1e-9
"""An assessment whose leverage is this close to 1 is a bridge: nothing else can check it."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Each score beside what a fit without it would expect.

    Attributes
    ----------
    error
        Score less prediction, on the scale of the model; infinite at bridges.
    log_density
        Log of the predictive density of each score, in points; minus infinity at bridges.
    """

    error: Floats
    log_density: Floats

    @property
    def is_predicted(self) -> NDArray[np.bool_]:
        """Whether each score can be predicted from the others at all."""
        return np.isfinite(self.error)


def leverages(fit: Fit) -> Floats:
    """Return h = c x^T L^- x of each assessment: how far its own fitted score follows it; 1 marks a bridge."""
    panel = fit.panel
    solver = pulling_solver(fit)
    if solver is None:
        return np.asarray(fit.weight / fit.values.total_confidence[panel.object_index], dtype=np.float64)
    leverage = np.clip(leverages_of(solver, fit.weight), 0.0, 1.0)
    if solver.diagonal_error > 0 and fit.posterior.condition is not None:  # sampled: what is known exactly is put in
        leverage[fit.connectivity.bridges] = 1.0
    return leverage


def held_out_errors(fit: Fit, leverage: Floats | None = None) -> Floats:
    """Return the error r/(1 - h) with which all other scores predict each score; infinite at bridges."""
    slack = 1.0 - (leverages(fit) if leverage is None else leverage)
    move = fit.residuals
    if fit.method != MEDIANS and fit.refined is not None:  # a rounded score pulls towards its interval
        node: Node = fit.refined.node
        move = node.setting.likelihood.working(node.residuals, node.precision, node.w)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slack > BRIDGE, fit.residuals + move * (1 - slack) / slack, np.inf)


def pulling_solver(fit: Fit) -> Solver | None:
    """Return what answers for how scores pull at the fit: that of the posterior, unless noise is not normal."""
    if fit.method == MEDIANS or fit.refined is None:
        return fit.posterior.solver
    node: Node = fit.refined.node
    return node.pulling


def held_out(fit: Fit) -> HeldOut:
    """Return how well all other scores predict each score, without fitting again.

    For given variances of the model this is exact where noise is normal. The noise variance is that without the score.
    """
    leverage = leverages(fit)
    error = held_out_errors(fit, leverage)
    slack = np.maximum(1.0 - leverage, BRIDGE)
    node: Node | None = None if fit.refined is None else fit.refined.node
    if node is not None and not node.setting.likelihood.is_normal:
        spread = 1.0 / node.precision + leverage / (node.pull * slack)
        density = node.setting.likelihood.log_density(np.where(np.isfinite(error), error, 0.0), 1.0 / spread, node.w)
    else:
        residual, nu = (fit.residual, fit.degrees_of_freedom) if node is None else (node.residual, node.freedom)
        known = None if fit.posterior.noise.kind == "estimated" and (node is None or node.setting.w is None) else 1.0
        if node is not None and node.setting.w is not None:
            known = node.setting.w
        density = _log_density(fit, slack, residual, nu, known)
    if fit.values.scale is not None:
        density = density + np.log(fit.values.scale.slope(fit.panel.score))
    return HeldOut(error, np.where(np.isfinite(error), density, -np.inf))


def _log_density(fit: Fit, slack: Floats, residual: float, nu: int, known: float | None) -> Floats:
    """Return the log density of each score given all others: normal for a known w, else Student's."""
    squares = fit.weight * np.square(fit.residuals) / slack
    scale = (np.log(fit.weight) + np.log(slack)) / 2
    if known is not None:
        return np.asarray(scale - (log(2 * pi * known) + squares / known) / 2)
    left = nu - 1
    if left < 1:
        return np.full(slack.size, -np.inf)
    without = np.maximum(residual - squares, np.finfo(np.float64).tiny)
    level = lgamma((left + 1) / 2) - lgamma(left / 2) - log(pi) / 2
    return np.asarray(level + scale - np.log(without) / 2 - (left + 1) / 2 * np.log1p(squares / without))
