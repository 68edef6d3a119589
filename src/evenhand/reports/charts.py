"""The pictures of the annex, as the templates draw them: points between two scales, rows, assessors on a circle.

What they show comes from ``plots``, where charts of their own show the same; here are places only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from evenhand.answers.compare import Comparison
from evenhand.answers.support import worth_of_confidence
from evenhand.compiled import Floats
from evenhand.models.fit import Fit
from evenhand.plots import findings, labels
from evenhand.plots.findings import KINDS
from evenhand.plots.links import Links, links_between
from evenhand.reports.drawing import Axis, axis
from evenhand.words import number

LINKED: Final = 20
"""Up to this many assessors are drawn with their links: of more, lines hide each other."""

_TICKS: Final = (7, 5, 4, 3)
"""How many ticks a scale has: the first of these whose labels a phone has room for."""

_ROOM: Final = {"plane": 28, "bars": 20}
"""For how many letters there is room along a scale."""

_FINE: Final = 1000
"""Steps along a scale at which points stand."""

_MANY: Final = 200
"""More points than this are small."""

_SHADES: Final = (0.12, 0.28, 0.46, 0.68, 1.0)
"""How strong a cell is, from few scores to many."""

_WIDE: Final = 340
_LETTER: Final = 7
_LONGEST: Final = 14
"""How wide a circle is with the names beside it, and a letter, in pixels; of longer names there is a list below."""

_SHORT, _HALF = 10, 17
"""Letters of a name for which a third of a row has room, and nearly half of it."""

_LINE: Final = 15
"""How far apart names stand, in pixels."""

_WIDTHS: Final = (0.5, 7.0)
"""How wide links are, in pixels: those of nothing in common, and of most."""

_SHAPES: Final[dict[str, str]] = {
    "circle": "M-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0z",
    "square": "M-5 -5h10v10h-10z",
    "triangle-up": "M0 -6.5l6 11h-12z",
    "diamond": "M0 -7l6 7l-6 7l-6 -7z",
    "cross": "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "triangle-down": "M0 6.5l6 -11h-12z",
    "": "M-6 -1.5h12v3h-12z",
}
"""Shapes of groups, about their places; the last is that of all further ones."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Points between a scale across and a scale up; of too many, cells, the stronger the more they have.

    Attributes
    ----------
    across, up
        The scales.
    titles
        What they measure.
    points
        The points as one path, in a square of 1000 by 1000 from the upper left.
    cells
        Paths of cells in the same square, each with its strength.
    is_dense
        Whether points are many, and so small.
    is_equal
        Whether the line is drawn on which both are the same.
    heading
        What stands above; empty where a picture has one plane.
    """

    kind: ClassVar[str] = "plane"

    across: Axis
    up: Axis
    titles: tuple[str, str]
    points: str = ""
    cells: tuple[tuple[float, str], ...] = ()
    is_dense: bool = False
    is_equal: bool = False
    heading: str = ""

    @property
    def levels(self) -> list[tuple[str, str]]:
        """How far from the top each tick of the scale up stands, and what it says."""
        return [(self.up.below(tick), label) for tick, (_, label) in zip(self.up.ticks, self.up.labels(), strict=True)]


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a drawing: a name, or who on what, and what is drawn beside it; None where that is not drawn."""

    name: str
    words: str
    of: str = ""
    line: tuple[float, float] | None = None
    bar: tuple[float, float] | None = None
    tick: float | None = None
    dot: float | None = None
    side: str = "other"


@dataclass(frozen=True, slots=True)
class Bars:
    """Rows along one scale, with a line at a number of it; an empty row stands for those between that are left out."""

    kind: ClassVar[str] = "bars"

    axis: Axis
    title: str
    heading: str
    rows: tuple[Bar, ...]
    mark: float | None = None
    legend: tuple[tuple[str, str], ...] = ()

    @property
    def room(self) -> str:
        """How much room names need: a class of the table."""
        longest = max(_width(row.name + row.of) + 4 * bool(row.of) for row in self.rows)
        if longest <= _SHORT:
            return ""
        return "long stacked" if any(row.of for row in self.rows) and longest > _HALF else "long"


