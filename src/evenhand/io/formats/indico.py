"""Indico: abstracts and papers with their reviews as JSON; its csv has means only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import Found, cells_of, column_named, left_out_rows, with_fields
from evenhand.io.records import record_of, records_in, records_table, scalar
from evenhand.panel.column import Cell, Table
from evenhand.panel.headings import fold
from evenhand.words import count_of, is_or_are

_OF_ABSTRACTS: Final = frozenset({"submitted for tracks", "reviewed for tracks", "accepted track"})
_HEAD: Final = ("friendly_id", "reviewer", "title", "reviewer name", "track", "revision")


def from_table(table: Table) -> Found | None:
    """Refuse the csv of abstracts, which has one mean for each."""
    names = {fold(name) for name in table.names}
    if names & _OF_ABSTRACTS and "score" in names and column_named(table, "reviewer", "assessor") is None:
        message = (
            "This is Indico's table of abstracts, which has only the mean score of each, and without its sign where it "
            "is negative: export the abstracts as JSON, which has every review."
        )
        raise InputError(message, kind="aggregates", where=table.source)
    return None


def from_data(data: object, source: str) -> Found | None:
    """Return the ratings of abstracts or papers, a column for each question."""
    if not (isinstance(data, dict) and "version" in data):
        return None
    things = data.get("abstracts", data.get("papers"))
    if not (isinstance(things, list) and all(isinstance(one, dict) for one in things)):
        return None
    if not ("questions" in data or "rating_range" in data or any(map(_is_rated, things))):
        return None
    questions = dict(_questions(data))
    older = 0
    records: list[dict[str, Cell]] = []
    odd = 0
    for thing in things:
        reviews, before = _reviews(thing, source)
        older += before
        for review in reviews:
            ratings = {}
            for rating in records_in(review.get("ratings"), "ratings", source):
                asked = questions.get(_key(rating.get("question")), _asked(rating.get("question")))
                if asked is None:
                    continue
                value = rating.get("value")
                if isinstance(value, bool | str | list | dict):
                    odd += 1
                    continue
                group = review.get("group")
                ratings[f"{_word(group)}: {asked}" if group else asked] = value
            records.append({**_head(thing, review), **ratings})
    system = f"Indico's {'abstracts' if 'abstracts' in data else 'papers'}.json"
    if not records:
        raise InputError(f"This is {system} without any review.", kind="no_scores", where=source)
    if any(record["reviewer"] is None for record in records):
        message = f"This is {system} without the reviewers: export it as a manager who may see them."
        raise InputError(message, kind="anonymous_assessors", where=source)
    table = records_table(records, source)
    asked_there = [
        name for name in table.names if name not in _HEAD and any(cell is not None for cell in cells_of(table, name))
    ]
    if not asked_there:
        raise InputError(f"This is {system} without any rating that is a number.", kind="no_scores", where=source)
    tracks = "track" in table.names and len({cell for cell in cells_of(table, "track") if cell is not None}) > 1
    notes = [*left_out_rows(older, "reviews of earlier revisions")]
    if odd:
        notes.append(Problem("left_out", f"{count_of(odd, 'rating')} that {is_or_are(odd)} no number left out."))
    found = Found(
        system,
        table,
        object="friendly_id",
        assessor="reviewer",
        title="title" if "title" in table.names else None,
        assessor_details=("reviewer name",) if "reviewer name" in table.names else (),
        left_out=tuple((name, "where it was reviewed") for name in ("track", "revision") if name in table.names),
        notes=tuple(notes),
        duplicates="keep" if tracks else None,
    )
    return with_fields(found, asked_there)


def _is_rated(thing: Mapping[str, Any]) -> bool:
    """Say whether an abstract or a paper has reviews as Indico writes them."""
    places = thing.get("revisions") if isinstance(thing.get("revisions"), list) else [thing]
    reviews = [record_of(place).get("reviews") for place in places or ()]
    return any("ratings" in record_of(one) for part in reviews if isinstance(part, list) for one in part)


def _questions(data: Mapping[str, Any]) -> Iterator[tuple[object, str | None]]:
    """Yield what each question asks, by its number; None for one that gives no score."""
    for name, part in data.items():
        if name.endswith("questions") and isinstance(part, list):
            for question in part:
                if isinstance(question, dict):
                    yield scalar(question.get("id")), None if question.get("no_score") else _asked(question)


def _key(question: object) -> object:
    return scalar(question.get("id") if isinstance(question, dict) else question)


def _asked(question: object) -> str | None:
    if isinstance(question, dict):
        if question.get("no_score"):
            return None
        return str(question.get("title") or question.get("text") or question.get("id"))
    return None if question is None else f"question {scalar(question)}"


def _reviews(thing: Mapping[str, Any], source: str) -> tuple[list[Mapping[str, Any]], int]:
    """Return the reviews of an abstract or of the last revision of a paper, and how many there were of earlier ones."""
    revisions = thing.get("revisions")
    if not isinstance(revisions, list):
        return list(records_in(thing.get("reviews"), "reviews", source)), 0
    lists = [
        [
            {"revision": scalar(revision.get("number")), **review}
            for review in records_in(revision.get("reviews"), "reviews", source)
        ]
        for revision in records_in(revisions, "revisions", source)
    ]
    numbered = [one for one in lists if one]
    if not numbered:
        return [], 0
    return list(numbered[-1]), sum(map(len, numbered[:-1]))


def _head(thing: Mapping[str, Any], review: Mapping[str, Any]) -> dict[str, Cell]:
    facts = {**record_of(thing.get("contribution")), **{name: part for name, part in thing.items() if part is not None}}
    user, track = record_of(review.get("user")), review.get("track")
    found: dict[str, Cell] = {
        "friendly_id": scalar(facts.get("friendly_id", facts.get("id"))),
        "reviewer": scalar(user.get("email") or user.get("id")),
    }
    further = {
        "title": facts.get("title"),
        "reviewer name": user.get("full_name") or user.get("name"),
        "track": track.get("code") or track.get("title") or track.get("id") if isinstance(track, dict) else track,
        "revision": review.get("revision"),
    }
    return found | {name: scalar(cell) for name, cell in further.items() if cell is not None}


def _word(group: object) -> str:
    return str(group.get("name") if isinstance(group, dict) else group)
