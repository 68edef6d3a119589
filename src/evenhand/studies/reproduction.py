"""Numbers of the paper beside ours, with a name for each difference: figure 1 and the two case studies (sec. 4)."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.answers.evidence import Priors, evidence
from evenhand.errors import InputError, bad_option
from evenhand.frames import Shown
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import assessor_graph, connectivity
from evenhand.studies.simulation import MEASURES, METHODS, SimulationStudy, compared_fits, profile_name
from evenhand.words import count_of

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
        verdict: Verdict = "agrees" if abs(parts.mu2 - printed) < 1e-9 else "differs"
        numbers.append(PrintedNumber("figure 1", f"({name})", "mu_2", printed, parts.mu2, None, verdict))
        objects = "; ".join(f"o{o} by a{a}, a{b}" for o, (a, b) in enumerate(GRAPHS[name], start=1))
        links = assessor_graph(panel).tocoo()
        joined = sorted((int(a), int(b)) for a, b in zip(*links.coords, strict=True) if a < b)
        graph = ", ".join(f"a{a + 1}-a{b + 1}" for a, b in joined)
        notes.append(f"({name}) {objects}. Assessors linked: {graph}; {count_of(parts.n_components, 'group')}.")
    return Reproduction("figure-1", "Figure 1 and App. C: three graphs of assessments", tuple(numbers), tuple(notes))


# --- case study 1: simulated panels --------------------------------------------------------------

Published = Mapping[tuple[str, int], Mapping[str, float]]
"""Published errors by profile and assessors per object, then by column such as ``cwc_mean_error``."""

PUBLISHED_RUNS: Final = 100
"""Simulations behind each published number."""

_MOST_STANDARD_ERRORS: Final = 3.0
_SETTING: Final = {
    "n_objects": 3000,
    "n_assessors": 15,
    "value_mean": 50.0,
    "value_sd": 15.0,
    "bias_sd": 15.0,
    "uncertainties": (5.0, 10.0, 15.0),
    "bounds": (0.0, 100.0),
    "step": 1.0,
}
"""The numbers of the paper's study."""
_OF_BIASES: Final = "errors of biases"
_COLUMNS: Final = {
    "value_mean_error": ("figure 2", "{}_mean_error", "mean error"),
    "value_max_error": ("figure 3", "{}_max_error", "largest error"),
    "bias_mean_error": (_OF_BIASES, "{}_bias_mean_error", "mean error"),
    "bias_max_error": (_OF_BIASES, "{}_bias_max_error", "largest error"),
}
"""For each measure, where the paper shows it, its published column, and words for it."""

_BIASES: Final = "does not follow from the stated model, in which all but a little of it is the mean of 15 biases"


def read_published(path: str | PathLike[str]) -> Published:
    """Read the published errors: a csv file with a row for each profile and number of assessors per object."""
    place = Path(path)
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        found = {
            (row.pop("high:medium:low"), int(row.pop("assessors_per_object"))): {
                name: float(cell) for name, cell in row.items()
            }
            for row in rows
        }
    except OSError as error:
        message = f"{place} cannot be read ({error.strerror})."
        raise InputError(message, kind="cannot_read", where=str(path)) from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{place} is not a table of published errors: it needs the columns high:medium:low and "
            "assessors_per_object, and numbers.",
            kind="bad_data",
            where=str(path),
        ) from error
    return found


