"""Seeded panels with known truth: the paper's case study 1 (sec. 4.1) and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.panel import Panel


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulated panel beside the truth behind it.

    Attributes
    ----------
    panel
        What the assessors handed in.
    values, biases
        True values (n_O) and true biases (n_A).
    uncertainty
        The standard deviation of the noise in each of the N scores.
    """

    panel: Panel
    values: NDArray[np.float64]
    biases: NDArray[np.float64]
    uncertainty: NDArray[np.float64]


def simulate_panel(
    n_objects: int = 3000,
    n_assessors: int = 15,
    per_object: int = 2,
    *,
    seed: int,
    value_mean: float = 50.0,
    value_sd: float = 15.0,
    bias_sd: float = 15.0,
    uncertainties: Sequence[float] = (5.0, 10.0, 15.0),
    profile: Sequence[float] = (1, 1, 1),
    bounds: tuple[float, float] | None = (0.0, 100.0),
    step: float | None = 1.0,
) -> Simulation:
    """Return a panel drawn as in the paper's case study 1.

    True values and biases are normal, every object is read by ``per_object`` assessors chosen at random, each
    score has one of the given uncertainties, and values and scores are cut off at the bounds and rounded.

    Parameters
    ----------
    n_objects, n_assessors, per_object
        Size of the panel.
    seed
        Seed of the random numbers; the same seed gives the same panel.
    value_mean, value_sd, bias_sd
        The population of true values and of biases.
    uncertainties
        The possible uncertainties of a score, smallest (high confidence) first.
    profile
        Relative frequencies of these.
    bounds
        Ends of the scale, or None for none.
    step
        Scores are rounded to multiples of this, or not at all where None.

    Examples
    --------
    >>> simulate_panel(4, 3, seed=1).panel
    Panel(4 objects, 3 assessors, 8 assessments, declared confidences)
    """
    if not 1 <= per_object <= n_assessors:
        raise InputError(f"{per_object} assessors cannot read each object: there are {n_assessors}.", kind="bad_option")
    if len(profile) != len(uncertainties) or min(profile) < 0 or sum(profile) <= 0 or min(uncertainties) <= 0:
        raise InputError(
            "The profile needs one frequency for each uncertainty, none negative and not all zero, and the "
            "uncertainties must be positive.",
            kind="bad_option",
        )
    generator = np.random.default_rng(seed)
    values = generator.normal(value_mean, value_sd, n_objects)
    if bounds is not None:
        values = np.clip(values, *bounds)
    biases = generator.normal(0.0, bias_sd, n_assessors)
    # the first per_object places of a random order of the assessors, for each object
    chosen = np.argpartition(generator.random((n_objects, n_assessors)), per_object - 1, axis=1)[:, :per_object]
    object_index = np.repeat(np.arange(n_objects), per_object)
    assessor_index = chosen.ravel()
    frequency = np.asarray(profile, dtype=np.float64)
    kind = generator.choice(len(uncertainties), size=object_index.size, p=frequency / frequency.sum())
    uncertainty = np.asarray(uncertainties, dtype=np.float64)[kind]
    score = values[object_index] + biases[assessor_index] + uncertainty * generator.standard_normal(object_index.size)
    if bounds is not None:
        score = np.clip(score, *bounds)
    if step is not None:
        score = np.round(score / step) * step
    used, codes = np.unique(assessor_index, return_inverse=True)
    panel = Panel.from_arrays(object_index, codes, score, 1.0 / np.square(uncertainty))
    return Simulation(panel, values, biases[used], uncertainty)
