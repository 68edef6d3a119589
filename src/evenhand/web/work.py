"""From what is kept to what is shown: a file read, a panel calibrated, a decision with its alerts; each once."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from evenhand.errors import EvenhandError, InputError, NotConnectedError, NotRankableError, Problem, bad_option
from evenhand.panel.reading import LAYOUTS
from evenhand.progress import report as tell
from evenhand.web.jobs import Job, jobs
from evenhand.web.models import Panel, Scenario, mark
from evenhand.words import spoken, translated

if TYPE_CHECKING:
    from evenhand.answers.alerts import Alert
    from evenhand.answers.decision import Decision, Standing
    from evenhand.answers.ranking import Ranking
    from evenhand.answers.what_if import Difference
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.panel.column import Table
    from evenhand.panel.panel import Panel as Scores

METHODS: Final[Mapping[str, Any]] = {
    "cwc": _("calibration with confidence"),
    "iba": _("incomplete block analysis: all scores count alike"),
    "cwa": _("confidence-weighted averaging: biases stay in"),
    "sa": _("simple averaging: every score as it is"),
    "medians": _("incomplete block analysis, medians: far scores pull little"),
}
"""Methods, in words."""

REFINEMENTS: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "": (_("none"), {}),
    "shrink": (_("shrunk to the mean: thin evidence counts less"), {"shrink": True}),
    "student": (_("heavy tails: scores that are far off pull less"), {"shrink": True, "tails": "student"}),
    "scale": (_("assessors’ own scales"), {"shrink": True, "scale": True}),
    "noise": (_("calibrated confidences: how noisy each assessor is"), {"shrink": True, "calibrate_confidence": True}),
    "ordinal": (_("ordered categories"), {"ordinal": "probit"}),
}
"""Refinements, each in words and as assumptions of :func:`evenhand.refine`."""

ROLES: Final[Mapping[str, Any]] = {
    "": _("Left out"),
    "object": _("Object"),
    "assessor": _("Assessor"),
    "score": _("Score"),
    "level": _("Confidence, in levels"),
    "confidence": _("Confidence, as weight"),
    "uncertainty": _("Uncertainty, in points"),
    "criterion": _("Criterion"),
}
"""What a column may be, in words."""

CHOICES: Final[Mapping[str, Mapping[str, Any]]] = {
    "layout": {str(name): words for name, words in LAYOUTS.items()},
    "best": {"highest": _("the highest"), "lowest": _("the lowest")},
    "duplicates": {"keep": _("keep both"), "combine": _("take their mean"), "last": _("take the last")},
}
"""What menus about reading offer, in words."""

_CELL: Final = re.compile(r"row (\d+), column (.+)", re.DOTALL)
_UNPACKED: Final = (".csv", ".tsv", ".txt", ".parquet")
_SHEETS: Final = (".xlsx", ".xlsm", ".ods", ".xls")

T = TypeVar("T")

_MENUS: Final[Mapping[str, str]] = {
    "layout": "the menu “Layout”",
    "sheet": "the menu “Sheet”",
    "best": "the menu “Best score”",
    "duplicates": "the menu “Scored twice”",
    "missing": "the field “Means empty”",
    "scores": "the table of words",
    "aliases": "the field “Words for confidence”",
    "level_scale": "the field “Scale of confidence”",
    "factor": "the field “Factor”",
    "format": "the menu “Written by”",
    "columns": "the menus above the columns",
}


def in_menus(name: str, value: object) -> str:
    """Return how a setting is given on the page, for messages."""
    if name == "criteria":
        return f"the role “{ROLES['score']}” above each of them"
    if name in ROLES:
        return f"the role “{ROLES[name]}” above {'a column' if value in (None, 'NAME') else f'“{value}”'}"
    name, value = ("layout", "wide") if name == "wide" else (name, value)
    menu = _MENUS.get(name, f"“{name}”")
    return f"“{CHOICES.get(name, {}).get(value, value)}” in {menu}" if isinstance(value, str) else menu


_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]+")


def safe_name(given: str) -> str:
    """Return the name of a file without a path and without what no file may be called; its ending stays."""
    name = _UNFIT.sub("_", given.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .") or "scores.csv"
    stem, dot, ending = name.rpartition(".")
    return f"{stem[:100]}.{ending[:12]}" if dot and stem else name[:100]


@dataclass(frozen=True, eq=False)
class Looked:
    """A file as it was read: its cells, its assessments, and what is wrong; cells that are wrong count as empty."""

    table: Table | None
    scores: Scores | None
    problems: tuple[Problem, ...] = ()
    sheets: tuple[str, ...] = ()


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

    def known(self) -> dict[str, Any]:
        """Return what the list of panels shows of it."""
        panel, made = self.fit.panel, self.decision
        counts = None if made is None or self.stops else [len(made.inside), len(made.undecided), len(made.outside)]
        level = next((one.level for one in self.alerts if one.level != "note"), "")
        return {"objects": panel.n_objects, "assessors": panel.n_assessors, "noun": panel.noun} | {
            "counts": counts,
            "alert": level,
        }


# --- reading -----------------------------------------------------------------------------------------


def looking(panel: Panel) -> Job:
    """Return the work of reading a panel's file."""
    state = panel.state()
    content = bytes(panel.content)
    key = f"read-{mark({name: state[name] for name in ('file', 'name', 'options', 'corrections')})}"
    return jobs.start(key, "reading", lambda: look(content, state["name"], state["options"], state["corrections"]))


