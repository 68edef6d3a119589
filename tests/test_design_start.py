"""Rules of a design: a flow keeps them, a connected design is found where there is one, and causes are named."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from designs import all_designs, make_task
from evenhand.design import causes, program
from evenhand.design import start as start_module
from evenhand.design.causes import no_design
from evenhand.design.limits import Limits
from evenhand.design.program import least_cost
from evenhand.design.start import join, parts_of
from evenhand.design.task import Task
from evenhand.errors import NoDesignError


def drawn(seed: int) -> Task:
    generator = np.random.default_rng(seed)
    n_objects, n_assessors = int(generator.integers(2, 6)), int(generator.integers(2, 5))
    per_object = int(generator.integers(1, min(n_assessors, 3) + 1))
    conflicts = generator.random((n_assessors, n_objects)) < generator.choice([0, 0.2, 0.4, 0.6])
    loads = int(generator.integers(0, 3)), int(generator.integers(1, n_objects + 1))
    return make_task(n_objects, n_assessors, per_object, loads=loads, conflicts=conflicts)


@pytest.mark.parametrize("seed", range(120))
def test_a_design_is_found_if_and_only_if_there_is_one_and_joined_if_it_can_be(seed: int) -> None:
    task, generator = drawn(seed), np.random.default_rng(seed)
    designs = list(all_designs(task))
    cost = generator.random(task.n_pairs)
    found = least_cost(task, cost)
    if not designs:
        assert found is None
        return
    assert found is not None
    assert task.broken(found) == []
    assert cost[found].sum() == pytest.approx(min(cost[one].sum() for one in designs), abs=1e-5)
    if any(parts_of(task, one)[0] == 1 for one in designs):
        joined = join(task, found, generator)
        assert parts_of(task, joined)[0] == 1
        assert task.broken(joined) == []
    else:
        with pytest.raises(NoDesignError):
            join(task, found, generator)


@pytest.mark.parametrize("seed", range(60))
def test_where_nothing_costs_anything_some_design_is_found_if_and_only_if_there_is_one(seed: int) -> None:
    task = drawn(seed)
    generator = np.random.default_rng(seed)
    senior = np.flatnonzero(generator.random(task.n_assessors) < 0.5)
    sets = [
        (np.flatnonzero((task.object == o) & np.isin(task.assessor, senior)).tolist(), 1.0, 2.0, "senior")
        for o in range(task.n_objects)
    ]
    limited = replace(task, limits=Limits.of([one for one in sets if one[0]]))
    for one in (task, limited):
        found = least_cost(one, np.zeros(one.n_pairs))
        there_is = next(all_designs(one), None) is not None
        assert (found is not None) == there_is
        if found is not None:
            assert one.broken(found) == []


@pytest.mark.parametrize("seed", range(40))
def test_flows_without_ortools_cost_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = drawn(1000 + seed)
    cost = np.random.default_rng(seed).random(task.n_pairs)
    with_it = least_cost(task, cost)
    monkeypatch.setattr(program, "has_ortools", lambda: False)
    without = least_cost(task, cost)
    assert (with_it is None) == (without is None)
    if with_it is not None and without is not None:
        assert cost[with_it].sum() == pytest.approx(cost[without].sum(), abs=1e-5)


@pytest.mark.parametrize("seed", range(80))
def test_whatever_is_named_as_the_cause_is_one(seed: int) -> None:
    task = next(
        one
        for one in (drawn(2000 + 50 * seed + at) for at in range(50))
        if least_cost(one, np.zeros(one.n_pairs)) is None
    )
    error = no_design(task)
    assert error.short > 0
    assert str(error.short) in re.findall(r"\d+", str(error))
    objects = [task.objects.index(label) for label in error.objects]
    if error.kind == "object" or (error.kind == "capacity" and objects):
        concerned = objects[:1] if error.kind == "object" else objects
        group = np.isin(task.object, concerned)
        room = np.minimum(task.most_load, np.bincount(task.assessor[group], minlength=task.n_assessors))
        assert int(task.least[concerned].sum()) > int(room.sum())
    if error.kind == "capacity" and not objects:
        assert task.most_load.sum() < task.total or task.least_load.sum() > task.total
    if error.kind == "load":
        assert error.assessors


def raised(task: Task) -> NoDesignError:
    found = least_cost(task, np.zeros(task.n_pairs))
    if found is None:
        return no_design(task)
    with pytest.raises(NoDesignError) as caught:
        join(task, found, np.random.default_rng(0))
    return caught.value


def test_an_object_in_conflict_with_everybody_is_named() -> None:
    conflicts = np.zeros((4, 6), dtype=bool)
    conflicts[:3, 2] = True
    error = raised(make_task(6, 4, 2, conflicts=conflicts))
    assert str(error).startswith(
        "Object o2 needs 2 assessments, and only 1 of 4 assessors may read it; 3 assessors of 4 are in conflict with "
        "it: 1 short."
    )
    assert (error.kind, error.objects, error.short) == ("object", ("o2",), 1)


def test_missing_capacity_is_counted() -> None:
    error = raised(make_task(10, 4, 3, loads=(0, 7)))
    assert str(error).startswith("10 objects need 30 assessments in all, and 4 assessors have room for 28: 2 short.")
    assert (error.kind, error.short) == ("capacity", 2)


def test_a_group_of_objects_that_share_few_assessors_is_named_and_no_larger_than_it_must_be() -> None:
    conflicts = np.zeros((6, 8), dtype=bool)
    conflicts[2:, :4] = True  # objects 0 to 3 can be read by assessors 0 and 1 alone, who may read three each
    error = raised(make_task(8, 6, 2, loads=(0, 3), conflicts=conflicts))
    assert error.kind == "capacity"
    assert len(error.objects) == 4
    assert set(error.objects) == {"o0", "o1", "o2", "o3"}
    assert error.assessors == ("a0", "a1")
    assert error.short == 2
    assert "need 8 assessments together" in str(error)
    assert "2 short" in str(error)


def test_of_two_groups_that_are_short_each_for_itself_one_is_named() -> None:
    conflicts = np.ones((12, 12), dtype=bool)
    conflicts[:2, :4] = conflicts[2:4, 4:8] = conflicts[4:, 8:] = False  # two camps of two who may read three each
    error = raised(make_task(12, 12, 2, loads=(0, 3), conflicts=conflicts))
    assert len(error.objects) == 4
    assert len(error.assessors) == 2
    assert error.short == 2


def test_fixed_pairs_over_the_load_are_counted() -> None:
    fixed = np.zeros((3, 5), dtype=bool)
    fixed[1, :4] = True
    error = raised(make_task(5, 3, 2, loads=(0, 3), fixed=fixed))
    assert str(error).startswith("Assessor a1 has 4 fixed pairs and may read at most 3: 1 too many.")
    assert (error.kind, error.assessors, error.short) == ("fixed", ("a1",), 1)


def test_objects_that_no_assessor_may_read_across_are_named() -> None:
    conflicts = np.zeros((5, 7), dtype=bool)
    conflicts[:2, 3:], conflicts[2:, :3] = True, True
    error = raised(make_task(7, 5, 2, conflicts=conflicts))
    assert (error.kind, error.objects, error.assessors, error.short) == ("groups", ("o0", "o1", "o2"), ("a0", "a1"), 1)


def test_too_few_assessments_to_join_everything_are_counted() -> None:
    error = raised(make_task(6, 4, 1, loads=(1, 2)))
    assert (error.kind, error.short) == ("connection", 3)
    assert "only through 9 assessments or more, and 6 are asked for: 3 short" in str(error)


def test_what_only_integer_programming_can_settle_is_settled() -> None:
    # two triangles of assessors, joined by one object that only two of them may read, who are full without it
    found = 0
    for conflicts in itertools.islice(itertools.product([False, True], repeat=8), 3, 200, 9):
        matrix = np.array(conflicts).reshape(2, 4)
        task = make_task(4, 4, 2, loads=(2, 2), conflicts=np.vstack([matrix, ~matrix]))
        designs = list(all_designs(task))
        connected = [one for one in designs if parts_of(task, one)[0] == 1]
        start = least_cost(task, np.zeros(task.n_pairs))
        assert (start is not None) == bool(designs)
        if start is None:
            continue
        found += 1
        if connected:
            assert parts_of(task, join(task, start, np.random.default_rng(1)))[0] == 1
        else:
            with pytest.raises(NoDesignError):
                join(task, start, np.random.default_rng(1))
    assert found > 0


def parted() -> Task:
    """Return a task of which the first design falls into two parts, and which can be joined."""
    return make_task(6, 4, 2, loads=(3, 3))


def in_parts(task: Task) -> np.ndarray:
    """Return a design in two parts: objects 0 to 2 by assessors 0 and 1, the others by 2 and 3."""
    return np.asarray((task.object < 3) == (task.assessor < 2))


@pytest.mark.parametrize("status", [1, 4])
def test_integer_programming_that_ran_out_of_time_proves_nothing(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = parted()
    chosen = in_parts(task)
    assert task.broken(chosen) == []
    assert parts_of(task, join(task, chosen, np.random.default_rng(0)))[0] == 1
    monkeypatch.setattr(start_module, "_joins", lambda *_: iter(()))
    monkeypatch.setattr(start_module, "mix", lambda *_: None)
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: SimpleNamespace(x=None, status=status))
    with pytest.raises(NoDesignError, match=r"was found within 60 seconds, which is no proof.*another seed") as caught:
        join(task, chosen, np.random.default_rng(0))
    assert caught.value.kind == "not_found"
    assert not re.search(r"[Nn]o way", str(caught.value))


def test_a_large_task_that_no_attempt_joined_is_not_called_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    task = parted()
    monkeypatch.setattr(start_module, "_joins", lambda *_: iter(()))
    monkeypatch.setattr(start_module, "mix", lambda *_: None)
    monkeypatch.setattr(start_module, "MOST_EXACT", 1)
    with pytest.raises(NoDesignError, match=r"was found in 300 attempts, which is no proof") as caught:
        join(task, in_parts(task), np.random.default_rng(0))
    assert caught.value.kind == "not_found"


def test_a_solver_of_flows_that_gives_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "has_ortools", lambda: False)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: SimpleNamespace(x=None, status=1))
    task = parted()
    with pytest.raises(NoDesignError, match="no proof") as caught:
        least_cost(task, np.ones(task.n_pairs))
    assert caught.value.kind == "not_found"


@pytest.mark.parametrize("n_objects", [12, 250])
def test_a_cause_that_was_not_searched_for_is_not_left_unsaid(n_objects: int) -> None:
    people = [{"assessor": f"a{at}", "role": "junior" if at else "senior", "max_load": n_objects} for at in range(100)]
    people[0]["max_load"] = 5  # who would have to read everything
    with pytest.raises(NoDesignError) as error:
        eh.assign(n_objects, pd.DataFrame(people), per_object=2, require={"role": {"senior": 1}})
    assert error.value.kind == "together"
    if n_objects == 12:
        assert ("max_load", "a0") in error.value.cause
        assert "searched" not in str(error.value)
    else:
        assert error.value.cause == ()
        assert "was not searched for: that is done up to 20,000 pairs" in str(error.value)
        assert "not for 25,000" in str(error.value)


def test_a_cause_that_may_not_be_the_smallest_is_not_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    people = pd.DataFrame({"assessor": ["a", "b", "c"], "role": ["senior", "junior", "junior"], "max_load": [2, 6, 6]})
    for seconds, words in ((20.0, "Without any one of them"), (0.3, "Perhaps fewer are to blame")):
        ticks = itertools.count()
        monkeypatch.setattr(causes, "SECONDS", seconds)
        monkeypatch.setattr(causes, "time", SimpleNamespace(monotonic=lambda ticks=ticks: 0.1 * next(ticks)))
        with pytest.raises(NoDesignError, match="cannot be kept together") as error:
            eh.assign(6, people, per_object=2, require={"role": {"senior": 1}})
        assert words in str(error.value)
        assert ("max_load", "a") in error.value.cause
