"""Refined models against lme4, dense algebra, optimisers and integrals that know nothing of evenhand's own."""

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from math import lgamma, log, pi
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, optimize, stats
from scipy.linalg import block_diag
from scipy.special import logsumexp

import evenhand as eh
from evenhand.errors import EvenhandError, InputError, NotConnectedError, SolveError
from evenhand.models import reweighting as working
from evenhand.models.fit import Fit
from evenhand.models.noise import EstimatedNoise, KnownNoise, Likelihood, Normal
from evenhand.models.posterior import Marginal
from evenhand.models.reweighting import settle
from evenhand.models.robust import Huber, Student
from evenhand.models.rounded import Rounded
from evenhand.models.scaled import Ties
from evenhand.models.setting import Node, Setting, Work
from evenhand.models.variances import slopes
from evenhand.panel.confidence import FACTOR
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from panels import connected_panels, gauges_for, random_panel, refined_of

Floats = NDArray[np.float64]

# what a fit may lack, such as standard deviations, these have wherever they are asked for
refine: Callable[..., Any] = eh.refine
close: Callable[..., None] = np.testing.assert_allclose
minimize: Callable[..., Any] = optimize.minimize
minimize_scalar: Callable[..., Any] = optimize.minimize_scalar

REFERENCES = Path(__file__).parent / "references"


# ---------------------------------------------------------------------------------------------- the models, densely


def one_hot(index: NDArray[np.integer], count: int) -> Floats:
    chosen = np.zeros((index.size, count))
    chosen[np.arange(index.size), index] = 1.0
    return chosen


def sides(panel: Panel) -> tuple[Floats, Floats]:
    return one_hot(panel.object_index, panel.n_objects), one_hot(panel.assessor_index, panel.n_assessors)


def scatter(
    panel: Panel, w: float, value_ratio: float, bias_ratio: float, *, stretch: Floats | None = None, kappa: Any = 1.0
) -> Floats:
    """Return the covariance of the scores with values and biases integrated out."""
    objects, assessors = sides(panel)
    if stretch is not None:
        objects = stretch[panel.assessor_index][:, None] * objects
    noise = np.broadcast_to(kappa, panel.n_assessors)[panel.assessor_index] / panel.precision
    return np.asarray(w * (np.diag(noise) + value_ratio * objects @ objects.T + bias_ratio * assessors @ assessors.T))


def log_integrated(score: Floats, covariance: Floats, flat: Floats) -> float:
    """Return log of the integral of N(score; flat g, covariance) over all g."""
    inner = flat.T @ np.linalg.solve(covariance, flat)
    best = np.linalg.solve(inner, flat.T @ np.linalg.solve(covariance, score))
    density = stats.multivariate_normal(flat @ best, covariance).logpdf(score)
    return float(density + flat.shape[1] / 2 * log(2 * pi) - np.linalg.slogdet(inner)[1] / 2)


def work_for(panel: Panel, columns: Floats | None = None) -> Work:
    return Work(panel, connectivity(panel), None if columns is None else sp.csr_array(columns))


def variances(fit: Fit) -> dict[str, float]:
    """Return the numbers that the scores had to tell, without their intervals, which take longer."""
    node = refined_of(fit).node
    found = {"noise_sd": float(np.sqrt(node.w)), "power": node.setting.power, "strength": node.setting.strength}
    for name in ("value", "bias", "scale"):
        ratio = getattr(node.setting, f"{name}_ratio")
        found |= {} if ratio is None else {f"{name}_sd": float(np.sqrt(ratio * node.w))}
    return found


class Dense:
    """The log density of scores and (v, b, m, beta) for a setting, as it is written down, and its integrals."""

    def __init__(self, panel: Panel, setting: Setting, columns: Floats | None = None, kappa: Any = 1.0) -> None:
        assert setting.w is not None
        self.panel, self.setting, self.w = panel, setting, setting.w
        n_objects, n_assessors = panel.n_objects, panel.n_assessors
        more = np.zeros((panel.n_assessments, 0)) if columns is None else columns
        self.flat = more.shape[1]
        objects, assessors = sides(panel)
        if setting.value_ratio is not None:
            assert setting.bias_ratio is not None
            self.design = np.hstack([objects, assessors, np.zeros((panel.n_assessments, 1)), more])
            link = np.concatenate([np.full(n_objects, 1 / setting.value_ratio), np.zeros(n_assessors)])
            own = np.diag(np.concatenate([link[:n_objects], np.full(n_assessors, 1 / setting.bias_ratio)]))
            prior = np.block([[own, -link[:, None]], [-link[None], np.array([[link.sum()]])]])
            self.level = -n_objects / 2 * log(setting.value_ratio) - n_assessors / 2 * log(setting.bias_ratio)
            self.flat += 1
        elif setting.bias_ratio is not None:
            self.design = np.hstack([objects, assessors, more])
            prior = np.diag(np.concatenate([np.zeros(n_objects), np.full(n_assessors, 1 / setting.bias_ratio)]))
            self.level = -n_assessors / 2 * log(setting.bias_ratio)
            self.flat += n_objects
        else:  # one bias is held at zero
            self.design = np.hstack([objects, assessors[:, 1:], more])
            prior = np.zeros((n_objects + n_assessors - 1,) * 2)
            self.level = 0.0
            self.flat += prior.shape[0]
        self.prior = block_diag(prior, np.zeros((more.shape[1],) * 2))
        declared = work_for(panel).precision(setting.power)
        self.precision = declared / np.broadcast_to(kappa, n_assessors)[panel.assessor_index]

    def solution(self) -> tuple[Floats, Floats]:
        """Return the mean of all unknowns for normal noise, and their covariance for w = 1."""
        inverse = np.linalg.inv(self.design.T @ (self.precision[:, None] * self.design) + self.prior)
        return inverse @ self.design.T @ (self.precision * self.panel.score), inverse

    def covariance(self, weight: Floats) -> Floats:
        """Return the covariance of all unknowns for normal scores of given weights."""
        return np.asarray(self.w * np.linalg.inv(self.design.T @ (weight[:, None] * self.design) + self.prior))

    def height(self, unknowns: Floats) -> float:
        left = self.panel.score - self.design @ unknowns
        density = self.setting.likelihood.log_density(left, self.precision, self.w).sum()
        return float(density - unknowns @ self.prior @ unknowns / (2 * self.w))

    def integrals(self, centre: Floats, weight: Floats, count: int = 100_000) -> tuple[float, Floats, Floats]:
        """Return the log integral over all unknowns, with the priors' constants, and posterior means and deviations.

        By importance sampling from a multivariate Student density, of which centre and covariance are given.
        """
        root = np.linalg.cholesky(self.covariance(weight))
        size = centre.size
        drawn = stats.multivariate_t(shape=np.eye(size), df=8, seed=5)
        z = drawn.rvs(count)
        unknowns = centre + z @ root.T
        left = self.panel.score - unknowns @ self.design.T
        precision = np.broadcast_to(self.precision, left.shape).ravel()
        density = self.setting.likelihood.log_density(left.ravel(), precision, self.w).reshape(left.shape).sum(axis=1)
        height = density - np.einsum("ij,jk,ik->i", unknowns, self.prior, unknowns) / (2 * self.w)
        height = height - drawn.logpdf(z) + np.linalg.slogdet(root)[1]
        chance = np.exp(height - logsumexp(height))
        assert 1 / np.square(chance).sum() > 0.005 * count, "too few draws count"
        mean = chance @ unknowns
        level = self.level + (self.flat - size) / 2 * log(2 * pi * self.w)
        return float(logsumexp(height) - log(count) + level), mean, np.sqrt(chance @ np.square(unknowns - mean))


# ------------------------------------------------------------------------------------------------------------- lme4


