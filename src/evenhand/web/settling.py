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
from evenhand.web.reading import text_at
from evenhand.words import called, count_of, phrase, sentence

if TYPE_CHECKING:
    from evenhand.panel.panel import Panel as Scores

_REASONS: Final = 3
"""Reasons for single cells that a line names."""


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
        """``"group"``, ``"others"`` or ``"assessor"`` for what was left out whole; empty for a cell."""
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
        cell = {"row": one.row, "column": one.column, "before": one.before or _("empty")}
        cell["after"] = one.after or _("empty")
        if one.before == one.after:
            return _("Row %(row)s, %(column)s: %(after)s is right") % cell
        return _("Row %(row)s, %(column)s: %(before)s read as %(after)s") % cell

    def line(self, noun: str) -> str:
        """Return what was left out whole, as it stands under a decision."""
        of, scores = self.first.of, count_of(len(self.cells), "score")
        one = of.get("objects") == 1
        if self.kind == "assessor":
            who = sentence(called(of["name"], "assessor"))
            said = phrase("{who} is left out ({scores})", who=who, scores=scores)
        else:
            told = {"things": count_of(of["objects"], noun), "group": of["name"]}
            said = phrase("{things} of group {group} are left out", **told)
            if one:
                said = phrase("{things} of group {group} is left out", **told)
            if self.kind == "others":
                said = phrase("{things} of other groups are left out", **told)
                return f"{phrase('{things} of other groups is left out', **told) if one else said}."
        return _because(said, [self.first.reason])


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
    if cells:
        told, holding = scores.reading, {one.column for one in cells}
        is_of_scores = told is None or holding <= {slot[-1] for slot in told.slots}
        many = {"count": f"{len(cells):,}"}
        one = phrase("1 score is left out or changed by hand") if is_of_scores else phrase("1 cell is changed by hand")
        some = phrase("{count} scores are left out or changed by hand", **many)
        some = some if is_of_scores else phrase("{count} cells are changed by hand", **many)
        said.append(_because(one if len(cells) == 1 else some, [cell.reason for cell in cells]))
    return said


def _because(said: str, reasons: Sequence[str]) -> str:
    """Return a sentence with the reasons that were given, each once."""
    given = list(dict.fromkeys(reason.strip().rstrip(".") for reason in reasons if reason.strip()))
    some = "; ".join(given[:_REASONS]) + (" …" if len(given) > _REASONS else "")
    return f"{said}: {some}." if given else f"{said}."


def put_correction(
    panel: Panel, row: int, column: str, before: str, after: str, reason: str = "", of: dict[str, Any] | None = None
) -> str:
    """Keep what a cell is to be read as, in place of what was said of it before, and return what the file has there.

    ``before`` is what it is read as, ``of`` what it was left out with.
    """
    earlier = panel.corrections.filter(row=row, column=column, undone=None)
    known = earlier.first()
    before = before if known is None else known.before
    earlier.update(undone=timezone.now() if not of else datetime.fromisoformat(of["at"]))
    Correction.objects.create(
        panel=panel, row=row, column=column, before=before, after=after, reason=reason, of=of or {}
    )
    return str(before)


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
