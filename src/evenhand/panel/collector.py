"""From columns to checked assessments: takes them portion by portion, and says everything that is wrong."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand import memory
from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.panel.column import NO_CODE, Cell, Column, RowCodes, Table, Vocabulary
from evenhand.panel.confidence import Declared, Form, FormHint, level_words, precision_of_uncertainty
from evenhand.panel.entries import Entries, settle_duplicates
from evenhand.panel.headings import plain_text
from evenhand.panel.layout import Roles
from evenhand.panel.rules import (
    EMPTY,
    FINITE,
    INFINITE,
    LEVEL,
    NO_NUMBER,
    Judged,
    Numbers,
    ReadOptions,
    is_empty,
    label_place,
    label_text,
    no_score,
    odd_labels,
    quote,
    shortened,
)
from evenhand.words import argument, chained, name_some, remark


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
    """A cell and where it is: by its order among the assessments, its row number, and the heading above it."""

    order: int
    cell: Cell
    number: int
    name: Cell

    @property
    def where(self) -> str:
        """The place in words."""
        return remark("row {row}, column {name}", row=self.number, name=self.name)


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
        return Place(self.start + row, column[row], number, name)

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

    def taken(self) -> RowCodes:
        """Return the codes of all assessments, and forget everything."""
        self._cells, self._known, self._label_of = (), {}, np.zeros(0, np.uint32)
        return self._codes.taken()

    def lost(self) -> list[str]:
        """Return the labels that occur only in rows without a score."""
        cells = np.flatnonzero(self._label_of == self._LEFT_OUT).tolist()
        texts = dict.fromkeys(label_text(self._cells[cell]) for cell in cells)
        return [text for text in texts if text not in self._known]

    def _look(self, column: Column) -> RowCodes:
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


def _where(judged: Judged, *kinds: int) -> NDArray[np.int64]:
    """Return the positions of the cells that turned out to be of some kinds."""
    if judged.status is None:
        return np.arange(judged.value.size) if FINITE in kinds else np.zeros(0, np.int64)
    return np.flatnonzero(judged.status == kinds[0] if len(kinds) == 1 else np.isin(judged.status, kinds))


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
        self.word = self.word or portion.first(position, _where(reading, NO_NUMBER))
        self.has_numbers = self.has_numbers or bool(_where(reading, FINITE, INFINITE).size)
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
        message: Callable[[int], str],
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
            problem = Problem(kind, message(row), place.where)
            self.listed.append((place.order, position if order is None else order, problem))


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


_MOST_NAMED: Final = 7
"""One more than the rows that a note names."""


class ReadAgainError(Exception):
    """What was read shows that the file is to be read in another way, which has been noted, from its beginning."""


_NUMBERED: Final = 20_000
"""Up to this many assessments are kept with the rows in which they stand, for those who look for one."""


class Collector:
    """Takes the columns of a panel portion by portion, and gives the checked assessments at the end.

    ``covariates`` are the names that the panel is to have for them, ``rows`` how many are to be expected, as far as
    that is known, and ``most_problems`` how many are listed (None for all). ``categories`` are covariates that are
    known to be categories; one that turns out to be is added, and reading begins anew.
    """

    def __init__(
        self,
        roles: Roles,
        options: ReadOptions,
        covariates: Sequence[str] = (),
        *,
        rows: int = 0,
        most_problems: int | None = None,
        categories: set[str] | None = None,
    ) -> None:
        self._options, self._most = options, most_problems
        self._hint: FormHint = roles.form if roles.confidence is not None else "none"
        self._powers: Mapping[str, float] = level_words(options.aliases)
        words = frozenset(word.strip() for word in options.missing)
        self._sides = SideLabels(words, rows), SideLabels(words, rows)
        self._score = Growing(np.float64, rows)
        self._precision = Growing(np.float64, rows if self._hint != "none" else 0)
        scores = {plain_text(word): number for word, number in (options.scores or {}).items()}
        self._score_cells = Numbers(words, scores=scores, as_written=True)
        self._declared_cells = Numbers(words, self._powers if "level" in self._hint else {}, as_written=True)
        self._criterion = None if roles.criterion is None else Further("criterion", words)
        self._covariates = [Further(name, words) for name in covariates]
        self._categories = set() if categories is None else categories
        self._row_numbers = RowNumbers()
        self._found, self._if_levels, self._if_words, self._if_numbers = (Faults(most_problems) for _ in range(4))
        self.declared = Declared(self._hint, options.level_scale)
        self._first_level: Place | None = None
        self._first_number: Place | None = None
        self._score_name = ""
        self._has_headers = False
        self._rows = 0
        self._not_assessed: tuple[int, list[int]] = 0, []
        self._said: Counter[str] = Counter()
        self.left_out = 0

    @property
    def size(self) -> int:
        """Number of assessments taken so far."""
        return len(self._score)

    @property
    def form(self) -> Form:
        """The form that the declared cells turned out to have."""
        return self.declared.form

    def add(self, table: Table) -> None:
        """Take a portion of rows: columns of objects, assessors, scores and what else is used, in this order."""
        columns, numbers = table.columns, table.row_numbers
        headers = table.headers
        self._score_name, self._rows = columns[2].name, self._rows + numbers.size
        self._has_headers = headers is not None
        score = self._score_cells.read(columns[2], table.decimal_comma)
        absent = _where(score, EMPTY)
        if absent.size:
            self._leave_out(columns, absent, numbers)
            kept = np.delete(np.arange(numbers.size), absent)
            columns, numbers = tuple(column.take(kept) for column in columns), numbers[kept]
            headers = None if headers is None else headers.take(kept)
            score = Judged(score.value[kept], None if score.status is None else score.status[kept])
        if not numbers.size:
            return
        portion = Portion(columns, numbers, self.size, table.decimal_comma)
        missing: tuple[Callable[[int], str], ...] = (
            lambda _: remark("the object is missing although there is a score: write its label, or empty the score."),
            lambda _: remark("the assessor is missing although there is a score: write its label, or empty the score."),
        )
        for position, side in enumerate(self._sides):
            self._found.add(portion, position, side.take(columns[position]), "empty_label", missing[position])
        self._check_scores(portion, score, headers)
        if self._hint != "none":
            self._check_declared(portion)
        self._check_further(portion)
        self._row_numbers.add(numbers)
        self._score.extend(score.value)

    def problems(self) -> tuple[list[Problem], int]:
        """Return what is wrong, in the order of the data and as far as it is listed, and how much that is in all."""
        mixed = self._mixed()
        found = [self._found, *(one.if_numbers for one in self._covariates if one.word is None)]
        if mixed is None:
            found.append(self._if_levels if self.form == "level" else self._if_numbers)
            if self._hint == "level" and self.declared.steps is None:
                found.append(self._if_words)
        listed = [problem for one in found for problem in one.listed] + ([] if mixed is None else [mixed])
        total = sum(one.count for one in found) + (mixed is not None)
        return [problem for *_, problem in sorted(listed, key=lambda item: item[:2])][: self._most], total

    def entries(self) -> Entries:
        """Return all assessments taken, or refuse them with everything that is wrong."""
        if not self.size:
            raise no_score(self._place() if self._rows and not self._has_headers else None)
        problems, total = self.problems()
        if problems:
            raise shortened(problems, total, self._most)
        self._refuse_mixed_scales()
        criterion, covariates, further_notes = self._further()
        objects, assessors = self.labels()
        notes = [*self._notes(objects, assessors), *further_notes]
        object_index, assessor_index, score, raw = self.arrays()
        turned = None
        if self._options.best == "lowest":
            turned = float(score.min() + score.max())
            score = turned - score
            message = remark(
                "the lowest score is the best: scores are turned around, and a value v is the mark {total} - v.",
                total=f"{turned:g}",
            )
            notes.append(Problem("turned", message, None if self._has_headers else self._place()))
        entries = Entries(
            objects=objects,
            assessors=assessors,
            object_index=object_index,
            assessor_index=assessor_index,
            score=score,
            precision=self.declared.precision(raw, self._options.factor),
            form=self.declared.form,
            notes=tuple(notes),
            steps=self.declared.steps,
            level_words={
                word: rank / max(1, self.declared.rank or 0) for word, rank in self._declared_cells.said.items()
            },
            score_words=self._score_cells.said,
            criterion=criterion,
            covariates=covariates,
            rows=np.array(self._row_numbers.of(np.arange(score.size))) if score.size <= _NUMBERED else None,
            turned=turned,
        )
        return settle_duplicates(entries, self._options.duplicates, self._row_numbers.of, self._most)

    def _place(self) -> str:
        """Return where the scores stand."""
        return remark("column {name}", name=self._score_name)

    def labels(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the labels of objects and of assessors, in the order of their codes."""
        return self._sides[0].labels(), self._sides[1].labels()

    def arrays(self) -> tuple[RowCodes, RowCodes, Floats, Floats]:
        """Return codes of objects and of assessors, scores and what was declared, which are forgotten here.

        What was declared are precisions, or levels that :attr:`declared` turns into precisions.
        """
        object_index, assessor_index = (side.taken() for side in self._sides)
        score = self._score.taken()
        raw = np.broadcast_to(np.float64(1.0), score.shape).view()
        if self._hint != "none":
            raw = self._precision.taken()
        return object_index, assessor_index, score, raw

    def _leave_out(self, columns: Sequence[Column], rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Take down rows without a score."""
        self.left_out += rows.size
        blank = [side.leave_out(column.take(rows)) for side, column in zip(self._sides, columns, strict=False)]
        for code, times in zip(*np.unique(columns[2].codes[rows], return_counts=True), strict=True):
            if code != NO_CODE and not is_empty(cell := columns[2].cells[code]):
                self._said[label_text(cell).strip()] += int(times)
        labelled = numbers[rows[~(blank[0] & blank[1])]]
        count, first = self._not_assessed
        self._not_assessed = count + labelled.size, first + labelled[: _MOST_NAMED - len(first)].tolist()

    def _check_scores(self, portion: Portion, score: Judged, headers: Column | None) -> None:
        column = portion.columns[2]

        def no_number(row: int) -> str:
            return remark(
                "the score {cell} is not a number: correct it, or leave the cell empty if it was not assessed "
                "({missing} names words for that).",
                cell=quote(column[row]),
                missing=argument("missing"),
            )

        def infinite(row: int) -> str:
            return remark("the score {cell} is not finite: write a finite number.", cell=quote(column[row]))

        self._found.add(portion, 2, _where(score, NO_NUMBER), "bad_score", no_number, headers)
        self._found.add(portion, 2, _where(score, INFINITE), "bad_score", infinite, headers)

    def _check_declared(self, portion: Portion) -> None:
        """Read confidences, both as levels and as numbers where it is open what they are."""
        column, hint = portion.columns[3], self._hint
        reading = self._declared_cells.read(column, portion.decimal_comma)

        def missing(_: int) -> str:
            return remark(
                "there is a score but no confidence: fill it in, or leave the whole column out to weigh all alike."
            )

        self._found.add(portion, 3, _where(reading, EMPTY), "empty_confidence", missing)
        if "level" in hint:
            self._first_level = self._first_level or portion.first(3, _where(reading, LEVEL))
            self._first_number = self._first_number or portion.first(3, _where(reading, FINITE, INFINITE))
            numbers, ranks = _where(reading, FINITE), _where(reading, LEVEL)
            self.declared = self.declared.seen(reading.value[numbers], reading.value[ranks])

        def unknown(row: int) -> str:
            return remark(
                "{cell} is not a known level: use high, medium or low (h, m, l), or give its meaning ({aliases}).",
                cell=quote(column[row]),
                aliases=argument("aliases", {"WORD": "LEVEL"}),
            )

        odd = (NO_NUMBER,) if hint == "level" else (NO_NUMBER, INFINITE)
        self._if_levels.add(portion, 3, _where(reading, *odd), "unknown_level", unknown)
        if hint == "level":
            self._if_words.add(portion, 3, _where(reading, FINITE, INFINITE), "unknown_level", unknown)
            self._precision.extend(reading.value)
            return
        form = "uncertainty" if "uncertainty" in hint else "confidence"

        def no_number(row: int) -> str:
            is_level = plain_text(label_text(column[row])) in self._powers
            return remark(
                "the {form} {cell} is not a number (a column of levels is given as level)."
                if is_level
                else "the {form} {cell} is not a number.",
                **named(row),
            )

        def named(row: int) -> dict[str, str]:
            return {"form": remark(form), "cell": quote(column[row])}

        def not_positive(row: int) -> str:
            return remark("the {form} {cell} must be a positive, finite number.", **named(row))

        def too_extreme(row: int) -> str:
            return remark("the {form} {cell} is too extreme to compute with.", **named(row))

        number = (
            np.ones(len(column), np.bool_) if reading.status is None else np.isin(reading.status, (FINITE, INFINITE))
        )
        with np.errstate(invalid="ignore"):
            usable = (reading.value > 0) & np.isfinite(reading.value)
            precision = precision_of_uncertainty(reading.value) if form == "uncertainty" else reading.value
            extreme = ~np.isfinite(precision) | (precision < np.finfo(float).tiny)
        wrong, kind = self._if_numbers, f"bad_{form}"
        wrong.add(portion, 3, _where(reading, NO_NUMBER), kind, no_number)
        wrong.add(portion, 3, np.flatnonzero(number & ~usable), kind, not_positive)
        wrong.add(portion, 3, np.flatnonzero(number & usable & extreme), kind, too_extreme)
        if reading.status is not None:
            precision = np.where(reading.status == LEVEL, reading.value, precision)
        self._precision.extend(precision)

    def _mixed(self) -> tuple[int, int, Problem] | None:
        """Return what is wrong with a column that has levels and numbers."""
        if self._first_level is None or self._first_number is None or self._hint == "level":
            return None
        one, other = sorted((self._first_level, self._first_number), key=lambda place: place.order)
        message = remark(
            "levels are mixed with numbers ({cell} in row {row}, {other} here): use one or the other in the whole "
            "column.",
            cell=quote(one.cell),
            row=one.number,
            other=quote(other.cell),
        )
        return other.order, 3, Problem("mixed_confidence", message, other.where)

    def _refuse_mixed_scales(self) -> None:
        """Refuse scores that say that they are out of different numbers."""
        scales = sorted(map(str, self._score_cells.scales - {None}))
        if len(scales) > 1 or ("%" in scales and None in self._score_cells.scales and self._score.view().min() <= 1):
            named = [
                remark("in %") if one == "%" else remark("out of {most}", most=f"{float(one):g}") for one in scales
            ]
            message = remark(
                "scores {scales} stand in one column: write all on one scale, or say what each means ({scores}).",
                scales=chained(named) if len(scales) > 1 else remark("in % and shares of 1"),
                scores=argument("scores"),
            )
            raise InputError(message, kind="mixed_scale", where=self._place())

    def _check_further(self, portion: Portion) -> None:
        """Take the criterion and the covariates of a portion."""
        at = len(portion.columns) - len(self._covariates)
        if self._criterion is not None:

            def missing(_: int) -> str:
                return remark(
                    "the criterion is missing although there is a score: write which one it is for, or empty the score."
                )

            empty = _where(self._criterion.take(portion, at - 1), EMPTY)
            self._found.add(portion, at - 1, empty, "empty_criterion", missing, order=4)
        for position, further in enumerate(self._covariates):
            column = portion.columns[at + position]
            reading = further.take(portion, at + position)

            def empty_cell(_: int, column: Column = column) -> str:
                return remark(
                    "there is a score but no {name}: fill it in, or leave this covariate out.", name=column.name
                )

            rows = _where(reading, EMPTY)
            self._found.add(portion, at + position, rows, "empty_covariate", empty_cell, order=5 + position)

            def infinite(row: int, column: Column = column) -> str:
                return remark(
                    "{name} is {cell}, which is not finite: write a finite number.",
                    name=column.name,
                    cell=quote(column[row]),
                )

            rows = _where(reading, INFINITE)
            further.if_numbers.add(portion, at + position, rows, "bad_covariate", infinite, order=5 + position)
            if further.is_lost:
                self._categories.add(further.name)
                raise ReadAgainError

    def _further(self) -> tuple[NDArray[np.str_] | None, dict[str, NDArray[Any]], list[Problem]]:
        """Return the criterion and the covariates of each assessment, with notes on them."""
        notes: list[Problem] = []
        criterion: NDArray[np.str_] | None = None
        if self._criterion is not None:
            criterion, criteria = self._criterion.texts()
            notes += [note for some in odd_labels("criterion", criteria, remark("criteria")) for note in some]
        covariates: dict[str, NDArray[Any]] = {}
        for further in self._covariates:
            name = further.name
            if not further.is_categorical and further.word is None:
                covariates[name] = further.numbers.taken()
                continue
            covariates[name], categories = further.texts()
            if further.word is not None and further.has_numbers and not further.is_categorical:
                message = remark(
                    "{name} was read as categories, since {cell} in row {row} is not a number.",
                    name=name,
                    cell=quote(further.word.cell),
                    row=further.word.number,
                )
                notes.append(Problem("mixed_covariate", message, remark("column {name}", name=further.column)))
            notes += odd_labels(name, categories, remark("categories of {name}", name=name))[0]
        return criterion, covariates, notes

    def _notes(self, objects: Sequence[str], assessors: Sequence[str]) -> list[Problem]:
        """Return notes on rows without a score, on labels of no other rows, and on labels that look odd."""
        notes: list[Problem] = []
        count, numbers = self._not_assessed
        if count:
            rows = name_some(numbers[:6], 6, of=count)
            if count == 1:
                message = remark(
                    "1 cell has no score and counts as not assessed (row {rows})"
                    if self._has_headers
                    else "1 row has no score and counts as not assessed (row {rows})",
                    rows=rows,
                )
            else:
                message = remark(
                    "{count} cells have no score and count as not assessed (rows {rows})"
                    if self._has_headers
                    else "{count} rows have no score and count as not assessed (rows {rows})",
                    count=f"{count:,}",
                    rows=rows,
                )
            said = name_some([f"{text!r} ({times:,})" for text, times in self._said.most_common()])
            message = remark("{what}; cells say {said}." if said else "{what}.", what=message, said=said)
            notes.append(Problem("not_assessed", message, self._place()))
        sides = ("object", objects, self._sides[0]), ("assessor", assessors, self._sides[1])
        for role, _, side in sides:
            if lost := side.lost():
                message = remark(
                    "{count} {things} without any score, so not part of the result: {labels}.",
                    count=f"{len(lost):,}",
                    things=remark(role if len(lost) == 1 else f"{role}s"),
                    labels=name_some(lost),
                )
                notes.append(Problem(f"unassessed_{role}", message, label_place(role, lost[0])))
        odd = [odd_labels(role, labels) for role, labels, _ in sides]
        return [*notes, *(note for some in zip(*odd, strict=True) for one in some for note in one)]
