"""Seeded panels with known truth: the paper's case study 1 (sec. 4.1) and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import memory
from evenhand.errors import bad_option
from evenhand.frames import Shown
from evenhand.panel.panel import Panel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Simulation(Shown):
    """A simulated panel beside the truth behind it.

    Attributes
    ----------
    panel
        What the assessors handed in.
    values, biases
        True values (n_O) and true biases (n_A).
    uncertainty
        The standard deviation of the noise in each of the N scores, as declared.
    scales, noise_factors
        True scales lambda of the assessors, and factors kappa of their noise variance; ones where there are none.
    """

    panel: Panel
    values: NDArray[np.float64]
    biases: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    scales: NDArray[np.float64]
    noise_factors: NDArray[np.float64]

    def columns(self) -> dict[str, Any]:
        """Return the true values as columns: object, value."""
        return {"object": list(self.panel.objects), "value": self.values}


class ScoreScale(Protocol):
    """A map between points and a scale on which bias is additive, such as :class:`~evenhand.Bounded`."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale in points."""

    def forward(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where points lie on the scale of the model."""

    def back(self, latent: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points at places on the scale of the model."""


def simulate_panel(  # noqa: PLR0913
    n_objects: int = 3000,
    n_assessors: int = 15,
    per_object: int = 2,
    *,
    seed: int | Sequence[int],
    value_mean: float = 50.0,
    value_sd: float = 15.0,
    bias_sd: float = 15.0,
    uncertainties: Sequence[float] = (5.0, 10.0, 15.0),
    profile: Sequence[float] | None = None,
    bounds: tuple[float, float] | None = (0.0, 100.0),
    step: float | None = 1.0,
    value_step: float | None = None,
    scale_sd: float = 0.0,
    factor_sd: float = 0.0,
    power: float = 1.0,
    freedom: float | None = None,
    effects: Mapping[str, float] | None = None,
    scores: ScoreScale | None = None,
    design: Panel | None = None,
) -> Simulation:
    """Return a panel drawn as in the paper's case study 1, or from one of its refinements (App. F).

    True values and biases are normal, every object is read by ``per_object`` assessors chosen at random, each
    score has one of the given uncertainties, and values and scores are cut off at the bounds and rounded.

    Parameters
    ----------
    n_objects, n_assessors, per_object
        Size of the panel.
    seed
        Seed of the random numbers, one whole number or several; the same seed gives the same panel.
    value_mean, value_sd, bias_sd
        The population of true values and of biases.
    uncertainties
        The possible uncertainties of a score, smallest (high confidence) first.
    profile
        Relative frequencies of these; all alike where not given.
    bounds
        Ends of the scale, or None for none.
    step
        Scores are rounded to multiples of this, or not at all where None.
    value_step
        The same for true values.
    scale_sd
        Spread of the logarithms of the assessors' scales, about the mean value.
    factor_sd
        Spread of the logarithms of the assessors' factors of the noise variance.
    power
        How much declared uncertainties mean: true ones are the declared to this power, about their geometric mean.
    freedom
        Degrees of freedom of the noise, Student's; normal where None.
    effects
        Covariates by name, each a standard normal number for every assessment, and their effects in points.
    scores
        A map: values and biases add up on its scale, and noise is in points about what it makes of them; scores
        beyond the ends of its scale are cut off there.
    design
        Who reads what, such as the ``panel`` of a design, instead of a size; with ``uncertainties`` left empty, its
        declared confidences say how sure each score is.

    Examples
    --------
    >>> simulate_panel(4, 3, seed=1).panel
    Panel(4 objects, 3 assessors, 8 assessments, declared confidences)
    """
    profile = (1.0,) * len(uncertainties) if profile is None else profile
    declared = None if design is None or uncertainties else 1 / np.sqrt(design.precision)
    if design is not None:
        n_objects, n_assessors, per_object = design.n_objects, design.n_assessors, 1
    if declared is not None:
        uncertainties, profile = (1.0,), (1.0,)
    if not 1 <= per_object <= n_assessors:
        raise bad_option(f"{per_object} assessors cannot read each object: there are {n_assessors}.")
    given = np.asarray([value_mean, value_sd, bias_sd, *uncertainties, *profile], dtype=np.float64)
    if not np.isfinite(given).all() or min(value_sd, bias_sd) < 0:
        raise bad_option("The numbers of a simulation must be finite, and no standard deviation negative.")
    if len(profile) != len(uncertainties) or min(profile) < 0 or sum(profile) <= 0 or min(uncertainties) <= 0:
        raise bad_option(
            "The profile needs one frequency for each uncertainty, none negative and not all zero, and the "
            "uncertainties must be positive."
        )
    needed = 16 * n_objects * (n_assessors + 4 * per_object)  # a random order of all assessors for each object
    memory.require(needed, f"a simulated panel of {n_objects:,} objects", "simulate fewer objects")
    generator = np.random.default_rng(seed)
    values = generator.normal(value_mean, value_sd, n_objects)
    if bounds is not None and scores is None:
        values = np.clip(values, *bounds)
    if value_step is not None:
        values = np.round(values / value_step) * value_step
    biases = generator.normal(0.0, bias_sd, n_assessors)
    object_index: NDArray[np.integer[Any]]
    assessor_index: NDArray[np.integer[Any]]
    if design is None:
        # the first per_object places of a random order of the assessors, for each object
        chosen = np.argpartition(generator.random((n_objects, n_assessors)), per_object - 1, axis=1)[:, :per_object]
        object_index, assessor_index = np.repeat(np.arange(n_objects), per_object), chosen.ravel()
    else:
        object_index, assessor_index = design.object_index, design.assessor_index
    frequency = np.asarray(profile, dtype=np.float64)
    kind = generator.choice(len(uncertainties), size=object_index.size, p=frequency / frequency.sum())
    uncertainty = np.asarray(uncertainties, dtype=np.float64)[kind] if declared is None else declared
    count = object_index.size
    white = generator.standard_normal(count)
    scales, factors = np.ones(n_assessors), np.ones(n_assessors)
    if scale_sd > 0:
        logs = generator.normal(0.0, scale_sd, n_assessors)
        scales = np.exp(logs - logs.mean())
    if factor_sd > 0:
        factors = np.exp(generator.normal(0.0, factor_sd, n_assessors))
    if freedom is not None:
        white = white / np.sqrt(generator.chisquare(freedom, count) / freedom)
    typical = np.exp(np.log(uncertainty).mean())
    true = typical * (uncertainty / typical) ** power * np.sqrt(factors[assessor_index])
    score = value_mean + scales[assessor_index] * (values[object_index] - value_mean) + biases[assessor_index]
    if scores is None:
        score = score + true * white
    covariates = {}
    for name, effect in (effects or {}).items():
        covariates[name] = generator.standard_normal(count)
        score = score + effect * covariates[name]
    if scores is not None:
        score, values = np.clip(scores.back(score) + true * white, *scores.ends), scores.back(values)
    if bounds is not None:
        score = np.clip(score, *bounds)
    if step is not None:
        score = np.round(score / step) * step
    used, codes = np.unique(assessor_index, return_inverse=True)
    names = {} if design is None else {"objects": design.objects, "assessors": design.assessors}
    panel = Panel.from_arrays(object_index, codes, score, 1.0 / np.square(uncertainty), covariates=covariates, **names)
    return Simulation(panel, values, biases[used], uncertainty, scales[used], factors[used])
