"""Every refinement beside plain calibration: on panels from its own model, and on panels that need none of it.

``python benchmarks/refinements.py [--runs N] [--intervals N] [--jobs N] [--seed N] [--only NAME ...] [--shape NAME ...]
[--table PAGE]``
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from page import table, write_section
from scipy.special import ndtr

import evenhand as eh
from evenhand.errors import EvenhandError, NotConnectedError
from evenhand.models.bounded import Bounded, Logarithm
from evenhand.models.fit import Fit
from evenhand.models.medians import median_polish
from evenhand.models.refined import Refinements, refine
from evenhand.panel.panel import Panel

Floats = NDArray[np.float64]
Run = dict[str, Any]

SEED: Final = 2027
LEVEL: Final = 0.90
"""Probability of the intervals."""
OWN, PLAIN = 1.0, 1.02
"""Largest ratio of errors on panels of its own model (to be below), and on plain ones (not to be above)."""
FEW: Final = 10
"""From fewer panels than this a standard error of coverage is not believed."""
SHAPES: Final = {"panel": (60, 12, 4), "grants": (43, 11, 2), "peers": (80, 80, 5)}
"""Objects, assessors, and assessors of each object."""
BASE: Final[dict[str, Any]] = {"bounds": None, "step": None, "bias_sd": 8.0, "uncertainties": (4.0, 8.0, 14.0)}
INSIDE: Final[dict[str, Any]] = {"value_sd": 6.0, "bias_sd": 4.0, "uncertainties": (3.0,)}
"""Plain scores that stay well inside the bounds, so that maps of bounded scores take them."""
THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Case:
    """A refinement, and how panels are drawn from its model and from the plain one.

    Attributes
    ----------
    assumed
        The refinement; None for medians.
    own, plain
        Options of :func:`~evenhand.simulate_panel` beside those of all.
    effect
        What the panels of its own have, in words.
    plain_assumed
        The refinement for plain panels, where it cannot be the same.
    cuts
        Thresholds between which scores of its own panels are the categories 1, 2, ..., with noise of sd 1.
    """

    assumed: Refinements | None
    own: dict[str, Any]
    effect: str
    plain: dict[str, Any] = field(default_factory=dict)
    plain_assumed: Refinements | None = None
    cuts: tuple[float, ...] = ()


def _bounded(shape: Any) -> Case:
    scores = Bounded(0.0, 100.0, shape)
    own = {"scores": scores, "value_sd": 45.0, "bias_sd": 20.0, "step": 1.0}
    return Case(Refinements(shrink=True, scores=scores), own, "values of sd 45 on a scale from 0 to 100", INSIDE)


CASES: Final = {
    "shrunk": Case(
        Refinements(shrink=True), {"bias_sd": 3.0, "uncertainties": (10.0,)}, "biases of sd 3, noise of sd 10"
    ),
    "scaled": Case(Refinements(shrink=True, scale=True), {"scale_sd": 0.35}, "log scales of sd 0.35"),
    "confidences": Case(
        Refinements(shrink=True, calibrate_confidence=True), {"factor_sd": 1.0}, "log noise variances of sd 1"
    ),
    "power": Case(Refinements(shrink=True, power="estimated"), {"power": 0.0}, "declared confidence means nothing"),
    "student": Case(Refinements(shrink=True, tails="student"), {"freedom": 2.0}, "Student noise, 2 degrees"),
    "student, free": Case(
        Refinements(shrink=True, tails="student", freedom=None), {"freedom": 2.0}, "Student noise, 2 degrees"
    ),
    "huber": Case(Refinements(shrink=True, tails="huber"), {"freedom": 2.0}, "Student noise, 2 degrees"),
    "medians": Case(None, {"freedom": 2.0}, "Student noise, 2 degrees"),
    "rounded": Case(
        Refinements(shrink=True, step=10.0),
        {"step": 10.0, "uncertainties": (2.0,)},
        "noise of sd 2, rounded to tens",
        {"step": 1.0},
        Refinements(shrink=True, step=1.0),
    ),
    "covariates": Case(
        Refinements(shrink=True, covariates=("order",)),
        {"effects": {"order": 6.0}},
        "6 points per sd of a covariate",
        {"effects": {"order": 0.0}},
    ),
    "logit": _bounded("logit"),
    "rational": _bounded("rational"),
    "log": Case(
        Refinements(shrink=True, scores=Logarithm()),
        {"scores": Logarithm(50.0), "value_sd": 20.0, "bias_sd": 15.0, "uncertainties": (1.0, 2.0, 4.0), "step": 1.0},
        "values of log sd 0.4",
        INSIDE,
    ),
    "ordinal": Case(
        Refinements(ordinal="probit"),
        {"value_mean": 0.0, "value_sd": 2.0, "bias_sd": 1.5, "uncertainties": (1.0,)},
        "five categories, two thirds of all scores at the ends",
        {"value_mean": 3.0, "value_sd": 0.8, "bias_sd": 0.4, "uncertainties": (0.6,), "step": 1.0},
        cuts=(-2.0, -1.0, 0.0, 0.5),
    ),
}


# --- one panel -----------------------------------------------------------------------------------


def draw(case: Case, shape: str, data: str, seed: int) -> eh.Simulation:
    """Return the first connected panel that a seed leads to."""
    options = {**BASE, **(case.own if data == "own" else case.plain)}
    generator = np.random.default_rng(seed)
    for _ in range(100):
        drawn = eh.simulate_panel(*SHAPES[shape], seed=int(generator.integers(2**31)), **options)
        if eh.connectivity(drawn.panel).is_connected:
            return cut_up(drawn, case.cuts) if case.cuts and data == "own" else drawn
    raise ValueError(f"no panel of shape {shape} is connected.")


def cut_up(drawn: eh.Simulation, cuts: tuple[float, ...]) -> eh.Simulation:
    """Return a panel of categories; true values are the scores that an assessor without bias is expected to give."""
    score = np.searchsorted(cuts, drawn.panel.score) + np.float64(1.0)
    expected = 1.0 + ndtr(drawn.values[:, None] - np.array(cuts)).sum(axis=1)
    return replace(drawn, values=expected, panel=replace(drawn.panel, score=score))


def fit_by(case: Case, data: str) -> Callable[[Panel], Fit]:
    """Return how a panel is fitted."""
    assumed = case.assumed if data == "own" or case.plain_assumed is None else case.plain_assumed
    if assumed is None:
        return median_polish
    return lambda panel: refine(panel, assumed, interval=LEVEL)


def errors_of(fit: Fit, truth: Floats) -> tuple[float, float]:
    """Return the mean absolute error of values as they are, and after a common shift is taken out."""
    error = fit.values.estimate - truth
    return float(np.abs(error).mean()), float(np.abs(error - np.median(error)).mean())


Job = tuple[str, str, str, int, bool]
"""Refinement, shape, kind of panels, seed, and whether intervals are asked for, which take several times as long."""


def measure(job: Job) -> Run:
    """Return one refinement on one panel: errors beside those of CWC and of shrinkage alone, coverage, seconds."""
    name, shape, data, seed, wanted = job
    case = CASES[name]
    # no two rows of the tables share panels, or they would err together
    drawn = draw(case, shape, data, 1_000 * crc32(f"{name} {shape} {data}".encode()) + seed)
    found: Run = {"name": name, "shape": shape, "data": data, "seed": seed}
    begin = time.process_time()
    try:
        fit = fit_by(case, data)(drawn.panel)
        found["seconds"] = time.process_time() - begin
        if wanted and data == "own" and fit.values.lower is not None and fit.values.upper is not None:
            inside = (fit.values.lower <= drawn.values) & (drawn.values <= fit.values.upper)
            found["coverage"] = float(inside.mean())
            found["seconds_intervals"] = time.process_time() - begin
        found["error"] = errors_of(fit, drawn.values)
        found["cwc"] = errors_of(eh.calibrate(drawn.panel), drawn.values)
        found["shrunk"] = errors_of(refine(drawn.panel, shrink=True), drawn.values)
    except NotConnectedError:
        raise
    except EvenhandError as problem:
        found["failed"] = f"{type(problem).__name__}: {problem}"
    return found


# --- many panels ---------------------------------------------------------------------------------


def measure_all(jobs: Sequence[Job], workers: int) -> Iterator[Run]:
    """Yield all runs, in processes of one thread each."""
    for name in THREADS:
        os.environ[name] = "1"
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(measure, jobs)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two mean errors over the same panels, with its standard error.

    Attributes
    ----------
    above, below
        The mean errors.
    error
        Standard error of the ratio, by the spread of ``above - ratio * below`` between panels.
    """

    above: float
    below: float
    error: float

    @classmethod
    def of(cls, above: Floats, below: Floats) -> Ratio:
        """Return the ratio for errors of each panel."""
        ratio = above.mean() / below.mean()
        spread = float(np.std(above - ratio * below, ddof=1)) if above.size > 1 else float("nan")
        return cls(float(above.mean()), float(below.mean()), spread / float(below.mean()) / float(np.sqrt(above.size)))

    @property
    def value(self) -> float:
        """The ratio."""
        return self.above / self.below

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"

    def verdict(self, most: float, *, strict: bool) -> str:
        """Return whether the ratio is below what is allowed, and whether more panels might say otherwise."""
        reached = self.value < most if strict else self.value <= most
        unsure = not abs(self.value - most) > 2 * self.error  # so too where one panel gives no error
        return ("reached" if reached else "MISSED") + (", within 2 se" if unsure else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A refinement on panels of one shape and kind.

    Attributes
    ----------
    name, shape, data
        Which.
    ratio, without_level, beside_shrunk
        Errors beside those of plain CWC; the same with a common shift of all values taken out; errors beside those of
        shrinkage alone.
    coverage, coverage_error
        Part of the true values that lie in their intervals, and its standard error between panels; None for none.
    seconds, seconds_intervals
        Time of a processor for a fit, and with intervals.
    runs, covered, failures
        Panels, those of which intervals were tried, and what was said where there was no fit.
    """

    name: str
    shape: str
    data: str
    ratio: Ratio | None
    without_level: Ratio | None
    beside_shrunk: Ratio | None
    coverage: float | None
    coverage_error: float
    seconds: float
    seconds_intervals: float | None
    runs: int
    covered: int
    failures: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Row:
        """Return the row of some runs."""
        first, done = runs[0], [run for run in runs if "failed" not in run]
        failures = tuple(run["failed"] for run in runs if "failed" in run)
        label = first["name"], first["shape"], first["data"]
        if not done:
            return cls(*label, None, None, None, None, np.nan, np.nan, None, len(runs), 0, failures)
        error, cwc, shrunk = (np.array([run[key] for run in done]) for key in ("error", "cwc", "shrunk"))
        covered = np.array([run["coverage"] for run in done if "coverage" in run])
        timed = [run["seconds_intervals"] for run in done if "seconds_intervals" in run]
        return cls(
            *label,
            Ratio.of(error[:, 0], cwc[:, 0]),
            Ratio.of(error[:, 1], cwc[:, 1]),
            Ratio.of(error[:, 0], shrunk[:, 0]),
            float(covered.mean()) if covered.size else None,
            float(covered.std(ddof=1) / np.sqrt(covered.size)) if covered.size > 1 else np.nan,
            float(np.median([run["seconds"] for run in done])),
            float(np.median(timed)) if timed else None,
            len(runs),
            covered.size,
            failures,
        )

    @property
    def verdict(self) -> str:
        """Whether what is required is reached."""
        most = OWN if self.data == "own" else PLAIN
        words = "no fit" if self.ratio is None else self.ratio.verdict(most, strict=self.data == "own")
        return words + (f"; {len(self.failures)} of {self.runs} FAILED" if self.failures else "")

    @property
    def cells(self) -> list[str]:
        """The row of a table."""
        ratios = [
            *("—" if self.ratio is None else f"{error:.2f}" for error in _both(self.ratio)),
            *("—" if one is None else str(one) for one in (self.ratio, self.without_level, self.beside_shrunk)),
        ]
        own = []
        if self.data == "own":
            off = (
                self.coverage is not None
                and abs(self.coverage - LEVEL) > 3 * self.coverage_error
                and self.covered >= FEW
            )
            covered = "—" if self.coverage is None else f"{self.coverage:.3f} ± {self.coverage_error:.3f}"
            own = [covered + (" OFF" if off else "")]
        seconds = f"{self.seconds:.2g}"
        if self.seconds_intervals is not None:
            seconds += f", {self.seconds_intervals:.2g}"
        return [self.name, self.shape, str(self.runs), *ratios, *own, seconds, self.verdict]


def _both(ratio: Ratio | None) -> tuple[float, float]:
    return (np.nan, np.nan) if ratio is None else (ratio.above, ratio.below)


HEADS: Final = ("refinement", "panels", "runs", "error", "CWC", "ratio", "level out", "beside shrunk")


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each refinement, shape and kind of panels, in the order of the runs."""
    grouped: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run["name"], run["shape"], run["data"]), []).append(run)
    return [Row.of(group) for group in grouped.values()]


