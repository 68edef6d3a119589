"""Designs beside chance, beside every other design where all can be tried, and at the size of a conference.

``python benchmarks/design.py`` prints, all measured in one run:

- for grant-size tasks, the mean variance of values of our design beside that of random assignments under the same
  rules (their mean, and the best of a thousand), with equal confidence and with confidence that differs by pair, and
  beside a bound that no design can go below;
- for a conference of 15,000 papers, 10,000 reviewers and 50 candidates with expertise for each paper, the time and
  memory of a connected design beside the time of the bare flow of least cost.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from crowd import flow

import evenhand as eh
from evenhand.design.inverse import Inverse
from evenhand.design.result import random_designs
from evenhand.design.start import parts_of
from evenhand.design.task import Task

GRANTS = ((43, 11, 2), (100, 25, 3), (300, 40, 3))


def mean_variance(task: Task, chosen: np.ndarray) -> float:
    """Return the mean variance of values in the gauge of a fit."""
    weight = np.full(task.n_objects, 1 / task.n_objects)
    return Inverse(task, chosen, weight).variance


def bound(task: Task) -> float:
    """Return what no design of equal confidence and full loads can go below.

    By the inequality of means tr(C^+) >= (n_O - 1)^2 / tr C, and tr C = N - the number of assessors at work. The
    level of all values adds 1/N.
    """
    fewest = int(np.searchsorted(np.cumsum(np.sort(task.most_load)[::-1]), task.total)) + 1
    n_objects = task.n_objects
    return (n_objects - 1) ** 2 / n_objects / (task.total - fewest) + 1 / task.total


def grants(draws: int) -> Iterator[str]:
    """Yield a line for each grant-size task."""
    yield "objects assessors each confidence      ours  random (mean)  best of random  lower by  at most by   seconds"
    for n_objects, n_assessors, readings in GRANTS:
        for levels in (False, True):
            generator = np.random.default_rng(n_objects)
            conflicts = [
                (str(a + 1), str(o + 1))
                for a in range(n_assessors)
                for o in range(n_objects)
                if generator.random() < 0.1
            ]
            expertise = generator.choice([0.0, 0.5, 1.0], (n_assessors, n_objects)) if levels else None
            began = time.perf_counter()
            design = eh.assign(n_objects, n_assessors, per_object=readings, conflicts=conflicts, expertise=expertise)
            seconds = time.perf_counter() - began
            task = design.task
            chance = [
                mean_variance(task, chosen)
                for chosen in random_designs(task, draws, seed=1)
                if parts_of(task, chosen)[0] == 1
            ]
            ours, mean = mean_variance(task, design.chosen), float(np.mean(chance))
            most = "" if levels else f"{100 * (1 - bound(task) / mean):10.1f} %"
            yield (
                f"{n_objects:7} {n_assessors:9} {readings:4} {'levels' if levels else 'equal':>10} {ours:9.4f} "
                f"{mean:14.4f} {min(chance):15.4f} {100 * (1 - ours / mean):7.1f} % {most:>12} {seconds:9.1f}"
            )


def conference() -> str:
    """Return a line on the conference."""
    n_objects, n_assessors, candidates = 15_000, 10_000, 50
    generator = np.random.default_rng(1)
    drawn = np.concatenate([generator.choice(n_assessors, candidates, replace=False) for _ in range(n_objects)])
    papers = np.repeat(np.arange(n_objects), candidates)
    expertise = sp.csc_array((generator.random(drawn.size), (drawn, papers)), shape=(n_assessors, n_objects))
    banned = np.flatnonzero(generator.random(drawn.size) < 0.01)
    conflicts = [(str(drawn[at] + 1), str(papers[at] + 1)) for at in banned.tolist()]

    def ours() -> eh.Design:
        return eh.assign(
            n_objects,
            n_assessors,
            per_object=4,
            max_load=7,
            conflicts=conflicts,
            expertise=expertise,
            only_listed=True,
            expertise_weight=0.5,
        )

    began = time.perf_counter()
    design = ours()
    first = time.perf_counter() - began
    began = time.perf_counter()
    flow(design.task)
    bare = time.perf_counter() - began
    began = time.perf_counter()
    design = ours()
    again = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    parts = parts_of(design.task, design.chosen)[0]
    return (
        f"conference: {again / bare:.1f} times the bare flow ({first / bare:.1f} in the first run of all, which "
        f"compiles loops that are then kept on disk), {memory:.2f} GiB, "
        f"{parts} part, rules broken: {design.task.broken(design.chosen) or 'none'}, "
        f"mean expertise {design.mean_expertise:.3f}; to be under 10 times and 4 GiB: "
        f"{'reached' if again < 10 * bare and memory < 4 and parts == 1 else 'missed'}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000, help="random assignments to compare with")
    parser.add_argument("--only", choices=["grants", "conference"])
    options = parser.parse_args()
    if options.only != "grants":
        print(conference(), flush=True)
    if options.only != "conference":
        for line in grants(options.draws):
            print(line, flush=True)
