"""What a cell may be and what is said of a bad one: every rule once, applied once to each distinct cell of a column."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand import memory
from evenhand.compiled import Floats, compiled, sum_by, wants_loops
from evenhand.errors import InputError, Problem, bad_option
from evenhand.panel.column import NO_CODE, Cell, Codes, Column, Table, Vocabulary
from evenhand.panel.confidence import (
    FACTOR,
    Declared,
    Form,
    FormHint,
    check_factor,
    level_words,
    precision_of_uncertainty,
)
from evenhand.panel.headings import plain_text
from evenhand.panel.lexicon import NOT_ASSESSED, SCORE_FAMILIES
from evenhand.panel.roles import Roles
from evenhand.words import argument, count_of, name_some

Duplicates = Literal["error", "keep", "combine", "last"]
"""What to do where an assessor scored an object twice: refuse, keep both, take their weighted mean, or the last one."""

Best = Literal["highest", "lowest"]
"""Which score is the best."""

MOST_PROBLEMS: Final = 1000
"""Problems of a large file that are listed; the others are counted."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PART: Final = r"[+-]?\d+(?:[.,]\d+)?"
_DECORATED: Final = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"({_PART}) ?(%)",
        rf"({_PART}) ?(?:/|out of|von|sur|de|di|van|su) ?({_PART})",
        rf"({_PART}) ?(?:points?|pts?|p|punkte|pkt\.?|puntos|punti|pontos|punten|stars?)",
        rf"({_PART}) ?(?:[:=)]|\.(?= )| [-–—]) ?[^\d\s].*",
        rf"({_PART}) \([^()]*\)",
        rf"[^\d].* ?[(\[]({_PART})[)\]]",
        rf"[^\d+-][^\d]*? ?[:=] ?({_PART})",
    )
)
"""Scores as people write them: 85 %, 8/10, 7 points, 5: fair, 3 (weak accept), Weak accept (3), Score: 3."""

_UNCERTAIN: Final = re.compile(rf"({_PART})\s*(?:±|\+/?-)\s*(\d+(?:[.,]\d+)?)", re.ASCII)
_LETTER: Final = re.compile(r"([A-Fa-f])([+-]?)")
_INFINITY: Final = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_SUMMARY_WORDS: Final = frozenset({"average", "mean", "median", "total", "sum", "all", "overall", "sd", "std", "count"})
_ASCII_SPACES: Final = dict.fromkeys(map(ord, " \t\v\f\r\x1c\x1d\x1e\x1f"))
_CHUNK: Final = 65_536


# --- one cell ------------------------------------------------------------------------------------


def is_empty(cell: Cell, words: frozenset[str] = frozenset()) -> bool:
    """Say whether a cell is empty: nothing, NaN, white space, or text that the user said means so."""
    if isinstance(cell, str):
        return not (bare := cell.strip()) or bare in words
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def parse_number(cell: object, *, decimal_comma: bool = False) -> float | None:
    """Return the number in a cell, an infinity included, or None where it holds no number.

    Examples
    --------
    >>> parse_number(" 12,5 ", decimal_comma=True)
    12.5
    >>> parse_number("1_000") is None
    True
    """
    if isinstance(cell, bool | np.bool_):
        return None
    if not isinstance(cell, str):
        try:
            return float(cell)  # type: ignore[arg-type]  # numbers of any kind, Decimal and Fraction too
        except OverflowError:
            return math.inf
        except (TypeError, ValueError):
            return None
    text = cell.strip().replace("\u2212", "-")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).strip()  # full-width digits and signs
    if decimal_comma:
        text = text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) or _INFINITY.fullmatch(text) else None


class Score(NamedTuple):
    """A score as it was written: its number, and what it is out of, or ``"%"``; None where that is not said."""

    number: float
    out_of: float | str | None = None


def parse_score(cell: object, *, decimal_comma: bool = False) -> Score | None:
    """Return the score in a cell, a number with what people write beside it; None where there is none.

    Examples
    --------
    >>> parse_score("Weak accept (3)").number, parse_score("8/10"), parse_score("5: marginally above").number
    (3.0, Score(number=8.0, out_of=10.0), 5.0)
    >>> parse_score("Weak accept") is None
    True
    """
    number = parse_number(cell, decimal_comma=decimal_comma)
    if number is not None:
        return Score(number)
    if not isinstance(cell, str) or len(cell) > 400:
        return None
    text = unicodedata.normalize("NFKC", " ".join(cell.split())).replace("\u2212", "-")
    if text and set(text) <= {"★", "☆"}:
        return Score(float(text.count("★")), float(len(text)) if "☆" in text else None)
    for pattern in _DECORATED:
        found = pattern.fullmatch(text.casefold())
        if found is not None:
            number = float(found[1].replace(",", "."))
            further = found[2] if found.re.groups > 1 else None
            return Score(number, further if further in (None, "%") else float(further.replace(",", ".")))
    return None


