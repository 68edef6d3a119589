"""``evenhand simulate`` and ``evenhand reproduce``: simulated panels, plans, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from evenhand.cli import options as ask
from evenhand.cli.options import EXIT_NO, Options, Output, command, part
from evenhand.cli.showing import Summary, number_text, say, say_notes, show_table

if TYPE_CHECKING:
    from evenhand.studies import Reproduction

PARTS: Final = ("figure-1", "case-study-1", "case-study-2")
PUBLISHED_FILE: Final = "case_study_1_published.csv"
SCORES_FILE: Final = "case_study_2_scores.csv"

_MOST: Final = 1_000_000_000
"""Objects or assessors of a simulated panel."""

_METHODS: Final = ("sa", "iba", "cwc")
_MARKS: Final = {"agrees": "", "cut off": "‡", "known": "†", "differs": "*", "not compared": ""}
_DIGITS: Final = {
    "table 2": (1, 2),
    "table 3": (1, 2),
    "table 4": (0, 1),
    "table 5": (0, 2),
    "table 6": (1, 2),
    "figure 1": (4, 4),
    "figure 4": (3, 3),
    "figure 5": (4, 4),
}
"""Decimals of the paper's number and of ours; two where nothing is said."""
_TITLES: Final = {
    "table 2": "Table 2: the ten best by each method",
    "table 3": "Table 3: assessors",
    "table 4": "Table 4: residuals",
    "table 5": "Table 5: log-evidences",
    "table 6": "Table 6: uncertainties",
    "figure 1": "Figure 1: spectral gaps of three graphs",
    "figure 2": "Figure 2: mean errors of values",
    "figure 3": "Figure 3: largest errors of values",
    "figure 4": "Figure 4: errors of calibration over those of averages",
    "figure 5": "Figure 5: correlation of values by different methods",
    "errors of biases": "Errors of biases, which the paper describes and does not draw",
}
_FEW: Final = 5
"""Differences of one name that are listed one by one."""


