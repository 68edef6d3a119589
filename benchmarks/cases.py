"""Panels to measure with: seeded, connected, every code used, written as arrays of codes and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint32]
Floats = NDArray[np.float64]
Pairs = Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Chunks of (object, assessor) codes."""

CHUNK: Final = 4_000_000
SEED: Final = 20_160_760
WARM: Final = 2_000_000
"""Scores that programs are warmed up on: enough for them to go the way that they go with many more."""
NOISE: Final = 5.0
"""Standard deviation of the noise, in points; that of values is 10 and that of biases 5."""


@dataclass(frozen=True, slots=True)
class Case:
    """One panel, who is measured on it and how often.

    Attributes
    ----------
    name, title
        The name on the command line, and what it stands for.
    objects, assessors, scores
        Sizes.
    pairs
        Makes the pairs of codes from these sizes.
    peers
        Who is measured beside evenhand, within-py and the floor.
    rounds, runs
        Fresh processes for each peer, one peer after the other in every round, and calls in each process. Only those
        whom a bar looks at take part in more than the first round.
    limit
        Seconds after which a process is given up.
    direct
        Whether the tight reference factorises: for badly connected panels whose factor stays small.
    """

    name: str
    title: str
    objects: int
    assessors: int
    scores: int
    pairs: Callable[[np.random.Generator, int, int, int], Pairs]
    peers: tuple[str, ...] = ()
    rounds: int = 3
    runs: int = 3
    limit: float = 300.0
    direct: bool = False

    def small(self) -> Case:
        """Return what to warm up on: the panel itself, or one of the same density with as many scores as WARM."""
        if self.scores <= WARM:
            return self
        by = math.sqrt(WARM / self.scores)
        return replace(self, objects=round(by * self.objects), assessors=round(by * self.assessors), scores=WARM)


def drawn(generator: np.random.Generator, objects: int, assessors: int, scores: int) -> Pairs:
    """Draw as many different assessors for every object, all sets of them being equally likely: for few assessors."""
    each = scores // objects
    table = np.argsort(generator.random((objects, assessors)), axis=1)[:, :each]
    order = generator.permutation(objects * each)
    yield np.repeat(np.arange(objects), each)[order], table.ravel()[order]


