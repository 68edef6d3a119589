"""Explanations: the parts add up, as they are and as they are shown, and the words say what the parts say."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.decision import standings
from evenhand.answers.explain import MOST_PARTS, Explanation
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.reports.blocks import Object, objects_of
from evenhand.words import number
from panels import Floats, connected_panels, random_panel, refined_of


@given(panel=connected_panels(repeats=True))
def test_the_parts_add_up_to_the_difference_from_the_plain_average(panel: Panel) -> None:
    plain = eh.simple_average(panel).values.estimate
    for method in METHODS.values():
        fit = method(panel)
        for index, item in enumerate(eh.explain(fit)):
            scale = abs(panel.score).max() + 1
            parts = sum(part for _, _, part in item.standards) + item.weighting
            assert item.average == pytest.approx(plain[index], abs=1e-12 * scale)
            assert item.value == fit.values.estimate[index]
            assert item.difference == pytest.approx(item.value - item.average, abs=1e-12 * scale)
            assert parts == pytest.approx(item.difference, abs=1e-9 * scale)


def printed_units(text: str) -> int:
    """Return a printed number as a whole number of its last digit."""
    return int(text.replace(",", "").replace("−", "-").replace(".", ""))


def assert_adds_up_as_shown(item: Explanation) -> None:
    """Check what a reader would add up: the sentence, and the column from the average to the value."""
    total, _, reasons = str(item).partition(": ")
    amounts = [printed_units(one) for one in re.findall(r"\(([+−][\d,.]+)\)", reasons)]
    assert len(amounts) == len(item.parts) <= MOST_PARTS
    assert sum(amounts) == printed_units(total)
    shown = [printed_units(number(one, item.digits, in_sentence=True)) for one in (item.average, item.value)]
    if item.parts:
        assert shown[0] + sum(amounts) == shown[1]
    assert item.move == pytest.approx(item.difference, abs=1.0001 * 10.0**-item.digits)


@given(panel=connected_panels(repeats=True), power=st.integers(-12, 9), origin=st.sampled_from([0.0, 60.0]))
def test_parts_as_shown_lead_from_the_average_as_shown_to_the_value_as_shown(
    panel: Panel, power: int, origin: float
) -> None:
    scaled = replace(panel, score=panel.score * 10.0**power + origin)
    for method in METHODS.values():
        for item in eh.explain(method(scaled)):
            assert_adds_up_as_shown(item)


@given(panel=connected_panels(repeats=True))
def test_every_part_as_shown_is_within_a_unit_of_what_it_is(panel: Panel) -> None:
    for item in eh.explain(eh.calibrate(panel)):
        unit = 10.0**-item.digits
        exact: dict[str, float] = {}
        for label, _, part in item.standards:
            exact[label] = exact.get(label, 0.0) + part
        shown = {
            part.brief.partition(" is ")[0].removeprefix("assessor "): part.amount
            for part in item.parts
            if " is " in part.brief
        }
        if any("other" in part.brief for part in item.parts):
            continue
        for label, amount in exact.items():
            assert shown.get(label, 0.0) == pytest.approx(amount, abs=1.0001 * unit)
        weighed = [part.amount for part in item.parts if part.kind in ("confidence", "lone")]
        assert sum(weighed) == pytest.approx(item.weighting, abs=2.0001 * unit if len(weighed) == 2 else 1.0001 * unit)


def test_a_score_of_an_assessor_who_scored_nothing_else_explains_nothing() -> None:
    panel = random_panel(5, 6, 4)
    objects, assessors = [*panel.object_index, 2], [*panel.assessor_index, 4]
    scores = [*panel.score, float(panel.score.max()) + 30]
    for precision in (None, [*panel.precision, 4.0]):
        whole = Panel.from_arrays(objects, assessors, scores, precision)
        rest = Panel.from_arrays(objects[:-1], assessors[:-1], scores[:-1], precision and precision[:-1])
        item, without = eh.explain(eh.calibrate(whole), "2"), eh.explain(eh.calibrate(rest), "2")
        biases = eh.calibrate(whole).biases.estimate, eh.calibrate(rest).biases.estimate
        moved = float(np.mean(biases[0][:4] - biases[1]))  # of the gauge
        assert item.standards[-1][2] == 0
        for (who, bias, part), (other, alone, told) in zip(item.standards[:-1], without.standards, strict=True):
            assert who == other
            assert bias == pytest.approx(alone + moved)
            assert part / bias == pytest.approx(told / alone), "counted alike as without it"
        left = next(part for part in item.parts if part.kind == "lone")
        assert left.words == "assessor 4 scored nothing else: the score is left out"
        assert left.amount == pytest.approx(without.average - item.average, abs=0.11)
        assert sum(part for _, _, part in item.standards) + item.weighting == pytest.approx(item.difference)
    shrunk = eh.explain(eh.refine(whole, shrink=True), "2")
    assert not [part for part in shrunk.parts if part.kind == "lone"], "a prior tells of the bias"


def day_of(panel: Panel) -> Floats:
    """Return a covariate."""
    return np.random.default_rng(0).normal(size=panel.n_assessments)


def stars() -> Panel:
    """Return a panel of categories from 1 to 5."""
    panel = random_panel(3, 12, 5, 30)
    return replace(panel, score=np.clip(np.round(panel.score / 10 - 3), 1, 5))


def two_criteria() -> Panel:
    """Return a panel with two scores for each reading."""
    panel = random_panel(2)
    twice, count = np.tile(np.arange(panel.n_assessments), 2), panel.n_assessments
    noise = np.random.default_rng(2).normal(size=2 * count)
    return replace(
        panel,
        object_index=panel.object_index[twice],
        assessor_index=panel.assessor_index[twice],
        score=panel.score[twice] + noise,
        precision=panel.precision[twice],
        criterion=np.repeat(["clarity", "merit"], count),
    )


def averages_of_criteria() -> Fit:
    """Return averages of two criteria, each by its own confidences."""
    panel = two_criteria()
    sure = np.random.default_rng(0).uniform(0.2, 3.0, panel.n_assessments)
    both = eh.calibrate_criteria(replace(panel, precision=sure), by=eh.weighted_average, correlated=False)
    return both.combined


REFINED: dict[str, Callable[[], Fit]] = {
    "shrunk": lambda: eh.calibrate(eh.demo(), shrink=True),
    "student": lambda: eh.calibrate(eh.demo(), shrink=True, tails="student"),
    "huber": lambda: eh.calibrate(eh.demo(), tails="huber"),
    "rounded": lambda: eh.calibrate(eh.demo(), shrink=True, step=1.0),
    "bounded": lambda: eh.calibrate(eh.demo(), scores=eh.Bounded(0, 100)),
    "ordinal": lambda: eh.calibrate(stars(), ordinal="probit"),
    "covariates": lambda: eh.calibrate(replace(eh.demo(), covariates={"day": day_of(eh.demo())}), covariates=("day",)),
    "scaled": lambda: eh.calibrate(random_panel(1, 30, 6, 80), shrink=True, scale=True),
    "confidences": lambda: eh.calibrate(eh.demo(), calibrate_confidence=True),
    "medians": lambda: eh.median_polish(eh.demo()),
    "log": lambda: eh.calibrate(eh.demo(), scores=eh.Logarithm()),
    "averages of criteria": averages_of_criteria,
}
"""A fit for every refinement that adds a part of its own."""


@cache
def refined(name: str) -> Fit:
    """Return one of these fits."""
    return REFINED[name]()


@pytest.mark.parametrize("name", list(REFINED))
def test_parts_of_refined_models_add_up_as_shown(name: str) -> None:
    for item in eh.explain(refined(name)):
        assert_adds_up_as_shown(item)


def test_a_prior_draws_by_what_its_normal_equation_says() -> None:
    """With C_o and the prior's precision p, v = (C m + p mean)/(C + p), m the mean of scores less biases."""
    fit = refined("shrunk")
    assert fit.model.behind is not None
    node = fit.model.behind.best
    assert node.setting.value_ratio is not None
    for at, item in enumerate(eh.explain(fit)):
        confidence = float(fit.weight[fit.panel.object_index == at].sum())
        drawn = (node.mean - item.value) / node.setting.value_ratio / confidence
        assert item.drawn == pytest.approx(drawn, abs=1e-6)
        part = sum(one.amount for one in item.parts if one.kind == "prior")
        assert part == pytest.approx(drawn, abs=0.1001)


