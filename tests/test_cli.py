"""The command line, run as a user runs it: tables, JSON, files, exit codes, and one line for every error."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import openpyxl
import polars as pl
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main, showing
from evenhand.cli.showing import open_console
from evenhand.data import demo_path
from evenhand.data.make_demo import make_demo
from evenhand.reports import summary as summaries
from panels import errors_of

GOOD = """object,assessor,score,confidence
x,A,60,high
x,B,70,m
y,A,50,L
y,B,62,high
z,A,40,medium
z,B,55,low
"""
APART = "object,assessor,score\nx,A,1\nx,B,2\ny,A,3\ny,B,5\nu,C,1\nu,D,2\nw,C,3\nw,D,9\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def answer(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(found, dict)
    return found


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    path = tmp_path / "apart.csv"
    path.write_text(APART, encoding="utf-8")
    return path


def test_calibrate_json_has_every_agreed_key(scores: Path) -> None:
    found = answer("calibrate", scores, "--top", 1)
    assert found["panel"] == {
        "objects": 3,
        "assessors": 2,
        "assessments": 6,
        "components": 1,
        "confidence": "level",
        "factor": 1.75,
    }
    assert (found["method"], found["gauge"]) == ("cwc", "weighted")
    assert set(found["fit"]) >= {
        *("residual", "residual_scaled", "degrees_of_freedom", "noise_variance", "noise_variance_ml"),
        *("rms_uncertainty", "mu2", "log_evidence"),
    }
    assert set(found["objects"][0]) >= {
        *("object", "value", "sd", "lower", "upper", "assessments", "total_confidence", "rank"),
        *("p_top", "expected_rank", "rank_lower", "rank_upper"),
    }
    assert set(found["assessors"][0]) >= {
        *("assessor", "bias", "sd", "lower", "upper", "assessments", "total_confidence"),
    }
    assert found["objects"][0]["sd"] is None  # two degrees of freedom
    assert any("degrees of freedom" in note["message"] for note in found["notes"])


def test_the_numbers_of_json_are_those_of_the_library(scores: Path) -> None:
    found = answer("calibrate", scores, "--gauge", "zero-sum", "--factor", 3)
    fit = eh.calibrate(eh.read_panel(scores, factor=3.0), gauge="zero_sum")
    assert [record["value"] for record in found["objects"]] == fit.values.estimate.tolist()
    assert [record["bias"] for record in found["assessors"]] == fit.biases.estimate.tolist()
    assert found["fit"]["residual"] == fit.residual
    assert found["gauge"] == "zero_sum"


def test_case_study_2_comes_out_of_the_command_line_to_the_last_digit(shared_data: Path) -> None:
    for name in ("case_study_2_scores.csv", "case_study_2_workbook.xlsx"):
        found = answer("calibrate", shared_data / name, "--gauge", "zero-sum", "--factor", 1.75)
        values = {record["object"]: record["value"] for record in found["objects"]}
        biases = {record["assessor"]: record["bias"] for record in found["assessors"]}
        with (shared_data / "case_study_2_cwc_values.csv").open(encoding="utf-8") as file:
            published = {row["object"]: float(row["cwc_value"]) for row in csv.DictReader(file)}
        with (shared_data / "case_study_2_cwc_biases.csv").open(encoding="utf-8") as file:
            published_biases = {row["assessor"]: float(row["cwc_bias"]) for row in csv.DictReader(file)}
        assert values == pytest.approx(published, abs=1e-9)
        assert biases == pytest.approx(published_biases, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "gauge"),
    [
        (["--gauge", "weighted"], "weighted"),
        (["--gauge", "Zero_Sum"], "zero_sum"),
        (["--gauge", "reference", "--reference", "50"], "reference(50)"),
        (["--gauge", "anchor:A"], "anchor:A"),
        (["--known", "x=61", "--known", "y=50"], "anchor:x,y"),
    ],
)
def test_gauges_move_values_together_and_no_rank(scores: Path, options: list[str], gauge: str) -> None:
    plain, found = answer("calibrate", scores), answer("calibrate", scores, *options)
    assert found["gauge"] == gauge
    shifts = [b["value"] - a["value"] for a, b in zip(plain["objects"], found["objects"], strict=True)]
    assert shifts == pytest.approx([shifts[0]] * 3)
    assert [a["rank"] for a in plain["objects"]] == [b["rank"] for b in found["objects"]]
    if gauge == "anchor:A":
        assert found["assessors"][0]["bias"] == pytest.approx(0)
    if gauge == "anchor:x,y":
        assert sum(record["value"] for record in found["objects"][:2]) == pytest.approx(111)


@pytest.mark.parametrize("method", ["sa", "cwa", "iba", "cwc"])
def test_every_method_can_be_asked_for(scores: Path, method: str) -> None:
    found = answer("calibrate", scores, "--method", method)
    assert found["method"] == method
    assert (found["gauge"] is None) == (method in ("sa", "cwa"))


def test_a_terminal_gets_values_biases_and_notes(scores: Path) -> None:
    result = run("calibrate", scores)
    assert result.exit_code == 0
    for word in ("3 objects, 2 assessors, 6 assessments with confidence levels", "value", "bias", "generous", "Note:"):
        assert word in result.stdout
    assert result.stdout.index(" x ") < result.stdout.index(" z ")


def test_long_tables_are_cut_and_say_so(scores: Path) -> None:
    result = run("calibrate", scores, "--rows", 1)
    assert "2 more objects" in result.stdout
    assert "more objects" not in run("calibrate", scores, "--rows", 0).stdout


def test_a_disconnected_panel_is_refused_with_groups_and_a_way_to_join_them(apart: Path) -> None:
    result = run("calibrate", apart)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert errors_of(result).count("\n") == 1
    for word in ("2 groups", "A, B", "C, D", "1 further assessment", "--per-component"):
        assert word in result.stderr
    assert run("calibrate", apart, "--json").exit_code == 1


def test_groups_can_be_calibrated_on_their_own(apart: Path) -> None:
    found = answer("calibrate", apart, "--per-component", "--top", 1)
    assert found["panel"]["components"] == 2
    assert {record["component"] for record in found["objects"]} == {1, 2}
    assert sorted(record["rank"] for record in found["objects"]) == [1, 1, 2, 2]
    assert all(record["p_top"] is None for record in found["objects"])
    assert any("must not be compared across groups" in note["message"] for note in found["notes"])
    assert "group" in run("calibrate", apart, "--per-component").stdout


def test_every_object_seen_once_is_answered_with_a_word_about_it(tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    path.write_text("object,assessor,score\nx,A,1\ny,B,2\nz,B,5\n")
    found = answer("calibrate", path)
    assert [record["value"] for record in found["objects"]] == [1, 2, 5]
    assert any("cannot be told from values" in note["message"] for note in found["notes"])
    path.write_text("object,assessor,score\nx,A,1\ny,A,2\n")
    assert any("only one assessor" in note["message"] for note in answer("calibrate", path)["notes"])


def test_check_says_yes_in_json_and_in_words(scores: Path) -> None:
    found = answer("check", scores)
    assert found["ok"] is True
    assert (found["objects"], found["assessors"], found["assessments"]) == (3, 2, 6)
    assert found["components"] == [{"objects": ["x", "y", "z"], "assessors": ["A", "B"]}]
    assert found["bridges"] == found["problems"] == found["suggestions"] == []
    assert 0 < found["mu2"] <= 1
    assert "Connected" in run("check", scores).stdout


def test_check_says_no_with_what_would_mend_it(apart: Path, tmp_path: Path) -> None:
    result = run("check", apart, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["ok"], found["mu2"], len(found["components"])) == (False, 0.0, 2)
    assert found["problems"][0]["kind"] == "not_connected"
    (suggestion,) = found["suggestions"]
    mended = tmp_path / "mended.csv"
    mended.write_text(APART + f"{suggestion['object']},{suggestion['assessor']},4\n")
    assert run("check", mended).exit_code == 0
    assert "would join them" in run("check", apart).stdout


def test_check_names_bridges(tmp_path: Path) -> None:
    path = tmp_path / "bridge.csv"
    path.write_text(APART + "x,C,4\n")
    found = answer("check", path)
    assert found["bridges"] == [{"assessor": "C", "object": "x"}]
    assert found["articulation_assessors"] == ["C"]
    assert "C on x" in run("check", path).stdout


def test_check_lists_every_problem_of_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("object,assessor,score,sd\nx,A,abc,1\n,A,2,-1\ny,B,inf,0\n")
    result = run("check", path, "--json")
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert [(p["kind"], p["where"]) for p in found["problems"]] == [
        ("bad_score", "row 2, column score"),
        ("empty_label", "row 3, column object"),
        ("bad_uncertainty", "row 3, column sd"),
        ("bad_score", "row 4, column score"),
        ("bad_uncertainty", "row 4, column sd"),
    ]
    assert errors_of(result).count("\n") == 1
    assert run("check", path).stdout.count("\n") == 5


BAD_FILES = {
    "words": ("object,assessor,score\nx,A,abc\n", "row 2, column score"),
    "infinite": ("object,assessor,score\nx,A,inf\n", "row 2, column score"),
    "negative": ("object,assessor,score,sd\nx,A,1,-2\n", "row 2, column sd"),
    "zero": ("object,assessor,score,sd\nx,A,1,0\n", "row 2, column sd"),
    "level": ("object,assessor,score,level\nx,A,1,huge\n", "row 2, column level"),
    "mixed": ("object,assessor,score,confidence\nx,A,1,high\ny,A,1,3\n", "row 3, column confidence"),
    "empty": ("", "empty"),
    "header": ("object,assessor,score\n", "header"),
    "no-score": ("object,assessor,score\nx,A,\n", "no score"),
    "column": ("object,assessor,wert\nx,A,nett\n", "wert"),
    "label": ("object,assessor,score\n,A,1\n", "row 2, column object"),
    "twice": ("object,assessor,score\nx,A,1\nx,A,2\n", "rows 2 and 3"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("command", ["calibrate", "check", "compare", "rank", "influence", "next"])
def test_bad_input_is_one_line_with_its_place_and_exit_code_2(tmp_path: Path, name: str, command: str) -> None:
    text, place = BAD_FILES[name]
    path = tmp_path / f"{name}.csv"
    path.write_text(text)
    result = run(command, path)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert errors_of(result).count("\n") == 1
    assert place in result.stderr
    assert "Traceback" not in result.stderr


def test_duplicates_can_be_kept_or_combined(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text(GOOD + "x,A,64,high\n")
    assert run("calibrate", path).exit_code == 2
    kept, combined = (answer("calibrate", path, "--duplicates", how) for how in ("keep", "combine"))
    assert (kept["panel"]["assessments"], combined["panel"]["assessments"]) == (7, 6)
    assert [o["value"] for o in kept["objects"]] == pytest.approx([o["value"] for o in combined["objects"]])


def test_empty_scores_are_counted_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text(GOOD + "q,A,,\n")
    found = answer("calibrate", path)
    assert found["panel"]["assessments"] == 6
    assert {"not_assessed", "unassessed_object"} <= {note["kind"] for note in found["notes"]}
    assert "1 row has no score" in run("calibrate", path).stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--gauge", "sideways"],
        ["--gauge", "reference"],
        ["--gauge", "anchor:Nobody"],
        ["--reference", "3"],
        ["--known", "x"],
        ["--known", "x=high"],
        ["--known", "x=1", "--gauge", "zero-sum"],
        ["--method", "magic"],
        ["--factor", "0.5"],
        ["--interval", "1.5"],
        ["--noise", "declared"],
        ["--alias", "hoch=tall"],
        ["--top", "0"],
        ["--top", "9"],
        ["--grades", "a,b"],
        ["--grades", "3,2"],
        ["--object", "nothing"],
        ["--nonsense"],
        ["--out", "results.pdf"],
        ["--out", "no/such/place.csv"],
    ],
    ids=" ".join,
)
def test_wrong_options_are_one_line_and_exit_code_2(scores: Path, options: list[str]) -> None:
    result = run("calibrate", scores, *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert errors_of(result).count("\n") == 1


ABSURD = (
    *("99999999999999999999", "9" * 5000, "-99999999999999999999", "-1", "0", "nan", "inf", "-inf", "1e308", "1e-320"),
    *("nan,nan", "inf,1", "1e308,1", "1,99999999999999999999", "nan:1:1", "0:0:0", "A=nan", "A=1e308", "", "x"),
)
QUICK = {
    "compare": ["--quick"],
    "demo": [],
    "design": "--objects 8 --assessors 4 --per-object 2 --no-outlook".split(),  # noqa: SIM905
    "pack": ["-o", "packed"],
    "report": ["--verify", "0123456789"],
    "reproduce": ["figure-1"],
    "simulate": [
        "--objects",
        "20",
        "--assessors",
        "4",
        "--per-object",
        "2",
        "--runs",
        "1",
        "--jobs",
        "1",
        "--profile",
        "1:1:1",
    ],
    "template": ["-o", "template.xlsx", "--force"],
}
NEEDS = {
    "bias_sd": ["--shrink"],
    "freedom": ["--tails", "student"],
    "lottery_seed": ["--top", "1"],
    "reference": ["--gauge", "reference"],
    "design top": ["--objective", "top", "--value-sd", "10"],
    "design value_sd": ["--objective", "top", "--top", "2"],
    "design target_sd": ["--uncertainty", "5"],
    "simulate value_sd": [],
    "value_sd": ["--shrink"],
}
WORDS = ("COLUMN", "TEXT", "NAME", "LABEL", "FINGERPRINT|PAGE", "local:N|tcp://HOST:PORT", None)
ENDLESS = "runs"
"""What would work for as long as it is told to."""


def options_that_take_numbers() -> list[tuple[str, str]]:
    return [
        (name, str(option.name))
        for name, command in main.commands.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag and option.name != ENDLESS
        if not isinstance(option.type, click.Choice | click.Path)
        if not isinstance(option.type, click.types.StringParamType) or option.metavar not in WORDS
    ]


@pytest.mark.parametrize(("command", "option"), options_that_take_numbers())
def test_no_absurd_value_of_any_option_ends_in_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: Path, command: str, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = next(one for one in main.commands[command].params if one.name == option).opts[-1]
    base = list(QUICK.get(command, []))
    if typed in base:
        del base[base.index(typed) : base.index(typed) + 2]
    if command not in ("demo", "design", "reproduce", "simulate", "template"):
        base.insert(0, str(scores))
    base += NEEDS.get(f"{command} {option}", NEEDS.get(option, []))
    for value in ABSURD:
        result = run(command, *base, typed, value)
        assert isinstance(result.exception, SystemExit | None), f"{value[:40]}: {result.exception!r}"
        assert result.exit_code in (0, 1, 2)
        assert errors_of(result).count("\n") <= 1
        assert errors_of(result) or result.exit_code != 2, value[:40]


def test_more_objects_than_any_panel_has_are_refused() -> None:
    for option in ("--objects", "--assessors"):
        result = run("simulate", option, "99999999999999999999")
        assert result.exit_code == 2
        assert "too many" in result.stderr


def test_results_are_written_as_csv_xlsx_parquet_and_json(scores: Path, tmp_path: Path) -> None:
    wanted = answer("calibrate", scores)
    values = [record["value"] for record in wanted["objects"]]
    for name in ("out.csv", "out.tsv", "out.xlsx", "out.parquet", "out.json"):
        result = run("calibrate", scores, "--out", tmp_path / name)
        assert result.exit_code == 0, result.stderr
    assert pl.read_csv(tmp_path / "out.csv")["value"].to_list() == values
    assert pl.read_csv(tmp_path / "out-assessors.csv")["assessor"].to_list() == ["A", "B"]
    assert pl.read_parquet(tmp_path / "out.parquet")["value"].to_list() == values
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    first = ["decision", "charts", "scores", "biases", "chart_data"]
    assert book.sheetnames[:5] == first
    further = ["objects", "assessors", "assessments", "assessor_fit", "diagnostics", "notes"]
    assert book.sheetnames[5:11] == further
    assert [book["objects"].cell(row, 2).value for row in (2, 3, 4)] == values
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == wanted


def test_the_scores_themselves_are_never_overwritten(scores: Path) -> None:
    for command in ("calibrate", "compare", "rank", "influence", "next"):
        result = run(command, scores, "--out", scores)
        assert result.exit_code == 2
        assert "overwrite" in result.stderr
        assert scores.read_text() == GOOD


def test_no_input_is_overwritten_by_a_file_beside_the_results(tmp_path: Path) -> None:
    (tmp_path / "r-assessors.csv").write_text(GOOD)
    (tmp_path / "q-notes.csv").write_text(GOOD)
    (tmp_path / "c.csv").write_text("assessor,object\nA,x\n")
    for arguments in (
        ("calibrate", tmp_path / "r-assessors.csv", "--out", tmp_path / "r.csv"),
        ("calibrate", tmp_path / "q-notes.csv", "--out", tmp_path / "q.csv"),
        ("next", demo_path(), "--conflicts", tmp_path / "c.csv", "--out", tmp_path / "c.csv"),
        ("demo", "--save", tmp_path / "z.csv", "--out", tmp_path / "z.csv"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert "would overwrite" in result.stderr
    assert (tmp_path / "r-assessors.csv").read_text() == (tmp_path / "q-notes.csv").read_text() == GOOD


def test_devices_pipes_and_circular_links_are_not_replaced(scores: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    (tmp_path / "one.csv").symlink_to(tmp_path / "two.csv")
    (tmp_path / "two.csv").symlink_to(tmp_path / "one.csv")
    for name in ("pipe.csv", "null.csv", "one.csv", "n" * 260 + ".csv"):
        result = run("calibrate", scores, "--out", tmp_path / name)
        assert result.exit_code == 2, name
        assert errors_of(result).count("\n") == 1
    assert (tmp_path / "pipe.csv").is_fifo()
    assert Path("/dev/null").is_char_device()


def test_notes_of_an_earlier_run_do_not_stay_behind(scores: Path, apart: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert "out-notes.csv" in run("calibrate", apart, "--per-component", "--out", out).stdout
    assert "compared across groups" in (tmp_path / "out-notes.csv").read_text(encoding="utf-8-sig")
    run("calibrate", scores, "--out", out)
    notes = (tmp_path / "out-notes.csv").read_text(encoding="utf-8-sig")
    assert "compared across groups" not in notes
    assert "method: cwc" in notes


def test_ties_under_perfect_agreement_are_left_to_the_lottery(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("object,assessor,score\n" + "".join(f"{o},{a},5\n" for o in "wxyz" for a in "ABC"))
    found = answer("rank", path, "--top", 1, "--lottery-seed", 3)
    assert sum(record["p_top"] for record in found["objects"]) == pytest.approx(1)
    assert found["decision"]["in"] == []
    assert len(found["decision"]["drawn"]) == 1
    run("rank", path, "--top", 1, "--lottery-seed", 3, "--out", tmp_path / "r.csv")
    assert pl.read_csv(tmp_path / "r.csv")["drawn"].sum() == 1
    assert "seed 3" in (tmp_path / "r-notes.csv").read_text(encoding="utf-8-sig")


def test_compare_refuses_wrong_options_and_recommends_nothing_for_groups(scores: Path, apart: Path) -> None:
    refused = run("compare", scores, "--gauge", "zero-sum")
    assert refused.exit_code == 2
    assert "--gauge has no effect here" in refused.stderr
    assert run("compare", scores, "--known", "nothing=5").exit_code == 2
    found = answer("compare", apart)
    assert found["recommendation"]["method"] is None
    assert {"method_refused"} <= {note["kind"] for note in found["notes"]}
    together = answer("compare", apart, "--per-component")
    assert "not_comparable" in {note["kind"] for note in together["notes"]}


def test_what_looks_odd_in_a_file_is_pointed_out(tmp_path: Path) -> None:
    files = {
        "decimal_comma": "object;assessor;score\nx;A;1,070\ny;A;75\n",
        "summary_label": "object,assessor,score\nx,A,1\nMean,A,2\n",
        "column_twice": "object,assessor,score,score\nx,A,1,3\ny,A,2,4\n",
    }
    for kind, text in files.items():
        path = tmp_path / f"{kind}.csv"
        path.write_text(text)
        notes = {note["kind"]: note["message"] for note in answer("calibrate", path)["notes"]}
        assert kind in notes
        assert kind != "decimal_comma" or "thousands" in notes[kind]
    titled = tmp_path / "titled.csv"
    titled.write_text("Grant round 2026\nobject,assessor,score\nx,A,1\n")
    assert "Note: row 1: above the header, so not read." in run("check", titled).stdout


def test_a_label_with_a_point_does_not_turn_decimal_commas_off(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("object;assessor;score\n1.1;A;70,5\n1.2;A;60\n")
    assert [record["value"] for record in answer("calibrate", path)["objects"]] == [70.5, 60.0]


def test_influence_speaks_truly_of_small_scores_repeats_and_groups(tmp_path: Path, apart: Path) -> None:
    small = tmp_path / "small.csv"
    rows = [(o, a, 0.05 + 0.01 * i + 0.004 * j) for i, o in enumerate("xyz") for j, a in enumerate("AB")]
    small.write_text("object,assessor,score\n" + "".join(f"{o},{a},{s}\n" for o, a, s in rows[1:]))
    assert "x: −0.0040: B is generous (−0.0040)" in run("influence", small, "--gauge", "anchor:A").stdout
    assert "would fall apart" not in run("influence", apart, "--per-component").stdout
    twice = tmp_path / "twice.csv"
    twice.write_text(GOOD + "x,B,74,high\n")
    assert "B and B" not in run("influence", twice, "--duplicates", "keep").stdout
    assert run("influence", small, "--top", 99).exit_code == 2


def test_small_values_are_shown_with_enough_digits_to_tell_them_apart(tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text(
        "object,assessor,score\n" + "".join(f"{o},{a},{0.05 + 0.001 * i}\n" for i, o in enumerate("xyz") for a in "AB")
    )
    shown = run("calibrate", path).stdout
    assert all(number in shown for number in ("0.05000", "0.05100", "0.05200"))


def test_the_bare_command_shows_its_help() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")


@pytest.mark.parametrize("arguments", ["demo", "demo --json", "--help"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_at_most_one_line(arguments: str, where: str) -> None:
    if where == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = f"'{sys.executable}' -m evenhand {arguments} {where}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if where == ">/dev/full" else 0)


def test_an_output_that_knows_no_unicode_gets_plain_signs() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "evenhand", "compare", "--quick", str(demo_path())]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert done.stdout.isascii()
    assert b"R^2 of values" in done.stdout
    assert b" +/- " in done.stdout


class Progress:
    """What a bar would show, in place of one."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.names: list[str] = []
        self.console = open_console()

    def add_task(self, name: str, total: float | None) -> int:
        self.names.append(name)
        return len(self.names) - 1

    def update(self, at: int, *, visible: bool, completed: float = 0, total: float | None = None) -> None:
        if visible:
            self.seen.append(f"{self.names[at]} {completed:.0f} of {total}")

    def stop(self) -> None:
        self.seen.append("stopped")


