"""Tables as lists of plain records, ready for JSON."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

Summary = dict[str, Any]


def records_of(columns: dict[str, Any]) -> list[Summary]:
    """Return the rows of a table; what is not a finite number is None.

    Examples
    --------
    >>> records_of({"object": ["x", "y"], "value": np.array([1.5, np.nan])})
    [{'object': 'x', 'value': 1.5}, {'object': 'y', 'value': None}]
    """
    plain = {name: _cells(cells) for name, cells in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _cells(cells: Any) -> list[Any]:
    listed = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    if isinstance(cells, np.ndarray) and (cells.dtype.kind != "f" or bool(np.isfinite(cells).all())):
        return listed
    return [None if isinstance(cell, float) and not isfinite(cell) else cell for cell in listed]
