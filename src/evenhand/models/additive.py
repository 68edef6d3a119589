"""Additive bias, s = v + b + noise: incomplete block analysis (IBA) and calibration with confidence (CWC)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import bad_option, too_extreme
from evenhand.models.average import CWA, SA
from evenhand.models.family import INTERVAL, check_options, make_fit, refuse_criteria
from evenhand.models.fit import Fit, Method, Model, Options
from evenhand.models.noise import NoiseKind, NoisePrior
from evenhand.panel.gauge import Anchor, Condition, Gauge, Reference, condition
from evenhand.panel.panel import Panel
from evenhand.solve import Answering, Solution, SolverKind
from evenhand.solve.connectivity import Connectivity, connectivity


def calibrate(
    panel: Panel | Any,
    *,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
    solver: SolverKind = "auto",
    **assumed: Any,
) -> Fit:
    """Return values and biases by calibration with confidence (CWC).

    Minimises sum c (s - v_o - b_a)^2 over values and biases, c = 1/sigma^2 as declared (eq. 7).

    Parameters
    ----------
    panel
        The panel, or a frame that :meth:`Panel.from_frame` reads as one; without declared confidences this is
        incomplete block analysis.
    gauge
        Where zero bias lies: ``"weighted"``, ``"zero_sum"``, :class:`~evenhand.Reference`,
        :class:`~evenhand.Affine` or :class:`~evenhand.Anchor`. Ranks and differences do not depend on it.
    per_component
        Calibrate each group of a panel that is not connected on its own, instead of refusing.
    noise
        ``"estimated"``: the scale of the noise comes from the residual. ``"declared"``: declared uncertainties
        are taken at face value. Or a :class:`~evenhand.NoisePrior`.
    interval
        Probability of intervals.
    solver
        How the equations are solved: ``"auto"`` by size and shape, or ``"direct"``, ``"sparse"``, ``"iterative"``.
    assumed
        What is assumed beyond value plus bias plus noise, by the names of :class:`~evenhand.Refinements`:
        ``calibrate(panel, shrink=True)`` is ``refine(panel, shrink=True)``.

    Raises
    ------
    NotConnectedError
        If the panel falls into groups whose standards cannot be compared. (Where every object was seen once, the
        values are the scores, and a note says that biases cannot be told from values.)

    Examples
    --------
    >>> panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0])
    >>> calibrate(panel).biases.estimate
    array([-5.5,  5.5])
    """
    if not isinstance(panel, Panel):
        panel = Panel.from_frame(panel)
    if assumed:
        from evenhand.models.refined import Refinements, refine

        chosen = Refinements.named(assumed, "calibrate")
        if chosen.shrink and gauge != "weighted":
            raise bad_option("A gauge has no effect with shrink, which puts zero where biases centre: leave it out.")
        if chosen != Refinements():
            options: Options = {"gauge": gauge, "per_component": per_component, "noise": noise, "interval": interval}
            return refine(panel, chosen, **options | {"solver": solver})
    return fit_additive(panel, CWC, gauge, per_component, noise, interval, solver)


def incomplete_block(
    panel: Panel,
    *,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
    solver: SolverKind = "auto",
) -> Fit:
    """Return values and biases by Fisher's additive incomplete block analysis (IBA), all scores weighing alike.

    Options as in :func:`calibrate`.
    """
    return fit_additive(panel, IBA, gauge, per_component, noise, interval, solver)


IBA: Final = Method("iba", calibrates=True, weighs=False, make=incomplete_block)
CWC: Final = Method("cwc", calibrates=True, weighs=True, make=calibrate)

METHODS: Final = {one.method: one for one in (SA, CWA, IBA, CWC)}
"""The four methods of the paper's table 1, from the simplest to the richest."""


def _all_seen_once(panel: Panel) -> bool:
    """Whether no object was seen twice: then there is nothing to calibrate, and the values are the scores."""
    return panel.n_assessments == panel.n_objects


def fit_additive(
    panel: Panel,
    model: Model,
    gauge: Gauge,
    per_component: bool,
    noise: NoiseKind | NoisePrior,
    interval: float,
    solver: SolverKind = "auto",
    start: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Fit:
    """Return the fit of one of the two methods, from values and biases close to the answer where they are known."""
    if isinstance(gauge, Reference) or (isinstance(gauge, Anchor) and gauge.values):
        panel.refuse_turned("A known value")
    refuse_criteria(panel)
    check_options(panel, model, noise, interval)
    seen = panel if model.uses_confidence else panel.with_equal_confidence()
    parts = connectivity(seen, solver)
    if not per_component and not _all_seen_once(seen):
        parts.require_connected()
    fixed = condition(gauge, seen, parts)
    raw = parts.solver.solve(seen.score, start, declared=noise == "declared")
    return finish_additive(
        panel, parts, model, raw, fixed, gauge=gauge, per_component=per_component, noise=noise, interval=interval
    )


def finish_additive(
    panel: Panel,
    parts: Connectivity,
    model: Model,
    raw: Solution,
    fixed: Condition,
    *,
    gauge: Gauge,
    noise: NoiseKind | NoisePrior,
    interval: float,
    per_component: bool = False,
    solver: Answering | None = None,
) -> Fit:
    """Return the fit that a solution in any gauge makes, moved to the gauge that was asked for."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift = fixed.shift(raw.values, raw.biases)
    if not np.isfinite(shift).all():
        raise too_extreme()
    solution = replace(
        raw,
        values=raw.values + shift[parts.object_component],
        biases=raw.biases - shift[parts.assessor_component],
    )
    fit = make_fit(
        panel,
        parts.panel,
        model,
        solution,
        parts,
        noise=noise,
        interval=interval,
        gauge=gauge,
        condition=fixed,
        solver=parts.solver if solver is None else solver,
    )
    return replace(fit, per_component=per_component)
