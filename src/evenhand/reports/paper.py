"""What a report has on paper alone: what the panel fills in on the first sheet, and how many rows fit above that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from evenhand.answers.alert import Alert
from evenhand.answers.decision import Decision
from evenhand.models.fit import Fit
from evenhand.reports import blocks

TICKED_LONG: Final = 10
"""Up to this many names of a status stand on the first sheet where they take a line each."""

DENSE, ROOMY = 15, 22
"""Heights of a row of the table in print, in CSS pixels and without its line: at least, and where there is room."""

_WIDTH, _HEIGHT = 680, 928
"""Of A4 the width, as it is the narrower, of letter the height, as it is the lower; less what fonts may differ."""

_TALLER: Final = 66
"""By how much a sheet of A4 is higher."""

_GLYPH: Final = 0.525
"""Width of a character as a share of its size, on average in wide fonts."""

_LETTER: Final = 0.64
"""The same of labels, which have many capitals and figures."""

_COLUMN: Final = 100
"""Width of the names under a count, at least; the rest goes by how many names there are."""

_UNEVEN: Final = 1.5
"""Names that are longer than this many times the average take the room of several."""

_SPREAD: Final = 0.6
"""The share of the room to spare that goes into higher rows; the rest is for fonts that are wider still."""

_BEFORE: Final = 88
"""Characters of what is said of values before what is said of averages."""

_WRAPPED: Final = 12
"""Long names under the counts take as many lines as they need where that makes no more than so many; else one each."""

_NARROW: Final = 195
"""Width of these names."""

_LONG_NAME: Final = 290
"""Width of the names of objects in the table where they are long."""

_ASKED: Final = 116
"""Width of what is asked, before the answers to tick."""

_GROUPS: Final = 6
"""Up to this many groups have a line each for their places."""

_SIGNING: Final = "By signing, the panel decides by the method of this report."
"""What stands before what is said of the other method."""

_BOLD: Final = 1.12
"""By how much letters of a heading are wider than others."""

_FOR: Final = 205
"""Width of the number of those who compete with the number of places: in less, it takes another line."""

_ENOUGH, _BELOW = 10, 3
"""With room for fewer rows, or fewer below the line where there are few places, advice is left out."""

_FLOWING: Final = 0.4
"""Where this share of the first sheet would stay empty, the annex begins on it."""


@dataclass(frozen=True, slots=True)
class Form:
    """What the panel fills in on the first sheet before it signs.

    Attributes
    ----------
    instead
        What the panel signs where it decides by the method that the scores support, if that is not the report's.
    scores
        Scores that must be checked before anything is decided, in words.
    groups, divided
        The number of groups among which so many places must be divided; 0 where there is nothing to divide.
    places, open
        Places that are open, and who competes for them.
    ticked
        Where these are ticked: in the list at the ``"top"``, or in the ``"annex"`` where they are many; empty where
        nobody is.
    """

    instead: str = ""
    scores: tuple[str, ...] = ()
    groups: int = 0
    divided: int = 0
    places: int = 0
    open: tuple[str, ...] = ()
    ticked: str = ""

    @property
    def lines(self) -> int:
        """How many lines groups have for their places, one each: none where groups are many."""
        return self.groups if self.groups <= _GROUPS else 0


def form_of(fit: Fit, decision: Decision | None, alerts: Sequence[Alert], top: int | None, asked: str = "") -> Form:
    """Return what is left to the panel: how places are divided, which method counts, who gets the open places.

    ``top`` is the number of places, ``asked`` are the options that ask for the method that the scores support, which
    the annex has.
    """
    kinds = {one.kind for one in alerts}
    stops = [one for one in alerts if one.level == "stop"]
    if stops:
        scores = tuple(lead for one in stops if one.kind == "mistyped" for lead, _ in one.lines if lead)
        if top is None or "groups" not in kinds:
            return Form(scores=scores)
        return Form(scores=scores, groups=int(fit.values.component.max()) + 1, divided=top)
    other = next((one.instead for one in alerts if one.kind == "other_method"), None)
    instead = "" if decision is None or other is None else _instead(decision, other, asked)
    if decision is None or decision.drawn is not None or decision.choice or not decision.undecided:
        return Form(instead)
    names, is_long = tuple(decision.undecided), any(len(one) > blocks.LONG for one in fit.values.labels)
    where = "annex" if len(names) > (TICKED_LONG if is_long else blocks.PRINTED) else "top"
    return Form(instead, places=decision.left, open=names, ticked=where)


def _instead(decision: Decision, other: Decision, asked: str) -> str:
    """Return what the panel does where it decides by another method: ``asked`` are the options, which the annex has."""
    if all(getattr(decision, one) == getattr(other, one) for one in ("inside", "undecided")):
        return "The other method decides the same."
    annex = "annex C" if decision.fit.is_calibrated else "the annex"
    return f"To use the other method, print and sign its own report{f' (command in {annex})' if asked else ''}."


@dataclass(frozen=True, slots=True)
class Sheet:
    """The first sheet: the height that is left for rows, and how much of a row names of several lines add to it.

    It is as high as a sheet of letter paper: one of A4 has room for a few rows more. A terse one has no room for what
    to do about what must be checked.
    """

    room: float
    more: float
    is_terse: bool = False

    @property
    def rows(self) -> int:
        """How many rows fit."""
        return max(0, int(self.room / (DENSE + 1 + self.more)))

    @property
    def more_rows(self) -> int:
        """How many more rows fit on a sheet as high as A4."""
        return int(_TALLER / (DENSE + 1 + self.more))

    def height(self, rows: int) -> int:
        """Return how high so many rows may be so that the sheet is filled and not crowded."""
        spare = self.room - rows * (DENSE + 1 + self.more)
        return int(min(ROOMY, max(DENSE, DENSE + _SPREAD * spare / max(rows, 1))))

    def is_flowing(self, rows: int) -> bool:
        """Return whether so much is left below so many rows that the annex may begin there."""
        return self.room - rows * ROOMY > _FLOWING * _HEIGHT


def sheet_of(
    fit: Fit,
    decision: Decision | None,
    alerts: Sequence[Alert],
    said: Sequence[str],
    form: Form,
    clear: Sequence[str] = (),
    title: str = "",
) -> Sheet:
    """Return the room that alerts, lists and the form leave for the table, by the lengths of what they say.

    ``said`` is what is said of the decision where there is none, ``clear`` what was changed by hand, and that nothing
    speaks against it; ``title`` stands above the table.
    """
    used = 113.0 + _form(form)  # with the title of the table, its head, the line, the legend, and what is left out
    used += 20 * max(0, _lines(title, _BOLD * 16) - 1)
    is_stopped, advised = any(one.level == "stop" for one in alerts), 0
    for one in alerts:
        used += 0 if is_stopped else 17 * _lines(one.beside, 14)
        if one.level == "check" and is_stopped:  # named in a sentence, beside the tag
            used += 24 * _lines(one.headline, 12.7)
        elif one.level == "note":
            used += 12 + 16 * _lines(one.message, 12)
        else:
            used += 13 + 17 * _lines(one.headline, 12.7)
            bold = [int((_BOLD - 1) * len(lead)) * " " for lead, _rest in one.lines]
            texts = [f"{lead}{more} {rest}" for more, (lead, rest) in zip(bold, one.lines, strict=True)]
            used += sum(16 * _lines(text, 11.7, _WIDTH - 30) for text in texts)
            used += 16 if one.each else 0  # which annex names them
            if one.level == "check" and "`" in one.remedy and one.advice:
                advised += 18 * _lines(one.advice, 11.2, _WIDTH - 30)
        if one.level == "stop":
            used += 76 + (66 if one.scores else 0) + (26 + 18 * len(one.outcomes) if one.outcomes else 0)
    labels = fit.values.labels
    is_long = any(len(label) > blocks.LONG for label in labels)
    if decision is not None:
        headline = decision.headline(by_method=any(one.doubtful for one in alerts))
        used += 8 + 28 * _lines(headline, _BOLD * 24) + 17 * _lines(decision.meaning(), 12.7)
        used += 46 + (_lists(decision) if is_long else _names(decision, form))
        used += 15 * _lines(" ".join(clear), 11.2)
        averages = f"{_BEFORE * ' '}{decision.averages_words()} {marked_words(decision)}"
        used += 15 if is_stopped else 15 * _lines(averages, 11.2)
        used += 24 + 17 * _lines(decision.choice_words(), 12.7) if decision.choice else 0
        used += 14 if decision.undecided and not is_long and _widths(decision, form)["undecided"] < _FOR else 0
    else:
        used += 15 + sum(17 * _lines(one, 12.7) for one in said[1:])
    used += 34 if len(fit.values.labels) > blocks.FOLDED else 0  # ranks above the line are left out too
    groups = int(fit.values.component.max()) + 1
    used += 23 * groups if groups > 1 else 0
    lines = sum(_lines(label, 11.5, _LONG_NAME) for label in labels) / len(labels) if is_long else 1
    sheet = Sheet(_HEIGHT - used - advised, 12 * (lines - 1))
    if sheet.rows < min(_ENOUGH, _BELOW + (0 if decision is None else decision.places)):
        sheet = replace(sheet, room=sheet.room + advised, is_terse=advised > 0)
    has_note = decision is not None and bool(decision.uneven_words()) and len(labels) <= sheet.rows
    return replace(sheet, room=sheet.room - 15) if has_note else sheet  # else the annex has the note


def _lines(text: str, size: float, width: float = _WIDTH) -> int:
    """Return how many lines a text takes."""
    return math.ceil(_GLYPH * size * len(text) / width)


def shares(decision: Decision | None, form: Form) -> dict[str, float]:
    """Return how many names stand under each count, those with a box counted by their width."""
    if decision is None:
        return {}
    counts = dict(zip(("in", "undecided", "out"), map(len, _every(decision)), strict=True))
    shown = {name: blocks.LISTED if count > blocks.PRINTED else count for name, count in counts.items()}
    return {name: 1 + (1.4 if name == "undecided" and form.ticked == "top" else 1) * n for name, n in shown.items()}


def _lists(decision: Decision) -> float:
    """Return the height of the names under the three counts where they are long: in full, or a line each."""
    if is_wrapped(decision):
        return max(15.0 * _wrapped(names) + 3 * len(names) for names in _listed(decision))
    return 18.0 * max(map(len, _listed(decision)))


def is_wrapped(decision: Decision | None) -> bool:
    """Return whether long names under the three counts stand there in full, on several lines each."""
    return decision is not None and max(map(_wrapped, _listed(decision))) <= _WRAPPED


def _listed(decision: Decision) -> list[tuple[str, ...]]:
    """Return the long names that stand under the three counts: none of a status that has many."""
    return [tuple(names) if len(names) <= TICKED_LONG else () for names in _every(decision)]


def _every(decision: Decision) -> tuple[Sequence[str], ...]:
    """Return the names of each status."""
    return decision.inside, decision.undecided, decision.outside


def _wrapped(names: Sequence[str]) -> int:
    """Return how many lines names take where they stand in full."""
    return sum(_lines(one, 12.5, _NARROW) for one in names)


def _names(decision: Decision, form: Form) -> float:
    """Return the height of the names under the three counts."""
    most = 0.0
    for across, labels in zip(beside(decision, form).values(), _every(decision), strict=True):
        is_cut = len(labels) > blocks.PRINTED
        most = max(most, 17.6 * (math.ceil((blocks.LISTED if is_cut else len(labels)) / across) + is_cut))
    return most


def beside(decision: Decision | None, form: Form) -> dict[str, int]:
    """Return how many names stand beside each other under each count, by how long they are: the longest, as a rule."""
    if decision is None:
        return {}
    found = {}
    for (name, width), labels in zip(_widths(decision, form).items(), _every(decision), strict=True):
        lengths = [len(one) for one in labels] or [0]
        letters = _LETTER * 11.7 * min(max(lengths), _UNEVEN * sum(lengths) / len(lengths))
        is_ticked = name == "undecided" and form.ticked == "top"
        found[name] = max(1, int(width / (letters + (25 if is_ticked else 9))))
    return found


def _widths(decision: Decision, form: Form) -> dict[str, float]:
    """Return how wide the column of each count is."""
    parts = shares(decision, form)
    whole = sum(parts.values())
    return {name: _COLUMN + (_WIDTH - 28 - 3 * _COLUMN) * part / whole for name, part in parts.items()}


def marked_words(decision: Decision) -> str:
    """Return the sentence that the annex marks who has a place by plain average alone, where they are not named."""
    unlike = decision.unlike_averages
    if unlike.are_few or not unlike.leaving:
        return ""
    who = f"the other {len(unlike.leaving):,}" if unlike.tied else "them"
    return f"Annex A marks {who} by ▼."


def annexes(count: int, nouns: str, has_assessors: bool) -> list[tuple[str, str]]:
    """Return the sections of the annex that begin on a page of their own, and what stands above their pages.

    There are such where so many objects make the first of them many pages, else none: a page has one head, so that a
    section with a head of its own cannot begin below another. Those after the first share one.
    """
    if count <= blocks.FOLDED:
        return []
    rest = ["assessors", "evidence", "record"] if has_assessors else ["evidence", "record"]
    last = "D" if has_assessors else "C"
    return [("every", f"annex A, all {nouns}"), *((section, f"annex B to {last}") for section in rest)]


def _form(form: Form) -> float:
    """Return the height of what the panel fills in, with the line for signatures."""
    used = 56.0 + 48 * len(form.scores) + (46 + 23 * form.lines if form.divided else 0)
    if form.instead:
        used += 2 + 19 * _lines(f"{_SIGNING} {form.instead}", 11.7, _WIDTH - _ASKED)
    if form.open:
        used += 19
    return used + (24 if form.open or form.instead or form.divided or form.scores else 0)
