"""Dense Cholesky factorisation of the Schur complement, refined until the answer no longer moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.errors import SolveError
from evenhand.grouping import sum_by
from evenhand.solve.base import Solution
from evenhand.solve.exact import EPS, group_sums, resolution, two_product, two_sum
from evenhand.system import Floats, System

_EPS: Final = float(np.finfo(np.float64).eps)
_MOST_STEPS: Final = 20

_DIGITS: Final = 1e-9
"""An answer that still moves by more than this, beside its size, or that rounding may be to blame for, is refused."""

_ACCURATE: Final = 3_000
"""Up to this size the factor is computed without subtractions, beyond it only where subtractions did harm."""

_CANCELLED: Final = 1e-8
"""A pivot that is smaller than this part of its diagonal has lost too many digits."""

_BLOCK: Final = 64


@dataclass(frozen=True, eq=False)
class DirectSolver:
    """Grounds the heaviest kept vertex of each component and factorises what is left, which is positive definite.

    The inverse of the grounded Schur complement, with zeros for the grounded vertices, is a symmetric
    generalised inverse of it, and gives one of L by back-substitution.
    """

    system: System

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """Kept vertices that are not grounded."""
        system = self.system
        by_weight = np.lexsort((-system.kept_total, system.kept_component))
        first = np.ones(by_weight.size, dtype=bool)
        first[1:] = np.diff(system.kept_component[by_weight]) != 0
        return np.sort(by_weight[~first])

    @cached_property
    def _factor(self) -> Floats:
        """Lower Cholesky factor of the grounded Schur complement."""
        laplacian = self.system.schur()
        if self.free.size <= _ACCURATE:
            return laplacian_factor(laplacian, self.free)
        from scipy.linalg import LinAlgError, cholesky

        grounded = laplacian[np.ix_(self.free, self.free)]
        scale = np.diagonal(grounded).copy()
        try:
            factor = np.asarray(cholesky(grounded, lower=True, check_finite=False), dtype=np.float64)
            if (np.square(np.diagonal(factor)) > _CANCELLED * scale).all():
                return factor
        except LinAlgError:
            pass
        # a pivot lost most of its digits to cancellation: once more, without subtractions
        return laplacian_factor(laplacian, self.free)

    @cached_property
    def _inverse(self) -> Floats:
        """Inverse of the grounded Schur complement, bordered by zeros for the grounded vertices."""
        from scipy.linalg.lapack import dpotri

        full = np.zeros((self.system.n_kept, self.system.n_kept))
        if self.free.size:
            lower, _ = dpotri(self._factor, lower=1)
            lower = np.tril(lower)
            full[np.ix_(self.free, self.free)] = lower + np.tril(lower, -1).T
        return full

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores by Cholesky and refinement with residuals of twice the digits."""
        system = self.system
        with np.errstate(over="ignore"):
            origin = float(np.median(score))
            centred = score - origin
        if not np.isfinite(centred).all():
            raise SolveError("The scores are too extreme to compute with: rescale them.")
        kept, gone = _Double(system.n_kept), _Double(system.gone_total.size)
        spread = max(float(np.abs(centred).max()), np.finfo(float).tiny)
        change = previous = np.inf
        for _ in range(_MOST_STEPS):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
                step_kept, step_gone = self._apply(*self._gradient(*_residual(system, centred, kept, gone)))
                kept.add(step_kept)
                gone.add(step_gone)
                size = max(float(np.abs(kept.high).max()), float(np.abs(gone.high).max()), spread)
                change = max(float(np.abs(step_kept).max()), float(np.abs(step_gone).max())) / size
            if not np.isfinite(change):
                raise SolveError("The scores or confidences are too extreme to compute with: rescale them.")
            if change <= _EPS / 4 or change > previous / 2:
                break
            previous = change
        if change > _DIGITS or self._rounding(centred, kept, gone) > _DIGITS * size:
            raise SolveError(
                "Parts of the panel are joined only by confidences so small beside the others that their standards "
                "cannot be compared to nine digits: raise those confidences, or leave these assessments out and "
                "calibrate each group on its own (--per-component)."
            )
        residual, _ = _residual(system, centred, kept, gone)
        values, biases = system.orient(kept, gone)
        return Solution(origin + values.high, biases.high, residual)

    def _gradient(self, residual: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """Return the sums of weight times residual at kept and at eliminated vertices, which a solution makes zero."""
        system = self.system
        term, lost = two_product(np.asarray(system.weight), residual)
        lost = lost + system.weight * rest
        of_kept = group_sums(system.kept, term, lost, system.n_kept)
        return of_kept, group_sums(system.gone, term, lost, system.gone_total.size)

    def _rounding(self, centred: Floats, kept: _Double, gone: _Double) -> float:
        """Return a bound on the error that rounding of the residuals leaves, however often the answer is refined.

        The inverse of a grounded Laplacian has no negative entry, so one solution with the sizes of all rounding
        errors on the right-hand side bounds what they can do together.
        """
        system = self.system
        sizes = np.abs(centred) + np.abs(kept.high)[system.kept] + np.abs(gone.high)[system.gone]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            noise = system.weight * sizes
            least = float(noise.max()) * resolution(noise.size)
            of_kept = sum_by(system.kept, noise * EPS, system.n_kept) + least
            of_gone = sum_by(system.gone, noise * EPS, system.gone_total.size) + least
            bound = self._grounded_solve(of_kept + system.incidence.T @ (of_gone / system.gone_total))
        return float(bound.max()) if np.isfinite(bound).all() else np.inf

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return L^- times a vector, or times each column of a matrix."""
        system = self.system
        return system.orient(*self._apply(*system.orient(of_objects, of_assessors)))

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return the diagonal of L^-: for the eliminated side 1/C + (Q S^- Q^T), Q = c/C."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> tuple[Floats, Floats]:
        system = self.system
        kept = np.diagonal(self._inverse).copy()
        gone = np.empty(system.gone_total.size)
        block = max(1, 2**24 // max(1, system.n_kept))
        for start in range(0, gone.size, block):
            rows = system.incidence[start : start + block]
            gone[start : start + block] = np.asarray(rows.multiply(rows @ self._inverse).sum(axis=1)).ravel()
        gone = 1.0 / system.gone_total + gone / system.gone_total / system.gone_total
        of_objects, of_assessors = system.orient(kept, gone)
        return of_objects, of_assessors

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        system = self.system
        cross = np.empty(system.weight.size)
        order = np.argsort(system.gone, kind="stable")
        block = max(1, 2**24 // max(1, system.n_kept))
        for start in range(0, system.gone_total.size, block):
            low, high = np.searchsorted(system.gone, [start, start + block], sorter=order)
            chosen = order[low:high]
            dense = system.incidence[start : start + block] @ self._inverse
            cross[chosen] = -dense[system.gone[chosen] - start, system.kept[chosen]]
        cross /= system.gone_total[system.gone]
        of_objects, of_assessors = self.diagonal()
        kept, gone = system.orient(of_objects, of_assessors)
        first, last = system.orient(kept[system.kept], gone[system.gone])
        return first, cross, last

    def log_determinant(self) -> float:
        """Return log det of L without the grounded rows and columns."""
        grounded = 2.0 * float(np.log(np.diagonal(self._factor)).sum())
        return grounded + float(np.log(self.system.gone_total).sum())

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) with covariance L^-: the kept side from the factor, the other given it."""
        from scipy.linalg import solve_triangular

        system = self.system
        kept = np.zeros((count, system.n_kept))
        if self.free.size:
            white = generator.standard_normal((self.free.size, count))
            kept[:, self.free] = solve_triangular(self._factor, white, lower=True, trans="T", check_finite=False).T
        gone = np.empty((count, system.gone_total.size))
        spread = 1.0 / np.sqrt(system.gone_total)
        share = sp.diags_array(1.0 / system.gone_total) @ system.incidence
        rows = max(1, 2**20 // system.gone_total.size)  # few enough to stay in the cache
        for start in range(0, count, rows):
            block = gone[start : start + rows]
            generator.standard_normal(out=block)
            block *= spread
            block -= (share @ kept[start : start + rows].T).T
        of_objects, of_assessors = system.orient(kept, gone)
        return of_objects, of_assessors

    def _apply(self, kept_side: Floats, gone_side: Floats) -> tuple[Floats, Floats]:
        system = self.system
        total = system.gone_total if gone_side.ndim == 1 else system.gone_total[:, None]
        reduced = kept_side - system.incidence.T @ (gone_side / total)
        kept = self._grounded_solve(reduced)
        return kept, (gone_side - system.incidence @ kept) / total

    def _grounded_solve(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        kept = np.zeros_like(right)
        if self.free.size:
            kept[self.free] = cho_solve((self._factor, True), right[self.free], check_finite=False)
        return kept


class _Double:
    """Numbers with twice the digits: a rounded part and what rounding took away."""

    def __init__(self, size: int) -> None:
        self.high = np.zeros(size)
        self.low = np.zeros(size)

    def add(self, step: Floats) -> None:
        total, lost = two_sum(self.high, step)
        self.high, self.low = two_sum(total, self.low + lost)


def _residual(system: System, centred: Floats, kept: _Double, gone: _Double) -> tuple[Floats, Floats]:
    """Return s - x - y of each assessment, with twice the digits."""
    first, lost = two_sum(centred, -kept.high[system.kept])
    second, lost_again = two_sum(first, -gone.high[system.gone])
    return two_sum(second, lost + lost_again - kept.low[system.kept] - gone.low[system.gone])


def laplacian_factor(laplacian: Floats, free: NDArray[np.int64]) -> Floats:
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
    links = -laplacian[np.ix_(free, free)]
    np.fill_diagonal(links, 0.0)
    to_ground = np.maximum(-np.delete(laplacian[free], free, axis=1).sum(axis=1), 0.0)
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
    factor = np.tril((-links / root[:, None]).T, -1)
    factor[np.arange(size), np.arange(size)] = root
    return np.asarray(factor, dtype=np.float64)
