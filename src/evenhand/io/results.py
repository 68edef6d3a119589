"""Result tables to csv, tsv, xlsx or parquet, safe to open in a spreadsheet program."""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import math
import os
import re
import secrets
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import EvenhandError, InputError, require
from evenhand.io.sheets import HOSTILE_START, Column, Sheet, Value, write_sheets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# A program that splits at semicolons or tabs, as Excel does in many countries, starts new cells inside a text.
_HOSTILE_INSIDE = re.compile(r"([;\t\r\n][ \"]*)(?=[=+\-@])")
_BAD_IN_FILE_NAME = re.compile(r"[^\w.-]+")
_SETTINGS = ("objective", "method", "gauge", "noise", "interval", "criterion", "now", "top", "draws", "seed")
_SIDES = ("objects", "assessors")

_FURTHER = (
    *("variances", "covariates", "scales", "noise_factors", "thresholds", "latent", "outlying", "criteria"),
    *("correlation", "signals", "derived_conflicts", "marginals", "changes", "alternates"),
)
"""Tables of refined models, of criteria and of how a design came about, written wherever a summary has them."""


def write_tables(
    path: str | os.PathLike[str], tables: Mapping[str, Mapping[str, Sequence[object]]], *, notes: Sequence[str] = ()
) -> list[Path]:
    """Write result tables to one workbook, or to csv, tsv or parquet files side by side.

    Text that a spreadsheet program would take for a formula is made harmless, with an apostrophe before it in
    csv and tsv and as plain text in xlsx; numbers stay numbers with all their digits. Nothing is replaced before
    everything is written, and nothing half-written is left behind.

    Parameters
    ----------
    path
        Where to write; the suffix is ``.csv``, ``.tsv``, ``.xlsx`` or ``.parquet``. Except for xlsx the first
        table goes there and each other one beside it, as ``stem-NAME.csv``.
    tables
        Tables by name, each a mapping of column names to values: text, numbers, truth values, None, or numpy
        scalars and arrays of these. None and nan are empty cells.
    notes
        Sentences to go with the tables, as a table ``notes`` of their own.

    Returns
    -------
    list of Path
        The files that were written, the one that was asked for first.

    Raises
    ------
    InputError
        If the suffix is unknown or the files cannot be written.
    LimitError
        If a table does not fit a sheet of a workbook.
    """
    place = Path(path)
    plain = {name: _plain_table(name, table) for name, table in tables.items()}
    if not plain:
        raise _cannot_write("There is no table to write.", path)
    if notes:
        if "notes" in plain:
            raise _cannot_write("A table is called 'notes' although there are notes to write.")
        plain["notes"] = {"note": [str(note) for note in notes]}
    suffix = place.suffix.lower()
    if suffix == ".xlsx":
        sheets = [Sheet(name, [Column(*column) for column in table.items()]) for name, table in plain.items()]
        return write_whole({place: lambda file: write_sheets(file, sheets)})
    if suffix not in (".csv", ".tsv", ".parquet"):
        raise _unknown_format(place, ".csv, .tsv, .xlsx or .parquet")
    write = _write_parquet if suffix == ".parquet" else _write_csv
    jobs: dict[Path, Callable[[Path], object]] = {}
    for target, table in zip(targets_of(place, list(plain)), plain.values(), strict=True):
        if target in jobs:
            raise _cannot_write(f"Two tables would be written to {target.name}.", path)
        jobs[target] = functools.partial(write, table, "\t" if suffix == ".tsv" else ",")
    return write_whole(jobs)


def write_summary(path: str | os.PathLike[str], summary: Mapping[str, Any], tables: Sequence[str]) -> list[Path]:
    """Write a summary: as JSON in full, or some of its tables, its settings and its notes in any other format.

    The first of the tables is the main one; those of refined models and criteria follow, if any.
    """
    if Path(path).suffix.lower() == ".json":  # null where something could not be computed
        return [write_text(path, json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2) + "\n")]
    return write_tables(path, tables_of(summary, tables), notes=[*settings_of(summary), *notes_of(summary)])


