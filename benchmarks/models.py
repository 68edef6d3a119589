"""Refined models: their time beside that of plain `calibrate`, of whole commands, and of lme4 for the same model.

The panels are drawn here: peer grading (2,084 scores of 724 objects by 636 assessors), the shipped panel, 300 objects
read by three of 40 assessors, and 73,000 scores of 3,000 objects by 1,100 assessors for lme4. Ratios are of medians in
one run.

``python benchmarks/models.py [--rounds N] [--table PAGE]``
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from page import table, write_section
from start_up import keep_compiled, write_scores

import evenhand as eh

BEFORE = {  # what was found when variances were looked for by climbing, as far as it was measured
    "peer grading: shrink": "70 times, 10 s",
    "peer grading: student": "ten minutes",
    "peer grading: scale": "ten minutes",
    "shipped: evenhand compare": "6 s",
    "300 x 40 x 3: evenhand compare": "84 times, 135 s",
    "300 x 40 x 3: evenhand report": "four minutes",
    "9,000 rows: evenhand calibrate": "3 times",
}
COMMANDS = {"compare": ((), {"shipped": 2.0, "300 x 40 x 3": 6.0}), "report": ((), {"300 x 40 x 3": 8.0})}
LME4, START = 1 / 25, 2.2
SCALE_SDS = (0.3, 0.6)
MODELS: dict[str, tuple[dict[str, Any], float | None]] = {
    "shrink": ({"shrink": True}, 5.0),
    "student": ({"shrink": True, "tails": "student"}, 40.0),
    "scale": ({"shrink": True, "scale": True}, 40.0),
    "noise factors": ({"shrink": True, "calibrate_confidence": True}, 40.0),
    "ordinal, five categories": ({"ordinal": "probit"}, 40.0),
    "bounded": ({"scores": eh.Bounded(0.0, 100.0)}, None),
}


def drawn(n_objects: int, n_assessors: int, size: int, seed: int = 3, scale_sd: float = 0.0) -> eh.Panel:
    """Return whole points from 0 to 100 for pairs drawn at random, every object as often as can be."""
    generator = np.random.default_rng(seed)
    objects = np.resize(generator.permutation(n_objects), size)
    pairs = np.unique(np.stack([objects, generator.integers(0, n_assessors, size)]), axis=1)
    objects, assessors = (np.unique(side, return_inverse=True)[1] for side in pairs)
    values, biases = 8 * generator.normal(size=n_objects), 5 * generator.normal(size=n_assessors)
    score = 70 + biases[assessors] + 7 * generator.normal(size=objects.size)
    score += np.exp(scale_sd * generator.normal(size=n_assessors))[assessors] * values[objects]
    return eh.Panel.from_arrays(objects, assessors, np.clip(np.round(score), 0, 100))


def median(run: Callable[[], object], rounds: int) -> float:
    """Return the median time of some runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def with_sds(fit: eh.Fit) -> eh.Fit:
    """Return a fit after all its standard deviations were asked for."""
    _ = fit.values.sd, fit.biases.sd
    return fit


def shrunk(panel: eh.Panel, asked: Mapping[str, Any]) -> eh.Fit:
    """Return a refined fit with all its standard deviations."""
    return with_sds(eh.refine(panel, **asked))


ROWS: list[list[str]] = []


def say(what: str, seconds: float, ratio: float = 1.0, bar: float | None = None) -> None:
    """Print a time, its ratio and whether the bar was reached, and keep it for the table."""
    word = "" if bar is None else "reached" if ratio <= bar else "**missed**"
    shown = f"{ratio:.3g}" if ratio != 1 else ""
    most = "" if bar is None else f"{bar:.3g}"
    ROWS.append([what, f"{1000 * seconds:,.0f} ms", shown, most, word, BEFORE.get(what, "")])
    print(f"{what:<44} {1000 * seconds:9.0f} ms {shown:>8} {most:>6} {word}", flush=True)


