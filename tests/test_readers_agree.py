"""All doors agree: one table, however it is handed over, gives one panel, or is refused for the same reasons.

Typed doors (frames, workbooks, Parquet files, packed panels, clusters) are compared with each other, and text files
with frames of texts. A door is left out where it cannot hold a cell: a workbook has no infinity. What doors are known
to disagree on is marked as such, and strictly: whoever mends it has to take the mark away.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import openpyxl
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import InputError, Problem
from evenhand.panel import source
from golden_panels import write_ods

# --- outcomes ------------------------------------------------------------------------------------

FRAME, PARQUET, SHEET = 0, 1, 2
"""The number of the first row: frames count from 0, Parquet files from 1, and a sheet has a header in row 1."""
ROWS = re.compile(r"\b(rows? )(\d+(?:, \d+)*(?: and \d+\b(?! more))?)")
OF_A_DOOR = {"blank_rows", "decimal_comma", "encoding", "sheets"}
"""Notes on how a file is written, which other doors have no reason for."""


def renumbered(text: str | None, first: int) -> str | None:
    """Return text with row numbers that count from 0."""
    if text is None:
        return None
    return ROWS.sub(lambda found: found[1] + re.sub(r"\d+", lambda row: str(int(row[0]) - first), found[2]), text)


def said(problems: tuple[Problem, ...], first: int) -> list[tuple[str, str | None, str | None]]:
    """Return kinds, places and sentences of problems, with rows that count from 0."""
    return [
        (one.kind, renumbered(one.where, first), renumbered(one.message, first))
        for one in problems
        if one.kind not in OF_A_DOOR
    ]


def outcome(read: Callable[[], eh.Panel], first: int) -> dict[str, Any]:
    """Return all that a panel says, or all that a refusal says."""
    try:
        panel = read()
    except InputError as error:
        return {"refused": said(error.problems, first)}
    return {"notes": said(panel.notes, first), **facts(panel)}


def facts(panel: eh.Panel) -> dict[str, Any]:
    """Return what a panel holds, assessment by assessment in their order."""
    columns = panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), panel.precision.tolist()
    return {
        "objects": list(panel.objects),
        "assessors": list(panel.assessors),
        "assessments": [(panel.objects[o], panel.assessors[a], s, c) for o, a, s, c in zip(*columns, strict=True)],
        "confidence": panel.confidence,
        "factor": panel.factor,
        "criterion": None if panel.criterion is None else panel.criterion.tolist(),
        "covariates": {name: cells.tolist() for name, cells in panel.covariates.items()},
    }


# --- doors ---------------------------------------------------------------------------------------


def by_polars(table: pl.DataFrame, _folder: Path, **options: Any) -> dict[str, Any]:
    return outcome(lambda: eh.Panel.from_frame(table, **options), FRAME)


def by_pandas(table: pl.DataFrame, _folder: Path, **options: Any) -> dict[str, Any]:
    return outcome(lambda: eh.Panel.from_frame(table.to_pandas(), **options), FRAME)


def by_nullable_pandas(table: pl.DataFrame, _folder: Path, **options: Any) -> dict[str, Any]:
    return outcome(lambda: eh.Panel.from_frame(table.to_pandas().convert_dtypes(), **options), FRAME)


def by_arrow(table: pl.DataFrame, _folder: Path, **options: Any) -> dict[str, Any]:
    return outcome(lambda: eh.Panel.from_frame(table.to_arrow(), **options), FRAME)


def by_parquet(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    table.write_parquet(folder / "scores.parquet")
    return outcome(lambda: eh.read_panel(folder / "scores.parquet", **options), PARQUET)


def by_two_parquets(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    place = folder / "scores"
    place.mkdir()
    half = len(table) // 2
    table[:half].write_parquet(place / "a.parquet")
    table[half:].write_parquet(place / "b.parquet")
    return outcome(lambda: eh.read_panel(place, **options), PARQUET)


def by_large_parquet(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    padded(table).write_parquet(folder / "large.parquet", compression="uncompressed")
    assert (folder / "large.parquet").stat().st_size > 2**20
    return outcome(lambda: eh.read_panel(folder / "large.parquet", **options), PARQUET)


def by_xlsx(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (table.columns, *table.rows()):
        sheet.append(list(row))
    book.save(folder / "scores.xlsx")
    return outcome(lambda: eh.read_panel(folder / "scores.xlsx", **options), SHEET)


def by_ods(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    write_ods(str(folder / "scores.ods"), [table.columns, *table.rows()])
    return outcome(lambda: eh.read_panel(folder / "scores.ods", **options), SHEET)


def by_text(
    table: pl.DataFrame,
    folder: Path,
    name: str = "scores.csv",
    delimiter: str = ",",
    decimal: str = ".",
    **options: Any,
) -> dict[str, Any]:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([[as_text(cell, decimal) for cell in row] for row in table.rows()])
    (folder / name).write_bytes(text.getvalue().encode())
    return outcome(lambda: eh.read_panel(folder / name, **options), SHEET)


def as_text(cell: Any, decimal: str) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(cell).replace(".", decimal) if isinstance(cell, float) else str(cell)


def by_tabs(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    return by_text(table, folder, "scores.tsv", "\t", **options)


def by_semicolons(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    return by_text(table, folder, "semicolons.csv", ";", ",", **options)


def by_large_text(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    found = by_text(padded(table), folder, "large.csv", **options)
    assert (folder / "large.csv").stat().st_size > 2**20
    return found


def padded(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with remarks that make it large."""
    size = 110_000 // len(table)
    remarks = ([f"{at} {row} " + "z" * size for row in range(len(table))] for at in range(11))
    return table.with_columns(pl.Series(f"remark {at}", cells) for at, cells in enumerate(remarks))