def test_the_progress_bar_is_gone_before_an_answer_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress()
    monkeypatch.setattr(showing, "_start", lambda _begun: progress)
    with showing.shown(verbose=False):
        (bar,) = showing._bars
        bar._appear()
        bar("reading", 1, 2)
        open_console()
        bar("reading", 2, 2)
    assert progress.seen == ["working 0 of None", "reading 1 of 2", "stopped"]
    assert showing._bars == []


def test_progress_appears_by_itself_after_a_while_and_steps_stay_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress()
    monkeypatch.setattr(showing, "PATIENCE", 0.01)
    monkeypatch.setattr(showing, "_start", lambda _begun: progress)
    bar = showing.Bar()
    bar.start()
    bar._timer.join()
    bar("trying", 3, 10)
    bar("estimating", 7, None)
    bar("trying", 10, 10)
    bar("estimating", 8, None)
    bar.close()
    shown = ["working 0 of None", "trying 3 of 10", "trying 3 of 10", "working 0 of None", "estimating 8 of None"]
    assert progress.seen == [*shown, "stopped"]


def test_no_file_name_can_steer_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress()
    monkeypatch.setattr(showing, "_start", lambda _begun: progress)
    bar = showing.Bar()
    bar("reading \x1b[2J[red]", 1, 2)
    bar._appear()
    assert progress.seen == ["reading \\x1b[2J[red] 1 of 2"]


