"""OpenReview: notes of either interface, tables made of them; its console's csv and pseudonyms are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import (
    Found,
    cells_of,
    column_named,
    facts_of,
    left_out_rows,
    listed,
    of_rows,
    per_cell,
    text_of,
    with_columns,
    with_fields,
)
from evenhand.io.records import record_of, records_in, records_table, scalar
from evenhand.panel.column import Cell, Table
from evenhand.panel.headings import fold
from evenhand.words import count_of

_REVIEW: Final = re.compile(r"/-/(?!.*(Meta|Rebuttal|Revision|Comment|Rating))\w*Review\w*$")
_PSEUDONYM: Final = re.compile(r"(?:.*/)?(?:AnonReviewer\d+|Reviewer_[A-Za-z0-9]{4})")
_AGGREGATE: Final = re.compile(r"(min|max|average|mean|avg) (.+)")


def from_table(table: Table) -> Found | None:
    """Return a table made of notes; refuse the console's aggregates, and pseudonyms that are new for each paper."""
    names = [fold(name) for name in table.names]
    measures: dict[str, set[str]] = {}
    for name in names:
        if found := _AGGREGATE.fullmatch(name):
            measures.setdefault(found[2], set()).add(found[1])
    if any({"min", "max"} <= kinds for kinds in measures.values()) and ("forum" in names or "number" in names):
        message = (
            "This is the table of OpenReview's console, which has only the lowest, highest and average rating of each "
            "paper: who gave which score is not in it, so nothing can be calibrated. Get the reviews themselves as "
            "notes (JSON) through OpenReview's interface for programs, with the reviewers' profiles."
        )
        raise InputError(message, kind="aggregates", where=table.source)
    signature = column_named(table, "signatures", "signature")
    forum = column_named(table, "forum", "forum id", "paper id", "submission")
    if signature is not None and forum is not None and _is_signed(table, signature):
        return _of_signed(table, forum, signature)
    _refuse_pseudonyms(table)
    return None


def _is_signed(table: Table, name: str) -> bool:
    """Say whether a column holds signatures as OpenReview writes them: ``~Name1``, or the path of a group."""
    return any(re.search(r"~\w|/", text_of(cell)) for cell in facts_of(table, name).distinct)


def _refuse_pseudonyms(table: Table) -> None:
    """Refuse a table whose assessors are pseudonyms that occur once each."""
    for column in table.columns:
        first = next((cell for cell in column.cells if cell is not None), None)
        if isinstance(first, str) and _PSEUDONYM.fullmatch(first.strip()):
            filled = [cell for cell in column if cell is not None]
            refuse_pseudonyms([str(cell).strip() for cell in dict.fromkeys(filled)], len(filled), table.source)


def refuse_pseudonyms(labels: Sequence[str], count: int, source: str) -> None:
    """Refuse labels of assessors that are all pseudonyms, each of which stands only once in so many rows."""
    if len(labels) == count > 1 and all(map(_PSEUDONYM.fullmatch, labels)) and any(map(_is_random, labels)):
        raise _pseudonymous(source, labels[0])


def _is_random(label: str) -> bool:
    """Say whether the end of a pseudonym is no number and no word: x7Qa."""
    end = label.rpartition("_")[2]
    mixed = bool(re.search(r"\d", end) and re.search("[A-Za-z]", end))
    return mixed or not (end.islower() or end.istitle() or end.isdigit())


def _pseudonymous(source: str, example: str) -> InputError:
    message = (
        f"Assessors are pseudonyms such as {example}, which OpenReview makes anew for each paper: the same person is "
        "somebody else on every paper, so no two papers share an assessor and nobody's standard can be told. As a "
        "chair, get the profiles (~Name1) behind them from the groups of reviewers, and give these as the assessors."
    )
    return InputError(message, kind="pseudonyms", where=source)


def _of_signed(table: Table, forum: str, signature: str) -> Found:
    """Return what a table of notes says, a column for each field."""
    deleted, invitation = column_named(table, "ddate"), column_named(table, "invitation", "invitations")
    kept = np.ones(len(table), np.bool_)
    if deleted is not None:
        kept &= per_cell(cells_of(table, deleted), lambda cell: not text_of(cell))
    gone = int(np.count_nonzero(~kept))
    if invitation is not None:
        reviews = per_cell(cells_of(table, invitation), lambda cell: _is_review(_listed(cell)))
        if reviews.any():
            kept &= reviews
    others = len(table) - gone - int(np.count_nonzero(kept))
    table = of_rows(table, kept)
    signed = [next(iter(_listed(cell)), None) for cell in cells_of(table, signature)]
    hidden = _check_signatures(signed, table.source)
    table = with_columns(table, {"assessor": signed})
    known = {"id", "forum", "replyto", "number", "cdate", "mdate", "tcdate", "tmdate", "ddate", "title", "assessor"}
    details = [name for name in table.names if fold(name) in known or name in (forum, signature, invitation)]
    fields = [name for name in table.names if name and name not in details]
    unread = [name for name in details if name not in (forum, "assessor", column_named(table, "title"))]
    found = Found(
        "a table of OpenReview's notes",
        table,
        object=forum,
        assessor="assessor",
        title=column_named(table, "title"),
        left_out=listed((name, "about the note") for name in unread),
        notes=(*_left_out(gone, others), *hidden),
    )
    return with_fields(found, fields, labels=_labels(fields))


