"""A design as conference systems take it: HotCRP's bulk assignment, OpenReview's edges, CMT's assignments."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args
from xml.sax.saxutils import quoteattr

from evenhand.design.result import Design
from evenhand.errors import InputError, Problem
from evenhand.io.results import harmless, write_whole
from evenhand.panel.panel import detail_columns
from evenhand.words import count_of, is_or_are, name_some

System = Literal["hotcrp", "openreview", "cmt"]
"""Systems that a design can be written for."""

SYSTEMS: Final[tuple[System, ...]] = get_args(System)

NAMES: Final[Mapping[System, str]] = {"hotcrp": "HotCRP", "openreview": "OpenReview", "cmt": "CMT"}

ENDINGS: Final[Mapping[System, str]] = {"hotcrp": ".csv", "openreview": ".csv", "cmt": ".xml"}

_ADDRESS: Final = re.compile(r"[^\s@,;<>\"]+@[^\s@,;<>\"]+")
_PROFILE: Final = re.compile(r"~\S+\d")
_EDGE: Final = "Reviewers/-/Assignment"
"""How the invitation of an edge ends that assigns a reviewer; the venue's id goes in front of it."""

_Pairs = Sequence[tuple[str, str]]


def addresses_of(labels: Sequence[str], emails: Mapping[str, str] | None, system: System = "hotcrp") -> dict[str, str]:
    """Return by which name a system knows each assessor: an e-mail address, or a profile of OpenReview.

    It is that of the table, or the label where it is one.
    """
    listed = emails or {}
    found = {label: (listed.get(label) or label).strip() for label in labels}
    if system == "openreview":
        found |= {label: label.strip() for label in labels if _PROFILE.fullmatch(label.strip())}
    known = (_ADDRESS, _PROFILE) if system == "openreview" else (_ADDRESS,)
    bad = [label for label, name in found.items() if not any(form.fullmatch(name) for form in known)]
    if bad:
        raise InputError(
            f"{NAMES[system]} needs an email address for each assessor, and there is none for {name_some(bad)}: add a "
            "column email to the assessors' file, or use addresses as labels.",
            kind="missing_email",
            where=f"assessor {bad[0]}",
        )
    return found


def not_numbers(labels: Iterable[str], system: System = "hotcrp") -> list[Problem]:
    """Return a note on objects that a system, which counts papers, would not find."""
    odd = [label for label in labels if not label.isascii() or not label.isdecimal()]
    if not odd or system == "openreview":
        return []
    words = f"{NAMES[system]} knows papers by their number, and {name_some(odd)} {is_or_are(len(odd))} none."
    return [Problem("not_a_number", words, f"object {odd[0]}")]


def not_taken_back(removed: _Pairs, system: System) -> list[Problem]:
    """Return a note on pairs that are no longer in the design, and that a file for a system cannot take back."""
    if not removed or system == "hotcrp":
        return []
    pairs = name_some([f"{assessor} on {label}" for assessor, label in removed])
    count = count_of(len(removed), "assessment")
    words = f"the file for {NAMES[system]} cannot take back {count} ({pairs}): do so there."
    return [Problem("not_taken_back", words)]


def write_export(
    system: System,
    path: str | os.PathLike[str],
    design: Design,
    pairs: _Pairs,
    *,
    removed: _Pairs = (),
    action: str = "primaryreview",
) -> Path:
    """Write pairs (assessor, object) as a system takes them, and those ``removed`` where it can be told of these.

    The round of each pair goes along where it has one. HotCRP is also told what to make of a pair (``action``).
    """
    who = addresses_of(sorted({assessor for assessor, _ in (*pairs, *removed)}), design.emails, system)
    if system == "cmt":
        return write_whole({Path(path): lambda file: file.write_text(_cmt(pairs, who), encoding="utf-8")})[0]
    rows = _hotcrp(design, pairs, removed, who, action) if system == "hotcrp" else _openreview(design, pairs, who)
    return write_whole({Path(path): _rows_writer(rows)})[0]


def _rows_writer(rows: Sequence[Sequence[str]]) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([harmless(cell) for cell in row] for row in rows)

    return write


def _hotcrp(design: Design, pairs: _Pairs, removed: _Pairs, who: Mapping[str, str], action: str) -> list[list[str]]:
    """Return the rows of a bulk assignment: paper, action, email, round and title where they are known.

    What is taken back comes first: whatever round it was in, and never a review that has been entered.
    """
    rows = [["paper", "action", "email"]]
    rows += [[label, "clearreview", who[assessor]] for assessor, label in removed]
    rows += [[label, action, who[assessor]] for assessor, label in pairs]
    listed = [*removed, *pairs]
    if design.rounds:
        rounds = ["" if at < len(removed) else design.rounds.get(pair, "") for at, pair in enumerate(listed)]
        rows = [[*row, cell] for row, cell in zip(rows, ["round", *rounds], strict=True)]
    titles = detail_columns("object", design.object_details, [label for _, label in listed]).get("title")
    if titles is not None:
        rows = [[*row, cell or ""] for row, cell in zip(rows, ["title", *titles], strict=True)]
    return rows


def _openreview(design: Design, pairs: _Pairs, who: Mapping[str, str]) -> list[list[str]]:
    """Return edges as rows: invitation, head (the submission's note), tail (the profile), weight and label."""
    edges = [[_EDGE, label, who[assessor], "1", design.rounds.get((assessor, label), "")] for assessor, label in pairs]
    return [["invitation", "head", "tail", "weight", "label"], *edges]


def _cmt(pairs: _Pairs, who: Mapping[str, str]) -> str:
    """Return assignments as XML: the users of each submission."""
    of_object: dict[str, list[str]] = {}
    for assessor, label in pairs:
        of_object.setdefault(label, []).append(who[assessor])
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<assignments>"]
    for label, mails in of_object.items():
        lines.append(f"  <submission submissionId={quoteattr(label)}>")
        lines += [f"    <user email={quoteattr(mail)} />" for mail in mails]
        lines.append("  </submission>")
    return "\n".join([*lines, "</assignments>", ""])
