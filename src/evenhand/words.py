"""English for messages: counts with their nouns, and lists that stay short."""

from __future__ import annotations

from collections.abc import Sequence


def count_of(number: int, word: str) -> str:
    """Return a count with its word.

    Examples
    --------
    >>> count_of(1, "object"), count_of(2400, "object")
    ('1 object', '2,400 objects')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def name_some(labels: Sequence[object], most: int = 6) -> str:
    """Return labels in a line, with a count of those left out."""
    shown = ", ".join(str(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most:,} more"
