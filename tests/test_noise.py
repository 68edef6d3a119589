"""What is known about the noise variance w, against scipy's distributions and numerical integration."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

import evenhand as eh
from evenhand.errors import InputError
from evenhand.models.noise import (
    EstimatedNoise,
    KnownNoise,
    Noise,
    NoisePrior,
    PriorNoise,
    make_noise,
    student_quantile,
)
from panels import random_panel

Floats = NDArray[np.float64]
PROBABILITIES = (0.001, 0.05, 0.3, 0.5, 0.9, 0.95, 0.995)


def jeffreys(w: Floats) -> Floats:
    return -np.log(w)


def gamma_prior(w: Floats) -> Floats:
    """Return the log density of a gamma distribution with shape 3 and scale 1/2, without its constant."""
    return 2 * np.log(w) - 2 * w


def truncated(w: Floats) -> Floats:
    """Return Jeffreys' prior on [1, 900], as in App. E."""
    return np.where((w >= 1) & (w <= 900), -np.log(w), -np.inf)


@pytest.mark.parametrize("nu", [1, 2, 3, 7, 33, 1000])
@pytest.mark.parametrize("residual", [1e-6, 1.0, 5179.0])
def test_estimated_noise_is_student(nu: int, residual: float) -> None:
    noise = EstimatedNoise(residual, nu)
    law = stats.t(nu, scale=math.sqrt(residual / nu))
    for probability in PROBABILITIES:
        assert noise.quantile(probability) == pytest.approx(law.ppf(probability), rel=1e-9, abs=1e-12)
    points = np.array([-3.0, -0.1, 0.0, 0.5, 40.0]) * math.sqrt(residual / nu)
    assert noise.cdf(points) == pytest.approx(law.cdf(points), rel=1e-9)
    if nu > 2:
        assert noise.variance == pytest.approx(law.var(), rel=1e-9)
        assert noise.variance == pytest.approx(residual / (nu - 2), rel=1e-14)
    else:
        assert noise.variance is None


def test_declared_noise_is_a_standard_normal() -> None:
    noise = KnownNoise()
    for probability in PROBABILITIES:
        assert noise.quantile(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-12, abs=1e-15)
    assert noise.cdf([-1.0, 0.0, 2.0]) == pytest.approx(stats.norm.cdf([-1.0, 0.0, 2.0]), rel=1e-13)
    assert noise.variance == 1.0
    assert noise.reason is None
    assert noise.draw_scale(np.random.default_rng(1), 3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("nu", "residual", "word"),
    [
        (0, 0.0, "no degrees of freedom"),
        (-3, 0.0, "no degrees of freedom"),
        (1, 2.0, "1 degree of freedom"),
        (2, 2.0, "2 degrees of freedom"),
        (5, 0.0, "agree perfectly"),
    ],
)
def test_what_is_wanting_has_a_reason(nu: int, residual: float, word: str) -> None:
    reason = EstimatedNoise(residual, nu).reason
    assert reason is not None
    assert word in reason


def test_nothing_is_wanting_with_three_degrees_of_freedom() -> None:
    assert EstimatedNoise(1.0, 3).reason is None


@pytest.mark.parametrize("nu", [0, -1])
def test_without_degrees_of_freedom_nothing_is_known(nu: int) -> None:
    noise = EstimatedNoise(0.0, nu)
    assert noise.variance is None
    assert noise.quantile(0.9) is None
    assert noise.cdf([0.0]) is None
    assert noise.draw_scale(np.random.default_rng(1), 3) is None


def test_perfect_agreement_without_a_grid_tells_nothing() -> None:
    noise = EstimatedNoise(0.0, 4)
    assert noise.variance is None
    assert noise.quantile(0.95) is None
    assert noise.cdf([-1e-9, 0.0, 1e-9]) is None
    assert noise.draw_scale(np.random.default_rng(1), 3) is None


@pytest.mark.parametrize("nu", [1, 2, 3, 4, 5, 10, 33, 300])
@pytest.mark.parametrize("residual", [1e-20, 1e-3, 1.0, 5179.0, 1e20])
def test_jeffreys_prior_given_as_a_prior_is_student(nu: int, residual: float) -> None:
    own, student = PriorNoise(NoisePrior(jeffreys), residual, nu), EstimatedNoise(residual, nu)
    for probability in PROBABILITIES:
        assert own.quantile(probability) == pytest.approx(student.quantile(probability), rel=1e-6, abs=0)
    points = np.array([-3.0, -0.1, 0.0, 0.5, 8.0]) * math.sqrt(residual / nu)
    assert own.cdf(points) == pytest.approx(student.cdf(points), rel=1e-7)
    if nu > 2:
        assert own.variance == pytest.approx(student.variance, rel=1e-6)


@pytest.mark.parametrize("nu", [1, 2])
def test_a_mean_of_w_that_does_not_exist_is_none_under_a_prior_too(nu: int) -> None:
    assert PriorNoise(NoisePrior(jeffreys), 1.0, nu).variance is None


def test_a_posterior_of_w_that_cannot_be_normalised_is_refused_or_has_a_reason() -> None:
    # Jeffreys' prior with no degrees of freedom, or with no residual, leaves all the weight at w = 0 or infinity
    for residual, nu in ((0.0, 0), (0.0, 5)):
        noise: Noise = PriorNoise(NoisePrior(jeffreys), residual, nu)
        try:
            variance, reason = noise.variance, noise.reason
        except InputError:
            continue
        assert variance is None or variance == 0
        assert reason is not None


