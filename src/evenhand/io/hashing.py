"""A table of 64-bit keys that gives each kind of key a code: loops that :mod:`evenhand.compiled` compiles."""

from __future__ import annotations

from typing import Any

import numpy as np


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
