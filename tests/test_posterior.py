"""Uncertainties against dense pseudo-inverses, in every gauge, and against refits and draws."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import evenhand as eh
from evenhand.errors import EvenhandError, LimitError
from evenhand.models.fit import Fit
from evenhand.panel.gauge import Anchor
from evenhand.panel.panel import Panel
from panels import connected_panels, dense_covariance, gauges_for, panel_of, random_panel

SIZES = [(8, 5), (5, 8), (7, 7), (1, 5), (5, 1), (20, 6)]


def relative(
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]], wanted: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("equal", [True, False], ids=["iba", "cwc"])
def test_the_covariance_is_that_of_the_dense_pseudo_inverse_in_every_gauge(size: tuple[int, int], equal: bool) -> None:
    for seed in range(3):
        panel = random_panel(seed, *size, extra=12)
        weight = np.ones(panel.n_assessments) if equal else panel.precision
        model = eh.incomplete_block if equal else eh.calibrate
        for gauge in gauges_for(panel):
            wanted = dense_covariance(panel, gauge, weight)
            posterior = model(panel, gauge=gauge).posterior
            assert relative(posterior.unit_covariance(), wanted) <= 1e-10
            variances = np.concatenate([posterior.unit_value_variance, posterior.unit_bias_variance])
            assert np.abs(variances - np.diagonal(wanted)).max() <= 1e-10 * np.diagonal(wanted).max()


@given(connected_panels(repeats=True), st.integers(0, 7))
def test_the_covariance_of_any_small_panel_is_the_dense_one(panel: Panel, kind: int) -> None:
    gauge = gauges_for(panel)[kind]
    wanted = dense_covariance(panel, gauge)
    posterior = eh.calibrate(panel, gauge=gauge).posterior
    assert relative(posterior.unit_covariance(), wanted) <= 1e-10
    variances = np.concatenate([posterior.unit_value_variance, posterior.unit_bias_variance])
    assert np.abs(variances - np.diagonal(wanted)).max() <= 1e-10 * np.diagonal(wanted).max()


@given(connected_panels(repeats=True), st.integers(0, 7), st.integers(0, 2**31))
def test_contrasts_are_quadratic_forms_of_the_covariance(panel: Panel, kind: int, seed: int) -> None:
    gauge = gauges_for(panel)[kind]
    posterior = eh.calibrate(panel, gauge=gauge).posterior
    generator = np.random.default_rng(seed)
    of_values, of_biases = generator.standard_normal(panel.n_objects), generator.standard_normal(panel.n_assessors)
    dense = dense_covariance(panel, gauge)
    both = np.concatenate([of_values, of_biases])
    tolerance = 1e-9 * np.abs(dense).max() * float(np.abs(both).sum()) ** 2
    assert posterior.contrast_variances(of_values, of_biases) == pytest.approx(both @ dense @ both, abs=tolerance)
    only = np.concatenate([of_values, np.zeros(panel.n_assessors)])
    assert posterior.contrast_variances(of_values) == pytest.approx(only @ dense @ only, abs=tolerance)


@given(connected_panels(repeats=True, least_objects=2), st.data())
def test_variances_of_differences_between_values_are_the_same_in_every_gauge(panel: Panel, data: st.DataObject) -> None:
    index = st.integers(0, panel.n_objects - 1)
    first = data.draw(st.lists(index, min_size=1, max_size=5))
    second = data.draw(st.lists(index, min_size=len(first), max_size=len(first)))
    for gauge in gauges_for(panel):
        dense = dense_covariance(panel, gauge)
        wanted = dense[first, first] + dense[second, second] - 2 * dense[first, second]
        found = eh.calibrate(panel, gauge=gauge).posterior.of_differences(first, second).spread[0] ** 2
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(dense).max())
        assert (found[np.array(first) == np.array(second)] == 0).all()


def test_an_anchor_has_no_uncertainty_of_its_own() -> None:
    for seed in range(10):
        panel = random_panel(seed, 8, 5, 12)
        fit = eh.calibrate(panel, gauge=Anchor(assessor="3"))
        assert fit.biases.sd is not None
        assert fit.biases.sd[3] <= 1e-6 * fit.biases.sd.max()
        fit = eh.calibrate(panel, gauge=Anchor(values={"2": 60.0}))
        assert fit.values.sd is not None
        assert fit.values.sd[2] <= 1e-6 * fit.values.sd.max()


def test_the_reference_gauge_has_the_least_weighted_total_variance() -> None:
    panel = random_panel(4, 8, 5, 12)
    weight = np.concatenate([panel.object_confidence, panel.assessor_confidence])
    totals = [
        weight @ np.diagonal(eh.calibrate(panel, gauge=gauge).posterior.unit_covariance())
        for gauge in gauges_for(panel)
    ]
    reference = totals.pop(2)
    assert reference < min(totals)


def test_the_covariance_of_groups_is_that_of_each_group_with_nothing_between_them() -> None:
    one, other = random_panel(1, 4, 3, 4), random_panel(2, 5, 4, 5)
    both = Panel.from_arrays(
        np.concatenate([one.object_index, other.object_index + 4]),
        np.concatenate([one.assessor_index, other.assessor_index + 3]),
        np.concatenate([one.score, other.score]),
        np.concatenate([one.precision, other.precision]),
    )
    posterior = eh.calibrate(both, per_component=True, gauge="zero_sum").posterior
    found = posterior.unit_covariance()
    wanted = np.zeros((16, 16))
    for panel, at in ((one, [0, 1, 2, 3, 9, 10, 11]), (other, [4, 5, 6, 7, 8, 12, 13, 14, 15])):
        wanted[np.ix_(at, at)] = dense_covariance(panel, "zero_sum")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)
    variances = np.concatenate([posterior.unit_value_variance, posterior.unit_bias_variance])
    np.testing.assert_allclose(variances, np.diagonal(wanted), rtol=1e-10)
    weights = np.array([1.0, -1.0, 0, 0, 2.0, -2.0, 0, 0, 0])
    contrast = np.concatenate([weights, np.zeros(7)])
    assert posterior.contrast_variances(weights) == pytest.approx(contrast @ wanted @ contrast, rel=1e-10)


def test_a_difference_across_groups_is_refused_or_has_the_variance_of_its_contrast() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)], [1.0, 2, 4, 3, 7, 9, 4, 4])
    posterior = eh.calibrate(panel, per_component=True).posterior
    try:
        found = posterior.of_differences([0], [2]).spread[0] ** 2
    except EvenhandError:
        return
    assert found[0] == pytest.approx(posterior.contrast_variances(np.array([1.0, 0.0, -1.0, 0.0])), rel=1e-12)


def refit_variance(panel: Panel, gauge: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the covariance of the estimator itself: its response to each score, squared, with variances 1/c."""
    zero = Panel.from_arrays(panel.object_index, panel.assessor_index, np.zeros(panel.n_assessments), panel.precision)
    rows = []
    for at in range(panel.n_assessments):
        score = np.zeros(panel.n_assessments)
        score[at] = 1.0
        moved = Panel.from_arrays(zero.object_index, zero.assessor_index, score, zero.precision)
        fit = eh.calibrate(moved, gauge=gauge)  # type: ignore[arg-type]
        rows.append(np.concatenate([fit.values.estimate, fit.biases.estimate]))
    response = np.array(rows)
    return np.asarray(response.T @ (response / panel.precision[:, None]))


