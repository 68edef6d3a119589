"""The paper's case study 1 (sec. 4.1): errors of the methods on panels of `panel.simulate`, beside the published."""

from __future__ import annotations

import csv
import math
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.compiled import Floats
from evenhand.errors import EvenhandError, InputError, NotConnectedError, bad_option
from evenhand.frames import Shown
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import report
from evenhand.studies.printed import PrintedNumber, PrintedVerdict, Reproduction, compared_fits

COMPARED: Final = ("sa", "iba", "cwc")
"""The methods that the paper compares, in the order of its figures from above."""

PROFILES: Final = ((1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1.0, 2.0, 1.0), (2.0, 1.0, 1.0))
"""The paper's confidence profiles: frequencies of high, medium and low confidence."""

MEASURES: Final = ("value_mean_error", "value_max_error", "bias_mean_error", "bias_max_error")
"""What each run gives for each method: mean and largest error of values, then of biases."""

_WORTH_A_PROCESS: Final = 500_000
"""Assessments to simulate and fit that take about as long as a process takes to start."""

_THREAD_SETTINGS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Profile = tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SimulationStudy(Shown):
    """Errors of simple averages, incomplete block analysis and calibration with confidence on simulated panels.

    Attributes
    ----------
    profiles
        Frequencies of the uncertainties, one profile for each series of panels.
    per_object
        Assessors per object, each with every profile.
    runs, seed
        Simulated panels for each profile and number of assessors, and the seed behind all of them.
    numbers
        The other numbers of the study, by name.
    errors
        Shape (profiles, per_object, runs, 3 methods, 4 measures), in the order of ``COMPARED`` and ``MEASURES``;
        errors of biases are nan for averages, which have none.
    """

    profiles: tuple[Profile, ...]
    per_object: tuple[int, ...]
    runs: int
    seed: int
    numbers: Mapping[str, Any]
    errors: Floats

    @property
    def means(self) -> Floats:
        """Averages over the runs (profiles, per_object, methods, measures)."""
        return np.asarray(self.errors.mean(axis=2))

    @property
    def spreads(self) -> Floats:
        """Standard deviations between runs, of the same shape; nan after a single run."""
        if self.runs == 1:
            return np.full(self.means.shape, np.nan)
        return np.asarray(self.errors.std(axis=2, ddof=1))

    @property
    def standard_errors(self) -> Floats:
        """Monte Carlo standard errors of the means, of the same shape."""
        return np.asarray(self.spreads / np.sqrt(self.runs))

    def columns(self) -> dict[str, list[Any]]:
        """Return the results as columns, a row for each profile, number of assessors and method."""
        shape = (len(self.profiles), len(self.per_object), len(COMPARED))
        places = list(np.ndindex(shape))
        found: dict[str, list[Any]] = {
            "profile": [profile_name(self.profiles[p]) for p, _, _ in places],
            "per_object": [self.per_object[r] for _, r, _ in places],
            "method": [COMPARED[m] for _, _, m in places],
        }
        means, errors = self.means, self.standard_errors
        for k, name in enumerate(MEASURES):
            found[name] = [_number(means[place][k]) for place in places]
            found[f"{name}_se"] = [_number(errors[place][k]) for place in places]
        return found


