"""What a plain installation can do, what it says of the rest, and that wheel and sdist install: the last is slow."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from evenhand import frames
from evenhand.errors import MissingPackageError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("large", "pictures", "design", "distributed", "all")
MOST_MEGABYTES = 300


def plain_modules() -> set[str]:
    """Return the names that can be imported after a plain installation, besides Python's own."""
    found: set[str] = set()
    waiting = [Requirement(one).name for one in PROJECT["dependencies"]]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        for one in map(Requirement, importlib.metadata.requires(name) or []):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                waiting.append(one.name)  # noqa: PERF401  the list grows while it is read
    owners = importlib.metadata.packages_distributions()
    return {
        module for module, names in owners.items() if {re.sub(r"[-_.]+", "-", one).lower() for one in names} & found
    }


PLAIN = """
    import sys
    from importlib.machinery import PathFinder

    ALLOWED = {allowed!r} | {{"evenhand"}} | set(sys.stdlib_module_names)

    class Plain:
        '''Finds what a machine with a plain installation would find.'''

        find_distributions = PathFinder.find_distributions

        @staticmethod
        def find_spec(name, path=None, target=None):
            top = name.split(".")[0]
            allowed = top in ALLOWED or top.startswith("_sysconfigdata")
            return PathFinder.find_spec(name, path, target) if allowed else None

    sys.meta_path[:] = [Plain if finder is PathFinder else finder for finder in sys.meta_path]

    def evenhand(*arguments):
        from evenhand.cli import main
        try:
            main([str(one) for one in arguments])
        except SystemExit as stop:
            sys.stdout.flush()
            print("code", stop.code)
"""


def run_plain(program: str, place: Path) -> str:
    """Run a program where only what a plain installation brings can be imported, and return what it printed."""
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PLAIN.format(allowed=plain_modules())) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=place,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout + finished.stderr


def test_a_plain_installation_lacks_what_only_extras_bring() -> None:
    modules = plain_modules()
    assert {"numpy", "scipy", "narwhals", "altair", "jinja2", "click", "rich", "xlsxwriter"} <= modules
    assert not modules & {
        "polars",
        "numba",
        "llvmlite",
        "vl_convert",
        "ortools",
        "dask",
        "distributed",
        "pandas",
        "pyarrow",
    }


def test_the_small_journey_needs_no_extra(tmp_path: Path) -> None:
    printed = run_plain(
        """
        evenhand("demo", "--save", "scores.csv", "--out", "demo.xlsx")
        evenhand("check", "scores.csv")
        evenhand("calibrate", "scores.csv", "--out", "results.csv", "--top", "10")
        evenhand("calibrate", "scores.csv", "--shrink", "--out", "results.json")
        evenhand("rank", "scores.csv", "--top", "10", "--out", "ranks.xlsx")
        evenhand("influence", "scores.csv")
        evenhand("compare", "scores.csv", "--quick")
        evenhand("next", "scores.csv")
        evenhand("design", "--objects", "12", "--assessors", "6", "--per-object", "2")
        evenhand("template", "-o", "template.xlsx", "--objects", "5")
        evenhand("report", "scores.csv", "--top", "10", "--quick", "-o", "report.html")
        for heavy in ("polars", "numba", "altair", "vl_convert", "ortools", "dask", "pandas", "pyarrow"):
            assert heavy not in sys.modules, heavy
        """,
        tmp_path,
    )
    assert "Error:" not in printed
    assert len(re.findall(r"^code 0$", printed, re.MULTILINE)) == 11
    for name in ("demo.xlsx", "results.csv", "results.json", "ranks.xlsx", "template.xlsx", "report.html"):
        assert (tmp_path / name).stat().st_size > 0
    assert "evenhand[pictures]" not in printed
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "evenhand[pictures]" not in page
    for name in ("assessor-graph", "residuals", "influence", "methods", "confidence"):
        assert f'<figure class="of-{name}">' in page
    assert all(f'id="{part}"' in page for part in ("decision", "ranks", "objects", "assessors", "evidence", "record"))


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    (tmp_path / "scores.parquet").write_bytes(b"PAR1")
    (tmp_path / "scores.csv").write_text("object,assessor,score\na,x,1\na,y,2\nb,x,3\n")
    printed = run_plain(
        """
        import evenhand as eh

        evenhand("calibrate", "scores.csv", "--out", "results.parquet")
        evenhand("check", "scores.parquet")
        evenhand("pack", "scores.csv", "-o", "packed")
        evenhand("simulate", "--figures", "drawn")
        evenhand("calibrate", "packed", "--cluster", "local:2", "--out", "results")
        fit = eh.calibrate(eh.Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 5.0]))
        for attempt in (fit.values.to_frame, lambda: eh.plots.save(eh.plots.values(fit), "values.svg")):
            try:
                attempt()
            except eh.errors.MissingPackageError as error:
                print("Error:", error, file=sys.stderr)
        eh.plots.save(eh.plots.values(fit), "values.json")
        """,
        tmp_path,
    )
    said = re.findall(r"^Error: (.*)", printed, re.MULTILINE)
    assert said == [
        "Writing a parquet file needs the package polars: pip install 'evenhand[large]'.",
        "Reading a parquet file needs the package polars: pip install 'evenhand[large]'.",
        "A packed panel needs the package polars: pip install 'evenhand[large]'.",
        "A picture as svg needs the package vl-convert-python: pip install 'evenhand[pictures]'.",
        "A cluster needs the package polars: pip install 'evenhand[distributed]'.",
        "A table as a frame needs the package polars, pandas or pyarrow: pip install 'evenhand[large]'.",
        "A picture as svg needs the package vl-convert-python: pip install 'evenhand[pictures]'.",
    ]
    assert json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))


