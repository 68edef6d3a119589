"""What each score and each assessor did: leverage, held-out error, exact sensitivities, deletions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.answers.heldout import held_out_errors, latent_errors, leverages
from evenhand.compiled import Floats, sum_by
from evenhand.errors import EvenhandError, InputError
from evenhand.models.fit import Fit, Options
from evenhand.panel.gauge import Reference
from evenhand.progress import steps
from evenhand.solve.connectivity import connectivity


def score_sensitivity(fit: Fit, chosen: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    """Return dv/ds and db/ds, exactly: a row for each object or assessor, a column for each chosen assessment.

    Not for refined models, of which :func:`influence` tells each score's effect on its own object.
    """
    fit.require("sensitivity")
    rows = np.arange(fit.panel.n_assessments) if chosen is None else chosen
    values, biases = _inverse_columns(fit, rows)
    values, biases = _project(fit, values, biases)
    return values * fit.weight[rows], biases * fit.weight[rows]


def confidence_sensitivity(fit: Fit, chosen: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    """Return dv/dc and db/dc for the declared confidences c, exactly: L^- x r, and the gauge's own dependence on c."""
    fit.require("sensitivity")
    rows = np.arange(fit.panel.n_assessments) if chosen is None else chosen
    values, biases = _inverse_columns(fit, rows)
    residual = fit.residuals[rows]
    return _project(fit, values * residual, biases * residual, *_gauge_drift(fit, rows))


