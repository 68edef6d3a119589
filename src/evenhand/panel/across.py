"""Tables with a column for each assessor or object, and with several named assessors in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.panel import lexicon
from evenhand.panel.confidence import FormHint
from evenhand.panel.headings import (
    BESIDE,
    COMPUTED,
    FORMS,
    fold,
    form_of,
    group_of,
    heading,
    headings,
    is_code,
    is_criterion,
    is_full_name,
    is_person,
    is_question,
    is_summary_name,
    is_thing,
    meaning_of,
    numbered,
    split_heading,
    weights_in,
)
from evenhand.panel.layout import Kind, Layout, Slot, missing_columns, quoted
from evenhand.panel.rules import label_text
from evenhand.panel.sheet import (
    ADDRESS,
    Facts,
    TableFacts,
    another,
    computed,
    is_in_the_middle,
    is_ranks,
    is_summary,
    share_of,
    tagged,
    told_places,
)
from evenhand.words import argument, name_some, remark

_ANOTHER_SCALE: Final = 3.0
_NO_SCALE: Final = 20.0
"""How many times the highest score of all others makes the lowest number of a column odd, and no score at all."""


def matrix(sheet: TableFacts, kind: Kind | None) -> Layout:
    """Return the layout of a table with a column for each assessor, or for each object."""
    down = sheet.named("assessor" if kind == "across" else "object") or rows_label(sheet, kind)
    across = columns_across(sheet, down)
    pairs = _paired(sheet, across)
    columns = [facts for facts in across if facts.at not in pairs.used] if pairs else across
    columns = _without_summaries(sheet, columns)
    if sheet.given.columns:
        pairs, columns = None, _told(sheet, down)
    if pairs is None and len(columns) < 2 and sheet.given.layout is None:
        raise missing_columns(["assessor"], sheet.table.names, sheet.source)
    if pairs is None and not columns:
        across = [facts for facts in sheet.facts if facts is not down and facts.count]
        message = remark(
            "There is no column of an assessor beside the objects: a wide sheet has one column for each assessor."
        )
        raise InputError(message, kind="missing_column", where=sheet.source)
    headed = [facts for facts in sheet.facts if facts is not down and not facts.name and facts.count]
    if headed and kind is not None:
        raise _without_header(sheet, headed[0])
    labels = [head.label for head in pairs.heads] if pairs else headings([facts.name for facts in columns])
    twice = next((label for at, label in enumerate(labels) if label in labels[:at]), None)
    if twice is not None and not pairs:
        message = remark(
            "Two columns are headed {label}: give each assessor one column, or two different names.", label=repr(twice)
        )
        raise InputError(message, kind="bad_header", where=sheet.source)
    rows = sheet.rows_of(down, columns if not pairs else [sheet.facts[head.score] for head in pairs.heads])
    if kind is None:
        kind = _turn(sheet, down, labels)
        if kind == "wide" and not (pairs and any(head.criterion for head in pairs.heads)):
            _refuse_criteria(sheet, labels)
    _refuse_positions(sheet, labels, columns)
    slots = []
    for head in (
        pairs.heads if pairs else [_Head(facts.at, label) for facts, label in zip(columns, labels, strict=True)]
    ):
        one, other = (down.at, head.label) if kind == "wide" else (head.label, down.at)
        slots.append(Slot(head.score, one, other, head.confidence, head.criterion))
    form: FormHint = "none"
    if pairs and any(head.confidence is not None for head in pairs.heads):
        heads = [sheet.facts[head.confidence].name for head in pairs.heads if head.confidence is not None]
        forms = {form_of(split_heading(name)[1] or name) for name in heads}
        form = forms.pop() if len(forms) == 1 else "level_or_confidence"
    sheet.rows = rows
    what = "objects stand down and assessors across" if kind == "wide" else "assessors stand down and objects across"
    sheet.why.append(f"{down.name!r} labels the rows; {what}.")
    return sheet.finish(
        kind, slots, form, weights=weights_in([head.criterion or "" for head in pairs.heads]) if pairs else {}
    )


def _told(sheet: TableFacts, down: Facts) -> list[Facts]:
    """Return the columns of scores that the user named, whatever they look like."""
    named = {facts.at for facts in sheet.columns(sheet.given.columns, "columns")}
    if down.at in named:
        message = remark(
            "{column} labels the rows: leave it out of {columns}.", column=repr(down.name), columns=argument("columns")
        )
        raise InputError(message, kind="bad_option", where=sheet.source)
    others = [facts.at for facts in sheet.facts if facts.is_scores and facts.at not in named and facts is not down]
    sheet.left_out |= dict.fromkeys(others, remark("not among the columns that were named"))
    return [facts for facts in sheet.facts if facts.at in named]


def groups(sheet: TableFacts) -> Layout | None:
    """Return the layout of a table whose rows name several assessors, each beside a score; None of any other."""
    found: dict[str, dict[str, Facts]] = {}
    parts = {facts.at: group_of(facts.name) for facts in sheet.facts if facts.name and facts.count}
    ordinals = {part.key for part in parts.values() if part.key is not None and not part.is_number}
    if len(ordinals) < 2:  # the first of no others
        parts = {at: part for at, part in parts.items() if part.is_number}
    for at, (key, kind, _) in parts.items():
        facts = sheet.facts[at]
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
            if "score" not in own or _merit(facts) > _merit(own["score"]):
                own["score"] = facts
    groups = {key: one for key, one in found.items() if {"assessor", "score"} <= one.keys()}
    if len(groups) < 2:
        return None
    used = {facts.at for one in groups.values() for facts in one.values()}
    down = sheet.named("object") or sheet.best(
        [one for one in sheet.facts if one.kind == "object" and one.can_label and one.at not in used], "object"
    )
    if down is None:
        down = next((one for one in sheet.facts if one.at not in used and one.can_label and one.is_unique), None)
    if down is None:
        raise missing_columns(["object"], sheet.table.names, sheet.source)
    slots = [
        Slot(one["score"].at, down.at, one["assessor"].at, one["confidence"].at if "confidence" in one else None)
        for one in groups.values()
    ]
    form: FormHint = "level_or_confidence" if any(slot.confidence is not None for slot in slots) else "none"
    sheet.why.append(f"each row names {len(groups)} assessors beside their scores.")
    for facts in sheet.facts:
        if facts.at not in used and facts.is_scores and (is_summary(facts) or facts.kind == "score"):
            sheet.left_out[facts.at] = remark("computed from the scores, by its name")
    return sheet.finish("groups", slots, form)


def _merit(facts: Facts) -> tuple[bool, bool]:
    """Return by what one of several columns of an assessor is the score: its name, then numbers before words."""
    return group_of(facts.name).kind == "score", facts.words is None


def columns_across(sheet: TableFacts, down: Facts | None) -> list[Facts]:
    """Return the columns that can be of one assessor or object each."""
    is_told = sheet.given.layout is not None
    return [
        facts
        for facts in sheet.facts
        if facts is not down
        and (facts.is_scores or (is_told and (not facts.count or bool(np.isfinite(facts.numbers).any()))))
        and facts.name
        and (facts.kind not in ("time", "counter", "title", "expertise") or fold(facts.name) in lexicon.PERSONAL)
        and not (facts.kind == "rank" and (fold(facts.name) not in lexicon.PERSONAL or is_ranks(facts)))
        and not (facts.kind in FORMS and facts.meaning is not None and facts.meaning.strength == 3)
    ]


_LONE: Final = frozenset({"ref", "reference", "id", "code", "key", "no", "nr", "nummer", "kennung", "numero"})
"""Names of a column of codes that say nothing of what these are codes of."""


def rows_label(sheet: TableFacts, kind: Kind | None) -> Facts:
    """Return the column that labels the rows of a matrix."""
    if kind != "across" and not any(facts.kind == "object" and facts.is_unique for facts in sheet.facts):
        coded = [one for one in sheet.facts if fold(one.name) in _LONE and one.is_unique and one.is_text]
        if coded and coded[0].share(lambda cell: is_code(label_text(cell))) > 0.8:
            return coded[0]
    wanted = {"wide": ("object", "title"), "across": ("assessor", "self")}.get(
        kind or "", ("object", "assessor", "self", "title")
    )
    for role in wanted:
        found = [facts for facts in sheet.facts if facts.kind == role and facts.can_label and facts.count]
        named = [one for one in found if one.is_unique] or found
        if named:
            return (tagged(named) or named)[0]
    free = [facts for facts in sheet.facts if facts.count and facts.can_label and facts.kind != "time"]
    texts = [facts for facts in free if facts.is_text or not facts.is_scores]
    counters = [facts for facts in free if facts.kind == "counter"]
    return ([one for one in texts if one.kind != "counter"] or counters or texts or free or sheet.facts)[0]


def _without_summaries(sheet: TableFacts, columns: Sequence[Facts]) -> list[Facts]:
    """Return columns without those that are no assessor's, each of which is told with its reason."""
    kept = list(columns)
    for facts in columns:
        others = [one for one in kept if one is not facts and not is_summary(one) and one.kind != "score"]
        reason = computed(facts, others) or _no_assessor(sheet, facts, others, columns)
        if reason is not None:
            kept.remove(facts)
            sheet.left_out[facts.at] = reason
    return kept


