"""What a person sees: alerts first, the decision, tables for any width, names of any script, colours and none."""

import csv
import functools
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.layout import Table, clusters, cut, encodable, some_of, width_of, wrap
from evenhand.data import demo_path
from evenhand.words import printable
from terminals import watched

COLUMNS = {
    "עדי כהן": 7,
    "محمد الأنصاري": 13,
    "山田　太郎の長い提案書": 22,
    "👩‍🚀 crew 👨‍👩‍👧‍👦": 10,
    "Jose\u0301 Ferna\u0301ndez": 14,
    "🇩🇪 flag": 7,
    "❤️ heart": 8,
    "plain": 5,
    "A title of a proposal that goes on and on without any end": 57,
}
"""Names, and the columns that each takes on a terminal."""

STATUS = {"in": "● In", "undecided": "◐ Open", "out": "○ Out"}
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7])[;m]")


def plain(shown: str) -> str:
    """Return what is left on the terminal, without styles and without progress."""
    return ESCAPE.sub("", shown.rpartition("\x1b[1A\x1b[2K")[2])


@functools.cache
def demo_at(columns: int) -> str:
    return watched(["demo"], columns)


def piped(*arguments: object, **environment: str) -> bytes:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    command = [sys.executable, "-m", "evenhand", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=True, env=kept | environment).stdout


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def write(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine objects of names in many scripts, the first far above the others, each scored by three of four."""
    rows: list[tuple[object, ...]] = [("object", "assessor", "score")]
    for at, name in enumerate(COLUMNS):
        for turn, who in enumerate(("Ana", "Ben", "李", "Cy")):
            if (at + turn) % 4:
                rows.append((name, who, (90 if at == 0 else 60 - 2 * at) + 3 * turn + (at * 7 + turn * 5) % 4))
    return write(tmp_path_factory.mktemp("names") / "names.csv", rows)


@pytest.fixture(scope="module")
def typo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, with two zeros too many in one score."""
    lines = demo_path().read_text(encoding="utf-8").splitlines()
    at = lines.index("P03,Castellano,88,low")
    lines[at] = "P03,Castellano,8800,low"
    path = tmp_path_factory.mktemp("typo") / "typo.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("columns", "headings"),
    [
        (40, ["#", "proposal", "value", "chance", "status"]),
        (80, ["#", "proposal", "value", "90% interval", "plain", "ranks", "chance", "status"]),
        (120, ["#", "proposal", "value", "40 50 60 70 80 90", "90% interval", "plain", "ranks", "chance", "status"]),
    ],
)
def test_the_demo_fits_and_says_what_was_left_out(columns: int, headings: list[str]) -> None:
    lines = plain(demo_at(columns)).splitlines()
    assert max(map(width_of, lines)) <= columns
    head = next(line for line in lines if line.lstrip().startswith("#"))
    assert " ".join(head.split()) == " ".join(headings)
    told = " ".join(lines)
    assert ("Left out for want of width: 90% interval, plain, ranks;" in told) == (columns == 40)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_demo_shows_the_decision_of_the_library_with_its_line(columns: int) -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    lines = plain(demo_at(columns)).splitlines()
    told = " ".join(" ".join(lines).split())
    finding = (
        "3 in by the method used; 18 compete for 7 of 10 places."
        if columns == 40
        else f"{decision.headline(by_method=True)}."
    )
    assert finding in told
    line = next(at for at, one in enumerate(lines) if one.endswith("── 10 places ─"))
    rows = [*lines[line - 10 : line], *lines[line + 1 : line + 31]]
    for row, standing in zip(rows, decision.standings, strict=True):
        assert row.split()[:2] == [str(standing.place), standing.object]
        assert f" {standing.value:.1f} " in row
        assert row.endswith(STATUS[str(standing.status)])
    assert width_of(lines[line]) <= columns
    for word, labels in (("In", decision.inside), ("Open", decision.undecided), ("Out", decision.outside)):
        assert f"{word} ({len(labels)}): {', '.join(labels[:3])}" in told
    assert "From 10,000 draws, seed 0." in told
    assert "afely" not in told
    assert "ndecided" not in told


def test_bars_stand_at_the_values_under_a_scale() -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    lines = plain(demo_at(120)).splitlines()
    head = next(line for line in lines if line.lstrip().startswith("#"))
    at_50, at_80 = (head.index(f" {mark} ") + 1.5 for mark in ("50", "80"))  # the middle of two digits
    for standing in decision.standings:
        row = next(line for line in lines if f"  {standing.object}  " in line)
        for sign, value in (("●", standing.value), ("━", standing.lower)):
            assert value is not None
            expected = at_50 + (value - 50) / 30 * (at_80 - at_50)
            if sign in row[: row.index("%")]:
                assert row.index(sign) == pytest.approx(expected, abs=2.5)


