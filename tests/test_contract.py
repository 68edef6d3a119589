"""What users rely on, frozen: answers of every command, refusals, names, layouts of files, fingerprints.

The golden files in ``tests/golden`` say what the code does today. ``python tests/test_contract.py`` rewrites them; read
the difference before you commit it. Only the command line and public names are used, so that modules can move.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import fnmatch
import functools
import importlib
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import openpyxl
import polars as pl
import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand import errors
from evenhand.reports.summary import problem_records
from golden_cases import COMMANDS, ERRORS, NOTES, SLOW, WRITTEN, beside_the_panels, calls, results

GOLDEN = Path(__file__).parent / "golden"
SOURCE = Path(eh.__file__).parent
main: click.Group = importlib.import_module("evenhand.__main__").main

# --- how close is close enough -------------------------------------------------------------------

SOLVED: Final = 1e-9
"""Relative tolerance of what follows from the equations: values, variances, residuals."""
ESTIMATED: Final = 1e-6
"""That of what a search finds, since it stops where a step no longer matters: variances of refined models, medians,
evidence, and everything that depends on them."""
COUNTED: Final = 2e-3
"""Absolute tolerance of shares of draws: another rounding of a draw may turn a few of 10,000 of them."""
SEARCHED: Final = {"refinements", "criteria", "compare"}
"""Golden files in which numbers are estimated throughout."""
ESTIMATED_KEYS: Final = {"log_evidence", "mu2", "noise_variance"}
COUNTED_KEYS: Final = {"p_top", "p_top_error", "p_first", "sucra", "expected_rank", "expected_rank_error"}

MASKS: Final = (
    (re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b"), "FINGERPRINT"),
    (re.compile(r"(?<=fingerprint )[0-9a-f]{16}\b"), "FINGERPRINT"),
    (re.compile(rf"(?<![\d.]){re.escape(eh.__version__)}(?![\d.])"), "VERSION"),
    (re.compile(r"(?<=of an unknown kind \()[^()]*|(?<=not well-formed XML \()[^()]*"), "REASON"),
    (re.compile(r"(?<=unpacks to )[\d,]+(?= bytes)"), "SIZE"),  # which depends on who wrote the workbook
)
"""What differs from release to release, or is in the words of another library."""


def differences(golden: Any, found: Any, rel: float = SOLVED, path: str = "", key: str = "") -> Iterator[str]:
    """Yield where a finding is not what the golden file says."""
    if isinstance(golden, dict) and isinstance(found, dict):
        if list(golden) != list(found):
            yield f"{path}: the keys are {list(found)}, not {list(golden)}"
        else:
            for name in golden:
                yield from differences(golden[name], found[name], rel, f"{path}.{name}", name)
    elif isinstance(golden, list) and isinstance(found, list):
        if len(golden) != len(found):
            yield f"{path}: there are {len(found)}, not {len(golden)}"
        for at, (one, other) in enumerate(zip(golden, found, strict=False)):
            yield from differences(one, other, rel, f"{path}[{at}]", key)
    elif type(golden) is float and type(found) is float:
        tolerance = max(rel, ESTIMATED) if key in ESTIMATED_KEYS else rel
        most = COUNTED * (10 if key.startswith("expected_rank") else 1) if key in COUNTED_KEYS else tolerance
        if not math.isclose(golden, found, rel_tol=tolerance, abs_tol=most):
            yield f"{path}: {found!r}, not {golden!r}"
    elif type(golden) is not type(found) or golden != found:
        yield f"{path}: {found!r}, not {golden!r}"


def masked(text: str) -> str:
    """Return text without what is not part of the contract."""
    text = text.replace(os.path.realpath(os.getcwd()), "HERE").replace(os.getcwd(), "HERE")
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


# --- golden files --------------------------------------------------------------------------------


def dumped(value: Any, indent: str = "") -> str:
    """Return JSON that shows a difference in few lines: whatever is short stands in one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + len(indent) <= 118 or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {dumped(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + dumped(one, inner) for one in value) + f"\n{indent}]"


def rounded(value: Any) -> Any:
    """Return a value with the digits that are compared, so that a file does not change with the machine."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if type(value) is float:
        return float(f"{value:.12g}") if abs(value) > 1e-11 else 0.0
    return value


def golden(name: str) -> Any:
    """Return what a golden file says."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def write_golden(name: str, found: Any) -> bool:
    """Write a golden file; return whether it changed."""
    place, text = GOLDEN / f"{name}.json", dumped(rounded(found)) + "\n"
    before = place.read_text(encoding="utf-8") if place.exists() else ""
    place.write_text(text, encoding="utf-8")
    return before != text


def expect(name: str, found: Any, rel: float = SOLVED) -> None:
    """Compare a finding with a golden file."""
    said = list(differences(golden(name), rounded(found), rel))
    assert not said, f"{name}.json says otherwise ({len(said)} differences):\n" + "\n".join(said[:20])


# --- running commands ----------------------------------------------------------------------------


@contextlib.contextmanager
def raised() -> Iterator[list[errors.EvenhandError]]:
    """Collect the errors that are made, whether or not somebody catches them."""
    found: list[errors.EvenhandError] = []

    def begin(self: errors.EvenhandError, *args: Any) -> None:
        Exception.__init__(self, *args)
        found.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors.EvenhandError, "__init__", begin)
        yield found


