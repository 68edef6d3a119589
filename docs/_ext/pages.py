"""The blocks of a page, run as a reader would: for the tests, and for pictures that a page makes of its own data."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from evenhand.cli import main
from evenhand.data import demo_path

FENCE = re.compile(r"(`{3,})(\S*)")

READING = re.compile(r"^Read as: .*\n", re.MULTILINE)
"""What every command says first, on standard error; the pages show it once, with ``check``."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, and the number of the first of them, from 0."""

    language: str
    first: int
    lines: list[str]

    @property
    def end(self) -> int:
        """Number of the line after the last."""
        return self.first + len(self.lines)


@dataclass(frozen=True)
class Output:
    """Output that a page shows in some of its lines, and what the code really prints."""

    first: int
    shown: list[str]
    real: list[str]

    @property
    def agrees(self) -> bool:
        """Whether the page shows what is printed; ``...`` stands for anything."""
        shown, real = ("\n".join(lines) + "\n" for lines in (self.shown, self.real))
        return doctest.OutputChecker().check_output(shown, real, doctest.ELLIPSIS)

    @property
    def renewed(self) -> list[str]:
        """The real output, abridged where the page abridges it: as many lines before and after the ellipsis."""
        if "..." not in self.shown:
            return self.real
        head = self.shown.index("...")
        tail = len(self.shown) - head - 1
        if head + tail >= len(self.real):
            return self.real
        return [*self.real[:head], "...", *self.real[len(self.real) - tail :]]


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        end = next(n for n in range(at + 1, len(lines)) if lines[n].rstrip() == fence[1])
        yield Block(fence[2], at + 1, lines[at + 1 : end])
        at = end + 1


@contextlib.contextmanager
def beside_the_demo() -> Iterator[Path]:
    """Work in a directory of its own that holds the demo panel as ``scores.csv``, and leave nothing behind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copyfile(demo_path(), "scores.csv")
        yield Path(folder)


def run_page(text: str, name: str) -> Iterator[Output]:
    """Run the blocks of a page in the working directory, Python in one namespace; yield each output shown."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    lines = text.splitlines()
    found = list(blocks_of(text))
    for position, block in enumerate(found):
        if block.language == "python":
            printed = io.StringIO()
            source = "\n" * block.first + "\n".join(block.lines)
            with contextlib.redirect_stdout(printed):
                exec(compile(source, name, "exec"), namespace)  # noqa: S102 - the pages are ours
            after = found[position + 1] if position + 1 < len(found) else None
            follows = after is not None and not any(lines[block.end + 1 : after.first - 1])
            if after is not None and after.language == "text" and follows:
                yield Output(after.first, after.lines, tidy(printed.getvalue()))
        elif block.language == "console":
            yield from run_console(block)


def run_console(block: Block) -> Iterator[Output]:
    """Run ``$ evenhand`` lines; ``$ cat FILE`` makes the file that it shows, ``$ echo $?`` shows an exit code."""
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    for position, start in enumerate(starts):
        end = starts[position + 1] if position + 1 < len(starts) else len(block.lines)
        command, shown = block.lines[start].removeprefix("$ "), block.lines[start + 1 : end]
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text("\n".join(shown) + "\n", encoding="utf-8")
        elif words[0] == "evenhand":
            result = CliRunner().invoke(main, words[1:], prog_name="evenhand")
            unforeseen = result.exception is not None and not isinstance(result.exception, SystemExit)
            if unforeseen:
                raise AssertionError(f"{command}: {result.exception!r}") from result.exception
            if shown:
                said = READING.sub("", result.output) if words[1] != "check" else result.output
                yield Output(block.first + start + 1, shown, tidy(said))
            follows = block.lines[end : end + 2]
            expected = int(follows[1]) if follows[:1] == ["$ echo $?"] else 0
            if result.exit_code != expected:
                raise AssertionError(f"{command}: exit code {result.exit_code}\n{result.output}")


def tidy(text: str) -> list[str]:
    """Return printed text as lines without spaces at their ends, nor empty lines after them."""
    return [line.rstrip() for line in text.strip("\n").rstrip().splitlines()]
