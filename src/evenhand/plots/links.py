"""Who is linked with whom: the links between assessors, which of them are weak, and who stands beside whom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from evenhand.compiled import Floats, sum_by
from evenhand.panel.panel import Panel
from evenhand.plots import labels
from evenhand.plots.labels import Codes
from evenhand.solve.connectivity import Connectivity, assessor_graph, connectivity
from evenhand.words import called, called_some, count_of, name_some, plural

NAMED: Final = 60
"""Up to this many nodes of a kind have their names beside them."""

LEVEL: Final = 16
"""Up to this many assessors on a circle have level names; of more, names point outwards."""

_CUT: Final = 3
"""Of up to so many assessors without whom others are cut off it is said who these are."""

_SWEEPS: Final = 12
"""How often each node moves to the middle of its neighbours."""

_MOST_LINKS: Final = 60
"""Up to this many links between assessors are drawn; of more, the strongest, those of each assessor and weak ones."""


@dataclass(frozen=True, eq=False, slots=True)
class Links:
    """The graph on the assessors: who stands where on a circle, and every link.

    Attributes
    ----------
    names, component
        The assessors, as they are drawn, and the group of each.
    turn
        Where each stands, as an angle clockwise from the top.
    one, two
        The ends of each link.
    shared, weight
        How many objects the two have in common, and what that weighs in the equations.
    weak
        Whether a link rests on a single score.
    drawn
        The links to draw: all of few, else weak ones and the strongest.
    pivotal
        The assessors without whom others are cut off.
    title, notes
        What there is to see, and what to know of it.
    """

    names: list[str]
    component: Codes
    turn: Floats
    one: Codes
    two: Codes
    shared: Codes
    weight: Floats
    weak: NDArray[np.bool_]
    drawn: Codes
    pivotal: NDArray[np.bool_]
    title: str
    notes: list[str]

    @property
    def most(self) -> int:
        """The most objects that two have in common."""
        return int(self.shared.max()) if self.shared.size else 0

    @property
    def what(self) -> str:
        """What kind of picture it is, and of how much."""
        return f"Graph of {count_of(len(self.names), 'assessor')} with {count_of(self.weak.size, 'link')}"


def links_between(panel: Panel, parts: Connectivity) -> Links:
    """Return the links between the assessors of a panel, of which its connectivity is known."""
    weights = sp.triu(assessor_graph(panel), 1).tocoo()
    one, two = (side.astype(np.int64) for side in weights.coords)
    shared = _shared(panel, one, two)
    weak, pivotal = _weak_links(panel, parts, one, two), _pivotal(panel.n_assessors, one, two)
    drawn = np.flatnonzero(weak | _strongest(weights.data, one, two, panel.n_assessors))
    place = orders(panel, parts)[1]
    if panel.n_assessors <= LEVEL:
        place = _around(place, parts.assessor_component, one, two, shared.astype(np.float64))
    names = labels.drawable(panel.assessors)
    most = int(shared.max()) if shared.size else 0
    notes = [
        f"Two assessors are linked if they saw {plural(panel.noun)} in common; the wider, the more: up to {most:,}."
        if most
        else "",
        _weak_note(
            [(names[one[at]], names[two[at]]) for at in np.flatnonzero(weak)],
            _cut_off(names, np.flatnonzero(pivotal), one, two),
            _single_scores(panel, parts, [(int(one[at]), int(two[at])) for at in np.flatnonzero(weak)]),
        ),
        f"Drawn are {drawn.size:,} of {weak.size:,} links: each assessor's strongest."
        if drawn.size < weak.size
        else "",
    ]
    return Links(
        names=names,
        component=parts.assessor_component,
        turn=2 * np.pi * (place + 0.5) / panel.n_assessors,
        one=one,
        two=two,
        shared=shared,
        weight=weights.data,
        weak=weak,
        drawn=drawn,
        pivotal=pivotal,
        title=standing(parts),
        notes=notes,
    )


def standing(parts: Connectivity) -> str:
    """Return in a sentence whether a panel is connected."""
    panel = parts.panel
    if not parts.is_connected:
        return f"The panel falls into {parts.n_components} groups that share neither assessor nor {panel.noun}"
    if panel.n_assessors == 1:
        return f"One assessor saw all {count_of(panel.n_objects, panel.noun)}: there is nobody to compare them with"
    return f"All {panel.n_assessors:,} assessors can be compared, directly or through others"


def _strongest(weight: Floats, one: Codes, two: Codes, count: int) -> NDArray[np.bool_]:
    """Return which links to draw: the strongest of all, and of each assessor."""
    strong = np.zeros(weight.size, dtype=bool)
    order = np.argsort(-weight, kind="stable")
    strong[order[: _MOST_LINKS if count <= NAMED else 0]] = True
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
        found.append((names[at], labels.chosen(names, np.flatnonzero(np.isin(part, near) & (part != largest)))))
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


def _edges(panel: Panel, rows: Any = slice(None)) -> sp.csr_array[np.float64]:
    """Return how often each object (rows) was assessed by each assessor, in some assessments or all."""
    ends = panel.object_index[rows], panel.assessor_index[rows]
    return sp.coo_array((np.ones(ends[0].size), ends), shape=(panel.n_objects, panel.n_assessors)).tocsr()


def orders(panel: Panel, parts: Connectivity) -> tuple[Codes, Codes]:
    """Return places of objects and of assessors, group by group, so that those who belong together stand together."""
    edges = _edges(panel).tocoo()
    both = sp.block_array([[None, edges], [edges.T, None]]).tocsr()
    walk = sp.csgraph.reverse_cuthill_mckee(both, symmetric_mode=True)
    at = np.empty(walk.size)
    at[walk] = np.arange(walk.size)
    of_objects = places(parts.object_component, at[: panel.n_objects])
    of_assessors = places(parts.assessor_component, at[panel.n_objects :])
    for _ in range(_SWEEPS):  # each to the middle of its neighbours, so that few links cross
        middle = sum_by(panel.object_index, of_assessors[panel.assessor_index].astype(float), panel.n_objects)
        of_objects = places(parts.object_component, middle / panel.object_assessments)
        middle = sum_by(panel.assessor_index, of_objects[panel.object_index].astype(float), panel.n_assessors)
        of_assessors = places(parts.assessor_component, middle / panel.assessor_assessments)
    return of_objects, of_assessors


def places(component: Codes, key: Floats) -> Codes:
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
