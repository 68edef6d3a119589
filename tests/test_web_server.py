"""`evenhand serve` as a process: where it may be reached, what it refuses, what it leaves behind, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from servers import Server, command, serving

pytest.importorskip("django", reason="the web application is an extra")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and permissions are others there"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("--data", tmp_path_factory.mktemp("served") / "data") as made:
        yield made.come_in()


def place(server: Server) -> Path:
    """Return the directory that a server has named."""
    return Path(server.printed[2].removeprefix("Work is kept in ").removesuffix("."))


def refused(*options: str | Path) -> str:
    """Return what is said by a server that does not start."""
    done = subprocess.run(command(*options), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done
    assert done.stdout == ""
    return done.stderr


def raw(server: Server, text: bytes) -> bytes:
    """Return the first line of the answer to some bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(text)
        return line.recv(4096).partition(b"\r\n")[0]


# --- who may come in ---------------------------------------------------------------------------------


def test_the_server_is_reached_from_this_machine_alone(server: Server) -> None:
    import psutil

    lines = psutil.Process(server.process.pid).net_connections()
    assert {one.laddr.ip for one in lines if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "[::ffff:1]"])
def test_pages_under_the_name_of_another_host_are_refused(server: Server, host: str) -> None:
    answer = server.ask("GET", "/", headers={"Host": host})
    assert answer.status == 400
    assert b"evenhand" not in answer.content
    assert server.ask("GET", "/", headers={"Host": f"localhost:{server.port}"}).status == 200


def test_the_link_works_once_and_its_token_is_written_nowhere(server: Server) -> None:
    token = server.link.partition("token=")[2]
    assert len(token) > 30
    stranger = Server(server.process, server.link, server.printed)
    assert stranger.get(f"/?token={token}").status == 403
    assert stranger.get("/").status == 403
    for file in place(server).rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes(), file


def test_forms_from_elsewhere_are_refused(server: Server) -> None:
    token = {"X-CSRFToken": server.cookies["evenhand-form"]}
    assert server.ask("POST", "/demo", b"", {}).status == 403
    assert server.ask("POST", "/demo", b"", token | {"Origin": "http://evil.example"}).status == 403
    assert server.ask("POST", "/demo", b"", token | {"Origin": f"http://127.0.0.1:{server.port}"}).status == 302


def test_the_server_does_not_say_what_it_is_made_of(server: Server) -> None:
    assert "Server" not in server.get("/").headers


# --- too much at once --------------------------------------------------------------------------------


def test_what_is_far_too_large_is_not_even_taken_in(server: Server) -> None:
    head = b"POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000000\r\n\r\n"
    assert b" 413 " in raw(server, head)


def test_a_file_that_is_too_large_is_refused_by_a_page(server: Server) -> None:
    answer = server.drop("large.csv", b"1," * 11_000_000)
    assert answer.status == 413
    assert b"too large" in answer.content


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 400_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
    ids=["long header", "negative length", "bad chunk", "encrypted"],
)
def test_requests_that_make_no_sense_do_no_harm(server: Server, text: bytes) -> None:
    assert raw(server, text).split(b" ")[1:2] in ([b"400"], [b"431"], [b"403"])
    assert server.get("/").status == 200


def test_lines_that_are_opened_and_never_used_stop_nobody(server: Server) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(200)]
    try:
        for line in lines:
            line.sendall(b"GET / HTTP/1.1\r\nHo")
        began = time.monotonic()
        assert server.get("/").status == 200
        assert time.monotonic() - began < 10
    finally:
        for line in lines:
            line.close()


# --- where work is kept ------------------------------------------------------------------------------


def test_another_user_can_read_nothing(server: Server) -> None:
    server.drop("scores.csv", b"object,assessor,score\na,x,1\n")
    found = [place(server), *place(server).rglob("*")]
    assert {"evenhand.sqlite3", "evenhand.sqlite3-wal", "evenhand.sqlite3-shm"} <= {file.name for file in found}
    for file in found:
        assert file.stat().st_mode & 0o077 == 0, file


def test_what_a_killed_server_left_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / "work" / "evenhand-abc" / "scores.csv"
    left.parent.mkdir(parents=True)
    left.write_text("a,x,1\n")
    with serving("--data", tmp_path) as made:
        assert not left.exists()
        made.end()
    assert not left.parent.parent.exists()


def test_nothing_is_left_of_a_temporary_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--temporary") as made:
        made.come_in().drop("scores.csv", b"object,assessor,score\na,x,1\n")
        assert any(tmp_path.iterdir())
        made.end()
    assert not any(tmp_path.iterdir())


# --- what keeps it from starting ---------------------------------------------------------------------


def test_a_port_that_is_taken_is_named_in_a_sentence(server: Server, tmp_path: Path) -> None:
    said = refused("--data", tmp_path, "--port", str(server.port))
    assert said.count("\n") == 1
    assert f"Port {server.port} cannot be used (Address already in use)" in said


def test_a_directory_that_is_served_already_is_named_in_a_sentence(server: Server) -> None:
    said = refused("--data", place(server))
    assert said.count("\n") == 1
    assert "being served already" in said


@pytest.mark.parametrize("name", ["file/within", "lock-is-a-directory"])
def test_a_directory_that_cannot_be_written_is_named_in_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "lock-is-a-directory" / "lock").mkdir(parents=True)
    said = refused("--data", tmp_path / name)
    assert said.count("\n") == 1
    assert "Work cannot be kept here" in said


def test_a_database_that_is_none_is_named_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "evenhand.sqlite3").write_bytes(b"no database at all\n" * 500)
    said = refused("--data", tmp_path)
    assert said.count("\n") == 1
    assert "The database cannot be used" in said
    assert (tmp_path / "evenhand.sqlite3").read_bytes().startswith(b"no database")


# --- how it ends -------------------------------------------------------------------------------------


def heavy() -> bytes:
    """Return a file that takes seconds to understand: every column is compared with all others."""
    lines = [",".join(["Proposal", *(f"Name {at}" for at in range(900))])]
    for row, scores in enumerate(np.random.default_rng(1).integers(0, 100, (400, 900))):
        lines.append(",".join([f"P{row}", *map(str, scores)]))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "at work"])
def test_the_server_ends_within_two_seconds_whatever_it_does(tmp_path: Path, how: int, busy: bool) -> None:
    with serving("--data", tmp_path) as made:
        made.come_in()
        if busy:
            panel = made.drop("heavy.csv", heavy()).headers["Location"]
            assert b"<progress" in made.get(panel).content
        assert made.end(how) < (2.0 if os.getloadavg()[0] < os.cpu_count() else 6.0)  # type: ignore[operator]
        assert made.process.returncode == 0
        assert made.process.stdout is not None
        assert made.process.stdout.read() == "Stopped.\n"
    assert not (tmp_path / "work").exists()
