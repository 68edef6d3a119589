"""Pictures of one method beside another: value against value, and difference against mean (fig. 5)."""

from __future__ import annotations

from math import floor
from typing import Any, Final, Literal

import altair as alt
import numpy as np

from evenhand.answers.compare import Comparison, r_squared
from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.models.fit import Fit, method_name
from evenhand.plots import style
from evenhand.plots.style import BLUE, GREY, INK, VERMILION, Chart, Codes
from evenhand.words import count_of

_SIDE: Final = 380
_AROUND: Final = alt.Scale(zero=False, padding=8)
_SMALL: Final = 170
_NAMED: Final = 5
"""So many of the objects that differ most are named."""

_Side = Literal["left", "right"]
_LETTER: Final = (6, 12)
"""Width and height that a letter of a name takes, in pixels."""

_MOST_METHODS: Final = 5
_ALIKE: Final = 0.995
"""With squared correlations from this on, methods hardly differ."""


def _pair(first: Fit, second: Fit) -> None:
    if list(first.values.labels) != list(second.values.labels):
        raise InputError("Two fits can be compared only if they are of the same objects.", kind="bad_option")


def _groups(first: Fit, second: Fit) -> list[Codes]:
    """Return the objects group by group, as the fit that has more of them was calibrated."""
    return style.groups_of(max(first.values.component, second.values.component, key=lambda part: int(part.max())))


def _thin_note(groups: list[Codes]) -> str:
    return style.thin_note(sum(members.size - style.thin(members).size for members in groups))


def _axis(fit: Fit) -> str:
    return f"{fit.method} value in points"


def methods(first: Comparison | Fit, second: Fit | None = None) -> Chart:
    """Return the values of one method against those of another; of a comparison, every two of its methods.

    Parameters
    ----------
    first
        A fit, or a comparison from :func:`evenhand.compare`: the four methods and the one recommended.
    second
        Another fit of the same objects.
    """
    if isinstance(first, Comparison):
        return _all_methods(first)
    if second is None:
        raise InputError("Give two fits, or a comparison.", kind="bad_option")
    _pair(first, second)
    groups = _groups(first, second)
    names = style.drawable(first.values.labels)
    one, two = first.values.estimate, second.values.estimate
    digits = style.decimals(np.concatenate([one, two]))
    same = _same(one, two)
    charts = []
    for group, members in enumerate(groups[: style.MOST_GROUPS]):
        data = _data(first, second, style.thin(members), names)
        dots = _dots(data, members.size, _SIDE, _tips(first, second, digits)).encode(
            x=alt.X("first:Q", title=_axis(first), scale=_AROUND),
            y=alt.Y("second:Q", title=_axis(second), scale=_AROUND),
        )
        layers = [_equal(one[members], two[members], "first", "second"), dots]
        if not same:
            far = members[np.argsort(-np.abs(one - two)[members], kind="stable")[:_NAMED]]
            for side, named in _sides(far, one, two, members, names).items():
                if named.size:
                    layers.append(_names(_data(first, second, named, names), "first", "second", side))
        chart = alt.layer(*layers)
        charts.append(style.headed(chart, group, len(groups), members.size, "object"))
    move = np.abs(two - one)
    at = int(np.argmax(move))
    agreement = [] if len(groups) > 1 else [r_squared(one, two)]
    said = f" (R² {agreement[0]:.2f})" if agreement and agreement[0] is not None else ""
    title = (
        f"{first.method} and {second.method} differ by up to {style.number(move[at], digits)} points{said}; "
        f"most for {style.named(names[at], 'object')}"
    )
    if same:
        title = f"{first.method} and {second.method} give the same values"
    notes = [
        f"{first.method}: {method_name(first.method)}; {second.method}: {method_name(second.method)}. "
        "On the dashed line both give the same value.",
        _thin_note(groups),
        style.group_note(len(groups)),
    ]
    what = f"Scatter plot of {count_of(len(names), 'object')} by two methods"
    return style.finish(style.stacked(charts), title, notes, what, _SIDE + 100)


def _data(first: Fit, second: Fit, members: Codes, names: list[str]) -> alt.InlineData:
    one, two = first.values.estimate[members], second.values.estimate[members]
    return style.data_of(
        name=[names[i] for i in members.tolist()],
        first=one,
        second=two,
        mean=(one + two) / 2,
        difference=two - one,
        rank_first=first.values.rank[members],
        rank_second=second.values.rank[members],
    )


def _tips(first: Fit, second: Fit, digits: int) -> list[alt.Tooltip]:
    return style.tooltips(
        *(("name", "object"), ("first", first.method, digits), ("second", second.method, digits)),
        *(("difference", "difference", digits), ("rank_first", f"rank by {first.method}", 0)),
        ("rank_second", f"rank by {second.method}", 0),
    )


