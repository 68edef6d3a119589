"""A real server within a test: started as a user starts it, entered by its link, ended by a signal or killed."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

START: float = 120.0
"""Seconds within which a server has to be there, on a machine with other work too."""


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass
class Server:
    """A server as a browser sees it, which keeps its cookies."""

    process: subprocess.Popen[str]
    link: str
    printed: list[str]
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.link).port or 0

    def come_in(self) -> Server:
        """Follow the link."""
        parts = urlsplit(self.link)
        assert self.ask("GET", f"{parts.path}?{parts.query}").status == 302
        self.ask("GET", "/")
        return self

    def ask(
        self, method: str, place: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to a request, on a line of its own."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} | dict(headers or {})
        try:
            line.request(method, place, body, sent)
            found = line.getresponse()
            for name, value in found.getheaders():
                if name == "Set-Cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            line.close()

    def get(self, place: str) -> Answer:
        """Return a page."""
        return self.ask("GET", place)

    def post(self, place: str, fields: Mapping[str, object] | None = None) -> Answer:
        """Send a form."""
        return self.ask(
            "POST",
            place,
            urlencode(fields or {}).encode(),
            {"Content-Type": "application/x-www-form-urlencoded", "X-CSRFToken": self.cookies["evenhand-form"]},
        )

    def drop(self, name: str, content: bytes) -> Answer:
        """Send a file."""
        head = f'--line\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        return self.ask(
            "POST",
            "/upload",
            head.encode() + content + b"\r\n--line--\r\n",
            {"Content-Type": "multipart/form-data; boundary=line", "X-CSRFToken": self.cookies["evenhand-form"]},
        )

    def settled(self, place: str, seconds: float = START) -> Answer:
        """Return a page once no work is going on."""
        end = time.monotonic() + seconds
        while True:
            page = self.get(place)
            if b"<progress" not in page.content or time.monotonic() > end:
                return page
            time.sleep(0.1)

    def memory(self) -> int:
        """Return the bytes of memory that it holds."""
        import psutil

        return int(psutil.Process(self.process.pid).memory_info().rss)

    def end(self, how: int = signal.SIGTERM, seconds: float = 30.0) -> float:
        """End it by a signal, and return how long that took."""
        began = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(seconds)
        return time.monotonic() - began


def command(*options: str | Path) -> list[str]:
    """Return the command that serves."""
    return [sys.executable, "-m", "evenhand", "serve", "--no-browser", *map(str, options)]


def start(*options: str | Path) -> Server:
    """Start a server, and wait until it has said where it is."""
    process = subprocess.Popen(
        command(*options),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    printed: list[str] = []
    for words in process.stdout:
        printed.append(words.rstrip("\n"))
        if words.startswith("Stop with"):
            break
    else:
        process.wait(START)
        raise AssertionError(f"The server ended with {process.returncode}: {printed}")
    found = re.search(r"http://\S+", printed[0])
    assert found is not None, printed
    return Server(process, found[0], printed)


@contextmanager
def serving(*options: str | Path) -> Iterator[Server]:
    """Serve within a block."""
    server = start(*options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(30)
        if server.process.stdout is not None:
            server.process.stdout.close()
