"""How the errors of one reading go together between criteria: estimated by REML, or taken to be independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.errors import Problem, SolveError
from evenhand.models.noise import EstimatedNoise, KnownNoise, NoDistribution, Noise
from evenhand.models.posterior import Posterior
from evenhand.models.reweighting import Mixing
from evenhand.panel.panel import Panel
from evenhand.progress import report
from evenhand.solve.criteria import Gauges, JointSolver, OfSums, Readings
from evenhand.solve.equations import System
from evenhand.words import name_some

Whole = NDArray[np.int64]

STEPS: Final = 300
"""Fits after which an estimate of the correlations that still moves is given up."""

STEADY: Final = 1e-10
"""Correlations have come to rest when none moves by more than this."""

_PERFECT: Final = 1e-3
"""Errors go together perfectly, as far as scores tell, where their correlations have a smaller eigenvalue than this."""

SINGULAR: Final = 1e-8
_DRAWN: Final = 1.0
"""Correlations that go to 1 without end are drawn back by this many readings with independent errors."""

_CERTAIN: Final = 10**6
"""So many degrees of freedom are as good as a known variance."""

_NOTABLE: Final = 3.0
"""Correlations this many standard errors from zero are worth a note where they are ignored."""


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(frames.Shown):
    """How the errors of one assessor on one object go together between criteria.

    Attributes
    ----------
    criteria
        The criteria.
    matrix
        Correlations (K x K); not a number between criteria that nobody scored together.
    sd
        Standard deviation of the noise of each criterion, for precision 1.
    freedom
        Degrees of freedom behind each correlation and, on the diagonal, behind each variance. The standard error of a
        correlation r is about (1 - r^2)/sqrt(freedom).
    backend
        The kind of frame that tables come back as.
    """

    criteria: tuple[str, ...]
    matrix: Floats
    sd: Floats
    freedom: Floats
    backend: frames.Backend = frames.DEFAULT_BACKEND

    @property
    def covariance(self) -> Floats:
        """Noise covariance Sigma between criteria, for precision 1."""
        return np.asarray(self.matrix * np.outer(self.sd, self.sd))

    @property
    def error(self) -> Floats:
        """Standard errors of the correlations; infinite where nothing is known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.freedom > 0, (1 - np.square(self.matrix)) / np.sqrt(self.freedom), np.inf)

    def columns(self) -> dict[str, Any]:
        """Return a row for each pair of criteria: first, second, correlation, error, freedom."""
        pairs = list(combinations(range(len(self.criteria)), 2))

        def cells(matrix: Floats) -> list[float | None]:
            return [float(matrix[pair]) if np.isfinite(matrix[pair]) else None for pair in pairs]

        return {
            "first": [self.criteria[one] for one, _ in pairs],
            "second": [self.criteria[other] for _, other in pairs],
            "correlation": cells(self.matrix),
            "error": cells(self.error),
            "freedom": cells(self.freedom),
        }


def estimate_errors(readings: Readings, gauges: Gauges, start: Floats) -> tuple[JointSolver, float]:
    """Return the solver for the best Sigma, and how many independent readings were added to find it.

    None, mostly. Where the scores that go together are too few, the likelihood rises without end towards errors that
    go together perfectly. Then correlations are drawn towards zero by as much as one reading would do.
    """
    best = _settle(readings, gauges, start, 0.0)
    if best is not None:
        return best, 0.0
    best = _settle(readings, gauges, start, _DRAWN)
    if best is None:
        raise SolveError(
            f"The correlations between criteria did not come to rest in {STEPS} steps: there is no result; use "
            "correlated=False."
        )
    return best, _DRAWN


def _settle(readings: Readings, gauges: Gauges, start: Floats, drawn: float) -> JointSolver | None:
    """Return the solver for the Sigma that its own residuals tell: REML, by the EM algorithm; None where it has none.

    It starts from noise variances; readings with independent errors of the same variances may be added (``drawn``).
    """
    unit = np.sqrt(start)
    lower = np.tril_indices(start.size)
    diagonal = lower[0] == lower[1]

    def packed(sigma: Floats) -> Floats:
        factor = np.linalg.cholesky(sigma / np.outer(unit, unit))[lower]
        return np.where(diagonal, np.log(np.where(diagonal, factor, 1.0)), factor)

    def unpacked(vector: Floats) -> Floats:
        factor = np.zeros((start.size, start.size))
        factor[lower] = np.where(diagonal, np.exp(np.clip(vector, -15.0, 15.0)), vector)
        return np.asarray(factor @ factor.T * np.outer(unit, unit))

    mixing, sigma = Mixing(), np.diag(start)
    for step in range(STEPS):
        report("estimating correlations", step, None)
        solver = JointSolver(readings, sigma, gauges)
        try:
            after = _after(solver, drawn)
        except SolveError:
            if drawn and not mixing.was_mixed:
                raise
            after = None
        if after is None:
            if not mixing.was_mixed:
                return None
            sigma = unpacked(mixing.back())  # a mixed step may go too far
            continue
        sd = np.sqrt(np.diagonal(after))
        if float(np.abs((after - sigma) / np.outer(sd, sd)).max()) <= STEADY:
            return solver
        sigma = unpacked(mixing.next(packed(sigma), packed(after)))
    return None


