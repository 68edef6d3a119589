"""How a terminal is written to: progress while a command works, then sentences, tables and numbers.

Nothing in a label can steer the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evenhand.progress import listening
from evenhand.words import count_of, name_some, number, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

Summary = dict[str, Any]
Row = TypeVar("Row")

PATIENCE = 2.0
"""Seconds after which a person wants to know how far it is."""


class Bar:
    """A progress bar on standard error that appears only once work has taken a while, and leaves nothing behind."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._current: str | None = None
        self._is_closed = False

    def __call__(self, task: str, done: float, total: float | None) -> None:
        """Show how far a task is."""
        if self._is_closed or time.monotonic() - self._begun < PATIENCE:
            return
        if self._progress is None:
            self._progress = _start()
        if task != self._current:  # tasks may take turns
            for other in self._tasks.values():
                self._progress.update(other, visible=False)
            self._current = task
        if task not in self._tasks:
            self._tasks[task] = self._progress.add_task(task, total=total)
        self._progress.update(self._tasks[task], completed=done, total=total, visible=True)

    def close(self) -> None:
        """Take the bar away, for good."""
        self._is_closed = True
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


_bars: list[Bar] = []
"""The bar of the command that runs, if any."""


def hide() -> None:
    """Take the bar away before an answer is printed: it would wipe out the last lines of it."""
    for bar in _bars:
        bar.close()


def _start() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    progress.start()
    return progress


@contextmanager
def shown(*, verbose: bool) -> Iterator[None]:
    """Show progress where a person watches, and with ``verbose`` how the equations are solved and why."""
    bar = Bar()
    _bars.append(bar)
    try:
        with _explained() if verbose else nullcontext(), listening(bar) if sys.stderr.isatty() else nullcontext():
            yield
    finally:
        bar.close()
        _bars.remove(bar)


@contextmanager
def _explained() -> Iterator[None]:
    """Write each message of the log as a line on standard error."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(f"{record.getMessage()}.", err=True)

    log, handler = logging.getLogger("evenhand"), Lines()
    log.addHandler(handler)
    level, log.level = log.level, logging.INFO
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def show_json(summary: Summary) -> None:
    """Print the summary as JSON: UTF-8, full precision, null where something cannot be computed."""
    import json

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


def say(*sentences: str) -> None:
    """Print sentences as they are, a line each: folded on a terminal only."""
    console = open_console()
    for sentence in sentences:
        console.print(sentence, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def show_table(
    columns: Sequence[str],
    records: Sequence[Row],
    cells: Callable[[Row], Sequence[object]],
    *,
    text: Sequence[str] = ("object", "assessor"),
    most: int = 0,
    what: str = "row",
) -> None:
    """Print a table with a row for each record, and how many more there are than ``most``; 0 for all.

    Columns of text are flush left, all others flush right; no label is taken for markup.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(Text(printable(name)), justify="left" if name in text else "right", overflow="fold")
    for record in records[: most or None]:
        table.add_row(*(Text(printable(cell)) for cell in cells(record)))
    open_console().print(table)
    say_left_out(len(records) - (most or len(records)), what)


def number_text(value: float | None, *, sign: bool = False, digits: int = 2) -> str:
    """Return a number with some decimals; more where it would look like zero, a dash where there is none."""
    return number(value, digits, signed=sign, small=True)


def interval_text(record: Summary, digits: int, *, sign: bool = False) -> str:
    """Return the two ends of an interval; a dash where there is none."""
    if record["lower"] is None:
        return "–"
    return " to ".join(number_text(record[end], sign=sign, digits=digits) for end in ("lower", "upper"))


def some(labels: list[str]) -> str:
    """Return up to eight labels, and how many more there are."""
    return printable(name_some(labels, 8))


def say_left_out(count: int, what: str) -> None:
    """Say how many more rows there are, if any."""
    if count > 0:
        say(f"... and {count_of(count, f'more {what}')}; --out FILE or --json has all.")


def say_notes(notes: Iterable[Summary], before: str = "Note: ") -> None:
    """Print notes, a line each, with their places."""
    for note in notes:
        where = "" if note["where"] is None else f"{note['where']}: "
        say(printable(f"{before}{where}{note['message']}"))


def show_written(files: Sequence[Path]) -> None:
    """Say where the results went."""
    say(f"Written to {', '.join(printable(file) for file in files)}.")


def show_next_step(sentence: str, place: Path) -> None:
    """Say what to do next with a file, which the sentence ends in."""
    say(printable(f'{sentence} "{place}"' if " " in str(place) else f"{sentence} {place}"))
