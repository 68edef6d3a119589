"""What was understood of a file: which column was taken for what and which were left out, in words and for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.errors import InputError
from evenhand.panel.column import Table
from evenhand.panel.confidence import LEVEL_NAMES, Form
from evenhand.panel.entries import Entries
from evenhand.panel.headings import fold, may_be_german_note, meaning_of, says_lowest_is_best, says_one_is_best
from evenhand.panel.layout import Kind, Layout, LeftOut
from evenhand.panel.lexicon import NOUNS
from evenhand.panel.rules import ReadOptions
from evenhand.words import again, argument, chained, name_some, phrase, remark

LAYOUTS: Final[Mapping[Kind, str]] = {
    "long": "one assessment a row",
    "wide": "objects down, assessors across",
    "across": "assessors down, objects across",
    "groups": "several assessors a row, each named beside the score",
}
"""Layouts in words."""

_FORMS: Final[Mapping[Form, str]] = {
    "uncertainty": "standard deviations",
    "confidence": "weights",
    "level": "levels",
    "none": "",
}


def _some(columns: Sequence[str]) -> str:
    """Return names of columns in a sentence."""
    return name_some([repr(one) for one in columns], 4)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table was read.

    Attributes
    ----------
    layout
        ``"long"`` (one assessment a row), ``"wide"`` (objects down, assessors across), ``"across"`` (the other way
        round) or ``"groups"`` (several named assessors a row).
    object, assessor, score
        The columns, by their names; what stands across the header has none.
    confidence, form
        The column that says how sure assessors were, and in which form.
    meaning
        What words or steps of confidence were taken for.
    criterion, criteria
        The column of criteria, or the columns of which each is one.
    scores
        What scores in words were taken for.
    object_details, assessor_details
        Columns that go with objects and with assessors.
    left_out
        Columns that were not read, each with the reason.
    system
        The system that wrote the file, where it was recognised.
    why
        What spoke for this reading.
    saved
        The file beside the data that settled it, if one did.
    weights
        What criteria count, where headings said so.
    turned
        Where the lowest score was the best, the number of which scores were taken away, so that higher is better.
    slots
        The columns of scores, each after the object, assessor and criterion that all its scores are of; None where rows
        say so.
    confirmed
        Cells that look wrong and are right, since a correction says what stands there already: ``"26:Ito"``.
    """

    layout: Kind
    object: str | None
    assessor: str | None
    score: str | None
    confidence: str | None = None
    form: Form = "none"
    meaning: str = ""
    criterion: str | None = None
    criteria: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    object_details: tuple[str, ...] = ()
    assessor_details: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    system: str | None = None
    why: tuple[str, ...] = ()
    saved: str | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    turned: float | None = None
    slots: tuple[tuple[str | None, str | None, str | None, str], ...] = ()
    confirmed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Return in one sentence how the file was read."""
        read = [] if self.system is None else [phrase("an export of {system}", system=self.system)]
        if self.layout != "long":
            read.append(phrase(LAYOUTS[self.layout]))
        across = self.criteria or self.layout in ("wide", "across")
        heading = phrase("the headings") if across else phrase("the rows")
        where = [heading if column is None else repr(column) for column in (self.object, self.assessor)]
        read.append(phrase("objects from {where}", where=where[0]))
        read.append(phrase("assessors from {where}", where=where[1]))
        criteria = name_some([repr(one) for one in self.criteria], 8) if self.criteria else ""
        if self.criteria and self.layout == "long":
            read.append(phrase("scores for the criteria {criteria}", criteria=criteria))
        else:
            cells = phrase("the cells") if self.score is None else repr(self.score)
            read.append(phrase("scores from {where}", where=f"{cells}{self._words()}"))
            if self.criteria:
                read.append(phrase("criteria {criteria} from the headings", criteria=criteria))
        if self.criterion is not None:
            read.append(phrase("criteria from {where}", where=repr(self.criterion)))
        if self.form != "none":
            beside = phrase("the columns beside the scores") if self.confidence is None else repr(self.confidence)
            meaning = phrase(again(self.meaning) or _FORMS[self.form])
            read.append(phrase("confidence from {where} ({meaning})", where=beside, meaning=meaning))
        if self.object_details:
            read.append(phrase("{columns} with the objects", columns=_some(self.object_details)))
        if self.assessor_details:
            read.append(phrase("{columns} with the assessors", columns=_some(self.assessor_details)))
        told = [phrase("Read as: {how}", how=", ".join(read))]
        if self.left_out:
            shown = [f"{one.column!r} ({phrase(again(one.reason))})" for one in self.left_out]
            told.append(phrase("left out: {columns}", columns=name_some(shown, 12)))
        if self.turned is not None:
            total = f"{self.turned:g}"
            told.append(
                phrase("the lowest score is the best, so scores are turned around: {total} - score", total=total)
            )
        if self.weights:
            weights = name_some([f"{name} {weight:.0%}" for name, weight in self.weights.items()], 8)
            told.append(phrase("weights {weights}", weights=weights))
        said = "; ".join(told)
        return f"{said}." if self.saved is None else phrase("{said} (settled in {file}).", said=said, file=self.saved)

    @property
    def noun(self) -> str:
        """What the file calls its objects, where that is a word to speak of them by: ``"proposal"``; or object."""
        return next((word for word in re.findall("[a-z]+", fold(self.object or "")) if word in NOUNS), "object")

    def column_of(self, object_: str, assessor: str, criterion: str | None = None) -> str | None:
        """Return the column in which a score stands; None where more than one may hold it."""
        wanted = (object_, assessor, criterion)
        found = [
            column
            for *known, column in self.slots
            if all(one in (None, it) for one, it in zip(known, wanted, strict=True))
        ]
        return found[0] if len(found) == 1 else None

    def _words(self) -> str:
        if not self.scores:
            return ""
        ordered = sorted(self.scores.items(), key=lambda item: item[1])
        return f" ({name_some([f'{word} = {number:g}' for word, number in ordered], 8)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the reading for JSON."""
        return {
            "object": self.object,
            "assessor": self.assessor,
            "score": list(self.criteria) if self.criteria and self.score is None else self.score,
            "confidence": None
            if self.form == "none"
            else {"column": self.confidence, "form": self.form, "meaning": str(self.meaning)},
            "criterion": self.criterion,
            "criteria": list(self.criteria),
            "scores": [{"word": word, "number": number} for word, number in self.scores.items()],
            "layout": self.layout,
            "system": self.system,
            "object_details": list(self.object_details),
            "assessor_details": list(self.assessor_details),
            "left_out": [{**one._asdict(), "reason": str(one.reason)} for one in self.left_out],
            "why": list(self.why),
            "saved": self.saved,
            "turned": self.turned,
            "weights": [{"criterion": name, "weight": weight} for name, weight in self.weights.items()],
            "sentence": self.sentence(),
        }

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :func:`evenhand.read_panel` that lead to this reading again."""
        found: dict[str, Any] = {"layout": self.layout}
        if self.layout in ("long", "groups", "wide"):
            found["object"] = self.object
        if self.layout in ("long", "across"):
            found["assessor"] = self.assessor
        if self.layout == "long":
            found["score"] = self.score
            found["criterion"] = self.criterion
            found["criteria"] = list(self.criteria) if self.score is None else []
            if self.form != "none":
                found["level" if self.form == "level" else self.form] = self.confidence
        found["scores"] = dict(self.scores)
        found["best"] = None if self.turned is None else "lowest"
        return {name: value for name, value in found.items() if value not in (None, [], {})}


def reading_of(
    table: Table, layout: Layout, entries: Entries, options: ReadOptions, system: str | None = None
) -> Reading:
    """Return the reading of a table by a layout, once its cells were read.

    Where the lowest score may be the best, it is asked.
    """
    if options.best is None:
        _ask_for_the_best(table, layout, entries)

    def column(side: str) -> str | None:
        places = {getattr(slot, side) for slot in layout.slots}
        place = next(iter(places))
        return table.names[place] if len(places) == 1 and isinstance(place, int) else None

    criteria = tuple(dict.fromkeys(slot.criterion for slot in layout.slots if isinstance(slot.criterion, str)))
    return Reading(
        layout=layout.kind,
        object=column("object"),
        assessor=column("assessor"),
        score=column("score"),
        confidence=column("confidence"),
        form=entries.form,
        meaning=_meaning(entries),
        criterion=column("criterion"),
        criteria=criteria,
        scores=entries.score_words,
        object_details=tuple(table.names[at] for at in layout.object_details),
        assessor_details=tuple(table.names[at] for at in layout.assessor_details),
        left_out=layout.left_out,
        system=system,
        why=layout.why,
        weights=layout.weights,
        turned=entries.turned,
        slots=tuple(
            (_label(slot.object), _label(slot.assessor), _label(slot.criterion), table.names[slot.score])
            for slot in layout.slots
        ),
    )


def _label(place: int | str | None) -> str | None:
    """Return the label that holds for all rows; None where they say it."""
    return place if isinstance(place, str) else None


def _ask_for_the_best(table: Table, layout: Layout, entries: Entries) -> None:
    """Ask which score is the best where headings or cells say that it may be the lowest."""
    low, high = float(entries.score.min()), float(entries.score.max())
    for at in dict.fromkeys(slot.score for slot in layout.slots):
        name = table.names[at]
        cells = table.columns[at].cells if table.columns else ()
        meaning = meaning_of(name) if layout.kind == "long" else None
        if says_lowest_is_best(name) or any(says_one_is_best(cell) for cell in cells if isinstance(cell, str)):
            why = remark("{column} says that the lowest score is the best", column=repr(name))
        elif meaning is not None and meaning.kind == "rank":
            why = remark("{column} holds places, of which the first is the best", column=repr(name))
        elif may_be_german_note(name) and low >= 1 and high <= 6:
            why = remark(
                "The scores of {column} lie from {low} to {high}, as marks do of which 1 is the best",
                column=repr(name),
                low=f"{low:g}",
                high=f"{high:g}",
            )
        else:
            continue
        raise InputError(
            remark(
                "{why}. Give {lowest} if so: {low} is then read as {high} and {high} as {low}, since higher values are "
                "better in all tables. Give {highest} if {high} is better than {low}.",
                why=why,
                lowest=argument("best", "lowest"),
                highest=argument("best", "highest"),
                low=f"{low:g}",
                high=f"{high:g}",
            ),
            kind="ambiguous_direction",
            where=table.source,
        )


def _meaning(entries: Entries) -> str:
    """Return what words or steps of confidence were taken for."""
    if entries.form != "level":
        return ""
    if entries.steps is not None:
        low, high = entries.steps
        return remark("a scale from {low} = low to {high} = high", low=f"{low:g}", high=f"{high:g}")
    ordered = sorted(entries.level_words.items(), key=lambda item: -item[1])
    told = [f"{word} = {LEVEL_NAMES[power]}" for word, power in ordered if word.casefold() != LEVEL_NAMES[power]]
    there = dict.fromkeys(LEVEL_NAMES[power] for _word, power in ordered)
    return name_some(told, 7) if told else chained([remark(level) for level in there], "{one}, {other}")
