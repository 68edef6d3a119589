"""What if: changes that are tried beside what stands, each of which can be undone, and saved with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand.web.calibrating import METHODS, REFINEMENTS, Answer, answering
from evenhand.web.forms import Change, Named, Saved
from evenhand.web.models import Panel, Scenario
from evenhand.web.pages import page, when_done
from evenhand.web.reading import looking, scores_of
from evenhand.web.trying import Tried, cells_of, trying, with_choices
from evenhand.web.views.decision import shown
from evenhand.web.views.reading import save_correction, text_at

MOST: Final = 200
"""Changes that a scenario may have."""

_BETWEEN: Final = "\x1f"


@require_GET
def scenarios(request: HttpRequest, pk: int) -> HttpResponse:
    """Show all scenarios side by side; with none yet, begin one."""
    panel = get_object_or_404(Panel, pk=pk)
    found = list(panel.scenarios.all())
    if not found:
        trials = [(name, in_words(change)) for name, change in _trials(panel).items()]
        return page(request, "scenarios.html", panel, rows=[], answer=None, trials=trials)

    def show(answer: Answer) -> HttpResponse:
        rows = []
        for one in found:
            job = trying(panel, one)
            job.wait(5)
            tried = job.result if job.error is None else None
            rows.append({"scenario": one, "tried": tried, "words": [in_words(change) for change in one.changes]})
        return page(request, "scenarios.html", panel, rows=rows, **shown(panel, answer))

    return when_done(request, answering(panel), show, panel)


@require_POST
def begin(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin a scenario, as a copy of another where one is named."""
    panel = get_object_or_404(Panel, pk=pk)
    copied = request.POST.get("copy", "")
    known = panel.scenarios.filter(pk=int(copied)).first() if copied.isdecimal() and len(copied) < 18 else None
    trial = _trials(panel).get(request.POST.get("trial", ""))
    number = panel.scenarios.count() + 1
    made = Scenario.objects.create(
        panel=panel,
        name=_("Scenario %(number)s") % {"number": number},
        changes=[trial] if trial else [] if known is None else known.changes,
    )
    return redirect("scenario", pk, made.pk)


def _trials(panel: Panel) -> dict[str, dict[str, Any]]:
    """Return changes that are worth a try in any panel, by name."""
    chosen = panel.choices
    wanted: dict[str, Any] = {"method": "sa", "refinement": "student"}
    if chosen.get("places"):
        wanted["places"] = chosen["places"] + 1
    return {
        name: {"type": "choice", "name": name, "value": value}
        for name, value in wanted.items()
        if chosen.get(name) != value
    }


