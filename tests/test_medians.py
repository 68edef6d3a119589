"""Weighted median polish: against every vertex of small panels, an independent programme, and what medians promise."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import evenhand as eh
from evenhand.answers.heldout import leverages
from evenhand.answers.influence import score_sensitivity
from evenhand.errors import InputError, NotConnectedError, NotRankableError, SolveError
from evenhand.models import medians
from evenhand.models.fit import Fit
from evenhand.models.medians import Polished, median_polish, polish, weighted_medians
from evenhand.models.noise import Noise
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from panels import Floats, connected_panels, gauges_for, medians_of, panel_of, random_panel

STUCK = [[2.0, 4.0, 2.0], [3.0, 1.0, 2.0], [1.0, 1.0, 0.0]]
"""Medians of rows and columns in turn come to rest at a sum of 5, and 4 can be had."""


def kinds(fit: Fit) -> list[str]:
    return [note.kind for note in fit.notes]


def message(fit: Fit, kind: str) -> str:
    return next(note.message for note in fit.notes if note.kind == kind)


def table_panel(table: list[list[float]]) -> Panel:
    pairs = [(o, a) for o in range(len(table)) for a in range(len(table[0]))]
    return panel_of(pairs, [table[o][a] for o, a in pairs])


def polished(panel: Panel) -> Polished:
    return polish(panel, connectivity(panel))


def sum_of(panel: Panel, values: Floats, biases: Floats) -> float:
    left = panel.score - values[panel.object_index] - biases[panel.assessor_index]
    return float(np.sqrt(panel.precision) @ np.abs(left))


def least_by_trees(panel: Panel) -> float:
    """Return the least sum by trying every spanning tree of scores that are met exactly, in fractions."""
    size = panel.n_objects + panel.n_assessors
    edges = list(zip(panel.object_index.tolist(), (panel.n_objects + panel.assessor_index).tolist(), strict=True))
    scores = [Fraction(score) for score in panel.score.tolist()]
    weights = [Fraction(float(np.sqrt(c))) for c in panel.precision.tolist()]
    least: Fraction | None = None
    for tree in combinations(range(len(edges)), size - 1):
        at: dict[int, Fraction] = {panel.n_objects: Fraction(0)}
        for _ in range(size):
            for i in tree:
                one, two = edges[i]
                if (one in at) != (two in at):
                    known, other = (one, two) if one in at else (two, one)
                    at[other] = scores[i] - at[known]
        if len(at) < size:
            continue
        terms = [w * abs(s - at[o] - at[a]) for (o, a), s, w in zip(edges, scores, weights, strict=True)]
        total = sum(terms, Fraction(0))
        least = total if least is None or total < least else least
    assert least is not None
    return float(least)


def least_by_programme(panel: Panel) -> float:
    """Return the least sum by a programme in values, biases and sizes t >= +-(s - v - b)."""
    count, size = panel.n_assessments, panel.n_objects + panel.n_assessors
    rows = np.arange(count)
    fitted = sp.coo_array(
        (np.ones(2 * count), (np.tile(rows, 2), np.r_[panel.object_index, panel.n_objects + panel.assessor_index])),
        shape=(count, size),
    )
    one = sp.eye_array(count)
    above = sp.hstack([-fitted, -one])
    below = sp.hstack([fitted, -one])
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrix
        np.r_[np.zeros(size), np.sqrt(panel.precision)],
        A_ub=sp.csr_array(sp.vstack([above, below])),
        b_ub=np.r_[-panel.score, panel.score],
        bounds=[(None, None)] * size + [(0, None)] * count,
        method="highs-ipm",
    )
    assert found.status == 0
    return float(found.fun)


def plain_polish(panel: Panel, rounds: int = 50) -> tuple[Floats, Floats]:
    """Return Tukey's median polish of a panel with equal confidences, by compiled."""
    values, biases = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
    for _ in range(rounds):
        for o in range(panel.n_objects):
            at = panel.object_index == o
            values[o] = np.median(panel.score[at] - biases[panel.assessor_index[at]])
        for a in range(panel.n_assessors):
            at = panel.assessor_index == a
            biases[a] = np.median(panel.score[at] - values[panel.object_index[at]])
    return values, biases


