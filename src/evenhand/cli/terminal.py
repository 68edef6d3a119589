"""What a person sees on a terminal: the summary as tables and sentences."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evenhand.fit import Fit
    from evenhand.panel import Panel

Summary = dict[str, Any]


def printable(text: object) -> str:
    """Return text in one line, with control characters made visible so that no label can steer the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in str(text))


def show_json(summary: Summary) -> None:
    """Print the summary as JSON: UTF-8, full precision, null where something cannot be computed."""
    text = json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2)
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()


def show_fit(summary: Summary, rows: int) -> None:
    """Print values, biases and what must be known about them."""
    from evenhand.cells import count_of

    console = _console()
    panel, fit = summary["panel"], summary["fit"]
    percent = f"{100 * summary['interval']:g} %"
    _say(console, f"{_panel_line(panel)} {_method_line(summary)}")
    console.print()
    groups = any("component" in record for record in summary["objects"])
    ordered = sorted(summary["objects"], key=lambda record: (record.get("component", 1), record["rank"]))
    limit = len(ordered) if rows == 0 else rows
    digits = _digits(record["value"] for record in ordered)
    columns = ["rank", "object", "value", "sd", f"{percent} interval", "scores"]
    ranked = any(record.get("p_top") is not None for record in ordered)
    graded = any(record.get("grades") for record in ordered)
    if graded:
        columns.append("likeliest grade")
    if ranked:
        columns += ["P(top)", "ranks"]
    table = _table(["group", *columns] if groups else columns)
    for record in ordered[:limit]:
        cells = [
            str(record["rank"]),
            printable(record["object"]),
            _number(record["value"], digits=digits),
            _number(record["sd"], digits=digits),
            _interval(record, digits),
            str(record["assessments"]),
        ]
        if graded:
            likeliest = max(record["grades"], key=record["grades"].get)
            cells.append(f"{likeliest} ({record['grades'][likeliest]:.2f})")
        if ranked:
            cells += [f"{record['p_top']:.3f}", f"{record['rank_lower']} to {record['rank_upper']}"]
        _row(table, *([str(record["component"]), *cells] if groups else cells))
    console.print(table)
    _left_out(console, len(ordered) - limit, "object")
    if summary["method"] in ("iba", "cwc"):
        columns = ["assessor", "bias", "sd", f"{percent} interval", "scores"]
        table = _table(["group", *columns] if groups else columns)
        by_bias = sorted(summary["assessors"], key=lambda record: (record.get("component", 1), -record["bias"]))
        for record in by_bias[:limit]:
            cells = [
                printable(record["assessor"]),
                _number(record["bias"], sign=True, digits=digits),
                _number(record["sd"], digits=digits),
                _interval(record, digits, sign=True),
                str(record["assessments"]),
            ]
            _row(table, *([str(record["component"]), *cells] if groups else cells))
        console.print(table)
        _left_out(console, len(by_bias) - limit, "assessor")
        _say(console, "A positive bias is generous, a negative one strict.")
    facts = [
        f"residual {_number(fit['residual'])} with {count_of(fit['degrees_of_freedom'], 'degree')} of freedom",
        f"spectral gap {_number(fit['mu2'])}",
    ]
    if fit["rms_uncertainty"] is not None:
        facts.append(f"typical uncertainty {_number(fit['rms_uncertainty'])}")
    _say(console, f"{'; '.join(facts).capitalize()}.")
    # the log-evidence is in files and JSON only, and so are its notes
    _show_notes(console, [note for note in summary["notes"] if not note["kind"].startswith("evidence")])


