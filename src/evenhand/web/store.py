"""The directory in which work is kept: for the own eyes alone, one server at a time."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from evenhand.errors import InputError

DATABASE: Final = "evenhand.sqlite3"
LOG: Final = "log.txt"
_WORK: Final = "work"
_SECRET: Final = "secret"  # noqa: S105  the name of a file


def default_place() -> Path:
    """Return where programs keep data on this platform."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "evenhand"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "evenhand"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "evenhand"


def open_store(place: Path) -> str:
    """Make the directory if there is none, for its owner alone, and return the secret that signs cookies."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (DATABASE, LOG):  # what SQLite writes beside its file may be read by whoever may read that
            os.close(os.open(place / name, os.O_RDWR | os.O_CREAT, 0o600))
        with suppress(FileExistsError):
            handle = os.open(place / _SECRET, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(64))
        found = (place / _SECRET).read_text("ascii")
    except OSError as error:
        raise _unwritable(place, error) from None
    if len(found) < 50:
        raise InputError(
            "The file is damaged: delete it, and a new one is made.", kind="unwritable", where=str(place / _SECRET)
        )
    return found


def _unwritable(place: Path, error: OSError) -> InputError:
    return InputError(
        f"Work cannot be kept here ({error.strerror}): choose another directory, or none for this time.",
        kind="unwritable",
        where=str(place),
    )


@contextmanager
def workshop(place: Path) -> Iterator[Path]:
    """Let temporary files, which hold scores, lie within the directory; what a killed server left is gone."""
    folder, before = place / _WORK, tempfile.tempdir
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def lock(place: Path) -> IO[str]:
    """Return a file that says that this process serves a directory; refuse where another does."""
    try:
        file = (place / "lock").open("a+", encoding="ascii")
    except OSError as error:
        raise _unwritable(place, error) from None
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(
            "It is being served already: use the page that is open, or stop that server first.",
            kind="in_use",
            where=str(place),
        ) from None
    return file