@pytest.mark.parametrize("gauge", ["weighted", "zero_sum"])
def test_the_covariance_is_what_independent_noise_in_the_scores_does_to_refits(gauge: str) -> None:
    panel = random_panel(6, 6, 4, 8)
    fit = eh.calibrate(panel, gauge=gauge)  # type: ignore[arg-type]
    np.testing.assert_allclose(fit.posterior.unit_covariance(), refit_variance(panel, gauge), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", ["sa", "cwa"])
def test_averages_are_independent_with_variance_w_over_total_confidence(method: str) -> None:
    panel = random_panel(7, 8, 5, 14)
    fit = eh.simple_average(panel) if method == "sa" else eh.weighted_average(panel)
    total = np.bincount(panel.object_index, None if method == "sa" else panel.precision)
    assert fit.degrees_of_freedom == panel.n_assessments - 8
    w = fit.residual / (fit.degrees_of_freedom - 2)
    assert fit.values.sd is not None
    np.testing.assert_allclose(fit.values.sd, np.sqrt(w / total), rtol=1e-13)
    assert fit.biases.sd is not None
    assert not fit.biases.sd.any()
    covariance = fit.posterior.unit_covariance()
    np.testing.assert_allclose(covariance, np.diag(np.concatenate([1 / total, np.zeros(5)])), rtol=1e-13)
    np.testing.assert_allclose(
        fit.posterior.of_differences([0, 1], [2, 1]).spread[0] ** 2, [1 / total[0] + 1 / total[2], 0.0]
    )
    weights = np.arange(8.0)
    assert fit.posterior.contrast_variances(weights) == pytest.approx(weights**2 @ (1 / total), rel=1e-13)


def check_draws(fit: Fit, count: int = 40_000) -> None:
    """Compare the covariance of draws with w times the unit covariance, in units of its own standard error."""
    drawn = fit.posterior.draw(count, np.random.default_rng(17))
    assert drawn is not None
    draws = np.hstack(drawn)
    unit = fit.posterior.unit_covariance()
    noise, nu = fit.posterior.noise, fit.degrees_of_freedom
    variance = noise.variance
    assert variance is not None
    # the fourth moment of a Student vector is larger than that of a normal one by (nu - 2)/(nu - 4)
    tail = 1.0 if noise.kind == "declared" else (nu - 2) / (nu - 4)
    wanted = variance * unit
    fourth = tail * (np.outer(np.diagonal(wanted), np.diagonal(wanted)) + 2 * wanted**2)
    error = np.sqrt((fourth - wanted**2) / count)
    sure = np.sqrt(np.outer(np.diagonal(unit), np.diagonal(unit))) > 1e-9 * unit.max()
    found = draws.T @ draws / count
    assert np.abs(found - wanted)[sure].max() > 0
    assert (np.abs(found - wanted)[sure] <= 5 * error[sure]).all()
    assert (np.abs(draws.mean(axis=0)) <= 5 * np.sqrt(np.diagonal(wanted) / count) + 1e-7).all()


@pytest.mark.parametrize("noise", ["declared", "estimated"])
@pytest.mark.parametrize("kind", range(8))
def test_draws_have_the_covariance_of_the_posterior_in_every_gauge(noise: str, kind: int) -> None:
    panel = random_panel(8, 9, 5, 26)
    fit = eh.calibrate(panel, gauge=gauges_for(panel)[kind], noise=noise)  # type: ignore[arg-type]
    assert fit.degrees_of_freedom >= 12
    check_draws(fit)


def test_draws_of_averages_have_their_covariance_and_no_bias() -> None:
    fit = eh.weighted_average(random_panel(8, 9, 5, 26))
    check_draws(fit)
    drawn = fit.posterior.draw(10, np.random.default_rng(1))
    assert drawn is not None
    assert not drawn[1].any()


def test_draws_of_several_groups_keep_each_group_in_its_gauge() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)], [1.0, 2, 4, 3, 7, 9, 4, 4])
    fit = eh.calibrate(panel, per_component=True, gauge="zero_sum")
    drawn = fit.posterior.draw(100, np.random.default_rng(3))
    assert drawn is not None
    assert np.abs(drawn[1][:, :2].sum(axis=1)).max() <= 1e-12 * np.abs(drawn[1]).max()
    assert np.abs(drawn[1][:, 2:].sum(axis=1)).max() <= 1e-12 * np.abs(drawn[1]).max()


