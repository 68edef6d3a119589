"""Exchanges scored by low-rank updates agree with dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designs import covariance, make_task
from evenhand.compiled import Flags, Floats
from evenhand.design import inverse as inverse_module
from evenhand.design.exchange import Exchange
from evenhand.design.inverse import Inverse
from evenhand.design.task import Aim, Task, spectral_gap
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity


def some_design(task: Task, per_object: int, generator: np.random.Generator) -> Flags:
    chosen = np.zeros(task.n_pairs, dtype=bool)
    for object_ in range(task.n_objects):
        pairs = np.arange(task.start[object_], task.start[object_ + 1])
        chosen[generator.choice(pairs, per_object, replace=False)] = True
    return chosen


def drawn(seed: int, even: bool) -> tuple[Task, Flags, Floats]:
    generator = np.random.default_rng(seed)
    precision = None if even else generator.uniform(0.2, 4.0, (5, 9))
    task = make_task(9, 5, 3, precision=precision)
    chosen = some_design(task, 3, generator)
    while covariance(task, chosen) is None:
        chosen = some_design(task, 3, generator)
    return task, chosen, np.full(9, 1 / 9) if even else generator.dirichlet(np.full(9, 5.0))


def swapped(task: Task, chosen: Flags, generator: np.random.Generator) -> tuple[list[int], Flags] | None:
    pairs = generator.permutation(np.flatnonzero(chosen))
    for first in pairs:
        for second in pairs:
            come = task.position(task.assessor[[first]], task.object[[second]])[0]
            back = task.position(task.assessor[[second]], task.object[[first]])[0]
            if come >= 0 and back >= 0 and not chosen[come] and not chosen[back]:
                after = chosen.copy()
                after[[first, second]] = False
                after[[come, back]] = True
                return [int(first), int(second), int(come), int(back)], after
    return None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_a_swap_changes_variances_as_dense_algebra_says(seed: int, even: bool) -> None:
    task, chosen, weight = drawn(seed, even)
    found = swapped(task, chosen, np.random.default_rng(seed))
    if found is None or covariance(task, found[1]) is None:
        return
    pairs, after = found
    exact = covariance(task, after)
    assert exact is not None
    now = Inverse(task, chosen, weight)
    mean = now.mean_variances([np.array([pair]) for pair in pairs], (-1, -1, 1, 1))
    assert mean[0] == pytest.approx(weight @ np.diagonal(exact), rel=1e-5)
    assert now.variances_after(pairs, (-1, -1, 1, 1)) == pytest.approx(np.diagonal(exact), rel=1e-5)
    now.move(pairs, (-1, -1, 1, 1))
    assert now.variances() == pytest.approx(np.diagonal(exact), rel=1e-5)
    assert now.variance == pytest.approx(weight @ now.variances(), rel=1e-12)
    assert (now.chosen == after).all()


@pytest.mark.parametrize("even", [True, False])
def test_assessments_that_are_added_handed_over_and_dropped_agree_too(even: bool) -> None:
    task, chosen, weight = drawn(3, even)
    now = Inverse(task, chosen, weight)
    absent, present = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    added = now.mean_variances([absent], (1,))
    dropped = now.mean_variances([present], (-1,))
    handed = now.mean_variances([present[:1], absent], (-1, 1))
    for at, pair in enumerate(absent):
        after = chosen.copy()
        after[pair] = True
        exact = covariance(task, after)
        assert exact is not None
        assert added[at] == pytest.approx(weight @ np.diagonal(exact), rel=1e-5)
        after[present[0]] = False
        exact = covariance(task, after)
        if exact is not None:
            assert handed[at] == pytest.approx(weight @ np.diagonal(exact), rel=1e-5)
    for at, pair in enumerate(present):
        after = chosen.copy()
        after[pair] = False
        exact = covariance(task, after)
        if exact is not None:
            assert dropped[at] == pytest.approx(weight @ np.diagonal(exact), rel=1e-5)
        else:
            assert dropped[at] > 1e3


def test_differences_are_about_the_mean_of_all_values() -> None:
    task, chosen, _ = drawn(5, even=False)
    exact = covariance(task, chosen)
    assert exact is not None
    diagonal = np.diagonal(exact)
    pairs = [diagonal[i] + diagonal[j] - 2 * exact[i, j] for i in range(9) for j in range(i)]
    spread = Inverse(task, chosen, np.full(9, 1 / 9), levelled=False).variance
    assert np.mean(pairs) == pytest.approx(spread * 2 * 9 / 8, rel=1e-6)


def test_many_moves_leave_no_rounding_errors_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse_module, "ALWAYS_AFRESH", 0)
    generator = np.random.default_rng(1)
    task = make_task(30, 8, 3, precision=generator.uniform(0.5, 2, (8, 30)))
    chosen = some_design(task, 3, generator)
    now = Inverse(task, chosen, np.full(30, 1 / 30))
    moves = 0
    while moves < 45:
        found = swapped(task, now.chosen, generator)
        assert found is not None
        if covariance(task, found[1]) is not None:
            now.move(found[0], (-1, -1, 1, 1))
            moves += 1
    exact = covariance(task, now.chosen)
    assert exact is not None
    assert now.variances() == pytest.approx(np.diagonal(exact), rel=1e-6)
    found = swapped(task, now.chosen, generator)
    assert found is not None
    after = covariance(task, found[1])
    assert after is not None
    foretold = now.mean_variances([np.array([pair]) for pair in found[0]], (-1, -1, 1, 1))
    assert foretold[0] == pytest.approx(np.diagonal(after).mean(), rel=1e-6)


def test_the_determinant_rises_as_dense_algebra_says() -> None:
    task, chosen, weight = drawn(7, even=False)
    now = Inverse(task, chosen, weight)
    absent = np.flatnonzero(~chosen)
    rise = now.log_determinants([absent], (1,))
    for at, pair in enumerate(absent[:10]):
        after = chosen.copy()
        after[pair] = True
        other = Inverse(task, after, weight)
        assert rise[at] == pytest.approx(other.log_determinant - now.log_determinant, rel=1e-6)


def test_the_gap_of_a_design_is_that_of_its_panel() -> None:
    task, chosen, _ = drawn(2, even=False)
    panel = Panel.from_arrays(task.object[chosen], task.assessor[chosen], np.zeros(27), task.precision[chosen])
    assert spectral_gap(task, chosen) == pytest.approx(connectivity(panel).mu2, rel=1e-10)


def test_wrong_decisions_are_counted_as_simulation_has_it() -> None:
    expected, generator = np.array([2.0, 1.0, 0.5, 0.0, -1.0]), np.random.default_rng(1)
    variances = np.array([0.3, 0.5, 1.0, 2.0, 0.1])
    aim = Aim("top", expected, 1.5, 2)
    line, draws = (1.0 + 0.5) / 2, 400_000
    wrong = 0.0
    for mean, variance in zip(expected, variances, strict=True):
        value = generator.normal(mean, 1.5, draws)
        score = value + generator.normal(0, np.sqrt(variance), draws)
        posterior = (mean / 1.5**2 + score / variance) / (1 / 1.5**2 + 1 / variance)
        wrong += float(np.mean((value > line) != (posterior > line)))
    assert aim.loss(variances) == pytest.approx(wrong, abs=0.006)
    slope = aim.weights(variances)
    assert slope.sum() == pytest.approx(1)
    bumped = variances.copy()
    bumped[1] += 1e-5
    other = variances.copy()
    other[2] += 1e-5
    first, second = aim.loss(bumped) - aim.loss(variances), aim.loss(other) - aim.loss(variances)
    assert slope[1] / slope[2] == pytest.approx(first / second, rel=1e-3)


@pytest.mark.parametrize("even", [True, False])
def test_the_determinant_counts_assessors_who_join_and_leave(even: bool) -> None:
    generator = np.random.default_rng(4)
    task = make_task(7, 4, 2, precision=None if even else generator.uniform(0.5, 2, (4, 7)))
    reads = np.zeros((7, 4), dtype=bool)
    reads[:, 0] = reads[:, 1] = True
    reads[0, 1], reads[0, 2] = False, True  # the third assessor reads one object, the fourth none
    chosen = reads.ravel()
    now = Exchange(task, Aim("determinant"), chosen, generator)
    for pair in (2, 6, 9):
        gone = int(np.flatnonzero(chosen & (task.object == task.object[pair]))[-1])
        for come in np.flatnonzero(~chosen & (task.object == task.object[pair])).tolist():
            after = chosen.copy()
            after[[gone, come]] = False, True
            if covariance(task, after) is None:
                continue
            told = -now._informations([np.array([gone]), np.array([come])], (-1, 1))[0]
            assert told == pytest.approx(Exchange(task, Aim("determinant"), after, generator)._plain(), abs=1e-6)
            weight = np.zeros((7, 4))
            weight[task.object[after], task.assessor[after]] = task.precision[after]
            weight = weight[:, weight.any(axis=0)]
            information = np.diag(weight.sum(axis=1)) - weight @ np.diag(1 / weight.sum(axis=0)) @ weight.T
            own = np.log(np.linalg.eigvalsh(information)[1:]).sum()
            before = np.zeros((7, 4))
            before[task.object[chosen], task.assessor[chosen]] = task.precision[chosen]
            before = before[:, before.any(axis=0)]
            information = np.diag(before.sum(axis=1)) - before @ np.diag(1 / before.sum(axis=0)) @ before.T
            other = np.log(np.linalg.eigvalsh(information)[1:]).sum()
            assert now._plain() - told == pytest.approx((own - other) / 7, abs=1e-6)
