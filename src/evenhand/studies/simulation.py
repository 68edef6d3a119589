"""Simulated panels: errors of the methods, as in the paper's case study 1 (sec. 4.1), and plans for a panel to come."""

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

from evenhand.answers.next_best import variances_about_mean
from evenhand.compiled import Floats
from evenhand.errors import EvenhandError, LimitError, NotConnectedError, bad_option
from evenhand.frames import Shown
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import report
from evenhand.words import count_of

METHODS: Final = ("sa", "iba", "cwc")
"""The methods that the paper compares, in the order of its figures from above."""

PROFILES: Final = ((1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1.0, 2.0, 1.0), (2.0, 1.0, 1.0))
"""The paper's confidence profiles: frequencies of high, medium and low confidence."""

MEASURES: Final = ("value_mean_error", "value_max_error", "bias_mean_error", "bias_max_error")
"""What each run gives for each method: mean and largest error of values, then of biases."""

_WORTH_A_PROCESS: Final = 500_000
"""Assessments to simulate and fit that take about as long as a process takes to start."""

_LARGEST_DESIGN: Final = 4_000
"""Largest number of objects and assessors together whose covariance is held in memory."""

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
        raise bad_option(
            "A study needs objects, assessors, a profile, assessors per object, runs and a process: at least one of "
            "each, and a seed that is not negative."
        )
    if (step is not None and not 0 < step < math.inf) or (bounds is not None and not bounds[0] < bounds[1]):
        raise bad_option("A step must be positive, and bounds must be in order.")
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


def compared_fits(panel: Panel) -> dict[str, Fit]:
    """Return the fits that the paper compares, by method."""
    return {
        "sa": simple_average(panel),
        "iba": incomplete_block(panel, gauge="zero_sum"),
        "cwc": calibrate(panel, gauge="zero_sum"),
    }


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
    found = np.full((len(METHODS), len(MEASURES)), np.nan)
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


# --- what to expect of a given design ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DesignStudy(Shown):
    """How far calibrated values and plain averages are from the truth on simulated scores of one design.

    Values count from the mean of all, which no panel can tell from the mean bias.

    Attributes
    ----------
    panel
        Who reads what.
    runs, seed
        How often scores were simulated, and the seed behind all of it.
    sd
        Expected standard deviation of each calibrated value, from the design alone (n_O).
    error, error_averages
        Root of the mean squared error of each calibrated value and of each plain average (n_O).
    """

    panel: Panel
    runs: int
    seed: int
    sd: Floats
    error: Floats
    error_averages: Floats

    def columns(self) -> dict[str, list[Any]]:
        """Return the objects as columns."""
        readings = np.bincount(self.panel.object_index, minlength=self.panel.n_objects)
        numbers = {name: getattr(self, name).tolist() for name in ("sd", "error", "error_averages")}
        return {"object": list(self.panel.objects), "assessments": readings.tolist(), **numbers}


def design_study(panel: Panel, *, runs: int = 100, seed: int = 1, **numbers: Any) -> DesignStudy:
    """Return what error to expect of a design, by simulating its scores, beside the standard deviations predicted.

    Parameters
    ----------
    panel
        Who reads what, such as the ``panel`` of a design; its scores are not used.
    runs
        How often scores are simulated.
    seed
        Seed of the random numbers.
    numbers
        What values, biases and scores are like, as for :func:`~evenhand.simulate_panel`.

    Examples
    --------
    >>> from evenhand import assign
    >>> found = design_study(assign(12, 4, per_object=2).panel, runs=200, bounds=None, step=None)
    >>> bool(abs(found.error.mean() / found.sd.mean() - 1) < 0.1), bool((found.error_averages > found.error).all())
    (True, True)
    """
    if runs < 1 or seed < 0:
        raise bad_option("A study needs a run at least, and a seed that is not negative.")
    if panel.n_objects + panel.n_assessors > _LARGEST_DESIGN:
        raise LimitError(f"A design is simulated for up to {_LARGEST_DESIGN:,} objects and assessors together.")
    squares = np.zeros((3, panel.n_objects))
    for run in range(runs):
        report("simulating scores", run, runs)
        drawn = simulate_panel(seed=(seed, run), design=panel, **numbers)
        fit = calibrate(drawn.panel)
        truth = drawn.values - drawn.values.mean()
        estimates = fit.values.estimate, simple_average(drawn.panel).values.estimate
        squares[:2] += [np.square(estimate - estimate.mean() - truth) for estimate in estimates]
        squares[2] += variances_about_mean(fit.posterior.unit_covariance(), panel.n_objects)
    error, averages, sd = np.sqrt(squares / runs)
    return DesignStudy(panel, runs, seed, sd, error, averages)


