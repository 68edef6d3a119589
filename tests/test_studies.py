"""The paper's case studies, rerun: published numbers, brute force beside the study, and plans beside simulations."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import EvenhandError, InputError, NoDesignError
from evenhand.studies import case_1
from evenhand.studies.case_1 import (
    COMPARED,
    MEASURES,
    PROFILES,
    PUBLISHED_RUNS,
    Published,
    SimulationStudy,
    one_run,
    profile_name,
)
from evenhand.studies.printed import beside, figure_1_panel

SMALL: dict[str, Any] = {"n_objects": 40, "n_assessors": 5, "per_object": (2, 3), "runs": 3}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Published:
    return eh.studies.read_published(shared_data / "case_study_1_published.csv")


# --- the engine ----------------------------------------------------------------------------------


def dense_errors(simulated: eh.Simulation, confidence: np.ndarray) -> list[float]:
    """Return the four measures from the full normal equations, the last row replaced as the paper did."""
    panel = simulated.panel
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    design = np.zeros((panel.n_assessments, size))
    rows = np.arange(panel.n_assessments)
    design[rows, panel.object_index] = 1
    design[rows, n_objects + panel.assessor_index] = 1
    matrix = design.T @ (confidence[:, None] * design)
    right = design.T @ (confidence * panel.score)
    matrix[-1], right[-1] = np.repeat([0.0, 1.0], [n_objects, panel.n_assessors]), 0.0
    found = np.linalg.solve(matrix, right)
    of_values = np.abs(found[:n_objects] - simulated.values)
    of_biases = np.abs(found[n_objects:] - simulated.biases)
    return [of_values.mean(), of_values.max(), of_biases.mean(), of_biases.max()]


def test_the_errors_of_a_run_are_those_of_the_full_system_solved_densely() -> None:
    study = eh.studies.simulation_study(**SMALL, seed=3)
    profile, numbers = PROFILES[1], study.numbers
    seed = (3, 2, 3, *np.asarray(profile).view(np.uint64).tolist())
    simulated = eh.simulate_panel(40, 5, 3, seed=seed, profile=profile, value_step=1.0)
    panel = simulated.panel
    found = study.errors[1, 1, 2]
    assert found[1] == pytest.approx(dense_errors(simulated, np.ones(panel.n_assessments)), rel=1e-9)
    assert found[2] == pytest.approx(dense_errors(simulated, panel.precision), rel=1e-9)
    means = np.array([panel.score[panel.object_index == o].mean() for o in range(40)])
    assert found[0, :2] == pytest.approx(
        [np.abs(means - simulated.values).mean(), np.abs(means - simulated.values).max()]
    )
    assert np.isnan(found[0, 2:]).all()
    assert numbers["n_objects"] == 40


def test_values_and_scores_are_whole_points_within_bounds() -> None:
    simulated = eh.simulate_panel(200, 5, 2, seed=(1, 2), value_step=1.0, value_sd=40.0)
    for numbers in (simulated.values, simulated.panel.score):
        assert (numbers == np.round(numbers)).all()
        assert numbers.min() == 0
        assert numbers.max() == 100


def test_published_errors_of_averages_are_those_of_whole_values_and_whole_scores(published: Published) -> None:
    # else the largest error would not be a multiple of 1/(100 r), nor the mean of 1/(3000 * 100 r)
    for (_, per_object), cell in published.items():
        for number, count, digits in (
            (cell["sa_max_error"], 100 * per_object, 1e-4),
            (cell["sa_mean_error"], 3000 * 100 * per_object, 0.02),
        ):
            assert number * count == pytest.approx(round(number * count), abs=digits)


def test_a_cell_does_not_depend_on_the_other_cells() -> None:
    whole = eh.studies.simulation_study(**SMALL)
    alone = eh.studies.simulation_study(**SMALL | {"per_object": (3,), "runs": 2}, profiles=PROFILES[2:3])
    assert (alone.errors[0, 0, :, 1:] == whole.errors[2, 1, :2, 1:]).all()


def test_seeds_and_runs_and_cells_give_different_panels() -> None:
    whole = eh.studies.simulation_study(**SMALL)
    assert np.unique(whole.errors[..., 2, 0]).size == whole.errors[..., 2, 0].size
    assert (eh.studies.simulation_study(**SMALL, seed=2).errors[..., 2, 0] != whole.errors[..., 2, 0]).all()


def test_the_numbers_do_not_depend_on_the_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_1, "_WORTH_A_PROCESS", 1)
    before = dict(os.environ)
    told: list[float] = []
    from evenhand.progress import listening

    with listening(lambda _task, done, total: told.append(done / (total or 1))):
        spread_out = eh.studies.simulation_study(**SMALL, jobs=2)
    assert np.array_equal(spread_out.errors, eh.studies.simulation_study(**SMALL).errors, equal_nan=True)
    assert told == sorted(told)
    assert told[-1] == 1
    assert dict(os.environ) == before


def test_a_small_study_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_1, "ProcessPoolExecutor", None)
    assert eh.studies.simulation_study(**SMALL, jobs=8).runs == 3


def end_abruptly(_calls: Sequence[Any]) -> list[Any]:
    os._exit(9)


def test_a_process_that_is_killed_ends_the_study_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_1, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(case_1, "_batch", end_abruptly)
    with pytest.raises(EvenhandError, match="ended from outside"):
        eh.studies.simulation_study(**SMALL, jobs=2)


def test_the_table_has_a_row_for_each_profile_count_and_method() -> None:
    study = eh.studies.simulation_study(**SMALL)
    columns = study.columns()
    assert len(columns["profile"]) == 4 * 2 * 3
    at = next(
        i
        for i, key in enumerate(zip(columns["profile"], columns["per_object"], columns["method"], strict=True))
        if key == ("1:2:1", 3, "cwc")
    )
    cell = study.errors[2, 1, :, COMPARED.index("cwc"), MEASURES.index("value_max_error")]
    assert columns["value_max_error"][at] == pytest.approx(cell.mean())
    assert columns["value_max_error_se"][at] == pytest.approx(cell.std(ddof=1) / math.sqrt(3))
    assert columns["bias_mean_error"][at - 2] is None
    assert study.to_frame().columns == list(columns)


def test_a_single_run_has_no_standard_error() -> None:
    assert set(eh.studies.simulation_study(**SMALL | {"runs": 1}).columns()["value_mean_error_se"]) == {None}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runs": 0}, "at least one"),
        ({"seed": -1}, "not negative"),
        ({"profiles": ()}, "a profile"),
        ({"per_object": (6,)}, "6 assessors cannot read each object"),
        ({"profiles": ((1.0, 2.0),)}, "one frequency for each uncertainty"),
        ({"bounds": (5.0, 5.0)}, "in order"),
        ({"step": 0.0}, "must be positive"),
        ({"n_objects": 3, "n_assessors": 12}, "more objects, or more assessors per object"),
    ],
)
def test_a_study_that_cannot_be_is_refused_in_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        eh.studies.simulation_study(**SMALL | options)


def test_calibration_is_closer_to_the_truth_than_averages_and_confidence_helps_too() -> None:
    study = eh.studies.simulation_study(n_objects=300, n_assessors=10, per_object=(3,), runs=10)
    means = study.means[..., 0]
    assert (means[:, 0, 0] > means[:, 0, 1]).all()
    assert (means[:, 0, 1] > means[:, 0, 2]).all()


# --- case study 1 --------------------------------------------------------------------------------


def value_scores(study: SimulationStudy, published: Published, measure: int, spreads: np.ndarray) -> np.ndarray:
    """Return (ours - published) / standard error of the difference, for each cell and method."""
    column = "{}_mean_error" if measure == 0 else "{}_max_error"
    printed = np.array(
        [
            [
                [published[profile_name(profile), r][column.format(method)] for method in COMPARED]
                for r in (2, 3, 4, 5, 6)
            ]
            for profile in PROFILES
        ]
    )
    widening = math.sqrt(1 / study.runs + 1 / PUBLISHED_RUNS)
    return np.asarray((study.means[..., measure] - printed) / (spreads[..., measure] * widening))


@pytest.mark.slow
def test_ten_runs_give_the_published_value_errors_within_three_standard_errors(published: Published) -> None:
    study = eh.studies.simulation_study(runs=10)
    # the spread between ten runs is a poor estimate: take the four profiles together
    pooled = np.sqrt(np.mean(np.square(study.spreads), axis=0, keepdims=True))
    for measure in (0, 1):
        assert np.abs(value_scores(study, published, measure, pooled)).max() <= 3


@pytest.fixture(scope="module")
def full_study() -> SimulationStudy:
    return eh.studies.simulation_study(jobs=os.cpu_count() or 1)


def count_within(study: SimulationStudy, published: Published, measure: int) -> int:
    """Return how many of the 60 errors are within three standard errors, and print it."""
    scores = value_scores(study, published, measure, study.spreads)
    assert scores.shape == (4, 5, 3)
    within = int((np.abs(scores) <= 3).sum())
    name = ("mean", "largest")[measure]
    print(f"\n{name} errors: {within} of 60 within three standard errors, the worst at {np.abs(scores).max():.2f}")
    return within


@pytest.mark.study
def test_a_hundred_runs_give_the_published_mean_errors_within_three_standard_errors(
    full_study: SimulationStudy, published: Published
) -> None:
    assert count_within(full_study, published, 0) == 60


@pytest.mark.study
@pytest.mark.xfail(reason="IBA, 1:1:1, r = 6 is 3.2 standard errors off: its published runs drew large mean biases")
def test_a_hundred_runs_give_the_published_largest_errors_within_three_standard_errors(
    full_study: SimulationStudy, published: Published
) -> None:
    assert count_within(full_study, published, 1) == 60


def fake_study(published: Published, shift: float = 0.0, runs: int = 100) -> SimulationStudy:
    """Return a study whose means are the published ones, value errors moved by a shift."""
    errors, about = np.full((4, 5, runs, 3, 4), np.nan), np.tile([-1.0, 1.0], runs // 2)
    for p, profile in enumerate(PROFILES):
        for r in range(5):
            cell = published[profile_name(profile), r + 2]
            for m, method in enumerate(COMPARED):
                errors[p, r, :, m, 0] = cell[f"{method}_mean_error"] + shift + about
                errors[p, r, :, m, 1] = cell[f"{method}_max_error"] + shift + about
            errors[p, r, :, 2, 2] = cell["cwc_bias_mean_error"] + about
            errors[p, r, :, 2, 3] = cell["cwc_bias_max_error"] + about
    numbers = eh.studies.simulation_study(n_objects=30, n_assessors=4, per_object=(3,), runs=1).numbers
    numbers = {**numbers, "n_objects": 3000, "n_assessors": 15}
    return SimulationStudy(PROFILES, (2, 3, 4, 5, 6), runs, 1, numbers, errors)


def test_every_published_number_is_compared_and_a_wrong_one_is_noticed(published: Published) -> None:
    same = eh.studies.case_study_1(fake_study(published), published)
    assert same.count("agrees") == len(same.numbers) == 20 * (6 + 2 + 4)
    moved = eh.studies.case_study_1(fake_study(published, 3 * math.sqrt(100 / 99 * 2 / 100) + 0.001), published)
    of_errors = [number for number in moved.numbers if number.place in ("figure 2", "figure 3")]
    assert {number.verdict for number in of_errors} == {"differs"}
    assert {number.verdict for number in moved.numbers if number.place == "errors of biases"} == {"agrees"}
    assert moved.differing
    near = eh.studies.case_study_1(fake_study(published, 3 * math.sqrt(100 / 99 * 2 / 100) - 0.001), published)
    assert {number.verdict for number in near.numbers if number.place in ("figure 2", "figure 3")} == {"agrees"}


def test_few_runs_widen_the_band_by_students_t_and_say_so(published: Published) -> None:
    error = math.sqrt(4 / 3 * (1 / 4 + 1 / 100))
    band = 9.2187  # of Student's t with three degrees of freedom, what three is of the normal distribution
    for shift, verdict in ((band - 0.01, "agrees"), (band + 0.01, "differs")):
        found = eh.studies.case_study_1(fake_study(published, shift * error, runs=4), published)
        assert {number.verdict for number in found.numbers if number.place == "figure 2"} == {verdict}
        assert "differ only from 9.2 standard errors on" in found.notes[0]
        assert "puts 0.5 on average" in found.notes[1]


def test_errors_stand_alone_without_published_ones_and_other_studies_are_not_compared(published: Published) -> None:
    study = eh.studies.simulation_study(**SMALL)
    alone = eh.studies.case_study_1(study)
    assert alone.count("not compared") == len(alone.numbers)
    with pytest.raises(InputError, match="n_objects"):
        eh.studies.case_study_1(study, published)


def test_bad_published_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        eh.studies.read_published(tmp_path / "nowhere.csv")
    (tmp_path / "bad.csv").write_text("profile,r\n1:1:1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a table of published errors"):
        eh.studies.read_published(tmp_path / "bad.csv")


# --- case study 2 and figure 1 -------------------------------------------------------------------


def test_every_number_of_case_study_2_agrees_or_has_a_named_difference(shared_data: Path) -> None:
    found = eh.studies.case_study_2(eh.read_panel(shared_data / "case_study_2_scores.csv"))
    by_place = {place: [n for n in found.numbers if n.place == place] for place in {n.place for n in found.numbers}}
    assert {place: len(numbers) for place, numbers in by_place.items()} == {
        "table 2": 30,
        "table 3": 45,
        "table 4": 3,
        "table 5": 3,
        "table 6": 3,
        "figure 5": 3,
    }
    assert found.differing == ()
    odd = {(n.row, n.column): (n.verdict, n.printed, round(n.ours, 2)) for n in found.numbers if n.verdict != "agrees"}
    assert odd == {
        ("AK", "bias by CWC"): ("cut off", 17.7, 17.79),
        ("AF", "bias by CWC"): ("cut off", 2.0, 2.05),
        ("AD", "bias by CWC"): ("cut off", -3.6, -3.68),
        ("AJ", "mean"): ("known", 61.0, 64.0),
        ("AJ", "sd"): ("known", 19.2, 20.09),
        ("AF", "sd"): ("known", 5.6, 6.01),
        ("all", "mean"): ("known", 66.9, 67.15),
        ("residual", "IBA"): ("known", 4388.0, 4337.51),
        ("log-evidence", "IBA"): ("known", -389.0, -383.36),
        ("log-evidence", "CWC"): ("known", -387.0, -384.65),
        ("uncertainty", "SA"): ("known", 14.1, 10.24),
    }
    assert found.to_frame().height == 87


def test_the_names_of_the_differences_are_true(shared_data: Path) -> None:
    panel = eh.read_panel(shared_data / "case_study_2_scores.csv")
    by = {label: panel.score[panel.assessor_index == at] for at, label in enumerate(panel.assessors)}
    left_out = np.flatnonzero(
        (panel.object_index == panel.objects.index("OQ")) & (panel.assessor_index == panel.assessors.index("AJ"))
    )
    assert panel.score[left_out].tolist() == [88.0]
    rest = by["AJ"][by["AJ"] != 88.0]
    assert (rest.mean(), round(rest.std(ddof=1), 1)) == (61.0, 19.2)
    assert np.delete(panel.score, left_out).mean() == pytest.approx(66.9, abs=0.05)
    assert by["AF"].std() == pytest.approx(5.6, abs=0.05)
    fit = eh.incomplete_block(panel)
    assert fit.rms_uncertainty is not None
    assert fit.rms_uncertainty * math.sqrt(4388 / fit.residual) > 8.45


def test_another_panel_is_not_taken_for_that_of_case_study_2() -> None:
    with pytest.raises(InputError, match="43 objects"):
        eh.studies.case_study_2(figure_1_panel("a"))
    other = eh.simulate_panel(43, 11, 2, seed=1).panel
    assert other.n_assessments == 86
    with pytest.raises(InputError, match="OA to OZ"):
        eh.studies.case_study_2(other)


def test_figure_1_has_the_spectral_gaps_that_the_paper_prints() -> None:
    found = eh.studies.figure_1()
    assert [number.ours for number in found.numbers] == pytest.approx([1 - math.sqrt(1 / 3), 1 - math.sqrt(2 / 3), 0])
    assert found.count("agrees") == 3
    assert [note.rpartition("; ")[2].rstrip(".") for note in found.notes] == ["1 group", "1 group", "2 groups"]


@given(st.integers(-99_999, 99_999), st.integers(0, 3))
def test_a_number_that_was_rounded_agrees_with_what_it_was_rounded_from(thousandths: int, decimals: int) -> None:
    ours = thousandths / 1000
    assert beside("table", "row", "column", f"{ours:.{decimals}f}", ours).verdict == "agrees"


def test_a_difference_without_a_note_is_left_unnamed() -> None:
    assert beside("table", "row", "column", "1.0", 1.2).verdict == "differs"
    assert beside("table", "row", "column", "1.0", 1.2, "because").note == "because"
    assert beside("table", "row", "column", "1.2", 1.2, "because").note == ""
    assert beside("table", "row", "column", "1.2", math.nan).verdict == "differs"


# --- plans ---------------------------------------------------------------------------------------


def test_planned_standard_deviations_are_the_dense_posterior_ones() -> None:
    found = eh.studies.plan(0.5, n_objects=12, n_assessors=4)
    variances = []
    for design in range(100):
        panel = eh.simulate_panel(12, 4, 3, seed=(1, 3, design)).panel
        rows = np.zeros((panel.n_assessments, 16))
        rows[np.arange(panel.n_assessments), panel.object_index] = 1
        rows[np.arange(panel.n_assessments), 12 + panel.assessor_index] = 1
        inverse = np.linalg.pinv(rows.T @ (panel.precision[:, None] * rows))
        null = np.repeat([1.0, -1.0], [12, 4])
        gauge = np.concatenate([np.zeros(12), panel.assessor_confidence])
        project = np.eye(16) - np.outer(null, gauge) / (gauge @ null)
        variances.append(np.diag(project @ inverse @ project.T)[:12])
    step = next(step for step in found.steps if step.per_object == 3)
    assert step.sd == pytest.approx(np.mean(np.sqrt(variances)), rel=1e-9)
    assert step.load == 9


def test_errors_of_simulated_values_have_the_planned_standard_deviation() -> None:
    found = eh.studies.plan(1.0, n_objects=300, n_assessors=8).steps[1]
    of_cwc: list[float] = []
    of_sa: list[float] = []
    for run in range(40):
        simulated = eh.simulate_panel(300, 8, 3, seed=(9, run), bounds=None, step=None)
        for kept, method in ((of_cwc, eh.calibrate), (of_sa, eh.simple_average)):
            errors = method(simulated.panel).values.estimate - simulated.values
            kept.append(np.abs(errors - simulated.biases.mean()).mean() * math.sqrt(math.pi / 2))  # of a normal error
    assert found.per_object == 3
    # the weighted gauge does not know the mean bias either: about its own level
    assert found.sd == pytest.approx(np.mean(of_cwc), rel=0.05)
    assert found.sd_averages == pytest.approx(np.mean(of_sa), rel=0.08)


def test_a_target_means_the_same_for_a_plan_and_for_a_design() -> None:
    # where everybody reads everything there is one design only, and both must say the same of it
    plan = eh.studies.plan(1e-3, n_objects=9, n_assessors=4, uncertainties=(5.0, 15.0), profile=(1.0, 1.0))
    panels = [
        eh.simulate_panel(9, 4, 4, seed=(1, 4, at), uncertainties=(5.0, 15.0), profile=(1.0, 1.0)).panel
        for at in range(100)
    ]
    sds = []
    for panel in panels:
        uncertainty = np.empty((4, 9))
        uncertainty[panel.assessor_index, panel.object_index] = 1 / np.sqrt(panel.precision)
        sds.append(eh.assign(9, 4, per_object=4, uncertainty=uncertainty, effort=1e-3).mean_sd)
    assert plan.steps[-1].sd == pytest.approx(np.mean(sds), rel=1e-9)
    uncertainty = np.empty((4, 9))
    uncertainty[panels[0].assessor_index, panels[0].object_index] = 1 / np.sqrt(panels[0].precision)
    reached = eh.assign(9, 4, target_sd=sds[0] * (1 + 1e-9), uncertainty=uncertainty, effort=1e-3)
    assert reached.mean_sd <= sds[0] * (1 + 1e-9)
    with pytest.raises(NoDesignError, match="cannot be reached"):
        eh.assign(9, 4, target_sd=sds[0] * (1 - 1e-6), uncertainty=uncertainty, effort=1e-3)


def test_more_assessors_per_object_mean_smaller_standard_deviations_until_the_target_is_met() -> None:
    found = eh.studies.plan(3.0, n_objects=200, n_assessors=10)
    sds = found.columns()["sd"]
    assert sds == sorted(sds, reverse=True)
    assert found.answer is found.steps[-1]
    assert found.steps[-2].sd > 3 >= found.steps[-1].sd
    assert found.to_frame().height == len(sds)
    assert "per object" in str(found)


def test_a_target_that_no_number_of_assessors_meets_is_answered_with_no() -> None:
    found = eh.studies.plan(0.5, n_objects=50, n_assessors=4)
    assert found.answer is None
    assert str(found).startswith("No: even if all 4 assessors read every object")
    assert found.steps[-1].per_object == 4


def test_a_plan_passes_over_designs_that_fall_apart() -> None:
    assert eh.studies.plan(0.1, n_objects=3, n_assessors=9).steps[0].per_object > 2


@pytest.mark.parametrize("options", [{"target_sd": 0.0}, {"n_assessors": 1}, {"profile": (1.0,)}, {"seed": -1}])
def test_a_plan_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        eh.studies.plan(**{"target_sd": 3.0, **options})


def test_a_run_of_a_study_can_be_repeated_by_itself() -> None:
    study = eh.studies.simulation_study(**SMALL, seed=4)
    alone = one_run(4, 1, PROFILES[3], 2, study.numbers)
    assert np.array_equal(alone, study.errors[3, 0, 1], equal_nan=True)
