"""Answers for a panel of which a few scores changed, from the answers before: low-rank corrections of L^-.

With X the columns e_o + e_a of the changed assessments and K their changes of confidence, L' = L + X K X^T, and
L'^- = L^- - U W U^T with U = L^- X and W = (K^-1 + X^T U)^-1. X has nothing along the null vectors of L, so this holds
for the generalised inverse in any gauge, as long as no group falls apart or is joined to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.compiled import Codes, Floats, Whole
from evenhand.errors import SolveError
from evenhand.solve.base import Answering, LowRank, Sides, Wrapped
from evenhand.solve.choose import choose_solver
from evenhand.solve.equations import System


@dataclass(frozen=True, eq=False)
class UpdatedSolver(Wrapped):
    """The solver of a panel before (``base``), the equations after, and what changed since.

    Each pair (``object_index``, ``assessor_index``) whose confidence changed stands there once, with its change.
    """

    base: Answering
    system: System
    object_index: Whole
    assessor_index: Whole
    change: Floats

    @property
    def reason(self) -> str:
        """Which method was used."""
        return f"{self.base.reason}; since then {self.change.size} changes of confidence, by low-rank correction"

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment after the changes."""
        return self.system.ends

    @cached_property
    def _columns(self) -> Sides:
        """X, the columns e_o + e_a of the changes."""
        n_objects, n_assessors = self.system.orient(self.system.n_kept, self.system.n_gone)
        at = np.arange(self.change.size)
        of_objects, of_assessors = np.zeros((n_objects, at.size)), np.zeros((n_assessors, at.size))
        of_objects[self.object_index, at] = 1.0
        of_assessors[self.assessor_index, at] = 1.0
        return of_objects, of_assessors

    @cached_property
    def _images(self) -> Sides:
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
    def low_rank(self) -> LowRank:
        """-U W U^T."""
        return LowRank(*self._images, -self._middle)

    @cached_property
    def _middle(self) -> Floats:
        """W = (K^-1 + G)^-1."""
        return np.asarray(np.linalg.inv(np.diag(1.0 / self.change) + self._gram))

    def _told_cross(self) -> Floats:
        """Return the entries (o, a) of L^- before the changes, for pairs old and new."""
        n_assessors = self._images[1].shape[0]
        (objects, assessors), (old_objects, old_assessors) = self.ends, self.base.ends
        old = old_objects.astype(np.int64) * n_assessors + old_assessors
        pairs = objects.astype(np.int64) * n_assessors + assessors
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

    def mu2(self) -> float:
        """Return mu_2 of the panel after the changes."""
        return self._anew.mu2()

    @cached_property
    def _anew(self) -> Answering:
        return choose_solver(self.system)

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
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


def changes_since(solver: Answering, pairs: Whole, change: Floats) -> tuple[Answering, Whole, Floats]:
    """Return the solver that was made from scratch, and all changes of confidence since, each pair once."""
    if isinstance(solver, UpdatedSolver):
        earlier = np.stack([solver.object_index, solver.assessor_index], axis=1)
        pairs, change = np.concatenate([earlier, pairs]), np.concatenate([solver.change, change])
        solver = solver.base
    unique, place = np.unique(pairs, axis=0, return_inverse=True)
    total = np.zeros(len(unique))
    np.add.at(total, place.ravel(), change)
    changed = total != 0
    return solver, unique[changed], total[changed]
