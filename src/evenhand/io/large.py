"""Large files to panels: which files are large, whether they fit into memory, and who reads them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand import memory
from evenhand.errors import InputError, Problem
from evenhand.io import readings
from evenhand.io.coded import Collector, Options, shortened
from evenhand.io.columnar import ParquetStream, reading
from evenhand.io.delimited import marked_encoding
from evenhand.io.labels import CollisionError
from evenhand.io.parquet import parquet_files
from evenhand.io.paths import existing, regular_file
from evenhand.io.portions import AwkwardFileError, TextFile, WrongEncodingError
from evenhand.io.table import blank_rows_note, no_cells, no_rows, too_long
from evenhand.panel.roles import Columns

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from evenhand.panel.panel import Panel

LARGE = 2**20
"""Bytes from which on a text or parquet file is read column by column and not cell by cell, which is slower then."""

Recognise = Callable[[Sequence[str], str], tuple[Columns, list[Problem]]]
"""Finds the columns of a panel among names, given what to call the table; returns notes, too."""


def is_large(path: str | os.PathLike[str]) -> bool:
    """Say whether a file is of a kind and a size that is read column by column."""
    place, facts = existing(path)
    suffix = place.suffix.lower()
    if stat.S_ISDIR(facts.st_mode):
        try:
            sizes = [entry.stat().st_size for entry in place.iterdir() if entry.suffix.lower() == ".parquet"]
        except OSError:
            return False
        return bool(sizes) and sum(sizes) >= LARGE
    return stat.S_ISREG(facts.st_mode) and suffix in (".csv", ".tsv", ".txt", ".parquet") and facts.st_size >= LARGE


def is_columnar(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is a parquet file or a directory."""
    place, facts = existing(path)
    return place.suffix.lower() == ".parquet" or stat.S_ISDIR(facts.st_mode)


def read_large(path: str | os.PathLike[str], recognise: Recognise, options: Options) -> Panel | None:
    """Read a panel column by column; None where the file is so unusual that only its cells can be read.

    Parameters
    ----------
    path
        A csv, tsv, txt or parquet file, or a directory of parquet files.
    recognise
        Finds the columns.
    options
        How cells are to be read.

    Raises
    ------
    InputError
        With the problems found, each with its row and column; the first thousand where there are more.
    LimitError
        If the panel does not fit into memory.
    """
    place, _ = existing(path)
    read = _read_parquet if is_columnar(place) else _read_text
    try:
        try:
            return read(place, recognise, options, by_hash=True)
        except CollisionError:
            return read(place, recognise, options, by_hash=False)
    except AwkwardFileError:
        return None


def _read_text(path: Path, recognise: Recognise, options: Options, *, by_hash: bool) -> Panel:
    place = regular_file(path)
    try:
        with place.open("rb") as stream:
            marked = marked_encoding(stream.read(8), place.name)
        for encoding in (marked,) if marked else ("utf-8", "cp1252", "latin-1"):
            try:
                return _read_encoded(place, encoding, recognise, options, by_hash)
            except WrongEncodingError:
                continue
    except OSError as error:
        raise InputError(f"The file cannot be read: {error.strerror}.", kind="unreadable", where=place.name) from None
    raise AssertionError("Latin-1 reads anything")


def _read_encoded(place: Path, encoding: str, recognise: Recognise, options: Options, by_hash: bool) -> Panel:
    guess: bool | None = None
    while True:  # twice at most: once more where numbers far down show what commas mean
        with place.open("rb") as stream:
            file = TextFile(place, encoding)
            file.open(stream)
            used: list[int] = []
            collector: Collector | None = None
            fault: InputError | None = None
            try:
                roles, notes = recognise(file.names, file.source)
                used = used_columns(roles)
                _foresee(file.rows, len(used), file.source)
                collector = Collector(
                    [file.names[index] for index in used],
                    roles.form,
                    options,
                    first_row=file.first_row,
                    rows=file.rows,
                    by_hash=by_hash,
                )
            except InputError as error:
                fault = error  # said once the rest of the file was found to be sound, as for a small file
            blank: list[NDArray[np.int64]] = []
            last = 0
            assumed: bool | None = None
            for portion in file.portions():
                height = portion.frame.height
                if collector is None:
                    bare = _blank_rows(portion.frame, np.arange(height)) if not last else np.zeros(0, np.int64)
                else:
                    if assumed is None:
                        assumed = file.decimal_comma if guess is None else guess
                        collector.decimal_comma = assumed
                    empty = collector.add([portion.frame.to_series(index) for index in used], portion.first_row)
                    bare = _blank_rows(portion.frame, empty)
                    blank.append(portion.first_row + bare)
                last = _last_filled(portion.first_row, height, bare) or last
        if assumed is not None and assumed != file.decimal_comma and guess is None:
            guess = file.decimal_comma
            continue
        break
    if not last:
        raise no_rows(file.source)
    if file.n_long_rows:
        short = shortened(file.long_rows, file.n_long_rows)
        raise too_long(short.problems, file.width, file.source)
    if collector is None:
        assert fault is not None  # noqa: S101  for the type checker
        raise fault
    between = [number for numbers in blank for number in numbers[numbers < last].tolist()]
    found = [*file.notes, *([blank_rows_note(between)] if between else []), *notes]
    return collector.panel(found)