def by_packing(table: pl.DataFrame, folder: Path, **options: Any) -> dict[str, Any]:
    """Read a frame, pack the panel and read that; what is refused is not packed."""

    def read() -> eh.Panel:
        return eh.read_panel(eh.pack_panel(eh.Panel.from_frame(table, **options), folder / "packed"))

    return outcome(read, FRAME)


Door = Callable[..., dict[str, Any]]
FRAMES: Final[tuple[Door, ...]] = (by_pandas, by_nullable_pandas, by_arrow)
BOOKS: Final[tuple[Door, ...]] = (by_xlsx, by_ods)
PARQUETS: Final[tuple[Door, ...]] = (by_parquet, by_two_parquets)
TEXTS: Final[tuple[Door, ...]] = (by_text, by_tabs)


def assert_agree(table: pl.DataFrame, doors: tuple[Door, ...], **options: Any) -> None:
    """Insist that doors give what a polars frame gives."""
    with tempfile.TemporaryDirectory() as folder:
        expected = by_polars(table, Path(folder), **options)
        for door in doors:
            assert door(table, Path(folder), **options) == expected, door.__name__


# --- tables --------------------------------------------------------------------------------------

TEXT_LABELS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "A",
        "a ",
        " a",
        "a  b",
        "007",
        "7",
        "7.0",
        "1e16",
        "True",
        "Total",
        "é",
        "E\u0301",
        "ß",
        "論文",
        "🍰",
        "",
    ]
)
LABELS: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: TEXT_LABELS,
    pl.Int64: st.sampled_from([1, 2, 3, -4, 7, 2**53]),
    pl.Float64: st.sampled_from([1.0, 2.0, 7.5, -0.0, 1e16, 0.1, 1e-7, 1e22]),
    pl.Boolean: st.booleans(),
}
EIGHTHS = st.integers(-800, 800).map(lambda number: number / 8)  # which every writer writes in full
TEXT_SCORES = st.one_of(
    EIGHTHS.map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(
        ["", " ", " 8", "7.5 ", "1e2", "1E2", "+5", "\u22125", "\u22121.5", ".5", "5.", "inf", "-Infinity"]
    ),
    st.sampled_from(["x", "nan", "NaN", "1_0", "0x1", "1e999", "12 %", "\uff15", "--1", "1e", "True"]),
)
SCORES: dict[Any, st.SearchStrategy[Any]] = {
    pl.Float64: st.one_of(EIGHTHS, st.sampled_from([math.inf, math.nan, 1e300])),
    pl.Int64: st.integers(-5, 5),
    pl.String: TEXT_SCORES,
    pl.Boolean: st.booleans(),
}
WORDS = st.sampled_from(["h", "high", "HIGH", "Medium", " m", "L", "low "])
ODD_WORDS = st.sampled_from(["h", "Low", "2", "0.5", "?", "", "-1", "1e-200", "\u22122"])
DECLARED: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: st.one_of(WORDS, ODD_WORDS),
    pl.Float64: st.sampled_from([1.0, 2.5, 0.5, 1e-3, 0.0, -1.0, math.inf, 1e-200]),
    pl.Int64: st.integers(-1, 4),
    pl.Boolean: st.booleans(),
}
SOUND_DECLARED: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: WORDS,
    pl.Float64: st.sampled_from([1.0, 2.5, 0.5, 1e-3]),
    pl.Int64: st.integers(1, 4),
}
HEADERS = st.sampled_from(["sd", "confidence", "level", "weight", "Confidence/ Std Dev"])


