"""How long work tells how far it is: whoever works counts, whoever shows it listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
