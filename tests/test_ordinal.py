"""Ordered categories against R's ordinal, dense algebra and integrals, and what must hold of them."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

import evenhand as eh
from evenhand.answers.heldout import held_out
from evenhand.errors import InputError, SolveError
from evenhand.models.ordinal import Laplace, Ordinal, code_categories
from evenhand.models.setting import Work
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from evenhand.solve.priors import CentredSolver, PriorGraph, PriorSolver
from panels import drawn_pairs, random_panel, refined_of

Floats = NDArray[np.float64]

refine: Callable[..., Any] = eh.refine
close: Callable[..., None] = np.testing.assert_allclose

REFERENCES = Path(__file__).parent / "references"
LINKS: list[Any] = ["probit", "logit"]


def rows_of(name: str) -> list[dict[str, str]]:
    with (REFERENCES / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


CATEGORIES, FOUND = rows_of("categories.csv"), rows_of("ordinal.csv")
PANELS = list(dict.fromkeys(row["panel"] for row in CATEGORIES))


def panel_of(name: str) -> Panel:
    """Return a panel that R fitted too."""
    rows = [row for row in CATEGORIES if row["panel"] == name]
    objects, assessors = (np.array([int(row[side]) for row in rows]) for side in ("object", "assessor"))
    return Panel.from_arrays(objects, assessors, np.array([float(row["score"]) for row in rows]))


def laplace_of(panel: Panel, link: Any, given_sd: tuple[float | None, float | None] = (None, None)) -> Laplace:
    work = Work(replace(panel, score=np.zeros(panel.n_assessments)), connectivity(panel))
    return Laplace(work, code_categories(panel, link), panel.precision / panel.precision.mean(), given=given_sd)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", PANELS)
def test_thresholds_variances_and_modes_are_those_of_clmm(name: str, link: Any) -> None:
    rows = [row for row in FOUND if (row["panel"], row["link"]) == (name, link)]

    def stored(what: str) -> dict[str, float]:
        return {row["label"]: float(row["number"]) for row in rows if row["what"] == what}

    panel = panel_of(name)
    fit = refine(panel, ordinal=link)
    node = refined_of(fit).node
    thresholds = refined_of(fit).laplace.best.likelihood.thresholds
    close(thresholds, list(stored("threshold").values()), atol=1e-4)
    spread = stored("sd")
    assert np.sqrt(node.setting.value_ratio) == pytest.approx(spread["object"], abs=1e-4)
    assert np.sqrt(node.setting.bias_ratio) == pytest.approx(spread["assessor"], abs=1e-4)
    assert node.log_marginal == pytest.approx(stored("height")["log"], abs=1e-5)
    for side, modes in (("object", node.values), ("assessor", node.biases)):
        found = stored(side)
        close(modes, [found[str(at)] for at in range(len(found))], atol=1e-4)
    close(fit.values.latent, node.values, atol=1e-7)


def dense_height(panel: Panel, link: Any, point: Floats) -> float:
    """Return Laplace's likelihood as it is written down: the mode by an optimiser, the curvature by differences."""
    law: Any = stats.norm if link == "probit" else stats.logistic
    category, code = np.unique(panel.score, return_inverse=True)
    count = category.size - 1
    ends = np.concatenate([[-np.inf], point[0] + np.concatenate([[0.0], np.cumsum(np.exp(point[1:count]))]), [np.inf]])
    sd = np.concatenate([np.full(panel.n_objects, np.exp(point[-2])), np.full(panel.n_assessors, np.exp(point[-1]))])
    root = np.sqrt(panel.precision / panel.precision.mean())

    def depth(x: Floats) -> float:
        u = x[panel.object_index] + x[panel.n_objects + panel.assessor_index]
        chance = law.cdf((ends[code + 1] - u) * root) - law.cdf((ends[code] - u) * root)
        return float(-np.log(chance).sum() + np.square(x / sd).sum() / 2 + np.log(sd).sum())

    found = optimize.minimize(depth, np.zeros(sd.size), method="BFGS", options={"gtol": 1e-7})
    step, size = 1e-3, sd.size
    unit = step * np.eye(size)
    bend = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            signs = [depth(found.x + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            bend[i, j] = bend[j, i] = sum(signs) / (4 * step**2)
    return float(-found.fun - np.linalg.slogdet(bend)[1] / 2)


@pytest.mark.parametrize("link", LINKS)
def test_the_likelihood_is_laplaces_and_its_slope_is_its_derivative(link: Any) -> None:
    panel = random_panel(3, 5, 3, 6)
    panel = replace(panel, score=np.searchsorted([52.0, 58.0, 66.0], panel.score) + np.float64(1.0))
    laplace = laplace_of(panel, link)
    point = laplace.start() + 0.1
    here = laplace.at(point)
    assert here.height == pytest.approx(dense_height(panel, link, point), abs=1e-4)
    for at in range(point.size):
        step = np.where(np.arange(point.size) == at, 1e-4, 0.0)
        slope = (laplace.at(point + step).height - laplace.at(point - step).height) / 2e-4
        assert here.slope[at] == pytest.approx(slope, abs=1e-4)


def test_without_biases_the_likelihood_is_that_of_biases_next_to_zero() -> None:
    panel = random_panel(3, 5, 3, 6)
    panel = replace(panel, score=np.searchsorted([52.0, 58.0, 66.0], panel.score) + np.float64(1.0))
    laplace = laplace_of(panel, "probit", (None, 0.0))
    point = laplace.start()
    here = laplace.at(point)
    assert here.height == pytest.approx(dense_height(panel, "probit", np.append(point[:-1], np.log(1e-3))), abs=1e-3)
    assert not here.biases.any()
    assert here.slope[-1] == 0


def test_assessors_seen_once_have_no_biases_and_a_note_says_so() -> None:
    panel = panel_of("even")
    once = Panel.from_arrays(panel.object_index, np.arange(panel.n_assessments), panel.score)
    fit = refine(once, ordinal="probit")
    assert not fit.biases.estimate.any()
    assert [note.kind for note in fit.notes].count("seen_once") == 1
    close(fit.values.estimate, refine(panel, ordinal="probit", bias_sd=0).values.estimate, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_derivatives_in_the_latent_score_and_the_thresholds_are_right(link: Any) -> None:
    code, root = np.array([0, 1, 2, 3]), np.array([0.7, 1.0, 1.3, 2.0])
    u, thresholds = np.array([0.3, -0.8, 1.1, 4.0]), np.array([-1.0, 0.2, 1.5])
    model = Ordinal(link, np.arange(4.0), thresholds, code, 1.0)
    found, step = model.slopes(u, root), 1e-5
    up, down = model.slopes(u + step, root), model.slopes(u - step, root)
    close(found.slope, (up.log_p - down.log_p) / (2 * step), atol=1e-8)
    close(found.bend, -(up.slope - down.slope) / (2 * step), atol=1e-8)
    close(found.twist, (up.bend - down.bend) / (2 * step), atol=1e-7)
    for at in range(3):
        moved = np.where(np.arange(3) == at, step, 0.0)
        more, less = (replace(model, thresholds=thresholds + sign * moved).slopes(u, root) for sign in (1, -1))
        own = np.where(code == at, 1.0, 0.0), np.where(code == at + 1, 1.0, 0.0)
        for order, name in enumerate(("log_p", "slope", "bend")):
            difference = (getattr(more, name) - getattr(less, name)) / (2 * step)
            sign = -1.0 if name == "bend" else 1.0
            close(sign * (own[0] * found.upper[order] + own[1] * found.lower[order]), difference, atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_of_all_categories_add_up_to_one_and_give_the_expected_score(link: Any) -> None:
    law: Any = stats.norm if link == "probit" else stats.logistic
    category, thresholds = np.array([1.0, 2.0, 4.0, 5.0]), np.array([-1.0, 0.2, 1.5])
    model = Ordinal(link, category, thresholds, np.arange(4), 1.0)
    mean, variance, precision = np.full(4, 0.4), np.full(4, 0.8), np.full(4, 1.7)
    each = np.exp(model.tilted(-mean, variance, precision, 1.0).log_mass)
    below = model.below(category, mean, variance, precision, 1.0)
    close(np.diff(below, prepend=0.0), each, atol=1e-8)
    assert each.sum() == pytest.approx(1.0, abs=1e-8)
    u = 0.4 + np.sqrt(0.8) * np.linspace(-10, 10, 20_001)
    density = stats.norm.pdf(u, 0.4, np.sqrt(0.8))
    cut = np.array([np.trapezoid(density * law.cdf((at - u) * np.sqrt(1.7)), u) for at in thresholds])
    close(below[:3], cut, atol=1e-7)
    close(model.below(np.array([0.0, 3.0]), mean[:2], variance[:2], precision[:2], 1.0), [0.0, cut[1]], atol=1e-7)
    close(model.expected(mean[:1], variance[:1], precision[:1], 1.0), [category @ each], atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@given(st.floats(-4.0, 4.0))
def test_expected_scores_increase_with_the_latent_value_and_are_undone(link: Any, latent: float) -> None:
    model = Ordinal(link, np.array([1.0, 2.0, 3.0, 5.0]), np.array([-1.0, 0.2, 1.5]), np.arange(4), 1.0)
    at = np.array([latent])
    points, step = model.back(at), 1e-5
    assert 1 < points[0] < 5
    assert model.forward(points)[0] == pytest.approx(latent, abs=1e-6)
    slope = (model.back(at + step) - model.back(at - step))[0] / (2 * step)
    assert model.slope(points)[0] == pytest.approx(1 / slope, rel=1e-4)
    assert model.forward(np.array([1.0, 5.0])).tolist() == [-np.inf, np.inf]


def test_a_solver_with_a_known_mean_answers_as_dense_algebra_does() -> None:
    panel = random_panel(5, 7, 4, 9)
    priors = np.full(panel.n_objects, 0.7), np.full(panel.n_assessors, 1.9)
    solver = CentredSolver(PriorSolver(PriorGraph(panel, True, True), panel.precision, *priors))
    design = np.zeros((panel.n_assessments, panel.n_objects + panel.n_assessors))
    design[np.arange(panel.n_assessments), panel.object_index] = 1.0
    design[np.arange(panel.n_assessments), panel.n_objects + panel.assessor_index] = 1.0
    inner = design.T @ (panel.precision[:, None] * design) + np.diag(np.concatenate(priors))
    inverse = np.linalg.inv(inner)
    close(np.concatenate(solver.diagonal()), np.diagonal(inverse), rtol=1e-10)
    close(solver.fitted_variances(), np.einsum("ij,jk,ik->i", design, inverse, design), rtol=1e-10)
    assert solver.log_determinant() == pytest.approx(np.linalg.slogdet(inner)[1], rel=1e-12)
    found = solver.solve(panel.score)
    close(np.concatenate([found.values, found.biases]), inverse @ design.T @ (panel.precision * panel.score), rtol=1e-9)
    drawn = np.hstack(solver.draw(np.random.default_rng(1), 40_000))
    close(np.cov(drawn.T), inverse, atol=0.03 * float(inverse.max()))


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.sampled_from(LINKS), st.integers(0, 10**6), st.integers(1, 4))
def test_raising_one_score_never_lowers_its_objects_value_or_rank(seed: int, link: Any, which: int, by: int) -> None:
    panel = random_panel(seed, 6, 4, 8)
    panel = replace(panel, score=np.searchsorted([50.0, 57.0, 63.0, 70.0], panel.score) + np.float64(1.0))
    at = which % panel.n_assessments
    score = panel.score.copy()
    score[at] = min(5.0, score[at] + by)
    point = np.array([-1.2, 0.0, -0.1, 0.1, 0.2, -0.4])
    found = []
    for each in (panel.score, score):
        laplace = laplace_of(panel, link)
        model = Ordinal(link, np.arange(1.0, 6.0), np.zeros(4), (each - 1).astype(np.int64), 1.0)
        found.append(replace(laplace, likelihood=model).at(point).values)
    moved = found[1] - found[0]
    own = int(panel.object_index[at])
    assert moved[own] >= -1e-6
    assert (moved[own] - moved >= -1e-6).all()


@settings(max_examples=6)
@given(st.integers(0, 2**31), st.sampled_from(LINKS))
def test_only_the_order_of_categories_matters(seed: int, link: Any) -> None:
    panel = panel_of("even")
    order = np.random.default_rng(seed).permutation(panel.n_assessments)
    other = np.array([0.0, 3.0, 4.0, 10.0, 11.0, 20.0])[panel.score.astype(int)]
    mixed = Panel.from_arrays(panel.object_index[order], panel.assessor_index[order], other[order])
    fit, again = refine(panel, ordinal=link), refine(mixed, ordinal=link)
    close(refined_of(again).node.values, refined_of(fit).node.values, atol=1e-4)
    upside = replace(panel, score=6.0 - panel.score)
    turned = refine(upside, ordinal=link)
    close(refined_of(turned).node.values, -refined_of(fit).node.values, atol=1e-4)
    close(turned.values.estimate, 6.0 - fit.values.estimate, atol=1e-4)
    close(turned.values.lower, 6.0 - fit.values.upper, atol=1e-4)


def test_values_are_expected_scores_with_latent_values_and_thresholds_beside() -> None:
    fit = refine(panel_of("even"), ordinal="probit")
    assert fit.method == "cwc+shrunk+ordinal-probit"
    model, node = refined_of(fit), refined_of(fit).node
    category, cut = np.arange(1.0, 6.0), model.laplace.best.likelihood.thresholds
    chance = np.diff(stats.norm.cdf(cut[None] - node.values[:, None]), prepend=0.0, append=1.0, axis=1)
    close(fit.values.estimate, chance @ category, atol=1e-9)
    u = node.values[fit.panel.object_index] + node.biases[fit.panel.assessor_index]
    chance = np.diff(stats.norm.cdf(cut[None] - u[:, None]), prepend=0.0, append=1.0, axis=1)
    close(fit.fitted, chance @ category, atol=1e-9)
    spread = np.sqrt(chance @ category**2 - np.square(chance @ category))
    close(model.surprise, (fit.panel.score - fit.fitted) / spread, atol=1e-6)
    assert (fit.values.lower < fit.values.estimate).all()
    assert (fit.values.estimate < fit.values.upper).all()
    assert ((fit.values.lower > 1) & (fit.values.upper < 5)).all()
    tables = fit.model.tables
    assert list(tables["thresholds"].labels) == ["1|2", "2|3", "3|4", "4|5"]
    close(tables["thresholds"].estimate, cut)
    close(tables["latent"].estimate, node.values)
    assert tables["variances"].labels == ["value_sd", "bias_sd"]
    for name in ("thresholds", "variances", "latent"):
        assert (tables[name].lower < tables[name].estimate).all()
        assert (tables[name].estimate < tables[name].upper).all()


def test_intervals_of_thresholds_come_from_the_curvature_of_the_likelihood() -> None:
    laplace = laplace_of(panel_of("even"), "probit")
    laplace.climb()
    step, point = 1e-2, laplace.point
    size = point.size
    unit = step * np.eye(size)
    height = {0: laplace.at(point).height}
    bend = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            signs = [laplace.at(point + a * unit[i] + b * unit[j]).height * a * b for a in (1, -1) for b in (1, -1)]
            bend[i, j] = bend[j, i] = -sum(signs) / (4 * step**2)
    assert height[0] > -np.inf
    close(laplace.covariance(point), np.linalg.inv(bend), rtol=2e-2, atol=1e-3)


def test_known_spreads_are_kept() -> None:
    fit = refine(panel_of("even"), ordinal="logit", value_sd=1.0, bias_sd=0.5)
    node = refined_of(fit).node
    assert (node.setting.value_ratio, node.setting.bias_ratio) == pytest.approx((1.0, 0.25))
    assert fit.model.tables["variances"].labels == []


def test_surer_scores_count_for_more() -> None:
    panel = panel_of("even")
    sure = replace(panel, precision=np.where(panel.assessor_index == 0, 1e4, 1.0), confidence="confidence")
    fit = refine(sure, ordinal="probit", value_sd=1.0, bias_sd=0.5)
    rows = sure.assessor_index == 0
    assert np.abs(fit.residuals[rows]).mean() < 0.5 * np.abs(refine(panel, ordinal="probit").residuals[rows]).mean()
    close(refine(sure, ordinal="probit", power=0.0).values.estimate, refine(panel, ordinal="probit").values.estimate)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "link": ({"ordinal": "cloglog"}, "probit or logit, not 'cloglog'"),
    "tails": ({"ordinal": "probit", "tails": "student"}, "do not go with heavy tails"),
    "map": ({"ordinal": "probit", "scores": eh.Bounded(1, 5)}, "do not go with a map"),
    "noise": ({"ordinal": "probit", "noise": "declared"}, "do not go with declared noise"),
    "biases": ({"ordinal": "probit", "shrink": "biases"}, "values need a prior too"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_with_categories_is_refused(case: str) -> None:
    options, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        refine(panel_of("two"), **options)


def test_spreads_that_have_no_end_are_refused_and_wide_ones_that_scores_tell_are_not() -> None:
    objects, assessors = [0, 0, 3, 2, 1, 2, 1], [3, 1, 0, 3, 1, 2, 3]  # assessor 3 gives nothing but 0, the others 5
    panel = Panel.from_arrays(objects, assessors, [0.0, 5.0, 5.0, 0.0, 5.0, 5.0, 0.0])
    with pytest.raises(SolveError, match=r"Which assessors have which categories .* give bias_sd"):
        eh.refine(panel, ordinal="probit")
    sd = eh.refine(panel, ordinal="probit", bias_sd=2.0).values.sd
    assert sd is not None
    assert (sd > 1).all()
    generator = np.random.default_rng(1)
    first, second = drawn_pairs(generator, 80, 8, 4)
    latent = generator.normal(size=80)[first] + 0.03 * generator.normal(size=first.size)
    clear = Panel.from_arrays(first, second, np.digitize(latent, [-1, -0.3, 0.3, 1]) + 1.0)
    table = eh.refine(clear, ordinal="probit", bias_sd=0).model.tables["variances"]
    assert table is not None
    told = table.columns()
    assert 10 < told["lower"][0] < told["upper"][0] < 100, "the spread of values is 33 times the noise"


def test_scores_that_are_no_categories_are_refused() -> None:
    same = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [3.0] * 4)
    with pytest.raises(InputError, match="all scores are the same"):
        refine(same, ordinal="probit")
    many = eh.simulate_panel(100, 5, 3, seed=1, bounds=None, step=None).panel
    with pytest.raises(InputError, match="300 different scores"):
        refine(many, ordinal="probit")


def test_perfect_agreement_puts_categories_in_order() -> None:
    panel = Panel.from_arrays(np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8), np.repeat([1.0, 2.0] * 4, 3))
    values = refine(panel, ordinal="probit").values.estimate
    assert (values[1::2] > 1.5).all()
    close(values[::2], 3.0 - values[1], atol=1e-6)


def test_intervals_are_as_wide_as_an_integral_over_everything_thresholds_too() -> None:
    """Two objects, two assessors, two categories: values, biases and the threshold on a grid."""
    scores, value_sd, bias_sd = [1.0, 1.0, 2.0, 1.0], 1.2, 0.6
    panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], scores)
    fit = refine(panel, ordinal="probit", value_sd=value_sd, bias_sd=bias_sd)
    axis, cuts = np.linspace(-4.0, 4.0, 17), np.linspace(-6.0, 8.0, 36)
    one, two, three, four, cut = np.meshgrid(
        value_sd * axis, value_sd * axis, bias_sd * axis, bias_sd * axis, cuts, indexing="ij", sparse=True
    )
    part = np.exp(-((one**2 + two**2) / value_sd**2 + (three**2 + four**2) / bias_sd**2) / 2)
    for score, u in zip(scores, (one + three, one + four, two + three, two + four), strict=True):
        part = part * stats.norm.cdf((cut - u) if score == 1.0 else (u - cut))
    for at, value in enumerate((one, two)):
        place = np.broadcast_to(value - cut, part.shape).ravel()
        order = np.argsort(place)
        share = np.cumsum(part.ravel()[order]) / part.sum()
        width = np.diff(np.interp([0.05, 0.95], share, place[order]))[0]
        found = stats.norm.ppf(fit.values.upper[at] - 1.0) - stats.norm.ppf(fit.values.lower[at] - 1.0)
        assert found == pytest.approx(width, rel=0.1)


@pytest.mark.study
def test_categories_have_smaller_errors_than_numbers_and_intervals_cover() -> None:
    """Two hundred panels of 30 objects, 8 assessors and 4 scores each, two thirds of them at the ends."""
    errors, covered = [], []
    cut = np.array([-2.0, -1.0, 0.0, 0.5])
    options: Any = {"value_mean": 0.0, "value_sd": 2.0, "bias_sd": 1.5, "uncertainties": (1.0,)}
    for seed in range(200):
        made = eh.simulate_panel(30, 8, 4, seed=seed, bounds=None, step=None, **options)
        panel = replace(made.panel, score=np.searchsorted(cut, made.panel.score) + np.float64(1.0))
        chance = np.diff(stats.norm.cdf(cut[None] - made.values[:, None]), prepend=0.0, append=1.0, axis=1)
        true = chance @ np.arange(1.0, 6.0)
        fits = refine(panel, ordinal="probit"), refine(panel, shrink=True)
        errors.append([np.sqrt(np.square(fit.values.estimate - true).mean()) for fit in fits])
        covered.append(((fits[0].values.lower <= true) & (true <= fits[0].values.upper)).mean())
    ordinal, plain = np.array(errors).T
    gain = plain - ordinal
    assert gain.mean() > 3 * gain.std(ddof=1) / np.sqrt(gain.size)
    assert 0.88 <= np.mean(covered) <= 0.92


@pytest.mark.parametrize("link", LINKS)
def test_a_category_is_predicted_with_thresholds_that_the_other_scores_give(link: Any) -> None:
    panel = eh.simulate_panel(24, 8, 4, seed=3, step=10.0, uncertainties=(10.0,)).panel
    panel = replace(panel, score=np.clip(panel.score, 20.0, 80.0), precision=np.ones(panel.n_assessments))
    fit = refine(panel, ordinal=link)
    laplace = refined_of(fit).laplace
    assert laplace is not None
    found = held_out(fit).log_score
    wanted: list[float] = []
    kept: list[float] = []
    for at in range(0, panel.n_assessments, 3):
        rest = np.arange(panel.n_assessments) != at
        others = Panel.from_arrays(panel.object_index[rest], panel.assessor_index[rest], panel.score[rest])
        refitted = laplace_of(others, link, laplace.best.sd)
        _, node = refitted.climb()
        of_object, of_assessor = int(panel.object_index[at]), int(panel.assessor_index[at])
        variance = node.solver.contrasts(np.eye(panel.n_objects)[of_object], np.eye(panel.n_assessors)[of_assessor])
        u = np.array([node.values[of_object] + node.biases[of_assessor]])
        for likelihood, log_p in ((refitted.best.likelihood, wanted), (laplace.best.likelihood, kept)):
            ends = np.array([panel.score[at] - 5.0]), np.array([panel.score[at] + 5.0])
            log_p.append(float(np.log(likelihood.between(*ends, u, np.array([variance]), np.ones(1), 1.0)[0])))
    error = found[::3] - np.array(wanted)
    assert np.abs(error).max() < 0.05
    assert abs(error.mean()) < 0.01
    assert np.mean(wanted) < np.mean(kept) - 0.02  # which thresholds that were fitted with the score would not see
