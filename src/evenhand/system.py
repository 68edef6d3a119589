"""The weighted normal equations L [v; b] = [V; B], with the larger side eliminated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.graph import Connectivity, side_graph
from evenhand.panel import Panel

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """Least squares on a weighted bipartite graph, seen from the side that is kept.

    The model s = v + b treats both sides alike, so either can be eliminated: the larger one always is.

    Attributes
    ----------
    keeps_assessors
        Whether the assessors are kept and the objects eliminated.
    kept, gone
        For each assessment, its vertex on the kept and on the eliminated side.
    weight
        The N precisions.
    kept_total, gone_total
        Sums of precisions at each vertex: C'_a and C_o, or the other way round.
    kept_component
        The component of each kept vertex.
    incidence
        The weights as a sparse matrix, eliminated side by kept side.
    """

    keeps_assessors: bool
    kept: NDArray[np.integer[Any]]
    gone: NDArray[np.integer[Any]]
    weight: Floats
    kept_total: Floats
    gone_total: Floats
    kept_component: NDArray[np.int64]
    incidence: sp.csr_array[Any]

    @property
    def n_kept(self) -> int:
        """Size of the kept side."""
        return int(self.kept_total.size)

    def orient(self, of_objects: Any, of_assessors: Any) -> tuple[Any, Any]:
        """Return a pair (objects, assessors) as (kept, eliminated); and the other way round: it is its own inverse."""
        return (of_assessors, of_objects) if self.keeps_assessors else (of_objects, of_assessors)

    def schur(self) -> Floats:
        """Return the Schur complement on the kept side, a graph Laplacian: S = diag(C') - c diag(1/C) c^T.

        The diagonal is the sum of the weights of the links, so nothing cancels.
        """
        links = side_graph(self.kept, self.gone, self.weight, self.n_kept, self.gone_total).toarray()
        np.negative(links, out=links)
        links[np.diag_indices_from(links)] = -links.sum(axis=1)
        return np.asarray(links, dtype=np.float64)


def make_system(panel: Panel, parts: Connectivity) -> System:
    """Return the normal equations of a panel, its smaller side kept."""
    keeps_assessors = panel.n_assessors <= panel.n_objects
    sides = (
        (panel.object_index, panel.object_confidence, parts.object_component),
        (panel.assessor_index, panel.assessor_confidence, parts.assessor_component),
    )
    (kept, kept_total, component), (gone, gone_total, _) = sides[::-1] if keeps_assessors else sides
    incidence = sp.coo_array((panel.precision, (gone, kept)), shape=(gone_total.size, kept_total.size)).tocsr()
    return System(keeps_assessors, kept, gone, panel.precision, kept_total, gone_total, component, incidence)
