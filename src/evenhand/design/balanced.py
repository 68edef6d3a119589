"""Balanced designs: every two objects have equally many assessors in common, or every two assessors objects.

Some have a formula, others come from base blocks in ``base_blocks.txt``; further ones are put together from these.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import combinations
from math import comb, gcd, isqrt, lcm

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int64]


def balanced_blocks(n_objects: int, n_assessors: int, load: int) -> Blocks | None:
    """Return blocks in which every two objects meet equally often, at least once; None where nothing here gives them.

    A block has the objects of one assessor, ascending (n_assessors x load). With v objects, b assessors, k objects each
    and r = b k / v assessments of each object, two objects meet r (k - 1) / (v - 1) times. Such a design tells all
    pairs of objects apart equally well, and on average better than any other of its size (Kiefer 1975). That none is
    returned does not say that there is none.

    Examples
    --------
    >>> balanced_blocks(7, 7, 3).tolist()
    [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    >>> balanced_blocks(22, 22, 7) is None
    True
    """
    if not 1 <= load <= n_objects or n_assessors < 1 or (load == 1 < n_objects):
        return None
    if load == n_objects:
        return np.tile(np.arange(n_objects), (n_assessors, 1))
    per_object, rest = divmod(n_assessors * load, n_objects)
    meetings, more = divmod(per_object * (load - 1), n_objects - 1)
    if rest or more or n_assessors < n_objects:  # Fisher 1940: b >= v
        return None
    others = n_objects - load
    if not 2 <= others < load:
        return _added(n_objects, load, meetings)
    return _complement(_added(n_objects, others, n_assessors - 2 * per_object + meetings), n_objects)


def balanced_objects(n_objects: int, n_assessors: int, per_object: int) -> Blocks | None:
    """Return the assessors of each object (n_objects x per_object) so that every two of them meet equally often.

    This is `balanced_blocks` with the parts of objects and assessors exchanged.

    Examples
    --------
    Figure 1(a) of the paper:

    >>> balanced_objects(6, 4, 2).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    return balanced_blocks(n_assessors, n_objects, per_object)


def _n_blocks(n_objects: int, load: int, meetings: int) -> int:
    return meetings * n_objects * (n_objects - 1) // (load * (load - 1))


def _added(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return one design, or else several with fewer meetings, the same one again if need be, that add up to it."""
    found = _single(n_objects, load, meetings)
    if found is not None:
        return found
    ends, pairs = n_objects * (n_objects - 1), load * (load - 1)
    fewest = lcm((load - 1) // gcd(n_objects - 1, load - 1), pairs // gcd(ends, pairs))
    parts: dict[int, Blocks] = {}
    last = [0]  # for each multiple of the fewest meetings, the part that comes last in a sum; -1 where there is none
    for times in range(1, meetings // fewest + 1):
        part = next((part for part in parts if last[times - part] >= 0), -1)
        if part < 0 and _n_blocks(n_objects, load, times * fewest) >= n_objects:
            single = _single(n_objects, load, times * fewest)
            if single is not None:
                parts[times], part = single, times
        last.append(part)
    chosen, left = [], meetings // fewest
    while last[left] > 0:
        chosen.append(parts[last[left]])
        left -= last[left]
    return None if left else np.concatenate(chosen)


def _single(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return a design that is known as it is or comes from a symmetric one, which has as many blocks as objects."""
    found = _known(n_objects, load, meetings)
    if found is not None:
        return found
    n_blocks = _n_blocks(n_objects, load, meetings)
    per_object = n_blocks * load // n_objects
    # what a symmetric design leaves outside and inside one of its blocks (Bose 1939)
    if per_object == load + meetings and (outside := _symmetric(n_blocks + 1, per_object, meetings)) is not None:
        return _left(outside, within=False)
    if load == meetings + 1 and (inside := _symmetric(n_blocks + 1, n_objects, load)) is not None:
        return _left(inside, within=True)
    return None


def _symmetric(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return a symmetric design that is known as it is, or the complement of one that is."""
    if 2 * load <= n_objects:
        return _known(n_objects, load, meetings)
    return _complement(_known(n_objects, n_objects - load, n_objects - 2 * load + meetings), n_objects)


def _complement(blocks: Blocks | None, n_objects: int) -> Blocks | None:
    if blocks is None:
        return None
    is_out = np.ones((len(blocks), n_objects), dtype=bool)
    is_out[np.arange(len(blocks))[:, None], blocks] = False
    return np.nonzero(is_out)[1].reshape(len(blocks), -1)


def _left(blocks: Blocks, *, within: bool) -> Blocks:
    """Return what blocks of a symmetric design have outside or within the first of them, with objects renumbered."""
    kept = np.full(len(blocks), not within)
    kept[blocks[0]] = within
    number = np.cumsum(kept) - 1
    is_kept = kept[blocks[1:]]
    return np.asarray(number[blocks[1:][is_kept]].reshape(len(blocks) - 1, -1))


def _known(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return a design from its base blocks or by a formula."""
    for make in (_developed, _unreduced, _triples, _hadamard):
        blocks = make(n_objects, load, meetings)
        if blocks is not None:
            blocks = np.sort(blocks, axis=1)
            return blocks[np.lexsort(blocks.T[::-1])]
    return None


def _unreduced(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return all subsets of a size."""
    if meetings != comb(n_objects - 2, load - 2):
        return None
    return np.array(list(combinations(range(n_objects), load)))


def _triples(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return a Steiner triple system: three copies of a commutative quasigroup (Bose 1939, Skolem 1958).

    A pair in one copy goes with its product in the next. Where not every element is its own square, those that are not
    go with one object more.
    """
    if load != 3 or meetings != 1 or n_objects % 6 not in (1, 3):
        return None
    size, more = divmod(n_objects, 3)
    half = (size + 1) // 2
    # x + y is halved, so that the first elements are their own squares: all of them where their number is odd
    halved = [total * half % size if size % 2 else total // 2 + half * (total % 2) for total in range(size)]
    own = size if size % 2 else half
    triples = [(x, x + size, x + 2 * size) for x in range(own)]
    for copy in range(3):
        here, there = copy * size, (copy + 1) % 3 * size
        triples += [(x + here, y + here, halved[(x + y) % size] + there) for x, y in combinations(range(size), 2)]
        triples += [(n_objects - more, x + half + here, x + there) for x in range(size - own)]
    return np.array(triples)


def _hadamard(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return the design of a Hadamard matrix, which is that of quadratic residues where there is one (Paley 1933)."""
    if n_objects != 4 * meetings + 3 or load != 2 * meetings + 1 or (signs := _signs(n_objects + 1)) is None:
        return None
    signs = signs * signs[0] * (signs[:, :1] * signs[0, 0])
    return np.nonzero(signs[1:, 1:] > 0)[1].reshape(-1, load)


def _signs(order: int) -> Blocks | None:
    """Return a Hadamard matrix by Paley's two constructions, base blocks or doubling; None where they give none."""
    plus_minus = np.array([[1, 1], [1, -1]])
    if order <= 2:
        return plus_minus[:order, :order]
    if order % 4:
        return None
    if (conference := _conference(order - 1, -1)) is not None:
        return np.eye(order, dtype=np.int64) + conference
    if order % 8 == 4 and (conference := _conference(order // 2 - 1, 1)) is not None:
        turned = np.array([[1, -1], [-1, -1]])
        return np.kron(conference, plus_minus) + np.kron(np.eye(order // 2, dtype=np.int64), turned)
    stored = _developed(order - 1, order // 2 - 1, order // 4 - 1)
    if stored is not None:
        signs = np.pad(np.full((order - 1, order - 1), -1), ((1, 0), (1, 0)), constant_values=1)
        signs[np.arange(1, order)[:, None], stored + 1] = 1
        return signs
    half = _signs(order // 2)
    return None if half is None else np.kron(half, plus_minus)


def _conference(order: int, sign: int) -> Blocks | None:
    """Return 1 where the difference of two elements of a field is a square, -1 where it is not, with a border.

    The field has p or p^2 elements; in the latter, a + b sqrt(d) is a square if its norm a^2 - d b^2 is one modulo p.
    """
    prime = isqrt(order) if isqrt(order) ** 2 == order else order
    if prime < 3 or any(prime % divisor == 0 for divisor in range(2, isqrt(prime) + 1)):
        return None
    character = np.where(np.isin(np.arange(prime), np.arange(prime) ** 2 % prime), 1, -1)
    character[0] = 0
    if order == prime:
        element = np.subtract.outer(np.arange(prime), np.arange(prime))
    else:
        one, two = (np.subtract.outer(part, part) for part in np.divmod(np.arange(order), prime))
        element = one**2 - int(np.argmin(character)) * two**2
    bordered = np.pad(character[element % prime], ((1, 0), (1, 0)), constant_values=1)
    bordered[1:, 0] = sign
    bordered[0, 0] = 0
    return bordered


@cache
def _base_blocks() -> dict[tuple[int, int, int], tuple[list[int], int, list[list[int]]]]:
    """Return what is stored: for objects, load and meetings the group, a multiplier, and base blocks."""
    found = {}
    for line in files("evenhand.design").joinpath("base_blocks.txt").read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            numbers, blocks = line.split(":")
            n_objects, load, meetings, group, multiplier = numbers.split()
            found[int(n_objects), int(load), int(meetings)] = (
                [int(modulus) for modulus in group.split("x")],
                int(multiplier),
                [[int(member) for member in block.split()] for block in blocks.split(",")],
            )
    return found


def _developed(n_objects: int, load: int, meetings: int) -> Blocks | None:
    """Return the orbits of base blocks under a group: symmetrically repeated differences (Bose 1939).

    The objects are copies of an abelian group, with a fixed one added or not. All are moved by translations and, where
    the group is cyclic, by the powers of a multiplier.
    """
    entry = _base_blocks().get((n_objects, load, meetings))
    if entry is None:
        return None
    moduli, multiplier, base_blocks = entry
    order = int(np.prod(moduli))
    digits = np.array(np.unravel_index(np.arange(order), moduli))
    units = np.eye(len(moduli), dtype=np.int64)[:, :, None]
    moves = [np.ravel_multi_index(tuple(digits + unit), moduli, mode="wrap") for unit in units]
    moves.append(np.arange(order) * multiplier % order)
    starts = np.arange(n_objects // order)[:, None] * order
    fixed = np.arange(starts.size * order, n_objects)
    group = [np.concatenate([(starts + move).ravel(), fixed]).tolist() for move in moves]
    blocks: list[tuple[int, ...]] = []
    for base in base_blocks:
        orbit = [tuple(sorted(base))]
        seen = set(orbit)
        for block in orbit:  # which grows
            for move in group:
                image = tuple(sorted(move[member] for member in block))
                if image not in seen:
                    seen.add(image)
                    orbit.append(image)
        blocks += orbit
    return np.array(blocks)
