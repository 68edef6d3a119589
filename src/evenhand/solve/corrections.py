"""Answers for a panel of which a few scores changed, from the answers before: low-rank corrections of L^-.

With X the columns e_o + e_a of the changed assessments and K their changes of confidence, L' = L + X K X^T, and
L'^- = L^- - U W U^T with U = L^- X and W = (K^-1 + X^T U)^-1. X has nothing along the null vectors of L, so this holds
for the generalised inverse in any gauge, as long as no group falls apart or is joined to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import SolveError
from evenhand.solve.base import Solution, Solver
from evenhand.solve.equations import System


@dataclass(frozen=True, eq=False)
class UpdatedSolver:
    """The solver of a panel before, and what changed since.

    Attributes
    ----------
    base
        Answers for the panel before.
    system
        The equations after.
    object_index, assessor_index, change
        The pairs whose confidence changed, and by how much; each pair once.
    """

    base: Solver
    system: System
    object_index: NDArray[np.int64]
    assessor_index: NDArray[np.int64]
    change: Floats

    @property
    def reason(self) -> str:
        """Which method was used."""
        return f"{self.base.reason}; since then {self.change.size} changes of confidence, by low-rank correction"

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal, as before the changes."""
        return self.base.diagonal_error

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant, as before the changes."""
        return self.base.log_determinant_error

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        """X, the columns e_o + e_a of the changes."""
        n_objects, n_assessors = self.system.orient(self.system.n_kept, self.system.n_gone)
        at = np.arange(self.change.size)
        of_objects, of_assessors = np.zeros((n_objects, at.size)), np.zeros((n_assessors, at.size))
        of_objects[self.object_index, at] = 1.0
        of_assessors[self.assessor_index, at] = 1.0
        return of_objects, of_assessors

    @cached_property
    def _images(self) -> tuple[Floats, Floats]:
        """U = L^- X."""
        return self.base.apply(*self._columns)

    def _across(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return X^T times a vector or columns."""
        return np.asarray(of_objects[self.object_index] + of_assessors[self.assessor_index])

    @cached_property
    def _gram(self) -> Floats:
        """G = X^T L^- X."""
        gram = self._across(*self._images)
        return np.asarray((gram + gram.T) / 2)

    @cached_property
    def _middle(self) -> Floats:
        """W = (K^-1 + G)^-1."""
        return np.asarray(np.linalg.inv(np.diag(1.0 / self.change) + self._gram))

    def solve(self, score: Floats) -> Solution:
        """Refuse: estimates after a change come from those before it."""
        raise SolveError("An updated solver corrects answers; it does not find them anew.")

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L'^- times a vector, or times each column of a matrix."""
        values, biases = self.base.apply(of_objects, of_assessors)
        turn = self._middle @ self._across(values, biases)
        return values - self._images[0] @ turn, biases - self._images[1] @ turn

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L'^- x for each column x, a contrast."""
        before = self.base.contrasts(of_objects, of_assessors)
        along = self._images[0].T @ of_objects + self._images[1].T @ of_assessors
        return np.asarray(before - (along * (self._middle @ along)).sum(axis=0))

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L'^- for objects and for assessors."""
        values, biases = self.base.diagonal()
        of_values, of_biases = (((image @ self._middle) * image).sum(axis=1) for image in self._images)
        return values - of_values, biases - of_biases

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment after the changes the entries (o, o), (o, a) and (a, a) of L'^-."""
        n_assessors = int(self.system.orient(self.system.n_kept, self.system.n_gone)[1])
        kept, gone = self.system.kept.astype(np.int64), self.system.gone.astype(np.int64)
        objects, assessors = self.system.orient(kept, gone)
        cross = self._cross(objects * n_assessors + assessors, n_assessors)
        of_values, of_biases = self.diagonal()
        turned = (self._images[0] @ self._middle)[objects]
        cross -= (turned * self._images[1][assessors]).sum(axis=1)
        return of_values[objects], cross, of_biases[assessors]

    def _cross(self, pairs: NDArray[np.int64], n_assessors: int) -> Floats:
        """Return the entries (o, a) of L^- before the changes, for pairs old and new."""
        before = self.base.system
        kept, gone = before.orient(before.kept.astype(np.int64), before.gone.astype(np.int64))
        old = kept * n_assessors + gone
        known = np.concatenate([old, self.object_index * n_assessors + self.assessor_index])
        # of a new pair, the column x = e_o + e_a of U holds (o, o) + (o, a) at its object
        at = np.arange(self.change.size)
        own = self._images[0][self.object_index, at] - self.base.diagonal()[0][self.object_index]
        entries = np.concatenate([self.base.edges()[1], own])
        order = np.argsort(known, kind="stable")
        return np.asarray(entries[order[np.searchsorted(known[order], pairs)]])

    def log_determinant(self) -> float:
        """Return log det of L' without one row and column of each component."""
        sign, size = np.linalg.slogdet(np.eye(self.change.size) + self.change[:, None] * self._gram)
        if sign <= 0:
            raise SolveError("A change took a group apart: calibrate the panel anew.")
        return self.base.log_determinant() + float(size)

    @cached_property
    def _anew(self) -> Any:
        from evenhand.solve.choose import choose_solver

        return choose_solver(self.system)

    def mu2(self) -> float:
        """Return the second smallest eigenvalue mu_2 of M (App. C) of the panel after the changes."""
        return float(self._anew.mu2())

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) with covariance L'^-.

        From a draw y with covariance L^-: y - U B X^T y, where B + B^T - B G B^T = W. With G = Q Q^T this is
        B = Q^-T (I - (I - Q^T W Q)^1/2) Q^-1; where G is singular, on its range, which is where X^T y lies.
        """
        values, biases = self.base.draw(generator, count)
        if not self.change.size:
            return values, biases
        size, axes = np.linalg.eigh(self._gram)
        positive = size > 1e-12 * size.max()
        root, axes = np.sqrt(size[positive]), axes[:, positive]
        forward, back = axes * root, axes / root
        inner, turn = np.linalg.eigh(np.eye(root.size) - forward.T @ self._middle @ forward)
        half = np.eye(root.size) - (turn * np.sqrt(np.maximum(inner, 0.0))) @ turn.T
        step = self._across(values.T, biases.T).T @ (back @ half @ back.T)
        return values - step @ self._images[0].T, biases - step @ self._images[1].T
