"""Files of a design say the same as frames, and every mistake has a place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.design.inputs import Members, expected_of
from evenhand.errors import InputError
from evenhand.io.designs import (
    numbered,
    read_design_pairs,
    read_expected,
    read_members,
    typed_expertise,
    typed_members,
    typed_pairs,
)

OBJECTS = Members("object", ("P1", "P2", "P3"), {})
ASSESSORS = Members("assessor", ("Ana", "Ben"), {})


def written(tmp_path: Path, text: str, name: str = "file.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx", ".parquet"])
def test_members_of_every_kind_of_file_are_those_of_the_frame(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {"Proposal": ["P1", "P2"], "Title": ["One", "Two"], "Reviews": [2, 3], "Linking": ["yes", None]}
    )
    path = tmp_path / f"objects{suffix}"
    if suffix == ".xlsx":
        frame.write_excel(path)
    elif suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    found = read_members(path, "object")
    assert found.labels == ("P1", "P2")
    assert [float(cell) for cell in found.columns["per_object"]] == [2, 3]
    assert found.details == {"Title": {"P1": "One", "P2": "Two"}}
    assert found.columns["linking"][0] == "yes"


def test_numbers_give_labels_of_equal_width() -> None:
    assert numbered(12, "assessor").labels[:2] == ("A01", "A02")
    with pytest.raises(InputError, match="from 1 to"):
        numbered(0, "object")


def test_labels_stay_as_they_are_written(tmp_path: Path) -> None:
    path = written(tmp_path, 'object\n007\n"=1+1"\n"a,b"\nÄ\n')
    assert read_members(path, "object").labels == ("007", "=1+1", "a,b", "Ä")


def test_decimal_commas_are_read_where_numbers_are(tmp_path: Path) -> None:
    path = written(tmp_path, "assessor;cost\nAna;1,5\nBen;2,25\n")
    assert list(read_members(path, "assessor").columns["cost"]) == [1.5, 2.25]
    expertise = written(tmp_path, "assessor;object;expertise\nAna;P1;0,5\nBen;P2;0,25\n", "expertise.csv")
    assert read_expected(expertise, OBJECTS, ASSESSORS).expertise.tolist() == [0.5, 0.25]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("assessor,load\nAna,3\nBen,many\n", ["file.csv", "Ben", "whole number", "many"]),
        ("assessor,cost\nAna,3\nBen,free\n", ["file.csv", "Ben", "number"]),
        ("assessor\nAna\nBen\nAna\n", ["file.csv, row 4", "Ana is listed twice", "row 2"]),
        ("who\nAna\n", ["file.csv", "no column of assessors", "who"]),
        ("assessor,load\n,3\n", ["file.csv", "no assessors"]),
    ],
)
def test_mistakes_in_lists_name_the_file_and_the_place(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_members(written(tmp_path, text), "assessor")
    for word in words:
        assert word in str(caught.value)


def test_pairs_are_read_in_any_order_of_columns_and_blank_rows_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "note,paper,reviewer\nx,P1,Ana\n,,\ny,P3,Ben\n")
    assert list(read_design_pairs(path, OBJECTS, ASSESSORS, "conflicts")) == [("Ana", "P1"), ("Ben", "P3")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("assessor,object\nAna,P1\nAnna,P2\n", ["file.csv, row 3", "no assessor Anna", "conflicts", "Ana, Ben"]),
        ("assessor,object\nAna,P9\n", ["file.csv, row 2", "no object P9"]),
        ("assessor,object\nAna,\n", ["file.csv, row 2", "both"]),
        ("assessor\nAna\n", ["no column of objects"]),
    ],
)
def test_mistakes_in_pairs_name_the_file_and_the_row(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_design_pairs(written(tmp_path, text), OBJECTS, ASSESSORS, "conflicts")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "assessor,object,level\nAna,P1,high\nAna,P2,low\nBen,P3,medium\n",
        "assessor,P1,P2,P3\nAna,high,low,\nBen,,,medium\n",
        "object,Ana,Ben\nP1,h,\nP2,l,\nP3,,m\n",
        "assessor,object,expertise\nAna,P1,1\nAna,P2,0\nBen,P3,0.5\n",
    ],
)
def test_long_and_wide_expertise_is_that_of_a_mapping(tmp_path: Path, text: str) -> None:
    mapping = {("Ana", "P1"): "high", ("Ana", "P2"): "low", ("Ben", "P3"): "medium"}
    wanted = expected_of(mapping, OBJECTS, ASSESSORS, form="expertise", factor=1.75)
    found = read_expected(written(tmp_path, text), OBJECTS, ASSESSORS)
    assert found.keys.tolist() == wanted.keys.tolist()
    np.testing.assert_allclose(found.precision, wanted.precision)
    assert found.otherwise == wanted.otherwise


def test_uncertainties_are_read_as_such_and_give_the_same_design_as_a_frame(tmp_path: Path) -> None:
    rows = {"assessor": ["Ana", "Ana", "Ben"], "object": ["P1", "P2", "P3"], "sd": [5.0, 10.0, 8.0]}
    frame = pl.DataFrame(rows)
    path = tmp_path / "sd.csv"
    frame.write_csv(path)
    found = read_expected(path, OBJECTS, ASSESSORS, form="uncertainty")
    assert found.expertise is None
    np.testing.assert_allclose(np.sort(found.precision), [0.01, 1 / 64, 0.04])
    from_file = eh.assign(OBJECTS, ASSESSORS, per_object=2, uncertainty=found)
    from_frame = eh.assign(OBJECTS, ASSESSORS, per_object=2, uncertainty=frame)
    np.testing.assert_allclose(from_file.sd, from_frame.sd)
    assert from_file.task.in_points


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("assessor,object,expertise\nAna,P1,expert\n", ["file.csv", "Ana", "P1", "'expert'"]),
        ("assessor,object,expertise\nAna,P1,2\n", ["file.csv", "from 0 to 1"]),
        ("assessor,object,expertise\nAna,P1,1\nAna,P1,0\n", ["file.csv", "given twice"]),
        ("assessor,object,expertise\nZoe,P1,1\n", ["file.csv", "Zoe"]),
        ("assessor,object,uncertainty\nAna,P1,0\n", ["file.csv", "positive"]),
        ("assessor,object\nAna,P1\n", ["file.csv", "no column of expertise"]),
        ("assessor,P1,P1\nAna,1,0\n", ["file.csv", "two columns P1"]),
        ("assessor,Q1\nAna,1\n", ["file.csv", "columns"]),
        ("assessor,object,expertise\nAna,P1,\n", ["file.csv", "no expertise"]),
    ],
)
def test_mistakes_in_expertise_name_the_file_and_the_pair(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_expected(written(tmp_path, text), OBJECTS, ASSESSORS)
    for word in words:
        assert word in str(caught.value)


def test_what_is_pasted_says_the_same_with_and_without_headings() -> None:
    for text in (
        "Ana\tP1\nBen\tP3",
        "P1;Ana\nP3;Ben",
        "P1, Ana\nP3,  Ben",
        "object,assessor\nP1,Ana\nP3,Ben\n",
        '\n"P1","Ana"\n"P3","Ben"',
    ):
        assert list(typed_pairs(text, OBJECTS, ASSESSORS, "conflicts")) == [("Ana", "P1"), ("Ben", "P3")]
    assert list(typed_pairs(" \n", OBJECTS, ASSESSORS, "conflicts")) == []
    known = typed_expertise("Ana\tP1\thigh\nBen\tP3\t0.5", OBJECTS, ASSESSORS)
    assert known is not None
    assert known.expertise is not None
    assert known.expertise.tolist() == [1.0, 0.5]
    assert typed_expertise("", OBJECTS, ASSESSORS) is None


def test_a_mistake_in_what_is_pasted_has_the_row_in_which_it_was_pasted() -> None:
    for text in ("Ana\tP1\nBen\tP9", "assessor\tobject\nBen\tP9"):
        with pytest.raises(InputError, match="conflicts, row 2: There is no object P9"):
            typed_pairs(text, OBJECTS, ASSESSORS, "conflicts")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("3", ("O1", "O2", "O3")),
        ("P1\nP2\n", ("P1", "P2")),
        ("A, or B\nC, D and E", ("A, or B", "C, D and E")),
        ("proposal\nP1\nP2", ("P1", "P2")),
        ("Paper ID\tTitle\n7\tCakes\n8\tTea", ("7", "8")),
        ("123456789012", ("123456789012",)),
    ],
)
def test_members_are_typed_as_a_number_a_list_or_a_table(text: str, labels: tuple[str, ...]) -> None:
    assert typed_members(text, "object").labels == labels


@pytest.mark.parametrize("text", ["", " \n\t\n", "P1\nP1", "a\tb\nc\td", "0"])
def test_members_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        typed_members(text, "object")