def described(error: errors.EvenhandError) -> dict[str, Any]:
    """Return the class of an error, and its problems, or its kind."""
    if isinstance(error, errors.InputError):
        records = problem_records(error.problems)
        problems = [{name: one[name] for name in ("kind", "where", "message")} for one in records]
        return {"error": type(error).__name__, "problems": problems}
    kind = {"kind": error.kind} if isinstance(error, errors.NoDesignError) else {}
    return {"error": type(error).__name__, **kind, "message": str(error)}


def run(command: str) -> dict[str, Any]:
    """Run a command here; return its exit code, what it printed, and the error that it ended with."""
    with raised() as made:
        result = CliRunner().invoke(main, shlex.split(command), prog_name="evenhand")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    printed: Any = masked(result.stdout)
    with contextlib.suppress(json.JSONDecodeError):
        printed = json.loads(printed)
    said = masked(result.stderr).splitlines()
    answer: dict[str, Any] = {"exit": result.exit_code, "stderr": said}
    ended = [error for error in made if said and said[-1] == masked(f"Error: {error}")]
    if ended:
        answer["ended"] = described(ended[-1])
    lines = [line.rstrip() for line in printed.splitlines()] if isinstance(printed, str) else printed
    return {**answer, "stdout": lines}


def refusal(command: str) -> dict[str, Any]:
    """Run a command that is refused; return the exit code, the sentence, and how many problems of each kind."""
    answer = run(command)
    ended = answer.get("ended", {})
    problems = ended.get("problems", [ended] if "kind" in ended else [])
    if isinstance(answer["stdout"], dict):  # of check, which lists all of them
        problems = answer["stdout"]["problems"]
    kinds = [one["kind"] for one in problems]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    found = {"exit": answer["exit"], "error": ended.get("error"), "kinds": counts, "stderr": answer["stderr"]}
    further = [f"{one['where']}: {one['message']}" for one in problems[1:12]]
    return found | ({"further": further} if further else {})


def refused_call(call: Callable[[], Any]) -> dict[str, Any]:
    """Return what a call from Python is refused with."""
    try:
        call()
    except errors.EvenhandError as error:
        return described(error)
    return {"error": None}


@pytest.fixture(scope="module")
def workplace() -> Iterator[Path]:
    with beside_the_panels() as folder:
        yield folder


def answers(name: str) -> dict[str, Any]:
    return {command: run(command) for command in COMMANDS[name]}


def refusals(name: str) -> dict[str, Any]:
    return {command: refusal(command) for command in sorted(ERRORS[name])}


def notes() -> dict[str, Any]:
    """Return the notes of commands."""
    found: dict[str, Any] = {}
    for command in NOTES:
        answer = run(command)["stdout"]
        assert isinstance(answer, dict), command
        listed = answer["problems"] if command.startswith("check ") else answer["notes"]
        found[command] = listed
    return found


