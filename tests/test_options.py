"""One manner for every command: each option once, none without effect, the same names, and a help that is true."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.options import EvenhandCommand, grouped, spelling
from evenhand.errors import InputError


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--save", "scores.csv").exit_code == 0
    return "scores.csv"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def options_of(name: str) -> list[Any]:
    return [one for one in main.commands[name].params if isinstance(one, click.Option)]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("rank", "--top", "3", "--top", "5"), "--top"),
        (("calibrate", "--gauge", "weighted", "--gauge", "zero-sum"), "--gauge"),
        (("calibrate", "-o", "a.csv", "--out", "b.csv"), "--out"),
        (("calibrate", "--out", "a.csv", "--output", "b.csv"), "--out"),
    ],
)
def test_an_option_that_is_given_twice_is_refused(scores: str, arguments: tuple[str, ...], option: str) -> None:
    told = run(arguments[0], scores, *arguments[1:])
    assert told.exit_code == 2
    assert f"{option} was given twice: leave one of the two out." in told.stderr


def test_options_that_may_be_repeated_and_flags_are_not_refused(scores: str) -> None:
    assert run("calibrate", scores, "--missing", "NA", "--missing", "-", "--json", "--json").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("calibrate", "--method", "sa", "--gauge", "zero-sum"), "--gauge is about biases, and --method sa has none"),
        (("calibrate", "--method", "cwa", "--per-component"), "--per-component is about biases"),
        (("rank", "--method", "sa", "--solver", "direct"), "--solver is about biases"),
        (("calibrate", "--method", "medians", "--interval", "0.5"), "--interval has no effect with medians"),
        (("calibrate", "--seed", "3"), "--seed is of the draws of ranks: use it with --top K"),
        (("calibrate", "--json", "--rows", "3"), "--rows is for tables on a terminal"),
        (("report", "--verify", "0123456789", "-o", "x.html"), "--out is about a page"),
        (("report", "--verify", "0123456789", "--title", "x"), "--title is about a page"),
        (("next", "--criterion", "assessor"), "--criterion goes with calibrate and rank"),
        (("next", "--interval", "0.5"), "--interval has no effect here: next shows no intervals"),
        (("influence", "--interval", "0.5"), "--interval has no effect here: influence shows no intervals"),
        (("check", "--json", "--explain"), "--explain is for people"),
        (("rank", "--method", "medians", "--seed", "3"), "--seed has no effect with medians"),
        (("rank", "--method", "medians", "--draws", "300"), "--draws has no effect with medians"),
        (("calibrate", "--method", "medians", "--solver", "direct"), "--solver is about least squares"),
        (("rank", "--lottery-seed", "3"), "--lottery-seed needs --top K"),
        (("next", "--method", "sa"), "'sa' is not one of 'iba', 'cwc'"),
        (("influence", "--method", "medians"), "'medians' is not one of 'sa', 'cwa', 'iba', 'cwc'"),
    ],
)
def test_what_cannot_have_an_effect_is_refused(scores: str, arguments: tuple[str, ...], said: str) -> None:
    told = run(arguments[0], scores, *arguments[1:])
    assert told.exit_code == 2
    assert said in told.stderr


SMALL = ("design", "--objects", "6", "--assessors", "4", "--per-object", "2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "--figure-format", "png"), "--figure-format is of figures: use it with --figures DIR"),
        (("reproduce", "figure-1", "--data", "."), "--data goes with the case studies"),
        (("check", "-", "--save"), "--save needs a file"),
        ((*SMALL, "--confidence", "none"), "--confidence goes with --sheets or --score-sheet"),
        ((*SMALL, "--force"), "--force goes with --sheets or --score-sheet"),
        ((*SMALL, "--factor", "2"), "--factor is about expertise"),
    ],
)
def test_options_without_effect_are_refused_before_any_work(arguments: tuple[str, ...], said: str) -> None:
    told = run(*arguments)
    assert told.exit_code == 2
    assert said in told.stderr


PLAIN = "object,assessor,score\n" + "".join(
    f"{o},{a},{n}\n" for n, (o, a) in enumerate(zip("xyyxzz", "AABBBA", strict=True))
)
LEVELS = PLAIN.replace("score", "score,level").replace("\n", ",high\n").replace("level,high", "level")


@pytest.mark.parametrize("name", ["calibrate", "check", "rank", "compare", "report", "next", "influence"])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--factor", "2"), "confidence has no levels here"),
        (("--alias", "hoch=high"), "confidence has no levels here"),
        (("--level-scale", "1,5"), "confidence has no levels here"),
        (("--scores", "good=3"), "none of these words stands for a score here"),
        (("--max-unpacked", "3"), "this file is not packed"),
        (("--sheet", "x"), "only workbooks have sheets"),
        (("--format", "hotcrp", "--layout", "long"), "leave one of the two out"),
    ],
)
def test_what_is_said_of_cells_that_a_file_has_none_of_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, option: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.csv").write_text(PLAIN, encoding="utf-8")
    told = run(name, "plain.csv", *option)
    assert told.exit_code == 2
    assert option[0] in told.stderr
    assert said in told.stderr


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (LEVELS, ("--factor", "2")),
        (LEVELS.replace("high", "prima"), ("--alias", "prima=high", "--level", "level")),
        (LEVELS.replace("high", "4"), ("--level-scale", "1,5")),
        (PLAIN.replace("A,0", "A,good"), ("--scores", "good=3")),
    ],
)
def test_what_is_said_of_cells_that_a_file_has_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, option: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.csv").write_text(text, encoding="utf-8")
    told = run("check", "file.csv", *option)
    assert told.exit_code == 0, told.stderr


def test_a_limit_is_taken_for_what_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert run("check", "plain.csv.gz", "--max-unpacked", "3").exit_code == 0


def test_a_packed_panel_takes_nothing_that_is_said_of_files(scores: str) -> None:
    assert run("pack", scores, "-o", "packed").exit_code == 0
    assert run("check", "packed").exit_code == 0
    told = run("check", "packed", "--score", "score")
    assert told.exit_code == 2
    assert "read as it was packed: leave --score out" in told.stderr


def test_python_refuses_the_same_in_its_own_words() -> None:
    frame = pl.DataFrame({"object": ["x", "y", "x"], "assessor": ["A", "A", "B"], "score": [1.0, 2.0, 3.0]})
    told: dict[str, Any] = {"factor": 2.0, "aliases": {"hoch": "high"}, "level_scale": (1, 5), "scores": {"a": 1}}
    for name, value in told.items():
        with pytest.raises(eh.errors.InputError, match=f"^{name} cannot apply: "):
            eh.Panel.from_frame(frame, **{name: value})


def test_a_seed_is_taken_wherever_something_is_drawn(scores: str) -> None:
    assert run("calibrate", scores, "--seed", "3", "--top", "5").exit_code == 0
    assert run("calibrate", scores, "--seed", "3", "--out", "results.xlsx").exit_code == 0


def test_results_go_where_out_says_in_every_command() -> None:
    for name in main.commands:
        for option in options_of(name):
            if {"-o", "--out", "--output"} & set(option.opts):
                assert option.listed == ["-o", "--out"], name
                assert set(option.opts) == {"-o", "--out", "--output"}, name
                assert spelling(option) == "--out"


def test_the_former_name_of_out_works_and_is_not_listed(scores: str) -> None:
    assert run("template", "--output", "panel.xlsx").exit_code == 0
    assert run("calibrate", scores, "--output", "results.csv").exit_code == 0
    assert Path("panel.xlsx").exists()
    assert Path("results.csv").exists()
    assert all("--output" not in run(name, "--help").stdout for name in main.commands)
    assert "Missing option '-o' / '--out'" in run("template").stderr


def test_rank_writes_a_report_as_calibrate_does(scores: str) -> None:
    told = run("rank", scores, "--top", "5", "--report", "ranks.html")
    assert told.exit_code == 0
    assert "ranks.html" in told.stdout
    assert "5 of 40 proposals" in Path("ranks.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["next", "influence", "compare", "pack"])
def test_commands_do_not_list_what_they_refuse(name: str) -> None:
    shown = run(name, "--help").stdout
    assert "--criterion" not in shown
    assert ("--covariate" in shown) == (name != "pack")
    assert "medians" not in shown


def test_commands_that_take_criteria_list_them() -> None:
    for name in ("calibrate", "rank", "report", "check"):
        assert "--criterion" in run(name, "--help").stdout


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_summary_of_a_command_is_cut_off(width: int) -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=width).stdout
    assert "..." not in shown.replace("[ARGS]...", "")
    words = " ".join(shown.split())
    for command in main.commands.values():
        first = " ".join(str(command.help).split("\n\n", maxsplit=1)[0].split()).split(". ")[0].rstrip(".")
        assert first in words


@pytest.mark.parametrize("name", sorted(main.commands))
def test_long_lists_of_options_have_headings(name: str) -> None:
    command = main.commands[name]
    assert isinstance(command, EvenhandCommand)
    groups = grouped(command.params)
    assert max(map(len, groups.values())) <= 16
    if sum(map(len, groups.values())) > 6:
        assert len(groups) > 1
        assert len(groups["The answer"]) <= 8


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(shell: str) -> None:
    def completed(instruction: str, **words: str) -> str:
        environment = os.environ | {"_EVENHAND_COMPLETE": f"{shell}_{instruction}"} | words
        program = "from evenhand.cli import main; main(prog_name='evenhand')"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, timeout=60
        )
        return done.stdout

    if shell != "bash":  # click asks bash for its version first
        assert "_EVENHAND_COMPLETE" in completed("source")
    word = {"bash": "1", "zsh": "1", "fish": "cal"}[shell]
    assert re.search(r"\bcalibrate\b", completed("complete", COMP_WORDS="evenhand cal", COMP_CWORD=word))


NOTES = "Arbeit,Gutachter,Note\nA,x,1.3\nB,x,2.7\nC,x,4.0\nA,y,1.0\nB,y,2.3\nC,y,3.3\nA,z,2.0\nC,z,3.7\n"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("calibrate", ("--bounds", "1,6")),
        ("calibrate", ("--log-scores",)),
        ("calibrate", ("--known", "A=1.3,B=2.0")),
        ("calibrate", ("--gauge", "reference", "--reference", "2")),
    ],
)
def test_marks_of_a_scale_that_was_turned_around_are_refused(
    tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "note.csv").write_text(NOTES, encoding="utf-8")
    done = run(command, str(tmp_path / "note.csv"), "--best", "lowest", *options)
    assert done.exit_code == 2
    assert "turned around" in " ".join(done.output.split())


@pytest.mark.parametrize("options", [("--top", "2"), ("--gauge", "anchor:x"), ("--shrink",)])
def test_what_needs_no_mark_of_the_scale_works_where_it_was_turned_around(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "note.csv").write_text(NOTES, encoding="utf-8")
    done = run("rank", str(tmp_path / "note.csv"), "--best", "lowest", *options)
    assert done.exit_code == 0, done.output


def test_cut_offs_of_a_scale_that_was_turned_around_are_refused(tmp_path: Path) -> None:
    (tmp_path / "note.csv").write_text(NOTES, encoding="utf-8")
    fit = eh.calibrate(eh.read_panel(tmp_path / "note.csv", best="lowest"))
    with pytest.raises(InputError, match="turned around"):
        eh.classify(fit, [2.0, 3.0])
