"""All solvers against each other and a dense pseudo-inverse, on graphs that are easy, odd and hostile."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenhand import compiled
from evenhand.errors import LimitError, SolveError
from evenhand.models.additive import calibrate
from evenhand.panel.graph import find_components
from evenhand.panel.panel import Panel
from evenhand.solve import choose_solver, krylov
from evenhand.solve import direct as direct_module
from evenhand.solve.approximate import approximate_inverse
from evenhand.solve.base import Solver
from evenhand.solve.direct import DirectSolver
from evenhand.solve.equations import System, make_system
from evenhand.solve.iterative import IterativeSolver
from evenhand.solve.sparse import SparseSolver
from panels import connected_panels, doubles, exact_fit, random_panel

Floats = NDArray[np.float64]
Edges = list[tuple[int, int]]


def star(n: int) -> Edges:
    """One object that everybody reads, and one of their own for each."""
    return [(0, a) for a in range(n)] + [(a + 1, a) for a in range(n)]


def chain(n: int) -> Edges:
    return [(o, a) for a in range(n) for o in (a, a + 1)]


def ring(n: int) -> Edges:
    return [(o, a % n) for o in range(n) for a in (o, o + 1)]


def one_with_everything(n: int) -> Edges:
    """One assessor who reads every object, the others two each."""
    return [(o, 0) for o in range(n)] + [(o, 1 + o // 2) for o in range(n)]


def power_law(n: int) -> Edges:
    generator = np.random.default_rng(n)
    share = 1.0 / np.arange(1, n + 1)
    edges = {(0, a) for a in range(n)} | {(o, 0) for o in range(2 * n)}
    for o in range(2 * n):
        edges |= {(o, int(a)) for a in generator.choice(n, 2, p=share / share.sum())}
    return sorted(edges)


def panels_joined_in_a_ring(n: int) -> Edges:
    """Small complete panels, each joined to the next by one assessment."""
    edges = [(3 * p + o, 2 * p + a) for p in range(n) for o in range(3) for a in range(2)]
    return edges + [(3 * ((p + 1) % n), 2 * p) for p in range(n)]


GRAPHS: list[Callable[[int], Edges]] = [star, chain, ring, one_with_everything, power_law, panels_joined_in_a_ring]


def panel_on(edges: Edges, seed: int = 0, *, decades: float = 0.0) -> Panel:
    generator = np.random.default_rng(seed)
    o, a = (np.array(side) for side in zip(*edges, strict=True))
    score = generator.normal(60, 10, o.max() + 1)[o] + generator.normal(0, 5, a.max() + 1)[a]
    score += generator.normal(0, 3, o.size)
    confidence = 10.0 ** generator.uniform(-decades / 2, decades / 2, o.size) if decades else None
    return Panel.from_arrays(o, a, score, confidence)


def well_connected(n_objects: int, n_assessors: int, each: int, seed: int = 0, *, decades: float = 0.0) -> Panel:
    """Every object read by the same number of assessors, drawn at random."""
    generator = np.random.default_rng(seed)
    edges = {(o, int(a)) for o in range(n_objects) for a in generator.choice(n_assessors, each, replace=False)}
    edges |= {(a % n_objects, a) for a in range(n_assessors)}
    return panel_on(sorted(edges), seed, decades=decades)


def system_of(panel: Panel) -> System:
    return make_system(panel, find_components(panel))


def solvers(system: System) -> dict[str, Solver]:
    return {
        "direct": DirectSolver(system),
        "sparse": SparseSolver(system),
        "iterative": IterativeSolver(system),
        "approximate": IterativeSolver(system, precondition=approximate_inverse(system)),
        "auto": choose_solver(system),
    }


def inverse_of(panel: Panel) -> Floats:
    """The pseudo-inverse of L in (values, biases), from dense matrices alone."""
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    design = np.zeros((panel.n_assessments, size))
    design[np.arange(panel.n_assessments), panel.object_index] = 1.0
    design[np.arange(panel.n_assessments), panel.assessor_index.astype(np.int64) + n_objects] = 1.0
    return np.asarray(np.linalg.pinv(design.T @ (np.array(panel.precision)[:, None] * design), rcond=1e-13))


def differences(values: Floats, biases: Floats) -> Floats:
    """Values and biases without what the gauge adds."""
    return np.concatenate([values - values[0], biases + values[0]])


@pytest.mark.parametrize("decades", [0.0, 2.0])
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.__name__)
def test_all_solvers_find_the_estimates_of_the_dense_reference(graph: Callable[[int], Edges], decades: float) -> None:
    panel = panel_on(graph(40), decades=decades)
    inverse = inverse_of(panel)
    right = np.zeros(panel.n_objects + panel.n_assessors)
    np.add.at(right, panel.object_index, panel.precision * panel.score)
    np.add.at(right, panel.assessor_index.astype(np.int64) + panel.n_objects, panel.precision * panel.score)
    wanted = inverse @ right
    wanted = differences(wanted[: panel.n_objects], wanted[panel.n_objects :])
    for name, solver in solvers(system_of(panel)).items():
        found = solver.solve(panel.score)
        assert np.abs(differences(found.values, found.biases) - wanted).max() < 1e-7, name


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.__name__)
def test_exact_solvers_agree_on_variances_contrasts_determinant_and_gap(graph: Callable[[int], Edges]) -> None:
    panel = panel_on(graph(40), decades=1.0)
    inverse = inverse_of(panel)
    system = system_of(panel)
    n_objects = panel.n_objects
    laplacian = np.linalg.pinv(inverse, rcond=1e-13)
    log_determinant = np.linalg.slogdet(laplacian[1:, 1:])[1]
    normalised = system.dense / np.sqrt(np.outer(system.gone_total, system.kept_total))
    mu2 = 1.0 - np.linalg.svd(normalised, compute_uv=False)[1]
    first, second = np.zeros((n_objects, 1)), np.zeros((panel.n_assessors, 1))
    first[0], first[-1] = 1.0, -1.0
    variance = inverse[0, 0] + inverse[n_objects - 1, n_objects - 1] - 2 * inverse[0, n_objects - 1]
    leverage = [
        inverse[o, o] + 2 * inverse[o, n_objects + a] + inverse[n_objects + a, n_objects + a]
        for o, a in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
    ]
    for name in ("direct", "sparse", "auto"):
        solver = solvers(system)[name]
        np.testing.assert_allclose(solver.contrasts(first, second)[0], variance, rtol=1e-9, err_msg=name)
        of_objects, cross, of_assessors = solver.edges()
        np.testing.assert_allclose(of_objects + 2 * cross + of_assessors, leverage, rtol=1e-8, err_msg=name)
        assert solver.log_determinant() == pytest.approx(log_determinant, abs=1e-7), name
        assert solver.mu2() == pytest.approx(mu2, rel=1e-8), name
        # the diagonal, in the gauge that keeps the first object at zero
        ends = np.zeros(n_objects)
        ends[0] = 1.0
        image = solver.apply(ends, np.zeros(panel.n_assessors))
        diagonal = solver.diagonal()
        of_values = diagonal[0] - 2 * image[0] + diagonal[0][0]
        wanted = np.diagonal(inverse)[:n_objects] - 2 * inverse[0, :n_objects] + inverse[0, 0]
        np.testing.assert_allclose(of_values, wanted, rtol=1e-8, atol=1e-10 * wanted.max(), err_msg=name)


@pytest.mark.parametrize("weight", [1e-12, 1e-6])
@pytest.mark.parametrize("name", ["direct", "sparse", "auto"])
def test_groups_joined_by_next_to_nothing_are_solved_to_the_digits_or_refused(name: str, weight: float) -> None:
    panel = panel_on(panels_joined_in_a_ring(8))
    confidence = np.ones(panel.n_assessments)
    confidence[-8:] = weight
    panel = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, confidence)
    reference = exact_fit(panel)
    wanted = differences(doubles(reference.values), doubles(reference.biases))
    try:
        found = solvers(system_of(panel))[name].solve(panel.score)
    except SolveError:
        assert name == "sparse"  # which may refuse; the one that chooses may not
        assert weight == 1e-12
        return
    np.testing.assert_allclose(
        differences(found.values, found.biases), wanted, rtol=0, atol=1e-8 * np.abs(wanted).max()
    )


@given(panel=connected_panels(most=8, least_assessors=2, least_objects=2), seed=st.integers(0, 5))
@settings(max_examples=60)
def test_solvers_agree_on_random_panels(panel: Panel, seed: int) -> None:
    system = system_of(panel)
    answers = {name: solver.solve(panel.score) for name, solver in solvers(system).items()}
    wanted = differences(answers["direct"].values, answers["direct"].biases)
    for name, found in answers.items():
        assert np.abs(differences(found.values, found.biases) - wanted).max() <= 1e-6, name
    draws = [solver.draw(np.random.default_rng(seed), 3)[0].shape for solver in solvers(system).values()]
    assert set(draws) == {(3, panel.n_objects)}


def test_an_iteration_that_would_take_too_long_says_so_and_gives_nothing() -> None:
    panel = panel_on(chain(400))
    hasty = IterativeSolver(system_of(panel), patience=30)
    assert hasty.attempt(panel.score) is None
    assert not hasty.steps.converged
    assert hasty.steps.forecast > 30
    with pytest.raises(SolveError, match="did not converge"):
        hasty.solve(panel.score)


def test_the_choice_turns_to_a_factor_where_the_panel_is_weakly_joined_and_says_why() -> None:
    panel = panel_on(panels_joined_in_a_ring(300))
    solver = choose_solver(system_of(panel))
    found = solver.solve(panel.score)
    assert "sparse Cholesky" in solver.reason
    assert "steps" in solver.reason
    dense = DirectSolver(solver.system).solve(panel.score)
    assert np.abs(differences(found.values, found.biases) - differences(dense.values, dense.biases)).max() < 1e-8
    assert solver.exact.diagonal_error == 0.0
    assert isinstance(solver.exact, SparseSolver)


def test_well_connected_panels_are_iterated_and_say_so() -> None:
    panel = well_connected(500, 300, 8)
    solver = choose_solver(system_of(panel))
    solver.solve(panel.score)
    assert "conjugate gradients" in solver.reason
    assert isinstance(solver.exact, DirectSolver)


def test_a_solver_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(Exception, match="A solver can be auto, direct, sparse, iterative, not 'magic'"):
        choose_solver(system_of(random_panel(1)), "magic")  # type: ignore[arg-type]


def test_sampled_leverages_are_close_and_add_up_to_the_number_of_parameters() -> None:
    panel = well_connected(120, 60, 12, decades=1.0)
    system = system_of(panel)
    exact, sampled = DirectSolver(system), IterativeSolver(system, samples=512)
    wanted, found = (
        np.array(panel.precision) * (entries[0] + 2 * entries[1] + entries[2])
        for entries in (exact.edges(), sampled.edges())
    )
    assert np.median(np.abs(found / wanted - 1)) < 0.02
    assert found.sum() == pytest.approx(panel.n_objects + panel.n_assessors - 1, rel=0.01)


@pytest.mark.parametrize("orientation", ["more objects", "more assessors"])
@pytest.mark.parametrize("decades", [0.0, 1.0])
def test_sampled_variances_are_right_within_their_stated_error(orientation: str, decades: float) -> None:
    panel = well_connected(120, 60, 12, decades=decades)
    if orientation == "more assessors":
        panel = Panel.from_arrays(panel.assessor_index, panel.object_index, panel.score, panel.precision)
    system = system_of(panel)
    sampled = IterativeSolver(system, samples=512)
    exact = DirectSolver(system)
    # the same gauge for both: the kept side's weighted mean is zero
    kept_weight, gone_weight = system.kept_total, np.zeros(system.n_gone)
    weights = system.orient(kept_weight, gone_weight)
    image = system.orient(*exact.apply(*weights))
    level = kept_weight @ image[0] / kept_weight.sum() ** 2
    kept, gone = system.orient(*exact.diagonal())
    kept = kept - 2 * image[0] / kept_weight.sum() + level
    gone = gone + 2 * image[1] / kept_weight.sum() + level
    found = system.orient(*sampled.diagonal())
    relative = np.concatenate([found[0] / kept - 1, found[1] / gone - 1])
    assert 0 < sampled.diagonal_error < 0.02
    assert np.median(np.abs(relative)) < 2 * sampled.diagonal_error
    assert np.abs(relative).max() < 0.1
    assert np.abs(relative.mean()) < 0.005  # no bias


def test_sampling_works_for_confidences_of_any_fraction_in_the_default_gauge() -> None:
    panel = well_connected(300, 220, 5, decades=2.0)
    sampled, exact = (calibrate(panel, solver=kind) for kind in ("iterative", "direct"))
    assert sampled.values.sd is not None
    assert exact.values.sd is not None
    assert np.median(np.abs(sampled.values.sd / exact.values.sd - 1)) < 0.1


def test_a_weak_link_that_the_scores_say_nothing_about_is_not_overlooked() -> None:
    half = well_connected(260, 220, 6)
    o, a = half.object_index.astype(np.int64), half.assessor_index.astype(np.int64)
    objects = np.concatenate([o, o + half.n_objects, [half.n_objects]])
    assessors = np.concatenate([a, a + half.n_assessors, [0]])
    confidence = np.concatenate([np.full(2 * o.size, 900.0), [1e-3]])
    panel = Panel.from_arrays(objects, assessors, np.concatenate([half.score, half.score, [60.0]]), confidence)
    across = {panel.objects[0]: 1.0, panel.objects[-1]: -1.0}
    found, exact = (calibrate(panel, solver=kind).contrast(across) for kind in ("auto", "direct"))
    assert exact.sd is not None
    assert abs(found.estimate - exact.estimate) <= 1e-6 * exact.sd
    assert found.sd == pytest.approx(exact.sd, rel=1e-6)


def unexcited_barbell() -> tuple[Panel, Panel]:
    """Two equal halves but for an offset of 1, joined by one assessment that weighs next to nothing; and one half.

    What is left of the right-hand side along the weak link is so little that conjugate gradients stop without it.
    """
    generator = np.random.default_rng(0)
    n_objects, n_assessors, each = 3000, 150, 6
    o = np.repeat(np.arange(n_objects), each)
    a = np.argsort(generator.random((n_objects, n_assessors)), axis=1)[:, :each].ravel()
    score = generator.normal(60, 10, n_objects)[o] + generator.normal(0, 5, n_assessors)[a]
    score += generator.standard_normal(o.size)
    confidence = np.full(o.size, 999.0)
    both = Panel.from_arrays(
        np.concatenate([o, o + n_objects, [n_objects]]),
        np.concatenate([a, a + n_assessors, [0]]),
        np.concatenate([score, score + 1.0, [60.0]]),
        np.concatenate([confidence, confidence, [1e-3]]),
    )
    return both, Panel.from_arrays(o, a, score, confidence)


def test_an_iteration_that_stops_before_it_meets_a_weak_link_is_not_believed() -> None:
    panel, _ = unexcited_barbell()
    hasty = IterativeSolver(system_of(panel), patience=150)
    assert hasty.attempt(panel.score) is None
    assert hasty.steps.converged  # as far as it could see
    assert hasty.steps.count < 20


@pytest.mark.parametrize("factors", [True, False], ids=["a factor", "sampling"])
def test_a_difference_across_a_link_that_scores_hardly_excite_has_its_sd(
    factors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not factors:
        if not compiled.is_compiled():
            pytest.skip("numba is not installed")
        monkeypatch.setattr("evenhand.solve.choose.DENSE", 0)
        monkeypatch.setattr("evenhand.solve.choose._LINKS", 0)
    panel, half = unexcited_barbell()
    # v_i of one half less v_j of the other is (v_i + b_0) - (v_j - v_0') - (v_0' + b_0), whose last part only the
    # weak link knows, and nothing but it
    own = calibrate(half, solver="direct")
    near = own.contrast(values={"17": 1.0}, biases={"0": 1.0})
    far = own.contrast(values={"29": 1.0, "0": -1.0})
    noise = own.residual / own.degrees_of_freedom
    wanted = near.estimate - far.estimate - 60.0
    unit = sum((c.sd or np.nan) ** 2 for c in (near, far)) / (own.noise_variance or np.nan) + 1.0 / 1e-3
    fit = calibrate(panel)
    found = fit.contrast({"17": 1.0, "3029": -1.0})
    assert found.sd is not None
    assert fit.residual / fit.degrees_of_freedom == pytest.approx(noise, rel=1e-9)
    assert found.sd == pytest.approx(np.sqrt(unit * (fit.noise_variance or np.nan)), rel=1e-6)
    assert abs(found.estimate - wanted) < 1e-6 * found.sd
    assert fit.values.sd is not None
    # in the weighted gauge each half lies half of that difference away from zero
    np.testing.assert_allclose(fit.values.sd, found.sd / 2, rtol=1e-3 if factors else 0.3)


@pytest.mark.parametrize("side", ["assessor", "object"])
@pytest.mark.parametrize("decades", [0.0, 4.0])
def test_who_is_alone_is_known_exactly_by_iteration_too(side: str, decades: float) -> None:
    generator = np.random.default_rng(3)
    many, one = np.repeat(np.arange(40), 3), np.zeros(120, dtype=np.int64)
    confidence = 10.0 ** generator.uniform(-decades / 2, decades / 2, 120)
    sides = (many, one) if side == "assessor" else (one, many)
    panel = Panel.from_arrays(*sides, generator.normal(60, 10, 120), confidence)
    system = system_of(panel)
    solver = IterativeSolver(system)
    found = solver.solve(panel.score)
    total = np.bincount(many, weights=confidence)
    means = np.bincount(many, weights=confidence * panel.score) / total
    np.testing.assert_allclose(np.add.outer(found.values, found.biases).ravel(), means, rtol=1e-12)
    kept, gone = system.orient(*solver.diagonal())
    assert kept.tolist() == [0.0]
    np.testing.assert_allclose(gone, 1 / total, rtol=1e-14)
    assert solver.diagonal_error == 0.0
    assert solver.log_determinant() == pytest.approx(np.log(total).sum(), rel=1e-14)
    assert solver.log_determinant_error == 0.0
    first, cross, last = solver.edges()
    np.testing.assert_allclose(first + 2 * cross + last, 1 / total[many], rtol=1e-13)
    drawn = system.orient(*solver.draw(generator, 3))
    assert not drawn[0].any()
    assert drawn[1].shape == (3, 40)


def test_groups_of_one_assessor_beside_others_have_exact_variances() -> None:
    edges = [(o, 0) for o in range(5)] + [(5 + o, 1 + a) for o in range(30) for a in range(4)]
    panel = panel_on(edges)
    fits = [calibrate(panel, per_component=True, solver=kind) for kind in ("iterative", "direct")]
    found, wanted = (fit.values.sd for fit in fits)
    assert found is not None
    assert wanted is not None
    np.testing.assert_allclose(found[:5], wanted[:5], rtol=1e-12)
    assert fits[0].biases.sd is not None
    assert fits[0].biases.sd[0] == 0.0
    solver = fits[0].posterior.solver
    assert solver is not None
    assert 0 < solver.diagonal_error < 0.1


def path_laplacian(n: int) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Multiplication by a quarter of the second difference, whose eigenvalues sin^2(k pi / 2(n + 1)) are well known."""

    def apply(x: Floats) -> tuple[Floats, Floats]:
        image = x / 2
        image[1:] -= x[:-1] / 4
        image[:-1] -= x[1:] / 4
        return image, np.zeros(1)

    return apply