def case_study_1(study: SimulationStudy, published: Published | None = None) -> Reproduction:
    """Return the errors of a study beside the published ones; without these, the errors alone.

    A published number is the mean of 100 runs: its standard error is the spread between runs of our study, over ten.
    The two agree if they differ by no more than three standard errors of the difference; from fewer than 100 runs these
    are rough, and the band is as much wider as Student's t is than the normal distribution.

    Parameters
    ----------
    study
        Case study 1 or part of it, from :func:`~evenhand.studies.simulation_study`.
    published
        Published errors, from :func:`read_published`.
    """
    notes = []
    other = [name for name, usual in _SETTING.items() if study.numbers[name] != usual]
    if other and published is not None:
        names = ", ".join(other)
        raise bad_option(f"The study differs from the paper's in {names}: it cannot be compared.")
    if published is None:
        notes.append("The published errors were not at hand, so that nothing is compared.")
    elif study.runs == 1:
        notes.append("A single run has no standard error, so that nothing is compared.")
    numbers = tuple(_numbers(study, published))
    compared = sum(number.verdict != "not compared" for number in numbers if number.place != _OF_BIASES)
    if compared:
        band = _band(study.runs)
        expected = compared * 2 * float(stdtr(study.runs - 1, -band))
        if study.runs < PUBLISHED_RUNS:
            notes.append(
                f"From {study.runs} runs standard errors are rough themselves, so that numbers differ only from "
                f"{band:.1f} standard errors on, not from three as with {PUBLISHED_RUNS} runs: more runs tell more."
            )
        notes.append(
            f"Of {compared} errors and ratios, chance alone puts {expected:.1f} on average further apart than that "
            f"({band:.1f} standard errors); those of a cell go together, since they come from the same panels."
        )
    return Reproduction("case-study-1", "Section 4.1: simulated panels, figures 2 to 4", numbers, tuple(notes))


def _numbers(study: SimulationStudy, published: Published | None) -> Iterator[PrintedNumber]:
    for p, profile in enumerate(study.profiles):
        for r, per_object in enumerate(study.per_object):
            name = profile_name(profile)
            cell = (published or {}).get((name, per_object), {})
            row = f"{name}, r = {per_object}"
            yield from _errors(study, (p, r), cell, row)
            yield from _ratios(study, (p, r), cell, row)


def _errors(
    study: SimulationStudy, at: tuple[int, int], cell: Mapping[str, float], row: str
) -> Iterator[PrintedNumber]:
    """Yield what figures 2 and 3 show, and the errors of biases."""
    means, spreads = study.means[at], study.spreads[at]
    for m, method in enumerate(METHODS):
        for k, measure in enumerate(MEASURES):
            place, column, words = _COLUMNS[measure]
            of_biases = measure.startswith("bias")
            if of_biases and method != METHODS[-1]:
                continue  # not published
            title = f"{words} of {method.upper()}" if of_biases else method.upper()
            printed, note = cell.get(column.format(method)), _BIASES if of_biases else ""
            yield _compare(study, spreads[m, k], place, row, title, printed, float(means[m, k]), note)


def _ratios(
    study: SimulationStudy, at: tuple[int, int], cell: Mapping[str, float], row: str
) -> Iterator[PrintedNumber]:
    """Yield what figure 4 shows: errors of calibration over those of averages, from the same runs."""
    errors = study.errors[at]
    for k, words in enumerate(("mean", "largest")):
        below = errors[:, 0, k]
        column = _COLUMNS[MEASURES[k]][1]
        for m, method in enumerate(METHODS[1:], start=1):
            above = errors[:, m, k]
            ratio = float(above.mean() / below.mean())
            # errors of the two go together: the spread is that of what the ratio leaves over
            spread = float(np.std(above - ratio * below, ddof=1) / below.mean()) if study.runs > 1 else math.nan
            over, under = cell.get(column.format(method)), cell.get(column.format("sa"))
            printed = None if over is None or under is None else over / under
            yield _compare(study, spread, "figure 4", row, f"{words}, {method.upper()}/SA", printed, ratio)


def _band(runs: int) -> float:
    """Return how many standard errors two numbers may be apart.

    Examples
    --------
    >>> [round(_band(runs), 1) for runs in (3, 10, 100)]
    [19.2, 4.1, 3.0]
    """
    if runs >= PUBLISHED_RUNS:
        return _MOST_STANDARD_ERRORS
    return -float(stdtrit(runs - 1, math.erfc(_MOST_STANDARD_ERRORS / math.sqrt(2)) / 2))


