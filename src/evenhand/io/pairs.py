"""Files of labels: pairs (assessor, object), such as conflicts of interest, or a list of one side."""

from __future__ import annotations

import os
from collections.abc import Sequence

from evenhand.errors import InputError, Problem
from evenhand.io.panels import read_table
from evenhand.io.table import Cell, Table, is_blank
from evenhand.panel.graph import Side
from evenhand.panel.roles import SYNONYMS, fold
from evenhand.panel.rules import label_text


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the pairs (assessor, object) of a file with these two columns, under any name that scores files may use.

    Raises
    ------
    InputError
        If a column is missing, or a row has one label without the other.
    """
    table = read_table(path)
    columns = [_column(table, role) for role in ("assessor", "object")]
    problems = [
        Problem("empty_label", "a pair needs both an assessor and an object: fill in the other.", table.where(row))
        for row, (assessor, object_) in enumerate(zip(*columns, strict=True))
        if (assessor is None) != (object_ is None)
    ]
    if problems:
        raise InputError(problems)
    return [(label_text(a), label_text(o)) for a, o in zip(*columns, strict=True) if a is not None]


def read_labels(path: str | os.PathLike[str], side: Side) -> list[str]:
    """Return the labels of objects or of assessors that a file lists, each once, in their order.

    Raises
    ------
    InputError
        If no column has a name by which that side is recognised, or it has no label.
    """
    table = read_table(path)
    labels = list(dict.fromkeys(label_text(cell) for cell in _column(table, side) if not is_blank(cell)))
    if not labels:
        raise InputError(f"There are no {side}s in it: write one a row.", kind="empty", where=table.source)
    return labels


def _column(table: Table, side: Side) -> Sequence[Cell]:
    """Return the cells of the first column that is recognised by its name."""
    for name, cells in zip(table.names, table.columns, strict=True):
        if fold(name) in SYNONYMS[side]:
            return cells
    raise InputError(
        f"There is no column of {side}s; the columns are {', '.join(table.names)}: name one of them {side}.",
        kind="missing_column",
        where=table.source,
    )