def split_uncertain(cell: Cell) -> tuple[str, str] | None:
    """Return score and uncertainty of a cell that has both, as text; None of any other.

    Examples
    --------
    >>> split_uncertain("7.5 ± 0.8"), split_uncertain("7+/-1"), split_uncertain("7")
    (('7.5', '0.8'), ('7', '1'), None)
    """
    found = _UNCERTAIN.fullmatch(cell.strip().replace("\u2212", "-")) if isinstance(cell, str) else None
    return None if found is None else (found[1], found[2])


def score_words(cells: Iterable[Cell]) -> dict[str, float] | None:
    """Return what scores in words or letters stand for, where all that are no numbers belong to one order of them.

    Letters have A highest, and signs are thirds of a step. Cells that say that there is no score do not count.

    Examples
    --------
    >>> found = score_words(["Reject", "weak accept", "COI"])
    >>> found["reject"], found["weak accept"]
    (-2.0, 1.0)
    >>> round(score_words(["A", "B+", "F"])["b+"], 2)
    3.33
    """
    written = [cell for cell in cells if not is_empty(cell) and not says_nothing(cell)]
    words = {plain_text(cell) for cell in written if isinstance(cell, str) and parse_score(cell) is None}
    if not words or len(words) < len({plain_text(label_text(cell)) for cell in written}):
        return None  # a word among numbers is a mistake
    for family in SCORE_FAMILIES:
        if words <= family.keys():
            return dict(family)
    if all(_LETTER.fullmatch(word) for word in words):
        letters = "abcde" if any(word.startswith("e") for word in words) else "abcd"
        heights = {letter: float(len(letters) - at) for at, letter in enumerate(letters)} | {"f": 0.0}
        signs = {"": 0.0, "+": 1 / 3, "-": -1 / 3}
        return {letter + sign: height + step for letter, height in heights.items() for sign, step in signs.items()}
    return None


def says_nothing(cell: Cell) -> bool:
    """Say whether a cell of scores says that there is none, such as ``n/a``, ``COI``, a dash or a line to write on."""
    if not isinstance(cell, str) or len(cell) >= 40:
        return False
    return plain_text(cell.strip(" ()[]")) in NOT_ASSESSED or set(cell.strip()) == {"_"}


