"""The same equations on a Dask cluster: blocks stay on the workers, the smaller side is sent round.

Every task is a pure function of files and of what the client holds, and sums are taken in a fixed order. So a worker
that dies costs time and changes no digit.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import Tally
from evenhand.cluster.reduced import (
    NOT_ACCURATE,
    Dense,
    Descent,
    Level,
    Side,
    make_condition,
    projected,
    refuse_groups,
    smaller_of,
    spectral_gap,
)
from evenhand.compiled import Floats
from evenhand.errors import InputError, MissingPackageError, SolveError
from evenhand.panel.gauge import Gauge, Reference, gauge_name
from evenhand.progress import report
from evenhand.words import count_of

DENSE_LIMIT: Final = 10_000
"""Up to so many on the smaller side the equations are solved with a dense matrix, if workers can hold it."""

ACCURACY: Final = 1e-8
"""Largest error of any contrast, as a part of its own posterior standard deviation."""

DRAWS: Final = 64
"""Random right-hand sides from which uncertainties are estimated where there is no dense matrix."""

_TOO_MANY_DEATHS: Final = (
    "Workers of the cluster died again and again on one piece of work, most likely for want of memory: give them more, "
    "or make the files smaller."
)
_AT_ONCE: Final = 16
_FAN_IN: Final = 8
_SMALL: Final = 100_000
_TRIES: Final = 4
_PATIENCE: Final = 30
"""Seconds to wait for workers: one that starts again after a crash is away for some seconds on a busy machine."""


@dataclass(eq=False)
class Crew:
    """A cluster with the blocks that its workers keep.

    Attributes
    ----------
    client
        A ``distributed.Client``.
    blocks
        Futures of :class:`~evenhand.cluster.blocks.Block`, in a fixed order.
    size
        Number of workers to wait for at the start. Sums depend on their number in their last digits, and so on no
        worker that dies later.
    run
        What tells the tasks of this run from those of any other.
    """

    client: Any
    blocks: list[Any] = field(default_factory=list)
    size: int = 1
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    _number: Any = field(default_factory=itertools.count, repr=False)

    def __post_init__(self) -> None:
        with contextlib.suppress(TimeoutError):  # go on with those that are there
            self.client.wait_for_workers(self.size, timeout=_PATIENCE)
        self.size = len(self.workers())
        if self.size == 0:
            raise SolveError("The cluster has no workers: start some, or use --cluster local:2.")

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: int | None = None) -> Any:
        """Return the future of one call, on a preferred worker by its number if that matters."""
        where: dict[str, Any] = {}
        names = [] if worker is None else self.workers()
        if worker is not None and names:  # none while the only one starts again
            where = {"workers": [names[worker % len(names)]], "allow_other_workers": True}
        key = f"{function.__name__.strip('_')}-{self.run}-{next(self._number)}"
        return self.client.submit(function, *arguments, key=key, **where)

    def workers(self) -> list[str]:
        """Return the addresses of the workers, in a fixed order."""
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def memory(self) -> float:
        """Return the memory of the smallest worker, in bytes."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return min((float(worker["memory_limit"] or np.inf) for worker in workers), default=np.inf)

    def reduce(self, function: Callable[..., Any], futures: list[Any], *arguments: Any, fan_in: int = _FAN_IN) -> Any:
        """Return the future of a tree of calls on lists of results, always in the same order."""
        while len(futures) > 1:
            parts = [futures[at : at + fan_in] for at in range(0, len(futures), fan_in)]
            futures = [part[0] if len(part) == 1 else self.submit(function, part, *arguments) for part in parts]
        return futures[0]

    def ask(self, question: Callable[[Any], Any], shared: Any = None) -> Any:
        """Return the answer of futures to a question, asked again where a worker took shared data with it.

        Parameters
        ----------
        question
            Makes futures, one or a list, given what is shared or the future of it.
        shared
            An array, or another single thing, that every worker gets.
        """
        import dask
        from dask.distributed import KilledWorker

        for attempt in range(_TRIES):
            try:
                sent = shared  # small things travel with each task
                if shared is not None and sys.getsizeof(shared) > _SMALL:
                    # a task and not scattered data, which a dying worker could take with it
                    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                        sent = self.submit(_itself, shared)
                return self.client.gather(question(sent))
            except KilledWorker:
                raise SolveError(_TOO_MANY_DEATHS) from None
            except (CancelledError, TimeoutError, OSError) as error:
                if attempt == _TRIES - 1:
                    raise SolveError(f"The cluster lost data again and again ({error}): look at its workers.") from None
        raise AssertionError  # never: the loop returns or raises

    def gather(self, futures: Any) -> Any:
        """Return the results of futures."""
        return self.ask(lambda _: futures)

    def sum(
        self,
        function: Callable[..., Tally],
        *arguments: Any,
        shared: Floats | None = None,
        each: Sequence[Any] | None = None,
    ) -> Tally:
        """Return the sum over all blocks of function(block, [shared,] [each,] *arguments)."""

        def question(sent: Any) -> Any:
            given = [] if sent is None else [sent]
            own = [[]] * len(self.blocks) if each is None else [[one] for one in each]
            futures = [
                self.submit(function, block, *given, *one, *arguments)
                for block, one in zip(self.blocks, own, strict=True)
            ]
            return self.reduce(kernel.add, futures)

        tally: Tally = self.ask(question, shared)
        return tally