@pytest.mark.parametrize(
    ("log_density", "low", "high"), [(gamma_prior, 0.0, np.inf), (truncated, 1.0, 900.0)], ids=["gamma", "truncated"]
)
@pytest.mark.parametrize(("residual", "nu"), [(40.0, 12), (3000.0, 33), (5.0, 1), (0.5, 3)])
def test_a_prior_of_ones_own_gives_what_numerical_integration_gives(
    log_density: Callable[[Floats], Floats], low: float, high: float, residual: float, nu: int
) -> None:
    def height(w: float) -> float:
        return float(log_density(np.array([w]))[0]) - nu / 2 * math.log(w) - residual / (2 * w)

    grid = np.exp(np.linspace(-20, 20, 20001))
    grid = grid[(grid >= low) & (grid <= high)]
    top = max(height(float(w)) for w in grid)
    peak = float(grid[np.argmax([height(float(w)) for w in grid])])

    def integral(function: Callable[[float], float]) -> float:
        total = 0.0
        ends = [low, *(x for x in (peak / 3, peak, 3 * peak, 30 * peak) if low < x < high), high]
        for a, b in itertools.pairwise(ends):
            total += integrate.quad(
                lambda w: function(w) * math.exp(height(w) - top) if w > 0 else 0.0,
                a,
                b,
                epsabs=0,
                epsrel=1e-10,
                limit=400,
            )[0]
        return total

    mass = integral(lambda w: 1.0)
    noise = PriorNoise(NoisePrior(log_density), residual, nu)
    # the ends of a prior with an edge are met to about a cell of the grid
    tolerance = 1e-7 if high == np.inf else 2e-3
    assert noise.variance == pytest.approx(integral(lambda w: w) / mass, rel=tolerance)
    for deviation in (-2.0, 0.3, 5.0):
        wanted = integral(lambda w, x=deviation: float(stats.norm.cdf(x / math.sqrt(w)))) / mass  # type: ignore[misc]
        assert noise.cdf(deviation) == pytest.approx(wanted, rel=tolerance)
        assert noise.quantile(float(noise.cdf(deviation))) == pytest.approx(deviation, rel=1e-6)


def test_a_prior_without_data_is_its_own_posterior() -> None:
    noise = PriorNoise(NoisePrior(gamma_prior), 0.0, 0)
    assert noise.variance == pytest.approx(1.5, rel=1e-9)


def test_a_prior_sharply_peaked_at_one_is_declared_noise() -> None:
    noise = PriorNoise(NoisePrior(lambda w: -0.5 * (np.log(w) / 1e-4) ** 2), 30.0, 12)
    assert noise.variance == pytest.approx(1.0, rel=1e-6)
    for probability in PROBABILITIES:
        assert noise.quantile(probability) == pytest.approx(KnownNoise().quantile(probability), rel=1e-5, abs=1e-9)


def test_a_prior_that_allows_nothing_is_refused() -> None:
    noise = PriorNoise(NoisePrior(lambda w: np.full_like(w, -np.inf), "nothing"), 1.0, 5)
    with pytest.raises(InputError, match="prior nothing gives no probability"):
        _ = noise.variance


def test_the_median_under_any_prior_is_zero() -> None:
    assert PriorNoise(NoisePrior(gamma_prior), 3.0, 4).quantile(0.5) == 0.0


@pytest.mark.parametrize("kind", ["estimated", "jeffreys", "gamma"])
def test_draws_of_the_scale_have_the_law_of_w(kind: str) -> None:
    residual, nu, count = 12.0, 9, 20_000
    noise: Noise
    if kind == "estimated":
        noise = EstimatedNoise(residual, nu)
    else:
        noise = PriorNoise(NoisePrior(jeffreys if kind == "jeffreys" else gamma_prior), residual, nu)
    generator = np.random.default_rng(4)
    scale = noise.draw_scale(generator, count)
    assert scale is not None
    assert scale.shape == (count,)
    if kind == "gamma":  # w^(2 - nu/2) exp(-2w - R/2w) is a generalised inverse Gaussian
        p, a, b = 3 - nu / 2, 4.0, residual
        cdf = stats.geninvgauss(p, math.sqrt(a * b), scale=math.sqrt(b / a)).cdf
    else:
        cdf = stats.invgamma(nu / 2, scale=residual / 2).cdf
    assert stats.kstest(scale**2, cdf).pvalue > 1e-3


def test_the_kind_of_noise_is_chosen_by_its_name() -> None:
    assert make_noise("declared", 1.0, 5) == KnownNoise()
    assert make_noise("estimated", 1.0, 5) == EstimatedNoise(1.0, 5)
    prior = NoisePrior(gamma_prior, "gamma")
    assert make_noise(prior, 1.0, 5).kind == "gamma"
    with pytest.raises(InputError, match="not 'other'"):
        make_noise("other", 1.0, 5)  # type: ignore[arg-type]


def test_a_fit_with_jeffreys_prior_of_ones_own_is_the_fit_with_estimated_noise() -> None:
    panel = random_panel(1, 8, 5, 14)
    own, student = eh.calibrate(panel, noise=NoisePrior(jeffreys)), eh.calibrate(panel)
    for first, second in ((own.values, student.values), (own.biases, student.biases)):
        for name in ("sd", "lower", "upper"):
            np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("nu", [1, 2, 3, 4, 33, 500, 5901, 20_000, 20_001])
def test_quantiles_of_students_t_are_those_of_scipy(nu: int) -> None:
    for probability in (1e-5, 0.0011, 0.05, 0.3, 0.5, 0.7, 0.95, 0.9989, 0.99999):
        expected = float(special.stdtrit(nu, probability))
        assert student_quantile(nu, probability) == pytest.approx(expected, rel=1e-10, abs=1e-12)
