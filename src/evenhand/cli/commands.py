"""The command line: one command per library function, tables for people and JSON for programs.

Every error is one line on stderr, never a traceback; the exit code is 0, 1 or 2.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections import UserDict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand import __version__
from evenhand.cli import options as ask
from evenhand.cli.fitting import (
    Calibrating,
    CriteriaFitting,
    FileOptions,
    Fitting,
    Gauging,
    Input,
    LeastSquares,
    Scores,
    refuse_criteria_of,
)
from evenhand.cli.options import EXIT_BAD_INPUT, EXIT_NO, TYPED, Options, Output, as_typed, command, part, typed
from evenhand.cli.reports import QUESTION, Drawing, LotteryOptions, Reporting
from evenhand.cli.showing import Summary, say, say_beside, show_json, show_next_step
from evenhand.errors import EvenhandError, InputError, MissingPackageError
from evenhand.words import spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.answers.alert import Alert
    from evenhand.answers.decision import Decision
    from evenhand.io.sheets import Sheet
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit


class Commands(UserDict[str, Any]):
    """Commands by their names; one of another module, whose name stands here, is imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        found = self.data[name]
        if isinstance(found, str):
            found = self.data[name] = getattr(import_module(f"evenhand.cli.{found}"), name)
        return found  # type: ignore[no-any-return]


class EvenhandGroup(click.Group):
    """The commands, with every error as one line on stderr and never a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; exit with 0 (fine), 1 (the answer is no) or 2 (bad input)."""
        kwargs["standalone_mode"] = False
        _prepare()
        code = self._run(args, kwargs)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _say(f"Error: the output cannot be written ({error.strerror}).")
            _leave_quietly()
            code = code or EXIT_NO
        sys.exit(code)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for those who go on from it."""
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with the whole of its first sentence."""
        commands = sorted(self.commands.items())
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1000)) for name, one in commands])

    def _run(self, args: Any, kwargs: Any) -> int:
        try:
            with spoken(as_typed):
                return int(super().main(*args, **kwargs) or 0)
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return 0
        except click.Abort:
            _say("Stopped.")
            return 130
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx is not None else "evenhand"
            _say(f"Error: {error.format_message().rstrip('.')}. See `{command} --help`.")
            return EXIT_BAD_INPUT
        except click.ClickException as error:
            _say(f"Error: {error.format_message()}")
            return EXIT_BAD_INPUT
        except BrokenPipeError:
            _leave_quietly()  # the reader of our output went away: no fault of ours, and nobody is left to tell
            return EXIT_NO
        except OSError as error:
            _say(f"Error: the output cannot be written ({error.strerror or error}).")
            _leave_quietly()
            return EXIT_NO
        except MemoryError:
            _say("Error: there is not enough memory for this panel on this machine.")
            return EXIT_NO
        except Exception as error:
            if not isinstance(error, EvenhandError):
                raise
            _say(f"Error: {error}")
            return EXIT_BAD_INPUT if isinstance(error, InputError | MissingPackageError) else EXIT_NO


def _prepare() -> None:
    """Make sure that there is somewhere to write to, in any encoding, and that an end from outside cleans up."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # kept until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="ascii" if _knows_ascii_only() else None, errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _stop)


def _knows_ascii_only() -> bool:
    """Return whether LC_ALL asks for plain characters, which Python by itself takes for UTF-8."""
    asked = any(os.environ.get(name) for name in ("PYTHONIOENCODING", "PYTHONUTF8"))
    return os.environ.get("LC_ALL") in ("C", "POSIX") and not asked


def _stop(number: int, _frame: object) -> None:
    """End as by an exception, so that nothing half-written is left behind."""
    sys.exit(128 + number)


def _leave_quietly() -> None:
    """Drop what could not be written, so that the interpreter does not try once more on its way out."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    """Write one line to stderr, whatever a label may contain."""
    with contextlib.suppress(OSError):
        say_beside(message)


@click.group(
    cls=EvenhandGroup,
    commands=Commands(
        design="design",
        plot="plotting",
        report="reports",
        template="reports",
        simulate="studies",
        reproduce="studies",
        serve="serving",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""Start with `evenhand demo`, then `evenhand check FILE` and `evenhand calibrate FILE`.

    To have commands and options completed by the Tab key, put this into ~/.bashrc (zsh and fish alike, in their own
    files): eval "$(_EVENHAND_COMPLETE=bash_source evenhand)"
    """,
)
@click.version_option(__version__, "-V", "--version", message="evenhand %(version)s")
def main() -> None:
    """Fair values from a panel of assessors who do not all see the same objects.

    FILE holds one assessment a row: object, assessor, score and, if you have it, how sure the assessor was. It may be
    csv, tsv, xlsx, xlsm, ods or parquet; columns are recognised by their names.
    """


