"""A table while it is understood: its columns, what is known of them, which rows count, and what is left out."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.panel import lexicon
from evenhand.panel.column import Cell, Column, Table, comparable, factorise
from evenhand.panel.confidence import LEVELS, FormHint
from evenhand.panel.headings import (
    BESIDE,
    COMPUTED,
    SCALE,
    Meaning,
    fold,
    is_computed,
    meaning_of,
    plain_text,
    weights_in,
)
from evenhand.panel.layout import Given, Kind, Layout, LeftOut, Slot, find_column, listed_names, quoted, several_columns
from evenhand.panel.rules import is_empty, parse_score, rows_place, says_nothing, score_words, split_uncertain
from evenhand.words import argument, name_some, remark

ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
Nature = Literal["empty", "score", "choice", "flag", "text"]
"""What the cells of a column are."""
_LONGEST: Final = 80
_DATE: Final = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


class Facts:
    """What the cells of a column look like."""

    def __init__(self, at: int, column: Column, decimal_comma: bool) -> None:
        self.at, self.name, self._column, self._comma = at, column.name, column, decimal_comma

    @cached_property
    def meaning(self) -> Meaning | None:
        """What the heading means."""
        return meaning_of(self.name) if self.name else None

    @property
    def kind(self) -> str:
        """What the heading means, in a word; nothing where it is unknown."""
        if self.meaning is None or (self.meaning.kind == "remark" and self.is_scores and self.words is None):
            return ""
        return self.meaning.kind

    @cached_property
    def kinds(self) -> tuple[list[Cell], NDArray[np.intp]]:
        """The distinct cells, of which the first is None for an empty one, and for each row which of them it has."""
        column = self._column if self._column.numbers is None else factorise(self.name, list(self._column))
        found: list[Cell] = [None]
        known: dict[object, int] = {}
        place = np.zeros(len(column.cells) + 1, np.intp)  # the last for cells without a code
        for code, cell in enumerate(column.cells):
            if is_empty(cell):
                continue
            place[code] = known.setdefault(cell if type(cell) is str else comparable(cell), len(found))
            if place[code] == len(found):
                found.append(cell)
        return found, place[np.minimum(column.codes, len(column.cells))]

    def rows_where(self, test: Callable[[Cell], bool]) -> NDArray[np.bool_]:
        """Say for each row whether its cell is filled and a test holds, asked once for each distinct cell."""
        cells, place = self.kinds
        return np.array([cell is not None and test(cell) for cell in cells], np.bool_)[place]

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, empty ones None."""
        cells, place = self.kinds
        return [cells[at] for at in place.tolist()]

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which rows have a cell."""
        return np.asarray(self.kinds[1] > 0)

    @cached_property
    def distinct(self) -> Mapping[Cell, int]:
        """How often each cell stands."""
        cells, place = self.kinds
        times = np.bincount(place, minlength=len(cells)).tolist()
        return {cell: count for cell, count in zip(cells, times, strict=True) if cell is not None and count}

    @cached_property
    def count(self) -> int:
        """Number of cells that are not empty."""
        return int(self.filled.sum())

    def share(self, test: Callable[[Cell], bool]) -> float:
        """Return for which part of the filled cells a test holds."""
        return sum(times for cell, times in self.distinct.items() if test(cell)) / max(self.count, 1)

    @cached_property
    def words(self) -> dict[str, float] | None:
        """What scores in words stand for, where these are some."""
        return score_words(self.distinct)

    @cached_property
    def is_scores(self) -> bool:
        """Whether the cells can be scores: numbers, what says that there is none, or words in a known order."""
        if all(map(says_nothing, self.distinct)) or self.share(_is_date) > 0.5:
            return False
        if self.words is not None:
            return True
        return (
            self.share(lambda cell: parse_score(cell, decimal_comma=self._comma) is not None or says_nothing(cell))
            >= 0.5
        )

    @cached_property
    def is_levels(self) -> bool:
        """Whether every cell says how sure somebody is: a known word, or a step of a small scale."""
        return bool(self.distinct) and all(
            plain_text(cell) in LEVELS if isinstance(cell, str) and parse_score(cell) is None else True
            for cell in self.distinct
        )

    @cached_property
    def nature(self) -> Nature:
        """Whether the cells are scores, one of a few choices, yes and no, or text; nothing where all are empty."""
        if not self.distinct:
            return "empty"
        texts = [str(cell).strip() for cell in self.distinct]
        if all(plain_text(text) in lexicon.FLAGS for text in texts):
            return "flag"
        if self.is_scores and self.kind != "remark":
            return "score"
        few = len(texts) <= 12 and (len(texts) <= 2 or 2 * len(texts) <= max(len(self.cells), 6))
        is_short = all(len(text) <= _LONGEST and "\n" not in text for text in texts)
        return "choice" if few and is_short and self.kind != "remark" else "text"

    @cached_property
    def numbers(self) -> Floats:
        """The number of each row, NaN where there is none."""
        found = {cell: parse_score(cell, decimal_comma=self._comma) for cell in self.distinct}
        value = {cell: math.nan if score is None else score.number for cell, score in found.items()}
        if self.words is not None:
            value |= {cell: self.words.get(fold(cell), value[cell]) for cell in value if isinstance(cell, str)}
        cells, place = self.kinds
        return np.array([value.get(cell, math.nan) for cell in cells])[place]

    @property
    def is_unique(self) -> bool:
        """Whether no cell stands twice."""
        return self.count > 1 and len(self.distinct) == self.count

    @property
    def is_mail(self) -> bool:
        """Whether the cells are e-mail addresses."""
        return bool(self.distinct) and self.share(lambda cell: bool(ADDRESS.fullmatch(str(cell).strip()))) > 0.6

    @property
    def is_prose(self) -> bool:
        """Whether the cells are sentences."""
        texts = [cell for cell in self.distinct if isinstance(cell, str)]
        return bool(texts) and sum(map(len, texts)) / len(texts) > 60

    @property
    def is_text(self) -> bool:
        """Whether most cells are text that is no number."""
        return (
            self.share(lambda cell: isinstance(cell, str) and parse_score(cell, decimal_comma=self._comma) is None)
            > 0.5
        )

    @property
    def can_label(self) -> bool:
        """Whether the cells can be labels."""
        if not self.distinct or self.is_prose or self.kind == "time" or self.share(_is_date) > 0.5:
            return False
        finite = self.numbers[np.isfinite(self.numbers)]
        return self.is_text or self.words is not None or bool((finite == np.floor(finite)).all())


def _is_date(cell: Cell) -> bool:
    return hasattr(cell, "isoformat") or (isinstance(cell, str) and bool(_DATE.fullmatch(cell.strip())))


class TableFacts:
    """A table while it is understood."""

    def __init__(self, table: Table, given: Given) -> None:
        self._as_given, self.given, self.source = table, given, table.source
        self.table, self._spreads = _without_spreads(table)
        columns = (replace(one, name=name) for one, name in zip(self.table.columns, table.names, strict=True))
        self.facts = [Facts(at, column, table.decimal_comma) for at, column in enumerate(columns)]
        self.left_out: dict[int, str] = {}
        self.why: list[str] = []
        self.notes: list[Problem] = []
        self.rows: NDArray[np.bool_] | None = None

    def named(self, role: str) -> Facts | None:
        """Return the column that the user named for a role; None where none was."""
        name = getattr(self.given, role)
        return None if name is None else self.columns([name], role)[0]

    def columns(self, names: Sequence[str], option: str) -> list[Facts]:
        """Return the columns that the user named with an option."""
        named = listed_names(names)
        return [self.facts[find_column(self.table.names, one, option=option, source=self.source)] for one in named]

    def follows(self, one: Facts, other: Facts) -> bool:
        """Say whether a cell of one column follows from that of the other."""
        here, there = one.kinds[1], other.kinds[1]
        pairs = np.unique(there[there > 0] * len(one.kinds[0]) + here[there > 0])
        return bool(pairs.size == np.unique(there[there > 0]).size)

    def best(self, found: Sequence[Facts], role: str) -> Facts | None:
        """Return the column to know objects or assessors by, where one says more than all others."""
        if not found:
            return None
        strongest = max(facts.meaning.strength for facts in found if facts.meaning is not None)
        finest = [one for one in found if all(self.follows(other, one) for other in found)]
        if not finest:
            found = [facts for facts in found if facts.meaning is not None and facts.meaning.strength == strongest]
            finest = [one for one in found if all(self.follows(other, one) for other in found)]
        if not finest:
            raise several_columns([facts.name for facts in found], role, [role], self.source)
        own = [one for one in finest if fold(one.name) == role]  # our own word, as on the sheets of a design
        mails = [one for one in finest if one.is_mail]
        coded = tagged(finest) if role == "object" else []
        return (own or mails or coded or finest)[0]

    def rows_of(self, labels: Facts, scores: Sequence[Facts], others: Facts | None = None) -> NDArray[np.bool_] | None:
        """Return the rows that are assessments: no sums or means, no headings again, nothing below the table.

        ``others`` label the rows, too, where each has an assessor: then nothing is computed there.
        """
        is_sum = self._computed_rows(labels, scores, others)
        is_signed = labels.rows_where(lambda cell: str(cell).endswith(":"))  # such as ``Signed: ____``
        if is_signed.any():
            is_signed &= np.all([~one.filled | one.rows_where(says_nothing) for one in scores], axis=0)
        again = np.sum([one.rows_where(functools.partial(_is_name, one.name)) for one in self.facts], axis=0)
        full = np.sum([one.filled for one in self.facts], axis=0)
        is_rule = (full > 0) & (full == np.sum([one.rows_where(_is_rule) for one in self.facts], axis=0))
        kept = ~(is_sum | is_signed | ((again > 1) & (again >= 0.5 * full)) | is_rule)
        sums = np.flatnonzero(is_sum).tolist()
        if sums:
            numbers = [int(self.table.row_numbers[row]) for row in sums]
            told = list(dict.fromkeys(repr(str(labels.cells[row])) for row in sums if labels.cells[row] is not None))
            message = remark(
                ("{labels} look computed, so left out." if len(told) > 1 else "{labels} looks computed, so left out.")
                if told
                else "looks computed, so left out.",
                labels=name_some(told),
            )
            self.notes.append(Problem("summary_rows", message, rows_place(numbers)))
        scored = np.any([facts.filled for facts in scores], axis=0) & kept if scores else kept
        if scored.any():
            last = len(scored) - 1 - int(np.argmax(scored[::-1]))
            filled = np.sum([facts.filled for facts in self.facts], axis=0)
            foot = [
                row
                for row in range(last + 1, len(scored))
                if kept[row] and filled[row] <= 2 and self._is_remark(labels, row)
            ]
            if foot:
                kept[foot] = False
        beside = [int(self.table.row_numbers[row]) for row in np.flatnonzero(~kept & labels.filled) if row not in sums]
        if beside:
            message = remark("left out, since no assessment stands there.")
            self.notes.append(Problem("no_assessment", message, rows_place(beside)))
        self.rows = None if kept.all() else kept
        return self.rows

    def _computed_rows(self, labels: Facts, scores: Sequence[Facts], others: Facts | None) -> NDArray[np.bool_]:
        """Say which rows name something computed, and no assessor who is none."""
        is_alone = np.ones(len(self.table), np.bool_)
        both = [labels] if others is None else sorted((labels, others), key=lambda one: len(one.kinds[0]))
        for side in both:  # the one with fewer labels first, which mostly settles it
            is_alone &= ~side.filled | side.rows_where(is_computed)
            if not is_alone.any():
                return is_alone
        texts = [column for column in self.facts[:4] if column.can_label and column not in scores] or [labels]
        strict = np.any([facts.rows_where(is_computed) for facts in texts], axis=0)
        loose = np.any([facts.rows_where(functools.partial(is_computed, is_loose=True)) for facts in texts], axis=0)
        return np.asarray(np.where(labels.filled, strict, loose) & is_alone)

    def _is_remark(self, labels: Facts, row: int) -> bool:
        """Say whether a row without scores is a remark below the table, and no object that nobody assessed."""
        cell = labels.cells[row]
        return isinstance(cell, str) and (len(cell.split()) > 3 or len(cell) > 30 or cell.strip()[:1] in "*†")

    def finish(
        self,
        kind: Kind,
        slots: Sequence[Slot],
        form: FormHint,
        covariates: Sequence[int] = (),
        weights: Mapping[str, float] | None = None,
    ) -> Layout:
        """Return the layout, with what is told beside and what is left out."""
        if not covariates and self.given.covariates:
            covariates = [facts.at for facts in self.columns(self.given.covariates, "covariates")]
        slots, form = self._with_spreads(slots, form)
        read = {place for slot in slots for place in slot if isinstance(place, int)} | set(covariates)
        details = self._details(slots, read)
        left_out = []
        for facts in self.facts:
            if facts.at in read or any(facts.at in places for places in details) or not facts.name:
                continue
            left_out.append(LeftOut(facts.name, self.left_out.get(facts.at) or _why_left(facts)))
        scores = [self.facts[slot.score] for slot in slots]
        words = score_words([cell for facts in scores for cell in facts.distinct])
        scale = None
        sure = {slot.confidence for slot in slots if slot.confidence is not None}
        for at in sure & {facts.at for facts in self.facts}:
            if (found := SCALE.search(self.facts[at].name)) and int(found[1]) < int(found[2]) <= 10:
                scale = float(found[1]), float(found[2])
        return Layout(
            kind=kind,
            slots=tuple(slots),
            form=form if sure else "none",
            covariates=tuple(covariates),
            object_details=details[0],
            assessor_details=details[1],
            left_out=tuple(left_out),
            weights=weights or {},
            scores=words,
            scale=scale,
            rows=self.rows,
            notes=tuple(self.notes),
            why=tuple(self.why),
            table=None if self.table is self._as_given else self.table,
        )

    def _with_spreads(self, slots: Sequence[Slot], form: FormHint) -> tuple[list[Slot], FormHint]:
        """Return slots with the uncertainties that stand in the cells of scores, where nothing else says any."""
        if not any(slot.score in self._spreads for slot in slots) or any(slot.confidence is not None for slot in slots):
            return list(slots), form
        found = []
        for slot in slots:
            spread = self._spreads.get(slot.score)
            if spread is not None:
                columns = (*self.table.columns, spread)
                self.table = replace(self.table, names=(*self.table.names, spread.name), columns=columns)
            found.append(slot if spread is None else slot._replace(confidence=len(self.table.columns) - 1))
        return found, "uncertainty"

    def _details(self, slots: Sequence[Slot], read: set[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return columns that tell something of each object, and of each assessor."""
        found = []
        taken = set(read) | set(self.left_out)
        for side in ("object", "assessor"):
            places = {getattr(slot, side) for slot in slots}
            place = next(iter(places))
            own: list[int] = []
            if len(places) == 1 and isinstance(place, int):
                labels = self.facts[place]
                for facts in self.facts:
                    if facts.at in taken or not facts.name or facts.kind in ("time", "counter") or not facts.count:
                        continue
                    told = facts.kind in ("title", "self", side) or facts.is_mail or not facts.is_prose
                    if told and not facts.is_prose and len(facts.distinct) > 1 and self.follows(facts, labels):
                        own.append(facts.at)
                        taken.add(facts.at)
            found.append(tuple(own))
        return found[0], found[1]

    @cached_property
    def scored(self) -> NDArray[np.bool_]:
        """Rows that have something that can be a score."""
        found = np.zeros(len(self.table), np.bool_)
        for facts in self.facts:
            if facts.kind == "score" and facts.is_scores:
                found |= facts.filled
        return found if found.any() else np.ones(len(self.table), np.bool_)


