"""Which solver a system gets, by its size and shape."""

from __future__ import annotations

from typing import Final

from evenhand.errors import LimitError
from evenhand.solve.base import Solver
from evenhand.solve.direct import DirectSolver
from evenhand.system import System

DIRECT_LIMIT: Final = 20_000
"""Largest smaller side that is factorised densely (3.2 GB)."""


def choose_solver(system: System) -> Solver:
    """Return the solver for a system of this size and shape."""
    if system.n_kept > DIRECT_LIMIT:
        need = 8 * system.n_kept**2 / 2**30
        raise LimitError(
            f"The smaller side of this panel has {system.n_kept:,} members; the direct solver would need {need:,.0f} "
            f"GiB and is limited to {DIRECT_LIMIT:,} members."
        )
    return DirectSolver(system)
