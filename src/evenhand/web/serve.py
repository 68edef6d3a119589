"""The server behind ``evenhand serve``: on this machine alone, behind a link that works once."""

from __future__ import annotations

import os
import signal
import tempfile
import webbrowser
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from evenhand.errors import MissingPackageError, is_installed

HOST: Final = "127.0.0.1"
_THREADS: Final = 8


def set_up(data: Path) -> None:
    """Make Django ready to work on a directory, whose database is made or brought up to date."""
    if not all(is_installed(name) for name in ("django", "django_htmx", "whitenoise", "waitress")):
        raise MissingPackageError("django", "The web application", "web")
    os.environ["EVENHAND_DATA"] = str(data)
    os.environ["DJANGO_SETTINGS_MODULE"] = "evenhand.web.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    from django.contrib.sessions.models import Session

    Session.objects.all().delete()  # who came in by an earlier link is out


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
    from evenhand.web.store import default_place, lock, open_store

    os.umask(0o077)  # what is written here is for its owner alone
    with ExitStack() as held:
        if temporary:
            place = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-")))
        else:
            place = (default_place() if data is None else data).absolute()
        open_store(place)
        held.enter_context(lock(place))
        set_up(place)
        from waitress.server import create_server

        from evenhand.web.guard import new_token
        from evenhand.web.jobs import jobs

        server = held.enter_context(
            _closing(create_server(application(), host=HOST, port=port, threads=_THREADS, ident=None))
        )
        first = ""
        if demo:
            from evenhand.web.views.start import open_demo

            first = open_demo().get_absolute_url().lstrip("/")
        link = f"http://{HOST}:{server.effective_port}/{first}?token={new_token()}"
        say(f"evenhand is at {link}")
        say("The link works once. Nothing leaves this machine.")
        say("Work is not kept." if temporary else f"Work is kept in {place}.")
        say("Stop with Ctrl-C.")
        held.callback(jobs.close)
        if browser:
            _open(link, place, held)
        signal.signal(signal.SIGTERM, _interrupt)
        with suppress(KeyboardInterrupt):
            server.run()
        say("Stopped.")


class _closing(ExitStack):  # noqa: N801  a context manager
    """Close a server at the end."""

    def __init__(self, server: Any) -> None:
        super().__init__()
        self._server = server
        self.callback(server.close)

    def __enter__(self) -> Any:
        super().__enter__()
        return self._server


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _open(link: str, place: Path, held: ExitStack) -> None:
    """Open a link in a browser by way of a file, since what a process is started with is seen by everybody here."""
    page = place / "open.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">', "utf-8"
    )
    held.callback(lambda: page.unlink(missing_ok=True))
    with suppress(webbrowser.Error):
        webbrowser.open(page.as_uri())


def manage(arguments: list[str]) -> None:
    """Run one of Django's own commands, for whoever operates a server: ``python -m evenhand.web check --deploy``."""
    from evenhand.web.store import default_place

    place = Path(os.environ.get("EVENHAND_DATA") or default_place())
    os.environ["EVENHAND_DATA"] = str(place)
    os.environ["DJANGO_SETTINGS_MODULE"] = "evenhand.web.settings"
    from django.core.management import execute_from_command_line

    execute_from_command_line(["python -m evenhand.web", *arguments])
