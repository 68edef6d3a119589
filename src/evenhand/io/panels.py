"""A file in, a panel out: the table that a file holds, its columns recognised, its cells checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from evenhand.errors import InputError, Problem
from evenhand.io.coded import Options
from evenhand.io.files import read_table
from evenhand.io.large import is_columnar, is_large, read_large, used_columns
from evenhand.io.packed import is_packed, read_packed
from evenhand.io.paths import MAX_UNPACKED
from evenhand.io.table import Table
from evenhand.io.wide import lengthen
from evenhand.panel.confidence import FACTOR
from evenhand.panel.panel import Panel
from evenhand.panel.roles import Columns, listed_names, recognise
from evenhand.panel.rules import Cells, Duplicates, Further


def read_panel(
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
        :func:`evenhand.pack_panel` wrote. Large csv and parquet files are read column by column, but cell by cell
        where criteria or covariates are asked for: then a file may have 20 million cells and ``max_unpacked`` bytes.
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
    options = Options(factor, aliases, duplicates, missing)
    further = [*([] if criterion is None else [criterion]), *listed_names(covariates)]

    def find(names: Sequence[str], source: str) -> tuple[Columns, list[Problem]]:
        roles = recognise(
            names,
            object=object,
            assessor=assessor,
            score=score,
            uncertainty=uncertainty,
            confidence=confidence,
            level=level,
            criterion=criterion,
            covariates=covariates,
            source=source,
        )
        return roles, _twice(names, roles)

    if is_packed(path):
        if further:
            raise InputError(
                f"A packed panel holds no criteria and no covariates: leave out {further[0]!r}, or read the file that "
                "was packed.",
                kind="bad_option",
                where=os.fspath(path),
            )
        return read_packed(path)
    if not wide and not further and sheet is None and is_large(path):
        panel = read_large(path, find, options)
        if panel is not None:
            return panel
    try:
        table = read_table(path, sheet=sheet, max_unpacked=max_unpacked)
    except InputError as error:
        if wide or further or error.kind != "too_large" or not is_columnar(path):
            raise
        panel = read_large(path, find, options)  # few bytes, many rows
        if panel is None:
            raise
        return panel
    notes: list[Problem] = []
    if wide:
        given = [name for name in (assessor, score, uncertainty, confidence, level, *further) if name is not None]
        if given:
            raise InputError(
                f"A wide sheet has a column for each assessor and nothing but scores in it: leave out {given[0]!r}.",
                kind="bad_option",
            )
        table = lengthen(table, object=object, source=table.source)
        roles = Columns(object=0, assessor=1, score=2)
    else:
        roles, notes = find(table.names, table.source)
    used = used_columns(roles)
    cells = Cells(
        object=table.columns[roles.object],
        assessor=table.columns[roles.assessor],
        score=table.columns[roles.score],
        declared=None if roles.confidence is None else table.columns[roles.confidence],
        form=roles.form,
        names=tuple(table.names[index] for index in used),
        row_numbers=table.row_numbers,
        column_of=table.column_of,
        decimal_comma=table.decimal_comma,
        criterion=None if roles.criterion is None else _further(table, roles.criterion),
        covariates={
            name: _further(table, index) for name, index in zip(listed_names(covariates), roles.covariates, strict=True)
        },
    )
    return Panel.from_cells(
        cells, factor=factor, aliases=aliases, duplicates=duplicates, missing=missing, notes=[*table.notes, *notes]
    )


def _further(table: Table, index: int) -> Further:
    return Further(table.names[index], table.columns[index], index in table.categorical)


def _twice(names: Sequence[str], roles: Columns) -> list[Problem]:
    """Return notes on names of columns that stand in the header more than once."""
    further = [*([] if roles.criterion is None else [roles.criterion]), *roles.covariates]
    read = [*used_columns(roles)[2:], *further]
    twice = [names[index] for index in read if list(names).count(names[index]) > 1]
    return [
        Problem("column_twice", f"there is more than one column {name!r}: the first was read.", f"column {name}")
        for name in twice
    ]