def _no_assessor(sheet: TableFacts, facts: Facts, others: Sequence[Facts], columns: Sequence[Facts]) -> str | None:
    """Return why a column that is not computed is no assessor's, or ask; None where it may be one's.

    A word that may be a name counts for nothing.
    """
    kind = "" if fold(facts.name) in lexicon.PERSONAL else facts.kind
    is_asked = sheet.given.layout is None and len(others) > 1
    if kind in COMPUTED or (kind and is_summary(facts)):
        return remark("looks like {what} by its name", what=remark(COMPUTED.get(kind, COMPUTED["sum"])))
    if kind in ("outcome", "fact") and (len(others) > 1 or sheet.given.layout is None):
        return BESIDE[kind]
    if kind == "score" and len(others) > 1 and 2 * sum(one.kind == "score" for one in columns) < len(columns):
        return remark("looks like {what} by its name", what=remark("a score for all"))
    if kind in ("object", "confidence", "uncertainty", "level") and len(others) > 1:
        is_plain = facts.meaning is not None and facts.meaning.strength == 3
        return remark("no column of an assessor by its name") if is_plain else None
    if kind:
        return None
    if is_asked and facts.kind == "score" and facts is columns[-1]:
        raise _mark_or_name(sheet, facts)
    if is_asked and _is_counter(sheet, facts, others):
        raise _counter_or_name(sheet, facts)
    beyond = _beyond(sheet, facts, others)
    if beyond > _ANOTHER_SCALE:
        message = remark(
            "{column} was left out, and its numbers lie far beyond all others: is that right?"
            if beyond > _NO_SCALE
            else "{column} was taken for an assessor, and its numbers lie far beyond all others: is that right?",
            column=repr(facts.name),
        )
        sheet.notes.append(Problem("another_scale", message, remark("column {name}", name=facts.name)))
        return remark("on another scale than the scores") if beyond > _NO_SCALE else None
    if is_in_the_middle(facts, others):
        message = remark(
            "{column} has the mean of the others in every row, and was taken for an assessor.", column=repr(facts.name)
        )
        sheet.notes.append(Problem("like_a_mean", message, remark("column {name}", name=facts.name)))
    return None


