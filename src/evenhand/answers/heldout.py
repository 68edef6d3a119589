"""What all other scores say of each score: the error with which they predict it, and how probable they make it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import EvenhandError
from evenhand.models.fit import Fit, Model
from evenhand.models.noise import EstimatedNoise, KnownNoise, Normal
from evenhand.models.predictive import Part, Predictive
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    from evenhand.models.setting import Node
    from evenhand.models.variances import Search

BRIDGE: Final = 1e-9
"""An assessment whose leverage is this close to 1 is a bridge: nothing else can check it."""

_LEAST: Final = 1e-200
"""A sum of squares that is zero, for those that are divided by it."""

_NARROW: Final = 1e-5
"""Where scores lie on no grid, cells have this part of their spread for a width: their probability is a density."""

_UNTOLD: Final = 1e-3
"""Unknowns of which the scores tell less than this stay as they are when one of the scores is left out."""

_TELLING: Final = 0.15
_REFITS: Final = 12
"""Scores that told more than this of the unknowns themselves, where first order ends, are left out by a fit without
them: at most so many, those that told most."""

_TOO_FAR: Final = 0.5
"""And where first order leads elsewhere if they told more than this."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Each score beside what a fit without it would expect.

    Attributes
    ----------
    error
        Score less the mean of what is predicted, in points; infinite at bridges.
    log_score
        Log of the probability with which each score was predicted, by the same predictions, less what it told of the
        model's unknowns itself; of its density where scores lie on no grid. Minus infinity at bridges, and where the
        others do not tell the noise.
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
    """Return the error r/(1 - h) with which all other scores predict each score, in points; infinite at bridges."""
    part, is_predicted = _left_out(fit, _node(fit), leverages(fit) if leverage is None else leverage)
    return np.where(is_predicted, fit.panel.score - part.expected(), np.inf)


def latent_errors(fit: Fit, leverage: Floats) -> Floats:
    """Return these errors on the scale of the model."""
    return _errors(*_residuals(fit, _node(fit)), leverage)


def _node(fit: Fit) -> Node | None:
    """Return the fit behind a refined one."""
    return None if fit.model.behind is None else fit.model.behind.best


def _residuals(fit: Fit, node: Node | None) -> tuple[Floats, Floats]:
    """Return residuals, and those of what rounded or outlying scores stand for."""
    return (fit.residuals, fit.residuals) if node is None else (node.residuals, node.residuals + node.aim)


def _errors(residuals: Floats, moves: Floats, leverage: Floats) -> Floats:
    slack = 1.0 - leverage
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slack > BRIDGE, residuals + moves * leverage / slack, np.inf)


def held_out_predictions(fit: Fit, cell: float | None = None) -> tuple[Predictive, NDArray[np.bool_]]:
    """Return the distribution of each score given all others, and whether it has one, without fitting again.

    For given variances of the model this is exact where noise is normal. The noise variance is that without the score
    (with a prior of one's own for it, that with all scores), and so is its assessor's noise factor.
    """
    return _predictions(fit, fit.model.left_out(fit), cell)


def _predictions(fit: Fit, made: Part | None, cell: float | None) -> tuple[Predictive, NDArray[np.bool_]]:
    """Return what a model made of leaving scores out by itself, or what least squares do."""
    part, is_predicted = _left_out(fit, _node(fit), leverages(fit)) if made is None else (made, np.isfinite(made.mean))
    width = cell_of(fit.panel, [fit.model]) if cell is None else cell
    return Predictive((part,), width), is_predicted


def _left_out(fit: Fit, node: Node | None, leverage: Floats) -> tuple[Part, NDArray[np.bool_]]:
    """Return what least squares without each score say of it, at the variances of a fit or at others of its model."""
    search, noise = fit.model.behind, fit.posterior.noise
    weight, (residuals, moves) = fit.weight if node is None else node.weight, _residuals(fit, node)
    error = _errors(residuals, moves, leverage)
    is_predicted, slack = np.isfinite(error), np.maximum(1.0 - leverage, BRIDGE)
    score = fit.panel.score if search is None else search.work.panel.score
    mean = np.where(is_predicted, score - error, 0.0)
    variance, precision = leverage / slack / weight, weight
    if node is not None:
        from evenhand.models.noise_factors import left_out_change

        precision = node.precision / left_out_change(fit.panel, node, leverage)
    if node is not None and node.setting.w is not None:
        return Part(1.0, KnownNoise(node.setting.w), node.setting.likelihood, mean, variance, precision), is_predicted
    if noise.kind != "estimated":
        return Part(1.0, noise, Normal(), mean, variance, precision), is_predicted
    residual, nu = (fit.residual, fit.degrees_of_freedom) if node is None else (node.residual, node.freedom)
    # Student's, with the sum of squares that the other scores leave: the unit of the variance
    unit = np.maximum(residual - weight * np.square(residuals) / slack, _LEAST)
    return Part(1.0, EstimatedNoise(1.0, nu - 1), Normal(), mean, unit * variance, precision / unit), is_predicted


