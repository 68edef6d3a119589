"""A report in one file: the decision first, then everything that it rests on; no network, no further files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from evenhand import __version__, look
from evenhand.answers.advice import Recommendation
from evenhand.answers.alert import Alert
from evenhand.answers.alerts import alerts, all_clear, looked_at, provisional
from evenhand.answers.compare import Comparison, compare
from evenhand.answers.decision import Choice, Decision, Standing, decide, standings, why_unsafe, with_choice
from evenhand.answers.fingerprint import Fingerprint, fingerprint
from evenhand.answers.hanging import Ways, crossings
from evenhand.answers.heldout import leverages
from evenhand.answers.influence import WithoutAssessor, without_assessors
from evenhand.answers.ranking import DRAWS, Ranking, rank
from evenhand.answers.reliability import LARGEST
from evenhand.answers.support import (
    SAME_WITHOUT,
    SURE,
    How,
    asked_by,
    how_supported,
    method_lacks,
    rule,
    supported,
)
from evenhand.answers.verdicts import READ_AS, SHOWN
from evenhand.compiled import one_thread, own_directory
from evenhand.errors import EvenhandError, NotRankableError, Problem, bad_option
from evenhand.models.average import SA
from evenhand.models.criteria import CriteriaFit
from evenhand.models.fit import Fit, method_name
from evenhand.models.noise import lifted_words
from evenhand.models.refined import Refinements
from evenhand.progress import report as tell
from evenhand.reports import blocks, charts
from evenhand.reports.paper import Form, annexes, beside, form_of, is_wrapped, marked_words, shares, sheet_of
from evenhand.reports.summary import (
    MOST_DELETIONS,
    Summary,
    problem_records,
    summarise_check,
    summarise_comparison,
    summarise_fit,
    summarise_influence,
    summarise_ranking,
    summarise_reliability,
)
from evenhand.words import (
    called,
    called_some,
    chance,
    count_of,
    is_or_are,
    listed,
    lowered,
    more_of,
    name_some,
    number,
    percent,
    phrase,
    quoted,
    sentence,
    together,
)

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_Part = TypeVar("_Part")

ROWS: Final = 300
"""Rows of a table of the annex; the workbook has all."""

PULLS: Final = 20
"""Scores that a report lists, by how far they pull the value of their object."""

_TEMPLATES: Final = Path(__file__).parent / "templates"

_MARKS: Final = re.compile(
    r"<dt>fingerprint</dt><dd><code>([0-9a-f]{64})</code></dd>\s*<dt>of the data</dt><dd><code>([0-9a-f]{64})</code>"
)
_LEFTWARD: Final = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_LETTERS: Final = f"[{_LEFTWARD}]+"
LEFTWARD: Final = re.compile(rf"\u2068[^\u2069]*\u2069|{_LETTERS}(?:[ …\u200c\u200d'’.-]+{_LETTERS})*")
_MAY_BE: Final = re.compile(f"[\u2068{_LEFTWARD}]")
"""Words that run from right to left, and what is set apart already; and a letter of these, which is found sooner."""

_CODE: Final = re.compile(r"(?<=no log-evidence for )[a-z+]+(?=:)")
_YEARS: Final = re.compile(r"\d+–\d+")
_QUOTED: Final = re.compile("“[^”]*”[,.;:]?")
"""Methods that a note names by their codes; years and quoted names, which do not break, or break before them."""

_SIGN: Final = r"\u2600-\u27bf\U0001f000-\U0001faff"
_EMBLEM: Final = re.compile(rf"([{_SIGN}][\ufe0f\u200d{_SIGN}]*) (?=\w)")
"""A picture sign, with all that is joined to it, before a word: they stay on one line."""

_LONG_WORD: Final = re.compile(r"<[^>]*>|[^\W\d_]{21,}")
_ONSET: Final = re.compile(r"(?:sch|[cpst]h|qu|[bcdfghjklmnpqrstvwxzбвгджзйклмнпрстфхцчшщ])(?=[aeiouyаеиоуыэюя])")
_HYPHEN: Final = '<i class="shy"></i>'
"""Words that may not fit on a line, where a syllable of them begins, and what breaks them there."""

_CUT, _END = 22, 8
"""Labels of more characters than this are cut short where there is no room, before so many at their end."""

_OUT: Final = 100
"""Up to this many of those who are out stand in the minutes."""

_NUMBERS: Final = {
    "value_sd": "Spread of values",
    "bias_sd": "Spread of biases",
    "scale_sd": "Spread of scales",
    "noise_sd": "Spread of noise",
    "power": "Power of confidence",
    "factor_strength": "Strength of noise factors",
    "freedom": "Degrees of freedom of tails",
}
"""Numbers that a model was told by the scores, as people read them."""

_NOISE_OF: Final = {
    "level": " of a score of medium confidence",
    "confidence": " of a score of confidence 1",
    "uncertainty": " per unit of declared uncertainty",
}
"""Of which scores the noise is, by what was declared, where that counts."""

_BRIEF: Final = 120
"""Names that are longer together than this stand one by one."""

_SMALLEST: Final = "smallest error"

_NAMED: Final = 30
"""Up to this many objects are named in a sentence."""

_GROUPS: Final = 6
"""Of up to this many groups the leader is named."""

_CONFIDENCE: Final = {
    "uncertainty": "weighted by the standard deviations that the assessors declared",
    "confidence": "weighted by the confidences that the assessors declared",
    "level": "weighted by the assessors’ declared levels of confidence",
}


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report says, before it is laid out.

    The summaries are those of the command line; None where a part was left out or cannot be had. ``decision`` and
    ``method`` are sentences, ``verdict`` is the decision itself, ``alerts`` what may be wrong with it, ``hangs`` who
    would cross the line without whom and what rank each would have then, ``clear`` that nothing is wrong, line by line,
    ``looked`` what was looked at before that was said; ``supported`` is the method that the scores support, with the
    reason, ``rule`` what it was found by, ``how`` how it is supported where it is another than the one used, and
    ``asked`` the options that ask for it. ``entered`` is the number of scores with those that are left out until they
    are checked, ``changes`` what was left out or changed by hand, in sentences.
    """

    fit: Fit
    title: str
    ranks: Ranking | None
    verdict: Decision | None
    alerts: list[Alert]
    summary: Summary
    check: Summary
    ranking: Summary | None
    influence: Summary | None
    comparison: Summary | None
    supported: Recommendation | None
    reliability: Summary | None
    decision: list[str]
    method: str
    mark: Fingerprint
    pictures: dict[str, charts.Picture] = field(repr=False)
    notes: list[Problem] = field(default_factory=list)
    hangs: Mapping[str, Ways] = field(default_factory=dict)
    clear: Sequence[str] = ()
    looked: str = ""
    asked: str = ""
    rule: str = ""
    how: How = "clear"
    entered: int = 0
    changes: tuple[str, ...] = ()