LARGE_PANEL = """
    import hashlib
    import numpy as np
    import evenhand as eh

    rng = np.random.default_rng(3)
    objects, assessors = 25_000, 1_300
    object_index = np.repeat(np.arange(objects), 3)
    assessor_index = (object_index * 7 + np.tile([0, 411, 823], objects) * (1 + object_index % 5)) % assessors
    score = rng.normal(50, 10, objects)[object_index] + rng.normal(0, 5, assessors)[assessor_index]
    score = (score + rng.normal(0, 5, score.size)).round(1)
    with open("large.csv", "w", encoding="utf-8") as file:
        file.write("object,assessor,score\\n")
        file.writelines(f"object {i},assessor {a},{s}\\n" for i, a, s in zip(object_index, assessor_index, score))
    fit = eh.calibrate(eh.read_panel("large.csv", duplicates="keep"))
    print(fit.panel.n_assessments, fit.values.estimate[:3].round(8).tolist(), eh.connectivity(fit.panel))
"""


def test_files_of_more_than_a_mebibyte_are_read_alike_without_polars_and_numba(tmp_path: Path) -> None:
    plain = run_plain(LARGE_PANEL, tmp_path)
    assert (tmp_path / "large.csv").stat().st_size > 2**20
    full = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LARGE_PANEL)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert plain == full.stdout
    assert plain.startswith("75000 ")


def test_loops_over_a_million_scores_do_without_numba(tmp_path: Path) -> None:
    program = """
        import numpy as np
        import evenhand as eh
        from evenhand.compiled import is_compiled

        rng = np.random.default_rng(5)
        object_index = np.repeat(np.arange(260_000), 4)
        assessor_index = rng.integers(0, 3_000, object_index.size)
        value, bias = rng.normal(50, 10, 260_000), rng.normal(0, 5, 3_000)
        score = value[object_index] + bias[assessor_index] + rng.normal(0, 5, object_index.size)
        panel = eh.Panel.from_arrays(object_index, assessor_index, score)
        fit = eh.calibrate(panel)
        off = fit.values.estimate - value
        print(is_compiled(), panel.n_assessments >= 1_000_000, 2.4 < np.std(off) < 2.6)  # 5 over the root of 4
    """
    assert run_plain(program, tmp_path).split() == ["False", "True", "True"]


def test_frames_without_polars_are_of_another_kind_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"pandas", "pyarrow"}
    monkeypatch.setattr(frames, "is_installed", lambda name: name in there)
    assert type(frames.make_frame({"a": [1.0]})).__module__.startswith("pandas")
    there.discard("pandas")
    assert type(frames.make_frame({"a": [1.0]})).__module__.startswith("pyarrow")
    there.clear()
    with pytest.raises(MissingPackageError, match=r"evenhand\[large\]"):
        frames.make_frame({"a": [1.0]})


# --- built, and installed into an empty environment ----------------------------------------------