@translated(None)
def look(content: bytes, name: str, options: Mapping[str, Any], corrections: Mapping[str, str]) -> Looked:
    """Read a file, and say what stands in it even where it holds no assessments."""
    from evenhand.io.panels import read_cells, read_panel
    from evenhand.io.spreadsheet import sheet_names

    tell("reading the file", 0, None)
    told: dict[str, Any] = {one: tuple(value) if one == "level_scale" else value for one, value in options.items()}
    limit = settings.MAX_UNPACKED
    problems: list[Problem] = []

    def tried(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except EvenhandError as error:
            problems.extend(error.problems if isinstance(error, InputError) else [Problem("too_large", str(error))])
            return None

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder, spoken(in_menus):
        place = Path(folder) / name
        place.write_bytes(content)
        packed = {} if place.suffix.lower() in _UNPACKED else {"max_unpacked": limit}
        table = tried(
            lambda: read_cells(
                place, sheet=told.get("sheet"), max_unpacked=limit, format=told.get("format"), corrections=corrections
            )
        )
        problems.clear()  # those of the panel say more
        if table is not None and tried(lambda: _narrow(table)) is None:
            return Looked(table, None, tuple(problems))

        def read(given: Mapping[str, str]) -> Scores:
            return _few(read_panel(place, corrections=dict(given) or None, **told, **packed))

        scores = tried(lambda: read(corrections))
        wrong = cells_in(problems, table)
        if scores is None and wrong and len(wrong) == len(problems):  # until they are settled, such cells are empty
            settled = {**corrections, **dict.fromkeys(wrong, "")}
            with suppress(EvenhandError):
                scores = read(settled)
        sheets = tried(lambda: sheet_names(place, max_unpacked=limit)) if place.suffix.lower() in _SHEETS else ()
    return Looked(table, scores, tuple(problems), tuple(sheets or ()))


def cells_in(problems: Sequence[Problem], table: Table | None) -> dict[str, tuple[int, str]]:
    """Return the cells, by their place, that problems are about."""
    found: dict[str, tuple[int, str]] = {}
    names = () if table is None else table.names
    for one in problems:
        place = _CELL.fullmatch(one.where or "")
        if place is not None and place[2] in names:
            found[f"{place[1]}:{place[2]}"] = int(place[1]), place[2]
    return found


def _narrow(table: Table) -> Table:
    """Return a table, unless it has more columns or cells than can be understood while somebody waits.

    Every column is compared with all others, so that the time grows with the square of their number.
    """
    columns, cells = len(table.names), len(table.names) * len(table.row_numbers)
    if columns > settings.MAX_COLUMNS or cells > settings.MAX_CELLS:
        said = f"It has {columns:,} columns and {cells:,} cells; up to {settings.MAX_COLUMNS:,} columns"
        said += f" and {settings.MAX_CELLS:,} cells are read here"
        raise InputError(f"{said}. The command line takes any number.", kind="too_large")
    return table


def _few(scores: Scores) -> Scores:
    """Return a panel, unless it is too large for a page."""
    most = settings.MAX_SCORES
    if scores.n_assessments > most:
        said = f"It has {scores.n_assessments:,} scores; up to {most:,} are shown here"
        raise InputError(f"{said}. The command line takes any number.", kind="too_large")
    return scores


# --- calibrating -------------------------------------------------------------------------------------


def fit_by(panel: Scores, choices: Mapping[str, Any]) -> Fit | CriteriaFit:
    """Return a panel calibrated as was chosen; in groups where it is not connected."""
    from evenhand.models.additive import CWC
    from evenhand.models.additive import METHODS as PLAIN
    from evenhand.models.criteria import calibrate_criteria
    from evenhand.models.medians import median_polish
    from evenhand.models.refined import Refinements, refine

    tell("calibrating", 0, None)
    method, assumed = choices.get("method", "cwc"), REFINEMENTS[choices.get("refinement", "")][1]
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
    >>> choices_for("cwc+shrunk"), choices_for("sa"), choices_for("iba+shrunk")
    ({'method': 'cwc', 'refinement': 'shrink'}, {'method': 'sa', 'refinement': ''}, None)
    """
    from evenhand.models.additive import CWC

    base, _plus, refined = method.partition("+")
    if refined not in _REFINED or base not in METHODS or (refined and base != CWC.method):
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
    from evenhand.models.additive import CWC
    from evenhand.models.additive import METHODS as PLAIN

    method, refinement, gauge = (choices.get(name, "") for name in ("method", "refinement", "gauge"))
    plain = PLAIN.get(method)
    places = places_of(found, choices)
    said = [] if places is None else ["--top", str(places)]
    said += _TYPED[refinement]
    said += ["--method", method] if method and method != CWC.method and not refinement else []
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


def answering(panel: Panel) -> Job:
    """Return the work of calibrating a panel as it stands."""
    state, looked = panel.state(), looking(panel)
    choices = state["choices"]

    def work() -> Answer:
        found = fit_by(scores_of(looked), choices)
        return conclude(found, places_of(found, choices))

    return jobs.start(f"answer-{mark(state)}", "calibrating", work)


def scores_of(looked: Job) -> Scores:
    """Return the assessments of a file, or raise what is wrong with it."""
    found: Looked = looked.outcome()
    if found.scores is None:
        raise InputError(found.problems or "There are no scores.")
    return found.scores


# --- what if -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tried:
    """A scenario beside what stands."""

    answer: Answer
    fit: Fit
    difference: Difference | None
    decision: Decision | None
    why: str = ""


def with_choices(state: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a state with the choices that changes make, in the order in which they were made."""
    choices, options = dict(state["choices"]), dict(state["options"])
    for one in changes:
        if one["type"] == "choice":
            (options if one["name"] == "factor" else choices)[one["name"]] = one["value"]
    return {**state, "choices": choices, "options": options}


def trying(panel: Panel, scenario: Scenario) -> Job:
    """Return the work of trying a scenario."""
    state, changes = panel.state(), list(scenario.changes)
    base, looked_at, content = answering(panel), looking(panel), bytes(panel.content)
    wanted = with_choices(state, changes)

    def work() -> Tried:
        from evenhand.answers.decision import decide
        from evenhand.answers.ranking import rank
        from evenhand.answers.what_if import Difference, changed

        answer: Answer = base.outcome()
        if answer.stops:  # what is shown then lacks a score that the scenario has, or has no ranks
            why = answer.why or _("Settle what must be checked first; then try changes.")
            return Tried(answer, answer.fit, None, None, str(why))
        found = answer.found.combined
        if wanted["options"] != state["options"]:
            looked = look(content, state["name"], wanted["options"], state["corrections"])
            if looked.scores is None:
                raise InputError(looked.problems)
            found = fit_by(looked.scores, wanted["choices"]).combined
        elif _unlike(wanted["choices"], state["choices"]):
            found = fit_by(found.panel, wanted["choices"]).combined
        tell("trying the changes", 0, None)
        told = changes_of(changes)
        if found.panel.n_assessments != scores_of(looked_at).n_assessments and any(told.values()):
            # a value is of several scores, which only the file has one by one
            why = _("With several criteria scores cannot be tried one by one: correct them on the page Reading.")
            return Tried(answer, found, None, None, str(why))
        fit = changed(found, **told) if any(told.values()) else found
        places = places_of(fit, wanted["choices"])
        if places is None:
            return Tried(answer, fit, None, None, str(_("Say how many places there are, and who has one is compared.")))
        try:
            decision = decide(rank(fit, top=places), places)
        except NotRankableError as error:
            return Tried(answer, fit, None, None, str(error))
        saved = answer.decision
        return Tried(answer, fit, None if saved is None else Difference(saved, decision), decision, answer.why)

    return jobs.start(f"try-{mark([state, changes])}", "trying", work)


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    names = ("method", "refinement", "gauge")
    return any(one.get(name) != other.get(name) for name in names)


def changes_of(changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the changes of scores as :func:`evenhand.answers.what_if.changed` takes them; a later one counts."""
    put: dict[tuple[str, str], float] = {}
    removed: dict[tuple[str, str], None] = {}
    for one in changes:
        pair = (one.get("object", ""), one.get("assessor", ""))
        if one["type"] == "score":
            removed.pop(pair, None)
            put[pair] = one["score"]
        elif one["type"] == "without_score":
            put.pop(pair, None)
            removed[pair] = None
    without = [one["assessor"] for one in changes if one["type"] == "without_assessor"]
    return {
        "put": [(*pair, score) for pair, score in put.items()],
        "remove": [pair for pair in removed if pair[1] not in without],
        "without": list(dict.fromkeys(without)),
    }


def cells_of(scores: Scores, changes: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """Return the cells, by row and column with their new text, that changes of scores come to."""
    if scores.rows is None or scores.reading is None:
        raise InputError("The rows of this panel are not known: change the file itself.", kind="bad_change")
    told = changes_of(changes)
    new = {(o, a): f"{score:g}" for o, a, score in told["put"]} | dict.fromkeys(told["remove"], "")
    found = []
    for at, (o, a) in enumerate(zip(scores.object_index.tolist(), scores.assessor_index.tolist(), strict=True)):
        pair = (str(scores.objects[o]), str(scores.assessors[a]))
        if pair[1] not in told["without"] and pair not in new:
            continue
        criterion = None if scores.criterion is None else str(scores.criterion[at])
        column = scores.reading.column_of(*pair, criterion)
        if column is None:
            raise InputError(
                f"The cell in which {pair[1]} scored {pair[0]} is not known: change the file itself.", kind="bad_change"
            )
        found.append((int(scores.rows[at]), column, "" if pair[1] in told["without"] else new[pair]))
    return found
