"""Cells as people wrote them, checked one by one: labels, scores, confidences, further columns, or every problem."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand import memory
from evenhand.compiled import sum_by
from evenhand.errors import InputError, Problem
from evenhand.panel.confidence import (
    FACTOR,
    Form,
    FormHint,
    check_factor,
    level_words,
    precision_of_level,
    precision_of_uncertainty,
)
from evenhand.words import count_of, name_some

Duplicates = Literal["error", "keep", "combine"]
"""What to do where an assessor scored an object twice: refuse, keep both, or take their weighted mean."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SUMMARY_WORDS: Final = frozenset({"average", "mean", "median", "total", "sum", "all", "overall", "sd", "std", "count"})
_INFINITE: Final = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Further:
    """A column beside object, assessor, score and confidence, before any check.

    Attributes
    ----------
    name
        What the column is called in the file.
    cells
        One cell for each row; None where empty.
    is_categorical
        Whether its type says that the cells are categories, even if each of them is a number.
    """

    name: str
    cells: Sequence[Any]
    is_categorical: bool = False


@dataclass(frozen=True, slots=True)
class Cells:
    """Assessments as they were written down, one a row, before any check.

    Attributes
    ----------
    object, assessor, score, declared
        One cell for each row; None where empty. ``declared`` is None where there is no column of confidences.
    form
        What the declared cells are.
    names
        What the columns are called in the file: object, assessor, score and, where there is one, confidence.
    row_numbers
        The number by which the user knows each row.
    column_of
        For sheets with a column for each assessor, the column of each score.
    decimal_comma
        Whether numbers written as text have a comma for the decimal point.
    criterion
        The column that says which criterion a score is for; None where there is none.
    covariates
        Further columns, by the names that the panel is to have for them.
    """

    object: Sequence[Any]
    assessor: Sequence[Any]
    score: Sequence[Any]
    declared: Sequence[Any] | None
    form: FormHint
    names: tuple[str, ...]
    row_numbers: Sequence[int]
    column_of: Sequence[str] | None = None
    decimal_comma: bool = False
    criterion: Further | None = None
    covariates: Mapping[str, Further] = field(default_factory=dict)

    def place(self, row: int, column: int) -> str:
        """Return where a cell is, in the user's words."""
        name = self.column_of[row] if column == 2 and self.column_of is not None else self.names[column]
        return f"row {self.row_numbers[row]}, column {name}"

    def number(self, cell: Any) -> float | None:
        """Return the number in a cell, read as this file writes numbers."""
        return parse_number(cell, decimal_comma=self.decimal_comma)


@dataclass(frozen=True, slots=True)
class Entries:
    """Checked assessments in arrays: what a panel is made of."""

    objects: tuple[str, ...]
    assessors: tuple[str, ...]
    object_index: NDArray[np.int64]
    assessor_index: NDArray[np.int64]
    score: NDArray[np.float64]
    precision: NDArray[np.float64]
    form: Form
    notes: tuple[Problem, ...]
    criterion: NDArray[np.str_] | None = None
    covariates: dict[str, NDArray[Any]] = field(default_factory=dict)


def check_cells(
    cells: Cells,
    *,
    factor: float = FACTOR,
    aliases: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    missing: Sequence[str] = (),
) -> Entries:
    """Return what the cells say, or everything that is wrong with them.

    Raises
    ------
    InputError
        With all problems found, each with its row and column.
    """
    check_options(factor, duplicates)
    rows = _Rows(cells, frozenset(word.strip() for word in missing))
    if not rows.assessed:
        raise no_score(f"column {cells.names[2]}" if cells.score and cells.column_of is None else None)
    object_labels = _labels(rows, cells.object, 0, "object")
    assessor_labels = _labels(rows, cells.assessor, 1, "assessor")
    score = _scores(rows)
    form, precision = _precisions(rows, level_words(aliases), factor)
    criterion, covariates, further_notes = _further(rows)
    if rows.found:
        raise InputError([problem for *_, problem in sorted(rows.found, key=lambda item: item[:2])])
    objects, object_index = _encode(object_labels)
    assessors, assessor_index = _encode(assessor_labels)
    notes = _not_assessed(rows, objects, assessors) + look_alikes("object", objects)
    notes += look_alikes("assessor", assessors)
    notes += summaries("object", objects) + summaries("assessor", assessors) + further_notes
    entries = Entries(
        objects, assessors, object_index, assessor_index, score, precision, form, tuple(notes), criterion, covariates
    )
    return _settle_duplicates(entries, duplicates, [cells.row_numbers[row] for row in rows.assessed])


