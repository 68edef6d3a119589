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
from functools import cached_property
from math import lgamma, log, pi
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.likelihoods import Likelihood, Normal, Tilted
from evenhand.models.noise import EstimatedNoise, KnownNoise, Noise
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel
from evenhand.solve.base import Solution, Solver
from evenhand.solve.bordered import BorderedSolver, StretchedSolver
from evenhand.solve.choose import SolverKind, choose_solver
from evenhand.solve.equations import make_system
from evenhand.solve.priors import PriorSolver

STEPS: Final = 2000
"""Fits after which an iteration that still moves is given up."""

DEPTH: Final = 8
"""Steps that the mixing looks back on."""

_FIRM: Final = 1e6
"""How much firmer than each log scale their sum is held at zero."""

NOTHING_LEFT: Final = "The scores leave nothing over to estimate variances from: more assessments are needed."

STEADY: Final = 1e-8
"""An iteration has come to rest when no fitted score moves by more than this part of the spread of the scores."""

_STILL: Final = 1e-6
"""And when no weight, scale or noise factor moves by more than this."""

_ROUGH: Final = 10.0
"""By how much sites may move further than that: the marginal likelihood depends on the square of it."""

_PATIENCE: Final = 80
_CALMED: Final = 0.3
"""Steps after which sites that still move are moved by a part of the way only, and that part."""

_MOST: Final = 10.0
"""No score weighs more than this many times its precision."""

_BRIDGE: Final = 1e-9
"""What other scores are taken to expect of one that nothing else can check: next to nothing."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Variances and other numbers that are held while values and biases are fitted.

    Attributes
    ----------
    value_ratio, bias_ratio
        Prior variance of values about their mean, and of biases about zero, over w; None for no prior.
    power
        Exponent of the declared confidences: 1 as declared, 0 not used.
    scale_ratio
        Prior variance of the log scales of assessors over w, per squared point; None where all scales are 1.
    strength
        Degrees of freedom of the prior of the assessors' noise factors; None where all are 1.
    w
        The noise variance; None where it is integrated out.
    likelihood
        How scores scatter.
    is_declared
        Whether w = 1 because declared uncertainties are taken at face value.
    """

    value_ratio: float | None = None
    bias_ratio: float | None = None
    power: float = 1.0
    scale_ratio: float | None = None
    strength: float | None = None
    w: float | None = None
    likelihood: Likelihood = field(default_factory=Normal)
    is_declared: bool = False


@dataclass(frozen=True, eq=False)
class Work:
    """What stays the same in all fits of a panel.

    Attributes
    ----------
    panel
        The panel, with scores on the scale of the model.
    parts
        Its groups.
    columns
        Covariates, a row for each assessment; None for none.
    solver
        How the equations are solved.
    declared
        Precisions as they were declared, where those of the panel have been scaled by the slope of a map.
    """

    panel: Panel
    parts: Components
    columns: sp.csr_array[Any] | None = None
    solver: SolverKind = "auto"
    declared: Floats | None = None

    @cached_property
    def centre(self) -> float:
        """The point about which scales of assessors stretch: the mean score."""
        return float(np.average(self.panel.score, weights=self.panel.precision))

    @cached_property
    def spread(self) -> float:
        """The spread of the scores."""
        return float(np.std(self.panel.score)) or 1.0

    @cached_property
    def log_precision(self) -> Floats:
        """Logarithms of the declared precisions about their mean, so that the power does not change their level."""
        logs = np.log(self.panel.precision if self.declared is None else self.declared)
        return np.asarray(logs - logs.mean())

    def precision(self, power: float) -> Floats:
        """Return the precisions with their differences raised to a power."""
        if power == 1.0:
            return self.panel.precision
        if power == 0.0:
            return np.ones(self.panel.n_assessments) if self.declared is None else self.panel.precision / self.declared
        return np.asarray(self.panel.precision * np.exp((power - 1.0) * self.log_precision))


