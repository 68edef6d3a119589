"""How all pictures look: colours, sizes, words, and labels that no drawing program can misread."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from math import floor, log10
from typing import Any, ClassVar, Final, Literal, cast

import altair as alt
import numpy as np
from numpy.typing import NDArray

from evenhand import words
from evenhand.compiled import Floats
from evenhand.errors import bad_option
from evenhand.frames import records_of
from evenhand.look import LIGHT, STATUS
from evenhand.models.effects import Effects
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel

Chart = alt.LayerChart | alt.HConcatChart | alt.VConcatChart
Codes = NDArray[np.int64]

INK, INK_2, GREY = LIGHT["ink"], LIGHT["ink-2"], LIGHT["ink-3"]
SOFT: Final = LIGHT["rule"]
"""Intervals of what has no status and no side."""

MIDDLE: Final = "#B6BDC5"
"""Between soft and grey: bars that carry a meaning of their own."""

ALERT: Final = LIGHT["alert"]
STATUS_COLOURS: Final = {"in": LIGHT["in"], "undecided": LIGHT["open-fill"], "out": LIGHT["out"]}
STATUS_SOFT: Final = {"in": LIGHT["in-soft"], "undecided": LIGHT["open-soft"], "out": LIGHT["out-soft"]}
STATUS_NAMES: Final = {status: word for status, (word, _) in STATUS.items()}

GROUP_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""Groups differ in shape: colour means status, alert or side of bias, and all else is ink and grey."""

SHADES: Final = (LIGHT["out-soft"], LIGHT["ink"])
"""From little to much."""

LABELLED: Final = 100
"""Up to this many rows have their names beside them."""

MOST_POINTS: Final = 3000
"""Up to this many scores are drawn one by one."""

MOST_MARKS: Final = 5000
"""Up to this many objects are drawn one by one; of more, evenly spaced ones."""

MOST_GROUPS: Final = len(GROUP_SHAPES)
"""Up to this many groups of a panel that is not connected are drawn, the largest first."""

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", "Noto Sans", sans-serif'
WIDTH: Final = 560
ROW: Final = 18
TALL: Final = 620

_MOST_KINDS: Final = 6
"""Up to this many different confidences are kept apart; more are put into this many classes of equal size."""

_GREYS: Final = (*(LIGHT[f"level-{at}"] for at in range(1, 6)), LIGHT["ink"])

_LONGEST: Final = 26
_CONTROL: Final = {"Cc", "Cs", "Co", "Zl", "Zp"}
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TO_THE_RIGHT: Final = "\u200e"
_JOINER: Final = "\u200d"
_MARKUP: Final = re.compile(r"<(?=[/!]|script)", re.IGNORECASE)


def drawable(labels: Iterable[object]) -> list[str]:
    """Return labels as text that can be drawn and written into any file, all different.

    Long ones are cut in the middle. Control characters become blanks, and an angle bracket that could end the script of
    a page becomes another sign.

    Examples
    --------
    >>> drawable(["x", "a" + chr(9) + "b", "a b", "</script>"])
    ['x', 'a b', 'a b (2)', '‹/script>']
    """
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        text = str(label)
        if not text.isprintable():
            text = "".join(" " if unicodedata.category(sign) in _CONTROL or sign in _TURNING else sign for sign in text)
        text = clip(_MARKUP.sub("‹", text), _LONGEST)
        seen[text] = seen.get(text, 0) + 1
        while seen[text] > 1:
            text = f"{text} ({seen[text]})"
            seen[text] = seen.get(text, 0) + 1
        names.append(text)
    return names


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
        text=[from_the_left(line) for line in _balanced(title, int(room / 7.4))],
        subtitle=[from_the_left(line) for note in notes for line in textwrap.wrap(note, int(room / 5.6))],
        anchor="start",
        frame="group",
        fontSize=15,
        subtitleFontSize=12,
        subtitleColor=INK_2,
        subtitlePadding=4,
        offset=14,
    )
    said = " ".join(sentence for sentence in (f"{what}.", f"{title}.", *notes) if sentence)
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
    description = said.replace("..", ".")
    about = {"title": heading, "description": description, "background": LIGHT["bg"], "padding": 14, "config": look}
    for name, what_is in about.items():  # in place, since properties() copies the whole chart
        chart[name] = what_is
    return cast(Chart, chart)


def _is_turned(text: str) -> bool:
    """Say whether a text has signs that are read from the right."""
    return any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)


def from_the_left(line: str) -> str:
    """Return a line of a sentence that is read from the left, even if it begins with a name that is not."""
    return f"{_TO_THE_RIGHT}{line}" if _is_turned(line) else line


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


def groups_of(component: Codes, estimate: Floats | None = None) -> list[Codes]:
    """Return the members of each group, the first group first; where estimates are given, from the highest down."""
    groups = [np.flatnonzero(component == group) for group in range(int(component.max()) + 1)]
    if estimate is None:
        return groups
    return [members[np.argsort(-estimate[members], kind="stable")] for members in groups]


def group_note(count: int, *, all_shown: bool = False) -> str:
    """Return what has to be said of a panel that is not connected; nothing where it is."""
    if count == 1:
        return ""
    shown = f" Shown are the {MOST_GROUPS} largest." if count > MOST_GROUPS and not all_shown else ""
    return f"The {count} groups share neither assessor nor object and cannot be compared with each other.{shown}"


def interval_note(effects: Effects, fit: Fit) -> str:
    """Return what the intervals are, or why there are none."""
    if effects.lower is not None:
        return f"Bars are {percent(effects.interval)} intervals."
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


