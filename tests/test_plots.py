"""Pictures show the numbers of the fit, in order, with words for those who cannot see them, for every kind of panel."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert as vlc

import evenhand as eh
from browser import open_browser
from evenhand import plots
from evenhand.data import demo_path
from evenhand.errors import InputError, NotRankableError
from evenhand.look import LIGHT, STATUS
from evenhand.models.fit import Fit, method_name
from evenhand.panel.panel import Panel
from evenhand.plots import labels, studies, style
from evenhand.solve.connectivity import assessor_graph
from evenhand.studies.printed import GRAPHS
from panels import panel_of, random_panel

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--",
    "datum.x",
    "__proto__",
    "constructor",
    "a\nb\x00c\x1b[31m",
    "\"quoted\" & 'single'",
    "=1+1",
    "https://example.org/x",
    "2020-01-01",
    "\u202eright to left",
    "日本語 🎉 " + "long " * 50,
)


@cache
def small() -> Panel:
    return eh.simulate_panel(10, 4, 3, seed=1).panel


@cache
def large() -> Panel:
    return eh.simulate_panel(1000, 40, 4, seed=2).panel


@cache
def apart() -> Panel:
    edges = [(o, a) for o in range(6) for a in range(3)] + [(o, a) for o in range(6, 10) for a in (3, 4)]
    score = np.random.default_rng(3).normal(60, 10, len(edges)).round()
    return panel_of(edges, score.tolist())


@cache
def alone() -> Panel:
    return panel_of([(o, 0) for o in range(6)], [50.0, 61.0, 42.0, 77.0, 58.0, 66.0])


@cache
def hostile() -> Panel:
    plain = random_panel(4, len(HOSTILE), 5, 30)
    return Panel.from_arrays(
        plain.object_index,
        plain.assessor_index,
        plain.score,
        plain.precision,
        objects=HOSTILE,
        assessors=HOSTILE[:5],
    )


PANELS: dict[str, Callable[[], Panel]] = {
    "small": small,
    "large": large,
    "apart": apart,
    "alone": alone,
    "hostile": hostile,
}


@cache
def fit_of(kind: str) -> Fit:
    return eh.calibrate(PANELS[kind](), per_component=True)


@cache
def average_of(kind: str) -> Fit:
    return eh.simple_average(PANELS[kind]())


@cache
def ranking_of(kind: str) -> eh.Ranking:
    return eh.rank(fit_of(kind), top=3, draws=1000, seed=5)


CHARTS: dict[str, Callable[[str], Any]] = {
    "values": lambda kind: plots.values(fit_of(kind)),
    "biases": lambda kind: plots.biases(fit_of(kind)),
    "top": lambda kind: plots.top(ranking_of(kind)),
    "rankogram": lambda kind: plots.rankogram(ranking_of(kind)),
    "graph": lambda kind: plots.graph(PANELS[kind]()),
    "assessor_graph": lambda kind: plots.assessor_graph(PANELS[kind]()),
    "design": lambda kind: plots.design(PANELS[kind]()),
    "residuals": lambda kind: plots.residuals(fit_of(kind)),
    "influence": lambda kind: plots.influence(fit_of(kind)),
    "confidence": lambda kind: plots.confidence(fit_of(kind)),
    "methods": lambda kind: plots.methods(average_of(kind), fit_of(kind)),
    "bland_altman": lambda kind: plots.bland_altman(average_of(kind), fit_of(kind)),
}
REFUSED = {(name, kind) for name in ("top", "rankogram") for kind in ("apart", "alone")}
REFUSED |= {("influence", "alone"), ("confidence", "alone")}
DRAWN = [(name, kind) for name in CHARTS for kind in PANELS if (name, kind) not in REFUSED]


@cache
def spec(name: str, kind: str) -> dict[str, Any]:
    return dict(CHARTS[name](kind).to_dict())


def units(chart: dict[str, Any], data: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the marks of a chart, however deep, each with the name of its data."""
    data = chart.get("data", data)
    for key in ("layer", "hconcat", "vconcat"):
        for part in chart.get(key, []):
            yield from units(part, data)
    if "mark" in chart:
        yield {**chart, "data": data}


def rows(chart: dict[str, Any], mark: str, nth: int = 0) -> list[dict[str, Any]]:
    """Return the data of the nth mark of a kind."""
    found = [unit for unit in units(chart) if unit["mark"]["type"] == mark]
    return list(chart["datasets"][found[nth]["data"]["name"]])


def column(table: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in table]


def fields(chart: dict[str, Any]) -> Iterator[tuple[set[str], dict[str, Any]]]:
    """Yield for each mark the fields that it uses, and a row of its data."""
    for unit in units(chart):
        encoding = unit.get("encoding", {})
        used = [*encoding.values(), *encoding.get("tooltip", [])]
        names = {item["field"] for item in used if isinstance(item, dict) and "field" in item}
        made = {step["as"] for step in unit.get("transform", []) if "as" in step}
        yield names - made, chart["datasets"][unit["data"]["name"]][0]


def words(chart: dict[str, Any]) -> str:
    title = chart["title"]
    return " ".join([*title["text"], *title["subtitle"]])


# --- every picture of every panel ----------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), DRAWN)
def test_every_chart_is_valid_says_what_it_shows_and_uses_columns_that_exist(name: str, kind: str) -> None:
    chart = spec(name, kind)
    assert chart["title"]["text"][0]
    assert " ".join(chart["title"]["text"]) in chart["description"]
    assert len(chart["description"]) > 60
    found = list(fields(chart))
    assert any(used for used, _ in found)
    for used, row in found:
        assert used <= set(row), f"{used - set(row)} not in the data"
    assert any("tooltip" in unit.get("encoding", {}) for unit in units(chart))
    json.dumps(chart, allow_nan=False)


