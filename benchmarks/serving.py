"""The web application on a real server: pages and what-ifs as a browser asks for them, and servers beside another.

Pages: `evenhand serve` is started, a panel dropped in, and changes tried one after another, each of them leaving out
another score or assessor; a what-if is the form sent, its redirect followed, and the page asked for until it shows the
result. Printed are the median and the 95th percentile of wall clock time, the processor time of the server for one
(which another load on the machine hardly moves), and the memory of the server in the end.

Servers (`--servers`): the same application in one process with eight threads under waitress, granian (WSGI), and
gunicorn with uvicorn's worker, started in turn, round by round: the start page, a what-if, and a file of 5 MB. Printed
are medians of processor and wall clock time, as ratios to waitress. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
import psutil

SIZES = ((300, 40, 3, 200, 1.0), (3000, 300, 3, 40, 3.0))
"""Objects, assessors, scores of each object, what-ifs, and the bar for the 95th percentile in seconds."""
START, MEMORY = 0.1, 300
THREADS, ROUNDS = 8, 5


def scores(objects: int, assessors: int, each: int) -> bytes:
    """Return a file of scores with levels of confidence."""
    generator = np.random.default_rng(1)
    value, bias = generator.normal(60, 10, objects), generator.normal(0, 5, assessors)
    lines = ["object,assessor,score,confidence"]
    for one in range(objects):
        for who in generator.choice(assessors, each, replace=False):
            score = value[one] + bias[who] + generator.normal(0, 5)
            lines.append(f"O{one},A{who},{score:.1f},{generator.choice(['high', 'medium', 'low'])}")
    return ("\n".join(lines) + "\n").encode()


class Browser:
    """Somebody at a server: keeps cookies and one line."""

    def __init__(self, process: subprocess.Popen[str], link: str) -> None:
        parts = urlsplit(link)
        self.process = psutil.Process(process.pid)
        self._line = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=300)
        self._cookies: dict[str, str] = {}
        self.ask("GET", f"{parts.path}?{parts.query}")
        self.ask("GET", "/")

    def ask(self, method: str, place: str, body: bytes | None = None, kind: str = "") -> tuple[int, str, bytes]:
        """Return status, address of a redirect, and content."""
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body is not None:
            sent |= {"X-CSRFToken": self._cookies["evenhand-form"], "Content-Type": kind}
        self._line.request(method, place, body, sent)
        found = self._line.getresponse()
        content = found.read()
        for value in found.headers.get_all("Set-Cookie", []):
            name, _, rest = value.partition("=")
            self._cookies[name] = rest.partition(";")[0]
        if found.status >= 400:
            raise SystemExit(f"{method} {place}: {found.status}")
        return found.status, found.headers.get("Location", ""), content

    def post(self, place: str, fields: Mapping[str, str] | None = None) -> str:
        """Send a form, and return where it leads."""
        return self.ask("POST", place, urlencode(fields or {}).encode(), "application/x-www-form-urlencoded")[1]

    def drop(self, content: bytes) -> str:
        """Send a file, and return where it leads."""
        head = b'--line\r\nContent-Disposition: form-data; name="file"; filename="scores.csv"\r\n\r\n'
        return self.ask("POST", "/upload", head + content + b"\r\n--line--\r\n", "multipart/form-data; boundary=line")[
            1
        ]

    def shown(self, place: str) -> bytes:
        """Return a page once no work is going on."""
        while True:
            content = self.ask("GET", place)[2]
            if b"<progress" not in content or b'id="sent"' in content:
                return content
            time.sleep(0.02)

    def seconds(self) -> float:
        """Return the processor time of the server so far, with all its processes."""
        every = [self.process, *self.process.children(recursive=True)]
        return sum(sum(one.cpu_times()[:2]) for one in every)

    def memory(self) -> float:
        """Return the memory of the server in MB, with all its processes."""
        every = [self.process, *self.process.children(recursive=True)]
        return float(sum(one.memory_info().rss for one in every)) / 2**20

    def timed(self, work: Callable[[], object]) -> tuple[float, float]:
        """Return wall clock and processor time of some work."""
        began, used = time.perf_counter(), self.seconds()
        work()
        return time.perf_counter() - began, self.seconds() - used


@contextmanager
def serving(command: list[str], environment: Mapping[str, str] | None = None) -> Iterator[Browser]:
    """Start a server, come in, and end it."""
    settled = os.environ | {"PYTHONUNBUFFERED": "1"} | dict(environment or {})
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settled)
    try:
        for words in process.stdout or ():
            link = re.search(r"http://\S+token=\S+", words)
            if link is not None:
                break
        else:
            raise SystemExit(f"{command} did not start")
        for _ in range(600):
            try:
                yield Browser(process, link[0])
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def panel(browser: Browser, content: bytes, places: int) -> str:
    """Drop a panel in, decide, and return the address of a new scenario."""
    reading = browser.drop(content)
    browser.shown(reading)
    address = reading.removesuffix("reading")
    browser.post(f"{address}reading/settings", {"go": "1"})
    browser.post(f"{address}choices", {"places": str(places)})
    browser.shown(address)
    return browser.post(f"{address}what-if/new")


def what_ifs(browser: Browser, scenario: str, assessors: int, number: int) -> Iterator[tuple[float, float]]:
    """Yield the times of changes, each tried beside what stands and taken back before the next."""
    for at in range(number):

        def tried(at: int = at) -> None:
            place = browser.post(f"{scenario}/change", {"without": f"A{at % assessors}", "places": str(20 + at)})
            browser.shown(place)

        yield browser.timed(tried)
        browser.post(f"{scenario}/undo")
        browser.post(f"{scenario}/undo")


def verdict(found: float, bar: float) -> str:
    """Return whether a bar was reached."""
    return "reached" if found < bar else "MISSED"


def pages() -> None:
    """Measure what somebody sees."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "evenhand", "serve", "--no-browser", "--data", folder]
        with serving(command) as browser:
            for objects, assessors, each, number, bar in SIZES:
                scenario = panel(browser, scores(objects, assessors, each), objects // 10)
                found = list(what_ifs(browser, scenario, assessors, number))
                tell(f"what-if, {objects:,} x {assessors} x {each}, {number} times", found, bar)
                held = browser.memory()
                print(f"  memory {held:.0f} MB, to be under {MEMORY}: {verdict(held, MEMORY)}", flush=True)
            tell("start page", [browser.timed(lambda: browser.ask("GET", "/")) for _ in range(100)], START)


def tell(what: str, found: list[tuple[float, float]], bar: float) -> None:
    """Print the median and the 95th percentile of wall clock and processor time, in milliseconds."""
    wall, used = (sorted(1000 * one[which] for one in found) for which in (0, 1))
    late = int(0.95 * len(wall))
    print(
        f"{what}: median {statistics.median(wall):,.0f} ms, 95% {wall[late]:,.0f} ms; processor "
        f"{sum(used) / len(used):,.0f} ms, 95% {used[late]:,.0f} ms; "
        f"95% to be under {1000 * bar:,.0f}: {verdict(wall[late], 1000 * bar)}",
        flush=True,
    )


APPLICATION = """
import os
from pathlib import Path
from evenhand.web.serve import application, set_up
set_up(Path(os.environ["EVENHAND_DATA"]))
from evenhand.web.guard import new_token
print(f"http://127.0.0.1:{os.environ['BENCH_PORT']}/?token={new_token()}", flush=True)
application = application()
"""
"""The application for a server that wants a module, which prints its link."""

ASGI = """
from django.core.asgi import get_asgi_application
application = get_asgi_application()
"""


def commands(port: int) -> dict[str, list[str]]:
    """Return how each server is started."""
    threads, at = str(THREADS), f"127.0.0.1:{port}"
    wsgi = ["--interface", "wsgi", "--workers", "1", "--blocking-threads", threads, "--no-log"]
    return {
        "waitress": ["waitress", f"--listen={at}", f"--threads={threads}", "served:application"],
        "granian": ["granian", "--host", "127.0.0.1", "--port", str(port), *wsgi, "served:application"],
        "gunicorn": ["gunicorn", "-b", at, "-k", "uvicorn.workers.UvicornWorker", "served_async:application"],
    }


def measured(browser: Browser, large: bytes) -> dict[str, tuple[float, float]]:
    """Return medians of wall clock time and means of processor time, by work; of memory the same twice."""
    scenario = panel(browser, scores(300, 40, 3), 30)
    found = {
        "start page, s": [browser.timed(lambda: browser.ask("GET", "/")) for _ in range(60)],
        "what-if, s": list(what_ifs(browser, scenario, 40, 12)),
        "file of 5 MB, s": [browser.timed(lambda: browser.drop(large)) for _ in range(4)],
        "memory, MB": [(browser.memory(), browser.memory())],
    }
    return {
        what: (statistics.median(one[0] for one in each), sum(one[1] for one in each) / len(each))
        for what, each in found.items()
    }


def servers() -> None:
    """Measure servers beside another."""
    times: dict[str, list[dict[str, tuple[float, float]]]] = {}
    large = scores(300, 40, 3) + b"".join(b"X%06d,A1,5,high\n" % at for at in range(300_000))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "served.py").write_text(APPLICATION)
        Path(folder, "served_async.py").write_text(APPLICATION + ASGI)
        for turn in range(ROUNDS):
            for name, command in commands(port := free_port()).items():
                if importlib.util.find_spec(name) is None:
                    continue
                given = {"EVENHAND_DATA": str(Path(folder, f"{name}{turn}")), "BENCH_PORT": str(port)}
                given["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
                with serving([sys.executable, "-m", *command], given) as browser:
                    times.setdefault(name, []).append(measured(browser, large))
    for what in times["waitress"][0]:
        for name, rounds in times.items():
            own, base = (
                [statistics.median(one[what][which] for one in each) for which in (0, 1)]
                for each in (rounds, times["waitress"])
            )
            print(
                f"{what:<16} {name:<9} wall {own[0]:8.3f} ({own[0] / base[0]:.2f} of waitress)   "
                f"processor {own[1]:8.3f} ({own[1] / base[1]:.2f} of waitress)"
            )


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


def main() -> None:
    """Measure pages, and servers where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--servers", action="store_true", help="measure servers beside another instead")
    servers() if parser.parse_args().servers else pages()


if __name__ == "__main__":
    main()
