"""Solvers of the normal equations, siblings behind one seam."""

from evenhand.solve.base import Solution, Solver
from evenhand.solve.choose import choose_solver

__all__ = ["Solution", "Solver", "choose_solver"]
