"""Rows of raw cells arranged as a table, and wide sheets, objects down and assessors across, as one row per score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.io.coding import Wanted
from evenhand.panel.column import Cell, Column, Table, factorise
from evenhand.panel.roles import find_column
from evenhand.panel.rules import ReadAgainError, label_text

__all__ = ["MAX_CELLS", "BlankRows", "Cell", "Source", "Table", "arrange", "is_blank", "lengthen", "read_whole"]

T = TypeVar("T")

MAX_CELLS = 20_000_000
"""Most cells, empty ones included, that a file may spread over where all of them are read."""

_MOST_NAMED = 5


class Source(Protocol):
    """A file, or what was read of it, that gives its columns portion by portion.

    Attributes
    ----------
    source
        What to call it in messages.
    names
        The names of all its columns, once it is open.
    rows
        How many rows it has, about.
    most_problems
        Most problems that are listed; None for all.
    """

    source: str
    names: tuple[str, ...]
    rows: int
    most_problems: int | None

    def open(self) -> None:
        """Begin at the beginning."""

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield tables of the wanted columns, and refuse what cannot be read."""

    def notes(self) -> Sequence[Problem]:
        """Return what a reader should know, once all portions were read."""

    def close(self) -> None:
        """End, wherever that is."""


class Whole:
    """A table that was read already, as a source of one portion."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.source, self.names, self.rows = table.source, table.names, len(table)
        self.most_problems: int | None = None

    def open(self) -> None:
        """Do nothing."""

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield the wanted columns."""
        if wanted is not None:
            yield replace(self._table, columns=tuple(self._table.columns[at] for at in wanted.used))

    def notes(self) -> Sequence[Problem]:
        """Return the notes of the table."""
        return self._table.notes

    def close(self) -> None:
        """Do nothing."""


def from_the_beginning(source: Source, read: Callable[[], T]) -> T:
    """Return what reading gives, done again where the source has learnt how it is to be read."""
    while True:
        try:
            source.open()
            return read()
        except ReadAgainError:
            continue
        finally:
            source.close()


def read_whole(source: Source) -> Table:
    """Return all columns of a source as one table, in which blank cells are None."""

    def read() -> Table:
        every = tuple(range(len(source.names)))
        portions = list(source.portions(Wanted(every, frozenset(), frozenset())))
        columns = [
            replace(
                one,
                cells=[None if is_blank(cell) else cell for cell in one.cells],
                codes=np.concatenate([portion.columns[at].codes for portion in portions]),
            )
            for at, one in enumerate(portions[0].columns)
        ]
        numbers = np.concatenate([portion.row_numbers for portion in portions])
        comma = portions[-1].decimal_comma
        return Table(source.names, tuple(columns), numbers, source.source, comma, tuple(source.notes()))

    return from_the_beginning(source, read)


def is_blank(cell: Cell) -> bool:
    """Say whether a cell is empty; text of nothing but white space counts as empty."""
    return cell is None or (isinstance(cell, str) and (not cell or cell.isspace()))