@pytest.mark.parametrize(("name", "kind"), sorted(REFUSED))
def test_what_cannot_be_shown_is_refused_in_a_sentence(name: str, kind: str) -> None:
    with pytest.raises((InputError, NotRankableError), match=r"^[A-Z].*\.$"):
        CHARTS[name](kind)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_becomes_svg_and_hostile_labels_do_no_harm(name: str) -> None:
    drawn = vlc.vegalite_to_svg(spec(name, "hostile"))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<script" not in drawn
    assert "NaN" not in drawn
    assert "undefined" not in drawn


@pytest.mark.parametrize("name", CHARTS)
def test_no_label_ends_the_script_of_a_page(name: str) -> None:
    text = json.dumps(spec(name, "hostile"))
    assert "</" not in text
    assert "<!--" not in text
    assert "\\u0000" not in text
    assert "\\u202e" not in text


@pytest.mark.parametrize("name", CHARTS)
def test_a_thousand_objects_make_a_chart_of_moderate_size(name: str) -> None:
    chart = spec(name, "large")
    assert max(len(table) for table in chart["datasets"].values()) <= 5000
    assert len(json.dumps(chart)) < 700_000
    assert vlc.vegalite_to_svg(chart).startswith("<svg")


def test_labels_stay_different_whatever_is_done_to_them() -> None:
    names = labels.drawable(["a\tb", "a b", "a\nb", "a b (2)", "x" * 90, "x" * 91, "</x", "‹/x"])
    assert len(set(names)) == len(names)
    assert max(map(len, names)) < 50


def colours_of(chart: dict[str, Any]) -> set[str]:
    """Return every colour that a chart names."""
    return {colour.upper() for colour in re.findall(r'"(#[0-9A-Fa-f]{6})"', json.dumps(chart))}


STATUS_COLOURS = {LIGHT[name] for name in ("in", "in-soft", "open-fill", "open-soft")}
SIDE_COLOURS = {LIGHT[f"{side}{soft}"] for side in ("strict", "generous") for soft in ("", "-soft")}


@pytest.mark.parametrize(("name", "kind"), DRAWN)
def test_colour_means_status_alert_or_side_of_bias_and_all_else_is_grey(name: str, kind: str) -> None:
    found = colours_of(spec(name, kind))
    meant = {"top": STATUS_COLOURS, "biases": SIDE_COLOURS}.get(name, set()) | {LIGHT["alert"]}
    for colour in found - meant:
        parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        assert max(parts) - min(parts) <= 24, f"{colour} is neither grey nor a colour of {name}"


def test_everything_is_drawn_in_tokens_of_the_look() -> None:
    known = {*LIGHT.values(), style.MIDDLE}
    known |= {shade for panel in PANELS.values() for shade in labels.declared_kinds(panel()).shades}
    for name, kind in DRAWN:
        assert colours_of(spec(name, kind)) <= known, (name, kind)


# --- values and biases ---------------------------------------------------------------------------


def test_values_are_those_of_the_fit_in_rank_order_beside_the_averages() -> None:
    panel, fit = small(), fit_of("small")
    chart = spec("values", "small")
    table = rows(chart, "point")
    order = sorted(range(10), key=lambda i: -fit.values.estimate[i])
    assert column(table, "name") == [panel.objects[i] for i in order]
    assert column(table, "value") == fit.values.estimate[order].tolist()
    assert column(table, "place") == list(range(1, 11))
    means = [float(np.mean(panel.score[panel.object_index == i])) for i in order]
    assert column(table, "average") == pytest.approx(means)
    assert fit.values.lower is not None
    assert column(table, "lower") == fit.values.lower[order].tolist()
    domains = [unit["encoding"]["y"]["scale"]["domain"] for unit in units(chart)]
    assert all(domain == column(table, "name") for domain in domains)
    ends = [f"{panel.objects[i]} ({fit.values.estimate[i]:.1f} points)" for i in (order[0], order[-1])]
    assert f"from {' to '.join(ends)}" in chart["description"]
    moved = fit.values.estimate[order] - np.array(means)
    at = int(np.argmax(np.abs(moved)))
    assert f"object {panel.objects[order[at]]} most: by {moved[at]:+.1f}".replace("-", "−") in words(chart)


def test_many_values_have_ranks_instead_of_names_and_few_may_be_asked_for() -> None:
    fit = fit_of("large")
    chart = spec("values", "large")
    assert {unit["encoding"]["y"]["field"] for unit in units(chart)} == {"place"}
    assert len(rows(chart, "point")) == 1000
    few = plots.values(fit, most=20).to_dict()
    best = np.argsort(-fit.values.estimate)[:20]
    assert column(rows(few, "point"), "name") == [str(i) for i in best]
    assert "980 lower values left out" in words(few)
    with pytest.raises(InputError, match="at least 1"):
        plots.values(fit, most=0)


@pytest.mark.parametrize("name", ["values", "biases", "methods", "bland_altman"])
def test_groups_stand_apart_and_are_never_ranked_together(name: str) -> None:
    chart = spec(name, "apart")
    assert len(chart["vconcat"]) == 2
    groups = [
        {row["name"] for row in rows({**part, "datasets": chart["datasets"]}, "point")} for part in chart["vconcat"]
    ]
    side = eh.connectivity(apart()).components
    wanted = [set(part[1] if name == "biases" else part[0]) for part in side]
    assert groups == wanted
    assert "cannot be compared" in words(chart)
    assert "Group 2" in str(chart["vconcat"][1]["title"])


def test_more_groups_than_can_be_told_apart_are_counted() -> None:
    edges = [(3 * g + o, 2 * g + a) for g in range(9) for o in range(3) for a in range(2)]
    panel = panel_of(edges)
    chart = plots.values(eh.calibrate(panel, per_component=True)).to_dict()
    assert len(chart["vconcat"]) == labels.MOST_GROUPS
    assert "Shown are the 6 largest" in words(chart)
    nodes = [unit for unit in units(plots.graph(panel).to_dict()) if unit["mark"]["type"] == "point"]
    assert nodes[0]["encoding"]["shape"]["scale"]["domain"][-1] == "smaller groups"


