"""The weighted normal equations L [v; b] = [V; B], with the larger side eliminated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Blocks, Codes, Floats, Whole, sum_by, wants_loops
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel

_DENSE_CELLS: Final = 2_000_000
"""Up to this many cells the weights are multiplied as a full matrix."""

_THIN: Final = 14
_PAIRS: Final = 2**22
"""An eliminated vertex that links less than this part of the kept ones is treated pair by pair, up to so many pairs."""

_FULL: Final = 4
"""The full matrix replaces the sparse one where at least one pair in four has an assessment."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which assessments eliminated vertices share with kept ones: the same for all weights of a graph."""

    kept: Whole
    gone: Whole
    gone_count: Whole
    n_kept: int

    @cached_property
    def order(self) -> Whole:
        """The assessments in the order of the incidence matrix: by eliminated vertices."""
        return np.argsort(self.gone, kind="stable")

    @cached_property
    def start(self) -> Whole:
        """Where the assessments of each eliminated vertex start in that order."""
        return np.concatenate([[0], np.cumsum(self.gone_count)])

    @cached_property
    def indices(self) -> Whole:
        """The kept vertex of each assessment in that order."""
        return self.kept[self.order]

    @cached_property
    def few(self) -> NDArray[np.bool_]:
        """Which eliminated vertices are treated pair by pair."""
        few = np.asarray(self.gone_count * _THIN < self.n_kept)
        if float(self.gone_count[few].astype(np.float64) @ self.gone_count[few]) > _PAIRS:
            few[:] = False
        return few

    @cached_property
    def pairs(self) -> tuple[Whole, Whole, Whole, Whole]:
        """All pairs of assessments of those: their places in that order, the vertex, and the place in a half of S.

        That is column * n + row for a row that is not less than the column.
        """
        every = np.flatnonzero(self.few)
        count = self.gone_count[every]
        ahead = _within(count, -1)  # how many assessments of the vertex come after each
        first = np.repeat(np.repeat(self.start[every], count) + _within(count, 1), ahead)
        second = first + 1 + _within(ahead, 1)
        low, high = self.indices[first], self.indices[second]
        place = np.minimum(low, high) * self.n_kept + np.maximum(low, high)
        return first, second, np.repeat(np.repeat(every, count), ahead), place


def _within(count: Whole, sign: int) -> Whole:
    """Return 0, 1, 2, ... for so many in each group, or the same backwards."""
    place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return place if sign > 0 else np.repeat(count, count) - 1 - place


