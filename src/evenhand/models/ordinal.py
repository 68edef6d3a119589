"""Scores that are categories: cumulative probit or logit with common thresholds, values and biases shrunk.

A category is what a latent score u + noise falls into, for u = v + b and thresholds that are the same for all. Values
and biases are integrated out by Laplace's method; thresholds and the two variances are where that likelihood is
highest, as in R's ordinal::clmm. Its slope needs no differences: how the mode moves takes one solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import log, pi
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError, SolveError
from evenhand.models.effects import Table
from evenhand.models.noise import LEAST, MOST, KnownNoise, Normal, OneShape, Tilted
from evenhand.models.setting import Node, Setting, Work
from evenhand.models.shrunk import ratio_prior, starts
from evenhand.panel.panel import Panel
from evenhand.progress import report
from evenhand.solve.base import LowRank
from evenhand.solve.bordered import WidenedSolver
from evenhand.solve.priors import CentredSolver, PriorSolver
from evenhand.words import argument

Link = Literal["probit", "logit"]

_STILL: Final = 1e-7
"""The mode is found when no linear predictor moves by more than this; the step after would be its square."""

_STEPS, _CLIMBS = 60, 200
"""Newton's steps to a mode, and steps of the search, after which it is given up."""

_FLAT: Final = 1e-9
"""Where a step would raise the log-likelihood by less than this, the peak is reached."""

_LOWEST, _HIGHEST = -7.0, 7.0
"""Logarithms of the smallest and largest standard deviation that is tried."""

_WIDE: Final = 2.5
"""A spread whose logarithm is above this, beside noise of one, must be told by the scores, or it may have no end."""

_DIFFERENCE: Final = 1e-3
"""Step of the differences of slopes that give the curvature at the peak."""

_MOST_CATEGORIES: Final = 100

_GRID: Final = (-2.2, -1.1, 0.0, 1.1, 2.2)
"""Where other variances are looked at, in standard deviations of their logarithms."""

_CLOSEST: Final = 1e-3
"""Least gap between thresholds there."""

_BEYOND: Final = 6.0
"""Further than this beyond the outermost threshold the expected score is the end of the scale, but for rounding."""

_UNTOLD: Final = 1e-6
"""Thresholds of which there is less information than this part of the most, as where all agree, stay as they are."""

_MOST_GONE: Final = 0.9
"""Largest part of what is known of a threshold that one score is taken to have told."""

_BRIDGE: Final = 1e-9
"""What other scores are taken to expect of one that nothing else can check: next to nothing."""

_PASSES: Final = 2
"""Steps from the mode of values and biases to their means."""

_FEW_PLACES, _FEW_SHARES = np.polynomial.hermite_e.hermegauss(9)
_PLACES, _SHARES = np.polynomial.hermite_e.hermegauss(40)


class _Shape(Protocol):
    """A density of unit scale: how probable an interval is, and how the density changes."""

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability between two ends."""

    def shape(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log density f, f'/f and the derivative of that."""

    def quantile(self, share: Floats) -> Floats:
        """Return where so much of the density lies below."""

    @property
    def variance(self) -> float:
        """Its variance."""


