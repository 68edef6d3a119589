"""Who reads what: objects, assessors, conflicts and loads in; a design with its expected precision out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand.errors import EvenhandError, InputError
from evenhand.web.forms import Asked, Edit, said
from evenhand.web.jobs import Job, jobs
from evenhand.web.models import Plan, mark
from evenhand.web.pages import page, when_done
from evenhand.web.views.record import archive, sent
from evenhand.words import name_some, quoted, translated

if TYPE_CHECKING:
    from evenhand.design.result import Design, DesignStep, Outlook

_FIRST: Final = {"per_object": 3, "uncertainty": 8}
"""What stands in the fields of a new design."""
_MOST_EDITS: Final = 500
_AGAIN: Final = 0.02
"""Effort of a search whose outcome is known: it only brings back what the design was made of."""
_HEIGHT: Final = 150
_DRAWN: Final = 120
"""Up to this many objects there is a mark for each pair."""
_WIDE: Final = 1.645
"""Standard deviations from the middle of a 90 % interval to its end."""
_FILES: Final = ("scores.xlsx", "sheets.xlsx", "sheets.zip", "pairs.csv", "hotcrp.csv")

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Found:
    """A design as it was found, and what to expect of it beside chance and with more or less work."""

    design: Design
    ahead: Outlook | None


@require_GET
def designs(request: HttpRequest) -> HttpResponse:
    """Show what is asked for, and the designs that are there; a design may be the beginning of another."""
    known = request.GET.get("like", "")
    like = Plan.objects.filter(pk=int(known)).first() if known.isdecimal() and len(known) < 18 else None
    return _form(request, Asked(initial=_FIRST if like is None else {**like.given, "name": like.name}))


def _form(request: HttpRequest, form: Asked, words: Sequence[str] = (), plan: Plan | None = None) -> HttpResponse:
    """Return the form with all that was typed, and what is wrong with it."""
    plans = Plan.objects.exclude(pairs=[])
    return page(request, "designs.html", form=form, plans=plans, words=list(words), plan=plan)


def make(request: HttpRequest) -> HttpResponse:
    """Take what is asked for; the page of the design shows what comes of it."""
    if request.method != "POST":
        return redirect("designs")
    form = Asked(request.POST)
    if not form.is_valid():
        return _form(request, form)
    given = {name: value for name, value in form.cleaned_data.items() if value not in (None, "")}
    name = given.pop("name", "") or _("Who reads what")
    again = request.POST.get("plan", "")
    plan = Plan.objects.filter(pk=int(again), pairs=[]).first() if again.isdecimal() and len(again) < 18 else None
    plan = Plan() if plan is None else plan  # what could not be made is asked for again, not kept beside
    plan.name, plan.given = name, given
    plan.save()
    return redirect(plan)


# --- the work ----------------------------------------------------------------------------------------


def searching(plan: Plan) -> Job:
    """Return the search for a design, or what brings back one that was found."""
    asked, pairs = _asked(plan), [(one[0], one[1]) for one in plan.pairs]
    return jobs.start(f"design-{plan.pk}-{mark(asked)}", _("making the design"), lambda: _found(asked, pairs))


def _asked(plan: Plan) -> dict[str, Any]:
    return {name: value for name, value in plan.given.items() if name != "edits"}


def _found(asked: Mapping[str, Any], pairs: Sequence[Pair]) -> Found:
    from evenhand.design.assign import assign
    from evenhand.design.result import outlook, with_pairs
    from evenhand.io.designs import typed_expertise, typed_members, typed_pairs

    sides = typed_members(asked["objects"], "object"), typed_members(asked["assessors"], "assessor")
    made = assign(
        *sides,
        min_load=asked.get("min_load"),
        max_load=asked.get("max_load"),
        uncertainty=asked.get("uncertainty"),
        per_object=None if "per_object" in sides[0].columns else asked["per_object"],
        conflicts=typed_pairs(asked.get("conflicts", ""), *sides, "conflicts"),
        expertise=typed_expertise(asked.get("expertise", ""), *sides),
        seed=asked.get("seed", 0),
        effort=_AGAIN if pairs else 1.0,
    )
    made = with_pairs(made, pairs) if pairs else made
    return Found(made, outlook(made))


def _now(found: Found, edits: Sequence[Sequence[str]]) -> Design:
    """Return the design with some changes by hand."""
    from evenhand.design.result import with_pairs

    pairs = dict.fromkeys(found.design.assignments)
    for do, assessor, label in edits:
        if do == "add":
            pairs[assessor, label] = None
        else:
            pairs.pop((assessor, label), None)
    return with_pairs(found.design, pairs)


# --- the page ----------------------------------------------------------------------------------------


@require_GET
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a design, or the form again with the reason why there is none."""
    one = get_object_or_404(Plan, pk=pk)

    def laid_out(found: Found) -> HttpResponse:
        if not one.pairs:
            Plan.objects.filter(pk=pk).update(pairs=found.design.assignments)
        job = jobs.start(f"plan-{pk}-{mark(one.given)}", _("drawing"), lambda: _laid_out(one, found))
        return when_done(request, job, show)

    def show(context: dict[str, Any]) -> HttpResponse:
        return page(request, "plan.html", plan=one, **context)

    try:
        return when_done(request, searching(one), laid_out)
    except EvenhandError as error:
        return _form(request, Asked({**one.given, "name": one.name}), said(error)[:20], one)