def show_check(summary: Summary) -> None:
    """Print how a panel hangs together."""
    console = _console()
    _say(console, _panel_line(summary))
    groups = len(summary["components"])
    if summary["ok"] and summary["assessors"] == 1:
        _say(console, "Connected, but there is only one assessor: a bias cannot be told from the values.")
    elif summary["ok"]:
        gap = (
            "" if summary["mu2"] is None else f" (spectral gap {_number(summary['mu2'])}; 1 is best, 0 is disconnected)"
        )
        _say(console, f"Connected: all assessors can be compared{gap}.")
    else:
        _say(console, f"Not connected: {groups} groups that cannot be compared.")
        table = _table(["group", "objects", "assessors"], text=("objects", "assessors"))
        for number, component in enumerate(summary["components"][:20], start=1):
            _row(table, str(number), _some(component["objects"]), _some(component["assessors"]))
        console.print(table)
        _left_out(console, groups - 20, "group")
        _say(console, "These further assessments would join them:")
        for pair in summary["suggestions"][:20]:
            _say(console, f"  {printable(pair['assessor'])} on {printable(pair['object'])}")
        _left_out(console, len(summary["suggestions"]) - 20, "suggestion")
    bridges = summary["bridges"]
    if bridges:
        shown = _some([f"{pair['assessor']} on {pair['object']}" for pair in bridges])
        word = "assessment hangs" if len(bridges) == 1 else "assessments hang"
        _say(
            console,
            f"{len(bridges):,} {word} by a thread (nothing else links the two sides): {shown}.",
        )
    if summary["articulation_assessors"]:
        _say(
            console,
            f"Without one of these assessors, objects or assessors would be cut off: "
            f"{_some(summary['articulation_assessors'])}.",
        )
    _show_notes(console, [problem for problem in summary["problems"] if problem["kind"] != "not_connected"])


def show_problems(summary: Summary) -> None:
    """Print every problem of a file that cannot be read as a panel."""
    console = _console()
    problems = summary["problems"]
    for problem in problems[:100]:
        where = "" if problem["where"] is None else f"{problem['where']}: "
        _say(console, printable(f"{where}{problem['message']}"))
    _left_out(console, len(problems) - 100, "problem")


def show_comparison(summary: Summary) -> None:
    """Print the methods side by side."""
    console = _console()
    columns = ["method", "residual", "scaled", "rms uncertainty", "of values", "log-evidence", "held-out error"]
    table = _table(columns, text=("method",))
    keys = ("residual", "residual_scaled", "rms_uncertainty", "rms_uncertainty_values", "log_evidence", "loo_rmse")
    for record in summary["methods"]:
        _row(table, record["method"], *(_number(record[key]) for key in keys))
    console.print(table)
    if summary["r2"]:
        table = _table(["methods", "R² of values", "largest rank change"], text=("methods", "largest rank change"))
        for pair, change in zip(summary["r2"], summary["rank_changes"], strict=True):
            r2 = "–" if pair["r2"] is None else f"{pair['r2']:.4f}"
            _row(table, f"{pair['a']} / {pair['b']}", r2, f"{change['largest']} (object {printable(change['object'])})")
        console.print(table)
    recommended = summary["recommendation"]
    name = "Recommended" if recommended["method"] is None else f"Recommended: {recommended['method']}"
    _say(console, f"{name}: {recommended['reason']}")
    _show_notes(console, summary["notes"])


def show_ranking(summary: Summary, rows: int) -> None:
    """Print ranks with their uncertainty, and the decision."""
    console = _console()
    top = summary["top"]
    columns = ["rank", "object", "value", f"{100 * summary['interval']:g} % ranks", "expected", "P(first)"]
    if top is not None:
        columns += [f"P(top {top})", "status"]
    table = _table(columns, text=("object", "status"))
    ordered = sorted(summary["objects"], key=lambda record: (record["expected_rank"], record["rank"]))
    limit = len(ordered) if rows == 0 else rows
    digits = _digits(record["value"] for record in ordered)
    for record in ordered[:limit]:
        cells = [
            str(record["rank"]),
            printable(record["object"]),
            _number(record["value"], digits=digits),
            f"{record['rank_lower']} to {record['rank_upper']}",
            f"{record['expected_rank']:.1f}",
            f"{record['p_first']:.3f}",
        ]
        if top is not None:
            cells += [f"{record['p_top']:.3f}", record["status"]]
        _row(table, *cells)
    console.print(table)
    _left_out(console, len(ordered) - limit, "object")
    decision = summary.get("decision")
    if decision is not None:
        for word, key in (("Safely in", "in"), ("Not to be separated by the data", "undecided"), ("Safely out", "out")):
            labels = decision[key]
            _say(console, f"{word}: {len(labels)}{f' ({_some(labels)})' if labels else ''}.")
        if decision["drawn"] is not None:
            drawn = printable(", ".join(decision["drawn"])) or "nobody, as no place is open"
            _say(console, f"Drawn by lot (seed {decision['lottery_seed']}): {drawn}.")
    _say(console, f"From {summary['draws']:,} posterior draws with seed {summary['seed']}.")
    _show_notes(console, [note for note in summary["notes"] if note["kind"] != "lottery"])


