"""How a table holds assessments: which columns are scores, and where the object and the assessor of each stand.

A row may be one assessment, or an object with a column for each assessor, an assessor with a column for each object, or
have several scores of other kinds. All of these are *slots*: a column of scores, and for each what says its object,
assessor, confidence and criterion, which is a column or one label for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.panel.column import NO_CODE, Cell, Column, Table, factorise
from evenhand.panel.confidence import FormHint
from evenhand.panel.headings import (
    BESIDE,
    FORMS,
    SYNONYMS,
    Role,
    fold,
    form_of,
    known_names,
    meaning_of,
    roles_by_name,
    without_number,
)
from evenhand.panel.rules import ReadOptions, is_empty, label_text, no_score, parse_score
from evenhand.words import argument, chained, remark

_NEEDED: Final[tuple[Role, ...]] = ("object", "assessor", "score")


@dataclass(frozen=True, slots=True)
class Roles:
    """Where the columns of a panel stand in a table, counted from 0.

    ``confidence`` is the column that says how sure the assessor was, in whatever form; ``form`` is how to read it.
    """

    object: int
    assessor: int
    score: int
    confidence: int | None = None
    form: FormHint = "none"
    criterion: int | None = None
    covariates: tuple[int, ...] = ()

    @property
    def used(self) -> tuple[int, ...]:
        """All these columns: of objects, assessors, scores, confidences, criteria and covariates, in this order."""
        further = [index for index in (self.confidence, self.criterion) if index is not None]
        return (self.object, self.assessor, self.score, *further, *self.covariates)


# --- columns by name ---------------------------------------------------------------------------------


def find_column(names: Sequence[str], wanted: str, *, option: str, source: str) -> int:
    """Return the index of the column that the user named with an option, exactly as written or else folded.

    It is the first where the very same name stands twice; ``source`` is what to call the table in messages.
    """
    if wanted.strip() and wanted.strip() in names:
        return names.index(wanted.strip())
    alike = [index for index, name in enumerate(names) if name and fold(name) == fold(wanted)]
    if not alike:
        raise InputError(
            remark(
                "There is no column {column}, which {option} names; the columns are {columns}.",
                column=repr(wanted),
                option=argument(option),
                columns=quoted(names),
            ),
            kind="missing_column",
            where=source,
        )
    if len({names[index] for index in alike}) > 1:
        raise InputError(
            remark(
                "The name {column} fits the columns {columns}: write the one that {option} means exactly as it stands "
                "in the header.",
                column=repr(wanted),
                columns=quoted([names[index] for index in alike]),
                option=argument(option),
            ),
            kind="ambiguous_column",
            where=source,
        )
    return alike[0]


def recognise(
    names: Sequence[str],
    *,
    source: str,
    criterion: str | None = None,
    covariates: Sequence[str] = (),
    **named: str | None,
) -> Roles:
    """Find the columns of a panel by their names, or take those that the user ``named`` for a role.

    At most one of ``uncertainty``, ``confidence`` and ``level`` may be named. Criterion and covariates are never
    guessed, and a column that is named for them is read as nothing else; ``source`` is what to call the table in
    messages.

    Examples
    --------
    >>> recognise(["Objects", "Assessors", "Score", "Confidence/ Std Dev"], source="workbook.xlsx")
    Roles(object=0, assessor=1, score=2, confidence=3, form='level_or_uncertainty', criterion=None, covariates=())
    """
    forms = [role for role in FORMS if named.get(role) is not None]
    if len(forms) > 1:
        raise InputError(
            remark(
                "Both {one} and {other} are given: give the one that says how sure the assessors were.",
                one=argument(forms[0]),
                other=argument(forms[1]),
            ),
            kind="ambiguous_column",
            where=source,
        )
    given = {
        role: find_column(names, name, option=role, source=source)
        for role in SYNONYMS
        if (name := named.get(role)) is not None
    }
    about = None if criterion is None else find_column(names, criterion, option="criterion", source=source)
    further = [find_column(names, name, option="covariates", source=source) for name in listed_names(covariates)]
    taken = [
        *given.items(),
        *([] if about is None else [("criterion", about)]),
        *(("covariates", at) for at in further),
    ]
    _refuse_shared(taken, names, source)
    free = _first_of_each(names, {index for _, index in taken})
    candidates: dict[Role, list[int]] = {role: [] for role in SYNONYMS}
    for index in free:
        candidates[roles_by_name()[fold(names[index])]].append(index)
    missing = [role for role in _NEEDED if role not in given and not candidates[role]]
    if missing:
        raise missing_columns(missing, names, source)
    found = {role: given[role] if role in given else _only(candidates[role], names, [role], source) for role in _NEEDED}
    place, form = _confidence(given, candidates, names, source)
    return Roles(found["object"], found["assessor"], found["score"], place, form, about, tuple(further))


def listed_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns without outer white space; one name may stand without a list around it.

    Examples
    --------
    >>> listed_names("order"), listed_names(["order", " round"])
    (('order',), ('order', 'round'))
    """
    return tuple(name.strip() for name in ((given,) if isinstance(given, str) else given))


