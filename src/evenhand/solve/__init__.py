"""Solvers of the normal equations, siblings behind one seam."""

from evenhand.solve.base import Answering, Solution, Solver
from evenhand.solve.choose import AutoSolver, SolverKind, choose_solver

__all__ = ["Answering", "AutoSolver", "Solution", "Solver", "SolverKind", "choose_solver"]