def _listed(cell: Cell) -> list[str]:
    """Return the texts of a cell that may be a list: ``['a', 'b']``, ``a|b`` or ``a``."""
    return [part for part in re.split(r"[\[\]'\",|\s]+", text_of(cell)) if part]


def _left_out(deleted: int, others: int) -> tuple[Problem, ...]:
    return (
        *left_out_rows(deleted, "notes that were deleted"),
        *left_out_rows(others, "notes that are no reviews, such as comments, decisions and metareviews"),
    )


def _is_review(invitations: Sequence[str]) -> bool:
    return any(_REVIEW.search(one) for one in invitations)


def _labels(fields: Sequence[str]) -> dict[str, str]:
    """Return what fields ask: their names without what the interface adds."""
    return {name: _plain(name).replace("_", " ") for name in fields}


def _plain(name: str) -> str:
    return name.removeprefix("content.").removesuffix(".value")


# --- notes ---------------------------------------------------------------------------------------


def from_data(data: object, source: str) -> Found | None:
    """Return the reviews among notes, of interface 1 or 2, signed by people or with the groups that name these."""
    notes = list(_notes(data, source))
    if not notes:
        return None
    official = [note for note in notes if _is_review(_invitations(note))]
    if not official:
        if any("replyto" in note and "signatures" in note for note in notes):
            message = "These are notes of OpenReview without any review: get those of the invitation Official_Review."
            raise InputError(message, kind="no_scores", where=source)
        return None
    people = dict(_members(data))
    titles = {
        scalar(note.get("id")): _value(_content(note).get("title"))
        for note in notes
        if note.get("id") == note.get("forum")
    }
    kept = [note for note in official if note.get("ddate") is None]
    signed = [one if one is None else people.get(one, one) for one in map(_signature, kept)]
    hidden = _check_signatures(signed, source)
    records: list[dict[str, Cell]] = []
    for note, person in zip(kept, signed, strict=True):
        forum = scalar(note.get("forum") or note.get("replyto"))
        head: dict[str, Cell] = {"forum": forum, "assessor": person}
        if titles.get(forum):
            head["paper title"] = titles[forum]
        fields = {name: _value(part) for name, part in _content(note).items() if name != "title"}
        records.append({**head, **fields})
    if not records:
        raise InputError("All reviews in these notes of OpenReview were deleted.", kind="no_scores", where=source)
    table = records_table(records, source)
    fields_there = [name for name in table.names if name not in ("forum", "assessor", "paper title")]
    others = sum(note.get("id") != note.get("forum") for note in notes) - len(official)
    found = Found(
        "notes of OpenReview",
        table,
        object="forum",
        assessor="assessor",
        title="paper title" if "paper title" in table.names else None,
        notes=(*_left_out(len(official) - len(kept), max(others, 0)), *hidden),
    )
    return with_fields(found, fields_there, labels=_labels(fields_there))


def _notes(data: object, source: str) -> Iterator[Mapping[str, Any]]:
    """Yield notes, and the replies to them that stand in their details."""
    listed_notes = data.get("notes") if isinstance(data, dict) else data
    seen = set()
    for note in listed_notes if isinstance(listed_notes, list) else ():
        if not (isinstance(note, dict) and isinstance(note.get("content"), dict) and ("forum" in note or "id" in note)):
            continue
        details = record_of(note.get("details"))
        replies = [*records_in(details.get("replies"), "replies", source)]
        replies += records_in(details.get("directReplies"), "directReplies", source)
        for one in (note, *replies):
            key = scalar(one.get("id"))
            if key is None or key not in seen:
                seen.add(key)
                yield one


def _invitations(note: Mapping[str, Any]) -> list[str]:
    found = note.get("invitations") or note.get("invitation") or []
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]


def _content(note: Mapping[str, Any]) -> Mapping[str, Any]:
    return record_of(note.get("content"))


def _value(given: object) -> Cell:
    """Return the value of a field: bare in interface 1, under ``value`` in interface 2."""
    if isinstance(given, dict):
        given = given.get("value")
    if isinstance(given, list):
        return ", ".join(map(str, given))
    return given if isinstance(given, str | int | float) else None


def _signature(note: Mapping[str, Any]) -> str | None:
    found = note.get("signatures") or [None]
    first = found[0] if isinstance(found, list) else found
    return None if first is None else str(first)


def _members(data: object) -> Iterator[tuple[str, str]]:
    """Yield the pseudonyms whose person is known, from groups that stand beside the notes."""
    groups = data.get("groups") if isinstance(data, dict) else None
    for group in groups if isinstance(groups, list) else ():
        members = group.get("members") if isinstance(group, dict) else None
        if isinstance(members, list) and len(members) == 1:
            yield str(group.get("id")), str(members[0])


def _check_signatures(signed: Sequence[str | None], source: str) -> tuple[Problem, ...]:
    """Refuse reviews most of which are signed by pseudonyms; return a note where a few are."""
    hidden = [one for one in signed if one is not None and _PSEUDONYM.fullmatch(one)]
    if not hidden:
        return ()
    if 2 * len(hidden) > len(signed):
        raise _pseudonymous(source, hidden[0].rpartition("/")[2])
    message = (
        f"{count_of(len(hidden), 'review')} signed by a pseudonym, such as {hidden[0]}, whose person is not known."
    )
    return (Problem("pseudonyms", message, source),)
