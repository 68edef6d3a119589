"""Several criteria: a value for each criterion and one for all together, whose errors go together within a reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NoReturn, Unpack

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats, count_by
from evenhand.errors import InputError, NotConnectedError, Problem, SolveError
from evenhand.models.additive import CWC, IBA, METHODS, calibrate
from evenhand.models.correlation import (
    SINGULAR,
    Correlation,
    SummedSolver,
    Whole,
    estimate_errors,
    ignored_notes,
    refuse_singular,
    summed_noise,
)
from evenhand.models.effects import both_sides
from evenhand.models.family import INTERVAL, check_options
from evenhand.models.fit import Asked, Fit, Method, Model, Options, Question
from evenhand.models.noise import EstimatedNoise, KnownNoise, Noise, NoiseKind, NoisePrior, noise_floor, notes_on
from evenhand.models.posterior import Posterior
from evenhand.models.refined import Refinements, refine
from evenhand.panel.gauge import Affine, Anchor, Gauge, Reference
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.solve.criteria import (
    CombinedSolver,
    Gauges,
    JointSolver,
    Readings,
    certainty,
)
from evenhand.solve.equations import System, make_system
from evenhand.words import by_door, count_of, name_some

By = Callable[..., Fit] | str | Refinements
"""How each criterion is fitted: a function that takes a panel, the short name of a method, or refinements."""

_PROPORTIONAL: Final = 1e-9
_WHAT: Final[dict[Question, str]] = {
    "refit": "A refit",
    "update": "An update",
    "evidence": "Evidence",
    "influence": "Influence",
    "sensitivity": "Influence",
    "without": "Leaving an assessor out",
    "explain": "An explanation",
    "next": "The next best assessment",
    "spread": "The spread of residuals",
}
"""What needs a fit of the panel alone."""


@dataclass(frozen=True)
class SeveralCriteria(Model):
    """A model in which scores of other criteria have their part."""

    base: Model  # how each criterion was fitted on its own

    @property
    def method(self) -> str:
        """Its short name: ``cwc+criteria``."""
        return f"{self.base.method}+criteria"

    @property
    def uses_confidence(self) -> bool:
        """Whether scores weigh by declared confidence."""
        return self.base.uses_confidence

    @property
    def refusal(self) -> str:
        """The kind of error that a question raises which it cannot answer."""
        return "bad_method"

    def why_not(self, question: Question) -> str | None:
        """Return why a question cannot be answered."""
        if question not in _WHAT:
            return None
        return (
            f"{_WHAT[question]} is not for values of several criteria, in which scores of other criteria have their "
            "part: ask for it of one criterion, fitted on its own."
        )

    def refit(self, panel: Panel, **options: Unpack[Options]) -> NoReturn:
        """Refuse: one panel does not hold the scores of the other criteria."""
        _refuse(str(self.why_not("refit")), self.refusal)


@dataclass(frozen=True, eq=False)
class CriteriaFit(Asked, frames.Shown):
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

    @property
    def model(self) -> Model:
        """What the combined fit was made by."""
        return self.combined.model

    rows = "object"

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

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    def biases_to_frame(self) -> Any:
        """Return the biases as the kind of frame that the panel came from."""
        return frames.make_frame(self.bias_columns(), self.backend)

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
    together by generalised least squares, and Sigma by the EM algorithm. Degrees of freedom are then Satterthwaite's,
    and variances allow for an estimated Sigma as Kenward and Roger do. Where too few scores tell Sigma, it is drawn
    towards independence, and a note says so.

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
    array([140. , 128.5, 103. ])
    """
    chosen = _weights(panel, weights)
    _refuse_options(panel, by, noise, interval, len(chosen))
    base = _weighted_part(panel, chosen)
    table = _Table.of(base, tuple(chosen), equal=_weighs_alike(by))
    together = correlated and len(chosen) > 1 and not table.is_complete
    if together:
        _refuse_joint(by)
        table.readings.require_room()
    fitter = _Fitter(by, per_component, noise, interval)
    fits = {label: fitter.one(base, label, gauge) for label in chosen}
    task = _Task(base, table, np.array(list(chosen.values())), fits, fitter, gauge)
    correlation = task.correlation()
    if together:
        fits, combined, correlation = task.joint()
    elif len(chosen) == 1 and task.weight[0] == 1.0:
        combined = fits[table.criteria[0]]
    elif correlated or len(chosen) == 1:
        combined = task.plain(correlation)
    else:
        combined = task.independent(correlation)
    left_out = [label for label in panel.criteria if label not in chosen]
    if left_out:
        message = (
            f"{'criteria' if len(left_out) > 1 else 'criterion'} without a weight left out: {name_some(left_out)}."
        )
        combined = replace(combined, given_notes=(*combined.given_notes, Problem("left_out", message)))
    return CriteriaFit(panel, table.criteria, dict(chosen), fits, combined, correlation, correlated)


