"""Results in a workbook: two readers find the same numbers, labels are text, and the authors' columns are filled."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import openpyxl
import openpyxl.chart
import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from python_calamine import CalamineWorkbook

import evenhand as eh
from evenhand.answers.fingerprint import data_hash
from evenhand.cli import main
from evenhand.data import demo_path
from evenhand.errors import InputError, LimitError
from evenhand.io import sheets as sheets_module
from evenhand.io.sheets import Column, Sheet, write_sheets
from evenhand.reports import decision_sheets, workbook
from evenhand.reports.summary import find_alerts, standing, summarise_fit
from evenhand.reports.workbook import AUTHORS_SHEET, with_details
from panels import connected_panels, random_panel

if TYPE_CHECKING:
    from pathlib import Path

FRONT = ["decision", "charts", "scores", "biases", "chart_data"]
SIX = ["objects", "assessors", "assessments", "assessor_fit", "diagnostics", "notes"]
EIGHT = [
    "Objects",
    "True Value",
    "Robustness",
    "Total Confidence",
    "Assessors",
    "Bias",
    "Robustness",
    "Total Confidence",
]
HOSTILE = [
    *("=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-1", "\t=1", "\r=1", "＝1", "=1+1", "{=A1}", "https://example.org"),
    *("mailto:a@b.org", "2026-01-31", "1e5", "TRUE", "#N/A", "'quoted", "_x0041_", "<b>", "internal:Sheet1!A1", "007"),
]


OURS = re.compile(r"=AVERAGEIF\('scores'!\$A\$5:\$A\$\d+,A\d+,'scores'!\$D\$5:\$D\$\d+\)|=[A-Z]\d+-[A-Z]\d+")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def by_openpyxl(path: Path) -> dict[str, list[list[Any]]]:
    """Return the cells of each sheet, of formulas what is stored; openpyxl leaves escapes such as _x000D_ alone."""
    book = openpyxl.load_workbook(path, data_only=True)
    return {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}


def by_calamine(path: Path) -> dict[str, list[list[Any]]]:
    book = CalamineWorkbook.from_path(str(path))
    return {
        name: [[None if cell == "" else cell for cell in row] for row in book.get_sheet_by_name(name).to_python()]
        for name in book.sheet_names
    }


def columns_of(rows: list[list[Any]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}


def table_of(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the table of a sheet to be read: from its headings to the first row without a first cell."""
    start = next(at for at, row in enumerate(rows) if len(row) > 1 and row[1] is not None)
    return list(itertools.takewhile(lambda row: row[0] is not None, rows[start:]))


def assert_alike(path: Path) -> dict[str, list[list[Any]]]:
    """Return what one reader finds, if the other finds the same to the last digit."""
    one, other = by_openpyxl(path), by_calamine(path)
    assert list(one) == list(other)
    for name, rows in one.items():
        assert rows == other[name], name
    return one