@translated(None)
def _laid_out(one: Plan, found: Found) -> dict[str, Any]:
    """Return what the page of a design shows, apart from words of its own."""
    from evenhand.design.result import lost_assessors, prospect
    from evenhand.reports.designs import describe_design, summarise_design
    from evenhand.reports.exports import not_numbers

    edits = one.given.get("edits", [])
    design = _now(found, edits)
    task, now = design.task, prospect(design.task, design.chosen)
    ahead = found.ahead if design is found.design else None  # chance is as it was asked for, not as changed by hand
    summary = summarise_design(design, ahead) if now.is_whole else None
    return {
        "design": design,
        "now": now,
        "was": prospect(task, found.design.chosen),
        "before": prospect(task, _now(found, edits[:-1]).chosen),
        "edits": edits,
        "broken": task.broken(design.chosen) if edits else [],
        "summary": summary,
        "sentences": [] if summary is None else describe_design(summary),
        "bridges": name_some(
            [f"{quoted(one['assessor'])} ({quoted(one['object'])})" for one in (summary or {}).get("bridges", [])], 5
        ),
        "notes": [note.message for note in design.notes],
        "not_number": "".join((one.where or "").removeprefix("object ") for one in not_numbers(task.objects)),
        "digits": 1 if task.in_points and (now.mean_sd or 1.0) >= 1 else 2,  # tables have one more
        "steps": [] if found.ahead is None else found.ahead.steps,
        "curve": [] if found.ahead is None else _curve(found.ahead.steps, found.design.n_assessments),
        "lost": lost_assessors(design),
        "loads": design.loads,
        "read_by": _listed(design.assignments, task.assessors),
        "readers_of": _listed([(label, who) for who, label in design.assignments], task.objects),
        "sds": {} if summary is None else {row["object"]: row["sd"] for row in summary["objects"]},
        "has_addresses": _has_addresses(design),
        "is_drawn": len(task.objects) <= _DRAWN,
        "places": {label: at for at, label in enumerate(task.objects)},
        "wide": _WIDE,
    }


