"""Where assessors and objects stand in a picture: those who belong together, together, and groups apart."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.panel.panel import Panel
from evenhand.plots.style import Codes
from evenhand.solve.connectivity import Connectivity

_SWEEPS: Final = 12


def orders(panel: Panel, parts: Connectivity) -> tuple[Codes, Codes]:
    """Return places of objects and of assessors, group by group, so that those who belong together stand together."""
    edges = sp.coo_array(
        (np.ones(panel.n_assessments), (panel.object_index, panel.assessor_index)),
        shape=(panel.n_objects, panel.n_assessors),
    )
    both = sp.block_array([[None, edges], [edges.T, None]]).tocsr()
    walk = sp.csgraph.reverse_cuthill_mckee(both, symmetric_mode=True)
    at = np.empty(walk.size)
    at[walk] = np.arange(walk.size)
    of_objects = places(parts.object_component, at[: panel.n_objects])
    of_assessors = places(parts.assessor_component, at[panel.n_objects :])
    for _ in range(_SWEEPS):  # each to the middle of its neighbours, so that few links cross
        middle = sum_by(panel.object_index, of_assessors[panel.assessor_index].astype(float), panel.n_objects)
        of_objects = places(parts.object_component, middle / panel.object_assessments)
        middle = sum_by(panel.assessor_index, of_objects[panel.object_index].astype(float), panel.n_assessors)
        of_assessors = places(parts.assessor_component, middle / panel.assessor_assessments)
    return of_objects, of_assessors


def places(component: Codes, key: Floats) -> Codes:
    """Return the place of each, from 0: group by group, and by the key within a group."""
    place = np.empty(key.size, dtype=np.int64)
    place[np.lexsort((key, component))] = np.arange(key.size)
    return place


def around(place: Codes, component: Codes, one: Codes, two: Codes, weight: Floats) -> Codes:
    """Return places on a circle from which strong links are short: two change places as long as that helps.

    Parameters
    ----------
    place
        Places to begin with, from 0.
    component
        Groups; only members of the same change places.
    one, two, weight
        The ends of the links, and how strong they are.
    """
    place, count = place.copy(), place.size

    def length() -> float:
        return float((weight * np.abs(np.sin(np.pi * (place[one] - place[two]) / count))).sum())

    best, better = length(), True
    while better:
        better = False
        for first, second in combinations(range(count), 2):
            if component[first] != component[second]:
                continue
            place[[first, second]] = place[[second, first]]
            now = length()
            if now < best - 1e-9:
                best, better = now, True
            else:
                place[[first, second]] = place[[second, first]]
    return place


def spread(place: Codes, component: Codes, share: Floats) -> Floats:
    """Return heights between 0 and 1: each group in its own part, its members evenly within."""
    start = np.concatenate([[0.0], np.cumsum(share)[:-1]])
    count = np.bincount(component, minlength=share.size)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    within = (place - first[component] + 0.5) / count[component]
    return np.asarray(start[component] + share[component] * (0.04 + 0.92 * within))
