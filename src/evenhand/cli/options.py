"""Options that several commands share; each group of them hands the command what it means, not what was typed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from evenhand.cli.group import HeadedOption

if TYPE_CHECKING:
    from evenhand.panel.gauge import Gauge
    from evenhand.panel.panel import Panel

Command = Callable[..., Any]
Summary = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Output:
    """Where the answer goes: a terminal, JSON, and perhaps a file."""

    as_json: bool
    out: Path | None
    tables: tuple[str, ...]

    @property
    def is_full(self) -> bool:
        """Whether all that can be computed is wanted, not only what a terminal shows."""
        return self.as_json or self.out is not None

    def give(
        self,
        summary: Summary,
        show: Callable[[Summary], None],
        detailed: Callable[[], Summary] | None = None,
        also: Sequence[Path] = (),
    ) -> None:
        """Write the file, and print JSON or what a person is shown; ``detailed`` makes the summary for a workbook.

        ``also`` has files that were written before, to be named with it.
        """
        from evenhand.cli import terminal

        written = [] if self.out is None else self._write(self.out, summary, detailed)
        if self.as_json:
            terminal.show_json(summary)
            return
        show(summary)
        if written or also:
            terminal.show_written([*written, *also])

    def _write(self, out: Path, summary: Summary, detailed: Callable[[], Summary] | None) -> list[Path]:
        if out.suffix.lower() == ".xlsx":
            from evenhand.reports.workbook import write_workbook

            return write_workbook(out, summary if detailed is None else detailed(), self.tables)
        from evenhand.io.results import write_summary

        return write_summary(out, summary, self.tables)


def headed(heading: str) -> Callable[..., Callable[[Command], Command]]:
    """Return what makes options that --help lists under a heading."""
    return functools.partial(click.option, cls=HeadedOption, heading=heading)


def typed_options(names: Sequence[str]) -> list[str]:
    """Return which of some options of the command that runs were typed, as they are typed."""
    context = click.get_current_context()
    return [
        option.opts[0]
        for option in context.command.params
        if option.name in names and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]


def input_options(command: Command) -> Command:
    """Add the options that say how a file is read; the command gets ``read``, which reads the panel."""
    option = headed("The file")

    @functools.wraps(command)
    def wrapped(file: Path, object_: str | None, max_unpacked: int, verbose: bool, **others: Any) -> Any:
        from evenhand.cli.showing import shown
        from evenhand.io import read_panel

        names = ("assessor", "score", "uncertainty", "confidence", "level", "factor", "aliases", "duplicates")
        given = {name: others.pop(name) for name in (*names, "missing", "sheet", "wide", "criterion", "covariates")}

        def read() -> Panel:
            return read_panel(file, object=object_, max_unpacked=max_unpacked * 2**20, **given)

        with shown(verbose=verbose):
            return command(read=read, **others)

    return add_options(
        [
            click.argument("file", type=click.Path(path_type=Path)),
            option("--object", "object_", metavar="COLUMN", help="Column of objects, if its name is not recognised."),
            option("--assessor", metavar="COLUMN", help="Column of assessors."),
            option("--score", metavar="COLUMN", help="Column of scores."),
            option("--uncertainty", metavar="COLUMN", help="Column of standard deviations of the scores."),
            option("--confidence", metavar="COLUMN", help="Column of positive weights (1/variance)."),
            option("--level", metavar="COLUMN", help="Column of levels: high, medium, low (h, m, l)."),
            option(
                "--criterion",
                metavar="COLUMN",
                help="Column that says which criterion a score is for: an assessor scores an object once for each.",
            ),
            option(
                "--covariate",
                "covariates",
                multiple=True,
                metavar="COLUMN",
                help="Column of something else that may sway a score, such as the order of reading: numbers, or "
                "categories. Calibration takes its effect out. May be repeated.",
            ),
            option(
                "--factor",
                type=float,
                default=1.75,
                show_default=True,
                help="Ratio of the uncertainties of neighbouring levels.",
            ),
            option(
                "--alias",
                "aliases",
                multiple=True,
                metavar="WORD=LEVEL",
                callback=_pairs,
                help="Another word for a level, such as hoch=high. May be repeated.",
            ),
            option(
                "--duplicates",
                type=click.Choice(["error", "keep", "combine"]),
                default="error",
                show_default=True,
                help="What to do where an assessor scored an object twice.",
            ),
            option(
                "--missing",
                multiple=True,
                metavar="TEXT",
                help="A text that means an empty cell, such as NA. May be repeated.",
            ),
            option("--sheet", metavar="NAME", help="Sheet of a workbook. Default: the first that is not empty."),
            option("--wide", is_flag=True, help="The sheet has objects down and assessors across."),
            option(
                "--max-unpacked",
                type=click.IntRange(min=1),
                default=512,
                show_default=True,
                metavar="MIB",
                help="Refuse a workbook that unpacks to more than this.",
            ),
            click.option("-v", "--verbose", is_flag=True, help="Say on standard error how the work is done, and why."),
        ],
        wrapped,
    )


def gauge_options(command: Command) -> Command:
    """Add the options that fix the level of the biases; the command gets ``gauge`` and ``per_component``."""
    option = headed("Where zero bias lies")

    @functools.wraps(command)
    def wrapped(gauge: str, reference: float | None, known: dict[str, float], **others: Any) -> Any:
        return command(gauge=parse_gauge(gauge, reference, known), **others)

    return add_options(
        [
            option(
                "--gauge",
                default="weighted",
                show_default=True,
                metavar="weighted|zero-sum|reference|anchor:LABEL",
                help="Where zero bias lies. anchor:LABEL trusts an assessor. Ranks do not depend on it.",
            ),
            option("--reference", type=float, metavar="V", help="The notional mean of --gauge reference."),
            option(
                "--known",
                multiple=True,
                metavar="OBJECT=VALUE",
                callback=number_pairs,
                help="Anchor on an object of known value. May be repeated.",
            ),
            option(
                "--per-component",
                is_flag=True,
                help="Calibrate each group of a panel that is not connected on its own; groups are not comparable.",
            ),
        ],
        wrapped,
    )


def rank_options(command: Command) -> Command:
    """Add the options of posterior draws of ranks."""
    places = "Places: adds the chance to be in the top K."
    return add_options([top_option(places), count_option("--seed", 0, "Seed of the draws.", least=0)], command)


def top_option(text: str) -> Callable[[Command], Command]:
    """Return the option that gives a number of places."""
    return click.option("--top", type=click.IntRange(min=1), metavar="K", help=text)


def count_option(name: str, default: int, text: str, *, least: int = 1) -> Callable[[Command], Command]:
    """Return an option that takes a whole number."""
    number = click.IntRange(min=least)
    return click.option(name, type=number, default=default, show_default=True, metavar="N", help=text)


def rows_option(default: int) -> Callable[[Command], Command]:
    """Return the option that limits tables on a terminal."""
    return count_option("--rows", default, "Rows of each table on a terminal; 0 for all.", least=0)


def output_options(*tables: str) -> Callable[[Command], Command]:
    """Return the options that say where the answer goes; the command gets ``output``."""

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(as_json: bool, out: Path | None, **others: Any) -> Any:
            given = click.get_current_context().params
            if out is not None and given.get("cluster") is None:  # a cluster writes a directory
                from evenhand.io.results import check_target

                inputs = [given[name] for name in ("file", "conflicts", "save") if given.get(name) is not None]
                check_target(out, tables, inputs)
            return command(output=Output(as_json, out, tables), **others)

        return add_options(
            [
                json_option,
                click.option(
                    "--out",
                    type=click.Path(path_type=Path),
                    metavar="FILE",
                    help="Also write the tables to FILE: csv, tsv, xlsx, parquet or json, by its ending.",
                ),
            ],
            wrapped,
        )

    return add


def json_option(command: Command) -> Command:
    """Add the option that asks for JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def numbers(_context: click.Context, _option: click.Parameter, given: str | None) -> tuple[float, ...]:
    """Read numbers separated by commas."""
    try:
        return tuple(float(part) for part in given.split(",")) if given else ()
    except ValueError:
        raise click.BadParameter(f"{given!r} should be numbers separated by commas, such as 40,50,60,70.") from None


