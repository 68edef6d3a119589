"""The summary as a workbook: what people read first, then its tables, diagnostics, notes, and the authors' columns."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand import __version__
from evenhand.answers.decision import Choice, decision_for, with_choice
from evenhand.answers.evidence import Priors
from evenhand.answers.fingerprint import fingerprint
from evenhand.answers.influence import influence
from evenhand.answers.ranking import DRAWS
from evenhand.answers.reliability import LARGEST
from evenhand.answers.robustness import Robustness, robustness
from evenhand.errors import EvenhandError, LimitError, Problem
from evenhand.frames import records_of
from evenhand.io.results import check_target, notes_of, settings_of, tables_of, write_whole
from evenhand.io.sheets import Column, Sheet, write_sheets
from evenhand.models.fit import Fit, method_name
from evenhand.panel.panel import Panel
from evenhand.reports.decision_sheets import CHART_DATA, MOST_SCORES, decision_sheets, declared
from evenhand.reports.summary import (
    Summary,
    find_alerts,
    problem_records,
    robustness_facts,
    standing,
    summarise_fit,
    summarise_reliability,
)
from evenhand.words import by_door, digits_of

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit

AUTHORS_SHEET: Final = "Calibration_Data"
"""The sheet of the authors' workbook, whose headings and places ours has too."""

_ESTIMATES: Final = {"value": "objects", "bias": "assessors"}
_POINTS: Final = frozenset(
    {
        *("value", "bias", "sd", "lower", "upper", "score", "fitted", "residual", "held_out_error", "pull", "average"),
        *("difference", "standards", "weighting", "drawn", "largest_change", "expected"),
    }
)
"""Columns in points, which are shown with the same decimals."""

_CHANCES: Final = ("p_top", "p_first")

MEANINGS: Final = {
    "value": "what the object is worth, with the standards of its assessors taken out",
    "bias": "how far the assessor's scores lie above (generous) or below (strict) those of the panel",
    "sd": "standard deviation: how uncertain that is",
    "lower": "lower end of the interval",
    "upper": "upper end of the interval",
    "assessments": "number of scores",
    "total_confidence": "sum of the confidences of the scores",
    "rank": "rank by value, 1 for the highest",
    "component": "group; values and biases of different groups cannot be compared",
    "bound": "robustness: if scores change, this moves by at most so many times the root of the sum of confidence "
    "times squared change (App. C of the paper)",
    "p_top": "chance of a place among the first",
    "p_first": "chance of being the best",
    "expected_rank": "mean rank",
    "rank_lower": "best rank of the interval",
    "rank_upper": "worst rank of the interval",
    "declared": "how sure the assessor said to be",
    "confidence": "the weight that the method gave the score",
    "fitted": "value plus bias: what was to be expected",
    "residual": "score less fitted",
    "leverage": "how far the fit follows the score, from 0 to 1; at 1 nothing else tells what this score tells",
    "held_out_error": "score less what all the others predict",
    "pull": "the object's value with this score less that without it",
    "load": "number of objects to read",
    "expertise": "how well the assessor knows the object, from 0 to 1",
    "uncertainty": "expected standard deviation of the score, in points",
    "fixed": "whether the pair was there before the design was made",
    "mean_sd": "mean of the expected standard deviations of the values",
    "max_sd": "largest of the expected standard deviations of the values",
    "unread": "objects that nobody else would read",
    "parts": "groups into which the panel would fall that could not be compared; 1 is connected",
    "per_object": "assessments per object, on average",
    "verdict": "how the assessor's scores fit in with those of all others",
    "infit": "noise of the assessor's scores beside the others', 1 where alike, weighted by what other scores tell",
    "infit_z": "how many standard deviations infit is from 1",
    "outfit": "the same, all scores alike",
    "outfit_z": "how many standard deviations outfit is from 1",
    "agreement": "correlation with what all others say of the same objects",
    "agreement_lower": "lower end of the interval of the agreement",
    "agreement_upper": "upper end of the interval of the agreement",
    "slope": "points by which the scores rise for each point that the others expect",
    "slope_z": "how many standard deviations the slope is from 1",
    "spread": "spread of the scores beside what is expected for the same objects",
    "spread_z": "how many standard deviations the spread is from 1",
}
"""What columns mean, in the words of the notes."""