def stored(name: str) -> list[dict[str, str]]:
    with (REFERENCES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def stored_panel(name: str) -> Panel:
    rows = [row for row in stored("panels.csv") if row["panel"] == name]
    return Panel.from_arrays(
        [int(row["object"]) for row in rows],
        [int(row["assessor"]) for row in rows],
        [float(row["score"]) for row in rows],
        [float(row["confidence"]) for row in rows],
        covariates={"order": [float(row["order"]) for row in rows], "round": [row["round"] for row in rows]},
    )


class Lme4:
    """What lme4 found for one panel and model."""

    def __init__(self, panel: str, model: str) -> None:
        self.rows = [row for row in stored("lme4.csv") if (row["panel"], row["model"]) == (panel, model)]

    def __getitem__(self, what: str) -> dict[str, float]:
        return {row["label"]: float(row["number"]) for row in self.rows if row["what"] == what}

    def side(self, what: str, count: int) -> Floats:
        return np.array([self[what][str(at)] for at in range(count)])


COVARIATES = {"order": ("order",), "round": ("round",), "both": ("order", "round"), "section": ("section",)}
FITTED = list(dict.fromkeys((row["panel"], row["model"]) for row in stored("lme4.csv")))


@pytest.mark.parametrize(("name", "model"), FITTED)
def test_lme4_finds_the_same_variances_and_modes(name: str, model: str) -> None:
    panel, reference = stored_panel(name), Lme4(name, model)
    panel = replace(panel, covariates={**panel.covariates, "section": (panel.object_index % 3).astype(str)})
    likelihood = "ml" if model.endswith("ml") else "reml"
    fit = refine(panel, shrink=True, covariates=COVARIATES.get(model, ()), likelihood=likelihood)
    found = variances(fit)
    typical = reference["sd"]["Residual"] / np.sqrt(panel.precision.mean())
    assert ("bias_sd" in refined_of(fit).variances.labels) == ("assessor" in reference["sd"])
    for label, group in (("value_sd", "object"), ("bias_sd", "assessor"), ("noise_sd", "Residual")):
        if group not in reference["sd"]:
            continue
        if reference["sd"][group] == 0:
            assert found[label] < 2e-3 * typical
        else:
            assert found[label] == pytest.approx(reference["sd"][group], rel=1e-6 if likelihood == "reml" else 1e-5)
    is_singular = 0 in reference["sd"].values()
    digits = 1e-4 if is_singular else 1e-6 if likelihood == "reml" else 1e-5  # slopes of ML are differences
    if "assessor" in reference["sd"]:
        close(fit.biases.estimate, reference.side("assessor", panel.n_assessors), atol=digits)
    modes = fit.values.estimate - refined_of(fit).node.mean
    close(modes, reference.side("object", panel.n_objects), atol=digits)
    # the level: lme4's intercept is where all covariates are zero, ours where they are average
    level = reference["fixed"]["(Intercept)"]
    if model in COVARIATES:
        theirs, spread = (
            {re.sub("^(round|section)", r"\1=", label): number for label, number in reference[what].items()}
            for what in ("fixed", "fixed_sd")
        )
        node = refined_of(fit).node
        assert node.border is not None
        sd = np.sqrt(node.w * np.diagonal(node.border.covariance))
        for at, label in enumerate(refined_of(fit).names):
            assert node.coefficients[at] == pytest.approx(theirs[label], abs=1e-6)
            assert sd[at] == pytest.approx(spread[label], rel=1e-6)
            name_, _, category = label.partition("=")
            cells = panel.covariates[name_]
            level += theirs[label] * np.average(cells == category if category else cells, weights=panel.precision)
    assert refined_of(fit).node.mean == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize(("name", "model"), [pair for pair in FITTED if pair[1] in ("shrunk", "once")])
def test_the_reml_criterion_is_that_of_lme4_with_its_constants(name: str, model: str) -> None:
    node = refined_of(refine(stored_panel(name), shrink=True)).node
    nu, total = node.freedom, node.residual
    integrated = lgamma(nu / 2) - nu / 2 * log(pi * total)  # over the noise variance ...
    at_best = -nu / 2 * log(2 * pi * total / nu) - nu / 2  # ... where REML has the best one
    found = -2 * (node.log_marginal - integrated + at_best)
    assert found == pytest.approx(Lme4(name, model)["reml"]["criterion"], abs=5e-6)


@pytest.mark.slow
def test_lme4_still_finds_what_is_stored() -> None:
    script = shutil.which("Rscript")
    if script is None:
        pytest.skip("R is not installed")
    wanted = 'quit(status = !all(sapply(c("lme4", "numDeriv"), requireNamespace, quietly = TRUE)))'
    if subprocess.run([script, "-e", wanted], check=False, capture_output=True).returncode:
        pytest.skip("R has no lme4 or numDeriv")
    command = [script, "lme4.R", "panels.csv"]
    done = subprocess.run(command, cwd=REFERENCES, check=True, capture_output=True, text=True)
    found = list(csv.DictReader(done.stdout.splitlines()))
    wanted_rows = stored("lme4.csv")
    key = ("panel", "model", "what", "label")
    assert [[row[name] for name in key] for row in found] == [[row[name] for name in key] for row in wanted_rows]
    numbers = [np.array([float(row["number"]) for row in rows]) for rows in (found, wanted_rows)]
    close(*numbers, rtol=1e-6, atol=1e-6)


# ----------------------------------------------------------------------------------------------------------- shrunk


@given(connected_panels(repeats=True), st.floats(-4, 6), st.floats(-4, 6), st.booleans())
def test_given_ratios_the_posterior_is_the_dense_one(panel: Panel, values: float, biases: float, both: bool) -> None:
    setting = Setting(value_ratio=float(np.exp(values)) if both else None, bias_ratio=float(np.exp(biases)), w=1.0)
    node, dense = settle(work_for(panel), setting), Dense(panel, setting)
    members = panel.n_objects + panel.n_assessors
    mean, covariance = dense.solution()
    identity = np.eye(members)
    found = np.vstack(node.solver.apply(identity[: panel.n_objects], identity[panel.n_objects :]))
    close(found, covariance[:members, :members], atol=1e-8 * float(np.abs(covariance).max()))
    close(np.concatenate([node.values, node.biases]), mean[:members], atol=1e-7)
    close(node.residuals, panel.score - dense.design @ mean, atol=1e-7)


SETTINGS = [(1.0, 2.0, 3.0), (2.0, 40.0, 1.0), (0.5, 0.1, 300.0), (1.3, 1e-4, 1e-3), (0.7, 1e4, 1e3)]


@pytest.mark.parametrize("seed", range(4))
def test_the_log_marginal_likelihood_is_that_of_a_multivariate_normal(seed: int) -> None:
    panel = random_panel(seed, 9, 5, 12)
    flat = np.ones((panel.n_assessments, 1))
    objects, _ = sides(panel)
    for w, value_ratio, bias_ratio in SETTINGS:
        node = settle(work_for(panel), Setting(value_ratio=value_ratio, bias_ratio=bias_ratio, w=w))
        wanted = log_integrated(panel.score, scatter(panel, w, value_ratio, bias_ratio), flat)
        assert node.log_marginal == pytest.approx(wanted, abs=1e-8)
        node = settle(work_for(panel), Setting(bias_ratio=bias_ratio, w=w))
        wanted = log_integrated(panel.score, scatter(panel, w, 0.0, bias_ratio), objects)
        assert node.log_marginal == pytest.approx(wanted, abs=1e-8)


def integrated_over_w(height: Callable[[float], float], near: float) -> float:
    """Return log of the integral of exp(height(w)) dw / w."""
    top = height(near)
    area = integrate.quad(lambda x: np.exp(height(float(np.exp(x))) - top), log(near) - 3, log(near) + 6, limit=200)[0]
    return top + log(area)


def test_an_unknown_noise_variance_is_integrated_out_under_jeffreys_prior() -> None:
    panel = random_panel(1, 6, 4, 9)
    flat = np.ones((panel.n_assessments, 1))
    for _, value_ratio, bias_ratio in SETTINGS:
        node = settle(work_for(panel), Setting(value_ratio=value_ratio, bias_ratio=bias_ratio))

        def height(w: float, ratios: tuple[float, float] = (value_ratio, bias_ratio)) -> float:
            return log_integrated(panel.score, scatter(panel, w, *ratios), flat)

        assert node.log_marginal == pytest.approx(integrated_over_w(height, node.w), abs=1e-4)
        best = minimize_scalar(lambda x, of=height: -of(float(np.exp(x))), bracket=(-1, 3), tol=1e-10)
        assert node.w == pytest.approx(float(np.exp(best.x)), rel=1e-6)


def test_known_standard_deviations_leave_only_the_noise_to_be_found() -> None:
    panel = eh.simulate_panel(20, 5, 3, seed=3, bounds=None, step=None).panel
    flat = np.ones((panel.n_assessments, 1))
    value_sd, bias_sd = 14.0, 9.0

    def height(w: float) -> float:
        return log_integrated(panel.score, scatter(panel, w, value_sd**2 / w, bias_sd**2 / w), flat)

    best = minimize_scalar(lambda x: -height(float(np.exp(x))), bracket=(-1, 1), tol=1e-10)
    w = float(np.exp(best.x))
    fit = refine(panel, shrink=True, value_sd=value_sd, bias_sd=bias_sd)
    assert refined_of(fit).variances.labels == ["noise_sd"]
    assert refined_of(fit).variances.estimate[0] == pytest.approx(np.sqrt(w), rel=1e-5)
    # what is left to doubt is the noise: a mixture over w, with a density flat in log w
    grid = w * np.exp(np.linspace(-2.5, 2.5, 101))
    chance = np.exp([height(one) + best.fun for one in grid])
    chance /= chance.sum()
    mean, variance = (
        np.array(part) for part in zip(*(posterior_of(panel, one, value_sd, bias_sd) for one in grid), strict=True)
    )
    estimate = np.concatenate([fit.values.estimate, fit.biases.estimate])
    exact = chance @ (variance + np.square(mean - estimate))
    close(np.concatenate([fit.values.sd, fit.biases.sd]), np.sqrt(exact), rtol=5e-3)


def posterior_of(panel: Panel, w: float, value_sd: float, bias_sd: float) -> tuple[Floats, Floats]:
    """Return posterior means and variances of values and biases for known variances."""
    dense = Dense(panel, Setting(value_ratio=value_sd**2 / w, bias_ratio=bias_sd**2 / w, w=w))
    mean, covariance = dense.solution()
    return mean[:-1], w * np.diagonal(covariance)[:-1]


def test_with_declared_noise_and_known_variances_nothing_is_estimated() -> None:
    panel = eh.simulate_panel(20, 5, 3, seed=3, bounds=None, step=None).panel
    fit = refine(panel, shrink=True, value_sd=15.0, bias_sd=15.0, noise="declared")
    mean, variance = posterior_of(panel, 1.0, 15.0, 15.0)
    close(np.concatenate([fit.values.estimate, fit.biases.estimate]), mean, atol=1e-8)
    close(np.concatenate([fit.values.sd, fit.biases.sd]), np.sqrt(variance), rtol=1e-9)
    half = stats.norm.ppf(0.95) * fit.values.sd
    close(fit.values.upper, fit.values.estimate + half, rtol=1e-9)


@pytest.mark.parametrize("noise", ["estimated", "declared"])
def test_shrinking_biases_alone_is_reml_with_fixed_values(noise: Any) -> None:
    panel = eh.simulate_panel(25, 7, 3, seed=8, bounds=None, step=None).panel
    objects, _ = sides(panel)

    def height(x: Floats) -> float:
        w = float(np.exp(x[0])) if noise == "estimated" else 1.0
        return log_integrated(panel.score, scatter(panel, w, 0.0, float(np.exp(x[-1])) / w), objects)

    start = np.array([0.0, 5.0]) if noise == "estimated" else np.array([5.0])
    best = minimize(lambda x: -height(x), start, method="BFGS", options={"gtol": 1e-7}).x
    fit = refine(panel, shrink="biases", noise=noise)
    found = variances(fit)
    bias_sd = float(np.exp(best[-1] / 2))
    assert found["bias_sd"] == pytest.approx(bias_sd, rel=2e-5)
    w = float(np.exp(best[0])) if noise == "estimated" else 1.0
    assert found["noise_sd"] == pytest.approx(np.sqrt(w), rel=2e-5)
    mean, _ = Dense(panel, Setting(bias_ratio=bias_sd**2 / w, w=w)).solution()
    close(np.concatenate([fit.values.estimate, fit.biases.estimate]), mean, atol=1e-3)


def test_very_wide_priors_give_calibration_without_a_prior() -> None:
    panel = random_panel(4, 12, 6, 20)
    plain = eh.calibrate(panel, gauge="zero_sum", noise="declared")
    fit = refine(panel, shrink=True, value_sd=3e4, bias_sd=1e4, noise="declared")
    close(np.diff(fit.values.estimate), np.diff(plain.values.estimate), atol=1e-4)
    close(np.diff(fit.biases.estimate), np.diff(plain.biases.estimate), atol=1e-4)
    first, second = list(range(11)), list(range(1, 12))
    ours, theirs = (one.posterior.of_differences(first, second).sd for one in (fit, plain))
    close(ours, theirs, rtol=1e-5)
    alone = refine(panel, shrink="biases", bias_sd=1e4, noise="declared")
    close(np.diff(alone.values.estimate), np.diff(plain.values.estimate), atol=1e-4)
    assert alone.biases.estimate.sum() == pytest.approx(0, abs=1e-6)  # where the prior puts the level


def test_biases_held_at_zero_give_weighted_averages() -> None:
    panel = random_panel(4, 12, 6, 20)
    averages = eh.weighted_average(panel, noise="declared")
    fit = refine(panel, shrink="biases", bias_sd=1e-4, noise="declared")
    close(fit.values.estimate, averages.values.estimate, atol=1e-5)
    close(fit.values.sd, averages.values.sd, rtol=1e-5)
    both = refine(panel, shrink=True, bias_sd=1e-4, value_sd=1e4, noise="declared")
    close(both.values.estimate, averages.values.estimate, atol=1e-3)


def test_objects_of_two_groups_can_be_compared_through_priors() -> None:
    panel = stored_panel("two_groups")
    with pytest.raises(NotConnectedError):
        refine(panel)
    fit = refine(panel, shrink=True)
    assert fit.connectivity.n_components == 2
    assert fit.values.component.max() == 0
    assert eh.rank(fit, top=3, draws=100).p_top is not None
    assert any(note.kind == "joined_by_priors" for note in fit.notes)
    apart = refine(panel, per_component=True)
    assert apart.values.component.max() == 1
    close(apart.values.estimate, eh.calibrate(panel, per_component=True).values.estimate)


def prior_of_ratio(x: float) -> float:
    """Return the log density of the logarithm of a variance ratio theta: p(sd) ~ sd / (1 + sd^2)^(3/2)."""
    sd = np.exp(x / 2)
    return float(np.log(sd) - 1.5 * np.log1p(sd**2) + x / 2)


def given_ratios(panel: Panel) -> Callable[[float, float], tuple[float, Floats, Floats]]:
    """Return what gives the log posterior of log ratios, and with them the means and squared scales of Student's t."""
    dense = Dense(panel, Setting(value_ratio=1.0, bias_ratio=1.0, w=1.0))
    n_objects, n_assessors, nu = panel.n_objects, panel.n_assessors, panel.n_assessments - 1
    of_values, of_biases = dense.prior.copy(), dense.prior.copy()
    of_values[n_objects:-1, n_objects:-1] = 0
    of_biases -= of_values
    plain = dense.design.T @ (panel.precision[:, None] * dense.design)

    def given(x: float, y: float) -> tuple[float, Floats, Floats]:
        prior = of_values * np.exp(-x) + of_biases * np.exp(-y)
        inverse = np.linalg.inv(plain + prior)
        found = inverse @ dense.design.T @ (panel.precision * panel.score)
        left = panel.score - dense.design @ found
        total = panel.precision @ left**2 + found @ prior @ found
        level = -nu / 2 * np.log(total) - (n_objects * x + n_assessors * y) / 2 + np.linalg.slogdet(inverse)[1] / 2
        return level + prior_of_ratio(x) + prior_of_ratio(y), found[:-1], np.diagonal(inverse)[:-1] * total / nu

    return given


def exact_mixture(panel: Panel, count: int = 45) -> tuple[Floats, Floats, Floats, int]:
    """Return probabilities of ratios on a fine grid, and given each the means and squared scales of Student's t."""
    given, grid = given_ratios(panel), np.linspace(-9, 12, count).tolist()
    height, mean, scale = zip(*(given(x, y) for x in grid for y in grid), strict=True)
    chance = np.exp(np.array(height) - logsumexp(height))
    return chance, np.array(mean), np.array(scale), panel.n_assessments - 1


@pytest.mark.parametrize(
    ("seed", "size", "bias_sd"),
    [(0, (12, 4, 2), 15.0), (1, (25, 5, 3), 3.0), (4, (10, 12, 6), 10.0), (0, (8, 4, 3), 3.0)],
)
def test_intervals_have_their_probability_when_variances_are_integrated_out(
    seed: int, size: tuple[int, int, int], bias_sd: float
) -> None:
    panel = eh.simulate_panel(*size, seed=seed, bounds=None, step=None, bias_sd=bias_sd).panel
    chance, mean, scale, nu = exact_mixture(panel)
    fit = refine(panel, shrink=True)
    lower = np.concatenate([fit.values.lower, fit.biases.lower])
    upper = np.concatenate([fit.values.upper, fit.biases.upper])
    below, above = (stats.t.cdf((end - mean) / np.sqrt(scale), nu) for end in (lower, upper))
    close(chance @ below, 0.05, atol=0.012)
    close(chance @ above, 0.95, atol=0.012)
    estimate = np.concatenate([fit.values.estimate, fit.biases.estimate])
    exact = np.sqrt(chance @ (scale * nu / (nu - 2) + np.square(mean - estimate)))
    close(np.concatenate([fit.values.sd, fit.biases.sd]), exact, rtol=0.05)


@pytest.mark.parametrize(("seed", "size", "furthest"), [(1, (6, 3, 2), 3.5), (5, (10, 5, 2), 2.5), (0, (8, 4, 3), 2.1)])
def test_a_posterior_of_variances_reaches_to_where_a_dense_one_has_fallen_by_two(
    seed: int, size: tuple[int, int, int], furthest: float
) -> None:
    panel = eh.simulate_panel(*size, seed=seed, bounds=None, step=None, bias_sd=3.0).panel
    given = given_ratios(panel)

    def height(point: Floats) -> float:
        return given(float(point[0]), float(point[1]))[0]

    def depth(point: Floats) -> float:
        return -height(point)

    search = refined_of(refine(panel, shrink=True)).search
    peak = optimize.minimize(depth, search.point.tolist(), method="Nelder-Mead", tol=1e-8).x
    steps = 0.01 * np.eye(2)
    bend = [
        [height(peak + a - b) + height(peak - a + b) - height(peak + a + b) - height(peak - a - b) for a in steps]
        for b in steps
    ]
    curvature, axes = np.linalg.eigh(np.array(bend) / 4e-4)
    reaches = []
    for axis in (*(axes / np.sqrt(curvature)).T, *(-axes / np.sqrt(curvature)).T):
        reach = search._reach(peak, search.height(peak, prior=True), axis)
        # the root of half of it is 1, to a hundredth
        assert np.sqrt((height(peak) - height(peak + 2 * reach * axis)) / 2) == pytest.approx(1.0, abs=0.0101)
        reaches.append(reach)
    assert max(reaches) > furthest, "a long tail on one side"


# ------------------------------------------------------------------------------------------------------- covariates


def coded(panel: Panel, *names: str) -> Floats:
    """Return covariates as columns about their weighted means; words as 0 and 1 beside the most frequent word."""
    columns: list[Floats] = []
    for name in names:
        cells = panel.covariates[name]
        if cells.dtype.kind == "f":
            columns.append(np.asarray(cells, dtype=np.float64))
            continue
        words, count = np.unique(cells, return_counts=True)
        columns += [(cells == word).astype(np.float64) for word in words if word != words[np.argmax(count)]]
    return np.stack([column - np.average(column, weights=panel.precision) for column in columns], axis=1)


@pytest.mark.parametrize("kind", range(8))
def test_covariates_are_weighted_least_squares_in_every_gauge(kind: int) -> None:
    panel = stored_panel("unbalanced")
    gauge = gauges_for(panel)[kind]
    fit = refine(panel, covariates=("order", "round"), gauge=gauge)
    columns = coded(panel, "order", "round")
    design = np.hstack([*sides(panel), columns])
    root = np.sqrt(panel.precision)
    found, _, rank, _ = np.linalg.lstsq(root[:, None] * design, root * panel.score, rcond=1e-12)
    assert rank == design.shape[1] - 1
    assert refined_of(fit).covariates is not None
    close(refined_of(fit).covariates.estimate, found[-3:], atol=1e-9)
    residual = panel.precision @ np.square(panel.score - design @ found)
    nu = panel.n_assessments - rank
    assert fit.degrees_of_freedom == nu
    assert fit.residual == pytest.approx(residual, rel=1e-9)
    close(fit.residuals, panel.score - design @ found, atol=1e-8)
    # values and biases are those of the panel without what the covariates do
    plain = eh.calibrate(replace(panel, score=panel.score - columns @ found[-3:]), gauge=gauge)
    close(fit.values.estimate, plain.values.estimate, atol=1e-8)
    close(fit.biases.estimate, plain.biases.estimate, atol=1e-8)
    inverse = np.linalg.pinv(design.T @ (panel.precision[:, None] * design), rcond=1e-12)
    sd = np.sqrt(np.diagonal(inverse)[-3:] * residual / (nu - 2))
    close(refined_of(fit).covariates.sd, sd, rtol=1e-8)
    half = stats.t.ppf(0.95, nu) * np.sqrt(np.diagonal(inverse)[-3:] * residual / nu)
    close(refined_of(fit).covariates.upper - found[-3:], half, rtol=1e-8)
    close(found[-3:] - refined_of(fit).covariates.lower, half, rtol=1e-8)
    # differences of values widen by what is not known about the coefficients
    weights = np.eye(panel.n_objects)[:, :-1] - np.eye(panel.n_objects)[:, 1:]
    both = np.vstack([weights, np.zeros((panel.n_assessors + 3, panel.n_objects - 1))])
    variance = np.einsum("ij,ik,kj->j", both, inverse, both) * residual / (nu - 2)
    last = list(range(1, panel.n_objects))
    close(fit.posterior.of_differences(list(range(panel.n_objects - 1)), last).sd, np.sqrt(variance))


def test_categories_are_coded_beside_the_most_frequent_one() -> None:
    panel = stored_panel("unbalanced")
    fit = refine(panel, covariates=("round", "order", "round"))
    assert refined_of(fit).covariates is not None
    most = max(set(panel.covariates["round"]), key=list(panel.covariates["round"]).count)
    assert most == "second"
    assert refined_of(fit).covariates.labels == ("round=first", "round=third", "order")
    table = refined_of(fit).covariates.columns()
    assert list(table) == ["covariate", "estimate", "sd", "lower", "upper"]
    assert len(refined_of(fit).covariates.to_frame()) == 3


def test_declared_confidence_is_a_covariate_too() -> None:
    panel = eh.simulate_panel(30, 6, 3, seed=4, bounds=None, step=None).panel
    fit = refine(panel, covariates=("confidence",))
    design = np.hstack([*sides(panel), np.log(panel.precision)[:, None]])
    root = np.sqrt(panel.precision)
    found = np.linalg.lstsq(root[:, None] * design, root * panel.score, rcond=1e-12)[0]
    assert refined_of(fit).covariates is not None
    assert refined_of(fit).covariates.estimate[0] == pytest.approx(found[-1], abs=1e-8)


def test_the_effects_of_covariates_are_found_again() -> None:
    simulation = eh.simulate_panel(400, 15, 4, seed=6, bounds=None, effects={"order": 3.0, "heat": -2.0})
    for more in ({}, {"shrink": True}):
        fit = refine(simulation.panel, covariates=("order", "heat"), **more)
        node = refined_of(fit).node
        assert node.border is not None
        sd = np.sqrt(node.w * np.diagonal(node.border.covariance))
        assert (np.abs(node.coefficients - [3.0, -2.0]) < 3.5 * sd).all()
        assert (sd < 0.5).all()


def covariate_panel(**covariates: Any) -> Panel:
    panel = random_panel(3, 6, 4, 10)
    cells = {name: cell(panel) if callable(cell) else cell for name, cell in covariates.items()}
    found: Panel = replace(panel, covariates={name: np.asarray(cell) for name, cell in cells.items()})
    return found


def by_object(panel: Panel) -> Floats:
    return np.asarray(np.linspace(0.0, 1.0, panel.n_objects)[panel.object_index] ** 2)


def by_assessor(panel: Panel) -> Floats:
    return np.asarray(2020.0 + np.array([3.0, 1.0, 4.0, 1.5])[panel.assessor_index])


def some(panel: Panel) -> Floats:
    return np.random.default_rng(1).normal(size=panel.n_assessments)


REFUSED_COVARIATES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"order": some}, "no covariate 'z': order"),
    "none read": ({}, "no covariate 'z': none were read"),
    "constant": ({"z": lambda panel: np.full(panel.n_assessments, 7.0)}, "z is the same for every assessment"),
    "one word": ({"z": lambda panel: np.full(panel.n_assessments, "a")}, "z is the same for every assessment"),
    "object": ({"z": by_object}, "z has one and the same value for all assessments of each object"),
    "assessor": ({"z": by_assessor}, "z has one and the same value for all assessments of each assessor"),
    "both": ({"z": lambda panel: by_object(panel) + 1e-3 * by_assessor(panel)}, "z follows from objects, assessors"),
    "others": (
        {"x": some, "z": lambda panel: 3 * some(panel) - by_object(panel) + by_assessor(panel)},
        "z follows from objects, assessors and the other covariates",
    ),
    "missing": ({"z": lambda panel: np.where(panel.object_index == 2, np.nan, some(panel))}, "z is missing for 2 by"),
    "words of objects": ({"z": lambda panel: np.array(list("ababab"))[panel.object_index]}, "of each object"),
}