def show_influence(summary: Summary, rows: int, top: int | None) -> None:
    """Print what scores and assessors did, in plain words."""
    console = _console()

    def first(records: list[Summary]) -> list[Summary]:
        return records if rows == 0 else records[:rows]

    _say(console, "Why values differ from plain averages, largest first:")
    for record in first(sorted(summary["objects"], key=lambda record: -abs(record["difference"]))):
        line = f"  {printable(record['object'])}: {printable(record['reason'])}"
        _say(console, line)
    _say(console, "Scores that pull their object's value the most:")
    scores = summary["assessments"]
    for record in first(sorted((r for r in scores if r["pull"] is not None), key=lambda record: -abs(record["pull"]))):
        way = "above" if record["held_out_error"] > 0 else "below"
        line = (
            f"  {record['assessor']} on {record['object']}: {record['score']:g}, "
            f"{_number(abs(record['held_out_error']))} {way} what all other scores predict; "
            f"moves the value by {_number(record['pull'], sign=True)}"
        )
        _say(console, printable(line))
    alone = [f"{record['assessor']} on {record['object']}" for record in scores if record["pull"] is None]
    if alone:
        _say(console, f"Nothing else can check: {_some(alone)}.")
    _say(console, "Without an assessor:")
    for record in first(sorted(summary["assessors"], key=_importance)):
        _say(console, printable(f"  {_deletion(record, top)}"))
    bounds = summary["robustness"]
    if bounds is not None:
        _say(
            console,
            f"Robustness: a change of all scores of size d (in declared uncertainties) moves no value of total "
            f"confidence C by more than {_number(bounds['constant'])} d / √C; spectral gap {_number(bounds['mu2'])}.",
        )
    _show_notes(console, summary["notes"])


def show_next(summary: Summary) -> None:
    """Print the assessments that would help most."""
    console = _console()
    if summary["top"] is None:
        _say(console, f"Mean variance of the values now: {_number(summary['now'])}. What would narrow it most:")
    else:
        line = f"Expected number of objects on the wrong side of place {summary['top']}: {_number(summary['now'])}."
        _say(console, f"{line} What would lower it most:")
    table = _table(["assessor", "object", "gain"])
    for record in summary["assessments"]:
        _row(table, printable(record["assessor"]), printable(record["object"]), _number(record["gain"]))
    console.print(table)
    if not summary["assessments"]:
        _say(console, "There is no further assessment to make: everybody has read all that is open to them.")
    _show_notes(console, summary["notes"])


def _importance(record: Summary) -> float:
    """Order deletions: first those that the panel would not survive, then by size."""
    return -float("inf") if record["largest_change"] is None else -abs(record["largest_change"])


def _deletion(record: Summary, top: int | None) -> str:
    if record["largest_change"] is None:
        return f"without {record['assessor']}: {record['note']}"
    change = _number(record["largest_change"], sign=True)
    text = f"without {record['assessor']}: {record['object']} would move most beside the others, by {change}"
    if top is not None:
        changes = [
            f"{', '.join(record[key])} would {verb} the top {top}"
            for key, verb in (("entering", "enter"), ("leaving", "leave"))
            if record[key]
        ]
        text += f"; {'; '.join(changes) or f'the top {top} would stay the same'}"
    return text + (f"; no score left for {', '.join(record['lost'])}" if record["lost"] else "")


def show_written(files: Sequence[Path]) -> None:
    """Say where the results went."""
    _say(_console(), f"Written to {', '.join(printable(file) for file in files)}.")


