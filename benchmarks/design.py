"""Designs beside what else could be done, from a small panel to a conference: how precise values are, and the time.

``python benchmarks/design.py`` prints a table, all of one run. For each size, with and without roles, the mean variance
of the values is shown in percent of that of our design, under the same rules, for

- assignments at random, connected ones: their mean;
- maximal expertise: the flow of most total expertise;
- max-min: the least expertise of a pair as high as can be, then most expertise in all;
- long annealing: swaps and reassignments at random, made if they help or by a chance that falls, far longer than our
  search.

Seconds are of the processor. Mean variances of large designs are estimated with the same random vectors for all.
``--only conference`` prints what conferences take, the first time and again, as multiples of the bare flow, and
``--only grants`` the gain over random assignments, for equal confidence beside a bound that no design can go below.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from crowd import flow
from scipy.sparse.linalg import cg

import evenhand as eh
from evenhand.compiled import Flags
from evenhand.design.inverse import Inverse
from evenhand.design.program import least_cost
from evenhand.design.result import random_designs
from evenhand.design.start import parts_of
from evenhand.design.task import Task

GRANTS = ((43, 11, 2), (100, 25, 3), (300, 40, 3))
SIZES = ((20, 8, 2), (43, 11, 2), (100, 25, 3), (300, 40, 3), (500, 60, 3), (1_000, 150, 3), (15_000, 10_000, 4))
LARGEST_EXACT, LARGEST_ANNEALED = 2_000, 1_200
CANDIDATES = 50


def request(n_objects: int, n_assessors: int, readings: int, *, roles: bool) -> tuple[Any, Any, dict[str, Any]]:
    """Return objects, assessors and options: a tenth of the pairs in conflict, and levels of expertise at random.

    With roles, a third of the assessors are senior, one of whom each object needs, and no two come from one of many
    institutions.
    """
    generator = np.random.default_rng(n_objects)
    names = [f"a{at}" for at in range(n_assessors)]
    options: dict[str, Any] = {"per_object": readings}
    if n_objects * n_assessors > 10**7:
        drawn = np.concatenate([generator.choice(n_assessors, CANDIDATES, replace=False) for _ in range(n_objects)])
        papers = np.repeat(np.arange(n_objects), CANDIDATES)
        levels = generator.choice([1e-9, 0.5, 1.0], drawn.size)
        options["expertise"] = sp.csc_array((levels, (drawn, papers)), shape=(n_assessors, n_objects))
        options |= {"only_listed": True, "max_load": 7, "min_load": 5}
    else:
        taken = np.argwhere(generator.random((n_assessors, n_objects)) < 0.1)
        options["conflicts"] = [(names[a], f"o{o}") for a, o in taken.tolist()]
        options["expertise"] = generator.choice([0.0, 0.5, 1.0], (n_assessors, n_objects))
    assessors: Any = names
    if roles:
        role = np.where(np.arange(n_assessors) % 3 == 0, "senior", "junior").tolist()
        institution = [f"i{at}" for at in generator.integers(0, max(2, n_assessors // 2), n_assessors).tolist()]
        assessors = pl.DataFrame({"assessor": names, "role": role, "institution": institution})
        options |= {"require": {"role": {"senior": 1}}, "limit": {"institution": 1}}
    return [f"o{at}" for at in range(n_objects)], assessors, options


def mean_variance(task: Task, chosen: Flags, probes: int = 40) -> float:
    """Return the mean variance of values about their mean, for large designs by solving for random vectors."""
    if task.n_assessors <= LARGEST_EXACT:
        return Inverse(task, chosen).variance
    weight = sp.csr_array(
        (task.precision[chosen], (task.object[chosen], task.assessor[chosen])), (task.n_objects, task.n_assessors)
    )
    used = np.flatnonzero(weight.sum(axis=0))
    weight, own = sp.csr_array(weight[:, used]), np.asarray(weight.sum(axis=1), dtype=np.float64)
    share = sp.csr_array(sp.diags_array(1 / own) @ weight)
    reduced = sp.csr_array(sp.diags_array(np.asarray(weight.sum(axis=0))) - weight.T @ share)
    generator, found = np.random.default_rng(1), []
    for _ in range(probes):
        vector = generator.choice([-1.0, 1.0], task.n_objects)
        pull = share.T @ (vector - own * (vector @ np.ones(own.size)) / own.sum())
        found.append(pull @ cg(reduced, pull, rtol=1e-6)[0])
    return float((1 / own).mean() + np.mean(found) / task.n_objects)


def at_random(task: Task) -> float | None:
    """Return the mean over connected random assignments."""
    draws = 100 if task.total <= 300 else 10 if task.total <= 3_000 else 1
    found = [
        mean_variance(task, chosen) for chosen in random_designs(task, draws, seed=1) if parts_of(task, chosen)[0] == 1
    ]
    return float(np.mean(found)) if found else None


def of_most_expertise(task: Task) -> float | None:
    """Return what maximal total expertise gives."""
    assert task.expertise is not None
    chosen = least_cost(task, 1 - task.expertise)
    return None if chosen is None or parts_of(task, chosen)[0] > 1 else mean_variance(task, chosen)


def of_most_least(task: Task) -> float | None:
    """Return what most expertise gives under the highest floor under the expertise of every pair."""
    assert task.expertise is not None
    best = None
    for floor in np.unique(np.round(task.expertise, 3)).tolist():
        below = task.expertise < floor - 1e-3
        chosen = least_cost(task, np.where(below, 1.0, (1 - task.expertise) / (2 * task.total)))
        if chosen is None or (chosen & below & ~task.fixed).any():
            break
        best = chosen
    return None if best is None or parts_of(task, best)[0] > 1 else mean_variance(task, best)


def annealed(task: Task, start: Flags, seconds: float) -> float:
    """Return the lowest mean variance that annealing meets, from a design at random."""
    generator, inverse = np.random.default_rng(3), Inverse(task, start)
    lowest, end, began = inverse.variance, time.process_time() + seconds, time.process_time()
    loads = task.loads(start)
    while (now := time.process_time()) < end:
        heat = 2e-4 * inverse.variance * (1 - (now - began) / seconds) ** 2
        held = np.flatnonzero(inverse.chosen & ~task.fixed)
        pair = int(generator.choice(held))
        partner = held[generator.integers(0, held.size, 8)]
        come = task.position(np.full(8, task.assessor[pair]), task.object[partner])
        back = task.position(task.assessor[partner], np.full(8, task.object[pair]))
        good = (come >= 0) & (back >= 0)
        good &= ~inverse.chosen[come] & ~inverse.chosen[back]
        signs: tuple[int, ...] = (-1, -1, 1, 1)
        moves = [np.array([pair]), partner[good], come[good], back[good]]
        if generator.random() < 0.3:
            target = np.arange(task.start[task.object[pair]], task.start[task.object[pair] + 1])
            target = target[~inverse.chosen[target] & (loads < task.most_load)[task.assessor[target]]]
            target = target if loads[task.assessor[pair]] > task.least_load[task.assessor[pair]] else target[:0]
            moves, signs = [np.array([pair]), target], (-1, 1)
        keeps = task.allowed(task.limits.sums(inverse.chosen), moves, signs)
        moves = [moves[0], *(one[keeps] for one in moves[1:])]
        if not moves[-1].size:
            continue
        found = inverse.mean_variances(moves, signs)
        at = int(generator.integers(found.size))
        if found[at] < inverse.variance - heat * np.log(generator.random()):
            inverse.move([pair, *(int(one[at]) for one in moves[1:])], signs)
            loads, lowest = task.loads(inverse.chosen), min(lowest, inverse.variance)
    return lowest


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the seconds of the processor that it took."""
    began = time.process_time()
    found = call()
    return found, time.process_time() - began