@dataclass(frozen=True, eq=False)
class Node:
    """A fit for one setting.

    Attributes
    ----------
    setting
        The setting.
    values, biases
        Estimates on the scale of the model; without priors, in the solver's own gauge.
    coefficients
        Of the covariates.
    log_scale
        Logarithms of the assessors' scales; zeros where all are 1.
    noise_factor
        The assessors' factors kappa of the noise variance; ones where all are 1.
    weight
        What each score determines of the fit: precisions after all reweighting.
    precision
        Precisions without the reweighting of outlying or rounded scores.
    residuals
        s - fitted.
    aim
        What each score stands for beside itself: its site's target less the score; zeros where noise is normal.
    log_predictive
        Log density of each score given all others, where noise is not normal.
    residual
        The sum of squares behind w, with what priors add.
    freedom
        N less what is fitted without a prior.
    solver
        Answers for values and biases.
    noise
        What is known about w.
    log_marginal
        Log of the marginal likelihood of the setting, up to a constant that is the same for all settings of a panel
        with the same priors.
    mean
        Mean of the prior of values.
    border
        The solver with covariates and scales, where there are any.
    """

    setting: Setting
    values: Floats
    biases: Floats
    coefficients: Floats
    log_scale: Floats
    noise_factor: Floats
    weight: Floats
    precision: Floats
    residuals: Floats
    residual: float
    freedom: int
    solver: Solver
    noise: Noise
    log_marginal: float
    mean: float
    border: BorderedSolver | None
    aim: Floats
    log_predictive: Floats | None = None

    @property
    def mean_variance(self) -> float:
        """Variance, for w = 1, of the mean of the prior of values."""
        return self.solver.mean_variance

    @property
    def w(self) -> float:
        """The noise variance: given, or its REML estimate R/nu."""
        return self.residual / max(self.freedom, 1) if self.setting.w is None else self.setting.w


@dataclass(eq=False)
class _State:
    """What changes from fit to fit.

    Attributes
    ----------
    log_scale, noise_factor
        Of the assessors.
    share
        Weight of each score's site over the precision of the score.
    lift
        Weight times aim of each site, over the precision.
    residuals
        Of the last fit.
    """

    log_scale: Floats
    noise_factor: Floats
    share: Floats
    lift: Floats
    residuals: Floats

    def packed(self, unit: float) -> Floats:
        """Return all that a further fit depends on as one vector of numbers of a like size."""
        parts = (self.share, self.lift / unit, self.log_scale, np.log(self.noise_factor))
        return np.concatenate(parts)

    def unpacked(self, vector: Floats, unit: float, least: float) -> _State:
        """Return the state that a vector stands for."""
        sizes = np.cumsum([self.share.size, self.lift.size, self.log_scale.size])
        share, lift, log_scale, factor = np.split(vector, sizes)
        share = np.clip(share, least, _MOST)
        return _State(log_scale, np.exp(np.clip(factor, -20.0, 20.0)), share, lift * unit, self.residuals)

    def distance(self, other: _State, unit: float) -> float:
        """Return how far another state is, in the worst of what matters to a fit."""
        lift = np.abs(self.lift - other.lift) / unit
        turned = (np.log(self.noise_factor / other.noise_factor), self.log_scale - other.log_scale)
        moved = np.abs(self.share - other.share), lift, *(np.abs(one) for one in turned)
        return float(max(one.max(initial=0.0) for one in moved))


