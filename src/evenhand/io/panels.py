"""A file in, a panel out: the one road that files of every kind and size take."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from evenhand import memory
from evenhand.errors import InputError, Problem
from evenhand.io.coding import wanted_of
from evenhand.io.delimited import TextFile, read_delimited
from evenhand.io.paths import MANIFEST, MAX_UNPACKED, existing
from evenhand.io.table import Source, Whole, from_the_beginning, lengthen
from evenhand.panel.column import Table
from evenhand.panel.confidence import FACTOR
from evenhand.panel.panel import Panel
from evenhand.panel.roles import Roles, listed_names, recognise
from evenhand.panel.rules import Collector, Duplicates, Entries, Options

_TEXTS: Final = (".csv", ".tsv", ".txt")
_WORKBOOKS: Final = (".xlsx", ".xlsm", ".ods")
_READ: Final = "csv, tsv, txt, xlsx, xlsm, ods and parquet files are read"
_ADVICE: Final = {
    **dict.fromkeys((".xls", ".xlsb"), "open it in a spreadsheet program and save it as .xlsx"),
    ".numbers": "export it as .xlsx or csv",
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".7z"), "unpack it first"),
    **dict.fromkeys((".doc", ".docx"), "copy the table to a spreadsheet"),
    **dict.fromkeys((".pdf", ".json"), "save the table as csv"),
}


def read_panel(  # noqa: PLR0913
    path: str | os.PathLike[str],
    *,
    object: str | None = None,  # the public name is the paper's word
    assessor: str | None = None,
    score: str | None = None,
    uncertainty: str | None = None,
    confidence: str | None = None,
    level: str | None = None,
    factor: float = FACTOR,
    aliases: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    missing: Sequence[str] = (),
    sheet: str | None = None,
    wide: bool = False,
    max_unpacked: int = MAX_UNPACKED,
    criterion: str | None = None,
    covariates: Sequence[str] = (),
) -> Panel:
    """Read a panel from a file: one assessment a row, or with ``wide`` objects down and assessors across.

    Parameters
    ----------
    path
        A csv, tsv, txt, xlsx, xlsm, ods or parquet file, a directory of parquet files, or a directory that
        :func:`evenhand.pack_panel` wrote. Text and parquet files may be as large as memory allows, unless they are
        wide: then a file may have 20 million cells and ``max_unpacked`` bytes.
    object, assessor, score, uncertainty, confidence, level
        Names of the columns; recognised by their names where not given (see :mod:`evenhand.panel.roles`).
    factor
        Ratio of the uncertainties of neighbouring levels.
    aliases
        Further words for levels: ``{"hoch": "high"}``.
    duplicates
        What to do where an assessor scored an object twice (with a criterion: twice for one criterion): ``"error"``,
        ``"keep"`` or ``"combine"``.
    missing
        Texts that mean an empty cell, such as ``"NA"``.
    sheet
        Name of the sheet of a workbook; the first that is not blank where not given.
    wide
        Whether the sheet has objects down and assessors across.
    max_unpacked
        Most bytes that a workbook may unpack to.
    criterion
        Name of the column that says which criterion a score is for.
    covariates
        Names of further columns, by which the panel's ``covariates`` hold them. One whose cells are all numbers, or
        true and false (1 and 0), becomes numbers; any other, and one of a categorical type, becomes text.

    Raises
    ------
    InputError
        With every problem found, each with its row and column; of a large file the first thousand.
    LimitError
        If a large file does not fit into memory.
    """
    covariates = listed_names(covariates)
    further = [*([] if criterion is None else [criterion]), *covariates]
    if is_packed(path):
        from evenhand.io.packed import read_packed

        if further:
            said = f"A packed panel holds no criteria and no covariates: leave out {further[0]!r}"
            message = f"{said}, or read the file that was packed."
            raise InputError(message, kind="bad_option", where=os.fspath(path))
        return read_packed(path)
    find: Callable[..., Roles] = functools.partial(
        recognise,
        object=object,
        assessor=assessor,
        score=score,
        uncertainty=uncertainty,
        confidence=confidence,
        level=level,
        criterion=criterion,
        covariates=covariates,
    )
    if wide:
        table = read_table(path, sheet=sheet, max_unpacked=max_unpacked)
        given = [name for name in (assessor, score, uncertainty, confidence, level, *further) if name is not None]
        if given:
            said = "A wide sheet has a column for each assessor and nothing but scores in it"
            raise InputError(f"{said}: leave out {given[0]!r}.", kind="bad_option")
        source: Source = Whole(lengthen(table, object=object))
        find = recognise  # by the names that a lengthened table has
    else:
        source = _open(path, sheet, max_unpacked)
    options = Options(factor, aliases, duplicates, missing)
    entries, notes = _collect(source, find, options, covariates)
    return Panel.from_entries(entries, factor=factor, notes=notes)


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
    kind = _kind_of(path, sheet)
    if kind == "text":
        return read_delimited(path, max_bytes=max_unpacked)
    if kind == "parquet":
        from evenhand.io.parquet import read_parquet

        return read_parquet(path, max_text=max_unpacked)
    from evenhand.io.spreadsheet import read_spreadsheet

    return read_spreadsheet(path, sheet, max_unpacked=max_unpacked)


def _open(path: str | os.PathLike[str], sheet: str | None, max_unpacked: int) -> Source:
    """Return a file as a source of columns."""
    kind = _kind_of(path, sheet)
    if kind == "text":
        return TextFile(path)
    if kind == "parquet":
        from evenhand.io.parquet import ParquetFile

        return ParquetFile(path)
    return Whole(read_table(path, sheet=sheet, max_unpacked=max_unpacked))


def _kind_of(path: str | os.PathLike[str], sheet: str | None) -> Literal["text", "parquet", "workbook"]:
    """Return which reader a file needs, by its suffix."""
    place, facts = existing(path)
    suffix = place.suffix.lower()
    if sheet is not None and suffix not in _WORKBOOKS:
        message = f"A sheet ({sheet!r}) is asked for, but only workbooks have sheets: leave --sheet out."
        raise InputError(message, kind="missing_sheet", where=place.name)
    if suffix == ".parquet" or stat.S_ISDIR(facts.st_mode):
        return "parquet"
    if suffix in _TEXTS:
        return "text"
    if suffix in _WORKBOOKS:
        return "workbook"
    advice = _ADVICE.get(suffix, "save the table as csv or .xlsx")
    without = "The name has no suffix that says what kind of file it is"
    what = f"Files that end in {suffix} are not read" if suffix else without
    raise InputError(f"{what} ({_READ}): {advice}.", kind="unknown_format", where=place.name)


def is_packed(path: object) -> bool:
    """Say whether a path is a directory with a panel in it that :func:`evenhand.pack_panel` wrote."""
    try:
        return isinstance(path, str | os.PathLike) and (Path(path) / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


def _collect(
    source: Source, find: Callable[..., Roles], options: Options, covariates: Sequence[str]
) -> tuple[Entries, list[Problem]]:
    """Return what a source says, portion by portion, and notes on it; ``find`` recognises its columns."""
    categories: set[str] = set()

    def read() -> tuple[Entries, list[Problem]]:
        collector = wanted = fault = None
        try:
            roles = find(source.names, source=source.source)
            needed = 12 * (len(roles.used) - 1) * source.rows
            memory.require(needed, f"the {source.rows:,} rows or so of {source.source}")
            collector = Collector(
                roles, options, covariates, rows=source.rows, most_problems=source.most_problems, categories=categories
            )
            known = [at for name, at in zip(covariates, roles.covariates, strict=True) if name in categories]
            wanted = wanted_of(roles, options, known)
        except InputError as error:
            fault = error  # said once the rest of the file was found to be sound
        for portion in source.portions(wanted):
            if collector is not None:
                collector.add(portion)
            del portion  # or the last one would stay in memory
        if fault is not None or collector is None:
            raise fault or AssertionError
        return collector.entries(), [*source.notes(), *_twice(source.names, roles)]

    return from_the_beginning(source, read)


def _twice(names: Sequence[str], roles: Roles) -> list[Problem]:
    """Return notes on columns that were read and stand in the header again.

    Labels may stand again in a table of results, which a column without a name sets apart.
    """
    found = []
    for index in roles.used:
        name, later = names[index], list(names[index + 1 :])
        if index in (roles.object, roles.assessor) and "" in later:
            later = later[: later.index("")]
        if name in later or (name in names[:index] and index not in (roles.object, roles.assessor)):
            message = f"there is more than one column {name!r}: the first was read."
            found.append(Problem("column_twice", message, f"column {name}"))
    return found
