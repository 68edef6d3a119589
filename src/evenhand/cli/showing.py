"""What a command tells while it works: a progress bar after two seconds, and with --verbose how it decides."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
    from evenhand.progress import listening

    log = logging.getLogger("evenhand")
    handler = _Lines()
    if verbose:
        log.addHandler(handler)
        level, log.level = log.level, logging.INFO
    bar = Bar()
    _bars.append(bar)
    try:
        if sys.stderr.isatty():
            with listening(bar):
                yield
        else:
            yield
    finally:
        bar.close()
        _bars.remove(bar)
        if verbose:
            log.removeHandler(handler)
            log.setLevel(level)


class _Lines(logging.Handler):
    """Writes each message as a line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"{record.getMessage()}.", err=True)