def small() -> eh.Panel:
    """Return 4 objects, each seen by all of 3 assessors."""
    index = np.arange(12)
    score = [6.5, 7.25, 7, 4, 5, 4.125, 8, 9.125, 8.5, 1 / 3, 2, 1]
    return eh.Panel.from_arrays(index // 3, index % 3, score, 1.0 + index % 4)


def test_the_first_sheet_is_the_decision(tmp_path: Path) -> None:
    panel = eh.read_panel(demo_path())
    decision = eh.decide(eh.rank(eh.calibrate(panel), top=10), 10)
    path = eh.workbook(decision.fit, tmp_path / "r.xlsx", top=10)
    rows = assert_alike(path)["decision"]
    assert rows[0][0] == decision.headline(by_method=True)
    other = eh.decide(eh.rank(eh.refine(panel, shrink=True), top=10), 10)  # by the method that the scores support
    assert not other.inside
    assert f"nobody is in and {len(other.undecided)} compete for 10 places" in rows[1][0]
    assert rows[2][0].startswith("Check 2 proposals: each would cross the line without one assessor (P23, P39). ")
    gone = " and ".join((", ".join(decision.inside[:-1]), decision.inside[-1]))
    assert rows[3][0].startswith(f"Check: By the method that predicts better, {gone} are open, not in. "), "named once"
    table = table_of(rows)
    assert table[0] == [
        *("Rank", "Proposal", "Value", "From", "To", "Plain average", "Difference", "Best rank", "Worst rank"),
        *("Chance", "Status", "Scores"),
    ]
    assert len(table) == 41
    words = {"in": "In", "undecided": "Open", "out": "Out"}
    for row, one in zip(table[1:], decision.standings, strict=True):
        of_object = [
            score for at, score in zip(panel.object_index, panel.score, strict=True) if panel.objects[at] == row[1]
        ]
        assert row[:5] == [one.place, one.object, one.value, one.lower, one.upper]
        assert row[5] == pytest.approx(np.mean(of_object))
        assert row[6] == pytest.approx(one.value - np.mean(of_object))
        assert row[7:] == [one.rank_lower, one.rank_upper, one.chance, words[str(one.status)], len(of_object)]
    assert decision.line_words() in rows[len(rows) - 2][0]
    sheet = openpyxl.load_workbook(path)["decision"]
    first = rows.index(table[1]) + 1
    assert sheet.freeze_panes == f"C{first}"
    thick = [row for row in range(first, first + 40) if sheet.cell(row, 3).border.bottom.style == "thick"]
    assert thick == [first + 9]
    fills = {sheet.cell(row, 11).value: sheet.cell(row, 11).fill.fgColor.rgb[2:] for row in range(first, first + 40)}
    assert fills == {"In": "C6DDF1", "Open": "F7DFAE", "Out": "E2E6E9"}
    assert sheet.cell(first, 3).number_format == '0.0;"−"0.0'
    assert sheet.cell(first, 10).number_format == '[<=0.005]"<1%";[>=0.995]">99%";0%'


def test_links_lead_from_objects_to_their_scores_and_back(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(eh.workbook(eh.calibrate(eh.read_panel(demo_path())), tmp_path / "r.xlsx"))
    scores = book["scores"]
    seen = set()
    for name, column in (("decision", 2), ("scores", 2), ("scores", 3)):
        for row in book[name].iter_rows(min_col=column, max_col=column):
            cell = row[0]
            if cell.hyperlink is None:
                continue
            sheet, place = cell.hyperlink.location.replace("'", "").split("!")
            there = book[sheet][place].row
            at = 1 if sheet == "biases" else 2
            assert book[sheet].cell(there, at).value == cell.value
            if sheet == "scores":  # the first of its scores
                assert scores.cell(there - 1, 2).value != cell.value
            seen.add((name, sheet))
    assert seen == {("decision", "scores"), ("scores", "decision"), ("scores", "biases")}


def test_charts_have_intervals_and_a_middle_axis(tmp_path: Path) -> None:
    fit = eh.calibrate(eh.read_panel(demo_path()))
    path = eh.workbook(fit, tmp_path / "r.xlsx", top=10)
    book = openpyxl.load_workbook(path)
    assert [len(sheet._charts) for sheet in book] == [0, 2] + [0] * (len(book.sheetnames) - 2)
    values, biases = book["charts"]._charts
    assert isinstance(values, openpyxl.chart.LineChart)
    assert isinstance(biases, openpyxl.chart.BarChart)
    assert [one.errBars is not None for one in values.series] == [True] * 3 + [False]  # none on plain averages
    assert all(one.errBars is not None for one in biases.series)
    assert biases.y_axis.scaling.min == -biases.y_axis.scaling.max
    data = columns_of(by_openpyxl(path)["chart_data"])
    drawn = [
        next(one for one in three if one is not None)
        for three in zip(data["In"], data["Open"], data["Out"], strict=True)
    ]
    assert drawn == sorted(fit.values.estimate.tolist(), reverse=True)
    lower = sorted(zip(fit.values.estimate, fit.values.lower, strict=True), reverse=True)  # type: ignore[arg-type]
    found = columns_of([row[:7] for row in by_openpyxl(path)["chart_data"]])["Below"]
    assert found == pytest.approx([value - end for value, end in lower])
    sides = [data[name][:11] for name in ("Strict", "Like the panel", "Generous")]
    assert [sum(one is not None for one in side) for side in sides] == [3, 4, 4]


def test_a_stop_comes_before_any_decision(tmp_path: Path) -> None:
    text = demo_path().read_text(encoding="utf-8").replace("P01,Grant,63,", "P01,Grant,6300,")
    path = tmp_path / "typo.csv"
    path.write_text(text, encoding="utf-8")
    rows = by_openpyxl(eh.workbook(eh.calibrate(eh.read_panel(path)), tmp_path / "r.xlsx", top=10))["decision"]
    assert rows[0][0] == "No decision yet"
    assert rows[1][0].startswith("Stop: One score must be checked (")
    assert "Grant on P01" in rows[1][0]
    said = [row[0] for row in rows if isinstance(row[0], str)]
    assert any(text.startswith("Provisional: ") for text in said)


def test_no_sheet_has_values_that_come_of_a_score_that_must_be_checked(tmp_path: Path) -> None:
    path = tmp_path / "typo.csv"
    text = demo_path().read_text(encoding="utf-8").replace("P01,Grant,63,", "P01,Grant,6300,")
    path.write_text(text, encoding="utf-8")
    panel = eh.read_panel(path)
    at = int(np.argmax(panel.score))
    without = eh.calibrate(panel.restrict(np.arange(panel.n_assessments) != at))
    typed = tmp_path / "typed.xlsx"
    assert run("calibrate", path, "--top", 10, "--out", typed).exit_code == 0
    for book in (by_openpyxl(eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx", top=10)), by_openpyxl(typed)):
        for sheet, label, name, told in (
            ("objects", "object", "value", without.values),
            ("assessors", "assessor", "bias", without.biases),
        ):
            found = columns_of(book[sheet])
            by = dict(zip(found[label], found[name], strict=True))
            assert by == pytest.approx(dict(zip(told.labels, told.estimate.tolist(), strict=True)))
        scores = columns_of(book["assessments"])
        assert scores["score"] == panel.score.tolist(), "nothing is lost"
        assert [one for one, fitted in enumerate(scores["fitted"]) if fitted is None] == [at]
        notes = columns_of(book["notes"])
        said = dict(zip(notes["about"], notes["note"], strict=True))
        assert any("row 2, Grant on P01" in str(note) and "Provisional" in str(note) for note in said.values())
        mark = eh.fingerprint(eh.calibrate(panel), top=10, seed=0, draws=10_000, lottery_seed=None)
        assert said["scores"] == f"fingerprint {mark.whole}"


def test_without_places_nothing_is_decided(tmp_path: Path) -> None:
    fit = eh.calibrate(small())
    rows = assert_alike(eh.workbook(fit, tmp_path / "r.xlsx"))["decision"]
    assert rows[0][0] == "4 objects in the order of their values"
    table = table_of(rows)
    assert not {"Status", "Chance", "Best rank"} & set(table[0])
    assert [row[2] for row in table[1:]] == sorted(fit.values.estimate.tolist(), reverse=True)


@pytest.mark.parametrize("form", ["level", "uncertainty", "confidence", "none"])
def test_a_workbook_is_read_again_as_the_panel_that_it_is_of(tmp_path: Path, form: str) -> None:
    cells = {"level": ("high", "medium", "low"), "uncertainty": (0.5, 2, 3), "confidence": (0.5, 2, 3)}.get(form)
    rows = [
        f"P{o},A{a},{o * a + a + o % 3}{f',{cells[(o + a) % 3]}' if cells else ''}" for o in range(5) for a in range(3)
    ]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([f"proposal,assessor,score{f',{form}' if cells else ''}", *rows]), encoding="utf-8")
    panel = eh.read_panel(path)
    again = eh.read_panel(eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx"))

    def cells_of(one: eh.Panel) -> set[tuple[Any, ...]]:
        names = zip(one.object_index, one.assessor_index, strict=True)
        labels = [(one.objects[at], one.assessors[who]) for at, who in names]
        return {
            (*label, s, round(c, 12)) for label, s, c in zip(labels, one.score.tolist(), one.precision, strict=True)
        }

    assert cells_of(again) == cells_of(panel)
    assert (again.noun, again.confidence) == ("proposal", panel.confidence)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="LibreOffice, which computes formulas anew, is not installed"
)
@pytest.mark.parametrize("kind", ["demo", "hostile", "refined"])
def test_formulas_computed_anew_are_what_is_stored(tmp_path: Path, kind: str) -> None:
    panel = eh.read_panel(demo_path())
    if kind == "hostile":
        labels = [*HOSTILE[:4], ">5", "<3", "a*", "ab", "A?", "~", "007", "7", "TRUE", "=1+1"]
        count = len(labels)
        score = np.random.default_rng(3).integers(0, 100, 2 * count)
        panel = eh.Panel.from_arrays(np.arange(2 * count) % count, np.arange(2 * count) % 3, score, objects=labels)
    fit = eh.refine(panel, eh.Refinements(shrink=True)) if kind == "refined" else eh.calibrate(panel)
    path = eh.workbook(fit, tmp_path / "r.xlsx", top=5)
    stored = by_openpyxl(path)
    home = f"-env:UserInstallation={(tmp_path / 'home').as_uri()}"
    recomputed = tmp_path / "again"
    command = ["soffice", home, "--headless", "--convert-to", "ods", "--outdir", str(recomputed), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    for name in ("decision", "scores"):
        again = CalamineWorkbook.from_path(str(recomputed / "r.ods")).get_sheet_by_name(name).to_python()
        table = table_of(stored[name])
        start = stored[name].index(table[0])
        for our, their in zip(table[1:], again[start + 1 :], strict=False):
            for one, other in zip(our, their, strict=False):
                if isinstance(one, float):
                    assert other == pytest.approx(one, abs=1e-9), (name, our)


def test_two_readers_find_the_numbers_of_the_fit_to_the_last_digit(tmp_path: Path) -> None:
    fit = eh.calibrate(small())
    found = assert_alike(eh.workbook(fit, tmp_path / "r.xlsx", top=2, seed=3, grades=[4, 6]))
    assert list(found) == [*FRONT, *SIX, AUTHORS_SHEET]
    objects = columns_of(found["objects"])
    order = np.argsort(-fit.values.estimate)
    assert objects["object"] == [str(at) for at in order]
    assert objects["rank"] == [1, 2, 3, 4]
    for name in ("estimate", "sd", "lower", "upper", "total_confidence"):
        assert objects["value" if name == "estimate" else name] == getattr(fit.values, name)[order].tolist()
    assert objects["p_top"] == eh.rank(fit, top=2, seed=3).p_top[order].tolist()  # type: ignore[index]
    assert objects["4 to 6"] == eh.classify(fit, [4, 6]).columns()["4 to 6"][order].tolist()
    assessors = columns_of(found["assessors"])
    assert assessors["bias"] == sorted(fit.biases.estimate.tolist(), reverse=True)
    bounds = eh.robustness(fit)
    assert bounds is not None
    assert objects["bound"] == bounds.value_bound[order].tolist()
    effects = eh.influence(fit).columns()
    scores = columns_of(found["assessments"])
    for name in ("object", "assessor", "leverage", "held_out_error", "pull", "fitted"):
        assert scores[name] == list(effects[name])
    assert scores["declared"] == small().precision.tolist()
    facts = dict(zip(*(columns_of(found["diagnostics"])[name] for name in ("quantity", "value")), strict=True))
    assert (facts["residual"], facts["mu2"]) == (fit.residual, fit.connectivity.mu2)
    assert facts["constant"] == bounds.constant
    frame = pl.read_excel(tmp_path / "r.xlsx", sheet_name="objects", engine="openpyxl")
    assert frame["value"].to_list() == objects["value"]


@settings(max_examples=15)
@given(panel=connected_panels(repeats=True))
def test_any_panel_comes_back_to_the_last_digit(tmp_path_factory: pytest.TempPathFactory, panel: eh.Panel) -> None:
    fit = eh.calibrate(panel)
    found = assert_alike(eh.workbook(fit, tmp_path_factory.mktemp("trip") / "r.xlsx"))
    rows, (shown, _) = columns_of(found[AUTHORS_SHEET]), standing(fit, None, find_alerts(fit))
    count = shown.combined.panel.n_objects
    assert [row[6] for row in found[AUTHORS_SHEET][1 : count + 1]] == shown.combined.values.estimate.tolist()
    assert rows["Bias"][: shown.combined.panel.n_assessors] == shown.combined.biases.estimate.tolist()
    assert columns_of(found["assessments"])["score"] == panel.score.tolist()


def test_the_command_writes_the_workbook_that_the_library_writes(tmp_path: Path) -> None:
    result = run("calibrate", demo_path(), "--top", 5, "--seed", 2, "--out", tmp_path / "a.xlsx")
    assert result.exit_code == 0, result.stderr
    eh.workbook(eh.calibrate(eh.read_panel(demo_path())), tmp_path / "b.xlsx", top=5, seed=2)
    typed, called = by_openpyxl(tmp_path / "a.xlsx"), by_openpyxl(tmp_path / "b.xlsx")
    assert table_of(typed.pop("decision")) == table_of(called.pop("decision"))  # remedies are typed, or called
    assert columns_of(typed.pop("notes"))["about"] == columns_of(called.pop("notes"))["about"]
    assert typed == called
    assert run("demo", "--out", tmp_path / "c.xlsx").exit_code == 0
    assert list(by_openpyxl(tmp_path / "c.xlsx")) == [*FRONT, *SIX, AUTHORS_SHEET]
    notes = columns_of(by_openpyxl(tmp_path / "a.xlsx")["notes"])
    assert {"top: 5", "seed: 2", "gauge: weighted", eh.__version__} <= set(notes["note"])


def test_what_json_prints_does_not_depend_on_the_workbook(tmp_path: Path) -> None:
    alone = run("calibrate", demo_path(), "--json").stdout
    assert json.loads(run("calibrate", demo_path(), "--json", "--out", tmp_path / "a.xlsx").stdout) == json.loads(alone)


def test_the_authors_columns_are_filled_with_their_numbers(shared_data: Path, tmp_path: Path) -> None:
    theirs_path = shared_data / "case_study_2_workbook.xlsx"
    out = tmp_path / "r.xlsx"
    assert run("calibrate", theirs_path, "--gauge", "zero-sum", "--out", out).exit_code == 0
    (theirs,) = by_openpyxl(theirs_path).values()
    ours = by_openpyxl(out)[AUTHORS_SHEET]
    assert ours[0] == theirs[0]
    assert ours[0][5:] == EIGHT
    assert len(ours) == len(theirs)
    for row, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        for column, cell in enumerate(their):
            if isinstance(cell, int | float):
                assert our[column] == pytest.approx(cell, abs=1e-9), (row, column)
            elif cell is not None:
                assert our[column] == cell, (row, column)
    filled = {name: sum(row[at] is not None for row in ours[1:]) for at, name in enumerate(ours[0]) if at > 4}
    assert filled == {
        "Objects": 43,
        "True Value": 43,
        "Robustness": 11,
        "Total Confidence": 11,
        "Assessors": 11,
        "Bias": 11,
    }
    panel = eh.read_panel(theirs_path)
    bounds = eh.robustness(eh.calibrate(panel, gauge="zero_sum"))
    assert bounds is not None
    assert [row[7] for row in ours[1:44]] == bounds.value_bound.tolist()
    assert [row[11] for row in ours[1:12]] == bounds.bias_bound.tolist()
    again = eh.read_panel(out, sheet=AUTHORS_SHEET)
    assert (again.objects, again.score.tolist()) == (panel.objects, panel.score.tolist())
    assert again.precision.tolist() == panel.precision.tolist()


def test_the_authors_sheet_is_a_panel_again_whatever_the_form_of_confidence(tmp_path: Path) -> None:
    for form, cells in (("level", "hml"), ("uncertainty", (0.5, 2, 3)), ("confidence", (0.5, 2, 3))):
        rows = [f"{o},{a},{o * a + a},{cells[(o + a) % 3]}" for o in range(4) for a in range(3)]
        path = tmp_path / f"{form}.csv"
        path.write_text("\n".join([f"object,assessor,score,{form}", *rows]), encoding="utf-8")
        panel = eh.read_panel(path)
        out = eh.workbook(eh.calibrate(panel), tmp_path / f"{form}.xlsx")
        again = eh.read_panel(out, sheet=AUTHORS_SHEET)
        assert again.score.tolist() == panel.score.tolist()
        assert again.precision.tolist() == pytest.approx(panel.precision.tolist(), rel=1e-15)


def test_levels_that_were_combined_are_written_as_standard_deviations(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("object,assessor,score,level\nx,A,1,h\nx,A,2,l\ny,A,3,m\nx,B,3,m\ny,B,5,m\n", encoding="utf-8")
    panel = eh.read_panel(path, duplicates="combine")
    rows = by_openpyxl(eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx"))["assessments"]
    declared = columns_of(rows)["declared"]
    assert declared == (1 / np.sqrt(panel.precision)).tolist()
    assert declared[1] == 1.0


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_stay_text_for_two_readers_and_in_the_file(tmp_path: Path, label: str) -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1] * 2, [1, 2, 4, 3.5], objects=[label, "y"], assessors=["A", label])
    path = eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(path)
    shown = openpyxl.load_workbook(path, data_only=True)
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                value = shown[sheet.title][cell.coordinate].value
                if cell.data_type == "f":  # ours: a number made of places alone
                    assert OURS.fullmatch(cell.value), cell.value
                    assert isinstance(value, int | float)
                else:
                    assert cell.data_type in ("s", "n", "b"), (sheet.title, cell.coordinate)
                if cell.hyperlink is not None:
                    assert cell.hyperlink.target is None
                    assert re.fullmatch(r"'(decision|scores|biases)'!A\d+", cell.hyperlink.location)
                    assert cell.hyperlink.display in FRONT
    for name, column in (("objects", "object"), ("assessments", "object"), (AUTHORS_SHEET, "Assessors")):
        assert label in columns_of(by_calamine(path)[name])[column], name
    with zipfile.ZipFile(path) as archive:
        for part in archive.namelist():
            text = archive.read(part).decode()
            assert not re.search(r"<hyperlink[^>]* r:id|externalLink|TargetMode", text), part
            ours = r"'chart_data'![$A-Z0-9:]+|chart_data![$A-Z0-9:]+"
            assert all(re.fullmatch(ours, place) for place in re.findall(r"<c:f>(.*?)</c:f>", text)), part


def test_labels_with_characters_that_xml_cannot_hold_come_back(tmp_path: Path) -> None:
    labels = ["a\x00b", "\x1b[2J", "\x7f", "line\nbreak\r\nend", "\u202eright", " spaces ", "\U0001f600"]
    index = np.repeat(np.arange(len(labels)), 2)
    panel = eh.Panel.from_arrays(index, [0, 1] * len(labels), np.arange(index.size) ** 0.5, objects=labels)
    path = eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx")
    assert columns_of(by_calamine(path)[AUTHORS_SHEET])["Objects"][: len(labels)] == labels
    assert len(by_openpyxl(path)["objects"]) == len(labels) + 1
    panel = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1] * 2, [1, 2, 4, 3.5], objects=["\ufffe", "\uffff"])
    assert len(assert_alike(eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx"))["objects"]) == 3


def test_labels_are_kept_whole_or_refused(tmp_path: Path) -> None:
    def of(label: str) -> eh.Fit:
        return eh.calibrate(eh.Panel.from_arrays([0, 0, 1, 1], [0, 1] * 2, [1, 2, 4, 3.5], objects=[label, "y"]))

    path = eh.workbook(of("x" * 32_767), tmp_path / "r.xlsx")
    assert columns_of(assert_alike(path)["objects"])["object"][1] == "x" * 32_767
    with pytest.raises(LimitError, match="32,767 characters"):
        eh.workbook(of("x" * 32_768), tmp_path / "s.xlsx")
    with pytest.raises(InputError, match="no file can hold"):
        eh.workbook(of("\ud800"), tmp_path / "s.xlsx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.xlsx"]


def test_more_rows_than_a_sheet_has_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets_module, "_MOST_ROWS", 3)
    with pytest.raises(LimitError, match=r"^The table 'decision' is larger than a sheet") as caught:
        eh.workbook(eh.calibrate(small()), tmp_path / "r.xlsx")
    assert str(caught.value).count(".") <= 3
    monkeypatch.undo()
    for module in (workbook, decision_sheets):
        monkeypatch.setattr(module, "MOST_SCORES", 11)
    found = assert_alike(eh.workbook(eh.calibrate(small()), tmp_path / "r.xlsx"))
    assert not {"assessments", "scores"} & set(found)
    assert all(isinstance(row[6], float) for row in table_of(found["decision"])[1:])  # averages that are no formulas
    assert any("12 assessments are too many" in note for note in columns_of(found["notes"])["note"])
    assert columns_of(found[AUTHORS_SHEET])["True Value"].count(None) == 0


def test_sheets_are_made_for_reading_and_for_paper(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(eh.workbook(eh.calibrate(small()), tmp_path / "r.xlsx", top=2))
    for sheet in book:
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert [book[name].freeze_panes for name in ("decision", "scores", "biases")] == ["C5", "D5", "B5"]
    for sheet in [book[name] for name in (*SIX, AUTHORS_SHEET)]:
        assert sheet.freeze_panes in ("B2", "A2"), sheet.title
        assert sheet.page_setup.orientation == "landscape"
        assert sheet.print_title_rows == "$1:$1"
        assert all(cell.font.bold for cell in sheet[1] if cell.value)
    objects = book["objects"]
    assert objects.auto_filter.ref == "A1:M5"
    rules = {str(ranges.sqref): [rule.type for rule in ranges.rules] for ranges in objects.conditional_formatting}
    assert rules == {"B2:B5": ["dataBar"], "I2:I5": ["dataBar"]}
    assert objects["I1"].value == "p_top"
    assert objects["I2"].number_format == "0.0%"
    assert list(book["assessors"].conditional_formatting) == []  # biases have a chart, with a middle axis
    for sheet in [book[name] for name in (*SIX, AUTHORS_SHEET)]:
        # columns of the same width side by side stand as one
        groups = sheet.column_dimensions.values()
        width = {at: one.width for one in groups for at in range(one.min, one.max + 1)}
        for cell in sheet[1]:
            if cell.value:
                assert width[cell.column] >= len(cell.value)


@pytest.mark.parametrize(
    ("scale", "form"), [(1.0, "0.00"), (1e-3, "0.00000"), (1e9, "0.00E+00"), (1e-12, "0.00E+00"), (1000.0, "0.00")]
)
def test_decimals_fit_the_spread_and_all_are_stored(tmp_path: Path, scale: float, form: str) -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, np.array([6, 7, 4, 5.5, 8, 9]) * scale)
    path = eh.workbook(eh.calibrate(panel), tmp_path / "r.xlsx")
    sheet = openpyxl.load_workbook(path)["objects"]
    assert {sheet.cell(row, 2).number_format for row in (2, 3, 4)} == {form}
    found = columns_of(assert_alike(path)["objects"])["value"]
    assert sorted(found) == sorted(eh.calibrate(panel).values.estimate.tolist())


def test_one_assessor(tmp_path: Path) -> None:
    fit = eh.calibrate(eh.Panel.from_arrays([0, 1, 2], [0, 0, 0], [5.0, 7.0, 6.0]))
    found = assert_alike(eh.workbook(fit, tmp_path / "r.xlsx", top=1))
    objects = columns_of(found["objects"])
    assert objects["value"] == [7, 6, 5]
    assert objects["sd"] == [None] * 3  # the noise is not known
    assert objects["p_top"] == [None] * 3
    assert columns_of(found["notes"])["about"].count("note") >= 2


@pytest.mark.parametrize("method", ["sa", "cwa"])
def test_averages_have_no_bounds_and_say_so(tmp_path: Path, method: str) -> None:
    out = tmp_path / "r.xlsx"
    assert run("calibrate", demo_path(), "--method", method, "--out", out).exit_code == 0
    found = assert_alike(out)
    assert "bound" not in columns_of(found["objects"])
    assert found[AUTHORS_SHEET][1][7] is None
    assert "there are no bounds of robustness for averages." in columns_of(found["notes"])["note"]


def test_groups_stay_apart(tmp_path: Path) -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [1, 2, 3, 5, 1, 2, 3, 9])
    found = assert_alike(eh.workbook(eh.calibrate(panel, per_component=True), tmp_path / "r.xlsx", top=1))
    objects = columns_of(found["objects"])
    assert (objects["component"], objects["rank"]) == ([1, 1, 2, 2], [1, 2, 1, 2])
    notes = columns_of(found["notes"])["note"]
    assert "there are no bounds of robustness for a panel that is not connected." in notes
    assert found["decision"][0][0] == "No decision yet"
    table = columns_of(table_of(found["decision"]))
    assert (table["No."], table["Group"], table["Rank in it"]) == ([1, 2, 3, 4], [1, 1, 2, 2], [1, 2, 1, 2])


def test_refined_models_have_their_tables(tmp_path: Path) -> None:
    panel = random_panel(1, 12, 5, 40)
    fit = eh.refine(panel, eh.Refinements(shrink=True, scale=True))
    found = assert_alike(eh.workbook(fit, tmp_path / "r.xlsx", top=3))
    assert list(found)[:10] == [*FRONT, *SIX[:5]]
    assert list(found)[10:12] == ["variances", "scales"]
    assert list(found)[-2:] == ["notes", AUTHORS_SHEET]
    assert columns_of(found["variances"])["variance"][0] == "value_sd"
    assert None not in columns_of(found["assessments"])["fitted"]


def test_medians_have_no_uncertainties_and_say_so(tmp_path: Path) -> None:
    found = assert_alike(eh.workbook(eh.median_polish(random_panel(1, 12, 5, 40)), tmp_path / "r.xlsx", top=3))
    assert set(columns_of(found["objects"])["sd"]) == {None}
    assert [name for name in found if name in SIX] == SIX


def test_criteria_are_told_apart(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    cells = [(o, a, k) for o in range(6) for a in range(3) for k in ("merit", "style")]
    panel = eh.Panel.from_arrays(
        [o for o, _, _ in cells],
        [a for _, a, _ in cells],
        [o + a + generator.normal() for o, a, _ in cells],
        criterion=[k for *_, k in cells],
    )
    found = assert_alike(eh.workbook(eh.calibrate_criteria(panel), tmp_path / "r.xlsx", top=2))
    assert list(found) == [*FRONT, *SIX[:5], "criteria-objects", "criteria-assessors", "correlation", "notes"]
    rows = columns_of(found["criteria-objects"])
    assert rows["criterion"] == ["merit"] * 6 + ["style"] * 6
    assert rows["rank"] == [1, 2, 3, 4, 5, 6] * 2
    scores = columns_of(found["assessments"])
    assert len(scores["score"]) == 36
    assert [scores["criterion"].count(name) for name in ("merit", "style")] == [18, 18]


@pytest.mark.parametrize("command", [("compare", "--quick"), ("rank", "--top", 3), ("influence",), ("next",)])
def test_other_commands_write_workbooks_in_the_same_hand(tmp_path: Path, command: tuple[Any, ...]) -> None:
    out = tmp_path / "r.xlsx"
    result = run(command[0], demo_path(), *command[1:], "--out", out)
    assert result.exit_code == 0, result.stderr
    found = assert_alike(out)
    assert list(found)[-1] == "notes"
    assert AUTHORS_SHEET not in found
    book = openpyxl.load_workbook(out)
    assert all(book[name].page_setup.orientation == "landscape" for name in found if name not in FRONT)
    if command[0] == "rank":
        assert list(found) == [*FRONT, "objects", "notes"]
        assert columns_of(found["objects"])["rank"] == sorted(columns_of(found["objects"])["rank"])
    if command[0] == "influence":
        ours = ["assessments", "assessors", "objects", "diagnostics", "notes"]
        assert list(found) == [*FRONT[:-1], "reasons", "without", "chart_data", *ours]
    if command[0] == "next":
        assert list(found) == ["next", *FRONT, "assessments", "notes"]
    if command[0] == "compare":
        assert list(found) == ["comparison", "methods", "r2", "notes"]


def test_only_workbooks_are_written_and_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    fit = eh.calibrate(small())
    with pytest.raises(InputError, match=r"name it \.xlsx"):
        eh.workbook(fit, tmp_path / "r.csv")
    with pytest.raises(InputError, match="no directory"):
        eh.workbook(fit, tmp_path / "nowhere" / "r.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_changes_with_any_part_of_the_scores() -> None:
    panel = small()
    assert data_hash(panel) == data_hash(small())
    parts = panel.object_index, panel.assessor_index, panel.score, panel.precision
    score, precision = np.array(panel.score), np.array(panel.precision)
    score[0] = math.nextafter(score[0], 0)
    precision[0] += 1
    others = [
        eh.Panel.from_arrays(*parts[:2], score, parts[3]),
        eh.Panel.from_arrays(*parts[:3], precision),
        eh.Panel.from_arrays(*parts, objects=["ab", "c", "d", "e"]),
        eh.Panel.from_arrays(*parts, objects=["a", "bc", "d", "e"]),
        eh.Panel.from_arrays(parts[1], parts[0] * 0, *parts[2:]),
    ]
    others += [eh.Panel.from_arrays(*parts, covariates={"order": [at % k for at in range(12)]}) for k in (2, 3)]
    others.append(eh.Panel.from_arrays(*parts, criterion=["merit"] * 12))
    assert len({data_hash(one) for one in (panel, *others)}) == 9


def test_details_leave_the_summary_as_it_was() -> None:
    fit = eh.calibrate(small())
    summary = summarise_fit(fit)
    before = json.dumps(summary)
    assert {"assessments", "robustness", "fingerprint", "version"} <= set(with_details(summary, fit))
    assert json.dumps(summary) == before


def test_folded_text_has_room_and_headings_stand_over_their_numbers(tmp_path: Path) -> None:
    long = "word " * 50
    columns = [
        Column("name", ["=a", "b"]),
        Column("number", [1.5, 2]),
        Column("meaning", [long, "short"], wrap=True),
        Column("after", ["x", "y"]),
    ]
    write_sheets(tmp_path / "a.xlsx", [Sheet("s", columns), Sheet("bare", columns, has_filter=False)])
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    sheet = book["s"]
    assert sheet.row_dimensions[2].height == 45
    assert sheet.row_dimensions[3].height is None
    assert {cell.alignment.vertical for row in sheet["A2:D3"] for cell in row} == {"top"}
    headings = [(cell.alignment.horizontal, cell.alignment.indent) for cell in sheet[1]]
    assert headings == [(None, 0), ("right", 2), ("left", 1), (None, 0)]
    assert book["bare"]["B1"].alignment.indent == 0
    assert (sheet["C2"].alignment.horizontal, sheet["C2"].alignment.indent) == ("left", 1)
    assert sheet["A2"].quotePrefix


def test_columns_may_be_blank_or_of_different_length(tmp_path: Path) -> None:
    columns = [Column("x", [1, 2, None]), Column(""), Column("x", ["a"], bar="amount"), Column("z", [0.0], bar="share")]
    write_sheets(tmp_path / "a.xlsx", [Sheet("s", columns), Sheet("empty", [])])
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert [list(row) for row in book["s"].iter_rows(values_only=True)] == [
        ["x", None, "x", "z"],
        [1, None, "a", 0],
        [2, None, None, None],
    ]
    assert list(book["s"].conditional_formatting) == []
