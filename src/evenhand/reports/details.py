"""What a workbook holds beyond the summary: every assessment, the bounds of App. C, and what the scores were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from evenhand import __version__
from evenhand.answers.fingerprint import fingerprint
from evenhand.answers.influence import Robustness, influence, robustness
from evenhand.answers.ranking import DRAWS
from evenhand.errors import EvenhandError, LimitError, Problem
from evenhand.models.criteria import CriteriaFit
from evenhand.models.fit import Fit
from evenhand.panel.confidence import precision_of_level
from evenhand.panel.panel import Panel
from evenhand.reports.records import Summary, records_of

_MOST_ASSESSMENTS: Final = 100_000
"""Up to this many assessments are listed."""


def with_details(
    summary: Summary, found: Fit | CriteriaFit, *, top: int | None = None, seed: int | None = None
) -> Summary:
    """Return the summary of a fit with ``assessments``, ``robustness``, ``bound``, ``fingerprint`` and ``version``.

    ``objects[].bound`` and ``assessors[].bound`` are those of :func:`~evenhand.robustness`. Notes say what there is
    not, and why. With ``top`` it also says how chances of a place were drawn.
    """
    fit = found.combined
    notes: list[Problem] = []
    bounds = _bounds(fit, notes)
    objects, assessors = summary["objects"], summary["assessors"]
    if bounds is not None:
        objects = _joined(objects, bounds.value_bound.tolist())
        assessors = _joined(assessors, bounds.bias_bound.tolist())
    drawn = {} if top is None else {"top": top, "seed": seed}
    return {
        **summary,
        **drawn,
        "objects": objects,
        "assessors": assessors,
        "assessments": _assessments(found, notes),
        "robustness": None
        if bounds is None
        else {"mu2": bounds.mu2, "lambda2": bounds.lambda2, "constant": bounds.constant},
        "fingerprint": fingerprint(fit, top=top, seed=seed or 0, draws=DRAWS, lottery_seed=None).whole,
        "version": __version__,
        "notes": [*summary["notes"], *({"kind": one.kind, "message": one.message, "where": None} for one in notes)],
    }


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
    if count > _MOST_ASSESSMENTS:
        message = f"the {count:,} assessments are too many to list: `evenhand influence --out FILE.csv` writes them."
        notes.append(Problem("assessments", message))
        return []
    if not found.criteria:
        return records_of(_score_columns(found.combined, notes))
    rows: list[Summary] = []
    for label, fit in found.fits.items():
        rows += [{"criterion": label, **row} for row in records_of(_score_columns(fit, notes))]
    return rows


def _score_columns(fit: Fit, notes: list[Problem]) -> dict[str, Any]:
    panel, fitted = fit.panel, fit.fitted
    columns: dict[str, Any] = {
        "object": [panel.objects[at] for at in panel.object_index.tolist()],
        "assessor": [panel.assessors[at] for at in panel.assessor_index.tolist()],
        "score": panel.score,
        "declared": _declared(panel),
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


def _declared(panel: Panel) -> list[Any]:
    """Return how sure each assessor said to be: a level, a standard deviation or a weight; None where not said."""
    if panel.confidence == "none":
        return [None] * panel.n_assessments
    if panel.confidence == "confidence":
        return list(panel.precision.tolist())
    if panel.confidence == "level" and panel.factor is not None:
        high, medium, low = precision_of_level([1, 0, -1], panel.factor).tolist()
        words = {high: "high", low: "low", medium: "medium"}
        named = [words.get(precision) for precision in panel.precision.tolist()]
        if None not in named:  # combined assessments lie between levels
            return named
    return list((1 / np.sqrt(panel.precision)).tolist())