class CalibrateOptions(Options):
    """What ``evenhand calibrate`` is told."""

    fitting: CriteriaFitting = part(CriteriaFitting)
    drawing: Drawing = part(Drawing)
    grades: tuple[float, ...] = ask.text(
        "A,B,...",
        "Cut-offs, such as 40,50,60,70: adds the chance of each class. Depends on the gauge.",
        callback=ask.numbers,
        heading=QUESTION,
    )
    reliability: bool = ask.flag(
        "Say how good the panel is too: how far averages are luck, how reliable values are, how each assessor fits in.",
        heading=QUESTION,
    )
    cluster: str | None = ask.text(
        "local:N|tcp://HOST:PORT",
        "Work on a Dask cluster: FILE is a directory of Parquet files, --out the directory of results.",
        heading="The method",
    )
    rows: int = ask.row_limit(40)
    output: Output = part(Output, tables=("objects", "assessors"))
    reporting: Reporting = part(Reporting)

    def check(self) -> None:
        """Refuse a seed where nothing is drawn."""
        out, page = self.output.out, self.reporting.report_place
        has_draws = self.drawing.top is not None or page is not None or self.cluster is not None
        if not has_draws and not (out is not None and out.suffix.lower() == ".xlsx"):
            ask.refuse("is of the draws of ranks: use it with --top K.", "seed")


@command(CalibrateOptions, epilog="Example: evenhand calibrate scores.xlsx --gauge zero-sum --out results.xlsx")
def calibrate(options: CalibrateOptions) -> None:
    """Calibrate the assessors of FILE and show the values of the objects.

    Each score is taken to be the object's value plus the assessor's bias plus noise, and confident scores weigh
    more. The value of an object no longer depends on the luck of who read it.

    Refinements assume more, or less: that few scores are not to be trusted far (--shrink), that a few are far off
    (--tails), that marks have ends (--bounds). The command compare says which of them the scores support.
    """
    from evenhand.answers.alerts import provisional
    from evenhand.answers.decision import decision_for
    from evenhand.reports.summary import find_alerts, standing, summarise_fit

    def detailed() -> Summary:
        from evenhand.reports.workbook import with_details

        shown, made = standing(found, decision, alerted)
        return with_details(summary if shown is found else summarise(shown, made), shown, **draws, entered=found)

    def summarise(found: Fit | CriteriaFit, decision: Decision | None) -> Summary:
        return summarise_fit(
            found,
            **draws,
            decision=decision,
            alerted=alerted,
            grades=options.grades,
            with_evidence=options.output.is_full,
            with_reliability=options.reliability,
        )

    def show(summary: Summary) -> None:
        from evenhand.cli import terminal

        shown, made = summary, decision
        if without is not None:
            made = without.decision
            shown = summarise(without.fit, made) | {"assuming": without.assuming}
        terminal.show_fit(shown, options.rows, made, calibrated=found.model.is_calibrated)

    if options.cluster is not None:
        _calibrate_on_cluster(options, options.cluster)
        return
    found = options.fitting.fit()
    draws = vars(options.drawing)
    decision = decision_for(found.combined, **draws)
    alerted = find_alerts(found.combined, decision)
    without = provisional(alerted)
    summary = summarise(found, decision)
    pages = options.reporting.write(found, **draws)
    options.output.give(summary, show, detailed, pages, lambda: _sheets(found, decision, alerted))


