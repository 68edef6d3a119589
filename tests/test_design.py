"""Designs as a user asks for them: balanced where they can be, best where all can be tried, and what to expect."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from designs import all_designs, covariance, mean_variance
from evenhand.design import find as find_module
from evenhand.design.result import Prospect, prospect, random_designs, with_pairs
from evenhand.design.start import parts_of
from evenhand.design.task import spectral_gap
from evenhand.errors import InputError, NoDesignError

BALANCED = [(7, 7, 3), (9, 12, 3), (13, 13, 4), (11, 11, 5), (16, 20, 4), (21, 21, 5)]


def balance(design: eh.Design) -> float:
    """Return the bound for the mean variance of differences divided by that, by brute force over pairs of objects."""
    task = design.task
    found = covariance(task, design.chosen)
    assert found is not None
    n = task.n_objects
    variances = [found[i, i] + found[j, j] - 2 * found[i, j] for i in range(n) for j in range(i)]
    load = task.total / task.n_assessors
    return float(2 * (n - 1) / (task.total * (load - 1) / load) / np.mean(variances))


@pytest.mark.parametrize("seed", range(20))
def test_figure_1a_is_found_from_every_seed(seed: int) -> None:
    design = eh.assign(6, 4, per_object=2, seed=seed)
    assert design.mu2 == pytest.approx(1 - np.sqrt(1 / 3), abs=1e-12)
    assert set(design.loads.values()) == {3}


@pytest.mark.parametrize("seed", range(3))
def test_figure_1a_is_found_by_exchanges_too(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_module, "_built", lambda *_: None)
    assert eh.assign(6, 4, per_object=2, seed=seed, effort=0.2).mu2 == pytest.approx(1 - np.sqrt(1 / 3), abs=1e-12)


@pytest.mark.parametrize(("objects", "assessors", "load"), BALANCED)
def test_balanced_designs_reach_the_bound_from_every_seed(objects: int, assessors: int, load: int) -> None:
    for seed in range(10):
        design = eh.assign(objects, assessors, per_object=assessors * load // objects, seed=seed)
        assert balance(design) == pytest.approx(1, abs=1e-9)
        assert design.balance == pytest.approx(1, abs=1e-9)
        # E = v (k - 1) / (k (v - 1)) of a balanced incomplete block design
        assert design.efficiency == pytest.approx(objects * (load - 1) / (load * (objects - 1)), abs=1e-9)
        assert set(design.loads.values()) == {load}


@pytest.mark.parametrize(("order", "replicates", "factor"), [(3, 2, 2 / 3), (5, 2, 0.75), (5, 3, 0.8), (4, 3, 10 / 13)])
def test_square_lattices_have_the_factor_of_the_literature(order: int, replicates: int, factor: float) -> None:
    """E = (k + 1)(r - 1) / (r (k + 2) - (k + 1)) of a square lattice (John and Williams, Cyclic designs, 1995)."""
    k, r = order, replicates
    assert factor == pytest.approx((k + 1) * (r - 1) / (r * (k + 2) - (k + 1)))
    rows, columns = np.divmod(np.arange(k * k), k)
    blocks = [rows, columns, (rows + columns) % k][:r]
    pairs = [(f"{lot}{block}", str(o)) for lot, of in enumerate(blocks) for o, block in enumerate(of.tolist())]
    assessors = sorted({a for a, _ in pairs})
    made = eh.assign([str(o) for o in range(k * k)], assessors, per_object=r, fixed=pairs)
    assert made.efficiency == pytest.approx(factor, abs=1e-9)


def test_the_factor_is_a_ratio_of_mean_variances_where_objects_are_read_alike() -> None:
    design = eh.assign(12, 9, per_object=3, seed=3, effort=0.1)
    found = covariance(design.task, design.chosen)
    assert found is not None
    differences = [found[i, i] + found[j, j] - 2 * found[i, j] for i in range(12) for j in range(i)]
    assert design.efficiency == pytest.approx(2 / 3 / np.mean(differences), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("objects", "assessors", "load"), BALANCED[:2])
def test_exchanges_alone_find_small_balanced_designs(
    objects: int, assessors: int, load: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_module, "_built", lambda *_: None)
    per_object = assessors * load // objects
    found = [eh.assign(objects, assessors, per_object=per_object, seed=seed, effort=0.3) for seed in range(10)]
    assert sum(abs(balance(design) - 1) < 1e-9 for design in found) >= 9


def small_task(generator: np.random.Generator) -> dict[str, Any]:
    """Return a request small enough for all designs to be tried."""
    n_objects, n_assessors = int(generator.integers(3, 6)), int(generator.integers(3, 6))
    conflicts = [
        (str(a + 1), str(o + 1)) for a in range(n_assessors) for o in range(n_objects) if generator.random() < 0.15
    ]
    uncertainty = generator.choice([3.0, 5.0, 9.0], (n_assessors, n_objects)) if generator.random() < 0.6 else None
    return {
        "objects": n_objects,
        "assessors": n_assessors,
        "per_object": int(generator.integers(2, 4)),
        "conflicts": conflicts,
        "uncertainty": uncertainty,
        "min_load": int(generator.integers(0, 2)),
        "max_load": int(generator.integers(2, n_objects + 1)),
    }


@pytest.mark.slow
def test_the_best_of_all_designs_is_found_in_38_of_40_problems_at_least() -> None:
    generator = np.random.default_rng(2024)
    tried = reached = 0
    while tried < 40:
        request = small_task(generator)
        try:
            design = eh.assign(**request, seed=tried, effort=0.5)
        except NoDesignError:
            continue
        task = design.task
        choices = np.diff(task.start)
        if np.prod([float(len(list(itertools.combinations(range(n), 3)))) for n in choices]) > 3_000:
            continue
        best = min(mean_variance(task, chosen) for chosen in all_designs(task))
        assert task.broken(design.chosen) == []
        tried += 1
        reached += mean_variance(task, design.chosen) <= best * (1 + 1e-9)
    assert reached >= 38


@pytest.mark.parametrize("objective", ["differences", "worst", "gap", "determinant"])
def test_other_objectives_find_their_best_design_too(objective: Any) -> None:
    uncertainty = np.random.default_rng(4).choice([3.0, 5.0], (4, 5))
    design = eh.assign(5, 4, per_object=2, min_load=1, max_load=3, uncertainty=uncertainty, objective=objective)

    def loss(chosen: Any) -> float:
        found = covariance(design.task, chosen)
        if found is None:
            return np.inf
        if objective == "worst":
            return float(np.diagonal(found).max())
        if objective == "gap":
            return 1 - spectral_gap(design.task, chosen)
        centred = np.eye(5) - 1 / 5
        own = np.linalg.eigvalsh(centred @ found @ centred)[1:]
        return float(own.sum() if objective == "differences" else np.log(own).sum())

    best = min(loss(chosen) for chosen in all_designs(design.task))
    assert loss(design.chosen) == pytest.approx(best, rel=1e-6)


def test_a_decision_on_a_top_k_puts_work_where_it_is_open() -> None:
    expected = np.array([9.0, 8.5, 8.0, 0.3, 0.1, -0.1, -0.3, -8.0, -8.5, -9.0])
    panel = eh.Panel.from_arrays(np.repeat(np.arange(10), 2), np.tile([0, 1, 2, 3, 1, 2, 3, 0, 2, 1], 2), np.zeros(20))
    design = eh.extend(panel, 8, objective="top", top=5, expected=expected, value_sd=1.0, seed=1)
    readings = design.task.readings(design.chosen)
    assert readings[3:7].sum() - 8 >= 6


@pytest.mark.parametrize("levels", [False, True])
def test_no_random_design_of_a_thousand_is_better(levels: bool) -> None:
    generator = np.random.default_rng(5)
    expertise = generator.choice([0.0, 0.5, 1.0], (6, 18)) if levels else None
    conflicts = [(str(a + 1), str(o + 1)) for a in range(6) for o in range(18) if generator.random() < 0.1]
    design = eh.assign(18, 6, per_object=2, conflicts=conflicts, expertise=expertise, effort=0.3)
    task = design.task
    ours = mean_variance(task, design.chosen)
    chance = [mean_variance(task, chosen) for chosen in random_designs(task, 1_000, seed=1)]
    assert ours <= min(chance) * (1 + 1e-12)
    if levels:
        assert ours < 0.9 * np.mean([one for one in chance if np.isfinite(one)])


def test_random_designs_keep_the_rules_and_visit_all_alike() -> None:
    task = eh.assign(4, 3, per_object=2, max_load=4, conflicts=[("1", "1")], effort=0.05).task
    every = [tuple(chosen.tolist()) for chosen in all_designs(task)]
    counts = dict.fromkeys(every, 0)
    for chosen in random_designs(task, 3_000, seed=3):
        counts[tuple(chosen.tolist())] += 1
    share = np.array(list(counts.values())) * len(every) / 3_000
    assert share.min() > 0.5
    assert share.max() < 1.6


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_rules_are_kept_and_the_same_seed_gives_the_same_design(seed: int) -> None:
    request = small_task(np.random.default_rng(seed))
    try:
        design = eh.assign(**request, seed=seed, effort=0.02)
    except NoDesignError:
        return
    task = design.task
    assert task.broken(design.chosen) == []
    assert parts_of(task, design.chosen)[0] == 1
    assert not set(design.assignments) & set(request["conflicts"])
    assert (eh.assign(**request, seed=seed, effort=0.02).chosen == design.chosen).all()


def test_the_expected_sds_are_those_of_the_fit_to_come() -> None:
    expertise = np.random.default_rng(1).random((5, 12))
    design = eh.assign(12, 5, per_object=3, expertise=expertise, uncertainty=6.0, effort=0.1)
    found = covariance(design.task, design.chosen)
    assert found is not None
    assert design.sd == pytest.approx(np.sqrt(np.diagonal(found)), rel=1e-9)
    table = design.columns()
    rows = pl.DataFrame({**table, "score": np.random.default_rng(2).normal(50, 10, len(table["object"]))})
    fit = eh.calibrate(eh.Panel.from_frame(rows, uncertainty="uncertainty"), noise="declared")
    later = dict(zip(fit.panel.objects, np.asarray(fit.values.sd), strict=True))
    assert [later[label] for label in design.task.objects] == pytest.approx(design.sd, rel=1e-9)
    assert design.mean_sd == pytest.approx(design.sd.mean())
    assert design.max_sd == pytest.approx(design.sd.max())
    assert design.mu2 == pytest.approx(spectral_gap(design.task, design.chosen), rel=1e-9)


def test_tables_of_any_kind_say_the_same() -> None:
    objects = {"paper": ["p1", "p2", "p3", "p4"], "reviews": [2, 2, 3, 2], "topics": ["a; b", "a", "b", ""]}
    people = {
        "reviewer": ["Ann", "Bob", "Cy"], "max load": [4, 4, 4], "topics": ["a", "b", "a, b"],
        "email": ["ann@x.org", None, "cy@x.org"],
    }  # fmt: skip
    designs = [eh.assign(make(objects), make(people), effort=0.1, seed=1) for make in (pl.DataFrame, pd.DataFrame)]
    mapped = eh.assign(
        objects["paper"],
        people["reviewer"],
        per_object={"p1": 2, "p2": 2, "p3": 3, "p4": 2},
        max_load=4,
        topics=({"p1": ["a", "b"], "p2": ["a"], "p3": ["b"]}, {"Ann": ["a"], "Bob": ["b"], "Cy": ["a", "b"]}),
        effort=0.1,
        seed=1,
    )
    assert designs[0].assignments == designs[1].assignments == mapped.assignments
    assert isinstance(designs[0].to_frame(), pl.DataFrame)
    assert isinstance(designs[1].to_frame(), pd.DataFrame)
    assert designs[0].emails == {"Ann": "ann@x.org", "Cy": "cy@x.org"}
    skill = {(a, o): e for a, o, e in zip(*map(mapped.columns().get, ("assessor", "object", "expertise")), strict=True)}
    assert skill["Cy", "p3"] == 1
    assert skill["Ann", "p1"] == 0.5 if ("Ann", "p1") in skill else True


def test_expertise_by_matrix_mapping_long_and_wide_table_agree() -> None:
    matrix = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0]])
    objects, people = ["x", "y", "z"], ["A", "B", "C"]
    words = {1.0: "high", 0.5: "medium", 0.0: "low"}
    pairs = [(a, o) for a in range(3) for o in range(3)]
    given = [
        matrix,
        matrix.tolist(),
        sp.csr_array(matrix + 1e-300),
        {(people[a], objects[o]): matrix[a, o] for a, o in pairs},
        {(people[a], objects[o]): words[matrix[a, o]] for a, o in pairs},
        pl.DataFrame(
            {
                "judge": [people[a] for a, _ in pairs],
                "entry": [objects[o] for _, o in pairs],
                "level": [words[matrix[a, o]] for a, o in pairs],
            }
        ),
        pd.DataFrame({"assessor": people, **{o: matrix[:, at] for at, o in enumerate(objects)}}),
        pd.DataFrame({"object": objects, **{a: matrix[at] for at, a in enumerate(people)}}),
    ]
    designs = [eh.assign(objects, people, per_object=2, expertise=one, effort=0.1) for one in given]
    for design in designs:
        assert design.task.expertise == pytest.approx(matrix.T.ravel(), abs=1e-12)
        assert design.task.precision == pytest.approx(1.75 ** (4 * matrix.T.ravel() - 2), rel=1e-9)
        assert design.assignments == designs[0].assignments


def test_weight_on_expertise_buys_expertise_with_precision() -> None:
    generator = np.random.default_rng(3)
    expertise = np.zeros((8, 24))
    for object_ in range(24):  # two camps of experts
        expertise[(object_ % 2) * 4 : (object_ % 2) * 4 + 4, object_] = generator.uniform(0.6, 1, 4)
    found = [
        eh.assign(24, 8, per_object=2, expertise=expertise, factor=1.0, expertise_weight=weight, effort=0.1)
        for weight in (0.0, 0.5, 1.0)
    ]
    skills = [design.mean_expertise for design in found]
    variances = [design.mean_variance for design in found]
    assert skills == sorted(skills)  # type: ignore[type-var]
    assert variances == sorted(variances)
    assert skills[2] > skills[0] + 0.1  # type: ignore[operator]
    assert all(parts_of(design.task, design.chosen)[0] == 1 for design in found)


def test_linking_objects_are_read_by_everybody_without_a_conflict() -> None:
    design = eh.assign(8, 5, per_object=2, linking=["3"], conflicts=[("2", "3")], effort=0.1)
    readers = {assessor for assessor, object_ in design.assignments if object_ == "3"}
    assert readers == {"1", "3", "4", "5"}
    assert all(sum(o == str(at) for _, o in design.assignments) == 2 for at in range(1, 9) if at != 3)


def test_fixed_pairs_stay() -> None:
    fixed = [("1", "1"), ("1", "2"), ("2", "1")]
    assert set(fixed) <= set(eh.assign(6, 4, per_object=2, fixed=fixed, effort=0.1).assignments)


def test_work_is_shared_evenly_unless_conflicts_forbid_it_and_that_is_said() -> None:
    assert set(eh.assign(10, 4, per_object=2, effort=0.1).loads.values()) == {5}
    conflicts = [("1", str(object_)) for object_ in range(1, 9)]
    design = eh.assign(10, 3, per_object=2, conflicts=conflicts, effort=0.1)
    assert max(design.loads.values()) == 9
    assert [note.kind for note in design.notes] == ["uneven_load"]


def test_one_further_assessment_is_the_next_best() -> None:
    panel = eh.simulate_panel(9, 4, 2, seed=3, uncertainties=(5.0,)).panel
    fit = eh.calibrate(panel, noise="declared")
    best = eh.next_best(fit, most=20)
    design = eh.extend(panel, 1, objective="differences")
    before = {
        (panel.assessors[a], panel.objects[o]) for a, o in zip(panel.assessor_index, panel.object_index, strict=True)
    }
    (added,) = set(design.assignments) - before
    gain = dict(zip(zip(best.assessor, best.object, strict=True), best.gain, strict=True))
    assert gain[added] == pytest.approx(max(best.gain), rel=1e-9)


def test_an_extended_panel_keeps_what_it_has_and_falls_apart_no_more() -> None:
    panel = eh.Panel.from_arrays([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], np.zeros(6))
    design = eh.extend(panel, 4, max_load=4)
    assert design.n_assessments == 10
    assert {(str(a), str(o)) for o, a in enumerate([0, 0, 1, 1, 2, 2])} <= set(design.assignments)
    assert parts_of(design.task, design.chosen)[0] == 1
    with pytest.raises(NoDesignError, match="cannot be added"):
        eh.extend(panel, 13)


@pytest.mark.parametrize(("costs", "target"), [([1.0, 1.0, 1.0], 5.4), ([1.0, 2.0, 4.0], 5.4), ([3.0, 1.0, 1.5], 6.2)])
def test_the_cheapest_design_that_is_precise_enough_costs_little_more_than_the_least(
    costs: list[float], target: float
) -> None:
    design = eh.assign(4, 3, target_sd=target, uncertainty=8.0, cost=costs)
    task = design.task
    assert design.mean_sd <= target
    best = np.inf
    for bits in range(1, 2**12):
        chosen = np.array([bits >> at & 1 for at in range(12)], dtype=bool)
        price = float(task.cost[chosen].sum())
        if price >= best or (task.readings(chosen) < 1).any():
            continue
        found = covariance(task, chosen)
        if found is not None and np.sqrt(np.diagonal(found)).mean() <= target:
            best = price
    assert best <= design.cost <= best * 1.1
    with pytest.raises(NoDesignError, match="cannot be reached"):
        eh.assign(4, 3, target_sd=1.0, uncertainty=8.0)


def test_a_target_that_was_not_reached_is_called_impossible_only_with_every_assessment_made() -> None:
    with pytest.raises(NoDesignError, match=r"cannot be reached: with every assessment that may be made"):
        eh.assign(4, 3, target_sd=1.0, uncertainty=8.0)
    with pytest.raises(NoDesignError, match=r"was not reached: the best design that was found has"):
        eh.assign(6, 4, per_object=2, target_sd=0.1, uncertainty=5.0, effort=0.1)
    # five or six assessments would join all, but not as many for each: nothing is claimed of those
    with pytest.raises(NoDesignError, match=r"No design was found in which every object has the same number"):
        eh.assign(4, 3, max_load=2, target_sd=100.0, uncertainty=8.0)


def test_the_outlook_says_what_a_lost_assessor_costs_and_what_chance_gives() -> None:
    design = eh.assign(12, 5, per_object=2, effort=0.1)
    view = eh.outlook(design, draws=30)
    assert view is not None
    assert {one.assessor for one in view.lost} == set(design.loads)
    for one in view.lost[:2]:
        kept = [(a, o) for a, o in design.assignments if a != one.assessor]
        frame = pl.DataFrame(
            {
                "assessor": [a for a, _ in kept],
                "object": [o for _, o in kept],
                "score": [0.0] * len(kept),
                "sd": [1.0] * len(kept),
            }
        )
        fit = eh.calibrate(eh.Panel.from_frame(frame), noise="declared")
        assert one.mean_sd == pytest.approx(np.asarray(fit.values.sd).mean(), rel=1e-6)
        assert one.unread == 0
    assert view.chance.connected > 0
    assert view.chance.mean_variance is not None
    assert view.chance.least_variance is not None
    assert view.chance.mean_variance >= view.chance.least_variance >= design.mean_variance * (1 - 1e-9)
    sds = [step.mean_sd for step in view.steps if step.mean_sd is not None]
    assert sds == sorted(sds, reverse=True)
    assert any(step.assessments == 24 for step in view.steps)


def test_a_design_as_large_as_a_conference_is_joined_and_keeps_the_rules() -> None:
    generator = np.random.default_rng(1)
    candidates = np.concatenate([generator.choice(700, 12, replace=False) for _ in range(1_000)])
    expertise = sp.csc_array(
        (generator.random(12_000), (candidates, np.repeat(np.arange(1_000), 12))), shape=(700, 1_000)
    )
    design = eh.assign(
        1_000, 700, per_object=3, max_load=5, expertise=expertise, only_listed=True, expertise_weight=0.5
    )
    assert design.task.n_pairs == 12_000
    assert design.task.broken(design.chosen) == []
    assert parts_of(design.task, design.chosen)[0] == 1


def test_many_expected_sds_are_estimated_by_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = eh.assign(30, 8, per_object=3, effort=0.05)
    for module in ("result", "assign"):
        monkeypatch.setattr(f"evenhand.design.{module}.LARGEST_EXACT", 5)
    sampled = eh.assign(30, 8, per_object=3, effort=0.05)
    assert [note.kind for note in sampled.notes] == ["sampled"]
    assert sampled.sd == pytest.approx(exact.sd, rel=0.25)
    assert sampled.mean_sd == pytest.approx(exact.mean_sd, rel=0.05)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"objects": [], "assessors": 3, "per_object": 2}, "no objects"),
        ({"objects": ["a", "a"], "assessors": 3, "per_object": 2}, "Object a is listed twice"),
        ({"objects": 4, "assessors": 3}, "how many assessments each object needs"),
        ({"objects": 4, "assessors": 3, "per_object": 0}, "at least one assessment"),
        ({"objects": 4, "assessors": 3, "per_object": 2.5}, "whole number"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "conflicts": [("9", "1")]}, "no assessor 9"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "expertise": {("1", "1"): 7}}, "from 0 to 1"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "expertise": np.ones((4, 3))}, "a row for each of 3"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "uncertainty": -1.0}, "must be positive"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "objective": "best"}, "no objective"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "objective": "top"}, "k from 1 to 3"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "expertise_weight": 0.5}, "needs expertise"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "only_listed": True}, "none are listed"),
        ({"objects": 4, "assessors": 3, "per_object": 2, "effort": 0}, "effort"),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        eh.assign(request_.pop("objects"), request_.pop("assessors"), **request_)


def test_a_pair_both_fixed_and_in_conflict_is_named() -> None:
    with pytest.raises(NoDesignError, match="Assessor 2 and object 3 are a fixed pair and in conflict"):
        eh.assign(4, 3, per_object=2, fixed=[("2", "3")], conflicts=[("2", "3")])


def test_a_time_limit_ends_the_search_and_is_said() -> None:
    design = eh.assign(60, 15, per_object=3, time_limit=0.3, conflicts=[("1", "1")])
    assert not design.in_time
    assert [note.kind for note in design.notes] == ["time_limit"]
    assert design.task.broken(design.chosen) == []


def test_pairs_chosen_by_hand_are_what_the_design_has_and_what_to_expect_of_them_is_known() -> None:
    made = eh.assign(["P1", "P2", "P3"], ["Ana", "Ben"], per_object=2, conflicts=(), uncertainty=8.0)
    less = with_pairs(made, [pair for pair in made.assignments if pair != ("Ben", "P1")])
    assert prospect(less.task, less.chosen).mean_sd == pytest.approx(less.mean_sd, rel=1e-7)
    broken = less.task.broken(less.chosen)
    assert "an object is read too little" in broken
    assert "an object is read too often" not in broken
    apart = with_pairs(made, [("Ana", "P1"), ("Ben", "P2")])
    assert prospect(apart.task, apart.chosen) == Prospect(None, None, unread=1, parts=2)
    assert not prospect(apart.task, apart.chosen).is_whole
    assert with_pairs(made, made.assignments) is made


def test_pairs_that_must_not_be_are_refused_by_hand_too() -> None:
    made = eh.assign(["P1", "P2", "P3"], ["Ana", "Ben", "Eva"], per_object=2, conflicts=[("Ana", "P1")])
    with pytest.raises(NoDesignError, match="Ana must not read P1"):
        with_pairs(made, [("Ana", "P1")])
    with pytest.raises(InputError, match="no assessor Nobody"):
        with_pairs(made, [("Nobody", "P1")])


def test_assigning_for_expertise_alone_is_a_row_of_the_outlook() -> None:
    generator = np.random.default_rng(5)
    expertise = generator.random((4, 5))
    design = eh.assign(5, 4, per_object=2, min_load=0, max_load=4, expertise=expertise, effort=0.2)
    ahead = eh.outlook(design, draws=2, more=1)
    assert ahead is not None
    other = ahead.by_expertise
    assert other is not None
    task = design.task
    designs = list(all_designs(task))
    assert task.expertise is not None
    most = max(float(task.expertise[one].mean()) for one in designs)
    assert other.mean_expertise == pytest.approx(most, abs=1e-6)
    assert design.mean_expertise is not None
    assert design.mean_expertise <= other.mean_expertise + 1e-9
    best = next(one for one in designs if abs(float(task.expertise[one].mean()) - most) < 1e-9)
    if other.mean_variance is not None:
        assert other.mean_variance == pytest.approx(mean_variance(task, best), rel=1e-6)
    plain = eh.outlook(eh.assign(6, 4, per_object=2), draws=2, more=0)
    assert plain is not None
    assert plain.by_expertise is None
