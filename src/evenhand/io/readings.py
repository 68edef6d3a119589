"""Whole columns read at once, as :mod:`evenhand.panel.rules` reads one cell: numbers, words for levels, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.io.portions import SPACES
from evenhand.panel.rules import label_text, parse_number

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from evenhand.io.labels import Coder

NUMBER, EMPTY, NO_NUMBER, INFINITE, LEVEL = range(5)
"""What a cell of a column of numbers turns out to be."""


@dataclass(slots=True)
class Reading:
    """A column of numbers: what each cell is, and its number where it has one.

    Attributes
    ----------
    column
        The cells.
    value
        The numbers; NaN where there is none. For a level, the power that it stands for.
    status
        One of the kinds above for every cell; None where all are numbers.
    """

    column: pl.Series
    value: NDArray[np.float64]
    status: NDArray[np.uint8] | None

    def where(self, *kinds: int) -> NDArray[np.int64]:
        """Return the positions of the cells of some kinds."""
        if self.status is None:
            return np.arange(self.value.size) if NUMBER in kinds else np.zeros(0, np.int64)
        return np.flatnonzero(np.isin(self.status, kinds))

    def text(self, position: int) -> str:
        """Return a cell as it is shown in messages."""
        return label_text(self.column[position])


def is_text(column: pl.Series) -> bool:
    """Say whether the cells of a column are texts."""
    import polars as pl

    return isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum))


def plain(column: pl.Series) -> tuple[pl.Series, bool]:
    """Return a column as texts without nulls or as numbers, and whether its cells were texts to begin with."""
    import polars as pl

    if is_text(column):
        return column.cast(pl.String).fill_null(""), True
    if isinstance(column.dtype, pl.Decimal):
        return column.cast(pl.Float64), False
    if column.dtype.is_float() or (column.dtype.is_integer() and column.dtype.to_python() is int and _fits(column)):
        return column, False
    cells = [None if cell is None else label_text(cell) for cell in column.to_list()]
    return pl.Series(cells, dtype=pl.String).fill_null(""), False


def stripped(texts: pl.Series) -> pl.Series:
    """Return texts without outer white space."""
    return texts.str.strip_chars(SPACES)


def is_empty(column: pl.Series, words: frozenset[str]) -> NDArray[np.bool_]:
    """Say of every cell whether it is empty: blank, or one of the words that mean so."""
    import polars as pl

    column, of_texts = plain(column)
    if column.dtype != pl.String:
        empty = column.is_null()
        return np.array((empty | column.is_nan().fill_null(False) if column.dtype.is_float() else empty).to_numpy())
    if not of_texts:
        return np.array((column == "").to_numpy())
    bare = stripped(column)
    return np.array(((bare == "") | bare.is_in(list(words))).to_numpy())


def read_numbers(column: pl.Series, words: frozenset[str], *, decimal_comma: bool = False) -> Reading:
    """Read a column of numbers, in which some words mean an empty cell."""
    import polars as pl

    column, of_texts = plain(column)
    if column.dtype != pl.String:
        value = np.array(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
        if np.isfinite(value).all():
            return Reading(column, value, None)
        status = np.where(np.isnan(value), EMPTY, np.where(np.isinf(value), INFINITE, NUMBER)).astype(np.uint8)
        return Reading(column, value, status)
    numbers = column.cast(pl.Float64, strict=False)
    value = np.array(numbers.to_numpy() if not numbers.null_count() else numbers.fill_null(np.nan).to_numpy())
    words = words if of_texts else frozenset()
    if any(parse_number(word) is not None for word in words):
        value[stripped(column).is_in(list(words)).to_numpy()] = np.nan
    odd = np.flatnonzero(~np.isfinite(value))
    if not odd.size:
        return Reading(column, value, None)
    status = np.zeros(value.size, np.uint8)
    kinds, kind_of = _distinct(column.gather(odd))
    found = [_read(str(text), words, decimal_comma=decimal_comma) for text in kinds]
    value[odd] = np.array([number for number, _ in found])[kind_of]
    status[odd] = np.array([kind for _, kind in found], dtype=np.uint8)[kind_of]
    return Reading(column, value, status if status.any() else None)


def read_levels(reading: Reading, powers: Mapping[str, int], *, everywhere: bool) -> Reading:
    """Find the levels among cells that are not empty; ``everywhere`` looks at cells with a number, too."""
    at = reading.where(NUMBER, NO_NUMBER, INFINITE) if everywhere else reading.where(NO_NUMBER, INFINITE)
    if not at.size:
        return reading
    kinds, kind_of = _distinct(reading.column.gather(at))
    power = [powers.get(label_text(cell).strip().casefold()) for cell in kinds]
    is_level = np.array([one is not None for one in power])[kind_of]
    if not is_level.any():
        return reading
    status = np.zeros(reading.value.size, np.uint8) if reading.status is None else reading.status
    status[at[is_level]] = LEVEL
    reading.value[at[is_level]] = np.array([0 if one is None else one for one in power], dtype=float)[kind_of][is_level]
    return Reading(reading.column, reading.value, status)


def encode(column: pl.Series, coder: Coder) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the codes of a column of labels and the positions of cells without any value."""
    import polars as pl

    none = np.zeros(0, np.int64)
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)) and not column.null_count():
        physical = column.to_physical().to_numpy()
        position = np.empty(int(physical.max(initial=0)) + 1, np.int64)
        position.fill(-1)
        position[physical[::-1]] = np.arange(physical.size - 1, -1, -1)  # the first position wins
        used = np.flatnonzero(position >= 0)
        used = used[np.argsort(position[used])]
        code = np.zeros(position.size, np.uint32)
        code[used] = coder.encode(column.gather(position[used]).cast(pl.String))
        return code[physical], none
    column, of_texts = plain(column)
    if column.dtype == pl.String:
        return coder.encode(column), (none if of_texts else np.flatnonzero((column == "").to_numpy()))
    empty = np.flatnonzero(column.is_null().to_numpy()) if column.null_count() else none
    if not column.dtype.is_float():
        return coder.encode(column.fill_null(0) if empty.size else column), empty
    value = column.fill_null(np.nan).to_numpy()
    if (np.abs(value) < 2.0**53).all() and (value == np.trunc(value)).all():
        return coder.encode(pl.Series(value.astype(np.int64)).cast(pl.String)), none
    kinds, kind_of = _distinct(pl.Series(value))
    texts = pl.Series([label_text(kind) for kind in kinds], dtype=pl.String)
    return coder.encode(texts.gather(kind_of)), np.flatnonzero(np.isnan(value))


def _read(text: str, words: frozenset[str], *, decimal_comma: bool) -> tuple[float, int]:
    bare = text.strip()
    if not bare or bare in words:
        return np.nan, EMPTY
    number = parse_number(text, decimal_comma=decimal_comma)
    if number is None:
        return np.nan, NO_NUMBER
    return number, NUMBER if np.isfinite(number) else INFINITE


def _distinct(column: pl.Series) -> tuple[list[object], NDArray[np.int64]]:
    """Return the distinct cells in order of appearance, and which of them each cell is."""
    import polars as pl

    kinds = column.unique(maintain_order=True)
    known = pl.DataFrame({"kind": kinds, "at": np.arange(len(kinds))})
    joined = pl.DataFrame({"kind": column}).join(known, on="kind", how="left", maintain_order="left", nulls_equal=True)
    return kinds.to_list(), joined["at"].to_numpy()


def _fits(column: pl.Series) -> bool:
    """Say whether whole numbers have at most 64 bits."""
    import polars as pl

    return column.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
