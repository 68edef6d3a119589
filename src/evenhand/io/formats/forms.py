"""Google Forms and Microsoft Forms: answers, a row for each time that the form was sent."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import (
    Found,
    cells_of,
    facts_of,
    left_out_rows,
    listed,
    of_rows,
    text_of,
    with_columns,
    with_fields,
)
from evenhand.io.records import records_table
from evenhand.panel import lexicon
from evenhand.panel.column import Cell, Table, factorise
from evenhand.panel.headings import fold, plain_text
from evenhand.words import argument, name_some

_PEOPLE: Final = "|".join(lexicon.PEOPLE)
_WHO: Final = re.compile(
    rf"\b(your|{_PEOPLE})('s)? (full )?(name|e ?mail|id|initials)\b|^({_PEOPLE})s?$|^({'|'.join(lexicon.SELF)})$"
)
_WHAT, _JUDGING, _CHOOSING = (
    re.compile(rf"\b({'|'.join(words)})\b") for words in (lexicon.ENTRIES, lexicon.JUDGING, lexicon.CHOOSING)
)
_GRID: Final = re.compile(r"(?P<question>.*?)\s*\[(?P<row>[^\[\]]+)\]\s*", re.DOTALL)
_QUIZ: Final = re.compile(
    r".*\[(score|feedback)\]|(points|feedback) - .*|total points|quiz feedback", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class _Form:
    """What every form has beside its questions."""

    system: str
    time: str
    mail: str | None
    name: str | None
    questions: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def from_table(table: Table) -> Found | None:
    """Return the scores of a form in which a question names the object, or the objects are the rows of a grid."""
    form = _form(table)
    if form is None:
        return None
    table, form, assessor, notes = _with_assessor(table, form)
    grids = {name: match for name in form.questions if (match := _GRID.fullmatch(name))}
    objects = [
        name
        for name in form.questions
        if name not in grids and name != assessor and _WHAT.search(fold(name)) and _names_objects(table, name)
    ]
    if len(objects) == 1:
        return _of_reviews(table, form, assessor, objects[0], notes)
    if objects:
        shown = ", ".join(map(repr, objects))
        message = f"The questions {shown} could each name what was assessed: say which one with {argument('object')}."
        raise InputError(message, kind="ambiguous_column", where=table.source)
    if grids:
        return _of_grids(table, form, assessor, notes)
    raise InputError(
        f"This is a file of {form.system} in which no question names what was assessed. If each question is an object, "
        f"{argument('format', 'forms-across')} reads it so; if a question names the object, say which with "
        f"{argument('object')}. The questions are "
        f"{name_some([name for name in form.questions if name != assessor], 12)}.",
        kind="ambiguous_layout",
        where=table.source,
    )


def across_from_table(table: Table) -> Found | None:
    """Return the scores of a form in which each question is an object."""
    form = _form(table)
    if form is None:
        return None
    table, form, assessor, notes = _with_assessor(table, form)
    if any(_GRID.fullmatch(name) for name in form.questions):
        return _of_grids(table, form, assessor, notes)
    asked = [name for name in form.questions if name != assessor]
    graded = [name for name in asked if facts_of(table, name).nature in ("score", "choice")]
    left_out = [(name, "no score in it") for name in asked if name not in graded]
    if not graded:
        raise InputError("No question of this form was answered by a score.", kind="no_scores", where=table.source)
    return _unfolded(table, form, assessor, [("score", name, name) for name in graded], left_out, notes)


def _form(table: Table) -> _Form | None:
    """Return which form wrote a table; None where none did."""
    names = {name: fold(name.replace("\xa0", " ")) for name in table.names}
    listed_names = [name for name in names if name]
    start = next((name for name in listed_names[:3] if names[name] in lexicon.STARTS), None)
    end = next((name for name in listed_names[:5] if names[name] in lexicon.ENDS), None)
    if start is not None and end is not None:
        system, time, first = "Microsoft Forms", end, listed_names[:8]
        left_out = [(start, "time")] + [(name, "number of the answer") for name in first[:1] if names[name] == "id"]
        left_out += [(name, "time") for name in first if names[name] == "last modified time"]
        whose = next((name for name in first if names[name] in lexicon.NAMES), None)
    elif listed_names and names[listed_names[0]] in lexicon.STAMPS:
        system, time, first = "Google Forms", listed_names[0], listed_names
        left_out, whose = [], None
    else:
        return None
    mail = next((name for name in first if names[name] in lexicon.LOGINS), None)
    is_quiz = any(names[name] == "total points" for name in listed_names)
    for name in listed_names:
        points = names[name] == "score" and _all_shares(table, name)
        if _QUIZ.fullmatch(name) or points or (is_quiz and names[name] == "quiz feedback"):
            left_out.append((name, "points that the form gave for answers"))
    taken = {time, mail, whose, *(name for name, _ in left_out)}
    questions = tuple(name for name in listed_names if name not in taken)
    return _Form(system, time, mail, whose, questions, (*left_out, (time, "time")))


def _all_shares(table: Table, name: str) -> bool:
    """Say whether the cells of a column are points of a quiz, 4 / 5."""
    kinds = facts_of(table, name).distinct
    return bool(kinds) and all(re.fullmatch(r"\d+(\.\d+)? / \d+", str(cell).strip()) for cell in kinds)


def _names_objects(table: Table, name: str) -> bool:
    """Say whether a question asks what is assessed, not how good it is."""
    folded = fold(name)
    if _JUDGING.search(folded):
        return _CHOOSING.search(folded) is not None and "how" not in folded
    return bool(facts_of(table, name).count)


def _with_assessor(table: Table, form: _Form) -> tuple[Table, _Form, str, tuple[Problem, ...]]:
    """Return the table with one column that says who answered, e-mail before name, in order of time."""
    table = _in_order(table, form.time)
    asked = next((name for name in form.questions if _WHO.search(fold(name)) and not _GRID.fullmatch(name)), None)
    for name in (form.mail, asked, form.name):
        if name is None:
            continue
        nobody = lexicon.ANONYMOUS | {""}
        known = np.array([plain_text(text_of(cell)) not in nobody for cell in cells_of(table, name)])
        if known.any():
            notes = left_out_rows(int(np.count_nonzero(~known)), "answers of nobody who is named")
            return of_rows(table, known), form, name, notes
    raise InputError(
        f"This is a file of {form.system} whose answers are anonymous: nobody's standard can be told without knowing "
        "which answers are the same person's. Collect e-mail addresses, or ask for the assessor's name in the form.",
        kind="anonymous_assessors",
        where=table.source,
    )


def _in_order(table: Table, time: str) -> Table:
    """Return the rows in order of time, where all times can be read."""
    moments = [_moment(cell) for cell in cells_of(table, time)]
    known = [moment for moment in moments if moment is not None]
    if len(known) < len(moments) or known == sorted(known):
        return table
    order = np.array(sorted(range(len(known)), key=known.__getitem__))
    columns = tuple(column.take(order) for column in table.columns)
    return Table(
        *(table.names, columns, table.row_numbers[order], table.source),
        decimal_comma=table.decimal_comma,
        notes=table.notes,
    )


def _moment(cell: Cell) -> str | None:
    """Return a time in a form that sorts: year, month and day first."""
    if isinstance(cell, datetime.datetime):
        return cell.isoformat()
    found = re.fullmatch(
        r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[.]\d+)?\s*([AaPp]\.?[Mm]\.?)?.*",
        text_of(cell),
    )
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    half = (found[7] or "").casefold()
    if half:
        hour = hour % 12 + 12 * half.startswith("p")
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def _details(form: _Form, assessor: str) -> tuple[str, ...]:
    return tuple(name for name in (form.mail, form.name) if name is not None and name != assessor)


def _of_reviews(table: Table, form: _Form, assessor: str, object_: str, notes: tuple[Problem, ...]) -> Found:
    """Return the scores of a form that is sent once for each assessment."""
    cells = [text_of(cell).removesuffix(";") or None for cell in cells_of(table, object_)]
    columns = list(table.columns)
    columns[table.names.index(object_)] = factorise(object_, cells)
    table = Table(
        *(table.names, tuple(columns), table.row_numbers, table.source),
        decimal_comma=table.decimal_comma,
        notes=table.notes,
    )
    fields = [name for name in form.questions if name not in (object_, assessor)]
    found = Found(
        f"{form.system}, sent once for each assessment",
        table,
        object=object_,
        assessor=assessor,
        assessor_details=_details(form, assessor),
        left_out=tuple(form.left_out),
        notes=notes,
        duplicates="last",
        time=form.time,
    )
    return with_fields(found, fields, called=f"a file of {form.system}")


def _of_grids(table: Table, form: _Form, assessor: str, notes: tuple[Problem, ...]) -> Found:
    """Return the scores of a form whose grids have objects down, one grid for each thing that is asked."""
    parts, left_out = [], []
    for name in form.questions:
        match = _GRID.fullmatch(name)
        if match:
            parts.append((match["question"].strip() or "score", match["row"].strip(), name))
        elif name != assessor:
            left_out.append((name, "asked once for all objects"))
    return _unfolded(table, form, assessor, parts, left_out, notes)


def _unfolded(
    table: Table,
    form: _Form,
    assessor: str,
    parts: Sequence[tuple[str, str, str]],
    left_out: Sequence[tuple[str, str]],
    notes: tuple[Problem, ...],
) -> Found:
    """Return a row for each answer; parts are question, object and column."""
    questions = dict.fromkeys(question for question, _, _ in parts)
    columns = {(question, label): cells_of(table, name) for question, label, name in parts}
    details = _details(form, assessor)
    records: list[dict[str, Cell]] = []
    rows: list[int] = []
    whose, when = cells_of(table, assessor), cells_of(table, form.time)
    filled = {(question, label): facts_of(table, name).filled for question, label, name in parts}
    for row in range(len(table)):
        for label in dict.fromkeys(label for _, label, _ in parts):
            keys = [(question, label) for question in questions if (question, label) in columns]
            if any(filled[key][row] for key in keys):
                head: dict[str, Cell] = {"object": label, assessor: whose[row], form.time: when[row]}
                head |= {name: cells_of(table, name)[row] for name in details}
                records.append(head | {question: columns[question, label][row] for question, _ in keys})
                rows.append(int(table.row_numbers[row]))
    if not records:
        raise InputError("No question of this form was answered.", kind="no_scores", where=table.source)
    long = records_table(records, table.source, rows=rows)
    missing = {question: [None] * len(long) for question in questions if question not in long.names}
    long = with_columns(long, missing) if missing else long
    long = Table(
        *(long.names, long.columns, long.row_numbers, long.source), decimal_comma=table.decimal_comma, notes=table.notes
    )
    found = Found(
        f"{form.system}, objects down a grid" if any("[" in name for _, _, name in parts) else f"{form.system}, across",
        long,
        object="object",
        assessor=assessor,
        assessor_details=details,
        left_out=listed(form.left_out, left_out),
        notes=notes,
        duplicates="last",
        time=form.time,
    )
    return with_fields(found, list(questions), called=f"a file of {form.system}")
