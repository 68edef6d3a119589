"""The columns of a panel portion by portion: what each distinct cell is, found out once, and where a bad one stands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand import memory
from evenhand.errors import Problem
from evenhand.panel.column import NO_CODE, Cell, Codes, Column, Vocabulary
from evenhand.panel.rules import FINITE, INFINITE, NO_NUMBER, Judged, Numbers, is_empty, label_text


class Growing:
    """An array that takes further numbers at its end, in the place where it is.

    Room that is never used takes no memory, and the whole never stands beside its parts: 100 million assessments take
    1.5 GiB on the way, where parts joined at the end take 2.2 GiB.

    Examples
    --------
    >>> column = Growing(np.float64)
    >>> column.extend(np.array([1.0, 2.0]))
    >>> column.extend(np.array([3.0]))
    >>> column.taken()
    array([1., 2., 3.])
    """

    __slots__ = ("_array", "_size")

    def __init__(self, dtype: type[np.generic], room: int = 0) -> None:
        self._array: NDArray[Any] = np.empty(room, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, numbers: NDArray[Any]) -> None:
        """Take numbers at the end."""
        end = self._size + numbers.size
        if end > self._array.size:
            self._array.resize(max(end, self._array.size + self._array.size // 8), refcheck=False)
        self._array[self._size : end] = numbers
        self._size = end

    def view(self) -> NDArray[Any]:
        """Return the numbers taken so far, to be read before the next are taken."""
        return self._array[: self._size]

    def taken(self) -> NDArray[Any]:
        """Return all numbers as one array, and begin anew."""
        array, self._array = self._array, np.empty(0, self._array.dtype)
        array.resize(self._size, refcheck=False)
        self._size = 0
        return array


class Place(NamedTuple):
    """A cell and where it is: by its order among the assessments, its row number, and in words."""

    order: int
    cell: Cell
    number: int
    where: str


class Portion(NamedTuple):
    """Rows of a file that hold a score: their columns, their numbers, and how many came before."""

    columns: tuple[Column, ...]
    numbers: NDArray[np.int64]
    start: int
    decimal_comma: bool

    def place(self, position: int, row: int, header: Cell = None) -> Place:
        """Return a cell of a row, which stands under a heading of its own where one is given."""
        column = self.columns[position]
        name = column.name if header is None else header
        number = int(self.numbers[row])
        return Place(self.start + row, column[row], number, f"row {number}, column {name}")

    def first(self, position: int, rows: NDArray[np.int64]) -> Place | None:
        """Return the first of some cells of a column."""
        return self.place(position, int(rows[0])) if rows.size else None


class SideLabels:
    """Labels of one side: which cells are empty, which label each other cell is, and the codes of all assessments."""

    _UNSEEN, _LEFT_OUT, _BLANK = NO_CODE, NO_CODE - 1, NO_CODE - 2

    def __init__(self, words: frozenset[str], rows: int) -> None:
        self._words = words
        self._cells: Sequence[Cell] = ()
        self._label_of = np.zeros(0, np.uint32)
        self._known: dict[str, int] = {}
        self._order = Growing(np.int64)
        self._in_step = True
        self._codes = Growing(np.uint32, rows)

    def take(self, column: Column) -> NDArray[np.int64]:
        """Take the labels of assessments, and return the positions of those that are empty."""
        if self._in_step and isinstance(column.cells, Vocabulary) and column.codes.max() < NO_CODE:
            done = self._label_of.size
            self._judge(column.cells)
            self._in_step = not (self._label_of[done:] == self._BLANK).any()
            if self._in_step:  # every cell so far is a label, in order of first appearance
                new = np.arange(done, self._label_of.size)
                self._label_of[done:] = new
                self._order.extend(new)
                self._codes.extend(column.codes)
                return np.zeros(0, np.int64)
        self._in_step = False
        label = self._look(column)
        new = np.flatnonzero(label >= self._LEFT_OUT)
        if new.size:
            codes = column.codes[new]
            first = np.full(self._label_of.size, -1, np.int64)
            first[codes[::-1]] = np.arange(codes.size)[::-1]  # where a cell stands twice, the first remains
            cells = np.flatnonzero(first >= 0)
            self._name(cells[np.argsort(first[cells])])
            label[new] = self._label_of[codes]
        blank = np.flatnonzero(label == self._BLANK)
        label[blank] = 0
        self._codes.extend(label)
        return blank

    def leave_out(self, column: Column) -> NDArray[np.bool_]:
        """Look at the labels of rows without a score, and say which are empty."""
        self._in_step = False
        label = self._look(column)
        self._label_of[column.codes[label == self._UNSEEN]] = self._LEFT_OUT
        return np.asarray(label == self._BLANK)

    def labels(self) -> Sequence[str]:
        """Return the labels in the order of their codes."""
        if isinstance(self._cells, Vocabulary):
            return self._cells.labels(self._order.view())
        return tuple(self._known)

    def taken(self) -> Codes:
        """Return the codes of all assessments, and forget everything."""
        self._cells, self._known, self._label_of = (), {}, np.zeros(0, np.uint32)
        return self._codes.taken()

    def lost(self) -> list[str]:
        """Return the labels that occur only in rows without a score."""
        cells = np.flatnonzero(self._label_of == self._LEFT_OUT).tolist()
        texts = dict.fromkeys(label_text(self._cells[cell]) for cell in cells)
        return [text for text in texts if text not in self._known]

    def _look(self, column: Column) -> Codes:
        """Return what is known of the label of each row, once new cells have been looked at."""
        self._judge(column.cells)
        if column.codes.max(initial=0) < NO_CODE:
            return self._label_of[column.codes]
        return np.append(self._label_of, np.uint32(self._BLANK))[np.minimum(column.codes, self._label_of.size)]

    def _judge(self, cells: Sequence[Cell]) -> None:
        """Look at new cells: which are empty."""
        self._cells = cells
        if fresh := cells[self._label_of.size :]:
            blank = [
                (not (bare := cell.strip()) or bare in self._words)
                if type(cell) is str
                else is_empty(cell, self._words)
                for cell in fresh  # as `is_empty`, written out because it runs for every label
            ]
            status = np.where(blank, self._BLANK, self._UNSEEN).astype(np.uint32)
            self._label_of = np.concatenate([self._label_of, status])

    def _name(self, cells: NDArray[np.int64]) -> None:
        """Give cells their labels; different cells may have the same."""
        if isinstance(self._cells, Vocabulary):
            self._label_of[cells] = np.arange(len(self._order), len(self._order) + cells.size)
            self._order.extend(cells)
        else:
            for cell in cells.tolist():
                self._label_of[cell] = self._known.setdefault(label_text(self._cells[cell]), len(self._known))


class Further:
    """A criterion or a covariate: numbers, and the codes of cells in case they are categories."""

    def __init__(self, name: str, words: frozenset[str]) -> None:
        self.name = name
        self.column = name
        self.is_categorical = False
        self.has_numbers = False
        self.is_lost = False
        self.word: Place | None = None
        self.if_numbers = Faults(None)
        self.numbers = Growing(np.float64)
        self._cells_read = Numbers(words, truth=True)
        self._cells: Sequence[Cell] = ()
        self._codes = Growing(np.uint32)
        self._has_plain = False

    def take(self, portion: Portion, position: int) -> Judged:
        """Take a portion of the column; ``is_lost`` says that it is one of categories whose texts were not kept."""
        column = portion.columns[position]
        reading = self._cells_read.read(column, portion.decimal_comma)
        self.column, self.is_categorical, self._cells = column.name, column.is_categorical, column.cells
        self.word = self.word or portion.first(position, reading.where(NO_NUMBER))
        self.has_numbers = self.has_numbers or bool(reading.where(FINITE, INFINITE).size)
        self._has_plain = self._has_plain or (column.numbers is not None and bool((column.codes == NO_CODE).any()))
        self.is_lost = self._has_plain and self.word is not None
        self.numbers.extend(reading.value)
        if not self._has_plain:
            self._codes.extend(column.codes)
        return reading

    def texts(self) -> tuple[NDArray[np.str_], list[str]]:
        """Return the cells as text without outer white space, and the distinct texts in order of appearance."""
        cells, first, place = np.unique(self._codes.taken(), return_index=True, return_inverse=True)
        texts = [label_text(self._cells[cell]).strip() for cell in cells.tolist()]
        memory.require(4 * max(map(len, texts)) * place.size, f"the texts in column {self.column}")
        return np.array(texts, dtype=np.str_)[place], list(
            dict.fromkeys(texts[at] for at in np.argsort(first).tolist())
        )


class Faults:
    """Problems found: the first of them with their order, all of them counted."""

    def __init__(self, most: int | None) -> None:
        self._most = sys.maxsize if most is None else most
        self._start, self._before = 0, 0
        self.listed: list[tuple[int, int, Problem]] = []
        self.count = 0

    def add(
        self,
        portion: Portion,
        position: int,
        rows: NDArray[np.int64],
        kind: str,
        message: str | Callable[[int], str],
        headers: Column | None = None,
        order: int | None = None,
    ) -> None:
        """Take down what is wrong with one column in some rows; ``headers`` say the column of a wide sheet."""
        if not rows.size:
            return
        self.count += rows.size
        if portion.start != self._start:
            self._start, self._before = portion.start, len(self.listed)
        if self._before >= self._most:
            return
        for row in rows[: self._most].tolist():
            place = portion.place(position, row, None if headers is None else headers[row])
            said = message if isinstance(message, str) else message(row)
            self.listed.append((place.order, position if order is None else order, Problem(kind, said, place.where)))


class RowNumbers:
    """Row numbers of all assessments, kept as runs without a gap."""

    def __init__(self) -> None:
        self._size = 0
        self._next = -1
        self._starts = Growing(np.int64)
        self._numbers = Growing(np.int64)

    def add(self, numbers: NDArray[np.int64]) -> None:
        """Take the numbers of some rows."""
        begins = np.flatnonzero(np.diff(numbers, prepend=self._next - 1) != 1)
        self._starts.extend(self._size + begins)
        self._numbers.extend(numbers[begins])
        self._size += numbers.size
        self._next = int(numbers[-1]) + 1

    def of(self, positions: NDArray[np.int64]) -> list[int]:
        """Return the numbers of some assessments."""
        starts, numbers = self._starts.view(), self._numbers.view()
        run = np.searchsorted(starts, positions, side="right") - 1
        found: list[int] = (numbers[run] + positions - starts[run]).tolist()
        return found