@pytest.mark.parametrize("most", [100_000, 300])
def test_all_looks_at_the_spectrum_take_time_in_proportion_to_the_steps(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    look = krylov._smallest_ritz

    def counted(diagonal: list[float], off: list[float]) -> float:
        looks.append(len(diagonal))
        return look(diagonal, off)

    monkeypatch.setattr(krylov, "_smallest_ritz", counted)
    n = 3000
    answer = np.random.default_rng(0).standard_normal(n)
    operator = path_laplacian(n)
    right = operator(answer)[0]
    found = krylov.conjugate_gradients(operator, right, target=lambda _: 1e-6, most=most)
    error = found.answer - answer
    assert np.sqrt(error @ operator(error)[0]) <= found.error  # which a look at the last step stands behind
    assert looks[-1] == found.count
    assert sum(looks) < 30 * found.count
    assert found.converged == (most > 300)
    assert found.count >= min(n // 4, most)
    if found.converged:
        assert found.smallest == pytest.approx(np.sin(np.pi / 2 / (n + 1)) ** 2, rel=0.01)


def test_groups_without_links_of_their_own_are_calibrated_too() -> None:
    edges = [(i, j) for j in range(300) for i in (j, j + 1)] + [(301, 300), (302, 300)]
    fit = calibrate(panel_on(edges), per_component=True)
    assert fit.connectivity.n_components == 2


def test_a_sampled_determinant_is_right_within_its_stated_error() -> None:
    system = system_of(well_connected(300, 200, 10, decades=1.0))
    sampled, exact = IterativeSolver(system), DirectSolver(system)
    assert sampled.log_determinant_error > 0
    assert abs(sampled.log_determinant() - exact.log_determinant()) < 5 * sampled.log_determinant_error


def test_draws_of_the_iterative_and_the_sparse_solver_have_the_covariance_of_the_inverse() -> None:
    panel = random_panel(2, 12, 8, 40)
    system = system_of(panel)
    inverse = inverse_of(panel)
    contrast = np.zeros(panel.n_objects + panel.n_assessors)
    contrast[0], contrast[1] = 1.0, -1.0
    wanted = contrast @ inverse @ contrast
    count = 4000
    for solver in (IterativeSolver(system), SparseSolver(system)):
        drawn = np.hstack(solver.draw(np.random.default_rng(1), count)) @ contrast
        assert drawn.var() / wanted == pytest.approx(1.0, abs=5 * np.sqrt(2 / count))
        assert abs(drawn.mean()) < 5 * np.sqrt(wanted / count)


@pytest.mark.parametrize("n", [400])
def test_memory_for_a_dense_factor_is_foreseen(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = well_connected(n + 100, n, 8)
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)
    monkeypatch.setattr("evenhand.memory.available", lambda: 2**20)
    solver = choose_solver(system_of(panel), "direct")
    with pytest.raises(LimitError, match=r"0\.01 GiB of memory for a dense factor and inverse of 400 equations"):
        solver.solve(panel.score)
    automatic = choose_solver(system_of(panel))
    automatic.solve(panel.score)
    assert automatic.diagonal_error > 0  # falls back to sampling, and says that it did


def test_memory_for_a_sparse_factor_is_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = well_connected(500, 400, 3)
    system = system_of(panel)
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)

    def refused(room: int, what: str, ask: Callable[[], object]) -> None:
        monkeypatch.setattr("evenhand.memory.available", lambda: room)
        with pytest.raises(LimitError, match=f"of memory for {what}"):
            ask()

    refused(2**16, "the links between 400 members", lambda: choose_solver(system, "sparse").solve(panel.score))
    refused(2**19, "a sparse factor of 400 equations", lambda: choose_solver(system, "sparse").solve(panel.score))
    monkeypatch.setattr("evenhand.memory.available", lambda: 2**28)
    solver = choose_solver(system, "sparse")
    solver.solve(panel.score)
    refused(2**18, "entries of the inverse of 399 equations", solver.diagonal)


def test_a_weakly_joined_panel_is_solved_though_no_factor_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_on(panels_joined_in_a_ring(300))
    wanted = choose_solver(system_of(panel)).solve(panel.score)
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)
    monkeypatch.setattr("evenhand.memory.available", lambda: 2**10)
    solver = choose_solver(system_of(panel))
    found = solver.solve(panel.score)
    assert solver.reason.startswith("iterative")
    assert np.abs(differences(found.values, found.biases) - differences(wanted.values, wanted.biases)).max() < 1e-6