def decimals(numbers: Floats) -> int:
    """Return how many decimals to show of numbers that spread so far: about three digits.

    Examples
    --------
    >>> decimals(np.array([40.0, 90.0])), decimals(np.array([3.1, 4.7]))
    (1, 2)
    """
    spread = float(np.ptp(numbers[np.isfinite(numbers)])) if np.isfinite(numbers).any() else 0.0
    return 1 if spread == 0 else min(max(0, 2 - floor(log10(spread))), 9)


def is_nothing(numbers: Floats, scores: Floats) -> bool:
    """Say whether numbers are nothing but rounding, beside the scores that they come from."""
    return float(np.abs(numbers).max()) <= 1e-9 * max(float(np.ptp(scores)), 1e-3 * float(np.abs(scores).max()))


def thin(members: Codes) -> Codes:
    """Return members as they are, or where there are more than can be drawn, evenly spaced ones."""
    return members[:: -(-members.size // MOST_MARKS)]


def thin_note(groups: Iterable[Codes]) -> str:
    """Return how many members of groups are not drawn for want of room; nothing where all are."""
    left_out = sum(members.size - thin(members).size for members in groups)
    return f"{left_out:,} more between those drawn, which are evenly chosen." if left_out else ""


def number(value: float, digits: int, *, signed: bool = False) -> str:
    """Return a number for a sentence, with a true minus sign."""
    return words.number(value, digits, signed=signed, minus="−", in_sentence=True)


def percent(probability: float) -> str:
    """Return a probability for a sentence, in one piece."""
    return words.percent(probability, digits=3)


def clip(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters, cut in the middle: ends often differ where beginnings do not.

    Between words where one ends near by. No cut goes through signs that are drawn as one, such as a letter and its
    accent, or people joined to a family.
    """
    if len(name) <= most:
        return name
    head, tail = most // 2, len(name) - (most - 1) // 2
    before, after = name.rfind(" ", head - most // 4, head + 1), name.find(" ", tail - 1, tail + most // 4)
    head, tail = before if before > 0 else head, after + 1 if after > 0 else tail
    while head and _is_joined(name, head):
        head -= 1
    while tail < len(name) and _is_joined(name, tail):
        tail += 1
    return f"{name[:head]}…{name[tail:].rstrip()}"


def _is_joined(name: str, at: int) -> bool:
    """Say whether the sign at a place is drawn as one with the sign before it."""
    return name[at - 1] == _JOINER or name[at] == _JOINER or unicodedata.category(name[at]).startswith("M")


def named(name: str, side: str) -> str:
    """Return a name for a sentence; a bare number with the word for what it is.

    After a name that is read from the right a mark that takes no room turns the sentence round again.
    """
    return f"{name}{_TO_THE_RIGHT}" if _is_turned(name) else words.called(name, side, is_bare=True)


def chosen(names: Sequence[str], at: NDArray[np.integer[Any]]) -> list[str]:
    """Return the names at some places."""
    return [names[i] for i in at.tolist()]


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


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of confidence that were declared, from the least sure to the surest, and that of each assessment."""

    names: list[str]
    index: Codes

    @property
    def shades(self) -> list[str]:
        """A colour for each, the surer the darker."""
        at = np.linspace(0, len(_GREYS) - 1, len(self.names)).round().astype(int)
        return [_GREYS[i] for i in at.tolist()]


def declared_kinds(panel: Panel, *, as_sd: bool = False) -> Kinds:
    """Return what was declared, in a few kinds; weights as standard deviations if that is asked for.

    Examples
    --------
    >>> declared_kinds(Panel.from_arrays([0, 0, 1], [0, 1, 1], [1.0, 2.0, 3.0], [4.0, 1.0, 4.0])).names
    ['weight 1', 'weight 4']
    """
    distinct, index = np.unique(panel.precision, return_inverse=True)
    if panel.confidence == "none" or distinct.size == 1:
        return Kinds(["equal confidence"], np.zeros(panel.n_assessments, dtype=np.int64))
    if panel.confidence == "level" and panel.factor is not None and panel.factor > 1:
        power = np.rint(np.log(distinct) / (2 * np.log(panel.factor))).astype(int)
        if np.unique(power).size == distinct.size and np.abs(power).max() <= 1:
            return Kinds([("medium", "high", "low")[p] for p in power.tolist()], index.astype(np.int64))
    as_sd = as_sd or panel.confidence == "uncertainty"
    shown = 1 / np.sqrt(distinct) if as_sd else distinct
    sign = "±" if as_sd else "weight "
    if distinct.size <= _MOST_KINDS:
        return Kinds(_different([f"{sign}{cell:.3g}" for cell in shown.tolist()]), index.astype(np.int64))
    edges = np.quantile(panel.precision, np.arange(1, _MOST_KINDS) / _MOST_KINDS)
    classes = np.unique(np.searchsorted(edges, panel.precision, side="right"), return_inverse=True)[1]
    names = []
    for kind in range(int(classes.max()) + 1):
        within = shown[np.unique(index[classes == kind])]
        names.append(f"{sign}{within[0]:.3g} to {within[-1]:.3g}" if within.size > 1 else f"{sign}{within[0]:.3g}")
    return Kinds(_different(names), classes.astype(np.int64))


def _different(names: list[str]) -> list[str]:
    """Return names of which no two are the same, although they may be to three digits."""
    return [name if names.index(name) == at else f"{name} ({at + 1})" for at, name in enumerate(names)]
