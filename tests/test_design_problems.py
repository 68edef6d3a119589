"""Random problems with every kind of rule, against a checker, a solver and enumeration apart from the package."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from design_checker import Pair, Problem, all_rules, broken, dearest, drawn, is_possible, named_rules
from evenhand.design.result import Design, random_designs
from evenhand.errors import NoDesignError

MOST_ENUMERATED = 20_000


def solved(problem: Problem, **further: Any) -> Design:
    return eh.assign(list(problem.objects), pd.DataFrame(problem.table()), **problem.options(), **further)


def attempt(problem: Problem, **further: Any) -> Design | NoDesignError:
    try:
        return solved(problem, **further)
    except NoDesignError as error:
        return error


def check(problem: Problem) -> str:
    """Check a design, or the cause that there is none, and say which."""
    single = sum(problem.per_object.values()) == len(problem.objects)  # which is refused unless loads are free
    found = attempt(problem, effort=0.05, loads="free" if single or len(problem.linked) % 2 else "even")
    if isinstance(found, Design):
        assert broken(problem, found.assignments) == []
        assert found.task.broken(found.chosen) == []
        return "design"
    assert found.kind != "not_found", str(found)
    assert is_possible(problem, all_rules(problem)) is False, str(found)
    named = named_rules(problem, found.cause)
    assert named, str(found)
    assert is_possible(problem, [rule for rules in named for rule in rules]) is False, str(found)
    for left_out in range(0 if "Perhaps fewer are to blame" in str(found) else len(named)):
        rest = [rule for at, rules in enumerate(named) if at != left_out for rule in rules]
        assert is_possible(problem, rest) is not False, f"{found} {named[left_out]}"
    return found.kind


@pytest.mark.parametrize("seed", range(30))
def test_a_design_keeps_every_rule_or_a_smallest_cause_is_named(seed: int) -> None:
    check(drawn(seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_designs_keep_every_rule_or_a_smallest_cause_is_named(part: int) -> None:
    found = [check(drawn(1_000 + 50 * part + at, large=at % 5 == 0)) for at in range(50)]
    assert 5 < found.count("design") < 45


def check_expertise(problem: Problem, seed: int) -> bool:
    """Check the design of most expertise against CP-SAT, and say whether there is one."""
    worth = {pair: float(number) for pair, number in zip(every_pair(problem), uniform(problem, seed), strict=True)}
    found = attempt(problem, expertise=worth, expertise_weight=1, loads="free")
    if isinstance(found, NoDesignError):
        return False
    assert broken(problem, found.assignments) == []
    best = dearest(problem, worth)
    # two readers of weight one half are worth what one of weight one is: connection may cost a little
    assert best is None or sum(worth[pair] for pair in found.assignments) >= 0.999 * best
    return True


def every_pair(problem: Problem) -> list[Pair]:
    return list(itertools.product(problem.assessors, problem.objects))


def uniform(problem: Problem, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(len(every_pair(problem)))


def all_designs(problem: Problem) -> Iterator[list[Pair]]:
    """Yield every design that keeps all rules of a small problem."""
    barred = problem.conflicts | problem.authors
    able = {o: [a for a in problem.assessors if (a, o) not in barred] for o in problem.objects}
    choices = [list(itertools.combinations(able[o], problem.per_object[o])) for o in problem.objects]
    for picked in itertools.product(*choices):
        pairs = [(a, o) for o, readers in zip(problem.objects, picked, strict=True) for a in readers]
        if not broken(problem, pairs):
            yield pairs


def variance_of(problem: Problem, pairs: list[Pair]) -> float:
    """Return the mean variance of values in a fit's gauge, from a pseudo-inverse."""
    used = sorted({a for a, _ in pairs})
    n_objects, n = len(problem.objects), len(problem.objects) + len(used)
    matrix, weight = np.zeros((n, n)), np.zeros(n)
    for a, o in pairs:
        i, j = list(problem.objects).index(o), n_objects + used.index(a)
        matrix[np.ix_([i, j], [i, j])] += 1
        weight[j] += 1
    null = np.concatenate([np.ones(n_objects), -np.ones(len(used))])
    projection = np.eye(n) - np.outer(null, weight) / (weight @ null)
    covariance = projection @ np.linalg.pinv(matrix) @ projection.T
    return float(np.diagonal(covariance)[:n_objects].mean())


def check_variance(problem: Problem) -> bool:
    """Check the mean variance of a design against that of all others, and say whether there is one."""
    many = math.prod(math.comb(len(problem.assessors), number) for number in problem.per_object.values())
    if many > MOST_ENUMERATED:
        return False
    found = attempt(problem, loads="free")
    if isinstance(found, NoDesignError):
        return False
    best = min(variance_of(problem, pairs) for pairs in all_designs(problem))
    assert found.mean_variance == pytest.approx(variance_of(problem, found.assignments))
    assert found.mean_variance <= 1.001 * best
    return True


@pytest.mark.parametrize("seed", range(12))
def test_expertise_and_variance_are_the_best_that_the_rules_allow(seed: int) -> None:
    problem = drawn(5_000 + seed)
    check_expertise(problem, seed)
    check_variance(problem)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_expertise_and_variance_are_the_best_that_the_rules_allow_in_hundreds_of_problems(part: int) -> None:
    found = [
        (check_expertise(problem, seed), check_variance(problem))
        for seed in range(40 * part, 40 * part + 40)
        for problem in [drawn(6_000 + seed)]
    ]
    assert sum(expertise for expertise, _ in found) > 5
    assert sum(variance for _, variance in found) > 2


@pytest.mark.parametrize("seed", [2, 7, 11, 23])
def test_cheapest_and_random_designs_keep_every_rule_too(seed: int) -> None:
    problem = replace(drawn(7_000 + seed), min_load={}, max_load={}, fixed=frozenset(), apart=frozenset())
    problem = replace(problem, linked=frozenset([(problem.objects[0], problem.objects[1])]), authors=frozenset())
    most = dict.fromkeys(problem.objects, len(problem.assessors))
    cheap = attempt(replace(problem, per_object=most), target_sd=0.9, effort=0.1)
    if isinstance(cheap, Design):
        counts = {o: sum(p == o for _, p in cheap.assignments) for o in problem.objects}
        assert broken(replace(problem, per_object=counts), cheap.assignments) == []
    found = attempt(problem, loads="free", effort=0.1)
    if isinstance(found, Design):
        for chosen in random_designs(found.task, 20, seed=seed):
            task = found.task
            pairs = [
                (task.assessors[task.assessor[at]], task.objects[task.object[at]]) for at in np.flatnonzero(chosen)
            ]
            assert set(broken(problem, pairs)) <= {"not connected"}
