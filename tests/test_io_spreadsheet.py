"""Workbooks as people have them: sheets, numbers, errors and blank rows."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter

from evenhand.errors import InputError
from evenhand.io import read_panel, read_table
from evenhand.io.spreadsheet import read_spreadsheet
from evenhand.io.table import Cell
from evenhand.panel.layout import recognise

HEADER: list[Cell] = ["object", "assessor", "score"]


def workbook(file: Path, sheets: dict[str, list[list[Cell]]], hidden: tuple[str, ...] = ()) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name in hidden:
            sheet.sheet_state = "hidden"
    book.save(file)
    return file


def ods(file: Path, tables: str) -> Path:
    spaces = " ".join(f'xmlns:{p}="urn:oasis:names:tc:opendocument:xmlns:{p}:1.0"' for p in ("office", "table", "text"))
    spaces += ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml", '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
            "</office:body></office:document-content>",
        )
    return file


def replace_in_sheet(file: Path, old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_numbers_stay_numbers_and_whole_ones_are_int(tmp_path: Path) -> None:
    day = datetime.date(2024, 5, 6)
    rows: list[list[Cell]] = [
        ["object", 7.0, "score", "yes", "day"],
        [7.0, "007", 6.25, True, day],
        [1e300, " x ", -3, False, day],
    ]
    table = read_spreadsheet(workbook(tmp_path / "a.xlsx", {"Scores": rows}))
    assert table.names == ("object", "7", "score", "yes", "day")
    assert table.cells == ([7, 1e300], ["007", " x "], [6.25, -3], [True, False], [day, day])
    kinds = [type(table.columns[column][row]) for column in (0, 2, 3) for row in (0, 1)]
    assert kinds == [int, float, float, int, bool, bool]
    assert table.source == "a.xlsx, sheet Scores"


def test_the_same_cells_come_out_of_xlsm(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.XLSM", {"Scores": [HEADER, ["P", "A", 7]]})
    assert read_table(file).cells == (["P"], ["A"], [7])


def test_row_numbers_are_those_that_the_program_shows(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(3, 2, HEADER)
        sheet.write_row(4, 2, ["P", "A", 1])
        sheet.write_row(6, 2, ["Q", "A", 2])
        sheet.write_row(7, 2, [" ", None, ""])
        sheet.write_row(8, 2, ["R", "A", 3])
    table = read_spreadsheet(file)
    assert table.names == ("object", "assessor", "score")
    assert list(table.row_numbers) == [5, 7, 9]
    assert [(note.kind, note.where) for note in table.notes] == [("blank_rows", "rows 6, 8")]


def test_the_first_sheet_that_is_not_blank_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    sheets: dict[str, list[list[Cell]]] = {
        "Cover": [],
        "Lists": [["x"], ["y"]],
        "Spaces": [["  "]],
        "Scores": [HEADER, ["P", "A", 1]],
        "Old": [HEADER, ["P", "A", 2]],
        "Blank": [],
    }
    table = read_spreadsheet(workbook(tmp_path / "a.xlsx", sheets, hidden=("Lists",)))
    assert table.source == "a.xlsx, sheet Scores"
    (note,) = table.notes
    assert note.kind == "sheets"
    assert "'Old', 'Lists'" in note.message
    assert "Blank" not in note.message
    assert "another one with sheet" in note.message


def test_a_hidden_sheet_is_read_if_there_is_no_other(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", {"Front": [], "Scores": [HEADER, ["P", "A", 1]]}, hidden=("Scores",))
    assert read_spreadsheet(file).source == "a.xlsx, sheet Scores"


def test_a_named_sheet_is_read_in_any_case_without_a_note(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", {"One": [HEADER, ["P", "A", 1]], "Two": [HEADER, ["P", "A", 2]]})
    for name in ("Two", "two "):
        table = read_spreadsheet(file, name)
        assert table.columns[2] == [2]
        assert table.notes == ()


def test_a_sheet_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", {"One": [HEADER], "Two": [HEADER]})
    with pytest.raises(InputError, match="no sheet 'Three'; the sheets are 'One', 'Two'") as caught:
        read_spreadsheet(file, "Three")
    assert caught.value.kind == "missing_sheet"


@pytest.mark.parametrize(
    ("sheets", "words"),
    [
        ({"One": [], "Two": [[" "]]}, "Every sheet of the workbook is blank"),
        ({"One": [HEADER]}, "no row below"),
    ],
)
def test_workbooks_without_data_are_refused(tmp_path: Path, sheets: dict[str, list[list[Cell]]], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_spreadsheet(workbook(tmp_path / "a.xlsx", sheets))
    assert caught.value.kind == "empty_file"


def test_a_named_sheet_without_cells_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.xlsx, sheet One: The file is empty"):
        read_spreadsheet(workbook(tmp_path / "a.xlsx", {"One": []}), "One")


def test_cells_to_the_right_of_the_header_stand_in_columns_without_a_name(tmp_path: Path) -> None:
    table = read_spreadsheet(workbook(tmp_path / "a.xlsx", {"S": [HEADER, ["P", "A", 1, None, "remark"]]}))
    assert table.names == ("object", "assessor", "score", "", "")
    assert table.columns[4] == ["remark"]


def test_a_cell_that_shows_an_error_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("First").write(0, 0, "x")
        sheet = book.add_worksheet("Scores")
        sheet.write_row(2, 1, HEADER)
        sheet.write_row(3, 1, ["P", "A"])
        sheet.write_formula(3, 3, "=1/0", None, "#DIV/0!")
        sheet.write_row(4, 1, ["P", "B"])
        sheet.write_formula(4, 3, '=IF(1,"")', None, " ")
        sheet.write_row(5, 1, ["P", "C"])
        sheet.write_formula(5, 3, "=NA()", None, "#N/A")
    assert read_spreadsheet(file, "Scores").columns[2] == ["#DIV/0!", None, "#N/A"]


@pytest.mark.parametrize(
    "error",
    ["#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!", "#UNKNOWN!", "#BUSY!", "#CONNECT!", "#GETTING_DATA", "#PYTHON!"],
)
def test_newer_errors_are_bad_cells_with_row_and_column_like_older_ones(tmp_path: Path, error: str) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(0, 0, [*HEADER, "remark"])
        sheet.write_row(1, 0, ["P", "A", 7, '<c t="e">'])
        sheet.write_row(2, 0, ["P", "B"])
        sheet.write_formula(2, 2, "=1/0", None, "#DIV/0!")
        sheet.write_row(3, 0, ["Q", "A", 5, error])
        sheet.write_formula(4, 2, "=A1", None, "#REF!")
    with_text = read_spreadsheet(file).columns
    assert with_text[2] == [7, "#DIV/0!", 5, "#REF!"]
    assert with_text[3] == ['<c t="e">', None, error, None]
    replace_in_sheet(file, b"#REF!", error.encode())
    assert read_spreadsheet(file).columns == (*with_text[:2], [7, "#DIV/0!", 5, error], with_text[3])
    with pytest.raises(InputError) as caught:
        read_panel(file)
    found = {problem.where: problem.message for problem in caught.value.problems}
    assert "'#DIV/0!' is not a number" in found["row 3, column score"]
    assert f"{error!r} is not a number" in found["row 5, column score"]


def test_a_newer_error_in_a_column_that_does_not_matter_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(0, 0, [*HEADER, "remark"])
        sheet.write_row(1, 0, ["P", "A", 7])
        sheet.write_formula(1, 3, "=A1", None, "#REF!")
        sheet.write_row(2, 0, ["P", "B", 6])
    replace_in_sheet(file, b"#REF!", b"#SPILL!")
    assert read_panel(file).score.tolist() == [7, 6]


def test_an_error_that_looks_like_a_number_is_no_number(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(0, 0, HEADER)
        sheet.write_row(1, 0, ["P", "A"])
        sheet.write_formula(1, 2, "=A1", None, "#REF!")
    replace_in_sheet(file, b"#REF!", b"5")
    assert read_spreadsheet(file).columns[2] == ["#ERROR"]


def test_a_formula_that_was_never_calculated_is_not_taken_for_an_empty_cell(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [HEADER, ["P", "A", "=1+1"], ["Q", "A", 5], [None, None, None, "=A1"]]
    table = read_spreadsheet(workbook(tmp_path / "a.xlsx", {"S": rows}))
    said = "(formula without a result)"
    assert table.cells == (["P", "Q", None], ["A", "A", None], [said, 5, None], [None, None, said])
    alone = read_spreadsheet(workbook(tmp_path / "b.xlsx", {"S": [["=A1"], ["=A2"]]}))
    assert (alone.names, alone.cells) == ((said,), ([said],))


def test_formulas_below_the_cells_are_not_taken_for_formulas_of_the_last_cell(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(0, 0, HEADER)
        sheet.write_row(1, 0, ["P", "A", 7])
        sheet.write_blank(2, 2, None, book.add_format({"bold": True}))
        sheet.add_sparkline("F1", {"range": "Scores!C2:C3"})
    assert b"<xm:f>" in zipfile.ZipFile(file).read("xl/worksheets/sheet1.xml")
    assert read_spreadsheet(file).cells == (["P"], ["A"], [7])


def test_dates_count_from_where_the_workbook_says_and_are_no_scores(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 5, 6)
    for old in (False, True):
        file = tmp_path / f"{old}.xlsx"
        with xlsxwriter.Workbook(file, {"date_1904": old}) as book:
            sheet = book.add_worksheet("Scores")
            sheet.write_row(0, 0, HEADER)
            for row, form in enumerate(("yyyy-mm-dd", "d. mmm"), 1):
                sheet.write_datetime(row, 0, day, book.add_format({"num_format": form}))
                sheet.write(row, 1, f"A{row}")
                sheet.write_number(row, 2, 0.75, book.add_format({"num_format": "0 %"}))
        assert read_spreadsheet(file).cells == ([day.date()] * 2, ["A1", "A2"], [0.75, 0.75])
        assert read_panel(file).objects == ("2024-05-06",)
        with pytest.raises(InputError, match="row 2, column object: the score '2024-05-06' is not a number"):
            read_panel(file, object="score", score="object")


def test_hidden_rows_and_columns_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        for row, cells in enumerate([HEADER, ["P", "A", 7], ["Q", "A", 5]]):
            sheet.write_row(row, 0, cells)
        sheet.set_row(1, None, None, {"hidden": True})
        sheet.set_column(1, 1, None, None, {"hidden": True})
    assert read_spreadsheet(file).cells == (["P", "Q"], ["A", "A"], [7, 5])


def test_merged_cells_count_once_and_the_next_row_says_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        for row, cells in enumerate([HEADER, [None, "A", 7], [None, "B", 5]]):
            sheet.write_row(row, 0, cells)
        sheet.merge_range(1, 0, 2, 0, "P")
    assert read_spreadsheet(file).cells == (["P", None], ["A", "B"], [7, 5])
    with pytest.raises(InputError, match="row 3, column object: the object is missing"):
        read_panel(file)


def test_text_in_several_fonts_is_one_text_and_how_it_is_read_aloud_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Scores")
        sheet.write_row(0, 0, HEADER)
        sheet.write_rich_string(1, 0, "Pro", book.add_format({"bold": True}), "posal", " 1")
        sheet.write_row(1, 1, ["A", 7])
        sheet.write_row(2, 0, ["xx", "A", 5])
    replace_in_sheet(
        file,
        b'<c r="A3" t="s"><v>5</v></c>',
        b'<c r="A3" t="inlineStr"><is><r><t>x</t></r><r><t xml:space="preserve"> y</t></r>'
        b'<rPh sb="0" eb="1"><t>z</t></rPh></is></c>',
    )
    assert read_spreadsheet(file).columns[0] == ["Proposal 1", "x y"]


def test_cells_of_an_opendocument_file_keep_their_kind_and_errors_are_seen(tmp_path: Path) -> None:
    def text(value: str) -> str:
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    def error(kind: str) -> str:
        return (
            f'<table:table-cell table:formula="of:=1/0" {kind} calcext:value-type="error" '
            'table:number-columns-repeated="2"><text:p>#DIV/0!</text:p></table:table-cell>'
        )

    seven = '<table:table-cell office:value-type="float" office:value="7"><text:p>7,00</text:p></table:table-cell>'
    rows = [
        "".join(map(text, ("object", "assessor", "score", "other"))),
        text("007") + text("A") + seven,
        text("P") + text("B") + error('office:value-type="string" office:string-value=""'),
        text("Q") + text("C") + error('office:value-type="float" office:value="0"'),
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    table = read_spreadsheet(ods(tmp_path / "a.ods", f'<table:table table:name="S">{body}</table:table>'))
    assert table.columns[0] == ["007", "P", "Q"]
    assert table.columns[2] == [7, "#DIV/0!", "#DIV/0!"]
    assert table.columns[3] == [None, "#DIV/0!", "#DIV/0!"]
    assert table.source == "a.ods, sheet S"


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ('<table:table-cell table:formula="of:=1+1"/>', "(formula without a result)"),
        ('<table:table-cell table:formula="of:=A1" office:value-type="string" office:string-value=""/>', None),
        ("<table:table-cell><text:p>7,5</text:p></table:table-cell>", "7,5"),
        ("<table:table-cell><office:annotation><text:p>9</text:p></office:annotation></table:table-cell>", None),
        (
            '<table:table-cell office:value-type="float" office:value="7"><office:annotation><text:p>9</text:p>'
            "</office:annotation><text:p>7</text:p></table:table-cell>",
            7,
        ),
        ('<table:table-cell office:value-type="percentage" office:value="0.5"/>', 0.5),
        ('<table:table-cell office:value-type="boolean" office:boolean-value="true"/>', True),
        ('<table:table-cell office:value-type="date" office:date-value="2024-05-06"/>', datetime.date(2024, 5, 6)),
        (
            '<table:table-cell office:value-type="string"><text:p>a</text:p><text:p>b</text:p></table:table-cell>',
            "a\nb",
        ),
    ],
)
def test_cells_of_an_opendocument_file_are_read_or_said(tmp_path: Path, cell: str, read: Cell) -> None:
    header = '<table:table-cell office:value-type="string"><text:p>score</text:p></table:table-cell>'
    seven = '<table:table-cell office:value-type="float" office:value="7"/>'
    rows = "".join(f"<table:table-row>{row}</table:table-row>" for row in (header * 2, seven + cell))
    table = read_spreadsheet(ods(tmp_path / "a.ods", f'<table:table table:name="S">{rows}</table:table>'))
    assert table.cells == ([7], [read])


def test_the_authors_workbook_is_read_with_its_first_four_columns_recognised(shared_data: Path) -> None:
    table = read_table(shared_data / "case_study_2_workbook.xlsx")
    found = recognise(table.names, source=table.source)
    assert (found.object, found.assessor, found.score, found.confidence) == (0, 1, 2, 3)
    assert found.form == "level_or_uncertainty"
    assert len(table) == 86
    assert table.row_numbers[-1] == 87
    assert set(table.columns[3]) == {"h", "m", "l"}
    assert all(isinstance(score, int | float) for score in table.columns[2])
    assert table.notes == ()
