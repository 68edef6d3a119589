"""Degeneracy-breaking conditions: each holds exactly, shifts nothing else, and a bad one is refused in a sentence."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import InputError
from evenhand.panel.gauge import Affine, Anchor, Gauge, Reference, condition, gauge_name
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from panels import connected_panels, gauge_equation, gauges_for, panel_of, random_panel

KINDS = range(8)


@given(connected_panels(repeats=True), st.sampled_from(KINDS))
def test_the_answer_meets_its_gauge(panel: Panel, kind: int) -> None:
    gauge = gauges_for(panel)[kind]
    fit = eh.calibrate(panel, gauge=gauge)
    of_values, of_biases, constant = gauge_equation(gauge, panel, panel.precision.tolist())
    weights = np.array([*map(float, of_values), *map(float, of_biases)])
    answer = np.concatenate([fit.values.estimate, fit.biases.estimate])
    scale = np.abs(weights) @ np.abs(answer) + abs(float(constant)) + 1
    assert weights @ answer == pytest.approx(float(constant), abs=1e-12 * scale)


@given(connected_panels(repeats=True), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_a_change_of_gauge_shifts_values_up_and_biases_down_alike_and_nothing_else(
    panel: Panel, first: int, second: int
) -> None:
    one, other = (eh.calibrate(panel, gauge=gauges_for(panel)[kind]) for kind in (first, second))
    up = other.values.estimate - one.values.estimate
    down = one.biases.estimate - other.biases.estimate
    scale = 1 + max(np.abs(fit.values.estimate).max() for fit in (one, other))
    assert np.concatenate([up, down]) == pytest.approx(np.full(up.size + down.size, up[0]), abs=1e-12 * scale)
    assert (one.residuals == other.residuals).all()
    assert one.residual == other.residual
    assert one.connectivity.mu2 == other.connectivity.mu2


@given(connected_panels(repeats=True, whole=True), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_a_change_of_gauge_moves_no_rank(panel: Panel, first: int, second: int) -> None:
    one, other = (eh.incomplete_block(panel, gauge=gauges_for(panel)[kind]) for kind in (first, second))
    assert one.values.rank.tolist() == other.values.rank.tolist()


def test_a_reference_far_away_moves_no_rank() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)], [3.0, 4.0, 1.0, 2.0, 5.0, 7.0])
    near, far = (eh.calibrate(panel, gauge=Reference(value)) for value in (0.0, 1e9))
    assert near.values.rank.tolist() == far.values.rank.tolist() == [2, 3, 1]


def test_a_small_difference_that_doubles_can_hold_is_ranked_in_every_gauge() -> None:
    panel = panel_of([(0, 0), (1, 0), (2, 0)], [0.0, 5e-9, 1.0])
    near, far = (eh.calibrate(panel, gauge=Reference(value)) for value in (0.0, 1e6))
    assert far.values.estimate[1] - far.values.estimate[0] == pytest.approx(5e-9, rel=0.1)
    assert near.values.rank.tolist() == far.values.rank.tolist() == [3, 2, 1]


def test_an_unknown_mean_object_is_at_the_reference_value() -> None:
    panel = random_panel(3)
    fit = eh.calibrate(panel, gauge=Reference(70.0))
    mean_value = fit.values.total_confidence @ fit.values.estimate / panel.total_confidence
    mean_bias = fit.biases.total_confidence @ fit.biases.estimate / panel.total_confidence
    assert mean_value - mean_bias == pytest.approx(70.0, rel=1e-13)


def test_the_weighted_gauge_keeps_the_weighted_mean_of_values_equal_to_that_of_scores() -> None:
    panel = random_panel(4)
    fit = eh.calibrate(panel)
    assert fit.gauge == "weighted"
    mean_value = fit.values.total_confidence @ fit.values.estimate / panel.total_confidence
    assert mean_value == pytest.approx(panel.precision @ panel.score / panel.total_confidence, rel=1e-13)


def test_an_anchored_assessor_has_the_given_bias() -> None:
    panel = random_panel(5)
    fit = eh.calibrate(panel, gauge=Anchor(assessor="2", bias=-4.5))
    assert fit.biases.estimate[2] == pytest.approx(-4.5, abs=1e-13)


def test_an_anchored_object_has_the_given_value_and_two_have_it_on_average() -> None:
    panel = random_panel(6)
    assert eh.calibrate(panel, gauge=Anchor(values={"3": 80.0})).values.estimate[3] == pytest.approx(80.0, rel=1e-14)
    values = eh.calibrate(panel, gauge=Anchor(values={"3": 80.0, "1": 40.0})).values.estimate
    assert (values[3] + values[1]) / 2 == pytest.approx(60.0, rel=1e-14)


def test_affine_weights_can_be_given_by_label_or_in_order() -> None:
    panel = random_panel(7)
    by_label = eh.calibrate(panel, gauge=Affine({"1": 2.0, "4": 1.0}, 3.0))
    in_order = eh.calibrate(panel, gauge=Affine([0.0, 2.0, 0.0, 0.0, 1.0], 3.0))
    assert by_label.biases.estimate.tolist() == in_order.biases.estimate.tolist()
    assert 2 * by_label.biases.estimate[1] + by_label.biases.estimate[4] == pytest.approx(3.0, rel=1e-13)


def test_weights_of_either_sign_are_fine_as_long_as_their_sum_is_not_zero() -> None:
    panel = random_panel(8)
    fit = eh.calibrate(panel, gauge=Affine({"0": 2.0, "1": -1.0}, 1.0))
    assert 2 * fit.biases.estimate[0] - fit.biases.estimate[1] == pytest.approx(1.0, rel=1e-12)


def test_iba_weighs_assessors_by_their_number_of_scores_in_the_weighted_gauge() -> None:
    panel = random_panel(9)
    fit = eh.incomplete_block(panel)
    assert panel.assessor_assessments @ fit.biases.estimate == pytest.approx(0.0, abs=1e-11)


BAD: list[tuple[Any, str]] = [
    ("nonsense", "is not a gauge"),
    (None, "is not a gauge"),
    (3.0, "is not a gauge"),
    (Reference(float("nan")), "reference value must be a finite number"),
    (Reference(float("inf")), "reference value must be a finite number"),
    (Affine([1.0, 1.0]), "needs 5 weights"),
    (Affine([1.0] * 5, float("nan")), "must be a finite number"),
    (Affine([1.0, -1.0, 0.0, 0.0, 0.0]), "must not add up to zero"),
    (Affine([0.0] * 5), "must not add up to zero"),
    (Affine([1.0, float("inf"), 0.0, 0.0, 0.0]), "must be finite"),
    (Affine({"nobody": 1.0}), "no assessor 'nobody'"),
    (Anchor(assessor="nobody"), "no assessor 'nobody'"),
    (Anchor(assessor=" 1"), "did you mean '1'"),
    (Anchor(assessor="1", bias=float("inf")), "must be a finite number"),
    (Anchor(values={"nothing": 1.0}), "no object 'nothing'"),
    (Anchor(values={"1": float("nan")}), "known value of 1 must be a finite number"),
]


@pytest.mark.parametrize(("gauge", "sentence"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_a_bad_gauge_is_refused_in_a_sentence(gauge: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        eh.calibrate(random_panel(1), gauge=gauge)
    assert caught.value.kind == "bad_gauge"


def test_an_anchor_on_a_number_instead_of_a_label_is_refused_as_an_unknown_assessor() -> None:
    anchor = Anchor(assessor=0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no assessor 0"):
        eh.calibrate(random_panel(1), gauge=anchor)


@pytest.mark.parametrize("arguments", [{}, {"assessor": "A", "values": {"x": 1.0}}, {"bias": 3.0}])
def test_an_anchor_needs_an_assessor_or_objects_and_not_both(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="either an assessor or objects"):
        Anchor(**arguments)


def test_each_group_meets_the_gauge_on_its_own() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 2, 3, 3], [1.0, 2.0, 4.0, 4.5, 7.0, 9.0, 3.0])
    fit = eh.calibrate(panel, gauge="zero_sum", per_component=True)
    assert fit.biases.estimate[:2].sum() == pytest.approx(0.0, abs=1e-13)
    assert fit.biases.estimate[2:].sum() == pytest.approx(0.0, abs=1e-13)
    fit = eh.calibrate(panel, gauge=Anchor(values={"0": 50.0, "3": 10.0}), per_component=True)
    assert fit.values.estimate[[0, 3]] == pytest.approx([50.0, 10.0], rel=1e-14)
    parts = connectivity(panel)
    referenced = eh.calibrate(panel, gauge=Reference(5.0), per_component=True)
    for group in range(2):
        objects, assessors = parts.object_component == group, parts.assessor_component == group
        values, biases = referenced.values, referenced.biases
        left = values.total_confidence[objects] @ values.estimate[objects]
        left -= biases.total_confidence[assessors] @ biases.estimate[assessors]
        assert left == pytest.approx(5.0 * values.total_confidence[objects].sum(), rel=1e-13)


@pytest.mark.parametrize("gauge", [Anchor(assessor="0"), Anchor(values={"3": 10.0}), Affine({"3": 1.0})])
def test_a_gauge_that_leaves_a_group_loose_is_refused_with_the_number_of_the_group(gauge: Gauge) -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 3), (2, 3)])
    with pytest.raises(InputError, match=r"for group [12] of 2"):
        eh.calibrate(panel, gauge=gauge, per_component=True)


def test_gauges_have_names_for_tables() -> None:
    assert [gauge_name(gauge) for gauge in ("weighted", "zero_sum", Reference(70.0))] == [
        "weighted",
        "zero_sum",
        "reference(70)",
    ]
    assert gauge_name(Anchor(assessor="AB")) == "anchor:AB"
    assert gauge_name(Anchor(values={"x": 1.0, "y": 2.0})) == "anchor:x,y"
    assert gauge_name(Affine([1.0])) == "affine"
    assert gauge_name(None) is None


def test_the_slope_of_a_condition_is_what_a_unit_shift_does_to_its_left_hand_side() -> None:
    panel = random_panel(2)
    parts = connectivity(panel)
    for gauge in gauges_for(panel):
        fixed = condition(gauge, panel, parts)
        zero_values, zero_biases = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
        distance = fixed.shift(zero_values, zero_biases) - fixed.shift(zero_values + 1, zero_biases - 1)
        assert distance == pytest.approx([1.0], rel=1e-9)
        assert fixed.slope == pytest.approx([fixed.value_weight.sum() - fixed.bias_weight.sum()], rel=1e-12)
