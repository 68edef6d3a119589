"""The panel to play with."""

from __future__ import annotations

from evenhand.data import demo_path
from evenhand.io.panels import read_panel
from evenhand.panel.panel import Panel


def demo() -> Panel:
    """Return a panel to play with: a made-up grant competition of 40 proposals, 11 assessors and 101 scores.

    It is the one of ``evenhand demo``.

    Examples
    --------
    >>> demo()
    Panel(40 objects, 11 assessors, 101 assessments, confidence levels (factor 1.75))
    """
    return read_panel(demo_path())