@dataclass(frozen=True, slots=True)
class Node:
    """An assessor on a circle: where, the name, on which side and how far below it stands, the shape of the group."""

    x: str
    y: str
    name: str
    title: str
    side: str
    below: str
    shape: str


@dataclass(frozen=True, slots=True)
class Circle:
    """Assessors on a circle, and the links between them.

    Attributes
    ----------
    nodes
        The assessors, in their order on the circle.
    links
        Ends of each link, its width, and whether it is weak.
    strength
        How strong links are drawn: many are fainter.
    height
        In pixels.
    is_numbered
        Whether numbers stand for names, which a list below has.
    legend
        Shapes of groups, and what they are called; empty where there is one.
    """

    kind: ClassVar[str] = "circle"

    nodes: tuple[Node, ...]
    links: tuple[tuple[str, str, str, str, str, bool], ...]
    strength: float
    height: int
    is_numbered: bool
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the annex: its finding, its panels, what they show, and all of it in words."""

    title: str
    panels: tuple[Plane | Bars | Circle, ...]
    notes: str
    words: str


def _picture(title: str, panels: Sequence[Plane | Bars | Circle], notes: Sequence[str], what: str) -> Picture:
    told = " ".join(note for note in notes if note)
    return Picture(title, tuple(panels), told, labels.description(what, title, notes))


# --- what the pictures show ----------------------------------------------------------------------


def residuals(fit: Fit) -> Picture:
    """Return the residuals: against the fitted scores, and assessor by assessor."""
    found, panel = findings.residuals(fit), fit.panel
    titles = ("fitted score in points", "residual in points")
    left = _plane(found.fitted, found.residual, titles)
    if found.cells is not None:
        left = _cells(*found.cells, titles)
    digits = labels.decimals(found.residual)
    rows = [
        Bar(str(panel.assessors[at]), _span(lower, upper, digits), line=(low, high), bar=(lower, upper), tick=middle)
        for at, (low, lower, middle, upper, high) in zip(
            found.assessors.tolist(), found.quantiles.tolist(), strict=True
        )
    ]
    scale = _axis([*found.quantiles.ravel().tolist(), 0.0], _ROOM["bars"])
    notes = [
        f"{found.meaning} Bars go from quartile to quartile, lines from 5% to 95%, the longest bar first.",
        "" if found.cells is None else f"The stronger a cell, the more of {panel.n_assessments:,} scores it has.",
        *found.notes,
    ]
    return _picture(found.title, [left, Bars(scale, titles[1], "Assessor", tuple(rows), 0.0)], notes, found.what)


def influence(fit: Fit) -> Picture:
    """Return what each score did: those that pulled their objects' values most, and all beside what others predict."""
    found, panel = findings.influence(fit), fit.panel
    title, digits = "pull on the value in points", labels.decimals(np.append(found.pull[found.drawn], 0.0))
    rows = [
        Bar(
            str(panel.assessors[panel.assessor_index[at]]),
            number(float(found.pull[at]), digits, signed=True),
            of=str(panel.objects[panel.object_index[at]]),
            bar=(0.0, float(found.pull[at])),
        )
        for at in found.first.tolist()
    ]
    scale = _axis([*found.pull[found.first].tolist(), 0.0], _ROOM["bars"])
    right = _plane(
        found.error[found.drawn], found.pull[found.drawn], ("score less what the others predict, in points", title)
    )
    notes = [f"Bars: {found.told_first}. Dots: {found.told_drawn}.", *found.notes]
    return _picture(found.title, [Bars(scale, title, "Score of", tuple(rows), 0.0), right], notes, found.what)


