"""Pictures of one method beside another: value against value, and difference against mean (Bland-Altman)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import altair as alt
import numpy as np

from evenhand.answers.compare import Comparison, r_squared
from evenhand.compiled import Floats
from evenhand.errors import bad_option
from evenhand.models.fit import Fit
from evenhand.plots import labels, style
from evenhand.plots.findings import Agreement, agreement, is_same
from evenhand.plots.labels import Codes
from evenhand.plots.style import INK, INK_2, Chart
from evenhand.words import count_of, plural, sentence

_SIDE: Final = 380
_AROUND: Final = alt.Scale(zero=False, padding=8)
_SMALL: Final = 170
_NAMED: Final = 5
"""This many of the objects that differ most are named."""

_Side = Literal["left", "right"]
_LETTER: Final = (6, 12)
"""Width and height that a letter of a name takes, in pixels."""

_ACROSS: Final = 3


def methods(first: Comparison | Fit, second: Fit | None = None) -> Chart:
    """Return the values of one method against those of another; of a comparison, every two of its methods.

    Parameters
    ----------
    first
        A fit, or a comparison from :func:`evenhand.compare`: the four methods and the one recommended.
    second
        Another fit of the same objects; beside a comparison, the fit that each of its methods is set against.
    """
    if isinstance(first, Comparison):
        return _all_methods(agreement(first, second), first.panel.noun)
    if second is None:
        raise bad_option("Give two fits, or a comparison.")
    pair = _pair(first, second)
    names, one, two = pair.names, first.values.estimate, second.values.estimate
    digits = labels.decimals(np.concatenate([one, two]))

    def draw(members: Codes) -> Any:
        around = pair.around(members)
        scale = alt.Scale(domain=around, nice=False)
        dots = _dots(_data(pair, labels.thin(members)), members.size, _SIDE, _tips(pair, digits)).encode(
            x=alt.X("first:Q", title=f"value in points by {first.name}", scale=scale),
            y=alt.Y("second:Q", title=f"value in points by {second.name}", scale=scale),
        )
        layers = [style.dashed(*around, "first", "second", scale), dots]
        if not pair.is_same:
            far = members[np.argsort(-np.abs(one - two)[members], kind="stable")[:_NAMED]]
            for side, named in _sides(far, one, two, members, names).items():
                if named.size:
                    layers.append(_names(_data(pair, named), "first", "second", side))
        return alt.layer(*layers)

    move = np.abs(two - one)
    at = int(np.argmax(move))
    r2 = r_squared(one, two) if len(pair.groups) == 1 else None
    title = (
        f"{sentence(first.name)} and {second.name} differ by up to {labels.number(move[at], digits)} points"
        f"{'' if r2 is None else f' (R² {r2:.2f})'}; most for {labels.named(names[at], first.panel.noun)}"
    )
    note = "On the dashed line both give the same value."
    what = f"Scatter plot of {count_of(len(names), 'object')} by two methods"
    return _finish(pair, draw, title, note, what, _SIDE + 100)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two fits of the same objects, whose groups are those of the fit that has more of them."""

    first: Fit
    second: Fit
    names: list[str]
    groups: list[Codes]
    is_same: bool

    def around(self, members: Codes) -> tuple[float, float]:
        """Return the ends of the values of a group by both methods, as far apart for each group as for the widest."""

        def ends(group: Codes) -> tuple[float, float]:
            both = np.concatenate([fit.values.estimate[group] for fit in (self.first, self.second)])
            return float(both.min()), float(both.max())

        reach = max(0.53 * (high - low) for low, high in map(ends, self.groups)) or 1.0
        low, high = ends(members)
        return (low + high) / 2 - reach, (low + high) / 2 + reach


def _pair(first: Fit, second: Fit) -> _Pair:
    one, two = first.values, second.values
    if list(one.labels) != list(two.labels):
        raise bad_option("Two fits can be compared only if they are of the same objects.")
    groups = labels.groups_of(max(one.component, two.component, key=lambda part: int(part.max())))
    return _Pair(first, second, labels.drawable(one.labels), groups, is_same(one.estimate, two.estimate))


