"""Balanced designs that a group of permutations makes from few base blocks, found by a bounded search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import gcd

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evenhand.design.fields import Ring, integers, product_of_fields

Codes = NDArray[np.int64]
Permutations = tuple[tuple[int, ...], ...]

MOST_OBJECTS = 100
"""With more objects than this no base blocks are looked for."""

MOST_COPIES = 4
"""The objects are at most this many copies of a ring."""

SEARCH_STEPS = 100_000
"""Steps of all searches that one design may call for, half a second or so."""

DESIGN_STEPS = 50_000
"""Steps of one search, of which a design may call for several: for its own base blocks, or for those of others."""

GROUP_STEPS = 6_000
"""Steps with one group, before the next is tried."""

SETUP_STEPS = 10
"""Steps that getting ready for a group counts for, for each object."""


@dataclass(frozen=True)
class _Kind:
    """A kind of base block: what leaves it as it is, how long that makes its orbit, and whether others have longer."""

    fixing: Permutations
    orbit: int
    is_short: bool = False


@dataclass(frozen=True)
class _Plan:
    """A group that makes all blocks, of which kinds the base blocks are, and how much there is to choose."""

    n_objects: int
    group: Permutations
    kinds: tuple[_Kind, ...]
    effort: float


def developed_blocks(n_objects: int, load: int, meetings: int, steps: Iterator[int]) -> Codes | None:
    """Return blocks in which every two objects meet so many times, from base blocks; None where none are found.

    The objects are copies of a ring, with a fixed one added or not; the group consists of the translations and of
    multiplications by powers of a unit. That is the method of symmetrically repeated differences of Bose (1939), with
    difference sets, cyclotomy and rotational designs as cases of it. Groups are tried in turn, those with the least to
    choose first.

    Parameters
    ----------
    n_objects, load, meetings
        How many objects there are, how many a block has, and how often two of them meet.
    steps
        What the search may use up; shared by the searches for one design.

    Examples
    --------
    >>> developed_blocks(7, 3, 1, iter(range(1000))).tolist()
    [[0, 1, 3], [0, 2, 6], [0, 4, 5], [1, 2, 4], [1, 5, 6], [2, 3, 5], [3, 4, 6]]
    """
    if n_objects > MOST_OBJECTS:
        return None
    steps = islice(steps, DESIGN_STEPS)
    for plan in sorted(_plans(n_objects, load, meetings), key=lambda plan: plan.effort):
        own_steps = islice(steps, GROUP_STEPS)
        if sum(1 for _ in islice(own_steps, SETUP_STEPS * n_objects)) < SETUP_STEPS * n_objects:
            return None
        found = _search(plan, load, meetings, own_steps)
        if found is not None:
            return found
    return None


def _plans(n_objects: int, load: int, meetings: int) -> Iterator[_Plan]:
    """Yield groups whose orbits can add up to the number of blocks."""
    n_blocks = meetings * n_objects * (n_objects - 1) // (load * (load - 1))
    for fixed in (0, 1):
        for copies in range(1, MOST_COPIES + 1):
            order, rest = divmod(n_objects - fixed, copies)
            if rest or order < 3:
                continue
            for ring in (integers(order), product_of_fields(order)):
                if ring is None:
                    continue
                for powers in _multiplications(ring):
                    yield from _plans_of(ring, powers, copies, fixed, n_blocks, load)


def _multiplications(ring: Ring) -> Iterator[tuple[int, ...]]:
    """Yield the cyclic groups of units, each once."""
    seen = set()
    for unit in ring.units:
        powers = ring.powers(unit)
        if frozenset(powers) not in seen:
            seen.add(frozenset(powers))
            yield powers


def _plans_of(
    ring: Ring, powers: tuple[int, ...], copies: int, fixed: int, n_blocks: int, load: int
) -> Iterator[_Plan]:
    """Yield what base blocks there can be under translations and the powers of a unit."""
    order, n_powers = ring.order, len(powers)

    def permute(images: Codes) -> tuple[int, ...]:
        moved = (np.arange(copies)[:, None] * order + images).ravel().tolist()
        return (*moved, *range(copies * order, copies * order + fixed))

    def times(exponent: int) -> Permutations:
        return (permute(ring.multiply[powers[exponent % n_powers]]),)

    translations = tuple(permute(ring.add[generator]) for generator in ring.generators)
    for fixing in range(1, n_powers + 1):
        if n_powers % fixing or (fixing > 1 and load < fixing):
            continue
        full = _Kind(times(n_powers // fixing), order * n_powers // fixing)
        n_full, rest = divmod(n_blocks, full.orbit)
        shorts: list[tuple[_Kind, ...]] = [()] if rest == 0 else []
        for part in range(1, load + 1):  # further blocks consist of cosets, the fixed object aside
            if rest == 0 or (load % part and (load - fixed) % part):
                continue
            subgroup = _subgroup(ring, part, powers)
            if subgroup is not None and rest % (order // part) == 0:
                moves = tuple(permute(ring.add[generator]) for generator in subgroup)
                short = _Kind((*moves, *times(1)), order // part, is_short=True)
                shorts.append((short,) * (rest // short.orbit))
        for short_kinds in shorts:
            effort = n_full * load / fixing + sum(load * kind.orbit / order for kind in short_kinds)
            if effort < GROUP_STEPS:
                kinds = (*short_kinds, *((full,) * n_full))
                yield _Plan(copies * order + fixed, (*translations, *times(1)), kinds, effort)


def _subgroup(ring: Ring, order: int, powers: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return generators of a subgroup of given order under addition that multiplications leave as it is."""
    generators: list[int] = []
    members = np.zeros(1, dtype=np.int64)
    for generator in ring.generators:
        multiples = ring.multiples(generator)
        step = len(multiples) // gcd(len(multiples), order // len(members))
        if step < len(multiples):
            generators.append(multiples[step])
            members = ring.add[np.ix_(members, np.array(multiples[::step]))].ravel()
    is_kept = len(members) == order and set(ring.multiply[powers[-1], members].tolist()) == set(members.tolist())
    return tuple(generators) if is_kept else None


