"""Further columns of an assessment: criteria and covariates, from files, frames and the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import InputError, LimitError
from evenhand.io.coding import LARGE_FILE
from evenhand.io.table import MAX_CELLS
from evenhand.panel.layout import Roles, recognise
from evenhand.panel.panel import Panel
from panels import check_columns

ROWS: list[tuple[Any, ...]] = [
    ("x", "A", 60.0, 1, "expert", "merit"),
    ("x", "B", 70.0, 2.5, " novice ", "merit"),
    ("y", "A", 50.0, 2, "expert", "merit"),
    ("y", "B", 62.0, 1, "expert", "style"),
    ("x", "A", 40.0, 3, "novice", "style"),
]
HEADER = ("object", "assessor", "score", "Order", "familiarity", "Criterion")
READ: dict[str, Any] = {"covariates": ["order", "familiarity"], "criterion": "criterion"}


def lines(rows: list[tuple[Any, ...]], header: tuple[str, ...] = HEADER) -> str:
    return "\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def columns() -> dict[str, list[Any]]:
    return {name: [row[at] for row in ROWS] for at, name in enumerate(HEADER)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "scores.csv", lines(ROWS))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def check_whole(panel: Panel) -> None:
    """Assert that a panel holds what ``ROWS`` say."""
    assert list(panel.covariates) == ["order", "familiarity"]
    assert panel.covariates["order"].dtype == np.float64
    assert panel.covariates["order"].tolist() == [1.0, 2.5, 2.0, 1.0, 3.0]
    assert panel.covariates["familiarity"].dtype.kind == "U"
    assert panel.covariates["familiarity"].tolist() == ["expert", "novice", "expert", "expert", "novice"]
    assert panel.criterion is not None
    assert panel.criterion.tolist() == ["merit", "merit", "merit", "style", "style"]
    assert panel.criteria == ("merit", "style")
    assert panel.score.tolist() == [60.0, 70.0, 50.0, 62.0, 40.0]


# --- where they come from ------------------------------------------------------------------------


def test_text_files_hold_numbers_categories_and_criteria(source: Path) -> None:
    panel = eh.read_panel(source, **READ)
    check_whole(panel)
    assert panel.notes == ()


def test_decimal_commas_are_read_in_covariates_too(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "object;assessor;score;hours\nx;A;1,5;2,25\ny;A;2;3\n")
    assert eh.read_panel(path, covariates=["hours"]).covariates["hours"].tolist() == [2.25, 3.0]


def test_workbooks_hold_numbers_categories_and_criteria(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in [(*HEADER, "home"), *((*row, row[1] == "A") for row in ROWS)]:
        book.active.append(row)
    book.save(tmp_path / "scores.xlsx")
    check_whole(eh.read_panel(tmp_path / "scores.xlsx", **READ))
    home = eh.read_panel(tmp_path / "scores.xlsx", covariates=["home"], criterion="criterion").covariates["home"]
    assert home.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]


def test_parquet_files_hold_numbers_categories_and_criteria(tmp_path: Path) -> None:
    frame = pl.DataFrame(columns(), strict=False).with_columns(code=pl.Series(["1", "2", "2", "1", "1"]))
    frame = frame.with_columns(pl.col("code").cast(pl.Categorical).alias("kind"))
    frame.write_parquet(tmp_path / "scores.parquet")
    check_whole(eh.read_panel(tmp_path / "scores.parquet", **READ))
    found = eh.read_panel(tmp_path / "scores.parquet", covariates=["code", "kind"], criterion="criterion").covariates
    assert found["code"].tolist() == [1.0, 2.0, 2.0, 1.0, 1.0]
    assert found["kind"].tolist() == ["1", "2", "2", "1", "1"]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
def test_frames_hold_numbers_categories_and_criteria(make: Any) -> None:
    given = columns() | {"Order": [float(number) for number in columns()["Order"]]}
    frame = make(given)
    panel = Panel.from_frame(frame, **READ)
    check_whole(panel)
    back = panel.to_frame()
    assert type(back) is type(frame)
    again = Panel.from_frame(back, **READ)
    check_whole(again)
    assert again.objects == panel.objects


KINDS = ["Int8", "UInt16", "Int64", "Float32", "Float64"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_type_become_numbers(kind: Any) -> None:
    base = {"object": ["x", "y"], "assessor": ["A", "A"], "score": [1, 2]}
    of_polars = pl.DataFrame(base).with_columns(order=pl.Series([3, 5]).cast(getattr(pl, kind)))
    of_pandas = pd.DataFrame(base).assign(order=pd.Series([3, 5]).astype(kind), plain=np.array([3, 5], kind.lower()))
    for frame, names in ((of_polars, ["order"]), (of_pandas, ["order", "plain"])):
        for cells in Panel.from_frame(frame, covariates=names).covariates.values():
            assert cells.dtype == np.float64
            assert cells.tolist() == [3.0, 5.0]


def test_truth_values_become_one_and_zero() -> None:
    base = {"object": ["x", "y"], "assessor": ["A", "A"], "score": [1, 2], "home": [True, False]}
    for frame in (
        pl.DataFrame(base),
        pd.DataFrame(base),
        pd.DataFrame(base).astype({"home": "boolean"}),
        pa.table(base),
    ):
        assert Panel.from_frame(frame, covariates=["home"]).covariates["home"].tolist() == [1.0, 0.0]
    assert Panel.from_arrays([0, 1], [0, 0], [1, 2], covariates={"home": [True, False]}).covariates["home"].sum() == 1.0


def test_a_categorical_type_makes_categories_even_of_numbers() -> None:
    base = {"object": ["x", "y"], "assessor": ["A", "A"], "score": [1, 2], "round": ["1", "2"]}
    categorical = [
        pl.DataFrame(base).with_columns(pl.col("round").cast(pl.Categorical)),
        pl.DataFrame(base).with_columns(pl.col("round").cast(pl.Enum(["1", "2"]))),
        pd.DataFrame(base).astype({"round": "category"}),
        pd.DataFrame(base | {"round": pd.Categorical([1, 2])}),
        pa.table(base | {"round": pa.array(["1", "2"]).dictionary_encode()}),
    ]
    for frame in categorical:
        assert Panel.from_frame(frame, covariates=["round"]).covariates["round"].tolist() == ["1", "2"]
    assert Panel.from_frame(pl.DataFrame(base), covariates="round").covariates["round"].tolist() == [1.0, 2.0]


def test_a_column_with_some_numbers_is_read_as_categories_and_noted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "object,assessor,score,Round\nx,A,1,1\ny,A,2,final\nz,A,3,FINAL\n")
    panel = eh.read_panel(path, covariates=["round"])
    assert panel.covariates["round"].tolist() == ["1", "final", "FINAL"]
    assert [(note.kind, note.where) for note in panel.notes] == [
        ("mixed_covariate", "column Round"),
        ("similar_labels", "round final"),
    ]
    assert panel.notes[0].message == "round was read as categories, since 'final' in row 3 is not a number."
    assert "the categories of round 'final', 'FINAL' differ only in case" in panel.notes[1].message


def test_rows_without_a_score_do_not_count_in_further_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "object,assessor,score,order,about\nx,A,1,1,m\ny,A,,unread,\nz,A,3,NA,m\n")
    with pytest.raises(InputError, match="row 4, column order: there is a score but no order"):
        eh.read_panel(path, covariates=["order"], criterion="about", missing=["NA"])
    panel = eh.read_panel(written(path, path.read_text().replace("NA", "3")), covariates=["order"], criterion="about")
    assert panel.covariates["order"].tolist() == [1.0, 3.0]
    assert panel.criteria == ("m",)


def test_criteria_that_look_alike_or_like_sums_are_noted(tmp_path: Path) -> None:
    text = "object,assessor,score,about\nx,A,1,merit\ny,A,2,Merit\nx,A,3,Total\ny,A,4,merit\n"
    panel = eh.read_panel(written(tmp_path / "a.csv", text), criterion="about")
    assert panel.criteria == ("merit", "Merit", "Total")
    assert [(note.kind, note.where) for note in panel.notes] == [
        ("similar_labels", "criterion merit"),
        ("summary_label", "criterion Total"),
    ]
    assert panel.notes[0].message.startswith("the criteria 'merit', 'Merit' differ only in case")


def test_numbers_of_criteria_are_labels() -> None:
    frame = pl.DataFrame({"object": ["x", "x"], "assessor": ["A", "A"], "score": [1, 2], "question": [1.0, 2.0]})
    assert Panel.from_frame(frame, criterion="question").criteria == ("1", "2")
    assert Panel.from_arrays([0, 0], [0, 0], [1, 2], criterion=[1.0, 2.0]).criteria == ("1", "2")
    assert Panel.from_arrays([0, 0], [0, 0], [1, 2], criterion=[1, 2]).criteria == ("1", "2")


# --- their names ---------------------------------------------------------------------------------


def test_further_columns_are_found_as_the_others_are() -> None:
    names = ["object", "assessor", "score", "Reading_Order", "about"]
    found = recognise(names, covariates=[" reading order"], criterion="ABOUT", source="f")
    assert found == Roles(0, 1, 2, criterion=4, covariates=(3,))
    with pytest.raises(InputError, match=r"There is no column 'nix', which covariates names; the columns are 'object'"):
        recognise(names, covariates=["about", "nix"], source="f")
    with pytest.raises(InputError, match=r"There is no column 'nix', which criterion names") as caught:
        recognise(names, criterion="nix", source="f")
    assert (caught.value.kind, caught.value.where) == ("missing_column", "f")
    with pytest.raises(InputError, match=r"fits the columns 'b c', 'b_c': write the one that covariates means"):
        recognise([*names, "b c", "b_c"], covariates=["B C"], source="f")


def test_covariates_have_the_names_they_were_asked_for_by(source: Path) -> None:
    assert list(eh.read_panel(source, covariates=["ORDER "], criterion="criterion").covariates) == ["ORDER"]


def test_one_column_cannot_be_two_things() -> None:
    names = ["object", "assessor", "score", "weight", "about"]
    for given, message in (
        ({"covariates": ["score"], "score": "score"}, "given for both score and covariates"),
        ({"covariates": ["about"], "criterion": "about"}, "given for both criterion and covariates"),
        ({"criterion": "object", "object": "object"}, "given for both object and criterion"),
        ({"covariates": ["about", "About"]}, "'about' is given twice with covariates: give it once"),
    ):
        with pytest.raises(InputError, match=message):
            recognise(names, **given, source="f")


def test_a_column_that_is_a_covariate_is_not_also_the_confidence() -> None:
    names = ["object", "assessor", "score", "weight"]
    assert recognise(names, source="f").confidence == 3
    assert recognise(names, covariates=["weight"], source="f") == Roles(0, 1, 2, covariates=(3,))
    with pytest.raises(InputError, match="No column was recognised for scores"):
        recognise(names, covariates=["score"], source="f")


def test_a_header_that_stands_twice_is_noted(tmp_path: Path) -> None:
    text = "object,assessor,score,order,order,about,about\nx,A,1,1,9,m,n\ny,A,2,2,9,m,n\n"
    panel = eh.read_panel(written(tmp_path / "a.csv", text), covariates=["order"], criterion="about")
    assert panel.covariates["order"].tolist() == [1.0, 2.0]
    assert panel.criteria == ("m",)
    assert [(note.kind, note.where) for note in panel.notes] == [
        ("column_twice", "column about"),
        ("column_twice", "column order"),
    ]


# --- what is refused -----------------------------------------------------------------------------

WRONG = [("x", "A", 1, "", "", "m"), ("", "A", "two", "inf", "no", ""), ("y", "A", 3, 4, "yes", "m")]


def test_all_problems_are_reported_together_with_row_and_column(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        eh.read_panel(written(tmp_path / "a.csv", lines(WRONG)), **READ)
    assert [(problem.kind, problem.where) for problem in caught.value.problems] == [
        ("empty_covariate", "row 2, column Order"),
        ("empty_covariate", "row 2, column familiarity"),
        ("empty_label", "row 3, column object"),
        ("bad_score", "row 3, column score"),
        ("empty_criterion", "row 3, column Criterion"),
        ("bad_covariate", "row 3, column Order"),
    ]
    messages = [problem.message for problem in caught.value.problems]
    assert messages[0] == "there is a score but no Order: fill it in, or leave this covariate out."
    assert messages[5] == "Order is 'inf', which is not finite: write a finite number."


def test_missing_cells_of_frames_are_named_by_row_and_column() -> None:
    base = {"object": ["x", "y"], "assessor": ["A", "A"], "score": [1, 2], "order": [1, None], "kind": [None, "a"]}
    for frame in (pl.DataFrame(base), pd.DataFrame(base), pa.table(base)):
        with pytest.raises(InputError) as caught:
            Panel.from_frame(frame, covariates=["order"], criterion="kind")
        assert [(problem.kind, problem.where) for problem in caught.value.problems] == [
            ("empty_criterion", "row 0, column kind"),
            ("empty_covariate", "row 1, column order"),
        ]


def test_a_wide_sheet_has_no_further_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "candidate,Ann,Bob\nx,1,2\ny,3,4\n")
    for further, name in (({"covariates": ["Bob"]}, "Bob"), ({"criterion": "Ann"}, "Ann")):
        with pytest.raises(InputError, match=f"A wide sheet has .*: leave out '{name}'"):
            eh.read_panel(path, wide=True, **further)


def test_texts_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.memory.available", lambda: 2**27)
    rows = 1000
    columns = ["x"] * rows, [str(row) for row in range(rows)], [1.0] * rows, ["a" * 100_000, *["b"] * (rows - 1)]
    roles = Roles(0, 1, 2, covariates=(3,))
    names = ("object", "assessor", "score", "remark")
    with pytest.raises(LimitError, match="the texts in column remark"):
        check_columns(columns, names, roles, range(rows), covariates=["remark"])


def test_arrays_need_a_cell_for_each_score() -> None:
    for given in ({"covariates": {"order": [1, 2]}}, {"criterion": ["a", "b"]}):
        with pytest.raises(InputError, match=r"There are 3 scores, so (order|criterion) needs 3 cells"):
            Panel.from_arrays([0, 1, 2], [0, 0, 0], [1, 2, 3], **given)
    with pytest.raises(InputError, match=r"kind\[1\]: There is a score but no kind"):
        Panel.from_arrays([0, 1], [0, 0], [1, 2], covariates={"kind": ["a", None]})  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"criterion\[0\]: There is a score but no criterion"):
        Panel.from_arrays([0, 1], [0, 0], [1, 2], criterion=[None, "b"])  # type: ignore[arg-type]


# --- an object may be scored once for each criterion ---------------------------------------------


def test_a_criterion_makes_room_for_a_second_score(source: Path) -> None:
    assert eh.read_panel(source, criterion="Criterion").n_assessments == 5
    found = eh.read_panel(source)  # by its name, and since it tells repeated scores apart
    assert found.reading is not None
    assert (found.reading.criterion, found.n_assessments) == ("Criterion", 5)
    other = written(source.with_name("other.csv"), source.read_text().replace("Criterion", "Matter"))
    with pytest.raises(InputError, match="rows 2 and 6: assessor A scored object x twice: correct"):
        eh.read_panel(other)


TWICE = [*ROWS, ("x", "A", 64.0, 5, "expert", "merit"), ("y", "B", 60.0, 3, "expert", "style")]


def test_the_same_criterion_twice_is_a_duplicate(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", lines(TWICE))
    with pytest.raises(InputError) as caught:
        eh.read_panel(path, criterion="criterion")
    assert [problem.where for problem in caught.value.problems] == ["rows 2 and 7", "rows 5 and 8"]
    assert "assessor A scored object x twice for criterion merit: correct the file" in str(caught.value)
    kept = eh.read_panel(path, duplicates="keep", **READ)
    assert kept.n_assessments == 7
    assert kept.covariates["order"].tolist() == [1.0, 2.5, 2.0, 1.0, 3.0, 5.0, 3.0]


def test_duplicates_are_combined_within_a_criterion(tmp_path: Path) -> None:
    panel = eh.read_panel(written(tmp_path / "a.csv", lines(TWICE)), duplicates="combine", **READ)
    assert panel.score.tolist() == [62.0, 70.0, 50.0, 61.0, 40.0]
    assert panel.covariates["order"].tolist() == [3.0, 2.5, 2.0, 2.0, 3.0]
    assert panel.covariates["familiarity"].tolist() == ["expert", "novice", "expert", "expert", "novice"]
    assert panel.criterion is not None
    assert panel.criterion.tolist() == ["merit", "merit", "merit", "style", "style"]
    assert panel.notes[-1].message == (
        "2 repeated assessments combined with the first of the same object by the same assessor for the same criterion "
        "(mean of the scores and covariates)."
    )


def test_covariates_are_combined_with_the_weights_of_the_scores() -> None:
    frame = pl.DataFrame(
        {"object": ["x", "x", "y"], "assessor": ["A", "A", "A"], "score": [1.0, 5.0, 0.1], "weight": [3.0, 1.0, 7.0]}
    ).with_columns(order=pl.Series([2.0, 6.0, 0.3]))
    panel = Panel.from_frame(frame, covariates=["order"], duplicates="combine")
    assert panel.score.tolist() == [2.0, 0.1]
    assert panel.covariates["order"].tolist() == [3.0, 0.3]
    assert panel.precision.tolist() == [4.0, 7.0]


def test_categories_that_differ_cannot_be_combined(tmp_path: Path) -> None:
    rows = [*TWICE, ("y", "A", 1, 1, "novice", "merit"), ("y", "B", 1, 1, "novice", "style")]
    path = written(tmp_path / "a.csv", lines(rows))
    with pytest.raises(InputError) as caught:
        eh.read_panel(path, duplicates="combine", **READ)
    assert [(problem.kind, problem.where) for problem in caught.value.problems] == [
        ("bad_covariate", "rows 4 and 9"),
        ("bad_covariate", "rows 5, 8 and 10"),
    ]
    assert caught.value.problems[1].message == (
        "assessor B scored object y 3 times for criterion style with different familiarity ('expert', 'novice'), so "
        'these scores cannot be combined: correct the file, or choose duplicates keep (duplicates="keep").'
    )
    assert eh.read_panel(path, duplicates="combine", covariates=["order"], criterion="criterion").n_assessments == 5


# --- panels that have them -----------------------------------------------------------------------


def test_a_restricted_panel_keeps_its_further_columns(source: Path) -> None:
    panel = eh.read_panel(source, **READ)
    some = panel.restrict(panel.score > 55)
    assert some.covariates["order"].tolist() == [1.0, 2.5, 1.0]
    assert some.criteria == ("merit", "style")
    assert panel.with_equal_confidence().criteria == ("merit", "style")


def test_the_panel_of_one_criterion_has_no_criteria(source: Path) -> None:
    panel = eh.read_panel(source, **READ)
    style = panel.of_criterion("style")
    assert (style.criterion, style.criteria) == (None, ())
    assert style.score.tolist() == [62.0, 40.0]
    assert [style.objects[code] for code in style.object_index] == ["y", "x"]
    assert style.covariates["familiarity"].tolist() == ["expert", "novice"]
    merit = panel.of_criterion("merit")
    assert merit.n_assessments + style.n_assessments == panel.n_assessments
    with pytest.raises(InputError, match=r"There is no criterion 'cost': the criteria are merit, style\."):
        panel.of_criterion("cost")
    with pytest.raises(InputError, match="There is no criterion 'merit': the panel was made without a column"):
        merit.of_criterion("merit")


def test_one_criterion_is_calibrated_like_a_file_of_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"o{object_}", f"a{assessor}", round(float(rng.normal(50, 10)), 3), criterion)
        for criterion in ("merit", "style")
        for object_ in range(5)
        for assessor in range(3)
        if (object_ + assessor) % 3
    ]
    header = ("object", "assessor", "score", "about")
    panel = eh.read_panel(written(tmp_path / "all.csv", lines(rows, header)), criterion="about")
    alone = written(tmp_path / "style.csv", lines([row for row in rows if row[3] == "style"], header))
    expected = eh.calibrate(eh.read_panel(alone))
    found = eh.calibrate(panel.of_criterion("style"))
    assert dict(zip(found.panel.objects, found.values.estimate.tolist(), strict=True)) == pytest.approx(
        dict(zip(expected.panel.objects, expected.values.estimate.tolist(), strict=True)), abs=1e-12
    )


def test_further_columns_cannot_be_changed_and_the_callers_own_can() -> None:
    order, about = np.array([1.0, 2.0]), np.array(["m", "n"])
    panel = Panel.from_arrays([0, 1], [0, 0], [1, 2], covariates={"order": order}, criterion=about)
    assert panel.criterion is not None
    for array in (panel.covariates["order"], panel.criterion):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    order[0], about[0] = 9.0, "z"
    assert panel.covariates["order"][0] == 1.0
    assert panel.criteria == ("m", "n")


def test_tables_hold_further_columns_under_names_of_their_own(source: Path) -> None:
    table = eh.read_panel(source, **READ).to_frame()
    assert table.columns == ["object", "assessor", "criterion", "score", "confidence", "order", "familiarity"]
    assert table["criterion"].to_list() == ["merit", "merit", "merit", "style", "style"]
    given = {"confidence": [1, 2], "covariate_confidence": [3, 4]}
    table = Panel.from_arrays([0, 1], [0, 0], [1, 2], covariates=given).to_frame()
    assert table.columns[3:] == ["confidence", "covariate_confidence", "covariate_covariate_confidence"]
    assert table["covariate_confidence"].to_list() == [1.0, 2.0]


def test_a_panel_says_which_further_columns_it_has(source: Path) -> None:
    assert repr(eh.read_panel(source, **READ)) == (
        "Panel(2 objects, 2 assessors, 5 assessments, no declared confidence, criteria merit, style, covariates order, "
        "familiarity)"
    )


# --- large files and packed panels ---------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_large_file_is_read_with_its_further_columns(tmp_path: Path, suffix: str) -> None:
    size = 72_000
    frame = pl.DataFrame(
        {
            "object": [f"object {row // 6:06d}" for row in range(size)],
            "assessor": [f"assessor {row // 2 % 3}" for row in range(size)],
            "score": np.random.default_rng(1).normal(size=size),
            "order": np.arange(size) % 17,
            "about": ["merit", "style"] * (size // 2),
            "filler": np.random.default_rng(2).normal(size=size),
        }
    )
    path = tmp_path / f"large.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    assert path.stat().st_size >= LARGE_FILE
    panel = eh.read_panel(path, covariates=["order"], criterion="about")
    assert panel.n_assessments == size
    assert panel.criteria == ("merit", "style")
    np.testing.assert_array_equal(panel.covariates["order"], frame["order"].to_numpy())
    plain = eh.read_panel(path, duplicates="keep")
    np.testing.assert_array_equal(plain.score, panel.score)
    assert (plain.criteria, dict(plain.covariates)) == ((), {})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_covariate_with_a_word_far_down_is_read_as_categories(tmp_path: Path, suffix: str) -> None:
    size = 150_000
    frame = pl.DataFrame(
        {
            "object": [f"object {row:06d}" for row in range(size)],
            "assessor": "A",
            "score": 1.0,
            "round": [*(f"{row % 3}.0" for row in range(size - 1)), "final"],
        }
    )
    path = tmp_path / f"large.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path, compression="uncompressed")
    assert path.stat().st_size >= LARGE_FILE
    panel = eh.read_panel(path, covariates=["round"])
    assert panel.covariates["round"].tolist() == frame["round"].to_list()
    assert [note.kind for note in panel.notes] == ["mixed_covariate"]
    assert f"since 'final' in row {size + (suffix == 'csv')} is not a number" in panel.notes[0].message


def test_a_file_with_too_many_cells_to_be_wide_is_refused(tmp_path: Path) -> None:
    rows = MAX_CELLS // 4 + 1
    frame = pl.select(object=pl.int_range(rows) % 1000, assessor=pl.int_range(rows) // 1000, score=0.5, order=1)
    frame.write_parquet(tmp_path / "many.parquet")
    with pytest.raises(InputError, match="more than the limit of 20,000,000 cells"):
        eh.read_panel(tmp_path / "many.parquet", wide=True)


def test_packed_panels_have_no_further_columns(source: Path, tmp_path: Path) -> None:
    for further in (READ, {"criterion": "criterion"}, {"covariates": ["order"], "duplicates": "keep"}):
        with pytest.raises(InputError, match="A packed panel has no room for covariates or criteria"):
            eh.pack_panel(eh.read_panel(source, **further), tmp_path / "packed")
    assert not (tmp_path / "packed").exists()
    packed = eh.pack_panel(eh.read_panel(source, criterion="criterion").of_criterion("merit"), tmp_path / "packed")
    assert eh.read_panel(packed).n_assessments == 3
    with pytest.raises(InputError, match="A packed panel holds no criteria and no covariates: leave out 'order'"):
        eh.read_panel(packed, covariates=["order"])


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_reads_further_columns(source: Path) -> None:
    found = run(
        "check", source, "--criterion", "criterion", "--covariate", "order", "--covariate", "familiarity", "--json"
    )
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["assessments"] == 5


def test_the_command_line_lists_every_problem_of_further_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", lines(WRONG))
    result = run("check", path, "--criterion", "criterion", "--covariate", "order", "--json")
    assert result.exit_code == 2
    problems = json.loads(result.stdout)["problems"]
    assert [problem["where"] for problem in problems] == [
        "row 2, column Order",
        "row 3, column object",
        "row 3, column score",
        "row 3, column Criterion",
        "row 3, column Order",
    ]


@pytest.mark.parametrize("option", ["--covariate", "--criterion"])
def test_the_command_line_names_the_option_of_a_column_that_is_not_there(source: Path, option: str) -> None:
    result = run("calibrate", source, option, "nix")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"Error: scores.csv: There is no column 'nix', which {option} names; the columns are"
    )


@pytest.mark.parametrize("command", ["calibrate", "check", "compare", "rank", "influence", "next", "pack"])
def test_every_command_that_reads_a_file_takes_further_columns(command: str) -> None:
    options = {text for option in main.commands[command].params for text in option.opts}
    assert {"file", "--covariate", "--criterion"} <= options


def test_packing_and_wide_sheets_refuse_further_columns_in_a_sentence(source: Path, tmp_path: Path) -> None:
    result = run("pack", source, "-o", tmp_path / "packed", "--criterion", "criterion")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
    assert "A packed panel has no room for covariates or criteria" in result.stderr
    result = run("check", source, "--wide", "--covariate", "order")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "leave out 'order'" in result.stderr
    result = run("calibrate", source, "--covariate", "order", "--cluster", "local:1", "--out", tmp_path / "results")
    assert result.exit_code == 2
    assert "--covariate has no meaning with --cluster" in result.stderr
