"""Bytes of a text file looked through once: where its rows end, and how many are no text.

The loops over bytes are plain Python for :mod:`evenhand.compiled` to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.compiled import compiled

MISPLACED, LITERAL, LONE_RETURN = 1, 2, 4
"""What :func:`row_ends` meets: text after a closing quotation mark, a mark inside bare text, a bare return."""

_CONTROLS = bytes([*range(9), *range(14, 32), 127])


def count_controls(data: bytes, *, quick: bool) -> int:
    """Count the characters that text does not have; ``quick`` compiles a loop for it."""
    if quick:
        return int(compiled(controls)(np.frombuffer(data, np.uint8)))
    return len(data) - len(data.translate(None, _CONTROLS))


def row_ends(text: Any, delimiter: int, is_last: bool) -> tuple[int, int, int]:
    """Walk through bytes that begin with a row, as a reader of quoted cells does.

    Returns
    -------
    tuple of int
        The end of the last whole row, the number of whole rows, and what was met on the way, as a sum of
        ``MISPLACED``, ``LITERAL`` and ``LONE_RETURN``. The walk ends at the first misplaced mark.
    """
    begin, bare, quoted, closed = 0, 1, 2, 3
    state, end, rows, met = begin, 0, 0, 0
    size = text.size
    i = 0
    while i < size:
        byte = text[i]
        if state == quoted:
            if byte == 34:
                state = closed
        elif byte == 34:
            if state in (begin, closed):
                state = quoted
            else:
                met |= 2
        elif byte == delimiter:
            state = begin
        elif byte in (10, 13):
            if byte == 13:
                if i + 1 == size and not is_last:
                    return end, rows, met
                if i + 1 < size and text[i + 1] == 10:
                    i += 1
                else:
                    met |= 4
            state = begin
            rows += 1
            end = i + 1
        elif state == closed:
            return end, rows, met | 1
        else:
            state = bare
        i += 1
    if is_last and end < size:
        if state == quoted:
            return end, rows, met | 1
        return size, rows + 1, met
    return end, rows, met


def controls(text: Any) -> int:
    """Count the bytes below 32 that are no white space, and 127."""
    count = 0
    for i in range(text.size):
        byte = text[i]
        count += (byte < 9) | ((byte > 13) & (byte < 32)) | (byte == 127)
    return count
