"""How a table holds assessments: long, wide, turned or in groups, by names, cells and arithmetic; or what to ask."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.panel import lexicon
from evenhand.panel.across import columns_across, groups, matrix, rows_label
from evenhand.panel.column import Cell, Table, factorise
from evenhand.panel.confidence import FormHint
from evenhand.panel.headings import (
    COMPUTED,
    FORMS,
    WEIGHT,
    bare_name,
    fold,
    form_of,
    is_criterion,
    meaning_of,
    numbered,
    weights_in,
    without_number,
)
from evenhand.panel.layout import Given, Layout, Roles, Slot, by_names, missing_columns, quoted, several_columns
from evenhand.panel.rules import label_text, parse_score
from evenhand.panel.sheet import Facts, TableFacts, another, computed, is_summary, told_places
from evenhand.words import argument, remark


def understand(table: Table, given: Given = Given()) -> Layout:  # noqa: B008  # never changed
    """Return how a table holds assessments; ``given`` is what the user said of it.

    Raises
    ------
    InputError
        If a column is missing, or two readings are as likely: then it says which option settles it.
    """
    sheet = TableFacts(table, given)
    if given.layout in ("wide", "across"):
        return matrix(sheet, given.layout)
    if given.layout == "groups":
        return groups(sheet) or _fail(sheet, ["assessor"])
    return _any(sheet)


def _fail(sheet: TableFacts, roles: Sequence[str]) -> Layout:
    raise missing_columns(roles, sheet.table.names, sheet.table.source)


def _any(sheet: TableFacts) -> Layout:
    """Return the layout that fits."""
    exact = _by_names(sheet)
    if exact is not None:
        return exact
    if not sheet.given.named and not sheet.given.criteria:
        _refuse_headless(sheet)
    several = groups(sheet) if not sheet.given.named.keys() - {"object"} else None
    if several is not None:
        return several
    objects, assessors = _sides(sheet)
    if objects is not None and assessors is not None:
        return _long(sheet, objects, assessors)
    if sheet.given.named.keys() & {"score", "criterion"}:
        return _long_or_fail(sheet, objects, assessors)
    if sheet.given.assessor is None and len(columns_across(sheet, objects)) >= 2 and assessors is None:
        down = rows_label(sheet, None)
        if len(down.distinct) >= 0.8 * down.count:
            return matrix(sheet, None)
    if assessors is not None and objects is None and len(columns_across(sheet, assessors)) >= 2:
        return matrix(sheet, "across")
    return _long_or_fail(sheet, objects, assessors)


def _refuse_headless(sheet: TableFacts) -> None:
    """Refuse a table whose header looks like one of its rows: numbers above numbers, and no word that is known."""
    if not sheet.facts or not sheet.facts[0].name or any(facts.meaning is not None for facts in sheet.facts):
        return
    above = {facts.at: parse_score(facts.name) for facts in sheet.facts if facts.is_scores and facts.words is None}
    inside = [
        score is not None and np.nanmin(sheet.facts[at].numbers) <= score.number <= np.nanmax(sheet.facts[at].numbers)
        for at, score in above.items()
        if sheet.facts[at].name
    ]
    if inside and 2 * sum(inside) > len(inside):
        raise InputError(
            remark(
                "There is no header: the first row, {cells}, looks like one of those below it. Write names above "
                "the columns: object, assessor and score where each row is one assessment; else the names of the "
                "assessors.",
                cells=quoted(sheet.table.names),
            ),
            kind="no_header",
            where=sheet.source,
        )


def _by_names(sheet: TableFacts) -> Layout | None:
    """Return the layout of a table of which the very names settle everything; None where more must be looked at."""
    given, roles = sheet.given, by_names(sheet.table.names, sheet.given, sheet.source)
    if roles is None:
        return None
    if given.score is None and _has_criteria(sheet, roles):
        return None
    objects, assessors, score = (sheet.facts[at] for at in (roles.object, roles.assessor, roles.score))
    rows = sheet.rows_of(objects, [score], assessors)
    down = _fill_down(sheet, objects, assessors, [score], rows)
    _refuse_places(sheet, objects, assessors)
    sure, form = roles.confidence, roles.form
    is_said = given.named.keys() & FORMS.keys()
    if sure is not None and not is_said and not sheet.facts[sure].count:
        sure, form = None, "none"  # a column that nobody filled in
    elif sure is None:
        sure, form = _sureness(sheet, set(roles.used))
    slot = Slot(roles.score, down, roles.assessor, sure, roles.criterion)
    return sheet.finish("long", [slot], form)


def _has_criteria(sheet: TableFacts, roles: Roles) -> bool:
    """Say whether the score is computed from other columns, which then are the scores."""
    score, used = sheet.facts[roles.score], roles.used
    others = [
        facts
        for facts in sheet.facts
        if facts.at not in used
        and facts.kind in ("", "score")
        and 2 * facts.count > score.count  # no table of results beside
        and facts.is_scores
    ]
    few = [facts for facts in others if not facts.is_unique]
    return any(len(some) > 1 and computed(score, some) is not None for some in (others, few))


def _long_or_fail(sheet: TableFacts, objects: Facts | None, assessors: Facts | None) -> Layout:
    """Return a reading of one assessment a row, with the one column that can be what is missing."""
    scores = [facts for facts in sheet.facts if facts.kind == "score" and facts.is_scores]
    known = objects or assessors
    if known is not None and (scores or sheet.given.score):
        free = [
            facts
            for facts in sheet.facts
            if facts is not known
            and facts.can_label
            and facts.is_text
            and facts.kind in ("", "title", "self")
            and not facts.is_unique
            and len(facts.distinct) > 1
            and _pairs_up(sheet, known, facts)
        ]
        if len(free) == 1:
            what = "assessors" if objects is not None else "objects"
            sheet.why.append(f"{free[0].name!r} is the only column that can hold the {what}.")
            return _long(sheet, objects or free[0], assessors or free[0])
    missing = [
        role
        for role, found in (("object", objects), ("assessor", assessors), ("score", scores or sheet.given.score))
        if not found
    ]
    return _fail(sheet, missing or ["score"])


def _pairs_up(sheet: TableFacts, one: Facts, other: Facts) -> bool:
    """Say whether no pair of cells of two columns stands twice, and neither follows from the other."""
    pairs = [pair for pair in zip(one.cells, other.cells, strict=True) if None not in pair]
    return len(set(pairs)) == len(pairs) > max(len(one.distinct), len(other.distinct))


def _sides(sheet: TableFacts) -> tuple[Facts | None, Facts | None]:
    """Return the columns of objects and of assessors, as far as they are there."""
    objects, assessors = sheet.named("object"), sheet.named("assessor")
    siblings = _siblings(sheet)
    if objects is None:
        objects = sheet.best(
            [
                facts
                for facts in sheet.facts
                if facts.kind == "object" and facts is not assessors and facts.can_label and facts.at not in siblings
            ],
            "object",
        )
    if assessors is None:
        people = [
            facts
            for facts in sheet.facts
            if facts.kind == "assessor"
            and facts is not objects
            and facts.can_label
            and not _is_numbered(sheet, facts)
            and facts.at not in siblings
        ]
        people = [one for one in people if not fold(one.name).startswith("model")] or people
        selves = [
            facts for facts in sheet.facts if facts.kind == "self" and facts.can_label and len(facts.distinct) > 1
        ]
        mails = [facts for facts in selves if facts.is_mail and (facts.filled | ~sheet.scored).all()]
        if (
            people
            and mails
            and not any(one.is_mail for one in people)
            and _is_address(sheet, mails[0], people[0], objects)
        ):
            own = [one for one in people if fold(one.name) == "assessor" and sheet.follows(one, mails[0])]
            people = [*own, *mails]  # one key: the address before the name, but for labels of our own sheets
        assessors = sheet.best(people or mails or selves, "assessor")
    if assessors is None and objects is not None and any(facts.kind == "time" for facts in sheet.facts):
        names = [facts for facts in sheet.facts if fold(facts.name) in ("name", "nom", "naam", "nome", "nombre")]
        assessors = next((facts for facts in names if facts.can_label and facts is not objects), None)
    if objects is None:
        titles = [
            facts for facts in sheet.facts if facts.kind == "title" and facts is not assessors and facts.can_label
        ]
        objects = titles[0] if titles and (assessors is None or not sheet.follows(titles[0], assessors)) else None
    return objects, assessors


def _is_address(sheet: TableFacts, mails: Facts, people: Facts, objects: Facts | None) -> bool:
    """Say whether addresses are those of people who are named beside them, and not those of the objects' authors."""
    if objects is not None and len(objects.distinct) < objects.count and sheet.follows(mails, objects):
        return False
    return sheet.follows(people, mails) or sheet.follows(mails, people)


