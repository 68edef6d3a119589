"""Options that several commands share; each group of them hands the command what it means, not what was typed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evenhand.fit import Fit, Method
    from evenhand.gauge import Gauge
    from evenhand.panel import Panel

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

    def give(self, summary: Summary, show: Callable[[Summary], None]) -> None:
        """Write the file, and print JSON or what a person is shown."""
        from evenhand.cli import terminal
        from evenhand.io.results import write_summary

        written = [] if self.out is None else write_summary(self.out, summary, self.tables)
        if self.as_json:
            terminal.show_json(summary)
            return
        show(summary)
        if written:
            terminal.show_written(written)


def input_options(command: Command) -> Command:
    """Add the options that say how a file is read; the command gets ``read``, which reads the panel."""

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

    return _add(
        [
            click.argument("file", type=click.Path(path_type=Path)),
            click.option(
                "--object", "object_", metavar="COLUMN", help="Column of objects, if its name is not recognised."
            ),
            click.option("--assessor", metavar="COLUMN", help="Column of assessors."),
            click.option("--score", metavar="COLUMN", help="Column of scores."),
            click.option("--uncertainty", metavar="COLUMN", help="Column of standard deviations of the scores."),
            click.option("--confidence", metavar="COLUMN", help="Column of positive weights (1/variance)."),
            click.option("--level", metavar="COLUMN", help="Column of levels: high, medium, low (h, m, l)."),
            click.option(
                "--criterion",
                metavar="COLUMN",
                help="Column that says which criterion a score is for: an assessor scores an object once for each.",
            ),
            click.option(
                "--covariate",
                "covariates",
                multiple=True,
                metavar="COLUMN",
                help="Further column to read, such as the order of reading: numbers, or categories. May be repeated.",
            ),
            click.option(
                "--factor",
                type=float,
                default=1.75,
                show_default=True,
                help="Ratio of the uncertainties of neighbouring levels.",
            ),
            click.option(
                "--alias",
                "aliases",
                multiple=True,
                metavar="WORD=LEVEL",
                callback=_pairs,
                help="Another word for a level, such as hoch=high. May be repeated.",
            ),
            click.option(
                "--duplicates",
                type=click.Choice(["error", "keep", "combine"]),
                default="error",
                show_default=True,
                help="What to do where an assessor scored an object twice.",
            ),
            click.option(
                "--missing",
                multiple=True,
                metavar="TEXT",
                help="A text that means an empty cell, such as NA. May be repeated.",
            ),
            click.option("--sheet", metavar="NAME", help="Sheet of a workbook. Default: the first that is not empty."),
            click.option("--wide", is_flag=True, help="The sheet has objects down and assessors across."),
            click.option(
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

    @functools.wraps(command)
    def wrapped(gauge: str, reference: float | None, known: dict[str, float], **others: Any) -> Any:
        return command(gauge=parse_gauge(gauge, reference, known), **others)

    return _add(
        [
            click.option(
                "--gauge",
                default="weighted",
                show_default=True,
                metavar="weighted|zero-sum|reference|anchor:LABEL",
                help="Where zero bias lies. anchor:LABEL trusts an assessor. Ranks do not depend on it.",
            ),
            click.option("--reference", type=float, metavar="V", help="The notional mean of --gauge reference."),
            click.option(
                "--known",
                multiple=True,
                metavar="OBJECT=VALUE",
                callback=_known_values,
                help="Anchor on an object of known value. May be repeated.",
            ),
            click.option(
                "--per-component",
                is_flag=True,
                help="Calibrate each group of a panel that is not connected on its own; groups are not comparable.",
            ),
        ],
        wrapped,
    )


def fit_options(command: Command) -> Command:
    """Add the options of a fit, input and gauge included; the command gets ``fit``, which reads and calibrates."""

    @functools.wraps(command)
    def wrapped(
        read: Callable[[], Panel],
        gauge: Gauge,
        per_component: bool,
        method: Method,
        noise: Any,
        interval: float,
        solver: str,
        **others: Any,
    ) -> Any:
        from evenhand.models import METHODS

        calibrating = {"per_component": per_component, "solver": solver} if method in ("iba", "cwc") else {}

        def fit() -> Fit:
            return METHODS[method](read(), gauge=gauge, noise=noise, interval=interval, **calibrating)

        return command(fit=fit, **others)

    with_method = _add(
        [
            click.option(
                "--method",
                type=click.Choice(["sa", "cwa", "iba", "cwc"]),
                default="cwc",
                show_default=True,
                help="Simple or confidence-weighted averages, incomplete block analysis, calibration with confidence.",
            ),
            click.option(
                "--noise",
                type=click.Choice(["estimated", "declared"]),
                default="estimated",
                show_default=True,
                help="Scale of the noise: from the residual, or declared uncertainties at face value.",
            ),
            click.option(
                "--interval",
                type=float,
                default=0.9,
                show_default=True,
                help="Probability of the intervals.",
            ),
            click.option(
                "--solver",
                type=click.Choice(["auto", "direct", "sparse", "iterative"]),
                default="auto",
                show_default=True,
                help="How the equations are solved; auto chooses by size and shape, and --verbose says why.",
            ),
        ],
        wrapped,
    )
    return input_options(gauge_options(with_method))


def rank_options(command: Command) -> Command:
    """Add the options of posterior draws of ranks."""
    places = "Places: adds the chance to be in the top K."
    return _add([top_option(places), count_option("--seed", 0, "Seed of the draws.", least=0)], command)


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

        return _add(
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
    from evenhand.gauge import Anchor, Reference

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


def _known_values(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    pairs = _pairs(context, option, given)
    for name, value in pairs.items():
        try:
            float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r}, the known value of {name}, is not a number.") from None
    return {name: float(value) for name, value in pairs.items()}


def _add(options: list[Callable[[Any], Any]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