def tables_of(summary: Mapping[str, Any], tables: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """Return some tables of a summary as columns by name, then those of refined models and criteria, if any."""
    columns = {}
    for name in (*tables, *(name for name in _FURTHER if summary.get(name))):
        for title, listed in _unnested(name, summary[name]).items():
            records = [_flat(record) for record in listed]
            keys = dict.fromkeys(key for record in records for key in record)
            columns[title] = {key: [record.get(key) for record in records] for key in keys}
    return columns


def settings_of(summary: Mapping[str, Any]) -> list[str]:
    """Return as sentences how a summary came about, and what it comes to."""
    told = {key: summary[key] for key in _SETTINGS if summary.get(key) is not None}
    settings = [f"{key}: {f'{one:.6g}' if isinstance(one, float) else one}" for key, one in told.items()]
    if "recommendation" in summary:
        advice = summary["recommendation"]
        settings.append(f"recommended: {advice['method'] or 'none'}, {advice['reason']}")
    if "declared_confidence" in summary:
        settings.append(summary["declared_confidence"]["words"])
    if "priors" in summary:
        settings.append("priors: " + ", ".join(f"{name} {value:g}" for name, value in summary["priors"].items()))
    return settings


def notes_of(summary: Mapping[str, Any]) -> list[str]:
    """Return the notes of a summary as sentences, each with its place."""
    return [f"{note['where']}: {note['message']}" if note["where"] else note["message"] for note in summary["notes"]]


def _unnested(name: str, records: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table as it is, and criteria as two: a row for each criterion and object, or assessor."""
    if name != "criteria":
        return {name: [dict(record) for record in records]}
    return {
        f"criteria-{side}": [
            {"criterion": part["criterion"], "weight": part["weight"], **record}
            for part in records
            for record in part[side]
        ]
        for side in _SIDES
    }


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record in which every cell is one value: labels in a line, probabilities in columns of their own."""
    flat: dict[str, Any] = {}
    for key, cell in record.items():
        if isinstance(cell, dict):
            flat.update(cell)
        else:
            flat[key] = ", ".join(map(str, cell)) if isinstance(cell, list) else cell
    return flat


def check_target(
    path: str | os.PathLike[str],
    tables: Sequence[str] = (),
    protected: Sequence[str | os.PathLike[str]] = (),
    known: Sequence[str] = (".csv", ".tsv", ".xlsx", ".parquet", ".json"),
) -> None:
    """Refuse, before any work is done, a place that results cannot or must not be written to.

    The tables are those that will be written, some of them to files beside the place; the protected files, such as
    those that the scores come from, must not be overwritten; known are the suffixes that may be used.
    """
    place = Path(path)
    if place.suffix.lower() not in known:
        raise _unknown_format(place, f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0])
    if place.suffix.lower() == ".parquet":
        require("polars", "Writing a parquet file")
    try:
        if not place.parent.is_dir():
            raise _cannot_write(f"There is no directory {place.parent}: make it first.", path)
        guarded = {os.path.realpath(source): source for source in protected}
        further = [title for name in _FURTHER for title in _unnested(name, ())] if tables else []
        for target in targets_of(place, [*tables, *further, "notes"]):
            _check_regular(target)
            if os.path.realpath(target) in guarded:
                message = f"The results would overwrite {guarded[os.path.realpath(target)]}: choose another name."
                raise _cannot_write(message, target)
    except OSError as error:
        message = f"The file cannot be written ({error.strerror or error}): choose another place."
        raise _cannot_write(message, path) from None


def targets_of(place: Path, tables: Sequence[str]) -> list[Path]:
    """Return the files that tables are written to: one workbook, or the place itself and others beside it."""
    if place.suffix.lower() in (".xlsx", ".json") or not tables:
        return [place]
    beside = (f"{place.stem}-{_BAD_IN_FILE_NAME.sub('-', name)}{place.suffix}" for name in tables[1:])
    return [place, *(place.with_name(name) for name in beside)]


def _check_regular(target: Path) -> None:
    """Refuse to replace what is not a regular file: a directory, a device, a pipe, a link to nowhere and back."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise _cannot_write("There is a directory of that name: choose another.", target)
    if not stat.S_ISREG(mode):
        raise _cannot_write("There is a device or a pipe of that name, which is not replaced: choose another.", target)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file in UTF-8, whole or not at all."""
    return write_whole({Path(path): lambda file: file.write_bytes(text.encode())})[0]


def copy_file(source: Path, path: str | os.PathLike[str]) -> None:
    """Copy a file, whole or not at all."""
    write_whole({Path(path): lambda file: file.write_bytes(source.read_bytes())})


def _unknown_format(place: Path, known: str) -> InputError:
    what = f"Results cannot be written to a file that ends in {place.suffix or 'no suffix'}"
    return InputError(f"{what}: name it {known}.", kind="unknown_format", where=str(place))


def harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet program would take for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("A-1")
    ("'=1+1", 'A-1')
    """
    if text.startswith(HOSTILE_START):
        text = "'" + text
    return _HOSTILE_INSIDE.sub(r"\1'", text)


def write_whole(jobs: Mapping[Path, Callable[[Path], object]]) -> list[Path]:
    """Write every file under another name beside its target, then put all in place."""
    waiting: dict[Path, Path] = {}
    target = next(iter(jobs))
    try:
        for target, job in jobs.items():
            _check_regular(target)
            real = Path(os.path.realpath(target))
            temporary = _beside(real, "part")
            temporary.open("xb").close()
            waiting[real] = temporary
            job(temporary)
            if real.exists():
                shutil.copymode(real, temporary)
                if not os.access(real, os.W_OK):
                    raise PermissionError(13, "the file that is there may not be changed")
        for real in list(waiting):
            os.replace(waiting[real], real)
            del waiting[real]
    except EvenhandError:
        raise
    except UnicodeEncodeError as error:
        message = f"The text {error.object[:40]!r} holds a character that no file can hold: correct that label."
        raise _cannot_write(message, target) from None
    except Exception as error:  # each writing library has errors of its own
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        message = f"The file cannot be written ({reason}): choose another place or free this one."
        raise _cannot_write(message, target) from None
    finally:
        for temporary in waiting.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
    return list(jobs)


@contextlib.contextmanager
def replacing_directory(target: Path, check: Callable[[Path], object]) -> Iterator[Path]:
    """Give a directory to write into, which becomes the target once all is written, or is gone if anything fails.

    ``check`` refuses a target that must not be replaced, just before it would be. An OSError comes as it is.
    """
    work, aside = _beside(target, "part"), _beside(target, "old")
    try:
        work.mkdir()
        yield work
        check(target)
        if target.exists():
            os.replace(target, aside)
        try:
            os.replace(work, target)
        except OSError:
            if aside.exists():
                os.replace(aside, target)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _beside(place: Path, suffix: str) -> Path:
    """Return a hidden name beside a place that nothing has yet, of no more bytes than a name may have."""
    return place.with_name(f".{place.name[:40]}.{secrets.token_hex(6)}.{suffix}")


def _cannot_write(message: str, where: str | os.PathLike[str] | None = None) -> InputError:
    return InputError(message, kind="cannot_write", where=None if where is None else str(where))


def _plain_table(name: str, table: Mapping[str, Sequence[object]]) -> dict[str, list[Value]]:
    """Return a table with plain Python values, all columns of one length."""
    plain = {}
    for column, values in table.items():
        listed: Sequence[object] = values.tolist() if hasattr(values, "tolist") else values
        plain[str(column)] = [_plain_value(value) for value in listed]
    if len({len(values) for values in plain.values()}) > 1:
        raise _cannot_write(f"The columns of the table {name!r} differ in length.")
    return plain


def _plain_value(value: object) -> Value:
    """Return a value without numpy, nan as None and anything unknown as text."""
    if isinstance(value, (str, bool, int)) or value is None:
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return _plain_value(value.item())
    return str(value)


def _as_text(value: Value) -> str:
    """Write a value for csv: numbers with all their digits, text made harmless."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else harmless(value)


def _write_csv(table: Mapping[str, Sequence[Value]], delimiter: str, file: Path) -> None:
    # Excel takes a csv for UTF-8 only if it begins with a byte order mark.
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow([harmless(name) for name in table])
        writer.writerows([_as_text(value) for value in row] for row in zip(*table.values(), strict=True))


def _write_parquet(table: Mapping[str, Sequence[Value]], _: str, file: Path) -> None:
    require("polars", "Writing a parquet file")
    import polars as pl

    columns = [pl.Series(name, values, strict=False) for name, values in table.items()]
    pl.DataFrame(columns).write_parquet(file)
