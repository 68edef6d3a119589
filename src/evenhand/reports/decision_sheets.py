"""The first sheets of a workbook, in words that a chair reads: the decision, its charts, the scores and the biases."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.answers.alert import Alert
from evenhand.answers.alerts import provisional
from evenhand.answers.decision import Decision, Standing, in_order
from evenhand.io.sheets import Cell, Chart, Column, Formula, Line, Link, Series, Sheet
from evenhand.look import LIGHT, STATUS
from evenhand.models.average import simple_average
from evenhand.models.fit import Fit
from evenhand.panel.confidence import LEVEL_NAMES, precision_of_level
from evenhand.panel.panel import Panel
from evenhand.reports.summary import Summary, alert_records, find_alerts
from evenhand.words import (
    argument,
    count_of,
    decimals,
    lowered,
    name_some,
    percent,
    plural,
    printable,
    quoted,
    sentence,
)

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit

DECISION, CHARTS, SCORES, BIASES, CHART_DATA = "decision", "charts", "scores", "biases", "chart_data"
"""Names of the sheets."""

MOST_SCORES: Final = 100_000
"""Up to this many scores are listed."""

STATUS_WORDS: Final = {status: word for status, (word, _) in STATUS.items()}
_FILLS: Final = {"In": LIGHT["in-soft"], "Open": LIGHT["open-soft"], "Out": LIGHT["out-soft"]}
_MARKS: Final = {
    "In": (LIGHT["in"], "circle"),
    "Open": (LIGHT["open-fill"], "diamond"),
    "Out": (LIGHT["out"], "square"),
}
_SIDES: Final = {"generous": LIGHT["generous"], "strict": LIGHT["strict"], "like the panel": LIGHT["out"]}
_SIDE_FILLS: Final = {
    "generous": LIGHT["generous-soft"],
    "strict": LIGHT["strict-soft"],
    "like the panel": LIGHT["out-soft"],
}
_INK: Final = LIGHT["ink"]

_CHANCE: Final = '[<=0.005]"<1%";[>=0.995]">99%";0%'
"""Whole percent that never claim certainty."""

_ALERTS: Final = 4
"""Alerts that stand above the table, which stay in sight with its headings; the notes have all."""

_NAMED: Final = 60
"""Up to this many objects have their names below the chart, more have their ranks."""

_LONGEST: Final = 18
"""Letters of a name in a chart."""

_POINTS, _BARS = 4000, 60
"""Most points and most bars of a chart."""

_MOST_LOOKED_UP: Final = 100_000_000
"""Objects times scores up to which plain averages are formulas: each looks at every score."""


def decision_sheets(
    found: Fit | CriteriaFit,
    decision: Decision | None = None,
    alerts: Sequence[Alert] | None = None,
    changes: Sequence[str] = (),
) -> list[Sheet]:
    """Return what people read first: the decision, or values without places; charts; scores by object; biases.

    Alerts are found unless they are given; ``changes`` say what was left out or changed by hand. Until what must be
    checked is settled, these sheets are without it.
    """
    alerts = find_alerts(found.combined, decision) if alerts is None else alerts
    alerted, without = alert_records(alerts), provisional(alerts)
    if without is not None:
        found, decision = without.fit, without.decision
    fit = found.combined
    standings = _by_value(fit) if decision is None else decision.standings
    form = points_form(fit)
    first = Sheet(
        DECISION, [], fixed=2, above=_above(fit, decision, alerted, changes), below=_below(fit, decision, alerted)
    )
    biases = _biases_sheet(fit, form)
    scores = _scores_sheet(found, standings, first, biases, form)
    places = 0 if decision is None or decision.line is None else decision.places
    first = replace(first, columns=_decision_columns(fit, decision, standings, scores, form), places=places)
    further = [*([scores] if scores.rows else []), *([biases] if biases.rows else [])]
    charts, drawn = _charts(fit, decision, standings, first.above[0], form)
    return [_with_formulas(first, standings, scores), charts, *further, drawn]


def points_form(fit: Fit) -> str:
    """Return how points are shown: one decimal, more where scores span under ten; a power of ten where that is needed.

    The minus sign is the real one.
    """
    digits = decimals(float(np.ptp(fit.panel.score)))
    largest = float(np.max(np.abs(fit.values.estimate), initial=0.0))
    shown = "0.00E+00" if largest >= 1e7 or 0 < largest < 10.0**-digits else f"0.{'0' * digits}"
    return f'{shown};"−"{shown}'


def _signed(form: str) -> str:
    """Return how numbers with a sign are shown."""
    shown = form.partition(";")[0]
    return f"+{form};{shown}"


# --- the decision ----------------------------------------------------------------------------------


def _by_value(fit: Fit) -> tuple[Standing, ...]:
    """Return the rows of the table where nothing is decided: by value, within groups that can be compared."""
    values = fit.values
    count = len(values.labels)
    titles = values.details.get("title") or [None] * count
    average = simple_average(fit.panel).values.estimate
    lower, upper = ([None] * count if end is None else end.tolist() for end in (values.lower, values.upper))
    order = sorted(in_order(fit), key=lambda at: int(values.component[at]))
    return tuple(
        Standing(
            place=place,
            object=values.labels[at],
            title=titles[at],
            value=float(values.estimate[at]),
            lower=lower[at],
            upper=upper[at],
            average=float(average[at]),
            rank_lower=1,
            rank_upper=count,
            chance=math.nan,
            status="undecided",
            assessments=int(values.assessments[at]),
        )
        for place, at in enumerate(order, start=1)
    )


def _above(fit: Fit, decision: Decision | None, alerted: Sequence[Summary], changes: Sequence[str]) -> list[Line]:
    """Return the headline, the alerts and what the statuses mean; nothing is decided before a stop is settled."""
    if decision is None:
        headline = f"{sentence(count_of(fit.panel.n_objects, fit.panel.noun))} in the order of their values"
        meaning = f"No places are given out: {argument('top', 'K')} says who is in, open or out for K of them."
    else:
        headline = decision.headline(by_method=any(one["doubtful"] for one in alerted))
        meaning = decision.meaning()
    alerts = alert_lines(alerted)
    if alerts and alerts[0].kind == "stop":
        return [
            Line("No decision yet", "title"),
            *alerts,
            Line(f"Provisional: {lowered(headline)}. {meaning}"),
            *map(Line, changes),
            Line(""),
        ]
    chosen = "" if decision is None else decision.choice_words()
    beside = [Line(one["beside"], "check") for one in alerted if one["beside"]]
    said = [*changes, meaning, *([chosen] if chosen else []), ""]
    return [Line(headline, "title"), *beside, *alerts, *map(Line, said)]


def alert_lines(alerted: Sequence[Summary]) -> list[Line]:
    """Return a line for each alert that stands before the answer: what it is, where, and what to do."""
    serious = [one for one in alerted if one["level"] != "note"]
    lines = []
    for one in serious[:_ALERTS]:
        lines.append(Line(alert_words(one), one["level"]))
        lines += [Line(_outcome_words(case), "check") for case in one["outcomes"]]
    more = len(serious) - _ALERTS
    return [*lines, Line(f"{more:,} more: see the sheet notes.", "check")] if more > 0 else lines


def _outcome_words(case: Summary) -> str:
    """Return what would come out if a score were another."""
    place = "has no place" if case["place"] is None else f"ranks {case['place']:,}"
    groups = [f"{len(case[status]):,} {word.lower()}" for status, word in STATUS_WORDS.items() if status in case]
    inside = f" ({name_some([quoted(one) for one in case['in']], 5)})" if case.get("in") else ""
    counts = f"; {groups[0]}{inside}, {', '.join(groups[1:])}" if groups else ""
    return f"{sentence(case['case'])}: {quoted(case['object'])} {place}{counts}."


def alert_words(alert: Summary) -> str:
    """Return an alert in a line: its headline, its place and its remedy."""
    level = sentence(alert["level"])
    start = alert["headline"] if alert["headline"].startswith(level) else f"{level}: {alert['headline']}"
    places = [] if alert["where"] is None else alert["where"].split(", ")
    is_said = all(re.search(rf"(?<!\w){re.escape(place)}(?!\w)", start) for place in places)
    where = "" if is_said else f" ({alert['where']})"
    remedy = sentence(alert["remedy"]).rstrip(".")
    said = f"{start}{where}. {remedy}." if remedy else f"{start}{where}."
    return said.replace("`", "")


def _below(fit: Fit, decision: Decision | None, alerted: Sequence[Summary]) -> list[Line]:
    """Return what is worth knowing after the answer."""
    said = [] if decision is None else [f"{decision.line_words()} {decision.averages_words()}".strip()]
    said += [alert_words(one) for one in alerted if one["level"] == "note"]
    how = "Difference is Value less Plain average; underlined names lead to the scores."
    if fit.values.lower is not None:
        ranks = "" if decision is None else ", Best rank and Worst rank those of the range of ranks"
        how = f"From and To are the ends of the {percent(fit.values.interval)} interval{ranks}. {how}"
    said.append(how)
    if any(one["outcomes"] for one in alerted):
        said.append("No sheet counts what must be checked.")
    return [Line(text) for text in said if text]


def _decision_columns(
    fit: Fit, decision: Decision | None, standings: Sequence[Standing], scores: Sheet, form: str
) -> list[Column]:
    """Return the columns of the table that people want, those that are formulas still as numbers."""
    names: list[Cell] = [one.object for one in standings]
    if scores.rows:  # the scores are in the order of the objects
        before = np.cumsum([0, *(_listed(scores, len(standings)))])
        names = [Link(one.object, SCORES, scores.first + int(before[at])) for at, one in enumerate(standings)]
    columns = [Column(_number(fit), [one.place for one in standings])]
    columns.append(Column(sentence(fit.panel.noun), names, widest=32))
    if any(one.title for one in standings):
        columns.append(Column("Title", [one.title for one in standings], widest=44))
    columns.append(Column("Value", [one.value for one in standings], form))
    if fit.values.lower is not None:
        columns.append(Column("From", [one.lower for one in standings], form))
        columns.append(Column("To", [one.upper for one in standings], form))
    columns.append(Column("Plain average", [one.average for one in standings], form))
    columns.append(Column("Difference", [one.value - one.average for one in standings], _signed(form)))
    if decision is not None:
        columns += [
            Column("Best rank", [one.rank_lower for one in standings]),
            Column("Worst rank", [one.rank_upper for one in standings]),
            Column("Chance", [one.chance for one in standings], _CHANCE),
            Column("Status", [STATUS_WORDS[str(one.status)] for one in standings], fills=_FILLS),
        ]
        if decision.drawn is not None:
            columns.append(Column("Drawn by lot", ["yes" if one.drawn else None for one in standings]))
        if decision.choice is not None:
            columns.append(Column("Chosen by the panel", ["yes" if one.chosen else None for one in standings]))
    if _has_groups(fit):
        at = {label: position for position, label in enumerate(fit.values.labels)}
        columns.append(Column("Group", [int(fit.values.component[at[one.object]]) + 1 for one in standings]))
        columns.append(Column("Rank in it", [int(fit.values.rank[at[one.object]]) for one in standings]))
    return [*columns, Column("Scores", [one.assessments for one in standings])]


def _has_groups(fit: Fit) -> bool:
    return int(fit.values.component.max()) > 0


def _number(fit: Fit) -> str:
    """Return the heading of what tells rows apart: the rank, unless there are groups that cannot be compared."""
    return "No." if _has_groups(fit) else "Rank"


def _listed(scores: Sheet, count: int) -> list[int]:
    """Return how many scores are listed for each object, in the order of the decision."""
    ranks = np.array([int(rank) for rank in scores.columns[0].cells if isinstance(rank, int)])
    return [int(found) for found in np.bincount(ranks, minlength=count + 1)[1:]]


def _with_formulas(first: Sheet, standings: Sequence[Standing], scores: Sheet) -> Sheet:
    """Return the decision with plain averages and differences as formulas, which a chair can follow.

    Averages are looked up by rank, not by name: a name such as ``>5`` or ``a*`` would be a condition.
    """
    value, average = first.letter("Value"), first.letter("Plain average")
    rows = range(first.first, first.first + first.rows)
    made: dict[str, list[Cell]] = {
        "Difference": [
            Formula(f"={value}{row}-{average}{row}", one.value - one.average)
            for row, one in zip(rows, standings, strict=True)
        ]
    }
    has_criteria = any(column.name == "Criterion" for column in scores.columns)
    if scores.rows and not has_criteria and scores.rows * len(standings) <= _MOST_LOOKED_UP:
        ranks, given = scores.range(scores.columns[0].name), scores.range("Score")
        made["Plain average"] = [
            Formula(f"=AVERAGEIF({ranks},A{row},{given})", one.average)
            for row, one in zip(rows, standings, strict=True)
        ]
    columns = [replace(column, cells=made.get(column.name, column.cells)) for column in first.columns]
    return replace(first, columns=columns)


# --- scores and biases -----------------------------------------------------------------------------


def declared(panel: Panel) -> tuple[str, list[Any]]:
    """Return how sure each assessor said to be, under a heading: a level, a standard deviation or a weight."""
    if panel.confidence == "none":
        return "Confidence", [None] * panel.n_assessments
    if panel.confidence == "confidence":
        return "Confidence", list(panel.precision.tolist())
    if panel.confidence == "level" and panel.factor is not None:
        levels = precision_of_level(list(LEVEL_NAMES), panel.factor).tolist()
        words = dict(zip(levels, LEVEL_NAMES.values(), strict=True))
        named = [words.get(precision) for precision in panel.precision.tolist()]
        if None not in named:  # combined assessments lie between levels
            return "Confidence", named
    return "Uncertainty", list((1 / np.sqrt(panel.precision)).tolist())


def _scores_sheet(
    found: Fit | CriteriaFit, standings: Sequence[Standing], first: Sheet, biases: Sheet, form: str
) -> Sheet:
    """Return every score, by object in the order of the decision, and what was to be expected instead."""
    fit, noun = found.combined, found.panel.noun
    lines = [
        Line(f"The scores, {noun} by {noun}", "title"),
        Line(
            "Expected is what value and bias lead to expect, Unexplained is Score less Expected. "
            f"Underlined names lead back to the {plural(noun)} and to the biases of assessors."
        ),
        Line(""),
    ]
    sheet = Sheet(SCORES, [], fixed=3, above=lines)
    if found.panel.n_assessments > MOST_SCORES:
        return sheet
    place = {one.object: one.place for one in standings}
    fits: Mapping[Any, Fit] = found.fits if found.criteria else {None: fit}
    rows = sorted((row for key, one in fits.items() for row in _score_rows(key, one)), key=lambda row: place[row[0]])
    labels, who, given, sure, bias, fitted, criteria = (list(cells) for cells in zip(*rows, strict=True))
    row_of = {label: biases.first + at for at, label in enumerate(_by_bias(fit))} if biases.rows else {}
    columns = [
        Column(_number(fit), [place[label] for label in labels]),
        Column(sentence(noun), [Link(one, DECISION, first.header + 1 + place[one]) for one in labels], widest=32),
        Column("Assessor", [Link(one, BIASES, row_of[one]) if row_of else one for one in who], widest=32),
        Column("Score", given, "General"),
        *([Column(declared(found.panel)[0], sure, "General")] if any(one is not None for one in sure) else []),
        *([Column("Criterion", criteria)] if found.criteria else []),
        *([Column("Bias", bias, _signed(form))] if fit.is_calibrated else []),
        Column("Expected", fitted, form),
    ]
    score, expected = (replace(sheet, columns=columns).letter(name) for name in ("Score", "Expected"))
    left = [
        Formula(f"={score}{row}-{expected}{row}", one - other)
        for row, (one, other) in enumerate(zip(given, fitted, strict=True), sheet.first)
    ]
    return replace(sheet, columns=[*columns, Column("Unexplained", left, _signed(form))])


def _score_rows(criterion: str | None, fit: Fit) -> Iterable[tuple[Any, ...]]:
    """Yield object, assessor, score, what was declared, bias, what was expected, and the criterion of each score."""
    panel, bias = fit.panel, fit.biases.estimate.tolist()
    cells = zip(panel.object_index, panel.assessor_index, panel.score.tolist(), fit.fitted.tolist(), strict=True)
    for (at, who, score, fitted), sure in zip(cells, declared(panel)[1], strict=True):
        yield panel.objects[at], panel.assessors[who], score, sure, bias[who], fitted, criterion


def _by_bias(fit: Fit) -> list[str]:
    """Return the assessors from the most generous to the strictest, within groups that can be compared."""
    biases = fit.biases
    order = np.lexsort((-biases.estimate, biases.component))
    return [biases.labels[at] for at in order.tolist()]


def _side(lower: float | None, upper: float | None) -> str:
    """Return the word for a bias: only where the interval leaves out zero is it told from none."""
    if lower is None or upper is None:
        return ""
    return "generous" if lower > 0 else "strict" if upper < 0 else "like the panel"


def _bias_rows(fit: Fit) -> list[tuple[str, float, float | None, float | None, int]]:
    """Return label, bias, the ends of its interval and the number of scores, the most generous first."""
    biases = fit.biases
    count = len(biases.labels)
    lower, upper = ([None] * count if end is None else end.tolist() for end in (biases.lower, biases.upper))
    at = {label: position for position, label in enumerate(biases.labels)}
    return [
        (one, float(biases.estimate[at[one]]), lower[at[one]], upper[at[one]], int(biases.assessments[at[one]]))
        for one in _by_bias(fit)
    ]


def _biases_sheet(fit: Fit, form: str) -> Sheet:
    """Return the assessors from the most generous to the strictest; no rows where nothing was calibrated."""
    lines = [
        Line("Biases of the assessors, the most generous first", "title"),
        Line(
            "Bias is how far an assessor's scores lie above (+) or below (−) those of the panel for the same work. "
            f"From and To are the ends of the {percent(fit.biases.interval)} interval."
        ),
        Line(""),
    ]
    sheet = Sheet(BIASES, [], fixed=1, above=lines)
    if not fit.is_calibrated:
        return sheet
    labels, bias, lower, upper, count = (list(cells) for cells in zip(*_bias_rows(fit), strict=True))
    columns = [Column("Assessor", labels, widest=40), Column("Bias", bias, _signed(form))]
    if fit.biases.lower is not None:
        columns += [Column("From", lower, _signed(form)), Column("To", upper, _signed(form))]
        sides = [_side(low, high) for low, high in zip(lower, upper, strict=True)]
        columns.append(Column("Beside the panel", sides, fills=_SIDE_FILLS))
    return replace(sheet, columns=[*columns, Column("Scores", count)])


# --- charts ----------------------------------------------------------------------------------------


def _charts(
    fit: Fit, decision: Decision | None, standings: Sequence[Standing], headline: Line, form: str
) -> list[Sheet]:
    """Return a sheet of charts, and one of the numbers that they draw."""
    drawn, bars = standings[:_POINTS], _bars(fit)
    columns = [*_points_columns(drawn, form, is_decided=decision is not None)]
    names = [column.name for column in columns]
    marks = _MARKS if decision is not None else {"Value": _MARKS["Out"]}
    series = [Series(name, names.index(name), *_soft(name), mark) for name, (_, mark) in marks.items()]
    series.append(Series("Plain average", names.index("Plain average"), _INK, mark="long_dash"))
    share = percent(fit.values.interval)
    reaches = [end for one in drawn for end in (one.lower, one.upper, one.value, one.average) if end is not None]
    title = f"Values, the highest first, with their {share} intervals" if fit.values.lower is not None else "Values"
    charts = [
        Chart(
            "points",
            title,
            CHART_DATA,
            len(drawn),
            0,
            series,
            names.index("Below"),
            _around(reaches),
            form,
            "points",
            2,
            440,
        )
    ]
    if bars:
        start = len(columns) + 1
        columns += [Column(""), *_bars_columns(bars, form)]
        sides = [
            Series(sentence(word), start + 1 + at, colour, _SIDE_FILLS[word])
            for at, (word, colour) in enumerate(_SIDES.items())
        ]
        largest = max(abs(end) for _, *ends, _ in bars for end in ends if end is not None)
        ends = _around([-largest, largest])
        height = 160 + 26 * len(bars)
        title = _bars_title(fit, len(bars))
        charts.append(
            Chart(
                "bars", title, CHART_DATA, len(bars), start, sides, start + 4, ends, _signed(form), "points", 25, height
            )
        )
    return [Sheet(CHARTS, [], above=[headline], charts=charts), Sheet(CHART_DATA, columns, has_filter=False)]


def _soft(name: str) -> tuple[str, str]:
    """Return the colour of a status, and that of its intervals."""
    return _MARKS.get(name, _MARKS["Out"])[0], _FILLS.get(name, _FILLS["Out"])


def _points_columns(standings: Sequence[Standing], form: str, *, is_decided: bool) -> list[Column]:
    """Return a column for each status, empty where an object has another, and how far intervals reach."""
    has_names = len(standings) <= _NAMED
    labels: list[Cell] = [_short(one.object) if has_names else one.place for one in standings]
    words = [STATUS_WORDS[str(one.status)] if is_decided else "Value" for one in standings]
    below = [0.0 if one.lower is None else one.value - one.lower for one in standings]
    above = [0.0 if one.upper is None else one.upper - one.value for one in standings]
    columns = [Column("Object" if has_names else "Rank", labels)]
    for word in STATUS_WORDS.values() if is_decided else ("Value",):
        mine = [one.value if its == word else None for one, its in zip(standings, words, strict=True)]
        columns.append(Column(word, mine, form))
    columns.append(Column("Plain average", [one.average for one in standings], form))
    return [*columns, Column("Below", below, form), Column("Above", above, form)]


def _bars(fit: Fit) -> list[tuple[str, float, float | None, float | None, int]]:
    """Return the assessors of the chart, the strictest first, as bars stand from below; of many, both ends."""
    rows = _bias_rows(fit)[::-1] if fit.is_calibrated else []
    if any(one[1] for one in rows):
        return rows if len(rows) <= _BARS else [*rows[: _BARS // 2], *rows[-_BARS // 2 :]]
    return []


def _bars_title(fit: Fit, shown: int) -> str:
    share = percent(fit.biases.interval)
    ends = "" if fit.biases.lower is None else f" and their {share} intervals"
    if shown < len(fit.biases.labels):
        return f"Biases of the {shown // 2} most generous and the {shown // 2} strictest assessors{ends}"
    return f"Biases of the assessors{ends}"


def _bars_columns(bars: Sequence[tuple[str, float, float | None, float | None, int]], form: str) -> list[Column]:
    """Return a column for each side, empty where an assessor is on another, and how far intervals reach."""
    sides = [_side(low, high) or ("generous" if bias > 0 else "strict") for _, bias, low, high, _ in bars]
    columns = [Column("Assessor", [_short(one[0]) for one in bars])]
    for word in _SIDES:
        mine = [one[1] if side == word else None for one, side in zip(bars, sides, strict=True)]
        columns.append(Column(sentence(word), mine, _signed(form)))
    below = [0.0 if low is None else bias - low for _, bias, low, _, _ in bars]
    above = [0.0 if high is None else high - bias for _, bias, _, high, _ in bars]
    return [*columns, Column("Below", below, form), Column("Above", above, form)]


def _short(label: str) -> str:
    """Return a name for a chart: without control characters, which its file cannot hold, and cut where it is long."""
    shown = "".join(one if unicodedata.category(one) == "Cf" else printable(one) for one in label)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST // 2]}…{shown[-_LONGEST // 2 + 1 :]}"


def _around(numbers: Sequence[float]) -> tuple[float, float, float]:
    """Return the ends of an axis around some numbers, and a round distance for its lines.

    Examples
    --------
    >>> _around([41.2, 96.3]), _around([-18.0, 18.0])
    ((40.0, 100.0, 10.0), (-20.0, 20.0, 5.0))
    """
    low, high = min(numbers), max(numbers)
    spread = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(spread))
    step = next(power * size for size in (0.2, 0.5, 1.0, 2.0) if spread <= 8 * power * size)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step
