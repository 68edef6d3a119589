"""What if: changes that are tried beside what stands, each of which can be undone, and saved with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand.models.fit import method_name
from evenhand.web.calibrating import METHODS, REFINEMENTS, Answer, answering, choices_for, in_brief
from evenhand.web.forms import Change, Named, Saved
from evenhand.web.models import Panel, Scenario
from evenhand.web.pages import page, when_done
from evenhand.web.reading import looking, scores_of, text_at
from evenhand.web.settling import leave_out
from evenhand.web.trying import Tried, cells_of, changes_of, trying, with_choices
from evenhand.web.views.decision import shown
from evenhand.web.views.reading import save_correction
from evenhand.web.ways import BETWEEN
from evenhand.words import called, phrase, quoted, sentence

MOST: Final = 200
"""Changes that a scenario may have."""

_TRIALS: Final = 6
"""Assessors of one alert whose absence is offered as a trial."""

_REASONS: Final = 3
"""Statuses that hang on an assessor, which are named where that is offered."""

_NAME: Final = 200


@require_GET
def scenarios(request: HttpRequest, pk: int) -> HttpResponse:
    """Show all scenarios side by side; with none yet, begin one."""
    panel = get_object_or_404(Panel, pk=pk)
    found = list(panel.scenarios.all())

    def show(answer: Answer) -> HttpResponse:
        rows = []
        for one in found:
            job = trying(panel, one)
            job.wait(5)
            tried = job.result if job.error is None else None
            words = [in_words(change) for change in one.changes]
            is_said = one.name == _named(one.changes)  # by its name
            rows.append({"scenario": one, "tried": tried, "words": [] if is_said else words, "is_empty": not words})
        known = [one.changes for one in found]
        trials = [one for one in trials_of(panel, answer) if one.changes not in known]
        return page(request, "scenarios.html", panel, rows=rows, trials=trials, **shown(panel, answer))

    return when_done(request, answering(panel), show, panel)


@require_POST
def begin(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin a scenario: empty, a copy of another, or one that is worth a try, such as ``without:Kaur``."""
    panel = get_object_or_404(Panel, pk=pk)
    copied, key = request.POST.get("copy", ""), request.POST.get("trial", "")
    known = panel.scenarios.filter(pk=int(copied)).first() if copied.isdecimal() and len(copied) < 18 else None
    changes = [] if known is None else known.changes
    if key:
        answer: Answer = answering(panel).outcome()
        kind, _colon, who = key.partition(":")
        ready = {one.key: one.changes for one in trials_of(panel, answer)}
        if kind == "without" and who in answer.found.combined.panel.assessors:
            changes = _without(who)
        changes = ready.get(key, changes)
    number = panel.scenarios.count() + 1
    name = _named(changes) if key and changes else _("Scenario %(number)s") % {"number": number}
    made = Scenario.objects.create(panel=panel, name=name, changes=changes)
    return redirect("scenario", pk, made.pk)


@dataclass(frozen=True)
class Trial:
    """Changes that are worth a try, and why."""

    key: str
    changes: list[dict[str, Any]]
    why: str

    @property
    def name(self) -> str:
        """What is tried, in a few words."""
        return _named(self.changes)


def trials_of(panel: Panel, answer: Answer) -> list[Trial]:
    """Return what is worth a try: first what the alerts speak of, then what is in any panel."""
    scores, found = answer.found.combined.panel, []
    for alert in answer.alerts:
        if alert.kind == "hangs_on_assessor":
            said: dict[str, list[str]] = {}
            for who, why in zip(alert.assessors, alert.reasons, strict=True):
                said.setdefault(who, []).append(why)
            for who, reasons in list(said.items())[:_TRIALS]:
                found.append(Trial(f"without:{who}", _without(who), " ".join(reasons[:_REASONS])))
        elif alert.kind == "far_score" and alert.level == "check":
            for at, (lead, _rest) in zip(alert.scores, alert.lines, strict=False):
                object_, who = scores.objects[scores.object_index[at]], scores.assessors[scores.assessor_index[at]]
                changes = [{"type": "without_score", "object": str(object_), "assessor": str(who)}]
                found.append(Trial(f"score:{BETWEEN.join((str(object_), str(who)))}", changes, lead))
        elif alert.kind == "other_method":
            lead = next((lead for lead, _rest in alert.lines), "") if alert.level == "check" else ""
            which = phrase("It is {method}", method=method_name(alert.method, confidence=scores.confidence))
            why = f"{alert.headline}. {which}. {lead}".rstrip()
            found.append(Trial("method", _choices(panel, choices_for(alert.method) or {}), why))
    places = panel.choices.get("places")
    found += [
        Trial(
            "outliers", _choices(panel, {"refinement": "student"}), _("In case a score or two is not to be trusted.")
        ),
        Trial(
            "averages",
            _choices(panel, {"method": "sa", "refinement": ""}),
            _("Shows what calibration does to the decision."),
        ),
    ]
    if places and places < scores.n_objects:
        found.append(Trial("places", _choices(panel, {"places": places + 1}), _("Whom one more place would let in.")))
    once = {repr(one.changes): one for one in reversed(found) if one.changes}
    return list(once.values())[::-1]


def _without(who: str) -> list[dict[str, Any]]:
    return [{"type": "without_assessor", "assessor": who}]


