"""Text files of cells: csv, tsv and txt with a sniffed delimiter, encoding and decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from typing import TYPE_CHECKING

from evenhand.errors import InputError, Problem
from evenhand.io.paths import MAX_UNPACKED, regular_file
from evenhand.io.table import MAX_CELLS, Table, arrange, no_cells
from evenhand.panel.roles import is_known

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are looked for, in the order of preference where nothing else decides."""

_SAMPLE = 65_536
SEPARATOR_LINE = re.compile(r"\"?sep=([,;\t|])\"?[^\S\r\n]*(\r\n|\r|\n|$)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
COMMA_NUMBER = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins like this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FORMATS = (
    (b"PK\x03\x04", "a workbook or a zip archive", "give it its true suffix (.xlsx or .ods) or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save it as .xlsx or as csv"),
    (b"PAR1", "a parquet file", "give it the suffix .parquet"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"%PDF", "a PDF", "save the table as csv"),
)


def read_delimited(path: str | os.PathLike[str], *, max_bytes: int = MAX_UNPACKED) -> Table:
    r"""Read a text file of cells: csv, tsv or txt.

    The delimiter is the one of ``, ; tab |`` that gives a header with known names and rows of its length,
    unless the first line says it (``sep=;``, as Excel writes). The text may be UTF-8 with or without a byte
    order mark, UTF-16 or UTF-32 with one, or else Windows-1252, which is noted. Cells stay text: ``007`` stays
    ``007``.

    Parameters
    ----------
    path
        Where the file is.
    max_bytes
        Largest file that is read.

    Returns
    -------
    Table
        The cells, with ``decimal_comma`` set where the delimiter is not a comma and numbers such as ``7,5``
        occur but none such as ``7.5``.

    Raises
    ------
    InputError
        If the file cannot be read, is not text, is empty, has a quotation mark that is not closed, or a row
        longer than its header.
    """
    place = regular_file(path, max_bytes=max_bytes)
    source = place.name
    try:
        content = place.read_bytes()
    except OSError as error:
        raise InputError(f"The file cannot be read: {error.strerror}.", kind="unreadable", where=source) from None
    text, notes = _decode(content, source)
    said = SEPARATOR_LINE.match(text)
    if said:
        delimiter, text = said[1], text[said.end() :]
    else:
        delimiter = sniff(text, preferred="\t" if place.suffix.lower() == ".tsv" else None)
    if not text.strip():
        raise no_cells(source)
    if text.count(delimiter) + text.count("\n") > MAX_CELLS:
        raise InputError(
            f"The file has more than {MAX_CELLS:,} cells: keep only the columns that are needed.",
            kind="too_large",
            where=source,
        )
    rows = _parse(text, delimiter, source)
    comma = delimiter != "," and any(map(has_decimal_comma, itertools.zip_longest(*rows[1:], fillvalue="")))
    if comma:
        notes.append(_comma_note(rows))
    return arrange(rows, source=source, refuse_long_rows=True, decimal_comma=comma, notes=notes)


def sniff(text: str, *, preferred: str | None = None) -> str:
    r"""Find the delimiter of a text from its first rows.

    For each candidate the first rows are read with its quotation marks respected. The candidate wins whose
    header has most names that :mod:`evenhand.panel.roles` knows, then whose rows agree best with the header in
    their number of cells, then the preferred one, then the one that makes most columns.

    Parameters
    ----------
    text
        The text of a file.
    preferred
        The delimiter that the suffix of the file suggests.

    Returns
    -------
    str
        One of ``DELIMITERS``; a comma where no candidate splits the header.
    """
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    best, best_merit = DELIMITERS[0], (0, 0.0, False, 1)
    for delimiter in DELIMITERS:
        rows: list[list[str]] = []
        try:
            for row in itertools.islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 200):
                if any(cell.strip() for cell in row):
                    rows.append(row)  # noqa: PERF401  a comprehension would lose the rows before an error
        except csv.Error:
            pass
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        known = sum(is_known(name) for name in rows[0])
        even = sum(len(row) == width for row in rows) / len(rows)
        merit = (known, even, delimiter == preferred, width)
        if merit > best_merit:
            best, best_merit = delimiter, merit
    return best


def has_decimal_comma(cells: Iterable[str]) -> bool:
    """Say whether some cell is a number with a comma as decimal mark and none is a number with a point."""
    found = False
    for cell in cells:
        if "." in cell and POINT_NUMBER.fullmatch(cell):
            return False
        if not found and "," in cell and COMMA_NUMBER.fullmatch(cell):
            found = True
    return found