def _compare(
    study: SimulationStudy,
    spread: float,
    place: str,
    row: str,
    column: str,
    printed: float | None,
    ours: float,
    note: str = "",
) -> PrintedNumber:
    """Return a published mean beside ours; the spread between runs tells how far apart the two may be."""
    standard_error = float(spread) * math.sqrt(1 / study.runs + 1 / PUBLISHED_RUNS)
    if printed is None or math.isnan(standard_error):
        return PrintedNumber(place, row, column, printed, ours)
    apart = abs(ours - printed) / standard_error if standard_error > 0 else math.inf
    verdict: Verdict = "agrees"
    if apart > _band(study.runs):
        verdict = "known" if note else "differs"
    words = "" if verdict == "agrees" else note or f"{apart:.1f} standard errors apart"
    return PrintedNumber(place, row, column, printed, ours, standard_error, verdict, words)


# --- case study 2: grant proposals ---------------------------------------------------------------

RANKS: Final = {
    "sa": "OH 87.0, OP 87.0, OC 86.0, OS 84.0, OA 80.5, OM 80.5, OZ 80.5, OF 79.5, OA1 78.5, OI 78.0",
    "iba": "OA 85.3, OC 84.9, OH 80.6, OP 79.7, OD 79.5, OB 79.4, OF 78.6, OE 76.9, OS 76.7, OJ 76.4",
    "cwc": "OA 88.8, OB 85.2, OC 84.9, OD 82.8, OE 82.0, OF 78.9, OG 78.4, OH 77.3, OI 77.1, OJ 75.6",
}
"""Table 2: the ten best by each method. The paper's OA' is OA1 in the data."""

ASSESSORS: Final = {
    "AK": ("84.2", "16.6", "14.6", "17.7"),
    "AJ": ("61.0", "19.2", "8.7", "12.6"),
    "AI": ("64.6", "10.0", "0.0", "9.7"),
    "AH": ("76.6", "9.1", "10.0", "9.1"),
    "AG": ("71.9", "6.9", "8.8", "8.8"),
    "AF": ("65.9", "5.6", "5.7", "2.0"),
    "AE": ("72.3", "15.5", "2.8", "1.1"),
    "AD": ("61.0", "21.9", "-5.0", "-3.6"),
    "AC": ("62.3", "9.6", "-12.4", "-15.6"),
    "AB": ("58.3", "6.4", "-12.8", "-16.6"),
    "AA": ("49.1", "12.1", "-20.7", "-25.2"),
}
"""Table 3: mean and standard deviation of the scores, bias by IBA, bias by CWC."""

MEAN_SCORE: Final = "66.9"
RESIDUALS: Final = {"sa": "8602", "iba": "4388", "cwc": "3156"}
EVIDENCES: Final = {"sa": "-385", "iba": "-389", "cwc": "-387"}
UNCERTAINTIES: Final = {"sa": "14.1", "iba": "8.4", "cwc": "8.0"}
R2: Final = {("iba", "sa"): "0.5701", ("cwc", "iba"): "0.8807", ("sa", "cwc"): "0.3772"}
"""Tables 4, 5 and 6, and figure 5."""

SIGMA_O, SIGMA_A, W_MIN, W_MAX = 22.5, 15.0, 1.0, 900.0
"""The paper's priors; the centre of the ball of values does not enter."""

_WITHOUT_88: Final = "the printed number comes out if the 88 that AJ gave OQ is left out"
_NOTES: Final = {
    ("AJ", "mean"): _WITHOUT_88,
    ("AJ", "sd"): _WITHOUT_88,
    ("all", "mean"): _WITHOUT_88,
    ("AF", "sd"): "the printed number comes out with n in place of n - 1, which the other rows have",
    ("residual", "IBA"): "the 8.4 of table 6 follows from 4337.5, not from 4388",
    ("log-evidence", "IBA"): "not what the formula of App. E gives; too close to call either way",
    ("log-evidence", "CWC"): "the printed number comes out if log n_A = 2.40 is subtracted once more than in App. E",
    ("uncertainty", "SA"): "eq. (sigmaSA) gives the noise of one score; ours is the sd of a value, as for IBA and CWC",
}
"""Differences that have a name (docs/errata.md), by row and column."""


