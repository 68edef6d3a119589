"""Assessors' own scales lambda: some spread their scores, some bunch them (App. F).

The score is s = lambda (v - m) + m + b + noise, m the mean score, and the log scales have a prior centred at 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, log1p
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, row_products, sum_by
from evenhand.models.effects import Table
from evenhand.models.setting import Fitted, Node, Setting, Unknown, Work
from evenhand.models.shrunk import ratio_prior
from evenhand.solve.base import AT_ONCE
from evenhand.solve.bordered import BorderedSolver
from evenhand.solve.direct import Cholesky
from evenhand.solve.priors import PriorSolver

_FIRM: Final = 1e6
"""How much firmer than each log scale their sum is held at zero."""

_WIDEST: Final = 2.0
_LESS: Final = 2.0
"""Log scales of assessors have no larger standard deviation than this; and the noise without them may be so much less
than with, in logarithms."""

_GUESSES: Final = 3
_LESSER: Final = 0.1
"""How often a guess of their spread is improved, and to which part of it at least."""

_FAR: Final = 0.5
"""No log scale moves further than this in a step of Newton's."""


def next_scales(
    work: Work,
    ratio: float,
    found: Fitted,
    log_scale: Floats,
    target: Floats,
    weight: Floats,
    w: float,
    held: Held | None = None,
) -> Floats:
    """Return the scales that suit the scores best when values and biases are known only as far as they are.

    One step of the EM algorithm: lambda_a fits E[v - m] and E[(v - m)^2], the second of which has the variance of v, so
    that unsure values do not inflate the scales; drawn to 1 by the prior, and with a product of 1. Where it is known
    how the log scales are tied it is Newton's step, which ends in the same place sooner.
    """
    squares, product = _moments(work, found, target, weight, w)
    if held is not None:
        stretch = np.exp(log_scale)
        step = held.solve(stretch * (stretch * squares - product) + log_scale / ratio)
        return np.asarray(log_scale - short(step))
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


def follows(work: Work, setting: Setting) -> bool:
    """Return whether it can be told how scales follow the numbers of a setting."""
    return setting.likelihood.is_normal and work.columns is None and setting.strength is None and not setting.is_ml


