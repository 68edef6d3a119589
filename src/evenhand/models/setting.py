"""What is held while values and biases of a refined model are fitted, what is found, and what the scores must tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats
from evenhand.models.noise import Likelihood, Noise, Normal, Tilted, noise_floor
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel
from evenhand.solve.base import Solver
from evenhand.solve.bordered import BorderedSolver
from evenhand.solve.choose import SolverKind
from evenhand.solve.priors import PriorGraph


@dataclass(frozen=True, slots=True)
class Setting:
    """Variances and other numbers that are held while values and biases are fitted."""

    # value_ratio, bias_ratio: prior variance of values about their mean, and of biases about zero, over w; None for no
    # prior, and 0 where there are no biases at all
    value_ratio: float | None = None
    bias_ratio: float | None = None
    power: float = 1.0  # exponent of the declared confidences: 1 as declared, 0 not used
    # prior variance of the log scales of assessors over w, per squared point; None where all scales are 1
    scale_ratio: float | None = None
    # degrees of freedom of the prior of the assessors' noise factors; None where all are 1
    strength: float | None = None
    w: float | None = None  # the noise variance; None where it is integrated out
    likelihood: Likelihood = field(default_factory=Normal)  # how scores scatter
    is_declared: bool = False  # whether w = 1 because declared uncertainties are taken at face value
    is_ml: bool = False  # whether what has no prior is held at its best (ML) rather than integrated out (REML)


@dataclass(frozen=True, eq=False)
class Work:
    """What stays the same in all fits of a panel."""

    panel: Panel  # with places of the scores on the scale of the model
    parts: Components  # its groups
    columns: sp.csr_array[Any] | None = None  # covariates, a row for each assessment; None for none
    solver: SolverKind = "auto"  # how the equations are solved
    step: float | None = None  # of the grid of the scores, in points; None for none, or where the likelihood has it

    @cached_property
    def centre(self) -> float:
        """The point about which scales of assessors stretch: the mean score."""
        return float(np.average(self.panel.score, weights=self.panel.precision))

    @cached_property
    def spread(self) -> float:
        """The spread of the scores."""
        return float(np.std(self.panel.score)) or 1.0

    @cached_property
    def log_precision(self) -> Floats:
        """Logarithms of the declared precisions about their mean, so that the power does not change their level."""
        logs = np.log(self.panel.precision)
        return np.asarray(logs - logs.mean())

    def graph(self, *, has_values: bool, has_biases: bool) -> PriorGraph:
        """Return the graph with priors, which is the same in all fits."""
        asked = has_values, has_biases
        if asked not in self._graphs:
            self._graphs[asked] = PriorGraph(self.panel, has_values, has_biases)
        return self._graphs[asked]

    @cached_property
    def _graphs(self) -> dict[tuple[bool, bool], PriorGraph]:
        return {}

    def precision(self, power: float) -> Floats:
        """Return the precisions with their differences raised to a power."""
        if power == 1.0:
            return self.panel.precision
        if power == 0.0:
            return np.ones(self.panel.n_assessments)
        return np.asarray(self.panel.precision * np.exp((power - 1.0) * self.log_precision))

    def floor(self, precision: Floats) -> float:
        """Return the least w, for given precisions: half a step of the grid."""
        return noise_floor(self.step, precision)


@dataclass(frozen=True, eq=False)
class Sites:
    """The normal scores that stand for scores whose noise is not normal, at a fit."""

    # weight, aim: of the sites that were fitted
    weight: Floats
    aim: Floats
    leverage: Floats  # how far each fitted score follows its own site
    # away, spread: what all others expect of each residual, and its variance
    away: Floats
    spread: Floats
    tilted: Tilted  # what each score says beside all others

    @property
    def others(self) -> tuple[Floats, Floats]:
        """What all others expect of each residual, and its variance."""
        return self.away, self.spread

    def log_density(self, residuals: Floats, w: float) -> float:
        """Return what the scores add to the log marginal likelihood beside the normalisation of the sites' fit."""
        left = residuals + self.aim
        turned = self.weight * np.square(left) / w * self.leverage / (1 - self.leverage)
        return float((self.tilted.log_mass + (turned - np.log1p(-self.leverage)) / 2).sum())


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit for one setting and one state of the iteration: one linear problem, solved."""

    values: Floats
    biases: Floats
    coefficients: Floats
    residuals: Floats
    residual: float
    plain: Solver
    border: BorderedSolver | None
    stretch: Floats
    prior: tuple[Floats | None, Floats | None]
    weight: Floats
    columns: sp.csr_array[Any] | None


@dataclass(frozen=True, eq=False)
class Node:
    """A fit for one setting."""

    setting: Setting
    # values, biases: estimates on the scale of the model; without priors, in the solver's own gauge
    values: Floats
    biases: Floats
    coefficients: Floats  # of the covariates
    log_scale: Floats  # logarithms of the assessors' scales; zeros where all are 1
    noise_factor: Floats  # the assessors' factors kappa of the noise variance; ones where all are 1
    weight: Floats  # what each score determines of the fit: precisions after all reweighting
    precision: Floats  # precisions without the reweighting of outlying or rounded scores
    residuals: Floats  # s - fitted
    residual: float  # the sum of squares behind w, with what priors add
    freedom: int  # N less what is fitted without a prior
    solver: Solver  # answers for values and biases
    noise: Noise  # what is known about w
    # log of the marginal likelihood of the setting, up to a constant that is the same for all settings of a panel with
    # the same priors
    log_marginal: float
    mean: float  # mean of the prior of values
    border: BorderedSolver | None  # the solver with covariates and scales, where there are any
    # what each score stands for beside itself: its site's target less the score; zeros where noise is normal
    aim: Floats
    sites: Sites | None = None  # what stood for the scores, where noise is not normal
    fitted: Fitted | None = None  # the linear problem behind it, where assessors have scales
    unrest: float = 0.0  # by how much fitted scores still moved where they did not come to rest

    @property
    def mean_variance(self) -> float:
        """Variance, for w = 1, of the mean of the prior of values."""
        return self.solver.mean_variance

    @property
    def w(self) -> float:
        """The noise variance: given, or its REML estimate R/nu."""
        return self.residual / max(self.freedom, 1) if self.setting.w is None else self.setting.w


@dataclass(frozen=True, slots=True)
class Unknown:
    """A number that the scores must tell, as a coordinate on the whole line."""

    name: str  # its name
    put: Callable[[Setting, float], Setting]  # return a setting with the number that a coordinate means
    # which numbers of the setting a coordinate moves, in logarithms (the power itself), and how fast
    moves: Mapping[str, float]
    # start, low, high: where the search starts and ends
    start: float
    low: float
    high: float
    # log prior density of the coordinate; used for uncertainty, not for the estimate
    log_prior: Callable[[float], float]
    may_vanish: bool = False  # whether the lower end of the search stands for a variance of zero


def put_number(setting: Setting, name: str, number: float) -> Setting:
    """Return a setting with one of its numbers changed."""
    changed: dict[str, Any] = {name: number}
    return replace(setting, **changed)


def log_unknown(name: str, start: float, low: float, high: float, prior: Callable[[float], float]) -> Unknown:
    """Return a positive number of a setting as an unknown, in logarithms."""
    return Unknown(name, lambda setting, x: put_number(setting, name, exp(x)), {name: 1.0}, start, low, high, prior)
