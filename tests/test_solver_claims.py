"""What solvers and live updates claim, against dense algebra, networkx and many digits, on hostile panels."""

import multiprocessing
import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

import evenhand as eh
from evenhand import compiled
from evenhand.answers.evidence import evidence
from evenhand.answers.heldout import leverages
from evenhand.errors import NotConnectedError
from evenhand.solve.corrections import UpdatedSolver
from evenhand.solve.equations import System
from panels import exact_fit

Floats = NDArray[np.float64]
Edges = list[tuple[int, int]]

# Graphs, all with more than 200 on the smaller side, so that nothing is dense by default


def expander(n_assessors: int, n_objects: int, each: int, seed: int = 0) -> Edges:
    generator = np.random.default_rng(seed)
    edges = {(o, int(a)) for o in range(n_objects) for a in generator.choice(n_assessors, each, replace=False)}
    return sorted(edges | {(a % n_objects, a) for a in range(n_assessors)})


def barbell() -> Edges:
    """Two well-connected panels that share one assessment."""
    one = expander(110, 160, 5)
    return one + [(o + 160, a + 110) for o, a in one] + [(160, 0)]


def ladder() -> Edges:
    return [(o, a) for a in range(250) for o in (a, a + 1, a + 2)]


def lollipop() -> Edges:
    """Everybody reads everything on one side; a chain hangs from it."""
    head = [(o, a) for o in range(110) for a in range(110)]
    return head + [(109 + a, 109 + a) for a in range(1, 110)] + [(108 + a, 109 + a) for a in range(1, 110)]


def grid() -> Edges:
    """Assessors on a square grid, an object between each two neighbours."""
    side = 15
    pairs = [(i * side + j, i * side + j + 1) for i in range(side) for j in range(side - 1)]
    pairs += [(i * side + j, (i + 1) * side + j) for i in range(side - 1) for j in range(side)]
    return [(o, a) for o, pair in enumerate(pairs) for a in pair]


def double_cover() -> Edges:
    """One long even cycle: the bipartite double cover of an odd one."""
    return [(i, i) for i in range(251)] + [(i, (i + 1) % 251) for i in range(251)]


def everything_twice() -> Edges:
    return expander(210, 300, 3) * 2


def more_assessors() -> Edges:
    return [(a, o) for o, a in expander(220, 400, 4)]


GRAPHS: list[Callable[[], Edges]] = [
    barbell,
    ladder,
    lollipop,
    grid,
    double_cover,
    everything_twice,
    more_assessors,
]


def panel_on(edges: Edges, *, decades: float = 0.0, noise: float = 3.0, seed: int = 0) -> eh.Panel:
    generator = np.random.default_rng(seed)
    o, a = np.array(edges).T
    score = generator.normal(60, 10, o.max() + 1)[o] + generator.normal(0, 5, a.max() + 1)[a]
    confidence = 10.0 ** generator.uniform(-decades / 2, decades / 2, o.size) if decades else None
    return eh.Panel.from_arrays(o, a, score + noise * generator.standard_normal(o.size), confidence)


def energy_of_error(fit: eh.Fit) -> float:
    """Return the largest error of any contrast in units of its own sd, from dense equations refined in long doubles."""
    panel = fit.panel
    o, a = panel.object_index.astype(np.int64), panel.assessor_index.astype(np.int64) + panel.n_objects
    weight = np.array(panel.precision)
    size = panel.n_objects + panel.n_assessors
    laplacian = np.zeros((size, size))
    np.add.at(laplacian, (o, o), weight)
    np.add.at(laplacian, (a, a), weight)
    np.add.at(laplacian, (o, a), weight)
    np.add.at(laplacian, (a, o), weight)
    inverse = np.linalg.inv(laplacian[1:, 1:])
    answer = np.zeros(size, dtype=np.longdouble)
    for _ in range(4):
        left = panel.score - answer[o] - answer[a]
        force = np.zeros(size, dtype=np.longdouble)
        np.add.at(force, o, weight * left)
        np.add.at(force, a, weight * left)
        answer[1:] += inverse @ force[1:].astype(np.float64)
    left = panel.score - answer[o] - answer[a]
    error = np.concatenate([fit.values.estimate, fit.biases.estimate]) - answer
    energy = (weight * np.square(error[o] + error[a])).sum()
    return float(np.sqrt(energy / (weight * left * left).sum() * fit.degrees_of_freedom))


