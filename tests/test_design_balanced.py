"""Balanced designs against brute-force counts, published parameters and what theory rules out."""

import time
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenhand.design.balanced import _base_blocks, _developed, _signs, balanced_blocks, balanced_objects

KNOWN = Path(__file__).parent / "references" / "balanced_designs.txt"
"""Designs that a search over groups of permutations, finite geometries and sums of these once built: all up to 200
assessors; up to 1,200 objects and assessors together, all that are no sums."""

CLASSICAL = [
    *[(7, 7, 3), (13, 13, 4), (21, 21, 5), (31, 31, 6), (57, 57, 8), (73, 73, 9)],  # projective planes
    *[(9, 12, 3), (16, 20, 4), (25, 30, 5), (49, 56, 7), (64, 72, 8)],  # affine planes
    *[(15, 15, 7), (15, 35, 3), (31, 155, 3), (31, 155, 7), (40, 40, 13), (40, 130, 4)],  # projective spaces
    *[(8, 14, 4), (27, 117, 3), (27, 39, 9), (32, 1240, 4), (16, 30, 8)],  # affine spaces
    *[(28, 63, 4), (65, 208, 5)],  # unitals
    *[(13, 26, 3), (19, 57, 3), (21, 70, 3), (33, 176, 3), (55, 495, 3), (57, 532, 3)],  # Steiner triple systems
    *[(11, 11, 5), (19, 19, 9), (23, 23, 11), (27, 27, 13), (35, 35, 17), (39, 39, 19)],  # Hadamard designs
    *[(5, 10, 2), (6, 20, 3), (8, 8, 7)],  # all subsets of a size
]

DEVELOPED = [
    *[(10, 15, 4), (10, 30, 3), (11, 55, 3), (13, 39, 4), (15, 42, 5), (16, 16, 6), (16, 48, 5), (19, 57, 6)],
    *[(20, 76, 5), (22, 77, 4), (25, 50, 4), (25, 100, 3), (37, 37, 9), (37, 111, 4), (41, 82, 5), (45, 99, 5)],
]

DERIVED = [
    *[(6, 10, 3), (12, 22, 6), (9, 18, 4), (10, 18, 5)],  # of Hadamard designs, outside and within a block
    *[(7, 7, 4), (13, 13, 9), (9, 12, 6), (16, 20, 12), (25, 50, 21)],  # complements
    *[(7, 14, 3), (7, 21, 3), (9, 36, 3), (8, 16, 7), (13, 26, 4), (10, 60, 3), (4, 18, 2)],  # copies and sums
    *[(5, 3, 5), (1, 4, 1), (2, 1, 2)],  # everyone reads everything
]

IMPOSSIBLE = {
    "no such design is possible, by Bruck, Ryser and Chowla": [(22, 22, 7), (29, 29, 8), (43, 43, 7), (46, 46, 10)],
    "it would be what is left of such a design": [(15, 21, 5)],
    "objects cannot be read equally often": [(7, 8, 3), (10, 11, 3), (5, 7, 4)],
    "objects cannot meet equally often": [(8, 8, 3), (10, 10, 4), (6, 9, 2)],
    "fewer assessors than objects": [(16, 8, 6), (21, 14, 6), (25, 10, 10)],
    "nothing is compared": [(5, 5, 1), (4, 8, 1)],
    "more than there is": [(5, 5, 6), (5, 0, 3), (5, 5, 0), (0, 3, 0), (5, -5, 3)],
}


def meetings_of(blocks: NDArray[np.int64], n_objects: int) -> set[int]:
    """Count by brute force how often every two objects meet."""
    counted = Counter(pair for block in blocks.tolist() for pair in combinations(block, 2))
    return {counted[pair] for pair in combinations(range(n_objects), 2)}


def is_balanced(blocks: NDArray[np.int64] | None, n_objects: int, n_blocks: int, load: int) -> bool:
    """Say whether a design is what it should be, from how often every two objects meet."""
    if blocks is None or blocks.shape != (n_blocks, load) or (np.diff(blocks, axis=1) <= 0).any():
        return False
    incidence = np.zeros((n_blocks, n_objects))
    incidence[np.arange(n_blocks)[:, None], blocks] = 1
    per_object = n_blocks * load / n_objects
    meetings = per_object * (load - 1) / (n_objects - 1)
    return bool((incidence.T @ incidence == meetings + (per_object - meetings) * np.eye(n_objects)).all())


