"""The web application under fire: thousands of bad files, hostile values in every form, servers killed at work.

``make soak`` runs all of it; a short part of each belongs to the ordinary suite.
"""

from __future__ import annotations

import gc
import random
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand.data import demo_path
from hostile import HOSTILE, File, bombs, malformed
from servers import Server, serving
from web import application, client, opened, seen

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers at the ends of floating point

SECONDS = 60.0
"""Within this each file has to be dealt with, on a machine with other work too."""

HELD = 250 * 2**20
"""By so much memory may grow while files are dropped in, once everything is imported."""


def memory() -> int:
    """Return the bytes that this process holds."""
    import psutil

    gc.collect()
    return int(psutil.Process().memory_info().rss)


# --- files -------------------------------------------------------------------------------------------


@dataclass
class Chair:
    """Somebody who drops in whatever there is, and takes down what went wrong."""

    client: Any
    kept: Path
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    dropped: int = 0

    def drop(self, file: File) -> None:
        """Drop a file, look at how it was read, go on to the decision, and delete it."""
        began = time.monotonic()
        name, content = file
        self.dropped += 1
        try:
            self._walk(name, content)
        except Exception as error:  # whatever it is, it would be a 500
            self._fault(f"{type(error).__name__}: {error}"[:300], file)
        took = time.monotonic() - began
        self.slowest = max(self.slowest, (took, name))
        if took > SECONDS:
            self._fault(f"took {took:.1f} s", file)

    def _walk(self, name: str, content: bytes) -> None:
        panel = opened(self.client, name or "unnamed", content)
        steps = ("reading", None, "", "objects/0")
        for place in steps:
            if place is None:
                answer = self.client.post(f"/panels/{panel}/reading/settings", {"go": "1"})
            else:
                answer = seen(self.client, f"/panels/{panel}/{place}", SECONDS)
            if answer.status_code >= 500:
                self._fault(f"{answer.status_code} at {place}", (name, content))
            if answer.status_code >= 400:
                break
        self.client.post(f"/panels/{panel}/delete", {"sure": "yes"})

    def _fault(self, words: str, file: File) -> None:
        name = re.sub(r"[^\w.]", "_", file[0])[:60]
        place = self.kept / f"{len(self.faults)}-{name}"
        place.write_bytes(file[1])
        self.faults.append(f"{place}: {words}")


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chair]:
    """Return somebody; in the end nothing must have gone wrong, and memory is as it was."""
    application()
    from django.conf import settings as limits

    monkeypatch.setattr(limits, "MAX_UNPACKED", 20_000_000)  # so that bombs can be small
    made = Chair(client(raise_request_exception=False), tmp_path)
    for at in range(10):  # everything is imported now
        made.drop(malformed(at))
    before = memory()
    yield made
    grown = memory() - before
    print(f"{made.dropped:,} files, memory {before / 2**20:.0f} MB and {grown / 2**20:+.0f} MB, slowest {made.slowest}")
    assert not made.faults, "\n".join(made.faults)
    assert grown < HELD, f"memory grew by {grown / 2**20:.0f} MB"


def test_a_hundred_bad_files_are_refused_or_read(chair: Chair) -> None:
    for seed in range(100):
        chair.drop(malformed(1000 + seed))


@pytest.mark.slow
def test_bombs_are_defused(chair: Chair) -> None:
    for file in bombs():
        chair.drop(file)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_eight_thousand_bad_files_are_refused_or_read(chair: Chair, part: int) -> None:
    for seed in range(1000):
        chair.drop(malformed(10_000 + 1000 * part + seed))


CELLS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["a", "b", "c", "x", "y", "1", "2", "3.5", "high", "low", "n/a", "", "nan", "1e308", "-0", "½"]),
    st.floats(width=64).map(repr),
    st.integers().map(str),
)
HEADS = st.sampled_from(["object", "assessor", "score", "confidence", "title", "", "Average", "Anna: Score", "weight"])
TABLES = st.tuples(
    st.lists(st.one_of(HEADS, CELLS), min_size=1, max_size=8),
    st.lists(st.lists(CELLS, max_size=8), max_size=12),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["csv", "tsv", "txt"]),
)


@pytest.mark.soak
def test_two_thousand_tables_of_hypothesis_are_refused_or_read(chair: Chair) -> None:
    @settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(TABLES)
    def each(table: tuple[list[str], list[list[str]], str, str]) -> None:
        head, rows, between, suffix = table
        text = "\n".join(between.join(row) for row in (head, *rows))
        chair.drop((f"table.{suffix}", text.encode("utf-8", "surrogatepass")))

    each()


