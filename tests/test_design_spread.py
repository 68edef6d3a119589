"""Exchange moves of large designs: predicted changes against dense algebra, rules, components, and what they gain."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.compiled import Flags, Floats
from evenhand.design.spread import compiled_pass, exchange, one_pass, spread
from evenhand.design.task import Task


def information(task: Task, chosen: Flags) -> Floats:
    """Return C by its definition, in dense matrices."""
    weights = np.zeros((task.n_objects, task.n_assessors))
    weights[task.object[chosen], task.assessor[chosen]] = task.precision[chosen]
    weights = weights[:, weights.sum(axis=0) > 0]
    return np.asarray(np.diag(weights.sum(axis=1)) - weights @ np.diag(1 / weights.sum(axis=0)) @ weights.T)


def traces(task: Task, chosen: Flags) -> tuple[float, float]:
    matrix = information(task, chosen)
    return float(np.trace(matrix)), float(np.trace(matrix @ matrix))


def mean_variance(task: Task, chosen: Flags) -> float:
    return float(np.trace(np.linalg.pinv(information(task, chosen)))) / task.n_objects


def n_components(task: Task, chosen: Flags) -> int:
    """Count groups of objects, each with the assessors who read them."""
    graph = nx.Graph()
    graph.add_nodes_from(("object", o) for o in range(task.n_objects))
    graph.add_edges_from(
        (("object", o), ("assessor", a))
        for o, a in zip(task.object[chosen].tolist(), task.assessor[chosen].tolist(), strict=True)
    )
    return int(nx.number_connected_components(graph))


def expertise_of(task: Task, chosen: Flags) -> float:
    assert task.expertise is not None
    return float(task.expertise[chosen].sum())


def random_case(
    seed: int,
    n_objects: int = 12,
    n_assessors: int = 7,
    readings: int = 3,
    *,
    even: bool = False,
    allowed: float = 0.8,
    slack: int = 1,
    n_fixed: int = 2,
) -> tuple[Task, Flags]:
    """Return a task and a random design that keeps its rules; bounds of loads are ``slack`` beyond the design's."""
    generator = np.random.default_rng(seed)
    may = generator.random((n_objects, n_assessors)) < allowed
    chosen = np.zeros_like(may)
    for o in range(n_objects):
        picked = generator.choice(n_assessors, readings, replace=False)
        may[o, picked] = chosen[o, picked] = True
    object_, assessor = np.nonzero(may)
    design = chosen[may]
    loads = np.bincount(assessor[design], minlength=n_assessors)
    fixed = np.zeros(design.size, dtype=bool)
    fixed[generator.choice(np.flatnonzero(design), n_fixed, replace=False)] = True
    task = Task(
        objects=[f"o{o}" for o in range(n_objects)],
        assessors=[f"a{a}" for a in range(n_assessors)],
        object=object_,
        assessor=assessor,
        precision=np.ones(design.size) if even else np.exp(generator.normal(size=design.size)),
        expertise=generator.random(design.size),
        cost=np.ones(design.size),
        fixed=fixed,
        least=np.full(n_objects, readings),
        most=np.full(n_objects, readings),
        least_load=np.maximum(loads - slack, 0),
        most_load=loads + slack,
        total=int(design.sum()),
        conflicts=np.empty(0, dtype=np.int64),
    )
    assert task.broken(design) == []
    return task, design


def random_even_design(n_objects: int, n_assessors: int, readings: int, seed: int) -> tuple[Task, Flags]:
    """Return a task in which everybody may read everything, with a random design of equal loads."""
    generator = np.random.default_rng(seed)
    task, _ = random_case(seed, n_objects, n_assessors, readings, even=True, allowed=1.1, n_fixed=0)
    load = n_objects * readings // n_assessors
    bounds = np.full(n_assessors, load)
    task = replace(task, least_load=bounds, most_load=bounds)
    reads = np.zeros((n_objects, n_assessors), dtype=bool)
    for number in range(n_objects * readings):
        reads[number // readings, number % n_assessors] = True
    for _ in range(10 * n_objects * readings):
        one, other = generator.integers(n_objects, size=2)
        a, b = generator.choice(np.flatnonzero(reads[one])), generator.choice(np.flatnonzero(reads[other]))
        if not reads[one, b] and not reads[other, a]:
            reads[one, a] = reads[other, b] = False
            reads[one, b] = reads[other, a] = True
    assert task.broken(reads.ravel()) == []
    return task, reads.ravel()


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("slack", [0, 1, 9])
def test_the_predicted_change_of_a_move_is_that_of_dense_algebra(even: bool, slack: int) -> None:
    # without slack only swaps are possible, with a lot of it assessors are relieved of everything
    moved = 0
    for seed in range(25):
        task, design = random_case(seed, even=even, slack=slack)
        # any move is made that keeps the rules, for better or worse
        after, change = exchange(task, design, 0.3, seed, 1, one_pass, -np.inf)
        expected = np.subtract(traces(task, after), traces(task, design))
        np.testing.assert_allclose(change[1:3], expected, rtol=1e-9, atol=1e-9)
        assert change[3] == pytest.approx(expertise_of(task, after) - expertise_of(task, design))
        moved += int(change[0])
        assert task.broken(after) == []
    assert moved > 100


def test_a_single_swap_and_a_single_reassignment_are_predicted_too() -> None:
    kinds = set()
    for seed in range(60):
        task, design = random_case(seed, 4, 4, 2, slack=seed % 2, n_fixed=6)
        after, change = exchange(task, design, 0.3, seed, 1, one_pass)
        expected = np.subtract(traces(task, after), traces(task, design))
        np.testing.assert_allclose(change[1:3], expected, rtol=1e-9, atol=1e-9)
        if change[0] == 1:
            kinds.add(int((after & ~design).sum()))
    assert {1, 2} <= kinds


def test_assessors_who_are_not_needed_are_relieved_and_the_trace_is_what_is_left() -> None:
    task, design = random_case(3, 20, 12, 2, even=True, slack=20, n_fixed=0)
    after = spread(task, design, weight=0.0, seed=1)
    used = np.unique(task.assessor[after]).size
    assert used < np.unique(task.assessor[design]).size
    assert traces(task, after)[0] == pytest.approx(task.total - used)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_objects=st.integers(1, 9),
    n_assessors=st.integers(2, 7),
    readings=st.integers(1, 2),
    even=st.booleans(),
    allowed=st.floats(0.1, 1.0),
    slack=st.integers(0, 4),
    weight=st.floats(0.0, 1.0),
    careless=st.booleans(),
)
def test_rules_are_kept_and_components_never_increase(
    seed: int,
    n_objects: int,
    n_assessors: int,
    readings: int,
    even: bool,
    allowed: float,
    slack: int,
    weight: float,
    careless: bool,
) -> None:
    task, design = random_case(
        seed, n_objects, n_assessors, readings, even=even, allowed=allowed, slack=slack, n_fixed=1
    )
    given_design = design.copy()
    least_gain = -np.inf if careless else 1e-9
    after, _ = exchange(task, design, weight, seed, 2, one_pass, least_gain)
    assert task.broken(after) == []
    np.testing.assert_array_equal(task.readings(after), task.readings(design))
    assert after[task.fixed].all()
    assert n_components(task, after) <= n_components(task, design)
    np.testing.assert_array_equal(design, given_design)


