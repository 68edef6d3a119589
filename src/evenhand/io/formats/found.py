"""What a format makes of a file, and the few questions that all formats ask of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.panel.column import Cell, Column, Table, factorise
from evenhand.panel.headings import fold
from evenhand.panel.rules import is_empty, label_text
from evenhand.panel.sheet import Facts
from evenhand.panel.understand import answers
from evenhand.words import argument, count_of, name_some


@dataclass(frozen=True, slots=True)
class Found:
    """What a format makes of a file."""

    system: str
    """What wrote it, such as ``"HotCRP's scores.csv"``."""
    table: Table
    """Raw cells, one row per assessment, or per object and assessor where there are several criteria."""
    object: str
    """Name of the column of objects in the table; all the names below are such names too."""
    assessor: str
    score: str | tuple[str, ...] = ()
    """One column, or a column for each criterion."""
    confidence: str | None = None
    """The column that says how sure the assessor was, whatever its form."""
    criterion: str | None = None
    """The column that names the criterion of each row."""
    title: str | None = None
    object_details: tuple[str, ...] = ()
    """Columns that say more of an object, the same in all its rows."""
    assessor_details: tuple[str, ...] = ()
    """Columns that say more of an assessor, such as an e-mail address."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Columns that are not read, each with the reason."""
    notes: tuple[Problem, ...] = ()
    duplicates: Literal["keep", "last"] | None = None
    """What to do with repeated assessments unless told otherwise: repeated samples of one judge are all kept, of a form
    that was sent twice the last counts."""
    time: str | None = None
    """The column by which ``"last"`` is told; rows are in its order as far as it can be read, else in the file's."""
    symbols: tuple[tuple[str, float], ...] = ()
    """What the system's own symbols for scores stand for, such as ``("C", 1.0)``."""
    levels: tuple[tuple[str, str], ...] = ()
    """What the system's own symbols for confidence stand for, such as ``("X", "high")``."""
    question: Problem | None = None
    """What the file leaves open: to be asked unless an option has said it."""


# --- columns -------------------------------------------------------------------------------------


def column_named(table: Table, *names: str) -> str | None:
    """Return the first column that goes by one of some folded names, in the order of these."""
    folded = _folded(table.names)
    return next((folded[name] for name in names if name in folded), None)


@lru_cache(maxsize=4)
def _folded(names: tuple[str, ...]) -> dict[str, str]:
    """Return the first column of each folded name."""
    return {fold(name): name for name in reversed(names)}


def cells_of(table: Table, name: str) -> Column:
    """Return the first column of a name."""
    return table.columns[table.names.index(name)]


def facts_of(table: Table, name: str) -> Facts:
    """Return what the cells of a column look like."""
    return Facts(0, cells_of(table, name), table.decimal_comma)


def per_cell(column: Column, say: Callable[[Cell], bool]) -> NDArray[np.bool_]:
    """Say for each row what is true of its cell, asked once for each distinct one, None for an empty one."""
    kinds, place = Facts(0, column, False).kinds
    return np.array([say(cell) for cell in kinds], np.bool_)[place]


def of_rows(table: Table, rows: NDArray[np.bool_]) -> Table:
    """Return the table of some rows."""
    if rows.all():
        return table
    kept = np.flatnonzero(rows)
    columns = tuple(column.take(kept) for column in table.columns)
    return replace(table, columns=columns, row_numbers=table.row_numbers[kept])


def with_columns(table: Table, further: Mapping[str, Sequence[Cell]]) -> Table:
    """Return a table with further columns in front of its own."""
    columns = (*(factorise(name, cells) for name, cells in further.items()), *table.columns)
    return replace(table, names=(*further, *table.names), columns=columns)


def text_of(cell: Cell) -> str:
    """Return a cell as text without outer white space; empty where it is."""
    return "" if is_empty(cell) else label_text(cell).strip()


def left_out_rows(count: int, what: str) -> tuple[Problem, ...]:
    """Return the note that counts rows that are not read; ``what`` they are."""
    if not count:
        return ()
    return (Problem("left_out", f"{count_of(count, 'row')} {'was' if count == 1 else 'were'} left out: {what}."),)


# --- fields of a review --------------------------------------------------------------------------


def with_fields(
    found: Found, names: Sequence[str], *, labels: Mapping[str, str] | None = None, called: str | None = None
) -> Found:
    """Return what was found with overall score, criteria and confidence told among the fields of a review.

    Parameters
    ----------
    found
        What is known so far; what it leaves out and notes stands before what is left out of the fields.
    names
        Columns of its table that are fields of the review.
    labels
        What a column asks, where its name does not say it plainly.
    called
        What to call the file in messages, where that is not the name of the system.
    """
    table, said = found.table, found.table.names
    told = answers(table, {said.index(name): (labels or {}).get(name, name) for name in names})
    if not told.scores:
        columns = f"The columns are {name_some(said, 12)}" if said else "There are no columns"
        lacks = f"This is {called or found.system} without a field that holds scores"
        raise InputError(f"{lacks}. {columns}: export it with the scores.", kind="no_scores", where=table.source)
    question = None
    if told.several:
        shown = ", ".join(repr(said[at]) for at in told.several)
        message = f"The columns {shown} could each hold the overall score: say which one with {argument('score')}."
        question = Problem("ambiguous_column", message, table.source)
    scores = tuple(said[at] for at in told.scores)
    return replace(
        found,
        score=scores[0] if len(scores) == 1 else scores,
        confidence=None if told.confidence is None else said[told.confidence],
        left_out=listed(found.left_out, [(said[at], reason) for at, reason in sorted(told.left_out.items())]),
        notes=(*found.notes, *told.notes),
        question=question,
    )


def listed(*groups: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return reasons for columns in one list, each column once."""
    return tuple(dict(one for group in groups for one in group).items())
