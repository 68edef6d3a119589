"""Further unknowns beside values and biases: coefficients of covariates, scales of assessors.

With s = v + b + Z beta, W the confidences and K the precisions of priors of beta, the normal equations are L bordered
by X^T W Z. Eliminating values and biases leaves S = Z^T W Z + K - (X^T W Z)^T U on the coefficients, with
U = L^- X^T W Z, and what values and biases owe to not knowing them is U S^-1 U^T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import SolveError
from evenhand.solve.base import Solution, Solver
from evenhand.solve.equations import System

Indices = NDArray[np.integer[Any]]

_ROUNDING: Final = 1e-13
"""Part of a column beyond values and biases that is no more than rounding."""


@dataclass(frozen=True, eq=False)
class BorderedSolver:
    """A solver for values and biases, and columns of further unknowns.

    Attributes
    ----------
    base
        Answers for values and biases alone.
    object_index, assessor_index
        The object and the assessor of each of the N assessments.
    weight
        The N precisions.
    columns
        Z, with N rows.
    prior
        Precisions of the prior of the coefficients, beside that of a score of confidence 1: one for each (0 for none),
        or a matrix.
    """

    base: Solver
    object_index: Indices
    assessor_index: Indices
    weight: Floats
    columns: sp.csr_array[Any]
    prior: Floats

    @property
    def system(self) -> System:
        """The equations for values and biases alone."""
        return self.base.system

    @property
    def reason(self) -> str:
        """Which method was used, and why."""
        return f"{self.base.reason}; bordered by {self.count} further unknowns"

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal, as without the border."""
        return self.base.diagonal_error

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant, as without the border."""
        return self.base.log_determinant_error

    @cached_property
    def _weighted(self) -> sp.csr_array[Any]:
        return sp.csr_array(sp.diags_array(self.weight) @ self.columns)

    @cached_property
    def _forces(self) -> tuple[Floats, Floats]:
        """X^T W Z, for objects and for assessors."""
        return (
            _sum_rows(self.object_index, self._weighted, self._sizes[0]),
            _sum_rows(self.assessor_index, self._weighted, self._sizes[1]),
        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return int(self.object_index.max()) + 1, int(self.assessor_index.max()) + 1

    @cached_property
    def images(self) -> tuple[Floats, Floats]:
        """U = L^- X^T W Z: what values and biases take over of each column."""
        return self.base.apply(*self._forces)

    @cached_property
    def inner(self) -> Floats:
        """S, on the coefficients."""
        total = self._own.copy()
        total -= self._forces[0].T @ self.images[0] + self._forces[1].T @ self.images[1]
        return np.asarray((total + total.T) / 2)

    @cached_property
    def _own(self) -> Floats:
        """Z^T W Z with its prior: what S would be if values and biases were known."""
        return np.asarray((self.columns.T @ self._weighted).todense()) + self._prior

    @property
    def _prior(self) -> Floats:
        return np.diag(self.prior) if self.prior.ndim == 1 else self.prior

    @property
    def count(self) -> int:
        """Number of further unknowns."""
        return int(self.prior.shape[0])

    @cached_property
    def _factor(self) -> Floats:
        try:
            factor = np.asarray(np.linalg.cholesky(self.inner), dtype=np.float64)
        except np.linalg.LinAlgError:
            factor = np.zeros_like(self.inner)
        # what is left of a column that values and biases explain is rounding, of either sign
        if (np.square(np.diagonal(factor)) <= _ROUNDING * np.diagonal(self._own)).any():
            raise SolveError("The further unknowns cannot be told from values and biases.")
        return factor

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the coefficients for w = 1: S^-1."""
        half = np.linalg.solve(self._factor, np.eye(self.count))
        return np.asarray(half.T @ half)

    @cached_property
    def _half(self) -> tuple[Floats, Floats]:
        """U F^-T, where S = F F^T."""
        both = np.asarray(np.linalg.solve(self._factor, np.vstack(self.images).T).T, dtype=np.float64)
        return both[: self.images[0].shape[0]], both[self.images[0].shape[0] :]

    def fit(self, score: Floats) -> tuple[Solution, Floats]:
        """Fit values, biases and coefficients to N scores."""
        alone = self.base.solve(score)
        pull = self._weighted.T @ self._residuals(alone, score)
        coefficients = self.covariance @ pull
        found = self.base.solve(score - self.columns @ coefficients)
        residuals = self._residuals(found, score - self.columns @ coefficients)
        own = float(self.weight @ np.square(residuals)) if found.residual is None else found.residual
        total = own + float(coefficients @ self._prior @ coefficients)
        return Solution(found.values, found.biases, residuals, total), coefficients

    def _residuals(self, found: Solution, score: Floats) -> Floats:
        if found.residuals is not None:
            return found.residuals
        return np.asarray(score - found.values[self.object_index] - found.biases[self.assessor_index])

    def solve(self, score: Floats) -> Solution:
        """Fit values, biases and coefficients to N scores."""
        return self.fit(score)[0]

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L^- times a vector, or times each column of a matrix."""
        values, biases = self.base.apply(of_objects, of_assessors)
        along = self._half[0].T @ of_objects + self._half[1].T @ of_assessors
        return values + self._half[0] @ along, biases + self._half[1] @ along

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast."""
        along = self._half[0].T @ of_objects + self._half[1].T @ of_assessors
        return np.asarray(self.base.contrasts(of_objects, of_assessors) + np.square(along).sum(axis=0))

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L^- for objects and for assessors."""
        values, biases = self.base.diagonal()
        return values + np.square(self._half[0]).sum(axis=1), biases + np.square(self._half[1]).sum(axis=1)

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        first, cross, last = self.base.edges()
        values, biases = self._half[0][self.object_index], self._half[1][self.assessor_index]
        return (
            first + np.square(values).sum(axis=1),
            cross + (values * biases).sum(axis=1),
            last + np.square(biases).sum(axis=1),
        )

    @cached_property
    def _rows(self) -> Floats:
        """F^-1 z for each row z of Z."""
        return np.asarray(np.linalg.solve(self._factor, self.columns.toarray().T).T, dtype=np.float64)

    @cached_property
    def _rest(self) -> Floats:
        """What values and biases do not take over of each row of Z, in units of the coefficients' deviations."""
        return self._rows - self._half[0][self.object_index] - self._half[1][self.assessor_index]

    def leverages(self) -> Floats:
        """Return how far each fitted score follows its score, coefficients included."""
        first, cross, last = self.base.edges()
        return np.asarray(self.weight * (first + 2 * cross + last + np.square(self._rest).sum(axis=1)))

    def responses(self) -> Floats:
        """Return how each object's value responds to a score of its own, for a score of confidence 1."""
        first, cross, _ = self.base.edges()
        return np.asarray(first + cross - (self._half[0][self.object_index] * self._rest).sum(axis=1))

    def along(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return how a weighted sum of values and biases responds to each score, for a score of confidence 1."""
        values, biases = self.apply(of_objects, of_assessors)
        turn = self._half[0].T @ of_objects + self._half[1].T @ of_assessors
        return np.asarray(values[self.object_index] + biases[self.assessor_index] - self._rows @ turn)

    def log_determinant(self) -> float:
        """Return log det of the bordered L without one row and column of each component."""
        return self.base.log_determinant() + 2 * float(np.log(np.diagonal(self._factor)).sum())

    def mu2(self) -> float:
        """Return mu_2 without the border."""
        return self.base.mu2()

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases = self.base.draw(generator, count)
        white = generator.standard_normal((count, self.count))
        return values - white @ self._half[0].T, biases - white @ self._half[1].T


def _sum_rows(index: Indices, rows: sp.csr_array[Any], count: int) -> Floats:
    """Return the sums of rows by an index."""
    choose = sp.csr_array((np.ones(index.size), (index, np.arange(index.size))), shape=(count, index.size))
    return np.asarray((choose @ rows).toarray(), dtype=np.float64)