def _comma_note(rows: list[list[str]]) -> Problem:
    """Return the note that commas are read as decimal marks, and a warning where they may be none."""
    numbers = [cell.strip() for row in rows for cell in row if "," in cell and COMMA_NUMBER.fullmatch(cell)]
    return comma_note(numbers[0], only_thousands=all(map(THOUSANDS.fullmatch, numbers)))


def comma_note(number: str, *, only_thousands: bool) -> Problem:
    """Return the note that commas are decimal marks in numbers such as this one."""
    message = f"commas are read as decimal marks, as in {number}."
    if only_thousands:
        message += " Every one has three digits behind it: if they separate thousands, take them out."
    return Problem("decimal_comma", message)


def marked_encoding(content: bytes, source: str) -> str | None:
    """Return the encoding that a byte order mark says, and refuse files of another kind by their first bytes."""
    for magic, what, advice in _OTHER_FORMATS:
        if content.startswith(magic):
            raise _not_text(source, f"The file is {what}, not text: {advice}.")
    return next((encoding for mark, encoding in _BYTE_ORDER_MARKS if content.startswith(mark)), None)


def _decode(content: bytes, source: str) -> tuple[str, list[Problem]]:
    """Turn bytes into text, with a note where the encoding had to be assumed."""
    marked = marked_encoding(content, source)
    notes: list[Problem] = []
    if marked is None and b"\0" in content:
        raise has_nul(source)
    try:
        text = content.decode(marked or "utf-8")
    except UnicodeDecodeError as error:
        if marked is not None:
            raise is_damaged(source, marked, error.start) from None
        text = _decode_western(content)
        notes.append(encoding_note(source))
    controls = 0 if text.isprintable() else sum(1 for _ in _CONTROL.finditer(text))
    if "\0" in text or controls > max(2, len(text) // 200):
        raise is_binary(source)
    return text, notes


def encoding_note(source: str) -> Problem:
    """Return the note that the encoding was assumed."""
    return Problem(
        "encoding",
        "The file is not UTF-8 and was read as Windows-1252 (Western European): check labels with accents, or "
        "save it as csv in UTF-8.",
        source,
    )


def has_nul(source: str) -> InputError:
    """Return the error for bytes that no text without a byte order mark has."""
    return _not_text(
        source,
        "The file contains NUL characters, so it is not text in a known encoding: save it again as csv in UTF-8.",
    )


def is_damaged(source: str, encoding: str, at: int) -> InputError:
    """Return the error for a text that is not in the encoding that it says."""
    said = encoding.removesuffix("-sig").upper()
    return _not_text(
        source, f"The file says that it is {said} but is damaged at byte {at}: save it again as csv in UTF-8."
    )


def is_binary(source: str) -> InputError:
    """Return the error for a file full of control characters."""
    return _not_text(source, "The file is not text but binary data: save the table as csv.")


def _decode_western(content: bytes) -> str:
    """Decode Windows-1252, with the five bytes that it leaves undefined taken as in Latin-1."""
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _not_text(source: str, message: str) -> InputError:
    return InputError(message, kind="not_text", where=source)


def _parse(text: str, delimiter: str, source: str) -> list[list[str]]:
    """Split text into rows of cells; a quotation mark that is misplaced is refused with its row."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    return list(checked_rows(reader, source))


def checked_rows(reader: Iterator[list[str]], source: str, done: int = 0) -> Iterator[list[str]]:
    """Yield the rows of a reader of csv; what it refuses is refused with the number of the row, after ``done`` rows."""
    try:
        for row in reader:
            done += 1
            yield row
    except csv.Error as error:
        where = f"{source}, row {done + 1}"
        if "field larger" in str(error):
            raise InputError(
                f"A cell in this row is longer than {csv.field_size_limit():,} characters, most likely because a "
                "quotation mark is not closed: add the missing one or shorten the cell.",
                kind="unclosed_quote",
                where=where,
            ) from None
        if "unexpected end" in str(error):
            raise InputError(
                "A quotation mark that begins in this row is not closed: add the missing one.",
                kind="unclosed_quote",
                where=where,
            ) from None
        raise InputError(
            "Text follows a closing quotation mark: double each quotation mark that stands inside a quoted cell.",
            kind="bad_quote",
            where=where,
        ) from None
