"""Parquet files, one or many, sound or damaged."""

from __future__ import annotations

import contextlib
import random
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest

from evenhand.errors import InputError
from evenhand.io import read_table
from evenhand.io.parquet import read_parquet

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pl.DataFrame({"object": ["P", "Q"], "assessor": ["A", "B"], "score": [1.5, 2.0]})


def write(file: Path, frame: pl.DataFrame = FRAME) -> Path:
    frame.write_parquet(file)
    return file


def test_columns_of_every_kind_come_out_as_cells(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "text": ["007", " "],
            "categorical": pl.Series(["u", "v"], dtype=pl.Categorical),
            "enum": pl.Series(["h", None], dtype=pl.Enum(["h", "m", "l"])),
            "whole": pl.Series([1, 2], dtype=pl.Int16),
            "half": [0.5, None],
            "yes": [True, False],
            "exact": [Decimal("1.25"), None],
            "list": [[1, 2], None],
        }
    )
    table = read_parquet(write(tmp_path / "a.parquet", frame))
    assert table.names == tuple(frame.columns)
    expected = (
        ["007", None],
        ["u", "v"],
        ["h", None],
        [1, 2],
        [0.5, None],
        [True, False],
        [1.25, None],
        ["[1, 2]", None],
    )
    assert table.cells == expected
    assert list(table.row_numbers) == [1, 2]
    assert table.where(1, "half") == "row 2, column half"
    assert table.source == "a.parquet"


def test_a_directory_of_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", FRAME.with_columns(object=pl.Series(["R", "S"])))
    write(tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").touch()
    table = read_table(tmp_path)
    assert table.columns[0] == ["P", "Q", "R", "S"]
    assert list(table.row_numbers) == [1, 2, 3, 4]


def test_a_name_with_wildcards_is_a_name(tmp_path: Path) -> None:
    write(tmp_path / "a[1]*.parquet")
    write(tmp_path / "a1.parquet", FRAME.head(1))
    assert len(read_table(tmp_path / "a[1]*.parquet")) == 2


def test_rows_without_a_cell_are_left_out_and_counted(tmp_path: Path) -> None:
    frame = pl.concat([FRAME.head(1), FRAME.clear(1), FRAME.tail(1), FRAME.clear(2)])
    table = read_parquet(write(tmp_path / "a.parquet", frame))
    assert table.columns[0] == ["P", "Q"]
    assert list(table.row_numbers) == [1, 3]
    assert [(note.kind, note.where) for note in table.notes] == [("blank_rows", "row 2")]


@pytest.mark.parametrize("frame", [FRAME.clear(), FRAME.clear(3)])
def test_a_file_without_rows_is_refused(tmp_path: Path, frame: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="no row") as caught:
        read_parquet(write(tmp_path / "a.parquet", frame))
    assert caught.value.kind == "empty_file"


def test_the_number_of_rows_is_checked_before_they_are_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    assert len(read_parquet(file, max_cells=6)) == 2
    with pytest.raises(InputError, match="2 rows of 3 columns, more than the limit of 5") as caught:
        read_parquet(file, max_cells=5)
    assert caught.value.kind == "too_large"


def test_a_text_that_is_stored_once_and_used_often_is_counted_each_time(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", pl.DataFrame({"object": ["x" * 10_000] * 1000}))
    assert file.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than the limit of 1 MiB") as caught:
        read_table(file, max_unpacked=2**20)
    assert caught.value.kind == "too_large"


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "middle", "footer"])
def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path, damage: str) -> None:
    file = write(tmp_path / "a.parquet", pl.DataFrame({"object": [f"P{i}" for i in range(1000)]}))
    content = bytearray(file.read_bytes())
    if damage == "middle":
        content[20:80] = b"z" * 60
    elif damage == "footer":
        content[-40:-10] = b"\xff" * 30
    others = {"cut": bytes(content[:100]), "empty": b"", "text": b"object,assessor\n" * 9}
    file.write_bytes(others.get(damage, bytes(content)))
    with pytest.raises(InputError, match="damaged or of an unknown kind") as caught:
        read_parquet(file)
    assert "\n" not in str(caught.value)
    assert caught.value.kind == "damaged"


def test_a_file_that_ends_the_process_of_its_reader_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parquet_worker.py").write_text("import os\nos.abort()\n")
    monkeypatch.setattr("evenhand.io.parquet.__file__", str(tmp_path / "parquet.py"))
    with pytest.raises(InputError, match="broke off") as caught:
        read_parquet(write(tmp_path / "a.parquet"))
    assert caught.value.kind == "damaged"


def test_nothing_of_a_damaged_file_is_shown_on_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = bytearray(write(tmp_path / "a.parquet").read_bytes())
    generator = random.Random(5)
    for _ in range(8):
        damaged = bytearray(content)
        for _ in range(5):
            damaged[generator.randrange(4, len(content))] = generator.randrange(256)
        (tmp_path / "b.parquet").write_bytes(damaged)
        with contextlib.suppress(InputError):
            read_parquet(tmp_path / "b.parquet")
    assert capfd.readouterr() == ("", "")


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    write(tmp_path / "b.parquet", FRAME.rename({"score": "mark"}))
    with pytest.raises(InputError, match="damaged or of an unknown kind"):
        read_table(tmp_path)