def _choices(panel: Panel, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the changes that lead from what is chosen to other choices."""
    default = {"method": "cwc", "refinement": ""}
    return [
        {"type": "choice", "name": name, "value": value}
        for name, value in wanted.items()
        if panel.choices.get(name, default.get(name)) != value
    ]


def _named(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return changes as the name of a scenario."""
    brief = [_assumed(one["value"]) if one.get("name") == "refinement" else in_words(one) for one in changes]
    return sentence(", ".join(brief))[:_NAME]


@require_GET
def scenario(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Show what a scenario would change."""
    panel = get_object_or_404(Panel, pk=pk)
    one = get_object_or_404(Scenario, pk=at, panel=panel)

    def show(tried: Tried) -> HttpResponse:
        scores, known = tried.answer.found.combined.panel, with_choices(panel.state(), one.changes)
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
            else tried.difference.headline([in_words(change) for change in one.changes]),
            people=sorted(scores.assessors, key=_in_menu),
            gauges=["weighted", "zero_sum", *(f"anchor:{name}" for name in scores.assessors)],
            pairs=sorted(_scores_in(scores), key=lambda pair: _in_menu(pair[1]))
            if scores.n_assessments <= 2000
            else [],
            choices=known["choices"],
            factor=known["options"].get("factor") or scores.factor,
            others=panel.scenarios.exclude(pk=one.pk),
            **shown(panel, tried.answer),
        )

    return when_done(request, trying(panel, one), show, panel)


def _scores_in(scores: Any) -> Iterator[tuple[str, str]]:
    """Yield each score for a menu: what a form sends, and what people read."""
    for row, (o, a) in enumerate(zip(scores.object_index.tolist(), scores.assessor_index.tolist(), strict=True)):
        label, who = str(scores.objects[o]), str(scores.assessors[a])
        told = {
            "object": called(label, scores.noun, is_bare=True),
            "who": called(who, "assessor", is_bare=True),
            "score": f"{scores.score[row]:g}",
        }
        yield BETWEEN.join((label, who)), _("%(object)s by %(who)s: %(score)s") % told


def _in_menu(label: object) -> list[tuple[int, int, str]]:
    """Return what labels are sorted by in a menu: their words, and their numbers as numbers."""
    parts = re.split(r"(\d+)", str(label).casefold())
    return [(int(part.isdecimal()), int(part) if part.isdecimal() else 0, part) for part in parts]


def in_words(change: Mapping[str, Any]) -> str:
    """Return a change as it stands in a sentence."""
    kind = change["type"]
    if kind == "without_assessor":
        return _("without %(who)s") % {"who": called(change["assessor"], "assessor")}
    who, label = (quoted(change.get(name, "")) for name in ("assessor", "object"))
    pair = {"object": label, "who": who, "score": f"{change.get('score', 0):g}"}
    if kind == "without_score":
        return _("without the score of %(who)s for %(object)s") % pair
    if kind == "score":
        return _("with %(score)s from %(who)s for %(object)s") % pair
    words = {
        "places": lambda value: _("with %(number)s places") % {"number": value},
        "method": lambda value: _("by %(method)s") % {"method": _brief_method(value)},
        "refinement": lambda value: (
            _("assuming that %(words)s") % {"words": _assumed(value)} if value else _assumed("")
        ),
        "gauge": lambda value: _("with zero bias at %(gauge)s") % {"gauge": value},
        "factor": lambda value: _("with a factor of %(factor)s between levels") % {"factor": f"{value:g}"},
    }
    return str(words[change["name"]](change["value"]))


def _assumed(name: str) -> str:
    """Return a further assumption in words, without what only statisticians call it."""
    return in_brief(REFINEMENTS[name][0])[0] if name else _("without further assumption")


def _brief_method(name: str) -> str:
    """Return what a method is called, without what it does."""
    return in_brief(METHODS.get(name, name))[0]


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
            _set(one, [*one.changes, *new], [])
        else:
            messages.info(request, _("Choose something to change first."))
    return redirect("scenario", pk, at)


def _set(one: Scenario, changes: list[dict[str, Any]], undone: list[dict[str, Any]]) -> None:
    """Keep the changes of a scenario; where its name is what it changed, that follows."""
    if one.name == _named(one.changes) and changes:
        one.name = _named(changes)
    one.changes, one.undone = changes, undone
    one.save()


def _asked(
    given: Mapping[str, Any], sent: Mapping[str, str], known: Mapping[str, Any], scores: Any
) -> Iterator[dict[str, Any]]:
    """Yield the changes that a form asks for: what is other than it is."""
    if scores is not None and given["without"] in scores.assessors:
        yield {"type": "without_assessor", "assessor": given["without"]}
    object_, between, assessor = given["score_of"].partition(BETWEEN)
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
            _set(one, [*one.changes[:place], *one.changes[place + 1 :]], [*one.undone, gone])
    return redirect("scenario", pk, at)


@require_POST
def redo(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Do again what was taken back last."""
    panel = get_object_or_404(Panel, pk=pk)
    with transaction.atomic():
        one = get_object_or_404(Scenario.objects.select_for_update(), pk=at, panel=panel)
        if one.undone:
            _set(one, [*one.changes, one.undone[-1]], one.undone[:-1])
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
    scores, table = scores_of(job), job.result.table
    cells = cells_of(scores, one.changes)
    wanted = with_choices(panel.state(), one.changes)
    with transaction.atomic():
        for row, column, text in cells:
            save_correction(panel, row, column, text_at(table, row, column), text, reason, scores)
        for who in changes_of(one.changes)["without"]:
            leave_out(panel, scores, table, [who], reason, kind="assessor", name=who)
        panel.choices, panel.options = wanted["choices"], wanted["options"]
        panel.keep("choices", "options")
        panel.say(_("Saved: %(changes)s") % {"changes": "; ".join(in_words(change) for change in one.changes)}, reason)
        one.delete()
    messages.success(request, _("Saved as a new version; the record has the reason."))
    return redirect("decision", pk)