def _sheets(found: Fit | CriteriaFit, decision: Decision | None, alerted: Sequence[Alert] | None = None) -> list[Sheet]:
    """Return the first sheets of a workbook."""
    from evenhand.reports.decision_sheets import decision_sheets

    return decision_sheets(found, decision, alerted)


_READ_ON_A_CLUSTER: Final = ("assessor", "score", "uncertainty", "confidence", "level", "factor", "duplicates")
_ON_A_CLUSTER: Final = (
    *("file", "cluster", "out", "as_json", "method", "noise", "interval", "seed", "gauge", "reference", "known"),
    *("object_", *_READ_ON_A_CLUSTER, "rows"),
)
"""The options that mean something there."""


def _calibrate_on_cluster(options: CalibrateOptions, cluster: str) -> None:
    """Run the calibration on a cluster and show a short summary."""
    from evenhand.cli import terminal
    from evenhand.cluster.calibrate import calibrate_distributed

    meaningful = typed(*_ON_A_CLUSTER)
    for option in typed():
        if option not in meaningful:
            raise click.UsageError(f"{option} has no meaning with --cluster: leave it out.")
    if options.output.out is None:
        raise click.UsageError("--cluster needs --out DIRECTORY, where the workers write the results.")
    reading, estimating = options.fitting.reading, options.fitting.estimating
    if reading.duplicates == "combine":
        raise click.UsageError("--duplicates combine has no meaning with --cluster: use error or keep.")
    fit = calibrate_distributed(
        reading.file,
        options.output.out,
        cluster=cluster,
        method=estimating.method,  # type: ignore[arg-type]  # what a cluster cannot do is refused there
        gauge=options.fitting.gauging.parsed(),
        noise=estimating.noise,
        interval=estimating.interval,
        seed=options.drawing.seed,
        object=reading.object_,
        **{name: given for name, given in vars(reading).items() if name in _READ_ON_A_CLUSTER},
    )
    show_json(fit.summary) if options.output.as_json else terminal.show_distributed(fit, options.rows)


class CheckOptions(Input):
    """What ``evenhand check`` is told."""

    explain: bool = ask.flag("Say why the file was read so.")
    save: bool = ask.flag("Keep how the file is read beside it, in FILE.evenhand.toml, for all later commands.")
    as_json: bool = ask.json_flag()

    def check(self) -> None:
        """Refuse what has no effect."""
        if self.as_json:
            ask.refuse("is for people: --json has the reasons always.", "explain")
        if str(self.reading.file) == "-":
            ask.refuse("needs a file, to keep something beside it.", "save")


@command(CheckOptions, epilog="Example: evenhand check scores.csv")
def check(options: CheckOptions) -> int:
    """Check whether FILE is sound and hangs together, before anything is calibrated.

    Lists everything that is wrong with the file, the groups that cannot be compared, the assessments on which
    comparisons hang by a thread, and which further assessments would mend it. Exit code 1 if the panel is not
    connected, 2 if the file cannot be read as a panel.
    """
    from evenhand.cli import terminal
    from evenhand.reports.summary import summarise_check, summarise_refusal

    try:
        panel = options.reading.read(is_told=False)
        summary = summarise_check(panel)
    except InputError as error:
        if options.as_json:
            show_json(summarise_refusal(error))
        elif len(error.problems) > 1:
            terminal.show_problems(summarise_refusal(error))
        raise InputError(error.problems[:1]) from error
    show_json(summary) if options.as_json else terminal.show_check(summary, explain=options.explain)
    if options.save and panel.reading is not None:
        from evenhand.io.settled import save

        kept = options.reading.kept() | panel.reading.settings()
        written = save(options.reading.file, kept)
        tell = say_beside if options.as_json else say
        tell(f"Kept in {written.name}: later commands on this file read it so.")
    return 0 if summary["ok"] else EXIT_NO