def label_text(cell: object) -> str:
    """Return a label as text: text unchanged, numbers without a decimal point or zeros that say nothing.

    Examples
    --------
    >>> label_text("007"), label_text(7.0), label_text(Decimal("7.50"))
    ('007', '7', '7.5')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, Decimal) and cell.is_finite():
        text = f"{cell:f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) if cell else "0"
    return str(cell)


def _quote(cell: object) -> str:
    text = label_text(cell)
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


# --- all cells -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Options:
    """How cells are to be read, as :func:`evenhand.read_panel` takes it."""

    factor: float = FACTOR
    aliases: Mapping[str, str] | None = None
    duplicates: Duplicates = "error"
    missing: Sequence[str] = ()
    scores: Mapping[str, float] | None = None
    """Words for scores, and the number that each stands for."""
    level_scale: tuple[float, float] | None = None
    """The ends of a scale of numbers that say how sure the assessor was, least sure first."""
    best: Best | None = None
    """Which score is the best; the highest where nothing is said."""

    def __post_init__(self) -> None:
        if self.best not in (None, "highest", "lowest"):
            raise bad_option(f"The best score can be the highest or the lowest, not {self.best!r}.")
        if self.duplicates not in ("error", "keep", "combine", "last"):
            raise bad_option(f"Duplicates can be treated as error, keep, combine or last, not {self.duplicates!r}.")
        check_factor(self.factor)

    @property
    def numeric_words(self) -> frozenset[str]:
        """Numbers, in lower case, that are to be read as words: for an empty cell, or for a level."""
        words = (word.strip().casefold() for word in (*self.missing, *(self.aliases or ()), *(self.scores or ())))
        return frozenset(word for word in words if parse_number(word) is not None)


@dataclass(frozen=True, slots=True)
class Entries:
    """Checked assessments in arrays: what a panel is made of."""

    objects: Sequence[str]
    assessors: Sequence[str]
    object_index: Codes
    assessor_index: Codes
    score: Floats
    precision: Floats
    form: Form
    notes: tuple[Problem, ...]
    steps: tuple[float, float] | None = None  # of a scale of levels that were numbers, least sure first
    level_words: Mapping[str, float] = field(default_factory=dict)  # and the power of factor^2 that each stands for
    score_words: Mapping[str, float] = field(default_factory=dict)
    criterion: NDArray[np.str_] | None = None
    covariates: dict[str, NDArray[Any]] = field(default_factory=dict)
    turned: float | None = None  # scores of which the lowest was the best are this less the score that stood there


class ReadAgainError(Exception):
    """What was read shows that the file is to be read in another way, which has been noted, from its beginning."""


def no_score(where: str | None) -> InputError:
    """Return the error for a panel without a single score."""
    return InputError(
        "there is no score: a panel needs at least one row with an object, an assessor and a score.",
        kind="empty",
        where=where,
    )


def shortened(problems: Sequence[Problem], total: int, most: int | None = MOST_PROBLEMS) -> InputError:
    """Return the error for the first problems of a large file, with a count of those that are not listed."""
    listed = list(problems[:most])
    if total > len(listed):
        more = total - len(listed)
        are = "is" if more == 1 else "are"
        listed.append(Problem("more_problems", f"{count_of(more, 'further problem')} {are} not listed."))
    return InputError(listed)


class Collector:
    """Takes the columns of a panel portion by portion, and gives the checked assessments at the end.

    ``covariates`` are the names that the panel is to have for them, ``rows`` how many are to be expected, as far as
    that is known, and ``most_problems`` how many are listed (None for all). ``categories`` are covariates that are
    known to be categories; one that turns out to be is added, and reading begins anew.
    """

    def __init__(
        self,
        roles: Roles,
        options: Options,
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
        self._sides = _Labels(words, rows), _Labels(words, rows)
        self._score = Growing(np.float64, rows)
        self._precision = Growing(np.float64, rows if self._hint != "none" else 0)
        scores = {plain_text(word): number for word, number in (options.scores or {}).items()}
        self._score_cells = _Numbers(words, scores=scores, as_written=True)
        self._declared_cells = _Numbers(words, self._powers if "level" in self._hint else {}, as_written=True)
        self._criterion = None if roles.criterion is None else _Further("criterion", words)
        self._covariates = [_Further(name, words) for name in covariates]
        self._categories = set() if categories is None else categories
        self._row_numbers = _RowNumbers()
        self._found, self._if_levels, self._if_words, self._if_numbers = (_Found(most_problems) for _ in range(4))
        self.declared = Declared(self._hint, options.level_scale)
        self._first_level: _Place | None = None
        self._first_number: _Place | None = None
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
        absent = score.where(_EMPTY)
        if absent.size:
            self._leave_out(columns, absent, numbers)
            kept = np.delete(np.arange(numbers.size), absent)
            columns, numbers = tuple(column.take(kept) for column in columns), numbers[kept]
            headers = None if headers is None else headers.take(kept)
            score = _Reading(score.value[kept], None if score.status is None else score.status[kept])
        if not numbers.size:
            return
        portion = _Portion(columns, numbers, self.size, table.decimal_comma)
        for position, (role, side) in enumerate(zip(("object", "assessor"), self._sides, strict=True)):
            message = f"the {role} is missing although there is a score: write its label, or empty the score."
            self._found.add(portion, position, side.take(columns[position]), "empty_label", message)
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
            raise no_score(f"column {self._score_name}" if self._rows and not self._has_headers else None)
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
            message = (
                f"the lowest score is the best: scores are turned around, and a value v is the mark {turned:g} - v."
            )
            notes.append(Problem("turned", message, None if self._has_headers else f"column {self._score_name}"))
        entries = Entries(
            objects=objects,
            assessors=assessors,
            object_index=object_index,
            assessor_index=assessor_index,
            score=score,
            precision=self.declared.precision(raw, self._options.factor),
            form=self.form,
            notes=tuple(notes),
            steps=self.declared.steps,
            level_words={
                word: rank / max(1, self.declared.rank or 0) for word, rank in self._declared_cells.said.items()
            },
            score_words=self._score_cells.said,
            criterion=criterion,
            covariates=covariates,
            turned=turned,
        )
        return _settle_duplicates(entries, self._options.duplicates, self._row_numbers, self._most)

    def labels(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the labels of objects and of assessors, in the order of their codes."""
        return self._sides[0].labels(), self._sides[1].labels()

    def arrays(self) -> tuple[Codes, Codes, Floats, Floats]:
        """Return codes of objects and of assessors, scores and what was declared, which are forgotten here.

        What was declared are precisions, or levels that :attr:`declared` turns into precisions.
        """
        object_index, assessor_index = (side.taken() for side in self._sides)
        score = self._score.taken()
        raw = np.broadcast_to(np.float64(1.0), score.shape).view()
        if self.form != "none":
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

    def _check_scores(self, portion: _Portion, score: _Reading, headers: Column | None) -> None:
        column = portion.columns[2]

        def no_number(row: int) -> str:
            advice = f"correct it, or leave the cell empty (or give {argument('missing')}) if it was not assessed."
            return f"the score {_quote(column[row])} is not a number: {advice}"

        def infinite(row: int) -> str:
            return f"the score {_quote(column[row])} is not finite: write a finite number."

        self._found.add(portion, 2, score.where(_NO_NUMBER), "bad_score", no_number, headers)
        self._found.add(portion, 2, score.where(_INFINITE), "bad_score", infinite, headers)

    def _check_declared(self, portion: _Portion) -> None:
        """Read confidences, both as levels and as numbers where it is open what they are."""
        column, hint = portion.columns[3], self._hint
        reading = self._declared_cells.read(column, portion.decimal_comma)
        message = "there is a score but no confidence: fill it in, or leave the whole column out to weigh all alike."
        self._found.add(portion, 3, reading.where(_EMPTY), "empty_confidence", message)
        if "level" in hint:
            self._first_level = self._first_level or portion.first(3, reading.where(_LEVEL))
            self._first_number = self._first_number or portion.first(3, reading.where(_FINITE, _INFINITE))
            numbers, ranks = reading.where(_FINITE), reading.where(_LEVEL)
            self.declared = self.declared.seen(reading.value[numbers], reading.value[ranks])

        def unknown(row: int) -> str:
            advice = (
                f"use high, medium or low (h, m, l), or give its meaning ({argument('aliases', {'WORD': 'LEVEL'})})."
            )
            return f"{_quote(column[row])} is not a known level: {advice}"

        self._if_levels.add(portion, 3, reading.where(_NO_NUMBER), "unknown_level", unknown)
        if hint == "level":
            self._if_words.add(portion, 3, reading.where(_FINITE, _INFINITE), "unknown_level", unknown)
            self._precision.extend(reading.value)
            return
        form = _number_form(hint)

        def no_number(row: int) -> str:
            is_level = plain_text(label_text(column[row])) in self._powers
            tip = " (a column of levels is given as level)" if is_level else ""
            return f"the {form} {_quote(column[row])} is not a number{tip}."

        def said(what: str) -> Callable[[int], str]:
            return lambda row: f"the {form} {_quote(column[row])} {what}"

        number = (
            np.ones(len(column), np.bool_) if reading.status is None else np.isin(reading.status, (_FINITE, _INFINITE))
        )
        with np.errstate(invalid="ignore"):
            usable = (reading.value > 0) & np.isfinite(reading.value)
            precision = precision_of_uncertainty(reading.value) if form == "uncertainty" else reading.value
            extreme = ~np.isfinite(precision) | (precision < np.finfo(float).tiny)
        wrong, kind = self._if_numbers, f"bad_{form}"
        wrong.add(portion, 3, reading.where(_NO_NUMBER), kind, no_number)
        wrong.add(portion, 3, np.flatnonzero(number & ~usable), kind, said("must be a positive, finite number."))
        wrong.add(portion, 3, np.flatnonzero(number & usable & extreme), kind, said("is too extreme to compute with."))
        if reading.status is not None:
            precision = np.where(reading.status == _LEVEL, reading.value, precision)
        self._precision.extend(precision)

    def _mixed(self) -> tuple[int, int, Problem] | None:
        """Return what is wrong with a column that has levels and numbers."""
        if self._first_level is None or self._first_number is None or self._hint == "level":
            return None
        one, other = sorted((self._first_level, self._first_number), key=lambda place: place.order)
        message = (
            f"levels are mixed with numbers ({_quote(one.cell)} in row {one.number}, {_quote(other.cell)} here): use "
            "one or the other in the whole column."
        )
        return other.order, 3, Problem("mixed_confidence", message, other.where)

    def _refuse_mixed_scales(self) -> None:
        """Refuse scores that say that they are out of different numbers."""
        scales = sorted(map(str, self._score_cells.scales - {None}))
        if len(scales) > 1 or ("%" in scales and None in self._score_cells.scales and self._score.view().min() <= 1):
            named = " and ".join("in %" if one == "%" else f"out of {float(one):g}" for one in scales)
            message = f"scores {named if len(scales) > 1 else 'in % and shares of 1'} stand in one column"
            advice = f"write all on one scale, or say what each means ({argument('scores')})."
            raise InputError(f"{message}: {advice}", kind="mixed_scale", where=f"column {self._score_name}")

    def _check_further(self, portion: _Portion) -> None:
        """Take the criterion and the covariates of a portion."""
        at = len(portion.columns) - len(self._covariates)
        if self._criterion is not None:
            message = (
                "the criterion is missing although there is a score: write which one it is for, or empty the score."
            )
            empty = self._criterion.take(portion, at - 1).where(_EMPTY)
            self._found.add(portion, at - 1, empty, "empty_criterion", message, order=4)
        for position, further in enumerate(self._covariates):
            column = portion.columns[at + position]
            message = f"there is a score but no {column.name}: fill it in, or leave this covariate out."
            reading = further.take(portion, at + position)
            self._found.add(
                portion, at + position, reading.where(_EMPTY), "empty_covariate", message, order=5 + position
            )

            def infinite(row: int, column: Column = column) -> str:
                return f"{column.name} is {_quote(column[row])}, which is not finite: write a finite number."

            rows = reading.where(_INFINITE)
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
            notes += [note for some in odd_labels("criterion", criteria, "criteria") for note in some]
        covariates: dict[str, NDArray[Any]] = {}
        for further in self._covariates:
            name = further.name
            if not further.is_categorical and further.word is None:
                covariates[name] = further.numbers.taken()
                continue
            covariates[name], categories = further.texts()
            if further.word is not None and further.has_numbers and not further.is_categorical:
                message = (
                    f"{name} was read as categories, since {_quote(further.word.cell)} in row {further.word.number} is "
                    "not a number."
                )
                notes.append(Problem("mixed_covariate", message, f"column {further.column}"))
            notes += odd_labels(name, categories, f"categories of {name}")[0]
        return criterion, covariates, notes

    def _notes(self, objects: Sequence[str], assessors: Sequence[str]) -> list[Problem]:
        """Return notes on rows without a score, on labels of no other rows, and on labels that look odd."""
        notes: list[Problem] = []
        count, numbers = self._not_assessed
        if count:
            more = f"{name_some(numbers[:6])} and {count - 6:,} more" if count > 6 else name_some(numbers)
            unit = "cell" if self._has_headers else "row"
            has = f"1 {unit} has no score and counts" if count == 1 else f"{count:,} {unit}s have no score and count"
            message = f"{has} as not assessed (row{'s' if count > 1 else ''} {more})."
            if self._said:
                message = f"{message[:-1]}; cells say {_tally(self._said)}."
            notes.append(Problem("not_assessed", message, f"column {self._score_name}"))
        sides = ("object", objects, self._sides[0]), ("assessor", assessors, self._sides[1])
        for role, _, side in sides:
            if lost := side.lost():
                message = (
                    f"{count_of(len(lost), role)} without any score, so not part of the result: {name_some(lost)}."
                )
                notes.append(Problem(f"unassessed_{role}", message, f"{role} {lost[0]}"))
        odd = [odd_labels(role, labels) for role, labels, _ in sides]
        return [*notes, *(note for some in zip(*odd, strict=True) for one in some for note in one)]


