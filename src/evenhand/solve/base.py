"""The seam: the few questions that a model may ask about the normal equations, and who answers them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.memory import require
from evenhand.solve.equations import System


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A least-squares fit in some gauge.

    Attributes
    ----------
    values, biases
        The estimates (n_O and n_A).
    residuals
        s - v - b for each assessment; None where there are so many that they are computed when asked for.
    residual
        The weighted sum of their squares, where it was had on the way; None where it must be summed.
    """

    values: Floats
    biases: Floats
    residuals: Floats | None = None
    residual: float | None = None


class Solver(Protocol):
    """What every solver answers; L^- below is one symmetric generalised inverse of L, the same in all answers."""

    @property
    def system(self) -> System:
        """The equations."""

    @property
    def reason(self) -> str:
        """Which method was used, and why, in words for a user."""

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal; 0 where it is exact but for rounding."""

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant; 0 where it is exact but for rounding."""

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores, in some gauge."""

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L^- times a vector, or times each column of a matrix."""

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast: the same for every generalised inverse."""

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L^- for objects and for assessors."""

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""

    def log_determinant(self) -> float:
        """Return log det of L without one row and column of each component."""

    def mu2(self) -> float:
        """Return the second smallest eigenvalue mu_2 of M (App. C), for a connected panel with two on either side."""

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""


SolveKept = Callable[[Floats], Floats]
"""Solves S x = r on the kept side, for a vector or columns r, each of which sums to zero over every component."""


def eliminate(system: System, solve_kept: SolveKept, kept_side: Floats, gone_side: Floats) -> tuple[Floats, Floats]:
    """Return the kept and the eliminated side of L^- times (kept_side, gone_side): solve the one, then the other."""
    total = system.gone_total if gone_side.ndim == 1 else system.gone_total[:, None]
    kept = solve_kept(kept_side - system.up(gone_side / total))
    return kept, (gone_side - system.down(kept)) / total


def require_draws(system: System, count: int, *, copies: int = 1) -> None:
    """Refuse so many draws that they would not fit into memory; of the kept side there may be several copies."""
    size = 8.0 * count * (copies * system.n_kept + system.n_gone)
    require(size, f"{count:,} draws of {system.n_kept + system.n_gone:,} values and biases")


def grounded(system: System) -> NDArray[np.int64]:
    """Return the kept vertices that are free when the heaviest of each component is held at zero."""
    if system.n_components == 1:
        return np.delete(np.arange(system.n_kept), np.argmax(system.kept_total))
    by_weight = np.lexsort((-system.kept_total, system.kept_component))
    first = np.ones(by_weight.size, dtype=bool)
    first[1:] = np.diff(system.kept_component[by_weight]) != 0
    return np.sort(by_weight[~first])


def pairs_of(system: System, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of assessments of the same eliminated vertex, for vertices from start to stop.

    Returns
    -------
    first, second
        Positions in ``system.incidence``.
    vertex
        The vertex, counted from start.
    """
    pointer = system.incidence.indptr.astype(np.int64)
    low, count = pointer[start:stop], np.diff(pointer[start : stop + 1])
    edge_vertex = np.repeat(np.arange(stop - start), count)
    first = np.repeat(np.arange(pointer[start], pointer[stop]), count[edge_vertex])
    begin = np.cumsum(count[edge_vertex]) - count[edge_vertex]
    inner = np.arange(first.size) - np.repeat(begin, count[edge_vertex])
    vertex = np.repeat(edge_vertex, count[edge_vertex])
    return first, low[vertex] + inner, vertex