@pytest.mark.parametrize("case", REFUSED_COVARIATES)
@pytest.mark.parametrize("shrink", [False, "biases", True])
def test_covariates_that_cannot_be_told_are_refused_by_name(case: str, shrink: Any) -> None:
    given_, message = REFUSED_COVARIATES[case]
    panel = covariate_panel(**given_)
    chosen = ("x", "z") if "x" in given_ else ("z",)
    told = {False: (), "biases": ("assessor", "both", "others"), True: TOLD_BY_PRIORS}[shrink]
    if case in told:
        assert dict(refine(panel, covariates=chosen, shrink=shrink).model.tables)["covariates"] is not None
        return
    with pytest.raises(InputError, match=message) as caught:
        refine(panel, covariates=chosen, shrink=shrink)
    assert str(caught.value).count(". ") == 0


TOLD_BY_PRIORS = ("object", "assessor", "both", "others", "words of objects")
"""What a prior of values or biases lets the scores tell."""


@pytest.mark.parametrize(("side", "shrink"), [("object", True), ("assessor", True), ("assessor", "biases")])
def test_a_covariate_of_a_shrunk_side_is_fitted_as_generalised_least_squares_fits_it(side: str, shrink: Any) -> None:
    panel = random_panel(5, 20, 8, 70)
    index, count = (
        (panel.object_index, panel.n_objects) if side == "object" else (panel.assessor_index, panel.n_assessors)
    )
    of_side = np.random.default_rng(2).normal(size=count)
    panel = replace(panel, covariates={"z": of_side[index]})
    fit = refine(panel, covariates=("z",), shrink=shrink)
    node = refined_of(fit).node
    centred = of_side[index] - np.average(of_side[index], weights=panel.precision)
    values, biases = one_hot(panel.object_index, panel.n_objects), one_hot(panel.assessor_index, panel.n_assessors)
    variance = np.diag(1 / panel.precision) + (node.setting.bias_ratio or 0.0) * biases @ biases.T
    if node.setting.value_ratio is not None:
        variance += node.setting.value_ratio * values @ values.T
        fixed = np.column_stack([np.ones(panel.n_assessments), centred])
    else:
        fixed = np.column_stack([values, centred])
    weighted = np.linalg.solve(variance, fixed)
    found = np.linalg.solve(fixed.T @ weighted, weighted.T @ panel.score)
    assert float(node.coefficients[0]) == pytest.approx(found[-1], rel=1e-7)


def test_levels_that_the_rest_explains_are_dropped_and_named() -> None:
    panel = random_panel(4, 8, 5, 24)
    days = np.where(
        panel.assessor_index == 0, "first", np.where(np.arange(panel.n_assessments) % 2 == 0, "second", "third")
    )
    fit = refine(replace(panel, covariates={"day": days}), covariates=("day",))
    assert refined_of(fit).names == ("day=third",) or refined_of(fit).names == ("day=second",)
    assert [note.message for note in fit.notes if note.kind == "aliased"] == [
        "left out, since objects, assessors or other covariates explain them: day=first."
    ]


def once_panel(seed: int = 0, *, confidence: Any = None) -> Panel:
    """Return 40 objects with three anonymous reviews each."""
    generator = np.random.default_rng(seed)
    objects = np.repeat(np.arange(40), 3)
    score = 60 + 1.5 * generator.normal(size=40)[objects] + 2 * generator.normal(size=120)
    return Panel.from_arrays(objects, np.arange(120), score, confidence)


def test_assessors_seen_once_leave_the_one_way_model() -> None:
    panel = once_panel()
    fit = refine(panel, shrink=True)
    # balanced analysis of variance, which is REML
    table = panel.score.reshape(40, 3)
    between, within = 3 * table.mean(axis=1).var(ddof=1), table.var(axis=1, ddof=1).mean()
    variances = fit.model.tables["variances"]
    assert variances is not None
    found = dict(zip(variances.labels, variances.estimate.tolist(), strict=True))
    assert found == pytest.approx({"value_sd": np.sqrt((between - within) / 3), "noise_sd": np.sqrt(within)}, rel=1e-6)
    drawn = 1 - within / between
    assert fit.values.estimate == pytest.approx(table.mean() + drawn * (table.mean(axis=1) - table.mean()), rel=1e-9)
    assert ((fit.values.lower < fit.values.estimate) & (fit.values.estimate < fit.values.upper)).all()
    assert not fit.biases.estimate.any()
    assert [note.kind for note in fit.notes] == ["seen_once"]
    assert refine(panel, shrink=True, bias_sd=0).values.estimate == pytest.approx(fit.values.estimate, rel=1e-9)


@pytest.mark.parametrize("asked", [{"scale": True}, {"calibrate_confidence": True}, {"power": "estimated"}])
def test_what_assessors_seen_once_cannot_tell_is_refused(asked: dict[str, Any]) -> None:
    confidence = np.random.default_rng(1).uniform(0.5, 2.0, 120)
    with pytest.raises(SolveError, match="Every assessor scored one object, which cannot tell"):
        refine(once_panel(confidence=confidence), shrink=True, **asked)


def test_whether_confidence_carries_information_cannot_be_told_by_assessors_seen_once() -> None:
    confidence = np.random.default_rng(1).uniform(0.5, 2.0, 120)
    with pytest.raises(SolveError, match="cannot tell whether declared confidence carries information"):
        eh.declared_confidence(once_panel(confidence=confidence))


