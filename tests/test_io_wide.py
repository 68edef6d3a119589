"""Wide sheets become one row per score."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InputError, Problem
from evenhand.panel import layout
from evenhand.panel.column import Cell, Table, factorise
from evenhand.panel.understand import understand


def lengthen(wide: Table, object: str | None = None) -> Table:
    return layout.lengthen(wide, understand(wide, layout.Given(object=object, layout="wide")))[0]


def table(names: list[str], *rows: list[Cell], numbers: list[int] | None = None) -> Table:
    columns = tuple(factorise(name, cells) for name, *cells in zip(names, *rows, strict=True))
    return Table(tuple(names), columns, np.array(numbers or range(2, len(rows) + 2)), source="panel.xlsx, sheet Scores")


def test_every_filled_cell_becomes_a_row_that_knows_its_place() -> None:
    long = lengthen(table(["Proposal", "AB", "CD"], ["P1", 7, None], ["P2", "x", 5.5], numbers=[3, 8]))
    assert long.names == ("Proposal", "assessor", "score")
    assert long.cells == (["P1", "P2", "P2"], ["AB", "AB", "CD"], [7, "x", 5.5])
    assert list(long.row_numbers) == [3, 8, 8]
    assert long.where(1, "score") == "row 8, column AB"
    assert long.where(2) == "row 8, column CD"


def test_empty_cells_are_counted_in_a_note_and_earlier_notes_are_kept() -> None:
    wide = table(["", "AB", "CD"], ["P1", 7, None], ["P2", None, None])
    wide = Table(wide.names, wide.columns, wide.row_numbers, wide.source, True, (Problem("sheets", "x"),))
    long = lengthen(wide)
    assert long.decimal_comma
    assert [note.kind for note in long.notes] == ["sheets", "not_assessed"]
    assert "3 empty cells" in long.notes[1].message
    full = lengthen(table(["", "AB"], ["P1", 7]))
    assert full.notes == ()


def test_objects_may_stand_in_a_named_column() -> None:
    long = lengthen(table(["AB", "Title ", "CD"], [1, "P", 2]), object="title")
    assert long.cells == (["P", "P"], ["AB", "CD"], [1, 2])


def test_a_named_column_that_is_missing_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"panel.xlsx, sheet Scores: .*'nothing'.*'AB'") as caught:
        lengthen(table(["object", "AB"], ["P", 1]), object="nothing")
    assert caught.value.kind == "missing_column"


def test_a_score_without_an_object_is_left_for_the_panel_to_refuse() -> None:
    assert lengthen(table(["o", "AB"], [None, 1], ["P", 2])).columns[0] == [None, "P"]


def test_empty_columns_without_a_header_are_no_assessors() -> None:
    long = lengthen(table(["", "o", "", "AB", ""], [None, "P", None, 1, None]))
    assert long.cells == (["P"], ["AB"], [1])
    assert long.notes == ()


@pytest.mark.parametrize(
    ("names", "row", "words"),
    [
        (["o", "AB", "AB"], ["P", 1, 2], "'AB'"),
        (["o", "AB", ""], ["P", 1, 2], r"row 2: Column 3 of the table \(right of 'AB'\)"),
        (["o"], ["P"], "no column of an assessor"),
        (["o", "AB"], ["P", None], "Every cell is empty"),
    ],
)
def test_sheets_that_cannot_be_lengthened_are_refused(names: list[str], row: list[Cell], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        lengthen(table(names, row))
    assert caught.value.where is not None
    assert caught.value.where.startswith("panel.xlsx, sheet Scores")
