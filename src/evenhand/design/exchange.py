"""Exchange moves: assessments change hands as long as that makes the design better, from several starts.

Every exchange is scored by the inverse of the design's Laplacian, of which it is a change of low rank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.limits import Room
from evenhand.design.task import Aim, Move, Task, spectral_gap

PARTNERS: Final = 1_500
"""Of more exchanges for one assessment, this many are tried, drawn at random."""

SHORTLIST: Final = 6
"""Exchanges that are tried in full where the objective is no weighted mean of variances."""

SHAKE: Final = 4
"""Moves at random between two descents."""

_ENOUGH: Final = 1e-9
"""A gain that is more than rounding, relative to the objective."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The outcome of a search."""

    chosen: Flags
    descents: int
    """How often the search went down to where no exchange helps."""
    in_time: bool
    """Whether it came to its end before the time was over."""


def search(
    task: Task,
    starts: Iterable[Flags],
    aim: Aim,
    *,
    seed: int,
    shakes: int,
    looks: int,
    time_limit: float | None = None,
    tell: Callable[[int], None] = lambda _looked: None,
) -> Found:
    """Return the best design that exchanges reach from some starts that keep all rules.

    Each is disturbed by moves at random and improved again, ``shakes`` times; in all, assessments are looked at
    ``looks`` times for a better one to take their place, and each look is told. The best so far is returned when time
    is over.
    """
    generator = np.random.default_rng(seed)
    end = np.inf if time_limit is None else time.monotonic() + time_limit
    at_work: Exchange | None = None
    best, lowest, descents, looked = None, np.inf, 0, 0

    def is_over() -> bool:
        nonlocal looked
        looked += 1
        tell(looked)
        return looked > looks or time.monotonic() > end

    for start in starts:
        if at_work is None:
            at_work = Exchange(task, aim, start, generator)
        else:
            at_work.restart(start)
        kept, level = start, np.inf
        for shake in range(shakes + 1):
            if shake:
                at_work.restart(kept)
                if shake % 3 or not at_work.relieve():
                    at_work.shake(SHAKE)
            at_work.descend(is_over)
            descents += 1
            at_work.restart(at_work.chosen)  # without rounding errors
            if _is_lower(at_work.height, level):
                kept, level = at_work.chosen.copy(), at_work.height
            if _is_lower(level, lowest):
                best, lowest = kept, level
            if is_over():
                return Found(kept if best is None else best, descents, in_time=looked > looks)
    if best is None:
        raise ValueError("a search needs a start")
    return Found(best, descents, in_time=True)


