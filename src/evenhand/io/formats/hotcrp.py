"""HotCRP: scores and reviews as csv, the bulk form of reviews, and reviews as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import (
    Found,
    cells_of,
    column_named,
    left_out_rows,
    listed,
    of_rows,
    per_cell,
    text_of,
    with_fields,
)
from evenhand.io.records import record_of, records_in, records_table, scalar
from evenhand.panel.column import Cell, Table
from evenhand.panel.headings import fold

_SCORES: Final = frozenset({"paper", "title"})
_BULK: Final = frozenset({"pid", "review", "email", "vtag"})
_DETAILS: Final = frozenset(
    {"paper", "pid", "title", "decision", "review", "reviewername", "email", "round", "submitted at", "vtag", "status"}
)
_KEYWORD: Final = re.compile(r"([A-Z][a-z]{1,2}){2,4}(\.\d+)?")
"""How HotCRP writes the name of a field of several words in scores.csv: three letters for each."""
_WORDS: Final = {
    "Ove": "overall",
    "Mer": "merit",
    "Rec": "recommendation",
    "Sco": "score",
    "Rat": "rating",
    "Gra": "grade",
    "Con": "confidence",
    "Exp": "expertise",
    "Fam": "familiarity",
    "Kno": "knowledge",
    "Eva": "evaluation",
    "Tot": "total",
    "Fin": "final",
    "Rev": "reviewer",
    "Mark": "mark",
    "Ass": "assessment",
    "Cer": "certainty",
}
_OTHER_FILES: Final = {
    "preference": "review preferences",
    "conflicttype": "conflicts",
    "action": "assignments",
    "collaborators": "the PC list",
}
_META: Final = 5
_ABOUT_A_REVIEW: Final = frozenset(
    {"object", "pid", "rid", "rtype", "round", "status", "reviewer_email", "reviewer", "email", "ordinal", "ready"}
    | {"submitted_at", "modified_at", "version", "editable", "draft", "title", "author_seen", "review_token", "edit"}
    | {"my_review", "blind", "rnum", "vtag", "ratings", "user_rating", "my_request"}
)


LETTERS: Final = (("X", "high"), ("Y", "medium"), ("Z", "low"))
"""The letters that HotCRP has for how well somebody knows a subject."""


def from_table(table: Table) -> Found | None:
    """Return the reviews of scores.csv, reviews.csv or the bulk form; refuse files of HotCRP that have none."""
    names = {fold(name) for name in table.names}
    if names >= _BULK:
        return _bulk(table)
    if not names >= _SCORES:
        return None
    other = next((what for name, what in _OTHER_FILES.items() if name in names), None)
    if other is not None and "email" in names:
        message = (
            f"This is a file of {other} from HotCRP, without scores: to calibrate, download Scores (CSV) or Reviews "
            "(CSV); evenhand design reads this one."
        )
        raise InputError(message, kind="not_scores", where=table.source)
    has_keywords = any(_KEYWORD.fullmatch(name) for name in table.names)
    if {"reviewername", "email"} <= names or ("email" in names and ("review" in names or has_keywords)):
        return _reviews(table)
    if "review" in names and _has_letters(table):
        raise _anonymous(table.source)
    if has_keywords and not names & {"assessor", "reviewer", "judge", "name", "reviewer name"}:
        raise _anonymous(table.source)
    return None


def _has_letters(table: Table) -> bool:
    """Say whether the reviews are numbered as HotCRP does it, 12A."""
    cells = cells_of(table, column_named(table, "review") or "")
    return len(cells) > 0 and all(re.fullmatch(r"\d+[A-Z]+", text_of(cell)) for cell in cells.cells if cell is not None)


def _anonymous(source: str) -> InputError:
    message = (
        "This is HotCRP's list of scores without the reviewers' e-mail addresses: a review is known by its paper and a "
        "letter (12A), which says nothing of who wrote it, so nobody's standard can be told. Download it as a chair or "
        "an administrator who may see the reviewers' names; then it has a column email."
    )
    return InputError(message, kind="anonymous_assessors", where=source)


def _reviews(table: Table) -> Found:
    """Return what scores.csv or reviews.csv says."""
    fields = [name for name in table.names if name and fold(name) not in _DETAILS]
    short = any(_KEYWORD.fullmatch(name) for name in fields)
    system = "HotCRP's scores.csv" if short or "decision" in map(fold, table.names) else "HotCRP's reviews.csv"
    review, decision = column_named(table, "review"), column_named(table, "decision")
    name = column_named(table, "reviewername")
    found = Found(
        system,
        table,
        object=column_named(table, "paper") or "",
        assessor=column_named(table, "email") or "",
        title=column_named(table, "title"),
        object_details=() if decision is None else (decision,),
        assessor_details=() if name is None else (name,),
        left_out=() if review is None else ((review, "number of the review"),),
        levels=LETTERS,
    )
    return with_fields(found, fields, labels={name: _in_words(name) for name in fields})


def _in_words(name: str) -> str:
    """Return what a shortened name of a field stands for.

    Examples
    --------
    >>> _in_words("OveMer"), _in_words("Con"), _in_words("Overall merit")
    ('overall merit', 'confidence', 'Overall merit')
    """
    bare = re.sub(r"\.\d+$", "", name)
    if bare in _WORDS:
        return _WORDS[bare]
    if not _KEYWORD.fullmatch(bare):
        return name
    return " ".join(_WORDS.get(part, part.lower()) for part in re.findall("[A-Z][a-z]*", bare))


def _bulk(table: Table) -> Found:
    """Return what batch/reviewcsv.php says, wide or long."""
    status = column_named(table, "status")
    notes: tuple[Problem, ...] = ()
    if status is not None:
        complete = per_cell(cells_of(table, status), lambda cell: text_of(cell).casefold() in ("complete", ""))
        notes = left_out_rows(int(np.count_nonzero(~complete)), "reviews that are not complete")
        table = of_rows(table, complete)
    if {"field", "format", "data"} <= {fold(name) for name in table.names}:
        table = _pivoted(table)
    fields = [name for name in table.names if name and fold(name) not in _DETAILS]
    described = {"review": "number of the review", "submitted at": "time", "vtag": "version", "status": "complete"}
    described["round"] = "round of reviewing"
    found = Found(
        "HotCRP's bulk reviews",
        table,
        object=column_named(table, "pid") or "",
        assessor=column_named(table, "email") or "",
        left_out=listed((name, described[fold(name)]) for name in table.names if fold(name) in described),
        notes=notes,
        levels=LETTERS,
    )
    return with_fields(found, fields)


def _pivoted(table: Table) -> Table:
    """Return the long form, a row for each field, as one row for each review."""
    columns = {fold(name): cells_of(table, name) for name in table.names}
    records: dict[tuple[str, ...], dict[str, Cell]] = {}
    rows: dict[tuple[str, ...], int] = {}
    for row in range(len(table)):
        key = tuple(text_of(columns[name][row]) for name in ("pid", "review", "email"))
        record = records.setdefault(
            key, {name: columns[name][row] for name in ("pid", "review", "email", "round") if name in columns}
        )
        rows.setdefault(key, int(table.row_numbers[row]))
        record[text_of(columns["field"][row])] = columns["data"][row]
    return records_table(list(records.values()), table.source, rows=list(rows.values()))


# --- JSON ----------------------------------------------------------------------------------------


def from_data(data: object, source: str) -> Found | None:
    """Return the reviews of rqc.json or of HotCRP's interface for programs."""
    reviews = list(_json_reviews(data, source))
    if not reviews:
        return None
    kept, drafts, meta = [], 0, 0
    for review in reviews:
        status = review.get("status")
        if (status is not None and status != "complete") or review.get("draft") is True:
            drafts += 1
        elif review.get("rtype") in (_META, "meta", "metareview"):
            meta += 1
        else:
            kept.append(_flat(review))
    if kept and not any(record["email"] for record in kept):
        raise _anonymous(source)
    table = records_table(kept, source)
    fields = [name for name in table.names if name not in ("paper", "email", "title", "round")]
    found = Found(
        "HotCRP's reviews in JSON",
        table,
        object="paper",
        assessor="email",
        title="title" if "title" in table.names else None,
        left_out=(("round", "round of reviewing"),) if "round" in table.names else (),
        notes=(*left_out_rows(drafts, "reviews that are not complete"), *left_out_rows(meta, "metareviews")),
        levels=LETTERS,
    )
    return with_fields(found, fields, labels={name: _in_words(name) for name in fields})