def test_alerts_come_before_the_answer_and_notes_after_it(names: Path) -> None:
    told = plain(demo_at(80))
    places = [
        told.index(words)
        for words in ("Check 2 proposals: each would cross", "3 proposals are in", " 1  P28", "In (3)")
    ]
    assert places == sorted(places)
    assert "\x1b[1;31mCheck 2 proposals" in demo_at(80)
    told = run("rank", names, "--top", 3)
    note = told.find("Note: ")
    assert note == -1 or note > told.index("From 10,000 draws")


def test_a_score_that_must_be_checked_leaves_no_decision(typo: Path) -> None:
    told = run("rank", typo, "--top", 10)
    assert told.startswith("No decision yet: one score must be checked.\n  Row 8: Castellano gave P03 a score of 8800.")
    words = (
        "8800, as entered",
        "88, two zeros too many",
        "left out",
        "Ask Castellano",
        "\nProvisional: if the score is left out, ",
    )
    places = [told.index(one) for one in words]
    assert places == sorted(places)
    outcome = next(line for line in told.splitlines() if line.startswith("88, two zeros"))
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    assert outcome.split()[-3:] == [str(len(one)) for one in (decision.inside, decision.undecided, decision.outside)]


def test_until_a_score_is_checked_every_door_shows_the_decision_without_it(typo: Path, tmp_path: Path) -> None:
    from python_calamine import CalamineWorkbook

    panel = eh.demo()
    at = 6  # row 8 of the file
    decision = eh.decide(eh.rank(eh.calibrate(panel.restrict(np.arange(panel.n_assessments) != at)), top=10), 10)
    headline = f"if the score is left out, {decision.headline()}"
    told = run("rank", typo, "--top", "10", "--out", tmp_path / "x.xlsx", "--report", tmp_path / "x.html")
    assert f"Provisional: {headline}." in told
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", (tmp_path / "x.html").read_text(encoding="utf-8")))
    assert f"If the score is left out, {decision.headline(by_method=True)}" in page, "another method has nobody in"
    rows = CalamineWorkbook.from_path(tmp_path / "x.xlsx").get_sheet_by_name("decision").to_python()
    text = [str(row[0]) for row in rows]
    assert any(one.startswith(f"Provisional: {headline}. ") for one in text)
    for case in ("8800, as entered: P03 ranks 1", "88, two zeros too many: P03 ranks", "Left out: P03 ranks"):
        assert sum(one.startswith(case) for one in text) == 1
    table = rows[text.index("Rank") + 1 :][: panel.n_objects]
    assert [row[1] for row in table] == [one.object for one in decision.standings]
    assert np.allclose([float(str(row[2])) for row in table], [one.value for one in decision.standings])


@pytest.mark.parametrize("command", ["check", "calibrate", "compare", "influence", "next"])
def test_commands_without_a_decision_say_it_first_too(typo: Path, command: str) -> None:
    told = run(command, typo, *(["--quick"] if command == "compare" else []))
    first = told.index("Stop: one score must be checked.\n  Row 8: Castellano gave P03 a score of 8800.")
    assert first < told.index("What follows is provisional")
    assert first < 200


def test_a_long_table_shows_the_top_and_both_sides_of_the_line() -> None:
    told = run("rank", demo_path(), "--top", 20, "--rows", 10).splitlines()
    head = next(at for at, line in enumerate(told) if line.lstrip().startswith("#"))
    shown = [line.split()[0] for line in told[head + 1 : told.index("", head)]]
    line = next(at for at, one in enumerate(shown) if one.startswith("─"))
    assert shown[:5] == ["1", "2", "3", "4", "13"]
    assert shown[5 : line + 1] == ["18", "19", "20", shown[line]]
    assert shown[line + 1 :] == ["21", "22", "23", "17"]
    everyone = run("rank", demo_path(), "--top", 20, "--rows", 0).splitlines()
    assert sum(line.endswith(tuple(STATUS.values())) for line in everyone) == 40


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_names_of_any_script_keep_their_shape_and_numbers_their_place(names: Path, columns: int) -> None:
    lines = plain(watched(["calibrate", names], columns)).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("#"))
    ends = set()
    for line, name in zip(lines[start + 1 : start + 10], COLUMNS, strict=True):
        label = line[3 : line.index("  ", 4)]
        bare = label.replace("\u200e", "")
        whole = bare == name
        assert whole or (bare.endswith("…") and name.startswith(bare[:-1].rstrip()))
        assert (label != bare) == (name[0] in "עم")  # numbers stay to the right of it
        rest = line[len(label) + 3 :]
        value = re.match(r" +[0-9.]+", rest)
        assert value is not None
        if whole:
            ends.add(COLUMNS[name] + value.end())
        assert whole == (COLUMNS[name] <= {40: 11, 80: 42, 120: 80}[columns])
    assert len(ends) == 1


HOSTILE = [
    ["check"],
    ["calibrate"],
    ["calibrate", "--top", 2],
    ["rank"],
    ["rank", "--top", 2, "--lottery-seed", 1],
    ["compare", "--quick"],
    ["influence", "--top", 2],
    ["next", "--top", 2],
    ["report", "--top", 2, "--quick", "-o", "page.html"],
    ["pack", "-o", "packed"],
]