def _siblings(sheet: TableFacts) -> set[int]:
    """Return the columns that stand under one heading or answer one question, and hold nothing but scores."""
    under: dict[str, list[int]] = {}
    for facts in sheet.facts:
        question = facts.name.partition(": ")[0] if ": " in facts.name else facts.name.partition(" [")[0]
        if question != facts.name and facts.is_scores:
            under.setdefault(question, []).append(facts.at)
    return {at for places in under.values() if len(places) > 1 for at in places}


def _is_numbered(sheet: TableFacts, facts: Facts) -> bool:
    """Say whether a column is one of several that are called alike but for a number, or for a letter above scores."""
    parts = without_number(facts.name)
    others = [other.name for other in sheet.facts if other is not facts and other.name]
    if parts is not None:
        return any(fold(found[0]) == fold(parts[0]) for found in map(without_number, others) if found is not None)
    *words, last = fold(facts.name).split()
    if not words or last in lexicon.TAGS or facts.is_text:
        return False
    alike = (fold(name).split() for name in others)
    return any(other[:-1] == words and other[-1] not in lexicon.TAGS for other in alike if other)


def _long(sheet: TableFacts, objects: Facts, assessors: Facts) -> Layout:
    """Return the layout of a table whose rows have an object and an assessor."""
    sheet.why.append(f"{objects.name!r} and {assessors.name!r} name an object and an assessor in each row.")
    covariates = [facts.at for facts in sheet.columns(sheet.given.covariates, "covariates")]
    taken = {objects.at, assessors.at, *covariates}
    sure, form = _sureness(sheet, taken)
    taken |= {sure} if sure is not None else set()
    criterion = sheet.named("criterion") or _criterion(sheet, objects, assessors, taken)
    if criterion is not None:
        taken.add(criterion.at)
    chosen = _score_columns(sheet, taken, objects, assessors)
    rows = sheet.rows_of(objects, chosen, assessors)
    objects_at = _fill_down(sheet, objects, assessors, chosen, rows)
    _refuse_places(sheet, objects, assessors)
    label = None if criterion is None else criterion.at
    weights: dict[str, float] = {}
    if len(chosen) == 1:
        slots = [Slot(chosen[0].at, objects_at, assessors.at, sure, label)]
    else:
        weights = weights_in([facts.name for facts in chosen])
        slots = [Slot(facts.at, objects_at, assessors.at, sure, bare_name(facts.name)) for facts in chosen]
    return sheet.finish("long", slots, form, covariates, weights)


