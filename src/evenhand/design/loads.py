"""Loads that are as even as the rules allow, where nothing else is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from evenhand.compiled import Codes, Flags
from evenhand.design.causes import no_connection, simple_cause
from evenhand.design.program import least_cost
from evenhand.design.start import joined
from evenhand.design.task import Task
from evenhand.errors import NoDesignError
from evenhand.words import argument, count_of

UNEVEN: Final = 8
"""Loads are limited to at most this much above the even one; beyond, no limit is tried."""

MOST_JOINED: Final = 20_000
"""Up to this many pairs, loads are tried for a connected design; beyond, for any."""

SECONDS: Final = 5.0
"""Integer programming takes at most this long for each."""


def even_loads(task: Task, least_said: Flags, most_said: Flags) -> Task:
    """Return the task with loads that are as even as the rules allow, within those that were said (n_A each).

    Who has no most load gets the smallest, the same for all, that leaves a design, and nobody gets more than that; who
    has no least load reads at least an even share, rounded down. Where a most load was said of everybody, they read at
    least half an even share. Both give way where they leave no design.
    """
    _refuse_single(task)
    cap = np.where(most_said, task.most_load, task.n_objects)
    room = np.minimum(cap, np.bincount(task.assessor, minlength=task.n_assessors))
    share, even = load_levels(room, task.total)
    bound = np.maximum(task.loads(task.fixed), task.least_load)
    if most_said.all():
        levels = [(max(share // 2, 1), task.n_objects), (1, task.n_objects), (0, task.n_objects)]
    else:
        highest = [*range(even, min(even + UNEVEN, task.n_objects)), task.n_objects]
        levels = [(share, even), *((least, most) for most in highest for least in (share // 2, 0))]
    *tighter, loosest = [
        replace(
            task,
            least_load=np.where(least_said, task.least_load, np.minimum(least, room)),
            most_load=np.where(most_said & (cap <= most), cap, np.maximum(bound, most)),
        )
        for least, most in dict.fromkeys(levels)
    ]
    for tried in tighter:
        if _is_possible(tried):
            return tried
    error = simple_cause(loosest) or no_connection(loosest)
    if error is not None:
        raise error
    return loosest


def _is_possible(task: Task) -> bool:
    """Say whether a connected design was found."""
    if simple_cause(task) is not None or no_connection(task) is not None:
        return False
    try:
        chosen = least_cost(task, np.zeros(task.n_pairs))
    except NoDesignError:
        return False
    if chosen is None or task.n_pairs > MOST_JOINED:
        return chosen is not None
    return joined(task, chosen, np.random.default_rng(0), seconds=SECONDS)[0] is not None


def load_levels(room: Codes, total: int) -> tuple[int, int]:
    """Return an even load, rounded down and up, of assessors who have room for so many each.

    Examples
    --------
    >>> load_levels(np.array([3, 24, 24, 24, 24, 24]), 48), load_levels(np.array([9, 9]), 7)
    ((9, 9), (3, 4))
    """
    level = np.arange(int(room.max(initial=0)) + 1)
    taken = np.array([np.minimum(room, one).sum() for one in level])
    down, up = int(np.searchsorted(taken, total, side="right")) - 1, int(np.searchsorted(taken, total))
    return max(min(down, up), 0), min(up, level.size - 1)


def _refuse_single(task: Task) -> None:
    """Refuse what one assessor alone would have to read, where there are others."""
    able = int(np.count_nonzero(task.most_load))
    if task.n_objects > 1 and able > 1 and task.total < task.n_objects + 1:
        needed, alone = task.n_objects + able - 1, ""
        if int(task.most_load.max()) >= task.n_objects:
            alone = f" If one assessor is to read everything, say so: {argument('loads', 'free')}."
        raise NoDesignError(
            f"One assessment of each object cannot link assessors: {count_of(task.n_objects, 'object')} and "
            f"{count_of(able, 'assessor')} can be compared with each other only through "
            f"{count_of(needed, 'assessment')} or more, and {task.total:,} are asked for: {needed - task.total:,} "
            f"short. Ask for two assessments per object, or let everybody read one object ({argument('linking')})."
            f"{alone}",
            kind="connection",
            short=needed - task.total,
        )