def test_without_intervals_none_are_drawn_and_the_reason_is_given() -> None:
    for name in ("values", "biases"):
        chart = spec(name, "alone")
        assert "No intervals: there are just enough scores" in words(chart)
        assert not any("lower" in row for row in rows(chart, "point"))
    assert "Values are the plain averages here" in words(spec("values", "alone"))
    assert [unit["mark"]["type"] for unit in units(spec("values", "alone"))] == ["point"]


def test_biases_are_those_of_the_fit_from_generous_to_strict_about_zero() -> None:
    fit = fit_of("small")
    chart = spec("biases", "small")
    table = rows(chart, "point")
    order = np.argsort(-fit.biases.estimate)
    assert column(table, "name") == [small().assessors[i] for i in order]
    assert column(table, "bias") == fit.biases.estimate[order].tolist()
    assert rows(chart, "rule", 1) == [{"zero": 0.0}]
    for row in table:
        assert (row["side"] == "like the panel") == (row["lower"] <= 0 <= row["upper"])
        assert (row["side"] == "generous") == (row["lower"] > 0)


def test_values_of_a_ranking_show_who_is_in_open_and_out_above_and_below_the_line() -> None:
    ranking = eh.rank(fit_of("large"), top=300, draws=1000, seed=5)
    table = rows(plots.values(ranking).to_dict(), "point", 1)
    order = np.argsort(-ranking.fit.values.estimate, kind="stable")
    assert column(table, "name") == [str(i) for i in order]
    status = eh.decide(ranking, 300).status
    assert column(table, "status") == [STATUS[status[i]][0] for i in order]
    chart = plots.values(ranking_of("small")).to_dict()
    shown = column(rows(chart, "point"), "name")
    assert [row for row in chart["datasets"].values() if row == [{"name": shown[2]}]], "no line below place 3"
    decision = eh.decide(ranking_of("small"), 3)
    assert words(chart).startswith(f"None is in; {len(decision.undecided)} compete for all 3 places")


def test_averages_have_no_biases_to_show() -> None:
    for fit in (average_of("small"), eh.weighted_average(small())):
        with pytest.raises(InputError, match=r"There are no biases to show: .* averaging takes"):
            plots.biases(fit)


def test_values_of_a_refined_fit_are_its_own() -> None:
    fit = eh.refine(small(), eh.Refinements(shrink=True, scores=eh.Bounded(0, 100)))
    table = rows(plots.values(fit).to_dict(), "point")
    assert column(table, "value") == sorted(fit.values.estimate.tolist(), reverse=True)
    for chart in (
        plots.biases(fit),
        plots.residuals(fit),
        plots.influence(fit),
        plots.confidence(fit),
        plots.top(fit, 3),
    ):
        assert vlc.vegalite_to_svg(chart.to_dict()).startswith("<svg")
    assert "units of the model's scale" in json.dumps(plots.confidence(fit, by="level").to_dict())


def test_of_more_objects_than_can_be_drawn_every_so_manyth_is() -> None:
    panel = eh.simulate_panel(12_000, 12, 2, seed=1).panel
    fit = eh.calibrate(panel)
    for chart in (plots.values(fit), plots.methods(eh.simple_average(panel), fit)):
        table = rows(chart.to_dict(), "point")
        assert len(table) == 4000
        assert "8,000 more between those drawn" in words(chart.to_dict())
    places = column(rows(plots.values(fit).to_dict(), "point"), "place")
    assert places[0] == 1
    assert places[-1] > 11_900
    assert len(rows(plots.graph(panel).to_dict(), "rule")) <= 30 * 12


@pytest.mark.parametrize("score", [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [5.0] * 6])
def test_scores_that_agree_perfectly_are_said_to(score: list[float]) -> None:
    fit = eh.calibrate(panel_of([(o, a) for o in range(3) for a in range(2)], score))
    assert "no residuals are left" in words(plots.residuals(fit).to_dict())
    assert "all agree" in words(plots.influence(fit).to_dict())
    with pytest.raises(InputError, match="no residuals"):
        plots.confidence(fit)
    if np.ptp(score) == 0:
        assert "all biases are zero" in words(plots.biases(fit).to_dict())


# --- places and ranks ----------------------------------------------------------------------------


def test_chances_of_a_place_are_those_of_the_ranking_and_the_undecided_are_marked() -> None:
    ranking = ranking_of("small")
    decision = eh.decide(ranking, 3)
    table = rows(spec("top", "small"), "bar")
    assert ranking.p_top is not None
    order = np.argsort(-ranking.fit.values.estimate, kind="stable")
    assert column(table, "name") == [str(i) for i in order]
    assert column(table, "chance") == ranking.p_top[order].tolist()
    undecided = {row["name"] for row in table if row["status"] == "Open"}
    assert undecided == set(decision.undecided)
    assert not decision.inside
    assert f"{len(decision.undecided)} compete for all 3 places" in words(spec("top", "small"))
    more = eh.decide(eh.rank(fit_of("large"), top=300, draws=1000, seed=5), 300)
    title = words(plots.top(eh.rank(fit_of("large"), top=300, draws=1000, seed=5)).to_dict())
    assert f"{len(more.undecided)} compete for the other {300 - len(more.inside)} places" in title


def test_where_none_is_safe_every_place_is_competed_for() -> None:
    title = plots.top(fit_of("small"), 1).to_dict()["title"]["text"]
    assert " ".join(title).startswith("None is in;")
    assert " ".join(title).endswith("compete for the only place")


def test_of_many_chances_those_about_the_line_are_shown_and_the_others_counted() -> None:
    ranking = eh.rank(fit_of("large"), top=100, draws=500, seed=1)
    chart = plots.top(ranking).to_dict()
    table = rows(chart, "point")
    decision = eh.decide(ranking, 100)
    places = column(table, "place")
    assert places == list(range(places[0], places[-1] + 1))
    assert set(decision.undecided) <= set(column(table, "name"))
    counts = {word: [*map(str, decision.status)].count(status) for status, (word, _) in STATUS.items()}
    beyond = counts["Out"] - column(table, "status").count("Out")
    assert beyond > 0
    assert f"Left out, far from the line: {beyond} out." in words(chart)
    assert rows(chart, "rule") == [{"end": 100.5, "text": "100 places"}]


