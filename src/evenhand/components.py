"""The groups that a panel falls into: assessors and objects that hang together, directly or through others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.loops import count_by, join, wants_loops
from evenhand.panel import Panel


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
    if wants_loops(panel.n_assessments):
        of_objects, of_assessors = join(panel.object_index, panel.assessor_index, n_objects, panel.n_assessors)
        root = np.concatenate([of_objects, of_assessors])
    else:
        root = _roots(
            panel.object_index.astype(np.int64),
            panel.assessor_index.astype(np.int64) + n_objects,
            n_objects + panel.n_assessors,
        )
    if not root.any():
        return Components(1, root[:n_objects], root[n_objects:])
    component = np.unique(root, return_inverse=True)[1]
    count = int(component.max()) + 1
    weight = count_by(component[panel.object_index], count)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(count)
    ordered = rank[component]
    return Components(count, ordered[:n_objects], ordered[n_objects:])


def _roots(start: NDArray[np.int64], end: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the smallest vertex of each vertex's component; the codes of ``start`` are smaller than those of ``end``.

    Every vertex points to a smaller one of its component; in each round the roots at the two ends of an edge are
    joined, larger to smaller, and paths are cut short until all vertices point to roots.
    """
    root = np.arange(size)
    root[end] = start  # one edge of each vertex of the other side, whichever is written last
    while True:
        one, other = root[start], root[end]
        apart = one != other
        if not apart.any():
            return root
        # what hangs together will always do so, and need not be looked at again
        start, end, one, other = start[apart], end[apart], one[apart], other[apart]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(further := root[root], root):
            root = further