def test_a_chain_of_objects_stays_in_one_piece_though_its_links_may_all_be_moved() -> None:
    n_objects = 40
    object_ = np.repeat(np.arange(n_objects), 2)
    for seed in range(10):
        task, _ = random_case(seed, n_objects, n_objects + 1, 2, allowed=1.1, n_fixed=0)
        design = np.isin(task.keys, object_ * (n_objects + 1) + object_ + np.tile([0, 1], n_objects))
        loads = task.loads(design)
        task = replace(task, least_load=np.maximum(loads - 1, 1), most_load=loads + 1)
        assert n_components(task, design) == 1
        after, change = exchange(task, design, 0.5, seed, 1, one_pass, -np.inf)
        assert change[0] > 10
        assert n_components(task, after) == 1


def test_a_design_that_breaks_rules_breaks_no_more_of_them() -> None:
    task, design = random_case(5, n_fixed=0)
    tight = replace(task, least_load=task.loads(design) + 1, most_load=task.loads(design) - 1)
    after = spread(tight, design, weight=0.5, seed=1)
    np.testing.assert_array_equal(tight.loads(after), tight.loads(design))
    np.testing.assert_array_equal(tight.readings(after), tight.readings(design))


def test_the_same_seed_gives_the_same_design_and_another_seed_another() -> None:
    task, design = random_case(1, 14, 7, 3, slack=2)
    one, again, other = (spread(task, design, weight=0.2, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("even", [True, False])
def test_compiled_loops_give_the_same_design_as_plain_ones(even: bool) -> None:
    for seed in range(3):
        task, design = random_case(seed, 16, 8, 3, even=even, slack=2)
        task.precision.flags.writeable = False
        plain, change = exchange(task, design, 0.3, seed, 2, one_pass)
        quick, same = exchange(task, design, 0.3, seed, 2, compiled_pass())
        np.testing.assert_array_equal(plain, quick)
        np.testing.assert_allclose(change, same, rtol=1e-9, atol=1e-9)
        assert change[0] > 0


def test_expertise_is_never_lowered_where_nothing_else_counts() -> None:
    for seed in range(10):
        task, design = random_case(seed, slack=2)
        after, change = exchange(task, design, 1.0, seed, 3, one_pass)
        assert expertise_of(task, after) > expertise_of(task, design)
        assert change[0] > 0
        unsaid = replace(task, expertise=None)
        np.testing.assert_array_equal(spread(unsaid, design, weight=1.0, seed=seed), design)


def test_what_is_minimised_falls_and_more_weight_on_expertise_gives_more_of_it() -> None:
    task, design = random_case(2, 40, 10, 3, even=True, slack=3, n_fixed=0)
    found = [exchange(task, design, weight, 1, 6, compiled_pass())[0] for weight in (0.0, 0.5, 0.95)]
    expertise = [expertise_of(task, one) for one in found]
    assert expertise == sorted(expertise)
    assert expertise[0] < expertise[2]
    mean = traces(task, design)[0] / (task.n_objects - 1)

    def objective(weight: float, chosen: Flags) -> float:
        first, second = traces(task, chosen)
        overlap = 3 - 3 * first / mean / task.n_objects + second / mean**2 / task.n_objects
        return (1 - weight) * overlap + weight * (1 - expertise_of(task, chosen) / task.total)

    for weight, one in zip((0.0, 0.5, 0.95), found, strict=True):
        assert objective(weight, one) < objective(weight, design)


def test_values_vary_less_than_in_the_best_of_several_random_designs() -> None:
    starts = [random_even_design(60, 12, 3, seed) for seed in range(6)]
    best_of_random = min(mean_variance(task, design) for task, design in starts)
    for seed, (task, design) in enumerate(starts):
        after, _ = exchange(task, design, 0.0, seed, 6, compiled_pass())
        assert task.broken(after) == []
        assert mean_variance(task, after) < best_of_random


def test_nothing_is_done_where_nothing_is_chosen() -> None:
    task, design = random_case(1)
    nothing = np.zeros_like(design)
    np.testing.assert_array_equal(spread(task, nothing, weight=0.0, seed=1), nothing)
