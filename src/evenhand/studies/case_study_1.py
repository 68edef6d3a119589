"""The paper's case study 1 (sec. 4.1): published errors of simulated panels beside those of a study of ours."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.errors import InputError
from evenhand.studies.reproduction import PrintedNumber, Reproduction, Verdict
from evenhand.studies.simulation import MEASURES, METHODS, SimulationStudy, profile_name

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
        raise InputError(f"The study differs from the paper's in {names}: it cannot be compared.", kind="bad_option")
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
            error = _widened(study, spreads[m, k])
            yield _compare(place, row, title, printed, float(means[m, k]), error, _band(study.runs), note)


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
            title, error = f"{words}, {method.upper()}/SA", _widened(study, spread)
            yield _compare("figure 4", row, title, printed, ratio, error, _band(study.runs))


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


def _widened(study: SimulationStudy, spread: float) -> float:
    """Return the standard error of the difference between our mean and a published one."""
    return float(spread) * math.sqrt(1 / study.runs + 1 / PUBLISHED_RUNS)


def _compare(
    place: str,
    row: str,
    column: str,
    printed: float | None,
    ours: float,
    standard_error: float,
    band: float,
    note: str = "",
) -> PrintedNumber:
    if printed is None or math.isnan(standard_error):
        return PrintedNumber(place, row, column, printed, ours)
    apart = abs(ours - printed) / standard_error if standard_error > 0 else math.inf
    verdict: Verdict = "agrees"
    if apart > band:
        verdict = "known" if note else "differs"
    words = "" if verdict == "agrees" else note or f"{apart:.1f} standard errors apart"
    return PrintedNumber(place, row, column, printed, ours, standard_error, verdict, words)
