"""Large text files of cells in portions: each of some mebibytes, cut between rows and split into columns."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from evenhand import progress
from evenhand.compiled import compiled, wants_loops
from evenhand.errors import InputError, Problem
from evenhand.io import delimited
from evenhand.io.scanning import LITERAL, LONE_RETURN, MISPLACED, count_controls, row_ends
from evenhand.io.table import Cell, header_text, is_blank, long_row, no_cells

if TYPE_CHECKING:
    import polars as pl

PORTION = 8 * 2**20
"""Most bytes that are read at a time; files that are not very large are read in about 64 portions."""

MOST_PROBLEMS = 1000
"""Problems of a large file that are listed; the others are counted."""

SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    + ("\u2028\u2029\u202f\u205f\u3000")
)
"""All white space, as Python's ``str.strip`` understands it."""

_LEAST = 2**20
_HEAD = 2**19
_LONGEST_LINE = 131_072
_PATIENCE = 2**26
_SPACE = "[" + "".join(f"\\x{{{ord(space):x}}}" for space in SPACES) + "]*"
_COMMA_NUMBER = rf"^{_SPACE}[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?{_SPACE}$"
_POINT_NUMBER = rf"^{_SPACE}[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?{_SPACE}$"
_THOUSANDS = rf"^{_SPACE}[+-]?[1-9]\d{{0,2}},\d{{3}}{_SPACE}$"


class AwkwardFileError(Exception):
    """The file is so unusual that only the way cell by cell reads it."""


class WrongEncodingError(Exception):
    """The text is not in the encoding that was assumed."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some whole rows of a file: one column of texts for each cell of a row, and the number of the first row."""

    frame: pl.DataFrame
    first_row: int


