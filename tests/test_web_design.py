"""The design on a page: what is typed and pasted, what comes out, what changes by hand cost, what is handed out."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

from evenhand.cli import main
from web import client, settled

OBJECTS = "proposal\ttitle\n" + "\n".join(f"P{at:02d}\tTitle {at}" for at in range(1, 13))
NAMES = ("Adeyemi", "Brandt", "Costa", "Dubois")
ASSESSORS = "assessor\temail\n" + "\n".join(f"{name}\t{name.lower()}@example.org" for name in NAMES)
ASKED = {
    "name": "Spring round",
    "objects": OBJECTS,
    "assessors": ASSESSORS,
    "per_object": "2",
    "uncertainty": "8",
    "conflicts": "Adeyemi\tP03\nBrandt\tP01",
}


@pytest.fixture(scope="module")
def chair() -> Any:
    return client()


def made(chair: Any, **changed: str) -> str:
    """Ask for a plan, and return where it is."""
    page = chair.post("/designs/new", {**ASKED, **changed})
    assert page.status_code == 302, text(page)
    return str(page.url)


def shown(chair: Any, address: str) -> Any:
    return settled(lambda: chair.get(address), 120)


def text(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.content.decode())).replace("&#x27;", "'")


def heading(page: Any) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page.content.decode(), re.DOTALL)
    assert found is not None, page.content[:2000]
    return re.sub(r"\s+", " ", found[1]).strip()


def pairs_of(chair: Any, address: str) -> list[tuple[str, str]]:
    file = shown(chair, f"{address}/out/pairs.csv").content.decode("utf-8-sig")
    return [(row["assessor"], row["object"]) for row in csv.DictReader(io.StringIO(file))]


def sds_of(pairs: list[tuple[str, str]], points: float) -> dict[str, float]:
    """Return the sd of each calibrated value by brute force: least squares, biases weighted to zero by readings."""
    objects, assessors = (sorted({pair[at] for pair in pairs}) for at in (1, 0))
    design = np.zeros((len(pairs) + 1, len(objects) + len(assessors)))
    for row, (who, label) in enumerate(pairs):
        design[row, objects.index(label)] = design[row, len(objects) + assessors.index(who)] = 1
        design[-1, len(objects) + assessors.index(who)] += 1
    covariance = np.linalg.inv(design[:-1].T @ design[:-1] + 1e9 * np.outer(design[-1], design[-1]))
    return dict(zip(objects, (points * np.sqrt(np.diag(covariance)[: len(objects)])).tolist(), strict=True))


def mean_sd(pairs: list[tuple[str, str]], points: float) -> float:
    """Return the mean sd of calibrated values."""
    return float(np.mean(list(sds_of(pairs, points).values())))


@pytest.fixture(scope="module")
def plan(chair: Any) -> str:
    return made(chair)


# --- what comes out ----------------------------------------------------------------------------------


def test_the_plan_is_that_of_the_command_line(chair: Any, plan: str, tmp_path: Path) -> None:
    page = shown(chair, plan)
    for name in ("objects", "assessors"):
        (tmp_path / f"{name}.tsv").write_text(ASKED[name])
    (tmp_path / "conflicts.tsv").write_text("assessor\tobject\n" + ASKED["conflicts"])
    files = [part for name in ("objects", "assessors", "conflicts") for part in (f"--{name}", f"{tmp_path}/{name}.tsv")]
    told = CliRunner().invoke(main, ["design", *files, "--per-object", "2", "--uncertainty", "8", "--json"])
    summary = json.loads(told.stdout)
    assert pairs_of(chair, plan) == [(one["assessor"], one["object"]) for one in summary["assignments"]]
    assert heading(page) == f"2 readers each: expect ±{1.645 * summary['mean_sd']:.1f} points"
    sds = [step["mean_sd"] for step in summary["by_readings"] if step["mean_sd"] is not None]
    assert len(sds) == 3  # one reader of each leaves nothing to compare by
    assert all(f"±{1.645 * sd:.1f}" in text(page) for sd in sds)
    for one in summary["lost"]:
        assert one["assessor"] in text(page)


def test_what_a_drop_out_costs_is_said_of_those_who_lose_a_reader_too(chair: Any) -> None:
    sides = {"objects": "\n".join(f"P{at}" for at in range(12)), "assessors": "Ana\nBen\nCleo\nDan\nEva\nFay"}
    made_now = made(chair, **sides, per_object="3", conflicts="")
    pairs, now = pairs_of(chair, made_now), text(shown(chair, made_now))
    means, costs = {}, {}
    for who in sides["assessors"].split():
        sds = sds_of([pair for pair in pairs if pair[0] != who], 8.0)
        means[who], costs[who] = np.mean(list(sds.values())), max(sds[label] for one, label in pairs if one == who)
    told = re.search(
        r"costs most with (.+?): expect ±([\d.]+) instead of ±[\d.]+; up to ±([\d.]+) for the (\S+) objects that lose",
        now,
    )
    assert told is not None
    assert told[2] == f"{1.645 * max(means.values()):.1f}"
    dearest = [who for who in means if f"{1.645 * means[who]:.1f}" == told[2]]
    assert set(re.findall(r"[A-Z]\w+", told[1])) == set(dearest)
    assert float(told[3]) == round(1.645 * max(costs[who] for who in dearest), 1)
    assert told[4] == "6"
    assert float(told[3]) > float(told[2])


def test_what_to_expect_is_what_least_squares_give(chair: Any, plan: str) -> None:
    page, pairs = shown(chair, plan), pairs_of(chair, plan)
    assert len(pairs) == 24
    assert not {("Adeyemi", "P03"), ("Brandt", "P01")} & set(pairs)
    expected = f"±{1.645 * mean_sd(pairs, 8.0):.1f}"
    assert f"{expected} points" in heading(page)
    said = f"Nine times in ten one score is within ±13.2 points, and a value from 2 readers within {expected} "
    assert f"{said}(the typical error of one score was given as 8.0)." in text(page)
    assert 'class="stack narrow"' not in page.content.decode()  # which only phones show


def test_numbers_and_lists_do_instead_of_tables(chair: Any) -> None:
    page = shown(chair, made(chair, objects="6", assessors="Grant, R\nHorvat, J\nIto, K", uncertainty="", conflicts=""))
    assert re.fullmatch(r"2 readers each: expect ±\d\.\d\d times the noise of one score", heading(page))
    assert "Grant, R" in text(page)
    assert "O6" in text(page)


def test_assessors_without_work_are_told(chair: Any) -> None:
    names = "\n".join(("assessor,max_load", *(f"{name},3" for name in NAMES), "Idle,0"))
    page = shown(chair, made(chair, objects="6", assessors=names, conflicts=""))
    assert "Without work: Idle." in text(page)


# --- what cannot be had ------------------------------------------------------------------------------


def test_what_cannot_be_read_is_said_beside_its_field_and_kept(chair: Any) -> None:
    page = chair.post("/designs/new", {**ASKED, "conflicts": "Adeyemi\tP99"})
    assert "conflicts, row 1: There is no object P99" in text(page)
    assert "Adeyemi\tP99" in page.content.decode()
    assert "Title 12" in page.content.decode()
    page = chair.post("/designs/new", {**ASKED, "objects": "P1\nP2\nP1", "per_object": "0"})
    assert "Object P1 is listed twice" in text(page)


def test_rules_that_no_plan_keeps_are_explained_and_what_was_typed_is_kept(chair: Any) -> None:
    address = made(chair, max_load="3")
    page = shown(chair, address)
    assert heading(page) == "Plan who reads what"
    assert "short" in text(page)
    assert "Title 12" in page.content.decode()
    assert 'value="3"' in page.content.decode()
    number = address.rsplit("/", 1)[-1]
    assert made(chair, max_load="6", plan=number) == address
    assert heading(shown(chair, address)).startswith("2 readers each")


def test_designs_that_are_too_large_are_for_the_command_line(chair: Any) -> None:
    page = chair.post("/designs/new", {**ASKED, "objects": "1400", "assessors": "101", "conflicts": ""})
    assert "Larger designs are for the command line: evenhand design." in text(page)


@pytest.mark.parametrize(
    "name", ["objects", "assessors", "conflicts", "expertise", "per_object", "uncertainty", "seed"]
)
@pytest.mark.parametrize("value", ["", "\x00", "=1+1", '"', "9" * 5000, "\t\t\n\t", "a,b\nc", "nan", "−1", "🎂\n" * 50])
def test_nothing_that_is_typed_breaks_the_page(chair: Any, name: str, value: str) -> None:
    page = chair.post("/designs/new", {**ASKED, "objects": "3", "assessors": "2", "conflicts": "", name: value})
    assert page.status_code in (200, 302)
    if page.status_code == 302:
        assert shown(chair, page.url).status_code == 200


# --- by hand -----------------------------------------------------------------------------------------


def test_a_change_by_hand_shows_its_price_and_is_undone(chair: Any) -> None:
    address = made(chair, name="By hand")
    shown(chair, address)
    pairs = pairs_of(chair, address)
    who, label = next(pair for pair in pairs if pair[1] == "P05")
    chair.post(f"{address}/edit", {"do": "remove", "assessor": who, "object": label})
    page, left = shown(chair, address), [pair for pair in pairs if pair != (who, label)]
    assert pairs_of(chair, address) == left
    assert f"±{1.645 * mean_sd(pairs, 8.0):.2f}" in text(page)
    assert f"±{1.645 * mean_sd(left, 8.0):.2f}" in text(page)
    assert "an object is read too little" in text(page).lower()
    chair.post(f"{address}/edit", {"do": "undo"})
    assert pairs_of(chair, address) == pairs


def test_a_plan_that_falls_apart_says_so_and_stays_on_the_page(chair: Any) -> None:
    address = made(chair, name="Apart")
    shown(chair, address)
    readers = [who for who, label in pairs_of(chair, address) if label == "P05"]
    for who in readers:
        chair.post(f"{address}/edit", {"do": "remove", "assessor": who, "object": "P05"})
    page = shown(chair, address)
    assert page.status_code == 200
    assert heading(page) == "1 object has no reader"
    assert shown(chair, f"{address}/out/sheets.zip").status_code == 200


def test_pairs_that_must_not_be_are_refused(chair: Any, plan: str) -> None:
    before = pairs_of(chair, plan)
    for given, words in (
        ({"do": "add", "assessor": "Adeyemi", "object": "P03"}, "must not read"),
        ({"do": "add", "assessor": before[0][0], "object": before[0][1]}, "already"),
        ({"do": "remove", "assessor": "Adeyemi", "object": "P03"}, "does not read"),
        ({"do": "add", "assessor": "Nobody", "object": "P03"}, "no assessor Nobody"),
        ({"do": "add"}, "Choose an assessor"),
        ({"do": "undo"}, "expect"),
        ({"do": "explode"}, "expect"),
    ):
        chair.post(f"{plan}/edit", given)
        assert words in text(shown(chair, plan))
    assert pairs_of(chair, plan) == before


def test_what_was_found_stands_when_the_server_starts_again(chair: Any) -> None:
    from evenhand.web.jobs import jobs

    address = made(chair, name="Kept")
    first = heading(shown(chair, address))
    pairs = pairs_of(chair, address)
    jobs.forget("")
    assert heading(shown(chair, address)) == first
    assert pairs_of(chair, address) == pairs


# --- handed out --------------------------------------------------------------------------------------


def test_each_assessor_gets_a_workbook_of_what_to_read(chair: Any, plan: str) -> None:
    pairs = pairs_of(chair, plan)
    books = zipfile.ZipFile(io.BytesIO(shown(chair, f"{plan}/out/sheets.zip").content))
    assert sorted(books.namelist()) == [f"{name}.xlsx" for name in NAMES]
    sheet = openpyxl.load_workbook(io.BytesIO(books.read("Costa.xlsx"))).worksheets[0]
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0][:3] == ("object", "title", "assessor")
    assert [row[0] for row in rows[1:]] == [label for who, label in pairs if who == "Costa"]


def test_hotcrp_gets_addresses_or_the_page_says_what_is_missing(chair: Any, plan: str) -> None:
    assert "put it in place of names such as P01 before" in text(shown(chair, plan)), "HotCRP counts papers"
    file = shown(chair, f"{plan}/out/hotcrp.csv").content.decode()
    rows = list(csv.DictReader(io.StringIO(file)))
    assert [(row["email"], row["paper"]) for row in rows] == [
        (f"{who.lower()}@example.org", label) for who, label in pairs_of(chair, plan)
    ]
    without = made(chair, assessors="\n".join(NAMES))
    assert "hotcrp.csv" not in shown(chair, without).content.decode()
    assert shown(chair, f"{without}/out/hotcrp.csv").status_code == 400


def test_score_sheets_are_workbooks_and_other_files_are_not_there(chair: Any, plan: str) -> None:
    for name in ("scores.xlsx", "sheets.xlsx"):
        openpyxl.load_workbook(io.BytesIO(shown(chair, f"{plan}/out/{name}").content))
    assert chair.get(f"{plan}/out/secret").status_code == 404


def test_a_plan_is_listed_taken_as_a_beginning_and_deleted(chair: Any) -> None:
    address = made(chair, name="To go")
    shown(chair, address)
    assert "To go" in text(chair.get("/designs"))
    number = address.rsplit("/", 1)[-1]
    assert "Title 12" in chair.get(f"/designs?like={number}").content.decode()
    chair.post(f"{address}/delete")
    assert chair.get(address).status_code == 404
    assert "To go" not in text(chair.get("/designs"))


def test_no_page_has_a_style_of_its_own(chair: Any, plan: str) -> None:
    for address in (plan, "/designs"):
        assert not re.search(r"\sstyle=|<style|onclick", shown(chair, address).content.decode())
