"""Heaps that threads share."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import ctypes, sys, threading
from evenhand.memory import share_heaps

if sys.argv[1] == "shared":
    assert share_heaps(2)
together = threading.Barrier(8)

def work():
    for _ in range(50):
        together.wait()
        held = [bytes(50_000) for _ in range(20)]

threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = library.fopen(sys.argv[2].encode(), b"w")
library.malloc_info(0, ctypes.c_void_p(file))
library.fclose(ctypes.c_void_p(file))
"""


def heaps(which: str, told: Path) -> int:
    """Return how many heaps eight threads have that take and give back memory at the same time."""
    settled = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    subprocess.run([sys.executable, "-c", WORK, which, str(told)], check=True, timeout=120, env=settled)
    return told.read_text().count("<heap nr=")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the GNU C library alone has heaps for threads")
def test_threads_share_heaps(tmp_path: Path) -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_info"):
        pytest.skip("another C library")
    assert heaps("shared", tmp_path / "shared.xml") <= 2 < heaps("own", tmp_path / "own.xml")
