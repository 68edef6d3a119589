"""Text files of cells, csv, tsv and txt, of any size, read portion by portion; a small file is one portion.

The delimiter, the encoding and the decimal mark are found out on the way. Python's reader of csv has the last word;
polars splits what it splits in the same way.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand import progress
from evenhand.errors import InputError, Problem
from evenhand.io import coding
from evenhand.io.coding import SPACES, CollisionError, Factoriser
from evenhand.io.paths import MAX_UNPACKED, regular_file, unreadable
from evenhand.io.table import MAX_CELLS, BlankRows, banner_note, header_names, no_cells, no_rows
from evenhand.panel.collector import ReadAgainError
from evenhand.panel.column import NO_CODE, Coders, Column, Table
from evenhand.panel.headings import is_known
from evenhand.panel.layout import find_header, joined_names
from evenhand.panel.rules import MOST_PROBLEMS, shortened
from evenhand.panel.source import Wanted, read_whole
from evenhand.words import remark

if TYPE_CHECKING:
    import polars as pl

DELIMITERS: Final = (",", ";", "\t", "|")
"""Delimiters that are looked for, in the order of preference where nothing else decides."""

PORTION = 8 * 2**20
"""Most bytes that are read at a time; files that are not very large are read in about 64 portions."""

LEAST_PORTION = 2**20
"""Fewest bytes that are read at a time: smaller files are read at once."""

_HEAD: Final = 2**19
_SAMPLE: Final = 65_536
_FIRST_ROWS: Final = 40
_LONGEST_LINE: Final = 131_072
_LONGEST_ROW: Final = 2**26
_SEPARATOR_LINE: Final = re.compile(r"\"?sep=([,;\t|])\"?[^\S\r\n]*(\r\n|\r|\n|$)", re.IGNORECASE)
_WESTERN: Final = ("cp1252", "latin-1")
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins like this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FORMATS: Final = {
    b"PK\x03\x04": (
        "The file is a workbook or a zip archive, not text: give it its true suffix (.xlsx or .ods) or unpack it."
    ),
    b"\xd0\xcf\x11\xe0": "The file is an old Excel workbook, not text: save it as .xlsx or as csv.",
    b"PAR1": "The file is a parquet file, not text: give it the suffix .parquet.",
    b"\x1f\x8b": "The file is a gzip archive, not text: unpack it first.",
    b"%PDF": "The file is a PDF, not text: save the table as csv.",
}

_BINARY: Final = "The file is not text but binary data: save the table as csv."
_WITH_NUL: Final = (
    "The file contains NUL characters, so it is not text in a known encoding: save it again as csv in UTF-8."
)
_NOT_UTF_8: Final = (
    "The file is not UTF-8 and was read as Windows-1252 (Western European): check labels with accents, or save it as "
    "csv in UTF-8."
)
_BAD_QUOTES: Final = {
    "field larger": (
        "unclosed_quote",
        "A cell in this row is longer than {most} characters, most likely because a quotation mark is not closed: add "
        "the missing one or shorten the cell.",
    ),
    "unexpected end": (
        "unclosed_quote",
        "A quotation mark that begins in this row is not closed: add the missing one.",
    ),
    "": (
        "bad_quote",
        "Text follows a closing quotation mark: double each quotation mark that stands inside a quoted cell.",
    ),
}
"""By what Python's reader says, the kind of error and its sentence."""

T = TypeVar("T")
TextPart: TypeAlias = "list[str] | pl.Series"
"""The cells of one column in some rows."""


class _Rows(NamedTuple):
    """Rows split into columns: their cells by column, their numbers, and those of blank rows among them."""

    parts: Sequence[TextPart]
    numbers: NDArray[np.int64]
    blank: NDArray[np.int64]


def read_delimited(path: str | os.PathLike[str], *, max_bytes: int = MAX_UNPACKED) -> Table:
    """Read a text file of cells, csv, tsv or txt, of at most so many bytes.

    The delimiter is the one of ``, ; tab |`` that gives a header with known names and rows of its length,
    unless the first line says it (``sep=;``, as Excel writes). The text may be UTF-8 with or without a byte
    order mark, UTF-16 or UTF-32 with one, or else Windows-1252, which is noted. Cells stay text: ``007`` stays
    ``007``. Commas are decimal marks where the delimiter is not a comma and numbers such as ``7,5`` occur in a column
    but none such as ``7.5``.
    """
    return read_whole(TextFile(path, quick=False, max_bytes=max_bytes, max_cells=MAX_CELLS))


