"""Pictures of results: values, biases, chances of a place, and of every rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
from numpy.typing import NDArray

from evenhand.answers.decision import decide
from evenhand.answers.ranking import Ranking, ranking_of
from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError, bad_option
from evenhand.look import LIGHT, STATUS
from evenhand.models.effects import Effects
from evenhand.models.fit import Fit
from evenhand.plots import labels, style
from evenhand.plots.labels import Codes
from evenhand.plots.style import GREY, INK, WIDTH, Chart
from evenhand.words import chance as in_percent
from evenhand.words import count_of, is_or_are, sentence

_MOST_BARS: Final = 60
"""Up to this many chances of a place are bars with names; of more, those about the line are dots."""

_MOST_RANKS: Final = 60
"""Up to this many objects have a row of their own in a rankogram."""

_MOST_TICKS: Final = 20
"""Up to this many ranks are all named on an axis."""

_LEAST: Final = 0.005
"""Smaller probabilities are left blank."""

_SIDES: Final = ("generous", "like the panel", "strict")
_SIDE_COLOURS: Final = (LIGHT["generous"], GREY, LIGHT["strict"])
_SIDE_SOFT: Final = (LIGHT["generous-soft"], LIGHT["out-soft"], LIGHT["strict-soft"])
"""Assessors whose interval leaves out zero have a side; the others are like the panel."""

_SOFT: Final = alt.Color("soft:N", scale=None)
"""The softer colour of an interval, which its row names: legends are of dots alone."""

_SHADE: Final = alt.Color(
    "chance:Q",
    scale=alt.Scale(type="sqrt", range=list(style.SHADES), domainMin=0),
    legend=alt.Legend(format="%", orient="right", title="probability"),
)
_CHANCE: Final = alt.Tooltip("chance:Q", title="probability", format=".1%")


def values(given: Fit | Ranking, *, most: int | None = None) -> Chart:
    """Return the values with their intervals in rank order, beside the plain averages.

    Of a ranking with a number of places, also who is in, open and out, with a line below the last place.

    Parameters
    ----------
    given
        Any fit, or ranks from :func:`evenhand.rank`.
    most
        Show only so many, the highest; of each group, where the panel is not connected.

    Examples
    --------
    >>> from evenhand import simulate_panel, calibrate
    >>> chart = values(calibrate(simulate_panel(10, 4, 3, seed=1).panel))
    >>> chart.to_dict()["title"]["text"]
    ['Calibrating moves object 5 most: by +6.9 points from its plain average']
    """
    ranking = given if isinstance(given, Ranking) and given.top is not None else None
    fit: Fit = given.fit if isinstance(given, Ranking) else given
    panel, effects = fit.panel, fit.values
    names = labels.drawable(effects.labels)
    average = sum_by(panel.object_index, panel.score, panel.n_objects) / panel.object_assessments
    moved = effects.estimate - average
    digits = labels.decimals(np.concatenate([effects.estimate, average]))
    differ = not labels.is_nothing(moved, panel.score)
    order = "from the highest value down"
    groups = labels.groups_of(effects.component, effects.estimate)
    status = None
    if ranking is not None and ranking.top is not None:
        decision = decide(ranking, ranking.top)
        status = list(decision.status)
    drawn = groups[: labels.MOST_GROUPS]
    shown = [members[: style.at_most(most, members.size)] for members in drawn]
    left_out = sum(members.size - kept.size for members, kept in zip(drawn, shown, strict=True))
    mark = "small dot" if style.is_compact(shown[0]) else "tick"
    notes = [
        f"{sentence(fit.name)} of {count_of(panel.n_objects, panel.noun)}, {order}. "
        f"{style.interval_note(effects, fit)}",
        f"A dot is the value, a {mark} the plain average of the same scores." if differ else "",
        f"{count_of(left_out, 'lower value')} left out." if left_out else "",
        labels.thin_note(shown),
        style.group_note(len(groups)),
    ]
    if ranking is not None and ranking.top is not None:
        title = _top_title(len(decision.inside), len(decision.undecided), ranking.top)
    elif differ:
        at = int(np.argmax(np.abs(moved)))
        verb = "Calibrating" if fit.is_calibrated else "Weighing scores by confidence"
        by = labels.number(moved[at], digits, signed=True)
        title = f"{verb} moves {labels.named(names[at], panel.noun)} most: by {by} points from its plain average"
    else:
        title = "Values are the plain averages here"
        if len(groups) == 1:
            at = int(np.argmax(effects.estimate))
            best = labels.number(effects.estimate[at], digits)
            title += f"; the highest is that of {labels.named(names[at], panel.noun)}, {best} points"
    what = f"Dot plot of {count_of(panel.n_objects, 'value')} in rank order"
    if len(groups) == 1:
        ends = (int(np.argmax(effects.estimate)), int(np.argmin(effects.estimate)))
        what += ", from " + " to ".join(
            f"{names[i]} ({labels.number(effects.estimate[i], digits)} points)" for i in ends
        )

    def draw(members: Codes) -> Any:
        kept = labels.thin(members[: style.at_most(most, members.size)])
        rows = _value_rows(fit, names, average if differ else None, kept, digits, status)
        return rows if ranking is None else alt.layer(rows, _line_below(labels.chosen(names, kept), ranking.top))

    return style.finish(style.by_group(groups, "object", draw), title, notes, what)


def _value_rows(
    fit: Fit, names: list[str], average: Floats | None, order: Codes, digits: int, status: Sequence[str] | None
) -> Any:
    effects = fit.values
    shown = labels.chosen(names, order)
    compact = style.is_compact(shown)
    columns = _effect_columns(effects, shown, order)
    tips: list[Any] = [("name", "object"), ("place", "rank", 0), ("value", "value", digits)]
    if average is not None:
        columns["average"] = average[order]
        columns["moved"] = effects.estimate[order] - average[order]
        tips += [("average", "plain average", digits), ("moved", "moved by", digits)]
    if effects.lower is not None:
        tips += style.interval_tips(digits)
    tips.append(("assessments", "scores", 0))
    dark: Any = alt.value(INK)
    soft: Any = alt.value(style.SOFT)
    if status is not None:
        columns["place"] = np.arange(1, order.size + 1)
        columns["status"] = [style.STATUS_NAMES[status[i]] for i in order.tolist()]
        tips.append(("status", "status"))
        columns["soft"] = [style.STATUS_SOFT[status[i]] for i in order.tolist()]
        known = style.palette(list(style.STATUS_NAMES.values()), list(style.STATUS_COLOURS.values()))
        dark, soft = alt.Color("status:N", scale=known), _SOFT
    tooltip = style.tooltips(*tips)
    y, height = style.rows_of(shown, "object", "rank", int(columns["place"].max()))
    base = alt.Chart(style.data_of(**columns), width=WIDTH, height=height).encode(y=y)

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="value in points", scale=alt.Scale(zero=False, padding=8))

    layers = []
    if effects.lower is not None:
        layers.append(_intervals(base, across, soft, compact=compact))
    if average is not None:
        if not compact:
            layers.append(
                base.mark_rule(color=GREY, strokeWidth=1, aria=False).encode(x=across("average"), x2="value:Q")
            )
            layers.append(base.mark_tick(color=INK, thickness=2, size=12).encode(x=across("average"), tooltip=tooltip))
        else:
            dust = base.mark_point(filled=True, color=GREY, size=5, opacity=0.7 if order.size <= 1000 else 0.4)
            layers.append(dust.encode(x=across("average"), tooltip=tooltip))
    points = base.mark_point(filled=True, size=10 if compact else 60, opacity=1)
    layers.append(points.encode(x=across("value"), color=dark, tooltip=tooltip))
    return alt.layer(*layers)


def _intervals(base: Any, across: Callable[[str], alt.X], colour: Any, *, compact: bool) -> Any:
    """Return a bar for each interval; of many one grey area, since hundreds of thin lines flicker."""
    if not compact:
        return base.mark_rule(strokeWidth=8, aria=False).encode(x=across("lower"), x2="upper:Q", color=colour)
    area = base.mark_area(orient="horizontal", interpolate="step", line=False, color=style.SOFT, aria=False)
    return area.encode(x=across("lower"), x2="upper:Q")


def _line_below(shown: list[str], places: int | None) -> Any:
    """Return the line below the last place."""
    if places is None or places >= len(shown):
        return alt.layer()
    rule: dict[str, Any] = {"color": INK, "strokeWidth": 2, "aria": False}
    if style.is_compact(shown):
        return alt.Chart(style.data_of(end=[places + 0.5])).mark_rule(**rule).encode(y="end:Q")
    last = alt.Y("name:N", sort=None, scale=alt.Scale(domain=shown), bandPosition=1)
    return alt.Chart(style.data_of(name=[shown[places - 1]])).mark_rule(**rule).encode(y=last)


def _effect_columns(effects: Effects, shown: list[str], order: Codes) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "name": shown,
        "place": effects.rank[order],
        effects.name: effects.estimate[order],
        "assessments": effects.assessments[order],
    }
    if effects.lower is not None and effects.upper is not None:
        columns |= {"lower": effects.lower[order], "upper": effects.upper[order]}
    return columns


def biases(fit: Fit) -> Chart:
    """Return the biases of the assessors with their intervals, from generous to strict, about zero.

    Parameters
    ----------
    fit
        A fit with biases; averages have none.

    Raises
    ------
    InputError
        If the fit is an average.
    """
    if not fit.is_calibrated:
        raise InputError(
            f"There are no biases to show: {fit.name} takes every assessor's standard to be the same.",
            kind="bad_method",
        )
    panel, effects = fit.panel, fit.biases
    names = labels.drawable(effects.labels)
    digits = labels.decimals(np.append(effects.estimate, 0.0))
    groups = labels.groups_of(effects.component, effects.estimate)
    notes = [
        f"{sentence(fit.name)}. A positive bias is generous, a negative one strict. "
        f"{style.interval_note(effects, fit)}",
        labels.thin_note(groups[: labels.MOST_GROUPS]),
        style.group_note(len(groups)),
    ]
    top, bottom = int(np.argmax(effects.estimate)), int(np.argmin(effects.estimate))
    if panel.n_assessors > 1 and labels.is_nothing(effects.estimate, panel.score):
        title = "No assessor is generous or strict: all biases are zero"
    elif panel.n_assessors == 1:
        title = "One assessor alone: there is nobody to compare their standard with"
    elif len(groups) > 1:
        title = f"Each of the {len(groups)} groups has its own zero, so biases compare within a group only"
    else:
        generous, strict = (labels.number(effects.estimate[i], digits, signed=True) for i in (top, bottom))
        title = (
            f"{labels.named(names[top], 'Assessor')} is the most generous ({generous} points), "
            f"{labels.named(names[bottom], 'assessor')} the strictest ({strict})"
        )
    chart = style.by_group(groups, "assessor", lambda members: _bias_rows(effects, names, labels.thin(members), digits))
    return style.finish(chart, title, notes, f"Dot plot of the biases of {count_of(panel.n_assessors, 'assessor')}")


def _bias_rows(effects: Effects, names: list[str], order: Codes, digits: int) -> Any:
    shown = labels.chosen(names, order)
    compact = style.is_compact(shown)
    columns = _effect_columns(effects, shown, order)
    tips: list[Any] = [("name", "assessor"), ("bias", "bias", digits)]
    y, height = style.rows_of(shown, "assessor", "place", int(columns["place"].max()))
    dark: Any = alt.value(INK)
    soft: Any = alt.value(style.SOFT)
    if effects.lower is not None and effects.upper is not None:
        tips += style.interval_tips(digits)
        side = np.where(effects.lower > 0, "generous", np.where(effects.upper < 0, "strict", "like the panel"))
        columns["side"] = side[order].tolist()
        tips.append(("side", "standard"))
        columns["soft"] = [_SIDE_SOFT[_SIDES.index(word)] for word in columns["side"]]
        dark, soft = alt.Color("side:N", scale=style.palette(_SIDES, _SIDE_COLOURS)), _SOFT
    tips.append(("assessments", "scores", 0))
    base = alt.Chart(style.data_of(**columns), width=WIDTH, height=height).encode(y=y)

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="bias in points")

    layers: list[Any] = [style.zero_line("x")]
    if effects.lower is not None:
        layers.insert(0, _intervals(base, across, soft, compact=compact))
    points = base.mark_point(filled=True, size=14 if compact else 60, opacity=1)
    layers.append(points.encode(x=across("bias"), color=dark, tooltip=style.tooltips(*tips)))
    return alt.layer(*layers)


def top(given: Fit | Ranking, k: int | None = None, *, seed: int | None = None) -> Chart:
    """Return each object's chance of a place among the top k, with the group that the data cannot separate.

    Where there are many objects, those with the clearest cases are left out, and counted.

    Parameters
    ----------
    given
        A fit of a connected panel, or ranks from :func:`evenhand.rank`.
    k
        The number of places; that of the ranking where not given.
    seed
        Seed of the draws; that of the ranking, or 0, where not given.
    """
    ranking = ranking_of(given, k, seed)
    places, chance = ranking.top, ranking.p_top
    if places is None or chance is None:
        raise bad_option("Say how many places there are: top(fit, 10).")
    decision = decide(ranking, places)
    order = np.argsort(-ranking.fit.values.estimate, kind="stable")
    status = np.array(decision.status)[order]
    kept = _near_the_line(status, places)
    names = labels.chosen(labels.drawable(ranking.fit.values.labels), order[kept])
    columns = {
        "name": names,
        "place": kept + 1,
        "chance": chance[order[kept]],
        "status": [style.STATUS_NAMES[word] for word in status[kept].tolist()],
        "expected": ranking.expected_rank[order[kept]],
        "lower": ranking.rank_lower[order[kept]],
        "upper": ranking.rank_upper[order[kept]],
        "value": ranking.fit.values.estimate[order[kept]],
    }
    tooltip = [
        *style.tooltips(("name", "object")),
        alt.Tooltip("chance:Q", title=f"P(top {places})", format=".1%"),
        *style.tooltips(("status", "status"), ("lower", "rank from", 0), ("upper", "rank to", 0)),
        *style.tooltips(("expected", "expected rank", 1)),
        *style.tooltips(("value", "value", labels.decimals(ranking.fit.values.estimate))),
    ]
    colour = alt.Color(
        "status:N", scale=style.palette(list(style.STATUS_NAMES.values()), list(style.STATUS_COLOURS.values()))
    )
    draw = _chance_bars if kept.size <= _MOST_BARS else _chance_profile
    chart = draw(columns, places, colour, tooltip)
    inside, undecided = len(decision.inside), len(decision.undecided)
    beyond = {word: int((status == key).sum() - (status[kept] == key).sum()) for key, (word, _) in STATUS.items()}
    clear = ", ".join(f"{count:,} {word.lower()}" for word, count in beyond.items() if count)
    notes = [
        f"By value; chances from {ranking.draws:,} draws (seed {ranking.seed}). Open are those whose "
        f"{labels.percent(ranking.interval)} interval of ranks crosses the line below place {places:,}.",
        "" if decision.caution is None else f"{sentence(decision.caution)}.",
        f"Left out, far from the line: {clear}." if clear else "",
    ]
    what = f"Bar chart of the chances of {count_of(kept.size, 'object')} to be among the top {places:,}"
    return style.finish(chart, _top_title(inside, undecided, places), notes, what)


def _near_the_line(status: NDArray[np.str_], places: int) -> Codes:
    """Return which places to show: all of few; of many those of the open, and some to either side."""
    if status.size <= _MOST_BARS:
        return np.arange(status.size)
    about = np.append(np.flatnonzero(status == "undecided"), places - 1)
    margin = max(10, int(np.ptp(about)) // 4)
    return np.arange(max(0, int(about.min()) - margin), min(status.size, int(about.max()) + margin + 1))


def _chance_bars(columns: dict[str, Any], places: int, colour: alt.Color, tooltip: list[alt.Tooltip]) -> Any:
    """Return a named bar for each chance, with the line below the last place."""
    y, height = style.rows_of(columns["name"], "object", "place")
    across = alt.X(
        "chance:Q",
        title=f"chance of a place among the top {places:,}",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%"),
    )
    # the word beside the figure, for those who cannot tell colours apart
    known = zip(columns["chance"].tolist(), columns["status"], strict=True)
    columns["figure"] = [f"{in_percent(chance)}  {word}" for chance, word in known]
    base = alt.Chart(style.data_of(**columns), width=WIDTH - 60, height=height).encode(y=y, x=across)
    bars = base.mark_bar(height=10).encode(color=colour, tooltip=tooltip)
    figures = base.mark_text(align="left", dx=5, color=style.INK_2, fontSize=11, aria=False).encode(text="figure:N")
    return alt.layer(bars, figures, _line_below(columns["name"], places - int(columns["place"][0]) + 1))


def _chance_profile(columns: dict[str, Any], places: int, colour: alt.Color, tooltip: list[alt.Tooltip]) -> Any:
    """Return a dot for each chance, by place, with the line after the last place."""
    first, last = int(columns["place"][0]), int(columns["place"][-1])
    dots = alt.Chart(style.data_of(**columns), width=WIDTH, height=300).mark_point(
        filled=True, size=24 if last - first < 400 else 12, opacity=1
    )
    dots = dots.encode(
        x=alt.X(
            "place:Q",
            title="rank",
            scale=alt.Scale(domain=[first, last], nice=False, padding=6),
            axis=alt.Axis(grid=False),
        ),
        y=alt.Y(
            "chance:Q",
            title=f"chance of a place among the top {places:,}",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%", tickCount=5),
        ),
        color=colour,
        tooltip=tooltip,
    )
    end = alt.Chart(style.data_of(end=[places + 0.5], text=[f"{places:,} places"]))
    rule = end.mark_rule(color=INK, strokeWidth=1.5, aria=False).encode(x="end:Q")
    word = end.mark_text(align="left", baseline="top", dx=5, color=style.INK_2, fontSize=12, aria=False)
    return alt.layer(rule, dots, word.encode(x="end:Q", y=alt.value(0), text="text:N"))


def _top_title(inside: int, undecided: int, places: int) -> str:
    if not undecided:
        return f"{inside:,} {is_or_are(inside)} in, and no other competes"
    left = "competes" if undecided == 1 else "compete"
    if not inside:
        every = "the only place" if places == 1 else f"all {places:,} places"
        return f"None is in; {undecided:,} {left} for {every}"
    left_over = max(places - inside, 0)
    others = "the other place" if left_over == 1 else f"the other {left_over:,} places"
    return f"{inside:,} {is_or_are(inside)} in; {undecided:,} {left} for {others}"


def rankogram(given: Fit | Ranking, *, most: int | None = None, seed: int | None = None) -> Chart:
    """Return how probable each rank is for each object.

    Where there are many objects, neighbours are taken together.

    Parameters
    ----------
    given
        A fit of a connected panel, or ranks from :func:`evenhand.rank`.
    most
        Show only so many objects, those with the best expected ranks.
    seed
        Seed of the draws; that of the ranking, or 0, where not given.
    """
    ranking = ranking_of(given, None, seed)
    count = ranking.expected_rank.size
    order = np.argsort(ranking.expected_rank, kind="stable")[: style.at_most(most, count)]
    chance = ranking.probabilities()[order]
    names = labels.drawable(ranking.fit.values.labels)
    step = 1 if order.size <= _MOST_RANKS else -(-order.size // 50)
    chart = _rank_rows(ranking, names, order, chance) if step == 1 else _rank_blocks(chance, step)
    width = ranking.rank_upper - ranking.rank_lower + 1
    together = ", which a dot marks." if step == 1 else f", {step} together: the mean of their probabilities."
    notes = [
        f"The stronger, the more probable; less than {labels.percent(_LEAST)} is blank. From {ranking.draws:,} draws "
        f"(seed {ranking.seed}). Objects by expected rank{together}",
        f"{count_of(count - order.size, 'object')} with worse ranks left out." if order.size < count else "",
    ]
    best = int(np.argmax(ranking.p_first))
    title = (
        f"{labels.named(names[best], 'Object')} is first with a probability of "
        f"{labels.percent(round(float(ranking.p_first[best]), 2))}; half of the {labels.percent(ranking.interval)} "
        f"rank intervals span {count_of(int(np.median(width)), 'place')} or more"
    )
    return style.finish(chart, title, notes, f"Heat map of the ranks of {count_of(order.size, 'object')}")


def _rank_rows(ranking: Ranking, names: list[str], order: Codes, chance: Floats) -> Any:
    row, place = np.nonzero(chance >= _LEAST)
    shown = labels.chosen(names, order)
    y, height = style.rows_of(shown, "object", "rank")
    last = int(place.max()) + 1
    # an axis names all of few ranks, and of more the first and every fifth
    ticks = list(range(1, last + 1)) if last <= _MOST_TICKS else [1, *range(5, last + 1, 5)]
    cells = alt.Chart(
        style.data_of(
            name=[shown[i] for i in row.tolist()],
            rank=place + 1,
            start=place + 0.5,
            end=place + 1.5,
            chance=chance[row, place],
        ),
        width=max(200, min(WIDTH, 24 * last)),
        height=height,
    )
    heat = cells.mark_bar(height=alt.RelativeBandSize(band=0.9)).encode(
        y=y,
        x=alt.X(
            "start:Q",
            title="rank",
            scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
            axis=alt.Axis(values=ticks, tickCount=len(ticks), labelOverlap=False, grid=False),
        ),
        x2="end:Q",
        color=_SHADE,
        tooltip=[*style.tooltips(("name", "object"), ("rank", "rank", 0)), _CHANCE],
    )
    mean = (
        alt.Chart(style.data_of(name=shown, expected=ranking.expected_rank[order]))
        .mark_point(fill=LIGHT["bg"], stroke=INK, strokeWidth=1.5, size=34, opacity=1)
        .encode(y=y, x="expected:Q", tooltip=style.tooltips(("name", "object"), ("expected", "expected rank", 1)))
    )
    return alt.layer(heat, mean)


def _rank_blocks(chance: Floats, step: int) -> Any:
    rows, count = chance.shape
    starts, places = np.arange(0, rows, step), np.arange(0, count, step)
    sums = np.add.reduceat(np.add.reduceat(chance, starts, axis=0), places, axis=1)
    mean = sums / np.diff(np.append(starts, rows))[:, None]
    row, place = np.nonzero(mean >= _LEAST)
    last, rank_to = np.minimum(starts[row] + step, rows), np.minimum(places[place] + step, count)
    data = style.data_of(
        first=starts[row] + 1,
        last=last,
        top=starts[row] + 0.5,
        bottom=last + 0.5,
        start=places[place] + 0.5,
        end=rank_to + 0.5,
        rank_from=places[place] + 1,
        rank_to=rank_to,
        chance=mean[row, place],
    )
    plain = alt.Axis(grid=False)
    across = alt.Scale(domain=[0.5, count + 0.5], nice=False)
    down = alt.Scale(domain=[0.5, rows + 0.5], reverse=True, nice=False)
    heat = (
        alt.Chart(data, width=WIDTH, height=WIDTH)
        .mark_rect()
        .encode(
            x=alt.X("start:Q", title="rank", scale=across, axis=plain),
            x2="end:Q",
            y=alt.Y("top:Q", title="objects by expected rank", scale=down, axis=plain),
            y2="bottom:Q",
            color=_SHADE,
            tooltip=[
                *style.tooltips(("first", "object number", 0), ("last", "to", 0)),
                *style.tooltips(("rank_from", "rank", 0), ("rank_to", "to", 0)),
                _CHANCE,
            ],
        )
    )
    return alt.layer(heat)
