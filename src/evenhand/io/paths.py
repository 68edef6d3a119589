"""Whether a path can be read at all: there, a regular file, permitted, and not too large."""

from __future__ import annotations

import difflib
import itertools
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.words import remark

MAX_UNPACKED = 512 * 2**20
"""Most bytes that a file may hold once it is unpacked, unless the caller says otherwise."""

MANIFEST = "panel.json"
"""The file that makes a directory a packed panel."""


def existing(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result]:
    """Return a path with its facts, or say in one sentence why it cannot be used, with names that come close."""
    place = Path(path)
    try:
        return place, place.stat()
    except FileNotFoundError:
        raise InputError(_not_there(place), kind="missing_file", where=str(path)) from None
    except PermissionError:
        raise _forbidden(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"This is not a usable file name ({reason}): check the path."
        raise InputError(message, kind="missing_file", where=repr(str(path))) from None


def regular_file(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Path:
    """Return the path of a regular file that may be read, without opening anything that could block.

    Refused are a directory, a pipe or a device, a file that may not be read, and one of more than ``max_bytes``.
    """
    place, facts = existing(path)
    if not stat.S_ISREG(facts.st_mode):
        pipe = "This is a pipe or a device, not a file: save the data to a file first."
        message = "This is a directory: name a file in it." if stat.S_ISDIR(facts.st_mode) else pipe
        raise InputError(message, kind="not_a_file", where=str(path))
    if not os.access(place, os.R_OK):
        raise _forbidden(path)
    if max_bytes is not None and facts.st_size > max_bytes:
        raise too_large(place.name, remark("The file holds {size}", size=in_bytes(facts.st_size)), max_bytes)
    return place


@contextmanager
def local(path: str | os.PathLike[str], most: int = MAX_UNPACKED) -> Iterator[str | os.PathLike[str]]:
    """Give a file that can be read from its beginning: standard input (``-``) and gzipped files are unpacked to one.

    It lies in a directory of its own for as long as it is needed, under the name without ``.gz``.
    """
    is_input = os.fspath(path) == "-"
    if not is_input and not os.fspath(path).lower().endswith(".gz"):
        yield path
        return
    import shutil
    import sys
    import tempfile

    name = "standard input.csv" if is_input else Path(path).stem
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        place = Path(folder) / name
        stream: Any = sys.stdin.buffer if is_input else regular_file(path).open("rb")
        try:
            with stream, place.open("wb") as file:
                start = stream.read(2)
                if start == b"\x1f\x8b":
                    _unpack(start, stream, file, most, name)
                else:
                    file.write(start)
                    shutil.copyfileobj(stream, file)
        except (OSError, EOFError, zlib.error) as error:
            message = remark("It cannot be unpacked ({error}): pack it again, or unpack it yourself.", error=str(error))
            raise InputError(message, kind="damaged", where=name) from None
        if is_input:
            with place.open("rb") as file:
                is_workbook = file.read(4) == b"PK\x03\x04"
            place = place.rename(place.with_suffix(".xlsx")) if is_workbook else place
        yield place


def _unpack(start: bytes, stream: Any, file: Any, most: int, name: str) -> None:
    """Unpack a gzipped stream of which the first bytes were read, up to so many bytes."""
    unpacker = zlib.decompressobj(wbits=31)
    data, done = start + stream.read(2**20), 0
    while data:
        while data:
            piece = unpacker.decompress(data, 2**22)
            done += len(piece)
            if done > most:
                raise too_large(name, remark("The unpacked file goes on"), most)
            file.write(piece)
            data = unpacker.unconsumed_tail
            if unpacker.eof:
                data, unpacker = unpacker.unused_data.lstrip(b"\0"), zlib.decompressobj(wbits=31)
        data = stream.read(2**20)


def too_large(source: str, finding: str, limit: int) -> InputError:
    """Return the error for a file that is over the limit of bytes; ``finding`` says what was found."""
    message = remark(
        "{finding}, more than the limit of {limit}: keep only the sheet or the columns with objects, assessors, scores "
        "and confidences.",
        finding=finding,
        limit=in_bytes(limit),
    )
    return InputError(message, kind="too_large", where=source)


def unreadable(source: str, error: OSError) -> InputError:
    """Return the error for a file that can be opened, or not even that, but not read."""
    return InputError(f"The file cannot be read: {error.strerror}.", kind="unreadable", where=source)


def reason_of(said: object) -> str:
    """Return what an error of a library says, in its first line."""
    return (str(said).splitlines() or ["unknown"])[0][:200].rstrip(".")


def in_bytes(count: int) -> str:
    """Write a number of bytes in the unit that suits it, such as ``512 MiB``."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} GiB"


def _forbidden(path: str | os.PathLike[str]) -> InputError:
    message = "You have no permission to read this file: change its permissions or copy it."
    return InputError(message, kind="no_permission", where=str(path))


def _not_there(place: Path) -> str:
    """Say that nothing is at a place, with names close to it."""
    parent = place.parent
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in itertools.islice(entries, 10_000)]
    except OSError:
        return f"There is no such file, and no directory {parent} that can be looked into: check the path."
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(place.name.casefold(), folded, n=3, cutoff=0.7)
    if close:
        return f"There is no such file; did you mean {' or '.join(folded[name] for name in close)}?"
    return "There is no such file: check the spelling and the directory."
