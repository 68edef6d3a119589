"""``evenhand plot`` draws every picture of a file, and refuses what would have no effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import evenhand as eh
from evenhand import plots
from evenhand.cli import main
from evenhand.cli.plotting import KINDS
from evenhand.data import demo_path

NEEDED = {"top": ("--top", "10")}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["plot", *map(str, arguments)])


def drawn(kind: str, place: Path, *options: object) -> dict[str, Any]:
    """Return the chart that a command writes."""
    result = run(kind, demo_path(), *NEEDED.get(kind, ()), *options, "-o", place)
    assert result.exit_code == 0, result.output
    return dict(json.loads(place.read_text(encoding="utf-8")))


def as_written(chart: Any) -> dict[str, Any]:
    return dict(json.loads(json.dumps(chart.to_dict())))


def test_every_picture_of_the_library_has_a_kind() -> None:
    functions = {name.replace("_", "-") for name in plots.__all__} - {"save"}
    assert functions | {"all-methods"} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_the_picture_of_the_library(kind: str, tmp_path: Path) -> None:
    panel = eh.read_panel(demo_path())
    fit, average = eh.calibrate(panel), eh.simple_average(panel)
    function = getattr(plots, kind.replace("-", "_"), None)
    expected: Any
    if kind in ("graph", "assessor-graph", "design"):
        expected = function(panel)  # type: ignore[misc]
    elif kind in ("top", "rankogram"):
        expected = function(eh.rank(fit, top=10 if kind == "top" else None))  # type: ignore[misc]
    elif kind in ("methods", "bland-altman"):
        expected = function(average, fit)  # type: ignore[misc]
    elif kind == "all-methods":
        expected = plots.methods(eh.compare(panel, candidates=[]))
    else:
        expected = function(fit)  # type: ignore[misc]
    assert drawn(kind, tmp_path / "picture.json") == as_written(expected)


def test_options_of_reading_method_and_question_are_heeded(tmp_path: Path) -> None:
    panel = eh.read_panel(demo_path())
    place = tmp_path / "picture.json"
    assert drawn("biases", place, "--method", "iba") == as_written(plots.biases(eh.incomplete_block(panel)))
    ranking = eh.rank(eh.calibrate(panel), top=5, seed=3)
    assert drawn("values", place, "--top", 5, "--seed", 3) == as_written(plots.values(ranking))
    assert drawn("values", place, "--most", 7) == as_written(plots.values(eh.calibrate(panel), most=7))
    expected = plots.confidence(eh.calibrate(panel), by="assessor")
    assert drawn("confidence", place, "--by", "assessor") == as_written(expected)


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_the_suffix_says_what_is_written(suffix: str, start: bytes, tmp_path: Path) -> None:
    place = tmp_path / f"biases{suffix}"
    result = run("biases", demo_path(), "-o", place)
    assert result.exit_code == 0, result.output
    assert place.read_bytes().startswith(start)
    finding = " ".join(plots.biases(eh.calibrate(eh.read_panel(demo_path()))).to_dict()["title"]["text"])
    assert result.stdout == f"{finding}.\nWritten to {place}.\n"


def test_without_a_place_the_picture_is_named_after_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("design", demo_path(), "--json")
    assert json.loads(result.stdout)["picture"] == "design.svg"
    assert [file.name for file in tmp_path.iterdir()] == ["design.svg"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nonsense"], "is not one of 'values', 'biases', 'top', 'rankogram', 'graph', 'assessor-graph', 'design'"),
        (["graph", "--method", "iba"], "--method has no effect on graph"),
        (["design", "--shrink"], "--shrink has no effect on design"),
        (["all-methods", "--method", "iba"], "--method has no effect on all-methods"),
        (["biases", "--top", "3"], "--top has no effect on biases: use it with values, top or rankogram"),
        (["top"], "top needs --top K"),
        (["top", "--top", "3", "--most", "2"], "--most has no effect on top: use it with values or rankogram"),
        (["values", "--by", "level"], "--by has no effect on values: use it with confidence"),
        (["values", "-o", "x.xlsx"], "name it .svg, .png, .pdf, .html or .json"),
        (["values", "-o", "nowhere/x.svg"], "nowhere"),
        (["biases", "--method", "sa"], "There are no biases to show"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(arguments[0], demo_path(), *arguments[1:])
    assert result.exit_code == 2, result.output
    assert why in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_help_names_every_kind() -> None:
    said = run("--help").output.replace("-\n  ", "-")
    for kind in KINDS:
        assert kind in said
