"""The documentation says what the code does: every name, command and option is there, and every block runs.

``python tests/test_docs.py`` runs the blocks and rewrites the output that the pages show.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import evenhand
from browser import open_browser
from evenhand.cli import main
from evenhand.panel.headings import known_names
from test_layers import LAYERS
from web import application

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import pages  # noqa: E402
import panel_picture  # noqa: E402
from pages import blocks_of, run_page  # noqa: E402

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
PAGES = [
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
]
AUTODOC = re.compile(r"^\.\. auto(?:function|class|module|data|exception):: (\S+)", re.MULTILINE)
COMMANDS = re.compile(r"^[`:]{3,}\{command\} (\S+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^>]*>")


# --- the tests -----------------------------------------------------------------------------------


@pytest.fixture
def beside_the_demo() -> Iterator[Path]:
    """Work in a directory of its own that holds the demo panel as ``scores.csv``."""
    with pages.beside_the_demo() as folder:
        yield folder


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_block_runs_and_prints_what_the_page_shows(page: Path, beside_the_demo: Path) -> None:
    for output in run_page(page.read_text(encoding="utf-8"), page.name):
        assert output.agrees, "\n".join(
            [f"{page.name}, line {output.first + 1}, shows", *output.shown, "but the code prints", *output.real]
        )


def test_the_guide_has_blocks_to_run() -> None:
    languages = [block.language for page in PAGES for block in blocks_of(page.read_text(encoding="utf-8"))]
    assert languages.count("python") >= 20
    assert languages.count("console") >= 15


def test_a_block_that_prints_something_else_is_noticed(beside_the_demo: Path) -> None:
    wrong = "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ evenhand --version\nevenhand 0...\nx\n```\n"
    assert [output.agrees for output in run_page(wrong, "wrong.md")] == [False, False]
    with pytest.raises(AssertionError, match="exit code 2"):
        list(run_page("```console\n$ evenhand check nowhere.csv\n```\n", "wrong.md"))


def documented(pattern: re.Pattern[str]) -> set[str]:
    return {name for page in REFERENCE for name in pattern.findall(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", evenhand.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert f"evenhand.{name}" in documented(AUTODOC), f"add evenhand.{name} to a page in docs/reference"


@pytest.mark.parametrize("name", evenhand.__all__)
def test_every_public_function_has_an_example_that_runs(name: str) -> None:
    function = getattr(evenhand, name)
    if not callable(function) or isinstance(function, type):
        return
    blocks = [block for page in PAGES for block in blocks_of(page.read_text(encoding="utf-8"))]
    code = "\n".join("\n".join(block.lines) for block in blocks if block.language == "python")
    assert ">>> " in (function.__doc__ or "") or re.search(rf"\beh\.{name}\b", code)


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_in_the_reference_and_in_the_guide(name: str) -> None:
    assert name in documented(COMMANDS), f"add the command {name} to docs/reference/commands.md"
    guide = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "guide").glob("*.md")))
    assert f"evenhand {name}" in guide, f"show evenhand {name} in a page of docs/guide"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built; a warning is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(place)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"})
    assert built.returncode == 0, built.stderr
    return place


def test_the_site_holds_every_name_and_option_and_fetches_nothing(site: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    names = {name for kind, entries in inventory.items() if kind.startswith("py:") for name in entries}
    assert {f"evenhand.{name}" for name in evenhand.__all__} <= names
    options = {
        f"evenhand-{name}.{text}"
        for name, command_ in main.commands.items()
        for option in command_.params
        if isinstance(option, click.Option) and not option.hidden
        for text in (*getattr(option, "listed", option.opts), *option.secondary_opts)
    }
    assert options
    assert options <= set(inventory["std:cmdoption"])

    for page in site.rglob("*.html"):
        assert not FETCHED.findall(page.read_text(encoding="utf-8")), f"{page.name} fetches something when it is read"

    assert (site / "demo-report.html").stat().st_size > 100_000
    assert (site / "demo-results.xlsx").read_bytes()[:2] == b"PK"
    drawn = (site / "gallery.html").read_text(encoding="utf-8")
    assert drawn.count("<svg") >= len(PICTURES)
    parts = re.findall(r'\bid="([^"]+)"', drawn)
    assert len(parts) == len(set(parts))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_axe_finds_nothing_serious(site: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe looks at pages")
    with open_browser() as context:
        page = context.new_page()
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 800})
        for name in ("index", "gallery", "tutorials/grant-panel", "explanation/when-not", "reference/errors"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
            found = axe.Axe().run(page).response["violations"]
            assert [(name, one["id"]) for one in found if one["impact"] in ("serious", "critical")] == []


PICTURES = sorted(set(evenhand.plots.__all__) - {"save"})


@pytest.mark.parametrize("name", PICTURES)
def test_the_gallery_has_every_picture(name: str) -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    section = page.partition(f"\n### {name}\n")[2].partition("\n##")[0]
    assert f"eh.plots.{name}(" in section
    assert f":::{{made}} {name}.svg" in section


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.mark.parametrize("name", sorted(panel_picture.FILES))
def test_the_drawings_of_the_readme_are_those_that_the_code_draws(name: str) -> None:
    kept = (DOCS / "_static" / name).read_text(encoding="utf-8")
    drawn = panel_picture.draw(panel_picture.FILES[name])
    assert NUMBER.sub("#", kept) == NUMBER.sub("#", drawn), "python docs/_ext/panel_picture.py draws it again"
    pairs = zip(map(float, NUMBER.findall(kept)), map(float, NUMBER.findall(drawn)), strict=True)
    assert all(abs(one - other) <= 1.01 for one, other in pairs)  # a chance in per cent may be rounded otherwise
    assert name in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


NAMED_FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.py)`")


def test_every_section_of_the_model_names_the_files_that_hold_it() -> None:
    text = (DOCS / "model.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]
    lines = [re.findall(r"^\*(?:Paper: .*\. )?Code: (.*)\.\*$", section, re.MULTILINE) for section in sections]
    assert [section.splitlines()[0] for section, line in zip(sections, lines, strict=True) if len(line) != 1] == []
    files = [file for (line,) in lines for file in line.split(", ")]
    assert len(files) >= len(sections) >= 20
    assert [file for file in files if not NAMED_FILE.fullmatch(file)] == []
    assert [file for file in files if not (Path(evenhand.__path__[0]) / file.strip("`")).is_file()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem.lower() != "changelog"],  # which may tell of files that were
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_python_file_that_a_page_names_is_there(page: Path) -> None:
    named = set(NAMED_FILE.findall(page.read_text(encoding="utf-8"))) - {"models/NAME.py"}  # which is yours to name
    places = (ROOT, ROOT / "src", Path(evenhand.__path__[0]))
    assert [name for name in sorted(named) if not any((place / name).is_file() for place in places)] == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"[`$ ]make ([a-z]+)`?$", page.read_text("utf-8"), re.M)}
    named |= {name for page in PAGES for name in re.findall(r"`make ([a-z]+)`", page.read_text("utf-8"))}
    assert {"demo", "test"} <= named <= targets


def test_the_map_of_layers_names_every_module_in_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\d\. (.*?):", text.partition("## Layers")[2].partition("## ")[0], re.MULTILINE)
    named = [name for line in lines for name in re.findall(r"`(\w+)/?`", line)]
    there = {path.stem for path in Path(evenhand.__path__[0]).iterdir() if path.suffix in ("", ".py")}
    assert named == [layer for layer in LAYERS if layer in there]


def test_the_citation_and_the_changelog_name_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "cff-version: 1.2.0" in citation
    assert f"\nversion: {evenhand.__version__}\n" in citation
    assert "doi: 10.1098/rsos.160760" in citation
    assert f"\n## {evenhand.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


ERROR_ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def kinds_in_the_code() -> set[str]:
    """Return every kind of problem that the code names: by the keyword, as its default, or first in a Problem."""
    found: set[str] = set()
    for path in Path(evenhand.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in ("InputError", "NoDesignError", "Problem"):
                    given = [word.value for word in node.keywords if word.arg == "kind"]
                    given += node.args[:1] if name == "Problem" else []
                    found |= {
                        one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)
                    }
    return found


def kinds_that_were_seen(value: Any) -> Iterator[str]:
    """Yield the kinds of problems in the answers that are kept in ``tests/golden``."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str) and "message" in value:
            yield value["kind"]
        if isinstance(value.get("kinds"), dict):
            yield from value["kinds"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from kinds_that_were_seen(inner)


def test_every_error_and_every_note_has_its_cause_and_its_cure() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    rows = ERROR_ROW.findall(page)
    kinds = [kind for kind, _, _ in rows]
    assert len(kinds) == len(set(kinds))
    assert all(cause.strip() and cure.strip() for _, cause, cure in rows)
    classes = {
        name for name, one in vars(evenhand.errors).items() if isinstance(one, type) and issubclass(one, Exception)
    }
    golden = [json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "tests" / "golden").glob("*.json")]
    alerts = set(re.findall(r"^\| `(\w+)` \|", (DOCS / "reference" / "alerts.md").read_text(encoding="utf-8"), re.M))
    needed = kinds_in_the_code() | (set(kinds_that_were_seen(golden)) - alerts) | classes
    assert sorted(needed - set(kinds)) == [], "add them to docs/reference/errors.md"
    known_elsewhere = {"bad_input"}  # the kind of an error that names none
    assert sorted(set(kinds) - needed - known_elsewhere) == [], "no longer in the code"