def local_cluster(workers: int) -> Any:
    """Return a cluster of worker processes of one thread each, on this machine and its loopback only."""
    from dask.distributed import LocalCluster

    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # a free port: the scheduler cannot do without a server of its own
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL,
    )


@contextlib.contextmanager
def open_crew(cluster: Any) -> Iterator[Crew]:
    """Give a crew on a cluster; what was started here is closed at the end.

    Parameters
    ----------
    cluster
        ``"local:N"`` for N worker processes on this machine, ``"tcp://host:port"`` of a scheduler, or a client.
    """
    try:
        from dask.distributed import Client
    except ImportError:
        raise MissingPackageError("distributed", "A cluster", "evenhand[distributed]") from None

    if isinstance(cluster, Client):
        yield Crew(cluster)
        return
    kind, _, number = str(cluster).partition(":")
    if kind == "local" and number.isdecimal() and int(number) > 0:
        with local_cluster(int(number)) as started, Client(started) as client:  # type: ignore[no-untyped-call]
            yield Crew(client, size=int(number))
        return
    if "://" not in str(cluster):
        raise InputError(
            f"{cluster!r} is not a cluster: use local:2 for two worker processes here, or the scheduler's address, "
            "such as tcp://host:8786.",
            kind="bad_option",
        )
    try:
        client = Client(str(cluster), timeout=20)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError):
        raise InputError(
            f"No Dask scheduler answers at {cluster}: check the address, and that it is running.", kind="bad_option"
        ) from None
    with client:
        yield Crew(client)


def _itself(thing: Any) -> Any:
    return thing


