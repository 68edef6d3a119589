"""Workbooks: xlsx, xlsm and ods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.errors import InputError, MissingPackageError, Problem
from evenhand.io.guard import inspect_workbook
from evenhand.io.paths import MAX_UNPACKED, regular_file
from evenhand.io.table import Cell, Table, arrange, is_blank

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from python_calamine import CalamineSheet, CalamineWorkbook

    from evenhand.io.markup import SheetFacts


TEMPLATE_SHEETS = ("evenhand instructions", "evenhand lists")
"""Sheets that a template has beside that of the scores; without being asked for they are not read."""


def read_spreadsheet(
    path: str | os.PathLike[str], sheet: str | None = None, *, max_unpacked: int = MAX_UNPACKED
) -> Table:
    """Read one sheet of a workbook.

    Parameters
    ----------
    path
        An xlsx, xlsm or ods file. It is inspected by `evenhand.io.guard` before it is unpacked.
    sheet
        Name of the sheet; the first visible one that is not blank if None, with a note that names the others.
    max_unpacked
        Most bytes that the workbook may hold once it is unpacked.

    Returns
    -------
    Table
        The cells. Numbers stay numbers, whole ones as int; a cell that shows an error such as ``#N/A`` is that
        text, so that it is not taken for an empty one.

    Raises
    ------
    InputError
        If the file cannot be read, is not what its suffix says, or has no such sheet.
    """
    place = regular_file(path)
    facts = inspect_workbook(place, max_unpacked=max_unpacked)
    try:
        import python_calamine
    except ImportError:
        raise MissingPackageError("python-calamine", "Reading a workbook", "python-calamine") from None
    try:
        with python_calamine.CalamineWorkbook.from_path(str(place)) as workbook:
            return _read(workbook, facts, sheet, place.name)
    except InputError:
        raise
    except BaseException as error:
        # A panic inside the library is a BaseException of its own; everything else of that kind is not ours.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(
            f"The workbook cannot be read ({_one_line(error)}): open it in a spreadsheet program and save it again.",
            kind="damaged",
            where=place.name,
        ) from None


def _read(workbook: CalamineWorkbook, facts: Mapping[str, SheetFacts], wanted: str | None, file: str) -> Table:
    """Read the sheet that was asked for, or the first that holds more than a line."""
    names = _worksheets(workbook)
    if wanted is not None:
        name = _named(names, wanted, file)
        return arrange(*_cells(workbook, name, facts), source=f"{file}, sheet {name}")
    names = [name for name in names if name.strip().casefold() not in TEMPLATE_SHEETS] or names
    for position, name in enumerate(names):
        if name in facts and not facts[name].filled and not facts[name].unreadable:
            continue
        rows, first_row = _cells(workbook, name, facts)
        filled = sum(any(not is_blank(cell) for cell in row) for row in rows)
        more = any(other in facts and facts[other].filled for other in names[position + 1 :])
        if not filled or (filled == 1 and more):
            continue  # blank, or one line of text before the sheet that holds the table
        others = [other for other in names[position + 1 :] if other not in facts or facts[other].filled]
        return arrange(rows, first_row, source=f"{file}, sheet {name}", notes=_others_note(name, others, file))
    raise InputError(
        "Every sheet of the workbook is blank: it needs a header row (object, assessor, score) and one row per "
        "assessment.",
        kind="empty_file",
        where=file,
    )


def _worksheets(workbook: CalamineWorkbook) -> list[str]:
    """Return the names of the sheets with cells, visible ones first."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [entry for entry in workbook.sheets_metadata if entry.typ == SheetTypeEnum.WorkSheet]
    return [entry.name for entry in sorted(sheets, key=lambda entry: entry.visible != SheetVisibleEnum.Visible)]


def _named(names: Sequence[str], wanted: str, file: str) -> str:
    """Return the sheet of that name, exactly or else without regard to case and outer white space."""
    if wanted in names:
        return wanted
    alike = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    if len(alike) == 1:
        return alike[0]
    raise InputError(
        f"There is no sheet {wanted!r}; the sheets are {', '.join(map(repr, names))}.", kind="missing_sheet", where=file
    )


def _cells(workbook: CalamineWorkbook, name: str, facts: Mapping[str, SheetFacts]) -> tuple[list[list[Cell]], int]:
    """Return the rows of a sheet from its first filled one on, and the number of that row."""
    sheet: CalamineSheet = workbook.get_sheet_by_name(name)
    rows: list[list[Cell]] = [[_plain(cell) for cell in row] for row in sheet.to_python()]
    top, left = sheet.start or (0, 0)
    unreadable = facts[name].unreadable if name in facts else []
    if not unreadable:
        return rows, top + 1
    # A formula without a result may stand outside the cells that the library gives.
    up = top - min(top, *(row for row, *_ in unreadable))
    back = left - min(left, *(column for _, column, *_ in unreadable))
    top, left = top - up, left - back
    height = max(len(rows) + up, *(row + rows_ - top for row, _, rows_, *_ in unreadable))
    width = max(
        max(map(len, rows), default=0) + back, *(column + columns - left for _, column, _, columns, _ in unreadable)
    )
    whole: list[list[Cell]] = [[None] * width for _ in range(height)]
    for i, cells in enumerate(rows, up):
        whole[i][back : back + len(cells)] = cells
    for row, column, rows_, columns, text in unreadable:
        for i in range(row - top, row - top + rows_):
            whole[i][column - left : column - left + columns] = [text] * columns
    return whole, top + 1


def _plain(cell: Cell) -> Cell:
    """Return a whole number as int, so that the label 7 does not turn into ``7.0``."""
    if type(cell) is float and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell


def _others_note(name: str, others: Sequence[str], file: str) -> list[Problem]:
    """Return the note on sheets that were not read."""
    if not others:
        return []
    which = ", ".join(map(repr, others))
    return [Problem("sheets", f"Only the sheet {name!r} was read, not {which}: choose another one with --sheet.", file)]


def _one_line(error: BaseException) -> str:
    """Return the first line of an error's text, shortened."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")
