"""How a table holds assessments: which columns are scores, and where the object and the assessor of each stand.

A row may be one assessment, or an object with a column for each assessor, an assessor with a column for each object, or
have several scores of other kinds. All of these are *slots*: a column of scores, and for each what says its object,
assessor, confidence and criterion, which is a column or one label for all rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.panel import lexicon
from evenhand.panel.column import NO_CODE, Cell, Column, Table, factorise
from evenhand.panel.confidence import FormHint
from evenhand.panel.roles import (
    FORMS,
    Meaning,
    Roles,
    find_column,
    fold,
    form_of,
    listed_names,
    meaning_of,
    missing_columns,
    quoted,
    recognise,
    without_number,
)
from evenhand.panel.rules import Options, is_empty, label_text, parse_score, says_nothing, score_words
from evenhand.words import count_of, name_some

Kind = Literal["long", "wide", "across", "groups"]
"""One assessment a row; objects down and assessors across; assessors down and objects across; several assessors a row,
each with a column for the name."""


class Slot(NamedTuple):
    """A column of scores, and what says of each its object, assessor, confidence and criterion.

    That is a column, by its place, or a label that holds for all rows.
    """

    score: int
    object: int | str
    assessor: int | str
    confidence: int | None = None
    criterion: int | str | None = None


class LeftOut(NamedTuple):
    """A column that is not read, and why."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Given:
    """What the user said of a table: names of columns, and how it is laid out."""

    object: str | None = None
    assessor: str | None = None
    score: str | None = None
    uncertainty: str | None = None
    confidence: str | None = None
    level: str | None = None
    criterion: str | None = None
    covariates: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    layout: Kind | None = None

    @property
    def named(self) -> dict[str, str]:
        """Columns that were named, by the argument that names them."""
        names = ("object", "assessor", "score", "uncertainty", "confidence", "level", "criterion")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table was understood to be."""

    kind: Kind
    slots: tuple[Slot, ...]
    form: FormHint = "none"
    covariates: tuple[int, ...] = ()
    object_details: tuple[int, ...] = ()
    assessor_details: tuple[int, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    """What criteria count, where headings say so."""
    scores: Mapping[str, float] | None = None
    """Words for scores."""
    scale: tuple[float, float] | None = None
    """Ends of the scale of confidence, where its heading says so."""
    rows: NDArray[np.bool_] | None = None
    """Rows that hold assessments; None for all."""
    notes: tuple[Problem, ...] = ()
    why: tuple[str, ...] = ()
    table: Table | None = None
    """The table with columns that were added to it, if any were."""

    def settle(self, options: Options) -> Options:
        """Return options with what the table says of its own words and scales, unless the user said otherwise."""
        return replace(
            options,
            scores=options.scores if options.scores is not None else self.scores,
            level_scale=options.level_scale if options.level_scale is not None else self.scale,
        )

    @property
    def roles(self) -> Roles | None:
        """The columns of a table that has one assessment a row; None of any other."""
        slot = self.slots[0]
        if (
            len(self.slots) > 1
            or isinstance(slot.object, str)
            or isinstance(slot.assessor, str)
            or self.rows is not None
        ):
            return None
        criterion = slot.criterion
        if isinstance(criterion, str):
            return None
        return Roles(slot.object, slot.assessor, slot.score, slot.confidence, self.form, criterion, self.covariates)


# --- columns -----------------------------------------------------------------------------------------

_MAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_CODE: Final = re.compile(r"[#(]?[A-Za-z]{0,5}[\s._/-]?\d[\w./-]*\)?")
_DATE: Final = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")
_WEIGHT: Final = re.compile(r"[(\[]\s*(\d+(?:[.,]\d+)?)\s*%\s*[)\]]")
_SCALE: Final = re.compile(r"(\d+)\s*(?:-|–|—|to|bis|a|à|tot)\s*(\d+)")


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
        return self.meaning.kind if self.meaning is not None else ""

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, empty ones None."""
        return [None if is_empty(cell) else cell for cell in self._column]

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which rows have a cell."""
        return np.array([cell is not None for cell in self.cells], np.bool_)

    @cached_property
    def distinct(self) -> dict[Cell, int]:
        """How often each cell stands."""
        found: dict[Cell, int] = {}
        for cell in self.cells:
            if cell is not None:
                found[cell] = found.get(cell, 0) + 1
        return found

    @property
    def count(self) -> int:
        """Number of cells that are not empty."""
        return sum(self.distinct.values())

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
        if not self.distinct or self.share(says_nothing) == 1 or self.share(_is_date) > 0.5:
            return False
        if self.words is not None:
            return True
        return (
            self.share(lambda cell: parse_score(cell, decimal_comma=self._comma) is not None or says_nothing(cell))
            >= 0.5
        )

    @cached_property
    def numbers(self) -> Floats:
        """The number of each row, NaN where there is none."""
        found = {cell: parse_score(cell, decimal_comma=self._comma) for cell in self.distinct}
        value = {cell: math.nan if score is None else score.number for cell, score in found.items()}
        if self.words is not None:
            value |= {cell: self.words.get(fold(cell), value[cell]) for cell in value if isinstance(cell, str)}
        return np.array([math.nan if cell is None else value[cell] for cell in self.cells])

    @property
    def is_unique(self) -> bool:
        """Whether no cell stands twice."""
        return self.count > 1 and len(self.distinct) == self.count

    @property
    def is_mail(self) -> bool:
        """Whether the cells are e-mail addresses."""
        return bool(self.distinct) and self.share(lambda cell: bool(_MAIL.fullmatch(str(cell).strip()))) > 0.6

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


def is_code(label: str) -> bool:
    """Say whether a label looks like a number or code of a thing, such as ``P07`` or ``#12``."""
    return bool(_CODE.fullmatch(label.strip()))


# --- the header --------------------------------------------------------------------------------------