def _finish(pair: _Pair, draw: Callable[[Codes], Any], title: str, note: str, what: str, width: float) -> Chart:
    """Return the picture of two methods, group by group, under its title, unless the two give the same."""
    notes = [note, labels.thin_note(pair.groups), style.group_note(len(pair.groups))]
    title = f"{sentence(pair.first.name)} and {pair.second.name} give the same values" if pair.is_same else title
    return style.finish(style.by_group(pair.groups, "object", draw, shared=()), title, notes, what, width)


def _data(pair: _Pair, members: Codes) -> alt.InlineData:
    one, two = pair.first.values, pair.second.values
    return style.data_of(
        name=labels.chosen(pair.names, members),
        short=[labels.clip(name, 20) for name in labels.chosen(pair.names, members)],
        first=one.estimate[members],
        second=two.estimate[members],
        mean=(one.estimate[members] + two.estimate[members]) / 2,
        difference=two.estimate[members] - one.estimate[members],
        rank_first=one.rank[members],
        rank_second=two.rank[members],
    )


def _tips(pair: _Pair, digits: int) -> list[alt.Tooltip]:
    one, two = pair.first.method, pair.second.method
    return style.tooltips(
        *(("name", "object"), ("first", one, digits), ("second", two, digits), ("difference", "difference", digits)),
        *(("rank_first", f"rank by {one}", 0), ("rank_second", f"rank by {two}", 0)),
    )


def _dots(data: alt.InlineData, count: int, size: int, tooltip: list[alt.Tooltip]) -> Any:
    small = count > 200
    marks = alt.Chart(data, width=size, height=size).mark_point(
        filled=True, color=INK, size=10 if small else 45, opacity=0.45 if small else 0.75
    )
    return marks.encode(tooltip=tooltip)


def _sides(chosen: Codes, x: Floats, y: Floats, members: Codes, names: list[str]) -> dict[_Side, Codes]:
    """Return those of the chosen whose names cover no other, by the side of the dot on which there is room.

    That is the side away from the line on which both are the same, unless the name would run out of the picture.
    """
    low = min(x[members].min(), y[members].min())
    scale = 0.9 * _SIDE / max(float(max(x[members].max(), y[members].max()) - low), 1e-300)
    kept = _clear(chosen, x * scale, y * scale, names).tolist()
    room = [(x[at] - low) * scale > _LETTER[0] * len(names[at]) for at in kept]
    left = np.array([y[at] >= x[at] and there for at, there in zip(kept, room, strict=True)], dtype=bool)
    named = np.array(kept, dtype=np.int64)
    return {"left": named[left], "right": named[~left]}


def _clear(chosen: Codes, x: Floats, y: Floats, names: list[str]) -> Codes:
    """Return those of the chosen, at places in pixels, whose names cover no name of one before."""
    kept: list[int] = []
    for at in chosen.tolist():
        if all(
            abs(y[at] - y[other]) > _LETTER[1]
            or abs(x[at] - x[other]) > _LETTER[0] * max(len(names[at]), len(names[other])) + 14
            for other in kept
        ):
            kept.append(at)
    return np.array(kept, dtype=np.int64)


def _names(data: alt.InlineData, x: str, y: str, side: _Side = "right") -> Any:
    align: _Side = "left" if side == "right" else "right"
    away = 7 if side == "right" else -7
    text = alt.Chart(data).mark_text(align=align, dx=away, fontSize=10, color=INK, limit=240, aria=False)
    return text.encode(x=f"{x}:Q", y=f"{y}:Q", text="short:N")


def _equal(one: Floats, two: Floats, x: str, y: str) -> Any:
    """Return the line on which both values are the same, as long as both axes need to be."""
    ends = float(min(one.min(), two.min())), float(max(one.max(), two.max()))
    return style.dashed(*ends, x, y, _AROUND)


