"""How long work tells how far it is: whoever works counts, whoever shows it listens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

Listener = Callable[[str, float, float | None], None]
"""Called with what is being done, how much of it is done and, where known, how much there is in all."""

_listener: ContextVar[Listener | None] = ContextVar("evenhand_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell the listener of all progress made within.

    Examples
    --------
    >>> with listening(lambda task, done, total: print(task, done, total)):
    ...     report("drawing", 1, 4)
    drawing 1 4
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(task: str, done: float, total: float | None = None) -> None:
    """Say how far a task, in words that a user knows, is; costs next to nothing where nobody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(task, done, total)


def steps(task: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, a step of a task each, and say before each how many are done, and at the end that all are.

    Examples
    --------
    >>> with listening(lambda task, done, total: print(task, done, total)):
    ...     _ = list(steps("trying methods", ["cwa", "cwc"]))
    trying methods 0 2
    trying methods 1 2
    trying methods 2 2
    """
    known = list(items)
    try:
        for done, item in enumerate(known):
            report(task, done, len(known))
            yield item
    finally:
        report(task, len(known), len(known))
