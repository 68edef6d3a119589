"""What a person sees on a terminal of each answer: the summary as tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand.cli.showing import (
    add_row,
    hide,
    interval_text,
    make_table,
    number_text,
    open_console,
    printable,
    say,
    say_left_out,
    show_notes,
    show_written,
    some,
)
from evenhand.words import count_of, digits_of

if TYPE_CHECKING:
    from rich.console import Console

    from evenhand.cluster.calibrate import DistributedFit
    from evenhand.models.fit import Fit
    from evenhand.panel.panel import Panel

Summary = dict[str, Any]

_SHOWN_AS_TABLE: Final = ("outlying",)
"""Notes on what has a table of its own."""

_WIDE: Final = 125
"""A terminal of fewer columns has no room for residuals beside the measures that methods are compared by."""

_MOST_CRITERIA: Final = 4
"""Up to this many criteria the values of each stand beside those of all together."""


_MOST: Final = 10
"""Rows of a table, unless fewer or all are asked for."""

_VARIANCES: Final = {
    "value_sd": "spread of values",
    "bias_sd": "spread of biases",
    "scale_sd": "spread of log scales",
    "power": "power of confidence",
    "factor_strength": "evenness of noise factors",
    "freedom": "degrees of freedom of the noise",
    "noise_sd": "noise of a score of confidence 1",
}


def show_fit(summary: Summary, rows: int, *, calibrated: bool = True) -> None:
    """Print values, biases where they were fitted, and what must be known about them."""
    console = open_console()
    panel, fit = summary["panel"], summary["fit"]
    percent = f"{100 * summary['interval']:g} %"
    say(console, f"{_panel_line(panel)} {_method_line(summary)}")
    console.print()
    groups = any("component" in record for record in summary["objects"])
    ordered = sorted(summary["objects"], key=lambda record: (record.get("component", 1), record["rank"]))
    limit = len(ordered) if rows == 0 else rows
    digits = digits_of(record["value"] for record in ordered)
    columns = ["rank", "object", "value", "sd", f"{percent} interval", "scores"]
    criteria = summary.get("criteria", [])[:_MOST_CRITERIA]
    columns += [printable(part["criterion"]) for part in criteria]
    by_criterion = [{record["object"]: record["value"] for record in part["objects"]} for part in criteria]
    ranked = any(record.get("p_top") is not None for record in ordered)
    graded = any(record.get("grades") for record in ordered)
    if graded:
        columns.append("likeliest grade")
    if ranked:
        columns += ["P(top)", "ranks"]
    table = make_table(["group", *columns] if groups else columns)
    for record in ordered[:limit]:
        cells = [
            str(record["rank"]),
            printable(record["object"]),
            number_text(record["value"], digits=digits),
            number_text(record["sd"], digits=digits),
            interval_text(record, digits),
            str(record["assessments"]),
        ]
        cells += [number_text(values.get(record["object"]), digits=digits) for values in by_criterion]
        if graded:
            likeliest = max(record["grades"], key=record["grades"].get)
            cells.append(f"{likeliest} ({record['grades'][likeliest]:.2f})")
        if ranked:
            cells += [f"{record['p_top']:.3f}", f"{record['rank_lower']} to {record['rank_upper']}"]
        add_row(table, *([str(record["component"]), *cells] if groups else cells))
    console.print(table)
    say_left_out(console, len(ordered) - limit, "object")
    if calibrated:
        columns = ["assessor", "bias", "sd", f"{percent} interval", "scores"]
        table = make_table(["group", *columns] if groups else columns)
        by_bias = sorted(summary["assessors"], key=lambda record: (record.get("component", 1), -record["bias"]))
        for record in by_bias[:limit]:
            cells = [
                printable(record["assessor"]),
                number_text(record["bias"], sign=True, digits=digits),
                number_text(record["sd"], digits=digits),
                interval_text(record, digits, sign=True),
                str(record["assessments"]),
            ]
            add_row(table, *([str(record["component"]), *cells] if groups else cells))
        console.print(table)
        say_left_out(console, len(by_bias) - limit, "assessor")
        say(console, "A positive bias is generous, a negative one strict.")
    facts = [
        f"residual {number_text(fit['residual'])} with {count_of(fit['degrees_of_freedom'], 'degree')} of freedom",
        f"spectral gap {number_text(fit['mu2'])}",
    ]
    if fit["rms_uncertainty"] is not None:
        facts.append(f"typical uncertainty {number_text(fit['rms_uncertainty'])}")
    say(console, f"{'; '.join(facts).capitalize()}.")
    show_criteria(console, summary)
    show_model(console, summary, rows)
    # the log-evidence is in files and JSON only, and so are its notes
    hidden = ("evidence", *(_SHOWN_AS_TABLE if summary.get("outlying") else ()))
    show_notes(console, [note for note in summary["notes"] if not note["kind"].startswith(hidden)])


def show_model(console: Console, summary: Summary, rows: int) -> None:
    """Print what a refined model found: numbers of the model, covariates, scales, noise factors, outlying scores."""
    most = 0 if rows == 0 else min(rows, _MOST)
    percent = f"{100 * summary['interval']:g} %"

    def tell(
        key: str, label: str, columns: Sequence[str], order: Callable[[Summary], float] | None, *, sign: bool = False
    ) -> None:
        records = summary.get(key, [])
        if not records:
            return
        ordered = records if order is None else sorted(records, key=order)
        shown = ordered[:most] if most and order is not None else ordered
        table = make_table([columns[0], columns[1], "sd", f"{percent} interval"], text=(columns[0],))
        for record in shown:
            name = _VARIANCES.get(record[label], record[label]) if label == "variance" else record[label]
            numbers = (number_text(record[part], sign=sign and part == "estimate") for part in ("estimate", "sd"))
            add_row(table, printable(name), *numbers, interval_text(record, 2, sign=sign))
        console.print(table)
        say_left_out(console, len(ordered) - len(shown), label)

    tell("variances", "variance", ("what the scores tell of the model", "estimate"), None)
    confidence = summary.get("declared_confidence")
    if confidence is not None:
        say(console, f"{confidence['words'][:1].upper()}{confidence['words'][1:]}")
    tell("covariates", "covariate", ("covariate", "points"), lambda _: 0.0, sign=True)
    tell("scales", "assessor", ("assessor", "scale"), _away_from_one)
    tell("noise_factors", "assessor", ("assessor", "noise factor"), _away_from_one)
    _show_outlying(console, summary.get("outlying", []), most)


def _away_from_one(record: Summary) -> float:
    """Order factors: the furthest from 1 first, half as much and twice as much alike."""
    estimate: float = record["estimate"]
    return -max(estimate, 1 / estimate) if estimate > 0 else float("-inf")


def _show_outlying(console: Console, records: list[Summary], most: int) -> None:
    if not records:
        return
    table = make_table(["outlying score", "by", "on", "expected", "standard deviations"], text=("by", "on"))
    shown = records[:most] if most else records
    for record in shown:
        add_row(
            table,
            f"{record['score']:g}",
            printable(record["assessor"]),
            printable(record["object"]),
            number_text(record["expected"]),
            number_text(record["surprise"], sign=True, digits=1),
        )
    console.print(table)
    say_left_out(console, len(records) - len(shown), "outlying score")


def show_criteria(console: Console, summary: Summary) -> None:
    """Print the weights of the criteria, and how the errors of one reading go together."""
    if "criteria" not in summary:
        return
    weights = ", ".join(f"{printable(part['criterion'])} {part['weight']:.3g}" for part in summary["criteria"])
    say(console, f"Weights of the criteria: {weights}.")
    found = [record for record in summary["correlation"] if record["correlation"] is not None]
    shown = found[:_MOST]
    if shown:
        pairs = ", ".join(
            f"{printable(record['first'])} and {printable(record['second'])} {record['correlation']:.2f}"
            + ("" if record["error"] is None else f" ± {record['error']:.2f}")
            for record in shown
        )
        say(console, f"Correlation of the errors of one reading: {pairs}.")
        say_left_out(console, len(found) - len(shown), "pair")


def show_distributed(fit: DistributedFit, rows: int) -> None:
    """Print counts, residual, noise, the largest estimates of the smaller side, and where the rest is."""
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
    shown = [printable(fit.labels[at]) for at in order]
    width = max(map(len, shown))
    for at, label in zip(order, shown, strict=True):
        within = "" if fit.sd is None else f"  ± {fit.sd[at]:.3f}"
        click.echo(f"  {label:<{width}}  {fit.estimate[at]:+10.3f}{within}")
    for note in summary["notes"]:
        click.echo(f"Note: {printable(note['message'])}")
    click.echo(f"Written to {printable(fit.out.name)}: objects, assessors, residuals, summary.json.")


def show_check(summary: Summary) -> None:
    """Print how a panel hangs together."""
    console = open_console()
    say(console, _panel_line(summary))
    groups = len(summary["components"])
    if summary["ok"] and summary["assessors"] == 1:
        say(console, "Connected, but there is only one assessor: a bias cannot be told from the values.")
    elif summary["ok"]:
        gap = (
            ""
            if summary["mu2"] is None
            else f" (spectral gap {number_text(summary['mu2'])}; 1 is best, 0 is disconnected)"
        )
        say(console, f"Connected: all assessors can be compared{gap}.")
    else:
        say(console, f"Not connected: {groups} groups that cannot be compared.")
        table = make_table(["group", "objects", "assessors"], text=("objects", "assessors"))
        for number, component in enumerate(summary["components"][:20], start=1):
            add_row(table, str(number), some(component["objects"]), some(component["assessors"]))
        console.print(table)
        say_left_out(console, groups - 20, "group")
        say(console, "These further assessments would join them:")
        for pair in summary["suggestions"][:20]:
            say(console, f"  {printable(pair['assessor'])} on {printable(pair['object'])}")
        say_left_out(console, len(summary["suggestions"]) - 20, "suggestion")
    bridges = summary["bridges"]
    if bridges:
        shown = some([f"{pair['assessor']} on {pair['object']}" for pair in bridges])
        word = "assessment hangs" if len(bridges) == 1 else "assessments hang"
        say(
            console,
            f"{len(bridges):,} {word} by a thread (nothing else links the two sides): {shown}.",
        )
    if summary["articulation_assessors"]:
        say(
            console,
            f"Without one of these assessors, objects or assessors would be cut off: "
            f"{some(summary['articulation_assessors'])}.",
        )
    show_notes(console, [problem for problem in summary["problems"] if problem["kind"] != "not_connected"])


def show_problems(summary: Summary) -> None:
    """Print every problem of a file that cannot be read as a panel."""
    console = open_console()
    problems = summary["problems"]
    for problem in problems[:100]:
        where = "" if problem["where"] is None else f"{problem['where']}: "
        say(console, printable(f"{where}{problem['message']}"))
    say_left_out(console, len(problems) - 100, "problem")


def show_comparison(summary: Summary) -> None:
    """Print the methods side by side."""
    console = open_console()
    columns = {
        "residual": "residual",
        "scaled": "residual_scaled",
        "rms uncertainty": "rms_uncertainty",
        "of values": "rms_uncertainty_values",
        "log-evidence": "log_evidence",
        "held-out error": "loo_rmse",
    }
    if console.width < _WIDE:
        del columns["residual"], columns["scaled"]
    table = make_table(["method", *columns, "behind best"], text=("method",))
    for record in summary["methods"]:
        add_row(table, record["method"], *(number_text(record[key]) for key in columns.values()), _behind(record))
    console.print(table)
    if summary["r2"]:
        # the paper's methods beside each other and beside the one recommended; of refinements there are too many pairs
        main = {record["method"] for record in summary["methods"] if "+" not in record["method"]}
        chosen = {*main, summary["recommendation"]["method"]}
        pairs = list(zip(summary["r2"], summary["rank_changes"], strict=True))
        shown = [(pair, change) for pair, change in pairs if pair["a"] in main and pair["b"] in chosen]
        table = make_table(["methods", "R² of values", "largest rank change"], text=("methods", "largest rank change"))
        for pair, change in shown:
            r2 = "–" if pair["r2"] is None else f"{pair['r2']:.4f}"
            add_row(
                table, f"{pair['a']} / {pair['b']}", r2, f"{change['largest']} (object {printable(change['object'])})"
            )
        console.print(table)
        say_left_out(console, len(pairs) - len(shown), "pair")
    recommended = summary["recommendation"]
    name = "Recommended" if recommended["method"] is None else f"Recommended: {recommended['method']}"
    say(console, f"{name}: {recommended['reason']}")
    # a dash says it for refinements, most of which have no log-evidence
    dashes = tuple(
        f"no log-evidence for {record['method']}:" for record in summary["methods"] if "+" in record["method"]
    )
    show_notes(console, [note for note in summary["notes"] if not note["message"].startswith(dashes)])


def _behind(record: Summary) -> str:
    """Return how far the mean log density falls behind that of the best, with its standard error."""
    behind, error = record["loo_behind"], record["loo_behind_error"]
    if behind is None:
        return "–"
    return "best" if behind == 0 == error else f"{behind:.3f} ± {number_text(error, digits=3)}"


def show_ranking(summary: Summary, rows: int) -> None:
    """Print ranks with their uncertainty, and the decision."""
    console = open_console()
    top = summary["top"]
    columns = ["rank", "object", "value", f"{100 * summary['interval']:g} % ranks", "expected", "P(first)"]
    if top is not None:
        columns += [f"P(top {top})", "status"]
    table = make_table(columns, text=("object", "status"))
    ordered = sorted(summary["objects"], key=lambda record: (record["expected_rank"], record["rank"]))
    limit = len(ordered) if rows == 0 else rows
    digits = digits_of(record["value"] for record in ordered)
    for record in ordered[:limit]:
        cells = [
            str(record["rank"]),
            printable(record["object"]),
            number_text(record["value"], digits=digits),
            f"{record['rank_lower']} to {record['rank_upper']}",
            f"{record['expected_rank']:.1f}",
            f"{record['p_first']:.3f}",
        ]
        if top is not None:
            cells += [f"{record['p_top']:.3f}", record["status"]]
        add_row(table, *cells)
    console.print(table)
    say_left_out(console, len(ordered) - limit, "object")
    decision = summary.get("decision")
    if decision is not None:
        for word, key in (("Safely in", "in"), ("Not to be separated by the data", "undecided"), ("Safely out", "out")):
            labels = decision[key]
            say(console, f"{word}: {len(labels)}{f' ({some(labels)})' if labels else ''}.")
        if decision["drawn"] is not None:
            drawn = printable(", ".join(decision["drawn"])) or "nobody, as no place is open"
            say(console, f"Drawn by lot (seed {decision['lottery_seed']}): {drawn}.")
    say(console, f"From {summary['draws']:,} posterior draws with seed {summary['seed']}.")
    show_notes(console, [note for note in summary["notes"] if note["kind"] != "lottery"])


def show_influence(summary: Summary, rows: int, top: int | None) -> None:
    """Print what scores and assessors did, in plain words."""
    console = open_console()

    def first(records: list[Summary]) -> list[Summary]:
        return records if rows == 0 else records[:rows]

    say(console, "Why values differ from plain averages, largest first:")
    for record in first(sorted(summary["objects"], key=lambda record: -abs(record["difference"]))):
        line = f"  {printable(record['object'])}: {printable(record['reason'])}"
        say(console, line)
    say(console, "Scores that pull their object's value the most:")
    scores = summary["assessments"]
    for record in first(sorted((r for r in scores if r["pull"] is not None), key=lambda record: -abs(record["pull"]))):
        way = "above" if record["held_out_error"] > 0 else "below"
        line = (
            f"  {record['assessor']} on {record['object']}: {record['score']:g}, "
            f"{number_text(abs(record['held_out_error']))} {way} what all other scores predict; "
            f"moves the value by {number_text(record['pull'], sign=True)}"
        )
        say(console, printable(line))
    alone = [f"{record['assessor']} on {record['object']}" for record in scores if record["pull"] is None]
    if alone:
        say(console, f"Nothing else can check: {some(alone)}.")
    say(console, "Without an assessor:")
    for record in first(sorted(summary["assessors"], key=_importance)):
        say(console, printable(f"  {_deletion(record, top)}"))
    bounds = summary["robustness"]
    if bounds is not None:
        say(
            console,
            f"Robustness: a change of all scores of size d (in declared uncertainties) moves no value of total "
            f"confidence C by more than {number_text(bounds['constant'])} d / √C; spectral gap "
            f"{number_text(bounds['mu2'])}.",
        )
    show_notes(console, summary["notes"])


def show_next(summary: Summary) -> None:
    """Print the assessments that would help most."""
    console = open_console()
    if summary["top"] is None:
        say(console, f"Mean variance of the values now: {number_text(summary['now'])}. What would narrow it most:")
    else:
        line = f"Expected number of objects on the wrong side of place {summary['top']}: {number_text(summary['now'])}."
        say(console, f"{line} What would lower it most:")
    table = make_table(["assessor", "object", "gain"])
    for record in summary["assessments"]:
        add_row(table, printable(record["assessor"]), printable(record["object"]), number_text(record["gain"]))
    console.print(table)
    if not summary["assessments"]:
        say(console, "There is no further assessment to make: everybody has read all that is open to them.")
    show_notes(console, summary["notes"])


def _importance(record: Summary) -> float:
    """Order deletions: first those that the panel would not survive, then by size."""
    return -float("inf") if record["largest_change"] is None else -abs(record["largest_change"])


def _deletion(record: Summary, top: int | None) -> str:
    if record["largest_change"] is None:
        return f"without {record['assessor']}: {record['note']}"
    change = number_text(record["largest_change"], sign=True)
    text = f"without {record['assessor']}: {record['object']} would move most beside the others, by {change}"
    if top is not None:
        changes = [
            f"{', '.join(record[key])} would {verb} the top {top}"
            for key, verb in (("entering", "enter"), ("leaving", "leave"))
            if record[key]
        ]
        text += f"; {'; '.join(changes) or f'the top {top} would stay the same'}"
    return text + (f"; no score left for {', '.join(record['lost'])}" if record["lost"] else "")


def show_packed(panel: Panel, place: Path, parts: int) -> None:
    """Say what was packed and where, and what was noted on the way."""
    console = open_console()
    in_parts = "" if parts == 1 else f" in {parts:,} parts"
    say(console, f"{panel!r} packed{in_parts}.")
    show_written([place])
    show_notes(console, [{"where": note.where, "message": note.message} for note in panel.notes])


def show_demo(fit: Fit, averages: Fit, save: Path | None) -> None:
    """Say what calibration changed in the demo, and what to try next."""
    console = open_console()
    top = 10
    calibrated, averaged = (
        {one.panel.objects[i] for i in one.values.rank.argsort(kind="stable")[:top].tolist()} for one in (fit, averages)
    )
    console.print()
    enter, leave = sorted(calibrated - averaged), sorted(averaged - calibrated)
    say(
        console,
        f"Beside plain averages, {len(enter)} of the top {top} are different: in {', '.join(enter) or 'nobody'}, "
        f"out {', '.join(leave) or 'nobody'}.",
    )
    if save is not None:
        say(console, f"The scores are in {printable(save)}; try: evenhand calibrate {printable(save)}")


def _panel_line(panel: Summary) -> str:
    counts = [count_of(panel[name], name[:-1]) for name in ("objects", "assessors", "assessments")]
    declared = {
        "uncertainty": "with declared uncertainties",
        "confidence": "with declared confidences",
        "level": "with confidence levels",
        "none": "without declared confidence",
    }[panel["confidence"]]
    return f"{counts[0]}, {counts[1]}, {counts[2]} {declared}."


def _method_line(summary: Summary) -> str:
    words: str = summary["model"]["words"]
    gauge = "" if summary["gauge"] is None else f", gauge {summary['gauge']}"
    return f"{words[:1].upper()}{words[1:]} ({summary['method']}{gauge})."