@st.composite
def tables(draw: st.DrawFn, *, only_texts: bool = False) -> pl.DataFrame:
    """Draw a table of typed columns, sound or not: at least one row has a score."""
    size = draw(st.integers(1, 8))
    sound = draw(st.booleans())
    kinds: list[tuple[str, dict[Any, st.SearchStrategy[Any]]]] = [
        ("object", LABELS),
        ("assessor", LABELS),
        ("score", {pl.Float64: EIGHTHS, pl.Int64: st.integers(-9, 9)} if sound else SCORES),
    ]
    if draw(st.booleans()):
        kinds.append((draw(HEADERS), SOUND_DECLARED if sound else DECLARED))
    if only_texts:
        texts = [TEXT_LABELS, TEXT_LABELS, TEXT_SCORES, WORDS if sound else st.one_of(WORDS, ODD_WORDS)]
        kinds = [(name, {pl.String: cells}) for (name, _), cells in zip(kinds, texts, strict=False)]
    columns = []
    for name, choices in kinds:
        dtype = draw(st.sampled_from(list(choices)))
        cells = choices[dtype] if sound else st.one_of(choices[dtype], choices[dtype], choices[dtype], st.none())
        columns.append(pl.Series(name, draw(st.lists(cells, min_size=size, max_size=size)), dtype=dtype))
    table = pl.DataFrame(columns)
    assume(any(not is_empty(cell) for cell in table["score"].to_list()))
    return table


def is_empty(cell: Any) -> bool:
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and not cell.strip())


def has_odd_numbers(table: pl.DataFrame) -> bool:
    """Say whether a table has numbers that no workbook holds."""
    cells = (cell for column in table for cell in column.to_list())
    return any(isinstance(cell, float) and not math.isfinite(cell) for cell in cells)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "duplicates": st.sampled_from(["keep", "combine"]),
        "missing": st.sampled_from([["x"], ["?", "a", "8"]]),
        "aliases": st.sampled_from([{"?": "low"}, {"2": "high"}]),
        "factor": st.just(3.0),
    },
)
FURTHER: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: st.sampled_from(["Monday", "monday", "1", " 2", "", None]),
    pl.Float64: st.sampled_from([1.0, 2.5, -3.0, None]),
    pl.Int64: st.sampled_from([1, 2, None]),
    pl.Boolean: st.booleans(),
}


