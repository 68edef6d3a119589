"""What was settled about a file is kept beside it, used by every later command, and overridden by options."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import InputError
from evenhand.io.settled import load, place_of, save

WIDE = "Ref.;Title;Ana;Ben;Cleo;Average\nS1;Moss;7,5;8;COI;7,75\nS2;Tide;5;;4,5;4,75\nS3;Clay;;9;8;8,5\n"
LONG = "thing,who,how nice,sure\nx,A,Poor,5\nx,B,Good,2\ny,A,Fair,4\ny,B,Poor,1\n"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    (tmp_path / "wide.csv").write_text(WIDE, encoding="utf-8")
    return tmp_path / "wide.csv"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)


def test_check_says_how_the_file_was_read_and_why(wide: Path) -> None:
    plain, explained = run("check", wide), run("check", wide, "--explain")
    first = plain.stdout.splitlines()[0]
    assert first.startswith("Read as: objects down, assessors across, objects from 'Ref.', assessors from the headings")
    assert "'Average' (looks like the mean of the others)" in first
    assert len(explained.stdout.splitlines()) > len(plain.stdout.splitlines())
    found = json.loads(run("check", wide, "--json").stdout)["reading"]
    assert (found["layout"], found["object"], found["assessor"]) == ("wide", "Ref.", None)
    assert found["left_out"] == [{"column": "Average", "reason": "looks like the mean of the others"}]


def test_other_commands_say_it_on_standard_error(wide: Path) -> None:
    result = run("calibrate", wide, "--json")
    assert result.stderr.startswith("Read as: objects down, assessors across")
    records = json.loads(result.stdout)["objects"]
    assert [(record["object"], record["title"]) for record in records] == [
        ("S1", "Moss"),
        ("S2", "Tide"),
        ("S3", "Clay"),
    ]


def test_what_was_settled_is_used_and_named_and_options_count_for_more(wide: Path) -> None:
    saved = run("check", wide, "--object", "Title", "--save")
    assert (saved.exit_code, place_of(wide).name) == (0, "wide.csv.evenhand.toml")
    assert load(wide) == {"layout": "wide", "object": "Title"}
    again = run("check", wide, "--json")
    found = json.loads(again.stdout)["reading"]
    assert (found["object"], found["saved"]) == ("Title", "wide.csv.evenhand.toml")
    assert "settled in wide.csv.evenhand.toml" in found["sentence"]
    other = json.loads(run("check", wide, "--object", "Ref.", "--json").stdout)["reading"]
    assert other["object"] == "Ref."
    panel = eh.read_panel(wide)
    assert panel.objects == ("Moss", "Tide", "Clay")
    assert panel.object_details == {"Ref.": {"Moss": "S1", "Tide": "S2", "Clay": "S3"}}


def test_everything_that_settles_a_reading_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(LONG, encoding="utf-8")
    typed = ["--object", "thing", "--assessor", "who", "--score", "how nice", "--level", "sure", "--level-scale", "1,5"]
    assert run("check", path, *typed, "--scores", "Poor=10,Fair=20,Good=40", "--save").exit_code == 0
    panel = eh.read_panel(path)
    assert panel.score.tolist() == [10.0, 40.0, 20.0, 10.0]
    np.testing.assert_allclose(panel.precision, 1.75 ** (2 * np.array([1.0, -0.5, 0.5, -1.0])))
    assert panel.confidence == "level"


@pytest.mark.parametrize("text", ["layout = ", "colour = 'red'", "object = 3", "scores = 'x'"])
def test_a_damaged_or_unknown_setting_is_refused_with_its_file(wide: Path, text: str) -> None:
    place_of(wide).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"wide\.csv\.evenhand\.toml: .*delete") as caught:
        eh.read_panel(wide)
    assert caught.value.kind == "bad_settings"


def test_names_with_odd_characters_survive(tmp_path: Path) -> None:
    settings = {"object": 'a "b" \\ é\t', "scores": {"weak=accept": 3.0, 'q"': 1}, "missing": ["—", "x\ny"]}
    path = tmp_path / "a.csv"
    save(path, settings)
    assert load(path) == settings


def test_a_scale_of_small_numbers_is_one_of_levels_unless_said_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("paper,reviewer,score,confidence\nx,A,1,5\nx,B,2,1\ny,A,3,3\ny,B,4,4\n", encoding="utf-8")
    levels = eh.read_panel(path, factor=2.0)
    assert (levels.confidence, levels.precision.tolist()) == ("level", [4.0, 0.25, 1.0, 2.0])
    assert levels.reading is not None
    assert levels.reading.meaning == "a scale from 1 = low to 5 = high"
    turned = eh.read_panel(path, factor=2.0, level_scale=(5, 1))
    assert turned.precision.tolist() == [0.25, 4.0, 1.0, 0.5]
    weights = eh.read_panel(path, confidence="confidence")
    assert (weights.confidence, weights.precision.tolist()) == ("confidence", [5.0, 1.0, 3.0, 4.0])


def test_a_word_among_numbers_is_a_mistake_and_no_score(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("paper,reviewer,score\nx,A,good\nx,B,2\ny,A,3\ny,B,4\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2, column score: the score 'good' is not a number"):
        eh.read_panel(path)


def test_frames_are_understood_as_files_are(wide: Path) -> None:
    import polars as pl

    frame = pl.read_csv(io.StringIO(WIDE.replace(",", ".")), separator=";")
    panel = eh.Panel.from_frame(frame)
    assert panel.reading is not None
    assert (panel.reading.layout, panel.objects, panel.assessors) == (
        "wide",
        ("S1", "S2", "S3"),
        ("Ana", "Ben", "Cleo"),
    )
    assert eh.calibrate(frame).panel.n_assessments == eh.read_panel(wide).n_assessments


BASE = "Paper,Reviewer,Score\n"
NOTED = {
    "summary_rows": BASE + "x,A,1\nx,B,2\ny,A,3\ny,B,4\nMean,,2.5\n",
    "no_assessment": "Paper,Ann,Bob\nx,1,2\ny,3,4\nz,2,2\nScores from 1 to 5 and nothing else,,\n",
    "filled_down": BASE + "x,A,1\n,B,2\n,C,3\ny,A,3\n,B,4\n,C,1\n",
    "another_scale": "Paper,Ann,Bob,Cleo,Zed\nx,1,2,3,24\ny,3,4,1,26\nz,2,2,5,28\nw,1,5,3,25\n",
    "banner": "My panel\n\n" + BASE + "x,A,1\nx,B,2\ny,A,3\n",
    "expertise_as_confidence": "Paper,Reviewer,Score,Expertise\nx,A,1,high\nx,B,2,low\ny,A,3,high\ny,B,1,low\n",
}


@pytest.mark.parametrize("kind", NOTED)
def test_what_was_noticed_on_the_way_is_noted(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(NOTED[kind], encoding="utf-8")
    assert kind in {note.kind for note in eh.read_panel(path).notes}


ASKED = {
    "mixed_scale": BASE + "x,A,8/10\nx,B,9/10\ny,A,15/20\ny,B,7/10\n",
    "positions": "Paper,Reviewer 1,Reviewer 2,Reviewer 3\nx,1,2,\ny,3,4,5\nz,2,2,\nw,4,,\n",
    "ambiguous_layout": ",Ann,Bob,Cat\nAnn,,5,4\nBob,3,,4\nCat,2,5,\n",
    "no_header": "x,Ann,3\ny,Ann,4\nx,Bob,2\ny,Bob,5\n",
    "ambiguous_column": "object,paper,assessor,score\nx,y,A,1\nx,z,B,2\nw,y,A,3\n",
}


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_not_clear_is_asked(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(ASKED[kind], encoding="utf-8")
    with pytest.raises(InputError) as caught:
        eh.read_panel(path)
    assert caught.value.kind == kind


def test_results_are_not_taken_for_scores(wide: Path) -> None:
    results = wide.with_name("results.xlsx")
    assert run("calibrate", wide, "--out", results).exit_code == 0
    again, first = eh.read_panel(results), eh.read_panel(wide)
    assert sorted(again.score.tolist()) == sorted(first.score.tolist())
    assert set(again.assessors) == set(first.assessors)
    table = wide.with_name("results.csv")
    assert run("calibrate", wide, "--out", table).exit_code == 0
    with pytest.raises(InputError):
        eh.read_panel(table)


@pytest.mark.parametrize(("most", "form"), [(7, "level"), (8, "confidence")])
def test_a_scale_of_more_than_seven_steps_is_taken_for_weights(most: int, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"paper,reviewer,score,confidence\nx,A,1,{most}\nx,B,2,3\ny,A,3,1\ny,B,4,2\n", encoding="utf-8")
    assert eh.read_panel(path).confidence == form
