"""Second scores of the same object by the same assessor, found among millions of rows without sorting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.compiled import compiled, sum_by, wants_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray


def has_repeats(
    object_index: NDArray[np.uint32], assessor_index: NDArray[np.uint32], n_objects: int, n_assessors: int
) -> bool:
    """Say whether an assessor scored an object twice."""
    if not wants_loops(object_index.size):
        pair = object_index.astype(np.int64) * n_assessors + assessor_index
        pair.sort()
        return bool((pair[1:] == pair[:-1]).any())
    if n_objects < n_assessors:
        return bool(compiled(_has_repeats)(object_index, assessor_index, n_objects, n_assessors))
    return bool(compiled(_has_repeats)(assessor_index, object_index, n_assessors, n_objects))


def first_of_pair(
    object_index: NDArray[np.uint32], assessor_index: NDArray[np.uint32], n_objects: int, n_assessors: int
) -> NDArray[np.int64]:
    """Return for every row the position of the first one with the same object and assessor."""
    if not wants_loops(object_index.size):
        pair = object_index.astype(np.int64) * n_assessors + assessor_index
        _, first, group = np.unique(pair, return_index=True, return_inverse=True)
        return np.asarray(first[group], dtype=np.int64)
    return np.asarray(compiled(_first_of_pair)(object_index, assessor_index, n_objects, n_assessors))


def combine(
    first: NDArray[np.int64], score: NDArray[np.float64], precision: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the positions that stay, and their scores and precisions once all others are combined with them."""
    kept = np.flatnonzero(first == np.arange(first.size))
    place = np.searchsorted(kept, first)
    total = sum_by(place, precision, kept.size)
    # the mean as a step from the first score, so that a pair seen once keeps its score to the last digit
    step = precision * (score - score[first])
    return kept, score[kept] + sum_by(place, step, kept.size) / total, total


def _has_repeats(group: Any, member: Any, n_groups: int, n_members: int) -> bool:
    """Say whether some pair (group, member) occurs twice, in time linear in the number of rows."""
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    sorted_member = np.empty(member.size, np.uint32)
    for i in range(group.size):
        g = group[i]
        sorted_member[place[g]] = member[i]
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    for g in range(n_groups):
        for i in range(begin[g], begin[g + 1]):
            m = sorted_member[i]
            if seen[m] == g + 1:
                return True
            seen[m] = g + 1
    return False


def _first_of_pair(group: Any, member: Any, n_groups: int, n_members: int) -> Any:
    """Return for every row the position of the first row with the same pair (group, member)."""
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    order = np.empty(group.size, np.int64)
    for i in range(group.size):
        g = group[i]
        order[place[g]] = i
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    where = np.zeros(n_members, np.int64)
    first = np.empty(group.size, np.int64)
    for g in range(n_groups):
        for k in range(begin[g], begin[g + 1]):
            i = order[k]
            m = member[i]
            if seen[m] != g + 1:
                seen[m] = g + 1
                where[m] = i
            first[i] = where[m]
    return first