def _listed(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return for each of some labels what it is paired with."""
    found: dict[str, list[str]] = {label: [] for label in labels}
    for label, other in pairs:
        found[label].append(other)
    return found


def _curve(steps: Sequence[DesignStep], now: int) -> list[dict[str, Any]]:
    """Return the points of the curve over readers: where they stand, and what they say."""
    known = [step for step in steps if step.mean_sd is not None]
    top = max((step.mean_sd or 0 for step in known), default=1.0)
    share = 90 / max(1, len(known) - 1)
    return [
        {
            "x": 5 + share * at,
            "y": 24 + _HEIGHT * (1 - (step.mean_sd or 0) / top),
            "step": step,
            "is_now": step.assessments == now,
        }
        for at, step in enumerate(known)
    ]


def _has_addresses(design: Design) -> bool:
    """Say whether HotCRP would find every assessor."""
    from evenhand.reports.exports import addresses_of

    try:
        addresses_of(list(design.task.assessors), design.emails)
    except InputError:
        return False
    return True


# --- by hand -----------------------------------------------------------------------------------------


@require_POST
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a pair come or go, or take the last such change back."""
    one, form = get_object_or_404(Plan, pk=pk), Edit(request.POST)
    job = searching(one)
    if not form.is_valid() or not job.wait(60) or job.error is not None:
        return redirect("plan", pk)  # which shows how far it is, or why there is no design
    do, assessor, label = (form.cleaned_data[name] for name in ("do", "assessor", "object"))
    with transaction.atomic():
        one = get_object_or_404(Plan.objects.select_for_update(), pk=pk)
        edits = one.given.get("edits", [])
        try:
            after = edits[:-1] if do == "undo" else _with(job.result, edits, do, assessor, label)
        except EvenhandError as error:
            messages.error(request, str(error))
            return redirect(f"{one.get_absolute_url()}?{urlencode({'assessor': assessor, 'object': label})}")
        one.given = {**one.given, "edits": after}
        one.save()
    return redirect("plan", pk)


def _with(found: Found, edits: list[list[str]], do: str, assessor: str, label: str) -> list[list[str]]:
    """Return the changes by hand with one more, unless it makes no sense."""
    there = (assessor, label) in _now(found, edits).assignments
    pair = {"who": quoted(assessor), "object": quoted(label)}
    if not assessor or not label:
        raise InputError(_("Choose an assessor and an object first."))
    if there and do == "add":
        raise InputError(_("%(who)s reads %(object)s already.") % pair)
    if not there and do == "remove":
        raise InputError(_("%(who)s does not read %(object)s.") % pair)
    if len(edits) >= _MOST_EDITS:
        raise InputError(_("A design takes up to %(most)s changes by hand.") % {"most": _MOST_EDITS})
    after = [*edits, [do, assessor, label]]
    _now(found, after)  # which refuses a pair that must not be
    return after


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Drop a design."""
    get_object_or_404(Plan, pk=pk).delete()
    return redirect("designs")


# --- out ---------------------------------------------------------------------------------------------


@require_GET
def out(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Send a file of a design."""
    one = get_object_or_404(Plan, pk=pk)
    if what not in _FILES:
        raise Http404

    def write(found: Found) -> HttpResponse:
        edits = one.given.get("edits", [])
        key = f"plan-out-{what}-{pk}-{mark(one.given)}"
        job = jobs.start(key, _("writing"), lambda: _written(what, _now(found, edits)))
        return when_done(request, job, lambda content: sent(what, content), file=True)

    return when_done(request, searching(one), write, file=True)


@translated(None)
def _written(what: str, design: Design) -> bytes:
    """Return a file that a chair hands out."""
    from evenhand.io.results import write_tables
    from evenhand.reports import designs as files
    from evenhand.reports.exports import write_export

    pairs = design.assignments
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        place = Path(folder) / what
        if what == "sheets.zip":
            books = files.write_assessor_sheets(place.with_suffix(""), design, pairs)
            return archive({file.name: file.read_bytes() for file in books})
        makers: dict[str, Callable[[], object]] = {
            "scores.xlsx": lambda: files.write_score_sheet(place, design, pairs),
            "sheets.xlsx": lambda: files.write_assessor_sheets(place, design, pairs),
            "pairs.csv": lambda: write_tables(place, {"assignments": design.columns()}),
            "hotcrp.csv": lambda: write_export("hotcrp", place, design, pairs),
        }
        makers[what]()
        return place.read_bytes()
