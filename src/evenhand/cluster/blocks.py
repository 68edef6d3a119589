"""One block of a partitioned panel: what it adds to the equations of the smaller side, and what it gets back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Codes, Floats, Whole, compiled, join
from evenhand.panel.graph import roots

Tally = dict[str, Any]
"""Sums by name; names that begin with ``largest`` are maxima. Arrays are those of the smaller side.

``leader`` is the first member of the group that each member belongs to, and becomes that of all blocks together.
"""

_ENTRIES_AT_ONCE: Final = 100_000
"""Assessments are sorted by column this many at a time, which stays in a core's cache."""

_DENSE_ROW: Final = 6
"""A row that fills more than one column in six is cheaper as a row of a dense matrix."""

_DENSE_ROWS: Final = 512
"""Dense rows are multiplied this many at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Assessments of some of the larger side, ordered by it and within it by the smaller side.

    Each of n rows is a member of the larger side, with its ``code`` there; ``start`` (n + 1) tells where each row
    begins and the last one ends. Each assessment has the code of the smaller side (``other``), a score and a precision
    (``weight``; None where all are 1). Labels of the rows, in whatever form the reader keeps them, are None where codes
    are enough.
    """

    start: Whole
    other: Codes
    score: Floats
    weight: Floats | None
    code: Whole
    labels: Any = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.code.size)

    @property
    def weights(self) -> Floats:
        """The precisions, as an array."""
        return np.ones(self.score.size) if self.weight is None else self.weight

    @property
    def row(self) -> Whole:
        """The row of each assessment."""
        return np.repeat(np.arange(self.rows), np.diff(self.start))

    @property
    def total(self) -> Floats:
        """The total precision of each row."""
        return np.asarray(np.add.reduceat(self.weights, self.start[:-1]))

    def matrix(self, size: int, data: Floats | None = None) -> sp.csr_array[Any]:
        """Return the precisions, or other data, as a matrix with a column for each code of the smaller side."""
        entries = self.weights if data is None else data
        return sp.csr_array((entries, self.other, self.start), shape=(self.rows, size))

    def means(self, vectors: Floats) -> Floats:
        """Return the means, in each row, of vectors (columns) on the smaller side."""
        return np.asarray(self.matrix(vectors.shape[0]) @ vectors) / self.total[:, None]

    def between(self, first: int, last: int) -> Block:
        """Return the block of some rows that follow each other."""
        labels = None if self.labels is None else self.labels[first:last]
        part = slice(int(self.start[first]), int(self.start[last]))
        weight = None if self.weight is None else self.weight[part]
        start = self.start[first : last + 1] - part.start
        return Block(start, self.other[part], self.score[part], weight, self.code[first:last], labels)

    def __sizeof__(self) -> int:
        arrays = (self.start, self.other, self.score, self.weight, self.code)
        labels = 0 if self.labels is None else 32 * self.rows
        return 200 + labels + sum(0 if array is None else array.nbytes for array in arrays)


def make_block(large: Codes, other: Codes, score: Floats, weight: Floats | None, *, labels: Any = None) -> Block:
    """Return the block of some assessments, in any order; repeated pairs keep theirs.

    Examples
    --------
    >>> block = make_block(np.array([7, 5, 7]), np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0]), None)
    >>> block.code, block.start
    (array([5, 7]), array([0, 1, 3]))
    """
    large = large.astype(np.int64, copy=False)
    width = int(other.max()) + 1 if other.size else 1
    base = int(large.min()) if large.size else 0
    key = (large - base) * width + other
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        large, other, score = large[order], other[order], score[order]
        weight = None if weight is None else weight[order]
    first = np.flatnonzero(np.concatenate([[True], large[1:] != large[:-1]])) if large.size else np.zeros(0, np.int64)
    return Block(
        start=np.append(first, large.size).astype(np.int64),
        other=np.ascontiguousarray(other, dtype=np.int32),
        score=np.ascontiguousarray(score, dtype=np.float64),
        weight=None if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        code=large[first].astype(np.int64, copy=False),
        labels=labels,
    )


_SOME: Final = 1000
"""The grid of the scores is looked for in about this many of each block."""


def add(tallies: Sequence[Tally]) -> Tally:
    """Return the sum of tallies, in their order.

    Examples
    --------
    >>> add([{"rows": 1, "largest_score": 3.0}, {"rows": 2, "largest_score": 2.0}])
    {'rows': 3, 'largest_score': 3.0}
    """
    total = dict(tallies[0])
    for tally in tallies[1:]:
        for name, amount in tally.items():
            if name == "leader":
                every = np.arange(amount.size)
                leaders = np.concatenate([total[name], amount])
                total[name] = roots(leaders, np.concatenate([every, every]), amount.size)
            else:
                total[name] = max(total[name], amount) if name.startswith("largest") else total[name] + amount
    return total