def test_a_covariate_takes_out_its_coefficient_times_its_weighted_mean() -> None:
    fit = refined("covariates")
    table = fit.model.tables["covariates"]
    assert table is not None
    day = day_of(fit.panel)
    day -= np.average(day, weights=fit.panel.precision)  # the level of all values is not the covariate's
    for at, item in enumerate(eh.explain(fit)):
        rows = fit.panel.object_index == at
        taken_out = -float(table.estimate[0]) * float(np.average(day[rows], weights=fit.weight[rows]))
        assert item.drawn == pytest.approx(taken_out, abs=1e-6)
        part = sum(one.amount for one in item.parts if one.kind == "covariates")
        assert part == pytest.approx(taken_out, abs=0.1001)


def test_the_parts_of_p32_are_those_computed_by_hand() -> None:
    """From normal equations written down here: the waterfall of the demo's object that moves most."""
    panel = eh.demo()
    count, people = panel.n_objects, panel.n_assessors
    design = np.zeros((panel.n_assessments, count + people))
    rows = np.arange(panel.n_assessments)
    design[rows, panel.object_index] = design[rows, count + panel.assessor_index] = 1.0
    weight = np.asarray(panel.precision)
    values_and_biases = np.linalg.lstsq(design * np.sqrt(weight)[:, None], panel.score * np.sqrt(weight), rcond=None)[0]
    bias = values_and_biases[count:]
    bias = bias - np.average(bias[panel.assessor_index], weights=weight)
    own = np.flatnonzero(panel.object_index == panel.objects.index("P32"))
    share = weight[own] / weight[own].sum()
    undone = dict(
        zip(
            [panel.assessors[a] for a in panel.assessor_index[own]],
            -bias[panel.assessor_index[own]] / own.size,
            strict=True,
        )
    )
    item = eh.explain(eh.calibrate(panel), "P32")
    assert undone == pytest.approx({"Jansen": 6.33, "Farouk": 9.72}, abs=0.05)
    less = panel.score[own] - bias[panel.assessor_index[own]]
    assert float(share @ less - less.mean()) == pytest.approx(2.1, abs=0.05)
    assert [(part.words, part.amount) for part in item.parts] == [
        ("Farouk is strict: undo −19.4 in 1 of 2 scores", 9.7),
        ("Jansen is strict: undo −12.7 in 1 of 2 scores", 6.4),
        ("Jansen was surer, so 71.7 counts more than 63.4", 2.1),
    ]
    assert [part.kind for part in item.parts] == ["strict", "strict", "confidence"]
    assert str(item) == ("+18.2: Farouk is strict (+9.7), Jansen is strict (+6.4), the surer score counts more (+2.1)")


