"""The decision: alerts first, then who is in, open and out; each object, the assessors, and what it rests on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand.answers.alert import LARGEST
from evenhand.answers.alerts import joins, provisional
from evenhand.models.additive import METHODS as PLAIN
from evenhand.models.fit import method_name
from evenhand.reports import blocks
from evenhand.reports.drawing import axis
from evenhand.solve.connectivity import assessor_graph
from evenhand.web.calibrating import METHODS, REFINEMENTS, Answer, answering, choices_for, in_brief, methods_for
from evenhand.web.forms import Chosen, Places, Saved
from evenhand.web.jobs import SOON, jobs
from evenhand.web.models import Panel, mark
from evenhand.web.pages import page, when_done
from evenhand.web.reading import Looked, cells_in, looking
from evenhand.web.settling import by_hand, lines
from evenhand.web.views.groups import groups_of, siblings
from evenhand.web.views.reading import settled_cell, slips_of
from evenhand.web.ways import Way, finding_of, next_steps, of_object, remedy, stop, until, ways_on, with_links
from evenhand.words import called, quoted, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenhand.answers.alert import Alert
    from evenhand.answers.decision import Decision, Standing
    from evenhand.models.fit import Fit

_MARKED: Final = 20
"""Of more than about so many who are open, those nearest to the line are shown to choose from, and the rest folded."""
_FIRST: Final = ("far_score", "assumed", "other_method")
"""Checks that come before all others, as the next steps have them: what is settled there may settle the rest."""
_CIRCLE: Final = 15
"""Of up to this many assessors a circle shows who shares work with whom; of more, a sentence."""
_TWO_LINES: Final = 180
"""Signs that two lines of text hold."""
_SEARCHED: Final = 20
"""From this many objects on, the table has a field to search in."""


def shown(
    panel: Panel, found: Answer, objects: Sequence[Standing] = (), unread: Sequence[tuple[int, str]] | None = None
) -> dict[str, Any]:
    """Return what every page of a result has; ``unread`` are cells that are no scores, where a page looks at them."""
    answer = found.with_choice(panel.choice)
    known = answer.known(panel.stands, unread=panel.known.get("unread", 0) if unread is None else len(unread))
    if panel.known != known:
        Panel.objects.filter(pk=panel.pk).update(known=known)  # without a new date: nothing was changed
        panel.known = known
    laid_out = blocks.context(answer.fit, answer.decision, answer.standings, objects)
    return laid_out | {
        "answer": answer,
        "unread": unread or [],
        "fit": answer.fit,
        "anchors": _links("object", panel, answer.fit.panel.objects),
        "assessor_links": _links("assessor", panel, answer.fit.panel.assessors),
        "method_name": partial(method_name, confidence=answer.fit.panel.confidence),
        "methods": {name: in_brief(words) for name, words in methods_for(answer.fit.panel, panel.choices).items()},
        "refinements": {name: in_brief(words) for name, (words, _assumed) in REFINEMENTS.items()},
        "stops": [stop(one, answer) for one in answer.stops],
        "checks": [
            replace(one, remedy=remedy(one))
            for one in sorted(answer.alerts, key=lambda one: one.kind not in _FIRST)
            if one.level == "check"
        ],
        "is_provisional": bool(answer.stops),
        "without": provisional(answer.stops),
        "until": until(answer),
        "has_search": len(answer.standings) > _SEARCHED,
    }


def _shared(fit: Fit) -> str:
    """Return who shares work with whom, in a sentence: with how many others, and who with fewest."""
    scores = fit.panel
    if scores.n_assessors < 2 or scores.n_assessments > LARGEST:
        return ""
    others = np.diff(assessor_graph(scores).indptr)
    least, most, at = int(others.min()), int(others.max()), int(others.argmin())
    if least == most:
        words = _("Each assessor shares work with %(most)s others.") % {"most": most}
    else:
        told = {"least": least, "most": most, "who": called(scores.assessors[at], "assessor")}
        words = _("Each assessor shares work with %(least)s to %(most)s others, %(who)s with the fewest.") % told
    if fit.connectivity.bridges.size:
        return words + " " + _("Some comparisons hang on a single score.")
    return words + " " + _("No comparison hangs on a single score.")


def _links(name: str, panel: Panel, labels: Iterable[str]) -> dict[str, str]:
    """Return the address of each object or assessor; that of the first is looked up, as there may be thousands."""
    first = reverse(name, args=[panel.pk, 0]).removesuffix("0")
    return {label: f"{first}{at}" for at, label in enumerate(labels)}


def _slips(answer: Answer) -> dict[int, float | None]:
    """Return the scores that must be checked first, each with what was probably meant."""
    scores, found = answer.found.combined.panel, {}
    for alert in answer.stops:
        guessed = [one.fit.panel for one in alert.outcomes if one.fit.panel.n_assessments == scores.n_assessments]
        for at in alert.scores:
            meant = (float(one.score[at]) for one in guessed if one.score[at] != scores.score[at])
            found[at] = next(meant, None)
    return found


@require_GET
def decision(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the decision, or the order by value where nobody has said how many places there are."""
    panel = get_object_or_404(Panel, pk=pk)

    return _page_of(request, panel, None)


