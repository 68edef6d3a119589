"""``evenhand simulate`` and ``evenhand reproduce``: simulated panels, plans, and the paper's numbers beside ours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand.cli.group import EXIT_NO, EvenhandCommand
from evenhand.cli.options import (
    Command,
    Output,
    add_options,
    headed,
    numbers,
    output_options,
    typed_options,
)

if TYPE_CHECKING:
    from evenhand.studies import Reproduction

PARTS: Final = ("figure-1", "case-study-1", "case-study-2")
PUBLISHED: Final = "case_study_1_published.csv"
SCORES: Final = "case_study_2_scores.csv"
_NOT_IN_A_PLAN: Final = (
    *("per_object", "runs", "jobs", "value_mean", "value_sd", "bounds", "step", "figures", "figure_format"),
)


def _counts(context: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    found = numbers(context, option, given)
    if not found or any(count != int(count) or count < 1 for count in found):
        raise click.BadParameter(f"{given!r} should be whole numbers separated by commas, such as 2,3,4.")
    return tuple(int(count) for count in found)


def _profiles(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[Any, ...]:
    """Read profiles such as 1:1:2."""
    try:
        return tuple(tuple(float(part) for part in text.split(":")) for text in given)
    except ValueError:
        raise click.BadParameter(f"{' '.join(given)!r} should be numbers with colons between, such as 1:1:2.") from None


def _bounds(context: click.Context, option: click.Parameter, given: str) -> tuple[float, float] | None:
    """Read two bounds, or none."""
    if given.strip().lower() == "none":
        return None
    found = numbers(context, option, given)
    if len(found) != 2:
        raise click.BadParameter(f"{given!r} should be two numbers, such as 0,100, or none.")
    return found[0], found[1]


def _number_option(name: str, default: float, text: str) -> Any:
    option = headed("The panels")
    return option(name, type=float, default=default, show_default=True, metavar="X", help=text)


def _run_options(command: Command) -> Command:
    """Add the options of a study's runs."""
    option = headed("The work")
    counted = {"type": click.IntRange(min=1), "metavar": "N"}
    return add_options(
        [
            option("--runs", default=100, show_default=True, help="Simulated panels for each cell.", **counted),
            option(
                "--seed",
                type=click.IntRange(min=0),
                default=1,
                show_default=True,
                metavar="N",
                help="Seed of the random numbers.",
            ),
            option("--jobs", help="Processes; the numbers do not depend on it.  [default: all cores]", **counted),
            click.option(
                "--figures",
                type=click.Path(path_type=Path, file_okay=False),
                metavar="DIR",
                help="Also draw the figures of the paper and write them to DIR.",
            ),
            click.option(
                "--figure-format",
                type=click.Choice(["svg", "png"]),
                default="svg",
                show_default=True,
                help="How figures are written.",
            ),
        ],
        command,
    )


def _panel_options(command: Command) -> Command:
    """Add the options that say what the simulated panels are like."""
    option = headed("The panels")
    counted = {"type": click.IntRange(min=1), "show_default": True, "metavar": "N"}
    return add_options(
        [
            option("--objects", "n_objects", default=3000, help="Objects.", **counted),
            option("--assessors", "n_assessors", default=15, help="Assessors.", **counted),
            option(
                "--per-object",
                default="2,3,4,5,6",
                show_default=True,
                metavar="R,...",
                callback=_counts,
                help="Assessors per object, chosen at random for each.",
            ),
            option(
                "--uncertainties",
                default="5,10,15",
                show_default=True,
                metavar="S,...",
                callback=numbers,
                help="Standard deviations that scores can have: of high confidence, medium, low, or any others.",
            ),
            option(
                "--profile",
                "profiles",
                multiple=True,
                default=("1:1:1", "1:1:2", "1:2:1", "2:1:1"),
                show_default=True,
                metavar="H:M:L",
                callback=_profiles,
                help="How often each of them occurs. May be repeated.",
            ),
            _number_option("--value-mean", 50.0, "Mean of the true values."),
            _number_option("--value-sd", 15.0, "Standard deviation of the true values."),
            _number_option("--bias-sd", 15.0, "Standard deviation of the assessors' biases."),
            option(
                "--bounds",
                default="0,100",
                show_default=True,
                metavar="A,B|none",
                callback=_bounds,
                help="Values and scores are cut off here.",
            ),
            _number_option("--step", 1.0, "Values and scores are rounded to multiples of this; 0 for not at all."),
        ],
        command,
    )