def _read_parquet(path: Path, recognise: Recognise, options: Options, *, by_hash: bool) -> Panel:
    files = parquet_files(path)
    source = path.name or str(path)
    with reading() as stream:
        stream.open(files, source)
        names = tuple(name.strip() for name in stream.names)
        if not names:
            raise no_cells(source)
        if not stream.rows:
            raise no_rows(source)
        try:
            roles, notes = recognise(names, source)
            used = used_columns(roles)
            _foresee(stream.rows, len(used), source)
            collector = Collector(
                [names[index] for index in used], roles.form, options, first_row=1, rows=stream.rows, by_hash=by_hash
            )
        except InputError:
            _refuse_blank(stream, len(names), source)
            raise
        empty: list[NDArray[np.int64]] = []
        number = 1
        for frame in stream.batches(used):
            empty.append(number + _blank_rows(frame, collector.add(frame.get_columns(), number)))
            number += frame.height
    blank = np.concatenate(empty)
    others = [index for index in range(len(names)) if index not in used]
    if blank.size and others:
        blank = _still_blank(files, source, blank, others)
    if blank.size == stream.rows:
        raise no_rows(source)
    before = int(np.setdiff1d(np.arange(stream.rows - blank.size, stream.rows + 1), blank).max())
    between = blank[blank < before].tolist()
    return collector.panel([*([blank_rows_note(between)] if between else []), *notes])


def _refuse_blank(stream: ParquetStream, width: int, source: str) -> None:
    """Read all columns, and refuse a file that is damaged or blank."""
    filled = False
    for frame in stream.batches(range(width)):
        filled = filled or _blank_rows(frame, np.arange(frame.height)).size < frame.height
    if not filled:
        raise no_rows(source)


def _still_blank(
    files: Sequence[Path], source: str, rows: NDArray[np.int64], others: Sequence[int]
) -> NDArray[np.int64]:
    """Return those of some rows that are empty in the other columns, too."""
    kept: list[NDArray[np.int64]] = []
    with reading() as stream:
        stream.open(files, source)
        number = 1
        for frame in stream.batches(others):
            here = rows[(rows >= number) & (rows < number + frame.height)]
            kept.append(number + _blank_rows(frame, here - number))
            number += frame.height
    return np.concatenate(kept)


def used_columns(roles: Columns) -> list[int]:
    """Return the columns of a panel in their order: object, assessor, score and confidence."""
    used = [roles.object, roles.assessor, roles.score]
    return used if roles.confidence is None else [*used, roles.confidence]


def _blank_rows(frame: pl.DataFrame, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some rows of a portion in which no cell of any column is filled."""
    import polars as pl

    for column in frame.iter_columns():
        if not rows.size:
            break
        cells = column.gather(rows)
        if isinstance(cells.dtype, (pl.String, pl.Categorical, pl.Enum)):
            rows = rows[readings.is_empty(cells, frozenset())]
        else:
            rows = rows[cells.is_null().to_numpy()]
    return rows


def _last_filled(first_row: int, height: int, blank: NDArray[np.int64]) -> int:
    """Return the number of the last row of a portion that is not blank; 0 where all are."""
    filled = np.setdiff1d(np.arange(max(height - blank.size - 1, 0), height), blank)
    return first_row + int(filled.max()) if filled.size else 0


def _foresee(rows: int, columns: int, source: str) -> None:
    """Refuse a panel that would not fit into memory, before any of it is read."""
    memory.require(1.5 * 8 * (columns - 1) * rows, f"the {rows:,} rows or so of {source}")