_ABOUT_AUTHORS: Final = (
    "scores in columns A to D and results in F to M, under the headings of the authors' workbook; Robustness is the "
    "column bound of the other sheets. Their workbook uses the gauge zero-sum: calibrate with that to get its numbers."
)

_FACTS: Final = MEANINGS | {
    "residual": "weighted sum of squares of the residuals",
    "residual_scaled": "the same divided by the mean confidence",
    "degrees_of_freedom": "scores beyond those that settle values and biases",
    "noise_variance": "factor of all variances",
    "noise_variance_ml": "residual divided by the number of scores",
    "noise_variance_mode": "noise variance at the peak of its joint posterior with values and biases",
    "noise_variance_printed": "what the paper prints for that",
    "rms_uncertainty": "typical uncertainty of values and biases, in the reference gauge",
    "mu2": "spectral gap: how firmly the panel hangs together, from 0 to 1",
    "lambda2": "second eigenvalue that goes with it",
    "constant": "constant of the bounds of robustness",
    "mean_variance": "mean of the expected variances of the values",
    "efficiency": "A-efficiency factor: harmonic mean of the canonical efficiency factors",
    "balance": "1 where every two objects can be compared equally well",
    "cost": "cost of all assessments",
    "mean_expertise": "mean expertise of the pairs, from 0 to 1",
    **{
        f"by_expertise_{name}": "what assigning for expertise alone would give"
        for name in ("mean_expertise", "mean_sd", "max_sd", "mean_variance")
    },
    **dict.fromkeys(("random_mean_sd", "random_max_sd", "random_mean_variance"), "what assigning at random would give"),
    "unit": "unit of standard deviations",
    "log_evidence": "logarithm of the evidence under the default priors",
    "share": "part of the differences between plain averages",
    "reliability": "squared correlation with the true values",
    "objects": "number of objects",
    "assessors": "number of assessors",
    "components": "groups that cannot be compared; 1 is connected",
    "confidence": "how confidence was declared",
    "factor": "ratio of the uncertainties of neighbouring levels",
}


def workbook(
    found: Fit | CriteriaFit,
    path: str | os.PathLike[str],
    *,
    top: int | None = None,
    seed: int = 0,
    grades: Sequence[float] = (),
    priors: Priors | None = None,
    choice: Choice | None = None,
    changes: Sequence[str] = (),
) -> Path:
    """Write a fit as a workbook: the decision, charts, scores and biases to be read, then all tables and notes.

    Labels are text whatever they look like, and numbers have all their digits. The sheet ``Calibration_Data`` has the
    headings of the authors' workbook in the same places, robustness filled in.

    Parameters
    ----------
    found
        A fit, or one of several criteria.
    path
        Where to write: a file that ends in ``.xlsx``.
    top, seed
        A number of places adds the chance of each object to be among them, from draws with this seed.
    grades
        Cut-offs: adds the chance of each class between them.
    priors
        Priors of the log-evidence.
    choice
        Whom the panel gave places that the scores leave open.
    changes
        Sentences on what was left out or changed by hand.

    Raises
    ------
    LimitError
        If there are more objects, or more assessors, than a sheet has rows.
    """
    check_target(path, known=(".xlsx",))
    decision = decision_for(found.combined, top, seed)
    if choice is not None:
        decision = with_choice(decision, choice)
    alerted = find_alerts(found.combined, decision)
    front = decision_sheets(found, decision, alerted, changes)
    shown, made = standing(found, decision, alerted)
    summary = summarise_fit(shown, top=top, seed=seed, grades=grades, priors=priors, decision=made, alerted=alerted)
    details = with_details(summary, shown, top=top, seed=seed, entered=found)
    return write_workbook(path, details, ("objects", "assessors"), front)[0]


