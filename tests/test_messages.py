"""Messages name arguments as their reader gives them: in Python, or as options on the command line."""

import ast
import pickle
import re
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.options import as_typed
from evenhand.errors import InputError, NotConnectedError, Problem
from evenhand.words import argument, by_door, carried, spoken

SOURCE = Path(eh.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")

ON_PAPER = {"reports/template.py", "web/calibrating.py", "web/views/record.py"}
"""What is written into a workbook to be filled in, or into the archive of a frozen decision, tells its reader what to
type, whoever made it."""


def test_an_argument_is_named_as_in_python_by_default() -> None:
    assert argument("sheet") == "sheet"
    assert argument("duplicates", "keep") == 'duplicates="keep"'
    assert argument("aliases", {"hoch": "high"}) == 'aliases={"hoch": "high"}'
    assert argument("per_component", True) == "per_component=True"
    assert argument("value_sd", 3.5) == "value_sd=3.5"


def test_the_command_line_names_its_own_options() -> None:
    command = main.commands["calibrate"]
    with click.Context(command), spoken(as_typed):
        assert argument("sheet") == "--sheet"
        assert argument("object", "NAME") == "--object NAME"
        assert argument("aliases", {"hoch": "high"}) == "--alias hoch=high"
        assert argument("covariates", "day") == "--covariate day"
        assert argument("per_component", True) == "--per-component"
        assert argument("cluster", "local:2") == "--cluster local:2"
        assert argument("not_an_option", 3) == "--not-an-option 3"
        assert by_door("a call", "a command") == "a command"
    assert by_door("a call", "a command") == "a call"


def test_the_same_refusal_is_told_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1], [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(NotConnectedError, match=r"on its own \(per_component=True\)"):
        eh.calibrate(panel)
    file = tmp_path / "apart.csv"
    file.write_text("object,assessor,score\nx,a,1\nx,b,2\ny,c,3\ny,d,4\n")
    told = CliRunner().invoke(main, ["calibrate", str(file)])
    assert "on its own (--per-component)." in told.stderr
    assert "=True" not in told.stderr


def test_workers_of_a_cluster_name_arguments_as_whoever_asked_them(tmp_path: Path) -> None:
    pytest.importorskip("dask.distributed")
    with click.Context(main.commands["calibrate"]), spoken(as_typed):
        speaker = pickle.loads(pickle.dumps(carried(["aliases", "missing"])))
    with spoken(speaker):
        assert argument("aliases", {"hoch": "high"}) == "--alias hoch=high"
        assert argument("missing") == "--missing"
    with spoken(pickle.loads(pickle.dumps(carried(["missing"])))):
        assert argument("missing") == "missing"
    file = tmp_path / "bad.parquet"
    pl.DataFrame({"object": ["x", "y"], "assessor": ["A", "A"], "score": ["1", "odd"]}).write_parquet(file)
    told = CliRunner().invoke(
        main, ["calibrate", str(file), "--cluster", "local:1", "--out", str(tmp_path / "results")]
    )
    assert told.exit_code == 2
    assert "(--missing names words for that)" in told.stderr


def test_a_wrong_number_is_called_by_the_name_that_it_was_given_by(tmp_path: Path) -> None:
    panel = eh.demo()
    with pytest.raises(InputError, match=r"^value_sd must be"):
        eh.calibrate(panel, shrink=True, value_sd=-3.0)
    told = CliRunner().invoke(main, ["demo", "--save", str(tmp_path / "demo.csv")])
    assert told.exit_code == 0
    told = CliRunner().invoke(main, ["calibrate", str(tmp_path / "demo.csv"), "--shrink", "--value-sd", "-3"])
    assert "--value-sd must be a positive number" in told.stderr


def test_further_problems_are_found_where_the_reader_can_look() -> None:
    problems = [Problem("bad", f"Number {at} is bad.") for at in range(3)]
    assert str(InputError(problems)).endswith("(2 more problems; the attribute problems has all.)")
    with spoken(as_typed):
        assert str(InputError(problems)).endswith("(2 more problems; `evenhand check` lists all.)")


def messages_in(path: Path) -> list[str]:
    """Return the texts of a module but for docstrings, and for those that are said on the command line alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "by_door":
            left_out.update(id(part) for part in ast.walk(node.args[1]))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out
    ]


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if "cli" not in path.parts)
)
def test_no_message_of_the_library_names_an_option(name: str) -> None:
    if name in ON_PAPER:
        return
    named = [text for text in messages_in(SOURCE / name) if OPTION.search(text)]
    assert named == [], "name the argument by words.argument, which the command line turns into an option"


def test_the_command_line_speaks_for_itself_alone() -> None:
    CliRunner().invoke(main, ["--version"])
    assert argument("sheet") == "sheet"
