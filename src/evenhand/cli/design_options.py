"""The options of ``evenhand design``, by what they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from evenhand.cli.options import Command, add_options, headed

OBJECTIVES: Final = ("variance", "differences", "worst", "gap", "determinant", "top")
"""As in :mod:`evenhand.design.task`, which is not imported before there is work."""

ACTIONS: Final = ("review", "primaryreview", "secondaryreview", "pcreview", "externalreview", "metareview")
"""What HotCRP can be told to do with a pair."""


def who_options(command: Command) -> Command:
    """Add the options that say who reads and what there is to read."""
    option = headed("Who and what")
    file = {"type": click.Path(path_type=Path), "metavar": "FILE"}
    return add_options(
        [
            option(
                "--objects",
                metavar="FILE|N",
                help="What is to be assessed: a file with a column object, or how many. Columns per_object, topics, "
                "linking and title are used too.",
            ),
            option(
                "--assessors",
                metavar="FILE|N",
                help="Who assesses: a file with a column assessor, or how many. Columns min_load, max_load, cost, "
                "topics and email are used too.",
            ),
            option("--conflicts", help="Pairs that must not be: a file with columns assessor and object.", **file),
            option("--fixed", help="Pairs that must be: a file with columns assessor and object.", **file),
            option(
                "--linking",
                multiple=True,
                metavar="LABEL",
                help="An object that everybody reads. May be repeated.",
            ),
            option(
                "--extend",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="Scores that are there already, instead of --objects and --assessors: says which to add.",
            ),
            option("--add", type=click.IntRange(min=1), metavar="N", help="How many assessments to add to those."),
        ],
        command,
    )


def load_options(command: Command) -> Command:
    """Add the options that say how much is to be read."""
    option = headed("How much")
    count: dict[str, Any] = {"type": click.IntRange(min=0), "metavar": "L"}
    return add_options(
        [
            option(
                "--per-object",
                type=click.IntRange(min=1),
                metavar="R",
                help="Assessments of each object. With --target-sd, at most so many.",
            ),
            option("--min-load", help="Fewest objects for each assessor.", **count),
            option("--max-load", help="Most objects for each assessor. Default: shared as evenly as can be.", **count),
            option(
                "--target-sd",
                type=click.FloatRange(min=0, min_open=True),
                metavar="SD",
                help="Find the cheapest design whose values have this mean standard deviation.",
            ),
        ],
        command,
    )


def expected_options(command: Command) -> Command:
    """Add the options that say how well assessors know objects."""
    option = headed("How well they know it")
    return add_options(
        [
            option(
                "--expertise",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Levels (high, medium, low) or numbers from 0 to 1: columns assessor, object, expertise; or a "
                "column of assessors and one for each object. Topics in both lists do the same.",
            ),
            option(
                "--uncertainty",
                metavar="X|FILE",
                help="Expected standard deviation of a score in points: a number, or a file as for --expertise.",
            ),
            option("--only-listed", is_flag=True, help="Choose only pairs that the file of expertise lists."),
            option(
                "--expertise-weight",
                type=click.FloatRange(0, 1),
                default=0.0,
                show_default=True,
                metavar="W",
                help="From 0, what makes values precise, to 1, expertise alone.",
            ),
            option(
                "--factor",
                type=float,
                default=1.75,
                show_default=True,
                help="Ratio of the uncertainties of neighbouring levels.",
            ),
        ],
        command,
    )


def aim_options(command: Command) -> Command:
    """Add the options that say what makes a design good."""
    option = headed("What makes it good")
    return add_options(
        [
            option(
                "--objective",
                type=click.Choice(OBJECTIVES),
                default="variance",
                show_default=True,
                help="Mean variance of the values; of their differences; the worst value; the spectral gap; the "
                "determinant; or decisions on a top K.",
            ),
            option("--top", type=click.IntRange(min=1), metavar="K", help="Places, for --objective top."),
            option(
                "--value-sd",
                type=click.FloatRange(min=0, min_open=True),
                metavar="SD",
                help="How far the values are expected to spread, for --objective top.",
            ),
        ],
        command,
    )


def work_options(command: Command) -> Command:
    """Add the options of the search."""
    option = headed("The work")
    positive = click.FloatRange(min=0, min_open=True)
    return add_options(
        [
            option(
                "--seed",
                type=click.IntRange(min=0),
                default=0,
                show_default=True,
                metavar="N",
                help="Seed of all random choices: the same seed gives the same design.",
            ),
            option(
                "--effort",
                type=positive,
                default=1.0,
                show_default=True,
                metavar="X",
                help="How long to search, relative to what is usual.",
            ),
            option(
                "--time-limit",
                type=positive,
                metavar="SECONDS",
                help="Search no longer than this; the design may then depend on the machine.",
            ),
            option(
                "--no-outlook",
                is_flag=True,
                help="Leave out the comparison with chance, lost assessors, and more or less work.",
            ),
        ],
        command,
    )


def handout_options(command: Command) -> Command:
    """Add the options that say what is written for others."""
    option = headed("What to hand out")

    def file(metavar: str) -> dict[str, Any]:
        return {"type": click.Path(path_type=Path), "metavar": metavar}

    return add_options(
        [
            option(
                "--sheets",
                help="Write for each assessor what to read, with cells for scores: a workbook each in DIR, or one "
                "workbook with a sheet each.",
                **file("DIR|FILE.xlsx"),
            ),
            option(
                "--score-sheet",
                help="Write one blank score sheet, csv or xlsx: filled in, it is a FILE for evenhand calibrate.",
                **file("FILE"),
            ),
            option(
                "--confidence",
                type=click.Choice(["level", "uncertainty", "confidence", "none"]),
                default="level",
                show_default=True,
                help="How assessors say on these sheets how sure they are.",
            ),
            option(
                "--hotcrp",
                help="Write a bulk assignment for HotCRP: paper, action, email. The assessors' file needs a column "
                "email, unless labels are addresses.",
                **file("FILE.csv"),
            ),
            option(
                "--hotcrp-action",
                type=click.Choice(ACTIONS),
                default="review",
                show_default=True,
                help="What HotCRP is to make of a pair.",
            ),
            option("--picture", help="Draw who reads what: svg, png, pdf or html, by its ending.", **file("FILE")),
            option("--force", is_flag=True, help="Replace sheets that are there, perhaps with scores in them."),
        ],
        command,
    )
