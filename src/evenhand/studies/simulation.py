"""Errors of the methods on simulated panels, as in the paper's case study 1 (sec. 4.1)."""

from __future__ import annotations

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
from typing import Any, Final

import numpy as np

from evenhand.compiled import Floats
from evenhand.errors import EvenhandError, InputError, NotConnectedError
from evenhand.frames import Shown
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import report

METHODS: Final = ("sa", "iba", "cwc")
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
        Shape (profiles, per_object, runs, 3 methods, 4 measures), in the order of ``METHODS`` and ``MEASURES``;
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
        shape = (len(self.profiles), len(self.per_object), len(METHODS))
        places = list(np.ndindex(shape))
        found: dict[str, list[Any]] = {
            "profile": [profile_name(self.profiles[p]) for p, _, _ in places],
            "per_object": [self.per_object[r] for _, r, _ in places],
            "method": [METHODS[m] for _, _, m in places],
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
        raise InputError(
            "A study needs objects, assessors, a profile, assessors per object, runs and a process: at least one of "
            "each, and a seed that is not negative.",
            kind="bad_option",
        )
    if (step is not None and not 0 < step < math.inf) or (bounds is not None and not bounds[0] < bounds[1]):
        raise InputError("A step must be positive, and bounds must be in order.", kind="bad_option")
    tasks = [(p, r, run) for p in range(len(chosen)) for r in range(len(counts)) for run in range(runs)]
    errors = np.empty((len(chosen), len(counts), runs, len(METHODS), len(MEASURES)))
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
        fits = (
            simple_average(panel),
            incomplete_block(panel, gauge="zero_sum"),
            calibrate(panel, gauge="zero_sum"),
        )
    except NotConnectedError as error:
        raise InputError(
            f"A random panel of {panel.n_objects:,} objects with {per_object} of {numbers['n_assessors']} assessors "
            "each fell into groups that cannot be compared: take more objects, or more assessors per object.",
            kind="bad_option",
        ) from error
    found = np.full((len(METHODS), len(MEASURES)), np.nan)
    for row, fit in zip(found, fits, strict=True):
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
