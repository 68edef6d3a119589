"""Approximate Cholesky factor of the whole graph: for panels too weakly joined to iterate and too full to factorise.

Eliminating a vertex exactly would join all its neighbours, a clique with weights w_i w_j / W. Here each neighbour is
joined to one other, drawn at random among the heavier ones, with a weight that makes the expected result the exact
clique. The factor then has about as many entries as the panel has scores, and preconditions conjugate gradients
(Kyng and Sachdeva 2016; in the form of a plain triangular factor, Chen, Liang and Biros 2021).
"""

from __future__ import annotations

import numpy as np

from evenhand import progress
from evenhand.compiled import Floats, Whole, compiled, is_compiled
from evenhand.solve.equations import System


class ApproximateInverse:
    """An approximate inverse of S: the kept block of an approximate inverse of L, the same for the same seed."""

    def __init__(self, system: System, seed: int = 0) -> None:
        progress.report("preparing a preconditioner", 0, 1)
        self.n_kept = system.n_kept
        size = system.n_kept + system.n_gone
        degree = np.concatenate([system.kept_count, system.gone_count])
        tie = np.random.default_rng(seed).random(size)
        self.order = np.lexsort((tie, degree))  # vertices with few assessments go first
        rank = np.empty(size, dtype=np.int64)
        rank[self.order] = np.arange(size)
        one, other = rank[system.kept], rank[system.gone.astype(np.int64) + system.n_kept]
        self.start, self.row, self.share, self.pivot = compiled(_factorise)(
            np.minimum(one, other), np.maximum(one, other), np.ascontiguousarray(system.weight), size, seed
        )
        progress.report("preparing a preconditioner", 1, 1)

    def __call__(self, right: Floats) -> Floats:
        """Return the approximate inverse times a vector or columns on the kept side."""
        if right.ndim == 2:
            return np.stack([self(column) for column in right.T], axis=1)
        full = np.zeros(self.order.size)
        full[: self.n_kept] = right
        ordered = full[self.order]
        compiled(_solve)(self.start, self.row, self.share, self.pivot, ordered)
        full[self.order] = ordered
        return full[: self.n_kept]


def approximate_inverse(system: System) -> ApproximateInverse | None:
    """Return an approximate inverse of S, or None where loops cannot be compiled."""
    return ApproximateInverse(system) if is_compiled() else None


def _factorise(low: Whole, high: Whole, weight: Floats, size: int, seed: int) -> tuple[Whole, Whole, Floats, Floats]:
    """Eliminate vertices 0, 1, ... of a graph whose edges join low to high.

    Edges are kept once, in the list of the end that is eliminated first. Returns the columns of the factor: where each
    starts, rows, the shares w / W that a vertex hands to its neighbours, and the pivots W.
    """
    state = np.uint64(seed)
    count = low.size
    head = np.full(size, -1, dtype=np.int64)
    follow = np.empty(count, dtype=np.int64)
    end = high.copy()
    load = weight.copy()
    for e in range(count):
        follow[e] = head[low[e]]
        head[low[e]] = e
    start = np.zeros(size + 1, dtype=np.int64)
    room = count + count // 2 + 16
    row = np.empty(room, dtype=np.int64)
    share = np.empty(room)
    pivot = np.zeros(size)
    place = np.full(size, -1, dtype=np.int64)
    used = 0
    for v in range(size):
        # gather neighbours, adding up edges that run side by side
        first = used
        spare = np.int64(-1)  # slots of edges that are gone, for the edges to come
        e = head[v]
        while e >= 0:
            after = follow[e]
            u = end[e]
            if place[u] >= 0:
                share[place[u]] += load[e]
            else:
                if used == room:
                    room = 2 * room
                    wider_row = np.empty(room, dtype=np.int64)
                    wider_row[:used] = row[:used]
                    row = wider_row
                    wider_share = np.empty(room)
                    wider_share[:used] = share[:used]
                    share = wider_share
                row[used] = u
                share[used] = load[e]
                place[u] = used
                used += 1
            follow[e] = spare
            spare = e
            e = after
        start[v + 1] = used
        for p in range(first, used):
            place[row[p]] = -1
        degree = used - first
        if degree == 0:
            continue
        sorting = np.argsort(share[first:used])
        rows = row[first:used][sorting]
        loads = share[first:used][sorting]
        total = loads.sum()
        pivot[v] = total
        heavier = np.empty(degree + 1)
        heavier[degree] = 0.0
        for p in range(degree - 1, -1, -1):
            heavier[p] = heavier[p + 1] + loads[p]
        for p in range(degree):
            row[first + p] = rows[p]
            share[first + p] = loads[p] / total
        for p in range(degree - 1):
            # one of the heavier neighbours, in proportion to weight: the last q with heavier[q] >= threshold
            state += np.uint64(0x9E3779B97F4A7C15)  # splitmix64
            z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            threshold = float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 * heavier[p + 1]
            a, b = p + 1, degree
            while b - a > 1:
                middle = (a + b) // 2
                if heavier[middle] > threshold:
                    a = middle
                else:
                    b = middle
            u, t = min(rows[p], rows[a]), max(rows[p], rows[a])
            slot = spare
            spare = follow[slot]
            end[slot] = t
            load[slot] = loads[p] * heavier[p + 1] / total
            follow[slot] = head[u]
            head[u] = slot
    return start, row[:used], share[:used], pivot


def _solve(start: Whole, row: Whole, share: Floats, pivot: Floats, x: Floats) -> None:
    """Solve with the factor, in place; the last vertex of each component is held at zero."""
    size = pivot.size
    for v in range(size):
        for p in range(start[v], start[v + 1]):
            x[row[p]] += share[p] * x[v]
    for v in range(size - 1, -1, -1):
        if pivot[v] > 0.0:
            total = x[v] / pivot[v]
            for p in range(start[v], start[v + 1]):
                total += share[p] * x[row[p]]
            x[v] = total
        else:
            x[v] = 0.0
