"""``evenhand design``: who reads what, from files to files, and what is said where that cannot be had."""

from __future__ import annotations

import csv
import json
import math
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
import polars as pl
import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import design as cli_design
from evenhand.cli import main
from evenhand.design.task import OBJECTIVES

PAPERS = "object,title\n" + "".join(f"{n},Title {n}\n" for n in range(101, 109))
PEOPLE = "assessor,email\n" + "".join(
    f"{name},{name.lower()}@uni.example\n" for name in ("Ana", "Ben", "Cy", "Di", "Eva")
)
CONFLICTS = "assessor,object\nAna,101\nBen,101\nCy,102\n"
QUICK = ("--effort", "0.1")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["design", *(str(argument) for argument in arguments)], prog_name="evenhand")
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result


def answer(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, *QUICK, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(found, dict)
    return found


def refused(code: int, *arguments: object) -> str:
    result = run(*arguments, *QUICK)
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    return result.stderr


def rows_of(place: str) -> list[list[str]]:
    with Path(place).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.reader(stream))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("papers.csv", PAPERS), ("people.csv", PEOPLE), ("conflicts.csv", CONFLICTS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


FILES = ("--objects", "papers.csv", "--assessors", "people.csv", "--conflicts", "conflicts.csv", "--per-object", 3)


# --- the design ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_design_of_figure_1a_is_found(seed: int) -> None:
    found = answer("--objects", 6, "--assessors", 4, "--per-object", 2, "--seed", seed, "--no-outlook")
    assert found["mu2"] == pytest.approx(1 - math.sqrt(1 / 3), abs=1e-9)
    assert len(found["assignments"]) == 12
    assert set(found["loads"].values()) == {3}
    assert found["bridges"] == []
    assert found["balance"] == pytest.approx(25 / 26, abs=1e-9)  # five eigenvalues of C: 4/3 three times and 2 twice
    assert found["efficiency"] == pytest.approx(5 / (3 * 3 / 2 + 2), abs=1e-9)


def test_json_has_every_agreed_key_and_agrees_with_the_library(here: Path) -> None:
    found = answer(*FILES)
    assert {"assignments", "mu2", "mean_sd", "max_sd", "loads"} <= set(found)
    conflicts = {("Ana", "101"), ("Ben", "101"), ("Cy", "102")}
    pairs = [(record["assessor"], record["object"]) for record in found["assignments"]]
    assert not conflicts & set(pairs)
    frames = (pl.read_csv(name, infer_schema=False) for name in ("papers.csv", "people.csv"))
    made = eh.assign(*frames, per_object=3, conflicts=conflicts, effort=0.1)
    assert pairs == made.assignments
    assert found["mean_sd"] == pytest.approx(made.mean_sd)
    assert found["max_sd"] == pytest.approx(made.max_sd)
    assert found["loads"] == made.loads
    assert [record["sd"] for record in found["objects"]] == pytest.approx(made.sd.tolist())
    assert [record["load"] for record in found["assessors"]] == list(made.loads.values())
    ahead = eh.outlook(made)
    assert ahead is not None
    assert found["random"]["mean_variance"] == pytest.approx(ahead.chance.mean_variance)
    lower = 1 - made.mean_variance / (ahead.chance.mean_variance or 1)
    assert found["random"]["variance_lower_by"] == pytest.approx(lower)
    assert [record["assessor"] for record in found["lost"]] == [one.assessor for one in ahead.lost]
    assert [record["assessments"] for record in found["by_readings"]] == [one.assessments for one in ahead.steps]


def test_the_same_seed_gives_the_same_answer(here: Path) -> None:
    first, again, other = (run(*FILES, "--seed", seed, *QUICK, "--json").stdout for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_person_is_told_what_decides_before_who_reads_what(here: Path) -> None:
    result = run(*FILES, *QUICK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("24 assessments: 3 of each of 8 objects, ")
    assert "in units of the noise of one assessment" in lines[1]
    assert lines[2].startswith("Connected: all assessors can be compared (spectral gap 0.")
    assert "at random" in lines[3]
    assert lines[4].startswith("Losing one assessor would cost most if it were ")
    assert result.stdout.index("With more or less work") < result.stdout.index("Who reads what")
    assert "this design" in result.stdout
    for name in ("Ana", "Ben", "Cy", "Di", "Eva"):
        assert f"\n  {name} (" in result.stdout


def test_rows_limit_the_table_and_no_outlook_leaves_the_outlook_out(here: Path) -> None:
    text = run(*FILES, *QUICK, "--rows", 2, "--no-outlook").stdout
    assert "... and 3 more assessors; --out FILE or --json has all." in text
    assert "at random" not in text
    assert "Losing" not in text


def test_uncertainties_in_points_scale_what_is_expected(here: Path) -> None:
    plain, points = answer(*FILES, "--no-outlook"), answer(*FILES, "--no-outlook", "--uncertainty", 8)
    assert points["mean_sd"] == pytest.approx(8 * plain["mean_sd"])
    assert (plain["unit"], points["unit"]) == ("noise of one assessment", "points")
    assert "in points" in run(*FILES, *QUICK, "--no-outlook", "--uncertainty", 8).stdout


def test_expertise_fixed_pairs_and_linking_objects_are_heeded(here: Path) -> None:
    rows = "".join(
        f"{name},{n},{(n + len(name)) % 3 / 2}\n" for n in range(101, 109) for name in ("Ana", "Ben", "Di", "Eva")
    )
    Path("expertise.csv").write_text(f"assessor,object,expertise\n{rows}", encoding="utf-8")
    Path("fixed.csv").write_text("assessor,object\nCy,108\n", encoding="utf-8")
    more = ("--expertise", "expertise.csv", "--fixed", "fixed.csv", "--linking", 107, "--expertise-weight", 0.5)
    found = answer(*FILES, *more, "--no-outlook")
    pairs = {(record["assessor"], record["object"]): record for record in found["assignments"]}
    assert pairs["Cy", "108"]["fixed"] is True
    assert sum(label == "107" for _, label in pairs) == 5
    assert 0 < found["mean_expertise"] <= 1
    listed = answer(*FILES[:4], "--per-object", 2, "--expertise", "expertise.csv", "--only-listed", "--no-outlook")
    assert {record["assessor"] for record in listed["assignments"]} <= {"Ana", "Ben", "Di", "Eva"}


def test_the_cheapest_design_that_reaches_a_target_is_found(here: Path) -> None:
    found = answer("--objects", 8, "--assessors", 5, "--uncertainty", 8, "--target-sd", 6, "--no-outlook")
    assert found["mean_sd"] <= 6
    assert len(found["assignments"]) < 40


def test_columns_of_the_lists_say_loads_costs_and_topics(here: Path) -> None:
    people = "assessor,max load,cost,topics\nAna,2,1.5,x\nBen,9,1,y\nCy,9,1,x; y\nDi,9,1,z\n"
    Path("people.csv").write_text(people, encoding="utf-8")
    papers = (
        "object,reviews,topics,linking\n"
        + "".join(f"{n},{2 + n % 2},{'xyz'[n % 3]},\n" for n in range(1, 8))
        + "8,2,x,yes\n"
    )
    Path("papers.csv").write_text(papers, encoding="utf-8")
    found = answer(*FILES[:4], "--no-outlook")
    assert found["loads"]["Ana"] <= 2
    counts = {record["object"]: record["assessments"] for record in found["objects"]}
    assert counts == {**{str(n): 2 + n % 2 for n in range(1, 8)}, "8": 4}
    assert found["cost"] == pytest.approx(sum(counts.values()) + 0.5 * found["loads"]["Ana"])
    assert 0 < found["mean_expertise"] < 1
    text = run(*FILES[:4], *QUICK, "--no-outlook").stdout
    assert f"Cost of all assessments: {found['cost']:g}." in text
    assert "Mean expertise" in text


def test_a_panel_of_one_is_not_called_comparable() -> None:
    text = run("--objects", 3, "--assessors", 1, "--per-object", 1, *QUICK).stdout
    assert "One assessor reads everything" in text
    assert "the same as assigned at random" in text
    assert "3 objects would have no reader" in text


def test_no_label_can_steer_the_terminal(here: Path) -> None:
    Path("evil.csv").write_text("object\na\x1b[2Jb\n[red]c\nd\n", encoding="utf-8")
    text = run("--objects", "evil.csv", "--assessors", 3, "--per-object", 2, *QUICK).stdout
    assert "\x1b" not in text
    assert "a\\x1b[2Jb" in text
    assert "[red]c" in text


def test_every_objective_can_be_asked_for(here: Path) -> None:
    assert cli_design.OBJECTIVES == OBJECTIVES
    for objective in OBJECTIVES:
        more = ("--top", 3, "--value-sd", 2) if objective == "top" else ()
        found = answer(
            "--objects", 7, "--assessors", 4, "--per-object", 2, "--objective", objective, *more, "--no-outlook"
        )
        assert found["objective"] == objective


# --- what comes out ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".json"])
def test_written_tables_hold_what_json_holds(here: Path, suffix: str) -> None:
    found = answer(*FILES)
    result = run(*FILES, *QUICK, "--out", f"design{suffix}")
    assert result.exit_code == 0, result.stderr
    assert f"Written to design{suffix}" in result.stdout
    if suffix == ".json":
        assert json.loads(Path("design.json").read_text(encoding="utf-8")) == found
        return
    for name in cli_design.TABLES:
        if suffix == ".xlsx":
            sheet = openpyxl.load_workbook("design.xlsx")[name]
            head, *rows = ([cell.value for cell in row] for row in sheet.iter_rows())
            table = [dict(zip(head, row, strict=True)) for row in rows]
        else:
            place = f"design{'' if name == 'assignments' else f'-{name}'}{suffix}"
            kinds = {"assessor": pl.String, "object": pl.String}
            frame = pl.read_parquet(place) if suffix == ".parquet" else pl.read_csv(place, schema_overrides=kinds)
            table = frame.to_dicts()
        assert len(table) == len(found[name])
        for row, record in zip(table, found[name], strict=True):
            for key, value in record.items():
                assert row[key] == (pytest.approx(value) if isinstance(value, float) else value)


def test_a_workbook_has_the_facts_too(here: Path) -> None:
    found = answer(*FILES)
    run(*FILES, *QUICK, "--out", "design.xlsx")
    facts = {row[0].value: row[1].value for row in openpyxl.load_workbook("design.xlsx")["diagnostics"].iter_rows()}
    assert facts["mean_sd"] == pytest.approx(found["mean_sd"])
    assert facts["random_mean_sd"] == pytest.approx(found["random"]["mean_sd"])


def test_each_assessor_gets_a_sheet_with_what_to_read(here: Path) -> None:
    found = answer(*FILES, "--no-outlook")
    run(*FILES, *QUICK, "--no-outlook", "--sheets", "sheets.xlsx")
    book = openpyxl.load_workbook("sheets.xlsx")
    assert book.sheetnames == ["Ana", "Ben", "Cy", "Di", "Eva", "evenhand instructions"]
    listed = []
    for name in book.sheetnames[:-1]:
        head, *rows = ([cell.value for cell in row] for row in book[name].iter_rows())
        assert head == ["object", "title", "assessor", "email", "score", "level"]
        own = [name, f"{name.lower()}@uni.example", None, None]
        assert all(row[1:] == [f"Title {row[0]}", *own] for row in rows)
        listed += [{"assessor": name, "object": row[0]} for row in rows]
        assert len(book[name].data_validations.dataValidation) == 2
    assert listed == [{key: record[key] for key in ("assessor", "object")} for record in found["assignments"]]


def test_a_directory_gets_a_workbook_for_each_assessor_that_is_a_panel_once_filled(here: Path) -> None:
    result = run(*FILES, *QUICK, "--no-outlook", "--sheets", "sheets", "--confidence", "none")
    assert "Written to sheets." in result.stdout
    assert sorted(path.name for path in Path("sheets").iterdir()) == [
        f"{n}.xlsx" for n in ("Ana", "Ben", "Cy", "Di", "Eva")
    ]
    book = openpyxl.load_workbook("sheets/Di.xlsx")
    assert [cell.value for cell in next(book["Di"].iter_rows())] == ["object", "title", "assessor", "email", "score"]
    for row in range(2, book["Di"].max_row + 1):
        book["Di"].cell(row, 5, 50 + row)
    book.save("sheets/Di.xlsx")
    panel = eh.read_panel("sheets/Di.xlsx")
    assert panel.assessors == ("Di",)
    again = run(*FILES, *QUICK, "--no-outlook", "--sheets", "sheets")
    assert again.exit_code == 2
    assert "perhaps with scores in it" in again.stderr
    assert eh.read_panel("sheets/Di.xlsx").n_assessments == panel.n_assessments


@pytest.mark.parametrize("action", [None, "secondaryreview"])
def test_hotcrp_gets_paper_action_email_and_title(here: Path, action: str | None) -> None:
    found = answer(*FILES, "--no-outlook")
    more = () if action is None else ("--hotcrp-action", action)
    result = run(*FILES, *QUICK, "--no-outlook", "--hotcrp", "bulk.csv", *more)
    assert "Note" not in result.stdout
    lines = Path("bulk.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "paper,action,email,title"
    assert lines[1:] == [
        f"{one['object']},{action or 'primaryreview'},{one['assessor'].lower()}@uni.example,Title {one['object']}"
        for one in found["assignments"]
    ]


def test_labels_that_are_addresses_will_do_for_hotcrp_and_labels_that_are_no_numbers_are_noted(here: Path) -> None:
    Path("mail.csv").write_text("assessor\na@x.example\nb@x.example\nc@x.example\n", encoding="utf-8")
    result = run(
        "--objects", 4, "--assessors", "mail.csv", "--per-object", 2, *QUICK, "--no-outlook", "--hotcrp", "b.csv"
    )
    assert "Note: object O1: HotCRP knows papers by their number" in result.stdout
    assert {row[2] for row in rows_of("b.csv")[1:]} == {f"{n}@x.example" for n in "abc"}
    words = refused(2, "--objects", 4, "--assessors", 3, "--per-object", 2, "--hotcrp", "c.csv")
    assert "A1" in words
    assert "column email" in words
    assert not Path("c.csv").exists()


def test_a_review_has_its_round_in_tables_and_for_hotcrp(here: Path) -> None:
    found = answer(*FILES, "--no-outlook", "--round", "R1", "--export", "hotcrp", "bulk.csv")
    assert {one["round"] for one in found["assignments"]} == {"R1"}
    rows = rows_of("bulk.csv")
    assert rows[0] == ["paper", "action", "email", "round", "title"]
    assert {(row[1], row[3]) for row in rows[1:]} == {("primaryreview", "R1")}
    assert "a letter first" in refused(2, *FILES, "--round", "2nd", "--hotcrp", "b.csv")


@pytest.mark.parametrize("more", [(), ("--export", "cmt", "c.xml"), ("--sheets", "s.xlsx")])
def test_a_round_that_nothing_would_show_is_refused(here: Path, more: tuple[str, ...]) -> None:
    assert "--round stands in tables and files" in refused(2, *FILES, "--no-outlook", "--round", "R1", *more)


@pytest.mark.parametrize("system", ["hotcrp", "openreview"])
@pytest.mark.parametrize("titles", [True, False])
def test_what_was_written_for_a_system_is_extended_with_its_rounds_and_under_the_names_of_people(
    here: Path, system: str, titles: bool
) -> None:
    if not titles:
        Path("papers.csv").write_text("object\n" + "".join(f"{n}\n" for n in range(101, 109)), encoding="utf-8")
    first = answer(*FILES, "--no-outlook", "--round", "R1", "--export", system, "first.csv")
    before = {(one["assessor"], one["object"]) for one in first["assignments"]}
    extended = ("--extend", "first.csv", "--assessors", "people.csv", "--left", "Ana", "--no-outlook")
    found = answer(*extended, "--round", "R2", "--export", "hotcrp", "second.csv")
    rounds = {(one["assessor"], one["object"]): one["round"] for one in found["assignments"]}
    kept = {pair for pair in before if pair[0] != "Ana"}
    assert {pair for pair, name in rounds.items() if name == "R1"} == kept
    assert {name for pair, name in rounds.items() if pair not in kept} == {"R2"}
    column = rows_of("second.csv")[0].index("round")
    told = {(row[1], row[2].partition("@")[0], row[column]) for row in rows_of("second.csv")[1:]}
    assert ("clearreview", "ana", "") in told
    assert {name for action, _, name in told if action == "primaryreview"} == {"R2"}
    same = answer(*FILES, "--no-outlook", "--fixed", "first.csv", "--since", "first.csv")
    assert not same["changes"]


def test_who_has_only_lost_something_gets_a_sheet_that_says_so(here: Path) -> None:
    first = answer(*FILES, "--no-outlook", "--round", "R1", "--out", "first.csv")
    lost = next(one["object"] for one in first["assignments"] if one["assessor"] == "Ana")
    Path("new.csv").write_text(f"assessor,object\nAna,{lost}\n", encoding="utf-8")
    result = run("--extend", "first.csv", "--conflicts", "new.csv", *QUICK, "--no-outlook", "--sheets", "sheets")
    assert result.exit_code == 0, result.stderr
    assert "Ana" not in result.stdout.partition("To be added:")[2].partition("Taken back:")[0]
    sheet = openpyxl.load_workbook("sheets/Ana.xlsx")["Ana"]
    assert sheet.max_row == 1
    assert not sheet.data_validations.dataValidation
    with zipfile.ZipFile("sheets/Ana.xlsx") as book:
        boxes = "".join(book.read(name).decode() for name in book.namelist() if "drawings/drawing" in name)
    assert f"You need not assess {lost}: others will." in boxes


@pytest.mark.parametrize(("system", "place"), [("hotcrp", "new.csv"), ("openreview", "edges.csv"), ("cmt", "new.xml")])
def test_what_is_written_for_a_system_is_read_back_as_its_assignments(here: Path, system: str, place: str) -> None:
    Path("people.csv").write_text(PEOPLE.replace("ana@", "o'ana&co@"), encoding="utf-8")
    found = answer(*FILES, "--no-outlook", "--export", system, place)
    again = answer(*FILES, "--no-outlook", "--fixed", place)
    pairs = {(one["assessor"], one["object"]) for one in found["assignments"]}
    assert {(one["assessor"], one["object"]) for one in again["assignments"] if one["fixed"]} == pairs
    words = refused(2, "--objects", 4, "--assessors", 3, "--per-object", 2, "--export", system, place)
    assert "needs an email address" in words
    assert "a.pdf" in refused(2, *FILES, "--export", system, "a.pdf")


def test_openreview_takes_profiles_and_cmt_has_the_users_of_each_submission(here: Path) -> None:
    Path("people.csv").write_text("assessor\n~Ana_Ng1\n~Ben_O1\nc@x.example\n", encoding="utf-8")
    given = ("--objects", 6, "--assessors", "people.csv", "--per-object", 2, "--no-outlook")
    result = run(*given, *QUICK, "--export", "openreview", "edges.csv", "--round", "late call")
    assert "Note" not in result.stdout  # submissions are notes there, not numbers
    edges = rows_of("edges.csv")
    assert edges[0] == ["invitation", "head", "tail", "weight", "label"]
    assert {row[2] for row in edges[1:]} == {"~Ana_Ng1", "~Ben_O1", "c@x.example"}
    assert {(row[0], row[3], row[4]) for row in edges[1:]} == {("Reviewers/-/Assignment", "1", "late call")}
    assert "CMT needs an email address" in refused(2, *given, "--export", "cmt", "new.xml")
    Path("people.csv").write_text(PEOPLE, encoding="utf-8")
    found = answer(*FILES, "--no-outlook", "--export", "cmt", "new.xml")
    root = ElementTree.parse("new.xml").getroot()
    listed = {
        (user.attrib["email"].partition("@")[0], submission.attrib["submissionId"])
        for submission in root.iter("submission")
        for user in submission.iter("user")
    }
    assert root.tag == "assignments"
    assert listed == {(one["assessor"].lower(), one["object"]) for one in found["assignments"]}


@pytest.mark.parametrize("place", ["scores.csv", "scores.xlsx"])
@pytest.mark.parametrize("form", ["level", "uncertainty"])
def test_a_filled_score_sheet_calibrates_to_the_sds_that_were_predicted(here: Path, place: str, form: str) -> None:
    kinds = ("high", "medium", "low") if form == "level" else ("4", "8", "11.5")
    known = {
        (name, str(number)): kinds[(3 * number + 7 * len(name) + ord(name[0])) % 3]
        for number in range(101, 109)
        for name in ("Ana", "Ben", "Cy", "Di", "Eva")
    }
    rows = [f"assessor,object,{form}", *(f"{who},{label},{sure}" for (who, label), sure in known.items())]
    Path("sure.csv").write_text("\n".join(rows), encoding="utf-8")
    option = "--expertise" if form == "level" else "--uncertainty"
    found = answer(*FILES, option, "sure.csv", "--no-outlook", "--score-sheet", place, "--confidence", form)
    if place.endswith(".csv"):
        head, *blank = rows_of(place)
        assert head == ["object", "title", "assessor", "email", "score", form]
        assert all(row[4:] == ["", ""] for row in blank)
        filled = [[*row[:4], str(40 + 7 * at % 31), known[row[2], row[0]]] for at, row in enumerate(blank)]
        Path(place).write_text("\n".join(",".join(row) for row in [head, *filled]), encoding="utf-8")
    else:
        book = openpyxl.load_workbook(place)
        sheet = book["scores"]
        for at in range(2, sheet.max_row + 1):
            sure = known[sheet.cell(at, 3).value, sheet.cell(at, 1).value]
            sheet.cell(at, 5, 40 + 7 * at % 31)
            sheet.cell(at, 6, sure if form == "level" else float(sure))
        book.save(place)
    noise = "declared" if form == "uncertainty" else "estimated"
    result = CliRunner().invoke(main, ["calibrate", place, "--noise", noise, "--json"])
    assert result.exit_code == 0, result.stderr
    fit = json.loads(result.stdout)
    scale = math.sqrt(fit["fit"]["noise_variance"])
    assert noise == "estimated" or scale == 1
    expected = {record["object"]: scale * record["sd"] for record in found["objects"]}
    assert {record["object"]: record["sd"] for record in fit["objects"]} == pytest.approx(expected)
    biases = {record["assessor"]: scale * record["sd"] for record in found["assessors"]}
    assert {record["assessor"]: record["sd"] for record in fit["assessors"]} == pytest.approx(biases)
    assert fit["fit"]["mu2"] == pytest.approx(found["mu2"])
    assert all(record["title"] == f"Title {record['object']}" for record in fit["objects"])
    assert all(record["email"] == f"{record['assessor'].lower()}@uni.example" for record in fit["assessors"])


PC_LIST = "given_name,family_name,email,roles\n" + "".join(
    f"{name},Doe,{name.lower()}@uni.example,pc\n" for name in ("Ana", "Ben", "Cy", "Di", "Eva")
)
LONG_LIST = "Paper,Titel,Authors,URL,Track\n" + "".join(
    f"{n},Title {n},Author {n},https://x.example/{n},{'AB'[n % 2]}\n" for n in range(101, 109)
)


def test_titles_links_groups_and_names_go_from_the_lists_through_a_design_and_its_sheet_to_the_values(
    here: Path,
) -> None:
    Path("papers.csv").write_text(LONG_LIST, encoding="utf-8")
    Path("people.csv").write_text(PC_LIST, encoding="utf-8")
    told = {str(n): (f"Title {n}", f"https://x.example/{n}", "AB"[n % 2]) for n in range(101, 109)}
    lists = ("--objects", "papers.csv", "--assessors", "people.csv", "--per-object", 3, "--no-outlook")
    found = answer(*lists, "--score-sheet", "sheet.csv", "--out", "design.csv")
    assert {one["object"]: (one["title"], one["url"], one["track"]) for one in found["objects"]} == told
    assert {one["assessor"]: one["name"] for one in found["assessors"]}["cy@uni.example"] == "Cy Doe"
    assert "Author 101" not in Path("sheet.csv").read_text(encoding="utf-8")  # whom assessors may not know
    for place in ("sheet.csv", "design.csv"):  # the table of pairs does as well, with scores beside
        head, *rows = rows_of(place)
        at = {name: head.index(name) for name in head}
        assert all(
            told[row[at["object"]]] == tuple(row[at[name]] for name in ("title", "url", "track")) for row in rows
        )
        kept = [name for name in head if name not in ("score", "level")]
        scored = [[*(row[at[name]] for name in kept), str(40 + 7 * number % 31)] for number, row in enumerate(rows)]
        Path("scored.csv").write_text("\n".join(map(",".join, [[*kept, "score"], *scored])), encoding="utf-8")
        result = CliRunner().invoke(main, ["calibrate", "scored.csv", "--json"])
        assert result.exit_code == 0, result.stderr
        fit = json.loads(result.stdout)
        assert {one["object"]: (one["title"], one["url"], one["track"]) for one in fit["objects"]} == told
        assert {one["assessor"]: one["assessor_name"] for one in fit["assessors"]}["cy@uni.example"] == "Cy Doe"
    added = (
        "--extend",
        "scored.csv",
        "--add",
        4,
        "--no-outlook",
        "--score-sheet",
        "more.csv",
        "--hotcrp",
        "more-h.csv",
    )
    assert run(*added, *QUICK).exit_code == 0
    head, *rows = rows_of("more.csv")
    assert len(rows) == 4
    assert all(told[row[0]] == tuple(row[1:4]) for row in rows)
    assert head[:6] == ["object", "title", "url", "track", "assessor", "assessor_name"]
    assert rows_of("more-h.csv")[0] == ["paper", "action", "email", "title"]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_the_picture_shows_who_reads_what(here: Path, suffix: str) -> None:
    result = run(*FILES, *QUICK, "--no-outlook", "--picture", f"who{suffix}")
    assert result.exit_code == 0, result.stderr
    drawn = Path(f"who{suffix}").read_bytes()
    assert len(drawn) > 1000
    if suffix == ".svg":
        assert b"Each object has 3 assessments" in drawn
        assert b"Eva" in drawn


def test_labels_that_look_like_formulas_stay_text(here: Path) -> None:
    Path("evil.csv").write_text('object\n"=cmd|x"\n+1\n@a\n"[b]x"\n', encoding="utf-8")
    Path("who.csv").write_text('assessor\n"=2+2"\n"../up"\n"a:b?c"\nCON\n', encoding="utf-8")
    files = ("--objects", "evil.csv", "--assessors", "who.csv", "--per-object", 3)
    result = run(*files, *QUICK, "--no-outlook", "--out", "d.csv", "--score-sheet", "s.csv", "--sheets", "all.xlsx")
    assert result.exit_code == 0, result.stderr
    assert "[b]x" in result.stdout
    for place in ("d.csv", "s.csv"):
        cells = [cell for row in rows_of(place) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    book = openpyxl.load_workbook("all.xlsx")
    cells_found = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert "=cmd|x" in [cell.value for cell in cells_found]
    assert all(cell.data_type != "f" for cell in cells_found)
    assert run(*files, *QUICK, "--no-outlook", "--sheets", "each").exit_code == 0
    assert sorted(path.name for path in Path("each").iterdir()) == ["2-2.xlsx", "_CON.xlsx", "a-b-c.xlsx", "up.xlsx"]


def test_sheets_of_labels_that_differ_in_case_only_do_not_overwrite_each_other(here: Path) -> None:
    Path("who.csv").write_text("assessor\nann\nAnn\nANN\n", encoding="utf-8")
    run("--objects", 4, "--assessors", "who.csv", "--per-object", 2, *QUICK, "--no-outlook", "--sheets", "each")
    assert sorted(path.name for path in Path("each").iterdir()) == ["ANN-3.xlsx", "Ann-2.xlsx", "ann.xlsx"]


# --- a panel that is there -----------------------------------------------------------------------


def test_a_late_leaver_and_two_new_reviewers_change_only_what_they_must(here: Path) -> None:
    first = answer(*FILES, "--no-outlook", "--round", "R1", "--out", "design.csv")
    Path("late.csv").write_text("assessor,email\nFred,fred@uni.example\nGia,gia@uni.example\n", encoding="utf-8")
    Path("people.csv").write_text(PEOPLE + "Fred,fred@uni.example\nGia,gia@uni.example\n", encoding="utf-8")
    members = ("--objects", "papers.csv", "--assessors", "people.csv", "--conflicts", "conflicts.csv")
    files = (
        "--hotcrp",
        "bulk.csv",
        "--changes",
        "changed.csv",
        "--score-sheet",
        "more.csv",
        "--export",
        "cmt",
        "m.xml",
    )
    found = answer("--extend", "design.csv", *members, "--left", "Di", "--round", "R2", "--no-outlook", *files)
    was = {(one["assessor"], one["object"]) for one in first["assignments"]}
    now = {(one["assessor"], one["object"]): one["round"] for one in found["assignments"]}
    assert was - set(now) == {pair for pair in was if pair[0] == "Di"}
    new = set(now) - was
    assert all(now[pair] == ("R2" if pair in new else "R1") for pair in now)
    assert {record["assessments"] for record in found["objects"]} == {3}
    assert found["since"]["removed"] == found["since"]["added"] == found["since"]["moved"] == first["loads"]["Di"]
    assert found["since"]["mean_sd"] == pytest.approx(first["mean_sd"])
    changed = {(one["change"], one["assessor"], one["object"]) for one in found["changes"]}
    assert changed == {("removed", *pair) for pair in was - set(now)} | {("added", *pair) for pair in new}
    mail = {f"{name.lower()}@uni.example": name for name in ("Ana", "Ben", "Cy", "Di", "Eva", "Fred", "Gia")}
    rows = rows_of("bulk.csv")[1:]
    told = {("removed" if row[1] == "clearreview" else "added", mail[row[2]], row[0]) for row in rows}
    assert told == changed
    assert {(row[1], row[3]) for row in rows} == {("clearreview", ""), ("primaryreview", "R2")}
    table = rows_of("changed.csv")
    assert table[0] == ["change", "object", "title", "assessor", "email", "round"]
    assert {(row[0], row[3], row[1]) for row in table[1:]} == changed
    sheet = rows_of("more.csv")
    columns = sheet[0].index("assessor"), sheet[0].index("object")
    assert {tuple(row[at] for at in columns) for row in sheet[1:]} == new
    assert any("cannot take back" in note["message"] for note in found["notes"])


def test_scores_that_are_in_are_kept_though_their_assessor_has_left(here: Path) -> None:
    first = answer(*FILES, "--no-outlook", "--out", "design.csv")
    pairs = [(one["assessor"], one["object"]) for one in first["assignments"]]
    scored = [pair for pair in pairs if pair[0] != "Di"] + [pair for pair in pairs if pair[0] == "Di"][:2]
    lines = [f"{who},{label},{50 + at % 7}" for at, (who, label) in enumerate(scored)]
    Path("scores.csv").write_text("\n".join(["assessor,object,score", *lines, ""]), encoding="utf-8")
    more = ("--extend", "design.csv", "--scores", "scores.csv", "--left", "Di,Eva", "--no-outlook")
    found = answer(*more)
    now = {(one["assessor"], one["object"]) for one in found["assignments"]}
    assert set(scored) <= now
    assert {pair for pair in now if pair[0] in ("Di", "Eva")} <= set(scored)
    top = answer("--extend", "scores.csv", "--add", 2, "--top", 3, "--no-outlook")
    assert top["objective"] == "top"
    assert top["since"]["added"] == 2
    assert _next()
    assert answer("--extend", "scores.csv", "--fixed", "next.csv", "--no-outlook")["since"]["added"] == 3
    assert "cannot have left" in refused(2, "--extend", "design.csv", "--left", "Zoe")


def _next() -> bool:
    """Write the three assessments that would help most, as ``evenhand next`` says how to hand them out."""
    arguments = ["next", "scores.csv", "--most", "3", "--out", "next.csv"]
    result = CliRunner().invoke(main, arguments, prog_name="evenhand")
    assert "try: evenhand design --extend scores.csv --fixed next.csv --sheets sheets.xlsx" in result.stdout
    return result.exit_code == 0


def test_a_design_is_compared_with_an_earlier_one_and_names_who_could_stand_in(here: Path) -> None:
    first = answer(*FILES, "--no-outlook", "--out", "design.json", "--alternates", 2)
    assert first["since"] is None
    readers = {(one["assessor"], one["object"]) for one in first["assignments"]} | {
        tuple(line.split(",")) for line in CONFLICTS.split()[1:]
    }
    spare = [(one["assessor"], one["object"]) for one in first["alternates"]]
    assert spare
    assert not set(spare) & readers
    same = answer(*FILES, "--no-outlook", "--since", "design.json")
    assert same["changes"] == []
    other = answer(*FILES, "--no-outlook", "--since", "design.json", "--seed", 5, "--linking", "103")
    assert other["since"]["added"] - other["since"]["removed"] == 2
    run(*FILES, *QUICK, "--no-outlook", "--alternates", 1, "--sheets", "sheets.xlsx")
    book = zipfile.ZipFile("sheets.xlsx")
    drawn = "".join(book.read(name).decode() for name in book.namelist() if "drawing" in name)
    assert "In reserve: You may be asked for" in drawn


def test_a_panel_is_extended_where_it_helps_most(here: Path) -> None:
    rows = [
        (label, who)
        for label, ones in (("x", "AB"), ("y", "AB"), ("z", "BC"), ("w", "CD"), ("v", "CD"))
        for who in ones
    ]
    text = "object,assessor,score,sd\n" + "".join(f"{one},{who},{at % 7},5\n" for at, (one, who) in enumerate(rows))
    Path("scores.csv").write_text(text, encoding="utf-8")
    Path("no.csv").write_text("assessor,object\nA,w\n", encoding="utf-8")
    more = ("--extend", "scores.csv", "--add", 3, "--conflicts", "no.csv", "--no-outlook")
    found = answer(*more)
    old = {(one["assessor"], one["object"]) for one in found["assignments"] if one["fixed"]}
    new = {(one["assessor"], one["object"]) for one in found["assignments"] if not one["fixed"]}
    assert old == {(who, label) for label, who in rows}
    assert len(new) == 3
    assert ("A", "w") not in new
    made = eh.extend(eh.read_panel("scores.csv"), 3, conflicts=[("A", "w")], effort=0.1)
    assert found["mean_sd"] == pytest.approx(made.mean_sd)
    before = eh.calibrate(eh.read_panel("scores.csv"), noise="declared").values.sd
    assert before is not None
    assert found["mean_sd"] < sum(before) / 5
    assert found["before"]["mean_sd"] == pytest.approx(sum(before) / 5)
    result = run(*more, *QUICK, "--score-sheet", "more.csv")
    assert "10 of them are there already" in result.stdout
    assert f"Without those to be added: {sum(before) / 5:.2f} on average" in result.stdout
    assert "To be added:" in result.stdout
    assert {(row[1], row[0]) for row in rows_of("more.csv")[1:]} == new


# --- what cannot be had --------------------------------------------------------------------------


def test_impossible_requests_get_a_sentence_and_exit_code_1(here: Path) -> None:
    assert "short" in refused(1, *FILES, "--max-load", 4)
    Path("all.csv").write_text("assessor,object\n" + "".join(f"{n},101\n" for n in ("Ana", "Ben", "Cy", "Di", "Eva")))
    assert "101" in refused(1, *FILES[:4], "--per-object", 3, "--conflicts", "all.csv")
    Path("both.csv").write_text("assessor,object\nAna,101\n")
    assert "fixed pair and in conflict" in refused(1, *FILES, "--fixed", "both.csv")
    refused(1, "--objects", 6, "--assessors", 3, "--per-object", 1, "--max-load", 2)
    assert not list(Path().glob("*.xlsx"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--assessors", 3, "--per-object", 2), "--objects is missing"),
        (("--objects", 3, "--per-object", 2), "--assessors is missing"),
        (("--objects", 3, "--assessors", 3), "how many assessments each object needs"),
        (("--objects", "nowhere.csv", "--assessors", 3, "--per-object", 2), "nowhere.csv"),
        (("--objects", 0, "--assessors", 3, "--per-object", 2), "from 1 to"),
        (("--objects", "people.csv", "--assessors", 3, "--per-object", 2), "no column of objects"),
        ((*FILES, "--uncertainty", "-1"), "positive"),
        ((*FILES, "--uncertainty", "nan"), "positive"),
        ((*FILES, "--uncertainty", "nowhere.csv"), "nowhere.csv"),
        ((*FILES, "--uncertainty", "people.csv", "--expertise", "people.csv"), "leave one of the two out"),
        ((*FILES, "--linking", "nobody"), "nobody"),
        ((*FILES, "--expertise-weight", 0.5), "needs expertise"),
        ((*FILES, "--only-listed"), "none are listed"),
        ((*FILES, "--top", 3), "--top goes with --objective top"),
        ((*FILES, "--objective", "top"), "--top K"),
        ((*FILES, "--hotcrp-action", "pcreview"), "--hotcrp"),
        ((*FILES, "--extend", "scores.csv", "--add", 2), "--per-object says how many each object has"),
        (("--extend", "people.csv", "--target-sd", 1), "leave --extend out"),
        ((*FILES, "--left", "Ana"), "goes with --extend"),
        ((*FILES, "--changes", "c.csv"), "a new design has changed nothing"),
        (("--extend", "papers.csv", "--add", 2), "assessor"),
        ((*FILES, "--out", "papers.csv"), "overwrite papers.csv"),
        ((*FILES, "--out", "design.txt"), "design.txt"),
        ((*FILES, "--hotcrp", "people.csv"), "overwrite people.csv"),
        ((*FILES, "--score-sheet", "conflicts.csv"), "overwrite conflicts.csv"),
        ((*FILES, "--sheets", "people.csv"), "directory, or to a workbook"),
        ((*FILES, "--sheets", "no/such/place"), "make it first"),
        ((*FILES, "--picture", "who.gif"), "who.gif"),
        ((*FILES, "--out", "a.csv", "--score-sheet", "a.csv"), "same place"),
        ((*FILES, "--out", "a.csv", "--hotcrp", "a-lost.csv"), "same place"),
    ],
)
def test_bad_input_gets_a_sentence_and_exit_code_2(here: Path, arguments: tuple[object, ...], words: str) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert words in refused(2, *arguments)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_not_even_force_replaces_a_file_that_is_read(here: Path) -> None:
    frame = pl.read_csv("people.csv")
    frame.write_excel("Ana.xlsx")
    before = Path("Ana.xlsx").read_bytes()
    files = ("--objects", "papers.csv", "--assessors", "Ana.xlsx", "--per-object", 3)
    assert "overwrite Ana.xlsx" in refused(2, *files, "--sheets", ".", "--force")
    assert Path("Ana.xlsx").read_bytes() == before


def test_filled_sheets_are_not_replaced_without_being_asked(here: Path) -> None:
    for option, place in (("--score-sheet", "s.csv"), ("--sheets", "s.xlsx")):
        Path(place).write_bytes(b"scores")
        assert "--force" in refused(2, *FILES, option, place)
        assert Path(place).read_bytes() == b"scores"
        assert run(*FILES, *QUICK, "--no-outlook", option, place, "--force").exit_code == 0
        assert Path(place).read_bytes() != b"scores"
