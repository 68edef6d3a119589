"""The one writer of workbooks: text stays text, numbers keep all their digits, and sheets print as they look."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from evenhand.errors import LimitError, MissingPackageError
from evenhand.io.table import column_letters
from evenhand.look import LIGHT

if TYPE_CHECKING:
    from pathlib import Path

Value = str | int | float | bool | None
"""What a cell of a result can be."""

Bar = Literal["", "amount", "share"]
"""Bars behind numbers: none, from the smallest to the largest, or from 0 to 1."""

LineKind = Literal["title", "stop", "check", "text"]
"""Lines around a table: the finding, alerts by their weight, and plain text."""

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
_MOST_LINKS: Final = 60_000
"""Links that a sheet may have: programs refuse more than 65,530."""
_ON_A_PAGE: Final = 45
"""Rows of a table to be read that are printed on one page."""
_NARROW: Final = 100
"""Tables to be read that are not wider are printed upright."""
_TALL: Final = 800
"""Charts that are higher together are printed upright, in pixels."""
_CROWDED: Final = 60
"""Points beyond which they are drawn small."""
_BLUE: Final = "#9DC3E6"
_A4: Final = 9

INK, INK_2, RULE = LIGHT["ink"], LIGHT["ink-2"], LIGHT["rule"]
"""Text, less important text, and thin lines."""

_LINES: Final[Mapping[LineKind, Mapping[str, Any]]] = {
    "title": {"bold": True, "font_size": 16, "font_color": INK},
    "stop": {"bold": True, "font_color": "#FFFFFF", "bg_color": "#A5113C"},
    "check": {"font_color": "#A5113C", "bg_color": "#FDF2F4"},
    "text": {"font_color": INK_2},
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A cell that is computed from others, with what it comes to for programs that do not compute."""

    text: str  # made of places, never of labels
    value: float | None


@dataclass(frozen=True, slots=True)
class Link:
    """A cell that leads to another cell of the workbook."""

    value: Value
    sheet: str
    row: int  # counted from 1, as programs show it