def _names() -> dict[str, tuple[str, ...]]:
    from evenhand.panel.headings import known_names

    return known_names()


check.appendix = _names  # type: ignore[attr-defined]


class CompareOptions(Input):
    """What ``evenhand compare`` is told."""

    reading: FileOptions = part(FileOptions, hidden=["criterion"])
    gauging: Gauging = part(Gauging)
    scores: Scores = part(Scores)
    quick: bool = ask.flag("The four methods only, without refinements.", heading=QUESTION)
    priors: tuple[float, ...] = ask.text(
        "V,SO,SA,WMIN,WMAX",
        "Priors of the log-evidence: centre and spread of values, spread of biases, limits of the noise variance.",
        callback=ask.numbers,
        heading=QUESTION,
    )
    output: Output = part(Output, tables=("methods", "r2"))

    def check(self) -> None:
        """Refuse criteria, gauges, and refinements where none are wanted."""
        self.refuse_criteria()
        ask.refuse("has no effect here: nothing compared depends on where zero bias lies.", "gauge", "reference")
        for option in typed("covariates", *Scores.names()) if self.quick else ():
            raise click.UsageError(f"--quick leaves out refinements, and so {option}: leave one of the two out.")
        if self.priors and len(self.priors) != 5:
            raise click.UsageError(f"--priors takes five numbers, V,SO,SA,WMIN,WMAX, not {len(self.priors)}.")


@command(CompareOptions, epilog="Example: evenhand compare scores.csv --json")
def compare(options: CompareOptions) -> None:
    """Put the methods side by side for FILE: averages, calibration, z-scores, and refinements of calibration.

    Shows residuals, uncertainties, evidence and how well held-out scores are predicted, how well the methods agree,
    and which one these data support. Refinements that suit the panel are tried by themselves; what only you know,
    such as the ends of the scale, say with --bounds, --step, --log-scores, --ordinal or --covariate.
    """
    from evenhand.answers.advice import applicable
    from evenhand.answers.compare import compare as compare_methods
    from evenhand.answers.evidence import Priors
    from evenhand.cli import terminal
    from evenhand.models.refined import Refinements
    from evenhand.reports.summary import summarise_comparison

    def front() -> list[Sheet]:
        from evenhand.reports.first_sheets import comparison_sheet  # which workbooks alone need

        return [comparison_sheet(summary)]

    priors = Priors(*options.priors) if options.priors else None
    panel = options.reading.read()
    refuse_criteria_of(panel)
    candidates = [] if options.quick else applicable(panel)
    if options.scores.step is not None:
        candidates.append(Refinements(shrink=True, step=options.scores.step))
    if (scale := options.scores.scale()) is not None:
        candidates.append(Refinements(shrink=True, scores=scale))
    if options.scores.ordinal is not None:
        candidates.append(Refinements(shrink=True, ordinal=options.scores.ordinal))
    if panel.covariates:
        candidates.append(Refinements(shrink=True, covariates=tuple(panel.covariates)))
    gauge, per_component = options.gauging.parsed(), options.gauging.per_component
    found = compare_methods(panel, gauge=gauge, per_component=per_component, priors=priors, candidates=candidates)
    summary = summarise_comparison(found)
    options.output.give(summary, terminal.show_comparison, front=front)


class RankOptions(Options):
    """What ``evenhand rank`` is told."""

    fitting: CriteriaFitting = part(CriteriaFitting)
    lottery: LotteryOptions = part(LotteryOptions)
    rows: int = ask.row_limit(40)
    output: Output = part(Output, tables=("objects",))
    reporting: Reporting = part(Reporting)