@pytest.mark.parametrize("decades", [0.0, 5.0])
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.__name__)
def test_no_contrast_is_off_by_a_ten_millionth_of_its_own_sd(graph: Callable[[], Edges], decades: float) -> None:
    assert energy_of_error(eh.calibrate(panel_on(graph(), decades=decades))) < 1e-7


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.__name__)
def test_compiled_loops_keep_the_same_promise(graph: Callable[[], Edges]) -> None:
    assert energy_of_error(eh.calibrate(panel_on(graph(), decades=2.0))) < 1e-7


def test_a_preconditioned_iteration_keeps_the_same_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled.is_compiled():
        pytest.skip("numba is not installed")
    monkeypatch.setattr("evenhand.solve.choose.DENSE", 0)
    monkeypatch.setattr("evenhand.solve.choose._LINKS", 0)
    fit = eh.calibrate(panel_on(ladder(), decades=2.0))
    assert "approximate Cholesky" in fit.connectivity.solver.reason
    assert energy_of_error(fit) < 1e-7


@pytest.mark.parametrize("solver", ["auto", "iterative"])
@pytest.mark.parametrize("declared", [0.01, 1.0, 100.0])
def test_errors_are_small_beside_declared_uncertainties_however_wrong_these_are(solver: Any, declared: float) -> None:
    plain = panel_on(expander(220, 400, 4))
    confidence = np.where(plain.object_index % 2, 1.0, 1.5) / declared**2
    panel = eh.Panel.from_arrays(plain.object_index, plain.assessor_index, plain.score, confidence)
    fit = eh.calibrate(panel, noise="declared", solver=solver)
    assert "iterative" in fit.connectivity.solver.reason
    estimated = np.sqrt(fit.residual / fit.degrees_of_freedom)  # what the errors below are measured by
    assert energy_of_error(fit) * estimated < 1e-7


@pytest.mark.parametrize("solver", ["auto", "sparse", "iterative"])
def test_scores_that_are_all_equal_have_no_biases(solver: Any) -> None:
    o, a = np.array(expander(220, 400, 4)).T
    panel = eh.Panel.from_arrays(o, a, np.full(o.size, 0.1))
    fit = eh.calibrate(panel, solver=solver)
    np.testing.assert_allclose(fit.values.estimate, 0.1, rtol=1e-14)
    np.testing.assert_allclose(fit.biases.estimate, 0.0, atol=1e-15)
    assert fit.residual == 0


