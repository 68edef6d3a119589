"""``evenhand simulate`` and ``evenhand reproduce``, run as a user runs them."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evenhand.cli import main
from evenhand.cli.studies import _differences

SMALL = ("simulate", "--objects", 60, "--assessors", 6, "--per-object", "2,4", "--runs", 3)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(found, dict)
    return found


def test_simulate_prints_a_row_for_each_profile_and_count() -> None:
    result = run(*SMALL)
    assert result.exit_code == 0
    assert result.stdout.count("1:1:2") == 2
    assert "60 objects, 6 assessors, 3 simulated panels for each row, seed 1" in result.stdout
    assert "Standard errors: up to" in result.stdout


def test_simulate_json_and_csv_hold_the_same_cells(tmp_path: Path) -> None:
    found = answer(*SMALL, "--profile", "2:1:1", "--out", tmp_path / "errors.csv")
    assert found["setting"]["uncertainties"] == [5.0, 10.0, 15.0]
    assert len(found["cells"]) == 2 * 3
    with (tmp_path / "errors.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value_mean_error"]) for row in rows] == [cell["value_mean_error"] for cell in found["cells"]]
    assert rows[0]["bias_mean_error"] == ""


def test_every_number_of_the_study_has_an_option() -> None:
    first = answer(*SMALL)["cells"]
    for changed in (
        ("--value-mean", 60),
        ("--value-sd", 5),
        ("--bias-sd", 1),
        ("--uncertainties", "1,2,3"),
        ("--bounds", "20,80"),
        ("--bounds", "none"),
        ("--step", 0),
        ("--seed", 2),
    ):
        assert answer(*SMALL, *changed)["cells"] != first, changed
    assert answer(*SMALL, "--jobs", 1)["cells"] == first


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_figures_are_written_where_they_are_asked_for(tmp_path: Path, kind: str) -> None:
    found = answer(*SMALL, "--figures", tmp_path / "drawn", "--figure-format", kind)
    names = ["figure-2-mean-errors", "figure-3-largest-errors", "figure-4-ratios"]
    assert [Path(path).name for path in found["figures"]] == [f"{name}.{kind}" for name in names]
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == [f"{name}.{kind}" for name in names]
    start = (tmp_path / "drawn" / f"{names[0]}.{kind}").read_bytes()[:8]
    assert start.startswith(b"<svg" if kind == "svg" else b"\x89PNG")


def test_a_plan_answers_in_one_sentence_with_the_load() -> None:
    result = run("simulate", "--objects", 120, "--assessors", 8, "--profile", "1:1:1", "--target-sd", 5)
    assert result.exit_code == 0
    assert result.stdout.startswith("120 objects, 8 assessors, scores with a standard deviation of 5, 10, 15;")
    answer_line = result.stdout.strip().splitlines()[-1]
    assert answer_line.startswith("For an sd of 5, 3 assessors per object")
    assert "about 45 objects for each of 8 assessors" in answer_line


def test_a_plan_that_cannot_be_met_is_a_no(tmp_path: Path) -> None:
    found = answer("simulate", "--objects", 50, "--assessors", 4, "--target-sd", 1, code=1)
    assert [one["per_object"] for one in found["plans"]] == [None] * 4
    out = tmp_path / "plan.csv"
    assert run("simulate", "--objects", 50, "--assessors", 4, "--target-sd", 1, "--out", out).exit_code == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"plan.csv", "plan-steps.csv"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target-sd", 3, "--runs", 5), "--runs has no meaning with --target-sd"),
        (("--target-sd", 0), "0.0 is not in the range"),
        (("--per-object", "2.5"), "whole numbers"),
        (("--per-object", "20"), "20 assessors cannot read each object"),
        (("--profile", "1:x"), "numbers with colons"),
        (("--profile", "1:1"), "one frequency for each uncertainty"),
        (("--uncertainties", "5,nan,15"), "must be finite"),
        (("--value-sd", "-1"), "no standard deviation negative"),
        (("--bounds", "9,nan"), "in order"),
        (("--target-sd", "3", "--bias-sd", "nan"), "must be finite"),
        (("--target-sd", "nan"), "must be positive"),
        (("--bounds", "3"), "two numbers"),
        (("--figures", "nowhere/at/all"), "There is no directory nowhere/at"),
        (("--objects", "4"), "more objects, or more assessors per object"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_exit_code_2(arguments: tuple[object, ...], words: str) -> None:
    few = () if "--target-sd" in arguments else ("--runs", 2)
    result = run("simulate", *few, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["simulate", "reproduce"])
def test_the_commands_teach_themselves(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example: evenhand" in result.stdout


def test_reproduce_without_data_does_what_it_can_and_says_what_is_missing() -> None:
    result = run("reproduce", "figure-1", "case-study-2")
    assert result.exit_code == 0
    assert "3 of 3 numbers agree" in result.stdout
    assert "Case study 2 is left out: give --data DIR" in result.stdout
    alone = run("reproduce", "case-study-2")
    assert alone.exit_code == 2
    assert "case_study_2_scores.csv" in alone.stderr
    errors = answer("reproduce", "case-study-1", "--runs", 1)
    assert {number["verdict"] for number in errors["numbers"]} == {"not compared"}
    assert [note["kind"] for note in errors["notes"]] == ["missing"]


def test_reproduce_shows_the_tables_of_case_study_2_and_names_each_difference(shared_data: Path) -> None:
    result = run("reproduce", "case-study-2", "--data", shared_data)
    assert result.exit_code == 0
    for words in (
        "Table 2: the ten best by each method",
        "OA1 78.5  78.50",
        "† AJ, mean: 61.0 printed, 64.00 ours: the printed number comes out if the 88 that AJ gave OQ is left out.",
        "‡ AK, bias by CWC: 17.7 printed, 17.79 ours",
        "† residual, IBA: 4388 printed, 4337.5 ours",
        "76 of 87 numbers agree, 3 were cut off, 8 are known to differ, 0 differ without a name.",
    ):
        assert words in result.stdout


def test_reproduce_compares_case_study_1_with_the_published_errors(shared_data: Path, tmp_path: Path) -> None:
    result = run(
        "reproduce", "case-study-1", "--data", shared_data, "--runs", 2, "--figures", tmp_path / "drawn", "--json"
    )
    found = json.loads(result.stdout)
    part = found["parts"][0]
    assert part["agrees"] + part["known"] + part["differs"] == len(found["numbers"]) == 240
    assert result.exit_code == (1 if part["differs"] else 0)
    assert len(found["figures"]) == 3


def test_differences_without_a_name_stand_in_the_order_of_the_table() -> None:
    cell = {"column": "SA", "printed": 1.0, "ours": 2.0, "verdict": "differs"}
    found = [{**cell, "row": row, "note": f"{note} apart"} for row, note in (("a", "3.5"), ("b", "4.0"), ("c", "3.5"))]
    assert [line.split(",")[0] for line in _differences(found, 1, 1)] == ["* a", "* b", "* c"]


def test_reproduce_draws_figures_1_and_5(shared_data: Path, tmp_path: Path) -> None:
    result = run(
        "reproduce", "figure-1", "case-study-2", "--data", shared_data, "--figures", tmp_path / "drawn", "--json"
    )
    names = [Path(path).name for path in json.loads(result.stdout)["figures"]]
    assert set(names) == {"figure-1-graphs.svg", "figure-5-methods.svg"}
    assert all((tmp_path / "drawn" / name).read_text(encoding="utf-8").startswith("<svg") for name in names)


def test_published_data_is_not_overwritten(shared_data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "case_study_2_scores.csv"
    shutil.copyfile(shared_data / copy.name, copy)
    before = copy.read_bytes()
    result = run("reproduce", "case-study-2", "--data", tmp_path, "--out", copy)
    assert result.exit_code == 2
    assert copy.read_bytes() == before


def test_options_of_a_simulation_are_refused_where_nothing_is_simulated(tmp_path: Path) -> None:
    result = run("reproduce", "figure-1", "--runs", 3)
    assert (result.exit_code, "--runs goes with case-study-1" in result.stderr) == (2, True)
    assert run("reproduce", "figure-1", "--data", tmp_path / "nowhere").exit_code == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_all_processes_with_one_word() -> None:
    # a shell that runs the suite in the background has told its children to ignore interrupts
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = f"{listen}; from evenhand.cli import main; main()"
    command = [sys.executable, "-c", start, "simulate", "--runs", "100000", "--jobs", "2"]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        time.sleep(6)
        os.killpg(started.pid, signal.SIGINT)
        out, err = started.communicate(timeout=60)
    except BaseException:
        os.killpg(started.pid, signal.SIGKILL)
        raise
    assert started.returncode == 130
    assert (out, err.strip()) == ("", "Stopped.")
    for _ in range(100):  # soon nobody of the group is left
        try:
            os.killpg(started.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(started.pid, signal.SIGKILL)
    pytest.fail("processes were left behind")


def test_simulate_scores_a_given_design(tmp_path: Path) -> None:
    design = tmp_path / "design.csv"
    assert (
        run("design", "--objects", 9, "--assessors", 4, "--per-object", 2, "--no-outlook", "-o", design).exit_code == 0
    )
    found = answer("simulate", "--design", design, "--runs", 20, "--uncertainties", "6", "--profile", "1")
    assert [one["assessments"] for one in found["objects"]] == [2] * 9
    assert found["mean_error"] == pytest.approx(found["mean_sd"], rel=0.5)
    assert found["mean_error"] < found["mean_error_averages"]
    sure = tmp_path / "sure.csv"
    sized = ("--objects", 9, "--assessors", 4, "--per-object", 2, "--uncertainty", 6, "--no-outlook", "-o", sure)
    assert run("design", *sized).exit_code == 0
    told = answer("simulate", "--design", sure, "--runs", 2)
    assert told["mean_sd"] == pytest.approx(found["mean_sd"], rel=1e-6)  # the design says how sure each score is
    assert "predicted" in run("simulate", "--design", sure, "--runs", 2).stdout
    assert "--objects has no meaning with --design" in run("simulate", "--design", sure, "--objects", 9).stderr
