"""Moodle's workshop: the report of its grades as JSON, and the workshop of a backup as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evenhand.errors import InputError
from evenhand.io.formats.found import Found, left_out_rows
from evenhand.io.formats.markup import is_markup, read_markup
from evenhand.io.records import records_in, records_table, scalar
from evenhand.panel.column import Cell, Table

_FACTS: Final = ("userid", "grade", "weight", "gradinggrade")
_NULL: Final = "$@NULL@$"
_AGGREGATE: Final = re.compile(r"(.*) \((submission|assessment)\)(?: \(.*\))?", re.DOTALL)
_WEIGHT: Final = ("weight", "what the course lets the assessor count for, not how sure the assessor was")


def from_table(table: Table) -> Found | None:
    """Refuse a gradebook, which has one grade for each submission and one for each student's work as assessor."""
    ends: dict[str, set[str]] = {}
    for name in table.names:
        if match := _AGGREGATE.fullmatch(name):
            ends.setdefault(match[1], set()).add(match[2])
    if any(len(kinds) == 2 for kinds in ends.values()):
        message = (
            "This is Moodle's gradebook, which has only the combined grade of each submission: single assessments are "
            "not in it. Take workshop.xml from a backup of the activity, or the report of grades as JSON."
        )
        raise InputError(message, kind="aggregates", where=table.source)
    return None


def from_data(data: object, source: str) -> Found | None:
    """Return the assessments that the report of grades lists below each submission."""
    report = data.get("report", data) if isinstance(data, dict) else None
    grades = report.get("grades") if isinstance(report, dict) else None
    if not (
        isinstance(grades, list) and grades and all(isinstance(one, dict) and "reviewedby" in one for one in grades)
    ):
        return None
    records = []
    for submission in grades:
        for review in records_in(submission["reviewedby"], "reviewedby", source):
            head = {"submissionid": scalar(review.get("submissionid", submission.get("submissionid")))}
            facts = {name: scalar(review.get(name)) for name in _FACTS}
            records.append({**head, "title": scalar(submission.get("submissiontitle")), **facts})
    return _found("Moodle's report of a workshop", records, source, "userid")


def from_text(text: str, source: str) -> Found | None:
    """Return the assessments of workshop.xml; those of example submissions are left out."""
    if not is_markup(text) or "<workshop" not in text[:4000]:
        return None
    records: list[dict[str, Cell]] = []
    workshop = read_markup(text, source)
    for submission in workshop.below("submission"):
        for review in submission.all("assessments", "assessment"):
            head = {"submissionid": submission.attributes.get("id"), "title": submission.value("title")}
            facts = {name: _given(review.value("reviewerid" if name == "userid" else name)) for name in _FACTS}
            records.append({**head, **facts})
    examples = sum(1 for group in workshop.below("examplesubmission") for _ in group.below("exampleassessment"))
    return _found("workshop.xml of a Moodle backup", records, source, "reviewerid", examples)


def _given(text: str | None) -> str | None:
    return None if text == _NULL else text


def _found(system: str, records: Iterable[Mapping[str, Any]], source: str, field: str, examples: int = 0) -> Found:
    """Return assessments as what was found."""
    kept = list(records)
    if not kept:
        message = f"This is {system} without any assessment: export it once there are some."
        raise InputError(message, kind="no_scores", where=source)
    if any(str(record["userid"]) in ("0", "None") for record in kept):
        message = (
            f"This is {system} in which assessors are hidden ({field} 0): nobody's standard can be told. Export it as "
            "a teacher who may see the names of reviewers."
        )
        raise InputError(message, kind="anonymous_assessors", where=source)
    table = records_table(kept, source)
    return Found(
        system,
        table,
        object="submissionid",
        assessor="userid",
        score="grade",
        title="title",
        left_out=(_WEIGHT, ("gradinggrade", "how well the assessor assessed")),
        notes=left_out_rows(examples, "assessments of example submissions"),
    )