def test_places_come_from_the_ranking_or_have_to_be_said() -> None:
    again = plots.top(ranking_of("small"), 2).to_dict()
    wanted = eh.rank(fit_of("small"), top=2, draws=1000, seed=5)
    assert wanted.p_top is not None
    assert sorted(column(rows(again, "bar"), "chance")) == sorted(wanted.p_top.tolist())
    with pytest.raises(InputError, match="how many places"):
        plots.top(fit_of("small"))


def test_the_rankogram_has_the_chances_of_every_rank() -> None:
    ranking = ranking_of("small")
    chance = ranking.probabilities()
    np.testing.assert_allclose(chance.sum(axis=0), 1)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    np.testing.assert_allclose(chance @ np.arange(1, 11), ranking.expected_rank)
    np.testing.assert_array_equal(chance[:, 0], ranking.p_first)
    for row in rows(spec("rankogram", "small"), "bar"):
        assert row["chance"] == chance[int(row["name"]), row["rank"] - 1]
    dots = rows(spec("rankogram", "small"), "point")
    assert column(dots, "expected") == sorted(ranking.expected_rank.tolist())


def test_ranks_begin_with_the_first_on_the_axis_and_none_is_dropped() -> None:
    (axis,) = (
        unit["encoding"]["x"]["axis"] for unit in units(spec("rankogram", "small")) if unit["mark"]["type"] == "bar"
    )
    assert axis["values"] == list(range(1, 11))
    assert axis["tickCount"] == 10


def test_ranks_of_many_are_taken_together_without_losing_any() -> None:
    table = rows(spec("rankogram", "large"), "rect")
    total = sum(row["chance"] * (row["last"] - row["first"] + 1) for row in table)
    assert 0.9 * 1000 < total <= 1000.001
    assert "20 together" in words(spec("rankogram", "large"))


# --- graphs and designs --------------------------------------------------------------------------


def test_the_graph_has_every_assessment_and_marks_the_bridges() -> None:
    edges = [(o, a) for o in range(3) for a in (0, 1)] + [(3, 1), (3, 2)] + [(o, a) for o in (4, 5) for a in (2, 3)]
    panel = panel_of(edges)
    chart = plots.graph(panel).to_dict()
    links = rows(chart, "rule")
    assert {(int(row["object"]), int(row["assessor"])) for row in links} == set(edges)
    bridges = {edges[i] for i in eh.connectivity(panel).bridges}
    assert {(int(row["object"]), int(row["assessor"])) for row in links if row["weak"]} == bridges == {(3, 1), (3, 2)}
    assert "2 assessments (red) are weak links" in words(chart)
    joined = rows(plots.assessor_graph(panel).to_dict(), "rule")
    assert {(row["first"], row["second"]): row["shared"] for row in joined} == {
        ("0", "1"): 3,
        ("1", "2"): 1,
        ("2", "3"): 2,
    }
    assert [row["weak"] for row in joined] == [row["shared"] == 1 for row in joined]
    said = words(plots.assessor_graph(panel).to_dict())
    assert "Without assessor 1, assessor 0 cannot be compared with the others." in said
    assert "Without assessor 2, assessor 3 cannot be compared with the others." in said


def test_links_between_assessors_have_the_weights_of_the_assessor_graph() -> None:
    weights = assessor_graph(small()).toarray()
    for row in rows(spec("assessor_graph", "small"), "rule"):
        assert row["weight"] == pytest.approx(weights[int(row["first"]), int(row["second"])])


def test_a_ring_of_assessors_is_drawn_without_a_crossing() -> None:
    ring = panel_of(
        [(o, a) for o in range(4) for a in (o, (o + 1) % 4)], [50.0, 60.0, 55.0, 65.0, 40.0, 45.0, 70.0, 75.0]
    )
    links = rows(plots.assessor_graph(ring).to_dict(), "rule")
    assert len(links) == 4
    for link in links:  # neighbours on the circle differ in one coordinate only
        assert min(abs(link["x"] - link["x2"]), abs(link["y"] - link["y2"])) < 1e-9


def test_names_of_few_assessors_are_level_and_of_many_point_outwards() -> None:
    few, many = (
        [u for u in units(spec("assessor_graph", k)) if u["mark"]["type"] == "text"] for k in ("small", "large")
    )
    assert all("angle" not in unit["encoding"] for unit in few)
    assert {unit["mark"]["align"] for unit in many} == {"left", "right"}
    for unit in many:
        assert unit["encoding"]["angle"]["field"] == "angle"
    for row in rows(spec("assessor_graph", "large"), "text"):
        assert row["side"] == ("right" if row["x"] >= 0 else "left")
        away = np.array([row["x"], -row["y"]]) if row["side"] == "right" else -np.array([row["x"], -row["y"]])
        along = np.array([np.cos(np.radians(row["angle"])), np.sin(np.radians(row["angle"]))])
        assert away == pytest.approx(along, abs=1e-9)


def test_the_only_assessor_stands_in_the_middle_of_a_low_picture() -> None:
    chart = spec("assessor_graph", "alone")
    (row,) = rows(chart, "point")
    assert (row["x"], row["y"], row["side"]) == (0.0, 0.0, "right")
    assert max(unit.get("height", 0) for unit in units(chart)) <= 100


def test_objects_taken_together_in_a_large_graph_lose_no_assessment() -> None:
    links = rows(spec("graph", "large"), "rule")
    assert sum(row["count"] for row in links) == large().n_assessments
    assert len(links) <= 300
    assert "about 5 assessors and about 125 objects to a mark" in words(spec("graph", "large"))


