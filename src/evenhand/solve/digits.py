"""From a factor to an answer whose digits are right: refinement until the rounding error is known to be small.

The sums and products below lose nothing, and are the same on every machine.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats, dot, sum_by
from evenhand.errors import SolveError, too_extreme
from evenhand.solve.base import Solution
from evenhand.solve.equations import SolveKept, System, eliminate
from evenhand.words import argument

EPS: Final = 2.0**-104
"""Relative to its size, what a number with twice the digits may be off by."""

PERFECT: Final = 8 * float(np.finfo(np.float64).eps)
"""Scores agree perfectly where no residual is larger than this part of the largest score."""

UNTOLD: Final = (
    "The confidences are so unequal that rounding hides how far the surest scores lie from what is expected of them, "
    "and with it the residual: raise the smallest confidences, or lower the largest."
)

_SPLIT: Final = 2.0**27 + 1.0
_PASSES: Final = 4

_EPS: Final = float(np.finfo(np.float64).eps)
_MOST_STEPS: Final = 20

_PLAIN: Final = 1e-7
"""Plain arithmetic is trusted where a bound on all its rounding, beside the size of the answer, is below this. (The
bound is a thousand times too careful.)"""

_SETTLED: Final = 1e-10
"""Plain arithmetic is done once the answer, beside its size, no longer moves by more than this."""

_DIGITS: Final = 1e-9
"""An answer that still moves by more than this, beside its size, or that rounding may be to blame for, is refused."""


def refined(system: System, solve_kept: SolveKept, score: Floats) -> Solution:
    """Return the least-squares fit to the scores, refined with residuals of as many digits as it takes.

    ``solve_kept`` solves with the grounded Laplacian on the kept side, whose inverse has no negative entry.
    """
    with np.errstate(over="ignore"):
        sample = np.sort(score[:: max(1, score.size // 100)])
        origin = float(sample[sample.size // 2])
        centred = score - origin
    spread = _largest(centred)
    if not np.isfinite(spread):
        raise too_extreme("scores")
    with np.errstate(all="ignore"):
        found = _plainly(system, solve_kept, centred, spread)
        if found is not None:
            error = 2 * _EPS * (spread + _largest(*found[:2]))
            found = found if tells_residual(system.weight, found[2], error, score) else None
    kept, gone, residual = found or _exactly(system, solve_kept, centred, score)
    values, biases = system.orient(kept, gone)
    return Solution(origin + values, biases, residual)


def _plainly(
    system: System, solve_kept: SolveKept, centred: Floats, spread: float
) -> tuple[Floats, Floats, Floats] | None:
    """Refine in plain arithmetic, for scores of at most this size; None where rounding may have done harm.

    The inverse of a grounded Laplacian has no negative entry, so one solution with the sizes of all rounding errors
    on the right-hand side bounds what they can do together.
    """
    kept, gone = np.zeros(system.n_kept), np.zeros(system.n_gone)
    residual = centred
    change = size = np.inf
    for step in range(4):
        force = system.forces(residual)
        of_kept = sum_by(system.kept, force, system.n_kept)
        of_gone = sum_by(system.gone, force, system.n_gone)
        step_kept, step_gone = eliminate(system, solve_kept, of_kept, of_gone)
        change = _largest(step_kept, step_gone)
        if change <= _EPS * size < np.inf:
            break  # so small a step would change no digit
        kept, gone = kept + step_kept, gone + step_gone
        residual = centred - kept.take(system.kept) - gone.take(system.gone)
        if step == 0:
            size = max(_largest(kept, gone), spread, np.finfo(float).tiny)
        elif change <= _SETTLED * size:
            break
    if not change <= _SETTLED * size:
        return None
    # what rounding of the last residuals, of their sums and of the elimination can have done to the last step
    largest = _largest(residual)
    own = _EPS * (4 * (spread + size) + system.kept_count * largest)
    other = _EPS * (4 * (spread + size) + system.gone_count * largest)
    bound = solve_kept(np.asarray(own * system.kept_total, dtype=np.float64) + system.up(np.asarray(other)))
    if not float(bound.max()) <= _PLAIN * size:
        return None
    return kept, gone, residual


def tells_residual(weight: Floats, residuals: Floats, error: float, score: Floats) -> bool:
    """Whether R = sum c r^2 has nine digits where each residual may be off by an error.

    By the inequality of Cauchy and Schwarz dR <= 2 sqrt(R E) + E, E = C error^2. Residuals that are nothing but the
    rounding of the scores are none.
    """
    at = int(np.abs(residuals).argmax())
    largest = abs(float(residuals[at]))
    if largest <= PERFECT * _largest(score):
        return True
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        noise = float(weight.sum()) * (error / largest) ** 2
        # the largest residual is nearly always enough, and R is no less than what it adds
        return _is_told(noise / weight[at]) or _is_told(noise / float(dot(weight, np.square(residuals / largest))))


def _is_told(part: float) -> bool:
    """Whether R has nine digits where E is this part of it."""
    return bool(2 * np.sqrt(part) + part <= _DIGITS)


def _exactly(system: System, solve_kept: SolveKept, centred: Floats, score: Floats) -> tuple[Floats, Floats, Floats]:
    """Refine with residuals and sums of twice the digits, or refuse."""
    kept, gone = _Double(system.n_kept), _Double(system.n_gone)
    spread = max(_largest(centred), np.finfo(float).tiny)
    change = previous = np.inf
    for _ in range(_MOST_STEPS):
        with np.errstate(all="ignore"):
            gradient = _gradient(system, *_residual(system, centred, kept, gone))
            step_kept, step_gone = eliminate(system, solve_kept, *gradient)
            kept.add(step_kept)
            gone.add(step_gone)
            size = max(_largest(kept.high, gone.high), spread)
            change = _largest(step_kept, step_gone) / size
        if not np.isfinite(change):
            raise too_extreme()
        if change <= EPS or change > previous / 2:
            break
        previous = change
    if change > _DIGITS or _rounding(system, solve_kept, centred, kept, gone) > _DIGITS * size:
        raise SolveError(
            "Parts of the panel are joined only by confidences so small beside the others that their standards "
            "cannot be compared to nine digits: raise those confidences, or leave these assessments out and "
            f"calibrate each group on its own ({argument('per_component', True)})."
        )
    residual, _ = _residual(system, centred, kept, gone)
    if not tells_residual(system.weight, residual, (change + 4 * EPS) * size, score):
        raise SolveError(UNTOLD)
    return kept.high, gone.high, residual


def _largest(*parts: Floats) -> float:
    return max([float(np.abs(part).max()) for part in parts])


def _gradient(system: System, residual: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Return the sums of weight times residual at kept and at eliminated vertices, which a solution makes zero."""
    term, lost = two_product(np.asarray(system.weight), residual)
    lost = lost + system.weight * rest
    of_kept = group_sums(system.kept, term, lost, system.n_kept)
    return of_kept, group_sums(system.gone, term, lost, system.n_gone)


