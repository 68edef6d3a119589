"""Explanations: the parts add up, as they are and as they are shown, and the words say what the parts say."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.explain import MOST_PARTS, Explanation
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.words import number
from panels import Floats, connected_panels, random_panel


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
            assert part / bias == pytest.approx(told / alone), "the weights are those without it"
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
            -share * bias[panel.assessor_index[own]],
            strict=True,
        )
    )
    item = eh.explain(eh.calibrate(panel), "P32")
    assert undone == pytest.approx({"Jansen": 9.55, "Farouk": 4.79}, abs=0.05)
    assert float(share @ panel.score[own] - panel.score[own].mean()) == pytest.approx(3.8, abs=0.05)
    assert [(part.words, part.amount) for part in item.parts] == [
        ("Jansen is strict: undo −12.7, at a weight of 75.4%", 9.6),
        ("Farouk is strict: undo −19.4, at a weight of 24.6%", 4.8),
        ("Jansen was surer, so 59 counts more than 44", 3.8),
    ]
    assert [part.kind for part in item.parts] == ["strict", "strict", "confidence"]
    assert str(item) == ("+18.2: Jansen is strict (+9.6), Farouk is strict (+4.8), the surer score counts more (+3.8)")


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