def balanced(generator: np.random.Generator, objects: int, assessors: int, scores: int) -> Pairs:
    """Give every object as many different assessors, and every assessor as many objects: for many assessors."""
    each = scores // objects
    tickets = np.tile(np.arange(assessors), math.ceil(objects * each / assessors))[: objects * each]
    table = generator.permutation(tickets).reshape(objects, each)
    while True:
        ordered = np.sort(table, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size == 0:
            break
        # objects that have an assessor twice mix their assessors with those of a few others
        mixed = np.unique(np.concatenate([twice, generator.integers(0, objects, twice.size + 4)]))
        table[mixed] = generator.permutation(table[mixed].ravel()).reshape(mixed.size, each)
    order = generator.permutation(objects * each)
    yield np.repeat(np.arange(objects), each)[order], table.ravel()[order]


def power_law(generator: np.random.Generator, objects: int, assessors: int, scores: int) -> Pairs:
    """Draw both codes of each score from power laws, an assessor's second score of an object being kept.

    The chance of the code of rank r is proportional to (r + n/100)^-0.8 on both sides. A random tree comes first: every
    code in turn is joined to an earlier one of the other side, so that all are used and all hang together.
    """
    object_label, assessor_label = generator.permutation(objects), generator.permutation(assessors)
    to_object, to_assessor = (np.arange(1, n) / n for n in (assessors, objects))
    tree_objects = np.concatenate(
        [[0], (generator.random(assessors - 1) * np.ceil(to_object * objects)).astype(np.int64), np.arange(1, objects)]
    )
    tree_assessors = np.concatenate(
        [[0], np.arange(1, assessors), (generator.random(objects - 1) * np.ceil(to_assessor * assessors)).astype("i8")]
    )
    order = generator.permutation(tree_objects.size)
    yield object_label[tree_objects[order]], assessor_label[tree_assessors[order]]
    for size in _chunks(scores - tree_objects.size):
        yield (
            object_label[_ranks(generator.random(size), objects)],
            assessor_label[_ranks(generator.random(size), assessors)],
        )


def _ranks(uniform: Floats, count: int, exponent: float = 0.8) -> NDArray[np.int64]:
    """Return ranks from 0 by the inverse of the distribution function of a shifted power law."""
    power, shift = 1 - exponent, count / 100
    low, high = shift**power, (count + shift) ** power
    uniform *= high - low
    uniform += low
    np.power(uniform, 1 / power, out=uniform)
    uniform -= shift
    return np.minimum(uniform.astype(np.int64), count - 1)


def ring(generator: np.random.Generator, objects: int, assessors: int, scores: int) -> Pairs:
    """Join panels of 6 objects and 3 assessors, all read by all, in a ring: one assessment leads to the next panel.

    A path of P panels lets a difference of standards build up slowly: mu_2 is about 0.72 / P^2.
    """
    panels = objects // 6
    start = np.arange(panels)
    inner_objects = (6 * start[:, None] + np.repeat(np.arange(6), 3)).ravel()
    inner_assessors = (3 * start[:, None] + np.tile(np.arange(3), 6)).ravel()
    object_codes = np.concatenate([inner_objects, 6 * ((start + 1) % panels)])
    assessor_codes = np.concatenate([inner_assessors, 3 * start])
    order = generator.permutation(object_codes.size)
    yield (
        generator.permutation(objects)[object_codes[order]],
        generator.permutation(assessors)[assessor_codes[order]],
    )


def _chunks(total: int) -> Iterator[int]:
    for start in range(0, total, CHUNK):
        yield min(CHUNK, total - start)


def write_case(case: Case, folder: Path) -> None:
    """Write ``codes.npy``, objects in its first row and assessors in its second, and ``scores.npy``.

    Scores are a value plus a bias plus noise, all normal, about 60 points. Memory stays within a few chunks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(SEED)
    value = generator.normal(60, 10, case.objects)
    bias = generator.normal(0, 5, case.assessors)
    codes = np.lib.format.open_memmap(folder / "codes.npy", "w+", np.uint32, (2, case.scores))
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.float64, (case.scores,))
    at = 0
    for object_codes, assessor_codes in case.pairs(generator, case.objects, case.assessors, case.scores):
        part = slice(at, at + object_codes.size)
        codes[0, part], codes[1, part] = object_codes, assessor_codes
        noise = NOISE * generator.standard_normal(object_codes.size)
        scores[part] = value[object_codes] + bias[assessor_codes] + noise
        at = part.stop
    if at != case.scores:
        raise ValueError(f"{case.name} has {at} scores, not {case.scores}.")
    codes.flush()
    scores.flush()


def read_case(folder: Path) -> tuple[Codes, Floats]:
    """Return codes (2, N) and scores (N,), read into memory."""
    return np.load(folder / "codes.npy"), np.load(folder / "scores.npy")


RING: Final = 2_680
SLOW_PEERS: Final = ("pyfixest", "lsmr", "lsmr tight")

CASES: Final[dict[str, Case]] = {
    case.name: case
    for case in (
        Case("panel", "grant panel, 5 assessors an object", 3_000, 15, 15_000, drawn, (*SLOW_PEERS, "lme4"), runs=7),
        Case("conference", "4 reviews a paper", 15_000, 10_000, 60_000, balanced, (*SLOW_PEERS, "lme4"), runs=7),
        Case("ring", f"ring of {RING:,} panels", 6 * RING, 3 * RING, 19 * RING, ring, SLOW_PEERS, direct=True),
        Case("course", "peer grading, 5 each", 200_000, 200_000, 1_000_000, balanced, SLOW_PEERS),
        Case("ratings-1m", "ratings, power laws", 60_000, 160_000, 1_000_000, power_law, SLOW_PEERS),
        Case("ratings-10m", "ratings, power laws", 60_000, 160_000, 10_000_000, power_law, runs=2, limit=900),
        Case("ratings-25m", "ratings, power laws", 60_000, 160_000, 25_000_000, power_law, rounds=2, runs=2, limit=900),
        Case("hundredth", "as the next, both sides a tenth", 1_800, 48_000, 1_000_000, power_law),
        Case(
            "ratings-100m",
            "ratings, Netflix's size",
            18_000,
            480_000,
            100_000_000,
            power_law,
            rounds=2,
            runs=2,
            limit=1800,
        ),
    )
}
"""Cases by name, from small to large."""