def refused_calls() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {name: refused_call(call) for name, call in sorted(calls().items())}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_answer_as_before(name: str, workplace: Path) -> None:
    expect(name, answers(name), ESTIMATED if name in SEARCHED else SOLVED)


@pytest.mark.parametrize("name", ERRORS)
def test_commands_refuse_as_before(name: str, workplace: Path) -> None:
    expect(name, refusals(name))


def test_notes_are_those_of_before(workplace: Path) -> None:
    expect("notes", notes())


def test_calls_from_python_are_refused_as_before(workplace: Path) -> None:
    expect("errors-calls", refused_calls())


def test_calls_that_are_refused_are_all_refused() -> None:
    assert [name for name, one in golden("errors-calls").items() if one["error"] is None] == []
    answered = [command for name in ERRORS for command, one in golden(name).items() if one["exit"] == 0]
    assert answered == []


# --- layouts -------------------------------------------------------------------------------------


def names() -> dict[str, list[str]]:
    """Return the public names."""
    raised = [name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)]
    return {"evenhand": sorted(eh.__all__), "errors": sorted([*raised, "Problem"]), "plots": sorted(eh.plots.__all__)}


def options() -> dict[str, Any]:
    """Return the options of every command: how they are written, what they take and what they are by default."""
    return {name: [option_facts(one) for one in command.params] for name, command in sorted(main.commands.items())}


def option_facts(option: click.Parameter) -> dict[str, Any]:
    facts: dict[str, Any] = {"option": " ".join((*option.opts, *option.secondary_opts))}
    if isinstance(option.type, click.Choice):
        facts["choices"] = [str(choice) for choice in option.type.choices]
    if isinstance(option.type, click.IntRange | click.FloatRange):
        facts["range"] = [option.type.min, option.type.max]
    default = option.to_info_dict().get("default")
    if isinstance(default, str | int | float | list | tuple) and default is not False and default != ():
        facts["default"] = default
    for name in ("required", "multiple", "is_flag"):
        if getattr(option, name, False):
            facts[name] = True
    return facts


def tables() -> dict[str, Any]:
    """Return the columns of every result that has a table, with their types in polars."""
    found: dict[str, Any] = {}
    made = results()
    for name, result in made.items():
        frame = result.to_frame()
        found[name] = {column: str(kind) for column, kind in frame.schema.items()}
    found["CriteriaFit, biases"] = list(made["CriteriaFit"].biases_to_frame().columns)
    return found


def files() -> dict[str, Any]:
    """Return what commands write: for each file what it is made of, with its first row."""
    found: dict[str, Any] = {}
    for number, command in enumerate(WRITTEN):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir():
                if name.endswith((".csv", ".packed")):
                    os.symlink(os.path.abspath(name), os.path.join(folder, name))
            before = set(os.listdir(folder))
            with contextlib.chdir(folder):
                answer = run(command)
                written = sorted(set(os.listdir()) - before)
                layout = {name: layout_of(Path(name)) for name in written}
        assert answer["exit"] == 0, (number, command, answer)
        found[command] = layout
    return found


def layout_of(place: Path) -> Any:
    """Return the layout of a file or a directory that was written."""
    if place.is_dir():
        return {one.name: layout_of(one) for one in sorted(place.iterdir())}
    if place.suffix == ".parquet":
        frame = pl.read_parquet(place)
        return {"columns": {name: str(kind) for name, kind in frame.schema.items()}, "rows": frame.height}
    if place.suffix in (".csv", ".tsv"):
        text = place.read_bytes().decode()
        mark = "with a byte order mark" if text.startswith("\ufeff") else "without a byte order mark"
        rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter="," if place.suffix == ".csv" else "\t"))
        first = [plain(cell) for cell in rows[1]] if len(rows) > 1 else []
        return {"encoding": mark, "header": rows[0], "rows": len(rows) - 1, "first": first}
    if place.suffix == ".xlsx":
        book = openpyxl.load_workbook(place)
        sheets: dict[str, Any] = {}
        for sheet in book:
            header, first = ([plain(cell.value) for cell in sheet[row]] for row in (1, 2))
            sheets[sheet.title] = {"header": header, "rows": sheet.max_row - 1, "first": first}
            if sheet.title == "notes":
                rows = sheet.iter_rows(min_row=2, values_only=True)
                sheets[sheet.title] = {"header": header, "notes": [[plain(cell) for cell in row] for row in rows]}
            if sheet.sheet_state != "visible":
                sheets[sheet.title]["state"] = sheet.sheet_state
        return sheets
    if place.suffix == ".json":
        return {"keys": list(json.loads(place.read_bytes()))}
    return "a file"


