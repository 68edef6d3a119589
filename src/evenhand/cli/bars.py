"""Interval bars in characters: values, their intervals and plain averages on one scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenhand.answers.decision import Standing

_LEAST, _MOST = 24, 44
"""Columns of a bar."""

_LABEL: Final = 5
"""Columns for each number of the scale."""


def bars(standings: Sequence[Standing], room: int, styles: Sequence[str]) -> tuple[str, list[tuple[str, str]]] | None:
    """Return a scale and a bar for each object, with its style; None where there is no room or nothing to draw.

    A bar reaches from end to end of the interval, with a dot at the value; the plain average is a stroke.
    """
    ends = [end for one in standings for end in (one.lower, one.upper, one.average) if end is not None]
    if room < _LEAST or any(one.lower is None for one in standings) or not min(ends) < max(ends):
        return None
    size = min(room, _MOST)
    low, high = min(ends), max(ends)

    def column(value: float) -> int:
        return round((value - low) / (high - low) * (size - 1))

    drawn = [(_bar(one, column, size), style) for one, style in zip(standings, styles, strict=True)]
    return _scale(_ticks(low, high, size // _LABEL), column, size), drawn


def _bar(one: Standing, column: Callable[[float], int], size: int) -> str:
    signs = [" "] * size
    if one.lower is not None and one.upper is not None:
        for at in range(column(one.lower), column(one.upper) + 1):
            signs[at] = "━"
    signs[column(one.average)] = "|"
    signs[column(one.value)] = "●"
    return "".join(signs)


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between the lowest and the highest, at most so many.

    Examples
    --------
    >>> _ticks(38.7, 96.2, 7)
    [40.0, 50.0, 60.0, 70.0, 80.0, 90.0]
    """
    size = 10.0 ** math.floor(math.log10(high - low))
    for step in (size / 5, size / 2, size, 2 * size, 5 * size, 10 * size):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < most:
            break
    return [at * step for at in range(first, last + 1)]


def _scale(ticks: Sequence[float], column: Callable[[float], int], size: int) -> str:
    """Return the numbers of a scale above their columns."""
    text = ""
    for tick in ticks:
        label = f"{tick:.10g}".replace("-", "−")
        start = min(max(column(tick) - len(label) // 2, 0), size - len(label))
        if not text or start > len(text):
            text = text.ljust(start) + label
    return text.ljust(size)