def models(rounds: int) -> None:
    """Measure each refined model beside plain calibration on peer grading."""
    panel = drawn(724, 636, 2_084)
    plain = median(lambda: with_sds(eh.calibrate(panel, per_component=True)), 2 * rounds + 1)
    say("peer grading: calibrate, all sds", plain)
    cut = [50.0, 62.5, 75.0, 87.5]
    five = replace(panel, score=np.asarray(np.digitize(panel.score, cut) + 1.0, dtype=np.float64))
    for name, (asked, bar) in MODELS.items():
        found = median(partial(shrunk, five if "ordinal" in asked else panel, asked), rounds)
        say(f"peer grading: {name}", found, found / plain, bar)
    for scale_sd in SCALE_SDS:
        spread = drawn(724, 636, 2_084, scale_sd=scale_sd)
        asked, bar = MODELS["scale"]
        found = median(partial(shrunk, spread, asked), rounds)
        say(f"peer grading: scale, log scales of sd {scale_sd:g}", found, found / plain, bar)


def commands(rounds: int) -> None:
    """Measure whole commands beside `evenhand calibrate` on the same file."""
    python = [sys.executable, "-m", "evenhand"]
    with tempfile.TemporaryDirectory() as folder:
        shipped = Path(eh.__file__).parent / "data" / "grant-competition.csv"
        middle = Path(folder) / "middle.csv"
        eh.simulate_panel(300, 40, 3, seed=1).panel.to_frame().write_csv(middle)
        files = {"shipped": shipped, "300 x 40 x 3": middle}

        def run(*words: str) -> Callable[[], object]:
            return lambda: subprocess.run([*python, *words], check=True, stdout=subprocess.DEVNULL)

        for name, file in files.items():
            plain = median(run("calibrate", str(file)), rounds)
            say(f"{name}: evenhand calibrate", plain)
            for command, (more, bars) in COMMANDS.items():
                if name in bars:
                    out = ["--out", str(Path(folder) / "report.html")] if command == "report" else []
                    found = median(run(command, str(file), *more, *out), rounds)
                    say(f"{name}: evenhand {command}", found, found / plain, bars[name])


def start(rounds: int) -> None:
    """Measure how long a plain command takes beside the imports that it cannot do without."""
    evenhand = str(Path(sys.executable).with_name("evenhand"))
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.csv"
        write_scores(scores)
        base, own = (
            median(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL), rounds)
            for command in (
                [sys.executable, "-c", "import numpy, scipy.sparse"],
                [evenhand, "calibrate", str(scores)],
            )
        )
    say("import numpy, scipy.sparse", base)
    say("9,000 rows: evenhand calibrate", own, own / base, START)


def lme4(rounds: int) -> None:
    """Measure shrinkage beside lme4 on 73,000 scores."""
    script = shutil.which("Rscript")
    if script is None or subprocess.run([script, "-e", "library(lme4)"], capture_output=True, check=False).returncode:
        print("lme4 is not installed: not measured (on Debian: apt-get install r-cran-lme4)")
        return
    panel = drawn(3_000, 1_100, 73_000)
    with tempfile.TemporaryDirectory() as folder:
        codes, scores = Path(folder) / "codes.npy", Path(folder) / "scores.npy"
        np.save(codes, np.stack([panel.object_index, panel.assessor_index]).astype(np.int32) + 1)
        np.save(scores, panel.score)
        mixed = Path(__file__).with_name("mixed.R")
        called = [script, mixed, codes, scores, "128", str(panel.n_assessments), "50", "1"]
        done = subprocess.run([str(one) for one in called], capture_output=True, text=True, check=True)
        theirs = float(done.stdout.split()[1])  # "seconds" and how many
    own = median(partial(shrunk, panel, {"shrink": True}), rounds)
    say("73,000 scores: lme4", theirs)
    say("73,000 scores: shrink", own, own / theirs, LME4)


def main() -> None:
    """Measure models, commands and lme4, in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", type=Path, metavar="PAGE", help="renew the table of this page")
    given = parser.parse_args()
    keep_compiled()
    models(given.rounds)
    commands(given.rounds)
    start(2 * given.rounds + 1)
    lme4(1)
    if given.table:
        write_section(given.table, "models", table(["what", "time", "ratio", "at most", "", "before"], ROWS))


if __name__ == "__main__":
    main()
