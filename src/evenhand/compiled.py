"""Loops over millions of assessments, in plain Python that numba compiles when there are enough of them.

Nothing here is imported or compiled for small panels. The compiled loops are kept on disk between runs, let go of the
interpreter's lock, and are called on pieces of the assessments in as many threads as there are cores.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

LARGE: Final = 1_000_000
"""From this many assessments on, compiled loops repay the second that numba takes to be imported."""

_TINY, _SMALL = 32, 1_500
"""Systems of this many equations are worth no more than one thread; smaller ones take no more anyway."""

BY_NUMPY: Final = 128
"""Up to this many equations are solved without scipy.linalg, whose import takes longer than a whole calibration."""

_ROWS: Final = 64
"""Rows that are multiplied pair by pair are gathered this many at a time."""

WIDTH: Final = 8
"""Random vectors are drawn this many at a time."""

ROOMS: Final = 8
"""Memory is kept for this many threads that ask a panel's equations, those that asked last."""

SHIFT: Final = 11
"""Members of the eliminated side stand together in blocks of 2^11, whose sums stay in the nearest cache."""


@cache
def is_compiled() -> bool:
    """Whether numba can be had."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def wants_loops(count: int) -> bool:
    """Whether this many assessments are worth compiled loops, and those can be had."""
    return count >= LARGE and is_compiled()


@cache
def compiled(loop: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return a loop as machine code, compiled once and kept on disk for the next run.

    It is kept beside the package, or in the user's cache; where neither can be written, in a directory of the user's
    own among temporary files; and where there is none, not at all.
    """
    import numba

    config: Any = numba.config
    njit: Callable[..., Callable[..., Callable[..., Any]]] = partial(numba.njit, nogil=True, **options)
    try:
        return njit(cache=True)(loop)
    except RuntimeError:  # there is no place that can be written
        directory = own_directory()
        if directory is None:
            return njit()(loop)
    before, config.CACHE_DIR = config.CACHE_DIR, directory
    try:
        return njit(cache=True)(loop)
    finally:
        config.CACHE_DIR = before