def check_options(factor: float, duplicates: str) -> None:
    """Refuse a factor that is none, and a way to treat duplicates that there is not."""
    if duplicates not in ("error", "keep", "combine"):
        raise InputError(f"Duplicates can be treated as error, keep or combine, not {duplicates!r}.", kind="bad_option")
    check_factor(factor)


def no_score(where: str | None) -> InputError:
    """Return the error for a panel without a single score."""
    return InputError(
        "there is no score: a panel needs at least one row with an object, an assessor and a score.",
        kind="empty",
        where=where,
    )


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
    if decimal_comma:
        text = text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text) else None


def label_text(cell: object) -> str:
    """Return a label as text: text unchanged, whole numbers without a decimal point.

    Examples
    --------
    >>> label_text("007"), label_text(7.0)
    ('007', '7')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


@dataclass(slots=True)
class _Rows:
    """The rows that hold a score, and the problems met on the way through them."""

    cells: Cells
    empty_words: frozenset[str]
    found: list[tuple[int, int, Problem]] = field(default_factory=list)
    assessed: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.assessed = [row for row, cell in enumerate(self.cells.score) if not self.is_empty(cell)]

    def is_empty(self, cell: object) -> bool:
        if isinstance(cell, str):
            return not cell.strip() or cell.strip() in self.empty_words
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    def complain(self, kind: str, message: str, row: int, column: int, name: str | None = None) -> None:
        where = self.cells.place(row, column) if name is None else f"row {self.cells.row_numbers[row]}, column {name}"
        self.found.append((row, column, Problem(kind, message, where)))

    def filled(self, column: Further, position: int, kind: str, message: str) -> list[int]:
        """Return the assessed rows in which a further column is filled; complain of the others."""
        empty = {row for row in self.assessed if self.is_empty(column.cells[row])}
        for row in sorted(empty):
            self.complain(kind, message, row, position, column.name)
        return [row for row in self.assessed if row not in empty]


def _labels(rows: _Rows, column: Sequence[object], position: int, role: str) -> list[str]:
    labels = []
    for row in rows.assessed:
        if rows.is_empty(column[row]):
            message = f"the {role} is missing although there is a score: write its label, or empty the score."
            rows.complain("empty_label", message, row, position)
        labels.append(label_text(column[row]))
    return labels


def _scores(rows: _Rows) -> NDArray[np.float64]:
    scores = np.zeros(len(rows.assessed))
    for position, row in enumerate(rows.assessed):
        cell = rows.cells.score[row]
        number = rows.cells.number(cell)
        if number is None:
            message = "is not a number: correct it, or leave the cell empty (or give --missing) if it was not assessed."
            rows.complain("bad_score", f"the score {_quote(cell)} {message}", row, 2)
        elif not math.isfinite(number):
            rows.complain("bad_score", f"the score {_quote(cell)} is not finite: write a finite number.", row, 2)
        else:
            scores[position] = number
    return scores


def _precisions(rows: _Rows, words: Mapping[str, int], factor: float) -> tuple[Form, NDArray[np.float64]]:
    """Return the form that the declared cells turn out to have, and their precisions."""
    cells, column = rows.cells, rows.cells.declared
    precision = np.ones(len(rows.assessed))
    if column is None or cells.form == "none":
        return "none", precision
    for row in rows.assessed:
        if rows.is_empty(column[row]):
            message = (
                "there is a score but no confidence: fill it in, or leave the whole column out to weigh all alike."
            )
            rows.complain("empty_confidence", message, row, 3)
    present = [(position, row) for position, row in enumerate(rows.assessed) if not rows.is_empty(column[row])]
    form = _settle_form(rows, column, [row for _, row in present], words)
    if any(problem.kind == "mixed_confidence" for *_, problem in rows.found):
        return form, precision
    for position, row in present:
        if form == "level":
            power = _power(column[row], words)
            if power is None:
                message = (
                    "is not a known level: use high, medium or low (h, m, l), or give its meaning (--alias WORD=LEVEL)."
                )
                rows.complain("unknown_level", f"{_quote(column[row])} {message}", row, 3)
            else:
                precision[position] = power
            continue
        number = cells.number(column[row])
        if number is None:
            hint = " (a column of levels is given as level)" if _power(column[row], words) is not None else ""
            rows.complain(f"bad_{form}", f"the {form} {_quote(column[row])} is not a number{hint}.", row, 3)
        elif not math.isfinite(number) or number <= 0:
            message = "must be a positive, finite number."
            rows.complain(f"bad_{form}", f"the {form} {_quote(column[row])} {message}", row, 3)
        else:
            precision[position] = number
    if form == "level":
        return form, precision_of_level(precision.astype(np.int64), factor)
    if form == "uncertainty":
        precision = precision_of_uncertainty(precision)
    extreme = ~np.isfinite(precision) | (precision < np.finfo(float).tiny)
    for row in [rows.assessed[position] for position in np.flatnonzero(extreme).tolist()]:
        rows.complain(f"bad_{form}", f"the {form} {_quote(column[row])} is too extreme to compute with.", row, 3)
    return form, precision


def _settle_form(rows: _Rows, column: Sequence[object], present: Sequence[int], words: Mapping[str, int]) -> Form:
    """Return the form of a column that may hold levels or numbers, and complain where it holds both."""
    form = rows.cells.form
    if form != "level_or_uncertainty" and form != "level_or_confidence":
        return form
    levels = [row for row in present if _power(column[row], words) is not None]
    numbers = [
        row for row in present if _power(column[row], words) is None and rows.cells.number(column[row]) is not None
    ]
    if levels and numbers:
        first, other = sorted((levels[0], numbers[0]))
        message = (
            f"levels are mixed with numbers ({_quote(column[first])} in row {rows.cells.row_numbers[first]}, "
            f"{_quote(column[other])} here): use one or the other in the whole column."
        )
        rows.complain("mixed_confidence", message, other, 3)
    if levels or not numbers:
        return "level"
    return "uncertainty" if form == "level_or_uncertainty" else "confidence"


def _power(cell: object, words: Mapping[str, int]) -> int | None:
    return words.get(label_text(cell).strip().casefold())


def _further(rows: _Rows) -> tuple[NDArray[np.str_] | None, dict[str, NDArray[Any]], list[Problem]]:
    """Return the criterion and the covariates of each assessment, with notes on them; complain of empty cells."""
    notes: list[Problem] = []
    criterion: NDArray[np.str_] | None = None
    if rows.cells.criterion is not None:
        message = "the criterion is missing although there is a score: write which one it is for, or empty the score."
        present = rows.filled(rows.cells.criterion, 4, "empty_criterion", message)
        criterion = _categories(rows, rows.cells.criterion, present)
        criteria = list(dict.fromkeys(criterion.tolist()))
        notes += look_alikes("criterion", criteria, "criteria") + summaries("criterion", criteria)
    covariates: dict[str, NDArray[Any]] = {}
    for position, (name, column) in enumerate(rows.cells.covariates.items(), 5):
        message = f"there is a score but no {column.name}: fill it in, or leave this covariate out."
        present = rows.filled(column, position, "empty_covariate", message)
        numbers = {row: _covariate_number(rows.cells, column.cells[row]) for row in present}
        words = [row for row in present if numbers[row] is None]
        if not words and not column.is_categorical:
            covariates[name] = _finite(rows, column, numbers, position)
            continue
        covariates[name] = _categories(rows, column, present)
        if len(words) < len(present) and not column.is_categorical:
            message = (
                f"{name} was read as categories, since {_quote(column.cells[words[0]])} in row "
                f"{rows.cells.row_numbers[words[0]]} is not a number."
            )
            notes.append(Problem("mixed_covariate", message, f"column {column.name}"))
        notes += look_alikes(name, list(dict.fromkeys(covariates[name].tolist())), f"categories of {name}")
    return criterion, covariates, notes


def _covariate_number(cells: Cells, cell: Any) -> float | None:
    """Return the number in a cell of a covariate: true is 1 and false is 0."""
    return float(cell) if isinstance(cell, bool | np.bool_) else cells.number(cell)


def _finite(rows: _Rows, column: Further, numbers: Mapping[int, float | None], position: int) -> NDArray[np.float64]:
    """Return the numbers of a covariate, and complain of those that are not finite."""
    for row, number in numbers.items():
        if number is not None and not math.isfinite(number):
            message = f"{column.name} is {_quote(column.cells[row])}, which is not finite: write a finite number."
            rows.complain("bad_covariate", message, row, position, column.name)
    return np.array([numbers.get(row) or 0.0 for row in rows.assessed])


def _categories(rows: _Rows, column: Further, present: Sequence[int]) -> NDArray[np.str_]:
    """Return the cells of a further column as text without outer white space."""
    filled = set(present)
    texts = [label_text(column.cells[row]).strip() if row in filled else "" for row in rows.assessed]
    memory.require(4 * max(map(len, texts)) * len(texts), f"the texts in column {column.name}")
    return np.array(texts, dtype=np.str_)


def _encode(labels: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the distinct labels in order of appearance, and the code of each label."""
    codes: dict[str, int] = {}
    index = np.fromiter((codes.setdefault(label, len(codes)) for label in labels), np.int64, len(labels))
    return tuple(codes), index


