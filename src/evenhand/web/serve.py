"""The server behind ``evenhand serve``: on this machine alone, behind a link that works once.

Work that runs and tokens live in the process, so that it is one process with threads. Under waitress, granian and
gunicorn with uvicorn a page and a what-if take the same processor time within a tenth, and memory is the same within a
tenth; a file of 5 MB takes a third less under granian (``benchmarks/serving.py --servers``). Waitress it is, since it
has no compiled parts and runs on every platform.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Final

from evenhand.errors import InputError, MissingPackageError, is_installed
from evenhand.memory import share_heaps
from evenhand.web.store import DATABASE, default_place, lock, open_store, workshop

HOST: Final = "127.0.0.1"
_THREADS: Final = 8
_HEAPS: Final = 2
_LINES: Final = 400
"""Lines that may be open at once; a browser has six, and an idle one is shut after ``_IDLE`` seconds."""
_IDLE: Final = 60
_PATIENCE: Final = 0.8
"""Seconds that work has to end when the server is stopped; what is saved is saved."""


def set_up(data: Path) -> None:
    """Make Django ready to work on a directory, whose database is made or brought up to date."""
    if not all(is_installed(name) for name in ("django", "django_htmx", "whitenoise", "waitress")):
        raise MissingPackageError("django", "The web application", "web")
    os.environ["EVENHAND_DATA"] = str(data)
    os.environ["DJANGO_SETTINGS_MODULE"] = "evenhand.web.settings"
    import django
    from django.core.management import call_command

    django.setup()
    from django.contrib.sessions.models import Session
    from django.db import DatabaseError

    try:
        call_command("migrate", verbosity=0, interactive=False)
        Session.objects.all().delete()  # who came in by an earlier link is out
    except DatabaseError as error:
        raise InputError(
            f"The database cannot be used ({error}): move it away and a new one is made.",
            kind="bad_data",
            where=str(data / DATABASE),
        ) from None


def application() -> Any:
    """Return the application for a server."""
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def serve(
    *,
    port: int = 0,
    data: Path | None = None,
    temporary: bool = False,
    browser: bool = True,
    demo: bool = False,
    say: Any = print,
) -> None:
    """Serve until somebody stops it.

    Parameters
    ----------
    port
        The port; a free one if 0.
    data
        Where work is kept; by the conventions of the platform if None.
    temporary
        Keep nothing: work is gone when the server stops.
    browser
        Open the page.
    demo
        Begin with the panel that is shipped.
    say
        What is called with each line for the user.
    """
    os.umask(0o077)  # what is written here is for its owner alone
    with ExitStack() as held:
        if temporary:
            place = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-")))
        else:
            place = (default_place() if data is None else data).absolute()
        open_store(place)
        held.enter_context(lock(place))
        folder = held.enter_context(workshop(place))
        set_up(place)
        from evenhand.web.guard import new_token

        server = held.enter_context(closing(listen(port)))
        first = ""
        if demo:
            from evenhand.web.views.start import open_demo

            first = open_demo().get_absolute_url().lstrip("/")
        link = f"http://{HOST}:{server.effective_port}/{first}?token={new_token()}"
        say(f"evenhand is at {link}")
        say("The link works once. Nothing leaves this machine.")
        say("Work is not kept." if temporary else f"Work is kept in {place}.")
        say("Stop with Ctrl-C.")
        held.callback(say, "Stopped.")
        stop = _stopping(held)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, stop)
        if browser:
            _open(link, folder)
        with suppress(KeyboardInterrupt):
            server.run()


def listen(port: int) -> Any:
    """Return a server at a port of this machine, a free one if 0.

    Its threads share two heaps, lest each keep room for the largest panel that it has worked on.
    """
    share_heaps(_HEAPS)
    from django.conf import settings
    from waitress.server import create_server

    made = application()
    try:
        return create_server(
            made,
            host=HOST,
            port=port,
            threads=_THREADS,
            ident=None,
            connection_limit=_LINES,
            channel_timeout=_IDLE,
            # a file that is somewhat too large is refused by a page; anything beyond is not even taken in
            max_request_body_size=4 * settings.MAX_UPLOAD,
        )
    except OSError as error:
        raise InputError(
            f"Port {port} cannot be used ({error.strerror}): choose another, or none, and a free one is found.",
            kind="in_use",
        ) from None


def _stopping(held: ExitStack) -> Callable[[int, object], None]:
    """Return what is done at Ctrl-C: all work is told to end, and is cut off where it does not."""
    from evenhand.web.jobs import jobs

    def leave() -> None:
        held.close()
        sys.stdout.flush()
        os._exit(0)  # whoever works on is not waited for

    def stop(_signal: int, _frame: object) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        jobs.close()
        late = threading.Timer(_PATIENCE, leave)
        late.daemon = True
        late.start()
        raise KeyboardInterrupt

    return stop


def _open(link: str, folder: Path) -> None:
    """Open a link in a browser by way of a file, since what a process is started with is seen by everybody here."""
    page = folder / "open.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">', "utf-8"
    )
    with suppress(webbrowser.Error):
        webbrowser.open(page.as_uri())


def manage(arguments: list[str]) -> None:
    """Run one of Django's own commands, for whoever operates a server: ``python -m evenhand.web check --deploy``."""
    place = Path(os.environ.get("EVENHAND_DATA") or default_place())
    os.environ["EVENHAND_DATA"] = str(place)
    os.environ["DJANGO_SETTINGS_MODULE"] = "evenhand.web.settings"
    from django.core.management import execute_from_command_line

    execute_from_command_line(["python -m evenhand.web", *arguments])