def _rounding(system: System, solve_kept: SolveKept, centred: Floats, kept: _Double, gone: _Double) -> float:
    """Return a bound on the error that rounding of the residuals leaves, however often the answer is refined."""
    sizes = np.abs(centred) + np.abs(kept.high)[system.kept] + np.abs(gone.high)[system.gone]
    with np.errstate(all="ignore"):
        noise = system.weight * sizes
        least = float(noise.max()) * resolution(noise.size)
        of_kept = sum_by(system.kept, noise * EPS, system.n_kept) + least
        of_gone = sum_by(system.gone, noise * EPS, system.n_gone) + least
        bound = solve_kept(of_kept + system.up(of_gone / system.gone_total))
    return float(bound.max()) if np.isfinite(bound).all() else np.inf


class _Double:
    """Numbers with twice the digits: a rounded part and what rounding took away."""

    def __init__(self, size: int) -> None:
        self.high = np.zeros(size)
        self.low = np.zeros(size)

    def add(self, step: Floats) -> None:
        total, lost = two_sum(self.high, step)
        self.high, self.low = two_sum(total, self.low + lost)


def _residual(system: System, centred: Floats, kept: _Double, gone: _Double) -> tuple[Floats, Floats]:
    """Return s - x - y of each assessment, with twice the digits."""
    first, lost = two_sum(centred, -kept.high[system.kept])
    second, lost_again = two_sum(first, -gone.high[system.gone])
    return two_sum(second, lost + lost_again - kept.low[system.kept] - gone.low[system.gone])


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b as a rounded sum and what rounding took away (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a b as a rounded product and what rounding took away (Dekker)."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def group_sums(index: NDArray[np.integer[Any]], terms: Floats, rest: Floats, count: int) -> Floats:
    """Return the sums of terms + rest that share an index, added exactly and rounded at the end.

    Bits of the terms are taken off from the top, at the same places in all of them, in portions so short that a
    double holds their sum exactly; whatever cancels, cancels exactly.
    """
    largest = float(np.abs(terms).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return sum_by(index, terms + rest, count)
    spare = _spare(terms.size)
    grid = 2.0 ** min(1023, int(np.ceil(np.log2(largest))) + spare)
    portions = []
    for _ in range(_PASSES):
        high = (terms + grid) - grid
        terms = terms - high
        portions.append(sum_by(index, high, count))
        grid *= 2.0 ** (spare - 53)
    total = portions[0]
    for portion in portions[1:]:  # from the top, where terms cancel: the remainder is small enough to be exact
        total = total + portion
    return total + sum_by(index, terms + rest, count)


def resolution(count: int) -> float:
    """Return how far sums of this many terms may be off, relative to the largest of all terms."""
    return 2.0 ** -(_PASSES * (53 - _spare(count)))


def _spare(count: int) -> int:
    """Return the bits that a double must keep free to hold a sum of this many numbers exactly."""
    return int(np.ceil(np.log2(count + 1))) + 2


def _high(number: Floats) -> Floats:
    """Return the upper half of the digits (Veltkamp)."""
    shifted = _SPLIT * number
    return shifted - (shifted - number)