def settle(work: Work, setting: Setting, start: Node | None = None) -> Node:
    """Return the fit for a setting, from another that is close where there is one.

    Raises
    ------
    SolveError
        If the iteration does not come to rest.
    """
    panel = work.panel
    declared = work.precision(setting.power)
    none, each = np.zeros(panel.n_assessors), np.zeros(panel.n_assessments)
    if start is not None:
        log_scale = none if setting.scale_ratio is None else start.log_scale
        factor = np.exp(none) if setting.strength is None else start.noise_factor
        share = np.clip(start.weight / start.precision, setting.likelihood.least, _MOST)
        state = _State(log_scale, factor, share, share * start.aim, start.residuals)
    else:  # from the plain fit
        state = _State(none, np.exp(none), np.exp(each), each, np.full(panel.n_assessments, np.inf))
    slack = 1.0 if setting.likelihood.is_normal else _ROUGH
    once = setting.likelihood.is_normal and setting.strength is None and setting.scale_ratio is None
    mixing = Mixing()
    for count in range(STEPS):
        precision = declared / state.noise_factor[panel.assessor_index]
        found, sites, after = _step(work, setting, state, precision)
        moved = float(np.abs(after.residuals - state.residuals).max())
        if once or (moved <= slack * STEADY * work.spread and after.distance(state, work.spread) <= slack * _STILL):
            return _node(work, setting, found, sites, state, precision)
        before, ahead = state.packed(work.spread), after.packed(work.spread)
        restless = count >= _PATIENCE and not setting.likelihood.is_normal
        mixed = before + _CALMED * (ahead - before) if restless else mixing.next(before, ahead)
        state = after.unpacked(mixed, work.spread, setting.likelihood.least)
    raise SolveError(
        f"The fit did not come to rest in {STEPS} steps (fitted scores still move by {moved:.2g}): there is no "
        "result. Leave out a refinement, or ask for fewer at a time."
    )


@dataclass(frozen=True, eq=False)
class _Sites:
    """The normal scores that stand for scores whose noise is not normal, at a fit.

    Attributes
    ----------
    weight, aim
        Of the sites that were fitted.
    leverage
        How far each fitted score follows its own site.
    tilted
        What each score says beside all others.
    """

    weight: Floats
    aim: Floats
    leverage: Floats
    tilted: Tilted

    def log_density(self, residuals: Floats, w: float) -> float:
        """Return what the scores add to the log marginal likelihood beside the normalisation of the sites' fit."""
        left = residuals + self.aim
        turned = self.weight * np.square(left) / w * self.leverage / (1 - self.leverage)
        return float((self.tilted.log_mass + (turned - np.log1p(-self.leverage)) / 2).sum())


def _step(work: Work, setting: Setting, state: _State, precision: Floats) -> tuple[_Fitted, _Sites | None, _State]:
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
        spread = w / weight * leverage / slack
        tilted = likelihood.tilted(without, spread, precision, w)
        sites = _Sites(weight, aim, leverage, tilted)
        share, lift = _next_sites(tilted, without, spread, precision, w, likelihood.least)
    factor = _noise_factors(work, setting, found, precision, state, sites)
    log_scale = _scales(work, setting, found, state.log_scale, target, weight)
    return found, sites, _State(log_scale, factor, share, lift, found.residuals)


def _next_sites(
    tilted: Tilted, without: Floats, spread: Floats, precision: Floats, w: float, least: float
) -> tuple[Floats, Floats]:
    """Return share and lift of the sites that have the effect of the scores: the same mean and variance after them."""
    weight = w * tilted.bend / np.maximum(1.0 - spread * tilted.bend, 1e-12)
    share = np.clip(weight / precision, least, _MOST)
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
            raise SolveError("The fit ran away: there is no result. Leave out a refinement.")
        if self.was_mixed and np.linalg.norm(step) > np.linalg.norm(self.steps[-1]):
            plain = self.points[-1]
            self.points.clear()
            self.steps.clear()
            self.patience, self.was_mixed = min(2 * self.patience, 64), False
            return plain
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


@dataclass(frozen=True, eq=False)
class _Fitted:
    values: Floats
    biases: Floats
    coefficients: Floats
    residuals: Floats
    residual: float
    plain: Solver
    border: BorderedSolver | None
    stretch: Floats
    prior: tuple[Floats | None, Floats | None]
    weight: Floats
    columns: sp.csr_array[Any] | None


