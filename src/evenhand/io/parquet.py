"""Parquet files, one or a directory of them."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.errors import InputError, MissingPackageError, Problem
from evenhand.io.paths import MAX_UNPACKED, existing, in_bytes, regular_file
from evenhand.io.table import MAX_CELLS, Cell, Table, blank_rows_note, is_blank, no_cells, no_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl


def read_parquet(path: str | os.PathLike[str], *, max_cells: int = MAX_CELLS, max_text: int = MAX_UNPACKED) -> Table:
    """Read a parquet file, or all parquet files of a directory in the order of their names.

    Parameters
    ----------
    path
        A file, or a directory with files whose names end in ``.parquet``.
    max_cells
        Most cells, rows times columns, that are read; checked from the metadata before anything is unpacked.
    max_text
        Most bytes of text that the columns may hold.

    Returns
    -------
    Table
        The cells, with rows numbered from 1, since such a file has no header row.

    Raises
    ------
    InputError
        If a file is damaged, the files of a directory do not fit together, or there is too much of them.
    """
    files = parquet_files(path)
    source = Path(path).name or str(path)
    try:
        import polars as pl
    except ImportError:
        raise MissingPackageError("polars", "Reading a parquet file", "polars") from None
    rows, width = _rehearse(files, max_cells, source)
    if rows * width > max_cells:
        raise InputError(
            f"The file has {rows:,} rows of {width} columns, more than the limit of {max_cells:,} cells: keep only the "
            "columns that are needed, or build the panel from arrays.",
            kind="too_large",
            where=source,
        )
    frame = pl.scan_parquet(files, glob=False).collect()
    _limit_text(frame, max_text, source)
    names = tuple(frame.columns)
    columns = tuple(_cells(column) for column in frame.iter_columns())
    if not names:
        raise no_cells(source)
    types = enumerate(frame.dtypes)
    categorical = frozenset(index for index, kind in types if isinstance(kind, (pl.Categorical, pl.Enum)))
    return replace(_without_blank_rows(names, columns, source), categorical=categorical)


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files to read, each checked to be a regular file."""
    place, facts = existing(path)
    if not stat.S_ISDIR(facts.st_mode):
        return [regular_file(place)]
    try:
        files = sorted(entry for entry in place.iterdir() if entry.suffix.lower() == ".parquet")
    except OSError as error:
        raise InputError(
            f"The directory cannot be looked into: {error.strerror}.", kind="no_permission", where=str(path)
        ) from None
    if not files:
        raise InputError(
            "This is a directory without parquet files: name a file in it.", kind="not_a_file", where=str(path)
        )
    return [regular_file(file) for file in files]


def _rehearse(files: Sequence[Path], max_cells: int, source: str) -> tuple[int, int]:
    """Read the files in a process of its own, which a damaged file may end, and return rows and columns."""
    script = Path(__file__).with_name("rehearse.py")
    question = json.dumps([[str(file) for file in files], max_cells])
    done = subprocess.run(  # noqa: S603  our own script, run by the interpreter that runs this
        [sys.executable, "-P", str(script)], input=question, capture_output=True, text=True, check=False
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"error": "the library that reads it broke off"}
    if "error" in answer:
        raise is_damaged(source, str(answer["error"]))
    return int(answer["rows"]), int(answer["columns"])


def is_damaged(source: str, error: str) -> InputError:
    """Return the error for a file that cannot be read, with the reason that the library gave."""
    reason = (error.splitlines() or ["unknown"])[0][:200].rstrip(".")
    return InputError(
        f"The parquet file is damaged or of an unknown kind ({reason}): write it again.", kind="damaged", where=source
    )


def _limit_text(frame: pl.DataFrame, max_text: int, source: str) -> None:
    """Refuse texts that are kept once and used so often that their copies would exhaust memory."""
    import polars as pl

    total = 0
    for column in frame.iter_columns():
        if isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
            total += int(column.cast(pl.String).str.len_bytes().sum() or 0)
    if total > max_text:
        raise InputError(
            f"The columns hold {in_bytes(total)} of text, more than the limit of {in_bytes(max_text)}: keep only the "
            "columns that are needed.",
            kind="too_large",
            where=source,
        )


def _cells(column: pl.Series) -> list[Cell]:
    """Return one column as cells; what is neither number, text, truth value nor date is written as text."""
    import polars as pl

    if isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return [None if is_blank(cell) else cell for cell in column.cast(pl.String).to_list()]
    if isinstance(column.dtype, pl.Decimal):
        column = column.cast(pl.Float64)
    if column.dtype.is_numeric() or column.dtype.is_temporal() or isinstance(column.dtype, (pl.Boolean, pl.Null)):
        return column.to_list()
    return [None if cell is None else str(cell) for cell in column.to_list()]


def _without_blank_rows(names: tuple[str, ...], columns: tuple[list[Cell], ...], source: str) -> Table:
    """Leave rows out that are wholly empty, with a note on those between rows of data."""
    count = len(columns[0])
    filled = [any(cell is not None for cell in row) for row in zip(*columns, strict=True)]
    numbers = [number for number, keep in enumerate(filled, 1) if keep]
    if not numbers:
        raise no_rows(source)
    notes: tuple[Problem, ...] = ()
    row_numbers: list[int] | range = range(1, count + 1)
    if len(numbers) < count:
        row_numbers = numbers
        columns = tuple([cell for cell, keep in zip(column, filled, strict=True) if keep] for column in columns)
        blank = [number for number, keep in enumerate(filled[: numbers[-1]], 1) if not keep]
        notes = (blank_rows_note(blank),) if blank else ()
    return Table(tuple(name.strip() for name in names), columns, row_numbers, source, notes=notes)
