"""One manner for every command: each option once, none without effect, the same names, and a help that is true."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from evenhand.cli import main
from evenhand.cli.options import EvenhandCommand, grouped, spelling


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
        (("next", "--method", "sa"), "'sa' is not one of 'iba', 'cwc'"),
        (("influence", "--method", "medians"), "'medians' is not one of 'sa', 'cwa', 'iba', 'cwc'"),
    ],
)
def test_what_cannot_have_an_effect_is_refused(scores: str, arguments: tuple[str, ...], said: str) -> None:
    told = run(arguments[0], scores, *arguments[1:])
    assert told.exit_code == 2
    assert said in told.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "--figure-format", "png"), "--figure-format is of figures: use it with --figures DIR"),
        (("reproduce", "figure-1", "--data", "."), "--data goes with the case studies"),
    ],
)
def test_options_of_studies_without_effect_are_refused(arguments: tuple[str, ...], said: str) -> None:
    told = run(*arguments)
    assert told.exit_code == 2
    assert said in told.stderr


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
    assert "5 of 40 objects" in Path("ranks.html").read_text(encoding="utf-8")


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
