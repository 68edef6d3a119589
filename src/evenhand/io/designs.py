"""Files of labels: who there is, pairs such as conflicts and fixed assignments, expertise; mistakes have a place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Literal

from evenhand.design.inputs import (
    Expected,
    Members,
    expected_from,
    flags_of,
    floats_of,
    members_from,
    table_pairs,
    whole_numbers,
)
from evenhand.errors import InputError, Problem
from evenhand.io.panels import read_table
from evenhand.io.table import Cell, Table
from evenhand.panel.confidence import FACTOR
from evenhand.panel.graph import Side
from evenhand.panel.roles import SYNONYMS, fold
from evenhand.panel.rules import label_text, parse_number
from evenhand.words import name_some

_SIDES: Final[tuple[Side, Side]] = ("assessor", "object")
_WHOLE: Final = {"object": ("per_object",), "assessor": ("min_load", "max_load")}
_DECIMAL: Final = {"object": ("expected",), "assessor": ("cost",)}
_MOST_NUMBERED: Final = 1_000_000


def numbered(count: int, side: Side) -> Members:
    """Return a number of objects or assessors with labels of their own.

    Examples
    --------
    >>> numbered(3, "object").labels
    ('O1', 'O2', 'O3')
    """
    if not 1 <= count <= _MOST_NUMBERED:
        message = f"The number of {side}s must be from 1 to {_MOST_NUMBERED:,}, not {count:,}."
        raise InputError(message, kind="bad_option")
    width = len(str(count))
    return Members(side, tuple(f"{side[0].upper()}{number:0{width}d}" for number in range(1, count + 1)), {})


def read_members(path: str | os.PathLike[str], side: Side) -> Members:
    """Return the objects or the assessors of a file, one a row, with what its other columns say about them.

    These are recognised as in :func:`evenhand.assign`. A label that stands twice is refused, and so is a cell of
    another column that makes no sense.
    """
    table = read_table(path)
    first: dict[str, int] = {}
    for row, (text,) in _labels(table, side):
        if text is None:
            continue
        if text in first:
            twice = f"{side.capitalize()} {text} is listed twice, here and in {table.where(first[text])}"
            raise InputError(f"{twice}: list it once.", kind="duplicate", where=f"{table.source}, {table.where(row)}")
        first[text] = row
    found = members_from(side, _columns(table), source=table.source)
    columns = dict(found.columns)
    for role in (*_WHOLE[side], *_DECIMAL[side]):
        if role in columns:
            columns[role] = [_number(cell, table) for cell in columns[role]]
    found = replace(found, columns=columns)
    with placed(table.source):
        for role in _WHOLE[side]:
            whole_numbers(None, found, role, 0)
        for role in _DECIMAL[side]:
            floats_of(None, found, role)
        if side == "object":
            flags_of(None, found, "linking")
    return found


def read_design_pairs(
    path: str | os.PathLike[str], objects: Members, assessors: Members, what: str
) -> list[tuple[str, str]]:
    """Return the pairs (assessor, object) of a file, all of them known; ``what`` they are is said in messages."""
    table = read_table(path)
    pairs: list[tuple[str, str]] = []
    for row, (assessor, object_) in _labels(table, *_SIDES):
        where = f"{table.source}, {table.where(row)}"
        if assessor is None and object_ is None:
            continue
        if assessor is None or object_ is None:
            message = "A pair needs both an assessor and an object: fill in both."
            raise InputError(message, kind="empty_label", where=where)
        for label, members in ((assessor, assessors), (object_, objects)):
            if label not in members.index:
                who = "whom" if members.side == "assessor" else "which"
                known = f"the {members.side}s are {name_some(members.labels)}."
                message = f"There is no {members.side} {label}, {who} the {what} name: {known}"
                raise InputError(message, kind="unknown_label", where=where)
        pairs.append((assessor, object_))
    return pairs


def read_expected(
    path: str | os.PathLike[str],
    objects: Members,
    assessors: Members,
    *,
    form: Literal["expertise", "uncertainty"] = "expertise",
    factor: float = FACTOR,
) -> Expected:
    """Return what a file says of how well assessors know objects, or how uncertain their scores will be.

    It has columns of assessors, objects and one named expertise, level or uncertainty; or it is wide, with assessors
    down and objects across, or the other way round, and ``form`` says what its cells are.
    """
    table = read_table(path)
    named = [name for name in table.names if name in {*objects.labels, *assessors.labels}]
    twice = next((name for name in named if named.count(name) > 1), None) if len(named) > len(set(named)) else None
    if twice is not None:
        raise InputError(f"There are two columns {twice}: leave one out.", kind="duplicate", where=table.source)
    with placed(table.source):
        found, pairs, cells = table_pairs(_columns(table), objects, assessors, form, None)
        numbers = [_number(cell, table) for cell in cells]
        return expected_from(pairs, numbers, objects, assessors, form=found, factor=factor)


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the pairs (assessor, object) of a file with these two columns, under any name that scores may have."""
    table = read_table(path)
    rows = list(_labels(table, *_SIDES))
    message = "a pair needs both an assessor and an object: fill in the other."
    halves = [row for row, (assessor, object_) in rows if (assessor is None) != (object_ is None)]
    if halves:
        raise InputError([Problem("empty_label", message, table.where(row)) for row in halves])
    return [(assessor, object_) for _, (assessor, object_) in rows if assessor is not None and object_ is not None]


def read_labels(path: str | os.PathLike[str], side: Side) -> list[str]:
    """Return the labels of objects or of assessors that a file lists, each once, in their order; at least one."""
    table = read_table(path)
    labels = list(dict.fromkeys(text for _, (text,) in _labels(table, side) if text is not None))
    if not labels:
        raise InputError(f"There are no {side}s in it: write one a row.", kind="empty", where=table.source)
    return labels


@contextmanager
def placed(source: str) -> Iterator[None]:
    """Name the file in every error that is raised within."""
    try:
        yield
    except InputError as error:
        problems = [
            replace(one, where=source if one.where is None else f"{source}, {one.where}") for one in error.problems
        ]
        raise InputError(problems) from None


def _labels(table: Table, *sides: Side) -> Iterator[tuple[int, list[str | None]]]:
    """Yield each row with its labels of some sides, None where the cell is empty."""
    columns = [table.columns[_column(table, side)] for side in sides]
    for row, cells in enumerate(zip(*columns, strict=True)):
        yield row, [None if cell is None else label_text(cell) for cell in cells]


def _column(table: Table, side: Side) -> int:
    """Return which column has the labels of one side."""
    for at, name in enumerate(table.names):
        if fold(name) in SYNONYMS[side]:
            return at
    columns = f"the columns are {name_some(table.names, 12)}"
    message = f"There is no column of {side}s; {columns}: name one of them {side}."
    raise InputError(message, kind="missing_column", where=table.source)


def _columns(table: Table) -> dict[str, Sequence[Cell]]:
    """Return columns by name; of two with one name, the first."""
    found: dict[str, Sequence[Cell]] = {}
    for name, cells in zip(table.names, table.columns, strict=True):
        found.setdefault(name, cells)
    return found


def _number(cell: Cell, table: Table) -> Cell:
    """Return the number that text with a decimal comma stands for; any other cell as it is."""
    if not (table.decimal_comma and isinstance(cell, str)):
        return cell
    number = parse_number(cell, decimal_comma=True)
    return cell if number is None else number