def _dots(data: alt.InlineData, count: int, size: int, tooltip: list[alt.Tooltip]) -> Any:
    small = count > 200
    return (
        alt.Chart(data, width=size, height=size)
        .mark_point(filled=True, color=BLUE, size=10 if small else 45, opacity=0.5 if small else 0.8)
        .encode(tooltip=tooltip)
    )


def _sides(chosen: Codes, x: Floats, y: Floats, members: Codes, names: list[str]) -> dict[_Side, Codes]:
    """Return those of the chosen whose names cover no other, by the side of the dot on which there is room.

    That is the side away from the line on which both are the same, unless the name would run out of the picture.
    """
    low = min(x[members].min(), y[members].min())
    scale = 0.9 * _SIDE / max(float(max(x[members].max(), y[members].max()) - low), 1e-300)
    kept: list[int] = []
    for at in chosen.tolist():
        if all(
            abs(y[at] - y[other]) * scale > _LETTER[1]
            or abs(x[at] - x[other]) * scale > _LETTER[0] * max(len(names[at]), len(names[other])) + 14
            for other in kept
        ):
            kept.append(at)
    room = [(x[at] - low) * scale > _LETTER[0] * len(names[at]) for at in kept]
    left = np.array([y[at] >= x[at] and there for at, there in zip(kept, room, strict=True)], dtype=bool)
    named = np.array(kept, dtype=np.int64)
    return {"left": named[left], "right": named[~left]}


def _names(data: alt.InlineData, x: str, y: str, side: _Side = "right") -> Any:
    text = alt.Chart(data).mark_text(
        align="left" if side == "right" else "right",
        dx=7 if side == "right" else -7,
        fontSize=10,
        color=INK,
        limit=240,
        aria=False,
    )
    return text.encode(x=alt.X(f"{x}:Q", scale=_AROUND), y=f"{y}:Q", text="name:N")


def _same(one: Floats, two: Floats) -> bool:
    """Say whether two methods give the same values, up to rounding."""
    return float(np.abs(one - two).max()) <= 1e-9 * max(float(np.ptp(one)), float(np.abs(one).max()))


def _equal(one: Floats, two: Floats, x: str, y: str) -> Any:
    """Return the line on which both values are the same, as long as both axes need to be."""
    ends = [float(min(one.min(), two.min())), float(max(one.max(), two.max()))]
    line = alt.Chart(style.data_of(**{x: ends, y: ends})).mark_line(color=GREY, strokeDash=[4, 3], aria=False)
    return line.encode(x=alt.X(f"{x}:Q", scale=_AROUND), y=alt.Y(f"{y}:Q", scale=_AROUND))


def _all_methods(comparison: Comparison) -> Chart:
    wanted = {"sa", "cwa", "iba", "cwc", comparison.recommendation.method}
    fits = [row.fit for row in comparison.methods if row.fit is not None and row.method in wanted][:_MOST_METHODS]
    missing = [row.method for row in comparison.methods if row.fit is None and row.method in wanted]
    if len(fits) < 2:
        raise InputError("There is only one method in this comparison: there is nothing to set it beside.", kind="thin")
    names = style.drawable(fits[0].values.labels)
    digits = style.decimals(fits[0].values.estimate)
    columns = {f"value_{at}": fit.values.estimate for at, fit in enumerate(fits)}
    kept = style.thin(np.arange(len(names)))
    data = style.data_of(
        name=[names[i] for i in kept.tolist()], **{name: cells[kept] for name, cells in columns.items()}
    )
    rows, agreement = [], {}
    for at, second in enumerate(fits[1:], start=1):
        row = []
        for by, first in enumerate(fits[:at]):
            one, two = first.values.estimate, second.values.estimate
            r2 = comparison.r2.get((first.method, second.method))
            agreement[first.method, second.method] = r2
            tips = style.tooltips(
                ("name", "object"), (f"value_{by}", first.method, digits), (f"value_{at}", second.method, digits)
            )
            axis = alt.Axis(tickCount=4)
            dots = _dots(data, 5 * len(names), _SMALL, tips).encode(
                x=alt.X(f"value_{by}:Q", title=first.method, scale=_AROUND, axis=axis),
                y=alt.Y(f"value_{at}:Q", title=second.method, scale=_AROUND, axis=axis),
            )
            heading = "R² –" if r2 is None else f"R² {r2:.2f}"
            chart = alt.layer(_equal(one, two, f"value_{by}", f"value_{at}"), dots)
            row.append(chart.properties(title=alt.TitleParams(heading, fontSize=11, fontWeight="normal")))
        rows.append(alt.hconcat(*row, spacing=14))
    known = {pair: r2 for pair, r2 in agreement.items() if r2 is not None}
    title = "The methods cannot be compared: values do not vary"
    if known:
        low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        title = (
            f"{' and '.join(low)} agree least (R² {known[low]:.2f}); {' and '.join(high)} agree most "
            f"(R² {known[high]:.2f})"
        )
        if low == high:
            title = f"{' and '.join(low)} agree with R² {known[low]:.2f}"
        if known[low] >= _ALIKE:
            title = f"All methods give nearly the same values (R² {floor(1000 * known[low]) / 1000:.3f} or more)"
        if all(_same(fits[0].values.estimate, fit.values.estimate) for fit in fits[1:]):
            title = "All methods give the same values"
    notes = [
        "Values in points, one method against another; on the dashed line both give the same.",
        *(f"{fit.method}: {method_name(fit.method)}." for fit in fits if "+" in fit.method),
        f"Without values, and left out: {', '.join(missing)}." if missing else "",
        _thin_note([np.arange(len(names))]),
        "Groups that cannot be compared are drawn together here: compare two fits to see them apart."
        if any(fit.values.component.max() > 0 for fit in fits)
        else "",
    ]
    what = f"Scatter plots of {count_of(len(names), 'object')} for {count_of(len(known), 'pair')} of methods"
    return style.finish(alt.vconcat(*rows, spacing=14), title, notes, what, max(_SMALL * (len(fits) - 1), 420))