def test_hostile_labels_stay_text_and_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    evil = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "[red]x", "\x1b[2J"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["object", "assessor", "score"])
        writer.writerows((label, who, i + j) for i, label in enumerate(evil) for j, who in enumerate(("A", "=B")))
    result = run("calibrate", path, "--out", tmp_path / "out.csv")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "\\x1b[2J" in result.stdout
    assert "[red]x" in result.stdout
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        labels = [row["object"] for row in csv.DictReader(file)]
    assert labels[:3] == ["'" + label for label in evil[:3]]
    run("calibrate", path, "--out", tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["objects"]
    assert [sheet.cell(row, 1).data_type for row in (2, 3, 4)] == ["s"] * 3


def test_compare_json_has_every_agreed_key(scores: Path) -> None:
    found = answer("compare", scores, "--quick")
    assert [row["method"] for row in found["methods"]] == ["sa", "cwa", "iba", "cwc", "z"]
    assert set(found["methods"][0]) >= {
        *("method", "residual", "residual_scaled", "rms_uncertainty", "log_evidence", "loo_rmse"),
        *("loo_behind", "loo_behind_error"),
    }
    assert len(found["r2"]) == 10
    assert set(found["r2"][0]) == {"a", "b", "r2"}
    assert set(found["recommendation"]) == {"method", "reason"}
    assert "Recommended" in run("compare", scores, "--quick").stdout


def test_priors_of_the_evidence_can_be_given(shared_data: Path) -> None:
    scores = shared_data / "case_study_2_scores.csv"
    found = answer("compare", scores, "--quick", "--priors", "67,22.5,15,1,900")
    logs = {row["method"]: row["log_evidence"] for row in found["methods"]}
    assert [logs[method] for method in ("sa", "iba", "cwc")] == pytest.approx([-384.80, -383.36, -384.65], abs=0.005)
    assert found["priors"] == {"v_ref": 67.0, "sigma_O": 22.5, "sigma_A": 15.0, "w_min": 1.0, "w_max": 900.0}
    for wrong in ("1,2,3", "a", "67,22.5,15,900,1"):
        assert run("compare", scores, "--priors", wrong).exit_code == 2


def test_rank_decides_and_draws_lots_that_can_be_repeated() -> None:
    options = ("rank", demo_path(), "--top", 10, "--draws", 2000, "--seed", 4, "--lottery-seed", 7)
    found = answer(*options)
    assert found == answer(*options)
    decision = found["decision"]
    assert len(decision["in"]) + len(decision["undecided"]) + len(decision["out"]) == 40
    assert len(decision["drawn"]) == 10 - len(decision["in"])
    assert {record["status"] for record in found["objects"]} <= {"in", "undecided", "out"}
    shown = run(*options).stdout
    assert "Drawn by lot (seed 7)" in shown
    assert run("rank", demo_path(), "--lottery-seed", 7).exit_code == 2


def test_influence_and_next_speak_in_sentences(tmp_path: Path) -> None:
    shown = run("influence", demo_path(), "--top", 10).stdout
    for word in ("Why values differ", "is strict", "what all other scores predict", "without Kaur", "Robustness"):
        assert word in shown
    found = answer("influence", demo_path())
    assert len(found["assessments"]) == 101
    for record in found["objects"]:
        assert record["standards"] + record["weighting"] == pytest.approx(record["difference"], abs=1e-9)
    best = answer("next", demo_path(), "--top", 10)["assessments"][0]
    conflicts = tmp_path / "conflicts.csv"
    conflicts.write_text(f"assessor,object\n{best['assessor']},{best['object']}\n")
    second = answer("next", demo_path(), "--top", 10, "--conflicts", conflicts)["assessments"][0]
    assert (second["assessor"], second["object"]) != (best["assessor"], best["object"])
    assert "What would lower it most, together" in run("next", demo_path(), "--top", 10).stdout


def test_only_some_of_many_assessors_are_left_out_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "MOST_DELETIONS", 3)
    found = answer("influence", demo_path())
    assert len(found["assessors"]) == 3
    assert any(note["kind"] == "deletions" for note in found["notes"])


