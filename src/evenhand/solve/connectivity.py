"""How well the assessment graph is connected: the spectral gap mu_2, and the graph on the assessors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from evenhand import frames
from evenhand.panel.graph import AssessmentGraph, find_components
from evenhand.panel.panel import Panel
from evenhand.solve.choose import AutoSolver, SolverKind, choose_solver
from evenhand.solve.equations import make_system, side_links
from evenhand.words import count_of


@dataclass(frozen=True, eq=False)
class Connectivity(AssessmentGraph, frames.Shown):
    """How well the panel is connected (sec. 3 and App. C of the paper): its groups, and how firmly they are joined.

    Attributes
    ----------
    panel
        The panel.
    solver_kind
        How the equations are solved: by size and shape, or as asked for.
    """

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

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    def columns(self) -> dict[str, Any]:
        """Return a row for each component: how many objects, assessors and assessments it has."""
        sides = (self.object_component, self.assessor_component, self.object_component[self.panel.object_index])
        counts = (np.bincount(side, minlength=self.n_components) for side in sides)
        names = ("objects", "assessors", "assessments")
        return {"component": np.arange(1, self.n_components + 1), **dict(zip(names, counts, strict=True))}

    def __str__(self) -> str:
        gap = "0" if not self.is_connected else f"{self.mu2:.3g}"
        return (
            f"{count_of(self.n_components, 'component')}, spectral gap {gap}, "
            f"{count_of(int(self.bridges.size), 'bridge')}"
        )


def connectivity(panel: Panel, solver: SolverKind = "auto") -> Connectivity:
    """Return how well the panel is connected; what takes long is computed when first asked for.

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
