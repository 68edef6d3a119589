"""``evenhand report`` and ``evenhand template``: pages and workbooks that go to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand.cli import options as ask
from evenhand.cli.fitting import CriteriaFitting
from evenhand.cli.options import EXIT_NO, Options, command, part
from evenhand.cli.showing import say, show_json, show_next_step, show_written
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.answers.decision import Choice
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.panel.confidence import Form
    from evenhand.panel.graph import Side


QUESTION: Final = "The question"
"""The heading of options that say what is asked of a fit."""


class Drawing(Options, heading=QUESTION):
    """Posterior draws of ranks."""

    top: int | None = ask.whole("K", "Places: adds the chance to be in the top K.")
    seed: int = ask.whole("N", "Seed of the draws.", least=0, default=0)


class LotteryOptions(Drawing, heading=QUESTION):
    """Posterior draws of ranks, and a lottery for the places that they leave open."""

    draws: int = ask.whole("N", "Posterior draws.", default=10_000)
    lottery_seed: int | None = ask.whole("N", "Draw the open places by lot among those that are open.", least=0)

    def check(self) -> None:
        """Refuse a lottery without places."""
        if self.lottery_seed is not None and self.top is None:
            raise click.UsageError("--lottery-seed needs --top K, the number of places.")


class Reporting(Options):
    """A report beside the answer."""

    report_place: Path | None = ask.path("FILE.html", "Also write a report, as the command report does.", "--report")

    def check(self) -> None:
        """Refuse a place where no report can be written."""
        if self.report_place is not None:
            _check_page(self.report_place)

    def write(self, found: Fit | CriteriaFit, **options: Any) -> list[Path]:
        """Write a report of a fit, where one was asked for, and return what was written."""
        from evenhand.reports import report

        if self.report_place is None:
            return []
        return [report(found, self.report_place, **options)]


class ReportOptions(Options):
    """What ``evenhand report`` is told."""

    fitting: CriteriaFitting = part(CriteriaFitting)
    lottery: LotteryOptions = part(LotteryOptions)
    place: Path = ask.output_place(
        "FILE",
        "The page to write, ending in .html. For a PDF print it from a browser: it is laid out for A4.",
        default=Path("report.html"),
    )
    title: str = ask.text(None, "Heading of the page.", default="Results of the panel")
    choice: Path | None = ask.path(
        "FILE.json",
        "Whom the panel gave open places: objects (a list), reason and by. An archive of evenhand serve has it.",
        heading=QUESTION,
    )
    quick: bool = ask.flag("Compare the four methods only, without refinements.", heading=QUESTION)
    verify: str | None = ask.text(
        "FINGERPRINT|PAGE",
        "Write nothing; say whether FILE, the options and this version give this fingerprint (or its beginning), or "
        "that of a report.",
    )
    as_json: bool = ask.json_flag()

    def check(self) -> None:
        """Refuse a choice without places, and what is about a page where none is written."""
        if self.choice is not None and self.lottery.top is None:
            raise click.UsageError("--choice needs --top K, the number of places.")
        if self.verify is not None:
            ask.refuse("is about a page, and --verify writes none: leave one of the two out.", *_OF_A_PAGE)


_OF_A_PAGE: Final = ("place", "title", "quick")


@command(ReportOptions, epilog="Example: evenhand report scores.xlsx --top 10 -o report.html")
def report(options: ReportOptions) -> int:
    """Write a report of FILE: one page with the decision, all it rests on, and a fingerprint.

    What may be wrong comes first, then the decision, each object with its scores and reasons, the assessors, what the
    decision rests on, words for the minutes, and a fingerprint of data, settings and version. The page needs no network
    and can be mailed, archived and printed: page 1 on paper is the decision. Whom the panel gave places that the scores
    leave open is told by --choice, and is part of the fingerprint.

    --verify report.html, or --verify with its fingerprint, checks a report against the data: exit code 0 if nothing
    has changed, 1 if something has. Give the options that the report was written with.
    """
    from evenhand.cli.decision import alerted
    from evenhand.io.results import write_text
    from evenhand.reports.page import make_report, render
    from evenhand.reports.summary import alert_records

    if options.verify is not None:
        return _verify(options, options.verify)
    _check_page(options.place)
    quick: dict[str, Any] = {"candidates": ()} if options.quick else {}
    choice = _choice(options)
    made = make_report(options.fitting.fit(), title=options.title, choice=choice, **vars(options.lottery), **quick)
    checking = ask.command_line(*_OF_A_PAGE, "as_json")
    write_text(options.place, render(made, command=ask.command_line(), checking=f"{checking} --verify FINGERPRINT"))
    if options.as_json:
        told = {"report": str(options.place), "fingerprint": made.mark.whole, "decision": made.decision}
        show_json(told | {"alerts": alert_records(made.alerts)})
        return 0
    with alerted(alert_records(made.alerts), decides=options.lottery.top is not None) as is_provisional:
        # an alert has said already that there is no decision yet
        is_said = is_provisional and made.verdict is not None and len(made.decision) > 1
        finding, *further = made.decision[1:] if is_said else made.decision
        say(finding, style="bold")
        say(*further)
    say(f"Written to {options.place}; fingerprint {made.mark.whole[:16]}.")
    return 0


def _verify(options: ReportOptions, given: str) -> int:
    """Say whether the data, the options and this version give a fingerprint, or that of a report."""
    from evenhand.answers.fingerprint import fingerprint

    whole, data = _marks(given)
    mark = fingerprint(options.fitting.fit().combined, choice=_choice(options), **vars(options.lottery))
    same = mark.whole.startswith(whole)
    if options.as_json:
        show_json({"same": same, "fingerprint": mark.whole, "data": mark.data, "version": mark.version})
        return 0 if same else EXIT_NO
    told = "data, settings and version" if options.choice is None else "data, settings, choice and version"
    say(f"{'Unchanged' if same else 'Changed'}: {told} give {mark.whole}.")
    if not same and data is not None:
        others = "options or the version" if options.choice is None else "options, the choice or the version"
        what = f"{others} are not" if mark.data == data else "scores are not"
        say(f"The {what} those of {given}.")
    return 0 if same else EXIT_NO


def _choice(options: ReportOptions) -> Choice | None:
    """Return whom the panel chose, where that is given."""
    from evenhand.io.settled import read_choice

    return None if options.choice is None else read_choice(options.choice)


def _marks(given: str) -> tuple[str, str | None]:
    """Return the fingerprint that was given, or those that stand in a report: of the whole, and of the data."""
    from evenhand.reports.page import fingerprints_in

    if not given.lower().endswith((".html", ".htm")):
        if len(given) < 8 or not set(given.lower()) <= set("0123456789abcdef"):
            raise click.UsageError("--verify needs a report, or at least the first eight characters of a fingerprint.")
        return given.lower(), None
    try:
        page = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"The report cannot be read ({getattr(error, 'strerror', None) or 'it is not text'})."
        raise InputError(message, kind="cannot_read", where=given) from error
    found = fingerprints_in(page)
    if found is None:
        raise InputError("This page has no fingerprint: it is not a report.", kind="bad_data", where=given)
    return found


def _check_page(place: Path) -> None:
    """Refuse, before any work is done, a place where no report can be written."""
    from evenhand.reports.page import refuse_pdf

    refuse_pdf(place)
    ask.check_place(place, (".html", ".htm"))


class _Sheet(Options, heading="The sheet"):
    """What there will be to fill in."""

    confidence: Form = ask.choice(
        ["level", "uncertainty", "confidence", "none"],
        "How assessors say how sure they are: high, medium or low; a standard deviation; a weight; not at all.",
        default="level",
    )
    objects: str | None = ask.text(
        "FILE|N", "Objects to choose from: a file with that column, or how many.", reads=True
    )
    assessors: str | None = ask.text("FILE|N", "Assessors to choose from, in the same way.", reads=True)
    bounds: tuple[float, ...] = ask.text("A,B", "Ends of the scale: other scores are refused.", callback=ask.numbers)

    def check(self) -> None:
        """Refuse a scale without two ends."""
        if self.bounds and len(self.bounds) != 2:
            raise click.UsageError(f"--bounds takes two numbers, A,B, not {len(self.bounds)}.")


class TemplateOptions(Options):
    """What ``evenhand template`` is told."""

    sheet: _Sheet = part(_Sheet)
    place: Path = ask.output_place("FILE", "Workbook to write, which ends in .xlsx.", required=True)
    force: bool = ask.flag("Replace a file of that name.")

    def check(self) -> None:
        """Refuse a place where no workbook can be written."""
        ask.check_place(self.place, (".xlsx",))


@command(TemplateOptions, epilog="Example: evenhand template -o panel.xlsx --objects 40 --bounds 0,100")
def template(options: TemplateOptions) -> None:
    """Write an empty workbook to fill in, with headings that are recognised, drop-downs and instructions.

    It checks what is typed, and colours rows in which an assessor scores the same object twice. Filled in, it is a
    FILE for every other command as it is.
    """
    from evenhand.reports.template import template as write_template

    sheet = options.sheet
    write_template(
        options.place,
        confidence=sheet.confidence,
        objects=_labels(sheet.objects, "object"),
        assessors=_labels(sheet.assessors, "assessor"),
        bounds=(sheet.bounds[0], sheet.bounds[1]) if sheet.bounds else None,
        force=options.force,
    )
    show_written([options.place])
    show_next_step("Fill in the sheet scores, then try: evenhand check", options.place)


def _labels(given: str | None, side: Side) -> int | list[str]:
    """Return the labels that an option asks for: none, a number of them, or those of a file."""
    from evenhand.io.designs import read_labels

    if given is None:
        return []
    count = ask.how_many(given)
    return read_labels(given, side) if count is None else count
