"""pretalx: its export of reviews, as csv or JSON."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import Found, column_named, with_fields
from evenhand.panel.column import Table
from evenhand.panel.headings import FORMS, fold, meaning_of
from evenhand.panel.sheet import another

_PROPOSALS: Final = ("proposal id", "submission id", "proposal code", "vorschlags id", "einreichungs id")
_TITLES: Final = ("proposal title", "submission title", "title")
_MAILS: Final = ("reviewer email", "reviewer e mail")
_NAMES: Final = ("reviewer name",)
_EMPTY: Final = re.compile(r"Score in [“\"'„].*[”\"'“]")


def from_table(table: Table) -> Found | None:
    """Return the reviews of an export, whose columns the organisers chose."""
    proposal = column_named(table, *_PROPOSALS)
    mail, name = column_named(table, *_MAILS), column_named(table, *_NAMES)
    has_own = any(_EMPTY.fullmatch(one) for one in table.names)
    if proposal is None or not (mail or name or has_own):
        return None
    if fold(proposal) not in ("proposal id", "vorschlags id", "einreichungs id") and not has_own:
        return None
    if any((meaning := meaning_of(one)) and meaning.kind in (*FORMS, "expertise") for one in table.names):
        return None  # pretalx does not ask for it
    assessor = mail or name
    if assessor is None:
        message = (
            "This is pretalx's export of reviews without the reviewers: tick Reviewer email, Proposal ID and Score "
            "when exporting."
        )
        raise InputError(message, kind="anonymous_assessors", where=table.source)
    title = column_named(table, *_TITLES)
    left_out = [
        (one, "always empty here: its category has a column of its own") for one in table.names if _EMPTY.fullmatch(one)
    ]
    others = [one for one in table.names if one and one not in (proposal, mail, name, title, *dict(left_out))]
    fields = [one for one in others if not _is_detail(one)]
    left_out += [(one, "not a score") for one in others if one not in fields]
    found = Found(
        "pretalx's export of reviews",
        table,
        object=proposal,
        assessor=assessor,
        title=title,
        assessor_details=(name,) if mail and name else (),
        left_out=tuple(left_out),
    )
    found = with_fields(found, fields)
    if not isinstance(found.score, str) or another() not in dict(found.left_out).values():
        return found
    message = f"{found.score!r} is pretalx's weighted sum of the categories."
    return replace(found, notes=(*found.notes, Problem("weighted_sum", message, f"column {found.score}")))


def _is_detail(name: str) -> bool:
    return fold(name) in ("id", "created", "updated", "submission", "proposal state", "median score", "average score")
