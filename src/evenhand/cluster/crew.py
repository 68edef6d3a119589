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

from evenhand.cluster.blocks import Tally, add
from evenhand.compiled import Floats
from evenhand.errors import InputError, MissingPackageError, SolveError, is_installed
from evenhand.progress import report
from evenhand.words import argument

_TOO_MANY_DEATHS: Final = (
    "Workers of the cluster died again and again on one piece of work, most likely for want of memory: give them more, "
    "or make the files smaller."
)
_FAN_IN: Final = 8
_TRAVELS: Final = 100_000
"""Up to this many bytes travel with each task; more are sent to each worker once."""

_TRIES: Final = 4
_WAIT: Final = 30
"""Seconds to wait for workers: one that starts again after a crash is away for some seconds on a busy machine."""


@dataclass(eq=False)
class Crew:
    """A ``distributed.Client`` with the blocks that its workers keep, as futures in a fixed order.

    Sums depend, in their last digits, on ``size``, the number of workers at the start, and so on no worker that dies
    later. The name of the ``run`` tells its tasks from those of any other.
    """

    client: Any
    blocks: list[Any] = field(default_factory=list)
    size: int = 1
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    _number: Any = field(default_factory=itertools.count, repr=False)

    def __post_init__(self) -> None:
        with contextlib.suppress(TimeoutError):  # go on with those that are there
            self.client.wait_for_workers(self.size, timeout=_WAIT)
        self.size = len(self.workers())
        if self.size == 0:
            raise SolveError(f"The cluster has no workers: start some, or use {argument('cluster', 'local:2')}.")

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
        return sorted(self._known())

    def memory(self) -> float:
        """Return the memory of the smallest worker, in bytes."""
        return min((float(worker["memory_limit"] or np.inf) for worker in self._known().values()), default=np.inf)

    def _known(self) -> dict[str, Any]:
        """Return what the scheduler knows of each worker.

        It is asked itself: ``scheduler_info`` answers from what the client keeps, which the client renews,
        without workers, now and then: also between the question and the answer.
        """
        known: dict[str, Any] = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        return known

    def reduce(self, function: Callable[..., Any], futures: list[Any], *, fan_in: int = _FAN_IN) -> Any:
        """Return the future of a tree of calls on lists of results, always in the same order."""
        while len(futures) > 1:
            parts = [futures[at : at + fan_in] for at in range(0, len(futures), fan_in)]
            futures = [part[0] if len(part) == 1 else self.submit(function, part) for part in parts]
        return futures[0]

    def ask(self, question: Callable[[Any], Any], shared: Any = None) -> Any:
        """Return the answer of futures to a question, asked again where a worker took shared data with it.

        The question makes futures, one or a list, given the one thing that every worker gets, or the future of it.
        """
        import dask
        from dask.distributed import KilledWorker

        for attempt in range(_TRIES):
            try:
                sent = shared  # small things travel with each task
                if shared is not None and sys.getsizeof(shared) > _TRAVELS:
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

    def on_blocks(self, function: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """Return the futures of function(block, [each,] *arguments) for all blocks."""
        own = [()] * len(self.blocks) if each is None else [(one,) for one in each]
        return [self.submit(function, block, *one, *arguments) for block, one in zip(self.blocks, own, strict=True)]

    def sum(
        self,
        function: Callable[..., Tally],
        *arguments: Any,
        shared: Floats | None = None,
        each: Sequence[Any] | None = None,
    ) -> Tally:
        """Return the sum over all blocks of function(block, [each,] [shared,] *arguments)."""

        def question(sent: Any) -> Any:
            given = () if sent is None else (sent,)
            return self.reduce(add, self.on_blocks(function, *given, *arguments, each=each))

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
    """Give a crew on ``"local:N"`` (N worker processes here), a scheduler at ``"tcp://host:port"`` or a client.

    What was started here is closed at the end.
    """
    for package in ("polars", "numba"):  # which the workers need
        if not is_installed(package):
            raise MissingPackageError(package, "A cluster", "evenhand[distributed]")
    try:
        from dask.distributed import Client
    except ImportError:
        raise MissingPackageError("distributed", "A cluster", "evenhand[distributed]") from None

    if isinstance(cluster, Client):
        yield Crew(cluster)
        return
    kind, _, number = str(cluster).partition(":")
    if kind == "local" and number.isdecimal() and int(number) > 0:
        with contextlib.ExitStack() as stack:
            try:
                started = stack.enter_context(local_cluster(int(number)))
                client = stack.enter_context(Client(started))  # type: ignore[no-untyped-call]
            except (RuntimeError, OSError) as error:
                reason = str(error).strip().rstrip(".")
                raise SolveError(
                    f"The worker processes did not start ({reason}): something on this machine ends or blocks them, "
                    f"often a lack of memory; try fewer, such as {argument('cluster', 'local:1')}."
                ) from None
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