class TextFile:
    """A text file of cells as a :class:`evenhand.panel.source.Source`; its rows are estimated from the first ones.

    Polars may split it where it is large, if ``quick``. The largest file that is read has ``max_bytes`` and
    ``max_cells``; None for any.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        quick: bool = True,
        max_bytes: int | None = None,
        max_cells: int | None = None,
    ) -> None:
        self._path = regular_file(path, max_bytes=max_bytes)
        self.source = self._path.name
        self.names: tuple[str, ...] = ()
        self.rows = 0
        self._size = self._path.stat().st_size
        self.most_problems = MOST_PROBLEMS if self._size >= coding.LARGE_FILE else None
        self._quick, self._by_hash, self._max_cells = quick and coding.wants_polars(self._size), True, max_cells
        self._encodings: list[str] = []
        self._comma: bool | None = None
        self._stream: BinaryIO | None = None

    def open(self) -> None:
        """Read the header, from the beginning of the file."""
        try:
            self._stream = self._path.open("rb")
            if not self._encodings:
                self._encodings = self._possible_encodings(self._stream.read(8))
                self._stream.seek(0)
        except OSError as error:
            raise unreadable(self.source, error) from None
        self._controls = self._characters = self._cells = self._count_long = 0
        self._long_rows: list[Problem] = []
        self._portion = min(max(self._size // 64, LEAST_PORTION), PORTION)
        self._chunks = self._read(self._stream)
        try:
            self._begin()
        except InputError:
            self._refuse_binary()
            raise

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def notes(self) -> list[Problem]:
        """Return what a reader of the file should know, once all portions were read."""
        found = [Problem("encoding", remark(_NOT_UTF_8), self.source)] if self._encodings[0] in _WESTERN else []
        return found + banner_note(self._above) + self._marks.notes() + self._blank.note()

    def notes_on_numbers(self, columns: Sequence[int]) -> list[Problem]:
        """Return what a reader should know of some columns if these are read as numbers."""
        self._marks.numeric = frozenset(columns)
        return [note for note in self._marks.notes() if note.kind == "decimal_point"]

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield the rows below the header, a portion at a time; without columns where none is wanted."""
        used = () if wanted is None else wanted.used
        coders = Coders([self.names[at] for at in used])
        factoriser = None
        if wanted is not None:
            self._marks.numeric = wanted.numeric
            if self._quick:
                factoriser = Factoriser(self.names, wanted, self.rows, by_hash=self._by_hash)
        number, comma = self._first_row, self._comma
        try:
            for data, count, is_plain in self._cut():
                rows = (self._split(data, count, number) if is_plain else None) or self._split_slowly(data, number)
                number += rows.numbers.size + rows.blank.size
                self._marks.watch(rows.parts)
                if comma is None:
                    comma = self._marks.decimal_comma
                parts: Any = [rows.parts[at] for at in used]
                columns = factoriser.columns(parts, decimal_comma=comma) if factoriser else coders.columns(parts)
                self._note_blank(rows, columns)
                yield Table(self.names, columns, rows.numbers, self.source, comma)
        except CollisionError:
            self._by_hash = False
            raise
        except InputError:
            self._refuse_binary()
            raise
        self._refuse_binary()
        if self._comma is None and comma is not None and comma != self._marks.decimal_comma:
            self._comma = self._marks.decimal_comma  # numbers far down show what commas mean
            raise ReadAgainError
        if not self._blank.last:
            raise no_rows(self.source)
        if self._count_long:
            raise self._too_long()

    # --- bytes -----------------------------------------------------------------------------------

    def _read(self, stream: BinaryIO) -> Iterator[bytes]:
        """Yield the text in UTF-8, a piece at a time, and refuse what is not text."""
        encoding = self._encodings[0]
        decoder = codecs.getincrementaldecoder(encoding)()
        marked = encoding not in ("utf-8", *_WESTERN)
        done = 0
        while True:
            progress.report(f"reading {self.source}", done, self._size)
            try:
                piece = stream.read(self._portion)
            except OSError as error:
                raise unreadable(self.source, error) from None
            if not piece:
                return
            if not marked and b"\0" in piece:
                raise self._refusal(remark(_WITH_NUL))
            held = len(decoder.getstate()[0])
            try:
                if encoding == "utf-8" and piece.isascii() and not held:
                    text, characters = piece, len(piece)
                else:
                    decoded = decoder.decode(piece, final=done + len(piece) >= self._size)
                    text, characters = decoded.encode("utf-8"), len(decoded)
            except UnicodeDecodeError as error:
                if not marked:
                    self._encodings.pop(0)
                    raise ReadAgainError from None
                at = done - held + error.start - (3 if encoding == "utf-8-sig" and done else 0)
                message = remark(
                    "The file says that it is {encoding} but is damaged at byte {at}: save it again as csv in UTF-8.",
                    encoding=encoding.removesuffix("-sig").upper(),
                    at=at,
                )
                raise self._refusal(message) from None
            done += len(piece)
            self._characters += characters
            self._controls += count_controls(text)
            if b"\0" in text:
                raise self._refusal(remark(_BINARY))
            yield text

    def _possible_encodings(self, start: bytes) -> list[str]:
        """Return the encodings that the first bytes allow, and refuse files of another kind by these."""
        for magic, text in _OTHER_FORMATS.items():
            if start.startswith(magic):
                raise self._refusal(remark(text))
        marked = [encoding for mark, encoding in _BYTE_ORDER_MARKS if start.startswith(mark)]
        return marked[:1] or ["utf-8", *_WESTERN]

    def _refuse_binary(self) -> None:
        if self._controls > max(2, self._characters // 200):
            raise self._refusal(remark(_BINARY))

    def _refusal(self, message: str, kind: str = "not_text") -> InputError:
        return InputError(message, kind=kind, where=self.source)

    # --- the header ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Find the header, wherever it is, and what separates its cells."""
        head, skipped = self._more(b"", _HEAD), 0
        said = _SEPARATOR_LINE.match(head[:_SAMPLE].decode("utf-8", "ignore"))
        if said:
            head = head[len(said[0].encode()) :]
        preferred = "\t" if self._path.suffix.lower() == ".tsv" else None
        while True:
            head, blank = _without_leading_blanks(head)
            skipped += blank
            text = _decoded(head)
            self._delimiter = said[1] if said else sniff(text, preferred=preferred)
            lines, reader = self._reader(text)
            number, header, end = self._header(lines, reader, skipped)
            if (header is not None and end < len(text)) or not (more := self._more(b"", 1)):
                break
            if len(head) > _LONGEST_ROW:
                message = remark(
                    "There is no header of less than 64 MiB: write the names of the columns into the first row."
                )
                raise self._refusal(message, "too_large")
            head += self._more(more, len(head))
        if header is None:
            for _ in self._checked(text, skipped):
                pass  # what is wrong with a quotation mark is said
            raise no_cells(self.source)
        lines.seek(end)
        self._first_row, self._start = number + 1, head[len(text[:end].encode()) :]
        self._blank, self.names = BlankRows(), header_names(header)
        sample = list(itertools.islice(_until_error(reader), 200)) if self._quick else []
        self._width = max(len(header), len(self.names), *map(len, sample), 1)
        self._marks = _Marks(self._delimiter)
        first = self._start[:_HEAD]
        count_lines = first.count(b"\n") or first.count(b"\r") or 1
        self.rows = int(self._size / max(len(first) / count_lines, 1.0))

    def _header(
        self, lines: io.StringIO, reader: Iterator[list[str]], skipped: int
    ) -> tuple[int, list[str] | None, int]:
        """Return the header, with the number of its last row and where in the text that ends; None where there is none.

        What stands above it is taken note of.
        """
        first: list[list[str]] = []
        numbers: list[int] = []
        ends: list[int] = []
        for number, row in enumerate(_until_error(reader), skipped + 1):
            if not _is_blank_row(row):
                first.append(row)
                numbers.append(number)
                ends.append(lines.tell())
                if len(first) == _FIRST_ROWS:
                    break
        if not first:
            return 0, None, 0
        at, has_second = find_header(first)
        header = joined_names(first[at], first[at + 1]) if has_second else first[at]
        self._above = numbers[:at]
        return numbers[at + has_second], header, ends[at + has_second]

    def _more(self, data: bytes, size: int) -> bytes:
        """Return data with what follows it in the file, until it has some size or there is no more."""
        pieces = [data]
        total = len(data)
        while total < size and (piece := next(self._chunks, b"")):
            pieces.append(piece)
            total += len(piece)
        return b"".join(pieces)

    # --- rows ------------------------------------------------------------------------------------

    def _cut(self) -> Iterator[tuple[bytes, int, bool]]:
        """Yield portions of whole rows, with the number of rows and whether polars splits them as Python would."""
        start, self._start, step = self._start, b"", self._portion
        pieces = itertools.chain((start[at : at + step] for at in range(0, len(start), step)), self._chunks)
        pending, is_last = b"", False
        while not is_last:
            piece = next(pieces, b"")
            is_last = not piece
            self._limit(piece)
            pending += piece
            if len(pending) < step and not is_last:
                continue
            end, rows, is_plain = self._whole_rows(pending, is_last)
            if not end and not is_last and len(pending) > 2**20:
                end, is_plain = self._rows_with_quotes(pending), False
                if not end and len(pending) > _LONGEST_ROW:
                    message = remark(
                        "A row has more than 64 MiB: put quotation marks around cells with line breaks, and close them."
                    )
                    raise self._refusal(message, "too_large")
            data, pending = pending[:end], pending[end:]
            if data:
                yield data, rows, is_plain and not data.startswith(codecs.BOM_UTF8)

    def _limit(self, piece: bytes) -> None:
        """Refuse a file of more cells than there may be, before they are made."""
        if self._max_cells is None:
            return
        self._cells += piece.count(self._delimiter.encode()) + piece.count(b"\n")
        if self._cells > self._max_cells:
            message = remark(
                "The file has more than {most} cells: keep only the columns that are needed.",
                most=f"{self._max_cells:,}",
            )
            raise self._refusal(message, "too_large")

    def _whole_rows(self, data: bytes, is_last: bool) -> tuple[int, int, bool]:
        """Return where the whole rows at the beginning end, how many they are, and whether polars may split them."""
        if b'"' in data:
            if self._quick and (found := row_ends(data, self._delimiter, is_last)) is not None:
                end, rows = found
                return end, rows, _has_short_lines(data[:end])
            return (len(data) if is_last else self._rows_with_quotes(data)), 0, False
        end = len(data) if is_last else max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        data = data[:end]
        return end, _count_lines(data), self._quick and _has_short_lines(data)

    def _rows_with_quotes(self, data: bytes) -> int:
        """Return where the whole rows of a portion end, found by Python's reader: all of it where that will refuse."""
        text = _decoded(data)
        lines, reader = self._reader(text)
        ends = [0]
        try:
            for _ in reader:
                ends.append(lines.tell())  # noqa: PERF401  row by row, up to an error
        except csv.Error as error:
            if "unexpected end" not in str(error):
                return len(data)
        return len(text[: ends[-1] if ends[-1] < len(text) else ends[-2]].encode())

    def _reader(self, text: str) -> tuple[io.StringIO, Iterator[list[str]]]:
        """Return the lines of a text, which know how far they were read, and the rows that Python reads there."""
        lines = io.StringIO(text, newline="")
        return lines, csv.reader(lines, delimiter=self._delimiter, strict=True)

    def _checked(self, text: str, done: int) -> Iterator[list[str]]:
        """Yield the rows of a text; what cannot be read is refused with the number of its row, after so many."""
        try:
            for row in self._reader(text)[1]:
                done += 1
                yield row
        except csv.Error as error:
            kind, text = next(found for reason, found in _BAD_QUOTES.items() if reason in str(error))
            message = remark(text, most=f"{csv.field_size_limit():,}")
            where = remark("{source}, row {row}", source=self.source, row=done + 1)
            raise InputError(message, kind=kind, where=where) from None

    def _split(self, data: bytes, count: int, number: int) -> _Rows | None:
        """Split so many rows into columns, or return None where polars would not do it as Python does."""
        import polars as pl

        numbers, blank = np.arange(number, number + count), np.zeros(0, np.int64)
        has_quotes = b'"' in data
        if not has_quotes:
            if b"\r" in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            data, is_blank = _without_blank_lines(data)
            if is_blank is not None:
                numbers, blank = numbers[~is_blank], numbers[is_blank]
        names = [str(index) for index in range(self._width)]
        try:
            frame = pl.read_csv(
                (self._delimiter.join(names) + "\n").encode() + data,
                separator=self._delimiter,
                quote_char='"' if has_quotes else None,
                schema=dict.fromkeys(names, pl.String),
            )
        except pl.exceptions.PolarsError:
            return None
        if frame.height != numbers.size:
            return None
        frame = frame.with_columns(pl.col(name).fill_null("") for name in names if frame[name].null_count()).rechunk()
        parts = frame.get_columns()
        if any((part != "").any() for part in parts[len(self.names) :]):
            return None
        return _Rows(parts, numbers, blank)

    def _split_slowly(self, data: bytes, number: int) -> _Rows:
        """Split rows into columns as Python does, and take note of rows that are too long or blank."""
        width, rows, numbers, blank = len(self.names), list[list[str]](), array("q"), array("q")
        for at, row in enumerate(self._checked(_decoded(data), number - 1), number):
            if _is_blank_row(row):
                blank.append(at)
                continue
            if len(row) > width:
                self._check_length(row, at)
            rows.append(row if len(row) == width else [*row[:width], *[""] * (width - len(row))])
            numbers.append(at)
        parts: list[Any] = [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in range(width)]
        if self._quick:
            import polars as pl

            parts = [pl.Series(part, dtype=pl.String) for part in parts]
        return _Rows(parts, np.frombuffer(numbers, np.int64), np.frombuffer(blank, np.int64))

    def _check_length(self, row: list[str], number: int) -> None:
        """Take note of a row with more cells than the header."""
        filled, width = len(row), len(self.names)
        while filled > width and not row[filled - 1].strip():
            filled -= 1
        if filled <= width:
            return
        self._count_long += 1
        if self.most_problems is None or self._count_long <= self.most_problems:
            message = remark(
                "The row has {cells} cells but the header has {width}: put quotation marks around a cell that contains "
                "the delimiter, or name every column in the header.",
                cells=filled,
                width=width,
            )
            where = remark("{source}, row {row}", source=self.source, row=number)
            self._long_rows.append(Problem("long_row", message, where))

    def _too_long(self) -> InputError:
        """Return the error for rows that are longer than the header, which may be none."""
        if len(self.names) == 1:
            message = remark(
                "The first row has one cell and others have more: delete any title that stands above the header."
            )
            return InputError(message, kind="long_row", where=self.source)
        return shortened(self._long_rows, self._count_long, None)

    def _note_blank(self, found: _Rows, columns: Sequence[Column]) -> None:
        """Take note of all blank rows of a portion, and of its last row that is not."""
        rows = np.zeros(0, np.int64)
        if self._quick and len(columns) > 2:
            rows = np.flatnonzero(columns[2].codes != NO_CODE)
        elif self._quick and not self._blank.last:
            rows = np.arange(found.numbers.size)
        for part in found.parts:
            if not rows.size or isinstance(part, list):
                break
            rows = rows[(part.gather(rows).str.strip_chars(SPACES) == "").to_numpy()]
        filled = np.delete(found.numbers, rows) if rows.size else found.numbers
        blank = np.union1d(found.blank, found.numbers[rows]) if rows.size else found.blank
        self._blank.add(blank, int(filled[-1]) if filled.size else 0)


def sniff(text: str, *, preferred: str | None = None) -> str:
    """Find the delimiter of a text from its first rows: one of ``DELIMITERS``, a comma where none splits the header.

    For each candidate the first rows are read with its quotation marks respected. The candidate wins whose
    header has most names that :mod:`evenhand.panel.headings` knows, then whose rows agree best with the header in
    their number of cells, then the preferred one, then the one that makes most columns.
    """
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    split: dict[str, list[list[str]]] = {}
    for delimiter in DELIMITERS:
        reader = _until_error(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter))
        rows = [row for row in itertools.islice(reader, 200) if not _is_blank_row(row)]
        if max(map(len, rows), default=0) > 1:
            split[delimiter] = rows
    best, best_merit = DELIMITERS[0], (0, 0.0, False, 1)
    for delimiter, rows in () if list(split) == [best] else split.items():  # nothing to choose from
        header = rows[find_header(rows[:_FIRST_ROWS])[0]]
        width = len(header)
        if width < 2:
            continue
        known = sum(is_known(name) for name in header)
        even = sum(len(row) == width for row in rows) / len(rows)
        merit = (known, even, delimiter == preferred, width)
        if merit > best_merit:
            best, best_merit = delimiter, merit
    return best