def own_directory() -> str | None:
    """Return a directory for compiled code that nobody else can write to, among temporary files; None without one."""
    if not hasattr(os, "getuid"):
        return None
    path = os.path.join(tempfile.gettempdir(), f"evenhand-{os.getuid()}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return path if private and os.access(path, os.W_OK) else None


@cache
def threads() -> int:
    """Return the number of cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="evenhand")


def _start_afresh() -> None:
    """Let a forked child, which has none of its parent's threads, wait for none of them.

    Up to Python 3.11 a cached property holds a lock, one for all objects of its class, as long as it is computed.
    A child that was forked in the meantime would wait for ever, since nobody is left to release the lock.
    """
    _pool.cache_clear()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == __package__:
            for found in [thing for thing in vars(module).values() if isinstance(thing, type)]:
                for member in vars(found).values():
                    if isinstance(member, cached_property) and "lock" in vars(member):
                        vars(member)["lock"] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return the results of ``work(0)`` to ``work(count - 1)``, done in threads."""
    return [work(0)] if count == 1 else list(_pool().map(work, range(count)))


_BLAS_LOCK: Final = threading.Lock()
_BLAS_LIMITS: Final[list[Any]] = []


@contextmanager
def one_thread(size: int) -> Iterator[None]:
    """Let linear algebra of small systems run in one thread: to wake others takes longer than the work itself.

    What was set before comes back when the last of those who asked has finished.
    """
    if not _TINY < size <= _SMALL:
        yield
        return
    if size > BY_NUMPY:
        import scipy.linalg.lapack  # noqa: F401  # with threads of its own, which must be there to be limited
    from threadpoolctl import threadpool_limits

    with _BLAS_LOCK:
        _BLAS_LIMITS.append(None if _BLAS_LIMITS else threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _BLAS_LOCK:
            if len(_BLAS_LIMITS) > 1:
                del _BLAS_LIMITS[-1]
            else:
                _BLAS_LIMITS.pop().restore_original_limits()


def pieces(size: int) -> list[slice]:
    """Return about equal pieces of an array, one for each thread."""
    cuts = np.linspace(0, size, threads() + 1).astype(np.int64).tolist()
    return [slice(low, high) for low, high in pairwise(cuts)]


def count_by(index: Codes, count: int) -> Whole:
    """Return how often each code from 0 to count - 1 occurs."""
    if not wants_loops(index.size):
        return np.bincount(index, minlength=count)
    parts = pieces(index.size)
    tallies = np.zeros((len(parts), count), dtype=np.int64)
    in_threads(lambda t: compiled(_count)(index[parts[t]], tallies[t]), len(parts))
    return np.asarray(tallies.sum(axis=0))


def row_products(one: Floats, first: Codes, other: Floats, second: Codes) -> Floats:
    """Return the product of a row of one matrix with one of another, pair by pair: few at a time, for the cache."""
    found = np.empty(first.size)
    for start in range(0, first.size, _ROWS):
        pairs = slice(start, start + _ROWS)
        found[pairs] = np.einsum("ij,ij->i", one[first[pairs]], other[second[pairs]])
    return found


def sum_by(index: Codes, terms: NDArray[np.floating[Any]], count: int) -> Floats:
    """Return the sums of terms that share a code, for the codes 0 to count - 1.

    Examples
    --------
    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    if not wants_loops(index.size):
        return np.asarray(np.bincount(index, weights=terms, minlength=count), dtype=np.float64)
    parts = pieces(index.size)
    sums = np.zeros((len(parts), count))
    in_threads(lambda t: compiled(_sum)(index[parts[t]], terms[parts[t]], sums[t]), len(parts))
    return np.asarray(sums.sum(axis=0))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that must not be changed any more."""
    array.flags.writeable = False
    return array


def dot(one: Floats, other: Floats) -> Any:
    """Return one^T other for a vector and a vector or columns, without BLAS.

    Its threads make short products slower, and go on turning afterwards, in the way of the threads here.

    Examples
    --------
    >>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return np.einsum("i,i...->...", one, other)


def join(one: Codes, other: Codes, n_one: int, n_other: int) -> tuple[Whole, Whole]:
    """Return the root, a code of the first side, of each member of either side: equal where they are connected."""
    parent = np.arange(n_one)
    first = np.full(n_other, -1, dtype=np.int64)
    compiled(_join)(one, other, parent, first)
    return parent, parent[first]


def _count(index: Codes, tally: Whole) -> None:
    for e in range(index.size):
        tally[index[e]] += 1


def _sum(index: Codes, terms: Floats, sums: Floats) -> None:
    for e in range(index.size):
        sums[index[e]] += terms[e]


def _join(one: Codes, other: Codes, parent: Whole, first: Whole) -> None:
    """Union-find over one side: members of the other join all that they touch. Stops once all are joined."""
    left, unseen = parent.size - 1, first.size
    for e in range(one.size):
        if left == 0 and unseen == 0:
            break
        at, by = one[e], other[e]
        if first[by] < 0:
            first[by] = at
            unseen -= 1
            continue
        a, b = parent[at], parent[first[by]]
        if a == b:
            continue
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
            left -= 1
    for v in range(parent.size):  # every parent is smaller, so one pass is enough
        parent[v] = parent[parent[v]]


class Blocks:
    """Assessments in blocks of the eliminated side: all that a product with the normal equations needs.

    Kept vertices are numbered anew, those with most assessments first: what is used most then stands together in the
    cache. Vectors go in and come out in the panel's own order.

    Each assessment has its kept vertex in that ``order``, in as few bytes as will do, and its eliminated vertex within
    the block (``local``); ``weight`` is a single precision where all are equal.
    """

    def __init__(self, kept: Codes, gone: Codes, weight: Floats, kept_count: Whole, n_gone: int) -> None:
        self.n_kept, self.n_gone = kept_count.size, n_gone
        self._rooms: dict[int, tuple[Floats, Floats]] = {}
        few = np.minimum(kept_count, 2**16 - 1).astype(np.uint16)  # of 16 bits, which are sorted at once
        self.order = np.argsort(~few, kind="stable")
        rank = np.empty(self.n_kept, dtype=np.uint16 if self.n_kept <= 2**16 else np.uint32)
        rank[self.order] = np.arange(self.n_kept)
        n_blocks = (n_gone - 1 >> SHIFT) + 1
        parts = pieces(kept.size)
        counts = np.zeros((len(parts), n_blocks), dtype=np.int64)
        in_threads(lambda t: compiled(_count_blocks)(gone[parts[t]], counts[t]), len(parts))
        self.start = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        cursor = self.start[:-1] + np.cumsum(counts, axis=0) - counts
        self.kept = np.empty(kept.size, dtype=rank.dtype)
        self.local = np.empty(kept.size, dtype=np.uint16)
        equal = weight.strides == (0,)
        self.weight = np.array(weight[:1]) if equal else np.empty(kept.size)

        def place(t: int) -> None:
            given = weight[:1] if equal else weight[parts[t]]
            compiled(_place)(kept[parts[t]], gone[parts[t]], given, rank, cursor[t], self.kept, self.local, self.weight)

        in_threads(place, len(parts))
        ends = np.searchsorted(self.start, np.linspace(0, kept.size, threads() + 1)[1:-1])
        self._share = np.concatenate([[0], ends, [n_blocks]]).astype(np.int64)

    def couple(self, of_kept: Floats, inverse_total: Floats) -> tuple[Floats, Floats]:
        """Return c^T t and t = diag(1/C) c x for the x of the kept side, in one pass.

        The second array is overwritten by the next call: fresh memory would cost as much as the products.
        """
        sums, below = self._room()
        sums[:] = 0.0
        x = of_kept[self.order]
        self._run(_couple, lambda t: (inverse_total, x, below, sums[t]))
        return self._in_order(sums), below

    def _run(self, loop: Callable[..., None], given: Callable[[int], tuple[Floats, ...]], *last: int) -> None:
        """Run a loop over all blocks: thread t has arrays of its own, and its own share of the blocks."""
        run = compiled(loop)

        def work(t: int) -> None:
            low, high = self._share[t], self._share[t + 1]
            run(self.start, self.kept, self.local, self.weight, *given(t), low, high, *last)

        in_threads(work, threads())

    def _room(self) -> tuple[Floats, Floats]:
        """Return memory for sums and for the eliminated side, used again and again by the thread that asks.

        Threads come and go, so only the last ROOMS have memory kept for them; another one gets it anew.
        """
        caller = threading.get_ident()
        room = self._rooms.pop(caller, None)
        if room is None:
            room = np.empty((threads(), self.n_kept)), np.empty(self.n_gone)
        self._rooms[caller] = room  # as the last
        for other in list(self._rooms)[:-ROOMS]:
            self._rooms.pop(other, None)
        return room

    def _in_order(self, sums: Floats) -> Floats:
        """Return the threads' sums together, in the panel's own order."""
        result = np.empty(sums.shape[1:])
        result[self.order] = sums.sum(axis=0)
        return result

    def down(self, of_kept: Floats) -> Floats:
        """Return c x on the eliminated side for the x of the kept side."""
        result = np.zeros(self.n_gone)
        x = of_kept[self.order]
        self._run(_down, lambda _: (x, result))
        return result

    def up(self, of_gone: Floats) -> Floats:
        """Return c^T t on the kept side for the t of the eliminated side."""
        sums = np.zeros((threads(), self.n_kept))
        self._run(_up, lambda t: (of_gone, sums[t]))
        return self._in_order(sums)

    def noise(self, seed: int) -> tuple[Floats, Floats]:
        """Return sums of sqrt(c) e over the assessments of each vertex, e = +-1 at random, in WIDTH columns.

        The sums have the covariance of the normal equations, whatever the blocks; the same seed gives the same sums.
        """
        of_gone = np.zeros((self.n_gone, WIDTH))
        of_kept = np.zeros((threads(), self.n_kept, WIDTH))
        self._run(_noise, lambda t: (of_kept[t], of_gone), seed)
        return self._in_order(of_kept), of_gone


def _count_blocks(gone: Codes, counts: Whole) -> None:
    for e in range(gone.size):
        counts[gone[e] >> SHIFT] += 1


def _place(
    kept: Codes,
    gone: Codes,
    weight: Floats,
    rank: Codes,
    cursor: Codes,
    to_kept: Codes,
    to_local: Codes,
    to_weight: Floats,
) -> None:
    for e in range(kept.size):
        vertex = gone[e]
        block = vertex >> SHIFT
        at = cursor[block]
        cursor[block] = at + 1
        to_kept[at] = rank[kept[e]]
        to_local[at] = vertex - (block << SHIFT)
        if weight.size > 1:
            to_weight[at] = weight[e]


def _couple(
    start: Codes,
    kept: Codes,
    local: Codes,
    weight: Floats,
    inverse: Floats,
    x: Floats,
    below: Floats,
    y: Floats,
    low: int,
    high: int,
) -> None:
    inner = np.empty(1 << SHIFT)
    for block in range(low, high):
        base = block << SHIFT
        width = min(1 << SHIFT, inverse.size - base)
        inner[:] = 0.0
        if weight.size == 1:
            for e in range(start[block], start[block + 1]):
                inner[local[e]] += x[kept[e]]
            for v in range(width):
                inner[v] *= inverse[base + v] * weight[0]
                below[base + v] = inner[v]
                inner[v] *= weight[0]
            for e in range(start[block], start[block + 1]):
                y[kept[e]] += inner[local[e]]
        else:
            for e in range(start[block], start[block + 1]):
                inner[local[e]] += weight[e] * x[kept[e]]
            for v in range(width):
                inner[v] *= inverse[base + v]
                below[base + v] = inner[v]
            for e in range(start[block], start[block + 1]):
                y[kept[e]] += weight[e] * inner[local[e]]


def _down(
    start: Codes, kept: Codes, local: Codes, weight: Floats, x: Floats, result: Floats, low: int, high: int
) -> None:
    for block in range(low, high):
        base = block << SHIFT
        for e in range(start[block], start[block + 1]):
            c = weight[0] if weight.size == 1 else weight[e]
            result[base + local[e]] += c * x[kept[e]]


def _up(start: Codes, kept: Codes, local: Codes, weight: Floats, t: Floats, y: Floats, low: int, high: int) -> None:
    for block in range(low, high):
        base = block << SHIFT
        for e in range(start[block], start[block + 1]):
            c = weight[0] if weight.size == 1 else weight[e]
            y[kept[e]] += c * t[base + local[e]]


def _noise(
    start: Codes,
    kept: Codes,
    local: Codes,
    weight: Floats,
    of_kept: Floats,
    of_gone: Floats,
    low: int,
    high: int,
    seed: int,
) -> None:
    for block in range(low, high):
        base = block << SHIFT
        for e in range(start[block], start[block + 1]):
            c = np.sqrt(weight[0] if weight.size == 1 else weight[e])
            # splitmix64 of the assessment's place and the seed: bits that are independent for all that matters here
            z = (np.uint64(e) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            k, v = kept[e], base + local[e]
            for j in range(WIDTH):
                step = c if (z >> np.uint64(j)) & np.uint64(1) else -c
                of_kept[k, j] += step
                of_gone[v, j] += step


def sums_of_scores(
    kept: Codes, gone: Codes, score: Floats, weight: Floats, origin: float, n_kept: int, n_gone: int
) -> tuple[Floats, Floats, float]:
    """Return the sums of c (s - origin) at kept and at eliminated vertices, and of c (s - origin)^2, in one pass."""
    parts = pieces(kept.size)
    of_kept, of_gone = np.zeros((len(parts), n_kept)), np.zeros((len(parts), n_gone))
    equal = weight.strides == (0,)

    def work(t: int) -> float:
        part = parts[t]
        given = weight[:1] if equal else weight[part]
        found = compiled(_sums_of_scores)(kept[part], gone[part], score[part], given, origin, of_kept[t], of_gone[t])
        return float(found)

    squares = sum(in_threads(work, len(parts)))
    return np.asarray(of_kept.sum(axis=0)), np.asarray(of_gone.sum(axis=0)), squares


def squares_of_residuals(
    kept: Codes, gone: Codes, score: Floats, weight: Floats, of_kept: Floats, of_gone: Floats
) -> tuple[float, float]:
    """Return the sum of c r^2 and the largest |r|, r = s - x - y, in one pass."""
    parts = pieces(kept.size)
    equal = weight.strides == (0,)

    def work(t: int) -> tuple[float, float]:
        part = parts[t]
        given = weight[:1] if equal else weight[part]
        found = compiled(_squares_of_residuals)(kept[part], gone[part], score[part], given, of_kept, of_gone)
        return float(found[0]), float(found[1])

    found = in_threads(work, len(parts))
    return sum(square for square, _ in found), max(largest for _, largest in found)


def _sums_of_scores(
    kept: Codes, gone: Codes, score: Floats, weight: Floats, origin: float, of_kept: Floats, of_gone: Floats
) -> float:
    squares = 0.0
    for e in range(kept.size):
        centred = score[e] - origin
        force = centred * (weight[0] if weight.size == 1 else weight[e])
        of_kept[kept[e]] += force
        of_gone[gone[e]] += force
        squares += force * centred
    return squares


def _squares_of_residuals(
    kept: Codes, gone: Codes, score: Floats, weight: Floats, of_kept: Floats, of_gone: Floats
) -> tuple[float, float]:
    squares, largest = 0.0, 0.0
    for e in range(kept.size):
        residual = score[e] - of_kept[kept[e]] - of_gone[gone[e]]
        largest = max(largest, abs(residual))
        squares += residual * residual * (weight[0] if weight.size == 1 else weight[e])
    return squares, largest