def _tally(said: Counter[str]) -> str:
    """Return texts with how often each stands."""
    return name_some([f"{text!r} ({count:,})" for text, count in said.most_common()])


def _number_form(hint: FormHint) -> Literal["uncertainty", "confidence"]:
    return "uncertainty" if "uncertainty" in hint else "confidence"


# --- columns -------------------------------------------------------------------------------------

_FINITE, _EMPTY, _NO_NUMBER, _INFINITE, _LEVEL = range(5)
"""What a cell of a column of numbers turns out to be."""

_MOST_NAMED: Final = 7
"""One more than the rows that a note names."""


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


class _Place(NamedTuple):
    """A cell and where it is: by its order among the assessments, its row number, and in words."""

    order: int
    cell: Cell
    number: int
    where: str


class _Portion(NamedTuple):
    """Rows of a file that hold a score: their columns, their numbers, and how many came before."""

    columns: tuple[Column, ...]
    numbers: NDArray[np.int64]
    start: int
    decimal_comma: bool

    def place(self, position: int, row: int, header: Cell = None) -> _Place:
        column = self.columns[position]
        name = column.name if header is None else header
        number = int(self.numbers[row])
        return _Place(self.start + row, column[row], number, f"row {number}, column {name}")

    def first(self, position: int, rows: NDArray[np.int64]) -> _Place | None:
        return self.place(position, int(rows[0])) if rows.size else None


