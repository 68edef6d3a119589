"""What all other scores say of each score: the error with which they predict it, and how probable they make it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.models.fit import Fit, Model
from evenhand.models.noise import EstimatedNoise, KnownNoise, Noise, Normal
from evenhand.models.predictive import Part, Predictive
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    from evenhand.models.setting import Node

BRIDGE: Final = 1e-9
"""An assessment whose leverage is this close to 1 is a bridge: nothing else can check it."""

_LEAST: Final = 1e-200
"""A sum of squares that is zero, for those that are divided by it."""

_NARROW: Final = 1e-5
"""Where scores lie on no grid, cells have this part of their spread for a width: their probability is a density."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Each score beside what a fit without it would expect.

    Attributes
    ----------
    error
        Score less the mean of what is predicted, in points; infinite at bridges.
    log_score
        Log of the probability with which each score was predicted, by the same predictions; of its density where
        scores lie on no grid. Minus infinity at bridges, and where the others do not tell the noise.
    """

    error: Floats
    log_score: Floats

    @property
    def is_predicted(self) -> NDArray[np.bool_]:
        """Whether each score can be predicted from the others at all."""
        return np.isfinite(self.error)


def cell_of(panel: Panel, models: Iterable[Model]) -> float:
    """Return the width of the cell that a recorded score stands for: a step that was told, that of the grid, or none.

    Methods are compared by the same cells, so that all are asked for the probability of the same event.
    """
    told = min((one.step for one in models if one.step is not None), default=panel.step)
    return _NARROW * (float(np.std(panel.score)) or 1.0) if told is None else told


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
    """Return the error r/(1 - h) with which all other scores predict each score; infinite at bridges."""
    return latent_errors(fit, leverages(fit) if leverage is None else leverage)


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


def held_out_predictions(fit: Fit, cell: float | None = None) -> tuple[Predictive, NDArray[np.bool_]]:
    """Return the distribution of each score given all others, and whether it has one, without fitting again.

    For given variances of the model this is exact where noise is normal. The noise variance is that without the score;
    with a prior of one's own for it, that with all scores.
    """
    made = fit.model.left_out(fit)
    part, is_predicted = _left_out(fit) if made is None else (made, np.isfinite(made.mean))
    width = cell_of(fit.panel, [fit.model]) if cell is None else cell
    return Predictive((part,), width, fit.model.scale), is_predicted


def _left_out(fit: Fit) -> tuple[Part, NDArray[np.bool_]]:
    """Return what least squares without each score say of it."""
    leverage, node, search = leverages(fit), _node(fit), fit.model.behind
    error = latent_errors(fit, leverage)
    is_predicted, slack = np.isfinite(error), np.maximum(1.0 - leverage, BRIDGE)
    score = fit.panel.score if search is None else search.work.panel.score
    mean = np.where(is_predicted, score - error, 0.0)
    variance = leverage / slack / fit.weight
    if node is not None and node.setting.w is not None:
        noise: Noise = KnownNoise(node.setting.w)
        return Part(1.0, noise, node.setting.likelihood, mean, variance, node.precision), is_predicted
    noise = fit.posterior.noise
    if noise.kind != "estimated":
        return Part(1.0, noise, Normal(), mean, variance, fit.weight), is_predicted
    residual, nu = (fit.residual, fit.degrees_of_freedom) if node is None else (node.residual, node.freedom)
    # Student's, with the sum of squares that the other scores leave: the unit of the variance
    unit = np.maximum(residual - fit.weight * np.square(fit.residuals) / slack, _LEAST)
    noise = EstimatedNoise(1.0, nu - 1)
    return Part(1.0, noise, Normal(), mean, unit * variance, fit.weight / unit), is_predicted


def held_out(fit: Fit, cell: float | None = None) -> HeldOut:
    """Return how well all other scores predict each score, by one and the same predictions.

    Parameters
    ----------
    fit
        The fit.
    cell
        The width of the cell that a recorded score stands for; :func:`cell_of` its panel and model where not given.
    """
    predicted, is_predicted = held_out_predictions(fit, cell)
    score, log_score = fit.panel.score, np.full(fit.panel.n_assessments, -np.inf)
    if predicted.parts[0].noise.cdf(0.0) is not None:  # the other scores leave something to tell the noise by
        with np.errstate(divide="ignore"):
            log_score = np.log(predicted.probability(score))
    if fit.panel.step is None and fit.model.step is None:
        log_score -= np.log(predicted.cell)
    return HeldOut(np.where(is_predicted, score - predicted.mean, np.inf), np.where(is_predicted, log_score, -np.inf))