def _mark_or_name(sheet: TableFacts, facts: Facts) -> InputError:
    """Return the question whether the last column is a score for all or somebody's."""
    message = remark(
        "The last column, {column}, may be a score for all or an assessor of this name. Give {wide} if it is an "
        "assessor, and else leave the column out of the file.",
        column=repr(facts.name),
        wide=argument("layout", "wide"),
    )
    return InputError(message, kind="ambiguous_column", where=sheet.source)


def _counter_or_name(sheet: TableFacts, facts: Facts) -> InputError:
    """Return the question whether a column that counts from 1 is somebody's."""
    message = remark(
        "The column {column} numbers the rows from 1 to {last}. Give {wide} if it holds the scores of an assessor; "
        "else call it No., or leave it out of the file.",
        column=repr(facts.name),
        last=len(sheet.table),
        wide=argument("layout", "wide"),
    )
    return InputError(message, kind="ambiguous_column", where=sheet.source)


def _is_counter(sheet: TableFacts, facts: Facts, others: Sequence[Facts]) -> bool:
    """Say whether a column left of all others numbers the rows, one by one."""
    is_first = all(facts.at < one.at for one in others)
    is_long = len(sheet.table) > 3 and len(others) > 1
    return is_first and is_long and np.array_equal(facts.numbers, np.arange(1.0, len(sheet.table) + 1))