class Exchange:
    """A design on its way to a better one.

    The objective is (1 - weight) J / J_0 + weight (1 - mean expertise), J_0 that of the first start; for the
    determinant, J as it is, since a logarithm may have any sign.
    """

    def __init__(self, task: Task, aim: Aim, chosen: Flags, generator: np.random.Generator) -> None:
        self.task, self.aim, self.generator = task, aim, generator
        self.inverse = Inverse(task, chosen, levelled=aim.objective not in ("differences", "determinant"))
        self._table = np.full((task.n_assessors, task.n_objects), -1, dtype=np.int64)
        self._table[task.assessor, task.object] = np.arange(task.n_pairs)
        self._room = Room(task.limits, task.entries, chosen)
        self._settle()
        self.unit = 1.0 if aim.objective == "determinant" else max(self._plain(), 1e-300)
        self.height = self._whole(self._plain(), self.expertise)

    @property
    def chosen(self) -> Flags:
        """The design as it stands."""
        return self.inverse.chosen

    def _settle(self) -> None:
        """Compute what follows from the design as it stands and costs little."""
        task, chosen = self.task, self.chosen
        self.loads, self.readings = task.loads(chosen), task.readings(chosen)
        self.free = np.flatnonzero(chosen & ~task.fixed)
        self.expertise = 0.0 if task.expertise is None else float(task.expertise[chosen].mean())

    def _whole(self, plain: Any, expertise: Any) -> Any:
        weight = self.aim.expertise_weight
        return (1 - weight) * plain / self.unit + weight * (1 - expertise)

    def _plain(self) -> float:
        """Return J of the design as it stands."""
        if self.aim.objective == "gap":
            return 1 - spectral_gap(self.task, self.chosen)
        if self.aim.objective == "determinant":
            return -float(self._information(np.zeros(1), self._confidence()[None])[0])
        if self.aim.is_linear:
            return self.inverse.variance
        return self.aim.loss(self.inverse.variances())

    def _confidence(self) -> Floats:
        task, chosen = self.task, self.chosen
        return np.bincount(task.assessor[chosen], task.precision[chosen], task.n_assessors).astype(np.float64)

    def _information(self, rise: Floats, confidence: Floats) -> Floats:
        """Return log det of the information on values, per object: log det L - sum of log C'_a, for some designs.

        They differ from the present one by a rise of log det L each (m) and have confidences C'_a (m x n_A).
        """
        of_loads = np.log(np.maximum(confidence, 0) + self.inverse.ridge).sum(axis=1)
        # what holds the level of the biases, of those at work and of those who have left
        busy, hold = confidence > self.inverse.ridge, self.inverse.hold
        of_loads += np.log((busy @ hold) ** 2 + busy.sum(axis=1) * (~busy @ hold**2))
        return np.asarray((self.inverse.log_determinant + rise - of_loads) / self.task.n_objects, dtype=np.float64)

    def swaps(self, pair: int) -> tuple[Codes, Codes, Codes]:
        """Return assessments (p, b) to swap assessors with, and what both become: (p, a) and (o, b)."""
        task = self.task
        object_, assessor = task.object[pair], task.assessor[pair]
        partner = self.free
        come = self._table[assessor, task.object[partner]]
        back = self._table[task.assessor[partner], object_]
        good = (come >= 0) & (back >= 0) & ~self.chosen[come] & ~self.chosen[back]
        one, kept = np.array([pair]), np.flatnonzero(good)
        if not len(task.limits):
            pass
        elif task.limits.is_local:  # what happens at the one object and at the other are two questions
            own = np.arange(task.start[object_], task.start[object_ + 1])
            kept = kept[self._room.allow([one, own], (-1, 1))[back[kept] - own[0]]]
            kept = kept[self._room.allow([partner[kept], come[kept]], (-1, 1))]
        else:
            kept = kept[self._room.allow([one, partner[kept], come[kept], back[kept]], (-1, -1, 1, 1))]
        some = self._some(kept)
        return partner[some], come[some], back[some]

    def transfers(self, pair: int) -> Codes:
        """Return pairs that may take the place of one.

        They have another assessor and, where the number of assessments of an object is open, may have another object.
        """
        task = self.task
        object_, assessor = task.object[pair], task.assessor[pair]
        if self.readings[object_] > task.least[object_]:
            target = np.flatnonzero(~self.chosen)
        else:
            target = np.arange(task.start[object_], task.start[object_ + 1])
            target = target[~self.chosen[target]]
        to_object, to_assessor = task.object[target], task.assessor[target]
        same = to_assessor == assessor
        good = same | (self.loads[to_assessor] < task.most_load[to_assessor])
        if self.loads[assessor] <= task.least_load[assessor]:
            good &= same
        good &= (to_object == object_) | (self.readings[to_object] < task.most[to_object])
        target = target[good]
        return self._some(target[self._room.allow([np.array([pair]), target], (-1, 1))])

    def _some(self, indices: Codes) -> Codes:
        if indices.size <= PARTNERS:
            return indices
        return np.sort(self.generator.choice(indices, PARTNERS, replace=False))

    def _kinds(self, pair: int) -> Iterator[tuple[list[Codes], tuple[int, ...]]]:
        """Return all moves of one assessment: swaps, then transfers."""
        one = np.array([pair])
        partner, come, back = self.swaps(pair)
        if partner.size:
            yield [one, partner, come, back], (-1, -1, 1, 1)
        target = self.transfers(pair)
        if target.size:
            yield [one, target], (-1, 1)

    def better(self, pair: int) -> Move | None:
        """Make the best move of one assessment, if one makes the design better, and return it."""
        best: Move | None = None
        lowest = self.height
        for pairs, signs in self._kinds(pair):
            heights = self._heights(pairs, signs)
            at = int(np.argmin(coarse(heights)))
            if _is_lower(float(heights[at]), lowest):
                best, lowest = (_at(pairs, at), signs), float(heights[at])
        if best is not None:
            self._make(best)
        return best

    def _make(self, move: Move) -> None:
        self.inverse.move(*move)
        self._room.make(*move)
        self._settle()
        self.height = self._whole(self._plain(), self.expertise)

    def _heights(self, pairs: list[Codes], signs: tuple[int, ...]) -> Floats:
        """Return the objective after each of some moves of one kind."""
        mean = np.full(pairs[-1].size, self.expertise)
        if self.task.expertise is not None:
            total = int(self.chosen.sum())
            for sign, pair in zip(signs, pairs, strict=True):
                mean = mean + sign * self.task.expertise[pair] / total
        if self.aim.objective == "determinant":
            plain = -self._informations(pairs, signs)
        else:
            plain = self.inverse.mean_variances(pairs, signs)
            if not self.aim.is_linear:
                plain = self._in_full(pairs, signs, plain, mean)
        return np.asarray(self._whole(plain, mean), dtype=np.float64)

    def _informations(self, pairs: list[Codes], signs: tuple[int, ...]) -> Floats:
        rows = np.arange(pairs[-1].size)
        confidence = np.tile(self._confidence(), (rows.size, 1))
        for sign, pair in zip(signs, pairs, strict=True):
            one = np.broadcast_to(pair, rows.size)
            np.add.at(confidence, (rows, self.task.assessor[one]), sign * self.task.precision[one])
        return self._information(self.inverse.log_determinants(pairs, signs), confidence)

    def _in_full(self, pairs: list[Codes], signs: tuple[int, ...], variance: Floats, mean: Floats) -> Floats:
        """Return J after the moves that promise most, by their weighted mean variance; infinity for the others."""
        found = np.full(variance.size, np.inf)
        weight = self.aim.expertise_weight
        promise = (1 - weight) * variance / self.inverse.variance - weight * mean
        for at in np.argsort(np.round(promise, 9), kind="stable")[:SHORTLIST].tolist():
            found[at] = self._after(_at(pairs, at), signs)
        return found

    def _after(self, pairs: list[int], signs: Sequence[int]) -> float:
        """Return J after a move, without making it."""
        if self.aim.objective == "gap":
            chosen = self.chosen.copy()
            chosen[pairs] = np.asarray(signs) > 0
            return 1 - spectral_gap(self.task, chosen)
        return self.aim.loss(self.inverse.variances_after(pairs, signs))

    def descend(self, is_over: Callable[[], bool]) -> None:
        """Make moves until none helps any more."""
        while self._sweep(is_over):
            pass

    def _sweep(self, is_over: Callable[[], bool]) -> bool:
        """Look at all assessments, and again at those near every move; say whether any was made."""
        task, moved = self.task, False
        if self.aim.objective in ("worst", "top"):
            self.inverse.reweigh(self.aim.weights(self.inverse.variances()))
        awake = np.zeros(task.n_pairs, dtype=bool)
        awake[self.free] = True
        while awake.any():
            for pair in self.generator.permutation(np.flatnonzero(awake)).tolist():
                if not awake[pair]:
                    continue
                if is_over():
                    return False
                awake[pair] = False
                move = self.better(pair)
                if move is None:
                    continue
                moved = True
                of_object, of_assessor = np.zeros(task.n_objects, dtype=bool), np.zeros(task.n_assessors, dtype=bool)
                of_object[task.object[move[0]]] = of_assessor[task.assessor[move[0]]] = True
                awake[self.free] |= of_object[task.object[self.free]] | of_assessor[task.assessor[self.free]]
                awake[[pair for pair, sign in zip(*move, strict=True) if sign < 0]] = False
        return moved

    def shake(self, count: int) -> None:
        """Make some moves at random that keep the design together."""
        for _ in range(count if self.free.size else 0):
            kinds = list(self._kinds(int(self.generator.choice(self.free))))
            if not kinds:
                continue
            pairs, signs = kinds[int(self.generator.integers(len(kinds)))]
            harmless = np.flatnonzero(self.inverse.mean_variances(pairs, signs) < 10 * self.inverse.variance)
            if harmless.size:
                self._make((_at(pairs, int(self.generator.choice(harmless))), signs))

    def relieve(self) -> bool:
        """Hand all that one assessor reads to others, each assessment to whom it suits best, if that can be."""
        task = self.task
        bound = (task.least_load > 0) | (task.loads(task.fixed) > 0)
        idle = np.flatnonzero((self.loads > 0) & ~bound)
        if idle.size < 2:
            return False
        assessor = int(self.generator.choice(idle))
        before = self.chosen.copy()
        for pair in np.flatnonzero(before & (task.assessor == assessor)).tolist():
            target = self.transfers(pair)
            target = target[(self.loads[task.assessor[target]] > 0) & (task.assessor[target] != assessor)]
            if not target.size:
                self.restart(before)
                return False
            variance = self.inverse.mean_variances([np.array([pair]), target], (-1, 1))
            self._make(([pair, int(target[np.argmin(coarse(variance))])], (-1, 1)))
        return True

    def restart(self, chosen: Flags) -> None:
        """Go to another design."""
        self.inverse.restart(chosen)
        self._room.restart(chosen)
        self._settle()
        self.height = self._whole(self._plain(), self.expertise)


def _is_lower(height: float, other: float) -> bool:
    """Say whether an objective is lower than another by more than rounding."""
    return height < (other - _ENOUGH * abs(other) if np.isfinite(other) else other)


def _at(pairs: list[Codes], at: int) -> list[int]:
    """Return the pairs of one move of many."""
    return [int(one[0] if one.size == 1 else one[at]) for one in pairs]
