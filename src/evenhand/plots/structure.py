"""Pictures of who assessed what: the assessment graph, the graph on the assessors, the design."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import altair as alt
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from evenhand.compiled import Floats, sum_by
from evenhand.design.result import Design
from evenhand.look import LIGHT
from evenhand.panel.panel import Panel
from evenhand.plots import style
from evenhand.plots.style import ALERT, GREY, INK, WIDTH, Chart, Codes
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.solve.connectivity import assessor_graph as weights_between
from evenhand.words import called, called_some, count_of, name_some, plural

_CUT: Final = 3
"""Of up to so many assessors without whom others are cut off it is said who these are."""

_SWEEPS: Final = 12
"""How often each node moves to the middle of its neighbours."""

_MOST_LINES: Final = 300
"""Up to this many assessments of a graph are drawn one by one."""

_BUNDLES: Final = 8
"""Of more, neighbours are taken together to about this many bundles on either side."""

_MOST_LINKS: Final = 60
"""Up to this many links between assessors are drawn; of more, the strongest, those of each assessor and weak ones."""

_BLOCKS: Final = (60, 40)
"""Columns and rows of the matrix of a design that is too large for a mark for each assessment."""

_MOST_CELLS: Final = 20_000
"""Up to this many assessments are drawn one by one in the matrix of a design."""

_BROAD: Final = 900
"""How wide such a matrix may be; with more objects than pixels they cannot be told apart."""

_APART: Final = 380
"""How far assessors and objects of a graph stand apart."""

_LEVEL: Final = 16
"""Up to this many assessors on a circle have level names; of more, names point outwards."""

_LONGEST_RAY: Final = 95
"""Names that point outwards are cut at this many pixels."""

_NAMED: Final = 60
"""Up to this many nodes of a kind have their names beside them."""


def _standing(parts: Connectivity) -> str:
    """Return in a sentence whether a panel is connected."""
    panel = parts.panel
    if not parts.is_connected:
        return f"The panel falls into {parts.n_components} groups that share neither assessor nor {panel.noun}"
    if panel.n_assessors == 1:
        return f"One assessor saw all {count_of(panel.n_objects, panel.noun)}: there is nobody to compare them with"
    return f"All {panel.n_assessors:,} assessors can be compared, directly or through others"


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
    return style.finish(chart, _standing(parts), notes, what, WIDTH)


def assessments_drawn(panel: Panel, parts: Connectivity) -> tuple[Any, list[str]]:
    """Return assessors, objects and a link for each assessment, as a chart without a title, and notes to it."""
    of_objects, of_assessors = _orders(panel, parts)
    every = panel.n_assessments <= _MOST_LINES and max(panel.n_objects, panel.n_assessors) <= _NAMED
    left = _bundles(
        "assessor", panel.assessors, of_assessors, parts.assessor_component, panel.assessor_assessments, every
    )
    right = _bundles("object", panel.objects, of_objects, parts.object_component, panel.object_assessments, every)
    counts = [np.bincount(side.component, minlength=parts.n_components) for side in (left, right)]
    share = np.maximum(*counts) / np.maximum(*counts).sum()
    y_left, y_right = (_spread(_places(side.component, side.place), side.component, share) for side in (left, right))
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
            assessor=style.chosen(left.names, start),
            object=style.chosen(right.names, end),
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
            ("score", "score", style.decimals(panel.score)),
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


def _bundles(word: str, labels: Any, places: Codes, component: Codes, assessments: Codes, every: bool) -> _Bundles:
    if every or places.size <= 2 * _BUNDLES:
        index = np.arange(places.size)
        return _Bundles(style.drawable(labels), index, places.astype(np.float64), component, assessments, 1)
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
    if len(members.names) > _NAMED:
        return [dots]
    words = base.mark_text(
        align=("right", "left")[side], dx=(-9, 9)[side], fontSize=11, color=style.INK, limit=240, aria=False
    )
    return [dots, words.encode(text="name:N")]


def _group_names(component: Codes) -> list[str]:
    return [f"group {group + 1}" if group < style.MOST_GROUPS else "smaller groups" for group in component.tolist()]


def _group_shape(component: Codes, alone: str = "circle") -> Any:
    """Return the shapes of groups, with a legend; of one group a shape that says nothing."""
    if component.max() == 0:
        return alt.value(alone)
    names = list(dict.fromkeys(_group_names(np.unique(component))))
    shapes = [*style.GROUP_SHAPES, "stroke"][: len(names)]
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
    parts = connectivity(panel)
    chart, notes, links = assessors_drawn(panel, parts)
    what = f"Graph of {count_of(panel.n_assessors, 'assessor')} with {count_of(links, 'link')}"
    return style.finish(chart, _standing(parts), notes, what, WIDTH)


def assessors_drawn(panel: Panel, parts: Connectivity, width: float = WIDTH) -> tuple[Any, list[str], int]:
    """Return the assessors on a circle with their links, as a chart without a title, notes to it, how many links."""
    weights = sp.triu(weights_between(panel), 1).tocoo()
    one, two = (side.astype(np.int64) for side in weights.coords)
    shared = _shared(panel, one, two)
    weak, pivotal = _weak_links(panel, parts, one, two), _pivotal(panel.n_assessors, one, two)
    kept = np.flatnonzero(weak | _strongest(weights.data, one, two, panel.n_assessors))
    place = _orders(panel, parts)[1]
    if panel.n_assessors <= _LEVEL:
        place = _around(place, parts.assessor_component, one, two, shared.astype(np.float64))
    turn = 2 * np.pi * (place + 0.5) / panel.n_assessors
    ring = _ring(turn, width)
    names = style.drawable(panel.assessors)
    links = alt.Chart(
        style.data_of(
            x=ring.x[one[kept]],
            y=ring.y[one[kept]],
            x2=ring.x[two[kept]],
            y2=ring.y[two[kept]],
            first=style.chosen(names, one[kept]),
            second=style.chosen(names, two[kept]),
            shared=shared[kept],
            weight=weights.data[kept],
            weak=weak[kept],
        )
    ).encode(
        **ring.axes(),
        x2="x2:Q",
        y2="y2:Q",
        tooltip=style.tooltips(
            ("first", "assessor"), ("second", "and"), ("shared", "objects shared", 0), ("weight", "weight", 2)
        ),
    )
    most = int(shared.max()) if shared.size else 0
    widest = 7 if panel.n_assessors <= _NAMED else 2
    stroke = alt.StrokeWidth("shared:Q", scale=alt.Scale(domain=[0, max(most, 1)], range=[0.5, widest]), legend=None)
    strength = min(0.8, max(0.35, 60 / max(kept.size, 1)))
    links = links.encode(strokeWidth=stroke)
    layers = [links.mark_rule(color=GREY, strokeOpacity=strength)] if kept.size else []
    if weak.any():
        layers.append(links.transform_filter("datum.weak").mark_rule(color=ALERT))
    layers += _circle(panel, names, ring, parts.assessor_component, pivotal)
    notes = [
        f"Two assessors are linked if they saw {plural(panel.noun)} in common; the wider, the more: up to {most:,}."
        if most
        else "",
        _weak_note(
            [(names[one[at]], names[two[at]]) for at in np.flatnonzero(weak)],
            _cut_off(names, np.flatnonzero(pivotal), one, two),
            _single_scores(panel, parts, [(int(one[at]), int(two[at])) for at in np.flatnonzero(weak)]),
        ),
        f"Drawn are {kept.size:,} of {weak.size:,} links: each assessor's strongest." if kept.size < weak.size else "",
    ]
    return alt.layer(*layers), notes, int(weak.size)


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
    level = count <= _LEVEL
    x, y = (np.zeros(1), np.zeros(1)) if count == 1 else (np.sin(turn), np.cos(turn))
    angle = np.degrees(turn) + np.where(x >= 0, -90, 90)
    side = np.where(x >= 0, "right", "left")
    if level and count > 1:
        side = np.where(np.abs(x) < 0.1, np.where(y > 0, "top", "bottom"), side)
    height = min(80.0 + 35 * count, 0.8 * WIDTH) if level else float(WIDTH)
    up = 1.25 if level else 1.6 if count <= _NAMED else 1.05
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
    few = panel.n_assessors <= _NAMED
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


def _strongest(weight: Floats, one: Codes, two: Codes, count: int) -> NDArray[np.bool_]:
    """Return which links to draw: the strongest of all, and of each assessor."""
    strong = np.zeros(weight.size, dtype=bool)
    order = np.argsort(-weight, kind="stable")
    strong[order[: _MOST_LINKS if count <= _NAMED else 0]] = True
    for side in (one, two):  # the last to be written is the strongest
        best = np.full(count, -1)
        best[side[order[::-1]]] = order[::-1]
        strong[best[best >= 0]] = True
    return strong


def _entries(matrix: sp.csc_array[np.float64], one: Codes, two: Codes) -> Floats:
    return np.asarray(matrix.tocsr()[one, two]).ravel() if one.size else np.zeros(0)


def _shared(panel: Panel, one: Codes, two: Codes) -> Codes:
    """Return how many objects the assessors of each pair share."""
    seen = _edges(panel)
    seen.data[:] = 1.0
    return _entries(seen.T @ seen, one, two).astype(np.int64)


def _weak_links(panel: Panel, parts: Connectivity, one: Codes, two: Codes) -> NDArray[np.bool_]:
    """Return which pairs are joined by a single assessment only: a bridge, of an object that others saw too."""
    cut = _edges(panel, parts.bridges).T @ _edges(panel)
    return (_entries(cut, one, two) > 0) | (_entries(cut, two, one) > 0)


def _pivotal(count: int, one: Codes, two: Codes) -> NDArray[np.bool_]:
    """Return which assessors the others would fall apart without; every link is put in as an object that two saw."""
    pivotal = np.zeros(count, dtype=bool)
    if one.size:
        linked, ends = np.unique(np.concatenate([one, two]), return_inverse=True)
        links = Panel.from_arrays(np.tile(np.arange(one.size), 2), ends, np.zeros(2 * one.size))
        pivotal[linked[connectivity(links).articulation_assessors]] = True
    return pivotal


def _cut_off(names: list[str], pivotal: Codes, one: Codes, two: Codes) -> list[tuple[str, list[str]]]:
    """Return for each of those the assessors whom only they link to the others: all but the largest part of a group."""
    found = []
    for at in pivotal.tolist():
        kept = (one != at) & (two != at)
        ends = one[kept], two[kept]
        links = sp.coo_array((np.ones(ends[0].size), ends), shape=(len(names), len(names)))
        part = csgraph.connected_components(links, directed=False)[1]
        near = np.unique(part[np.unique(np.concatenate([two[one == at], one[two == at]]))])
        largest = max(near.tolist(), key=lambda number: int((part == number).sum()))
        found.append((names[at], style.chosen(names, np.flatnonzero(np.isin(part, near) & (part != largest)))))
    return found


def _single_scores(panel: Panel, parts: Connectivity, weak: list[tuple[int, int]]) -> list[str]:
    """Return the scores by which the one weak link holds, in words; none where more links are weak."""
    if len(weak) != 1:
        return []
    seen = {a: set(panel.object_index[panel.assessor_index == a].tolist()) for a in weak[0]}
    found = [
        (a, o)
        for a, o in zip(panel.assessor_index[parts.bridges], panel.object_index[parts.bridges], strict=True)
        if all(o in objects for objects in seen.values()) and a in seen
    ]
    lone = [(a, o) for a, o in found if len(seen[a]) == 1]  # all that an assessor gave, where both scores are bridges
    return [
        f"{called(panel.assessors[a], 'assessor')} on {called(panel.objects[o], panel.noun)}" for a, o in lone or found
    ]


def _weak_note(weak: list[tuple[str, str]], pivotal: list[tuple[str, list[str]]], scores: list[str]) -> str:
    said = ""
    if weak:
        pairs = [" and ".join(called(name, "assessor") for name in pair) for pair in weak]
        said = f"1 link (red) is weak: that of {pairs[0]} rests"
        if len(weak) > 1:
            named = f" ({name_some(pairs)})" if len(weak) <= _CUT else ""
            said = f"{len(weak):,} links (red) are weak{named}: each rests"
        said += f" on one score only{f' ({scores[0]})' if len(scores) == 1 else ''}. "
    if len(pivotal) > _CUT:
        said += f"Without any one of {name_some([who for who, _ in pivotal])} some cannot be compared with the others."
    else:
        said += " ".join(
            f"Without {called(who, 'assessor')}, {called_some(cut, 'assessor')} cannot be compared with the others."
            for who, cut in pivotal
        )
    return said.strip()


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
    places = _orders(panel, parts)
    kinds = style.declared_kinds(panel, as_sd=planned is not None)
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
    panel: Panel, of_objects: Codes, of_assessors: Codes, kinds: style.Kinds, meaning: str
) -> tuple[Any, int]:
    """Return a mark for each assessment, and how wide they are together."""
    objects, assessors = style.drawable(panel.objects), style.drawable(panel.assessors)
    rows = style.chosen(assessors, np.argsort(of_assessors))
    columns = style.chosen(objects, np.argsort(of_objects))
    column, row = of_objects[panel.object_index], of_assessors[panel.assessor_index]
    data = style.data_of(
        assessor=style.chosen(assessors, panel.assessor_index),
        object=style.chosen(objects, panel.object_index),
        left=column,
        right=column + 1,
        top=row,
        bottom=row + 1,
        kind=style.chosen(kinds.names, kinds.index),
        score=panel.score,
    )
    width = 16 * len(columns) if len(columns) <= _NAMED else _BROAD // len(columns) * len(columns)
    shades = alt.Color("kind:N", scale=style.palette(kinds.names, kinds.shades))
    score = () if meaning == "expected" else (("score", "score", style.decimals(panel.score)),)
    side = _side("y", "assessor", ("top", "bottom"), rows, style.LABELLED)
    cells = (
        alt.Chart(data, width=width, height=style.TALL if style.is_compact(rows) else style.ROW * len(rows))
        .mark_rect(stroke=LIGHT["bg"], strokeWidth=1 if len(columns) <= _NAMED else 0)
        .encode(
            **side,
            **_side("x", "object", ("left", "right"), columns, _NAMED),
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


def _edges(panel: Panel, rows: Any = slice(None)) -> sp.csr_array[np.float64]:
    """Return how often each object (rows) was assessed by each assessor, in some assessments or all."""
    ends = panel.object_index[rows], panel.assessor_index[rows]
    return sp.coo_array((np.ones(ends[0].size), ends), shape=(panel.n_objects, panel.n_assessors)).tocsr()


def _orders(panel: Panel, parts: Connectivity) -> tuple[Codes, Codes]:
    """Return places of objects and of assessors, group by group, so that those who belong together stand together."""
    edges = _edges(panel).tocoo()
    both = sp.block_array([[None, edges], [edges.T, None]]).tocsr()
    walk = sp.csgraph.reverse_cuthill_mckee(both, symmetric_mode=True)
    at = np.empty(walk.size)
    at[walk] = np.arange(walk.size)
    of_objects = _places(parts.object_component, at[: panel.n_objects])
    of_assessors = _places(parts.assessor_component, at[panel.n_objects :])
    for _ in range(_SWEEPS):  # each to the middle of its neighbours, so that few links cross
        middle = sum_by(panel.object_index, of_assessors[panel.assessor_index].astype(float), panel.n_objects)
        of_objects = _places(parts.object_component, middle / panel.object_assessments)
        middle = sum_by(panel.assessor_index, of_objects[panel.object_index].astype(float), panel.n_assessors)
        of_assessors = _places(parts.assessor_component, middle / panel.assessor_assessments)
    return of_objects, of_assessors


def _places(component: Codes, key: Floats) -> Codes:
    """Return the place of each, from 0: group by group, and by the key within a group."""
    place = np.empty(key.size, dtype=np.int64)
    place[np.lexsort((key, component))] = np.arange(key.size)
    return place


def _around(place: Codes, component: Codes, one: Codes, two: Codes, weight: Floats) -> Codes:
    """Return places on a circle from which strong links are short: two of a group change as long as that helps.

    ``place`` are the places to begin with, and links go from ``one`` to ``two``.
    """
    place, count = place.copy(), place.size

    def length() -> float:
        return float((weight * np.abs(np.sin(np.pi * (place[one] - place[two]) / count))).sum())

    best, better = length(), True
    while better:
        better = False
        for first, second in combinations(range(count), 2):
            if component[first] != component[second]:
                continue
            place[[first, second]] = place[[second, first]]
            now = length()
            if now < best - 1e-9:
                best, better = now, True
            else:
                place[[first, second]] = place[[second, first]]
    return place


def _spread(place: Codes, component: Codes, share: Floats) -> Floats:
    """Return heights between 0 and 1: each group in its own part, its members evenly within."""
    start = np.concatenate([[0.0], np.cumsum(share)[:-1]])
    count = np.bincount(component, minlength=share.size)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    within = (place - first[component] + 0.5) / count[component]
    return np.asarray(start[component] + share[component] * (0.04 + 0.92 * within))
