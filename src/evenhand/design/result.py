"""A design: who reads what, and what to expect of the values before anyone has scored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.design.objectives import Aim
from evenhand.design.problem import Codes, Flags, Problem
from evenhand.errors import Problem as Note
from evenhand.models.additive import calibrate
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import count_of

LARGEST_EXACT: Final = 2_500
"""Up to so many on the smaller side, expected sds are exact; beyond, they are estimated by sampling, in seconds."""


@dataclass(frozen=True, eq=False, repr=False)
class Design(frames.Shown):
    """Who assesses what. What is to be expected of it is computed when first asked for.

    Attributes
    ----------
    problem
        What was asked.
    chosen
        Which of its pairs are in the design (K).
    aim
        What makes a design good here.
    seed
        The seed: with the same seed, data and version the same design comes out, unless time ran out.
    descents
        How often the search went down to where no exchange helps; 0 where the design was built.
    in_time
        Whether the search ended by itself.
    notes
        What a user should know.
    backend
        The kind of frame that tables come back as.
    emails
        Addresses of assessors, by label, where their table has them.
    """

    problem: Problem
    chosen: Flags
    aim: Aim
    seed: int
    descents: int = 0
    in_time: bool = True
    notes: tuple[Note, ...] = ()
    backend: frames.Backend = frames.DEFAULT_BACKEND
    emails: dict[str, str] | None = None

    @cached_property
    def used(self) -> Codes:
        """Positions of the assessors who have work."""
        return np.unique(self.problem.assessor[self.chosen])

    @property
    def assignments(self) -> list[tuple[str, str]]:
        """All pairs (assessor, object), assessor by assessor."""
        problem, pairs = self.problem, np.flatnonzero(self.chosen)
        order = np.lexsort((problem.object[pairs], problem.assessor[pairs]))
        return [
            (problem.assessors[a], problem.objects[o])
            for a, o in zip(problem.assessor[pairs][order].tolist(), problem.object[pairs][order].tolist(), strict=True)
        ]

    @property
    def loads(self) -> dict[str, int]:
        """The number of assessments by each assessor."""
        return dict(zip(self.problem.assessors, self.problem.loads(self.chosen).tolist(), strict=True))

    @property
    def n_assessments(self) -> int:
        """Number of assessments in all."""
        return int(self.chosen.sum())

    @property
    def cost(self) -> float:
        """What all assessments cost together."""
        return float(self.problem.cost[self.chosen].sum())

    @property
    def mean_expertise(self) -> float | None:
        """Mean expertise of the pairs, from 0 to 1; None where nothing was said of it."""
        expertise = self.problem.expertise
        return None if expertise is None else float(expertise[self.chosen].mean())

    @cached_property
    def panel(self) -> Panel:
        """The panel that the design leads to if everything goes as expected, without scores: all of them zero."""
        problem, pairs = self.problem, np.flatnonzero(self.chosen)
        code = np.full(problem.n_assessors, -1)
        code[self.used] = np.arange(self.used.size)
        precision = problem.precision[pairs]
        return Panel.from_arrays(
            problem.object[pairs],
            code[problem.assessor[pairs]],
            np.zeros(pairs.size),
            precision.copy(),
            objects=tuple(problem.objects),
            assessors=tuple(problem.assessors[at] for at in self.used.tolist()),
        )

    @cached_property
    def connectivity(self) -> Connectivity:
        """How well the panel will hang together."""
        return connectivity(self.panel)

    @cached_property
    def fit(self) -> Fit:
        """The fit of the panel without scores: its uncertainties are those to be expected, in the default gauge."""
        large = min(self.problem.n_objects, self.used.size) > LARGEST_EXACT
        return calibrate(self.panel, noise="declared", solver="iterative" if large else "auto")

    @property
    def mu2(self) -> float:
        """The spectral gap mu_2 (App. C)."""
        return self.connectivity.mu2

    @cached_property
    def sd(self) -> Floats:
        """Expected standard deviation of each value (n_O)."""
        return np.asarray(self.fit.values.sd, dtype=np.float64)

    @cached_property
    def bias_sd(self) -> Floats:
        """Expected standard deviation of each bias (n_A); NaN for assessors without work."""
        found = np.full(self.problem.n_assessors, np.nan)
        found[self.used] = np.asarray(self.fit.biases.sd, dtype=np.float64)
        return found

    @property
    def mean_sd(self) -> float:
        """Mean of the expected standard deviations of the values."""
        return float(self.sd.mean())

    @property
    def max_sd(self) -> float:
        """Largest of the expected standard deviations of the values."""
        return float(self.sd.max())

    @property
    def mean_variance(self) -> float:
        """Mean of the expected variances of the values (A)."""
        return float(np.square(self.sd).mean())

    @cached_property
    def efficiency(self) -> float | None:
        """A-efficiency for differences of objects: 1 where every two objects can be compared equally well.

        The harmonic mean of the canonical variances' inverses beside their arithmetic mean: (n_O - 1)^2 divided by
        tr(C) tr(C^+), C the information on the objects once biases are taken out. None for many objects, or one.
        """
        problem, n_objects = self.problem, self.problem.n_objects
        if n_objects == 1 or n_objects > 2_000:
            return None
        weight = np.zeros((n_objects, problem.n_assessors))
        weight[problem.object[self.chosen], problem.assessor[self.chosen]] = problem.precision[self.chosen]
        weight = weight[:, self.used]
        information = np.diag(weight.sum(axis=1)) - (weight / weight.sum(axis=0)) @ weight.T
        own = np.linalg.eigvalsh(information)[1:]
        return float((n_objects - 1) ** 2 / (own.sum() * (1 / own).sum()))

    def columns(self) -> dict[str, list[Any]]:
        """Return the assignment table as columns: assessor, object and, where known, what is expected of each."""
        problem, pairs = self.problem, np.flatnonzero(self.chosen)
        pairs = pairs[np.lexsort((problem.object[pairs], problem.assessor[pairs]))]
        table: dict[str, list[Any]] = {
            "assessor": [problem.assessors[at] for at in problem.assessor[pairs].tolist()],
            "object": [problem.objects[at] for at in problem.object[pairs].tolist()],
        }
        if problem.expertise is not None:
            table["expertise"] = problem.expertise[pairs].tolist()
        if problem.in_points:
            table["uncertainty"] = (1 / np.sqrt(problem.precision[pairs])).tolist()
        if problem.fixed.any():
            table["fixed"] = problem.fixed[pairs].tolist()
        return table

    def object_columns(self) -> dict[str, list[Any]]:
        """Return the objects as columns: their assessments and the expected standard deviation of each value."""
        readings = self.problem.readings(self.chosen)
        return {"object": list(self.problem.objects), "assessments": readings.tolist(), "sd": self.sd.tolist()}

    def assessor_columns(self) -> dict[str, list[Any]]:
        """Return the assessors as columns: their load and the expected standard deviation of each bias."""
        loads = self.problem.loads(self.chosen)
        sds = [None if np.isnan(sd) else sd for sd in self.bias_sd.tolist()]
        return {"assessor": list(self.problem.assessors), "load": loads.tolist(), "sd": sds}

    def __str__(self) -> str:
        loads = self.problem.loads(self.chosen)
        unit = "points" if self.problem.in_points else "noise of one assessment"
        few, many = int(loads.min()), int(loads.max())
        each = f"{few}" if few == many else f"{few} to {many}"
        lines = [
            f"{count_of(self.n_assessments, 'assessment')} of {count_of(self.problem.n_objects, 'object')} by "
            f"{count_of(self.used.size, 'assessor')}, {each} for each",
            f"expected sd of a value {self.mean_sd:.3g}, at most {self.max_sd:.3g} ({unit})",
            str(self.connectivity),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return who reads what as a table, for notebooks."""
        listed: dict[str, list[str]] = {}
        for assessor, label in self.assignments:
            listed.setdefault(assessor, []).append(label)
        first = list(listed.items())[: frames.MOST_ROWS]
        table: dict[str, list[Any]] = {
            "assessor": [assessor for assessor, _ in first],
            "load": [len(labels) for _, labels in first],
            "objects": [", ".join(labels) for _, labels in first],
        }
        made = frames.html_table("; ".join(str(self).splitlines()), table, count=len(listed), of="assessor")
        return made + frames.html_lines(self.remarks())
