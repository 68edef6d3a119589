"""The first sheet of a workbook of commands that decide nothing: what was found, alerts, and a table in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evenhand.io.sheets import Column, Line, Sheet
from evenhand.models.fit import method_name
from evenhand.reports.decision_sheets import alert_lines
from evenhand.reports.summary import Summary
from evenhand.words import count_of, digits_of, is_or_are, sentence

_METHODS: Final = {
    "method": "Method",
    "loo_rmse": "Error on scores left out",
    "loo_behind": "Behind the best",
    "loo_behind_error": "Give or take",
    "rms_uncertainty": "Typical uncertainty",
    "rms_uncertainty_values": "Of values alone",
    "log_evidence": "Log-evidence",
    "residual": "Residual",
}

_REASONS: Final = {
    "object": "Object",
    "value": "Value",
    "average": "Plain average",
    "difference": "Difference",
    "standards": "By standards of assessors",
    "weighting": "By weights of scores",
    "drawn": "By shrinking",
    "reason": "Why",
}

_WITHOUT: Final = {
    "assessor": "Without",
    "largest_change": "Largest change",
    "object": "It is that of",
    "entering": "Enter the places",
    "leaving": "Leave the places",
    "lost": "Left without a score",
    "note": "Note",
}


def comparison_sheet(summary: Summary) -> Sheet:
    """Return the methods side by side, under what the scores support."""
    advice = summary["recommendation"]
    chosen, confidence = advice["method"], summary["confidence"]
    headline = "No method stands out" if chosen is None else f"The scores support {method_name(chosen, confidence)}"
    records = [
        {**record, "method": sentence(method_name(record["method"], confidence))} for record in summary["methods"]
    ]
    return _front("comparison", headline, summary, [f"{sentence(advice['reason']).rstrip('.')}."], records, _METHODS)


def next_sheet(summary: Summary) -> Sheet:
    """Return the further assessments that would help most."""
    records, top = summary["assessments"], summary["top"]
    headline = "There is no further assessment to make"
    if records:
        verb = "would help most" if top is None else f"would settle most who has one of {count_of(top, 'place')}"
        headline = f"{count_of(len(records), 'further assessment')} {verb}"
    now = f"{summary['now']:.3g}"
    line = (
        f"The mean variance of the values is {now} now; the gain is by how much each score would lower it, those above "
        "it made already."
    )
    if top is not None:
        line = (
            f"{now} objects are expected on the wrong side of place {top:,} now; the gain is by how much each score "
            "would lower that, those above it made already."
        )
    return _front(
        "next", headline, summary, [line], records, {"assessor": "Assessor", "object": "Object", "gain": "Gain"}
    )


def influence_sheets(summary: Summary) -> list[Sheet]:
    """Return why values differ from plain averages, and what would change without each assessor."""
    moved = sum(abs(record["difference"]) >= 0.05 for record in summary["objects"])
    headline = f"{sentence(count_of(moved, 'value'))} {is_or_are(moved)} not the plain average, and why"
    reasons = _front("reasons", headline, {}, [], summary["objects"], _REASONS)
    headline = "What would change without each assessor"
    return [reasons, _front("without", headline, {}, [], summary["assessors"], _WITHOUT)]


def design_sheet(summary: Summary, sentences: Sequence[str]) -> Sheet:
    """Return who reads what, under what to expect of it."""
    reads: dict[str, list[str]] = {label: [] for label in summary["loads"]}
    for record in summary["assignments"]:
        reads[record["assessor"]].append(record["object"])
    records = [{"assessor": label, "load": len(objects), "objects": objects} for label, objects in reads.items()]
    headings = {"assessor": "Assessor", "load": "Reads", "objects": "Objects"}
    first, *others = sentences
    return _front("design", first.rstrip("."), summary, others, records, headings)


def _front(
    name: str,
    headline: str,
    summary: Summary,
    sentences: Iterable[str],
    records: Sequence[Mapping[str, Any]],
    headings: Mapping[str, str],
) -> Sheet:
    """Return a sheet with a finding, alerts, a table under readable headings, and sentences below it."""
    columns = []
    for key, heading in headings.items():
        cells = [_cell(record.get(key)) for record in records]
        if any(cell is not None and cell != "" and cell != 0 for cell in cells):  # no column of nothing
            columns.append(_column(heading, cells))
    alerts = alert_lines(summary.get("alerts", []))
    below = [Line(text) for text in sentences]
    return Sheet(name, columns, fixed=1, above=[Line(headline, "title"), *alerts, Line("")], below=below)


def _cell(found: Any) -> Any:
    return ", ".join(map(str, found)) if isinstance(found, list) else found


def _column(heading: str, cells: Sequence[Any]) -> Column:
    numbers = [cell for cell in cells if isinstance(cell, float)]
    shown = f"0.{'0' * digits_of(numbers)}"
    longest = max((len(cell) for cell in cells if isinstance(cell, str)), default=0)
    return Column(heading, cells, f'{shown};"−"{shown}', wrap=longest > 80, widest=82)