def _confidence(
    given: dict[Role, int], candidates: dict[Role, list[int]], names: Sequence[str], source: str
) -> tuple[int | None, FormHint]:
    """Return the index and the form of the confidence column."""
    for role, form in FORMS.items():
        if role in given:
            return given[role], form
    indices = sorted(index for role in FORMS for index in candidates[role])
    if not indices:
        return None, "none"
    index = _only(indices, names, list(FORMS), source)
    return index, form_of(names[index])


def _first_of_each(names: Sequence[str], taken: set[int]) -> list[int]:
    """Return the recognised columns that are not taken, the first where the very same name stands twice."""
    seen = {names[index] for index in taken}
    free = []
    for index, name in enumerate(names):
        if name not in seen and fold(name) in roles_by_name():
            seen.add(name)
            free.append(index)
    return free


def _only(indices: Sequence[int], names: Sequence[str], options: Sequence[str], source: str) -> int:
    """Return the one candidate, or say which option settles between several."""
    if len(indices) == 1:
        return indices[0]
    chosen = [names[index] for index in indices]
    raise several_columns(chosen, None if len(options) > 1 else options[0], options, source)


def several_columns(chosen: Sequence[str], role: str | None, options: Sequence[str], source: str) -> InputError:
    """Return the question which of several columns has a role, None for how sure assessors were."""
    settle = chained(list(map(argument, options)), "{one} or {other}")
    return InputError(
        remark(
            "The columns {columns} could each hold how sure the assessors were: say which one it is with {settle}."
            if role is None
            else "The columns {columns} could each hold the {things}: say which one it is with {settle}.",
            columns=quoted(chosen),
            things=None if role is None else remark(f"{role}s"),
            settle=settle,
        ),
        kind="ambiguous_column",
        where=source,
    )


def _refuse_shared(given: Sequence[tuple[str, int]], names: Sequence[str], source: str) -> None:
    """Refuse one column that is given for two roles, or twice for one."""
    for position, (role, index) in enumerate(given):
        for other, there in given[:position]:
            if index != there:
                continue
            if role == other:
                message = remark(
                    "The column {column} is given twice with {option}: give it once.",
                    column=repr(names[index]),
                    option=argument(role),
                )
            else:
                message = remark(
                    "The column {column} is given for both {one} and {other}: name a different column for one of them.",
                    column=repr(names[index]),
                    one=argument(other),
                    other=argument(role),
                )
            raise InputError(message, kind="ambiguous_column", where=source)


def missing_columns(roles: Sequence[str], names: Sequence[str], source: str) -> InputError:
    """Return the error for roles that no column fits."""
    things = [remark(f"{role}s") for role in roles]
    known = [
        remark("{things} by names such as {names}", things=one, names=", ".join(known_names()[f"{role}s"][:6]))
        for one, role in zip(things, roles, strict=True)
    ]
    return InputError(
        remark(
            "No column was recognised for {things}; the columns are {columns}: say which one it is with {options}, or "
            "give {wide} if the assessors stand across the header; if none has them, add one to the file. "
            "Recognised are {known}.",
            things=chained(things),
            columns=quoted(names),
            options=chained([argument(role, "NAME") for role in roles]),
            wide=argument("wide", True),
            known=chained(known, "{one}; {other}"),
        ),
        kind="missing_column",
        where=source,
    )


def quoted(names: Sequence[str], most: int = 30) -> str:
    """List names in quotation marks, a long list shortened."""
    shown = [repr(name) for name in dict.fromkeys(names) if name]
    listed = ", ".join(shown[:most]) or remark("all without a name")
    more = len(shown) - most
    return remark("{names} and {more} more", names=listed, more=more) if more > 0 else listed


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
    columns: tuple[str, ...] = ()
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

    def settle(self, options: ReadOptions) -> ReadOptions:
        """Return options with what the table says of its own words and scales, unless the user said otherwise."""
        if self.scores is None and self.scale is None:
            return options
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
            names, known = _names_in(cells)
            if names >= 0.7 * len(cells) or (at == first and known) or known >= 3:
                best = _better_below(filled, at)
                if best > first and _is_above(rows[best - 1], rows[best]):
                    return best - 1, True
                return best, _has_second(rows, filled, best)
    return first, False


