"""JSON of any shape becomes a table, and what is no JSON is refused with a line and a remedy."""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path

import pytest

from evenhand.errors import InputError
from evenhand.io.records import read_json, to_table


def table_of(data: object) -> dict[str, list[object]]:
    table = to_table(data, "a.json")
    return dict(zip(table.names, map(list, table.columns), strict=True))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_json_of_every_encoding_and_from_a_path_is_the_same(tmp_path: Path, encoding: str) -> None:
    data = '[{"name": "Zoë"}]'.encode(encoding)
    path = tmp_path / "a.json"
    path.write_bytes(data)
    assert read_json(data, "a.json") == read_json(path, "a.json") == [{"name": "Zoë"}]


def test_bare_nan_is_an_empty_cell_and_infinity_is_a_number() -> None:
    assert read_json(b'[NaN, Infinity, -Infinity, 1, "NaN"]', "a.json") == [None, math.inf, -math.inf, 1, "NaN"]


def test_lines_may_be_blank_end_in_any_way_and_be_one() -> None:
    assert read_json(b'{"a": 1}\r\n\r\n{"a": 2}', "a.jsonl") == [{"a": 1}, {"a": 2}]
    assert read_json(b'{"a": 1}\n', "a.jsonl") == {"a": 1}


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", "empty_file", "empty"),
        (b" \n ", "empty_file", "empty"),
        (b'{"a": 1}\n{"a": 2\n{"a": 3}\n', "bad_json", "Line 2 is not JSON"),
        (b'{"a": 1}\n{"a": ', "bad_json", "Line 2 is not JSON (expecting value, column 7): the file may have been cut"),
        (b'[{"a": 1},\n {"a": }]', "bad_json", "Line 2 is not JSON"),
        (b'[{"a": 1}, {"a"', "bad_json", "cut off"),
        (b"object,assessor\n", "bad_json", "Line 1"),
        (b'{"a": "\xff"}', "bad_encoding", "Line 1 is not UTF-8"),
        (b"[" * 100_000, "bad_json", "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "bad_json", "too many digits"),
        (b"PK\x03\x04 and no more", "damaged_file", "damaged"),
    ],
)
def test_what_is_no_json_is_refused_with_a_place_and_a_remedy(data: bytes, kind: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(data, "a.json")
    assert caught.value.kind == kind
    assert words in str(caught.value)
    assert caught.value.where == "a.json"


def test_a_file_over_the_limit_is_refused_however_it_is_packed() -> None:
    with pytest.raises(InputError, match="more than the limit"):
        read_json(b"[" + b" " * 100 + b"]", "a.json", max_bytes=50)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/a_epoch_1.json", json.dumps(" " * 10_000_000))
    with pytest.raises(InputError, match="more than the limit"):
        read_json(packed.getvalue(), "a.eval", max_bytes=1_000_000)


def test_a_zip_that_is_no_log_is_to_be_unpacked() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("scores.csv", "a,b\n")
    with pytest.raises(InputError, match="unpack it"):
        read_json(packed.getvalue(), "a.zip")


def test_flat_records_become_columns_in_order_of_first_appearance() -> None:
    assert table_of([{"a": 1, "b": " "}, {"c": True, "a": "x"}]) == {
        "a": [1, "x"],
        "b": [None, None],
        "c": [None, True],
    }


def test_records_within_records_have_names_with_points_and_lists_of_words_are_joined() -> None:
    data = [{"user": {"id": 7, "mail": {"work": "a@x"}}, "topics": ["a", "b"], "nothing": [], "score": 3}]
    assert table_of(data) == {
        "user.id": [7],
        "user.mail.work": ["a@x"],
        "topics": ["a, b"],
        "nothing": [None],
        "score": [3],
    }


def test_lists_of_records_are_unfolded_with_what_stands_around_them_beside() -> None:
    reviews = [{"id": 1, "reviewer": "Ana", "score": 3}, {"id": 2, "reviewer": "Ben", "score": 4}]
    papers = [{"id": 7, "title": "Knots", "reviews": reviews}, {"id": 8, "title": "Ties", "reviews": []}]
    table = to_table({"conference": "C", "papers": papers}, "a.json")
    assert table.names == ("conference", "paper id", "paper title", "review id", "reviewer", "score")
    assert [list(column) for column in table.columns] == [
        ["C", "C"],
        [7, 7],
        ["Knots", "Knots"],
        [1, 2],
        ["Ana", "Ben"],
        [3, 4],
    ]
    assert [note.kind for note in table.notes] == ["not_assessed"]
    assert table.row_numbers.tolist() == [1, 1]


def test_of_several_lists_the_one_with_assessments_is_unfolded_or_the_user_is_asked() -> None:
    paper = {"id": 7, "authors": [{"name": "Cy"}], "reviews": [{"by": "Ana", "score": 3}]}
    table = to_table([paper], "a.json")
    assert table.names == ("id", "by", "score")
    assert "authors" in table.notes[0].message
    with pytest.raises(InputError, match="several lists of records, authors, notes"):
        to_table([{"id": 7, "authors": [{"name": "Cy"}], "notes": [{"name": "x"}]}], "a.json")


def test_a_name_that_stands_inside_and_outside_is_told_apart() -> None:
    assert table_of([{"score": 1, "reviews": [{"score": 2}]}]) == {"score": [1], "review.score": [2]}


def test_lists_by_the_names_of_columns_are_columns() -> None:
    assert table_of({"object": ["P1", "P2"], "score": [1, None]}) == {"object": ["P1", "P2"], "score": [1, None]}
    with pytest.raises(InputError, match="not of one length"):
        to_table({"object": ["P1", "P2"], "score": [1]}, "a.json")


def test_rows_with_a_header_and_records_by_label_are_tables_too() -> None:
    assert table_of([["object", "score"], ["P1", 3]]) == {"object": ["P1"], "score": [3]}
    assert table_of({"P1": {"Ana": 3, "Ben": 4}, "P2": {"Ana": 5}}) == {
        "": ["P1", "P2"],
        "Ana": [3, 5],
        "Ben": [4, None],
    }


@pytest.mark.parametrize("data", [[], 3, "text", [1, 2], [{"a": 1}, 2], {"reviews": []}])
def test_json_without_records_is_refused(data: object) -> None:
    with pytest.raises(InputError):
        to_table(data, "a.json")


def test_records_that_are_nested_without_end_are_refused() -> None:
    data: dict[str, object] = {"score": 1}
    for _ in range(20):
        data = {"a": 1, "parts": [data]}
    with pytest.raises(InputError, match="nested too deeply"):
        to_table([data], "a.json")
