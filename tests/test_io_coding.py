"""Large files: read column by column, they give what cell by cell gives, down to the words of every refusal."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import compiled, memory, progress
from evenhand.errors import InputError, LimitError, Problem
from evenhand.io import coding, delimited
from evenhand.io.coding import Labels
from evenhand.panel import collector, source
from evenhand.panel import entries as checked
from evenhand.panel.panel import Panel
from evenhand.panel.rules import Judged, Numbers, label_text, parse_number
from panels import facts

WHOLE = 2**20


def outcome(path: Path, **options: Any) -> tuple[Any, ...]:
    """Return all that a panel says, or all that a refusal says."""
    try:
        panel = eh.read_panel(path, **options)
    except InputError as error:
        return ("refused", str(error), error.problems)
    return facts(panel)


def both(path: Path, *, portion: int = WHOLE, numba: bool = True, **options: Any) -> tuple[Any, ...]:
    """Read a file cell by cell and column by column, insist that the outcomes are equal, and return them."""
    by_cell = outcome(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coding, "LARGE_FILE", 0)
        patch.setattr(source, "LOOKED_AT", 0)
        patch.setattr(delimited, "PORTION", portion)
        patch.setattr(delimited, "LEAST_PORTION", portion)
        patch.setattr(compiled, "LARGE", 0 if numba else 2**60)
        taken = patch_count(patch)
        by_column = outcome(path, **options)
    if by_cell[0] != "refused":
        assert taken, "the file was not read column by column"
    assert by_column == by_cell
    return by_cell


def patch_count(patch: pytest.MonkeyPatch) -> list[int]:
    """Take down the sizes of all parts that are read column by column from now on."""
    taken: list[int] = []
    column = coding._Maker.column

    def counted(self: coding._Maker, series: pl.Series, decimal_comma: bool) -> Any:
        taken.append(len(series))
        return column(self, series, decimal_comma)

    patch.setattr(coding._Maker, "column", counted)
    return taken


def write(folder: Path, text: str | bytes, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


LABELS = st.sampled_from(
    ["a", "b", "c", "A", "a ", "007", "7", "Total", "é", "É", "x,y", "", " ", "NA", 'q"q', "l\nm", "ﬁ"]
)
GOOD_LABELS = st.sampled_from(["a", "b", "c", "d", "A", "a ", "007", "7", "Total", "é", "É", "x,y", "l\nm", "z" * 20])
SCORES = st.one_of(
    st.floats(-100, 100).map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(
        ["", " ", "NA", "7.5 ", " 8", "1e2", "−3", "12,5", "1,234", "9.5", "inf", "x", "1_0", "0x1", "nan", "1e999"]
    ),
)
GOOD_SCORES = st.one_of(st.integers(-5, 5).map(str), st.sampled_from(["1.5", " 8", "1e2", "−3", "", "NA"]))
DECLARED = st.sampled_from(
    ["1", "2.5", "0.5", " 3", "h", "high", "Low", "m", "hoch", "", "NA", "0", "-1", "inf", "1e-200", "1e200", "?"]
)
GOOD_NUMBERS = st.sampled_from(["1", "2.5", "0.5", " 3", "1e-3"])
GOOD_LEVELS = st.sampled_from(["h", "high", "Low", "m", " L", "MEDIUM"])
HEADERS = st.sampled_from(["sd", "confidence", "level", "weight", "Confidence/ Std Dev"])


def quoted(cell: str, delimiter: str, always: bool) -> str:
    if always or any(mark in cell for mark in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    """Draw a text file that may have anything wrong with it, and options to read it with."""
    delimiter = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    sound = draw(st.booleans())
    declared = draw(st.sampled_from([None, None, "numbers", "levels", "any"]))
    header = ["object", "assessor", "score"]
    columns = [GOOD_LABELS if sound else LABELS, GOOD_LABELS if sound else LABELS, GOOD_SCORES if sound else SCORES]
    if declared is not None:
        header.append(draw(HEADERS))
        columns.append({"numbers": GOOD_NUMBERS, "levels": GOOD_LEVELS, "any": DECLARED}[declared])
    if draw(st.booleans()):
        at = draw(st.integers(0, len(header)))
        header.insert(at, "remark")
        columns.insert(at, st.sampled_from(["", "", "ok", "1,5", "2.5", "a;b"]))
    if draw(st.integers(0, 9)) == 0:
        header[draw(st.integers(0, len(header) - 1))] = draw(st.sampled_from(["", "thing", "score", "object"]))
    rows = draw(st.lists(st.tuples(*columns), min_size=0, max_size=14))
    always = draw(st.booleans())
    lines = [delimiter.join(quoted(cell, delimiter, always) for cell in row) for row in [header, *rows]]
    for _ in range(draw(st.integers(0, 2))):
        odd = draw(
            st.sampled_from(
                ["", "", " ", delimiter * 2, "a", f"a{delimiter}b", delimiter.join("abcdefgh"), 'a"b', '"a"b', '"a']
            )
        )
        lines.insert(draw(st.integers(0 if not odd.strip() else 1, len(lines))), odd)
    text = end.join(lines) + draw(st.sampled_from(["", end, end * 2]))
    if draw(st.integers(0, 9)) == 0:
        text = f"sep={delimiter}{end}{text}"
    encoding = draw(st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "cp1252"]))
    options: dict[str, Any] = {"duplicates": draw(st.sampled_from(["error", "keep", "combine"] * 4 + ["sum"]))}
    if draw(st.booleans()):
        options["missing"] = draw(st.sampled_from([["NA"], ["NA", "x", "?"], ["-1", "8"], ["a"]]))
    if draw(st.booleans()):
        options["aliases"] = draw(st.sampled_from([{"hoch": "high"}, {"2.5": "low"}, {"inf": "high", "?": "low"}]))
    return text.encode(encoding, "replace"), options


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files(), st.sampled_from([7, 40, 200, WHOLE]), st.sampled_from([True, True, False]))
def test_column_by_column_a_text_file_gives_what_it_gives_cell_by_cell(
    file: tuple[bytes, dict[str, Any]], portion: int, numba: bool
) -> None:
    content, options = file
    with tempfile.TemporaryDirectory() as folder:
        both(write(Path(folder), content), portion=portion, numba=numba, **options)


TEXT = st.sampled_from(["a", "b", "c", "007", " ", "", None, "Mean", "mean"])
PARQUET_LABELS = {
    pl.String: TEXT,
    pl.Categorical: TEXT,
    pl.Int64: st.sampled_from([1, 2, 3, -4, 2**60, None]),
    pl.UInt64: st.sampled_from([1, 2, 2**64 - 1]),
    pl.Int8: st.integers(0, 5),
    pl.Float64: st.sampled_from([1.0, 2.0, 7.5, -0.0, 0.0, 1e20, None, float("nan")]),
    pl.Boolean: st.booleans(),
    pl.Date: st.sampled_from([None, __import__("datetime").date(2020, 1, 2)]),
}
PARQUET_SCORES = {
    pl.Float64: st.sampled_from([1.0, 2.5, None, float("nan"), float("inf"), 3.0]),
    pl.Float32: st.sampled_from([0.1, 2.5, 3.0]),
    pl.Int64: st.sampled_from([1, 2, 3, None, 2**53 + 1]),
    pl.String: SCORES,
    pl.Boolean: st.booleans(),
    pl.Null: st.none(),
}


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    size = draw(st.integers(1, 12))
    kinds: list[tuple[str, Any]] = [("object", PARQUET_LABELS), ("assessor", PARQUET_LABELS), ("score", PARQUET_SCORES)]
    if draw(st.booleans()):
        kinds.append((draw(HEADERS), {**PARQUET_SCORES, pl.String: DECLARED}))
    if draw(st.booleans()):
        kinds.append(("remark", {pl.String: st.sampled_from([None, " ", "x"]), pl.Int8: st.none()}))
    columns = []
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(kinds) - 1))
        kinds[at] = ("thing", kinds[at][1])
    for name, choices in kinds:
        dtype = draw(st.sampled_from(list(choices)))
        cells = draw(st.lists(choices[dtype], min_size=size, max_size=size))
        columns.append(pl.Series(name, cells, dtype=dtype))
    return pl.DataFrame(columns)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.booleans(), st.sampled_from(["error", "keep", "combine"]), st.sampled_from([[], ["x"], ["1"]]))
def test_column_by_column_a_parquet_file_gives_what_it_gives_cell_by_cell(
    table: pl.DataFrame, numba: bool, duplicates: str, missing: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        table.write_parquet(path)
        both(path, numba=numba, duplicates=duplicates, missing=missing)


def read_numbers(texts: list[str], *, decimal_comma: bool = False) -> Judged:
    factoriser = coding.Factoriser(["score"], source.Wanted((0,), frozenset([0])))
    (column,) = factoriser.columns([pl.Series(texts, dtype=pl.String)], decimal_comma=decimal_comma)
    return Numbers(frozenset()).read(column, decimal_comma)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.text("0123456789+-.,eE_ infa−\t\xa0\x1c", max_size=8), min_size=1, max_size=10), st.booleans())
def test_a_column_of_texts_is_read_as_its_cells_are(texts: list[str], comma: bool) -> None:
    reading = read_numbers(texts, decimal_comma=comma)
    for at, text in enumerate(texts):
        expected = parse_number(text, decimal_comma=comma)
        assert (expected is None) == bool(np.isnan(reading.value[at]))
        assert expected is None or expected == reading.value[at]


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 25))
def test_numbers_are_rounded_as_python_rounds_them(number: float, digits: int) -> None:
    texts = [repr(number), f"{number:.{digits}e}", f"{number:.{digits}f}"]
    reading = read_numbers(texts)
    assert reading.value.tolist() == [float(text) for text in texts]


ROWS = "object,assessor,score\n" + "".join(f"item-{i % 50},user-{i // 50},{i % 7}.5\n" for i in range(2000))


@pytest.mark.parametrize("numba", [True, False])
@pytest.mark.parametrize("portion", [300, 2000, WHOLE])
def test_portions_are_cut_between_rows_wherever_they_end(tmp_path: Path, portion: int, numba: bool) -> None:
    for text in (ROWS, ROWS.replace("\n", "\r\n"), ROWS.replace("\n", "\r"), ROWS.replace("item-7,", '"item\n7",')):
        assert len(both(write(tmp_path, text), portion=portion, numba=numba)[4]) == 2000


def test_a_literal_quotation_mark_and_a_blank_line_do_not_disturb_other_portions(tmp_path: Path) -> None:
    text = ROWS.replace("item-7,", 'item 7",', 1).replace("item-9,user-30", "\nitem-9,user-30")
    found = both(write(tmp_path, text), portion=500)
    assert 'item 7"' in found[0]
    assert [note.kind for note in found[8]] == ["blank_rows"]


def test_numbers_far_down_decide_what_commas_mean(tmp_path: Path) -> None:
    whole = "object;assessor;score\n" + "".join(f"o{i};a;{i}\n" for i in range(500))
    assert both(write(tmp_path, whole + "p;a;7,5\n"), portion=200)[4][-1] == 7.5
    found = both(write(tmp_path, whole + "p;a;7,5\nq;a;7.5\n"), portion=200)
    assert found[2][0].message.startswith("the score '7,5' is not a number")
    comma = "object;assessor;score\n" + "".join(f"o{i};a;{i},5\n" for i in range(500))
    assert both(write(tmp_path, comma + "q;a;7.5\n"), portion=200)[0] == "refused"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-32", "cp1252", "latin-1"])
def test_other_encodings_are_read_in_portions(tmp_path: Path, encoding: str) -> None:
    text = ROWS.replace("user-3,", "Žofie – 3," if encoding not in ("cp1252", "latin-1") else "Zoë,")
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    content = (mark + text).encode(encoding) + (b"x\x81,y,3\n" if encoding == "latin-1" else b"")
    assert both(write(tmp_path, content), portion=300)[0] != "refused"


def test_what_is_no_text_is_refused_alike(tmp_path: Path) -> None:
    row = "é,b,1\n"
    for content in (
        b"object,assessor,score\na,b,1\n" * 300 + b"\0\n",
        b"object,assessor,score\n" + b"a\x01\x02\x03,b,1\n" * 300,
        b"\xef\xbb\xbfobject,assessor,score\n" + row.encode() * 200 + b"\xff\n",
        ("\ufeffobject,assessor,score\n" + row * 200).encode("utf-16-le") + b"\x00\xd8\n\x00",
        b"PAR1 object,assessor",
        b"",
        b"\n \n",
        b"object,assessor,score\n",
        b"object,assessor\na,b\n",
    ):
        assert both(write(tmp_path, content), portion=500)[0] == "refused"


def test_a_misplaced_quotation_mark_is_refused_wherever_portions_end(tmp_path: Path) -> None:
    text = 'object,assessor,score\n"a\n \n"é,"a",1\nb,a,2\n'
    for portion in range(1, 40):
        assert both(write(tmp_path, text), portion=portion)[2][0].kind == "bad_quote"


def test_a_quotation_mark_that_is_never_closed_is_refused_where_it_begins(tmp_path: Path) -> None:
    text = ROWS + '"open,user-1,3\n' + ROWS * 60
    assert len(text) > 2**21
    found = both(write(tmp_path, text), portion=2**18)
    assert found[2][0].kind == "unclosed_quote"
    assert found[2][0].where == "scores.csv, row 2002"


def test_a_long_file_lists_its_first_problems_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ROWS.replace(".5\n", " pounds\n"))
    by_cell = outcome(path)
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    monkeypatch.setattr(delimited, "LEAST_PORTION", 5000)
    with pytest.raises(InputError) as caught:
        eh.read_panel(path)
    assert caught.value.problems[:1000] == by_cell[2][:1000]
    assert caught.value.problems[1000:] == (Problem("more_problems", "1,000 further problems are not listed."),)


def test_two_texts_with_one_hash_are_still_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def short(self: pl.Series, **_: int) -> pl.Series:
        tried.append(len(self))
        return self.str.len_bytes().cast(pl.UInt64)

    monkeypatch.setattr(pl.Series, "hash", short)
    both(write(tmp_path, ROWS))
    assert tried


def test_codes_grow_with_the_labels() -> None:
    generator = np.random.default_rng(4)
    numbers = generator.integers(0, 50_000, 200_000)
    firsts = list(dict.fromkeys(numbers.tolist()))
    for column in (
        pl.Series(numbers),
        pl.Series(numbers).cast(pl.String),
        pl.Series(numbers).cast(pl.UInt32),
        pl.Series(numbers).cast(pl.Float32),
    ):
        coder = coding.HashCoder()
        codes = np.concatenate([coder.encode(column.slice(start, 7001)) for start in range(0, 200_000, 7001)])
        assert [label_text(cell) for cell in coder.listed()] == [str(number) for number in firsts]
        assert np.array_equal(np.array(firsts)[codes], numbers)
        if not column.dtype.is_float():
            order = np.arange(len(firsts))[::-1]
            assert coder.labels(order) == [str(number) for number in firsts[::-1]]


def test_compiled_and_plain_loops_agree_on_repeated_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(7)
    for size in (2, 300, 3000):
        one, other = (generator.integers(0, count, size).astype(np.uint32) for count in (40, 900))
        pairs = list(zip(one.tolist(), other.tolist(), strict=True))
        expected = [at for at, pair in enumerate(pairs) if pairs.count(pair) > 1]
        score = np.zeros(size)
        entries = checked.Entries(range(40), range(900), one, other, score, score, "none", ())  # type: ignore[arg-type]
        for numba in (True, False):
            monkeypatch.setattr(compiled, "LARGE", 0 if numba else 2**60)
            rows, group = checked._repeated(entries)
            assert rows.tolist() == expected
            found = list(zip(group.tolist(), (pairs[at] for at in expected), strict=True))
            assert len(set(found)) == len({number for number, _ in found}) == len({pair for _, pair in found})


@pytest.mark.parametrize(
    ("text", "is_last", "found"),
    [
        ('a,"b\n""c",d\r\ne\n"open', False, (15, 2)),
        ('a,"b\n""c",d\r\ne\n"open', True, None),
        ('"a",b\n"c"', True, (9, 2)),
        ('"a",b\n', True, (6, 1)),
        ('"a\nb', False, (0, 0)),
        ('a"b,c\n', True, None),
        ('"a"b,c\n', True, None),
        ('"a"\rb\n', True, None),
        ('""\n""""\n', True, (8, 2)),
    ],
)
def test_rows_with_quotation_marks_end_where_a_reader_says(
    text: str, is_last: bool, found: tuple[int, int] | None
) -> None:
    assert delimited.row_ends(text.encode(), ",", is_last) == found


