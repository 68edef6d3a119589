"""Pictures of results: values and biases."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError
from evenhand.models.effects import Effects
from evenhand.models.fit import Fit, method_name
from evenhand.plots import style
from evenhand.plots.style import BLUE, GREY, ORANGE, SKY, WIDTH, Chart, Codes
from evenhand.words import count_of


def _said(method: str) -> str:
    words = method_name(method)
    return words[:1].upper() + words[1:]


def values(fit: Fit, *, most: int | None = None) -> Chart:
    """Return the values with their intervals in rank order, beside the plain averages.

    Parameters
    ----------
    fit
        Any fit.
    most
        Show only so many, the highest; of each group, where the panel is not connected.

    Examples
    --------
    >>> from evenhand import simulate_panel, calibrate
    >>> chart = values(calibrate(simulate_panel(10, 4, 3, seed=1).panel))
    >>> chart.to_dict()["title"]["text"]
    ['Calibrating moves object 5 most: by +6.9 points from its plain average']
    """
    panel, effects = fit.panel, fit.values
    names = style.drawable(effects.labels)
    average = sum_by(panel.object_index, panel.score, panel.n_objects) / panel.object_assessments
    moved = effects.estimate - average
    digits = style.decimals(np.concatenate([effects.estimate, average]))
    differ = not style.is_nothing(moved, panel.score)
    groups = style.groups_of(effects.component, effects.estimate)
    drawn = groups[: style.MOST_GROUPS]
    shown = [members[: style.at_most(most, members.size)] for members in drawn]
    left_out = sum(members.size - kept.size for members, kept in zip(drawn, shown, strict=True))
    notes = [
        f"{_said(fit.method)} of {count_of(panel.n_objects, 'object')}, from the highest value down. "
        f"{style.interval_note(effects, fit)}",
        f"{count_of(left_out, 'lower value')} left out." if left_out else "",
        style.thin_note(shown),
        style.group_note(len(groups)),
    ]
    if differ:
        at = int(np.argmax(np.abs(moved)))
        verb = "Calibrating" if fit.is_calibrated else "Weighing scores by confidence"
        by = style.number(moved[at], digits, signed=True)
        title = f"{verb} moves {style.named(names[at], 'object')} most: by {by} points from its plain average"
    else:
        title = "Values are the plain averages here"
        if len(groups) == 1:
            at = int(np.argmax(effects.estimate))
            best = style.number(effects.estimate[at], digits)
            title += f"; the highest is that of {style.named(names[at], 'object')}, {best} points"
    what = f"Dot plot of {count_of(panel.n_objects, 'value')} in rank order"
    if len(groups) == 1:
        ends = (int(np.argmax(effects.estimate)), int(np.argmin(effects.estimate)))
        what += ", from " + " to ".join(
            f"{names[i]} ({style.number(effects.estimate[i], digits)} points)" for i in ends
        )

    def draw(members: Codes) -> Any:
        kept = style.thin(members[: style.at_most(most, members.size)])
        return _value_rows(fit, names, average if differ else None, kept, digits)

    return style.finish(style.by_group(groups, "object", draw), title, notes, what)


def _value_rows(fit: Fit, names: list[str], average: Floats | None, order: Codes, digits: int) -> Any:
    effects = fit.values
    shown = style.chosen(names, order)
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
    tooltip = style.tooltips(*tips)
    y, height = style.rows_of(shown, "object", "rank", int(columns["place"].max()))
    base = alt.Chart(style.data_of(**columns), width=WIDTH, height=height).encode(y=y)
    kinds = ["value"] if average is None else ["value", "plain average"]
    colour = alt.Color("kind:N", scale=style.palette(kinds, [BLUE, ORANGE]))
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"]))

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="value in points", scale=alt.Scale(zero=False, padding=8))

    def points(field: str, kind: str, size: int, **options: Any) -> Any:
        marked = base.transform_calculate(kind=f"'{kind}'").mark_point(
            filled=True, size=size // 6 if compact else size, **options
        )
        return marked.encode(x=across(field), color=colour, shape=shape, tooltip=tooltip)

    layers = []
    if effects.lower is not None:
        layers.append(
            base.mark_rule(color=SKY, strokeWidth=1 if compact else 5, opacity=0.45, aria=False).encode(
                x=across("lower"), x2="upper:Q"
            )
        )
    if average is not None:
        if not compact:
            layers.append(
                base.mark_rule(color=GREY, strokeWidth=1, aria=False).encode(x=across("average"), x2="value:Q")
            )
        layers.append(points("average", "plain average", 50, opacity=0.6 if compact else 1))
    layers.append(points("value", "value", 60, opacity=1))
    return alt.layer(*layers)


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
            f"There are no biases to show: {method_name(fit.method)} takes every assessor's standard to be the same.",
            kind="bad_method",
        )
    panel, effects = fit.panel, fit.biases
    names = style.drawable(effects.labels)
    digits = style.decimals(np.append(effects.estimate, 0.0))
    groups = style.groups_of(effects.component, effects.estimate)
    notes = [
        f"{_said(fit.method)}. A positive bias is generous, a negative one strict. {style.interval_note(effects, fit)}",
        style.thin_note(groups[: style.MOST_GROUPS]),
        style.group_note(len(groups)),
    ]
    top, bottom = int(np.argmax(effects.estimate)), int(np.argmin(effects.estimate))
    if panel.n_assessors > 1 and style.is_nothing(effects.estimate, panel.score):
        title = "No assessor is generous or strict: all biases are zero"
    elif panel.n_assessors == 1:
        title = "One assessor alone: there is nobody to compare their standard with"
    elif len(groups) > 1:
        title = f"Each of the {len(groups)} groups has its own zero, so biases compare within a group only"
    else:
        generous, strict = (style.number(effects.estimate[i], digits, signed=True) for i in (top, bottom))
        title = (
            f"{style.named(names[top], 'Assessor')} is the most generous ({generous} points), "
            f"{style.named(names[bottom], 'assessor')} the strictest ({strict})"
        )
    chart = style.by_group(groups, "assessor", lambda members: _bias_rows(effects, names, style.thin(members), digits))
    return style.finish(chart, title, notes, f"Dot plot of the biases of {count_of(panel.n_assessors, 'assessor')}")


def _bias_rows(effects: Effects, names: list[str], order: Codes, digits: int) -> Any:
    shown = style.chosen(names, order)
    compact = style.is_compact(shown)
    columns = _effect_columns(effects, shown, order)
    tips: list[Any] = [("name", "assessor"), ("bias", "bias", digits)]
    y, height = style.rows_of(shown, "assessor", "place", int(columns["place"].max()))
    kinds = ["interval leaves out zero", "could be zero"]
    colour: Any = alt.value(BLUE)
    if effects.lower is not None and effects.upper is not None:
        tips += style.interval_tips(digits)
        clear = (effects.lower > 0) | (effects.upper < 0)
        columns["clear"] = [kinds[0] if clear[i] else kinds[1] for i in order.tolist()]
        colour = alt.Color("clear:N", scale=style.palette(kinds, [BLUE, GREY]))
    tips.append(("assessments", "scores", 0))
    base = alt.Chart(style.data_of(**columns), width=WIDTH, height=height).encode(y=y)
    layers: list[Any] = [style.zero_line("x")]
    if effects.lower is not None:
        layers.append(
            base.mark_rule(strokeWidth=1 if compact else 5, opacity=0.35, aria=False).encode(
                x=alt.X("lower:Q", title="bias in points"), x2="upper:Q", color=colour
            )
        )
    layers.append(
        base.mark_point(filled=True, size=10 if compact else 60, opacity=1).encode(
            x=alt.X("bias:Q", title="bias in points"), color=colour, tooltip=style.tooltips(*tips)
        )
    )
    return alt.layer(*layers)