# --- forms -------------------------------------------------------------------------------------------


@dataclass
class Form:
    """A form of a page: where it goes, and what its fields hold."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class Forms(HTMLParser):
    """Collects the forms of a page, and the links to further pages."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._menu = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down forms, fields and links."""
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href", "").startswith("/"):
            self.links.append(given["href"])
        elif tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag in ("input", "button", "textarea", "select") and self.forms and given.get("name"):
            self.forms[-1].fields[given["name"]] = given.get("value", "")
            self._menu = given["name"] if tag == "select" else ""
        elif tag == "option" and self._menu and given.get("value"):
            self.forms[-1].fields[self._menu] = given["value"]


def crawled(one: Any, first: str) -> Iterator[Form]:
    """Yield every form that can be reached from a page, each address once."""
    known, todo, sent = set(), [first], set()
    while todo:
        place = todo.pop()
        shape = re.sub(r"\d+", "0", place.partition("#")[0])
        if shape in known:
            continue
        known.add(shape)
        page = seen(one, place)
        assert page.status_code < 500, place
        if not page.headers.get("Content-Type", "").startswith("text/html"):
            continue
        found = Forms(page.content.decode())
        todo += found.links
        for form in found.forms:
            shape = re.sub(r"\d+", "0", f"{form.action} {sorted(form.fields)}")
            if form.method == "post" and shape not in sent:
                sent.add(shape)
                yield form


def sendings(form: Form, chance: random.Random, most: int | None = None) -> Iterator[dict[str, str]]:
    """Yield what may be sent by a form: each field hostile in turn, each missing, none at all, all hostile."""
    fields = {name: value for name, value in form.fields.items() if name != "csrfmiddlewaretoken"}
    every = [fields | {name: value} for name in fields for value in HOSTILE]
    every += [{one: value for one, value in fields.items() if one != name} for name in fields]
    every += [{}, *({name: chance.choice(HOSTILE) for name in fields} for _ in range(20))]
    further = ("which", "copy", "row", "back", "next", "at")
    every += [fields | {name: value} for name in further for value in HOSTILE[:9]]
    yield from every if most is None else chance.sample(every, min(most, len(every)))


def fire(most: int | None) -> int:
    """Send hostile values by every form, look at pages on the way, and return how many were sent."""
    one, chance, number = client(raise_request_exception=False), random.Random(7), 0
    base, other = _worked_on(one), _worked_on(one)
    forms = list(crawled(one, base))
    for form in sorted(forms, key=lambda form: form.action.endswith(("save", "delete"))):  # what ends things comes last
        for sent in sendings(form, chance, most):
            number += 1
            action = form.action if chance.random() < 0.9 else form.action.replace(base, other)
            answer = one.post(action, sent)
            assert answer.status_code < 500, (action, sent)
            if answer.status_code == 302 and chance.random() < 0.1:
                assert one.get(answer.url).status_code < 500, (action, sent, answer.url)
        for place in ("", "reading", "record", "what-if"):
            assert one.get(f"{base}{place}").status_code < 500, (form, place)
    return number


def _worked_on(one: Any) -> str:
    """Return the address of a panel with a correction, a scenario and a frozen decision."""
    panel = str(one.post("/demo").url)
    one.post(f"{panel}reading/correct", {"row": 9, "column": "score", "text": "5O"})
    scenario = str(one.post(f"{panel}what-if/new").url)
    one.post(f"{scenario}/change", {"without": "Kaur"})
    one.post(f"{scenario}/undo")
    one.post(f"{scenario}/change", {"places": "3"})
    return panel


def test_hostile_addresses_are_refused() -> None:
    one = client(raise_request_exception=False)
    panel = _worked_on(one)
    for value in HOSTILE:
        for place in ("/jobs/{}", "/panels/{}/", f"{panel}out/{{}}", f"{panel}objects/{{}}", f"{panel}working/{{}}"):
            assert one.get(place.format(quote(value, safe=""))).status_code < 500, (place, value)
        for name in ("row", "all", "show", "at", "file", "token"):
            assert one.get(f"{panel}reading", {name: value}).status_code < 500, (name, value)


@pytest.mark.slow
def test_some_hostile_values_in_every_form_are_refused() -> None:
    assert fire(5) > 50