@pytest.mark.parametrize("graph", [ladder, grid, more_assessors], ids=lambda graph: graph.__name__)
def test_solvers_agree_on_everything_that_a_fit_says(graph: Callable[[], Edges]) -> None:
    panel = panel_on(graph(), decades=2.0)
    wanted = eh.calibrate(panel, solver="direct")
    difference = {panel.objects[0]: 1.0, panel.objects[-1]: -1.0}
    covariance = wanted.covariance()
    assert covariance is not None
    for kind in ("sparse", "auto"):
        found = eh.calibrate(panel, solver=kind)
        assert found.residual == pytest.approx(wanted.residual, rel=1e-13)
        for one, other in ((found.values.sd, wanted.values.sd), (found.biases.sd, wanted.biases.sd)):
            assert one is not None
            assert other is not None
            np.testing.assert_allclose(one, other, rtol=1e-10)
        assert found.contrast(difference).sd == pytest.approx(wanted.contrast(difference).sd, rel=1e-10)
        again = found.covariance()
        assert again is not None
        np.testing.assert_allclose(again, covariance, rtol=0, atol=1e-10 * covariance.max())
        np.testing.assert_allclose(leverages(found), leverages(wanted), rtol=0, atol=1e-10)
        assert evidence(found).log_evidence == pytest.approx(evidence(wanted).log_evidence, abs=1e-8)
        assert found.connectivity.mu2 == pytest.approx(wanted.connectivity.mu2, rel=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_panels_that_hang_by_a_thread_are_right_to_eight_digits(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_objects, n_assessors, groups = 3, 2, 3
    edges = [
        (g * n_objects + o, g * n_assessors + a)
        for g in range(groups)
        for o in range(n_objects)
        for a in range(n_assessors)
    ]
    confidence = np.concatenate([10.0 ** generator.uniform(-1, 1, len(edges)), 10.0 ** generator.uniform(-9, -4, 2)])
    edges += [((g + 1) * n_objects, g * n_assessors) for g in range(groups - 1)]
    o, a = np.array(edges).T
    panel = eh.Panel.from_arrays(o, a, generator.normal(60, 10, o.size), confidence)
    values, biases = exact_fit(panel).in_gauge("weighted")
    fit = eh.calibrate(panel)
    size = max(np.abs(biases).max(), float(np.ptp(panel.score)))
    np.testing.assert_allclose(fit.values.estimate, values, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(fit.biases.estimate, biases, rtol=0, atol=1e-8 * size)


@pytest.mark.parametrize("solver", ["auto", "iterative"])
@pytest.mark.parametrize("gauge", ["weighted", "zero_sum", eh.Reference(50.0)], ids=str)
def test_sampled_variances_are_not_biased_in_any_gauge(
    gauge: Any, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.solve.choose.DENSE", 0)
    panel = panel_on(expander(220, 500, 8))
    found = eh.calibrate(panel, gauge=gauge, solver=solver)
    wanted = eh.calibrate(panel, gauge=gauge, solver="direct")
    stated = found.posterior.solver.diagonal_error if found.posterior.solver is not None else 0.0
    assert 0 < stated < 0.05
    for one, other in ((found.values.sd, wanted.values.sd), (found.biases.sd, wanted.biases.sd)):
        assert one is not None
        assert other is not None
        relative = np.square(one / other) - 1
        assert abs(relative.mean()) < 0.005
        assert np.median(np.abs(relative)) < 2 * stated
        assert np.abs(relative).max() < 10 * stated


# Live panels, large enough that nothing is fitted anew


def gauges_of(panel: eh.Panel) -> list[Any]:
    return [
        "weighted",
        "zero_sum",
        eh.Reference(50.0),
        eh.Anchor(assessor=panel.assessors[1], bias=2.0),
        eh.Anchor(values={panel.objects[0]: 60.0}),
        eh.Affine(np.linspace(1, 2, panel.n_assessors), 1.0),
    ]


def some_changes(panel: eh.Panel, generator: np.random.Generator, *, declared: bool) -> dict[str, Any]:
    """Draw one pair to remove, one to change and one to add."""
    known = set(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    rows = generator.permutation(panel.n_assessments)[:2].tolist()
    pairs = [(panel.objects[panel.object_index[e]], panel.assessors[panel.assessor_index[e]]) for e in rows]
    while (new := (int(generator.integers(panel.n_objects)), int(generator.integers(panel.n_assessors)))) in known:
        pass
    extra = [float(10 ** generator.uniform(-1, 1))] if declared else []
    put = [(*pairs[1], float(generator.normal(60, 10)), *extra)]
    put.append((panel.objects[new[0]], panel.assessors[new[1]], float(generator.normal(60, 10)), *extra))
    return {"remove": pairs[:1], "put": put}


@pytest.mark.parametrize(("which", "declared"), [(0, True), (1, True), (2, False), (3, False), (4, True), (5, False)])
def test_thirty_updates_of_a_large_panel_are_one_calibration(which: int, declared: bool) -> None:
    panel = panel_on(expander(220, 260, 5), decades=1.0 if declared else 0.0)
    gauge = gauges_of(panel)[which]
    method = eh.calibrate if which % 2 else eh.incomplete_block
    generator = np.random.default_rng(which)
    fit = method(panel, gauge=gauge)
    corrected = 0
    for _ in range(30):  # more than 48 changes, so that it is fitted anew on the way
        fit = eh.update(fit, **some_changes(fit.panel, generator, declared=declared))
        corrected += isinstance(fit.posterior.solver, UpdatedSolver)
    assert 20 <= corrected < 30
    now = fit.panel
    fresh = eh.Panel.from_arrays(
        now.object_index,
        now.assessor_index,
        now.score,
        np.array(now.precision) if declared else None,
        objects=now.objects,
        assessors=now.assessors,
    )
    wanted = method(fresh, gauge=gauge, solver="direct")
    assert fit.residual == pytest.approx(wanted.residual, rel=1e-12)
    for one, other in ((fit.values, wanted.values), (fit.biases, wanted.biases)):
        assert one.sd is not None
        assert other.sd is not None
        np.testing.assert_allclose(one.estimate, other.estimate, rtol=0, atol=1e-7)
        np.testing.assert_allclose(one.sd, other.sd, rtol=1e-8, atol=1e-7)


def test_the_last_link_between_two_parts_cannot_be_withdrawn_unnoticed() -> None:
    panel = panel_on(barbell())
    fit = eh.calibrate(panel)
    with pytest.raises(NotConnectedError, match="2 groups"):
        eh.update(fit, remove=[("160", "0")])


@pytest.mark.parametrize("weak", [1e-2, 1e-4, 1e-6])
def test_all_but_a_thread_can_be_withdrawn_without_loss(weak: float) -> None:
    edges = [*barbell(), (161, 1)]
    confidence = np.ones(len(edges))
    confidence[-1] = weak
    plain = panel_on(edges)
    panel = eh.Panel.from_arrays(plain.object_index, plain.assessor_index, plain.score, confidence)
    found = eh.update(eh.calibrate(panel), remove=[("160", "0")])
    assert isinstance(found.posterior.solver, UpdatedSolver)
    wanted = eh.calibrate(found.panel, solver="direct")
    assert found.values.sd is not None
    assert wanted.values.sd is not None
    assert np.abs((found.values.estimate - wanted.values.estimate) / wanted.values.sd).max() < 1e-7
    np.testing.assert_allclose(found.values.sd, wanted.values.sd, rtol=1e-5)


# Graphs, threads and processes


@pytest.mark.parametrize("large", [1, 10**6])
def test_groups_bridges_and_articulation_assessors_are_those_of_networkx(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large == 1 and not compiled.is_compiled():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(compiled, "LARGE", large)
    generator = np.random.default_rng(large)
    for _ in range(150):
        count = int(generator.integers(1, 30))
        sides = [
            np.unique(generator.integers(0, int(generator.integers(1, 12)), count), return_inverse=True)[1]
            for _ in range(2)
        ]
        pairs = list(zip(*(side.tolist() for side in sides), strict=True))
        found = eh.connectivity(eh.Panel.from_arrays(sides[0], sides[1], np.arange(count, dtype=np.float64)))
        graph = nx.Graph([(("o", o), ("a", a)) for o, a in pairs])
        cuts = {frozenset(edge) for edge in nx.bridges(graph)}
        times = Counter(pairs)
        bridges = [e for e, (o, a) in enumerate(pairs) if times[o, a] == 1 and frozenset((("o", o), ("a", a))) in cuts]
        assert found.n_components == nx.number_connected_components(graph)
        assert found.bridges.tolist() == bridges
        articulation = sorted(index for side, index in nx.articulation_points(graph) if side == "a")
        assert found.articulation_assessors.tolist() == articulation


@pytest.mark.usefixtures("_compiled")
def test_threads_that_ask_the_same_fit_do_not_disturb_each_other() -> None:
    panel = panel_on(expander(300, 5000, 4), decades=1.0)
    fit = eh.calibrate(panel, solver="iterative")

    def ask(k: int) -> float | None:
        return fit.contrast({panel.objects[k]: 1.0, panel.objects[k + 1]: -1.0}).sd

    alone = [ask(k) for k in range(40)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, range(40)))
    assert together == alone


def _send(panel: eh.Panel, end: Any) -> None:
    end.send(eh.calibrate(panel).values.estimate)


def _by_child(panel: eh.Panel) -> Floats:
    """Return the values that a forked child finds."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(panel, there))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is the point
        child.start()
    try:
        assert here.poll(30), "the child hangs"
        return np.asarray(here.recv())
    finally:
        child.kill()
        child.join()


@pytest.mark.usefixtures("_compiled")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_child_calibrates_as_its_parent_did() -> None:
    panel = panel_on(expander(300, 5000, 4))
    wanted = eh.calibrate(panel).values.estimate  # starts the threads, which a child does not inherit
    np.testing.assert_array_equal(_by_child(panel), wanted)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_child_forked_while_another_thread_calibrates_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_on(expander(30, 60, 4))
    wanted = eh.calibrate(panel).values.estimate
    parent, schur = os.getpid(), System.grounded_schur
    busy, done = threading.Event(), threading.Event()

    def slow(self: System, free: NDArray[np.int64], pole: int | None = None) -> Floats:
        if os.getpid() == parent:
            busy.set()
            done.wait(120)
        return schur(self, free, pole)

    monkeypatch.setattr(System, "grounded_schur", slow)
    thread = threading.Thread(target=eh.calibrate, args=(panel,))
    thread.start()
    assert busy.wait(60)
    try:
        np.testing.assert_array_equal(_by_child(panel), wanted)
    finally:
        done.set()
        thread.join()