def assert_balanced(blocks: NDArray[np.int64] | None, n_objects: int, n_blocks: int, load: int) -> None:
    assert blocks is not None
    assert blocks.dtype == np.int64
    assert blocks.shape == (n_blocks, load)
    assert all(block == sorted(set(block)) for block in blocks.tolist()), "ascending, and none twice"
    assert set(blocks.ravel().tolist()) == set(range(n_objects))
    assert len(set(np.bincount(blocks.ravel()).tolist())) == 1
    if n_objects > 1:
        assert meetings_of(blocks, n_objects) == {n_blocks * load * (load - 1) // (n_objects * (n_objects - 1))}


@pytest.mark.parametrize(("n_objects", "n_assessors", "load"), [*CLASSICAL, *DEVELOPED, *DERIVED])
def test_every_two_objects_meet_equally_often(n_objects: int, n_assessors: int, load: int) -> None:
    assert_balanced(balanced_blocks(n_objects, n_assessors, load), n_objects, n_assessors, load)


@pytest.mark.parametrize("most", [200, pytest.param(1_200, marks=pytest.mark.slow)])
def test_whatever_was_built_once_is_built(most: int) -> None:
    rows = [line.split(":") for line in KNOWN.read_text(encoding="ascii").splitlines()]
    known = [(*map(int, numbers.split()), int(count)) for numbers, counts in rows for count in counts.split()]
    wanted = [(v, b, k) for v, k, b in known if b <= most]
    assert len(wanted) > 800
    assert [one for one in wanted if not is_balanced(balanced_blocks(*one), *one)] == []


def test_stored_base_blocks_are_balanced() -> None:
    stored = list(_base_blocks())
    assert len(stored) > 400
    for n_objects, load, meetings in stored:
        n_blocks = meetings * n_objects * (n_objects - 1) // (load * (load - 1))
        blocks = _developed(n_objects, load, meetings)
        assert blocks is not None
        assert is_balanced(np.sort(blocks), n_objects, n_blocks, load), (n_objects, load, meetings)


@pytest.mark.parametrize("order", [1, 2, 4, 8, 12, 20, 28, 36, 52, 100, 104, 244, 340, 344])
def test_rows_of_signs_are_orthogonal(order: int) -> None:
    signs = _signs(order)
    assert signs is not None
    assert (np.abs(signs) == 1).all()
    assert (signs @ signs.T == order * np.eye(order)).all()


@pytest.mark.parametrize(
    ("n_objects", "n_assessors", "load"), [numbers for of_a_kind in IMPOSSIBLE.values() for numbers in of_a_kind]
)
def test_what_cannot_be_is_not_returned(n_objects: int, n_assessors: int, load: int) -> None:
    assert balanced_blocks(n_objects, n_assessors, load) is None


@given(st.integers(1, 13), st.integers(1, 40), st.integers(1, 13))
def test_whatever_is_returned_is_balanced(n_objects: int, n_assessors: int, load: int) -> None:
    blocks = balanced_blocks(n_objects, n_assessors, load)
    if blocks is not None:
        assert_balanced(blocks, n_objects, n_assessors, load)


@given(st.integers(2, 10), st.data())
def test_all_that_is_possible_with_ten_objects_or_fewer_is_returned(n_objects: int, data: st.DataObject) -> None:
    # the fewest objects for which the conditions hold and there is no design are 15
    load = data.draw(st.integers(2, n_objects), label="load")
    per_object = data.draw(st.integers(1, 15), label="per_object")
    n_assessors, rest = divmod(n_objects * per_object, load)
    even = rest == 0 and per_object * (load - 1) % (n_objects - 1) == 0
    expected = even and (n_assessors >= n_objects or load == n_objects)
    assert (balanced_blocks(n_objects, n_assessors, load) is not None) == expected


@pytest.mark.parametrize(("n_objects", "n_assessors", "load"), [(9, 12, 3), (10, 15, 4), (16, 16, 6), (6, 10, 3)])
def test_balanced_designs_are_fully_efficient(n_objects: int, n_assessors: int, load: int) -> None:
    blocks = balanced_blocks(n_objects, n_assessors, load)
    assert blocks is not None
    incidence = np.zeros((n_objects, n_assessors))
    incidence[blocks, np.arange(n_assessors)[:, None]] = 1
    per_object = n_assessors * load / n_objects
    information = per_object * np.eye(n_objects) - incidence @ incidence.T / load
    eigenvalues = np.linalg.eigvalsh(information)
    assert eigenvalues[0] == pytest.approx(0, abs=1e-9)
    # the trace is that of any design of this size: equal eigenvalues have the largest harmonic mean
    bound = n_assessors * (load - 1) / (n_objects - 1)
    assert (n_objects - 1) / (1 / eigenvalues[1:]).sum() / bound == pytest.approx(1.0)
    assert eigenvalues[1:] == pytest.approx(np.full(n_objects - 1, bound))


def test_figure_1_a_has_an_object_for_every_two_assessors() -> None:
    found = balanced_objects(6, 4, 2)
    assert found is not None
    assert found.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


def test_every_two_assessors_meet_equally_often() -> None:
    assert_balanced(balanced_objects(26, 13, 3), 13, 26, 3)
    assert balanced_objects(7, 8, 3) is None


@pytest.mark.parametrize("numbers", [(10, 15, 4), (13, 39, 4), (28, 63, 4)])
def test_the_same_numbers_give_the_same_design(numbers: tuple[int, int, int]) -> None:
    once, again = balanced_blocks(*numbers), balanced_blocks(*numbers)
    assert once is not None
    assert again is not None
    assert once.tolist() == again.tolist()


def test_that_nothing_is_known_is_said_soon() -> None:
    begun = time.process_time()
    assert balanced_blocks(55, 99, 10) is None
    assert balanced_blocks(81, 828, 36) is None
    assert time.process_time() - begun < 1
