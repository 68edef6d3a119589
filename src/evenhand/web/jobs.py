"""Work that may take longer than a page should: it runs beside, says how far it is, and can be stopped."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils import translation

from evenhand.progress import listening
from evenhand.words import translated

SOON: Final = 0.5
"""Seconds after which a page shows how far the work is instead of waiting for it."""

_KEPT: Final = 16
"""Answers that are kept, so that a page that is opened again does not compute them again; large ones take 5 MB each."""

_WORKERS: Final = 2


class Stopped(BaseException):
    """Raised within work that somebody stopped; no error, so that nothing that catches errors swallows it."""


@dataclass(eq=False)
class Job:
    """A piece of work under a key: what it is, how far it is, and what came out."""

    key: str
    title: str
    task: str = ""
    done: float = 0.0
    total: float | None = None
    began: float = field(default_factory=time.monotonic)
    result: Any = None
    error: BaseException | None = None
    is_stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float | None:
        """How much of the present task is done; None where nobody knows."""
        return None if not self.total else min(1.0, self.done / self.total)

    @property
    def seconds(self) -> int:
        """How long it has been running."""
        return int(time.monotonic() - self.began)

    def wait(self, seconds: float) -> bool:
        """Say whether it ends within so many seconds."""
        return self.ended.wait(seconds)

    def outcome(self) -> Any:
        """Wait for it, and return what came out or raise what went wrong."""
        self.ended.wait()
        if self.error is not None:
            raise self.error
        return self.result

    def hear(self, task: str, done: float, total: float | None) -> None:
        """Take down how far it is; end it here if somebody stopped it, unless it is just ending."""
        if self.is_stopped and (total is None or done < total):
            raise Stopped
        self.task, self.done, self.total = task, done, total


class Jobs:
    """All work that runs or has lately ended, each piece once, however many pages ask for it."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="evenhand")

    def find(self, key: str) -> Job | None:
        """Return the work under a key, if there is any."""
        with self._lock:
            return self._jobs.get(key)

    def start(self, key: str, title: str, work: Callable[[], Any]) -> Job:
        """Return the work under a key, begun now unless it runs or is known already.

        What comes out may hold sentences, and so there is one for each language.
        """
        language = translation.get_language() or "en"
        key = f"{key}-{language}"
        with self._lock:
            found = self._jobs.get(key)
            if found is not None and not found.is_stopped and not (found.ended.is_set() and found.error):
                self._jobs.move_to_end(key)
                return found
            job = self._jobs[key] = Job(key, title)
            self._jobs.move_to_end(key)
            over = [one for one, other in self._jobs.items() if other.ended.is_set()][: max(0, len(self._jobs) - _KEPT)]
            for one in over:
                del self._jobs[one]
        self._pool.submit(self._run, job, work, language)
        return job

    def stop(self, key: str) -> None:
        """Let work end at the next step that it tells of."""
        job = self.find(key)
        if job is not None:
            job.is_stopped = True

    def forget(self, beginning: str) -> None:
        """Drop the answers whose keys begin so."""
        with self._lock:
            for key in [one for one in self._jobs if one.startswith(beginning)]:
                self._jobs[key].is_stopped = True
                del self._jobs[key]

    def close(self) -> None:
        """Let all work end."""
        with self._lock:
            for job in self._jobs.values():
                job.is_stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: Job, work: Callable[[], Any], language: str) -> None:
        try:
            with listening(job.hear), translation.override(language), translated(translation.gettext):
                job.hear("", 0, None)
                job.result = work()
        except Stopped as stopped:
            job.error = stopped
        except BaseException as error:  # the page that asked shows it
            job.error = error
        finally:
            job.ended.set()


jobs: Final = Jobs()