def simulation_study(  # noqa: PLR0913
    *,
    n_objects: int = 3000,
    n_assessors: int = 15,
    per_object: Sequence[int] = (2, 3, 4, 5, 6),
    profiles: Sequence[Sequence[float]] = PROFILES,
    runs: int = 100,
    seed: int = 1,
    value_mean: float = 50.0,
    value_sd: float = 15.0,
    bias_sd: float = 15.0,
    uncertainties: Sequence[float] = (5.0, 10.0, 15.0),
    bounds: tuple[float, float] | None = (0.0, 100.0),
    step: float | None = 1.0,
    jobs: int = 1,
) -> SimulationStudy:
    """Return how far the methods are from the truth on simulated panels; as it stands, the paper's case study 1.

    Each run draws a panel by :func:`~evenhand.simulate_panel`, fits it with biases that add up to zero, and keeps the
    mean and the largest of |estimate - truth| over objects and over assessors. A run depends on ``seed``, its
    number, the profile and the assessors per object only: not on the other cells, nor on the number of processes.

    Parameters
    ----------
    n_objects, n_assessors, per_object
        Size of the panels, and the numbers of assessors per object to try.
    profiles
        For each series of panels, how often each of ``uncertainties`` occurs.
    runs
        Panels for each profile and number of assessors.
    seed
        Seed of the random numbers.
    value_mean, value_sd, bias_sd, uncertainties, bounds
        As in :func:`~evenhand.simulate_panel`.
    step
        True values and scores are rounded to multiples of this, as the averages that the paper published show;
        None for not at all.
    jobs
        Processes to work in. They are spawned: a script that asks for more than one needs the usual
        ``if __name__ == "__main__":`` around it.

    Examples
    --------
    >>> study = simulation_study(n_objects=60, n_assessors=6, per_object=(2, 4), runs=3)
    >>> study.means.shape, study.columns()["method"][:3]
    ((4, 2, 3, 4), ['sa', 'iba', 'cwc'])
    """
    chosen = tuple(tuple(float(part) for part in profile) for profile in profiles)
    counts = tuple(int(count) for count in per_object)
    numbers = {
        "n_objects": n_objects,
        "n_assessors": n_assessors,
        "value_mean": value_mean,
        "value_sd": value_sd,
        "bias_sd": bias_sd,
        "uncertainties": tuple(float(part) for part in uncertainties),
        "bounds": bounds,
        "step": step,
    }
    if min(n_objects, n_assessors, runs, jobs) < 1 or seed < 0 or not chosen or not counts:
        raise bad_option(
            "A study needs objects, assessors, a profile, assessors per object, runs and a process: at least one of "
            "each, and a seed that is not negative."
        )
    if (step is not None and not 0 < step < math.inf) or (bounds is not None and not bounds[0] < bounds[1]):
        raise bad_option("A step must be positive, and bounds must be in order.")
    tasks = [(p, r, run) for p in range(len(chosen)) for r in range(len(counts)) for run in range(runs)]
    errors = np.empty((len(chosen), len(counts), runs, len(COMPARED), len(MEASURES)))
    work = n_objects * runs * len(chosen) * sum(counts)
    jobs = min(jobs, len(tasks), 1 + work // _WORTH_A_PROCESS)
    # small batches, so that progress moves and an interrupt is not waited for
    size = max(1, min(10, len(tasks) // (4 * jobs)))
    batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    calls = [[(seed, run, chosen[p], counts[r], numbers) for p, r, run in batch] for batch in batches]
    done = 0
    for number, found in _work(calls, jobs):
        for (p, r, run), result in zip(batches[number], found, strict=True):
            errors[p, r, run] = result
        done += len(batches[number])
        report("simulating panels", done, len(tasks))
    return SimulationStudy(chosen, counts, runs, seed, numbers, errors)


def profile_name(profile: Sequence[float]) -> str:
    """Return a profile as the paper writes it: ``1:1:2``."""
    return ":".join(f"{part:g}" for part in profile)


def one_run(seed: int, run: int, profile: Profile, per_object: int, numbers: Mapping[str, Any]) -> Floats:
    """Return the errors of each method (rows) by each measure (columns) on one simulated panel."""
    # the profile enters the seed by its bits, so that a cell is the same whichever others are asked for
    bits = np.asarray(profile).view(np.uint64).tolist()
    simulated = simulate_panel(
        per_object=per_object,
        profile=profile,
        seed=(seed, run, per_object, *bits),
        value_step=numbers["step"],
        **numbers,
    )
    panel = simulated.panel
    try:
        fits = compared_fits(panel)
    except NotConnectedError as error:
        raise bad_option(
            f"A random panel of {panel.n_objects:,} objects with {per_object} of {numbers['n_assessors']} assessors "
            "each fell into groups that cannot be compared: take more objects, or more assessors per object."
        ) from error
    found = np.full((len(COMPARED), len(MEASURES)), np.nan)
    for row, fit in zip(found, fits.values(), strict=True):
        of_values = np.abs(fit.values.estimate - simulated.values)
        row[:2] = of_values.mean(), of_values.max()
        if fit.is_calibrated:
            of_biases = np.abs(fit.biases.estimate - simulated.biases)
            row[2:] = of_biases.mean(), of_biases.max()
    return found


def _batch(calls: Sequence[tuple[Any, ...]]) -> list[Floats]:
    return [one_run(*call) for call in calls]


def _work(calls: Sequence[Sequence[tuple[Any, ...]]], jobs: int) -> Iterator[tuple[int, list[Floats]]]:
    """Yield the number and the results of each batch as they come, from as many processes as asked for."""
    if jobs == 1:
        yield from enumerate(map(_batch, calls))
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    left = enumerate(calls)
    waiting: dict[Future[list[Floats]], int] = {}
    try:
        with _inherited_by_workers():  # the first calls start them; few, so that no interrupt is missed for long
            waiting |= {pool.submit(_batch, batch): number for number, batch in islice(left, 3 * jobs)}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
            waiting |= {pool.submit(_batch, batch): number for number, batch in islice(left, len(done))}
    except BrokenProcessPool as error:
        message = "A process that simulated panels was ended from outside, perhaps for want of memory: use fewer."
        raise EvenhandError(message) from error
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _inherited_by_workers() -> Iterator[None]:
    """Start processes that compute in one thread each and leave an interrupt to us."""
    before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(_THREAD_SETTINGS, "1"))
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    try:
        yield
    finally:
        if in_main:
            signal.signal(signal.SIGINT, handler)
        for name, setting in before.items():
            if setting is None:
                del os.environ[name]
            else:
                os.environ[name] = setting


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# --- beside the published errors -----------------------------------------------------------------

Published = Mapping[tuple[str, int], Mapping[str, float]]
"""Published errors by profile and assessors per object, then by column such as ``cwc_mean_error``."""

PUBLISHED_RUNS: Final = 100
"""Simulations behind each published number."""

_MOST_STANDARD_ERRORS: Final = 3.0
_SETTING: Final = {
    "n_objects": 3000,
    "n_assessors": 15,
    "value_mean": 50.0,
    "value_sd": 15.0,
    "bias_sd": 15.0,
    "uncertainties": (5.0, 10.0, 15.0),
    "bounds": (0.0, 100.0),
    "step": 1.0,
}
"""The numbers of the paper's study."""
_OF_BIASES: Final = "errors of biases"
_COLUMNS: Final = {
    "value_mean_error": ("figure 2", "{}_mean_error", "mean error"),
    "value_max_error": ("figure 3", "{}_max_error", "largest error"),
    "bias_mean_error": (_OF_BIASES, "{}_bias_mean_error", "mean error"),
    "bias_max_error": (_OF_BIASES, "{}_bias_max_error", "largest error"),
}
"""For each measure, where the paper shows it, its published column, and words for it."""

_BIASES: Final = "does not follow from the stated model, in which all but a little of it is the mean of 15 biases"


def read_published(path: str | os.PathLike[str]) -> Published:
    """Read the published errors: a csv file with a row for each profile and number of assessors per object."""
    place = Path(path)
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        found = {
            (row.pop("high:medium:low"), int(row.pop("assessors_per_object"))): {
                name: float(cell) for name, cell in row.items()
            }
            for row in rows
        }
    except OSError as error:
        message = f"{place} cannot be read ({error.strerror})."
        raise InputError(message, kind="cannot_read", where=str(path)) from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{place} is not a table of published errors: it needs the columns high:medium:low and "
            "assessors_per_object, and numbers.",
            kind="bad_data",
            where=str(path),
        ) from error
    return found


def case_study_1(study: SimulationStudy, published: Published | None = None) -> Reproduction:
    """Return the errors of a study beside the published ones; without these, the errors alone.

    A published number is the mean of 100 runs: its standard error is the spread between runs of our study, over ten.
    The two agree if they differ by no more than three standard errors of the difference; from fewer than 100 runs these
    are rough, and the band is as much wider as Student's t is than the normal distribution.

    Parameters
    ----------
    study
        Case study 1 or part of it, from :func:`~evenhand.studies.simulation_study`.
    published
        Published errors, from :func:`read_published`.
    """
    notes = []
    other = [name for name, usual in _SETTING.items() if study.numbers[name] != usual]
    if other and published is not None:
        names = ", ".join(other)
        raise bad_option(f"The study differs from the paper's in {names}: it cannot be compared.")
    if published is None:
        notes.append("The published errors were not at hand, so that nothing is compared.")
    elif study.runs == 1:
        notes.append("A single run has no standard error, so that nothing is compared.")
    numbers = tuple(_numbers(study, published))
    compared = sum(number.verdict != "not compared" for number in numbers if number.place != _OF_BIASES)
    if compared:
        band = _band(study.runs)
        expected = compared * 2 * float(stdtr(study.runs - 1, -band))
        if study.runs < PUBLISHED_RUNS:
            notes.append(
                f"From {study.runs} runs standard errors are rough themselves, so that numbers differ only from "
                f"{band:.1f} standard errors on, not from three as with {PUBLISHED_RUNS} runs: more runs tell more."
            )
        notes.append(
            f"Of {compared} errors and ratios, chance alone puts {expected:.1f} on average further apart than that "
            f"({band:.1f} standard errors); those of a cell go together, since they come from the same panels."
        )
    return Reproduction("case-study-1", "Section 4.1: simulated panels, figures 2 to 4", numbers, tuple(notes))


def _numbers(study: SimulationStudy, published: Published | None) -> Iterator[PrintedNumber]:
    for p, profile in enumerate(study.profiles):
        for r, per_object in enumerate(study.per_object):
            name = profile_name(profile)
            cell = (published or {}).get((name, per_object), {})
            row = f"{name}, r = {per_object}"
            yield from _errors(study, (p, r), cell, row)
            yield from _ratios(study, (p, r), cell, row)


def _errors(
    study: SimulationStudy, at: tuple[int, int], cell: Mapping[str, float], row: str
) -> Iterator[PrintedNumber]:
    """Yield what figures 2 and 3 show, and the errors of biases."""
    means, spreads = study.means[at], study.spreads[at]
    for m, method in enumerate(COMPARED):
        for k, measure in enumerate(MEASURES):
            place, column, words = _COLUMNS[measure]
            of_biases = measure.startswith("bias")
            if of_biases and method != COMPARED[-1]:
                continue  # not published
            title = f"{words} of {method.upper()}" if of_biases else method.upper()
            printed, note = cell.get(column.format(method)), _BIASES if of_biases else ""
            yield _compare(study, spreads[m, k], place, row, title, printed, float(means[m, k]), note)


def _ratios(
    study: SimulationStudy, at: tuple[int, int], cell: Mapping[str, float], row: str
) -> Iterator[PrintedNumber]:
    """Yield what figure 4 shows: errors of calibration over those of averages, from the same runs."""
    errors = study.errors[at]
    for k, words in enumerate(("mean", "largest")):
        below = errors[:, 0, k]
        column = _COLUMNS[MEASURES[k]][1]
        for m, method in enumerate(COMPARED[1:], start=1):
            above = errors[:, m, k]
            ratio = float(above.mean() / below.mean())
            # errors of the two go together: the spread is that of what the ratio leaves over
            spread = float(np.std(above - ratio * below, ddof=1) / below.mean()) if study.runs > 1 else math.nan
            over, under = cell.get(column.format(method)), cell.get(column.format("sa"))
            printed = None if over is None or under is None else over / under
            yield _compare(study, spread, "figure 4", row, f"{words}, {method.upper()}/SA", printed, ratio)


def _band(runs: int) -> float:
    """Return how many standard errors two numbers may be apart.

    Examples
    --------
    >>> [round(_band(runs), 1) for runs in (3, 10, 100)]
    [19.2, 4.1, 3.0]
    """
    if runs >= PUBLISHED_RUNS:
        return _MOST_STANDARD_ERRORS
    return -float(stdtrit(runs - 1, math.erfc(_MOST_STANDARD_ERRORS / math.sqrt(2)) / 2))


def _compare(
    study: SimulationStudy,
    spread: float,
    place: str,
    row: str,
    column: str,
    printed: float | None,
    ours: float,
    note: str = "",
) -> PrintedNumber:
    """Return a published mean beside ours; the spread between runs tells how far apart the two may be."""
    standard_error = float(spread) * math.sqrt(1 / study.runs + 1 / PUBLISHED_RUNS)
    if printed is None or math.isnan(standard_error):
        return PrintedNumber(place, row, column, printed, ours)
    apart = abs(ours - printed) / standard_error if standard_error > 0 else math.inf
    verdict: PrintedVerdict = "agrees"
    if apart > _band(study.runs):
        verdict = "known" if note else "differs"
    words = "" if verdict == "agrees" else note or f"{apart:.1f} standard errors apart"
    return PrintedNumber(place, row, column, printed, ours, standard_error, verdict, words)
