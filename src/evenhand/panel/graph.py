"""The assessment graph: its connected components, bridges, articulation assessors, and what would join it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Codes, Whole, compiled, count_by, join, wants_loops
from evenhand.errors import NotConnectedError
from evenhand.panel.panel import Panel
from evenhand.words import argument, count_of, name_some

Side = Literal["object", "assessor"]
"""One of the two sides of a panel."""


@dataclass(frozen=True, eq=False)
class Components:
    """Groups that share neither assessor nor object with each other."""

    n_components: int
    """Number of groups; 1 is what calibration needs."""
    object_component: Whole
    assessor_component: Whole
    """The group of each object and of each assessor; group 0 has the most assessments."""

    @property
    def is_connected(self) -> bool:
        """Whether all assessors can be compared, directly or through others."""
        return self.n_components == 1


@dataclass(frozen=True, eq=False)
class AssessmentGraph(Components):
    """The graph of a panel, in which every assessment joins its object to its assessor."""

    panel: Panel

    @cached_property
    def _cuts(self) -> tuple[Whole, Whole]:
        return _find_cuts(self.panel)

    @property
    def bridges(self) -> Whole:
        """Positions of the assessments without which the panel would fall into more pieces."""
        return self._cuts[0]

    @property
    def articulation_assessors(self) -> Whole:
        """Positions of the assessors without whom the panel would fall into more pieces."""
        return self._cuts[1]

    @property
    def components(self) -> list[tuple[list[str], list[str]]]:
        """For each group, the labels of its objects and of its assessors."""
        panel = self.panel
        groups: list[tuple[list[str], list[str]]] = [([], []) for _ in range(self.n_components)]
        for label, group in zip(panel.objects, self.object_component.tolist(), strict=True):
            groups[group][0].append(label)
        for label, group in zip(panel.assessors, self.assessor_component.tolist(), strict=True):
            groups[group][1].append(label)
        return groups

    @property
    def suggestions(self) -> list[tuple[str, str]]:
        """A smallest set of further assessments (assessor, object) that would join the groups.

        Each joins one more group to the largest: the assessor of either group with the least work so far
        reads the other group's object with the fewest assessments. Whoever gave one score only comes last: their
        standard rests on it alone, and so would the link.
        """
        panel = self.panel
        work, readings = panel.assessor_assessments.copy(), panel.object_assessments.copy()
        work[work == 1] = panel.n_assessments

        def least(count: Whole, component: Whole, group: int) -> int:
            members = np.flatnonzero(component == group)
            return int(members[np.argmin(count[members])])

        pairs = []
        for group in range(1, self.n_components):
            main_assessor = least(work, self.assessor_component, 0)
            own_assessor = least(work, self.assessor_component, group)
            assessor, other = (main_assessor, group) if work[main_assessor] <= work[own_assessor] else (own_assessor, 0)
            object_ = least(readings, self.object_component, other)
            work[assessor] += 1
            readings[object_] += 1
            pairs.append((panel.assessors[assessor], panel.objects[object_]))
        return pairs

    def require_connected(self) -> None:
        """Refuse a panel whose assessors cannot all be compared, in a sentence that says how to mend it."""
        if self.is_connected:
            return
        groups = self.components
        shown = "; ".join(
            f"group {number}: {'assessor' if len(assessors) == 1 else 'assessors'} {name_some(assessors, 4)} on "
            f"{count_of(len(objects), 'object')} ({name_some(objects, 3)})"
            for number, (objects, assessors) in enumerate(groups[:4], start=1)
        )
        more = f"; and {count_of(len(groups) - 4, 'more group')}" if len(groups) > 4 else ""
        suggestions = self.suggestions
        joins = name_some([f"{assessor} on {object_}" for assessor, object_ in suggestions], 4)
        raise NotConnectedError(
            f"The panel falls into {len(groups)} groups that share neither assessor nor object, so their standards "
            f"cannot be compared: {shown}{more}. {count_of(len(suggestions), 'further assessment').capitalize()} would "
            f"join them, for example {joins}; or calibrate each group on its own ({argument('per_component', True)}).",
            components=groups,
            suggestions=suggestions,
        )


def find_components(panel: Panel) -> Components:
    """Return the groups of a panel.

    Examples
    --------
    >>> find_components(Panel.from_arrays([0, 1], [0, 1], [1.0, 2.0])).n_components
    2
    """
    n_objects, n_assessors = panel.n_objects, panel.n_assessors
    find = join if wants_loops(panel.n_assessments) else _join
    of_objects, of_assessors = find(panel.object_index, panel.assessor_index, n_objects, n_assessors)
    root = np.concatenate([of_objects, of_assessors])
    if not root.any():
        return Components(1, root[:n_objects], root[n_objects:])
    component = np.unique(root, return_inverse=True)[1]
    count = int(component.max()) + 1
    weight = count_by(component[panel.object_index], count)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(count)
    ordered = rank[component]
    return Components(count, ordered[:n_objects], ordered[n_objects:])


def _join(one: Codes, other: Codes, n_one: int, n_other: int) -> tuple[Whole, Whole]:
    """Return the root, a code of the first side, of each member of either side: equal where they are connected.

    Members of the larger side are represented by one of their neighbours, which makes it a graph on the smaller side
    alone.
    """
    if n_one > n_other:
        of_other, of_one = _join(other, one, n_other, n_one)
        if not of_other.any():
            return of_one, of_other
        # named by the smallest member of the first side, as above
        least = np.full(n_other, n_one)
        np.minimum.at(least, of_one, np.arange(n_one))
        return least[of_one], least[of_other]
    at, by = one.astype(np.intp), other.astype(np.intp)
    first = np.empty(n_other, dtype=np.intp)
    first[by] = at
    start = first[by]
    if n_one * n_one <= 4 * at.size:  # so few that links which occur many times are worth finding
        links = np.flatnonzero(np.bincount(at * n_one + start, minlength=n_one * n_one))
        at, start = np.divmod(links, n_one)
    root = roots(at, start, n_one)
    return root, root[first]


def roots(start: NDArray[np.intp], end: NDArray[np.intp], size: int) -> Whole:
    """Return the smallest vertex of each vertex's component.

    Every vertex points to a smaller one of its component; in each round the roots at the two ends of an edge are
    joined, larger to smaller, and paths are cut short until all vertices point to roots.
    """
    root = np.arange(size)
    while True:
        one, other = root[start], root[end]
        apart = one != other
        if not apart.any():
            return root
        # edges within a component need not be looked at again
        start, end, one, other = start[apart], end[apart], one[apart], other[apart]
        root[np.maximum(one, other)] = np.minimum(one, other)  # of several, any one: the others come next round
        while not np.array_equal(further := root[root], root):
            root = further


def _find_cuts(panel: Panel) -> tuple[Whole, Whole]:
    """Return bridges and articulation assessors by one depth-first search."""
    n_objects, n_vertices = panel.n_objects, panel.n_objects + panel.n_assessors
    ends = np.concatenate([panel.object_index.astype(np.int64), panel.assessor_index.astype(np.int64) + n_objects])
    order = np.argsort(ends, kind="stable")
    n_edges = panel.n_assessments
    edge_at = order % n_edges
    other_at = np.concatenate([ends[n_edges:], ends[:n_edges]])[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_vertices))])
    is_bridge, is_cut = np.zeros(n_edges, dtype=bool), np.zeros(n_vertices, dtype=bool)
    arrays = [start, edge_at, other_at, *np.full((4, n_vertices), -1)]
    if wants_loops(n_edges):
        compiled(_search)(*arrays, is_bridge, is_cut)
    else:  # lists are quicker than arrays to a loop that is not compiled
        _search(*[array.tolist() for array in arrays], is_bridge, is_cut)  # type: ignore[call-arg]
    # the root of a search is always an object, the first of its component: only assessors matter here
    return np.flatnonzero(is_bridge), np.flatnonzero(is_cut[n_objects:])


def _search(
    start: Any, edge_at: Any, other_at: Any, seen: Any, low: Any, came_by: Any, stack: Any, is_bridge: Any, is_cut: Any
) -> None:
    """Search depth first, without recursion, and mark what all ways to a part of the graph lead through.

    ``low`` is the earliest vertex that can be reached from below a vertex without the edge by which it was found.
    """
    n_vertices = len(seen)
    cursor = start[:-1].copy()
    clock = 0
    for root in range(n_vertices):
        if seen[root] >= 0:
            continue
        seen[root] = low[root] = clock
        clock += 1
        stack[0] = root
        height = 1
        while height:
            vertex = stack[height - 1]
            at = cursor[vertex]
            if at < start[vertex + 1]:
                cursor[vertex] += 1
                edge, other = edge_at[at], other_at[at]
                if edge == came_by[vertex]:
                    continue
                if seen[other] >= 0:
                    low[vertex] = min(low[vertex], seen[other])
                    continue
                seen[other] = low[other] = clock
                clock += 1
                came_by[other] = edge
                stack[height] = other
                height += 1
                continue
            height -= 1
            if not height:
                continue
            parent = stack[height - 1]
            low[parent] = min(low[parent], low[vertex])
            if low[vertex] > seen[parent]:
                is_bridge[came_by[vertex]] = True
            if parent != root and low[vertex] >= seen[parent]:
                is_cut[parent] = True
