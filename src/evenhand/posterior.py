"""The posterior of values and biases in any gauge: Cov = w P L^- P^T, P = I - n gamma^T / (gamma^T n) (App. D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.errors import InputError, LimitError
from evenhand.gauge import Condition
from evenhand.loops import sum_by
from evenhand.noise import Noise
from evenhand.solve.base import Solver

Floats = NDArray[np.float64]
_LARGEST_COVARIANCE: Final = 20_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """Uncertainty of a fit. Everything is computed when first asked for.

    Attributes
    ----------
    noise
        What is known about the noise variance w; multiplies everything below.
    solver
        Answers questions about L^-; None for averages, whose values are independent.
    condition
        The gauge; None for averages.
    value_precision
        C_o, all that averages need.
    """

    noise: Noise
    value_precision: Floats
    n_assessors: int
    solver: Solver | None = None
    condition: Condition | None = None

    def in_gauge(self, condition: Condition) -> Posterior:
        """Return the same posterior in another gauge."""
        return replace(self, condition=condition)

    @property
    def unit_value_variance(self) -> Floats:
        """Variances of the values for w = 1."""
        return self.unit_variances[0]

    @property
    def unit_bias_variance(self) -> Floats:
        """Variances of the biases for w = 1; zeros for averages, which hold every bias to be zero."""
        return self.unit_variances[1]

    @cached_property
    def unit_variances(self) -> tuple[Floats, Floats]:
        """Variances of values and of biases for w = 1."""
        if self.solver is None or self.condition is None:
            return 1.0 / self.value_precision, np.zeros(self.n_assessors)
        gauge = self.condition
        of_values, of_biases = self.solver.diagonal()
        value_image, bias_image = self.solver.apply(gauge.value_weight, gauge.bias_weight)
        count = gauge.constant.size
        spread = sum_by(gauge.object_component, gauge.value_weight * value_image, count)
        spread += sum_by(gauge.assessor_component, gauge.bias_weight * bias_image, count)
        tilt, level = 1.0 / gauge.slope, spread / gauge.slope / gauge.slope
        values = of_values - 2 * (value_image * tilt[gauge.object_component]) + level[gauge.object_component]
        biases = of_biases + 2 * (bias_image * tilt[gauge.assessor_component]) + level[gauge.assessor_component]
        return np.maximum(values, 0.0), np.maximum(biases, 0.0)

    def value_sd(self) -> Floats | None:
        """Return the standard deviation of each value, or None where there is none (see ``noise.reason``)."""
        return self._sd(self.unit_value_variance)

    def bias_sd(self) -> Floats | None:
        """Return the standard deviation of each bias, or None where there is none."""
        return self._sd(self.unit_bias_variance)

    def _sd(self, unit: Floats) -> Floats | None:
        variance = self.noise.variance
        return None if variance is None else np.sqrt(variance * unit)

    def half_width(self, unit_variance: Floats, probability: float) -> Floats | None:
        """Return half the width of the central interval with this probability."""
        quantile = self.noise.quantile(0.5 + probability / 2)
        return None if quantile is None else quantile * np.sqrt(unit_variance)

    def project(self, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return P times draws (rows) of values and biases: moved along the null vector until the gauge holds."""
        gauge = self.condition
        if gauge is None:
            return values, biases
        left = values @ _spread(gauge.value_weight, gauge.object_component, gauge.constant.size)
        left += biases @ _spread(gauge.bias_weight, gauge.assessor_component, gauge.constant.size)
        shift = -left / gauge.slope
        return values + shift[:, gauge.object_component], biases - shift[:, gauge.assessor_component]

    def contrast_variance(self, value_weight: Floats, bias_weight: Floats | None = None) -> float:
        """Return the variance, for w = 1, of sum value_weight v + sum bias_weight b."""
        if bias_weight is None:
            bias_weight = np.zeros(self.n_assessors)
        if self.solver is None or self.condition is None:
            return float(np.square(value_weight) @ (1.0 / self.value_precision))
        gauge, count = self.condition, self.condition.constant.size
        along = sum_by(gauge.object_component, value_weight, count)
        along -= sum_by(gauge.assessor_component, bias_weight, count)
        along = along / gauge.slope
        of_values = value_weight - gauge.value_weight * along[gauge.object_component]
        of_biases = bias_weight - gauge.bias_weight * along[gauge.assessor_component]
        return max(0.0, float(self.solver.contrasts(of_values, of_biases)))

    def unit_covariance(self) -> Floats:
        """Return the covariance of (values, biases) for w = 1: (n_O + n_A) rows and columns."""
        n_objects = self.value_precision.size
        size = n_objects + self.n_assessors
        if size > _LARGEST_COVARIANCE:
            raise LimitError(
                f"The full covariance of {size:,} values and biases would need {8 * size**2 / 2**30:,.0f} GiB; "
                "ask for contrasts or draws instead."
            )
        if self.solver is None or self.condition is None:
            return np.diag(np.concatenate([1.0 / self.value_precision, np.zeros(self.n_assessors)]))
        identity = np.eye(size)
        inverse = np.vstack(self.solver.apply(identity[:n_objects], identity[n_objects:]))
        projected = np.hstack(self.project(inverse[:, :n_objects], inverse[:, n_objects:])).T
        both = np.hstack(self.project(projected[:, :n_objects], projected[:, n_objects:]))
        return np.asarray((both + both.T) / 2, dtype=np.float64)

    def draw(self, count: int, generator: np.random.Generator) -> tuple[Floats, Floats] | None:
        """Return draws (rows) of the deviations of values and biases from their estimates, or None."""
        scale = self.noise.draw_scale(generator, count)
        if scale is None:
            return None
        if self.solver is None:
            values = generator.standard_normal((count, self.value_precision.size)) / np.sqrt(self.value_precision)
            biases = np.zeros((count, self.n_assessors))
        else:
            values, biases = self.project(*self.solver.draw(generator, count))
        return values * scale[:, None], biases * scale[:, None]

    def pair_variances(self, first: Sequence[int], second: Sequence[int]) -> Floats:
        """Return the variances, for w = 1, of differences between values of objects: the same in every gauge."""
        n_objects = self.value_precision.size
        if self.condition is not None:
            group = self.condition.object_component
            if (group[np.asarray(first)] != group[np.asarray(second)]).any():
                raise InputError("Objects of different groups cannot be compared.", kind="not_comparable")
        weights = np.zeros((n_objects, len(first)))
        columns = np.arange(len(first))
        weights[np.asarray(first), columns] += 1.0
        weights[np.asarray(second), columns] -= 1.0
        if self.solver is None:
            return np.asarray(np.square(weights).T @ (1.0 / self.value_precision), dtype=np.float64)
        found = self.solver.contrasts(weights, np.zeros((self.n_assessors, len(first))))
        return np.maximum(found, 0.0)


def _spread(weight: Floats, component: NDArray[np.int64], count: int) -> sp.csr_array[Any]:
    """Return weights as a matrix with a column for each component."""
    return sp.coo_array((weight, (np.arange(weight.size), component)), shape=(weight.size, count)).tocsr()
