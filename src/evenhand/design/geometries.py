"""Balanced designs with a formula: flats of finite geometries, unitals, triple systems and Hadamard designs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from evenhand.design.fields import Ring, field

Codes = NDArray[np.int64]


def known_blocks(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return blocks in which every two objects meet so many times, by a formula; None where there is none.

    Examples
    --------
    >>> known_blocks(7, 3, 1).tolist()
    [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    """
    for make in (_unreduced, _projective, _affine, _unital, _triples, _hadamard):
        blocks = make(n_objects, load, meetings)
        if blocks is not None:
            blocks = np.sort(blocks, axis=1)
            return blocks[np.lexsort(blocks.T[::-1])]
    return None


def _unreduced(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return all subsets of a size."""
    if meetings != comb(n_objects - 2, load - 2):
        return None
    return np.array(list(combinations(range(n_objects), load)))


def _projective(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return the points of the flats of PG(n, q): lines, planes and so on up to hyperplanes (Singer 1938)."""
    for order in range(2, load):
        sums = [sum(order**power for power in range(size)) for size in range(n_objects.bit_length() + 1)]
        if n_objects not in sums or load not in sums:
            continue
        dimension, size = sums.index(n_objects), sums.index(load)
        if meetings == _n_subspaces(dimension - 2, size - 2, order) and (ring := field(order)):
            return _flats(ring, dimension, size)
    return None


def _affine(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return the points of the flats of AG(n, q): lines, planes and so on up to hyperplanes (Bose 1939)."""
    for order in range(2, load + 1):
        powers = [order**power for power in range(n_objects.bit_length())]
        if n_objects not in powers or load not in powers:
            continue
        dimension, size = powers.index(n_objects), powers.index(load)
        if meetings == _n_subspaces(dimension - 1, size - 1, order) and (ring := field(order)):
            return np.concatenate([_parallel(ring, basis) for basis in _subspaces(ring, dimension, size)])
    return None


def _unital(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return the points in which lines of PG(2, q^2) meet a Hermitian curve, x^(q+1) + y^(q+1) + z^(q+1) = 0."""
    order = load - 1
    if order < 2 or n_objects != order**3 + 1 or meetings != 1 or not (ring := field(order**2)):
        return None
    norm = np.ones(ring.order, dtype=np.int64)
    for _ in range(order + 1):
        norm = ring.multiply[norm, np.arange(ring.order)]
    terms = norm[_vectors(ring, 3, projective=True)]
    number = np.full(len(terms), -1)
    is_on = ring.add[ring.add[terms[:, 0], terms[:, 1]], terms[:, 2]] == 0
    number[is_on] = np.arange(n_objects)
    lines = number[_flats(ring, 3, 2)]
    secants = lines[(lines >= 0).sum(axis=1) == load]
    return np.asarray(secants[secants >= 0].reshape(-1, load))


def _triples(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return a Steiner triple system: three copies of a commutative quasigroup (Bose 1939, Skolem 1958).

    A pair in one copy goes with its product in the next. Where not every element is its own square, those that are not
    go with one object more.
    """
    if load != 3 or meetings != 1 or n_objects % 6 not in (1, 3):
        return None
    size, more = divmod(n_objects, 3)
    half = (size + 1) // 2
    # x + y is halved, so that the first elements are their own squares: all of them where their number is odd
    halved = [total * half % size if size % 2 else total // 2 + half * (total % 2) for total in range(size)]
    own = size if size % 2 else half
    triples = [(x, x + size, x + 2 * size) for x in range(own)]
    for copy in range(3):
        here, there = copy * size, (copy + 1) % 3 * size
        triples += [(x + here, y + here, halved[(x + y) % size] + there) for x, y in combinations(range(size), 2)]
        triples += [(n_objects - more, x + half + here, x + there) for x in range(size - own)]
    return np.array(triples)


def _hadamard(n_objects: int, load: int, meetings: int) -> Codes | None:
    """Return the design of a Hadamard matrix, which is that of quadratic residues where there is one (Paley 1933)."""
    if n_objects != 4 * meetings + 3 or load != 2 * meetings + 1 or (signs := _signs(n_objects + 1)) is None:
        return None
    signs = signs * signs[0] * (signs[:, :1] * signs[0, 0])
    return np.nonzero(signs[1:, 1:] > 0)[1].reshape(-1, load)


def _signs(order: int) -> Codes | None:
    """Return a Hadamard matrix by Paley's two constructions and by doubling; None where they give none."""
    if order <= 2:
        return np.array([[1, 1], [1, -1]])[:order, :order]
    if order % 4:
        return None
    plus_minus = np.array([[1, 1], [1, -1]])
    if ring := field(order - 1):
        return np.eye(order, dtype=np.int64) + _conference(ring, -1)
    if order % 8 == 4 and (ring := field(order // 2 - 1)):
        turned = np.array([[1, -1], [-1, -1]])
        return np.kron(_conference(ring, 1), plus_minus) + np.kron(np.eye(order // 2, dtype=np.int64), turned)
    half = _signs(order // 2)
    return None if half is None else np.kron(half, plus_minus)


def _conference(ring: Ring, sign: int) -> Codes:
    """Return 1 where the difference of two elements is a square, -1 where it is not, with a border."""
    character = np.full(ring.order, -1)
    character[np.diag(ring.multiply)] = 1
    character[0] = 0
    bordered = np.pad(character[ring.subtract], ((1, 0), (1, 0)), constant_values=1)
    bordered[1:, 0] = sign
    bordered[0, 0] = 0
    return bordered


def _n_subspaces(dimension: int, size: int, order: int) -> int:
    """Return the number of subspaces of a size in a vector space over GF(q)."""
    if not 0 <= size <= dimension:
        return 0
    above = below = 1
    for place in range(size):
        above *= order ** (dimension - place) - 1
        below *= order ** (place + 1) - 1
    return above // below


def _vectors(ring: Ring, dimension: int, *, projective: bool) -> Codes:
    """Return all vectors, first coordinate first; or those other than zero whose first coordinate but zeros is one."""
    vectors = np.array(list(product(range(ring.order), repeat=dimension)), dtype=np.int64).reshape(-1, dimension)
    if not projective:
        return vectors
    vectors = vectors[vectors.any(axis=1)]
    leading = vectors[np.arange(len(vectors)), np.argmax(vectors > 0, axis=1)]
    return np.asarray(vectors[leading == 1])


def _numbers(ring: Ring, vectors: Codes) -> Codes:
    """Return where vectors stand among all."""
    return np.asarray(vectors @ ring.order ** np.arange(vectors.shape[-1])[::-1])


def _subspaces(ring: Ring, dimension: int, size: int) -> Iterator[Codes]:
    """Yield the basis of each subspace, in echelon form: one at a pivot, and zeros before, above and below it."""
    for pivots in combinations(range(dimension), size):
        basis = np.zeros((size, dimension), dtype=np.int64)
        basis[np.arange(size), pivots] = 1
        free = [
            (row, column) for row in range(size) for column in range(pivots[row] + 1, dimension) if column not in pivots
        ]
        for entries in product(range(ring.order), repeat=len(free)):
            for place, entry in zip(free, entries, strict=True):
                basis[place] = entry
            yield basis.copy()


def _span(ring: Ring, basis: Codes, coefficients: Codes) -> Codes:
    """Return sums of basis vectors with given coefficients."""
    vectors = np.zeros((len(coefficients), basis.shape[1]), dtype=np.int64)
    for column, vector in zip(coefficients.T, basis, strict=True):
        vectors = ring.add[vectors, ring.multiply[column[:, None], vector]]
    return vectors


def _flats(ring: Ring, dimension: int, size: int) -> Codes:
    """Return the points of each flat of a projective space; points are numbered as their vectors stand."""
    points = _numbers(ring, _vectors(ring, dimension, projective=True))
    coefficients = _vectors(ring, size, projective=True)
    flats = [_numbers(ring, _span(ring, basis, coefficients)) for basis in _subspaces(ring, dimension, size)]
    return np.searchsorted(points, np.array(flats))


def _parallel(ring: Ring, basis: Codes) -> Codes:
    """Return the points of each flat that is parallel to a subspace: one for each vector that is zero at its pivots."""
    size, dimension = basis.shape
    everywhere = _vectors(ring, dimension, projective=False)
    shifts = everywhere[(everywhere[:, np.argmax(basis > 0, axis=1)] == 0).all(axis=1)]
    flat = _span(ring, basis, _vectors(ring, size, projective=False))
    return _numbers(ring, ring.add[shifts[:, None], flat])