def plain(cell: Any) -> Any:
    """Return a cell with a number as a float, and text without what changes with the version."""
    if isinstance(cell, str):
        with contextlib.suppress(ValueError):
            return float(cell) if re.search(r"\d\.\d", cell) else masked(cell)
        return masked(cell)
    return cell


def fingerprints() -> dict[str, Any]:
    """Return hashes of panels, which are the same however a panel was read, and of whole results."""
    levels, uncertain = eh.read_panel("levels.csv"), eh.read_panel("uncertain.csv")
    weights = eh.read_panel("weights.csv")
    rich = eh.read_panel("rich.csv", covariates=["order", "day"])
    criteria = eh.read_panel("criteria.csv", criterion="criterion")
    fits = {
        "levels": eh.calibrate(levels),
        "levels, averages": eh.simple_average(levels),
        "levels, anchored": eh.calibrate(levels, gauge=eh.Anchor("B")),
        "levels, shrunk": eh.refine(levels, shrink=True),
        "levels, tabs": eh.calibrate(eh.read_panel("tabs.tsv")),
        "levels, workbook": eh.calibrate(eh.read_panel("book.xlsx")),
        "levels, packed": eh.calibrate(eh.read_panel("levels.packed")),
        "uncertain": eh.calibrate(uncertain, noise="declared"),
        "uncertain, decimal commas": eh.calibrate(eh.read_panel("decimal.csv"), noise="declared"),
        "uncertain, ods": eh.calibrate(eh.read_panel("book.ods"), noise="declared"),
        "weights": eh.calibrate(weights),
        "weights, parquet": eh.calibrate(eh.read_panel("table.parquet")),
        "plain": eh.calibrate(eh.read_panel("plain.csv")),
        "plain, wide": eh.calibrate(eh.read_panel("wide.csv", wide=True)),
        "plain, folder": eh.calibrate(eh.read_panel("folder")),
        "rich": eh.refine(rich, covariates=("order", "day")),
        "criteria": eh.calibrate_criteria(criteria).combined,
    }
    found = {}
    for name, fit in fits.items():
        mark = eh.fingerprint(fit, top=3)
        settings = json.loads(json.dumps(dict(mark.settings), default=repr))
        found[name] = {"data": mark.data, "settings": settings, "whole": mark.whole}
    return {"version": eh.__version__, "fits": found}


def test_public_names_are_those_of_before() -> None:
    expect("names", names())


def test_commands_have_the_options_of_before() -> None:
    expect("options", options())


def test_tables_have_the_columns_of_before(workplace: Path) -> None:
    expect("tables", tables())


def test_files_have_the_layout_of_before(workplace: Path) -> None:
    expect("files", files(), ESTIMATED)


def test_a_workbook_of_figure_1_can_be_written(workplace: Path) -> None:
    assert run("reproduce figure-1 --out reproduce.xlsx")["exit"] == 0


def test_fingerprints_are_those_of_before(workplace: Path) -> None:
    found, before = fingerprints(), golden("fingerprints")
    if found["version"] != before["version"]:  # the version is part of a whole fingerprint
        for one in (*found["fits"].values(), *before["fits"].values()):
            one.pop("whole")
        found["version"] = before["version"]
    assert not list(differences(before, found))


def test_a_panel_has_one_fingerprint_however_it_was_read() -> None:
    found = {name: one["data"] for name, one in golden("fingerprints")["fits"].items()}
    for panel in ("levels", "uncertain", "weights", "plain"):
        assert len({data for name, data in found.items() if name.split(",")[0] == panel}) == 1


