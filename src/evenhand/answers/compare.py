"""The methods side by side: residuals, uncertainties, evidence, held-out error, agreement, and a recommendation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.answers.advice import Advice, Recommendation, advise, applicable
from evenhand.answers.evidence import Evidence, Priors, default_priors, evidence
from evenhand.answers.heldout import HeldOut, cell_of, held_out
from evenhand.compiled import one_thread
from evenhand.errors import LimitError, NotConnectedError, Problem, SolveError
from evenhand.models.additive import METHODS
from evenhand.models.average import SA
from evenhand.models.fit import Fit
from evenhand.models.refined import Refinements, refine
from evenhand.models.standardised import Standardised
from evenhand.panel.gauge import Gauge
from evenhand.panel.panel import Panel
from evenhand.progress import steps


@dataclass(frozen=True, slots=True, eq=False)
class MethodRow:
    """What one method makes of the panel; None where it cannot be had, with the reason in the notes.

    Attributes
    ----------
    method, fit
        The method and its fit.
    residual, residual_scaled
        R, and R divided by the mean precision.
    rms_uncertainty
        Confidence-weighted root-mean-square uncertainty of values and biases (eq. D.1); of values for averages.
    rms_uncertainty_values
        The same over values alone, which is like for like between averages and calibration.
    rms_uncertainty_printed
        For SA, what the paper prints (eq. D.2): not comparable with the others.
    log_evidence
        Log-evidence.
    loo_rmse
        Root-mean-square error on held-out scores, in points.
    loo_behind, loo_behind_error
        By how much the mean log probability of held-out scores falls behind that of the best method, and the standard
        error of that; 0 for the best itself. Both come from the same predictions as the error.
    """

    method: str
    fit: Fit | None
    residual: float | None
    residual_scaled: float | None
    rms_uncertainty: float | None
    rms_uncertainty_values: float | None
    rms_uncertainty_printed: float | None
    log_evidence: float | None
    loo_rmse: float | None
    loo_behind: float | None
    loo_behind_error: float | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(frames.Shown):
    """The methods side by side.

    Attributes
    ----------
    methods
        A row for each method.
    r2
        Squared correlation between the values of two methods, for each pair of methods.
    rank_changes
        For each pair, the largest change of an object's rank, and the object.
    recommendation
        One method, with the reason.
    priors
        The priors of the log-evidences.
    notes
        What could not be computed, and why.
    """

    panel: Panel
    methods: tuple[MethodRow, ...]
    r2: dict[tuple[str, str], float | None]
    rank_changes: dict[tuple[str, str], tuple[int, str]]
    recommendation: Recommendation
    priors: Priors
    notes: tuple[Problem, ...]

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as columns."""
        names = (
            *("method", "residual", "residual_scaled", "rms_uncertainty", "rms_uncertainty_values"),
            *("log_evidence", "loo_rmse", "loo_behind", "loo_behind_error"),
        )
        return {name: [getattr(row, name) for row in self.methods] for name in names}

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    def __str__(self) -> str:
        width = max(7, *(len(row.method) for row in self.methods))
        lines = [
            f"{'method':<{width}}   residual     scaled  rms uncertainty  log-evidence  held-out error  behind best"
        ]
        for row in self.methods:
            cells = (
                *(row.residual, row.residual_scaled, row.rms_uncertainty, row.log_evidence),
                *(row.loo_rmse, row.loo_behind),
            )
            widths = (11, 10, 16, 13, 15, 12)
            shown = (
                f"{'-' if cell is None else f'{cell:.2f}':>{width}}" for cell, width in zip(cells, widths, strict=True)
            )
            lines.append(f"{row.method:<{width}}{' '.join(shown)}")
        lines.append(f"recommended: {self.recommendation}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the methods as a table and the recommendation below it, for notebooks."""
        headings = {
            "method": "method",
            "residual": "residual",
            "residual_scaled": "scaled",
            "rms_uncertainty": "rms uncertainty",
            "log_evidence": "log-evidence",
            "loo_rmse": "held-out error",
            "loo_behind": "behind best",
        }
        cells = self.columns()
        table = {heading: cells[name] for name, heading in headings.items()}
        shown = frames.html_table(f"Methods for {self.panel!r}", table, of="method")
        advice = f"Recommended: {self.recommendation}"
        return shown + frames.html_lines([advice, *self.remarks()])


def compare(
    panel: Panel,
    *,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    priors: Priors | None = None,
    candidates: Sequence[Refinements] | None = None,
) -> Comparison:
    """Return the methods side by side, with one recommendation.

    The paper's four methods, z-scores of each judge, and refinements of the four: by default those worth trying on such
    a panel. Every method says how probable it makes each score that could have been recorded, and is compared by that.
    Recommended is the simplest that predicts held-out scores about as well as the best, as far as the ranking depends
    on it: averages before calibration, calibration before its refinements. Z-scores stand beside them and are never
    recommended, since they cannot say how sure they are.

    Parameters
    ----------
    panel
        The panel. Where no confidence was declared CWA repeats SA, and CWC repeats IBA.
    gauge
        Where zero bias lies, for the values shown.
    per_component
        Calibrate each group of a panel that is not connected on its own.
    priors
        Priors of the log-evidence.
    candidates
        Refinements to try beside the four methods; an empty list for none.

    Examples
    --------
    >>> from evenhand import simulate_panel
    >>> compare(simulate_panel(40, 8, 4, seed=1).panel, candidates=[]).recommendation.method
    'cwc'
    """
    priors = default_priors(panel) if priors is None else priors
    chosen = applicable(panel) if candidates is None else candidates
    with one_thread(min(panel.n_objects, panel.n_assessors)):
        return _compared(panel, gauge, per_component, priors, chosen)


def _compared(
    panel: Panel, gauge: Gauge, per_component: bool, priors: Priors, chosen: Sequence[Refinements]
) -> Comparison:
    """Return the methods side by side, for given priors and refinements."""
    notes: list[Problem] = []
    fits: dict[str, Fit | None] = {}
    for method, fit_by in steps("comparing methods", _ways(panel, chosen, gauge, per_component).items()):
        try:
            fits[method] = fit_by()
        except (NotConnectedError, SolveError, LimitError) as error:
            fits[method] = None
            notes.append(Problem("method_refused", f"{method}: {error}"))
    if panel.confidence == "none":
        notes.append(
            Problem("no_confidence", "no confidence was declared, so that cwa repeats sa and cwc repeats iba.")
        )
    known = {method: fit for method, fit in fits.items() if fit is not None}
    cell = cell_of(panel, [fit.model for fit in known.values()])
    predicted = {method: held_out(fit, cell) for method, fit in steps("predicting held-out scores", known.items())}
    offered = [one.is_predicted for method, one in predicted.items() if known[method].model.is_offered]
    predictable = np.logical_and.reduce(offered)
    lost = int(predictable.size - predictable.sum())
    if lost:
        what = "1 assessment is a bridge" if lost == 1 else f"{lost:,} assessments are bridges"
        notes.append(
            Problem("loo_bridges", f"{what}, which plain methods cannot predict from the others: left out of loo_rmse.")
        )
    notes += [
        Problem(
            "loo_unpredicted",
            f"{method} cannot predict some of the scores that the others are compared by: no held-out error.",
        )
        for method, one in predicted.items()
        if not one.is_predicted[predictable].all()
    ]
    advice = advise(fits, predicted, predictable)
    rows = []
    for method, fit in steps("weighing the evidence", fits.items()):
        found: Evidence | None = None if fit is None else evidence(fit, priors)
        if found is not None:
            notes += found.notes
        rows.append(_row(method, fit, found, predicted.get(method), predictable, advice))
    pairs = {
        (first, second): (one, two)
        for (first, one), (second, two) in combinations(fits.items(), 2)
        if one is not None and two is not None
    }
    return Comparison(
        panel=panel,
        methods=tuple(rows),
        r2={key: r_squared(one.values.estimate, two.values.estimate) for key, (one, two) in pairs.items()},
        rank_changes={key: _largest_rank_change(one, two) for key, (one, two) in pairs.items()},
        recommendation=advice.recommendation,
        priors=priors,
        notes=tuple(dict.fromkeys([*notes, *_group_notes(fits)])),
    )


def _ways(
    panel: Panel, candidates: Sequence[Refinements], gauge: Gauge, per_component: bool
) -> dict[str, Callable[[], Fit]]:
    """Return by name how each method is fitted, from the simplest to the richest."""
    ways: dict[str, Callable[[], Fit]] = {}
    for name, method in METHODS.items():
        ways[name] = partial(method, panel, gauge=gauge, per_component=per_component)
    z = Standardised()
    ways[z.method] = partial(z.refit, panel)
    for one in candidates:
        ways[one.method] = partial(refine, panel, one, gauge=gauge, per_component=per_component)
    return ways


def _row(
    method: str,
    fit: Fit | None,
    found: Evidence | None,
    predicted: HeldOut | None,
    predictable: NDArray[np.bool_],
    advice: Advice,
) -> MethodRow:
    if fit is None or predicted is None:
        return MethodRow(method, None, *[None] * 9)
    errors = predicted.error[predictable]
    return MethodRow(
        method,
        fit,
        fit.residual,
        fit.residual_scaled,
        fit.rms_uncertainty,
        fit.rms_uncertainty_values,
        _printed_uncertainty(fit),
        None if found is None else found.log_evidence,
        float(np.sqrt(np.square(errors).mean())) if errors.size and np.isfinite(errors).all() else None,
        *advice.behind.get(method, (None, None)),
    )


def _group_notes(fits: dict[str, Fit | None]) -> list[Problem]:
    """Return a note where values of different groups stand side by side."""
    if any(fit is not None and int(fit.values.component.max()) > 0 for fit in fits.values()):
        message = "the groups are not comparable: R^2 between methods mixes them, and rank changes are within groups."
        return [Problem("not_comparable", message)]
    return []


def r_squared(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return the squared correlation, or None where one of the two does not vary."""
    first, second = first - first.mean(), second - second.mean()
    scale = float(first @ first) * float(second @ second)
    return float(first @ second) ** 2 / scale if scale > 0 else None


def _printed_uncertainty(fit: Fit | None) -> float | None:
    """Return sqrt(R/(N - n_O)), which the paper prints for SA and which is not comparable with the others (eq. D.2)."""
    if fit is None or fit.model != SA or fit.degrees_of_freedom <= 0:
        return None
    return float(np.sqrt(fit.residual / fit.degrees_of_freedom))


def _largest_rank_change(first: Fit, second: Fit) -> tuple[int, str]:
    """Return the largest change of rank; where one fit has groups, ranks are those within its groups for both."""
    groups = max(first.values.component, second.values.component, key=lambda component: int(component.max()))
    change = np.abs(first.values.ranks_within(groups) - second.values.ranks_within(groups))
    at = int(np.argmax(change))
    return int(change[at]), str(first.values.labels[at])