def methods(compared: Comparison, fit: Fit) -> Picture:
    """Return the values of every other method against those of the fit."""
    found = findings.agreement(compared, fit)
    planes = []
    for by, at, r2 in found.pairs:
        one, two = (found.fits[which].values.estimate[found.members] for which in (by, at))
        scale = _axis([*one.tolist(), *two.tolist()], _ROOM["plane"])
        heading = f"R² {'–' if r2 is None else f'{r2:.2f}'}"
        titles = found.fits[by].name, found.fits[at].name
        points = _points(one, two, scale, scale)
        planes.append(Plane(scale, scale, titles, points, is_dense=one.size > _MANY, is_equal=True, heading=heading))
    return _picture(found.title, planes, found.notes, found.what)


def confidence(fit: Fit, compared: Comparison | None) -> Picture:
    """Return what declared confidence was worth: by the test that the alerts go by, where it was made."""
    worth = worth_of_confidence(compared)
    # residuals of scores that are not weighed as they scatter are mixed of those of all levels
    if worth is None:
        found = findings.confidence(fit)
    else:
        is_aside = worth.weighed.method != fit.method
        found = findings.confidence(worth.weighed, finding=worth.headline, is_aside=is_aside)
    is_level = found.by == "level"
    digits = labels.decimals(np.append(found.declared, 0.0)) if is_level else 2
    sides = dict(zip(KINDS, ("more", "other", "less"), strict=True))
    columns = (found.names, found.declared, found.actual, found.lower, found.upper, found.kinds)
    rows = [
        Bar(
            name,
            f"{number(float(actual), digits)}, {_span(lower, upper, digits)}",
            bar=(float(lower), float(upper)),
            tick=float(declared) if is_level else None,
            dot=float(actual),
            side="level" if is_level else sides[kind],
        )
        for name, declared, actual, lower, upper, kind in zip(*columns, strict=True)
    ]
    half = len(rows) // 2
    gap = [Bar(f"… {found.between:,} between …", "")] if found.between else []
    drawn = Bars(
        _axis([0.0, found.reach], _ROOM["bars"]),
        f"spread of scores in {found.unit}",
        "Declared" if is_level else "Assessor",
        (*rows[:half], *gap, *rows[half:]),
        0.0 if is_level else 1.0,
        () if is_level else tuple((sides[kind], kind) for kind in KINDS if kind in found.kinds),
    )
    how = "Tick: as declared. Dot: as scores spread." if is_level else "At 1 scores spread as declared."
    return _picture(found.title, [drawn], [how, *found.notes], f"Dot plot of the spread of {len(rows):,} rows")


def assessor_graph(fit: Fit) -> Picture:
    """Return the assessors on a circle, with a link between any two who saw an object in common."""
    found = links_between(fit.panel, fit.connectivity)
    return _picture(found.title, [_circle(found, fit.panel.assessors)], found.notes, found.what)


# --- where it stands -----------------------------------------------------------------------------


def _span(low: float, high: float, digits: int) -> str:
    return f"{number(float(low), digits)} to {number(float(high), digits)}"


def _axis(numbers: Sequence[float], room: int) -> Axis:
    """Return a scale that shows all numbers, with as many ticks as there is room for, in letters."""
    tried = [axis(numbers, ticks=ticks) for ticks in _TICKS]
    return next((one for one in tried if sum(len(label) + 1.5 for _, label in one.labels()) <= room), tried[-1])


def _plane(x: Floats, y: Floats, titles: tuple[str, str]) -> Plane:
    across, up = _axis(x.tolist(), _ROOM["plane"]), axis([*y.tolist(), 0.0], ticks=_TICKS[0])
    return Plane(across, up, titles, _points(x, y, across, up), is_dense=x.size > _MANY)


def _steps(numbers: Floats, scale: Axis) -> list[int]:
    """Return how many steps from the beginning of a scale numbers stand."""
    return [round(_FINE * (one - scale.low) / (scale.high - scale.low)) for one in numbers.tolist()]


