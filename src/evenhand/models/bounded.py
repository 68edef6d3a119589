"""Bounded and positive scores: bias is additive on a scale without ends, noise is in points (App. F).

The expected score is g^-1(u) for u = v + b, with g an increasing map of the scale onto the whole line that has slope 1
in the middle, so that biases read as points there. A score scatters about the expected one by its uncertainty in
points; what would lie beyond an end is recorded at the end, so that a mark there says "at least" or "at most".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.models.noise import MOST, Normal, Tilted, log_normal
from evenhand.panel.panel import Panel

Shape = Literal["logit", "rational"]

_SHOWN: Final = 3

_FINE: Final = 1e-3
"""Cells narrower than this part of the noise have the probability of the density times their width."""

_DEEP: Final = 34.0
"""How far down, in logarithms, a product of densities is followed."""

_COARSE: Final = np.linspace(-8.5, 8.5, 13)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_WIDE: Final = 3.0
_PIECES: Final = 48
"""Integrals are by eight points of Gauss and Legendre in pieces of about this many units, of which there are at most
so many."""

_CLOSE: Final = 1e-6
"""Scores closer than this part of a step to a multiple of it are that multiple."""

_STEEP: Final = 600.0
"""Logarithms of ratios of densities are cut off here."""

_CONTRADICTED: Final = 0.4
"""A score that others contradict makes the fit less sure, which no positive weight can: it keeps this part of what it
would weigh there if they did not."""

_LEAST: Final = 1e-6

_WIDEST: Final = 1e9
"""A scale is at most so many times as wide as what the scores take of it."""

_INSIDE: Final = 0.005
"""Where there is no grid, a mark at an end is put this part of the scale inside for a start."""


class ScoreMap(Protocol):
    """An increasing map from points to a scale without ends."""

    @property
    def name(self) -> str:
        """Its name in the name of a method."""

    @property
    def words(self) -> str:
        """What it does, in a few words."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale in points."""

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model."""

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""

    def refuse(self, panel: Panel) -> None:
        """Refuse scores that the map does not take, by name."""

    def most_noise(self, panel: Panel) -> float:
        """Return the log of the largest w that the scale has room for."""

    def fitted_to(self, panel: Panel) -> ScoreMap:
        """Return the map with what it takes from the scores."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Scores between two bounds a and b, mapped onto the whole line.

    The paper's two maps: ``"logit"``, log((x - a)/(b - x)) (printed upside down there), and ``"rational"``,
    (x - (a + b)/2)/((b - x)(x - a)); both with slope 1 in the middle.

    Attributes
    ----------
    low, high
        Bounds of the scale.
    shape
        Which map.
    """

    low: float
    high: float
    shape: Shape = "logit"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InputError(
                f"A scale needs a lower bound below its upper bound, not {self.low:g} and {self.high:g}.",
                kind="bad_option",
            )
        if self.shape not in ("logit", "rational"):
            raise InputError(f"A bounded scale can be logit or rational, not {self.shape!r}.", kind="bad_option")

    @property
    def name(self) -> str:
        """Its name in the name of a method."""
        return self.shape

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        return (
            f"scores from {self.low:g} to {self.high:g} by the {self.shape} map; a mark at an end means that or beyond"
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale in points."""
        return self.low, self.high

    @property
    def _middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def _half(self) -> float:
        return (self.high - self.low) / 2

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model; the ends, and what is beyond, at infinity."""
        share = np.clip((np.asarray(points) - self._middle) / self._half, -1.0, 1.0)
        with np.errstate(divide="ignore"):
            image = np.arctanh(share) if self.shape == "logit" else share / ((1 - share) * (1 + share))
        return np.asarray(self._middle + self._half * image)

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""
        image = (np.asarray(latent) - self._middle) / self._half
        if self.shape == "logit":
            share = np.tanh(image)
        else:
            double = np.clip(2 * image, -1e150, 1e150)
            share = double / (1 + np.hypot(1.0, double))
        return np.asarray(self._middle + self._half * share)

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""
        share = (np.asarray(points) - self._middle) / self._half
        inside = (1 - share) * (1 + share)
        with np.errstate(divide="ignore"):
            if self.shape == "logit":
                return np.asarray(1.0 / inside)
            return np.asarray((1 + np.square(share)) / np.square(inside))

    def refuse(self, panel: Panel) -> None:
        """Refuse scores outside the bounds, by name, and bounds so wide apart that no digits of the scores are left."""
        if self.high - self.low > _WIDEST * (float(np.ptp(panel.score)) or 1.0):
            message = (
                f"Beside a scale from {self.low:g} to {self.high:g} all scores are the same: bring the bounds closer."
            )
            raise InputError(message, kind="bad_option")
        outside = np.flatnonzero((panel.score < self.low) | (panel.score > self.high))
        _refuse(panel, outside, f"outside the scale from {self.low:g} to {self.high:g}", "correct them or widen it")

    def most_noise(self, panel: Panel) -> float:
        """Return the log of the largest w: noise of half the scale, as of marks that are at one end or the other."""
        return log(self._half**2 * float(panel.precision.mean()))

    def fitted_to(self, panel: Panel) -> Bounded:
        """Return the map itself, which takes nothing from the scores."""
        return self


@dataclass(frozen=True, slots=True)
class Logarithm:
    """Positive scores whose logarithms have additive biases, which are then like exchange rates (App. F).

    Attributes
    ----------
    typical
        The score at which the map has slope 1: the geometric mean of all.
    """

    typical: float = 1.0

    @property
    def name(self) -> str:
        """Its name in the name of a method."""
        return "log"

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        return f"logarithms of expected scores; biases in points at a score of {self.typical:.4g}"

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale in points: nothing, and no end."""
        return 0.0, np.inf

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model; what is not positive, at minus infinity."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.typical * (1 + np.log(np.maximum(points, 0.0) / self.typical)))

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""
        return np.asarray(self.typical * np.exp(np.minimum(np.asarray(latent) / self.typical - 1, 150.0)))

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""
        return np.asarray(self.typical / np.asarray(points))

    def refuse(self, panel: Panel) -> None:
        """Refuse scores that are not positive, by name."""
        _refuse(panel, np.flatnonzero(panel.score <= 0), "not positive", "logarithms need positive scores")

    def most_noise(self, panel: Panel) -> float:
        """Return infinity: the scale has no upper end."""
        return np.inf

    def fitted_to(self, panel: Panel) -> Logarithm:
        """Return the map for the scores of a panel."""
        return replace(self, typical=float(np.exp(np.log(panel.score).mean())))


