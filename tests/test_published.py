"""Without the published data the tests that need it are skipped, counted and, where it is required, errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PUBLISHED, REQUIRE_PUBLISHED

HERE = Path(__file__).parent
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(3))
def test_with_data(number: int, shared_data: Path) -> None:
    assert shared_data.is_dir()

def test_without_data() -> None:
    pass

def test_that_skips_by_itself() -> None:
    pytest.skip("for another reason")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a repository with our fixtures and five tests, three of which need the published data."""
    tests = tmp_path / "repository" / "tests"
    tests.mkdir(parents=True)
    shutil.copyfile(HERE / "conftest.py", tests / "conftest.py")
    (tests / "test_five.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def publish(tree: Path) -> None:
    data = tree / "shared" / "data"
    data.mkdir(parents=True)
    for name in PUBLISHED:
        (data / name).touch()


def lines_of(tree: Path, *options: str, required: bool = False) -> tuple[int, list[str]]:
    """Run the tests of a tree; return the exit code and what was printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment.pop(REQUIRE_PUBLISHED, None)
    if required:
        environment[REQUIRE_PUBLISHED] = "1"
    called = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *options, "tests"]
    done = subprocess.run(called, cwd=tree / "repository", env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-q",), ("-n", "2"), ("-q", "-n", "2")], ids=" ".join)
def test_the_last_line_counts_what_was_skipped_for_want_of_the_data(tree: Path, options: tuple[str, ...]) -> None:
    code, lines = lines_of(tree, *options)
    assert code == 0
    folder = tree.resolve() / "shared" / "data"
    assert lines[-1] == f"3 tests were skipped because the published data of the paper is not at {folder}."
    assert re.search(r"\b1 passed, 4 skipped in ", lines[-2]), "pytest's own counts stand before it"


def test_a_single_test_is_counted_as_one(tree: Path) -> None:
    assert lines_of(tree, "-k", "with_data and 1")[1][-1].startswith("1 test was skipped because")


def test_a_part_of_the_data_is_not_enough(tree: Path) -> None:
    publish(tree)
    (tree / "shared" / "data" / PUBLISHED[-1]).unlink()
    code, lines = lines_of(tree, "-rs")
    assert code == 0
    assert lines[-1].startswith("3 tests were skipped")
    assert any(PUBLISHED[-1] in line and PUBLISHED[0] not in line for line in lines)


@pytest.mark.parametrize("required", [False, True])
def test_with_the_data_nothing_is_said(tree: Path, required: bool) -> None:
    publish(tree)
    code, lines = lines_of(tree, required=required)
    assert code == 0
    assert re.search(r"\b4 passed, 1 skipped in ", lines[-1])


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=" ".join)
def test_where_the_data_is_required_its_want_is_an_error(tree: Path, options: tuple[str, ...]) -> None:
    code, lines = lines_of(tree, *options, required=True)
    assert code == 1
    assert re.search(r"\b1 passed, 1 skipped, 3 errors in ", lines[-1])
    assert any("the published data of the paper is not at" in line for line in lines)


def test_the_checks_before_a_change_lands_require_the_data() -> None:
    script = (HERE.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert script.index(f"export {REQUIRE_PUBLISHED}=1") < script.index("make test")


def test_the_published_data_has_one_door() -> None:
    named = re.compile(r"[\"']shared[\"']\s*/|shared/data")
    found = [path.name for path in sorted(HERE.glob("*.py")) if named.search(path.read_text(encoding="utf-8"))]
    assert found == ["conftest.py", Path(__file__).name]