def test_characters_that_text_does_not_have_are_counted() -> None:
    every = bytes(range(256))
    expected = sum(byte == 127 or (byte < 32 and not 9 <= byte <= 13) for byte in every)
    assert delimited.count_controls(every * 3) == 3 * expected


@pytest.mark.parametrize("room", [0, 5, 1000])
def test_a_column_grows_as_its_parts_come(room: int) -> None:
    column = collector.Growing(np.uint32, room)
    for start in range(0, 90, 9):
        column.extend(np.arange(start, start + 9, dtype=np.uint32))
    assert len(column) == 90
    whole = column.taken()
    assert (whole.dtype, whole.tolist(), len(column)) == (np.dtype(np.uint32), list(range(90)), 0)


def test_labels_are_a_sequence_that_equals_a_tuple() -> None:
    texts = ("x", "y", "z", "x y")
    lazy = Labels(pl.Series(texts))
    assert lazy == texts
    assert texts == lazy
    assert lazy != texts[:3]
    assert lazy == Labels(pl.Series(texts))
    assert (list(lazy), lazy[-1], lazy[1:3], len(lazy)) == (list(texts), "x y", ("y", "z"), 4)
    assert "z" in lazy
    assert "w" not in lazy
    assert lazy.index("z") == 2
    for absent in ("w", None):
        with pytest.raises(ValueError, match="not among"):
            lazy.index(absent)
    with pytest.raises(IndexError):
        lazy[4]
    assert repr(lazy) == "Labels('x', 'y', 'z', ...)"