def test_a_design_of_more_objects_than_pixels_counts_every_assessment_in_blocks() -> None:
    cells = rows(spec("design", "large"), "rect")
    assert sum(column(cells, "count")) == large().n_assessments
    assert len(cells) <= 60 * 40


def test_a_point_is_as_wide_in_every_group() -> None:
    panel = panel_of(
        [(o, a) for o in range(6) for a in range(3)] + [(o, a) for o in range(6, 10) for a in (3, 4)],
        [*np.linspace(10, 90, 18), *np.linspace(30, 34, 8)],
    )
    fit = eh.calibrate(panel, per_component=True)
    assert plots.values(fit).to_dict()["resolve"] == {"scale": {"x": "shared"}}
    groups = plots.methods(eh.simple_average(panel), fit).to_dict()["vconcat"]
    domains = [next(units(group))["encoding"][axis]["scale"]["domain"] for group in groups for axis in "xy"]
    spans = [high - low for low, high in domains]
    assert len(spans) == 4
    np.testing.assert_allclose(spans, spans[0])


def test_only_the_strongest_links_of_many_are_drawn_and_each_assessor_keeps_one() -> None:
    chart = spec("assessor_graph", "large")
    links = rows(chart, "rule")
    assert {row[end] for row in links for end in ("first", "second")} == set(large().assessors)
    assert f"Drawn are {len(links)} of 779 links" in words(chart)


def test_a_panel_that_falls_apart_is_said_to_and_its_groups_have_colours() -> None:
    for name in ("graph", "assessor_graph"):
        assert "falls into 2 groups" in words(spec(name, "apart"))
        nodes = rows(spec(name, "apart"), "point")
        assert set(column(nodes, "group")) == {"group 1", "group 2"}


def test_the_design_has_a_cell_for_each_assessment() -> None:
    panel = small()
    table = rows(spec("design", "small"), "rect")
    wanted = zip(panel.assessor_index.tolist(), panel.object_index.tolist(), panel.score.tolist(), strict=True)
    assert [(int(row["assessor"]), int(row["object"]), row["score"]) for row in table] == list(wanted)
    work = rows(spec("design", "small"), "text")
    assert column(work, "count") == panel.assessor_assessments.tolist()
    assert set(column(table, "kind")) == {"weight 0.00444", "weight 0.01", "weight 0.04"}


def test_levels_keep_their_names() -> None:
    table = rows(plots.design(eh.read_panel(demo_path())).to_dict(), "rect")
    assert set(column(table, "kind")) == {"low", "medium", "high"}


# --- checks of a fit -----------------------------------------------------------------------------


def test_residuals_are_scores_less_fitted_and_their_quartiles_those_of_each_assessor() -> None:
    panel, fit = small(), fit_of("small")
    chart = spec("residuals", "small")
    expected = fit.values.estimate[panel.object_index] + fit.biases.estimate[panel.assessor_index]
    table = rows(chart, "point")
    assert column(table, "residual") == pytest.approx((panel.score - expected).tolist())
    assert column(table, "fitted") == pytest.approx(expected.tolist())
    for row in rows(chart, "tick"):
        own = (panel.score - expected)[panel.assessor_index == int(row["name"])]
        assert [row["lower"], row["middle"], row["upper"]] == pytest.approx(np.quantile(own, [0.25, 0.5, 0.75]))


def test_many_residuals_are_counted_in_cells() -> None:
    assert sum(column(rows(spec("residuals", "large"), "rect"), "count")) == large().n_assessments


def test_pulls_are_those_of_influence_and_the_largest_come_first() -> None:
    chart = spec("influence", "small")
    pull = eh.influence(fit_of("small")).pull
    bars = rows(chart, "bar")
    assert column(bars, "pull") == pull[np.argsort(-np.abs(pull), kind="stable")[:20]].tolist()
    assert sorted(column(rows(chart, "point"), "pull")) == sorted(pull.tolist())
    panel = small()
    at = int(np.argmax(np.abs(pull)))
    assert bars[0]["name"] == f"{panel.assessor_index[at]} on {panel.object_index[at]}"


def test_scores_that_no_other_can_check_are_left_out_and_counted() -> None:
    panel = panel_of([(o, a) for o in range(3) for a in range(3)] + [(3, 0)], [1.0, 4, 2, 8, 5, 7, 1, 3, 9, 4])
    chart = plots.influence(eh.calibrate(panel)).to_dict()
    assert len(rows(chart, "point")) == 9
    assert "1 score that no other can check left out" in words(chart)


def test_spread_is_compared_with_what_was_declared() -> None:
    panel, fit = small(), fit_of("small")
    chart = plots.confidence(fit, by="assessor").to_dict()
    slack = 1 - eh.influence(fit).leverage
    squares = panel.precision * fit.residuals**2
    level = squares.sum() / slack.sum()
    for row in rows(chart, "point"):
        own = panel.assessor_index == int(row["name"])
        assert row["ratio"] == pytest.approx(np.sqrt(squares[own].sum() / slack[own].sum() / level))
        assert row["lower"] < row["ratio"] < row["upper"]
    for row in rows(plots.confidence(fit, by="level").to_dict(), "point"):
        weight = float(row["name"].removeprefix("weight "))
        own = np.isclose(panel.precision, weight, rtol=1e-2)
        assert row["declared"] == pytest.approx(np.sqrt(level / panel.precision[own][0]))
        assert row["actual"] == pytest.approx(np.sqrt((fit.residuals[own] ** 2).sum() / slack[own].sum()))


def test_all_points_of_spread_lie_within_the_frame_though_much_more_was_declared_than_scores_spread() -> None:
    panel = eh.simulate_panel(60, 6, 3, seed=4).panel
    unsure = np.where(np.arange(panel.n_assessments) % 10 == 0, 0.02, 1.0)
    careful = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, unsure)
    chart = plots.confidence(eh.calibrate(careful), by="level").to_dict()
    points = rows(chart, "point")
    ends = {unit["encoding"]["x"]["scale"]["domain"][1] for unit in units(chart) if "scale" in unit["encoding"]["x"]}
    assert max(row["upper"] for row in points) < max(row["declared"] for row in points)
    assert max(max(row["declared"], row["actual"]) for row in points) < 0.95 * min(ends)