def make_section(rows: Sequence[Row], conditions: str) -> str:
    """Return the tables of the page."""
    parts = [conditions]
    for data, title in (("own", "Panels from its own model"), ("plain", "Panels from the plain model")):
        cells = [row.cells for row in rows if row.data == data]
        more = (f"coverage of {100 * LEVEL:.0f}%",) if data == "own" else ()
        to_be = f"below {OWN:g}" if data == "own" else f"at most {PLAIN:g}"
        seconds = "seconds, with intervals" if data == "own" else "seconds"
        if cells:
            parts += [f"### {title}", table([*HEADS, *more, seconds, f"ratio {to_be}"], cells)]
    said = sorted({message for row in rows for message in row.failures})
    if said:
        parts += ["### Fits that failed", "\n".join(f"- {message}" for message in said)]
    return "\n\n".join(parts)


def say(text: str, end: str = "\n") -> None:
    """Print at once."""
    print(text, end=end, flush=True)


def main() -> None:
    """Measure the refinements that the command line names, all of them where it names none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=40, help="panels of each kind")
    parser.add_argument("--intervals", type=int, default=10, help="of these, panels for which intervals are tried")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the first panel of each kind")
    parser.add_argument("--only", nargs="+", choices=list(CASES), metavar="NAME", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--shape", nargs="+", choices=list(SHAPES), help="shapes of panels")
    parser.add_argument("--data", nargs="+", choices=["own", "plain"], help="panels of its own model, or plain ones")
    parser.add_argument("--table", type=Path, metavar="PAGE", help="renew the tables of this page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add all runs to this file, and show those in it too")
    given = parser.parse_args()
    runs: list[Run] = []
    if given.json and given.json.exists():
        runs = [json.loads(line) for line in given.json.read_text(encoding="utf-8").splitlines()]
    known = {(run["name"], run["shape"], run["data"], run["seed"]) for run in runs}
    jobs = [
        (name, shape, data, seed, seed < given.seed + given.intervals)
        for seed in range(given.seed, given.seed + given.runs)
        for name in given.only or CASES
        for shape in given.shape or SHAPES
        for data in given.data or ("own", "plain")
    ]
    jobs = [job for job in jobs if job[:4] not in known]
    begin = time.monotonic()
    for at, run in enumerate(measure_all(jobs, given.jobs) if jobs else (), 1):
        runs.append(run)
        if given.json:
            with given.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
        print(f"\r{at} of {len(jobs)}, {time.monotonic() - begin:.0f} s ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    order = {key: at for at, key in enumerate((n, s) for n in CASES for s in SHAPES)}
    rows = rows_of(sorted(runs, key=lambda run: order[run["name"], run["shape"]]))
    seeds = sorted({run["seed"] for run in runs})
    conditions = f"Seeds from {seeds[0]} to {seeds[-1]}." if seeds else ""
    if any(row.runs < FEW for row in rows):
        conditions += f" PRELIMINARY: rows of fewer than {FEW} runs show what was seen so far and decide nothing."
    section = make_section(rows, conditions)
    say(section)
    if given.table:
        write_section(given.table, "refinements", section)


if __name__ == "__main__":
    main()
