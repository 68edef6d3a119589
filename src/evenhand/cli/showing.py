"""How a terminal is written to: progress while a command works, then sentences, tables and numbers.

All text leaves by :func:`say` or :func:`show_table`: nothing in a label can steer the terminal, and no encoding is too
poor. Where nobody watches, lines are not folded, tables keep all columns, and nothing is coloured.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from evenhand.cli.layout import Line, Table, can_encode, cut, encodable, guarded, some_of, wrap
from evenhand.progress import listening
from evenhand.words import count_of, name_some, number, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

Summary = dict[str, Any]
Row = TypeVar("Row")

PATIENCE = 2.0
"""Seconds after which a person wants to know how far it is."""

_WORKING: Final[tuple[str, float, float | None]] = ("working", 0, None)
"""What is shown where nobody says what is being done."""

_STEPS: Final = 1000
"""Up to this many steps are counted; more are a share."""


class Bar:
    """Progress on standard error, which appears only once work has taken a while, and leaves nothing behind.

    It appears whether or not anybody says how far the work is; from then on it shows the task that was told last.
    """

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._steps: tuple[str, float, float] | None = None
        self._told = _WORKING
        self._is_closed = False
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True

    def start(self) -> None:
        """Begin to count the seconds."""
        self._timer.start()

    def __call__(self, task: str, done: float, total: float | None) -> None:
        """Show how far a task is."""
        with self._lock:
            if total is not None:
                self._steps = (task, done, total) if done < total else None
            # within a step of a task whose steps are counted, these go on being shown
            self._told = self._steps or ((task, done, None) if total is None else _WORKING)
            self._update()

    def close(self) -> None:
        """Take the bar away, for good."""
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def _appear(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._progress = _start(self._begun)
                self._update()

    def _update(self) -> None:
        if self._progress is None:
            return
        task, done, total = self._told
        for name, other in self._tasks.items():  # tasks may take turns
            if name != task:
                self._progress.update(other, visible=False)
        if task not in self._tasks:
            name = cut(_clean(task, sys.stderr), max(self._progress.console.width - 24, 8), "...")
            self._tasks[task] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[task], completed=done, total=total, visible=True)


_bars: list[Bar] = []
"""The bar of the command that runs, if any."""

_is_blank = True
"""Whether the last line that was printed is empty, or none was printed."""


def hide() -> None:
    """Take the bar away before an answer is printed: it would wipe out the last lines of it."""
    for bar in _bars:
        bar.close()


def _start(begun: float) -> Progress:
    """Return what shows the task, its steps and the time left; on narrow terminals without a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class HowFar(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(how_far(task.completed, task.total, time.monotonic() - begun, task.time_remaining))

    console = Console(file=sys.stderr, no_color=True)
    progress = Progress(
        SpinnerColumn("line", style=""),
        TextColumn("{task.description}", markup=False),
        *([BarColumn(20)] if console.width >= 60 else []),
        HowFar(),
        console=console,
        transient=True,
    )
    progress.start()
    return progress


def how_far(done: float, total: float | None, seconds: float, left: float | None) -> str:
    """Return steps or percent, and the time that it will still take, or has taken where that is not known.

    Examples
    --------
    >>> how_far(3, 12, 5.0, 15.2), how_far(2e6, 8e6, 5.0, 15.2), how_far(0, None, 75.0, None)
    ('3 of 12, 0:15 left', '25%, 0:15 left', '1:15')
    """
    clock = _clock(seconds) if left is None else f"{_clock(left)} left"
    if not total:
        return clock
    steps = f"{done:.0f} of {total:.0f}" if total <= _STEPS else f"{100 * min(done / total, 1):.0f}%"
    return f"{steps}, {clock}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


@contextmanager
def shown(*, verbose: bool) -> Iterator[None]:
    """Show progress where a person watches, and with ``verbose`` how the equations are solved and why."""
    global _is_blank  # noqa: PLW0603  # of the command before
    _is_blank = True
    bar = Bar()
    _bars.append(bar)
    is_watched = sys.stderr.isatty()
    if is_watched:
        bar.start()
    try:
        with _explained() if verbose else nullcontext(), listening(bar) if is_watched else nullcontext():
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
            say_beside(f"{record.getMessage()}.")

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
    """Return where to print: colours as the terminal, NO_COLOR and FORCE_COLOR have it."""
    from rich.console import Console

    hide()
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def width() -> int | None:
    """Return the columns of the terminal; None where there is none, and nobody folds lines."""
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def knows(signs: str) -> bool:
    """Return whether signs can be written as they are."""
    return can_encode(signs, _encoding(sys.stdout))


def _encoding(stream: TextIO) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _clean(text: object, stream: TextIO) -> str:
    """Return text that does nothing but stand there: the one way by which all of it leaves."""
    return encodable(printable(text), _encoding(stream))


def say(*sentences: str, style: str = "", hang: int = 0) -> None:
    """Print sentences as they are, a line each; on a terminal folded, with their indent and ``hang`` columns more."""
    for sentence in sentences:
        _say_clean(_clean(sentence, sys.stdout), style, hang)


def _say_clean(text: str, style: str = "", hang: int = 0) -> None:
    room = width()
    _print([[(line, style)] for line in ([text] if room is None else wrap(text, room, hang))])


def say_beside(sentence: str) -> None:
    """Print a sentence on standard error, beside the answer: one line, folded on a terminal only."""
    global _is_blank  # noqa: PLW0603  # both streams may end at the same terminal
    _is_blank = _is_blank and not sys.stdout.isatty()
    text = _clean(sentence, sys.stderr)
    lines = wrap(text, shutil.get_terminal_size().columns) if sys.stderr.isatty() else [text]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.stderr.flush()


def _print(lines: Iterable[Line]) -> None:
    """Print lines, and never two empty ones in a row."""
    from rich.text import Text

    global _is_blank  # noqa: PLW0603  # a terminal is one thing
    console = open_console()
    for line in lines:
        text = Text.assemble(*line)
        if text.plain or not _is_blank:
            console.print(text, soft_wrap=True)
        _is_blank = not text.plain


def show_table(
    columns: Sequence[str],
    records: Sequence[Row],
    cells: Callable[[Row], Sequence[object]],
    *,
    text: Sequence[str] = ("object", "assessor"),
    spare: Sequence[str] = (),
    whole: Sequence[str] = (),
    most: int = 0,
    what: str = "row",
    breaks: Mapping[int, str] | None = None,
    folds: Mapping[int, str] | None = None,
) -> None:
    """Print a table with a row for each record, and how many more there are than ``most``; 0 for all.

    Columns of text are flush left, all others flush right. Where the terminal is narrow, columns in ``spare`` are left
    out, the first first, and it is said which; names are shortened, those in ``whole`` last.
    ``breaks`` are lines across the table and ``folds`` words for rows that are not shown, both by the number of rows
    above.
    """
    rows = [cells(record) for record in records[: most or None]]
    table = make_table(columns, rows, text=text, spare=spare, whole=whole, breaks=breaks, folds=folds)
    lines, left_out = table.lines(width())
    _print([[], *lines])
    say_left_out(len(records) - (most or len(records)), what)
    if left_out:
        say(f"Left out for want of width: {', '.join(dict.fromkeys(left_out))}; a wider window shows all.")
    say("")


def make_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    text: Sequence[str] = (),
    spare: Sequence[str] = (),
    whole: Sequence[str] = (),
    breaks: Mapping[int, str] | None = None,
    folds: Mapping[int, str] | None = None,
) -> Table:
    """Return a table of cells that do nothing but stand there; a cell is an object to print, or text and its style."""
    return Table(
        columns=[_cell(head) for head in columns],
        rows=[[(_cell(cell[0]), cell[1]) if isinstance(cell, tuple) else _cell(cell) for cell in row] for row in rows],
        text=[_cell(head) for head in text],
        spare=[_cell(head) for head in spare],
        whole=[_cell(head) for head in whole],
        breaks={at: _cell(words) for at, words in (breaks or {}).items()},
        folds={at: _cell(words) for at, words in (folds or {}).items()},
        ellipsis=_cell("…"),
        rule=_cell("─"),
    )


