"""Options that several commands share, and what they mean."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evenhand.fit import Fit, Method
    from evenhand.gauge import Gauge
    from evenhand.panel import Panel

Command = Callable[..., Any]


def _pairs(_context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Split NAME=MEANING at the last equals sign."""
    pairs = {}
    for text in given:
        name, sign, meaning = text.rpartition("=")
        if not sign or not name:
            raise click.BadParameter(f"{text!r} should have the form {option.make_metavar(_context)}.", param=option)
        pairs[name] = meaning
    return pairs


def _known_values(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    pairs = _pairs(context, option, given)
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError as error:
        raise click.BadParameter(f"{error}.".replace("could not convert string to float:", "not a number:")) from None


def input_options(command: Command) -> Command:
    """Add the options that say how a file is read, and hand the command the panel itself."""
    options = [
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--object", "object_", metavar="COLUMN", help="Column of objects, if its name is not recognised."),
        click.option("--assessor", metavar="COLUMN", help="Column of assessors."),
        click.option("--score", metavar="COLUMN", help="Column of scores."),
        click.option("--uncertainty", metavar="COLUMN", help="Column of standard deviations of the scores."),
        click.option("--confidence", metavar="COLUMN", help="Column of positive weights (1/variance)."),
        click.option("--level", metavar="COLUMN", help="Column of levels: high, medium, low (h, m, l)."),
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
    ]

    @functools.wraps(command)
    def with_panel(
        file: Path,
        object_: str | None,
        assessor: str | None,
        score: str | None,
        uncertainty: str | None,
        confidence: str | None,
        level: str | None,
        factor: float,
        aliases: dict[str, str],
        duplicates: Any,
        missing: tuple[str, ...],
        sheet: str | None,
        wide: bool,
        max_unpacked: int,
        **others: Any,
    ) -> Any:
        from evenhand.io import read_panel

        def read() -> Panel:
            return read_panel(
                file,
                object=object_,
                assessor=assessor,
                score=score,
                uncertainty=uncertainty,
                confidence=confidence,
                level=level,
                factor=factor,
                aliases=aliases,
                duplicates=duplicates,
                missing=missing,
                sheet=sheet,
                wide=wide,
                max_unpacked=max_unpacked * 2**20,
            )

        return command(file=file, read=read, **others)

    return _add(options, with_panel)


def fit_options(command: Command) -> Command:
    """Add the options that say how a panel is calibrated."""
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
        command,
    )


def method_options(command: Command) -> Command:
    """Add the options of a single method and of its uncertainties."""
    return _add(
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
        ],
        command,
    )


def rank_options(command: Command) -> Command:
    """Add the options of posterior draws of ranks."""
    return _add(
        [
            click.option(
                "--top", type=click.IntRange(min=1), metavar="K", help="Places: adds the chance to be in the top K."
            ),
            click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draws."),
        ],
        command,
    )


def rows_option(command: Command) -> Command:
    """Add the option that limits tables on a terminal."""
    return _add(
        [
            click.option(
                "--rows",
                type=click.IntRange(min=0),
                default=60,
                show_default=True,
                help="Rows shown on a terminal; 0 for all.",
            )
        ],
        command,
    )


def output_options(command: Command) -> Command:
    """Add the options that say where the answer goes."""
    return _add(
        [
            click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
            click.option(
                "--out",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Also write the tables to FILE: csv, tsv, xlsx, parquet or json, by its ending.",
            ),
        ],
        command,
    )


def _add(options: list[Callable[[Any], Any]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


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


def fit_by(panel: Panel, method: Method, gauge: Gauge, per_component: bool, noise: Any, interval: float) -> Fit:
    """Return the fit of a panel by a method named on the command line."""
    from evenhand.models import METHODS

    options: dict[str, Any] = {"per_component": True} if per_component and method in ("iba", "cwc") else {}
    return METHODS[method](panel, gauge=gauge, noise=noise, interval=interval, **options)