@dataclass(frozen=True, eq=False)
class System:
    """Least squares on a weighted bipartite graph, seen from the side that is kept.

    The model s = v + b treats both sides alike, so either can be eliminated: the larger one always is. The Schur
    complement is a graph Laplacian on the kept side, S = diag(C') - c^T diag(1/C) c.

    Each of N assessments has a vertex on the kept side, one on the eliminated side (``gone``) and a precision
    (``weight``). Each vertex has the sum of its precisions (``_total``: C'_a and C_o, or the other way round) and its
    number of assessments (``_count``).
    """

    keeps_assessors: bool
    kept: Codes
    gone: Codes
    weight: Floats
    kept_total: Floats
    gone_total: Floats
    kept_count: Whole
    gone_count: Whole
    kept_component: Whole
    n_components: int
    pattern: Pattern | None = field(default=None, kw_only=True)  # what systems of one graph share

    @cached_property
    def n_kept(self) -> int:
        """Size of the kept side."""
        return int(self.kept_total.size)

    @cached_property
    def n_gone(self) -> int:
        """Size of the eliminated side."""
        return int(self.gone_total.size)

    @cached_property
    def n_edges(self) -> int:
        """Number N of assessments."""
        return int(self.kept.size)

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """The smallest and the largest precision."""
        weight = self.weight[:1] if self.weight.strides == (0,) else self.weight  # one for all
        return float(weight.min()), float(weight.max())

    @cached_property
    def n_links(self) -> int:
        """At most this many entries of S differ from zero: each eliminated vertex links all its neighbours."""
        return int((self.gone_count.astype(np.float64) ** 2).sum())

    def orient(self, of_objects: Any, of_assessors: Any) -> tuple[Any, Any]:
        """Return a pair (objects, assessors) as (kept, eliminated); and the other way round: it is its own inverse."""
        return (of_assessors, of_objects) if self.keeps_assessors else (of_objects, of_assessors)

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""
        return (self.gone, self.kept) if self.keeps_assessors else (self.kept, self.gone)

    def forces(self, residual: Floats) -> Floats:
        """Return c r for each assessment."""
        if self.weight.strides == (0,) and self.weight[0] == 1.0:
            return residual
        return np.asarray(self.weight * residual)

    @cached_property
    def incidence(self) -> sp.csr_array[Any]:
        """The weights c as a sparse matrix, eliminated side by kept side; pairs that occur twice stand in it twice."""
        shape = (self.n_gone, self.n_kept)
        if self.pattern is not None:
            return sp.csr_array(self.rows, shape=shape)
        if (self.gone[1:] >= self.gone[:-1]).all():
            start = np.concatenate([[0], np.cumsum(self.gone_count)])
            return sp.csr_array((np.array(self.weight), self.kept.astype(np.intp, copy=False), start), shape=shape)
        listed = sp.coo_array((self.weight, (self.gone.astype(np.intp), self.kept.astype(np.intp))), shape=shape)
        listed.has_canonical_format = True  # leaves pairs that occur twice as they are, which saves sorting
        return listed.tocsr()

    @cached_property
    def rows(self) -> tuple[Floats, Codes, Codes]:
        """Weights, kept vertices, and where each eliminated vertex's begin: what a sparse matrix is made of."""
        shared = self.pattern
        if shared is None:
            return self.incidence.data, self.incidence.indices, self.incidence.indptr
        return self.weight[shared.order], shared.indices, shared.start

    @cached_property
    def _turned(self) -> sp.csc_array[Any]:
        return self.incidence.T

    @cached_property
    def _blocks(self) -> Blocks | None:
        if not wants_loops(self.n_edges):
            return None
        return Blocks(self.kept, self.gone, self.weight, self.kept_count, self.n_gone)

    def down(self, of_kept: Floats) -> Floats:
        """Return c x on the eliminated side for a vector or columns x on the kept side."""
        if self._is_full:
            return np.asarray(self.dense @ of_kept)
        if self._blocks is not None:
            return _each(self._blocks.down, of_kept)
        return np.asarray(self.incidence @ of_kept)

    def up(self, of_gone: Floats) -> Floats:
        """Return c^T t on the kept side for a vector or columns t on the eliminated side."""
        if self._is_full:
            return np.asarray(of_gone @ self.dense) if of_gone.ndim == 1 else np.asarray(self.dense.T @ of_gone)
        if self._blocks is not None:
            return _each(self._blocks.up, of_gone)
        return np.asarray(self._turned @ of_gone)

    def couple(self, of_kept: Floats) -> tuple[Floats, Floats]:
        """Return c^T t and t = diag(1/C) c x, in one pass over the assessments where there are many."""
        blocks = self._blocks
        if blocks is not None and of_kept.ndim == 1:
            return blocks.couple(of_kept, self._inverse_total)
        if blocks is not None:
            below = np.empty((self.n_gone, of_kept.shape[1]))
            above = np.empty_like(of_kept)
            for j in range(of_kept.shape[1]):
                above[:, j], below[:, j] = blocks.couple(np.ascontiguousarray(of_kept[:, j]), self._inverse_total)
            return above, below
        below = self.down(of_kept)
        below *= self._inverse_total if below.ndim == 1 else self._inverse_total[:, None]
        return self.up(below), below

    @cached_property
    def _inverse_total(self) -> Floats:
        return 1.0 / self.gone_total

    @cached_property
    def links(self) -> sp.csr_array[Any]:
        """The weights of the links that the eliminated side leaves between kept vertices, as a sparse matrix."""
        return side_links(self.incidence, self.gone_total)

    @property
    def is_dense(self) -> bool:
        """Whether the weights are few enough to be held as a full matrix."""
        return self.n_gone * self.n_kept <= _DENSE_CELLS

    def is_thin(self, pole: int) -> bool:
        """Whether all eliminated vertices but this one are treated pair by pair, of pairs that are known."""
        few = None if self.pattern is None else self.pattern.few
        return few is not None and not few[pole] and int(few.sum()) == self.n_gone - 1

    @property
    def _is_full(self) -> bool:
        """Whether most pairs have an assessment, so that a full matrix is as quick as a sparse one."""
        return self.is_dense and self.n_gone * self.n_kept <= _FULL * self.n_edges

    @cached_property
    def dense(self) -> Floats:
        """The weights c as a full matrix, eliminated side by kept side."""
        places = self.gone.astype(np.int64, copy=False) * self.n_kept
        places += self.kept
        full = np.bincount(places, weights=self.weight, minlength=self.n_gone * self.n_kept)
        return np.asarray(full.reshape(self.n_gone, self.n_kept))

    def schur(self, pole: int | None = None) -> Floats:
        """Return the Schur complement on the kept side, a graph Laplacian: S = diag(C') - c^T diag(1/C) c.

        The diagonal is the sum of the weights of the links, so nothing cancels. An eliminated vertex that is a pole is
        held at zero instead of eliminated: it adds to the diagonal alone.
        """
        links = self._dense_links(pole) if self.is_dense or pole is not None else self.links.toarray()
        np.negative(links, out=links)
        np.fill_diagonal(links, 0.0)
        held = 0.0 if pole is None else self.row(pole)
        np.fill_diagonal(links, held - links.sum(axis=1))
        return np.asarray(links, dtype=np.float64)

    def row(self, gone: int) -> Floats:
        """Return the weights of the links of an eliminated vertex with all kept ones."""
        weight, kept, start = self.rows
        own = slice(start[gone], start[gone + 1])
        return sum_by(kept[own], weight[own], self.n_kept)

    def _dense_links(self, pole: int | None) -> Floats:
        """Return c^T diag(1/C) c but for a pole: pair by pair where that is less work than products of full rows."""
        few = self._pattern.few.copy()
        many = ~few
        if pole is not None:
            few[pole] = many[pole] = False
        links: Floats | None = None
        if many.any():
            is_all = bool(many.all())
            dense, total = (self.dense, self.gone_total) if is_all else (self.dense[many], self.gone_total[many])
            half = dense / np.sqrt(total)[:, None]
            links = half.T @ half
        if links is not None and not few.any():
            return links
        weight, size = self.rows[0], self.n_kept
        first, second, vertex, place = self._pattern.pairs
        terms = weight[first] * weight[second] / self.gone_total[vertex]
        half = sum_by(place, terms, size * size).reshape(size, size)
        thin = half + half.T
        return thin if links is None else links + thin

    @cached_property
    def _pattern(self) -> Pattern:
        if self.pattern is not None:
            return self.pattern
        return Pattern(self.kept.astype(np.intp), self.gone.astype(np.intp), self.gone_count, self.n_kept)

    def grounded_schur(self, free: Whole, pole: int | None = None) -> Floats:
        """Return the Schur complement between free vertices alone, laid out as LAPACK wants it."""
        if self.is_dense or pole is not None:
            schur = self.schur(pole)
            return (schur if free.size == self.n_kept else schur[np.ix_(free, free)]).T  # which is the same
        degree = np.asarray(self.links.sum(axis=1)).ravel()
        matrix = np.asarray(self.links[free][:, free].toarray(order="F"))
        np.negative(matrix, out=matrix)
        matrix[np.diag_indices_from(matrix)] = degree[free]
        return matrix


