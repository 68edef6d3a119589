"""Sums and products that lose nothing: the arithmetic of refinement, the same on every machine."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.loops import sum_by

Floats = NDArray[np.float64]

EPS: Final = 2.0**-104
"""Relative to its size, what a number with twice the digits may be off by."""

_SPLIT: Final = 2.0**27 + 1.0
_PASSES: Final = 4


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b as a rounded sum and what rounding took away (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a b as a rounded product and what rounding took away (Dekker)."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def group_sums(index: NDArray[np.integer[Any]], terms: Floats, rest: Floats, count: int) -> Floats:
    """Return the sums of terms + rest that share an index, added exactly and rounded at the end.

    Bits of the terms are taken off from the top, at the same places in all of them, in portions so short that a
    double holds their sum exactly; whatever cancels, cancels exactly.
    """
    largest = float(np.abs(terms).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return sum_by(index, terms + rest, count)
    spare = _spare(terms.size)
    grid = 2.0 ** min(1023, int(np.ceil(np.log2(largest))) + spare)
    portions = []
    for _ in range(_PASSES):
        high = (terms + grid) - grid
        terms = terms - high
        portions.append(sum_by(index, high, count))
        grid *= 2.0 ** (spare - 53)
    total = portions[0]
    for portion in portions[1:]:  # from the top, where terms cancel: what is left is small enough to be exact
        total = total + portion
    return total + sum_by(index, terms + rest, count)


def resolution(count: int) -> float:
    """Return how far sums of this many terms may be off, relative to the largest of all terms."""
    return 2.0 ** -(_PASSES * (53 - _spare(count)))


def _spare(count: int) -> int:
    """Return the bits that a double must keep free to hold a sum of this many numbers exactly."""
    return int(np.ceil(np.log2(count + 1))) + 2


def _high(number: Floats) -> Floats:
    """Return the upper half of the digits (Veltkamp)."""
    shifted = _SPLIT * number
    return shifted - (shifted - number)
