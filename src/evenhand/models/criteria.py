"""Several criteria: a value for each criterion and one for all together, whose errors go together within a reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.cells import count_of, name_some
from evenhand.errors import InputError, NotConnectedError, Problem, SolveError
from evenhand.fit import Effects, Fit, method_name
from evenhand.gauge import Affine, Anchor, Condition, Gauge, Reference
from evenhand.graph import Connectivity, connectivity
from evenhand.loops import count_by
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average, weighted_average
from evenhand.models.family import INTERVAL, check_options
from evenhand.models.medians import NoDistribution
from evenhand.models.refined import Refinements, refine
from evenhand.models.working import Mixing
from evenhand.noise import EstimatedNoise, KnownNoise, Noise, NoiseKind, NoisePrior
from evenhand.panel import Panel
from evenhand.posterior import Posterior
from evenhand.progress import report
from evenhand.solve import choose_solver
from evenhand.solve.joint import (
    CombinedSolver,
    Gauges,
    JointSolver,
    Readings,
    edges_of,
    project,
    refuse_sum,
    transposed,
)
from evenhand.system import System, make_system

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
By = Callable[..., Fit] | str | Refinements
"""How each criterion is fitted: a function that takes a panel, the short name of a method, or refinements."""

STEPS: Final = 500
"""Fits after which an estimate of the correlations that still moves is given up."""

STEADY: Final = 1e-10
"""Correlations have come to rest when none moves by more than this."""

_SINGULAR: Final = 1e-8
"""Correlations whose matrix has a smaller eigenvalue than this leave a criterion without noise of its own."""

_STEP: Final = 1e-6
"""Step of numerical derivatives, beside the noise variances."""

_PROPORTIONAL: Final = 1e-9
_CERTAIN: Final = 10**6
"""So many degrees of freedom are as good as a known variance."""

_NOTABLE: Final = 3.0
"""Correlations this many standard errors from zero are worth a note where they are ignored."""

_METHODS: Final[dict[str, Callable[..., Fit]]] = {
    "sa": simple_average,
    "cwa": weighted_average,
    "iba": incomplete_block,
    "cwc": calibrate,
}


@dataclass(frozen=True, eq=False)
class Correlation:
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

    def to_frame(self) -> Any:
        """Return the table as the kind of frame that the panel came from."""
        return frames.make_frame(self.columns(), self.backend)


@dataclass(frozen=True, eq=False)
class CriteriaFit:
    """Values and biases for each criterion, and for all together.

    Attributes
    ----------
    panel
        The panel as it was given.
    criteria
        The criteria that have a weight.
    weights
        The weight of each.
    fits
        The fit of each criterion. Where correlations were used and scores were missing, each has borrowed from others.
    combined
        The fit of the weighted sums of values, and of each assessor's biases over the criteria that the assessor
        scored. Its panel has a score for each reading, the weighted sum of the reading's scores; what is missing of it
        is filled in as expected.
    correlation
        How errors go together between criteria.
    is_correlated
        Whether that was used.
    """

    panel: Panel
    criteria: tuple[str, ...]
    weights: Mapping[str, float]
    fits: Mapping[str, Fit]
    combined: Fit
    correlation: Correlation
    is_correlated: bool = True

    def columns(self) -> dict[str, Any]:
        """Return a row for each object: combined value, sd, ends of its interval, rank; value and sd by criterion."""
        return self._table("object", ("value", "sd", "lower", "upper", "rank"))

    def bias_columns(self) -> dict[str, Any]:
        """Return a row for each assessor: combined bias, sd, ends of its interval; bias and sd by criterion."""
        return self._table("assessor", ("bias", "sd", "lower", "upper"))

    def _table(self, side: str, names: Sequence[str]) -> dict[str, Any]:
        whole = (self.combined.values if side == "object" else self.combined.biases).columns()
        table = {name: whole[name] for name in (side, *names)}
        for label, fit in self.fits.items():
            own = (fit.values if side == "object" else fit.biases).columns()
            for name in names[:2]:
                cells = dict(zip(own[side], own[name], strict=True))
                column = [cells.get(member) for member in whole[side]]
                table[f"{name}_{label}"] = [None if cell is None else float(cell) for cell in column]
        return table

    def to_frame(self) -> Any:
        """Return the values as the kind of frame that the panel came from."""
        return frames.make_frame(self.columns(), self.panel.backend)

    def biases_to_frame(self) -> Any:
        """Return the biases as the kind of frame that the panel came from."""
        return frames.make_frame(self.bias_columns(), self.panel.backend)

    def __str__(self) -> str:
        shown = ", ".join(f"{label} {weight:g}" for label, weight in self.weights.items())
        lines = [f"{len(self.criteria)} criteria with weights {shown}"]
        table = self.correlation.columns()
        found = [
            f"{first} and {second} {one:.2f}"
            for first, second, one in zip(table["first"], table["second"], table["correlation"], strict=True)
            if one is not None
        ]
        if found:
            used = "" if self.is_correlated else " (not used)"
            lines.append(f"correlation of errors{used}: {name_some(found)}")
        return "\n".join([*lines, "", str(self.combined)])

    def __repr__(self) -> str:
        return f"CriteriaFit({', '.join(self.criteria)}; {self.combined!r})"


def calibrate_criteria(
    panel: Panel,
    *,
    weights: Mapping[str, float] | None = None,
    correlated: bool = True,
    by: By = calibrate,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
) -> CriteriaFit:
    """Return values and biases for each criterion of a panel, and for the criteria together.

    Each criterion k has s = v_ok + b_ak + noise; the combined value is sum w_k v_ok. The errors of a reading, one
    assessor's scores for one object, go together: their covariance Sigma is estimated from the residuals (REML).

    Where every reading has all criteria, with confidences in the same proportion, the estimates are those of separate
    fits, and the combined fit is the fit of the combined scores sum w_k s_k: it needs no Sigma. Where scores are
    missing, a criterion's errors tell something about those of others: values and biases of all criteria are fitted
    together by generalised least squares, and Sigma by the EM algorithm. Degrees of freedom are then Satterthwaite's.

    Parameters
    ----------
    panel
        A panel whose scores are for criteria.
    weights
        The weight of each criterion; alike, with a sum of 1, where not given. They need not add up to 1. A criterion
        without a weight is left out.
    correlated
        Whether errors may go together. If not, the criteria are fitted each on its own and variances add up:
        sum w_k^2 var_k. That is too small where assessors err on all criteria in the same direction.
    by
        How each criterion is fitted: a method, its short name, or :class:`~evenhand.Refinements`. Correlated errors
        with missing scores need calibration (``"cwc"`` or ``"iba"``).
    gauge
        Where zero bias lies, in every criterion; what it says of points holds for each criterion.
    per_component
        Calibrate each group of a panel that is not connected on its own, instead of refusing.
    noise
        ``"estimated"``, or ``"declared"`` to take the uncertainties at face value and estimate correlations alone. A
        :class:`~evenhand.NoisePrior` is for one criterion only.
    interval
        Probability of intervals.

    Raises
    ------
    InputError
        If weights name a criterion that nobody scored, or an object lacks a criterion that has a weight.
    NotConnectedError
        If a criterion's scores fall into groups whose standards cannot be compared.
    SolveError
        If the correlations do not come to rest.
    LimitError
        If the equations of correlated criteria are too many; without correlations, none are.

    Examples
    --------
    >>> score = [60.0, 7.0, 70.0, 8.0, 50.0, 7.0, 62.0, 7.5, 41.0, 5.0, 50.0, 6.5]
    >>> panel = Panel.from_arrays(
    ...     [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1] * 3, score, criterion=["merit", "style"] * 6
    ... )
    >>> found = calibrate_criteria(panel, weights={"merit": 1, "style": 10})
    >>> found.combined.values.estimate.round(2)
    array([140.  , 128.5 , 103.  ])
    """
    chosen = _weights(panel, weights)
    _refuse_options(panel, by, noise, interval, len(chosen))
    base = _weighted_part(panel, chosen)
    table = _Table.of(base, tuple(chosen))
    fitter = _Fitter(by, per_component, noise, interval)
    fits = {label: fitter.one(base, label, gauge) for label in chosen}
    task = _Task(panel, base, table, chosen, fits, fitter, gauge)
    correlation = task.correlation()
    if len(chosen) == 1:
        combined = task.fits[table.criteria[0]] if task.weight[0] == 1 else task.plain(None)
    elif not correlated:
        combined = task.independent(correlation)
    elif task.is_complete:
        combined = task.plain(correlation)
    else:
        fits, combined, correlation = task.joint()
    left_out = [label for label in panel.criteria if label not in chosen]
    if left_out:
        message = f"{name_some(left_out)} {'has' if len(left_out) == 1 else 'have'} no weight and was left out."
        combined = replace(combined, notes=(*combined.notes, Problem("left_out", message)))
    return CriteriaFit(panel, table.criteria, dict(chosen), fits, combined, correlation, correlated)


def _refuse(message: str, kind: str = "bad_option", where: str | None = None) -> NoReturn:
    raise InputError(message, kind=kind, where=where)


def _weights(panel: Panel, given: Mapping[str, float] | None) -> dict[str, float]:
    """Return the criteria that have a weight, in the order of the panel."""
    if not panel.criteria:
        _refuse("The panel has no criteria: say which column holds them (criterion=...), or use calibrate(panel).")
    if given is None:
        return dict.fromkeys(panel.criteria, 1.0 / len(panel.criteria))
    for label, weight in given.items():
        if label not in panel.criteria:
            _refuse(
                f"There is no criterion {label!r} to give a weight to, for nobody scored it: the criteria are "
                f"{name_some(panel.criteria, most=30)}.",
                "unknown_criterion",
                f"criterion {label}",
            )
        if not (np.isfinite(weight) and weight >= 0):
            _refuse(f"The weight of criterion {label} must be 0 or more, not {weight:g}.", where=f"criterion {label}")
    chosen = {label: float(given[label]) for label in panel.criteria if given.get(label, 0.0) > 0}
    if not chosen:
        _refuse(f"At least one criterion needs a weight above 0: the criteria are {name_some(panel.criteria)}.")
    return chosen


def _refuse_options(panel: Panel, by: By, noise: NoiseKind | NoisePrior, interval: float, count: int) -> None:
    if isinstance(by, str) and by not in _METHODS:
        _refuse(f"Criteria can be fitted by {', '.join(_METHODS)} or refinements, not by {by!r}.")
    if not isinstance(by, Refinements):
        check_options(panel, _method_of(by) or "cwc", noise, interval)
    if isinstance(noise, NoisePrior) and count > 1:
        _refuse(
            "A prior of the noise variance is for one criterion: use noise estimated or declared, or calibrate "
            "panel.of_criterion(...) with it."
        )


def _method_of(by: By) -> str | None:
    """Return the short name of a method of the paper; None for any other."""
    return by if isinstance(by, str) else next((name for name, one in _METHODS.items() if one is by), None)


def _weighted_part(panel: Panel, chosen: Mapping[str, float]) -> Panel:
    """Return the panel of the criteria that have a weight, each of which every object must have a score for."""
    assert panel.criterion is not None  # noqa: S101  # there are criteria
    for label in chosen:
        count = count_by(panel.object_index[panel.criterion == label], panel.n_objects)
        lacking = [panel.objects[at] for at in np.flatnonzero(count == 0).tolist()]
        if lacking:
            _refuse(
                f"Object {lacking[0]} has no score for criterion {label} "
                f"({count_of(len(lacking), 'object')} without), and so no combined value: give weights to other criteria "
                "only, leave the object out, or fit each criterion on its own (panel.of_criterion).",
                "missing_criterion",
                f"object {lacking[0]}",
            )
    if len(chosen) == len(panel.criteria):
        return panel
    return panel.restrict(np.isin(panel.criterion, list(chosen)))


@dataclass(frozen=True, eq=False)
class _Table:
    """The scores of a panel, a row for each reading and a column for each criterion.

    ``place`` says where in the panel each stands (-1 for none). An assessor's second score of an object for the same
    criterion belongs to a second reading.
    """

    criteria: tuple[str, ...]
    place: Whole
    object_index: Whole
    assessor_index: Whole

    @classmethod
    def of(cls, panel: Panel, criteria: tuple[str, ...]) -> _Table:
        assert panel.criterion is not None  # noqa: S101  # there are criteria
        code = np.zeros(panel.n_assessments, dtype=np.int64)
        for at, label in enumerate(criteria):
            code[panel.criterion == label] = at
        pair = panel.object_index.astype(np.int64) * panel.n_assessors + panel.assessor_index
        order = np.lexsort((code, pair))
        same = (np.diff(pair[order]) == 0) & (np.diff(code[order]) == 0)
        starts = np.flatnonzero(np.concatenate([[True], ~same]))
        turn = np.empty_like(pair)
        turn[order] = np.arange(pair.size) - np.repeat(starts, np.diff([*starts, pair.size]))
        _, first, reading = np.unique(np.stack([pair, turn]), axis=1, return_index=True, return_inverse=True)
        rank = np.empty_like(first)
        rank[np.argsort(first, kind="stable")] = np.arange(first.size)
        place = np.full((first.size, len(criteria)), -1)
        place[rank[reading.ravel()], code] = np.arange(pair.size)
        first = np.sort(first)
        return cls(
            criteria, place, panel.object_index[first].astype(np.int64), panel.assessor_index[first].astype(np.int64)
        )

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        return self.place >= 0

    def spread(self, cells: Floats) -> Floats:
        """Return what stands at each assessment as readings by criteria, zeros where there is none."""
        return np.where(self.present, cells[self.place], 0.0)


@dataclass(frozen=True, eq=False)
class _Fitter:
    """How a panel is fitted."""

    by: By
    per_component: bool
    noise: NoiseKind | NoisePrior
    interval: float

    def fit(self, panel: Panel, gauge: Gauge) -> Fit:
        options: dict[str, Any] = {"gauge": gauge, "noise": self.noise, "interval": self.interval}
        if self.per_component and _method_of(self.by) not in ("sa", "cwa"):
            options["per_component"] = True
        if isinstance(self.by, Refinements):
            return refine(panel, self.by, **options)
        return (_METHODS[self.by] if isinstance(self.by, str) else self.by)(panel, **options)

    def one(self, base: Panel, label: str, gauge: Gauge) -> Fit:
        """Return the fit of one criterion; what is refused is refused by its name."""
        panel = base.of_criterion(label)
        if isinstance(gauge, Affine):
            beta = gauge.beta if isinstance(gauge.beta, Mapping) else dict(zip(base.assessors, gauge.beta, strict=True))
            there = set(panel.assessors)
            gauge = replace(gauge, beta={who: part for who, part in beta.items() if who in there or part == 0})
        try:
            return self.fit(panel, gauge)
        except NotConnectedError as error:
            raise NotConnectedError(
                f"Criterion {label}: {error}", components=error.components, suggestions=error.suggestions
            ) from None
        except InputError as error:
            raise InputError(f"Criterion {label}: {error}", kind=error.kind, where=error.where) from None


@dataclass(frozen=True, eq=False)
class _Task:
    """Criteria that were fitted each on its own, to be combined."""

    panel: Panel
    base: Panel
    table: _Table
    chosen: Mapping[str, float]
    fits: Mapping[str, Fit]
    fitter: _Fitter
    gauge: Gauge

    @cached_property
    def weight(self) -> Floats:
        return np.array(list(self.chosen.values()))

    @cached_property
    def rows(self) -> list[Whole]:
        """Positions in the panel of the scores of each criterion."""
        return [np.sort(column[column >= 0]) for column in self.table.place.T]

    @cached_property
    def seats(self) -> list[Whole]:
        """Positions of each criterion's assessors among all."""
        seat = {label: at for at, label in enumerate(self.base.assessors)}
        return [np.array([seat[label] for label in fit.panel.assessors]) for fit in self.fits.values()]

    def gathered(self, cells: Callable[[Fit], Floats]) -> Floats:
        """Return what stands at each assessment of each fit, as readings by criteria."""
        whole = np.zeros(self.base.n_assessments)
        for fit, rows in zip(self.fits.values(), self.rows, strict=True):
            whole[rows] = cells(fit)
        return self.table.spread(whole)

    @cached_property
    def precision(self) -> Floats:
        """The precisions that the method uses, readings by criteria."""
        return self.gathered(lambda fit: fit.weight if fit.refined is None else fit.panel.precision)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every reading has all criteria, with confidences in the same proportion."""
        if not self.table.present.all():
            return False
        ratio = self.precision / self.precision[:, :1]
        return bool((np.abs(ratio / ratio[0] - 1) <= _PROPORTIONAL).all())

    def readings(self) -> Readings:
        """Return the scores as the solver wants them."""
        scores = self.table.spread(self.base.score)
        table, base = self.table, self.base
        return Readings(
            table.object_index, table.assessor_index, scores, self.precision, base.n_objects, base.n_assessors
        )

    def correlation(self) -> Correlation:
        """Return correlations of the residuals of readings that have scores for both of two criteria."""
        scaled = self.gathered(lambda fit: fit.residuals) * np.sqrt(self.precision)
        present = self.table.present.astype(np.float64)
        product, squares = scaled.T @ scaled, np.square(scaled).T @ present
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = product / np.sqrt(squares * squares.T)
        fits = list(self.fits.values())
        share = np.array([fit.degrees_of_freedom / fit.panel.n_assessments for fit in fits])
        freedom = (present.T @ present) * np.minimum(share[:, None], share)
        variance = np.array([_level(fit) for fit in fits])
        np.fill_diagonal(matrix, 1.0)
        matrix = np.where(np.isfinite(matrix), np.clip(matrix, -1.0, 1.0), np.nan)
        return Correlation(self.table.criteria, matrix, np.sqrt(variance), freedom, self.panel.backend)

    def combined_panel(self, score: Floats, correlation: Floats | None) -> Panel:
        """Return the panel of combined scores, a score for each reading.

        Its precision is that of the weighted sum beside that of a score with precision 1 for all criteria; where
        uncertainties are taken at face value, that of the sum itself.
        """
        base, table, weight = self.base, self.table, self.weight
        present = table.present
        declared = np.where(present, table.spread(base.precision), 1.0)
        typical = (present @ weight**2) / np.where(present, weight**2 / declared, 0.0).sum(axis=1)
        precision = typical
        if correlation is not None:
            spread = weight / np.sqrt(np.where(present, declared, typical[:, None]))
            precision = 1.0 / np.einsum("ik,kl,il->i", spread, correlation, spread)
        if base.is_equally_confident:
            precision = np.broadcast_to(base.precision[0] if correlation is None else precision[0], score.shape).view()
        shared = {}
        for name, cells in base.covariates.items():
            first = cells[table.place.max(axis=1)]
            if all((cells[column] == first)[there].all() for column, there in zip(table.place.T, present.T)):
                shared[name] = first
        return replace(
            base,
            object_index=np.array(table.object_index),
            assessor_index=np.array(table.assessor_index),
            score=score,
            precision=precision,
            confidence="confidence" if base.confidence == "uncertainty" else base.confidence,
            covariates=shared,
            criterion=None,
        )

    def plain(self, correlation: Correlation | None) -> Fit:
        """Return the fit of the combined scores: all readings are complete."""
        score = self.table.spread(self.base.score) @ self.weight
        declared = self.fitter.noise == "declared"
        matrix = correlation.matrix if declared and correlation is not None else np.eye(self.weight.size)
        panel = self.combined_panel(score, matrix if declared else None)
        return self.fitter.fit(panel, _scaled(self.gauge, float(self.weight.sum())))

    def combine(
        self,
        method: str,
        values: Floats,
        biases: Floats,
        residuals: Floats,
        precision: Floats | None,
        correlation: Floats | None,
        posterior: Callable[[Panel, System], Posterior],
        residual: float,
        freedom: int,
        notes: Sequence[Problem] = (),
    ) -> Fit:
        """Return the combined fit of values, biases and residuals of weighted sums."""
        table = self.table
        score = values[table.object_index] + biases[table.assessor_index] + residuals
        panel = self.combined_panel(score, correlation)
        seen = panel if precision is None else panel.with_equal_confidence()
        parts = connectivity(seen)
        groups = self._groups()
        return _make_fit(
            panel,
            seen,
            method,
            self.gauge,
            values,
            biases,
            posterior(panel, make_system(seen, parts)),
            parts,
            groups,
            self.fitter.interval,
            residuals=residuals,
            residual=residual,
            freedom=freedom,
            notes=(*self.base.notes, *self._notes(), *notes),
        )

    def _groups(self) -> tuple[Whole, Whole]:
        """Return groups of objects that can be compared by every criterion, and those of the assessors."""
        fits = list(self.fits.values())
        each = np.stack([fit.values.component for fit in fits], axis=1)
        group = np.unique(each, axis=0, return_inverse=True)[1].ravel()
        count = count_by(group[self.table.object_index], int(group.max()) + 1)
        rank = np.empty_like(count)
        rank[np.argsort(-count, kind="stable")] = np.arange(count.size)
        of_objects = rank[group]
        of_assessors = np.zeros(self.base.n_assessors, dtype=np.int64)
        of_assessors[self.table.assessor_index[::-1]] = of_objects[self.table.object_index[::-1]]
        return of_objects, of_assessors

    def _notes(self) -> list[Problem]:
        """Return what the fits of the criteria noticed, and how many readings are not complete."""
        notes = []
        for label, fit in self.fits.items():
            for note in fit.notes[len(fit.panel.notes) :]:
                if note.kind != "uncertainty":
                    notes.append(replace(note, message=f"criterion {label}: {note.message}"))
        short = int((~self.table.present).any(axis=1).sum())
        if short:
            message = (
                f"{count_of(short, 'reading')} of {len(self.table.place):,} without a score for every criterion: "
                "the combined scores shown for these are filled in as expected."
            )
            notes.append(Problem("filled_in", message))
        return notes

    def independent(self, correlation: Correlation) -> Fit:
        """Return the combined fit where criteria are taken to err independently: variances add up."""
        fits, weight = list(self.fits.values()), self.weight
        if any(fit.values.scale is not None for fit in fits):
            _refuse(
                "Values on a bounded or logarithmic scale do not add up across criteria: combine them without a map of "
                "the scores, or refine each criterion on its own (panel.of_criterion)."
            )
        values = sum(part * fit.values.estimate for part, fit in zip(weight, fits, strict=True))
        biases = np.zeros(self.base.n_assessors)
        for part, fit, seat in zip(weight, fits, self.seats, strict=True):
            biases[seat] += part * fit.biases.estimate
        residuals = self.gathered(lambda fit: fit.residuals) @ weight
        noise = _summed_noise(fits, weight)
        variance = noise.variance if noise.variance else 1.0
        posteriors = tuple(fit.posterior for fit in fits)
        averaged = all(one.solver is None for one in posteriors)

        def posterior(panel: Panel, system: System) -> Posterior:
            summed = SummedSolver(
                posteriors,
                weight,
                tuple(self.seats),
                panel.n_assessors,
                panel.object_index,
                panel.assessor_index,
                system,
                variance,
            )
            if averaged:
                with np.errstate(divide="ignore"):
                    return Posterior(noise, 1.0 / summed.diagonal()[0], panel.n_assessors)
            return Posterior(noise, panel.object_confidence, panel.n_assessors, summed)

        known = isinstance(noise, EstimatedNoise)
        freedom = noise.nu if isinstance(noise, EstimatedNoise) else min(fit.degrees_of_freedom for fit in fits)
        residual = (
            noise.residual
            if isinstance(noise, EstimatedNoise)
            else sum(part**2 * fit.residual for part, fit in zip(weight, fits, strict=True))
        )
        del known
        notes = [] if noise.reason is None else [Problem("uncertainty", f"{noise.reason}.")]
        notes += _correlation_notes(correlation)
        method = fits[0].method if averaged else f"{fits[0].method}+criteria"
        equal = None if fits[0].refined is not None or self.fitter.by not in _EQUAL else self.precision
        return self.combine(
            method, np.asarray(values), biases, residuals, equal, None, posterior, residual, freedom, notes
        )

    def joint(self) -> tuple[dict[str, Fit], Fit, Correlation]:
        """Return the fits of criteria whose errors go together, where scores are missing: for each and combined."""
        raise NotImplementedError


_EQUAL: Final[tuple[By, ...]] = ("sa", "iba", simple_average, incomplete_block)
