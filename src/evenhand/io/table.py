"""Rows of raw cells arranged as a table, and what is said of blank ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.panel.column import Cell, Table, factorise
from evenhand.panel.layout import find_header, joined_names
from evenhand.panel.rules import label_text, rows_place
from evenhand.panel.source import read_whole
from evenhand.words import argument, remark

__all__ = ["MAX_CELLS", "BlankRows", "Cell", "Table", "arrange", "is_blank", "read_whole"]

MAX_CELLS = 20_000_000
"""Most cells, empty ones included, that a file may spread over where all of them are read."""

_MOST_NAMED = 5


def is_blank(cell: Cell) -> bool:
    """Say whether a cell is empty; text of nothing but white space counts as empty."""
    return cell is None or (isinstance(cell, str) and (not cell or cell.isspace()))


def header_names(header: Iterable[Cell]) -> tuple[str, ...]:
    """Return header cells as text without outer white space, so that the number 7.0 reads ``7``, up to the last."""
    names = ["" if cell is None else label_text(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    return tuple(names)


def column_letters(column: int) -> str:
    """Return the letters that a spreadsheet program shows for a column, counted from 0.

    Examples
    --------
    >>> column_letters(0), column_letters(25), column_letters(26)
    ('A', 'Z', 'AA')
    """
    before, letter = divmod(column, 26)
    return (column_letters(before - 1) if before else "") + chr(ord("A") + letter)


def no_cells(source: str, *, is_workbook: bool = False) -> InputError:
    """Return the error for a file, or a workbook, without a single cell."""
    message = remark(
        "Every sheet of the workbook is blank: it needs a header row (object, assessor, score) and one row per "
        "assessment."
        if is_workbook
        else "The file is empty: it needs a header row (object, assessor, score) and one row per assessment."
    )
    return InputError(message, kind="empty_file", where=source)


def no_rows(source: str) -> InputError:
    """Return the error for a table that is only a header."""
    message = remark("There is a header but no row below it: add one row per assessment.")
    return InputError(message, kind="empty_file", where=source)


def only_sheet(name: str, others: str, file: str) -> Problem:
    """Return the note that one sheet was read, and which others were not."""
    message = remark(
        "Only the sheet {sheet} was read, not {others}: choose another one with {option}.",
        sheet=repr(name),
        others=others,
        option=argument("sheet"),
    )
    return Problem("sheets", message, file)


class BlankRows:
    """Rows without any cell, counted between rows of data, whose ``last`` is known; the first of them are named."""

    def __init__(self) -> None:
        self.last = 0
        self._count, self._first = 0, list[int]()
        self._later, self._first_later = 0, list[int]()

    def add(self, numbers: Sequence[int] | NDArray[np.int64], last: int) -> None:
        """Take the numbers of blank rows, in order, and that of the last row beside them that is not; 0 if none is."""
        rows = np.asarray(numbers, dtype=np.int64)
        if last:
            before = int(np.searchsorted(rows, last))
            self._count += self._later + before
            self._first = [*self._first, *self._first_later, *rows[:before][:_MOST_NAMED].tolist()][:_MOST_NAMED]
            self._later, self._first_later, rows, self.last = 0, [], rows[before:], last
        self._later += rows.size
        self._first_later = [*self._first_later, *rows[:_MOST_NAMED].tolist()][:_MOST_NAMED]

    def note(self) -> list[Problem]:
        """Return the note that counts them, if there are any."""
        if not self._count:
            return []
        message = remark(
            "1 blank row between rows of data was left out."
            if self._count == 1
            else "{count} blank rows between rows of data were left out.",
            count=self._count,
        )
        shown = ", ".join(map(str, self._first))
        if self._count > _MOST_NAMED:
            shown = remark("{names} and {more} more", names=shown, more=self._count - _MOST_NAMED)
        where = remark("row {rows}" if self._count == 1 else "rows {rows}", rows=shown)
        return [Problem("blank_rows", message, where)]


def arrange(rows: Sequence[Sequence[Cell]], first_row: int = 1, *, source: str, notes: Sequence[Problem] = ()) -> Table:
    """Take the first row of a sheet that is not blank as the header and arrange the rows below it in columns.

    The rows are numbered from ``first_row`` on, blank ones included, which are left out. Shorter ones are filled up
    with None; cells beyond the header go to columns without a name.
    """
    kept: list[list[Cell]] = []
    numbers: list[int] = []
    blank: list[int] = []
    for number, row in enumerate(rows, first_row):
        cells: list[Cell] = [  # as `is_blank`, written out because it runs for every cell
            None if cell is None or (type(cell) is str and (not cell or cell.isspace())) else cell for cell in row
        ]
        if any(cell is not None for cell in cells):
            kept.append(cells)
            numbers.append(number)
        elif kept:
            blank.append(number)
    if not kept:
        raise no_cells(source)
    at, has_second = find_header(kept)
    names = header_names(joined_names(kept[at], kept[at + 1]) if has_second else kept[at])
    above, data, numbers = numbers[:at], kept[at + 1 + has_second :], numbers[at + has_second :]
    if not data:
        raise no_rows(source)
    width = max(len(names), *map(_filled, data))
    names += ("",) * (width - len(names))
    left_out = BlankRows()
    left_out.add(blank, numbers[-1])
    columns = zip(*([*cells[:width], *[None] * (width - len(cells))] for cells in data), strict=True)
    return Table(
        names=names,
        columns=tuple(factorise(name, cells) for name, cells in zip(names, columns, strict=True)),
        row_numbers=np.array(numbers[1:]),
        source=source,
        notes=(*notes, *banner_note(above), *left_out.note()),
    )


def realigned(table: Table) -> Table:
    """Return the table of a text whose columns are aligned by blanks; any other as it is.

    Its one column is parted at runs of blanks, where that gives as many cells in every row: at two and more, or else at
    every one.
    """
    if len(table.names) != 1:
        return table
    lines = [table.names[0], *(label_text(cell) for cell in table.columns[0])]
    for blanks in (r"\s{2,}", r"\s+"):
        rows = [re.split(blanks, line.strip()) for line in lines]
        if len(rows[0]) > 2 and all(len(row) == len(rows[0]) for row in rows):
            names = tuple(rows[0])
            columns = tuple(map(factorise, names, zip(*rows[1:], strict=True)))
            return replace(table, names=names, columns=columns)
    return table


def banner_note(numbers: Sequence[int]) -> list[Problem]:
    """Return the note on rows above the header, if there are any."""
    if not numbers:
        return []
    which = remark("rows {first} to {last}", first=numbers[0], last=numbers[-1])
    which = rows_place(numbers) if len(numbers) == 1 else which
    return [Problem("banner", remark("above the header, so not read."), which)]


def _filled(cells: Sequence[Cell]) -> int:
    """Return the width of a row without the empty cells at its end."""
    width = len(cells)
    while width and cells[width - 1] is None:
        width -= 1
    return width
