"""The assessment graph: components, bridges, articulation assessors, spectral gap mu_2 and the assessor graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import compiled, wants_loops
from evenhand.errors import NotConnectedError
from evenhand.panel.graph import Components, find_components
from evenhand.panel.panel import Panel
from evenhand.solve.choose import AutoSolver, SolverKind, choose_solver
from evenhand.solve.equations import make_system, side_links
from evenhand.words import count_of, name_some


@dataclass(frozen=True, eq=False)
class Connectivity(Components):
    """How well the panel hangs together (sec. 3 and App. C of the paper): its groups, and how firmly they are joined.

    Attributes
    ----------
    panel
        The panel.
    solver_kind
        How the equations are solved: by size and shape, or as asked for.
    """

    panel: Panel
    solver_kind: SolverKind = "auto"

    @cached_property
    def solver(self) -> AutoSolver:
        """What solves the normal equations of this panel; kept, so that a factor is made once for all questions."""
        return choose_solver(make_system(self.panel, self), self.solver_kind)

    @cached_property
    def mu2(self) -> float:
        """Second smallest eigenvalue mu_2 of M (App. C): 0 where not connected, at best 1 (2 for a single score)."""
        panel = self.panel
        if not self.is_connected:
            return 0.0
        if min(panel.n_assessors, panel.n_objects) == 1:
            return 2.0 if max(panel.n_assessors, panel.n_objects) == 1 else 1.0
        return self.solver.mu2()

    @cached_property
    def _cuts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return _find_cuts(self.panel)

    @property
    def bridges(self) -> NDArray[np.int64]:
        """Positions of the assessments without which the panel would fall into more pieces."""
        return self._cuts[0]

    @property
    def articulation_assessors(self) -> NDArray[np.int64]:
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
        reads the other group's object with the fewest assessments.
        """
        panel = self.panel
        work, readings = panel.assessor_assessments.copy(), panel.object_assessments.copy()

        def least(count: NDArray[np.int64], component: NDArray[np.int64], group: int) -> int:
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
            f"join them, for example {joins}; or calibrate each group on its own (--per-component).",
            components=groups,
            suggestions=suggestions,
        )

    def __str__(self) -> str:
        gap = "0" if not self.is_connected else f"{self.mu2:.3g}"
        return (
            f"{count_of(self.n_components, 'component')}, spectral gap {gap}, "
            f"{count_of(int(self.bridges.size), 'bridge')}"
        )


def connectivity(panel: Panel, solver: SolverKind = "auto") -> Connectivity:
    """Return how well the panel hangs together; whatever is dear is computed when first asked for.

    Examples
    --------
    >>> print(connectivity(Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])))
    1 component, spectral gap 1, 0 bridges
    """
    parts = find_components(panel)
    return Connectivity(parts.n_components, parts.object_component, parts.assessor_component, panel, solver)


def assessor_graph(panel: Panel) -> sp.csr_array[Any]:
    """Return the weights C_aa' = sum_o c_ao c_a'o / C_o of the graph on assessors, without its diagonal (eq. 17)."""
    weights = sp.coo_array(
        (panel.precision, (panel.object_index, panel.assessor_index)), shape=(panel.n_objects, panel.n_assessors)
    )
    return side_links(weights.tocsr(), panel.object_confidence)


def _find_cuts(panel: Panel) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
