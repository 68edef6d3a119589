"""The web application within a test: one directory for the whole run, a client that has come in by the link."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest


@cache
def application() -> Path:
    """Set Django up, once in a process, on a directory of its own, and return that."""
    pytest.importorskip("django", reason="the web application is an extra")
    from evenhand.web.serve import set_up

    place = Path(tempfile.mkdtemp(prefix="evenhand-tests-"))
    place.chmod(0o700)
    set_up(place)
    return place


def client(**options: Any) -> Any:
    """Return a client that has followed the link."""
    application()
    from django.test import Client

    from evenhand.web.guard import new_token

    made = Client(SERVER_NAME="localhost", **options)
    assert made.get("/", {"token": new_token()}).status_code == 302
    return made


def settled(get: Callable[[], Any], seconds: float = 300.0) -> Any:
    """Return the page once no work is going on."""
    import time

    end = time.monotonic() + seconds
    while True:
        page = get()
        if b"<progress" not in page.content or b'id="sent"' in page.content or time.monotonic() > end:
            return page
        time.sleep(0.1)


def seen(one: Any, place: str, seconds: float = 300.0) -> Any:
    """Return a page of the application once no work is going on."""
    return settled(lambda: one.get(place), seconds)


def opened(one: Any, name: str, content: bytes) -> int:
    """Drop a file, and return the number of the panel that it became."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    page = one.post("/upload", {"file": SimpleUploadedFile(name, content)})
    assert page.status_code == 302, page.content
    return int(page.url.split("/")[2])