Cell = Value | Formula | Link
"""What a cell of a sheet can be."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a sheet; columns may differ in length."""

    name: str  # its heading; a column without one is left blank
    cells: Sequence[Cell] = ()  # None is empty
    form: str = DECIMAL  # how numbers with decimals are shown; stored they have all their digits
    bar: Bar = ""
    wrap: bool = False  # whether long text is folded into several lines
    fills: Mapping[str, str] = field(default_factory=dict)  # colours of cells by their text
    widest: int = _WIDEST


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text above or below a table, as wide as the table."""

    text: str
    kind: LineKind = "text"


@dataclass(frozen=True, slots=True)
class Series:
    """What a chart draws in one colour: a column of the sheet of its data."""

    name: str  # our words, never a label
    column: int
    colour: str
    soft: str = ""  # of bars; a series without it has no intervals
    mark: str = "circle"


@dataclass(frozen=True, slots=True)
class Chart:
    """A native chart: points by rank, or bars from a middle axis; both with intervals.

    Of the sheet ``data``, labels are in the column ``labels``, and how far intervals reach in ``reach`` and the next.
    """

    kind: Literal["points", "bars"]
    title: str
    data: str
    count: int
    labels: int
    series: Sequence[Series]
    reach: int
    ends: tuple[float, float, float]  # of the axis, and the distance of its lines
    form: str
    axis: str
    row: int  # where it stands, counted from 0
    height: int  # in pixels


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: its name, its columns, how many of them stay in sight, and whether rows can be filtered.

    Lines stand ``above`` and ``below`` the table, a thick rule after its first ``places`` rows.
    """

    name: str
    columns: Sequence[Column]
    fixed: int = 0
    has_filter: bool = True
    above: Sequence[Line] = ()
    below: Sequence[Line] = ()
    places: int = 0
    charts: Sequence[Chart] = ()

    @property
    def header(self) -> int:
        """The row of the headings, counted from 0."""
        return len(self.above)

    @property
    def rows(self) -> int:
        """The number of rows below the headings."""
        return max((len(column.cells) for column in self.columns), default=0)

    @property
    def first(self) -> int:
        """The row of the first cells, counted from 1 as programs show it."""
        return self.header + 2

    def letter(self, name: str) -> str:
        """Return the letters of the column with a heading."""
        return column_letters([column.name for column in self.columns].index(name))

    def range(self, name: str) -> str:
        """Return the place of the column with a heading, for formulas."""
        letter = self.letter(name)
        return f"'{self.name}'!${letter}${self.first}:${letter}${self.header + 1 + self.rows}"


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
    by_name = {sheet.name: sheet for sheet in sheets}
    for sheet in sheets:
        written = book.add_worksheet(sheet_name(sheet.name, used))
        write_sheet(written, sheet, formats)
        for chart in sheet.charts:
            place = {"x_offset": 8, "object_position": 3}
            written.insert_chart(chart.row, 0, _drawn(book, chart, by_name[chart.data]), place)
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
    header = table.header
    if table.columns:
        sheet.freeze_panes(header + 1, table.fixed)
    lay_out(sheet, header)
    if table.above:
        sheet.set_margins(left=0.5, right=0.5, top=0.5, bottom=0.6)
        sheet.set_row(header, 2 * _LINE - 2)
        if table.rows <= _ON_A_PAGE:
            sheet.fit_to_pages(1, 1)
        is_tall = sum(chart.height for chart in table.charts) > _TALL
        if is_tall or (table.rows > _ON_A_PAGE and sum(map(_width, table.columns)) <= _NARROW):
            sheet.set_portrait()
    _set_heights(sheet, table)
    after_numbers = False
    top = {"valign": "top"} if any(column.wrap for column in table.columns) else {}
    can_link = sum(isinstance(cell, Link) for column in table.columns for cell in column.cells) <= _MOST_LINKS
    for at, column in enumerate(table.columns):
        sheet.set_column(at, at, _width(column))
        shape = _shape(column, after_numbers=after_numbers)
        after_numbers = bool(column.name) and _is_numbers(column)
        if not column.name:
            continue
        # over numbers, which stand to the right; the button of a filter takes the end of the cell, or its lower half
        indent = 2 if table.has_filter and not table.above else 0
        aside = {"align": "right", "indent": indent} if after_numbers else shape
        aside = {**aside, "valign": "top"} if table.above else aside
        sheet.write_string(header, at, column.name, formats.of_header(column.name, **aside))
        folded = {"text_wrap": True} if column.wrap else {}
        cells = _Cells(sheet, formats, column, {**shape, **top, **folded}, can_link=can_link)
        for row, value in enumerate(column.cells, 1):
            cells.write(header + row, at, value, {"bottom": 5} if row == table.places else {})
        numbers = [abs(cell) for cell in column.cells if isinstance(cell, int | float) and math.isfinite(cell)]
        if column.bar and any(numbers):
            sheet.conditional_format(header + 1, at, header + len(column.cells), at, _bar(column.bar))
    if table.columns and table.has_filter:
        sheet.autofilter(header, 0, header + max(table.rows, 1), len(table.columns) - 1)
    _write_lines(sheet, table, formats)


def _write_lines(sheet: Any, table: Sheet, formats: Formats) -> None:
    """Write the lines around a table, each across all its columns and folded there."""
    widths = [_width(column) for column in table.columns]
    start = table.header + table.rows + 2
    for row, line in [*enumerate(table.above), *enumerate(table.below, start)]:
        if not line.text:
            continue
        style = formats.of_text(line.text, text_wrap=len(widths) > 1, valign="vcenter", **_LINES[line.kind])
        if len(widths) > 1:
            sheet.merge_range(row, 0, row, len(widths) - 1, "", style)
        sheet.write_string(row, 0, line.text, style)  # which is never taken for a formula
        lines = math.ceil(text_width(line.text) * (1.5 if line.kind == "title" else 0.95) / max(sum(widths), 1))
        count = max(1, lines) if len(widths) > 1 else 1
        sheet.set_row(row, (21 if line.kind == "title" else _LINE) * count + 3)


