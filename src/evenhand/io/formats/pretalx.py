"""pretalx: its export of reviews, as csv or JSON."""

from __future__ import annotations

import re
from typing import Final

from evenhand.errors import Problem
from evenhand.io.formats.found import (
    ANOTHER,
    Found,
    cells_of,
    column_named,
    is_confidence,
    is_expertise,
    listed,
    nature,
    refusal,
)
from evenhand.panel.column import Table
from evenhand.panel.headings import fold

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
    if any(is_confidence(one) or is_expertise(one) for one in table.names):
        return None  # pretalx does not ask for it
    assessor = mail or name
    if assessor is None:
        message = (
            "This is pretalx's export of reviews without the reviewers: tick Reviewer email, Proposal ID and Score "
            "when exporting."
        )
        raise refusal(message, kind="anonymous_assessors", source=table.source)
    title = column_named(table, *_TITLES)
    left_out = [
        (one, "always empty here: its category has a column of its own") for one in table.names if _EMPTY.fullmatch(one)
    ]
    others = [one for one in table.names if one and one not in (proposal, mail, name, title, *dict(left_out))]
    graded = [one for one in others if nature(cells_of(table, one)) == "number" and not _is_detail(one)]
    score = column_named(table, "score", "punkte", "bewertung")
    if score is None and not graded:
        message = "This is pretalx's export of reviews without scores: tick Score when exporting."
        raise refusal(message, kind="no_scores", source=table.source)
    left_out += [(one, "not a score") for one in others if one not in graded and one != score]
    notes = []
    if score is not None:
        left_out += [(one, ANOTHER) for one in graded if one != score]
        if len(graded) > 1:
            message = f"{score!r} is pretalx's weighted sum of the categories."
            notes.append(Problem("weighted_sum", message, f"column {score}"))
    return Found(
        "pretalx's export of reviews",
        table,
        object=proposal,
        assessor=assessor,
        score=score if score is not None else graded[0] if len(graded) == 1 else tuple(graded),
        title=title,
        assessor_details=(name,) if mail and name else (),
        left_out=listed(left_out),
        notes=tuple(notes),
    )


def _is_detail(name: str) -> bool:
    return fold(name) in ("id", "created", "updated", "submission", "proposal state", "median score", "average score")