def _refuse(panel: Panel, rows: NDArray[np.int64], what: str, remedy: str) -> None:
    if not rows.size:
        return
    named = "; ".join(
        f"{panel.score[at]:g} for {panel.objects[int(panel.object_index[at])]} "
        f"by {panel.assessors[int(panel.assessor_index[at])]}"
        for at in rows[:_SHOWN].tolist()
    )
    more = f" and {rows.size - _SHOWN} more" if rows.size > _SHOWN else ""
    first = panel.objects[int(panel.object_index[rows[0]])]
    word = "score is" if rows.size == 1 else "scores are"
    raise InputError(f"{rows.size} {word} {what} ({named}{more}): {remedy}.", kind="bad_score", where=f"object {first}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which scores can be recorded: the ends of the scale, and between them the multiples of a step."""

    # low, high: the least and the greatest score; what would lie beyond is recorded there
    low: float
    high: float
    step: float | None  # None where any number between them can be recorded

    @classmethod
    def of(cls, panel: Panel, scores: ScoreMap) -> Recorded:
        """Return what can be recorded on the grid of a panel; of positive scores, one step at least."""
        (low, high), step = scores.ends, panel.step
        return cls(low if np.isfinite(high) or step is None else step, high, step)

    def cells(self, score: Floats) -> tuple[Floats, Floats]:
        """Return between which points each recorded score stands for: halfway to its neighbours, or all beyond."""
        lower = upper = np.asarray(score, dtype=np.float64)
        if self.step is not None:
            steps = score / self.step
            lower = (score + np.maximum((np.ceil(steps - _CLOSE) - 1) * self.step, self.low)) / 2
            upper = self._upper(score, self.step)
        beyond = score <= self.low, score >= self.high
        return np.where(beyond[0], -np.inf, lower), np.where(beyond[1], np.inf, upper)

    def up_to(self, x: Floats) -> Floats:
        """Return the points below which everything is recorded as x or less."""
        x = np.asarray(x, dtype=np.float64)
        edge = x
        if self.step is not None:
            edge = self._upper(np.maximum(np.floor(x / self.step + _CLOSE) * self.step, self.low), self.step)
        return np.where(x >= self.high, np.inf, np.where(x < self.low, -np.inf, edge))

    def _upper(self, score: Floats, step: float) -> Floats:
        return np.asarray((score + np.minimum((np.floor(score / step + _CLOSE) + 1) * step, self.high)) / 2)


class Scatter(Protocol):
    """A density of noise in points: its logarithm, and integrals of noise of unit scale."""

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""

    def moved(self, step: float) -> Scatter:
        """Return the density with the log of its shape moved by a step; itself where it has but one shape."""

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability of noise of unit scale between two ends."""

    def fall(self, z: Floats) -> Floats:
        """Return minus the derivative of the log density of noise of unit scale in log z."""

    def partial_mean(self, z: Floats) -> Floats:
        """Return the integral of noise of unit scale times its density up to z."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """Noise in points about the expected score g^-1(u), with everything beyond an end recorded at the end.

    Residuals, as the iteration hands them in, are on the scale of the model: a place near each score (``at``) less u.
    """

    scores: ScoreMap
    noise: Scatter
    score: Floats  # as recorded, in points
    recorded: Recorded
    is_normal: bool = False

    @classmethod
    def of(cls, panel: Panel, scores: ScoreMap, noise: Scatter | None = None) -> Mapped:
        """Return how the scores of a panel scatter; by normal noise, unless another is given."""
        return cls(scores, Normal() if noise is None else noise, panel.score, Recorded.of(panel, scores))

    @cached_property
    def at(self) -> Floats:
        """A place on the scale of the model for each score, which is finite at the ends too."""
        low, high = self.recorded.low, self.recorded.high
        span = high - low if np.isfinite(high) else float(self.score.max()) - low
        inside = _INSIDE * span if self.recorded.step is None else min(self.recorded.step, span) / 4
        return self.scores.forward(np.clip(self.score, low + inside, high - inside))

    @cached_property
    def first(self) -> Floats:
        """The part of its precision that a score weighs at first: the squared slope of g^-1."""
        return np.asarray(self.scores.slope(self.scores.back(self.at)) ** -2.0)

    @property
    def least(self) -> Floats:
        """The smallest part of its precision that a score weighs."""
        return _LEAST * self.first

    @property
    def most(self) -> float:
        """The largest part of its precision that a score weighs: where g^-1 is steepest."""
        return MOST * max(1.0, float(self.first.max()))

    def moved(self, step: float) -> Mapped:
        """Return the density with the log of the noise's shape moved by a step."""
        return replace(self, noise=self.noise.moved(step))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the noise, where it has any."""
        return float(getattr(self.noise, "freedom", np.nan))

    @cached_property
    def _cells(self) -> tuple[Floats, Floats]:
        return self.recorded.cells(self.score)

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return what each score says beside what all others expect, by quadrature over u."""
        mean, sd, sigma = self.at - away, np.sqrt(variance), np.sqrt(w / precision)
        u, log_share = self._nodes(mean, sd, sigma, *self._cells)
        log_p, scatter = self._log_probability(u, sigma, *self._cells)
        height = log_p + log_share
        top = height.max(axis=1, keepdims=True)
        part = np.exp(height - top)
        mass = part.sum(axis=1)
        part /= mass[:, None]
        left = u - mean[:, None]
        moved = (part * left).sum(axis=1)
        spread = (part * np.square(left - moved[:, None])).sum(axis=1)
        steep = np.square((part * self.scores.slope(self.scores.back(u)) ** -1.0).sum(axis=1))
        floor = _CONTRADICTED * steep / np.square(sigma)
        bend = np.maximum((1.0 - spread / variance) / variance, floor / (1.0 + variance * floor))
        width = 0.0 if self.recorded.step is None else log(self.recorded.step)
        return Tilted(
            np.log(mass) + top[:, 0] - width,
            moved / variance,
            bend,
            (part * scatter).sum(axis=1),
        )

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log probability of each score for residuals on the scale of the model, per unit of the step."""
        width = 0.0 if self.recorded.step is None else log(self.recorded.step)
        u = (self.at - residual)[:, None]
        return self._log_probability(u, np.sqrt(w / precision), *self._cells)[0][:, 0] - width

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that a recorded score is at most x, where u is normal."""
        return self.between(np.full_like(x, -np.inf), x, mean, variance, precision, w)

    def between(self, low: Floats, high: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that it is above one number and not above another, to digits of its own."""
        lower, upper, mean, variance, precision = np.broadcast_arrays(
            self.recorded.up_to(low), self.recorded.up_to(high), mean, variance, precision
        )
        shape, sigma = mean.shape, np.sqrt(w / precision).ravel()
        lower, upper = lower.ravel(), upper.ravel()
        u, log_share = self._nodes(mean.ravel(), np.sqrt(variance).ravel(), sigma, lower, upper)
        expected = self.scores.back(u)
        log_p = self.noise.log_between(*((edge[:, None] - expected) / sigma[:, None] for edge in (lower, upper)))
        found = np.minimum(np.exp(log_p + log_share).sum(axis=1), 1.0)
        everything, nothing = (lower == -np.inf) & (upper == np.inf), lower >= upper
        return np.where(everything, 1.0, np.where(nothing, 0.0, found)).reshape(shape)

    def expected(self, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mean of a recorded score, but for rounding to the grid, where u is normal."""
        mean, variance, precision = np.broadcast_arrays(mean, variance, precision)
        shape, sigma = mean.shape, np.sqrt(w / precision).ravel()
        anywhere = np.full(mean.size, np.inf)
        u, log_share = self._nodes(mean.ravel(), np.sqrt(variance).ravel(), sigma, -anywhere, anywhere)
        expected, sigma = self.scores.back(u), sigma[:, None]
        total = expected.copy()
        lowest = np.full(u.shape, -np.inf)
        for end, side in ((self.recorded.low, 1.0), (self.recorded.high, -1.0)):
            if np.isfinite(end):  # what would lie beyond is at the end
                z = side * (end - expected) / sigma
                beyond = np.exp(self.noise.log_between(lowest, z))
                total += side * sigma * (z * beyond - self.noise.partial_mean(z))
        return np.asarray((np.exp(log_share) * total).sum(axis=1).reshape(shape))

    def _log_probability(self, u: Floats, sigma: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the log probability of each cell at places u (columns), and 1 - 2 d log p / d log c."""
        noise, expected = self.noise, self.scores.back(u)
        is_inner = np.isfinite(lower) & np.isfinite(upper)
        is_fine = is_inner & (np.where(is_inner, upper, 1.0) - np.where(is_inner, lower, 0.0) <= _FINE * sigma)
        log_p, scatter = np.empty_like(u), np.empty_like(u)
        rows = np.flatnonzero(is_fine)
        if rows.size:
            unit = sigma[rows, None]
            z = ((lower + upper)[rows, None] / 2 - expected[rows]) / unit
            step = 1.0 if self.recorded.step is None else self.recorded.step
            log_p[rows] = noise.log_density(z, np.ones_like(z), 1.0) + np.log(step / unit)
            scatter[rows] = noise.fall(z)
        rows = np.flatnonzero(~is_fine)
        if rows.size:
            unit = sigma[rows, None]
            low, high = ((edge[rows, None] - expected[rows]) / unit for edge in (lower, upper))
            found = noise.log_between(low, high)
            turned = np.ones_like(found)
            for z, sign in ((low, 1.0), (high, -1.0)):
                inside = np.where(np.isfinite(z), z, 0.0)
                log_edge = noise.log_density(inside, np.ones_like(inside), 1.0) - found
                turned += sign * inside * np.exp(np.minimum(log_edge, _STEEP))
            log_p[rows], scatter[rows] = found, turned
        return log_p, scatter

    def _nodes(self, mean: Floats, sd: Floats, sigma: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return places u for each row, and logs of what they stand for under a normal density of u.

        They are spread evenly over the stretch where the product of the density of u and the probability of a cell
        matters, in units of sd and, about the edges of the cell, of sigma: neither changes faster than that.
        """
        middle, sd = mean[:, None], np.maximum(sd, 1e-9 * np.maximum(sigma, np.abs(mean)))[:, None]
        edges = [np.where(np.isfinite(one), one, other) for one, other in ((lower, upper), (upper, lower))]
        near = middle + sd * _COARSE
        with np.errstate(invalid="ignore"):
            points = [self.scores.forward(edge[:, None] + sigma[:, None] * _COARSE) for edge in edges]
            turns = [self.scores.forward(edge[:, None]) for edge in edges]
        places = np.concatenate([near, *(np.where(np.isfinite(one), one, middle) for one in points)], axis=1)
        # beyond both the edges and the middle the product falls as the density of u does
        outer = np.concatenate([middle, *(np.where(np.isfinite(one), one, middle) for one in turns)], axis=1)
        reach = sd * _COARSE[-1]
        places = np.clip(places, outer.min(axis=1, keepdims=True) - reach, outer.max(axis=1, keepdims=True) + reach)
        ends = places.min(axis=1, keepdims=True), places.max(axis=1, keepdims=True)
        between = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, _COARSE.size)
        places = np.sort(np.concatenate([places, between], axis=1), axis=1)
        height = self._log_probability(places, sigma, lower, upper)[0] - np.square((places - middle) / sd) / 2
        matters = height > height.max(axis=1, keepdims=True) - _DEEP
        last = places.shape[1] - 1
        first = np.maximum(matters.argmax(axis=1) - 1, 0)
        final = np.minimum(last - matters[:, ::-1].argmax(axis=1) + 1, last)
        length, expected = (places - middle) / sd, self.scores.back(places)
        for edge in edges:
            length += 2 * np.arcsinh(
                (expected - np.where(np.isfinite(edge), edge, 0.0)[:, None]) / (2 * sigma[:, None])
            )
        rows = np.arange(mean.size)
        begin, end = length[rows, first], length[rows, final]
        count = int(np.clip(np.ceil((end - begin).max(initial=1.0) / _WIDE), 4, _PIECES))
        wanted = begin[:, None] + (end - begin)[:, None] * np.linspace(0.0, 1.0, count + 1)
        borders = _interpolated(wanted, length, places)
        half = np.diff(borders, axis=1)[:, :, None] / 2
        u = (borders[:, :-1, None] + half + half * _NODES).reshape(mean.size, -1)
        with np.errstate(divide="ignore"):
            log_share = np.log(half * _WEIGHTS).reshape(mean.size, -1)
        return u, log_share + log_normal(u - middle, np.square(sd))


def _interpolated(wanted: Floats, x: Floats, y: Floats) -> Floats:
    """Return y where increasing x has wanted values, row by row."""
    right = np.clip((x[:, None, :] <= wanted[:, :, None]).sum(axis=2), 1, x.shape[1] - 1)
    (x0, x1), (y0, y1) = ([np.take_along_axis(one, right - back, axis=1) for back in (1, 0)] for one in (x, y))
    share = (wanted - x0) / np.maximum(x1 - x0, 1e-300)
    return np.asarray(y0 + np.clip(share, 0.0, 1.0) * (y1 - y0))