def _sureness(sheet: TableFacts, taken: set[int]) -> tuple[int | None, FormHint]:
    """Return the column that says how sure assessors were, and how it is to be read."""
    for role, form in FORMS.items():
        if (named := sheet.named(role)) is not None:
            return named.at, form
    found = _on_assessors([facts for facts in sheet.facts if facts.at not in taken and not facts.is_prose])
    if len(found) > 1:
        strongest = max(facts.meaning.strength for facts in found if facts.meaning is not None)
        found = [facts for facts in found if facts.meaning is not None and facts.meaning.strength == strongest]
    if len(found) > 1:
        names = [facts.name for facts in found]
        raise several_columns(names, None, ["uncertainty", "confidence", "level"], sheet.source)
    sheet.notes.extend(_on_expertise(found[0], found[0].name) if found else [])
    return (found[0].at, form_of(found[0].name)) if found else (None, "none")


def _on_assessors(found: Sequence[Facts]) -> list[Facts]:
    """Return the columns that say how sure assessors were; where there are none, how well they know the subject."""
    filled = [facts for facts in found if facts.count]
    return [one for one in filled if one.kind in FORMS] or [
        one for one in filled if one.kind == "expertise" and one.is_levels
    ]


def _on_expertise(facts: Facts, name: str) -> list[Problem]:
    if facts.kind != "expertise":
        return []
    message = remark(
        "{column} says how well assessors know the subject, and is taken as how sure they were.", column=repr(name)
    )
    return [Problem("expertise_as_confidence", message, remark("column {name}", name=name))]


