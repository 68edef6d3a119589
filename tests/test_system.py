"""The normal equations with one side eliminated, against the dense matrices of the paper."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from evenhand.solve.equations import System, make_system
from panels import connected_panels, panel_of, random_panel


def system_of(panel: Panel) -> System:
    return make_system(panel, connectivity(panel))


def weights_of(panel: Panel) -> NDArray[np.float64]:
    weights = np.zeros((panel.n_objects, panel.n_assessors))
    np.add.at(weights, (panel.object_index, panel.assessor_index), panel.precision)
    return weights


@given(connected_panels(repeats=True))
def test_the_schur_complement_is_that_of_the_dense_matrix(panel: Panel) -> None:
    system = system_of(panel)
    weights = weights_of(panel) if system.keeps_assessors else weights_of(panel).T
    wanted = np.diag(weights.sum(axis=0)) - weights.T @ (weights / weights.sum(axis=1)[:, None])
    np.testing.assert_allclose(system.schur(), wanted, rtol=0, atol=1e-12 * weights.sum(axis=0).max())


@given(connected_panels(repeats=True))
def test_the_schur_complement_is_a_laplacian(panel: Panel) -> None:
    schur = system_of(panel).schur()
    assert (schur == schur.T).all() or np.abs(schur - schur.T).max() <= 1e-15 * np.abs(schur).max()
    assert (schur - np.diag(np.diagonal(schur)) <= 0).all()
    assert np.abs(schur.sum(axis=1)).max() <= 1e-13 * max(np.abs(schur).max(), 1e-300)


def test_a_tiny_link_is_not_lost_on_the_diagonal() -> None:
    # 1e-20 beside 1 on the diagonal would vanish if C' - c^2/C were formed by subtraction
    panel = Panel.from_arrays([0, 0, 1], [0, 1, 0], np.zeros(3), [1e-20, 1e-20, 1.0])
    np.testing.assert_allclose(system_of(panel).schur(), np.array([[0.5, -0.5], [-0.5, 0.5]]) * 1e-20, rtol=1e-12)


@pytest.mark.parametrize(("n_objects", "n_assessors"), [(7, 3), (3, 7), (4, 4)])
def test_the_smaller_side_is_kept(n_objects: int, n_assessors: int) -> None:
    system = system_of(random_panel(1, n_objects, n_assessors, 6))
    assert system.n_kept == min(n_objects, n_assessors)
    assert system.keeps_assessors == (n_assessors <= n_objects)
    assert system.incidence.shape == (max(n_objects, n_assessors), min(n_objects, n_assessors))


@given(connected_panels())
def test_totals_and_incidence_hold_the_confidences_of_either_side(panel: Panel) -> None:
    system = system_of(panel)
    of_objects, of_assessors = system.orient(system.kept_total, system.gone_total)
    np.testing.assert_allclose(of_objects, weights_of(panel).sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(of_assessors, weights_of(panel).sum(axis=0), rtol=1e-13)
    wanted = weights_of(panel) if system.keeps_assessors else weights_of(panel).T
    np.testing.assert_allclose(system.incidence.toarray(), wanted, rtol=1e-13)


def test_orientation_is_its_own_inverse() -> None:
    for panel in (panel_of([(0, 0), (1, 0)]), panel_of([(0, 0), (0, 1)])):
        system = system_of(panel)
        assert system.orient(*system.orient("objects", "assessors")) == ("objects", "assessors")
    assert system_of(panel_of([(0, 0), (1, 0)])).orient("objects", "assessors") == ("assessors", "objects")
