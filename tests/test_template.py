"""An empty template is filled in by any program and read as it is; nothing but the scores is read from it."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import InputError
from evenhand.io import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.panel.confidence import Form

SURE: dict[Form, list[Any]] = {
    "level": ["high", "medium", "low", "high"],
    "uncertainty": [1.5, 2, 3, 0.5],
    "confidence": [1, 2, 3, 10],
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def fill(path: Path, rows: list[list[Any]]) -> None:
    """Type rows into a template, as a person would with a spreadsheet program."""
    book = openpyxl.load_workbook(path)
    for at, row in enumerate(rows, 2):
        for column, cell in enumerate(row, 1):
            book["scores"].cell(at, column, cell)
    book.save(path)


@pytest.mark.parametrize("confidence", ["level", "uncertainty", "confidence", "none"])
@pytest.mark.parametrize("lists", [{}, {"objects": ["007", "=x"], "assessors": 2}])
def test_a_template_that_was_filled_in_is_read_as_it_is(tmp_path: Path, confidence: Form, lists: Any) -> None:
    path = eh.template(tmp_path / "panel.xlsx", confidence=confidence, bounds=(0, 100), **lists)
    rows: list[list[Any]] = [["007", "A1", 60], ["007", "A2", 70.5], ["008", "A1", 50], ["008", "A2", 62]]
    fill(path, [[*row, *([] if confidence == "none" else [SURE[confidence][at]])] for at, row in enumerate(rows)])
    panel = eh.read_panel(path)
    assert (list(panel.objects), list(panel.assessors)) == (["007", "008"], ["A1", "A2"])
    assert panel.score.tolist() == [60, 70.5, 50, 62]
    assert panel.confidence == confidence
    assert panel.notes == ()  # not even on the sheets that were not read
    if confidence == "uncertainty":
        assert panel.precision.tolist() == pytest.approx([1 / 1.5**2, 1 / 4, 1 / 9, 4])


@pytest.mark.parametrize("lists", [{}, {"objects": 3, "assessors": ["Ana"]}])
def test_an_empty_template_has_no_scores_and_neither_instructions_nor_lists_are_taken_for_any(
    tmp_path: Path, lists: Any
) -> None:
    path = eh.template(tmp_path / "panel.xlsx", **lists)
    with pytest.raises(InputError, match="sheet scores") as caught:
        eh.read_panel(path)
    assert caught.value.kind == "empty_file"
    fill(path, [["x", "Ana", 3, "low"]])  # a single row, fewer than the instructions have
    assert eh.read_panel(path).score.tolist() == [3]


def test_the_sheets_of_a_template_are_there_for_those_who_ask(tmp_path: Path) -> None:
    path = eh.template(tmp_path / "panel.xlsx", objects=["b", "a", "b"], assessors=2)
    table = read_table(path, sheet="evenhand lists")
    assert (table.names, table.cells) == (("object", "assessor"), (["b", "a"], ["A1", "A2"]))
    words = read_table(path, sheet="evenhand instructions")
    assert {"object", "assessor", "score", "level"} <= set(words.columns[0])
    assert {"To ask for uncertainty", "To ask for confidence"} <= set(words.columns[0])
    assert any("evenhand check panel.xlsx" in str(cell) for cell in words.columns[2])
    words = read_table(eh.template(tmp_path / "our panel.xlsx", confidence="none"), sheet="evenhand instructions")
    assert 'evenhand check "our panel.xlsx"' in words.columns[2]


def validations(path: Path) -> dict[str, Any]:
    sheet = openpyxl.load_workbook(path)["scores"]
    return {str(check.sqref).partition(":")[0]: check for check in sheet.data_validations.dataValidation}


def test_cells_are_checked_as_they_are_typed(tmp_path: Path) -> None:
    checks = validations(eh.template(tmp_path / "a.xlsx", objects=40, bounds=(1, 9)))
    assert set(checks) == {"A2", "C2", "D2"}
    assert (checks["A2"].type, checks["A2"].formula1) == ("list", "'evenhand lists'!$A$2:$A$41")
    assert (checks["C2"].type, checks["C2"].formula1, checks["C2"].formula2) == ("decimal", "1", "9")
    assert "from 1 to 9" in checks["C2"].error
    assert (checks["D2"].type, checks["D2"].formula1) == ("list", '"high,medium,low"')
    assert str(checks["D2"].sqref).endswith("1048576")
    checks = validations(eh.template(tmp_path / "b.xlsx", assessors=["Ana"], confidence="uncertainty"))
    assert set(checks) == {"B2", "C2", "D2"}
    assert checks["B2"].formula1 == "'evenhand lists'!$A$2:$A$2"  # the only list stands first
    assert (checks["D2"].operator, checks["D2"].formula1) == ("greaterThan", "0")
    assert set(validations(eh.template(tmp_path / "c.xlsx", confidence="none"))) == {"C2"}


def test_headings_stay_in_sight_and_labels_stay_text(tmp_path: Path) -> None:
    sheet = openpyxl.load_workbook(eh.template(tmp_path / "a.xlsx"))["scores"]
    assert sheet.freeze_panes == "A2"
    assert sheet.print_title_rows == "$1:$1"
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        styles = archive.read("xl/styles.xml").decode()
    assert 'numFmtId="49"' in styles  # text
    assert sheet.max_row == 1


def test_hostile_labels_of_lists_stay_text(tmp_path: Path) -> None:
    hostile = ["=1+1", "@SUM(A1)", "+1", "-1", "https://example.org", "\tx", "a,b", '"q"']
    path = eh.template(tmp_path / "a.xlsx", objects=hostile)
    cells = [row[0] for row in openpyxl.load_workbook(path)["evenhand lists"].iter_rows(min_row=2)]
    assert {cell.data_type for cell in cells} == {"s"}
    assert read_table(path, sheet="evenhand lists").columns[0] == hostile
    with zipfile.ZipFile(path) as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist() if "worksheets" in name)


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "panel.xlsx"
    path.write_text("scores of a year")
    with pytest.raises(InputError, match="force=True"):
        eh.template(path)
    result = run("template", "-o", path)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert path.read_text() == "scores of a year"
    assert run("template", "-o", path, "--force").exit_code == 0
    assert openpyxl.load_workbook(path).sheetnames == ["scores", "evenhand instructions"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confidence": "sure"}, "no form of confidence"),
        ({"bounds": (5, 5)}, "lower one first"),
        ({"bounds": (0, float("inf"))}, "two numbers"),
        ({"objects": -1}, "0 to 100,000 objects"),
        ({"assessors": "Ana"}, "list of labels"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        eh.template(tmp_path / "a.xlsx", **options)
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_lists_from_files_and_says_what_to_do_next(tmp_path: Path) -> None:
    (tmp_path / "who.csv").write_text("name,reviewer\nx,Ana\ny,Ben\n,\nz,Ana\n", encoding="utf-8")
    path = tmp_path / "panel.xlsx"
    options = ("--objects", 12, "--assessors", tmp_path / "who.csv", "--bounds", "-5,5")
    result = run("template", "-o", path, *options)
    assert result.exit_code == 0, result.stderr
    assert f"evenhand check {path}" in result.stdout
    table = read_table(path, sheet="evenhand lists")
    assert table.columns[0][:2] == ["O01", "O02"]
    assert table.columns[1][:3] == ["Ana", "Ben", None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--bounds", "1,2,3"), "two numbers"),
        (("--objects", "who.csv"), "There is no column of objects"),
        (("--assessors", "none.csv"), "There are no assessors"),
        (("--assessors", "nowhere.csv"), "nowhere.csv"),
        (("--confidence", "sure"), "sure"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "who.csv").write_text("who,what\nAna,x\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("assessor,other\n,x\n", encoding="utf-8")
    result = run("template", "-o", "panel.xlsx", *options)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.output
    assert words in result.stderr
    assert not (tmp_path / "panel.xlsx").exists()


def test_a_list_is_never_overwritten_by_its_template(tmp_path: Path) -> None:
    path = eh.template(tmp_path / "a.xlsx", objects=3)
    result = run("template", "-o", path, "--objects", path, "--force")
    assert result.exit_code == 2
    assert "would overwrite" in result.stderr
