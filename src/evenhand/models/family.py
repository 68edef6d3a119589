"""What the four methods of the paper's table 1 share: from a solution to a Fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import dot, frozen
from evenhand.errors import InputError, Problem, too_extreme
from evenhand.models.effects import both_sides
from evenhand.models.fit import Fit, Model
from evenhand.models.noise import NoiseKind, NoisePrior, make_noise, noise_floor, notes_on
from evenhand.models.posterior import Posterior
from evenhand.panel.gauge import Condition, Gauge
from evenhand.panel.panel import Panel
from evenhand.solve import Answering, Solution
from evenhand.solve.connectivity import Connectivity
from evenhand.solve.digits import PERFECT
from evenhand.words import NAMED, count_of, name_some

INTERVAL: Final = 0.9
"""Probability of intervals unless asked otherwise."""

_RANGE: Final = 280.0
"""Powers of ten that confidences, and confidences times squares of scores, may reach where variances are searched."""


def check_options(panel: Panel, model: Model, noise: NoiseKind | NoisePrior, interval: float) -> None:
    """Refuse an interval that is no probability, and declared noise where none was declared."""
    if not 0 < interval < 1:
        raise InputError(f"An interval needs a probability between 0 and 1, not {interval:g}.", kind="bad_option")
    if noise != "declared":
        return
    if not model.uses_confidence:
        raise InputError(
            f"Method {model.method} weighs all scores alike and so cannot take declared uncertainties at face value: "
            "use noise estimated, or method cwc or cwa.",
            kind="bad_option",
        )
    if panel.confidence not in ("uncertainty", "confidence"):
        raise InputError(
            f"The noise cannot be taken as declared: the panel has {panel.describe_confidence()}, and so nothing that "
            "tells its size in points; use noise estimated.",
            kind="bad_option",
        )


def refuse_criteria(panel: Panel) -> None:
    """Refuse a panel of several criteria, whose scores are no repeats of one another, and say what fits it."""
    if len(panel.criteria) > 1:
        raise InputError(
            f"The panel has scores for {len(panel.criteria)} criteria ({name_some(panel.criteria)}), which are not "
            "repeats of one another: use calibrate_criteria(panel), which combines them, or "
            f"panel.of_criterion({panel.criteria[0]!r}) for one of them.",
            kind="several_criteria",
        )


def refuse_extreme(panel: Panel, most_power: float = 1.0) -> None:
    """Refuse scores and confidences whose sums of squares leave the range of numbers, before any search for variances.

    Confidences may be raised to a power of this size, about their geometric mean.
    """
    with np.errstate(all="ignore"):
        spread = np.log10(np.abs(panel.score - np.median(panel.score)).max())
        level = np.log10([panel.precision.min(), panel.precision.max()])
        about = level if panel.is_equally_confident else most_power * (level - np.log10(panel.precision).mean()) + level
    # scores that are all equal have no spread, and nothing to overflow
    if not (np.abs(np.concatenate([level, about, level + 2 * (spread if spread > -np.inf else 0)])) < _RANGE).all():
        raise too_extreme()


def make_fit(
    panel: Panel,
    seen: Panel,
    model: Model,
    solution: Solution,
    parts: Connectivity,
    *,
    noise: NoiseKind | NoisePrior,
    interval: float,
    gauge: Gauge | None = None,
    condition: Condition | None = None,
    solver: Answering | None = None,
) -> Fit:
    """Return the Fit that a solution in its gauge makes of a panel, as given and as the method sees it.

    Calibrating methods have a gauge, its condition, and a solver that answers for the uncertainty.
    """
    residual = _residual_sum(seen, solution) if solution.residual is None else solution.residual
    calibrated = model.is_calibrated
    fitted = seen.n_objects + (seen.n_assessors - parts.n_components if calibrated else 0)
    dof = seen.n_assessments - fitted
    precision = seen.object_confidence
    known = make_noise(noise, residual, dof, noise_floor(panel.step, seen.precision))
    posterior = Posterior(known, precision, seen.n_assessors, solver, condition)
    groups = (parts.object_component, parts.assessor_component) if calibrated else None
    values, biases = both_sides(panel, seen, (solution.values, solution.biases), groups, posterior, interval)
    return Fit(
        panel=panel,
        model=model,
        gauge=gauge,
        values=values,
        biases=biases,
        given_residuals=None if solution.residuals is None else frozen(solution.residuals),
        weight=seen.precision,
        residual=residual,
        degrees_of_freedom=dof,
        connectivity=parts,
        posterior=posterior,
        given_notes=(*panel.notes, *_notes(seen, parts, calibrated=calibrated), *notes_on(known, panel.step)),
    )


def _notes(panel: Panel, parts: Connectivity, *, calibrated: bool) -> list[Problem]:
    notes = []
    if calibrated:
        if panel.n_assessors == 1:
            message = "there is only one assessor, so a bias cannot be told from the values."
            notes.append(Problem("one_assessor", message, f"assessor {panel.assessors[0]}"))
        elif panel.n_assessments == panel.n_objects:
            message = "every object was seen once, so biases cannot be told from values."
            notes.append(Problem("all_seen_once", message))
        else:
            notes += _singles(panel)
        if not parts.is_connected:
            message = (
                f"each of the {parts.n_components} groups was calibrated on its own: values and ranks must not be "
                "compared across groups."
            )
            notes.append(Problem("not_comparable", message))
    return notes


def _singles(panel: Panel) -> list[Problem]:
    """Return notes on assessors of one object, and on objects seen once."""
    notes = []
    lone, count = _some(panel.assessors, panel.assessor_assessments == 1)
    if lone:
        message = (
            f"{count_of(count, 'assessor')} scored one {panel.noun} only, which fixes their own bias and says nothing "
            f"about that {panel.noun}: {name_some(lone, of=count)}."
        )
        notes.append(Problem("single_object_assessor", message, f"assessor {lone[0]}"))
    once, count = _some(panel.objects, panel.object_assessments == 1)
    if once:
        message = (
            f"{count_of(count, panel.noun)} seen once: the value is that one score less its assessor's bias, "
            f"unchecked by a second: {name_some(once, of=count)}."
        )
        notes.append(Problem("single_assessment_object", message, f"object {once[0]}"))
    return notes


def _some(labels: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[list[str], int]:
    """Return the labels of the first few of those chosen, one more than is named, and how many they all are."""
    places = np.flatnonzero(chosen)
    return [labels[place] for place in places[: NAMED + 1].tolist()], places.size


def _residual_sum(panel: Panel, solution: Solution) -> float:
    """Return R, or exactly 0 where no residual is larger than the rounding of the scores."""
    residuals = solution.residuals
    if residuals is None:
        residuals = panel.score - solution.values[panel.object_index] - solution.biases[panel.assessor_index]
    largest = float(np.abs(residuals).max())
    if largest <= PERFECT * float(np.abs(panel.score).max()):
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        residual = float(dot(panel.precision, np.square(residuals / largest))) * largest * largest
    if not np.finfo(np.float64).tiny <= residual < np.inf:
        raise too_extreme()
    return residual
