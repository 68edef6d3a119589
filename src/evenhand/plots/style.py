"""How all pictures look: colours, sizes, titles, axes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence, Sized
from typing import Any, ClassVar, Final, Literal, cast

import altair as alt

from evenhand import words
from evenhand.errors import bad_option
from evenhand.frames import records_of
from evenhand.look import LIGHT, STATUS
from evenhand.models.effects import Effects
from evenhand.models.fit import Fit
from evenhand.plots import labels
from evenhand.plots.labels import MOST_GROUPS, Codes

Chart = alt.LayerChart | alt.HConcatChart | alt.VConcatChart

INK, INK_2, GREY = LIGHT["ink"], LIGHT["ink-2"], LIGHT["ink-3"]
SOFT: Final = LIGHT["rule"]
"""Intervals of what has no status and no side."""

MIDDLE: Final = "#B6BDC5"
"""Between soft and grey: bars that carry a meaning of their own."""

ALERT: Final = LIGHT["alert"]
STATUS_COLOURS: Final = {"in": LIGHT["in"], "undecided": LIGHT["open-fill"], "out": LIGHT["out"]}
STATUS_SOFT: Final = {"in": LIGHT["in-soft"], "undecided": LIGHT["open-soft"], "out": LIGHT["out-soft"]}
STATUS_NAMES: Final = {status: word for status, (word, _) in STATUS.items()}

SHADES: Final = (LIGHT["out-soft"], LIGHT["ink"])
"""From little to much."""

LABELLED: Final = 100
"""Up to this many rows have their names beside them."""

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", "Noto Sans", sans-serif'
WIDTH: Final = 560
ROW: Final = 18
TALL: Final = 620


class _Rows(alt.InlineData):
    """Rows that charts share: layers and panels copy all that they are made of, and rows never change."""

    _class_is_valid_at_instantiation: ClassVar[bool] = False  # what records_of returns is valid

    def __deepcopy__(self, memo: object) -> _Rows:
        return self


def data_of(**columns: Any) -> alt.InlineData:
    """Return columns of equal length as data that travel with the chart; numbers that are not finite are missing."""
    return _Rows(values=records_of(columns))


def finish(chart: Any, title: str, notes: Sequence[str], what: str, width: float = WIDTH) -> Chart:
    """Return a chart with its title, notes below it, a description for screen readers, and the common look.

    ``title`` is the finding in a sentence, ``notes`` say what is shown and what is not, ``what`` is the kind of picture
    and what it contains, and at ``width`` lines of the title are broken.
    """
    room = max(width, 420)
    heading = alt.TitleParams(
        text=[labels.from_the_left(line) for line in _balanced(title, int(room / 7.4))],
        subtitle=[labels.from_the_left(line) for note in notes for line in textwrap.wrap(note, int(room / 5.6))],
        anchor="start",
        frame="group",
        fontSize=15,
        subtitleFontSize=12,
        subtitleColor=INK_2,
        subtitlePadding=4,
        offset=14,
    )
    look = alt.Config(
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelFontSize=12,
            labelColor=INK_2,
            titleFontSize=12,
            titleFontWeight="normal",
            titleColor=INK_2,
            gridColor=LIGHT["grid"],
            domainColor=GREY,
            tickColor=GREY,
            tickCount=8,
            labelFlush=False,
        ),
        legend=alt.LegendConfig(
            orient="top",
            title=None,
            labelFontSize=12,
            labelColor=INK_2,
            labelLimit=0,
            symbolSize=80,
            symbolOpacity=1,
            titleColor=INK_2,
            titleFontWeight="normal",
        ),
        title=alt.TitleConfig(color=INK),
    )
    description = labels.description(what, title, notes)
    about = {"title": heading, "description": description, "background": LIGHT["bg"], "padding": 14, "config": look}
    for name, what_is in about.items():  # in place, since properties() copies the whole chart
        chart[name] = what_is
    return cast(Chart, chart)


def _balanced(title: str, most: int) -> list[str]:
    """Return the lines of a title, as few as there is room for, and none much shorter than the others.

    Examples
    --------
    >>> _balanced("one two three four", 14)
    ['one two', 'three four']
    """
    lines = textwrap.wrap(title, most)
    while most > 1 and len(textwrap.wrap(title, most - 1, break_long_words=False)) == len(lines):
        most -= 1
    return textwrap.wrap(title, most)


def at_most(most: int | None, count: int) -> int:
    """Return how many of ``count`` rows to show, where a number of them may have been asked for."""
    if most is not None and most < 1:
        raise bad_option("The number of rows to show must be at least 1.")
    return count if most is None else min(most, count)


def group_note(count: int, *, all_shown: bool = False) -> str:
    """Return what has to be said of a panel that is not connected; nothing where it is."""
    if count == 1:
        return ""
    shown = f" Shown are the {MOST_GROUPS} largest." if count > MOST_GROUPS and not all_shown else ""
    return f"The {count} groups share neither assessor nor object and cannot be compared with each other.{shown}"


def interval_note(effects: Effects, fit: Fit) -> str:
    """Return what the intervals are, or why there are none."""
    if effects.lower is not None:
        return f"Bars are {labels.percent(effects.interval)} intervals."
    return f"No intervals: {fit.posterior.noise.reason or 'there are no uncertainties here'}."


def by_group(
    groups: Sequence[Codes], side: str, draw: Callable[[Codes], Any], shared: Sequence[Literal["x", "y"]] = ("x",)
) -> Any:
    """Return a chart for each of the largest groups, below each other under a heading; of one group its chart.

    A point is as wide in all of them: their axes are shared, unless the charts see to it themselves.
    """
    if len(groups) == 1:
        return draw(groups[0])
    charts = []
    for group, members in enumerate(groups[:MOST_GROUPS], start=1):
        heading = f"Group {group}: {words.count_of(members.size, side)}"
        title = alt.TitleParams(heading, anchor="start", frame="group", fontSize=12)
        charts.append(draw(members).properties(title=title))
    scales: dict[str, Any] = dict.fromkeys(shared, "shared")
    return alt.vconcat(*charts, spacing=28).resolve_scale(**scales)


def rows_of(names: Sequence[str], side: str, places: str, last: int | None = None) -> tuple[alt.Y, Any]:
    """Return where rows go, from the top, and the height of the chart: by name, or where many are, by place.

    Data need the columns ``name`` and ``place``; the last place is that of the last name unless said.
    """
    if len(names) <= LABELLED:
        axis = alt.Axis(labelLimit=240, grid=False, ticks=False, domain=False, labelPadding=6)
        return alt.Y("name:N", sort=None, scale=alt.Scale(domain=list(names)), axis=axis, title=None), alt.Step(ROW)
    last = len(names) if last is None else last
    scale = alt.Scale(domain=[1, last], reverse=True, nice=False)
    return alt.Y("place:Q", scale=scale, title=f"{places} of {last:,} {side}s", axis=alt.Axis(grid=False)), TALL


def is_compact(names: Sized) -> bool:
    """Say whether there are too many rows to name them."""
    return len(names) > LABELLED


def zero_line(axis: Literal["x", "y"]) -> Any:
    """Return the line across a picture at zero."""
    return alt.Chart(data_of(zero=[0.0])).mark_rule(color=INK, aria=False).encode(**{axis: "zero:Q"})


def dashed(low: float, high: float, x: str = "x", y: str = "y", scale: Any = alt.Undefined) -> Any:
    """Return the dashed line on which two things are the same."""
    line = alt.Chart(data_of(**{x: [low, high], y: [low, high]})).mark_line(
        color=GREY, strokeDash=[4, 3], strokeWidth=1.5, aria=False
    )
    return line.encode(x=alt.X(f"{x}:Q", scale=scale), y=alt.Y(f"{y}:Q", scale=scale))


def tooltips(*channels: tuple[str, str] | tuple[str, str, int]) -> list[alt.Tooltip]:
    """Return tooltips from fields with their titles, and decimals for numbers."""
    return [
        alt.Tooltip(f"{field}:N", title=title)
        if not rest
        else alt.Tooltip(f"{field}:Q", title=title, format=f",.{rest[0]}f")
        for field, title, *rest in channels
    ]


def interval_tips(digits: int) -> tuple[tuple[str, str, int], tuple[str, str, int]]:
    """Return the fields of an interval with their titles, for tooltips."""
    return ("lower", "interval from", digits), ("upper", "interval to", digits)


def palette(names: Sequence[str], colours: Sequence[str]) -> alt.Scale:
    """Return a scale that gives each name its colour."""
    return alt.Scale(domain=list(names), range=list(colours))
