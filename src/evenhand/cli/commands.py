"""The command line: one command per library function, tables for people and JSON for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand import __version__
from evenhand.cli.designing import design
from evenhand.cli.fitting import criteria_options, fit_options, refuse_criteria
from evenhand.cli.group import EXIT_NO, EvenhandGroup
from evenhand.cli.options import (
    Output,
    count_option,
    gauge_options,
    input_options,
    json_option,
    numbers,
    output_options,
    rank_options,
    rows_option,
    top_option,
    typed_options,
)
from evenhand.cli.refinements import score_options
from evenhand.cli.reporting import Reporter, report, report_option
from evenhand.cli.studying import reproduce, simulate
from evenhand.cli.templating import template

if TYPE_CHECKING:
    from evenhand.models.bounded import ScoreMap
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.panel.gauge import Gauge
    from evenhand.panel.panel import Panel


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
@criteria_options
@rank_options
@click.option(
    "--grades",
    metavar="A,B,...",
    callback=numbers,
    help="Cut-offs, such as 40,50,60,70: adds the chance of each class. Depends on the gauge.",
)
@click.option(
    "--cluster",
    metavar="local:N|tcp://HOST:PORT",
    help="Work on a Dask cluster: FILE is a directory of Parquet files, --out the directory of results.",
)
@rows_option(40)
@output_options("objects", "assessors")
@report_option
def calibrate(
    fit: Callable[[], Fit | CriteriaFit],
    top: int | None,
    seed: int,
    grades: tuple[float, ...],
    cluster: str | None,
    rows: int,
    output: Output,
    write_report: Reporter,
) -> None:
    """Calibrate the assessors of FILE and show the values of the objects.

    Each score is taken to be the object's value plus the assessor's bias plus noise, and confident scores weigh
    more. The value of an object no longer depends on the luck of who read it.

    Refinements assume more, or less: that few scores are not to be trusted far (--shrink), that a few are far off
    (--tails), that marks have ends (--bounds). The command compare says which of them the scores support.
    """
    from evenhand.cli import terminal
    from evenhand.reports.summary import summarise_fit
    from evenhand.reports.workbook import with_details

    if cluster is not None:
        from evenhand.cli.cluster import calibrate_on_cluster

        calibrate_on_cluster(click.get_current_context(), output)
        return
    found = fit()
    summary = summarise_fit(found, top=top, seed=seed, grades=grades, with_evidence=output.is_full)
    pages = write_report(found, {"top": top, "seed": seed})
    output.give(
        summary,
        lambda shown: terminal.show_fit(shown, rows),
        lambda: with_details(summary, found, top=top, seed=seed),
        pages,
    )


@main.command(epilog="Example: evenhand check scores.csv")
@input_options
@json_option
def check(read: Callable[[], Panel], as_json: bool) -> int:
    """Check whether FILE is sound and hangs together, before anything is calibrated.

    Lists everything that is wrong with the file, the groups that cannot be compared, the assessments on which
    comparisons hang by a thread, and which further assessments would mend it. Exit code 1 if the panel is not
    connected, 2 if the file cannot be read as a panel.
    """
    from evenhand.cli import terminal
    from evenhand.errors import InputError
    from evenhand.reports.summary import summarise_check, summarise_refusal

    try:
        summary = summarise_check(read())
    except InputError as error:
        if as_json:
            terminal.show_json(summarise_refusal(error))
        elif len(error.problems) > 1:
            terminal.show_problems(summarise_refusal(error))
        raise InputError(error.problems[:1]) from error
    terminal.show_json(summary) if as_json else terminal.show_check(summary)
    return 0 if summary["ok"] else EXIT_NO


@main.command(epilog="Example: evenhand compare scores.csv --json")
@input_options
@gauge_options
@score_options
@click.option("--quick", is_flag=True, help="The four methods only, without refinements.")
@click.option(
    "--priors",
    metavar="V,SO,SA,WMIN,WMAX",
    callback=numbers,
    help="Priors of the log-evidence: centre and spread of values, spread of biases, limits of the noise variance.",
)
@output_options("methods", "r2")
def compare(
    read: Callable[[], Panel],
    gauge: Gauge,
    per_component: bool,
    step: float | None,
    scores: ScoreMap | None,
    quick: bool,
    priors: tuple[float, ...],
    output: Output,
) -> None:
    """Put the methods side by side for FILE: averages, calibration, and refinements of it.

    Shows residuals, uncertainties, evidence and how well held-out scores are predicted, how well the methods agree,
    and which one these data support. Refinements that suit the panel are tried by themselves; what only you know,
    such as the ends of the scale, say with --bounds, --step, --log-scores or --covariate.
    """
    from evenhand.answers.advice import applicable
    from evenhand.answers.compare import compare as compare_methods
    from evenhand.answers.evidence import Priors
    from evenhand.cli import terminal
    from evenhand.models.refined import Refinements
    from evenhand.reports.summary import summarise_comparison

    refuse_criteria()
    for option in typed_options(("step", "bounds", "map_", "log_scores", "covariates")) if quick else ():
        raise click.UsageError(f"--quick leaves out refinements, and so {option}: leave one of the two out.")

    if priors and len(priors) != 5:
        raise click.UsageError(f"--priors takes five numbers, V,SO,SA,WMIN,WMAX, not {len(priors)}.")
    believed = Priors(*priors) if priors else None
    panel = read()
    candidates = [] if quick else applicable(panel)
    if step is not None:
        candidates.append(Refinements(shrink=True, step=step))
    if scores is not None:
        candidates.append(Refinements(shrink=True, scores=scores))
    if panel.covariates:
        candidates.append(Refinements(shrink=True, covariates=tuple(panel.covariates)))
    found = compare_methods(panel, gauge=gauge, per_component=per_component, priors=believed, candidates=candidates)
    output.give(summarise_comparison(found), terminal.show_comparison)


@main.command(epilog="Example: evenhand rank scores.csv --top 10 --lottery-seed 2026")
@criteria_options
@rank_options
@count_option("--draws", 10_000, "Posterior draws.")
@click.option(
    "--lottery-seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw the open places by lot among the undecided.",
)
@rows_option(40)
@output_options("objects")
def rank(
    fit: Callable[[], Fit | CriteriaFit],
    top: int | None,
    seed: int,
    draws: int,
    lottery_seed: int | None,
    rows: int,
    output: Output,
) -> None:
    """Rank the objects of FILE, with how sure each rank is.

    With --top K also says who is safely in, who is safely out, and whom the data cannot separate: objects whose rank
    interval crosses the line. --lottery-seed draws the open places among those by lot, in a way that anyone can repeat.
    """
    from evenhand.answers.decision import decide
    from evenhand.answers.ranking import rank as rank_fit
    from evenhand.cli import terminal
    from evenhand.models.criteria import CriteriaFit
    from evenhand.reports.summary import summarise_ranking

    if lottery_seed is not None and top is None:
        raise click.UsageError("--lottery-seed needs --top K, the number of places.")
    found = fit()
    ranking = rank_fit(found.combined if isinstance(found, CriteriaFit) else found, top=top, draws=draws, seed=seed)
    decision = None if top is None else decide(ranking, top, lottery_seed=lottery_seed)
    output.give(summarise_ranking(ranking, decision), lambda found: terminal.show_ranking(found, rows))


@main.command(epilog="Example: evenhand influence scores.csv --top 10")
@fit_options
@top_option("Places: says who would enter or leave the top K.")
@rows_option(10)
@output_options("assessments", "assessors", "objects")
def influence(fit: Callable[[], Fit], top: int | None, rows: int, output: Output) -> None:
    """Show what each score and each assessor of FILE did to the values.

    Why values differ from plain averages, which scores are far from what all others predict, which pull their
    object's value the most, and what would change without each assessor.
    """
    from evenhand.cli import terminal
    from evenhand.reports.summary import summarise_influence

    output.give(summarise_influence(fit(), top=top), lambda found: terminal.show_influence(found, rows, top))


@main.command("next", epilog="Example: evenhand next scores.csv --top 10 --conflicts conflicts.csv")
@fit_options
@top_option("Places: what would settle the top K, not all values.")
@click.option("--expected", type=float, metavar="C", help="Expected confidence of a further score; typical by default.")
@click.option(
    "--conflicts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Pairs that must not be made: a file with columns assessor and object.",
)
@count_option("--most", 10, "How many to list.")
@output_options("assessments")
def next_assessments(
    fit: Callable[[], Fit],
    top: int | None,
    expected: float | None,
    conflicts: Path | None,
    most: int,
    output: Output,
) -> None:
    """Say which further assessments of FILE would help most.

    Without --top, those that narrow all values; with --top K, those that are expected to put most objects on the right
    side of the line.
    """
    from evenhand.answers.next_best import next_best
    from evenhand.cli import terminal
    from evenhand.io.pairs import read_pairs
    from evenhand.reports.summary import summarise_next

    forbidden = [] if conflicts is None else read_pairs(conflicts)
    found = next_best(fit(), top=top, confidence=expected, conflicts=forbidden, most=most)
    output.give(summarise_next(found, top), terminal.show_next)


@main.command(epilog="Example: evenhand pack scores.csv -o scores.packed --parts 8")
@input_options
@click.option(
    "-o",
    "--output",
    "place",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory to write. A packed panel there is replaced, anything else is refused.",
)
@count_option("--parts", 1, "Files to split the assessments into, by the larger side.")
@json_option
def pack(read: Callable[[], Panel], place: Path, parts: int, as_json: bool) -> None:
    """Pack FILE as coded parquet files, which every command reads in its place and much faster.

    DIR holds the labels, the assessments as codes and numbers, and panel.json, which says what there is. What the
    input options say about FILE need not be said again when DIR is read.
    """
    from evenhand.cli import terminal
    from evenhand.io.packed import check_place, manifest_of, pack_panel

    check_place(place)
    panel = read()
    pack_panel(panel, place, parts=parts)
    if as_json:
        terminal.show_json({"packed": str(place), **manifest_of(place)})
    else:
        terminal.show_packed(panel, place, parts)


@main.command(epilog="Example: evenhand demo --save scores.csv, then evenhand calibrate scores.csv")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the demo's scores to FILE, a csv, to try."
)
@output_options("objects", "assessors")
@report_option
def demo(save: Path | None, output: Output, write_report: Reporter) -> None:
    """Calibrate a small grant competition that ships with evenhand: 40 proposals, 11 assessors."""
    from evenhand.cli import terminal
    from evenhand.data import demo_path
    from evenhand.io import read_panel
    from evenhand.io.results import check_target, copy_file
    from evenhand.models.additive import METHODS
    from evenhand.reports.summary import summarise_fit
    from evenhand.reports.workbook import with_details

    if save is not None:
        check_target(save, known=(".csv",))
        copy_file(demo_path(), save)
    panel = read_panel(demo_path())
    fit, averages = METHODS["cwc"](panel), METHODS["sa"](panel)

    def show(summary: dict[str, object]) -> None:
        terminal.show_fit(summary, 0)
        terminal.show_demo(fit, averages, save)

    pages = write_report(fit, {"top": 10, "candidates": (), "title": "A small grant competition"})
    summary = summarise_fit(fit)
    output.give(summary, show, lambda: with_details(summary, fit), pages)


main.add_command(design)
main.add_command(report)
main.add_command(simulate)
main.add_command(reproduce)
main.add_command(template)