def test_spread_finds_an_assessor_who_is_surer_than_their_scores_allow() -> None:
    panel = eh.simulate_panel(200, 6, 3, seed=4, bounds=None, step=None).panel
    loud = panel.assessor_index == 2
    score = panel.score + np.where(loud, np.random.default_rng(1).normal(0, 40, panel.n_assessments), 0)
    noisy = Panel.from_arrays(panel.object_index, panel.assessor_index, score, panel.precision)
    table = rows(plots.confidence(eh.calibrate(noisy), by="assessor").to_dict(), "point")
    assert table[0]["name"] == "2"
    assert table[0]["kind"] == "spread more than declared"


def test_bars_that_are_cut_off_and_intervals_that_miss_by_chance_are_said() -> None:
    assert "A bar that reaches the edge" in words(plots.confidence(fit_of("small"), by="assessor").to_dict())
    chart = plots.confidence(fit_of("large"), by="assessor").to_dict()
    assert "A bar that reaches the edge" not in words(chart)
    assert "Chance alone puts about 4 of 40 intervals to one side" in words(chart)
    kinds = column(rows(chart, "point"), "kind")
    more, less = (kinds.count(f"spread {way} than declared") for way in ("more", "less"))
    assert ("less" in " ".join(chart["title"]["text"])) == bool(less)
    assert ("more" in " ".join(chart["title"]["text"])) == bool(more)


def test_levels_with_too_few_scores_are_named() -> None:
    edges = [(o, a) for o in range(8) for a in range(3)]
    level = ["high" if edge == (0, 0) else "medium" if sum(edge) % 2 else "low" for edge in edges]
    weight = [{"high": 1.75**2, "medium": 1.0, "low": 1.75**-2}[one] for one in level]
    score = np.random.default_rng(2).normal(50, 10, len(edges)).round()
    objects, assessors = np.array(edges).T
    panel = Panel.from_arrays(objects, assessors, score, np.array(weight))
    assert "left out: weight 3.06." in words(plots.confidence(eh.calibrate(panel), by="level").to_dict())


def test_levels_that_do_not_differ_are_not_compared() -> None:
    with pytest.raises(InputError, match="by='assessor'"):
        plots.confidence(fit_of("apart"), by="level")
    with pytest.raises(InputError, match="not by 'moon'"):
        plots.confidence(fit_of("small"), by="moon")  # type: ignore[arg-type]


# --- method against method -----------------------------------------------------------------------


def test_two_methods_are_set_against_each_other() -> None:
    one, two = average_of("small"), fit_of("small")
    for name in ("methods", "bland_altman"):
        table = rows(spec(name, "small"), "point")
        assert column(table, "first") == one.values.estimate.tolist()
        assert column(table, "second") == two.values.estimate.tolist()
        assert column(table, "difference") == (two.values.estimate - one.values.estimate).tolist()
    r2 = np.corrcoef(one.values.estimate, two.values.estimate)[0, 1] ** 2
    assert f"R² {r2:.2f}" in words(spec("methods", "small"))
    with pytest.raises(InputError, match="two fits"):
        plots.methods(one)
    with pytest.raises(InputError, match="same objects"):
        plots.bland_altman(one, fit_of("alone"))


def test_limits_of_agreement_are_two_standard_deviations_about_the_mean() -> None:
    difference = fit_of("small").values.estimate - average_of("small").values.estimate
    mean, sd = difference.mean(), difference.std(ddof=1)
    lines = column(rows(spec("bland_altman", "small"), "rule"), "at")
    assert lines == pytest.approx([mean, mean + 1.96 * sd, mean - 1.96 * sd])
    assert "give the same values" in words(spec("bland_altman", "alone"))


def test_names_stand_on_the_outer_side_and_cover_no_other() -> None:
    texts = [unit for unit in units(spec("methods", "large")) if unit["mark"]["type"] == "text"]
    sides = {unit["mark"]["align"] for unit in texts}
    assert sides == {"left", "right"}
    for nth, unit in enumerate(texts):
        for row in rows(spec("methods", "large"), "text", nth):
            assert (row["second"] >= row["first"]) == (unit["mark"]["align"] == "right")
    edges = [(o, a) for o in range(4) for a in (0, 1)]
    score = [40.0, 60.0, 40.1, 60.1, 40.2, 60.2, 80.0, 99.0]
    objects, assessors = np.array(edges).T
    names = [f"Proposal {i}" for i in range(4)]
    panel = Panel.from_arrays(objects, assessors, np.array(score), np.tile([1.0, 4.0], 4), objects=names)
    close = plots.methods(eh.simple_average(panel), eh.weighted_average(panel)).to_dict()
    shown = {
        name
        for unit in units(close)
        if unit["mark"]["type"] == "text"
        for name in column(close["datasets"][unit["data"]["name"]], "name")
    }
    assert len(shown & set(names[:3])) == 1
    assert names[3] in shown


def test_a_comparison_shows_every_two_of_the_four_methods() -> None:
    comparison = eh.compare(small(), candidates=[])
    chart = plots.methods(comparison).to_dict()
    charts = [unit for unit in units(chart) if unit["mark"]["type"] == "point"]
    assert len(charts) == 6
    table = rows(chart, "point")
    for at, row in enumerate(comparison.methods[:4]):
        assert row.fit is not None
        assert column(table, f"value_{at}") == row.fit.values.estimate.tolist()
    least = min((r2, pair) for pair, r2 in comparison.r2.items() if r2 is not None and "z" not in pair)
    names = " and ".join(method_name(one) for one in least[1])
    assert f"Of these 4 methods {names} agree least (R² {least[0]:.2f})" in words(chart)


