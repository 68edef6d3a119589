"""The command line: one command per library function, tables for people and JSON for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand import __version__
from evenhand.cli.group import EXIT_NO, EvenhandGroup
from evenhand.cli.options import (
    fit_by,
    fit_options,
    input_options,
    method_options,
    output_options,
    parse_gauge,
    rank_options,
    rows_option,
)

if TYPE_CHECKING:
    from evenhand.fit import Method
    from evenhand.panel import Panel


@click.group(
    cls=EvenhandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `evenhand demo`, then `evenhand check FILE` and `evenhand calibrate FILE`.",
)
@click.version_option(__version__, "-V", "--version", message="evenhand %(version)s")
def main() -> None:
    """Fair values from a panel of assessors who do not all see the same objects.

    FILE holds one assessment a row: object, assessor, score and, if you have it, how sure the assessor was. It may be
    csv, tsv, xlsx, xlsm, ods or parquet; columns are recognised by their names.
    """


@main.command(epilog="Example: evenhand calibrate scores.xlsx --gauge zero-sum --out results.xlsx")
@input_options
@method_options
@fit_options
@rank_options
@rows_option
@output_options
def calibrate(
    file: Path,
    read: Callable[[], Panel],
    method: Method,
    noise: str,
    interval: float,
    gauge: str,
    reference: float | None,
    known: dict[str, float],
    per_component: bool,
    top: int | None,
    seed: int,
    rows: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Calibrate the assessors of FILE and show the values of the objects.

    Each score is taken to be the object's value plus the assessor's bias plus noise, and confident scores weigh
    more. The value of an object no longer depends on the luck of who read it.
    """
    from evenhand.cli import terminal
    from evenhand.io.results import check_target
    from evenhand.report.summarise import summarise_fit

    chosen = parse_gauge(gauge, reference, known)
    if out is not None:
        check_target(out, file)
    fit = fit_by(read(), method, chosen, per_component, noise, interval)
    summary = summarise_fit(fit, top=top, seed=seed)
    if out is not None:
        write_summary(out, summary, tables=("objects", "assessors"))
    terminal.show_json(summary) if as_json else terminal.show_fit(summary, rows, out)


@main.command(epilog="Example: evenhand check scores.csv")
@input_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def check(file: Path, read: Callable[[], Panel], as_json: bool) -> int:
    """Check whether FILE is sound and hangs together, before anything is calibrated.

    Lists everything that is wrong with the file, the groups that cannot be compared, the assessments on which
    comparisons hang by a thread, and which further assessments would mend it. Exit code 1 if the panel is not
    connected, 2 if the file cannot be read as a panel.
    """
    from evenhand.cli import terminal
    from evenhand.errors import InputError
    from evenhand.report.summarise import summarise_check, summarise_refusal

    try:
        summary = summarise_check(read())
    except InputError as error:
        summary = summarise_refusal(error)
        terminal.show_json(summary) if as_json else terminal.show_problems(summary)
        raise
    terminal.show_json(summary) if as_json else terminal.show_check(summary)
    return 0 if summary["ok"] else EXIT_NO


