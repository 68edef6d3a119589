"""Bounded and positive scores against integrals that know nothing of evenhand's own, and what must hold of them."""

from collections.abc import Callable
from dataclasses import replace
from math import log, pi
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

import evenhand as eh
from evenhand.errors import InputError, SolveError
from evenhand.models import reweighting
from evenhand.models.bounded import Mapped, Recorded, ScoreMap
from evenhand.models.noise import Normal
from evenhand.models.reweighting import settle
from evenhand.models.robust import Huber, Student
from evenhand.models.setting import Node, Setting, Work
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from panels import refined_of

Floats = NDArray[np.float64]

# what a fit may lack, such as standard deviations, these have wherever they are asked for
refine: Callable[..., Any] = eh.refine
close: Callable[..., None] = np.testing.assert_allclose

MAPS: list[ScoreMap] = [
    eh.Bounded(0.0, 100.0, "logit"),
    eh.Bounded(0.0, 100.0, "rational"),
    eh.Bounded(-3.0, 7.0, "logit"),
    eh.Bounded(1.0, 5.0, "rational"),
    eh.Logarithm(40.0),
]

# ------------------------------------------------------------------------------------------------------- the maps


@pytest.mark.parametrize("scores", MAPS, ids=str)
@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_maps_increase_and_are_undone(scores: ScoreMap, first: float, second: float) -> None:
    low, high = scores.ends
    high = min(high, 1e4)
    x, y = np.array([low + (high - low) * first]), np.array([low + (high - low) * second])
    image, other = scores.forward(x), scores.forward(y)
    assert scores.back(image)[0] == pytest.approx(x[0], rel=1e-9, abs=1e-9)
    assert (image[0] < other[0]) == (x[0] < y[0]) or first == second
    step = 1e-6 * (high - low) * min(first, 1 - first)
    slope = (scores.forward(x + step) - scores.forward(x - step)) / (2 * step)
    assert scores.slope(x)[0] == pytest.approx(slope[0], rel=1e-5)
    # anywhere on the line there is a point between the ends
    far = scores.back(np.array([-1e3, 1e3]) if high == 1e4 else np.array([-1e9, 1e9]))
    assert low <= far[0] < far[1]
    assert far[1] <= high or high == 1e4


@pytest.mark.parametrize("shape", ["logit", "rational"])
def test_the_maps_are_those_of_the_paper_with_slope_one_in_the_middle(shape: Any) -> None:
    scores = eh.Bounded(-5.0, 105.0, shape)
    a, b, points = -5.0, 105.0, np.linspace(0.0, 100.0, 21)
    middle = (a + b) / 2
    if shape == "logit":
        image, slope = np.log((points - a) / (b - points)), 4 / (b - a)
    else:
        image, slope = (points - middle) / ((b - points) * (points - a)), 4 / (b - a) ** 2
    close(scores.forward(points), middle + image / slope, atol=1e-10)
    assert scores.slope(np.array([middle]))[0] == pytest.approx(1)
    assert eh.Logarithm(40.0).slope(np.array([40.0]))[0] == pytest.approx(1)
    close(np.diff(eh.Logarithm(40.0).forward(points[1:])), 40 * np.diff(np.log(points[1:])))


def test_the_ends_of_a_scale_are_at_infinity() -> None:
    for scores in MAPS[:4]:
        low, high = scores.ends
        assert scores.forward(np.array([low - 1, low, high, high + 1])).tolist() == [-np.inf, -np.inf, np.inf, np.inf]
    assert eh.Logarithm(3.0).forward(np.array([0.0]))[0] == -np.inf


# ----------------------------------------------------------------------------------------------- what is recorded


def test_each_recorded_score_stands_for_what_is_closest_and_the_ends_for_all_beyond() -> None:
    recorded = Recorded(0.0, 10.0, 2.0)
    lower, upper = recorded.cells(np.array([0.0, 2.0, 8.0, 10.0]))
    assert lower.tolist() == [-np.inf, 1.0, 7.0, 9.0]
    assert upper.tolist() == [1.0, 3.0, 9.0, np.inf]
    # ends that are no multiple of the step are neighbours all the same
    lower, upper = Recorded(0.5, 3.2, 1.0).cells(np.array([0.5, 1.0, 2.0, 3.0, 3.2]))
    close(lower, [-np.inf, 0.75, 1.5, 2.5, 3.1])
    close(upper, [0.75, 1.5, 2.5, 3.1, np.inf])
    assert recorded.up_to(np.array([-1.0, 0.0, 1.9, 2.0, 9.99, 10.0])).tolist() == [-np.inf, 1.0, 1.0, 3.0, 9.0, np.inf]


