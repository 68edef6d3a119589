"""How a file was read: its first rows with the role of each column, what is wrong in it, and what was corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand.errors import Problem
from evenhand.io.formats import FORMATS
from evenhand.panel.reading import LAYOUTS
from evenhand.panel.rules import label_text, parse_score, probably_meant
from evenhand.web.calibrating import Answer, answering
from evenhand.web.forms import Added, Corrected, Settings
from evenhand.web.jobs import SOON
from evenhand.web.models import Correction, Panel
from evenhand.web.pages import page, when_done
from evenhand.web.reading import CHOICES, ROLES, Looked, cells_in, looking, text_at
from evenhand.web.settling import added_in, amend, by_hand, cells_to_add, given_in, may_add, put_correction, take_back
from evenhand.words import again, quoted

if TYPE_CHECKING:
    from evenhand.panel.column import Table
    from evenhand.panel.panel import Panel as Scores
    from evenhand.panel.reading import Reading

ROWS: Final = 12
"""Rows that are shown at once."""

_COLUMNS: Final = 60
_LEVEL: Final = "unknown_level"
_OF_ROLES: Final = (*(role for role in ROLES if role), "criteria", "columns")
_LISTED: Final = 25
_EXAMINED: Final = 500
_SLIPS: Final = 5


@dataclass(frozen=True)
class Wrong:
    """A problem, and the cell in which it is, where it is one: whose score of what stands there, if that is known."""

    problem: Problem
    row: int | None = None
    column: str | None = None
    cell: str = ""
    meant: str | None = None
    whose: str = ""


@dataclass(frozen=True)
class Word:
    """A word that stands in several cells of a column, and that nobody has said the meaning of."""

    text: str
    column: str
    count: int
    is_level: bool


@require_GET
def reading(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how the file was read."""
    panel = get_object_or_404(Panel, pk=pk)

    def show(looked: Looked) -> HttpResponse:
        told = None if looked.scores is None else looked.scores.reading
        found = [_wrong(looked.table, told, one) for one in looked.problems[:_EXAMINED]]
        words = _words_in(found)
        single = [one for one in found if (one.cell, one.column) not in {(word.text, word.column) for word in words}]
        wrong, slips = single[:_LISTED], slips_of(looked, looked.slips)
        answer: Answer | None = None
        if panel.known and panel.known.get("alert") == "stop" and looked.scores is not None and not slips:
            job = answering(panel)
            answer = job.result if job.wait(SOON) and job.error is None else None  # as a rule it is there
        return page(
            request,
            "reading.html",
            panel,
            looked=looked,
            scores=looked.scores,
            told=told,
            wrong=wrong,
            words=words,
            slips=slips,
            settled_cell=settled_cell(panel, request.GET),
            more=len(looked.problems) - len(found) + len(single) - len(wrong),
            place=lambda where: again(where or "").removeprefix(panel.file_name).removeprefix(", "),
            sheet=_shown(
                request,
                looked.table,
                [(one.row, one.column) for one in wrong] + [(one["row"], one["column"]) for one in slips],
            ),
            roles=_roles(looked.table, told, panel.options),
            role_words=_role_words(looked.table, told),
            meanings=panel.options.get("scores", {}) | (told.scores if told is not None else {}),
            layouts=LAYOUTS,
            choices=CHOICES,
            read_sheet="" if looked.table is None else looked.table.source.rpartition(", sheet ")[2],
            systems=list(FORMATS),
            form=Settings(initial=_initial(panel.options)),
            options=panel.options,
            notes=[one for one in (() if looked.scores is None else looked.scores.notes) if one.kind != "corrected"],
            settled=by_hand(panel),
            stops=[] if answer is None else answer.stops,
            without=None,
            may_add=may_add(looked),
        )

    return when_done(request, looking(panel), show, panel)


