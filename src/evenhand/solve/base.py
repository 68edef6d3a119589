"""The seam: what may be asked about the normal equations, split into estimating and answering, and who forwards it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from evenhand.compiled import Codes, Floats
from evenhand.memory import require
from evenhand.solve.equations import System, eliminate
from evenhand.solve.spectrum import dense_mu2, mu2_through

AT_ONCE: Final = 2**21
"""Entries of an inverse are gathered with this many numbers held at a time."""

Sides = tuple[Floats, Floats]
"""Something of all objects and of all assessors: a vector, or a matrix with columns, for each side."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A least-squares fit in some gauge: values (n_O), biases (n_A) and residuals s - v - b (N).

    Residuals are None where there are so many that they are computed when asked for; ``residual``, the weighted sum of
    their squares, is None where it was not had on the way.
    """

    values: Floats
    biases: Floats
    residuals: Floats | None = None
    residual: float | None = None


class Estimating(Protocol):
    """Finds values and biases."""

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores, in some gauge."""


class Answering(Protocol):
    """Says how sure they are; L^- below is one symmetric generalised inverse of L, the same in all answers.

    The fitted score of an assessment is the value of its object plus the bias of its assessor, and what further
    unknowns there are add to it.
    """

    @property
    def reason(self) -> str:
        """Which method was used, and why, in words for a user."""

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal; 0 where it is exact but for rounding."""

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant; 0 where it is exact but for rounding."""

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""

    @property
    def estimator(self) -> Answering:
        """Who answers with the least work, for corrections of estimates: no factor is made for it."""

    @property
    def mean_variance(self) -> float:
        """Variance, for w = 1, of the mean of the values' prior; infinite where they have none."""

    def apply(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return L^- times a vector, or times each column of a matrix."""

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast: the same for every generalised inverse."""

    def diagonal(self) -> Sides:
        """Return the diagonal of L^- for objects and for assessors."""

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""

    def fitted_variances(self) -> Floats:
        """Return the variance of each fitted score for w = 1; times its confidence, the leverage of the score."""

    def responses(self) -> Floats:
        """Return the covariance of each fitted score with its object's value: how the value follows the score."""

    def responses_along(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return the covariance of each fitted score with a weighted sum of values and biases."""

    def log_determinant(self) -> float:
        """Return log det of L without one row and column of each component."""

    def mu2(self) -> float:
        """Return the second smallest eigenvalue mu_2 of M (App. C), for a connected panel with two on either side."""

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""


class Solver(Estimating, Answering, Protocol):
    """What estimates and answers."""


class Derived:
    """Answers that follow from other answers, for solvers that know no shorter way."""

    @property
    def estimator(self: Answering) -> Answering:
        """Who answers with the least work."""
        return self

    @property
    def mean_variance(self) -> float:
        """Variance of the mean of the values' prior, of which there is none."""
        return np.inf

    def contrasts(self: Answering, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast."""
        values, biases = self.apply(of_objects, of_assessors)
        return np.asarray((of_objects * values).sum(axis=0) + (of_assessors * biases).sum(axis=0))

    def edges(self: Answering) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-, from products with unit vectors."""
        objects, assessors = self.ends
        of_objects, of_assessors = self.diagonal()
        cross = np.empty(objects.size)
        step = max(1, AT_ONCE // of_objects.size)
        for start in range(0, of_assessors.size, step):
            unit = np.eye(of_assessors.size, min(step, of_assessors.size - start), -start)
            values = self.apply(np.zeros((of_objects.size, unit.shape[1])), unit)[0]
            some = np.flatnonzero((assessors >= start) & (assessors < start + step))
            cross[some] = values[objects[some], assessors[some] - start]
        return of_objects[objects], cross, of_assessors[assessors]

    def fitted_variances(self: Answering) -> Floats:
        """Return the variance of each fitted score for w = 1."""
        of_objects, cross, of_assessors = self.edges()
        return np.asarray(of_objects + 2 * cross + of_assessors)

    def responses(self: Answering) -> Floats:
        """Return the covariance of each fitted score with its object's value."""
        of_objects, cross, _ = self.edges()
        return np.asarray(of_objects + cross)

    def responses_along(self: Answering, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return the covariance of each fitted score with a weighted sum of values and biases."""
        values, biases = self.apply(of_objects, of_assessors)
        objects, assessors = self.ends
        return np.asarray(values[objects] + biases[assessors])


@dataclass(frozen=True, eq=False)
class KeptSolver(Derived):
    """Answers by solving on the kept side, the other side eliminated."""

    system: System

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""
        return self.system.ends

    def solve_kept(self, right: Floats) -> Floats:
        """Return S^- times a vector or columns on the kept side."""
        raise NotImplementedError

    def diagonal(self) -> Sides:
        """Return the diagonal of L^- for objects and for assessors."""
        raise NotImplementedError

    def apply(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return L^- times a vector, or times each column of a matrix."""
        system = self.system
        return system.orient(*eliminate(system, self.solve_kept, *system.orient(of_objects, of_assessors)))

    def mu2(self) -> float:
        """Return the second smallest eigenvalue mu_2 of M (App. C)."""
        found = dense_mu2(self.system)
        return mu2_through(self.system, self.solve_kept) if found is None else found

    def _own_entries(self) -> Sides:
        """Return the entries (o, o) and (a, a) of L^- for each assessment."""
        of_objects, of_assessors = self.diagonal()
        objects, assessors = self.ends
        return of_objects[objects], of_assessors[assessors]


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """A term V D V^T, with the rows of V for objects and for assessors; ``middle`` is D, None for the identity."""

    of_objects: Floats
    of_assessors: Floats
    middle: Floats | None = None

    def across(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return V^T times a vector or columns."""
        return np.asarray(self.of_objects.T @ of_objects + self.of_assessors.T @ of_assessors)

    def turned(self, across: Floats) -> Floats:
        """Return D times a vector or columns."""
        return across if self.middle is None else np.asarray(self.middle @ across)

    def products(self, one: Floats, other: Floats) -> Floats:
        """Return v^T D v' for rows v of one array and v' of another, pair by pair."""
        return np.asarray((one * self.turned(other.T).T).sum(axis=1))


class Wrapped(Derived):
    """Answers from those of another solver: its L^- turned to T L^- T^T, plus a term of low rank.

    A wrapper says what T does to questions (:meth:`_asked`), to answers (:meth:`_told`) and to single entries, and what
    the term is; without these, everything is forwarded as it is.
    """

    if TYPE_CHECKING:

        @property
        def base(self) -> Answering:
            """Who is asked."""

    @property
    def reason(self) -> str:
        """Which method was used, and why."""
        return self.base.reason

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal, as without the wrapper."""
        return self.base.diagonal_error

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant, as without the wrapper."""
        return self.base.log_determinant_error

    @property
    def mean_variance(self) -> float:
        """Variance of the mean of the values' prior, for w = 1."""
        return self.base.mean_variance

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""
        return self.base.ends

    @property
    def low_rank(self) -> LowRank | None:
        """What is added to T L^- T^T."""
        return None

    def _asked(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return T^T x."""
        return of_objects, of_assessors

    def _told(self, values: Floats, biases: Floats) -> Sides:
        """Return T y."""
        return values, biases

    def _told_diagonal(self) -> Sides:
        """Return the diagonal of T L^- T^T."""
        return self.base.diagonal()

    def _told_cross(self) -> Floats:
        """Return the entry (o, a) of T L^- T^T for each assessment."""
        return self.base.edges()[1]

    def apply(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return L^- times a vector, or times each column of a matrix."""
        values, biases = self._told(*self.base.apply(*self._asked(of_objects, of_assessors)))
        term = self.low_rank
        if term is None:
            return values, biases
        turned = term.turned(term.across(of_objects, of_assessors))
        return values + term.of_objects @ turned, biases + term.of_assessors @ turned

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast."""
        found = self.base.contrasts(*self._asked(of_objects, of_assessors))
        term = self.low_rank
        if term is None:
            return found
        along = term.across(of_objects, of_assessors)
        return np.asarray(found + (along * term.turned(along)).sum(axis=0))

    def diagonal(self) -> Sides:
        """Return the diagonal of L^- for objects and for assessors."""
        values, biases = self._told_diagonal()
        term = self.low_rank
        if term is None:
            return values, biases
        of_values, of_biases = (term.products(side, side) for side in (term.of_objects, term.of_assessors))
        return values + of_values, biases + of_biases

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        objects, assessors = self.ends
        cross, term = self._told_cross(), self.low_rank
        if term is not None:
            cross = cross + term.products(term.of_objects[objects], term.of_assessors[assessors])
        values, biases = self.diagonal()
        return values[objects], cross, biases[assessors]

    def log_determinant(self) -> float:
        """Return log det of L without one row and column of each component."""
        return self.base.log_determinant()

    def mu2(self) -> float:
        """Return mu_2 of the equations of the solver that is asked."""
        return self.base.mu2()

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases = self._told(*(side.T for side in self.base.draw(generator, count)))
        return np.ascontiguousarray(values.T), np.ascontiguousarray(biases.T)


def require_draws(system: System, count: int, *, copies: int = 1) -> None:
    """Refuse so many draws that they would not fit into memory; of the kept side there may be several copies."""
    size = 8.0 * count * (copies * system.n_kept + system.n_gone)
    require(size, f"{count:,} draws of {system.n_kept + system.n_gone:,} values and biases")
