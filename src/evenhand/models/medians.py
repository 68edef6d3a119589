"""Medians instead of means: the values and biases that make the weighted sum of absolute residuals least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats, count_by, dot, sum_by
from evenhand.errors import Problem, SolveError, too_extreme
from evenhand.models.additive import CWC, finish_additive
from evenhand.models.effects import Table
from evenhand.models.family import INTERVAL, check_options, refuse_criteria
from evenhand.models.fit import Fit, Model, Options, Question, outlying_notes
from evenhand.models.noise import NoDistribution, NoiseKind, NoisePrior
from evenhand.models.posterior import Posterior
from evenhand.panel.gauge import Gauge, condition
from evenhand.panel.panel import Panel
from evenhand.solve import Solution, SolverKind
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import by_door, count_of

MOST: Final = 50_000
"""Up to this many assessments the least sum is found exactly, by a linear programme that takes some seconds."""

EXACT: Final = 1e-9
"""A sum that is certified to be no further than this part above the least is taken for the least."""

_BEGINNING: Final = 30
"""Rounds of medians that the exact methods start from."""

_ROUNDS: Final = 2_000
"""Rounds of medians after which a sum that still falls is given up."""

_FALL: Final = 1e-9
"""A round that lowers the sum by less than this part of it was the last."""

_CENTRING: Final = 100
"""Rounds that look for the middle of all that is equally good."""

_STEPS: Final = 100
"""Least-squares fits that lead a large panel to where its medians are polished."""

_RELAXED: Final = 1.6
"""How far each of these goes beyond its aim, which is quicker."""

_MARGIN: Final = 0.003
"""Forces are kept this part below the weights while the last of them are balanced."""

_PROJECTIONS: Final = 30
"""How often that is tried before all forces are scaled down."""

_NORMAL: Final = 1.4826
"""A normal standard deviation over its median absolute deviation."""

_ROUNDING: Final = 16 * float(np.finfo(np.float64).eps)
"""A residual below this part of the numbers that it is the difference of is 0."""

_PERFECT: Final = 1e-12
"""If all residuals are below this part, the scores agree perfectly."""


def _student() -> str:
    """Return how to ask for Student's noise."""
    return by_door('calibrate(panel, tails="student")', "--tails student")


@dataclass(frozen=True, eq=False)
class Medians(Model):
    """Calibration by weighted medians, with what it found beside values and biases.

    Attributes
    ----------
    criterion
        The sum of sqrt(c) ``|s - v - b|``.
    bound
        No values and biases have a smaller sum than this.
    rounds
        Rounds of medians.
    is_programmed
        Whether they come from the linear programme.
    noise_sd
        The standard deviation of the noise for c = 1, as far as the sizes of the residuals tell it.
    deviation
        sqrt(c) (s - v - b) of each assessment.
    backend
        The kind of frame that tables come back as.
    """

    criterion: float
    bound: float
    rounds: int
    is_programmed: bool
    noise_sd: float
    deviation: Floats = field(repr=False)
    backend: frames.Backend

    @property
    def method(self) -> str:
        """Its short name."""
        return "cwc+medians"

    @property
    def surprise(self) -> Floats:
        """For every score how many standard deviations of the noise it lies from what is expected."""
        return self.deviation / self.noise_sd if self.noise_sd > 0 else np.zeros_like(self.deviation)

    @property
    def variances(self) -> Table:
        """The standard deviation of the noise, without an interval."""
        unknown = np.full(1, np.nan)
        return Table("variance", ["noise_sd"], np.array([self.noise_sd]), unknown, unknown, unknown, self.backend)

    @property
    def tables(self) -> dict[str, Table | None]:
        """What it found beside values and biases."""
        return {"variances": self.variances, "covariates": None, "scales": None, "noise_factors": None}

    @property
    def solved_by(self) -> str:
        """How the medians were found."""
        return f"medians by {'a linear programme' if self.is_programmed else 'turns'}"

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the fit of another panel by medians."""
        return median_polish(panel, **options)

    def why_not(self, question: Question) -> str | None:
        """Return why a question cannot be answered."""
        if question == "log_evidence":
            return "no log-evidence for medians: they assume no distribution of the noise."
        if question == "predict":
            return (
                "Medians assume no distribution of the noise, so that they say nothing of a score not yet given: fit "
                f"the panel by {_student()} for predictions."
            )
        if question in ("influence", "leverages", "sensitivity"):
            return (
                "Medians are no least squares, so they have no leverages, held-out errors or evidence: fit the panel "
                f"by {by_door('calibrate(panel)', '--method cwc')} or {_student()} for those."
            )
        return None

    @property
    def gap(self) -> float:
        """How far the sum may be above the least possible, as a part of it."""
        return (self.criterion - self.bound) / self.criterion if self.criterion else 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the sum is the least possible, but for rounding."""
        return self.gap <= EXACT


