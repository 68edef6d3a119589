"""Lotteries of designs: no pair above its cap, marginals that hold, every draw whole and within the rules."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from designs import all_designs, make_task
from evenhand.compiled import Flags
from evenhand.design import lottery as lotteries
from evenhand.design.limits import Limits
from evenhand.design.lottery import Lottery, commitment, lottery
from evenhand.design.start import parts_of
from evenhand.design.task import Task
from evenhand.errors import InputError, NoDesignError

DRAWS = 2_000


def is_one_piece(task: Task, chosen: Flags) -> bool:
    """Say whether all objects and all assessors with work hang together, by following pairs one after the other."""
    pairs = [(int(task.object[at]), int(task.assessor[at])) for at in np.flatnonzero(chosen)]
    objects: set[int] = {pairs[0][0]}
    assessors: set[int] = set()
    grown = True
    while grown:
        before = len(objects) + len(assessors)
        for object_, assessor in pairs:
            if object_ in objects or assessor in assessors:
                objects.add(object_)
                assessors.add(assessor)
        grown = len(objects) + len(assessors) > before
    return len(objects) == task.n_objects and all(assessor in assessors for _, assessor in pairs)


def flags_of(task: Task, pairs: np.ndarray) -> Flags:
    chosen = np.zeros(task.n_pairs, dtype=bool)
    chosen[pairs] = True
    return chosen


def random_task(seed: int, n_objects: int, n_assessors: int, per_object: int, *, spare: int = 1) -> Task:
    """Return a task with random expertise and a conflict."""
    generator = np.random.default_rng(seed)
    conflicts = np.zeros((n_assessors, n_objects), dtype=bool)
    conflicts[generator.integers(n_assessors), generator.integers(n_objects)] = True
    most = -(-n_objects * per_object // n_assessors) + spare
    task = make_task(n_objects, n_assessors, per_object, loads=(0, most), conflicts=conflicts)
    return replace(task, expertise=generator.integers(0, 5, task.n_pairs) / 4)


def best_of(task: Task, designs: list[Flags], cap: float) -> float | None:
    """Return the largest expected expertise of a lottery over listed designs with a cap; None where there is none."""
    assert task.expertise is not None
    chosen = np.array(designs, dtype=float).T
    caps = np.where(task.fixed, 1.0, cap)
    found = linprog(-(task.expertise @ chosen), A_ub=chosen, b_ub=caps, A_eq=np.ones((1, chosen.shape[1])), b_eq=[1.0])
    return None if found.fun is None else -float(found.fun) / task.total


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cap", [0.4, 0.5, 0.75, 1.0])
def test_a_lottery_is_as_good_as_the_best_over_all_designs_listed(seed: int, cap: float) -> None:
    task = random_task(seed, 5, 4, 2)
    designs = list(all_designs(task))
    whole = [one for one in designs if is_one_piece(task, one)]
    best, best_whole = best_of(task, designs, cap), best_of(task, whole, cap)
    if best is None or best_whole is None:
        with pytest.raises(NoDesignError):
            lottery(task, cap)
        return
    made = lottery(task, cap)
    assert made.bound == pytest.approx(best, abs=1e-9)  # a linear program over pairs against one over designs
    assert made.expected <= best_whole + 1e-9
    assert made.expected >= 0.97 * best_whole
    assert made.largest <= cap + 1e-12
    assert made.free == pytest.approx(max(float(task.expertise[one].mean()) for one in designs), abs=1e-9)  # type: ignore[index]


@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_cap_is_named_where_a_cap_is_too_low(seed: int) -> None:
    task = random_task(seed, 5, 4, 2)
    designs = np.array(list(all_designs(task)), dtype=float).T
    n_pairs, count = designs.shape
    found = linprog(
        [*[0.0] * count, 1.0],
        A_ub=np.hstack([designs, -np.ones((n_pairs, 1))]),
        b_ub=np.zeros(n_pairs),
        A_eq=[[*[1.0] * count, 0.0]],
        b_eq=[1.0],
    )
    assert found.fun is not None
    smallest = float(found.fun)
    with pytest.raises(NoDesignError, match=f"leave {np.ceil(1e4 * (smallest - 1e-7)) / 1e4:g} at least") as error:
        lottery(task, smallest - 0.02)
    assert error.value.kind == "probability"
    assert lottery(task, float(np.ceil(1e4 * smallest) / 1e4)).largest <= smallest + 1e-4


@given(st.integers(0, 10_000), st.integers(3, 8), st.integers(2, 5), st.integers(1, 3), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_exchanges_between_two_designs_keep_what_they_have_together(
    seed: int, n_objects: int, n_assessors: int, per_object: int, share: float
) -> None:
    per_object = min(per_object, n_assessors)
    task = make_task(n_objects, n_assessors, per_object)
    generator = np.random.default_rng(seed)
    two = [
        np.concatenate([o * n_assessors + generator.choice(n_assessors, per_object, False) for o in range(n_objects)])
        for _ in range(2)
    ]
    two = [np.sort(one) for one in two]
    after = lotteries._exchanged(task, two[0], two[1], lotteries._groups(task), share, generator)
    assert np.array_equal(np.sort(np.concatenate(after)), np.sort(np.concatenate(two)))
    loads = [task.loads(flags_of(task, one)) for one in two]
    for one in after:
        own = flags_of(task, one)
        assert one.size == task.total == own.sum()
        assert (task.readings(own) == per_object).all()
        assert (task.loads(own) >= np.minimum(*loads)).all()
        assert (task.loads(own) <= np.maximum(*loads)).all()


def _seniors(task: Task) -> Limits:
    """At least one of the first third of assessors for every object, and at most one of any four institutions' two."""
    sets = []
    for o in range(task.n_objects):
        own = range(int(task.start[o]), int(task.start[o + 1]))
        sets.append(([p for p in own if task.assessor[p] < task.n_assessors // 3], 1.0, np.inf, "a senior"))
        for institution in range(4):
            same = [p for p in own if task.assessor[p] % 6 == institution]
            if len(same) > 1:
                sets.append((same, 0.0, 1.0, "one of an institution"))
    return Limits.of(sets)


def problems() -> list[tuple[str, Task, float]]:
    """Return five tasks with a cap each: plain, conflicts and fixed pairs, hardly connected, split topics, rules."""
    generator = np.random.default_rng(18)
    mixed = random_task(1, 40, 15, 3)
    fixed = np.zeros(mixed.n_pairs, dtype=bool)
    fixed[[3, 100, 333]] = True
    rings = make_task(24, 24, 2, loads=(2, 2))
    split = make_task(24, 12, 2, loads=(3, 5))
    topic = np.where(split.object % 3 == split.assessor % 3, generator.random(split.n_pairs), 0.0)
    ruled = random_task(2, 18, 12, 3)
    return [
        ("plain", make_task(20, 8, 2, loads=(5, 5)), 0.5),
        ("conflicts and fixed pairs", replace(mixed, fixed=fixed), 0.35),
        ("rings", replace(rings, expertise=generator.random(rings.n_pairs)), 0.25),
        ("split topics", replace(split, expertise=topic), 0.6),
        ("rules", replace(ruled, limits=_seniors(ruled)), 0.45),
    ]


PROBLEMS = {name: (task, cap) for name, task, cap in problems()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_design_of_a_deck_keeps_the_rules_and_hangs_together(name: str) -> None:
    task, cap = PROBLEMS[name]
    made = lottery(task, cap)
    for card in made.deck:
        chosen = flags_of(task, card)
        assert not task.broken(chosen)
        assert is_one_piece(task, chosen)
    assert made.largest <= cap
    assert made.bound >= made.expected > 0.9 * made.bound
    assert (made.marginals[task.fixed] == 1).all()
    for seed in range(5):
        chosen = made.draw(seed)
        assert not task.broken(chosen)
        assert is_one_piece(task, chosen)


def deviations(counts: np.ndarray, marginals: np.ndarray, draws: int) -> np.ndarray:
    """Return by how many standard errors frequencies of pairs are off their marginals; none of impossible pairs."""
    open_ = (marginals > 0) & (marginals < 1)
    assert not counts[marginals == 0].any()
    assert (counts[marginals == 1] == draws).all()
    p = marginals[open_]
    return np.asarray((counts[open_] / draws - p) / np.sqrt(p * (1 - p) / draws))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_capped_marginals_hold_over_many_draws_each_of_them_whole(name: str) -> None:
    task, cap = PROBLEMS[name]
    made, counts, seen = lottery(task, cap), np.zeros(task.n_pairs, dtype=np.int64), set()
    for seed in range(DRAWS):
        chosen = made.draw(seed)
        assert not task.broken(chosen)
        assert parts_of(task, chosen)[0] == 1
        counts += chosen
        seen.add(chosen.tobytes())
    off = deviations(counts, made.marginals, DRAWS)
    assert np.abs(off).max() < 4.5  # of some hundreds of pairs
    assert np.square(off).mean() < 1 + 4 * np.sqrt(4 / off.size)  # one on average; pairs depend on each other
    assert (counts[~task.fixed] / DRAWS).max() <= cap + 4 * np.sqrt(cap * (1 - cap) / DRAWS)
    assert len(seen) > 1.5 * len(made.deck)  # designs are mixed, and not only dealt


@pytest.mark.slow
def test_drawing_again_where_a_draw_falls_apart_would_not_keep_marginals() -> None:
    task, cap = PROBLEMS["split topics"]
    made, generator = lottery(task, cap), np.random.default_rng(0)
    counts = np.bincount(made.deck.ravel(), minlength=task.n_pairs)
    kept: list[np.ndarray] = []
    for _ in range(20 * DRAWS // len(made.deck)):
        dealt = lotteries._dealt(task, counts, len(made.deck), generator)
        kept += [card for card in dealt if parts_of(task, flags_of(task, card))[0] == 1]
    drawn = np.bincount(np.concatenate(kept), minlength=task.n_pairs)
    assert np.abs(deviations(drawn, made.marginals, len(kept))).max() > 4.5


def test_a_draw_is_settled_by_seed_and_salt() -> None:
    made: Lottery = lottery(PROBLEMS["plain"][0], 0.5)
    assert np.array_equal(made.draw(7, "x"), made.draw(7, "x"))
    drawn = [made.draw(seed, salt).tobytes() for seed, salt in itertools.product((7, 8), ("x", "y"))]
    assert len(set(drawn)) == 4


def test_a_commitment_is_a_hash_that_anybody_can_compute() -> None:
    assert commitment(20261, "blue heron") == hashlib.sha256(b"evenhand 20261 blue heron").hexdigest()


@pytest.mark.parametrize("cap", [0.0, -0.1, 1.1, np.nan])
def test_a_cap_is_a_probability(cap: float) -> None:
    with pytest.raises(InputError, match="largest probability"):
        lottery(PROBLEMS["plain"][0], cap)
