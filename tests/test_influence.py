"""Influence: every derivative against finite differences, every deletion against a refit, every bound against a try."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.heldout import held_out_errors, leverages
from evenhand.answers.influence import confidence_sensitivity, score_sensitivity
from evenhand.models.additive import METHODS
from evenhand.panel.gauge import Gauge
from evenhand.panel.panel import Panel
from panels import connected_panels, gauges_for, random_panel

PANEL = random_panel(11, 7, 5, 14)
GAUGES = gauges_for(PANEL)


def changed(panel: Panel, row: int, *, score: float = 0.0, precision: float = 0.0) -> Panel:
    scores, precisions = np.array(panel.score), np.array(panel.precision)
    scores[row] += score
    precisions[row] += precision
    return replace(panel, score=scores, precision=precisions)


def without(panel: Panel, row: int) -> Panel:
    stay = np.ones(panel.n_assessments, dtype=bool)
    stay[row] = False
    return panel.restrict(stay)


@pytest.mark.parametrize("gauge", GAUGES, ids=str)
def test_the_effect_of_a_score_is_that_of_a_refit(gauge: Gauge) -> None:
    fit = eh.calibrate(PANEL, gauge=gauge)
    values, biases = score_sensitivity(fit)
    for row in range(PANEL.n_assessments):
        other = eh.calibrate(changed(PANEL, row, score=1.0), gauge=gauge)  # linear: a whole point is exact
        np.testing.assert_allclose(other.values.estimate - fit.values.estimate, values[:, row], atol=1e-11)
        np.testing.assert_allclose(other.biases.estimate - fit.biases.estimate, biases[:, row], atol=1e-11)


@pytest.mark.parametrize("gauge", GAUGES, ids=str)
def test_the_effect_of_a_declared_confidence_is_that_of_finite_differences(gauge: Gauge) -> None:
    fit = eh.calibrate(PANEL, gauge=gauge)
    values, biases = confidence_sensitivity(fit)
    for row in range(PANEL.n_assessments):
        step = 1e-4 * float(PANEL.precision[row])
        more, less = (eh.calibrate(changed(PANEL, row, precision=sign * step), gauge=gauge) for sign in (1, -1))
        for found, one, two in (
            (values, more.values.estimate, less.values.estimate),
            (biases, more.biases.estimate, less.biases.estimate),
        ):
            np.testing.assert_allclose((one - two) / (2 * step), found[:, row], rtol=1e-6, atol=1e-7)


def test_sensitivities_within_groups_of_a_panel_that_is_not_connected() -> None:
    panel = Panel.from_arrays(
        [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [1.0, 5, 2, 2, 3, 9, 1, 1], [1.0, 2, 3, 1, 2, 1, 1, 4]
    )
    fit = eh.calibrate(panel, per_component=True)
    by_score, _ = score_sensitivity(fit)
    by_confidence, _ = confidence_sensitivity(fit)
    for row in range(panel.n_assessments):
        moved = eh.calibrate(changed(panel, row, score=1.0), per_component=True)
        np.testing.assert_allclose(moved.values.estimate - fit.values.estimate, by_score[:, row], atol=1e-12)
        more, less = (
            eh.calibrate(changed(panel, row, precision=sign * 1e-5), per_component=True).values.estimate
            for sign in (1, -1)
        )
        np.testing.assert_allclose((more - less) / 2e-5, by_confidence[:, row], atol=1e-7)


@pytest.mark.parametrize("method", list(METHODS))
def test_held_out_errors_are_those_of_refits_without_the_score(method: str) -> None:
    fit_by = METHODS[method]
    fit = fit_by(PANEL)
    errors, leverage = held_out_errors(fit), leverages(fit)
    found = eh.influence(fit)
    tried = 0
    for row in range(PANEL.n_assessments):
        rest = without(PANEL, row)
        label_o = PANEL.objects[int(PANEL.object_index[row])]
        label_a = PANEL.assessors[int(PANEL.assessor_index[row])]
        known = label_o in rest.objects and label_a in rest.assessors
        apart = fit.is_calibrated and (not known or not eh.connectivity(rest).is_connected)
        if apart or label_o not in rest.objects:
            assert leverage[row] == pytest.approx(1.0)
            assert np.isinf(errors[row])
            assert found.columns()["pull"][row] is None
            continue
        other = fit_by(rest)
        value = other.values.estimate[rest.objects.index(label_o)]
        bias = other.biases.estimate[rest.assessors.index(label_a)] if fit.is_calibrated else 0.0
        assert errors[row] == pytest.approx(float(PANEL.score[row] - value - bias), abs=1e-10)
        tried += 1
    assert tried >= 5


def test_pull_is_the_change_of_the_value_when_the_score_is_taken_away() -> None:
    fit = eh.calibrate(PANEL, gauge="zero_sum")
    pull = eh.influence(fit).pull
    for row in np.flatnonzero(np.isfinite(pull)).tolist():
        other = eh.calibrate(without(PANEL, row), gauge="zero_sum")
        label = PANEL.objects[int(PANEL.object_index[row])]
        before = fit.values.estimate[PANEL.objects.index(label)]
        assert before - other.values.estimate[other.panel.objects.index(label)] == pytest.approx(pull[row], abs=1e-10)


def test_with_heavy_tails_pull_is_the_change_of_the_value_in_a_fit_without_the_score() -> None:
    fit = eh.refine(eh.demo(), shrink=True, tails="student")
    panel, found = fit.panel, eh.influence(fit)
    for row in np.argsort(-np.abs(found.pull))[:3].tolist():
        label = panel.objects[panel.object_index[row]]
        rest = eh.refine(panel.restrict(np.arange(panel.n_assessments) != row), shrink=True, tails="student")
        moved = fit.values.estimate[fit.values.index_of(label)] - rest.values.estimate[rest.values.index_of(label)]
        assert found.pull[row] == pytest.approx(moved, abs=1e-6)
        assert abs(found.own_effect[row] * found.held_out_error[row] - moved) > 0.5, "first order will not do"


def test_many_scores_with_heavy_tails_are_not_left_out_in_turn() -> None:
    fit = eh.refine(eh.simulate_panel(110, 12, 3, seed=1).panel, shrink=True, tails="huber")
    with pytest.raises(eh.errors.EvenhandError, match="takes a fit without it"):
        eh.influence(fit)


@given(panel=connected_panels())
def test_leverages_add_up_to_the_number_of_fitted_parameters(panel: Panel) -> None:
    fit = eh.calibrate(panel)
    assert leverages(fit).sum() == pytest.approx(panel.n_assessments - fit.degrees_of_freedom, abs=1e-8)


@given(panel=connected_panels(least_objects=2, least_assessors=2), seed=st.integers(0, 2**16))
def test_no_change_of_scores_moves_the_results_beyond_the_bound(panel: Panel, seed: int) -> None:
    change = np.random.default_rng(seed).standard_normal(panel.n_assessments)
    size = float(np.sqrt(panel.precision @ change**2))
    moved = replace(panel, score=panel.score + change)
    for gauge in gauges_for(panel):
        fit = eh.calibrate(panel, gauge=gauge)
        other = eh.calibrate(moved, gauge=gauge)
        values = other.values.estimate - fit.values.estimate
        biases = other.biases.estimate - fit.biases.estimate
        bound = eh.robustness(fit)
        assert bound is not None
        total = np.sqrt(panel.object_confidence @ values**2 + panel.assessor_confidence @ biases**2)
        assert total <= bound.constant * size * (1 + 1e-7)
        assert (np.abs(values) <= bound.value_bound * size * (1 + 1e-7)).all()
        assert (np.abs(biases) <= bound.bias_bound * size * (1 + 1e-7)).all()


def test_the_bound_is_the_operator_norm_where_the_paper_says_so() -> None:
    panel = random_panel(21, 6, 4, 9)
    norms = {}
    for gauge in ("reference", "weighted"):
        fit = eh.calibrate(panel, gauge=eh.Reference(0.0) if gauge == "reference" else "weighted")
        values, biases = score_sensitivity(fit)
        stacked = np.vstack(
            [np.sqrt(panel.object_confidence)[:, None] * values, np.sqrt(panel.assessor_confidence)[:, None] * biases]
        )
        norms[gauge] = np.linalg.norm(stacked / np.sqrt(panel.precision), 2)
        bound = eh.robustness(fit)
        assert bound is not None
        if gauge == "reference":
            assert norms[gauge] == pytest.approx(1 / np.sqrt(bound.mu2))
            assert bound.constant == pytest.approx(norms[gauge])
        else:
            assert bound.constant == pytest.approx(np.sqrt(2 / bound.mu2))
            assert norms[gauge] <= bound.constant
        assert bound.lambda2 == pytest.approx((1 - bound.mu2) ** 2)


def test_averages_and_disconnected_panels_have_no_bound() -> None:
    apart = Panel.from_arrays([0, 1], [0, 1], [1.0, 2.0])
    assert eh.robustness(eh.simple_average(PANEL)) is None
    assert eh.robustness(eh.calibrate(apart, per_component=True)) is None


def test_leaving_an_assessor_out_is_a_refit_of_what_is_left() -> None:
    fit = eh.calibrate(random_panel(31, 6, 5, 16))
    panel = fit.panel
    tried = 0
    for index, item in enumerate(eh.without_assessors(fit, top=2)):
        assert item.assessor == panel.assessors[index]
        rest = panel.restrict(panel.assessor_index != index)
        assert set(item.lost) == set(panel.objects) - set(rest.objects)
        if item.largest_change is None:
            assert not eh.connectivity(rest).is_connected
            continue
        other = eh.calibrate(rest)
        before = dict(zip(panel.objects, fit.values.estimate, strict=True))
        change = np.array([v - before[o] for o, v in zip(rest.objects, other.values.estimate, strict=True)])
        change -= change.mean()
        assert item.largest_change == pytest.approx(float(change[np.argmax(np.abs(change))]))
        top_before = {o for o, r in zip(panel.objects, fit.values.rank, strict=True) if r <= 2}
        top_after = {o for o, r in zip(rest.objects, other.values.rank, strict=True) if r <= 2}
        assert (set(item.entering), set(item.leaving)) == (top_after - top_before, top_before - top_after)
        tried += 1
    assert tried >= 2


def test_the_only_assessor_cannot_be_left_out() -> None:
    (item,) = eh.without_assessors(eh.calibrate(Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0])))
    assert item.largest_change is None
    assert item.note == "there is no other assessor"


def test_own_and_confidence_effects_are_entries_of_the_full_sensitivities() -> None:
    rows = np.arange(PANEL.n_assessments)
    for method, fit_by in METHODS.items():
        for gauge in GAUGES if method in ("iba", "cwc") else GAUGES[:1]:
            fit = fit_by(PANEL, gauge=gauge)
            found = eh.influence(fit)
            by_score, _ = score_sensitivity(fit)
            by_confidence, _ = confidence_sensitivity(fit)
            np.testing.assert_allclose(found.own_effect, by_score[PANEL.object_index, rows], atol=1e-12)
            wanted = by_confidence[PANEL.object_index, rows] * fit.weight
            np.testing.assert_allclose(found.confidence_effect, wanted, atol=1e-10)