def _refuse(message: str, kind: str = "bad_option", where: str | None = None) -> NoReturn:
    """Refuse in a sentence."""
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
            )
        if not (np.isfinite(weight) and weight >= 0):
            _refuse(f"The weight of criterion {label} must be 0 or more, not {weight:g}.")
    chosen = {label: float(given[label]) for label in panel.criteria if given.get(label, 0.0) > 0}
    if not chosen:
        _refuse(
            f"No criterion has a weight above 0, and at least one needs it: the criteria are "
            f"{name_some(panel.criteria, most=30)}."
        )
    return chosen


def _method_of(by: By) -> Method | None:
    """Return the method of the paper that is meant; None for any other way to fit."""
    if isinstance(by, str):
        return METHODS.get(by)
    return next((one for one in METHODS.values() if by in (one, one.make)), None)


def _weighs_alike(by: By) -> bool:
    """Whether a method of the paper is meant that makes no use of declared confidence."""
    method = _method_of(by)
    return method is not None and not method.uses_confidence


def _refuse_options(panel: Panel, by: By, noise: NoiseKind | NoisePrior, interval: float, count: int) -> None:
    """Refuse what no criterion could be fitted with."""
    if isinstance(by, str) and by not in METHODS:
        _refuse(f"Criteria can be fitted by {', '.join(METHODS)}, a function or Refinements, not by {by!r}.")
    if not isinstance(by, Refinements):
        check_options(panel, _method_of(by) or CWC, noise, interval)
    if isinstance(noise, NoisePrior) and count > 1:
        _refuse(
            "A prior of the noise variance is for one criterion: use noise estimated or declared, or calibrate "
            "panel.of_criterion(...) with it."
        )


def _refuse_joint(by: By) -> None:
    """Refuse what cannot be fitted with correlated errors where scores are missing."""
    if isinstance(by, Refinements):
        _refuse(
            "Refinements go with correlated criteria only where every reading has all criteria, with confidences in "
            "the same proportion: use correlated=False, or fit without refinements."
        )
    if _method_of(by) not in (IBA, CWC):
        _refuse(
            "Correlated criteria with missing scores, or with confidences in different proportions, are fitted by "
            "calibration (cwc or iba): use one of these, or correlated=False."
        )


def _weighted_part(panel: Panel, chosen: Mapping[str, float]) -> Panel:
    """Return the panel of the criteria that have a weight, each of which every object must have a score for."""
    labels = np.asarray(panel.criterion)
    for label in chosen:
        count = count_by(panel.object_index[labels == label], panel.n_objects)
        lacking = [panel.objects[at] for at in np.flatnonzero(count == 0).tolist()]
        if lacking:
            others = f" (nor {'has' if len(lacking) == 2 else 'have'} {len(lacking) - 1:,} more)" if lacking[1:] else ""
            _refuse(
                f"It has no score for criterion {label}{others}, and so no combined value: give weights to other "
                f"criteria only, leave the object out, or fit each criterion on its own{_by_of_criterion()}.",
                "missing_criterion",
                f"object {lacking[0]}",
            )
    return panel if len(chosen) == len(panel.criteria) else panel.restrict(np.isin(labels, list(chosen)))