class _Reading(NamedTuple):
    """A column of numbers: the number of each row, NaN where there is none, and what it is; None if all are finite."""

    value: Floats
    status: NDArray[np.uint8] | None

    def where(self, *kinds: int) -> NDArray[np.int64]:
        """Return the positions of the cells of some kinds."""
        if self.status is None:
            return np.arange(self.value.size) if _FINITE in kinds else np.zeros(0, np.int64)
        return np.flatnonzero(self.status == kinds[0] if len(kinds) == 1 else np.isin(self.status, kinds))


class _Numbers:
    """What the distinct cells of a column of numbers say, found out once for each of them."""

    def __init__(
        self,
        words: frozenset[str],
        powers: Mapping[str, float] | None = None,
        *,
        scores: Mapping[str, float] | None = None,
        truth: bool = False,
        as_written: bool = False,
    ) -> None:
        self._words, self._powers, self._truth = words, powers or {}, truth
        self._scores, self._as_written = scores or {}, as_written
        self.scales: set[float | str | None] = set()
        self.said: dict[str, float] = {}
        self._status: list[int] = []
        self._value: list[float] = []

    def read(self, column: Column, decimal_comma: bool) -> _Reading:
        """Read a portion of the column."""
        for cell in column.cells[len(self._status) :]:
            kind, number = self._judge(cell, decimal_comma)
            self._status.append(kind)
            self._value.append(number)
        is_plain = column.codes == NO_CODE
        if column.numbers is not None and is_plain.any():
            self.scales.add(None)
        if column.numbers is not None and is_plain.all():
            return _Reading(column.numbers, None)
        at = np.where(is_plain, len(self._status), column.codes)
        without = _EMPTY if column.numbers is None else _FINITE
        status = np.array([*self._status, without], np.uint8)[at]
        value = np.array([*self._value, math.nan])[at]
        if column.numbers is not None:
            value = np.where(is_plain, column.numbers, value)
        return _Reading(value, status if status.any() else None)

    def _judge(self, cell: Cell, decimal_comma: bool) -> tuple[int, float]:
        if is_empty(cell, self._words):
            return _EMPTY, math.nan
        if self._powers or self._scores:
            written = label_text(cell).strip()
            text = plain_text(written)
            for kind, meanings in ((_LEVEL, self._powers), (_FINITE, self._scores)):
                if text in meanings:
                    self.said[written] = float(meanings[text])
                    return kind, meanings[text]
        is_truth = self._truth and type(cell) in (bool, np.bool_)
        number = float(cell) if is_truth else parse_number(cell, decimal_comma=decimal_comma)  # type: ignore[arg-type]
        if number is None and self._as_written:
            if says_nothing(cell):
                return _EMPTY, math.nan
            if (score := parse_score(cell, decimal_comma=decimal_comma)) is not None:
                number = score.number
                self.scales.add(score.out_of)
        elif number is not None:
            self.scales.add(None)
        if number is None:
            return _NO_NUMBER, math.nan
        return (_FINITE if math.isfinite(number) else _INFINITE), number


