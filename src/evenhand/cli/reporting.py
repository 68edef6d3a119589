"""The command that writes a report."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.fitting import criteria_options
from evenhand.cli.group import EXIT_NO
from evenhand.cli.options import Command, count_option, json_option, rank_options

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit

Reporter = Callable[[Any, dict[str, Any]], list[Path]]
"""Writes a report of a fit with some options, where one was asked for, and returns what was written."""


def report_option(command: Command) -> Command:
    """Add the option that writes a report beside the answer; the command gets ``write_report``."""

    @functools.wraps(command)
    def wrapped(report_place: Path | None, **others: Any) -> Any:
        if report_place is not None:
            _check_place(report_place)

        def write(found: Fit | CriteriaFit, options: dict[str, Any]) -> list[Path]:
            if report_place is None:
                return []
            from evenhand.reports import report

            return [report(found, report_place, **options)]

        return command(write_report=write, **others)

    return click.option(
        "--report",
        "report_place",
        type=click.Path(path_type=Path),
        metavar="FILE.html",
        help="Also write a report, as the command report does.",
    )(wrapped)


def _marks(given: str) -> tuple[str, str | None]:
    """Return the fingerprint that was given, or those that stand in a report: of the whole, and of the data."""
    from evenhand.errors import InputError
    from evenhand.reports.page import fingerprints_in

    if not given.lower().endswith((".html", ".htm")):
        if len(given) < 8 or not set(given.lower()) <= set("0123456789abcdef"):
            raise click.UsageError("--verify needs a report, or at least the first eight characters of a fingerprint.")
        return given.lower(), None
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"The report cannot be read ({getattr(error, 'strerror', None) or 'it is not text'})."
        raise InputError(message, kind="cannot_read", where=given) from error
    found = fingerprints_in(text)
    if found is None:
        raise InputError("This page has no fingerprint: it is not a report.", kind="bad_data", where=given)
    return found


def _check_place(place: Path) -> None:
    """Refuse, before any work is done, a place where no report can be written."""
    from evenhand.io.results import check_target
    from evenhand.reports.page import refuse_pdf

    refuse_pdf(place)
    source = click.get_current_context().params.get("file")
    check_target(place, protected=[] if source is None else [source], known=(".html", ".htm"))


@click.command(epilog="Example: evenhand report scores.xlsx --top 10 -o report.html")
@criteria_options
@rank_options
@count_option("--draws", 10_000, "Posterior draws.")
@click.option(
    "--lottery-seed", type=click.IntRange(min=0), metavar="N", help="Draw the open places by lot among the undecided."
)
@click.option(
    "-o",
    "--output",
    "place",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="The page to write, ending in .html. For a PDF print it from a browser: it is laid out for A4.",
)
@click.option("--title", default="Results of the panel", show_default=True, help="Heading of the page.")
@click.option("--quick", is_flag=True, help="Compare the four methods only, without refinements.")
@click.option(
    "--verify",
    metavar="FINGERPRINT|PAGE",
    help="Write nothing; say whether FILE, the options and this version give this fingerprint (or its beginning), "
    "or that of a report.",
)
@json_option
def report(
    fit: Callable[[], Fit | CriteriaFit],
    top: int | None,
    seed: int,
    draws: int,
    lottery_seed: int | None,
    place: Path,
    title: str,
    quick: bool,
    verify: str | None,
    as_json: bool,
) -> int:
    """Write a report of FILE: one page with the decision, all it rests on, and a fingerprint.

    The decision comes first, in plain words; then values, assessors, how the panel hangs together, how sure all is,
    what each score did, the methods side by side, words for the minutes, and a fingerprint of data, settings and
    version. The page needs no network and can be mailed, archived and printed.

    --verify report.html, or --verify with its fingerprint, checks a report against the data: exit code 0 if nothing
    has changed, 1 if something has. Give the options that the report was written with.
    """
    from evenhand.answers.fingerprint import fingerprint
    from evenhand.cli.writing import open_console, say, show_json
    from evenhand.io.results import write_text
    from evenhand.models.criteria import CriteriaFit
    from evenhand.reports.page import make_report, render

    if lottery_seed is not None and top is None:
        raise click.UsageError("--lottery-seed needs --top K, the number of places.")
    if verify is not None:
        whole, data = _marks(verify)
        found = fit()
        one = found.combined if isinstance(found, CriteriaFit) else found
        mark = fingerprint(one, top=top, seed=seed, draws=draws, lottery_seed=lottery_seed)
        same = mark.whole.startswith(whole)
        if as_json:
            show_json({"same": same, "fingerprint": mark.whole, "data": mark.data, "version": mark.version})
            return 0 if same else EXIT_NO
        console = open_console()
        say(console, f"{'Unchanged' if same else 'Changed'}: data, settings and version give {mark.whole}.")
        if not same and data is not None:
            what = "options or the version are not" if mark.data == data else "scores are not"
            say(console, f"The {what} those of {verify}.")
        return 0 if same else EXIT_NO
    _check_place(place)
    options: dict[str, Any] = {"candidates": ()} if quick else {}
    made = make_report(fit(), top=top, seed=seed, draws=draws, lottery_seed=lottery_seed, title=title, **options)
    write_text(place, render(made))
    if as_json:
        show_json({"report": str(place), "fingerprint": made.mark.whole, "decision": made.decision})
        return 0
    console = open_console()
    for sentence in made.decision:
        say(console, sentence)
    say(console, f"Written to {place}; fingerprint {made.mark.whole[:16]}.")
    return 0