def with_details(
    summary: Summary,
    found: Fit | CriteriaFit,
    *,
    top: int | None = None,
    seed: int | None = None,
    entered: Fit | CriteriaFit | None = None,
) -> Summary:
    """Return the summary of a fit with ``assessments``, ``robustness``, ``bound``, ``fingerprint`` and ``version``.

    ``objects[].bound`` and ``assessors[].bound`` are those of :func:`~evenhand.robustness`. Up to 20,000 scores it has
    ``reliability``, and how each assessor fits in as ``assessor_fit``. Notes say what there is not, and why. With
    ``top`` it also says how chances of a place were drawn. ``entered`` is the fit of all scores, where some must be
    checked and are left out: the fingerprint is of that one, and its scores are listed all.
    """
    fit, whole = found.combined, (entered or found).combined
    notes: list[Problem] = []
    bounds = _bounds(fit, notes)
    choice = Choice(**summary["choice"]) if "choice" in summary else None
    objects, assessors = summary["objects"], summary["assessors"]
    if bounds is not None:
        objects = _joined(objects, bounds.value_bound.tolist())
        assessors = _joined(assessors, bounds.bias_bound.tolist())
    return {
        **summary,
        **({} if top is None else {"top": top, "seed": seed}),
        "objects": objects,
        "assessors": assessors,
        "assessments": _with_left_out(_assessments(found, notes), fit, whole),
        "robustness": robustness_facts(bounds),
        **_reliability(summary, found),
        "fingerprint": fingerprint(whole, choice=choice, top=top, seed=seed or 0, draws=DRAWS, lottery_seed=None).whole,
        "version": __version__,
        "notes": [*summary["notes"], *problem_records(notes)],
    }


def _reliability(summary: Summary, found: Fit | CriteriaFit) -> Summary:
    """Return how good the panel is, and how each assessor fits in as a table of its own; nothing of a large panel."""
    told = summary.get("reliability")
    if told is None and found.combined.panel.n_assessments <= LARGEST:
        told = summarise_reliability(found)
    return {} if told is None else {"reliability": told, "assessor_fit": told["assessors"]}


def _joined(records: Sequence[Summary], bounds: Sequence[float]) -> list[Summary]:
    return [{**record, "bound": bound} for record, bound in zip(records, bounds, strict=True)]


def _bounds(fit: Fit, notes: list[Problem]) -> Robustness | None:
    """Return the bounds of App. C, which are for calibration as the paper has it."""
    if not (fit.model.is_plain and fit.is_calibrated):
        what = "refined models and several criteria" if fit.is_calibrated else "averages"
        notes.append(Problem("robustness", f"there are no bounds of robustness for {what}."))
        return None
    try:
        bounds = robustness(fit)
    except LimitError as error:
        notes.append(Problem("robustness", f"there are no bounds of robustness: {error}"))
        return None
    if bounds is None:
        notes.append(Problem("robustness", "there are no bounds of robustness for a panel that is not connected."))
    return bounds


def _assessments(found: Fit | CriteriaFit, notes: list[Problem]) -> list[Summary]:
    """Return a row for each score: what was declared, what was expected, and what the score did."""
    count = found.panel.n_assessments
    if count > MOST_SCORES:
        remedy = by_door("influence(fit) has them", "`evenhand influence --out FILE.csv` writes them")
        message = f"the {count:,} assessments are too many to list: {remedy}."
        notes.append(Problem("assessments", message))
        return []
    if not found.criteria:
        return records_of(_score_columns(found.combined, notes))
    rows: list[Summary] = []
    for label, fit in found.fits.items():
        rows += [{"criterion": label, **row} for row in records_of(_score_columns(fit, notes))]
    return rows


def _with_left_out(rows: list[Summary], fit: Fit, entered: Fit) -> list[Summary]:
    """Return the rows of scores with those that a fit leaves out in their places, of which it says nothing."""
    if fit is entered or not rows:
        return rows
    panel, kept = entered.panel, iter(rows)
    said, found = declared(panel)[1], []
    held = Counter(_pairs(fit.panel))
    for at, pair in enumerate(_pairs(panel)):
        if held[pair]:
            held[pair] -= 1
            found.append(next(kept))
            continue
        label, who, score = pair
        bare = {
            "object": label,
            "assessor": who,
            "score": score,
            "declared": said[at],
            "confidence": entered.weight[at],
        }
        found.append(dict.fromkeys(rows[0]) | bare)
    return found


