"""What makes a design good: variances of values, the worst of them, mu_2, the determinant, or a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from scipy.special import ndtr, owens_t

from evenhand.compiled import Floats
from evenhand.design.problem import Flags, Problem
from evenhand.errors import InputError

Objective = Literal["variance", "differences", "worst", "gap", "determinant", "top"]
"""What to make small (or large): the mean variance of values (A), that of differences between two objects, the largest
variance, the spectral gap mu_2 (E), the determinant of the information on values (D), or wrong decisions on a top k."""

OBJECTIVES: Final = get_args(Objective)

_POWER: Final = 12.0
"""The largest variance is sought by way of the mean of such powers of all."""


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """An objective with all that it needs.

    Attributes
    ----------
    objective
        Which one.
    expected
        What each value is expected to be, for a top k (n_O).
    value_sd
        How far values may be from that, in points.
    top
        The number of places.
    expertise_weight
        From 0, comparability alone, to 1, expertise alone.
    """

    objective: Objective = "variance"
    expected: Floats | None = None
    value_sd: float = 1.0
    top: int = 0
    expertise_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"There is no objective {self.objective!r}: use one of {', '.join(OBJECTIVES)}.", kind="bad_option"
            )
        if not 0 <= self.expertise_weight <= 1:
            raise InputError("The weight of expertise must be from 0 to 1.", kind="bad_option")
        if not (np.isfinite(self.value_sd) and self.value_sd > 0):
            raise InputError("The spread of values must be positive.", kind="bad_option")

    @property
    def is_linear(self) -> bool:
        """Whether the objective is a weighted mean of variances, the weights of which are known beforehand."""
        return self.objective in ("variance", "differences")

    def loss(self, variances: Floats) -> float:
        """Return how bad variances are: for all objectives that depend on these alone; less is better."""
        if self.objective == "worst":
            return float(variances.max())
        if self.objective == "top":
            return float(self._misplaced(variances).sum())
        return float(variances.mean())

    def weights(self, variances: Floats) -> Floats:
        """Return weights of the objects, which sum to one: how fast the loss grows with the variance of each."""
        if self.objective == "worst":
            slope = np.power(variances / variances.max(), _POWER - 1)
        elif self.objective == "top":
            step = 1e-4 * variances
            slope = (self._misplaced(variances + step) - self._misplaced(variances - step)) / (2 * step)
            slope = np.maximum(slope, 1e-6 * slope.max())
        else:
            slope = np.ones(variances.size)
        return np.asarray(slope / slope.sum(), dtype=np.float64)

    def _misplaced(self, variances: Floats) -> Floats:
        """Return the probability of each object to end on the wrong side of the line after place k.

        A value is N(m, s^2) beforehand. Scores that tell it with variance t^2 leave it N(m', u^2), u^2 = 1/(1/s^2 +
        1/t^2), and deciding by m' errs with probability 2 T(z, u/sqrt(s^2 - u^2)), z = (m - line)/s, T being Owen's
        function; without expected values, m is the mean of all and the line lies where k of n objects are above it.
        """
        sd, n_objects = self.value_sd, variances.size
        if self.expected is None:
            from scipy.special import ndtri

            distance = np.full(n_objects, -ndtri(1 - self.top / n_objects))
        else:
            ordered = np.sort(self.expected)[::-1]
            distance = (self.expected - (ordered[self.top - 1] + ordered[self.top]) / 2) / sd
        left = 1 / (1 / sd**2 + 1 / variances)
        ratio = np.sqrt(left / np.maximum(sd**2 - left, 1e-300))
        wrong = 2 * owens_t(distance, ratio)
        return np.asarray(np.where(np.isfinite(variances), wrong, ndtr(-np.abs(distance))), dtype=np.float64)


def spectral_gap(problem: Problem, chosen: Flags) -> float:
    """Return mu_2 of a design (App. C), assessors without work left out: 1 - the second singular value of D."""
    used, code = np.unique(problem.assessor[chosen], return_inverse=True)
    object_, precision = problem.object[chosen], problem.precision[chosen]
    scaled = np.zeros((problem.n_objects, used.size))
    scaled[object_, code] = precision
    scaled /= np.sqrt(np.outer(scaled.sum(axis=1), scaled.sum(axis=0)))
    if min(scaled.shape) == 1:
        return 1.0
    return float(1 - np.linalg.svd(scaled, compute_uv=False)[1])
