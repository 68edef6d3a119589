"""Start-up: `evenhand --help` beside importing click, and calibrating 9,000 rows beside importing scipy.sparse."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS, ROWS, BAR = 9, 9_000, 3.0


def seconds(command: list[str]) -> float:
    """Return how long a command takes, from start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def keep_compiled() -> None:
    """Let commands keep compiled modules, as an installation by pip has them, whatever is set for this process."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def write_scores(path: Path) -> None:
    """Write 3,000 objects read by three of 100 assessors each, with levels."""
    generator = np.random.default_rng(1)
    lines = ["object,assessor,score,confidence"]
    for number in range(ROWS // 3):
        for assessor in generator.choice(100, 3, replace=False):
            level = generator.choice(["high", "medium", "low"])
            lines.append(f"O{number},A{assessor},{generator.integers(0, 101)},{level}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Measure the four commands in turn, round by round, and print medians and their ratios."""
    keep_compiled()
    python, evenhand = sys.executable, str(Path(sys.executable).with_name("evenhand"))
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.csv"
        write_scores(scores)
        commands = {
            "import click": [python, "-c", "import click"],
            "evenhand --help": [evenhand, "--help"],
            "import numpy, scipy.sparse": [python, "-c", "import numpy, scipy.sparse"],
            f"evenhand calibrate, {ROWS:,} rows": [evenhand, "calibrate", str(scores)],
        }
        for command in commands.values():
            seconds(command)  # what is to be compiled is compiled now
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(seconds(command))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median in medians.items():
        print(f"{name:<34} {1000 * median:7.0f} ms")
    names = list(medians)
    for base, own in ((names[0], names[1]), (names[2], names[3])):
        ratio = medians[own] / medians[base]
        print(f"{own}: {ratio:.2f} times `{base}`, to be under {BAR:g}: {'reached' if ratio < BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
