"""The one writer of workbooks: text stays text, numbers keep all their digits, and sheets print as they look."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from evenhand.errors import LimitError, MissingPackageError

if TYPE_CHECKING:
    from pathlib import Path

Value = str | int | float | bool | None
"""What a cell of a result can be."""

Bar = Literal["", "amount", "either side", "share"]
"""Bars behind numbers: none, from the smallest to the largest, as far below zero as above it, or from 0 to 1."""

HOSTILE_START: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # the last four are full-width
"""How text begins that a spreadsheet program would take for a formula."""

DECIMAL: Final = "0.000"
"""How numbers are shown unless a column says otherwise."""

_BAD_IN_SHEET_NAME = re.compile(r"[\[\]:*?/\\\x00-\x1f]+")
_LONGEST_TEXT: Final = 32_767
_MOST_ROWS: Final = 1_048_575
_MOST_COLUMNS: Final = 16_384
_WIDEST: Final = 60
_WRAPPED: Final = 100
_IN_A_LINE: Final = 105
"""Letters that fit into a line of folded text."""
_LINE: Final = 15
_TALLEST: Final = 409
"""Heights in points, of a line and of the tallest row that there can be."""
_BLUE: Final = "#9DC3E6"
_A4: Final = 9


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a sheet; columns may differ in length."""

    name: str  # its heading; a column without one is left blank
    cells: Sequence[Value] = ()  # None is empty
    form: str = DECIMAL  # how numbers with decimals are shown; stored they have all their digits
    bar: Bar = ""
    wrap: bool = False  # whether long text is folded into several lines


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: its name, its columns, how many of them stay in sight, and whether rows can be filtered."""

    name: str
    columns: Sequence[Column]
    fixed: int = 0
    has_filter: bool = True


def open_workbook(file: Path) -> Any:  # xlsxwriter has no types
    """Return a new workbook in which no text is taken for a formula, a link or a number."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingPackageError("xlsxwriter", "Writing a workbook", "xlsxwriter") from None
    taken = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    return xlsxwriter.Workbook(str(file), {"in_memory": True, **taken})


def write_sheets(file: Path, sheets: Sequence[Sheet]) -> None:
    """Write a workbook, unless a sheet has more rows or columns, or a cell more text, than a workbook can hold."""
    for sheet in sheets:
        check_fits(sheet)
    book = open_workbook(file)
    formats = Formats(book)
    used: set[str] = set()
    for sheet in sheets:
        write_sheet(book.add_worksheet(sheet_name(sheet.name, used)), sheet, formats)
    book.close()