def _pairs(panel: Panel) -> list[tuple[str, str, float]]:
    """Return of what, by whom and what each score is."""
    return [
        (panel.objects[o], panel.assessors[a], score)
        for o, a, score in zip(
            panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), strict=True
        )
    ]


def _score_columns(fit: Fit, notes: list[Problem]) -> dict[str, Any]:
    panel, fitted = fit.panel, fit.fitted
    columns: dict[str, Any] = {
        "object": [panel.objects[at] for at in panel.object_index.tolist()],
        "assessor": [panel.assessors[at] for at in panel.assessor_index.tolist()],
        "score": panel.score,
        "declared": declared(panel)[1],
        "confidence": np.array(fit.weight),
        "fitted": fitted,
        "residual": panel.score - fitted,
    }
    try:
        effects = influence(fit).columns()
    except EvenhandError as error:
        problem = Problem("influence", f"no leverages: {error}")
        notes += [] if problem in notes else [problem]
        return columns
    return columns | {name: effects[name] for name in ("leverage", "held_out_error", "pull")}


def write_workbook(
    path: str | os.PathLike[str], summary: Summary, tables: Sequence[str], front: Sequence[Sheet] = ()
) -> list[Path]:
    """Write the sheets that people read first, some tables of any summary, what it says about the fit, its notes."""
    read = sorted(front, key=lambda sheet: sheet.name == CHART_DATA)  # what only charts read comes last
    sheets = [*read, *sheets_of(summary, tables)]
    return write_whole({Path(path): lambda file: write_sheets(file, sheets)})


def sheets_of(summary: Summary, tables: Sequence[str]) -> list[Sheet]:
    """Return the sheets of a summary."""
    further = [name for name in ("assessments", "assessor_fit") if summary.get(name) and name not in tables]
    listed = [*tables, *further]
    found = tables_of(summary, listed)
    digits = _digits(found)
    graded: Summary = next((record["grades"] for record in summary.get("objects", []) if record.get("grades")), {})
    chances = {*_CHANCES, *graded}
    sheets = [
        Sheet(name, [_column(*one, digits, chances) for one in _in_order(table).items()], fixed=1)
        for name, table in found.items()
    ]
    facts = _diagnostics(summary)
    if facts:
        sheets.insert(len(listed), _facts_sheet(facts))
    is_authors = "version" in summary and "criteria" not in summary
    headings = dict.fromkeys(heading for table in found.values() for heading in table)
    rows = _note_rows(summary, list(headings), is_authors=is_authors)
    if rows:
        about, sentences = zip(*rows, strict=True)
        columns = [Column("about", about), Column("note", sentences, wrap=True)]
        sheets.append(Sheet("notes", columns, has_filter=False))
    if is_authors:
        sheets.append(_authors_sheet(summary, digits))
    return sheets


def _column(name: str, cells: list[Any], digits: int, chances: set[str]) -> Column:
    if name in chances:
        return Column(name, cells, "0.0%", bar="share")
    return Column(name, cells, _form(name, cells, digits), "amount" if name == "value" else "")


