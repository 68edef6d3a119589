"""Reports on paper: what the panel fills in, the annex, and sheets that hold what they are said to hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from browser import open_browser
from evenhand import Panel
from evenhand.data import demo_path
from evenhand.reports.page import make_report, render
from evenhand.words import number


def slipped() -> Panel:
    """Return a simulated panel in which one score is mistyped."""
    panel = eh.simulate_panel(20, 6, 3, seed=8).panel
    score = np.round(panel.score)
    score[11] = 6000.0
    return Panel.from_arrays(panel.object_index, panel.assessor_index, score)


def long_names() -> Panel:
    """Return a panel whose objects have names of up to eighty characters."""
    panel = eh.simulate_panel(14, 6, 3, seed=3).panel
    names = [f"{'A comparative history of water works in harbour towns, ' * (1 + at % 2)}{at}" for at in range(14)]
    return Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, objects=names)


def crowded() -> Panel:
    """Return a panel of three hundred objects on which much is to be checked."""
    panel = eh.simulate_panel(300, 40, 3, seed=11).panel
    return Panel.from_arrays(panel.object_index, panel.assessor_index, np.round(panel.score))


def complete() -> Panel:
    """Return four objects that three assessors scored, far apart."""
    return Panel.from_arrays(np.repeat(range(4), 3), [0, 1, 2] * 4, [71, 60, 80, 61, 52, 73, 78, 66, 89, 50, 43, 61.0])


def apart() -> Panel:
    """Return two groups that share nobody."""
    one, two = eh.simulate_panel(7, 4, 2, seed=3).panel, eh.simulate_panel(6, 4, 2, seed=4).panel
    return Panel.from_arrays(
        [*one.object_index, *(two.object_index + 7)],
        [*one.assessor_index, *(two.assessor_index + 4)],
        [*one.score, *two.score],
    )


ANNEX = '<table class="ranks whole-table'
"""How the table of the annex begins."""

PAGES: dict[str, Any] = {
    "demo": lambda: make_report(eh.calibrate(eh.read_panel(demo_path())), top=10),
    "refined": lambda: make_report(eh.refine(eh.read_panel(demo_path()), shrink=True), top=10, comparison=False),
    "slipped": lambda: make_report(eh.calibrate(slipped()), top=5, comparison=False),
    "long names": lambda: make_report(eh.calibrate(long_names()), top=4),
    "complete": lambda: make_report(eh.calibrate(complete()), top=2),
    "apart": lambda: make_report(eh.calibrate(apart(), per_component=True), top=4),
    "crowded": lambda: make_report(eh.calibrate(crowded()), top=50),
    "many": lambda: make_report(eh.calibrate(eh.simulate_panel(200, 30, 2, seed=1).panel), top=60, comparison=False),
}


def form_in(page: str) -> str:
    """Return what the panel fills in on a page, as text with a square for a box and a line for a blank."""
    found = page[page.index('<div class="paper form">') : page.index('<section id="objects"')]
    marked = found.replace('<i class="box"></i>', "□").replace("<span></span>", "____")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", marked.replace('<span class="short"></span>', "____")))


def test_the_panel_ticks_the_method_where_the_scores_support_another() -> None:
    report = PAGES["demo"]()
    page = render(report)
    assert report.supported.method != report.fit.method
    said = form_in(page)
    assert "By signing, the panel decides by the method of this report." in said
    assert "To use the other method, print and sign its own report (command in annex C)." in said
    evidence = page[page.index('id="evidence"') : page.index('id="record"')]
    assert "<span>FILE</span> <span>shrink=True</span></code> uses it" in evidence
    assert "shrink=True" not in said
    assert "7 open places tick who gets them, under Open above" in said
    assert 'id="decision" aria-label="Decision" class="ticking"' in page
    assert "By signing" not in form_in(render(PAGES["refined"]()))


def test_under_a_stop_the_panel_writes_what_it_resolves() -> None:
    said = form_in(render(PAGES["slipped"]()))
    assert "gave object 3 a score of 6000. □ right as entered □ should be ____ □ left out asked by ____" in said
    assert "Resolved, for the panel" in said
    said = form_in(render(PAGES["apart"]()))
    assert "□ Wait until a further score joins the groups" in said
    assert "□ Divide the 4 places, within a group by rank unless others are named:" in said
    assert "named: group 1 ____ of the places, to ____ group 2 ____ of the places, to ____ Because" in said
    assert "Because ____" in said


def test_nothing_is_asked_where_nothing_is_open() -> None:
    report = PAGES["complete"]()
    assert not report.verdict.undecided
    said = form_in(render(report)).strip()
    assert said == "Decided, for the panel Signature Date"


def test_those_who_compete_are_ticked_where_they_stand_on_the_first_sheet_or_in_the_annex() -> None:
    report = PAGES["long names"]()
    page = render(report)
    assert re.search(r"\d open places? tick who gets (it|them), under Open above", form_in(page))
    assert 'id="decision" aria-label="Decision" class="ticking"' in page
    listed = page[page.index('<ul class="names" data-of="Open">') :]
    titles = re.findall(r'<li title="([^"]*)"', listed[: listed.index("</ul>")])
    assert titles == list(report.verdict.undecided)
    many = PAGES["many"]()
    page = render(many)
    assert len(many.verdict.undecided) > 48
    left, competing = many.verdict.left, len(many.verdict.undecided)
    asked = f"tick {left} of the {competing} boxes beside Open in annex A; ticked in all ____"
    assert f"{left} open places {asked}" in form_in(page)
    annex = page[page.index(ANNEX) : page.index('id="assessors"')]
    assert annex.count('<i class="box"></i>') == len(many.verdict.undecided)


def test_the_annex_has_boxes_to_tick_though_the_first_sheet_has_every_row() -> None:
    panel = eh.simulate_panel(14, 6, 2, seed=4).panel
    names = [f"A comparative history of water works {at}" for at in range(14)]
    score = 60 + np.random.default_rng(4).normal(0, 10, panel.n_assessments)
    noise = Panel.from_arrays(panel.object_index, panel.assessor_index, score, objects=names)
    report = make_report(eh.calibrate(noise), top=7, comparison=False)
    assert report.verdict is not None
    page = render(report)
    first = page[page.index('<section id="ranks"') : page.index('<div class="paper form">')]
    assert all(first.count(f">{one.place}</td>") for one in report.verdict.standings)
    assert "annex has them" not in first
    assert "boxes beside Open in annex A" in form_in(page)
    annex = page[page.index(ANNEX) : page.index('id="assessors"')]
    assert annex.count('<i class="box"></i>') == len(report.verdict.undecided) > 10


@pytest.mark.parametrize("name", ["demo", "slipped", "long names", "many"])
def test_the_annex_has_every_object_with_chance_status_and_the_line(name: str) -> None:
    report = PAGES[name]()
    page = render(report)
    annex = page[page.index(ANNEX) : page.index('id="assessors"')]
    above, below = annex.split('class="cutline t"')
    standings = report.verdict.standings
    for part, wanted in ((above, standings[: report.verdict.places]), (below, standings[report.verdict.places :])):
        rows = re.findall(r'<tr class="is-(\w+).*?<td class="r">(\d+)</td>.*?<td class="move">', part, flags=re.S)
        assert rows == [(one.status, str(one.place)) for one in wanted]
    drawn, written = annex.count('class="dot"'), re.findall(r"<td>([\d.]+) to ([\d.]+)</td>", annex)
    assert (drawn, len(written)) == ((0, len(standings)) if name == "long names" else (len(standings), 0))
    for one in standings:  # the move leads from the plain average, which stands beside it
        assert f'<td class="r">{number(one.average, 1)}</td>' in annex


def test_the_annex_marks_who_has_a_place_by_value_alone_and_who_by_plain_average_alone() -> None:
    report = PAGES["many"]()
    page = render(report)
    annex = page[page.index(ANNEX) : page.index('id="assessors"')]
    averages = {one.object: one.average for one in report.verdict.standings}
    last = sorted(averages.values())[-60]
    taken = [one.object for one in report.verdict.standings[:60] if averages[one.object] < last - 1e-9]
    assert len(taken) > 6  # more than a sentence names
    rows = re.findall(r'<tr class="is-\w+[^"]* taken">.*?<bdi>([^<]*)</bdi>', annex)
    assert rows == taken
    assert re.search(r"Annex A marks (them|the other \d+) by ▼\.", page)


def test_the_annex_of_a_panel_in_which_nothing_moved_has_its_scores() -> None:
    page = render(PAGES["complete"]())
    assert ANNEX not in page
    assert "No object moved: each value is its plain average" in page
    given = page[page.index('<table class="given">') : page.index('id="assessors"')]
    scores = re.findall(r"&nbsp;(\d+)", given)
    assert sorted(map(int, scores)) == sorted(complete().score.tolist())


def test_a_sheet_of_a4_has_more_rows_than_one_of_letter_and_says_of_either_what_is_left_out() -> None:
    report = PAGES["demo"]()
    table = render(report)
    table = table[table.index('<section id="ranks"') : table.index('<div class="paper form">')]
    printed, higher = table.split('<div class="screen taller">')
    low = max(map(int, re.findall(r'<td class="p r">(\d+)', printed)))
    high = max(map(int, re.findall(r'<td class="p r">(\d+)', higher[: higher.index("</table>")])))
    assert low < high < len(report.verdict.standings)
    assert f'low-sheet">Ranks {low + 1} to 40 are' in higher
    assert f'high-sheet">Ranks {high + 1} to 40 are' in higher


def test_degrees_of_freedom_of_a_shrunk_fit_are_scores_less_leverages() -> None:
    report = PAGES["refined"]()
    panel, chosen = report.fit.panel, report.fit.model.behind.best.setting
    design = np.zeros((panel.n_assessments, panel.n_objects + panel.n_assessors))
    design[np.arange(panel.n_assessments), panel.object_index] = 1
    design[np.arange(panel.n_assessments), panel.n_objects + panel.assessor_index] = 1
    prior = [*[chosen.value_ratio] * panel.n_objects, *[chosen.bias_ratio] * panel.n_assessors]
    mean = np.ones((panel.n_assessments, 1))
    noise = np.diag(1 / panel.precision)
    inverse = np.linalg.inv(design @ np.diag(prior) @ design.T + noise)
    left = noise @ (inverse - inverse @ mean @ np.linalg.inv(mean.T @ inverse @ mean) @ mean.T @ inverse)
    assert f"with {number(np.trace(left), 1)} effective degrees of freedom left" in render(report)


def test_where_objects_are_many_every_annex_has_its_pages_and_a_head_that_names_it() -> None:
    page = render(PAGES["many"]())
    heads = {
        "every": "annex A, all objects",
        "assessors": "annex B to D",
        "evidence": "annex B to D",
        "record": "annex B to D",
    }
    at = page.index('id="decision"')
    for section, words in heads.items():
        head = re.search(rf'@page annex-{section} {{ @top-left {{ content: "([^"]*)"', page)
        assert head
        assert re.sub(r"\\([0-9a-f]+) ", lambda code: chr(int(code[1], 16)), head[1]).endswith(f", {words}")
        assert f"#{section} {{ page: annex-{'every' if section == 'every' else 'assessors'}; }}" in page
        at = page.index(f'<section id="{section}"', at)  # in the order of the letters
    assert "page: annex-" not in render(PAGES["demo"]())


def assert_sheets(written: str, path: Path, most: int) -> None:
    """Assert that the first sheet holds the decision and the signature, and that there are no more than so many."""
    path.write_text(written, encoding="utf-8")
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        # what the margins leave of A4 and of letter, and how high a sheet is, at 96 to an inch
        for width, height, sheet in ((680, 1016, 1122), (703, 950, 1056)):
            page.set_viewport_size({"width": width, "height": sheet})
            for wider in ("0.026em", "0"):  # as fonts are whose letters are a twentieth wider
                page.add_style_tag(content=f"body {{ letter-spacing: {wider}; }}")
                assert page.locator("#decision").bounding_box()["height"] <= height
            assert page.locator("#decision .sign-off").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for paper in ("A4", "Letter"):
            assert len(re.findall(rb"/Type /Page\b(?!s)", page.pdf(format=paper))) <= most


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_first_sheet_holds_the_decision_and_the_signature(name: str, tmp_path: Path) -> None:
    most = {"complete": 2, "apart": 4, "many": 14, "crowded": 16}.get(name, 8)
    assert_sheets(render(PAGES[name]()), tmp_path / "report.html", most)


@pytest.mark.slow
def test_the_first_sheet_has_fewer_rows_below_the_line_where_much_is_said_above(
    shared_data: Path, tmp_path: Path
) -> None:
    report = make_report(eh.calibrate(eh.read_panel(shared_data / "case_study_2_scores.csv")), top=10)
    assert len(report.alerts) == 3
    assert report.verdict is not None
    written = render(report)
    assert_sheets(written, tmp_path / "report.html", 6)
    note = report.verdict.uneven_words()
    first, annex = written.split(ANNEX)[0].split('<section id="every"')
    assert note
    assert f'<p class="under screen">{note}</p>' in first  # whom it names the annex has
    assert f'<p class="under">{note}</p>' in annex


@pytest.mark.slow
def test_on_paper_names_stand_in_columns_and_no_drawing_crosses_the_parts_of_a_move(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(PAGES["demo"]()), encoding="utf-8")
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 703, "height": 1056})
        left = page.evaluate(
            """[...document.querySelectorAll("#decision .is-undecided .names li")]
                .map(one => one.getBoundingClientRect()).map(at => [Math.round(at.left), Math.round(at.top)])"""
        )
        lines = [[x for x, y in left if y == line] for line in dict.fromkeys(y for _, y in left)]
        assert len(lines) > 1
        assert all(line == lines[0][: len(line)] for line in lines)
        crossed = page.evaluate(
            """[...document.querySelectorAll(".whole-table .first-line")].filter(row => {
                const drawing = row.querySelector("td.g svg");
                const inset = getComputedStyle(drawing).clipPath.match(/-?[\\d.]+(?=px)/g);
                const below = inset[2] ?? inset[0];
                const words = document.createRange();
                words.selectNodeContents(row.nextElementSibling.querySelector(".parts"));
                return drawing.getBoundingClientRect().bottom - below > words.getBoundingClientRect().top + 2;
            }).length"""
        )
        assert crossed == 0
        assert page.locator(".whole-table .first-line").count() == 40


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "long names", "many", "apart"])
def test_the_first_head_of_the_annex_does_not_say_that_it_goes_on(name: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(PAGES[name]()), encoding="utf-8")
    met = """() => {
        const head = document.querySelector(".whole-table thead .o");
        head.scrollIntoView({block: "center"});
        const at = head.getBoundingClientRect();
        const lines = document.createRange();
        lines.selectNodeContents(head);
        const word = lines.getBoundingClientRect();
        const above = document.elementFromPoint(at.left + 8, word.top - 5);
        const below = document.elementFromPoint(at.left + 8, (word.top + word.bottom) / 2 + 1);
        const hidden = [...document.querySelectorAll(".whole-table thead th:not(.o, .g)")].filter(one => {
            lines.selectNodeContents(one);
            const [first] = lines.getClientRects();
            return !one.contains(document.elementFromPoint(first.left + first.width / 2, first.top + 3));
        });
        const said = getComputedStyle(head, "::before").content;
        return [said, head.contains(above), head.contains(below), hidden.map(one => one.textContent)];
    }"""
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        for width, sheet in ((680, 1122), (703, 1056)):
            page.set_viewport_size({"width": width, "height": sheet})
            said, is_seen, is_named, hidden = page.evaluate(met)
            assert "continued" in said
            assert (is_seen, is_named) == (False, True)  # the line is covered, the heading below it is not
            assert hidden == []