def _cell(cell: object) -> str:
    return _clean(cell, sys.stdout)


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
    return name_some(labels, 8)


def say_list(word: str, labels: Sequence[str]) -> None:
    """Print a list in two lines: its word, how many labels there are, and as many of them as there is room for."""
    columns, head = width(), f"{word} ({len(labels):,})"
    names = [_cell(label) if columns is None else guarded(_cell(label)) for label in labels]
    room = 2 * (columns or 80) - len(head) - 14  # the second line begins further in, and words are not torn
    _say_clean(f"{head}: {some_of(names, room, _cell('…')) if names else 'none'}.", hang=2)


def say_left_out(count: int, what: str) -> None:
    """Say how many more rows there are, if any."""
    if count > 0:
        say(f"... and {count_of(count, f'more {what}')}; --out FILE or --json has all.")


def say_notes(notes: Iterable[Summary], before: str = "Note: ") -> None:
    """Print notes, a line each, with their places."""
    for note in notes:
        where = "" if note["where"] is None else f"{note['where']}: "
        say(f"{before}{where}{note['message']}", hang=2)


def show_written(files: Sequence[Path]) -> None:
    """Say where the results went."""
    say(f"Written to {', '.join(map(str, files))}.")


def show_next_step(sentence: str, place: Path) -> None:
    """Say what to do next with a file, which the sentence ends in."""
    say(f'{sentence} "{place}"' if " " in str(place) else f"{sentence} {place}")
