"""Wide sheets, objects down and assessors across, turned into one row per assessment."""

from __future__ import annotations

from evenhand.errors import InputError, Problem
from evenhand.io.table import Cell, Table
from evenhand.panel.roles import find_column


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
        Columns ``object``, ``assessor`` and ``score``, with the row numbers of the wide sheet and ``column_of``
        naming its columns. Empty cells mean "not assessed": they are left out and counted in a note.

    Raises
    ------
    InputError
        If two columns name the same assessor, a column of scores has no header, or there is no score.
    """
    source = table.source if source is None else source
    if object is not None:
        down = find_column(table.names, object, option="object", source=source)
    else:
        down = next(index for index in range(len(table.names)) if table.names[index] or _has_cells(table, index))
    across = [index for index in range(len(table.names)) if index != down and _is_assessor(table, index, source)]
    if not across:
        raise InputError(
            "There is no column of an assessor beside the objects: a wide sheet has one column for each assessor.",
            kind="missing_column",
            where=source,
        )
    _refuse_twice([table.names[index] for index in across], source)
    objects: list[Cell] = []
    assessors: list[Cell] = []
    scores: list[Cell] = []
    numbers: list[int] = []
    for row, number in enumerate(table.row_numbers):
        for index in across:
            cell = table.columns[index][row]
            if cell is not None:
                objects.append(table.columns[down][row])
                assessors.append(table.names[index])
                scores.append(cell)
                numbers.append(number)
    if not scores:
        raise InputError(
            "Every cell is empty: write the scores below the names of the assessors.", kind="empty_file", where=source
        )
    notes = list(table.notes)
    empty = len(across) * len(table) - len(scores)
    if empty:
        cells = "1 empty cell is" if empty == 1 else f"{empty:,} empty cells are"
        notes.append(Problem("not_assessed", f"{cells} taken as not assessed and left out.", source))
    return Table(
        names=("object", "assessor", "score"),
        columns=(objects, assessors, scores),
        row_numbers=numbers,
        source=source,
        decimal_comma=table.decimal_comma,
        notes=tuple(notes),
        column_of=[str(label) for label in assessors],
    )


def _has_cells(table: Table, index: int) -> bool:
    return any(cell is not None for cell in table.columns[index])


def _is_assessor(table: Table, index: int, source: str) -> bool:
    """Say whether a column is an assessor's; a column without a header must be empty."""
    if table.names[index]:
        return True
    for row, cell in enumerate(table.columns[index]):
        if cell is not None:
            before = table.names[index - 1] if index else ""
            beside = f" (right of {before!r})" if before else ""
            raise InputError(
                f"Column {index + 1} of the table{beside} has cells but no header: write the assessor's name above it.",
                kind="bad_header",
                where=f"{source}, row {table.row_numbers[row]}",
            )
    return False


def _refuse_twice(labels: list[str], source: str) -> None:
    """Refuse an assessor whose name stands above two columns."""
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise InputError(
                f"Two columns are headed {label!r}: give each assessor one column, or two different names.",
                kind="bad_header",
                where=source,
            )
        seen.add(label)
