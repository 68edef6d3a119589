"""Intervals of refined models hold the truth as often as they say, on panels from their own model.

Values of one panel err together, so that the check goes by how much coverage varies between panels. Panels are large
and biases moderate to keep that small: a true coverage of 0.85 would be at least three standard errors off.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import evenhand as eh
from evenhand.models.bounded import Bounded, Logarithm
from evenhand.models.effects import Table
from evenhand.models.fit import Fit
from evenhand.models.refined import Refinements, refine
from evenhand.models.robust import Huber
from panels import refined_of

pytestmark = pytest.mark.study

LEVEL, SHARPEST, OFF = 0.90, 0.05, 0.02
"""Probability of the intervals, what the check must be able to see, and how far off they may be."""

SIZE = {"n_objects": 120, "n_assessors": 12, "per_object": 4}
BASE: dict[str, Any] = {**SIZE, "bounds": None, "step": None, "bias_sd": 4.0, "uncertainties": (4.0, 8.0, 14.0)}
LOGIT, RATIONAL = Bounded(0.0, 100.0, "logit"), Bounded(0.0, 100.0, "rational")
EXACT = 1e-6
"""An uncertainty next to nothing."""

CASES: dict[str, tuple[int, dict[str, Any], Refinements]] = {
    "shrunk": (24, {}, Refinements(shrink=True)),
    "shrunk, thin": (40, {"n_objects": 60, "per_object": 2}, Refinements(shrink=True)),
    "scaled": (14, {"scale_sd": 0.35}, Refinements(shrink=True, scale=True)),
    "confidences": (14, {"factor_sd": 1.0}, Refinements(shrink=True, calibrate_confidence=True)),
    "power": (24, {"power": 0.0}, Refinements(shrink=True, power="estimated")),
    "student": (14, {"freedom": 4.0}, Refinements(shrink=True, tails="student")),
    "student, free": (12, {"freedom": 2.0}, Refinements(shrink=True, tails="student", freedom=None)),
    "huber": (12, {"uncertainties": (EXACT,)}, Refinements(shrink=True, tails="huber")),
    "rounded": (20, {"step": 10.0, "uncertainties": (2.0,), "bias_sd": 1.0}, Refinements(shrink=True, step=10.0)),
    "covariates": (20, {"effects": {"order": 6.0}}, Refinements(shrink=True, covariates=("order",))),
    "logit": (24, {"scores": LOGIT, "value_sd": 35.0}, Refinements(shrink=True, scores=LOGIT)),
    "rational": (24, {"scores": RATIONAL, "value_sd": 35.0}, Refinements(shrink=True, scores=RATIONAL)),
    "log": (
        24,
        {"scores": Logarithm(50.0), "value_sd": 20.0, "bias_sd": 1.0, "uncertainties": (1.0, 2.0, 4.0)},
        Refinements(shrink=True, scores=Logarithm()),
    ),
}


def draw(options: dict[str, Any], seed: int) -> eh.Simulation:
    """Return a panel; next to no noise stands for Huber's, which is added."""
    drawn = eh.simulate_panel(**{**BASE, **options}, seed=seed)
    return with_huber_noise(drawn, 6.0, seed) if options.get("uncertainties") == (EXACT,) else drawn


def with_huber_noise(drawn: eh.Simulation, sd: float, seed: int) -> eh.Simulation:
    """Return a panel with noise that is normal in the middle and exponential beyond the bend."""
    generator, bend = np.random.default_rng([seed, 1]), Huber().bend
    count = drawn.panel.n_assessments
    middle, beyond = np.sqrt(2 * np.pi) * (2 * ndtr(bend) - 1), 2 / bend * np.exp(-(bend**2) / 2)
    inside = ndtri(generator.uniform(ndtr(-bend), ndtr(bend), count))
    outside = generator.choice([-1.0, 1.0], count) * (bend + generator.exponential(1 / bend, count))
    noise = sd * np.where(generator.random(count) < middle / (middle + beyond), inside, outside)
    score, precision = drawn.panel.score + noise, np.full(count, sd**-2)
    return replace(drawn, panel=replace(drawn.panel, score=score, precision=precision))