class Formats:
    """The formats of a workbook, each made when it is first asked for."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._made: dict[tuple[tuple[str, Any], ...], Any] = {}

    def __call__(self, **wanted: Any) -> Any:
        """Return the format with some properties; None for none."""
        key = tuple(sorted(wanted.items()))
        if wanted and key not in self._made:
            self._made[key] = self._book.add_format(wanted)
        return self._made.get(key)

    def of_text(self, text: str, **wanted: Any) -> Any:
        """Return the format of a cell of text, marked as text where it looks like a formula."""
        return self(**wanted, **({"quote_prefix": True} if text.startswith(HOSTILE_START) else {}))

    def of_header(self, text: str, **wanted: Any) -> Any:
        """Return the format of a heading."""
        return self.of_text(text, bold=True, bottom=1, **wanted)


class _Exact(float):
    """A number that is written with all its digits, where xlsxwriter would write sixteen."""

    def __format__(self, _: str) -> str:
        return repr(float(self))


def write_sheet(sheet: Any, table: Sheet, formats: Formats) -> None:
    """Write the headings and cells of a sheet, and lay it out."""
    sheet.freeze_panes(1, table.fixed)
    lay_out(sheet)
    _set_heights(sheet, table.columns)
    after_numbers = False
    top = {"valign": "top"} if any(column.wrap for column in table.columns) else {}
    for at, column in enumerate(table.columns):
        sheet.set_column(at, at, _width(column))
        shape = _shape(column, after_numbers=after_numbers)
        after_numbers = bool(column.name) and _is_numbers(column)
        if not column.name:
            continue
        # over numbers, which stand to the right; the button of a filter takes the end of the cell
        aside = {"align": "right", "indent": 2 if table.has_filter else 0} if after_numbers else shape
        sheet.write_string(0, at, column.name, formats.of_header(column.name, **aside))
        folded = {"text_wrap": True} if column.wrap else {}
        _write_cells(sheet, at, column, {**shape, **top, **folded}, formats)
        numbers = [abs(cell) for cell in column.cells if isinstance(cell, int | float) and math.isfinite(cell)]
        if column.bar and any(numbers):
            sheet.conditional_format(1, at, len(column.cells), at, _bar(column.bar, max(numbers)))
    if table.columns and table.has_filter:
        rows = max(len(column.cells) for column in table.columns)
        sheet.autofilter(0, 0, max(rows, 1), len(table.columns) - 1)


def _is_numbers(column: Column) -> bool:
    """Say whether most cells of a column are numbers."""
    filled = [cell for cell in column.cells[:500] if cell is not None and cell != ""]
    return 2 * sum(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in filled) > len(filled)


def _shape(column: Column, *, after_numbers: bool) -> dict[str, Any]:
    """Return how cells stand: text beside a column of numbers keeps its distance."""
    return {"align": "left", "indent": 1} if after_numbers and not _is_numbers(column) else {}


def _set_heights(sheet: Any, columns: Sequence[Column]) -> None:
    """Give rows in which text is folded the height of its lines, which not every program finds by itself."""
    lines: dict[int, int] = {}
    for column in columns:
        for row, cell in enumerate(column.cells if column.wrap else (), 1):
            if isinstance(cell, str):
                folded = sum(max(1, -(-text_width(line) // _IN_A_LINE)) for line in cell.splitlines())
                lines[row] = max(lines.get(row, 1), folded)
    for row, count in lines.items():
        if count > 1:
            sheet.set_row(row, min(_LINE * count, _TALLEST))


def lay_out(sheet: Any) -> None:
    """Prepare a sheet for paper: landscape, as wide as the page, headings on every page, its name and page below."""
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    sheet.set_footer("&L&A&R&P / &N")


def _write_cells(sheet: Any, at: int, column: Column, shape: Mapping[str, Any], formats: Formats) -> None:
    plain, decimal = formats(**shape), formats(num_format=column.form, **shape)
    for row, value in enumerate(column.cells, 1):
        if value is None or value == "":
            continue
        if isinstance(value, bool):
            sheet.write_boolean(row, at, value, plain)
        elif isinstance(value, int) and abs(value) <= 2**53:
            sheet.write_number(row, at, value, plain)
        elif isinstance(value, float) and math.isfinite(value):
            sheet.write_number(row, at, _Exact(value), decimal)
        else:
            text = str(value)
            hostile = text.startswith(HOSTILE_START)
            sheet.write_string(row, at, text, formats.of_text(text, **shape) if hostile else plain)


def _bar(kind: Bar, largest: float) -> dict[str, Any]:
    # bars with an axis need an extension that other readers warn about
    ends = {"share": (0, 1), "either side": (-largest, largest)}.get(kind)
    bar: dict[str, Any] = {"type": "data_bar", "bar_color": _BLUE}
    if ends is not None:
        bar |= {"min_type": "num", "max_type": "num", "min_value": ends[0], "max_value": ends[1]}
    return bar


def check_fits(sheet: Sheet) -> None:
    """Refuse what a sheet cannot hold, since the library would leave it out."""
    if len(sheet.columns) > _MOST_COLUMNS or any(len(column.cells) > _MOST_ROWS for column in sheet.columns):
        message = f"The table {sheet.name!r} is larger than a sheet of a workbook can be"
        raise LimitError(f"{message}: write it as .csv or .parquet.")
    for column in sheet.columns:
        for value in (column.name, *column.cells):
            if isinstance(value, str) and len(value) > _LONGEST_TEXT:
                which = f"The text {value[:40]!r}... in column {column.name[:40]!r}"
                most = f"the {_LONGEST_TEXT:,} characters that a cell of a workbook can hold"
                raise LimitError(f"{which} is longer than {most}: write it as .csv or .parquet.")
            if isinstance(value, str):
                value.encode()  # fails here, not half way, on what no file can hold


def sheet_name(name: str, used: set[str]) -> str:
    """Return a name that a sheet may have and no other sheet has."""
    base = _BAD_IN_SHEET_NAME.sub(" ", name).strip(" '")[:31] or "table"
    chosen, number = base, 2
    while chosen.casefold() in used or chosen.casefold() == "history":
        ending = f" {number}"
        chosen, number = base[: 31 - len(ending)] + ending, number + 1
    used.add(chosen.casefold())
    return chosen


def _width(column: Column) -> int:
    """Return a width that shows the heading and most cells."""
    if column.wrap:
        return _WRAPPED
    if not column.name:
        return 3
    decimals = len(column.form.partition(".")[2])
    shown = (_shown(value, decimals) for value in column.cells[:500] if value is not None)
    return min(_WIDEST, max(8, text_width(column.name) + 4, max(shown, default=0) + 2))


def _shown(value: Value, decimals: int) -> int:
    if isinstance(value, float) and math.isfinite(value):
        return min(14, max(6, len(f"{value:.0f}") + 1 + decimals))
    return text_width(str(value))


def text_width(text: str) -> int:
    """Return how many columns text takes: those of its longest line, wide characters counted twice.

    Examples
    --------
    >>> text_width("abc"), text_width("東京")
    (3, 4)
    """
    lines = text[:1000].splitlines() or [""]
    return max(sum(2 if unicodedata.east_asian_width(letter) in "FW" else 1 for letter in line) for line in lines)
