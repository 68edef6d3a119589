"""``evenhand template``: an empty workbook to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.group import EvenhandCommand
from evenhand.cli.options import numbers

if TYPE_CHECKING:
    from evenhand.panel.confidence import Form
    from evenhand.panel.graph import Side


@click.command(cls=EvenhandCommand, epilog="Example: evenhand template -o panel.xlsx --objects 40 --bounds 0,100")
@click.option(
    "-o",
    "--output",
    "place",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Workbook to write, which ends in .xlsx.",
)
@click.option(
    "--confidence",
    type=click.Choice(["level", "uncertainty", "confidence", "none"]),
    default="level",
    show_default=True,
    help="How assessors say how sure they are: high, medium or low; a standard deviation; a weight; not at all.",
)
@click.option("--objects", metavar="FILE|N", help="Objects to choose from: a file with that column, or how many.")
@click.option("--assessors", metavar="FILE|N", help="Assessors to choose from, in the same way.")
@click.option("--bounds", metavar="A,B", callback=numbers, help="Ends of the scale: other scores are refused.")
@click.option("--force", is_flag=True, help="Replace a file of that name.")
def template(
    place: Path,
    confidence: Form,
    objects: str | None,
    assessors: str | None,
    bounds: tuple[float, ...],
    force: bool,
) -> None:
    """Write an empty workbook to fill in, with headings that are recognised, drop-downs and instructions.

    It checks what is typed, and colours rows in which an assessor scores the same object twice. Filled in, it is a
    FILE for every other command as it is.
    """
    from evenhand.cli import terminal
    from evenhand.io.results import check_target
    from evenhand.reports.template import template as write_template

    if bounds and len(bounds) != 2:
        raise click.UsageError(f"--bounds takes two numbers, A,B, not {len(bounds)}.")
    files = [given for given in (objects, assessors) if given is not None and not given.isdecimal()]
    check_target(place, protected=files, known=(".xlsx",))
    write_template(
        place,
        confidence=confidence,
        objects=_labels(objects, "object"),
        assessors=_labels(assessors, "assessor"),
        bounds=(bounds[0], bounds[1]) if bounds else None,
        force=force,
    )
    terminal.show_written([place])
    typed = f'"{place}"' if " " in str(place) else place
    terminal.show_next_step(f"Fill in the sheet scores, then try: evenhand check {typed}")


def _labels(given: str | None, side: Side) -> int | list[str]:
    """Return the labels that an option asks for: none, a number of them, or those of a file."""
    from evenhand.io.pairs import read_labels

    if given is None:
        return []
    return int(given) if given.isdecimal() else read_labels(given, side)