@st.composite
def richer_tables(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Draw a table with a criterion or covariates, and the options that say so."""
    table: pl.DataFrame = draw(tables())
    options: dict[str, Any] = {**draw(OPTIONS)}
    for name in draw(st.sampled_from([["task"], ["day"], ["day", "order"], ["task", "day"]])):
        dtype = draw(st.sampled_from(list(FURTHER)))
        cells = draw(st.lists(FURTHER[dtype], min_size=len(table), max_size=len(table)))
        table = table.with_columns(pl.Series(name, cells, dtype=dtype))
        if name == "task":
            options["criterion"] = name
        else:
            options["covariates"] = [*options.get("covariates", ()), name]
    return table, options


QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@settings(QUICK, max_examples=100)
@given(tables(), OPTIONS)
def test_frames_of_all_kinds_and_packed_panels_agree(table: pl.DataFrame, options: dict[str, Any]) -> None:
    assert_agree(table, (*FRAMES, by_packing), **options)


@settings(QUICK, max_examples=60)
@given(richer_tables())
def test_frames_with_criteria_and_covariates_agree(given_: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    table, options = given_
    assert_agree(table, FRAMES, **options)


@settings(QUICK, max_examples=50)
@given(tables(), OPTIONS)
def test_workbooks_agree_with_frames(table: pl.DataFrame, options: dict[str, Any]) -> None:
    assume(not has_odd_numbers(table))
    assert_agree(table, BOOKS, **options)


@settings(QUICK, max_examples=30)
@given(richer_tables())
def test_workbooks_with_criteria_and_covariates_agree_with_frames(given_: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    table, options = given_
    assume(not has_odd_numbers(table))
    assert_agree(table, BOOKS, **options)


@settings(QUICK, max_examples=8)
@given(st.one_of(st.tuples(tables(), OPTIONS), richer_tables()))
def test_parquet_files_agree_with_frames(given_: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    table, options = given_
    assert_agree(table, PARQUETS, **options)


@settings(QUICK, max_examples=12)
@given(tables(), OPTIONS)
def test_large_parquet_files_agree_with_frames(table: pl.DataFrame, options: dict[str, Any]) -> None:
    assert_agree(table, (by_large_parquet,), **options)


@settings(QUICK, max_examples=100)
@given(tables(only_texts=True), OPTIONS)
def test_text_files_agree_with_frames_of_texts(table: pl.DataFrame, options: dict[str, Any]) -> None:
    assert_agree(table, TEXTS, **options)


@settings(QUICK, max_examples=12)
@given(tables(only_texts=True), OPTIONS)
def test_large_text_files_agree_with_frames_of_texts(table: pl.DataFrame, options: dict[str, Any]) -> None:
    assert_agree(table, (by_large_text,), **options)


@settings(QUICK, max_examples=12)
@given(tables(only_texts=True), OPTIONS)
def test_files_and_frames_too_large_to_be_looked_at_as_a_whole_agree(
    table: pl.DataFrame, options: dict[str, Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "LOOKED_AT", 0)
        assert_agree(table, (by_arrow, by_large_text, by_large_parquet), **options)


SUSPECT: Final[dict[str, tuple[str, pl.DataFrame]]] = {
    "a row of sums": (
        "summary_rows",
        pl.DataFrame({"object": ["x", "y", "Total"], "assessor": ["A", "A", "Total"], "score": ["1", "2", "3"]}),
    ),
    "places instead of people": (
        "positions",
        pl.DataFrame(
            {
                "object": ["x", "x", "y", "y", "y"],
                "assessor": ["Reviewer 1", "Reviewer 2", "Reviewer 1", "Reviewer 2", "Reviewer 3"],
                "score": ["1", "2", "3", "4", "5"],
            }
        ),
    ),
    "a confidence that nobody gave": (
        "",
        pl.DataFrame({"object": ["x", "y"], "assessor": ["A", "A"], "score": ["1", "2"], "sd": ["", ""]}),
    ),
}
"""Tables of which every cell has to be looked at, with what is said of them."""


@pytest.mark.parametrize(("kind", "table"), SUSPECT.values(), ids=SUSPECT)
def test_what_calls_for_a_closer_look_gets_it_in_the_largest_files(
    kind: str, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_polars(table, tmp_path)
    assert {one for one, *_ in expected.get("refused", expected.get("notes", []))} == ({kind} if kind else set())
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    for door in (by_polars, by_arrow, by_large_text, by_large_parquet):
        found = re.sub(r"large\.(csv|parquet)", "the frame", repr(door(table, tmp_path)))
        assert found == repr(expected), door.__name__


@settings(QUICK, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("ABé"), EIGHTHS, EIGHTHS.map(lambda number: abs(number) + 1)),
        min_size=1,
        max_size=8,
    )
)
def test_decimal_commas_agree_with_numbers(rows: list[tuple[str, str, float, float]]) -> None:
    table = pl.DataFrame(rows, schema=["object", "assessor", "score", "sd"], orient="row")
    assert_agree(table, (by_semicolons,), duplicates="combine")


# --- tables by hand ------------------------------------------------------------------------------

OBJECTS: list[Any] = ["x", "y", "z"] * 2
ASSESSORS: list[Any] = ["A"] * 3 + ["B"] * 3
SCORED: list[Any] = [1.0, 2.0, 4.0, 3.0, 5.0, 9.0]
WRITTEN, SURE, NUMBERS = ["1", "2", "4", "3", "5", "9"], ["high", "low", "MEDIUM", "h", "M", " l "], [1.0, 2.0, 3.0] * 2


def made(kinds: Mapping[str, Any] = MappingProxyType({}), /, **columns: list[Any]) -> pl.DataFrame:
    """Return a table of three objects by two assessors, in which some columns are others, with their types."""
    named: dict[str, list[Any]] = {"object": OBJECTS, "assessor": ASSESSORS, "score": SCORED}
    named |= columns
    return pl.DataFrame([pl.Series(name, cells, dtype=kinds.get(name)) for name, cells in named.items()])


def put(cells: list[Any], at: int, cell: Any) -> list[Any]:
    """Return cells with another one in one place."""
    return [*cells[:at], cell, *cells[at + 1 :]]


def with_score(cell: str) -> pl.DataFrame:
    return made(score=put(WRITTEN, 2, cell))


TIMES = [datetime.datetime(2020, 1, day, 3) for day in (2, 3, 4)] * 2
LENGTHS = [datetime.timedelta(day) for day in (1, 2, 3)] * 2
AMOUNTS = [decimal.Decimal(text) for text in ("1.50", "2", "3")] * 2

SAME: Final[dict[str, pl.DataFrame]] = {
    "labels of text": made(),
    "labels of whole numbers": made(object=[1, 2, 3] * 2),
    "labels of numbers": made(object=[1.0, 2.5, -0.0] * 2),
    "labels of categories": made({"object": pl.Categorical}),
    "labels of large whole numbers": made({"object": pl.UInt64}, object=[2**64 - 1, 1, 2] * 2),
    "labels of times": made(object=[datetime.time(hour) for hour in (1, 2, 3)] * 2),
    "labels that look like numbers": made(object=["007", "7", "7.0"] * 2),
    "labels with blanks": made(object=[" x", "x ", "x  y"] * 2),
    "labels beyond ASCII": made(object=["é", "E\u0301", "論文"] * 2),
    "labels of what looks blank": made(object=["\u200b", "y", "z"] * 2),
    "whole scores": made(score=[1, 2, 4, 3, 5, 9]),
    "scores of text": made(score=WRITTEN),
    "scores of categories": made({"score": pl.Categorical}, score=WRITTEN),
    "scores of few digits": made({"score": pl.Float32}, score=[0.1, 0.2, 0.4, 0.3, 0.5, 0.9]),
    "scores of decimals": made(score=[decimal.Decimal(text) for text in WRITTEN]),
    **{f"a score {text!r}": with_score(text) for text in (" 8 ", "1e2", "1E2", "+5", ".5", "5.", "-5", "00012", "-0")},
    **{f"an empty score {text!r}": with_score(text) for text in ("", " ", "\u00a0")},
    **{f"a bad score {text!r}": with_score(text) for text in ("x", "inf", "-Infinity", "nan", "1_0", "0x1", "1e999")},
    **{f"a bad score {text!r}": with_score(text) for text in ("\uff15", "--1", "1e", "True", "1,5", "∞", "1d5")},
    "scores that are true or false": made(score=[True, False] * 3),
    "a score that is not there": made(score=put(SCORED, 1, None)),
    "a score that is no number": made(score=put(SCORED, 1, math.nan)),
    "a score that is not finite": made(score=put(SCORED, 1, math.inf)),
    "an object that is not there": made(object=put(OBJECTS, 1, None)),
    "an object that is blank": made(object=put(OBJECTS, 1, " ")),
    "an object that is no number": made(object=put([1.0, 2.0, 3.0] * 2, 1, math.nan)),
    "an assessor that is not there": made(assessor=put(ASSESSORS, 1, None)),
    "neither label": made(object=put(OBJECTS, 1, None), assessor=put(ASSESSORS, 1, None)),
    "levels": made(level=SURE),
    "levels where there may be numbers": made(confidence=SURE),
    "levels where there may be uncertainties": made(**{"Confidence/ Std Dev": SURE}),
    "uncertainties": made(sd=NUMBERS),
    "uncertainties where there may be levels": made(**{"Confidence/ Std Dev": NUMBERS}),
    "uncertainties of text": made(sd=["1", "2", " 3 ", "1e0", "2.0", "3"]),
    "confidences": made(weight=NUMBERS),
    "confidences of text where there may be levels": made(confidence=["1", "2", " 3 ", "1e0", "2.0", "3"]),
    "whole confidences": made(weight=[1, 2, 3] * 2),
    "an uncertainty of zero": made(sd=put(NUMBERS, 1, 0.0)),
    "a negative uncertainty": made(sd=put(NUMBERS, 1, -1.0)),
    "an infinite uncertainty": made(sd=put(NUMBERS, 1, math.inf)),
    "an uncertainty that is too small": made(sd=put(NUMBERS, 1, 1e-200)),
    "an uncertainty that is too large": made(sd=put(NUMBERS, 1, 1e200)),
    "a confidence that is too small": made(weight=put(NUMBERS, 1, 1e-310)),
    "an uncertainty that is a word": made(sd=put(["1", "2", "3"] * 2, 1, "high")),
    "confidences that are true or false": made(weight=[True, False] * 3),
    "no confidence where there is no score": made(score=put(SCORED, 1, None), confidence=put(NUMBERS, 1, None)),
    "an odd confidence where there is no score": made(score=put(SCORED, 1, None), sd=put(NUMBERS, 1, -1.0)),
    "an odd level where there is no score": made(score=put(SCORED, 1, None), level=put(SURE, 1, "?")),
    "a mixture where there is no score": made(score=put(SCORED, 1, None), confidence=put(SURE, 1, "2")),
    "other names": made().rename({"object": " Paper ", "assessor": "Reviewer", "score": "Overall Merit"}),
    "labels of decimals": made(object=AMOUNTS),
    "a single score by nobody where labels are numbers": pl.DataFrame(
        {"object": ["x"], "assessor": pl.Series([None], dtype=pl.Float64), "score": [1.0]}
    ),
}
"""Tables that all doors read alike, or refuse alike."""

IN_A_CLUSTER_TOO: Final[dict[str, pl.DataFrame]] = {
    "a score with a minus sign": with_score("\u22125"),
    "a score beside a separator": with_score("5\x1c"),
    "a label of a separator": made(object=["\x1c", "y", "z"] * 2),
    "a level beside a separator": made(level=put(SURE, 0, "high\x1c")),
    "labels that are true or false": made(assessor=[True] * 3 + [False] * 3),
    "a label of 1e16": made(object=[1e16, 2.0, 3.0] * 2),
    "a label of 1e300": made(object=[1e300, 2.0, 3.0] * 2),
    "a label of 1e-7": made(object=[1e-7, 2.0, 3.0] * 2),
    "labels of few digits": made({"object": pl.Float32}, object=[0.1, 2.0, 3.0] * 2),
    "labels of dates and times": made(object=TIMES),
    "labels of durations": made(object=LENGTHS),
    "labels of structures": made(object=[{"a": n} for n in (1, 2, 3)] * 2),
    "labels of bytes": made(object=[b"x", b"y", b"z"] * 2),
    "no score at all": made({"score": pl.Float64}, score=[None] * 6),
    "an unknown level": made(level=put(SURE, 1, "huge")),
    "a number for a level": made(level=put(SURE, 1, "2")),
    "numbers for levels": made(level=NUMBERS),
    "levels that are true or false": made(level=[True, False] * 3),
    "words that are no levels": made(confidence=["?"] * 6),
    "no level": made(level=put(SURE, 1, None)),
    "a blank level": made(level=put(SURE, 1, " ")),
    "no confidence": made(confidence=put(NUMBERS, 1, None)),
    "an uncertainty that is no number": made(sd=put(NUMBERS, 1, math.nan)),
    "levels and numbers": made(confidence=put(SURE, 1, "2")),
    "two problems": made(object=put(OBJECTS, 0, None), score=put(WRITTEN, 2, "x")),
}
"""Further tables that a cluster reads, or refuses, as memory does."""

Known = tuple[str, pl.DataFrame]
BY_THE_CLUSTER: Final[dict[str, Known]] = {
    "a score given twice": ("the rows are not named there", made(object=put(OBJECTS, 1, "x"))),
}
"""Tables that a cluster refuses otherwise than all others, with what is different there."""

BY_SOME_DOORS: Final[dict[str, tuple[str, Door, pl.DataFrame]]] = {
    "labels of durations": ("pandas says 1 days 00:00:00", by_pandas, made(object=LENGTHS)),
    "nothing but blank rows": (
        "an empty frame is empty, an empty file is an empty_file",
        by_parquet,
        pl.DataFrame({name: [None, None] for name in ("object", "assessor", "score")}),
    ),
}
"""Tables that a door in memory reads otherwise than a polars frame, with what is different."""


def marked(known: Mapping[str, tuple[Any, ...]]) -> list[Any]:
    """Return parameters that are known to disagree, with the reason; without a reason they agree."""
    raises = (AssertionError, pl.exceptions.PolarsError)
    return [
        pytest.param(
            *rest, id=name, marks=[pytest.mark.xfail(strict=True, raises=raises, reason=reason)] if reason else []
        )
        for name, (reason, *rest) in known.items()
    ]


@pytest.mark.parametrize("table", SAME.values(), ids=SAME)
def test_doors_in_memory_agree_on_tables_by_hand(table: pl.DataFrame) -> None:
    assert_agree(table, FRAMES)


@pytest.mark.parametrize(("door", "table"), marked(BY_SOME_DOORS))
def test_a_door_in_memory_agrees_with_frames(door: Door, table: pl.DataFrame) -> None:
    assert_agree(table, (door,))


# --- clusters ------------------------------------------------------------------------------------

# a free port: the scheduler keeps a server of its own, and another test's may stand on the usual one
QUIET = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def summed(read: Callable[[], eh.Panel], first: int) -> dict[str, Any]:
    """Return of a panel in memory what a cluster tells, too, or the kinds and places of a refusal."""
    try:
        panel = read()
    except InputError as error:
        return {"refused": [(kind, bare(where)) for kind, where, _ in said(error.problems, first)]}
    found = facts(panel)
    return {
        "assessments": sorted(row[:3] for row in found["assessments"]),
        "object confidence": dict(zip(panel.objects, panel.object_confidence.tolist(), strict=True)),
        "assessor confidence": dict(zip(panel.assessors, panel.assessor_confidence.tolist(), strict=True)),
        "confidence": found["confidence"],
        "factor": found["factor"],
        "without a score": [int(note.message.split()[0]) for note in panel.notes if note.kind == "not_assessed"],
    }


def bare(where: str | None) -> str | None:
    """Return a place without the name of the file or the number of the partition."""
    return None if where is None else re.sub(r"^(?:[\w-]+\.parquet|partition \d+), ", "", where)


def by_cluster(source: Any, client: Any, folder: Path, first: int, **options: Any) -> dict[str, Any]:
    """Return what a cluster makes of a source."""
    out = folder / "out"
    try:
        found = eh.calibrate_distributed(source, out, cluster=client, **options)
    except InputError as error:
        return {"refused": [(kind, bare(where)) for kind, where, _ in said(error.problems, first)]}

    def rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
        return pl.read_parquet(sorted((out / name).glob("*.parquet"))).select(columns).rows()

    return {
        "assessments": sorted(rows("residuals", "object", "assessor", "score")),
        "object confidence": dict(rows("objects", "object", "total_confidence")),
        "assessor confidence": dict(rows("assessors", "assessor", "total_confidence")),
        "confidence": found.summary["panel"]["confidence"],
        "factor": found.summary["panel"]["factor"],
        "without a score": [
            int(note["message"].split()[0]) for note in found.summary["notes"] if note["kind"] == "not_assessed"
        ],
    }


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare what a cluster tells with what memory tells; sums of precisions may differ in the last digit."""
    assert list(found) == list(expected)
    for name, one in expected.items():
        assert found[name] == (pytest.approx(one, rel=1e-14) if name.endswith(" confidence") else one), name


NOT_IN_DASK = {"labels of structures", "labels of decimals", "labels of bytes"}
"""What dask hands over as Python's own objects, so that nothing is lost, or makes texts of before it is read."""
IN_A_CLUSTER = [
    *(pytest.param(table, id=name) for name, table in (SAME | IN_A_CLUSTER_TOO).items()),
    *marked(BY_THE_CLUSTER),
]


@pytest.mark.slow
@pytest.mark.parametrize("table", IN_A_CLUSTER)
def test_a_cluster_reads_a_parquet_file_as_memory_does(table: pl.DataFrame, client: Any, tmp_path: Path) -> None:
    place = tmp_path / "scores.parquet"
    table.write_parquet(place)
    assert_same(by_cluster(place, client, tmp_path, PARQUET), summed(lambda: eh.Panel.from_frame(table), FRAME))


@pytest.mark.slow
@pytest.mark.parametrize("table", [one for one in IN_A_CLUSTER if one.id not in NOT_IN_DASK])
def test_a_cluster_reads_a_dask_frame_as_memory_does(table: pl.DataFrame, client: Any, tmp_path: Path) -> None:
    frames = pytest.importorskip("dask.dataframe")
    frame = table.to_pandas()
    expected = summed(lambda: eh.Panel.from_frame(frame), FRAME)
    assert_same(by_cluster(frames.from_pandas(frame, npartitions=1), client, tmp_path, FRAME), expected)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", ["labels beyond ASCII", "levels", "uncertainties", "a score that is not there"])
def test_a_cluster_reads_a_packed_panel_as_memory_does(name: str, parts: int, client: Any, tmp_path: Path) -> None:
    place = eh.pack_panel(eh.Panel.from_frame(SAME[name]), tmp_path / "packed", parts=parts)
    panel = eh.read_panel(place)
    found = by_cluster(place, client, tmp_path, FRAME)
    rows = [(panel.objects[o], panel.assessors[a], score) for o, a, score in found["assessments"]]  # codes until here
    assert_same(found | {"assessments": sorted(rows)}, summed(lambda: panel, FRAME))


FOLDERS: Final[dict[str, tuple[str, pl.DataFrame, pl.DataFrame]]] = {
    "two files alike": ("", made(), made(object=["u", "v", "w"] * 2, assessor=["A"] * 3 + ["C"] * 3)),
    "a second file without scores": ("", made(), made({"score": pl.Float64}, score=[None] * 6)),
    "whole scores in one of two files": (
        "memory takes the second file for damaged, a cluster reads it",
        made(),
        made(object=["u", "v", "w"] * 2, score=[1, 2, 4, 3, 5, 9]),
    ),
    "a column that the second file lacks": (
        "memory says damaged, a cluster missing_column",
        made(level=SURE),
        made(object=["u", "v", "w"] * 2),
    ),
    "levels in one of two files and numbers in the other": (
        "memory names the row, a cluster does not",
        made(confidence=SURE),
        made(object=["u", "v", "w"] * 2, confidence=["1", "2", "3"] * 2),
    ),
    "a bad score in the second file": (
        "memory counts rows through all files and does not say in which, a cluster in each file",
        made(score=WRITTEN),
        made(object=["u", "v", "w"] * 2, score=put(WRITTEN, 2, "x")),
    ),
}
"""Directories of two Parquet files, with what memory and clusters disagree on, if anything."""


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), marked(FOLDERS))
def test_a_cluster_reads_a_directory_as_memory_does(
    first: pl.DataFrame, second: pl.DataFrame, client: Any, tmp_path: Path
) -> None:
    place = tmp_path / "scores"
    place.mkdir()
    first.write_parquet(place / "a.parquet")
    second.write_parquet(place / "b.parquet")
    assert_same(by_cluster(place, client, tmp_path, PARQUET), summed(lambda: eh.read_panel(place), PARQUET))