def _not_assessed(rows: _Rows, objects: Sequence[str], assessors: Sequence[str]) -> list[Problem]:
    """Return notes on rows with a label but no score, and on labels that occur in no other rows."""
    cells, assessed = rows.cells, set(rows.assessed)
    labelled = zip(cells.object, cells.assessor, strict=True)
    skipped = [
        row
        for row, (object_, assessor) in enumerate(labelled)
        if row not in assessed and not (rows.is_empty(object_) and rows.is_empty(assessor))
    ]
    lost: dict[str, list[str]] = {}
    for role, column, known in (("object", cells.object, set(objects)), ("assessor", cells.assessor, set(assessors))):
        labels = (label_text(column[row]) for row in skipped if not rows.is_empty(column[row]))
        lost[role] = list(dict.fromkeys(label for label in labels if label not in known))
    return not_assessed([cells.row_numbers[row] for row in skipped], cells.names[2], lost)


def not_assessed(numbers: Sequence[int], column: str, lost: Mapping[str, Sequence[str]]) -> list[Problem]:
    """Return notes on rows without a score, given by their numbers, and on labels, by role, of no other rows."""
    if not len(numbers):
        return []
    shown = name_some(numbers)
    if len(numbers) == 1:
        message = f"1 row has no score and counts as not assessed (row {shown})."
    else:
        message = f"{len(numbers):,} rows have no score and count as not assessed (rows {shown})."
    notes = [Problem("not_assessed", message, f"column {column}")]
    for role, labels in lost.items():
        if labels:
            count = count_of(len(labels), role)
            message = f"{count} without any score, so not part of the result: {name_some(labels)}."
            notes.append(Problem(f"unassessed_{role}", message, f"{role} {labels[0]}"))
    return notes


