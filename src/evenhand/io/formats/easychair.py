"""EasyChair: review.csv of the data download, with all scores of a review in one cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import (
    Found,
    cells_of,
    column_named,
    left_out_rows,
    listed,
    of_rows,
    per_cell,
    text_of,
    with_columns,
    with_fields,
)
from evenhand.panel.column import Cell, Table, factorise
from evenhand.panel.headings import fold
from evenhand.panel.rules import parse_number

_HEADER: Final = (
    *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
    *("reviewer first name", "reviewer last name", "reviewer email", "reviewer person #", "date", "time", "attachment"),
)
_WITHOUT_TOTAL: Final = tuple(name for name in _HEADER if name != "total score")
_OTHER_FILES: Final = {"bid": "bids", "recommendation": "metareviews", "role": "the programme committee"}
_NEEDED: Final = {"submission #", "member #", "scores"}


def from_table(table: Table) -> Found | None:
    """Return the reviews of review.csv, whether or not it has a header."""
    names = {fold(name) for name in table.names}
    if not names >= _NEEDED:
        _refuse_others(table, names)
        with_header = _without_header(table)
        return None if with_header is None else from_table(with_header)
    table, notes = _kept(table)
    table, labels = _unfolded(table)
    table = _with_assessors(table)
    total, submission = column_named(table, "total score"), column_named(table, "submission #") or ""
    further = [name for name in table.names if name and fold(name) in _HEADER and name not in (total, submission)]
    found = Found(
        "EasyChair's review.csv",
        table,
        object=submission,
        assessor="assessor",
        assessor_details=("assessor name", "assessor email"),
        left_out=listed((name, _reason(name)) for name in further),
        notes=notes,
    )
    return with_fields(found, [*labels, *([] if total is None else [total])])


def _reason(name: str) -> str:
    folded = fold(name)
    if folded in ("text", "attachment"):
        return "text"
    if folded.startswith(("member", "reviewer")):
        return "who wrote it, read as the assessor"
    return "taken apart" if folded == "scores" else "about the review"


def _refuse_others(table: Table, names: set[str]) -> None:
    """Refuse other files of the same download."""
    if "member #" in names and "submission #" in names:
        what = next((words for name, words in _OTHER_FILES.items() if name in names), "assignments")
        message = (
            f"This is a file of {what} from EasyChair, without scores: to calibrate, give review.csv of the same "
            "download; evenhand design reads bids and assignments."
        )
        raise InputError(message, kind="not_scores", where=table.source)


def _without_header(table: Table) -> Table | None:
    """Return the table with the header that older downloads lack; None where it is no such table."""
    for header in (_HEADER, _WITHOUT_TOTAL):
        first = table.names
        at = header.index("scores")
        if len(first) != len(header) or not _pairs(first[at]):
            continue
        if all(parse_number(first[index]) is not None for index in range(3)):
            columns = tuple(
                factorise(name, [first[index] or None, *table.columns[index]]) for index, name in enumerate(header)
            )
            numbers = np.concatenate([[int(table.row_numbers[0]) - 1], table.row_numbers])
            return replace(table, names=header, columns=columns, row_numbers=numbers)
    return None


def _kept(table: Table) -> tuple[Table, tuple[Problem, ...]]:
    """Return the last version of each review that is not deleted."""
    notes: tuple[Problem, ...] = ()
    deleted = column_named(table, "deleted")
    if deleted is not None:
        there = per_cell(cells_of(table, deleted), lambda cell: text_of(cell).casefold() != "yes")
        notes = left_out_rows(int(np.count_nonzero(~there)), "deleted")
        table = of_rows(table, there)
    version = column_named(table, "version")
    if version is None:
        return table, notes
    keys = ("submission #", "member #", "reviewer first name", "reviewer last name", "reviewer email")
    columns = [cells_of(table, name) for key in keys if (name := column_named(table, key)) is not None]
    newest: dict[tuple[str, ...], tuple[float, int]] = {}
    for row, cell in enumerate(cells_of(table, version)):
        review = tuple(text_of(column[row]) for column in columns)
        number = parse_number(cell) or 0.0
        if review not in newest or number > newest[review][0]:
            newest[review] = number, row
    least = {review: number for review, (number, _) in newest.items()}
    latest = np.array(
        [
            (parse_number(cell) or 0.0) == least[tuple(text_of(column[row]) for column in columns)]
            for row, cell in enumerate(cells_of(table, version))
        ],
        np.bool_,
    )
    older = left_out_rows(int(np.count_nonzero(~latest)), "older versions of reviews")
    return of_rows(table, latest), (*notes, *older)


def _pairs(text: str) -> dict[str, str]:
    r"""Return label and cell of each line, parted at its last colon.

    Examples
    --------
    >>> _pairs("Overall evaluation: -1\nReviewer's confidence: 3")
    {'Overall evaluation': '-1', "Reviewer's confidence": '3'}
    """
    found = {}
    for line in text.splitlines():
        label, colon, cell = line.rpartition(":")
        if colon and label.strip() and cell.strip():
            found[label.strip()] = cell.strip()
    return found


def _unfolded(table: Table) -> tuple[Table, list[str]]:
    """Return the table with a column for each label in the cells of scores."""
    scores = cells_of(table, column_named(table, "scores") or "")
    apart: list[dict[str, str]] = [_pairs(text_of(cell)) for cell in scores.cells]
    rows = [apart[code] if code < len(apart) else {} for code in scores.codes.tolist()]
    labels = [label for label in dict.fromkeys(label for row in rows for label in row) if label not in table.names]
    return with_columns(table, {label: [row.get(label) for row in rows] for label in labels}), labels


def _with_assessors(table: Table) -> Table:
    """Return the table with who wrote each review: the subreviewer who is named, else the member."""
    names = ("member #", "member name", "reviewer first name", "reviewer last name", "reviewer email")
    columns: list[Sequence[Cell]] = [
        [None] * len(table) if (name := column_named(table, wanted)) is None else cells_of(table, name)
        for wanted in names
    ]
    people = [tuple(map(text_of, row)) for row in zip(*columns, strict=True)]
    numbers: dict[str, set[str]] = {}
    for number, name, *_ in people:
        numbers.setdefault(name, set()).add(number)
    labels, full_names, mails = [], [], []
    for number, name, first, last, mail in people:
        full = f"{first} {last}".strip()
        if mail or (full and fold(full) != fold(name)):
            labels.append(mail or full)
            full_names.append(full or None)
        else:
            alone = name and len(numbers[name]) == 1
            labels.append(name if alone else f"{name} #{number}".strip())
            full_names.append(name or None)
        mails.append(mail or None)
    return with_columns(table, {"assessor": labels, "assessor name": full_names, "assessor email": mails})
