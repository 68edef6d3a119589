"""What was settled by hand: single cells, and what one click left out; each in words, and taken back at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone
from django.utils.translation import gettext as _

from evenhand.errors import InputError
from evenhand.web.models import Correction, Panel
from evenhand.web.reading import Looked, text_at
from evenhand.words import called, count_of, phrase, sentence

if TYPE_CHECKING:
    from evenhand.panel.panel import Panel as Scores

_REASONS: Final = 3
"""Reasons for single cells that a line names."""

_NAMED: Final = 3
"""Single cells up to which each is said by itself."""


_GIVER: Final = ("who", "object")
"""What is known of a score: who gave it, and to what."""


@dataclass(frozen=True)
class Settled:
    """What one click changed: a cell, or all scores of a group or an assessor, which share what they are ``of``."""

    cells: tuple[Correction, ...]

    @property
    def first(self) -> Correction:
        """The first of its cells, by which it is taken back."""
        return self.cells[0]

    @property
    def kind(self) -> str:
        """``"group"``, ``"others"`` or ``"assessor"`` left out whole, or a score ``"added"``; empty for a cell."""
        return str(self.first.of.get("kind", ""))

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        one, told = self.first, {"scores": count_of(len(self.cells), "score"), "name": self.first.of.get("name", "")}
        if self.kind == "group":
            return _("Group %(name)s left out (%(scores)s)") % told
        if self.kind == "others":
            return _("Other groups left out (%(scores)s)") % told
        if self.kind == "assessor":
            told["name"] = sentence(called(told["name"], "assessor"))
            return _("%(name)s left out (%(scores)s)") % told
        if self.kind == "added":
            told |= {"object": one.of["object"], "score": one.of["score"]}
            return _("Score added: %(score)s from %(name)s for %(object)s") % told
        cell = {"row": one.row, "column": one.column, "before": one.before or _("empty")}
        cell["after"] = one.after or _("empty")
        if one.before == one.after:
            return _("Row %(row)s, %(column)s: %(after)s is right") % cell
        return _("Row %(row)s, %(column)s: %(before)s read as %(after)s") % cell

    def line(self, noun: str) -> str:
        """Return what was left out whole, or added, as it stands under a decision."""
        of, scores = self.first.of, count_of(len(self.cells), "score")
        one = of.get("objects") == 1
        if self.kind == "assessor":
            who = sentence(called(of["name"], "assessor"))
            said = phrase("{who} is left out ({scores})", who=who, scores=scores)
        elif self.kind == "added":
            told = {"who": called(of["name"], "assessor"), "object": called(of["object"], noun), "score": of["score"]}
            said = phrase("A score that is not in the file is added, {score} from {who} for {object}", **told)
        else:
            told = {"things": count_of(of["objects"], noun), "group": of["name"]}
            said = phrase("{things} of group {group} are left out", **told)
            if one:
                said = phrase("{things} of group {group} is left out", **told)
            if self.kind == "others":
                said = phrase("{things} of other groups are left out", **told)
                return f"{phrase('{things} of other groups is left out', **told) if one else said}."
        return _because(said, [cell.reason for cell in self.cells])


def by_hand(panel: Panel) -> list[Settled]:
    """Return what was settled by hand and holds, in the order in which it was done."""
    found: dict[Any, list[Correction]] = {}
    for one in panel.corrections.filter(undone=None):
        found.setdefault(one.of.get("at") or one.pk, []).append(one)
    return [Settled(tuple(cells)) for cells in found.values()]


def lines(settled: Sequence[Settled], scores: Scores) -> list[str]:
    """Return what was left out or changed by hand, and why, as it stands under the headline of a decision."""
    cells = [one.first for one in settled if not one.kind and one.first.before != one.first.after]
    said = [one.line(scores.noun) for one in settled if one.kind]
    told, holding = scores.reading, {one.column for one in cells}
    if len(cells) <= _NAMED:
        said += [_because(_changed(cell, scores), [cell.reason]) for cell in cells]
    else:
        is_of_scores = told is None or holding <= {slot[-1] for slot in told.slots}
        many = {"count": f"{len(cells):,}"}
        some = phrase("{count} scores are left out or changed by hand", **many)
        some = some if is_of_scores else phrase("{count} cells are changed by hand", **many)
        said.append(_because(some, [cell.reason for cell in cells]))
    return said


def _changed(cell: Correction, scores: Scores) -> str:
    """Return what a cell is read as instead of what: whose score of what, or where it stands if that is not known."""
    giver = given_in(scores, cell.row, cell.column) or {key: cell.of[key] for key in _GIVER if key in cell.of}
    told = {"before": cell.before, "after": cell.after}
    if len(giver) < len(_GIVER):
        told |= {"row": cell.row, "column": cell.column}
        if not cell.after:
            return phrase("Row {row}, {column}: {before} is left out", **told)
        told["before"] = cell.before or phrase("empty")
        return phrase("Row {row}, {column} is read as {after} instead of {before}", **told)
    told |= {"who": called(giver["who"], "assessor"), "object": called(giver["object"], scores.noun)}
    if not cell.before:
        told["score"] = cell.after
        return phrase("A score that is not in the file is added, {score} from {who} for {object}", **told)
    if not cell.after:
        return sentence(phrase("{who}’s score for {object}, {before}, is left out", **told))
    return sentence(phrase("{who}’s score for {object} is read as {after} instead of {before}", **told))


def given_in(scores: Scores, row: int, column: str) -> dict[str, str] | None:
    """Return whose score of what stands in a cell; None where it holds none, or one of several criteria."""
    told = scores.reading
    if scores.rows is None or told is None or told.criteria or told.criterion is not None:
        return None
    for at in (scores.rows == row).nonzero()[0].tolist():
        if scores.cell_of(at) == (row, column):
            who, object_ = scores.assessors[scores.assessor_index[at]], scores.objects[scores.object_index[at]]
            return {"who": str(who), "object": str(object_)}
    return None


def _because(said: str, reasons: Sequence[str]) -> str:
    """Return a sentence with the reasons that were given, each once."""
    given = list(dict.fromkeys(reason.strip().rstrip(".") for reason in reasons if reason.strip()))
    some = "; ".join(given[:_REASONS]) + (" …" if len(given) > _REASONS else "")
    return f"{said}: {phrase('“{name}”', name=some)}." if given else f"{said}."


def put_correction(
    panel: Panel, row: int, column: str, before: str, after: str, reason: str = "", of: dict[str, Any] | None = None
) -> str:
    """Keep what a cell is to be read as, in place of what was said of it before, and return what the file has there.

    ``before`` is what it is read as, ``of`` what it was left out with.
    """
    earlier = panel.corrections.filter(row=row, column=column, undone=None)
    known = earlier.first()
    before = before if known is None else known.before
    earlier.update(undone=datetime.fromisoformat(of["at"]) if of and "at" in of else timezone.now())
    Correction.objects.create(
        panel=panel, row=row, column=column, before=before, after=after, reason=reason, of=of or {}
    )
    return str(before)


def added_in(panel: Panel, row: int, column: str) -> Settled | None:
    """Return the score that was added of which a cell is part: its own, or another of the row that was added for it."""
    known = panel.corrections.filter(row=row, column=column, undone=None).first()
    for one in by_hand(panel):
        is_whole_row = known is None and len(one.cells) > 1
        if one.kind == "added" and one.first.row == row and (known in one.cells or is_whole_row):
            return one
    return None


def amend(panel: Panel, one: Settled, column: str, after: str, reason: str = "", *, is_kept: bool = False) -> str:
    """Change a cell of a score that was added, which stays one; without a score it is taken back.

    Return what was done, in words for the record; ``is_kept`` says that somebody has looked at the score.
    """
    known = next((cell for cell in one.cells if cell.column == column), None)
    before, was = "" if known is None else known.after, one.words
    holds = one.first.of.get("columns") or {"score": next(c.column for c in one.cells if c.after == c.of["score"])}
    if column == holds["score"] and not after:
        take_back(panel, one)
        return _("Taken back: %(what)s") % {"what": was}
    of = {key: value for key, value in one.first.of.items() if key != "kept"}
    of |= {key: after for key, name in holds.items() if name == column}
    reasons = list(dict.fromkeys([*one.first.reason.split("; "), reason]))
    known = known or Correction(panel=panel, row=one.first.row, column=column)
    known.after = after
    for cell in {cell.column: cell for cell in (*one.cells, known)}.values():
        is_score = cell.column == holds["score"]
        has_stood = is_score and cell is not known and cell.of.get("kept")
        cell.of = of | ({"kept": True} if has_stood or (is_score and is_kept) else {})
        cell.reason = "; ".join(filter(None, reasons))[:2000]
        cell.save()
    told = {key: of[key] for key in ("score", "name", "object")}
    if is_kept:
        return _("Added score confirmed: %(score)s from %(name)s for %(object)s") % told
    if column in holds.values():
        told["before"] = before
        return _("Added score corrected: %(score)s from %(name)s for %(object)s, instead of %(before)s") % told
    cells = {"row": one.first.row, "column": column, "before": before or "–", "after": after or "–"}
    return _("Row %(row)s, %(column)s: %(before)s read as %(after)s") % cells


def leave_out(
    panel: Panel, scores: Scores, table: Any, assessors: Collection[str], reason: str = "", **of: object
) -> None:
    """Read every score of some assessors as empty; all of that is taken back at once."""
    of["at"] = timezone.now().isoformat()
    for at, index in enumerate(scores.assessor_index.tolist()):
        if scores.assessors[index] in assessors:
            cell = cell_at(scores, at)
            put_correction(panel, *cell, text_at(table, *cell), "", reason, of)


def cell_at(scores: Scores, at: int) -> tuple[int, str]:
    """Return the cell in which a score stands, or raise that it is not known."""
    cell = scores.cell_of(at)
    if cell is None:
        who, label = scores.assessors[scores.assessor_index[at]], scores.objects[scores.object_index[at]]
        message = f"The cell in which {who} scored {label} is not known: change the file itself."
        raise InputError(message, kind="bad_change")
    return cell


def take_back(panel: Panel, one: Settled) -> None:
    """Read cells again as they were: a single one as it stands in the file, others as before they were left out."""
    panel.corrections.filter(pk__in=[cell.pk for cell in one.cells]).update(undone=timezone.now())
    before = panel.corrections.filter(undone=datetime.fromisoformat(one.first.of["at"])) if one.kind else ()
    places = {cell.place for cell in one.cells}  # those that were corrected since stay so
    panel.corrections.filter(pk__in=[cell.pk for cell in before if cell.place in places]).update(undone=None)


def may_add(looked: Looked) -> bool:
    """Say whether a score can be added: where each has a row, or a row and a column, of its object and assessor."""
    told = None if looked.scores is None or looked.table is None else looked.scores.reading
    if told is None or told.system is not None or told.criteria or told.criterion is not None:
        return False
    return told.layout in ("wide", "across") or (
        told.layout == "long" and told.object is not None and told.assessor is not None
    )


def cells_to_add(
    looked: Looked, object_: str, assessor: str, score: str, confidence: str
) -> dict[tuple[int, str], str]:
    """Return the cells, by row and column, that a further score comes to; nothing where there is no room for it.

    Where each score has a row that is a new one, after the last, with what goes with the object and the assessor;
    else it is the cell of both, which exists for those who are known.
    """
    scores, table = looked.scores, looked.table
    told = None if scores is None else scores.reading
    if scores is None or table is None or told is None:
        return {}
    column = told.column_of(object_, assessor, None)
    rows = {object_: _row_of(scores, object_, "object"), assessor: _row_of(scores, assessor, "assessor")}
    if told.layout != "long":
        row = rows[object_ if told.layout == "wide" else assessor]
        return {} if row is None or column is None else {(row, column): score}
    cells = {told.object: object_, told.assessor: assessor, column: score, told.confidence: confidence}
    for label, names in ((object_, told.object_details), (assessor, told.assessor_details)):
        row = rows[label]
        cells |= {} if row is None else {name: text_at(table, row, name) for name in names}
    number = int(table.row_numbers.max()) + 1
    return {(number, name): text for name, text in cells.items() if name is not None and text}


def _row_of(scores: Scores, label: str, side: str) -> int | None:
    """Return a row of the file in which an object, or an assessor, has a score."""
    labels, index = getattr(scores, f"{side}s"), getattr(scores, f"{side}_index")
    if scores.rows is None or label not in labels:
        return None
    return int(scores.rows[(index == labels.index(label)).argmax()])