def _page_of(request: HttpRequest, panel: Panel, marked: QueryDict | None, refused: str = "") -> HttpResponse:
    """Return the page of a decision; ``marked`` is a choice among those who are open that was ``refused``."""

    def show(answer: Answer) -> HttpResponse:
        looked: Looked | None = looking(panel).result
        unread = [] if looked is None else list(cells_in(looked.problems, looked.table).values())
        settled = by_hand(panel)
        context = shown(panel, answer, unread=unread) | {"settled": settled}
        context |= {"changes": lines(settled, answer.found.combined.panel), "siblings": siblings(panel, settled)}
        groups = groups_of(panel, answer)
        context |= _alerts(panel, answer, context) | {
            "groups": groups,
            "joining": joins(answer.found.combined) if groups else [],
        }
        context |= {"slips": slips_of(looked, _slips(answer))} | _picks(answer)
        context |= {"refused": refused, "settled_cell": settled_cell(panel, request.GET)}
        context |= {"switched": _switched(panel, answer, request.GET.dict())}
        context |= {"marked": marked, "is_outdated": bool(panel.choice) and not answer.fits_choice(panel.choice)}
        return page(request, "decision.html", panel, **context)

    return when_done(request, answering(panel), show, panel)


def _alerts(panel: Panel, answer: Answer, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return alerts in which names lead to their pages, and checks with the ways on from them."""
    addresses = context["assessor_links"] | context["anchors"]
    notes = [with_links(one, addresses) for one in answer.alerts if one.level == "note"]
    checks = [_check(one, one, panel, answer, addresses) for one in context["checks"]]
    stops = [with_links(one, addresses) for one in context["stops"]]
    steps = next_steps(context["answer"], context["anchors"], panel.stands)
    return {"stops": stops, "alerted": checks, "remarks": notes, "steps": steps, "rival": _rival(answer, panel.stands)}


def _check(
    whole: Alert, shown: Alert, panel: Panel, answer: Answer, addresses: Mapping[str, str]
) -> tuple[Alert, list[Way], str, str | None]:
    """Return what is shown of a check, with the ways on from it, its mark and, where it stands, why."""
    at = answer.mark_of(whole)
    return with_links(shown, addresses), ways_on(shown, panel, answer, addresses), at, panel.stands.get(at)


def _rival(answer: Answer, stands: Mapping[str, str]) -> Decision | None:
    """Return what the method that predicts better decides, where it leaves other places open and none is settled on."""
    made = [one.instead for one in answer.checks(stands) if one.instead is not None]
    return next((one for one in made if answer.decision is not None and one.left != answer.decision.left), None)


def _picks(answer: Answer) -> dict[str, Any]:
    """Return those who are open, of whom the panel may choose: those nearest to the line, and who is above and below.

    ``near_picks`` is which of the parts that have anybody is the one about the line.
    """
    if answer.decision is None:
        return {}
    places = answer.decision.places
    every = [one for one in answer.decision.standings if one.status == "undecided"]
    nearest = sorted(every, key=lambda one: abs(one.place - places - 0.5))
    kept = every if len(every) <= _MARKED + 4 else sorted(nearest[:_MARKED], key=lambda one: one.place)
    first = every.index(kept[0]) if kept else 0
    picks = (every[:first], kept, every[first + len(kept) :])
    return {"picks": picks, "near_picks": int(bool(picks[0]))}


@require_POST
@transaction.atomic
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """Take how many places there are, and how values are found."""
    panel, form = get_object_or_404(Panel, pk=pk), Places(request.POST)
    if not form.is_valid():
        messages.error(request, _("The number of places is a whole number from 1 on."))
        return redirect("decision", pk)
    given = {name: form.cleaned_data[name] for name in request.POST if name in form.cleaned_data}
    choices, before = _with(panel.choices, given), dict(panel.choices)
    if choices != before:
        panel.choices = choices
        panel.keep("choices")
        looked: Looked | None = looking(panel).result
        scores = None if looked is None else looked.scores
        offered = METHODS if scores is None else methods_for(scores, choices)
        panel.say("; ".join(_set_to(name, value, offered) for name, value in given.items()), _advice(panel, before))
    if _method_of(choices) != _method_of(before):
        was = {name: before.get(name, "") for name in ("method", "refinement")}
        return redirect(f"{reverse('decision', args=[pk])}?{urlencode(was)}")
    return redirect("decision", pk)


def _advice(panel: Panel, before: Mapping[str, Any]) -> str:
    """Return why the method that is used now was advised, where it was: a reason for the record."""
    if _method_of(panel.choices) == _method_of(before):
        return ""
    job = answering(panel, dict(before))
    if not job.wait(0) or job.error is not None:  # nobody saw the advice
        return ""
    found: Answer = job.result
    told = next((one for one in found.alerts if one.kind == "other_method" and one.level == "check"), None)
    wanted = None if told is None else choices_for(told.method)
    if told is None or wanted is None or _method_of(_with(before, wanted)) != _method_of(panel.choices):
        return ""
    return next((lead for lead, _rest in told.lines[::-1] if lead), "")


def _with(choices: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices with others in their place; what is given as empty is as by default."""
    return {name: value for name, value in {**choices, **given}.items() if value not in (None, "")}


def _method_of(choices: Mapping[str, Any]) -> tuple[str, str]:
    return choices.get("method", "cwc"), choices.get("refinement", "")


def _switched(panel: Panel, answer: Answer, given: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what another method has changed, where the address says by which the page was found before."""
    form = Places(given)
    if "method" not in given or not form.is_valid():
        return None
    was = {name: form.cleaned_data[name] for name in ("method", "refinement")}
    before = _with(panel.choices, was)
    if _method_of(before) == _method_of(panel.choices):
        return None
    job, told = answering(panel, before), {"was": was, "leaving": None, "entering": None}
    old: Answer | None = job.result if job.wait(SOON) and job.error is None else None  # as a rule it is there
    if old is None or old.decision is None or answer.decision is None or old.stops or answer.stops:
        return told
    then, now = old.decision.inside, answer.decision.inside
    leaving, entering = [one for one in then if one not in now], [one for one in now if one not in then]
    return told | {"leaving": leaving, "entering": entering}


def _set_to(name: str, value: Any, methods: Mapping[str, Any]) -> str:
    """Return a choice as it stands in the record; methods are called as the menu calls them."""
    if name == "places":
        return _("Places set to %(places)s") % {"places": value}
    if name == "method":
        return _("Method set to %(method)s") % {"method": in_brief(methods.get(value or "cwc", value))[0]}
    if name == "refinement":
        return _("Further assumption set to %(words)s") % {"words": REFINEMENTS[value][0]}
    return _("Zero bias set to %(gauge)s") % {"gauge": value}


@require_POST
def choice(request: HttpRequest, pk: int) -> HttpResponse:
    """Take whom the panel gives the places that the scores leave open, or take that back."""
    panel = get_object_or_404(Panel, pk=pk)
    if "undo" in request.POST:
        with transaction.atomic():
            if panel.choice:
                panel.choice = {}
                panel.keep("choice")
                panel.say(_("The choice of the panel was taken back"), request.POST.get("reason", ""))
        return redirect("decision", pk)
    answer: Answer = answering(panel).outcome()
    made, form = answer.decision, Chosen(request.POST)
    if made is None or answer.stops:
        messages.error(request, _("Nothing can be chosen before the decision stands."))
        return redirect("decision", pk)
    labels = request.POST.getlist("objects")
    chosen = [label for label in made.undecided if label in labels]
    if not form.is_valid():
        refused = _("Say why, and who decided: both go into the record. Nothing was changed.")
    elif not 0 < len(chosen) <= made.left or len(chosen) < len(set(labels)):
        said = _("Mark up to %(left)s of those who are open; marked are %(count)s. Nothing was changed.")
        refused = said % {"left": made.left, "count": len(chosen)}
    else:
        kept = {"objects": chosen, **form.cleaned_data, "open": sorted(made.undecided), "left": made.left}
        with transaction.atomic():
            panel.choice = kept
            panel.keep("choice")
            panel.say(
                _("Chosen by the panel: %(who)s. Decided by %(by)s")
                % {"who": ", ".join(map(quoted, chosen)), "by": kept["by"]},
                kept["reason"],
            )
        return redirect("decision", pk)
    messages.error(request, refused)
    response = _page_of(request, panel, request.POST, refused)
    response.headers["HX-Push-Url"], response.headers["HX-Reswap"] = "false", "innerHTML show:#choice:top"
    return response


@require_POST
def look(request: HttpRequest, pk: int) -> HttpResponse:
    """Take why a check stands as it is, or take that back."""
    panel, form = get_object_or_404(Panel, pk=pk), Saved(request.POST)
    answer: Answer = answering(panel).outcome()
    at = request.POST.get("mark", "")
    found = next((one for one in answer.alerts if one.level == "check" and answer.mark_of(one) == at), None)
    if found is None:
        messages.error(request, _("That check is not there any more. Nothing was changed."))
        return redirect("decision", pk)
    back, objects = request.POST.get("back", ""), answer.fit.panel.n_objects
    place = redirect(f"{reverse('decision', args=[pk])}#check-{found.kind}")
    if back.isdecimal() and len(back) < 10 and int(back) < objects:
        place = redirect("object", pk, int(back))
    if "undo" in request.POST:
        kept, words = {one: why for one, why in panel.stands.items() if one != at}, _("Open again: %(headline)s")
        reason = ""
    elif not form.is_valid():
        messages.error(request, _("Say why: it goes into the record. Nothing was changed."))
        return place
    else:
        reason = form.cleaned_data["reason"]
        kept = panel.stands | {at: reason}
        is_method = found.kind == "other_method"
        words = _("Method kept: %(headline)s") if is_method else _("Looked at, stands: %(headline)s")
    if kept != panel.stands:
        with transaction.atomic():
            panel.stands = kept
            panel.keep("stands")
            panel.say(words % {"headline": found.headline}, reason)
    return place


@require_GET
def one_object(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Show one object: where it stands, why, its scores, and what would change its status."""
    panel = get_object_or_404(Panel, pk=pk)

    def show(answer: Answer) -> HttpResponse:
        labels = answer.fit.panel.objects
        if at >= len(labels):
            raise Http404
        order = [one.object for one in answer.standings]
        place = order.index(str(labels[at]))
        context = shown(panel, answer, answer.standings[place : place + 1])
        standing = answer.standings[place]
        near = [answer.standings[one] if 0 <= one < len(order) else None for one in (place - 1, place + 1)]
        about = [(one, said) for one in context["checks"] if (said := of_object(one, standing, answer)) is not None]
        addresses = context["assessor_links"] | {
            label: to for label, to in context["anchors"].items() if label != order[place]
        }
        finding = finding_of(standing, [said for _whole, said in about], answer.fit.panel.noun)
        one = replace(context["objects"][0], finding=finding or context["objects"][0].finding)
        context["alerted"] = [(whole, *_check(whole, said, panel, answer, addresses)) for whole, said in about]
        return page(request, "object.html", panel, one=one, near=near, back=str(at), **context)

    return when_done(request, answering(panel), show, panel)


@require_GET
def assessors(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the assessors from generous to strict, and how each fits in with the others."""
    panel = get_object_or_404(Panel, pk=pk)

    def show(answer: Answer) -> HttpResponse:
        from evenhand.answers.reliability import verdicts_words
        from evenhand.answers.verdicts import READ_AS

        told, context = _reliability(answer), shown(panel, answer)
        order = {one.assessor: at for at, one in enumerate(context["assessors"])}
        if told is not None:  # as in the table above
            told["assessors"].sort(key=lambda row: order.get(row["assessor"], 0))
            luck = [row["estimate"] for row in told["shares"] if row["part"] == "bias"]
            given = [(row["assessor"], row["verdict"]) for row in told["assessors"]]
            context |= {"luck": luck[0] if luck else None, "fitting": _by_verdict(told["assessors"])}
            fits = verdicts_words(given, is_title=True, is_grouped=not answer.fit.connectivity.is_connected)
            context |= {"fits_words": fits.rstrip(".") if given else ""}
        return page(request, "assessors.html", panel, reliability=told, verdicts=READ_AS, **context)

    return when_done(request, answering(panel), show, panel)


def _by_verdict(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, list[str], list[str]]]:
    """Return each verdict that was given, what it means, and on whom: two lines of names, and who else.

    First come those that speak against somebody.
    """
    means = verdict_means()
    who = {verdict: [row["assessor"] for row in rows if row["verdict"] == verdict] for verdict in means}
    found = []
    for verdict, words in means.items():
        labels = who[verdict]
        room = _TWO_LINES - len(words)
        kept = int(np.searchsorted(np.cumsum([len(label) + 2 for label in labels]), max(room, _TWO_LINES // 2)))
        kept = len(labels) if kept >= len(labels) - 1 else max(kept, 1)  # who is alone is not folded
        if labels:
            found.append((verdict, words, labels[:kept], labels[kept:]))
    return found


def verdict_means() -> dict[str, str]:
    """Return what is meant by each verdict on an assessor."""
    return {
        "erratic": _(
            "Their scores differ from the others’ more than expected, or hardly follow them. By chance this happens "
            "to a few good assessors, too."
        ),
        "other ranking": _("Their scores do not rise with what the others say of the same work."),
        "bunched": _("Their scores lie closer together than the work they read."),
        "too few scores to tell": _("Too few scores, or too weak agreement with the others, to tell."),
        "consistent": _("Their scores rise with what the others say of the same work, beyond chance."),
    }


def _reliability(answer: Answer) -> dict[str, Any] | None:
    """Return how good the panel is and how each assessor fits in, of the fit that the page shows; None without it."""
    from evenhand.answers.reliability import LARGEST
    from evenhand.errors import EvenhandError
    from evenhand.reports.summary import summarise_reliability

    if answer.fit.panel.n_assessments > LARGEST:
        return None
    try:
        return summarise_reliability(answer.fit)
    except EvenhandError:
        return None


@require_GET
def one_assessor(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Show one assessor: bias, and each score beside what it is expected to be, the furthest off first.

    Scores that could not be nearer, as the scale ends there, come last.
    """
    panel = get_object_or_404(Panel, pk=pk)

    def show(answer: Answer) -> HttpResponse:
        from evenhand.answers.verdicts import READ_AS

        scores = answer.fit.panel
        if at >= len(scores.assessors):
            raise Http404
        label = str(scores.assessors[at])
        context = shown(panel, answer)
        one = next((one for one in context["assessors"] if one.assessor == label), None)
        said, fitted = blocks.declared_words(scores), answer.fit.fitted
        rows = [
            {
                "object": str(scores.objects[scores.object_index[row]]),
                "score": float(scores.score[row]),
                "declared": said[row],
                "expected": float(fitted[row]),
                "left": float(scores.score[row] - fitted[row]),
            }
            for row in (scores.assessor_index == at).nonzero()[0].tolist()
        ]
        told = _reliability(answer)
        fits = {} if told is None else {row["assessor"]: row["verdict"] for row in told["assessors"]}
        ends = float(scores.score.min()), float(scores.score.max())
        for row in rows:  # nobody can give more than the scale has
            is_off = round(float(row["left"]), context["table"].digits) != 0
            row["at_end"] = is_off and (row["score"], row["left"] > 0) in ((ends[0], True), (ends[1], False))
        rows.sort(key=lambda row: (row["at_end"], -abs(row["left"])))
        furthest = None if not rows or rows[0]["at_end"] else rows[0]
        reach = 0.0 if furthest is None else max(abs(row["left"]) for row in rows)
        context |= {"furthest": furthest, "verdict": READ_AS.get(fits.get(label, ""), fits.get(label))}
        context["verdict_means"] = verdict_means().get(fits.get(label, ""))
        held = [one for one in answer.alerts if one.kind == "hangs_on_assessor"]
        pairs = [pair for one in held for pair in zip(one.objects, one.assessors, strict=True)]
        context["held"] = {one.object: one.status for one in answer.standings if (one.object, label) in pairs}
        context |= {"axis": axis([reach], about=0.0) if reach > 0 else None}
        return page(request, "assessor.html", panel, label=label, one=one, rows=rows, **context)

    return when_done(request, answering(panel), show, panel)


@require_GET
def evidence(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what the decision rests on: who shares work with whom, and what other methods say."""
    panel = get_object_or_404(Panel, pk=pk)
    base = answering(panel)

    @translated(None)
    def work() -> dict[str, Any]:
        from evenhand.answers.compare import compare
        from evenhand.answers.support import how_supported, supported
        from evenhand.reports import charts
        from evenhand.reports.page import by_error
        from evenhand.reports.summary import summarise_comparison

        answer: Answer = base.outcome()
        scores = answer.fit.panel
        compared = None
        if answer.fit.model.why_not("refit") is None and scores.criterion is None:
            compared = compare(scores, per_component=answer.fit.per_component)
        graph = charts.assessor_graph(answer.fit) if scores.n_assessors <= _CIRCLE else None
        comparison = None if compared is None else summarise_comparison(compared, answer.alerts)
        told = None if compared is None else supported(answer.fit, compared)
        how = "clear" if compared is None else how_supported(answer.fit, compared)
        return {"answer": answer, "graph": graph, "told": told, "how": how, "by_error": by_error(comparison)}

    def show(found: dict[str, Any]) -> HttpResponse:
        context = shown(panel, found["answer"])
        from evenhand.answers.support import SAME_WITHOUT, method_means

        told, fit = found["told"], found["answer"].fit
        advised, used = None if told is None else told.method, fit.method
        rows = {row["method"]: row for row in found["by_error"]}
        if fit.panel.confidence == "none":  # what differs by confidence alone is the same
            rows = {
                name: row
                for name, row in rows.items()
                if name in (advised, used) or name.partition("+")[0] not in SAME_WITHOUT
            }
        best = next(iter(rows), None)
        first = [row for name, row in rows.items() if name in (advised, used, best, *PLAIN)]
        further = {
            "supported": choices_for(advised) if advised and advised != used else None,
            "other": next((one for one in found["answer"].alerts if one.kind == "other_method"), None),
            "links": _shared(fit) if found["graph"] is None else "",
            "means": method_means(advised, fit.panel.confidence) if advised else "",
            "errors": {name: row["loo_rmse"] for name, row in rows.items() if row["loo_rmse"] is not None},
            "first": first,
            "rest": [row for row in rows.values() if row not in first],
            "best": best,
            "matrix": blocks.matrix_of(found["answer"].fit, found["answer"].standings, found["answer"].decision),
            "advised": advised,
            "how": found["how"],
        }
        return page(request, "evidence.html", panel, **context | found | further)

    return when_done(request, jobs.start(f"evidence-{mark(panel.state())}", "comparing", work), show, panel)