def _points(x: Floats, y: Floats, across: Axis, up: Axis) -> str:
    """Return points as a path: lines of no length, whose round ends are drawn; of those in one place one."""
    places = dict.fromkeys(zip(_steps(x, across), _steps(y, up), strict=True))
    return "".join(f"M{right} {_FINE - above}h0" for right, above in places)


def _cells(counts: Floats, columns: Floats, rows: Floats, titles: tuple[str, str]) -> Plane:
    """Return cells with the numbers of points in them, in a few strengths."""
    across, up = _axis(columns.tolist(), _ROOM["plane"]), axis(rows.tolist(), ticks=_TICKS[0])
    x, y = _steps(columns, across), [_FINE - one for one in _steps(rows, up)]
    strength = np.ceil(len(_SHADES) * np.sqrt(counts / counts.max())).astype(int)
    paths = []
    for level, shade in enumerate(_SHADES, start=1):
        at = zip(*(where.tolist() for where in np.nonzero(strength == level)), strict=True)
        path = "".join(f"M{x[i]} {y[j]}H{x[i + 1]}V{y[j + 1]}H{x[i]}z" for i, j in at)
        if path:
            paths.append((shade, path))
    return Plane(across, up, titles, cells=tuple(paths))


def _width(name: str) -> int:
    """Return how wide a name is, in letters."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in name)


def _circle(found: Links, names: Sequence[object]) -> Circle:
    """Return the circle, as wide as the names beside it leave room for, and so high that none covers another."""
    count = found.turn.size
    x, y = (np.zeros(1), np.zeros(1)) if count == 1 else (np.sin(found.turn), np.cos(found.turn))
    order = np.argsort(found.turn, kind="stable").tolist()
    is_numbered = max(map(_width, found.names)) > _LONGEST
    number_of = {at: place for place, at in enumerate(order, start=1)}
    shown = [str(number_of[at]) if is_numbered else found.names[at] for at in range(count)]
    reach = min(0.31, 0.5 - (_LETTER * max(map(_width, shown)) + 14) / _WIDE)
    gap = np.cos(np.pi / count) - np.cos(3 * np.pi / count) if count > 3 else 1.0
    tall = max(reach * _WIDE, _LINE / gap, 60.0) if count > 1 else 0.0
    height = round(2 * (tall + 26))
    at_x = [f"{50 + 100 * reach * one:.2f}%" for one in x.tolist()]
    at_y = [f"{50 - 100 * tall / height * one:.2f}%" for one in y.tolist()]
    thin, wide = _WIDTHS
    links = tuple(
        (at_x[a], at_y[a], at_x[b], at_y[b], f"{thin + (wide - thin) * common / max(found.most, 1):.2f}", bool(weak))
        for a, b, common, weak in zip(
            *(part[found.drawn].tolist() for part in (found.one, found.two, found.shared, found.weak)), strict=True
        )
    )
    shapes = [*(_SHAPES[name] for name in labels.GROUP_SHAPES), _SHAPES[""]]
    group = np.minimum(found.component, labels.MOST_GROUPS).tolist()
    return Circle(
        nodes=tuple(
            Node(at_x[at], at_y[at], shown[at], str(names[at]), *_side(float(x[at]), float(y[at])), shapes[group[at]])
            for at in order
        ),
        links=links,
        strength=round(min(0.8, max(0.35, 60 / max(len(links), 1))), 2),
        height=height,
        is_numbered=is_numbered,
        legend=tuple(
            (shapes[one], "smaller groups" if one == labels.MOST_GROUPS else f"group {one + 1}")
            for one in sorted(set(group))
            if max(group)
        ),
    )


def _side(x: float, y: float) -> tuple[str, str]:
    """Return on which side of a place on a circle its name has room, and how far below, in pixels: away from links."""
    if abs(x) < 0.1 and y:
        return ("top", "-11") if y > 0 else ("bottom", "20")
    return "left" if x < 0 else "right", f"{4 - 8 * y:.0f}"