@dataclass(slots=True)
class TextFile:
    """A text file of cells that is read portion by portion.

    Attributes
    ----------
    names
        The header, as the user wrote it.
    first_row
        The number of the first row below the header.
    rows
        The number of rows, estimated from the first ones.
    decimal_comma
        Whether commas are decimal marks, as far as the portions given out until now can tell.
    long_rows, n_long_rows
        Rows with cells beyond the header, the first of them in full.
    """

    path: Path
    encoding: str = "utf-8"
    names: tuple[str, ...] = ()
    first_row: int = 0
    n_long_rows: int = 0
    long_rows: list[Problem] = field(default_factory=list)
    rows: int = 0
    _delimiter: str = ","
    _width: int = 0
    _raw_width: int = 0
    _start: bytes = b""
    _chunks: Iterator[bytes] = field(default_factory=lambda: iter(()))
    _commas: _Commas | None = None
    _portion: int = PORTION
    _quick: bool = False
    _controls: int = 0
    _characters: int = 0

    @property
    def source(self) -> str:
        """What to call the file in messages."""
        return self.path.name

    @property
    def notes(self) -> list[Problem]:
        """What a reader of the file should know, once all portions were read."""
        found = [delimited.encoding_note(self.source)] if self.encoding in ("cp1252", "latin-1") else []
        return found + ([self._commas.note()] if self._commas is not None and self.decimal_comma else [])

    @property
    def decimal_comma(self) -> bool:
        """Whether commas are decimal marks, as far as is known by now."""
        return self._commas is not None and self._commas.decided

    def open(self, stream: BinaryIO) -> None:
        """Read the header, from a file that was just opened."""
        size = self.path.stat().st_size
        self._portion = min(max(size // 64, _LEAST), PORTION)
        self._chunks = self._read(stream, size)
        head = next(self._chunks, b"")
        while len(head) < _HEAD and (more := next(self._chunks, b"")):
            head += more
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
        said = delimited.SEPARATOR_LINE.match(text)
        if said:
            self._delimiter, text = said[1], text[said.end() :]
            head = head[len(said[0].encode()) :]
        else:
            preferred = "\t" if self.path.suffix.lower() == ".tsv" else None
            self._delimiter = delimited.sniff(text, preferred=preferred)
        rows = 0
        taken: list[str] = []
        header: list[str] | None = None
        reader = csv.reader(_taking(io.StringIO(text, newline=""), taken), delimiter=self._delimiter, strict=True)
        for row in delimited.checked_rows(reader, self.source):
            rows += 1
            if not all(map(is_blank, row)):
                header = row
                break
        if header is None:
            if len(head) < _HEAD:
                raise no_cells(self.source)
            raise AwkwardFileError
        used = sum(len(line.encode()) for line in taken)
        sample: list[list[str]] = []
        with contextlib.suppress(csv.Error):
            sample.extend(itertools.islice(reader, 200))
        self.names = _names(header)
        self._width = len(self.names)
        self._raw_width = max(len(header), self._width, *map(len, sample), 1)
        self.first_row = rows + 1
        if self._delimiter != ",":
            self._commas = _Commas(header, count_header=rows > 1)
        self._start = head[used:]
        lines = self._start[:_HEAD].count(b"\n") or self._start[:_HEAD].count(b"\r") or 1
        self.rows = int(size / max(len(self._start[:_HEAD]) / lines, 1.0))
        self._quick = wants_loops(self.rows)

    def portions(self) -> Iterator[Portion]:
        """Yield the rows below the header, a portion at a time."""
        number = self.first_row
        try:
            for data, rows, is_plain in self._cut():
                frame = self._split(data, rows) if is_plain else None
                if frame is None:
                    frame = self._split_slowly(data, number)
                if self._commas is not None:
                    self._commas.watch(data, frame)
                yield Portion(frame, number)
                number += frame.height
        except InputError:
            self._refuse_binary()
            raise
        self._refuse_binary()

    def _read(self, stream: BinaryIO, size: int) -> Iterator[bytes]:
        """Yield the text in UTF-8, a piece at a time, and refuse what is not text."""
        decoder = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()
        checker = codecs.getincrementaldecoder("utf-8")() if decoder is None else None
        marked = self.encoding not in ("utf-8", "cp1252", "latin-1")
        done = 0
        while piece := stream.read(self._portion):
            progress.report(f"reading {self.source}", done, size)
            if not marked and b"\0" in piece:
                raise delimited.has_nul(self.source)
            try:
                if decoder is not None:
                    held = len(decoder.getstate()[0])
                    text = decoder.decode(piece, final=done + len(piece) >= size)
                    characters, piece_read = len(text), text.encode("utf-8")
                else:
                    assert checker is not None  # noqa: S101  for the type checker
                    piece_read, characters = piece, len(piece)
                    if not piece.isascii() or checker.getstate()[0]:
                        characters = len(checker.decode(piece, final=done + len(piece) >= size))
            except UnicodeDecodeError as error:
                if not marked:
                    raise WrongEncodingError from None
                at = done - held + error.start - (3 if self.encoding == "utf-8-sig" and done else 0)
                raise delimited.is_damaged(self.source, self.encoding, at) from None
            done += len(piece)
            self._characters += characters
            self._controls += count_controls(piece_read, quick=self._quick)
            if b"\0" in piece_read:
                raise delimited.is_binary(self.source)
            yield piece_read
        progress.report(f"reading {self.source}", size, size)

    def _refuse_binary(self) -> None:
        if self._controls > max(2, self._characters // 200):
            raise delimited.is_binary(self.source)

    def _cut(self) -> Iterator[tuple[bytes, int, bool]]:
        """Yield portions of whole rows, with the number of rows and whether polars splits them as Python would."""
        start, self._start, step = self._start, b"", self._portion
        pieces = itertools.chain((start[at : at + step] for at in range(0, len(start), step)), self._chunks)
        pending, is_last = b"", False
        while not is_last:
            piece = next(pieces, b"")
            is_last = not piece
            pending += piece
            if len(pending) < step and not is_last:
                continue
            data, rows, is_plain = self._whole_rows(pending, is_last)
            if not data and not is_last and len(pending) > 2**20 and self._is_endless(pending):
                data, rows, is_plain = pending, 0, False
            consumed = len(data)
            if is_plain and b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                rows = data.count(b"\n") + (not data.endswith(b"\n"))
            pending = pending[consumed:]
            if data:
                yield data, rows, is_plain and not data.startswith(codecs.BOM_UTF8)

    def _whole_rows(self, data: bytes, is_last: bool) -> tuple[bytes, int, bool]:
        """Return the whole rows at the beginning, how many they are, and whether polars may split them."""
        if b'"' in data:
            if not self._quick:
                return (data, 0, False) if is_last else (self._rows_with_quotes(data), 0, False)
            end, rows, met = compiled(row_ends)(np.frombuffer(data, np.uint8), ord(self._delimiter), is_last)
            if met & MISPLACED:  # it will be refused, once the character behind the mark is there as a whole
                return data if is_last or _ends_whole(data) else b"", 0, False
            return data[:end], rows, not met & (LITERAL | LONE_RETURN) and _has_short_lines(data[:end])
        if not is_last:
            end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
            data = data[:end]
        rows = data.count(b"\n") + bool(data and not data.endswith(b"\n"))
        return data, rows, _has_short_lines(data)

    def _rows_with_quotes(self, data: bytes) -> bytes:
        """Return the whole rows at the beginning of a portion with quotation marks, found without numba."""
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
        taken: list[str] = []
        held: list[int] = []
        reader = csv.reader(_taking(io.StringIO(text, newline=""), taken), delimiter=self._delimiter, strict=True)
        try:
            for _ in reader:
                held.append(len(taken))  # noqa: PERF401  counted row by row, up to an error
        except csv.Error as error:
            if "unexpected end" not in str(error):
                return data
        ended = [count for count in held if count < len(taken)]  # the last row may go on
        return "".join(taken[: ended[-1] if ended else 0]).encode()

    def _is_endless(self, data: bytes) -> bool:
        """Say whether a cell is over the limit, most likely because a quotation mark is not closed."""
        if len(data) > _PATIENCE:
            raise AwkwardFileError
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
        try:
            for _ in csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True):
                pass
        except csv.Error as error:
            return "field larger" in str(error)
        return False

    def _split(self, data: bytes, rows: int) -> pl.DataFrame | None:
        """Split rows into columns, or return None where polars would not do it as Python does."""
        import polars as pl

        names = [str(index) for index in range(self._raw_width)]
        head = (self._delimiter.join(names) + "\n").encode()
        try:
            frame = pl.read_csv(
                head + data,
                separator=self._delimiter,
                quote_char='"' if b'"' in data else None,
                schema=dict.fromkeys(names, pl.String),
            )
        except pl.exceptions.PolarsError:
            return None
        if frame.height != rows:
            return None
        frame = frame.with_columns(pl.col(name).fill_null("") for name in names if frame[name].null_count())
        if any((frame[name] != "").any() for name in names[self._width :]):
            return None
        return frame.rechunk()

    def _split_slowly(self, data: bytes, number: int) -> pl.DataFrame:
        """Split rows into columns as Python does, and take note of rows that are too long."""
        import polars as pl

        # a portion that ends within a character is one that will be refused
        text = io.StringIO(codecs.getincrementaldecoder("utf-8")().decode(data), newline="")
        reader = csv.reader(text, delimiter=self._delimiter, strict=True)
        rows = list(delimited.checked_rows(reader, self.source, done=number - 1))
        for row_number, row in enumerate(rows, number):
            if len(row) > self._width:
                filled = len(row)
                while filled and is_blank(row[filled - 1]):
                    filled -= 1
                if filled > self._width:
                    self.n_long_rows += 1
                    if len(self.long_rows) < MOST_PROBLEMS:
                        self.long_rows.append(long_row(self.source, row_number, filled, self._width))
        width = self._raw_width
        cells = [[*row[:width], *[""] * (width - len(row))] for row in rows]
        columns = list(zip(*cells, strict=True)) or [()] * width
        return pl.DataFrame({str(i): pl.Series(list(columns[i]), dtype=pl.String) for i in range(width)})

    @property
    def width(self) -> int:
        """Number of columns of the header."""
        return self._width


@dataclass(slots=True)
class _Commas:
    """Numbers with a comma or a point, by column, seen so far."""

    header: Sequence[str]
    count_header: bool
    comma: set[int] = field(default_factory=set)
    point: set[int] = field(default_factory=set)
    first: str | None = None
    only_thousands: bool = True

    def __post_init__(self) -> None:
        for column, cell in enumerate(self.header):
            if delimited.COMMA_NUMBER.fullmatch(cell):
                self.first = self.first or cell.strip()
                self.only_thousands &= delimited.THOUSANDS.fullmatch(cell.strip()) is not None
                if self.count_header:
                    self.comma.add(column)
            if self.count_header and delimited.POINT_NUMBER.fullmatch(cell):
                self.point.add(column)

    @property
    def decided(self) -> bool:
        """Whether some column has numbers with a comma and none with a point."""
        return bool(self.comma - self.point)

    def note(self) -> Problem:
        return delimited.comma_note(self.first or "", only_thousands=self.only_thousands)

    def watch(self, data: bytes, frame: pl.DataFrame) -> None:
        """Look through the cells of a portion."""
        has_comma, has_point = b"," in data, b"." in data
        first: tuple[int, int, str] | None = None
        for index, column in enumerate(frame.iter_columns()):
            if has_point and index not in self.point:
                cells = column.filter(column.str.contains(".", literal=True))
                if cells.str.contains(_POINT_NUMBER).any():
                    self.point.add(index)
            if has_comma:
                at = column.str.contains(",", literal=True).arg_true()
                cells = column.gather(at)
                matches = cells.str.contains(_COMMA_NUMBER)
                if not matches.any():
                    continue
                self.comma.add(index)
                numbers = cells.filter(matches)
                where = (int(at[int(matches.arg_true()[0])]), index, str(numbers[0]).strip())
                first = where if first is None else min(first, where)
                self.only_thousands = self.only_thousands and bool(numbers.str.contains(_THOUSANDS).all())
        if self.first is None and first is not None:
            self.first = first[2]


def _taking(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """Hand lines on and keep a record of them."""
    for line in lines:
        taken.append(line)
        yield line


def _names(header: Sequence[Cell]) -> tuple[str, ...]:
    """Return the names of the columns, without empty ones at the end."""
    names = [header_text(cell) for cell in header]
    while names and not names[-1]:
        names.pop()
    return tuple(names)


def _ends_whole(data: bytes) -> bool:
    """Say whether UTF-8 ends with a whole character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    return not decoder.getstate()[0]


def _has_short_lines(data: bytes) -> bool:
    """Say whether every line is so short that no cell can be over the limit of Python's reader."""
    at = 0
    while len(data) - at > _LONGEST_LINE:
        end = max(data.rfind(b"\n", at, at + _LONGEST_LINE), data.rfind(b"\r", at, at + _LONGEST_LINE))
        if end < 0:
            return False
        at = end + 1
    return True