def _decoded(data: bytes) -> str:
    """Return bytes of UTF-8 as text; a portion that ends within a character is one that will be refused."""
    return codecs.getincrementaldecoder("utf-8")().decode(data)


def _until_error(rows: Iterator[T]) -> Iterator[T]:
    """Yield rows up to the first that cannot be read."""
    try:
        yield from rows
    except csv.Error:
        return


def _is_blank_row(row: list[str]) -> bool:
    return not "".join(row).strip()


def _count_lines(data: bytes) -> int:
    """Return the number of lines, of which the last may lack its end."""
    count = int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
    if b"\r" in data:
        count += data.count(b"\r") - data.count(b"\r\n")
    return count + bool(data and not data.endswith((b"\n", b"\r")))


def _without_leading_blanks(head: bytes) -> tuple[bytes, int]:
    """Return a text without the blank lines at its beginning, and how many they were."""
    blank = head[: len(head) - len(head.lstrip(b" \t\v\f\r\n"))]
    end = max(blank.rfind(b"\n"), blank.rfind(b"\r", 0, len(head) - 1)) + 1
    return head[end:], _count_lines(blank[:end])


def _without_blank_lines(data: bytes) -> tuple[bytes, NDArray[np.bool_] | None]:
    """Return lines without those of no character, and for each line whether it was one; None where none was."""
    content = np.frombuffer(data, np.uint8)
    is_end = content == 10
    if not data.startswith(b"\n") and not (is_end[1:] & is_end[:-1]).any():
        return data, None
    ends = np.flatnonzero(is_end)
    is_blank = np.diff(ends, prepend=-1) == 1
    is_end[ends[~is_blank]] = False
    if not data.endswith(b"\n"):
        is_blank = np.append(is_blank, False)
    return content[~is_end].tobytes(), is_blank


