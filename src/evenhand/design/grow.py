"""Adding assessments one by one, each where it helps most."""

from __future__ import annotations

import numpy as np

from evenhand.design.inverse import Inverse, coarse
from evenhand.design.objectives import Aim
from evenhand.design.problem import Codes, Flags, Problem
from evenhand.progress import report


def grow(problem: Problem, aim: Aim, start: Flags | None = None) -> Flags | None:
    """Return a design of all assessments that are wanted, added to the fixed ones or to another start one at a time.

    Each is the one that lowers the mean variance of values most, objects weighted as the aim has it. Returns None where
    the rules leave no room for so many.
    """
    chosen = problem.fixed if start is None else start
    inverse = Inverse(problem, chosen, np.full(problem.n_objects, 1 / problem.n_objects))
    missing = problem.total - int(chosen.sum())
    for count in range(missing):
        report("adding assessments", count, missing)
        if not aim.is_linear and aim.objective not in ("gap", "determinant"):
            inverse.reweigh(aim.weights(inverse.variances()))
        possible = open_pairs(problem, inverse.chosen)
        if not possible.size:
            return None
        best = int(possible[np.argmin(coarse(inverse.changes([possible], (1,)).variance))])
        inverse.move([best], (1,))
    return inverse.chosen


def open_pairs(problem: Problem, chosen: Flags) -> Codes:
    """Return the pairs that could be added without breaking a rule."""
    room = (problem.loads(chosen) < problem.most_load)[problem.assessor]
    room &= (problem.readings(chosen) < problem.most)[problem.object]
    return np.flatnonzero(room & ~chosen)