def test_a_file_that_does_not_fit_into_memory_is_refused_with_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    monkeypatch.setattr(memory, "TRIFLE", 0)
    monkeypatch.setattr(memory, "available", lambda: 10_000)
    for path in (write(tmp_path, ROWS), tmp_path / "scores.parquet"):
        if path.suffix == ".parquet":
            pl.read_csv(tmp_path / "scores.csv").write_parquet(path)
        with pytest.raises(LimitError, match=rf"of memory for the 2,0\d\d rows or so of {path.name}, and 0.00 GiB"):
            eh.read_panel(path)


def test_large_files_tell_how_far_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    monkeypatch.setattr(delimited, "LEAST_PORTION", 10_000)
    heard: list[tuple[str, float, float | None]] = []
    with progress.listening(lambda *said: heard.append(said)):
        eh.read_panel(write(tmp_path, ROWS))
    assert {task for task, *_ in heard} == {"reading scores.csv"}
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert heard[-1][1] == heard[-1][2] == len(ROWS)


def test_only_large_files_are_read_column_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = patch_count(monkeypatch)
    eh.read_panel(write(tmp_path, ROWS))
    assert not taken
    eh.read_panel(write(tmp_path, ROWS * 40), missing=["score"], duplicates="keep")
    assert taken


@pytest.mark.parametrize("damage", ["cut", "middle", "footer", "text"])
def test_a_damaged_large_parquet_file_is_refused_in_one_sentence(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    path = tmp_path / "a.parquet"
    pl.DataFrame({"object": [f"P{i}" for i in range(1000)], "assessor": "A", "score": 1.0}).write_parquet(path)
    content = bytearray(path.read_bytes())
    if damage == "middle":
        content[20:80] = b"z" * 60
    elif damage == "footer":
        content[-40:-10] = b"\xff" * 30
    path.write_bytes({"cut": bytes(content[:100]), "text": b"object,assessor\n" * 9}.get(damage, bytes(content)))
    with pytest.raises(InputError, match="damaged or of an unknown kind") as caught:
        eh.read_panel(path)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_parquet_file_that_ends_the_process_of_its_reader_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parquet_worker.py").write_text("import os\nos.abort()\n")
    monkeypatch.setattr("evenhand.io.parquet.__file__", str(tmp_path / "parquet.py"))
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    pl.DataFrame({"object": ["x"], "assessor": ["a"], "score": [1.0]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="broke off"):
        eh.read_panel(tmp_path / "a.parquet")


def test_a_directory_of_parquet_files_is_read_in_the_order_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(["b.parquet", "a.parquet"]):
        frame = pl.DataFrame({"object": [f"o{number}", "o"], "assessor": [number, 5 + number], "score": [1, 2]})
        frame.write_parquet(tmp_path / name)
    found = both(tmp_path)
    assert found[0] == ("o1", "o", "o0")
    assert found[1] == ("1", "6", "0", "5")


def test_few_bytes_with_many_rows_are_read_column_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 100_000
    frame = pl.select(object=pl.int_range(rows), assessor=pl.lit("a"), score=pl.lit(1.0))
    frame.write_parquet(tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < coding.LARGE_FILE
    taken = patch_count(monkeypatch)
    assert eh.read_panel(tmp_path / "a.parquet").n_objects == rows
    assert taken


def test_what_is_collected_is_a_panel_with_small_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    panel = eh.read_panel(write(tmp_path, ROWS))
    assert isinstance(panel, Panel)
    assert panel.object_index.dtype == panel.assessor_index.dtype == np.uint32
    assert panel.precision.strides == (0,)
    plain = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score)
    expected = eh.calibrate(plain).values.estimate
    np.testing.assert_array_equal(eh.calibrate(panel).values.estimate, expected)


def test_labels_of_every_panel_are_found_by_the_codes_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ROWS)
    panels = [eh.read_panel(path), Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0])]
    monkeypatch.setattr(coding, "LARGE_FILE", 0)
    monkeypatch.setattr(source, "LOOKED_AT", 0)
    monkeypatch.setattr(compiled, "LARGE", 0)
    panels += [eh.read_panel(path), eh.read_panel(eh.pack_panel(panels[0], tmp_path / "packed"))]
    assert [type(panel.objects).__name__ for panel in panels] == ["tuple", "Numbered", "Labels", "Labels"]
    for panel in panels:
        for labels, index in ((panel.objects, panel.object_index), (panel.assessors, panel.assessor_index)):
            assert labels[index[-1]] == labels[int(index[-1])]