JSON_EXAMPLES = {
    "calibrate": (
        "calibrate scores.csv --top 5 --grades 50,60 --reliability",
        "calibrate apart.csv --per-component --reliability",
        "calibrate rich.csv --shrink --scale",
        "calibrate rich.csv --power estimated --covariate order",
        "calibrate rich.csv --calibrate-confidence --tails student",
        "calibrate ring.csv --ordinal probit",
        "calibrate criteria.csv --criterion criterion",
        "demo",
    ),
    "check": ("check scores.csv", "check apart.csv", "check chain.csv", "check layered.csv", "check words.csv"),
    "compare": ("compare scores.csv --quick", "compare apart.csv"),
    "rank": ("rank scores.csv --top 9 --lottery-seed 1", "rank chain.csv --method sa"),
    "influence": ("influence scores.csv --top 9", "influence chain.csv"),
    "next": ("next scores.csv", "next ring.csv --top 2"),
    "design": (
        "design --objects 6 --assessors 4 --per-object 2 --effort 0.1",
        "design --objects 4 --assessors 4 --per-object 2 --uncertainty 5 --effort 0.1 --max-load 2 --no-outlook",
        "design --objects listed.csv --assessors 3 --per-object 2 --expertise known.csv --effort 0.1",
        "design --extend chain.csv --add 1 --effort 0.1",
        "design --extend apart.csv --add 1 --effort 0.1 --no-outlook --round R2 --alternates 1",
        "design --extend chain.csv --left A --effort 0.1 --no-outlook",
        "design --objects listed.csv --assessors mail.csv --per-object 2 --effort 0.1 --hotcrp bulk.csv --round R1",
        "design --objects wrote.csv --assessors mails.csv --per-object 2 --bids bids.csv --conflict-domains "
        "--floor --max-probability 0.9 --effort 0.1",
    ),
    "simulate": (
        "simulate --objects 60 --assessors 5 --per-object 2 --runs 2 --figures drawn",
        "simulate --objects 60 --assessors 5 --target-sd 5",
        "simulate --design ring.csv --runs 2",
    ),
    "reproduce": ("reproduce figure-1 case-study-1 --runs 1 --figures drawn",),
    "plot": ("plot values scores.csv --top 9 -o values.json", "plot graph scores.csv -o graph.json"),
    "report": ("report scores.csv --quick", "report scores.csv --verify 00000000"),
    "pack": ("pack scores.csv -o scores.packed --parts 3", "pack ring.csv -o ring.packed"),
}