@pytest.mark.parametrize("kind", ["direct", "sparse", "iterative"])
def test_memory_for_very_many_draws_is_foreseen(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = random_panel(2, 12, 8, 40)
    solver = choose_solver(system_of(panel), kind)
    solver.solve(panel.score)
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)
    monkeypatch.setattr("evenhand.memory.available", lambda: 8 * 20 * 1999)
    with pytest.raises(LimitError, match="memory for 2,000 draws of 20 values and biases"):
        solver.draw(np.random.default_rng(0), 2000)
    assert solver.draw(np.random.default_rng(0), 500)[0].shape == (500, 12)


_MEASURE = """
import json, re
import numpy as np
import evenhand as eh

def status(name):
    with open("/proc/self/status") as file:
        return int(re.search(name + r":\\s+(\\d+)", file.read())[1]) * 1024

n_assessors, n_objects, each = 1_000, 1_500_000, 4
generator = np.random.default_rng(0)
steps = np.cumsum(generator.integers(1, n_assessors // (each + 1), (n_objects, each)), axis=1)
assessors = (generator.integers(0, n_assessors, (n_objects, 1)) + steps) % n_assessors
objects = np.repeat(np.arange(n_objects, dtype=np.int32), each)
panel = eh.Panel.from_arrays(objects, assessors.ravel().astype(np.int32), generator.normal(60, 10, objects.size))
del objects, assessors, steps
eh.calibrate(panel).values.sd  # once before, so that loops are compiled
fit = eh.calibrate(panel)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = status("VmRSS")
fit.values.sd
print(json.dumps([status("VmHWM") - before, fit.connectivity.solver._dense_bytes]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_the_memory_foreseen_for_dense_work_is_what_it_takes() -> None:
    run = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True)
    taken, foreseen = json.loads(run.stdout)
    assert foreseen / 1.5 < taken < 1.5 * foreseen


def test_variances_of_objects_with_many_scores_come_from_the_quicker_way(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (DirectSolver(system_of(well_connected(450, 400, each, decades=1.0))) for each in (3, 20))
    assert few._by_pairs
    assert not many._by_pairs
    for solver in (few, many):
        other = DirectSolver(solver.system)
        with monkeypatch.context() as changed:
            changed.setattr(direct_module, "_PAIR", 10**9 if solver is few else 0)
            assert other._by_pairs != (solver is few)
            wanted = (*other.diagonal(), *other.edges())
        for one, two in zip((*solver.diagonal(), *solver.edges()), wanted, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(two).max())


def test_a_factor_without_subtractions_is_the_factor() -> None:
    system = system_of(well_connected(300, 260, 4, decades=3.0))
    schur = system.schur()
    free = np.delete(np.arange(system.n_kept), [7, 200])
    before = schur.copy()
    factor = direct_module.laplacian_factor(schur, free)
    np.testing.assert_array_equal(schur, before)
    assert not np.triu(factor, 1).any()
    wanted = np.linalg.cholesky(schur[np.ix_(free, free)])
    np.testing.assert_allclose(factor, wanted, rtol=0, atol=1e-12 * wanted.max())


# The same answers from compiled loops


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("decades", [0.0, 2.0])
def test_compiled_loops_give_the_answers_of_plain_ones(decades: float, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_on(power_law(2500), decades=decades)  # more than one block of the eliminated side
    looped = system_of(panel)
    fast = IterativeSolver(looped)
    found = fast.solve(panel.score)
    assert found.residual is not None
    of_looped = fast.diagonal()
    image = fast.apply(np.linspace(0, 1, panel.n_objects), np.linspace(0, -1, panel.n_assessors))
    monkeypatch.setattr(compiled, "LARGE", 10**9)
    plain = system_of(panel)
    slow = IterativeSolver(plain)
    wanted = slow.solve(panel.score)
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.biases, wanted.biases, rtol=0, atol=1e-8)
    assert wanted.residuals is not None
    assert found.residual == pytest.approx(float(panel.precision @ wanted.residuals**2), rel=1e-9)
    other = slow.apply(np.linspace(0, 1, panel.n_objects), np.linspace(0, -1, panel.n_assessors))
    for one, two in zip(image, other, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6 * np.abs(two).max())
    for one, two in zip(of_looped, slow.diagonal(), strict=True):  # other draws, so only alike
        assert np.median(np.abs(one / two - 1)) < 0.2
    assert np.array_equal(plain.kept_total, looped.kept_total)


@pytest.mark.usefixtures("_compiled")
def test_threads_that_come_and_go_leave_no_memory_behind() -> None:
    system = system_of(panel_on(power_law(300)))
    blocks = system._blocks
    assert blocks is not None
    x = np.linspace(-1, 1, system.n_kept)
    wanted = system.couple(x)[0]
    arrived = threading.Barrier(20)

    def ask() -> None:
        arrived.wait()  # so that all of them are there at a time, and none has the number of one that has gone
        np.testing.assert_array_equal(system.couple(x)[0], wanted)
        arrived.wait()

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(blocks._rooms) <= compiled.ROOMS


@pytest.mark.usefixtures("_compiled")
@given(edges=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=14))
@settings(max_examples=50)
def test_compiled_loops_find_the_same_groups(edges: Edges) -> None:
    objects, o = np.unique([o for o, _ in edges], return_inverse=True)
    assessors, a = np.unique([a for _, a in edges], return_inverse=True)
    panel = Panel.from_arrays(o, a, np.zeros(o.size))
    found = find_components(panel)
    compiled.LARGE = 10**9  # type: ignore[misc]  # the fixture puts it back
    try:
        wanted = find_components(panel)
    finally:
        compiled.LARGE = 1  # type: ignore[misc]
    assert found.n_components == wanted.n_components
    assert np.array_equal(found.object_component, wanted.object_component)
    assert np.array_equal(found.assessor_component, wanted.assessor_component)
    assert objects.size == panel.n_objects
    assert assessors.size == panel.n_assessors


def test_without_numba_everything_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.solve.sparse.is_compiled", lambda: False)
    monkeypatch.setattr("evenhand.solve.approximate.is_compiled", lambda: False)
    panel = panel_on(panels_joined_in_a_ring(40))
    system = system_of(panel)
    np.testing.assert_allclose(SparseSolver(system).diagonal()[0], DirectSolver(system).diagonal()[0], rtol=1e-9)
    assert approximate_inverse(system) is None
