"""What is found out about a workbook from outside, one chunk at a time, before a library unpacks it.

The library that reads workbooks allocates every cell between the outermost ones, writes repeated cells out, copies a
shared text to each cell that uses it, and keeps the last of two values that claim one cell. So a small file can ask for
terabytes, and a score can be lost: such files are refused here. Also remembered are cells that the library would give
as empty or zero although the sheet shows an error there.
"""

from __future__ import annotations

import functools
import os
import posixpath
import struct
import zipfile
import zlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.io.paths import MAX_UNPACKED, in_bytes, regular_file, too_large, unreadable
from evenhand.io.table import MAX_CELLS
from evenhand.words import remark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CHUNK = 65_536
"""Most bytes of an unpacked part that are held at a time."""

MAX_PARTS = 10_000
"""Most files that the archive of a workbook may hold, and most sheets."""

MAX_IDLE = 2_000_000
"""Most tags of a sheet that hold no data, such as those of formatted empty cells beside and below the table."""

MAX_DISORDERED = 1_000_000
"""Most cells of a sheet that may come after a cell further down or to the right."""

MAX_ROW = 1_048_576
MAX_COLUMN = 16_384

NOT_CALCULATED = "(formula without a result)"
"""What a cell is said to hold whose formula was never calculated."""

KNOWN_ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
"""Errors that the library can read."""

_TAGS_OF_A_VALUE = 20  # more than a text in several fonts has
_OLE_MAGIC = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_END_RECORD = struct.Struct("<4s4H2LH")
_PART_MAGIC = b"PK\x03\x04"
# Parts of an OpenDocument file that its reader never opens; macros there carry a document type by rights.
_UNREAD_FOLDERS = ("basic/", "dialogs/", "scripts/", "configurations2/")
_XML_TARGETS = ("officeDocument", "worksheet", "chartsheet", "dialogsheet", "macrosheet", "sharedStrings", "styles")
_SAVE_AGAIN = "open it in a spreadsheet program and save it again."
_INCOMPLETE = (
    "The workbook is damaged or only part of it has arrived: copy or download it again, or open it in a spreadsheet "
    "program and save it as .xlsx."
)

_Attributes = dict[str, str]


@dataclass(slots=True)
class SheetFacts:
    """What has been found out about one sheet; rows and columns count from 0."""

    part: str = ""  # that holds its cells, in lower case
    filled: int = 0  # cells that hold something
    spread: int = 0  # all cells between the outermost of these
    shared: int = 0  # cells that refer to a text kept once for the whole workbook
    unreadable: list[tuple[int, int, int, int, str]] = field(default_factory=list)
    """Blocks of cells that the library reads as empty or zero: first row, first column, rows, columns, text shown."""
    has_new_errors: bool = False  # whether the library would not read the sheet because of one of these
    disordered: set[tuple[int, int]] = field(default_factory=set)  # cells that come after one further on
    claims: dict[tuple[int, int], bool] = field(default_factory=dict)
    """For cells that stand there twice, whether their values differ."""
    _top: int = MAX_ROW
    _left: int = MAX_COLUMN
    _bottom: int = -1
    _right: int = -1

    def fill(self, top: int, left: int, bottom: int, right: int) -> None:
        """Count a block of filled cells."""
        self.filled += 1
        if top < self._top or left < self._left or bottom > self._bottom or right > self._right:
            self._top, self._left = min(self._top, top), min(self._left, left)
            self._bottom, self._right = max(self._bottom, bottom), max(self._right, right)
            self.spread = (self._bottom - self._top + 1) * (self._right - self._left + 1)


def inspect_workbook(
    path: str | os.PathLike[str], *, max_unpacked: int = MAX_UNPACKED, max_cells: int = MAX_CELLS
) -> dict[str, SheetFacts]:
    """Refuse a workbook that is damaged, locked or made to exhaust memory; return what was found out about each sheet.

    The unpacked size is added up first from what the archive declares, then while every part is unpacked in
    chunks, because the declaration may be false. XML with a document type is refused, and so is a sheet
    whose cells, repeated cells or shared texts would take more memory than the limits allow: ``max_unpacked`` bytes in
    all parts together, and of text in the cells; ``max_cells`` cells between the outermost filled ones.
    """
    place = regular_file(path)
    found = _Findings(place.name, max_text=max_unpacked, max_cells=max_cells)
    try:
        with place.open("rb") as file:
            archive = _Archive(file, place, max_unpacked)
            for part in sorted(archive.parts.values(), key=_urgency):
                _inspect(archive, part, found)
            archive.left = max_unpacked  # parts are unpacked again, one at a time
            for name in found.suspects():
                _SecondPass(found, name).run(archive.unpack(archive.parts[name]))
    except OSError as error:
        raise unreadable(place.name, error) from None
    return found.by_name()


