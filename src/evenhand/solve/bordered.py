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

from evenhand.compiled import Codes, Floats
from evenhand.errors import SolveError
from evenhand.panel.gauge import chooser
from evenhand.solve.base import LowRank, Sides, Solution, Solver, Wrapped
from evenhand.solve.direct import Cholesky
from evenhand.solve.priors import PriorSolver

_MANY: Final = 128
"""Above so many further unknowns, such as scales, products that are known are looked up rather than made anew."""

_ROUNDING: Final = 1e-13
"""A column of which values and biases leave no more than this part is explained by them, but for rounding."""


@dataclass(frozen=True, eq=False)
class BorderedSolver(Wrapped):
    """A solver for values and biases, and the columns Z (N rows) of further unknowns.

    ``prior`` is K, beside the precision of a score of confidence 1: one for each coefficient (0 for none), or a matrix.
    """

    base: Solver
    object_index: Codes
    assessor_index: Codes
    weight: Floats
    columns: sp.csr_array[Any]
    prior: Floats

    @property
    def reason(self) -> str:
        """Which method was used, and why."""
        return f"{self.base.reason}; bordered by {self.count} further unknowns"

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""
        return self.object_index, self.assessor_index

    @cached_property
    def _weighted(self) -> sp.csr_array[Any]:
        return sp.csr_array(sp.diags_array(self.weight) @ self.columns)

    @cached_property
    def _forces(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """X^T W Z, for objects and for assessors."""
        return (
            sp.csr_array(chooser(self.object_index, self._sizes[0]) @ self._weighted),
            sp.csr_array(chooser(self.assessor_index, self._sizes[1]) @ self._weighted),
        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return int(self.object_index.max()) + 1, int(self.assessor_index.max()) + 1

    @cached_property
    def images(self) -> tuple[Floats, Floats]:
        """U = L^- X^T W Z: what values and biases take over of each column."""
        if self._wide is not None:
            return self._few[0], self._few[1][: self._sizes[1]]
        of_objects, of_assessors = (side.toarray() for side in self._forces)
        return self.base.apply(of_objects, of_assessors)

    @property
    def _wide(self) -> PriorSolver | None:
        """The solver, where it answers quickly for columns that are mostly zeros, of which there are many."""
        is_wide = self.count > _MANY and isinstance(self.base, PriorSolver) and self.base.is_wide
        return self.base if is_wide and isinstance(self.base, PriorSolver) else None

    @cached_property
    def _few(self) -> Sides:
        """U with the mean of values as one more bias."""
        assert self._wide is not None  # noqa: S101  # nobody else asks
        return self._wide.apply_few(*self._forces)

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
    def _factor(self) -> Cholesky:
        try:
            factor = np.asarray(np.linalg.cholesky(self.inner), dtype=np.float64)
        except np.linalg.LinAlgError:
            factor = np.zeros_like(self.inner)
        # the residual of a column that values and biases explain is rounding, of either sign
        if (np.square(np.diagonal(factor)) <= _ROUNDING * np.diagonal(self._own)).any():
            raise SolveError("The further unknowns cannot be told from values and biases.")
        return Cholesky(factor)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the coefficients for w = 1: S^-1."""
        lower = np.tril(self._factor.inverse)
        return np.asarray(lower + np.tril(lower, -1).T)

    @cached_property
    def turned(self) -> Sides:
        """U S^-1: minus the covariance of values and biases with the coefficients, for w = 1."""
        if self._wide is not None:
            biases = self._few[1] @ self.covariance
            return self._wide.given_biases(self._forces[0] @ self.covariance, biases), biases[: self._sizes[1]]
        of_objects, of_assessors = self.images
        return of_objects @ self.covariance, of_assessors @ self.covariance

    @property
    def low_rank(self) -> LowRank:
        """U S^-1 U^T: of many columns as it stands, else as that of V = U F^-T where S = F F^T."""
        return LowRank(*self.images, self.covariance) if self.count > _MANY else self._halved

    @cached_property
    def _halved(self) -> LowRank:
        """V, by the factor of S."""
        both = self._factor.divide(np.vstack(self.images).T).T
        n_objects = self.images[0].shape[0]
        return LowRank(both[:n_objects], both[n_objects:])

    def diagonal(self) -> Sides:
        """Return the diagonal of L^- for objects and for assessors."""
        if self.count <= _MANY:
            return super().diagonal()
        values, biases = self.base.diagonal()
        owed = [np.einsum("ij,ij->i", one, other) for one, other in zip(self.turned, self.images, strict=True)]
        return values + owed[0], biases + owed[1]

    def fit(self, score: Floats) -> tuple[Solution, Floats]:
        """Fit values, biases and coefficients to N scores."""
        pull = self._weighted.T @ self._residuals(self.base.solve(score), score)
        coefficients = self.covariance @ pull
        adjusted = score - self.columns @ coefficients
        found = self.base.solve(adjusted)
        residuals = self._residuals(found, adjusted)
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

    @cached_property
    def _rows(self) -> Floats:
        """F^-1 z for each row z of Z."""
        return self._factor.divide(self.columns.toarray().T).T

    @cached_property
    def _rest(self) -> Floats:
        """What values and biases do not take over of each row of Z, in units of the coefficients' deviations."""
        own = self._halved
        return self._rows - own.of_objects[self.object_index] - own.of_assessors[self.assessor_index]

    def fitted_variances(self) -> Floats:
        """Return the variance of each fitted score for w = 1, coefficients included."""
        return np.asarray(self.base.fitted_variances() + np.square(self._rest).sum(axis=1))

    def responses(self) -> Floats:
        """Return the covariance of each fitted score with its object's value."""
        own = self._halved.of_objects[self.object_index]
        return np.asarray(self.base.responses() - (own * self._rest).sum(axis=1))

    def responses_along(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return the covariance of each fitted score with a weighted sum of values and biases."""
        along = self._halved.across(of_objects, of_assessors)
        return super().responses_along(of_objects, of_assessors) - self._rows @ along

    def contrasts_with(self, of_objects: Floats, of_assessors: Floats, rows: Floats) -> Floats:
        """Return the variance, for w = 1, of x + z for each column x and row z of weights of the coefficients."""
        rest = self._factor.divide(rows.T) - self._halved.across(of_objects, of_assessors)
        return np.asarray(self.base.contrasts(of_objects, of_assessors) + np.square(rest).sum(axis=0))

    def log_determinant(self) -> float:
        """Return log det of the bordered L without one row and column of each component."""
        return self.base.log_determinant() + float(np.log(self._factor.pivots).sum())

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases = self.base.draw(generator, count)
        white = generator.standard_normal((count, self.count))
        return values - white @ self._halved.of_objects.T, biases - white @ self._halved.of_assessors.T


@dataclass(frozen=True, eq=False)
class WidenedSolver(Wrapped):
    """A solver for values and biases, with what they owe to not knowing further unknowns, V V^T."""

    base: Solver
    owed: LowRank

    @property
    def low_rank(self) -> LowRank:
        """V V^T."""
        return self.owed

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores, the further unknowns being as they are."""
        return self.base.solve(score)

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases = self.base.draw(generator, count)
        white = generator.standard_normal((count, self.owed.of_objects.shape[1]))
        return values + white @ self.owed.of_objects.T, biases + white @ self.owed.of_assessors.T


@dataclass(frozen=True, eq=False)
class StretchedSolver(Wrapped):
    """Answers about biases b from answers about b/lambda, where assessors have scales lambda (``stretch``)."""

    base: BorderedSolver
    stretch: Floats

    @property
    def _own(self) -> Floats:
        """The scale of each assessment's assessor."""
        return self.stretch[self.ends[1]]

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores on the scale of each assessor."""
        found = self.base.solve(score)
        return Solution(found.values, found.biases * self.stretch, found.residuals, found.residual)

    def _asked(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        return of_objects, np.asarray((of_assessors.T * self.stretch).T)

    def _told(self, values: Floats, biases: Floats) -> Sides:
        return self._asked(values, biases)

    def _told_diagonal(self) -> Sides:
        values, biases = self.base.diagonal()
        return values, biases * np.square(self.stretch)

    def _told_cross(self) -> Floats:
        return self.base.edges()[1] * self._own

    def fitted_variances(self) -> Floats:
        """Return the variance of each fitted score for w = 1."""
        return np.asarray(self.base.fitted_variances() * np.square(self._own))

    def responses(self) -> Floats:
        """Return the covariance of each fitted score with its object's value."""
        return self.base.responses() * self._own

    def responses_along(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return the covariance of each fitted score with a weighted sum of values and biases."""
        return self.base.responses_along(*self._asked(of_objects, of_assessors)) * self._own

    def log_determinant(self) -> float:
        """Return log det of L."""
        return self.base.log_determinant() - 2 * float(np.log(self.stretch).sum())