def make_report(
    found: Fit | CriteriaFit,
    *,
    top: int | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    lottery_seed: int | None = None,
    comparison: Comparison | bool = True,
    candidates: Sequence[Refinements] | None = None,
    choice: Choice | None = None,
    changes: Sequence[str] = (),
    stands: Callable[[Alert], str] = lambda _check: "",
    title: str = "Results of the panel",
) -> Report:
    """Return all that a report of a fit says; the options are those of :func:`~evenhand.report`.

    ``stands`` returns why the panel lets a check stand as it is, where it has looked at it: it is then a note.
    """
    fit = found.combined
    entered = fit.panel.n_assessments
    notes: list[Problem] = []
    tell("writing the report", 0, None)
    with one_thread(min(fit.panel.n_objects, fit.panel.n_assessors)):
        ranking, decision, reason = _ranks(fit, top, seed, draws, lottery_seed)
        if choice is not None:
            decision = with_choice(decision, choice)
        mark = fingerprint(fit, choice=choice, top=top, seed=seed, draws=draws, lottery_seed=lottery_seed)
        stops = [one for one in alerts(fit, decision, deletions=()) if one.level == "stop"]
        without = provisional(stops)
        if without is not None:  # what follows is of the panel without what must be checked, all of it
            found = fit = without.fit
            decision = without.decision
            ranking = rank(fit, top=top, seed=seed, draws=draws) if decision is None else decision.ranking
        compared = None if comparison is False or (stops and comparison is not True) else comparison
        if compared is True:
            compared = compare(fit.panel, per_component=fit.per_component, candidates=candidates)
        deletions = _deletions(fit, top)
        # what may be wrong without what must be checked is told beside what comes out without it
        further = alerts(fit, decision, comparison=compared, deletions=deletions)
        alerted = [*stops, *(further if without is not None else [one for one in further if one not in stops])]
        clear = all_clear(alerted, fit, decision, deletions=deletions)
        alerted = [_settled(one, stands(one)) if one.level == "check" else one for one in alerted]
        said = (
            _decision_words(fit, ranking, decision, alerted)
            if ranking
            else _no_decision_words(fit, top, reason, alerted)
        )
        return Report(
            fit=fit,
            title=title,
            ranks=ranking,
            verdict=decision,
            alerts=alerted,
            summary=summarise_fit(
                found, top=top, seed=seed, draws=draws, decision=decision if choice else None, alerted=alerted
            ),
            check=summarise_check(fit.panel, alerted),
            ranking=None if ranking is None else summarise_ranking(ranking, decision, alerted),
            influence=_tried(lambda: summarise_influence(fit, top=top, deletions=deletions, alerted=alerted), notes),
            comparison=None if compared is None else summarise_comparison(compared, alerted),
            supported=None if compared is None else supported(fit, compared),
            reliability=_tried(lambda: summarise_reliability(found), notes)
            if fit.panel.n_assessments <= LARGEST
            else None,
            decision=[said[0], *changes, *said[1:]],
            method=_method_words(fit, ranking, mark, entered - fit.panel.n_assessments),
            mark=mark,
            pictures=_pictures(fit, compared, notes),
            notes=notes,
            hangs={} if decision is None or not deletions else crossings(decision, deletions),
            clear=clear,
            looked=looked_at(fit, decision, comparison=compared, deletions=deletions) if clear else "",
            asked=_asked(fit, compared),
            rule="" if compared is None else rule(fit, compared),
            how="clear" if compared is None else how_supported(fit, compared),
            entered=entered,
            changes=tuple(changes),
        )


