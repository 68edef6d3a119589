"""Small panels of our own that ship with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

DEMO: Final = "grant-competition.csv"
"""The grant competition of the demo: 40 proposals, 11 assessors, confidence levels; made by ``make_demo.py``."""


def demo_path() -> Path:
    """Return where the demo panel is."""
    return Path(str(files("evenhand.data"))) / DEMO
