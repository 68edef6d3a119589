"""Scores rounded to a step: only the interval that a score stands for is known (App. F)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Final

import numpy as np

from evenhand.compiled import Floats
from evenhand.models.noise import LEAST, OneShape, Tilted

_FINE: Final = 0.02
"""A step below this part of the noise is treated as noise with its variance."""

_ON: Final = 1e-9
"""A number this part of a step below a multiple of it is that multiple, but for rounding."""


@dataclass(frozen=True, slots=True)
class Rounded(OneShape):
    """Normal, and then rounded to a multiple of a step: only the interval that a score stands for is known."""

    step: float  # the step, such as 1 for whole points and 0.5 for half points
    is_normal: bool = False
    is_symmetric: bool = True
    least: float = LEAST

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mass below the upper end of the interval of the last multiple of the step up to x."""
        from scipy.special import ndtr

        end = (np.floor(x / self.step + _ON) + 0.5) * self.step
        return np.asarray(ndtr((end - mean) / np.sqrt(variance + w / precision)), dtype=np.float64)

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

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return what an interval says of normal noise and a normal fit: their sum lies in it."""
        noise = w / precision
        log_mass, slope, bend = self._slopes(away, 1.0 / (variance + noise), 1.0)
        return Tilted(log_mass - log(self.step), slope, bend, 1 + noise * (np.square(slope) - bend))

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log probability of each interval, per unit of the step."""
        return self._slopes(residual, precision, w)[0] - log(self.step)