def _beyond(sheet: TableFacts, facts: Facts, others: Sequence[Facts]) -> float:
    """Return how many times the highest of all others the lowest number of a column is; 0 where there are too few."""
    if len(others) < 2 or facts.words is not None or facts.filled.sum() < 0.9 * len(sheet.table):
        return 0.0
    numbers, rest = facts.numbers, np.concatenate([one.numbers for one in others])
    if not np.isfinite(numbers).any() or not np.isfinite(rest).any():
        return 0.0
    return float(np.nanmin(numbers)) / max(1.0, float(np.nanmax(np.abs(rest))))


def _turn(sheet: TableFacts, down: Facts, labels: Sequence[str]) -> Kind:
    """Return whether objects stand down or across, or ask where nothing tells."""
    if down.kind == "object":
        return "wide"
    if down.kind in ("assessor", "self"):
        return "across"
    rows = [label_text(cell) for cell in down.distinct]
    are_peers = 2 * len(set(rows) & set(labels)) > len(set(rows) | set(labels))
    evidence = -math.inf if are_peers else 0.0
    summaries = any("looks like" in reason for reason in sheet.left_out.values())
    ranked = any(facts.kind == "rank" for facts in sheet.facts)
    evidence += 2.0 * (summaries or ranked) + 1.0 * (down.kind == "title")
    if (
        sheet.rows is not None
        and not sheet.rows.all()
        and not summaries
        and any(problem.kind == "summary_rows" for problem in sheet.notes)
    ):
        evidence -= 2.0
    meanings = [meaning_of(label) for label in labels]
    evidence += 3.0 * share_of(meanings, lambda one: one is not None and one.kind == "assessor")
    evidence -= 3.0 * share_of(meanings, lambda one: one is not None and one.kind == "object")
    evidence += 3.0 * share_of(labels, lambda one: bool(ADDRESS.fullmatch(one)))
    evidence -= 3.0 * share_of(rows, lambda one: bool(ADDRESS.fullmatch(one)))
    evidence += 1.5 * (share_of(rows, is_thing) - share_of(labels, is_thing))
    evidence += 0.9 * (share_of(labels, is_full_name) - share_of(rows, is_full_name))
    evidence += 0.5 * (share_of(labels, is_person) - share_of(rows, is_person))
    if 0.85 <= abs(evidence) < math.inf:
        return "wide" if evidence > 0 else "across"
    first = name_some([repr(label) for label in rows], 3)
    other = name_some([repr(label) for label in labels], 3)
    raise InputError(
        remark(
            "It is not clear what stands down and what across: {first} down, {other} across. Give {wide} if the rows "
            "are objects and the columns assessors, {across} if the rows are assessors.",
            first=first,
            other=other,
            wide=argument("layout", "wide"),
            across=argument("layout", "across"),
        ),
        kind="ambiguous_layout",
        where=sheet.source,
    )


