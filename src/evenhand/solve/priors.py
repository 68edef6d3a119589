"""Priors on values and biases, as one more assessor and one more object of the same panel.

An assessor who gives every object the score 0, with the precision of the prior, has minus the mean of all values for a
bias; an object that every assessor gives the score 0 has the value 0 by definition, and that fixes the level of the
biases. So L with priors on its diagonal is the Laplacian of a larger graph, and every solver knows what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.compiled import Codes, Floats, sum_by
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel
from evenhand.solve.base import LowRank, Sides, Solution, Wrapped
from evenhand.solve.choose import AutoSolver, SolverKind, choose_solver
from evenhand.solve.equations import make_system


@dataclass(frozen=True, eq=False)
class PriorSolver(Wrapped):
    """Answers for a panel with priors, from the larger panel without; L^- is the inverse of L with priors.

    Priors are precisions beside that of a score of confidence 1: of each value about their common mean (None for no
    prior), and of each bias about zero.
    """

    panel: Panel
    value_prior: Floats | None
    bias_prior: Floats
    kind: SolverKind = "auto"

    @cached_property
    def larger(self) -> Panel:
        """The panel with one more object, and with one more assessor where values have a prior."""
        panel, n_objects, n_assessors = self.panel, self.panel.n_objects, self.panel.n_assessors
        objects, assessors = np.arange(n_objects), np.arange(n_assessors)
        object_index = [panel.object_index.astype(np.int64), np.full(n_assessors, n_objects)]
        assessor_index = [panel.assessor_index.astype(np.int64), assessors]
        precision = [panel.precision, self.bias_prior]
        if self.value_prior is not None:
            object_index.append(objects)
            assessor_index.append(np.full(n_objects, n_assessors))
            precision.append(self.value_prior)
        more = sum(part.size for part in precision) - panel.n_assessments
        return Panel.from_arrays(
            np.concatenate(object_index),
            np.concatenate(assessor_index),
            np.concatenate([panel.score, np.zeros(more)]),
            np.concatenate(precision),
        )

    @cached_property
    def base(self) -> AutoSolver:
        """What solves the equations of the larger panel."""
        panel = self.larger
        parts = Components(1, np.zeros(panel.n_objects, np.int64), np.zeros(panel.n_assessors, np.int64))
        return choose_solver(make_system(panel, parts), self.kind)

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment of the panel without priors."""
        return self.panel.object_index, self.panel.assessor_index

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores; ``residual`` has what the priors add to the sum of squares."""
        more = np.zeros(self.larger.n_assessments - score.size)
        found = self.base.solve(np.concatenate([score, more]))
        residuals = found.residuals
        if residuals is None:
            fitted = found.values[self.larger.object_index] + found.biases[self.larger.assessor_index]
            residuals = np.concatenate([score, more]) - fitted
        values, biases = self._told(found.values, found.biases)
        total = float(self.larger.precision @ np.square(residuals))
        return Solution(np.array(values), np.array(biases), np.array(residuals[: score.size]), total)

    @cached_property
    def mean_variance(self) -> float:
        """Variance of the mean of all values, for w = 1."""
        of_objects, of_assessors = np.zeros(self.larger.n_objects), np.zeros(self.larger.n_assessors)
        of_assessors[-1] = 1.0
        return float(self.base.contrasts(*self._ground(of_objects, of_assessors)))

    def _asked(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return P^T (x, 0): what the larger panel is asked, a contrast."""
        panel = self.larger
        objects = np.zeros((panel.n_objects, *of_objects.shape[1:]))
        assessors = np.zeros((panel.n_assessors, *of_assessors.shape[1:]))
        objects[: of_objects.shape[0]], assessors[: of_assessors.shape[0]] = of_objects, of_assessors
        return self._ground(objects, assessors)

    def _ground(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        of_objects[self.panel.n_objects] -= of_objects.sum(axis=0) - of_assessors.sum(axis=0)
        return of_objects, of_assessors

    def _told(self, values: Floats, biases: Floats) -> Sides:
        """Return P (values, biases) without the further object and assessor: its value is 0."""
        panel = self.panel
        level = values[panel.n_objects]
        return values[: panel.n_objects] - level, biases[: panel.n_assessors] + level

    @cached_property
    def _level(self) -> tuple[Floats, Floats, float]:
        """The base's L^- between every vertex and the further object, and at that object itself."""
        of_objects, of_assessors = np.zeros(self.larger.n_objects), np.zeros(self.larger.n_assessors)
        of_objects[self.panel.n_objects] = 1.0
        values, biases = self.base.apply(of_objects, of_assessors)
        own = float(values[self.panel.n_objects])
        return values[: self.panel.n_objects], biases[: self.panel.n_assessors], own

    def _told_diagonal(self) -> Sides:
        of_objects, of_assessors = self.base.diagonal()
        values, biases, own = self._level
        return of_objects[: values.size] - 2 * values + own, of_assessors[: biases.size] + 2 * biases + own

    def _told_cross(self) -> Floats:
        objects, assessors = self.ends
        values, biases, own = self._level
        cross = self.base.edges()[1][: self.panel.n_assessments]
        return np.asarray(cross + values[objects] - biases[assessors] - own)

    @cached_property
    def with_mean(self) -> Sides:
        """Covariances, for w = 1, of values and of biases with the mean of all values."""
        of_objects, of_assessors = np.zeros(self.larger.n_objects), np.zeros(self.larger.n_assessors)
        of_assessors[-1] = -1.0
        return self._told(*self.base.apply(*self._ground(of_objects, of_assessors)))

    def draw_with_mean(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats, Floats]:
        """Return draws (count rows) of values, of biases and of the mean of all values."""
        drawn = self.base.draw(generator, count)
        values, biases = self._told(drawn[0].T, drawn[1].T)
        return values.T, biases.T, -(drawn[1][:, -1] + drawn[0][:, self.panel.n_objects])


@dataclass(frozen=True, eq=False)
class CentredSolver(Wrapped):
    """The same where the mean of all values is known to be zero."""

    base: PriorSolver

    @cached_property
    def low_rank(self) -> LowRank:
        """What values and biases owed to not knowing the mean, taken away."""
        values, biases = self.base.with_mean
        return LowRank(values[:, None], biases[:, None], np.array([[-1.0 / self.base.mean_variance]]))

    @property
    def mean_variance(self) -> float:
        """Variance of the mean of the values' prior: none."""
        return 0.0

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores."""
        panel = self.base.panel
        pull = panel.precision * score
        of_objects, of_assessors = (
            sum_by(index, pull, count)
            for index, count in ((panel.object_index, panel.n_objects), (panel.assessor_index, panel.n_assessors))
        )
        return Solution(*self.apply(of_objects, of_assessors))

    def log_determinant(self) -> float:
        """Return log det of L with priors about zero."""
        return self.base.log_determinant() + float(np.log(self.base.mean_variance))

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) of values and biases about zero with covariance L^-."""
        values, biases, mean = self.base.draw_with_mean(generator, count)
        share = mean / self.base.mean_variance
        with_values, with_biases = self.base.with_mean
        return values - np.outer(share, with_values), biases - np.outer(share, with_biases)
