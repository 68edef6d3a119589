"""Parquet files, one or a directory of them, read by a process of its own, which a damaged file may end."""

from __future__ import annotations

import json
import os
import pickle
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand import progress
from evenhand.errors import InputError, Problem, require
from evenhand.io.coding import SPACES, CollisionError, Factoriser, wants_polars
from evenhand.io.paths import MAX_UNPACKED, existing, in_bytes, reason_of, regular_file
from evenhand.io.table import MAX_CELLS, BlankRows, is_blank, no_cells, no_rows
from evenhand.panel.column import NO_CODE, Coders, Table
from evenhand.panel.rules import MOST_PROBLEMS
from evenhand.panel.source import Wanted, read_whole

if TYPE_CHECKING:
    import polars as pl

_BYTES_OF_A_CELL: Final = 4
"""About what a cell takes in a text file: a few bytes of parquet may be as much as a large text file."""


def read_parquet(path: str | os.PathLike[str], *, max_cells: int = MAX_CELLS, max_text: int = MAX_UNPACKED) -> Table:
    """Read a parquet file, or all parquet files of a directory in the order of their names; rows count from 1.

    How many cells and bytes of text there are is known from the metadata, before anything is unpacked.
    """
    return read_whole(ParquetFile(path, quick=False, max_cells=max_cells, max_text=max_text))


def parquet_files(path: str | os.PathLike[str], advice: str = "name a file in it") -> list[Path]:
    """Return the files to read, each checked to be a regular file; ``advice`` is what to do where there is none."""
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
        message = f"This is a directory without parquet files: {advice}."
        raise InputError(message, kind="not_a_file", where=str(path))
    return [regular_file(file) for file in files]