# medians of groups


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=25))
def test_a_weighted_median_is_the_middle_of_all_that_minimise(rows: list[tuple[int, int, int]]) -> None:
    codes = sorted({group for _, _, group in rows})
    group = np.array([codes.index(g) for _, _, g in rows])
    score, weight = np.array([float(s) for s, _, _ in rows]), np.array([float(w) for _, w, _ in rows])
    found = weighted_medians(score, weight, group, len(codes))
    for g in range(len(codes)):
        repeated = np.repeat(score[group == g], weight[group == g].astype(int))
        assert found[g] == np.median(repeated)


@pytest.mark.parametrize("unit", [1e-9, 0.1, 1 / 3, 1e12])
def test_halves_that_are_equal_but_for_rounding_give_the_midpoint(unit: float) -> None:
    weight = unit * np.array([0.1, 0.2, 0.3, 0.1, 0.5])
    found = weighted_medians(np.array([1.0, 2.0, 5.0, 0.0, 7.0]), weight, np.array([0, 0, 0, 1, 1]), 2)
    assert found.tolist() == [3.5, 7.0]


def test_the_medians_of_many_groups_are_as_sharp_as_those_of_one() -> None:
    generator = np.random.default_rng(5)
    group = np.repeat(np.arange(50_000), 4)
    score, weight = generator.permutation(group.size).astype(float), np.tile([0.1, 0.2, 0.3, 0.6], 50_000)
    found = weighted_medians(score, weight, group, 50_000)
    for g in range(0, 50_000, 997):
        at = slice(4 * g, 4 * g + 4)
        candidates = [weight[at] @ np.abs(score[at] - middle) for middle in score[at]]
        assert weight[at] @ np.abs(score[at] - found[g]) == pytest.approx(min(candidates), rel=1e-12)


# the least sum


@given(connected_panels(most=3, repeats=True))
def test_the_sum_is_the_least_over_all_spanning_trees(panel: Panel) -> None:
    found, least = polished(panel), least_by_trees(panel)
    assert found.criterion == pytest.approx(least, rel=1e-12, abs=1e-11)
    assert found.bound <= least * (1 + 1e-12) + 1e-11
    assert found.bound == pytest.approx(least, rel=1e-9, abs=1e-11)


