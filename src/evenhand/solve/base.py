"""The seam: the few questions that a model may ask about the normal equations, and who answers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.system import Floats, System


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A least-squares fit in some gauge: values (n_O), biases (n_A) and residuals s - v - b (N)."""

    values: Floats
    biases: Floats
    residuals: Floats


class Solver(Protocol):
    """What every solver answers; L^- below is one symmetric generalised inverse of L, the same in all answers."""

    @property
    def system(self) -> System:
        """The equations."""

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores, in some gauge."""

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L^- times a vector, or times each column of a matrix."""

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L^- for objects and for assessors."""

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""

    def log_determinant(self) -> float:
        """Return log det of L without one row and column of each component."""

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
