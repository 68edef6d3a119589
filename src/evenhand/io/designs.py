"""Files beside the scores: members of a design, pairs such as conflicts, expertise; mistakes in them have a place."""

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
from evenhand.io.table import Cell, Table, is_blank
from evenhand.panel.confidence import FACTOR
from evenhand.panel.graph import Side
from evenhand.panel.roles import SYNONYMS, fold
from evenhand.panel.rules import label_text, parse_number
from evenhand.words import name_some

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
        raise InputError(
            f"The number of {side}s must be from 1 to {_MOST_NUMBERED:,}, not {count:,}.", kind="bad_option"
        )
    width = len(str(count))
    return Members(side, tuple(f"{side[0].upper()}{number:0{width}d}" for number in range(1, count + 1)), {})


def read_members(path: str | os.PathLike[str], side: Side) -> Members:
    """Return the objects or the assessors of a file, with what its other columns say about them.

    Parameters
    ----------
    path
        A file with a column of labels, one a row; further columns are recognised as in :func:`evenhand.assign`.
    side
        Which of both.

    Raises
    ------
    InputError
        If there is no such column, a label stands twice, or a cell of another column makes no sense.
    """
    table = read_table(path)
    label = _column(table, side)
    first: dict[str, int] = {}
    for row, cell in enumerate(table.columns[label]):
        if is_blank(cell):
            continue
        text = label_text(cell)
        if text in first:
            raise InputError(
                f"{side.capitalize()} {text} is listed twice, here and in {table.where(first[text])}: list it once.",
                kind="duplicate",
                where=f"{table.source}, {table.where(row)}",
            )
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
    """Return the pairs (assessor, object) of a file, all of them known.

    Parameters
    ----------
    path
        A file with columns of assessors and objects.
    objects, assessors
        Those of the design.
    what
        What the pairs are, for messages: ``"conflicts"``.
    """
    table = read_table(path)
    sides = ((assessors, _column(table, "assessor")), (objects, _column(table, "object")))
    known = [members.index for members, _ in sides]
    pairs: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for row in range(len(table)):
        cells = [table.columns[column][row] for _, column in sides]
        where = f"{table.source}, {table.where(row)}"
        if all(map(is_blank, cells)):
            continue
        if any(map(is_blank, cells)):
            problems.append(Problem("empty_label", "A pair needs both an assessor and an object: fill in both.", where))
            continue
        texts = [label_text(cell) for cell in cells]
        unknown = [at for at in (0, 1) if texts[at] not in known[at]]
        problems += [_unknown(texts[at], sides[at][0], what, where) for at in unknown[:1]]
        if not unknown:
            pairs.append((texts[0], texts[1]))
    if problems:
        raise InputError(problems[:1])
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

    Parameters
    ----------
    path
        A long table with columns of assessors, objects and one named expertise, level or uncertainty; or a wide one
        with assessors down and objects across, or the other way round.
    objects, assessors
        Those of the design.
    form
        What the cells of a wide table are.
    factor
        Ratio of the uncertainties of neighbouring levels.
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
    """Return the pairs (assessor, object) of a file with these two columns, under any name that scores files may use.

    Raises
    ------
    InputError
        If a column is missing, or a row has one label without the other.
    """
    table = read_table(path)
    columns = [table.columns[_column(table, side)] for side in ("assessor", "object")]
    problems = [
        Problem("empty_label", "a pair needs both an assessor and an object: fill in the other.", table.where(row))
        for row, (assessor, object_) in enumerate(zip(*columns, strict=True))
        if (assessor is None) != (object_ is None)
    ]
    if problems:
        raise InputError(problems)
    return [(label_text(a), label_text(o)) for a, o in zip(*columns, strict=True) if a is not None]


def read_labels(path: str | os.PathLike[str], side: Side) -> list[str]:
    """Return the labels of objects or of assessors that a file lists, each once, in their order.

    Raises
    ------
    InputError
        If no column has a name by which that side is recognised, or it has no label.
    """
    table = read_table(path)
    labels = list(dict.fromkeys(label_text(cell) for cell in table.columns[_column(table, side)] if cell is not None))
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


def _column(table: Table, side: Side) -> int:
    """Return which column has the labels of one side."""
    for at, name in enumerate(table.names):
        if fold(name) in SYNONYMS[side]:
            return at
    raise InputError(
        f"There is no column of {side}s; the columns are {name_some(table.names, 12)}: name one of them {side}.",
        kind="missing_column",
        where=table.source,
    )


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


def _unknown(label: str, members: Members, what: str, where: str) -> Problem:
    who = "whom" if members.side == "assessor" else "which"
    return Problem(
        "unknown_label",
        f"There is no {members.side} {label}, {who} the {what} name: the {members.side}s are "
        f"{name_some(members.labels)}.",
        where,
    )