@given(connected_panels(most=3, repeats=True, whole=True))
def test_whole_scores_with_many_ties_reach_the_least_sum_too(panel: Panel) -> None:
    equal = Panel.from_arrays(panel.object_index, panel.assessor_index, np.round(panel.score / 20))
    assert polished(equal).criterion == pytest.approx(least_by_trees(equal), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("decades", [8.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_very_unequal_confidences_reach_the_least_sum(decades: float, seed: int) -> None:
    panel = random_panel(seed, 4, 3, 4, decades=decades)
    found = polished(panel)
    assert found.criterion == pytest.approx(least_by_trees(panel), rel=1e-9)
    assert found.bound == pytest.approx(found.criterion, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_an_independent_programme_finds_the_same_sum(seed: int) -> None:
    panel = random_panel(seed, 60, 20, 150)
    found = median_polish(panel)
    assert medians_of(found).criterion == pytest.approx(least_by_programme(panel), rel=1e-9)
    assert medians_of(found).criterion == pytest.approx(sum_of(panel, found.values.estimate, found.biases.estimate))
    assert medians_of(found).is_exact


def test_medians_in_turn_can_stick_where_the_programme_does_not() -> None:
    panel = table_panel(STUCK)
    assert least_by_trees(panel) == 4.0
    assert sum_of(panel, *plain_polish(panel)) == 5.0
    fit = median_polish(panel)
    assert medians_of(fit).criterion == 4.0
    assert medians_of(fit).bound == pytest.approx(4.0)


@given(connected_panels(most=5, repeats=True), st.sampled_from([0, medians.MOST]))
def test_the_forces_prove_the_bound(panel: Panel, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(medians, "MOST", most)
        found = polished(panel)
    least = least_by_programme(panel)
    assert found.bound <= least + 1e-7
    assert least <= found.criterion + 1e-7
    assert found.criterion == pytest.approx(sum_of(panel, found.values, found.biases), rel=1e-9, abs=1e-9)


@given(connected_panels(most=4, repeats=True), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
def test_no_forces_whatever_prove_more_than_is_true(panel: Panel, size: float, seed: int) -> None:
    found = polished(panel)
    task = medians._Task(
        panel.object_index.astype(np.intp),
        panel.assessor_index.astype(np.intp),
        panel.score,
        np.sqrt(panel.precision),
        panel.n_objects,
        panel.n_assessors,
        1.0,
    )
    # towards the residuals, which is where forces that are too large or do not balance would prove too much
    force = size * (np.sign(found.residuals) + np.random.default_rng(seed).random(panel.n_assessments))
    total, bound = medians._certified(task, connectivity(panel), found.values + 3.0, found.biases, force)
    assert total == pytest.approx(sum_of(panel, found.values + 3.0, found.biases))
    assert bound <= found.criterion + 1e-9


@given(connected_panels(most=5, repeats=True, whole=True))
def test_no_single_value_or_bias_can_be_bettered(panel: Panel) -> None:
    found = polished(panel)
    least = found.criterion * (1 - 1e-12) - 1e-11
    for step in (-1.0, 0.01, 5.0):
        for at in range(panel.n_objects):
            moved = found.values.copy()
            moved[at] += step
            assert sum_of(panel, moved, found.biases) >= least
        for at in range(panel.n_assessors):
            moved = found.biases.copy()
            moved[at] += step
            assert sum_of(panel, found.values, moved) >= least


def test_a_panel_too_large_for_the_programme_comes_close_and_says_how_close(monkeypatch: pytest.MonkeyPatch) -> None:
    for panel in (random_panel(3, 300, 40, 900), table_panel(STUCK)):
        least = least_by_programme(panel)
        monkeypatch.setattr(medians, "MOST", 0)
        fit = median_polish(panel)
        assert medians_of(fit).bound <= least * (1 + 1e-9)
        assert least <= medians_of(fit).criterion * (1 + 1e-9)
        assert medians_of(fit).criterion <= least * 1.005
        assert 0 < medians_of(fit).gap < 0.02
        assert not medians_of(fit).is_exact
        assert f"by more than {100 * medians_of(fit).gap:.2g}%" in message(fit, "medians")


def test_a_programme_that_fails_leaves_the_medians_with_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = random_panel(3, 60, 20, 150)
    least = polished(panel).criterion
    monkeypatch.setattr(medians, "_programme", lambda task, biases: None)
    found = polished(panel)
    assert not found.is_programmed
    assert found.bound <= least <= found.criterion <= 1.01 * least


def test_a_wrong_answer_of_the_programme_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = random_panel(3, 60, 20, 150)
    least = polished(panel).criterion
    wrong = np.linspace(-30.0, 30.0, panel.n_assessors)
    monkeypatch.setattr(
        medians, "_programme", lambda task, biases: (wrong, np.sign(task.residuals(wrong[:1].repeat(60), wrong)) * 9)
    )
    found = polished(panel)
    assert not found.is_programmed
    assert found.bound <= least <= found.criterion <= 1.01 * least


def test_medians_that_do_not_come_to_rest_give_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medians, "MOST", 0)
    monkeypatch.setattr(medians, "_ROUNDS", 1)
    with pytest.raises(SolveError, match="not come to rest"):
        median_polish(random_panel(1))


# what medians promise


def test_a_wild_score_on_the_side_where_it_was_moves_nothing() -> None:
    panel = random_panel(7, 30, 12, 150)
    before = median_polish(panel, gauge="zero_sum")
    for at in (int(np.argmax(before.residuals)), int(np.argmin(before.residuals))):
        score = panel.score.copy()
        score[at] = np.sign(before.residuals[at]) * 1e6
        wild = Panel.from_arrays(panel.object_index, panel.assessor_index, score, panel.precision)
        after = median_polish(wild, gauge="zero_sum")
        np.testing.assert_allclose(after.values.estimate, before.values.estimate, atol=1e-9)
        np.testing.assert_allclose(after.biases.estimate, before.biases.estimate, atol=1e-9)
        assert medians_of(after).outlying[0] == at


@pytest.mark.parametrize("size", [1e6, -1e15])
def test_no_single_wild_score_moves_the_other_objects_far(size: float) -> None:
    panel = random_panel(7, 20, 10, 120, decades=0.5)
    before = median_polish(panel, gauge="zero_sum").values.estimate
    for at in range(0, panel.n_assessments, 7):
        score = panel.score.copy()
        score[at] = size
        wild = Panel.from_arrays(panel.object_index, panel.assessor_index, score, panel.precision)
        after = median_polish(wild, gauge="zero_sum").values.estimate
        others = np.arange(panel.n_objects) != panel.object_index[at]
        assert np.abs(after - before)[others].max() < 10.0  # the noise has a standard deviation of 10


@given(connected_panels(repeats=True))
def test_gauges_shift_values_and_biases_and_leave_the_residuals(panel: Panel) -> None:
    first = median_polish(panel)
    for gauge in gauges_for(panel):
        fit, least_squares = median_polish(panel, gauge=gauge), eh.calibrate(panel, gauge=gauge)
        assert np.ptp(fit.values.estimate - first.values.estimate) <= 1e-10
        assert np.ptp(fit.biases.estimate - first.biases.estimate) <= 1e-10
        np.testing.assert_array_equal(fit.residuals, first.residuals)
        condition = least_squares.posterior.condition
        assert condition is not None
        assert np.abs(condition.shift(fit.values.estimate, fit.biases.estimate)).max() <= 1e-9


@given(connected_panels(repeats=True), st.data())
def test_the_order_of_the_rows_changes_nothing(panel: Panel, data: st.DataObject) -> None:
    whole = np.round(panel.score / 20)  # so that many values and biases share the least sum
    rows = np.array(data.draw(st.permutations(range(panel.n_assessments))))

    def fit_of(order: Any) -> Fit:
        frame = {
            "object": [f"o{i}" for i in panel.object_index[order].tolist()],
            "assessor": [f"a{i}" for i in panel.assessor_index[order].tolist()],
        }
        labels = {side: list(dict.fromkeys(cells)) for side, cells in frame.items()}
        codes = {side: [labels[side].index(cell) for cell in cells] for side, cells in frame.items()}
        return median_polish(
            Panel.from_arrays(
                codes["object"],
                codes["assessor"],
                whole[order],
                objects=labels["object"],
                assessors=labels["assessor"],
            ),
            gauge="zero_sum",
        )

    one, other = fit_of(np.arange(rows.size)), fit_of(rows)
    found = dict(zip(other.values.labels, other.values.estimate.tolist(), strict=True))
    assert [found[label] for label in one.values.labels] == pytest.approx(one.values.estimate.tolist(), abs=1e-11)
    assert other.residuals.tolist() == one.residuals[rows].tolist()


def test_objects_with_the_same_scores_by_the_same_assessors_get_the_same_value() -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        table = generator.integers(0, 5, (6, 5)).astype(float).tolist()
        table[4] = table[1]
        values = median_polish(table_panel(table)).values
        assert values.estimate[4] == values.estimate[1]
        assert values.rank[4] == values.rank[1]


@given(connected_panels(repeats=True), st.sampled_from([1e-12, 0.3, 7.0, 1e12]))
def test_rescaling_confidences_scales_the_sum_by_its_root(panel: Panel, factor: float) -> None:
    scaled = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, panel.precision * factor)
    before, after = median_polish(panel), median_polish(scaled)
    assert medians_of(after).criterion == pytest.approx(
        medians_of(before).criterion * np.sqrt(factor), rel=1e-9, abs=1e-15
    )
    assert medians_of(after).gap <= 1e-9


@given(connected_panels(most=4), st.data())
def test_a_score_with_the_square_of_a_whole_confidence_counts_as_so_many_scores(
    panel: Panel, data: st.DataObject
) -> None:
    count = panel.n_assessments
    times = np.array(data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)))
    codes = panel.object_index, panel.assessor_index, panel.score
    once = median_polish(Panel.from_arrays(*codes, times.astype(float) ** 2))
    repeated = median_polish(Panel.from_arrays(*[np.repeat(cells, times) for cells in codes]))
    assert repeated.panel.n_assessments == times.sum()
    assert repeated.residuals.size == times.sum()
    assert medians_of(once).criterion == pytest.approx(medians_of(repeated).criterion, rel=1e-10, abs=1e-10)


@given(connected_panels(repeats=True), st.integers(-50, 50))
def test_scores_that_agree_are_given_back_and_nothing_is_outlying(panel: Panel, step: int) -> None:
    values, biases = step * np.arange(panel.n_objects) / 7, 3.1 * np.arange(panel.n_assessors)
    score = values[panel.object_index] + biases[panel.assessor_index]
    fit = median_polish(
        Panel.from_arrays(panel.object_index, panel.assessor_index, score), gauge=eh.Anchor(assessor="0")
    )
    np.testing.assert_allclose(fit.values.estimate, values, atol=1e-10)
    np.testing.assert_allclose(fit.biases.estimate, biases, atol=1e-10)
    assert medians_of(fit).gap == 0
    assert not medians_of(fit).outlying.size
    assert fit.residual == 0


def test_the_method_is_least_squares_where_both_fit_everything() -> None:
    panel = panel_of([(0, 0), (0, 1), (1, 1), (2, 1)], [3.0, 5.0, 1.0, 8.0])
    np.testing.assert_allclose(median_polish(panel).values.estimate, eh.calibrate(panel).values.estimate, atol=1e-12)


# groups and edges


def test_a_panel_in_two_groups_is_refused_unless_each_is_fitted_on_its_own() -> None:
    left, right = random_panel(1, 5, 3, 4), random_panel(2, 4, 3, 3)
    both = Panel.from_arrays(
        np.r_[left.object_index, right.object_index + left.n_objects],
        np.r_[left.assessor_index, right.assessor_index + left.n_assessors],
        np.r_[left.score, right.score],
        np.r_[left.precision, right.precision],
    )
    with pytest.raises(NotConnectedError, match="2 groups"):
        median_polish(both)
    fit = median_polish(both, per_component=True)
    assert "not_comparable" in kinds(fit)
    apart = [median_polish(panel) for panel in (left, right)]
    assert medians_of(fit).criterion == pytest.approx(sum(medians_of(one).criterion for one in apart))
    np.testing.assert_allclose(fit.residuals, np.r_[apart[0].residuals, apart[1].residuals], atol=1e-9)
    np.testing.assert_allclose(
        fit.values.estimate, np.r_[apart[0].values.estimate, apart[1].values.estimate], atol=1e-9
    )
    with pytest.raises(InputError, match="different groups"):
        fit.contrast(values={"0": 1.0, str(both.n_objects - 1): -1.0})
    with pytest.raises(NotRankableError):
        eh.rank(fit)


@pytest.mark.parametrize(
    ("edges", "note"),
    [([(0, 0)], "one_assessor"), ([(0, 0), (1, 0), (2, 1)], "all_seen_once"), ([(0, 0), (0, 0)], "one_assessor")],
)
def test_the_smallest_panels_have_a_fit_and_a_note(edges: list[tuple[int, int]], note: str) -> None:
    fit = median_polish(panel_of(edges))
    assert note in kinds(fit)
    assert np.isfinite(fit.values.estimate).all()
    assert str(fit)


def test_an_assessors_second_score_of_an_object_is_kept() -> None:
    fit = median_polish(panel_of([(0, 0), (0, 0), (0, 0)], [1.0, 2.0, 9.0]))
    assert fit.values.estimate.tolist() == [2.0]
    assert medians_of(fit).criterion == 8.0
    assert fit.residuals.tolist() == [-1.0, 0.0, 7.0]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"interval": 1.5}, "between 0 and 1"),
        ({"noise": "loud"}, "Noise can be"),
        ({"gauge": "middle"}, "is not a gauge"),
        ({"gauge": eh.Anchor(assessor="nobody")}, "no assessor"),
        ({"solver": "magic"}, "solver can be"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        median_polish(random_panel(1), **options)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_scores_beyond_all_arithmetic_are_refused(factor: float) -> None:
    panel = random_panel(1)
    with pytest.raises(SolveError, match="too extreme"):
        median_polish(Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score * factor))