def case_study_2(panel: Panel) -> Reproduction:
    """Return every number of tables 2 to 6 and figure 5 of the paper beside ours.

    Parameters
    ----------
    panel
        The paper's scores: 43 objects, 11 assessors, 86 assessments with levels and factor 1.75.
    """
    ranked = {part.split()[0] for text in RANKS.values() for part in text.split(", ")}
    is_known = ranked <= set(panel.objects) and set(ASSESSORS) == set(panel.assessors)
    if not is_known or (panel.n_objects, panel.n_assessments) != (43, 86):
        raise InputError(
            f"{panel!r} is not the panel of case study 2, which has 43 objects (OA to OZ, OA1 to OQ1), 11 assessors "
            "(AA to AK) and 86 assessments.",
            kind="bad_data",
        )
    fits = compared_fits(panel)
    numbers = [*_ranks(panel, fits), *_assessors(panel, fits), *_fits(fits)]
    return Reproduction("case-study-2", "Section 4.2: grant proposals, tables 2 to 6 and figure 5", tuple(numbers))


def _beside(place: str, row: str, column: str, printed: str, ours: float | None, label: str = "") -> PrintedNumber:
    number = math.nan if ours is None else float(ours)
    return beside(place, row, column, printed, number, _NOTES.get((row, column), ""), label)


def _ranks(panel: Panel, fits: dict[str, Fit]) -> Iterator[PrintedNumber]:
    for method, text in RANKS.items():
        values = fits[method].values.estimate
        ordered = np.sort(values)[::-1]
        for rank, (label, printed) in enumerate((part.split() for part in text.split(", ")), start=1):
            value = values[panel.objects.index(label)]
            found = _beside("table 2", f"rank {rank}", method.upper(), printed, value, label)
            if abs(ordered[rank - 1] - value) > 1e-9:  # ties may stand in any order
                place = int((ordered > value + 1e-9).sum()) + 1
                found = replace(found, verdict="differs", note=f"{label} has rank {place}")
            yield found


def _assessors(panel: Panel, fits: dict[str, Fit]) -> Iterator[PrintedNumber]:
    for label, (mean, sd, by_iba, by_cwc) in ASSESSORS.items():
        at = panel.assessors.index(label)
        scores = panel.score[panel.assessor_index == at]
        yield _beside("table 3", label, "mean", mean, scores.mean())
        yield _beside("table 3", label, "sd", sd, scores.std(ddof=1))
        yield _beside("table 3", label, "bias by IBA", by_iba, fits["iba"].biases.estimate[at])
        yield _beside("table 3", label, "bias by CWC", by_cwc, fits["cwc"].biases.estimate[at])
    yield _beside("table 3", "all", "mean", MEAN_SCORE, panel.score.mean())


def _fits(fits: dict[str, Fit]) -> Iterator[PrintedNumber]:
    for method, printed in RESIDUALS.items():
        yield _beside("table 4", "residual", method.upper(), printed, fits[method].residual_scaled)
    priors = Priors(float(fits["sa"].panel.score.mean()), SIGMA_O, SIGMA_A, W_MIN, W_MAX)
    for method, printed in EVIDENCES.items():
        found = evidence(fits[method], priors).log_evidence
        yield _beside("table 5", "log-evidence", method.upper(), printed, found)
    for method, printed in UNCERTAINTIES.items():
        yield _beside("table 6", "uncertainty", method.upper(), printed, fits[method].rms_uncertainty)
    for (one, other), printed in R2.items():
        correlation = np.corrcoef(fits[one].values.estimate, fits[other].values.estimate)[0, 1]
        yield _beside("figure 5", "R²", f"{one.upper()} and {other.upper()}", printed, correlation**2)
