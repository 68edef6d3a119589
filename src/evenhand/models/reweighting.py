"""The iteration behind every refinement: weighted least squares on the paper's graph until nothing moves.

For given variances each refinement is the additive model once more, with other weights (robust, rounded, calibrated
confidences), further columns (covariates, scales of assessors) or a larger graph (priors).

Where noise is not normal, each score is replaced by a normal one (its *site*: a weight and a target) that has the same
effect on what all other scores expect of it, and the fit is repeated until sites stay the same: expectation propagation
(Minka 2001). The fit is then the mean of the posterior, its covariance comes with it, and so do the marginal likelihood
and the density of each score given all others. All are exact where noise is normal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import lgamma, log, pi
from typing import Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.noise import EstimatedNoise, KnownNoise, Likelihood, Noise, Tilted
from evenhand.models.noise_factors import factor_level, next_factors
from evenhand.models.scaled import Guess, Held, Ties, next_scales, scale_border, scale_level
from evenhand.models.setting import Fitted, Node, Setting, Sites, Work
from evenhand.models.shrunk import RANDOM, prior_precisions
from evenhand.panel.panel import Panel
from evenhand.solve.base import Solution, Solver
from evenhand.solve.bordered import BorderedSolver, StretchedSolver
from evenhand.solve.choose import choose_solver
from evenhand.solve.equations import make_system
from evenhand.solve.priors import PriorSolver

STEPS: Final = 2000
"""Fits after which an iteration that still moves is given up."""

DEPTH: Final = 8
"""Steps that the mixing looks back on."""

RAN_AWAY: Final = "The fit ran away: there is no result. Leave out a refinement."

_FARTHEST: Final = 50.0
"""No scale of an assessor has a logarithm as large as this."""

NOTHING_LEFT: Final = "The scores leave nothing over to estimate variances from: more assessments are needed."

STEADY: Final = 1e-8
"""An iteration has come to rest when no fitted score moves by more than this part of the spread of the scores."""

_STILL: Final = 1e-6
"""And when no weight, scale or noise factor moves by more than this."""

_ROUGH: Final = 10.0
"""By how much sites may move further than that: the marginal likelihood depends on the square of it."""

_PATIENCE: Final = 80
LONGEST: Final = 1000
TRIED: Final = _PATIENCE
_CALMED: Final = ((600, 0.03), (300, 0.1), (_PATIENCE, 0.3))
"""Steps after which sites that still move start anew and are moved by a part of the way only; by which part, the later
the smaller; and after which they are given up, and those that are but tried."""

_LOST: Final = 10.0
"""A level of all values so many spreads of the scores away from them is kept by nothing."""

_RESTLESS: Final = 1e-3
"""Unless they move by no more than this part of the spread of the scores, which a note says."""

_AFRESH: Final = 3
_NEWTON: Final = 20
"""Steps after which it is found out afresh how scales that still move are tied; and after which they are moved by the
EM algorithm, which never leads astray."""

_BRIDGE: Final = 1e-9
"""What other scores are taken to expect of one that nothing else can check: next to nothing."""


@dataclass(eq=False)
class _State:
    """What changes from fit to fit."""

    # log_scale, noise_factor: of the assessors
    log_scale: Floats
    noise_factor: Floats
    share: Floats  # weight of each score's site over the precision of the score
    lift: Floats  # weight times aim of each site, over the precision
    residuals: Floats  # of the last fit

    def packed(self, unit: float) -> Floats:
        """Return all that a further fit depends on as one vector of numbers of a like size."""
        parts = (self.share, self.lift / unit, self.log_scale, np.log(self.noise_factor))
        return np.concatenate(parts)

    def unpacked(self, vector: Floats, unit: float, likelihood: Likelihood) -> _State:
        """Return the state that a vector stands for."""
        scores, assessors = self.share.size, self.log_scale.size
        share, lift, rest = vector[:scores], vector[scores : 2 * scores], vector[2 * scores :]
        log_scale, factor = rest[:assessors], rest[assessors:]
        if np.abs(log_scale).max() > _FARTHEST:
            raise SolveError(RAN_AWAY)
        share = np.clip(share, likelihood.least, likelihood.most)
        return _State(log_scale, np.exp(np.clip(factor, -20.0, 20.0)), share, lift * unit, self.residuals)

    def distance(self, other: _State, unit: float) -> float:
        """Return how far another state is, in the worst of what matters to a fit."""
        lift = np.abs(self.lift - other.lift) / unit
        turned = (np.log(self.noise_factor / other.noise_factor), self.log_scale - other.log_scale)
        moved = np.abs(self.share - other.share), lift, *(np.abs(one) for one in turned)
        return float(max(one.max(initial=0.0) for one in moved))


def settle(
    work: Work,
    setting: Setting,
    start: Node | None = None,
    slack: float = 1.0,
    longest: int = LONGEST,
    ties: Ties | Guess | None = None,
) -> Node:
    """Return the fit for a setting, from another that is close where there is one, to a tolerance with some slack.

    Where it is known how scales are tied at the other fit, they start where they are expected.

    Sites are given up after so many steps. Where each score is as probable however far the level of all values is, as
    on a bounded scale with much noise, nothing keeps that level: it is given up as soon as it leaves the scores.

    Raises
    ------
    SolveError
        If the iteration does not come to rest.
    """
    panel = work.panel
    declared = work.precision(setting.power)
    none, each = np.zeros(panel.n_assessors), np.zeros(panel.n_assessments)
    fresh = _State(none, np.exp(none), setting.likelihood.first + each, each, np.full(panel.n_assessments, np.inf))
    state = fresh
    if start is not None:
        log_scale = none if setting.scale_ratio is None else start.log_scale
        factor = np.exp(none) if setting.strength is None else start.noise_factor
        share = np.clip(start.weight / start.precision, setting.likelihood.least, setting.likelihood.most)
        state = _State(log_scale, factor, share, share * start.aim, start.residuals)
    slack *= 1.0 if setting.likelihood.is_normal else _ROUGH
    once = setting.likelihood.is_normal and setting.strength is None and setting.scale_ratio is None
    held = None if ties is None or setting.scale_ratio is None else ties.at(setting.scale_ratio)
    if ties is not None and held is not None:
        state.log_scale = ties.expected(setting)
    mixing, has_sites = Mixing(), not setting.likelihood.is_normal
    limit, is_anew = min(STEPS, longest) if has_sites else STEPS, False
    for count in range(limit):
        precision = declared / state.noise_factor[panel.assessor_index]
        newton = held if count < _NEWTON else None
        found, sites, after = _step(work, setting, state, precision, newton)
        moved = float(np.abs(after.residuals - state.residuals).max())
        if newton is not None:  # whose step says how far off the fit is
            away = found.stretch[panel.assessor_index] * (found.values[panel.object_index] - work.centre)
            moved = float(np.abs((after.log_scale - state.log_scale)[panel.assessor_index] * away).max())
        if once or (moved <= slack * STEADY * work.spread and after.distance(state, work.spread) <= slack * _STILL):
            return _node(work, setting, found, sites, state, precision)
        is_lost = has_sites and abs(float(found.values.mean()) - work.centre) > _LOST * work.spread
        if is_lost and (is_anew or limit <= TRIED):
            raise SolveError(RANDOM)
        if (has_sites and count == _PATIENCE) or is_lost:  # from where mixing has led it there may be no way back
            state, is_anew = fresh, True
            continue
        if newton is not None and count % _AFRESH == _AFRESH - 1:  # what ties other scales is of no more use
            held, mixing = _tied(work, setting, found, state, precision) or held, Mixing()
        before, ahead = state.packed(work.spread), after.packed(work.spread)
        calmed = next((part for since, part in _CALMED if count > since or (is_anew and since == _PATIENCE)), None)
        mixed = before + calmed * (ahead - before) if has_sites and calmed else mixing.next(before, ahead)
        state = after.unpacked(mixed, work.spread, setting.likelihood)
    unrest = moved / _CALMED[0][1]  # by the whole of the way
    if has_sites and limit == LONGEST and unrest <= _RESTLESS * work.spread:
        return replace(_node(work, setting, found, sites, state, precision), unrest=unrest)
    instead = "Leave out a refinement, or ask for fewer at a time."
    if has_sites and setting.is_declared:
        instead = (
            "The scores contradict each other by more than their declared uncertainties allow: use noise estimated."
        )
    elif has_sites:
        instead = "The scores contradict each other too much for this model: leave it out, or take them as categories."
    raise SolveError(
        f"The fit did not come to rest in {limit} steps (fitted scores still move by {moved:.2g}): there is no result. "
        + instead
    )


def guessed_scales(work: Work, setting: Setting) -> Guess:
    """Return what the scores tell of scales where all are 1."""
    none, each = np.zeros(work.panel.n_assessors), np.zeros(work.panel.n_assessments)
    state, precision = _State(none, np.exp(none), each, each, each), work.precision(setting.power)
    found = _fit(work, setting, state, precision, work.panel.score)
    return Guess.at_one(work, found, precision, _noise_variance(work, setting, found, none))


def _tied(work: Work, setting: Setting, found: Fitted, state: _State, precision: Floats) -> Held | None:
    """Return what ties log scales that have not come to rest; None where they are near no peak."""
    w = _noise_variance(work, setting, found, state.log_scale)
    ties = Ties(work, setting, found, state.log_scale, precision, w, _freedom(work, setting))
    return None if setting.scale_ratio is None else ties.at(setting.scale_ratio)


def _step(
    work: Work, setting: Setting, state: _State, precision: Floats, newton: Held | None = None
) -> tuple[Fitted, Sites | None, _State]:
    """Return the fit of a state, the sites it was made of, and the next state."""
    panel, likelihood, w = work.panel, setting.likelihood, setting.w
    if likelihood.is_normal:
        weight, aim = precision, np.zeros(panel.n_assessments)
    else:
        weight, aim = precision * state.share, state.lift / state.share
    target = panel.score + aim
    found = _fit(work, setting, state, weight, target)
    sites, share, lift = None, state.share, state.lift
    if not likelihood.is_normal:
        if w is None:
            raise SolveError("A likelihood that is not normal needs a noise variance.")
        solver, _ = _answering(work, setting, found, state.log_scale)
        leverage = np.clip(weight * solver.fitted_variances(), 1e-12, 1.0 - _BRIDGE)
        slack = 1.0 - leverage
        without = found.residuals + (found.residuals + aim) * leverage / slack  # what all others expect
        without[slack <= _BRIDGE] = 0.0  # which is nothing where there are none
        spread = w / weight * leverage / slack
        tilted = likelihood.tilted(without, spread, precision, w)
        sites = Sites(weight, aim, leverage, without, spread, tilted)
        share, lift = _next_sites(tilted, without, spread, precision, w, likelihood)
    factor, log_scale = state.noise_factor, state.log_scale
    if setting.strength is not None:
        squares, left_over = _scatter(work, setting, found, precision, state, sites)
        factor = next_factors(factor, setting.strength, squares, left_over)
    if setting.scale_ratio is not None:
        w = _noise_variance(work, setting, found, log_scale)
        log_scale = next_scales(work, setting.scale_ratio, found, log_scale, target, weight, w, newton)
    return found, sites, _State(log_scale, factor, share, lift, found.residuals)


def _next_sites(
    tilted: Tilted, without: Floats, spread: Floats, precision: Floats, w: float, likelihood: Likelihood
) -> tuple[Floats, Floats]:
    """Return share and lift of the sites that have the effect of the scores: the same mean and variance after them."""
    weight = w * tilted.bend / np.maximum(1.0 - spread * tilted.bend, 1e-12)
    share = np.clip(weight / precision, likelihood.least, likelihood.most)
    mean = without - spread * tilted.slope  # which it has after the score, whatever the weight
    return share, np.asarray(w / precision * tilted.slope - share * mean)


@dataclass(eq=False)
class Mixing:
    """Anderson's mixing: the next point from the last few steps of an iteration, so that slow ones come to rest.

    Where a mixed point turns out to be worse, it is taken back and the iteration goes on by itself for a while, each
    time longer.
    """

    points: list[Floats] = field(default_factory=list)
    steps: list[Floats] = field(default_factory=list)
    patience: int = 2
    was_mixed: bool = False

    def next(self, before: Floats, after: Floats) -> Floats:
        """Return where to go on, given that the iteration would go from one point to another."""
        step = after - before
        if not np.isfinite(step).all():
            raise SolveError(RAN_AWAY)
        if self.was_mixed and np.linalg.norm(step) > np.linalg.norm(self.steps[-1]):
            return self.back()
        self.points.append(after)
        self.steps.append(step)
        if len(self.steps) > max(DEPTH, self.patience + 1):
            del self.points[0], self.steps[0]
        self.was_mixed = len(self.steps) > self.patience
        if not self.was_mixed:
            return after
        change = np.diff(np.stack(self.steps[-DEPTH:]), axis=0).T
        share = np.linalg.lstsq(change, step, rcond=1e-8)[0]
        return np.asarray(after - np.diff(np.stack(self.points[-DEPTH:]), axis=0).T @ share)

    def back(self) -> Floats:
        """Return where the iteration goes on by itself, in place of the mixed point that it was given."""
        plain = self.points[-1]
        self.points.clear()
        self.steps.clear()
        self.patience, self.was_mixed = min(2 * self.patience, 64), False
        return plain


def _fit(work: Work, setting: Setting, state: _State, weight: Floats, target: Floats) -> Fitted:
    """Fit values, biases and covariates to target scores with given weights and scales: one linear problem.

    With scales, t = lambda (v - m) + m + b is divided by lambda: (t - m)/lambda + m = v + b/lambda.
    """
    panel, centre = work.panel, work.centre
    assessor, object_ = panel.assessor_index, panel.object_index
    stretch = np.exp(state.log_scale)
    scaled = setting.scale_ratio is not None
    columns = work.columns
    if scaled:
        own = stretch[assessor]
        weight = weight * np.square(own)
        target = (target - centre) / own + centre
        columns = None if columns is None else sp.csr_array(sp.diags_array(1.0 / own) @ columns)
    value_prior, bias_prior = prior_precisions(panel, setting, stretch)
    plain: Solver
    if setting.bias_ratio is None:
        plain = choose_solver(make_system(replace(panel, precision=weight), work.parts), work.solver)
    else:
        graph = work.graph(has_values=value_prior is not None, has_biases=bias_prior is not None)
        plain = PriorSolver(graph, weight, value_prior, bias_prior, work.solver)
    border, coefficients = None, np.zeros(0)
    if columns is not None:
        border = BorderedSolver(plain, object_, assessor, weight, columns, np.zeros(columns.shape[1]))
        found, coefficients = border.fit(target)
    else:
        found = plain.solve(target)
    left = _residuals(found, target, panel)
    total = found.residual if found.residual is not None else float(weight @ np.square(left))
    if scaled:
        expected = stretch[assessor] * (target - left - centre) + centre
        residuals = panel.score - expected
    else:
        residuals = left + (panel.score - target)
    return Fitted(
        found.values,
        found.biases * stretch if scaled else found.biases,
        coefficients,
        residuals,
        total,
        plain,
        border,
        stretch,
        (value_prior, bias_prior),
        weight,
        columns,
    )


def _residuals(found: Solution, score: Floats, panel: Panel) -> Floats:
    if found.residuals is not None:
        return found.residuals
    return np.asarray(score - found.values[panel.object_index] - found.biases[panel.assessor_index])


def _noise_variance(work: Work, setting: Setting, found: Fitted, log_scale: Floats) -> float:
    """Return w: given, or R/nu with what all priors add to R."""
    if setting.w is not None:
        return setting.w
    own = 0.0 if setting.scale_ratio is None else float(np.square(log_scale).sum()) / setting.scale_ratio
    total, freedom = found.residual + own, _freedom(work, setting)
    if total <= 0 or freedom <= 0:
        raise SolveError(NOTHING_LEFT)
    return total / freedom


def _scatter(
    work: Work, setting: Setting, found: Fitted, precision: Floats, state: _State, sites: Sites | None
) -> tuple[Floats, Floats]:
    """Return for each assessor the sum of c r^2 / w, and of what was left to fit: sum (1 - h)."""
    panel = work.panel
    if sites is None:
        w = _noise_variance(work, setting, found, state.log_scale)
        squares, left_over = precision * np.square(found.residuals) / w, _left_over(panel, found)
    else:  # of which what is expected of c r^2 / w already has the variance of the fit in it
        squares = sites.tilted.scatter - sites.leverage
        left_over = sum_by(panel.assessor_index, 1.0 - sites.leverage, panel.n_assessors)
    return sum_by(panel.assessor_index, squares, panel.n_assessors), left_over


def _left_over(panel: Panel, found: Fitted) -> Floats:
    """Return for each assessor the number of scores less what was fitted to them: sum (1 - h)."""
    leverage = found.weight * (found.plain if found.border is None else found.border).fitted_variances()
    return sum_by(panel.assessor_index, np.clip(1.0 - leverage, 0.0, 1.0), panel.n_assessors)


def _freedom(work: Work, setting: Setting) -> int:
    """Return N less what is fitted without a prior: nu; N itself for maximum likelihood."""
    if setting.is_ml:
        return work.panel.n_assessments
    panel, flat = work.panel, 0 if work.columns is None else int(work.columns.shape[1])
    if setting.bias_ratio is None:
        flat += panel.n_objects + panel.n_assessors - work.parts.n_components
    else:
        flat += 1 if setting.value_ratio is not None else panel.n_objects
    return panel.n_assessments - flat


def _answering(work: Work, setting: Setting, found: Fitted, log_scale: Floats) -> tuple[Solver, BorderedSolver | None]:
    """Return what answers for values and biases, and the border with covariates and scales."""
    if setting.scale_ratio is None:
        return (found.plain if found.border is None else found.border), found.border
    border = scale_border(work, setting.scale_ratio, found)
    return StretchedSolver(border, found.stretch), border


def _held_log_determinant(found: Fitted) -> float:
    """Return the log-determinant where the mean of values, or values without a prior, and coefficients are held."""
    value_prior, bias_prior = found.prior
    if value_prior is not None:
        return found.plain.log_determinant() + log(found.plain.mean_variance)
    if bias_prior is None:
        return 0.0
    own = sum_by(found.plain.ends[1], found.weight, bias_prior.size)
    return float(np.log(own + bias_prior).sum())


def _node(work: Work, setting: Setting, found: Fitted, sites: Sites | None, state: _State, precision: Floats) -> Node:
    """Return what a fit that has come to rest means."""
    panel, w = work.panel, setting.w
    priors = [part for part in found.prior if part is not None]
    value_prior, bias_prior = found.prior
    freedom = _freedom(work, setting)
    mean = float(found.values.mean())
    own = 0.0 if value_prior is None else float(value_prior @ np.square(found.values - mean))
    own += 0.0 if bias_prior is None else float(bias_prior @ np.square(found.biases / found.stretch))
    level = sum(float(np.log(part).sum()) for part in priors) / 2
    solver, border = _answering(work, setting, found, state.log_scale)
    if setting.scale_ratio is not None and border is not None:
        own += float(np.square(state.log_scale).sum()) / setting.scale_ratio
        level += scale_level(setting.scale_ratio, panel.n_assessors)
    residual = float(precision @ np.square(found.residuals)) + own
    level -= (_held_log_determinant(found) if setting.is_ml else solver.log_determinant()) / 2
    noise: Noise
    if w is None:
        if residual <= 0 or freedom <= 0:
            raise SolveError(NOTHING_LEFT)
        marginal = lgamma(freedom / 2) - freedom / 2 * log(pi * residual) + float(np.log(precision).sum()) / 2 + level
        noise = EstimatedNoise(residual, freedom, work.floor(precision))
    else:
        if sites is None:
            density = float(setting.likelihood.log_density(found.residuals, precision, w).sum())
        else:
            density = sites.log_density(found.residuals, w)
        marginal = density - own / (2 * w) + (panel.n_assessments - freedom) / 2 * log(2 * pi * w) + level
        noise = KnownNoise(w, "declared" if setting.is_declared else "estimated", work.floor(precision))
    if setting.strength is not None:
        marginal += factor_level(state.noise_factor, setting.strength, _left_over(panel, found))
    return Node(
        setting=setting,
        values=found.values,
        biases=found.biases,
        coefficients=found.coefficients,
        log_scale=state.log_scale,
        noise_factor=state.noise_factor,
        weight=precision if sites is None else sites.weight,
        precision=precision,
        residuals=found.residuals,
        residual=residual,
        freedom=freedom,
        solver=solver,
        noise=noise,
        log_marginal=marginal,
        mean=mean,
        border=border,
        aim=np.zeros(panel.n_assessments) if sites is None else sites.aim,
        sites=sites,
        fitted=None if setting.scale_ratio is None else found,
    )