def row_ends(data: bytes, delimiter: str, is_last: bool) -> tuple[int, int] | None:
    """Return where the last whole row of text with quotation marks ends, and how many rows that is.

    None where a mark neither begins nor ends a cell, a return stands alone, or a cell is not closed at the end of all.
    """
    content = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    marks = np.flatnonzero(content == 34)
    beside = [ord(delimiter), 10, 13, 34]
    opening, closing = marks[0::2], marks[1::2]
    is_sound = np.isin(content[opening - 1], beside).all() and np.isin(content[closing + 1], beside).all()
    if not is_sound or (is_last and marks.size % 2) or data.count(b"\r") != data.count(b"\r\n") + data.endswith(b"\r"):
        return None
    ends = np.flatnonzero(content[1:-1] == 10)
    ends = ends[np.searchsorted(marks - 1, ends) % 2 == 0]
    if is_last:
        return len(data), ends.size + (not ends.size or int(ends[-1]) + 1 < len(data))
    return (int(ends[-1]) + 1 if ends.size else 0), ends.size


def _has_short_lines(data: bytes) -> bool:
    """Say whether every line is so short that no cell can be over the limit of Python's reader."""
    at = 0
    while len(data) - at > _LONGEST_LINE:
        end = max(data.rfind(b"\n", at, at + _LONGEST_LINE), data.rfind(b"\r", at, at + _LONGEST_LINE))
        if end < 0:
            return False
        at = end + 1
    return True


