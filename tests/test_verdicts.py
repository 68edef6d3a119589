"""Statistics of single assessors against dense algebra and refits without them, and verdicts on simulated panels."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm

import evenhand as eh
from evenhand import Fit, Panel
from evenhand.answers.verdicts import AssessorFit, _standardised, assess_assessors
from panels import random_panel, refined_of

Floats = NDArray[np.float64]

VALUE, BIAS, NOISE = 9.0, 6.0, 5.0
"""Standard deviations that a dense computation and a fit are both given."""


def assessed(fit: Fit) -> list[AssessorFit]:
    return assess_assessors(fit, refined_of(fit).node.solver)


class Dense:
    """The mixed model s = m + v + b + noise of a panel with given variances, by its covariance matrix."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.objects = np.eye(panel.n_objects)[panel.object_index.astype(int)]
        self.assessors = np.eye(panel.n_assessors)[panel.assessor_index.astype(int)]
        self.noise = np.diag(NOISE**2 / panel.precision)
        self.known = VALUE**2 * self.objects @ self.objects.T + BIAS**2 * self.assessors @ self.assessors.T

    def residuals(self) -> tuple[Floats, Floats]:
        """Return the residuals of the best predictions, and their covariance R P R."""
        weight = np.linalg.inv(self.known + self.noise)
        one = np.ones((weight.shape[0], 1))
        projected = weight - weight @ one @ one.T @ weight / float((one.T @ weight @ one)[0, 0])
        return self.noise @ projected @ self.panel.score, self.noise @ projected @ self.noise

    def without(self, assessor: int) -> tuple[Floats, Floats]:
        """Return what all others expect of an assessor's scores, and the covariance of the errors."""
        own = self.panel.assessor_index == assessor
        total = self.known + self.noise
        weight = np.linalg.inv(total[np.ix_(~own, ~own)])
        one = np.ones(int((~own).sum()))
        mean = weight @ one / float(one @ weight @ one)
        across = total[np.ix_(own, ~own)] @ weight
        # from the scores of all others to what they expect of these
        turn = across + (1 - across @ one)[:, None] * mean
        both = np.hstack([np.eye(int(own.sum())), -turn])
        order = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
        return turn @ self.panel.score[~own], both @ total[np.ix_(order, order)] @ both.T


@pytest.fixture(scope="module")
def found() -> tuple[Panel, Dense, list[AssessorFit], float]:
    """A panel of 12 objects and 4 assessors, its statistics, and the noise variance that they rest on."""
    panel = random_panel(3, 12, 4, 20)
    fit = eh.refine(panel, shrink=True, value_sd=VALUE / NOISE, bias_sd=BIAS / NOISE, noise="declared")
    dense = Dense(panel)
    scaled, covariance = dense.residuals()
    # in the fit the noise has variance 1/c, so that all variances are those of the dense model over NOISE^2
    assert fit.residuals == pytest.approx(scaled, abs=1e-9)
    w = float(panel.precision @ np.square(scaled)) / float(panel.precision @ np.diagonal(covariance) / NOISE**2)
    return panel, dense, assessed(fit), w


def test_mean_squares_are_those_of_the_dense_model(found: tuple[Panel, Dense, list[AssessorFit], float]) -> None:
    panel, dense, assessors, w = found
    residual, covariance = dense.residuals()
    root = np.sqrt(panel.precision)
    scaled, shape = root * residual, root[:, None] * covariance * root / NOISE**2
    left = float(np.trace(shape))
    for at, one in enumerate(assessors):
        own = panel.assessor_index == at
        block = shape[np.ix_(own, own)]
        assert one.scores == own.sum()
        assert one.infit == pytest.approx(float(scaled[own] @ scaled[own]) / (w * np.trace(block)))
        spread = np.diagonal(block)
        assert one.outfit == pytest.approx(float(np.mean(np.square(scaled[own]) / (w * spread))))
        # the variance of a quadratic form of normal numbers, by Isserlis' theorem entry by entry
        inner = sum(2 * block[i, j] ** 2 for i in range(len(block)) for j in range(len(block))) / np.trace(block) ** 2
        q = np.sqrt(inner - 2 / left)
        assert one.infit is not None
        assert one.infit_z == pytest.approx((one.infit ** (1 / 3) - 1) * 3 / q + q / 3)


