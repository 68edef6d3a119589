"""Guards that look at a workbook from outside before any library unpacks it."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO

from evenhand.errors import InputError
from evenhand.io.markup import Findings, SheetFacts, password
from evenhand.io.officeopen import OfficeOpenPass, check_shared
from evenhand.io.opendocument import OpenDocumentPass
from evenhand.io.paths import MAX_UNPACKED, regular_file, too_large
from evenhand.io.table import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 65_536
"""Most bytes of an unpacked part that are held at a time."""

MAX_PARTS = 10_000
"""Most files that the archive of a workbook may hold."""

_OLE_MAGIC = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_END_RECORD = struct.Struct("<4s4H2LH")
_CELLS_ELEMENT = b"sheetData"
# Parts of an OpenDocument file that its reader never opens; macros there carry a document type by rights.
_UNREAD_FOLDERS = ("basic/", "dialogs/", "scripts/", "configurations2/")


def inspect_workbook(
    path: str | os.PathLike[str], *, max_unpacked: int = MAX_UNPACKED, max_cells: int = MAX_CELLS
) -> dict[str, SheetFacts]:
    """Refuse a workbook that is damaged, locked or made to exhaust memory, holding one chunk of it at a time.

    The unpacked size is added up first from what the archive declares, then while every part is unpacked in
    chunks, because the declaration may be false. XML with a document type is refused, and so is a sheet
    whose cells, repeated cells or shared texts would take more memory than the limits allow.

    Parameters
    ----------
    path
        An xlsx, xlsm or ods file.
    max_unpacked
        Most bytes that its parts may hold together, and most text that its cells may hold.
    max_cells
        Most cells that a sheet may spread over, between its outermost filled cells.

    Returns
    -------
    dict
        What was found out about each sheet, by its name.

    Raises
    ------
    InputError
        With one sentence that says what is wrong and what to do.
    """
    place = regular_file(path)
    source = place.name
    found = Findings(source, max_text=max_unpacked, max_cells=max_cells)
    try:
        with place.open("rb") as file:
            parts = _open(file, place, max_unpacked)
            is_open_document = place.suffix.lower() == ".ods"
            left = max_unpacked
            for part in sorted(parts, key=_urgency):
                left = _inspect(file, part, found, left, is_open_document=is_open_document)
            if found.suspects():
                by_name = {part.filename.lower(): part for part in parts}
                for name in found.suspects():
                    check_shared(found, name, _unpack(file, by_name[name], source))
    except OSError as error:
        raise InputError(f"The file cannot be read: {error.strerror}.", kind="unreadable", where=source) from None
    except _TooLarge:
        raise too_large(source, f"The workbook unpacks to more than {max_unpacked:,} bytes", max_unpacked) from None
    return found.sheets()


class _TooLarge(Exception):  # noqa: N818  a signal, not an error that anyone sees
    """The parts hold more than the limit."""


def _inspect(file: BinaryIO, part: zipfile.ZipInfo, found: Findings, left: int, *, is_open_document: bool) -> int:
    """Look through one part and return how many more bytes may follow."""
    count = 0

    def counted() -> Iterator[bytes]:
        nonlocal count
        for chunk in _unpack(file, part, found.source):
            count += len(chunk)
            if count > left:
                raise _TooLarge
            yield chunk

    name = part.filename.lower()
    is_markup = name.endswith((".xml", ".rels"))
    if is_open_document and name == "content.xml":
        OpenDocumentPass(found, part.filename).run(counted())
    elif is_markup and not (is_open_document and name.startswith(_UNREAD_FOLDERS)):
        OfficeOpenPass(found, part.filename).run(counted())
    else:
        before = b""
        for chunk in counted():
            if _CELLS_ELEMENT in before + chunk and not is_open_document:
                raise InputError(
                    f"The workbook keeps cells under the unusual name {part.filename!r}: save it again from a "
                    "spreadsheet program.",
                    kind="damaged",
                    where=found.source,
                )
            before = chunk[-len(_CELLS_ELEMENT) :]
    return left - count


def _urgency(part: zipfile.ZipInfo) -> int:
    """Order parts so that what locks or names the sheets comes before them."""
    name = part.filename.lower()
    return 0 if name.endswith(("manifest.xml", ".rels")) else 1 if name.endswith("workbook.xml") else 2


def _open(file: BinaryIO, place: Path, max_unpacked: int) -> list[zipfile.ZipInfo]:
    """Return the parts of the archive, after every check that needs only its directory."""
    source = place.name
    magic = file.read(4)
    if magic == _OLE_MAGIC:
        raise _old_format(file, source)
    if magic != b"PK\x03\x04":
        raise InputError(
            f"The file is not a workbook although its name ends in {place.suffix}: save it from a spreadsheet "
            "program as .xlsx, or give it its true suffix.",
            kind="damaged",
            where=source,
        )
    try:
        parts = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, EOFError, OSError):
        raise _incomplete(source) from None
    _check_end(file, source)
    if any(part.flag_bits & 0x1 for part in parts):
        raise password(source)
    if len(parts) > MAX_PARTS:
        raise InputError(
            f"The workbook holds {len(parts):,} parts, more than the limit of {MAX_PARTS:,}: save only the sheet "
            "that is needed.",
            kind="too_large",
            where=source,
        )
    if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
        raise InputError(
            "The workbook is packed in a way that spreadsheet programs do not use: save it again from one.",
            kind="damaged",
            where=source,
        )
    declared = sum(part.file_size for part in parts)
    if declared > max_unpacked:
        raise too_large(source, f"The workbook unpacks to {declared:,} bytes", max_unpacked)
    _check_kind({part.filename.lower() for part in parts}, place)
    return parts


def _check_kind(names: set[str], place: Path) -> None:
    """Refuse an archive that is not the kind of workbook that its suffix says."""
    is_open_document = "content.xml" in names
    is_office_open = "[content_types].xml" in names
    wants_open_document = place.suffix.lower() == ".ods"
    if is_open_document if wants_open_document else is_office_open:
        return
    if is_open_document or is_office_open:
        kind, suffix = ("an OpenDocument", ".ods") if is_open_document else ("an Office", ".xlsx")
        message = (
            f"The file is {kind} file although its name ends in {place.suffix}: if it is a workbook, name it {suffix}."
        )
    else:
        message = (
            f"The file is a zip archive, not a workbook, although its name ends in {place.suffix}: unpack it first."
        )
    raise InputError(message, kind="damaged", where=place.name)


def _check_end(file: BinaryIO, source: str) -> None:
    """Refuse an archive with bytes before its first part or after its directory.

    Readers disagree about where the directory of such a file is, so that one could be shown something else
    than what was inspected.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(size - _END_RECORD.size)
    magic, _, _, _, _, length, offset, comment = _END_RECORD.unpack(file.read(_END_RECORD.size))
    is_large = offset == 0xFFFFFFFF or length == 0xFFFFFFFF
    if magic != b"PK\x05\x06" or comment or not (is_large or offset + length in (size - 22, size - 22 - 76)):
        raise _incomplete(source)


