"""A fit that is updated equals a fit made anew."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.evidence import evidence
from evenhand.answers.heldout import leverages
from evenhand.errors import InputError, NotConnectedError
from evenhand.solve.corrections import UpdatedSolver
from panels import random_panel


def anew(fit: eh.Fit, **options: Any) -> eh.Fit:
    """Calibrate the panel of a fit from the beginning."""
    panel = fit.panel
    again = eh.Panel.from_arrays(
        panel.object_index,
        panel.assessor_index,
        panel.score,
        None if panel.confidence == "none" else panel.precision,
        objects=panel.objects,
        assessors=panel.assessors,
    )
    return {"cwc": eh.calibrate, "iba": eh.incomplete_block, "sa": eh.simple_average, "cwa": eh.weighted_average}[
        fit.method
    ](again, **options)


def assert_estimates(found: eh.Fit, wanted: eh.Fit, *, atol: float = 1e-7) -> None:
    np.testing.assert_allclose(found.values.estimate, wanted.values.estimate, rtol=0, atol=atol)
    np.testing.assert_allclose(found.biases.estimate, wanted.biases.estimate, rtol=0, atol=atol)


def assert_same(found: eh.Fit, wanted: eh.Fit, *, atol: float = 1e-7) -> None:
    assert_estimates(found, wanted, atol=atol)
    assert found.residual == pytest.approx(wanted.residual, rel=1e-8)
    assert found.degrees_of_freedom == wanted.degrees_of_freedom
    assert found.values.sd is not None
    assert wanted.values.sd is not None
    np.testing.assert_allclose(found.values.sd, wanted.values.sd, rtol=1e-6)
    assert found.biases.sd is not None
    assert wanted.biases.sd is not None
    np.testing.assert_allclose(found.biases.sd, wanted.biases.sd, rtol=1e-6)


@pytest.fixture
def _low_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct even small panels instead of fitting them anew."""
    monkeypatch.setattr("evenhand.answers.update.SMALL", 0)