def _without_spreads(table: Table) -> tuple[Table, dict[int, Column]]:
    """Return a table in which cells such as ``7.5 ± 0.8`` are scores, and the uncertainties by place of the column."""
    spreads: dict[int, Column] = {}
    columns = list(table.columns)
    for at, column in enumerate(table.columns):
        parts = {cell: part for cell in column.cells if (part := split_uncertain(cell)) is not None}
        if parts:
            cells = list(column)
            columns[at] = factorise(column.name, [parts[cell][0] if cell in parts else cell for cell in cells])
            said = f"{table.names[at]} ±"
            spreads[at] = factorise(said, [parts[cell][1] if cell in parts else None for cell in cells])
    return (replace(table, columns=tuple(columns)), spreads) if spreads else (table, spreads)


def told_places(labels: Sequence[str], reason: str, is_ragged: bool, option: str, source: str) -> Problem:
    """Refuse labels that seem to be places and not people, or return a note where objects have all of them."""
    if is_ragged:
        raise InputError(
            remark(
                "{reason}, so they seem to be places and not people: {label} of one object need not be the same person "
                "as of another, and then nobody can be calibrated. Export the names of the assessors; if each is one "
                "person, give {option}.",
                reason=reason,
                label=labels[0],
                option=option,
            ),
            kind="positions",
            where=source,
        )
    message = remark(
        "{labels} were taken for people. If {label} is not the same person for every object, the result means nothing: "
        "write the names instead.",
        labels=quoted(list(labels)),
        label=repr(labels[0]),
    )
    return Problem("positions", message, source)