def table(seconds: float, largest: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| objects | assessors | each | roles | random | expertise | max-min | annealing | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for n_objects, n_assessors, readings in SIZES:
        for roles in (False, True):
            if n_objects > largest:
                continue
            objects, assessors, options = request(n_objects, n_assessors, readings, roles=roles)
            design, took = timed(partial(eh.assign, objects, assessors, **options))
            task = design.task
            assert not task.broken(design.chosen)
            ours = mean_variance(task, design.chosen)
            others: list[float | None] = [at_random(task), of_most_expertise(task), of_most_least(task)]
            small = n_objects + n_assessors <= LARGEST_ANNEALED
            start = next((one for one in random_designs(task, 50, seed=2) if parts_of(task, one)[0] == 1), None)
            others.append(annealed(task, start, seconds) if small and start is not None else None)
            cells = ["–" if one is None else f"{100 * one / ours:.2f}" for one in others]
            yield (
                f"| {n_objects:,} | {n_assessors:,} | {readings} | {'yes' if roles else 'no'} | {' | '.join(cells)} "
                f"| {took:.1f} |"
            )


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
            options: dict[str, Any] = {"per_object": readings, "conflicts": conflicts, "expertise": expertise}
            design, seconds = timed(partial(eh.assign, n_objects, n_assessors, **options))
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


def conference(n_objects: int, n_assessors: int, candidates: int, most: int) -> str:
    """Return a line on a conference: what a design takes, the first time and again, beside the bare flow."""
    generator = np.random.default_rng(1)
    first = generator.integers(0, n_assessors, n_objects)[:, None]
    steps = np.cumsum(generator.integers(1, n_assessors // candidates, (n_objects, candidates)), axis=1)
    drawn, papers = ((first + steps) % n_assessors).ravel(), np.repeat(np.arange(n_objects), candidates)
    expertise = sp.csc_array((generator.random(drawn.size), (drawn, papers)), shape=(n_assessors, n_objects))

    def ours() -> eh.Design:
        return eh.assign(
            n_objects,
            n_assessors,
            per_object=4,
            max_load=most,
            expertise=expertise,
            only_listed=True,
            expertise_weight=0.5,
        )

    design, before = timed(ours)
    bare = timed(lambda: flow(design.task))[1]
    again = timed(ours)[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{n_objects:,} x {n_assessors:,}: {again / bare:.1f} times the bare flow of {bare:.1f} s "
        f"({before / bare:.1f} in the first call), {memory:.2f} GiB, {parts_of(design.task, design.chosen)[0]} part, "
        f"rules broken: {design.task.broken(design.chosen) or 'none'}, mean expertise {design.mean_expertise:.3f}"
    )


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of annealing, for each row")
    parser.add_argument("--draws", type=int, default=1_000, help="random assignments beside those of grants")
    parser.add_argument("--largest", type=int, default=15_000, help="objects of the largest size")
    parser.add_argument("--only", choices=["table", "conference", "grants"])
    options = parser.parse_args()
    if options.only in (None, "grants"):
        for line in grants(options.draws):
            print(line, flush=True)
    if options.only in (None, "conference"):
        print(conference(15_000, 10_000, 50, 7), flush=True)
        print(conference(100_000, 50_000, 20, 10), flush=True)
    if options.only in (None, "table"):
        for line in table(options.seconds, options.largest):
            print(line, flush=True)


if __name__ == "__main__":
    main()
