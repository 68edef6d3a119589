"""Conjugate gradients that know how far they are, in units that matter: posterior standard deviations.

For any contrast g of values and biases, |g^T e| <= ||e||_S sd(g), where e is the error of the answer, ||e||_S^2 =
e^T S e and sd(g)^2 = g^T S^- g is the variance of that contrast for w = 1. One number, the energy of the error beside
sqrt(w), therefore bounds the error of every value and every difference in units of its own standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from evenhand.compiled import Floats, dot

SAFETY: Final = 10.0
"""Residual over the smallest Ritz value indicates the error; it has been seen several times too small."""

_LOOK: Final = 4
_SELDOM: Final = 16
_NEAR: Final = 64
"""The smallest Ritz value is computed every 4 steps; later, as that takes time in proportion to the steps so far, once
these have grown by 1/16, or by 1/64 where the end seems near. All together it then takes as long as all steps do."""

Operator = Callable[[Floats], Floats]
Pair = Callable[[Floats], tuple[Floats, Floats]]
"""Multiplies by A and by another matrix B, whose product comes for free on the way."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What conjugate gradients did: the answer x, its image B x, how many steps it took and how good it is.

    ``smallest`` is the smallest Ritz value: at least, and soon close to, the smallest eigenvalue that the right-hand
    side sees. ``error`` is the indicated energy norm of the error, with its safety factor. ``energy`` is x^T b, by
    which the steps reduced the sum of squares. ``forecast`` counts the steps that would have been needed in all.
    """

    answer: Floats
    image: Floats
    count: int
    smallest: float
    error: float
    energy: float
    converged: bool
    forecast: int


def conjugate_gradients(
    operator: Pair,
    right: Floats,
    *,
    target: Callable[[float], float],
    most: int,
    precondition: Operator | None = None,
    start: tuple[Floats, Floats, Floats] | None = None,
    patience: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Steps:
    """Solve A x = b, b orthogonal to the null space, for a positive semidefinite A.

    The largest eigenvalue of A must be of order 1, after preconditioning by an approximate inverse. ``target`` returns
    the energy norm of the error to reach, given the energy taken up so far; ``start`` is a first guess x with its A x
    and B x. It gives up after ``most`` steps, or early where more than ``patience`` are forecast; ``report`` is called
    with the steps done and forecast.
    """
    x = np.zeros_like(right) if start is None else start[0].copy()
    r = right.copy() if start is None else right - start[1]
    image = None if start is None else start[2].copy()
    z = r if precondition is None else precondition(r)
    p = z.copy()
    rz = float(dot(r, z))
    diagonal: list[float] = []
    off: list[float] = []
    energy, smallest, forecast, error = 0.0, 1.0, 0, np.sqrt(max(rz, 0.0))
    beta = alpha = 0.0
    count = 0
    look = soon = 1  # the next step at which to look, and where the end seems near
    while rz > 0.0 and count < most:
        q, side = operator(p)
        curvature = float(dot(p, q))
        if not curvature > 0.0:
            break
        previous, alpha = alpha, rz / curvature
        x += alpha * p
        side *= alpha
        image = side.copy() if image is None else np.add(image, side, out=image)
        r -= alpha * q
        diagonal.append(1.0 / alpha + (beta / previous if count else 0.0))
        energy += alpha * rz
        count += 1
        z = r if precondition is None else precondition(r)
        after = float(dot(r, z))
        beta = max(after, 0.0) / rz
        off.append(np.sqrt(beta) / alpha)
        rz = max(after, 0.0)
        wanted = target(energy)
        near = SAFETY * np.sqrt(rz / smallest) <= wanted
        if count >= (soon if near else look):
            look = count + max(_LOOK - count % _LOOK, count // _SELDOM) if count > 1 else 2
            soon = count + 1 + count // _NEAR
            smallest = min(smallest, _smallest_ritz(diagonal, off))
            error = SAFETY * float(np.sqrt(rz / smallest))
            if error <= wanted:
                return Steps(x, image, count, smallest, error, energy, True, count)
            left = np.log(2 * error / wanted) / -np.log(_rate(smallest)) if wanted > 0 else most
            forecast = count + int(min(left, 10 * most))
            if report is not None:
                report(count, forecast)
            if patience is not None and count >= 12 and forecast > patience:
                return Steps(x, image, count, smallest, error, energy, False, forecast)
        p *= beta
        p += z
    if image is None:
        image = operator(x)[1]
    if diagonal:
        smallest = min(smallest, _smallest_ritz(diagonal, off))
    error = SAFETY * float(np.sqrt(rz / smallest))
    return Steps(x, image, count, smallest, error, energy, error <= target(energy), max(forecast, count))


def conjugate_gradients_columns(
    operator: Operator,
    right: Floats,
    *,
    tolerance: float,
    smallest: float,
    most: int,
    precondition: Operator | None = None,
) -> tuple[Floats, bool]:
    """Solve A X = B for several columns at once, each until its error is a part ``tolerance`` of its own energy norm.

    ``smallest`` is the smallest eigenvalue, as far as it is known. Returns X, and whether all its columns are good.
    """
    x = np.zeros_like(right)
    r = right.copy()
    z = r if precondition is None else precondition(r)
    p = z.copy()
    rz = np.einsum("ij,ij->j", r, z)
    energy = np.zeros(right.shape[1])
    for _ in range(most):
        q = operator(p)
        curvature = np.einsum("ij,ij->j", p, q)
        alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        x += alpha * p
        r -= alpha * q
        energy += alpha * rz
        z = r if precondition is None else precondition(r)
        after = np.maximum(np.einsum("ij,ij->j", r, z), 0.0)
        if (SAFETY * np.sqrt(after / smallest) <= tolerance * np.sqrt(energy)).all():
            return x, True
        p *= np.divide(after, rz, out=np.zeros_like(rz), where=rz > 0)
        p += z
        rz = after
    return x, not right.any()


def _rate(smallest: float) -> float:
    """Return the factor by which each step reduces the energy norm of the error, at worst."""
    root = np.sqrt(min(smallest, 0.999))
    return float((1.0 - root) / (1.0 + root))


def _smallest_ritz(diagonal: list[float], off: list[float]) -> float:
    from scipy.linalg import eigvalsh_tridiagonal

    if len(diagonal) == 1:
        return diagonal[0]
    values = eigvalsh_tridiagonal(np.array(diagonal), np.array(off[:-1]), select="i", select_range=(0, 0))
    return max(float(values[0]), np.finfo(float).eps)
