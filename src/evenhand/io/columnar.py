"""Large parquet files, read batch by batch in a process of their own, which a damaged file may end."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand import progress
from evenhand.errors import InputError, MissingPackageError
from evenhand.io.parquet import is_damaged

if TYPE_CHECKING:
    import polars as pl


class ParquetStream:
    """Another process that reads parquet files, one table after the other.

    Attributes
    ----------
    names
        The names of all columns of the table that was opened last.
    rows
        The number of its rows.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._source = ""
        self.names: tuple[str, ...] = ()
        self.rows = 0

    def open(self, files: Sequence[Path], source: str) -> None:
        """Open a table that consists of some files; the one before must have been read to its end."""
        self._source = source
        self._ask([str(file) for file in files])
        facts = json.loads(self._message())
        self.names, self.rows = tuple(facts["names"]), int(facts["rows"])

    def batches(self, columns: Sequence[int]) -> Iterator[pl.DataFrame]:
        """Yield some columns, a batch of rows at a time."""
        self._ask(list(columns))
        done = 0
        while (frame := self._frame()) is not None:
            progress.report(f"reading {self._source}", done, self.rows)
            done += frame.height
            yield frame
        if done != self.rows:  # some releases of polars end in the middle of a damaged file and say nothing
            raise self._broken()
        progress.report(f"reading {self._source}", done, self.rows)

    def _frame(self) -> pl.DataFrame | None:
        """Return the next batch; None at the end."""
        import polars as pl

        content = self._message()
        return pl.read_ipc_stream(content) if content else None

    def _ask(self, question: object) -> None:
        assert self._process.stdin is not None  # noqa: S101  for the type checker
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._broken() from None

    def _message(self) -> bytes:
        """Return the next message; nothing at the end."""
        length = struct.unpack("<q", self._take(8))[0]
        if length < 0:
            raise is_damaged(self._source, str(json.loads(self._take(-length))["error"]))
        return self._take(length)

    def _take(self, length: int) -> bytes:
        assert self._process.stdout is not None  # noqa: S101  for the type checker
        content = self._process.stdout.read(length)
        if len(content) < length:
            raise self._broken()
        return content

    def _broken(self) -> InputError:
        return is_damaged(self._source, "the library that reads it broke off")


@contextmanager
def reading() -> Iterator[ParquetStream]:
    """Have another process read parquet files, for as long as the context lasts."""
    if find_spec("polars") is None:
        raise MissingPackageError("polars", "Reading a parquet file", "polars")
    script = Path(__file__).with_name("stream.py")
    process = subprocess.Popen(  # noqa: S603  our own script, run by the interpreter that runs this
        [sys.executable, "-P", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=2**20,
    )
    try:
        import polars  # noqa: F401  while the other process does the same

        yield ParquetStream(process)
    finally:
        process.kill()
        with suppress(OSError):  # what was never taken cannot be handed over any more
            process.communicate()