@pytest.mark.parametrize("columns", [10, 200_000])
def test_a_header_is_read_to_its_end_however_long_it_is(tmp_path: Path, columns: int) -> None:
    further = ",".join(f"column {number}" for number in range(columns))
    path = write(tmp_path, f"{further},object,assessor,score\n" + "," * columns + "x,A,1\n" + "," * columns + "y,A,2\n")
    assert (path.stat().st_size > 2**21) == (columns > 10)
    panel = eh.read_panel(path)
    assert (panel.objects, panel.score.tolist(), panel.notes) == (("x", "y"), [1.0, 2.0], ())


def test_a_header_without_end_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_LONGEST_ROW", 2**20)
    with pytest.raises(InputError, match="There is no header of less than 64 MiB") as caught:
        eh.read_panel(write(tmp_path, "name," * 2**20))
    assert caught.value.kind == "too_large"


@pytest.mark.parametrize("blank", ["\n", "\r\n", " \n", ",,\n"])
def test_blank_lines_by_the_million_are_counted_and_skipped(tmp_path: Path, blank: str) -> None:
    many = 300_000
    rows = f"x,A,1\n{blank * many}y,A,2\n"
    for before in (0, many):
        panel = eh.read_panel(write(tmp_path, blank * before + "object,assessor,score\n" + rows + blank * many))
        assert panel.score.tolist() == [1.0, 2.0]
        (note,) = panel.notes
        first = before + 3
        assert note.message == f"{many} blank rows between rows of data were left out."
        assert note.where == f"rows {', '.join(str(first + at) for at in range(5))} and {many - 5} more"
    for rest in ("", "object,assessor,score\n"):
        with pytest.raises(InputError) as caught:
            eh.read_panel(write(tmp_path, blank * many + rest + blank * many))
        assert caught.value.kind == "empty_file"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_children_that_are_forked_after_polars_ran_read_large_files(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {
            "object": [f"object {row // 10:07d}" for row in range(100_000)],
            "assessor": [f"assessor {row % 10}" for row in range(100_000)],
            "score": np.random.default_rng(1).normal(size=100_000),
        }
    )
    path = tmp_path / f"scores.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path, compression="uncompressed")
    expected = eh.read_panel(path)
    frame.group_by("object").agg(pl.col("score").mean())
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            signal.alarm(60)
            same = facts(eh.read_panel(path)) == facts(expected)
            os._exit(0 if same else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