def _json_reviews(data: object, source: str) -> Iterator[Mapping[str, Any]]:
    """Yield reviews, each with its paper's number and title where these stand around it."""
    if isinstance(data, dict) and "hotcrp_version" in data and isinstance(data.get("papers"), list):
        for paper in records_in(data["papers"], "papers", source):
            for review in records_in(paper.get("reviews"), "reviews", source):
                yield {"pid": paper.get("pid"), "title": paper.get("title"), **review}
        return
    records = data.get("reviews") if isinstance(data, dict) else data
    for review in records if isinstance(records, list) else ():
        if isinstance(review, dict) and review.get("object") == "review" and "pid" in review:
            yield review


def _flat(review: Mapping[str, Any]) -> dict[str, Cell]:
    """Return a review as a row: ``false`` says that there is no entry."""
    head = {"paper": scalar(review["pid"]), "email": scalar(review.get("reviewer_email") or review.get("email"))}
    head |= {name: scalar(review[name]) for name in ("title", "round") if review.get(name) is not None}
    fields = {**review, **record_of(review.get("fields"))}
    cells = {
        name: None if cell is False else cell
        for name, cell in fields.items()
        if name not in _ABOUT_A_REVIEW and not isinstance(cell, dict | list)
    }
    return {**head, **cells}
