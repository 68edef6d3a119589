"""Limits on sets of pairs, least <= sum of weights <= most, whatever they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from evenhand.compiled import Codes, Flags, Floats

SLACK: Final = 1e-9
"""How far a sum of weights may be beyond a limit: more than rounding ever amounts to."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Of each of M sets of pairs, those that are chosen have weights whose sum lies between least and most.

    At least one senior for an object is a set, all its pairs with seniors, of weights one and a sum of one or more. At
    most one of an institution, two who must not read together, two who must not review each other's work, and a floor
    under the expertise at an object are such sets too.

    Examples
    --------
    At most one of the pairs 0 and 1, and at least one of the pairs 1 and 2.

    >>> limits = Limits.of([([0, 1], 0, 1, "one of two"), ([1, 2], 1, np.inf, "a senior")])
    >>> limits.broken(np.array([True, True, False])), limits.broken(np.array([True, False, False]))
    (['one of two'], ['a senior'])
    """

    start: Codes = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """Where the entries of each set begin (M + 1)."""
    pair: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The pair of each entry."""
    weight: Floats = field(default_factory=lambda: np.empty(0))
    """The weight of each entry."""
    least: Floats = field(default_factory=lambda: np.empty(0))
    most: Floats = field(default_factory=lambda: np.empty(0))
    """Smallest and largest sum of weights of each set (M)."""
    kind: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """What each set stands for, a position in ``names`` (M)."""
    names: Sequence[str] = ()
    about: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The object that each set is about; -1 where it is about several, and none at all where nobody says (M or 0)."""

    @classmethod
    def together(cls, *parts: Limits) -> Limits:
        """Return several limits as one.

        Examples
        --------
        >>> both = Limits.together(Limits.of([([0, 1], 0, 1, "a")]), Limits.of([([2], 1, 1, "b")]))
        >>> len(both), list(both.names), both.pair.tolist()
        (2, ['a', 'b'], [0, 1, 2])
        """
        parts = tuple(one for one in parts if len(one))
        if len(parts) < 2:
            return parts[0] if parts else cls()
        names = list(dict.fromkeys(name for one in parts for name in one.names))
        sizes = np.concatenate([np.diff(one.start) for one in parts])
        return cls(
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            pair=np.concatenate([one.pair for one in parts]),
            weight=np.concatenate([one.weight for one in parts]),
            least=np.concatenate([one.least for one in parts]),
            most=np.concatenate([one.most for one in parts]),
            kind=np.concatenate([np.array([names.index(name) for name in one.names])[one.kind] for one in parts]),
            names=names,
            about=np.concatenate([one.whose for one in parts]),
        )

    @classmethod
    def grouped(cls, pair: Codes, group: Codes, about: Codes, bounds: tuple[float, float], name: str) -> Limits:
        """Return limits, the same for each of M groups, from the group of each of some pairs.

        ``about`` has the object of each group (M). Groups that can never be beyond their bounds are left out.
        """
        least, most = bounds
        size = np.bincount(group, minlength=about.size)
        matters = (least > 0) | (size > most)
        order = np.argsort(group, kind="stable")
        order = order[matters[group[order]]]
        number = int(matters.sum())
        return cls(
            start=np.concatenate([[0], np.cumsum(size[matters])]).astype(np.int64),
            pair=np.asarray(pair[order], dtype=np.int64),
            weight=np.ones(order.size),
            least=np.full(number, float(least)),
            most=np.full(number, float(most)),
            kind=np.zeros(number, dtype=np.int64),
            names=[name],
            about=np.asarray(about[matters], dtype=np.int64),
        )

    def some(self, kept: Flags) -> Limits:
        """Return some of the limits."""
        entries = kept[self.limit]
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(np.diff(self.start)[kept])]).astype(np.int64),
            pair=self.pair[entries],
            weight=self.weight[entries],
            least=self.least[kept],
            most=self.most[kept],
            kind=self.kind[kept],
            about=self.whose[kept],
        )

    @property
    def whose(self) -> Codes:
        """The object that each set is about, -1 where that is not one (M)."""
        return self.about if self.about.size == len(self) else np.full(len(self), -1)

    @classmethod
    def of(cls, sets: Sequence[tuple[Sequence[int], float, float, str]]) -> Limits:
        """Return limits from sets of pairs with their least, most and name, all of weight one."""
        names = list(dict.fromkeys(name for *_, name in sets))
        sizes = [len(pairs) for pairs, *_ in sets]
        return cls(
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            pair=np.array([pair for pairs, *_ in sets for pair in pairs], dtype=np.int64),
            weight=np.ones(sum(sizes)),
            least=np.array([least for _, least, _, _ in sets], dtype=np.float64),
            most=np.array([most for _, _, most, _ in sets], dtype=np.float64),
            kind=np.array([names.index(name) for *_, name in sets], dtype=np.int64),
            names=names,
        )

    def __len__(self) -> int:
        return self.least.size

    @cached_property
    def limit(self) -> Codes:
        """The set of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def is_local(self) -> bool:
        """Whether each set has pairs of one object only."""
        return bool((self.whose >= 0).all())

    def by_pair(self, n_pairs: int) -> tuple[Codes, Codes]:
        """Return where the entries of each pair begin in an order by pairs (n_pairs + 1), and that order."""
        order = np.argsort(self.pair, kind="stable")
        return np.searchsorted(self.pair[order], np.arange(n_pairs + 1)).astype(np.int64), order

    def sums(self, chosen: Flags) -> Floats:
        """Return the sum of weights of each set in a design (M)."""
        taken = self.weight * chosen[self.pair]
        return np.bincount(self.limit, weights=taken, minlength=len(self)).astype(np.float64)

    def beyond(self, chosen: Flags) -> Floats:
        """Return by how much each set is below its least (negative) or above its most; 0 for those kept (M)."""
        sums = self.sums(chosen)
        over, under = sums - self.most, sums - self.least
        return np.where(over > SLACK, over, np.where(under < -SLACK, under, 0.0))

    def broken(self, chosen: Flags) -> list[str]:
        """Return the names of the limits that a design breaks."""
        return [self.names[at] for at in np.unique(self.kind[self.beyond(chosen) != 0]).tolist()]

    def allow(self, sums: Floats, entries: tuple[Codes, Codes], pairs: Sequence[Codes], signs: Sequence[int]) -> Flags:
        """Say of some moves of one kind (m) whether no limit is beyond, or further beyond, its bounds after each.

        ``sums`` are those of the design as it stands, and ``entries`` are `by_pair`. Of each move, one pair of each
        array of ``pairs`` comes (+1) or goes (-1).
        """
        count = pairs[-1].size
        if not len(self) or not count:
            return np.ones(count, dtype=bool)
        begin, order = entries
        moves, entry, rise = [], [], []
        for one, sign in zip(pairs, signs, strict=True):
            of_move = np.broadcast_to(one, count)
            number = begin[of_move + 1] - begin[of_move]
            move = np.repeat(np.arange(count), number)
            at = np.arange(move.size) - np.repeat(np.cumsum(number) - number, number) + begin[of_move][move]
            moves.append(move)
            entry.append(order[at])
            rise.append(sign * self.weight[order[at]])
        move, touched, change = np.concatenate(moves), np.concatenate(entry), np.concatenate(rise)
        key, place = np.unique(move * len(self) + self.limit[touched], return_inverse=True)
        change = np.bincount(place, weights=change, minlength=key.size).astype(np.float64)
        of_move, limit = np.divmod(key, len(self))
        allowed = np.ones(count, dtype=bool)
        allowed[of_move[_breaks(self, limit, sums[limit], change)]] = False
        return allowed


