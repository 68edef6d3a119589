"""Posing a design problem: from what was given to pairs that may be chosen, and how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from evenhand.compiled import Floats
from evenhand.design.inputs import (
    Expected,
    Members,
    Pairs,
    expected_of,
    flags_of,
    floats_of,
    pairs_of,
    topics_expertise,
    whole_numbers,
)
from evenhand.design.problem import Codes, Problem
from evenhand.errors import InputError, NoDesignError

MOST_PAIRS: Final = 20_000_000
"""Up to so many pairs, all of them may be chosen; beyond, those that are listed, or some drawn at random."""

DRAWN: Final = 50
"""Assessors who are drawn at random for each object where there are too many pairs."""


def pose(
    objects: Members,
    assessors: Members,
    *,
    per_object: Any,
    min_load: Any,
    max_load: Any,
    conflicts: Pairs,
    fixed: Pairs,
    linking: Sequence[Any],
    expertise: Any,
    topics: Any,
    uncertainty: Any,
    factor: float,
    only_listed: bool,
    cost: Any,
    is_open: bool,
    seed: int,
) -> tuple[Problem, bool]:
    """Return the problem in arrays, and whether the most load is still to be found."""
    n_objects, n_assessors = len(objects.labels), len(assessors.labels)
    needed = whole_numbers(per_object, objects, "per_object", None)
    if needed is None and not is_open:
        raise InputError(
            "Say how many assessments each object needs: per_object, or a column of that name.", kind="bad_option"
        )
    if needed is not None and (needed < 1).any():
        label = objects.labels[int(np.argmin(needed))]
        raise InputError(
            f"Object {label} needs at least one assessment to have a value.", kind="bad_option", where=f"object {label}"
        )
    taken = pairs_of(conflicts, objects, assessors, "conflicts")
    must = pairs_of(fixed, objects, assessors, "fixed pairs")
    _refuse_both(taken, must, objects, assessors)
    everybody = flags_of(linking, objects, "linking")
    linked = (everybody[:, None] * n_assessors + np.arange(n_assessors)).ravel()
    must = np.union1d(must, np.setdiff1d(linked, taken))
    known = _known(objects, assessors, expertise, topics, uncertainty, factor)
    if only_listed and known is None:
        raise InputError("Only listed pairs may be chosen, and none are listed: give expertise.", kind="bad_option")
    keys = _possible(n_objects, n_assessors, known, taken, must, only_listed=only_listed, seed=seed)
    object_, assessor = np.divmod(keys, n_assessors)
    precision, skill, in_points = _expectations(keys, known, uncertainty)
    prices = floats_of(cost, assessors, "cost")
    if prices is not None and (prices < 0).any():
        raise InputError("Costs must not be negative.", kind="bad_option")
    least = np.ones(n_objects, dtype=np.int64) if is_open or needed is None else needed.copy()
    most = np.full(n_objects, n_assessors) if needed is None else needed.copy()
    readers = np.bincount(np.intersect1d(linked, must) // n_assessors, minlength=n_objects)
    least[everybody] = most[everybody] = readers[everybody]
    limit = whole_numbers(max_load, assessors, "max_load", n_objects)
    open_load = max_load is None and "max_load" not in assessors.columns
    problem = Problem(
        objects=objects.labels,
        assessors=assessors.labels,
        object=object_,
        assessor=assessor,
        precision=precision,
        expertise=skill,
        cost=np.ones(keys.size) if prices is None else prices[assessor],
        fixed=np.isin(keys, must, assume_unique=True),
        least=least,
        most=most,
        least_load=_or(whole_numbers(min_load, assessors, "min_load", 0), 0, n_assessors),
        most_load=_or(limit, n_objects, n_assessors),
        total=int(most.sum()),
        conflicts=taken,
        in_points=in_points,
    )
    return problem, open_load


def _or(numbers: Codes | None, default: int, count: int) -> Codes:
    return np.full(count, default) if numbers is None else numbers


def _refuse_both(taken: Codes, must: Codes, objects: Members, assessors: Members) -> None:
    both = np.intersect1d(taken, must)
    if both.size:
        o, a = divmod(int(both[0]), len(assessors.labels))
        raise NoDesignError(
            f"Assessor {assessors.labels[a]} and object {objects.labels[o]} are a fixed pair and in conflict: lift the "
            "conflict, or free the pair.",
            kind="fixed",
            objects=[objects.labels[o]],
            assessors=[assessors.labels[a]],
            short=int(both.size),
        )


def _known(
    objects: Members, assessors: Members, expertise: Any, topics: Any, uncertainty: Any, factor: float
) -> Expected | None:
    """Return what is known of pairs: uncertainties, expertise or topics, whichever was given."""
    by_pair = uncertainty is not None and not isinstance(uncertainty, int | float | np.number)
    if expertise is not None and (topics is not None or by_pair):
        raise InputError("Give one of expertise, topics and uncertainties by pair.", kind="bad_option")
    if by_pair:
        return expected_of(uncertainty, objects, assessors, form="uncertainty", factor=factor)
    if expertise is not None:
        return expected_of(expertise, objects, assessors, form="expertise", factor=factor)
    return topics_expertise(objects, assessors, topics, factor)


def _possible(
    n_objects: int,
    n_assessors: int,
    known: Expected | None,
    taken: Codes,
    must: Codes,
    *,
    only_listed: bool,
    seed: int,
) -> Codes:
    """Return the keys of all pairs that may be chosen."""
    count = n_objects * n_assessors
    if known is not None and (only_listed or count > MOST_PAIRS):
        keys = np.union1d(known.keys, must)
    elif count > MOST_PAIRS:
        generator = np.random.default_rng(seed)
        drawn = generator.integers(0, n_assessors, (n_objects, DRAWN)) + n_assessors * np.arange(n_objects)[:, None]
        keys = np.union1d(drawn, must)
    else:
        keys = np.arange(count)
    return np.setdiff1d(keys, taken, assume_unique=True)


def _expectations(keys: Codes, known: Expected | None, uncertainty: Any) -> tuple[Floats, Floats | None, bool]:
    """Return precision and expertise of pairs, and whether precisions are in points."""
    usual = 1.0
    in_points = isinstance(uncertainty, int | float | np.number)
    if in_points:
        if not (np.isfinite(uncertainty) and uncertainty > 0):
            raise InputError("The uncertainty of a score must be positive.", kind="bad_option")
        usual = 1 / float(uncertainty) ** 2
    if known is None:
        return np.full(keys.size, usual), None, in_points
    at = np.minimum(np.searchsorted(known.keys, keys), known.keys.size - 1)
    is_known = known.keys[at] == keys
    precision = np.where(is_known, known.precision[at], known.otherwise)
    if known.expertise is None:
        return precision, None, True
    return usual * precision, np.where(is_known, known.expertise[at], 0.0), in_points