class _Labels:
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


class _Further:
    """A criterion or a covariate: numbers, and the codes of cells in case they are categories."""

    def __init__(self, name: str, words: frozenset[str]) -> None:
        self.name = name
        self.column = name
        self.is_categorical = False
        self.has_numbers = False
        self.is_lost = False
        self.word: _Place | None = None
        self.if_numbers = _Found(None)
        self.numbers = Growing(np.float64)
        self._cells_read = _Numbers(words, truth=True)
        self._cells: Sequence[Cell] = ()
        self._codes = Growing(np.uint32)
        self._has_plain = False

    def take(self, portion: _Portion, position: int) -> _Reading:
        """Take a portion of the column; ``is_lost`` says that it is one of categories whose texts were not kept."""
        column = portion.columns[position]
        reading = self._cells_read.read(column, portion.decimal_comma)
        self.column, self.is_categorical, self._cells = column.name, column.is_categorical, column.cells
        self.word = self.word or portion.first(position, reading.where(_NO_NUMBER))
        self.has_numbers = self.has_numbers or bool(reading.where(_FINITE, _INFINITE).size)
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


class _Found:
    """Problems found: the first of them with their order, all of them counted."""

    def __init__(self, most: int | None) -> None:
        self._most = sys.maxsize if most is None else most
        self._start, self._before = 0, 0
        self.listed: list[tuple[int, int, Problem]] = []
        self.count = 0

    def add(
        self,
        portion: _Portion,
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


class _RowNumbers:
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


# --- labels that look odd ------------------------------------------------------------------------


def odd_labels(role: str, labels: Sequence[str], plural: str | None = None) -> tuple[list[Problem], list[Problem]]:
    """Return notes on labels that differ only in case, white space or Unicode form, and on those of sums or means."""
    hashes = np.empty(len(labels), np.int64)
    sums: list[str] = []
    for start in range(0, len(labels), _CHUNK):
        some = labels[start : start + _CHUNK]
        keys = _alike_keys(some)
        hashes[start : start + len(keys)] = list(map(hash, keys))
        if not _SUMMARY_WORDS.isdisjoint(keys):
            sums += [label for label in some if label.strip().casefold() in _SUMMARY_WORDS]
    kinds, count = np.unique(hashes, return_counts=True)
    groups: dict[str, list[str]] = {}
    if kinds.size < hashes.size:
        some = [labels[at] for at in np.flatnonzero(np.isin(hashes, kinds[count > 1])).tolist()]
        for key, label in zip(_alike_keys(some), some, strict=True):
            groups.setdefault(key, []).append(label)
    alike_notes = [
        Problem(
            "similar_labels",
            f"the {plural or role + 's'} {', '.join(map(repr, alike))} differ only in case or white space and were "
            "kept apart: write them alike if they are the same.",
            f"{role} {alike[0]}",
        )
        for alike in groups.values()
        if len(alike) > 1
    ]
    summary_notes = [
        Problem(
            "summary_label",
            f"the {role} {label!r} was taken for a true {role}: leave it out of the file if it holds sums or averages.",
            f"{role} {label}",
        )
        for label in sums
    ]
    return alike_notes, summary_notes


def _alike_keys(labels: Sequence[str]) -> list[str]:
    """Return of each label what those that differ only in case, white space or Unicode form have in common."""
    text = "\n".join(labels)
    if text.isascii() and text.count("\n") < len(labels):  # all at once
        return text.lower().translate(_ASCII_SPACES).split("\n")
    return ["".join(unicodedata.normalize("NFKC", label).casefold().split()) for label in labels]


# --- duplicates ----------------------------------------------------------------------------------


def _settle_duplicates(entries: Entries, duplicates: Duplicates, numbers: _RowNumbers, most: int | None) -> Entries:
    """Refuse, keep or combine assessments of the same object by the same assessor, for the same criterion."""
    rows, group = _repeated(entries)
    if not rows.size:
        return entries
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)  # groups in order of appearance
    group, first = np.argsort(order)[group], rows[first[order]]
    if duplicates == "error":
        listed = [_duplicate(entries, same, numbers) for same in _together(rows, group, most)]
        raise shortened(listed, first.size, most)
    extra = count_of(rows.size - first.size, "repeated assessment")
    if duplicates == "keep":
        note = Problem("duplicate", f"{extra} kept as separate assessments.")
        return replace(entries, notes=(*entries.notes, note))
    if duplicates == "last":
        return _last_ones(entries, rows, group, extra)
    _refuse_differing(entries, rows, group, numbers)
    weight = entries.precision[rows]
    total = sum_by(group, weight, first.size)
    kept = np.ones(entries.score.size, np.bool_)
    kept[rows] = False
    kept[first] = True

    def mean(column: Floats) -> Floats:
        # as a step from the first number, so that equal ones stay what they are to the last digit
        step = weight * (column[rows] - column[first][group])
        column[first] += sum_by(group, step, first.size) / total
        return column[kept]

    equal = entries.form == "none"  # scores that all weigh alike go on weighing alike
    if not equal:
        entries.precision[first] = total
    what = "scores and covariates" if entries.covariates else "scores"
    how = f"mean of the {what}" if equal else f"weighted mean of the {what}, confidences added"
    same = "" if entries.criterion is None else " for the same criterion"
    message = f"{extra} combined with the first of the same object by the same assessor{same} ({how})."
    score = mean(entries.score)
    return replace(
        entries,
        object_index=entries.object_index[kept],
        assessor_index=entries.assessor_index[kept],
        score=score,
        precision=np.broadcast_to(np.float64(1.0), score.shape).view() if equal else entries.precision[kept],
        notes=(*entries.notes, Problem("duplicate", message)),
        criterion=None if entries.criterion is None else entries.criterion[kept],
        covariates={
            name: mean(cells) if cells.dtype.kind == "f" else cells[kept] for name, cells in entries.covariates.items()
        },
    )


