"""What a model says of scores that it has not seen: the probability of each score that could be recorded.

What is expected of a score is itself unsure, and the score scatters about it; where variances of the model are unsure
too, the distribution is a mixture over those that are credible. Predictions of new scores and of held-out scores are
both of this kind, and so are all methods compared by the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from evenhand.compiled import Codes, Floats
from evenhand.errors import InputError
from evenhand.models.noise import Likelihood, Noise, Normal, between_tails
from evenhand.models.posterior import Posterior
from evenhand.solve.base import AT_ONCE

if TYPE_CHECKING:
    from evenhand.models.setting import Node, Work

T = TypeVar("T")

_HALVINGS: Final = 50
_DOUBLINGS: Final = 200
"""Steps to the quantiles of a mixture, once they lie between two numbers, and until they do."""

_ROUNDING: Final = 1e-5
"""A quantile this part of a step away from a recorded score is that score."""

_SLICES: Final = 16
"""Equally probable noise factors of an assessor whom the panel has not seen."""


@dataclass(frozen=True, eq=False)
class Part:
    """What is said of each score with given variances of the model."""

    probability: float  # how probable these variances are
    noise: Noise  # what is known about w
    likelihood: Likelihood  # how scores scatter
    # mean, variance: of what is expected, on the scale on which the model is additive; the variance for w = 1
    mean: Floats
    variance: Floats
    precision: Floats  # c of each score

    def below(self, x: Floats) -> Floats:
        """Return the probability that each score is at most x."""
        return self.between(np.full_like(x, -np.inf), x)

    def between(self, low: Floats, high: Floats) -> Floats:
        """Return the probability that each score lies above one number and not above another."""
        if self.likelihood.is_normal:  # then the noise variance may be integrated out
            return between_tails(self._normal_below, low, high, self.mean)
        w = self._told(self.noise.variance)
        return self.likelihood.between(low, high, self.mean, w * self.variance, self.precision, w)

    def _normal_below(self, x: Floats, mean: Floats) -> Floats:
        return self._told(self.noise.cdf((x - mean) / np.sqrt(self.variance + 1.0 / self.precision)))

    @staticmethod
    def _told(found: T | None) -> T:
        if found is None:
            raise ValueError("noise without a distribution predicts nothing")
        return found

    def expected(self) -> Floats:
        """Return the mean of each score."""
        w = self.noise.variance
        if self.likelihood.is_normal or w is None:
            return self.mean
        return self.likelihood.expected(self.mean, w * self.variance, self.precision, w)


@dataclass(frozen=True, eq=False)
class Predictive:
    """The distribution of each of several scores, in points.

    Attributes
    ----------
    parts
        The parts of the mixture; one, where the model has no variances that are unsure.
    cell
        The width of the interval that a recorded score stands for: the step of the grid, or next to nothing.
    """

    parts: tuple[Part, ...]
    cell: float

    @property
    def size(self) -> int:
        """Number of scores."""
        return int(self.parts[0].mean.size)

    def below(self, x: Floats) -> Floats:
        """Return the probability that each score is at most x."""
        return np.asarray(sum(part.probability * part.below(x) for part in self.parts))

    def probability(self, score: Floats) -> Floats:
        """Return the probability that each score is recorded as this one: that of its cell."""
        low, high = score - self.cell / 2, score + self.cell / 2
        found = sum(part.probability * part.between(low, high) for part in self.parts)
        return np.asarray(np.clip(found, 0.0, 1.0))

    @cached_property
    def mean(self) -> Floats:
        """The expected score."""
        return np.asarray(sum(part.probability * part.expected() for part in self.parts))

    def interval(self, probability: float) -> tuple[Floats, Floats]:
        """Return the ends of the central interval with this probability."""
        return self.quantile((1 - probability) / 2), self.quantile((1 + probability) / 2)

    def quantile(self, probability: float) -> Floats:
        """Return the number that each score is at most with a probability, by bisection."""
        centre = self.mean
        reach = np.full(self.size, max(self.cell, float(np.ptp(centre)), 1.0))
        low, high = centre - reach, centre + reach
        for _ in range(_DOUBLINGS):
            short, long = self.below(low) > probability, self.below(high) < probability
            if not (short | long).any():
                break
            reach = np.where(short | long, 2 * reach, reach)
            low, high = np.where(short, centre - reach, low), np.where(long, centre + reach, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.below(middle) < probability
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        found = (low + high) / 2
        score = np.round(found / self.cell) * self.cell  # of a rounded score, but for rounding of our own
        return np.asarray(np.where(np.abs(found - score) < _ROUNDING * self.cell, score, found))


@dataclass(frozen=True, eq=False)
class Rows:
    """Assessments that have not been made, as a model is asked about them."""

    # objects, assessors: labels of each
    objects: Sequence[str]
    assessors: Sequence[str]
    # object_index, assessor_index: their positions in the panel; -1 where the panel has not seen them
    object_index: Codes
    assessor_index: Codes
    precision: Floats  # c of each, as it would be declared
    covariates: Mapping[str, Sequence[Any]]  # cells of those covariates that were given

    @property
    def size(self) -> int:
        """Number of assessments."""
        return len(self.objects)

    def refuse_unseen(self, side: str, why: str) -> None:
        """Refuse an object or an assessor that the panel has not seen, by name.

        Raises
        ------
        InputError
            With the reason.
        """
        index, labels = {
            "object": (self.object_index, self.objects),
            "assessor": (self.assessor_index, self.assessors),
        }[side]
        unseen = np.flatnonzero(index < 0)
        if unseen.size:
            label = labels[int(unseen[0])]
            message = f"The panel has no score of {side} {label}, and {why}: refine(panel, shrink=True) can predict it."
            raise InputError(message, kind="unknown_label", where=f"{side} {label}")

    def variances(self, n_objects: int, n_assessors: int, ask: Callable[[Floats, Floats, slice], Floats]) -> Floats:
        """Return the variance of value plus bias of each, asked for in pieces that fit into memory.

        An object that the panel has not seen stands for the mean of all objects, an assessor for a bias of zero.
        """
        found = np.empty(self.size)
        step = max(1, AT_ONCE // (n_objects + n_assessors))
        for start in range(0, self.size, step):
            some = slice(start, min(start + step, self.size))
            columns = np.arange(some.stop - some.start)
            object_, assessor = self.object_index[some], self.assessor_index[some]
            of_objects, of_assessors = np.zeros((n_objects, columns.size)), np.zeros((n_assessors, columns.size))
            of_objects[object_[object_ >= 0], columns[object_ >= 0]] = 1.0
            of_objects[:, columns[object_ < 0]] = 1.0 / n_objects
            of_assessors[assessor[assessor >= 0], columns[assessor >= 0]] = 1.0
            found[some] = ask(of_objects, of_assessors, some)
        return found


def plain_parts(
    posterior: Posterior, values: Floats, biases: Floats, rows: Rows, *, is_calibrated: bool, uses_confidence: bool
) -> tuple[Part, ...]:
    """Return what one of the four methods says of assessments that have not been made."""
    rows.refuse_unseen("object", "without a prior nothing is known of its value")
    if is_calibrated:
        rows.refuse_unseen("assessor", "without a prior nothing is known of the bias")
    variance = rows.variances(
        values.size,
        biases.size,
        lambda one, other, _: posterior.contrast_variances(one, other if is_calibrated else None),
    )
    mean = values[rows.object_index] + np.where(rows.assessor_index < 0, 0.0, biases[rows.assessor_index])
    precision = rows.precision if uses_confidence else np.ones(rows.size)
    return (Part(1.0, posterior.noise, Normal(), mean, variance, precision),)


def refined_parts(nodes: Sequence[tuple[float, Node]], work: Work, rows: Rows, columns: Floats) -> tuple[Part, ...]:
    """Return what a refined model says of assessments that have not been made, for all credible variances."""
    setting = nodes[0][1].setting
    if setting.value_ratio is None:
        rows.refuse_unseen("object", "without a prior nothing is known of its value")
    if setting.bias_ratio is None:
        rows.refuse_unseen("assessor", "without a prior nothing is known of the bias")
    parts = []
    for share, node in nodes:
        mean, variance = _expected(node, work, rows, columns)
        precision = _precision(node, work, rows)
        for factor in (slices := _unseen_factors(node, rows)):
            own = np.where(rows.assessor_index < 0, precision / factor, precision)
            parts.append(Part(share / len(slices), node.noise, node.setting.likelihood, mean, variance, own))
    return tuple(parts)


def _expected(node: Node, work: Work, rows: Rows, columns: Floats) -> tuple[Floats, Floats]:
    """Return what is expected of each assessment, lambda (v - m) + m + b + z beta, and its variance for w = 1.

    Given all values, their mean is normal about their average: so a further value has this for its mean.
    """
    setting, centre = node.setting, work.centre
    n_objects, n_assessors = node.values.size, node.biases.size
    old_object, old_assessor = rows.object_index >= 0, rows.assessor_index >= 0
    value = np.where(old_object, node.values[rows.object_index], node.values.mean())
    bias = np.where(old_assessor, node.biases[rows.assessor_index], 0.0)
    stretch = np.where(old_assessor, np.exp(node.log_scale)[rows.assessor_index], 1.0)
    mean = centre + stretch * (value - centre) + bias + columns @ node.coefficients
    border = node.border
    further = columns / stretch[:, None]
    if border is not None and setting.scale_ratio is not None:
        own = np.zeros((rows.size, n_assessors))
        own[old_assessor, rows.assessor_index[old_assessor]] = (value - centre)[old_assessor]
        further = np.hstack([further, own])

    def ask(of_objects: Floats, of_assessors: Floats, some: slice) -> Floats:
        if border is None:
            return node.solver.contrasts(of_objects, of_assessors)
        return border.contrasts_with(of_objects, of_assessors, further[some])

    variance = np.maximum(rows.variances(n_objects, n_assessors, ask), 0.0)
    new_value = 0.0 if setting.value_ratio is None else setting.value_ratio * (1 + 1 / n_objects)
    new_bias = 0.0 if setting.bias_ratio is None else setting.bias_ratio
    new_scale = 0.0 if setting.scale_ratio is None else setting.scale_ratio * np.square(value - centre)
    variance = np.square(stretch) * (variance + np.where(old_object, 0.0, new_value))
    return mean, variance + np.where(old_assessor, 0.0, new_bias + new_scale)


def _precision(node: Node, work: Work, rows: Rows) -> Floats:
    """Return the precision of each assessment: that typical of the panel, times a power of how much surer it is."""
    panel = work.panel
    used = node.precision * node.noise_factor[panel.assessor_index]
    power, logs = node.setting.power, np.log(rows.precision) - np.log(panel.precision).mean()
    precision = np.exp(np.log(used).mean() + power * logs)
    return np.asarray(precision / np.where(rows.assessor_index < 0, 1.0, node.noise_factor[rows.assessor_index]))


def _unseen_factors(node: Node, rows: Rows) -> Floats:
    """Return equally probable noise factors of an assessor whom the panel has not seen; 1 where there are none."""
    from scipy.special import gammaincinv

    if node.setting.strength is None or not (rows.assessor_index < 0).any():
        return np.ones(1)
    half = node.setting.strength / 2
    return np.asarray(half / gammaincinv(half, (np.arange(_SLICES) + 0.5) / _SLICES))