def test_a_comparison_beside_a_fit_sets_every_other_method_against_it() -> None:
    panel = small()
    comparison, fit = eh.compare(panel, candidates=[]), eh.refine(panel, shrink=True)
    chart = plots.methods(comparison, fit).to_dict()
    charts = [unit for unit in units(chart) if unit["mark"]["type"] == "point"]
    assert [unit["encoding"]["x"]["field"] for unit in charts] == ["value_0"] * 4
    assert column(rows(chart, "point"), "value_0") == fit.values.estimate.tolist()
    own = comparison.methods[3].fit
    assert own is not None
    beside = plots.methods(comparison, own).to_dict()
    assert len([unit for unit in units(beside) if unit["mark"]["type"] == "point"]) == 3
    assert column(rows(beside, "point"), "value_0") == own.values.estimate.tolist()


def test_a_comparison_of_two_or_of_methods_that_agree_says_so() -> None:
    weights = np.linspace(1.0, 2.0, apart().n_assessments)
    sure = replace(apart(), precision=weights, confidence="confidence")
    two = words(plots.methods(eh.compare(sure, candidates=[])).to_dict())
    assert "agree least" not in two
    assert "left out: calibration without confidence, calibration with confidence." in two
    with pytest.raises(InputError, match="only one method"):  # without confidences all averages are one
        plots.methods(eh.compare(apart(), candidates=[]))
    assert "give the same values" in words(plots.methods(eh.compare(alone(), candidates=[])).to_dict())


def test_ends_of_axes_stand_at_their_ticks_and_legends_have_the_colours_of_the_marks() -> None:
    config = spec("biases", "small")["config"]
    assert config["axis"]["labelFlush"] is False
    assert config["legend"]["symbolOpacity"] == 1


# --- the figures of the paper --------------------------------------------------------------------


def test_figure_1_has_both_graphs_of_all_three_panels_and_says_which_hang_together() -> None:
    chart = studies.graphs().to_dict()
    assert [len(row["hconcat"]) for row in chart["vconcat"]] == [2, 2, 2]
    assert "(a) links all 6 pairs, (b) links 4 of 6 pairs, (c) falls into 2 groups" in words(chart)
    for name, row in zip("abc", chart["vconcat"], strict=True):
        left, right = (chart["datasets"][next(units(graph))["data"]["name"]] for graph in row["hconcat"])
        pairs = GRAPHS[name]
        assert {(link["object"], link["assessor"]) for link in left} == {
            (f"o{o}", f"a{a}") for o, readers in enumerate(pairs, start=1) for a in readers
        }
        shared = Counter(frozenset(readers) for readers in pairs)
        found = {frozenset((int(link["first"][1:]), int(link["second"][1:]))): link["shared"] for link in right}
        assert found == shared


def test_published_errors_have_the_colours_and_shapes_of_their_methods() -> None:
    study = eh.studies.simulation_study(n_objects=40, n_assessors=5, per_object=[2, 3], profiles=[(1, 1, 1)], runs=2)
    published = {("1:1:1", 2): {"sa_mean_error": 9.0, "iba_mean_error": 7.0, "cwc_mean_error": 6.0}}
    chart = studies.mean_errors(study, published).to_dict()
    hollow = [unit for unit in units(chart) if unit.get("encoding", {}).get("y", {}).get("field") == "published"]
    assert [unit["encoding"]["color"]["field"] for unit in hollow] == ["method"]
    assert hollow[0]["encoding"]["shape"]["field"] == "method"
    table = chart["datasets"][hollow[0]["data"]["name"]]
    assert {row["method"]: row["published"] for row in table if row["published"] is not None} == {
        "SA": 9.0,
        "IBA": 7.0,
        "CWC": 6.0,
    }
    best = int((study.means[..., 0].argmin(axis=-1) == 2).sum())
    assert f"smallest mean errors in {'all 2' if best == 2 else f'{best} of 2'} cases" in words(chart)
    ratio = study.means[0, :, 2, 0] / study.means[0, :, 0, 0]
    low, high = (f"{100 * end:.0f}" for end in (ratio.min(), ratio.max()))
    assert f"leaves {low} to {high}% of the mean error" in words(studies.error_ratios(study).to_dict())


def test_figure_5_finds_the_published_correlations(shared_data: Path) -> None:
    chart = studies.methods_compared(eh.read_panel(shared_data / "case_study_2_scores.csv")).to_dict()
    headings = [part["title"]["text"] for row in chart["vconcat"] for part in row["hconcat"]]
    published = {"IBA against SA": 0.5701, "CWC against IBA": 0.8807, "SA against CWC": 0.3772}
    for letter, (pair, r2) in zip("abc", published.items(), strict=True):
        assert f"({letter}) {pair}: R² {r2:.2f}" in headings
    assert words(chart).startswith("IBA and CWC agree most (R² 0.88), CWC and SA least (R² 0.38)")


# --- files ---------------------------------------------------------------------------------------


def test_charts_are_saved_by_suffix_and_pages_need_no_network(tmp_path: Path) -> None:
    chart = plots.values(fit_of("hostile"))
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".json", b"{")):
        plots.save(chart, tmp_path / f"values{suffix}")
        assert (tmp_path / f"values{suffix}").read_bytes().startswith(start)
    root = ElementTree.parse(tmp_path / "values.svg").getroot()
    assert root.get("role") == "img"
    assert root.get("aria-label") == chart.to_dict()["description"]
    plots.save(chart, str(tmp_path / "values.HTML"))
    page = (tmp_path / "values.HTML").read_text(encoding="utf-8")
    assert page.count("</script>") == page.count("<script")
    assert "cdn.jsdelivr" not in page
    chart.save(str(tmp_path / "own.svg"))
    assert (tmp_path / "own.svg").stat().st_size > 1000