def _last_ones(entries: Entries, rows: NDArray[np.int64], group: NDArray[np.int64], extra: str) -> Entries:
    """Keep of repeated assessments the one that stands last."""
    last = np.zeros(int(group.max()) + 1, np.int64)
    last[group] = rows  # of several for one place, numpy keeps the last
    kept = np.ones(entries.score.size, np.bool_)
    kept[rows] = False
    kept[last] = True
    equal = entries.form == "none"
    score = entries.score[kept]
    return replace(
        entries,
        object_index=entries.object_index[kept],
        assessor_index=entries.assessor_index[kept],
        score=score,
        precision=np.broadcast_to(np.float64(1.0), score.shape).view() if equal else entries.precision[kept],
        notes=(*entries.notes, Problem("duplicate", f"{extra} replaced by the one that stands last.")),
        criterion=None if entries.criterion is None else entries.criterion[kept],
        covariates={name: cells[kept] for name, cells in entries.covariates.items()},
    )


def _repeated(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the assessments whose pair, for their criterion, occurs again, and a number for each such pair."""
    n_objects, n_assessors = len(entries.objects), len(entries.assessors)
    one, other = entries.object_index, entries.assessor_index
    if entries.criterion is not None:
        criteria, of_criterion = np.unique(entries.criterion, return_inverse=True)
        one = np.unique(one.astype(np.int64) * criteria.size + of_criterion, return_inverse=True)[1]
        n_objects = int(one.max()) + 1
    if not wants_loops(one.size):
        rows = np.arange(one.size)
    else:  # only members of the smaller side in which something is repeated are looked at closely
        small, large = (one, other) if n_objects < n_assessors else (other, one)
        sizes = sorted((n_objects, n_assessors))
        rows = np.flatnonzero(compiled(_groups_with_repeats)(small, large, *sizes)[small])
    pair = one[rows].astype(np.int64) * n_assessors + other[rows]
    _, group, size = np.unique(pair, return_inverse=True, return_counts=True)
    chosen = np.flatnonzero(size[group] > 1)
    return rows[chosen], group[chosen]


def _groups_with_repeats(group: Any, member: Any, n_groups: int, n_members: int) -> Any:
    """Say of every group whether a pair (group, member) occurs twice, in time linear in the number of rows.

    For 100 million rows this takes 0.4 GB beside the codes and a fifth of the time that sorting them takes, or asking
    polars for the number of different pairs.
    """
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    sorted_member = np.empty(member.size, np.uint32)
    for i in range(group.size):
        g = group[i]
        sorted_member[place[g]] = member[i]
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    found = np.zeros(n_groups, np.bool_)
    for g in range(n_groups):
        for i in range(begin[g], begin[g + 1]):
            m = sorted_member[i]
            found[g] |= seen[m] == g + 1
            seen[m] = g + 1
    return found


def _together(rows: NDArray[np.int64], group: NDArray[np.int64], most: int | None = None) -> list[NDArray[np.int64]]:
    """Return rows, those of one group together."""
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    return np.split(rows[order], cuts)[:most]


def _refuse_differing(
    entries: Entries, rows: NDArray[np.int64], group: NDArray[np.int64], numbers: _RowNumbers
) -> None:
    """Refuse to combine assessments whose covariates are different categories."""
    found: list[tuple[int, Problem]] = []
    for name, cells in entries.covariates.items():
        if cells.dtype.kind == "f":
            continue
        for same in _together(rows, group):
            texts = list(dict.fromkeys(cells[same].tolist()))
            if len(texts) > 1:
                message = (
                    f"{_scored(entries, same)} with different {name} ({name_some(list(map(repr, texts)))}), so these "
                    "scores cannot be combined: correct the file, or choose duplicates keep "
                    f"({argument('duplicates', 'keep')})."
                )
                found.append((int(same[0]), Problem("bad_covariate", message, _listed(numbers.of(same)))))
    if found:
        raise InputError([problem for _, problem in sorted(found, key=lambda item: item[0])])


def _duplicate(entries: Entries, rows: NDArray[np.int64], numbers: _RowNumbers) -> Problem:
    message = (
        f"{_scored(entries, rows)}: correct the file, or choose duplicates keep (separate assessments, "
        f"{argument('duplicates', 'keep')}) or combine (their weighted mean, {argument('duplicates', 'combine')})."
    )
    return Problem("duplicate", message, _listed(numbers.of(rows)))


def _scored(entries: Entries, rows: NDArray[np.int64]) -> str:
    """Return who scored what how often."""
    first = rows[0]
    times = "twice" if rows.size == 2 else f"{rows.size} times"
    same = "" if entries.criterion is None else f" for criterion {entries.criterion[first]}"
    object_ = entries.objects[int(entries.object_index[first])]
    return f"assessor {entries.assessors[int(entries.assessor_index[first])]} scored object {object_} {times}{same}"


def _listed(numbers: Sequence[int]) -> str:
    *most, last = map(str, numbers)
    return f"rows {', '.join(most)} and {last}"