def _fit(work: Work, setting: Setting, state: _State, weight: Floats, target: Floats) -> _Fitted:
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
    seen = replace(panel, score=target, precision=weight)
    value_prior, bias_prior = _prior(panel, setting, stretch)
    plain: Solver
    if bias_prior is None:
        plain = choose_solver(make_system(seen, work.parts), work.solver)
    else:
        plain = PriorSolver(seen, value_prior, bias_prior, work.solver)
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
    return _Fitted(
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


def _scales(work: Work, setting: Setting, found: _Fitted, log_scale: Floats, target: Floats, weight: Floats) -> Floats:
    """Return the scales that suit the scores best when values and biases are known only as far as they are.

    One step of the EM algorithm: lambda_a fits E[v - m] and E[(v - m)^2], the second of which has the variance of v, so
    that unsure values do not inflate the scales; drawn to 1 by the prior, and with a product of 1.
    """
    if setting.scale_ratio is None:
        return log_scale
    panel, ratio = work.panel, setting.scale_ratio
    w = _noise_variance(work, setting, found, log_scale)
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
    product = sum_by(panel.assessor_index, weight * (away * left - w * joint), panel.n_assessors)
    logs = log_scale
    for _ in range(8):
        stretch = np.exp(logs)
        slope = stretch * (stretch * squares - product) + logs / ratio
        bend = np.maximum(stretch * (2 * stretch * squares - product), 0.1 * stretch**2 * squares) + 1.0 / ratio
        level = float((slope / bend).sum() / (1.0 / bend).sum())  # holds the sum of the logs
        step = (slope - level) / bend
        logs = logs - step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
    return np.asarray(logs)


def _residuals(found: Solution, score: Floats, panel: Panel) -> Floats:
    if found.residuals is not None:
        return found.residuals
    return np.asarray(score - found.values[panel.object_index] - found.biases[panel.assessor_index])


def _prior(panel: Panel, setting: Setting, stretch: Floats) -> tuple[Floats | None, Floats | None]:
    """Return precisions of the priors of values and biases, beside a score of confidence 1."""
    if setting.bias_ratio is None:
        return None, None
    of_values = None if setting.value_ratio is None else np.full(panel.n_objects, 1.0 / setting.value_ratio)
    return of_values, np.square(stretch) / setting.bias_ratio


def _noise_variance(work: Work, setting: Setting, found: _Fitted, log_scale: Floats) -> float:
    """Return w: given, or R/nu with what all priors add to R."""
    if setting.w is not None:
        return setting.w
    own = 0.0 if setting.scale_ratio is None else float(np.square(log_scale).sum()) / setting.scale_ratio
    total, freedom = found.residual + own, _freedom(work, setting)
    if total <= 0 or freedom <= 0:
        raise SolveError(NOTHING_LEFT)
    return total / freedom


def _noise_factors(
    work: Work, setting: Setting, found: _Fitted, precision: Floats, state: _State, sites: _Sites | None
) -> Floats:
    """Return kappa_a = (nu_0 + sum c r^2 / w) / (nu_0 + sum (1 - h)): REML, drawn to 1 by the prior."""
    panel, factor = work.panel, state.noise_factor
    if setting.strength is None:
        return factor
    if sites is None:
        w = _noise_variance(work, setting, found, state.log_scale)
        squares, left_over = precision * np.square(found.residuals) / w, _left_over(panel, found)
    else:  # of which what is expected of c r^2 / w already has the variance of the fit in it
        squares = sites.tilted.scatter - sites.leverage
        left_over = sum_by(panel.assessor_index, 1.0 - sites.leverage, panel.n_assessors)
    own = sum_by(panel.assessor_index, squares, panel.n_assessors) * factor  # precisions carry the factors already
    return np.asarray(np.maximum(setting.strength + own, 1e-6) / (setting.strength + left_over))


def _left_over(panel: Panel, found: _Fitted) -> Floats:
    """Return for each assessor the number of scores less what was fitted to them: sum (1 - h)."""
    leverage = found.weight * (found.plain if found.border is None else found.border).fitted_variances()
    return sum_by(panel.assessor_index, np.clip(1.0 - leverage, 0.0, 1.0), panel.n_assessors)


def _freedom(work: Work, setting: Setting) -> int:
    """Return N less what is fitted without a prior: nu."""
    panel, flat = work.panel, 0 if work.columns is None else int(work.columns.shape[1])
    if setting.bias_ratio is None:
        flat += panel.n_objects + panel.n_assessors - work.parts.n_components
    else:
        flat += 1 if setting.value_ratio is not None else panel.n_objects
    return panel.n_assessments - flat


def _answering(work: Work, setting: Setting, found: _Fitted, log_scale: Floats) -> tuple[Solver, BorderedSolver | None]:
    """Return what answers for values and biases, and the border with covariates and scales."""
    if setting.scale_ratio is None:
        return (found.plain if found.border is None else found.border), found.border
    border = _scale_border(work, setting, found, log_scale)
    return StretchedSolver(border, found.stretch), border


def _node(work: Work, setting: Setting, found: _Fitted, sites: _Sites | None, state: _State, precision: Floats) -> Node:
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
        level += float(np.linalg.slogdet(border.prior[-panel.n_assessors :, -panel.n_assessors :])[1]) / 2
    residual = float(precision @ np.square(found.residuals)) + own
    level -= solver.log_determinant() / 2
    noise: Noise
    if w is None:
        if residual <= 0 or freedom <= 0:
            raise SolveError(NOTHING_LEFT)
        marginal = lgamma(freedom / 2) - freedom / 2 * log(pi * residual) + float(np.log(precision).sum()) / 2 + level
        noise = EstimatedNoise(residual, freedom)
    else:
        if sites is None:
            density = float(setting.likelihood.log_density(found.residuals, precision, w).sum())
        else:
            density = sites.log_density(found.residuals, w)
        marginal = density - own / (2 * w) + (panel.n_assessments - freedom) / 2 * log(2 * pi * w) + level
        noise = KnownNoise(w, "declared" if setting.is_declared else "estimated")
    if setting.strength is not None:
        marginal += _factor_level(state.noise_factor, setting.strength, _left_over(panel, found))
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
        log_predictive=None if sites is None else sites.tilted.log_mass,
    )