def test_some_assessors_seen_once_leave_biases_as_they_are() -> None:
    panel = random_panel(7, 30, 6, 90)
    more = Panel.from_arrays(
        np.concatenate([panel.object_index, np.arange(5)]),
        np.concatenate([panel.assessor_index, panel.n_assessors + np.arange(5)]),
        np.concatenate([panel.score, np.full(5, 60.0)]),
        np.concatenate([panel.precision, np.ones(5)]),
    )
    fit = refine(more, shrink=True)
    assert "seen_once" not in {note.kind for note in fit.notes}
    assert (refined_of(fit).node.setting.bias_ratio or 0) > 0


SLOPES: dict[str, dict[str, Any]] = {
    "shrunk": {"shrink": True},
    "biases": {"shrink": "biases"},
    "without biases": {"shrink": True, "bias_sd": 0},
    "power": {"shrink": True, "power": "estimated"},
    "given": {"shrink": True, "value_sd": 9.0},
    "covariate": {"shrink": True, "covariates": ("z",)},
    "huber": {"shrink": True, "tails": "huber"},
    "student": {"shrink": True, "tails": "student", "freedom": None},
    "ml": {"shrink": True, "likelihood": "ml"},
    "ml biases": {"shrink": "biases", "likelihood": "ml"},
    "ml without biases": {"shrink": True, "bias_sd": 0, "likelihood": "ml"},
    "ml power": {"shrink": True, "power": "estimated", "likelihood": "ml"},
    "ml biases power": {"shrink": "biases", "power": "estimated", "likelihood": "ml"},
    "ml power alone": {"power": "estimated", "likelihood": "ml"},
    "ml given": {"shrink": True, "value_sd": 9.0, "likelihood": "ml"},
    "ml covariate": {"shrink": True, "covariates": ("z",), "likelihood": "ml"},
    "ml biases covariate": {"shrink": "biases", "covariates": ("z",), "likelihood": "ml"},
}


@pytest.mark.parametrize("asked", SLOPES.values(), ids=SLOPES)
def test_slopes_are_those_of_the_marginal_likelihood(asked: dict[str, Any]) -> None:
    panel = eh.simulate_panel(30, 6, 3, seed=2).panel
    panel = replace(panel, covariates={"z": np.random.default_rng(1).normal(size=panel.n_assessments)})
    search = refined_of(refine(panel, **asked)).search
    point = search.point + 0.2 * np.random.default_rng(3).normal(size=search.point.size)
    found = search.slope(point)
    for at in range(point.size):
        step = np.zeros(point.size)
        step[at] = 1e-3
        rise = search.height(point + step) - search.height(point - step)
        assert found[at] == pytest.approx(rise / 2e-3, rel=2e-3, abs=2e-4)


def test_too_many_categories_are_refused() -> None:
    panel = eh.simulate_panel(150, 5, 2, seed=1).panel
    words = np.array([f"w{at}" for at in range(panel.n_assessments)])
    with pytest.raises(InputError, match="300 categories, more than 200: is it a number"):
        refine(replace(panel, covariates={"z": words}), covariates=("z",))


# ------------------------------------------------------------------------------------------- how a score scatters

LIKELIHOODS: list[Likelihood] = [Normal(), Student(4.0), Student(1.5), Huber(), Huber(0.7), Rounded(1.0), Rounded(0.2)]


each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)


@each_likelihood
def test_densities_add_up_to_one(likelihood: Likelihood) -> None:
    c, w = 2.5, 1.7
    if isinstance(likelihood, Rounded):
        places = np.asarray(likelihood.step * np.arange(-400, 401) + 0.37, dtype=np.float64)
        total = np.exp(likelihood.log_density(places, np.full(places.size, c), w)).sum() * likelihood.step
    else:
        total, _ = integrate.quad(
            lambda r: np.exp(likelihood.log_density(np.array([r]), np.array([c]), w))[0], -np.inf, np.inf
        )
    assert total == pytest.approx(1, abs=1e-7)


def test_densities_are_those_of_scipy() -> None:
    generator = np.random.default_rng(0)
    left, c, w = generator.normal(0, 8, 50), generator.uniform(0.1, 4, 50), 2.3
    sd = np.sqrt(w / c)
    close(Normal().log_density(left, c, w), stats.norm.logpdf(left, scale=sd), rtol=1e-12)
    for freedom in (1.0, 4.0, 60.0):
        wanted = stats.t.logpdf(left, freedom, scale=sd)
        close(Student(freedom).log_density(left, c, w), wanted, rtol=1e-11)
    # Huber's density is a piece of a normal one between two exponential ones
    bend, z = 1.345, left / sd
    inside = np.abs(z) <= bend
    assert 5 < inside.sum() < 45
    area = np.sqrt(2 * pi) * (stats.norm.cdf(bend) - stats.norm.cdf(-bend)) + 2 * np.exp(-(bend**2) / 2) / bend
    wanted = np.where(inside, -(z**2) / 2, -(bend**2) / 2 - bend * (np.abs(z) - bend)) - np.log(area * sd)
    close(Huber().log_density(left, c, w), wanted, rtol=1e-12)


def test_the_probability_of_a_rounded_score_keeps_its_digits_far_out() -> None:
    generator = np.random.default_rng(0)
    left, c, w = generator.normal(0, 3, 100), generator.uniform(0.3, 3, 100), 1.4
    sd = np.sqrt(w / c)
    for step in (0.1, 1.0, 5.0, 30.0):
        found = Rounded(step).log_density(left, c, w)
        near = stats.norm.cdf((left + step / 2) / sd) - stats.norm.cdf((left - step / 2) / sd)
        some_ = near > 1e-8
        close(found[some_], np.log(near[some_] / step), atol=1e-7)
    with mpmath.workdps(60):
        for far in (-60.0, -12.0, 9.0, 37.0, 300.0):
            for step in (0.01, 1.0, 7.0):
                mass = mpmath.ncdf(-abs(far) + step / 2) - mpmath.ncdf(-abs(far) - step / 2)
                found = Rounded(step).log_density(np.array([far]), np.ones(1), 1.0)
                assert found[0] == pytest.approx(float(mpmath.log(mass / step)), rel=1e-6)


@each_likelihood
@given(st.floats(-30, 30), st.floats(-3, 4), st.floats(-2, 2), st.floats(-2, 2))
def test_what_a_score_says_beside_all_others_is_that_of_integrals(
    likelihood: Likelihood, away: float, u: float, c: float, w: float
) -> None:
    precision, variance, spread = np.exp([c]), float(np.exp(w)), np.exp([u])
    noise, sd = float(np.sqrt(variance / precision[0])), float(np.sqrt(spread[0]))
    step = likelihood.step if isinstance(likelihood, Rounded) else 0.0
    low, high = min(away - 14 * sd, -14 * noise - step), max(away + 14 * sd, 14 * noise + step)
    fine = np.union1d(np.linspace(low, high, 60_001), np.linspace(-14 * noise - step, 14 * noise + step, 60_001))
    height = likelihood.log_density(fine, np.full(fine.size, precision[0]), variance)
    height = height + stats.norm.logpdf(fine, away, sd)
    chance = np.exp(height - height.max())
    mass = np.trapezoid(chance, fine)
    mean = np.trapezoid(chance * fine, fine) / mass
    left = np.trapezoid(chance * np.square(fine - mean), fine) / mass
    found = likelihood.tilted(np.array([away]), spread, precision, variance)
    assert found.log_mass[0] == pytest.approx(np.log(mass) + height.max(), abs=2e-6)
    assert away - spread[0] * found.slope[0] == pytest.approx(mean, abs=1e-5 * np.sqrt(left))
    assert spread[0] * (1 - spread[0] * found.bend[0]) == pytest.approx(left, rel=1e-4)
    up, down = (
        likelihood.tilted(np.array([away]), spread, precision * np.exp(turn), variance).log_mass[0]
        for turn in (1e-4, -1e-4)
    )
    assert found.scatter[0] == pytest.approx(1 - (up - down) / 1e-4, abs=1e-4 * (1 + abs(found.scatter[0])))


SMALL = {
    columns: eh.simulate_panel(9, 5, 4, seed=11, bounds=None, step=1.0, freedom=3, effects={"z": effect}).panel
    for columns, effect in ((True, 5.0), (False, 0.0))
}
PRIORS = {"plain": (None, None), "biases": (None, 150.0), "shrunk": (200.0, 150.0)}


@each_likelihood
@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("columns", [False, True], ids=["", "covariate"])
def test_the_posterior_and_the_marginal_likelihood_are_those_of_sampling(
    likelihood: Likelihood, priors: str, columns: bool
) -> None:
    value_ratio, bias_ratio = PRIORS[priors]
    setting = Setting(value_ratio=value_ratio, bias_ratio=bias_ratio, w=1.3, likelihood=likelihood)
    panel = SMALL[columns]
    more = coded(panel, "z") if columns else None
    if isinstance(likelihood, Rounded):
        panel = replace(panel, score=np.round(panel.score / likelihood.step) * likelihood.step)
    node, dense = settle(work_for(panel, more), setting), Dense(panel, setting, more)
    shift = node.biases[0] if priors == "plain" else 0.0  # the gauge of the written-down model
    biases = node.biases[1:] - shift if priors == "plain" else node.biases
    level = [node.mean] if priors == "shrunk" else []
    found = np.concatenate([node.values + shift, biases, level, node.coefficients])
    marginal, mean, sd = dense.integrals(found, node.weight)
    sure = np.sqrt(np.diagonal(dense.covariance(node.weight)))
    # an outlier makes the posterior wider, or gives it two peaks: no normal score can stand for that
    freedom = likelihood.freedom if isinstance(likelihood, Student) else np.inf
    off, centre, spread = (0.02, 0.03, 0.03) if freedom > 10 else (0.04, 0.09, 0.2) if freedom > 2 else (0.1, 0.2, 0.3)
    assert node.log_marginal == pytest.approx(marginal, abs=off)
    close((found - mean) / sd, 0.0, atol=centre)
    close(sure / sd, 1.0, atol=spread)


