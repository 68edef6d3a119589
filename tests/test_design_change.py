"""Designs that change: what stays, what is taken back and what is added; who stands in; how versions differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import evenhand as eh
from designs import covariance
from evenhand.answers.decision import decision_for
from evenhand.data import demo_path
from evenhand.design.change import alternates, changes
from evenhand.design.limits import Limits
from evenhand.errors import InputError, NoDesignError
from evenhand.panel.panel import Panel

OBJECTS = [f"P{number}" for number in range(1, 11)]
PEOPLE = ["Ana", "Ben", "Cy", "Dev", "Eva"]
DEMO = eh.read_panel(demo_path())


def made(**given: Any) -> eh.Design:
    return eh.assign(OBJECTS, PEOPLE, per_object=2, effort=0.1, **given)


def scored(pairs: list[tuple[str, str]], seed: int = 1) -> Panel:
    """Return a panel with a score and an uncertainty of its own for each pair."""
    generator = np.random.default_rng(seed)
    objects, assessors = (list(dict.fromkeys(pair[at] for pair in pairs)) for at in (1, 0))
    return Panel.from_arrays(
        [objects.index(label) for _, label in pairs],
        [assessors.index(who) for who, _ in pairs],
        generator.normal(50, 10, len(pairs)),
        1 / np.square(generator.uniform(3, 9, len(pairs))),
        objects=tuple(objects),
        assessors=tuple(assessors),
    )


# --- what stays and what comes -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_whatever_changes_nothing_that_was_there_moves_without_a_reason(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_objects, n_assessors = int(generator.integers(5, 10)), int(generator.integers(4, 7))
    before = eh.assign(n_objects, n_assessors, per_object=2, seed=seed, effort=0.05)
    left = [str(generator.integers(1, n_assessors + 1))]
    new_people, new_objects = ["N1", "N2"], ["Q1", "Q2"][: int(generator.integers(0, 3))]
    wanted = dict.fromkeys(new_objects, 3)
    barred = [before.assignments[int(generator.integers(len(before.assignments)))], ("N1", "1")]
    after = eh.extend(
        before,
        objects=new_objects or None,
        assessors=new_people,
        left=left,
        per_object=wanted,
        conflicts=barred,
        seed=seed,
        effort=0.05,
    )
    was, now = set(before.assignments), set(after.assignments)
    assert was - now == {pair for pair in was if pair[0] in left or pair in barred}
    assert not {pair for pair in now if pair[0] in left or pair in barred}
    readings = Counter(label for _, label in now)
    assert readings == {**dict.fromkeys(map(str, range(1, n_objects + 1)), 2), **wanted}
    assert after.connectivity.is_connected
    assert left[0] not in after.loads
    assert set(after.loads) == ({str(n) for n in range(1, n_assessors + 1)} | set(new_people)) - set(left)


def test_scores_that_are_in_stay_with_their_confidence_though_the_assessor_has_left() -> None:
    before = made()
    pairs = [pair for pair in before.assignments if pair[0] != "Dev"]
    early = [pair for pair in before.assignments if pair[0] == "Dev"][:1]
    panel = scored([*pairs[::2], *early])
    after = eh.extend(before, scores=panel, left=["Dev"], assessors=["Fay"], uncertainty=6.0, effort=0.1)
    now = set(after.assignments)
    assert [pair for pair in now if pair[0] == "Dev"] == early
    assert {*pairs, *early} <= now
    task = after.task
    at = {
        (task.assessors[a], task.objects[o]): n for n, (a, o) in enumerate(zip(task.assessor, task.object, strict=True))
    }
    for a, o, precision in zip(panel.assessor_index, panel.object_index, panel.precision, strict=True):
        assert task.precision[at[panel.assessors[a], panel.objects[o]]] == pytest.approx(precision)
    others = now - {*pairs[::2], *early}
    assert {task.precision[at[pair]] for pair in others} == {1 / 36}
    expected = covariance(task, after.chosen)
    assert expected is not None
    np.testing.assert_allclose(after.sd, np.sqrt(np.diagonal(expected)), rtol=1e-9)


def test_an_object_keeps_what_it_has_where_less_is_asked_for_and_gets_what_is_asked_for_by_label() -> None:
    after = eh.extend(made(), per_object={"P1": 4, "P2": 1}, effort=0.1)
    readings = Counter(label for _, label in after.assignments)
    assert readings == {**dict.fromkeys(OBJECTS, 2), "P1": 4}


def test_pairs_that_must_be_are_added_as_they_are_and_nothing_else() -> None:
    before = made()
    new = [("Ana", label) for label in OBJECTS if ("Ana", label) not in before.assignments][:2]
    after = eh.extend(before, fixed=new)
    assert set(after.assignments) == {*before.assignments, *new}
    assert changes(after).added == tuple(new)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="Zoe cannot have left"):
        eh.extend(made(), left=["Zoe"])
    with pytest.raises(InputError, match="how many assessments Q1 needs"):
        eh.extend(made(), objects=["Q1"])
    with pytest.raises(InputError, match="not both"):
        eh.extend(made(), 3, per_object=3)
    with pytest.raises(InputError, match="has scores already"):
        eh.extend(DEMO, 2, scores=DEMO)
    with pytest.raises(InputError, match="no assessment"):
        eh.extend([])
    with pytest.raises(NoDesignError, match="room for fewer"):
        eh.extend(made(), 7, max_load=5)
    with pytest.raises(InputError, match="is new"):
        changes(made())


# --- where the decision is open ------------------------------------------------------------------


def test_with_a_top_k_further_assessments_go_where_the_scores_leave_the_decision_open() -> None:
    fit = eh.calibrate(DEMO)
    decision = decision_for(fit, 10)
    assert decision is not None
    open_ = {one.object for one in decision.standings if one.status == "undecided"}
    added = changes(eh.extend(DEMO, 8, top=10, effort=0.2)).added
    assert {label for _, label in added} <= open_
    plain = changes(eh.extend(DEMO, 8, effort=0.2)).added
    assert not {label for _, label in plain} <= open_


def test_one_assessment_for_a_top_k_is_the_next_best_one_though_computed_otherwise() -> None:
    # the one counts variances about the mean of all values, the other in the gauge of a fit: near enough to agree here
    best = eh.next_best(eh.calibrate(DEMO), top=10, most=1)
    assert [label for _, label in changes(eh.extend(DEMO, 1, top=10)).added] == list(best.object)


def test_scores_count_once_in_what_they_leave_open() -> None:
    known = eh.extend(DEMO, 1, top=10).aim
    variance = np.square(known.value_sd)
    assert known.known is not None
    before = known.loss(np.asarray(variance))
    fit = eh.calibrate(DEMO)
    ordered = np.sort(fit.values.estimate)[::-1]
    distance = np.abs(fit.values.estimate - (ordered[9] + ordered[10]) / 2) / fit.values.sd
    assert before == pytest.approx(float(ndtr(-distance).sum()), rel=1e-6)
    assert known.loss(np.asarray(variance) / 2) < before
    assert known.loss(np.asarray(variance) * 1e-9) == pytest.approx(0, abs=1e-3)


# --- how versions differ -------------------------------------------------------------------------


def test_changes_name_what_came_and_went_and_what_the_earlier_design_would_have_given() -> None:
    before = made(uncertainty=8.0)
    after = eh.extend(before, left=["Cy"], assessors=["Fay", "Gil"], uncertainty=8.0, effort=0.1)
    found = changes(after)
    assert set(found.removed) == {pair for pair in before.assignments if pair[0] == "Cy"}
    assert set(found.added) == set(after.assignments) - set(before.assignments)
    assert found.moved == len(found.removed) == len(found.added)
    assert found.before.mean_sd == pytest.approx(before.mean_sd, rel=1e-9)
    assert found.before.max_sd == pytest.approx(before.max_sd, rel=1e-9)
    rows = found.assessor_columns()
    assert rows["removed"][rows["assessor"].index("Cy")] == before.loads["Cy"]
    assert rows["now"][rows["assessor"].index("Cy")] == 0
    for label, now in zip(rows["assessor"], rows["now"], strict=True):
        assert now == after.loads.get(label, 0)
    assert set(found.object_columns()["object"]) == {label for _, label in found.removed}
    assert changes(after, after).columns()["change"] == []
    again = changes(before, after)
    assert (set(again.added), set(again.removed)) == (set(found.removed), set(found.added))


# --- who stands in -------------------------------------------------------------------------------


def test_alternates_may_read_have_room_and_are_named_evenly() -> None:
    barred = [("Ana", "P1"), ("Ben", "P1"), ("Eva", "P7")]
    design = made(conflicts=barred, max_load={"Ana": 4})
    found = alternates(design, 2)
    listed = list(zip(found.assessor, found.object, strict=True))
    assert len(set(listed)) == len(listed)
    assert not set(listed) & {*design.assignments, *barred}
    assert not [who for who, _ in listed if who == "Ana" and design.loads["Ana"] >= 4]
    for label in OBJECTS:
        possible = set(PEOPLE) - {who for who, one in [*design.assignments, *barred] if one == label}
        possible -= {who for who in possible if who == "Ana" and design.loads["Ana"] >= 4}
        assert sum(one == label for one in found.object) == min(2, len(possible))
    free = alternates(made(), 2)
    assert set(Counter(free.assessor).values()) == {4}  # twenty names for five assessors


def test_the_first_alternate_is_the_one_whose_assessment_would_help_most() -> None:
    design = made(expertise=np.random.default_rng(3).random((5, 10)))
    found = alternates(design, 3)
    task = design.task
    for label in OBJECTS:
        ranked = [who for who, one in zip(found.assessor, found.object, strict=True) if one == label]
        variances = {}
        for pair in np.flatnonzero(~design.chosen & (task.object == task.objects.index(label))):
            more = design.chosen.copy()
            more[pair] = True
            covariances = covariance(task, more)
            assert covariances is not None
            variances[task.assessors[task.assessor[pair]]] = float(np.diagonal(covariances).mean())
        assert sorted(ranked) == sorted(variances)  # all three who do not read it
        assert ranked[0] == min(variances, key=lambda who: variances[who])


def test_no_alternate_breaks_a_rule() -> None:
    design = made()
    task = design.task
    first = np.flatnonzero((task.object == 0) & ~design.chosen)
    limits = Limits.of([([*np.flatnonzero(design.chosen & (task.object == 0)).tolist(), int(first[0])], 0, 2, "kind")])
    ruled = replace(design, task=replace(task, limits=limits))
    barred = task.assessors[task.assessor[first[0]]]
    pairs = set(zip(alternates(ruled, 3).assessor, alternates(ruled, 3).object, strict=True))
    assert (barred, "P1") not in pairs
    assert (barred, "P1") in set(zip(alternates(design, 3).assessor, alternates(design, 3).object, strict=True))
