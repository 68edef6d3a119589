"""Panels from arrays and frames: no copies that are not needed, and no doubt about what was wrong."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import evenhand as eh
from evenhand.errors import InputError, Problem
from evenhand.panel.column import Numbered
from evenhand.panel.layout import Roles
from evenhand.panel.panel import Panel
from evenhand.panel.source import Read
from panels import check_columns, connected_panels, random_panel


def arrays() -> tuple[Any, Any, Any, Any]:
    return (
        np.array([0, 0, 1, 1], dtype=np.uint32),
        np.array([0, 1, 0, 1], dtype=np.uint32),
        np.array([1.0, 2.0, 4.0, 6.0]),
        np.array([1.0, 2.0, 0.5, 1.0]),
    )


def test_arrays_are_taken_without_copies() -> None:
    given_ = arrays()
    panel = Panel.from_arrays(*given_)
    for mine, theirs in zip(
        (panel.object_index, panel.assessor_index, panel.score, panel.precision), given_, strict=True
    ):
        assert np.shares_memory(mine, theirs)


def test_the_callers_own_arrays_stay_writeable_and_the_panels_are_not() -> None:
    given_ = arrays()
    panel = Panel.from_arrays(*given_)
    eh.calibrate(panel)
    for theirs in given_:
        assert theirs.flags.writeable
    for mine in (panel.object_index, panel.assessor_index, panel.score, panel.precision):
        with pytest.raises(ValueError, match="read-only"):
            mine[0] = 1


def test_read_only_arrays_and_views_are_taken_too() -> None:
    given_ = arrays()
    for array in given_:
        array.flags.writeable = False
    assert Panel.from_arrays(*given_).n_assessments == 4
    table = np.arange(12.0).reshape(4, 3)
    strided = Panel.from_arrays(given_[0], given_[1], table[:, 1])
    assert strided.score.tolist() == [1.0, 4.0, 7.0, 10.0]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_codes_of_any_integer_type_give_the_same_answer(dtype: Any) -> None:
    objects, assessors, score, confidence = arrays()
    wanted = eh.calibrate(Panel.from_arrays(objects.astype(int), assessors.astype(int), score, confidence))
    fit = eh.calibrate(Panel.from_arrays(objects.astype(dtype), assessors.astype(dtype), score, confidence))
    assert fit.values.estimate.tolist() == wanted.values.estimate.tolist()
    assert fit.panel.object_assessments.tolist() == [2, 2]
    assert fit.connectivity.bridges.size == 0
    assert fit.panel.to_frame()["object"].to_list() == ["0", "0", "1", "1"]


def test_more_than_256_objects_can_be_read_by_assessors_with_byte_codes() -> None:
    objects = np.arange(600) // 2
    assessors = (np.arange(600) * 7 % 12).astype(np.uint8)
    panel = Panel.from_arrays(objects, assessors, np.arange(600.0))
    wanted = Panel.from_arrays(objects, assessors.astype(int), np.arange(600.0))
    assert eh.connectivity(panel).n_components == eh.connectivity(wanted).n_components


def test_whole_number_scores_and_plain_lists_are_taken() -> None:
    panel = Panel.from_arrays([0, 1], [0, 0], [3, 4])
    assert panel.score.dtype == np.float64
    assert panel.score.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (([], [], []), "empty", "no scores"),
        (([0, 2], [0, 0], [1.0, 2.0]), "bad_codes", "object_index goes up to 2 but has gaps"),
        (([0, 0], [1, 1], [1.0, 2.0]), "bad_codes", "assessor_index goes up to 1 but has gaps"),
        (([0, 10**12], [0, 0], [1.0, 2.0]), "bad_codes", "has gaps"),
        (([0, -1], [0, 0], [1.0, 2.0]), "bad_codes", "-1 is not a code"),
        (([0.0, 1.0], [0, 0], [1.0, 2.0]), "bad_codes", "whole-number codes"),
        ((["a", "b"], [0, 0], [1.0, 2.0]), "bad_codes", "np.unique"),
        (([True, False], [0, 0], [1.0, 2.0]), "bad_codes", "whole-number codes"),
        (([0, 1], [0], [1.0, 2.0]), "bad_shape", "assessor_index must be one array of 2 codes"),
        (([[0], [1]], [0, 0], [1.0, 2.0]), "bad_shape", "object_index must be one array"),
        (([0, 1], [0, 0], [[1.0, 2.0]]), "bad_shape", "Scores must be one array"),
        (([0, 1], [0, 0], [1.0, float("nan")]), "bad_score", "nan is not a finite number"),
        (([0, 1], [0, 0], [float("-inf"), 1.0]), "bad_score", "-inf is not a finite number"),
        (([0, 1], [0, 0], [1.0, 2.0], [1.0]), "bad_shape", "2 scores but 1 confidences"),
        (([0, 1], [0, 0], [1.0, 2.0], [1.0, 0.0]), "bad_confidence", "0 is not a confidence"),
        (([0, 1], [0, 0], [1.0, 2.0], [-3.0, 1.0]), "bad_confidence", "-3 is not a confidence"),
        (([0, 1], [0, 0], [1.0, 2.0], [1.0, float("nan")]), "bad_confidence", "not a finite"),
        (([0, 1], [0, 0], [1.0, 2.0], [1.0, float("inf")]), "bad_confidence", "not a finite"),
    ],
)
def test_bad_arrays_are_refused_in_a_sentence(arguments: tuple[Any, ...], kind: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Panel.from_arrays(*arguments)
    assert caught.value.kind == kind


def test_the_place_of_a_bad_number_in_an_array_is_given() -> None:
    with pytest.raises(InputError) as caught:
        Panel.from_arrays([0, 1, 2], [0, 0, 0], [1.0, 2.0, np.nan])
    assert caught.value.where == "score[2]"
    with pytest.raises(InputError) as caught:
        Panel.from_arrays([0, 1, 2], [0, 0, 0], [1.0, 2.0, 3.0], [1.0, -1.0, 1.0])
    assert caught.value.where == "confidence[1]"
    with pytest.raises(InputError) as caught:
        Panel.from_arrays([0, 1, 2], [0, -7, 0], [1.0, 2.0, 3.0])
    assert caught.value.where == "assessor_index[1]"


@pytest.mark.parametrize("score", [["1", "x"], [None, 1.0], [object(), 1.0]])
def test_scores_that_are_no_numbers_are_an_error_of_ours(score: Any) -> None:
    with pytest.raises(InputError):
        Panel.from_arrays([0, 1], [0, 0], score)


@pytest.mark.parametrize("confidence", [[1e-310, 1.0], [5e-324, 1.0]])
def test_confidences_too_small_to_compute_with_are_refused_as_in_a_file(confidence: list[float]) -> None:
    with pytest.raises(InputError) as caught:
        Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0], confidence)
    assert caught.value.where == "confidence[0]"


@pytest.mark.parametrize("labels", [["x"], ["x", "y", "z"], ["x", "x"]])
def test_labels_must_be_as_many_as_codes_and_all_different(labels: list[str]) -> None:
    with pytest.raises(InputError, match="needs 2 different labels") as caught:
        Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0], objects=labels)
    assert caught.value.kind == "bad_labels"


def test_labels_are_the_codes_as_text_where_none_are_given() -> None:
    panel = Panel.from_arrays([0, 1, 2], [0, 0, 0], [1.0, 2.0, 3.0], assessors=["Ann"])
    assert isinstance(panel.objects, Numbered)
    assert list(panel.objects) == ["0", "1", "2"]
    assert panel.assessors == ("Ann",)


def test_numbered_labels_behave_like_a_list_of_them() -> None:
    labels = Numbered(12)
    assert (len(labels), labels[3], labels[-1], labels[2:5]) == (12, "3", "11", ["2", "3", "4"])
    assert labels.index("7") == 7
    assert "12" not in labels
    assert labels[::-5] == ["11", "6", "1"]
    with pytest.raises(IndexError):
        _ = labels[12]


def test_a_pair_scored_twice_in_arrays_stays_two_assessments() -> None:
    panel = Panel.from_arrays([0, 0], [0, 0], [1.0, 3.0])
    assert panel.n_assessments == 2
    assert eh.calibrate(panel).values.estimate.tolist() == [2.0]
    assert eh.calibrate(panel).degrees_of_freedom == 1


@given(connected_panels(repeats=True))
def test_totals_are_sums_over_assessments(panel: Panel) -> None:
    for o in range(panel.n_objects):
        mine = panel.object_index == o
        assert panel.object_assessments[o] == mine.sum()
        assert panel.object_confidence[o] == pytest.approx(panel.precision[mine].sum())
    for a in range(panel.n_assessors):
        mine = panel.assessor_index == a
        assert panel.assessor_assessments[a] == mine.sum()
        assert panel.assessor_confidence[a] == pytest.approx(panel.precision[mine].sum())
    assert panel.total_confidence == pytest.approx(panel.object_confidence.sum())


def test_equal_confidences_leave_the_panel_as_it_was() -> None:
    panel = random_panel(1)
    equal = panel.with_equal_confidence()
    assert (equal.precision == 1).all()
    assert equal.precision.shape == panel.precision.shape
    assert not (panel.precision == 1).all()
    assert equal.score is panel.score


def test_a_panel_without_confidence_weighs_all_alike() -> None:
    panel = Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0])
    assert panel.confidence == "none"
    assert panel.precision.tolist() == [1.0, 1.0]
    assert random_panel(1).confidence == "confidence"


def test_a_panel_reads_well() -> None:
    assert repr(Panel.from_arrays([0], [0], [1.0])) == (
        "Panel(1 object, 1 assessor, 1 assessment, no declared confidence)"
    )
    assert "declared confidences" in repr(random_panel(1))


def test_a_panel_cannot_be_changed() -> None:
    panel = random_panel(1)
    with pytest.raises(AttributeError):
        panel.score = np.zeros(3)  # type: ignore[misc]


def test_a_panel_goes_out_as_a_table_and_comes_back_the_same() -> None:
    panel = random_panel(2)
    table = panel.to_frame()
    assert table.columns == ["object", "assessor", "score", "confidence"]
    back = Panel.from_frame(table)
    assert back.score.tolist() == panel.score.tolist()
    assert back.precision.tolist() == panel.precision.tolist()
    assert back.confidence == "confidence"
    one = dict(zip(panel.objects, eh.calibrate(panel).values.estimate.tolist(), strict=True))
    other = dict(zip(back.objects, eh.calibrate(back).values.estimate.tolist(), strict=True))
    assert {label: other[label] for label in one} == pytest.approx(one, rel=1e-13)


FRAME = {"Paper": ["x", "x", "y"], "Judge": ["A", "B", "B"], "Marks": [1.0, 2.0, 4.0], "SD": [1.0, 2.0, 0.5]}


def test_columns_are_recognised_by_name() -> None:
    panel = Panel.from_frame(pl.DataFrame(FRAME))
    assert panel.objects == ("x", "y")
    assert panel.assessors == ("A", "B")
    assert panel.confidence == "uncertainty"
    assert panel.precision.tolist() == [1.0, 0.25, 4.0]


def test_columns_can_be_given_and_a_number_can_be_read_as_either_form() -> None:
    odd = pl.DataFrame({"p": ["x", "y"], "q": ["A", "A"], "r": [1.0, 2.0], "t": [2.0, 4.0]})
    weights = Panel.from_frame(odd, object="p", assessor="q", score="r", confidence="t")
    sds = Panel.from_frame(odd, object="p", assessor="q", score="r", uncertainty="t")
    none = Panel.from_frame(odd, object="p", assessor="q", score="r")
    assert (weights.confidence, weights.precision.tolist()) == ("confidence", [2.0, 4.0])
    assert (sds.confidence, sds.precision.tolist()) == ("uncertainty", [0.25, 0.0625])
    assert (none.confidence, none.precision.tolist()) == ("none", [1.0, 1.0])


def test_a_missing_column_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="Marks"):
        Panel.from_frame(pl.DataFrame({"Paper": ["x"], "Marks": [1.0]}))
    with pytest.raises(InputError, match="nothing"):
        Panel.from_frame(pl.DataFrame(FRAME), score="nothing")


def test_a_problem_in_a_frame_is_placed_by_row_and_the_frames_own_column_name() -> None:
    frame = pl.DataFrame(FRAME | {"SD": [1.0, -2.0, 0.5]})
    with pytest.raises(InputError) as caught:
        Panel.from_frame(frame)
    assert caught.value.where == "row 1, column SD"  # rows of a frame count from 0


def test_options_reach_the_cells() -> None:
    frame = pl.DataFrame(
        {"object": ["x", "x", "y"], "assessor": ["A"] * 3, "score": [1, 3, 5], "level": ["top", "h", "m"]}
    )
    panel = Panel.from_frame(frame, aliases={"top": "high"}, duplicates="combine", factor=3.0)
    assert panel.score.tolist() == [2.0, 5.0]
    assert panel.precision.tolist() == [18.0, 1.0]
    assert panel.factor == 3.0
    assert [note.kind for note in panel.notes] == ["duplicate"]


def test_notes_of_a_reader_come_before_those_of_the_cells() -> None:
    names = ("object", "assessor", "score")
    entries = check_columns([["x", "y"], ["A", "A"], [1.0, None]], names, Roles(0, 1, 2), [1, 2])
    panel = Panel.from_read(Read(entries, [Problem("reader", "A word.")]))
    assert [note.kind for note in panel.notes] == ["reader", "not_assessed", "unassessed_object"]
    assert panel.backend == "polars"
    assert panel.factor is None


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ([8, 7, 7, 6], 1.0),
        ([50, 70], 1.0),  # two scores may end in a zero by chance
        ([50, 55, 60, 75, 80, 95], 5.0),
        ([10, 20, 30, 40], 10.0),
        ([7.5, 8, 8.5, 9, 6.5], 0.5),
        ([1.25, 2.5, 3.75, 4, 0.25, 7, 9.5], 0.25),
        ([66.6, 70, 71.3], 0.1),
        ([2 / 3, 1 / 3], None),
        ([1e200, 3e199], 1.0),
        ([0.0, 0.0], 1.0),
    ],
)
def test_the_grid_of_the_scores_is_found(scores: list[float], step: float | None) -> None:
    found = Panel.from_arrays(range(len(scores)), [0] * len(scores), scores).step
    assert found == (None if step is None else pytest.approx(step, rel=1e-12))
