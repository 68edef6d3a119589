"""Priors, further unknowns and scales: every answer of their solvers against dense algebra, on random graphs."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import block_diag

from evenhand.errors import SolveError
from evenhand.panel.graph import find_components
from evenhand.panel.panel import Panel
from evenhand.solve import Solver, SolverKind, choose_solver
from evenhand.solve.bordered import BorderedSolver, StretchedSolver
from evenhand.solve.direct import DirectSolver
from evenhand.solve.equations import System, make_system
from evenhand.solve.priors import PriorGraph, PriorSolver, sums_over_priors
from panels import connected_panels, edge_lists, random_panel

Floats = NDArray[np.float64]
KINDS: list[SolverKind] = ["auto", "direct", "sparse", "iterative"]


def one_hot(index: NDArray[np.integer], count: int) -> Floats:
    chosen = np.zeros((index.size, count))
    chosen[np.arange(index.size), index] = 1.0
    return chosen


@dataclass(frozen=True)
class Dense:
    """The unknowns (values, biases, ...) of a weighted least-squares problem, solved with full matrices."""

    design: Floats
    weight: Floats
    prior: Floats
    members: int

    @property
    def precision(self) -> Floats:
        return np.asarray(self.design.T @ (self.weight[:, None] * self.design) + self.prior)

    @property
    def inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self.precision))

    @property
    def covariance(self) -> Floats:
        """Of values and biases alone."""
        return self.inverse[: self.members, : self.members]

    def mean(self, score: Floats) -> Floats:
        return np.asarray(np.linalg.solve(self.precision, self.design.T @ (self.weight * score)))

    def total(self, score: Floats) -> float:
        """Return the weighted sum of squares, with what the priors add."""
        mean = self.mean(score)
        return float(self.weight @ np.square(score - self.design @ mean) + mean @ self.prior @ mean)

    @property
    def leverage(self) -> Floats:
        return np.asarray(self.weight * np.einsum("ij,jk,ik->i", self.design, self.inverse, self.design))


def with_priors(panel: Panel, value_prior: Floats | None, bias_prior: Floats) -> Dense:
    """Return the panel with priors b ~ N(0, 1/bias_prior) and v ~ N(m, 1/value_prior), m flat and the last unknown."""
    n_objects, members = panel.n_objects, panel.n_objects + panel.n_assessors
    design = np.hstack([one_hot(panel.object_index, n_objects), one_hot(panel.assessor_index, panel.n_assessors)])
    prior = np.diag(np.concatenate([np.zeros(n_objects) if value_prior is None else value_prior, bias_prior]))
    if value_prior is not None:
        design = np.hstack([design, np.zeros((panel.n_assessments, 1))])
        link = np.concatenate([value_prior, np.zeros(panel.n_assessors)])[:, None]
        prior = np.block([[prior, -link], [-link.T, np.array([[value_prior.sum()]])]])
    return Dense(design, panel.precision, prior, members)


def prior_solver(
    panel: Panel, of_values: Floats | None, of_biases: Floats | None, kind: SolverKind = "auto"
) -> PriorSolver:
    graph = PriorGraph(panel, of_values is not None, of_biases is not None)
    return PriorSolver(graph, panel.precision, of_values, of_biases, kind)


def bordered(dense: Dense, columns: Floats, prior: Floats) -> Dense:
    """Return the same problem with further columns and a prior for them."""
    border = np.diag(prior) if prior.ndim == 1 else prior
    return replace(dense, design=np.hstack([dense.design, columns]), prior=block_diag(dense.prior, border))


def close(found: Floats | float, wanted: Floats | float, scale: float, digits: float = 1e-9) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=digits * scale)


def questions(generator: np.random.Generator, panel: Panel) -> tuple[Floats, Floats]:
    return generator.normal(size=(panel.n_objects, 3)), generator.normal(size=(panel.n_assessors, 3))


def agree(solver: Solver, panel: Panel, covariance: Floats, generator: np.random.Generator) -> None:
    """Assert that a solver answers all questions about L^- as a dense matrix does."""
    size, n_objects = float(np.abs(covariance).max()), panel.n_objects
    x, y = questions(generator, panel)
    both = np.vstack([x, y])
    close(np.vstack(solver.apply(x, y)), covariance @ both, 10 * size)
    close(np.concatenate(solver.apply(x[:, 0], y[:, 0])), covariance @ both[:, 0], 10 * size)
    close(solver.contrasts(x, y), np.einsum("ij,ik,kj->j", both, covariance, both), 100 * size)
    close(np.concatenate(solver.diagonal()), np.diagonal(covariance), size)
    objects, assessors = panel.object_index, panel.assessor_index.astype(np.int64) + n_objects
    first, cross, last = solver.edges()
    close(first, covariance[objects, objects], size)
    close(cross, covariance[objects, assessors], size)
    close(last, covariance[assessors, assessors], size)


@st.composite
def panels_with_priors(draw: st.DrawFn) -> tuple[Panel, Floats | None, Floats, int]:
    """Draw any panel, connected or not and pairs twice or not, with priors between 1/16 and 16, and a seed."""
    edges = draw(edge_lists())
    seed = draw(st.integers(0, 2**31))
    generator = np.random.default_rng(seed)
    count = len(edges)
    panel = Panel.from_arrays(
        [o for o, _ in edges],
        [a for _, a in edges],
        60 + generator.normal(0.0, 10.0, count),
        2.0 ** generator.uniform(-4, 4, count),
    )
    of_values, of_biases = (2.0 ** generator.uniform(-4, 4, n) for n in (panel.n_objects, panel.n_assessors))
    return panel, of_values if draw(st.booleans()) else None, of_biases, seed


@given(panels_with_priors())
def test_without_biases_all_assessors_are_one(drawn: tuple[Panel, Floats | None, Floats, int]) -> None:
    panel, of_values, _, seed = drawn
    solver = prior_solver(panel, of_values, None)
    whole = with_priors(panel, of_values, np.ones(panel.n_assessors))
    values = np.r_[: panel.n_objects, panel.n_objects + panel.n_assessors : whole.prior.shape[0]]
    dense = Dense(whole.design[:, values], whole.weight, whole.prior[np.ix_(values, values)], panel.n_objects)
    found, mean = solver.solve(panel.score), dense.mean(panel.score)
    close(found.values, mean[: panel.n_objects], 100.0)
    assert not found.biases.any()
    assert found.residual == pytest.approx(dense.total(panel.score), rel=1e-7, abs=1e-7)
    covariance = np.zeros((panel.n_objects + panel.n_assessors,) * 2)
    covariance[: panel.n_objects, : panel.n_objects] = dense.inverse[: panel.n_objects, : panel.n_objects]
    agree(solver, panel, covariance, np.random.default_rng(seed))
    assert solver.log_determinant() == pytest.approx(-np.linalg.slogdet(dense.inverse)[1], abs=1e-7)
    if of_values is not None:
        assert solver.mean_variance == pytest.approx(dense.inverse[-1, -1], rel=1e-8)


@given(panels_with_priors(), st.sampled_from(["auto", "direct", "sparse"]))
def test_a_panel_with_priors_is_solved_as_a_dense_one(
    drawn: tuple[Panel, Floats | None, Floats, int], kind: SolverKind
) -> None:
    panel, of_values, of_biases, seed = drawn
    solver, dense = prior_solver(panel, of_values, of_biases, kind), with_priors(panel, of_values, of_biases)
    agree(solver, panel, dense.covariance, np.random.default_rng(seed))
    found, mean = solver.solve(panel.score), dense.mean(panel.score)
    close(found.values, mean[: panel.n_objects], 100)
    close(found.biases, mean[panel.n_objects : dense.members], 100)
    assert found.residuals is not None
    close(found.residuals, panel.score - dense.design @ mean, 100)
    assert found.residual == pytest.approx(dense.total(panel.score), rel=1e-8, abs=1e-12)
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-8)
    close(panel.precision * solver.fitted_variances(), dense.leverage, 1)
    assert solver.diagonal_error == solver.log_determinant_error == 0
    if of_values is not None:
        assert solver.mean_variance == pytest.approx(dense.inverse[-1, -1], rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [True, False], ids=["values", "biases alone"])
def test_every_kind_of_solver_takes_priors(kind: SolverKind, values: bool) -> None:
    panel = random_panel(5, 40, 25, 120)
    generator = np.random.default_rng(1)
    of_values = 2.0 ** generator.uniform(-4, 4, panel.n_objects) if values else None
    of_biases = 2.0 ** generator.uniform(-4, 4, panel.n_assessors)
    solver, dense = prior_solver(panel, of_values, of_biases, kind), with_priors(panel, of_values, of_biases)
    found, mean = solver.solve(panel.score), dense.mean(panel.score)
    close(np.concatenate([found.values, found.biases]), mean[: dense.members], 100, 1e-8)
    x, y = questions(generator, panel)
    size = float(np.abs(dense.covariance).max())
    close(np.vstack(solver.apply(x, y)), dense.covariance @ np.vstack([x, y]), 10 * size, 1e-7)
    assert solver.log_determinant() == pytest.approx(
        np.linalg.slogdet(dense.precision)[1], abs=1e-8 + 5 * solver.log_determinant_error
    )
    assert solver.reason


@pytest.mark.parametrize("decades", [0.0, 7.0], ids=["alike", "unequal"])
@pytest.mark.parametrize("sides", [(70, 60), (60, 70), (300, 260)], ids=["assessors kept", "objects kept", "larger"])
def test_a_prior_links_no_two_assessors_where_each_object_has_few(sides: tuple[int, int], decades: float) -> None:
    generator, most = np.random.default_rng(4), max(sides)
    objects = np.concatenate([np.arange(most) % sides[0], generator.integers(0, sides[0], most)])
    assessors = np.concatenate([generator.permutation(most), np.arange(most)]) % sides[1]
    precision = 10.0 ** generator.uniform(-decades / 2, decades / 2, objects.size)
    panel = Panel.from_arrays(objects, assessors, 60 + generator.normal(0, 10, objects.size), precision)
    of_values, of_biases = (2.0 ** generator.uniform(-4, 4, n) for n in (panel.n_objects, panel.n_assessors))
    solver, dense = prior_solver(panel, of_values, of_biases), with_priors(panel, of_values, of_biases)
    direct = DirectSolver(solver.base.system)
    assert direct._pole is not None
    assert direct._by_pairs == (most == 300)
    agree(solver, panel, dense.covariance, generator)
    found, mean = solver.solve(panel.score), dense.mean(panel.score)
    close(np.concatenate([found.values, found.biases]), mean[: dense.members], 100)
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-8)
    if not decades and most == 70:
        drawn = np.hstack(solver.draw(np.random.default_rng(1), 40_000))
        covariance = dense.covariance
        error = np.sqrt((np.square(covariance) + np.outer(np.diagonal(covariance), np.diagonal(covariance))) / 40_000)
        assert np.abs((np.cov(drawn.T, bias=True) - covariance) / error).max() < 6


@pytest.mark.parametrize("sides", [(300, 260), (260, 300)], ids=["assessors kept", "objects kept"])
def test_pairs_of_thin_objects_are_known_once_for_all_weights(
    sides: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.solve.equations._DENSE_CELLS", 0)  # as of a panel of thousands
    generator, size = np.random.default_rng(7), 3 * max(sides)
    objects, assessors = (np.resize(generator.permutation(side), size) for side in sides)
    objects[:2], assessors[:2] = objects[2], assessors[2]  # the same pair three times
    drawn = Panel.from_arrays(objects, assessors, 60 + generator.normal(0, 10, size))
    graph = PriorGraph(drawn, has_values=True, has_biases=True)
    for _ in range(2):
        panel = replace(drawn, precision=2.0 ** generator.uniform(-4, 4, size))
        of_values, of_biases = (2.0 ** generator.uniform(-4, 4, n) for n in (panel.n_objects, panel.n_assessors))
        solver = PriorSolver(graph, panel.precision, of_values, of_biases)
        direct, dense = solver.base.exact, with_priors(panel, of_values, of_biases)
        assert isinstance(direct, DirectSolver)
        assert direct._looked_up is not None
        agree(solver, panel, dense.covariance, generator)
        found, mean = solver.solve(panel.score), dense.mean(panel.score)
        close(np.concatenate([found.values, found.biases]), mean[: dense.members], 100)
        assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-8)
        close(panel.precision * solver.fitted_variances(), dense.leverage, 1)


@pytest.mark.parametrize("decades", [0.0, 7.0], ids=["alike", "unequal"])
def test_fits_know_what_an_assessor_of_all_objects_shares_with_each_beside_many_of_few(decades: float) -> None:
    generator, n_objects, n_others = np.random.default_rng(6), 60, 80
    objects = np.concatenate([np.arange(n_objects), np.resize(generator.permutation(n_objects), 2 * n_others)])
    assessors = np.concatenate([np.zeros(n_objects, int), 1 + np.repeat(np.arange(n_others), 2)])
    precision = 10.0 ** generator.uniform(-decades / 2, decades / 2, objects.size)
    panel = Panel.from_arrays(objects, assessors, 60 + generator.normal(0, 10, objects.size), precision)
    of_biases = 2.0 ** generator.uniform(-4, 4, panel.n_assessors)
    solver, dense = prior_solver(panel, None, of_biases), with_priors(panel, None, of_biases)
    direct = solver.base.exact
    assert isinstance(direct, DirectSolver)
    assert direct._looked_up is not None
    assert direct._pole == 0, "the assessor of all objects, who is a score's and no prior's"
    agree(solver, panel, dense.covariance, generator)
    close(panel.precision * solver.fitted_variances(), dense.leverage, 1)


def test_mu_2_with_priors_is_that_of_the_larger_graph() -> None:
    panel = random_panel(2, 6, 4, 8)
    of_values, of_biases = np.linspace(0.5, 2.0, 6), np.linspace(0.2, 3.0, 4)
    links = np.zeros((7, 5))
    np.add.at(links, (panel.object_index, panel.assessor_index), panel.precision)
    links[:6, 4], links[6, :4] = of_values, of_biases
    total = np.concatenate([links.sum(axis=1), links.sum(axis=0)])
    laplacian = np.diag(total) + np.block([[np.zeros((7, 7)), links], [links.T, np.zeros((5, 5))]])
    normalised = laplacian / np.sqrt(np.outer(total, total))
    solver = prior_solver(panel, of_values, of_biases)
    assert solver.mu2() == pytest.approx(np.linalg.eigvalsh(normalised)[1], rel=1e-9)


def moments(solver: Solver, covariance: Floats, count: int = 40_000) -> float:
    """Return how far the covariance of draws is from what it should be, in standard errors, at the worst entry."""
    values, biases = solver.draw(np.random.default_rng(7), count)
    drawn = np.hstack([values, biases])
    variance = np.diagonal(covariance)
    error = np.sqrt((np.square(covariance) + np.outer(variance, variance)) / count)
    about = np.abs(drawn.mean(axis=0)) / np.sqrt(variance / count)
    return float(max((np.abs(drawn.T @ drawn / count - covariance) / error).max(), about.max()))


def test_draws_have_the_covariance_of_the_dense_inverse() -> None:
    panel = random_panel(3, 6, 4, 8)
    generator = np.random.default_rng(0)
    of_values, of_biases = 2.0 ** generator.uniform(-2, 2, 6), 2.0 ** generator.uniform(-2, 2, 4)
    columns, prior = generator.normal(size=(panel.n_assessments, 2)), np.array([0.0, 0.5])
    plain, dense = prior_solver(panel, of_values, of_biases), with_priors(panel, of_values, of_biases)
    assert moments(plain, dense.covariance) < 5
    border = make_border(plain, panel, columns, prior)
    wide = bordered(dense, columns, prior).covariance
    assert moments(border, wide) < 5
    stretch = np.exp(generator.normal(0.0, 0.5, 4))
    along = np.concatenate([np.ones(6), stretch])
    assert moments(StretchedSolver(border, stretch), wide * np.outer(along, along)) < 5
    alone = prior_solver(panel, None, of_biases)
    assert moments(alone, with_priors(panel, None, of_biases).covariance) < 5


def make_border(base: Solver, panel: Panel, columns: Floats, prior: Floats) -> BorderedSolver:
    return BorderedSolver(base, panel.object_index, panel.assessor_index, panel.precision, sp.csr_array(columns), prior)


@st.composite
def borders(draw: st.DrawFn, count: int) -> tuple[Floats, Floats]:
    """Draw up to three columns of numbers, some of them zero, with priors for each or for all together."""
    size = draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**31)))
    columns = generator.normal(size=(count, size)) * (generator.random((count, size)) < 0.8)
    if draw(st.booleans()):
        return columns, 2.0 ** generator.uniform(-3, 3, size)
    half = generator.normal(size=(size, size))
    return columns, half @ half.T + 0.2 * np.eye(size)


@given(panels_with_priors(), st.data())
def test_further_unknowns_beside_priors_are_solved_as_a_dense_problem(
    drawn: tuple[Panel, Floats | None, Floats, int], data: st.DataObject
) -> None:
    panel, of_values, of_biases, seed = drawn
    columns, prior = data.draw(borders(panel.n_assessments))
    dense = bordered(with_priors(panel, of_values, of_biases), columns, prior)
    solver = make_border(prior_solver(panel, of_values, of_biases), panel, columns, prior)
    agree(solver, panel, dense.covariance, np.random.default_rng(seed))
    found, coefficients = solver.fit(panel.score)
    mean, count = dense.mean(panel.score), columns.shape[1]
    close(np.concatenate([found.values, found.biases]), mean[: dense.members], 100)
    close(coefficients, mean[-count:], 100)
    assert found.residuals is not None
    close(found.residuals, panel.score - dense.design @ mean, 100)
    assert found.residual == pytest.approx(dense.total(panel.score), rel=1e-8, abs=1e-10)
    close(solver.solve(panel.score).values, found.values, 1, 0)
    close(solver.covariance, dense.inverse[-count:, -count:], float(np.abs(solver.covariance).max()))
    close(np.vstack(solver.turned), -dense.inverse[: dense.members, -count:], float(np.abs(dense.inverse).max()))
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-8)
    close(panel.precision * solver.fitted_variances(), dense.leverage, 1)
    # how the fit moves with each score, for a score of confidence 1
    pull = dense.inverse @ dense.design.T
    size = float(np.abs(pull).max())
    close(solver.responses(), pull[panel.object_index, np.arange(panel.n_assessments)], size)
    x, y = questions(np.random.default_rng(seed), panel)
    wanted = np.concatenate([x[:, 0], y[:, 0]]) @ pull[: dense.members]
    close(solver.responses_along(x[:, 0], y[:, 0]), wanted, 10 * size)
    assert solver.count == count
    assert f"{count} further" in solver.reason


@given(connected_panels(repeats=True, least_objects=2, least_assessors=2), st.integers(0, 2**31))
def test_further_unknowns_without_priors_are_the_same_in_every_gauge(panel: Panel, seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns, prior = generator.normal(size=(panel.n_assessments, 2)), np.array([0.3, 2.0])
    plain = choose_solver(make_system(panel, find_components(panel)), "auto")
    solver = make_border(plain, panel, columns, prior)
    # one bias held at zero is one gauge; contrasts know none
    n_objects, members = panel.n_objects, panel.n_objects + panel.n_assessors
    held = np.hstack([one_hot(panel.object_index, n_objects), one_hot(panel.assessor_index, panel.n_assessors)])
    keep = np.arange(members) != n_objects
    dense = Dense(
        np.hstack([held[:, keep], columns]),
        panel.precision,
        block_diag(np.zeros((members - 1,) * 2), np.diag(prior)),
        0,
    )
    inverse = dense.inverse
    found, coefficients = solver.fit(panel.score)
    mean = dense.mean(panel.score)
    close(coefficients, mean[-2:], 1000)
    close(np.diff(found.values), np.diff(mean[:n_objects]), 1000)
    assert found.residual == pytest.approx(dense.total(panel.score), rel=1e-7, abs=1e-9)
    x, y = questions(generator, panel)
    x -= (x.sum(axis=0) - y.sum(axis=0)) / n_objects
    both = np.vstack([x, y])[keep]
    wanted = np.einsum("ij,ik,kj->j", both, inverse[: members - 1, : members - 1], both)
    close(solver.contrasts(x, y), wanted, 100 * float(np.abs(inverse).max()))
    applied = np.vstack(solver.apply(x, y))
    close(np.einsum("ij,ij->j", np.vstack([x, y]), applied), wanted, 100 * float(np.abs(inverse).max()))
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-7)
    close(panel.precision * solver.fitted_variances(), dense.leverage, 1)
    close(solver.covariance, inverse[-2:, -2:], float(np.abs(inverse).max()))
    # responses in the gauge of the solver: those of contrasts are the dense ones
    pull = inverse @ dense.design.T
    wanted_along = both[:, 0] @ pull[: members - 1]
    close(solver.responses_along(x[:, 0], y[:, 0]), wanted_along, 10 * float(np.abs(pull).max()))


@given(panels_with_priors(), st.data())
def test_scales_stretch_every_answer_about_biases(
    drawn: tuple[Panel, Floats | None, Floats, int], data: st.DataObject
) -> None:
    panel, of_values, of_biases, seed = drawn
    generator = np.random.default_rng(seed)
    columns, prior = data.draw(borders(panel.n_assessments))
    stretch = np.exp(generator.normal(0.0, 0.7, panel.n_assessors))
    # s = lambda v + b + Z beta + noise, with its own biases: nothing is divided by lambda here
    own = stretch[panel.assessor_index.astype(np.int64)]
    dense = with_priors(panel, of_values, of_biases)
    design = dense.design.copy()
    design[:, : panel.n_objects] *= own[:, None]
    dense = bordered(replace(dense, design=design), columns, prior)
    # and as the model asks for it: scores divided by lambda, weights times lambda^2
    seen = replace(panel, score=panel.score / own, precision=panel.precision * np.square(own))
    base = prior_solver(seen, of_values, of_biases * np.square(stretch))
    solver = StretchedSolver(make_border(base, seen, columns / own[:, None], prior), stretch)
    agree(solver, panel, dense.covariance, generator)
    found, mean = solver.solve(seen.score), dense.mean(panel.score)
    close(np.concatenate([found.values, found.biases]), mean[: dense.members], 1000)
    assert found.residual == pytest.approx(dense.total(panel.score), rel=1e-7, abs=1e-9)
    close(panel.precision * solver.fitted_variances(), dense.leverage, 1)
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(dense.precision)[1], abs=1e-7)
    pull = dense.inverse @ dense.design.T
    wanted = pull[panel.object_index, np.arange(panel.n_assessments)]
    close(solver.responses(), wanted, float(np.abs(pull).max()))
    x, y = questions(generator, panel)
    wanted = np.concatenate([x[:, 0], y[:, 0]]) @ pull[: dense.members]
    close(solver.responses_along(x[:, 0], y[:, 0]), wanted, 10 * float(np.abs(pull).max()))


def test_columns_that_values_and_biases_explain_are_refused() -> None:
    panel = random_panel(1, 6, 4, 8)
    plain = choose_solver(make_system(panel, find_components(panel)), "auto")
    column = np.linspace(1.0, 2.0, panel.n_objects)[panel.object_index][:, None]
    solver = make_border(plain, panel, column, np.zeros(1))
    with pytest.raises(SolveError, match="cannot be told from values and biases"):
        solver.solve(panel.score)


@settings(max_examples=10)
@given(st.integers(0, 2**31), st.floats(-12, 12), st.floats(-12, 12))
def test_priors_of_any_strength_keep_their_digits(seed: int, of_values: float, of_biases: float) -> None:
    panel = random_panel(seed, 8, 5, 12)
    priors = np.full(8, np.exp(of_values)), np.full(5, np.exp(of_biases))
    solver, dense = prior_solver(panel, *priors), with_priors(panel, *priors)
    found, mean = solver.solve(panel.score), dense.mean(panel.score)
    scale = 100 * np.linalg.cond(dense.precision) * 1e-7  # the dense answer is the poorer one
    close(np.concatenate([found.values, found.biases]), mean[: dense.members], max(scale, 1.0))
    wanted = np.diagonal(dense.covariance)
    np.testing.assert_allclose(np.concatenate(solver.diagonal()), wanted, rtol=1e-6)


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("sizes", [(12, 5), (5, 12)])
def test_sums_over_many_priors_are_those_of_a_dense_problem_for_each(
    sizes: tuple[int, int], is_dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(System, "is_dense", is_dense)
    panel = random_panel(3, *sizes)
    system = make_system(panel, find_components(panel))
    of_kept = np.geomspace(1e-4, 1e4, 5)
    found = sums_over_priors(system, panel.score, 0.3, of_kept)
    for at, kept in enumerate(of_kept.tolist()):
        of_values, of_biases = system.orient(kept, 0.3)
        dense = with_priors(panel, np.full(panel.n_objects, of_values), np.full(panel.n_assessors, of_biases))
        assert found.residual[at] == pytest.approx(dense.total(panel.score), rel=1e-9)
        assert found.log_determinant[at] == pytest.approx(np.linalg.slogdet(dense.precision)[1], rel=1e-9, abs=1e-9)
        assert found.mean[at] == pytest.approx(dense.mean(panel.score)[-1], rel=1e-9)
        assert found.mean_variance[at] == pytest.approx(dense.inverse[-1, -1], rel=1e-9)
