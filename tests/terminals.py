"""A terminal of any width, to see what a person sees."""

import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Sequence


def watched(arguments: Sequence[object], columns: int, **environment: str) -> str:
    """Return what a command prints on a terminal of so many columns: both streams, as they come."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "evenhand", *map(str, arguments)]
    running = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=kept | {"TERM": "xterm-256color"} | environment
    )
    os.close(theirs)
    found, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.2)
        try:
            more = os.read(ours, 65536) if ready else b""
        except OSError:  # the other end was closed
            break
        found += more
        if not more and running.poll() is not None:
            break
    os.close(ours)
    running.wait(timeout=10)
    return found.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