def _is_numbers(column: Column) -> bool:
    """Say whether most cells of a column are numbers."""
    filled = [cell for cell in map(_shown_value, column.cells[:500]) if cell is not None and cell != ""]
    return 2 * sum(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in filled) > len(filled)


def _shown_value(cell: Cell) -> Value:
    """Return what a cell shows."""
    return cell.value if isinstance(cell, Formula | Link) else cell


def _shape(column: Column, *, after_numbers: bool) -> dict[str, Any]:
    """Return how cells stand: text beside a column of numbers keeps its distance."""
    return {"align": "left", "indent": 1} if after_numbers and not _is_numbers(column) else {}


def _set_heights(sheet: Any, table: Sheet) -> None:
    """Give rows in which text is folded the height of its lines, which not every program finds by itself."""
    lines: dict[int, int] = {}
    for column in table.columns:
        for row, cell in enumerate(column.cells if column.wrap else (), table.header + 1):
            if isinstance(cell, str):
                folded = sum(max(1, -(-text_width(line) // _IN_A_LINE)) for line in cell.splitlines())
                lines[row] = max(lines.get(row, 1), folded)
    for row, count in lines.items():
        if count > 1:
            sheet.set_row(row, min(_LINE * count, _TALLEST))


def lay_out(sheet: Any, header: int = 0) -> None:
    """Prepare a sheet for paper: landscape, as wide as the page, headings on every page, its name and page below."""
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(header)
    sheet.set_footer("&L&A&R&P / &N")


class _Cells:
    """The writer of the cells of a column."""

    def __init__(self, sheet: Any, formats: Formats, column: Column, shape: Mapping[str, Any], *, can_link: bool):
        self._sheet, self._formats, self._column, self._shape = sheet, formats, column, shape
        self._can_link = can_link

    def write(self, row: int, at: int, cell: Cell, rule: Mapping[str, Any]) -> None:
        """Write a cell as what it is; nothing where it is empty, except for the rule below it."""
        shape = {**self._shape, **rule}
        if isinstance(cell, Link):
            if self._can_link:
                shape |= {"underline": 1}
                place = f"internal:'{cell.sheet}'!A{cell.row}"
                # overwritten by the label itself, which so never stands in the link
                self._sheet.write_url(row, at, place, string=cell.sheet)
            cell = cell.value
        if isinstance(cell, Formula):
            style = self._formats(num_format=self._column.form, **shape)
            value = cell.value if cell.value is not None and math.isfinite(cell.value) else ""
            self._sheet.write_formula(row, at, cell.text, style, value)
        elif cell is None or cell == "":
            if rule:
                self._sheet.write_blank(row, at, None, self._formats(**shape))
        elif isinstance(cell, bool):
            self._sheet.write_boolean(row, at, cell, self._formats(**shape))
        elif isinstance(cell, int) and abs(cell) <= 2**53:
            self._sheet.write_number(row, at, cell, self._formats(**shape))
        elif isinstance(cell, float) and math.isfinite(cell):
            self._sheet.write_number(row, at, _Exact(cell), self._formats(num_format=self._column.form, **shape))
        else:
            text = str(cell)
            fill = self._column.fills.get(text)
            shape |= {} if fill is None else {"bg_color": fill}
            self._sheet.write_string(row, at, text, self._formats.of_text(text, **shape))


def _bar(kind: Bar) -> dict[str, Any]:
    # bars with an axis need an extension that other readers warn about: those are charts
    ends = {"min_type": "num", "max_type": "num", "min_value": 0, "max_value": 1} if kind == "share" else {}
    return {"type": "data_bar", "bar_color": _BLUE, **ends}


def _drawn(book: Any, chart: Chart, data: Sheet) -> Any:
    """Return a chart of a workbook."""
    is_points = chart.kind == "points"
    drawn = book.add_chart({"type": "line" if is_points else "bar"})
    first, last = data.header + 1, data.header + chart.count
    for one in chart.series:
        drawn.add_series(
            {
                "name": one.name,
                "categories": [chart.data, first, chart.labels, last, chart.labels],
                "values": [chart.data, first, one.column, last, one.column],
                **(_as_points(one, chart.count) if is_points else _as_bars(one)),
                **({"y_error_bars": _reach(chart, one, data)} if one.soft else {}),
            }
        )
    small = {"size": 9, "color": INK_2}
    drawn.set_title({"name": chart.title, "name_font": {"size": 12, "color": INK}, "overlay": False})
    drawn.set_legend({"position": "bottom", "font": small})
    turned = {"rotation": -90} if is_points and chart.count > 12 else {}
    grid = {"visible": True, "line": {"color": RULE, "width": 0.75}}
    low, high, step = chart.ends
    scale = {"min": low, "max": high, "major_unit": step, "num_format": chart.form, "num_font": small}
    amounts = {**scale, "major_gridlines": grid, "name": chart.axis, "name_font": small, "line": {"none": True}}
    named = {"num_font": {**small, **turned}, "label_position": "low", "line": {"color": INK_2}}
    named |= {"major_tick_mark": "none", "major_gridlines": {"visible": False}}
    if is_points:
        drawn.set_x_axis(named)
        drawn.set_y_axis({**amounts, "crossing": "min"})
    else:
        drawn.set_x_axis(amounts)
        drawn.set_y_axis({**named, "interval_unit": 1})  # every name
    drawn.set_size({"width": 1060, "height": chart.height})
    drawn.show_blanks_as("gap")
    return drawn


def _as_points(one: Series, count: int) -> dict[str, Any]:
    size = 3 if count > _CROWDED else 7
    mark = {"type": one.mark, "size": size, "fill": {"color": one.colour}, "border": {"color": one.colour}}
    return {"line": {"none": True}, "marker": mark}


def _as_bars(one: Series) -> dict[str, Any]:
    return {"fill": {"color": one.soft}, "border": {"none": True}, "gap": 40, "overlap": 100}


def _reach(chart: Chart, one: Series, data: Sheet) -> dict[str, Any]:
    """Return intervals: how far they reach below and above."""
    ends: dict[str, Any] = {}
    for name, at in (("minus", chart.reach), ("plus", chart.reach + 1)):
        letter, last = column_letters(at), data.header + 1 + chart.count
        ends[f"{name}_values"] = f"='{chart.data}'!${letter}${data.first}:${letter}${last}"
        ends[f"{name}_data"] = list(data.columns[at].cells[: chart.count])
    width = 0.5 if chart.count > _CROWDED else 1.25
    return {"type": "custom", **ends, "end_style": 0, "line": {"color": one.colour, "width": width}}


def check_fits(sheet: Sheet) -> None:
    """Refuse what a sheet cannot hold, since the library would leave it out."""
    if len(sheet.columns) > _MOST_COLUMNS or any(len(column.cells) > _MOST_ROWS for column in sheet.columns):
        message = f"The table {sheet.name!r} is larger than a sheet of a workbook can be"
        raise LimitError(f"{message}: write it as .csv or .parquet.")
    for column in sheet.columns:
        for value in (column.name, *map(_shown_value, column.cells)):
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
    decimals = len(column.form.partition(";")[0].partition(".")[2])
    shown = (_shown(value, decimals) for value in map(_shown_value, column.cells[:500]) if value is not None)
    return min(column.widest, max(8, text_width(column.name) + 4, max(shown, default=0) + 2))


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