@dataclass(frozen=True, eq=False)
class Ties:
    """How log scales are tied at a fit, and how they follow the numbers of its setting, by exact derivatives.

    A log scale has the slope E[q]/w, where q is the sum of c u e over the assessor's scores, u = lambda (v - m), e the
    residual, and values and biases are normal with covariance w G about the fit. By Louis' identity (1982), w times
    minus the second derivatives is diag(sum c E[u^2 - u e]) + 1/ratio - cov(q, q')/w. The covariance of q has a part
    from u and e as they are expected, and one from the products of their own covariances.
    """

    work: Work
    setting: Setting
    found: Fitted
    log_scale: Floats
    precision: Floats
    w: float
    freedom: int

    @classmethod
    def at_fit(cls, work: Work, node: Node) -> Ties:
        """Return how log scales are tied at a fit that has come to rest."""
        assert node.fitted is not None  # noqa: S101  # it has scales
        return cls(work, node.setting, node.fitted, node.log_scale, node.precision, node.w, node.freedom)

    @cached_property
    def _plain(self) -> PriorSolver:
        assert isinstance(self.found.plain, PriorSolver)  # noqa: S101  # values and biases have priors
        return self.found.plain

    @cached_property
    def _stretch(self) -> Floats:
        return self.found.stretch

    @cached_property
    def _of_values(self) -> float:
        """Precision of the prior of values about their mean; 0 for none."""
        ratio = self.setting.value_ratio
        return 0.0 if ratio is None else 1.0 / ratio

    @cached_property
    def _of_biases(self) -> Floats:
        """Precisions of the prior of b/lambda; zeros for none."""
        ratio = self.setting.bias_ratio
        return np.square(self._stretch) / ratio if ratio else np.zeros(self._stretch.size)

    @cached_property
    def _u(self) -> Floats:
        panel = self.work.panel
        away = self.found.values[panel.object_index] - self.work.centre
        return np.asarray(self._stretch[panel.assessor_index] * away)

    def _matrix(self, entries: Floats) -> sp.csr_array[Any]:
        """Return numbers of the scores as a matrix, objects by assessors."""
        panel = self.work.panel
        shape = (panel.n_objects, panel.n_assessors)
        return sp.csr_array((entries, (panel.object_index, panel.assessor_index)), shape=shape)

    @cached_property
    def _weights(self) -> sp.csr_array[Any]:
        """Weights of the scores, assessors by objects."""
        return sp.csr_array(self._matrix(self.found.weight).T)

    @cached_property
    def _with_values(self) -> Floats:
        """G between values, and biases over scales with minus the mean of values as one more."""
        return -np.asarray(self._plain.shares @ self._plain.between_assessors)

    @cached_property
    def _between_values(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Sums over G between values, a portion of them at a time.

        For each assessor and object that of c G; for each two assessors that of c c' G^2; for each object G itself; and
        for each object and each score by how much its value's variance, and covariance with the bias, grow with the
        logarithm of the prior's variance.
        """
        panel, weights, shares, totals = self.work.panel, self._weights, self._plain.shares, self._plain.totals
        n_assessors, n_objects = weights.shape
        sums, squares = np.empty(weights.shape), np.zeros((n_assessors, n_assessors))
        own, grown, edges = np.empty(n_objects), np.empty(n_objects), np.empty(panel.n_assessments)
        with_mean, crossed = self._with_values[:, -1], np.ascontiguousarray(self._with_values.T)
        of_biases = crossed[:-1] + self._plain.between_assessors[:-1, -1:]
        order = np.argsort(panel.object_index, kind="stable")
        object_, assessor = panel.object_index[order], panel.assessor_index[order]
        size = max(1, AT_ONCE // n_objects)
        for start in range(0, n_objects, size):
            rows = slice(start, min(start + size, n_objects))
            every = np.arange(rows.start, rows.stop)
            g = -np.asarray(shares @ np.ascontiguousarray(crossed[:, rows]))
            g[every, every - start] += 1.0 / totals[rows]
            own[rows] = g[every, every - start]
            sums[:, rows] = weights @ g
            squares += weights[:, rows] @ np.ascontiguousarray((weights @ np.square(g)).T)
            g = np.ascontiguousarray(g.T) if size < n_objects else g  # which is symmetric
            g += with_mean[rows, None]
            grown[rows] = np.einsum("ij,ij->i", g, g)
            low, high = np.searchsorted(object_, [rows.start, rows.stop])
            edges[order[low:high]] = row_products(g, object_[low:high] - start, of_biases, assessor[low:high])
        return sums, squares, own, self._of_values * grown, self._of_values * edges

    @cached_property
    def _along(self) -> Floats:
        """For each score, w = 1, minus the covariance of u and e, over the square of the scale."""
        panel = self.work.panel
        cross = self._with_values[panel.object_index, panel.assessor_index]
        return np.asarray(self._between_values[2][panel.object_index] + cross)

    @cached_property
    def _expected(self) -> Floats:
        """For each assessor the slope of half the sum of squares."""
        panel = self.work.panel
        pulls = sum_by(panel.assessor_index, self.precision * self._u * self.found.residuals, panel.n_assessors)
        return np.asarray(self.log_scale / (self.setting.scale_ratio or 1.0) - pulls)

    @cached_property
    def bent(self) -> Floats:
        """W times minus the second derivatives of the log density, values and biases integrated out."""
        panel, count = self.work.panel, self._stretch.size
        assessor, own = panel.assessor_index, self._stretch[panel.assessor_index]
        weights, between = self._weights, self._plain.between_assessors
        sums, squares, of_values, _, _ = self._between_values
        # products of covariances
        with_values = np.ascontiguousarray(self._with_values[:, :-1])
        crossed = weights @ (with_values * sums.T)
        along = weights @ with_values
        products = squares + crossed + crossed.T
        products *= 2
        products += between[:-1, :-1] * (weights @ np.ascontiguousarray(sums.T))
        products += along * along.T
        # u and e as expected
        c, u, e = self.precision, self._u, self.found.residuals
        forces = self._matrix(c * own * (e - u))
        of_kept = sp.diags_array(-sum_by(assessor, c * own * u, count))
        rest = sp.hstack([of_kept, sp.csr_array((count, 1))], format="csr") - forces.T @ self._plain.shares
        rest = sp.csr_array(rest)
        linear = rest @ np.ascontiguousarray((rest @ between).T)
        linear += (forces.T @ sp.diags_array(1.0 / self._plain.totals) @ forces).toarray()
        spread = of_values[panel.object_index] + self._along
        diagonal = sum_by(assessor, c * (u * (u - e) + self.w * np.square(own) * spread), count)
        bent = -(linear + self.w * products)
        if self.setting.w is None:
            bent -= 2 / (self.w * self.freedom) * np.outer(self._expected, self._expected)
        bent[np.diag_indices(count)] += diagonal + 1.0 / (self.setting.scale_ratio or 1.0)
        return np.asarray((bent + bent.T) / 2)

    def at(self, ratio: float) -> Held | None:
        """Return the same, were the spread of the scales this one, factorised; None where it is no peak."""
        more, count = 1.0 / ratio - 1.0 / (self.setting.scale_ratio or 1.0), self._stretch.size
        matrix = np.array(self.bent, order="F")
        matrix[np.diag_indices(count)] += more
        matrix += float(np.diagonal(matrix).mean())  # the sum is held
        factor = Cholesky.of(matrix, 0.0)
        return None if factor is None else Held(factor)

    @cached_property
    def follow(self) -> dict[str, Floats]:
        """How log scales follow the logarithms of numbers of the setting; empty where they are at no peak."""
        panel, setting = self.work.panel, self.setting
        held = None if setting.scale_ratio is None else self.at(setting.scale_ratio)
        if held is None or setting.scale_ratio is None:
            return {}
        assessor, object_ = panel.assessor_index, panel.object_index
        own = self._stretch[assessor]
        squared, per_noise = self.precision * np.square(own), self._per_noise
        biases, of_biases = self.found.biases / self._stretch, self._of_biases
        found = {"scale_ratio": -self.log_scale / setting.scale_ratio}
        squares = {"scale_ratio": float(np.square(self.log_scale).sum()) / setting.scale_ratio}

        def moved(name: str, forces: tuple[Floats, Floats], grown: Floats) -> None:
            values, others = self._plain.apply(*forces)
            up, less = own * values[object_], own * (values[object_] + others[assessor])
            slope = self.precision * (self._u * less - up * self.found.residuals) + self.w * squared * grown
            found[name] = sum_by(assessor, slope, panel.n_assessors)

        if setting.value_ratio is not None:
            away = self.found.values - self.found.values.mean()
            _, _, _, of_values, edges = self._between_values
            moved("value_ratio", (self._of_values * away, np.zeros(biases.size)), of_values[object_] + edges)
            squares["value_ratio"] = self._of_values * float(np.square(away).sum())
        if setting.bias_ratio:
            crossed = self._with_values[:, :-1]
            turned = of_biases * self._plain.between_assessors[:-1, :-1]
            grown = (np.square(crossed) @ of_biases)[object_] + row_products(crossed, object_, turned, assessor)
            moved("bias_ratio", (np.zeros(panel.n_objects), of_biases * biases), grown)
            squares["bias_ratio"] = float(of_biases @ np.square(biases))
        if setting.w is None:  # which follows too
            for name, square in squares.items():
                found[name] = found[name] - square / self.freedom * per_noise
        else:
            found["w"] = self.w * per_noise
        return {name: -held.solve(slope) for name, slope in found.items()}

    @cached_property
    def _per_noise(self) -> Floats:
        """By how much slopes rise with w, for each assessor."""
        panel = self.work.panel
        own = np.square(self._stretch)[panel.assessor_index]
        return sum_by(panel.assessor_index, self.precision * own * self._along, panel.n_assessors)

    def expected(self, setting: Setting) -> Floats:
        """Return where the log scales of another setting are expected."""
        step = np.zeros(self._stretch.size)
        for name, way in self.follow.items():
            step += log(getattr(setting, name) / getattr(self.setting, name)) * way
        return np.asarray(self.log_scale + short(step))


@dataclass(frozen=True, eq=False)
class Held:
    """Solves for log scales whose sum is held."""

    factor: Cholesky

    @cached_property
    def _even(self) -> Floats:
        even = self.factor.solve(np.ones(self.factor.lower.shape[0]))
        return np.asarray(even / even.sum())

    def solve(self, right: Floats) -> Floats:
        """Return the step along which slopes change by this, but for a constant."""
        step = self.factor.solve(right)
        return np.asarray(step - self._even * step.sum())


def turned_slopes(work: Work, node: Node, ties: Ties) -> dict[str, float]:
    """Return how the log marginal likelihood rises with numbers of the setting because scales and values follow them.

    The log scales are where the density that they have with values and biases integrated out is highest, so that it
    does not change with them to first order; but the determinant of what ties them does.
    """
    border, setting = node.border, node.setting
    if border is None or setting.scale_ratio is None:
        return {}
    panel, count = work.panel, node.log_scale.size
    object_, assessor = panel.object_index, panel.assessor_index
    stretch, weight = np.exp(node.log_scale), border.weight
    own = stretch[assessor]
    of_prior = np.square(stretch) / setting.bias_ratio if setting.bias_ratio else np.zeros(count)
    bias, away = node.biases / stretch, node.values[object_] - work.centre
    # how the determinant falls with the weight of each score, and with the value of each object
    (one, other), (one_turned, other_turned) = border.images, border.turned
    sure = np.diagonal(border.covariance)[assessor]
    along = one_turned[object_, assessor] + np.diagonal(other_turned)[assessor]
    of_objects, of_assessors = np.einsum("ij,ij->i", one_turned, one), np.einsum("ij,ij->i", other_turned, other)
    cross = row_products(one_turned, object_, other, assessor)
    more = away * (away * sure - 2 * along) + of_objects[object_] + 2 * cross + of_assessors[assessor]
    force = -sum_by(object_, weight * (away * sure - along), panel.n_objects)
    with_values, with_biases = border.base.apply(force, np.zeros(count))
    pulled = weight * (with_values[object_] + with_biases[assessor])
    left, given = node.residuals / own, (panel.score - work.centre) / own
    rises = sum_by(assessor, pulled * (2 * left - given) - weight * more, count)
    rises = rises - of_prior * (of_assessors + 2 * bias * with_biases)
    found = {name: float(rises @ way) for name, way in ties.follow.items()}
    found["bias_ratio"] = found.get("bias_ratio", 0.0) + float(of_prior @ (bias * with_biases))
    if setting.value_ratio is not None:
        mean = float((node.values - node.mean) @ with_values) / setting.value_ratio
        found["value_ratio"] = found.get("value_ratio", 0.0) + mean
    return found


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


@dataclass(frozen=True, eq=False)
class Guess:
    """What the scores tell of log scales where all are zero.

    To second order that is what normal observations with precisions A/w would, A what ties them but for their prior.
    """

    ties: Floats  # A, the sum of the log scales held
    slope: Floats  # of minus w times their density
    w: float

    @classmethod
    def at_one(cls, work: Work, found: Fitted, precision: Floats, w: float) -> Guess:
        """Return what is told where all scales are 1."""
        squares, product = _moments(work, found, work.panel.score, precision, w)
        border = scale_border(work, 1.0, found)
        return cls(border.inner - np.eye(squares.size), squares - product, w)

    @property
    def is_told(self) -> bool:
        """Whether the marginal likelihood rises with the spread of the scales where that is zero."""
        squares = np.square(self.slope - self.slope.mean()).sum()
        return float(squares) > self.w * float(np.trace(self.ties) - _FIRM)

    def at(self, ratio: float) -> Held | None:
        """Return what ties log scales of some spread, factorised; None where that cannot be had."""
        matrix = np.array(self.ties, order="F")
        matrix[np.diag_indices(self.slope.size)] += 1.0 / ratio
        factor = Cholesky.of(matrix, 0.0)
        return None if factor is None else Held(factor)

    def ratio(self, ratio: float) -> float:
        """Return the spread that they tell, from another.

        The best log scales x for a spread r0 have the squares that are expected of a spread r, which is repeated with r
        for r0: |x|^2 = w (tr K A K + r |A K|^2), with K = (A + 1/r0)^-1.
        """
        count = self.slope.size
        for _ in range(_GUESSES):
            held = self.at(ratio)
            if held is None:
                return ratio
            lower, logs = np.tril(held.factor.inverse), held.solve(self.slope)
            size = float(np.trace(lower))
            square = 2 * float(np.square(lower).sum()) - float(np.square(np.diagonal(lower)).sum())
            more = float(logs @ logs) - self.w * (size - square / ratio)
            ratio = max(more / (self.w * (count - 1 - 2 * size / ratio + square / ratio**2)), _LESSER * ratio)
        return ratio

    def expected(self, setting: Setting) -> Floats:
        """Return where the log scales of a setting are expected."""
        held = self.at(setting.scale_ratio or 1.0)
        return np.zeros(self.slope.size) if held is None else short(-held.solve(self.slope))


def short(step: Floats) -> Floats:
    """Return a step of the log scales, cut where it is too long to be believed."""
    return np.asarray(step * min(1.0, _FAR / max(float(np.abs(step).max()), 1e-300)))


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