def _initial(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the fields of the form have them."""
    given = dict(options)
    given["missing"] = ", ".join(options.get("missing", ()))
    given["aliases"] = ", ".join(f"{word}={level}" for word, level in options.get("aliases", {}).items())
    given["level_scale"] = ",".join(f"{end:g}" for end in options.get("level_scale", ()))
    return given


def _wrong(table: Table | None, told: Reading | None, problem: Problem) -> Wrong:
    """Return a problem with its cell."""
    for row, column in cells_in([problem], table).values():
        text = text_at(table, row, column)
        return Wrong(problem, row, column, text, probably_meant(text), _whose(table, told, row, column))
    return Wrong(problem)


def _whose(table: Table | None, told: Reading | None, row: int, column: str) -> str:
    """Return whose score of what stands in a row, by the columns that say so; empty where these do not."""
    if told is None or told.layout != "long" or told.object is None or told.assessor is None:
        return ""
    who, object_ = (text_at(table, row, name) for name in (told.assessor, told.object))
    giver = {"who": quoted(who), "object": quoted(object_)}
    return _("%(who)s on %(object)s") % giver if who and object_ else ""


def _words_in(found: list[Wrong]) -> list[Word]:
    """Return the words that stand in several cells instead of scores or levels, so that each is settled once."""
    count = Counter((one.cell, str(one.column), one.problem.kind) for one in found if one.column is not None)
    several = [(*key, number) for key, number in count.items() if number > 1 and key[2] in ("bad_score", _LEVEL)]
    return [Word(text, column, number, kind == _LEVEL) for text, column, kind, number in several if text]


def _role_words(table: Table | None, told: Reading | None) -> list[dict[str, Any]]:
    """Return what the menu above each column offers; the first says what becomes of the column without a role."""
    if table is None:
        return []
    kept = () if told is None else (*told.object_details, *told.assessor_details)
    none = {name: _("Kept beside") for name in kept} if told is not None else dict.fromkeys(table.names, _("Find out"))
    return [{**ROLES, "": none.get(name, ROLES[""])} for name in table.names]


def slips_of(looked: Looked | None, slips: Mapping[int, float | None]) -> list[dict[str, Any]]:
    """Return the cells of scores that look mistyped: what stands in them, and what was probably meant."""
    scores, found = None if looked is None else looked.scores, []
    for at, meant in list(slips.items())[:_SLIPS]:
        cell = None if scores is None else scores.cell_of(at)
        if looked is None or scores is None or cell is None:
            continue
        row, column = cell
        found.append(
            {
                "object": scores.objects[scores.object_index[at]],
                "assessor": scores.assessors[scores.assessor_index[at]],
                "row": row,
                "column": column,
                "meant": None if meant is None else f"{meant:g}",
                "text": text_at(looked.table, row, column),
            }
        )
    return found


def _shown(
    request: HttpRequest, table: Table | None, wrong: list[tuple[int | None, str | None]]
) -> dict[str, Any] | None:
    """Return some rows of the table: those that were asked for, or those about the first problem."""
    if table is None:
        return None
    rows = table.row_numbers.tolist()
    given = request.GET.get("row", "")
    asked = int(given) if given.isdecimal() and len(given) < 10 else None
    first = next((row for row, _column in wrong if row in rows), None) if asked is None else asked
    at = 0
    if first is not None:
        at = max(0, min(next((at for at, row in enumerate(rows) if row >= first), 0) - ROWS // 2, len(rows) - ROWS))
    bad = set(wrong)
    names = table.names[:_COLUMNS]
    shown = [
        {
            "number": rows[row],
            "cells": [
                {
                    "column": name,
                    "text": "" if table.columns[column][row] is None else label_text(table.columns[column][row]),
                    "is_wrong": (rows[row], name) in bad,
                }
                for column, name in enumerate(names)
            ],
        }
        for row in range(at, min(at + ROWS, len(rows)))
    ]
    return {
        "names": names,
        "more_columns": len(table.names) - len(names),
        "rows": shown,
        "end": max(rows, default=0),
        "before": rows[max(0, at - ROWS // 2)] if at else None,
        "after": rows[min(len(rows) - 1, at + ROWS + ROWS // 2)] if at + ROWS < len(rows) else None,
        "edited": asked,
    }


def _roles(table: Table | None, told: Reading | None, options: Mapping[str, Any]) -> list[str]:
    """Return the role of each column, as it was read or, where it could not be, as it was told."""
    if table is None:
        return []
    found = dict.fromkeys(table.names, "")
    if told is None:
        for name in options.get("columns", ()) or options.get("criteria", ()):
            found[name] = "score"
        found |= {str(options[role]): role for role in ROLES if role and options.get(role) in found}
        return [found[name] for name in table.names]
    for *_known, name in told.slots:
        found[name] = "score"
    form = "level" if told.form == "level" else told.form
    for role, column in (
        ("object", told.object),
        ("assessor", told.assessor),
        ("criterion", told.criterion),
        (form, told.confidence),
    ):
        if column in found and role != "none":
            found[column] = role
    return [found[name] for name in table.names]


@require_POST
def settle(request: HttpRequest, pk: int) -> HttpResponse:
    """Take how the file is to be read, or that it is read well."""
    panel = get_object_or_404(Panel, pk=pk)
    if "go" in request.POST:
        _confirm(panel)
        return redirect("decision", pk)
    if "reset" in request.POST:
        return _settled(panel, {})
    form = Settings(request.POST)
    if not form.is_valid():
        for field, errors in form.errors.items():
            messages.error(request, f"{field}: {' '.join(map(str, errors))}")
        return redirect("reading", pk)
    options = form.options()
    sent = {key: value for key, value in request.POST.items() if key.startswith("role-")}
    if any(value != request.POST.get(f"was-{key.removeprefix('role-')}", "") for key, value in sent.items()):
        options["layout"] = options.get("layout") or form.cleaned_data["read_layout"] or "long"
        options |= dict(_by_roles(options["layout"], request.POST))
    elif "layout" in options and options["layout"] == panel.options.get("layout"):
        options |= {name: value for name, value in panel.options.items() if name in _OF_ROLES}
    levels = {key.removeprefix("level-"): value for key, value in request.POST.items() if key.startswith("level-")}
    options["aliases"] = options.get("aliases", {}) | {word: level for word, level in levels.items() if level}
    options["scores"] = _words(request.POST)
    return _settled(panel, {name: value for name, value in options.items() if value})


def _confirm(panel: Panel) -> None:
    """Take it that the file is read well; cells that are wrong and were not settled are empty from now on."""
    job = looking(panel)
    job.ended.wait()
    looked: Looked | None = job.result
    with transaction.atomic():
        if looked is not None:
            for row, column in cells_in(looked.problems, looked.table).values():
                before = text_at(looked.table, row, column)
                save_correction(panel, row, column, before, "", _("It is not a number and was left empty."))
        panel.is_read = True
        panel.keep("is_read")
        panel.say(_("Reading confirmed"))


@transaction.atomic
def _settled(panel: Panel, options: dict[str, Any]) -> HttpResponse:
    if options != panel.options:
        panel.options = options
        panel.keep("options")
        said = "; ".join(f"{name}: {value}" for name, value in options.items())
        panel.say(_("Read otherwise: %(how)s") % {"how": said or _("as found out")})
    return redirect("reading", panel.pk)


def _by_roles(layout: str | None, given: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of :func:`evenhand.read_panel` that the roles of columns come to."""
    names = {key.removeprefix("role-"): value for key, value in given.items() if key.startswith("role-")}
    named = [(given.get(f"name-{at}", ""), role) for at, role in names.items() if role in ROLES]
    columns = [name for name, role in named if role == "score"]
    firsts = {role: name for name, role in reversed(named) if role}
    if layout == "long":
        yield from ((role, name) for role, name in firsts.items() if role != "score")
        yield ("score", columns[0]) if len(columns) == 1 else ("criteria", columns)
    elif layout in ("wide", "across"):
        side = "object" if layout == "wide" else "assessor"
        if side in firsts:
            yield side, firsts[side]
        if len(columns) > 1:
            yield "columns", columns
    elif layout == "groups" and "object" in firsts:
        yield "object", firsts["object"]


def _words(given: Mapping[str, str]) -> dict[str, float]:
    """Return what scores in words stand for."""
    found = {}
    for key, value in given.items():
        if key.startswith("word-") and value.strip():
            try:
                number = float(value.replace(",", ".").replace("−", "-"))
            except ValueError:
                continue
            if abs(number) < 1e12:
                found[key.removeprefix("word-")[:200]] = number
    return found


@require_POST
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a cell, or several, to be read as something else; the file itself stays as it is."""
    panel = get_object_or_404(Panel, pk=pk)
    job = looking(panel)
    job.wait(60)
    table: Table | None = None if job.result is None else job.result.table
    settled: list[tuple[int, str]] = []
    back = request.POST.get("back") in ("decision", "reading")
    to = "decision" if request.POST.get("back") == "decision" else "reading"
    if back and not request.POST.get("reason", "").strip():
        messages.error(request, _("Say how you know: the reason goes into the record. Nothing was changed."))
        return redirect(to, pk)
    for text_of, column in _cells(request.POST):
        form = Corrected(
            {
                "row": request.POST.get("row"),
                "column": column,
                "text": text_of,
                "reason": request.POST.get("reason", ""),
            }
        )
        if table is None or not form.is_valid():
            messages.error(request, _("This cell cannot be corrected."))
            continue
        given = form.cleaned_data
        if given["row"] not in table.row_numbers or column not in table.names:
            messages.error(request, _("There is no such cell in this file."))
            continue
        before, is_kept = text_at(table, given["row"], column), back and "keep" in request.POST
        text = before if is_kept else given["text"]
        if back and not is_kept and "empty" not in request.POST:
            if (score := parse_score(text)) is None:
                said = _("“%(text)s” is not a number: nothing was changed.") % {"text": text}
                asked = _("Now say what the score is: press one of the buttons, or write another score.")
                messages.error(request, said if text.strip() else asked)
                continue
            is_kept = score == parse_score(before)
            text = before if is_kept else text
        if before != text or is_kept:
            scores = job.result.scores
            save_correction(panel, given["row"], column, before, text, given["reason"], scores, is_kept=is_kept)
            settled.append((given["row"], column))
    if settled:
        panel.keep()
    row = request.POST.get("row", "")
    if back:
        places = panel.corrections.filter(undone=None)
        last = places.filter(row=settled[-1][0], column=settled[-1][1]).first() if settled else None
        told = {"why": request.POST["reason"][:2000]} if last is None else {"settled": last.pk}
        return redirect(f"{reverse(to, args=[pk])}?{urlencode(told)}")
    return redirect(f"{reverse('reading', args=[pk])}{f'?row={row}' if row.isdecimal() else ''}#sheet")


def settled_cell(panel: Panel, given: QueryDict) -> Correction | None:
    """Return the cell that was settled just now, where the address says which."""
    at = given.get("settled", "")
    return panel.corrections.filter(pk=at, undone=None).first() if at.isdecimal() and len(at) < 18 else None


@transaction.atomic
def save_correction(
    panel: Panel,
    row: int,
    column: str,
    before: str,
    after: str,
    reason: str = "",
    scores: Scores | None = None,
    *,
    is_kept: bool = False,
) -> None:
    """Keep what a cell is to be read as, and say so in the record; ``scores`` tell whose score of what it holds.

    A score that was added stays one that was added; ``is_kept`` says that somebody has looked at it.
    """
    added = added_in(panel, row, column)
    if added is not None:
        panel.say(amend(panel, added, column, after, reason, is_kept=is_kept), reason)
        return
    giver = None if scores is None else given_in(scores, row, column)
    of: dict[str, Any] = (giver or {}) | ({"kept": True} if is_kept else {})
    before = put_correction(panel, row, column, before, after, reason, of)
    said = {"row": row, "column": column, "before": before or "–", "after": after or "–"}
    words = _("Row %(row)s, %(column)s: %(before)s read as %(after)s")
    words = (_("Row %(row)s, %(column)s: %(after)s is right") if before == after else words) % said
    panel.say(words if giver is None else f"{words} ({_('%(who)s on %(object)s') % giver})", reason)


def _cells(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts that were sent, each with its column."""
    if "column" in given:
        yield ("" if "empty" in given else given.get("meant") or given.get("text", "")), given["column"]
    for key, value in list(given.items())[: _COLUMNS * 3]:
        if key.startswith("cell-"):
            yield value, given.get(f"name-{key.removeprefix('cell-')}", "")


@require_POST
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a score that the file lacks; the file itself stays as it is."""
    panel, form = get_object_or_404(Panel, pk=pk), Added(request.POST)
    back = f"{reverse('reading', args=[pk])}#add"
    looked: Looked = looking(panel).outcome()
    if not form.is_valid() or not may_add(looked):
        messages.error(request, _("Say who scored what, the score, and how you know. Nothing was changed."))
        return redirect(back)
    given = form.cleaned_data
    if parse_score(given["score"]) is None:
        messages.error(request, _("“%(text)s” is not a number: nothing was changed.") % {"text": given["score"]})
        return redirect(back)
    if _is_scored(looked.scores, given["object"], given["assessor"]):
        said = _("%(assessor)s has scored %(object)s already: correct that score. Nothing was changed.")
        messages.error(request, said % given)
        return redirect(back)
    cells = cells_to_add(looked, given["object"], given["assessor"], given["score"], given["confidence"])
    if not cells:
        messages.error(request, _("Nobody and nothing in the file is called so. Nothing was changed."))
        return redirect(back)
    of = {"kind": "added", "name": given["assessor"], "object": given["object"], "score": given["score"]}
    of |= {"at": timezone.now().isoformat(), "columns": _columns_of(looked, cells, given)}
    with transaction.atomic():
        for (row, column), text in cells.items():
            put_correction(panel, row, column, text_at(looked.table, row, column), text, given["reason"], of)
        said = _("Score added: %(score)s from %(assessor)s for %(object)s")
        panel.say(said % given, given["reason"])
        panel.keep()
    return redirect(f"{reverse('reading', args=[pk])}#h-corrections")


def _columns_of(looked: Looked, cells: Mapping[tuple[int, str], str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the columns in which a score that is added stands, and its object and assessor where these have one."""
    told = None if looked.scores is None else looked.scores.reading
    if told is None or told.layout != "long":
        return {"score": next(column for _row, column in cells)}
    found = {"score": told.column_of(given["object"], given["assessor"]), "object": told.object, "name": told.assessor}
    return {key: column for key, column in found.items() if column is not None}


def _is_scored(scores: Scores | None, object_: str, assessor: str) -> bool:
    """Say whether an assessor has scored an object."""
    if scores is None or object_ not in scores.objects or assessor not in scores.assessors:
        return False
    of_object = scores.object_index == scores.objects.index(object_)
    return bool((of_object & (scores.assessor_index == scores.assessors.index(assessor))).any())


@require_POST
@transaction.atomic
def undo(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Read a cell again as it stands in the file, or all cells that were left out with it as they were before."""
    panel = get_object_or_404(Panel, pk=pk)
    cell = get_object_or_404(Correction, pk=at, panel=panel, undone=None)
    one = next(one for one in by_hand(panel) if cell in one.cells)
    take_back(panel, one)
    panel.keep()
    if one.kind:
        panel.say(_("Taken back: %(what)s") % {"what": one.words})
        return redirect("reading", pk)
    panel.say(_("Row %(row)s, %(column)s: read again as it stands") % {"row": cell.row, "column": cell.column})
    return redirect(f"{reverse('reading', args=[pk])}?row={cell.row}#sheet")


@require_GET
def original(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the file as it came."""
    panel = get_object_or_404(Panel, pk=pk)
    response = HttpResponse(bytes(panel.content), content_type="application/octet-stream")
    response.headers["Content-Disposition"] = _attachment(panel.file_name)
    return response


def _attachment(name: str) -> str:
    from django.utils.http import content_disposition_header

    return content_disposition_header(as_attachment=True, filename=name) or "attachment"
