"""A report in one file: the decision first, then everything that it rests on; no network, no further files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from evenhand.answers.compare import Comparison, compare
from evenhand.answers.decision import Decision, decide, why_unsafe
from evenhand.answers.fingerprint import Fingerprint, fingerprint
from evenhand.answers.ranking import DRAWS, Ranking, rank
from evenhand.answers.reliability import LARGEST
from evenhand.compiled import one_thread
from evenhand.errors import EvenhandError, NotRankableError, Problem, bad_option, is_installed
from evenhand.models.average import SA, simple_average
from evenhand.models.criteria import CriteriaFit
from evenhand.models.fit import Fit, method_name
from evenhand.models.noise import lifted_words
from evenhand.models.refined import Refinements
from evenhand.progress import report as tell
from evenhand.reports.summary import (
    Summary,
    problem_records,
    summarise_check,
    summarise_comparison,
    summarise_fit,
    summarise_influence,
    summarise_ranking,
    summarise_reliability,
)
from evenhand.words import chance, count_of, name_some, number, percent, sentence

if TYPE_CHECKING:
    from concurrent.futures import Future

    import altair as alt

_Part = TypeVar("_Part")

ROWS: Final = 300
"""Rows of a table that a report prints; the workbook has all."""

PULLS: Final = 20
"""Scores that a report lists, by how far they pull the value of their object."""

DIGITS: Final = 6
"""Digits of the numbers behind a chart; tables and workbook have them all."""

NO_CHARTS: Final = (
    "This report has no charts, since what draws them is not installed: pip install 'evenhand[pictures]', and write it "
    "again. Its tables and sentences are complete."
)

_TEMPLATES: Final = Path(__file__).parent / "templates"

_MARKS: Final = re.compile(
    r"<dt>fingerprint</dt><dd><code>([0-9a-f]{64})</code></dd>\s*<dt>of the data</dt><dd><code>([0-9a-f]{64})</code>"
)
_TAG: Final = re.compile(r"<\w[^>]*>")
_ROLE: Final = re.compile(r' (?:role|aria-\w+)="[^"]*"')
_LONG_NUMBER: Final = re.compile(r"(?<![\w.])(-?\d+\.\d\d)\d+(?![\w.])")
"""Coordinates of a drawing with more than two decimals, at the end of those."""

_NAMED: Final = 30
"""Up to this many objects are named in a sentence."""

_GROUPS: Final = 6
"""Of up to this many groups the leader is named."""

_CONFIDENCE: Final = {
    "uncertainty": "weighted by the standard deviations that the assessors declared",
    "confidence": "weighted by the confidences that the assessors declared",
    "level": "weighted by the assessors' declared levels of confidence",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart of a report: its specification, the same drawn as SVG for readers without scripts, and in words."""

    specification: dict[str, Any]
    drawing: str
    words: str


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report says, before it is laid out.

    The summaries are those of the command line; None where a part was left out or cannot be had. ``decision`` and
    ``method`` are sentences, ``averages`` the plain averages of the objects, by label.
    """

    fit: Fit
    title: str
    summary: Summary
    check: Summary
    ranking: Summary | None
    influence: Summary | None
    comparison: Summary | None
    reliability: Summary | None
    decision: list[str]
    method: str
    mark: Fingerprint
    averages: dict[str, float]
    pictures: dict[str, Picture] = field(repr=False)
    notes: list[Problem] = field(default_factory=list)


def make_report(
    found: Fit | CriteriaFit,
    *,
    top: int | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    lottery_seed: int | None = None,
    comparison: Comparison | bool = True,
    candidates: Sequence[Refinements] | None = None,
    title: str = "Results of the panel",
) -> Report:
    """Return all that a report of a fit says; the options are those of :func:`~evenhand.report`."""
    fit = found.combined
    notes: list[Problem] = []
    tell("writing the report", 0, None)
    with one_thread(min(fit.panel.n_objects, fit.panel.n_assessors)):
        ranking, decision, reason = _ranks(fit, top, seed, draws, lottery_seed)
        can_draw = is_installed("vl_convert")
        if can_draw:
            _scripts()
        averages = simple_average(fit.panel)
        mark = fingerprint(fit, top=top, seed=seed, draws=draws, lottery_seed=lottery_seed)
        if not can_draw:
            notes.append(Problem("no_charts", NO_CHARTS))
        compared = None if comparison is False else comparison
        if compared is True:
            compared = compare(fit.panel, per_component=fit.per_component, candidates=candidates)
        return Report(
            fit=fit,
            title=title,
            summary=summarise_fit(found, top=top, seed=seed, draws=draws),
            check=summarise_check(fit.panel),
            ranking=None if ranking is None else summarise_ranking(ranking, decision),
            influence=_tried(lambda: summarise_influence(fit, top=top), notes),
            comparison=None if compared is None else summarise_comparison(compared),
            reliability=_tried(lambda: summarise_reliability(found), notes)
            if fit.panel.n_assessments <= LARGEST
            else None,
            decision=_no_decision_words(fit, top, reason)
            if ranking is None
            else _decision_words(fit, ranking, decision, averages),
            method=_method_words(fit, ranking, mark),
            mark=mark,
            averages=dict(zip(averages.values.labels, averages.values.estimate.tolist(), strict=True)),
            pictures=_pictures(fit, ranking, decision, compared, notes) if can_draw else {},
            notes=notes,
        )


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


def _tried(make: Callable[[], _Part], notes: list[Problem]) -> _Part | None:
    """Return a part of the report, or None with a note of why it cannot be had."""
    try:
        return make()
    except EvenhandError as error:
        notes.append(Problem("left_out", str(error)))
        return None


def _pictures(
    fit: Fit, ranking: Ranking | None, decision: Decision | None, compared: Comparison | None, notes: list[Problem]
) -> dict[str, Picture]:
    """Return the charts that this fit has."""
    from evenhand import plots

    wanted: dict[str, Callable[[], alt.TopLevelMixin]] = {"values": lambda: plots.values(fit)}
    if decision is not None and ranking is not None:
        wanted["top"] = lambda: plots.top(ranking, decision.places)
    if fit.is_calibrated:
        wanted["biases"] = lambda: plots.biases(fit)
        wanted["assessor-graph"] = lambda: plots.assessor_graph(fit.panel)
        wanted["residuals"] = lambda: plots.residuals(fit)
    wanted["design"] = lambda: plots.design(fit.panel)
    if fit.model.why_not("influence") is None:
        wanted["influence"] = lambda: plots.influence(fit)
    if compared is not None:
        wanted["methods"] = lambda: plots.methods(compared)
    if fit.panel.confidence != "none":
        wanted["confidence"] = lambda: plots.confidence(fit)
    found = {}
    for count, (name, make) in enumerate(wanted.items()):
        tell("drawing", count, len(wanted))
        chart = _tried(make, notes)
        if chart is not None:
            found[name] = picture(name, chart)
    return found


def picture(name: str, chart: alt.TopLevelMixin) -> Picture:
    """Return a chart as a report holds it."""
    import vl_convert

    specification = _shortened(chart.to_dict())
    # a page names each chart as a whole and has its numbers in tables: words for every single mark double its size
    specification["config"] = {**specification.get("config", {}), "aria": False}
    drawing = _TAG.sub(_plain_tag, vl_convert.vegalite_to_svg(specification))
    # each drawing numbers its parts from 0, and a page has several
    drawing = re.sub(r'(\bid="|url\(#|href="#)(\w+)', rf"\g<1>{name}-\g<2>", drawing)
    return Picture(specification, drawing, str(specification.get("description", name)))


def _plain_tag(tag: re.Match[str]) -> str:
    """Return a tag of a drawing with short coordinates, and without roles that would need names of their own."""
    return _LONG_NUMBER.sub(r"\1", _ROLE.sub("", tag[0]))


def _shortened(part: Any) -> Any:
    """Return a specification whose numbers have the digits that a picture can show."""
    if isinstance(part, dict):
        return {key: _shortened(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_shortened(value) for value in part]
    return float(f"{part:.{DIGITS}g}") if isinstance(part, float) else part


# --- sentences: the decision, and how it was made, for minutes -----------------------------------


def _no_decision_words(fit: Fit, top: int | None, reason: str) -> list[str]:
    """Return why there is no decision, and what the values say all the same."""
    labels, estimate, component = fit.values.labels, fit.values.estimate, fit.values.component
    said = [f"No {'ranks' if top is None else 'decision'} can be given. {reason}"]
    groups = int(component.max()) + 1
    firsts = [
        members[np.argsort(-estimate[members], kind="stable")].tolist()
        for members in (np.flatnonzero(component == group) for group in range(groups))
    ]
    if groups > 1:
        highest = [
            f"{labels[order[0]]} ({estimate[order[0]]:.1f}) in group {at + 1}" for at, order in enumerate(firsts)
        ]
        said.append(f"The highest value of each group: {name_some(highest, _GROUPS)}.")
    elif top is not None:
        rank = fit.values.rank  # those who share the last place are all named
        named = [labels[at] for at in firsts[0] if rank[at] <= top]
        tie = ", of whom some are level" if len(named) > top else ""
        said.append(f"By value alone, and nobody can say how surely, the first {top:,} are {_named(named)}{tie}.")
    else:
        said.append(_highest(fit, firsts[0][0]))
    return said


def _decision_words(fit: Fit, ranking: Ranking, decision: Decision | None, averages: Fit) -> list[str]:
    """Return the decision in plain words, a sentence or two a paragraph."""
    if decision is None:
        return _leading(fit, ranking)
    places, inside, undecided = decision.places, decision.inside, decision.undecided
    share = percent(ranking.interval)
    safe = f"Safely in are {_named(inside)}." if inside else "None of them is safely in."
    others = "All others are safely out." if decision.outside else "None is safely out."
    said = [
        f"{places:,} of {count_of(fit.panel.n_objects, 'object')} are to be chosen. "
        f"{safe} For {count_of(places - len(inside), 'place')} the scores cannot separate "
        f"{count_of(len(undecided), 'object')}: {_named(undecided)}. {others}"
        if undecided
        else f"{places:,} of {count_of(fit.panel.n_objects, 'object')} are to be chosen, and the scores separate them "
        f"from all others: {_named(inside)}."
    ]
    said.append(
        f"“Safely” means that the {share} interval of the rank lies on one side of the line between places {places:,} "
        f"and {places + 1:,}."
        if decision.caution is None
        else f"{sentence(decision.caution)}."
    )
    if decision.drawn is not None:
        said.append(
            f"The open places were drawn by lot with seed {decision.lottery_seed}, in this order: "
            f"{_named(decision.drawn)}."
        )
    said += _changes(fit, averages, places)
    return said


def _named(labels: Sequence[str]) -> str:
    return name_some(list(labels), _NAMED) if labels else "none"


def _leading(fit: Fit, ranking: Ranking) -> list[str]:
    """Return who is ahead, and who may be."""
    first, *rest = np.argsort(-fit.values.estimate, kind="stable").tolist()
    others = [fit.values.labels[at] for at in rest if ranking.rank_lower[at] == 1]
    share, caution = percent(ranking.interval), why_unsafe(fit)
    said = f"No other may be first, by the {share} intervals of ranks."
    if caution is not None:
        said = f"{sentence(caution)}."
    elif others:
        said = f"The scores do not rule out ({share} intervals of ranks) that another is first: {_named(others)}."
    return [_highest(fit, first), said]


def _highest(fit: Fit, at: int) -> str:
    return f"The highest value is that of {fit.values.labels[at]}, {fit.values.estimate[at]:.1f}."


def _changes(fit: Fit, averages: Fit, places: int) -> list[str]:
    """Return who would not be chosen by plain averages."""
    if fit.model == SA:
        return []
    labels = fit.values.labels
    ours, theirs = (
        {labels[at] for at in np.argsort(-one.values.estimate, kind="stable")[:places].tolist()}
        for one in (fit, averages)
    )
    enter, leave = sorted(ours - theirs), sorted(theirs - ours)
    if not enter:
        return [f"Plain averages would put the same {places:,} first."]
    return [
        f"Plain averages would put {count_of(len(leave), 'other object')} among the first {places:,}: {_named(leave)} "
        f"in place of {_named(enter)}."
    ]


def _method_words(fit: Fit, ranking: Ranking | None, mark: Fingerprint) -> str:
    """Return how the values were found, in words that can be pasted into minutes."""
    panel = fit.panel
    said = [
        f"{count_of(panel.n_objects, 'object')} {'was' if panel.n_objects == 1 else 'were'} scored by "
        f"{count_of(panel.n_assessors, 'assessor')} in {count_of(panel.n_assessments, 'assessment')}."
    ]
    weighted = _CONFIDENCE.get(panel.confidence, "")
    if fit.model == SA:
        said.append("The value of an object is the plain average of its scores.")
    elif not fit.is_calibrated:
        said.append(f"The value of an object is the average of its scores, {weighted or 'with equal weights'}.")
    else:
        said.append(
            "Each score was taken to be the value of the object plus the bias of the assessor plus noise, and values "
            "and biases were found from all scores together (R. S. MacKay, R. Kenna, R. J. Low and S. Parker, "
            "Calibration with confidence, Royal Society Open Science 4, 160760, 2017)"
            + (f", {weighted}" if weighted and fit.model.uses_confidence else "")
            + "."
        )
    groups = int(fit.values.component.max()) + 1
    if groups > 1:
        said.append(
            f"The panel falls into {groups:,} groups that share neither assessor nor object: each was calibrated on "
            "its own, and values of different groups cannot be compared."
        )
    if not fit.model.is_plain:
        said.append(f"The method was {fit.model.name} ({fit.method}).")
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


def _noise(fit: Fit) -> str:
    noise, variance, step = fit.posterior.noise, fit.noise_variance, fit.panel.step
    if noise.is_lifted and step is not None:
        return f"{sentence(lifted_words(noise, step))}."
    if noise.kind == "declared":
        return "Declared uncertainties were taken at face value."
    if variance is None:
        return f"Standard deviations are not given, since {noise.reason}."
    return f"The noise was estimated from the scores ({count_of(fit.degrees_of_freedom, 'degree')} of freedom)."


# --- the page ------------------------------------------------------------------------------------


def render(report: Report, *, made: datetime | None = None) -> str:
    """Return the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "number": _number,
        "signed": partial(_number, signed=True),
        "count_of": count_of,
        "percent": chance,
        "sentence": lambda text: text[:1].upper() + text[1:],
    }
    scripts = _scripts().result() if report.pictures else ()
    return environment.get_template("report.html").render(
        report=report,
        fit=report.fit,
        method_name=method_name,
        rows=ROWS,
        objects=sorted(report.summary["objects"], key=lambda row: (row.get("component", 1), -row["value"])),
        assessors=sorted(report.summary["assessors"], key=lambda row: (row.get("component", 1), -row["bias"]))
        if report.fit.is_calibrated
        else [],
        pulls=_pulls(report.influence),
        reasons=_reasons(report.influence, report.fit),
        statuses=_statuses(report.ranking),
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
        specifications={name: _as_json(one.specification) for name, one in report.pictures.items()},
        settings=json.dumps(dict(report.mark.settings), default=repr, ensure_ascii=False, indent=1),
        made=(datetime.now(UTC) if made is None else made).strftime("%Y-%m-%d %H:%M UTC"),
        all_notes=[*report.summary["notes"], *problem_records(report.notes)],
    )