@dataclass(frozen=True, eq=False)
class _Parts:
    """What base blocks of one kind are put together from: the orbits of the subgroup that leaves them as they are.

    Attributes
    ----------
    members
        The objects of each part.
    within, between
        How often the orbit of a base block covers each orbit of pairs, because of pairs within a part and between
        two parts; packed.
    starts
        For each orbit of pairs, the parts with which a base block that covers it may begin.
    """

    members: list[tuple[int, ...]]
    within: list[int]
    between: list[list[int]]
    starts: list[list[tuple[int, ...]]]


def _search(plan: _Plan, load: int, meetings: int, steps: Iterator[int]) -> Codes | None:
    """Return blocks whose base blocks cover every orbit of pairs as often as they should; None where none are found.

    How often each orbit of pairs has yet to be covered is packed into one integer, with a guard bit for each orbit,
    which is lost where it is covered too often.
    """
    label, sizes = _pair_orbits(plan)
    common = gcd(*(kind.orbit for kind in plan.kinds))
    if any(meetings * size % common for size in sizes):
        return None
    most = max(meetings * max(sizes), max(kind.orbit for kind in plan.kinds) * load * (load - 1))
    width = most.bit_length() + 1
    guards = sum(1 << (width * (orbit + 1) - 1) for orbit in range(len(sizes)))
    needed = sum(meetings * size << (width * orbit) for orbit, size in enumerate(sizes))
    of_kind = {kind: _parts(kind, label, width, len(sizes)) for kind in dict.fromkeys(plan.kinds)}
    parts_of = [of_kind[kind] for kind in plan.kinds]

    def begin(needed: int, n_done: int) -> Iterator[tuple[int, ...]]:
        if plan.kinds[n_done].is_short:
            return iter([(part,) for part in range(len(parts_of[n_done].members))])
        rest = needed ^ guards
        return iter(parts_of[n_done].starts[((rest & -rest).bit_length() - 1) // width])

    # what is needed, base blocks so far, parts of the next, how many objects it lacks, what may be added to it
    stack: list[tuple[int, tuple[tuple[int, ...], ...], tuple[int, ...], int, Iterator[tuple[int, ...]]]]
    stack = [(needed | guards, (), (), load, begin(needed | guards, 0))]
    while stack:
        needed, done, block, lacking, candidates = stack[-1]
        added = next(candidates, None)
        if added is None:
            stack.pop()
            continue
        if next(steps, None) is None:
            return None
        parts = parts_of[len(done)]
        after = added[-1] + 1 if block or plan.kinds[len(done)].is_short else 0
        for part in added:
            needed -= parts.within[part] + sum(map(parts.between[part].__getitem__, block))
            lacking -= len(parts.members[part])
            block = (*block, part)
        if lacking < 0 or needed & guards != guards:
            continue
        if lacking:
            further = iter([(part,) for part in range(after, len(parts.members)) if part not in block])
            stack.append((needed, done, block, lacking, further))
            continue
        done = (*done, tuple(sorted(member for part in block for member in parts.members[part])))
        if len(done) < len(plan.kinds):
            stack.append((needed, done, (), load, begin(needed, len(done))))
        elif needed == guards:
            return _develop(plan, done)
    return None


def _pair_orbits(plan: _Plan) -> tuple[list[list[int]], list[int]]:
    """Return the orbit to which every two objects belong, and the number of pairs in each orbit."""
    n_objects = plan.n_objects
    first, second = np.triu_indices(n_objects, 1)
    number = np.zeros((n_objects, n_objects), dtype=np.int64)
    number[first, second] = number[second, first] = np.arange(first.size)
    images = [number[np.array(move)[first], np.array(move)[second]] for move in plan.group]
    links = coo_array(
        (np.ones(first.size * len(images)), (np.tile(np.arange(first.size), len(images)), np.concatenate(images))),
        shape=(first.size, first.size),
    )
    orbit = connected_components(links, directed=False)[1]
    return orbit[number].tolist(), np.bincount(orbit).tolist()


def _parts(kind: _Kind, label: list[list[int]], width: int, n_orbits: int) -> _Parts:
    """Return the parts of a kind of base block, and which orbits of pairs they cover."""
    members = _orbits(kind.fixing, len(label))
    everyone = range(len(members))

    def covered(pairs: Iterable[tuple[int, int]]) -> int:
        return sum(kind.orbit << (width * label[one][other]) for one, other in pairs)

    within = [covered(combinations(part, 2)) for part in members]
    between = [[covered(product(part, other)) for other in members] for part in members]
    if len(members) == len(label):  # any pair of an orbit can be moved to any other, so that one is enough
        firsts = {label[one][other]: (one, other) for one, other in combinations(reversed(everyone), 2)}
        return _Parts(members, within, between, [[firsts[orbit]] for orbit in range(n_orbits)])
    lane = (1 << width) - 1
    starts: list[list[tuple[int, ...]]] = [[] for _ in range(n_orbits)]
    for orbit in range(n_orbits):
        place = width * orbit
        starts[orbit] += [(part,) for part in everyone if within[part] >> place & lane]
        starts[orbit] += [pair for pair in combinations(everyone, 2) if between[pair[0]][pair[1]] >> place & lane]
    return _Parts(members, within, between, starts)


def _orbits(moves: Permutations, n_objects: int) -> list[tuple[int, ...]]:
    """Return the orbits of objects, in the order of their first."""
    ends = np.concatenate([np.array(move) for move in moves])
    starts = np.tile(np.arange(n_objects), len(moves))
    label = connected_components(coo_array((np.ones(ends.size), (starts, ends)), shape=(n_objects,) * 2), False)[1]
    return [tuple(np.flatnonzero(label == orbit).tolist()) for orbit in range(label.max() + 1)]


def _develop(plan: _Plan, base_blocks: tuple[tuple[int, ...], ...]) -> Codes:
    """Return the orbits of base blocks, each as often as its kind says."""
    blocks: list[tuple[int, ...]] = []
    for kind, base in zip(plan.kinds, base_blocks, strict=True):
        orbit = [base]
        seen = {base}
        for block in orbit:  # which grows
            for move in plan.group:
                image = tuple(sorted(move[member] for member in block))
                if image not in seen:
                    seen.add(image)
                    orbit.append(image)
        blocks += orbit * (kind.orbit // len(orbit))
    return np.array(sorted(blocks), dtype=np.int64)
