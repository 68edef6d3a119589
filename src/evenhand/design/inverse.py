"""The inverse of a design's Laplacian, kept up to date while assessments are exchanged: every change is of low rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from evenhand.answers.next_best import about_mean, forms, inverted, low_rank
from evenhand.compiled import Codes, Floats
from evenhand.design.task import Flags, Task

RIDGE: Final = 1e-7
"""Weight, beside that of an assessment, that holds each bias near zero, so that assessors may join and leave."""

REFRESH: Final = 50
"""After this many exchanges everything is computed afresh, lest rounding errors add up; at once where assessors join or
leave, which costs digits."""

ALWAYS_AFRESH: Final = 120
"""Up to this many objects and assessors, computing afresh costs no more than bringing up to date."""


class Inverse:
    """G = L^-1 and H = G W G of a design, L held by a very weak prior on biases, and the mean variance of values.

    An exchange is a change of low rank (`low_rank`). With W = diag(w) - w w^T, the mean variance of values about their
    mean is tr(W G). In the weighted gauge of a fit the level of all values adds d^T G d + 1/C, d = C_o/C - w.

    Weights w of the objects sum to one and are all alike by default. Where ``levelled``, variances are those of a fit
    in its default gauge; otherwise about the mean of all values.
    """

    def __init__(self, task: Task, chosen: Flags, weight: Floats | None = None, *, levelled: bool = True) -> None:
        self.task = task
        self.chosen = chosen.copy()
        self.weight = np.full(task.n_objects, 1 / task.n_objects) if weight is None else weight
        self.levelled = levelled
        self.ridge = RIDGE * float(np.median(task.precision))
        self._vertex = task.object, task.assessor + task.n_objects
        self.refresh()

    def refresh(self) -> None:
        """Compute everything afresh from the design."""
        task, n_objects = self.task, self.task.n_objects
        n = n_objects + task.n_assessors
        object_, assessor = self._vertex[0][self.chosen], self._vertex[1][self.chosen]
        precision = task.precision[self.chosen]
        laplacian = np.zeros((n, n))
        np.add.at(laplacian, (object_, assessor), precision)
        laplacian += laplacian.T
        laplacian[np.arange(n), np.arange(n)] = laplacian.sum(axis=1)
        laplacian[np.arange(n_objects, n), np.arange(n_objects, n)] += self.ridge
        laplacian[:n_objects, :n_objects] += self.ridge / RIDGE / n_objects  # holds the level: no contrast needs it
        inverse = np.linalg.inv(laplacian)
        self.inverse: Floats = np.asarray((inverse + inverse.T) / 2, dtype=np.float64)
        self.outer = about_mean(self.inverse, self.weight)
        self.confidence = np.bincount(object_, precision, n_objects)
        self._since = 0
        self._settle()

    def _settle(self) -> None:
        """Compute what changes with every exchange and costs little."""
        n_objects = self.task.n_objects
        self.total = float(self.confidence.sum())
        self.tilt = self.confidence / self.total - self.weight
        values = self.inverse[:, :n_objects]
        self.of_tilt, self.of_weight = values @ self.tilt, values @ self.weight
        self.spread = float(self.weight @ np.diagonal(values[:n_objects]) - self.weight @ self.of_weight[:n_objects])

    @property
    def variance(self) -> float:
        """Weighted mean variance of the values."""
        if not self.levelled:
            return self.spread
        return self.spread + float(self.tilt @ self.of_tilt[: self.task.n_objects]) + 1 / self.total

    def variances(self) -> Floats:
        """Return the variance of each value."""
        values = self.inverse[: self.task.n_objects, : self.task.n_objects]
        share = self.confidence / self.total if self.levelled else np.full(values.shape[0], 1 / values.shape[0])
        of_share, level = values @ share, 1 / self.total if self.levelled else 0.0
        return np.asarray(np.diagonal(values) - 2 * of_share + share @ of_share + level, dtype=np.float64)

    def _steps(self, pairs: Sequence[Codes], signs: Sequence[int]) -> tuple[list[Codes], Floats]:
        """Return the vertices o, a, p and b of some moves, and by how much precisions change."""
        count = pairs[-1].size
        pairs = [np.broadcast_to(pair, count) for pair in pairs]
        step = np.stack([sign * self.task.precision[pair] for sign, pair in zip(signs, pairs, strict=True)], axis=1)
        return [side[pair] for pair in pairs[:2] for side in self._vertex], step

    def mean_variances(self, pairs: Sequence[Codes], signs: Sequence[int]) -> Floats:
        """Return the weighted mean variance after each of some moves of one kind (m); infinite if it disconnects.

        With each move one pair, two, or the two of a swap and what they become, (o, a), (p, b), (p, a) and (o, b), come
        (+1) or go (-1).
        """
        vertices, step = self._steps(pairs, signs)
        inner, apart = low_rank(self.inverse, vertices, step)
        variance = self.spread - np.einsum("mij,mij->m", inner, forms(self.outer, vertices, len(pairs)))
        if self.levelled:
            variance = variance + self._level([np.broadcast_to(pair, apart.size) for pair in pairs], step, inner)
        return np.where(apart, np.inf, variance)

    def log_determinants(self, pairs: Sequence[Codes], signs: Sequence[int]) -> Floats:
        """Return by how much the log-determinant of the Laplacian rises with each of some moves (m)."""
        vertices, step = self._steps(pairs, signs)
        ratio = np.linalg.det(np.eye(len(pairs)) + step[:, :, None] * forms(self.inverse, vertices, len(pairs)))
        return np.asarray(np.log(np.maximum(ratio, 1e-300)), dtype=np.float64)

    def _level(self, pairs: Sequence[Codes], step: Floats, inner: Floats) -> Floats:
        """Return d^T G d + 1/C after moves, where confidences differ or objects gain and lose assessments."""
        objects, assessors = self._vertex
        total = self.total + step.sum(axis=1)
        if self.task.is_even and np.abs(self.tilt).max() < 1e-12 and len(pairs) % 2 == 0:
            own = [objects[pair] for pair in pairs]
            half = len(own) // 2
            gone, come = (np.sort(np.stack(some), axis=0) for some in (own[:half], own[half:]))
            if (gone == come).all():
                return np.asarray(1 / total, dtype=np.float64)
        # d' = (C/C') d + (C/C' - 1) w + sum_i D_i e_{o_i} / C'
        old, new, single = self.total / total, self.total / total - 1, step / total[:, None]
        rows = np.stack([objects[pair] for pair in pairs], axis=1)
        columns = np.stack([assessors[pair] for pair in pairs], axis=1)
        n_objects = self.task.n_objects
        form = old**2 * float(self.tilt @ self.of_tilt[:n_objects])
        form += new**2 * float(self.weight @ self.of_weight[:n_objects])
        form += 2 * old * new * float(self.tilt @ self.of_weight[:n_objects])
        form += 2 * (single * (old[:, None] * self.of_tilt[rows] + new[:, None] * self.of_weight[rows])).sum(axis=1)
        between = self.inverse[rows[:, :, None], rows[:, None, :]]
        form += np.einsum("mi,mij,mj->m", single, between, single)
        tilt = self.of_tilt[rows] + self.of_tilt[columns]
        weight = self.of_weight[rows] + self.of_weight[columns]
        cross = between + self.inverse[columns[:, :, None], rows[:, None, :]]
        seen = old[:, None] * tilt + new[:, None] * weight + np.einsum("mij,mj->mi", cross, single)
        return np.asarray(form - np.einsum("mi,mij,mj->m", seen, inner, seen) + 1 / total, dtype=np.float64)

    def _of_move(self, pairs: Sequence[int], signs: Sequence[int]) -> tuple[Codes, Codes, Floats, Floats, Floats]:
        """Return objects, assessors and D of one move, G X, and D^-1 + X^T G X."""
        chosen = np.asarray(pairs)
        o, a = (side[chosen] for side in self._vertex)
        step = self.task.precision[chosen] * np.asarray(signs)
        seen = self.inverse[:, o] + self.inverse[:, a]
        return o, a, step, seen, np.diag(1 / step) + seen[o] + seen[a]

    def move(self, pairs: Sequence[int], signs: Sequence[int]) -> None:
        """Make one move."""
        o, a, step, seen, core = self._of_move(pairs, signs)
        self.chosen[np.asarray(pairs)] = np.asarray(signs) > 0
        np.add.at(self.confidence, o, step)
        self._since += 1
        ratio = float(np.linalg.det(core) * step.prod())
        if len(self.inverse) <= ALWAYS_AFRESH or self._since >= REFRESH or not 1e-3 < ratio < 1e3:
            self.refresh()
            return
        outer = self.outer[:, o] + self.outer[:, a]
        gain = seen @ np.linalg.inv(core)
        cross = gain @ outer.T
        self.inverse -= gain @ seen.T
        self.outer += gain @ (outer[o] + outer[a]) @ gain.T - cross - cross.T
        self._settle()

    def variances_after(self, pairs: Sequence[int], signs: Sequence[int]) -> Floats:
        """Return the variance of each value after one move, without making it; infinite if that disconnects."""
        o, _, step, seen, core = self._of_move(pairs, signs)
        n_objects = self.task.n_objects
        inverses, apart = inverted(core[None], step[None])
        if apart[0]:
            return np.full(n_objects, np.inf)
        inner = inverses[0]
        confidence = self.confidence.copy()
        np.add.at(confidence, o, step)
        total = float(confidence.sum())
        share = confidence / total if self.levelled else np.full(n_objects, 1 / n_objects)
        values = seen[:n_objects]
        of_share = self.inverse[:n_objects, :n_objects] @ share - values @ (inner @ (values.T @ share))
        own = np.diagonal(self.inverse)[:n_objects] - np.einsum("oi,ij,oj->o", values, inner, values)
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


def coarse(numbers: Floats) -> Floats:
    """Return numbers without their last digits, in which machines differ, so that ties are ties on all of them.

    Examples
    --------
    >>> 0.1 + 0.2 == 0.3, len(set(coarse(np.array([0.1 + 0.2, 0.3])).tolist()))
    (False, 1)
    """
    finite = np.isfinite(numbers)
    if not finite.any():
        return numbers
    unit = float(np.abs(numbers[finite]).min()) or 1.0
    return np.asarray(np.round(numbers / unit, 9), dtype=np.float64)