def bland_altman(first: Fit, second: Fit) -> Chart:
    """Return the difference between two methods against their mean, with the limits of agreement.

    Lines are the mean difference and 1.96 standard deviations of the differences to either side (Bland and Altman).

    Parameters
    ----------
    first, second
        Two fits of the same objects; the difference is second less first.
    """
    _pair(first, second)
    groups = _groups(first, second)
    names = style.drawable(first.values.labels)
    difference = second.values.estimate - first.values.estimate
    digits = style.decimals(np.append(difference, 0.0))
    same = _same(first.values.estimate, second.values.estimate)
    charts, limits = [], []
    for group, members in enumerate(groups[: style.MOST_GROUPS]):
        mean = float(difference[members].mean())
        reach = 1.96 * float(difference[members].std(ddof=1)) if members.size > 1 else 0.0
        limits.append((mean, reach))
        places = [mean] if same else [mean, mean + reach, mean - reach]
        words_at = [style.number(place, digits, signed=True) for place in places]
        lines = style.data_of(
            at=places,
            text=[f"mean {words_at[0]}", *words_at[1:]],
            kind=["mean", "limit", "limit"][: len(places)],
        )
        dots = _dots(
            _data(first, second, style.thin(members), names), members.size, _SIDE, _tips(first, second, digits)
        ).encode(
            x=alt.X("mean:Q", title="mean of the two values in points", scale=alt.Scale(zero=False)),
            y=alt.Y("difference:Q", title=f"{second.method} less {first.method}, in points"),
        )
        rules = (
            alt.Chart(lines)
            .mark_rule(color=VERMILION, aria=False)
            .encode(
                y="at:Q",
                strokeDash=alt.StrokeDash(
                    "kind:N", scale=alt.Scale(domain=["mean", "limit"], range=[[1, 0], [5, 4]]), legend=None
                ),
            )
        )
        words = (
            alt.Chart(lines)
            .mark_text(align="left", dx=4, color=VERMILION, fontSize=11)
            .encode(y="at:Q", x=alt.value(_SIDE), text="text:N")
        )
        layers = [rules, words, dots]
        away = np.abs(difference[members] - mean)
        far = members[np.argsort(-away, kind="stable")[: min(_NAMED, int((away > reach).sum()))]]
        if far.size and not same:
            layers.append(_names(_data(first, second, far, names), "mean", "difference"))
        charts.append(style.headed(alt.layer(*layers), group, len(groups), members.size, "object"))
    mean, reach = limits[0]
    title = (
        f"For most objects {second.method} less {first.method} lies between "
        f"{style.number(mean - reach, digits, signed=True)} and "
        f"{style.number(mean + reach, digits, signed=True)} points"
    )
    if len(groups) > 1:
        title = f"How far {second.method} is from {first.method}, group by group"
    if same:
        title = f"{first.method} and {second.method} give the same values"
    notes = [
        f"{first.method}: {method_name(first.method)}; {second.method}: {method_name(second.method)}. Lines: the mean "
        "difference, and 1.96 standard deviations to either side.",
        _thin_note(groups),
        style.group_note(len(groups)),
    ]
    what = f"Bland-Altman plot of {count_of(len(names), 'object')}"
    return style.finish(style.stacked(charts), title, notes, what, _SIDE + 110)
