"""The tight reference: values by other means than evenhand's, refined until nothing moves.

The smaller side is kept, the other eliminated. Corrections come from conjugate gradients on sparse matrices of scipy,
or from a sparse LU factor where the panel hangs together badly; what is left to correct is computed afresh each time,
from residuals in long double.

``python benchmarks/tight.py FOLDER [direct]`` writes ``tight.npz`` beside the scores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from cases import CHUNK, Codes, Floats, read_case
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh, splu

LongFloats = NDArray[np.longdouble]

SUMS_IN_LONG_DOUBLE: Final = 2_000_000
"""Up to so many scores, sums too are in long double; beyond, sums of residuals in double are good to 1e-12 sd."""
PASSES: Final = 8


def solve_tight(codes: Codes, scores: Floats, *, direct: bool = False) -> dict[str, Any]:
    """Return values in some gauge, their totals C_o, the noise variance R/(nu - 2) and how far the last pass moved.

    Parameters
    ----------
    codes, scores
        The panel, shapes (2, N) and (N,).
    direct
        Whether to factorise the equations instead of iterating.
    """
    counts = np.bincount(codes[0]), np.bincount(codes[1])
    shape = counts[0].size, counts[1].size
    keeps_assessors = shape[1] <= shape[0]
    kept, gone = (1, 0) if keeps_assessors else (0, 1)
    links = _links(codes[gone], codes[kept], (shape[gone], shape[kept]))
    kept_total, gone_total = counts[kept].astype(float), counts[gone].astype(float)
    correct = _factor(links, kept_total, gone_total) if direct else _iterate(links, kept_total, gone_total)
    at: list[LongFloats] = [np.zeros(shape[0], dtype=np.longdouble), np.zeros(shape[1], dtype=np.longdouble)]
    at[0] += scores.mean()
    moved, before = np.inf, np.inf
    residual = 0.0
    for _ in range(PASSES):
        sums, residual = _left_over(codes, scores, at)
        step = correct(np.asarray(sums[kept] - links.T @ (sums[gone] / gone_total), dtype=np.float64))
        other = np.asarray(sums[gone] - links @ step, dtype=np.float64) / gone_total
        at[kept] += step
        at[gone] += other
        of_objects = other if keeps_assessors else step
        of_objects = of_objects - np.average(of_objects, weights=counts[0])
        noise = residual / max(1, scores.size - sum(shape) - 1)
        moved = float(np.max(np.abs(of_objects) * np.sqrt(counts[0] / noise)))
        if moved < 1e-13 or moved > 0.5 * before:
            break
        before = moved
    mu2 = _smallest_gap(links, kept_total, gone_total) if direct else np.nan
    # the last digits beyond double are not needed once the mean is gone
    centred = at[0] - np.average(at[0], weights=counts[0])
    return {"values": centred.astype(float), "total": counts[0], "noise": noise, "moved": moved, "mu2": mu2}


def _links(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Any:
    links = sp.coo_array((np.ones(rows.size), (rows.view(np.int32), columns.view(np.int32))), shape=shape).tocsr()
    links.sum_duplicates()
    return links


def _left_over(codes: Codes, scores: Floats, at: list[LongFloats]) -> tuple[list[Any], float]:
    """Return the sums of s - v - b over each object and each assessor, and the sum of squares."""
    long_sums = scores.size <= SUMS_IN_LONG_DOUBLE
    kind: Any = np.longdouble if long_sums else np.float64
    sums = [np.zeros(side.size, dtype=kind) for side in at]
    squares = 0.0
    for start in range(0, scores.size, CHUNK):
        part = slice(start, start + CHUNK)
        left = scores[part] - at[0][codes[0, part]] - at[1][codes[1, part]]
        squares += float(left @ left)
        for side in (0, 1):
            if long_sums:
                np.add.at(sums[side], codes[side, part], left)
            else:
                sums[side] += np.bincount(codes[side, part], left.astype(float), minlength=sums[side].size)
    return sums, squares


def _factor(links: Any, kept_total: Floats, gone_total: Floats) -> Callable[[Floats], Floats]:
    """Return a solver by the LU factor of the equations with the last vertex held at zero."""
    laplacian = _laplacian(links, gone_total)
    factor = splu(laplacian[:-1, :-1].tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def solve(right: Floats) -> Floats:
        return np.append(factor.solve(right[:-1]), 0.0)

    return solve


def _laplacian(links: Any, gone_total: Floats) -> Any:
    """Return diag(C') - c^T diag(1/C) c as a sparse matrix whose diagonal is the sum of its links: nothing cancels."""
    product = (links.T @ sp.diags_array(1 / gone_total) @ links).tolil()
    product.setdiag(0.0)
    off = product.tocsr()
    return sp.diags_array(np.asarray(off.sum(axis=1)).ravel()) - off


def _iterate(links: Any, kept_total: Floats, gone_total: Floats) -> Callable[[Floats], Floats]:
    """Return a solver by conjugate gradients on the equations scaled to a unit diagonal, to a residual of 1e-14."""
    scale = np.sqrt(kept_total)
    null = scale / np.linalg.norm(scale)
    across = links.T.tocsr() if links.nnz <= 30_000_000 else links.T  # a second copy where it is cheap

    def apply(x: Floats) -> Floats:
        y = x / scale
        return np.asarray(x - (across @ ((links @ y) / gone_total)) / scale)

    def solve(right: Floats) -> Floats:
        left = right / scale
        left -= null * (null @ left)
        x = np.zeros_like(left)
        search, size = left.copy(), float(left @ left)
        goal = 1e-28 * size
        for _ in range(5_000):
            if size <= goal or size == 0:
                break
            image = apply(search)
            step = size / float(search @ image)
            x += step * search
            left -= step * image
            left -= null * (null @ left)
            size, old = float(left @ left), size
            search *= size / old
            search += left
        x -= null * (null @ x)
        return x / scale

    return solve


def _smallest_gap(links: Any, kept_total: Floats, gone_total: Floats) -> float:
    """Return mu_2 = 1 - sqrt(lambda), lambda the second largest eigenvalue of D^T D, by shift and invert about zero."""
    scale = sp.diags_array(1 / np.sqrt(kept_total))
    scaled = (scale @ _laplacian(links, gone_total) @ scale).tocsc()
    found = np.sort(eigsh(scaled, k=3, sigma=-1e-8, which="LM", return_eigenvectors=False))
    gap = float(found[1])
    return float(gap / (1 + np.sqrt(1 - gap)))


def main() -> None:
    """Write the tight reference of one case."""
    folder = Path(sys.argv[1])
    codes, scores = read_case(folder)
    np.savez(folder / "tight.npz", **solve_tight(codes, scores, direct="direct" in sys.argv[2:]))


if __name__ == "__main__":
    main()
