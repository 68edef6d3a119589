"""A floor under the expertise at every object: the highest that can be, and a rule that keeps it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Flags, Floats
from evenhand.design.causes import no_design
from evenhand.design.limits import Limits
from evenhand.design.lottery import limits_of_pairs
from evenhand.design.program import least_cost
from evenhand.design.start import joined
from evenhand.design.task import Task
from evenhand.errors import NoDesignError, bad_option
from evenhand.progress import report

SECONDS: Final = 20.0
"""Integer programming takes at most this long for the highest floor."""

MOST_PAIRS: Final = 200_000
"""Up to this many pairs, a floor is sought."""

STEPS: Final = 6
"""How often a floor that no connected design was found for is lowered."""


def least_expertise(task: Task, chosen: Flags) -> float | None:
    """Return the smallest mean expertise of the readers of an object in a design; None where nothing was said of it."""
    if task.expertise is None:
        return None
    sums = np.bincount(task.object[chosen], task.expertise[chosen], task.n_objects)
    return float((sums / np.maximum(task.readings(chosen), 1)).min())


def floored(task: Task, *, seed: int) -> tuple[Task, float, float]:
    """Return the task with the highest floor under the mean expertise of an object's readers, that floor, and a bound.

    An integer programme makes the smallest mean as large as can be. Where its time ends first, or the floor leaves no
    connected design, it is somewhat lower; no design has one above the bound. With it, everything else is searched for
    as without.
    """
    if task.expertise is None:
        raise bad_option("A floor is one under the expertise at every object: give expertise, bids or topics.")
    if (task.least != task.most).any():
        raise bad_option("A floor needs a number of assessments for every object: leave out the target.")
    if task.n_pairs > MOST_PAIRS:
        raise bad_option(f"A floor is sought among up to {MOST_PAIRS:,} pairs: list those that may be chosen.")
    report("the highest floor", 0, None)
    generator = np.random.default_rng(seed)
    chosen, bound = _highest(task, task.expertise)
    if chosen is None:
        chosen = least_cost(task, 1 - task.expertise)
        if chosen is None:
            raise no_design(task)
    floor = least_expertise(task, chosen) or 0.0
    for step in range(STEPS + 1):
        asked = _with_floor(task, task.expertise, floor * (1 - step / STEPS))
        start = chosen if not step else least_cost(asked, 1 - task.expertise)
        if start is not None and joined(asked, start, generator)[0] is not None:
            return asked, floor * (1 - step / STEPS), bound
    raise NoDesignError("No connected design was found, with a floor under expertise or without.", kind="not_found")


def _with_floor(task: Task, expertise: Floats, floor: float) -> Task:
    """Return the task with a floor under the mean expertise of the readers of every object."""
    floors = Limits(
        start=task.start,
        pair=np.arange(task.n_pairs),
        weight=expertise,
        least=floor * task.least.astype(np.float64),
        most=np.full(task.n_objects, np.inf),
        kind=np.zeros(task.n_objects, dtype=np.int64),
        names=["an object has less expertise than the floor"],
    )
    return replace(task, limits=Limits.together(task.limits, floors))


def _highest(task: Task, expertise: Floats) -> tuple[Flags | None, float]:
    """Return a design whose objects all have as much expertise as can be had for the poorest, and the bound on that."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    matrix, low, high = limits_of_pairs(task)
    wide = sp.hstack([matrix, sp.csc_array((matrix.shape[0], 1))]).tocsc()
    at = np.arange(task.n_pairs)
    own = sp.csc_array((expertise, (task.object, at)), (task.n_objects, task.n_pairs))
    above: Any = sp.hstack([own, sp.csc_array(-task.least[:, None].astype(np.float64))]).tocsc()
    price: Floats = np.concatenate([-1e-4 * expertise / max(task.total, 1), [-1.0]])
    found = milp(
        price,
        constraints=[LinearConstraint(wide, low, high), LinearConstraint(above, 0, np.inf)],
        bounds=Bounds(np.append(task.fixed.astype(float), 0.0), np.ones(task.n_pairs + 1)),
        integrality=np.append(np.ones(task.n_pairs, dtype=np.int64), 0),
        options={"time_limit": SECONDS, "mip_rel_gap": 1e-4},
    )
    bound = 1.0 if found.mip_dual_bound is None else min(1.0, -float(found.mip_dual_bound))
    if found.x is None:
        return None, bound
    chosen = np.asarray(found.x[:-1] > 0.5, dtype=bool)
    return (None if task.broken(chosen) else chosen), bound
