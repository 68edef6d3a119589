"""A panel calibrated as was chosen: ranks, decision and alerts, and the options that come to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext_lazy as _

from evenhand.errors import NotConnectedError, NotRankableError, bad_option
from evenhand.progress import report as tell
from evenhand.web.jobs import Job, jobs
from evenhand.web.models import Panel, mark
from evenhand.web.reading import looking, scores_of

if TYPE_CHECKING:
    from evenhand.answers.alert import Alert
    from evenhand.answers.decision import Choice, Decision, Standing
    from evenhand.answers.ranking import Ranking
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.panel.panel import Panel as Scores

METHODS: Final[Mapping[str, Any]] = {
    "cwc": _("calibration with confidence: each assessor’s standard is taken out; surer scores count more"),
    "iba": _("calibration without confidence: each assessor’s standard is taken out; all scores count alike"),
    "cwa": _("confidence-weighted averaging: standards are not taken out; surer scores count more"),
    "sa": _("simple averaging: standards are not taken out; all scores count alike"),
    "medians": _("medians: outlying scores pull little"),
}
"""Methods, in words."""


def methods_for(scores: Scores, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the methods that a menu offers: where no confidence was declared, none that differs by it alone."""
    if scores.confidence != "none":
        return dict(METHODS)
    from evenhand.answers.support import SAME_WITHOUT

    plain = {"cwc": _("calibration"), "sa": _("simple averaging")}
    return {
        name: plain.get(name, words)
        for name, words in METHODS.items()
        if name not in SAME_WITHOUT or name == choices.get("method")
    }


def in_brief(words: object) -> tuple[str, str]:
    """Return what a method or an assumption is called, and what it does, which stands after a colon or in brackets.

    Examples
    --------
    >>> in_brief("simple averaging: all scores count alike"), in_brief("outlying scores count less")
    (('simple averaging', 'all scores count alike'), ('outlying scores count less', ''))
    """
    name, _colon, means = str(words).partition(": ")
    if not means:
        name, _bracket, means = name.partition(" (")
    return name, means.removesuffix(")")


REFINEMENTS: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "": (_("none"), {}),
    "shrink": (_("values are pulled towards the mean (thin evidence counts less)"), {"shrink": True}),
    "student": (
        _("outlying scores count less (values are pulled towards the mean, too)"),
        {"shrink": True, "tails": "student"},
    ),
    "scale": (
        _("each assessor has their own scale (values are pulled towards the mean, too)"),
        {"shrink": True, "scale": True},
    ),
    "noise": (
        _("some assessors scatter more (values are pulled towards the mean, too)"),
        {"shrink": True, "calibrate_confidence": True},
    ),
    "ordinal": (_("marks are grades, not points"), {"ordinal": "probit"}),
}
"""Refinements, each in words and as assumptions of :func:`evenhand.refine`."""