def _criterion(sheet: TableFacts, objects: Facts, assessors: Facts, taken: set[int]) -> Facts | None:
    """Return the column of criteria, where an assessor scores an object more than once and one tells them apart."""
    pairs = [pair for pair in zip(objects.cells, assessors.cells, strict=True) if None not in pair]
    if len(set(pairs)) == len(pairs):
        return None
    for facts in sheet.facts:
        if facts.at in taken or facts.kind != "criterion" or not facts.is_text or not facts.filled.all():
            continue
        threes = list(zip(objects.cells, assessors.cells, facts.cells, strict=True))
        if len(set(threes)) == len(threes):
            sheet.why.append(f"{facts.name!r} tells scores of the same object by the same assessor apart.")
            return facts
    return None


def _score_columns(sheet: TableFacts, taken: set[int], objects: Facts, assessors: Facts) -> list[Facts]:
    """Return the column of scores, or several that are criteria."""
    if sheet.given.criteria:
        return sheet.columns(sheet.given.criteria, "criteria")
    if (named := sheet.named("score")) is not None:
        return [named]
    free = [
        facts
        for facts in sheet.facts
        if facts.at not in taken
        and facts.is_scores
        and facts.name
        and facts.kind not in ("time", "counter", "object", "assessor", "fact", "outcome", "self", "expertise")
    ]
    free = [one for one in free if not _is_detail(sheet, one, objects, assessors)]
    free = [one for one in free if one.nature != "flag"] or free
    aside = {
        facts.at: reason
        for facts in free
        if (reason := computed(facts, [one for one in free if one is not facts and not is_summary(one)]))
        and (is_summary(facts) or facts.kind == "score")
    }
    aside |= {
        facts.at: remark("looks like {what} by its name", what=remark(COMPUTED.get(facts.kind, COMPUTED["sum"])))
        for facts in free
        if is_summary(facts) and facts.at not in aside
    }
    parts = [facts for facts in free if facts.at not in aside]
    named_scores = [facts for facts in parts if facts.kind == "score"]
    if len(named_scores) > 1 and len(overall := _overall(named_scores)) == 1:
        named_scores = overall
    if len(named_scores) == 1:
        sheet.left_out |= aside
        for facts in parts:
            if facts is not named_scores[0]:
                sheet.left_out[facts.at] = another()
        return named_scores
    if len(parts) == 1 or (not parts and len(aside) == 1):
        if not parts and (ranks := [sheet.facts[at] for at in aside if sheet.facts[at].kind == "rank"]):
            raise InputError(
                remark(
                    "The column {column} holds places, of which the first is the best, and no scores. Give the scores; "
                    "or read the places as scores, {score} and {best}.",
                    column=repr(ranks[0].name),
                    score=argument("score", ranks[0].name),
                    best=argument("best", "lowest"),
                ),
                kind="ranks",
                where=sheet.source,
            )
        if not parts:
            parts, aside = [sheet.facts[at] for at in aside], {}
        sheet.left_out |= aside
        sheet.why.append(f"{parts[0].name!r} is the only column that can hold scores.")
        return parts
    if not parts:
        raise missing_columns(["score"], sheet.table.names, sheet.source)
    if _alike(sheet, parts):
        sheet.left_out |= aside
        sheet.why.append(f"{quoted([one.name for one in parts])} are scores of the same assessment: criteria.")
        return parts
    several = quoted([facts.name for facts in named_scores or parts])
    raise InputError(
        remark(
            "The columns {columns} could each hold the scores: say which one with {score}, or that they are criteria "
            "with {criteria}.",
            columns=several,
            score=argument("score"),
            criteria=argument("criteria", "NAME,NAME"),
        ),
        kind="ambiguous_column",
        where=sheet.source,
    )