def test_the_sentence_names_strict_and_generous_assessors_with_what_they_contribute() -> None:
    panel = Panel.from_arrays(
        [0, 0, 1, 1, 2, 2, 0, 1],
        [0, 1, 0, 1, 2, 0, 2, 2],
        [50.0, 70.0, 40.0, 60.0, 55.0, 45.0, 60.0, 50.0],
        objects=["X", "Y", "Z"],
        assessors=["Stern", "Kind", "Middling"],
    )
    by_object = {item.object: str(item) for item in eh.explain(eh.calibrate(panel, gauge=eh.Anchor("Middling")))}
    assert by_object == {
        "X": "0.0: Stern is strict (+3.3), Kind is generous (−3.3)",
        "Y": "0.0: Stern is strict (+3.3), Kind is generous (−3.3)",
        "Z": "+5.0: Stern is strict (+5.0)",
    }


def test_small_standards_of_many_assessors_are_taken_together() -> None:
    panel = random_panel(5, 6, 12, 50)
    for item in eh.explain(eh.calibrate(panel)):
        who = {label for label, _, _ in item.standards}
        assert len(item.parts) <= MOST_PARTS
        if len(who) >= MOST_PARTS:
            named = [part for part in item.parts if " is " in part.brief]
            others = next(part for part in item.parts if "other assessor" in part.brief)
            assert others.brief == f"{len(who) - len(named)} other assessors"
            smallest = min(abs(part.amount) for part in named)
            left = [part for label, _, part in item.standards if all(f"{label} is" not in one.brief for one in named)]
            assert max(map(abs, left)) <= smallest + 0.1
            assert others.amount == pytest.approx(sum(left), abs=0.1001)


def test_averages_have_nothing_to_undo() -> None:
    panel = Panel.from_arrays([0, 0], [0, 1], [1.0, 2.0], [1.0, 9.0])
    assert str(eh.explain(eh.simple_average(panel))[0]) == "0.00: nothing to undo"
    weighted = eh.explain(eh.weighted_average(panel))[0]
    assert str(weighted) == "+0.40: the surer score counts more (+0.40)"
    assert weighted.parts[0].words == "assessor 1 was surer, so 2 counts more than 1"