@main.command(epilog="Example: evenhand compare scores.csv --json")
@input_options
@fit_options
@output_options
def compare(
    file: Path,
    read: Callable[[], Panel],
    gauge: str,
    reference: float | None,
    known: dict[str, float],
    per_component: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Put the methods side by side for FILE: averages, incomplete block analysis, calibration with confidence.

    Shows residuals, uncertainties, evidence and the error on held-out scores, how well the methods agree, and which
    one these data support.
    """
    from evenhand.cli import terminal
    from evenhand.compare import compare as compare_methods
    from evenhand.io.results import check_target
    from evenhand.report.summarise import summarise_comparison

    if out is not None:
        check_target(out, file)
    chosen = parse_gauge(gauge, reference, known)
    summary = summarise_comparison(compare_methods(read(), gauge=chosen, per_component=per_component))
    if out is not None:
        write_summary(out, summary, tables=("methods", "r2"))
    terminal.show_json(summary) if as_json else terminal.show_comparison(summary, out)


@main.command(epilog="Example: evenhand rank scores.csv --top 10 --lottery-seed 2026")
@input_options
@method_options
@fit_options
@rank_options
@click.option("--draws", type=click.IntRange(min=1), default=10_000, show_default=True, help="Posterior draws.")
@click.option("--lottery-seed", type=click.IntRange(min=0), help="Draw the open places by lot among the undecided.")
@rows_option
@output_options
def rank(
    file: Path,
    read: Callable[[], Panel],
    method: Method,
    noise: str,
    interval: float,
    gauge: str,
    reference: float | None,
    known: dict[str, float],
    per_component: bool,
    top: int | None,
    seed: int,
    draws: int,
    lottery_seed: int | None,
    rows: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Rank the objects of FILE, with how sure each rank is.

    With --top K also says who is safely in, who is safely out, and whom the data cannot separate: objects whose rank
    interval crosses the line. --lottery-seed draws the open places among those by lot, in a way that anyone can repeat.
    """
    from evenhand.cli import terminal
    from evenhand.io.results import check_target
    from evenhand.ranking import decide
    from evenhand.ranking import rank as rank_fit
    from evenhand.report.summarise import summarise_ranking

    chosen = parse_gauge(gauge, reference, known)
    if lottery_seed is not None and top is None:
        raise click.UsageError("--lottery-seed needs --top K, the number of places.")
    if out is not None:
        check_target(out, file)
    fit = fit_by(read(), method, chosen, per_component, noise, interval)
    ranking = rank_fit(fit, top=top, draws=draws, seed=seed)
    decision = None if top is None else decide(ranking, top, lottery_seed=lottery_seed)
    summary = summarise_ranking(ranking, decision)
    if out is not None:
        write_summary(out, summary, tables=("objects",))
    terminal.show_json(summary) if as_json else terminal.show_ranking(summary, rows, out)


@main.command(epilog="Example: evenhand influence scores.csv --top 10")
@input_options
@method_options
@fit_options
@click.option("--top", type=click.IntRange(min=1), metavar="K", help="Places: says who would enter or leave the top K.")
@click.option("--rows", type=click.IntRange(min=0), default=10, show_default=True, help="Rows of each list; 0 for all.")
@output_options
def influence(
    file: Path,
    read: Callable[[], Panel],
    method: Method,
    noise: str,
    interval: float,
    gauge: str,
    reference: float | None,
    known: dict[str, float],
    per_component: bool,
    top: int | None,
    rows: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show what each score and each assessor of FILE did to the values.

    Why values differ from plain averages, which scores are far from what all others predict, which pull their
    object's value the most, and what would change without each assessor.
    """
    from evenhand.cli import terminal
    from evenhand.io.results import check_target
    from evenhand.report.summarise import summarise_influence

    chosen = parse_gauge(gauge, reference, known)
    if out is not None:
        check_target(out, file)
    fit = fit_by(read(), method, chosen, per_component, noise, interval)
    summary = summarise_influence(fit, top=top)
    if out is not None:
        write_summary(out, summary, tables=("assessments", "assessors", "objects"))
    terminal.show_json(summary) if as_json else terminal.show_influence(summary, rows, top, out)


@main.command(epilog="Example: evenhand demo --save scores.csv, then evenhand calibrate scores.csv")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the demo's scores to FILE, to try things on."
)
@output_options
def demo(save: Path | None, as_json: bool, out: Path | None) -> None:
    """Calibrate a small grant competition that ships with evenhand: 40 proposals, 11 assessors."""
    import shutil

    from evenhand.cli import terminal
    from evenhand.data import demo_path
    from evenhand.errors import InputError
    from evenhand.io import read_panel
    from evenhand.models import METHODS
    from evenhand.report.summarise import summarise_fit

    panel = read_panel(demo_path())
    fit = METHODS["cwc"](panel)
    averages = METHODS["sa"](panel)
    summary = summarise_fit(fit)
    if out is not None:
        write_summary(out, summary, tables=("objects", "assessors"))
    if save is not None:
        try:
            shutil.copyfile(demo_path(), save)
        except OSError as error:
            raise InputError(f"{save} cannot be written: {error.strerror}.", kind="bad_output") from error
    if as_json:
        terminal.show_json(summary)
        return
    terminal.show_fit(summary, 0, out)
    terminal.show_demo(fit, averages, save)


def write_summary(out: Path, summary: dict[str, Any], tables: tuple[str, ...]) -> None:
    """Write the tables of a summary to a file, by its ending."""
    from evenhand.io.results import write_json, write_tables

    if out.suffix.lower() == ".json":
        write_json(out, summary)
        return
    columns = {
        name: {key: [_cell(record.get(key)) for record in summary[name]] for key in _keys(summary[name])}
        for name in tables
    }
    notes = [
        note["message"] if note["where"] is None else f"{note['where']}: {note['message']}" for note in summary["notes"]
    ]
    write_tables(out, columns, notes=notes)


def _keys(records: list[dict[str, Any]]) -> list[str]:
    """Return all keys of the records, in order."""
    return list(dict.fromkeys(key for record in records for key in record))


def _cell(cell: Any) -> Any:
    """Return what fits into one cell: a list becomes its labels in a line."""
    return ", ".join(map(str, cell)) if isinstance(cell, list) else cell