def test_positive_scores_are_recorded_from_one_step_on() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [2.0, 14.0, 6.0, 8.0])
    recorded = Recorded.of(panel, eh.Logarithm().fitted_to(panel))
    assert recorded == Recorded(panel.step or 0.0, np.inf, panel.step)
    assert recorded.cells(np.array([panel.step or 0.0]))[0] == -np.inf


# ------------------------------------------------------------------------------------- what a score says, by itself

NOISES: dict[str, tuple[Any, Any]] = {
    "normal": (Normal(), stats.norm),
    "student": (Student(4.0), stats.t(4.0)),
    "huber": (Huber(), None),
}


def probability(scores: ScoreMap, noise: Any, score: float, step: float | None, sigma: float, u: Floats) -> Floats:
    """Return the probability of a recorded score (its density, where there is no grid), as it is written down."""
    low, high = scores.ends
    expected, least = scores.back(u), step if step is not None and high == np.inf else low
    half = 0.0 if step is None else step / 2

    def below(x: float) -> Floats:
        z = (x - expected) / sigma
        if noise is Normal:
            return np.asarray(stats.norm.cdf(z))
        return np.asarray(stats.t(noise.freedom).cdf(z))

    if score >= high:
        return 1 - below(high - half)
    if score <= least:
        return below(least + half)
    if step is None:
        z = (score - expected) / sigma
        return np.asarray((stats.norm.pdf(z) if noise is Normal else stats.t(noise.freedom).pdf(z)) / sigma)
    return (below(score + half) - below(score - half)) / 1.0


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from(MAPS[:2] + MAPS[4:]), st.sampled_from([None, 1.0, 10.0]), st.booleans())
def test_what_a_score_says_is_an_integral(seed: int, scores: ScoreMap, step: float | None, heavy: bool) -> None:
    generator = np.random.default_rng(seed)
    noise = Student(float(generator.uniform(2, 9))) if heavy else Normal()
    score = generator.choice([10.0, 30.0, 60.0, 90.0, 100.0], 6)
    recorded = Recorded(scores.ends[0] if scores.ends[1] < np.inf else step or 0.0, scores.ends[1], step)
    mapped = Mapped(scores, noise, score, recorded)
    variance, precision = generator.uniform(1, 30, 6) ** 2, generator.uniform(0.5, 2, 6)
    w = float(generator.choice([4.0, 30.0, 200.0]))
    mean = mapped.at + generator.normal(0, 1, 6) * np.sqrt(variance + w)
    found = mapped.tilted(mapped.at - mean, variance, precision, w)
    up = mapped.tilted(mapped.at - mean, variance, precision * np.exp(1e-4), w).log_mass
    down = mapped.tilted(mapped.at - mean, variance, precision * np.exp(-1e-4), w).log_mass
    close(found.scatter, 1 - (up - down) / 1e-4, atol=1e-5)
    for at in range(6):
        sd = np.sqrt(variance[at])
        u = mean[at] + sd * np.linspace(-14, 14, 40_001)
        which = Normal if not heavy else noise
        density = probability(scores, which, score[at], step, np.sqrt(w / precision[at]), u)
        density = density * stats.norm.pdf(u, mean[at], sd)
        area = np.trapezoid(density, u)
        centre = np.trapezoid(density * u, u) / area
        spread = np.trapezoid(density * np.square(u - centre), u) / area
        assert np.exp(found.log_mass[at]) * (step or 1.0) == pytest.approx(area, rel=1e-6)
        assert mean[at] + variance[at] * found.slope[at] == pytest.approx(centre, abs=1e-6 * sd)
        # as wide as it is, unless others contradict it
        after = variance[at] * (1 - variance[at] * found.bend[at])
        assert after == pytest.approx(spread, rel=1e-5) or after < spread


