"""Pictures of who assessed what: the assessment graph, the graph on the assessors, the design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats, sum_by
from evenhand.design.result import Design
from evenhand.look import LIGHT
from evenhand.panel.panel import Panel
from evenhand.plots import labels, style
from evenhand.plots.labels import Codes
from evenhand.plots.links import LEVEL, NAMED, Links, links_between, orders, places, standing
from evenhand.plots.style import ALERT, GREY, INK, WIDTH, Chart
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import count_of, plural

_MOST_LINES: Final = 300
"""Up to this many assessments of a graph are drawn one by one."""

_BUNDLES: Final = 8
"""Of more, neighbours are taken together to about this many bundles on either side."""

_BLOCKS: Final = (60, 40)
"""Columns and rows of the matrix of a design that is too large for a mark for each assessment."""

_MOST_CELLS: Final = 20_000
"""Up to this many assessments are drawn one by one in the matrix of a design."""

_BROAD: Final = 900
"""How wide such a matrix may be; with more objects than pixels they cannot be told apart."""

_APART: Final = 380
"""How far assessors and objects of a graph stand apart."""

_LONGEST_RAY: Final = 95
"""Names that point outwards are cut at this many pixels."""


def graph(panel: Panel) -> Chart:
    """Return the assessment graph: assessors, objects, a link for each assessment, weak links marked (fig. 1).

    Where there are many objects, neighbours are taken together.

    Parameters
    ----------
    panel
        Any panel, connected or not.
    """
    parts = connectivity(panel)
    chart, notes = assessments_drawn(panel, parts)
    what = f"Graph of {count_of(panel.n_assessors, 'assessor')} and {count_of(panel.n_objects, 'object')}"
    return style.finish(chart, standing(parts), notes, what, WIDTH)


def assessments_drawn(panel: Panel, parts: Connectivity) -> tuple[Any, list[str]]:
    """Return assessors, objects and a link for each assessment, as a chart without a title, and notes to it."""
    of_objects, of_assessors = orders(panel, parts)
    every = panel.n_assessments <= _MOST_LINES and max(panel.n_objects, panel.n_assessors) <= NAMED
    left = _bundles(
        "assessor", panel.assessors, of_assessors, parts.assessor_component, panel.assessor_assessments, every
    )
    right = _bundles("object", panel.objects, of_objects, parts.object_component, panel.object_assessments, every)
    counts = [np.bincount(side.component, minlength=parts.n_components) for side in (left, right)]
    share = np.maximum(*counts) / np.maximum(*counts).sum()
    y_left, y_right = (_spread(places(side.component, side.place), side.component, share) for side in (left, right))
    weak = np.zeros(panel.n_assessments, dtype=np.int64)
    weak[parts.bridges] = 1
    codes = right.index[panel.object_index] * len(left.names) + left.index[panel.assessor_index]
    pairs, first, link, count = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    cut = np.bincount(link, weights=weak) > 0
    end, start = np.divmod(pairs, len(left.names))
    links = alt.Chart(
        style.data_of(
            start=[0] * pairs.size,
            end=[1] * pairs.size,
            y=y_left[start],
            y2=y_right[end],
            assessor=labels.chosen(left.names, start),
            object=labels.chosen(right.names, end),
            count=count,
            score=np.where(count == 1, panel.score[first], np.nan),
            weak=cut,
        ),
        width=_APART,
        height=min(max((18 if every else 52) * max(y_left.size, y_right.size), 160), 1080),
    ).encode(
        x=_flat("x", "start", [0, 1]),
        x2="end:Q",
        y=_flat("y", "y", [1, 0]),
        y2="y2:Q",
        tooltip=style.tooltips(
            *(("assessor", "assessor"), ("object", "object"), ("count", "assessments", 0)),
            ("score", "score", labels.decimals(panel.score)),
        ),
    )
    most = int(count.max())
    widths = alt.Scale(domain=[0, most], range=[0, min(most, 4)])
    if not every:  # what stands out is the order, not the crossings
        widths = alt.Scale(domain=[0, most], range=[0, 14], type="pow", exponent=1.6)
    width = alt.StrokeWidth("count:Q", scale=widths, legend=None)
    layers = [links.mark_rule(color=GREY, strokeOpacity=0.6 if every else 0.4).encode(strokeWidth=width)]
    if cut.any():
        layers.append(links.transform_filter("datum.weak").mark_rule(color=ALERT, strokeWidth=2.5))
    layers += _nodes(0, left, y_left)
    layers += _nodes(1, right, y_right)
    together = " and ".join(
        f"about {side.step} {word}s" for side, word in ((left, "assessor"), (right, "object")) if side.step > 1
    )
    notes = [
        f"Assessors on the left, {plural(panel.noun)} on the right; {count_of(panel.n_assessments, 'assessment')}.",
        f"Neighbours are taken together, {together} to a mark; the wider a link, the more assessments."
        if together
        else "",
        _bridge_note(int(weak.sum())),
    ]
    return alt.layer(*layers), notes


@dataclass(frozen=True, slots=True)
class _Bundles:
    """One side of the graph: its members, or where there are many, bundles of neighbours of the same group."""

    names: list[str]
    index: Codes
    place: Floats
    component: Codes
    assessments: Codes
    step: int


def _bundles(word: str, members: Any, places: Codes, component: Codes, assessments: Codes, every: bool) -> _Bundles:
    if every or places.size <= 2 * _BUNDLES:
        index = np.arange(places.size)
        return _Bundles(labels.drawable(members), index, places.astype(np.float64), component, assessments, 1)
    step = -(-places.size // _BUNDLES)
    codes = places // step * (int(component.max()) + 1) + component
    found, first, index, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    names = [count_of(size, word) for size in sizes.tolist()]
    counted = sum_by(index, assessments.astype(float), found.size).astype(np.int64)
    return _Bundles(names, index, places[first].astype(np.float64), component[first], counted, step)


def _flat(axis: str, field: str, domain: list[float]) -> Any:
    """Return a place on an axis that is not drawn."""
    channel = alt.X if axis == "x" else alt.Y
    return channel(f"{field}:Q", scale=alt.Scale(domain=domain, nice=False), axis=None)


def _bridge_note(weak: int) -> str:
    if not weak:
        return "No weak links: each assessment could be left out without cutting anything off."
    if weak == 1:
        return "1 assessment (red) is a weak link: without it, something would be cut off from the rest."
    return f"{weak:,} assessments (red) are weak links: without any one of them, something would be cut off."


def _nodes(side: int, members: _Bundles, y: Floats) -> list[Any]:
    word = ("assessor", "object")[side]
    data = style.data_of(
        y=y,
        name=members.names,
        group=_group_names(members.component),
        count=members.assessments,
        side=[side] * len(members.names),
    )
    base = alt.Chart(data).encode(x=_flat("x", "side", [0, 1]), y=_flat("y", "y", [1, 0]))
    dots = base.mark_point(filled=True, size=70, color=INK, opacity=1).encode(
        shape=_group_shape(members.component, ("circle", "square")[side]),
        tooltip=style.tooltips(("name", word), ("count", "assessments", 0)),
    )
    if len(members.names) > NAMED:
        return [dots]
    words = base.mark_text(
        align=("right", "left")[side], dx=(-9, 9)[side], fontSize=11, color=style.INK, limit=240, aria=False
    )
    return [dots, words.encode(text="name:N")]


def _group_names(component: Codes) -> list[str]:
    return [f"group {group + 1}" if group < labels.MOST_GROUPS else "smaller groups" for group in component.tolist()]


def _group_shape(component: Codes, alone: str = "circle") -> Any:
    """Return the shapes of groups, with a legend; of one group a shape that says nothing."""
    if component.max() == 0:
        return alt.value(alone)
    names = list(dict.fromkeys(_group_names(np.unique(component))))
    shapes = [*labels.GROUP_SHAPES, "stroke"][: len(names)]
    legend = alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK)
    return alt.Shape("group:N", scale=alt.Scale(domain=names, range=shapes), title=None, legend=legend)


def assessor_graph(panel: Panel) -> Chart:
    """Return the graph on the assessors, in which two are linked if they assessed an object in common (fig. 1).

    The more objects two share, the wider their link. A link is weak if it depends on a bridge: a single assessment that
    nothing could replace.

    Parameters
    ----------
    panel
        Any panel, connected or not.
    """
    found = links_between(panel, connectivity(panel))
    return style.finish(assessors_drawn(panel, found), found.title, found.notes, found.what, WIDTH)


def assessors_drawn(panel: Panel, found: Links, width: float = WIDTH) -> Any:
    """Return the assessors on a circle with their links, as a chart without a title."""
    ring = _ring(found.turn, width)
    one, two = found.one[found.drawn], found.two[found.drawn]
    links = alt.Chart(
        style.data_of(
            x=ring.x[one],
            y=ring.y[one],
            x2=ring.x[two],
            y2=ring.y[two],
            first=labels.chosen(found.names, one),
            second=labels.chosen(found.names, two),
            shared=found.shared[found.drawn],
            weight=found.weight[found.drawn],
            weak=found.weak[found.drawn],
        )
    ).encode(
        **ring.axes(),
        x2="x2:Q",
        y2="y2:Q",
        tooltip=style.tooltips(
            ("first", "assessor"), ("second", "and"), ("shared", "objects shared", 0), ("weight", "weight", 2)
        ),
    )
    widest = 7 if panel.n_assessors <= NAMED else 2
    widths = alt.Scale(domain=[0, max(found.most, 1)], range=[0.5, widest])
    strength = min(0.8, max(0.35, 60 / max(found.drawn.size, 1)))
    links = links.encode(strokeWidth=alt.StrokeWidth("shared:Q", scale=widths, legend=None))
    layers = [links.mark_rule(color=GREY, strokeOpacity=strength)] if found.drawn.size else []
    if found.weak.any():
        layers.append(links.transform_filter("datum.weak").mark_rule(color=ALERT))
    return alt.layer(*layers, *_circle(panel, found.names, ring, found.component, found.pivotal))


@dataclass(frozen=True, slots=True)
class _Ring:
    """Where assessors stand on a circle, how large it is drawn, and on which side of each the name goes."""

    x: Floats
    y: Floats
    angle: Floats
    side: list[str]
    reach: tuple[float, float]
    size: tuple[float, float]
    level: bool

    def axes(self) -> dict[str, Any]:
        """Return the axes on which everything is drawn."""
        across, up = self.reach
        return {"x": _flat("x", "x", [-across, across]), "y": _flat("y", "y", [-up, up])}


def _ring(turn: Floats, width: float) -> _Ring:
    """Return the circle for assessors at these turns, clockwise from the top, in a picture of this width."""
    count = turn.size
    level = count <= LEVEL
    x, y = (np.zeros(1), np.zeros(1)) if count == 1 else (np.sin(turn), np.cos(turn))
    angle = np.degrees(turn) + np.where(x >= 0, -90, 90)
    side = np.where(x >= 0, "right", "left")
    if level and count > 1:
        side = np.where(np.abs(x) < 0.1, np.where(y > 0, "top", "bottom"), side)
    height = min(80.0 + 35 * count, 0.8 * WIDTH) if level else float(WIDTH)
    up = 1.25 if level else 1.6 if count <= NAMED else 1.05
    return _Ring(x, y, angle, side.tolist(), (up * width / height, up), (width, height), level)


_BESIDE: Final[dict[str, dict[str, Any]]] = {
    "right": {"align": "left", "dx": 11},
    "left": {"align": "right", "dx": -11},
    "top": {"align": "center", "dy": -14},
    "bottom": {"align": "center", "dy": 15},
}
"""How names stand beside their nodes."""


def _circle(panel: Panel, names: list[str], ring: _Ring, component: Codes, pivotal: NDArray[np.bool_]) -> list[Any]:
    """Return the assessors on a circle, with their names around it where these are few enough to be read."""
    nodes = alt.Chart(
        style.data_of(
            x=ring.x,
            y=ring.y,
            angle=ring.angle,
            side=ring.side,
            name=names,
            group=_group_names(component),
            count=panel.assessor_assessments,
            pivotal=["yes" if flag else "no" for flag in pivotal.tolist()],
        ),
        width=ring.size[0],
        height=ring.size[1],
    ).encode(**ring.axes())
    few = panel.n_assessors <= NAMED
    tips = ("name", "assessor"), ("count", "assessments", 0), ("pivotal", "the others fall apart without")
    dots = nodes.mark_point(filled=True, color=INK, size=130 if few else 24, opacity=1)
    layers = [dots.encode(shape=_group_shape(component), tooltip=style.tooltips(*tips))]
    for side, where in _BESIDE.items() if few else ():
        if side in ring.side:
            words = nodes.transform_filter(f"datum.side == '{side}'").mark_text(
                fontSize=11, color=style.INK, limit=240 if ring.level else _LONGEST_RAY, aria=False, **where
            )
            words = words.encode(text=alt.Text("name:N"))
            layers.append(words if ring.level else words.encode(angle=alt.Angle("angle:Q", scale=None)))
    return layers


def design(panel: Panel | Design) -> Chart:
    """Return who saw what: a row for each assessor, a column for each object, darker where confidence is higher.

    Parameters
    ----------
    panel
        Any panel, connected or not; or a design, of which it shows who is to read what.
    """
    planned = panel if isinstance(panel, Design) else None
    panel = panel.panel if isinstance(panel, Design) else panel
    parts = connectivity(panel)
    places = orders(panel, parts)
    kinds = labels.declared_kinds(panel, as_sd=planned is not None)
    many = panel.n_assessments > _MOST_CELLS or panel.n_objects > _BROAD or panel.n_assessors > style.TALL
    if many:
        chart, width = _design_blocks(panel, *places), _BROAD
        said = f"The stronger, the more of {panel.n_assessments:,} assessments; neighbours are taken together."
    else:
        chart, width = _design_cells(panel, *places, kinds, "expected" if planned else "declared")
        said = "A mark for each assessment; the numbers at the right count them."
    declared = panel.describe_confidence()
    if planned:
        unit = "points" if planned.task.in_points else "units of a medium assessment's"
        declared = f"expected standard deviation of a score, in {unit}"
    who = "the only assessor" if panel.n_assessors == 1 else "each assessor"
    notes = [
        said + (f" The stronger, the surer: {declared}." if len(kinds.names) > 1 and not many else ""),
        style.group_note(parts.n_components, all_shown=True),
    ]
    word, verb = ("assessment", "makes") if planned else ("score", "gave")
    readings, loads = (_range(counts, word) for counts in (panel.object_assessments, panel.assessor_assessments))
    title = f"Each {panel.noun} has {readings}; {who} {verb} {loads}"
    what = f"Matrix of {count_of(panel.n_assessors, 'assessor')} by {count_of(panel.n_objects, 'object')}"
    return style.finish(chart, title, notes, what, width)


def _design_cells(
    panel: Panel, of_objects: Codes, of_assessors: Codes, kinds: labels.Kinds, meaning: str
) -> tuple[Any, int]:
    """Return a mark for each assessment, and how wide they are together."""
    objects, assessors = labels.drawable(panel.objects), labels.drawable(panel.assessors)
    rows = labels.chosen(assessors, np.argsort(of_assessors))
    columns = labels.chosen(objects, np.argsort(of_objects))
    column, row = of_objects[panel.object_index], of_assessors[panel.assessor_index]
    data = style.data_of(
        assessor=labels.chosen(assessors, panel.assessor_index),
        object=labels.chosen(objects, panel.object_index),
        left=column,
        right=column + 1,
        top=row,
        bottom=row + 1,
        kind=labels.chosen(kinds.names, kinds.index),
        score=panel.score,
    )
    width = 16 * len(columns) if len(columns) <= NAMED else _BROAD // len(columns) * len(columns)
    shades = alt.Color("kind:N", scale=style.palette(kinds.names, kinds.shades))
    score = () if meaning == "expected" else (("score", "score", labels.decimals(panel.score)),)
    side = _side("y", "assessor", ("top", "bottom"), rows, style.LABELLED)
    cells = (
        alt.Chart(data, width=width, height=style.TALL if style.is_compact(rows) else style.ROW * len(rows))
        .mark_rect(stroke=LIGHT["bg"], strokeWidth=1 if len(columns) <= NAMED else 0)
        .encode(
            **side,
            **_side("x", "object", ("left", "right"), columns, NAMED),
            color=shades if len(kinds.names) > 1 else alt.value(INK),
            tooltip=style.tooltips(("assessor", "assessor"), ("object", "object"), *score, ("kind", meaning)),
        )
    )
    if style.is_compact(rows):
        return alt.layer(cells), width
    work = alt.Chart(style.data_of(assessor=assessors, count=panel.assessor_assessments))
    figures = work.mark_text(align="left", dx=6, fontSize=11, color=GREY).encode(
        **side,
        x=alt.value(width),
        text=alt.Text("count:Q", format=","),
        tooltip=style.tooltips(("assessor", "assessor"), ("count", "assessments", 0)),
    )
    return alt.layer(cells, figures), width


def _design_blocks(panel: Panel, of_objects: Codes, of_assessors: Codes) -> Any:
    """Return how many assessments there are in each block of neighbouring assessors and objects."""
    across, down = (min(most, count) for most, count in zip(_BLOCKS, (panel.n_objects, panel.n_assessors), strict=True))
    column = of_objects[panel.object_index] * across // panel.n_objects
    row = of_assessors[panel.assessor_index] * down // panel.n_assessors
    codes, count = np.unique(row * across + column, return_counts=True)
    row, column = np.divmod(codes, across)
    data = style.data_of(left=column, right=column + 1, top=row, bottom=row + 1, count=count)
    sides = {"x": ("object", panel.n_objects, across), "y": ("assessor", panel.n_assessors, down)}
    bare = alt.Axis(labels=False, ticks=False, grid=False)
    x, y = (
        channel(
            f"{field}:Q",
            title=f"{sides[axis][1]:,} {sides[axis][0]}s",
            scale=alt.Scale(domain=[0, sides[axis][2]], reverse=axis == "y", nice=False),
            axis=bare,
        )
        for channel, axis, field in ((alt.X, "x", "left"), (alt.Y, "y", "top"))
    )
    shade = alt.Color(
        "count:Q",
        scale=alt.Scale(range=list(style.SHADES), domainMin=0),
        legend=alt.Legend(title="assessments", orient="right"),
    )
    cells = alt.Chart(data, width=12 * across, height=12 * down).mark_rect()
    tips = style.tooltips(("count", "assessments", 0))
    return alt.layer(cells.encode(x=x, x2="right:Q", y=y, y2="bottom:Q", color=shade, tooltip=tips))


def _side(axis: str, field: str, ends: tuple[str, str], names: list[str], most: int) -> dict[str, Any]:
    """Return the rows or the columns of a matrix: by name, or where they are many, by place alone."""
    channel, second = (alt.Y, "y2") if axis == "y" else (alt.X, "x2")
    if len(names) <= most:
        angle = 0 if axis == "y" else -90
        plain = alt.Axis(labelLimit=240, labelAngle=angle, ticks=False, domain=False, grid=False)
        return {axis: channel(f"{field}:N", sort=None, scale=alt.Scale(domain=names), axis=plain, title=None)}
    scale = alt.Scale(domain=[0, len(names)], reverse=axis == "y", nice=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False)
    title = f"{len(names):,} {field}s"
    return {axis: channel(f"{ends[0]}:Q", scale=scale, axis=bare, title=title), second: f"{ends[1]}:Q"}


def _range(counts: NDArray[np.int64], word: str) -> str:
    least, most = int(counts.min()), int(counts.max())
    return count_of(least, word) if least == most else f"{least:,} to {count_of(most, word)}"


def _spread(place: Codes, component: Codes, share: Floats) -> Floats:
    """Return heights between 0 and 1: each group in its own part, its members evenly within."""
    start = np.concatenate([[0.0], np.cumsum(share)[:-1]])
    count = np.bincount(component, minlength=share.size)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    within = (place - first[component] + 0.5) / count[component]
    return np.asarray(start[component] + share[component] * (0.04 + 0.92 * within))
