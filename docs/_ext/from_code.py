"""Directives that read the code when the documentation is built, so that neither can say what the other does not.

``command`` shows a command with all its options, ``picture`` a chart of the
demo panel, ``made`` a picture that a block of the page itself wrote, ``panel``
the drawing of the front page and ``report`` the whole report of the demo panel.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from docutils import nodes  # type: ignore[import-untyped]
from pages import beside_the_demo, run_page
from panel_picture import OF_THE_PAGE, draw
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from evenhand.look import in_variables

MADE_BY_USERS = frozenset(
    {"Affine", "Anchor", "Bounded", "Logarithm", "NoisePrior", "Priors", "Reference", "Refinements"}
)
"""Classes that are called by name; all others come out of functions."""

OPTION = re.compile(r"((?<![\w-])--[a-z][a-z-]*|\bFILE\b)")
LITERAL = re.compile(r"(``.*?``)")


class FromCode(SphinxDirective):
    """A directive whose content is Markdown made from the code."""

    def markdown(self) -> str:
        """Return the content."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the content in place."""
        return list(self.parse_text_to_nodes(self.markdown()))


class CommandDirective(FromCode):
    """A command: how it is called, what it does, and every option."""

    required_arguments = 1

    def markdown(self) -> str:
        """Return usage, help and options of the command named by the argument."""
        from evenhand.cli import main

        name = self.arguments[0]
        command = main.commands.get(name)
        if command is None:
            raise self.error(f"there is no command {name!r}: {', '.join(sorted(main.commands))}")
        return describe_command(name, command)


def describe_command(name: str, command: click.Command) -> str:
    """Return a command as Markdown."""
    from evenhand.cli.options import grouped

    context = click.Context(command, info_name=f"evenhand {name}", parent=None)
    arguments = [part.make_metavar(context) for part in command.params if isinstance(part, click.Argument)]
    usage = " ".join(["evenhand", name, *arguments, "[OPTIONS]"])
    blocks = [f"```text\n{usage}\n```", tidy(command.help or "")]
    blocks.append(f":::{{program}} evenhand {name}\n:::")
    groups = grouped(command.params)
    for heading, options in groups.items():
        if len(groups) > 1:
            blocks.append(f"**{heading}**")
        blocks += [describe_option(option, context) for option in options]
    if command.epilog:
        example = command.epilog.removeprefix("Example: ").strip()
        blocks.append(f"Example: `{example}`")
    return "\n\n".join(blocks)


def describe_option(option: click.Option, context: click.Context) -> str:
    """Return an option as Markdown that Sphinx can link to."""
    metavar = "" if option.is_flag else " " + option.make_metavar(context).replace("INTEGER RANGE", "INTEGER")
    names = ", ".join(f"{name}{metavar}" for name in (*getattr(option, "listed", option.opts), *option.secondary_opts))
    text = tidy(option.help or "")
    if option.show_default and option.default is not None and not option.is_flag:
        text += f" Default: `{option.default}`."
    return f":::{{option}} {names}\n{text}\n:::"


def tidy(text: str) -> str:
    """Return help text as Markdown: paragraphs in one line each, nothing in it taken for markup."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    escaped = (re.sub(r"([*_<>$|])", r"\\\1", part) for part in paragraphs)
    return "\n\n".join(OPTION.sub(r"`\1`", part) for part in escaped)


def read_numpydoc(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Turn the sections of a numpydoc docstring into headings with definition lists.

    Names that share a description stay together, and the bars of an absolute value are not taken for markup.
    """
    section = ""
    read: list[str] = []
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if following and set(following) == {"-"}:
            section = line
            read += [f".. rubric:: {section}", ""]
        elif set(line) == {"-"}:
            continue
        elif section not in ("", "Examples") and line[:1].strip() and following.startswith(" "):
            read.append(", ".join(f"``{name}``" for name in line.split(", ")))
        elif line.lstrip().startswith((">>>", "...")):
            read.append(line)
        else:
            parts = LITERAL.split(line)
            read.append("".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts))
    lines[:] = read


