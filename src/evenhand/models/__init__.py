"""Models of scores, one file per family of the paper: each takes a panel and returns a Fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.fit import Fit
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average, weighted_average

METHODS: Final[dict[str, Callable[..., Fit]]] = {
    "sa": simple_average,
    "cwa": weighted_average,
    "iba": incomplete_block,
    "cwc": calibrate,
}
"""The four methods of the paper's table 1, from the simplest to the richest."""

__all__ = ["METHODS", "calibrate", "incomplete_block", "simple_average", "weighted_average"]