@pytest.mark.parametrize("likelihood", [Student(4.0), Student(10.0), Huber(), Rounded(1.0), Rounded(4.0)], ids=str)
def test_the_marginal_likelihood_is_close_to_the_integral(likelihood: Likelihood) -> None:
    panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 66.0, 50.0, 59.0], [1.0, 0.5, 2.0, 1.0])
    errors, ratios = [], []
    for value_ratio, bias_ratio, w in [(10.0, 10.0, 2.0), (10.0, 10.0, 6.0), (40.0, 10.0, 3.0)]:
        setting = Setting(value_ratio=value_ratio, bias_ratio=bias_ratio, w=w, likelihood=likelihood)
        node = settle(work_for(panel), setting)
        identity = np.eye(4)
        covariance = w * np.vstack(node.solver.apply(identity[:2], identity[2:]))
        root = np.linalg.cholesky(1.5 * covariance)
        line = np.linspace(-6.5, 6.5, 23)
        grid = np.stack(np.meshgrid(*[line] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
        v, w_, b, d = (grid @ root.T + np.concatenate([node.values, node.biases])).T
        height = stats.norm.logpdf(v - w_, scale=np.sqrt(2 * value_ratio * w))  # the mean of values integrated out
        height += stats.norm.logpdf(b, scale=np.sqrt(bias_ratio * w)) + stats.norm.logpdf(
            d, scale=np.sqrt(bias_ratio * w)
        )
        for at, expected in enumerate((v + b, v + d, w_ + b, w_ + d)):
            left = panel.score[at] - expected
            height += likelihood.log_density(left, np.full(left.size, panel.precision[at]), w)
        exact = logsumexp(height) + 4 * np.log(line[1] - line[0]) + np.linalg.slogdet(root)[1]
        errors.append(node.log_marginal - exact)
        chance = np.exp(height - logsumexp(height))
        sd = np.sqrt([chance @ np.square(part - chance @ part) for part in (v, w_, b, d)])
        ratios.append(np.sqrt(np.diagonal(covariance)) / sd)
    # four scores for four unknowns
    assert np.abs(errors).max() < 0.05
    close(ratios, 1, atol=0.09)


@pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize("more", [{}, {"shrink": True}], ids=["plain", "shrunk"])
def test_a_step_far_below_the_noise_changes_nothing(step: float, more: dict[str, Any]) -> None:
    panel = eh.simulate_panel(20, 4, 3, seed=3, bounds=None, step=step).panel
    rounded, plain = refine(panel, step=step, **more), refine(panel, **more)
    close(rounded.values.estimate, plain.values.estimate, atol=1e-4)
    assert variances(rounded)["noise_sd"] == pytest.approx(variances(plain)["noise_sd"], rel=1e-4)


def test_rounding_to_a_step_above_the_noise_is_seen_through() -> None:
    simulation = eh.simulate_panel(300, 10, 4, seed=5, bounds=None, step=10.0, uncertainties=(3.0,))
    fit = refine(simulation.panel, step=10.0, shrink=True)
    assert variances(fit)["noise_sd"] == pytest.approx(1.0, abs=0.1)
    assert variances(refine(simulation.panel, shrink=True))["noise_sd"] > 1.3


def test_outliers_are_named_and_weigh_little() -> None:
    panel = eh.simulate_panel(40, 6, 4, seed=1, bounds=None, step=None, uncertainties=(5.0,)).panel
    score = panel.score.copy()
    score[[7, 90]] += [80.0, -60.0]
    spoilt = replace(panel, score=score)
    clean = refine(panel, shrink=True)
    for tails in ("student", "huber"):
        fit = refine(spoilt, shrink=True, tails=tails)
        assert refined_of(fit).outlying[:2].tolist() == [7, 90]
        assert any(note.kind == "outlying" for note in fit.notes)
        robust, plain = (
            np.abs(one.values.estimate - clean.values.estimate).max() for one in (fit, refine(spoilt, shrink=True))
        )
        assert robust < plain / 2.5
        wanted = (fit.residuals * np.sqrt(panel.precision)) / variances(fit)["noise_sd"]
        close(refined_of(fit).surprise, wanted)


def test_the_degrees_of_freedom_of_the_tails_are_found() -> None:
    found = []
    for seed in range(3):
        panel = eh.simulate_panel(100, 6, 6, seed=seed, bounds=None, step=None, freedom=3).panel
        node = refined_of(refine(panel, tails="student", freedom=None)).node
        found.append(node.setting.likelihood.freedom)
    assert 2.0 < np.median(found) < 5.5


# ----------------------------------------------------------------------------------------------------------- scales


def scaled_panel(**options: Any) -> Panel:
    return eh.simulate_panel(
        **{"n_objects": 30, "n_assessors": 5, "per_object": 3, "seed": 5, "bounds": None, "step": None, "scale_sd": 0.3}
        | options
    ).panel


def height_of_scales(
    work: Work, setting: Setting, columns: Floats | None, kappa: Any = 1.0
) -> Callable[[Floats], float]:
    """Return log p(scores | scales) p(scales), with values, biases, their mean and coefficients integrated out."""
    panel, w = work.panel, setting.w
    assert w is not None
    assert setting.scale_ratio is not None
    value_ratio, bias_ratio, spread = setting.value_ratio, setting.bias_ratio, setting.scale_ratio * w
    assert value_ratio is not None
    assert bias_ratio is not None

    def height(logs: Floats) -> float:
        stretch = np.exp(logs)
        covariance = scatter(panel, w, value_ratio, bias_ratio, stretch=stretch, kappa=kappa)
        flat = stretch[panel.assessor_index][:, None]
        if columns is not None:
            flat = np.hstack([flat, columns])
        return log_integrated(panel.score - work.centre, covariance, flat) - float(np.square(logs).sum()) / (2 * spread)

    return height


@pytest.mark.parametrize("value_ratio", [50.0, 225.0, 1000.0])
@pytest.mark.parametrize("columns", [False, True], ids=["", "covariate"])
def test_scales_are_where_the_marginal_likelihood_is_highest(value_ratio: float, columns: bool) -> None:
    panel = scaled_panel(effects={"z": 5.0})
    more = coded(panel, "z") if columns else None
    work = work_for(panel, more)
    setting = Setting(value_ratio=value_ratio, bias_ratio=225.0, scale_ratio=0.1, w=1.2)
    found = settle(work, setting).log_scale
    assert found.sum() == pytest.approx(0, abs=1e-9)
    height = height_of_scales(work, setting, more)
    free = np.vstack([np.eye(4), -np.ones(4)])  # logs whose sum is zero
    best = minimize(lambda x: -height(free @ x), found[:4], method="BFGS", options={"gtol": 1e-6})
    assert height(found) == pytest.approx(-best.fun, abs=1e-6)
    close(found, free @ best.x, atol=2e-5)


def test_with_an_unknown_noise_variance_the_scales_are_those_of_the_best_one() -> None:
    work = work_for(scaled_panel())
    setting = Setting(value_ratio=225.0, bias_ratio=225.0, scale_ratio=0.1)
    node = settle(work, setting)
    again = settle(work, replace(setting, w=node.w))
    close(node.log_scale, again.log_scale, atol=1e-5)


@pytest.mark.parametrize("likelihood", [Normal(), Student(4.0), Huber(), Rounded(1.0)], ids=str)
@pytest.mark.parametrize("columns", [False, True], ids=["", "covariate"])
def test_scales_are_allowed_for_in_the_covariance_and_the_marginal_likelihood(
    likelihood: Likelihood, columns: bool
) -> None:
    panel = scaled_panel(n_objects=15, n_assessors=4, step=1.0, freedom=3, effects={"z": 4.0})
    more = coded(panel, "z") if columns else np.zeros((panel.n_assessments, 0))
    work = work_for(panel, more if columns else None)
    found, covariances = [], []
    for value_ratio, scale_ratio in ((100.0, 0.1), (200.0, 0.02)):
        setting = Setting(
            value_ratio=value_ratio, bias_ratio=80.0, scale_ratio=scale_ratio, w=1.5, likelihood=likelihood
        )
        node = settle(work, setting)
        # everything in the assessors' own units: s = m0 + lambda (v - m0) + b + z beta
        own = np.exp(node.log_scale)[panel.assessor_index][:, None]
        objects, assessors = sides(panel)
        away = node.values[panel.object_index][:, None] - work.centre
        dense = Dense(panel, replace(setting, scale_ratio=None), more)
        n_objects, n_assessors = panel.n_objects, panel.n_assessors
        sum_of_logs = np.eye(n_assessors) + 1e6 / n_assessors  # held at zero
        design = np.hstack([own * objects, dense.design[:, n_objects:], own * away * assessors])
        prior = block_diag(dense.prior, sum_of_logs / scale_ratio)
        bend = design.T @ (node.weight[:, None] * design) + prior
        covariances.append((node, np.linalg.inv(bend)))
        unknowns = np.concatenate([node.values, node.biases, [node.mean], node.coefficients, node.log_scale])
        height = likelihood.log_density(node.residuals, panel.precision, 1.5).sum() - unknowns @ prior @ unknowns / 3.0
        level = dense.level - n_assessors / 2 * log(scale_ratio) - np.linalg.slogdet(bend)[1] / 2
        found.append((node.log_marginal, height + level))
        close(
            node.residuals,
            panel.score
            - work.centre
            - (own * away)[:, 0]
            - node.biases[panel.assessor_index]
            - more @ node.coefficients,
            atol=1e-5,
        )
    ours, dense_ = np.array(found).T
    if likelihood.is_normal:
        assert np.diff(ours)[0] == pytest.approx(np.diff(dense_)[0], abs=1e-5)
    for node, covariance in covariances:
        members = panel.n_objects + panel.n_assessors
        identity = np.eye(members)
        mine = np.vstack(node.solver.apply(identity[: panel.n_objects], identity[panel.n_objects :]))
        close(mine, covariance[:members, :members], atol=1e-5 * np.abs(mine).max())
        assert node.border is not None
        sd = np.sqrt(np.diagonal(node.border.covariance))[-panel.n_assessors :]
        close(sd, np.sqrt(np.diagonal(covariance))[-panel.n_assessors :], rtol=1e-4)


def test_scales_from_a_fit_beside_are_those_from_nothing() -> None:
    work = work_for(scaled_panel())
    setting = Setting(value_ratio=225.0, bias_ratio=225.0, scale_ratio=0.1)
    beside = settle(work, Setting(value_ratio=100.0, bias_ratio=300.0, scale_ratio=0.03))
    close(settle(work, setting, beside).log_scale, settle(work, setting).log_scale, atol=1e-6)


@pytest.mark.parametrize("w", [None, 1.3], ids=["noise unknown", "noise given"])
@pytest.mark.parametrize("bias_ratio", [80.0, 0.0], ids=["", "no biases"])
def test_slopes_follow_the_scales(w: float | None, bias_ratio: float) -> None:
    work = work_for(scaled_panel(n_objects=20, n_assessors=5))
    setting = Setting(value_ratio=100.0, bias_ratio=bias_ratio, scale_ratio=0.03, w=w)
    node = settle(work, setting, slack=1e-2)
    found = slopes(work, node, set())
    names = ["value_ratio", "scale_ratio", *(["bias_ratio"] if bias_ratio else []), *([] if w is None else ["w"])]
    for name in names:
        up, down = (
            settle(work, replace(setting, **{name: getattr(setting, name) * np.exp(x)}), node, 1e-2).log_marginal
            for x in (1e-3, -1e-3)
        )
        assert found[name] == pytest.approx((up - down) / 2e-3, abs=1e-4), name


@pytest.mark.parametrize("shape", [(30, 5), (6, 9)], ids=["more objects", "more assessors"])
@pytest.mark.parametrize("bias_ratio", [225.0, 0.0], ids=["", "no biases"])
def test_what_ties_the_scales_are_the_second_derivatives_of_their_density(
    shape: tuple[int, int], bias_ratio: float
) -> None:
    n_objects, n_assessors = shape
    work = work_for(scaled_panel(n_objects=n_objects, n_assessors=n_assessors))
    setting = Setting(value_ratio=225.0, bias_ratio=bias_ratio, scale_ratio=0.1, w=1.2)
    node, height = settle(work, setting, slack=1e-2), height_of_scales(work, setting, None)
    ties, step = Ties.at_fit(work, node), 1e-3
    free = np.vstack([np.eye(n_assessors - 1), -np.ones(n_assessors - 1)])  # logs whose sum is zero
    found = free.T @ ties.bent @ free / 1.2
    unit = step * free.T
    for i in range(n_assessors - 1):
        for j in range(n_assessors - 1):
            corners = [a * b * height(node.log_scale + a * unit[i] + b * unit[j]) for a in (1, -1) for b in (1, -1)]
            assert found[i, j] == pytest.approx(-sum(corners) / (4 * step**2), rel=1e-4, abs=1e-4), (i, j)


@pytest.mark.parametrize("w", [None, 1.2], ids=["noise unknown", "noise given"])
@pytest.mark.parametrize("shape", [(30, 5), (6, 9)], ids=["more objects", "more assessors"])
def test_scales_follow_the_variances(w: float | None, shape: tuple[int, int]) -> None:
    work = work_for(scaled_panel(n_objects=shape[0], n_assessors=shape[1]))
    setting = Setting(value_ratio=225.0, bias_ratio=150.0, scale_ratio=0.1, w=w)
    found = Ties.at_fit(work, settle(work, setting, slack=1e-3)).follow
    assert set(found) == {"value_ratio", "bias_ratio", "scale_ratio"} | (set() if w is None else {"w"})
    for name, way in found.items():
        up, down = (
            settle(work, replace(setting, **{name: getattr(setting, name) * np.exp(x)}), slack=1e-3).log_scale
            for x in (1e-2, -1e-2)
        )
        close(way, (up - down) / 2e-2, atol=1e-5)
        assert np.abs(way).max() > 1e-3


@pytest.mark.parametrize(("scale_sd", "seed"), [(0.35, 6), (0.0, 5)])
def test_nowhere_else_is_the_marginal_likelihood_with_scales_higher(scale_sd: float, seed: int) -> None:
    search = refined_of(refine(scaled_panel(scale_sd=scale_sd, seed=seed), shrink=True, scale=True)).search
    free = search.point > search.low
    assert free.all() == (scale_sd > 0)

    def height(moved: Floats) -> float:
        point = search.point.copy()
        point[free] = moved
        return float(search.node(np.clip(point, search.low, search.high), slack=1e-2).log_marginal)

    peak = search.point[free]
    simplex = np.vstack([peak, peak + 0.1 * np.eye(peak.size)])
    options = {"xatol": 1e-5, "fatol": 1e-10, "maxfev": 300, "initial_simplex": simplex}
    best = minimize(lambda x: -height(x), peak, method="Nelder-Mead", options=options)
    assert -best.fun - height(peak) < 1e-7
    for other in (-6.0, -2.0, 0.0, 2.0):  # nor further off
        assert search.node(np.append(search.point[:2], other)).log_marginal <= height(peak) + 1e-9


def test_a_wide_spread_of_scales_is_not_cut_off_where_declared_uncertainties_are_small() -> None:
    options: Any = {"bias_sd": 8, "bounds": None, "step": 1, "uncertainties": (4, 8, 14), "scale_sd": 0.5}
    fit = refine(eh.simulate_panel(40, 6, 3, seed=1, **options).panel, shrink=True, scale=True)
    search, found = refined_of(fit).search, refined_of(fit).variances
    assert (search.point < search.high).all()
    assert (found.lower < found.estimate).all()
    assert (found.estimate < found.upper).all()


def test_the_marginal_likelihood_of_two_scales_is_close_to_the_integral() -> None:
    panel = scaled_panel(n_objects=15, n_assessors=2, per_object=2, scale_sd=0.4)
    work, errors = work_for(panel), []
    for value_ratio, bias_ratio, scale_ratio, w in (
        (225.0, 225.0, 0.1, 1.0),
        (225.0, 225.0, 0.01, 1.0),
        (100.0, 400.0, 0.3, 1.5),
    ):
        setting = Setting(value_ratio=value_ratio, bias_ratio=bias_ratio, scale_ratio=scale_ratio, w=w)
        node, height = settle(work, setting), height_of_scales(work, setting, None)
        middle = float(node.log_scale[0])
        top = height(node.log_scale)
        line = np.linspace(middle - 2.0, middle + 2.0, 161)
        part = np.array([np.exp(height(np.array([x, -x])) - top) for x in line]).sum() * (line[1] - line[0])
        errors.append(node.log_marginal - top - log(part) + log(scale_ratio * w) / 2)
    assert np.ptp(errors) < 0.25


@pytest.mark.slow
def test_scales_are_found_again() -> None:
    simulation = eh.simulate_panel(400, 8, 4, seed=5, bounds=None, step=None, scale_sd=0.35)
    fit = refine(simulation.panel, shrink=True, scale=True)
    truth = simulation.scales / np.exp(np.log(simulation.scales).mean())
    found = np.exp(refined_of(fit).node.log_scale)
    close(found, truth, atol=0.06)
    assert np.ptp(truth) > 0.5
    assert variances(fit)["scale_sd"] == pytest.approx(np.log(truth).std(), rel=0.3)
    assert variances(fit)["value_sd"] == pytest.approx(15, rel=0.1)
    assert variances(fit)["noise_sd"] == pytest.approx(1, rel=0.1)


@pytest.mark.slow
def test_the_table_of_scales_has_intervals_that_hold_most_of_them() -> None:
    simulation = eh.simulate_panel(150, 10, 4, seed=3, bounds=None, step=None, scale_sd=0.3)
    table = refined_of(refine(simulation.panel, shrink=True, scale=True)).scales
    assert table is not None
    truth = simulation.scales / np.exp(np.log(simulation.scales).mean())
    inside = (table.lower <= truth) & (truth <= table.upper)
    assert 7 <= inside.sum() <= 10
    close(np.log(table.estimate).sum(), 0, atol=1e-6)
    assert ((table.lower < table.estimate) & (table.estimate < table.upper)).all()


# ------------------------------------------------------------------------------------- confidences of the assessors


def log_prior_of_factors(kappa: Floats, strength: float) -> float:
    """Return the log density of log kappa, up to a constant: kappa is inverse gamma about 1."""
    return float(stats.invgamma.logpdf(kappa, strength / 2, scale=strength / 2).sum() + np.log(kappa).sum())


FACTOR_CASES = ["plain", "biases", "shrunk", "covariate", "shrunk covariate", "scaled", "scaled covariate"]


@pytest.mark.parametrize("case", FACTOR_CASES)
def test_noise_factors_are_where_reml_and_their_prior_are_highest(case: str) -> None:
    panel = scaled_panel(factor_sd=0.8, effects={"z": 5.0})
    more = coded(panel, "z") if "covariate" in case else None
    work = work_for(panel, more)
    is_scaled, is_shrunk, strength = "scaled" in case, "shrunk" in case or "scaled" in case, 6.0
    setting = Setting(
        value_ratio=200.0 if is_shrunk else None,
        bias_ratio=150.0 if is_shrunk or case == "biases" else None,
        scale_ratio=0.1 if is_scaled else None,
        strength=strength,
        w=0.9,
    )
    node = settle(work, setting)
    objects, assessors = sides(panel)
    flat = np.ones((panel.n_assessments, 1)) if is_shrunk else objects
    if case in ("plain", "covariate"):
        flat = np.hstack([objects, assessors[:, 1:]])
    stretch = np.exp(node.log_scale) if is_scaled else None
    if stretch is not None:
        flat = stretch[panel.assessor_index][:, None]
    if more is not None:
        flat = np.hstack([flat, more])

    def height(logs: Floats) -> float:
        kappa = np.exp(logs)
        covariance = scatter(
            panel, 0.9, setting.value_ratio or 0.0, setting.bias_ratio or 0.0, stretch=stretch, kappa=kappa
        )
        score = panel.score - (work.centre if is_scaled else 0.0)
        return log_integrated(score, covariance, flat) + log_prior_of_factors(kappa, strength)

    found = np.log(node.noise_factor)
    best = minimize(lambda x: -height(x), found, method="BFGS", options={"gtol": 1e-6})
    assert height(found) == pytest.approx(-best.fun, abs=1e-7)
    close(found, best.x, atol=1e-5)


def test_noise_factors_with_an_unknown_noise_variance_are_profiled_too() -> None:
    panel = scaled_panel(scale_sd=0.0, factor_sd=0.8)
    node = settle(work_for(panel), Setting(value_ratio=200.0, bias_ratio=150.0, strength=6.0))
    flat, nu = np.ones((panel.n_assessments, 1)), panel.n_assessments - 1

    def height(logs: Floats) -> float:
        """Return REML with w at its best."""
        kappa = np.exp(logs)
        covariance = scatter(panel, 1.0, 200.0, 150.0, kappa=kappa)
        inverse = np.linalg.inv(covariance)
        left = panel.score - flat @ np.linalg.solve(flat.T @ inverse @ flat, flat.T @ inverse @ panel.score)
        w = float(left @ inverse @ left) / nu
        return log_integrated(panel.score, w * covariance, flat) + log_prior_of_factors(kappa, 6.0)

    best = minimize(lambda x: -height(x), np.zeros(5), method="BFGS", options={"gtol": 1e-6})
    close(np.log(node.noise_factor), best.x, atol=1e-5)


@pytest.fixture(scope="module")
def exact_factors() -> dict[str, Any]:
    """Return a panel of three assessors, and REML on a fine grid of their factors."""
    panel = eh.simulate_panel(40, 3, 2, seed=4, bounds=None, step=None, factor_sd=0.5).panel
    objects, assessors = sides(panel)
    design = np.hstack([objects, assessors[:, 1:]])
    line = np.linspace(-2.2, 2.6, 25)
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    precision = panel.precision * np.exp(-grid[:, panel.assessor_index])
    bend = np.einsum("gi,ij,ik->gjk", precision, design, design, optimize=True)
    right = (precision * panel.score) @ design
    fitted = np.linalg.solve(bend, right[..., None])[..., 0]
    total = (precision * np.square(panel.score - fitted @ design.T)).sum(axis=1)
    reml = np.log(precision).sum(axis=1) / 2 - np.linalg.slogdet(bend)[1] / 2 - total / 2
    return {"panel": panel, "grid": grid, "reml": reml, "cell": (line[1] - line[0]) ** 3}


def weigh(exact: dict[str, Any], strength: float) -> Floats:
    half, grid = strength / 2, exact["grid"]
    prior = half * log(half) - lgamma(half) - half * (grid + np.exp(-grid))
    return np.asarray(exact["reml"] + prior.sum(axis=1))


def test_the_strength_of_the_prior_of_noise_factors_is_judged_as_by_the_integral(exact_factors: dict[str, Any]) -> None:
    work = work_for(exact_factors["panel"])
    strengths = (4.0, 8.0, 20.0, 60.0)
    exact = np.array([logsumexp(weigh(exact_factors, one)) for one in strengths])
    found = np.array([settle(work, Setting(strength=one, w=1.0)).log_marginal for one in strengths])
    close(found - found[-1], exact - exact[-1], atol=0.3)


def test_intervals_of_noise_factors_have_their_probability(exact_factors: dict[str, Any]) -> None:
    panel = exact_factors["panel"]
    fit = refine(panel, calibrate_confidence=True, noise="declared")
    table = refined_of(fit).noise_factors
    assert table is not None
    # over all strengths of the prior of factors, with the prior that the strength itself has
    chance = np.zeros(len(exact_factors["grid"]))
    for x in np.linspace(log(2.0), log(500.0), 40):
        chance += np.exp(
            weigh(exact_factors, float(np.exp(x))) - (x - log(8.0)) ** 2 / 4.5 - exact_factors["reml"].max()
        )
    chance /= chance.sum()
    line = np.unique(exact_factors["grid"][:, 0])
    for at in range(3):
        density = chance.reshape((line.size,) * 3).sum(axis=tuple({0, 1, 2} - {at}))
        below = np.interp(np.log([table.lower[at], table.upper[at]]), line, np.cumsum(density) - density / 2)
        assert below[1] - below[0] == pytest.approx(0.9, abs=0.05)
        mean = density @ np.exp(line)
        assert table.sd[at] == pytest.approx(np.sqrt(density @ np.square(np.exp(line) - mean)), rel=0.5)


@pytest.mark.parametrize(
    "options", [{"calibrate_confidence": True}, {"tails": "student", "freedom": None}], ids=["strength", "freedom"]
)
def test_credible_settings_near_a_bound_are_not_counted_twice(options: dict[str, Any]) -> None:
    panel = eh.simulate_panel(30, 5, 3, seed=3, bounds=None, step=None, factor_sd=1.0).panel
    credible = refined_of(refine(panel, **options)).credible
    points = np.array([point for _, point, _ in credible])
    assert len(np.unique(points.round(9), axis=0)) == len(points) > 5
    assert sum(share for share, _, _ in credible) == pytest.approx(1)


def test_noise_factors_are_found_again() -> None:
    simulation = eh.simulate_panel(600, 10, 4, seed=2, bounds=None, step=None, factor_sd=0.7)
    fit = refine(simulation.panel, calibrate_confidence=True)
    table = refined_of(fit).noise_factors
    assert table is not None
    found = np.log(table.estimate) - np.log(table.estimate).mean()
    truth = np.log(simulation.noise_factors) - np.log(simulation.noise_factors).mean()
    close(found, truth, atol=0.35)
    assert np.corrcoef(found, truth)[0, 1] > 0.95
    notes = " ".join(str(note) for note in fit.notes if note.kind == "confidence")
    assert "over-confident" in notes
    assert "under-confident" in notes


def test_an_outlier_does_not_make_an_assessor_look_over_confident_where_tails_are_heavy() -> None:
    panel = eh.simulate_panel(25, 4, 3, seed=2, bounds=None, step=None).panel
    score = panel.score.copy()
    score[np.flatnonzero(panel.assessor_index == 1)[[0, 5]]] += [80.0, -90.0]
    panel = replace(panel, score=score)
    setting = Setting(value_ratio=225.0, bias_ratio=225.0, strength=8.0, w=1.0)
    for likelihood in (Student(4.0), Huber()):
        node = settle(work_for(panel), replace(setting, likelihood=likelihood))

        def height(logs: Floats, likelihood: Likelihood = likelihood, start: Node = node) -> float:
            """Return the marginal likelihood of noise factors that are held, with their prior."""
            kappa = np.exp(logs)
            held = replace(panel, precision=panel.precision / kappa[panel.assessor_index])
            found = settle(work_for(held), replace(setting, strength=None, likelihood=likelihood), start)
            return found.log_marginal + log_prior_of_factors(kappa, 8.0)

        found = np.log(node.noise_factor)
        best = minimize(lambda x: -height(x), found, method="Nelder-Mead", options={"xatol": 1e-3, "maxfev": 300})
        assert height(found) > -best.fun - 0.001
        close(found, best.x, atol=0.02)


# ------------------------------------------------------------------------------------- the power of the confidences


def height_of_power(panel: Panel, flat: Floats, power: float) -> float:
    """Return the log marginal likelihood of a power, with w integrated out, up to a constant."""
    precision = np.exp(power * (np.log(panel.precision) - np.log(panel.precision).mean()))
    bend = flat.T @ (precision[:, None] * flat)
    left = panel.score - flat @ np.linalg.solve(bend, flat.T @ (precision * panel.score))
    nu = panel.n_assessments - flat.shape[1]
    return float(-np.linalg.slogdet(bend)[1] / 2 - nu / 2 * np.log(precision @ np.square(left)))


@pytest.mark.parametrize("truth", [0.0, 0.6, 1.0])
def test_the_power_of_confidence_is_where_its_profile_is_highest(truth: float) -> None:
    panel = eh.simulate_panel(60, 6, 3, seed=9, bounds=None, step=None, power=truth).panel
    objects, assessors = sides(panel)
    flat = np.hstack([objects, assessors[:, 1:]])
    grid = np.linspace(-2.0, 4.0, 601)
    height = np.array([height_of_power(panel, flat, one) for one in grid])
    work = work_for(panel)
    found = np.array([settle(work, Setting(power=one)).log_marginal for one in grid[::60]])
    close(found - found[0], height[::60] - height[0], atol=1e-7)
    fit = refine(panel, power="estimated")
    best = minimize_scalar(lambda x: -height_of_power(panel, flat, x), bracket=(0.0, 1.0), tol=1e-9).x
    assert variances(fit)["power"] == pytest.approx(best, abs=1e-4)
    # its interval is that of the posterior under a normal prior about 1
    chance = np.exp(height - (grid - 1) ** 2 / 2 - height.max())
    below = np.cumsum(chance) / chance.sum()
    table = refined_of(fit).variances
    at = list(table.labels).index("power")
    assert table.lower[at] == pytest.approx(np.interp(0.05, below, grid), abs=0.03)
    assert table.upper[at] == pytest.approx(np.interp(0.95, below, grid), abs=0.03)


@pytest.mark.slow
def test_intervals_of_the_power_hold_it_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(100):
        panel = eh.simulate_panel(40, 6, 3, seed=seed, bounds=None, step=None, power=0.6).panel
        table = refined_of(refine(panel, power="estimated")).variances
        at = list(table.labels).index("power")
        inside += bool(table.lower[at] <= 0.6 <= table.upper[at])
    assert 82 <= inside <= 97  # 90 are expected


def test_a_power_of_confidence_levels_is_another_factor_between_them() -> None:
    panel = eh.simulate_panel(30, 5, 3, seed=7, bounds=None).panel
    level = {5.0: "h", 10.0: "m", 15.0: "l"}
    words = [level[round(float(one))] for one in panel.precision**-0.5]
    frame: dict[str, Any] = {
        "object": [str(at) for at in panel.object_index],
        "assessor": [str(at) for at in panel.assessor_index],
        "score": panel.score.tolist(),
        "confidence": words,
    }
    table = pl.DataFrame(frame)
    usual = Panel.from_frame(table)
    assert usual.confidence == "level"
    for power in (0.0, 0.4, 1.7):
        other = eh.calibrate(Panel.from_frame(table, factor=FACTOR**power)) if power else eh.incomplete_block(usual)
        fit = refine(usual, power=power, gauge="zero_sum")
        close(np.diff(fit.values.estimate), np.diff(other.values.estimate), atol=1e-8)
        first, second = list(range(29)), list(range(1, 30))
        mine, theirs = (one.posterior.of_differences(first, second).sd for one in (fit, other))
        assert mine is not None
        close(mine, theirs, rtol=1e-8)
    assert refine(usual, power=0.0).method == "iba"
    assert refine(usual, power=0.4).method == "cwc+power"


# ----------------------------------------------------------------------------------------- mixtures of posteriors


@given(st.integers(0, 2**31), st.integers(2, 5))
def test_a_mixture_has_the_quantiles_and_deviations_of_its_parts(seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    chance = generator.dirichlet(np.ones(count))
    noises = [
        EstimatedNoise(float(generator.uniform(1, 9)), int(generator.integers(3, 30)))
        if generator.random() < 0.6
        else KnownNoise(float(generator.uniform(0.2, 3)))
        for _ in range(count)
    ]
    shift, unit = generator.normal(0, 2, (count, 4)), generator.uniform(0.1, 3, (count, 4))
    mixed = Marginal.mixed(list(zip(chance.tolist(), noises, shift, unit, strict=True)))
    parts = [
        stats.norm(shift[k], np.sqrt(noise.variance * unit[k]))
        if isinstance(noise, KnownNoise)
        else stats.t(noise.nu, shift[k], np.sqrt(noise.residual / noise.nu * unit[k]))
        for k, noise in enumerate(noises)
    ]
    at = generator.normal(0, 3, 4)
    wanted = sum(p * part.cdf(at) for p, part in zip(chance, parts, strict=True))
    close(mixed.cdf(at), wanted, atol=1e-9)
    variance = sum(p * (part.var() + shift[k] ** 2) for k, (p, part) in enumerate(zip(chance, parts, strict=True)))
    close(mixed.sd, np.sqrt(variance), rtol=1e-9)
    for probability in (0.5, 0.9, 0.99):
        ends = mixed.interval(probability)
        assert ends is not None
        for end, tail in zip(ends, (0.5 - probability / 2, 0.5 + probability / 2), strict=True):
            below = sum(p * part.cdf(end) for p, part in zip(chance, parts, strict=True))
            close(below, tail, atol=1e-8)


def test_a_part_without_a_standard_deviation_leaves_the_mixture_without_one() -> None:
    parts: list[Any] = [(0.5, noise, np.zeros(2), np.ones(2)) for noise in (EstimatedNoise(3.0, 2), KnownNoise())]
    mixed = Marginal.mixed(parts)
    assert mixed.sd is None
    assert mixed.interval(0.9) is not None
    none = Marginal.mixed([(0.5, EstimatedNoise(3.0, 0), np.zeros(2), np.ones(2)), parts[1]])
    assert none.interval(0.9) is None
    assert none.cdf(np.zeros(2)) is None


def brute_draws(fit: Fit, count: int, seed: int) -> tuple[Floats, Floats]:
    """Return draws of values and biases from the mixture over credible variances, by dense Cholesky factors."""
    generator = np.random.default_rng(seed)
    panel, credible = fit.panel, refined_of(fit).credible
    chosen = generator.choice(len(credible), size=count, p=[share for share, _, _ in credible])
    drawn = np.empty((count, panel.n_objects + panel.n_assessors))
    for at, (_, _, node) in enumerate(credible):
        rows = np.flatnonzero(chosen == at)
        dense = Dense(panel, replace(node.setting, w=1.0))
        mean, covariance = dense.solution()
        root = np.linalg.cholesky(covariance)
        left = panel.score - dense.design @ mean
        total = float(panel.precision @ left**2 + mean @ dense.prior @ mean)
        w = total / generator.chisquare(panel.n_assessments - 1, rows.size)
        white = generator.normal(size=(rows.size, mean.size))
        drawn[rows] = (mean + np.sqrt(w)[:, None] * (white @ root.T))[:, : drawn.shape[1]]
    return drawn[:, : panel.n_objects], drawn[:, panel.n_objects :]


@pytest.fixture(scope="module")
def shrunk() -> tuple[Fit, Floats, Floats]:
    """Return a shrunk fit, and draws from its posterior made without it."""
    panel = eh.simulate_panel(14, 5, 3, seed=6, bounds=None, step=None).panel
    fit = refine(panel, shrink=True)
    return fit, *brute_draws(fit, 60_000, 1)


def test_the_mixture_has_several_parts_whose_probabilities_add_up_to_one(shrunk: tuple[Fit, Floats, Floats]) -> None:
    alternatives = shrunk[0].posterior.alternatives
    assert len(alternatives) > 5
    assert sum(one.probability for one in alternatives) == pytest.approx(1)
    assert max(float(np.abs(one.values).max()) for one in alternatives) > 0.5


def test_standard_deviations_and_covariances_are_those_of_brute_force_draws(shrunk: tuple[Fit, Floats, Floats]) -> None:
    fit, values, biases = shrunk
    both = np.hstack([values, biases]) - np.concatenate([fit.values.estimate, fit.biases.estimate])
    exact = both.T @ both / len(both)
    covariance = fit.covariance()
    assert covariance is not None
    scale = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    close(covariance / scale, exact / scale, atol=0.05)
    close(np.concatenate([fit.values.sd, fit.biases.sd]), np.sqrt(np.diagonal(covariance)), rtol=1e-9)
    drawn = np.hstack(fit.draw(60_000, seed=5)) - np.concatenate([fit.values.estimate, fit.biases.estimate])
    close(drawn.T @ drawn / len(drawn) / scale, exact / scale, atol=0.05)
    for probability in (0.5, 0.9):
        again = refine(fit.panel, shrink=True, interval=probability)
        tail = (1 - probability) / 2
        for found, level in ((again.values.lower, tail), (again.values.upper, 1 - tail)):
            below = (values <= found).mean(axis=0)
            close(below, level, atol=0.012)


def test_contrasts_pairs_ranks_and_grades_are_those_of_brute_force_draws(shrunk: tuple[Fit, Floats, Floats]) -> None:
    fit, values, biases = shrunk
    labels = list(fit.values.labels)
    found = fit.contrast(values={"0": 1.0, "3": -0.5}, biases={"2": 2.0})
    exact = values[:, 0] - 0.5 * values[:, 3] + 2 * biases[:, 2]
    assert found.sd == pytest.approx(np.sqrt(np.square(exact - found.estimate).mean()), rel=0.04)
    assert found.lower is not None
    assert found.upper is not None
    assert np.mean(exact <= found.lower) == pytest.approx(0.05, abs=0.01)
    assert np.mean(exact <= found.upper) == pytest.approx(0.95, abs=0.01)
    chance = eh.pairwise(fit, labels[:-1], labels[1:])
    close(chance, (values[:, :-1] > values[:, 1:]).mean(axis=0), atol=0.012)
    grades = eh.classify(fit, [40.0, 55.0]).probability
    wanted = np.stack(
        [(values < 40).mean(axis=0), ((values >= 40) & (values < 55)).mean(axis=0), (values >= 55).mean(axis=0)], axis=1
    )
    close(grades, wanted, atol=0.012)
    ranking = eh.rank(fit, top=4, draws=40_000, seed=2)
    ranks = (-values).argsort(axis=1).argsort(axis=1) + 1
    assert ranking.p_top is not None
    close(ranking.p_top, (ranks <= 4).mean(axis=0), atol=0.015)
    close(ranking.expected_rank, ranks.mean(axis=0), atol=0.12)


def test_a_mixture_without_priors_keeps_its_gauge() -> None:
    panel = eh.simulate_panel(15, 5, 3, seed=6, bounds=None, step=None).panel
    for gauge in gauges_for(panel):
        fit = refine(panel, power="estimated", gauge=gauge)
        fixed = fit.posterior.condition
        assert fixed is not None
        values, biases = fit.draw(50, seed=1)
        left = values @ fixed.value_weight + biases @ fixed.bias_weight
        close(left, fixed.constant[0], atol=1e-6 * (1 + np.abs(fixed.bias_weight).sum() * 100))
    weighted, summed = (refine(panel, power="estimated", gauge=one) for one in ("weighted", "zero_sum"))
    assert summed.posterior.condition is not None
    moved = weighted.posterior.in_gauge(summed.posterior.condition)
    close(moved.of_values.sd, summed.values.sd, rtol=1e-6)
    close(moved.of_biases.sd, summed.biases.sd, rtol=1e-6)
    close(moved.covariance(), summed.covariance(), atol=1e-6)


# ------------------------------------------------------------------------------------ nothing assumed, or all of it


@pytest.mark.parametrize("noise", ["estimated", "declared"])
def test_without_refinements_it_is_calibration_with_confidence(noise: Any) -> None:
    panel = random_panel(5, 9, 5, 14)
    panel = replace(panel, confidence="uncertainty")
    for gauge in gauges_for(panel):
        ours, theirs = refine(panel, gauge=gauge, noise=noise), eh.calibrate(panel, gauge=gauge, noise=noise)
        assert ours.method == theirs.method == "cwc"
        for mine, other in ((ours.values, theirs.values), (ours.biases, theirs.biases)):
            close(mine.estimate, other.estimate, atol=1e-9)
            close(mine.sd, other.sd, rtol=1e-9)
            close(mine.lower, other.lower, atol=1e-8)
        assert ours.residual == pytest.approx(theirs.residual, rel=1e-9)
        assert ours.degrees_of_freedom == theirs.degrees_of_freedom
    equal = refine(panel, power=0.0)
    close(equal.values.estimate, eh.incomplete_block(panel).values.estimate, atol=1e-9)


COMBINED: dict[str, dict[str, Any]] = {
    "shrunk student": {"shrink": True, "tails": "student"},
    "shrunk huber": {"shrink": True, "tails": "huber"},
    "biases student": {"shrink": "biases", "tails": "student"},
    "shrunk confidences": {"shrink": True, "calibrate_confidence": True},
    "shrunk power": {"shrink": True, "power": "estimated"},
    "covariate": {"covariates": ("order",)},
    "covariate shrunk": {"covariates": ("order",), "shrink": True},
    "covariate student": {"covariates": ("order",), "tails": "student"},
    "covariate huber": {"covariates": ("order",), "tails": "huber"},
    "covariate confidences": {"covariates": ("order",), "calibrate_confidence": True},
    "covariate power": {"covariates": ("order",), "power": "estimated"},
    "covariate known": {"covariates": ("order",), "shrink": True, "bias_sd": 12.0},
    "shrunk scaled": {"shrink": True, "scale": True},
}


def some_slow(cases: dict[str, Any], *slow: str) -> list[Any]:
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]


@pytest.mark.parametrize(
    "case",
    some_slow(
        COMBINED, "shrunk huber", "covariate huber", "shrunk scaled", "shrunk confidences", "covariate confidences"
    ),
)
def test_another_unit_and_origin_of_the_scores_change_nothing_else(case: str) -> None:
    panel = eh.simulate_panel(24, 6, 4, seed=12, bounds=None, step=None, freedom=5, effects={"order": 3.0}).panel
    options = COMBINED[case]
    unit, origin = 7.0, -300.0
    other = {**options, **({"bias_sd": unit * options["bias_sd"]} if "bias_sd" in options else {})}
    fit = refine(panel, **options)
    again = refine(replace(panel, score=unit * panel.score + origin), **other)
    close(again.values.estimate, unit * fit.values.estimate + origin, atol=5e-3)
    close(again.biases.estimate, unit * fit.biases.estimate, atol=5e-3)
    assert variances(again)["noise_sd"] == pytest.approx(unit * variances(fit)["noise_sd"], rel=1e-4)
    close(refined_of(again).node.coefficients, unit * refined_of(fit).node.coefficients, atol=1e-3)
    # and neither does the order of the scores
    order = np.random.default_rng(3).permutation(panel.n_assessments)
    turned = Panel.from_arrays(
        panel.object_index[order],
        panel.assessor_index[order],
        panel.score[order],
        panel.precision[order],
        covariates={"order": panel.covariates["order"][order]},
    )
    found = refine(turned, **options)
    close(found.values.estimate, fit.values.estimate, atol=5e-4)


ALL: dict[str, tuple[dict[str, Any], str]] = {
    "bounded": (
        {"shrink": True, "tails": "student", "scores": eh.Bounded(0, 100), "covariates": ("order",)},
        "cwc+shrunk+student+logit+covariates",
    ),
    "log": ({"shrink": True, "scores": eh.Logarithm(), "calibrate_confidence": True}, "cwc+shrunk+confidences+log"),
    "rounded": ({"shrink": True, "step": 1.0, "covariates": ("order",)}, "cwc+shrunk+rounded+covariates"),
    "plain rounded": ({"step": 1.0, "power": "estimated"}, "cwc+power+rounded"),
    "declared": ({"noise": "declared", "shrink": True, "covariates": ("order",)}, "cwc+shrunk+covariates"),
    "declared student": ({"noise": "declared", "tails": "student"}, "cwc+student"),
    "rational": ({"scores": eh.Bounded(0, 100, "rational"), "tails": "huber"}, "cwc+shrunk+huber+rational"),
}


@pytest.mark.parametrize("case", some_slow(ALL, "bounded", "log"))
def test_refinements_that_make_sense_together_work_together(case: str) -> None:
    options, method = ALL[case]
    panel = eh.simulate_panel(18, 5, 4, seed=2, bounds=(1.0, 99.0), effects={"order": 3.0}).panel
    panel = replace(panel, confidence="uncertainty")
    fit = refine(panel, **options)
    assert fit.method == method
    assert np.isfinite(fit.values.sd).all()
    assert (fit.values.sd > 0).all()
    assert (fit.values.lower < fit.values.estimate).all()
    assert (fit.values.estimate < fit.values.upper).all()
    assert np.corrcoef(fit.values.estimate, eh.calibrate(panel).values.estimate)[0, 1] > 0.85
    assert str(fit)
    table = refined_of(fit).variances
    if refined_of(fit).search.unknowns:
        assert (table.lower <= table.upper).all()
        assert table.lower[-1] <= table.estimate[-1] <= table.upper[-1]  # of the noise
    again = refine(
        panel,
        eh.Refinements(**{name: given for name, given in options.items() if name != "noise"}),
        noise=options.get("noise", "estimated"),
    )
    close(again.values.estimate, fit.values.estimate, rtol=0)


# -------------------------------------------------------------------------------------------------------- refusals

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "interval": ({"interval": 1.0}, "interval needs a probability between 0 and 1, not 1"),
    "interval nan": ({"interval": float("nan")}, "interval needs a probability"),
    "noise": ({"noise": "known"}, "noise estimated or declared"),
    "noise prior": ({"noise": eh.NoisePrior(lambda w: -w)}, "noise estimated or declared"),
    "sd alone": ({"bias_sd": 3.0}, "standard deviation of values or biases is part of a prior"),
    "no prior of values": ({"shrink": "biases", "value_sd": 3.0}, "values have no prior"),
    "zero sd": ({"shrink": True, "value_sd": 0.0}, "value_sd must be"),
    "nan sd": ({"shrink": True, "bias_sd": float("nan")}, "bias_sd must be"),
    "word for sd": ({"shrink": True, "bias_sd": "wide"}, "bias_sd must be"),
    "step": ({"step": -1.0}, "step must be"),
    "freedom": ({"tails": "student", "freedom": 0.0}, "freedom must be"),
    "word for freedom": ({"tails": "student", "freedom": "many"}, "freedom must be"),
    "tails": ({"tails": "cauchy"}, "student or huber, not 'cauchy'"),
    "step and tails": ({"step": 1.0, "tails": "huber"}, "Rounded scores and heavy tails"),
    "step and map": ({"step": 1.0, "scores": eh.Bounded(0, 100)}, "recorded on the grid that they lie on"),
    "not a multiple": ({"step": 7.0}, "is not a multiple of the step 7"),
    "declared power": ({"noise": "declared", "power": 0.5}, "at face value have power 1"),
    "declared estimated power": ({"noise": "declared", "power": "estimated"}, "at face value have power 1"),
    "power nan": ({"power": float("nan")}, "power"),
    "power word": ({"power": "much"}, "power"),
    "power infinite": ({"power": float("inf")}, "power"),
    "scale alone": ({"scale": True}, "Scales of assessors need priors"),
    "scale with biases": ({"scale": True, "shrink": "biases"}, "Scales of assessors need priors"),
    "shrink word": ({"shrink": "values"}, "shrink"),
    "shrink none": ({"shrink": None}, "shrink"),
    "map as a word": ({"scores": "logit"}, "scores|map"),
    "map as a class": ({"scores": eh.Bounded}, "scores|map"),
    "outside": ({"scores": eh.Bounded(0, 50)}, "outside the scale from 0 to 50"),
    "gauge": ({"gauge": "middle"}, "is not a gauge"),
    "solver": ({"solver": "magic"}, "not 'magic'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused_in_one_sentence(case: str) -> None:
    options, message = REFUSED[case]
    panel = replace(eh.simulate_panel(10, 4, 3, seed=1, bounds=(1.0, 99.0)).panel, confidence="uncertainty")
    with pytest.raises(InputError, match=message) as caught:
        refine(panel, **options)
    text = str(caught.value)
    assert text.endswith(".")
    assert text[:-1].count(". ") == 0


EQUAL = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.5, 5.0, 7.0])
REFUSED_PANELS: dict[str, tuple[Panel, dict[str, Any], str]] = {
    "power of nothing": (EQUAL, {"power": "estimated"}, "All scores were declared equally sure"),
    "nothing declared": (EQUAL, {"noise": "declared"}, "no declared confidence"),
    "two assessors": (EQUAL, {"calibrate_confidence": True}, "at least three assessors"),
    "not positive": (replace(EQUAL, score=EQUAL.score - 2), {"scores": eh.Logarithm()}, "2 scores are not positive"),
    "outside": (EQUAL, {"scores": eh.Bounded(2, 9)}, "1 score is outside the scale from 2 to 9 .1 for 0 by 0"),
    "confidence of none": (EQUAL, {"covariates": ("confidence",)}, "no covariate 'confidence'"),
}


@pytest.mark.parametrize("case", REFUSED_PANELS)
def test_panels_that_a_refinement_does_not_take_are_refused_by_name(case: str) -> None:
    panel, options, message = REFUSED_PANELS[case]
    with pytest.raises(InputError, match=message):
        refine(panel, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5.0, 5.0), "lower bound below its upper"),
        ((float("nan"), 1.0), "lower bound below its upper"),
        ((0.0, 1.0, "probit"), "logit or rational, not 'probit'"),
    ],
)
def test_bounds_that_are_none_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        eh.Bounded(*arguments)


