"""Pictures of a report: each mark stands where its number is on the scale that the page shows, without an engine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from browser import open_browser
from evenhand import plots
from evenhand.compiled import Floats
from evenhand.data import demo_path
from evenhand.models.fit import Fit
from evenhand.models.refined import Refinements
from evenhand.panel.panel import Panel
from evenhand.plots.links import links_between
from evenhand.reports import charts
from evenhand.reports.page import make_report, render
from evenhand.solve.connectivity import assessor_graph

LONG = (
    "Bartholomew Featherstonehaugh-Cholmondeley III",
    "فاطمة الزهراء",
    "李小龍",
    "<script>alert(1)</script>",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk",
    "👩‍🔬 & co",
)


FREE = Refinements(shrink=True, power="estimated")
"""Confidence counts as much as the scores say."""


@cache
def demo() -> Fit:
    return eh.calibrate(eh.read_panel(demo_path()))


@cache
def page_of_demo() -> str:
    return render(make_report(demo(), top=10, candidates=()))


@cache
def hostile() -> Fit:
    panel = eh.simulate_panel(12, 6, 3, seed=3).panel
    return eh.calibrate(Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, assessors=LONG))


def figure(page: str, name: str) -> str:
    """Return one picture of a page."""
    found = re.search(rf'<figure class="of-{name}">.*?</figure>', page, re.DOTALL)
    assert found is not None, name
    return found[0]


def planes(drawn: str) -> list[str]:
    return re.findall(r'<div class="plane">.*?</svg></svg>', drawn, re.DOTALL)


def numbers(ticks: list[tuple[str, str]]) -> tuple[Floats, Floats]:
    """Return where ticks stand, in percent, and their numbers as people read them."""
    places, words = zip(*ticks, strict=True)
    return np.array(places, dtype=float), np.array([float(word.replace("−", "-").replace(",", "")) for word in words])


def points(plane: str) -> Floats:
    """Return the points of a plane, read off against the ticks that stand beside it (count x 2)."""
    across = re.findall(r'<text x="([\d.]+)%" y="100%"[^>]*>([^<]+)<', plane)
    up = re.findall(r'<text x="0" dx="-7" y="([\d.]+)%"[^>]*>([^<]+)<', plane)
    path = re.search(r'<path class="points[^"]*" d="([^"]+)"', plane)
    assert path is not None
    places = np.array(re.findall(r"M(\d+) (\d+)h0", path[1]), dtype=float) / 10
    return np.stack(
        [
            np.polyval(np.polyfit(*numbers(ticks), 1), along)
            for ticks, along in zip((across, up), places.T, strict=True)
        ],
        axis=1,
    )


def assert_drawn(plane: str, x: Floats, y: Floats) -> None:
    """Check that points of a plane and pairs of numbers are the same, to a step of the path."""
    found, wanted = points(plane), np.stack([x, y], axis=1)
    step = 1.3 * np.ptp(wanted, axis=0) / 1000
    off = np.abs(found[:, None] - wanted[None]) / step
    assert off.max(axis=2).min(axis=0).max() < 1
    assert off.max(axis=2).min(axis=1).max() < 1


def scale(table: str) -> np.poly1d:
    """Return what a place in percent means along the scale above the rows of a table."""
    return np.poly1d(np.polyfit(*numbers(re.findall(r'<text x="([\d.]+)%" y="12"[^>]*>([^<]+)<', table)), 1))


def body_rows(table: str) -> list[str]:
    return re.findall(r"<tr class.*?</tr>", table, re.DOTALL)


# --- places --------------------------------------------------------------------------------------


def test_residuals_stand_where_they_are() -> None:
    (plane,) = planes(figure(page_of_demo(), "residuals"))
    fit = demo()
    assert_drawn(plane, fit.fitted, fit.panel.score - fit.fitted)


def test_bars_of_residuals_reach_from_quartile_to_quartile() -> None:
    drawn, fit = figure(page_of_demo(), "residuals"), demo()
    meaning, rows = scale(drawn), body_rows(drawn)
    assert len(rows) == fit.panel.n_assessors
    residual = fit.panel.score - fit.fitted
    for row in rows:
        who = re.search(r'<th scope="row" title="([^"]+)"', row)
        bar = re.search(r'<rect class="soft" x="([\d.]+)%" width="([\d.]+)%"', row)
        tick = re.search(r'<line class="tick" x1="([\d.]+)%"', row)
        line = re.search(r'<line class="reach" x1="([\d.]+)%" x2="([\d.]+)%"', row)
        assert who is not None
        assert bar is not None
        assert tick is not None
        assert line is not None
        own = residual[fit.panel.assessor_index == list(fit.panel.assessors).index(who[1])]
        low, lower, middle, upper, high = np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95])
        begin, width = float(bar[1]), float(bar[2])
        found = [meaning(at) for at in (float(line[1]), begin, float(tick[1]), begin + width, float(line[2]))]
        assert found == pytest.approx([low, lower, middle, upper, high], abs=0.02)


def test_pulls_are_those_of_influence_as_bars_and_as_points() -> None:
    drawn, fit = figure(page_of_demo(), "influence"), demo()
    table = eh.influence(fit).columns()
    pull, error = (np.array(table[name], dtype=float) for name in ("pull", "held_out_error"))
    (plane,) = planes(drawn)
    assert_drawn(plane, error, pull)
    meaning, order = scale(drawn), np.argsort(-np.abs(pull), kind="stable")[:20]
    rows = body_rows(drawn)
    for row, at in zip(rows, order.tolist(), strict=True):
        bar = re.search(r'<rect class="soft" x="([\d.]+)%" width="([\d.]+)%"', row)
        assert bar is not None
        ends = sorted((0.0, pull[at]))
        assert [meaning(float(bar[1])), meaning(float(bar[1]) + float(bar[2]))] == pytest.approx(ends, abs=0.03)
        assert f'title="{table["assessor"][at]} on {table["object"][at]}"' in row


def test_methods_are_set_against_the_one_used_on_one_scale_for_both() -> None:
    fit = demo()
    report = make_report(fit, top=10, candidates=())
    drawn = planes(figure(render(report), "methods"))
    others = [eh.simple_average(fit.panel), eh.weighted_average(fit.panel), eh.incomplete_block(fit.panel)]
    by_name = {other.name: other.values.estimate for other in others}
    names = [re.findall(r"<p>([^<]+)</p>", plane)[-1] for plane in drawn]
    assert set(by_name) <= set(names)
    for plane, name in zip(drawn, names, strict=True):
        if name in by_name:
            assert_drawn(plane, fit.values.estimate, by_name[name])
        assert '<line class="equal" x1="0" x2="100%" y1="100%" y2="0"/>' in plane


def test_spread_has_a_row_for_each_level_with_what_was_declared() -> None:
    drawn = figure(render(make_report(demo(), top=10, comparison=False)), "confidence")
    found = plots.confidence(demo()).to_dict()
    (data,) = (rows for rows in found["datasets"].values() if "actual" in rows[0])
    meaning = scale(drawn)
    for row, wanted in zip(body_rows(drawn), data, strict=True):
        dot, tick = re.search(r'class="dot" cx="([\d.]+)%"', row), re.search(r'class="tick" x1="([\d.]+)%"', row)
        assert dot is not None
        assert tick is not None
        assert f'title="{wanted["name"]}"' in row
        assert meaning(float(dot[1])) == pytest.approx(wanted["actual"], abs=0.02)
        assert meaning(float(tick[1])) == pytest.approx(wanted["declared"], abs=0.02)


def test_where_scores_scatter_as_declared_that_lies_within_nine_bars_in_ten() -> None:
    """By residuals of a fit without confidence the bars of all levels would come to the same."""
    inside = []
    for seed in range(8):
        spread: Any = {"bounds": None, "step": None, "uncertainties": (4.0, 8.0, 14.0)}
        panel = eh.simulate_panel(80, 12, 4, seed=seed, **spread).panel
        compared = eh.compare(panel, candidates=[Refinements(shrink=True, power=0.0), FREE])
        (drawn,) = charts.confidence(eh.calibrate(panel), compared).panels
        assert isinstance(drawn, charts.Bars)
        for row in drawn.rows:
            assert row.bar is not None
            assert row.tick is not None
            inside.append(row.bar[0] <= row.tick <= row.bar[1])
    assert np.mean(inside) >= 0.85


def test_the_finding_on_methods_is_of_those_drawn() -> None:
    fit = eh.calibrate(demo().panel, shrink=True, tails="student")
    compared = eh.compare(fit.panel, candidates=[Refinements(shrink=True), Refinements(shrink=True, tails="student")])
    found = charts.methods(compared, fit)
    assert found.title == (
        "Of these methods simple averaging agrees least with the method used (R² 0.51), “calibration with confidence, "
        "pulled towards the mean” most (R² 0.98)"
    )
    complete = Panel.from_arrays(
        np.repeat(np.arange(4), 3), [0, 1, 2] * 4, [62.0, 58, 70, 71, 66, 75, 55, 49, 68, 80, 70, 83]
    )
    same = charts.methods(eh.compare(complete, candidates=[]), eh.calibrate(complete)).title
    assert same == "Calibration and simple averaging give the same values"


def test_links_join_those_who_share_work_and_the_widest_share_most() -> None:
    drawn, panel = figure(page_of_demo(), "assessor-graph"), demo().panel
    pattern = r'<svg x="([\d.]+)%" y="([\d.]+)%"><title>([^<]+)<'
    where = {(x, y): list(panel.assessors).index(who) for x, y, who in re.findall(pattern, drawn)}
    assert len(where) == panel.n_assessors
    ends = r'class="link" x1="([\d.]+)%" y1="([\d.]+)%" x2="([\d.]+)%" y2="([\d.]+)%" stroke-width="([\d.]+)"'
    shared = {}
    for x1, y1, x2, y2, width in re.findall(ends, drawn):
        pair = where[x1, y1], where[x2, y2]
        one, two = (set(panel.object_index[panel.assessor_index == at].tolist()) for at in pair)
        shared[tuple(sorted(pair))] = (len(one & two), float(width))
    dense = assessor_graph(panel).toarray()
    assert set(shared) == {(a, b) for a, b in zip(*np.nonzero(np.triu(dense, 1)), strict=True)}
    counts, widths = np.array(list(shared.values())).T
    assert widths == pytest.approx(0.5 + 6.5 * counts / counts.max(), abs=0.01)


def test_of_thousands_of_residuals_every_one_lies_in_a_cell() -> None:
    fit = eh.calibrate(eh.simulate_panel(1200, 40, 3, seed=5).panel)
    plane = charts.residuals(fit).panels[0]
    assert isinstance(plane, charts.Plane)
    assert not plane.points
    boxes = [
        [int(one) for one in corner]
        for _, path in plane.cells
        for corner in re.findall(r"M(\d+) (\d+)H(\d+)V(\d+)H\d+z", path)
    ]
    left, low, right, high = np.array(boxes).T  # rows grow downwards
    x = 1000 * (fit.fitted - plane.across.low) / (plane.across.high - plane.across.low)
    y = 1000 - 1000 * (fit.panel.score - fit.fitted - plane.up.low) / (plane.up.high - plane.up.low)
    inside = (x[:, None] >= left - 1) & (x[:, None] <= right + 1) & (y[:, None] <= low + 1) & (y[:, None] >= high - 1)
    assert inside.any(axis=1).all()
    assert len(boxes) < 1600


# --- words ---------------------------------------------------------------------------------------


def test_a_report_says_of_a_picture_what_its_chart_says() -> None:
    fit = demo()
    compared = eh.compare(fit.panel, candidates=())
    pairs = [
        (charts.residuals(fit), plots.residuals(fit)),
        (charts.influence(fit), plots.influence(fit)),
        (charts.methods(compared, fit), plots.methods(compared, fit)),
        (charts.confidence(fit, None), plots.confidence(fit)),
        (charts.assessor_graph(fit), plots.assessor_graph(fit.panel)),
    ]
    for drawn, chart in pairs:
        assert drawn.title == " ".join(chart.to_dict()["title"]["text"])
        assert drawn.title in drawn.words
        assert drawn.notes


def test_spread_by_assessor_names_those_at_the_ends_and_who_is_left_out() -> None:
    panel = eh.simulate_panel(400, 50, 4, seed=2).panel
    sure = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, np.ones(panel.n_assessments))
    (drawn,) = charts.confidence(eh.calibrate(sure), None).panels
    assert isinstance(drawn, charts.Bars)
    assert len(drawn.rows) == 41
    assert drawn.rows[20].name == "… 10 between …"
    assert drawn.mark == 1.0
    assert {row.side for row in drawn.rows} <= {"more", "other", "less"}


def test_of_long_names_a_list_stands_below_the_circle() -> None:
    (circle,) = charts.assessor_graph(hostile()).panels
    assert isinstance(circle, charts.Circle)
    assert circle.is_numbered
    assert [node.name for node in circle.nodes] == [str(at) for at in range(1, 7)]
    assert {node.title for node in circle.nodes} == set(LONG)
    drawn = figure(render(make_report(hostile(), comparison=False)), "assessor-graph")
    listed = unescape(re.sub(r"<[^>]+>", "", drawn[drawn.index('<ol class="keys">') :]))
    assert all(name.split()[0] in listed.replace("\u2068", "") for name in LONG)
    assert "<script>" not in drawn


def test_groups_have_shapes_and_a_weak_link_is_marked() -> None:
    apart = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], np.arange(8.0))
    (circle,) = charts.assessor_graph(eh.calibrate(apart, per_component=True)).panels
    assert isinstance(circle, charts.Circle)
    assert [words for _, words in circle.legend] == ["group 1", "group 2"]
    assert len({node.shape for node in circle.nodes}) == 2
    thread = Panel.from_arrays([0, 0, 1, 1, 1, 2, 2], [0, 1, 0, 1, 2, 2, 3], np.arange(7.0))
    fit = eh.calibrate(thread)
    (circle,) = charts.assessor_graph(fit).panels
    assert isinstance(circle, charts.Circle)
    found = links_between(thread, fit.connectivity)
    assert sum(link[-1] for link in circle.links) == found.weak.sum() > 0


# --- the page ------------------------------------------------------------------------------------


def test_a_report_of_100_objects_is_small_and_starts_no_chart_engine(tmp_path: Path) -> None:
    panel = eh.simulate_panel(100, 15, 3, seed=1).panel
    rows = zip(panel.object_index, panel.assessor_index, panel.score, strict=True)
    text = "object,assessor,score\n" + "".join(f"O{o},A{a},{s}\n" for o, a, s in rows)
    (tmp_path / "scores.csv").write_text(text, encoding="utf-8")
    code = (
        "import sys\nfrom evenhand.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "report", "scores.csv", "--top", "20", "-o", "page.html"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 2_000_000
    for name in ("assessor-graph", "residuals", "influence", "methods"):
        assert figure(page, name)


def test_drawings_have_no_colours_and_no_styles_of_their_own() -> None:
    for name in ("assessor-graph", "residuals", "influence", "methods", "confidence"):
        drawn = figure(page_of_demo(), name)
        assert not re.search(r"style=|#[0-9A-Fa-f]{6}\b|<style", drawn)
        assert re.search(r'<div class="panels [\w-]+" role="group" aria-label="[^"]{40,}"', drawn)
        assert not re.search(r'<svg class="drawing"(?![^>]*(?:aria-label="[^"]+"|aria-hidden="true"))', drawn)


COVERED = """() => {
    const found = [];
    for (const drawing of document.querySelectorAll("figure[class^=of-] .panels > *")) {
        const every = [...drawing.querySelectorAll("text, p, th, .legend span, li")];
        const texts = every.filter((one) => one.textContent.trim());
        const seen = (text) => {  // what is cut off is not seen
            const range = document.createRange();
            range.selectNodeContents(text);
            let { left, right, top, bottom } = range.getBoundingClientRect();
            for (let up = text.parentElement; up !== drawing; up = up.parentElement)
                if (getComputedStyle(up).overflowX === "hidden") {
                    const room = up.getBoundingClientRect();
                    [left, right] = [Math.max(left, room.left), Math.min(right, room.right)];
                }
            return { left, right, top, bottom };
        };
        const boxes = texts.map((one) => {
            if (one.tagName === "text") return [one.getBoundingClientRect(), one];
            const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), parts = [];
            while (walker.nextNode()) if (walker.currentNode.textContent.trim()) parts.push(seen(walker.currentNode));
            const most = (side) => Math.max(...parts.map((part) => part[side]));
            const least = (side) => Math.min(...parts.map((part) => part[side]));
            return [{ left: least("left"), right: most("right"), top: least("top"), bottom: most("bottom") }, one];
        });
        for (const [box, one] of boxes) {
            if (parseFloat(getComputedStyle(one).fontSize) < 12) found.push("small: " + one.textContent);
            if (box.left < -1 || box.right > innerWidth + 1) found.push("beyond: " + one.textContent);
        }
        for (let a = 0; a < boxes.length; a++) for (let b = a + 1; b < boxes.length; b++) {
            const [p, one] = boxes[a], [q, two] = boxes[b];
            if (one.contains(two) || two.contains(one)) continue;
            const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (wide > 1 && high > 3) found.push(one.textContent + " / " + two.textContent);
        }
    }
    return found;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "hostile", "many assessors", "tiny scores"])
def test_no_words_of_a_picture_cover_others_on_any_screen(name: str, tmp_path: Path) -> None:
    fits: dict[str, Callable[[], Fit]] = {
        "demo": demo,
        "hostile": hostile,
        "many assessors": lambda: eh.calibrate(eh.simulate_panel(60, 20, 3, seed=8).panel),
        "tiny scores": lambda: eh.calibrate(
            Panel.from_arrays(np.arange(36) // 4, np.arange(36) % 4, np.random.default_rng(1).normal(0, 1e-3, 36))
        ),
    }
    path = tmp_path / "report.html"
    eh.report(fits[name](), path, top=2, comparison=name == "demo")
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for width in (320, 390, 768, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(COVERED) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
