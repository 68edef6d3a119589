"""The spectral gap mu_2 of App. C: 1 - mu_2 is the root of 1 - g, g the second smallest eigenvalue of diag(C')^-1 S."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from evenhand.compiled import Floats, dot
from evenhand.errors import LimitError
from evenhand.solve.equations import SolveKept, System

_DENSE: Final = 1_500
"""Up to this size of the kept side eigenvalues are computed densely."""

_WIDE: Final = 0.02
"""A gap wider than this keeps its digits where it is had as 1 minus the largest eigenvalue of the other part."""

_WIDEST: Final = 0.99
_TOLERANCE: Final = 1e-9
_SPACE: Final = 80
"""Lanczos iteration keeps this many vectors: the more, the fewer products it takes."""


def _mu2(gap: float) -> float:
    return gap / (1.0 + float(np.sqrt(1.0 - gap)))


def dense_mu2(system: System) -> float | None:
    """Return mu_2 from dense matrices, or None where they are too large."""
    if system.n_kept > _DENSE:
        return None
    scale = 1.0 / np.sqrt(system.kept_total)
    scaled = system.schur() * np.outer(scale, scale)
    gap = float(np.clip(np.linalg.eigvalsh(scaled)[1], 0.0, 1.0))
    if gap > _WIDEST and system.n_gone and system.is_dense:
        # 1 - mu_2 is a small root then, and keeps its digits as a singular value
        weights = system.dense * scale / np.sqrt(system.gone_total)[:, None]
        return 1.0 - float(np.linalg.svd(weights, compute_uv=False)[1])
    return _mu2(gap)


def mu2_through(system: System, solve_kept: SolveKept) -> float:
    """Return mu_2 by Lanczos iteration: on the matrix itself where it is wide, on its inverse where it is not."""
    root = np.sqrt(system.kept_total)
    null = root / np.linalg.norm(root)

    def clear(x: Floats) -> Floats:
        return np.asarray(x - null * dot(null, x))

    def coupled(x: Floats) -> Floats:
        return clear(system.couple(clear(x.ravel()) / root)[0] / root)

    largest = _largest(coupled, system.n_kept, most=20)
    if largest is not None and 1.0 - largest > _WIDE:
        return _mu2(1.0 - max(largest, 0.0))

    def inverse(x: Floats) -> Floats:
        right = clear(x.ravel()) * root
        return clear(solve_kept(right - right.mean()) * root)

    largest = _largest(inverse, system.n_kept, most=50)
    if largest is None:
        raise LimitError(
            f"The spectral gap of a panel this large ({system.n_kept:,} on its smaller side) did not converge."
        )
    return _mu2(min(1.0 / largest, 1.0))


def _largest(operator: Any, size: int, *, most: int) -> float | None:
    """Return the largest eigenvalue, or None where it does not converge in this many restarts."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    start = np.random.default_rng(0).standard_normal(size)
    wrapped = LinearOperator((size, size), matvec=operator, dtype=np.float64)
    options: dict[str, Any] = {"ncv": min(size, _SPACE), "tol": _TOLERANCE, "v0": start, "maxiter": most}
    try:
        return float(eigsh(wrapped, k=1, which="LA", return_eigenvectors=False, **options)[0])
    except ArpackNoConvergence:
        return None