def test_grades_are_probabilities(scores: Path) -> None:
    found = answer("calibrate", demo_path(), "--grades", "50,60,70")
    for record in found["objects"]:
        assert list(record["grades"]) == ["below 50", "50 to 60", "60 to 70", "70 and above"]
        assert sum(record["grades"].values()) == pytest.approx(1)
    assert "likeliest grade" in run("calibrate", demo_path(), "--grades", "50,60,70").stdout


def test_declared_uncertainties_are_tested_in_words(tmp_path: Path) -> None:
    simulation = eh.simulate_panel(60, 6, 3, seed=3, bounds=None, step=None)
    panel = simulation.panel
    for factor, words in ((1.0, "are believable"), (0.25, "look too small"), (4.0, "look too large")):
        path = tmp_path / "sd.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["object", "assessor", "score", "uncertainty"])
            sd = (simulation.uncertainty * factor).tolist()
            writer.writerows(zip(panel.object_index, panel.assessor_index, panel.score.tolist(), sd, strict=True))
        assert words in run("calibrate", path, "--noise", "declared", "--rows", 1).stdout
        found = answer("calibrate", path, "--noise", "declared")
        assert found["fit"]["noise_variance"] == 1.0
        assert found["noise"] == "declared"


def test_the_demo_prints_and_saves(tmp_path: Path) -> None:
    result = run("demo", "--save", tmp_path / "demo.csv", "--out", tmp_path / "demo.xlsx")
    assert result.exit_code == 0, result.stderr
    assert "3 proposals are in by the method used; 18 compete for the other 7 places." in result.stdout
    assert "By plain averages P11, P13, P02 and P24 would be among the first 10 instead of " in result.stdout
    assert "try: evenhand calibrate" in result.stdout
    assert (tmp_path / "demo.csv").read_bytes() == demo_path().read_bytes()
    assert answer("calibrate", tmp_path / "demo.csv")["objects"] == answer("demo")["objects"]