def test_numpys_true_is_true() -> None:
    panel = eh.simulate_panel(12, 4, 3, seed=1).panel
    fit, wanted = refine(panel, shrink=np.True_), refine(panel, shrink=True)
    close(fit.values.estimate, wanted.values.estimate, rtol=0)


def test_one_covariate_may_be_named_by_a_word() -> None:
    panel = stored_panel("unbalanced")
    fit = refine(panel, covariates="order")
    assert refined_of(fit).names == ("order",)


DEGENERATE: dict[str, Panel] = {
    "one score": Panel.from_arrays([0], [0], [3.0]),
    "one assessor": Panel.from_arrays([0, 1, 2], [0, 0, 0], [3.0, 4.0, 7.0]),
    "one object": Panel.from_arrays([0, 0, 0], [0, 1, 2], [3.0, 4.0, 7.0]),
    "all alike": Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [3.0] * 6),
    "no noise": Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "nothing left": Panel.from_arrays([0, 0, 1], [0, 1, 1], [3.0, 4.0, 9.0]),
}
ASKED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "shrunk": {"shrink": True},
    "biases": {"shrink": "biases"},
    "student": {"tails": "student"},
    "huber": {"tails": "huber"},
    "rounded": {"step": 1.0},
    "shrunk rounded": {"shrink": True, "step": 1.0},
    "shrunk student": {"shrink": True, "tails": "student"},
    "bounded": {"scores": eh.Bounded(0, 10)},
    "confidences": {"calibrate_confidence": True},
    "known": {"shrink": True, "value_sd": 2.0, "bias_sd": 1.0},
}