# --- what is computed ---


def computed(facts: Facts, others: Sequence[Facts]) -> str | None:
    """Return what a column was computed as from others, if it was.

    A column whose name does not say so has to follow in every row, and to be finer than the others where it is their
    mean: the scores of a person may happen to lie in the middle. Ranks may be those of any summary.
    """
    if len(others) < 2 or not np.isfinite(facts.numbers).any():
        return None
    values = np.column_stack([one.numbers for one in others])
    usable = np.isfinite(facts.numbers) & (np.isfinite(values).sum(axis=1) > 1)
    if usable.sum() < 2:
        return None
    target, values = facts.numbers[usable], values[usable]
    decimals = _decimals(target)
    close = 0.5 * 10.0 ** -min(decimals, 6) * 1.02 + 1e-6
    weights = list(weights_in([one.name for one in others]).values())
    is_named = is_summary(facts) or facts.kind == "score"
    is_sure = is_named and fold(facts.name) not in lexicon.PERSONAL
    if facts.kind == "rank" and is_ranks(facts):
        return remark("looks like {what}", what=remark("a rank"))
    tests: list[tuple[str, Callable[[Floats], Floats]]] = []
    if is_sure or target.max() > np.nanmax(values):
        tests += [(remark("the sum of the others"), lambda x: np.nansum(x, axis=1))]
    if is_sure or decimals > max(map(_decimals, values.T)):
        tests += [
            (remark("the mean of the others"), lambda x: np.nanmean(x, axis=1)),
            (remark("the median of the others"), lambda x: np.nanmedian(x, axis=1)),
        ]
    if len(weights) == len(others):
        share = np.array(weights) / sum(weights)
        tests += [
            (remark("the weighted mean of the others"), lambda x: x @ share),
            (remark("a weighted sum"), lambda x: x @ np.array(weights)),
        ]
    if is_named:
        tests += [
            (remark("the spread of the others"), lambda x: np.nanstd(x, axis=1, ddof=1)),
            (remark("the spread of the others"), lambda x: np.nanstd(x, axis=1)),
            (remark("the highest of the others"), lambda x: np.nanmax(x, axis=1)),
            (remark("the lowest of the others"), lambda x: np.nanmin(x, axis=1)),
            (remark("the number of the others"), lambda x: np.isfinite(x).sum(axis=1).astype(float)),
        ]
    if not is_sure and (usable.sum() < 3 or target.min() == target.max()):
        return None
    for what, compute in tests:
        if np.mean(np.abs(compute(values) - target) <= close) > (0.6 if is_sure else 0.95):
            return remark("looks like {what}", what=what)
    return None