# no uncertainty, and what is said instead


def test_the_noise_claims_nothing() -> None:
    noise: Noise = median_polish(random_panel(1)).posterior.noise
    assert noise.kind == "none"
    assert noise.variance is None
    assert noise.quantile(0.9) is None
    assert noise.cdf([0.0]) is None
    assert noise.draw_scale(np.random.default_rng(0), 3) is None
    assert noise.reason is not None
    assert 'tails="student"' in noise.reason


def test_no_standard_deviation_is_claimed_anywhere() -> None:
    fit = median_polish(random_panel(1))
    for effects in (fit.values, fit.biases):
        assert effects.sd is None
        assert effects.lower is None
        assert effects.upper is None
    assert fit.values.to_frame()["sd"].null_count() == fit.panel.n_objects
    assert fit.noise_variance is None
    assert fit.rms_uncertainty is None
    assert fit.rms_uncertainty_values is None
    assert fit.covariance() is None
    assert fit.noise_p_value is None
    assert eh.robustness(fit) is None
    contrast = fit.contrast(values={"0": 1.0, "1": -1.0})
    assert contrast.estimate == pytest.approx(fit.values.estimate[0] - fit.values.estimate[1])
    assert contrast.sd is None
    assert contrast.lower is None
    assert 'tails="student"' in message(fit, "uncertainty")
    assert kinds(fit).count("uncertainty") == 1