@pytest.mark.parametrize("command", sorted(set(main.commands) - {"demo", "serve", "template"}))
def test_the_json_keys_are_those_of_the_tables(command: str, beside_the_demo: Path) -> None:
    apart = "x,A,1\ny,A,2\nx,B,2\ny,B,4\nz,C,3\nz,D,5\n"
    chain = "x,A,1\nx,B,2\ny,B,3\ny,C,4\nz,C,4\n,,\n"
    ring = "x,A,1\nx,B,2\ny,A,3\ny,B,5\nz,A,4\nz,B,7\nx,C,4\ny,C,4\nz,C,\n"
    for name, rows in (("apart.csv", apart), ("chain.csv", chain), ("ring.csv", ring)):
        Path(name).write_text(f"object,assessor,score\n{rows}", encoding="utf-8")
    rich = "Paper ID,Paper title,Reviewer,Reviewer office,Impact (40 %),Style (60 %),Average,Confidence\n"
    rich += "1,On tea,Ana,Oslo,3,4,3.5,high\n1,On tea,Ben,Rome,5,4,4.5,low\n2,On jam,Ana,Oslo,1,2,1.5,low\n"
    Path("layered.csv").write_text(rich + "2,On jam,Ben,Rome,2,2,2,high\n", encoding="utf-8")
    Path("words.csv").write_text("paper,judge,score\nx,A,Good\nx,B,Poor\ny,A,Fair\ny,B,Good\n", encoding="utf-8")
    Path("listed.csv").write_text("object,topics\na,x\nb,y\nc,z\n", encoding="utf-8")
    Path("known.csv").write_text("assessor,a,b,c\nA1,1,0,1\nA2,0,1,1\nA3,1,1,0\n", encoding="utf-8")
    Path("mail.csv").write_text("assessor\na@x.example\nb@x.example\nc@x.example\n", encoding="utf-8")
    Path("wrote.csv").write_text("object,authors\na,i@y.example\nb,j@z.example\nc,k@x.example\n", encoding="utf-8")
    Path("mails.csv").write_text(
        "assessor,email\nA1,a@x.example\nA2,b@u.example\nA3,c@v.example\nA4,d@w.example\n", encoding="utf-8"
    )
    Path("bids.csv").write_text("assessor,object,bid\nA1,a,yes\nA2,b,no\nA3,c,20\n", encoding="utf-8")
    write_rich_files()
    sections = re.split(r"^## ", (DOCS / "reference" / "json.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    table = next(part for part in sections if part.startswith(f"evenhand {command}\n"))
    keys = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    found: set[str] = set()
    for example in JSON_EXAMPLES[command]:
        result = CliRunner().invoke(main, [*example.split(), "--json"])
        found |= set(paths_of(json.loads(result.stdout)))
    assert found == keys


def test_every_kind_of_alert_is_described() -> None:
    source = "".join(one.read_text(encoding="utf-8") for one in (Path(evenhand.__path__[0]) / "answers").glob("*.py"))
    raised = set(re.findall(r'Alert\(\s*"(?:stop|check|note)"[^,]*,\s*"(\w+)"', source))
    table = (DOCS / "reference" / "alerts.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \| (?:stop|check|note)", table, re.MULTILINE)) == raised


def write_rich_files() -> None:
    """Write a panel with levels, an order of reading and a score that is far off, and one with two criteria."""
    rows, criteria = ["object,assessor,score,level,order"], ["object,assessor,criterion,score"]
    for o in range(8):
        for a in range(4):
            noise = (7 * o + 5 * a + 3 * o * a) % 11
            score = 5 * o + 3 * a + noise if (o, a) != (4, 2) else 150
            rows.append(f"{o},{a},{score},{('high', 'medium', 'low')[noise % 3]},{(3 * o + a * a) % 8}")
            criteria += [f"{o},{a},merit,{score}", f"{o},{a},style,{4 * o - a + noise * noise % 7}"]
    Path("rich.csv").write_text("\n".join(rows), encoding="utf-8")
    Path("criteria.csv").write_text("\n".join(criteria), encoding="utf-8")


WHOLE = {"assessor_graph", "robustness", "drawn", "random", "before", "by_expertise", "since"}
"""Keys of lists and objects that are null as a whole where they do not apply."""


def paths_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the leaves: ``panel.objects``, ``objects[].value``."""
    if path == "alerts":
        return  # the same everywhere, and described once
    if path.endswith(".grades") or path == "loads":
        yield path  # its keys are the user's cut-offs, or labels
    elif path in ("criteria[].objects[]", "criteria[].assessors[]"):
        yield f"{path}.KEY"  # as in objects and assessors
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        if value and not isinstance(value[0], dict):
            yield f"{path}[]"
        for inner in value:
            if isinstance(inner, dict):
                yield from paths_of(inner, f"{path}[]")
    elif value is not None or path.rpartition(".")[2] not in WHOLE:
        yield path


MODULES = sorted(module.name for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    if name.startswith("evenhand.web."):
        application()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("evenhand"):
            raise
        pytest.skip(f"{error.name} is optional and not installed")
    assert doctest.testmod(module, verbose=False).failed == 0


def test_there_are_examples_in_the_docstrings() -> None:
    assert sum(">>> " in Path(path).read_text("utf-8") for path in (ROOT / "src").rglob("*.py")) >= 10


# --- renewing the output -------------------------------------------------------------------------


NAMES = re.compile(r"(?<=<!-- names -->\n).*?(?=<!-- end of names -->)", re.DOTALL)


def names_table() -> str:
    """Return the names by which columns are recognised as the guide lists them."""
    rows = [f"| {what} | {', '.join(f'`{name}`' for name in names)} |" for what, names in known_names().items()]
    return "\n".join(["", "| for | names |", "|---|---|", *rows, "", ""])


def test_the_guide_and_the_help_list_every_name_of_a_column() -> None:
    page = (ROOT / "docs" / "guide" / "02-your-file.md").read_text(encoding="utf-8")
    found = NAMES.search(page)
    assert found is not None
    assert found[0] == names_table()
    shown = " ".join(CliRunner().invoke(main, ["check", "--help"], catch_exceptions=False).output.split())
    for names in known_names().values():
        assert all(name in shown for name in names)


def renew(page: Path) -> bool:
    """Rewrite the output that a page shows; return whether it changed."""
    text = page.read_text(encoding="utf-8")
    page.write_text(NAMES.sub(lambda _: names_table(), text), encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    for output in reversed(list(run_page(text, page.name))):
        if not output.agrees:
            lines[output.first : output.first + len(output.shown)] = output.renewed
    renewed = "\n".join(lines) + "\n"
    page.write_text(renewed, encoding="utf-8")
    return renewed != text


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    for path in chosen:
        with pages.beside_the_demo():
            print(("renewed " if renew(path) else "as it was ") + path.relative_to(ROOT).as_posix())
