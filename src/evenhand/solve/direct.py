"""Exact answers from a factor of the Schur complement, and its dense Cholesky factor for thousands of assessors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from evenhand.compiled import BY_NUMPY, Codes, Floats, Whole, one_thread, sum_by
from evenhand.solve.base import AT_ONCE, KeptSolver, Sides, Solution, require_draws
from evenhand.solve.digits import refined
from evenhand.solve.equations import Pattern, System, pairs_of

_ACCURATE: Final = 300
_CANCELLED: Final = (1e-3, 1e-5)
"""A pivot smaller than this part of its diagonal has lost too many digits; up to 300 equations none is spared."""

_LEAF: Final = 32
"""Factors up to this size are inverted row by row."""

_BLOCK: Final = 64
_POLE: Final = 4
"""An eliminated vertex is a pole where it makes this many times as many links as all others."""

_LITTLE: Final = 4e6
"""Products of full rows with the inverse are quicker than any other way up to this many terms."""

_PAIR: Final = 64
"""To look up the entry of a pair takes as long as 64 terms of a product with the whole inverse."""


@dataclass(frozen=True, eq=False)
class FactoredSolver(KeptSolver):
    """Grounds the heaviest kept vertex of each component; the rest of S is positive definite and is factorised.

    The inverse of the grounded Schur complement, with zeros for the grounded vertices, is a symmetric
    generalised inverse of it, and gives one of L by back-substitution. Kinds of factor differ in how they solve, in
    which entries of the inverse they give, and in how they draw.
    """

    diagonal_error: float = 0.0
    log_determinant_error: float = 0.0

    @cached_property
    def free(self) -> Whole:
        """Kept vertices that are not grounded."""
        return grounded(self.system)

    @cached_property
    def _place(self) -> Whole:
        """Where each kept vertex stands among the free ones; -1 for the grounded."""
        place = np.full(self.system.n_kept, -1)
        place[self.free] = np.arange(self.free.size)
        return place

    def _solve_free(self, right: Floats) -> Floats:
        """Solve with the grounded Schur complement."""
        raise NotImplementedError

    def _entries_free(self, one: Whole, other: Whole) -> Floats:
        """Return entries of the inverse between free vertices that share a neighbour, or are one and the same."""
        raise NotImplementedError

    def _pivots(self) -> Floats:
        """Return the pivots, whose product is the determinant."""
        raise NotImplementedError

    def _draw_free(self, generator: np.random.Generator, count: int) -> Floats:
        """Return draws (rows) of the free vertices with the inverse as covariance."""
        raise NotImplementedError

    def solve_kept(self, right: Floats) -> Floats:
        """Return S^- times a vector or columns on the kept side."""
        kept = np.zeros_like(right)
        if self.free.size:
            kept[self.free] = self._solve_free(right[self.free])
        return kept

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores by the factor and refinement."""
        return refined(self.system, self.solve_kept, score)

    def diagonal(self) -> Sides:
        """Return the diagonal of L^-: for the eliminated side 1/C + (Q S^- Q^T), Q = c/C."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Sides:
        return self._each_diagonal()

    def _each_diagonal(self) -> Sides:
        system = self.system
        every = np.arange(self.free.size)
        kept = np.zeros(system.n_kept)
        kept[self.free] = self._entries_free(every, every)
        gone = np.empty(system.n_gone)
        for start, stop in self._portions():
            gone[start:stop] = self._quadratic(start, stop)
        return system.orient(kept, 1.0 / system.gone_total + gone / system.gone_total / system.gone_total)

    def _portions(self) -> list[tuple[int, int]]:
        """Return stretches of the eliminated side that are small enough to be treated at a time."""
        upto = np.cumsum(self._cost())
        if upto[-1] < AT_ONCE:
            return [(0, upto.size)]
        portion = (upto / AT_ONCE).astype(np.int64)
        cuts = (np.flatnonzero(np.diff(portion)) + 1).tolist()
        return list(zip([0, *cuts], [*cuts, self.system.n_gone], strict=True))

    def _cost(self) -> Floats:
        """Return how many numbers each eliminated vertex needs."""
        return np.asarray(self.system.gone_count.astype(np.float64) ** 2)

    def _quadratic(self, start: int, stop: int) -> Floats:
        """Return c S^- c^T for each of some eliminated vertices."""
        weight, kept, pointer = self.system.rows
        first, second, vertex = pairs_of(pointer[start : stop + 1].astype(np.int64))
        terms = self._entries(kept[first], kept[second])
        terms *= weight[first] * weight[second]
        return np.asarray(np.bincount(vertex, weights=terms, minlength=stop - start), dtype=np.float64)

    def _products(self, start: int, stop: int) -> Floats:
        """Return the entries of c S^- at the assessments of some eliminated vertices, in the order of the incidence."""
        weight, kept, pointer = self.system.rows
        first, second, _ = pairs_of(pointer[start : stop + 1].astype(np.int64))
        low, high = int(pointer[start]), int(pointer[stop])
        entries = self._entries(kept[first], kept[second]) * weight[second]
        return np.asarray(np.bincount(first - low, weights=entries, minlength=high - low), dtype=np.float64)

    def _entries(self, one: Codes, other: Codes) -> Floats:
        """Return entries of S^- between kept vertices that share a neighbour."""
        first, second = self._place[one], self._place[other]
        entries = np.zeros(first.size)
        inside = (first >= 0) & (second >= 0)
        entries[inside] = self._entries_free(first[inside], second[inside])
        return entries

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        system = self.system
        cross = np.empty(system.n_edges)
        order = np.argsort(system.gone, kind="stable")  # the order of the incidence matrix
        pointer = system.rows[-1]
        for start, stop in self._portions():
            cross[order[pointer[start] : pointer[stop]]] = -self._products(start, stop)
        cross /= system.gone_total[system.gone]
        first, last = self._own_entries()
        return first, cross, last

    def log_determinant(self) -> float:
        """Return log det of L without the grounded rows and columns."""
        return float(np.log(self._pivots()).sum() + np.log(self.system.gone_total).sum())

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) with covariance L^-: the kept side from the factor, the other given it."""
        import scipy.sparse as sp

        system = self.system
        require_draws(system, count, copies=3)
        kept = np.zeros((count, system.n_kept))
        if self.free.size:
            kept[:, self.free] = self._draw_free(generator, count)
        gone = np.empty((count, system.n_gone))
        spread = 1.0 / np.sqrt(system.gone_total)
        share = sp.diags_array(1.0 / system.gone_total) @ system.incidence
        rows = max(1, 2**17 // system.n_gone)  # few enough to stay in the cache
        for start in range(0, count, rows):
            block = gone[start : start + rows]
            generator.standard_normal(out=block)
            block *= spread
            block -= (share @ kept[start : start + rows].T).T
        return system.orient(kept, gone)


@dataclass(frozen=True, eq=False)
class Cholesky:
    """A dense lower Cholesky factor; what stands above its diagonal means nothing."""

    lower: Floats

    @classmethod
    def of(cls, matrix: Floats, cancelled: float) -> Cholesky | None:
        """Factorise a matrix laid out by columns, which is overwritten; None where a pivot keeps too small a part."""
        scale = np.diagonal(matrix) * cancelled
        if matrix.shape[0] <= BY_NUMPY:
            try:
                lower, failed = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64), 0
            except np.linalg.LinAlgError:
                return None
        else:
            from scipy.linalg.lapack import dpotrf

            lower, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        return cls(lower) if not failed and (np.square(np.diagonal(lower)) > scale).all() else None

    @property
    def pivots(self) -> Floats:
        """The pivots, whose product is the determinant."""
        return np.square(np.diagonal(self.lower))

    def solve(self, right: Floats) -> Floats:
        """Solve for a vector or columns."""
        if self._half is not None:
            return np.asarray(self._half.T @ (self._half @ right))
        from scipy.linalg.lapack import dpotrs

        return np.asarray(dpotrs(self.lower, right, lower=1)[0])

    @cached_property
    def _half(self) -> Floats | None:
        """The inverse of the factor of few equations; None for many."""
        return None if self.lower.shape[0] > BY_NUMPY else inverse_of_lower(self.lower)

    def divide(self, right: Floats) -> Floats:
        """Solve with the factor alone, for columns."""
        if self._half is not None:
            return np.asarray(self._half @ right)
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.lower, right, lower=True, check_finite=False))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return draws (columns) with the inverse as covariance."""
        white = generator.standard_normal((self.lower.shape[0], count))
        if self._half is not None:
            return np.asarray(self._half.T @ white)
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.lower, white, lower=True, trans="T", check_finite=False))

    @cached_property
    def inverse(self) -> Floats:
        """The inverse; what stands above its diagonal means nothing."""
        if self._half is not None:
            return np.asarray(self._half.T @ self._half)
        from scipy.linalg.lapack import dpotri

        with one_thread(self.lower.shape[0]):
            return np.asarray(dpotri(self.lower, lower=1)[0])

    def full_inverse(self, places: Whole, size: int) -> Floats:
        """Return the inverse with both halves, at some places of a larger matrix of zeros."""
        full = np.zeros((size, size))
        full[np.ix_(places, places)] = self.inverse
        if self._half is not None:  # whose product has both
            return full
        for start in range(0, size, _BLOCK):  # in place, for want of memory
            stop = min(start + _BLOCK, size)
            inner = np.tril(full[start:stop, start:stop])
            full[start:stop, start:stop] = inner + np.tril(inner, -1).T
            full[start:stop, stop:] = full[stop:, start:stop].T
        return full


def inverse_of_lower(lower: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix; what stands above its diagonal means nothing.

    Row by row, or by halves: the inverse of [[A, 0], [B, C]] is [[A^-1, 0], [-C^-1 B A^-1, C^-1]].

    Examples
    --------
    >>> inverse_of_lower(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    size = lower.shape[0]
    if size <= _LEAF:
        pivots = np.diagonal(lower)
        inverse, scaled = np.diag(1.0 / pivots), lower / -pivots[:, None]
        for k in range(1, size):
            inverse[k, :k] = scaled[k, :k].dot(inverse[:k, :k])
        return inverse
    half = size // 2
    inverse = np.zeros((size, size))
    inverse[:half, :half] = first = inverse_of_lower(lower[:half, :half])
    inverse[half:, half:] = last = inverse_of_lower(lower[half:, half:])
    inverse[half:, :half] = -(last @ (lower[half:, :half] @ first))
    return inverse


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
        system, free, pole = self.system, self.free, self._pole
        found = Cholesky.of(system.grounded_schur(free, pole), _CANCELLED[free.size > _ACCURATE])
        if found is not None:
            return found
        laplacian = system.schur(pole)
        if pole is not None:  # which is one more vertex
            laplacian = np.pad(laplacian, (0, 1))
            laplacian[:-1, -1] = -system.row(pole)
        return Cholesky(laplacian_factor(laplacian, free))

    @cached_property
    def _pole(self) -> int | None:
        """An eliminated vertex that makes most links, as that of a prior, or all but those of thin ones; None for none.

        It is grounded instead of a kept vertex, so that the others stay few. Then S^- c = 1 for its own weights c.
        """
        system = self.system
        if not system.n_gone or system.n_components > 1:
            return None
        most = int(np.argmax(system.gone_count))
        own = float(system.gone_count[most]) ** 2
        if system.is_dense and _POLE * (system.n_links - own) < own:
            return most
        return most if system.is_thin(most) else None

    @cached_property
    def free(self) -> Whole:
        """Kept vertices that are not grounded."""
        return super().free if self._pole is None else np.arange(self.system.n_kept)

    def _portions(self) -> list[tuple[int, int]]:
        """Return stretches of the eliminated side that are small enough to be treated at a time; a pole by itself."""
        found, pole = super()._portions(), self._pole
        if pole is None:
            return found
        cuts = sorted({cut for portion in found for cut in portion} | {pole, pole + 1})
        return list(pairwise(cuts))

    def log_determinant(self) -> float:
        """Return log det of L without the grounded rows and columns."""
        found = super().log_determinant()
        return found if self._pole is None else found - float(np.log(self.system.gone_total[self._pole]))

    def _solve_free(self, right: Floats) -> Floats:
        return self._factor.solve(right)

    def _entries_free(self, one: Whole, other: Whole) -> Floats:
        return np.asarray(self._factor.inverse[np.maximum(one, other), np.minimum(one, other)])

    def _pivots(self) -> Floats:
        return self._factor.pivots

    def _draw_free(self, generator: np.random.Generator, count: int) -> Floats:
        return self._factor.draw(generator, count).T

    # Where a pattern has all pairs, its halves of S and of the inverse are looked up at once

    @cached_property
    def _looked_up(self) -> tuple[Pattern, Floats, Floats] | None:
        """The pattern of all pairs, the inverse at each, and its diagonal; None where the pattern has not all."""
        pole, pattern = self._pole, self.system.pattern
        if pole is None or pattern is None or not self.system.is_thin(pole):
            return None
        inverse = self._factor.inverse
        return pattern, inverse.T.reshape(-1)[pattern.pairs[-1]], np.diagonal(inverse)

    @cached_property
    def _diagonal(self) -> Sides:
        system, pole = self.system, self._pole
        if self._looked_up is None or pole is None:
            return self._each_diagonal()
        (pattern, entries, own), weight = self._looked_up, system.rows[0]
        first, second, vertex, _ = pattern.pairs
        gone = sum_by(vertex, 2 * weight[first] * weight[second] * entries, system.n_gone)
        gone += np.add.reduceat(np.square(weight) * own[pattern.indices], pattern.start[:-1])
        gone[pole] = system.gone_total[pole]
        return system.orient(own.copy(), 1.0 / system.gone_total + gone / system.gone_total / system.gone_total)

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        system, pole = self.system, self._pole
        if self._looked_up is not None:
            (pattern, entries, own), weight = self._looked_up, system.rows[0]
            first, second, _, _ = pattern.pairs
            sums = weight * own[pattern.indices]
            sums += sum_by(first, entries * weight[second], system.n_edges)
            sums += sum_by(second, entries * weight[first], system.n_edges)
            products = np.empty(system.n_edges)
            products[pattern.order] = sums
        elif self._images is not None:
            products = self._images[system.gone, system.kept]
        else:
            return super().edges()
        if pole is not None:
            products[system.gone == pole] = 1.0
        one, other = self._own_entries()
        return one, -products / system.gone_total[system.gone], other

    # Where eliminated vertices have many neighbours, products with the whole inverse beat looking up pairs

    @property
    def _by_pairs(self) -> bool:
        links = self.system.n_links - (0 if self._pole is None else int(self.system.gone_count[self._pole]) ** 2)
        return _PAIR * links < self.system.n_edges * self.system.n_kept

    def _cost(self) -> Floats:
        return super()._cost() if self._by_pairs else np.full(self.system.n_gone, float(self.system.n_kept))

    @cached_property
    def _images(self) -> Floats | None:
        """Products of all rows of weights with the inverse, where full rows are little work; None elsewhere."""
        system = self.system
        is_little = system.is_dense and system.n_gone * system.n_kept**2 <= _LITTLE
        return system.dense @ self.full_inverse if is_little else None

    def _quadratic(self, start: int, stop: int) -> Floats:
        if start == self._pole:
            return self.system.gone_total[start:stop]
        if self._images is not None:
            return np.asarray((self.system.dense[start:stop] * self._images[start:stop]).sum(axis=1))
        if self._by_pairs:
            return super()._quadratic(start, stop)
        rows = self.system.incidence[start:stop]
        return np.asarray(rows.multiply(rows @ self.full_inverse).sum(axis=1)).ravel()

    def _products(self, start: int, stop: int) -> Floats:
        if start == self._pole:
            return np.ones(int(self.system.gone_count[start]))
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
    of matrices. Only the off-diagonal entries of the Laplacian are used.
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


def grounded(system: System) -> Whole:
    """Return the kept vertices that are free when the heaviest of each component is held at zero."""
    if system.n_components == 1:
        return np.flatnonzero(np.arange(system.n_kept) != system.kept_total.argmax())
    return not_heaviest(system.kept_total, system.kept_component)


def not_heaviest(weight: Floats, group: Whole) -> Whole:
    """Return the positions of all but the heaviest of each group, in order."""
    by_weight = np.lexsort((-weight, group))
    first = np.ones(by_weight.size, dtype=bool)
    first[1:] = np.diff(group[by_weight]) != 0
    return np.sort(by_weight[~first])