def is_in_the_middle(facts: Facts, others: Sequence[Facts]) -> bool:
    """Say whether a column has the mean of others in every row, as finely as it is written."""
    values = np.column_stack([one.numbers for one in others]) if others else np.zeros((len(facts.cells), 0))
    usable = np.isfinite(facts.numbers) & (np.isfinite(values).sum(axis=1) > 1)
    if usable.sum() < 4 or not np.array_equal(usable, np.isfinite(facts.numbers)):
        return False
    close = 0.5 * 10.0 ** -_decimals(facts.numbers) + 1e-6
    return bool((np.abs(np.nanmean(values[usable], axis=1) - facts.numbers[usable]) <= close).all())


def _decimals(numbers: Floats) -> int:
    """Return how many decimals the finest of some numbers has, up to 6."""
    found = numbers[np.isfinite(numbers)].tolist()
    return max((len(f"{number:.6f}".rstrip("0").partition(".")[2]) for number in found), default=0)


def is_ranks(facts: Facts) -> bool:
    """Say whether the numbers of a column are places in an order, ties included."""
    found = np.sort(facts.numbers[np.isfinite(facts.numbers)])
    below, up_to = np.searchsorted(found, found, "left"), np.searchsorted(found, found, "right")
    dense = np.unique(found, return_inverse=True)[1] + 1
    ways = (below + 1, up_to, (below + 1 + up_to) / 2, dense)
    return found.size > 1 and any(np.array_equal(found, way) for way in ways)


