"""Large files to panels without a Python object for each row: portion by portion into codes and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evenhand.compiled import wants_loops
from evenhand.errors import InputError, Problem
from evenhand.io import readings
from evenhand.io.growing import Growing
from evenhand.io.labels import Coder, Labels
from evenhand.io.portions import MOST_PROBLEMS, AwkwardFileError
from evenhand.io.readings import EMPTY, INFINITE, LEVEL, NO_NUMBER, NUMBER, Reading
from evenhand.io.repeats import combine, first_of_pair, has_repeats
from evenhand.panel import rules
from evenhand.panel.confidence import Form, FormHint, level_words, precision_of_level, precision_of_uncertainty
from evenhand.panel.panel import Panel
from evenhand.panel.rules import Cells, Duplicates, check_cells, parse_number
from evenhand.words import count_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Options:
    """How cells are to be read, as :func:`evenhand.read_panel` takes it."""

    factor: float
    aliases: Mapping[str, str] | None
    duplicates: Duplicates
    missing: Sequence[str]


@dataclass(slots=True)
class _Offences:
    """Rows with something wrong in them, the first of each kind as they stand, all of them counted."""

    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, at: NDArray[np.int64], numbers: NDArray[np.int64], columns: Sequence[pl.Series]) -> None:
        """Take down rows at some positions of a portion."""
        room = max(MOST_PROBLEMS - self.counts.get(kind, 0), 0)
        for position in at[:room].tolist():
            self.rows[int(numbers[position])] = tuple(_cell(column[position]) for column in columns)
        self.counts[kind] = self.counts.get(kind, 0) + int(at.size)


class Collector:
    """Takes the columns of a panel portion by portion, and gives the panel at the end.

    Parameters
    ----------
    names
        What the columns are called in the file: object, assessor, score and, where there is one, confidence.
    form
        How the column of confidences is to be read.
    options
        How cells are to be read.
    first_row
        The number of the first row of data.
    rows
        How many rows are to be expected.
    by_hash
        Whether labels may be told apart by hashing them first.
    """

    def __init__(
        self, names: Sequence[str], form: FormHint, options: Options, *, first_row: int, rows: int, by_hash: bool = True
    ) -> None:
        rules.check_options(options.factor, options.duplicates)
        self._names = tuple(names)
        self._form: FormHint = form if len(names) > 3 else "none"
        self._options = options
        self._words = frozenset(word.strip() for word in options.missing)
        self._levels = level_words(options.aliases)
        self._numeric_levels = any(parse_number(word) is not None for word in self._levels)
        self._first_row = first_row
        by_hash = by_hash and wants_loops(rows)
        self._coders = Coder(by_hash=by_hash), Coder(by_hash=by_hash)
        self._codes = Growing(np.uint32, rows), Growing(np.uint32, rows)
        self._score = Growing(np.float64, rows)
        self._precision = Growing(np.float64, rows if self._form != "none" else 0)
        self._blank_labels: tuple[list[int], list[int]] = ([], [])
        self._checked = [0, 0]
        self._offences = _Offences()
        self._first_of: dict[int, tuple[int, tuple[Any, ...]]] = {}
        self._count_of = dict.fromkeys((NUMBER, LEVEL), 0)
        self._left_out: list[NDArray[np.int64]] = []
        self._not_assessed: list[NDArray[np.int64]] = []
        self._lost: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self._pool = ThreadPoolExecutor(2)
        self.decimal_comma = False
        self.rows = 0

    def add(self, columns: Sequence[pl.Series], first_row: int) -> NDArray[np.int64]:
        """Take a portion of rows, and return the positions of those that are empty in all these columns.

        Parameters
        ----------
        columns
            Objects, assessors, scores and, where there are any, confidences.
        first_row
            The number of the first row of the portion.
        """
        import polars as pl

        size = len(columns[0])
        self.rows += size
        numbers = np.arange(first_row, first_row + size)
        score = readings.read_numbers(columns[2], self._words, decimal_comma=self.decimal_comma)
        empty: NDArray[np.int64] = np.zeros(0, np.int64)
        if score.status is not None and (score.status == EMPTY).any():
            absent = score.status == EMPTY
            empty = self._leave_out(columns, np.flatnonzero(absent), numbers)
            columns = [column.filter(pl.Series(~absent)) for column in columns]
            numbers = numbers[~absent]
            score = Reading(score.column.filter(pl.Series(~absent)), score.value[~absent], score.status[~absent])
        if not numbers.size:
            return empty
        columns = [*columns[:2], score.column, *columns[3:]]
        codes = list(self._pool.map(readings.encode, columns[:2], self._coders))
        for side, (code, without) in enumerate(codes):
            self._codes[side].extend(code)
            self._find_blank(side, self._words if readings.is_text(columns[side]) else frozenset())
            blank = np.isin(code, self._blank_labels[side]) if self._blank_labels[side] else np.zeros(code.size, bool)
            blank[without] = True
            if blank.any():
                self._offences.add(f"label {side}", np.flatnonzero(blank), numbers, columns)
        self._score.extend(score.value)
        if score.status is not None:
            self._offences.add("score", score.where(NO_NUMBER, INFINITE), numbers, columns)
        if self._form != "none":
            self._declared(columns, numbers)
        return empty

    def panel(self, notes: Sequence[Problem]) -> Panel:
        """Return the panel of all rows taken, or refuse them as :func:`evenhand.panel.rules.check_cells` does.

        Parameters
        ----------
        notes
            What else is to be noted, before all that is found here.
        """
        self._pool.shutdown()
        if not len(self._score):
            raise rules.no_score(f"column {self._names[2]}" if self.rows else None)
        form = self._settle_form()
        if self._offences.rows:
            self._refuse(self._offences.rows, sum(self._offences.counts.values()), self._options.missing)
        objects, assessors = (coder.labels for coder in self._coders)
        object_index, assessor_index = (codes.taken() for codes in self._codes)
        self._coders = Coder(by_hash=False), Coder(by_hash=False)
        score: NDArray[np.float64] = self._score.taken()
        precision: NDArray[np.float64] = np.broadcast_to(np.float64(1.0), score.shape).view()
        if form != "none":
            precision = self._precision.taken()
        if form == "level":
            precision = precision_of_level([-1, 0, 1], self._options.factor)[(precision + 1.0).astype(np.int8)]
        notes = [*notes, *self._notes(objects, assessors)]
        if has_repeats(object_index, assessor_index, len(objects), len(assessors)):
            first = first_of_pair(object_index, assessor_index, len(objects), len(assessors))
            extra = int(np.count_nonzero(first != np.arange(first.size)))
            if self._options.duplicates == "error":
                self._refuse_repeats(first, objects, assessors, object_index, assessor_index)
            notes.append(rules.repeats_note(extra, self._options.duplicates, form))
            if self._options.duplicates == "combine":
                kept, score, total = combine(first, score, precision)
                object_index, assessor_index = object_index[kept], assessor_index[kept]
                precision = total if form != "none" else np.broadcast_to(np.float64(1.0), score.shape).view()
        return Panel(
            objects=objects,
            assessors=assessors,
            object_index=object_index,
            assessor_index=assessor_index,
            score=score,
            precision=precision,
            confidence=form,
            factor=float(self._options.factor) if form == "level" else None,
            notes=tuple(notes),
        )

    def _leave_out(
        self, columns: Sequence[pl.Series], at: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Take down rows without a score; return those that have nothing else either."""
        parts = [column.gather(at) for column in columns]
        without = [readings.is_empty(part, self._words) for part in parts[:2]]
        self._left_out.append(numbers[at])
        labelled = ~(without[0] & without[1])
        self._not_assessed.append(numbers[at[labelled]])
        for side, part in enumerate(parts[:2]):
            coder = Coder(by_hash=False)
            readings.encode(part.filter(~without[side]), coder)
            self._lost[side].update(dict.fromkeys(coder.labels))
        blank = np.logical_and.reduce([readings.is_empty(part, frozenset()) for part in parts])
        return at[blank]

    def _find_blank(self, side: int, words: frozenset[str]) -> None:
        """Look for blank texts among the labels that the last portion brought."""
        import polars as pl

        values = self._coders[side].values
        if values.dtype == pl.String:
            for code, label in enumerate(values[self._checked[side] :].to_list(), self._checked[side]):
                if not (bare := label.strip()) or bare in words:
                    self._blank_labels[side].append(code)
        self._checked[side] = len(values)

    def _declared(self, columns: Sequence[pl.Series], numbers: NDArray[np.int64]) -> None:
        """Read the confidences of a portion."""
        reading = readings.read_numbers(columns[3], self._words, decimal_comma=self.decimal_comma)
        only_levels = self._form == "level"
        is_open = self._form in ("level_or_uncertainty", "level_or_confidence")
        if only_levels or is_open:
            reading = readings.read_levels(reading, self._levels, everywhere=only_levels or self._numeric_levels)
        columns = [*columns[:3], reading.column]
        self._offences.add("no confidence", reading.where(EMPTY), numbers, columns)
        for kind, kinds in ((NUMBER, (NUMBER, INFINITE)), (LEVEL, (LEVEL,))):
            if not is_open:
                break
            at = reading.where(*kinds) if reading.status is not None else reading.where(kind)
            self._count_of[kind] += at.size
            if at.size and kind not in self._first_of:
                row = tuple(_cell(column[int(at[0])]) for column in columns)
                self._first_of[kind] = int(numbers[at[0]]), row
        if only_levels:
            self._offences.add("level", reading.where(NUMBER, NO_NUMBER, INFINITE), numbers, columns)
            self._precision.extend(reading.value)
            return
        if reading.status is not None:
            self._offences.add("confidence", reading.where(NO_NUMBER, INFINITE), numbers, columns)
        value = reading.value
        with np.errstate(invalid="ignore"):
            usable = (value > 0) & np.isfinite(value)
            is_number = True if reading.status is None else reading.status == NUMBER
            self._offences.add("sign", np.flatnonzero(is_number & ~usable), numbers, columns)
            is_precise = "uncertainty" in self._form
            precision = precision_of_uncertainty(value) if is_precise else value
            extreme = ~np.isfinite(precision) | (precision < np.finfo(float).tiny)
        self._offences.add("extreme", np.flatnonzero(is_number & usable & extreme), numbers, columns)
        if reading.status is not None:
            precision = np.where(reading.status == LEVEL, value, precision)
        self._precision.extend(precision)

    def _settle_form(self) -> Form:
        """Return the form that the confidences turned out to have."""
        if self._form != "level_or_uncertainty" and self._form != "level_or_confidence":
            return self._form
        if self._count_of[LEVEL] and self._count_of[NUMBER]:
            self._offences.counts.update({"mixed": 1, "confidence": 0, "sign": 0, "extreme": 0})
            self._offences.rows.update(dict(self._first_of.values()))
        if self._offences.rows:
            # one row of each kind, so that the rows that are refused settle the form as all rows do
            self._offences.rows.update(dict(self._first_of.values()))
        if self._count_of[LEVEL] or not self._count_of[NUMBER]:
            return "level"
        return "uncertainty" if self._form == "level_or_uncertainty" else "confidence"

    def _refuse(self, rows: Mapping[int, tuple[Any, ...]], total: int, missing: Sequence[str]) -> NoReturn:
        """Raise what :func:`evenhand.panel.rules.check_cells` has to say about some rows."""
        numbers = sorted(rows)
        columns = list(zip(*(rows[number] for number in numbers), strict=True))
        try:
            check_cells(
                Cells(
                    object=columns[0],
                    assessor=columns[1],
                    score=columns[2],
                    declared=columns[3] if len(columns) > 3 else None,
                    form=self._form,
                    names=self._names,
                    row_numbers=numbers,
                    decimal_comma=self.decimal_comma,
                ),
                factor=self._options.factor,
                aliases=self._options.aliases,
                duplicates=self._options.duplicates,
                missing=missing,
            )
        except InputError as error:
            raise shortened(error.problems, total) from None
        raise AwkwardFileError  # cells of a kind that only the way cell by cell tells apart

    def _refuse_repeats(
        self,
        first: NDArray[np.int64],
        objects: Labels,
        assessors: Labels,
        object_index: NDArray[np.uint32],
        assessor_index: NDArray[np.uint32],
    ) -> NoReturn:
        again = np.flatnonzero(first != np.arange(first.size))
        firsts = np.unique(first[again])
        shown = np.flatnonzero(np.isin(first, firsts[:MOST_PROBLEMS]))
        numbers = self._row_numbers(shown)
        rows = {
            int(number): (objects[int(object_index[at])], assessors[int(assessor_index[at])], 0.0)
            for number, at in zip(numbers, shown.tolist(), strict=True)
        }
        self._form = "none"
        self._refuse(rows, int(firsts.size), ())

    def _row_numbers(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers by which the user knows some of the assessments."""
        if not self._left_out:
            return self._first_row + positions
        left_out = np.concatenate(self._left_out) - self._first_row
        before = np.searchsorted(left_out - np.arange(left_out.size), positions, side="right")
        return np.asarray(self._first_row + positions + before, dtype=np.int64)

    def _notes(self, objects: Labels, assessors: Labels) -> list[Problem]:
        """Return what is to be noted about rows without a score, and about labels."""
        found: list[Problem] = []
        if self._not_assessed:
            lost = {}
            for role, seen, known in (("object", self._lost[0], objects), ("assessor", self._lost[1], assessors)):
                of_others = set(known) if seen else set()
                lost[role] = [label for label in seen if label not in of_others]
            numbers = np.concatenate(self._not_assessed)
            found += rules.not_assessed(_Numbers(numbers), self._names[2], lost)
        alike = {role: _alike(labels.series) for role, labels in (("object", objects), ("assessor", assessors))}
        for role, (similar, _) in alike.items():
            found += rules.look_alikes(role, similar)
        for role, (_, sums) in alike.items():
            found += rules.summaries(role, sums)
        return found


def shortened(problems: Sequence[Problem], total: int) -> InputError:
    """Return the error for the first problems of a large file, with a count of those that are not listed."""
    listed = list(problems[:MOST_PROBLEMS])
    if total > len(listed):
        more = total - len(listed)
        listed.append(
            Problem("more_problems", f"{count_of(more, 'further problem')} {'is' if more == 1 else 'are'} not listed.")
        )
    return InputError(listed)


class _Numbers(Sequence[int]):
    """Row numbers that are read as Python's numbers, not as numpy's."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return int(self._numbers.size)

    def __getitem__(self, index: Any) -> Any:
        return self._numbers[index].tolist()


def _cell(cell: Any) -> Any:
    return None if cell == "" else cell


def _alike(labels: pl.Series) -> tuple[list[str], list[str]]:
    """Return the labels that look like another one, and those that look like a row of sums, all in order."""
    key = labels.str.to_lowercase().str.replace_all(r"[\x09-\x0d\x1c-\x20]", "")
    others = (labels.str.len_bytes() != labels.str.len_chars()).arg_true()
    if len(others):
        key = key.scatter(others, [rules.alike_key(label) for label in labels.gather(others).to_list()])
    alike = labels.filter(key.is_duplicated()).to_list() if key.n_unique() < len(key) else []
    return alike, labels.filter(key.is_in(list(rules.SUMMARY_WORDS))).to_list()
