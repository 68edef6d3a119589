"""Solvers against dense computations: fifty digits for solutions, pseudo-inverses for everything about L^-."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given

import evenhand as eh
from evenhand.compiled import one_thread
from evenhand.errors import LimitError, SolveError
from evenhand.panel.gauge import Anchor, Gauge
from evenhand.panel.panel import Panel
from evenhand.solve import Solver, choose_solver
from evenhand.solve.connectivity import connectivity
from evenhand.solve.direct import inverse_of_lower
from evenhand.solve.equations import make_system
from panels import connected_panels, exact_fit, gauges_for, panel_of, random_panel, worst

SIZES = [(8, 5), (5, 8), (12, 12), (25, 4), (1, 6), (6, 1), (1, 1), (2, 2)]


def solver_of(panel: Panel) -> Solver:
    return choose_solver(make_system(panel, connectivity(panel)))


def dense_laplacian(panel: Panel) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    size = panel.n_objects + panel.n_assessors
    rows = np.zeros((panel.n_assessments, size))
    rows[np.arange(panel.n_assessments), panel.object_index] = 1.0
    rows[np.arange(panel.n_assessments), panel.assessor_index + panel.n_objects] = 1.0
    return np.asarray(rows.T @ (panel.precision[:, None] * rows))


def agrees(panel: Panel, tolerance: float, *, equal: bool = False) -> None:
    """Compare values and biases in every gauge with a dense computation, relative to size and to spread."""
    exact = exact_fit(panel, equal=equal)
    model = eh.incomplete_block if equal else eh.calibrate
    for gauge in gauges_for(panel):
        values, biases = exact.in_gauge(gauge)
        fit = model(panel, gauge=gauge)
        largest = max(np.abs(values).max(), np.abs(biases).max())
        spread = max(np.ptp(values), np.ptp(biases), np.ptp(panel.score))
        assert worst(fit.values.estimate, values, largest) <= tolerance
        assert worst(fit.biases.estimate, biases, largest) <= tolerance
        if spread > 0:
            # rounding of the answer itself to doubles costs eps times its size
            limit = tolerance + 4 * np.finfo(float).eps * largest / spread
            assert worst(fit.values.estimate, values, spread) <= limit
            assert worst(fit.biases.estimate, biases, spread) <= limit
        assert fit.residual == pytest.approx(
            exact.residual(), rel=1e-10, abs=1e-22 * largest**2 * panel.total_confidence
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("equal", [True, False], ids=["iba", "cwc"])
def test_the_answer_agrees_with_fifty_digits_to_1e_12_in_every_gauge(size: tuple[int, int], equal: bool) -> None:
    for seed in range(3):
        agrees(random_panel(seed, *size, extra=10, decades=2), 1e-12, equal=equal)


@given(connected_panels(repeats=True))
def test_the_answer_agrees_with_fifty_digits_on_any_small_panel(panel: Panel) -> None:
    agrees(panel, 1e-12)


@pytest.mark.parametrize("method", ["sa", "cwa"])
def test_averages_agree_with_fifty_digits(method: str) -> None:
    for seed, size in enumerate(SIZES):
        panel = random_panel(seed, *size, extra=10, decades=6)
        exact = exact_fit(panel, equal=method == "sa", calibrated=False)
        fit = eh.simple_average(panel) if method == "sa" else eh.weighted_average(panel)
        wanted = np.array([float(value) for value in exact.values])
        assert worst(fit.values.estimate, wanted, np.abs(wanted).max()) <= 1e-15
        assert not fit.biases.estimate.any()
        assert fit.residual == pytest.approx(exact.residual(), rel=1e-12, abs=1e-20)


def chain(seed: int, order: str, *, closed: bool, n: int = 50) -> Panel:
    """Return assessors in a row, neighbours joined by one object, weights over six orders of magnitude."""
    generator = np.random.default_rng(seed)
    links = n if closed else n - 1
    objects = np.repeat(np.arange(links), 2)
    assessors = np.stack([np.arange(links), np.arange(1, links + 1) % n], axis=1).ravel()
    powers = generator.uniform(-3, 3, objects.size)
    if order == "sorted":
        powers = np.sort(powers)
    elif order == "alternating":
        powers = np.where(np.arange(objects.size) % 2 == 0, -3.0, 3.0)
    elif order == "alternating pairs":
        powers = np.where(np.arange(objects.size) // 2 % 2 == 0, -3.0, 3.0)
    return Panel.from_arrays(objects, assessors, generator.normal(60.0, 15.0, objects.size), 10.0**powers)


@pytest.mark.parametrize("order", ["random", "sorted", "alternating", "alternating pairs"])
@pytest.mark.parametrize("closed", [False, True], ids=["chain", "ring"])
def test_a_chain_of_fifty_assessors_with_weights_over_six_orders_keeps_eight_digits(order: str, closed: bool) -> None:
    for seed in range(2 if order == "random" else 1):
        agrees(chain(seed, order, closed=closed), 1e-8)


def test_wider_blocks_in_a_chain_of_weights_over_six_orders_keep_eight_digits() -> None:
    # blocks of three assessors that share six objects; neighbouring blocks share one object
    generator = np.random.default_rng(3)
    edges = []
    for block in range(8):
        edges += [(7 * block + o, 3 * block + a) for o in range(6) for a in generator.choice(3, 2, replace=False)]
        if block < 7:
            edges += [(7 * block + 6, 3 * block), (7 * block + 6, 3 * block + 3)]
    codes = np.array(edges)
    panel = Panel.from_arrays(
        np.unique(codes[:, 0], return_inverse=True)[1],
        np.unique(codes[:, 1], return_inverse=True)[1],
        generator.normal(60.0, 15.0, len(edges)),
        10.0 ** generator.uniform(-3, 3, len(edges)),
    )
    agrees(panel, 1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset", [1e9, -1e9])
def test_a_common_offset_of_1e9_costs_no_more_digits_than_it_must(seed: int, offset: float) -> None:
    panel = random_panel(seed, 10, 6, 14, decades=3)
    moved = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score + offset, panel.precision)
    one_digit = np.finfo(float).eps * 1e9
    exact = exact_fit(moved)  # of the scores as they are after the offset has cost its digits
    fit = eh.calibrate(moved, gauge="zero_sum")
    values, biases = exact.in_gauge("zero_sum")
    assert np.abs(fit.values.estimate - values).max() <= one_digit
    # biases and residuals do not hold the offset at all, so they keep every digit of the moved scores
    assert worst(fit.biases.estimate, biases, np.ptp(biases)) <= 1e-12
    assert fit.residual == pytest.approx(exact.residual(), rel=1e-12)
    # and against the panel before: only the rounding of the moved scores
    before = eh.calibrate(panel, gauge="zero_sum")
    reach = 10 / connectivity(panel).mu2
    assert np.abs(fit.values.estimate - offset - before.values.estimate).max() <= reach * one_digit
    assert fit.values.rank.tolist() == before.values.rank.tolist()


def nearly_apart(seed: int, link: float) -> Panel:
    """Return two groups of four assessors and five objects, joined by two assessments of tiny confidence."""
    generator = np.random.default_rng(seed)
    edges, confidence = [], []
    for group in range(2):
        for o in range(5):
            edges += [(5 * group + o, 4 * group + (o + step) % 4) for step in (0, 1)]
        confidence += generator.uniform(0.1, 3.0, 10).tolist()
    edges += [(int(generator.integers(5)), 4 + int(a)) for a in generator.choice(4, 2, replace=False)]
    confidence += [link, link]
    scores = generator.normal(50.0, 10.0, len(edges))
    return Panel.from_arrays([o for o, _ in edges], [a for _, a in edges], scores, confidence)


@pytest.mark.parametrize("seed", range(3))
def test_groups_joined_by_confidences_of_1e_9_keep_nine_digits(seed: int) -> None:
    agrees(nearly_apart(seed, 1e-9), 1e-9)


@pytest.mark.parametrize("link", [1e-12, 1e-15, 1e-20, 1e-26, 1e-30, 1e-60])
def test_an_answer_that_cannot_be_had_to_nine_digits_is_refused_and_never_wrong(link: float) -> None:
    gauge: Gauge = Anchor(assessor="0")
    for seed in range(30):
        panel = nearly_apart(seed, link)
        try:
            fit = eh.calibrate(panel, gauge=gauge)
        except SolveError:
            continue
        exact = exact_fit(panel, digits=150)
        values, _ = exact.in_gauge(gauge)
        # "to nine digits" is what the error promises; a factor of ten for the size of the answer
        assert worst(fit.values.estimate, values, np.ptp(values)) <= 1e-8, f"seed {seed}"


@given(connected_panels(repeats=True))
def test_apply_is_a_symmetric_generalised_inverse(panel: Panel) -> None:
    solver = solver_of(panel)
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    identity = np.eye(size)
    inverse = np.vstack(solver.apply(identity[:n_objects], identity[n_objects:]))
    laplacian = dense_laplacian(panel)
    np.testing.assert_allclose(laplacian @ inverse @ laplacian, laplacian, rtol=0, atol=1e-9 * laplacian.max())
    np.testing.assert_allclose(inverse, inverse.T, rtol=0, atol=1e-10 * np.abs(inverse).max())
    one = np.concatenate(solver.apply(identity[:n_objects, 0], identity[n_objects:, 0]))
    np.testing.assert_allclose(one, inverse[:, 0], rtol=1e-12, atol=1e-14 * np.abs(inverse).max())


@given(connected_panels(repeats=True))
def test_diagonal_and_edges_are_entries_of_the_inverse_that_apply_uses(panel: Panel) -> None:
    solver = solver_of(panel)
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    identity = np.eye(size)
    inverse = np.vstack(solver.apply(identity[:n_objects], identity[n_objects:]))
    tolerance = 1e-11 * np.abs(inverse).max()
    np.testing.assert_allclose(np.concatenate(solver.diagonal()), np.diagonal(inverse), rtol=0, atol=tolerance)
    objects, assessors = panel.object_index, panel.assessor_index + n_objects
    for found, (row, column) in zip(
        solver.edges(), ((objects, objects), (objects, assessors), (assessors, assessors)), strict=True
    ):
        np.testing.assert_allclose(found, inverse[row, column], rtol=0, atol=tolerance)


def test_blocks_of_rows_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    # more rows than a block of 2^24 numbers holds would be slow to test: a large kept side makes small blocks instead
    panel = random_panel(2, 40, 6, 60)
    whole = [*solver_of(panel).diagonal(), *solver_of(panel).edges()]
    kind = type(make_system(panel, connectivity(panel)))
    solver = solver_of(panel)
    assert solver.diagonal() is not None  # the inverse is made before the size is faked
    monkeypatch.setattr(kind, "n_kept", property(lambda _: 2**21))
    parts = [*solver.diagonal(), *solver.edges()]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@given(connected_panels(repeats=True))
def test_the_log_determinant_is_that_of_the_laplacian_without_a_row_and_column(panel: Panel) -> None:
    laplacian = dense_laplacian(panel)
    for drop in (0, laplacian.shape[0] - 1):  # any cofactor of a Laplacian is the same
        minor = np.delete(np.delete(laplacian, drop, 0), drop, 1)
        sign, wanted = np.linalg.slogdet(minor)
        assert sign == 1
        assert solver_of(panel).log_determinant() == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_the_log_determinant_of_several_groups_is_the_sum_of_theirs() -> None:
    one, other = random_panel(1, 4, 3, 4), random_panel(2, 5, 4, 5)
    both = Panel.from_arrays(
        np.concatenate([one.object_index, other.object_index + 4]),
        np.concatenate([one.assessor_index, other.assessor_index + 3]),
        np.concatenate([one.score, other.score]),
        np.concatenate([one.precision, other.precision]),
    )
    parts = solver_of(one).log_determinant() + solver_of(other).log_determinant()
    assert solver_of(both).log_determinant() == pytest.approx(parts, rel=1e-12)


@pytest.mark.parametrize("size", [(6, 4), (4, 6)], ids=["keeps assessors", "keeps objects"])
def test_draws_have_the_covariance_that_apply_says(size: tuple[int, int]) -> None:
    panel = random_panel(11, *size, extra=5)
    solver = solver_of(panel)
    total = sum(size)
    identity = np.eye(total)
    inverse = np.vstack(solver.apply(identity[: size[0]], identity[size[0] :]))
    count = 40_000
    draws = np.hstack(solver.draw(np.random.default_rng(5), count))
    assert draws.shape == (count, total)
    found = draws.T @ draws / count
    variances = np.diagonal(inverse)
    error = np.sqrt((np.outer(variances, variances) + inverse**2) / count)
    sure = variances > 1e-12  # the grounded vertex does not move at all
    assert np.abs((found - inverse)[np.ix_(sure, sure)] / error[np.ix_(sure, sure)]).max() < 5
    assert (np.abs(draws.mean(axis=0)) <= 5 * np.sqrt(variances / count) + 1e-12).all()


def test_the_same_seed_gives_the_same_draws() -> None:
    solver = solver_of(random_panel(1))
    first, second = (solver.draw(np.random.default_rng(9), 3) for _ in range(2))
    assert (first[0] == second[0]).all()
    assert (first[1] == second[1]).all()


def test_memory_that_cannot_be_had_is_refused_with_the_figure_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.memory.TRIFLE", 0)
    monkeypatch.setattr("evenhand.memory.available", lambda: 100)
    with pytest.raises(LimitError, match=r"needs 0\.00 GiB of memory for a dense factor and inverse of 3 equations"):
        eh.calibrate(panel_of([(o, a) for o in range(3) for a in range(3)]))


def test_an_offset_between_scores_too_large_for_the_machine_is_an_error_and_no_number() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 0), (1, 1)], [1.7e308, -1.7e308, 1.0, 2.0])
    with pytest.raises(SolveError, match="too extreme"):
        eh.calibrate(panel)


def test_small_systems_are_solved_in_one_thread_and_what_was_set_comes_back() -> None:
    import scipy.linalg.lapack  # noqa: F401  # with threads of its own
    from threadpoolctl import threadpool_info, threadpool_limits

    def set_now() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    with one_thread(10_000), threadpool_limits(2, user_api="blas"):
        before = set_now()
        with one_thread(100):
            with one_thread(200), one_thread(10):
                assert set(set_now()) == {1}
            assert set(set_now()) == {1}
        assert set_now() == before


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 65, 128])
def test_the_inverse_of_a_triangle_is_that_of_lapack_whatever_stands_above_its_diagonal(size: int) -> None:
    generator = np.random.default_rng(size)
    square = generator.normal(size=(size, size)) + 3 * np.sqrt(size) * np.eye(size)
    expected = scipy.linalg.solve_triangular(square, np.eye(size), lower=True)
    assert np.allclose(inverse_of_lower(square), expected, rtol=1e-12, atol=1e-14)
