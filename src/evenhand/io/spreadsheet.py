"""Workbooks: xlsx, xlsm and ods."""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from typing import TYPE_CHECKING, Final, TypeVar

from evenhand.errors import InputError, MissingPackageError, Problem
from evenhand.io.guard import SheetFacts, inspect_workbook, is_locked
from evenhand.io.paths import MAX_UNPACKED, in_bytes, reason_of, regular_file, too_large
from evenhand.io.table import Cell, Table, arrange, column_letters, is_blank, no_cells, only_sheet
from evenhand.words import name_some, remark

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from python_calamine import CalamineSheet, CalamineWorkbook


T = TypeVar("T")

OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a workbook of the old kind, .xls, begins."""

MAX_OLD: Final = 32 * 2**20
"""Most bytes of a workbook of the old kind, which is not compressed and cannot be inspected before it is read."""

TEMPLATE_SHEETS = ("evenhand instructions", "evenhand lists")
"""Sheets that a template has beside that of the scores; without being asked for they are not read."""

_ERROR_CELL = re.compile(rb"(<(?:[\w.-]+:)?c\s(?:[^<>]*?\s)?t\s*=\s*[\"'])e(?=[\"'])")


def read_spreadsheet(
    path: str | os.PathLike[str], sheet: str | None = None, *, max_unpacked: int = MAX_UNPACKED
) -> Table:
    """Read one sheet of a workbook: the one that is named, or the first visible one that is not blank, with a note.

    Numbers stay numbers, whole ones as int; a cell that shows an error such as ``#N/A`` is that text, so that it is not
    taken for an empty one. The file is inspected by `evenhand.io.guard` before it is unpacked, to at most
    ``max_unpacked`` bytes.
    """
    return _opened(path, max_unpacked, lambda workbook, facts, place: _read(workbook, facts, sheet, place))


def read_sheets(path: str | os.PathLike[str], *, max_unpacked: int = MAX_UNPACKED) -> tuple[list[Table], list[str]]:
    """Return the visible sheets of a workbook that are tables, and the names of others that hold something.

    Sheets of a template are left out. Where there is no table, the refusal of the first sheet is raised.
    """

    def read(workbook: CalamineWorkbook, facts: Mapping[str, SheetFacts], place: Path) -> tuple[list[Table], list[str]]:
        found: list[Table] = []
        others: list[str] = []
        seen = _worksheets(workbook, is_seen=True)
        for name in _worksheets(workbook):
            if name.strip().casefold() in TEMPLATE_SHEETS or (name in facts and not facts[name].filled):
                continue
            try:
                rows, first_row, notes = _cells(workbook, name, facts.get(name), place)
                table = arrange(rows, first_row, source=f"{place.name}, sheet {name}", notes=notes)
            except InputError as error:
                if error.kind == "damaged":
                    raise
                others += [name] if error.kind == "empty_file" and any(map(any, rows)) else []
                continue
            if name in seen:
                found.append(table)
            else:
                others.append(name)
        return (found, others) if found else ([_read(workbook, facts, None, place)], [])

    return _opened(path, max_unpacked, read)


def sheet_names(path: str | os.PathLike[str], *, max_unpacked: int = MAX_UNPACKED) -> list[str]:
    """Return the names of the sheets that a reader of a workbook sees."""
    return _opened(path, max_unpacked, lambda workbook, _facts, _place: _worksheets(workbook, is_seen=True))


def _opened(
    path: str | os.PathLike[str],
    max_unpacked: int,
    read: Callable[[CalamineWorkbook, Mapping[str, SheetFacts], Path], T],
) -> T:
    """Return what is read of a workbook, which is inspected before it is unpacked."""
    place = regular_file(path)
    with place.open("rb") as file:
        is_old = file.read(8) == OLD_WORKBOOK
    if is_old and place.stat().st_size > MAX_OLD:
        raise too_large(
            place.name, remark("The old workbook holds {size}", size=in_bytes(place.stat().st_size)), MAX_OLD
        )
    facts = {} if is_old and not is_locked(place) else inspect_workbook(place, max_unpacked=max_unpacked)
    try:
        import python_calamine
    except ImportError:
        raise MissingPackageError("python-calamine", "Reading a workbook", "python-calamine") from None
    try:
        with contextlib.ExitStack() as opened:
            source = opened.enter_context(place.open("rb")) if is_old else str(place)
            return read(opened.enter_context(python_calamine.load_workbook(source)), facts, place)
    except InputError:
        raise
    except BaseException as error:
        # A panic inside the library is a BaseException of its own; everything else of that kind is not ours.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        message = remark(
            "The workbook cannot be read ({reason}): open it in a spreadsheet program and save it again.",
            reason=reason_of(str(error) or type(error).__name__),
        )
        raise InputError(message, kind="damaged", where=place.name) from None


def _read(workbook: CalamineWorkbook, facts: Mapping[str, SheetFacts], wanted: str | None, place: Path) -> Table:
    """Read the sheet that was asked for, or the first that holds more than a line."""
    names = _worksheets(workbook)
    if wanted is not None:
        names = [_named(names, wanted, place.name)]
    else:
        names = [name for name in names if name.strip().casefold() not in TEMPLATE_SHEETS] or names
    for position, name in enumerate(names):
        if wanted is None and name in facts and not facts[name].filled:
            continue
        rows, first_row, notes = _cells(workbook, name, facts.get(name), place)
        filled = sum(any(not is_blank(cell) for cell in row) for row in rows)
        others = [other for other in names[position + 1 :] if other not in facts or facts[other].filled]
        if wanted is None and (not filled or (filled == 1 and any(other in facts for other in others))):
            continue  # blank, or one line of text before the sheet that holds the table
        if others:
            notes.append(only_sheet(name, ", ".join(map(repr, others)), place.name))
        return arrange(rows, first_row, source=f"{place.name}, sheet {name}", notes=notes)
    raise no_cells(place.name, is_workbook=True)


def _worksheets(workbook: CalamineWorkbook, *, is_seen: bool = False) -> list[str]:
    """Return the names of the sheets with cells, visible ones first, or these alone."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [entry for entry in workbook.sheets_metadata if entry.typ == SheetTypeEnum.WorkSheet]
    if is_seen:
        sheets = [entry for entry in sheets if entry.visible == SheetVisibleEnum.Visible] or sheets
    return [entry.name for entry in sorted(sheets, key=lambda entry: entry.visible != SheetVisibleEnum.Visible)]


