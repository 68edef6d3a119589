"""The next best assessment: gains against refits and simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, owens_t

import evenhand as eh
from evenhand.answers.next_best import _misclassified_after
from evenhand.compiled import Floats
from evenhand.errors import InputError, LimitError, NotRankableError
from evenhand.panel.panel import Panel
from panels import dense_covariance, random_panel

PANEL = random_panel(41, 8, 5, 14)
FIT = eh.calibrate(PANEL)


def extended(panel: Panel, assessor: str, object_: str, precision: float) -> Panel:
    return replace(
        panel,
        object_index=np.append(panel.object_index, panel.objects.index(object_)),
        assessor_index=np.append(panel.assessor_index, panel.assessors.index(assessor)),
        score=np.append(panel.score, 0.0),
        precision=np.append(panel.precision, precision),
    )


def mean_variance(panel: Panel) -> float:
    covariance = dense_covariance(panel, "zero_sum")[: panel.n_objects, : panel.n_objects]
    centre = np.eye(panel.n_objects) - 1 / panel.n_objects
    return float(np.trace(centre @ covariance @ centre)) / panel.n_objects


def test_the_fall_in_variance_is_that_of_a_refit_with_the_assessment_added() -> None:
    found = eh.next_best(FIT, confidence=2.5, most=1000, together=False)
    assert found.then is None
    assert len(found.gain) == PANEL.n_objects * PANEL.n_assessors - PANEL.n_assessments
    assert FIT.noise_variance is not None
    assert found.now == pytest.approx(FIT.noise_variance * mean_variance(PANEL))
    for assessor, object_, gain in zip(found.assessor, found.object, found.gain, strict=True):
        after = FIT.noise_variance * mean_variance(extended(PANEL, assessor, object_, 2.5))
        assert found.now - after == pytest.approx(gain, rel=1e-8)
    assert (np.diff(found.gain) <= 0).all()


def test_the_gains_of_a_set_are_those_of_refits_with_one_after_the_other_added() -> None:
    found = eh.next_best(FIT, confidence=2.5, most=6)
    panel, level = PANEL, found.now
    assert FIT.noise_variance is not None
    for assessor, object_, gain in zip(found.assessor, found.object, found.gain, strict=True):
        panel = extended(panel, assessor, object_, 2.5)
        after = FIT.noise_variance * mean_variance(panel)
        assert level - after == pytest.approx(gain, rel=1e-8)
        level = after
    assert found.then == pytest.approx(level)


def level_of(panel: Panel, top: int | None) -> float:
    """Return the mean variance of values, or how many are expected on the wrong side, by dense algebra."""
    noise, centre = FIT.noise_variance or np.nan, np.eye(panel.n_objects) - 1 / panel.n_objects

    def variances(one: Panel) -> Floats:
        found = dense_covariance(one, "zero_sum")[: panel.n_objects, : panel.n_objects]
        return np.asarray(noise * np.diagonal(centre @ found @ centre), dtype=np.float64)

    after, before = variances(panel), variances(PANEL)
    if top is None:
        return float(after.mean())
    ordered = np.sort(FIT.values.estimate)[::-1]
    distance = (FIT.values.estimate - (ordered[top - 1] + ordered[top]) / 2) / np.sqrt(before)
    return float((2 * owens_t(distance, np.sqrt(after / np.maximum(before - after, 1e-12)))).sum())


@pytest.mark.parametrize("top", [None, 3])
def test_each_of_a_set_is_the_best_that_is_left_and_an_object_comes_again_only_where_that_pays(top: int | None) -> None:
    found = eh.next_best(FIT, top=top, confidence=1.5, most=9)
    done = set(zip(PANEL.assessor_index.tolist(), PANEL.object_index.tolist(), strict=True))
    open_ = [
        (assessor, label)
        for a, assessor in enumerate(PANEL.assessors)
        for o, label in enumerate(PANEL.objects)
        if (a, o) not in done
    ]
    panel, taken = PANEL, list[tuple[str, str]]()
    for assessor, label, gain in zip(found.assessor, found.object, found.gain, strict=True):
        now = level_of(panel, top)
        gains = {pair: now - level_of(extended(panel, *pair, 1.5), top) for pair in open_ if pair not in taken}
        read = {one for _, one in taken}
        worth = {pair: one / 1.5 if pair[1] in read else one for pair, one in gains.items()}
        assert worth[assessor, label] == pytest.approx(max(worth.values()), rel=1e-5)
        assert gain == pytest.approx(gains[assessor, label], rel=1e-5)
        panel = extended(panel, assessor, label, 1.5)
        taken.append((assessor, label))
    assert found.object[0] != found.object[1]


def test_expected_misclassification_agrees_with_simulation() -> None:
    generator = np.random.default_rng(1)
    before = np.full(PANEL.n_objects, 9.0)
    fall = np.full((PANEL.n_objects, 1), 5.0)
    after = _misclassified_after(FIT, 3, before, fall)[:, 0]
    ordered = np.sort(FIT.values.estimate)[::-1]
    distance = FIT.values.estimate - (ordered[2] + ordered[3]) / 2
    draws = 400_000
    for index, mean in enumerate(distance.tolist()):
        new_mean = mean + np.sqrt(5.0) * generator.standard_normal(draws)
        value = new_mean + np.sqrt(4.0) * generator.standard_normal(draws)
        wrong = float(np.mean((value > 0) != (new_mean > 0)))
        assert after[index] == pytest.approx(wrong, abs=5 * np.sqrt(0.25 / draws))
    # no information: as before; full information: no error left
    nothing = _misclassified_after(FIT, 3, before, np.full((PANEL.n_objects, 1), 1e-12))[:, 0]
    np.testing.assert_allclose(nothing, ndtr(-np.abs(distance) / 3.0), atol=1e-6)
    np.testing.assert_allclose(_misclassified_after(FIT, 3, before, before[:, None])[:, 0], 0, atol=1e-12)


def test_a_decision_prefers_readings_near_the_line_and_every_gain_is_positive() -> None:
    found = eh.next_best(FIT, top=3, most=1000)
    assert found.criterion == "top 3"
    assert 0 < found.gain.max() <= found.now
    assert found.gain.min() > -1e-9
    assert 0 < found.gain.sum() <= found.now


def test_gains_do_not_depend_on_the_gauge() -> None:
    for top in (None, 3):
        one = eh.next_best(FIT, top=top, most=1000, together=False)
        anchored = eh.calibrate(PANEL, gauge=eh.Anchor(PANEL.assessors[1]))
        other = eh.next_best(anchored, top=top, most=1000, together=False)
        gains = {(a, o): g for a, o, g in zip(other.assessor, other.object, other.gain, strict=True)}
        for a, o, g in zip(one.assessor, one.object, one.gain, strict=True):
            assert gains[a, o] == pytest.approx(g, abs=1e-9)


def test_conflicts_are_left_out_and_expected_confidence_may_differ_by_pair() -> None:
    plain = eh.next_best(FIT)
    best = (plain.assessor[0], plain.object[0])
    assert best not in {
        pair
        for found in [eh.next_best(FIT, conflicts=[best], most=1000)]
        for pair in zip(found.assessor, found.object, strict=True)
    }
    last = eh.next_best(FIT, most=1000, together=False)
    worst = (last.assessor[-1], last.object[-1])
    keen = eh.next_best(FIT, confidence={worst: 1e6}, most=1000, together=False)
    place = list(zip(keen.assessor, keen.object, strict=True)).index(worst)
    assert keen.gain[place] > last.gain[-1]


def test_what_cannot_be_answered_is_said() -> None:
    with pytest.raises(NotRankableError, match="calibrated fit"):
        eh.next_best(eh.simple_average(PANEL))
    with pytest.raises(InputError, match="no line"):
        eh.next_best(FIT, top=PANEL.n_objects)
    with pytest.raises(InputError, match="names an unknown assessor") as caught:
        eh.next_best(FIT, conflicts=[("Nobody", PANEL.objects[0])])
    assert caught.value.where == "assessor Nobody"
    with pytest.raises(InputError, match="positive"):
        eh.next_best(FIT, confidence=0.0)
    with pytest.raises(NotRankableError, match="depends on the noise, and there are just enough scores"):
        eh.next_best(eh.calibrate(Panel.from_arrays([0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0])))
    with pytest.raises(LimitError, match="up to"):
        eh.next_best(eh.calibrate(eh.simulate_panel(5000, 6, seed=1).panel))
    full = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3, 3], [0, 1] * 4, [1.0, 2, 3, 5, 4, 4, 1, 0])
    assert eh.next_best(eh.calibrate(full)).assessor == ()