def _settled(check: Alert, why: str) -> Alert:
    """Return a check as a note with why the panel lets it stand; as it is where nobody has said so."""
    if not why:
        return check
    kept = ("The panel looked at this and keeps it:", f"“{why}”.")
    return replace(check, level="note", beside="", doubtful=(), lines=(*check.lines, kept), remedy="")


def _asked(fit: Fit, compared: Comparison | None) -> str:
    """Return the options that ask for the method that the scores support; empty where it is the one used, or none.

    Averages within groups cannot be asked for: they stand beside the values.
    """
    method = None if compared is None else supported(fit, compared).method
    other = None if compared is None else next((row.fit for row in compared.methods if row.method == method), None)
    if other is None or method == fit.method or (fit.per_component and not other.is_calibrated):
        return ""
    return asked_by(other.model)


def _ranks(
    fit: Fit, top: int | None, seed: int, draws: int, lottery_seed: int | None
) -> tuple[Ranking | None, Decision | None, str]:
    """Return ranks and the decision, or None and the reason."""
    if top is None and lottery_seed is not None:
        raise bad_option("A lottery needs a number of places.")
    try:
        ranking = rank(fit, top=top, seed=seed, draws=draws)
    except NotRankableError as error:
        return None, None, str(error)
    return ranking, None if top is None else decide(ranking, top, lottery_seed=lottery_seed), ""


def _deletions(fit: Fit, top: int | None) -> list[WithoutAssessor] | None:
    """Return what would change without each assessor, where there are few; None where that cannot be had here."""
    if fit.panel.n_assessors > MOST_DELETIONS or fit.model.why_not("without") is not None:
        return None
    return without_assessors(fit, top=top)


def _tried(make: Callable[[], _Part], notes: list[Problem]) -> _Part | None:
    """Return a part of the report, or None with a note of why it cannot be had."""
    try:
        return make()
    except EvenhandError as error:
        notes.append(Problem("left_out", str(error)))
        return None


def _pictures(fit: Fit, compared: Comparison | None, notes: list[Problem]) -> dict[str, charts.Picture]:
    """Return the pictures that the annex of this fit has."""
    wanted: dict[str, Callable[[], charts.Picture]] = {}
    panel = fit.panel
    is_complete = panel.n_assessments >= panel.n_objects * panel.n_assessors
    if fit.is_calibrated and panel.n_assessors <= charts.LINKED and not is_complete:
        wanted["assessor-graph"] = lambda: charts.assessor_graph(fit)
    if fit.is_calibrated:
        wanted["residuals"] = lambda: charts.residuals(fit)
    if fit.model.why_not("influence") is None:
        wanted["influence"] = lambda: charts.influence(fit)
    if compared is not None:
        wanted["methods"] = lambda: charts.methods(compared, fit)
    if panel.confidence != "none":
        wanted["confidence"] = lambda: charts.confidence(fit, compared)
    found = {name: _tried(make, notes) for name, make in wanted.items()}
    return {name: one for name, one in found.items() if one is not None}


# --- sentences: the decision, and how it was made, for minutes -----------------------------------


def _width_words(fit: Fit) -> str:
    """Return that the noise of a fit with heavy tails has more spread than its number says; else nothing."""
    return " (heavy tails not counted)" if {"student", "huber"} & set(fit.method.split("+")) else ""


def _no_decision_words(fit: Fit, top: int | None, reason: str, alerted: Sequence[Alert]) -> list[str]:
    """Return why there is no decision, and what the values say all the same."""
    order = "Within a group the order is the best guess:"
    if any(one.kind == "other_method" for one in alerted):
        order = "Within a group another method changes the order, and"
    labels, estimate, component = fit.values.labels, fit.values.estimate, fit.values.component
    said = [f"No {'ranks' if top is None else 'decision'} can be given. {reason}"]
    groups = int(component.max()) + 1
    firsts = [
        members[np.argsort(-estimate[members], kind="stable")].tolist()
        for members in (np.flatnonzero(component == group) for group in range(groups))
    ]
    if groups > 1:
        highest = [
            f"in group {at + 1}: {called(labels[order[0]], fit.panel.noun)} ({number(float(estimate[order[0]]), 1)})"
            for at, order in enumerate(firsts[:_GROUPS])
        ]
        more = [f"and so on for {count_of(groups - _GROUPS, 'more group')}"] if groups > _GROUPS else []
        said.append(
            f"Highest {'; '.join([*highest, *more])}. The {'two ' if groups == 2 else ''}scales cannot be compared."
        )
        if top is not None:
            said.append(
                f"The panel must say how many of the {count_of(top, 'place')} each group gets, or join the groups. "
                f"{order} those whose bars overlap may stand the other way round."
            )
    elif top is not None:
        rank = fit.values.rank  # those who share the last place are all named
        named = [labels[at] for at in firsts[0] if rank[at] <= top]
        who = _named(named, fit.panel.noun)
        tie = ", of whom some are level" if len(named) > top else ""
        said.append(f"By value alone, and nobody can say how surely, the first {top:,} are {who}{tie}.")
    else:
        said.append(_highest(fit, firsts[0][0]))
    return said