def is_locked(place: Path) -> bool:
    """Say whether a file in the container of old workbooks is one with a password."""
    with place.open("rb") as file:
        return _holds(iter(lambda: file.read(1 << 20), b""), _ENCRYPTED_STREAM)


def _inspect(archive: _Archive, part: zipfile.ZipInfo, found: _Findings) -> None:
    """Look through one part, to its end."""
    name, chunks = part.filename.lower(), archive.unpack(part)
    if archive.is_open_document and name == "content.xml":
        _OpenDocumentPass(found, part.filename).run(chunks)
    elif name.endswith((".xml", ".rels")) and not (archive.is_open_document and name.startswith(_UNREAD_FOLDERS)):
        _OfficeOpenPass(found, part.filename).run(chunks)
    elif not archive.is_open_document and _holds(chunks, b"sheetData"):
        raise _unusual_name("cells", part.filename, found.source)
    for _ in chunks:
        pass


def _urgency(part: zipfile.ZipInfo) -> int:
    """Order parts so that what locks or names the sheets comes before them."""
    name = part.filename.lower()
    return 0 if name.endswith(("manifest.xml", ".rels")) else 1 if name.endswith("workbook.xml") else 2


def _holds(chunks: Iterable[bytes], wanted: bytes) -> bool:
    """Say whether something is found in chunks, wherever they are cut."""
    before = b""
    for chunk in chunks:
        if wanted in before + chunk:
            return True
        before = chunk[-len(wanted) :]
    return False