def _names_in(cells: Sequence[Cell]) -> tuple[int, int]:
    """Return how many cells can be names of columns, and how many of these are known."""
    names = [cell for cell in cells if isinstance(cell, str) and parse_score(cell) is None]
    return len(names), sum(meaning_of(name) is not None for name in names)


def _better_below(filled: Sequence[Sequence[Cell]], at: int) -> int:
    """Return which row is the header: one below, before any number, that is wider and has more names that are known."""
    best = at
    for below in range(at + 1, min(at + 6, len(filled))):
        names, known = _names_in(filled[below])
        if names < len(filled[below]):
            break
        if names > len(filled[best]) and known > _names_in(filled[best])[1]:
            best = below
    return best


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
    """Say whether a row holds headings that are merged over names which stand several times, or names of its own."""
    names = [cell for cell in below if not is_empty(cell)]
    upper = [cell for cell in top if not is_empty(cell)]
    if len(upper) < 2 or not all(isinstance(cell, str) for cell in upper):
        return False
    alone = [at for at, cell in enumerate(top) if not is_empty(cell) and (at >= len(below) or is_empty(below[at]))]
    return len(set(names)) < len(names) or len(alone) > 1


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


@lru_cache(maxsize=4)
def by_names(names: tuple[str, ...], given: Given, source: str) -> Roles | None:
    """Return the columns of one assessment a row where the very names settle them; None where more must be looked at.

    What the user said is held against the names at once.
    """
    if given.criteria or given.layout not in (None, "long"):
        return None
    try:
        roles = recognise(names, **given.named, covariates=given.covariates, source=source)
    except InputError as error:
        if {"object", "assessor", "score"} <= given.named.keys():
            raise
        _ = [find_column(names, one, option="covariates", source=source) for one in listed_names(given.covariates)]
        _ = [find_column(names, one, option=role, source=source) for role, one in given.named.items()]
        if len(given.named.keys() & FORMS.keys()) > 1 or "is given" in str(error):
            raise
        return None
    if given.assessor is None and fold(names[roles.assessor]).startswith("model"):
        return None  # which may be judged as well as judge
    used = {names[at] for at in roles.used}
    others: set[str] = {one.kind for name in names if name not in used and (one := meaning_of(name)) is not None}
    others = {"assessor" if kind == "self" else kind for kind in others}
    if others & {role for role in ("object", "assessor", "criterion") if getattr(given, role) is None}:
        return None  # the cells have to say which is which
    plain = {fold(numbered[0]) for name in names if name not in used and (numbered := without_number(name))}
    if given.score is None and fold(names[roles.score]) in plain:
        return None  # Score and Score 2
    return roles


def of_names(names: Sequence[str], roles: Roles) -> Layout:
    """Return the layout of a table with one assessment a row of which only the names were looked at."""
    meanings = ((at, name, meaning_of(name)) for at, name in enumerate(names) if name and at not in roles.used)
    left_out = [LeftOut(name, BESIDE.get("" if one is None else one.kind, "not needed")) for _, name, one in meanings]
    slot = Slot(roles.score, roles.object, roles.assessor, roles.confidence, roles.criterion)
    return Layout("long", (slot,), roles.form, roles.covariates, left_out=tuple(left_out))


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
    if layout.kind == "long" and len(layout.slots) == 1:
        filled = [kept]  # rows without a score are counted where cells are read
    rows, members = np.nonzero(np.column_stack(filled))
    if not rows.size and layout.kind == "long":
        raise no_score(remark("column {name}", name=table.names[layout.slots[0].score]))
    if not rows.size:
        message = remark("Every cell is empty: write the scores below the names of the assessors.")
        raise InputError(message, kind="empty_file", where=table.source)
    names: list[str] = []
    columns: list[Column] = []
    parts = ["object", "assessor", "score"]
    parts += ["confidence"] if any(slot.confidence is not None for slot in layout.slots) else []
    parts += ["criterion"] if any(slot.criterion is not None for slot in layout.slots) else []
    for part in parts:
        places = [getattr(slot, part) for slot in layout.slots]
        columns.append(_gathered(table, part, places, rows, members))
        own = set(places)
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
        message = remark(
            "1 empty cell is taken as not assessed and left out."
            if empty == 1
            else "{count} empty cells are taken as not assessed and left out.",
            count=f"{empty:,}",
        )
        notes.append(Problem("not_assessed", message, table.source))
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