@command(RankOptions, epilog="Example: evenhand rank scores.csv --top 10 --lottery-seed 2026")
def rank(options: RankOptions) -> None:
    """Rank the objects of FILE, with how sure each rank is.

    With --top K also says who is in, who is out, and who is open because the data cannot tell: objects whose rank
    interval crosses the line. --lottery-seed draws the open places among those by lot, in a way that anyone can repeat.
    """
    from evenhand.answers.alerts import provisional
    from evenhand.answers.decision import decide
    from evenhand.answers.ranking import rank as rank_fit
    from evenhand.cli import terminal
    from evenhand.reports.summary import find_alerts, summarise_ranking

    def detailed() -> Summary:
        if without is None:
            return summary
        again = rank_fit(without.fit, top=lottery.top, draws=lottery.draws, seed=lottery.seed)
        return summarise_ranking(again, without.decision, alerted) | {"assuming": without.assuming}

    def show(_entered: Summary) -> None:
        terminal.show_ranking(detailed(), options.rows, decision if without is None else without.decision)

    lottery = options.lottery
    found = options.fitting.fit()
    ranking = rank_fit(found.combined, top=lottery.top, draws=lottery.draws, seed=lottery.seed)
    decision = None if lottery.top is None else decide(ranking, lottery.top, lottery_seed=lottery.lottery_seed)
    alerted = find_alerts(found.combined, decision)
    without = provisional(alerted)
    pages = options.reporting.write(found, **vars(lottery))
    summary = summarise_ranking(ranking, decision, alerted)
    options.output.give(summary, show, detailed, pages, lambda: _sheets(found, decision, alerted))


class InfluenceOptions(Options):
    """What ``evenhand influence`` is told."""

    fitting: Fitting = part(LeastSquares)
    top: int | None = ask.whole("K", "Places: says who would enter or leave the top K.", heading=QUESTION)
    rows: int = ask.row_limit(10)
    output: Output = part(Output, tables=("assessments", "assessors", "objects"))


@command(InfluenceOptions, epilog="Example: evenhand influence scores.csv --top 10")
def influence(options: InfluenceOptions) -> None:
    """Show what each score and each assessor of FILE did to the values.

    Why values differ from plain averages, which scores are far from what all others predict, which pull their
    object's value the most, and what would change without each assessor.
    """
    from evenhand.answers.decision import decision_for
    from evenhand.cli import terminal
    from evenhand.reports.first_sheets import influence_sheets
    from evenhand.reports.summary import summarise_influence

    fit = options.fitting.fit()
    summary = summarise_influence(fit, top=options.top)
    options.output.give(
        summary,
        lambda shown: terminal.show_influence(shown, options.rows, options.top),
        front=lambda: [*_sheets(fit, decision_for(fit, options.top)), *influence_sheets(summary)],
    )


class NextOptions(Options):
    """What ``evenhand next`` is told."""

    fitting: Fitting = part(Calibrating)
    top: int | None = ask.whole("K", "Places: what would settle the top K, not all values.", heading=QUESTION)
    expected: float | None = ask.number(
        "C", "Expected confidence of a further score; typical by default.", heading=QUESTION
    )
    conflicts: Path | None = ask.path(
        "FILE",
        "Pairs that must not be made: a file with columns assessor and object.",
        reads=True,
        heading=QUESTION,
    )
    most: int = ask.whole("N", "How many to list.", default=10, heading=QUESTION)
    output: Output = part(Output, tables=("assessments",))


@command(NextOptions, name="next", epilog="Example: evenhand next scores.csv --top 10 --conflicts conflicts.csv")
def next_assessments(options: NextOptions) -> None:
    """Say which further assessments of FILE would help most, as a set to be asked for at once.

    Without --top, those that narrow all values; with --top K, those that are expected to put most objects on the right
    side of the line. Each is chosen with those before it counted as made; an object comes again only where that brings
    half as much again as any other.
    """
    from evenhand.answers.decision import decision_for
    from evenhand.answers.next_best import next_best
    from evenhand.cli import terminal
    from evenhand.io.designs import read_pairs
    from evenhand.reports.first_sheets import next_sheet
    from evenhand.reports.summary import summarise_next

    forbidden = [] if options.conflicts is None else read_pairs(options.conflicts)
    fit = options.fitting.fit()
    found = next_best(fit, top=options.top, confidence=options.expected, conflicts=forbidden, most=options.most)
    summary = summarise_next(found, options.top)
    options.output.give(
        summary,
        terminal.show_next,
        front=lambda: [next_sheet(summary), *_sheets(fit, decision_for(fit, options.top))],
    )
    if found.object and not options.output.as_json:
        _say_how_to_ask(options.output.out)


