"""A file of pairs (assessor, object), such as conflicts of interest."""

from __future__ import annotations

import os

from evenhand.cells import label_text
from evenhand.columns import SYNONYMS, fold
from evenhand.errors import InputError, Problem
from evenhand.io.files import read_table


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the pairs (assessor, object) of a file with these two columns, under any name that scores files may use.

    Raises
    ------
    InputError
        If a column is missing, or a row has one label without the other.
    """
    table = read_table(path)
    folded = [fold(name) for name in table.names]
    columns = []
    for role in ("assessor", "object"):
        found = [index for index, name in enumerate(folded) if name in SYNONYMS[role]]
        if not found:
            raise InputError(
                f"There is no column of {role}s; the columns are {', '.join(table.names)}: name one of them {role}.",
                kind="missing_column",
                where=table.source,
            )
        columns.append(table.columns[found[0]])
    problems = [
        Problem("empty_label", "a pair needs both an assessor and an object: fill in the other.", table.where(row))
        for row, (assessor, object_) in enumerate(zip(*columns, strict=True))
        if (assessor is None) != (object_ is None)
    ]
    if problems:
        raise InputError(problems)
    return [(label_text(a), label_text(o)) for a, o in zip(*columns, strict=True) if a is not None]