class _Archive:
    """The parts of a workbook by lower-case name, once all is checked that needs only the directory of the archive."""

    def __init__(self, file: BinaryIO, place: Path, max_unpacked: int) -> None:
        self._file, self._source, self._max_unpacked = file, place.name, max_unpacked
        self.left = max_unpacked  # how many more bytes parts may unpack to
        self.is_open_document = place.suffix.lower() == ".ods"
        ending = f"although its name ends in {place.suffix}"
        magic = file.read(4)
        if magic == _OLE_MAGIC:
            raise self._old_format()
        if magic != _PART_MAGIC:
            true = "save it from a spreadsheet program as .xlsx, or give it its true suffix."
            raise self._damaged(f"The file is not a workbook {ending}: {true}")
        try:
            listed = zipfile.ZipFile(file).infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, EOFError, OSError):
            raise self._damaged() from None
        self._check_end()
        if any(part.flag_bits & 0x1 for part in listed):
            raise _locked(self._source)
        _check_count(len(listed), "parts", self._source)
        if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in listed):
            what = "The workbook is packed in a way that spreadsheet programs do not use"
            raise self._damaged(f"{what}: save it again from one.")
        self.parts = {part.filename.lower(): part for part in listed}
        if len(self.parts) < len(listed):
            raise self._damaged(f"The workbook is damaged, with two parts of one name: {_SAVE_AGAIN}")
        declared = sum(part.file_size for part in listed)
        if declared > max_unpacked:
            raise too_large(
                self._source, remark("The workbook unpacks to {size} bytes", size=f"{declared:,}"), max_unpacked
            )
        if ("content.xml" if self.is_open_document else "[content_types].xml") not in self.parts:
            what, advice = "a zip archive, not a workbook,", "unpack it first."
            if "content.xml" in self.parts:
                what, advice = "an OpenDocument file", "if it is a workbook, name it .ods."
            elif "[content_types].xml" in self.parts:
                what, advice = "an Office file", "if it is a workbook, name it .xlsx."
            raise self._damaged(f"The file is {what} {ending}: {advice}")

    def unpack(self, part: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield a part in chunks, by its true length; the declared length and checksum must agree with it."""
        self._file.seek(part.header_offset)
        head = self._file.read(30)
        if len(head) < 30 or not head.startswith(_PART_MAGIC):
            raise self._damaged()
        self._file.seek(sum(struct.unpack("<HH", head[26:30])), os.SEEK_CUR)
        read = self._inflate if part.compress_type == zipfile.ZIP_DEFLATED else self._read
        count = checksum = 0
        for chunk in read(part.compress_size):
            count += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
            self.left -= len(chunk)
            if self.left < 0:
                finding = remark("The workbook unpacks to more than {size} bytes", size=f"{self._max_unpacked:,}")
                raise too_large(self._source, finding, self._max_unpacked)
            yield chunk
            if count > part.file_size:
                said = f"The workbook says that its part {part.filename!r} unpacks to {part.file_size:,} bytes"
                truth = "but it holds more: it is damaged or made to deceive; save the table as csv."
                raise self._damaged(f"{said} {truth}")
        if count != part.file_size or checksum != part.CRC:
            raise self._damaged()

    def _read(self, size: int) -> Iterator[bytes]:
        """Yield so many bytes of the file in chunks."""
        while size:
            chunk = self._file.read(min(CHUNK, size))
            if not chunk:
                raise self._damaged()
            size -= len(chunk)
            yield chunk

    def _inflate(self, size: int) -> Iterator[bytes]:
        """Yield in chunks what so many bytes of the file unpack to."""
        inflate = zlib.decompressobj(-15)
        try:
            for packed in self._read(size):
                chunk = inflate.decompress(packed, CHUNK)
                while chunk:
                    yield chunk
                    chunk = inflate.decompress(inflate.unconsumed_tail, CHUNK)
                if inflate.eof:
                    return
        except zlib.error:
            pass
        raise self._damaged()

    def _check_end(self) -> None:
        """Refuse an archive with bytes before its first part or after its directory.

        Readers disagree about where the directory of such a file is, so that one could be shown something else
        than what was inspected.
        """
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(size - _END_RECORD.size)
        magic, _, _, _, _, length, offset, comment = _END_RECORD.unpack(self._file.read(_END_RECORD.size))
        is_large = offset == 0xFFFFFFFF or length == 0xFFFFFFFF
        if magic != b"PK\x05\x06" or comment or not (is_large or offset + length in (size - 22, size - 22 - 76)):
            raise self._damaged()

    def _old_format(self) -> InputError:
        """Tell a workbook with a password from one in the format of Excel 97."""
        if _holds(iter(lambda: self._file.read(1 << 20), b""), _ENCRYPTED_STREAM):
            return _locked(self._source)
        message = remark("The file is a workbook in the old .xls format: open it and save it as .xlsx.")
        return InputError(message, kind="unknown_format", where=self._source)

    def _damaged(self, message: str | None = None) -> InputError:
        return _damaged(remark(_INCOMPLETE) if message is None else message, self._source)


def _damaged(message: str, where: str) -> InputError:
    return InputError(message, kind="damaged", where=where)


def _broken(how: str, where: str) -> InputError:
    return _damaged(f"The workbook is damaged: {how}; {_SAVE_AGAIN}", where)


def _unusual_name(what: str, name: str, source: str) -> InputError:
    again = "save it again from a spreadsheet program."
    return _damaged(f"The workbook keeps {what} under the unusual name {name!r}: {again}", source)


def _locked(source: str) -> InputError:
    message = remark("The workbook is protected by a password: open it, remove the password and save a copy.")
    return InputError(message, kind="password", where=source)


def _over(message: str, where: str) -> InputError:
    return InputError(message, kind="too_large", where=where)


def _check_count(count: int, what: str, source: str) -> None:
    if count > MAX_PARTS:
        limit = f"more than the limit of {MAX_PARTS:,}: save only the sheet that is needed."
        raise _over(f"The workbook holds {count:,} {what}, {limit}", source)


class _Findings:
    """What the passes over the parts of one workbook have found so far, within the limits that are set."""

    def __init__(self, source: str, *, max_text: int, max_cells: int) -> None:
        self.source = source
        self.max_text = max_text
        self.max_cells = max_cells
        self.text_lengths = array("Q")
        self.sheets: dict[str, SheetFacts] = {}  # by lower-case name of part, or by name in an OpenDocument file
        self._sheet_ids: list[tuple[str, str, str]] = []  # workbook part, name of sheet, id of relationship
        self._targets: dict[tuple[str, str], str] = {}  # relationships part in lower case, id -> part

    def add_relationship(self, part: str, attributes: _Attributes) -> None:
        """Remember which part a relationship points to; parts that are read as XML must be named so."""
        target = attributes.get("Target", "")
        kind = attributes.get("Type", "").rpartition("/")[2]
        if kind in _XML_TARGETS and not target.lower().endswith(".xml"):
            raise _unusual_name("a sheet", target, self.source)
        folder = posixpath.dirname(posixpath.dirname(part))
        place = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        self._targets[part.lower(), attributes.get("Id", "")] = place.lower()
        _check_count(len(self._targets), "links between its parts", self.source)

    def add_name(self, part: str, attributes: _Attributes) -> None:
        """Remember the name of a sheet that the workbook part lists."""
        self._sheet_ids.append((part, attributes["name"], _attribute(attributes, "id")))
        _check_count(len(self._sheet_ids), "sheets", self.source)

    def add_sheet(self, key: str) -> SheetFacts:
        """Return what is known about a sheet."""
        facts = self.sheets.setdefault(key, SheetFacts(key))
        _check_count(len(self.sheets), "sheets", self.source)
        return facts

    def _named_parts(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each listed sheet with the part that holds it."""
        for workbook, name, identity in self._sheet_ids:
            folder, file = posixpath.split(workbook)
            relationships = posixpath.join(folder, "_rels", f"{file}.rels").lower()
            yield name, self._targets.get((relationships, identity), "")

    def by_name(self) -> dict[str, SheetFacts]:
        """Return what was found by the name of the sheet; by that of its part, too, which no sheet can have."""
        named = {name: self.sheets[part] for name, part in self._named_parts() if part in self.sheets}
        return {**self.sheets, **named}

    def place(self, part: str) -> str:
        """Return what to call a worksheet part in a message."""
        names = (f"{self.source}, sheet {name}" for name, target in self._named_parts() if target == part.lower())
        return next(names, self.source)

    def suspects(self) -> list[str]:
        """Return the worksheet parts that need another look: shared texts may be too much, or cells stand twice."""
        longest = max(self.text_lengths, default=0)
        sheets = self.sheets.items()
        return [part for part, facts in sheets if facts.shared * longest > self.max_text or facts.disordered]

    def check_cells(self, count: int, where: str) -> None:
        """Refuse a sheet that spreads too far."""
        if count > self.max_cells:
            far = f"The filled cells spread over {count:,} cells, more than the limit of {self.max_cells:,}"
            raise _over(f"{far}: delete stray cells far from the table, or copy the table to a new workbook.", where)

    def check_text(self, count: int, where: str) -> None:
        """Refuse texts that are repeated beyond the limit."""
        if count > self.max_text:
            much = f"more than {in_bytes(self.max_text)} of text once repeated texts are written out"
            raise _over(f"The cells would hold {much}: keep only the columns that are needed.", where)


def _local_name(name: str) -> str:
    """Return a name without its namespace prefix."""
    return name.rpartition(":")[2] if ":" in name else name


def _attribute(attributes: _Attributes, name: str) -> str:
    """Return the attribute of a local name, or an empty text."""
    return next((value for key, value in attributes.items() if _local_name(key) == name), "")


@functools.lru_cache(maxsize=4096)
def _column_number(letters: str) -> int:
    """Return the number of a column from 1, or 0 if there is none of these letters."""
    if not (letters.isascii() and letters.isalpha() and len(letters) <= 3):
        return 0
    return functools.reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters.upper(), 0)