class Answers(NamedTuple):
    """Which columns of a review hold its scores and how sure the assessor was, by their places in the table.

    ``several`` are those that could each be the overall score.
    """

    scores: tuple[int, ...]
    confidence: int | None
    left_out: dict[int, str]
    notes: list[Problem]
    several: tuple[int, ...] = ()


_UNGRADED: Final = {"text": "text", "empty": "empty", "flag": "yes or no, not a score"}


def answers(table: Table, asked: Mapping[int, str]) -> Answers:
    """Tell overall score, criteria and confidence among columns that are known to be answers about one assessment.

    Parameters
    ----------
    table
        The table.
    asked
        What is asked in each of these columns, by place.
    """
    facts = [Facts(at, replace(table.columns[at], name=name), table.decimal_comma) for at, name in asked.items()]
    left_out = {one.at: remark(_UNGRADED[one.nature]) for one in facts if one.nature in _UNGRADED}
    graded = [one for one in facts if one.at not in left_out]
    sure = _on_assessors(graded)
    notes = _on_expertise(sure[0], table.names[sure[0].at]) if sure else []
    told = [one for one in graded if one.kind in FORMS or one.kind == "expertise"]
    left_out |= dict.fromkeys(
        (one.at for one in told if not sure or one is not sure[0]), remark("another field on the assessor")
    )
    graded = [one for one in graded if one not in told]
    named = [one for one in graded if one.kind == "score"]
    best = _overall(graded) or (named if len(named) == 1 else [])
    left_out |= dict.fromkeys((one.at for one in graded if best and one is not best[0]), another())
    scores = tuple(one.at for one in (best[:1] or graded))
    several = tuple(one.at for one in best) if len(best) > 1 else ()
    return Answers(scores, sure[0].at if sure else None, left_out, notes, several)


def _alike(sheet: TableFacts, found: Sequence[Facts]) -> bool:
    """Say whether columns can be criteria of one assessment: all on about the same scale, or weighted."""
    if all(WEIGHT.search(one.name) for one in found):
        return True
    tops = [float(np.nanmax(one.numbers)) if np.isfinite(one.numbers).any() else 0.0 for one in found]
    known = sum(is_criterion(one.name) for one in found)
    bracketed = all(re.search(r"\[.+\]\s*$", one.name) for one in found)
    spread = max(tops) / max(min(tops), 1e-9)
    named = all(one.kind == "score" for one in found) and not any(map(_is_plain, found))
    return spread <= 3 and (2 * known >= len(found) or bracketed or named)


def _overall(found: Sequence[Facts]) -> list[Facts]:
    """Return those of some scores that stand for all of them: one that is called overall, or just score."""
    words = frozenset(lexicon.OVERALL) - lexicon.SUMS
    called = [one for one in found if not words.isdisjoint(fold(one.name).split())]
    return called or [one for one in found if _is_plain(one)]


def _is_plain(facts: Facts) -> bool:
    """Say whether a heading is a word for scores and nothing else, but for a number: ``Score``, ``Mark 2``."""
    meaning = meaning_of((without_number(facts.name) or (facts.name, 0))[0])
    return meaning is not None and meaning.kind == "score" and meaning.strength == 3