@pytest.mark.parametrize("noise", ["declared", "estimated"])
def test_intervals_contain_the_stated_share_of_draws_and_draws_are_student_or_normal(noise: str) -> None:
    panel = random_panel(9, 6, 4, 10)
    fit = eh.calibrate(panel, noise=noise, interval=0.8)  # type: ignore[arg-type]
    count = 20_000
    drawn = fit.posterior.draw(count, np.random.default_rng(2))
    assert drawn is not None
    assert fit.values.upper is not None
    assert fit.values.lower is not None
    values = fit.values.estimate + drawn[0]
    share = ((values > fit.values.lower) & (values < fit.values.upper)).mean(axis=0)
    assert np.abs(share - 0.8).max() <= 5 * np.sqrt(0.8 * 0.2 / count)
    unit = drawn[0][:, 0] / np.sqrt(fit.posterior.unit_value_variance[0])
    nu = fit.degrees_of_freedom
    law = stats.norm() if noise == "declared" else stats.t(nu, scale=np.sqrt(fit.residual / nu))
    assert stats.kstest(unit, law.cdf).pvalue > 1e-3


def test_there_are_no_draws_without_degrees_of_freedom() -> None:
    fit = eh.calibrate(panel_of([(0, 0), (0, 1)], [1.0, 2.0]))
    assert fit.posterior.draw(5, np.random.default_rng(1)) is None
    assert fit.posterior.of_values.interval(0.9) is None