def _refuse_criteria(sheet: TableFacts, labels: Sequence[str]) -> None:
    """Refuse columns that are criteria or questions: then nobody is named who assessed."""
    if 2 * sum(is_criterion(label) or is_question(label) for label in labels) > len(labels):
        raise InputError(
            remark(
                "The columns {columns} look like criteria or questions, and no column names the assessors: add one "
                "({assessor}). If each column is an assessor's, give {wide}.",
                columns=quoted(list(labels)),
                assessor=argument("assessor", "NAME"),
                wide=argument("layout", "wide"),
            ),
            kind="missing_column",
            where=sheet.source,
        )


def _refuse_positions(sheet: TableFacts, labels: Sequence[str], columns: Sequence[Facts]) -> None:
    """Refuse columns such as Reviewer 1, Reviewer 2 that are places in a row, not people."""
    if sheet.given.layout is not None or len(columns) != len(labels):
        return
    if len(labels) < 2 or any(numbered(label) is None for label in labels):
        return
    filled = np.column_stack([facts.filled for facts in columns])
    if sheet.rows is not None:
        filled = filled[sheet.rows]
    is_prefix = bool((np.diff(filled.astype(int), axis=1) <= 0).all())
    if is_prefix and (len(labels) <= 5 or not filled.all()):
        reason = remark("The columns {columns} are filled from the left", columns=quoted(list(labels)))
        option = argument("layout", "wide")
        sheet.notes.append(told_places(labels, reason, not filled.all(), option, sheet.source))


def _without_header(sheet: TableFacts, facts: Facts) -> InputError:
    before = sheet.table.names[facts.at - 1] if facts.at else ""
    message = remark(
        "Column {number} of the table (right of {before}) has cells but no header: write the assessor's name above it."
        if before
        else "Column {number} of the table has cells but no header: write the assessor's name above it.",
        number=facts.at + 1,
        before=repr(before),
    )
    row = sheet.table.row_numbers[int(np.argmax(facts.filled))]
    where = remark("{source}, row {row}", source=sheet.source, row=row)
    return InputError(message, kind="bad_header", where=where)


def _paired(sheet: TableFacts, columns: Sequence[Facts]) -> _Pairs | None:
    """Return headings such as ``Anna``, ``Anna confidence`` or ``Anna: Merit``, split into label and what it says."""
    free = [facts for facts in sheet.facts if facts.name and facts.count]
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
        elif facts.is_scores and facts in columns and kind in ("score", "") and not is_summary_name(rest):
            criterion = None if kind == "score" else rest
            key = (label, criterion)
            heads[key] = replace(heads.get(key) or _Head(facts.at, label), score=facts.at, criterion=criterion)
            used.add(facts.at)
        elif kind or facts.is_prose or facts.is_text or is_summary_name(rest):
            used.add(facts.at)
            if facts.is_scores:
                sheet.left_out[facts.at] = remark("computed, by its name")
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
                    sheet.left_out[head.score] = another()
            found = scores
    criteria = {head.criterion for head in found}
    others = [facts for facts in columns if facts.at not in used and facts.kind == ""]
    has_more = any(head.confidence is not None for head in found) and not criteria - {None}
    if len({head.label for head in found}) + has_more * len(others) < 2:
        return None
    if len(criteria) == 1 and None not in criteria:
        found = [replace(head, criterion=None) for head in found]
    questions = {head.label for head in found}
    if all("[" in sheet.facts[head.score].name for head in found) and len(questions) < len(criteria):
        found = [replace(head, label=head.criterion or head.label, criterion=head.label) for head in found]
        if len({head.criterion for head in found}) == 1:
            found = [replace(head, criterion=None) for head in found]
    if has_more:
        found += [_Head(facts.at, heading(facts.name)) for facts in others]
        used |= {facts.at for facts in others}
    return _Pairs(found, used)


# --- headings of two parts ---


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
