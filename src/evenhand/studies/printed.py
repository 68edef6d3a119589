"""Numbers of the paper beside ours, with a name for each difference; figure 1, whose numbers need no data."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import numpy as np

from evenhand.frames import Shown
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import assessor_graph, connectivity
from evenhand.words import count_of

PrintedVerdict = Literal["agrees", "cut off", "known", "differs", "not compared"]


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
    verdict: PrintedVerdict = "not compared"
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

    def count(self, verdict: PrintedVerdict) -> int:
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
    verdict: PrintedVerdict
    if abs(ours - number) <= unit / 2 * (1 + 1e-9):
        verdict, note = "agrees", ""
    elif math.isfinite(ours) and abs(math.trunc(ours / unit) * unit - number) < unit / 4:
        verdict, note = "cut off", "cut off after the last digit, not rounded"
    else:
        verdict = "known" if note else "differs"
    return PrintedNumber(place, row, column, number, ours, None, verdict, note, label)


def compared_fits(panel: Panel) -> dict[str, Fit]:
    """Return the fits that the paper compares, by method."""
    return {
        "sa": simple_average(panel),
        "iba": incomplete_block(panel, gauge="zero_sum"),
        "cwc": calibrate(panel, gauge="zero_sum"),
    }


# --- figure 1 ------------------------------------------------------------------------------------

GRAPHS: Final = {
    # one object for each pair of assessors
    "a": ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)),
    # a cycle of four pairs, alternate sides doubled
    "b": ((1, 2), (1, 2), (2, 3), (3, 4), (3, 4), (4, 1)),
    # two pairs of assessors with three objects each
    "c": ((1, 2), (1, 2), (1, 2), (3, 4), (3, 4), (3, 4)),
}
"""The two assessors of each object o1 to o6, by panel of the figure."""

LAMBDA_2: Final = {"a": 1 / 3, "b": 2 / 3, "c": 1.0}
"""Second eigenvalues as App. C prints them; mu_2 = 1 - sqrt(lambda_2)."""


def figure_1_panel(name: str) -> Panel:
    """Return one of the three panels, with confidences of one and scores of zero.

    Examples
    --------
    >>> figure_1_panel("a")
    Panel(6 objects, 4 assessors, 12 assessments, no declared confidence)
    """
    pairs = [(o, a - 1) for o, readers in enumerate(GRAPHS[name]) for a in readers]
    return Panel.from_arrays(
        [o for o, _ in pairs],
        [a for _, a in pairs],
        np.zeros(len(pairs)),
        objects=[f"o{at}" for at in range(1, 7)],
        assessors=[f"a{at}" for at in range(1, 5)],
    )


def figure_1() -> Reproduction:
    """Return the spectral gaps mu_2 of the three graphs of figure 1 beside those that App. C prints.

    Examples
    --------
    >>> [round(number.ours, 4) for number in figure_1().numbers]
    [0.4226, 0.1835, 0.0]
    """
    numbers, notes = [], []
    for name, lambda_2 in LAMBDA_2.items():
        panel = figure_1_panel(name)
        parts = connectivity(panel)
        printed = 1 - lambda_2**0.5
        verdict: PrintedVerdict = "agrees" if abs(parts.mu2 - printed) < 1e-9 else "differs"
        numbers.append(PrintedNumber("figure 1", f"({name})", "mu_2", printed, parts.mu2, None, verdict))
        objects = "; ".join(f"o{o} by a{a}, a{b}" for o, (a, b) in enumerate(GRAPHS[name], start=1))
        links = assessor_graph(panel).tocoo()
        joined = sorted((int(a), int(b)) for a, b in zip(*links.coords, strict=True) if a < b)
        graph = ", ".join(f"a{a + 1}-a{b + 1}" for a, b in joined)
        notes.append(f"({name}) {objects}. Assessors linked: {graph}; {count_of(parts.n_components, 'group')}.")
    return Reproduction("figure-1", "Figure 1 and App. C: three graphs of assessments", tuple(numbers), tuple(notes))