def _breaks(limits: Limits, limit: Codes, sums: Floats, change: Floats) -> Flags:
    """Say of some changes of sums, each of one limit, whether that is beyond, or further beyond, its bounds then."""
    after = sums + change
    over = (change > SLACK) & (after > limits.most[limit] + SLACK)
    return np.asarray(over | ((change < -SLACK) & (after < limits.least[limit] - SLACK)), dtype=bool)


class Room:
    """Which pairs would break a limit alone, by coming or by going, kept up to date while a design changes.

    Weights are never negative, so that a pair that goes makes room and takes none.
    """

    def __init__(self, limits: Limits, entries: tuple[Codes, Codes], chosen: Flags) -> None:
        self._limits, self._entries = limits, entries
        self.restart(chosen)

    def restart(self, chosen: Flags) -> None:
        """Go to another design."""
        self._sums = self._limits.sums(chosen)
        self._blocks = np.zeros((2, chosen.size), dtype=np.int64)
        self._count(np.arange(self._limits.pair.size), 1)

    def _count(self, entries: Codes, step: int) -> None:
        """Count the limits that keep pairs from coming and from going, or take them off the count."""
        limits = self._limits
        limit, weight, pair = limits.limit[entries], limits.weight[entries], limits.pair[entries]
        for side, change in enumerate((weight, -weight)):
            np.add.at(self._blocks[side], pair[_breaks(limits, limit, self._sums[limit], change)], step)

    def make(self, pairs: Sequence[int], signs: Sequence[int]) -> None:
        """Count the pairs of a move."""
        limits, (begin, order) = self._limits, self._entries
        own = [order[begin[pair] : begin[pair + 1]] for pair in pairs]
        touched = np.unique(limits.limit[np.concatenate(own)]).tolist()
        if not touched:
            return
        entries = np.concatenate([np.arange(limits.start[limit], limits.start[limit + 1]) for limit in touched])
        self._count(entries, -1)
        for entry, sign in zip(own, signs, strict=True):
            self._sums[limits.limit[entry]] += sign * limits.weight[entry]
        self._count(entries, 1)

    def allow(self, pairs: Sequence[Codes], signs: Sequence[int]) -> Flags:
        """Say of some moves of one kind (m) whether they break no limit, as `Limits.allow` does.

        Where no more than one pair comes and one goes, only moves with a pair that is kept from it are looked at.
        """
        allowed = np.ones(pairs[-1].size, dtype=bool)
        if len(signs) <= len(set(signs)):
            for one, sign in zip(pairs, signs, strict=True):
                allowed &= self._blocks[0 if sign > 0 else 1][one] == 0
        else:
            allowed[:] = False
        closely = np.flatnonzero(~allowed)
        if not closely.size:
            return allowed
        some = [one if one.size == 1 else one[closely] for one in pairs]
        allowed[closely] = self._limits.allow(self._sums, self._entries, some, signs)
        return allowed