@pytest.mark.parametrize("noise", [Normal(), Student(3.0), Student(1.0), Huber()], ids=repr)
def test_noise_of_unit_scale_has_the_integrals_of_its_density(noise: Any) -> None:
    def density(z: float) -> float:
        return float(np.exp(noise.log_density(np.array([z]), np.ones(1), 1.0))[0])

    for low, high in ((-2.0, 0.5), (0.3, 0.4), (1.0, 1.7), (-3.0, 3.0), (2.0, 9.0)):
        area, mean = (
            integrate.quad(part, low, high, points=[-1.345, 1.345])[0] for part in (density, lambda z: z * density(z))
        )
        assert noise.log_between(np.array([low]), np.array([high]))[0] == pytest.approx(log(area), abs=1e-9)
        ends = noise.partial_mean(np.array([low, high]))
        assert ends[1] - ends[0] == pytest.approx(mean, abs=1e-8)
    for at in (-2.5, 0.7, 4.0):
        near = np.array([at * np.exp(-1e-5), at * np.exp(1e-5)])
        slope = np.diff(noise.log_density(near, np.ones(2), 1.0))[0] / 2e-5
        assert noise.fall(np.array([at]))[0] == pytest.approx(-slope, rel=1e-6)
    assert noise.log_between(np.array([-np.inf]), np.array([np.inf]))[0] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=30)
@given(
    st.integers(0, 2**31),
    st.sampled_from(MAPS[:2] + MAPS[4:]),
    st.sampled_from([Normal(), Student(3.0), Huber()]),
    st.sampled_from([1.0, 10.0]),
)
@example(9232, eh.Bounded(0, 100, "rational"), Normal(), 1.0)  # a stretch of the scale that is next to endless
def test_probabilities_of_all_that_can_be_recorded_add_up_to_one(
    seed: int, scores: ScoreMap, noise: Any, step: float
) -> None:
    generator = np.random.default_rng(seed)
    low, high = scores.ends
    grid = np.arange(step if high == np.inf else low, (400.0 if high == np.inf else high) + step / 2, step)
    mapped = Mapped(scores, noise, grid, Recorded(float(grid[0]), high, step))
    mean, variance = float(generator.uniform(10, 90)), float(generator.uniform(1, 20)) ** 2
    precision, w = np.full(grid.size, float(generator.uniform(0.5, 2))), float(generator.choice([4.0, 30.0, 300.0]))
    each = np.exp(mapped.tilted(mapped.at - mean, np.full(grid.size, variance), precision, w).log_mass) * step
    below = mapped.below(grid, np.full(grid.size, mean), np.full(grid.size, variance), precision, w)
    close(np.diff(below, prepend=0.0), each, atol=1e-6)
    beyond = 0.0 if high < np.inf else 1 - float(below[-1])
    assert each.sum() + beyond == pytest.approx(1.0, abs=1e-6)
    assert below[-1] == 1.0 or high == np.inf
    # the mean that is expected is the mean of these, but for rounding to the grid
    expected = mapped.expected(np.array([mean]), np.array([variance]), precision[:1], w)[0]
    if high < np.inf and step == 1.0:
        assert expected == pytest.approx(float(grid @ each), abs=0.25 * step)


# --------------------------------------------------------------------------------------------------- whole panels


def fitted(panel: Panel, scores: ScoreMap, w: float, value_sd: float, bias_sd: float, step: float | None) -> Node:
    """Return the fit for given variances."""
    mapped = Mapped(scores, Normal(), panel.score, Recorded(*scores.ends, step))
    work = Work(replace(panel, score=mapped.at), connectivity(panel))
    return settle(work, Setting(value_ratio=value_sd**2 / w, bias_ratio=bias_sd**2 / w, w=w, likelihood=mapped))


def answered(*given: Any) -> Node:
    """Return the fit where there is one; a few panels at the ends of the scale do not come to rest and are refused."""
    try:
        return fitted(*given)
    except SolveError:
        reject()


