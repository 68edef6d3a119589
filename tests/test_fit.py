"""What every model returns: tables, ranks, notes and the screen that it prints."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import InputError, NotRankableError
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from panels import gauges_for, panel_of, random_panel


def averages(values: list[float]) -> Fit:
    """Return a fit whose values are the given numbers."""
    return eh.simple_average(panel_of([(o, 0) for o in range(len(values))], values))


@given(st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12))
def test_a_rank_is_one_more_than_the_number_of_higher_values(values: list[float]) -> None:
    wanted = [1 + sum(other > value for other in values) for value in values]
    assert averages(values).values.rank.tolist() == wanted


def test_values_that_differ_by_rounding_only_share_a_rank() -> None:
    assert averages([0.1 + 0.2, 0.3, 0.0]).values.rank.tolist() == [1, 1, 3]


def test_values_that_differ_by_more_than_rounding_do_not_share_a_rank() -> None:
    assert averages([50.0, 50.000001, 60.0]).values.rank.tolist() == [3, 2, 1]


def test_ranks_start_again_in_each_group() -> None:
    panel = panel_of([(0, 0), (1, 0), (2, 1), (3, 1), (4, 1)], [1.0, 2.0, 10.0, 30.0, 20.0])
    assert eh.calibrate(panel, per_component=True).values.rank.tolist() == [2, 1, 3, 1, 2]
    assert eh.simple_average(panel).values.rank.tolist() == [5, 4, 3, 1, 2]


def test_intervals_are_symmetric_and_grow_with_their_probability() -> None:
    panel = random_panel(1, 8, 5, 14)
    narrow, wide = (eh.calibrate(panel, interval=probability) for probability in (0.5, 0.99))
    for effects in (narrow.values, narrow.biases):
        assert effects.lower is not None
        assert effects.upper is not None
        np.testing.assert_allclose((effects.lower + effects.upper) / 2, effects.estimate, rtol=1e-12, atol=1e-12)
    assert wide.values.upper is not None
    assert narrow.values.upper is not None
    assert (wide.values.upper > narrow.values.upper).all()


def test_intervals_are_of_ninety_percent_unless_asked_otherwise() -> None:
    from scipy import stats

    fit = eh.calibrate(random_panel(1, 8, 5, 14))
    nu = fit.degrees_of_freedom
    half = stats.t.ppf(0.95, nu) * np.sqrt(fit.residual / nu * fit.posterior.unit_value_variance)
    assert fit.values.interval == 0.9
    assert fit.values.upper is not None
    np.testing.assert_allclose(fit.values.upper - fit.values.estimate, half, rtol=1e-10)


def test_tables_have_the_documented_columns() -> None:
    fit = eh.calibrate(random_panel(1, 8, 5, 14))
    values, biases = fit.values.to_frame(), fit.biases.to_frame()
    shared = ["sd", "lower", "upper", "assessments", "total_confidence"]
    assert values.columns == ["object", "value", *shared, "rank"]
    assert biases.columns == ["assessor", "bias", *shared]
    assert values["object"].to_list() == list(fit.panel.objects)
    assert values["value"].to_list() == fit.values.estimate.tolist()
    assert biases["assessments"].to_list() == fit.panel.assessor_assessments.tolist()


def test_what_cannot_be_computed_is_null_in_a_table_and_never_nan() -> None:
    table = eh.calibrate(panel_of([(0, 0), (0, 1), (1, 0), (1, 1)], [1.0, 2.0, 4.0, 6.0])).values.to_frame()
    assert isinstance(table, pl.DataFrame)
    assert table["sd"].dtype == pl.Float64
    assert table["sd"].is_null().all()
    assert table["lower"].is_not_null().all()
    none_at_all = eh.calibrate(panel_of([(0, 0)], [1.0])).values.to_frame()
    assert none_at_all["upper"].is_null().all()


def test_tables_come_back_as_the_kind_of_frame_that_went_in() -> None:
    frame = pd.DataFrame({"object": ["x", "y", "x"], "assessor": ["A", "A", "B"], "score": [1.0, 2.0, 3.0]})
    fit = eh.calibrate(Panel.from_frame(frame))
    for table in (fit.values.to_frame(), fit.biases.to_frame(), fit.panel.to_frame()):
        assert isinstance(table, pd.DataFrame)


def test_estimates_are_there_without_computing_any_uncertainty(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("an uncertainty was computed")

    monkeypatch.setattr("evenhand.solve.direct.DirectSolver.diagonal", refuse)
    monkeypatch.setattr("evenhand.solve.direct.DirectSolver.edges", refuse)
    fit = eh.calibrate(random_panel(1))
    assert fit.values.estimate.size == 8
    assert fit.residual > 0
    assert fit.values.rank.size == 8
    with pytest.raises(AssertionError, match="an uncertainty was computed"):
        _ = fit.values.sd


def test_noise_variances_are_what_they_are_called() -> None:
    fit = eh.calibrate(random_panel(1, 8, 5, 14))
    n, nu = fit.panel.n_assessments, fit.degrees_of_freedom
    assert nu == n - 8 - 5 + 1
    assert fit.noise_variance == pytest.approx(fit.residual / (nu - 2))
    assert fit.noise_variance_ml == pytest.approx(fit.residual / n)
    assert fit.noise_variance_printed == pytest.approx(fit.residual / (n - 2))
    # the peak over w of w^(-1 - N/2) exp(-R/2w): Jeffreys' prior times the likelihood at the fit
    grid = fit.noise_variance_mode * np.array([0.999, 1.0, 1.001])
    height = -(1 + n / 2) * np.log(grid) - fit.residual / (2 * grid)
    assert np.argmax(height) == 1
    assert fit.residual_scaled == pytest.approx(fit.residual / fit.panel.precision.mean())


def test_no_degrees_of_freedom_give_no_uncertainties_and_the_reason() -> None:
    fit = eh.calibrate(panel_of([(0, 0), (1, 0), (1, 1)], [1.0, 2.0, 4.0]))
    assert fit.degrees_of_freedom == 0
    assert fit.residual == 0
    assert fit.values.sd is fit.values.lower is fit.values.upper is None
    assert "no degrees of freedom" in next(note.message for note in fit.notes if note.kind == "uncertainty")


@pytest.mark.parametrize("nu", [1, 2])
def test_one_or_two_degrees_of_freedom_give_intervals_but_no_sd_and_the_reason(nu: int) -> None:
    edges = [(o, a) for o in range(nu + 1) for a in range(2)]
    generator = np.random.default_rng(1)
    fit = eh.calibrate(panel_of(edges, generator.normal(50, 5, len(edges)).tolist()))
    assert fit.degrees_of_freedom == nu
    assert fit.values.sd is None
    assert fit.noise_variance is None
    assert fit.values.lower is not None
    assert (fit.values.lower < fit.values.estimate).all()
    assert "no standard deviation" in next(note.message for note in fit.notes if note.kind == "uncertainty")


def test_perfect_agreement_is_noise_of_half_a_step_and_says_so() -> None:
    edges = [(o, a) for o in range(4) for a in range(3)]
    fit = eh.calibrate(panel_of(edges, [10.1 * o + 0.3 * a for o, a in edges]))
    assert fit.degrees_of_freedom == 6
    assert fit.residual == 0
    assert fit.values.sd is not None
    # in the weighted gauge the variance of a mean of three scores is w/3, and w* is 6/4 of (0.1/2)^2
    np.testing.assert_allclose(fit.values.sd, np.sqrt(6 / 4 * 0.05**2 / 3), rtol=1e-12)
    assert fit.noise_variance == pytest.approx(6 / 4 * 0.05**2, rel=1e-12)
    assert "half a step (0.05)" in next(note.message for note in fit.notes if note.kind == "grid")


def test_small_but_true_disagreement_is_not_taken_for_rounding() -> None:
    edges = [(o, a) for o in range(4) for a in range(3)]
    noise = np.random.default_rng(1).normal(0.0, 1e-9, len(edges))
    fit = eh.calibrate(panel_of(edges, [50 + 10.0 * o + a + e for (o, a), e in zip(edges, noise, strict=True)]))
    assert fit.residual == pytest.approx(6e-18, rel=2)
    assert fit.residual > 0


def test_disagreement_of_unsure_assessors_is_not_drowned_by_the_rounding_of_sure_ones() -> None:
    # objects 0 and 1 are known to within 1e-10; the disagreement about 2 and 3 is real, and all that there is
    score = [50.0, 60.0, 50.0, 60.0, 70.0, 80.0, 70.5, 81.5]
    codes = [0, 1, 0, 1, 2, 3, 2, 3], [0, 0, 1, 1, 0, 0, 1, 1]
    fit = eh.calibrate(Panel.from_arrays(*codes, score, [1e20] * 4 + [1e-10] * 4))
    assert fit.residual > 0


def test_a_printed_fit_fits_one_screen_and_names_method_gauge_size_and_notes() -> None:
    text = str(eh.calibrate(random_panel(1, 60, 12, 100)))
    lines = text.splitlines()
    assert lines[0] == "Calibration with confidence (CWC), gauge weighted"
    assert lines[1].startswith("60 objects, 12 assessors, ")
    assert len(lines) < 25
    assert "highest values" in text
    assert "largest biases" in text
    assert "±" in text


def test_a_printed_average_has_no_biases_and_no_gauge() -> None:
    text = str(eh.simple_average(random_panel(1)))
    assert text.startswith("Simple averaging (SA)\n")
    assert "bias" not in text


def test_a_printed_fit_without_uncertainties_says_why() -> None:
    text = str(eh.calibrate(panel_of([(0, 0), (0, 1)], [1.0, 2.0])))
    assert "±" not in text
    assert "note: " in text
    assert "nan" not in text


def test_the_values_printed_first_are_the_highest() -> None:
    text = str(averages([float(i) for i in range(30)]))
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert shown == ["29", "28", "27", "26", "25"]


def test_repr_is_one_line() -> None:
    assert "\n" not in repr(eh.calibrate(random_panel(1)))


def test_no_cell_of_a_table_is_nan_on_any_small_edge_case() -> None:
    cases = [
        panel_of([(0, 0)], [1.0]),
        panel_of([(0, 0), (0, 1)], [1.0, 2.0]),
        panel_of([(0, 0), (1, 0)], [1.0, 1.0]),
        panel_of([(0, 0), (0, 1), (1, 0), (1, 1)], [1.0, 2.0, 3.0, 4.0]),
    ]
    for panel in cases:
        for model in (eh.simple_average, eh.weighted_average, eh.incomplete_block, eh.calibrate):
            fit = model(panel)
            for effects in (fit.values, fit.biases):
                for column in effects.columns().values():
                    assert not any(isinstance(cell, float) and math.isnan(cell) for cell in list(column))


def test_contrasts_have_the_variance_of_the_full_covariance_and_do_not_depend_on_the_gauge() -> None:
    panel = random_panel(71, 6, 4, 12)
    for gauge in gauges_for(panel):
        fit = eh.calibrate(panel, gauge=gauge)
        covariance = fit.covariance()
        assert covariance is not None
        found = fit.contrast(values={"0": 1.0, "2": -1.0}, biases={"1": 2.0, "3": -2.0})
        weights = np.zeros(10)
        weights[[0, 2, 7, 9]] = [1.0, -1.0, 2.0, -2.0]
        assert found.sd == pytest.approx(float(np.sqrt(weights @ covariance @ weights)))
        reference = eh.calibrate(panel).contrast(values={"0": 1.0, "2": -1.0}, biases={"1": 2.0, "3": -2.0})
        assert found.estimate == pytest.approx(reference.estimate)
        assert found.sd == pytest.approx(reference.sd)
        assert found.upper == pytest.approx(reference.upper)
        single = fit.contrast(values={"4": 1.0})
        assert fit.values.sd is not None
        assert fit.values.lower is not None
        assert (single.sd, single.lower) == pytest.approx((fit.values.sd[4], fit.values.lower[4]))


def test_contrasts_of_nobody_or_across_groups_are_refused() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
    fit = eh.calibrate(panel, per_component=True)
    with pytest.raises(InputError, match="no object 'x'"):
        fit.contrast(values={"x": 1.0})
    with pytest.raises(InputError, match="different groups"):
        fit.contrast(values={"0": 1.0, "3": -1.0})
    with pytest.raises(InputError, match="finite"):
        fit.contrast(biases={"0": float("nan")})


def test_draws_have_the_posterior_mean_and_spread() -> None:
    fit = eh.calibrate(random_panel(72, 6, 4, 12))
    values, biases = fit.draw(20_000, seed=1)
    assert fit.values.sd is not None
    assert fit.biases.sd is not None
    for drawn, effects in ((values, fit.values), (biases, fit.biases)):
        assert effects.sd is not None
        np.testing.assert_allclose(drawn.mean(axis=0), effects.estimate, atol=5 * effects.sd.max() / np.sqrt(20_000))
        np.testing.assert_allclose(drawn.std(axis=0), effects.sd, rtol=0.06)
    with pytest.raises(NotRankableError, match="degrees of freedom"):
        eh.calibrate(panel_of([(0, 0), (0, 1)])).draw(3, seed=1)