def _form(name: str, cells: Sequence[Any], digits: int) -> str:
    """Return how numbers are shown: with some decimals, or with a power of ten where those would not show them."""
    numbers = [cell for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    digits = digits if name in _POINTS else digits_of(numbers)
    largest = max((abs(number) for number in numbers), default=1.0)
    if largest >= 1e7 or 0 < largest < 10.0**-digits:
        return "0.00E+00"
    return f"0.{'0' * digits}"


def _digits(tables: Mapping[str, Mapping[str, list[Any]]]) -> int:
    """Return the decimals of everything in points: those that tell values apart."""
    for name, side in _ESTIMATES.items():
        cells = tables.get(side, {}).get(name)
        if cells:
            return digits_of(cell for cell in cells if isinstance(cell, float))
    return digits_of(cell for table in tables.values() for cell in table.get("score", []) if isinstance(cell, float))


def _in_order(table: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]:
    """Return objects by rank and assessors by bias, the highest first, within their groups."""
    if "rank" in table:
        keys = [rank if rank is not None else math.inf for rank in table["rank"]]
    elif "bias" in table:
        keys = [-bias if bias is not None else math.inf for bias in table["bias"]]
    else:
        return table
    nothing = [0] * len(keys)
    criteria = table.get("criterion", nothing)
    first = {criterion: at for at, criterion in enumerate(dict.fromkeys(criteria))}
    groups = list(zip((first[criterion] for criterion in criteria), table.get("component", nothing), strict=True))
    order = sorted(range(len(keys)), key=lambda at: (groups[at], keys[at]))
    return {name: [cells[at] for at in order] for name, cells in table.items()}


def _diagnostics(summary: Summary) -> list[tuple[str, Any, str]]:
    """Return facts about the fit: name, value, and what it means."""
    facts: list[tuple[str, Any, str]] = []
    for part in ("panel", "fit", "robustness"):
        for name, value in (summary.get(part) or {}).items():
            if (name, part) != ("mu2", "robustness") or not summary.get("fit"):
                facts.append((name, value, _FACTS.get(name, "")))
    told = summary.get("reliability") or {"shares": [], "reliabilities": []}
    facts += [(f"share_{row['part']}", row["estimate"], _FACTS["share"]) for row in told["shares"]]
    facts += [(f"reliability_{row['values']}", row["estimate"], _FACTS["reliability"]) for row in told["reliabilities"]]
    return facts


def _facts_sheet(facts: Sequence[tuple[str, Any, str]]) -> Sheet:
    names, values, meanings = (list(cells) for cells in zip(*facts, strict=True))
    columns = [Column("quantity", names), Column("value", values, "0.0000"), Column("meaning", meanings, wrap=True)]
    return Sheet("diagnostics", columns, fixed=1)


def _note_rows(summary: Summary, headings: Sequence[str], *, is_authors: bool) -> list[tuple[str, str]]:
    """Return settings, notes and what the columns mean, each with what it is about."""
    rows: list[tuple[str, str]] = []
    if "version" in summary:
        rows.append(("evenhand", summary["version"]))
        rows.append(("scores", f"fingerprint {summary['fingerprint']}"))
    if "method" in summary:
        rows.append(("method", method_name(summary["method"], summary.get("panel", {}).get("confidence"))))
    rows += [("settings", sentence) for sentence in settings_of(summary)]
    rows += [("panel", sentence) for sentence in (summary.get("reliability") or {"sentences": []})["sentences"]]
    rows += [(one["level"], f"{one['message']} {one['remedy']}".strip()) for one in summary.get("alerts", [])]
    rows += [("note", sentence) for sentence in notes_of(summary)]
    rows += [(AUTHORS_SHEET, _ABOUT_AUTHORS)] if is_authors else []
    return [*rows, *((f"column {name}", MEANINGS[name]) for name in headings if name in MEANINGS)]


def _authors_sheet(summary: Summary, digits: int) -> Sheet:
    """Return scores and results under the headings of the authors' workbook, in the order of the file."""

    def column(heading: str, table: str, key: str) -> Column:
        cells = [record.get(key) for record in summary[table]]
        return Column(heading, cells, _form(key, cells, digits))

    declared = [_as_the_authors_have_it(record["declared"], summary["panel"]) for record in summary["assessments"]]
    columns = [
        column("Objects", "assessments", "object"),
        column("Assessors", "assessments", "assessor"),
        column("Score", "assessments", "score"),
        Column("Confidence/ Std Dev", declared),
        Column(""),
        column("Objects", "objects", "object"),
        column("True Value", "objects", "value"),
        column("Robustness", "objects", "bound"),
        column("Total Confidence", "objects", "total_confidence"),
        column("Assessors", "assessors", "assessor"),
        column("Bias", "assessors", "bias"),
        column("Robustness", "assessors", "bound"),
        column("Total Confidence", "assessors", "total_confidence"),
    ]
    return Sheet(AUTHORS_SHEET, columns, has_filter=False)


def _as_the_authors_have_it(declared: Any, panel: Summary) -> Any:
    """Return a level by its first letter; numbers as standard deviations, which a weight is turned into."""
    if isinstance(declared, str):
        return declared[0]
    is_weight = panel["confidence"] == "confidence" and declared is not None
    return 1 / math.sqrt(declared) if is_weight else declared