def _number(value: float | None, digits: int = 1, *, signed: bool = False) -> str:
    return number(value, digits, signed=signed, minus="−")


def fingerprints_in(page: str) -> tuple[str, str] | None:
    """Return the fingerprints that stand in a page, of the whole and of the data; None where there are none."""
    found = _MARKS.search(page)
    return None if found is None else (found[1], found[2])


def refuse_pdf(path: Path) -> None:
    """Say what to do for a PDF."""
    if path.suffix.lower() == ".pdf":
        message = "Reports are written as HTML, laid out for A4: write a .html file and print it to PDF from a browser."
        raise bad_option(message, where=str(path))


@cache
def _scripts() -> Future[tuple[str, ...]]:
    """Return the scripts that draw charts, which are put together beside all else: that takes seconds."""
    from concurrent.futures import ThreadPoolExecutor

    import vl_convert  # noqa: F401  # here: imported in a thread of its own it would stop all others

    with_one = ThreadPoolExecutor(1)
    made = with_one.submit(_bundled)
    with_one.shutdown(wait=False)
    return made


def _bundled() -> tuple[str, ...]:
    """Return the scripts; none can end its own element."""
    import vl_convert

    bundle: Callable[[], str] = vl_convert.javascript_bundle  # type: ignore[assignment]  # all arguments may be left out
    texts = (bundle(), (_TEMPLATES / "draw.js").read_text(encoding="utf-8"))
    return tuple(text.replace("</script", "<\\/script").replace("<!--", "<\\!--") for text in texts)


def _as_json(specification: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(specification, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _pulls(influence: Summary | None) -> Sequence[Summary]:
    """Return the scores that pull the value of their object the most."""
    if influence is None:
        return []
    rows = [row for row in influence["assessments"] if row["pull"] is not None]
    return sorted(rows, key=lambda row: -abs(row["pull"]))[:PULLS]


def _reasons(influence: Summary | None, fit: Fit) -> Sequence[Summary]:
    """Return why each value differs from the average, in the order of the table of values."""
    if influence is None:
        return []
    group = dict(zip(fit.values.labels, fit.values.component.tolist(), strict=True))
    return sorted(influence["objects"], key=lambda row: (group[row["object"]], -row["value"]))


def _statuses(ranking: Summary | None) -> dict[str, Summary]:
    """Return for each object whether it is in, undecided or out; empty without a number of places."""
    rows = [] if ranking is None else ranking["objects"]
    return {row["object"]: row for row in rows if "status" in row}