def test_a_report_that_was_written_verifies(workplace: Path) -> None:
    assert run("report uncertain.csv --top 2 --quick --seed 3 -o verified.html")["exit"] == 0
    assert run("report uncertain.csv --top 2 --seed 3 --verify verified.html")["exit"] == 0
    assert run("report uncertain.csv --top 2 --seed 4 --verify verified.html")["exit"] == 1
    mark = eh.fingerprint(eh.calibrate(eh.read_panel("uncertain.csv")), top=2, seed=3, draws=10_000, lottery_seed=None)
    assert mark.whole in Path("verified.html").read_text(encoding="utf-8")


# --- kinds ---------------------------------------------------------------------------------------

NOT_PROVOKED: Final = {
    "assessments": "needs more than 100,000 assessments in a workbook",
    "chosen": "the web application alone records what a panel chose; its tests do",
    "provisional": "files of the web application and workbooks alone leave out what must be checked; their tests do",
    "cannot_draw": "needs a drawing engine that fails; the tests of pictures make one",
    "drawn": "no small panel is known whose correlation has to be drawn towards independence",
    "large": "needs a design of more than a thousand objects and assessors",
    "influence": "stands in the notes of a workbook without its kind; files.json has the sentence",
    "no_permission": "the superuser may read everything",
    "repeated_cells": "needs a workbook that no program writes; the tests of workbooks make one",
    "robustness": "stands in the notes of a workbook without its kind; files.json has the sentence",
    "not_found": "needs a search that runs out of time; the tests of designs make one",
    "together": "no rules are known that can each be kept, but not together, and have no smaller cause",
    "time_limit": "depends on the clock",
    "uneven_load": "stands in the notes of a design without its kind; design.json has the sentence",
    **dict.fromkeys(
        (
            *("not_pairs", "anonymous_assessors", "not_scores", "names_only", "other_sheets", "no_scores", "repeated"),
            *("bad_data_line", "aggregates", "comparisons", "metrics_as_assessors", "bad_json", "one_judge", "bad_xml"),
            *("pseudonyms", "weighted_sum", "bad_encoding", "damaged_file", "expertise_as_confidence"),
        ),
        "needs a file of another system; the tests of formats make one",
    ),
    **dict.fromkeys(
        (
            *("ambiguous_layout", "several_sheets", "sheet_per_assessor", "another_scale", "like_a_mean", "positions"),
            *("mixed_scale", "summary_rows", "no_assessment", "no_header", "filled_down", "banner"),
            "ambiguous_direction",
        ),
        "needs a file of an odd layout; the corpus of files has one",
    ),
    **dict.fromkeys(
        (
            *("authors", "bad_cell", "coauthors", "commitment", "faint_bids", "guessable", "idle", "no_address"),
            *("not_taken_back", "probability"),
        ),
        "needs lists and files of a design; the tests of designs make them",
    ),
    "corrected": "needs the row of a cell; the tests of files correct one",
    "in_use": "needs a second server on one directory; the tests of the server start one",
    "bad_settings": "needs settings beside a file; the tests of what was settled make them",
    "unreadable": "needs a disk that fails while it is read",
    "unrest": "needs an iteration of a thousand steps, whose last digits differ from machine to machine",
}
"""Kinds that stand in the source and in no golden file, with the reason."""

NOT_KINDS: Final = {
    **dict.fromkeys(
        ("conflicts", "connected", "limit", "linked", "max_load", "min_load", "per_object"),
        "a part of the cause that a refused design has",
    ),
    **dict.fromkeys(("added", "assessor", "group", "others"), "what was settled by hand on the pages"),
    "": "the layout of a list of records",
    "across": "a layout",
    "long": "a layout",
}
"""What is called a kind in the source and is none of a problem, with what it is."""


@functools.cache
def kinds_in_source() -> dict[str, set[str]]:
    """Return every kind of problem that stands in the source, an f-string as a pattern, with the files it stands in.

    A kind is what is given as ``kind``, by name or by place, to any function that takes one, the first argument of a
    ``Problem``, or what ``"kind"`` is in a dictionary.
    """
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    places: dict[str, set[int]] = {"Problem": {0}}
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            takes = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            if "kind" in takes:
                places.setdefault(node.name, set()).add(takes.index("kind") - (takes[0] in ("self", "cls")))
    found: dict[str, set[str]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            for one in given_as_kind(node, places):
                text = kind_text(one)
                if text is not None:
                    found.setdefault(text, set()).add(path.stem)
    return found


def given_as_kind(node: ast.AST, places: dict[str, set[int]]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "kind")
    if not isinstance(node, ast.Call):
        return
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name not in ("argsort", "sort"):
        yield from (one.value for one in node.keywords if one.arg == "kind")
        yield from (node.args[at] for at in sorted(places.get(name, ())) if at < len(node.args))


def kind_text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in node.values)
    return None


