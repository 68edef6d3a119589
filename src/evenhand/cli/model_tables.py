"""What a refined model found beside values and biases, as tables of a few rows for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from evenhand.cli.writing import (
    add_row,
    interval_text,
    make_table,
    number_text,
    printable,
    say,
    say_left_out,
)

if TYPE_CHECKING:
    from rich.console import Console

Summary = dict[str, Any]

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
