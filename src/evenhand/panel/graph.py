"""The groups that a panel falls into: assessors and objects that hang together, directly or through others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Codes, count_by, join, wants_loops
from evenhand.panel.panel import Panel


@dataclass(frozen=True, eq=False)
class Components:
    """Groups that share neither assessor nor object with each other.

    Attributes
    ----------
    n_components
        Number of groups; 1 is what calibration needs.
    object_component, assessor_component
        The group of each object and of each assessor; group 0 has the most assessments.
    """

    n_components: int
    object_component: NDArray[np.int64]
    assessor_component: NDArray[np.int64]

    @property
    def is_connected(self) -> bool:
        """Whether all assessors can be compared, directly or through others."""
        return self.n_components == 1


def find_components(panel: Panel) -> Components:
    """Return the groups of a panel.

    Examples
    --------
    >>> find_components(Panel.from_arrays([0, 1], [0, 1], [1.0, 2.0])).n_components
    2
    """
    n_objects = panel.n_objects
    find = join if wants_loops(panel.n_assessments) else _join
    of_objects, of_assessors = find(panel.object_index, panel.assessor_index, n_objects, panel.n_assessors)
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


def _join(one: Codes, other: Codes, n_one: int, n_other: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the root, a code of the first side, of each member of either side: equal where they hang together.

    Members of the larger side are represented by one of their neighbours, so that what is left is a graph on the
    smaller side alone.
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
    root = _roots(at, start, n_one)
    return root, root[first]


def _roots(start: NDArray[np.intp], end: NDArray[np.intp], size: int) -> NDArray[np.int64]:
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
        # what hangs together will always do so, and need not be looked at again
        start, end, one, other = start[apart], end[apart], one[apart], other[apart]
        root[np.maximum(one, other)] = np.minimum(one, other)  # of several, any one: what is left comes next round
        while not np.array_equal(further := root[root], root):
            root = further