def test_what_needs_a_distribution_or_least_squares_refuses_in_a_sentence() -> None:
    fit = median_polish(random_panel(1))
    with pytest.raises(NotRankableError, match="no distribution"):
        eh.rank(fit, top=2)
    with pytest.raises(NotRankableError, match="no distribution"):
        eh.pairwise(fit, ["0"], ["1"])
    with pytest.raises(NotRankableError, match="no distribution"):
        fit.draw(3, seed=1)
    assert eh.evidence(fit).log_evidence is None
    with pytest.raises(InputError, match="no least squares"):
        eh.influence(fit)
    with pytest.raises(InputError, match=r"least squares|four methods"):
        score_sensitivity(fit)
    with pytest.raises(InputError, match="no least squares"):
        leverages(fit)
    assert fit.posterior.solver is None
    assert fit.solved_by == "medians by a linear programme"
    assert np.isnan(fit.posterior.unit_value_variance).all()
    assert fit.model.behind is None
    assert fit.refit(fit.panel).method == "cwc+medians"


def test_the_fit_says_what_it_is() -> None:
    panel = random_panel(1, 30, 12, 150)
    fit = median_polish(panel)
    assert fit.method == "cwc+medians"
    assert fit.is_calibrated
    assert fit.weight is panel.precision
    assert fit.residual == pytest.approx(float(panel.precision @ np.square(fit.residuals)))
    assert fit.degrees_of_freedom == panel.n_assessments - 41
    said = message(fit, "medians")
    assert f"{medians_of(fit).criterion:.6g}" in said
    assert f"{medians_of(fit).rounds} rounds" in said
    assert "linear programme" in said
    assert "medians (CWC+MEDIANS)" in str(fit)
    assert "±" not in str(fit)


