"""The four methods of table 1: identities that hold on every panel, and the edges of what a panel can be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import EvenhandError, InputError, NotConnectedError
from evenhand.models.fit import Fit
from evenhand.models.noise import NoisePrior
from evenhand.panel.panel import Panel
from panels import connected_panels, panel_of, random_panel

METHODS: dict[str, Callable[..., Fit]] = {
    "sa": eh.simple_average,
    "cwa": eh.weighted_average,
    "iba": eh.incomplete_block,
    "cwc": eh.calibrate,
}


def kinds(fit: Fit) -> list[str]:
    return [note.kind for note in fit.notes]


def close(first: Any, second: Any, scale: float = 100.0) -> bool:
    return bool(np.abs(np.asarray(first) - np.asarray(second)).max() <= 1e-11 * scale)


@given(connected_panels(repeats=True))
def test_equal_confidences_give_incomplete_block_analysis(panel: Panel) -> None:
    equal = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, np.full(panel.n_assessments, 3.7))
    one, other = eh.calibrate(equal), eh.incomplete_block(panel)
    assert close(one.values.estimate, other.values.estimate)
    assert close(one.biases.estimate, other.biases.estimate)
    assert one.residual_scaled == pytest.approx(other.residual_scaled, rel=1e-9, abs=1e-16)


@given(connected_panels(repeats=True))
def test_equal_confidences_give_simple_averages(panel: Panel) -> None:
    equal = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, np.full(panel.n_assessments, 0.3))
    assert close(eh.weighted_average(equal).values.estimate, eh.simple_average(panel).values.estimate)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_a_complete_design_gives_averages(n_objects: int, n_assessors: int, data: st.DataObject) -> None:
    count = n_objects * n_assessors
    score = data.draw(st.lists(st.integers(0, 1000).map(lambda n: n / 10), min_size=count, max_size=count))
    panel = panel_of([(o, a) for o in range(n_objects) for a in range(n_assessors)], score)
    table = np.reshape(score, (n_objects, n_assessors))
    for gauge in ("weighted", "zero_sum"):
        fit = eh.calibrate(panel, gauge=gauge)
        assert close(fit.values.estimate, table.mean(axis=1))
        assert close(fit.biases.estimate, table.mean(axis=0) - table.mean())
    assert close(eh.simple_average(panel).values.estimate, table.mean(axis=1))


@given(st.integers(2, 5), st.integers(2, 5), st.data())
def test_a_complete_design_whose_confidences_are_products_gives_weighted_averages(
    n_objects: int, n_assessors: int, data: st.DataObject
) -> None:
    powers = st.lists(st.integers(-4, 4), min_size=n_objects + n_assessors, max_size=n_objects + n_assessors)
    factors = 2.0 ** np.array(data.draw(powers))
    confidence = np.outer(factors[:n_objects], factors[n_objects:]).ravel()
    codes = np.divmod(np.arange(confidence.size), n_assessors)
    panel = Panel.from_arrays(*codes, np.random.default_rng(0).normal(50, 10, confidence.size), confidence)
    assert close(eh.calibrate(panel).values.estimate, eh.weighted_average(panel).values.estimate)


@pytest.mark.parametrize("method", METHODS)
@given(panel=connected_panels(repeats=True), data=st.data())
def test_relabelling_and_reordering_permute_the_answer(method: str, panel: Panel, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.permutations(range(panel.n_assessments))))
    objects = np.array(data.draw(st.permutations(range(panel.n_objects))))
    assessors = np.array(data.draw(st.permutations(range(panel.n_assessors))))
    moved = Panel.from_arrays(
        objects[panel.object_index][rows],
        assessors[panel.assessor_index][rows],
        panel.score[rows],
        panel.precision[rows],
    )
    before, after = METHODS[method](panel), METHODS[method](moved)
    assert close(after.values.estimate[objects], before.values.estimate)
    assert close(after.biases.estimate[assessors], before.biases.estimate)
    assert close(after.residuals, before.residuals[rows])
    assert after.residual == pytest.approx(before.residual, rel=1e-9, abs=1e-18)
    assert after.connectivity.mu2 == pytest.approx(before.connectivity.mu2, rel=1e-9, abs=1e-12)
    if before.values.sd is not None and after.values.sd is not None and before.residual > 0:
        np.testing.assert_allclose(after.values.sd[objects], before.values.sd, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@given(panel=connected_panels(repeats=True), factor=st.sampled_from([1e-12, 0.3, 7.0, 1e12]))
def test_rescaling_confidences_moves_no_value_and_no_estimated_uncertainty(
    method: str, panel: Panel, factor: float
) -> None:
    scaled = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, panel.precision * factor)
    before, after = METHODS[method](panel), METHODS[method](scaled)
    assert close(after.values.estimate, before.values.estimate)
    assert close(after.biases.estimate, before.biases.estimate)
    assert after.residual_scaled == pytest.approx(before.residual_scaled, rel=1e-9, abs=1e-18)
    if before.values.lower is not None and before.residual > 0:
        assert after.values.lower is not None
        np.testing.assert_allclose(after.values.lower, before.values.lower, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", ["iba", "cwc"])
@given(panel=connected_panels(repeats=True), data=st.data())
def test_values_and_biases_added_to_the_scores_are_added_to_the_answer(
    method: str, panel: Panel, data: st.DataObject
) -> None:
    number = st.integers(-50, 50).map(float)
    values = np.array(data.draw(st.lists(number, min_size=panel.n_objects, max_size=panel.n_objects)))
    biases = np.array(data.draw(st.lists(number, min_size=panel.n_assessors, max_size=panel.n_assessors)))
    biases -= biases[0]
    moved = Panel.from_arrays(
        panel.object_index,
        panel.assessor_index,
        panel.score + values[panel.object_index] + biases[panel.assessor_index],
        panel.precision,
    )
    gauge = eh.Anchor(assessor="0")
    before, after = (METHODS[method](given_, gauge=gauge) for given_ in (panel, moved))
    assert close(after.values.estimate, before.values.estimate + values, 300)
    assert close(after.biases.estimate, before.biases.estimate + biases, 300)
    assert close(after.residuals, before.residuals, 300)


@given(connected_panels(repeats=True))
def test_perfect_scores_give_back_the_truth_and_no_residual(panel: Panel) -> None:
    values = np.linspace(40.0, 70.0, panel.n_objects)
    biases = np.arange(panel.n_assessors) * 3.0
    exact = Panel.from_arrays(
        panel.object_index,
        panel.assessor_index,
        values[panel.object_index] + biases[panel.assessor_index],
        panel.precision,
    )
    fit = eh.calibrate(exact, gauge=eh.Anchor(assessor="0"))
    assert close(fit.values.estimate, values)
    assert close(fit.biases.estimate, biases)
    assert fit.residual == 0


@given(connected_panels(repeats=True))
def test_objects_and_assessors_play_symmetrical_roles(panel: Panel) -> None:
    swapped = Panel.from_arrays(panel.assessor_index, panel.object_index, panel.score, panel.precision)
    one = eh.calibrate(panel, gauge=eh.Anchor(assessor="0", bias=7.0))
    other = eh.calibrate(swapped, gauge=eh.Anchor(values={"0": 7.0}))
    assert close(one.values.estimate, other.biases.estimate)
    assert close(one.biases.estimate, other.values.estimate)
    assert one.degrees_of_freedom == other.degrees_of_freedom
    np.testing.assert_allclose(
        one.posterior.unit_value_variance, other.posterior.unit_bias_variance, rtol=1e-8, atol=1e-10
    )


@given(connected_panels(repeats=True))
def test_weighted_residuals_of_each_object_and_each_assessor_add_up_to_nothing(panel: Panel) -> None:
    for method, model in METHODS.items():
        fit = model(panel)
        weighted = fit.weight * fit.residuals
        scale = 100.0 * panel.n_assessments * float(fit.weight.max())
        assert np.abs(np.bincount(panel.object_index, weighted)).max() <= 1e-13 * scale
        if method in ("iba", "cwc"):
            assert np.abs(np.bincount(panel.assessor_index, weighted)).max() <= 1e-13 * scale
        parts = fit.values.estimate[panel.object_index] + fit.biases.estimate[panel.assessor_index]
        assert close(panel.score - parts, fit.residuals)
        assert fit.residual == pytest.approx(float(fit.weight @ fit.residuals**2), rel=1e-12, abs=1e-20)


@given(connected_panels(), st.integers(0, 2**32 - 1))
def test_no_other_values_and_biases_leave_a_smaller_residual(panel: Panel, seed: int) -> None:
    fit = eh.calibrate(panel)
    generator = np.random.default_rng(seed)
    for size in (1e-3, 1.0):
        values = fit.values.estimate + size * generator.standard_normal(panel.n_objects)
        biases = fit.biases.estimate + size * generator.standard_normal(panel.n_assessors)
        other = panel.score - values[panel.object_index] - biases[panel.assessor_index]
        assert panel.precision @ other**2 >= fit.residual * (1 - 1e-12)


def test_free_parameters_and_confidences_order_the_residuals() -> None:
    panel = random_panel(3, 12, 6, 20)
    fits = {name: model(panel) for name, model in METHODS.items()}
    assert fits["iba"].residual < fits["sa"].residual
    assert fits["cwc"].residual < fits["cwa"].residual
    assert [fits[name].method for name in METHODS] == list(METHODS)
    assert [fit.is_calibrated for fit in fits.values()] == [False, False, True, True]
    assert [fit.gauge for fit in fits.values()] == [None, None, "weighted", "weighted"]


def test_averages_do_not_need_a_connected_panel_and_calibration_does() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 2), (1, 3)])
    for name in ("sa", "cwa"):
        assert METHODS[name](panel).values.estimate.tolist() == [0.5, 2.5]
        assert "not_comparable" not in kinds(METHODS[name](panel))
    for name in ("iba", "cwc"):
        with pytest.raises(NotConnectedError):
            METHODS[name](panel)


def grouped() -> Panel:
    """Return groups of two complete blocks (second the larger) and a lone pair."""
    edges = [(0, 0), (0, 1), (1, 0), (1, 1)]
    edges += [(2 + o, 2 + a) for o in range(3) for a in range(3)] + [(5, 5)]
    score = [1.0, 3.0, 5.0, 6.0, 10.0, 20.0, 30.0, 12.0, 21.0, 35.0, 8.0, 19.0, 33.0, 4.0]
    return panel_of(edges, score)


def test_each_group_on_its_own_gives_what_the_group_alone_gives() -> None:
    panel = grouped()
    fit = eh.calibrate(panel, per_component=True)
    parts = fit.connectivity
    assert parts.n_components == 3
    assert fit.values.component.tolist() == [1, 1, 0, 0, 0, 2]
    for group in range(3):
        rows = parts.object_component[panel.object_index] == group
        alone = eh.calibrate(
            Panel.from_arrays(
                np.unique(panel.object_index[rows], return_inverse=True)[1],
                np.unique(panel.assessor_index[rows], return_inverse=True)[1],
                panel.score[rows],
            )
        )
        objects, assessors = parts.object_component == group, parts.assessor_component == group
        assert close(fit.values.estimate[objects], alone.values.estimate)
        assert close(fit.biases.estimate[assessors], alone.biases.estimate)
        assert close(fit.posterior.unit_value_variance[objects], alone.posterior.unit_value_variance, 1)
        assert fit.values.rank[objects].tolist() == alone.values.rank.tolist()
    assert fit.degrees_of_freedom == panel.n_assessments - 6 - 6 + 3
    assert "not_comparable" in kinds(fit)
    assert "component" in fit.values.columns()


def test_per_component_changes_nothing_where_the_panel_is_connected() -> None:
    panel = random_panel(1)
    one, other = eh.calibrate(panel), eh.calibrate(panel, per_component=True)
    assert one.values.estimate.tolist() == other.values.estimate.tolist()
    assert "not_comparable" not in kinds(other)
    assert "component" not in other.values.columns()


@pytest.mark.parametrize("method", METHODS)
def test_one_score_is_a_panel(method: str) -> None:
    fit = METHODS[method](panel_of([(0, 0)], [7.5]))
    assert fit.values.estimate.tolist() == [7.5]
    assert fit.biases.estimate.tolist() == [0.0]
    assert (fit.residual, fit.degrees_of_freedom) == (0.0, 0)
    assert fit.values.sd is None
    assert fit.values.lower is None
    assert fit.noise_variance is None
    assert fit.noise_variance_printed is None
    assert fit.values.rank.tolist() == [1]
    assert "uncertainty" in kinds(fit)


def test_one_assessor_is_calibrated_with_a_word_that_bias_and_values_cannot_be_told_apart() -> None:
    fit = eh.calibrate(panel_of([(0, 0), (1, 0), (2, 0)], [3.0, 5.0, 4.0]))
    assert fit.values.estimate == pytest.approx([3.0, 5.0, 4.0], abs=1e-14)
    assert fit.biases.estimate == pytest.approx([0.0], abs=1e-14)
    assert fit.degrees_of_freedom == 0
    note = next(note for note in fit.notes if note.kind == "one_assessor")
    assert "cannot be told from the values" in note.message


def test_one_object_seen_by_all_is_their_mean() -> None:
    fit = eh.calibrate(panel_of([(0, 0), (0, 1), (0, 2)], [3.0, 5.0, 10.0]))
    assert fit.values.estimate == pytest.approx([6.0], rel=1e-14)
    assert fit.biases.estimate == pytest.approx([-3.0, -1.0, 4.0], rel=1e-14)


def test_every_object_seen_once_is_calibrated_group_by_group_with_a_word_about_it() -> None:
    panel = panel_of([(0, 0), (1, 0), (2, 1), (3, 1)], [3.0, 5.0, 10.0, 11.0])
    fit = eh.calibrate(panel, per_component=True)
    assert fit.values.estimate == pytest.approx([3.0, 5.0, 10.0, 11.0], rel=1e-14)
    note = next(note for note in fit.notes if note.kind == "all_seen_once")
    assert "cannot be told from values" in note.message


def test_single_object_assessors_and_single_assessment_objects_are_flagged_by_name() -> None:
    panel = Panel.from_arrays(
        [0, 0, 1, 1, 1, 2],
        [0, 1, 0, 1, 2, 0],
        [1.0, 2.0, 3.0, 4.0, 6.0, 5.0],
        objects=["x", "y", "z"],
        assessors=["Ann", "Bob", "Cy"],
    )
    notes = {note.kind: note for note in eh.calibrate(panel).notes}
    assert notes["single_object_assessor"].where == "assessor Cy"
    assert notes["single_object_assessor"].message.endswith("Cy.")
    assert notes["single_assessment_object"].where == "object z"
    # a lone assessor's score fixes that assessor's own bias and moves nothing else
    without = Panel.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0])
    gauge = eh.Anchor(values={"x": 0.0}), eh.Anchor(values={"0": 0.0})
    one, other = eh.calibrate(panel, gauge=gauge[0]), eh.calibrate(without, gauge=gauge[1])
    assert close(one.values.estimate, other.values.estimate)


@pytest.mark.parametrize("interval", [0.0, 1.0, -0.1, 90.0, float("nan")])
@pytest.mark.parametrize("method", METHODS)
def test_an_interval_that_is_no_probability_is_refused(method: str, interval: float) -> None:
    with pytest.raises(InputError, match="probability between 0 and 1"):
        METHODS[method](random_panel(1), interval=interval)


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_treatment_of_noise_is_refused(method: str) -> None:
    with pytest.raises(InputError, match="not 'guessed'"):
        METHODS[method](random_panel(1), noise="guessed")


@pytest.mark.parametrize("method", ["sa", "iba"])
def test_methods_that_ignore_confidences_cannot_take_them_at_face_value(method: str) -> None:
    with pytest.raises(InputError, match="cannot take declared uncertainties at face value"):
        METHODS[method](random_panel(1), noise="declared")


@pytest.mark.parametrize("method", ["cwa", "cwc"])
def test_noise_cannot_be_declared_where_nothing_was_declared(method: str) -> None:
    with pytest.raises(InputError, match="no declared confidence"):
        METHODS[method](panel_of([(0, 0), (0, 1)]), noise="declared")
    assert METHODS[method](random_panel(1), noise="declared").noise_variance == 1.0


def test_a_prior_for_the_noise_is_named_in_the_fit() -> None:
    fit = eh.calibrate(random_panel(1), noise=NoisePrior(lambda w: -w, "exponential"))
    assert fit.posterior.noise.kind == "exponential"
    assert fit.noise_variance is not None


@pytest.mark.parametrize("method", METHODS)
def test_the_panel_is_not_changed_and_the_answer_cannot_be(method: str) -> None:
    panel = random_panel(2)
    before = panel.score.copy(), panel.precision.copy()
    fit = METHODS[method](panel)
    assert (panel.score == before[0]).all()
    assert (panel.precision == before[1]).all()
    assert fit.panel is panel
    for array in (fit.values.estimate, fit.biases.estimate, fit.residuals):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e300, 1e200, 1e-200, 1e-300])
def test_extreme_scores_give_the_right_values_or_a_sentence(method: str, size: float) -> None:
    shape = np.array([1.0, 2.0, 4.0, 9.0, 3.0, 3.5])
    edges = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    wanted = METHODS[method](panel_of(edges, shape.tolist()))
    try:
        fit = METHODS[method](panel_of(edges, (size * shape).tolist()))
    except EvenhandError:
        return
    assert fit.values.estimate / size == pytest.approx(wanted.values.estimate, rel=1e-12)
    assert fit.biases.estimate / size == pytest.approx(wanted.biases.estimate, abs=1e-12)
    assert np.isfinite(fit.residual)
    # no pretence of perfect agreement where the squares merely left the range of doubles
    assert not any("agree perfectly" in note.message for note in fit.notes)


@pytest.mark.parametrize("method", ["cwa", "cwc"])
@pytest.mark.parametrize("size", [1e307, 1e150, 1e-150, 1e-307, 5e-324])
def test_extreme_confidences_give_the_right_values_or_a_sentence(method: str, size: float) -> None:
    score = [1.0, 2.0, 4.0, 9.0, 3.0, 3.5]
    edges = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    codes = [o for o, _ in edges], [a for _, a in edges]
    wanted = METHODS[method](Panel.from_arrays(*codes, score, [1.0] * 6))
    try:
        fit = METHODS[method](Panel.from_arrays(*codes, score, [size] * 6))
    except EvenhandError as error:
        if "gauge" in str(error):  # the confidences are to blame
            raise
        return
    assert fit.values.estimate == pytest.approx(wanted.values.estimate, rel=1e-12)
    assert fit.values.sd is None or np.isfinite(fit.values.sd).all()


def test_confidences_thirty_orders_apart_give_the_limit_of_certainty() -> None:
    # assessor 0 is certain, so values are theirs; assessor 1 only shifts
    panel = Panel.from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2.0, 7.0, 9.0], [1e15, 1e15, 1e-15, 1e-15])
    fit = eh.calibrate(panel, gauge=eh.Anchor(assessor="0"))
    assert fit.values.estimate == pytest.approx([1.0, 2.0], rel=1e-12)
    assert fit.biases.estimate == pytest.approx([0.0, 6.5], abs=1e-9)