def run(*arguments: object, cwd: Path | None = None, **environment: str) -> str:
    finished = subprocess.run(
        [str(one) for one in arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
    )
    assert finished.returncode == 0, f"{arguments}\n{finished.stdout[-2000:]}\n{finished.stderr[-2000:]}"
    return finished.stdout


def empty_environment(place: Path) -> Path:
    """Return the Python of an environment with nothing but pip."""
    run(sys.executable, "-m", "venv", place)
    return place / ("Scripts" if os.name == "nt" else "bin") / "python"


def megabytes(place: Path) -> float:
    """Return the size of all files below a place."""
    return sum(file.lstat().st_size for file in place.rglob("*") if file.is_file()) / 2**20


def install(python: Path, *what: object) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *what)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel and the sdist, built where packages can be had."""
    place = tmp_path_factory.mktemp("build")
    python = empty_environment(place / "builder")
    reachable = subprocess.run(
        [python, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "--dest", place, "hatchling"],
        capture_output=True,
        check=False,
        timeout=300,
    )
    if reachable.returncode:
        pytest.skip("no package index can be reached from here")
    install(python, "hatchling")
    run(python, "-m", "hatchling", "build", "--directory", place / "dist", cwd=ROOT)
    made = {kind: next((place / "dist").glob(f"*{kind}")) for kind in (".whl", ".tar.gz")}
    return made | {"place": place, "python": empty_environment(place / "empty")}


@pytest.mark.slow
def test_the_wheel_alone_reads_a_wide_workbook_and_writes_a_report(built: dict[str, Path]) -> None:
    place = built["place"]
    python = empty_environment(place / "plain")
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    before = megabytes(site)
    install(python, built[".whl"])
    assert megabytes(site) - before < MOST_MEGABYTES
    write = """
        import xlsxwriter
        book = xlsxwriter.Workbook("wide.xlsx")
        sheet = book.add_worksheet()
        table = {"Proposal": ["Anna", "Ben", "Cleo", "Average"], "P1": [70, 62, None, 66], "P2": [55, None, 58, 56.5],
                 "P3": [None, 81, 88, 84.5], "P4": [64, 60, 66, 63.33]}
        for row, (name, cells) in enumerate(table.items()):
            sheet.write_row(row, 0, [name, *cells])
        book.close()
    """
    run(python, "-c", textwrap.dedent(write), cwd=place)
    command = python.with_name("evenhand")
    run(command, "report", "wide.xlsx", "--top", "1", "-o", "report.html", cwd=place)
    assert "P3" in (place / "report.html").read_text(encoding="utf-8")
    read = json.loads(run(command, "check", "wide.xlsx", "--json", cwd=place))
    assert (read["objects"], read["assessors"], read["assessments"]) == (4, 3, 9)
    assert read["reading"]["left_out"] == [{"column": "Average", "reason": "looks like the mean of the others"}]
    missing = "import polars"
    assert subprocess.run([python, "-c", missing], capture_output=True, check=False).returncode != 0
    assert "evenhand" in run(python, "-m", "evenhand", "--version")


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_wheel_and_sdist_can_be_installed_with_each_extra(built: dict[str, Path], extra: str) -> None:
    python = built["python"]
    wanted = f"[{extra}]" if extra else ""
    settled = {}
    for kind in (".whl", ".tar.gz"):
        target = built["place"] / f"report{kind}-{extra}.json"
        install(python, "--dry-run", "--report", target, f"{built[kind]}{wanted}")
        found = json.loads(target.read_text(encoding="utf-8"))["install"]
        settled[kind] = {one["metadata"]["name"].lower() for one in found}
    assert settled[".whl"] == settled[".tar.gz"]
    brings = {"large": {"polars", "numba"}, "pictures": {"vl-convert-python"}, "design": {"ortools"}}
    brings["distributed"] = {"dask", "distributed", *brings["large"]}
    brings["all"] = set().union(*brings.values())
    assert brings.get(extra, set()) <= settled[".whl"]
    assert not (brings["all"] - brings.get(extra, set())) & settled[".whl"]


def where_packages_are(python: Path) -> dict[str, str]:
    """Return what pip is told of package indexes, as uv wants to be told."""
    told = dict(line.split("=", 1) for line in run(python, "-m", "pip", "config", "list").splitlines() if "=" in line)
    found = {name.rpartition(".")[2]: value.strip("'").replace("\\n", " ") for name, value in told.items()}
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    return {"UV_INDEX_STRATEGY": "unsafe-best-match"} | {names[key]: found[key] for key in names if key in found}


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["pipx", "uv"])
def test_the_wheel_runs_without_being_installed(built: dict[str, Path], runner: str) -> None:
    place = built["place"] / runner
    python = empty_environment(place)
    install(python, runner)
    command = python.with_name("pipx" if runner == "pipx" else "uvx")
    asked = ["run", "--spec", built[".whl"]] if runner == "pipx" else ["--from", built[".whl"]]
    places = {"PIPX_HOME": str(place / "home"), "UV_CACHE_DIR": str(place / "cache"), "UV_PYTHON": str(python)}
    printed = run(command, *asked, "evenhand", "demo", cwd=place, **places, **where_packages_are(python))
    assert "40 objects" in printed
