"""Imports point down only, nothing goes in circles, and the core needs few packages: numpy and scipy before all."""

import ast
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import networkx as nx
import pytest

import evenhand

SOURCE = Path(evenhand.__file__).parent

LAYERS = [
    "words",
    "look",
    "errors",
    "progress",
    "memory",
    "compiled",
    "frames",
    "panel",
    "solve",
    "models",
    "answers",
    "design",
    "studies",
    "data",
    "io",
    "cluster",
    "plots",
    "reports",
    "web",
    "cli",
    "__main__",
]
"""From the bottom: a module may import from layers above it in this list, and from its own package."""

CORE = LAYERS[: LAYERS.index("studies") + 1]
CORE_PACKAGES = {"numpy", "scipy", "narwhals", "numba", "threadpoolctl", "lazy_loader"}


def module_name(path: Path) -> str:
    parts = ["evenhand", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def layer_of(module: str) -> str | None:
    """Return the layer of a module; None for the package itself, which may import anything."""
    return None if module == "evenhand" else module.split(".")[1]


def imports_of(module: str) -> set[str]:
    """Return everything that a module imports, wherever in it: our modules in full, other packages by name."""
    path = MODULES[module]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                up = package[: len(package) - node.level + 1]
                base = ".".join([*up, base] if base else up)
            names = [
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base
                for alias in node.names
                if (base, alias.name) != ("evenhand", "__version__")
            ]
        else:
            continue
        found |= {name if name.split(".")[0] == "evenhand" else name.split(".")[0] for name in names}
    return found


def test_there_are_modules_to_look_at() -> None:
    assert {"evenhand", "evenhand.panel.panel", "evenhand.solve.direct"} <= set(MODULES)
    assert "evenhand.frames" in imports_of("evenhand.panel.panel")
    assert "evenhand.solve.digits" in imports_of("evenhand.solve.direct")
    assert "numpy" in imports_of("evenhand.panel.panel")


@pytest.mark.parametrize("module", [name for name in MODULES if name != "evenhand"])
def test_every_module_belongs_to_a_layer_and_imports_point_down(module: str) -> None:
    layer = layer_of(module)
    assert layer in LAYERS, f"{module} is in no layer: add it to the list"
    for target in imports_of(module):
        if not target.startswith("evenhand"):
            continue
        below = layer_of(target)
        assert below is not None, f"{module} imports the package itself, which stands above everything"
        assert below in LAYERS, f"{module} imports {target}, which is in no layer"
        assert LAYERS.index(below) <= LAYERS.index(layer), f"{module} imports {target}, which is above it"


def test_no_imports_go_in_circles_not_even_inside_functions() -> None:
    graph = nx.DiGraph(
        (module, target)
        for module in MODULES
        for target in imports_of(module)
        if target.startswith("evenhand.") and target != module
    )
    assert list(nx.simple_cycles(graph)) == []


def test_folders_are_two_deep_at_most() -> None:
    siblings = ("evenhand.io.formats.", "evenhand.web.views.", "evenhand.web.migrations.")  # interchangeable ones
    assert max(name.count(".") for name in MODULES if not name.startswith(siblings)) <= 2
    assert max(name.count(".") for name in MODULES) <= 3


@pytest.mark.parametrize("module", [name for name in MODULES if layer_of(name) in CORE])
def test_the_core_imports_numpy_scipy_and_narwhals_only(module: str) -> None:
    others = {name for name in imports_of(module) if not name.startswith("evenhand")}
    optional = {"ortools"} if layer_of(module) == "design" else {"dask"} if module == "evenhand.cluster.crew" else set()
    assert others - set(sys.stdlib_module_names) - CORE_PACKAGES - optional == set()


METHODS = {"sa", "cwa", "iba", "cwc", "medians"}


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def texts_in(node: ast.AST) -> set[object]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}


