"""Text files of cells, as people have them and as they break."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import InputError
from evenhand.io.delimited import read_delimited, sniff

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "object,assessor,score\nP1,AB,7.5\nP2,CD,8\n"


def write(folder: Path, content: str | bytes, name: str = "scores.csv") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def refused(file: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_delimited(file)
    assert "\n" not in str(caught.value)
    assert file.name in str(caught.value)
    return caught.value


def test_cells_stay_text_and_labels_keep_their_zeros(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score\n007,AB, 7.50\n"))
    assert table.cells == (["007"], ["AB"], [" 7.50"])
    assert table.source == "scores.csv"
    assert table.notes == ()


def test_header_names_lose_outer_white_space_and_nothing_else(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, " Object ,Asse ssor,\tScore\nP,A,1\n"))
    assert table.names == ("Object", "Asse ssor", "Score")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_are_read_without_a_note(tmp_path: Path, encoding: str) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score\nÉtude,Žofie,3\n".encode(encoding)))
    assert table.names[0] == "object"
    assert table.cells[:2] == (["Étude"], ["Žofie"])
    assert table.notes == ()


def test_utf_16_of_either_byte_order_with_tabs_is_what_excel_calls_unicode_text(tmp_path: Path) -> None:
    text = "\ufeffobject\tassessor\tscore\r\nÉtude\tAB\t3\r\n"
    for encoding in ("utf-16-le", "utf-16-be"):
        table = read_delimited(write(tmp_path, text.encode(encoding), "scores.txt"))
        assert table.names == ("object", "assessor", "score")
        assert table.columns[0] == ["Étude"]


def test_windows_1252_is_read_with_a_note(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score\nÉtude – 1,AB,3\n".encode("cp1252")))
    assert table.columns[0] == ["Étude – 1"]
    assert [note.kind for note in table.notes] == ["encoding"]


def test_latin_1_bytes_that_windows_1252_leaves_undefined_are_still_read(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, b"object,assessor,score\n\xc9 \x81,AB,3\n"))
    assert table.columns[0] == ["É \x81"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_of_all_systems_are_found(tmp_path: Path, delimiter: str, end: str) -> None:
    rows = [["object", "assessor", "score"], ["P1", "A", "1"], ["P2", "B", "2"]]
    table = read_delimited(write(tmp_path, end.join(delimiter.join(row) for row in rows) + end))
    assert table.names == ("object", "assessor", "score")
    assert table.cells == (["P1", "P2"], ["A", "B"], ["1", "2"])


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("object;assessor;score\nP;A;7,5\nQ;B;8,5\n", ";"),
        ("object;assessor;score, of ten\nP;A;7,5\nQ;B;8,5\n", ";"),
        ("object;assessor;score, mean\nP;A;7,5;\nQ;B;8,5;\n", ";"),
        ("title;who;how many\nP;A;7,5\nQ;B;8,5\n", ";"),
        ('object,assessor,score\n"a;b;c",A,1\n"d;e;f",B,2\n', ","),
        ("object,assessor,score\na;b;c,A,1\nd;e;f,B,2\n", ","),
        ("title\tcomment\nP\tone, two, three\nQ\tone, two, three\n", "\t"),
        ("paper,AB,CD\np1,3,\np2,,4\n", ","),
        ('"a|b",c|d,e\n"f|g",h|i,j\n', ","),
        ("only one column\nP\nQ\n", ","),
        ("x;y,z\n1;2,5\n2;3,5\n3;4\n", ";"),
    ],
)
def test_delimiter_is_the_one_that_makes_sense_of_the_header_and_the_rows(text: str, delimiter: str) -> None:
    assert sniff(text) == delimiter


def test_suffix_tsv_settles_a_tie() -> None:
    assert sniff("a,b\tc\n1,2\t3\n") == ","
    assert sniff("a,b\tc\n1,2\t3\n", preferred="\t") == "\t"


def test_sniffing_looks_at_whole_rows_of_a_long_file() -> None:
    assert sniff("object;assessor;score\n" + "P;A;1,5\n" * 20_000) == ";"


@pytest.mark.parametrize("line", ["sep=;\n", "SEP=;\r\n", '"sep=;"\n'])
def test_separator_line_of_excel_is_honoured_and_does_not_count_as_a_row(tmp_path: Path, line: str) -> None:
    table = read_delimited(write(tmp_path, line + "a,b;assessor;score\nP;A;1\n"))
    assert table.names == ("a,b", "assessor", "score")
    assert list(table.row_numbers) == [2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object;assessor;score\nP;A;7,5\nQ;B;8\n", True),
        ("object;assessor;score\nP;A;-7,5\nQ;B; ,5 \n", True),
        ("object;assessor;score\nP;A;7,5\nQ;B;8.5\n", False),
        ("object;assessor;score\nP;A;7\nQ;B;8\n", False),
        ("object;assessor;score\nP, Q;A, B;8\n", False),
        ('object,assessor,score\nP,A,"7,5"\n', False),
        ("object\tassessor\tscore\nP\tA\t7,5\n", True),
    ],
)
def test_decimal_comma_is_decided_for_the_whole_file(tmp_path: Path, text: str, expected: bool) -> None:
    assert read_delimited(write(tmp_path, text)).decimal_comma is expected


def test_blank_rows_are_left_out_counted_and_row_numbers_stay_true(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "\nobject,assessor,score\nP,A,1\n\n , ,\t\nQ,B,2\n\n,,\n\n"))
    assert table.columns[0] == ["P", "Q"]
    assert list(table.row_numbers) == [3, 6]
    assert table.where(1, "score") == "row 6, column score"
    (note,) = table.notes
    assert note.kind == "blank_rows"
    assert note.message.startswith("2 blank rows")
    assert note.where == "rows 4, 5"


def test_row_numbers_count_a_quoted_cell_with_line_breaks_as_one_row(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, 'object,assessor,score\n"P\n1",A,1\nQ,B,2\n'))
    assert table.columns[0] == ["P\n1", "Q"]
    assert list(table.row_numbers) == [2, 3]


def test_short_rows_are_filled_up_and_white_space_is_empty(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score\nP,A\nQ, \xa0,2\n"))
    assert table.cells == (["P", "Q"], ["A", None], [None, "2"])


def test_cells_beyond_the_header_are_refused_with_their_row_unless_blank(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score\nP,A,1,, \n"))
    assert len(table.names) == 3
    error = refused(write(tmp_path, "object,assessor,score\nP,A,1\n\nQ,B,7,5\nR,B,7,5\n"))
    assert error.where == "scores.csv, row 4"
    assert "4 cells" in str(error)
    assert "header has 3" in str(error)
    assert len(error.problems) == 2


def test_a_name_may_stand_twice(tmp_path: Path) -> None:
    table = read_delimited(write(tmp_path, "object,assessor,score,object\nP,A,1,Q\n"))
    assert table.names == ("object", "assessor", "score", "object")


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", "empty_file", "empty"),
        (b"\xef\xbb\xbf", "empty_file", "empty"),
        (b" \n\t\n,,\n", "empty_file", "empty"),
        (b"sep=;\n", "empty_file", "empty"),
        (b"object,assessor,score\n\n", "empty_file", "no row"),
        (b"object,assessor,score\nP\0,A,1\n", "not_text", "NUL"),
        ("object,assessor,score\nP\0,A,1\n".encode("utf-16"), "not_text", "binary"),
        (b"PK\x03\x04\x14\0\0\0junk", "not_text", ".xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "not_text", "old Excel"),
        (b"PAR1\x15\x04", "not_text", "parquet"),
        (b"\x1f\x8b\x08\x08", "not_text", "unpack"),
        (bytes(range(1, 256)) * 10, "not_text", "binary"),
        (b"\xff\xfea", "not_text", "damaged"),
        (b'object,assessor,score\nP,A,1\n"Q,B,2\nR,C,3\n', "unclosed_quote", "row 3"),
        (b'object,assessor,score\n"P"x,A,1\n', "bad_quote", "row 2"),
        (b'object,assessor,score\n"' + b"x\n" * 100_000, "unclosed_quote", "row 2"),
    ],
)
def test_what_is_no_table_gets_one_sentence(tmp_path: Path, content: bytes, kind: str, words: str) -> None:
    error = refused(write(tmp_path, content))
    assert error.kind == kind
    assert words in str(error)


def test_a_file_over_the_limit_is_not_even_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than the limit of 10 bytes") as caught:
        read_delimited(write(tmp_path, PLAIN), max_bytes=10)
    assert caught.value.kind == "too_large"


def test_a_file_of_nothing_but_delimiters_is_refused_before_its_cells_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.io.delimited.MAX_CELLS", 1000)
    assert refused(write(tmp_path, "a,b\n" + "," * 2000)).kind == "too_large"


CELLS = st.text(
    alphabet=st.one_of(st.sampled_from(list(",;\t|\"'\n =é漢😀a0")), st.characters(exclude_categories=["Cs", "Cc"])),
    max_size=12,
).filter(lambda text: bool(text) and not text.isspace())


@settings(deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8), delimiter=st.sampled_from(",;\t|"))
def test_any_cells_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], delimiter: str
) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([("object", "assessor", "score"), *rows])
    file = write(tmp_path_factory.mktemp("trip"), stream.getvalue())
    table = read_delimited(file)
    assert list(zip(*table.columns, strict=True)) == rows
    assert list(table.row_numbers) == list(range(2, len(rows) + 2))
