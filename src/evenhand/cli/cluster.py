"""``evenhand calibrate --cluster``: the options that mean something there, and a short summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from evenhand.cli import terminal
from evenhand.cli.options import Output, parse_gauge
from evenhand.cli.showing import hide

if TYPE_CHECKING:
    from evenhand.cluster.calibrate import DistributedFit

_MEANINGFUL: Final = frozenset(
    {
        *("file", "cluster", "out", "as_json", "method", "noise", "interval", "seed", "gauge", "reference", "known"),
        *("object_", "assessor", "score", "uncertainty", "confidence", "level", "factor", "duplicates", "rows"),
    }
)
_COLUMNS: Final = ("assessor", "score", "uncertainty", "confidence", "level")


def calibrate_on_cluster(context: click.Context, output: Output) -> None:
    """Run the calibration that the options of a command ask for, and show its summary."""
    from evenhand.cluster.calibrate import calibrate_distributed

    given = context.params
    typed = [
        option
        for option in context.command.params
        if context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]
    for option in typed:
        if option.name not in _MEANINGFUL:
            raise click.UsageError(f"{option.opts[0]} has no meaning with --cluster: leave it out.")
    if output.out is None:
        raise click.UsageError("--cluster needs --out DIRECTORY, where the workers write the results.")
    if given["duplicates"] == "combine":
        raise click.UsageError("--duplicates combine has no meaning with --cluster: use error or keep.")
    fit = calibrate_distributed(
        given["file"],
        output.out,
        cluster=given["cluster"],
        method=given["method"],
        gauge=parse_gauge(given["gauge"], given["reference"], given["known"]),
        noise=given["noise"],
        interval=given["interval"],
        seed=given["seed"],
        object=given["object_"],
        **{name: given[name] for name in _COLUMNS},
        factor=given["factor"],
        duplicates=given["duplicates"],
    )
    if output.as_json:
        terminal.show_json(fit.summary)
    else:
        _show(fit, given["rows"])


def _show(fit: DistributedFit, rows: int) -> None:
    """Print counts, residual, noise, the largest estimates of the smaller side, and where the rest is."""
    from evenhand.words import count_of

    hide()
    summary = fit.summary
    panel, found = summary["panel"], summary["fit"]
    counts = ", ".join(count_of(panel[f"{word}s"], word) for word in ("object", "assessor", "assessment"))
    click.echo(f"{counts}; {summary['solver']['name']}: {summary['solver']['reason']}.")
    facts = [f"residual {found['residual']:.6g} with {count_of(found['degrees_of_freedom'], 'degree')} of freedom"]
    for name, words in (("noise_variance", "noise variance"), ("mu2", "spectral gap")):
        if found[name] is not None:
            facts.append(f"{words} {found[name]:.4g}")
    click.echo(f"{'; '.join(facts).capitalize()}.")
    click.echo()
    name = "value" if fit.side == "object" else "bias"
    most = min(len(fit.labels), 10 if rows == 0 else min(rows, 10))
    size = [-value if fit.side == "object" else -abs(value) for value in fit.estimate.tolist()]
    order = sorted(range(len(size)), key=size.__getitem__)[:most]
    click.echo(f"{'Highest values' if name == 'value' else 'Largest biases'}:")
    shown = [terminal.printable(fit.labels[at]) for at in order]
    width = max(map(len, shown))
    for at, label in zip(order, shown, strict=True):
        click.echo(f"  {label:<{width}}  {fit.estimate[at]:+10.3f}{_within(fit, at)}")
    for note in summary["notes"]:
        click.echo(f"Note: {terminal.printable(note['message'])}")
    click.echo(f"Written to {terminal.printable(fit.out.name)}: objects, assessors, residuals, summary.json.")


def _within(fit: DistributedFit, at: int) -> str:
    sd: Any = fit.sd
    return "" if sd is None else f"  ± {sd[at]:.3f}"
