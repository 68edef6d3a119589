"""Balanced designs: every two objects have equally many assessors in common, or every two assessors objects."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from evenhand.design.developed import SEARCH_STEPS, developed_blocks
from evenhand.design.geometries import known_blocks

Codes = NDArray[np.int64]
Make = Callable[[int, int, int], Codes | None]

MOST_PARTS = 8
"""Designs that are put together have at most this many times the fewest meetings that there can be."""


def balanced_blocks(n_objects: int, n_assessors: int, load: int) -> Codes | None:
    """Return blocks in which every two objects meet equally often, at least once; None where nothing here gives them.

    With v objects, b assessors, k objects each and r = b k / v assessments of each object, two objects meet
    r (k - 1) / (v - 1) times. Such a design tells all pairs of objects apart equally well, and on average better than
    any other of its size (Kiefer 1975). That none is returned does not say that there is none.

    Returns
    -------
    blocks
        The objects of each assessor, ascending (n_assessors x load).

    Examples
    --------
    >>> balanced_blocks(7, 7, 3).tolist()
    [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    >>> balanced_blocks(22, 22, 7) is None
    True
    """
    meetings = _meetings(n_objects, n_assessors, load)
    return None if meetings is None else _balanced(n_objects, load, meetings)


def balanced_objects(n_objects: int, n_assessors: int, per_object: int) -> Codes | None:
    """Return the assessors of each object (n_objects x per_object) so that every two of them meet equally often.

    This is `balanced_blocks` with the parts of objects and assessors exchanged.

    Examples
    --------
    Figure 1(a) of the paper:

    >>> balanced_objects(6, 4, 2).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    return balanced_blocks(n_assessors, n_objects, per_object)


def _meetings(n_objects: int, n_blocks: int, load: int) -> int | None:
    """Return how often two objects meet; None where it is not a whole number or there are too few blocks."""
    if not 1 <= load <= n_objects or n_blocks < 1 or (load == 1 < n_objects):
        return None
    if load == n_objects:
        return n_blocks
    per_object, rest = divmod(n_blocks * load, n_objects)
    meetings, more = divmod(per_object * (load - 1), n_objects - 1)
    return None if rest or more or n_blocks < n_objects else meetings  # Fisher 1940: b >= v


def _balanced(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return blocks by formulas; where these give none, by a search as well."""
    if load == n_objects:
        return np.tile(np.arange(n_objects), (meetings, 1))
    steps = iter(range(SEARCH_STEPS))

    def look(n_objects: int, load: int, meetings: int) -> Codes | None:
        found = known_blocks(n_objects, load, meetings)
        return developed_blocks(n_objects, load, meetings, steps) if found is None else found

    found = _added(n_objects, load, meetings, known_blocks)
    return _added(n_objects, load, meetings, look) if found is None else found


def _added(n_objects: int, load: int, meetings: int, make: Make) -> Codes | None:
    """Return one design, or else several with fewer meetings, the same one again if need be, that add up to it."""
    found = _single(n_objects, load, meetings, make)
    if found is not None:
        return found
    ends, pairs = n_objects * (n_objects - 1), load * (load - 1)
    fewest = lcm((load - 1) // gcd(n_objects - 1, load - 1), pairs // gcd(ends, pairs))
    total = meetings // fewest
    parts = {}
    for times in range(1, min(total - 1, MOST_PARTS) + 1):
        n_blocks = times * fewest * ends // pairs
        part = _single(n_objects, load, times * fewest, make) if n_blocks >= n_objects else None
        if part is not None:
            parts[times] = part
    last: list[int] = [0]  # the part that comes last in a sum; -1 where there is no sum
    for reached in range(1, total + 1):
        last.append(next((times for times in parts if times <= reached and last[reached - times] >= 0), -1))
    chosen = []
    while total and last[total] > 0:
        chosen.append(parts[last[total]])
        total -= last[total]
    return None if total else np.concatenate(chosen)


def _single(n_objects: int, load: int, meetings: int, make: Make) -> Codes | None:
    """Return a design that is made as it is or comes from a symmetric one, which has as many blocks as objects."""
    found = _made(n_objects, load, meetings, make)
    if found is not None:
        return found
    per_object = meetings * (n_objects - 1) // (load - 1)
    n_blocks = per_object * n_objects // load
    # what a symmetric design leaves outside and inside one of its blocks (Bose 1939)
    outside = _made(n_blocks + 1, per_object, meetings, make) if per_object == load + meetings else None
    if outside is not None:
        return _left(outside, n_blocks + 1, within=False)
    inside = _made(n_blocks + 1, n_objects, load, make) if load == meetings + 1 else None
    return None if inside is None else _left(inside, n_blocks + 1, within=True)


def _made(n_objects: int, load: int, meetings: int, make: Make) -> Codes | None:
    """Return a design that is made as it is, or the complement of one that is, whichever has smaller blocks."""
    others = n_objects - load
    if others < 2 or load <= others:
        return make(n_objects, load, meetings)
    per_object = meetings * (n_objects - 1) // (load - 1)
    n_blocks = per_object * n_objects // load
    blocks = make(n_objects, others, n_blocks - 2 * per_object + meetings)
    if blocks is None:
        return None
    is_out = np.ones((n_blocks, n_objects), dtype=bool)
    is_out[np.arange(n_blocks)[:, None], blocks] = False
    return np.nonzero(is_out)[1].reshape(n_blocks, load)


def _left(blocks: Codes, n_objects: int, *, within: bool) -> Codes:
    """Return what blocks have outside or within the first of them, with objects renumbered."""
    kept = np.full(n_objects, not within)
    kept[blocks[0]] = within
    number = np.cumsum(kept) - 1
    is_kept = kept[blocks[1:]]
    return np.asarray(number[blocks[1:][is_kept]].reshape(len(blocks) - 1, -1))
