"""How a score scatters about what the model expects: normal, Student, Huber, or normal and then rounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST: Final = 1e-3
"""An outlying score keeps this part of its confidence, so that no object or assessor is left without any."""


_FINE: Final = 0.02
"""A step below this part of the noise is treated as noise with its variance."""


class Likelihood(Protocol):
    """The density of residuals r = s - fitted, for precisions c and noise variance w: what an iteration must know."""

    @property
    def is_normal(self) -> bool:
        """Whether one weighted least-squares fit is the answer."""

    def working(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats]:
        """Return weights, and how far from the fit the scores to be fitted next lie."""

    def curvature(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return weights that tell how sharply each score determines the fit: -w times the second derivative."""

    def scatter(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return what each score says of the noise, 1 - 2 d log p / d log c: c r^2 / w where it is normal."""

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""


@dataclass(frozen=True, slots=True)
class Normal:
    """The paper's own: s = fitted + sigma eta."""

    is_normal: bool = True

    def working(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats]:
        """Return the precisions and the residuals themselves."""
        return precision, residual

    def curvature(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the precisions."""
        return precision

    def scatter(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return c r^2 / w."""
        return np.asarray(precision * np.square(residual) / w)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        return (np.log(precision / (2 * pi * w)) - precision * np.square(residual) / w) / 2


@dataclass(frozen=True, slots=True)
class Student:
    """Heavy tails: each score has a noise of its own that is now and then large.

    Attributes
    ----------
    freedom
        Degrees of freedom; the fewer, the heavier the tails.
    """

    freedom: float = 4.0
    is_normal: bool = False

    def _squares(self, residual: Floats, precision: Floats, w: float) -> Floats:
        return np.asarray(precision * np.square(residual) / w)

    def working(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats]:
        """Return precisions times (nu + 1)/(nu + z^2), which an outlier has little of."""
        squares = self._squares(residual, precision, w)
        return precision * (self.freedom + 1) / (self.freedom + squares), residual

    def curvature(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the observed curvature; that of an outlier is negative, and held at next to nothing."""
        squares, nu = self._squares(residual, precision, w), self.freedom
        observed = (nu + 1) * (nu - squares) / np.square(nu + squares)
        return np.asarray(precision * np.maximum(observed, LEAST))

    def scatter(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return (nu + 1) z^2 / (nu + z^2), to which an outlier adds no more than nu + 1."""
        squares = self._squares(residual, precision, w)
        return (self.freedom + 1) * squares / (self.freedom + squares)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        nu = self.freedom
        level = lgamma((nu + 1) / 2) - lgamma(nu / 2) - log(nu * pi * w) / 2
        squares = self._squares(residual, precision, w)
        return level + np.log(precision) / 2 - (nu + 1) / 2 * np.log1p(squares / nu)


@dataclass(frozen=True, slots=True)
class Huber:
    """Normal in the middle, exponential beyond ``bend`` standard deviations.

    Attributes
    ----------
    bend
        Where it bends; 1.345 keeps 95 % of the efficiency on normal scores.
    """

    bend: float = 1.345
    is_normal: bool = False

    def working(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats]:
        """Return precisions that fall as 1/|z| beyond the bend."""
        size = np.abs(residual) * np.sqrt(precision / w)
        return precision * np.minimum(1.0, self.bend / np.maximum(size, self.bend)), residual

    def curvature(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the precisions, and next to nothing beyond the bend."""
        size = np.abs(residual) * np.sqrt(precision / w)
        return np.where(size <= self.bend, precision, LEAST * precision)

    def scatter(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return z^2, and k |z| beyond the bend."""
        size = np.abs(residual) * np.sqrt(precision / w)
        return np.asarray(size * np.minimum(size, self.bend))

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        from scipy.special import ndtr

        k = self.bend
        area = np.sqrt(2 * pi) * (2 * ndtr(k) - 1) + 2 / k * np.exp(-(k**2) / 2)
        size = np.abs(residual) * np.sqrt(precision / w)
        loss = np.where(size <= k, np.square(size) / 2, k * size - k**2 / 2)
        return np.asarray(np.log(precision / w) / 2 - np.log(area) - loss)


@dataclass(frozen=True, slots=True)
class Rounded:
    """Normal, and then rounded to a multiple of a step: only the interval that a score stands for is known.

    Attributes
    ----------
    step
        The step, such as 1 for whole points and 0.5 for half points.
    """

    step: float
    is_normal: bool = False

    def _slopes(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats, Floats]:
        """Return the log probability of each interval, and its first and minus its second derivative in the fit."""
        from scipy.special import log_ndtr

        root = np.sqrt(precision / w)
        # by symmetry the interval lies above the fit, where differences of tails keep their digits
        side = np.where(residual < 0, -1.0, 1.0)
        away = np.abs(residual)
        low, high = (away - self.step / 2) * root, (away + self.step / 2) * root
        below, above = log_ndtr(-low), log_ndtr(-high)
        log_mass = below + np.log(-np.expm1(np.minimum(above - below, -1e-300)))
        first_low = np.exp(-np.square(low) / 2 - log_mass) / np.sqrt(2 * pi)
        first_high = np.exp(-np.square(high) / 2 - log_mass) / np.sqrt(2 * pi)
        slope = first_low - first_high
        bend = np.square(slope) - (low * first_low - high * first_high)
        # a step far below the noise is noise of its own: differences of tails would lose their digits
        fine = self.step * root < _FINE
        inner = np.square(root) / (1 + np.square(self.step * root) / 12)
        log_fine = log(self.step) + (np.log(inner / (2 * pi)) - inner * np.square(residual)) / 2
        return (
            np.where(fine, log_fine, log_mass),
            np.where(fine, inner * residual, side * slope * root),
            np.where(fine, inner, bend * np.square(root)),
        )

    def working(self, residual: Floats, precision: Floats, w: float) -> tuple[Floats, Floats]:
        """Return the step of Newton's method: the interval's own curvature, and slope over curvature."""
        _, slope, bend = self._slopes(residual, precision, w)
        bend = np.maximum(bend, LEAST * precision / w)
        return w * bend, slope / bend

    def curvature(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the curvature of the log probability of each interval."""
        return np.maximum(w * self._slopes(residual, precision, w)[2], LEAST * precision)

    def scatter(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return what is expected of z^2 within the interval."""
        _, slope, bend = self._slopes(residual, precision, w)
        return np.asarray(1 + (np.square(slope) - bend) * w / precision)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log probability of each interval, per unit of the step."""
        return self._slopes(residual, precision, w)[0] - log(self.step)