@pytest.mark.soak
def test_every_hostile_value_in_every_form_is_refused() -> None:
    number = fire(None)
    print(f"{number:,} forms sent")
    assert number > 2000


# --- killed while it writes --------------------------------------------------------------------------


@dataclass
class Ledger:
    """What a server said it had saved, and what it was asked for when it was killed, which may be there or not."""

    saved: dict[str, str] = field(default_factory=dict)
    open: tuple[str, str] | None = None
    said: int = 0

    def ask(self, server: Server, place: str, key: str, value: str, **fields: object) -> None:
        """Send a change, and take down that it is saved once the server says so."""
        self.open = key, value
        answer = server.post(place, fields)
        assert answer.status == 302, (place, answer.status)
        self.saved[key] = value
        self.open = None
        self.said += 1

    def check(self, found: dict[str, str]) -> None:
        """Compare with what is there."""
        for key in self.saved.keys() | found.keys():
            may = {self.saved.get(key)} | ({self.open[1]} if self.open is not None and self.open[0] == key else set())
            assert found.get(key) in may, (key, found.get(key), may)
        self.saved, self.open = found, None


def kept(data: Path) -> dict[str, str]:
    """Return what stands in the database, which must be sound."""
    with sqlite3.connect(data / "evenhand.sqlite3") as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert base.execute("PRAGMA foreign_key_check").fetchall() == []
        found = {"name": base.execute("SELECT name FROM web_panel WHERE id = 1").fetchone()[0]}
        for row, after in base.execute("SELECT row, after FROM web_correction WHERE undone IS NULL"):
            assert f"cell {row}" not in found
            found[f"cell {row}"] = after
        entries = "SELECT name, (SELECT count(*) FROM web_entry WHERE panel_id = web_panel.id) FROM web_panel"
        for name, count in base.execute(f"{entries} WHERE id > 1"):
            assert count == 1
            found[f"file {name}"] = "there"
        for at, name in base.execute("SELECT id, name FROM web_scenario"):
            found[f"scenario {at}"] = name
    base.close()
    return found


def killed(data: Path, times: int) -> int:
    """Kill a server so many times while it takes edits, check what is there each time, and return what was saved."""
    chance, ledger, number = random.Random(3), Ledger(), 0
    with serving("--data", data) as server:
        server.come_in().drop("scores.csv", demo_path().read_bytes())
        server.settled("/panels/1/reading")
        server.post("/panels/1/what-if/new")
    ledger.saved = kept(data)
    for _ in range(times):
        with serving("--data", data) as server:
            server.come_in()
            assert server.get("/panels/1/record").status == 200
            timer = threading.Timer(chance.uniform(0.0, 0.8), server.process.send_signal, [signal.SIGKILL])
            timer.start()
            try:
                while True:
                    number += 1
                    edit(server, ledger, chance, number)
            except (OSError, HTTPException):
                timer.join()
                server.process.wait(30)
        assert server.process.returncode == -signal.SIGKILL
        ledger.check(kept(data))
    return ledger.said


def edit(server: Server, ledger: Ledger, chance: random.Random, number: int) -> None:
    """Make one change of some kind."""
    kind = chance.randrange(4)
    if kind == 0:
        ledger.ask(server, "/panels/1/rename", "name", f"name {number}", name=f"name {number}")
    elif kind == 1:
        row = chance.randrange(2, 12)
        fields = {"row": row, "column": "score", "text": str(1000 + number)}
        ledger.ask(server, "/panels/1/reading/correct", f"cell {row}", str(1000 + number), **fields)
    elif kind == 2:
        ledger.ask(server, "/panels/1/what-if/1/rename", "scenario 1", f"try {number}", name=f"try {number}")
    else:
        ledger.open = f"file f{number}", "there"
        assert server.drop(f"f{number}.csv", b"object,assessor,score\na,x,1\n" * 500).status == 302
        ledger.saved[f"file f{number}"], ledger.open = "there", None
        ledger.said += 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_what_was_saved_is_there_after_a_server_was_killed(tmp_path: Path) -> None:
    killed(tmp_path / "data", 4)


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_what_was_saved_is_there_after_a_server_was_killed_two_hundred_times(tmp_path: Path) -> None:
    said = killed(tmp_path / "data", 200)
    print(f"{said:,} edits were called saved, and all are there after 200 kills")
    assert said > 400