def load(crew: Crew, makers: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], task: str) -> None:
    """Make the blocks, neighbours on one worker, and keep them there."""
    crew.blocks = [
        crew.submit(function, *arguments, worker=number * crew.size // len(makers))
        for number, (function, arguments) in enumerate(makers)
    ]
    watch(crew.blocks, task)


def watch(futures: Sequence[Any], task: str) -> None:
    """Tell how many of some futures are done until all are."""
    from dask.distributed import KilledWorker, as_completed

    report(task, 0, len(futures))
    for done, future in enumerate(as_completed(list(futures)), start=1):  # type: ignore[no-untyped-call]
        if future.status == "error":
            error = future.exception()
            raise SolveError(_TOO_MANY_DEATHS) if isinstance(error, KilledWorker) else error
        report(task, done, len(futures))


@dataclass(frozen=True, eq=False)
class Solved:
    """Estimates of the smaller side, and what the blocks need to work out the larger.

    Attributes
    ----------
    estimate, unit_variance
        Estimates in the gauge and their variances for w = 1.
    confidence, count
        Total confidence in each, and number of assessments.
    rows, assessments, total_confidence
        Size of the larger side, N and C.
    residual, degrees_of_freedom
        R and nu.
    mu2, log_determinant, trace
        Spectral gap; log det of L with any one row and column left out; Tr M^+. None where there is no dense matrix.
    solver, reason
        ``"dense"`` or ``"iterative"``, and why.
    rounds
        Passes over the blocks.
    level
        The gauge on the larger side.
    spread
        Covariance of the smaller side for w = 1, without the common part; None where there is no dense matrix.
    draws
        Draws (columns) of the smaller side for w = 1; None where variances are exact.
    """

    estimate: Floats
    unit_variance: Floats
    confidence: Floats
    count: NDArray[np.int64]
    rows: int
    assessments: int
    total_confidence: float
    residual: float
    degrees_of_freedom: int
    mu2: float | None
    log_determinant: float | None
    trace: float | None
    solver: str
    reason: str
    rounds: int
    level: Level
    spread: Floats | None = None
    draws: NDArray[np.float32] | None = None


def check_gauge(gauge: Gauge) -> None:
    """Refuse a gauge that a cluster does not know."""
    if gauge not in ("weighted", "zero_sum") and not isinstance(gauge, Reference):
        raise InputError(
            f"On a cluster the gauge can be weighted, zero_sum or reference, not {gauge_name(gauge)}: a change of "
            "gauge adds a constant to all values, so shift the results instead.",
            kind="bad_gauge",
        )
    if isinstance(gauge, Reference) and not np.isfinite(gauge.value):
        raise InputError(f"The reference value must be a finite number, not {gauge.value}.", kind="bad_gauge")


def solve_blocks(
    crew: Crew,
    labels: Sequence[str],
    larger: Side,
    *,
    gauge: Gauge = "weighted",
    declared: bool = False,
    seed: int = 0,
    dense_limit: int = DENSE_LIMIT,
) -> Solved:
    """Return the estimates of the smaller side of a partitioned panel.

    Parameters
    ----------
    crew
        The cluster with its blocks.
    labels
        Labels of the smaller side.
    larger
        The side by which the blocks are made.
    gauge
        ``"weighted"``, ``"zero_sum"`` or a :class:`~evenhand.Reference`.
    declared
        Whether w = 1, for the accuracy that is asked for.
    seed
        Seed of the draws, where there are any.
    dense_limit
        Most of the smaller side for which a dense matrix is used.

    Raises
    ------
    NotConnectedError
        If the panel falls into groups.
    SolveError
        If the accuracy cannot be reached.
    """
    check_gauge(gauge)
    size = len(labels)
    room = 0.2 * crew.memory()
    if size <= dense_limit and 8.0 * size * size <= room:
        reason = f"{count_of(size, smaller_of(larger))} on the smaller side fit a dense matrix"
        return _dense(crew, labels, larger, gauge, declared, reason)
    why = f"more than {dense_limit:,}" if size > dense_limit else "too many for a dense matrix in a worker's memory"
    reason = f"{count_of(size, smaller_of(larger))} on the smaller side, {why}"
    return _iterative(crew, labels, larger, gauge, declared, reason, seed)


def _check_all_seen(totals: Tally, labels: Sequence[str], larger: Side) -> None:
    unseen = np.flatnonzero(totals["count"] == 0)
    if unseen.size:
        side = smaller_of(larger)
        raise InputError(
            f"{count_of(int(unseen.size), side)} without any assessment: {labels[int(unseen[0])]}; leave such labels "
            "out of the panel.",
            kind="bad_panel",
            where=f"{side} {labels[int(unseen[0])]}",
        )


def _residual(tally: Tally, totals: Tally) -> float:
    """Return R, or exactly 0 where no residual is larger than the rounding of the scores."""
    rounding = 8 * np.finfo(np.float64).eps * totals["largest_score"]
    return 0.0 if tally["largest_residual"] <= rounding else float(tally["residual"])


def _freedom(totals: Tally, size: int) -> int:
    return int(totals["assessments"]) - int(totals["rows"]) - size + 1


def _allowed(residual: float, totals: Tally, size: int, declared: bool) -> float:
    """Return the largest square of the error in the energy norm; |g^T e| <= ||e|| sd(g) for every contrast g."""
    w = 1.0 if declared else max(residual, 0.0) / max(_freedom(totals, size), 1)
    rounding = 8 * np.finfo(np.float64).eps * totals["largest_score"]
    return max(ACCURACY**2 * w, float(rounding**2 * totals["confidence"].sum()))


def sum_up(crew: Crew, size: int) -> Tally:
    """Return totals, gradient and links of the smaller side, one matrix from each worker."""
    number = min(len(crew.blocks), crew.size)
    edges = [round(at * len(crew.blocks) / number) for at in range(number + 1)]

    def question(_: Any) -> Any:
        parts = [crew.blocks[first:last] for first, last in itertools.pairwise(edges)]
        futures = [crew.submit(kernel.schur_of, part, size, worker=at) for at, part in enumerate(parts)]
        return crew.reduce(kernel.add, futures, fan_in=2)

    report("summing up", 0, 1)
    totals: Tally = crew.ask(question)
    report("summing up", 1, 1)
    return totals


def _dense(crew: Crew, labels: Sequence[str], larger: Side, gauge: Gauge, declared: bool, reason: str) -> Solved:
    size = len(labels)
    totals = sum_up(crew, size)
    _check_all_seen(totals, labels, larger)
    factor = Dense(totals.pop("links"), labels, larger)
    estimate = factor.solve(totals["gradient"])
    tally: Tally = {}
    rounds = 1
    while rounds <= _TRIES:
        tally = crew.sum(kernel.sweep, shared=estimate)
        rounds += 1
        correction = factor.solve(tally["gradient"])
        error = float(tally["gradient"] @ correction)
        if error <= _allowed(_residual(tally, totals), totals, size, declared):
            break
        estimate = estimate + correction
    else:
        raise SolveError(NOT_ACCURATE)
    condition = make_condition(gauge, larger, totals)
    inverse = factor.inverse()
    confidence = totals["confidence"]
    reference = projected(inverse, confidence)
    # Tr M^+ in the reference gauge; sum C q^T X q over the larger side is Tr X (diag(C) - S)
    trace = totals["rows"] - size + 0.5 + 2.0 * float(confidence @ np.diagonal(reference))
    mu2 = spectral_gap(reference, confidence)
    spread = projected(inverse, condition.pull)
    return Solved(
        estimate=condition.settle(estimate, tally),
        unit_variance=np.maximum(np.diagonal(spread) + condition.level.common, 0.0),
        **_common(totals, tally, size),
        mu2=mu2,
        log_determinant=factor.log_determinant + totals["log_confidence"],
        trace=trace,
        solver="dense",
        reason=reason,
        rounds=rounds,
        level=condition.level,
        spread=spread,
    )


def _common(totals: Tally, tally: Tally, size: int) -> dict[str, Any]:
    return {
        "confidence": totals["confidence"],
        "count": totals["count"],
        "rows": int(totals["rows"]),
        "assessments": int(totals["assessments"]),
        "total_confidence": float(totals["confidence"].sum()),
        "residual": _residual(tally, totals),
        "degrees_of_freedom": _freedom(totals, size),
    }


def _iterative(
    crew: Crew, labels: Sequence[str], larger: Side, gauge: Gauge, declared: bool, reason: str, seed: int
) -> Solved:
    size = len(labels)
    totals = crew.sum(kernel.tally_block, size)
    _check_all_seen(totals, labels, larger)
    pairs = crew.ask(
        lambda _: crew.reduce(
            kernel.merge_links, [crew.submit(kernel.links_of, block, size) for block in crew.blocks], size
        )
    )
    refuse_groups(kernel.groups_of([pairs], size), labels, larger)
    descent = Descent(lambda vectors: crew.sum(kernel.apply_schur, shared=vectors)["image"], totals["diagonal"])
    estimate, tally = np.zeros(size), totals
    for _ in range(_TRIES):
        rest = tally["residual"]

        def enough(drop: float, rest: float = rest) -> float:
            return float(np.sqrt(_allowed(rest - drop, totals, size, declared)))

        estimate = estimate + descent.solve(tally["gradient"], enough)
        tally = crew.sum(kernel.sweep, shared=estimate)
        bound = descent.bound(tally["gradient"])
        if bound**2 <= _allowed(_residual(tally, totals), totals, size, declared):
            break
    else:
        raise SolveError(NOT_ACCURATE)
    condition = make_condition(gauge, larger, totals)
    diagonal = totals["diagonal"]
    own = 1.0 - condition.pull / condition.pull.sum()
    spread, draws = np.zeros(size), np.zeros((size, DRAWS), dtype=np.float32)
    report("drawing", 0, DRAWS)
    for at in range(0, DRAWS, _AT_ONCE):
        seeds = [(seed, number, at) for number in range(len(crew.blocks))]
        noise = crew.sum(kernel.noise_gradient, size, _AT_ONCE, each=seeds)["gradient"]
        drawn = condition.project(descent.draw(noise))
        # given all others, each varies by own^2 / diagonal; draws are needed for the rest only
        spread += np.square(drawn - (own / diagonal)[:, None] * noise).sum(axis=1)
        draws[:, at : at + _AT_ONCE] = drawn
        report("drawing", at + _AT_ONCE, DRAWS)
    unit = own**2 / diagonal + spread / DRAWS + condition.level.common
    return Solved(
        estimate=condition.settle(estimate, tally),
        unit_variance=np.maximum(unit, 0.0),
        **_common(totals, tally, size),
        mu2=None,
        log_determinant=None,
        trace=None,
        solver="iterative",
        reason=reason,
        rounds=descent.rounds,
        level=condition.level,
        draws=draws,
    )