@require_GET
def scenario(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Show what a scenario would change."""
    panel = get_object_or_404(Panel, pk=pk)
    one = get_object_or_404(Scenario, pk=at, panel=panel)

    def show(tried: Tried) -> HttpResponse:
        scores, known = tried.answer.found.combined.panel, with_choices(panel.state(), one.changes)
        pairs = list(zip(scores.object_index.tolist(), scores.assessor_index.tolist(), strict=True))
        return page(
            request,
            "scenario.html",
            panel,
            scenario=one,
            changes=[{"words": in_words(change), "brief": _brief(change, scores)} for change in one.changes],
            tried=tried,
            difference=tried.difference,
            headline=None
            if tried.difference is None
            else tried.difference.headline([in_words(c) for c in one.changes]),
            people=list(scores.assessors),
            gauges=["weighted", "zero_sum", *(f"anchor:{name}" for name in scores.assessors)],
            pairs=[
                (
                    _BETWEEN.join((str(scores.objects[o]), str(scores.assessors[a]))),
                    f"{scores.objects[o]}, {scores.assessors[a]}: {scores.score[row]:g}",
                )
                for row, (o, a) in enumerate(pairs)
            ]
            if len(pairs) <= 2000
            else [],
            choices=known["choices"],
            factor=known["options"].get("factor") or scores.factor,
            others=panel.scenarios.exclude(pk=one.pk),
            **shown(panel, tried.answer),
        )

    return when_done(request, trying(panel, one), show, panel)


def in_words(change: Mapping[str, Any]) -> str:
    """Return a change as it stands in a sentence."""
    kind = change["type"]
    if kind == "without_assessor":
        return _("without %(who)s") % {"who": change["assessor"]}
    pair = {"object": change.get("object"), "who": change.get("assessor"), "score": f"{change.get('score', 0):g}"}
    if kind == "without_score":
        return _("without %(who)s’s score for %(object)s") % pair
    if kind == "score":
        return _("with %(who)s’s %(score)s for %(object)s") % pair
    words = {
        "places": lambda value: _("with %(number)s places") % {"number": value},
        "method": lambda value: _("by %(method)s") % {"method": str(METHODS.get(value, value)).partition(":")[0]},
        "refinement": lambda value: _("with the refinement: %(words)s") % {"words": REFINEMENTS[value][0]},
        "gauge": lambda value: _("with zero bias at %(gauge)s") % {"gauge": value},
        "factor": lambda value: _("with a factor of %(factor)s between levels") % {"factor": f"{value:g}"},
    }
    return str(words[change["name"]](change["value"]))


def _brief(change: Mapping[str, Any], scores: Any) -> str:
    """Return what a change replaces."""
    if change["type"] == "without_assessor" and change["assessor"] in scores.assessors:
        number = int(scores.assessor_assessments[list(scores.assessors).index(change["assessor"])])
        return _("%(number)s scores") % {"number": number}
    if change["type"] == "score":
        return _("%(before)s to %(after)s") % {"before": change.get("before", "–"), "after": f"{change['score']:g}"}
    return ""


@require_POST
def change(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Take changes to try."""
    panel = get_object_or_404(Panel, pk=pk)
    form = Change(request.POST)
    if not form.is_valid():
        messages.error(request, _("This change makes no sense: scores and places are numbers."))
        return redirect("scenario", pk, at)
    job = looking(panel)
    job.wait(60)
    scores = None if job.result is None else job.result.scores
    with transaction.atomic():
        one = get_object_or_404(Scenario.objects.select_for_update(), pk=at, panel=panel)
        known = with_choices(panel.state(), one.changes)
        new = list(_asked(form.cleaned_data, request.POST, known, scores))
        if len(one.changes) + len(new) > MOST:
            messages.error(request, _("A scenario has up to %(most)s changes.") % {"most": MOST})
        elif new:
            one.changes, one.undone = [*one.changes, *new], []
            one.save()
        else:
            messages.info(request, _("Choose something to change first."))
    return redirect("scenario", pk, at)


def _asked(
    given: Mapping[str, Any], sent: Mapping[str, str], known: Mapping[str, Any], scores: Any
) -> Iterator[dict[str, Any]]:
    """Yield the changes that a form asks for: what is other than it is."""
    if scores is not None and given["without"] in scores.assessors:
        yield {"type": "without_assessor", "assessor": given["without"]}
    object_, between, assessor = given["score_of"].partition(_BETWEEN)
    if between and scores is not None:
        before = _score(scores, object_, assessor)
        pair = {"object": object_, "assessor": assessor}
        if before is not None and given["drop"]:
            yield {"type": "without_score", **pair}
        elif before is not None and given["score"] is not None and abs(given["score"]) < 1e12:
            yield {"type": "score", **pair, "score": given["score"], "before": f"{before:g}"}
    names = ("places", "method", "refinement", "gauge")
    for name in names:
        default = {"method": "cwc", "gauge": "weighted", "refinement": ""}.get(name)
        if (
            name in sent
            and given[name] != known["choices"].get(name, default)
            and (given[name] or name == "refinement")
        ):
            if name == "gauge" and not _is_gauge(given[name], scores):
                continue
            yield {"type": "choice", "name": name, "value": given[name]}
    if (
        given["factor"]
        and scores is not None
        and scores.factor
        and given["factor"] != known["options"].get("factor", scores.factor)
    ):
        yield {"type": "choice", "name": "factor", "value": given["factor"]}


def _is_gauge(name: str, scores: Any) -> bool:
    kind, _colon, label = name.partition(":")
    return name in ("weighted", "zero_sum") or (kind == "anchor" and scores is not None and label in scores.assessors)


def _score(scores: Any, object_: str, assessor: str) -> float | None:
    """Return the score that an assessor gave an object."""
    objects, assessors = list(scores.objects), list(scores.assessors)
    if object_ not in objects or assessor not in assessors:
        return None
    found = (scores.object_index == objects.index(object_)) & (scores.assessor_index == assessors.index(assessor))
    rows = found.nonzero()[0]
    return float(scores.score[rows[0]]) if rows.size else None


@require_POST
def undo(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Take back one change, or the last."""
    panel = get_object_or_404(Panel, pk=pk)
    with transaction.atomic():
        one = get_object_or_404(Scenario.objects.select_for_update(), pk=at, panel=panel)
        which = request.POST.get("which", "")
        place = int(which) if which.isdecimal() and len(which) < 9 else len(one.changes) - 1
        if 0 <= place < len(one.changes):
            gone = one.changes[place]
            one.changes = [*one.changes[:place], *one.changes[place + 1 :]]
            one.undone = [*one.undone, gone]
            one.save()
    return redirect("scenario", pk, at)


@require_POST
def redo(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Do again what was taken back last."""
    panel = get_object_or_404(Panel, pk=pk)
    with transaction.atomic():
        one = get_object_or_404(Scenario.objects.select_for_update(), pk=at, panel=panel)
        if one.undone:
            one.changes, one.undone = [*one.changes, one.undone[-1]], one.undone[:-1]
            one.save()
    return redirect("scenario", pk, at)


@require_POST
def rename(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Give a scenario another name."""
    one, form = get_object_or_404(Scenario, pk=at, panel=pk), Named(request.POST)
    if form.is_valid():
        one.name = form.cleaned_data["name"]
        one.save()
    return redirect("scenario", pk, at)


@require_POST
def delete(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Drop a scenario."""
    get_object_or_404(Scenario, pk=at, panel=pk).delete()
    return redirect("scenarios", pk)


@require_POST
def save(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Make a scenario what stands: scores become corrections, choices are taken, the reason goes into the record."""
    panel, form = get_object_or_404(Panel, pk=pk), Saved(request.POST)
    one = get_object_or_404(Scenario, pk=at, panel=panel)
    if not form.is_valid():
        messages.error(request, _("Say why: the reason goes into the record."))
        return redirect("scenario", pk, at)
    reason = form.cleaned_data["reason"]
    job = looking(panel)
    cells, table = cells_of(scores_of(job), one.changes), job.result.table
    wanted = with_choices(panel.state(), one.changes)
    with transaction.atomic():
        for row, column, text in cells:
            save_correction(panel, row, column, text_at(table, row, column), text, reason)
        panel.choices, panel.options = wanted["choices"], wanted["options"]
        panel.keep("choices", "options")
        panel.say(_("Saved: %(changes)s") % {"changes": "; ".join(in_words(change) for change in one.changes)}, reason)
        one.delete()
    messages.success(request, _("Saved as a new version; the record has the reason."))
    return redirect("decision", pk)