@dataclass(frozen=True, eq=False)
class _Table:
    """The scores of a panel, a row for each reading and a column for each criterion."""

    criteria: tuple[str, ...]  # the criteria
    # where in the panel each score stands; -1 for none. An assessor's second score of an object for the same criterion
    # belongs to a second reading.
    place: Whole
    readings: Readings  # the scores, with the precisions that the method uses
    declared: Floats  # the precisions as declared; 1 where there is no score

    @classmethod
    def of(cls, panel: Panel, criteria: tuple[str, ...], *, equal: bool) -> _Table:
        """Return the table of a panel; with ``equal`` all scores weigh alike."""
        labels, code = np.asarray(panel.criterion), np.zeros(panel.n_assessments, dtype=np.int64)
        for at, label in enumerate(criteria):
            code[labels == label] = at
        pair = panel.object_index.astype(np.int64) * panel.n_assessors + panel.assessor_index
        order = np.lexsort((code, pair))
        new = np.concatenate([[True], (np.diff(pair[order]) != 0) | (np.diff(code[order]) != 0)])
        starts = np.flatnonzero(new)
        turn = np.empty_like(pair)  # the how manieth score of the same assessor, object and criterion
        turn[order] = np.arange(pair.size) - starts[np.cumsum(new) - 1]
        _, first, reading = np.unique(pair * (int(turn.max()) + 1) + turn, return_index=True, return_inverse=True)
        rank = np.empty_like(first)  # in the order of the panel
        rank[np.argsort(first)] = np.arange(first.size)
        place = np.full((first.size, len(criteria)), -1)
        place[rank[reading], code] = np.arange(pair.size)
        first = np.sort(first)
        there = place >= 0
        declared = np.where(there, panel.precision[place], 1.0)
        readings = Readings(
            panel.object_index[first].astype(np.int64),
            panel.assessor_index[first].astype(np.int64),
            np.where(there, panel.score[place], 0.0),
            np.where(there, 1.0 if equal else declared, 0.0),
            panel.n_objects,
            panel.n_assessors,
        )
        return cls(criteria, place, readings, declared)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every reading has all criteria, with confidences in the same proportion."""
        if not self.readings.present.all():
            return False
        ratio = self.readings.precision / self.readings.precision[:, :1]
        return bool((np.abs(ratio / ratio[0] - 1) <= _PROPORTIONAL).all())


@dataclass(frozen=True, eq=False)
class _Fitter:
    """How a panel is fitted: the options that all criteria share."""

    by: By
    per_component: bool
    noise: NoiseKind | NoisePrior
    interval: float

    def fit(self, panel: Panel, gauge: Gauge) -> Fit:
        """Return the fit of a panel."""
        options: Options = {"gauge": gauge, "noise": self.noise, "interval": self.interval}
        if self.per_component:
            options["per_component"] = True
        if isinstance(self.by, Refinements):
            return refine(panel, self.by, **options)
        by = METHODS[self.by] if isinstance(self.by, str) else _method_of(self.by) or self.by
        return by(panel, **options)

    def one(self, base: Panel, label: str, gauge: Gauge) -> Fit:
        """Return the fit of one criterion; what is refused is refused by its name."""
        panel = base.of_criterion(label)
        try:
            return self.fit(panel, _gauge_for(gauge, base, panel))
        except NotConnectedError as error:
            message = f"Criterion {label}: {error}"
            raise NotConnectedError(message, components=error.components, suggestions=error.suggestions) from None
        except InputError as error:
            named = [replace(problem, message=f"Criterion {label}: {problem.message}") for problem in error.problems]
            raise InputError(named) from None


def _gauge_for(gauge: Gauge, base: Panel, panel: Panel) -> Gauge:
    """Return a gauge for one criterion, whose assessors need not be all."""
    if not isinstance(gauge, Affine) or isinstance(gauge.beta, Mapping) or len(gauge.beta) != base.n_assessors:
        return gauge
    there = set(panel.assessors)
    return replace(
        gauge, beta={who: part for who, part in zip(base.assessors, gauge.beta, strict=True) if who in there}
    )


def _scaled(gauge: Gauge, total: float) -> Gauge:
    """Return the gauge of weighted sums where each criterion has a gauge: what it says of points is summed too."""
    match gauge:
        case Reference(value):
            return Reference(total * value)
        case Affine(beta, gamma):
            return Affine(beta, total * gamma)
        case Anchor(assessor, bias, values):
            return Anchor(assessor, total * bias, {label: total * value for label, value in values.items()})
    return gauge


@dataclass(frozen=True, eq=False)
class _Task:
    """Criteria that were fitted each on its own, to be combined."""

    base: Panel
    table: _Table
    weight: Floats
    fits: dict[str, Fit]
    fitter: _Fitter
    gauge: Gauge

    @cached_property
    def rows(self) -> list[Whole]:
        """Positions in the panel of the scores of each criterion, in its order."""
        return [np.sort(column[column >= 0]) for column in self.table.place.T]

    @cached_property
    def seats(self) -> list[Whole]:
        """Positions of each criterion's assessors among all."""
        seat = {label: at for at, label in enumerate(self.base.assessors)}
        return [np.array([seat[label] for label in fit.panel.assessors]) for fit in self.fits.values()]

    @cached_property
    def residuals(self) -> Floats:
        """The residuals of each criterion's own fit, readings by criteria."""
        whole = np.zeros(self.base.n_assessments)
        for fit, rows in zip(self.fits.values(), self.rows, strict=True):
            whole[rows] = fit.residuals
        return np.where(self.table.readings.present, whole[self.table.place], 0.0)

    def correlation(self) -> Correlation:
        """Return correlations between the residuals of readings that have scores for both of two criteria."""
        readings, fits = self.table.readings, list(self.fits.values())
        scaled = self.residuals * readings.root
        squares = np.square(scaled).T @ readings.present.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = scaled.T @ scaled / np.sqrt(squares * squares.T)
        np.fill_diagonal(matrix, 1.0)
        share = np.array([max(fit.degrees_of_freedom, 0) / fit.panel.n_assessments for fit in fits])
        freedom = readings.together * np.minimum(share[:, None], share)
        sd = np.sqrt([_level(fit) for fit in fits])
        return Correlation(self.table.criteria, np.clip(matrix, -1.0, 1.0), sd, freedom, self.base.backend)

    def combined_panel(self, score: Floats, correlation: Floats | None) -> Panel:
        """Return the panel of combined scores, one for each reading.

        Its precision is 1 where that of all criteria is 1; given correlations, it is that of the weighted sum itself,
        uncertainties taken at face value. Its step is that whose half is the noise of sums of scores that each scatter
        by half of their own.
        """
        base, table, weight = self.base, self.table, self.weight
        present, declared = table.readings.present, table.declared
        precision = (present @ weight**2) / np.where(present, weight**2 / declared, 0.0).sum(axis=1)
        if correlation is not None:
            spread = weight / np.sqrt(np.where(present, declared, precision[:, None]))
            variance = np.einsum("ik,kl,il->i", spread, correlation, spread)
            if not (variance > SINGULAR * np.square(spread).sum(axis=1)).all():
                refuse_singular(correlation, table.criteria)
            precision = 1.0 / variance
        elif base.is_equally_confident:
            precision = np.broadcast_to(base.precision[0], score.shape).view()
        place = table.place.max(axis=1)
        shared = {
            name: cells[place]
            for name, cells in base.covariates.items()
            if ((cells[table.place] == cells[place][:, None]) | ~present).all()
        }
        panel = replace(
            base,
            object_index=np.array(table.readings.object_index),
            assessor_index=np.array(table.readings.assessor_index),
            score=score,
            precision=precision,
            confidence="confidence" if base.confidence == "uncertainty" else base.confidence,
            covariates=shared,
            criterion=None,
        )
        steps = np.array([fit.panel.step for fit in self.fits.values()], dtype=np.float64)  # not a number for none
        step = float(np.linalg.norm(weight * steps))
        panel.__dict__["step"] = step if np.isfinite(step) else None
        return panel

    def plain(self, correlation: Correlation) -> Fit:
        """Return the fit of the combined scores, where every reading is complete."""
        declared = np.nan_to_num(correlation.matrix) if self.fitter.noise == "declared" else None
        panel = self.combined_panel(self.table.readings.score @ self.weight, declared)
        return self.fitter.fit(panel, _scaled(self.gauge, float(self.weight.sum())))

    def found(self, values: Floats, biases: Floats, residuals: Floats, correlation: Floats | None) -> _Found:
        """Return the combined panel that weighted sums of values, biases and residuals make."""
        readings = self.table.readings
        score = values[readings.object_index] + biases[readings.assessor_index] + residuals
        panel = self.combined_panel(score, correlation)
        seen = panel.with_equal_confidence() if _weighs_alike(self.fitter.by) else panel
        return _Found(panel, seen, connectivity(seen), self.groups(), values, biases, residuals)

    def groups(self) -> tuple[Whole, Whole]:
        """Return the groups of objects that every criterion can compare, the largest first, and of assessors."""
        readings = self.table.readings
        each = np.stack([fit.values.component for fit in self.fits.values()], axis=1)
        group = np.unique(each, axis=0, return_inverse=True)[1].ravel()
        count = count_by(group[readings.object_index], int(group.max()) + 1)
        rank = np.empty_like(count)
        rank[np.argsort(-count, kind="stable")] = np.arange(count.size)
        of_assessors = np.zeros(self.base.n_assessors, dtype=np.int64)
        of_assessors[readings.assessor_index] = rank[group[readings.object_index]]
        return rank[group], of_assessors

    def notes(self, noise: Noise) -> list[Problem]:
        """Return what the fits of the criteria noticed, and how many readings are not complete."""
        notes = [
            *self.base.notes,
            *(
                replace(note, message=f"criterion {label}: {note.message}")
                for label, fit in self.fits.items()
                for note in fit.notes[len(fit.panel.notes) :]
                if note.kind != "uncertainty"
            ),
        ]
        present = self.table.readings.present
        short = int((~present).any(axis=1).sum())
        if short:
            message = (
                f"{count_of(short, 'reading')} of {present.shape[0]:,} without a score for every criterion: the "
                "combined scores of these are filled in as expected."
            )
            notes.append(Problem("filled_in", message))
        if noise.reason is not None:
            notes.append(Problem("uncertainty", f"{noise.reason}."))
        return notes

    def independent(self, correlation: Correlation) -> Fit:
        """Return the combined fit where criteria are taken to err independently: variances add up."""
        fits, weight = list(self.fits.values()), self.weight
        if any(fit.values.scale is not None for fit in fits):
            _refuse(
                "Values on a bounded or logarithmic scale do not add up across criteria: fit without a map of the "
                f"scores, or refine each criterion on its own{_by_of_criterion()}."
            )
        biases = np.zeros(self.base.n_assessors)
        for part, fit, seat in zip(weight, fits, self.seats, strict=True):
            biases[seat] += part * fit.biases.estimate
        values = weight @ np.stack([fit.values.estimate for fit in fits])
        found = self.found(values, biases, self.residuals @ weight, None)
        noise = summed_noise([(label, fit.posterior) for label, fit in self.fits.items()], weight)
        ways = dict.fromkeys(fit.solved_by for fit in fits if fit.solved_by is not None)
        summed = SummedSolver(
            tuple(fit.posterior for fit in fits),
            weight,
            tuple(self.seats),
            found.panel,
            found.system,
            noise.variance,
            f"each criterion on its own: {'; '.join(ways)}",
        )
        averaged = not fits[0].is_calibrated
        if averaged:
            with np.errstate(divide="ignore"):
                posterior = Posterior(noise, 1.0 / summed.diagonal()[0], biases.size)
        else:
            posterior = Posterior(noise, found.seen.object_confidence, biases.size, summed)
        if isinstance(noise, EstimatedNoise):
            residual, freedom = noise.residual, noise.nu
        else:
            freedom = min(fit.degrees_of_freedom for fit in fits)
            shares = [freedom / fit.degrees_of_freedom if freedom > 0 else 1.0 for fit in fits]
            residual = float(weight**2 @ [share * fit.residual for share, fit in zip(shares, fits, strict=True)])
        return found.fit(
            fits[0].model if averaged else SeveralCriteria(fits[0].model),
            None if fits[0].gauge is None else self.gauge,
            posterior,
            self.fitter.interval,
            residual,
            freedom,
            [*self.notes(noise), *ignored_notes(correlation, weight)],
        )

    def joint(self) -> tuple[dict[str, Fit], Fit, Correlation]:
        """Return fits for each criterion and combined, where errors go together and scores are missing."""
        readings, fits, weight = self.table.readings, list(self.fits.values()), self.weight
        start = np.array([_start(label, fit) for label, fit in self.fits.items()])
        conditions = [fit.posterior.condition for fit in fits if fit.posterior.condition is not None]
        gauges = Gauges.of(conditions, self.seats, self.base.n_assessors)
        best, drawn = estimate_errors(readings, gauges, start)
        rows = np.vstack([weight, np.eye(weight.size)])
        freedom, factor, of_correlations = certainty(best, rows, drawn)
        sd = np.sqrt(np.diagonal(best.covariance))
        matrix = best.covariance / np.outer(sd, sd)
        shown = np.where(readings.together > 0, matrix, np.nan)
        correlation = Correlation(self.table.criteria, shown, sd, of_correlations, self.base.backend)
        declared = self.fitter.noise == "declared"
        used = JointSolver(readings, matrix, gauges) if declared else best
        values, biases, residuals = used.solve()
        errors = used.completed(residuals) / np.where(readings.present, readings.root, 1.0)
        summed = (biases * weight * gauges.has_bias).sum(axis=1)
        found = [self.found(values @ weight, summed, errors @ weight, matrix if declared else None)]
        left = np.zeros(self.base.n_assessments)
        left[self.table.place[readings.present]] = residuals[readings.present]
        for at, (fit, seat, place) in enumerate(zip(fits, self.seats, self.rows, strict=True)):
            parts, groups = fit.connectivity, (fit.values.component, fit.biases.component)
            found.append(
                _Found(fit.panel, parts.panel, parts, groups, np.array(values[:, at]), biases[seat, at], left[place])
            )
        made: list[Fit] = []
        for at, (one, part) in enumerate(zip(found, rows, strict=True)):
            seat = self.seats[at - 1] if at else np.arange(self.base.n_assessors)
            level, nu = float(part @ best.covariance @ part), max(1, int(np.rint(freedom[at])))
            floor = noise_floor(one.panel.step, one.seen.precision)
            noise: Noise = EstimatedNoise(nu * level * float(factor[at]), nu, floor)
            noise = KnownNoise(floor=floor) if declared else noise
            solver = CombinedSolver(used, part, seat, one.system, 1.0 if declared else level)
            posterior = Posterior(noise, one.seen.object_confidence, seat.size, solver)
            own = [note for note in fits[at - 1].notes if note.kind not in ("uncertainty", "grid")]
            own = [*own, *notes_on(noise, one.panel.step)] if at else self.notes(noise)
            if drawn:
                message = "too few scores tell how errors go together between criteria: drawn towards independence."
                own.append(Problem("drawn", message))
            residual = nu * level / (float(part @ matrix @ part) if declared else 1.0)
            model = SeveralCriteria(fits[0].model)
            made.append(one.fit(model, self.gauge, posterior, self.fitter.interval, residual, nu, own))
        return dict(zip(self.fits, made[1:], strict=True)), made[0], correlation


