"""No certainty from nothing: half a step of the grid is the least noise, and few degrees of freedom leave none safe."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import evenhand as eh
from evenhand.answers.decision import LEAST_DEGREES
from evenhand.models.noise import EstimatedNoise, KnownNoise, NoisePrior, PriorNoise, noise_floor
from evenhand.models.refined import refine
from evenhand.panel.panel import Panel
from evenhand.reports.page import make_report
from evenhand.reports.summary import summarise_ranking

METHODS: dict[str, Callable[..., eh.Fit]] = {
    "sa": eh.simple_average,
    "cwa": eh.weighted_average,
    "iba": eh.incomplete_block,
    "cwc": eh.calibrate,
    "iba by refine": lambda panel, **options: refine(panel, power=0.0, **options),
}


def cakes() -> Panel:
    return Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [8.0, 7.0, 7.0, 6.0])


@st.composite
def agreeing(draw: st.DrawFn, *, biased: bool = True) -> Panel:
    """Draw a complete panel whose scores are values plus biases, on a grid of whole points or tenths."""
    n_objects, n_assessors = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    step = draw(st.sampled_from([1.0, 0.1]))
    values = draw(st.lists(st.integers(0, 12), min_size=n_objects, max_size=n_objects))
    biases = draw(st.lists(st.integers(0, 5 if biased else 0), min_size=n_assessors, max_size=n_assessors))
    powers = draw(st.lists(st.integers(-3, 3), min_size=n_objects * n_assessors, max_size=n_objects * n_assessors))
    o, a = np.divmod(np.arange(n_objects * n_assessors), n_assessors)
    score = np.round((np.array(values)[o] + np.array(biases)[a] + 1) * step, 6)
    return Panel.from_arrays(o, a, score, 2.0 ** np.array(powers))


def least_noise(panel: Panel, precision: Any) -> float:
    """Return the floor in plain words: a score of geometric mean confidence has half a step for its sd."""
    assert panel.step is not None
    return float((panel.step / 2) ** 2 * stats.gmean(precision))


@pytest.mark.parametrize("method", ["sa", "cwa", "iba", "cwc"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_agreement_on_a_grid_is_noise_of_half_a_step(method: str, data: st.DataObject) -> None:
    panel = data.draw(agreeing(biased=method in ("iba", "cwc")))
    fit = METHODS[method](panel)
    assert fit.residual == 0
    assert fit.noise_variance_ml == 0
    used = panel.precision if fit.model.uses_confidence else np.ones(panel.n_assessments)
    nu, floor = fit.degrees_of_freedom, least_noise(panel, used)
    assert nu > 0
    scale = np.sqrt(floor)
    if nu > 2:
        assert fit.noise_variance == pytest.approx(floor * nu / (nu - 2), rel=1e-12)
        assert fit.values.sd is not None
        assert (fit.values.sd > 0).all()
    lower, upper = fit.values.lower, fit.values.upper
    assert lower is not None
    assert upper is not None
    reach = stats.t.ppf(0.95, nu) * scale * np.sqrt(fit.posterior.unit_value_variance)
    np.testing.assert_allclose((upper - lower) / 2, reach, rtol=1e-9)
    names = list(panel.objects)
    chance = eh.pairwise(fit, [names[0]], [names[1]])[0]
    unit = fit.posterior.contrast_variances(np.eye(len(names))[:, [0]] - np.eye(len(names))[:, [1]])[0]
    away = fit.values.estimate[0] - fit.values.estimate[1]
    assert chance == pytest.approx(stats.t.cdf(away / np.sqrt(unit) / scale, nu), rel=1e-9)
    assert 0 < chance <= 1  # by a distribution without an end: 1 where no float lies between
    assert "grid" in [note.kind for note in fit.notes]


@given(panel=agreeing(), places=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_nothing_is_safe_with_too_few_degrees_of_freedom(panel: Panel, places: int) -> None:
    fit = eh.calibrate(panel)
    places = min(places, panel.n_objects)
    decision = eh.decide(eh.rank(fit, top=places, draws=400), places)
    if fit.degrees_of_freedom < LEAST_DEGREES and places < panel.n_objects:
        assert decision.inside == decision.outside == ()
        assert decision.caution is not None
        assert f"at least {LEAST_DEGREES}" in decision.caution
    if places == panel.n_objects:  # whoever is to have all places has them, whatever the scores
        assert len(decision.inside) == panel.n_objects


@given(panel=agreeing(), shift=st.integers(-50, 50))
@settings(max_examples=25, deadline=None)
def test_the_floor_moves_with_the_grid_and_not_with_the_origin(panel: Panel, shift: int) -> None:
    found = eh.calibrate(panel).posterior.noise
    step = panel.step or 1.0
    moved = Panel.from_arrays(
        panel.object_index, panel.assessor_index, np.round(panel.score + shift * step, 6), panel.precision
    )
    if moved.step == panel.step:
        assert eh.calibrate(moved).posterior.noise.quantile(0.9) == pytest.approx(found.quantile(0.9), rel=1e-12)
    tenth = Panel.from_arrays(panel.object_index, panel.assessor_index, np.round(panel.score / 10, 7), panel.precision)
    assert tenth.step == pytest.approx(step / 10)
    assert eh.calibrate(tenth).posterior.noise.quantile(0.9) == pytest.approx((found.quantile(0.9) or 0) / 10, rel=1e-9)


def test_two_cakes_and_two_judges_make_nobody_safe() -> None:
    fit = eh.calibrate(cakes())
    wanted = stats.t.cdf(1 / 0.5, 1)  # a difference of 1 with a standard deviation of half a point
    assert eh.pairwise(fit, ["0"], ["1"])[0] == pytest.approx(wanted, rel=1e-12)
    ranking = eh.rank(fit, top=1, draws=40_000, seed=1)
    assert ranking.p_top is not None
    assert ranking.p_top[0] == pytest.approx(wanted, abs=0.01)
    decision = eh.decide(ranking, 1)
    assert decision.undecided == ("0", "1")
    assert "nobody is called in or out" in str(decision)
    notes = {note["kind"]: note["message"] for note in summarise_ranking(ranking, decision)["notes"]}
    assert "half a step (0.5)" in notes["grid"]
    assert "1 degree of freedom" in notes["few_degrees"]


@pytest.mark.parametrize("interval", [0.9, 0.5])
def test_nobody_is_safe_with_two_degrees_of_freedom_however_far_apart(interval: float) -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [90.0, 91.0, 50.0, 51.0, 10.0, 12.0])
    ranking = eh.rank(eh.calibrate(panel, interval=interval), top=1, seed=1)
    assert ranking.rank_upper[0] == 1  # the interval alone would call it safe
    decision = eh.decide(ranking, 1)
    assert decision.inside == decision.outside == ()
    for top in (1, None):
        assert any("at least 3" in words for words in make_report(ranking.fit, top=top, comparison=False).decision)


def test_three_degrees_of_freedom_or_declared_noise_may_make_safe() -> None:
    score = [90.0, 91.0, 92.0, 50.0, 52.0, 51.0, 10.0, 12.0, 11.0]
    fit = eh.calibrate(Panel.from_arrays(np.repeat([0, 1, 2], 3), [0, 1, 2] * 3, score))
    assert fit.degrees_of_freedom == 4
    assert eh.decide(eh.rank(fit, top=1, seed=1), 1).inside == ("0",)
    thin = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [90.0, 91.0, 50.0, 52.0], [1.0] * 4)
    decision = eh.decide(eh.rank(eh.calibrate(thin, noise="declared"), top=1, seed=1), 1)
    assert (decision.inside, decision.caution) == (("0",), None)


def test_each_variance_that_the_scores_tell_takes_a_degree_of_freedom() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [90.0, 91.0, 50.0, 54.0])
    fit = refine(panel, shrink=True)
    assert fit.degrees_of_freedom == 3  # four scores less their mean, of which two go to spreads of values and biases
    decision = eh.decide(eh.rank(fit, top=1, seed=1), 1)
    assert decision.inside == decision.outside == ()
    assert decision.caution is not None
    assert "1 degree of freedom" in decision.caution


def test_declared_uncertainties_below_half_a_step_are_taken_as_half_a_step() -> None:
    o, a = np.divmod(np.arange(12), 3)
    panel = Panel.from_arrays(o, a, (10.0 * o + a), np.full(12, 1 / 0.1**2))
    fit = eh.calibrate(panel, noise="declared")
    wanted = eh.calibrate(Panel.from_arrays(o, a, 10.0 * o + a, np.full(12, 1 / 0.5**2)), noise="declared")
    assert fit.values.sd is not None
    assert wanted.values.sd is not None
    np.testing.assert_allclose(fit.values.sd, wanted.values.sd, rtol=1e-12)
    assert wanted.noise_variance == 1.0
    assert fit.noise_variance == pytest.approx(25.0)
    assert any("declared uncertainties are smaller" in note.message for note in fit.notes if note.kind == "grid")
    words = make_report(fit, comparison=False).method
    assert "half a step" in words
    assert "face value" not in words
    assert not any(note.kind == "grid" for note in wanted.notes)


@pytest.mark.parametrize(
    "assumed",
    [{"tails": "student"}, {"tails": "huber"}, {"shrink": True}, {"power": 0.0}, {"covariates": "order"}],
    ids=str,
)
def test_refined_models_have_the_same_floor(assumed: dict[str, Any]) -> None:
    generator = np.random.default_rng(5)
    o, a = np.divmod(np.arange(60), 6)
    score = 60 + np.round(5 * generator.normal(size=10))[o] + np.round(2 * generator.normal(size=6))[a]
    level, order = 2.0 ** generator.integers(-1, 2, 60), generator.normal(size=60)
    score += generator.random(60) < 0.2
    panel = Panel.from_arrays(o, a, score, level, covariates={"order": order})
    fit = refine(panel, **assumed)
    floor = least_noise(panel, np.ones(60) if assumed.get("power") == 0.0 else level)
    noises = [fit.posterior.noise, *(one.posterior.noise for one in fit.posterior.alternatives)]
    assert noises[0].is_lifted
    for noise in noises:
        scale = noise.quantile(float(stats.norm.cdf(1.0)))
        assert scale is not None
        assert scale >= np.sqrt(floor) * (1 - 1e-9)
    assert "grid" in [note.kind for note in fit.notes]
    assert fit.residual == pytest.approx(
        float((fit.precision if fit.precision is not None else fit.weight) @ np.square(fit.residuals))
    )


def test_rounding_that_the_likelihood_knows_is_not_counted_twice() -> None:
    o, a = np.divmod(np.arange(60), 6)
    generator = np.random.default_rng(3)
    score = np.round(50 + 4 * generator.normal(size=10)[o] + generator.normal(size=6)[a] + generator.normal(size=60))
    fit = refine(Panel.from_arrays(o, a, score), step=1.0)
    noise = fit.posterior.noise
    assert isinstance(noise, KnownNoise)
    assert noise.floor == 0


def test_the_published_noise_is_far_above_the_floor() -> None:
    noise = EstimatedNoise(5178.99, 33, 0.25)
    assert noise.variance == EstimatedNoise(5178.99, 33).variance == noise.told
    assert not noise.is_lifted


@pytest.mark.parametrize(("residual", "nu", "floor"), [(0.0, 3, 0.25), (0.3, 5, 0.25), (2.0, 5, 0.25), (0.0, 1, 1e-12)])
def test_the_noise_is_students_with_a_scale_of_at_least_the_floor(residual: float, nu: int, floor: float) -> None:
    noise, scale = EstimatedNoise(residual, nu, floor), np.sqrt(max(residual / nu, floor))
    assert noise.is_lifted == (residual / nu < floor)
    assert noise.quantile(0.95) == pytest.approx(scale * stats.t.ppf(0.95, nu), rel=1e-12)
    cdf = noise.cdf([-1.0, 0.2])
    assert cdf is not None
    np.testing.assert_allclose(cdf, stats.t.cdf(np.array([-1.0, 0.2]) / scale, nu), rtol=1e-12)
    drawn = noise.draw_scale(np.random.default_rng(1), 3)
    assert drawn is not None
    np.testing.assert_allclose(drawn, scale * np.sqrt(nu / np.random.default_rng(1).chisquare(nu, 3)), rtol=1e-12)


def test_a_prior_of_ones_own_leaves_no_noise_below_the_floor() -> None:
    prior = NoisePrior(lambda w: -0.5 * np.square((np.log(w) + 10) / 0.1))
    noise = PriorNoise(prior, 0.0, 4, 0.25)
    assert noise.is_lifted
    assert noise.told is not None
    assert noise.told < 1e-3
    assert noise.variance == pytest.approx(0.25)
    assert noise.quantile(0.95) == pytest.approx(0.5 * stats.norm.ppf(0.95), rel=1e-9)


@pytest.mark.parametrize("odd", [1e-12, 1e12])
def test_one_score_of_odd_confidence_hardly_moves_the_floor(odd: float) -> None:
    confidence = np.ones(1000)
    confidence[0] = odd
    assert noise_floor(1.0, confidence) == pytest.approx(0.25, rel=0.03)
    assert noise_floor(None, confidence) == 0
    assert noise_floor(1.0, 7.0 * confidence) == pytest.approx(7 * noise_floor(1.0, confidence), rel=1e-12)
    assert noise_floor(10.0, confidence) == pytest.approx(100 * noise_floor(1.0, confidence), rel=1e-12)


def test_a_chair_reads_that_half_a_step_was_taken() -> None:
    o, a = np.divmod(np.arange(12), 3)
    fit = eh.calibrate(Panel.from_arrays(o, a, 10.0 * o + a))
    words = make_report(fit, comparison=False).method
    assert (
        "The scores agree more closely than scores in steps of 1 can show: the noise is taken as half a step (0.5)."
        in words
    )
    assert "half a step (0.5)" in str(fit)
