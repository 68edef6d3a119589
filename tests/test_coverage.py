"""Simulation-based calibration: over many panels the truth takes every place among posterior draws equally often.

With the flat prior on values and biases (and 1/w on an unknown noise variance) the posterior of a value is that of a
pivot, so that this holds for any truth, not only on average over truths drawn from a prior.
"""

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.models.additive import METHODS
from evenhand.models.noise import NoiseKind
from evenhand.panel.gauge import Gauge, condition
from evenhand.panel.panel import Panel

PANELS, DRAWS, BINS = 1500, 99, 20
CASES = [
    ("cwc", "estimated", "weighted"),
    ("cwc", "estimated", "zero_sum"),
    ("cwc", "declared", "weighted"),
    ("cwc", "declared", eh.Reference(50.0)),
    ("iba", "estimated", "zero_sum"),
    ("sa", "estimated", "weighted"),
    ("cwa", "estimated", "weighted"),
    ("cwa", "declared", "weighted"),
]


def draw_panel(generator: np.random.Generator, method: str) -> tuple[Panel, np.ndarray, np.ndarray]:
    """Return a connected panel from the method's own model, with its true values and biases."""
    n_objects, n_assessors = 9, 5
    while True:
        pairs = [(o, a) for o in range(n_objects) for a in generator.choice(n_assessors, 3, replace=False).tolist()]
        if len({a for _, a in pairs}) < n_assessors:
            continue
        panel = Panel.from_arrays([o for o, _ in pairs], [a for _, a in pairs], np.zeros(len(pairs)))
        if eh.connectivity(panel).is_connected:
            break
    sigma = np.full(len(pairs), 4.0) if method in ("sa", "iba") else generator.choice([2.0, 4.0, 9.0], len(pairs))
    values = generator.normal(50.0, 12.0, n_objects)
    biases = generator.normal(0.0, 8.0, n_assessors) if method in ("iba", "cwc") else np.zeros(n_assessors)
    score = values[panel.object_index] + biases[panel.assessor_index] + sigma * generator.standard_normal(len(pairs))
    full = Panel.from_arrays(panel.object_index, panel.assessor_index, score, sigma**-2.0)
    return full, values, biases


@pytest.mark.slow
@pytest.mark.parametrize(("method", "noise", "gauge"), CASES, ids=str)
def test_ranks_among_draws_are_uniform_and_intervals_cover(method: str, noise: NoiseKind, gauge: Gauge) -> None:
    generator = np.random.default_rng(20260101)
    ranks, covered = [], []
    for _ in range(PANELS):
        panel, values, biases = draw_panel(generator, method)
        fit = METHODS[method](panel, gauge=gauge, noise=noise, interval=0.95)
        if fit.is_calibrated:
            # the truth in the same gauge as the answer
            values = values + condition(gauge, fit.connectivity.panel, fit.connectivity).shift(values, biases)[0]
        drawn = fit.posterior.draw(DRAWS, generator)
        assert drawn is not None
        chosen = int(generator.integers(panel.n_objects))
        place = fit.values.estimate[chosen] + drawn[0][:, chosen]
        ranks.append(int((place < values[chosen]).sum()))
        assert fit.values.lower is not None
        assert fit.values.upper is not None
        covered.append(((fit.values.lower <= values) & (values <= fit.values.upper)).mean())
    counts = np.bincount(np.array(ranks) * BINS // (DRAWS + 1), minlength=BINS)
    assert stats.chisquare(counts).pvalue > 0.01
    assert 0.935 <= np.mean(covered) <= 0.965


@pytest.mark.slow
def test_probabilities_of_the_top_places_are_right_on_average() -> None:
    generator = np.random.default_rng(20260102)
    claimed, came_true = [], []
    for seed in range(PANELS):
        panel, values, _ = draw_panel(generator, "cwc")
        p_top = eh.rank(eh.calibrate(panel), top=3, draws=400, seed=seed).p_top
        assert p_top is not None
        # true values spread widely beside the noise, so that the flat prior is nearly theirs
        claimed.append(p_top)
        came_true.append(np.argsort(np.argsort(-values)) < 3)
    claim, truth = np.concatenate(claimed), np.concatenate(came_true)
    for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 0.7), (0.7, 0.9), (0.9, 1.01)):
        chosen = (claim >= low) & (claim < high)
        error = float(claim[chosen].mean() - truth[chosen].mean())
        assert abs(error) < 0.05, f"claimed between {low} and {high}: off by {error:.3f}"
