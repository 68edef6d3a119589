"""Where marks stand in drawings that are part of a page: in percent of the width, so that one drawing fits any."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.words import number

_TICKS = 8
_FINEST, _LARGEST = 1e-9, 1e300
"""Numbers that differ by less than this share of them count as one, and none counts as larger: there are no ticks."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale across a drawing.

    Attributes
    ----------
    low, high
        Its ends.
    ticks
        Round numbers between them.
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Return how far from the left a value stands."""
        return f"{self._share(value):.2f}%"

    def below(self, value: float) -> str:
        """Return how far from the top a value stands, on a scale that goes up."""
        return f"{100.0 - self._share(value):.2f}%"

    def has(self, value: float | None) -> bool:
        """Return whether a value lies on the scale."""
        return value is not None and self.low <= value <= self.high

    def between(self, one: float, other: float) -> tuple[str, str]:
        """Return where a bar between two values begins, and how wide it is."""
        low, high = sorted((self._share(one), self._share(other)))
        return f"{low:.2f}%", f"{high - low:.2f}%"

    def labels(self, *, signed: bool = False) -> list[tuple[str, str]]:
        """Return where each tick stands, and what it says."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(self.at(tick), number(tick + 0.0, digits, signed=signed and tick != 0)) for tick in self.ticks]

    def is_odd(self, at: int) -> bool:
        """Whether a tick is one that may be left out where there is little room: 0 never is."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        return len(self.ticks) > 3 and round(self.ticks[at] / step) % 2 == 1

    def _share(self, value: float) -> float:
        return 100.0 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def axis(
    numbers: Iterable[float | None], *, about: float | None = None, length: float = 0.0, ticks: int = _TICKS
) -> Axis:
    """Return a scale that shows all numbers; symmetric about one of them, and no shorter than a length, where given.

    It has about so many ticks, or fewer.

    Examples
    --------
    >>> found = axis([51.5, 80.2])
    >>> found.ticks, found.at(60.0)
    ((55.0, 60.0, 65.0, 70.0, 75.0, 80.0), '31.13%')
    """
    known = [one for one in numbers if one is not None and math.isfinite(one)] or [0.0, 1.0]
    low, high = (min(_LARGEST, max(-_LARGEST, end)) for end in (min(known), max(known)))
    if about is not None:
        reach = max(abs(low - about), abs(high - about))
        low, high = about - reach, about + reach
    size = max(abs(low), abs(high))
    is_wide = high - low > max(_FINEST * size, 1 / _LARGEST)
    room = 0.04 * (high - low) if is_wide else 0.1 * max(1.0, size)
    room = max(room, (length - (high - low)) / 2)
    low, high = low - room, high + room
    step = _step((high - low) / ticks)
    first = math.ceil(low / step)
    return Axis(low, high, tuple(step * at for at in range(first, math.floor(high / step) + 1)))


def _step(least: float) -> float:
    """Return the round number, 1, 2 or 5 times a power of ten, at or above a length."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