def _named(names: Sequence[str], wanted: str, file: str) -> str:
    """Return the sheet of that name, exactly or else without regard to case and outer white space."""
    if wanted in names:
        return wanted
    alike = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    if len(alike) == 1:
        return alike[0]
    message = remark(
        "There is no sheet {sheet}; the sheets are {sheets}.", sheet=repr(wanted), sheets=", ".join(map(repr, names))
    )
    raise InputError(message, kind="missing_sheet", where=file)


def _cells(
    workbook: CalamineWorkbook, name: str, facts: SheetFacts | None, place: Path
) -> tuple[list[list[Cell]], int, list[Problem]]:
    """Return the rows of a sheet from its first filled one on, the number of that row, and notes on the cells."""
    facts = facts or SheetFacts()
    notes = _claims(facts, f"{place.name}, sheet {name}")
    if facts.has_new_errors:
        with type(workbook).from_filelike(_with_errors_as_text(place, facts.part)) as copy:
            rows, top, left = _values(copy.get_sheet_by_name(name))
    else:
        rows, top, left = _values(workbook.get_sheet_by_name(name))
    if facts.unreadable:  # which may stand outside the cells that the library gives
        up = max(0, top - min(row for row, *_ in facts.unreadable))
        back = max(0, left - min(column for _, column, *_ in facts.unreadable))
        top, left = top - up, left - back
        rows = [*([] for _ in range(up)), *([None] * back + cells for cells in rows)]
    for row, column, height, width, text in facts.unreadable:
        rows.extend([] for _ in range(row + height - top - len(rows)))
        for cells in rows[row - top : row - top + height]:
            cells.extend([None] * (column + width - left - len(cells)))
            cells[column - left : column - left + width] = [text] * width
    return rows, top + 1, notes


def _values(sheet: CalamineSheet) -> tuple[list[list[Cell]], int, int]:
    """Return the cells that the library gives, with the first row and column, from 0.

    Whole numbers become int, so that the label 7 does not turn into ``7.0``.
    """
    rows: list[list[Cell]] = [
        [int(cell) if type(cell) is float and cell.is_integer() and abs(cell) < 2**53 else cell for cell in row]
        for row in sheet.to_python()
    ]
    return rows, *(sheet.start or (0, 0))


def _with_errors_as_text(place: Path, part: str) -> io.BytesIO:
    """Return a copy of a workbook in which errors of one sheet are text, for a library that does not know them all."""
    copy = io.BytesIO()
    with zipfile.ZipFile(place) as old, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for entry in old.infolist():
            content = old.read(entry)
            is_sheet = entry.filename.lower() == part
            new.writestr(entry.filename, _ERROR_CELL.sub(rb"\1str", content) if is_sheet else content)
    copy.seek(0)
    return copy


def _claims(facts: SheetFacts, source: str) -> list[Problem]:
    """Refuse a sheet in which a cell stands twice with different values; note those with the same."""
    if not facts.claims:
        return []
    differ = sorted(at for at, is_conflict in facts.claims.items() if is_conflict)
    cells = [f"{column_letters(column)}{row + 1}" for row, column in differ or sorted(facts.claims)]
    if not differ:
        message = remark(
            "The cell {cells} stands twice in the sheet, with the same value."
            if len(cells) == 1
            else "The cells {cells} stand twice in the sheet, with the same value.",
            cells=name_some(cells),
        )
        return [Problem("repeated_cells", message, source)]
    row, column = differ[0]
    message = remark(
        "The cell {cells} stands twice in the sheet, with different values: open the workbook in a spreadsheet "
        "program, see which is right and save it again."
        if len(cells) == 1
        else "The cells {cells} stand twice in the sheet, with different values: open the workbook in a spreadsheet "
        "program, see which is right and save it again.",
        cells=name_some(cells),
    )
    place = remark("row {row}, column {name}", row=row + 1, name=column_letters(column))
    raise InputError(message, kind="damaged", where=remark("{source}, {place}", source=source, place=place))