def held_out(fit: Fit, cell: float | None = None) -> HeldOut:
    """Return how well all other scores predict each score, by one and the same predictions.

    Variances and other unknowns of the model are not known without the score either: what it told of them itself is
    taken off its log probability, except for categories and on panels so large that it is nothing.

    Parameters
    ----------
    fit
        The fit.
    cell
        The width of the cell that a recorded score stands for; :func:`cell_of` its panel and model where not given.
    """
    made, search = fit.model.left_out(fit), fit.model.behind
    predicted, is_predicted = _predictions(fit, made, cell)
    score, mean, log_score = fit.panel.score, predicted.mean, np.full(fit.panel.n_assessments, -np.inf)
    if predicted.parts[0].noise.cdf(0.0) is not None:  # the other scores leave something to tell the noise by
        log_score = _log_probability(predicted, score)
    if search is not None and made is None and not search.is_large:
        told, shift = _told_by_itself(fit, search, predicted.cell)
        log_score, mean = log_score - np.minimum(told, 1.0), mean.copy()
        for row in _telling(told, is_predicted):
            with suppress(EvenhandError):  # the other scores tell too little: first order is all there is
                anew = Predictive(fit.model.without(fit, row, shift[:, row]), predicted.cell)
                log_score[row], mean[row] = _log_probability(anew, score[[row]])[0], anew.mean[0]
    if fit.panel.step is None and fit.model.step is None:
        log_score -= np.log(predicted.cell)
    return HeldOut(np.where(is_predicted, score - mean, np.inf), np.where(is_predicted, log_score, -np.inf))


def _telling(told: Floats, is_predicted: NDArray[np.bool_]) -> list[int]:
    """Return the scores that told so much of the unknowns themselves that first order does not do, most first."""
    most = np.argsort(-told, kind="stable")[:_REFITS]
    return [row for row in most.tolist() if told[row] > _TELLING and is_predicted[row]]


def _log_probability(predicted: Predictive, score: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(predicted.probability(score)))


def _told_by_itself(fit: Fit, search: Search, cell: float) -> tuple[Floats, Floats]:
    """Return how much of the log probability of each score is owed to what it told of the model's unknowns itself.

    And by how much each unknown (rows) would be another without the score.

    The unknowns x (spreads of values and biases, power, strength of noise factors, spread of scales) are where the log
    marginal likelihood L(x) of all scores is highest. L = L_i + l_i, where l_i is the log probability of score i given
    all others and L_i the log marginal likelihood of these. With g_i the slope of l_i and H minus the second
    derivatives of L, L_i is highest at x - H^-1 g_i, to first order, where l_i is less by g_i^T H^-1 g_i. If the model
    is true, the sum of g_i g_i^T is about H and that of all these about the number of unknowns, as in Akaike's
    criterion; a score that contradicts the others counts for more, and beyond ``_TELLING`` first order ends.

    Nothing for unknowns at the end of their range, and for scales and noise factors themselves, which are left out with
    the score already.
    """
    score = fit.panel.score

    def log_probability(node: Node) -> Floats:
        leverage = np.clip(node.weight * node.solver.fitted_variances(), 0.0, 1.0)
        return _log_probability(Predictive((_left_out(fit, node, leverage)[0],), cell), score)

    free, slopes, bend = search.followed(log_probability)
    size, axes = np.linalg.eigh(bend)
    told = size > _UNTOLD
    turned = axes[:, told].T @ np.nan_to_num(slopes)
    moved = turned / size[told, None]
    shift = np.zeros((len(search.unknowns), score.size))
    shift[free] = -axes[:, told] @ moved
    owed = np.asarray((turned * moved).sum(axis=0))
    return owed, np.where(owed < _TOO_FAR, shift, 0.0)