def descendants(*roots: str) -> set[str]:
    """Return the names of classes, with those of all that derive from them in whatever module."""
    bases = {
        node.name: set().union(*map(names_in, node.bases))
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    found = set(roots)
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


SEALED = descendants("Asked", "Model", "Estimating", "Answering", "Derived")
"""Results and solvers: what they can do is asked of them, by the protocols of `models` and `solve`."""


def test_results_and_solvers_are_found_by_what_they_derive_from() -> None:
    assert {"Medians", "Fit", "DistributedFit", "Solver", "DirectSolver", "OfSums"} <= SEALED


@pytest.mark.parametrize("module", [name for name in MODULES if layer_of(name) not in ("models", "solve")])
def test_a_result_or_a_solver_is_asked_what_it_can_do_and_not_what_it_is(module: str) -> None:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        asked: set[str] = set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked = names_in(node.args[1])
        elif isinstance(node, ast.Compare) and "type" in names_in(node.left):
            asked = set().union(*map(names_in, node.comparators))
        elif isinstance(node, ast.MatchClass):
            asked = names_in(node.cls)
        assert not asked & SEALED, (
            f"line {getattr(node, 'lineno', 0)} of {module} asks for the class of a result or solver"
        )


ONE_MEANING = ("words", "errors", "compiled", "frames", "panel", "io", "cluster", "studies")
"""Rooms among which a name of a class or a constant means one thing."""

SHARED = {"Column", "Cell"}
"""Columns and cells of the tables that come in are those of `panel`, of workbooks that go out those of `io.sheets`."""


def test_a_name_means_one_thing() -> None:
    places: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = {one.id for one in targets if isinstance(one, ast.Name) and one.id not in ("T", "_")}
            names |= {node.name} if isinstance(node, ast.ClassDef) else set()
            for name in names:
                places.setdefault(name, set()).add(module)
    for name, modules in places.items():
        ours = sorted(module for module in modules if layer_of(module) in ONE_MEANING)
        assert len(ours) < 2 or name.startswith("_") or name in SHARED | {"__all__"}, f"{name} is in {ours}"


def test_only_public_functions_have_more_than_12_parameters_and_none_is_tangled() -> None:
    """Ruff refuses both, unless a line says otherwise: those that say so are public functions, all of them."""
    public = {*evenhand.__all__, *evenhand.design.__all__, *evenhand.studies.__all__, *vars(evenhand.Panel)}
    for module, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        assert "noqa: C901" not in text, module
        for line in text.splitlines():
            if "noqa: PLR0913" in line:
                assert line.split("def ")[1].split("(")[0] in public, f"{module}: {line}"
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert {"C901", "PLR0913"} <= set(settings["select"])
    assert settings["mccabe"]["max-complexity"] <= 25
    assert settings["pylint"]["max-args"] <= 12


@pytest.mark.parametrize("module", [name for name in MODULES if layer_of(name) != "models"])
def test_no_method_is_known_by_its_spelling(module: str) -> None:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare | ast.MatchValue):
            assert not texts_in(node) & METHODS, f"line {node.lineno} of {module} compares with the name of a method"


BARE = """
    import sys
    from importlib.machinery import PathFinder

    class Bare:
        '''Finds what a machine with only the core's packages would find.'''

        @staticmethod
        def find_spec(name, path=None, target=None):
            top = name.split(".")[0]
            allowed = top in {"evenhand", "numpy", "scipy", "narwhals", "lazy_loader"} | sys.stdlib_module_names
            return PathFinder.find_spec(name, path, target) if allowed or top.startswith("_sysconfigdata") else None

    sys.meta_path[:] = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
    for absent in ("polars", "pandas", "click", "pyarrow"):
        try:
            __import__(absent)
        except ModuleNotFoundError:
            pass
        else:
            raise SystemExit(f"{absent} was not hidden")
"""


def run_bare(program: str) -> str:
    """Run a program where every third-party package but the core's three is hidden, and return what it printed."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(BARE) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_core_calibrates_a_panel_without_any_other_package() -> None:
    printed = run_bare(
        """
        import evenhand as eh

        panel = eh.Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0, 55.0, 68.0])
        fit = eh.calibrate(panel)
        print(fit.biases.estimate.round(6).tolist(), fit.values.upper is not None, eh.connectivity(panel))
        assert str(fit)
        try:
            fit.values.to_frame()
        except eh.errors.MissingPackageError as error:
            print(error)
        """
    )
    assert "True 1 component, spectral gap 1, 0 bridges" in printed
    assert "polars" in printed
    assert "pip install" in printed


def test_every_core_module_imports_without_any_other_package() -> None:
    modules = [name for name in MODULES if layer_of(name) in CORE]
    run_bare(f"import importlib\nfor name in {modules!r}:\n    importlib.import_module(name)\n")


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = "import sys, evenhand; print([n for n in ('numpy', 'scipy', 'narwhals', 'polars') if n in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in evenhand.__all__:
        assert getattr(evenhand, name) is not None
    assert set(evenhand.__all__) <= set(dir(evenhand))
    with pytest.raises(AttributeError, match="attribute nonsense"):
        _ = evenhand.nonsense  # type: ignore[attr-defined]


def test_the_walk_of_a_calibration_stays_short() -> None:
    script = Path(__file__).parents[1] / "benchmarks" / "walk.py"
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=120)
    counted = {words.strip(): int(count.replace(",", "")) for words, count in map(_parted, printed.stdout.splitlines())}
    assert counted["modules of ours imported"] <= 70
    assert counted["changes of file"] <= 405


def _parted(line: str) -> tuple[str, str]:
    words, _, count = line.rstrip().rpartition(" ")
    return words, count
