"""Ranks and decisions: exact identities, closed forms against draws, and every case without an answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.ranking import _rank_rows, draw_values, interval_places
from evenhand.errors import InputError, LimitError, NotRankableError
from evenhand.models.additive import METHODS
from evenhand.panel.panel import Panel
from panels import gauges_for, random_panel

PANEL = random_panel(51, 9, 5, 20)
FIT = eh.calibrate(PANEL)


def test_ranks_are_the_same_in_every_gauge() -> None:
    wanted = eh.rank(FIT, top=3, draws=2000, seed=7)
    for gauge in gauges_for(PANEL):
        found = eh.rank(eh.calibrate(PANEL, gauge=gauge), top=3, draws=2000, seed=7)
        assert found.p_top is not None
        np.testing.assert_array_equal(found.p_top, wanted.p_top)
        np.testing.assert_array_equal(found.expected_rank, wanted.expected_rank)
        np.testing.assert_array_equal(found.rank_lower, wanted.rank_lower)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_ranks_do_not_depend_on_the_origin_of_the_scale(offset: float) -> None:
    moved = Panel.from_arrays(PANEL.object_index, PANEL.assessor_index, PANEL.score + offset, PANEL.precision)
    one, two = (eh.rank(eh.calibrate(panel), draws=2000, seed=7) for panel in (PANEL, moved))
    np.testing.assert_allclose(one.expected_rank, two.expected_rank, atol=2e-3)


@given(top=st.integers(1, 9), seed=st.integers(0, 1000))
def test_probabilities_add_up(top: int, seed: int) -> None:
    found = eh.rank(FIT, top=top, draws=500, seed=seed)
    assert found.p_top is not None
    assert found.p_top.sum() == pytest.approx(top)
    assert found.p_first.sum() == pytest.approx(1)
    assert found.expected_rank.sum() == pytest.approx(45)
    assert (found.rank_lower <= found.rank_upper).all()
    assert found.sucra.mean() == pytest.approx(0.5)


@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=7, max_size=7, unique=True), min_size=1, max_size=4)
)
def test_rows_are_ranked_from_the_highest(rows: list[list[float]]) -> None:
    values = np.array(rows)
    ranks = np.empty(values.shape, dtype=np.uint16)
    _rank_rows(values, ranks)
    np.testing.assert_array_equal(ranks, (values[:, :, None] < values[:, None, :]).sum(axis=2) + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 300, 3000, 4096, 4097, 5000])
@pytest.mark.parametrize("kind", ["spread", "far", "few", "equal", "tiny", "huge", "close"])
def test_rows_of_every_length_and_kind_are_ranked_as_a_stable_sort_ranks_them(count: int, kind: str) -> None:
    generator = np.random.default_rng([count, len(kind)])
    values = generator.normal(size=(9, count))
    if kind == "far":  # all others share a step
        values[:, 0] = 1e9
    elif kind == "few":
        values[:] = generator.integers(-3, 4, size=values.shape) + 0.5
    elif kind == "equal":
        values[:] = 7.0
    elif kind == "tiny":
        values *= 1e-40
    elif kind == "huge":
        values *= 1e38
    elif kind == "close":  # many within a step, some of them equal in single precision
        values[:] = 1 + np.round(values, 1) + 1e-6 * generator.normal(size=values.shape)
    ranks = np.zeros(values.shape, dtype=np.uint16)
    _rank_rows(values, ranks)
    with np.errstate(over="ignore"):
        order = np.argsort(-values.astype(np.float32), axis=1, kind="stable")
    np.testing.assert_array_equal(np.take_along_axis(ranks, order, axis=1), np.tile(np.arange(1, count + 1), (9, 1)))


@pytest.mark.parametrize(("draws", "interval"), [(40, 0.5), (2000, 0.9)])
def test_ranks_of_many_objects_are_those_of_a_plain_count(draws: int, interval: float) -> None:
    fit = eh.calibrate(eh.simulate_panel(150, 12, 3, seed=3).panel)
    found = eh.rank(fit, top=20, draws=draws, seed=5, interval=interval)
    ranks = np.argsort(np.argsort(-draw_values(fit, draws, np.random.default_rng(5)), axis=1), axis=1) + 1
    np.testing.assert_array_equal(found.p_first, (ranks == 1).mean(axis=0))
    np.testing.assert_array_equal(found.p_top, (ranks <= 20).mean(axis=0))
    np.testing.assert_allclose(found.expected_rank, ranks.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found.expected_rank_error, ranks.std(axis=0) / np.sqrt(draws), rtol=1e-12)
    low, high = interval_places(draws, interval)
    np.testing.assert_array_equal(found.rank_lower, np.sort(ranks, axis=0)[low])
    np.testing.assert_array_equal(found.rank_upper, np.sort(ranks, axis=0)[high])


def test_counts_agree_with_counting_the_same_draws_by_hand() -> None:
    draws = 3000
    found = eh.rank(FIT, top=2, draws=draws, seed=11)
    values = draw_values(FIT, draws, np.random.default_rng(11))
    ranks = (values[:, :, None] < values[:, None, :]).sum(axis=2) + 1
    np.testing.assert_allclose(found.expected_rank, ranks.mean(axis=0))
    assert found.p_top is not None
    np.testing.assert_allclose(found.p_top, (ranks <= 2).mean(axis=0))
    np.testing.assert_allclose(found.p_first, (ranks == 1).mean(axis=0))
    np.testing.assert_allclose(found.expected_rank_error, ranks.std(axis=0) / np.sqrt(draws))
    for index in range(PANEL.n_objects):
        inside = (ranks[:, index] >= found.rank_lower[index]) & (ranks[:, index] <= found.rank_upper[index])
        assert inside.mean() >= 0.9
        narrower = (ranks[:, index] > found.rank_lower[index]) & (ranks[:, index] < found.rank_upper[index])
        assert narrower.mean() <= 0.9


def test_blocks_of_draws_leave_the_answer_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.answers.ranking._BLOCK", 9 * 4000)
    whole = eh.rank(FIT, top=3, draws=4000, seed=5)
    monkeypatch.setattr("evenhand.answers.ranking._BLOCK", 9 * 130)
    blocks = eh.rank(FIT, top=3, draws=4000, seed=5)
    # other blocks take other random numbers, but the same for any number of cores
    again = eh.rank(FIT, top=3, draws=4000, seed=5)
    np.testing.assert_array_equal(blocks.expected_rank, again.expected_rank)
    assert blocks.p_top is not None
    assert whole.p_top is not None
    np.testing.assert_allclose(blocks.p_top, whole.p_top, atol=6 * np.sqrt(0.5 / 4000))


@pytest.mark.parametrize("method", list(METHODS))
def test_pairwise_probabilities_agree_with_draws(method: str) -> None:
    fit = METHODS[method](PANEL)
    draws = 60_000
    values = draw_values(fit, draws, np.random.default_rng(3))
    pairs = [(o, p) for o in range(9) for p in range(9) if o != p]
    names = PANEL.objects
    found = eh.pairwise(fit, [names[o] for o, _ in pairs], [names[p] for _, p in pairs])
    drawn = np.array([(values[:, o] > values[:, p]).mean() for o, p in pairs])
    error = np.sqrt(np.maximum(drawn * (1 - drawn), 1e-4) / draws)
    assert (np.abs(found - drawn) < 5 * error).all()
    back = eh.pairwise(fit, [names[p] for _, p in pairs], [names[o] for o, _ in pairs])
    np.testing.assert_allclose(found + back, 1.0)


def test_perfect_agreement_without_a_grid_gives_no_ranks_and_says_why() -> None:
    third = 1 / 3
    fit = eh.calibrate(Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [3 + third, 4 + third, 1, 2, 2, 3]))
    assert fit.residual == 0
    for call in (lambda: eh.rank(fit, top=1), lambda: eh.pairwise(fit, ["0"], ["1"]), lambda: eh.classify(fit, [2.5])):
        with pytest.raises(NotRankableError, match=r"agree perfectly.*no grid"):
            call()


def test_panels_without_a_posterior_say_why_they_cannot_be_ranked() -> None:
    tree = eh.calibrate(Panel.from_arrays([0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0]))
    for call in (
        lambda: eh.rank(tree),
        lambda: eh.pairwise(tree, ["0"], ["1"]),
        lambda: eh.classify(tree, [1.0]),
    ):
        with pytest.raises(NotRankableError, match="degrees of freedom"):
            call()
    thin = eh.calibrate(Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 4.0, 9.0]))
    assert thin.degrees_of_freedom == 1
    assert eh.rank(thin).expected_rank.sum() == pytest.approx(3)
    apart = eh.calibrate(
        Panel.from_arrays([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [1.0, 5, 2, 2, 3, 9, 1, 1]),
        per_component=True,
    )
    with pytest.raises(NotRankableError, match="groups"):
        eh.rank(apart)
    with pytest.raises(NotRankableError, match="groups"):
        eh.pairwise(apart, ["0"], ["3"])


def test_wrong_requests_are_refused() -> None:
    for call in (
        lambda: eh.rank(FIT, top=0),
        lambda: eh.rank(FIT, top=10),
        lambda: eh.rank(FIT, draws=0),
        lambda: eh.rank(FIT, interval=1.0),
        lambda: eh.decide(eh.rank(FIT, draws=10), 99),
        lambda: eh.pairwise(FIT, ["0"], ["nobody"]),
    ):
        with pytest.raises(InputError):
            call()


def test_a_table_of_ranks_too_large_for_memory_is_foreseen() -> None:
    with pytest.raises(LimitError, match="238,609,294 draws fit into 4 GiB"):
        eh.rank(FIT, draws=10**9)


def test_one_object_is_first() -> None:
    fit = eh.simple_average(Panel.from_arrays([0, 0, 0], [0, 1, 2], [1.0, 2.0, 4.0]))
    found = eh.rank(fit, top=1, draws=10)
    assert found.p_first.tolist() == [1.0]
    assert found.sucra.tolist() == [1.0]
