"""Randomised assignment: a draw in which no pair is likelier than a cap, so that nobody can count on reading anything.

Marginals, the probability of each pair, come from a linear program. They are whole multiples of 1/N, and are laid out
as a deck of N designs, each of which keeps every rule and is connected: of N cards, a pair is on as many as its
probability says. Whatever is then exchanged between cards leaves these counts as they are, and so a card drawn from
the deck has exactly these marginals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.causes import no_design
from evenhand.design.program import least_cost
from evenhand.design.start import joined, parts_of
from evenhand.design.task import Task
from evenhand.errors import NoDesignError, bad_option
from evenhand.progress import report

CARDS: Final = 256
"""Designs in a deck, at most, unless a cap of a larger denominator needs more."""

DENOMINATOR: Final = 64
"""Caps are taken as fractions with a denominator up to this, or rounded down to one of the deck's."""

ASSESSMENTS: Final = 4_000_000
"""All designs of a deck have about as many assessments at most."""

EXCHANGES: Final = 60
"""Exchanges with other designs that are tried before a design is mended on its own."""

VAIN: Final = 3
"""After so many designs in a row that no exchange has mended, no more exchanges are tried."""

MERGED: Final = 4
"""Designs of the deck that are mixed for one draw, a power of two."""

ATTEMPTS: Final = 4
"""Exchanges between two designs that are tried, of one half of the rings, one quarter, and so on."""

SECONDS: Final = 60.0
"""Linear programming takes at most this long."""

_INFEASIBLE: Final = 2
"""What programs of scipy answer where they have proved that there is no solution."""