def test_agreement_slope_and_spread_are_those_of_a_fit_without_the_assessor(
    found: tuple[Panel, Dense, list[AssessorFit], float],
) -> None:
    panel, dense, assessors, w = found
    for at, one in enumerate(assessors):
        own = panel.assessor_index == at
        expected, errors = dense.without(at)
        errors = errors * w / NOISE**2
        score = panel.score[own]
        shared = panel.object_assessments[panel.object_index[own]] > 1
        assert one.agreement == pytest.approx(np.corrcoef(score[shared], expected[shared])[0, 1])
        assert one.agreement is not None
        centre = np.arctanh(one.agreement)
        reach = norm.ppf(0.95) / np.sqrt(shared.sum() - 3)
        assert one.agreement_lower == pytest.approx(np.tanh(centre - reach))
        assert one.agreement_upper == pytest.approx(np.tanh(centre + reach))
        design = np.stack([np.ones(score.size), expected], axis=1)
        weight = np.linalg.inv(errors)
        covariance = np.linalg.inv(design.T @ weight @ design)
        slope = float((covariance @ design.T @ weight @ score)[1])
        assert one.slope == pytest.approx(slope, rel=1e-7)
        assert one.slope_z == pytest.approx((slope - 1) / np.sqrt(covariance[1, 1]), rel=1e-7)
        # the spread of the scores, and its expectation over 200,000 scores drawn as the others expect them
        share = panel.precision[own] / panel.precision[own].sum()
        drawn = expected + np.random.default_rng(at).multivariate_normal(np.zeros(score.size), errors, size=200_000)
        squares = np.square(drawn - (drawn @ share)[:, None]) @ share
        square = float(share @ np.square(score - share @ score))
        assert one.spread == pytest.approx(np.sqrt(square / squares.mean()), rel=0.01)
        q = squares.std() / squares.mean()
        assert one.spread_z == pytest.approx(np.cbrt(square / squares.mean()) * 3 / q - 3 / q + q / 3, abs=0.03)


@pytest.mark.parametrize("freedom", [6, 20, 100])
def test_cube_roots_make_mean_squares_normal(freedom: int) -> None:
    for probability in (0.02, 0.2, 0.5, 0.8, 0.98):
        mean_square = chi2.ppf(probability, freedom) / freedom
        assert _standardised(mean_square, 2 / freedom) == pytest.approx(norm.ppf(probability), abs=0.05)


# ----------------------------------------------------------------------------------------------------------- verdicts


def simulated(seed: int, sizes: tuple[int, int, int], first: Callable[[Floats, Floats], Floats] | None = None) -> Panel:
    """Return a panel of whole points in which the first assessor may score in a way of their own."""
    n_objects, n_assessors, per_object = sizes
    generator = np.random.default_rng(seed)
    value, bias = generator.normal(50, 10, n_objects), generator.normal(0, 8, n_assessors)
    objects = np.repeat(np.arange(n_objects), per_object)
    assessors = np.argsort(generator.random((n_objects, n_assessors)), axis=1)[:, :per_object].ravel()
    noise = generator.normal(0, 6, objects.size)
    score = value[objects] + noise
    if first is not None:
        own = assessors == 0
        score[own] = first(value[objects[own]], noise[own])
    return Panel.from_arrays(objects, assessors, np.round(score + bias[assessors]))


def verdicts(panel: Panel) -> list[str]:
    return [one.verdict for one in assessed(eh.refine(panel, shrink=True))]


@pytest.mark.parametrize("sizes", [(40, 10, 3), (60, 10, 2), (15, 6, 6)])
def test_one_in_twenty_good_assessors_gets_a_bad_verdict(sizes: tuple[int, int, int]) -> None:
    counted = Counter(one for seed in range(50) for one in verdicts(simulated(seed, sizes)))
    bad = sum(counted[name] for name in ("erratic", "bunched", "other ranking"))
    total = counted.total()
    assert bad / total < 0.05 + 2 * np.sqrt(0.05 * 0.95 / total)
    assert bad / total > 0.01  # and the rules are not so wide that nobody is ever found
    assert counted["consistent"] / total > 0.7


def erratic(value: Floats, noise: Floats) -> Floats:
    return value + 2.5 * noise


def bunched(value: Floats, noise: Floats) -> Floats:
    return 50 + 0.3 * (value - 50) + 0.6 * noise


def reversed_(value: Floats, noise: Floats) -> Floats:
    return 100 - value + noise


@pytest.mark.parametrize(
    ("first", "verdict", "power"),
    [(erratic, "erratic", 0.8), (bunched, "bunched", 0.85), (reversed_, "other ranking", 0.9)],
)
def test_planted_assessors_are_found(first: Callable[[Floats, Floats], Floats], verdict: str, power: float) -> None:
    found = [verdicts(simulated(seed, (40, 10, 3), first)) for seed in range(40)]
    assert np.mean([one[0] == verdict for one in found]) >= power
    others = Counter(verdict for one in found for verdict in one[1:])
    assert (others["erratic"] + others["bunched"] + others["other ranking"]) / others.total() < 0.1


def test_few_scores_tell_nothing() -> None:
    panel = simulated(1, (4, 3, 3)).restrict(np.arange(12) < 9)
    assert set(verdicts(panel)) == {"too few scores to tell"}
    fit = eh.refine(panel, shrink=True)
    assert all(one.agreement is None for one in assessed(fit))
