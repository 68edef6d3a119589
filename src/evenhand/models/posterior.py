"""The posterior of values and biases in any gauge: Cov = w P L^- P^T, P = I - n gamma^T / (gamma^T n) (App. D)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError, LimitError
from evenhand.memory import require
from evenhand.models.noise import Noise
from evenhand.panel.gauge import Condition
from evenhand.solve.base import Answering

_LARGEST_COVARIANCE: Final = 20_000
_NAMED: Final = 8
"""Up to so many members that a gauge names, such as anchors, have variances that are not sampled; one has none."""

_HALVINGS: Final = 60
_SLICES: Final = 512


@dataclass(frozen=True, eq=False)
class Alternative:
    """The posterior with other variances of the model, which the scores do not rule out."""

    probability: float  # how probable these variances are
    posterior: Posterior  # the posterior, given them
    # values, biases: by how much its values and biases differ from the estimates of the fit
    values: Floats
    biases: Floats

    def in_gauge(self, condition: Condition) -> Alternative:
        """Return the same in another gauge."""
        posterior = self.posterior.in_gauge(condition)
        values, biases = posterior.project(self.values[None], self.biases[None])
        return Alternative(self.probability, posterior, values[0], biases[0])


@dataclass(frozen=True, eq=False)
class Posterior:
    """Uncertainty of a fit. Everything is computed when first asked for.

    Attributes
    ----------
    noise
        What is known about the noise variance w; multiplies everything below.
    value_precision
        C_o, all that averages need.
    n_assessors
        Number of assessors.
    solver
        Answers questions about L^-; None for averages, whose values are independent.
    condition
        The gauge; None for averages, and where priors fix the level of the biases.
    others
        Finds the alternatives; None where the model has no variances to be estimated.
    """

    noise: Noise
    value_precision: Floats
    n_assessors: int
    solver: Answering | None = None
    condition: Condition | None = None
    others: Callable[[], tuple[Alternative, ...]] | None = field(default=None, repr=False)

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other variances of the model, with their probabilities; empty where there are none.

        They widen standard deviations, intervals, chances and draws. What is said "for w = 1" is given the best ones.
        """
        return () if self.others is None else self.others()

    def in_gauge(self, condition: Condition) -> Posterior:
        """Return the same posterior in another gauge."""
        others = self.others
        if others is None:
            return replace(self, condition=condition)
        return replace(self, condition=condition, others=lambda: tuple(one.in_gauge(condition) for one in others()))

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
        if self.solver is None:
            return 1.0 / self.value_precision, np.zeros(self.n_assessors)
        of_values, of_biases = self.solver.diagonal()
        if self.condition is None:
            return np.maximum(of_values, 0.0), np.maximum(of_biases, 0.0)
        gauge = self.condition
        value_image, bias_image = self.solver.apply(gauge.value_weight, gauge.bias_weight)
        count = gauge.constant.size
        spread = sum_by(gauge.object_component, gauge.value_weight * value_image, count)
        spread += sum_by(gauge.assessor_component, gauge.bias_weight * bias_image, count)
        tilt, level = 1.0 / gauge.slope, spread / gauge.slope / gauge.slope
        values = of_values - 2 * (value_image * tilt[gauge.object_component]) + level[gauge.object_component]
        biases = of_biases + 2 * (bias_image * tilt[gauge.assessor_component]) + level[gauge.assessor_component]
        objects, assessors = np.flatnonzero(gauge.value_weight), np.flatnonzero(gauge.bias_weight)
        named = objects.size + assessors.size
        if named == count or (named <= _NAMED and self.solver.diagonal_error > 0):
            columns = np.arange(named)
            of_objects, of_assessors = np.zeros((values.size, named)), np.zeros((biases.size, named))
            of_objects[objects, columns[: objects.size]] = 1.0
            of_assessors[assessors, columns[objects.size :]] = 1.0
            exact = self.contrast_variances(of_objects, of_assessors)
            values[objects], biases[assessors] = exact[: objects.size], exact[objects.size :]
        return np.maximum(values, 0.0), np.maximum(biases, 0.0)

    @cached_property
    def of_values(self) -> Marginal:
        """What is known about each value, as a deviation from its estimate."""
        if not self.alternatives:
            return Marginal.single(self.noise, self.unit_value_variance)
        parts = [(one, one.values, one.posterior.unit_value_variance) for one in self.alternatives]
        return Marginal.mixed([(one.probability, one.posterior.noise, shift, unit) for one, shift, unit in parts])

    @cached_property
    def of_biases(self) -> Marginal:
        """What is known about each bias, as a deviation from its estimate."""
        if not self.alternatives:
            return Marginal.single(self.noise, self.unit_bias_variance)
        parts = [(one, one.biases, one.posterior.unit_bias_variance) for one in self.alternatives]
        return Marginal.mixed([(one.probability, one.posterior.noise, shift, unit) for one, shift, unit in parts])

    def of_contrasts(self, value_weight: Floats, bias_weight: Floats | None = None) -> Marginal:
        """Return what is known about sum value_weight v + sum bias_weight b, for each column of weights."""
        if not self.alternatives:
            return Marginal.single(self.noise, self.contrast_variances(value_weight, bias_weight))
        parts = []
        for one in self.alternatives:
            shift = value_weight.T @ one.values
            if bias_weight is not None:
                shift = shift + bias_weight.T @ one.biases
            unit = one.posterior.contrast_variances(value_weight, bias_weight)
            parts.append((one.probability, one.posterior.noise, shift, unit))
        return Marginal.mixed(parts)

    def of_differences(self, first: Sequence[int], second: Sequence[int]) -> Marginal:
        """Return what is known about differences between values of objects: the same in every gauge."""
        if self.condition is not None:
            group = self.condition.object_component
            if (group[np.asarray(first)] != group[np.asarray(second)]).any():
                raise InputError("Objects of different groups cannot be compared.", kind="not_comparable")
        weights = np.zeros((self.value_precision.size, len(first)))
        columns = np.arange(len(first))
        np.add.at(weights, (np.asarray(first), columns), 1.0)
        np.add.at(weights, (np.asarray(second), columns), -1.0)
        return self.of_contrasts(weights)

    def project(self, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return P times draws (rows) of values and biases: moved along the null vector until the gauge holds."""
        gauge = self.condition
        if gauge is None:
            return values, biases
        of_values, of_biases = gauge.project(values.T, biases.T)
        return of_values.T, of_biases.T

    def contrast_variances(self, value_weight: Floats, bias_weight: Floats | None = None) -> Floats:
        """Return the variance, for w = 1, of sum value_weight v + sum bias_weight b, for each column of weights."""
        if bias_weight is None:
            bias_weight = np.zeros((self.n_assessors, *value_weight.shape[1:]))
        if self.solver is None:
            return np.asarray(np.square(value_weight).T @ (1.0 / self.value_precision), dtype=np.float64)
        if self.condition is not None:
            value_weight, bias_weight = self.condition.transposed(value_weight, bias_weight)
        return np.maximum(self.solver.contrasts(value_weight, bias_weight), 0.0)

    def unit_covariance(self) -> Floats:
        """Return the covariance of (values, biases) for w = 1: (n_O + n_A) rows and columns."""
        n_objects = self.value_precision.size
        size = n_objects + self.n_assessors
        if size > _LARGEST_COVARIANCE:
            raise LimitError(
                f"The full covariance of {size:,} values and biases would need {8 * size**2 / 2**30:,.0f} GiB; "
                "ask for contrasts or draws instead."
            )
        require(40.0 * size**2, f"the full covariance of {size:,} values and biases")
        if self.solver is None:
            return np.diag(np.concatenate([1.0 / self.value_precision, np.zeros(self.n_assessors)]))
        identity = np.eye(size)
        inverse = np.vstack(self.solver.apply(identity[:n_objects], identity[n_objects:]))
        projected = np.hstack(self.project(inverse[:, :n_objects], inverse[:, n_objects:])).T
        both = np.hstack(self.project(projected[:, :n_objects], projected[:, n_objects:]))
        return np.asarray((both + both.T) / 2, dtype=np.float64)

    def covariance(self) -> Floats | None:
        """Return the covariance of (values, biases); None where there is none."""
        if not self.alternatives:
            variance = self.noise.variance
            return None if variance is None else variance * self.unit_covariance()
        total = np.zeros((self.value_precision.size + self.n_assessors,) * 2)
        for one in self.alternatives:
            part = one.posterior.covariance()
            if part is None:
                return None
            away = np.concatenate([one.values, one.biases])
            total += one.probability * (part + np.outer(away, away))
        return total

    def draw(self, count: int, generator: np.random.Generator) -> tuple[Floats, Floats] | None:
        """Return draws (rows) of the deviations of values and biases from their estimates, or None."""
        drawn = self.draw_unfixed(count, generator)
        return None if drawn is None else self.project(*drawn)

    def draw_unfixed(self, count: int, generator: np.random.Generator) -> tuple[Floats, Floats] | None:
        """Return such draws each up to a shift of its own: enough for ranks, and the same in every gauge."""
        if self.alternatives:
            return self._draw_mixed(count, generator)
        scale = self.noise.draw_scale(generator, count)
        if scale is None:
            return None
        size = self.value_precision.size + self.n_assessors
        require(24.0 * count * size, f"{count:,} draws of {size:,} values and biases")
        if self.solver is None:
            values = generator.standard_normal((count, self.value_precision.size))
            values /= np.sqrt(self.value_precision)
            biases = np.zeros((count, self.n_assessors))
        else:
            values, biases = self.solver.draw(generator, count)
        values *= scale[:, None]
        return values, biases * scale[:, None]

    def _draw_mixed(self, count: int, generator: np.random.Generator) -> tuple[Floats, Floats] | None:
        values, biases = np.empty((count, self.value_precision.size)), np.empty((count, self.n_assessors))
        chosen = generator.choice(len(self.alternatives), size=count, p=[one.probability for one in self.alternatives])
        for at, one in enumerate(self.alternatives):
            rows = np.flatnonzero(chosen == at)
            drawn = one.posterior.draw_unfixed(rows.size, generator)
            if drawn is None:
                return None
            values[rows], biases[rows] = drawn[0] + one.values, drawn[1] + one.biases
        return values, biases


@dataclass(frozen=True, eq=False)
class Marginal:
    """What is known about each of several quantities, as a deviation from its estimate: a mixture of scaled noises."""

    # probability, noise: the parts of the mixture; one, mostly
    probability: Floats
    noise: tuple[Noise, ...]
    # shift, spread: for each part (rows) and quantity (columns) the centre, and the standard deviation for w = 1
    shift: Floats
    spread: Floats

    @classmethod
    def single(cls, noise: Noise, unit_variance: Floats) -> Marginal:
        """Return a mixture of one part."""
        spread = np.sqrt(np.atleast_1d(unit_variance))[None]
        return cls(np.ones(1), (noise,), np.zeros_like(spread), spread)

    @classmethod
    def mixed(cls, parts: Sequence[tuple[float, Noise, Floats, Floats]]) -> Marginal:
        """Return a mixture of parts: probability, noise, shifts and variances for w = 1."""
        probability, noise, shift, unit = zip(*parts, strict=True)
        rows = (np.stack([np.atleast_1d(row) for row in rows]) for rows in (shift, unit))
        return cls(np.asarray(probability), noise, next(rows), np.sqrt(next(rows)))

    @cached_property
    def sd(self) -> Floats | None:
        """Standard deviations about the estimates; None where there are none."""
        variances = [noise.variance for noise in self.noise]
        known = np.array([variance for variance in variances if variance is not None])
        if known.size < len(variances):
            return None
        if known.size == 1:
            return np.asarray(np.sqrt(known[0]) * self.spread[0])
        mixed = self.probability @ (known[:, None] * np.square(self.spread) + np.square(self.shift))
        return np.asarray(np.sqrt(mixed))

    def interval(self, probability: float) -> tuple[Floats, Floats] | None:
        """Return the ends of the central interval with this probability; None where there is none."""
        tail = 0.5 + probability / 2
        reach = [noise.quantile(tail) for noise in self.noise]
        if any(one is None for one in reach):
            return None
        if len(reach) == 1:
            half = reach[0] * self.spread[0]
            return -half, half
        far = np.array(reach)[:, None] * self.spread
        # the quantile of a mixture lies between the least and the greatest quantile of its parts
        lower = self._quantile(1 - tail, (self.shift - far).min(axis=0), (self.shift - far).max(axis=0))
        upper = self._quantile(tail, (self.shift + far).min(axis=0), (self.shift + far).max(axis=0))
        return lower, upper

    def _quantile(self, probability: float, low: Floats, high: Floats) -> Floats:
        """Return quantiles by bisection."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle)
            if below is None:  # the quantiles of the parts exist, so that this does not happen
                break
            low, high = np.where(below < probability, middle, low), np.where(below < probability, high, middle)
        return np.asarray((low + high) / 2)

    def cdf(self, deviation: Floats) -> Floats | None:
        """Return the probability that each quantity is at most its estimate plus a deviation.

        Where a quantity is known exactly, half of the probability lies on either side of it.
        """
        total = np.zeros(np.broadcast_shapes(np.shape(deviation), self.spread.shape[1:]))
        for probability, noise, shift, spread in zip(
            self.probability, self.noise, self.shift, self.spread, strict=True
        ):
            away = deviation - shift
            with np.errstate(divide="ignore", invalid="ignore"):
                standard = np.where(spread > 0, away / spread, np.where(away == 0, 0.0, np.sign(away) * np.inf))
            part = noise.cdf(standard)
            if part is None:
                return None
            total += probability * part
        return total


def mapped_sd(marginal: Marginal, centre: Floats, back: Callable[[Floats], Floats]) -> Floats | None:
    """Return standard deviations after an increasing map back to points, by averaging over equally probable slices."""
    total = np.zeros_like(centre)
    for chance, noise, shift, spread in zip(
        marginal.probability, marginal.noise, marginal.shift, marginal.spread, strict=True
    ):
        places = [noise.quantile((at + 0.5) / _SLICES) for at in range(_SLICES)]
        known = [place for place in places if place is not None]
        if len(known) < _SLICES:
            return None
        about = back(centre + shift + np.outer(known, spread)) - back(centre)
        total += chance * np.square(about).mean(axis=0)
    return np.asarray(np.sqrt(total))
