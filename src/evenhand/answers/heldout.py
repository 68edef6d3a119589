"""What all other scores say of each score: the error with which they predict it, and how probable they make it."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.models.fit import Fit

if TYPE_CHECKING:
    from evenhand.models.setting import Node

BRIDGE: Final = 1e-9
"""An assessment whose leverage is this close to 1 is a bridge: nothing else can check it."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Each score beside what a fit without it would expect.

    Attributes
    ----------
    error
        Score less prediction, in points; infinite at bridges.
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
    fit.require("leverages")
    panel = fit.panel
    solver = fit.posterior.solver
    if solver is None:
        return np.asarray(fit.weight / fit.values.total_confidence[panel.object_index], dtype=np.float64)
    leverage = np.clip(fit.weight * solver.fitted_variances(), 0.0, 1.0)
    if solver.diagonal_error > 0 and fit.posterior.condition is not None:  # sampled: what is known exactly is put in
        leverage[fit.connectivity.bridges] = 1.0
    return leverage


def held_out_errors(fit: Fit, leverage: Floats | None = None) -> Floats:
    """Return the error r/(1 - h) with which all other scores predict each score, in points; infinite at bridges."""
    leverage = leverages(fit) if leverage is None else leverage
    error, search = latent_errors(fit, leverage), fit.model.behind
    if fit.values.scale is None or search is None:
        return error
    node, known = search.best, np.isfinite(error)
    variance = node.w / fit.weight * leverage / np.maximum(1.0 - leverage, BRIDGE)
    place = search.work.panel.score - np.where(known, error, 0.0)
    expected = node.setting.likelihood.expected(place, variance, node.precision, node.w)
    return np.where(known, fit.panel.score - expected, np.inf)


def latent_errors(fit: Fit, leverage: Floats) -> Floats:
    """Return these errors on the scale of the model."""
    slack, node = 1.0 - leverage, _node(fit)
    residuals = fit.residuals if node is None else node.residuals
    move = residuals if node is None else residuals + node.aim  # what a rounded or outlying score stands for
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slack > BRIDGE, residuals + move * (1 - slack) / slack, np.inf)


def _node(fit: Fit) -> Node | None:
    """Return the fit behind a refined one."""
    return None if fit.model.behind is None else fit.model.behind.best


def held_out(fit: Fit) -> HeldOut:
    """Return how well all other scores predict each score, without fitting again.

    For given variances of the model this is exact where noise is normal. The noise variance is that without the score.
    """
    leverage = leverages(fit)
    error = held_out_errors(fit, leverage)
    slack = np.maximum(1.0 - leverage, BRIDGE)
    node = _node(fit)
    if node is not None and node.log_predictive is not None:
        density = node.log_predictive
    else:
        residual, nu = (fit.residual, fit.degrees_of_freedom) if node is None else (node.residual, node.freedom)
        known = None if fit.posterior.noise.kind == "estimated" and (node is None or node.setting.w is None) else 1.0
        if node is not None and node.setting.w is not None:
            known = node.setting.w
        density = _log_density(fit, slack, residual, nu, known)
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