def count_controls(data: bytes) -> int:
    """Count the characters that text does not have: those below 32 that are no white space, and 127."""
    content = np.frombuffer(data, np.uint8)
    count = int(np.count_nonzero(content < 32)) - int(np.count_nonzero(content == 10))
    return (count - sum(map(data.count, (b"\t", b"\v", b"\f", b"\r"))) if count else 0) + data.count(b"\x7f")


# --- commas and points ---------------------------------------------------------------------------

_NUMBERS: Final = {
    mark: (rf"^[+-]?(\d+{sign}\d*|{sign}\d+)([eE][+-]?\d+)?$", rf"^[+-]?[1-9]\d{{0,2}}{sign}\d{{3}}$")
    for mark, sign in ((",", ","), (".", r"\."))
}
"""For each decimal mark, patterns of a number with it, and of one in which it may separate thousands."""


class _Marked(NamedTuple):
    """The first number with a decimal mark, and whether the mark may separate thousands in every such number."""

    row: int
    text: str
    only_thousands: bool


class _Marks:
    """Numbers with a comma or a point in a file whose delimiter is no comma, by column, seen so far."""

    def __init__(self, delimiter: str) -> None:
        self.numeric: frozenset[int] = frozenset()
        self._delimiter = delimiter
        self._seen: dict[str, dict[int, _Marked]] = {",": {}, ".": {}}
        self._rows = 0

    @property
    def decimal_comma(self) -> bool:
        """Whether some column has numbers with a comma and none with a point."""
        return not self._seen[","].keys() <= self._seen["."].keys()

    def watch(self, parts: Sequence[TextPart]) -> None:
        """Look through the cells of a portion."""
        if self._delimiter == ",":
            return
        for at, part in enumerate(parts):
            for mark, seen in self._seen.items():
                first = seen.get(at)
                if first is not None and not first.only_thousands:
                    continue
                found = _numbers_with(part, mark)
                if found is not None:
                    first = first or found._replace(row=self._rows + found.row)
                    seen[at] = first._replace(only_thousands=found.only_thousands)
        self._rows += len(parts[0]) if parts else 0

    def notes(self) -> list[Problem]:
        """Return the note that commas are decimal marks, and a warning where they, or points, may be none."""
        kind, columns = "decimal_comma", self._seen[","]
        if not self.decimal_comma:
            read = self.numeric if self._delimiter == ";" else frozenset()
            kind = "decimal_point"
            columns = {at: first for at, first in self._seen["."].items() if at in read}
        only_thousands = all(first.only_thousands for first in columns.values())
        if not columns or (kind == "decimal_point" and not only_thousands):
            return []
        first = columns[min(columns, key=lambda at: (columns[at].row, at))]
        message = remark(
            "commas are read as decimal marks, as in {text}."
            if kind == "decimal_comma"
            else "points are read as decimal marks, as in {text}.",
            text=first.text,
        )
        if only_thousands:
            message = remark(
                "{read} Every one has three digits behind it: if they separate thousands, take them out.", read=message
            )
        return [Problem(kind, message)]


def _numbers_with(part: TextPart, mark: str) -> _Marked | None:
    """Return the first number with a decimal mark in some cells of a column."""
    number, thousands = _NUMBERS[mark]
    if isinstance(part, list):
        kinds = {cell: cell.strip() for cell in dict.fromkeys(part) if mark in cell}
        numbers = {cell: text for cell, text in kinds.items() if re.match(number, text)}
        if not numbers:
            return None
        first = next(iter(numbers))
        return _Marked(part.index(first), numbers[first], all(re.match(thousands, text) for text in numbers.values()))
    at = part.str.contains(mark, literal=True).arg_true()
    texts = part.gather(at).str.strip_chars(SPACES)
    matches = texts.str.contains(number)
    if not matches.any():
        return None
    found = texts.filter(matches)
    return _Marked(int(at[int(matches.arg_true()[0])]), str(found[0]), bool(found.str.contains(thousands).all()))