def show_packed(panel: Panel, place: Path, parts: int) -> None:
    """Say what was packed and where, and what was noted on the way."""
    console = _console()
    in_parts = "" if parts == 1 else f" in {parts:,} parts"
    _say(console, f"{panel!r} packed{in_parts}.")
    show_written([place])
    _show_notes(console, [{"where": note.where, "message": note.message} for note in panel.notes])


def show_demo(fit: Fit, averages: Fit, save: Path | None) -> None:
    """Say what calibration changed in the demo, and what to try next."""
    console = _console()
    top = 10
    calibrated, averaged = (
        {one.panel.objects[i] for i in one.values.rank.argsort(kind="stable")[:top].tolist()} for one in (fit, averages)
    )
    console.print()
    enter, leave = sorted(calibrated - averaged), sorted(averaged - calibrated)
    _say(
        console,
        f"Beside plain averages, {len(enter)} of the top {top} are different: in {', '.join(enter) or 'nobody'}, "
        f"out {', '.join(leave) or 'nobody'}.",
    )
    if save is not None:
        _say(console, f"The scores are in {printable(save)}; try: evenhand calibrate {printable(save)}")


def _console() -> Console:
    from rich.console import Console

    # without a terminal nobody folds lines: tables keep their width
    return Console(soft_wrap=False) if sys.stdout.isatty() else Console(width=200, no_color=True)


def _say(console: Console, sentence: str) -> None:
    """Print a sentence as it is: folded on a terminal, in one line elsewhere."""
    console.print(sentence, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _table(columns: list[str], text: tuple[str, ...] = ("object", "assessor")) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in text else "right", overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    """Add a row of cells as they are: no label is taken for markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def _panel_line(panel: Summary) -> str:
    from evenhand.cells import count_of

    counts = [count_of(panel[name], name[:-1]) for name in ("objects", "assessors", "assessments")]
    declared = {
        "uncertainty": "with declared uncertainties",
        "confidence": "with declared confidences",
        "level": "with confidence levels",
        "none": "without declared confidence",
    }[panel["confidence"]]
    return f"{counts[0]}, {counts[1]}, {counts[2]} {declared}."


def _method_line(summary: Summary) -> str:
    from evenhand.fit import METHOD_NAMES

    gauge = "" if summary["gauge"] is None else f", gauge {summary['gauge']}"
    return f"{METHOD_NAMES[summary['method']].capitalize()} ({summary['method']}{gauge})."


def _digits(numbers: Iterable[float]) -> int:
    """Return the decimals that tell numbers apart: two, and more where all lie within a point."""
    found = list(numbers)
    spread = max(found, default=0.0) - min(found, default=0.0)
    return 2 if spread >= 1 or spread <= 1e-9 else min(9, 2 - math.floor(math.log10(spread)))


def _number(number: float | None, *, sign: bool = False, digits: int = 2) -> str:
    if number is None:
        return "–"
    if abs(number) < 1e-9:
        number = 0.0
    if number != 0 and (abs(number) < 10.0**-digits or abs(number) >= 1e7):
        return f"{number:+.3g}" if sign else f"{number:.3g}"
    return f"{number:+.{digits}f}" if sign else f"{number:.{digits}f}"


def _interval(record: Summary, digits: int, *, sign: bool = False) -> str:
    if record["lower"] is None:
        return "–"
    return " to ".join(_number(record[end], sign=sign, digits=digits) for end in ("lower", "upper"))


def _some(labels: list[str]) -> str:
    from evenhand.cells import name_some

    return printable(name_some(labels, 8))


def _left_out(console: Console, count: int, what: str) -> None:
    if count > 0:
        plural = "" if count == 1 else "s"
        _say(console, f"... and {count:,} more {what}{plural}; --out FILE or --json has all.")


def _show_notes(console: Console, notes: list[Summary]) -> None:
    for note in notes:
        where = "" if note["where"] is None else f"{note['where']}: "
        _say(console, printable(f"Note: {where}{note['message']}"))