def covered(ends: Fit | Table, truth: NDArray[np.float64]) -> float:
    """Return which part of the truth lies in its intervals."""
    table = ends.values if isinstance(ends, Fit) else ends
    assert table.lower is not None
    assert table.upper is not None
    return float(((table.lower <= truth) & (truth <= table.upper)).mean())


def check(coverage: Sequence[float]) -> None:
    """Fail where the mean coverage of panels is more than three standard errors or 2 % off, or cannot be told."""
    found, error = float(np.mean(coverage)), float(np.std(coverage, ddof=1) / np.sqrt(len(coverage)))
    assert 3 * error < SHARPEST, f"a standard error of {error:.3f} is too large: more panels are needed"
    assert abs(found - LEVEL) <= min(3 * error, OFF), f"coverage {found:.3f}, standard error {error:.3f}"


def check_independent(inside: Sequence[float], count: int) -> None:
    """Fail where the part inside is more than three binomial standard errors off."""
    found, error = float(np.mean(inside)), np.sqrt(LEVEL * (1 - LEVEL) / count)
    assert abs(found - LEVEL) <= 3 * error, f"coverage {found:.3f} of {count}, standard error {error:.3f}"


@pytest.mark.parametrize("kind", CASES)
def test_intervals_of_values_hold_nine_true_values_in_ten(kind: str) -> None:
    runs, options, assumed = CASES[kind]
    coverage = []
    for seed in range(runs):
        # no two kinds share the truth, or they would err together
        drawn = draw(options, 1_000 * crc32(kind.encode()) + seed)
        coverage.append(covered(refine(drawn.panel, assumed, interval=LEVEL), drawn.values))
    check(coverage)


def test_intervals_of_coefficients_hold_nine_true_effects_in_ten() -> None:
    effects = {"order": 6.0, "length": 0.0, "hour": -3.0, "day": 1.0}
    inside = []
    for seed in range(40):
        drawn = draw({"effects": effects, "n_objects": 30}, seed)
        table = refined_of(refine(drawn.panel, shrink=True, covariates=tuple(effects), interval=LEVEL)).covariates
        inside.append(covered(table, np.array([effects[name] for name in table.labels])))
    check_independent(inside, 40 * len(effects))


def test_intervals_of_scales_hold_nine_true_scales_in_ten() -> None:
    inside = []
    for seed in range(12):
        drawn = draw({"scale_sd": 0.35}, 100 + seed)
        inside.append(
            covered(refined_of(refine(drawn.panel, shrink=True, scale=True, interval=LEVEL)).scales, drawn.scales)
        )
    check_independent(inside, 12 * SIZE["n_assessors"])


def test_intervals_of_noise_factors_hold_nine_true_factors_in_ten() -> None:
    inside = []
    for seed in range(12):
        drawn = draw({"factor_sd": 1.0}, 500 + seed)
        refined = refined_of(refine(drawn.panel, shrink=True, calibrate_confidence=True, interval=LEVEL))
        # factors are relative to the noise variance of the fit
        inside.append(covered(refined.noise_factors, drawn.noise_factors / refined.node.w))
    check_independent(inside, 12 * SIZE["n_assessors"])


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_intervals_of_the_power_hold_the_true_power_nine_times_in_ten(power: float) -> None:
    inside = []
    for seed in range(60):
        drawn = draw({"power": power, "n_objects": 40}, seed)
        table = refined_of(refine(drawn.panel, shrink=True, power="estimated", interval=LEVEL)).variances
        row = list(table.labels).index("power")
        inside.append(float(table.lower[row] <= power <= table.upper[row]))
    check_independent(inside, 60)
