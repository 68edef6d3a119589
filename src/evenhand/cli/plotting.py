"""``evenhand plot``: one picture of a file, by its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from evenhand.cli import options as ask
from evenhand.cli.fitting import Fitting, Gauging, MethodOptions, Refining, refuse_criteria_of
from evenhand.cli.options import Options, command, part
from evenhand.cli.reports import QUESTION, Drawing
from evenhand.cli.showing import say, show_json, show_written
from evenhand.words import printable

if TYPE_CHECKING:
    from evenhand.answers.ranking import Ranking
    from evenhand.models.fit import Fit

OF_A_PANEL: Final = ("graph", "assessor-graph", "design")
OF_RANKS: Final = ("top", "rankogram")
OF_A_FIT: Final = ("values", "biases", "residuals", "influence", "confidence")
OF_METHODS: Final = ("methods", "bland-altman", "all-methods")
KINDS: Final = (*OF_A_FIT[:2], *OF_RANKS, *OF_A_PANEL, *OF_A_FIT[2:], *OF_METHODS)
"""Every picture, by its name on the command line."""

_LIMITED: Final = ("values", "rankogram")
"""Pictures that can be of the first few objects."""


class PlotOptions(Options):
    """What ``evenhand plot`` is told."""

    kind: str = ask.argument(type=click.Choice(KINDS), metavar="KIND")
    fitting: Fitting = part(Fitting)
    drawing: Drawing = part(Drawing)
    most: int | None = ask.whole("N", "Show only the first N objects, of values and rankogram.", heading=QUESTION)
    by: Literal["level", "assessor"] | None = ask.choice(
        ["level", "assessor"], "Show confidence by what was declared, or by assessor.", heading=QUESTION
    )
    place: Path | None = ask.output_place(
        "FILE", "The picture to write: .svg, .png, .pdf, .html or .json. Default: KIND.svg."
    )
    as_json: bool = ask.json_flag()

    def check(self) -> None:
        """Refuse, before the work, a picture that cannot be drawn or written, and options without effect."""
        from evenhand.plots.drawing import SUFFIXES, check_engine

        kind = self.kind
        if kind in OF_A_PANEL:
            names = (*Gauging.names(), *MethodOptions.names(), *Refining.names())
            ask.refuse(f"has no effect on {kind}, which shows who assessed what and needs no values.", *names)
        if kind == "all-methods":
            ask.refuse("has no effect on all-methods, which shows the four plain ones.", "method", *Refining.names())
        if kind not in (*OF_RANKS, "values"):
            ask.refuse(f"has no effect on {kind}: use it with values, {' or '.join(OF_RANKS)}.", *Drawing.names())
        if kind == "top" and self.drawing.top is None:
            raise click.UsageError("top needs --top K, the number of places.")
        if kind not in _LIMITED:
            ask.refuse(f"has no effect on {kind}: use it with {' or '.join(_LIMITED)}.", "most")
        if kind != "confidence":
            ask.refuse(f"has no effect on {kind}: use it with confidence.", "by")
        ask.check_place(self.target, SUFFIXES)
        check_engine(self.target.suffix.lower()[1:])

    @property
    def target(self) -> Path:
        """Where the picture goes."""
        return self.place or Path(f"{self.kind}.svg")


@command(PlotOptions, epilog="Example: evenhand plot values scores.csv --top 10 -o values.pdf")
def plot(options: PlotOptions) -> None:
    """Draw a picture of FILE, whose title says what there is to see.

    KIND is, of what was found: values, with intervals, beside plain averages, and with --top who is in, open and out;
    biases, from generous to strict; top, the chance of each object to get one of --top places; rankogram, the chance
    of every rank.

    Of who assessed what: graph, with a line for each assessment; assessor-graph, of assessors who saw objects in
    common; design, the same as a matrix. These work before there are values.

    To check: residuals; influence, what each score did; confidence, what declared confidence was worth. To compare:
    methods, plain averages against --method; bland-altman, their differences; all-methods, every two of four.
    """
    from evenhand import plots

    chart = _draw(options)
    plots.save(chart, options.target)
    described = chart.to_dict()
    title = " ".join(" ".join(described["title"]["text"]).split())  # with plain blanks
    if options.as_json:
        found = {"kind": options.kind, "picture": str(options.target), "title": title}
        show_json(found | {"description": described["description"]})
        return
    say(printable(f"{title}."))
    show_written([options.target])


def _draw(options: PlotOptions) -> Any:
    """Return the picture that was asked for."""
    from evenhand import plots
    from evenhand.answers.compare import compare
    from evenhand.models.average import SA

    function: Any = getattr(plots, options.kind.replace("-", "_"), plots.methods)
    if options.kind in OF_A_PANEL:
        panel = options.fitting.reading.read()
        refuse_criteria_of(panel)
        return function(panel)
    fit = options.fitting.fit()
    if options.kind == "all-methods":
        gauging = options.fitting.gauging
        found = compare(fit.panel, gauge=gauging.parsed(), per_component=gauging.per_component, candidates=[])
        return plots.methods(found)
    if options.kind in OF_METHODS:
        return function(SA(fit.panel), fit)
    if options.kind == "confidence":
        return function(fit, by=options.by)
    limited = {"most": options.most} if options.kind in _LIMITED else {}
    return function(_ranked(fit, options) if options.kind in (*OF_RANKS, "values") else fit, **limited)


def _ranked(fit: Fit, options: PlotOptions) -> Fit | Ranking:
    """Return the ranks of a fit where places or the chances of ranks are asked for; else the fit."""
    from evenhand.answers.ranking import rank

    drawing = options.drawing
    if options.kind == "values" and drawing.top is None:
        return fit
    return rank(fit, top=drawing.top, seed=drawing.seed)
