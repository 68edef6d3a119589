"""Memory foreseen: work that would not fit is refused with the figure it needs, not met half-way."""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.errors import LimitError
from evenhand.words import by_door

_MOST_HEAPS = -8
"""What the GNU C library calls ``M_ARENA_MAX``."""

TRIFLE = 2**26
"""Fewer bytes than this are always there, and the system is not asked about them."""


def available() -> int | None:
    """Return the bytes that this process may still use, as far as the system tells; None where it does not.

    The smaller of what the machine has to give and what a limit on the group of processes leaves.
    """
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        if limit != "max":
            found.append(max(int(limit) - int(used), 0))
    except (OSError, ValueError):
        pass
    if not found and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found) if found else None


def share_heaps(most: int) -> bool:
    """Let all threads share so many heaps, to be called before there are any; say whether that could be asked for.

    The GNU C library gives threads heaps of their own, each of which keeps what its thread once held: ten threads that
    take turns at large work keep it ten times.
    """
    import ctypes

    try:
        return bool(ctypes.CDLL(None).mallopt(_MOST_HEAPS, most))
    except (AttributeError, OSError, TypeError):
        return False  # another C library, or another system


def fits(size: float) -> bool:
    """Whether this many bytes can be had."""
    room = None if size < TRIFLE else available()
    return room is None or size <= room


def require(size: float, purpose: str, advice: str | None = None) -> None:
    """Refuse work that needs more bytes than can be had; the purpose is such as ``"a factor of 3,000 equations"``."""
    room = None if size < TRIFLE else available()
    if room is not None and size > room:
        cluster = by_door("calibrate_distributed", "--cluster")
        usual = f"use a machine with more memory, a cluster ({cluster}), or a part of the panel"
        needed = f"This needs {in_gib(size)} of memory for {purpose}, and {in_gib(room)} can be had"
        raise LimitError(f"{needed}: {advice or usual}.")


def in_gib(size: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> in_gib(3 * 2**30), in_gib(2**24)
    ('3.0 GiB', '0.02 GiB')
    """
    return f"{size / 2**30:.1f} GiB" if size >= 2**28 else f"{size / 2**30:.2f} GiB"