def stretched() -> Panel:
    """Return a panel of assessors who spread their scores over half or twice what others do."""
    panel = random_panel(1, 30, 6, 80)
    stretch = np.array([0.5, 2.0, 1.0, 1.4, 0.7, 1.0])[panel.assessor_index]
    return replace(panel, score=60 + stretch * (panel.score - 60))


def with_day(panel: Panel) -> Panel:
    """Return a panel with a covariate."""
    return replace(panel, covariates={"day": day_of(panel)})


def outlying(seed: int) -> Panel:
    """Return a panel of which every eighth score is far off, some by an assessor who scored nothing else."""
    panel = random_panel(seed, 14, 6, 30)
    off = np.random.default_rng(seed).choice([-30.0, 30.0], panel.n_assessments)
    return replace(
        panel, score=np.where(np.arange(panel.n_assessments) % 8 == seed % 8, panel.score + off, panel.score)
    )


MEANS: dict[str, Callable[[], Fit]] = {
    **{name: partial(method, eh.demo()) for name, method in METHODS.items()},
    **{name: REFINED[name] for name in ("shrunk", "student", "huber", "rounded", "covariates", "confidences")},
    "biases": lambda: eh.calibrate(eh.demo(), shrink="biases"),
    "power": lambda: eh.calibrate(eh.demo(), shrink=True, power="estimated"),
    "student alone": lambda: eh.calibrate(eh.demo(), tails="student"),
    "scaled": lambda: eh.calibrate(stretched(), shrink=True, scale=True),
    "scaled student": lambda: eh.calibrate(stretched(), shrink=True, scale=True, tails="student", freedom=4.0),
    "everything": lambda: eh.calibrate(
        with_day(eh.demo()), covariates=("day",), shrink=True, tails="student", freedom=4.0, calibrate_confidence=True
    ),
    **{f"student {seed}": partial(eh.calibrate, outlying(seed), shrink=True, tails="student") for seed in range(4)},
    **{f"huber {seed}": partial(eh.calibrate, outlying(seed), tails="huber") for seed in range(4)},
    **{f"plain {seed}": partial(eh.calibrate, outlying(seed)) for seed in range(4)},
    "criteria": lambda: eh.calibrate_criteria(two_criteria()).combined,
}
"""Fits whose values come from weighted means of scores less biases."""


@cache
def fit_of(name: str) -> Fit:
    """Return one of these fits."""
    return MEANS[name]()


def cards(fit: Fit) -> list[Object]:
    """Return what pages say of the objects, in the order of the panel."""
    found = {one.standing.object: one for one in objects_of(fit, standings(fit), None)}
    return [found[label] for label in fit.panel.objects]


def density(fit: Fit, residual: Floats) -> Floats:
    """Return the density of residuals in standard deviations, as each model of the noise is written in a book."""
    node = refined_of(fit).node
    unit = np.sqrt(node.w / node.precision)[:, None]
    if "student" in fit.method:
        return np.asarray(scipy.stats.t.pdf(residual / unit, refined_of(fit).node.setting.likelihood.freedom))
    if "huber" in fit.method:
        size, bend = np.abs(residual / unit), refined_of(fit).node.setting.likelihood.bend
        return np.asarray(np.exp(-np.where(size <= bend, size**2 / 2, bend * size - bend**2 / 2)))
    if "rounded" in fit.method:
        half = refined_of(fit).step / 2
        norm = scipy.stats.norm
        return np.asarray(norm.cdf((residual + half) / unit) - norm.cdf((residual - half) / unit))
    return np.asarray(scipy.stats.norm.pdf(residual / unit))


