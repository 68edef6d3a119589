"""The inverse of a design's Laplacian, kept up to date while assessments come and go: each change is one of low rank.

Only the rows of assessors are kept, who are few. Those of objects follow, since objects meet nobody but assessors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy.linalg.blas import dgemm

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.task import Task

RIDGE: Final = 1e-7
"""Weight, beside that of an assessment, that holds each bias near zero, so that assessors may join and leave."""

REFRESH: Final = 50
"""After this many exchanges everything is computed afresh, lest rounding errors add up; at once where assessors join or
leave, which costs digits."""

ALWAYS_AFRESH: Final = 25
"""Up to this many assessors, computing afresh costs no more than bringing up to date."""

_TORN: Final = 1e-10
"""A change that lowers the determinant of the Laplacian to this part or less tears a design apart."""

_LOST: Final = 1e-5
"""Of a number that is taken off a much larger one, this part of the larger one stands for the number itself."""

_PAIRS: Final = ((0, 1), (2, 3), (2, 1), (0, 3))
"""Of the vertices o, a, p and b of a move, those that its pairs join."""


class Inverse:
    """G = L^-1 and H = G W G of a design, L held by a very weak prior on biases, and the mean variance of values.

    With c x x^T, x = e_o + e_a, in L for each assessment, an exchange adds X D X^T to L, takes G X (D^-1 + X^T G X)^-1
    X^T G off G, and tr[(D^-1 + X^T G X)^-1 X^T H X] off tr(W G). With W = diag(w) - w w^T, this is the mean variance of
    values about their mean. In the weighted gauge of a fit the level of all values adds d^T G d + 1/C, d = C_o/C - w.

    Weights w of the objects sum to one and are all alike by default. Where ``levelled``, variances are those of a fit
    in its default gauge; otherwise about the mean of all values.

    Rows of assessors are kept. With N the precisions (n_O x n_A), L G = 1 and L H = W G give those of the objects,
    G_O = C^-1 (1 - N G_A) and H_O = C^-1 (W G_O - N H_A), in as many steps as an object has assessments.
    """

    def __init__(self, task: Task, chosen: Flags, weight: Floats | None = None, *, levelled: bool = True) -> None:
        self.task = task
        self.chosen = chosen.copy()
        self.weight = np.full(task.n_objects, 1 / task.n_objects) if weight is None else weight
        self.levelled = levelled
        self.ridge = RIDGE * float(np.median(task.precision))
        self.refresh()

    def refresh(self) -> None:
        """Compute everything afresh from the design."""
        task, n_objects, n_assessors = self.task, self.task.n_objects, self.task.n_assessors
        held = np.flatnonzero(self.chosen)
        weight = np.zeros((n_objects, n_assessors))
        weight[task.object[held], task.assessor[held]] = task.precision[held]
        self.hold: Floats = weight.any(axis=0) / np.sqrt(n_assessors)
        share = weight / self._confidences(weight.sum(axis=1))[:, None]
        reduced = np.diag(weight.sum(axis=0) + self.ridge) - weight.T @ share
        reduced += self.ridge / RIDGE * np.outer(self.hold, self.hold)  # holds the level: no contrast needs it
        inverse = np.linalg.inv(reduced)
        own = (inverse + inverse.T) / 2
        self.log_determinant = float(-np.linalg.slogdet(own)[1])
        of_objects = -own @ share.T
        centred = (of_objects - (of_objects @ self.weight)[:, None]) * self.weight
        confidence = self._confidences(weight.sum(axis=1))
        self.rows: Floats = np.empty((2, n_assessors, n_objects + n_assessors))
        """G and H of the assessors, objects first (2 x n_A x n)."""
        self.rows[0, :, :n_objects], self.rows[0, :, n_objects:] = of_objects, own
        self.rows[1, :, n_objects:] = centred @ of_objects.T
        self.rows[1, :, :n_objects] = centred / confidence - (centred @ share) @ of_objects
        self.log_determinant += float(np.log(confidence).sum())
        self._since = 0
        self._settle()

    def _confidences(self, sums: Floats) -> Floats:
        """Return C_o, of objects that nobody reads that of the prior."""
        return np.where(sums > 0, sums, self.ridge)

    def _settle(self) -> None:
        """Compute what changes with every exchange and costs little."""
        task, n_objects = self.task, self.task.n_objects
        self.held = np.flatnonzero(self.chosen)
        object_, assessor, precision = task.object[self.held], task.assessor[self.held], task.precision[self.held]
        self._begin = np.searchsorted(object_, np.arange(n_objects + 1))
        sums = np.bincount(object_, precision, n_objects).astype(np.float64)
        self.confidence = self._confidences(sums)
        self.total = float(sums.sum())
        self.tilt = sums / self.total - self.weight
        self.is_level = bool(np.abs(self.tilt).max() < 1e-12)
        self.of_weight = self._times(self.weight)
        self.of_tilt = np.zeros_like(self.of_weight) if self.is_level else self._times(self.tilt)
        at_edges = self.rows[:, assessor, object_] * precision
        own = np.empty((2, n_objects))
        own[0] = (1 - np.bincount(object_, at_edges[0], n_objects)) / self.confidence
        own[1] = self.weight * (own[0] - self.of_weight[:n_objects]) - np.bincount(object_, at_edges[1], n_objects)
        own[1] /= self.confidence
        of_assessors = np.diagonal(self.rows[:, :, n_objects:], axis1=1, axis2=2)
        self.own: Floats = np.concatenate([own, of_assessors], axis=1)
        """Diagonals of G and H (2 x n)."""
        self.spread = float(self.weight @ own[0] - self.weight @ self.of_weight[:n_objects])

    def _times(self, vector: Floats) -> Floats:
        """Return G times a vector of the objects."""
        n_objects, task, held = self.task.n_objects, self.task, self.held
        below = self.rows[0, :, :n_objects] @ vector
        sums = np.bincount(task.object[held], task.precision[held] * below[task.assessor[held]], n_objects)
        return np.concatenate([(vector - sums) / self.confidence, below])

    def of_object(self, object_: int) -> Floats:
        """Return the rows of G and H of one object (2 x n)."""
        pairs = self.held[self._begin[object_] : self._begin[object_ + 1]]
        found = -np.einsum("a,kan->kn", self.task.precision[pairs], self.rows[:, self.task.assessor[pairs]])
        found[0, object_] += 1
        found[0] /= self.confidence[object_]
        found[1] += self.weight[object_] * (found[0] - self.of_weight)
        found[1] /= self.confidence[object_]
        return np.asarray(found, dtype=np.float64)

    @property
    def variance(self) -> float:
        """Weighted mean variance of the values."""
        if not self.levelled:
            return self.spread
        return self.spread + float(self.tilt @ self.of_tilt[: self.task.n_objects]) + 1 / self.total

    def variances(self) -> Floats:
        """Return the variance of each value."""
        n_objects = self.task.n_objects
        share = self.tilt + self.weight if self.levelled else np.full(n_objects, 1 / n_objects)
        of_share, level = self._times(share)[:n_objects], 1 / self.total if self.levelled else 0.0
        return np.asarray(self.own[0, :n_objects] - 2 * of_share + share @ of_share + level, dtype=np.float64)

    def mean_variances(self, pairs: Sequence[Codes], signs: Sequence[int]) -> Floats:
        """Return the weighted mean variance after each of some moves of one kind (m); infinite if it disconnects.

        With each move one pair, two, or the two of a swap and what they become, (o, a), (p, b), (p, a) and (o, b), come
        (+1) or go (-1). Of moves with several pairs the first is the same for all.
        """
        if len(pairs) == 4 and self.task.is_even and tuple(signs) == (-1, -1, 1, 1):
            return self._of_even_swaps(pairs)
        steps = [sign * self.task.precision[pair] for sign, pair in zip(signs, pairs, strict=True)]
        entries = self._entries(pairs)
        core, outer = (_forms(entries, len(pairs), kind) for kind in (0, 1))
        level: Any = 0.0
        if self.levelled:
            level, seen = self._level(pairs, steps, entries)
            for i, row in enumerate(outer):
                for j in range(i, len(pairs)):
                    row[j] = row[j] + seen[i] * seen[j]
        taken, ratio = _eliminated(core, outer, steps, signs)
        variance = np.broadcast_to(self.spread + level - taken, pairs[-1].shape)
        return np.where(ratio < _TORN, np.inf, variance)

    def _of_even_swaps(self, pairs: Sequence[Codes]) -> Floats:
        """Return the same for swaps of equally precise assessments.

        They change L by -c (y z^T + z y^T), y = e_o - e_p and z = e_a - e_b, a change of rank two, and no confidence.
        """
        entries = self._entries(pairs)
        ((oo, oa, op, ob), (aa, ap, ab), (pp, pb), (bb,)) = entries
        first, second, cross = oo + pp - 2 * op, aa + bb - 2 * ab, oa - ob - ap + pb
        unit = 1 / float(self.task.precision[pairs[0][0]])
        middle, level = cross[0] - unit, 0.0
        outer = [first[1], cross[1], second[1]]
        if self.levelled:
            level = 1 / self.total
            if not self.is_level:
                o, a, p, b = self._vertices(pairs)
                one, other = self.of_tilt[o] - self.of_tilt[p], self.of_tilt[a] - self.of_tilt[b]
                outer = [outer[0] + one * one, outer[1] + one * other, outer[2] + other * other]
                level += float(self.tilt @ self.of_tilt[: self.tilt.size])
        determinant = middle * middle - first[0] * second[0]
        apart = determinant < _TORN * unit * unit
        determinant = np.where(apart, 1.0, determinant)
        taken = (2 * middle * outer[1] - second[0] * outer[0] - first[0] * outer[2]) / determinant
        return np.where(apart, np.inf, self.spread + level - taken)

    def log_determinants(self, pairs: Sequence[Codes], signs: Sequence[int]) -> Floats:
        """Return by how much the log-determinant of the Laplacian rises with each of some moves (m)."""
        steps = [sign * self.task.precision[pair] for sign, pair in zip(signs, pairs, strict=True)]
        core = _forms(self._entries(pairs), len(pairs), 0)
        ratio = _eliminated(core, [[np.zeros(1)] * len(pairs)] * len(pairs), steps, signs)[1]
        return np.asarray(np.log(np.maximum(ratio, 1e-300)), dtype=np.float64)

    def _vertices(self, pairs: Sequence[Codes]) -> list[Codes]:
        """Return the vertices o, a, p and b of some moves, assessors counted after the objects."""
        task = self.task
        return [side for pair in pairs[:2] for side in (task.object[pair], task.assessor[pair] + task.n_objects)]

    def _entries(self, pairs: Sequence[Codes]) -> list[list[Floats]]:
        """Return entries of G and H (2 x m) between the vertices of moves: those of each with itself and later ones."""
        task, n_objects = self.task, self.task.n_objects
        if len(pairs) == 1:
            o, a = task.object[pairs[0]], task.assessor[pairs[0]]
            return [[self.own[:, o], self.rows[:, a, o]], [self.own[:, n_objects + a]]]
        o, a, p, b = self._vertices(pairs)
        one, other = self.of_object(int(o[0])), self.rows[:, int(a[0]) - n_objects]
        return [
            [one[:, o], one[:, a], one.take(p, axis=1), one.take(b, axis=1)],
            [other[:, a], other.take(p, axis=1), other.take(b, axis=1)],
            [self.own.take(p, axis=1), self.rows[:, b - n_objects, p]],
            [self.own.take(b, axis=1)],
        ]

    def _level(
        self, pairs: Sequence[Codes], steps: Sequence[Floats], entries: list[list[Floats]]
    ) -> tuple[Any, list[Floats]]:
        """Return d^T G d + 1/C for d after moves and G before them, and X^T G d."""
        vertices, total = self._vertices(pairs), self.total + sum(steps)
        ratio, rest = self.total / total, self.total / total - 1
        gained = [steps[0] + (steps[3] if len(steps) == 4 else 0.0)]
        if len(steps) > 1:
            gained.append(steps[1] + (steps[2] if len(steps) == 4 else 0.0))
        gained = [gain / total for gain in gained]
        # d' = (C/C') d + (C/C' - 1) w + sum of gains e_o / C'
        between = _both_ways(entries, 0)
        of_new = []
        for i, vertex in enumerate(vertices):
            found = ratio * self.of_tilt[vertex] + rest * self.of_weight[vertex]
            for k, gain in enumerate(gained):
                found = found + gain * between[i][2 * k]
            of_new.append(found)
        n_objects = self.task.n_objects
        tilt, weight = float(self.tilt @ self.of_tilt[:n_objects]), float(self.weight @ self.of_weight[:n_objects])
        mixed = float(self.tilt @ self.of_weight[:n_objects])
        of_tilt, of_weight = ratio * tilt + rest * mixed, ratio * mixed + rest * weight
        form = 1 / total
        for k, gain in enumerate(gained):
            of_tilt = of_tilt + gain * self.of_tilt[vertices[2 * k]]
            of_weight = of_weight + gain * self.of_weight[vertices[2 * k]]
            form = form + gain * of_new[2 * k]
        form = form + ratio * of_tilt + rest * of_weight
        return form, [of_new[one] + of_new[other] for one, other in _PAIRS[: len(pairs)]]

    def _of_move(self, pairs: Sequence[int], signs: Sequence[int]) -> tuple[Codes, Floats, Floats, Floats]:
        """Return objects and D of one move, X^T G and X^T H (2 x k x n), and D^-1 + X^T G X."""
        task, chosen = self.task, np.asarray(pairs)
        o, a = task.object[chosen], task.assessor[chosen]
        step = task.precision[chosen] * np.asarray(signs)
        rows = {at: self.of_object(at) for at in set(o.tolist())}
        seen = np.stack([rows[at] for at in o.tolist()], axis=1) + self.rows[:, a]
        return o, step, seen, np.diag(1 / step) + seen[0][:, o] + seen[0][:, a + task.n_objects]

    def move(self, pairs: Sequence[int], signs: Sequence[int]) -> None:
        """Make one move."""
        n_objects, n_assessors = self.task.n_objects, self.task.n_assessors
        o, step, seen, core = self._of_move(pairs, signs)
        ratio = float(np.linalg.det(core) * step.prod())
        self.chosen[np.asarray(pairs)] = np.asarray(signs) > 0
        self._since += 1
        if n_assessors <= ALWAYS_AFRESH or self._since >= REFRESH or not 1e-3 < ratio < 1e3:
            self.refresh()
            return
        a = self.task.assessor[np.asarray(pairs)] + n_objects
        gain = np.linalg.inv(core) @ seen[0]
        # H' = (1 - G X (..)^-1 X^T) H (1 - X (..)^-1 X^T G), of which half stands on either side
        half = seen[1] - (seen[1][:, o] + seen[1][:, a]) @ gain / 2
        _take_off(self.rows[0], gain[:, n_objects:], seen[0])
        _take_off(self.rows[1], np.concatenate([gain, half])[:, n_objects:], np.concatenate([half, gain]))
        self.log_determinant += float(np.log(ratio))
        self._settle()

    def variances_after(self, pairs: Sequence[int], signs: Sequence[int]) -> Floats:
        """Return the variance of each value after one move, without making it; infinite if that disconnects."""
        o, step, both, core = self._of_move(pairs, signs)
        n_objects = self.task.n_objects
        if np.linalg.det(core) * step.prod() < _TORN:
            return np.full(n_objects, np.inf)
        confidence = (self.tilt + self.weight) * self.total
        np.add.at(confidence, o, step)
        total = float(confidence.sum())
        share = confidence / total if self.levelled else np.full(n_objects, 1 / n_objects)
        values = both[0][:, :n_objects]
        gain = np.linalg.inv(core) @ values
        of_share = self._times(share)[:n_objects] - (values @ share) @ gain
        own = self.own[0, :n_objects] - (values * gain).sum(axis=0)
        level = 1 / total if self.levelled else 0.0
        return np.asarray(own - 2 * of_share + share @ of_share + level, dtype=np.float64)

    def restart(self, chosen: Flags) -> None:
        """Go to another design."""
        self.chosen = chosen.copy()
        self.refresh()

    def reweigh(self, weight: Floats) -> None:
        """Weigh the objects otherwise."""
        self.weight = weight
        self.refresh()


def _take_off(matrix: Floats, one: Floats, other: Floats) -> None:
    """Take one^T other off a matrix, in place and in one go: it is larger than the nearest cache."""
    dgemm(-1.0, other.T, one, 1.0, matrix.T, overwrite_c=True)


def _both_ways(entries: list[list[Floats]], kind: int) -> list[list[Floats]]:
    """Return entries between vertices as a full matrix of G (0) or H (1)."""
    size = len(entries)
    return [[entries[min(i, j)][abs(i - j)][kind] for j in range(size)] for i in range(size)]


def _forms(entries: list[list[Floats]], size: int, kind: int) -> list[list[Floats]]:
    """Return x^T G y (0) or x^T H y (1) for all pairs x and y of moves (k x k, those above the diagonal)."""
    full, ends = _both_ways(entries, kind), _PAIRS[:size]
    return [
        [full[o][p] + full[o][b] + full[a][p] + full[a][b] if j >= i else np.empty(0) for j, (p, b) in enumerate(ends)]
        for i, (o, a) in enumerate(ends)
    ]


def _eliminated(
    core: list[list[Floats]], outer: list[list[Floats]], steps: Sequence[Floats], signs: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return tr[(D^-1 + core)^-1 outer] of each of some moves, and the factor of the determinant of L.

    What comes is eliminated before what goes: a pivot is then zero only where the move tears the design apart.
    """
    order = sorted(range(len(signs)), key=lambda at: -signs[at])
    left = [[core[min(i, j)][max(i, j)] for j in order] for i in order]
    right = [[outer[min(i, j)][max(i, j)] for j in order] for i in order]
    taken: Any = 0.0
    ratio: Any = 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for at, name in enumerate(order):
            pivot = left[at][at] + 1 / steps[name]
            ratio = ratio * pivot * steps[name]
            taken = taken + right[at][at] / pivot
            factor = [one / pivot for one in left[at]]
            for i in range(at + 1, len(order)):
                own = right[at][i] - factor[i] * right[at][at]
                for j in range(i, len(order)):
                    left[i][j] = left[i][j] - factor[i] * left[at][j]
                    right[i][j] = right[i][j] - factor[j] * own - factor[i] * right[at][j]
    return taken, ratio


def coarse(numbers: Floats, before: float = 0.0) -> Floats:
    """Return numbers without their last digits, in which machines differ, so that ties are ties on all of them.

    Where they are what is left of a much larger number ``before``, as the variance of groups that a move joins, they
    have fewer digits.

    Examples
    --------
    >>> 0.1 + 0.2 == 0.3, len(set(coarse(np.array([0.1 + 0.2, 0.3])).tolist()))
    (False, 1)
    >>> len(set(coarse(np.array([0.804, 0.804 + 1e-9]), before=1e7).tolist()))
    1
    """
    finite = np.isfinite(numbers)
    if not finite.any():
        return numbers
    unit = max(float(np.abs(numbers[finite]).min()), _LOST * before) or 1.0
    return np.asarray(np.round(numbers / unit, 9), dtype=np.float64)