def _counts(context: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    found = ask.numbers(context, option, given)
    if not found or not all(count >= 1 and count.is_integer() for count in found):
        raise click.BadParameter(f"{given!r} should be whole numbers separated by commas, such as 2,3,4.")
    return tuple(int(count) for count in found)


def _profiles(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[Any, ...]:
    """Read profiles such as 1:1:2."""
    try:
        return tuple(tuple(float(share) for share in one.split(":")) for one in given)
    except ValueError:
        raise click.BadParameter(f"{' '.join(given)!r} should be numbers with colons between, such as 1:1:2.") from None


def _bounds(context: click.Context, option: click.Parameter, given: str) -> tuple[float, float] | None:
    """Read two bounds, or none."""
    if given.strip().lower() == "none":
        return None
    found = ask.numbers(context, option, given)
    if len(found) != 2:
        raise click.BadParameter(f"{given!r} should be two numbers, such as 0,100, or none.")
    return found[0], found[1]


def _size(_context: click.Context, _option: click.Parameter, given: int) -> int:
    """Refuse a size that no panel has."""
    if given > _MOST:
        raise click.BadParameter(f"{given} is too many: at most {_MOST:,}.")
    return given


class _Panels(Options, heading="The panels"):
    """What simulated panels are like."""

    n_objects: int = ask.whole("N", "Objects.", "--objects", default=3000, callback=_size)
    n_assessors: int = ask.whole("N", "Assessors.", "--assessors", default=15, callback=_size)
    per_object: tuple[int, ...] = ask.text(
        "R,...", "Assessors per object, chosen at random for each.", default="2,3,4,5,6", callback=_counts
    )
    uncertainties: tuple[float, ...] = ask.text(
        "S,...",
        "Standard deviations that scores can have: of high confidence, medium, low, or any others.",
        default="5,10,15",
        callback=ask.numbers,
    )
    profiles: tuple[tuple[float, ...], ...] = ask.text(
        "H:M:L",
        "How often each of them occurs. May be repeated.",
        "--profile",
        multiple=True,
        default=("1:1:1", "1:1:2", "1:2:1", "2:1:1"),
        callback=_profiles,
    )
    value_mean: float = ask.number("X", "Mean of the true values.", default=50.0)
    value_sd: float = ask.number("X", "Standard deviation of the true values.", default=15.0)
    bias_sd: float = ask.number("X", "Standard deviation of the assessors' biases.", default=15.0)
    bounds: tuple[float, float] | None = ask.text(
        "A,B|none", "Values and scores are cut off here.", default="0,100", callback=_bounds
    )
    step: float = ask.number("X", "Values and scores are rounded to multiples of this; 0 for not at all.", default=1.0)


class _Plan(Options, heading="A plan"):
    """A plan instead of simulated scores, or scores of a design."""

    design: Path | None = ask.path(
        "FILE",
        "Simulate scores of this design, as evenhand design --out writes it, or of a file of scores: what error to "
        "expect of each value.",
        reads=True,
    )
    target_sd: float | None = ask.positive(
        "SD", "Simulate no scores, but say how many assessors per object values with this mean standard deviation need."
    )


class _Runs(Options, heading="The work"):
    """The runs of a study."""

    runs: int = ask.whole("N", "Simulated panels for each cell.", default=100)
    seed: int = ask.whole("N", "Seed of the random numbers.", least=0, default=1)
    jobs: int | None = ask.whole("N", "Processes; the numbers do not depend on it.  [default: all cores]")

    @property
    def asked(self) -> dict[str, Any]:
        """Runs, seed and processes by name."""
        from evenhand.compiled import threads

        return vars(self) | {"jobs": self.jobs or threads()}


class _Figures(Options):
    """The figures of a study."""

    figures: Path | None = ask.folder("Also draw the figures of the paper and write them to DIR.")
    figure_format: Literal["svg", "png"] = ask.choice(["svg", "png"], "How figures are written.", default="svg")

    def check(self) -> None:
        """Refuse, before the work, a directory that cannot be made, and figures that cannot be drawn."""
        place = self.figures
        if place is not None and not place.is_dir() and not place.resolve().parent.is_dir():
            raise click.UsageError(f"There is no directory {place.parent}: make it first.")
        if place is None:
            ask.refuse("is of figures: use it with --figures DIR.", "figure_format")
        else:
            from evenhand.plots.drawing import check_engine

            check_engine(self.figure_format)


class SimulateOptions(Options):
    """What ``evenhand simulate`` is told."""

    panels: _Panels = part(_Panels)
    plan: _Plan = part(_Plan)
    work: _Runs = part(_Runs)
    drawn: _Figures = part(_Figures)
    output: Output = part(Output, tables=("cells",))

    def check(self) -> None:
        """Refuse what has no meaning for a plan."""
        meaningless = ("per_object", "value_mean", "value_sd", "bounds", "step", "runs", "jobs", *_Figures.names())
        if self.plan.target_sd is not None:
            ask.refuse("has no meaning with --target-sd: leave it out.", "design", *meaningless)
        if self.plan.design is not None:
            sizes = ("n_objects", "n_assessors", "per_object", "jobs", *_Figures.names())
            ask.refuse("has no meaning with --design, which says who reads what: leave it out.", *sizes)
            if len(self.panels.profiles) > 1:
                ask.refuse("is one for a design: give it once.", "profiles")


@command(SimulateOptions, epilog="Example: evenhand simulate --objects 120 --assessors 8 --target-sd 5")
def simulate(options: SimulateOptions) -> int:
    """Simulate panels with known truth, and show how far averages and calibration are from it.

    Without options this is case study 1 of the paper: 3000 objects, 15 assessors, 2 to 6 of them for each object, four
    mixtures of high, medium and low confidence, 100 panels of each kind. SA is simple averaging, IBA incomplete block
    analysis, CWC calibration with confidence.

    With --design it simulates scores of a design that you have, and puts the errors beside what was predicted.

    With --target-sd it plans a panel of your own: how many assessors must read each object, and how much each of them
    will have to read. Exit code 1 if that cannot be had.
    """
    from evenhand.plots import studies as study_plots
    from evenhand.reports.summary import summarise_study
    from evenhand.studies import simulation_study

    if options.plan.target_sd is not None:
        return _plan(options, options.plan.target_sd)
    if options.plan.design is not None:
        return _design(options, options.plan.design)
    panels, drawn = vars(options.panels) | {"step": options.panels.step or None}, options.drawn
    study = simulation_study(**panels, **options.work.asked)
    files = [] if drawn.figures is None else study_plots.save_figures(study, drawn.figures, drawn.figure_format)
    options.output.give(summarise_study(study, files), _show_study)
    return 0


def _plan(options: SimulateOptions, target_sd: float) -> int:
    """Say how many assessors per object are needed."""
    from evenhand.reports.summary import summarise_plans
    from evenhand.studies import plan

    panels, seed = options.panels, options.work.seed
    output = Output(as_json=options.output.as_json, out=options.output.out, tables=("plans", "steps"))
    output.check()
    plans = [
        plan(
            target_sd,
            n_objects=panels.n_objects,
            n_assessors=panels.n_assessors,
            uncertainties=panels.uncertainties,
            profile=profile,
            bias_sd=panels.bias_sd,
            seed=seed,
        )
        for profile in panels.profiles
    ]
    sds = ", ".join(f"{sd:g}" for sd in panels.uncertainties)
    setting = (
        f"{panels.n_objects:,} objects, {panels.n_assessors:,} assessors, scores with a standard deviation of {sds}; a "
        "profile says how often each of these occurs."
    )
    output.give(summarise_plans(plans, seed), lambda summary: _show_plans(summary, setting))
    return EXIT_NO if any(one.answer is None for one in plans) else 0


def _design(options: SimulateOptions, place: Path) -> int:
    """Say what error to expect of a design."""
    from evenhand.io.designs import read_design_panel
    from evenhand.reports.summary import summarise_design_study
    from evenhand.studies import design_study

    panel, is_sure = read_design_panel(place)
    names = ("value_mean", "value_sd", "bias_sd", "bounds")
    numbers: dict[str, Any] = {name: getattr(options.panels, name) for name in names}
    numbers["step"] = options.panels.step or None
    if is_sure and not ask.typed("uncertainties", "profiles"):
        numbers["uncertainties"] = ()
    else:
        one = ask.typed("profiles") or len(options.panels.uncertainties) == len(options.panels.profiles[0])
        numbers["uncertainties"] = options.panels.uncertainties
        numbers["profile"] = options.panels.profiles[0] if one else None
    study = design_study(panel, runs=options.work.runs, seed=options.work.seed, **numbers)
    output = Output(as_json=options.output.as_json, out=options.output.out, tables=("objects",))
    output.give(summarise_design_study(study), _show_design)
    return 0


def _show_design(summary: Summary) -> None:
    """Print what error to expect of a design, on average and of each value."""
    mean = {name: number_text(summary[name]) for name in ("mean_sd", "mean_error", "mean_error_averages")}
    times = f"{summary['runs']:,} time{'' if summary['runs'] == 1 else 's'}"
    say(
        f"Scores of this design simulated {times}, seed {summary['seed']}. Typical error of a calibrated value, from "
        f"the mean of all: {mean['mean_error']} points, where {mean['mean_sd']} were predicted; of a plain average: "
        f"{mean['mean_error_averages']}."
    )
    show_table(
        ["object", "assessments", "predicted sd", "error", "error of plain averages"],
        summary["objects"],
        lambda one: [
            one["object"],
            one["assessments"],
            *map(number_text, (one["sd"], one["error"], one["error_averages"])),
        ],
        spare=("error of plain averages",),
    )


class _Data(Options, heading="The data"):
    """Where the paper's data are."""

    data: Path | None = ask.folder(f"Directory of the paper's published data: {PUBLISHED_FILE} and {SCORES_FILE}.")

    def file(self, name: str) -> Path | None:
        """Return a file, where it is there."""
        return None if self.data is None or not (self.data / name).is_file() else self.data / name


class ReproduceOptions(Options):
    """What ``evenhand reproduce`` is told."""

    parts: tuple[str, ...] = ask.argument(
        nargs=-1, type=click.Choice(PARTS), metavar="[case-study-1|case-study-2|figure-1]..."
    )
    data: _Data = part(_Data)
    work: _Runs = part(_Runs)
    drawn: _Figures = part(_Figures)
    output: Output = part(Output, tables=("numbers", "parts"))

    def check(self) -> None:
        """Refuse options of parts that were not asked for, and to write over the data."""
        if "case-study-1" not in self.chosen:
            ask.refuse("goes with case-study-1.", *_Runs.names())
        if self.chosen == ["figure-1"]:
            ask.refuse("goes with the case studies: figure-1 needs no data.", "data")
        folder = self.data.data
        if folder is not None:
            if not folder.is_dir():
                raise click.UsageError(f"There is no directory {folder}.")
            self.output.protect(folder / PUBLISHED_FILE, folder / SCORES_FILE)

    @property
    def chosen(self) -> list[str]:
        """The parts that were asked for."""
        return [name for name in PARTS if name in (self.parts or PARTS)]


@command(ReproduceOptions, epilog="Example: evenhand reproduce case-study-2 --data published")
def reproduce(options: ReproduceOptions) -> int:
    """Put the numbers of the paper beside ours, and name each difference.

    case-study-1 simulates panels and compares errors with the published ones, within their Monte Carlo noise.
    case-study-2 computes tables 2 to 6 from the published scores. figure-1 needs no data. Without a name, all three.

    What is missing from --data is said, and the rest is done. Exit code 1 if a number differs and nobody knows why, 2
    if nothing could be done.
    """
    from evenhand.reports.summary import summarise_reproductions

    chosen, missing = options.chosen, []
    if "case-study-1" in chosen and options.data.file(PUBLISHED_FILE) is None:
        missing.append(_missing("The simulated errors stand alone", PUBLISHED_FILE))
    if "case-study-2" in chosen and options.data.file(SCORES_FILE) is None:
        missing.append(_missing("Case study 2 is left out", SCORES_FILE))
        chosen.remove("case-study-2")
    if not chosen:
        raise click.UsageError(_missing("Case study 2 cannot be computed", SCORES_FILE))
    found: list[Reproduction] = []
    drawn: list[Path] = []
    for one in chosen:
        reproduction, files = _reproduce_part(one, options)
        found.append(reproduction)
        drawn += files
    options.output.give(summarise_reproductions(found, missing, drawn), _show_reproductions)
    return EXIT_NO if any(one.differing for one in found) else 0


def _reproduce_part(name: str, options: ReproduceOptions) -> tuple[Reproduction, list[Path]]:
    """Return a part of the paper, and the files of its figures."""
    from evenhand.io import read_panel
    from evenhand.plots import studies as study_plots
    from evenhand.studies import case_study_1, case_study_2, figure_1, read_published, simulation_study

    figures, form = options.drawn.figures, options.drawn.figure_format
    if name == "figure-1":
        return figure_1(), [] if figures is None else study_plots.save_figure_1(figures, form)
    if name == "case-study-2":
        panel = read_panel(str(options.data.file(SCORES_FILE)))
        return case_study_2(panel), [] if figures is None else study_plots.save_figure_5(panel, figures, form)
    published = options.data.file(PUBLISHED_FILE)
    errors = None if published is None else read_published(published)
    study = simulation_study(**options.work.asked)
    files = [] if figures is None else study_plots.save_figures(study, figures, form, errors)
    return case_study_1(study, errors), files


def _missing(what: str, name: str) -> str:
    return f"{what}: give --data DIR, a directory that holds {name} of the paper's published data."


def _show_study(summary: Summary) -> None:
    """Print the errors of the methods by profile and assessors per object."""
    setting, errors = summary["setting"], ("value_mean_error", "value_max_error")
    say(
        f"{setting['objects']:,} objects, {setting['assessors']:,} assessors, {summary['runs']:,} simulated "
        f"panel{'' if summary['runs'] == 1 else 's'} for each row, seed {summary['seed']}. Errors in points; "
        "a profile says how often each uncertainty occurs."
    )
    cells = {(one["profile"], one["per_object"], one["method"]): one for one in summary["cells"]}
    show_table(
        ["profile", "per object", *(f"{word} {name.upper()}" for word in ("mean", "largest") for name in _METHODS)],
        list(dict.fromkeys((one["profile"], one["per_object"]) for one in summary["cells"])),
        lambda kind: [*kind, *(number_text(cells[*kind, name][error]) for error in errors for name in _METHODS)],
        text=("profile",),
        spare=[*(f"largest {name.upper()}" for name in _METHODS), "mean IBA"],
    )
    known = [one for one in summary["cells"] if one["value_mean_error_se"] is not None]
    if known:
        mean, largest = (number_text(max(one[f"{error}_se"] for one in known)) for error in errors)
        say(f"Standard errors: up to {mean} for mean errors, up to {largest} for largest errors.")
    _say_figures(summary)


def _show_plans(summary: Summary, setting: str) -> None:
    """Print what the plan is for, what each number of assessors per object gives, and the answer for each profile."""
    say(setting)
    show_table(
        ["profile", "per object", "sd", "sd of plain averages", "objects per assessor"],
        summary["steps"],
        lambda step: [
            *(step["profile"], step["per_object"]),
            *(number_text(step["sd"]), number_text(step["sd_averages"]), f"{step['load']:,.0f}"),
        ],
        text=("profile",),
        spare=("sd of plain averages", "objects per assessor"),
    )
    for one in summary["plans"]:
        say(f"{one['profile']}: {one['words']}" if len(summary["plans"]) > 1 else one["words"])


def _show_reproductions(summary: Summary) -> None:
    """Print the paper's tables beside ours, the differences by name, and a count of both."""
    for block in summary["parts"]:
        mine = [one for one in summary["numbers"] if one["part"] == block["part"]]
        say(block["source"], "")
        for place in dict.fromkeys(one["place"] for one in mine):
            _show_place(place, [one for one in mine if one["place"] == place])
        say(*block["remarks"])
        compared = len(mine) - block["not_compared"]
        if compared:
            say(
                f"{block['agrees']:,} of {compared:,} numbers agree, {block['cut_off']:,} were cut off, "
                f"{block['known']:,} are known to differ, {block['differs']:,} differ without a name."
            )
        say("")
    _say_figures(summary)
    say_notes(summary["notes"])


def _show_place(place: str, found: list[Summary]) -> None:
    """Print one table or figure: for each column, the paper's number and ours."""
    say(_TITLES.get(place, place))
    has_printed = any(one["printed"] is not None for one in found)
    in_paper, in_ours = _DIGITS.get(place, (2, 2))
    by_cell = {(one["row"], one["column"]): one for one in found}
    columns = list(dict.fromkeys(one["column"] for one in found))

    def cells(row: str) -> list[str]:
        texts = [row]
        for one in (by_cell.get((row, column)) for column in columns):
            if has_printed:
                label = f"{one['label']} " if one and one["label"] else ""
                texts.append(label + number_text(one["printed"], digits=in_paper) if one else "")
            texts.append(number_text(one["ours"], digits=in_ours) + _MARKS[one["verdict"]] if one else "")
        return texts

    heads = [head for name in columns for head in ((name, "ours") if has_printed else (name,))]
    show_table(["", *heads], list(dict.fromkeys(one["row"] for one in found)), cells, text=("",))
    say(*_differences(found, in_paper, in_ours), "", hang=2)


def _differences(found: list[Summary], in_paper: int, in_ours: int) -> Iterator[str]:
    """Yield a sentence for each difference, or one for many of the same name."""

    def sentence(one: Summary) -> str:
        printed, ours = number_text(one["printed"], digits=in_paper), number_text(one["ours"], digits=in_ours)
        reason = one["note"] or "not explained"
        return f"{_MARKS[one['verdict']]} {one['row']}, {one['column']}: {printed} printed, {ours} ours: {reason}."

    # each that differs has its own note, and they stand in the order of the table
    yield from (sentence(one) for one in found if one["verdict"] == "differs")
    odd = [one for one in found if one["verdict"] not in ("agrees", "not compared", "differs")]
    for verdict, note in dict.fromkeys((one["verdict"], one["note"]) for one in odd):
        alike = [one for one in odd if (one["verdict"], one["note"]) == (verdict, note)]
        if len(alike) > _FEW:
            yield f"{_MARKS[verdict]} {len(alike)} numbers: {note}."
        else:
            yield from map(sentence, alike)


def _say_figures(summary: Summary) -> None:
    if summary["figures"]:
        say(f"Drawn: {', '.join(map(str, summary['figures']))}.")