def _after(solver: JointSolver, drawn: float) -> Floats | None:
    """Return the Sigma that one step of the EM algorithm leads to; None where errors go together perfectly by it."""
    count = solver.readings.count
    mean = solver.expected(solver.solve()[2])
    after = (count * mean + drawn * np.diag(np.diagonal(mean))) / (count + drawn)
    sd = np.sqrt(np.diagonal(after))
    least = float(np.linalg.eigvalsh(after / np.outer(sd, sd))[0])
    return None if least < (SINGULAR if drawn else _PERFECT) else np.asarray(after)


def refuse_singular(matrix: Floats, criteria: Sequence[str]) -> NoReturn:
    """Refuse correlations that are perfect, naming the pair that is closest to it."""
    away = np.abs(np.nan_to_num(matrix)) - 2 * np.eye(len(criteria))
    one, other = divmod(int(np.argmax(away)), len(criteria))
    raise SolveError(
        f"The errors of criteria {criteria[one]} and {criteria[other]} go together perfectly, or too few scores are "
        "left over to tell: there is no result; use correlated=False, or give a weight to one of them only."
    )


def ignored_notes(correlation: Correlation, weight: Floats) -> list[Problem]:
    """Return a note where errors clearly go together and that was not used."""
    size = np.nan_to_num(correlation.matrix) * np.sqrt(correlation.freedom)
    pairs = [(k, m) for k, m in combinations(range(weight.size), 2) if abs(size[k, m]) > _NOTABLE]
    if not pairs:
        return []
    spread = weight * np.nan_to_num(correlation.sd)
    with_them = float(spread @ np.nan_to_num(correlation.matrix) @ spread)
    word = "small" if with_them > float(spread @ spread) else "large"
    shown = name_some(
        [
            f"{correlation.criteria[k]} and {correlation.criteria[m]} {correlation.matrix[k, m]:.2f}"
            for k, m in sorted(pairs, key=lambda pair: -abs(correlation.matrix[pair]))
        ],
        3,
    )
    message = (
        f"errors go together between criteria ({shown}), so that combined sds are too {word}: use correlated=True."
    )
    return [Problem("correlated", message)]


@dataclass(frozen=True, slots=True)
class SummedNoise(EstimatedNoise):
    """What sums of independent Student deviations come to: as Student's, with the same variance and tails (Patil 1965).

    The deviations are drawn by the solver with tails of their own, so that nothing but their scale is left to give.
    """

    def draw_scale(self, generator: np.random.Generator, count: int) -> Floats | None:
        """Return the scale, as often as asked."""
        return None if self.variance is None else np.full(count, np.sqrt(self.variance))


def summed_noise(criteria: Sequence[tuple[str, Posterior]], weight: Floats) -> Noise:
    """Return what is known about the noise of weighted sums of independent criteria."""
    posteriors = [posterior for _, posterior in criteria]
    for label, one in criteria:
        if one.noise.variance is None:
            return NoDistribution(f"no uncertainties of combined values, for in criterion {label} {one.noise.reason}")
    level = float(weight**2 @ [one.noise.variance for one in posteriors])
    told = float(weight**2 @ [one.noise.told for one in posteriors])
    if all(isinstance(one.noise, KnownNoise) and not one.alternatives for one in posteriors):
        declared = all(one.noise.kind == "declared" for one in posteriors)
        return KnownNoise() if declared else KnownNoise(told, "estimated", level)
    second, fourth = np.zeros(posteriors[0].value_precision.size), np.zeros(posteriors[0].value_precision.size)
    few = [
        noise.nu
        for one in posteriors
        for noise in one.of_values.noise
        if isinstance(noise, EstimatedNoise) and noise.nu <= 4
    ]
    for part, one in zip(weight, posteriors, strict=True):
        marginal = one.of_values
        share = marginal.probability[:, None]
        variance = np.array([[noise.variance or 0.0] for noise in marginal.noise]) * np.square(marginal.spread)
        tails = np.array([[_tails(noise)] for noise in marginal.noise])
        shift = np.square(marginal.shift)
        own = (share * (variance + shift)).sum(axis=0)
        second += part**2 * own
        fourth += part**4 * ((share * (tails * variance**2 + 6 * variance * shift + shift**2)).sum(axis=0) - 3 * own**2)
    there = second > 0
    excess = float((fourth[there] / second[there] ** 2).mean()) if there.any() else 0.0
    nu = min(few) if few else int(np.rint(min(_CERTAIN, 4 + 6 / max(excess, 6 / _CERTAIN))))
    return SummedNoise((nu - 2) * told, nu, (nu - 2) / nu * level)