def tagged(found: Sequence[Facts]) -> list[Facts]:
    """Return columns whose names say that they are numbers or codes."""
    return [one for one in found if set(fold(one.name).split()) & (set(lexicon.TAGS) - {"name"})]


def _is_name(name: str, cell: Cell) -> bool:
    return bool(name) and isinstance(cell, str) and cell.strip() == name and parse_score(name) is None


def _is_rule(cell: Cell) -> bool:
    """Say whether a cell is nothing but a line, as below the header of a table in plain text."""
    return isinstance(cell, str) and set(cell.strip()) <= set("-:= ")


def another() -> str:
    """Return why a column of scores is left out beside the one that is read."""
    return remark(
        "another criterion: {score} or {criteria} chooses it", score=argument("score"), criteria=argument("criteria")
    )


def is_summary(facts: Facts) -> bool:
    """Say whether a column is computed, by its name."""
    return facts.kind in COMPUTED or fold(facts.name) in lexicon.SUMS


def share_of(found: Sequence[object], test: Callable[..., bool]) -> float:
    """Return for which part of some things a test holds."""
    return sum(map(test, found)) / max(len(found), 1)


def _why_left(facts: Facts) -> str:
    """Return why a column is not read that nothing else was said of."""
    if facts.kind in BESIDE:
        return BESIDE[facts.kind]
    if facts.kind in COMPUTED:
        return remark("looks like {what}", what=remark(COMPUTED[facts.kind]))
    if not facts.count:
        return remark("empty")
    return remark("text" if facts.is_prose else "not needed")