def _scale_border(work: Work, setting: Setting, found: _Fitted, log_scale: Floats) -> BorderedSolver:
    """Return the solver bordered by the scales as well, linearised about where they stand, with a product of 1."""
    panel = work.panel
    assert setting.scale_ratio is not None  # noqa: S101  # asked for only where scales are fitted
    away = found.values[panel.object_index] - work.centre
    shape = (panel.n_assessments, panel.n_assessors)
    scales = sp.csr_array((away, (np.arange(away.size), panel.assessor_index)), shape=shape)
    columns = scales if found.columns is None else sp.csr_array(sp.hstack([found.columns, scales], format="csr"))
    count = columns.shape[1] - panel.n_assessors
    prior = np.zeros((columns.shape[1], columns.shape[1]))
    own = np.eye(panel.n_assessors) / setting.scale_ratio
    prior[count:, count:] = own + _FIRM / setting.scale_ratio / panel.n_assessors
    return BorderedSolver(found.plain, panel.object_index, panel.assessor_index, found.weight, columns, prior)


def _factor_level(factor: Floats, strength: float, left_over: Floats) -> float:
    """Return the log prior density of log kappa at the fit, with Laplace's factor for integrating it out."""
    half = strength / 2
    density = half * log(half) - lgamma(half) - half * (np.log(factor) + 1.0 / factor)
    bend = (strength + left_over) / 2
    return float((density + 0.5 * np.log(2 * pi / bend)).sum())
