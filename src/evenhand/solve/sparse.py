"""Sparse Cholesky factorisation of the Schur complement: exact answers for panels connected by few links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, Whole, compiled, is_compiled
from evenhand.errors import SolveError
from evenhand.memory import require
from evenhand.solve.direct import FactoredSolver
from evenhand.solve.equations import System
from evenhand.words import argument

_CANCELLED: Final = 1e-9
"""A pivot that is smaller than this part of its diagonal has lost too many digits."""

_ENTRY_BYTES: Final = 50.0
"""What the inverse takes for each entry of L, as measured."""

_ORDER: Final[dict[str, Any]] = {
    "permc_spec": "MMD_AT_PLUS_A",
    "diag_pivot_thresh": 0.0,
    "options": {"SymmetricMode": True},
}
"""Minimum degree on the symmetric pattern, pivots on the diagonal: the factors are then those of Cholesky."""


@dataclass(frozen=True, eq=False)
class SparseSolver(FactoredSolver):
    """Sparse factor S = L D L^T of the grounded Schur complement, and its inverse on the pattern of L (Takahashi)."""

    @property
    def reason(self) -> str:
        """Which method was used."""
        return f"direct: sparse Cholesky factor of {self.system.n_kept:,} equations"

    @cached_property
    def _matrix(self) -> sp.csc_array[Any]:
        return grounded_laplacian(self.system.links, self.free)

    @cached_property
    def _factor(self) -> Any:
        from scipy.sparse.linalg import splu

        try:
            factor = splu(self._matrix, **_ORDER)
        except (RuntimeError, MemoryError) as error:
            raise SolveError(
                f"The equations could not be factorised ({error}): parts of the panel may be joined too weakly for "
                "this method; ask for the direct solver."
            ) from None
        scale = self._matrix.diagonal()[np.argsort(factor.perm_c)]
        if (factor.perm_r != factor.perm_c).any() or not (factor.U.diagonal() > _CANCELLED * scale).all():
            raise SolveError(
                "Parts of the panel are joined only by confidences so small beside the others that their standards "
                "cannot be compared: raise those confidences, or leave these assessments out and calibrate each group "
                f"on its own ({argument('per_component', True)})."
            )
        return factor

    def factorise(self) -> None:
        """Make the factor now, or say that it cannot be had."""
        self._factor  # noqa: B018

    def _solve_free(self, right: Floats) -> Floats:
        return np.asarray(self._factor.solve(np.ascontiguousarray(right)))

    def _pivots(self) -> Floats:
        return np.asarray(self._factor.U.diagonal())

    def _draw_free(self, generator: np.random.Generator, count: int) -> Floats:
        # L D^1/2 z has the covariance S, and what solves for it the covariance S^-1
        white = generator.standard_normal((self.free.size, count)) * np.sqrt(self._pivots())[:, None]
        return self._solve_free((self._factor.L @ white)[self._factor.perm_c]).T

    @cached_property
    def _selected(self) -> tuple[Whole, Floats]:
        """The inverse on the pattern of L: places column * n + row in rising order, and the entries there."""
        require(_ENTRY_BYTES * self._factor.nnz / 2, f"entries of the inverse of {self.free.size:,} equations")
        lower = self._factor.L.tocsc()
        lower.sort_indices()
        size = self.free.size
        start, row = lower.indptr.astype(np.int64), lower.indices.astype(np.int64)
        places = np.repeat(np.arange(size), np.diff(start)) * size + row
        if is_compiled():
            entries = np.zeros(lower.nnz)
            compiled(_takahashi)(start, row, lower.data, self._pivots(), entries)
        else:
            entries = self._by_columns(start, row)
        return places, entries

    def _by_columns(self, start: Whole, row: Whole) -> Floats:
        """Return the same entries by solving for every column, which takes longer."""
        size = self.free.size
        entries = np.empty(row.size)
        to_old = np.argsort(self._factor.perm_c)
        for low in range(0, size, 256):
            some = np.arange(low, min(low + 256, size))
            unit = np.zeros((size, some.size))
            unit[to_old[some], np.arange(some.size)] = 1.0
            columns = self._solve_free(unit)[to_old]
            for j in some:
                entries[start[j] : start[j + 1]] = columns[row[start[j] : start[j + 1]], j - low]
        return entries

    def _entries_free(self, one: Whole, other: Whole) -> Floats:
        new = self._factor.perm_c
        first, second = new[one].astype(np.int64), new[other].astype(np.int64)
        places, entries = self._selected
        wanted = np.minimum(first, second) * self.free.size + np.maximum(first, second)
        return np.asarray(entries[np.searchsorted(places, wanted)])


def envelope(system: System) -> tuple[float, float]:
    """Return bounds on the entries of a sparse factor and on the products that it takes, from a banded order."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    links = system.links
    order = reverse_cuthill_mckee(links, symmetric_mode=True)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    first = place.copy()
    linked = np.flatnonzero(np.diff(links.indptr))
    if linked.size:
        first[linked] = np.minimum.reduceat(place[links.indices], links.indptr[linked])
    width = np.maximum(place - first, 0).astype(np.float64)
    return float(width.sum()), float(np.square(width).sum())


def grounded_laplacian(links: sp.csr_array[Any], free: Whole) -> sp.csc_array[Any]:
    """Return a graph's Laplacian without its grounded rows and columns; the diagonal is a sum, so nothing cancels."""
    degree = np.asarray(links.sum(axis=1)).ravel()
    inner = -links[free][:, free]
    return (inner + sp.diags_array(degree[free])).tocsc()


def _takahashi(start: Whole, row: Whole, lower: Floats, pivot: Floats, inverse: Floats) -> None:
    """Fill in the inverse Z of L D L^T on the pattern of L, last column first: Z = L^-T D^-1 + Z (I - L).

    Each column needs entries of the inverse only between rows of its own pattern, which columns after it hold.
    """
    size = pivot.size
    place = np.full(size, -1, dtype=np.int64)
    for j in range(size - 1, -1, -1):
        low, high = start[j] + 1, start[j + 1]  # the first of each column is the unit diagonal
        for p in range(low, high):
            place[row[p]] = p
        for p in range(low, high):
            k = row[p]
            inverse[p] -= lower[p] * inverse[start[k]]
            for q in range(start[k] + 1, start[k + 1]):
                at = place[row[q]]
                if at >= 0:
                    inverse[at] -= lower[p] * inverse[q]
                    inverse[p] -= lower[at] * inverse[q]
        total = 1.0 / pivot[j]
        for p in range(low, high):
            total -= lower[p] * inverse[p]
            place[row[p]] = -1
        inverse[start[j]] = total
