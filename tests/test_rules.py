"""Cells as people wrote them: every bad one named with its row and column, nothing lost, labels untouched."""

import decimal
import fractions
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import InputError, Problem
from evenhand.panel.confidence import FormHint
from evenhand.panel.entries import Entries
from evenhand.panel.layout import Roles
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text, parse_number
from evenhand.panel.source import Read
from evenhand.words import count_of, name_some
from panels import check_columns, connected_panels


def check(
    rows: Sequence[tuple[object, ...]], form: FormHint = "none", *, decimal_comma: bool = False, **options: Any
) -> Entries:
    """Check rows (object, assessor, score) or (object, assessor, score, declared), numbered from 2."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    names = ("Paper", "Reviewer", "Mark", "Sure")[: len(columns)]
    roles = Roles(0, 1, 2, 3 if len(columns) > 3 else None, form)
    return check_columns(columns, names, roles, range(2, len(rows) + 2), decimal_comma=decimal_comma, **options)


def problems_of(rows: Sequence[tuple[object, ...]], form: FormHint = "none", **options: Any) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        check(rows, form, **options)
    return caught.value.problems


GOOD = ("x", "A", 1.0)


@pytest.mark.parametrize(
    "score", ["abc", "1.2.3", "12,5", "1_000", "0x10", "nan", "NaN", "n/b", "50%%", "--1", "1e", True, [1.0], "１２x"]
)
def test_a_score_that_is_no_number_is_named_with_its_row_and_column(score: object) -> None:
    (problem,) = problems_of([GOOD, ("y", "A", score)])
    assert problem.kind == "bad_score"
    assert problem.where == "row 3, column Mark"
    assert "is not a number" in problem.message


@pytest.mark.parametrize("score", ["inf", "-Infinity", float("inf"), float("-inf"), "1e999"])
def test_an_infinite_score_is_named_with_its_row_and_column(score: object) -> None:
    (problem,) = problems_of([GOOD, ("y", "A", score)])
    assert problem.kind == "bad_score"
    assert problem.where == "row 3, column Mark"
    assert "finite" in problem.message


@pytest.mark.parametrize(
    "score", [10**400, -(10**400), fractions.Fraction(10**400)], ids=["large", "negative", "fraction"]
)
def test_a_whole_number_too_large_for_a_double_is_a_bad_score_and_no_traceback(score: object) -> None:
    (problem,) = problems_of([GOOD, ("y", "A", score)])
    assert (problem.kind, problem.where) == ("bad_score", "row 3, column Mark")


@pytest.mark.parametrize(
    ("score", "number"),
    [
        ("12", 12.0),
        (" 12.5 ", 12.5),
        ("-3", -3.0),
        ("+3", 3.0),
        ("\u22123", -3.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        (7, 7.0),
        (np.int64(7), 7.0),
        (np.float32(0.5), 0.5),
        (decimal.Decimal("12.5"), 12.5),
        (fractions.Fraction(1, 4), 0.25),
        ("1e308", 1e308),
        ("5e-324", 5e-324),
        (0, 0.0),
    ],
)
def test_numbers_are_read_as_people_write_them(score: object, number: float) -> None:
    assert check([("x", "A", score)]).score.tolist() == [number]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_written_as_text_is_read_back_to_the_last_bit(number: float) -> None:
    assert parse_number(repr(number)) == number
    assert parse_number(repr(number).replace(".", ","), decimal_comma=True) == number


def test_a_decimal_comma_is_read_where_the_file_has_one_and_refused_where_not() -> None:
    entries = check([("x", "A", "12,5", "1,5"), ("y", "A", "7", "2")], "uncertainty", decimal_comma=True)
    assert entries.score.tolist() == [12.5, 7.0]
    assert entries.precision == pytest.approx([1 / 2.25, 0.25])
    assert problems_of([("x", "A", "12,5")])[0].kind == "bad_score"


def test_two_decimal_commas_are_no_number() -> None:
    assert parse_number("1,234,5", decimal_comma=True) is None
    assert parse_number("1.234,5", decimal_comma=True) is None


@pytest.mark.parametrize("form", ["uncertainty", "confidence"])
@pytest.mark.parametrize("cell", [0, -1.5, "0", "-2", float("inf"), "inf", "-0.0"])
def test_a_confidence_that_is_not_positive_and_finite_is_named(form: FormHint, cell: object) -> None:
    (problem,) = problems_of([(*GOOD, 1), ("y", "A", 2, cell)], form)
    assert problem.kind == f"bad_{form}"
    assert problem.where == "row 3, column Sure"
    assert "positive" in problem.message


@pytest.mark.parametrize("form", ["uncertainty", "confidence"])
def test_a_word_where_a_number_should_be_is_named_and_levels_are_hinted_at(form: FormHint) -> None:
    words, levels = (problems_of([(*GOOD, 1), ("y", "A", 2, cell)], form)[0] for cell in ("odd", "High"))
    assert words.kind == levels.kind == f"bad_{form}"
    assert "is not a number" in words.message
    assert "level" not in words.message
    assert "given as level" in levels.message


@pytest.mark.parametrize(
    ("form", "cell"),
    [("uncertainty", 1e-200), ("uncertainty", 1e200), ("confidence", 1e-310), ("confidence", "5e-324")],
)
def test_a_confidence_too_extreme_to_compute_with_is_named(form: FormHint, cell: object) -> None:
    (problem,) = problems_of([(*GOOD, 1), ("y", "A", 2, cell)], form)
    assert (problem.kind, problem.where) == (f"bad_{form}", "row 3, column Sure")
    assert "too extreme" in problem.message


@pytest.mark.parametrize("cell", ["verily", "hm", "1", 3, "tallest"])
def test_an_unknown_level_is_named(cell: object) -> None:
    (problem,) = problems_of([(*GOOD, "h"), ("y", "A", 2, cell)], "level")
    assert problem.kind == "unknown_level"
    assert problem.where == "row 3, column Sure"
    assert "high, medium or low" in problem.message


def test_levels_are_read_in_any_case_and_with_spaces() -> None:
    rows = [(str(i), "A", 1.0, level) for i, level in enumerate(["H", " high", "M", "Medium ", "l", "LOW"])]
    assert check(rows, "level", factor=2.0).precision.tolist() == [4.0, 4.0, 1.0, 1.0, 0.25, 0.25]


def test_users_words_for_levels_are_read_and_numbers_can_be_such_words() -> None:
    rows: list[tuple[object, ...]] = [("x", "A", 1, "Hoch"), ("y", "A", 2, 3), ("z", "A", 2, 1.0)]
    entries = check(rows, "level", factor=2.0, aliases={"hoch": "high", "3": "high", "1": "low"})
    assert entries.precision.tolist() == [4.0, 4.0, 0.25]


@pytest.mark.parametrize("form", ["level_or_uncertainty", "level_or_confidence"])
def test_levels_mixed_with_numbers_are_refused_with_one_of_each(form: FormHint) -> None:
    problems = problems_of([("x", "A", 1, "h"), ("y", "A", 2, "m"), ("z", "A", 3, 2.5)], form)
    assert problems[0].kind == "mixed_confidence"
    assert problems[0].where == "row 4, column Sure"
    assert "'h' in row 2" in problems[0].message
    assert "'2.5' here" in problems[0].message


@pytest.mark.parametrize(
    ("form", "cells", "settled"),
    [
        ("level_or_uncertainty", ["h", "M"], "level"),
        ("level_or_uncertainty", ["2", 4.0], "uncertainty"),
        ("level_or_confidence", ["2.0", 4.5], "confidence"),
        ("level_or_confidence", ["2", 4.0], "level"),
        ("level_or_confidence", ["low", "l"], "level"),
    ],
)
def test_an_open_form_is_settled_by_the_cells(form: FormHint, cells: list[object], settled: str) -> None:
    rows = [(str(i), "A", 1.0, cell) for i, cell in enumerate(cells)]
    entries = check(rows, form)
    assert entries.form == settled
    if settled != "level":
        assert entries.precision == pytest.approx([0.25, 1 / 16] if settled == "uncertainty" else [2.0, 4.5])


def test_a_missing_confidence_beside_a_score_is_named_and_beside_none_is_not() -> None:
    (problem,) = problems_of([(*GOOD, 1), ("y", "A", 2, None), ("z", "A", None, None)], "confidence")
    assert (problem.kind, problem.where) == ("empty_confidence", "row 3, column Sure")


@pytest.mark.parametrize(("column", "name"), [(0, "Paper"), (1, "Reviewer")])
@pytest.mark.parametrize("blank", [None, "", "  ", "\t"])
def test_an_empty_label_beside_a_score_is_named(column: int, name: str, blank: object) -> None:
    row: list[object] = ["y", "B", 2.0]
    row[column] = blank
    (problem,) = problems_of([GOOD, tuple(row)])
    assert (problem.kind, problem.where) == ("empty_label", f"row 3, column {name}")


def test_every_problem_is_collected_and_the_text_counts_the_others() -> None:
    rows: list[tuple[object, ...]] = [
        ("x", "A", "bad", 1),
        ("", "A", 3, 1),
        ("y", None, 3, 1),
        ("z", "A", 3, -1),
        ("u", "A", "inf", "what"),
        ("v", "A", 5, None),
    ]
    with pytest.raises(InputError) as caught:
        check(rows, "confidence")
    found = {(problem.kind, problem.where) for problem in caught.value.problems}
    assert found == {
        ("bad_score", "row 2, column Mark"),
        ("empty_label", "row 3, column Paper"),
        ("empty_label", "row 4, column Reviewer"),
        ("bad_confidence", "row 5, column Sure"),
        ("bad_score", "row 6, column Mark"),
        ("bad_confidence", "row 6, column Sure"),
        ("empty_confidence", "row 7, column Sure"),
    }
    assert len(caught.value.problems) == 7
    assert "6 more problems" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_problems_come_in_the_order_of_the_data() -> None:
    problems = problems_of([("x", "A", "bad"), ("", "A", 3), ("y", "A", "worse"), ("z", "", 2)])
    assert [problem.where for problem in problems] == [
        "row 2, column Mark",
        "row 3, column Paper",
        "row 4, column Mark",
        "row 5, column Reviewer",
    ]


def test_more_problems_than_are_kept_are_still_counted() -> None:
    with pytest.raises(InputError) as caught:
        check([(str(i), "A", "bad") for i in range(5000)])
    assert "4999 more" in str(caught.value).replace(",", "")


@pytest.mark.parametrize("blank", [None, "", "   ", float("nan"), np.float64("nan")])
def test_rows_without_a_score_are_counted_named_and_left_out(blank: object) -> None:
    entries = check([GOOD, ("y", "A", blank), ("x", "B", 3.0), ("z", "C", blank)])
    assert entries.score.tolist() == [1.0, 3.0]
    assert entries.objects == ("x",)
    assert entries.assessors == ("A", "B")
    notes = {note.kind: note for note in entries.notes}
    assert "2 rows have no score" in notes["not_assessed"].message
    assert "3, 5" in notes["not_assessed"].message
    assert "2 objects without any score" in notes["unassessed_object"].message
    assert "y, z" in notes["unassessed_object"].message
    assert "1 assessor without any score" in notes["unassessed_assessor"].message
    assert "C" in notes["unassessed_assessor"].message


def test_words_that_mean_empty_are_the_users_choice() -> None:
    rows: list[tuple[object, ...]] = [GOOD, ("y", "A", "void"), ("z", "A", " * ")]
    assert problems_of(rows)[0].kind == "bad_score"
    assert check(rows, missing=["void", "*"]).objects == ("x",)


def test_cells_that_say_in_words_that_there_is_no_score_are_counted_by_what_they_say() -> None:
    entries = check([GOOD, ("y", "A", "COI"), ("z", "A", " n/a "), ("w", "A", "coi"), ("v", "B", "–")])
    assert entries.objects == ("x",)
    (note,) = [note for note in entries.notes if note.kind == "not_assessed"]
    assert all(words in note.message for words in ("4 rows", "'COI' (1)", "'n/a' (1)", "'–' (1)"))


@pytest.mark.parametrize("rows", [[], [("x", "A", None)], [("x", "A", ""), ("y", "B", " ")]])
def test_a_table_without_any_score_is_refused(rows: list[tuple[object, ...]]) -> None:
    (problem,) = problems_of(rows)
    assert problem.kind == "empty"
    assert "no score" in problem.message


def test_labels_are_kept_as_they_were_written() -> None:
    labels = ["007", "7", " 7", "7 ", "A b", "Ärger", "=1+1", "1e3", "0x1F", "NaN", "None", "1.0"]
    entries = check([(label, label, 1.0) for label in labels])
    assert entries.objects == tuple(labels)
    assert entries.assessors == tuple(labels)


def test_labels_that_are_numbers_read_as_people_would_write_them() -> None:
    rows: list[tuple[object, ...]] = [(7, 7.0, 1), (8.5, np.int64(3), 2), (10**20, 1e15, 3)]
    entries = check(rows)
    assert entries.objects == ("7", "8.5", "100000000000000000000")
    assert entries.assessors == ("7", "3", "1000000000000000")


@given(st.lists(st.text(min_size=1).filter(lambda text: text.strip() != ""), min_size=1, max_size=8))
def test_any_text_is_a_label_and_codes_point_at_it(labels: list[str]) -> None:
    entries = check([(label, "A", 1.0) for label in labels], duplicates="keep")
    assert [entries.objects[code] for code in entries.object_index.tolist()] == labels
    assert entries.objects == tuple(dict.fromkeys(labels))


@pytest.mark.parametrize(
    ("one", "other"), [("Ann", "ann"), ("Ann", "Ann "), ("A B", "A  B"), ("A B", "AB"), ("ﬁn", "fin"), ("é", "e\u0301")]
)
def test_labels_that_look_alike_are_pointed_out_and_not_merged(one: str, other: str) -> None:
    entries = check([("x", one, 1.0), ("x", other, 2.0)])
    assert entries.assessors == (one, other)
    (note,) = entries.notes
    assert note.kind == "similar_labels"
    assert repr(one) in note.message
    assert repr(other) in note.message
    assert note.where == f"assessor {one}"


def test_labels_that_do_not_look_alike_are_not_pointed_out() -> None:
    assert check([("007", "A", 1.0), ("7", "B", 2.0), ("07", "Á", 3.0)]).notes == ()


def test_a_repeated_pair_is_refused_with_its_rows_and_labels() -> None:
    problems = problems_of([("x", "A", 1), ("y", "A", 2), ("x", "A", 3), ("y", "B", 4), ("x", "A", 5), ("y", "B", 6)])
    assert [(problem.kind, problem.where) for problem in problems] == [
        ("duplicate", "rows 2, 4 and 6"),
        ("duplicate", "rows 5 and 7"),
    ]
    assert "assessor A scored object x 3 times" in problems[0].message
    assert "assessor B scored object y twice" in problems[1].message


def test_a_repeated_pair_without_a_score_is_no_duplicate() -> None:
    assert check([("x", "A", 1), ("x", "A", None)]).score.tolist() == [1.0]


def test_kept_duplicates_stay_separate_and_are_counted() -> None:
    entries = check([("x", "A", 1), ("x", "A", 3), ("y", "A", 2)], duplicates="keep")
    assert entries.score.tolist() == [1.0, 3.0, 2.0]
    assert entries.notes[0].message.startswith("1 repeated assessment kept")


def test_combined_duplicates_are_the_weighted_mean_with_confidences_added_in_the_order_of_the_first() -> None:
    rows: list[tuple[object, ...]] = [
        ("y", "B", 7, 2.0),
        ("x", "A", 1, 3.0),
        ("x", "B", 0.1, 1.0),
        ("x", "A", 5, 1.0),
        ("y", "B", 10, 4.0),
    ]
    entries = check(rows, "confidence", duplicates="combine")
    assert entries.score.tolist() == [9.0, 2.0, 0.1]
    assert entries.precision.tolist() == [6.0, 4.0, 1.0]
    assert [entries.objects[i] for i in entries.object_index.tolist()] == ["y", "x", "x"]
    assert [entries.assessors[i] for i in entries.assessor_index.tolist()] == ["B", "A", "B"]
    assert entries.notes[0].message.startswith("2 repeated assessments combined")


def panel_from(panel: Panel, duplicates: Any) -> Panel:
    rows = zip(panel.object_index, panel.assessor_index, panel.score.tolist(), panel.precision.tolist(), strict=True)
    entries = check([(f"o{o}", f"a{a}", s, c) for o, a, s, c in rows], "confidence", duplicates=duplicates)
    return Panel.from_read(Read(entries))


@given(connected_panels(repeats=True))
def test_combining_gives_the_values_that_keeping_gives(panel: Panel) -> None:
    keep, combine = panel_from(panel, "keep"), panel_from(panel, "combine")
    pairs = set(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    assert combine.n_assessments == len(pairs)
    assert combine.total_confidence == pytest.approx(keep.total_confidence, rel=1e-14)
    for model in (eh.calibrate, eh.weighted_average):
        one, other = model(keep), model(combine)
        assert one.values.estimate == pytest.approx(other.values.estimate, rel=1e-11, abs=1e-9)
        assert one.biases.estimate == pytest.approx(other.biases.estimate, rel=1e-11, abs=1e-9)
        assert other.residual <= one.residual * (1 + 1e-9) + 1e-12


def test_without_declared_confidence_calibration_is_incomplete_block_analysis_even_of_combined_duplicates() -> None:
    rows = [("x", "A", 1), ("x", "A", 4), ("x", "B", 7), ("y", "A", 2), ("y", "B", 4), ("z", "B", 3), ("z", "A", 9)]
    panel = Panel.from_read(Read(check(rows, duplicates="combine")))
    assert panel.confidence == "none"
    one, other = eh.calibrate(panel), eh.incomplete_block(panel)
    assert one.values.estimate == pytest.approx(other.values.estimate, rel=1e-12)


def test_an_unknown_treatment_of_duplicates_is_refused() -> None:
    with pytest.raises(InputError, match="error, keep, combine or last, not 'drop'"):
        check([GOOD], duplicates="drop")


def test_the_column_of_a_wide_sheet_is_named() -> None:
    columns = ["x", "x"], ["Ann", "Bob"], [1, "bad"]
    with pytest.raises(InputError) as caught:
        check_columns(columns, ("object", "assessor", "score"), Roles(0, 1, 2), [2, 2], is_wide=True)
    assert caught.value.where == "row 2, column Bob"


def test_a_column_of_declared_cells_is_ignored_where_the_form_is_none() -> None:
    entries = check([("x", "A", 1, "whatever"), ("y", "A", 2, None)], "none")
    assert (entries.form, entries.precision.tolist()) == ("none", [1.0, 1.0])


def test_long_cells_are_shortened_in_messages() -> None:
    assert len(problems_of([("x", "A", "z" * 10_000)])[0].message) < 200


def test_counts_and_lists_read_well() -> None:
    assert count_of(0, "object") == "0 objects"
    assert name_some(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert name_some([]) == ""
    assert label_text(-0.0) == "0"
    assert label_text(float("inf")) == "inf"


def test_an_input_error_carries_its_facts() -> None:
    error = InputError("Wrong.", kind="odd", where="row 3")
    assert (error.kind, error.where, str(error)) == ("odd", "row 3", "row 3: Wrong.")
    assert isinstance(error, eh.errors.EvenhandError)
    two = InputError([Problem("a", "One."), Problem("b", "Two.")])
    assert (two.kind, two.where) == ("a", None)
    assert "1 more problem;" in str(two)


def test_a_column_of_nothing_but_infinite_confidences_is_refused() -> None:
    frame = pl.DataFrame(
        {"object": ["a", "b"], "assessor": ["x", "x"], "score": [1.0, 2.0], "confidence": ["inf", "inf"]}
    )
    with pytest.raises(InputError) as caught:
        Panel.from_frame(frame)
    assert caught.value.kind == "unknown_level"
