"""Tables as frames of any kind, what comes in as pandas going out as pandas, and as plain records."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    import narwhals as nw

Backend = Literal["polars", "pandas", "pyarrow"]
"""A kind of frame."""

DEFAULT_BACKEND: Final = "polars"
"""The kind of frame that panels from files and arrays give."""


def read_columns(frame: object, names: Sequence[str]) -> list[list[Any]]:
    """Return columns of a frame as lists in which every missing cell is None."""
    native = _eager(frame)
    place = {str(name): name for name in native.columns}
    return [[None if is_missing(cell) else cell for cell in native.get_column(place[name]).to_list()] for name in names]


def plain_numbers(frame: object, name: str) -> NDArray[np.float64] | None:
    """Return a column of numbers of which none is missing as an array; None for any other column."""
    native = _eager(frame)
    column = native.get_column(next(own for own in native.columns if str(own) == name))
    if not (column.dtype.is_float() or column.dtype.is_integer()) or column.null_count():
        return None
    return np.array(column.to_numpy(), dtype=np.float64)


def categorical_columns(frame: object) -> set[str]:
    """Return the names of the columns whose type says that they hold categories, whatever these look like."""
    import narwhals as nw

    return {str(name) for name, kind in _eager(frame).schema.items() if kind in (nw.Categorical, nw.Enum)}


def column_names(frame: object) -> list[str]:
    """Return the names of a frame's columns."""
    return [str(name) for name in _eager(frame).columns]


def backend_of(frame: object) -> Backend:
    """Return the kind of frame, ``"pandas"``, ``"polars"`` or ``"pyarrow"``; any other comes back as polars."""
    kinds: dict[str, Backend] = {"PANDAS": "pandas", "PYARROW": "pyarrow"}
    return kinds.get(_eager(frame).implementation.name, DEFAULT_BACKEND)


def make_frame(columns: Mapping[str, Any], backend: Backend = DEFAULT_BACKEND) -> Any:
    """Return a native frame of the given kind from columns of equal length.

    A column whose cells are all None becomes a column of missing numbers.
    """
    if importlib.util.find_spec(backend) is None:
        raise MissingPackageError(backend, "A table as a frame", backend)
    import narwhals as nw

    frame = nw.from_dict(dict(columns), backend=backend)
    empty = [name for name, cells in columns.items() if all(cell is None for cell in cells)]
    return frame.with_columns(nw.col(*empty).cast(nw.Float64())).to_native() if empty else frame.to_native()


def records_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
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
    return [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in listed]


def _eager(frame: object) -> nw.DataFrame[Any]:
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            "The frame has two columns of the same name: rename one of them.", kind="duplicate_column"
        ) from error
    except TypeError as error:
        raise InputError(
            f"A {type(frame).__name__} is not a frame that can be read: give a pandas, polars or pyarrow table "
            "(collect a lazy one first).",
            kind="not_a_frame",
        ) from error


def is_missing(cell: object) -> bool:
    """Say whether a cell holds nothing: None, NaN, or what pandas writes for them."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in {"NAType", "NaTType"}
    )