def test_other_suffixes_and_places_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    chart = plots.values(fit_of("small"))
    for name in ("values.xlsx", "values"):
        with pytest.raises(InputError, match=r"use \.svg, \.png, \.pdf, \.html or \.json"):
            plots.save(chart, tmp_path / name)
    with pytest.raises(InputError, match="cannot be written"):
        plots.save(chart, tmp_path / "nowhere" / "values.svg")


def no_font(svg: str, *_args: Any) -> bytes:
    """Fail as the engine does where a font cannot be taken into a PDF."""
    if "<text" in svg:
        raise RuntimeError("Failed to convert SVG to PDF: An error occurred while subsetting a font.\n\nStack\n 0: x")
    return TO_PDF(svg)


TO_PDF = vlc.svg_to_pdf


def test_where_a_font_cannot_be_taken_into_a_pdf_text_becomes_an_image_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vlc, "svg_to_pdf", no_font)
    monkeypatch.setattr(logging.getLogger("evenhand"), "disabled", False)  # as the web application leaves it
    plots.save(plots.values(fit_of("hostile")), tmp_path / "values.pdf")
    written = (tmp_path / "values.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert b"/Image" in written
    assert "subsetting a font" in caplog.text
    assert "Stack" not in caplog.text


def test_a_drawing_that_fails_names_its_cause_and_does_not_blame_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: Any, **_options: Any) -> bytes:
        raise RuntimeError("the moon is full\n\nStack backtrace:\n 0: x")

    monkeypatch.setattr(vlc, "vegalite_to_png", fail)
    with pytest.raises(InputError, match=r"cannot be drawn as png \(the moon is full\): try another") as caught:
        plots.save(plots.values(fit_of("small")), tmp_path / "values.png")
    assert caught.value.kind == "cannot_draw"
    assert not list(tmp_path.iterdir())


CAPPED = """
import resource, sys
import evenhand as eh
chart = eh.plots.graph(eh.Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0]))
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, resource.RLIM_INFINITY))
eh.plots.save(chart, sys.argv[1] + "/graph.json")
try:
    eh.plots.save(chart, sys.argv[1] + "/graph.svg")
except eh.errors.LimitError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on addresses is kept by Linux alone")
def test_where_memory_is_capped_a_sentence_says_so_and_nothing_dies(tmp_path: Path) -> None:
    program = [sys.executable, "-c", CAPPED, str(tmp_path)]
    finished = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120)
    assert "no more than 6.0 GiB" in finished.stdout
    assert "ulimit -v" in finished.stdout
    assert finished.stderr == ""
    assert [file.name for file in tmp_path.iterdir()] == ["graph.json"]


FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


def test_names_are_cut_between_words_where_one_ends_near_by() -> None:
    assert labels.clip("Prof. Dr. Maximiliane von Hohenstein Waldburg", 24) == "Prof. Dr.…Waldburg"
    assert labels.clip("Donaudampfschifffahrtsgesellschaft", 11) == "Donau…chaft"
    for most in range(4, 40):
        assert len(labels.clip("A history of water works in northern harbour towns, part 2", most)) <= most


def test_joined_signs_are_neither_cut_nor_drawn_on_top_of_each_other(tmp_path: Path) -> None:
    for most in range(4, 12):
        clipped = labels.clip(f"abc{FAMILY}defg{FAMILY}hij", most)
        assert len(clipped) <= most
        assert clipped.count("\u200d") == 2 * clipped.count(FAMILY)
    assert labels.clip("a" * 9 + "e\u0301" + "b" * 12, 20) == "a" * 9 + "…" + "b" * 9
    panel = Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0], objects=[f"{FAMILY} at work", "x"], assessors=["A"])
    chart = plots.graph(panel)
    plots.save(chart, tmp_path / "graph.svg")
    assert FAMILY in (tmp_path / "graph.svg").read_text(encoding="utf-8")
    apart = Panel.from_arrays(
        [0, 1], [0, 0], [1.0, 2.0], objects=[FAMILY.replace("\u200d", "") + " at work", "x"], assessors=["A"]
    )
    plots.save(chart, tmp_path / "joined.png")
    plots.save(plots.graph(apart), tmp_path / "apart.png")
    assert (tmp_path / "joined.png").read_bytes() == (tmp_path / "apart.png").read_bytes()


def test_a_sentence_goes_on_after_a_name_that_is_read_from_the_right() -> None:
    assert labels.named("\u05d0\u05d1", "object") == "\u05d0\u05d1\u200e"
    assert labels.named("Ann", "assessor") == "Ann"
    names = ["\u05d0\u05d1 \u05d2\u05d3", "x"]
    panel = Panel.from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2.0, 3.0, 9.0], objects=names, assessors=names)
    for chart in (plots.residuals(eh.calibrate(panel)), plots.biases(eh.calibrate(panel))):
        for line in chart.to_dict()["title"]["text"]:
            assert line.startswith("\u200e") == bool(re.search("[\u05d0-\u05d3]", line))


@pytest.mark.slow
def test_a_page_of_a_picture_is_drawn_without_a_network_and_tells_about_a_point(tmp_path: Path) -> None:
    path = tmp_path / "residuals.html"
    plots.save(plots.residuals(fit_of("small")), path)
    with open_browser() as context:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        dots = page.locator(".mark-symbol path")
        dots.nth(3).wait_for(timeout=30_000)
        dots.nth(3).hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible", timeout=5_000)
        assert "fitted" in page.locator("#vg-tooltip-element").inner_text()
        assert said == []


def test_a_report_evaluates_no_code(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    eh.report(fit_of("small"), path, top=3, comparison=False)
    assert "unsafe-eval" not in path.read_text(encoding="utf-8")


def test_altair_is_imported_with_the_first_picture_only() -> None:
    program = (
        "import sys, evenhand as eh; eh.calibrate(eh.Panel.from_arrays([0, 1], [0, 0], [1.0, 2.0])); "
        "eh.plots.__all__; assert 'altair' not in sys.modules; eh.plots.values; assert 'altair' in sys.modules; "
        "from evenhand.plots import graph; assert callable(graph); assert callable(eh.plots.graph)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