def _decision_words(fit: Fit, ranking: Ranking, decision: Decision | None, alerted: Sequence[Alert]) -> list[str]:
    """Return the decision in plain words, a sentence or two a paragraph; without what must be checked first."""
    if decision is None:
        return _leading(fit, ranking)
    stops = [one for one in alerted if one.level == "stop"]
    headline = decision.headline(by_method=any(one.doubtful for one in alerted))
    assumed = [one.message for one in alerted if one.kind == "assumed"]
    said = [f"{headline}.", *assumed, *(one.beside for one in alerted)]
    if stops:
        said.insert(0, f"No decision yet: {lowered(stops[0].headline)}. {stops[0].lines[0][0]}")
    said.append(decision.meaning())
    if decision.drawn is not None:
        drawn = _named(decision.drawn, fit.panel.noun)
        said.append(f"The open places were drawn by lot with seed {decision.lottery_seed}, in this order: {drawn}.")
    return [one for one in (*said, decision.choice_words(), decision.averages_words()) if one]


@dataclass(frozen=True, slots=True)
class Roll:
    """Those of one status, for the minutes: in a sentence where they are few and short, else one by one.

    Of many who are out there are no labels: the table has them.
    """

    word: str
    count: int
    labels: tuple[str, ...]
    sentence: str


def _rolls(decision: Decision | None) -> list[Roll]:
    """Return who is in, open and out, by name; those who are out only where they are few."""
    if decision is None:
        return []
    found = []
    for name, labels in (("in", decision.inside), ("undecided", decision.undecided), ("out", decision.outside)):
        kept = () if name == "out" and len(labels) > _OUT else labels  # a record names everybody else
        named = called_some(labels, decision.fit.panel.noun, len(labels))
        is_brief = len(labels) <= blocks.LISTED and len(named) <= _BRIEF
        if labels or name == "in":
            found.append(Roll(look.STATUS[name][0], len(labels), kept, (named or "none") if is_brief else ""))
    return found


def _named(labels: Sequence[str], noun: str) -> str:
    return called_some(labels, noun, _NAMED) if labels else "none"


def _leading(fit: Fit, ranking: Ranking) -> list[str]:
    """Return who is ahead, and who may be."""
    first, *rest = np.argsort(-fit.values.estimate, kind="stable").tolist()
    others = [fit.values.labels[at] for at in rest if ranking.rank_lower[at] == 1]
    share, caution = percent(ranking.interval), why_unsafe(fit)
    said = f"No other may be first, by the {share} intervals of ranks."
    if caution is not None:
        said = f"{sentence(caution)}."
    elif others:
        who = _named(others, fit.panel.noun)
        said = f"The scores do not rule out ({share} intervals of ranks) that another is first: {who}."
    return [_highest(fit, first), said]


def _highest(fit: Fit, at: int) -> str:
    label = called(fit.values.labels[at], fit.panel.noun)
    return f"The highest value is that of {label}, {fit.values.estimate[at]:.1f}."


def _method_words(fit: Fit, ranking: Ranking | None, mark: Fingerprint, held: int = 0) -> str:
    """Return how the values were found, in words that can be pasted into minutes."""
    panel = fit.panel
    said = [
        f"{count_of(panel.n_objects, panel.noun)} {'was' if panel.n_objects == 1 else 'were'} scored by "
        f"{count_of(panel.n_assessors, 'assessor')} in {count_of(panel.n_assessments, 'assessment')}"
        f"{f'; {held:,} more must be checked and {is_or_are(held)} left out here' if held else ''}."
    ]
    weighted, groups = _CONFIDENCE.get(panel.confidence, ""), int(fit.values.component.max()) + 1
    if fit.model == SA:
        said.append(f"The value of {a_noun(panel.noun)} is the plain average of its scores.")
    elif not fit.is_calibrated:
        said.append(
            f"The value of {a_noun(panel.noun)} is the average of its scores, {weighted or 'with equal weights'}."
        )
    else:
        said.append(
            f"Each score was taken to be the value of the {panel.noun} plus the bias of the assessor plus noise, and "
            f"values and biases were found from all scores {'of a group ' if groups > 1 else ''}together "
            "(R. S. MacKay, R. Kenna, R. J. Low and S. Parker, Calibration with confidence, Royal Society Open Science "
            "4, 160760, 2017)" + (f", {weighted}" if weighted and fit.model.uses_confidence else "") + "."
        )
    said.append(f"The method was {fit.name}.")
    if panel.factor is not None and fit.model.uses_confidence:
        said.append(
            f"From one level of confidence to the next the standard deviation changes by a factor {panel.factor:g}."
        )
    said.append(_noise(fit))
    if ranking is not None:
        said.append(
            f"Ranks and chances come from {ranking.draws:,} draws from the posterior, seed {ranking.seed}; intervals "
            f"have probability {percent(fit.values.interval)}."
        )
    said.append(f"Computed with evenhand {mark.version}; fingerprint {mark.whole[:16]}.")
    return " ".join(part for part in said if part)


