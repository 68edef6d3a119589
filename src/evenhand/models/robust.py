"""Heavy tails: noise that is now and then large, by Student's density or Huber's (App. F)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, lgamma, log, pi
from typing import Final

import numpy as np

from evenhand.compiled import Floats
from evenhand.models.noise import LEAST, OneShape, Tilted, log_normal
from evenhand.models.setting import Setting, Unknown

_HIGH: Final = 200.0
"""Logs of ratios above this belong to pieces of a density without any mass."""


@dataclass(frozen=True, slots=True)
class Student:
    """Heavy tails: each score has a noise of its own that is now and then large."""

    freedom: float = 4.0  # degrees of freedom; the fewer, the heavier the tails
    is_normal: bool = False
    is_symmetric: bool = True
    least: float = 0.03  # an outlier makes the fit less sure, which no positive weight can

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return a mixture of normal distribution functions, over the score's own noise variance."""
        from scipy.special import ndtr

        away, noise = x - mean, w / precision
        furthest = float(((np.square(np.where(np.isfinite(away), away, 0.0)) + variance) / noise).max(initial=0.0))
        factor, log_share = self._factors(furthest, self.freedom)
        total = variance[..., None] + noise[..., None] / factor
        return np.asarray(ndtr(away[..., None] / np.sqrt(total)) @ np.exp(log_share))

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return a mixture of normal products: the noise variance of each score is w/c over a gamma variable."""
        noise = (w / precision)[:, None]
        furthest = float(((np.square(away) + variance) * precision / w).max(initial=0.0))
        factor, log_share = self._factors(furthest, self.freedom + 1)
        own = noise / factor
        total = variance[:, None] + own
        height = log_normal(away[:, None], total) + log_share
        top = height.max(axis=1, keepdims=True)
        part = np.exp(height - top)
        mass = part.sum(axis=1)
        part /= mass[:, None]
        slopes = away[:, None] / total
        slope = (part * slopes).sum(axis=1)
        bend = (part * (1.0 / total - np.square(slopes - slope[:, None]))).sum(axis=1)
        scatter = (part * (variance[:, None] / total + np.square(slopes) * own)).sum(axis=1)
        return Tilted(np.log(mass) + top[:, 0], slope, bend, scatter)

    def moved(self, step: float) -> Student:
        """Return the density with the log of its degrees of freedom moved by a step."""
        return Student(self.freedom * exp(step))

    def _factors(self, furthest: float, power: float) -> tuple[Floats, Floats]:
        """Return points of a gamma variable of mean 1 and logs of their shares: the trapezium rule in its logarithm.

        The rule is exact to rounding for so smooth a density, once it reaches as far as the furthest score needs, where
        small factors enter with half this power: one more for a density than for its mass.
        """
        from scipy.special import polygamma

        half = self.freedom / 2
        sd = float(np.sqrt(polygamma(1, half)))
        step = min(0.4, 0.7 * sd)
        low = -np.log1p(furthest / self.freedom) - max(40.0 / power, 8 * sd)
        logs = np.arange(low, max(np.log1p(80.0 / self.freedom), 8 * sd) + step, step)
        density = half * log(half) - lgamma(half) + half * (logs - np.exp(logs))
        return np.exp(logs), density + log(step)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        nu = self.freedom
        level = lgamma((nu + 1) / 2) - lgamma(nu / 2) - log(nu * pi * w) / 2
        squares = precision * np.square(residual) / w
        return np.asarray(level + np.log(precision) / 2 - (nu + 1) / 2 * np.log1p(squares / nu))


@dataclass(frozen=True, slots=True)
class Huber(OneShape):
    """Normal in the middle, exponential beyond ``bend`` standard deviations."""

    bend: float = 1.345  # where it bends; 1.345 keeps 95 % of the efficiency on normal scores
    is_normal: bool = False
    is_symmetric: bool = True
    least: float = LEAST

    @property
    def _area(self) -> float:
        from scipy.special import ndtr

        k = self.bend
        return float(np.sqrt(2 * pi) * (2 * ndtr(k) - 1) + 2 / k * np.exp(-(k**2) / 2))

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mass that three pieces of the density have below x: the middle, and an exponential tail each."""
        from scipy.special import log_ndtr, ndtr

        unit, k = np.sqrt(w / precision), self.bend
        at, spread = (x - mean) / unit, np.maximum(variance / np.square(unit), np.finfo(np.float64).tiny)
        sd = np.sqrt(spread)
        least, most = -k * 1e3 - 1e3 * sd, k * 1e3 + 1e3 * sd  # beyond which there is nothing
        at = np.clip(at, least, most)
        total = at / np.sqrt(1 + spread)
        slope = 1 / np.sqrt(1 + spread)
        middle = _both_below(np.full_like(total, k), total, slope) - _both_below(np.full_like(total, -k), total, slope)
        level = k * k / 2 + k * k * spread / 2
        low = np.exp(-k * k / 2) * ndtr((at + k) / sd) + np.exp(level + k * at + log_ndtr(-(at + k) / sd - k * sd))
        high = np.exp(-k * k / 2) * ndtr((at - k) / sd) - np.exp(level - k * at + log_ndtr((at - k) / sd - k * sd))
        return np.asarray(np.clip((np.sqrt(2 * pi) * middle + (low + high) / k) / self._area, 0.0, 1.0))

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return three pieces of normal densities: the middle, and an exponential tail on either side."""
        unit, k = np.sqrt(w / precision), self.bend
        at, spread = away / unit, variance / np.square(unit)  # in units of the noise
        narrow = spread / (1 + spread)
        middle = _piece(at / (1 + spread), narrow, np.full(at.size, -k), np.full(at.size, k))
        pieces = [(log_normal(at, 1 + spread) + log(2 * pi) / 2, 1.0, middle)]
        far = np.full(at.size, np.inf)
        for side in (1.0, -1.0):
            tail = _piece(side * at - k * spread, spread, np.full(at.size, k), far)
            pieces.append((k * (k / 2 + k * spread / 2 - side * at), side, tail))
        heights = np.stack([level + piece[0] for level, _, piece in pieces])
        top = heights.max(axis=0)
        part = np.exp(heights - top)
        mass = part.sum(axis=0)
        part /= mass
        means = np.stack([side * piece[1] for _, side, piece in pieces])
        squares = np.stack([piece[2] + np.square(piece[1]) for _, _, piece in pieces])
        mean = (part * means).sum(axis=0)
        left = (part * (np.stack([piece[2] for _, _, piece in pieces]) + np.square(means - mean))).sum(axis=0)
        scatter = part[0] * squares[0] + k * (part[1] * means[1] - part[2] * means[2])
        log_mass = np.log(mass) + top - log(self._area) - np.log(unit)
        slope, bend = (at - mean) / spread, (1.0 - left / spread) / spread
        return Tilted(log_mass, slope / unit, bend / np.square(unit), scatter)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        k = self.bend
        size = np.abs(residual) * np.sqrt(precision / w)
        loss = np.where(size <= k, np.square(size) / 2, k * size - k**2 / 2)
        return np.asarray(np.log(precision / w) / 2 - np.log(self._area) - loss)


def _piece(mean: Floats, variance: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log mass, mean and variance of a normal density between two ends."""
    from scipy.special import log_ndtr

    sd = np.sqrt(variance)
    # by symmetry most of the density lies below, where differences of tails keep their digits
    turned = mean < (low + np.minimum(high, np.abs(low) + 2 * np.abs(mean))) / 2
    below, above = np.where(turned, mean - high, low - mean) / sd, np.where(turned, mean - low, high - mean) / sd
    log_above = log_ndtr(above)
    log_mass = log_above + np.log(-np.expm1(np.minimum(log_ndtr(below) - log_above, -1e-300)))
    first = np.exp(np.minimum(-np.square(below) / 2 - log_mass, _HIGH)) / np.sqrt(2 * pi)
    second = np.exp(np.minimum(-np.square(above) / 2 - log_mass, _HIGH)) / np.sqrt(2 * pi)
    shift = first - second
    ends = np.where(np.isfinite(below), below, 0.0) * first - np.where(np.isfinite(above), above, 0.0) * second
    left = np.clip(1 + ends - np.square(shift), 0.0, 1.0)
    centre = mean + np.where(turned, -1.0, 1.0) * shift * sd
    return log_mass, np.clip(centre, low, high), variance * left


def _both_below(first: Floats, second: Floats, correlation: Floats) -> Floats:
    """Return the probability that two standard normals of a correlation are below these, by Owen's function T."""
    from scipy.special import ndtr, owens_t

    root = np.sqrt((1 - correlation) * (1 + correlation))
    second = np.where(second == 0, 1e-300, second)
    with np.errstate(divide="ignore", over="ignore"):
        one = owens_t(first, (second - correlation * first) / (first * root))
        two = owens_t(second, (first - correlation * second) / (second * root))
    return np.asarray((ndtr(first) + ndtr(second)) / 2 - one - two - np.where(first * second < 0, 0.5, 0.0))


def freedom_unknown() -> Unknown:
    """Return the degrees of freedom of Student's noise, in logarithms, as a number that the scores must tell."""

    def put(setting: Setting, x: float) -> Setting:
        return replace(setting, likelihood=Student(exp(x)))

    return Unknown("freedom", put, {"freedom": 1.0}, log(5.0), log(1.5), log(200.0), lambda x: 2 * x - 0.1 * exp(x))