def find_header(rows: Sequence[Sequence[Cell]]) -> tuple[int, bool]:
    """Return which of the first rows of a sheet is the header, and whether the row below it is part of it.

    What stands above is a banner: a title, a date. The first row that is as wide as a typical one and holds names,
    not numbers, is the header.

    Examples
    --------
    >>> find_header([["Panel 2026"], [], ["Proposal", "Anna", "Ben"], ["P1", 7, 8], ["P2", 5, 6]])
    (2, False)
    """
    filled = [[cell for cell in row if not is_empty(cell)] for row in rows]
    widths = sorted(len(cells) for cells in filled if len(cells) > 1)
    if not widths:
        return next((at for at, cells in enumerate(filled) if cells), 0), False
    typical = widths[len(widths) // 2]
    first = next(at for at, cells in enumerate(filled) if cells)
    for share in (0.7, 0.5):
        for at, cells in enumerate(filled[:25]):
            if len(cells) < 2 or len(cells) < share * typical:
                continue
            names = [cell for cell in cells if isinstance(cell, str) and parse_score(cell) is None]
            known = sum(meaning_of(name) is not None for name in names)
            if len(names) >= 0.7 * len(cells) or (at == first and known) or known >= 3:
                if at > first and _is_above(rows[at - 1], rows[at]):
                    return at - 1, True
                return at, _has_second(rows, filled, at)
    return first, False


def _has_second(rows: Sequence[Sequence[Cell]], filled: Sequence[Sequence[Cell]], at: int) -> bool:
    """Say whether the row below the header goes on with it: names below headings that are merged."""
    if at + 2 >= len(rows) or not filled[at + 1]:
        return False
    top, below = rows[at], rows[at + 1]
    if any(not isinstance(cell, str) or parse_score(cell) is not None for cell in filled[at + 1]):
        return False
    spans = [
        column
        for column, cell in enumerate(below)
        if not is_empty(cell) and (column >= len(top) or is_empty(top[column]) or _spans(top, column))
    ]
    if len(spans) < 2:
        return False
    later = [row for row, cells in zip(rows[at + 2 : at + 12], filled[at + 2 :], strict=False) if cells]
    scored = [any(len(row) > column and parse_score(row[column]) is not None for row in later) for column in spans]
    return sum(scored) >= 2


def _is_above(top: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Say whether a row holds headings that are merged over names which stand several times."""
    names = [cell for cell in below if not is_empty(cell)]
    upper = [cell for cell in top if not is_empty(cell)]
    return len(set(names)) < len(names) and len(upper) > 1 and all(isinstance(cell, str) for cell in upper)


def _spans(top: Sequence[Cell], column: int) -> bool:
    """Say whether a heading is followed by an empty one, over which it may be merged."""
    return column + 1 < len(top) and is_empty(top[column + 1])


def joined_names(top: Sequence[Cell], below: Sequence[Cell]) -> list[str]:
    """Return the names of columns whose headings stand in two rows, the upper ones merged over several columns.

    Examples
    --------
    >>> joined_names(["Proposal", "Anna", None, "Ben"], [None, "Score", "Confidence", "Score"])
    ['Proposal', 'Anna: Score', 'Anna: Confidence', 'Ben: Score']
    """
    names, over = [], ""
    for at in range(max(len(top), len(below))):
        upper = "" if at >= len(top) or is_empty(top[at]) else label_text(top[at]).strip()
        lower = "" if at >= len(below) or is_empty(below[at]) else label_text(below[at]).strip()
        over = upper or (over if lower else "")
        names.append(f"{over}: {lower}" if over and lower else over or lower)
    return names


def by_names(names: Sequence[str], given: Given, source: str) -> Roles | None:
    """Return the columns of one assessment a row where the very names settle them; None where more must be looked at.

    What the user said is held against the names at once.
    """
    if given.criteria or given.layout not in (None, "long"):
        return None
    try:
        roles = recognise(names, **given.named, covariates=given.covariates, source=source)
    except InputError as error:
        if {"object", "assessor", "score"} <= given.named.keys() or "--" in str(error).partition(":")[0]:
            raise
        _ = [find_column(names, one, option="covariate", source=source) for one in listed_names(given.covariates)]
        _ = [find_column(names, one, option=role, source=source) for role, one in given.named.items()]
        if len(given.named.keys() & FORMS.keys()) > 1 or "is given" in str(error):
            raise
        return None
    if given.assessor is None and fold(names[roles.assessor]).startswith("model"):
        return None  # which may be judged as well as judge
    return roles


def of_names(names: Sequence[str], roles: Roles) -> Layout:
    """Return the layout of a table with one assessment a row of which only the names were looked at."""
    meanings = ((at, name, meaning_of(name)) for at, name in enumerate(names) if name and at not in roles.used)
    left_out = [LeftOut(name, _BESIDE.get("" if one is None else one.kind, "not needed")) for _, name, one in meanings]
    slot = Slot(roles.score, roles.object, roles.assessor, roles.confidence, roles.criterion)
    return Layout("long", (slot,), roles.form, roles.covariates, left_out=tuple(left_out))


# --- understanding -----------------------------------------------------------------------------------


def understand(table: Table, given: Given = Given()) -> Layout:  # noqa: B008  # never changed
    """Return how a table holds assessments; ``given`` is what the user said of it.

    Raises
    ------
    InputError
        If a column is missing, or two readings are as likely: then it says which option settles it.
    """
    reader = _Reader(table, given)
    if given.layout in ("wide", "across"):
        return reader.matrix(given.layout)
    if given.layout == "groups":
        return reader.groups() or _fail(reader, ["assessor"])
    return reader.any()


def _fail(reader: _Reader, roles: Sequence[str]) -> Layout:
    raise missing_columns(roles, reader.table.names, reader.table.source)


class _Reader:
    """A table while it is understood."""

    def __init__(self, table: Table, given: Given) -> None:
        self.table, self.given, self.source = table, given, table.source
        self._width = len(table.columns)
        columns = (replace(column, name=name) for column, name in zip(table.columns, table.names, strict=True))
        self.facts = [Facts(at, column, table.decimal_comma) for at, column in enumerate(columns)]
        self.left_out: dict[int, str] = {}
        self.why: list[str] = []
        self.notes: list[Problem] = []
        self.rows: NDArray[np.bool_] | None = None

    # --- which layout ------------------------------------------------------------------------------

    def any(self) -> Layout:
        """Return the layout that fits."""
        exact = self._by_names()
        if exact is not None:
            return exact
        groups = self.groups() if not self.given.named.keys() - {"object"} else None
        if groups is not None:
            return groups
        objects, assessors = self._sides()
        if objects is not None and assessors is not None:
            return self._long(objects, assessors)
        if self.given.named.keys() & {"score", "criterion"}:
            return self._long_or_fail(objects, assessors)
        if self.given.assessor is None and len(self._across(objects)) >= 2 and assessors is None:
            return self.matrix(None)
        if assessors is not None and objects is None and len(self._across(assessors)) >= 2:
            return self.matrix("across")
        return self._long_or_fail(objects, assessors)

    def _by_names(self) -> Layout | None:
        """Return the layout of a table of which the very names settle everything; None where more must be looked at."""
        given, roles = self.given, by_names(self.table.names, self.given, self.source)
        if roles is None:
            return None
        if given.score is None and self._has_criteria(roles):
            return None
        objects, assessors, score = (self.facts[at] for at in (roles.object, roles.assessor, roles.score))
        rows = self._rows_of(objects, [score], assessors)
        down = self._fill_down(objects, assessors, [score], rows)
        sure, form = roles.confidence, roles.form
        if sure is None:
            sure, form = self._sureness(set(roles.used))
        slot = Slot(roles.score, down, roles.assessor, sure, roles.criterion)
        return self._finish("long", [slot], form)

    def _has_criteria(self, roles: Roles) -> bool:
        """Say whether the score is computed from other columns, which then are the scores."""
        others = [
            facts
            for facts in self.facts
            if facts.at not in roles.used and facts.is_scores and facts.kind in ("", "score") and not facts.is_unique
        ]
        return len(others) > 1 and self._computed(self.facts[roles.score], others) is not None

    def _long_or_fail(self, objects: Facts | None, assessors: Facts | None) -> Layout:
        """Return a reading of one assessment a row, with the one column that can be what is missing."""
        scores = [facts for facts in self.facts if facts.kind == "score" and facts.is_scores]
        known = objects or assessors
        if known is not None and (scores or self.given.score):
            free = [
                facts
                for facts in self.facts
                if facts is not known
                and facts.can_label
                and facts.is_text
                and facts.kind in ("", "title", "self")
                and not facts.is_unique
                and len(facts.distinct) > 1
                and self._pairs_up(known, facts)
            ]
            if len(free) == 1:
                what = "assessors" if objects is not None else "objects"
                self.why.append(f"{free[0].name!r} is the only column that can hold the {what}.")
                return self._long(objects or free[0], assessors or free[0])
        missing = [
            role
            for role, found in (("object", objects), ("assessor", assessors), ("score", scores or self.given.score))
            if not found
        ]
        return _fail(self, missing or ["score"])

    def _pairs_up(self, one: Facts, other: Facts) -> bool:
        """Say whether no pair of cells of two columns stands twice, and neither follows from the other."""
        pairs = [pair for pair in zip(one.cells, other.cells, strict=True) if None not in pair]
        return len(set(pairs)) == len(pairs) > max(len(one.distinct), len(other.distinct))

    # --- objects and assessors -----------------------------------------------------------------------

    def _named(self, role: str) -> Facts | None:
        name = getattr(self.given, role)
        return (
            None if name is None else self.facts[find_column(self.table.names, name, option=role, source=self.source)]
        )

    def _sides(self) -> tuple[Facts | None, Facts | None]:
        """Return the columns of objects and of assessors, as far as they are there."""
        objects, assessors = self._named("object"), self._named("assessor")
        siblings = self._siblings()
        if objects is None:
            objects = self._best(
                [
                    facts
                    for facts in self.facts
                    if facts.kind == "object"
                    and facts is not assessors
                    and facts.can_label
                    and facts.at not in siblings
                ],
                "object",
            )
        if assessors is None:
            people = [
                facts
                for facts in self.facts
                if facts.kind == "assessor"
                and facts is not objects
                and facts.can_label
                and not self._is_numbered(facts)
                and facts.at not in siblings
            ]
            people = [one for one in people if not fold(one.name).startswith("model")] or people
            selves = [
                facts for facts in self.facts if facts.kind == "self" and facts.can_label and len(facts.distinct) > 1
            ]
            mails = [facts for facts in selves if facts.is_mail and (facts.filled | ~self._scored).all()]
            if people and mails and not any(one.is_mail for one in people) and self._follows(people[0], mails[0]):
                people = mails  # one key: the address before the name
            assessors = self._best(people or mails or selves, "assessor")
        if assessors is None and objects is not None and any(facts.kind == "time" for facts in self.facts):
            names = [facts for facts in self.facts if fold(facts.name) in ("name", "nom", "naam", "nome", "nombre")]
            assessors = next((facts for facts in names if facts.can_label and facts is not objects), None)
        if objects is None:
            titles = [
                facts for facts in self.facts if facts.kind == "title" and facts is not assessors and facts.can_label
            ]
            objects = titles[0] if titles and (assessors is None or not self._follows(titles[0], assessors)) else None
        return objects, assessors

    @cached_property
    def _scored(self) -> NDArray[np.bool_]:
        """Rows that have something that can be a score."""
        found = np.zeros(len(self.table), np.bool_)
        for facts in self.facts:
            if facts.kind == "score" and facts.is_scores:
                found |= facts.filled
        return found if found.any() else np.ones(len(self.table), np.bool_)

    def _siblings(self) -> set[int]:
        """Return the columns that stand under one heading or answer one question, and hold nothing but scores."""
        under: dict[str, list[int]] = {}
        for facts in self.facts:
            question = facts.name.partition(": ")[0] if ": " in facts.name else facts.name.partition(" [")[0]
            if question != facts.name and facts.is_scores:
                under.setdefault(question, []).append(facts.at)
        return {at for places in under.values() if len(places) > 1 for at in places}

    def _is_numbered(self, facts: Facts) -> bool:
        """Say whether a column is one of several that are called alike but for a number."""
        parts = without_number(facts.name)
        if parts is None:
            return False
        others = (without_number(other.name) for other in self.facts if other is not facts)
        return any(other is not None and fold(other[0]) == fold(parts[0]) for other in others)

    def _follows(self, one: Facts, other: Facts) -> bool:
        """Say whether a cell of one column follows from that of the other."""
        known: dict[Cell, Cell] = {}
        return all(
            known.setdefault(there, here) == here
            for here, there in zip(one.cells, other.cells, strict=True)
            if there is not None
        )

    def _best(self, found: Sequence[Facts], role: str) -> Facts | None:
        """Return the column to know objects or assessors by, where one says more than all others."""
        if not found:
            return None
        strongest = max(facts.meaning.strength for facts in found if facts.meaning is not None)
        finest = [one for one in found if all(self._follows(other, one) for other in found)]
        if not finest:
            found = [facts for facts in found if facts.meaning is not None and facts.meaning.strength == strongest]
            finest = [one for one in found if all(self._follows(other, one) for other in found)]
        if not finest:
            names = [facts.name for facts in found]
            raise InputError(
                f"The columns {quoted(names)} could each hold the {role}s: say which one it is with --{role}.",
                kind="ambiguous_column",
                where=self.source,
            )
        mails = [one for one in finest if one.is_mail]
        coded = _tagged(finest) if role == "object" else []
        return (mails or coded or finest)[0]

    # --- one assessment a row ------------------------------------------------------------------------

    def _long(self, objects: Facts, assessors: Facts) -> Layout:
        """Return the layout of a table whose rows have an object and an assessor."""
        self.why.append(f"{objects.name!r} and {assessors.name!r} name an object and an assessor in each row.")
        covariates = [
            find_column(self.table.names, name, option="covariate", source=self.source)
            for name in listed_names(self.given.covariates)
        ]
        taken = {objects.at, assessors.at, *covariates}
        sure, form = self._sureness(taken)
        taken |= {sure} if sure is not None else set()
        criterion = self._named("criterion") or self._criterion(objects, assessors, taken)
        if criterion is not None:
            taken.add(criterion.at)
        chosen = self._score_columns(taken, objects, assessors)
        rows = self._rows_of(objects, chosen, assessors)
        objects_at = self._fill_down(objects, assessors, chosen, rows)
        label = None if criterion is None else criterion.at
        weights: dict[str, float] = {}
        if len(chosen) == 1:
            slots = [Slot(chosen[0].at, objects_at, assessors.at, sure, label)]
        else:
            weights = weights_in([facts.name for facts in chosen])
            slots = [Slot(facts.at, objects_at, assessors.at, sure, bare_name(facts.name)) for facts in chosen]
        return self._finish("long", slots, form, covariates, weights)

    def _sureness(self, taken: set[int]) -> tuple[int | None, FormHint]:
        """Return the column that says how sure assessors were, and how it is to be read."""
        for role, form in FORMS.items():
            if (named := self._named(role)) is not None:
                return named.at, form
        found = [
            facts
            for facts in self.facts
            if facts.at not in taken and facts.kind in FORMS and facts.count and not facts.is_prose
        ] or [
            facts
            for facts in self.facts
            if facts.at not in taken and facts.kind == "expertise" and facts.count and not facts.is_prose
        ]
        if len(found) > 1:
            strongest = max(facts.meaning.strength for facts in found if facts.meaning is not None)
            found = [facts for facts in found if facts.meaning is not None and facts.meaning.strength == strongest]
        if len(found) > 1:
            named_so = quoted([facts.name for facts in found])
            raise InputError(
                f"The columns {named_so} could each hold how sure the assessors were: say which one it is with "
                "--uncertainty or --confidence or --level.",
                kind="ambiguous_column",
                where=self.source,
            )
        if found and found[0].kind == "expertise":
            message = f"{found[0].name!r} says how well assessors know the subject, and is taken as how sure they were."
            self.notes.append(Problem("expertise_as_confidence", message, f"column {found[0].name}"))
        return (found[0].at, form_of(found[0].name)) if found else (None, "none")

    def _criterion(self, objects: Facts, assessors: Facts, taken: set[int]) -> Facts | None:
        """Return the column of criteria, where an assessor scores an object more than once and one tells them apart."""
        pairs = [pair for pair in zip(objects.cells, assessors.cells, strict=True) if None not in pair]
        if len(set(pairs)) == len(pairs):
            return None
        for facts in self.facts:
            if facts.at in taken or facts.kind != "criterion" or not facts.is_text or not facts.filled.all():
                continue
            threes = list(zip(objects.cells, assessors.cells, facts.cells, strict=True))
            if len(set(threes)) == len(threes):
                self.why.append(f"{facts.name!r} tells scores of the same object by the same assessor apart.")
                return facts
        return None

    def _score_columns(self, taken: set[int], objects: Facts, assessors: Facts) -> list[Facts]:
        """Return the column of scores, or several that are criteria."""
        if self.given.criteria:
            names = listed_names(self.given.criteria)
            return [
                self.facts[find_column(self.table.names, one, option="criteria", source=self.source)] for one in names
            ]
        if (named := self._named("score")) is not None:
            return [named]
        free = [
            facts
            for facts in self.facts
            if facts.at not in taken
            and facts.is_scores
            and facts.name
            and facts.kind not in ("time", "counter", "object", "assessor", "fact", "outcome", "self", "expertise")
        ]
        free = [one for one in free if not self._is_detail(one, objects, assessors)]
        computed = {
            facts.at: reason
            for facts in free
            if (reason := self._computed(facts, [one for one in free if one is not facts and not _is_summary(one)]))
            and (_is_summary(facts) or facts.kind == "score")
        }
        computed |= {
            facts.at: f"looks like {_ARTICLES.get(facts.kind, 'a sum')} by its name"
            for facts in free
            if _is_summary(facts) and facts.at not in computed
        }
        parts = [facts for facts in free if facts.at not in computed]
        named_scores = [facts for facts in parts if facts.kind == "score"]
        if len(named_scores) > 1:
            overall = [one for one in named_scores if any(word in lexicon.OVERALL for word in fold(one.name).split())]
            strong = [one for one in named_scores if one.meaning is not None and one.meaning.strength == 3]
            for fewer in (overall, strong):
                if len(fewer) == 1:
                    named_scores = fewer
                    break
        if len(named_scores) == 1:
            self.left_out |= computed
            for facts in parts:
                if facts is not named_scores[0]:
                    self.left_out[facts.at] = "another number: --score or --criteria chooses it"
            return named_scores
        if len(parts) == 1 or (not parts and len(computed) == 1):
            if not parts:
                parts, computed = [self.facts[at] for at in computed], {}
            self.left_out |= computed
            self.why.append(f"{parts[0].name!r} is the only column that can hold scores.")
            return parts
        if not parts:
            raise missing_columns(["score"], self.table.names, self.source)
        if self._alike(parts):
            self.left_out |= computed
            self.why.append(f"{quoted([one.name for one in parts])} are scores of the same assessment: criteria.")
            return parts
        several = quoted([facts.name for facts in named_scores or parts])
        raise InputError(
            f"The columns {several} could each hold the scores: say which one it is with --score, or that they are "
            "criteria with --criteria NAME,NAME.",
            kind="ambiguous_column",
            where=self.source,
        )

    def _alike(self, found: Sequence[Facts]) -> bool:
        """Say whether columns can be criteria of one assessment: all on about the same scale, or weighted."""
        if all(_WEIGHT.search(one.name) for one in found):
            return True
        tops = [float(np.nanmax(one.numbers)) if np.isfinite(one.numbers).any() else 0.0 for one in found]
        known = sum(any(word in lexicon.CRITERIA for word in fold(one.name).split()) for one in found)
        bracketed = all(re.search(r"\[.+\]\s*$", one.name) for one in found)
        spread = max(tops) / max(min(tops), 1e-9)
        return spread <= 3 and (2 * known >= len(found) or bracketed or all(one.kind == "score" for one in found))

    def _is_detail(self, facts: Facts, objects: Facts, assessors: Facts) -> bool:
        """Say whether a column tells something of objects or of assessors, not of assessments."""
        if facts.kind == "score" or len(objects.distinct) == objects.count:
            return False
        many = [
            side for side in (objects, assessors) if 2 * len(side.distinct) <= side.count and self._follows(facts, side)
        ]
        return bool(many)

    def _fill_down(
        self, objects: Facts, assessors: Facts, scores: Sequence[Facts], rows: NDArray[np.bool_] | None
    ) -> int:
        """Return the place of the column of objects; where each stands only at the head of its block, it is filled."""
        needed = np.any([facts.filled for facts in scores], axis=0) & assessors.filled
        if rows is not None:
            needed &= rows
        blank = needed & ~objects.filled
        if blank.sum() < 0.3 * needed.sum() or not objects.is_unique or blank[np.argmax(needed)]:
            return objects.at
        cells: list[Cell] = []
        last: Cell = None
        for cell, wanted in zip(objects.cells, needed, strict=True):
            last = cell if cell is not None else last
            cells.append(last if wanted else cell)
        column = factorise(objects.name, cells)
        self.table = replace(self.table, names=(*self.table.names, objects.name), columns=(*self.table.columns, column))
        self.facts.append(Facts(len(self.facts), column, self.table.decimal_comma))
        self.left_out[objects.at] = "filled down: each object stands once, above its assessments"
        message = (
            f"{objects.name!r} stands once for several rows and was filled down to {count_of(int(blank.sum()), 'row')}."
        )
        self.notes.append(Problem("filled_down", message, f"column {objects.name}"))
        return len(self.facts) - 1

    # --- a column for each assessor, or object -----------------------------------------------------

    def _across(self, down: Facts | None) -> list[Facts]:
        """Return the columns that can be of one assessor or object each."""
        is_told = self.given.layout is not None
        return [
            facts
            for facts in self.facts
            if facts is not down
            and (facts.is_scores or (is_told and (not facts.count or bool(np.isfinite(facts.numbers).any()))))
            and facts.name
            and facts.kind not in ("time", "counter", "rank", "title", "expertise")
            and not (facts.kind in FORMS and facts.meaning is not None and facts.meaning.strength == 3)
        ]

    def matrix(self, kind: Kind | None) -> Layout:
        """Return the layout of a table with a column for each assessor, or for each object."""
        down = self._named("assessor" if kind == "across" else "object") or self._down(kind)
        across = self._across(down)
        pairs = self._paired(across)
        columns = [facts for facts in across if facts.at not in pairs.used] if pairs else across
        columns = self._without_summaries(columns, down)
        if pairs is None and not columns:
            across = [facts for facts in self.facts if facts is not down and facts.count]
            message = (
                "There is no column of an assessor beside the objects: a wide sheet has one column for each assessor."
            )
            raise InputError(message, kind="missing_column", where=self.source)
        headed = [facts for facts in self.facts if facts is not down and not facts.name and facts.count]
        if headed and kind is not None:
            raise self._without_header(headed[0])
        labels = [head.label for head in pairs.heads] if pairs else headings([facts.name for facts in columns])
        twice = next((label for at, label in enumerate(labels) if label in labels[:at]), None)
        if twice is not None and not pairs:
            message = f"Two columns are headed {twice!r}: give each assessor one column, or two different names."
            raise InputError(message, kind="bad_header", where=self.source)
        rows = self._rows_of(down, columns if not pairs else [self.facts[head.score] for head in pairs.heads])
        if kind is None:
            kind = self._turn(down, labels)
        self._refuse_positions(labels, columns)
        slots = []
        for head in (
            pairs.heads if pairs else [_Head(facts.at, label) for facts, label in zip(columns, labels, strict=True)]
        ):
            one, other = (down.at, head.label) if kind == "wide" else (head.label, down.at)
            slots.append(Slot(head.score, one, other, head.confidence, head.criterion))
        form: FormHint = "none"
        if pairs and any(head.confidence is not None for head in pairs.heads):
            form = "level_or_confidence"
        self.rows = rows
        what = (
            "objects stand down and assessors across" if kind == "wide" else "assessors stand down and objects across"
        )
        self.why.append(f"{down.name!r} labels the rows; {what}.")
        return self._finish(
            kind, slots, form, weights=weights_in([head.criterion or "" for head in pairs.heads]) if pairs else {}
        )

    def _down(self, kind: Kind | None) -> Facts:
        """Return the column that labels the rows of a matrix."""
        wanted = {"wide": ("object", "title"), "across": ("assessor", "self")}.get(
            kind or "", ("object", "assessor", "self", "title")
        )
        for role in wanted:
            found = [facts for facts in self.facts if facts.kind == role and facts.can_label and facts.count]
            named = [one for one in found if one.is_unique] or found
            if named:
                return (_tagged(named) or named)[0]
        free = [facts for facts in self.facts if facts.count and facts.can_label and facts.kind != "time"]
        free = [one for one in free if one.kind != "counter"] or free
        texts = [facts for facts in free if facts.is_text or not facts.is_scores]
        return (texts or free or self.facts)[0]

    def _without_summaries(self, columns: Sequence[Facts], down: Facts) -> list[Facts]:
        """Return columns without those that are computed from the others, which are noted."""
        kept = list(columns)
        named_so = sum(facts.kind == "score" for facts in columns)
        for facts in columns:
            others = [one for one in kept if one is not facts and not _is_summary(one) and one.kind != "score"]
            reason = self._computed(facts, others)
            personal = fold(facts.name) in lexicon.PERSONAL
            if reason is None and (_is_summary(facts) and not personal):
                reason = f"looks like {_ARTICLES.get(facts.kind, 'a sum')} by its name"
            elif reason is None and facts.kind in ("outcome", "fact") and len(others) > 1:
                reason = _BESIDE[facts.kind]
            elif reason is None and facts.kind == "score" and len(others) > 1 and 2 * named_so < len(columns):
                reason = "looks like a score for all by its name"
            elif reason is None and facts.kind == "" and self._is_counter(facts, others):
                reason = "numbers the rows"
            elif reason is None and facts.kind in ("object", "confidence", "uncertainty", "level"):
                strong = facts.meaning is not None and facts.meaning.strength == 3
                reason = "no column of an assessor by its name" if strong and len(others) > 1 else None
            elif reason is None and facts.kind == "" and self._is_decoy(facts, others):
                reason = "on another scale than the scores"
            if reason is not None:
                kept.remove(facts)
                self.left_out[facts.at] = reason
        return kept

    def _is_counter(self, facts: Facts, others: Sequence[Facts]) -> bool:
        """Say whether a column numbers the rows, in any order, and no other does."""

        def numbers(one: Facts) -> bool:
            found = one.numbers[np.isfinite(one.numbers)]
            return found.size > 3 and bool(np.array_equal(np.sort(found), np.arange(1.0, found.size + 1)))

        return facts.filled.sum() == len(self.table) and numbers(facts) and not any(map(numbers, others))

    def _is_decoy(self, facts: Facts, others: Sequence[Facts]) -> bool:
        """Say whether the numbers of a column lie wholly beyond those of all others, which agree with each other."""
        if len(others) < 2 or facts.words is not None:
            return False
        numbers = facts.numbers[np.isfinite(facts.numbers)]
        rest = np.concatenate([one.numbers for one in others])
        rest = rest[np.isfinite(rest)]
        if not numbers.size or not rest.size:
            return False
        reach = float(rest.max() - min(0.0, rest.min())) or 1.0
        return bool(numbers.min() > rest.max() + reach) and facts.filled.sum() >= 0.9 * len(self.table)

    def _computed(self, facts: Facts, others: Sequence[Facts]) -> str | None:
        """Return what a column was computed as from others, if it was."""
        if len(others) < 2 or not np.isfinite(facts.numbers).any():
            return None
        values = np.column_stack([one.numbers for one in others])
        usable = np.isfinite(facts.numbers) & (np.isfinite(values).sum(axis=1) > 1)
        if usable.sum() < 2:
            return None
        target, values = facts.numbers[usable], values[usable]
        decimals = max(len(f"{number:.6f}".rstrip("0").partition(".")[2]) for number in target.tolist())
        close = 0.5 * 10.0 ** -min(decimals, 6) * 1.02 + 1e-6
        weights = list(weights_in([one.name for one in others]).values())
        named = _is_summary(facts) or facts.kind == "score"
        tests: list[tuple[str, Callable[[Floats], Floats]]] = [
            ("the mean of the others", lambda x: np.nanmean(x, axis=1)),
            ("the sum of the others", lambda x: np.nansum(x, axis=1)),
            ("the median of the others", lambda x: np.nanmedian(x, axis=1)),
        ]
        if len(weights) == len(others):
            share = np.array(weights) / sum(weights)
            tests += [
                ("the weighted mean of the others", lambda x: x @ share),
                ("a weighted sum", lambda x: x @ np.array(weights)),
            ]
        if named:
            tests += [
                ("the spread of the others", lambda x: np.nanstd(x, axis=1, ddof=1)),
                ("the spread of the others", lambda x: np.nanstd(x, axis=1)),
                ("the highest of the others", lambda x: np.nanmax(x, axis=1)),
                ("the lowest of the others", lambda x: np.nanmin(x, axis=1)),
                ("the number of the others", lambda x: np.isfinite(x).sum(axis=1).astype(float)),
            ]
        if not named and usable.sum() < 3:
            return None
        for what, compute in tests:
            if np.mean(np.abs(compute(values) - target) <= close) > (0.6 if named else 0.95):
                return f"looks like {what}"
        return None

    def _turn(self, down: Facts, labels: Sequence[str]) -> Kind:
        """Return whether objects stand down or across, or ask where nothing tells."""
        if down.kind == "object":
            return "wide"
        if down.kind in ("assessor", "self"):
            return "across"
        rows = [label_text(cell) for cell in down.distinct]
        evidence = 0.0
        summaries = any("looks like" in reason for reason in self.left_out.values())
        ranked = any(facts.kind == "rank" for facts in self.facts)
        evidence += 2.0 * (summaries or ranked) + 1.0 * (down.kind == "title")
        if (
            self.rows is not None
            and not self.rows.all()
            and not summaries
            and any(problem.kind == "summary_rows" for problem in self.notes)
        ):
            evidence -= 2.0
        meanings = [meaning_of(label) for label in labels]
        evidence += 3.0 * _share(meanings, lambda one: one is not None and one.kind == "assessor")
        evidence -= 3.0 * _share(meanings, lambda one: one is not None and one.kind == "object")
        evidence += 3.0 * _share(labels, lambda one: bool(_MAIL.fullmatch(one)))
        evidence -= 3.0 * _share(rows, lambda one: bool(_MAIL.fullmatch(one)))
        evidence += 1.5 * (_share(rows, _is_thing) - _share(labels, _is_thing))
        evidence += 0.9 * (_share(labels, _is_person) - _share(rows, _is_person))
        if abs(evidence) >= 0.85:
            return "wide" if evidence > 0 else "across"
        first = name_some([repr(label) for label in rows], 3)
        other = name_some([repr(label) for label in labels], 3)
        raise InputError(
            f"It is not clear what stands down and what across: {first} down, {other} across. Give --layout wide if the "
            "rows are objects and the columns assessors, --layout across if the rows are assessors.",
            kind="ambiguous_layout",
            where=self.source,
        )

    def _refuse_positions(self, labels: Sequence[str], columns: Sequence[Facts]) -> None:
        """Refuse columns such as Reviewer 1, Reviewer 2 that are places in a row, not people."""
        if self.given.layout is not None or len(columns) != len(labels):
            return
        parts = [without_number(label) or _ordinal(label) for label in labels]
        if len(labels) < 2 or any(one is None for one in parts):
            return
        meaning = meaning_of(labels[0])
        if len({fold(one[0]) for one in parts if one}) > 1 or meaning is None or meaning.kind != "assessor":
            return
        filled = np.column_stack([facts.filled for facts in columns])
        if self.rows is not None:
            filled = filled[self.rows]
        is_prefix = bool((np.diff(filled.astype(int), axis=1) <= 0).all())
        if is_prefix and not filled.all():
            raise InputError(
                f"The columns {quoted(list(labels))} are filled from the left, so they seem to be places and not people: "
                f"{labels[0]} of one object need not be the same person as of another, and then nobody can be calibrated. "
                "Export the names of the assessors; if each column is one person, give --layout wide.",
                kind="positions",
                where=self.source,
            )
        if is_prefix and len(labels) <= 5:
            message = (
                f"the columns {quoted(list(labels))} were taken for people. If {labels[0]!r} is not the same person in "
                "every row, the result means nothing: write the names instead."
            )
            self.notes.append(Problem("positions", message, self.source))

    def _without_header(self, facts: Facts) -> InputError:
        before = self.table.names[facts.at - 1] if facts.at else ""
        which = f"Column {facts.at + 1} of the table" + (f" (right of {before!r})" if before else "")
        message = f"{which} has cells but no header: write the assessor's name above it."
        row = int(np.argmax(facts.filled))
        return InputError(message, kind="bad_header", where=f"{self.source}, row {self.table.row_numbers[row]}")

    # --- headings that name two things ---------------------------------------------------------------

    def _paired(self, columns: Sequence[Facts]) -> _Pairs | None:
        """Return headings such as ``Anna``, ``Anna confidence`` or ``Anna: Merit``, split into label and what it says."""
        free = [facts for facts in self.facts if facts.name and facts.count]
        plain = {fold(facts.name): facts for facts in columns}
        heads: dict[tuple[str, str | None], _Head] = {}
        used: set[int] = set()
        no_criterion: str | None = None
        for facts in free:
            label, rest = split_heading(facts.name)
            if rest is None:
                continue
            meaning = meaning_of(rest)
            kind = "" if meaning is None else meaning.kind
            if kind in ("confidence", "level", "uncertainty"):
                key, sure = (label, no_criterion), facts.at
                base = plain.get(fold(label))
                head = heads.get(key) or _Head(-1 if base is None else base.at, base.name.strip() if base else label)
                heads[key] = replace(head, confidence=sure)
                used |= {facts.at} | ({base.at} if base else set())
            elif facts.is_scores and facts in columns and kind in ("score", "") and not _is_summary_name(rest):
                criterion = None if kind == "score" else rest
                key = (label, criterion)
                heads[key] = replace(heads.get(key) or _Head(facts.at, label), score=facts.at, criterion=criterion)
                used.add(facts.at)
            elif kind or facts.is_prose or facts.is_text or _is_summary_name(rest):
                used.add(facts.at)
                if facts.is_scores:
                    self.left_out[facts.at] = "computed, by its name"
        found = [head for head in heads.values() if head.score >= 0]
        labels = {head.label for head in found}
        several = [head for head in found if head.confidence is not None or head.criterion is not None]
        if not several and len(labels) < 2:
            return None
        scores = [head for head in found if head.criterion is None]
        if scores and len(scores) < len(found):
            plain_labels = {head.label for head in scores}
            if plain_labels == labels:  # a score for all criteria beside them
                for head in found:
                    if head.criterion is not None:
                        self.left_out[head.score] = "another number: --score or --criteria chooses it"
                found = scores
        if len({head.label for head in found}) < 2:
            return None
        criteria = {head.criterion for head in found}
        if len(criteria) == 1 and None not in criteria:
            found = [replace(head, criterion=None) for head in found]
        questions = {head.label for head in found}
        if all("[" in self.facts[head.score].name for head in found) and len(questions) < len(criteria):
            found = [replace(head, label=head.criterion or head.label, criterion=head.label) for head in found]
            if len({head.criterion for head in found}) == 1:
                found = [replace(head, criterion=None) for head in found]
        others = [facts for facts in columns if facts.at not in used and facts.kind == ""]
        if any(head.confidence is not None for head in found) and not criteria - {None}:
            found += [_Head(facts.at, heading(facts.name)) for facts in others]
            used |= {facts.at for facts in others}
        return _Pairs(found, used)

    def groups(self) -> Layout | None:
        """Return the layout of a table whose rows name several assessors, each beside a score; None of any other."""
        found: dict[str, dict[str, Facts]] = {}
        parts = {facts.at: group_of(facts.name) for facts in self.facts if facts.name and facts.count}
        if any(part.is_number for part in parts.values()):
            parts = {at: part for at, part in parts.items() if part.is_number}
        for at, (key, kind, _) in parts.items():
            facts = self.facts[at]
            if key is None:
                continue
            if kind in ("assessor", "self", "title") and facts.can_label and facts.is_text:
                mails = found.setdefault(key, {})
                if "assessor" not in mails or facts.is_mail:
                    mails["assessor"] = facts
            elif kind in FORMS:
                found.setdefault(key, {})["confidence"] = facts
            elif kind in ("score", "") and facts.is_scores:
                own = found.setdefault(key, {})
                if "score" not in own or (kind == "score") > (own["score"].kind == "score"):
                    own["score"] = facts
        groups = {key: one for key, one in found.items() if {"assessor", "score"} <= one.keys()}
        if len(groups) < 2:
            return None
        used = {facts.at for one in groups.values() for facts in one.values()}
        down = self._named("object") or self._best(
            [one for one in self.facts if one.kind == "object" and one.can_label and one.at not in used], "object"
        )
        if down is None:
            down = next((one for one in self.facts if one.at not in used and one.can_label and one.is_unique), None)
        if down is None:
            raise missing_columns(["object"], self.table.names, self.source)
        slots = [
            Slot(
                one["score"].at,
                down.at,
                one["assessor"].at,
                one["confidence"].at if "confidence" in one else None,
            )
            for one in groups.values()
        ]
        form: FormHint = "level_or_confidence" if any(slot.confidence is not None for slot in slots) else "none"
        self.why.append(f"each row names {len(groups)} assessors beside their scores.")
        for facts in self.facts:
            if facts.at not in used and facts.is_scores and (_is_summary(facts) or facts.kind == "score"):
                self.left_out[facts.at] = "computed from the scores, by its name"
        return self._finish("groups", slots, form)

    # --- rows ----------------------------------------------------------------------------------------

    def _rows_of(self, labels: Facts, scores: Sequence[Facts], others: Facts | None = None) -> NDArray[np.bool_] | None:
        """Return the rows that are assessments: no sums or means, no headings again, nothing below the table.

        ``others`` label the rows, too, where each has an assessor: then nothing is computed there.
        """
        texts = [column for column in self.facts[:4] if column.can_label and column not in scores] or [labels]
        kept = np.ones(len(self.table), np.bool_)
        sums: list[int] = []
        for row in range(len(self.table)):
            cells = [facts.cells[row] for facts in texts if isinstance(facts.cells[row], str)]
            is_bare = labels.cells[row] is None
            named = [
                one for one in map(str, cells) if _is_summary_name(one, is_bare) and fold(one) not in lexicon.PERSONAL
            ]
            if named and (labels.cells[row] is None or str(labels.cells[row]) in named):
                if others is None or others.cells[row] is None or str(others.cells[row]) in named:
                    sums.append(row)
            again = [
                facts.name
                for facts in self.facts
                if facts.name and isinstance(facts.cells[row], str) and str(facts.cells[row]).strip() == facts.name
            ]
            if len(again) > 1 and len(again) >= 0.5 * sum(facts.cells[row] is not None for facts in self.facts):
                kept[row] = False
            if all(
                not isinstance(one, str) or set(one.strip()) <= set("-:= ")
                for one in (f.cells[row] for f in self.facts)
            ):
                kept[row] = any(
                    facts.cells[row] is not None and not isinstance(facts.cells[row], str) for facts in self.facts
                )
        kept[sums] = False
        if sums:
            numbers = [int(self.table.row_numbers[row]) for row in sums]
            which = "row" if len(sums) == 1 else "rows"
            labels_of = name_some(list(dict.fromkeys(repr(str(labels.cells[row] or "")) for row in sums)))
            message = f"{which} {name_some(numbers)} ({labels_of}): left out, since {'it looks' if len(sums) == 1 else 'they look'} computed."
            self.notes.append(Problem("summary_rows", message, f"{which} {name_some(numbers)}"))
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
        self.rows = None if kept.all() else kept
        return self.rows

    def _is_remark(self, labels: Facts, row: int) -> bool:
        """Say whether a row without scores is a remark below the table, and no object that nobody assessed."""
        cell = labels.cells[row]
        return not isinstance(cell, str) or len(cell.split()) > 3 or len(cell) > 30 or cell.strip()[:1] in "*†"

    # --- the end -------------------------------------------------------------------------------------

    def _finish(
        self,
        kind: Kind,
        slots: Sequence[Slot],
        form: FormHint,
        covariates: Sequence[int] = (),
        weights: Mapping[str, float] | None = None,
    ) -> Layout:
        """Return the layout, with what is told beside and what is left out."""
        if not covariates and self.given.covariates:
            covariates = [
                find_column(self.table.names, name, option="covariate", source=self.source)
                for name in listed_names(self.given.covariates)
            ]
        read = {place for slot in slots for place in slot if isinstance(place, int)} | set(covariates)
        details = self._details(slots, read)
        left_out = []
        for facts in self.facts:
            if facts.at in read or any(facts.at in places for places in details) or not facts.name:
                continue
            left_out.append(LeftOut(facts.name, self.left_out.get(facts.at) or _why_left(facts)))
        scores = [self.facts[slot.score] for slot in slots]
        words = score_words(cell for facts in scores for cell in facts.distinct)
        scale = None
        sure = {slot.confidence for slot in slots if slot.confidence is not None}
        for at in sure:
            if (found := _SCALE.search(self.facts[at].name)) and int(found[1]) < int(found[2]) <= 10:
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
            table=self.table if len(self.table.columns) > self._width else None,
        )

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
                    if told and not facts.is_prose and len(facts.distinct) > 1 and self._follows(facts, labels):
                        own.append(facts.at)
                        taken.add(facts.at)
            found.append(tuple(own))
        return found[0], found[1]


# --- headings --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Head:
    """A column of scores under a heading: the label in it, and what stands beside."""

    score: int
    label: str
    confidence: int | None = None
    criterion: str | None = None


class _Pairs(NamedTuple):
    """Headings that were split, and the columns that they take up."""

    heads: list[_Head]
    used: set[int]


_BESIDE: Final = {
    "time": "a time",
    "counter": "a counter",
    "mean": "a mean",
    "rank": "a rank",
    "sum": "a sum",
    "outcome": "what was decided",
    "fact": "a fact about the object, by its name",
}
_ARTICLES: Final = {"mean": "a mean", "sum": "a sum", "rank": "a rank", "spread": "a spread", "summary": "a summary"}
_SPLITS: Final = (
    re.compile(r"(?P<rest>.+?)\s*\[(?P<label>.+)\]\s*"),
    re.compile(r"(?P<label>.+?)\s*(?::|–|—| - |\||/)\s*(?P<rest>.+)"),
    re.compile(r"(?P<label>.+?)\s*\((?P<rest>[^()]+)\)\s*"),
)


def split_heading(name: str) -> tuple[str, str | None]:
    """Split a heading into a label and what its column says of it; None where it is but one thing.

    Examples
    --------
    >>> split_heading("Anna: Score"), split_heading("Anna confidence"), split_heading("Score (Anna)")
    (('Anna', 'Score'), ('Anna', 'confidence'), ('Anna', 'Score'))
    >>> split_heading("Rate each entry [Elm]"), split_heading("Anna")
    (('Elm', 'Rate each entry'), ('Anna', None))
    """
    for pattern in _SPLITS:
        found = pattern.fullmatch(name.strip())
        if found is None:
            continue
        label, rest = found["label"].strip(), found["rest"].strip()
        if "[" not in name:
            first, second = meaning_of(label), meaning_of(rest)
            if _WEIGHT.search(name) or _SCALE.fullmatch(rest) or re.fullmatch(r"[\d.,/ ]+|.*\d+\s*pts?.*", rest):
                return name.strip(), None
            if first is not None and second is None and first.kind in ("score", *FORMS, "assessor"):
                label, rest = rest, label
        return label, rest
    words = name.split()
    for cut in range(1, len(words)):
        for label, rest in ((words[:cut], words[cut:]), (words[cut:], words[:cut])):
            meaning = meaning_of(" ".join(rest))
            is_told = meaning is not None and meaning.strength == 3 and meaning.kind in ("score", "confidence", "level")
            is_free = meaning_of(" ".join(label)) is None or without_number(" ".join(label))
            if (
                is_told
                and is_free
                and fold(" ".join(rest)) not in ("note", "notes", "total", "overall", "sure", "conf")
            ):
                return " ".join(label), " ".join(rest)
    return name.strip(), None


def heading(name: str) -> str:
    """Return the label that the heading of a wide sheet gives: without the question that goes with all of them.

    Examples
    --------
    >>> heading("Avaliador: Ana"), heading("Score [Elm]"), heading("Anna"), heading("Reviewer 1")
    ('Ana', 'Elm', 'Anna', 'Reviewer 1')
    """
    label, rest = split_heading(name)
    if rest is None:
        return name.strip()
    first = meaning_of(label)
    if "[" not in name and first is not None and first.kind in ("assessor", "object") and meaning_of(rest) is None:
        return rest
    meaning = meaning_of(rest)
    return label if "[" in name or (meaning is not None and meaning.kind in ("score", "assessor")) else name.strip()


def headings(names: Sequence[str]) -> list[str]:
    """Return the labels that the headings of a wide sheet give, without a question that stands before each of them.

    Examples
    --------
    >>> headings(["Please rate: Elm", "Please rate: Fir"]), headings(["Anna", "Ben"])
    (['Elm', 'Fir'], ['Anna', 'Ben'])
    """
    parts = [name.partition(": ") for name in names]
    if len(names) > 1 and len({part[0] for part in parts}) == 1 and all(part[2] for part in parts):
        return [part[2].strip() for part in parts]
    return [heading(name) for name in names]


class GroupPart(NamedTuple):
    """Which of several assessors of a row a heading is about, what it says of the assessor, and whether by a number."""

    key: str | None
    kind: str
    is_number: bool = False


def group_of(name: str) -> GroupPart:
    """Return which of several assessors of a row a heading is about, and what it says of the assessor.

    Examples
    --------
    >>> group_of("Marker 2")[:2], group_of("Reviewer 1 score")[:2], group_of("Second marker")[:2]
    (('2', 'assessor'), ('1', 'score'), ('2', 'assessor'))
    """
    bare = re.sub(r"[(\[].*?[)\]]", " ", name)
    numbers = re.findall(r"(?<![\d.])\d{1,2}(?![\d.])", bare)
    ordinal = _ordinal(name)
    if len(numbers) == 1:
        key, rest = numbers[0], re.sub(r"#?\b\d{1,2}\b", " ", bare)
    else:
        key, rest = (str(ordinal[1]), ordinal[0]) if ordinal else (None, bare)
    meaning = meaning_of(" ".join(rest.split())) if rest.strip() else None
    return GroupPart(key, "" if meaning is None else meaning.kind, len(numbers) == 1)


_ORDINALS: Final = {
    word: at
    for at, words in enumerate(
        (
            "first 1st erst erste erster premier premiere primer primero primo prima primeiro eerste",
            "second 2nd zweit zweite zweiter deuxieme segundo secondo segunda tweede",
            "third 3rd dritt dritte dritter troisieme tercer tercero terzo terceiro derde",
        ),
        1,
    )
    for word in words.split()
}


def _ordinal(name: str) -> tuple[str, int] | None:
    """Return a heading without the word first, second or third in it, and which it is."""
    words = fold(name).split()
    found = [word for word in words if word in _ORDINALS]
    return (" ".join(word for word in words if word not in _ORDINALS), _ORDINALS[found[0]]) if len(found) == 1 else None


def bare_name(name: str) -> str:
    """Return a heading without the weight in it, and of a grid without its question.

    Examples
    --------
    >>> bare_name("Impact (40 %)"), bare_name("Please rate [Taste]")
    ('Impact', 'Taste')
    """
    found = re.fullmatch(r".+?\[(.+)\]\s*", name.strip())
    return _WEIGHT.sub("", found[1] if found else name).strip(" :-") or name.strip()


def weights_in(names: Sequence[str]) -> dict[str, float]:
    """Return what criteria count, where every heading says so: ``Impact (40 %)``.

    Examples
    --------
    >>> weights_in(["Impact (40 %)", "Team (60%)"]), weights_in(["Impact", "Team (60%)"])
    ({'Impact': 0.4, 'Team': 0.6}, {})
    """
    found = {bare_name(name): _WEIGHT.search(name) for name in names}
    if not found or any(one is None for one in found.values()):
        return {}
    return {name: float(one[1].replace(",", ".")) / 100 for name, one in found.items() if one is not None}


def _is_summary_name(name: str, is_loose: bool = False) -> bool:
    """Say whether a name is of something computed; ``is_loose`` where one word of it suffices."""
    meaning = meaning_of(name) if len(name) < 60 else None
    least = 2 if is_loose else 3
    return (meaning is not None and meaning.kind in _ARTICLES and meaning.strength >= least) or fold(
        name
    ) in lexicon.SUMS


def _tagged(found: Sequence[Facts]) -> list[Facts]:
    """Return columns whose names say that they are numbers or codes."""
    return [one for one in found if set(fold(one.name).split()) & (set(lexicon.TAGS) - {"name"})]


def _is_summary(facts: Facts) -> bool:
    return facts.kind in _ARTICLES or fold(facts.name) in lexicon.SUMS


def _is_thing(label: str) -> bool:
    return is_code(label) or len(label.split()) > 3


def _is_person(label: str) -> bool:
    words = label.replace(".", " ").split()
    return 0 < len(words) < 4 and all(
        word[:1].isupper() and word.replace("-", "").replace("'", "").isalpha() for word in words
    )


def _share(found: Sequence[object], test: Callable[..., bool]) -> float:
    return sum(map(test, found)) / max(len(found), 1)


def _why_left(facts: Facts) -> str:
    """Return why a column is not read that nothing else was said of."""
    if facts.kind in _BESIDE:
        return _BESIDE[facts.kind]
    if facts.kind in _ARTICLES:
        return f"looks like {_ARTICLES[facts.kind]}"
    if not facts.count:
        return "empty"
    return "text" if facts.is_prose else "not needed"


# --- one row for each score --------------------------------------------------------------------------


def lengthen(table: Table, layout: Layout) -> tuple[Table, Roles]:
    """Turn a table into one with a row for each score: object, assessor, score, and what else a layout knows.

    Row numbers are those of the table. Cells without a score are left out; those that are empty are counted in a note.
    """
    kept = np.ones(len(table), np.bool_) if layout.rows is None else layout.rows
    filled = [
        kept
        & ~np.array([*map(is_empty, table.columns[slot.score].cells), False], np.bool_)[
            np.minimum(table.columns[slot.score].codes, len(table.columns[slot.score].cells))
        ]
        for slot in layout.slots
    ]
    rows, members = np.nonzero(np.column_stack(filled))
    if not rows.size:
        message = "Every cell is empty: write the scores below the names of the assessors."
        raise InputError(message, kind="empty_file", where=table.source)
    names: list[str] = []
    columns: list[Column] = []
    parts = ["object", "assessor", "score"]
    parts += ["confidence"] if any(slot.confidence is not None for slot in layout.slots) else []
    parts += ["criterion"] if any(slot.criterion is not None for slot in layout.slots) else []
    for part in parts:
        places = [getattr(slot, part) for slot in layout.slots]
        columns.append(_gathered(table, part, places, rows, members))
        own = {place for place in places}
        names.append(table.names[places[0]] if len(own) == 1 and isinstance(places[0], int) else part)
    for at in layout.covariates:
        columns.append(table.columns[at].take(rows))
        names.append(table.names[at])
    headers = None
    if len(layout.slots) > 1:
        headers = Column("heading", [table.names[slot.score] for slot in layout.slots], members.astype(np.uint32))
        if layout.kind in ("wide", "across"):
            labels = [slot.assessor if layout.kind == "wide" else slot.object for slot in layout.slots]
            headers = Column("heading", labels, members.astype(np.uint32))
    empty = int(kept.sum()) * len(layout.slots) - rows.size
    notes = [*table.notes, *layout.notes]
    if empty and layout.kind in ("wide", "across"):
        count = "1 empty cell is" if empty == 1 else f"{empty:,} empty cells are"
        notes.append(Problem("not_assessed", f"{count} taken as not assessed and left out.", table.source))
    columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
    confidence = parts.index("confidence") if "confidence" in parts else None
    criterion = parts.index("criterion") if "criterion" in parts else None
    further = tuple(range(len(parts), len(columns)))
    long = replace(
        table,
        names=tuple(names),
        columns=tuple(columns),
        row_numbers=table.row_numbers[rows],
        notes=tuple(notes),
        headers=headers,
    )
    form = layout.form if confidence is not None else "none"
    return long, Roles(0, 1, 2, confidence, form, criterion, further)


def _gathered(
    table: Table, name: str, places: Sequence[int | str | None], rows: NDArray[np.int64], members: NDArray[np.int64]
) -> Column:
    """Return the cells that slots name, in the order of rows: of columns, or labels."""
    if len(set(places)) == 1 and isinstance(places[0], int):
        return replace(table.columns[places[0]].take(rows), name=name)
    cells: list[Cell] = []
    begins: list[int] = []
    for place in places:
        begins.append(len(cells))
        if isinstance(place, int):
            own = table.columns[place]
            cells.extend(own.cells if own.numbers is None else list(own))
        else:
            cells.append(place)
    codes = np.zeros(rows.size, np.uint32)
    for member, (place, begin) in enumerate(zip(places, begins, strict=True)):
        mine = members == member
        if not isinstance(place, int):
            codes[mine] = begin
            continue
        own = table.columns[place]
        at = rows[mine]
        codes[mine] = begin + (own.codes[at] if own.numbers is None else at)
    if any(
        isinstance(place, int)
        and (table.columns[place].codes == NO_CODE).any()
        and table.columns[place].numbers is None
        for place in places
    ):
        return factorise(
            name,
            [_cell(table, places[member], row) for row, member in zip(rows.tolist(), members.tolist(), strict=True)],
        )
    return Column(name, cells, codes)


def _cell(table: Table, place: int | str | None, row: int) -> Cell:
    return table.columns[place][row] if isinstance(place, int) else place


def words_of(table: Table, slots: Sequence[Slot]) -> dict[str, float] | None:
    """Return what words for scores stand for, where the scores of a table are words in a known order."""
    return score_words(cell for slot in slots for cell in table.columns[slot.score].cells)
