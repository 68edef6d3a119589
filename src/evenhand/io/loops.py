"""Loops over millions of rows, compiled by numba when first needed; None stands in where numba is not there."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

MISPLACED, LITERAL, LONE_RETURN = 1, 2, 4
"""What :func:`row_ends` meets: text after a closing quotation mark, a mark inside bare text, a bare return."""


@dataclass(frozen=True, slots=True)
class Loops:
    """The compiled loops, each with the signature of the function below of the same name."""

    encode: Callable[..., Any]
    enlarge: Callable[..., Any]
    has_repeats: Callable[..., Any]
    first_of_pair: Callable[..., Any]
    row_ends: Callable[..., Any]
    controls: Callable[..., Any]


@functools.cache
def compiled() -> Loops | None:
    """Return the loops, compiled and kept on disk for the next run, or None without numba."""
    try:
        import numba
    except ImportError:
        return None
    jit: Callable[[Any], Any] = numba.njit(nogil=True, cache=True)
    return Loops(*(jit(loop) for loop in (encode, enlarge, has_repeats, first_of_pair, row_ends, controls)))


def encode(keys: Any, slots: Any, codes: Any, out: Any, first: Any, start: int, count: int) -> tuple[int, int]:
    """Give each 64-bit key the code of its kind, new kinds the next code, and stop where the table is half full.

    ``slots`` and ``codes`` are a table of open addresses whose size is a power of two; ``codes`` holds the code
    plus 1, and 0 where nothing is. ``first[i]`` becomes the position of the first key of the i-th new kind.

    Returns
    -------
    tuple of int
        The position of the first key that is left to do, and the number of codes given so far.
    """
    mask = np.uint64(slots.size - 1)
    base = count
    for i in range(start, keys.size):
        key = keys[i]
        mixed = key * np.uint64(0x9E3779B97F4A7C15)
        j = (mixed ^ (mixed >> np.uint64(32))) & mask
        while codes[j] != 0 and slots[j] != key:
            j = (j + np.uint64(1)) & mask
        if codes[j] == 0:
            if 2 * count >= slots.size:
                return i, count
            slots[j] = key
            codes[j] = count + 1
            first[count - base] = i
            count += 1
        out[i] = codes[j] - 1
    return keys.size, count


def enlarge(slots: Any, codes: Any, new_slots: Any, new_codes: Any) -> None:
    """Copy a table of :func:`encode` into a larger, empty one."""
    mask = np.uint64(new_slots.size - 1)
    for i in range(slots.size):
        if codes[i] != 0:
            key = slots[i]
            mixed = key * np.uint64(0x9E3779B97F4A7C15)
            j = (mixed ^ (mixed >> np.uint64(32))) & mask
            while new_codes[j] != 0:
                j = (j + np.uint64(1)) & mask
            new_slots[j] = key
            new_codes[j] = codes[i]


def has_repeats(group: Any, member: Any, n_groups: int, n_members: int) -> bool:
    """Say whether some pair (group, member) occurs twice, in time linear in the number of rows."""
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    sorted_member = np.empty(member.size, np.uint32)
    for i in range(group.size):
        g = group[i]
        sorted_member[place[g]] = member[i]
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    for g in range(n_groups):
        for i in range(begin[g], begin[g + 1]):
            m = sorted_member[i]
            if seen[m] == g + 1:
                return True
            seen[m] = g + 1
    return False


def first_of_pair(group: Any, member: Any, n_groups: int, n_members: int) -> Any:
    """Return for every row the position of the first row with the same pair (group, member)."""
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    order = np.empty(group.size, np.int64)
    for i in range(group.size):
        g = group[i]
        order[place[g]] = i
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    where = np.zeros(n_members, np.int64)
    first = np.empty(group.size, np.int64)
    for g in range(n_groups):
        for k in range(begin[g], begin[g + 1]):
            i = order[k]
            m = member[i]
            if seen[m] != g + 1:
                seen[m] = g + 1
                where[m] = i
            first[i] = where[m]
    return first


def row_ends(text: Any, delimiter: int, is_last: bool) -> tuple[int, int, int]:
    """Walk through bytes that begin with a row, as a reader of quoted cells does.

    Returns
    -------
    tuple of int
        The end of the last whole row, the number of whole rows, and what was met on the way, as a sum of
        ``MISPLACED``, ``LITERAL`` and ``LONE_RETURN``. The walk ends at the first misplaced mark.
    """
    begin, bare, quoted, closed = 0, 1, 2, 3
    state, end, rows, met = begin, 0, 0, 0
    size = text.size
    i = 0
    while i < size:
        byte = text[i]
        if state == quoted:
            if byte == 34:
                state = closed
        elif byte == 34:
            if state in (begin, closed):
                state = quoted
            else:
                met |= 2
        elif byte == delimiter:
            state = begin
        elif byte in (10, 13):
            if byte == 13:
                if i + 1 == size and not is_last:
                    return end, rows, met
                if i + 1 < size and text[i + 1] == 10:
                    i += 1
                else:
                    met |= 4
            state = begin
            rows += 1
            end = i + 1
        elif state == closed:
            return end, rows, met | 1
        else:
            state = bare
        i += 1
    if is_last and end < size:
        if state == quoted:
            return end, rows, met | 1
        return size, rows + 1, met
    return end, rows, met


def controls(text: Any) -> int:
    """Count the bytes below 32 that are no white space, and 127."""
    count = 0
    for i in range(text.size):
        byte = text[i]
        count += (byte < 9) | ((byte > 13) & (byte < 32)) | (byte == 127)
    return count