@pytest.mark.parametrize("command", HOSTILE, ids=lambda command: " ".join(map(str, command)))
def test_no_label_steers_the_terminal_in_any_command(
    command: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = ["one\x1b[2J", "two\x9b2J", "three\u202eevil", "four\u2028", "[red]five"]
    scores = (
        (label, who, 10 * at + 3 * turn) for at, label in enumerate(evil) for turn, who in enumerate(("A", "B\x9d"))
    )
    rows = list(scores)[:-1]  # one pair is left for a further assessment
    path = write(tmp_path / "evil\x1b]0;x.csv", [("object", "assessor", "score"), *rows])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [str(command[0]), str(path), *map(str, command[1:])])
    assert result.exit_code == 0, result.output
    assert not set(result.output) & set("\x1b\x9b\x9d\u202e\u2028")
    if command[0] not in ("check", "pack"):
        assert "\\x" in result.output or "\\u" in result.output
    assert "five" not in result.output or "[red]five" in result.output


def test_pipes_and_no_color_have_no_colours_and_force_color_has() -> None:
    rank = ["rank", demo_path(), "--top", 10]
    assert b"\x1b" not in piped(*rank)
    assert COLOUR.search(piped(*rank, FORCE_COLOR="1").decode())
    assert not COLOUR.search(watched(rank, 80, NO_COLOR="1"))
    shown = watched(rank, 80)
    assert "\x1b[1;34m● In" in shown
    assert "\x1b[33m◐ Open" in shown


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_a_terminal_without_unicode_gets_words(names: Path, environment: dict[str, str]) -> None:
    if "LC_ALL" in environment and sys.platform == "win32":
        pytest.skip("there are no such locales here")
    shown = watched(["rank", names, "--top", 3], 80, **environment)
    assert shown.isascii()
    lines = plain(shown).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("---- 3 places -") for line in lines)
    assert any(line.endswith("  In") for line in lines)
    assert any("\\u5c71" in line for line in lines)
    assert any("..." in line for line in lines)


def test_what_a_pipe_gets_has_every_column_and_no_folded_line(names: Path) -> None:
    told = run("rank", names, "--top", 3)
    assert "90% interval  plain  ranks  chance  status" in told
    assert list(COLUMNS)[-1] in told
    assert "Left out" not in told
    assert "\u200e" not in told


SIGNS = [*"abc −…", "山", "e\u0301", "👩‍🚀", "🇩🇪", "ש", "❤️"]
WORDS = st.lists(st.sampled_from(SIGNS), max_size=60).map("".join)


@given(WORDS, st.integers(4, 60), st.integers(0, 4))
def test_folded_lines_fit_and_lose_nothing(text: str, width: int, hang: int) -> None:
    lines = wrap(text, width, hang)
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert "".join(clusters(text)) == text


@given(WORDS, st.integers(1, 30))
def test_names_are_shortened_between_signs_only(text: str, width: int) -> None:
    short = cut(text, width)
    assert width_of(short) <= width
    if short != text:
        assert short.endswith("…")
        kept = clusters(short[:-1])
        assert kept == clusters(text)[: len(kept)]


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 10**6)), min_size=1, max_size=5), st.integers(20, 120))
def test_every_table_fits_by_leaving_out_what_is_spare_first(rows: list[tuple[str, str, int]], width: int) -> None:
    cells = [[str(at), one, two, str(number), "12.5"] for at, (one, two, number) in enumerate(rows)]
    table = Table(["#", "object", "title", "value", "sd"], cells, text=("object", "title"), spare=("sd", "title"))
    lines, left_out = table.lines(width)
    assert all(width_of("".join(text for text, _ in line)) <= width for line in lines)
    assert len(lines) == len(rows) + 1
    assert left_out in ([], ["sd"], ["title", "sd"])
    assert table.lines(None)[1] == []


def test_lists_are_folded_with_a_count() -> None:
    labels = [f"P{at:03}" for at in range(3000)]
    shown = some_of(labels, 60)
    assert len(shown) <= 60
    named, more = shown.rsplit(", ", 1)
    assert len(named.split(", ")) + int(more.removesuffix(" more").replace(",", "")) == 3000


@pytest.mark.parametrize("name", COLUMNS)
def test_the_width_of_names_is_that_of_terminals(name: str) -> None:
    assert width_of(name) == COLUMNS[name]
    assert printable(name) == name


def test_a_joiner_is_kept_within_names_only() -> None:
    assert printable("a\u200db \u200d👩") == "a\\u200db \\u200d👩"
    assert printable("نمو\u200cنه") == "نمو\u200cنه"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "koi8-r", "utf-8"])
def test_any_text_can_be_written_in_any_encoding(encoding: str) -> None:
    text = "● ◐ ○ ─ ━ − … ’ ± √ ² ≤ † ‡ é Ж 山 👩‍🚀"
    shown = encodable(text, encoding)
    assert shown.encode(encoding).decode(encoding) == shown
    assert "?" not in shown
    assert (shown == text) == (encoding == "utf-8")