def test_the_covariance_of_a_panel_too_large_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.models.posterior._LARGEST_COVARIANCE", 10)
    with pytest.raises(LimitError, match="ask for contrasts or draws"):
        eh.calibrate(random_panel(1)).posterior.unit_covariance()


def test_uncertainties_do_not_depend_on_scores_beyond_their_residual() -> None:
    panel = random_panel(3, 7, 4, 9)
    other = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score[::-1].copy(), panel.precision)
    one, two = eh.calibrate(panel).posterior, eh.calibrate(other).posterior
    np.testing.assert_allclose(one.unit_value_variance, two.unit_value_variance, rtol=1e-14)


def test_a_further_assessment_never_widens_a_difference_between_values() -> None:
    panel = random_panel(5, 7, 4, 5)
    missing = next(
        (o, a)
        for o in range(7)
        for a in range(4)
        if (o, a) not in set(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    )
    more = Panel.from_arrays(
        np.append(panel.object_index, missing[0]),
        np.append(panel.assessor_index, missing[1]),
        np.append(panel.score, 60.0),
        np.append(panel.precision, 0.7),
    )
    first, second = zip(*[(i, j) for i in range(7) for j in range(i)], strict=True)
    before = eh.calibrate(panel).posterior.of_differences(first, second).spread[0] ** 2
    after = eh.calibrate(more).posterior.of_differences(first, second).spread[0] ** 2
    assert (after <= before * (1 + 1e-12)).all()
    assert (after < before * (1 - 1e-6)).any()


def test_nearly_disconnected_panels_keep_six_digits_of_their_variances() -> None:
    # two pairs of assessors, joined by one object that both see with confidence 1e-9: the bridge's variance dominates
    objects, assessors = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1, 0, 1, 2, 3, 2, 3, 0, 2]
    tiny = 1e-9
    panel = Panel.from_arrays(objects, assessors, np.arange(10.0), [1.0] * 8 + [tiny, tiny])
    found = eh.calibrate(panel).posterior.of_differences([0], [2]).spread[0] ** 2
    # v_0 - v_2 = (within-group parts of order 1) + two edges of variance 1e9 in a row
    assert found[0] == pytest.approx(2 / tiny, rel=1e-6)


@pytest.mark.parametrize("solver", ["iterative", "direct", "sparse"])
def test_what_a_gauge_holds_fast_has_no_uncertainty_however_it_is_computed(solver: Any) -> None:
    panel = random_panel(3, 40, 30, 200)
    at = panel.assessors.index("7")
    fit = eh.calibrate(panel, gauge=Anchor(assessor="7", bias=1.0), solver=solver)
    assert fit.biases.sd is not None
    assert fit.biases.sd[at] == 0.0
    assert (np.delete(fit.biases.sd, at) > 0.0).all()
    two = Anchor(values={"3": 60.0, "9": 50.0})
    fit = eh.calibrate(panel, gauge=two, solver=solver)
    wanted = np.sqrt(np.diagonal(dense_covariance(panel, two))[[3, 9]] * (fit.noise_variance or np.nan))
    assert fit.values.sd is not None
    np.testing.assert_allclose(fit.values.sd[[3, 9]], wanted, rtol=1e-6)


def test_memory_for_a_covariance_and_for_draws_is_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = eh.calibrate(random_panel(3))
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)
    monkeypatch.setattr("evenhand.memory.available", lambda: 40 * 13**2 - 1)
    with pytest.raises(LimitError, match="memory for the full covariance of 13 values and biases"):
        fit.covariance()
    with pytest.raises(LimitError, match="memory for 1,000 draws of 13 values and biases"):
        fit.draw(1000, seed=1)
    assert fit.draw(10, seed=1)[0].shape == (10, 8)
