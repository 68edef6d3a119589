"""The paper's case study 2 (sec. 4.2), grant proposals: every number of tables 2 to 6 and figure 5 beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.answers.evidence import Priors, evidence
from evenhand.errors import InputError
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.studies.printed import PrintedNumber, Reproduction, beside, compared_fits

TABLE_2: Final = {
    "sa": "OH 87.0, OP 87.0, OC 86.0, OS 84.0, OA 80.5, OM 80.5, OZ 80.5, OF 79.5, OA1 78.5, OI 78.0",
    "iba": "OA 85.3, OC 84.9, OH 80.6, OP 79.7, OD 79.5, OB 79.4, OF 78.6, OE 76.9, OS 76.7, OJ 76.4",
    "cwc": "OA 88.8, OB 85.2, OC 84.9, OD 82.8, OE 82.0, OF 78.9, OG 78.4, OH 77.3, OI 77.1, OJ 75.6",
}
"""Table 2: the ten best by each method. The paper's OA' is OA1 in the data."""

TABLE_3: Final = {
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
TABLE_4: Final = {"sa": "8602", "iba": "4388", "cwc": "3156"}
TABLE_5: Final = {"sa": "-385", "iba": "-389", "cwc": "-387"}
TABLE_6: Final = {"sa": "14.1", "iba": "8.4", "cwc": "8.0"}
FIGURE_5: Final = {("iba", "sa"): "0.5701", ("cwc", "iba"): "0.8807", ("sa", "cwc"): "0.3772"}
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
    ranked = {part.split()[0] for text in TABLE_2.values() for part in text.split(", ")}
    is_known = ranked <= set(panel.objects) and set(TABLE_3) == set(panel.assessors)
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
    for method, text in TABLE_2.items():
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
    for label, (mean, sd, by_iba, by_cwc) in TABLE_3.items():
        at = panel.assessors.index(label)
        scores = panel.score[panel.assessor_index == at]
        yield _beside("table 3", label, "mean", mean, scores.mean())
        yield _beside("table 3", label, "sd", sd, scores.std(ddof=1))
        yield _beside("table 3", label, "bias by IBA", by_iba, fits["iba"].biases.estimate[at])
        yield _beside("table 3", label, "bias by CWC", by_cwc, fits["cwc"].biases.estimate[at])
    yield _beside("table 3", "all", "mean", MEAN_SCORE, panel.score.mean())


def _fits(fits: dict[str, Fit]) -> Iterator[PrintedNumber]:
    for method, printed in TABLE_4.items():
        yield _beside("table 4", "residual", method.upper(), printed, fits[method].residual_scaled)
    priors = Priors(float(fits["sa"].panel.score.mean()), SIGMA_O, SIGMA_A, W_MIN, W_MAX)
    for method, printed in TABLE_5.items():
        found = evidence(fits[method], priors).log_evidence
        yield _beside("table 5", "log-evidence", method.upper(), printed, found)
    for method, printed in TABLE_6.items():
        yield _beside("table 6", "uncertainty", method.upper(), printed, fits[method].rms_uncertainty)
    for (one, other), printed in FIGURE_5.items():
        correlation = np.corrcoef(fits[one].values.estimate, fits[other].values.estimate)[0, 1]
        yield _beside("figure 5", "R²", f"{one.upper()} and {other.upper()}", printed, correlation**2)
