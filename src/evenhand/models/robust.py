"""Heavy tails: noise that is now and then large, by Student's density or Huber's (App. F)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, lgamma, log, pi
from typing import Final

import numpy as np

from evenhand.compiled import Floats
from evenhand.models.noise import LEAST, MOST, Likelihood, OneShape, Symmetric, Tilted, log_normal, lower_half
from evenhand.models.setting import Setting, Unknown

_DISTANT: Final = 40.0
"""Tails further than this from a normal density's mean, in standard deviations, have moments by series."""

_HIGH: Final = 200.0
"""Logs of ratios above this belong to pieces of a density without any mass."""


@dataclass(frozen=True, slots=True)
class Student(Symmetric):
    """Heavy tails: each score has a noise of its own that is now and then large."""

    freedom: float = 4.0  # degrees of freedom; the fewer, the heavier the tails
    is_normal: bool = False
    least: float = 0.03  # an outlier makes the fit less sure, which no positive weight can
    most: float = MOST
    first: float = 1.0

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
        part = log_normal(away[:, None], total)
        part += log_share
        top = part.max(axis=1, keepdims=True)
        part -= top
        np.exp(part, out=part)
        mass = part.sum(axis=1)
        part /= mass[:, None]

        def mean(numbers: Floats) -> Floats:
            return np.asarray(np.einsum("ij,ij->i", part, numbers))

        told = 1.0 / total
        slopes = away[:, None] * told
        slope = mean(slopes)
        bend = mean(told) - mean(np.square(slopes - slope[:, None]))
        own *= np.square(slopes)
        return Tilted(np.log(mass) + top[:, 0], slope, bend, variance * mean(told) + mean(own))

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
        far = np.sqrt(160.0 / self.freedom)  # where half (e^x - 1 - x), of which x^2/2 is a part, is 40 or more
        logs = np.arange(low, min(far, np.log1p(80.0 / self.freedom + far)) + step, step)
        density = half * log(half) - lgamma(half) + half * (logs - np.exp(logs))
        return np.exp(logs), density + log(step)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        nu = self.freedom
        level = lgamma((nu + 1) / 2) - lgamma(nu / 2) - log(nu * pi * w) / 2
        squares = precision * np.square(residual) / w
        return np.asarray(level + np.log(precision) / 2 - (nu + 1) / 2 * np.log1p(squares / nu))

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability of noise of unit scale between two ends."""
        from scipy.special import stdtr

        low, high = lower_half(low, high)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(stdtr(self.freedom, high) - stdtr(self.freedom, low)))

    def fall(self, z: Floats) -> Floats:
        """Return minus the derivative of the log density in log z."""
        return np.asarray((self.freedom + 1) * np.square(z) / (self.freedom + np.square(z)))

    def partial_mean(self, z: Floats) -> Floats:
        """Return the integral of z times its density up to a point."""
        nu = self.freedom
        if nu == 1:
            return np.asarray(np.log1p(np.square(z)) / (2 * pi))
        density = np.exp(self.log_density(z, np.ones_like(z), 1.0))
        return np.asarray(-density * (nu + np.square(z)) / (nu - 1))


@dataclass(frozen=True, slots=True)
class Huber(Symmetric, OneShape):
    """Normal in the middle, exponential beyond ``bend`` standard deviations."""

    bend: float = 1.345  # where it bends; 1.345 keeps 95 % of the efficiency on normal scores
    is_normal: bool = False
    least: float = LEAST
    most: float = MOST
    first: float = 1.0

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
        mass, *moments = _piece(at / (1 + spread), narrow, np.full(at.size, -k), np.full(at.size, k))
        pieces = [(log_normal(at, 1 + spread) + log(2 * pi) / 2 + mass, 1.0, moments)]
        for side in (1.0, -1.0):
            height, *moments = _tail(side * at, spread, k)
            pieces.append((height, side, moments))
        heights = np.stack([height for height, _, _ in pieces])
        top = heights.max(axis=0)
        part = np.exp(heights - top)
        mass = part.sum(axis=0)
        part /= mass
        means = np.stack([side * moments[0] for _, side, moments in pieces])
        squares = np.stack([moments[1] + np.square(moments[0]) for _, _, moments in pieces])
        mean = (part * means).sum(axis=0)
        left = (part * (np.stack([moments[1] for _, _, moments in pieces]) + np.square(means - mean))).sum(axis=0)
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

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability of noise of unit scale between two ends."""
        low, high = lower_half(low, high)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._below(high) - self._below(low)))

    def _below(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        k = self.bend
        tail = np.exp(np.minimum(k * (k / 2 - np.abs(z)), -(k**2) / 2)) / (k * self._area)
        middle = 0.5 + np.sqrt(2 * pi) * (ndtr(np.clip(z, -k, k)) - 0.5) / self._area
        return np.where(z < -k, tail, np.where(z > k, 1.0 - tail, middle))

    def fall(self, z: Floats) -> Floats:
        """Return minus the derivative of the log density in log z."""
        return np.minimum(np.square(z), self.bend * np.abs(z))

    def partial_mean(self, z: Floats) -> Floats:
        """Return the integral of z times its density up to a point."""
        k, size = self.bend, np.abs(z)
        beyond = np.maximum(size, k)
        tail = -np.exp(k * (k / 2 - beyond)) * (beyond / k + 1 / k**2)
        middle = np.where(size < k, np.exp(-(k**2) / 2) - np.exp(-np.square(np.minimum(size, k)) / 2), 0.0)
        return np.asarray((tail + middle) / self._area)


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


def _tail(at: Floats, spread: Floats, k: float) -> tuple[Floats, Floats, Floats]:
    """Return log mass, mean and variance of what lies beyond k of exp(k^2/2 - k x) times a normal density.

    That is a normal density again, with a mean that is k times the variance lower. Where almost nothing else is known
    this lies so far below k that all digits would cancel: there the terms that cancel are left out, and mean and
    variance beyond k are series in its distance.
    """
    from scipy.special import erfcx

    sd = np.sqrt(spread)
    away = (k - at) / sd + k * sd  # the distance of k from that mean, in standard deviations
    log_mass, mean, variance = _piece(at - k * spread, spread, np.full(at.size, k), np.full(at.size, np.inf))
    near = np.maximum(away, 1.0)
    beyond = -(k**2) / 2 - np.square(k - at) / (2 * spread) + np.log(erfcx(near / np.sqrt(2)) / 2)
    inside = k * (k / 2 + k * spread / 2 - at) + log_mass
    inverse = np.square(1.0 / np.maximum(away, _DISTANT))
    is_far = away > _DISTANT
    return (
        np.where(away > 1.0, beyond, inside),
        np.where(is_far, k + sd * np.sqrt(inverse) * (1 - inverse * (2 - inverse * (10 - 74 * inverse))), mean),
        np.where(is_far, spread * inverse * (1 - inverse * (6 - inverse * (50 - 518 * inverse))), variance),
    )


def _both_below(first: Floats, second: Floats, correlation: Floats) -> Floats:
    """Return the probability that two standard normals of a correlation are below these, by Owen's function T."""
    from scipy.special import ndtr, owens_t

    root = np.sqrt((1 - correlation) * (1 + correlation))
    second = np.where(second == 0, 1e-300, second)
    with np.errstate(divide="ignore", over="ignore"):
        one = owens_t(first, (second - correlation * first) / (first * root))
        two = owens_t(second, (first - correlation * second) / (second * root))
    return np.asarray((ndtr(first) + ndtr(second)) / 2 - one - two - np.where(first * second < 0, 0.5, 0.0))


def freedom_unknown(likelihood: Callable[[float], Likelihood]) -> Unknown:
    """Return the degrees of freedom of Student's noise, in logarithms, as a number that the scores must tell."""

    def put(setting: Setting, x: float) -> Setting:
        return replace(setting, likelihood=likelihood(exp(x)))

    return Unknown("freedom", put, {"freedom": 1.0}, log(5.0), log(1.5), log(200.0), lambda x: 2 * x - 0.1 * exp(x))
