"""Small design tasks for tests, and brute force over all designs of them."""

import itertools
from collections.abc import Iterator

import numpy as np

from evenhand.compiled import Flags, Floats
from evenhand.design.task import Task


def make_task(
    n_objects: int,
    n_assessors: int,
    per_object: int,
    *,
    loads: tuple[int, int] | None = None,
    conflicts: Flags | None = None,
    precision: Floats | None = None,
    fixed: Flags | None = None,
) -> Task:
    """Return a task; matrices are assessors x objects."""
    allowed = np.ones((n_assessors, n_objects), dtype=bool) if conflicts is None else ~conflicts
    object_, assessor = np.nonzero(allowed.T)
    return Task(
        objects=[f"o{at}" for at in range(n_objects)],
        assessors=[f"a{at}" for at in range(n_assessors)],
        object=object_,
        assessor=assessor,
        precision=np.ones(object_.size) if precision is None else precision[assessor, object_],
        expertise=None,
        cost=np.ones(object_.size),
        fixed=np.zeros(object_.size, dtype=bool) if fixed is None else fixed[assessor, object_],
        least=np.full(n_objects, per_object),
        most=np.full(n_objects, per_object),
        least_load=np.full(n_assessors, 0 if loads is None else loads[0]),
        most_load=np.full(n_assessors, n_objects if loads is None else loads[1]),
        total=n_objects * per_object,
        conflicts=np.flatnonzero(~allowed.T.ravel()),
    )


def all_designs(task: Task) -> Iterator[Flags]:
    """Yield every design that keeps the rules of a task with a number of assessments for each object."""
    choices = [
        list(itertools.combinations(range(task.start[o], task.start[o + 1]), int(task.least[o])))
        for o in range(task.n_objects)
    ]
    for picked in itertools.product(*choices):
        chosen = np.zeros(task.n_pairs, dtype=bool)
        chosen[list(itertools.chain(*picked))] = True
        if not task.broken(chosen):
            yield chosen


def covariance(task: Task, chosen: Flags) -> Floats | None:
    """Return Cov(v) in the weighted gauge, w = 1, from a pseudo-inverse; None where the design is not connected."""
    used = np.unique(task.assessor[chosen])
    n_objects, n = task.n_objects, task.n_objects + used.size
    laplacian = np.zeros((n, n))
    weights = np.zeros(n)
    for pair in np.flatnonzero(chosen):
        o, a, c = (
            task.object[pair],
            n_objects + int(np.searchsorted(used, task.assessor[pair])),
            task.precision[pair],
        )
        for i, j in itertools.product((o, a), repeat=2):
            laplacian[i, j] += c
        weights[a] += c
    if np.linalg.matrix_rank(laplacian) < n - 1:
        return None
    null = np.concatenate([np.ones(n_objects), -np.ones(used.size)])
    projection = np.eye(n) - np.outer(null, weights) / (weights @ null)
    full = projection @ np.linalg.pinv(laplacian) @ projection.T
    return np.asarray(full[:n_objects, :n_objects], dtype=np.float64)


def mean_variance(task: Task, chosen: Flags) -> float:
    """Return the mean variance of the values; infinite where the design is not connected."""
    found = covariance(task, chosen)
    return np.inf if found is None else float(np.diagonal(found).mean())
