"""How far a reader has to walk: what of ours one run of `evenhand calibrate scores.csv --json` passes through.

Counted in this process, from the call of the command line on, with the modules that it imports on the way. A function
is a named one: lambdas and comprehensions belong to the function that they stand in. A change of file is a call of ours
that is in another file than the one before, that into the first file included; bodies of classes are calls, too, for
whoever reads along. Without a file of scores, the demo's are taken.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from click.testing import CliRunner


@dataclass(frozen=True)
class Walk:
    """What a run passed through.

    Attributes
    ----------
    calls
        Our named code in the order in which it was entered: functions, and bodies of classes.
    imported
        Our modules that are imported in the end.
    """

    calls: tuple[CodeType, ...]
    imported: tuple[str, ...]

    @property
    def functions(self) -> set[tuple[str, int]]:
        """Functions that were entered, by file and line."""
        entered = (code for code in self.calls if code.co_flags & inspect.CO_OPTIMIZED)  # no body of a class
        return {(code.co_filename, code.co_firstlineno) for code in entered}

    @property
    def files(self) -> set[str]:
        """Files of which at least one function was entered."""
        return {file for file, _ in self.functions}

    @property
    def changes(self) -> int:
        """Changes of file from one call to the next."""
        files = ["", *(code.co_filename for code in self.calls)]
        return sum(one != other for one, other in itertools.pairwise(files))


def walk(arguments: list[str]) -> Walk:
    """Run a command in this process and return what of ours it passed through."""
    main = importlib.import_module("evenhand.__main__").main
    ours = str(Path(importlib.import_module("evenhand").__file__ or "").parent)
    calls: list[CodeType] = []

    def enter(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ours) and not code.co_name.startswith("<"):
            calls.append(code)

    sys.setprofile(enter)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        sys.setprofile(None)
    if result.exit_code != 0:
        raise SystemExit(result.output)
    imported = sorted(name for name in sys.modules if name.partition(".")[0] == "evenhand")
    return Walk(tuple(calls), tuple(imported))


def main() -> None:
    """Walk through one calibration and print the counts."""
    with tempfile.TemporaryDirectory() as folder:
        scores = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "scores.csv")
        if len(sys.argv) == 1:  # in a process of its own, so that nothing is imported here before the walk
            saving = [sys.executable, "-m", "evenhand", "demo", "--save", scores]
            subprocess.run(saving, check=True, stdout=subprocess.DEVNULL)
        found = walk(["calibrate", scores, "--json"])
    for words, count in (
        ("functions of ours entered", len(found.functions)),
        ("modules of ours with a function entered", len(found.files)),
        ("changes of file", found.changes),
        ("modules of ours imported", len(found.imported)),
    ):
        print(f"{words:<42} {count:6,}")


if __name__ == "__main__":
    main()