def tally_block(block: Block, size: int) -> Tally:
    """Return what a block adds to the totals and to the equations: all but the matrix.

    ``gradient`` is sum c (s - mean of the row), ``residual`` sum c (s - mean of the row)^2, ``share`` sum c / C.
    """
    weight, row = block.weights, block.row
    total = np.bincount(row, weight, block.rows)
    return sweep(block, np.zeros(size)) | {
        "leader": join(block.other, row, size, block.rows)[0],
        "confidence": np.bincount(block.other, weight, size),
        "share": np.bincount(block.other, weight / total[row], size),
        "count": np.bincount(block.other, minlength=size),
        "rows": block.rows,
        "assessments": int(block.score.size),
        "log_confidence": float(np.log(total).sum()),
        "inverse_confidence": float((1.0 / total).sum()),
        "largest_score": float(np.abs(block.score).max(initial=0.0)),
        "log_weight": 0.0 if block.weight is None else float(np.log(block.weight).sum()),
        "some_scores": np.unique(block.score[:: max(1, block.score.size // _SOME)]).tolist(),
    }


def diagonal_of(block: Block, size: int) -> Tally:
    """Return the ``diagonal`` of the Schur complement, sum c (C - c) / C, in which pairs that repeat count as one."""
    row, other = block.row, block.other
    first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(other, prepend=-1))
    row, other = row[first], other[first]
    own = np.add.reduceat(block.weights, first)
    total = np.bincount(row, own, block.rows)
    most = own > 0.5 * total[row]
    others = np.bincount(row, np.where(most, 0.0, own), block.rows)  # no subtraction of what is nearly the whole
    rest = np.where(most, others[row], total[row] - own)
    return {"diagonal": np.bincount(other, own * (rest / total[row]), size)}


def sweep(block: Block, estimate: Floats) -> Tally:
    """Return the gradient and residual at an estimate of the smaller side, and sums over the larger side there."""
    level, total, residual, gradient = fit_rows(block, estimate)
    return {
        "gradient": gradient,
        "residual": float(block.weights @ np.square(residual)),
        "largest_residual": float(np.abs(residual).max(initial=0.0)),
        "level": float(level.sum()),
        "weighted_level": float(total @ level),
    }


def fit_rows(block: Block, estimate: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return level, total precision, residuals and gradient at an estimate of the smaller side."""
    arrays = (block.start, block.other, block.score, block.weights, np.ascontiguousarray(estimate))
    found: tuple[Floats, Floats, Floats, Floats] = compiled(_sweep)(*arrays)
    return found


def schur_of(blocks: Sequence[Block], size: int) -> Tally:
    """Return the tally of some blocks with the ``links`` of the smaller side: sum c c' / C, above the diagonal.

    The diagonal itself means nothing.
    """
    links = np.zeros((size, size))
    tallies = []
    for block in blocks:
        tallies.append(tally_block(block, size))
        _add_links(block, links)
    return add(tallies) | {"links": links}


def _add_links(block: Block, links: Floats) -> None:
    """Add the products of all pairs of assessments within each row to the upper triangle."""
    size, weight = links.shape[0], block.weights
    for _, part, columns in _by_column(block, size):
        compiled(_pairs)(columns, block.other[part], weight[part], links)
    for _, dense in _dense_rows(block, weight, size):
        scaled = dense / np.sqrt(dense.sum(axis=1, keepdims=True))
        links += np.triu(scaled.T @ scaled, 1)


def variances_of(block: Block, spread: Floats) -> Floats:
    """Return q^T spread q for each row, q = c / C."""
    size, share = spread.shape[0], block.weights / np.repeat(block.total, np.diff(block.start))
    found = np.zeros(block.rows)
    for rows, part, columns in _by_column(block, size):
        compiled(_quadratic)(columns, block.other[part], share[part], spread, found[rows])
    for some, dense in _dense_rows(block, share, size):
        found[some] = ((dense @ spread) * dense).sum(axis=1)
    return found


def _is_long(block: Block, size: int) -> NDArray[np.bool_]:
    return np.asarray(np.diff(block.start) * _DENSE_ROW > size)


Columns = tuple[Codes, Codes, Codes, Codes, Codes]
"""Of some rows, where each starts and how many assessments it has, none for long rows, which are skipped by it; of the
columns, where each begins; and the position and the row of each assessment in the order of columns."""


def _by_column(block: Block, size: int) -> Iterator[tuple[slice, slice, Columns]]:
    """Give rows, about as many at a time as a cache holds, their assessments, and these in the order of columns."""
    start, long = block.start, _is_long(block, size)
    marks = np.searchsorted(start, np.arange(0, int(start[-1]), _ENTRIES_AT_ONCE))
    for first, last in pairwise(np.unique([0, *np.minimum(marks, block.rows), block.rows]).tolist()):
        low, high = int(start[first]), int(start[last])
        begin = (start[first : last + 1] - low).astype(np.int32)  # of 32 bits, which are sorted at once
        sizes = np.where(long[first:last], 0, np.diff(begin))
        if sizes.any():
            entries = (np.arange(high - low, dtype=np.int32), block.other[low:high], begin)
            columns = sp.csr_array(entries, shape=(last - first, size)).tocsc()
            yield slice(first, last), slice(low, high), (begin, sizes, columns.indptr, columns.data, columns.indices)


def _dense_rows(block: Block, weight: Floats, size: int) -> Iterator[tuple[Whole, Floats]]:
    """Give long rows, some at a time, and their weights as a dense matrix."""
    rows = np.flatnonzero(_is_long(block, size))
    if rows.size:
        matrix = block.matrix(size, weight)
        for at in range(0, rows.size, _DENSE_ROWS):
            some = rows[at : at + _DENSE_ROWS]
            yield some, np.asarray(matrix[some].toarray(), dtype=np.float64)


def apply_schur(block: Block, vectors: Floats) -> Tally:
    """Return S times vectors (columns), as far as this block goes: sum c (x - mean of x in the row)."""
    size = vectors.shape[0]
    confidence = np.bincount(block.other, block.weights, size)
    return {"image": confidence[:, None] * vectors - np.asarray(block.matrix(size).T @ block.means(vectors))}


def noise_gradient(block: Block, seed: Sequence[int], size: int, count: int) -> Tally:
    """Return the gradients (columns) of random scores: +1 or -1, evenly, over the root of the precision."""
    entries = block.score.size
    bits = np.random.default_rng(list(seed)).bytes(-(-entries * count // 8))
    signs = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: entries * count].reshape(entries, count)
    root = np.sqrt(block.weights)
    noise = (2.0 * signs - 1.0) * root[:, None]
    means = np.add.reduceat(noise, block.start[:-1], axis=0) / block.total[:, None]
    noise -= block.weights[:, None] * means[block.row]
    pick = sp.csr_array((np.ones(entries), block.other, np.arange(entries + 1)), shape=(entries, size))
    return {"gradient": np.asarray(pick.T @ noise)}


def mean_squares(block: Block, vectors: NDArray[np.float32], at_once: int = 16) -> Floats:
    """Return, for each row, the mean square of its means of the vectors: what draws say about the larger side."""
    squares = np.zeros(block.rows)
    for at in range(0, vectors.shape[1], at_once):
        squares += np.square(block.means(vectors[:, at : at + at_once].astype(np.float64))).sum(axis=1)
    return np.asarray(squares / vectors.shape[1], dtype=np.float64)


def _sweep(
    start: Whole, other: Codes, score: Floats, weight: Floats, estimate: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Fit the level of each row, with residuals and their weighted sums by column."""
    level, total = np.zeros(start.size - 1), np.zeros(start.size - 1)
    residual, gradient = np.zeros(score.size), np.zeros(estimate.size)
    for row in range(start.size - 1):
        low, high = start[row], start[row + 1]
        base = score[low] - estimate[other[low]]
        whole = 0.0
        above = 0.0
        for at in range(low, high):
            whole += weight[at]
            above += weight[at] * (score[at] - estimate[other[at]] - base)
        level[row] = base + above / whole
        total[row] = whole
        for at in range(low, high):
            rest = score[at] - estimate[other[at]] - level[row]
            residual[at] = rest
            gradient[other[at]] += weight[at] * rest
    return level, total, residual, gradient


def _pairs(columns: Columns, other: Codes, weight: Floats, links: Floats) -> None:
    """Add c c' / C for each pair within a row; column by column, so that one row of the sum stays at hand."""
    start, sizes, begin, place, rows = columns
    whole = np.zeros(sizes.size)
    for row in range(sizes.size):
        for at in range(start[row], start[row] + sizes[row]):
            whole[row] += weight[at]
    for column in range(links.shape[0]):
        target = links[column]
        for spot in range(begin[column], begin[column + 1]):
            at, row = place[spot], rows[spot]
            if sizes[row] > 0:
                scaled = weight[at] / whole[row]
                for later in range(at + 1, start[row + 1]):
                    target[other[later]] += scaled * weight[later]


def _quadratic(columns: Columns, other: Codes, share: Floats, spread: Floats, found: Floats) -> None:
    """Add up q q' spread over the pairs within each row, column by column as above."""
    start, sizes, begin, place, rows = columns
    for column in range(spread.shape[0]):
        source = spread[column]
        for spot in range(begin[column], begin[column + 1]):
            at, row = place[spot], rows[spot]
            if sizes[row] > 0:
                above = 0.0
                for later in range(at + 1, start[row + 1]):
                    above += share[later] * source[other[later]]
                found[row] += share[at] * (share[at] * source[column] + 2.0 * above)