@click.command(cls=EvenhandCommand, epilog="Example: evenhand simulate --objects 120 --assessors 8 --target-sd 5")
@_panel_options
@headed("A plan")(
    "--target-sd",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SD",
    help="Simulate no scores, but say how many assessors per object values with this standard deviation need.",
)
@_run_options
@output_options("cells")
def simulate(
    target_sd: float | None,
    n_objects: int,
    n_assessors: int,
    profiles: tuple[tuple[float, ...], ...],
    uncertainties: tuple[float, ...],
    bias_sd: float,
    step: float,
    seed: int,
    jobs: int | None,
    figures: Path | None,
    figure_format: Any,
    output: Output,
    **others: Any,
) -> int:
    """Simulate panels with known truth, and show how far averages and calibration are from it.

    Without options this is case study 1 of the paper: 3000 objects, 15 assessors, 2 to 6 of them for each object, four
    mixtures of high, medium and low confidence, 100 panels of each kind. SA is simple averaging, IBA incomplete block
    analysis, CWC calibration with confidence.

    With --target-sd it plans a panel of your own: how many assessors must read each object, and how much each of them
    will have to read. Exit code 1 if that cannot be had.
    """
    from evenhand.cli.showing import shown
    from evenhand.plots import studies as study_plots
    from evenhand.reports.studies import summarise_plans, summarise_study
    from evenhand.studies import plan, simulation_study

    if target_sd is not None:
        for option in typed_options(_NOT_IN_A_PLAN):
            raise click.UsageError(f"{option} has no meaning with --target-sd: leave it out.")
        output = replace(output, tables=("plans", "steps"))
        _check_out(output, [])
        with shown(verbose=False):
            plans = [
                plan(
                    target_sd,
                    n_objects=n_objects,
                    n_assessors=n_assessors,
                    uncertainties=uncertainties,
                    profile=profile,
                    bias_sd=bias_sd,
                    seed=seed,
                )
                for profile in profiles
            ]
            sds = ", ".join(f"{sd:g}" for sd in uncertainties)
            setting = (
                f"{n_objects:,} objects, {n_assessors:,} assessors, scores with a standard deviation of {sds}; a "
                "profile says how often each of these occurs."
            )
            output.give(summarise_plans(plans, seed), lambda summary: _show_plans(summary, setting))
        return EXIT_NO if any(one.answer is None for one in plans) else 0
    _check_figures(figures)
    with shown(verbose=False):
        study = simulation_study(
            n_objects=n_objects,
            n_assessors=n_assessors,
            profiles=profiles,
            uncertainties=uncertainties,
            bias_sd=bias_sd,
            step=step or None,
            seed=seed,
            jobs=jobs or _cores(),
            **others,
        )
        drawn = [] if figures is None else study_plots.save_figures(study, figures, figure_format)
        output.give(summarise_study(study, drawn), _show_study)
    return 0


@click.command(cls=EvenhandCommand, epilog="Example: evenhand reproduce case-study-2 --data published")
@click.argument("parts", nargs=-1, type=click.Choice(PARTS), metavar="[case-study-1|case-study-2|figure-1]...")
@headed("The data")(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=f"Directory of the paper's published data: {PUBLISHED} and {SCORES}.",
)
@_run_options
@output_options("numbers", "parts")
def reproduce(
    parts: tuple[str, ...],
    data: Path | None,
    runs: int,
    seed: int,
    jobs: int | None,
    figures: Path | None,
    figure_format: Any,
    output: Output,
) -> int:
    """Put the numbers of the paper beside ours, and name each difference.

    case-study-1 simulates panels and compares errors with the published ones, within their Monte Carlo noise.
    case-study-2 computes tables 2 to 6 from the published scores. figure-1 needs no data. Without a name, all three.

    What is missing from --data is said, and the rest is done. Exit code 1 if a number differs and nobody knows why, 2
    if nothing could be done.
    """
    from evenhand.cli.showing import shown
    from evenhand.plots import studies as study_plots
    from evenhand.reports.studies import summarise_reproductions
    from evenhand.studies import case_study_1, case_study_2, figure_1, read_published, simulation_study

    chosen = [part for part in PARTS if part in (parts or PARTS)]
    if "case-study-1" not in chosen:
        for option in typed_options(("runs", "seed", "jobs")):
            raise click.UsageError(f"{option} goes with case-study-1.")
    if data is not None and not data.is_dir():
        raise click.UsageError(f"There is no directory {data}.")
    _check_out(output, [] if data is None else [data / PUBLISHED, data / SCORES])
    _check_figures(figures)
    published, scores = (
        None if data is None or not (data / name).is_file() else data / name for name in (PUBLISHED, SCORES)
    )
    missing = []
    if "case-study-1" in chosen and published is None:
        missing.append(_missing("The simulated errors stand alone", PUBLISHED))
    if "case-study-2" in chosen and scores is None:
        missing.append(_missing("Case study 2 is left out", SCORES))
        chosen.remove("case-study-2")
    if not chosen:
        raise click.UsageError(_missing("Case study 2 cannot be computed", SCORES))
    found: list[Reproduction] = []
    drawn: list[Path] = []
    with shown(verbose=False):
        for part in chosen:
            if part == "figure-1":
                found.append(figure_1())
                if figures is not None:
                    drawn += study_plots.save_figure_1(figures, figure_format)
            elif part == "case-study-2":
                from evenhand.io import read_panel

                panel = read_panel(str(scores))
                found.append(case_study_2(panel))
                if figures is not None:
                    drawn += study_plots.save_figure_5(panel, figures, figure_format)
            else:
                errors = None if published is None else read_published(published)
                study = simulation_study(runs=runs, seed=seed, jobs=jobs or _cores())
                found.append(case_study_1(study, errors))
                if figures is not None:
                    drawn += study_plots.save_figures(study, figures, figure_format, errors)
        output.give(summarise_reproductions(found, missing, drawn), _show_reproductions)
    return EXIT_NO if any(part.differing for part in found) else 0


def _missing(what: str, name: str) -> str:
    return f"{what}: give --data DIR, a directory that holds {name} of the paper's published data."


def _check_out(output: Output, protected: Sequence[Path]) -> None:
    from evenhand.io.results import check_target

    if output.out is not None:
        check_target(output.out, output.tables, protected)


def _check_figures(folder: Path | None) -> None:
    """Refuse, before the work, a directory that cannot be made."""
    if folder is not None and not folder.is_dir() and not folder.resolve().parent.is_dir():
        raise click.UsageError(f"There is no directory {folder.parent}: make it first.")


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _show_study(summary: dict[str, Any]) -> None:
    from evenhand.cli.study_tables import show_study

    show_study(summary)


def _show_plans(summary: dict[str, Any], setting: str) -> None:
    from evenhand.cli.study_tables import show_plans

    show_plans(summary, setting)


def _show_reproductions(summary: dict[str, Any]) -> None:
    from evenhand.cli.study_tables import show_reproductions

    show_reproductions(summary)
