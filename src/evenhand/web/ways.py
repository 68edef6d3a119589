"""The way on from an alert: names in it that lead to their pages, and what the pages do about it at a click."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from django.urls import reverse
from django.utils.translation import gettext as _
from markupsafe import Markup, escape

from evenhand.answers.alerts import joins
from evenhand.answers.hanging import headline
from evenhand.look import status_word
from evenhand.models.additive import CWC, IBA
from evenhand.models.additive import METHODS as PLAIN
from evenhand.web.calibrating import Answer, choices_for
from evenhand.words import called, called_some, chance, listed, name_some, quoted, sentence

if TYPE_CHECKING:
    from evenhand.answers.alert import Alert
    from evenhand.answers.decision import Standing
    from evenhand.web.models import Panel

BETWEEN: Final = "\x1f"
"""Stands between an object and an assessor where a form sends both."""

_FEW: Final = 2
"""Names, or trials, of one alert that have a link or a button of their own; more would hide the decision below."""

_STEPS: Final = 4
"""Objects to look at that the next steps name; of more they lead to the alert."""

_MANY: Final = 3_000
"""Names up to which a sentence is searched for all of them."""


@dataclass(frozen=True)
class Way:
    """A page to go to or, with fields, a form that does something at a click."""

    words: str
    address: str
    fields: Mapping[str, str] = field(default_factory=dict)


def with_links(alert: Alert, addresses: Mapping[str, str]) -> Alert:
    """Return an alert in whose lines each name that has an address leads there; bare numbers are no names."""
    named = {name for name in addresses if not name.isdigit()} if len(addresses) <= _MANY else set()
    named |= {name for name in (*alert.objects, *alert.assessors) if name in addresses and not name.isdigit()}
    if not named:
        return alert
    names = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, sorted(named, key=len, reverse=True)))})(?!\w)")
    link = Markup('<a href="{}">{}</a>').format

    def linked(text: str) -> Markup:
        parts = names.split(text)  # what a name stands between, and the name, by turns
        return Markup("").join(link(addresses[part], part) if at % 2 else escape(part) for at, part in enumerate(parts))

    return replace(alert, lines=tuple((linked(lead), linked(rest)) for lead, rest in alert.lines))


def of_object(alert: Alert, standing: Standing, answer: Answer) -> Alert | None:
    """Return what an alert says of one object, and the scores and the assessor it is about; None for nothing."""
    label = standing.object
    if alert.kind == "hangs_on_assessor" and label in alert.objects:
        at = alert.objects.index(label)
        said = next((line for line in alert.lines if line[0] == alert.reasons[at]), (alert.reasons[at], ""))
        others = [one for one in alert.objects if one != label]
        names = called_some(others, answer.fit.panel.noun)
        also = ((sentence(_("The same check is also of %(names)s.") % {"names": names}), ""),) if others else ()
        return replace(
            alert,
            headline=headline(1, answer.fit.panel.noun),
            each=(),
            lines=(said, *also),
            assessors=alert.assessors[at : at + 1],
            reasons=alert.reasons[at : at + 1],
        )
    if alert.kind == "other_method" and alert.instead is not None:
        then = next(one for one in alert.instead.standings if one.object == label)
        crosses = (then.place <= alert.instead.places) != (standing.place <= alert.instead.places)
        if label not in alert.objects and not crosses:
            return None
        told = {"object": called(label, answer.fit.panel.noun), "status": status_word(str(then.status))}
        told |= {"now": f"{then.place:,}", "before": f"{standing.place:,}"}
        line = _("By that method %(object)s is %(status)s, at rank %(now)s instead of %(before)s.") % told
        if then.place == standing.place:
            line = _("By that method %(object)s is %(status)s.") % told
        return replace(alert, lines=((sentence(line), ""),), each=())
    if alert.kind == "far_score" and alert.scores:
        cases = [
            (at, line) for at, line in zip(alert.scores, alert.lines, strict=False) if _giver(answer, at)[1] == label
        ]
        return (
            replace(alert, scores=tuple(at for at, _line in cases), lines=tuple(line for _at, line in cases))
            if cases
            else None
        )
    return alert if alert.kind in ("thin", "tie") and label in alert.objects else None


def finding_of(standing: Standing, alerts: Sequence[Alert], noun: str) -> str:
    """Return the title of an object whose status is another by a better method; else nothing."""
    is_other = any(
        one.level == "check" and one.kind == "other_method" and standing.object in one.objects for one in alerts
    )
    if not is_other or standing.status not in ("in", "out") or standing.chance is None:
        return ""
    told = {"object": called(standing.object, sentence(noun)), "rank": f"{standing.place:,}"}
    told |= {"status": status_word(standing.status), "chance": chance(standing.chance)}
    return _("%(object)s is %(status)s by the method used, at rank %(rank)s; chance of a place %(chance)s") % told


def ways_on(alert: Alert, panel: Panel, answer: Answer, addresses: Mapping[str, str]) -> list[Way]:
    """Return the pages on which an alert is looked into, and before them what is done about it at a click."""
    found = [*_forms(alert, panel, answer), *_pages(alert, panel, answer)]
    noun = answer.fit.panel.noun
    bare = [name for name in alert.objects if name.isdigit() and name in addresses]  # which no sentence leads to
    return found + [Way(called(name, noun), addresses[name]) for name in bare[:_FEW]]


def _forms(alert: Alert, panel: Panel, answer: Answer) -> Iterator[Way]:
    """Yield what is done, or tried, at a click."""
    choose, begin = (reverse(name, args=[panel.pk]) for name in ("choose", "new-scenario"))
    if alert.kind == "hangs_on_assessor":
        for who in list(dict.fromkeys(alert.assessors))[:_FEW]:
            yield Way(_("Try without %(who)s") % {"who": called(who, "assessor")}, begin, {"trial": f"without:{who}"})
    elif alert.kind == "other_method" and (wanted := choices_for(alert.method)) is not None:
        yield Way(_("Use the other method"), choose, wanted)
        yield Way(_("Try the other beside it"), begin, {"trial": "method"})
    elif alert.kind == "far_score":
        for who, object_ in (_giver(answer, at) for at in alert.scores[:_FEW]):
            words = _("Try without %(who)s on %(object)s") % {"who": quoted(who), "object": quoted(object_)}
            yield Way(words, begin, {"trial": f"score:{object_}{BETWEEN}{who}"})
    elif alert.kind == "assumed":
        yield Way(_("Do without it"), choose, {"method": _calibrated(panel), "refinement": ""})
    elif alert.kind == "confidence" and answer.fit.model.uses_confidence:
        yield Way(_("Let it count for nothing"), choose, {"method": IBA.method})


def _calibrated(panel: Panel) -> str:
    """Return the method of a panel, or in place of averages calibration."""
    method = panel.choices.get("method", CWC.method)
    return method if method not in PLAIN or PLAIN[method].is_calibrated else CWC.method


def _giver(answer: Answer, at: int) -> tuple[str, str]:
    """Return who gave a score, and to what."""
    scores = answer.found.combined.panel
    return str(scores.assessors[scores.assessor_index[at]]), str(scores.objects[scores.object_index[at]])


def _pages(alert: Alert, panel: Panel, answer: Answer) -> Iterator[Way]:
    """Yield the pages on which more is said."""
    if alert.kind == "far_score":
        for at in alert.scores[:_FEW]:
            cell = answer.found.combined.panel.cell_of(at)
            if cell is not None:
                address = f"{reverse('reading', args=[panel.pk])}?row={cell[0]}#correct"
                yield Way(_("Row %(row)s on the page Reading") % {"row": cell[0]}, address)
    elif alert.kind == "hangs_on_assessor" and len(set(alert.assessors)) > _FEW:
        yield Way(_("More on the page What if"), reverse("scenarios", args=[panel.pk]))
    elif alert.kind in ("other_method", "confidence"):
        yield Way(_("Methods side by side"), reverse("evidence", args=[panel.pk]))
    elif alert.kind == "tie" and answer.decision is not None and answer.decision.undecided:
        yield Way(_("Record whom the panel chooses"), "#choice")
    elif alert.kind in ("few_scores", "assumed"):
        yield Way(_("Who shares work with whom"), reverse("evidence", args=[panel.pk]))


def next_steps(answer: Answer, addresses: Mapping[str, str], stands: Mapping[str, str]) -> list[Markup]:
    """Return what is to be done before the decision stands, in order, each with a link; nothing while a stop stands."""
    checks = answer.checks(stands)
    if answer.stops:
        return []
    link, found = Markup('<a href="{}">{}</a>').format, []
    if any(one.kind == "other_method" for one in checks):
        found.append(link("#check-other_method", _("settle the method")))
    rest = [one for one in checks if one.kind != "other_method"]
    named = list(dict.fromkeys(name for one in rest for name in one.objects if name in addresses))
    noun = answer.fit.panel.noun
    if 0 < len(named) <= _STEPS:
        who = Markup(listed([link(addresses[name], called(name, noun)) for name in named]))  # noqa: S704
        found.append(Markup(_("look at %(who)s")) % {"who": who})  # noqa: S704  the words are ours, names are escaped
    elif rest:
        found.append(link(f"#check-{rest[0].kind}", _("look at what is to be checked")))
    if answer.decision is not None and answer.decision.undecided and answer.choice is None:
        found.append(link("#choice", _("record the choice")))
    return found


def remedy(alert: Alert) -> str:
    """Return what to do about an alert that no page does at a click; these pages have no command line."""
    pages = {
        "hangs_on_assessor": "",
        "other_method": "",
        "far_score": _("Ask whether it is meant."),
        "confidence": "",
        "tie": _("Draw lots, or decide by what the scores do not say."),
        "thin": _("Ask for another score."),
    }
    return pages.get(alert.kind, "" if "`" in alert.remedy else alert.remedy)


def stop(alert: Alert, answer: Answer) -> Alert:
    """Return an alert that stops the decision as these pages show it; of groups, what joins them."""
    if alert.kind != "groups":
        return replace(alert, remedy="")
    if answer.fit.connectivity.is_connected:  # but by one of several criteria
        return alert
    return replace(alert, remedy=_joins(joins(answer.fit)))


def until(answer: Answer) -> str:
    """Return until when nothing stands, for a title: ``"until row 24 is settled"``; nothing where nothing stops it."""
    first = next(iter(answer.stops), None)
    if first is None:
        return ""
    if first.kind == "groups":
        return _("until the Stop is settled")
    cells = [answer.found.combined.panel.cell_of(at) for at in first.scores]
    rows = list(dict.fromkeys(cell[0] for cell in cells if cell is not None))
    if len(rows) == 1:
        return _("until row %(row)s is settled") % {"row": rows[0]}
    return _("until rows %(rows)s are settled") % {"rows": name_some(rows, 4)} if rows else _("until that is settled")


def _joins(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the scores that join groups, as a request."""
    first, *more = pairs
    if not more:
        said = _(
            "Have %(who)s also score %(object)s: one shared score joins the groups, but only roughly: "
            "ask for two or three."
        )
        return said % dict(zip(("who", "object"), map(quoted, first), strict=True))
    scores = [_("%(who)s on %(object)s") % {"who": quoted(who), "object": quoted(object_)} for who, object_ in pairs]
    said = _("Ask for %(scores)s: one shared score joins two groups, but only roughly: ask for two or three.")
    return said % {"scores": name_some(scores, 4)}
