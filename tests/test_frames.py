"""Frames of any kind: pandas, polars and pyarrow in, the same kind out, missing cells alike."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand import frames
from evenhand.errors import InputError, MissingPackageError
from evenhand.panel.panel import Panel

Data = dict[str, list[Any]]
MAKERS: dict[str, Callable[[Data], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
DATA: Data = {
    "object": ["x", "x", "y", "y", "z"],
    "assessor": ["A", "B", "A", "B", "A"],
    "score": [1.0, 2.0, 4.0, 6.0, None],
    "level": ["h", "m", "l", "M", "H"],
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_frame_of_any_kind_gives_the_same_panel_and_the_same_kind_back(kind: str) -> None:
    frame = MAKERS[kind](DATA)
    panel = Panel.from_frame(frame, factor=2.0)
    assert panel.backend == frames.backend_of(frame) == kind
    assert panel.objects == ("x", "y")
    assert panel.score.tolist() == [1.0, 2.0, 4.0, 6.0]
    assert panel.precision.tolist() == [4.0, 1.0, 0.25, 1.0]
    assert panel.confidence == "level"
    assert [note.kind for note in panel.notes] == ["not_assessed", "unassessed_object"]
    fit = eh.calibrate(panel)
    for table in (panel.to_frame(), fit.values.to_frame(), fit.biases.to_frame()):
        assert isinstance(table, KINDS[kind])
    assert frames.read_columns(fit.values.to_frame(), ["object", "value"])[1] == fit.values.estimate.tolist()


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_cell_is_none_whatever_it_was(kind: str, missing: Any) -> None:
    frame = MAKERS[kind]({"score": [1.5, missing, 2.5]})
    assert frames.read_columns(frame, ["score"]) == [[1.5, None, 2.5]]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, None, 3.0], dtype="Float64"),
        pd.Series([1, pd.NA, 3], dtype=object),
        pd.Series([1.0, np.nan, 3.0], dtype="float32"),
        pd.Series([1, pd.NaT, 3], dtype=object),
    ],
    ids=["Int64", "Float64", "object", "float32", "NaT"],
)
def test_missing_cells_of_every_pandas_type_are_none(column: Any) -> None:
    (cells,) = frames.read_columns(pd.DataFrame({"score": column}), ["score"])
    assert cells == [1, None, 3]


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_text_of_every_pandas_type_is_text(dtype: str) -> None:
    frame = pd.DataFrame({"label": pd.Series(["007", None, "b"], dtype=dtype)})
    assert frames.read_columns(frame, ["label"]) == [["007", None, "b"]]


def test_polars_categories_decimals_and_integers_are_read() -> None:
    frame = pl.DataFrame(
        {
            "object": pl.Series(["x", "y"], dtype=pl.Categorical),
            "assessor": pl.Series([7, 8], dtype=pl.UInt8),
            "score": pl.Series(["1.5", "2.5"]).str.to_decimal(scale=1),
        }
    )
    panel = Panel.from_frame(frame)
    assert (panel.objects, panel.assessors, panel.score.tolist()) == (("x", "y"), ("7", "8"), [1.5, 2.5])


def test_whole_number_labels_that_pandas_made_floats_read_as_whole_numbers() -> None:
    frame = pd.DataFrame({"object": [1, 2, None], "assessor": ["A", "A", "A"], "score": [1.0, 2.0, None]})
    assert Panel.from_frame(frame).objects == ("1", "2")


@pytest.mark.parametrize(
    "thing",
    [
        pl.LazyFrame({"object": ["x"]}),
        pl.Series([1.0]),
        pd.Series([1.0]),
        {"object": ["x"]},
        [[1, 2, 3]],
        np.zeros((2, 3)),
        None,
        "scores.csv",
    ],
    ids=["lazy", "polars series", "pandas series", "dict", "list", "array", "none", "path"],
)
def test_what_is_no_eager_frame_is_refused_in_a_sentence(thing: Any) -> None:
    with pytest.raises(InputError, match=f"{type(thing).__name__} is not a frame that can be read") as caught:
        Panel.from_frame(thing)
    assert caught.value.kind == "not_a_frame"


def test_a_lazy_frame_is_told_what_to_do() -> None:
    with pytest.raises(InputError, match="collect"):
        Panel.from_frame(pl.LazyFrame(DATA))


def test_the_index_of_a_pandas_frame_does_not_matter() -> None:
    frame = pd.DataFrame(DATA).set_index(pd.Index([9, 9, 1, 2, 0]))
    assert Panel.from_frame(frame).objects == ("x", "y")


def test_a_frame_with_two_columns_of_the_same_name_is_no_traceback() -> None:
    frame = pd.DataFrame([["x", "A", 1.0, 2.0], ["y", "A", 3.0, 4.0]], columns=["object", "assessor", "score", "score"])
    try:
        panel = Panel.from_frame(frame)
    except InputError:
        return
    assert panel.score.tolist() == [1.0, 3.0]


def test_a_pandas_frame_whose_columns_have_numbers_for_names_is_read_by_them() -> None:
    frame = pd.DataFrame([["x", "A", 1.0], ["y", "A", 3.0]])
    panel = Panel.from_frame(frame, object="0", assessor="1", score="2")
    assert panel.score.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_frame_without_rows_is_refused_as_empty(kind: str) -> None:
    frame = MAKERS[kind]({"object": [], "assessor": [], "score": []})
    with pytest.raises(InputError) as caught:
        Panel.from_frame(frame)
    assert caught.value.kind == "empty"


@pytest.mark.parametrize("kind", MAKERS)
def test_columns_that_hold_nothing_become_columns_of_missing_numbers(kind: Any) -> None:
    table = frames.make_frame({"label": ["x", "y"], "sd": [None, None]}, kind)
    assert isinstance(table, KINDS[kind])
    assert frames.read_columns(table, ["sd"]) == [[None, None]]
    if kind == "polars":
        assert table["sd"].dtype == pl.Float64
        assert table["sd"].null_count() == 2
    elif kind == "pyarrow":
        assert pa.types.is_float64(table.schema.field("sd").type)
        assert table["sd"].null_count == 2
    else:
        assert table["sd"].dtype == np.float64
        assert table["sd"].isna().all()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_table_does_not_share_memory_that_its_owner_could_change(kind: Any) -> None:
    numbers = np.array([1.0, 2.0])
    numbers.flags.writeable = False
    table = frames.make_frame({"value": numbers}, kind)
    assert frames.read_columns(table, ["value"]) == [[1.0, 2.0]]
    if kind == "pandas":
        table.loc[0, "value"] = 9.0
        assert numbers.tolist() == [1.0, 2.0]


def test_a_package_that_is_not_there_is_named_with_the_remedy() -> None:
    with pytest.raises(MissingPackageError, match="pip install") as caught:
        frames.make_frame({"a": [1]}, "no_such_frames")  # type: ignore[arg-type]
    assert caught.value.package == "no_such_frames"