def hide_signature(
    _app: Sphinx, what: str, name: str, _object: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show how a class is called only where a user is meant to call it."""
    results = what == "class" and name.rpartition(".")[2] not in MADE_BY_USERS
    return ("", None) if results else (signature and signature.replace("<factory>", "{}"), returns)


class PictureDirective(SphinxDirective):
    """A chart of the demo panel, drawn when the page is built: the name of a function of ``evenhand.plots``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw the chart into the page."""
        import evenhand as eh

        name = self.arguments[0]
        panel = eh.demo()
        fit = eh.calibrate(panel)
        given: tuple[Any, ...] = (fit,)
        if name in ("graph", "assessor_graph", "design"):
            given = (panel,)
        elif name in ("top", "rankogram"):
            given = (eh.rank(fit, top=10),)
        elif name in ("methods", "bland_altman"):
            given = eh.simple_average(panel), fit
        with TemporaryDirectory() as folder:
            target = Path(folder) / "picture.svg"
            eh.plots.save(getattr(eh.plots, name)(*given), target)
            return shown(target.read_text(encoding="utf-8"))


class MadeDirective(SphinxDirective):
    """A picture that a block of the page wrote: the name of its file. The page is run as its tests run it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Put the drawing into the page."""
        name, kept = self.arguments[0], self.env.temp_data  # which lasts for one page
        if "made" not in kept:
            kept["made"] = made_by(Path(self.env.doc2path(self.env.docname)))
        made: dict[str, str] = kept["made"]
        if name not in made:
            raise self.error(f"no block of this page writes {name!r}: {', '.join(sorted(made))}")
        label = name.partition(".")[0].replace("_", " ")
        return shown(made[name].replace('aria-label=""', f'aria-label="{label}"'))


def made_by(page: Path) -> dict[str, str]:
    """Return the drawings that the blocks of a page write, by the names of their files."""
    with beside_the_demo() as folder:
        for _ in run_page(page.read_text(encoding="utf-8"), page.name):
            pass
        return {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.svg")}


def shown(drawn: str) -> list[nodes.Node]:
    """Return a drawing as part of a page, in its colours."""
    themed = in_variables(own_names(drawn)).replace("var(--", "var(--eh-")
    return [nodes.raw("", f'<div class="picture" tabindex="0">{themed}</div>', format="html")]


def own_names(drawn: str) -> str:
    """Return a drawing whose names for its parts are its own: those of two drawings in a page must differ."""
    mark = sha256(drawn.encode()).hexdigest()[:8]
    for name in sorted(set(re.findall(r'\bid="([^"]+)"', drawn)), key=len, reverse=True):
        drawn = drawn.replace(f'id="{name}"', f'id="{mark}-{name}"').replace(f"#{name})", f"#{mark}-{name})")
    return drawn


class PanelDirective(SphinxDirective):
    """The demo panel, calibrated, in the colours of the page."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        return [nodes.raw("", f'<div class="front">{draw(OF_THE_PAGE)}</div>', format="html")]


class ReportDirective(SphinxDirective):
    """The report of the demo panel, whole, and its workbook: made when the pages are."""

    def run(self) -> list[nodes.Node]:
        """Link to the files, and show the report in a frame."""
        up = "../" * self.env.docname.count("/")
        html = (
            f'<p><a class="opens" href="{up}{REPORT}">Open the whole report</a> '
            f'<a class="opens" href="{up}{WORKBOOK}" download>Download the workbook</a></p>'
            f'<iframe class="report" src="{up}{REPORT}" title="Report of the demo panel" loading="lazy"></iframe>'
        )
        return [nodes.raw("", html, format="html")]


REPORT, WORKBOOK = "demo-report.html", "demo-results.xlsx"


def write_results(app: Sphinx, failed: Exception | None) -> None:
    """Write the report and the workbook that pages link to beside them."""
    if failed is None and app.builder.format == "html":
        import evenhand as eh

        fit = eh.calibrate(eh.demo())
        eh.report(fit, Path(app.outdir) / REPORT, top=10)
        eh.workbook(fit, Path(app.outdir) / WORKBOOK, top=10)


REACHED_BY_KEYS = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
}
"""What scrolls by itself can be reached and scrolled by keys, and headings of the contents have a level."""


def reach_by_keys(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Mend what Sphinx writes, so that pages can be read without a mouse and read out."""
    for part in ("body", "furo_navigation_tree"):
        for written, mended in REACHED_BY_KEYS.items():
            context[part] = context.get(part, "").replace(written, mended)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("build-finished", write_results)
    app.connect("html-page-context", reach_by_keys, priority=900)  # after the theme's own
    app.connect("autodoc-process-docstring", read_numpydoc)
    app.connect("autodoc-process-signature", hide_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


DIRECTIVES: dict[str, type[SphinxDirective]] = {
    "command": CommandDirective,
    "made": MadeDirective,
    "panel": PanelDirective,
    "picture": PictureDirective,
    "report": ReportDirective,
}
