"""Pictures of who assessed what: the assessment graph, the graph on the assessors, the design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Floats, sum_by
from evenhand.design.result import Design
from evenhand.panel.panel import Panel
from evenhand.plots import style
from evenhand.plots.declared import declared_kinds
from evenhand.plots.layout import around, orders, places, spread
from evenhand.plots.style import BLUE, GREY, VERMILION, WIDTH, Chart, Codes
from evenhand.solve import connectivity as graphs
from evenhand.words import count_of

_BUNDLES: Final = 30
"""Into so many bundles more objects than can be named are taken together."""

_MOST_LINKS: Final = 150
"""Up to so many links between assessors are drawn; of more, the weak ones and the strongest."""

_MOST_CELLS: Final = 20_000
"""Up to so many assessments are drawn in the matrix of a design."""

_LEVEL: Final = 16
"""Up to so many assessors on a circle have level names; of more, names point outwards."""

_LONGEST_RAY: Final = 95
"""Names that point outwards are cut at so many pixels."""

_NAMED: Final = 60
"""Up to so many nodes of a kind have their names beside them."""


def _standing(parts: graphs.Connectivity) -> str:
    """Return in a sentence whether a panel hangs together."""
    panel = parts.panel
    if not parts.is_connected:
        return f"The panel falls into {parts.n_components} groups that share neither assessor nor object"
    if panel.n_assessors == 1:
        return f"One assessor saw all {count_of(panel.n_objects, 'object')}: there is nobody to compare them with"
    return f"All {panel.n_assessors:,} assessors can be compared, directly or through others"


def graph(panel: Panel) -> Chart:
    """Return the assessment graph: assessors, objects, a link for each assessment, weak links marked (fig. 1).

    Where there are many objects, neighbours are taken together.

    Parameters
    ----------
    panel
        Any panel, connected or not.
    """
    parts = graphs.connectivity(panel)
    of_objects, of_assessors = orders(panel, parts)
    right = _bundles(panel, parts, of_objects)
    counts = [np.bincount(part, minlength=parts.n_components) for part in (right.component, parts.assessor_component)]
    share = np.maximum(*counts) / np.maximum(*counts).sum()
    y_right = spread(places(right.component, right.place), right.component, share)
    y_left = spread(of_assessors, parts.assessor_component, share)
    assessors = style.drawable(panel.assessors)
    weak = np.zeros(panel.n_assessments, dtype=np.int64)
    weak[parts.bridges] = 1
    codes = right.index[panel.object_index] * panel.n_assessors + panel.assessor_index
    pairs, first, link, count = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    cut = np.bincount(link, weights=weak) > 0
    scores = panel.score[first]
    end, start = np.divmod(pairs, panel.n_assessors)
    links = alt.Chart(
        style.data_of(
            start=[0] * pairs.size,
            end=[1] * pairs.size,
            y=y_left[start],
            y2=y_right[end],
            assessor=[assessors[i] for i in start.tolist()],
            object=[right.names[i] for i in end.tolist()],
            count=count,
            score=np.where(count == 1, scores, np.nan),
            weak=cut,
        ),
        width=340,
        height=min(max(18 * max(y_left.size, y_right.size), 160), 1080 if y_left.size <= _NAMED else 800),
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
    width = alt.StrokeWidth("count:Q", scale=alt.Scale(domain=[0, most], range=[0, min(most, 5)]), legend=None)
    strength = min(1.0, max(0.15, 180 / pairs.size))
    layers = [links.mark_rule(color=GREY, strokeOpacity=strength).encode(strokeWidth=width)]
    if cut.any():
        layers.append(links.transform_filter("datum.weak").mark_rule(color=VERMILION, strokeWidth=2.5))
    layers += _nodes(0, assessors, y_left, parts.assessor_component, panel.assessor_assessments)
    layers += _nodes(1, right.names, y_right, right.component, right.assessments)
    notes = [
        f"Assessors on the left, objects on the right; {count_of(panel.n_assessments, 'assessment')}.",
        f"Objects are taken together, about {right.step} to a square; the wider a link, the more assessments."
        if right.step > 1
        else "",
        _bridge_note(int(weak.sum())),
    ]
    what = f"Graph of {count_of(panel.n_assessors, 'assessor')} and {count_of(panel.n_objects, 'object')}"
    return style.finish(alt.layer(*layers), _standing(parts), notes, what, 440)


@dataclass(frozen=True, slots=True)
class _Bundles:
    """Objects, or where there are many, bundles of neighbours of the same group: the right side of the graph."""

    names: list[str]
    index: Codes
    place: Floats
    component: Codes
    assessments: Codes
    step: int


def _bundles(panel: Panel, parts: graphs.Connectivity, places: Codes) -> _Bundles:
    if panel.n_objects <= _NAMED:
        objects = style.drawable(panel.objects)
        component, counted = parts.object_component, panel.object_assessments
        return _Bundles(objects, np.arange(len(objects)), places.astype(np.float64), component, counted, 1)
    step = -(-panel.n_objects // _BUNDLES)
    codes = places // step * parts.n_components + parts.object_component
    found, first, index, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    names = [count_of(size, "object") for size in sizes.tolist()]
    counted = sum_by(index, panel.object_assessments.astype(float), found.size).astype(np.int64)
    component = parts.object_component[first]
    return _Bundles(names, index, places[first].astype(np.float64), component, counted, step)


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


def _nodes(side: int, names: list[str], y: Floats, component: Codes, counted: Codes) -> list[Any]:
    word = ("assessor", "object")[side]
    data = style.data_of(y=y, name=names, group=_group_names(component), count=counted, side=[side] * len(names))
    base = alt.Chart(data).encode(x=_flat("x", "side", [0, 1]), y=_flat("y", "y", [1, 0]))
    size = 70 if len(names) <= _NAMED else 12
    dots = base.mark_point(filled=True, size=size, opacity=1, shape=("circle", "square")[side]).encode(
        color=_group_colour(component), tooltip=style.tooltips(("name", word), ("count", "assessments", 0))
    )
    if len(names) > _NAMED:
        return [dots]
    words = base.mark_text(
        align=("right", "left")[side], dx=(-9, 9)[side], fontSize=11, color=style.INK, limit=240, aria=False
    )
    return [dots, words.encode(text="name:N")]


def _group_names(component: Codes) -> list[str]:
    return [f"group {group + 1}" if group < style.MOST_GROUPS else "smaller groups" for group in component.tolist()]


def _group_colour(component: Codes) -> Any:
    count = int(component.max()) + 1
    if count == 1:
        return alt.value(BLUE)
    names = [f"group {group + 1}" for group in range(min(count, style.MOST_GROUPS))]
    colours = list(style.GROUP_COLOURS[: len(names)])
    if count > style.MOST_GROUPS:
        names, colours = [*names, "smaller groups"], [*colours, GREY]
    return alt.Color("group:N", scale=style.palette(names, colours), title=None)


def assessor_graph(panel: Panel) -> Chart:
    """Return the graph on the assessors, in which two are linked if they assessed an object in common (fig. 1).

    The more objects two share, the wider their link. A link is weak if it hangs by a single assessment that
    nothing could replace.

    Parameters
    ----------
    panel
        Any panel, connected or not.
    """
    parts = graphs.connectivity(panel)
    weights = sp.triu(graphs.assessor_graph(panel), 1).tocoo()
    one, two = (side.astype(np.int64) for side in weights.coords)
    shared = _shared(panel, one, two)
    weak, pivotal = _weak_links(panel, parts, one, two), _pivotal(panel.n_assessors, one, two)
    kept = np.flatnonzero(weak | _strongest(weights.data, one, two, panel.n_assessors))
    place = orders(panel, parts)[1]
    if panel.n_assessors <= _LEVEL:
        place = around(place, parts.assessor_component, one, two, shared.astype(np.float64))
    turn = 2 * np.pi * (place + 0.5) / panel.n_assessors
    ring = _ring(turn)
    names = style.drawable(panel.assessors)
    links = alt.Chart(
        style.data_of(
            x=ring.x[one[kept]],
            y=ring.y[one[kept]],
            x2=ring.x[two[kept]],
            y2=ring.y[two[kept]],
            first=[names[i] for i in one[kept].tolist()],
            second=[names[i] for i in two[kept].tolist()],
            shared=shared[kept],
            weight=weights.data[kept],
            weak=weak[kept],
        )
    ).encode(
        x=_flat("x", "x", ring.sideways),
        y=_flat("y", "y", ring.upwards),
        x2="x2:Q",
        y2="y2:Q",
        tooltip=style.tooltips(
            ("first", "assessor"), ("second", "and"), ("shared", "objects shared", 0), ("weight", "weight", 2)
        ),
    )
    most = int(shared.max()) if shared.size else 0
    width = alt.StrokeWidth("shared:Q", scale=alt.Scale(domain=[0, max(most, 1)], range=[0.5, 7]), legend=None)
    strength = min(0.8, max(0.25, 60 / max(kept.size, 1)))
    layers = []
    if kept.size:
        layers.append(links.mark_rule(color=GREY, strokeOpacity=strength).encode(strokeWidth=width))
    if weak.any():
        red = links.transform_filter("datum.weak").mark_rule(color=VERMILION)
        layers.append(red.encode(strokeWidth=width))
    layers += _circle(panel, names, ring, parts.assessor_component, pivotal)
    notes = [
        f"Two assessors are linked if they saw objects in common; the wider, the more: up to {most:,}." if most else "",
        _weak_note(int(weak.sum()), [names[i] for i in np.flatnonzero(pivotal).tolist()]),
        f"Drawn are {kept.size:,} of {weak.size:,} links, the strongest." if kept.size < weak.size else "",
    ]
    what = f"Graph of {count_of(panel.n_assessors, 'assessor')} with {count_of(weak.size, 'link')}"
    return style.finish(alt.layer(*layers), _standing(parts), notes, what, WIDTH)


@dataclass(frozen=True, slots=True)
class _Ring:
    """Where assessors stand on a circle, how large it is drawn, and on which side of each the name goes."""

    x: Floats
    y: Floats
    angle: Floats
    side: list[str]
    sideways: list[float]
    upwards: list[float]
    height: float
    level: bool


def _ring(turn: Floats) -> _Ring:
    """Return the circle for assessors at these turns, clockwise from the top."""
    count = turn.size
    level = count <= _LEVEL
    x, y = (np.zeros(1), np.zeros(1)) if count == 1 else (np.sin(turn), np.cos(turn))
    angle = np.degrees(turn) + np.where(x >= 0, -90, 90)
    side = ["right" if at >= 0 else "left" for at in x.tolist()]
    if level and count > 1:
        ends = ["top" if at > 0 else "bottom" for at in y.tolist()]
        side = [end if abs(at) < 0.1 else beside for end, beside, at in zip(ends, side, x.tolist(), strict=True)]
    reach = [1.5, 1.2] if level else [1.6, 1.6]
    height = min(40.0 + 40 * count, 0.8 * WIDTH) if level else float(WIDTH)
    return _Ring(x, y, angle, side, [-reach[0], reach[0]], [-reach[1], reach[1]], height, level)


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
        width=WIDTH,
        height=ring.height,
    ).encode(x=_flat("x", "x", ring.sideways), y=_flat("y", "y", ring.upwards))
    few = panel.n_assessors <= _NAMED
    layers = [
        nodes.mark_point(filled=True, size=130 if few else 30, opacity=1).encode(
            color=_group_colour(component),
            tooltip=style.tooltips(
                ("name", "assessor"), ("count", "assessments", 0), ("pivotal", "the others fall apart without")
            ),
        )
    ]
    sides: dict[str, dict[str, Any]] = {
        "right": {"align": "left", "dx": 11},
        "left": {"align": "right", "dx": -11},
        "top": {"align": "center", "dy": -14},
        "bottom": {"align": "center", "dy": 15},
    }
    for side, where in sides.items() if few else []:
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
    strong[order[:_MOST_LINKS]] = True
    for side in (one, two):  # the last to be written is the strongest
        best = np.full(count, -1)
        best[side[order[::-1]]] = order[::-1]
        strong[best[best >= 0]] = True
    return strong


def _shared(panel: Panel, one: Codes, two: Codes) -> Codes:
    """Return how many objects the assessors of each pair share."""
    seen = sp.coo_array(
        (np.ones(panel.n_assessments), (panel.object_index, panel.assessor_index)),
        shape=(panel.n_objects, panel.n_assessors),
    ).tocsr()
    seen.data[:] = 1.0
    together = (seen.T @ seen).tocoo()
    places = {
        (a, b): n
        for a, b, n in zip(*(part.tolist() for part in together.coords), together.data.tolist(), strict=True)
        if a < b
    }
    return np.array([places[pair] for pair in zip(one.tolist(), two.tolist(), strict=True)], dtype=np.int64)


def _weak_links(panel: Panel, parts: graphs.Connectivity, one: Codes, two: Codes) -> NDArray[np.bool_]:
    """Return which pairs are joined by a single assessment only: a bridge, of an object that others saw too."""
    by_object: dict[int, list[int]] = {}
    for o, a in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True):
        by_object.setdefault(o, []).append(a)
    cut = {
        (min(a, other), max(a, other))
        for a, o in zip(
            panel.assessor_index[parts.bridges].tolist(), panel.object_index[parts.bridges].tolist(), strict=True
        )
        for other in by_object[o]
    }
    return np.array([pair in cut for pair in zip(one.tolist(), two.tolist(), strict=True)], dtype=bool)


def _pivotal(count: int, one: Codes, two: Codes) -> NDArray[np.bool_]:
    """Return which assessors the others would fall apart without; every link is put in as an object that two saw."""
    pivotal = np.zeros(count, dtype=bool)
    if one.size:
        linked, ends = np.unique(np.concatenate([one, two]), return_inverse=True)
        links = Panel.from_arrays(np.tile(np.arange(one.size), 2), ends, np.zeros(2 * one.size))
        pivotal[linked[graphs.connectivity(links).articulation_assessors]] = True
    return pivotal


def _weak_note(weak: int, pivotal: list[str]) -> str:
    said = ""
    if weak:
        said = "1 link (red) is weak: it hangs" if weak == 1 else f"{weak:,} links (red) are weak: each hangs"
        said += " by a single assessment that nothing could replace. "
    if pivotal:
        more = f" and {len(pivotal) - 6} more" if len(pivotal) > 6 else ""
        any_of = "any one of " if len(pivotal) > 1 else ""
        said += f"Without {any_of}{', '.join(pivotal[:6])}{more} the others would fall apart."
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
    parts = graphs.connectivity(panel)
    of_objects, of_assessors = orders(panel, parts)
    objects, assessors = style.drawable(panel.objects), style.drawable(panel.assessors)
    rows = [assessors[i] for i in np.argsort(of_assessors).tolist()]
    columns = [objects[i] for i in np.argsort(of_objects).tolist()]
    kept = np.arange(0, panel.n_assessments, -(-panel.n_assessments // _MOST_CELLS))
    of_object, of_assessor = panel.object_index[kept], panel.assessor_index[kept]
    kinds = declared_kinds(panel, as_sd=planned is not None)
    data = style.data_of(
        assessor=[assessors[i] for i in of_assessor.tolist()],
        object=[objects[i] for i in of_object.tolist()],
        left=of_objects[of_object],
        right=of_objects[of_object] + 1,
        top=of_assessors[of_assessor],
        bottom=of_assessors[of_assessor] + 1,
        kind=[kinds.names[i] for i in kinds.index[kept].tolist()],
        score=panel.score[kept],
    )
    width = 16 * len(columns) if len(columns) <= _NAMED else 900
    tall = style.ROW * len(rows) if not style.is_compact(rows) else style.TALL
    shades = alt.Color("kind:N", scale=style.palette(kinds.names, kinds.shades))
    cells = (
        alt.Chart(data, width=width, height=tall)
        .mark_rect(stroke="white", strokeWidth=1 if len(columns) <= _NAMED else 0)
        .encode(
            **_side("y", "assessor", ("top", "bottom"), rows, style.LABELLED),
            **_side("x", "object", ("left", "right"), columns, _NAMED),
            color=shades if len(kinds.names) > 1 else alt.value(BLUE),
            tooltip=style.tooltips(
                *(("assessor", "assessor"), ("object", "object")),
                *(() if planned else (("score", "score", style.decimals(panel.score)),)),
                ("kind", "expected" if planned else "declared"),
            ),
        )
    )
    layers = [cells]
    if not style.is_compact(rows):
        work = alt.Chart(style.data_of(assessor=assessors, count=panel.assessor_assessments))
        layers.append(
            work.mark_text(align="left", dx=6, fontSize=10, color=GREY).encode(
                **_side("y", "assessor", ("top", "bottom"), rows, style.LABELLED),
                x=alt.value(width),
                text=alt.Text("count:Q", format=","),
                tooltip=style.tooltips(("assessor", "assessor"), ("count", "assessments", 0)),
            )
        )
    declared = panel.describe_confidence()
    if planned:
        unit = "points" if planned.task.in_points else "units of a medium assessment's"
        declared = f"expected standard deviation of a score, in {unit}"
    who = "the only assessor" if panel.n_assessors == 1 else "each assessor"
    notes = [
        "A mark for each assessment; the numbers at the right count them."
        + (f" The darker, the surer: {declared}." if len(kinds.names) > 1 else ""),
        f"Drawn are {kept.size:,} of {panel.n_assessments:,} assessments." if kept.size < panel.n_assessments else "",
        style.group_note(parts.n_components, all_shown=True),
    ]
    word, verb = ("assessment", "makes") if planned else ("score", "gave")
    readings, loads = (_range(counts, word) for counts in (panel.object_assessments, panel.assessor_assessments))
    title = f"Each object has {readings}; {who} {verb} {loads}"
    what = f"Matrix of {count_of(panel.n_assessors, 'assessor')} by {count_of(panel.n_objects, 'object')}"
    return style.finish(alt.layer(*layers), title, notes, what, width)


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
