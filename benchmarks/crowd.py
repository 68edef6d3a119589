"""Designs for a conference: what exchange moves take, beside the flow they start from, and what they are worth.

``python benchmarks/crowd.py`` prints times as multiples of the bare flow's in the same run. Mean variances come from
calibrations of the designs, by none of the formulas that the moves are chosen by; they need minutes and memory of
their own, so they are left to the end. It needs OR-Tools.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Final

import numpy as np
from ortools.graph.python import min_cost_flow

import evenhand as eh
from evenhand.compiled import Codes, Flags
from evenhand.design.spread import spread
from evenhand.design.task import Task

OBJECTS: Final = 15_000
ASSESSORS: Final = 10_000
READINGS: Final = 4
MOST_LOAD: Final = 7
CANDIDATES: Final = 50
WEIGHTS: Final = (0.0, 0.5, 0.9, 1.0)
REPEATS: Final = 3


def make_task(object_: Codes, assessor: Codes, readings: int, loads: tuple[int, int], seed: int) -> Task:
    """Return a task with random expertise: so many assessments of each object, loads within bounds."""
    n_objects, n_assessors, n_pairs = int(object_.max()) + 1, int(assessor.max()) + 1, object_.size
    return Task(
        objects=[f"o{index}" for index in range(n_objects)],
        assessors=[f"a{index}" for index in range(n_assessors)],
        object=object_,
        assessor=assessor,
        precision=np.ones(n_pairs),
        expertise=np.random.default_rng(seed).random(n_pairs),
        cost=np.ones(n_pairs),
        fixed=np.zeros(n_pairs, dtype=bool),
        least=np.full(n_objects, readings),
        most=np.full(n_objects, readings),
        least_load=np.full(n_assessors, loads[0]),
        most_load=np.full(n_assessors, loads[1]),
        total=n_objects * readings,
        conflicts=np.empty(0, dtype=np.int64),
    )


def conference() -> Task:
    """Return the conference: fifty assessors who may read each object, less one in a hundred for conflicts."""
    generator = np.random.default_rng(1)
    drawn = np.array([np.sort(generator.choice(ASSESSORS, CANDIDATES, replace=False)) for _ in range(OBJECTS)])
    free = generator.random(drawn.size) > 0.01
    object_ = np.repeat(np.arange(OBJECTS), CANDIDATES)[free]
    return make_task(object_, drawn.ravel()[free], READINGS, (0, MOST_LOAD), 2)


def flow(task: Task) -> Flags:
    """Return the design of most expertise, by minimum-cost flow."""
    assert task.expertise is not None
    n_objects, n_assessors = task.n_objects, task.n_assessors
    source, sink = n_objects + n_assessors, n_objects + n_assessors + 1
    objects, assessors = np.arange(n_objects), np.arange(n_assessors) + n_objects
    network = min_cost_flow.SimpleMinCostFlow()
    add = network.add_arcs_with_capacity_and_unit_cost
    add(np.full(n_assessors, source), assessors, task.most_load, np.zeros(n_assessors, dtype=np.int64))
    cost = np.round(1000 * (1 - task.expertise)).astype(np.int64)
    arcs = add(task.assessor + n_objects, task.object, np.ones(task.n_pairs, dtype=np.int64), cost)
    add(objects, np.full(n_objects, sink), task.least, np.zeros(n_objects, dtype=np.int64))
    network.set_node_supply(source, task.total)
    network.set_node_supply(sink, -task.total)
    assert network.solve() == network.OPTIMAL
    return np.asarray(network.flows(arcs) > 0)


def panel_of(task: Task, chosen: Flags) -> eh.Panel:
    """Return the panel that a design leads to, with the assessors in use."""
    used = np.unique(task.assessor[chosen], return_inverse=True)[1]
    count = int(chosen.sum())
    return eh.Panel.from_arrays(task.object[chosen], used, np.zeros(count), np.ones(count))


def mean_variance(task: Task, chosen: Flags) -> float:
    """Return the mean variance of the values."""
    fit = eh.calibrate(panel_of(task, chosen), noise="declared")
    assert fit.values.sd is not None
    return float(np.mean(fit.values.sd**2))


def at_conference() -> None:
    """Print times, memory, variances and expertise at the conference."""
    task = conference()
    assert task.expertise is not None
    bare = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        start = flow(task)
        bare.append(time.perf_counter() - began)
    unit = float(np.median(bare))
    began = time.perf_counter()
    spread(task, start, weight=1.0, seed=1, passes=1)
    print(f"flow: 1, from {min(bare) / unit:.2f} to {max(bare) / unit:.2f}")
    print(f"first call, with compilation where it was not on disk: {(time.perf_counter() - began) / unit:.1f}")
    designs, times = [], []
    for weight in WEIGHTS:
        taken = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            design = spread(task, start, weight=weight, seed=1)
            taken.append((time.perf_counter() - began) / unit)
        designs.append(design)
        times.append(float(np.median(taken)))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    before = 0.0
    print("weight   time  mean variance  mean expertise  assessors  components  rules broken")
    names = ["flow", *map(str, WEIGHTS)]
    for name, multiple, design in zip(names, [1.0, *times], [start, *designs], strict=True):
        panel, variance = panel_of(task, design), mean_variance(task, design)
        before = before or variance
        print(
            f"{name:>6} {multiple:6.2f} {variance / before:14.4f} "
            f"{task.expertise[design].mean():15.4f} {panel.n_assessors:10} "
            f"{eh.connectivity(panel).n_components:11} {len(task.broken(design)):13}",
            flush=True,
        )


def random_design(task: Task, generator: np.random.Generator) -> Flags:
    """Return a random design in which everybody may read everything and loads differ by one at most."""
    n_objects, n_assessors = task.n_objects, task.n_assessors
    reads = np.zeros((n_objects, n_assessors), dtype=bool)
    for number, object_ in enumerate(np.repeat(np.arange(n_objects), task.least)):
        reads[object_, number % n_assessors] = True
    for _ in range(20 * task.total):
        one, other = generator.integers(n_objects, size=2)
        a, b = generator.choice(np.flatnonzero(reads[one])), generator.choice(np.flatnonzero(reads[other]))
        if not reads[one, b] and not reads[other, a]:
            reads[one, a] = reads[other, b] = False
            reads[one, b] = reads[other, a] = True
    return reads.ravel()


def in_the_middle(n_objects: int, n_assessors: int, readings: int) -> None:
    """Print mean variances of random designs, before and after, beside a bound that none can go below.

    C has the eigenvalue r at least n_O - n_A times; were all others equal, their mean would follow from tr C. The
    mean of all scores, which calibration keeps, adds 1/N to each variance.
    """
    object_, assessor = np.divmod(np.arange(n_objects * n_assessors), n_assessors)
    load = n_objects * readings / n_assessors
    task = make_task(object_, assessor, readings, (int(np.floor(load)), int(np.ceil(load))), 3)
    generator = np.random.default_rng(4)
    starts = [random_design(task, generator) for _ in range(20)]
    ends = [spread(task, start, weight=0.0, seed=seed) for seed, start in enumerate(starts)]
    assert not any(task.broken(end) for end in ends)
    free, tied = n_objects - n_assessors, n_assessors - 1
    rest = n_objects * readings - n_assessors - readings * free
    bound = (free / readings + tied**2 / rest) / n_objects + 1 / task.total
    before, after = ([100 * mean_variance(task, one) / bound for one in some] for some in (starts, ends))
    print(f"{n_objects} objects, {n_assessors} assessors, {readings} each: mean variances in percent of the bound")
    for name, found in (("random", before), ("spread", after)):
        print(f"  {name}: {np.mean(found):.3f}, from {min(found):.3f} to {max(found):.3f}")


if __name__ == "__main__":
    in_the_middle(60, 12, 3)
    in_the_middle(300, 40, 3)
    if "small" not in sys.argv:
        at_conference()