def _inverse_columns(fit: Fit, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return L^- x for the rows x of the design matrix, in the solver's own gauge."""
    panel = fit.panel
    columns = np.arange(rows.size)
    of_objects = np.zeros((panel.n_objects, rows.size))
    of_objects[panel.object_index[rows], columns] = 1.0
    of_assessors = np.zeros((panel.n_assessors, rows.size))
    if fit.posterior.solver is None:
        return of_objects / fit.values.total_confidence[:, None], of_assessors
    of_assessors[panel.assessor_index[rows], columns] = 1.0
    return fit.posterior.solver.apply(of_objects, of_assessors)


def _project(
    fit: Fit, values: Floats, biases: Floats, drift: Floats | None = None, component: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats]:
    """Return changes (columns) moved along the null vector until the gauge's left-hand side changes by ``drift``.

    ``component`` is the group in which each column's assessment stands.
    """
    gauge = fit.posterior.condition
    if gauge is None:
        return values, biases
    values, biases = (moved.T for moved in fit.posterior.project(values.T, biases.T))
    if drift is None or component is None:
        return values, biases
    shift = np.where(drift != 0, drift / gauge.slope[component], 0.0)
    values = values + np.where(gauge.object_component[:, None] == component, shift, 0.0)
    return values, biases - np.where(gauge.assessor_component[:, None] == component, shift, 0.0)


def _gauge_drift(fit: Fit, rows: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return how far each confidence moves the gauge, whose weights may be confidences, and the group it does so in."""
    panel = fit.panel
    bias = fit.biases.estimate[panel.assessor_index[rows]]
    drift = np.zeros(rows.size)
    if fit.gauge == "weighted":
        drift = -bias
    elif isinstance(fit.gauge, Reference):
        drift = fit.gauge.value - fit.values.estimate[panel.object_index[rows]] + bias
    return drift, fit.connectivity.object_component[panel.object_index[rows]]


@dataclass(frozen=True, eq=False, repr=False)
class Influence(frames.Shown):
    """What each score did.

    Attributes
    ----------
    fit
        The fit.
    leverage
        How far the fitted score follows the score, between 0 and 1; 1 marks a bridge.
    held_out_error
        How far the score is from what all others predict; infinite at bridges.
    own_effect
        Change of the object's value for one more point in this score.
    confidence_effect
        Change of the object's value if this score's confidence were doubled, to first order.
    refitted
        The pull of each score by a fit without it, with heavy tails: others count for more then, or for less.
    """

    fit: Fit
    leverage: Floats
    held_out_error: Floats
    own_effect: Floats
    confidence_effect: Floats
    refitted: Floats | None = None

    rows = "assessment"

    @property
    def pull(self) -> Floats:
        """How far the score pulls the object's value: with it less without it, in the same gauge; infinite at bridges.

        Gauges whose weights are confidences keep the weights that they had with the score.
        """
        fit, scale = self.fit, self.fit.values.scale
        if self.refitted is not None:
            return self.refitted
        with np.errstate(invalid="ignore"):
            if scale is None or fit.model.behind is None:
                pull = self.own_effect * self.held_out_error
            else:
                at = fit.values.latent[fit.panel.object_index]
                points = fit.values.estimate[fit.panel.object_index]
                moved = self.own_effect * scale.slope(points) / scale.slope(fit.fitted)
                moved *= latent_errors(fit, self.leverage) + fit.model.behind.best.aim
                pull = points - scale.back(at - moved)
            return np.where(np.isfinite(self.held_out_error), pull, np.inf)

    def columns(self) -> dict[str, Any]:
        """Return the table as columns, one row for each assessment; None where a score cannot be left out."""
        fit, panel = self.fit, self.fit.panel

        def finite(cells: Floats) -> list[float | None]:
            return [cell if np.isfinite(cell) else None for cell in cells.tolist()]

        return {
            "assessor": [panel.assessors[i] for i in panel.assessor_index.tolist()],
            "object": [panel.objects[i] for i in panel.object_index.tolist()],
            "score": panel.score,
            "confidence": np.array(fit.weight),
            "fitted": fit.fitted,
            "residual": panel.score - fit.fitted,
            "leverage": self.leverage,
            "held_out_error": finite(self.held_out_error),
            "own_effect": self.own_effect,
            "pull": finite(self.pull),
            "confidence_effect": self.confidence_effect,
        }

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.fit.panel.backend


def influence(fit: Fit) -> Influence:
    """Return what each score did to the value of its object, and how far it is from what the others predict.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0]))
    >>> influence(fit).leverage
    array([0.75, 0.75, 0.75, 0.75])
    """
    fit.require("influence")
    leverage = leverages(fit)
    own = _own_response(fit)
    turned = own * fit.residuals
    gauge = fit.posterior.condition
    if gauge is not None:
        drift, component = _gauge_drift(fit, np.arange(fit.panel.n_assessments))
        turned = turned + drift / gauge.slope[component]
    if fit.values.scale is not None:  # from the scale of the model to points
        slope = fit.values.scale.slope
        at = slope(fit.values.estimate)[fit.panel.object_index]
        own, turned = own * slope(fit.fitted) / at, turned / at
    error = held_out_errors(fit, leverage)
    refitted = _by_refits(fit, error) if fit.model.is_heavy else None
    return Influence(fit, leverage, error, own * fit.weight, turned * fit.weight, refitted)


def _by_refits(fit: Fit, error: Floats) -> Floats:
    """Return how far each score pulls its object's value, by fits without it; infinite where there is no such value.

    With heavy tails the weights of all other scores depend on it, and first order is far off for those that matter.
    """
    panel = fit.panel
    every, pull = np.arange(panel.n_assessments), np.full(panel.n_assessments, np.inf)
    for row in steps("leaving out each score", np.flatnonzero(np.isfinite(error)).tolist()):
        at = int(panel.object_index[row])
        with suppress(EvenhandError):  # what is left may be too little
            values = fit.refit(panel.restrict(every != row), per_component=fit.per_component).values
            pull[row] = fit.values.estimate[at] - values.estimate[values.index_of(panel.objects[at])]
    return pull


def _own_response(fit: Fit) -> Floats:
    """Return for each assessment the entry of P L^- x at its own object, from entries of L^- at assessments alone."""
    panel, gauge = fit.panel, fit.posterior.condition
    solver = fit.posterior.solver
    if solver is None:
        return np.asarray(1.0 / fit.values.total_confidence[panel.object_index], dtype=np.float64)
    own = solver.responses()
    if gauge is None:
        return own
    along = solver.responses_along(gauge.value_weight, gauge.bias_weight)
    level = along / gauge.slope[gauge.object_component[panel.object_index]]
    return np.asarray(own - level, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class WithoutAssessor:
    """What would change if an assessor were left out.

    Attributes
    ----------
    assessor
        The assessor.
    largest_change, object
        The largest change of a value beside the mean change, and the object; None where the panel would not do without.
    entering, leaving
        Objects that would enter and leave the top k, where k was given.
    crossing
        Those of the objects assessed by others that would cross the line below place k, and their ranks then.
    lost
        Objects that nobody else assessed.
    note
        Why nothing can be said, where that is so.
    """

    assessor: str
    largest_change: float | None
    object: str | None
    entering: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    crossing: tuple[tuple[str, int], ...] = ()
    lost: tuple[str, ...] = ()
    note: str | None = None


def without_assessors(
    fit: Fit, *, top: int | None = None, chosen: Sequence[int] | None = None
) -> list[WithoutAssessor]:
    """Return for each assessor what would change without them: a refit of what is left, in the order of the panel.

    Parameters
    ----------
    fit
        Any fit.
    top
        A number k of places: also says who would enter and leave the top k.
    chosen
        Positions of the assessors to try; all where not given. Each takes as long as a fit.
    """
    fit.require("without")
    if top is not None and top > fit.panel.n_objects:
        raise InputError(f"There are only {fit.panel.n_objects} objects, not {top} places.", kind="bad_option")
    left_out = range(fit.panel.n_assessors) if chosen is None else chosen
    return [_without(fit, index, top) for index in steps("leaving out each assessor", left_out)]


def fit_without(fit: Fit, index: int) -> Fit | str:
    """Return the fit of what is left without an assessor, or why there is none."""
    panel = fit.panel
    stay = panel.assessor_index != index
    if not stay.any():
        return "there is no other assessor"
    rest = panel.restrict(stay)
    options: Options = {}
    if fit.posterior.condition is not None:
        parts, before = connectivity(rest), fit.connectivity
        alone = int((before.assessor_component == before.assessor_component[index]).sum()) == 1
        if parts.n_components > before.n_components - alone:
            return "the panel would fall apart"
        options = {"gauge": "zero_sum", "per_component": not parts.is_connected}
    try:
        return fit.refit(rest, **options)
    except EvenhandError as error:
        return str(error)


def _without(fit: Fit, index: int, top: int | None) -> WithoutAssessor:
    panel = fit.panel
    label = panel.assessors[index]
    kept = {panel.objects[at] for at in np.unique(panel.object_index[panel.assessor_index != index]).tolist()}
    lost = tuple(name for name in panel.objects if name not in kept)
    other = fit_without(fit, index)
    if isinstance(other, str):
        return WithoutAssessor(label, None, None, lost=lost, note=other)
    rest = other.panel
    before = fit.values.estimate[[i for i, name in enumerate(panel.objects) if name in kept]]
    change = other.values.estimate - before
    if fit.is_calibrated:  # beside the mean change of the group, since the level is a matter of gauge
        is_free = fit.posterior.condition is not None
        groups = other.connectivity.object_component if is_free else np.zeros(rest.n_objects, dtype=np.int64)
        change -= (sum_by(groups, change, int(groups.max()) + 1) / np.bincount(groups))[groups]
    at = int(np.argmax(np.abs(change)))
    entering: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    crossing: tuple[tuple[str, int], ...] = ()
    if top is not None:
        was = {name for name, place in zip(panel.objects, fit.values.rank.tolist(), strict=True) if place <= top}
        now = {name for name, place in zip(rest.objects, other.values.rank.tolist(), strict=True) if place <= top}
        entering, leaving = tuple(sorted(now - was)), tuple(sorted(was - now))
        ranks = zip(rest.objects, other.values.rank.tolist(), strict=True)
        crossing = tuple((name, place) for name, place in ranks if name in was ^ now)
    return WithoutAssessor(label, float(change[at]), rest.objects[at], entering, leaving, crossing, lost)


def without_columns(deletions: Sequence[WithoutAssessor]) -> dict[str, Any]:
    """Return deletions as columns: assessor, largest_change, object, entering, leaving, lost, note."""
    names = ("assessor", "largest_change", "object", "entering", "leaving", "lost", "note")
    columns = {name: [getattr(item, name) for item in deletions] for name in names}
    return {
        name: [list(cell) if isinstance(cell, tuple) else cell for cell in cells] for name, cells in columns.items()
    }
