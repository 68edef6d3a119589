"""Simulated panels: as asked, the same for the same seed, and from the stated model."""

import numpy as np
import pytest

import evenhand as eh
from designs import covariance
from evenhand.errors import InputError, LimitError
from evenhand.studies import design_study


def test_the_panel_has_the_size_that_was_asked_for() -> None:
    simulation = eh.simulate_panel(50, 7, 3, seed=1)
    panel = simulation.panel
    assert (panel.n_objects, panel.n_assessors, panel.n_assessments) == (50, 7, 150)
    assert (panel.object_assessments == 3).all()
    pairs = set(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    assert len(pairs) == 150
    assert (panel.score == np.round(panel.score)).all()
    assert ((panel.score >= 0) & (panel.score <= 100)).all()
    np.testing.assert_allclose(panel.precision, simulation.uncertainty**-2.0)


def test_a_panel_that_no_machine_can_hold_is_refused_before_it_is_drawn() -> None:
    with pytest.raises(LimitError, match=r"a simulated panel of 1,000,000,000,000 objects.*simulate fewer"):
        eh.simulate_panel(10**12, seed=1)


def test_the_same_seed_gives_the_same_panel_and_another_seed_another() -> None:
    one, same, other = (eh.simulate_panel(30, 5, seed=seed).panel for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.score, same.score)
    assert (one.score != other.score).any()


def test_scores_are_value_plus_bias_plus_noise_of_the_stated_size() -> None:
    simulation = eh.simulate_panel(
        4000, 10, 3, seed=5, bounds=None, step=None, uncertainties=(2.0, 8.0), profile=(1, 3)
    )
    panel = simulation.panel
    noise = panel.score - simulation.values[panel.object_index] - simulation.biases[panel.assessor_index]
    standard = noise / simulation.uncertainty
    assert abs(standard.mean()) < 5 / np.sqrt(standard.size)
    assert standard.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / standard.size))
    assert (simulation.uncertainty == 8.0).mean() == pytest.approx(0.75, abs=0.03)


def test_assessors_who_were_never_chosen_leave_no_gap() -> None:
    simulation = eh.simulate_panel(2, 50, 2, seed=1)
    assert simulation.panel.n_assessors == simulation.biases.size <= 4


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(InputError, match="cannot read each object"):
        eh.simulate_panel(3, 2, 3, seed=1)
    with pytest.raises(InputError, match="profile"):
        eh.simulate_panel(3, 2, 2, seed=1, profile=(1, 1))


# --- scores of a given design --------------------------------------------------------------------


def test_a_given_design_is_kept_with_its_labels_and_declared_confidences() -> None:
    design = eh.assign(["x", "y", "z", "w"], ["A", "B", "C"], per_object=2, uncertainty=3.0, effort=0.1).panel
    drawn = eh.simulate_panel(seed=5, design=design, uncertainties=())
    assert np.array_equal(drawn.panel.object_index, design.object_index)
    assert (drawn.panel.objects, drawn.panel.assessors) == (design.objects, design.assessors)
    np.testing.assert_allclose(drawn.uncertainty, 3.0)
    other = eh.simulate_panel(seed=5, design=design, uncertainties=(2.0, 4.0))
    assert set(other.uncertainty) == {2.0, 4.0}


def test_errors_of_a_design_are_as_far_out_as_dense_algebra_predicts() -> None:
    design = eh.assign(9, 4, per_object=2, uncertainty=4.0, effort=0.1)
    study = design_study(design.panel, runs=1500, seed=3, uncertainties=(), bounds=None, step=None)
    full = covariance(design.task, design.chosen)
    assert full is not None
    centre = np.eye(9) - 1 / 9
    predicted = np.sqrt(np.diagonal(centre @ full @ centre))
    order = [study.panel.objects.index(label) for label in design.task.objects]
    np.testing.assert_allclose(study.sd[order], predicted, rtol=1e-9)
    np.testing.assert_allclose(study.error, study.sd, rtol=5 / np.sqrt(2 * 1500))
    assert (study.error_averages > study.error).all()
    with pytest.raises(InputError, match="run at least"):
        design_study(design.panel, runs=0)
