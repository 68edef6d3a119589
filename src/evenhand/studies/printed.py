"""What a reproduction is: each number of the paper beside ours, and a name for each difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

from evenhand.frames import Shown

Verdict = Literal["agrees", "cut off", "known", "differs", "not compared"]


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A number of the paper beside ours.

    Attributes
    ----------
    place
        Where the paper prints it, such as ``table 3``.
    row, column
        Which number of the table, or of the figure, it is.
    printed
        The number in the paper; None where it was not at hand.
    ours
        The same from data and formulas.
    standard_error
        Of the difference of the two, where both are simulated; else None.
    verdict
        ``agrees`` (to the last printed digit, or within three standard errors, more where few runs leave these
        rough), ``cut off`` (after the last digit instead of rounded), ``known`` (a difference that the note names),
        ``differs`` (one without a name), ``not compared``.
    note
        What is behind a difference.
    label
        The object that is named beside the number, if any.
    """

    place: str
    row: str
    column: str
    printed: float | None
    ours: float
    standard_error: float | None = None
    verdict: Verdict = "not compared"
    note: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Shown):
    """A part of the paper, computed again.

    Attributes
    ----------
    name
        ``case-study-1``, ``case-study-2`` or ``figure-1``.
    source
        Which part of the paper.
    numbers
        Each number of the paper beside ours.
    notes
        What else there is to say.
    """

    name: str
    source: str
    numbers: tuple[PrintedNumber, ...]
    notes: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[PrintedNumber, ...]:
        """The numbers that differ without an explanation."""
        return tuple(number for number in self.numbers if number.verdict == "differs")

    def count(self, verdict: Verdict) -> int:
        """Return how many numbers got a verdict."""
        return sum(number.verdict == verdict for number in self.numbers)

    def columns(self) -> dict[str, list[Any]]:
        """Return the numbers as columns."""
        names = [field.name for field in fields(PrintedNumber)]
        return {name: [getattr(number, name) for number in self.numbers] for name in names}


def beside(
    place: str, row: str, column: str, printed: str, ours: float, note: str = "", label: str = ""
) -> PrintedNumber:
    """Return a number of the paper, as it is printed, beside ours; the note says what is behind a difference.

    Examples
    --------
    >>> [beside("table 3", "AK", "CWC", "17.7", ours).verdict for ours in (17.72, 17.7865, 17.9)]
    ['agrees', 'cut off', 'differs']
    """
    unit = 10.0 ** -len(printed.partition(".")[2])
    number = float(printed)
    verdict: Verdict
    if abs(ours - number) <= unit / 2 * (1 + 1e-9):
        verdict, note = "agrees", ""
    elif math.isfinite(ours) and abs(math.trunc(ours / unit) * unit - number) < unit / 4:
        verdict, note = "cut off", "cut off after the last digit, not rounded"
    else:
        verdict = "known" if note else "differs"
    return PrintedNumber(place, row, column, number, ours, None, verdict, note, label)