def _tails(noise: Noise) -> float:
    """Return the fourth moment of a deviation over the square of its variance: 3 for a normal one."""
    return 3 * (noise.nu - 2) / (noise.nu - 4) if isinstance(noise, EstimatedNoise) and noise.nu > 4 else 3.0


@dataclass(frozen=True, eq=False)
class SummedSolver(OfSums):
    """Answers about weighted sums of independent posteriors.

    An assessor's biases are summed over the criteria that the assessor scored.
    """

    # posteriors, weights: the posterior and the weight of each criterion
    posteriors: tuple[Posterior, ...]
    weights: Floats
    seats: tuple[Whole, ...]  # for each criterion the positions of its assessors among all
    panel: Panel  # the combined panel
    system: System  # its equations, as if its scores had been given as such
    # covariances are divided by this, the noise variance of the sums; by 1 where it is None or 0
    variance: float | None = None
    reason: str = ""  # which methods were used, and why

    @property
    def diagonal_error(self) -> float:
        """Typical relative error of the diagonal; 0 where it is exact but for rounding."""
        return max(0.0 if one.solver is None else one.solver.diagonal_error for one in self.posteriors)

    @property
    def _parts(self) -> list[tuple[float, Posterior, Whole]]:
        """For each criterion the factor of its covariance, its posterior and its seats."""
        square = self.weights**2 / (self.variance or 1.0)
        return list(zip(square.tolist(), self.posteriors, self.seats, strict=True))

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return the covariance times a vector, or times each column of a matrix."""
        values, biases = np.zeros(of_objects.shape), np.zeros(of_assessors.shape)
        for factor, posterior, seat in self._parts:
            more = _times(posterior, of_objects, of_assessors[seat])
            values += factor * more[0]
            biases[seat] += factor * more[1]
        return values, biases

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T C x for each column x, C the covariance."""
        total = np.zeros(of_objects.shape[1:])
        for factor, posterior, seat in self._parts:
            if posterior.alternatives:
                sd = posterior.of_contrasts(of_objects, of_assessors[seat]).sd
                total = total + factor * np.square(0.0 if sd is None else sd)
            else:
                unit = posterior.contrast_variances(of_objects, of_assessors[seat])
                total = total + factor * _variance(posterior) * unit
        return np.asarray(total)

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return variances of sums of values and of biases."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> tuple[Floats, Floats]:
        values, biases = np.zeros(self.panel.n_objects), np.zeros(self.panel.n_assessors)
        for factor, posterior, seat in self._parts:
            of_values, of_biases = (_variance(posterior) * side for side in posterior.unit_variances)
            if posterior.alternatives:
                of_values, of_biases = (
                    np.square(0.0 if side.sd is None else side.sd)
                    for side in (posterior.of_values, posterior.of_biases)
                )
            values += factor * of_values
            biases[seat] += factor * of_biases
        return values, biases

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of sums of values and of biases about zero, each part with tails of its own."""
        values, biases = np.zeros((count, self.panel.n_objects)), np.zeros((count, self.panel.n_assessors))
        for factor, posterior, seat in self._parts:
            drawn = posterior.draw(count, generator)
            if drawn is None:
                raise SolveError(f"There is no posterior to draw from: {posterior.noise.reason}.")
            values += np.sqrt(factor) * drawn[0]
            biases[:, seat] += np.sqrt(factor) * drawn[1]
        return values, biases


def _variance(posterior: Posterior) -> float:
    """Return the noise variance, or 1 where there is none."""
    return 1.0 if posterior.noise.variance is None else posterior.noise.variance


def _times(posterior: Posterior, of_values: Floats, of_biases: Floats) -> tuple[Floats, Floats]:
    """Return a posterior's covariance times a vector or columns."""
    if posterior.alternatives:
        values, biases = np.zeros(of_values.shape), np.zeros(of_biases.shape)
        for one in posterior.alternatives:
            more = _times(one.posterior, of_values, of_biases)
            along = one.values @ of_values + one.biases @ of_biases
            values += one.probability * (more[0] + np.multiply.outer(one.values, along))
            biases += one.probability * (more[1] + np.multiply.outer(one.biases, along))
        return values, biases
    scale = _variance(posterior)
    if posterior.solver is None:
        return scale * (of_values.T / posterior.value_precision).T, np.zeros(of_biases.shape)
    asked = of_values, of_biases
    if posterior.condition is not None:
        asked = posterior.condition.transposed(*asked)
    found = posterior.solver.apply(*asked)
    if posterior.condition is not None:
        found = posterior.condition.project(*found)
    return scale * found[0], scale * found[1]