@pytest.mark.parametrize("scores", MAPS[:2], ids=str)
def test_posteriors_are_close_to_integrals_over_everything(scores: ScoreMap) -> None:
    """Two objects and two assessors: four unknowns, on a grid."""
    score, w, value_sd, bias_sd = [60.0, 100.0, 40.0, 80.0], 64.0, 20.0, 8.0
    panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], score)
    node = fitted(panel, scores, w, value_sd, bias_sd, 10.0)
    sd = np.sqrt(w * np.concatenate(node.solver.diagonal()))
    middle, axis = np.concatenate([node.values, node.biases]), np.linspace(-6, 6, 49)
    one, two, three, four = np.meshgrid(
        *(at + spread * axis for at, spread in zip(middle, sd, strict=True)), indexing="ij"
    )
    # the mean of both values has a flat prior
    height = -np.square(one - two) / (4 * value_sd**2) - (three**2 + four**2) / (2 * bias_sd**2)
    for at, u in enumerate((one + three, one + four, two + three, two + four)):
        height += np.log(np.maximum(probability(scores, Normal, score[at], 10.0, np.sqrt(w), u) / 10.0, 1e-300))
    part = np.exp(height - height.max())
    level = log(part.sum()) + height.max() + float(np.log(sd * (axis[1] - axis[0])).sum())
    level -= log(4 * pi * value_sd**2) / 2 + log(2 * pi * bias_sd**2)
    part /= part.sum()
    assert node.log_marginal == pytest.approx(level, abs=0.05)
    for at, u in enumerate((one, two, three, four)):
        mean = float((part * u).sum())
        assert middle[at] == pytest.approx(mean, abs=0.1 * sd[at])
        assert sd[at] == pytest.approx(np.sqrt((part * np.square(u - mean)).sum()), rel=0.15)


@st.composite
def drawn_panels(draw: Callable[..., Any]) -> tuple[Panel, ScoreMap, float, float, float]:
    """Return a panel from a bounded model with many marks at the ends, and its variances."""
    shape, seed = draw(st.sampled_from(["logit", "rational"])), draw(st.integers(0, 2**31))
    scores = eh.Bounded(0.0, 100.0, shape)
    sigma, value_sd, bias_sd = draw(st.sampled_from([(5.0, 40.0, 15.0), (10.0, 50.0, 20.0), (8.0, 20.0, 5.0)]))
    options: Any = {
        "value_mean": 60.0,
        "value_sd": value_sd,
        "bias_sd": bias_sd,
        "uncertainties": (sigma,),
        "step": 5.0,
    }
    objects, assessors = draw(st.integers(3, 8)), draw(st.integers(2, 4))
    panel = eh.simulate_panel(objects, assessors, 2, seed=seed, scores=scores, **options).panel
    return replace(panel, precision=np.ones(panel.n_assessments)), scores, sigma**2, value_sd, bias_sd