def _each(operation: Callable[[Floats], Floats], columns: Floats) -> Floats:
    """Return what an operation on a vector makes of a vector, or of each of some columns."""
    if columns.ndim == 1:
        return operation(columns)
    return np.stack([operation(np.ascontiguousarray(column)) for column in columns.T], axis=1)


SolveKept = Callable[[Floats], Floats]
"""Solves S x = r on the kept side, for a vector or columns r, each of which sums to zero over every component."""


def eliminate(system: System, solve_kept: SolveKept, kept_side: Floats, gone_side: Floats) -> tuple[Floats, Floats]:
    """Return the kept and the eliminated side of L^- times (kept_side, gone_side): solve the one, then the other."""
    total = system.gone_total if gone_side.ndim == 1 else system.gone_total[:, None]
    kept = solve_kept(kept_side - system.up(gone_side / total))
    return kept, (gone_side - system.down(kept)) / total


def pairs_of(pointer: Whole) -> tuple[Whole, Whole, Whole]:
    """Return all pairs of entries in the same row of a sparse matrix whose rows start at these places.

    The first two arrays are positions of entries, the third the row.
    """
    count = np.diff(pointer)
    row = np.repeat(np.arange(count.size), count)
    each = count[row]
    first = np.repeat(np.arange(pointer[0], pointer[-1]), each)
    inner = np.arange(first.size) - np.repeat(np.cumsum(each) - each, each)
    of_pair = np.repeat(row, each)
    return first, pointer[:-1][of_pair] + inner, of_pair


def side_links(incidence: sp.csr_array[Any], gone_total: Floats) -> sp.csr_array[Any]:
    """Return the graph on the columns' side of a bipartite graph whose rows' side is eliminated, without diagonal."""
    root = np.sqrt(np.repeat(gone_total, np.diff(incidence.indptr)))
    half = sp.csr_array((incidence.data / root, incidence.indices, incidence.indptr), shape=incidence.shape)
    product = (half.T @ half).tocoo()
    off = product.row != product.col
    shape = (incidence.shape[1], incidence.shape[1])
    return sp.coo_array((product.data[off], (product.row[off], product.col[off])), shape=shape).tocsr()


def make_system(panel: Panel, parts: Components) -> System:
    """Return the normal equations of a panel, its smaller side kept."""
    keeps_assessors = panel.n_assessors <= panel.n_objects
    sides = (
        (panel.object_index, panel.object_confidence, panel.object_assessments, parts.object_component),
        (panel.assessor_index, panel.assessor_confidence, panel.assessor_assessments, parts.assessor_component),
    )
    kept, gone = sides[::-1] if keeps_assessors else sides
    small = not wants_loops(panel.n_assessments)  # then codes of the machine's own width save a conversion each time
    return System(
        keeps_assessors=keeps_assessors,
        kept=kept[0].astype(np.intp, copy=False) if small else kept[0],
        gone=gone[0].astype(np.intp, copy=False) if small else gone[0],
        weight=panel.precision,
        kept_total=kept[1],
        gone_total=gone[1],
        kept_count=kept[2],
        gone_count=gone[2],
        kept_component=kept[3],
        n_components=parts.n_components,
    )