def _is_detail(sheet: TableFacts, facts: Facts, objects: Facts, assessors: Facts) -> bool:
    """Say whether a column tells something of objects or of assessors, not of assessments."""
    if facts.kind == "score" or len(objects.distinct) == objects.count or is_criterion(facts.name):
        return False
    many = [
        side for side in (objects, assessors) if 2 * len(side.distinct) <= side.count and sheet.follows(facts, side)
    ]
    return bool(many)


def _refuse_places(sheet: TableFacts, objects: Facts, assessors: Facts) -> None:
    """Refuse labels such as Reviewer 1, Reviewer 2 that begin anew for each object: places, not people."""
    if sheet.given.assessor is None:
        (_, one), (cells, who) = objects.kinds, assessors.kinds
        both = (one > 0) & (who > 0)
        labels = ["" if cell is None else label_text(cell) for cell in cells[1:]]
        sheet.notes += places(labels, one[both], who[both] - 1, sheet.source)


def places(
    labels: Sequence[str], object_index: NDArray[Any], assessor_index: NDArray[Any], source: str
) -> list[Problem]:
    """Refuse assessors who are numbered anew for each object, or note it where all objects have as many of them.

    No sorting is done unless every number is small enough for its object, which those of people hardly are.
    """
    if len(labels) < 2 or any(numbered(label) is None for label in labels):
        return []
    number = np.array([numbered(label) or 0 for label in labels])
    rows = np.bincount(object_index)
    if (number < 1).any() or (number[assessor_index] > rows[object_index]).any():
        return []
    width = int(number.max()) + 1
    pairs = np.unique(object_index.astype(np.int64) * width + number[assessor_index])
    count = np.bincount(pairs // width, minlength=rows.size)
    last = np.zeros(rows.size, np.int64)
    last[pairs // width] = pairs % width  # of the sorted numbers of an object the last one stays
    if (count != last).any():
        return []
    ordered = [labels[at] for at in np.argsort(number, kind="stable")]
    reason = remark("The assessors {labels} begin anew for each object", labels=quoted(ordered))
    return [told_places(ordered, reason, np.unique(count[rows > 0]).size > 1, argument("assessor", "NAME"), source)]


def _fill_down(
    sheet: TableFacts, objects: Facts, assessors: Facts, scores: Sequence[Facts], rows: NDArray[np.bool_] | None
) -> int:
    """Return the place of the column of objects; where each stands only at the head of its block, it is filled."""
    needed = np.any([facts.filled for facts in scores], axis=0) & assessors.filled
    if rows is not None:
        needed &= rows
    blank = needed & ~objects.filled
    is_block = blank.sum() > 2 and blank.sum() >= 0.3 * needed.sum() and objects.is_unique
    if not is_block or blank[np.argmax(needed)]:
        return objects.at
    cells: list[Cell] = []
    last: Cell = None
    for cell, wanted in zip(objects.cells, needed, strict=True):
        last = cell if cell is not None else last
        cells.append(last if wanted else cell)
    pairs = [pair for pair, wanted in zip(zip(cells, assessors.cells, strict=True), needed, strict=True) if wanted]
    heads = {one for (one, _), is_blank in zip(pairs, blank[needed], strict=True) if is_blank}
    if len(set(pairs)) < len(pairs) or 2 * len(heads) <= len(objects.distinct):
        return objects.at  # some labels are missing, and not to be guessed
    column = factorise(objects.name, cells)
    sheet.table = replace(sheet.table, names=(*sheet.table.names, objects.name), columns=(*sheet.table.columns, column))
    sheet.facts.append(Facts(len(sheet.facts), column, sheet.table.decimal_comma))
    sheet.left_out[objects.at] = remark("filled down: each object stands once, above its assessments")
    count = int(blank.sum())
    message = remark(
        "{column} stands once for several rows and was filled down to 1 row."
        if count == 1
        else "{column} stands once for several rows and was filled down to {count} rows.",
        column=repr(objects.name),
        count=f"{count:,}",
    )
    sheet.notes.append(Problem("filled_down", message, remark("column {name}", name=objects.name)))
    return len(sheet.facts) - 1