def header_names(header: Iterable[Cell]) -> tuple[str, ...]:
    """Return header cells as text without outer white space, so that the number 7.0 reads ``7``, up to the last."""
    names = ["" if cell is None else label_text(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    return tuple(names)


def no_cells(source: str, finding: str = "The file is empty") -> InputError:
    """Return the error for a file or sheet without a single cell; ``finding`` says what was found."""
    needed = "it needs a header row (object, assessor, score) and one row per assessment."
    return InputError(f"{finding}: {needed}", kind="empty_file", where=source)


def no_rows(source: str) -> InputError:
    """Return the error for a table that is only a header."""
    message = "There is a header but no row below it: add one row per assessment."
    return InputError(message, kind="empty_file", where=source)


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
        shown = ", ".join(map(str, self._first))
        more = f" and {self._count - _MOST_NAMED} more" if self._count > _MOST_NAMED else ""
        ending, were = ("s", "were") if self._count > 1 else ("", "was")
        message = f"{self._count} blank row{ending} between rows of data {were} left out."
        return [Problem("blank_rows", message, f"row{ending} {shown}{more}")]


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
    header, *data = kept
    if not data:
        raise no_rows(source)
    names = header_names(header)
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
        notes=(*notes, *left_out.note()),
    )


def _filled(cells: Sequence[Cell]) -> int:
    """Return the width of a row without the empty cells at its end."""
    width = len(cells)
    while width and cells[width - 1] is None:
        width -= 1
    return width


def lengthen(table: Table, *, object: str | None = None, source: str | None = None) -> Table:
    """Turn a table with one column per assessor into one with a row per score.

    Parameters
    ----------
    table
        Objects down one column; every other header is the label of an assessor.
    object
        Name of the column of objects; the first column if None, whose header may be empty.
    source
        What to call the table in messages; the source of the table if None.

    Returns
    -------
    Table
        Columns ``object``, ``assessor`` and ``score``, with the row numbers of the wide sheet. Empty cells mean "not
        assessed": they are left out and counted in a note.

    Raises
    ------
    InputError
        If two columns name the same assessor, a column of scores has no header, or there is no score.
    """
    source = table.source if source is None else source
    filled = [~np.array([is_blank(cell) for cell in one.cells], np.bool_)[one.codes] for one in table.columns]
    if object is not None:
        down = find_column(table.names, object, option="object", source=source)
    else:
        down = next(index for index, name in enumerate(table.names) if name or filled[index].any())
    across = [index for index in range(len(table.names)) if index != down]
    for index in across:
        if not table.names[index] and filled[index].any():
            raise _without_header(table, index, int(np.argmax(filled[index])), source)
    across = [index for index in across if table.names[index]]
    if not across:
        message = "There is no column of an assessor beside the objects: a wide sheet has one column for each assessor."
        raise InputError(message, kind="missing_column", where=source)
    headers = [table.names[index] for index in across]
    twice = next((header for at, header in enumerate(headers) if header in headers[:at]), None)
    if twice is not None:
        message = f"Two columns are headed {twice!r}: give each assessor one column, or two different names."
        raise InputError(message, kind="bad_header", where=source)
    rows, members = np.nonzero(np.column_stack([filled[index] for index in across]))
    if not rows.size:
        message = "Every cell is empty: write the scores below the names of the assessors."
        raise InputError(message, kind="empty_file", where=source)
    columns = [table.columns[index] for index in across]
    cells = [cell for column in columns for cell in column.cells]
    begins = np.cumsum([0, *(len(column.cells) for column in columns[:-1])])
    codes = np.column_stack([column.codes + begin for column, begin in zip(columns, begins, strict=True)])
    empty = len(across) * len(table) - rows.size
    notes = list(table.notes)
    if empty:
        count = "1 empty cell is" if empty == 1 else f"{empty:,} empty cells are"
        notes.append(Problem("not_assessed", f"{count} taken as not assessed and left out.", source))
    return Table(
        names=("object", "assessor", "score"),
        columns=(
            replace(table.columns[down].take(rows), name="object"),
            Column("assessor", headers, members.astype(np.uint32)),
            Column("score", cells, codes[rows, members].astype(np.uint32)),
        ),
        row_numbers=table.row_numbers[rows],
        source=source,
        decimal_comma=table.decimal_comma,
        notes=tuple(notes),
        is_wide=True,
    )


def _without_header(table: Table, index: int, row: int, source: str) -> InputError:
    before = table.names[index - 1] if index else ""
    which = f"Column {index + 1} of the table" + (f" (right of {before!r})" if before else "")
    message = f"{which} has cells but no header: write the assessor's name above it."
    return InputError(message, kind="bad_header", where=f"{source}, row {table.row_numbers[row]}")