@pytest.mark.parametrize("panel", DEGENERATE)
@pytest.mark.parametrize("asked", ASKED)
def test_a_panel_with_next_to_nothing_in_it_is_fitted_or_refused_in_words(panel: str, asked: str) -> None:
    refusal, fit = "", None
    try:
        fit = refine(DEGENERATE[panel], **ASKED[asked])
    except EvenhandError as error:
        refusal = str(error)
    if fit is None:
        assert refusal.endswith(".")
        assert "per-component" not in refusal
    else:
        assert np.isfinite(fit.values.estimate).all()
        assert np.isfinite(fit.biases.estimate).all()
        assert str(fit)


@pytest.mark.parametrize("case", ["shrunk student", "covariate huber", "shrunk confidences", "shrunk scaled"])
def test_an_iteration_that_does_not_come_to_rest_gives_no_result(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = eh.simulate_panel(24, 6, 4, seed=12, bounds=None, step=None, freedom=5, effects={"order": 3.0}).panel
    monkeypatch.setattr(working, "STEPS", 2)
    with pytest.raises(SolveError, match="did not come to rest in 2 steps"):
        refine(panel, **COMBINED[case])


def test_rounding_that_leaves_next_to_no_noise_is_fitted() -> None:
    """The marginal likelihood is then a ridge that hardly rises while the noise becomes less and less."""
    options: Any = {"bias_sd": 8.0, "uncertainties": (2.0,), "bounds": None, "step": 10.0}
    panel = eh.simulate_panel(43, 11, 2, seed=2044422645, **options).panel
    fit = refine(panel, shrink=True, step=10.0)
    assert (np.abs(fit.residuals) < 6.0).all()


@pytest.mark.parametrize("variance", [0.01, 30.0, 2e3, 1e6, 1e9])
@pytest.mark.parametrize("away", [0.5, -3.0, 8.0])
def test_what_a_score_with_huber_tails_says_is_right_where_next_to_nothing_else_is_known(
    away: float, variance: float
) -> None:
    found = Huber().tilted(np.array([away]), np.array([variance]), np.ones(1), 1.0)
    k = mpmath.mpf("1.345")
    area = mpmath.sqrt(2 * mpmath.pi) * (2 * mpmath.ncdf(k) - 1) + 2 / k * mpmath.exp(-(k**2) / 2)

    def product(x: Any) -> Any:
        loss = x**2 / 2 if abs(x) <= k else k * abs(x) - k**2 / 2
        return mpmath.exp(-loss) / area * mpmath.npdf(x, away, mpmath.sqrt(variance))

    ends = [-200, -20, -3, -k, 0, 0.5, k, 4, 8, 20, 200]
    mass = mpmath.quad(product, ends)
    mean = mpmath.quad(lambda x: x * product(x), ends) / mass
    left = mpmath.quad(lambda x: (x - mean) ** 2 * product(x), ends) / mass
    assert found.log_mass[0] == pytest.approx(float(mpmath.log(mass)), abs=1e-10)
    assert found.slope[0] == pytest.approx(float((away - mean) / variance), rel=1e-8)
    assert found.bend[0] == pytest.approx(float((1 - left / variance) / variance), rel=1e-8)
    # the variance that is left, which the weight of the site is made of
    assert variance * (1 - variance * found.bend[0]) == pytest.approx(float(left), rel=1e-5)


@pytest.mark.parametrize("tails", ["huber", "student"])
@pytest.mark.parametrize("seed", range(8))
def test_heavy_tails_without_priors_give_back_the_scores_of_a_tree(tails: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    objects, assessors = [0], [0]
    for new in range(1, 5):  # each joins one that is there
        objects += [new, int(generator.choice(objects))]
        assessors += [int(generator.choice(assessors)), new]
    score = np.round(generator.normal(60, 30, len(objects)))
    panel = Panel.from_arrays(objects, assessors, score, 10.0 ** generator.uniform(-2.4, -0.4, score.size))
    fit = refine(panel, tails=tails, noise="declared")
    close(fit.residuals, 0.0, atol=1e-5)


def test_marks_that_contradict_their_declared_uncertainties_are_refused_in_a_sentence_that_leads_on() -> None:
    panel = Panel.from_arrays(
        [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6],
        [2, 1, 3, 0, 3, 2, 3, 1, 2, 0, 2, 1, 0, 2, 1, 2, 3, 1, 2, 1, 3],
        np.array([5, 95, 95, 5, 50, 100, 100, 100, 5, 95, 100, 95, 100, 95, 95, 5, 100, 0, 50, 95, 100.0]),
        np.concatenate(
            [
                [7.744, 0.156, 0.045, 0.517, 0.125, 0.059, 1.742, 0.249, 3.281, 0.125, 21.2],
                [0.394, 0.066, 2.44, 19.119, 0.662, 23.108, 0.999, 0.597, 2.294, 30.57],
            ]
        )
        ** -2.0,
    )
    with pytest.raises(SolveError, match="more than their declared uncertainties allow: use noise estimated"):
        refine(panel, scores=eh.Bounded(0, 100), noise="declared")
