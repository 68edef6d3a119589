"""Answers about biases b from answers about b/lambda, where assessors have scales of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.compiled import Floats
from evenhand.solve.base import Solution
from evenhand.solve.bordered import BorderedSolver
from evenhand.solve.equations import System


@dataclass(frozen=True, eq=False)
class StretchedSolver:
    """A solver whose biases are divided by the assessors' scales.

    Attributes
    ----------
    base
        Answers for values, b/lambda and the scales.
    stretch
        The scale lambda of each assessor.
    """

    base: BorderedSolver
    stretch: Floats

    @property
    def system(self) -> System:
        """The equations for b/lambda."""
        return self.base.system

    @property
    def reason(self) -> str:
        """Which method was used, and why."""
        return self.base.reason

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal."""
        return self.base.diagonal_error

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant."""
        return self.base.log_determinant_error

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores on the scale of each assessor."""
        found = self.base.solve(score)
        return Solution(found.values, found.biases * self.stretch, found.residuals, found.residual)

    def _along(self, of_assessors: Floats) -> Floats:
        return np.asarray((of_assessors.T * self.stretch).T)

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L^- times a vector, or times each column of a matrix."""
        values, biases = self.base.apply(of_objects, self._along(of_assessors))
        return values, self._along(biases)

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x."""
        return self.base.contrasts(of_objects, self._along(of_assessors))

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L^- for objects and for assessors."""
        values, biases = self.base.diagonal()
        return values, biases * np.square(self.stretch)

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-, biases on their own scale."""
        first, cross, last = self.base.edges()
        own = self.stretch[self.base.assessor_index]
        return first, cross * own, last * np.square(own)

    def leverages(self) -> Floats:
        """Return how far each fitted score follows its score."""
        return self.base.leverages()

    def responses(self) -> Floats:
        """Return how each object's value responds to a score of its own, for a score of confidence 1."""
        return self.base.responses() * self.stretch[self.base.assessor_index]

    def log_determinant(self) -> float:
        """Return log det of L."""
        return self.base.log_determinant() - 2 * float(np.log(self.stretch).sum())

    def mu2(self) -> float:
        """Return mu_2 of the panel behind."""
        return self.base.mu2()

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases = self.base.draw(generator, count)
        return values, biases * self.stretch
