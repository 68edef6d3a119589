"""Paths that cannot be read, and suffixes that are not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evenhand.errors import InputError
from evenhand.io import read_table

if TYPE_CHECKING:
    from pathlib import Path


def refused(path: str | Path, kind: str, words: str, **options: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(path, sheet=options.get("sheet"))
    message = str(caught.value)
    assert "\n" not in message
    assert (caught.value.kind, words in message) == (kind, True), message


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".txt", ".tsv"])
def test_text_files_are_read_by_their_suffix(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    file.write_text("object\tassessor\tscore\nP\tA\t1\n")
    assert read_table(str(file)).cells == (["P"], ["A"], ["1"])


def test_a_missing_file_is_refused_with_names_that_come_close(tmp_path: Path) -> None:
    (tmp_path / "Scores_2024.csv").touch()
    refused(tmp_path / "scores-2024.csv", "missing_file", "did you mean Scores_2024.csv?")
    refused(tmp_path / "unlike.parquet", "missing_file", "check the spelling")
    refused(tmp_path / "nowhere" / "a.csv", "missing_file", "no directory")


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    refused(str(tmp_path / "a\0b.csv"), "missing_file", "not a usable file name")
    refused(tmp_path / ("x" * 5000 + ".csv"), "missing_file", "not a usable file name")


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.xlsx", "folder.parquet"])
def test_a_directory_without_parquet_files_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    refused(tmp_path / name, "not_a_file", "directory without parquet files")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".ods", ".parquet"])
def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    refused(tmp_path / f"pipe{suffix}", "not_a_file", "pipe or a device")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"a{suffix}"
    file.write_text("object,assessor,score\nP,A,1\n")
    file.chmod(0)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the administrator may read everything
    refused(file, "no_permission", "no permission")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xls", "save it as .xlsx"),
        ("a.xlsb", "save it as .xlsx"),
        ("a.csv.gz", "unpack it first"),
        ("a.zip", "unpack it first"),
        ("a.weird", "end in .weird"),
        ("scores", "no suffix"),
    ],
)
def test_other_suffixes_are_refused_with_those_that_are_read_and_what_to_do(
    tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / name).write_text("x")
    refused(tmp_path / name, "unknown_format", words)
    refused(tmp_path / name, "unknown_format", "csv, tsv, txt, xlsx, xlsm, ods and parquet")


def test_a_sheet_of_a_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("object,assessor,score\nP,A,1\n")
    refused(tmp_path / "a.csv", "missing_sheet", "only workbooks have sheets", sheet="One")


def test_reading_csv_imports_no_library_of_dataframes_or_workbooks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("object,assessor,score\nP,A,1\n")
    code = (
        "import sys, evenhand.io; evenhand.io.read_table(sys.argv[1]);"
        "print({'polars', 'pandas', 'python_calamine', 'xlsxwriter', 'openpyxl'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.csv")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