KNOWN_AS: Final = {
    "shrunk": "shrink",
    "scaled": "scale",
    "confidences": "noise",
    "student": "student",
    "ordinal-probit": "ordinal",
}
"""Refinements by what statisticians know them as."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A panel calibrated, and what follows: ranks, decision and alerts; None is what cannot be had, ``why`` says why.

    ``found`` is the fit as entered. Where an alert stops the decision, ``fit`` and ``decision`` are those without what
    must be checked, as in the report.
    """

    found: Fit | CriteriaFit
    fit: Fit
    ranking: Ranking | None
    decision: Decision | None
    alerts: Sequence[Alert]
    why: str = ""

    @cached_property
    def standings(self) -> Sequence[Standing]:
        """Where each object stands."""
        from evenhand.answers.decision import standings

        return standings(self.fit, self.ranking, self.decision)

    @property
    def stops(self) -> list[Alert]:
        """The alerts that stop a decision."""
        return [one for one in self.alerts if one.level == "stop"]

    @property
    def choice(self) -> Choice | None:
        """Whom the panel gave places that the scores leave open."""
        return None if self.decision is None else self.decision.choice

    def with_choice(self, kept: Mapping[str, Any]) -> Answer:
        """Return it with what the panel chose among those who are open; as it is where others were open then."""
        from evenhand.answers.decision import Choice, with_choice

        made = self.decision
        if made is None or self.stops or not kept or not self.fits_choice(kept):
            return self
        return replace(self, decision=with_choice(made, Choice(tuple(kept["objects"]), kept["reason"], kept["by"])))

    def fits_choice(self, kept: Mapping[str, Any]) -> bool:
        """Say whether those who are open, and their places, are those among whom the panel chose."""
        made = self.decision
        return made is not None and [sorted(made.undecided), made.left] == [kept.get("open"), kept.get("left")]

    def mark_of(self, alert: Alert) -> str:
        """Return a mark of what an alert says, in any language: of whom, on whom it hangs, and what else comes out."""
        scores, instead = self.found.combined.panel, alert.instead
        other = [] if instead is None else [instead.inside, instead.undecided]
        cells = [
            [scores.objects[scores.object_index[at]], scores.assessors[scores.assessor_index[at]], float(score)]
            for at, score in ((at, scores.score[at]) for at in alert.scores)
        ]
        named = [alert.objects, alert.assessors, alert.doubtful, alert.method]
        places = None if self.decision is None else self.decision.places
        return mark([alert.kind, self.fit.method, places, named, cells, other])

    def checks(self, stands: Mapping[str, str]) -> list[Alert]:
        """Return the checks that are open: nobody has said why they stand as they are."""
        return [one for one in self.alerts if one.level == "check" and self.mark_of(one) not in stands]

    def known(self, stands: Mapping[str, str], *, unread: int = 0) -> dict[str, Any]:
        """Return what the list of panels shows of it; of checks, those that are open, and cells that are not read."""
        panel, made = self.fit.panel, self.decision
        counts = None if made is None or self.stops else [len(made.inside), len(made.undecided), len(made.outside)]
        checks = self.checks(stands)
        level = "stop" if self.stops else "check" if checks or unread else ""
        return {"objects": panel.n_objects, "assessors": panel.n_assessors, "noun": panel.noun} | {
            "counts": counts,
            "alert": level,
            "checks": len(checks),
            "unread": unread,
            "chosen": 0 if self.choice is None else len(self.choice.objects),
            "places": None if made is None else [made.given, made.places],
        }


def fit_by(panel: Scores, choices: Mapping[str, Any]) -> Fit | CriteriaFit:
    """Return a panel calibrated as was chosen; in groups where it is not connected."""
    from evenhand.models.additive import CWC, IBA
    from evenhand.models.additive import METHODS as PLAIN
    from evenhand.models.criteria import calibrate_criteria
    from evenhand.models.medians import median_polish
    from evenhand.models.refined import Refinements, refine

    tell("calibrating", 0, None)
    method, assumed = choices.get("method", "cwc"), dict(REFINEMENTS[choices.get("refinement", "")][1])
    if assumed and method == IBA.method:
        assumed["power"] = 0.0  # all scores count alike
    gauge = _gauge(choices.get("gauge", "weighted"))

    def fit(**options: Any) -> Fit | CriteriaFit:
        if panel.criterion is not None:
            weights = (panel.reading.weights if panel.reading is not None else None) or None
            by: Any = Refinements(**assumed) if assumed else PLAIN.get(method, CWC)
            placed = {} if assumed else {"gauge": gauge}
            return calibrate_criteria(panel, weights=weights, by=by, **placed, **options)
        if assumed:
            return refine(panel, Refinements(**assumed), **options)
        plain = PLAIN.get(method)
        if plain is None:
            return median_polish(panel, gauge=gauge, **options)
        placed = {"gauge": gauge} if plain.is_calibrated else {}
        return plain(panel, **placed, **options)

    try:
        return fit()
    except NotConnectedError:
        return fit(per_component=True)


_REFINED: Final = {
    "": "",
    "shrunk": "shrink",
    "shrunk+student": "student",
    "shrunk+scaled": "scale",
    "shrunk+confidences": "noise",
}
"""Refinements by the names that fits have for them."""


