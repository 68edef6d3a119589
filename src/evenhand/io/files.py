"""Which reader a file needs, by its suffix."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from evenhand.errors import InputError
from evenhand.io.delimited import read_delimited
from evenhand.io.parquet import read_parquet
from evenhand.io.paths import MAX_UNPACKED, existing
from evenhand.io.spreadsheet import read_spreadsheet
from evenhand.io.table import Table

_DELIMITED = (".csv", ".tsv", ".txt")
_WORKBOOKS = (".xlsx", ".xlsm", ".ods")
_READ = "csv, tsv, txt, xlsx, xlsm, ods and parquet files are read"
_ADVICE = {
    ".xls": "open it in a spreadsheet program and save it as .xlsx",
    ".xlsb": "open it in a spreadsheet program and save it as .xlsx",
    ".numbers": "export it as .xlsx or csv",
    ".gz": "unpack it first",
    ".zip": "unpack it first",
    ".bz2": "unpack it first",
    ".xz": "unpack it first",
    ".7z": "unpack it first",
    ".pdf": "save the table as csv",
    ".doc": "copy the table to a spreadsheet",
    ".docx": "copy the table to a spreadsheet",
    ".json": "save the table as csv",
}


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None, max_unpacked: int = MAX_UNPACKED) -> Table:
    """Read the cells of a file, whose suffix says what kind it is.

    Parameters
    ----------
    path
        A csv, tsv, txt, xlsx, xlsm, ods or parquet file, or a directory of parquet files.
    sheet
        Name of the sheet of a workbook; the first that is not blank if None.
    max_unpacked
        Most bytes that the file may hold once it is unpacked.

    Returns
    -------
    Table
        The cells as they stand, and where each came from.

    Raises
    ------
    InputError
        If there is no such file or it cannot be read, in one sentence that says what to do.
    """
    place, facts = existing(path)
    suffix = place.suffix.lower()
    if sheet is not None and suffix not in _WORKBOOKS:
        raise InputError(
            f"A sheet ({sheet!r}) is asked for, but only workbooks have sheets: leave --sheet out.",
            kind="missing_sheet",
            where=place.name,
        )
    if suffix == ".parquet" or stat.S_ISDIR(facts.st_mode):
        return read_parquet(place, max_text=max_unpacked)
    if suffix in _DELIMITED:
        return read_delimited(place, max_bytes=max_unpacked)
    if suffix in _WORKBOOKS:
        return read_spreadsheet(place, sheet, max_unpacked=max_unpacked)
    raise _unknown(place)


def _unknown(place: Path) -> InputError:
    """Return the error for a suffix that is not read."""
    suffix = place.suffix.lower()
    advice = _ADVICE.get(suffix, "save the table as csv or .xlsx")
    what = (
        f"Files that end in {suffix} are not read"
        if suffix
        else "The name has no suffix that says what kind of file it is"
    )
    return InputError(f"{what} ({_READ}): {advice}.", kind="unknown_format", where=place.name)
