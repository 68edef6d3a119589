"""Limits on sets of pairs: what a design breaks, and which moves keep them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand.design.rules import SLACK, Rules

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
