"""Priors on values and biases, as one more assessor and one more object of the same panel.

An assessor who gives every object the score 0, with the precision of the prior, has minus the mean of all values for a
bias; an object that every assessor gives the score 0 has the value 0 by definition, and that fixes the level of the
biases. So L with priors on its diagonal is the Laplacian of a larger graph, and every solver knows what to do.

Where biases are known to be zero, all assessors are one, whose bias fixes the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Codes, Floats, Whole, sum_by
from evenhand.panel.panel import Panel
from evenhand.solve.base import LowRank, Sides, Solution, Wrapped
from evenhand.solve.choose import AutoSolver, SolverKind, choose_solver
from evenhand.solve.direct import DirectSolver
from evenhand.solve.equations import Pattern, System

_MANY: Final = 128
"""Above so many assessors products with few numbers beat those with columns that are mostly zeros."""


@dataclass(frozen=True, eq=False)
class PriorGraph:
    """The graph of a panel with what priors add to it, which stays the same whatever the precisions are."""

    panel: Panel
    has_values: bool  # whether values have a prior: one more assessor
    has_biases: bool  # whether there are biases, with a prior: one more object; else all assessors are one

    @property
    def n_objects(self) -> int:
        """Number of objects of the larger graph."""
        return self.panel.n_objects + self.has_biases

    @property
    def n_assessors(self) -> int:
        """Number of assessors of the larger graph."""
        return (self.panel.n_assessors if self.has_biases else 1) + self.has_values

    @cached_property
    def ends(self) -> tuple[Whole, Whole]:
        """The object and the assessor of each assessment: those of the panel, biases' priors, values' priors."""
        panel, n_objects, n_assessors = self.panel, self.panel.n_objects, self.panel.n_assessors
        objects = [panel.object_index.astype(np.intp)]
        assessors = [panel.assessor_index.astype(np.intp) if self.has_biases else np.zeros(panel.n_assessments, int)]
        if self.has_biases:
            objects.append(np.full(n_assessors, n_objects))
            assessors.append(np.arange(n_assessors))
        if self.has_values:
            objects.append(np.arange(n_objects))
            assessors.append(np.full(n_objects, self.n_assessors - 1))
        return np.concatenate(objects), np.concatenate(assessors)

    @cached_property
    def _counts(self) -> tuple[Whole, Whole]:
        objects, assessors = self.ends
        return np.bincount(objects, minlength=self.n_objects), np.bincount(assessors, minlength=self.n_assessors)

    @cached_property
    def _pattern(self) -> Pattern:
        kept, gone = self.ends[::-1] if self._keeps_assessors else self.ends
        count = self._counts[0 if self._keeps_assessors else 1]
        return Pattern(kept, gone, count, self.n_assessors if self._keeps_assessors else self.n_objects)

    @property
    def _keeps_assessors(self) -> bool:
        return self.n_assessors <= self.n_objects

    def system(self, weight: Floats) -> System:
        """Return the normal equations for precisions of all assessments, its smaller side kept."""
        sides = [
            (index, sum_by(index, weight, size), count)
            for index, size, count in zip(self.ends, (self.n_objects, self.n_assessors), self._counts, strict=True)
        ]
        kept, gone = sides[::-1] if self._keeps_assessors else sides
        return System(
            keeps_assessors=self._keeps_assessors,
            kept=kept[0],
            gone=gone[0],
            weight=weight,
            kept_total=kept[1],
            gone_total=gone[1],
            kept_count=kept[2],
            gone_count=gone[2],
            kept_component=np.zeros(kept[1].size, np.int64),
            n_components=1,
            pattern=self._pattern,
        )


@dataclass(frozen=True, eq=False)
class PriorSolver(Wrapped):
    """Answers for a panel with priors, from the larger graph without; L^- is the inverse of L with priors.

    Precisions of the priors stand beside that of a score of confidence 1: of each value about their common mean, and of
    each bias about zero; None for one that the graph does not have.
    """

    graph: PriorGraph
    weight: Floats
    value_prior: Floats | None
    bias_prior: Floats | None
    kind: SolverKind = "auto"

    @cached_property
    def base(self) -> AutoSolver:
        """What solves the equations of the larger graph."""
        parts = (self.weight, self.bias_prior, self.value_prior)
        weight = np.concatenate([part for part in parts if part is not None])
        return choose_solver(self.graph.system(weight), self.kind)

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment of the panel without priors."""
        return self.graph.panel.object_index, self.graph.panel.assessor_index

    def solve(self, score: Floats) -> Solution:
        """Fit values and biases to N scores; ``residual`` has what the priors add to the sum of squares."""
        system = self.base.system
        padded = np.concatenate([score, np.zeros(system.n_edges - score.size)])
        found = self.base.solve_by_factor(padded)
        residuals = found.residuals
        if residuals is None:
            objects, assessors = system.ends
            residuals = padded - found.values[objects] - found.biases[assessors]
        values, biases = self._told(found.values, found.biases)
        total = float(system.weight @ np.square(residuals))
        return Solution(np.array(values), np.array(biases), np.array(residuals[: score.size]), total)

    @cached_property
    def mean_variance(self) -> float:
        """Variance of the mean of the values' prior, for w = 1; infinite where they have none."""
        if self.value_prior is None:
            return np.inf
        of_objects, of_assessors = np.zeros(self.graph.n_objects), np.zeros(self.graph.n_assessors)
        of_assessors[-1] = 1.0
        return float(self.base.contrasts(*self._ground(of_objects, of_assessors)))

    def _asked(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return P^T (x, 0): what the larger graph is asked, a contrast."""
        objects = np.zeros((self.graph.n_objects, *of_objects.shape[1:]))
        assessors = np.zeros((self.graph.n_assessors, *of_assessors.shape[1:]))
        objects[: of_objects.shape[0]] = of_objects
        if self.graph.has_biases:
            assessors[: of_assessors.shape[0]] = of_assessors
        return self._ground(objects, assessors)

    def _ground(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return a question made a contrast, at the vertex that fixes the level."""
        over = of_objects.sum(axis=0) - of_assessors.sum(axis=0)
        if self.graph.has_biases:
            of_objects[-1] -= over
        else:
            of_assessors[0] += over
        return of_objects, of_assessors

    def _level_of(self, values: Floats, biases: Floats) -> Any:
        """Return what must be taken from values and added to biases: the further object's value, or minus a bias."""
        return values[-1] if self.graph.has_biases else -biases[0]

    def _told(self, values: Floats, biases: Floats) -> Sides:
        """Return values and biases of the panel, on the level of the priors."""
        panel, level = self.graph.panel, self._level_of(values, biases)
        values = values[: panel.n_objects] - level
        if not self.graph.has_biases:
            return values, np.zeros((panel.n_assessors, *values.shape[1:]))
        return values, biases[: panel.n_assessors] + level

    @cached_property
    def _of_level(self) -> tuple[Sides, float]:
        """The base's L^- between every vertex and the level, and of the level itself."""
        of_objects, of_assessors = np.zeros(self.graph.n_objects), np.zeros(self.graph.n_assessors)
        if self.graph.has_biases:
            of_objects[-1] = 1.0
        else:
            of_assessors[0] = -1.0
        found = self.base.apply(of_objects, of_assessors)
        return found, float(self._level_of(*found))

    @property
    def _level(self) -> tuple[Floats, Floats, float]:
        """The same without the vertices of the priors."""
        (values, biases), own = self._of_level
        return values[: self.graph.panel.n_objects], biases[: self.graph.panel.n_assessors], own

    # Where the inverse between assessors is held, all else is a product of it with few numbers

    @cached_property
    def between_assessors(self) -> Floats:
        """L^- between all biases, and minus the mean of the values' prior as one more: n_A + 1 rows and columns.

        Zeros stand for biases, or a mean, that there are not.
        """
        graph, exact, count = self.graph, self.base.exact, self.graph.panel.n_assessors
        if isinstance(exact, DirectSolver) and exact.system.keeps_assessors:
            inner = exact.full_inverse
        else:
            inner = exact.apply(np.zeros((graph.n_objects, graph.n_assessors)), np.eye(graph.n_assessors))[1]
        of_level, level = self._of_level
        own = inner + of_level[1][:, None] + of_level[1] + level
        full = np.zeros((count + 1, count + 1))
        if graph.has_biases:
            full[: own.shape[0], : own.shape[0]] = own
        elif graph.has_values:
            full[-1, -1] = own[-1, -1]
        return full

    @property
    def is_wide(self) -> bool:
        """Whether the inverse between many assessors is held anyway."""
        exact = self.base.exact
        return (
            self.graph.has_biases
            and isinstance(exact, DirectSolver)
            and exact.system.keeps_assessors
            and exact.system.n_kept > _MANY
        )

    @cached_property
    def totals(self) -> Floats:
        """For each object the sum of its weights, with that of its prior."""
        own = sum_by(self.graph.panel.object_index, self.weight, self.graph.panel.n_objects)
        return own if self.value_prior is None else own + self.value_prior

    @cached_property
    def shares(self) -> sp.csr_array[Any]:
        """Weights over these totals, objects by assessors, with the prior's as one more assessor's."""
        panel, prior = self.graph.panel, self.value_prior
        every = np.arange(panel.n_objects)
        weight = np.concatenate([self.weight, np.zeros(panel.n_objects) if prior is None else prior])
        rows = np.concatenate([panel.object_index, every])
        columns = np.concatenate([panel.assessor_index, np.full(panel.n_objects, panel.n_assessors)])
        shape = panel.n_objects, panel.n_assessors + 1
        return sp.csr_array((weight / self.totals[rows], (rows, columns)), shape=shape)

    def apply_few(self, of_objects: sp.csr_array[Any], of_assessors: sp.csr_array[Any]) -> Sides:
        """Return L^- times columns that are mostly zeros, with minus the mean as one more bias."""
        left = sp.hstack([of_assessors.T, sp.csr_array((of_assessors.shape[1], 1))], format="csr")
        left = sp.csr_array(left - of_objects.T @ self.shares)
        biases = np.ascontiguousarray((left @ self.between_assessors).T)
        return self.given_biases(of_objects.toarray(), biases), biases

    def given_biases(self, of_objects: Floats, biases: Floats) -> Floats:
        """Return what values are for columns of forces, given biases with minus the mean as one more."""
        return np.asarray(of_objects / self.totals[:, None] - self.shares @ biases)

    def _told_diagonal(self) -> Sides:
        of_objects, of_assessors = self.base.diagonal()
        values, biases, own = self._level
        told = of_objects[: values.size] - 2 * values + own
        if not self.graph.has_biases:
            return told, np.zeros(self.graph.panel.n_assessors)
        return told, of_assessors[: biases.size] + 2 * biases + own

    def _told_cross(self) -> Floats:
        objects, assessors = self.ends
        if not self.graph.has_biases:
            return np.zeros(objects.size)
        values, biases, own = self._level
        cross = self.base.edges()[1][: self.graph.panel.n_assessments]
        return np.asarray(cross + values[objects] - biases[assessors] - own)

    @cached_property
    def with_mean(self) -> Sides:
        """Covariances, for w = 1, of values and of biases with the mean of all values."""
        of_objects, of_assessors = np.zeros(self.graph.n_objects), np.zeros(self.graph.n_assessors)
        of_assessors[-1] = -1.0
        return self._told(*self.base.apply(*self._ground(of_objects, of_assessors)))

    def draw_with_mean(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats, Floats]:
        """Return draws (count rows) of values, of biases and of the mean of all values."""
        drawn = self.base.draw(generator, count)
        values, biases = self._told(drawn[0].T, drawn[1].T)
        return values.T, biases.T, -(drawn[1][:, -1] + self._level_of(drawn[0].T, drawn[1].T))


@dataclass(frozen=True, slots=True, eq=False)
class PriorSums:
    """What fits with priors leave, one number for each prior of the kept side.

    Attributes
    ----------
    residual
        Sum of squares, with what priors add.
    log_determinant
        Log det of L with priors, as :class:`PriorSolver` has it.
    mean, mean_variance
        The mean of all values, and its variance for w = 1.
    """

    residual: Floats
    log_determinant: Floats
    mean: Floats
    mean_variance: Floats


def sums_over_priors(system: System, score: Floats, of_gone: float, of_kept: Floats) -> PriorSums:
    """Return what fits leave with one prior precision of the eliminated side and many of the kept one.

    With the other side eliminated and S = V diag(l) V^T, S with a prior p has the eigenvalues l + p: one decomposition
    serves all. The mean of all values is one more unknown, a column of ones X 1 beside values about it. As the scores
    are taken about their mean, and S 1 is the force of that column, what the mean is told is p 1^T (S + p)^-1 S 1, and
    nothing cancels.
    """
    total = system.gone_total + of_gone
    if system.is_dense:
        half = system.dense / np.sqrt(total)[:, None]
        links = half.T @ half
    else:
        thin = sp.csr_array(sp.diags_array(1.0 / np.sqrt(total)) @ system.incidence)
        links = np.asarray((thin.T @ thin).todense())
    own = links.sum(axis=1) - np.diagonal(links) + system.up(of_gone / total)
    np.fill_diagonal(links, -own)
    size, axes = np.linalg.eigh(-links)
    size = np.maximum(size, 0.0)
    centre = float(np.average(score, weights=system.weight))
    away = score - centre
    pull = system.forces(away)
    gone, kept = sum_by(system.gone, pull, system.n_gone), sum_by(system.kept, pull, system.n_kept)
    force, ones = axes.T @ (kept - system.up(gone / total)), axes.sum(axis=0)
    share = 1.0 / (size + of_kept[:, None])
    left = float(pull @ away) - float((np.square(gone) / total).sum()) - share @ np.square(force)
    tied, told = share @ (force * ones), share @ (size * np.square(ones))
    logs = float(np.log(total).sum()) - np.log(share).sum(axis=1) + np.log(of_kept * told)
    residual = left - of_kept * np.square(tied) / told
    return PriorSums(residual, logs, centre + tied / told, 1.0 / (of_kept * told))


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
        panel = self.base.graph.panel
        pull = self.base.weight * score
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