@settings(max_examples=12)
@given(drawn_panels(), st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_raising_one_score_never_lowers_its_objects_value_or_rank(
    drawn: tuple[Panel, ScoreMap, float, float, float], which: int, share: float
) -> None:
    panel, scores, w, value_sd, bias_sd = drawn
    at = which % panel.n_assessments
    own, score = int(panel.object_index[at]), panel.score.copy()
    score[at] = min(100.0, score[at] + 5.0 + 5.0 * round(share * (100 - score[at]) / 5.0))
    before = answered(panel, scores, w, value_sd, bias_sd, 5.0).values
    after = answered(replace(panel, score=score), scores, w, value_sd, bias_sd, 5.0).values
    assert after[own] >= before[own] - 1e-4
    assert (after > after[own] + 1e-4).sum() <= (before > before[own] + 1e-4).sum()


@settings(max_examples=12)
@given(drawn_panels(), st.integers(0, 2**31))
def test_a_scale_upside_down_turns_values_and_biases_around(
    drawn: tuple[Panel, ScoreMap, float, float, float], seed: int
) -> None:
    panel, scores, w, value_sd, bias_sd = drawn
    node = answered(panel, scores, w, value_sd, bias_sd, 5.0)
    turned = answered(replace(panel, score=100.0 - panel.score), scores, w, value_sd, bias_sd, 5.0)
    close(turned.values, 100.0 - node.values, atol=1e-3)
    close(turned.biases, -node.biases, atol=1e-3)
    assert turned.log_marginal == pytest.approx(node.log_marginal, abs=1e-5)
    order = np.random.default_rng(seed).permutation(panel.n_assessments)
    mixed = Panel.from_arrays(panel.object_index[order], panel.assessor_index[order], panel.score[order])
    close(answered(mixed, scores, w, value_sd, bias_sd, 5.0).values, node.values, atol=1e-3)


def thirty(*given_scores: float) -> Panel:
    """Return thirty objects with two scores each, of which the first has these."""
    options: Any = {"value_mean": 60.0, "value_sd": 15.0, "bias_sd": 8.0, "uncertainties": (6.0,), "step": 1.0}
    panel = eh.simulate_panel(30, 6, 2, seed=3, scores=eh.Bounded(0.0, 100.0), **options).panel
    score = panel.score.copy()
    score[panel.object_index == 0] = given_scores
    return replace(panel, score=score)


@pytest.mark.parametrize(("lower", "higher"), [((90, 90), (100, 100)), ((60, 80), (60, 100)), ((0, 0), (10, 10))])
def test_higher_marks_make_a_higher_value_at_the_ends_too(lower: Any, higher: Any) -> None:
    fits = [refine(thirty(*pair), scores=eh.Bounded(0, 100)) for pair in (lower, higher)]
    assert fits[0].values.estimate[0] < fits[1].values.estimate[0]
    assert fits[0].values.rank[0] >= fits[1].values.rank[0]


def test_values_intervals_and_draws_stay_between_the_bounds_in_order() -> None:
    for shape in ("logit", "rational"):
        fit = refine(thirty(100, 100), scores=eh.Bounded(0, 100, shape))
        assert fit.method == f"cwc+shrunk+{shape}"
        for ends in (fit.values.estimate, fit.values.lower, fit.values.upper, fit.draw(20, seed=1)[0], fit.fitted):
            assert (ends > 0).all()
            assert (ends < 100).all()
        assert (fit.values.lower < fit.values.estimate).all()
        assert (fit.values.estimate < fit.values.upper).all()
        close(fit.residuals, fit.panel.score - fit.fitted)
        assert fit.residual == pytest.approx(float(fit.panel.precision @ np.square(fit.residuals)))


def test_far_bounds_change_nothing_but_that_scores_lie_on_a_grid() -> None:
    panel = eh.simulate_panel(20, 5, 3, seed=2).panel
    mapped, rounded = refine(panel, scores=eh.Bounded(-1e4, 1e4 + 100)), refine(panel, shrink=True, step=1.0)
    close(mapped.values.estimate, rounded.values.estimate, atol=2e-2)
    close(mapped.biases.sd, rounded.biases.sd, rtol=2e-2)


def test_a_larger_unit_changes_the_unit_and_nothing_else() -> None:
    panel = eh.simulate_panel(15, 4, 3, seed=4, bounds=(20.0, 95.0)).panel
    node = refined_of(refine(panel, scores=eh.Logarithm())).node
    larger = replace(panel, score=10 * panel.score, precision=panel.precision / 100)
    other = refined_of(refine(larger, scores=eh.Logarithm())).node
    close(other.values, 10 * node.values, rtol=1e-3)
    close(other.biases, 10 * node.biases, atol=0.05)


def test_held_out_errors_are_on_the_whole_those_of_fits_without_each_score() -> None:
    panel, scores = thirty(100, 100), eh.Bounded(0, 100)
    fit = refine(panel, scores=scores)
    node, mapped = refined_of(fit).node, Mapped.of(panel, scores)
    refitted = np.empty(panel.n_assessments)
    for at in range(panel.n_assessments):
        kept = np.arange(panel.n_assessments) != at
        rest, some = panel.restrict(kept), replace(mapped, score=panel.score[kept])
        own = settle(Work(replace(rest, score=some.at), connectivity(rest)), replace(node.setting, likelihood=some))
        object_, assessor = int(panel.object_index[at]), int(panel.assessor_index[at])
        weights = np.zeros((rest.n_objects, 1)), np.zeros((rest.n_assessors, 1))
        weights[0][object_], weights[1][assessor] = 1.0, 1.0
        mean, variance = own.values[object_] + own.biases[assessor], node.w * own.solver.contrasts(*weights)
        refitted[at] = panel.score[at] - mapped.expected(np.array([mean]), variance, panel.precision[[at]], node.w)[0]
    error = eh.influence(fit).held_out_error
    assert np.sqrt(np.square(error).mean()) == pytest.approx(np.sqrt(np.square(refitted).mean()), rel=0.05)
    assert np.corrcoef(error, refitted)[0, 1] > 0.99


def test_maps_shrink_and_say_so_and_refuse_what_has_no_meaning_there() -> None:
    assert eh.Refinements(scores=eh.Logarithm()).method == "cwc+shrunk+log"
    panel = thirty(50, 60)
    with pytest.raises(InputError, match="values need a prior too"):
        refine(panel, scores=eh.Bounded(0, 100), shrink="biases")
    with pytest.raises(InputError, match="grid that they lie on"):
        refine(panel, scores=eh.Bounded(0, 100), step=1.0)


CONTRADICTORY: dict[str, list[tuple[int, int, float]]] = {
    "marks at one end or the other": [(0, 0, 0), (0, 1, 100), (1, 0, 100), (1, 1, 0), (2, 0, 50), (2, 1, 50)],
    "little in common": [(0, 0, 100), (0, 1, 30), (1, 1, 29), (2, 0, 100), (2, 1, 99), (3, 0, 24), (3, 1, 100)],
    "half at an end": [
        *((0, 0, 8), (0, 1, 0), (0, 2, 16), (0, 3, 0), (1, 0, 31), (1, 1, 29), (1, 2, 14)),
        *((2, 0, 0), (2, 1, 0), (2, 2, 0), (3, 2, 0), (3, 3, 82)),
    ],
}


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many times least squares were solved."""
    count, fit_once = [0], reweighting._step

    def counted(*given: Any) -> Any:
        count[0] += 1
        return fit_once(*given)

    monkeypatch.setattr(reweighting, "_step", counted)
    return count


@pytest.mark.parametrize("shape", ["logit", "rational"])
@pytest.mark.parametrize("kind", CONTRADICTORY)
def test_scores_that_contradict_each_other_are_refused_after_few_fits_with_a_remedy(
    kind: str, shape: Any, fits: list[int]
) -> None:
    panel = Panel.from_arrays(*map(np.array, zip(*CONTRADICTORY[kind], strict=True)))
    with pytest.raises(SolveError, match=r"as much as marks at random would.*leave its ends out, or take"):
        refine(panel, scores=eh.Bounded(0.0, 100.0, shape))
    assert fits[0] < 2_000


def test_a_small_panel_that_agrees_has_an_answer_after_few_fits(fits: list[int]) -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [0.0, 0, 10, 10, 15, 15])
    fit = refine(panel, scores=eh.Bounded(0.0, 20.0))
    assert fit.values.estimate.argsort().tolist() == [0, 1, 2]
    assert (fit.values.lower <= fit.values.estimate).all()
    assert (fit.values.estimate <= fit.values.upper).all()
    assert fits[0] < 2_000


@pytest.mark.study
def test_bounded_models_beat_plain_shrinkage_where_many_marks_are_at_the_ends() -> None:
    """Two hundred panels of 30 objects, 8 assessors and 3 scores each."""
    scores, errors = eh.Bounded(0.0, 100.0), []
    options: Any = {"value_mean": 60.0, "value_sd": 45.0, "bias_sd": 20.0, "uncertainties": (8.0,), "step": 5.0}
    for seed in range(200):
        made = eh.simulate_panel(30, 8, 3, seed=seed, scores=scores, **options)
        try:
            fits = refine(made.panel, scores=scores), refine(made.panel, shrink=True)
        except SolveError:
            continue
        errors.append([np.sqrt(np.square(fit.values.estimate - made.values).mean()) for fit in fits])
    mapped, plain = np.array(errors).T
    assert len(errors) >= 195
    assert mapped.mean() < 0.97 * plain.mean()
    assert (mapped < plain).mean() > 0.6