class _Probit(Normal):
    """The standard normal density."""

    variance = 1.0

    def shape(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log density f, f'/f and the derivative of that."""
        return -(np.square(z) + log(2 * pi)) / 2, -z, -np.ones_like(z)

    def quantile(self, share: Floats) -> Floats:
        """Return where so much of the density lies below."""
        from scipy.special import ndtri

        return np.asarray(ndtri(share))


class _Logit:
    """The logistic density."""

    variance = pi**2 / 3

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability between two ends."""
        from scipy.special import log_expit

        with np.errstate(divide="ignore", invalid="ignore"):
            found = log_expit(high) + log_expit(-low) + np.log(-np.expm1(low - high))
        return np.where(high > low, found, -np.inf)

    def shape(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log density f, f'/f and the derivative of that."""
        from scipy.special import log_expit

        log_f = log_expit(z) + log_expit(-z)
        return log_f, -np.tanh(z / 2), -2 * np.exp(log_f)

    def quantile(self, share: Floats) -> Floats:
        """Return where so much of the density lies below."""
        return np.asarray(np.log(share / (1 - share)))


_SHAPES: Final[dict[Link, _Shape]] = {"probit": _Probit(), "logit": _Logit()}


class _Slopes(NamedTuple):
    """The log probability of each category, and its derivatives in u and in the thresholds above and below it."""

    log_p: Floats
    # slope, bend, twist: its first derivative in u, minus its second, and minus its third
    slope: Floats
    bend: Floats
    twist: Floats
    # upper, lower: first derivatives in the two thresholds, and those of the first and second derivative in u
    upper: tuple[Floats, Floats, Floats]
    lower: tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Ordinal(OneShape):
    """How categories scatter, and what points they stand for: a likelihood, and a scale to read values off.

    Points of the latent scale are the expected scores of an assessor without bias.
    """

    link: Link
    category: Floats  # the categories, as scores
    thresholds: Floats  # between them; a row for each score where these have thresholds of their own
    code: NDArray[np.int64]  # the category of each score
    step: float  # by which probabilities of categories are divided to compare them with densities
    is_normal: bool = False
    least: float = LEAST
    most: float = MOST
    first: float = 1.0

    @property
    def name(self) -> str:
        """Its name in the name of a method."""
        return f"ordinal-{self.link}"

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        return f"{self.category.size} ordered categories by a cumulative {self.link}; values are expected scores"

    @cached_property
    def _edges(self) -> Floats:
        ends = np.full((*self.thresholds.shape[:-1], 1), np.inf)
        return np.concatenate([-ends, self.thresholds, ends], axis=-1)

    def _edge(self, at: NDArray[np.intp]) -> Floats:
        """Return the lower ends of categories; of each score's own, where thresholds differ from score to score."""
        if self.thresholds.ndim == 1 or at.ndim == 0:
            return np.asarray(self._edges[..., at])
        return np.take_along_axis(self._edges, at[:, None], axis=1)[:, 0]

    def slopes(self, u: Floats, root: Floats) -> _Slopes:
        """Return the log probability of each category and its derivatives, for noise of scale 1/root."""
        shape, ends = _SHAPES[self.link], []
        low, high = ((self._edges[self.code + at] - u) * root for at in (0, 1))
        log_p = shape.log_between(low, high)
        for z in (high, low):
            known = np.isfinite(z)
            log_f, turn, change = shape.shape(np.where(known, z, 0.0))
            density = root * np.exp(np.where(known, log_f - log_p, -np.inf))
            ends.append((density, -root * turn, np.square(root) * change))
        (upper, turn_up, change_up), (lower, turn_low, change_low) = ends
        slope = lower - upper
        upper_1, lower_1 = upper * (turn_up - slope), lower * (turn_low - slope)
        bend = upper_1 - lower_1
        upper_2 = upper_1 * (turn_up - slope) + upper * (change_up + bend)
        lower_2 = lower_1 * (turn_low - slope) + lower * (change_low + bend)
        return _Slopes(log_p, slope, bend, upper_2 - lower_2, (upper, upper_1, upper_2), (-lower, -lower_1, -lower_2))

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return what each category says beside what all others expect of u, by points of Gauss and Hermite."""
        root = np.sqrt(precision / w)[:, None]
        left = np.sqrt(variance)[:, None] * _PLACES
        low, high = ((self._edges[self.code + at][:, None] + away[:, None] - left) * root for at in (0, 1))
        part = np.exp(_SHAPES[self.link].log_between(low, high)) * _SHARES
        mass = part.sum(axis=1)
        part /= mass[:, None]
        moved = (part * left).sum(axis=1)
        spread = (part * np.square(left - moved[:, None])).sum(axis=1)
        level = log(2 * pi) / 2 + log(self.step)
        bend = (1.0 - spread / variance) / variance
        return Tilted(np.log(mass) - level, moved / variance, bend, np.ones_like(mass))

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log probability of each category, per unit of the step, where u is minus the residual."""
        return np.asarray(self.slopes(-residual, np.sqrt(precision / w)).log_p - log(self.step))

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that a recorded score is at most x, where u is normal."""
        return self.between(np.full_like(x, -np.inf), x, mean, variance, precision, w)

    def between(self, low: Floats, high: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that it is above one number and not above another, to digits of its own."""
        mean, variance, precision = (one[..., None] for one in np.broadcast_arrays(mean, variance, precision))
        u, root = mean + np.sqrt(variance) * _PLACES, np.sqrt(precision / w)
        ends = [
            np.asarray(np.searchsorted(self.category, np.asarray(x) + 1e-9 * self.step, side="right"))
            for x in (low, high)
        ]
        part = np.exp(_SHAPES[self.link].log_between(*((self._edge(at)[..., None] - u) * root for at in ends)))
        return np.asarray(np.where(ends[0] < ends[1], (part * _SHARES).sum(axis=-1) / np.sqrt(2 * pi), 0.0))

    def expected(self, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mean of a recorded score where u is normal."""
        gaps = np.diff(self.category)
        below = (self.below(x, mean, variance, precision, w) for x in self.category[:-1])
        return np.asarray(self.category[-1] - sum(gap * one for gap, one in zip(gaps, below, strict=True)))

    def back(self, latent: Floats) -> Floats:
        """Return the expected scores at places of the latent scale."""
        latent = np.asarray(latent, dtype=np.float64)
        z = self.thresholds - latent[..., None]
        below = np.exp(_SHAPES[self.link].log_between(np.full_like(z, -np.inf), z))
        return np.asarray(self.category[-1] - below @ np.diff(self.category))

    def forward(self, points: Floats) -> Floats:
        """Return where scores are expected on the latent scale; the ends, and what is beyond, at infinity."""
        points = np.asarray(points, dtype=np.float64)
        low, high = np.full(points.shape, self.thresholds[0] - 40.0), np.full(points.shape, self.thresholds[-1] + 40.0)
        for _ in range(70):
            middle = (low + high) / 2
            is_below = self.back(middle) < points
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        found = (low + high) / 2
        return np.where(points <= self.category[0], -np.inf, np.where(points >= self.category[-1], np.inf, found))

    def shares(self, latent: Floats) -> Floats:
        """Return how far each threshold (columns) takes a place (rows) along that keeps its expected score."""
        density = np.exp(_SHAPES[self.link].shape(self.thresholds - latent[:, None])[0]) * np.diff(self.category)
        return np.asarray(density / density.sum(axis=1, keepdims=True))

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the latent place in the expected score."""
        z = self.thresholds - self.forward(points)[..., None]
        known = np.isfinite(z)
        density = np.where(known, np.exp(_SHAPES[self.link].shape(np.where(known, z, 0.0))[0]), 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (density @ np.diff(self.category)))


@dataclass(frozen=True, eq=False)
class _Point:
    """The mode of values and biases for given parameters, and Laplace's likelihood with its slope there."""

    likelihood: Ordinal
    sd: tuple[float, float]  # of values and of biases
    values: Floats
    biases: Floats
    slopes: _Slopes
    solver: CentredSolver
    variance: Floats  # of each linear predictor
    height: float
    slope: Floats  # in the parameters


@dataclass(eq=False)
class Laplace:
    """Laplace's likelihood of a panel of categories, as a function of thresholds and standard deviations.

    Parameters are the first threshold, the logarithms of the gaps between thresholds, and the logarithms of the
    standard deviations of values and of biases; those that are given stay as they are.
    """

    work: Work  # whose panel has no scores but zeros
    likelihood: Ordinal  # without thresholds of its own
    precision: Floats
    power: float = 1.0  # exponent of the declared confidences in it
    given: tuple[float | None, float | None] = (None, None)  # standard deviations that are known
    calls: int = 0
    nearest: tuple[Floats, Floats] | None = field(default=None, repr=False)
    # point, best: where the likelihood is highest, once that has been found
    point: Floats = field(init=False)
    best: _Point = field(init=False)

    @property
    def count(self) -> int:
        """Number of thresholds."""
        return self.likelihood.category.size - 1

    def thresholds(self, point: Floats) -> Floats:
        """Return the thresholds that parameters mean."""
        return np.asarray(point[0] + np.concatenate([[0.0], np.cumsum(np.exp(point[1 : self.count]))]))

    def _turn(self, point: Floats) -> Floats:
        """Return the derivatives of the thresholds (rows) in their parameters."""
        turn = np.tril(np.ones((self.count, self.count)))
        turn[:, 1:] *= np.exp(point[1 : self.count])
        return turn

    def at(self, point: Floats) -> _Point:
        """Return the mode, the likelihood and its slope for some parameters."""
        likelihood = replace(self.likelihood, thresholds=self.thresholds(point))
        sd = float(np.exp(point[-2])), float(np.exp(point[-1])) if self.given[1] != 0 else 0.0
        values, biases, slopes, solver = self._mode(likelihood, sd)
        self.nearest = values, biases
        self.calls += 1
        report("working out grades and how far they scatter", self.calls, None)
        panel = self.work.panel
        variance = solver.fitted_variances()
        of_values, of_biases = solver.diagonal()
        height = float(slopes.log_p.sum()) - solver.log_determinant() / 2
        # what the curvature takes from the likelihood as the mode moves
        pull = variance * slopes.twist
        back = solver.apply(*_sums(panel, pull))
        moved = back[0][panel.object_index] + back[1][panel.assessor_index]
        code, slope = self.likelihood.code, np.zeros(self.count)
        for at, (own, first, second) in ((1, slopes.upper), (0, slopes.lower)):
            each = own + (variance * second - moved * first) / 2
            slope += sum_by(code + at, each, self.count + 2)[1:-1]
        ends = []
        for side, unsure, other, scale in zip((values, biases), (of_values, of_biases), back, sd, strict=True):
            if scale == 0:
                ends.append(0.0)
                continue
            height -= float(np.square(side / scale).sum()) / 2 + side.size * log(scale)
            ends.append(float((np.square(side) + unsure - other * side).sum()) / scale**2 - side.size)
        return _Point(
            likelihood,
            sd,
            values,
            biases,
            slopes,
            solver,
            variance,
            height,
            np.concatenate([slope @ self._turn(point), ends]),
        )

    def _mode(self, likelihood: Ordinal, sd: tuple[float, float]) -> tuple[Floats, Floats, _Slopes, CentredSolver]:
        """Return values and biases of the highest joint density, by Newton's method with steps that never fall."""
        panel, root = self.work.panel, np.sqrt(self.precision)
        objects, assessors = panel.object_index, panel.assessor_index
        value_prior = np.full(panel.n_objects, sd[0] ** -2)
        bias_prior = np.full(panel.n_assessors, sd[1] ** -2) if sd[1] else None

        def joint(values: Floats, biases: Floats) -> tuple[float, _Slopes]:
            found = likelihood.slopes(values[objects] + biases[assessors], root)
            own = value_prior @ np.square(values) + (0.0 if bias_prior is None else bias_prior @ np.square(biases))
            return float(found.log_p.sum() - own / 2), found

        values, biases = self.nearest or (np.zeros(panel.n_objects), np.zeros(panel.n_assessors))
        height, slopes = joint(values, biases)
        for _ in range(_STEPS):
            weight = np.maximum(slopes.bend, LEAST * self.precision)
            u = values[objects] + biases[assessors]
            solver = self._solver(sd, weight)
            found = solver.solve(u + slopes.slope / weight)
            steps, size = (found.values - values, found.biases - biases), 1.0
            way = float(np.abs(steps[0][objects] + steps[1][assessors]).max())
            while True:
                moved = values + size * steps[0], biases + size * steps[1]
                risen, after = joint(*moved)
                if risen >= height - 1e-9 * (1 + abs(height)) or size < 1e-6:
                    break
                size /= 2
            values, biases, height, slopes = *moved, risen, after
            if way < _STILL:
                return values, biases, slopes, solver
        raise SolveError("The most probable values and biases could not be found: the fit did not come to rest.")

    def _solver(self, sd: tuple[float, float], weight: Floats) -> CentredSolver:
        """Return what solves for values and biases with such spreads, where scores have these weights."""
        panel = self.work.panel
        value_prior = np.full(panel.n_objects, sd[0] ** -2)
        bias_prior = np.full(panel.n_assessors, sd[1] ** -2) if sd[1] else None
        graph = self.work.graph(has_values=True, has_biases=bias_prior is not None)
        return CentredSolver(PriorSolver(graph, weight, value_prior, bias_prior, self.work.solver))

    def _averaged(self, here: _Point) -> tuple[Floats, Floats, CentredSolver]:
        """Return the means of values and biases, and their solver: slopes and bends averaged over what is unsure of u.

        The normal density that is closest to theirs (Kullback and Leibler's distance), from the mode on.
        """
        panel, root = self.work.panel, np.sqrt(self.precision)
        values, biases, variance = here.values, here.biases, here.variance
        for _ in range(_PASSES):
            u, sd = values[panel.object_index] + biases[panel.assessor_index], np.sqrt(variance)
            found = [here.likelihood.slopes(u + sd * place, root) for place in _FEW_PLACES]
            share = _FEW_SHARES / _FEW_SHARES.sum()
            weight = np.maximum(share @ np.array([one.bend for one in found]), LEAST * self.precision)
            solver = self._solver(here.sd, weight)
            moved = solver.solve(u + share @ np.array([one.slope for one in found]) / weight)
            values, biases, variance = moved.values, moved.biases, solver.fitted_variances()
        return values, biases, solver

    def left_out(self) -> tuple[Ordinal, Floats, Floats]:
        """Return the likelihood of each score with thresholds as if it had not been seen, and what u is without it.

        Removing a score from the likelihood changes the parameters by H^-1 times the slope of its log probability given
        all others, to first order, where H is how the likelihood bends. Of a category of m scores that would take 1/m
        from the logarithm of its width; log(1 - 1/m), which is the right change, comes from the same numbers.
        """
        point, kept = self.point, self.nearest
        _, mean, spread = self._cavity(self.best)
        rows = []
        for at in range(self.count):
            step = np.where(np.arange(point.size) == at, _DIFFERENCE, 0.0)
            down, up = (self.at(point + sign * step) for sign in (-1, 1))
            ends = zip(self._cavity(up), self._cavity(down), strict=True)
            rows.append([(down.slope - up.slope)[: self.count], *(one - other for one, other in ends)])
        self.nearest = kept
        bend, slope, mean_turn, spread_turn = (
            np.stack([row[at] for row in rows]) / (2 * _DIFFERENCE) for at in range(4)
        )
        size, axes = np.linalg.eigh((bend + bend.T) / 2)
        told = size > _UNTOLD * size.max()
        moved = (axes[:, told] / size[told]) @ (axes[:, told].T @ slope)
        share = np.clip((slope * moved).sum(axis=0), 1e-12, _MOST_GONE)
        moved *= np.log1p(-share) / share
        points = point[: self.count, None] + moved
        gaps = np.exp(points[1:])
        cuts = points[0] + np.concatenate([np.zeros((1, share.size)), np.cumsum(gaps, axis=0)])
        likelihood = replace(self.best.likelihood, thresholds=np.ascontiguousarray(cuts.T))
        return likelihood, mean + (mean_turn * moved).sum(axis=0), np.exp(spread + (spread_turn * moved).sum(axis=0))

    def _cavity(self, here: _Point) -> tuple[Floats, Floats, Floats]:
        """Return the log probability of each score given all others, and the mean and log variance of u without it."""
        panel, weight = self.work.panel, here.solver.base.weight
        leverage = np.clip(weight * here.variance, 1e-12, 1.0 - _BRIDGE)
        u = here.values[panel.object_index] + here.biases[panel.assessor_index]
        variance = here.variance / (1.0 - leverage)
        mean = u - here.slopes.slope * variance
        mass = here.likelihood.tilted(-mean, variance, self.precision, 1.0).log_mass
        return mass, mean, np.log(variance)

    def climb(self) -> tuple[Floats, Node]:
        """Find the highest likelihood, and return where it is, in logarithms of variances, and the fit there."""
        self.point, self.best = self.peak()
        self._require_end()
        return 2 * self.point[-2:][[sd is None for sd in self.given]], node_of(self, self.best)

    def _require_end(self) -> None:
        """Refuse spreads that could as well be without end: one side tells all categories apart by itself."""
        wide = [at for at in (-2, -1) if self.given[at] is None and self.point[at] > _WIDE]
        if wide and not all(0 < self._covariance[at, at] < 1 for at in wide):
            side = "objects" if wide[0] == -2 else "assessors"
            name = "value_sd" if wide[0] == -2 else "bias_sd"
            raise SolveError(
                f"Which {side} have which categories is so clear that the scores tell no noise to measure them by: "
                f"there is no result; give {argument(name)}, in units of the noise, or use another model."
            )

    @cached_property
    def _covariance(self) -> Floats:
        """The covariance of the parameters at the peak."""
        kept = self.nearest
        found = self.covariance(self.point)
        self.nearest = kept
        return found

    def cuts(self, interval: float, backend: frames.Backend) -> Table:
        """Return the thresholds with their uncertainty, variances of values and biases unknown."""
        turn = self._turn(self.point)
        sd = np.sqrt(np.diagonal(turn @ self._covariance[: self.count, : self.count] @ turn.T))
        estimate, reach = self.best.likelihood.thresholds, KnownNoise().quantile((1 + interval) / 2)
        names = [f"{low:g}|{high:g}" for low, high in pairwise(self.likelihood.category.tolist())]
        return Table("threshold", names, estimate, sd, estimate - reach * sd, estimate + reach * sd, backend)

    def variances(self, interval: float, backend: frames.Backend) -> Table:
        """Return the standard deviations of values and biases on the latent scale with their uncertainty."""
        rows = [at for at, sd in enumerate(self.given) if sd is None]
        estimate = np.array(self.best.sd)[rows]
        sd = np.sqrt(np.diagonal(self._covariance)[-2:][rows])
        reach = np.exp(KnownNoise().quantile((1 + interval) / 2) * sd)
        names = [("value_sd", "bias_sd")[at] for at in rows]
        return Table("variance", names, estimate, estimate * sd, estimate / reach, estimate * reach, backend)

    def deviation(self, u: Floats) -> Floats:
        """Return the standard deviation of a recorded score where u is known."""
        best, none = self.best.likelihood, np.zeros_like(u)
        mean = best.expected(u, none, self.precision, 1.0)
        squares = replace(best, category=np.square(best.category - best.category[0]))
        second = squares.expected(u, none, self.precision, 1.0)
        return np.asarray(np.sqrt(np.maximum(second - np.square(mean - best.category[0]), 1e-300)))

    def start(self) -> Floats:
        """Return where the search starts: spreads as of numbers, and thresholds that give categories their shares."""
        panel, code, shape = self.work.panel, self.likelihood.code, _SHAPES[self.likelihood.link]
        numbers = replace(panel, score=code.astype(np.float64), precision=self.precision)
        begin = starts(replace(self.work, panel=numbers), has_biases=self.given[1] != 0)
        spread = [
            np.clip(begin[name] / 2 + log(shape.variance) / 2, -2.0, 1.5) for name in ("value_ratio", "bias_ratio")
        ]
        spread = [one if sd is None else _log(sd) for one, sd in zip(spread, self.given, strict=True)]
        share = np.cumsum(np.bincount(code, minlength=self.count + 1))[:-1] / code.size
        wider = np.sqrt(1 + float(np.exp(2 * np.array(spread)).sum()) / shape.variance)
        ends = shape.quantile(share) * wider
        return np.concatenate([ends[:1], np.log(np.diff(ends)), spread])

    def peak(self, start: Floats | None = None, *, prior: bool = False) -> tuple[Floats, _Point]:
        """Return the parameters of the highest likelihood, or posterior, and the mode there; by BFGS."""
        point = self.start() if start is None else start
        low, high = self._limits
        here = self._judged(point, prior=prior)
        bend = self._first_bend(point, here)
        for _ in range(_CLIMBS):
            free = ~(((point <= low) & (here.slope <= 0)) | ((point >= high) & (here.slope >= 0)))
            step = np.zeros(point.size)
            step[free] = np.linalg.solve(bend[np.ix_(free, free)], here.slope[free])
            if step @ here.slope < _FLAT:
                return point, here
            step *= min(1.0, 2.0 / float(np.abs(step).max()))
            there, moved = self._risen(point, here, step, prior=prior)
            if there is None:
                return point, here
            way, change = moved - point, here.slope - there.slope
            if way @ change > 1e-12:
                pushed = bend @ way
                bend = bend + np.outer(change, change) / (way @ change) - np.outer(pushed, pushed) / (way @ pushed)
            point, here = moved, there
        raise SolveError("Thresholds and variances could not be found: the scores do not determine them.")

    def _risen(self, point: Floats, here: _Point, step: Floats, *, prior: bool) -> tuple[_Point | None, Floats]:
        """Return a place in the direction of a step that is higher; None where there is none but for rounding."""
        size, nearest = 1.0, self.nearest
        while size > 1e-4:
            moved = np.clip(point + size * step, *self._limits)
            try:
                there = self._judged(moved, prior=prior)
                if there.height > here.height:
                    return there, moved
            except SolveError:
                pass
            self.nearest = nearest
            size /= 3
        return None, point

    def _judged(self, point: Floats, *, prior: bool) -> _Point:
        """Return the mode and the likelihood for some parameters, times the prior of unknown variances if asked."""
        here = self.at(point)
        if not prior:
            return here
        height, slope = here.height, here.slope.copy()
        for at, sd in zip((-2, -1), self.given, strict=True):
            if sd is None:
                x = 2 * float(point[at])
                height += ratio_prior(x)
                slope[at] += 2 - 3 / (1 + np.exp(-x))
        return replace(here, height=height, slope=slope)

    def credible(self, best: Node) -> list[tuple[float, Floats, Node]]:
        """Return other variances that the scores leave credible, with probabilities, and the fits there.

        They are on the latent scale of the best fit: values where the same score is expected of an average assessor.
        Thresholds follow the variances to first order, and are unsure about that.
        """
        rows = [at for at, sd in zip((-2, -1), self.given, strict=True) if sd is None]
        if not rows:
            return [(1.0, np.zeros(0), self._beside(best, self.best))]
        kept = self.nearest
        point, _ = self.peak(self.point, prior=True)
        covariance = self.covariance(point, prior=True)
        block = covariance[np.ix_(rows, rows)]
        if not np.isfinite(block).all() or np.linalg.eigvalsh(block).min() <= 0:
            return []
        size, axes = np.linalg.eigh(block)
        follow = self._turn(point) @ covariance[: self.count, rows] @ np.linalg.inv(block)
        found = []
        for place in product(_GRID, repeat=len(rows)):
            way = axes @ (np.sqrt(size) * np.array(place))
            moved, cut = point.copy(), self.thresholds(point) + follow @ way
            moved[0], moved[1 : self.count] = cut[0], np.log(np.maximum(np.diff(cut), _CLOSEST))
            moved[rows] += way
            moved = np.clip(moved, *self._limits)
            try:
                found.append((moved, self._judged(moved, prior=True)))
            except SolveError:  # far out, where nothing is credible
                continue
        self.nearest = kept
        share = np.exp(np.array([here.height for _, here in found]) - max(here.height for _, here in found))
        share /= share.sum()
        return [
            (float(part), 2 * at[rows], self._beside(best, here))
            for part, (at, here) in zip(share.tolist(), found, strict=True)
        ]

    def _beside(self, best: Node, here: _Point) -> Node:
        """Return a fit with other thresholds, which are unsure, on the latent scale of the best one."""
        own, other = self.best.likelihood, here.likelihood
        values, biases, solver = self._averaged(here)
        near = np.clip(values, other.thresholds[0] - _BEYOND, other.thresholds[-1] + _BEYOND)
        points = other.back(near)
        steep = own.slope(points) / other.slope(points)
        stretch = float(np.median(steep))
        value_ratio, bias_ratio = np.square(here.sd).tolist()
        # by how much values and biases move with the thresholds, in units in which these are sure to 1
        of_values, of_biases = self._followed(here)
        of_values = (steep / stretch)[:, None] * (of_values - other.shares(near))
        size, axes = np.linalg.eigh(self.information(here))
        told = size > _UNTOLD * size.max()
        root = axes[:, told] / np.sqrt(size[told])
        return replace(
            best,
            setting=replace(best.setting, value_ratio=value_ratio, bias_ratio=bias_ratio),
            values=own.forward(points) + stretch * (values - near),
            biases=stretch * biases,
            solver=WidenedSolver(solver, LowRank(of_values @ root, of_biases @ root)),
            noise=KnownNoise(stretch**2, "estimated"),
            log_marginal=here.height,
        )

    def _first_bend(self, point: Floats, here: _Point) -> Floats:
        """Return about how the likelihood bends: the information on thresholds, and on spreads what sides can tell."""
        bend = np.eye(point.size)
        turn = self._turn(point)
        bend[: self.count, : self.count] = turn.T @ self.information(here) @ turn
        diagonal = here.solver.diagonal()
        for at, unsure, scale in zip((-2, -1), diagonal, here.sd, strict=True):
            if scale > 0:
                bend[at, at] = max(2 * float(np.square(1 - np.minimum(unsure / scale**2, 1.0)).sum()), 0.5)
        return bend

    def information(self, here: _Point) -> Floats:
        """Return minus the second derivatives in the thresholds of the joint density, at its mode in all else."""
        code, count = self.likelihood.code, self.count
        (upper, upper_1, _), (lower, lower_1, _) = here.slopes.upper, here.slopes.lower
        both, every = -upper * lower, np.arange(count)
        own = np.zeros((count, count))
        own[every, every] = (sum_by(code + 1, upper_1 + both, count + 2) + sum_by(code, lower_1 + both, count + 2))[
            1:-1
        ]
        own[every[:-1], every[1:]] = own[every[1:], every[:-1]] = -sum_by(code, both, count + 1)[1:-1]
        (of_objects, of_assessors), (values, biases) = self._forces(here), self._followed(here)
        return np.asarray(own - of_objects.T @ values - of_assessors.T @ biases)

    def _forces(self, here: _Point) -> tuple[Floats, Floats]:
        """Return how the slopes of the joint density in values and biases (rows) move with the thresholds."""
        code, panel, count = self.likelihood.code, self.work.panel, self.count
        force = np.zeros((code.size, count + 2))
        force[np.arange(code.size), code + 1] = here.slopes.upper[1]
        force[np.arange(code.size), code] = here.slopes.lower[1]
        columns = [_sums(panel, force[:, at]) for at in range(1, count + 1)]
        of_objects, of_assessors = (np.stack(side, axis=1) for side in zip(*columns, strict=True))
        return of_objects, of_assessors

    def _followed(self, here: _Point) -> tuple[Floats, Floats]:
        """Return how the most probable values and biases (rows) move with the thresholds."""
        return here.solver.apply(*self._forces(here))

    def covariance(self, point: Floats, *, prior: bool = False) -> Floats:
        """Return the covariance of the parameters, from differences of slopes; nan for what is at an end."""
        free = np.flatnonzero(self._free(point))
        bend = np.empty((free.size, free.size))
        for row, at in enumerate(free.tolist()):
            step = np.where(np.arange(point.size) == at, _DIFFERENCE, 0.0)
            down, up = (self._judged(point + sign * step, prior=prior) for sign in (-1, 1))
            change = down.slope - up.slope
            bend[row] = change[free] / (2 * _DIFFERENCE)
        found = np.full((point.size, point.size), np.nan)
        found[np.ix_(free, free)] = np.linalg.inv((bend + bend.T) / 2)
        return found

    def _free(self, point: Floats) -> NDArray[np.bool_]:
        """Return which parameters are neither given nor at an end of the search."""
        low, high = self._limits
        return (point > low + 0.1) & (point < high - 0.1)

    @property
    def _limits(self) -> tuple[Floats, Floats]:
        ends = [(_LOWEST, _HIGHEST) if sd is None else (_log(sd), _log(sd)) for sd in self.given]
        return (
            np.concatenate([np.full(self.count, -np.inf), [low for low, _ in ends]]),
            np.concatenate([np.full(self.count, np.inf), [high for _, high in ends]]),
        )


def _log(sd: float) -> float:
    """Return the logarithm of a given standard deviation; any number where there are no biases."""
    return log(sd) if sd else 0.0


def _sums(panel: Panel, each: Floats) -> tuple[Floats, Floats]:
    """Return sums over the scores of each object and of each assessor."""
    return sum_by(panel.object_index, each, panel.n_objects), sum_by(panel.assessor_index, each, panel.n_assessors)


def code_categories(panel: Panel, link: Link) -> Ordinal:
    """Return the categories of a panel, as a likelihood that lacks its thresholds."""
    category, code = np.unique(panel.score, return_inverse=True)
    if not 2 <= category.size <= _MOST_CATEGORIES:
        few = "all scores are the same" if category.size < 2 else f"there are {category.size:,} different scores"
        raise InputError(f"Ordered categories need from 2 to {_MOST_CATEGORIES} of them, and {few}.", kind="bad_score")
    step = float(np.diff(category).mean())
    return Ordinal(link, category, np.zeros(category.size - 1), code.astype(np.int64), step)


def node_of(laplace: Laplace, here: _Point) -> Node:
    """Return the mode as the fit of a refined model."""
    panel, slopes = laplace.work.panel, here.slopes
    u = here.values[panel.object_index] + here.biases[panel.assessor_index]
    weight = here.solver.base.weight
    aim = u + slopes.slope / weight  # what each site stands for; the place of each score is zero
    of_values, of_biases = np.square(here.sd).tolist()
    setting = Setting(of_values, of_biases, laplace.power, w=1.0, likelihood=here.likelihood)
    return Node(
        setting=setting,
        values=here.values,
        biases=here.biases,
        coefficients=np.zeros(0),
        log_scale=np.zeros(panel.n_assessors),
        noise_factor=np.ones(panel.n_assessors),
        weight=weight,
        precision=laplace.precision,
        residuals=-u,
        residual=float("nan"),
        freedom=panel.n_assessments - laplace.count,
        solver=here.solver,
        noise=KnownNoise(1.0, "estimated"),
        log_marginal=here.height,
        mean=0.0,
        border=None,
        aim=aim,
    )