def look_alikes(role: str, labels: Sequence[str], plural: str | None = None) -> list[Problem]:
    """Return a note for every group of labels that differ only in case, white space or Unicode form."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(alike_key(label), []).append(label)
    return [
        Problem(
            "similar_labels",
            f"the {plural or role + 's'} {', '.join(map(repr, alike))} differ only in case or white space and were "
            "kept apart: write them alike if they are the same.",
            f"{role} {alike[0]}",
        )
        for alike in groups.values()
        if len(alike) > 1
    ]


def alike_key(label: str) -> str:
    """Return what labels that differ only in case, white space or Unicode form have in common."""
    return "".join(unicodedata.normalize("NFKC", label).casefold().split())


def summaries(role: str, labels: Sequence[str]) -> list[Problem]:
    """Return a note for every label that looks like that of a row or column of sums or means."""
    return [
        Problem(
            "summary_label",
            f"the {role} {label!r} was taken for a true {role}: leave it out of the file if it holds sums or averages.",
            f"{role} {label}",
        )
        for label in labels
        if label.strip().casefold() in SUMMARY_WORDS
    ]


def _settle_duplicates(entries: Entries, duplicates: Duplicates, row_numbers: Sequence[int]) -> Entries:
    """Refuse, keep or combine assessments of the same object by the same assessor, for the same criterion."""
    pair = entries.object_index * len(entries.assessors) + entries.assessor_index
    if entries.criterion is not None:
        criteria, of_criterion = _encode(entries.criterion.tolist())
        pair = np.unique(pair, return_inverse=True)[1] * len(criteria) + of_criterion
    _, first, group, size = np.unique(pair, return_index=True, return_inverse=True, return_counts=True)
    extra = int(pair.size - size.size)
    if not extra:
        return entries
    if duplicates == "error":
        raise InputError([_duplicate(entries, rows, row_numbers) for rows in _together(group, size[group] > 1)])
    note = repeats_note(
        extra,
        duplicates,
        entries.form,
        with_criterion=entries.criterion is not None,
        with_covariates=bool(entries.covariates),
    )
    if duplicates == "keep":
        return replace(entries, notes=(*entries.notes, note))
    order = np.argsort(first)
    place = np.argsort(order)[group]
    kept = first[order]
    total = sum_by(place, entries.precision, kept.size)
    _refuse_differing(entries, place, kept, row_numbers)

    def mean(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        # as a step from the first number, so that a pair seen once keeps its own to the last digit
        step = entries.precision * (numbers - numbers[kept][place])
        return np.asarray(numbers[kept] + sum_by(place, step, kept.size) / total)

    equal = entries.form == "none"  # scores that all weigh alike go on weighing alike
    return replace(
        entries,
        object_index=entries.object_index[kept],
        assessor_index=entries.assessor_index[kept],
        score=mean(entries.score),
        precision=np.ones(kept.size) if equal else total,
        notes=(*entries.notes, note),
        criterion=None if entries.criterion is None else entries.criterion[kept],
        covariates={
            name: mean(cells) if cells.dtype.kind == "f" else cells[kept] for name, cells in entries.covariates.items()
        },
    )


def repeats_note(
    extra: int,
    duplicates: Duplicates,
    form: Form,
    *,
    with_criterion: bool = False,
    with_covariates: bool = False,
) -> Problem:
    """Return the note on assessments of the same object by the same assessor."""
    again = count_of(extra, "repeated assessment")
    if duplicates == "keep":
        return Problem("duplicate", f"{again} kept as separate assessments.")
    same = " for the same criterion" if with_criterion else ""
    what = "scores and covariates" if with_covariates else "scores"
    how = f"mean of the {what}" if form == "none" else f"weighted mean of the {what}, confidences added"
    message = f"{again} combined with the first of the same object by the same assessor{same} ({how})."
    return Problem("duplicate", message)


def _together(group: NDArray[np.int64], chosen: NDArray[np.bool_]) -> list[list[int]]:
    """Return the positions that are chosen, those of one group together, in order of appearance."""
    positions: dict[int, list[int]] = {}
    for position in np.flatnonzero(chosen).tolist():
        positions.setdefault(int(group[position]), []).append(position)
    return list(positions.values())


def _refuse_differing(
    entries: Entries, place: NDArray[np.int64], kept: NDArray[np.int64], row_numbers: Sequence[int]
) -> None:
    """Refuse to combine assessments whose covariates are different categories."""
    found: list[tuple[int, Problem]] = []
    for name, cells in entries.covariates.items():
        if cells.dtype.kind == "f":
            continue
        differs = np.zeros(kept.size, dtype=np.bool_)
        differs[place[cells != cells[kept][place]]] = True
        for rows in _together(place, differs[place]):
            shown = name_some([repr(text) for text in dict.fromkeys(cells[rows].tolist())])
            message = (
                f"{_scored(entries, rows)} with different {name} ({shown}), so these scores cannot be combined: "
                "correct the file, or choose duplicates keep (--duplicates keep)."
            )
            found.append((rows[0], Problem("bad_covariate", message, _listed(rows, row_numbers))))
    if found:
        raise InputError([problem for _, problem in sorted(found, key=lambda item: item[0])])


def _duplicate(entries: Entries, rows: Sequence[int], row_numbers: Sequence[int]) -> Problem:
    message = (
        f"{_scored(entries, rows)}: correct the file, or choose duplicates keep (separate assessments, --duplicates "
        "keep) or combine (their weighted mean, --duplicates combine)."
    )
    return Problem("duplicate", message, _listed(rows, row_numbers))


def _scored(entries: Entries, rows: Sequence[int]) -> str:
    """Return who scored what how often."""
    first = rows[0]
    times = "twice" if len(rows) == 2 else f"{len(rows)} times"
    same = "" if entries.criterion is None else f" for criterion {entries.criterion[first]}"
    object_ = entries.objects[entries.object_index[first]]
    return f"assessor {entries.assessors[entries.assessor_index[first]]} scored object {object_} {times}{same}"


def _listed(rows: Sequence[int], row_numbers: Sequence[int]) -> str:
    numbers = [str(row_numbers[row]) for row in rows]
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def _quote(cell: object) -> str:
    text = label_text(cell)
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