def parse_gauge(text: str, reference: float | None, known: dict[str, float]) -> Gauge:
    """Return the gauge that the options mean."""
    from evenhand.panel.gauge import Anchor, Reference

    name, colon, label = text.partition(":")
    kind = name.strip().lower().replace("_", "-")
    if known:
        if kind != "weighted":
            raise click.UsageError("--known is a gauge of its own: leave --gauge out.")
        return Anchor(values=known)
    if kind == "reference":
        if reference is None:
            raise click.UsageError("--gauge reference needs --reference V, the notional mean value.")
        return Reference(reference)
    if reference is not None:
        raise click.UsageError("--reference goes with --gauge reference.")
    if kind == "anchor" and colon and label:
        return Anchor(label)
    if kind == "weighted" and not colon:
        return "weighted"
    if kind == "zero-sum" and not colon:
        return "zero_sum"
    raise click.UsageError(f"{text!r} is not a gauge: use weighted, zero-sum, reference or anchor:LABEL.")


def _pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Split NAME=MEANING at the last equals sign."""
    pairs: dict[str, str] = {}
    for text in given:
        name, sign, meaning = text.rpartition("=")
        if not sign or not name:
            raise click.BadParameter(f"{text!r} should have the form {option.make_metavar(context)}.", param=option)
        if pairs.get(name, meaning) != meaning:
            raise click.BadParameter(f"{name} was given twice, as {pairs[name]} and as {meaning}.", param=option)
        pairs[name] = meaning
    return pairs


def number_pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Split NAME=NUMBER at the last equals sign."""
    pairs = _pairs(context, option, given)
    for name, value in pairs.items():
        try:
            float(value)
        except ValueError:
            what = "the known value" if option.name == "known" else "the weight"
            raise click.BadParameter(f"{value!r}, {what} of {name}, is not a number.") from None
    return {name: float(value) for name, value in pairs.items()}


def add_options(options: list[Callable[[Any], Any]], command: Command) -> Command:
    """Add options to a command, in the order in which --help lists them."""
    for option in reversed(options):
        command = option(command)
    return command