def _all_methods(found: Agreement, noun: str) -> Chart:
    values = [fit.values.estimate for fit in found.fits]
    names = labels.drawable(found.fits[0].values.labels)
    digits = labels.decimals(values[0])
    columns = {f"value_{at}": estimate[found.members] for at, estimate in enumerate(values)}
    data = style.data_of(name=labels.chosen(names, found.members), **columns)
    charts = []
    for by, at, r2 in found.pairs:
        first, second = found.fits[by], found.fits[at]
        tips = style.tooltips(("name", noun), (f"value_{by}", first.name, digits), (f"value_{at}", second.name, digits))
        axis = alt.Axis(tickCount=4)
        dots = _dots(data, 5 * len(names), _SMALL, tips).encode(
            x=alt.X(f"value_{by}:Q", title=first.name.split(", "), scale=_AROUND, axis=axis),
            y=alt.Y(f"value_{at}:Q", title=second.name.split(", "), scale=_AROUND, axis=axis),
        )
        heading = f"R² {'–' if r2 is None else f'{r2:.2f}'}"
        chart = alt.layer(_equal(values[by], values[at], f"value_{by}", f"value_{at}"), dots)
        charts.append(chart.properties(title=alt.TitleParams(heading, fontSize=12, fontWeight="normal")))
    width = (_SMALL + 60) * min(len(charts), _ACROSS)
    return style.finish(_in_rows(charts), found.title, found.notes, found.what, width)


def _in_rows(charts: list[Any]) -> Any:
    """Return small charts side by side, in rows that are filled from the left."""
    starts = range(0, len(charts), _ACROSS)
    return alt.vconcat(*(alt.hconcat(*charts[start : start + _ACROSS], spacing=24) for start in starts), spacing=20)


def bland_altman(first: Fit, second: Fit) -> Chart:
    """Return the difference between two methods against their mean, with the limits of agreement.

    Lines are the mean difference and 1.96 standard deviations of the differences to either side (Bland and Altman).

    Parameters
    ----------
    first, second
        Two fits of the same objects; the difference is second less first.
    """
    pair = _pair(first, second)
    difference = second.values.estimate - first.values.estimate
    digits = labels.decimals(np.append(difference, 0.0))

    def limits(members: Codes) -> tuple[float, float]:
        reach = 1.96 * float(difference[members].std(ddof=1)) if members.size > 1 else 0.0
        return float(difference[members].mean()), reach

    def draw(members: Codes) -> Any:
        mean, reach = limits(members)
        across = alt.Scale(domain=pair.around(members), nice=False)
        places = [mean] if pair.is_same else [mean, mean + reach, mean - reach]
        words_at = [labels.number(place, digits, signed=True) for place in places]
        kinds = ["mean", "limit", "limit"][: len(places)]
        lines = alt.Chart(style.data_of(at=places, text=[f"mean {words_at[0]}", *words_at[1:]], kind=kinds))
        dashes = alt.Scale(domain=["mean", "limit"], range=[[1, 0], [5, 4]])
        dots = _dots(_data(pair, labels.thin(members)), members.size, _SIDE, _tips(pair, digits))
        layers = [
            lines.mark_rule(color=INK_2, aria=False).encode(
                y="at:Q", strokeDash=alt.StrokeDash("kind:N", scale=dashes, legend=None)
            ),
            lines.mark_text(align="left", dx=4, color=INK_2, fontSize=11).encode(
                y="at:Q", x=alt.value(_SIDE), text="text:N"
            ),
            dots.encode(
                x=alt.X("mean:Q", title="mean of the two values in points", scale=across),
                y=alt.Y("difference:Q", title=f"{second.name} less {first.name}, in points"),
            ),
        ]
        away = np.abs(difference[members] - mean)
        far = members[np.argsort(-away, kind="stable")[: min(_NAMED, int((away > reach).sum()))]]
        if far.size and not pair.is_same:
            middle = (first.values.estimate + second.values.estimate) / 2
            x, y = (along * 0.9 * _SIDE / max(float(np.ptp(along[members])), 1e-300) for along in (middle, difference))
            layers.append(_names(_data(pair, _clear(far, x, y, pair.names)), "mean", "difference"))
        return alt.layer(*layers)

    mean, reach = limits(pair.groups[0])
    ends = " and ".join(labels.number(end, digits, signed=True) for end in (mean - reach, mean + reach))
    title = f"For most {plural(first.panel.noun)} {second.name} less {first.name} lies between {ends} points"
    if len(pair.groups) > 1:
        title = f"How far {second.name} is from {first.name}, group by group"
    note = "Lines: the mean difference, and 1.96 standard deviations to either side."
    what = f"Bland-Altman plot of {count_of(len(pair.names), 'object')}"
    return _finish(pair, draw, title, note, what, _SIDE + 110)