# --- how many assessors per object a panel needs -------------------------------------------------

_OBJECTS: Final = 3000
"""Objects to average over, in as many random designs as that takes: at least 3, at most 100."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to expect from a number of assessors per object.

    Attributes
    ----------
    per_object
        Assessors per object.
    sd
        Typical standard deviation of a value (root of the mean variance) after calibration with confidence.
    sd_averages
        The same for plain averages, whose values take on the biases of those who happened to read the object.
    load
        Objects that each assessor reads, on average.
    """

    per_object: int
    sd: float
    sd_averages: float
    load: float


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Shown):
    """How many assessors per object a panel needs.

    Attributes
    ----------
    target_sd
        The standard deviation of values that is wanted.
    profile
        Frequencies of the uncertainties.
    steps
        What each number of assessors per object gives, up to the first that is enough, or to all assessors.
    """

    target_sd: float
    profile: tuple[float, ...]
    n_objects: int
    n_assessors: int
    steps: tuple[PlanStep, ...]

    @property
    def answer(self) -> PlanStep | None:
        """The fewest assessors per object that are enough; None if all of them are not."""
        last = self.steps[-1]
        return last if last.sd <= self.target_sd else None

    def columns(self) -> dict[str, list[Any]]:
        """Return the steps as columns."""
        return {name: [getattr(step, name) for step in self.steps] for name in PlanStep.__slots__}

    def __str__(self) -> str:
        last = self.steps[-1]
        if self.answer is None:
            return (
                f"No: even if all {count_of(self.n_assessors, 'assessor')} read every object, the sd of a value is "
                f"{last.sd:.2f}, above {self.target_sd:g}."
            )
        return (
            f"For an sd of {self.target_sd:g}, {count_of(last.per_object, 'assessor')} per object (sd {last.sd:.2f}), "
            f"which is about {last.load:,.0f} objects for each of {self.n_assessors:,} assessors."
        )


def plan(
    target_sd: float,
    *,
    n_objects: int = 3000,
    n_assessors: int = 15,
    uncertainties: Sequence[float] = (5.0, 10.0, 15.0),
    profile: Sequence[float] = (1.0, 1.0, 1.0),
    bias_sd: float = 15.0,
    seed: int = 1,
) -> Plan:
    """Return how many assessors per object are needed for values of a given standard deviation.

    Variances of values need no scores: Cov(v) = diag(1/C_o) + Q Sigma_b Q^T (App. D) depends on who reads what, and
    how surely. They are averaged over random designs, for r = 2, 3, ... until they are small enough. They are
    in the weighted gauge: about the level of the panel as a whole, which no design can know.

    Parameters
    ----------
    target_sd
        The standard deviation of values that is wanted, in points.
    n_objects, n_assessors
        Size of the panel.
    uncertainties, profile
        The uncertainties of scores to expect, and how often each.
    bias_sd
        Spread of the biases to expect; matters for plain averages only.
    seed
        Seed of the designs.

    Examples
    --------
    >>> print(plan(5, n_objects=200, n_assessors=10))
    For an sd of 5, 4 assessors per object (sd 4.23), which is about 80 objects for each of 10 assessors.
    """
    if not target_sd > 0:
        raise bad_option("The standard deviation that is wanted must be positive.")
    if n_assessors < 2 or n_objects < 2 or seed < 0:
        raise bad_option("A plan needs two objects and two assessors at least, and a seed that is not negative.")
    designs = min(100, max(3, math.ceil(_OBJECTS / n_objects)))
    steps: list[PlanStep] = []
    for per_object in range(2, n_assessors + 1):
        report("planning", per_object - 2, n_assessors - 1)
        drawn = [
            simulate_panel(
                n_objects,
                n_assessors,
                per_object,
                seed=(seed, per_object, design),
                bias_sd=bias_sd,
                uncertainties=uncertainties,
                profile=profile,
            ).panel
            for design in range(designs)
        ]
        try:
            sds = [calibrate(panel, noise="declared").values.sd for panel in drawn]
        except NotConnectedError:
            continue  # too few for a random design to hold together
        sd = float(np.sqrt(np.mean(np.square(np.asarray(sds, dtype=np.float64)))))
        noise = float(np.average(np.square(uncertainties), weights=profile))
        luck = bias_sd**2 * (1 / per_object - 1 / n_assessors)
        load = per_object * n_objects / n_assessors
        steps.append(PlanStep(per_object, sd, float(np.sqrt(noise / per_object + luck)), load))
        if sd <= target_sd:
            break
    return Plan(target_sd, tuple(float(part) for part in profile), n_objects, n_assessors, tuple(steps))