class _Pass:
    """A pass over one XML part, with document types, malformed XML and masses of tags without data refused."""

    def __init__(self, found: _Findings, part: str) -> None:
        self.found = found
        self.part = part
        self.facts = SheetFacts()
        self.max_idle = found.max_cells
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.parser.EntityDeclHandler = self._forbid
        self.parser.StartElementHandler = self._start

    def run(self, chunks: Iterable[bytes]) -> None:
        """Pass over the part, whose unpacked bytes are ``chunks``."""
        size = tags = 0
        try:
            for chunk in chunks:
                self.parser.Parse(chunk, False)
                size += len(chunk)
                tags += chunk.count(b"<")
                if tags > self.max_idle + _TAGS_OF_A_VALUE * self.facts.filled + 2 * self.facts.spread:
                    idle = f"more than {self.max_idle:,} empty cells or other tags without data"
                    clear = "clear the formats below and beside the table, or copy the table to a new workbook."
                    raise _over(f"The part {self.part} holds {idle}: {clear}", self.found.place(self.part))
            if size:
                self.parser.Parse(b"", True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise _broken(f"its part {self.part} is not well-formed XML ({error})", self.found.source) from None

    def _start(self, name: str, attributes: _Attributes) -> None:
        raise NotImplementedError

    def _forbid(self, *_: object) -> None:
        what = "The workbook declares XML entities or a document type, which no spreadsheet program writes"
        message = f"{what}: it is not read, since such files are used for attacks; save the table as csv."
        raise InputError(message, kind="forbidden_xml", where=self.found.source)


class _OfficeOpenPass(_Pass):
    """A pass over one part of an xlsx or xlsm workbook: cells, shared texts, names of sheets."""

    def __init__(self, found: _Findings, part: str) -> None:
        super().__init__(found, part)
        self._row_at_hand = -1  # from 0
        self._row = self._column = -1  # of the cell at hand, from 0
        self._last = (-1, -1)  # the furthest filled cell
        self._name = ""  # of its element, with any prefix
        self._kind: str | None = None
        self._has_value = self._formula = False  # whether the cell at hand has a value, or a formula and none yet
        self._result: list[str] | None = None  # text of its value, where it matters
        self._length = 0

    def run(self, chunks: Iterable[bytes]) -> None:
        """Pass over the part, whose unpacked bytes are ``chunks``."""
        super().run(chunks)
        self._settle()

    def _start(self, name: str, attributes: _Attributes) -> None:
        """Watch for what the part is about."""
        local = _local_name(name)
        if local == "sheetData":
            self.max_idle = MAX_IDLE
            self.parser.StartElementHandler = self._start_in_sheet
            self.parser.StartCdataSectionHandler = self.parser.CommentHandler = self._interrupt
            self.parser.ProcessingInstructionHandler = self._interrupt
            self._enter_sheet()
        elif local == "sst":
            self.max_idle = MAX_IDLE
            self.parser.StartElementHandler = self._start_in_texts
            self.parser.EndElementHandler = self._end_in_texts
            self.parser.CharacterDataHandler = self._text_in_texts
        elif local == "sheet" and "name" in attributes:
            self.found.add_name(self.part, attributes)
        elif local == "Relationship" and attributes.get("TargetMode") != "External":
            self.found.add_relationship(self.part, attributes)
        elif local == "encryption-data":
            raise _locked(self.found.source)

    def _enter_sheet(self) -> None:
        self.facts = self.found.add_sheet(self.part.lower())

    def _start_in_sheet(self, name: str, attributes: _Attributes) -> None:
        local = _local_name(name) if ":" in name else name
        if local in ("v", "is"):
            self._fill()
        elif local == "c":
            if self._formula or self._result is not None:
                self._settle()
            self._name, self._has_value = name, False
            self._kind = attributes.get("t")
            address = attributes.get("r")
            if address is None:
                self._row, self._column = self._row_at_hand, self._column + 1
            else:
                self._row, self._column = self._place(address)
        elif local == "row":
            self._settle()
            number = attributes.get("r")
            self._row_at_hand = self._row_at_hand + 1 if number is None else self._place(f"A{number}")[0]
            self._column = -1
        elif local == "f":
            # a formula of this cell, not one of a drop-down list or a sparkline below all cells
            self._formula = not self._has_value and len(name) == len(self._name)
        elif local == "sheetData":
            raise self._broken("it has two tables of cells in one sheet")

    def _fill(self) -> None:
        """Count a cell that has a value; gather its text if it matters."""
        if self._result is not None:  # a second value
            self._settle()
        at = row, column = self._row, self._column
        if not (0 <= row < MAX_ROW and 0 <= column < MAX_COLUMN):
            raise self._broken(f"it names a cell 'row {row + 1}, column {column + 1}' that no sheet has")
        facts = self.facts
        facts.fill(row, column, row, column)
        if facts.spread > self.found.max_cells or facts.filled > self.found.max_cells:
            self.found.check_cells(max(facts.spread, facts.filled), self.found.place(self.part))
        if at > self._last:
            self._last = at
        else:
            facts.disordered.add(at)
            if len(facts.disordered) > MAX_DISORDERED:
                raise self._broken("its cells stand in no order")
        if self._kind == "s":
            facts.shared += 1
        if self._is_wanted():
            self._result = []
            self.parser.CharacterDataHandler = self._result.append
        self._has_value, self._formula = True, False

    def _is_wanted(self) -> bool:
        """Say whether the text of the cell at hand matters: it may show an error, or have no result."""
        return self._kind == "e" or (self._formula and self._kind not in ("s", "str"))

    def _settle(self) -> None:
        """Finish the cell at hand, whose formula may have no value."""
        if self._formula:
            self._fill()
            self._result = []
        if self._result is not None:
            said, self._result = "".join(self._result).strip(), None
            self.parser.CharacterDataHandler = None
            self._take(said)

    def _take(self, said: str) -> None:
        """Remember the cell at hand if it shows an error or its formula has no result."""
        if self._kind == "e":
            self.facts.has_new_errors |= said not in KNOWN_ERRORS
            shown = said if said.startswith("#") else "#ERROR"
            self.facts.unreadable.append((self._row, self._column, 1, 1, shown))
        elif not said:
            self.facts.unreadable.append((self._row, self._column, 1, 1, NOT_CALCULATED))

    def _place(self, address: str) -> tuple[int, int]:
        """Return row and column of an address such as ``AB12``, from 0."""
        letters = address.rstrip("0123456789")
        digits = address[len(letters) :]
        column, row = _column_number(letters[:4]), int(digits) if 0 < len(digits) <= 7 else 0
        if not (0 < column <= MAX_COLUMN and 0 < row <= MAX_ROW):
            raise self._broken(f"it names a cell {address[:40]!r} that no sheet has")
        return row - 1, column - 1

    def _interrupt(self, *_: object) -> None:
        """Refuse what the library would take for the end of a value."""
        if self._has_value and self._kind != "inlineStr":
            raise self._broken("the value of a cell is interrupted by what is no text")

    def _broken(self, how: str) -> InputError:
        return _broken(how, self.found.place(self.part))

    def _start_in_texts(self, name: str, _: _Attributes) -> None:
        if _local_name(name) == "si":
            self._length = 0

    def _text_in_texts(self, data: str) -> None:
        self._length += len(data)

    def _end_in_texts(self, name: str) -> None:
        if _local_name(name) == "si":
            self.found.text_lengths.append(self._length)
            self.facts.filled += self._length > 0


class _SecondPass(_OfficeOpenPass):
    """A pass over the texts of all cells of a worksheet part: what they share, and which cells stand there twice."""

    def __init__(self, found: _Findings, part: str) -> None:
        super().__init__(found, part)
        self._known = found.sheets[part]
        self._values: dict[tuple[int, int], int] = {}
        self._total = 0

    def _enter_sheet(self) -> None:
        """Leave what the first pass found as it is."""

    def _is_wanted(self) -> bool:
        return True

    def _take(self, said: str) -> None:
        if self._kind == "s" and said.isdecimal() and len(said) < 19 and int(said) < len(self.found.text_lengths):
            self._total += self.found.text_lengths[int(said)]
            self.found.check_text(self._total, self.found.place(self.part))
        at = (self._row, self._column)
        if at in self._known.disordered:
            value = hash((self._kind or "n", said))
            if at in self._values:
                self._known.claims[at] = self._known.claims.get(at, False) or self._values[at] != value
            self._values.setdefault(at, value)


class _OpenDocumentPass(_Pass):
    """A pass over the content of an OpenDocument spreadsheet: cells, with their repetitions, and texts."""

    def __init__(self, found: _Findings, part: str) -> None:
        super().__init__(found, part)
        self.max_idle = MAX_IDLE
        self.parser.EndElementHandler = self._end
        self.parser.StartCdataSectionHandler = self._interrupt
        self._sheet: SheetFacts | None = None  # the one at hand; ``facts`` are of all together, which are held at once
        self._where = found.source
        self._row = self._next_row = self._column = 0
        self._rows = self._repeats = 1  # how often the row and the cell at hand are repeated
        self._cell_column = 0
        self._is_filled = self._in_cell = False
        self._texts: list[str] | None = None  # of a cell that the library would give as empty or zero
        self._otherwise = ""  # what such a cell shows if it has no text
        self._total_text = 0

    def _start(self, name: str, attributes: _Attributes) -> None:
        local = _local_name(name)
        if local == "table":
            title = _attribute(attributes, "name")
            self._where = f"{self.found.source}, sheet {title}"
            self._sheet = self.found.add_sheet(title)
            self._row = self._next_row = 0
        elif self._sheet is None:
            return
        elif local == "table-row":
            self._rows = self._repeat(attributes, "number-rows-repeated")
            self._row, self._next_row = self._next_row, self._next_row + self._rows
            self._column = 0
        elif local in ("table-cell", "covered-table-cell"):
            self._repeats = self._repeat(attributes, "number-columns-repeated")
            self._cell_column, self._column = self._column, self._column + self._repeats
            self._is_filled, self._in_cell = False, True
            keys = {_local_name(key) for key in attributes}
            if "value-type" in keys or "formula" in keys or any(key.endswith("-value") for key in keys):
                self._fill()
            kinds = [value for key, value in attributes.items() if _local_name(key) == "value-type"]
            if "error" in kinds or not kinds:
                self._texts = []
                self._otherwise = "#ERROR" if kinds else NOT_CALCULATED if "formula" in keys else ""
            self._count_text(len(_attribute(attributes, "string-value")))
        elif local == "annotation":
            self._in_cell = False
        elif local == "p":
            self._fill()
            self.parser.CharacterDataHandler = self._text
        elif local == "s":
            self._count_text(self._repeat(attributes, "c"))

    def _end(self, name: str) -> None:
        local = _local_name(name)
        if local == "p":
            self.parser.CharacterDataHandler = None
        elif local in ("table-cell", "covered-table-cell"):
            self._in_cell = False
            text = "".join(self._texts or ()).strip() or self._otherwise
            if text and self._sheet is not None and self._texts is not None:
                self._sheet.unreadable.append((self._row, self._cell_column, self._rows, self._repeats, text))
            self._texts = None
        elif local == "annotation":
            self._in_cell = True

    def _interrupt(self, *_: object) -> None:
        raise _broken("the text of a cell is interrupted by what is no text", self._where)

    def _text(self, data: str) -> None:
        self._count_text(len(data))
        if self._texts is not None and self._in_cell:
            self._texts.append(data)

    def _fill(self) -> None:
        """Count the cell at hand, with its repetitions, once."""
        if self._sheet is None or self._is_filled or not self._in_cell:
            return
        self._is_filled = True
        bottom, right = self._row + self._rows - 1, self._cell_column + self._repeats - 1
        before = self._sheet.spread
        self._sheet.fill(self._row, self._cell_column, bottom, right)
        self.facts.filled += 1
        self.facts.spread += self._sheet.spread - before
        self.found.check_cells(self.facts.spread, self._where)
        if bottom >= MAX_ROW or right >= MAX_COLUMN:
            beyond = f"Cells beyond row {MAX_ROW:,} or column {MAX_COLUMN:,} are filled"
            raise _over(f"{beyond}: delete them, or copy the table to a new workbook.", self._where)

    def _count_text(self, length: int) -> None:
        if self._in_cell:
            self._total_text += length * self._rows * self._repeats
            self.found.check_text(self._total_text, self._where)

    def _repeat(self, attributes: _Attributes, name: str) -> int:
        """Return how often something is repeated, once where nothing is said."""
        said = _attribute(attributes, name) or "1"
        if not (said.isascii() and said.isdecimal() and len(said) < 19):
            raise _broken(f"it repeats something {said[:40]!r} times", self.found.source)
        return int(said)
