"""Microsoft CMT: the export of reviews, as csv, as a workbook, or as a workbook of one XML file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import Found, column_named, listed, with_fields
from evenhand.io.formats.markup import is_markup, is_workbook, read_markup, workbook_sheets
from evenhand.io.table import arrange
from evenhand.panel.column import Cell, Table
from evenhand.panel.headings import fold
from evenhand.words import name_some

_QUESTION: Final = re.compile(r"\s*(Q\d+)\s*\((?P<asked>.*?)(?P<value>\s*-\s*Value)?\)\s*", re.DOTALL | re.IGNORECASE)
_DETAILS: Final = {
    "paper title": "title",
    "reviewer name": "name",
    "track name": "track",
    "reviewer number": "number of the reviewer",
}


def from_table(table: Table) -> Found | None:
    """Return the reviews of an export; a question with a weight has a column of text and one of its value."""
    names = {fold(name) for name in table.names}
    questions = {name: match for name in table.names if (match := _QUESTION.fullmatch(name))}
    if "paper id" not in names or not questions:
        return None
    assessor = column_named(table, "reviewer email", "reviewer e mail", "reviewer name")
    if assessor is None:
        message = (
            "This is CMT's export of reviews without the reviewers: reviewers numbered anew for each paper have "
            "no standard that could be told. Export it as a chair who may see them; then it has Reviewer Email."
        )
        raise InputError(message, kind="anonymous_assessors", where=table.source)
    valued = {match["asked"].strip() for match in questions.values() if match["value"]}
    words = [name for name, match in questions.items() if not match["value"] and match["asked"].strip() in valued]
    fields = [name for name in questions if name not in words]
    asked = {name: questions[name]["asked"] for name in fields}
    details = [
        (name, _DETAILS.get(fold(name), "not needed"))
        for name in table.names
        if name
        and name not in questions
        and fold(name) not in ("paper id", "paper title", "reviewer name", fold(assessor))
    ]
    name = column_named(table, "reviewer name")
    found = Found(
        "CMT's export of reviews",
        table,
        object=column_named(table, "paper id") or "",
        assessor=assessor,
        title=column_named(table, "paper title"),
        assessor_details=(name,) if name is not None and name != assessor else (),
        left_out=listed(details, [(word, "the words for a value that is read") for word in words]),
    )
    found = with_fields(found, fields, labels=asked)
    if name != assessor:
        return found
    message = "there is no Reviewer Email: reviewers are told apart by their names."
    return replace(found, notes=(*found.notes, Problem("names_only", message, f"column {name}")))


def from_text(text: str, source: str) -> Found | None:
    """Return the reviews of a workbook that is one XML file; bids and assignments are no scores."""
    if not is_markup(text):
        return None
    if is_workbook(text):
        return from_table(workbook_table(text, source))
    if re.search(r"<(bids|assignments)\b", text[:2000]):
        what = read_markup(text, source).name
        message = (
            f"These are {what} from CMT, without scores: to calibrate, export Reviews (Actions, Export to Excel); "
            "evenhand design reads this file."
        )
        raise InputError(message, kind="not_scores", where=source)
    return None


def workbook_table(text: str, source: str) -> Table:
    """Return the table of a workbook that is one XML file; sheets with the same header are one table.

    The header is the first row that names Paper ID, below the name of the track; else the first that is not blank.
    """
    sheets = [(name, rows) for name, rows in workbook_sheets(text, source) if any(map(any, rows))]
    if not sheets:
        raise InputError("The workbook has no cells.", kind="empty_file", where=source)
    (first, rows), *others = sheets
    header, at = _header(rows)
    whole, apart = list(rows[at:]), []
    for name, further in others:
        there, below = _header(further)
        if there == header:
            whole += further[below + 1 :]
        else:
            apart.append(name)
    notes = []
    if apart:
        message = f"only sheet {first!r} was read; the questions are others in {name_some(apart)}: save each as a file."
        notes.append(Problem("other_sheets", message, source))
    table = arrange(whole, at + 1, source=source, notes=notes)
    return replace(table, source=source)


def _header(rows: list[list[Cell]]) -> tuple[list[str], int]:
    """Return the header of a sheet, folded, and where it stands."""
    folded = [[fold(cell) if isinstance(cell, str) else "" for cell in row] for row in rows]
    at = next((number for number, names in enumerate(folded[:20]) if "paper id" in names), None)
    if at is None:
        at = next(number for number, row in enumerate(rows) if any(cell is not None for cell in row))
    return folded[at], at