def _unpack(file: BinaryIO, part: zipfile.ZipInfo, source: str) -> Iterator[bytes]:
    """Yield a part in chunks, by its true length; the declared length and checksum must agree with it."""
    file.seek(part.header_offset)
    head = file.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        raise _incomplete(source)
    file.seek(sum(struct.unpack("<HH", head[26:30])), os.SEEK_CUR)
    position, packed = file.tell(), part.compress_size
    inflate = zlib.decompressobj(-15) if part.compress_type == zipfile.ZIP_DEFLATED else None
    count, checksum, pending = 0, 0, b""
    while packed or pending or inflate is not None:
        if not pending and packed:
            file.seek(position)
            pending = file.read(min(CHUNK, packed))
            if not pending:
                raise _incomplete(source)
            position += len(pending)
            packed -= len(pending)
        if inflate is None:
            chunk, pending = pending, b""
        else:
            last = not pending
            try:
                chunk = inflate.decompress(pending, CHUNK)
            except zlib.error:
                raise _incomplete(source) from None
            pending = inflate.unconsumed_tail
            if last and not chunk and not inflate.eof:
                raise _incomplete(source)
        count += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
        yield chunk
        if count > part.file_size:
            raise InputError(
                f"The workbook says that its part {part.filename!r} unpacks to {part.file_size:,} bytes but it "
                "holds more: it is damaged or made to deceive; save the table as csv.",
                kind="damaged",
                where=source,
            )
        if inflate is not None and inflate.eof:
            break
    if count != part.file_size or checksum != part.CRC:
        raise _incomplete(source)


def _old_format(file: BinaryIO, source: str) -> InputError:
    """Tell a workbook with a password from one in the format of Excel 97."""
    before = b""
    while chunk := file.read(1 << 20):
        if _ENCRYPTED_STREAM in before + chunk:
            return password(source)
        before = chunk[-len(_ENCRYPTED_STREAM) :]
    return InputError(
        "The file is a workbook in the old .xls format: open it and save it as .xlsx.",
        kind="unknown_format",
        where=source,
    )


def _incomplete(source: str) -> InputError:
    return InputError(
        "The workbook is damaged or only part of it has arrived: copy or download it again, or open it in a "
        "spreadsheet program and save it as .xlsx.",
        kind="damaged",
        where=source,
    )
