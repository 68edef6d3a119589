"""Marks from 1 to 5 with many at the ends, two hundred panels: who is closer to the truth, and what is recommended."""

from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

import evenhand as eh
from evenhand.models.refined import Refinements

pytestmark = pytest.mark.study

Floats = NDArray[np.float64]

PANELS: Final = 200
SCALE: Final = eh.Bounded(1.0, 5.0)
NOISE: Final = 0.4
OPTIONS: Final[dict[str, Any]] = {
    "value_mean": 3.6,
    "value_sd": 2.4,
    "bias_sd": 1.0,
    "uncertainties": (NOISE,),
    "scores": SCALE,
    "bounds": None,
}
PLAIN, BOUNDED, ORDINAL = Refinements(shrink=True), Refinements(scores=SCALE), Refinements(ordinal="probit")


def recorded(place: Floats) -> Floats:
    """Return the marks that an assessor without bias is expected to record."""
    return np.asarray(1.0 + ndtr((place[:, None] - np.array([1.5, 2.5, 3.5, 4.5])) / NOISE).sum(axis=1))


def squared_errors(fit: eh.Fit, place: Floats) -> Floats:
    """Return squared errors of values, the truth being what an assessor without bias thinks or what they record.

    A bounded model tells the first and a model of categories the second. Of every model that one counts which suits it.
    """
    both = [np.square(fit.values.estimate - truth) for truth in (place, recorded(place))]
    return min(both, key=lambda squares: float(squares.mean()))


Errors = dict[str, Floats]


@pytest.fixture(scope="module")
def compared() -> list[tuple[Errors, str | None, float]]:
    """Squared errors by method, what is recommended, and the part of marks at the ends, for each panel."""
    found = []
    for seed in range(PANELS):
        made = eh.simulate_panel(40, 12, 4, seed=seed, **OPTIONS)
        result = eh.compare(made.panel, candidates=[PLAIN, BOUNDED, ORDINAL])
        errors = {row.method: squared_errors(row.fit, made.values) for row in result.methods if row.fit is not None}
        ends = float(np.isin(made.panel.score, (1.0, 5.0)).mean())
        found.append((errors, result.recommendation.method, ends))
    return found


@pytest.mark.parametrize("richer", [BOUNDED, ORDINAL], ids=lambda one: one.method)
def test_both_models_of_the_ends_beat_plain_shrinkage(
    compared: list[tuple[Errors, str | None, float]], richer: Refinements
) -> None:
    assert np.mean([ends for _, _, ends in compared]) > 0.35
    rms = [
        [float(np.sqrt(errors[method].mean())) for method in (PLAIN.method, richer.method)]
        for errors, _, _ in compared
        if richer.method in errors
    ]
    assert len(rms) >= 0.975 * PANELS
    gain = -np.diff(rms, axis=1)
    assert gain.mean() > 3 * gain.std(ddof=1) / np.sqrt(gain.size)


def test_whichever_is_closest_to_the_truth_is_recommended_or_one_that_is_as_good(
    compared: list[tuple[Errors, str | None, float]],
) -> None:
    """As good is a root-mean-square error within 5 % of the best."""
    right = []
    for errors, method, _ in compared:
        best = min(float(errors[one.method].mean()) for one in (PLAIN, BOUNDED, ORDINAL) if one.method in errors)
        right.append(method is not None and float(errors[method].mean()) <= 1.05**2 * best)
    assert np.mean(right) >= 0.9