class Tally:
    """The sums of weights of a design, kept up to date while single pairs come and go."""

    def __init__(self, limits: Limits, chosen: Flags) -> None:
        begin, order = limits.by_pair(chosen.size)
        self._begin = begin.tolist()
        self._limit, self._weight = limits.limit[order].tolist(), limits.weight[order].tolist()
        self._least, self._most = (limits.least - SLACK).tolist(), (limits.most + SLACK).tolist()
        self._sums = limits.sums(chosen).tolist()

    def rises(self, pairs: Sequence[int], signs: Sequence[int]) -> dict[int, float]:
        """Return by how much the sum of each limit rises with a move."""
        rise: dict[int, float] = {}
        for pair, sign in zip(pairs, signs, strict=True):
            for entry in range(self._begin[pair], self._begin[pair + 1]):
                limit = self._limit[entry]
                rise[limit] = rise.get(limit, 0.0) + sign * self._weight[entry]
        return rise

    def allows(self, pairs: Sequence[int], signs: Sequence[int]) -> bool:
        """Say whether no limit is beyond, or further beyond, its bounds after a move, as `Limits.allow` does."""
        for limit, rise in self.rises(pairs, signs).items():
            after = self._sums[limit] + rise
            if (rise > SLACK and after > self._most[limit]) or (rise < -SLACK and after < self._least[limit]):
                return False
        return True

    def rise(self, pairs: Sequence[int], signs: Sequence[int]) -> float:
        """Return by how much a move raises what all limits are beyond their bounds by."""
        total = 0.0
        for limit, rise in self.rises(pairs, signs).items():
            before = self._sums[limit]
            total += self._excess(limit, before + rise) - self._excess(limit, before)
        return total

    def _excess(self, limit: int, total: float) -> float:
        return float(max(0.0, total - self._most[limit], self._least[limit] - total))

    def is_broken(self, limit: int) -> int:
        """Return +1 where a limit is beyond its most, -1 where it is below its least, 0 where it is kept."""
        total = self._sums[limit]
        return int(total > self._most[limit]) - int(total < self._least[limit])

    def beyond(self) -> Codes:
        """Return `is_broken` of each limit (M)."""
        sums = np.asarray(self._sums)
        return (sums > np.asarray(self._most)).astype(np.int64) - (sums < np.asarray(self._least))

    def make(self, pairs: Sequence[int], signs: Sequence[int]) -> None:
        """Count the pairs of a move."""
        for limit, rise in self.rises(pairs, signs).items():
            self._sums[limit] += rise