class ParquetFile:
    """A parquet file, or a directory of them, as a :class:`evenhand.panel.source.Source`.

    Polars may read large columns in this process, too, if ``quick``. The most that is read are ``max_cells`` and
    ``max_text`` bytes of text; None for any.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        quick: bool = True,
        max_cells: int | None = None,
        max_text: int | None = None,
    ) -> None:
        self._files = parquet_files(path)
        self._may_be_quick, self._max_cells, self._max_text = quick, max_cells, max_text
        self._quick = False
        self._by_hash = True
        self._categorical: list[bool] = []
        self.most_problems: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.source = Path(path).name or str(path)
        self.names: tuple[str, ...] = ()
        self.rows = 0

    def open(self) -> None:
        """Ask what the files hold."""
        require("polars", "Reading a parquet file")
        self._process = subprocess.Popen(  # noqa: S603  our own script, run by the interpreter that runs this
            [sys.executable, "-P", str(Path(__file__).with_name("parquet_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=2**20,
        )
        size = sum(file.stat().st_size for file in self._files)
        if self._may_be_quick and wants_polars(size):
            import polars  # noqa: F401  while the other process does the same
        facts = self._ask()
        self.names, self.rows = tuple(name.strip() for name in facts["names"]), int(facts["rows"])
        self._categorical, self._blank = facts["categorical"], BlankRows()
        self._limit(int(facts["text"]))
        if not self.names:
            raise no_cells(self.source)
        if not self.rows:
            raise no_rows(self.source)
        self._quick = self._may_be_quick and wants_polars(max(size, _BYTES_OF_A_CELL * self.rows * len(self.names)))
        self.most_problems = MOST_PROBLEMS if self._quick else None

    def close(self) -> None:
        """End the other process."""
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):  # what was never taken cannot be handed over any more
                self._process.communicate()

    def notes(self) -> Sequence[Problem]:
        """Return the note on blank rows."""
        return self._blank.note()

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield the wanted columns, some rows at a time; without any where none is wanted."""
        if wanted is None:
            every = range(len(self.names))
            if not any(self._filled(parts).any() for parts in list(self._batches(every))):
                raise no_rows(self.source)
            return
        factoriser = Factoriser(self.names, wanted, self.rows, by_hash=self._by_hash)
        coders = Coders([self.names[at] for at in wanted.used])
        blank, number = [np.zeros(0, np.int64)], 1
        try:
            for parts in self._batches(wanted.used if self._quick else range(len(self.names))):
                numbers = np.arange(number, number + len(parts[0]))
                number += numbers.size
                if self._quick:
                    columns = factoriser.columns(parts)
                    rows = np.flatnonzero(columns[2].codes != NO_CODE)
                    blank.append(numbers[rows[~self._filled(parts, rows)]])
                else:
                    filled = self._filled(parts)
                    blank.append(numbers[~filled])
                    numbers = numbers[filled]
                    cells = [list(compress(parts[at], filled)) for at in wanted.used]
                    columns = tuple(
                        replace(column, is_categorical=self._categorical[at])
                        for at, column in zip(wanted.used, coders.columns(cells), strict=True)
                    )
                yield Table(self.names, columns, numbers, self.source)
        except CollisionError:
            self._by_hash = False
            raise
        self._note_blank(np.concatenate(blank), wanted.used)

    def _note_blank(self, blank: NDArray[np.int64], used: Sequence[int]) -> None:
        """Take note of blank rows, given those that are blank in the columns used."""
        others = [at for at in range(len(self.names)) if at not in used]
        if self._quick and blank.size and others:
            candidates, still, number = blank, [np.zeros(0, np.int64)], 1
            self._ask()
            for parts in self._batches(others):
                rows = candidates[(candidates >= number) & (candidates < number + len(parts[0]))] - number
                still.append(number + rows[~self._filled(parts, rows)])
                number += len(parts[0])
            blank = np.concatenate(still)
        if blank.size == self.rows:
            raise no_rows(self.source)
        last = np.setdiff1d(np.arange(self.rows - blank.size, self.rows + 1), blank).max()
        self._blank.add(blank, int(last))

    def _filled(self, parts: Sequence[Any], rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Say of all rows of a batch, or of some, whether any cell is filled."""
        if not self._quick:
            return np.array([not all(map(is_blank, row)) for row in zip(*parts, strict=True)], np.bool_)
        rows = np.arange(len(parts[0])) if rows is None else rows
        filled = np.zeros(rows.size, np.bool_)
        for part in parts:
            at = np.flatnonzero(~filled)
            if not at.size:
                break
            filled[at] = ~_is_blank_series(part.gather(rows[at]))
        return filled

    def _limit(self, text: int) -> None:
        """Refuse more cells than there may be, and texts that are kept once and used so often as to fill the memory."""
        width = len(self.names)
        if self._max_cells is not None and self.rows * width > self._max_cells:
            raise InputError(
                f"The file has {self.rows:,} rows of {width} columns, more than the limit of {self._max_cells:,} "
                "cells: keep only the columns that are needed, or build the panel from arrays.",
                kind="too_large",
                where=self.source,
            )
        if self._max_text is not None and text > self._max_text:
            raise InputError(
                f"The columns hold {in_bytes(text)} of text, more than the limit of {in_bytes(self._max_text)}: keep "
                "only the columns that are needed.",
                kind="too_large",
                where=self.source,
            )

    # --- the other process -----------------------------------------------------------------------

    def _ask(self) -> dict[str, Any]:
        """Ask what the files hold; what was asked before must have been read to its end."""
        self._send({"files": [str(file) for file in self._files], "count_text": self._max_cells or 0})
        return dict(json.loads(self._message()))

    def _batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Yield some columns, a batch of rows at a time: series of polars, or lists."""
        self._send({"columns": list(columns), "as_lists": not self._quick})
        done = 0
        while content := self._message():
            progress.report(f"reading {self.source}", done, self.rows)
            if self._quick:
                import polars as pl

                parts = pl.read_ipc_stream(content).get_columns()
            else:
                parts = pickle.loads(content)  # noqa: S301  our own process wrote it
            done += len(parts[0])
            yield parts
        if done != self.rows:  # some releases of polars end in the middle of a damaged file and say nothing
            raise self._broken()
        progress.report(f"reading {self.source}", done, self.rows)

    def _send(self, question: object) -> None:
        assert self._process is not None  # noqa: S101  for the type checker
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._broken() from None

    def _message(self) -> bytes:
        """Return the next message; nothing at the end."""
        length = struct.unpack("<q", self._take(8))[0]
        if length < 0:
            raise self._damaged(str(json.loads(self._take(-length))["error"]))
        return self._take(length)

    def _take(self, length: int) -> bytes:
        assert self._process is not None  # noqa: S101  for the type checker
        assert self._process.stdout is not None  # noqa: S101
        content = self._process.stdout.read(length)
        if len(content) < length:
            raise self._broken()
        return content

    def _broken(self) -> InputError:
        return self._damaged("the library that reads it broke off")

    def _damaged(self, error: str) -> InputError:
        message = f"The parquet file is damaged or of an unknown kind ({reason_of(error)}): write it again."
        return InputError(message, kind="damaged", where=self.source)


def _is_blank_series(cells: pl.Series) -> NDArray[np.bool_]:
    import polars as pl

    if isinstance(cells.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return np.array((cells.cast(pl.String).fill_null("").str.strip_chars(SPACES) == "").to_numpy())
    return np.array(cells.is_null().to_numpy())
