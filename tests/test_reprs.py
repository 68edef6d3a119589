"""What notebooks show: small tables of HTML that hold the numbers, run nothing and can be read by everyone."""

from __future__ import annotations

import importlib
import pkgutil
import re
from html.parser import HTMLParser
from typing import Any

import altair as alt
import numpy as np
import pytest

import evenhand as eh
from evenhand import frames
from evenhand.answers.changing import what_would_change
from evenhand.data import demo_path
from evenhand.design.change import alternates
from evenhand.frames import MOST_ROWS, html_lines, html_table
from evenhand.words import digits_of
from panels import random_panel

EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</table>&amp;", "\u202edlrow", "a\x1b[2J\nb"]
ALLOWED = {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "p"}


class Reader(HTMLParser):
    """Reads tables, and fails on tags that are not closed or not allowed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "scope", "colspan"}
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1], data))

    def of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.seen if tag == name]


def shown() -> dict[str, Any]:
    panel = eh.read_panel(demo_path())
    fit = eh.calibrate(panel)
    return {
        "panel": panel,
        "fit": fit,
        "average": eh.simple_average(panel),
        "ranking": eh.rank(fit, top=10, seed=1, draws=500),
        "comparison": eh.compare(panel, candidates=[]),
        "design": eh.assign(40, 14, per_object=3, effort=0.05),
    }


THINGS = shown()


@pytest.mark.parametrize("name", sorted(THINGS))
def test_tables_are_whole_short_and_say_what_their_headings_head(name: str) -> None:
    text = THINGS[name]._repr_html_()
    reader = Reader(text)
    tables = text.count("<table")
    assert tables == (2 if name == "fit" else 1)
    assert len(reader.tags("caption")) == tables
    assert {attrs["scope"] for attrs in reader.tags("th")} == {"col", "row"}
    rows = sum(attrs["scope"] == "row" for attrs in reader.tags("th"))
    assert rows <= MOST_ROWS * tables
    assert len(text) < 20_000
    for word in ("color", "http", "script", "class=", "url("):
        assert word not in text


def results() -> dict[str, Any]:
    """Return a result of every kind."""
    panel = eh.read_panel(demo_path())
    fit = eh.calibrate(panel)
    ranking = eh.rank(fit, top=10, seed=1, draws=500)
    criteria = eh.Panel.from_arrays(
        np.repeat(np.arange(6), 6), [0, 0, 1, 1, 2, 2] * 6, panel.score[:36], criterion=["merit", "style"] * 18
    )
    several = eh.calibrate_criteria(criteria)
    design = eh.assign(8, 4, per_object=2, effort=0.05)
    refined = eh.refine(panel, shrink=True)
    found = [
        *(
            fit,
            fit.values,
            fit.biases,
            fit.contrast("P28", "P23"),
            what_would_change(eh.decide(ranking, 10), "P30"),
            refined,
            eh.median_polish(panel),
            several,
            several.correlation,
            ranking,
        ),
        *(eh.decide(ranking, 10), eh.decide(ranking, 10, lottery_seed=1), eh.classify(fit, [50.0, 60.0])),
        *(eh.explain(fit)[0], eh.influence(fit), eh.robustness(fit), eh.evidence(fit), eh.next_best(fit)),
        *(eh.fingerprint(fit), eh.compare(panel, candidates=[]), eh.compare(panel, candidates=[]).recommendation),
        *(eh.connectivity(panel), eh.simulate_panel(20, 4, 2, seed=1), design, eh.outlook(design, draws=2)),
        *(eh.studies.figure_1(), eh.studies.plan(9.0, n_objects=40, n_assessors=4), refined.model.tables["variances"]),
        eh.studies.simulation_study(n_objects=40, n_assessors=4, per_object=(3,), profiles=((1, 1, 1),), runs=1),
        fit.contrast("P28", "P23"),
        what_would_change(eh.decide(ranking, 10), "P30"),
        eh.declared_confidence(panel),
        eh.reliability(fit),
        eh.predict(fit, panel.to_frame()),
        alternates(design, 1),
        eh.studies.design_study(design.panel, runs=2),
    ]
    return {f"{type(one).__name__} {at}": one for at, one in enumerate(found)}


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_a_frame_fits_on_a_screen_and_shows_itself_in_notebooks(name: str) -> None:
    result = RESULTS[name]
    frame = result.to_frame()
    assert len(frame) > 0
    assert list(frame.columns) == list(result.columns())
    for text in (str(result), repr(result)):
        assert 0 < len(text.splitlines()) <= 40
        assert "array(" not in text or name.startswith("Connectivity")
    page = result._repr_html_()
    reader = Reader(page)
    assert reader.of("caption")[0][0] == reader.of("caption")[0][0].upper()
    assert sum(attrs["scope"] == "row" for attrs in reader.tags("th")) >= 1


def test_there_is_a_result_of_every_kind() -> None:
    for module in pkgutil.walk_packages(eh.__path__, "evenhand."):
        if module.name.startswith("evenhand.web."):
            continue  # which shows results, makes none, and needs Django set up on a directory
        if not module.name.endswith(("__main__", "_worker", "make_demo")):
            importlib.import_module(module.name)
    kinds, left = set(), [frames.Shown]
    while left:
        found = [kind for kind in left.pop().__subclasses__() if kind.__module__.startswith("evenhand.")]
        kinds |= {kind.__name__ for kind in found if kind.columns is not frames.Shown.columns}
        left += found
    seen = {base.__name__ for one in RESULTS.values() for base in type(one).__mro__}
    assert kinds - seen == {"DistributedFit"}  # which needs a cluster: tests/test_distributed.py


@pytest.mark.parametrize(("renderer", "options"), [("svg", {}), ("html", {"template": "inline"})])
def test_charts_can_be_shown_in_a_notebook_without_a_network(renderer: str, options: dict[str, Any]) -> None:
    chart = eh.plots.biases(THINGS["fit"])
    with alt.renderers.enable(renderer, **options):
        bundle: Any = chart._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    drawn = next(text for kind, text in shown.items() if kind in ("image/svg+xml", "text/html"))
    assert "Farouk" in drawn
    assert re.findall(r"<(?:script|link)\b[^>]*\b(?:src|href)=[^>]*>|\bimport\(.https?:", drawn) == []


def test_a_panel_shows_its_first_assessments_and_counts_the_others() -> None:
    reader = Reader(THINGS["panel"]._repr_html_())
    assert reader.of("caption") == [repr(THINGS["panel"])]
    assert "and 89 more assessments" in reader.of("td")
    assert reader.of("td")[:3] == ["Grant", "63.00", "3.06"]


def test_a_fit_shows_the_highest_values_and_the_largest_biases() -> None:
    reader = Reader(THINGS["fit"]._repr_html_())
    heads = reader.of("th")
    assert heads[:7] == ["object", "value", "sd", "lower", "upper", "scores", "rank"]
    assert heads[7] == "P28"
    assert "Farouk" in heads
    cells = reader.of("td")
    assert cells[:6] == ["85.69", "6.43", "75.12", "96.25", "2", "1"]
    assert {"+16.50", "−19.44", "2.71", "and 28 more objects"} <= set(cells)
    assert "Calibration with confidence (CWC), gauge weighted" in reader.of("caption")[0]


def test_a_ranking_and_a_comparison_show_what_their_text_shows() -> None:
    reader = Reader(THINGS["ranking"]._repr_html_())
    assert reader.of("th")[:7] == ["object", "value", "expected rank", "from", "to", "P(first)", "P(top 10)"]
    assert "500 draws (seed 1)" in reader.of("caption")[0]
    reader = Reader(THINGS["comparison"]._repr_html_())
    assert {"sa", "cwa", "iba", "cwc"} <= set(reader.of("th"))
    assert "Recommended: cwc" in reader.of("p")[0]


def test_a_design_shows_who_reads_what() -> None:
    reader = Reader(THINGS["design"]._repr_html_())
    assert reader.of("th")[:4] == ["assessor", "load", "objects", "1"]
    assert reader.of("caption")[0].startswith("120 assessments of 40 objects by 14 assessors")
    assert "and 2 more assessors" in reader.of("td")


def test_labels_and_notes_are_shown_and_never_run() -> None:
    index = np.repeat(np.arange(len(EVIL)), 2)
    panel = eh.Panel.from_arrays(
        index, [0, 1] * len(EVIL), np.arange(index.size) ** 0.5, objects=EVIL, assessors=["<b>A</b>", "B"]
    )
    fit = eh.calibrate(panel)
    design = eh.assign(EVIL, ["<b>A</b>", "B"], per_object=2)
    for thing in (panel, fit, eh.rank(fit, draws=50), eh.compare(panel, candidates=[]), design):
        text = thing._repr_html_()
        reader = Reader(text)
        assert all(char.isprintable() for char in text)
        if thing is fit:
            assert EVIL[0] in reader.of("th")
            assert "a\\x1b[2J\\nb" in reader.of("th")
    apart = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1, 2, 3], [1, 2, 3, 4.0], assessors=["<i>", "x", "y", "z"])
    assert "<i>" not in eh.calibrate(apart, per_component=True)._repr_html_()


def test_long_labels_are_shortened() -> None:
    panel = eh.Panel.from_arrays([0, 0], [0, 1], [1.0, 2.0], objects=["x" * 5000])
    assert "x" * 59 + "…" in panel._repr_html_()
    assert "x" * 60 not in panel._repr_html_()


def test_groups_unknown_noise_one_assessor_and_large_panels_are_shown() -> None:
    apart = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])
    heads = Reader(eh.calibrate(apart, per_component=True)._repr_html_()).of("th")
    assert "group" in heads
    assert "sd" not in heads
    alone = eh.Panel.from_arrays([0, 1, 2], [0, 0, 0], [5.0, 7.0, 6.0])
    assert Reader(eh.calibrate(alone)._repr_html_()).of("td")[0] == "7.00"
    large = eh.Panel.from_arrays(np.arange(10**6), np.zeros(10**6, np.int64), np.zeros(10**6))
    assert "and 999,988 more assessments" in large._repr_html_()
    refined = eh.refine(random_panel(1, 12, 5, 40), eh.Refinements(shrink=True))
    assert "pulled towards the mean" in refined._repr_html_()


def test_criteria_and_covariates_are_columns_of_a_panel() -> None:
    panel = eh.Panel.from_arrays(
        [0, 0], [0, 0], [1.0, 2.0], criterion=["merit", "style"], covariates={"order": [1, 2], "score": [5, 6]}
    )
    assert Reader(panel._repr_html_()).of("th")[:5] == ["object", "assessor", "criterion", "score", "order"]


def test_cells_of_every_kind_are_shown() -> None:
    cells: dict[str, list[Any]] = {
        "x": ["a", "b", "c", "d"],
        "y": [None, float("nan"), 1.5, -1e9],
        "z": [True, 1234, "<", None],
    }
    reader = Reader(html_table("All", cells, signed=["y"]))
    assert reader.of("td") == ["–", "True", "–", "1,234", "+1.50", "<", "−1e+09", "–"]
    assert html_lines(["a < b"]) == "<p>a &lt; b</p>"


@pytest.mark.parametrize(("count", "words"), [(13, "and 1 more row"), (14, "and 2 more rows"), (12, None)])
def test_rows_beyond_the_twelfth_are_counted(count: int, words: str | None) -> None:
    cells = Reader(html_table("Many", {"x": list(map(str, range(count))), "y": [1] * count}, count=count)).of("td")
    assert len(cells) == 12 + (words is not None)
    assert words is None or cells[-1] == words


@pytest.mark.parametrize(("numbers", "digits"), [([], 2), ([5.0], 2), ([1, 2.5], 2), ([0.1, 0.12], 4), ([0, 1e-8], 9)])
def test_decimals_tell_numbers_apart(numbers: list[float], digits: int) -> None:
    assert digits_of(numbers) == digits