def commitment(seed: int, salt: str) -> str:
    """Return what binds a chair to a seed without telling it: the SHA-256 of ``evenhand SEED SALT``.

    Examples
    --------
    >>> commitment(20261, "blue heron")[:16]
    'e94430ecfc775ee4'
    """
    return hashlib.sha256(f"evenhand {seed} {salt}".encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Lottery:
    """Designs, one of which is drawn, each pair with a probability that is known and capped."""

    task: Task
    max_probability: float
    """The cap, for every pair that is not fixed."""
    deck: Codes
    """Which pairs each of N designs has, ascending (N x total)."""
    bound: float
    """The largest mean worth of a pair that any lottery with this cap could have, connected or not."""
    free: float
    """The largest mean worth of a pair without a cap."""

    @cached_property
    def marginals(self) -> Floats:
        """The probability of each pair (K)."""
        return np.bincount(self.deck.ravel(), minlength=self.task.n_pairs) / len(self.deck)

    @property
    def largest(self) -> float:
        """The largest probability of a pair that is not fixed; 0 where all are."""
        return float(self.marginals[~self.task.fixed].max(initial=0.0))

    @property
    def expected(self) -> float:
        """The expected worth of a pair of the design that is drawn, on average."""
        return float(self.marginals @ worth_of(self.task) / max(self.task.total, 1))

    def draw(self, seed: int, salt: str = "") -> Flags:
        """Return a design, drawn with the marginals of the deck; the same for the same seed and salt.

        Some designs of the deck are drawn and mixed two by two: they exchange pairs so that both still keep every rule
        and are connected, which leaves their sum as it is, and one of the two goes on by the toss of a coin. The
        expectation of whoever is left is therefore the mean of the deck, whatever was exchanged.
        """
        secret = hashlib.sha256(f"draw {seed} {salt}".encode()).digest()
        generator = np.random.default_rng(int.from_bytes(secret))
        drawn = generator.choice(len(self.deck), min(MERGED, len(self.deck)), replace=False)
        left = [self.deck[at] for at in drawn.tolist()]
        groups = _groups(self.task)
        while len(left) > 1:
            left = [self._mixed(one, other, groups, generator) for one, other in zip(*[iter(left)] * 2, strict=True)]
        chosen = np.zeros(self.task.n_pairs, dtype=bool)
        chosen[left[0]] = True
        return chosen

    def _mixed(self, one: Codes, other: Codes, groups: Codes, generator: np.random.Generator) -> Codes:
        """Return one of two designs, by the toss of a coin, after an exchange between them where one is found."""
        for attempt in range(ATTEMPTS):
            both = _exchanged(self.task, one, other, groups, 0.5 ** (attempt + 1), generator)
            if not any(_faults(self.task, at) for at in both):
                one, other = both
                break
        return one if generator.random() < 0.5 else other


def worth_of(task: Task) -> Floats:
    """Return what a pair is worth, from 0 to 1: its expertise, or its precision beside the largest (K)."""
    if task.expertise is not None:
        return task.expertise
    return task.precision / max(float(task.precision.max(initial=0.0)), 1e-300)


def lottery(task: Task, max_probability: float) -> Lottery:
    """Return a lottery of the largest expected worth in which no pair but fixed ones is likelier than a cap.

    Raises
    ------
    NoDesignError
        If the rules leave none, with the smallest cap that they do leave.
    """
    if not 0 < max_probability <= 1:
        raise bad_option("The largest probability of a pair must be above 0 and at most 1.")
    report("probabilities of pairs", 0, None)
    first = least_cost(task, 1 - worth_of(task))
    if first is None:
        raise no_design(task)
    cards, most = _scale(task, max_probability)
    counts = _counts(task, worth_of(task), cards, most)
    if counts is None:
        raise _too_low(task, max_probability)
    generator = np.random.default_rng(0)  # the deck is the same whatever the seed, which draws from it
    deck = np.array([*_dealt(task, counts, cards, generator)])
    _mend(task, deck, most, generator)
    deck.sort(axis=1)
    worth, total = worth_of(task), max(task.total, 1)
    return Lottery(
        task, max_probability, deck, float(counts @ worth) / cards / total, float(worth[first].sum()) / total
    )


def _scale(task: Task, cap: float) -> tuple[int, int]:
    """Return the number of designs in the deck, and on how many of them a pair may be at most."""
    step = Fraction(cap).limit_denominator(DENOMINATOR).denominator
    room = min(CARDS, max(ASSESSMENTS // max(task.total, 1), DENOMINATOR))
    cards = step
    while 2 * cards <= room:
        cards *= 2
    return cards, int(cap * cards + 1e-9)


# --- marginals -----------------------------------------------------------------------------------


def limits_of_pairs(task: Task) -> tuple[Any, Floats, Floats]:
    """Return what must hold of the pairs of a design, least <= A x <= most: readings, loads, the total and rules."""
    pair, ones, limits = np.arange(task.n_pairs), np.ones(task.n_pairs), task.limits
    rows = [
        sp.csr_array((ones, (task.object, pair)), (task.n_objects, task.n_pairs)),
        sp.csr_array((ones, (task.assessor, pair)), (task.n_assessors, task.n_pairs)),
        sp.csr_array(np.ones((1, task.n_pairs))),
        sp.csr_array((limits.weight, (limits.limit, limits.pair)), (len(limits), task.n_pairs)),
    ]
    least = np.concatenate([task.least, task.least_load, [task.total], limits.least])
    most = np.concatenate([task.most, task.most_load, [task.total], limits.most])
    return sp.vstack([row for row in rows if row.shape[0]]).tocsc(), least.astype(np.float64), most.astype(np.float64)


def _counts(task: Task, worth: Floats, cards: int, most: int) -> Codes | None:
    """Return on how many of so many designs each pair is (K), none on more than some; None where there is no such deck.

    Numbers of readings and loads alone make a network, whose corners are whole; other rules may cut off some of them,
    and the program is then made to be whole.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    matrix, low, high = limits_of_pairs(task)
    found = milp(
        -worth,
        constraints=[LinearConstraint(matrix, cards * low, cards * high)],
        bounds=Bounds(np.where(task.fixed, cards, 0), np.where(task.fixed, cards, most)),
        integrality=np.ones(task.n_pairs, dtype=np.int64),
        options={"time_limit": SECONDS, "mip_rel_gap": 1e-4},
    )
    if found.x is None:
        if found.status == _INFEASIBLE:
            return None
        raise NoDesignError(
            f"No probabilities of pairs were found within {SECONDS:g} seconds, which is no proof that there are none. "
            "Allow a higher probability, or leave out rules.",
            kind="not_found",
        )
    return np.rint(found.x).astype(np.int64)


def _too_low(task: Task, cap: float) -> NoDesignError:
    """Return why no lottery keeps a cap: the smallest one that can be kept, where there is one."""
    from scipy.optimize import linprog

    matrix, low, high = limits_of_pairs(task)
    worst = sp.csc_array(np.ones((task.n_pairs, 1)))
    free = np.flatnonzero(~task.fixed)
    below = sp.hstack([sp.eye_array(task.n_pairs, format="csc"), -worst]).tocsr()[free]
    wide: Any = sp.hstack([matrix, sp.csc_array((matrix.shape[0], 1))]).tocsr()
    rows: Any = sp.vstack([wide[np.isfinite(high)], -wide[np.isfinite(low)], below])
    ends = np.concatenate([high[np.isfinite(high)], -low[np.isfinite(low)], np.zeros(free.size)])
    bounds: Any = [*((float(one), 1.0) for one in task.fixed.tolist()), (0.0, 1.0)]
    aim = np.zeros(task.n_pairs + 1)
    aim[-1] = 1.0
    found = linprog(aim, A_ub=rows, b_ub=ends, bounds=bounds, method="highs")
    if found.x is None:
        return NoDesignError("No design keeps all rules, whatever the probabilities of pairs.", kind="together")
    smallest = np.ceil(1e4 * (found.x[-1] - 1e-7)) / 1e4
    return NoDesignError(
        f"Not every pair can be kept at a probability of {cap:g}: loads, numbers of assessments, conflicts and rules "
        f"leave {smallest:g} at least. Allow that, ask for fewer assessments, find further assessors, or lift "
        "conflicts.",
        kind="probability",
    )


# --- the deck ------------------------------------------------------------------------------------


def _groups(task: Task) -> Codes:
    """Return a number for each pair (K), the same for pairs of one object to which the same rules apply."""
    if not len(task.limits):
        return np.asarray(task.object, dtype=np.int64)
    begin, order = task.entries
    of_pair = task.limits.limit[order].tolist()
    known: dict[tuple[int, ...], int] = {}
    found = [
        known.setdefault((object_, *sorted(of_pair[first:last])), len(known))
        for object_, first, last in zip(task.object.tolist(), begin.tolist(), begin[1:].tolist(), strict=False)
    ]
    return np.array(found, dtype=np.int64)


def _dealt(task: Task, counts: Codes, cards: int, generator: np.random.Generator) -> Iterator[Codes]:
    """Yield designs, as positions of pairs, each pair on as many as its count says.

    A deck of an even number is halved: at every object and every assessor, both halves have the same number of pairs or
    differ by one. From one of an odd number, a design is taken that leaves as much for each of the others. Loads and
    numbers of readings hold in the end because they hold on average.
    """
    groups, heap, dealt = _groups(task), [(counts, cards)], 0
    while heap:
        counts, cards = heap.pop()
        if cards == 1:
            dealt += 1
            yield np.flatnonzero(counts)
        elif cards % 2:
            taken = _taken(task, counts, cards, generator)
            heap += [(counts - taken, cards - 1), (taken.astype(np.int64), 1)]
        else:
            odd = np.flatnonzero(counts % 2)
            half = counts // 2
            half[odd[_coloured(task, odd, groups, generator)]] += 1
            heap += [(half, cards // 2), (counts - half, cards // 2)]


def _taken(task: Task, counts: Codes, cards: int, generator: np.random.Generator) -> Flags:
    """Return one design of a deck that leaves as much for each of the others."""
    part = np.flatnonzero(counts)
    small = _only(task, part)
    held = small.limits.weight == 1
    plain = np.bincount(small.limits.limit[~held], minlength=len(small.limits)) == 0
    sums = [
        np.bincount(index, counts[part], size) / cards
        for index, size in ((small.object, task.n_objects), (small.assessor, task.n_assessors))
    ]
    of_rules = np.bincount(small.limits.limit, small.limits.weight * counts[part][small.limits.pair], len(small.limits))
    low, high = (np.where(plain, snap(of_rules / cards), bound) for snap, bound in ((_floor, -np.inf), (_ceil, np.inf)))
    tight = replace(
        small,
        fixed=counts[part] == cards,
        least=_floor(sums[0]).astype(np.int64),
        most=_ceil(sums[0]).astype(np.int64),
        least_load=_floor(sums[1]).astype(np.int64),
        most_load=_ceil(sums[1]).astype(np.int64),
        limits=replace(
            small.limits, least=np.maximum(small.limits.least, low), most=np.minimum(small.limits.most, high)
        ),
    )
    free = replace(tight, limits=type(small.limits)(), linked=task.linked[:0])
    for tried in (tight, free):  # without rules there is one; it is mended later
        found = _least_cost(tried, generator.random(part.size))
        if found is not None:
            taken = np.zeros(task.n_pairs, dtype=bool)
            taken[part] = found
            return taken
    raise NoDesignError("The probabilities of pairs could not be laid out as designs.", kind="not_found")


def _least_cost(task: Task, cost: Floats) -> Flags | None:
    """Return the design of least cost; None where there is none, or none was found."""
    try:
        return least_cost(task, cost)
    except NoDesignError:
        return None


def _floor(numbers: Floats) -> Floats:
    return np.floor(numbers + 1e-9)


def _ceil(numbers: Floats) -> Floats:
    return np.ceil(numbers - 1e-9)


def _only(task: Task, pairs: Codes) -> Task:
    """Return a task of which only some pairs, ascending, may be chosen."""
    limits, place = task.limits, np.full(task.n_pairs, -1)
    place[pairs] = np.arange(pairs.size)
    kept = place[limits.pair] >= 0
    sizes = np.bincount(limits.limit[kept], minlength=len(limits))
    return replace(
        task,
        object=task.object[pairs],
        assessor=task.assessor[pairs],
        precision=task.precision[pairs],
        expertise=None if task.expertise is None else task.expertise[pairs],
        cost=task.cost[pairs],
        fixed=task.fixed[pairs],
        limits=replace(
            limits,
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            pair=place[limits.pair[kept]],
            weight=limits.weight[kept],
        ),
    )


def _coloured(task: Task, pairs: Codes, groups: Codes, generator: np.random.Generator) -> Flags:
    """Say which of some pairs, an even number, go to one half, the others to the other.

    At every group of pairs, object and assessor the halves have the same number of pairs or differ by one, and in all
    they have the same number. Each pair is linked to one of the same group, else of the same object, else of any; and
    to one of the same assessor, else of any. Links make rings of even length, along which halves alternate, and a coin
    is tossed for each ring: a pair goes to either half with probability one half.
    """
    size = pairs.size
    if not size:
        return np.zeros(0, dtype=bool)
    everywhere = np.zeros(size, dtype=np.int64)
    links = [
        _linked([groups[pairs], task.object[pairs], everywhere], generator),
        _linked([task.assessor[pairs], everywhere], generator),
    ]
    one, other = (np.concatenate(ends) for ends in zip(*links, strict=True))
    # a pair stands twice, for each half it may go to; what is joined goes together
    ends = np.concatenate([one, one + size]), np.concatenate([other + size, other])
    whole = sp.coo_array((np.ones(ends[0].size, dtype=bool), ends), shape=(2 * size, 2 * size))
    count, label = connected_components(whole, directed=False)
    first, second = label[:size], label[size:]
    coins = generator.random(count) < 0.5
    return np.asarray(coins[np.minimum(first, second)] ^ (first < second), dtype=bool)


def _linked(keys: Sequence[Codes], generator: np.random.Generator) -> tuple[Codes, Codes]:
    """Return positions linked two by two at random: first those of one first key, what is left by the next, and on."""
    left = generator.permutation(keys[0].size)
    one, other = [], []
    for key in keys:
        left = left[np.argsort(key[left], kind="stable")]
        own = key[left]
        is_second = (np.arange(left.size) - np.searchsorted(own, own)) % 2 == 1
        second = np.flatnonzero(is_second)
        one.append(left[second - 1])
        other.append(left[second])
        alone = ~is_second
        alone[second - 1] = False
        left = generator.permutation(left[alone])
        if not left.size:
            break
    return np.concatenate(one), np.concatenate(other)


def _across(mine: Codes, theirs: Codes, keys: Sequence[Codes], generator: np.random.Generator) -> Codes:
    """Return for each of some pairs another of as many, at random: of the same first key, else the next, else any."""
    found = np.full(mine.size, -1)
    left, right = generator.permutation(mine.size), generator.permutation(theirs.size)
    for key in keys:
        left = left[np.argsort(key[mine[left]], kind="stable")]
        right = right[np.argsort(key[theirs[right]], kind="stable")]
        own, other = _numbered(key[mine[left]]), _numbered(key[theirs[right]])
        _, here, there = np.intersect1d(own, other, assume_unique=True, return_indices=True)
        found[left[here]] = right[there]
        left, right = np.delete(left, here), np.delete(right, there)
    found[left] = generator.permutation(right)
    return found


def _numbered(keys: Codes) -> Codes:
    """Return keys, ascending, each with its number among those alike, as one number."""
    begins = np.searchsorted(keys, keys)
    return keys * (keys.size + 1) + np.arange(keys.size) - begins


def _exchanged(
    task: Task, one: Codes, other: Codes, groups: Codes, share: float, generator: np.random.Generator
) -> tuple[Codes, Codes]:
    """Return two designs that have between them what two others have, each as many of every object and assessor.

    Each pair that only one of the two has is linked to one of the other's, of the same group if there is one left, else
    of the same object, else any; and likewise by assessor. Links make rings, and a share of them changes hands.
    """
    both = np.intersect1d(one, other, assume_unique=True)
    mine, theirs = (np.setdiff1d(own, both, assume_unique=True) for own in (one, other))
    size = mine.size
    links = [_across(mine, theirs, keys, generator) for keys in ([groups, task.object], [task.assessor])]
    ends = np.tile(np.arange(size), 2), size + np.concatenate(links)
    whole = sp.coo_array((np.ones(2 * size, dtype=bool), ends), shape=(2 * size, 2 * size))
    count, label = connected_components(whole, directed=False)
    moved = (generator.random(count) < share)[label]
    first = np.concatenate([both, mine[~moved[:size]], theirs[moved[size:]]])
    second = np.concatenate([both, mine[moved[:size]], theirs[~moved[size:]]])
    return np.sort(first), np.sort(second)


def _faults(task: Task, pairs: Codes) -> int:
    """Return how many rules a design breaks, and into how many parts too many it falls."""
    chosen = np.zeros(task.n_pairs, dtype=bool)
    chosen[pairs] = True
    broken = int((task.limits.beyond(chosen) != 0).sum()) if len(task.limits) else 0
    if len(task.linked):
        broken += len(task.broken(chosen))
    return parts_of(task, chosen)[0] - 1 + broken


def _mend(task: Task, deck: Codes, most: int, generator: np.random.Generator) -> None:
    """Make every design of a deck keep all rules and hang together.

    Exchanges with other designs come first, which change no probability. Where they fail, a design is joined on its
    own, out of pairs that are below the cap.
    """
    groups, vain = _groups(task), 0
    faults = np.array([_faults(task, card) for card in deck])
    for at in np.flatnonzero(faults).tolist():
        report("designs of the lottery", at, len(deck))
        for attempt, partner in enumerate(generator.integers(0, len(deck), EXCHANGES).tolist()):
            if not faults[at] or vain > EXCHANGES * VAIN:
                break
            vain += 1
            if partner == at:
                continue
            both = _exchanged(task, deck[at], deck[partner], groups, 0.5 ** (attempt % ATTEMPTS + 1), generator)
            after = [_faults(task, card) for card in both]
            if sum(after) < faults[at] + faults[partner]:
                deck[at], deck[partner] = both
                faults[at], faults[partner] = after
                vain = 0
    used = np.bincount(deck.ravel(), minlength=task.n_pairs)
    for at in np.flatnonzero(faults).tolist():
        own = np.zeros(task.n_pairs, dtype=bool)
        own[deck[at]] = True
        allowed = np.flatnonzero((used - own < most) | task.fixed)
        small = _only(task, allowed)
        near = _least_cost(small, 1 - 0.8 * own[allowed] - 0.2 * worth_of(small))
        whole = None if near is None else joined(small, near, generator)[0]
        if whole is None:
            raise NoDesignError(
                "No lottery was found in which every design keeps all rules and is connected, which is no proof that "
                "there is none: allow a higher probability of pairs, or leave out rules.",
                kind="not_found",
            )
        deck[at] = allowed[whole]
        used += np.bincount(deck[at], minlength=task.n_pairs) - own