def free_pair(panel: eh.Panel) -> tuple[str, str]:
    seen = set(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    o, a = next((o, a) for o in range(panel.n_objects) for a in range(panel.n_assessors) if (o, a) not in seen)
    return panel.objects[o], panel.assessors[a]


@pytest.mark.usefixtures("_low_rank")
@pytest.mark.parametrize("gauge", ["weighted", "zero_sum", eh.Reference(50.0)])
@pytest.mark.parametrize("method", [eh.calibrate, eh.incomplete_block])
@given(seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_any_few_changes_give_the_fit_that_would_be_made_anew(method: Any, gauge: Any, seed: int) -> None:
    panel = random_panel(seed, 9, 6, 22)
    generator = np.random.default_rng(seed)
    fit = method(panel, gauge=gauge)
    chosen = generator.permutation(panel.n_assessments)
    pairs = [(panel.objects[panel.object_index[e]], panel.assessors[panel.assessor_index[e]]) for e in chosen]
    found = eh.update(fit, put=[(*free_pair(panel), 71.0, 2.0), (*pairs[0], 44.0), (*pairs[1], 55.0, 0.3)])
    found = eh.update(found, put=[(*pairs[0], 47.0, 1.5)])
    try:
        found = eh.update(found, remove=[pairs[2]])
    except NotConnectedError:
        return
    assert_same(found, anew(found, gauge=gauge))


@pytest.mark.usefixtures("_low_rank")
def test_a_corrected_fit_answers_every_question() -> None:
    panel = random_panel(5, 12, 8, 40)
    start = eh.calibrate(panel)
    first = (panel.objects[panel.object_index[0]], panel.assessors[panel.assessor_index[0]])
    found = eh.update(start, put=[(*free_pair(panel), 71.0, 2.0)], remove=[first])
    assert isinstance(found.posterior.solver, UpdatedSolver)
    wanted = anew(found)
    assert_same(found, wanted)
    np.testing.assert_allclose(leverages(found), leverages(wanted), rtol=1e-7)
    assert evidence(found).log_evidence == pytest.approx(evidence(wanted).log_evidence, abs=1e-6)
    assert found.connectivity.mu2 == pytest.approx(wanted.connectivity.mu2, rel=1e-9)
    covariances = [fit.covariance() for fit in (found, wanted)]
    assert covariances[0] is not None
    assert covariances[1] is not None
    np.testing.assert_allclose(covariances[0], covariances[1], rtol=0, atol=1e-7)
    contrast = {found.panel.objects[0]: 1.0, found.panel.objects[1]: -1.0}
    assert found.contrast(contrast).sd == pytest.approx(wanted.contrast(contrast).sd, rel=1e-7)
    drawn = found.draw(20_000, seed=1)[0]
    assert wanted.values.sd is not None
    np.testing.assert_allclose(drawn.std(axis=0), wanted.values.sd, rtol=0.1)


@pytest.mark.usefixtures("_low_rank")
def test_a_score_withdrawn_and_given_again_brings_everything_back() -> None:
    panel = random_panel(6, 9, 6, 25)
    start = eh.calibrate(panel)
    pair = (panel.objects[panel.object_index[3]], panel.assessors[panel.assessor_index[3]])
    away = eh.update(start, remove=[pair])
    back = eh.update(away, put=[(*pair, float(panel.score[3]), float(panel.precision[3]))])
    np.testing.assert_allclose(back.values.estimate, start.values.estimate, atol=1e-9)
    np.testing.assert_allclose(leverages(back)[-1], leverages(start)[3], rtol=1e-8)


def test_newcomers_and_leavers_are_fitted_from_where_the_panel_stood() -> None:
    panel = random_panel(8, 9, 6, 25)
    fit = eh.calibrate(panel)
    found = eh.update(fit, put=[("new", panel.assessors[0], 55.0, 1.0), ("new", panel.assessors[1], 60.0, 1.0)])
    assert found.panel.objects[-1] == "new"
    assert_same(found, anew(found))
    gone = [
        (panel.objects[o], panel.assessors[a])
        for o, a in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
        if o == 0
    ]
    left = eh.update(found, remove=gone)
    assert panel.objects[0] not in left.panel.objects
    assert_same(left, anew(left))


@pytest.mark.usefixtures("_low_rank")
def test_groups_that_change_members_are_noticed_though_their_number_stays() -> None:
    def block(i: int) -> list[tuple[int, int]]:
        return [(3 * i + x, 3 * i + y) for x in range(3) for y in range(3)]

    o, a = (np.array(side) for side in zip(*[*block(0), *block(1), (0, 3), *block(2)], strict=True))
    score = np.random.default_rng(1).normal(60, 10, o.size)
    fit = eh.calibrate(eh.Panel.from_arrays(o, a, score), per_component=True)
    found = eh.update(fit, remove=[("0", "3")], put=[("6", "3", 50.0)])
    assert_same(found, anew(found, per_component=True))


@pytest.mark.parametrize("small", [0, 200])
def test_groups_that_nobody_asked_to_calibrate_apart_are_refused_as_calibrate_does(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.answers.update.SMALL", small)
    # every object seen once makes two groups here, which nobody had to ask for
    fit = eh.calibrate(eh.Panel.from_arrays([0, 1, 2, 3], [0, 0, 1, 1], [40.0, 45.0, 50.0, 70.0]))
    moved = eh.update(fit, put=[("0", "0", 50.0)])
    np.testing.assert_allclose(moved.values.estimate - moved.values.estimate[1], [5.0, 0.0, 5.0, 25.0])
    with pytest.raises(NotConnectedError, match="2 groups"):
        eh.update(fit, put=[("0", "new", 3.0)])  # one object is seen twice now, and the others cannot be compared
    joined = eh.update(fit, put=[("0", "1", 60.0)])
    assert_estimates(joined, anew(joined))
    with pytest.raises(NotConnectedError, match="2 groups"):
        eh.update(eh.update(joined, put=[("1", "1", 60.0)]), remove=[("0", "1"), ("1", "1")], put=[("0", "new", 3.0)])


@pytest.mark.usefixtures("_low_rank")
def test_groups_that_are_calibrated_apart_may_come_and_go() -> None:
    edges = [(3 * g + i, 3 * g + j) for g in range(2) for i in range(3) for j in range(3)]
    o, a = np.array(edges).T
    panel = eh.Panel.from_arrays(o, a, np.random.default_rng(1).normal(60, 10, o.size))
    apart = eh.calibrate(panel, per_component=True)
    joined = eh.update(apart, put=[("0", "3", 50.0)])
    assert joined.connectivity.is_connected
    changed = eh.update(joined, put=[("0", "3", 55.0)])  # corrected, not fitted anew
    assert changed.posterior.solver is joined.posterior.solver
    again = eh.update(changed, remove=[("0", "3")])
    assert_same(again, apart)
    fresh = eh.calibrate(joined.panel)
    with pytest.raises(NotConnectedError, match="2 groups"):
        eh.update(fresh, remove=[("0", "3")])


@pytest.mark.parametrize("form", ["in order", "by label"])
def test_weights_of_an_affine_gauge_stay_with_their_assessors(form: str) -> None:
    panel = random_panel(8, 9, 6, 25)
    weights = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    gauge = eh.Affine(weights if form == "in order" else dict(zip(panel.assessors, weights, strict=True)), 1.5)
    fit = eh.calibrate(panel, gauge=gauge)
    leaving = [
        (panel.objects[o], panel.assessors[0])
        for o, a in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
        if a == 0
    ]
    # as many assessors as before, each in another place
    newcomer = [(panel.objects[0], "new", 55.0, 1.0), (panel.objects[1], "new", 60.0, 2.0)]
    found = eh.update(fit, remove=leaving, put=newcomer)
    assert found.panel.assessors == (*panel.assessors[1:], "new")
    by_label = eh.Affine(dict(zip(panel.assessors[1:], weights[1:].tolist(), strict=True)), 1.5)
    assert_same(found, anew(found, gauge=by_label))
    assert weights[1:] @ found.biases.estimate[:5] == pytest.approx(1.5, abs=1e-9)
    again = eh.update(found, put=[(panel.objects[2], "another", 50.0, 1.0)])
    assert weights[1:] @ again.biases.estimate[:5] == pytest.approx(1.5, abs=1e-9)
    last = [
        (panel.objects[o], panel.assessors[5])
        for o, a in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
        if a == 5
    ]
    with pytest.raises(InputError, match="gives a weight to 5, whose last score would be withdrawn"):
        eh.update(fit, remove=last)


def test_averages_are_updated_too() -> None:
    panel = random_panel(8, 9, 6, 25)
    found = eh.update(eh.simple_average(panel), put=[(*free_pair(panel), 10.0, 1.0)])
    np.testing.assert_allclose(found.values.estimate, anew(found).values.estimate)


def test_many_changes_are_fitted_anew_from_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.answers.update.SMALL", 0)
    monkeypatch.setattr("evenhand.answers.update._MOST", 2)
    panel = random_panel(4, 9, 6, 25)
    fit = eh.calibrate(panel)
    for step in range(4):
        fit = eh.update(fit, put=[(*free_pair(fit.panel), 50.0 + step, 1.0)])
    assert not isinstance(fit.posterior.solver, UpdatedSolver) or fit.posterior.solver.change.size <= 2
    assert_same(fit, anew(fit))


def test_a_large_panel_is_updated_by_iteration() -> None:
    generator = np.random.default_rng(9)
    edges = sorted({(o, int(a)) for o in range(900) for a in generator.choice(500, 6, replace=False)})
    o, a = (np.array(side) for side in zip(*edges, strict=True))
    assert np.unique(a).size == 500
    panel = eh.Panel.from_arrays(o, a, generator.normal(60, 10, o.size))
    fit = eh.calibrate(panel)
    found = eh.update(fit, put=[(*free_pair(panel), 10.0)])
    assert isinstance(found.posterior.solver, UpdatedSolver)
    np.testing.assert_allclose(found.values.estimate, anew(found).values.estimate, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"remove": [("0", "nobody")]}, "nothing to remove"),
        ({"put": [("0", "0", float("nan"))]}, "not a score"),
        ({"put": [("0", "0", 1.0), ("0", "0", 2.0)]}, "changed twice"),
        ({"put": [("0", "0")]}, "is not an assessment"),
        ({"put": [("new", "0", 5.0)]}, "give one for the new score"),
        ({"put": [("0", "0", 5.0, -1.0)]}, "must be positive"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(changes: Any, message: str) -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 5.0], [1.0, 1.0, 1.0, 2.0])
    with pytest.raises(InputError, match=message):
        eh.update(eh.calibrate(panel), **changes)


def test_levels_and_uncertainties_are_declared_as_in_the_panel() -> None:
    import polars as pl

    frame = pl.DataFrame(
        {
            "object": ["x", "x", "y", "y"],
            "assessor": ["A", "B"] * 2,
            "score": [1.0, 2.0, 3.0, 5.0],
            "level": list("hmlh"),
        }
    )
    fit = eh.update(eh.calibrate(eh.Panel.from_frame(frame)), put=[("x", "B", 2.5, "low")])
    assert fit.panel.precision[1] == pytest.approx(1.75**-2)
    frame = frame.drop("level").with_columns(uncertainty=pl.lit(2.0))
    fit = eh.update(eh.calibrate(eh.Panel.from_frame(frame)), put=[("x", "B", 2.5, 4.0)])
    assert fit.panel.precision[1] == pytest.approx(1 / 16)
    with pytest.raises(InputError, match="not a level"):
        eh.update(
            eh.calibrate(eh.Panel.from_frame(frame.rename({"uncertainty": "level"}).with_columns(level=pl.lit("h")))),
            put=[("x", "B", 2.5, "enormous")],
        )
