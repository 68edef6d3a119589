"""Refined models, medians and criteria on the command line: options, JSON, tables, and what is refused."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.terminal import show_comparison, show_fit
from evenhand.models.criteria import calibrate_criteria
from panels import errors_of, refined_of


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def answer(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(found, dict)
    return found


def write(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel of 24 objects and 6 assessors with levels, an order of reading, and one score that is far off."""
    generator = np.random.default_rng(4)
    values, biases = generator.normal(60, 10, 24), generator.normal(0, 6, 6)
    rows: list[list[Any]] = []
    read = [0] * 6
    for o in range(24):
        for a in sorted(generator.choice(6, 3, replace=False).tolist()):
            level, sd = [("high", 3.0), ("medium", 5.25), ("low", 9.2)][int(generator.integers(3))]
            read[a] += 1
            score = round(float(values[o] + biases[a] + sd * generator.normal()))
            rows.append([f"P{o}", "ABCDEF"[a], min(max(score, 1), 99), level, read[a]])
    rows[10][2] = 5
    return write(
        tmp_path_factory.mktemp("refined") / "scores.csv", ["object", "assessor", "score", "level", "order"], rows
    )


@pytest.fixture(scope="module")
def criteria(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two criteria, whose errors go together."""
    generator = np.random.default_rng(6)
    values, biases = generator.normal(6, 1, (12, 2)), generator.normal(0, 0.5, (4, 2))
    rows: list[list[Any]] = []
    for o in range(12):
        for a in sorted(generator.choice(4, 3, replace=False).tolist()):
            shared = generator.normal()
            for k, label in enumerate(("merit", "style")):
                score = values[o, k] + biases[a, k] + 0.5 * shared + 0.5 * generator.normal()
                rows.append([f"P{o}", "ABCD"[a], label, round(float(score), 1)])
    return write(tmp_path_factory.mktemp("criteria") / "c.csv", ["object", "assessor", "criterion", "score"], rows)


REFINED: dict[str, dict[str, Any]] = {
    "--shrink": {"shrink": True},
    "--shrink-biases": {"shrink": "biases"},
    "--shrink --value-sd 9 --bias-sd 5": {"shrink": True, "value_sd": 9.0, "bias_sd": 5.0},
    "--calibrate-confidence": {"calibrate_confidence": True},
    "--power 0.5": {"power": 0.5},
    "--power estimated": {"power": "estimated"},
    "--tails student": {"tails": "student"},
    "--tails student --freedom 2.5": {"tails": "student", "freedom": 2.5},
    "--tails student --freedom estimated": {"tails": "student", "freedom": None},
    "--tails huber": {"tails": "huber"},
    "--step 1": {"step": 1.0},
    "--bounds 0,100": {"scores": eh.Bounded(0.0, 100.0)},
    "--bounds 0,100 --map rational": {"scores": eh.Bounded(0.0, 100.0, "rational")},
    "--log-scores": {"scores": eh.Logarithm()},
    "--ordinal probit": {"ordinal": "probit"},
    "--covariate order": {"covariates": ("order",)},
    "--method iba --shrink": {"shrink": True, "power": 0.0},
}


@pytest.mark.parametrize("options", [*REFINED, pytest.param("--shrink --scale", marks=pytest.mark.slow)], ids=str)
def test_every_refinement_is_that_of_the_library(scores: Path, options: str) -> None:
    found = answer("calibrate", scores, *options.split())
    covariates = ["order"] if "covariate" in options else []
    assumed = REFINED.get(options, {"shrink": True, "scale": True})
    fit = eh.refine(eh.read_panel(scores, covariates=covariates), **assumed)
    assert found["method"] == fit.method
    assert found["model"]["refinements"] == fit.method.split("+")[1:]
    assert [record["value"] for record in found["objects"]] == fit.values.estimate.tolist()
    assert [record["bias"] for record in found["assessors"]] == fit.biases.estimate.tolist()
    assert [record["variance"] for record in found["variances"]] == list(refined_of(fit).variances.labels)
    for name, table in (("covariates", refined_of(fit).covariates), ("scales", refined_of(fit).scales)):
        assert [record["estimate"] for record in found[name]] == ([] if table is None else table.estimate.tolist())
    factors = refined_of(fit).noise_factors
    assert [record["estimate"] for record in found["noise_factors"]] == (
        [] if factors is None else factors.estimate.tolist()
    )
    assert len(found["outlying"]) == refined_of(fit).outlying.size


def test_the_agreed_keys_are_there_for_refined_fits_and_null_has_a_note(scores: Path) -> None:
    found = answer("calibrate", scores, "--shrink", "--tails", "student")
    plain = answer("calibrate", scores)
    for key in ("panel", "fit"):
        assert set(found[key]) == set(plain[key])
    assert set(plain) <= set(found)
    assert "variances" not in plain
    assert plain["model"] == {"refinements": [], "words": "calibration with confidence"}
    assert found["fit"]["log_evidence"] is None
    assert any(note["message"].startswith("no log-evidence for cwc+shrunk+student") for note in found["notes"])
    assert set(found["variances"][0]) == {"variance", "estimate", "sd", "lower", "upper"}


def test_a_score_that_is_far_off_is_listed_with_what_was_expected(scores: Path) -> None:
    found = answer("calibrate", scores, "--tails", "student")
    (first, *_) = found["outlying"]
    assert set(first) == {"assessor", "object", "score", "expected", "surprise"}
    assert (first["score"], first["surprise"] < -3) == (5, True)
    shown = run("calibrate", scores, "--tails", "student", "--rows", 3).stdout
    assert "outlying score" in shown
    assert "Note: 1 outlying" not in shown


def test_what_is_not_a_number_becomes_null(scores: Path) -> None:
    found = answer("calibrate", scores, "--covariate", "order")
    assert found["variances"] == [
        {
            "variance": "noise_sd",
            "estimate": found["variances"][0]["estimate"],
            "sd": None,
            "lower": None,
            "upper": None,
        }
    ]


def test_a_terminal_gets_a_table_of_everything_that_was_found(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--calibrate-confidence", "--covariate", "order", "--rows", 2)
    shown = run("calibrate", scores, *options).stdout
    for words in ("evenness of noise factors", "noise factor", "covariate", "order", "calibrated confidences"):
        assert words in shown
    assert shown.count("4 more assessors") == 2
    summary = answer("calibrate", scores, "--calibrate-confidence")
    summary["scales"] = summary["noise_factors"]
    show_fit(summary, 0)
    printed = capsys.readouterr().out
    assert " scale " in printed
    assert "more assessors" not in printed


@pytest.mark.parametrize(
    ("informed", "words"),
    [
        (True, "declared confidence carries information, as much as declared"),
        (False, "no sign that declared confidence"),
    ],
)
def test_a_sentence_says_whether_declared_confidence_carries_information(
    tmp_path: Path, informed: bool, words: str
) -> None:
    generator = np.random.default_rng(3)
    simulation = eh.simulate_panel(60, 6, 4, seed=2, bounds=None, step=None)
    panel = simulation.panel
    sd = np.array([4.0, 7.0, 12.25])[generator.integers(3, size=panel.n_assessments)]
    noise = (sd if informed else np.full(sd.size, 7.0)) * generator.normal(size=sd.size)
    score = simulation.values[panel.object_index] + simulation.biases[panel.assessor_index] + noise
    names = {4.0: "high", 7.0: "medium", 12.25: "low"}
    rows = [
        [o, a, s, names[u]]
        for o, a, s, u in zip(panel.object_index, panel.assessor_index, score, sd.tolist(), strict=True)
    ]
    path = write(tmp_path / "levels.csv", ["object", "assessor", "score", "level"], rows)
    found = answer("calibrate", path, "--shrink", "--power", "estimated")["declared_confidence"]
    assert words in found["words"]
    assert found["lower"] < found["power"] < found["upper"]
    assert (found["lower"] <= 0 <= found["upper"]) is not informed
    assert found["factor"] == pytest.approx(1.75 ** found["power"])
    assert f"{found['factor_lower']:.2f} to {found['factor_upper']:.2f}" in found["words"]
    assert words in run("calibrate", path, "--shrink", "--power", "estimated").stdout.replace(
        "Declared", "declared", 1
    ).replace("No sign", "no sign")


@pytest.mark.parametrize(
    "options",
    [
        "--freedom 3",
        "--freedom 3 --tails huber",
        "--freedom soon --tails student",
        "--freedom -1 --tails student",
        "--map logit",
        "--bounds 0",
        "--bounds=",
        "--bounds 100,0",
        "--bounds 0,50",
        "--bounds 0,100 --log-scores",
        "--bounds 0,100 --step 1",
        "--value-sd 3",
        "--value-sd 3 --shrink-biases",
        "--value-sd 0 --shrink",
        "--bias-sd 3",
        "--scale",
        "--scale --shrink-biases",
        "--shrink --shrink-biases",
        "--step 0",
        "--step 10",
        "--step 1 --tails student",
        "--power nan",
        "--power high",
        "--method iba --power 0",
        "--method sa --shrink",
        "--method cwa --tails huber",
        "--method sa --covariate order",
        "--method medians --shrink",
        "--shrink --gauge weighted",
        "--shrink --known P1=60",
        "--shrink --per-component",
        "--covariate nothing",
        "--noise declared --shrink",
        "--weight merit=1",
        "--uncorrelated",
        "--cluster local:1 --out results --shrink",
        "--cluster local:1 --out results --method medians",
    ],
)
def test_options_that_do_not_go_together_are_one_line_and_exit_code_2(scores: Path, options: str) -> None:
    result = run("calibrate", scores, *options.split())
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert errors_of(result).count("\n") == 1


def test_a_power_without_differences_in_confidence_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", ["object", "assessor", "score"], [[o, a, 3] for o in "xyz" for a in "AB"])
    result = run("calibrate", path, "--power", 0)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--power has no effect" in result.stderr


@pytest.mark.parametrize("command", ["rank", "influence", "next"])
def test_other_commands_take_refinements_too(scores: Path, command: str) -> None:
    found = answer(command, scores, "--shrink")
    assert found != answer(command, scores)
    assert run(command, scores, "--shrink").exit_code == 0


def test_medians_have_values_and_say_why_they_have_no_intervals(scores: Path) -> None:
    found = answer("calibrate", scores, "--method", "medians", "--top", 3, "--grades", "50,60")
    assert found["method"] == "cwc+medians"
    assert all(record["sd"] is None and record["p_top"] is None for record in found["objects"])
    assert {"uncertainty", "ranks", "grades", "evidence"} <= {note["kind"] for note in found["notes"]}
    assert found["outlying"][0]["score"] == 5
    assert "medians" in run("calibrate", scores, "--method", "medians").stdout
    assert run("rank", scores, "--method", "medians").exit_code == 1


def test_tables_of_refined_models_are_written_beside_the_others(scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.xlsx"
    options = ("--shrink", "--power", "estimated", "--covariate", "order")
    assert run("calibrate", scores, *options, "--out", out).exit_code == 0
    book = openpyxl.load_workbook(out)
    first = ["objects", "assessors", "assessments", "assessor_fit", "diagnostics"]
    assert book.sheetnames[5:12] == [*first, "variances", "covariates"]
    assert "scales" not in book.sheetnames
    assert any("declared confidence" in str(row[1].value) for row in book["notes"].iter_rows())
    run("calibrate", scores, "--out", tmp_path / "plain.xlsx")
    assert openpyxl.load_workbook(tmp_path / "plain.xlsx").sheetnames[5:11] == [*first, "notes"]


def test_no_input_is_overwritten_by_a_table_of_a_refined_model(scores: Path, tmp_path: Path) -> None:
    for name in ("r-variances.csv", "r-criteria-objects.csv"):
        path = tmp_path / name
        path.write_bytes(scores.read_bytes())
        result = run("calibrate", path, "--shrink", "--out", tmp_path / "r.csv")
        assert result.exit_code == 2
        assert "overwrite" in result.stderr


def test_compare_shows_refinements_and_how_far_each_is_behind(
    scores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evenhand.answers.advice.applicable", lambda panel: [eh.Refinements(shrink=True)])
    found = answer("compare", scores, "--bounds", "0,100", "--covariate", "order", "--step", "1")
    methods = [row["method"] for row in found["methods"]]
    assert methods[:4] == ["sa", "cwa", "iba", "cwc"]
    assert {"cwc+shrunk", "cwc+shrunk+logit", "cwc+shrunk+covariates", "cwc+shrunk+rounded"} <= set(methods)
    behind = {row["method"]: row["loo_behind"] for row in found["methods"]}
    assert min(behind.values()) == 0
    show_comparison(found)
    shown = capsys.readouterr().out
    assert "behind best" in shown
    assert re.search(r" best$", shown, re.MULTILINE), "the best is behind nobody"
    assert "more pairs" in shown
    assert "no log-evidence" not in shown


def test_a_quick_comparison_is_of_the_four_methods_and_z_scores(scores: Path) -> None:
    found = answer("compare", scores, "--quick")
    assert [row["method"] for row in found["methods"]] == ["sa", "cwa", "iba", "cwc", "z"]
    for options in (("--step", 1), ("--covariate", "order"), ("--bounds", "0,100"), ("--log-scores",)):
        result = run("compare", scores, "--quick", *options)
        assert result.exit_code == 2
        assert str(options[0]) in result.stderr


def test_criteria_have_values_of_their_own_beside_the_combined_ones(criteria: Path) -> None:
    options = ("--criterion", "criterion", "--weight", "merit=2", "--weight", "style=1")
    found = answer("calibrate", criteria, *options, "--top", 3)
    fit = calibrate_criteria(eh.read_panel(criteria, criterion="criterion"), weights={"merit": 2, "style": 1})
    assert [record["value"] for record in found["objects"]] == fit.combined.values.estimate.tolist()
    assert [(part["criterion"], part["weight"]) for part in found["criteria"]] == [("merit", 2), ("style", 1)]
    for part in found["criteria"]:
        own = fit.fits[part["criterion"]]
        assert [record["value"] for record in part["objects"]] == own.values.estimate.tolist()
        assert [record["bias"] for record in part["assessors"]] == own.biases.estimate.tolist()
    (pair,) = found["correlation"]
    assert 0 < pair["correlation"] < 1
    shown = run("calibrate", criteria, *options).stdout
    assert "Weights of the criteria: merit 2, style 1." in shown
    assert "merit and style" in shown


def test_criteria_can_be_ranked_refined_and_written(criteria: Path, tmp_path: Path) -> None:
    options = ("--criterion", "criterion")
    assert answer("rank", criteria, *options, "--top", 3)["decision"]["places"] == 3
    apart = answer("calibrate", criteria, *options, "--uncorrelated")
    assert apart["objects"][0]["sd"] < answer("calibrate", criteria, *options)["objects"][0]["sd"]
    assert answer("calibrate", criteria, *options, "--shrink")["method"] == "cwc+shrunk"
    assert answer("calibrate", criteria, *options, "--method", "sa")["method"] == "sa"
    assert run("calibrate", criteria, *options, "--out", tmp_path / "c.csv").exit_code == 0
    with (tmp_path / "c-criteria-objects.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert {row["criterion"] for row in rows} == {"merit", "style"}


@pytest.mark.parametrize("command", ["influence", "next", "compare"])
def test_criteria_are_not_taken_for_repeats(criteria: Path, command: str) -> None:
    result = run(command, criteria, "--criterion", "criterion")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "calibrate and rank" in result.stderr
    assert run("calibrate", criteria, "--criterion", "criterion", "--solver", "direct").exit_code == 2


@pytest.mark.parametrize("command", ["calibrate", "compare"])
def test_help_lists_options_under_headings(command: str) -> None:
    shown = run(command, "--help").stdout
    headings = ["The file:", "Where zero bias lies:", "Refinements of cwc and iba:", "The answer:"]
    places = [shown.index(heading) for heading in headings]
    assert places == sorted(places)
    assert shown.index("Refinements of") < shown.index("  --bounds A,B") < shown.index("The answer:")
    assert "Options:" in run("demo", "--help").stdout


def test_values_that_differ_by_rounding_alone_have_no_more_digits_for_it(tmp_path: Path) -> None:
    place = tmp_path / "apart.csv"
    place.write_text("object,assessor,score\nA,x,0\nA,y,100\nB,x,100\nB,y,0\nC,x,50\nC,y,50\n", encoding="utf-8")
    shown = run("calibrate", place, "--tails", "huber")
    assert shown.exit_code == 0
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith("1  ")]
    assert [row[2] for row in rows] == ["50.0"] * 3