def test_outlying_scores_are_found_and_named() -> None:
    panel = random_panel(4, 30, 12, 150, decades=0.3)
    values, biases = np.linspace(40, 80, 30), np.linspace(-9, 9, 12)
    noise = np.random.default_rng(1).normal(0, 1.0, panel.n_assessments) / np.sqrt(panel.precision)
    score = np.round(values[panel.object_index] + biases[panel.assessor_index] + np.clip(noise, -2, 2), 2)
    score[[10, 50]] = [150.0, 5.0]
    fit = median_polish(Panel.from_arrays(panel.object_index, panel.assessor_index, score, panel.precision))
    surprise = medians_of(fit).surprise
    assert set(medians_of(fit).outlying[:2].tolist()) == {10, 50}
    assert (np.abs(surprise[medians_of(fit).outlying]) > 3).all()
    assert (np.abs(np.delete(surprise, medians_of(fit).outlying)) <= 3).all()
    scale = float(medians_of(fit).variances.estimate[0])
    np.testing.assert_allclose(surprise * scale, fit.residuals * np.sqrt(panel.precision))
    said = message(fit, "outlying")
    assert f"150 for {panel.objects[int(panel.object_index[10])]} by" in said
    assert f"5 for {panel.objects[int(panel.object_index[50])]} by" in said
    assert "outlying" not in kinds(median_polish(table_panel([[1.0, 2.0], [2.0, 3.0]])))