@dataclass(frozen=True, eq=False)
class _Found:
    """What was found of a panel otherwise than by least squares on it alone.

    The panel as given, as the method sees it, how it hangs together, groups that can be compared, and the estimates.
    """

    panel: Panel
    seen: Panel
    parts: Connectivity
    groups: tuple[Whole, Whole]
    values: Floats
    biases: Floats
    residuals: Floats

    @cached_property
    def system(self) -> System:
        """The equations of the panel alone."""
        return make_system(self.seen, self.parts)

    def fit(
        self,
        model: Model,
        gauge: Gauge | None,
        posterior: Posterior,
        interval: float,
        residual: float,
        freedom: int,
        notes: Sequence[Problem],
    ) -> Fit:
        """Return it as a fit."""
        self.residuals.flags.writeable = False
        estimates = self.values, self.biases
        values, biases = both_sides(self.panel, self.seen, estimates, self.groups, posterior, interval)
        return Fit(
            panel=self.panel,
            model=model,
            gauge=gauge,
            values=values,
            biases=biases,
            weight=self.seen.precision,
            residual=residual,
            degrees_of_freedom=freedom,
            connectivity=self.parts,
            posterior=posterior,
            given_notes=tuple(notes),
            given_residuals=self.residuals,
        )


def _level(fit: Fit) -> float:
    """Return the estimated noise variance for precision 1; not a number where there is none."""
    if fit.model.is_plain:
        return fit.residual / fit.degrees_of_freedom if fit.degrees_of_freedom > 0 else np.nan
    variance = fit.posterior.noise.variance
    return np.nan if variance is None else variance


def _start(label: str, fit: Fit) -> float:
    """Return the noise variance from which the search for Sigma starts."""
    if fit.degrees_of_freedom < 1:
        raise SolveError(
            f"The scores for criterion {label} are just enough to fix its values and leave nothing over to tell how "
            "its errors go together with others: use correlated=False, or more assessments."
        )
    if fit.residual == 0:
        raise SolveError(
            f"The scores for criterion {label} agree perfectly, so that it has no errors that could go together with "
            "others: use correlated=False."
        )
    return fit.residual / fit.degrees_of_freedom


def _by_of_criterion() -> str:
    """Return how a criterion is fitted on its own in Python; on the command line nothing needs to be said."""
    return by_door(" (panel.of_criterion)", "")