def median_polish(
    panel: Panel,
    *,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
    solver: SolverKind = "auto",
) -> Fit:
    """Return values and biases by weighted medians, which a few wild scores cannot move.

    Minimises sum sqrt(c) |s - v_o - b_a|, where calibration with confidence minimises the sum of squares. Weighted
    medians of rows and columns in turn (Tukey's median polish) can stick above the least sum. Up to 50,000 assessments
    a linear programme therefore finds the least sum itself; beyond that, least-squares fits lead the medians close to
    it. Either way a note says how far above the least the sum can be: forces y on the scores that balance at every
    object and every assessor, with ``|y| <= sqrt(c)``, prove that no sum is less than sum y s.

    Several values and biases can share the least sum. Of these the one is returned that medians in turn lead to, with
    midpoints wherever a median is an interval, from a vertex of the programme; rows in another order give the same.

    No distribution is assumed, so there are no standard deviations. What each score did to the values is not a matter
    of leverage here, and :func:`~evenhand.influence` refuses.

    Parameters
    ----------
    panel
        The panel.
    gauge
        Where zero bias lies, as in :func:`~evenhand.calibrate`.
    per_component
        Fit each group of a panel that is not connected on its own, instead of refusing.
    noise, interval
        Accepted so that all methods are called alike; nothing is assumed of the noise, and there are no intervals.
    solver
        How the least-squares equations behind the proof are solved.

    Raises
    ------
    NotConnectedError
        If the panel falls into groups whose standards cannot be compared.
    SolveError
        If the medians do not come to rest.

    Examples
    --------
    >>> score = [60.0, 70.0, 63.0, 50.0, 60.0, 53.0, 40.0, 50.0, 900.0]
    >>> panel = Panel.from_arrays([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, score)
    >>> fit = median_polish(panel, gauge="zero_sum")
    >>> fit.values.estimate.round(3), fit.model.outlying
    (array([64.333, 54.333, 44.333]), array([8]))
    """
    refuse_criteria(panel)
    check_options(panel, CWC, noise, interval)
    parts = connectivity(panel, solver)
    if not per_component and panel.n_assessments > panel.n_objects:
        parts.require_connected()
    fixed = condition(gauge, panel, parts)
    found = polish(panel, parts)
    raw = Solution(found.values, found.biases, found.residuals)
    fit = finish_additive(
        panel, parts, CWC, raw, fixed, gauge=gauge, noise=noise, interval=interval, per_component=per_component
    )
    unknown = NoDistribution(
        "medians assume no distribution of the noise, so there are no standard deviations and no intervals; for those "
        f"use Student noise, {_student()}"
    )
    posterior = Posterior(unknown, np.full(panel.n_objects, np.nan), panel.n_assessors)
    deviation = np.sqrt(panel.precision) * found.residuals
    scale = _scale(np.abs(deviation), fit.degrees_of_freedom)
    how = (found.criterion, found.bound, found.rounds, found.is_programmed)
    model = Medians(*how, scale, deviation, panel.backend)
    kept = [note for note in fit.notes[len(panel.notes) :] if note.kind not in ("uncertainty", "grid")]
    notes = [*panel.notes, *kept, Problem("uncertainty", f"{unknown.reason}."), *_notes(panel, model)]
    return replace(
        fit,
        model=model,
        values=replace(fit.values, posterior=posterior),
        biases=replace(fit.biases, posterior=posterior),
        posterior=posterior,
        given_notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Polished:
    """Values and biases by medians, in some gauge."""

    # values, biases, residuals: the estimates, and s - v - b of each assessment
    values: Floats
    biases: Floats
    residuals: Floats
    criterion: float  # the sum of sqrt(c) ``|s - v - b|``
    bound: float  # no values and biases have a smaller sum than this
    rounds: int  # rounds of medians
    is_programmed: bool  # whether they come from the linear programme


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What is to be made least: sum w |s - v - b|, with scores about their median and weights about 1.

    ``typical`` is the size of a score, beside which rounding is measured.
    """

    object_index: NDArray[np.intp]
    assessor_index: NDArray[np.intp]
    score: Floats
    weight: Floats
    n_objects: int
    n_assessors: int
    typical: float

    def residuals(self, values: Floats, biases: Floats, rounding: float = _ROUNDING) -> Floats:
        """Return s - v - b, and exactly 0 where that is nothing but rounding."""
        of_object, of_assessor = values[self.object_index], biases[self.assessor_index]
        left = self.score - of_object - of_assessor
        size = np.abs(self.score) + np.abs(of_object) + np.abs(of_assessor) + self.typical
        left[np.abs(left) <= rounding * size] = 0.0
        return np.asarray(left)

    def is_perfect(self, values: Floats, biases: Floats) -> bool:
        """Whether values and biases give every score, but for rounding on the long way between some of them."""
        return not self.residuals(values, biases, _PERFECT).any()

    def total(self, values: Floats, biases: Floats) -> float:
        """Return sum w |s - v - b|."""
        return float(dot(self.weight, np.abs(self.residuals(values, biases))))

    def value_medians(self, biases: Floats) -> Floats:
        """Return the best values for given biases."""
        left = self.score - biases[self.assessor_index]
        return weighted_medians(left, self.weight, self.object_index, self.n_objects)

    def bias_medians(self, values: Floats) -> Floats:
        """Return the best biases for given values."""
        left = self.score - values[self.object_index]
        return weighted_medians(left, self.weight, self.assessor_index, self.n_assessors)


def weighted_medians(score: Floats, weight: Floats, group: NDArray[np.intp], count: int) -> Floats:
    """Return the weighted median of each group; the midpoint, where all between two scores is a median.

    Parameters
    ----------
    score, weight, group
        Scores, their positive weights, and the group of each, from 0 to count - 1 without gaps.
    count
        Number of groups.

    Examples
    --------
    >>> weighted_medians(np.array([1.0, 9.0, 4.0, 8.0]), np.array([2.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 1]), 2)
    array([1., 6.])
    """
    order = np.lexsort((score, group))
    members = count_by(group, count)
    end = np.cumsum(members)
    start = end - members
    # in whole numbers, so that running sums over all groups are exact within each
    unit = 2.0**61 / count
    share = weight / sum_by(group, weight, count)[group]
    running = np.cumsum(np.rint(share[order] * unit).astype(np.int64))
    before = np.concatenate([np.zeros(1, dtype=np.int64), running])[start]
    at = np.repeat(np.arange(count), members)
    half = 2 * (running - before[at]) - (running[end - 1] - before)[at]
    slack = (members * (2.0 + unit * _ROUNDING)).astype(np.int64)[at]
    low = start + np.add.reduceat((half < -slack).astype(np.int64), start)
    high = start + np.add.reduceat((half <= slack).astype(np.int64), start)
    ordered = score[order]
    lower, upper = ordered[low], ordered[np.minimum(high, end - 1)]
    return np.asarray(lower + (upper - lower) / 2)


def polish(panel: Panel, parts: Connectivity) -> Polished:
    """Return the values and biases with the least sum of absolute residuals, in some gauge, and how sure that is."""
    if panel.n_assessments > MOST:
        return _polish(panel, parts)
    # in the order of the labels, so that the choice among equals does not hang on the order of the rows
    of_object, of_assessor = _places(panel.objects), _places(panel.assessors)
    objects, assessors = of_object[panel.object_index], of_assessor[panel.assessor_index]
    rows = np.lexsort((panel.precision, panel.score, assessors, objects))
    listed = Panel.from_arrays(objects[rows], assessors[rows], panel.score[rows], panel.precision[rows])
    found = _polish(listed, connectivity(listed, parts.solver_kind))
    residuals = np.empty_like(found.residuals)
    residuals[rows] = found.residuals
    return replace(found, values=found.values[of_object], biases=found.biases[of_assessor], residuals=residuals)


def _typical(numbers: Floats) -> float:
    """Return the median size of the numbers that are not zero; 1 where all are."""
    return float(np.median(np.abs(numbers[numbers != 0]))) if numbers.any() else 1.0


def _places(labels: Sequence[str]) -> NDArray[np.intp]:
    """Return the place of each label among all of them in order."""
    order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.intp)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return places


def _polish(panel: Panel, parts: Connectivity) -> Polished:
    """Return the same with the panel in the order that it has."""
    root = np.sqrt(panel.precision)
    unit = float(2.0 ** np.round(np.log2(np.median(root))))
    origin = float(np.median(panel.score))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        task = _Task(
            panel.object_index.astype(np.intp, copy=False),
            panel.assessor_index.astype(np.intp, copy=False),
            panel.score - origin,
            root / unit,
            panel.n_objects,
            panel.n_assessors,
            _typical(panel.score - origin),
        )
        values, biases, total, rounds = _alternate(task, np.zeros(task.n_assessors), _BEGINNING, _FALL)
        if not np.isfinite(total * unit):
            raise too_extreme()
        bound, solved = 0.0, None
        if panel.n_assessments <= MOST and not task.is_perfect(values, biases):
            solved = _programme(task, biases)
        if solved is not None:
            values, biases, total, more = _alternate(task, solved[0], _CENTRING, -_ROUNDING)
            total, bound = _certified(task, parts, values, biases, solved[1])
            rounds += more
        is_perfect = task.is_perfect(values, biases)
        if not is_perfect and total - bound > EXACT * total:
            values, biases, force, more = _approach(task, parts, values, biases)
            total, other = _certified(task, parts, values, biases, force)
            bound, rounds, solved = max(bound, other), rounds + more, None
    left, bound = task.residuals(values, biases), total if is_perfect else bound
    return Polished(values + origin, biases, left, total * unit, bound * unit, rounds, solved is not None)


def _alternate(task: _Task, biases: Floats, most: int, fall: float) -> tuple[Floats, Floats, float, int]:
    """Return values and biases after rounds of medians, their sum, and the number of rounds; ``most`` if unfinished.

    It ends when a round lowers the sum by less than a part ``fall`` of it. With a negative one it goes on while the
    sum stays the same, as long as anything moves.
    """
    values = task.value_medians(biases)
    total = task.total(values, biases)
    rest = _ROUNDING * task.typical
    for done in range(1, most):
        new_biases = task.bias_medians(values)
        new_values = task.value_medians(new_biases)
        new_total = task.total(new_values, new_biases)
        if new_total > total * (1 + _ROUNDING):
            return values, biases, total, done
        is_last = new_total >= total * (1 - fall) or float(np.abs(new_values - values).max()) <= rest
        values, biases, total = new_values, new_biases, new_total
        if is_last:
            return values, biases, total, done
    return values, biases, total, most


def _programme(task: _Task, biases: Floats) -> tuple[Floats, Floats] | None:
    """Return the biases with the least sum, and the forces that prove it; None where the programme is not solved.

    The forces are what the programme asks for: the largest sum y s with |y| <= w and no force left over at any object
    or assessor. Values and biases are the prices of these balances. This has a row for each object and assessor, where
    the programme for values, biases and both signs of every residual has one for each assessment, and takes far longer.
    """
    from scipy.optimize import linprog

    size = task.score.size
    left = task.residuals(task.value_medians(biases), biases)
    typical = _typical(left)
    rows = np.concatenate([task.object_index, task.assessor_index + task.n_objects])
    columns = np.tile(np.arange(size), 2)
    members = task.n_objects + task.n_assessors
    balance = sp.coo_array((np.ones(2 * size), (rows, columns)), shape=(members, size)).tocsc()
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrix
        -left / typical,
        A_eq=balance,
        b_eq=np.zeros(members),
        bounds=np.column_stack([-task.weight, task.weight]),
        method="highs-ds",
    )
    prices = found.eqlin.marginals if found.status == 0 else None
    if prices is None or not np.isfinite(prices).all():
        return None
    return biases - typical * np.asarray(prices)[task.n_objects :], np.asarray(found.x, dtype=np.float64)


def _approach(task: _Task, parts: Connectivity, values: Floats, biases: Floats) -> tuple[Floats, Floats, Floats, int]:
    """Return values and biases close to the least sum, forces that prove how close, and rounds of medians.

    Alternating directions: least-squares fits to the scores, less the part of each residual that a force at its limit
    holds back. Medians in turn then take what is left to be had.
    """
    left = task.residuals(values, biases)
    limit = 2 * _typical(task.weight * left)
    held, pull = left, np.zeros_like(left)
    fitted, force = (values, biases), np.zeros_like(left)
    for _ in range(_STEPS):
        aim = task.score - held + pull
        solution = parts.solver.solve(aim, fitted)
        fitted = solution.values, solution.biases
        at = solution.values[task.object_index] + solution.biases[task.assessor_index]
        force = np.square(task.weight) * (aim - at) / limit
        wanted = _RELAXED * (task.score - at) + (1 - _RELAXED) * held + pull
        pull = np.clip(wanted * task.weight, -limit, limit) / task.weight
        held = wanted - pull
    found = _alternate(task, fitted[1], _ROUNDS, _FALL)
    if found[3] >= _ROUNDS:
        raise SolveError(f"The medians have not come to rest after {_ROUNDS:,} rounds: use {_student()} instead.")
    best = (values, biases) if task.total(values, biases) < found[2] else found[:2]
    for _ in range(_PROJECTIONS):
        if (np.abs(force) <= task.weight).all():
            break
        inside = (1 - _MARGIN) * task.weight
        force = _balanced(task, parts, np.clip(force, -inside, inside))
    return *best, force, found[3]


def _balanced(task: _Task, parts: Connectivity, force: Floats) -> Floats:
    """Return the nearest forces that add up to nothing at every object and every assessor."""
    squared = np.square(task.weight)
    score = force / squared
    solution = parts.solver.solve(score)
    fitted = solution.values[task.object_index] + solution.biases[task.assessor_index]
    return np.asarray(squared * (score - fitted))


def _certified(task: _Task, parts: Connectivity, values: Floats, biases: Floats, force: Floats) -> tuple[float, float]:
    """Return the sum, and a bound that no sum can be below: sum y s for forces y that balance, with |y| <= w.

    The difference of the two is a sum of what every force falls short, w |r| - y r, and so loses no digits.
    """
    left = task.residuals(values, biases)
    force = _balanced(task, parts, force)
    force = force / max(1.0, float((np.abs(force) / task.weight).max()))
    total = float(dot(task.weight, np.abs(left)))
    gap = float(np.maximum(task.weight * np.abs(left) - force * left, 0.0).sum())
    return total, max(total - gap, 0.0)


def _scale(size: Floats, freedom: int) -> float:
    """Return the standard deviation, for c = 1, of normal noise with residuals of this size.

    Medians fit as many scores exactly as there are values and biases to choose, and these say nothing about the noise.
    Without them it is 1.4826 times the median size (Maronna, Martin and Yohai 2006, sec. 4.4); or, where that is 0,
    by the mean size.
    """
    if freedom < 1:
        return 0.0
    largest = np.sort(size)[size.size - freedom :]
    return _NORMAL * float(np.median(largest)) or float(np.sqrt(np.pi / 2) * largest.sum() / freedom)


def _notes(panel: Panel, model: Medians) -> list[Problem]:
    """Return the sum with its bound in words, and the outlying scores by name."""
    sum_ = f"the sum of sqrt(c) |s - v - b| is {model.criterion:.6g}"
    above = f"which nothing lowers by more than {100 * model.gap:.2g}%"
    how = "by a linear programme and" if model.is_programmed else "after"
    rounds = count_of(model.rounds, "round")
    notes = [Problem("medians", f"{sum_}, {above}, {how} {rounds} of medians.")]
    return [*notes, *outlying_notes(panel, model)]