@pytest.mark.parametrize(("n_objects", "n_assessors", "extra", "within"), [(300, 30, 600, 0.15), (60, 20, 1000, 0.1)])
def test_the_scale_of_the_noise_is_right_although_many_scores_are_met_exactly(
    n_objects: int, n_assessors: int, extra: int, within: float
) -> None:
    found = []
    for seed in range(5):
        panel = random_panel(seed, n_objects, n_assessors, extra)
        noise = np.random.default_rng(seed).normal(0, 5.0, panel.n_assessments) / np.sqrt(panel.precision)
        fit = median_polish(Panel.from_arrays(panel.object_index, panel.assessor_index, noise, panel.precision))
        found.append(float(medians_of(fit).variances.estimate[0]))
    assert np.mean(found) == pytest.approx(5.0, rel=within)


def test_where_most_scores_agree_the_few_others_set_the_scale() -> None:
    pairs = [(o, a) for o in range(6) for a in range(6)]
    score = [float(10 * o + a) for o, a in pairs]
    score[7] += 4.0
    fit = median_polish(panel_of(pairs, score))
    assert medians_of(fit).criterion == 4.0
    assert medians_of(fit).variances.estimate[0] == pytest.approx(np.sqrt(np.pi / 2) * 4.0 / 25)
    assert medians_of(fit).outlying.tolist() == [7]


@pytest.mark.slow
def test_fifty_thousand_assessments_are_solved_exactly() -> None:
    panel = eh.simulate_panel(12_000, 1_500, 4, seed=1).panel
    fit = median_polish(panel)
    assert medians_of(fit).is_exact
    assert sum_of(panel, fit.values.estimate, fit.biases.estimate) == pytest.approx(medians_of(fit).criterion)