def final_weights(fit: Fit) -> Floats:
    """Return the weights of a fit from full matrices and sums over a grid: of each score its pull over its residual.

    The last fit without a score's own site says what the others expect of it; times the density of the noise that is
    what is known with it, and by so much as its mean moved, in units of the variance without it, the score pulls.
    """
    panel = fit.panel
    if fit.model.is_plain:
        return np.asarray(panel.precision if fit.model.uses_confidence else np.ones(panel.n_assessments))
    node, work = refined_of(fit).node, refined_of(fit).search.work
    stretch = np.exp(node.log_scale)[panel.assessor_index]
    factor = node.noise_factor[panel.assessor_index]
    precision = panel.precision**node.setting.power / factor
    assert node.precision / precision == pytest.approx(np.ones(precision.size) * node.precision[0] / precision[0])
    if node.setting.likelihood.is_normal:
        return np.asarray(precision * stretch)
    count, people, rows = panel.n_objects, panel.n_assessors, np.arange(panel.n_assessments)
    further = np.zeros((rows.size, 0)) if work.columns is None else work.columns.toarray()
    design = np.hstack([np.zeros((rows.size, count + people)), further])
    design[rows, panel.object_index], design[rows, count + panel.assessor_index] = stretch, 1.0
    if node.setting.scale_ratio is not None:
        tilt = np.zeros((rows.size, people))
        tilt[rows, panel.assessor_index] = stretch * (node.values[panel.object_index] - work.centre)
        design = np.hstack([design, tilt])
    prior = np.zeros((design.shape[1],) * 2)
    if node.setting.value_ratio is not None:
        prior[:count, :count] = (np.eye(count) - 1 / count) / node.setting.value_ratio
    if node.setting.bias_ratio is not None:
        prior[count : count + people, count : count + people] = np.eye(people) / node.setting.bias_ratio
    if node.setting.scale_ratio is not None:
        prior[-people:, -people:] = np.eye(people) / node.setting.scale_ratio
    covariance = np.linalg.pinv(design.T @ (node.weight[:, None] * design) + prior, hermitian=True)
    variance = node.w * np.einsum("ij,jk,ik->i", design, covariance, design)
    is_bridge = variance * node.weight / node.w > 1 - 1e-6  # nothing else checks it, and its residual is none
    without = 1 / (1 / variance - np.where(is_bridge, 0.5, 1.0) * node.weight / node.w)
    mean = without * (node.residuals / variance + node.weight / node.w * node.aim)
    grid = mean[:, None] + np.sqrt(without)[:, None] * np.linspace(-12, 12, 8_001)
    known = np.exp(-np.square(grid - mean[:, None]) / (2 * without[:, None])) * density(fit, grid)
    after = (known * grid).sum(axis=1) / known.sum(axis=1)
    pull = node.w * (mean - after) / without
    return np.asarray(np.where(is_bridge, node.weight, pull / np.where(is_bridge, 1.0, after)) * stretch)


def as_shown(amount: float, digits: int) -> int:
    """Return an amount as a whole number of the last digit that is printed."""
    return printed_units(number(amount, digits, in_sentence=True))


@pytest.mark.parametrize("name", list(MEANS))
def test_the_table_of_scores_and_the_parts_of_a_move_meet_in_one_weighted_mean(name: str) -> None:
    fit = fit_of(name)
    panel, weight = fit.panel, final_weights(fit)
    node = None if fit.model.is_plain else refined_of(fit).node
    has_free_biases = fit.is_calibrated and (node is None or node.setting.bias_ratio is None)
    lone = (panel.assessor_assessments == 1)[panel.assessor_index] & has_free_biases
    for at, (card, item) in enumerate(zip(cards(fit), eh.explain(fit), strict=True)):
        rows = np.flatnonzero(panel.object_index == at)
        own = np.where(lone[rows] & ~lone[rows].all(), 0.0, weight[rows])
        assert [score.share for score in card.scores] == pytest.approx(own / own.sum(), abs=2e-3)
        less = panel.score[rows] - fit.biases.estimate[panel.assessor_index[rows]] * fit.is_calibrated
        mean = float(own @ less / own.sum())
        assert card.mean == pytest.approx(mean, abs=2e-3 * float(np.ptp(panel.score)))
        after = [part for part in item.parts if part.kind in ("covariates", "scales", "prior")]
        assert item.parts[len(item.parts) - len(after) :] == tuple(after), "what follows on the mean comes last"
        before = item.parts[: len(item.parts) - len(after)]
        unit, reached = 10**item.digits, as_shown(card.mean or 0.0, item.digits)
        if item.parts:
            led = as_shown(item.average, item.digits) + round(unit * sum(part.amount for part in before))
            assert led == reached, "(a)"
            assert reached + round(unit * sum(part.amount for part in after)) == as_shown(item.value, item.digits), (
                "(b)"
            )
        if node is not None and node.setting.value_ratio is not None:
            pulled = (node.mean - item.value) / node.setting.value_ratio / weight[rows].sum()
            told = sum(part.amount for part in after if part.kind == "prior")
            assert told == pytest.approx(pulled, abs=1.1 / unit + 2e-3 * abs(pulled))


