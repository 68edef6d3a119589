"""Result tables come back as they went out, and are safe to open in a spreadsheet program."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np
import openpyxl
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from evenhand.errors import InputError, LimitError
from evenhand.io import read_table, write_tables
from evenhand.io.results import harmless, replacing_directory, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1"]
TABLES: Mapping[str, Mapping[str, Sequence[object]]] = {
    "objects": {
        "object": ["007", 'Žofie, "É"'],
        "value": np.array([1 / 3, -2.5e-300]),  # type: ignore[dict-item]
        "sd": [math.nan, None],
        "rank": np.array([1, 2]),  # type: ignore[dict-item]
        "flagged": [True, np.bool_(False)],
    },
    "assessors": {"assessor": ["A"], "bias": [np.float64(-0.1)]},
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_numbers_keep_all_their_digits_and_empty_is_empty_in_text(tmp_path: Path, suffix: str) -> None:
    files = write_tables(tmp_path / f"out{suffix}", TABLES)
    assert files == [tmp_path / f"out{suffix}", tmp_path / f"out-assessors{suffix}"]
    assert files[0].read_bytes().startswith(b"\xef\xbb\xbfobject")
    table = read_table(files[0])
    assert table.names == ("object", "value", "sd", "rank", "flagged")
    assert table.cells == (
        ["007", 'Žofie, "É"'],
        ["0.3333333333333333", "-2.5e-300"],
        [None, None],
        ["1", "2"],
        ["true", "false"],
    )
    assert read_table(files[1]).cells == (["A"], ["-0.1"])


def test_parquet_keeps_kinds_and_empty_is_null(tmp_path: Path) -> None:
    files = write_tables(tmp_path / "out.parquet", TABLES, notes=["mind"])
    assert [file.name for file in files] == ["out.parquet", "out-assessors.parquet", "out-notes.parquet"]
    frame = pl.read_parquet(files[0])
    assert frame["value"].to_list() == [1 / 3, -2.5e-300]
    assert frame["sd"].to_list() == [None, None]
    assert frame["rank"].dtype == pl.Int64
    assert frame["flagged"].to_list() == [True, False]
    assert pl.read_parquet(files[2])["note"].to_list() == ["mind"]


def test_a_workbook_has_a_sheet_for_each_table_and_one_for_the_notes(tmp_path: Path) -> None:
    (file,) = write_tables(tmp_path / "out.xlsx", TABLES, notes=["Two groups.", "=not a formula"])
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["objects", "assessors", "notes"]
    sheet = book["objects"]
    assert [cell.value for cell in sheet[1]] == ["object", "value", "sd", "rank", "flagged"]
    assert all(cell.font.bold for cell in sheet[1])
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == "A1:E3"
    assert [cell.value for cell in sheet[2]] == ["007", 1 / 3, None, 1, True]
    assert sheet["B2"].number_format == "0.000"
    assert sheet["D2"].number_format == "General"
    assert sheet.column_dimensions["A"].width >= 8
    assert [row[0].value for row in book["notes"].iter_rows(min_row=2)] == ["Two groups.", "=not a formula"]
    other = CalamineWorkbook.from_path(str(file)).get_sheet_by_name("objects").to_python()
    assert other[1] == ["007", 1 / 3, "", 1.0, True]


def test_notes_go_beside_a_csv(tmp_path: Path) -> None:
    files = write_tables(tmp_path / "out.csv", TABLES, notes=["Two groups."])
    assert files[-1].name == "out-notes.csv"
    assert read_table(files[-1]).cells == (["Two groups."],)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_cell_of_text_begins_like_a_formula_in_csv(tmp_path: Path, suffix: str) -> None:
    (file,) = write_tables(tmp_path / f"out{suffix}", {"t": {"=object": HOSTILE, "value": [-1.5] * len(HOSTILE)}})
    table = read_table(file)
    assert table.names == ("'=object", "value")
    assert table.columns[0] == ["'" + text for text in HOSTILE]
    assert table.columns[1] == ["-1.5"] * len(HOSTILE)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("A-1", "A-1"),
        ("a@b.org", "a@b.org"),
        ("", ""),
        ("'=1", "'=1"),
        ("x;=cmd", "x;'=cmd"),
        ('x; "=cmd', "x; \"'=cmd"),
        ("x\n+1", "x\n'+1"),
        ("a; b - c", "a; b - c"),
    ],
)
def test_text_is_made_harmless_only_where_it_is_not(text: str, safe: str) -> None:
    assert harmless(text) == safe


def test_a_program_that_splits_at_semicolons_finds_no_formula_either(tmp_path: Path) -> None:
    (file,) = write_tables(tmp_path / "out.csv", {"t": {"object": ["a;=1+1", "b\n=1+1", 'c;"=1+1']}})
    for line in file.read_text("utf-8-sig").splitlines():
        assert not any(cell.strip('" ').startswith("=") for cell in line.split(";"))


def test_hostile_text_in_a_workbook_is_text_for_two_readers(tmp_path: Path) -> None:
    texts = [*HOSTILE, "https://example.org", "12", "{=A1}", "mailto:a@b.org"]
    (file,) = write_tables(tmp_path / "out.xlsx", {"t": {"=object": texts}})
    sheet = openpyxl.load_workbook(file)["t"]
    cells = [row[0] for row in sheet.iter_rows()]
    assert {cell.data_type for cell in cells} == {"s"}
    assert all(cell.hyperlink is None for cell in cells)
    assert [bool(cell.quotePrefix) for cell in cells] == [True] * 9 + [False] * 4
    assert cells[0].font.bold
    assert [cell.value for cell in cells[-4:]] == texts[-4:]
    table = read_table(file)
    assert (table.names, table.cells) == (("=object",), (texts,))


def test_infinite_numbers_are_text_in_a_workbook_and_stay_in_csv(tmp_path: Path) -> None:
    tables = {"t": {"x": [math.inf, -math.inf]}}
    assert read_table(write_tables(tmp_path / "a.xlsx", tables)[0]).cells == (["inf", "-inf"],)
    assert read_table(write_tables(tmp_path / "a.csv", tables)[0]).cells == (["inf", "-inf"],)


def test_names_of_tables_are_made_fit_for_files_and_sheets(tmp_path: Path) -> None:
    tables = {
        "first": {"x": [1]},
        "../a/b": {"x": [2]},
        "a" * 40: {"x": [3]},
        "A" * 40: {"x": [4]},
        "History": {"x": [5]},
    }
    files = write_tables(tmp_path / "out.csv", tables)
    assert files[1] == tmp_path / "out-..-a-b.csv"
    (file,) = write_tables(tmp_path / "out.xlsx", tables)
    assert openpyxl.load_workbook(file).sheetnames == ["first", ".. a b", "a" * 31, "A" * 29 + " 2", "History 2"]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("out.txt", "unknown_format", ".csv, .tsv, .xlsx or .parquet"),
        ("out", "unknown_format", "no suffix"),
        ("nowhere/out.csv", "cannot_write", "No such file or directory"),
        ("nowhere/out.xlsx", "cannot_write", "No such file or directory"),
        ("folder.csv", "cannot_write", "directory of that name"),
    ],
)
def test_places_that_cannot_be_written_are_refused(tmp_path: Path, name: str, kind: str, words: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError) as caught:
        write_tables(tmp_path / name, TABLES)
    assert (caught.value.kind, words in str(caught.value)) == (kind, True), str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize(
    "tables", [{}, {"t": {"x": [1], "y": [1, 2]}}, {"a": {"x": [1]}, "b/": {"x": [1]}, "b?": {"x": [1]}}]
)
def test_tables_that_make_no_sense_are_refused(
    tmp_path: Path, tables: Mapping[str, Mapping[str, Sequence[object]]]
) -> None:
    with pytest.raises(InputError):
        write_tables(tmp_path / "out.csv", tables)
    assert list(tmp_path.iterdir()) == []


def test_a_table_called_notes_does_not_meet_the_notes(tmp_path: Path) -> None:
    write_tables(tmp_path / "out.csv", {"notes": {"x": [1]}})
    with pytest.raises(InputError, match="notes"):
        write_tables(tmp_path / "out.csv", {"notes": {"x": [1]}}, notes=["a"])


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"out{suffix}"
    target.write_text("old")
    with pytest.raises(InputError, match=r"no file can hold|cannot be written"):
        write_tables(target, {"a": {"x": [1]}, "b": {"x": ["\ud800"]}})
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_tables(target, TABLES)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_is_replaced_with_its_mode_and_through_its_link(tmp_path: Path) -> None:
    real = tmp_path / "real.csv"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(real)
    assert write_tables(link, {"t": {"x": [1]}}) == [link]
    assert link.is_symlink()
    assert real.read_text("utf-8-sig") == "x\n1\n"
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_a_sheet_cannot_hold_is_refused_not_cut(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="32,767 characters"):
        write_tables(tmp_path / "out.xlsx", {"t": {"x": ["y" * 32_768]}})
    with pytest.raises(LimitError, match="larger than a sheet"):
        write_tables(tmp_path / "out.xlsx", {"t": {"x": range(1_048_576)}})
    assert list(tmp_path.iterdir()) == []


LABELS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
SOUND = LABELS.filter(lambda text: not text or (not text.isspace() and "\0" not in text))


@settings(deadline=None)
@given(
    labels=st.lists(SOUND, min_size=1, max_size=6), numbers=st.lists(st.floats(allow_nan=False), min_size=6, max_size=6)
)
def test_csv_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], numbers: list[float]
) -> None:
    numbers = numbers[: len(labels)]
    file = tmp_path_factory.mktemp("trip") / "out.csv"
    write_tables(file, {"t": {"object": labels, "score": numbers}})
    if sum(character < " " or character == "\x7f" for label in labels for character in label) > 2:
        return  # taken for binary data
    table = read_table(file)
    assert table.columns[0] == [harmless(label) or None for label in labels]
    assert [float(str(cell)) for cell in table.columns[1]] == numbers


@settings(deadline=None, max_examples=50)
@given(
    labels=st.lists(LABELS.filter(lambda text: not text or not text.isspace()), min_size=1, max_size=6),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=6, max_size=6),
)
def test_a_workbook_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], numbers: list[float]
) -> None:
    numbers = numbers[: len(labels)]
    file = tmp_path_factory.mktemp("trip") / "out.xlsx"
    write_tables(file, {"t": {"object": labels, "score": numbers}})
    table = read_table(file)
    assert table.columns[0] == [label or None for label in labels]
    assert table.columns[1] == numbers
    sheet = openpyxl.load_workbook(file)["t"]
    assert [row[1].value for row in sheet.iter_rows(min_row=2)] == numbers


def test_a_long_name_in_any_alphabet_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / f"{'東' * 83}.txt"
    assert write_text(file, "text").read_text("utf-8") == "text"
    assert list(tmp_path.iterdir()) == [file]


def allow(_: Path) -> None:
    """Let anything be replaced."""


def test_a_directory_is_replaced_once_all_is_written(tmp_path: Path) -> None:
    target = tmp_path / "results"
    for text in ("first", "second"):
        with replacing_directory(target, allow) as work:
            (work / f"{text}.txt").write_text(text)
            assert not (target / f"{text}.txt").exists()
        assert [entry.name for entry in target.iterdir()] == [f"{text}.txt"]
        assert list(tmp_path.iterdir()) == [target]


def refuse(target: Path) -> None:
    raise InputError("Something else is there.", where=str(target))


def test_a_directory_stays_as_it_is_if_anything_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "results"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with pytest.raises(FileNotFoundError), replacing_directory(target, allow) as work:
        (work / "new.txt").rename(work / "newer.txt")
    with pytest.raises(InputError, match="Something else"), replacing_directory(target, refuse) as work:
        (work / "new.txt").write_text("new")
    replace = os.replace

    def fail(source: Path, place: Path) -> None:
        if source.name.endswith(".part"):
            raise PermissionError(13, "no")
        replace(source, place)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError), replacing_directory(target, allow) as work:
        (work / "new.txt").write_text("new")
    assert [entry.name for entry in target.iterdir()] == ["old.txt"]
    assert list(tmp_path.iterdir()) == [target]