def a_noun(noun: str) -> str:
    """Return a noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _noise(fit: Fit) -> str:
    noise, variance, step = fit.posterior.noise, fit.noise_variance, fit.panel.step
    if noise.is_lifted and step is not None:
        return f"{sentence(lifted_words(noise, step))}."
    if noise.kind == "declared":
        return "Declared uncertainties were taken at face value."
    if variance is None:
        return f"Standard deviations are not given, since {noise.reason}."
    return f"The noise was estimated from the scores{f' ({freedom})' if (freedom := _freedom(fit)) else ''}."


def _freedom(fit: Fit) -> str:
    """Return the degrees of freedom of the residuals, in words; empty where they cannot be told.

    Refined values and biases take no whole number of them: what is left are the scores less the sum of leverages.
    """
    if fit.model.is_plain:
        return f"{count_of(fit.degrees_of_freedom, 'degree')} of freedom"
    if fit.model.why_not("leverages") is not None:
        return ""
    return f"{number(float((1 - leverages(fit)).sum()), 1)} effective degrees of freedom"


# --- the page ------------------------------------------------------------------------------------


def render(
    report: Report, *, made: datetime | None = None, command: str = "evenhand report FILE …", checking: str = ""
) -> str:
    """Return the page; ``command`` is what made it, for those who go on from it, ``checking`` what checks it."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        bytecode_cache=kept_templates("report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_on_one_line,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_null_translations(newstyle=True)  # type: ignore[attr-defined]  # the extension adds it
    environment.globals["_"] = _said
    environment.filters |= filters()
    fit, verdict = report.fit, report.verdict
    stops = [one for one in report.alerts if one.level == "stop"]
    script = "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("find.js", "page.js"))
    rows = standings(fit, report.ranks, verdict)
    written = datetime.now(UTC) if made is None else made
    told = None if report.supported is None else report.supported.method
    form = form_of(fit, verdict, report.alerts, report.mark.settings["top"], report.asked)
    by_hand = [*report.changes, *report.clear]
    title = blocks.values_words(fit, blocks.table_of(fit, rows, verdict), verdict)
    sheet = sheet_of(fit, verdict, report.alerts, report.decision, form, by_hand, title)
    alerted = [label for one in report.alerts for label in one.objects]
    laid_out = blocks.context(fit, verdict, rows, sheet=(sheet.rows, sheet.more_rows), alerted=alerted)
    on_sheet = sum(len(block.rows) for part in laid_out["table"].parts for block in part if block.is_printed)
    has_rest = on_sheet < len(rows) or form.ticked == "annex"
    methods = [] if report.comparison is None else report.comparison["methods"]
    if fit.panel.confidence == "none":  # methods that differ in what confidence counts are one
        methods = [row for row in methods if row["method"] not in SAME_WITHOUT or row["method"] == fit.method]
    errors = by_error({"methods": methods})
    lead = _lead(errors, fit, report.supported, report.rule)
    notes, said = [*report.summary["notes"], *problem_records(report.notes)], " ".join(report.decision)
    environment.globals |= laid_out | {"has_rest": has_rest, "is_report": True}
    return environment.get_template("report.html").render(
        report=report,
        fit=fit,
        method_name=lambda name: method_name(name, confidence=fit.panel.confidence).replace("'", "’"),
        supported_method=told,
        simpler_words=method_lacks(told or "", fit.method),
        rows=ROWS,
        anchors={one.standing.object: f"#o{at}" for at, one in enumerate(laid_out["objects"])},
        stops=stops,
        checks=[one for one in report.alerts if one.level == "check"],
        remarks=[one for one in report.alerts if one.level == "note"],
        is_provisional=bool(stops),
        without=provisional(stops),
        left_out=_left_out(stops),
        hangs=report.hangs,
        changes_of=_changes_of(laid_out["objects"], {*alerted, *(() if verdict is None else verdict.undecided)}),
        places={one.object: one.place for one in rows},
        standing_of={one.object: one for one in rows},
        by_error=_main_methods(errors, fit.method, report.supported, lead),
        numbers=_NUMBERS,
        entered=max(report.entered, fit.panel.n_assessments),
        is_still=all(
            one.explanation is None or round(one.explanation.move, laid_out["table"].digits) == 0
            for one in laid_out["objects"]
        ),
        moved_by=_moved_by(laid_out["objects"]),
        is_complete=fit.panel.n_assessments >= fit.panel.n_objects * fit.panel.n_assessors,
        commands=[correction for one in stops for correction in _corrections(one)],
        command=command,
        checking=checking,
        freedom=_freedom(fit),
        unchecked_words=_unchecked(report.check["bridges"], fit.panel.noun),
        lead=lead,
        fits_in=_generous_first(report.reliability, [one.assessor for one in laid_out["assessors"]]),
        rises=_rises(report.reliability),
        form=form,
        blank_form=Form(),
        shares=shares(verdict, form),
        marked_words="" if verdict is None else marked_words(verdict),
        beside=beside(verdict, form),
        is_wrapped=laid_out["is_long"] and is_wrapped(verdict),
        row_height=sheet.height(on_sheet),
        is_terse=sheet.is_terse,
        is_flowing=sheet.is_flowing(on_sheet) and not has_rest,
        annexes=annexes(len(rows), laid_out["nouns"], bool(laid_out["assessors"])),
        annex_axis=laid_out["table"].axis,
        methods=methods,
        largest_error=max((row["loo_rmse"] or 0.0 for row in errors), default=0.0) or 1.0,
        verdicts=READ_AS,
        reaches=_reaches(rows, laid_out["table"].digits),
        is_weighted=_is_weighted(fit),
        noise_of=(_NOISE_OF.get(fit.panel.confidence, "") if _is_weighted(fit) else "") + _width_words(fit),
        typical_sds=_typical_sds(fit),
        rolls=_rolls(verdict),
        pulls=_pulls(report.influence),
        style=look.style_sheet() + (_TEMPLATES / "page.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=_hash(script),
        settings=json.dumps(_settings(report), default=repr, ensure_ascii=False, indent=1),
        written=written.strftime("%Y-%m-%d %H:%M UTC"),
        date=f"{written.day} {written.strftime('%B %Y')}",
        all_notes=[
            note
            for note in notes
            if note["kind"] not in ("evidence", "joined_by_priors", "positions", *(["not_comparable"] if stops else []))
            and note["message"] not in said
        ],
        technical_notes=[_in_words(note, fit) for note in notes if note["kind"] == "evidence"],
    )


def _settings(report: Report) -> dict[str, Any]:
    """Return the settings, with those refinements alone that were asked for, by name."""
    settings, asked = dict(report.mark.settings), report.fit.model.asked
    return settings | ({"refinements": dict(asked)} if "refinements" in settings else {})


def _in_words(note: Summary, fit: Fit) -> Summary:
    """Return a note in which a method that it speaks of is called by its name in words."""
    return {**note, "message": _CODE.sub(lambda code: method_name(code[0], fit.panel.confidence), note["message"])}


def _unchecked(bridges: Sequence[Summary], noun: str) -> str:
    """Return which scores no other can check, the first three by name; empty where there are none."""
    if not bridges:
        return ""
    pairs = [f"{called(one['assessor'], 'assessor')} on {called(one['object'], noun)}" for one in bridges]
    count = "One score" if len(pairs) == 1 else f"{len(pairs):,} scores"
    return f"{count} cannot be checked by any other: {name_some(pairs, 3)}."


def _changes_of(objects: Sequence[blocks.Object], wanted: set[str]) -> str:
    """Return for which objects the page tells what would change their status; empty where for none."""
    told = {one.standing.object for one in objects if one.changes}
    if len(told) in (0, len(objects)):
        return "all" if told else ""
    return "those that are open or in an alert" if wanted <= told else f"the {len(told):,} that matter most"


def _moved_by(objects: Sequence[blocks.Object]) -> str:
    """Return what moves objects beside the standards of assessors, in words; empty where nothing does."""
    parts = [part.kind for one in objects if one.explanation for part in one.explanation.parts]
    others = {kind for kind in parts if kind not in ("strict", "generous", "other")}
    named = [
        *(["leaving out scores that tell nothing"] if "lone" in others else []),
        *(["confidence"] if "confidence" in others else []),
        *(["the method"] if others - {"lone", "confidence"} else []),
    ]
    return " or ".join(named)


def _main_methods(rows: Sequence[Summary], used: str, told: Recommendation | None, lead: str) -> list[Summary]:
    """Return the methods that anybody should see: used, supported, averaging, and the best if its lead counts."""
    shown = {used, SA.method, None if told is None else told.method}
    return [row for at, row in enumerate(rows) if row["method"] in shown or (at == 0 and lead == _SMALLEST)]


def _corrections(stop: Alert) -> list[tuple[str, str]]:
    """Return the correction to type for each way to settle a score that must be checked, with what it does."""
    panel = stop.outcomes[0].fit.panel if stop.outcomes else None
    cell = panel.cell_of(stop.scores[0]) if panel is not None and len(stop.scores) == 1 else None
    if panel is None or cell is None:
        return []
    meant = [one.case.split(",")[0] for one in stop.outcomes[1:-1]]  # what was probably meant
    ways = [(score, f"To read it as {score}") for score in meant]
    ways += [("", "To leave it out"), (f"{panel.score[stop.scores[0]]:g}", "If it is right")]
    return [(shlex.quote(f"{cell[0]}:{cell[1]}={score}"), words) for score, words in ways]


def _left_out(stops: Sequence[Alert]) -> dict[str, str]:
    """Return for each object which of its scores are left out until they are checked, in a sentence."""
    found: dict[str, list[str]] = {}
    for one in stops:
        if one.scores and one.outcomes:
            panel = one.outcomes[0].fit.panel
            for at in one.scores:
                who = called(panel.assessors[panel.assessor_index[at]], "assessor")
                told = found.setdefault(panel.objects[panel.object_index[at]], [])
                told.append(f"the {_plain(float(panel.score[at]))} of {who}")
    return {label: f"Left out until checked: {name_some(told, _NAMED)}." for label, told in found.items()}


def _lead(rows: Sequence[Summary], fit: Fit, told: Recommendation | None, rule: str) -> str:
    """Return what stands beside the method with the smallest error where another is supported; empty where it is it."""
    other = next((row for row in rows if told is not None and row["method"] == told.method), None)
    if other is None or rows[0] is other:
        return ""
    behind, error = other["loo_behind"], other["loo_behind_error"]
    is_certain = rows[0]["loo_behind"] == 0 and behind is not None and error is not None and behind > SURE * error
    is_told = sentence(method_name(rows[0]["method"], fit.panel.confidence)) in rule  # it is not enough all the same
    return _SMALLEST if is_certain and not is_told else ""


def _generous_first(reliability: Summary | None, order: Sequence[str]) -> list[Summary]:
    """Return how the scores of assessors fit in, in the order of their biases."""
    rows = [] if reliability is None else reliability["assessors"]
    place = {label: at for at, label in enumerate(order)}
    return sorted(rows, key=lambda row: place.get(row["assessor"], len(order)))


def _rises(reliability: Summary | None) -> dict[str, str]:
    """Return between what ends the rise of each assessor's scores lies, where that can be told."""
    found = {}
    for one in () if reliability is None else reliability["assessors"]:
        if one["slope"] is not None and one["slope_z"]:
            sd = (one["slope"] - 1) / one["slope_z"]
            found[one["assessor"]] = f"{number(one['slope'] - SHOWN * sd)} to {number(one['slope'] + SHOWN * sd)}"
    return found


def _reaches(rows: Sequence[Standing], digits: int) -> str:
    """Return half the width of the interval of a typical value, the median, for each group; empty for none."""
    widths: dict[int, list[float]] = defaultdict(list)
    for one in rows:
        if one.lower is not None and one.upper is not None:
            widths[one.group].append((one.upper - one.lower) / 2)
    reach = {group: number(float(np.median(found)), digits) for group, found in sorted(widths.items())}
    if len(set(reach.values())) < 2:
        return next(iter(reach.values()), "")
    return listed([f"{width} (group {group + 1})" for group, width in reach.items()])


def _is_weighted(fit: Fit) -> bool:
    """Return whether scores count by declared confidence, and these differ."""
    return fit.model.uses_confidence and float(np.ptp(fit.panel.precision)) > 0


def _typical_sds(fit: Fit) -> tuple[float, float | None] | None:
    """Return the standard deviation of a typical value and of a typical bias: medians; None where there are none."""
    if fit.values.sd is None:
        return None
    biases = fit.biases.sd if fit.is_calibrated else None
    return float(np.median(fit.values.sd)), None if biases is None else float(np.median(biases))


def isolated(said: str) -> str:
    """Return text in which names that run from right to left disturb no number beside them."""
    if said.isascii() or _MAY_BE.search(said) is None:
        return said
    # parts of a page stay such, and what they set apart is not set apart again
    return type(said)(LEFTWARD.sub(lambda found: "\u2068" + found[0].strip("\u2068\u2069") + "\u2069", said))


def _said(text: str, **values: object) -> Markup:
    """Return a sentence of a template in its own language: what the extension does by four further calls."""
    from markupsafe import Markup

    return Markup(text) % values if "%" in text else Markup(text)  # noqa: S704  # a template's own words


def _on_one_line(said: Any) -> Any:
    """Return text in which short names that run from right to left are set apart, and stay on one line."""
    if not isinstance(said, str) or said.isascii() or _MAY_BE.search(said) is None:
        return said

    def kept(found: re.Match[str]) -> str:
        return found[0].replace(" ", "\u00a0") if len(found[0]) <= _CUT else found[0]

    return type(said)(LEFTWARD.sub(kept, isolated(said)))


def by_error(comparison: Summary | None) -> list[Summary]:
    """Return the methods of a comparison, the one with the smallest error first."""
    methods = [] if comparison is None else comparison["methods"]
    return sorted(methods, key=lambda row: np.inf if row["loo_rmse"] is None else row["loo_rmse"])


def kept_templates(name: str) -> jinja2.BytecodeCache | None:
    """Return where an environment keeps its compiled templates between runs; None where that is nowhere."""
    import jinja2

    class Kept(jinja2.FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            with suppress(OSError):  # a full disk: they are compiled again the next time
                super().dump_bytecode(bucket)

    directory = own_directory()
    return None if directory is None else Kept(directory, f"{name}-{__version__}-%s")


def filters() -> dict[str, Callable[..., Any]]:
    """Return how templates write numbers, chances, counts and names."""
    return {
        "number": partial(number, in_sentence=True),
        "signed": partial(number, in_sentence=True, signed=True),
        "plain": _plain,
        "called": called,
        "called_some": called_some,
        "chance": chance,
        "count_of": count_of,
        "coded": _coded,
        "some": name_some,
        "sentence": sentence,
        "halves": halves,
        "hyphenated": _hyphenated,
        "a_noun": a_noun,
        "strip": blocks.strip_of,
        "css": lambda text: "".join(f"\\{ord(one):x} " if not one.isalnum() and one != " " else one for one in text),
        "lowered": lowered,
        "more_of": more_of,
        "phrase": phrase,
        "quoted": quoted,
        "together": together,
        "whole": _whole,
    }


def _plain(value: float, digits: int | None = None) -> str:
    """Return a number as somebody would type it; with so many decimals where a column has them."""
    return (f"{value:g}" if digits is None else f"{value:.{digits}f}").replace("-", "−")


def halves(label: str) -> tuple[str, str]:
    """Return a long label in two parts, of which the first may be cut short; the second of a short one is empty.

    Labels that begin alike stay different. No sign is torn from the accents and joiners that belong to it.

    Examples
    --------
    >>> halves("A long title of a proposal 17"), halves("P17")
    (('A long title of ', 'a proposal 17'), ('P17', ''))
    """
    if len(label) <= _CUT or any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in label):
        return label, ""  # two pieces of a name that is read from the right would change places
    at = label.find(" ", len(label) - 2 * _END, -1) + 1  # best between words, the space before
    at = at or len(label) - _END
    while at < len(label) and (unicodedata.category(label[at])[0] in "MC" or label[at - 1] == "\u200d"):
        at += 1
    return label[:at], label[at:]


def _coded(text: str) -> Markup:
    """Return a sentence in which what stands between backquotes is set as code."""
    from markupsafe import Markup, escape

    parts = enumerate(text.split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in parts)


def _whole(text: str) -> Markup:
    """Return text for lines that break well.

    1900–1950 stays on one line, a line breaks before a quoted name sooner than in it, and a very long word with a
    hyphen, which is not copied with it.
    """
    from markupsafe import Markup

    said = _YEARS.sub(lambda found: f'<span class="years">{found[0]}</span>', _hyphenated(text))
    return Markup(_QUOTED.sub(lambda found: f'<span class="piece">{found[0]}</span>', said))  # noqa: S704  # escaped above


def _hyphenated(text: str) -> Markup:
    """Return a sentence in which a very long word breaks with a hyphen, which is not copied with it.

    No line ends between a picture sign and the word after it.
    """
    from markupsafe import Markup, escape

    def broken(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith("<") else _HYPHEN.join(_syllables(found[0]))

    return Markup(_LONG_WORD.sub(broken, _EMBLEM.sub("\\1\u00a0", str(escape(text)))))  # noqa: S704  # escaped


def _syllables(word: str) -> Iterator[str]:
    """Yield the parts of a word that begin with a consonant before a vowel, as syllables do in many languages.

    Examples
    --------
    >>> "-".join(_syllables("Elektrizitätswerkbauunternehmen"))
    'Elekt-rizi-täts-werk-bauun-ter-neh-men'
    """
    base = "".join(unicodedata.normalize("NFD", sign)[0] for sign in word).lower()
    begin = 0
    for found in _ONSET.finditer(base):
        if found.start() - begin >= 3 and len(word) - found.start() >= 3:
            yield word[begin : found.start()]
            begin = found.start()
    yield word[begin:]


def fingerprints_in(page: str) -> tuple[str, str] | None:
    """Return the fingerprints that stand in a page, of the whole and of the data; None where there are none."""
    found = _MARKS.search(page)
    return None if found is None else (found[1], found[2])


def refuse_pdf(path: Path) -> None:
    """Say what to do for a PDF."""
    if path.suffix.lower() == ".pdf":
        message = "Reports are written as HTML, laid out for A4: write a .html file and print it to PDF from a browser."
        raise bad_option(message, where=str(path))


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _pulls(influence: Summary | None) -> Sequence[Summary]:
    """Return the scores that pull the value of their object the most."""
    if influence is None:
        return []
    rows = [row for row in influence["assessments"] if row["pull"] is not None]
    return sorted(rows, key=lambda row: -abs(row["pull"]))[:PULLS]
