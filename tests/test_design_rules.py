"""Limits on sets of pairs: what a design breaks, and which moves keep them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designs import make_task
from evenhand.design.exchange import search
from evenhand.design.find import open_pairs
from evenhand.design.rules import SLACK, Rules, Tally
from evenhand.design.spread import compiled_pass, exchange, one_pass
from evenhand.design.start import join, mix, parts_of
from evenhand.design.task import Aim, Task

N_PAIRS = 12


@st.composite
def some_rules(draw: st.DrawFn) -> Rules:
    """Rules on random sets of pairs, some of them with weights."""
    limits = []
    for at in range(draw(st.integers(0, 5))):
        pairs = draw(st.lists(st.integers(0, N_PAIRS - 1), min_size=1, max_size=6, unique=True))
        least = draw(st.integers(0, 2))
        most = draw(st.sampled_from([least, least + 1, np.inf]))
        limits.append((pairs, float(least), float(most), f"rule {at}"))
    rules = Rules.of(limits)
    size = rules.pair.size
    rules.weight[:] = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=size, max_size=size))
    return rules


def sums_by_hand(rules: Rules, chosen: np.ndarray) -> list[float]:
    return [
        float(sum(rules.weight[at] for at in range(rules.start[one], rules.start[one + 1]) if chosen[rules.pair[at]]))
        for one in range(len(rules))
    ]


@given(some_rules(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS))
def test_rules_that_a_design_breaks_are_named(rules: Rules, flags: list[bool]) -> None:
    chosen = np.array(flags)
    sums = sums_by_hand(rules, chosen)
    assert rules.sums(chosen).tolist() == sums
    wrong = {
        rules.names[rules.kind[at]]
        for at, total in enumerate(sums)
        if not rules.least[at] - SLACK <= total <= rules.most[at] + SLACK
    }
    assert set(rules.broken(chosen)) == wrong


@given(some_rules(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS), st.data())
def test_a_move_is_allowed_if_it_breaks_nothing_further(rules: Rules, flags: list[bool], data: st.DataObject) -> None:
    chosen = np.array(flags)
    gone, come = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    if not gone.size or not come.size:
        return
    leaving = int(data.draw(st.sampled_from(gone.tolist())))
    entries = rules.by_pair(N_PAIRS)
    allowed = rules.allow(rules.sums(chosen), entries, [np.array([leaving]), come], (-1, 1))
    for arriving, good in zip(come.tolist(), allowed.tolist(), strict=True):
        after = chosen.copy()
        after[[leaving, arriving]] = False, True
        before_sums, after_sums = np.array(sums_by_hand(rules, chosen)), np.array(sums_by_hand(rules, after))
        worse = (after_sums > rules.most + SLACK) & (after_sums > before_sums)
        worse |= (after_sums < rules.least - SLACK) & (after_sums < before_sums)
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
    limits = []
    for at in range(25):
        pairs = generator.choice(task.n_pairs, int(generator.integers(2, 12)), replace=False)
        slack = float(generator.integers(0, 2))
        held = float(sums[pairs].sum())
        limits.append((pairs.tolist(), held - slack, held + 1, f"rule {at}"))
    task = replace(task, rules=Rules.of(limits))
    assert task.broken(chosen) == []
    return task, chosen


@pytest.mark.parametrize("seed", range(12))
def test_no_move_of_any_search_breaks_a_limit(seed: int) -> None:
    task, chosen = limited(seed)
    loose = replace(task, rules=Rules())
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


@given(some_rules(), st.lists(st.booleans(), min_size=N_PAIRS, max_size=N_PAIRS), st.data())
def test_a_tally_allows_what_the_rules_allow(rules: Rules, flags: list[bool], data: st.DataObject) -> None:
    chosen = np.array(flags)
    tally = Tally(rules, chosen)
    for _ in range(3):
        gone, come = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        if not gone.size or not come.size:
            return
        pairs = [int(data.draw(st.sampled_from(side.tolist()))) for side in (gone, come)]
        one = [np.array([pair]) for pair in pairs]
        allowed = rules.allow(rules.sums(chosen), rules.by_pair(N_PAIRS), one, (-1, 1))
        assert tally.allows(pairs, (-1, 1)) == allowed[0]
        tally.make(pairs, (-1, 1))
        chosen[pairs] = False, True