def test_the_shipped_panel_is_what_its_script_makes(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo.csv")
    assert (tmp_path / "demo.csv").read_bytes() == demo_path().read_bytes()
    panel = eh.read_panel(demo_path())
    assert (panel.n_objects, panel.n_assessors, panel.confidence) == (40, 11, "level")
    assert eh.connectivity(panel).is_connected


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nsys.argv = ['evenhand', '--help']\nfrom evenhand.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print({'numpy', 'scipy', 'rich', 'polars', 'narwhals'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "set()"
    for command in ("calibrate", "check", "compare", "demo", "influence", "next", "rank"):
        assert command in done.stdout


def test_calibrating_a_csv_needs_no_library_of_frames_and_little_of_scipy(scores: Path) -> None:
    code = (
        "import sys\nfrom evenhand.cli import main\n"
        "try:\n    main(['calibrate', sys.argv[1]])\nexcept SystemExit:\n    pass\n"
        "print({'polars', 'narwhals', 'pandas', 'pyarrow', 'scipy.linalg', 'scipy.special'} & set(sys.modules), "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(scores)], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "set()"


def test_a_reader_who_goes_away_is_no_error(scores: Path) -> None:
    command = f"'{sys.executable}' -m evenhand calibrate '{scores}' --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ.copy())
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["calibrate", "check", "compare", "rank", "influence", "next", "demo"])
def test_every_command_teaches_itself(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example: evenhand" in result.stdout