def choices_for(method: str) -> dict[str, str] | None:
    """Return the choices that come to a method, such as ``"cwc+shrunk"``; None where the menus do not offer it.

    Examples
    --------
    >>> choices_for("iba+shrunk"), choices_for("sa"), choices_for("cwc+shrunk+rounded")
    ({'method': 'iba', 'refinement': 'shrink'}, {'method': 'sa', 'refinement': ''}, None)
    """
    from evenhand.models.additive import CWC, IBA

    base, _plus, refined = method.partition("+")
    if refined not in _REFINED or base not in METHODS or (refined and base not in (CWC.method, IBA.method)):
        return None
    return {"method": base, "refinement": _REFINED[refined]}


def _gauge(name: str) -> Any:
    from evenhand.panel.gauge import Anchor

    kind, colon, label = name.partition(":")
    if kind == "anchor" and colon:
        return Anchor(label)
    if name not in ("weighted", "zero_sum"):
        raise bad_option("There is no such place for zero bias.")
    return name


def typed(found: Fit | CriteriaFit, choices: Mapping[str, Any]) -> list[str]:
    """Return the options by which the command line comes to the same result."""
    from evenhand.models.additive import CWC, IBA
    from evenhand.models.additive import METHODS as PLAIN

    method, refinement, gauge = (choices.get(name, "") for name in ("method", "refinement", "gauge"))
    plain = PLAIN.get(method)
    places = places_of(found, choices)
    said = [] if places is None else ["--top", str(places)]
    said += _TYPED[refinement]
    is_said = method == IBA.method if refinement else method not in ("", CWC.method)
    said += ["--method", method] if is_said else []
    if gauge not in ("", "weighted") and not refinement and (plain is None or plain.is_calibrated):
        said += ["--gauge", gauge.replace("_", "-") if gauge == "zero_sum" else gauge]
    said += ["--per-component"] if found.combined.per_component and not refinement else []
    weights = getattr(found, "weights", None) or {}
    told = found.combined.panel.reading
    if told is not None and told.weights:
        said += [part for name, weight in weights.items() for part in ("--weight", f"{name}={weight!r}")]
    return said


_TYPED: Final[Mapping[str, list[str]]] = {
    "": [],
    "shrink": ["--shrink"],
    "student": ["--shrink", "--tails", "student"],
    "scale": ["--shrink", "--scale"],
    "noise": ["--shrink", "--calibrate-confidence"],
    "ordinal": ["--ordinal", "probit"],
}


def places_of(found: Fit | CriteriaFit, choices: Mapping[str, Any]) -> int | None:
    """Return how many places there are to give, no more than there are objects; None where nobody has said."""
    places = choices.get("places")
    return None if places is None else min(places, found.combined.panel.n_objects)


def conclude(found: Fit | CriteriaFit, top: int | None) -> Answer:
    """Return ranks, decision and alerts of a fit."""
    from evenhand.answers.alerts import provisional
    from evenhand.answers.decision import decide
    from evenhand.answers.ranking import rank
    from evenhand.reports.summary import find_alerts

    fit = found.combined
    ranking, decision, why = None, None, ""
    try:
        tell("ranking", 0, None)
        ranking = rank(fit, top=top)
        decision = None if top is None else decide(ranking, top)
    except NotRankableError as error:
        why = str(error)
    tell("looking for what may be wrong", 0, None)
    alerts = find_alerts(fit, decision)
    stops = [one for one in alerts if one.level == "stop"]
    without = provisional(stops)
    if without is not None:
        made = without.decision
        return Answer(found, without.fit, rank(without.fit) if made is None else made.ranking, made, stops)
    return Answer(found, fit, ranking, decision, alerts, why)


def answering(panel: Panel, choices: Mapping[str, Any] | None = None) -> Job:
    """Return the work of calibrating a panel as it stands, or as it would with other choices."""
    state, looked = panel.state() | ({} if choices is None else {"choices": choices}), looking(panel)
    choices = state["choices"]

    def work() -> Answer:
        found = fit_by(scores_of(looked), choices)
        return conclude(found, places_of(found, choices))

    return jobs.start(f"answer-{mark(state)}", "calibrating", work)
