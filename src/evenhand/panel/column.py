"""A column of a table: its distinct cells, a code for each row, and plain numbers where there are any."""

from __future__ import annotations

import datetime
import decimal
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.words import remark

Cell = str | float | decimal.Decimal | datetime.date | datetime.time | datetime.timedelta | None
"""One cell: text, a number, a truth value, a date or time, or None where the cell is empty."""

RowCodes = NDArray[np.uint32]

CONFIRMED: Final = " (confirmed)"
"""What a correction ends in that somebody has looked at, and that is not what stands in the file."""


def is_confirmed(text: str) -> bool:
    """Return whether a correction is a number that somebody has looked at; a label may end in any words.

    Examples
    --------
    >>> is_confirmed("680 (confirmed)"), is_confirmed("Kim (confirmed)")
    (True, False)
    """
    before = text.removesuffix(CONFIRMED)
    return before != text and before.strip() != "" and not any(sign.isalpha() for sign in before)


NO_CODE: Final = 2**32 - 1
"""The code of a cell that is a plain number, or of an empty one in a column without plain numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Column(Sequence[Cell]):
    """A column as it was written, read as the sequence of its cells."""

    name: str
    cells: Sequence[Cell]
    """Its distinct cells, of which a portion of a file need not have all. The same cell may stand here twice."""
    codes: RowCodes
    """For each row the position of its cell in ``cells``; ``NO_CODE`` where the cell is a plain number."""
    numbers: Floats | None = None
    """For each row a finite number where the code is ``NO_CODE``; None where the column has no plain numbers."""
    is_categorical: bool = False
    """Whether its type says that the cells are categories, even if each of them is a number."""
    written: Callable[[int], Cell] | None = None
    """Tells for a row how a plain number was written; None where it says no more than the number."""

    def __len__(self) -> int:
        return int(self.codes.size)

    @overload
    def __getitem__(self, row: int) -> Cell: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Cell]: ...
    def __getitem__(self, row: int | slice) -> Cell | Sequence[Cell]:
        if isinstance(row, slice):
            return [self[at] for at in range(len(self))[row]]
        code = int(self.codes[row])
        if code != NO_CODE:
            return self.cells[code]
        if self.numbers is None:
            return None
        return float(self.numbers[row]) if self.written is None else self.written(int(row))

    def __iter__(self) -> Iterator[Cell]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Column | list | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list: compared by content

    def take(self, rows: NDArray[np.integer[Any]]) -> Column:
        """Return the column of some of the rows."""
        written = self.written
        return Column(
            self.name,
            self.cells,
            self.codes[rows],
            None if self.numbers is None else self.numbers[rows],
            self.is_categorical,
            None if written is None else lambda row: written(int(rows[row])),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one file, sheet or frame, or of a portion of it, with what is needed to say where a cell stands."""

    names: tuple[str, ...]
    """Header cells as text, as the user wrote them, without outer white space. A name may stand twice."""
    columns: tuple[Column, ...]
    row_numbers: NDArray[np.int64]
    """The number by which the user knows each row."""
    source: str
    """What to call the table in messages, such as ``"scores.csv"`` or ``"scores.xlsx, sheet Scores"``."""
    decimal_comma: bool = False
    """Whether numbers that are text use a comma as decimal mark."""
    notes: tuple[Problem, ...] = ()
    """What a reader of the file should know, such as blank rows that were left out."""
    headers: Column | None = None
    """For each row the heading under which its score stands, where scores stand under several."""

    notes_on_numbers: Callable[[Sequence[int]], Sequence[Problem]] | None = None
    """Tells what a reader should know of some columns if these are read as numbers."""

    def __len__(self) -> int:
        return int(self.row_numbers.size)

    @property
    def cells(self) -> Sequence[Sequence[Cell]]:
        """All cells, one by one, by column."""
        return tuple(map(list, self.columns))

    def corrected(self, corrections: Mapping[str, str]) -> Table:
        """Return the table with other cells: ``{"26:Ito": "80"}`` is row 26 under the heading Ito, empty if blank.

        A row after the last one of which several cells are given is a new one. ``"680 (confirmed)"`` is 680, and that
        somebody has looked at it.
        """
        if not corrections:
            return self
        added = self._added(corrections)
        numbers = [*self.row_numbers.tolist(), *added]
        rows = {number: at for at, number in enumerate(numbers)}
        columns = [[*column, *[None] * len(added)] for column in self.columns]
        changed = set(range(len(columns))) if added else set()
        for place, text in corrections.items():
            row, _, name = place.partition(":")
            if not row.isdecimal() or int(row) not in rows or name not in self.names:
                message = remark(
                    "There is no cell in row {row} under {column} to correct: a place is ROW:COLUMN.",
                    row=row,
                    column=repr(name),
                )
                raise InputError(message, kind="bad_option", where=self.source)
            column = self.names.index(name)
            columns[column][rows[int(row)]] = (
                text.removesuffix(CONFIRMED) if is_confirmed(text) else text
            ).strip() or None
            changed.add(column)
        return replace(
            self,
            columns=tuple(
                factorise(one.name, columns[at], is_categorical=one.is_categorical) if at in changed else one
                for at, one in enumerate(self.columns)
            ),
            row_numbers=np.array(numbers, dtype=np.int64) if added else self.row_numbers,
        )

    def _added(self, corrections: Mapping[str, str]) -> list[int]:
        """Return the rows after the last one of which several cells are given: a single one is a slip of the number."""
        if self.headers is not None or not len(self):
            return []
        given = Counter(row for row, _, name in (place.partition(":") for place in corrections) if name in self.names)
        last = int(self.row_numbers.max())
        return sorted(int(row) for row, cells in given.items() if cells > 1 and row.isdecimal() and int(row) > last)

    def settled(self, corrections: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Return the places of corrections that say what stands there already, and what the others change, in words."""
        before, after = self.columns, self.corrected(corrections).columns
        rows = {str(number): at for at, number in enumerate([*self.row_numbers.tolist(), *self._added(corrections)])}
        confirmed, changed = [], []
        for place, text in corrections.items():
            row, _, name = place.partition(":")
            column, at = self.names.index(name), rows[str(int(row))]
            one, other = before[column][at] if at < len(self) else None, after[column][at]
            if one is not None and other is not None and _is_same(one, str(other)):
                confirmed.append(place)
            else:
                confirmed += [place] if is_confirmed(text) else []
                cells = [remark("empty") if cell is None else str(cell).strip() for cell in (one, other)]
                where = remark("row {row}, column {name}", row=int(row), name=name)
                changed.append(
                    remark("{where}: {before} is read as {after}", where=where, before=cells[0], after=cells[1])
                )
        return confirmed, changed

    def where(self, row: int, column: str | None = None) -> str:
        """Say where a cell is, in words that can be followed in the file, such as ``"row 5, column Score"``.

        Where scores stand under several headings, it is the heading of the row's score.
        """
        named = column if self.headers is None else self.headers[row]
        return f"row {self.row_numbers[row]}" + (f", column {named}" if named else "")


def _is_same(cell: Cell, text: str) -> bool:
    """Whether a cell says what a text says: in the same words, or as the same number."""
    try:
        return str(cell).strip() == text or float(str(cell)) == float(text)
    except ValueError:
        return False


class Coder:
    """Gives each distinct cell a code, in order of first appearance, by a dictionary.

    Examples
    --------
    >>> coder = Coder()
    >>> coder.encode(["b", 1, "b", True]).tolist(), coder.cells
    ([0, 1, 0, 2], ['b', 1, True])
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self._codes: dict[object, int] = {}

    def encode(self, cells: Sequence[Cell]) -> RowCodes:
        """Return the codes of some cells."""
        keys: Sequence[object] = cells if set(map(type, cells)) <= {str, type(None)} else list(map(_key, cells))
        known = self._codes
        for key, cell in dict(zip(keys, cells, strict=True)).items():
            if key not in known:
                known[key] = len(self.cells)
                self.cells.append(cell)
        return np.fromiter(map(known.__getitem__, keys), np.uint32, len(keys))


def _key(cell: Cell) -> object:
    """Return what tells a cell apart from all others: 1, 1.0 and True are equal and still three different cells."""
    if cell is None or type(cell) is str:
        return cell
    if isinstance(cell, float) and (cell == 0 or math.isnan(cell)):
        return type(cell), repr(cell)  # zeros of either sign, and NaN, which equals nothing
    return type(cell), comparable(cell)


def comparable(cell: object) -> object:
    """Return a cell, or what stands for a structure, which cannot be looked up: all of these are different."""
    try:
        hash(cell)
    except TypeError:
        return object, id(cell)
    return cell


class Coders:
    """Makes columns of lists of cells, portion by portion."""

    def __init__(self, names: Sequence[str]) -> None:
        self._coders = [(name, Coder()) for name in names]

    def columns(self, parts: Sequence[Sequence[Cell]]) -> tuple[Column, ...]:
        """Return the columns of a portion."""
        both = zip(self._coders, parts, strict=True)
        return tuple(Column(name, coder.cells, coder.encode(part)) for (name, coder), part in both)


def factorise(name: str, cells: Sequence[Cell], *, is_categorical: bool = False) -> Column:
    """Return a column of cells that are there one by one."""
    coder = Coder()
    return Column(name, coder.cells, coder.encode(cells), is_categorical=is_categorical)


def of_numbers(name: str, numbers: Floats) -> Column:
    """Return a column of numbers, in which NaN means an empty cell."""
    codes = np.full(numbers.size, NO_CODE, np.uint32)
    odd = np.flatnonzero(~np.isfinite(numbers))
    coder = Coder()
    codes[odd] = coder.encode([None if math.isnan(number) else number for number in numbers[odd].tolist()])
    return Column(name, coder.cells, codes, numbers)


class Vocabulary(Sequence[Cell]):
    """Distinct cells of a very large file, kept outside Python: texts or whole numbers, never both."""

    @abstractmethod
    def labels(self, order: NDArray[np.integer[Any]]) -> Sequence[str]:
        """Return the cells at some positions as labels."""


class Numbered(Sequence[str]):
    """Labels ``"0"``, ``"1"``, ... of a panel without labels, made when asked for.

    Examples
    --------
    >>> Numbered(3)[2]
    '2'
    """

    __slots__ = ("_count",)

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        numbers = range(self._count)[index]
        return str(numbers) if isinstance(numbers, int) else [str(number) for number in numbers]
