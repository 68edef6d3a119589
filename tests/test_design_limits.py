"""Limits on sets of pairs: what a design breaks, and which moves keep them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designs import make_task
from evenhand.design.exchange import Exchange, search
from evenhand.design.find import open_pairs
from evenhand.design.limits import SLACK, Limits, Room, Tally
from evenhand.design.spread import compiled_pass, exchange, one_pass
from evenhand.design.start import join, mix, parts_of
from evenhand.design.task import Aim, Task

N_PAIRS = 12


@st.composite
def some_limits(draw: st.DrawFn) -> Limits:
    """Limits on random sets of pairs, some of them with weights."""
    sets = []
    for at in range(draw(st.integers(0, 5))):
        pairs = draw(st.lists(st.integers(0, N_PAIRS - 1), min_size=1, max_size=6, unique=True))
        least = draw(st.integers(0, 2))
        most = draw(st.sampled_from([least, least + 1, np.inf]))
        sets.append((pairs, float(least), float(most), f"rule {at}"))
    limits = Limits.of(sets)
    size = limits.pair.size
    limits.weight[:] = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=size, max_size=size))
    return limits


def sums_by_hand(limits: Limits, chosen: np.ndarray) -> list[float]:
    return [
        float(
            sum(limits.weight[at] for at in range(limits.start[one], limits.start[one + 1]) if chosen[limits.pair[at]])
        )
        for one in range(len(limits))
    ]


@given(some_limits(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS))
def test_limits_that_a_design_breaks_are_named(limits: Limits, flags: list[bool]) -> None:
    chosen = np.array(flags)
    sums = sums_by_hand(limits, chosen)
    assert limits.sums(chosen).tolist() == sums
    wrong = {
        limits.names[limits.kind[at]]
        for at, total in enumerate(sums)
        if not limits.least[at] - SLACK <= total <= limits.most[at] + SLACK
    }
    assert set(limits.broken(chosen)) == wrong


@given(some_limits(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS), st.data())
def test_a_move_is_allowed_if_it_breaks_nothing_further(limits: Limits, flags: list[bool], data: st.DataObject) -> None:
    chosen = np.array(flags)
    gone, come = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    if not gone.size or not come.size:
        return
    leaving = int(data.draw(st.sampled_from(gone.tolist())))
    entries = limits.by_pair(N_PAIRS)
    allowed = limits.allow(limits.sums(chosen), entries, [np.array([leaving]), come], (-1, 1))
    for arriving, good in zip(come.tolist(), allowed.tolist(), strict=True):
        after = chosen.copy()
        after[[leaving, arriving]] = False, True
        before_sums, after_sums = np.array(sums_by_hand(limits, chosen)), np.array(sums_by_hand(limits, after))
        worse = (after_sums > limits.most + SLACK) & (after_sums > before_sums)
        worse |= (after_sums < limits.least - SLACK) & (after_sums < before_sums)
        assert good == (not worse.any())


def limited(seed: int) -> tuple[Task, np.ndarray]:
    """Return a task with many limits, and a design that keeps them and is in several parts as often as not."""
    generator = np.random.default_rng(seed)
    task = make_task(12, 8, 2, loads=(2, 4), precision=np.exp(generator.normal(size=(8, 12))))
    reads = np.zeros((12, 8), dtype=bool)
    for at in range(24):
        reads[at // 2, at % 8] = True
    chosen = reads.ravel()
    sums = chosen.astype(float)
    sets = []
    for at in range(25):
        pairs = generator.choice(task.n_pairs, int(generator.integers(2, 12)), replace=False)
        slack = float(generator.integers(0, 2))
        held = float(sums[pairs].sum())
        sets.append((pairs.tolist(), held - slack, held + 1, f"rule {at}"))
    task = replace(task, limits=Limits.of(sets))
    assert task.broken(chosen) == []
    return task, chosen


@pytest.mark.parametrize("seed", range(12))
def test_no_move_of_any_search_breaks_a_limit(seed: int) -> None:
    task, chosen = limited(seed)
    loose = replace(task, limits=Limits())
    moved = broken = 0
    for loop in (one_pass, compiled_pass()):
        after, change = exchange(task, chosen, 0.0, seed, 3, loop, -1e-3)
        assert task.broken(after) == []
        moved += int(change[0])
        broken += len(task.broken(exchange(loose, chosen, 0.0, seed, 3, loop, -1e-3)[0]))
    mixed = chosen.copy()
    mix(task, mixed, np.random.default_rng(seed))
    assert task.broken(mixed) == []
    moved += int((mixed & ~chosen).sum())
    joined = join(task, chosen, np.random.default_rng(seed))
    assert task.broken(joined) == []
    assert parts_of(task, joined)[0] == 1
    found = search(task, [joined], Aim(), seed=seed, shakes=3, looks=300)
    assert task.broken(found.chosen) == []
    broken += len(task.broken(search(loose, [joined], Aim(), seed=seed, shakes=3, looks=300).chosen))
    assert moved > 3
    assert broken > 0  # without them, limits would have been broken


@pytest.mark.parametrize("seed", range(5))
def test_pairs_that_may_be_added_are_those_after_which_no_limit_is_broken(seed: int) -> None:
    task, chosen = limited(seed)
    task = replace(task, most=task.most + 1, total=task.total + 1)
    for pair in np.flatnonzero(~chosen).tolist():
        after = chosen.copy()
        after[pair] = True
        assert (pair in open_pairs(task, chosen)) == (not task.broken(after))


@given(some_limits(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS), st.data())
def test_a_tally_allows_what_the_limits_allow(limits: Limits, flags: list[bool], data: st.DataObject) -> None:
    chosen = np.array(flags)
    tally = Tally(limits, chosen)
    for _ in range(3):
        gone, come = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        if not gone.size or not come.size:
            return
        pairs = [int(data.draw(st.sampled_from(side.tolist()))) for side in (gone, come)]
        one = [np.array([pair]) for pair in pairs]
        allowed = limits.allow(limits.sums(chosen), limits.by_pair(N_PAIRS), one, (-1, 1))
        assert tally.allows(pairs, (-1, 1)) == allowed[0]
        tally.make(pairs, (-1, 1))
        chosen[pairs] = False, True


@given(some_limits(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS), st.data())
def test_room_that_is_kept_up_to_date_allows_what_the_limits_allow(
    limits: Limits, flags: list[bool], data: st.DataObject
) -> None:
    chosen, entries = np.array(flags), limits.by_pair(N_PAIRS)
    room = Room(limits, entries, chosen)
    for _ in range(4):
        gone, come = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        if not gone.size or not come.size:
            return
        leaving, arriving = (int(data.draw(st.sampled_from(side.tolist()))) for side in (gone, come))
        cases: list[tuple[list[np.ndarray], tuple[int, ...]]] = [
            ([np.array([leaving]), come], (-1, 1)),
            ([gone, np.array([arriving] * gone.size)], (-1, 1)),
            ([come], (1,)),
            ([gone], (-1,)),
        ]
        if come.size > 1:
            cases.append(([np.array([leaving]), come[:-1], come[1:]], (-1, 1, 1)))
        for moves, signs in cases:
            expected = limits.allow(limits.sums(chosen), entries, moves, signs)
            np.testing.assert_array_equal(room.allow(moves, signs), expected)
        room.make([leaving, arriving], (-1, 1))
        chosen[[leaving, arriving]] = False, True


@pytest.mark.parametrize("seed", range(5))
def test_swaps_are_those_that_the_limits_allow_as_a_whole(seed: int) -> None:
    across, chosen = limited(seed)
    generator, sets = np.random.default_rng(seed), []
    for at in range(24):  # two for each object
        pairs = 8 * (at % 12) + generator.choice(8, 4, replace=False)
        held = float(chosen[pairs].sum())
        sets.append((pairs.tolist(), held - at // 12, held + 1 - at // 12, f"rule {at}"))
    local = replace(across, limits=replace(Limits.of(sets), about=np.arange(24) % 12))
    assert local.limits.is_local
    assert not across.limits.is_local
    for task in (across, local):
        exchange = Exchange(task, Aim(), chosen, np.random.default_rng(seed))
        refused = 0
        for pair in np.flatnonzero(chosen).tolist():
            found = {tuple(swap) for swap in np.stack(exchange.swaps(pair), axis=1).tolist()}
            a, o = int(task.assessor[pair]), int(task.object[pair])
            for partner in np.flatnonzero(chosen).tolist():
                b, p = int(task.assessor[partner]), int(task.object[partner])
                come, back = task.position(np.array([a, b]), np.array([p, o])).tolist()
                if min(come, back) < 0 or chosen[come] or chosen[back]:
                    continue
                after = chosen.copy()
                after[[pair, partner, come, back]] = False, False, True, True
                assert ((partner, come, back) in found) == (not task.limits.broken(after))
                refused += bool(task.limits.broken(after))
        assert refused
