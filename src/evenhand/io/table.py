"""The cells of one sheet or file as they stand, with what is needed to say where each came from."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.errors import InputError, Problem
from evenhand.panel.rules import label_text

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell = str | float | int | bool | datetime.date | datetime.time | datetime.timedelta | None
"""One cell: text, a number, a truth value, a date or time, or None where the cell is empty."""

MAX_CELLS = 20_000_000
"""Most cells, empty ones included, that a file may spread over."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of one sheet or file as they stand, with what is needed to say where each came from.

    Attributes
    ----------
    names
        Header cells as text, as the user wrote them, without outer white space. A name may stand twice.
    columns
        One list per name, all of the same length. Empty cells are None; other text is verbatim.
    row_numbers
        The number of every data row in the file, as a spreadsheet program shows it.
    source
        What to call the table in messages, such as ``"scores.csv"`` or ``"scores.xlsx, sheet Scores"``.
    decimal_comma
        Whether numbers that are text use a comma as decimal mark.
    notes
        What a reader of the file should know, such as blank rows that were left out.
    column_of
        For a table that was lengthened from a wide one, the header of the column that each row came from.
    categorical
        Indices of the columns whose type says that they hold categories.
    """

    names: tuple[str, ...]
    columns: tuple[list[Cell], ...]
    row_numbers: Sequence[int]
    source: str
    decimal_comma: bool = False
    notes: tuple[Problem, ...] = ()
    column_of: Sequence[str] | None = None
    categorical: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.row_numbers)

    def where(self, row: int, column: str | None = None) -> str:
        """Say where a cell is, in words that can be followed in the file.

        Parameters
        ----------
        row
            Index of the data row, from 0.
        column
            Name of the column. For a lengthened table the column of the wide sheet is said instead.

        Returns
        -------
        str
            For instance ``"row 5, column Score"``.
        """
        named = column if self.column_of is None else self.column_of[row]
        return f"row {self.row_numbers[row]}" + (f", column {named}" if named else "")


def is_blank(cell: Cell) -> bool:
    """Say whether a cell is empty; text of nothing but white space counts as empty."""
    return cell is None or (isinstance(cell, str) and (not cell or cell.isspace()))


def header_text(cell: Cell) -> str:
    """Return a header cell as text without outer white space, so that the number 7.0 reads ``7``."""
    return "" if cell is None else label_text(cell).strip()


def listed(numbers: Sequence[int], most: int = 5) -> str:
    """Write row numbers for a message: ``row 3``, ``rows 3, 5`` or ``rows 3, 5, 8, 9, 11 and 4 more``."""
    shown = ", ".join(str(number) for number in numbers[:most])
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f"row{'s' if len(numbers) > 1 else ''} {shown}{more}"


def no_cells(source: str) -> InputError:
    """Return the error for a file or sheet without a single cell."""
    return InputError(
        "The file is empty: it needs a header row (object, assessor, score) and one row per assessment.",
        kind="empty_file",
        where=source,
    )


def no_rows(source: str) -> InputError:
    """Return the error for a table that is only a header."""
    return InputError(
        "There is a header but no row below it: add one row per assessment.", kind="empty_file", where=source
    )


def blank_rows_note(numbers: Sequence[int]) -> Problem:
    """Return the note that counts the blank rows that were left out."""
    count = f"{len(numbers)} blank row{'s' if len(numbers) > 1 else ''}"
    return Problem(
        "blank_rows", f"{count} between rows of data {'were' if len(numbers) > 1 else 'was'} left out.", listed(numbers)
    )


def arrange(
    rows: Sequence[Sequence[Cell]],
    first_row: int = 1,
    *,
    source: str,
    refuse_long_rows: bool = False,
    decimal_comma: bool = False,
    notes: Sequence[Problem] = (),
) -> Table:
    """Take the first row that is not blank as the header and arrange the rows below it in columns.

    Parameters
    ----------
    rows
        All rows of the file or sheet, in order, blank ones included.
    first_row
        Number that a spreadsheet program shows for the first of ``rows``.
    source
        What to call the table in messages.
    refuse_long_rows
        Whether a row with cells beyond the header is an error; if not, they go to columns without a name.
    decimal_comma, notes
        Passed on to the table.

    Returns
    -------
    Table
        The rows that are not blank, shorter ones filled up with None.

    Raises
    ------
    InputError
        If there is no header, no row of data, or a row longer than the header where that is refused.
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
    header, data, numbers = kept[0], kept[1:], numbers[1:]
    if not data:
        raise no_rows(source)
    width = _filled(header)
    if refuse_long_rows:
        _refuse_long(data, numbers, width, source)
    else:
        width = max(width, *map(_filled, data))
    for cells in data:
        cells[width:] = [None] * (width - len(cells))
    header[width:] = [None] * (width - len(header))
    between = [number for number in blank if number < numbers[-1]]
    return Table(
        names=tuple(header_text(cell) for cell in header),
        columns=tuple(list(column) for column in zip(*data, strict=True)),
        row_numbers=numbers if between else range(numbers[0], numbers[-1] + 1),
        source=source,
        decimal_comma=decimal_comma,
        notes=(*notes, *([blank_rows_note(between)] if between else [])),
    )


def _filled(cells: Sequence[Cell]) -> int:
    """Return the width of a row without the empty cells at its end."""
    width = len(cells)
    while width and cells[width - 1] is None:
        width -= 1
    return width


def _refuse_long(data: Sequence[Sequence[Cell]], numbers: Sequence[int], width: int, source: str) -> None:
    """Refuse rows that have cells to the right of the header."""
    problems = [
        long_row(source, number, _filled(cells), width)
        for number, cells in zip(numbers, data, strict=True)
        if len(cells) > width and _filled(cells) > width
    ]
    if problems:
        raise too_long(problems, width, source)


def long_row(source: str, number: int, filled: int, width: int) -> Problem:
    """Return the problem of a row with more cells than the header."""
    return Problem(
        "long_row",
        f"The row has {filled} cells but the header has {width}: put quotation marks around a cell that "
        "contains the delimiter, or name every column in the header.",
        f"{source}, row {number}",
    )


def too_long(problems: Sequence[Problem], width: int, source: str) -> InputError:
    """Return the error for rows that are longer than the header, which may be none."""
    if width == 1:
        message = "The first row has one cell and others have more: delete any title that stands above the header."
        return InputError(message, kind="long_row", where=source)
    return InputError(problems)
