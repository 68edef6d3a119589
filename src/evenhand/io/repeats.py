"""Second scores of the same object by the same assessor, found among millions of rows without sorting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.io.loops import compiled
from evenhand.loops import sum_by

if TYPE_CHECKING:
    from numpy.typing import NDArray


def has_repeats(
    object_index: NDArray[np.uint32], assessor_index: NDArray[np.uint32], n_objects: int, n_assessors: int
) -> bool:
    """Say whether an assessor scored an object twice."""
    loops = compiled()
    if loops is None:
        pair = object_index.astype(np.int64) * n_assessors + assessor_index
        pair.sort()
        return bool((pair[1:] == pair[:-1]).any())
    if n_objects < n_assessors:
        return bool(loops.has_repeats(object_index, assessor_index, n_objects, n_assessors))
    return bool(loops.has_repeats(assessor_index, object_index, n_assessors, n_objects))


def first_of_pair(
    object_index: NDArray[np.uint32], assessor_index: NDArray[np.uint32], n_objects: int, n_assessors: int
) -> NDArray[np.int64]:
    """Return for every row the position of the first one with the same object and assessor."""
    loops = compiled()
    if loops is None:
        pair = object_index.astype(np.int64) * n_assessors + assessor_index
        _, first, group = np.unique(pair, return_index=True, return_inverse=True)
        return np.asarray(first[group], dtype=np.int64)
    return np.asarray(loops.first_of_pair(object_index, assessor_index, n_objects, n_assessors))


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
