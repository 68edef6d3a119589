"""Several criteria: against dense generalised least squares, the fit of combined scores, and simulated truth."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import evenhand as eh
from evenhand.errors import EvenhandError, InputError, LimitError, NotConnectedError, SolveError
from evenhand.models import correlation as module
from evenhand.models.additive import METHODS
from evenhand.models.correlation import SummedNoise
from evenhand.models.criteria import CriteriaFit, calibrate_criteria
from evenhand.models.fit import Fit
from evenhand.models.medians import median_polish
from evenhand.models.noise import EstimatedNoise, NoDistribution, NoisePrior
from evenhand.models.refined import Refinements, refine
from evenhand.panel.gauge import Gauge, condition
from evenhand.panel.panel import Panel
from evenhand.reports.summary import summarise_fit
from evenhand.solve import criteria as joint
from evenhand.solve.criteria import CombinedSolver, Gauges, JointSolver, Readings, certainty
from panels import Floats, gauges_for

LABELS = ("merit", "style", "reach", "cost")
SDS = np.array([4.0, 5.0, 3.0, 6.0])


@dataclass(frozen=True)
class Truth:
    """A panel of several criteria with the values (objects by criteria) and biases behind it."""

    panel: Panel
    values: Floats
    biases: Floats

    def combined(self, found: CriteriaFit, gauge: Gauge = "weighted") -> Floats:
        """Return the true combined values in the gauge of the answer."""
        total = np.zeros(self.panel.n_objects)
        for label, weight in found.weights.items():
            total += weight * self.of(label, gauge)
        return total

    def of(self, label: str, gauge: Gauge = "weighted") -> Floats:
        """Return the true values of a criterion in the gauge of the answer."""
        own = self.panel.of_criterion(label)
        at = LABELS.index(label)
        biases = self.biases[[int(name) for name in own.assessors], at]
        fixed = condition(gauge, own, eh.connectivity(own))
        return np.asarray(self.values[:, at] + fixed.shift(self.values[:, at], biases)[0])


def simulate(
    generator: np.random.Generator,
    n_objects: int = 9,
    n_assessors: int = 4,
    per_object: int = 3,
    count: int = 3,
    *,
    missing: float = 0.25,
    rho: float = 0.6,
    decades: float = 0.0,
    scale: float = 1.0,
) -> Truth:
    """Return a panel in which every object has every criterion and every criterion hangs together."""
    covariance = (np.full((count, count), rho) + (1 - rho) * np.eye(count)) * np.outer(SDS[:count], SDS[:count])
    factor = scale * np.linalg.cholesky(covariance)
    while True:
        pairs = [(o, a) for o in range(n_objects) for a in generator.permutation(n_assessors)[:per_object].tolist()]
        objects, assessors = np.array(pairs).T
        there = generator.random((len(pairs), count)) >= missing
        reading, at = np.nonzero(there)
        values, biases = generator.normal(50.0, 12.0, (n_objects, count)), generator.normal(0, 6, (n_assessors, count))
        precision = 10.0 ** generator.uniform(-decades / 2, decades / 2, len(pairs))
        errors = generator.standard_normal((len(pairs), count)) @ factor.T / np.sqrt(precision)[:, None]
        score = values[objects] + biases[assessors] + errors
        try:
            panel = Panel.from_arrays(
                objects[reading],
                assessors[reading],
                score[reading, at],
                precision[reading] if decades else None,
                criterion=np.array(LABELS)[at],
            )
            sizes = [panel.of_criterion(label).n_objects for label in LABELS[:count]]
            for label in LABELS[:count]:
                eh.connectivity(panel.of_criterion(label)).require_connected()
        except EvenhandError:
            continue
        if min(sizes) == n_objects and panel.n_assessors == n_assessors:
            return Truth(panel, values, biases)


def some_panel(seed: int, **options: float) -> Panel:
    return simulate(np.random.default_rng(seed), **options).panel  # type: ignore[arg-type]


@dataclass(frozen=True)
class Dense:
    """Generalised least squares by full matrices, unknowns ordered criterion by criterion, values before biases."""

    panel: Panel
    criteria: tuple[str, ...]

    @property
    def code(self) -> np.ndarray:
        assert self.panel.criterion is not None
        return np.array([self.criteria.index(label) for label in self.panel.criterion.tolist()])

    @property
    def design(self) -> Floats:
        panel, count = self.panel, len(self.criteria)
        rows = np.arange(panel.n_assessments)
        matrix = np.zeros((rows.size, count * (panel.n_objects + panel.n_assessors)))
        matrix[rows, self.code * panel.n_objects + panel.object_index] = 1.0
        matrix[rows, count * panel.n_objects + self.code * panel.n_assessors + panel.assessor_index] = 1.0
        return matrix

    def noise(self, sigma: Floats) -> Floats:
        """Return the covariance of all scores for a covariance between criteria."""
        panel = self.panel
        same = panel.object_index[:, None] == panel.object_index
        same &= panel.assessor_index[:, None] == panel.assessor_index
        root = np.sqrt(panel.precision)
        return np.where(same, sigma[self.code[:, None], self.code] / np.outer(root, root), 0.0)

    def fit(self, sigma: Floats, gauge: Gauge) -> tuple[Floats, Floats]:
        """Return the estimates and their covariance, the gauges held by Lagrange multipliers."""
        panel, count, design = self.panel, len(self.criteria), self.design
        inverse = np.linalg.inv(self.noise(sigma))
        rows, constants = np.zeros((count, design.shape[1])), np.zeros(count)
        absent = np.flatnonzero(~design.any(axis=0))
        for at, label in enumerate(self.criteria):
            own = panel.of_criterion(label)
            there: Gauge = gauge
            if isinstance(gauge, eh.Affine) and not isinstance(gauge.beta, Mapping):  # not all have a bias here
                beta = dict(zip(panel.assessors, gauge.beta, strict=True))
                there = eh.Affine({name: beta[name] for name in own.assessors}, gauge.gamma)
            fixed = condition(there, own, eh.connectivity(own))
            rows[at, at * panel.n_objects : (at + 1) * panel.n_objects] = fixed.value_weight
            for name, weight in zip(own.assessors, fixed.bias_weight, strict=True):
                rows[at, count * panel.n_objects + at * panel.n_assessors + panel.assessors.index(name)] = weight
            constants[at] = fixed.constant[0]
        hold = np.zeros((absent.size, design.shape[1]))  # biases of those who did not score a criterion
        hold[np.arange(absent.size), absent] = 1.0
        rows, constants = np.vstack([rows, hold]), np.concatenate([constants, np.zeros(absent.size)])
        size = len(rows)
        whole = np.block([[design.T @ inverse @ design, rows.T], [rows, np.zeros((size, size))]])
        inverted = np.linalg.inv(whole)
        found = inverted @ np.concatenate([design.T @ inverse @ panel.score, constants])
        return found[: design.shape[1]], inverted[: design.shape[1], : design.shape[1]]

    def sums(self, weights: Sequence[float]) -> Floats:
        """Return the matrix that makes combined values and biases of all values and biases."""
        n_objects, n_assessors = self.panel.n_objects, self.panel.n_assessors
        matrix = np.zeros((n_objects + n_assessors, len(weights) * (n_objects + n_assessors)))
        matrix[:n_objects, : len(weights) * n_objects] = np.kron(weights, np.eye(n_objects))
        matrix[n_objects:, len(weights) * n_objects :] = np.kron(weights, np.eye(n_assessors))
        return matrix

    def restricted_likelihood(self, sigma: Floats) -> float:
        """Return the restricted log-likelihood of a covariance between criteria, up to a constant."""
        design = self.design
        noise, basis = self.noise(sigma), np.linalg.svd(design, full_matrices=True)
        rank = int((basis[1] > 1e-9 * basis[1][0]).sum())
        error = basis[0][:, rank:]  # contrasts that values and biases do not reach
        inner, left = error.T @ noise @ error, error.T @ self.panel.score
        return -0.5 * float(np.linalg.slogdet(inner)[1] + left @ np.linalg.solve(inner, left))


def stacked(fit: Fit) -> Floats:
    return np.concatenate([fit.values.estimate, fit.biases.estimate])


def combined_scores(panel: Panel, weights: Mapping[str, float]) -> Panel:
    """Return the panel of combined scores of complete readings without repeats, one by one."""
    assert panel.criterion is not None
    total: dict[tuple[int, int], float] = {}
    own: dict[tuple[int, int], float] = {}
    for o, a, label, score, precision in zip(
        panel.object_index.tolist(),
        panel.assessor_index.tolist(),
        panel.criterion.tolist(),
        panel.score.tolist(),
        panel.precision.tolist(),
        strict=True,
    ):
        total[o, a] = total.get((o, a), 0.0) + weights.get(label, 0.0) * score
        own[o, a] = precision
    codes = np.array(list(total))
    plain = panel.confidence == "none"
    return Panel.from_arrays(
        codes[:, 0], codes[:, 1], list(total.values()), None if plain else [own[pair] for pair in total]
    )


def assert_same_fit(one: Fit, other: Fit) -> None:
    assert one.degrees_of_freedom == other.degrees_of_freedom
    assert one.residual == pytest.approx(other.residual, rel=1e-10)
    for name in ("estimate", "sd", "lower", "upper"):
        for side in ("values", "biases"):
            found, wanted = (getattr(getattr(fit, side), name) for fit in (one, other))
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


# --------------------------------------------------------------------------------------------------- complete readings


@pytest.mark.parametrize("correlated", [True, False])
def test_one_criterion_is_calibrate(correlated: bool) -> None:
    panel = some_panel(1, count=1, missing=0.0, decades=1.0)
    found = calibrate_criteria(panel, correlated=correlated)
    assert_same_fit(found.combined, eh.calibrate(panel.of_criterion("merit")))
    assert found.weights == {"merit": 1.0}
    assert found.combined.method == "cwc"
    doubled = calibrate_criteria(panel, weights={"merit": 2}, correlated=correlated).combined
    np.testing.assert_allclose(doubled.values.estimate, 2 * found.combined.values.estimate)
    assert doubled.values.sd is not None
    np.testing.assert_allclose(doubled.values.sd, 2 * np.asarray(found.combined.values.sd))


@given(st.integers(0, 10**6), st.lists(st.sampled_from([0.5, 1.0, 2.0, 10.0]), min_size=3, max_size=3), st.booleans())
def test_complete_readings_give_the_plain_fit_of_combined_scores(seed: int, weights: list[float], sure: bool) -> None:
    panel = some_panel(seed, missing=0.0, decades=1.0 if sure else 0.0)
    chosen = dict(zip(LABELS, weights, strict=False))
    found = calibrate_criteria(panel, weights=chosen)
    assert_same_fit(found.combined, eh.calibrate(combined_scores(panel, chosen)))
    for side in ("values", "biases"):
        parts = [weight * getattr(found.fits[label], side).estimate for label, weight in chosen.items()]
        np.testing.assert_allclose(getattr(found.combined, side).estimate, sum(parts), rtol=1e-10, atol=1e-9)
    for label, fit in found.fits.items():
        assert_same_fit(fit, eh.calibrate(panel.of_criterion(label)))


def test_correlations_of_complete_readings_are_residual_cross_products_over_nu() -> None:
    panel = some_panel(3, missing=0.0, decades=1.0)
    found = calibrate_criteria(panel)
    fits = [found.fits[label] for label in found.criteria]
    left = np.stack([fit.residuals for fit in fits])
    covariance = left * fits[0].weight @ left.T / fits[0].degrees_of_freedom
    np.testing.assert_allclose(found.correlation.covariance, covariance, rtol=1e-12)
    assert (found.correlation.freedom == fits[0].degrees_of_freedom).all()
    # the combined residual is what these make of it
    weight = np.array(list(found.weights.values()))
    nu = found.combined.degrees_of_freedom
    assert found.combined.residual / nu == pytest.approx(float(weight @ covariance @ weight), rel=1e-10)


def test_confidences_in_the_same_proportion_are_complete_too() -> None:
    panel = some_panel(4, missing=0.0, decades=1.0)
    assert panel.criterion is not None
    factor = np.where(panel.criterion == "style", 4.0, np.where(panel.criterion == "reach", 0.1, 1.0))
    unequal = Panel.from_arrays(
        panel.object_index, panel.assessor_index, panel.score, panel.precision * factor, criterion=panel.criterion
    )
    one, other = calibrate_criteria(panel).combined, calibrate_criteria(unequal).combined
    for name in ("estimate", "sd", "lower"):
        np.testing.assert_allclose(getattr(one.values, name), getattr(other.values, name), rtol=1e-10)


def test_combined_values_are_sums_in_every_gauge() -> None:
    panel = some_panel(5, missing=0.0)
    short = some_panel(5)
    weights = {"merit": 1.0, "style": 2.0, "reach": 0.5}
    for gauge in gauges_for(panel):
        for given_panel, correlated in ((panel, True), (panel, False), (short, True), (short, False)):
            found = calibrate_criteria(given_panel, weights=weights, gauge=gauge, correlated=correlated)
            total = sum(weight * found.fits[label].values.estimate for label, weight in weights.items())
            np.testing.assert_allclose(found.combined.values.estimate, total, rtol=1e-9)
            biases = sum(weight * found.fits[label].biases.estimate for label, weight in weights.items())
            np.testing.assert_allclose(found.combined.biases.estimate, biases, rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------------------------------------- incomplete readings


@pytest.mark.parametrize(("n_objects", "n_assessors", "per_object"), [(9, 4, 3), (6, 8, 6)])
def test_incomplete_readings_give_dense_generalised_least_squares(
    n_objects: int, n_assessors: int, per_object: int
) -> None:
    panel = some_panel(11, n_objects=n_objects, n_assessors=n_assessors, per_object=per_object, decades=1.0)
    weights = {"merit": 0.5, "style": 1.0, "reach": 2.0}
    for gauge in gauges_for(panel):
        found = calibrate_criteria(panel, weights=weights, gauge=gauge)
        dense = Dense(panel, found.criteria)
        estimate, covariance = dense.fit(found.correlation.covariance, gauge)
        sums = dense.sums(list(found.weights.values()))
        np.testing.assert_allclose(stacked(found.combined), sums @ estimate, rtol=1e-9, atol=1e-9)
        wanted = sums @ covariance @ sums.T
        posterior = found.combined.posterior
        level = float(
            np.array(list(found.weights.values())) @ found.correlation.covariance @ list(found.weights.values())
        )
        scale = float(np.abs(wanted).max())
        np.testing.assert_allclose(level * posterior.unit_covariance(), wanted, rtol=1e-9, atol=1e-9 * scale)
        unit = np.concatenate(posterior.unit_variances)
        np.testing.assert_allclose(level * unit, np.diagonal(wanted), rtol=1e-9, atol=1e-9 * scale)
        solver = posterior.solver
        assert solver is not None
        objects, assessors = found.combined.panel.object_index, n_objects + found.combined.panel.assessor_index
        for got, rows, columns in zip(
            solver.edges(), (objects, objects, assessors), (objects, assessors, assessors), strict=True
        ):
            np.testing.assert_allclose(level * got, wanted[rows, columns], rtol=1e-9, atol=1e-9 * scale)
        contrast = np.random.default_rng(1).standard_normal((len(wanted), 3))
        got = solver.contrasts(contrast[:n_objects], contrast[n_objects:])
        np.testing.assert_allclose(level * got, np.diagonal(contrast.T @ wanted @ contrast), rtol=1e-9)
        for at, label in enumerate(found.criteria):
            own = np.arange(at * n_objects, (at + 1) * n_objects)
            np.testing.assert_allclose(found.fits[label].values.estimate, estimate[own], rtol=1e-9)
            variance = found.correlation.covariance[at, at] * found.fits[label].posterior.unit_value_variance
            np.testing.assert_allclose(variance, np.diagonal(covariance)[own], rtol=1e-9, atol=1e-9 * scale)


def test_confidences_in_different_proportions_give_dense_generalised_least_squares() -> None:
    panel = some_panel(12, missing=0.0)
    precision = 10.0 ** np.random.default_rng(2).uniform(-0.5, 0.5, panel.n_assessments)
    panel = Panel.from_arrays(
        panel.object_index, panel.assessor_index, panel.score, precision, criterion=panel.criterion
    )
    found = calibrate_criteria(panel, gauge="zero_sum")
    dense = Dense(panel, found.criteria)
    estimate, _ = dense.fit(found.correlation.covariance, "zero_sum")
    np.testing.assert_allclose(stacked(found.combined), dense.sums([1 / 3] * 3) @ estimate, rtol=1e-9, atol=1e-9)
    alone = calibrate_criteria(panel, gauge="zero_sum", correlated=False).combined
    assert np.abs(alone.values.estimate - found.combined.values.estimate).max() > 0.01


SLOW: dict[str, float] = {"n_objects": 12, "n_assessors": 5, "count": 2, "missing": 0.2, "rho": 0.6}


@pytest.mark.parametrize(
    ("seed", "options"),
    [(13, {"decades": 1.0}), (381, SLOW), (712, SLOW), (424, SLOW)],
    ids=["three criteria", "a mixed step without an answer", "another", "a mixed step to perfect agreement"],
)
def test_the_covariance_between_criteria_has_the_highest_restricted_likelihood(
    seed: int, options: dict[str, float]
) -> None:
    panel = some_panel(seed, **options)
    found = calibrate_criteria(panel, correlated=True)
    assert not any(note.kind == "drawn" for note in found.combined.notes)
    dense, sigma = Dense(panel, found.criteria), found.correlation.covariance
    best = dense.restricted_likelihood(sigma)
    step = 1e-3
    for k in range(len(sigma)):
        for m in range(k + 1):
            heights = []
            for sign in (-1, 1):
                moved = sigma.copy()
                moved[k, m] += sign * step * np.sqrt(sigma[k, k] * sigma[m, m])
                moved[m, k] = moved[k, m]
                heights.append(dense.restricted_likelihood(moved))
            assert max(heights) < best
            slope, bend = (heights[1] - heights[0]) / 2, 2 * best - sum(heights)
            assert abs(slope) < 0.01 * bend  # the peak is within a hundredth of a step


def test_degrees_of_freedom_and_the_factor_agree_with_full_matrices() -> None:
    panel = some_panel(14, n_objects=14, count=2, missing=0.25)
    found = calibrate_criteria(panel, gauge="zero_sum")
    assert not any(note.kind == "drawn" for note in found.combined.notes)
    dense, sigma = Dense(panel, found.criteria), found.correlation.covariance
    ways = [np.array([[1.0, 0], [0, 0]]), np.array([[0, 1.0], [1.0, 0]]), np.array([[0, 0], [0, 1.0]])]
    design, noise = dense.design, dense.noise(sigma)
    inverse = np.linalg.inv(noise)
    _, covariance = dense.fit(sigma, "zero_sum")
    residual_maker = inverse - inverse @ design @ covariance @ design.T @ inverse
    turns = [dense.noise(way) for way in ways]
    reached = [residual_maker @ turn for turn in turns]
    spread = np.linalg.inv([[np.trace(one @ other) / 2 for other in reached] for one in reached])
    for part, fit in (
        (np.array([0.5, 0.5]), found.combined),
        (np.array([1.0, 0.0]), found.fits[found.criteria[0]]),
        (np.array([0.0, 1.0]), found.fits[found.criteria[1]]),
    ):
        rows = dense.sums(part.tolist())[: panel.n_objects] @ covariance @ design.T @ inverse
        mean = float(np.diagonal(dense.sums(part.tolist()) @ covariance @ dense.sums(part.tolist()).T)[:14].mean())
        slope = np.array([np.einsum("ij,jk,ik->i", rows, turn, rows).mean() for turn in turns])
        nu = 2 * mean**2 / float(slope @ spread @ slope)
        assert fit.degrees_of_freedom == pytest.approx(nu, abs=0.51)
        pulled = [rows @ turn for turn in turns]
        added = sum(
            spread[i, j] * float(np.einsum("ij,ij->i", pulled[i] @ residual_maker, pulled[j]).mean())
            for i in range(3)
            for j in range(3)
        )
        noise_found = fit.posterior.noise
        assert isinstance(noise_found, EstimatedNoise)
        factor = noise_found.residual / fit.residual
        assert factor == pytest.approx(1 + 2 * added / mean, abs=2e-4)
        assert factor > 1.001
    for at in range(2):
        variance = spread[2 * at, 2 * at]
        assert found.correlation.freedom[at, at] == pytest.approx(2 * sigma[at, at] ** 2 / variance, rel=1e-3)
    rho = found.correlation.matrix[0, 1]
    turn = np.array([-rho / 2 / sigma[0, 0], 1 / np.sqrt(sigma[0, 0] * sigma[1, 1]), -rho / 2 / sigma[1, 1]])
    error = np.sqrt(float(turn @ spread @ turn))
    assert found.correlation.error[0, 1] == pytest.approx(error, rel=1e-3)


def test_correlations_that_scores_leave_open_are_drawn_towards_independence() -> None:
    # nearly no cycle of readings has all criteria, so that their errors could go together perfectly
    panel = some_panel(11, n_objects=5, n_assessors=8, per_object=6, decades=1.0)
    found = calibrate_criteria(panel)
    assert any(note.kind == "drawn" for note in found.combined.notes)
    dense, sigma = Dense(panel, found.criteria), found.correlation.covariance
    estimate, _ = dense.fit(sigma, "weighted")
    np.testing.assert_allclose(stacked(found.combined), dense.sums([1 / 3] * 3) @ estimate, rtol=1e-9, atol=1e-9)

    def height(moved: Floats) -> float:
        """Return the restricted likelihood times that of one independent reading."""
        prior = np.linalg.slogdet(moved)[1] + np.trace(np.linalg.solve(moved, np.diag(np.diagonal(sigma))))
        return dense.restricted_likelihood(moved) - float(prior) / 2

    for k in range(3):
        for m in range(k + 1):
            moves = []
            for sign in (-1, 1):
                moved = sigma.copy()
                moved[k, m] += sign * 1e-3 * np.sqrt(sigma[k, k] * sigma[m, m])
                moved[m, k] = moved[k, m]
                moves.append(height(moved))
            assert max(moves) < height(sigma)


def test_a_criterion_that_copies_another_adds_nothing() -> None:
    merit = some_panel(74, n_objects=20, count=1, missing=0.0).of_criterion("merit")
    size = merit.n_assessments
    some = np.arange(size) != 5
    panel = Panel.from_arrays(
        np.concatenate([merit.object_index, merit.object_index[some]]),
        np.concatenate([merit.assessor_index, merit.assessor_index[some]]),
        np.concatenate([merit.score, merit.score[some]]),
        criterion=["merit"] * size + ["style"] * (size - 1),
    )
    found = calibrate_criteria(panel)
    assert found.correlation.matrix[0, 1] > 0.9
    alone = eh.calibrate(merit)
    assert alone.values.sd is not None
    np.testing.assert_allclose(found.combined.values.estimate, alone.values.estimate, atol=0.2 * alone.values.sd.max())
    np.testing.assert_allclose(np.asarray(found.combined.values.sd), alone.values.sd, rtol=0.06)


def complete_readings(panel: Panel, criteria: tuple[str, ...]) -> Readings:
    parts = [panel.of_criterion(label) for label in criteria]
    return Readings(
        parts[0].object_index.astype(np.int64),
        parts[0].assessor_index.astype(np.int64),
        np.stack([part.score for part in parts], axis=1),
        np.stack([part.precision for part in parts], axis=1),
        panel.n_objects,
        panel.n_assessors,
    )


def test_the_equations_of_incomplete_readings_give_the_plain_fit_where_all_are_complete() -> None:
    panel = some_panel(15, missing=0.0, decades=1.0)
    found = calibrate_criteria(panel)
    fits = list(found.fits.values())
    seats = [np.arange(panel.n_assessors)] * 3
    fixed = [fit.posterior.condition for fit in fits]
    gauges = Gauges.of([one for one in fixed if one is not None], seats, panel.n_assessors)
    readings = complete_readings(panel, found.criteria)
    start = np.array([fit.residual / fit.degrees_of_freedom for fit in fits])
    best, drawn = module.estimate_errors(readings, gauges, start)
    assert drawn == 0
    np.testing.assert_allclose(best.covariance, found.correlation.covariance, rtol=1e-8)
    weight = np.array(list(found.weights.values()))
    values, biases, _ = best.solve()
    np.testing.assert_allclose(values @ weight, found.combined.values.estimate, rtol=1e-11)
    np.testing.assert_allclose(biases @ weight, found.combined.biases.estimate, rtol=1e-9, atol=1e-9)
    freedom, factor, of_correlations = certainty(best, np.vstack([weight, np.eye(3)]))
    nu = found.combined.degrees_of_freedom
    np.testing.assert_allclose(freedom, nu, rtol=1e-4)
    np.testing.assert_allclose(of_correlations, nu, rtol=1e-4)
    np.testing.assert_allclose(factor, 1.0, atol=1e-6)
    unit = found.combined.posterior.unit_value_variance
    np.testing.assert_allclose(best.variances(weight[None])[0], unit * found.combined.residual / nu, rtol=1e-7)


def test_a_few_missing_scores_change_little() -> None:
    panel = some_panel(16, n_objects=20, n_assessors=5, missing=0.0)
    whole = calibrate_criteria(panel).combined
    stay = np.ones(panel.n_assessments, dtype=bool)
    stay[4] = False
    short = calibrate_criteria(panel.restrict(stay)).combined
    assert short.method == "cwc+criteria"
    assert abs(short.degrees_of_freedom - whole.degrees_of_freedom) <= 1
    assert whole.values.sd is not None
    assert short.values.sd is not None
    ratio = short.values.sd / whole.values.sd
    assert ratio.min() > 0.9
    assert ratio.max() < 1.15
    assert np.median(np.abs(short.values.estimate - whole.values.estimate) / whole.values.sd) < 0.1


def test_the_order_of_rows_and_labels_does_not_matter() -> None:
    panel = some_panel(17, decades=1.0)
    order = np.random.default_rng(3).permutation(panel.n_assessments)
    frame = panel.to_frame()[order.tolist()]
    shuffled = Panel.from_frame(frame, criterion="criterion", confidence="confidence")
    for correlated in (True, False):
        one = calibrate_criteria(panel, correlated=correlated)
        other = calibrate_criteria(shuffled, correlated=correlated)
        place = [shuffled.objects.index(label) for label in panel.objects]
        for name in ("estimate", "sd", "upper"):
            wanted, got = (np.asarray(getattr(found.combined.values, name)) for found in (one, other))
            np.testing.assert_allclose(got[place], wanted, rtol=1e-7)


def test_points_of_another_size_with_weights_to_match_change_nothing() -> None:
    panel = some_panel(18)
    assert panel.criterion is not None
    score = np.where(panel.criterion == "style", panel.score / 100, panel.score)
    other = Panel.from_arrays(panel.object_index, panel.assessor_index, score, criterion=panel.criterion)
    one = calibrate_criteria(panel, weights={"merit": 1, "style": 1, "reach": 1}).combined
    two = calibrate_criteria(other, weights={"merit": 1, "style": 100, "reach": 1}).combined
    np.testing.assert_allclose(one.values.estimate, two.values.estimate, rtol=1e-8)
    np.testing.assert_allclose(np.asarray(one.values.sd), np.asarray(two.values.sd), rtol=1e-6)


def test_second_readings_are_readings_of_their_own() -> None:
    panel = some_panel(19, missing=0.0)
    again = np.concatenate([np.arange(panel.n_assessments), np.arange(6)])
    assert panel.criterion is not None
    score = np.concatenate([panel.score, panel.score[:6] + np.arange(6)])
    twice = Panel.from_arrays(
        panel.object_index[again], panel.assessor_index[again], score, criterion=panel.criterion[again]
    )
    found = calibrate_criteria(twice)
    assert found.combined.panel.n_assessments == panel.n_assessments // 3 + 2
    parts = [found.fits[label].values.estimate / 3 for label in found.criteria]
    np.testing.assert_allclose(found.combined.values.estimate, sum(parts), rtol=1e-10)
    # with a score missing in a second reading, it is still that reading that lacks it
    short = calibrate_criteria(twice.restrict(np.arange(twice.n_assessments) != twice.n_assessments - 1)).combined
    assert short.panel.n_assessments == found.combined.panel.n_assessments
    assert any(note.message.startswith("1 reading of") for note in short.notes)


def test_an_assessor_may_lack_a_criterion() -> None:
    panel = some_panel(20, n_objects=12, n_assessors=5, missing=0.0)
    assert panel.criterion is not None
    stay = ~((panel.assessor_index == 4) & (panel.criterion == "reach"))
    for correlated in (True, False):
        found = calibrate_criteria(panel.restrict(stay), correlated=correlated, gauge="zero_sum")
        fits = found.fits
        assert "4" not in fits["reach"].panel.assessors
        wanted = (fits["merit"].biases.estimate[4] + fits["style"].biases.estimate[4]) / 3
        assert found.combined.biases.estimate[4] == pytest.approx(wanted)
        row = found.bias_columns()
        assert row["bias_reach"][4] is None
        assert row["bias"][4] == pytest.approx(wanted)
        covariance = found.combined.covariance()
        assert covariance is not None
        np.testing.assert_allclose(
            np.sqrt(np.diagonal(covariance))[12:], np.asarray(found.combined.biases.sd), rtol=1e-9
        )
    dense = Dense(panel.restrict(stay), ("merit", "style", "reach"))
    found = calibrate_criteria(panel.restrict(stay), gauge="zero_sum")
    estimate, spread = dense.fit(found.correlation.covariance, "zero_sum")
    sums = dense.sums([1 / 3] * 3)
    np.testing.assert_allclose(stacked(found.combined), sums @ estimate, rtol=1e-8, atol=1e-8)
    level = float(found.correlation.covariance.sum()) / 9
    np.testing.assert_allclose(
        level * np.concatenate(found.combined.posterior.unit_variances),
        np.diagonal(sums @ spread @ sums.T),
        rtol=1e-8,
        atol=1e-10,
    )


def test_criteria_that_nobody_scores_together_are_fitted_as_if_alone() -> None:
    generator = np.random.default_rng(21)
    one, two = (simulate(generator, n_objects=9, n_assessors=4, count=1, missing=0.0).panel for _ in range(2))
    size = one.n_assessments
    panel = Panel.from_arrays(
        np.concatenate([one.object_index, two.object_index]),
        np.concatenate([one.assessor_index, two.assessor_index + 4]),
        np.concatenate([one.score, two.score]),
        criterion=["merit"] * size + ["style"] * size,
    )
    found = calibrate_criteria(panel, gauge="zero_sum")
    alone = calibrate_criteria(panel, gauge="zero_sum", correlated=False)
    np.testing.assert_allclose(found.combined.values.estimate, alone.combined.values.estimate, rtol=1e-9)
    assert np.isnan(found.correlation.matrix[0, 1])
    assert found.correlation.freedom[0, 1] == 0
    assert found.correlation.columns()["correlation"] == [None]
    ratio = np.asarray(found.combined.values.sd) / np.asarray(alone.combined.values.sd)
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)
    assert "correlation of errors" not in str(found)


# ------------------------------------------------------------------------------------------------- what fits are asked


def answers(panel: Panel) -> list[CriteriaFit]:
    return [calibrate_criteria(panel), calibrate_criteria(panel, correlated=False), calibrate_criteria(panel, by="iba")]


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_a_combined_fit_answers_whatever_a_fit_is_asked(missing: float) -> None:
    panel = some_panel(31, n_objects=10, missing=missing, decades=0.5)
    for found in answers(panel):
        fit = found.combined
        covariance = fit.covariance()
        assert covariance is not None
        assert fit.values.sd is not None
        assert fit.biases.sd is not None
        sds = np.concatenate([fit.values.sd, fit.biases.sd])
        np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), sds, rtol=1e-8)
        values, biases = fit.draw(60_000, seed=1)
        drawn = np.cov(np.hstack([values, biases]).T)
        assert np.abs(drawn - covariance).max() < 0.05 * covariance.max()
        np.testing.assert_allclose(values.mean(axis=0), fit.values.estimate, atol=0.05 * sds.max())
        difference = fit.contrast(values={"0": 1.0, "1": -1.0})
        wanted = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
        assert difference.sd == pytest.approx(wanted, rel=1e-8)
        mixed = fit.contrast(values={"0": 1.0}, biases={"2": 0.5})
        wanted = np.sqrt(covariance[0, 0] + covariance[12, 12] / 4 + covariance[0, 12])
        assert mixed.sd == pytest.approx(wanted, rel=1e-8)
        chance = float(eh.pairwise(fit, ["0"], ["1"])[0])
        assert chance == pytest.approx(float((values[:, 0] > values[:, 1]).mean()), abs=0.01)
        ranking = eh.rank(fit, top=3, seed=1)
        assert ranking.p_top is not None
        assert ranking.p_top.sum() == pytest.approx(3.0)
        grades = eh.classify(fit, [45.0, 55.0]).probability
        np.testing.assert_allclose(grades[:, 0], (values < 45.0).mean(axis=0), atol=0.01)
        summary = summarise_fit(fit, top=2, grades=[50.0])
        assert json.loads(json.dumps(summary, allow_nan=False))["panel"]["assessments"] == 30
        assert len(str(fit).splitlines()) > 5
        assert fit.values.to_frame().shape[0] == 10
        residuals = fit.panel.score - fit.values.estimate[fit.panel.object_index]
        residuals = residuals - fit.biases.estimate[fit.panel.assessor_index]
        np.testing.assert_allclose(fit.residuals, residuals, atol=1e-9)
        assert fit.rms_uncertainty is not None


def test_tables_come_back_as_the_kind_of_frame_that_went_in() -> None:
    panel = some_panel(32)
    table = calibrate_criteria(panel).to_frame()
    assert isinstance(table, pl.DataFrame)
    names = [f"{name}_{label}" for label in panel.criteria for name in ("value", "sd")]
    assert table.columns == ["object", "value", "sd", "lower", "upper", "rank", *names]
    frame = panel.to_frame().to_pandas()
    found = calibrate_criteria(Panel.from_frame(frame, criterion="criterion", confidence="confidence"))
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert isinstance(found.correlation.to_frame(), pd.DataFrame)
    biases = found.biases_to_frame()
    assert list(biases.columns[:3]) == ["assessor", "bias", "sd"]
    merit = found.fits["merit"]
    np.testing.assert_allclose(found.to_frame()["sd_merit"], np.asarray(merit.values.sd))
    shown = str(found)
    assert shown.startswith(f"3 criteria with weights {found.criteria[0]} 0.333333")
    assert f"correlation of errors: {found.criteria[0]} and {found.criteria[1]}" in shown
    assert "merit" in repr(found)


def test_groups_are_compared_only_where_every_criterion_can() -> None:
    panel = some_panel(33, n_objects=6, n_assessors=3, count=2, missing=0.0)
    assert panel.criterion is not None
    size = panel.n_assessments
    both = Panel.from_arrays(
        np.concatenate([panel.object_index, panel.object_index + 6]),
        np.concatenate([panel.assessor_index, panel.assessor_index + 3]),
        np.concatenate([panel.score, panel.score]) + np.random.default_rng(1).normal(size=2 * size),
        criterion=np.concatenate([panel.criterion] * 2),
    )
    both = both.restrict(np.arange(2 * size) != 1)
    with pytest.raises(NotConnectedError, match=r"^Criterion merit: The panel falls into 2 groups"):
        calibrate_criteria(both)
    for correlated in (True, False):
        fit = calibrate_criteria(both, per_component=True, correlated=correlated).combined
        assert fit.values.component.tolist() == [1] * 6 + [0] * 6 or fit.values.component.tolist() == [0] * 6 + [1] * 6
        assert fit.values.sd is not None
        with pytest.raises(EvenhandError, match="groups"):
            eh.rank(fit)
        for label in (0, 6):
            alone = calibrate_criteria(both.restrict((both.object_index >= label) & (both.object_index < label + 6)))
            assert alone.combined.values.estimate.size == 6


# -------------------------------------------------------------------------------------------------- independent errors


@pytest.mark.parametrize("by", ["sa", "cwa", "iba", "cwc"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_variances_of_independent_criteria_add_up(by: str, missing: float) -> None:
    panel = some_panel(41, decades=1.0, missing=missing)
    weights = {"merit": 0.5, "style": 2.0, "reach": 1.0}
    found = calibrate_criteria(panel, weights=weights, correlated=False, by=by)
    assert found.combined.is_calibrated == (by in ("iba", "cwc"))
    for label, fit in found.fits.items():
        assert_same_fit(fit, METHODS[by](panel.of_criterion(label)))
    for side in ("values", "biases") if by in ("iba", "cwc") else ("values",):
        parts = [(weights[label], getattr(fit, side)) for label, fit in found.fits.items()]
        whole = getattr(found.combined, side)
        np.testing.assert_allclose(whole.estimate, sum(w * part.estimate for w, part in parts), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(whole.sd, np.sqrt(sum((w * part.sd) ** 2 for w, part in parts)), rtol=1e-10)
    assert eh.rank(found.combined, seed=1).expected_rank.sum() == pytest.approx(45.0)
    json.dumps(summarise_fit(found.combined), allow_nan=False)


@pytest.mark.parametrize("freedoms", [(5, 5), (6, 40), (12, 12, 30)])
def test_the_tails_of_a_sum_are_those_of_drawn_sums(freedoms: tuple[int, ...]) -> None:
    generator = np.random.default_rng(42)
    drawn = sum(generator.standard_t(nu, 2_000_000) for nu in freedoms)
    variance = sum(nu / (nu - 2) for nu in freedoms)
    excess = sum(6 / (nu - 4) * (nu / (nu - 2)) ** 2 for nu in freedoms) / variance**2
    nu = int(np.rint(4 + 6 / excess))
    noise = SummedNoise((nu - 2) * variance, nu)
    for probability in (0.8, 0.95, 0.99):
        found = noise.quantile(probability)
        assert found == pytest.approx(float(np.quantile(drawn, probability)), rel=0.03)


def test_sums_of_independent_criteria_have_the_tails_of_their_draws() -> None:
    panel = some_panel(43, n_objects=5, n_assessors=4, missing=0.1, count=2)
    fit = calibrate_criteria(panel, correlated=False).combined
    assert isinstance(fit.posterior.noise, SummedNoise)
    values, _ = fit.draw(400_000, seed=2)
    assert fit.values.lower is not None
    assert fit.values.upper is not None
    inside = ((fit.values.lower < values) & (values < fit.values.upper)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.012)


def test_too_few_degrees_of_freedom_leave_the_sum_without_uncertainty() -> None:
    panel = Panel.from_arrays(
        [0, 0, 1, 1, 0, 0, 1, 1],
        [0, 1, 0, 1] * 2,
        [60.0, 70.0, 50.0, 62.0, 6.0, 7.0, 5.0, 8.0],
        criterion=["merit"] * 4 + ["style"] * 4,
    )
    fit = calibrate_criteria(panel, correlated=False).combined
    assert isinstance(fit.posterior.noise, NoDistribution)
    assert fit.values.sd is None
    assert fit.values.lower is None
    assert any("criterion merit" in note.message for note in fit.notes if note.kind == "uncertainty")
    summarise_fit(fit, top=1)
    # the combined scores have intervals all the same
    assert calibrate_criteria(panel).combined.values.lower is not None


def test_scores_that_agree_perfectly_scatter_by_half_a_step_in_each_criterion() -> None:
    panel = Panel.from_arrays(
        np.repeat(np.arange(4), 6),
        np.tile([0, 0, 1, 1, 2, 2], 4),
        np.repeat(np.arange(4.0), 6) + np.tile([0.0, 0.0, 1.0, 1.0, 2.0, 2.0], 4),
        criterion=["merit", "style"] * 12,
    )
    for correlated in (True, False):
        fit = calibrate_criteria(panel, correlated=correlated).combined
        assert fit.residual == 0
        assert fit.values.sd is not None
        # a mean of two criteria, of which w* is 6/4 of a quarter each, and of three assessors
        np.testing.assert_allclose(fit.values.sd, np.sqrt(6 / 4 * (0.25 + 0.25) / 4 / 3), rtol=1e-9)
        assert any("half a step" in note.message for note in fit.notes if note.kind == "grid")


def test_a_note_says_when_correlations_were_ignored() -> None:
    panel = some_panel(44, n_objects=40, n_assessors=6, missing=0.2, rho=0.8)
    fit = calibrate_criteria(panel, correlated=False).combined
    note = next(note for note in fit.notes if note.kind == "correlated")
    assert "too small" in note.message
    opposed = some_panel(45, n_objects=40, n_assessors=6, missing=0.2, count=2, rho=-0.8)
    fit = calibrate_criteria(opposed, correlated=False).combined
    assert any("too large" in note.message for note in fit.notes if note.kind == "correlated")
    alone = some_panel(46, n_objects=40, n_assessors=6, missing=0.2, rho=0.0)
    assert not any(note.kind == "correlated" for note in calibrate_criteria(alone, correlated=False).combined.notes)


# ------------------------------------------------------------------------------------------------------ declared noise


def declared(panel: Panel) -> Panel:
    return Panel.from_arrays(
        panel.object_index, panel.assessor_index, panel.score, panel.precision / 16.0, criterion=panel.criterion
    )


def test_declared_uncertainties_take_correlations_alone_from_the_scores() -> None:
    panel = declared(some_panel(51, missing=0.0, decades=1.0))
    weights = {"merit": 1.0, "style": 0.5, "reach": 2.0}
    found = calibrate_criteria(panel, weights=weights, noise="declared")
    correlation = found.correlation.matrix
    weight = np.array(list(found.weights.values()))
    alone = combined_scores(panel, weights)
    plain = eh.calibrate(
        Panel.from_arrays(
            alone.object_index,
            alone.assessor_index,
            alone.score,
            alone.precision / float(weight @ correlation @ weight),
        ),
        noise="declared",
    )
    assert_same_fit(found.combined, plain)
    assert found.combined.posterior.noise.kind == "declared"


def test_declared_errors_that_cancel_perfectly_give_no_result() -> None:
    panel = declared(some_panel(53, count=2, missing=0.0, decades=1.0))
    assert panel.criterion is not None
    merit = panel.of_criterion("merit").score
    score = np.array(panel.score)
    score[panel.criterion == "merit"], score[panel.criterion == "style"] = merit, 100.0 - merit
    opposed = Panel.from_arrays(
        panel.object_index, panel.assessor_index, score, panel.precision, criterion=panel.criterion
    )
    with pytest.raises(SolveError, match=r"criteria merit and style go together perfectly.*correlated=False"):
        calibrate_criteria(opposed, noise="declared")
    assert calibrate_criteria(opposed).combined.residual == 0


def test_declared_uncertainties_with_missing_scores_give_dense_generalised_least_squares() -> None:
    panel = declared(some_panel(52, decades=1.0))
    found = calibrate_criteria(panel, noise="declared")
    dense = Dense(panel, found.criteria)
    estimate, covariance = dense.fit(found.correlation.matrix, "weighted")
    sums = dense.sums([1 / 3] * 3)
    np.testing.assert_allclose(stacked(found.combined), sums @ estimate, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.asarray(found.combined.covariance()), sums @ covariance @ sums.T, rtol=1e-8, atol=1e-9
    )
    alone = calibrate_criteria(panel, noise="declared", correlated=False)
    assert alone.combined.posterior.noise.kind == "declared"
    variance = sum((np.asarray(fit.values.sd) / 3) ** 2 for fit in alone.fits.values())
    np.testing.assert_allclose(np.asarray(alone.combined.values.sd) ** 2, variance, rtol=1e-10)


# --------------------------------------------------------------------------------------------------------- refinements


def test_refinements_are_those_of_the_combined_scores_where_readings_are_complete() -> None:
    panel = some_panel(61, n_objects=15, n_assessors=5, missing=0.0)
    shrunk = Refinements(shrink=True)
    found = calibrate_criteria(panel, by=shrunk)
    plain = refine(combined_scores(panel, found.weights), shrunk)
    np.testing.assert_allclose(found.combined.values.estimate, plain.values.estimate, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(found.combined.values.sd), np.asarray(plain.values.sd), rtol=1e-4)
    assert found.combined.method == "cwc+shrunk"
    assert found.correlation.matrix[0, 1] > 0


def test_refinements_of_independent_criteria_add_up() -> None:
    panel = some_panel(62, n_objects=15, n_assessors=5, missing=0.2, count=2)
    found = calibrate_criteria(panel, by=Refinements(shrink=True), correlated=False)
    fits = list(found.fits.values())
    assert all(fit.method == "cwc+shrunk" for fit in fits)
    fit = found.combined
    assert fit.method == "cwc+shrunk+criteria"
    variance = sum((np.asarray(one.values.sd) / 2) ** 2 for one in fits)
    np.testing.assert_allclose(np.asarray(fit.values.sd) ** 2, variance, rtol=1e-10)
    covariance = fit.covariance()
    assert covariance is not None
    parts = [one.covariance() for one in fits]
    np.testing.assert_allclose(covariance, sum(part / 4 for part in parts if part is not None), rtol=1e-9, atol=1e-9)
    values, _ = fit.draw(40_000, seed=3)
    np.testing.assert_allclose(values.std(axis=0), np.asarray(fit.values.sd), rtol=0.03)
    difference = fit.contrast(values={"0": 1.0, "1": -1.0})
    wanted = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert difference.sd == pytest.approx(wanted, rel=1e-8)


def test_medians_of_criteria_add_up_without_uncertainty() -> None:
    panel = some_panel(63, missing=0.2)
    found = calibrate_criteria(panel, by=median_polish, correlated=False)
    total = sum(fit.values.estimate for fit in found.fits.values()) / 3
    np.testing.assert_allclose(found.combined.values.estimate, total)
    assert found.combined.values.sd is None
    assert "no distribution" in str(found.combined)


# ------------------------------------------------------------------------------------------------------------ refusals


def test_wrong_weights_are_refused_by_name() -> None:
    panel = some_panel(71)
    with pytest.raises(
        InputError, match=r"^There is no criterion 'elegance' to give a weight to, for nobody scored it"
    ):
        calibrate_criteria(panel, weights={"merit": 1, "elegance": 1})
    with pytest.raises(InputError, match=r"weight of criterion style must be 0 or more, not -1\.$"):
        calibrate_criteria(panel, weights={"merit": 1, "style": -1})
    with pytest.raises(InputError, match="weight of criterion style must be 0 or more, not nan"):
        calibrate_criteria(panel, weights={"style": float("nan")})
    for weights in ({}, {"merit": 0.0, "style": 0.0}):
        with pytest.raises(InputError, match=r"^No criterion has a weight above 0.*merit, style, reach"):
            calibrate_criteria(panel, weights=weights)
    with pytest.raises(InputError, match="has no criteria"):
        calibrate_criteria(panel.of_criterion("merit"))


def test_an_object_without_a_criterion_is_refused_by_name_unless_it_has_no_weight() -> None:
    panel = some_panel(72, n_objects=12, missing=0.1)
    assert panel.criterion is not None
    stay = ~((panel.criterion == "reach") & np.isin(panel.object_index, [3, 7]))
    short = panel.restrict(stay)
    for correlated in (True, False):
        with pytest.raises(
            InputError, match=r"^object 3: It has no score for criterion reach \(nor has 1 more\)"
        ) as error:
            calibrate_criteria(short, correlated=correlated)
        assert error.value.kind == "missing_criterion"
        assert "weights to other criteria" in str(error.value)
        found = calibrate_criteria(short, weights={"merit": 1, "style": 1}, correlated=correlated)
        assert found.criteria == ("merit", "style")
        assert any("criterion without a weight left out: reach" in note.message for note in found.combined.notes)


def test_what_does_not_go_together_is_refused_in_a_sentence() -> None:
    panel = some_panel(73)
    whole = some_panel(73, missing=0.0)
    with pytest.raises(InputError, match=r"^Refinements go with correlated criteria only where every reading"):
        calibrate_criteria(panel, by=Refinements(shrink=True))
    with pytest.raises(InputError, match=r"fitted by calibration \(cwc or iba\)"):
        calibrate_criteria(panel, by="cwa")
    with pytest.raises(InputError, match=r"not by 'cwx'\.$"):
        calibrate_criteria(panel, by="cwx")
    with pytest.raises(InputError, match="prior of the noise variance is for one criterion"):
        calibrate_criteria(whole, noise=NoisePrior(lambda w: -w))
    bounded = Refinements(scores=eh.Bounded(-100.0, 200.0))
    with pytest.raises(InputError, match="do not add up across criteria"):
        calibrate_criteria(panel, by=bounded, correlated=False)
    with pytest.raises(InputError, match=r"^An interval needs a probability"):
        calibrate_criteria(panel, interval=1.5)
    with pytest.raises(InputError, match=r"^The noise cannot be taken as declared"):
        calibrate_criteria(panel, noise="declared")
    with pytest.raises(InputError, match=r"^assessor nobody: Criterion merit: There is no assessor 'nobody'"):
        calibrate_criteria(panel, gauge=eh.Anchor(assessor="nobody"))


def test_correlations_that_cannot_be_told_give_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = some_panel(74, count=2)
    assert panel.criterion is not None
    assert calibrate_criteria(panel).is_correlated
    agreed = np.where(panel.criterion == "style", panel.object_index * 1.0, panel.score)
    flat = Panel.from_arrays(panel.object_index, panel.assessor_index, agreed, criterion=panel.criterion)
    with pytest.raises(SolveError, match=r"criterion style agree perfectly.*correlated=False"):
        calibrate_criteria(flat)
    thin = Panel.from_arrays(
        [0, 0, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1, 0], np.arange(7.0) ** 2, criterion=["merit"] * 4 + ["style"] * 3
    )
    with pytest.raises(SolveError, match=r"criterion style are just enough to fix its values"):
        calibrate_criteria(thin)
    monkeypatch.setattr(module, "STEPS", 2)
    with pytest.raises(SolveError, match=r"did not come to rest in 2 steps: there is no result"):
        calibrate_criteria(panel)


def test_too_many_equations_are_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = some_panel(75)
    monkeypatch.setattr(joint, "MOST", 11)
    with pytest.raises(LimitError, match=r"12 equations \(0\.00 GiB\), and 11 is the most: use correlated=False"):
        calibrate_criteria(panel)
    assert calibrate_criteria(panel, correlated=False).combined.values.sd is not None
    assert calibrate_criteria(some_panel(75, missing=0.0)).combined.method == "cwc"


def test_a_combined_fit_cannot_be_fitted_from_combined_scores() -> None:
    panel = some_panel(76)
    for found in (calibrate_criteria(panel), calibrate_criteria(panel, correlated=False)):
        solver = found.combined.posterior.solver
        assert solver is not None
        assert not hasattr(solver, "solve")
        assert np.isfinite(solver.log_determinant())
        assert 0 < solver.mu2() <= 1
        assert solver.diagonal_error == 0
        assert solver.log_determinant_error == 0
        assert "direct" in solver.reason


# ---------------------------------------------------------------------------------------------------------- simulation


def test_borrowing_from_other_criteria_narrows_what_is_missing() -> None:
    generator = np.random.default_rng(81)
    alone: list[float] = []
    together: list[float] = []
    for _ in range(25):
        truth = simulate(generator, n_objects=20, n_assessors=5, count=2, missing=0.3, rho=0.9)
        for correlated, errors in ((True, together), (False, alone)):
            found = calibrate_criteria(truth.panel, correlated=correlated)
            for label in found.criteria:
                errors.append(float(np.square(found.fits[label].values.estimate - truth.of(label)).mean()))
    assert np.mean(together) < 0.92 * np.mean(alone)


@pytest.mark.study
@pytest.mark.parametrize(
    ("missing", "rho", "count", "n_objects"),
    [(0.0, 0.6, 3, 14), (0.25, 0.6, 3, 14), (0.25, 0.0, 3, 14), (0.2, -0.5, 2, 14), (0.35, 0.8, 2, 24)],
)
def test_combined_intervals_cover_and_ignoring_correlation_does_not(
    missing: float, rho: float, count: int, n_objects: int
) -> None:
    generator = np.random.default_rng(20260201)
    covered: list[float] = []
    ignored: list[float] = []
    singly: list[float] = []
    ratios: list[float] = []
    for _ in range(160):
        truth = simulate(generator, n_objects=n_objects, n_assessors=5, count=count, missing=missing, rho=rho)
        found = calibrate_criteria(truth.panel)
        alone = calibrate_criteria(truth.panel, correlated=False)
        wanted = truth.combined(found)
        for fit, record in ((found.combined, covered), (alone.combined, ignored)):
            assert fit.values.lower is not None
            assert fit.values.upper is not None
            record.append(float(((fit.values.lower <= wanted) & (wanted <= fit.values.upper)).mean()))
        assert found.combined.values.sd is not None
        ratios.append(float(np.square((found.combined.values.estimate - wanted) / found.combined.values.sd).mean()))
        for label in found.criteria:
            own, true = found.fits[label].values, truth.of(label)
            singly.append(float(((np.asarray(own.lower) <= true) & (true <= np.asarray(own.upper))).mean()))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)
    assert np.mean(singly) == pytest.approx(0.9, abs=0.02)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)
    if rho > 0.5:
        assert np.mean(ignored) < 0.87
    elif rho < -0.4:
        assert np.mean(ignored) > 0.93


@pytest.mark.study
def test_ranks_of_the_truth_among_draws_are_uniform() -> None:
    generator = np.random.default_rng(20260202)
    places: dict[bool, list[int]] = {True: [], False: []}
    for seed in range(500):
        for correlated, rho in ((True, 0.6), (False, 0.0)):
            truth = simulate(generator, n_objects=12, n_assessors=5, count=2, missing=0.2, rho=rho)
            found = calibrate_criteria(truth.panel, correlated=correlated)
            at = int(generator.integers(truth.panel.n_objects))
            values, _ = found.combined.draw(99, seed=seed)
            places[correlated].append(int((values[:, at] < truth.combined(found)[at]).sum()))
    for found_places in places.values():
        counts = np.bincount(np.array(found_places) * 10 // 100, minlength=10)
        assert stats.chisquare(counts).pvalue > 0.01


def test_the_solver_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = some_panel(91)
    found = calibrate_criteria(panel)
    solver = found.combined.posterior.solver
    assert isinstance(solver, CombinedSolver)
    assert isinstance(solver.base, JointSolver)
    one = solver.base.blocks
    monkeypatch.setattr(joint, "AT_ONCE", 1)  # gathered row by row
    monkeypatch.setattr("evenhand.solve.base.AT_ONCE", 1)
    again = JointSolver(solver.base.readings, solver.base.covariance, solver.base.gauges).blocks
    for first, second in zip(one, again, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(solver.edges()[1], calibrate_criteria(panel).combined.posterior.solver.edges()[1])  # type: ignore[union-attr]


# ------------------------------------------------------------------------------- what is not for several criteria

NOT_FOR_CRITERIA: dict[str, Callable[[Fit], Any]] = {
    "An update": lambda fit: eh.update(fit, put=[(fit.panel.objects[0], fit.panel.assessors[0], 50.0)]),
    "A refit": lambda fit: fit.refit(fit.panel),
    "Leaving an assessor out": eh.without_assessors,
    "Evidence": eh.evidence,
    "Influence": eh.influence,
    "An explanation": eh.explain,
    "The next best assessment": eh.next_best,
}


@pytest.mark.parametrize("what", NOT_FOR_CRITERIA)
def test_what_needs_a_fit_of_one_panel_alone_is_refused(what: str) -> None:
    rows = [
        {"object": o, "assessor": a, "criterion": c, "score": 50 + 3.0 * o - 2 * a + c + (7 * o * a * (c + 1)) % 5}
        for o in range(8)
        for a in range(4)
        for c in range(2)
        if (o + a + c) % 5
    ]
    fit = eh.calibrate_criteria(Panel.from_frame(pl.DataFrame(rows), criterion="criterion"))
    for one in (fit.combined, *fit.fits.values()):
        with pytest.raises(InputError, match=f"{what} is not for values of several criteria"):
            NOT_FOR_CRITERIA[what](one)


# ------------------------------------------------------------------------------------- methods that know no criteria


@pytest.mark.parametrize(
    "fit_by",
    [
        *(eh.calibrate, eh.incomplete_block, eh.simple_average, eh.weighted_average, eh.median_polish),
        *(eh.refine, lambda panel: eh.refine(panel, shrink=True), lambda panel: eh.compare(panel, candidates=[])),
    ],
)
def test_scores_for_several_criteria_are_not_pooled_in_silence(fit_by: Any) -> None:
    panel = some_panel(61, count=2, missing=0.0)
    with pytest.raises(InputError, match=r"2 criteria \(merit, style\).*calibrate_criteria\(panel\)") as caught:
        fit_by(panel)
    assert caught.value.problems[0].kind == "several_criteria"
    one = panel.of_criterion("merit")
    assert fit_by(one) is not None


def test_a_panel_of_one_criterion_is_a_panel() -> None:
    panel = some_panel(62, count=2, missing=0.0)
    assert panel.criterion is not None
    alone = panel.restrict(panel.criterion == "merit")
    assert alone.criteria == ("merit",)
    np.testing.assert_array_equal(
        eh.calibrate(alone).values.estimate, eh.calibrate(panel.of_criterion("merit")).values.estimate
    )


def test_groups_of_one_criterion_alone_are_not_those_of_the_panel() -> None:
    objects, assessors = [0, 0, 1, 1, 2, 2, 3, 3, 1], [0, 1, 0, 1, 2, 3, 2, 3, 2]
    rows = [(o, a, "merit") for o, a in zip(objects, assessors, strict=True)]
    rows += [(o, a, "style") for o, a in zip(objects[:-1], assessors[:-1], strict=True)]  # nobody joins the halves
    frame = pl.DataFrame(rows, schema=["object", "assessor", "criterion"], orient="row")
    panel = Panel.from_frame(frame.with_columns(score=np.random.default_rng(1).normal(size=len(rows))))
    fit = calibrate_criteria(panel, per_component=True).combined
    assert fit.connectivity.is_connected
    [alert] = [one for one in eh.alerts(fit) if one.kind == "groups"]
    assert "All criteria together would join them; one of the criteria alone does not." in str(alert.lines)
    assert "Group 1" not in str(alert.lines)
    assert "further scores" not in alert.remedy