def _say_how_to_ask(out: Path | None) -> None:
    """Say how further assessments are handed out: with a design that adds them to the file."""
    file = click.get_current_context().params["file"]
    place = out if out is not None and out.suffix.lower() in (".csv", ".tsv", ".json") else Path("next.csv")
    first = "" if place == out else f"add --out {place} to this, and "
    told = " ".join(f'"{one}"' if " " in str(one) else str(one) for one in ("--extend", file, "--fixed", place))
    say(f"To hand them out, {first}try: evenhand design {told} --sheets sheets.xlsx")


class PackOptions(Input):
    """What ``evenhand pack`` is told."""

    reading: FileOptions = part(FileOptions, hidden=["criterion", "covariates"])
    place: Path = ask.output_place(
        "DIR", "Directory to write. A packed panel there is replaced, anything else is refused.", required=True
    )
    parts: int = ask.whole("N", "Files to split the assessments into, by the larger side.", default=1)
    as_json: bool = ask.json_flag()


@command(PackOptions, epilog="Example: evenhand pack scores.csv -o scores.packed --parts 8")
def pack(options: PackOptions) -> None:
    """Pack FILE as coded parquet files, which every command reads in its place and much faster.

    DIR holds the labels, the assessments as codes and numbers, and panel.json, which says what there is. What the
    input options say about FILE need not be said again when DIR is read.
    """
    from evenhand.cli import terminal
    from evenhand.io.packed import check_place, manifest_of, pack_panel

    check_place(options.place)
    panel = options.reading.read()
    pack_panel(panel, options.place, parts=options.parts)
    if options.as_json:
        show_json({"packed": str(options.place), **manifest_of(options.place)})
    else:
        terminal.show_packed(panel, options.place, options.parts)


_PLACES: Final = 10
"""The places of the demo."""


class DemoOptions(Options):
    """What ``evenhand demo`` is told."""

    save: Path | None = ask.path("FILE", "Write the demo's scores to FILE, a csv, to try.", reads=True)
    output: Output = part(Output, tables=("objects", "assessors"))
    reporting: Reporting = part(Reporting)


@command(DemoOptions, epilog="Example: evenhand demo --save scores.csv, then evenhand calibrate scores.csv")
def demo(options: DemoOptions) -> None:
    """Calibrate a small grant competition that ships with evenhand: 40 proposals, 11 assessors, 10 places."""
    from evenhand.answers.decision import decision_for
    from evenhand.cli import terminal
    from evenhand.data import demo_path
    from evenhand.io.panels import demo as demo_panel
    from evenhand.io.results import check_target, copy_file
    from evenhand.models.additive import CWC
    from evenhand.reports.summary import alert_records, find_alerts, summarise_fit
    from evenhand.reports.workbook import with_details

    if options.save is not None:
        check_target(options.save, known=(".csv",))
        copy_file(demo_path(), options.save)
    fit = CWC(demo_panel())

    def show(summary: Summary) -> None:
        decision = decision_for(fit, _PLACES)
        alerts = [] if decision is None else alert_records(find_alerts(fit, decision))
        terminal.show_fit(summary | {"alerts": alerts}, 0, decision)
        if options.save is not None:
            show_next_step(f"The scores are in {options.save}; try: evenhand calibrate --top {_PLACES}", options.save)

    pages = options.reporting.write(fit, top=_PLACES, title="A small grant competition")
    summary = summarise_fit(fit)
    options.output.give(
        summary,
        show,
        lambda: with_details(summary, fit),
        pages,
        lambda: _sheets(fit, decision_for(fit, _PLACES)),
    )


for _command in (calibrate, check, compare, rank, influence, next_assessments, pack, demo):
    main.add_command(_command)