@pytest.mark.parametrize("name", list(MEANS))
def test_what_is_said_of_confidence_is_true_of_the_weights_in_the_table(name: str) -> None:
    fit = fit_of(name)
    before = fit.panel.precision
    if not fit.model.is_plain:
        node = refined_of(fit).node
        before = node.precision * np.exp(node.log_scale)[fit.panel.assessor_index]
    for card, item in zip(cards(fit), eh.explain(fit), strict=True):
        told = next((part.words for part in item.parts if part.kind == "confidence"), "")
        counting = [score for score in card.scores if score.counts]
        if found := re.search(r"(\S+) (?:was|counts as) surer, so (\S+) counts more than", told):
            heavy, light = sorted(counting, key=lambda score: -(score.share or 0.0))
            assert (heavy.share or 0.0) > (light.share or 0.0)
            assert heavy.assessor == found[1]
            less = heavy.less if fit.is_calibrated else heavy.score
            assert float(found[2].replace("−", "-")) == pytest.approx(less, abs=10.0**-item.digits / 2 + 1e-9)
        elif told == "surer scores count more":
            rows = np.flatnonzero(fit.panel.object_index == fit.panel.objects.index(item.object))
            share = np.array([score.share for score in card.scores])[[score.counts for score in card.scores]]
            sure = before[rows][[score.counts for score in card.scores]]
            assert not ((sure[:, None] > sure + 1e-9) & (share[:, None] < share - 1e-9)).any()


def test_an_outlying_score_that_is_sure_may_count_less_and_no_sentence_says_otherwise() -> None:
    """Of two scores the surer is far off what its assessor and its object call for."""
    panel = random_panel(0, 10, 4, 20)
    two = next(at for at in range(10) if panel.object_assessments[at] == 2)
    first, second = np.flatnonzero(panel.object_index == two)
    precision, score = np.ones(panel.n_assessments), np.array(panel.score)
    precision[first], score[first] = 1.3, score[first] + 60
    fit = eh.calibrate(replace(panel, precision=precision, score=score), shrink=True, tails="student", freedom=2.0)
    item, card = eh.explain(fit)[two], cards(fit)[two]
    shares = [score.share or 0.0 for score in card.scores]
    assert shares[0] < shares[1]
    part = next(part for part in item.parts if part.kind == "confidence")
    bias = fit.biases.estimate[panel.assessor_index]
    less = [number(score[at] - float(f"{bias[at]:.1f}"), 1) for at in (first, second)]
    assert part.words == f"by confidence alone {less[0]} would count more than {less[1]}"
    assert part.brief == "one score was surer"
    tails = next(part for part in item.parts if part.kind == "noise")
    assert (tails.words, tails.short) == ("outlying scores count less", "outliers")


@pytest.mark.parametrize("name", ["bounded", "log", "ordinal", "medians", "averages of criteria"])
def test_values_that_are_no_weighted_means_come_with_no_weights(name: str) -> None:
    fit = refined(name)
    for card, item in zip(cards(fit), eh.explain(fit), strict=True):
        assert card.weights == []
        assert card.mean is None
        assert item.weights is None
        assert item.mean is None
        assert_adds_up_as_shown(item)
        assert not [part for part in item.parts if "weight of" in part.words or "counts more" in part.words]
        assert all(part.short != "the method" for part in item.parts)


def test_the_cards_of_p23_and_p05_with_heavy_tails_add_up() -> None:
    """The parts lead from the plain average to the mean in the table, and from there to the value."""
    fit = refined("student")
    found = {card.standing.object: card for card in cards(fit)}
    for label, weights, mean, parts in (
        ("P23", ["59.1%", "40.9%"], 79.4, [-6.6, 5.4, 4.6, -3.0, -5.4]),
        ("P05", ["73.2%", "26.8%"], 76.7, [8.7, 1.0, -1.1, 0.1, -1.4]),
    ):
        card = found[label]
        assert card.weights == weights
        assert card.mean == pytest.approx(mean, abs=0.05)
        assert card.explanation is not None
        assert [part.amount for part in card.explanation.parts] == parts
        shorts = [part.short for part in card.explanation.parts[2:]]
        assert shorts == ["confidence", "outliers", "pulled towards the mean"]