def kinds_in_golden_files() -> set[str]:
    """Return every kind that some golden file holds."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("kind"), str):
                found.add(value["kind"])
            if isinstance(value.get("kinds"), dict):
                found.update(value["kinds"])
            for one in value.values():
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)

    for path in sorted(GOLDEN.glob("*.json")):
        look(json.loads(path.read_text(encoding="utf-8")))
    return found


def test_every_kind_of_problem_is_provoked_or_said_why_not() -> None:
    provoked = kinds_in_golden_files()
    missing = {
        kind
        for kind in kinds_in_source()
        if kind not in NOT_KINDS and not any(fnmatch.fnmatchcase(one, kind) for one in provoked)
    }
    assert missing == set(NOT_PROVOKED)


def test_what_is_not_provoked_still_stands_in_the_source() -> None:
    assert {*NOT_PROVOKED, *NOT_KINDS} <= set(kinds_in_source())


# --- the real thing ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["calibrate levels.csv --json", "calibrate apart.csv --json"])
def test_a_process_of_its_own_answers_the_same(command: str, workplace: Path) -> None:
    called = [sys.executable, "-m", "evenhand", *shlex.split(command)]
    done = subprocess.run(called, capture_output=True, text=True, encoding="utf-8", check=False)
    here = run(command)
    assert (done.returncode, masked(done.stderr).splitlines()) == (here["exit"], here["stderr"])
    printed = json.loads(done.stdout) if done.stdout else []
    assert not list(differences(here["stdout"], printed))


def clustered() -> dict[str, Any]:
    """Return the answers and refusals of a cluster."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the cluster's own
        found: dict[str, Any] = {command: run(command) for command in SLOW}
        drawn = eh.calibrate_distributed("folder", "clustered-drawn", cluster="local:1", dense_limit=2)
    found["written"] = {name: layout_of(Path(name)) for name in ("clustered", "clustered-packed")}
    found["notes on draws"] = drawn.summary["notes"]
    found["columns"] = list(drawn.to_frame().columns)
    return found


@pytest.mark.slow
def test_a_cluster_answers_as_before(workplace: Path) -> None:
    expect("cluster", clustered(), ESTIMATED)


def test_golden_files_hold_no_place_and_no_version() -> None:
    for path in sorted(GOLDEN.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/tmp|/home|\\\\Users|/var/", text), path.name
        if path.stem != "fingerprints":
            assert f'"{eh.__version__}"' not in text, path.name


@pytest.mark.parametrize(
    ("golden", "found"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1.0}, {"a": 1.0 + 1e-8}),
        ({"p_top": 0.5}, {"p_top": 0.51}),
        ([1, 2], [1]),
        ("a", "b"),
        (None, 0.0),
        (True, 1),
    ],
)
def test_a_difference_is_noticed(golden: Any, found: Any) -> None:
    assert list(differences(golden, found))
    assert not list(differences(golden, golden))


# --- renewing the golden files -------------------------------------------------------------------


def findings() -> dict[str, Callable[[], Any]]:
    """Return how each golden file is made."""
    return {
        **{name: functools.partial(answers, name) for name in COMMANDS},
        **{name: functools.partial(refusals, name) for name in ERRORS},
        "errors-calls": refused_calls,
        "notes": notes,
        "names": names,
        "options": options,
        "tables": tables,
        "files": files,
        "fingerprints": fingerprints,
        "cluster": clustered,
    }


def test_every_golden_file_is_made_by_something() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(findings())


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(findings())
    with beside_the_panels():
        for one in chosen:
            print("renewed " if write_golden(one, findings()[one]()) else "as it was ", one, flush=True)
