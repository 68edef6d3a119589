"""How a terminal is written to: sentences, tables and numbers, with nothing in a label that could steer it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from evenhand import words
from evenhand.cli.showing import hide

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Summary = dict[str, Any]


def printable(text: object) -> str:
    """Return text in one line, with control characters made visible so that no label can steer the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in str(text))


def show_json(summary: Summary) -> None:
    """Print the summary as JSON: UTF-8, full precision, null where something cannot be computed."""
    text = json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2)
    hide()
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()


def open_console() -> Console:
    """Return where to print."""
    from rich.console import Console

    hide()
    # without a terminal nobody folds lines: tables keep their width
    return Console(soft_wrap=False) if sys.stdout.isatty() else Console(width=200, no_color=True)


def say(console: Console, sentence: str) -> None:
    """Print a sentence as it is: folded on a terminal, in one line elsewhere."""
    console.print(sentence, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def make_table(columns: list[str], text: tuple[str, ...] = ("object", "assessor")) -> Table:
    """Return an empty table; columns of text are flush left, all others flush right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in text else "right", overflow="fold")
    return table


def add_row(table: Table, *cells: str) -> None:
    """Add a row of cells as they are: no label is taken for markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def number_text(number: float | None, *, sign: bool = False, digits: int = 2) -> str:
    """Return a number with some decimals; more where it would look like zero, a dash where there is none."""
    return words.number(number, digits, signed=sign, small=True)


def interval_text(record: Summary, digits: int, *, sign: bool = False) -> str:
    """Return the two ends of an interval; a dash where there is none."""
    if record["lower"] is None:
        return "–"
    return " to ".join(number_text(record[end], sign=sign, digits=digits) for end in ("lower", "upper"))


def some(labels: list[str]) -> str:
    """Return up to eight labels, and how many more there are."""
    return printable(words.name_some(labels, 8))


def say_left_out(console: Console, count: int, what: str) -> None:
    """Say how many more rows there are, if any."""
    if count > 0:
        plural = "" if count == 1 else "s"
        say(console, f"... and {count:,} more {what}{plural}; --out FILE or --json has all.")


def show_notes(console: Console, notes: list[Summary]) -> None:
    """Print notes, a line each."""
    for note in notes:
        where = "" if note["where"] is None else f"{note['where']}: "
        say(console, printable(f"Note: {where}{note['message']}"))
