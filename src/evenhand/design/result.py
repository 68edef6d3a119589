"""A design: who reads what, and what to expect of the values before anyone has scored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Codes, Floats
from evenhand.design.task import Aim, Flags, Task
from evenhand.errors import Problem
from evenhand.models.additive import calibrate
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import count_of

LARGEST_EXACT: Final = 2_500
"""Up to this many on the smaller side, expected sds are exact; beyond, they are estimated by sampling, in seconds."""


@dataclass(frozen=True, eq=False, repr=False)
class Design(frames.Shown):
    """Who assesses what. What is to be expected of it is computed when first asked for.

    Attributes
    ----------
    task
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

    task: Task
    chosen: Flags
    aim: Aim
    seed: int
    descents: int = 0
    in_time: bool = True
    notes: tuple[Problem, ...] = ()
    backend: frames.Backend = frames.DEFAULT_BACKEND
    emails: dict[str, str] | None = None

    @cached_property
    def used(self) -> Codes:
        """Positions of the assessors who have work."""
        return np.unique(self.task.assessor[self.chosen])

    @property
    def assignments(self) -> list[tuple[str, str]]:
        """All pairs (assessor, object), assessor by assessor."""
        columns = self.columns()
        return list(zip(columns["assessor"], columns["object"], strict=True))

    @property
    def loads(self) -> dict[str, int]:
        """The number of assessments by each assessor."""
        return dict(zip(self.task.assessors, self.task.loads(self.chosen).tolist(), strict=True))

    @property
    def n_assessments(self) -> int:
        """Number of assessments in all."""
        return int(self.chosen.sum())

    @property
    def cost(self) -> float:
        """What all assessments cost together."""
        return float(self.task.cost[self.chosen].sum())

    @property
    def mean_expertise(self) -> float | None:
        """Mean expertise of the pairs, from 0 to 1; None where nothing was said of it."""
        expertise = self.task.expertise
        return None if expertise is None else float(expertise[self.chosen].mean())

    @cached_property
    def panel(self) -> Panel:
        """The panel that the design leads to if everything goes as expected, without scores: all of them zero."""
        task, pairs = self.task, np.flatnonzero(self.chosen)
        code = np.full(task.n_assessors, -1)
        code[self.used] = np.arange(self.used.size)
        return Panel.from_arrays(
            task.object[pairs],
            code[task.assessor[pairs]],
            np.zeros(pairs.size),
            task.precision[pairs],
            objects=tuple(task.objects),
            assessors=tuple(task.assessors[at] for at in self.used.tolist()),
        )

    @cached_property
    def connectivity(self) -> Connectivity:
        """How well connected the panel will be."""
        return connectivity(self.panel)

    @cached_property
    def fit(self) -> Fit:
        """The fit of the panel without scores: its uncertainties are those to be expected, in the default gauge."""
        large = min(self.task.n_objects, self.used.size) > LARGEST_EXACT
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
        found = np.full(self.task.n_assessors, np.nan)
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
        task, n_objects = self.task, self.task.n_objects
        if n_objects == 1 or n_objects > 2_000:
            return None
        weight = np.zeros((n_objects, task.n_assessors))
        weight[task.object[self.chosen], task.assessor[self.chosen]] = task.precision[self.chosen]
        weight = weight[:, self.used]
        information = np.diag(weight.sum(axis=1)) - (weight / weight.sum(axis=0)) @ weight.T
        own = np.linalg.eigvalsh(information)[1:]
        return float((n_objects - 1) ** 2 / (own.sum() * (1 / own).sum()))

    def columns(self) -> dict[str, list[Any]]:
        """Return the assignment table as columns: assessor, object and, where known, what is expected of each."""
        task, pairs = self.task, np.flatnonzero(self.chosen)
        pairs = pairs[np.lexsort((task.object[pairs], task.assessor[pairs]))]
        table: dict[str, list[Any]] = {
            "assessor": [task.assessors[at] for at in task.assessor[pairs].tolist()],
            "object": [task.objects[at] for at in task.object[pairs].tolist()],
        }
        if task.expertise is not None:
            table["expertise"] = task.expertise[pairs].tolist()
        if task.in_points:
            table["uncertainty"] = (1 / np.sqrt(task.precision[pairs])).tolist()
        if task.fixed.any():
            table["fixed"] = task.fixed[pairs].tolist()
        return table

    def object_columns(self) -> dict[str, list[Any]]:
        """Return the objects as columns: their assessments and the expected standard deviation of each value."""
        readings = self.task.readings(self.chosen)
        return {"object": list(self.task.objects), "assessments": readings.tolist(), "sd": self.sd.tolist()}

    def assessor_columns(self) -> dict[str, list[Any]]:
        """Return the assessors as columns: their load and the expected standard deviation of each bias."""
        loads = self.task.loads(self.chosen)
        sds = [None if np.isnan(sd) else sd for sd in self.bias_sd.tolist()]
        return {"assessor": list(self.task.assessors), "load": loads.tolist(), "sd": sds}

    def __str__(self) -> str:
        loads = self.task.loads(self.chosen)
        unit = "points" if self.task.in_points else "noise of one assessment"
        few, many = int(loads.min()), int(loads.max())
        each = f"{few}" if few == many else f"{few} to {many}"
        lines = [
            f"{count_of(self.n_assessments, 'assessment')} of {count_of(self.task.n_objects, 'object')} by "
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
