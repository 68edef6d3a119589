"""Dense Cholesky factorisation of the Schur complement: exact answers to every question, for thousands of assessors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from evenhand.compiled import Floats, Whole
from evenhand.solve.factored import FactoredSolver

_ACCURATE: Final = 300
_CANCELLED: Final = (1e-3, 1e-5)
"""A pivot smaller than this part of its diagonal has lost too many digits; up to 300 equations none is spared."""

_BLOCK: Final = 64
_PAIR: Final = 64
"""To look up the entry of a pair takes as long as so many terms of a product with the whole inverse."""


@dataclass(frozen=True, eq=False)
class Cholesky:
    """A dense lower Cholesky factor; what stands above its diagonal means nothing."""

    lower: Floats

    @classmethod
    def of(cls, matrix: Floats, cancelled: float) -> Cholesky | None:
        """Factorise a matrix laid out by columns, which is overwritten; None where a pivot keeps too small a part."""
        from scipy.linalg.lapack import dpotrf

        if not matrix.size:
            return cls(matrix)
        scale = np.diagonal(matrix) * cancelled
        lower, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        return cls(lower) if not failed and (np.square(np.diagonal(lower)) > scale).all() else None

    @property
    def pivots(self) -> Floats:
        """The pivots, whose product is the determinant."""
        return np.square(np.diagonal(self.lower))

    def solve(self, right: Floats) -> Floats:
        """Solve for a vector or columns."""
        from scipy.linalg.lapack import dpotrs

        return np.asarray(dpotrs(self.lower, right, lower=1)[0]) if self.lower.size else np.zeros_like(right)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return draws (columns) with the inverse as covariance."""
        from scipy.linalg import solve_triangular

        white = generator.standard_normal((self.lower.shape[0], count))
        if not self.lower.size:
            return white
        return np.asarray(solve_triangular(self.lower, white, lower=True, trans="T", check_finite=False))

    @cached_property
    def inverse(self) -> Floats:
        """The inverse; what stands above its diagonal means nothing."""
        from scipy.linalg.lapack import dpotri

        return np.asarray(dpotri(self.lower, lower=1)[0]) if self.lower.size else self.lower

    def full_inverse(self, places: Whole, size: int) -> Floats:
        """Return the inverse with both halves, at some places of a larger matrix of zeros."""
        full = np.zeros((size, size))
        full[np.ix_(places, places)] = self.inverse
        for start in range(0, size, _BLOCK):  # in place, for want of memory
            stop = min(start + _BLOCK, size)
            inner = np.tril(full[start:stop, start:stop])
            full[start:stop, start:stop] = inner + np.tril(inner, -1).T
            full[start:stop, stop:] = full[stop:, start:stop].T
        return full


@dataclass(frozen=True, eq=False)
class DirectSolver(FactoredSolver):
    """Dense Cholesky factor of the grounded Schur complement, and its dense inverse where variances are asked for."""

    @property
    def reason(self) -> str:
        """Which method was used."""
        return f"direct: dense Cholesky factor of {self.system.n_kept:,} equations"

    @cached_property
    def _factor(self) -> Cholesky:
        """Factor of the grounded Schur complement; where a pivot lost digits, once more, without subtractions."""
        found = Cholesky.of(self.system.grounded_schur(self.free), _CANCELLED[self.free.size > _ACCURATE])
        return found or Cholesky(laplacian_factor(self.system.schur(), self.free))

    def _solve_free(self, right: Floats) -> Floats:
        return self._factor.solve(right)

    def _entries_free(self, one: Whole, other: Whole) -> Floats:
        return np.asarray(self._factor.inverse[np.maximum(one, other), np.minimum(one, other)])

    def _pivots(self) -> Floats:
        return self._factor.pivots

    def _draw_free(self, generator: np.random.Generator, count: int) -> Floats:
        return self._factor.draw(generator, count).T

    # Where eliminated vertices have many neighbours, products with the whole inverse beat looking up pairs

    @property
    def _by_pairs(self) -> bool:
        return _PAIR * self.system.n_links < self.system.n_edges * self.system.n_kept

    def _cost(self) -> Floats:
        return super()._cost() if self._by_pairs else np.full(self.system.n_gone, float(self.system.n_kept))

    def _quadratic(self, start: int, stop: int) -> Floats:
        if self._by_pairs:
            return super()._quadratic(start, stop)
        rows = self.system.incidence[start:stop]
        return np.asarray(rows.multiply(rows @ self.full_inverse).sum(axis=1)).ravel()

    def _products(self, start: int, stop: int) -> Floats:
        if self._by_pairs:
            return super()._products(start, stop)
        rows = self.system.incidence[start:stop]
        vertex = np.repeat(np.arange(stop - start), np.diff(rows.indptr))
        return np.asarray((rows @ self.full_inverse)[vertex, rows.indices])

    @cached_property
    def full_inverse(self) -> Floats:
        """The inverse with both halves, bordered by zeros for the grounded vertices."""
        return self._factor.full_inverse(self.free, self.system.n_kept)


def laplacian_factor(laplacian: Floats, free: Whole) -> Floats:
    """Return the lower Cholesky factor of a graph Laplacian without its grounded rows and columns.

    Each vertex is eliminated by adding the links that it leaves between its neighbours, and each pivot is a sum of
    links: nothing is ever subtracted, so that every entry keeps its digits however unequal the weights are (the
    idea of Grassmann, Taksar and Heyman for Markov chains). Blocks of vertices keep most of the work in products
    of matrices.

    Parameters
    ----------
    laplacian
        The Laplacian; only its off-diagonal entries are used.
    free
        The vertices that are not grounded.
    """
    size = free.size
    links = laplacian[np.ix_(free, free)]
    np.negative(links, out=links)
    np.fill_diagonal(links, 0.0)
    grounds = np.delete(np.arange(laplacian.shape[0]), free)
    to_ground = np.maximum(-laplacian[np.ix_(free, grounds)].sum(axis=1), 0.0)
    del laplacian  # which nobody needs any more, and whose memory somebody may
    pivots = np.empty(size)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        for k in range(start, stop):
            row = links[k, k + 1 :]
            pivots[k] = to_ground[k] + row.sum()
            share = links[k, k + 1 : stop] / pivots[k]
            links[k + 1 : stop, k + 1 :] += share[:, None] * row
            to_ground[k + 1 : stop] += share * to_ground[k]
            inner = np.arange(k + 1, stop)
            links[inner, inner] = 0.0
        above = links[start:stop, stop:]
        scaled = above / pivots[start:stop, None]
        links[stop:, stop:] += scaled.T @ above
        to_ground[stop:] += scaled.T @ to_ground[start:stop]
        rest = np.arange(stop, size)
        links[rest, rest] = 0.0
    root = np.sqrt(pivots)
    links /= -root[:, None]
    for k in range(size):  # in place, for want of memory
        links[k, :k] = 0.0
    np.fill_diagonal(links, root)
    return np.asarray(links.T)
