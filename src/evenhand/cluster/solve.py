"""The equations of a partitioned panel, reduced to its smaller side and solved there.

The larger side is eliminated block by block. Where a dense matrix of the smaller side fits, its sum over the blocks is
handed to the one-machine solver; where not, conjugate gradients ask the blocks for one product in each round.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import Block, Tally
from evenhand.cluster.crew import Crew
from evenhand.compiled import Floats, Whole, dot
from evenhand.errors import InputError, NotConnectedError, SolveError
from evenhand.panel.gauge import Gauge, Reference, Share, gauge_name, shares
from evenhand.panel.graph import Side
from evenhand.progress import report
from evenhand.solve.choose import DENSE
from evenhand.solve.direct import DirectSolver
from evenhand.solve.equations import System
from evenhand.solve.krylov import SAFETY, conjugate_gradients, conjugate_gradients_columns
from evenhand.words import by_door, count_of, name_some

ACCURACY: Final = 1e-8
"""The error of any contrast is at most this part of its own posterior standard deviation."""

_DRAWS: Final = 64
"""Uncertainties are estimated from this many random right-hand sides where there is no dense matrix."""

_DRAWN_AT_ONCE: Final = 16
_DRAWN: Final = 1e-3
"""Draws have this relative error, far below that of their number."""

_MOST_ROUNDS: Final = 3000
_REFINEMENTS: Final = 4

NOT_ACCURATE: Final = (
    "The equations cannot be solved to the accuracy that results must have: the panel hangs together too weakly for "
    "its confidences."
)

Allowed = Callable[[float], float]
"""The largest square of the error in the energy norm, given the residual; |g^T e| <= ||e|| sd(g) for any contrast g."""


def smaller_of(larger: Side) -> Side:
    """Return the other side."""
    return "assessor" if larger == "object" else "object"


def check_gauge(gauge: Gauge) -> None:
    """Refuse a gauge that a cluster does not know."""
    if shares(gauge) is None:
        raise InputError(
            f"On a cluster the gauge can be weighted, {by_door('zero_sum', 'zero-sum')} or reference, not "
            f"{gauge_name(gauge)}: a change of gauge adds a constant to all values, so shift the results instead.",
            kind="bad_gauge",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """What the gauge makes of both sides, for the members of the larger with weights alpha C + beta.

    The condition is sum (alpha C + beta) y over the larger side, plus sum weight x over the smaller, = constant. It
    becomes ``pull`` on the smaller side once the larger is eliminated, and changes by ``slope`` when the larger side
    rises by 1 and the smaller falls by 1; ``common`` is the variance, for w = 1, that all estimates share through it.
    """

    alpha: float
    beta: float
    weight: Floats
    pull: Floats
    slope: float
    common: float
    constant: float

    @classmethod
    def of(cls, gauge: Gauge, larger: Side, totals: Tally) -> Level:
        """Return the gauge as weights of both sides and what they do to variances."""
        confidence, rows = totals["confidence"], totals["rows"]
        whole = float(confidence.sum())
        of_values, of_biases = shares(gauge) or (Share(), Share())  # others were refused before any work
        large, small = (of_values, of_biases) if larger == "object" else (of_biases, of_values)
        alpha, beta = large.by_confidence, large.even
        weight = small.of(confidence)
        slope = alpha * whole + beta * rows - float(weight.sum())
        spread = alpha**2 * whole + 2 * alpha * beta * rows + beta**2 * totals["inverse_confidence"]
        pull = weight - alpha * confidence - beta * totals["share"]
        constant = gauge.value * whole if isinstance(gauge, Reference) else 0.0
        return cls(alpha, beta, weight, pull, slope, spread / slope**2, constant)

    def settle(self, estimate: Floats, tally: Tally) -> Floats:
        """Return the estimate shifted so that the gauge holds."""
        left = self.alpha * tally["weighted_level"] + self.beta * tally["level"] + float(self.weight @ estimate)
        return np.asarray(estimate - (self.constant - left) / self.slope, dtype=np.float64)

    def project(self, vectors: Floats) -> Floats:
        """Return vectors (columns) less their part along the common shift."""
        return np.asarray(vectors - (self.pull @ vectors) / self.pull.sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Solved:
    """Estimates of the smaller side in the gauge (``level``), and what the blocks need to work out the larger.

    ``totals`` are sums over all blocks: confidence and count of the smaller side, rows (size of the larger side) and
    assessments. Where there is a dense matrix, there are the spectral gap, log det of L with any one row and column
    left out, Tr M^+, and the covariance of the smaller side for w = 1 without the common part (``spread``). Where not,
    there are draws (columns) of the smaller side for w = 1.
    """

    estimate: Floats
    totals: Tally
    residual: float
    degrees_of_freedom: int
    solver: str
    reason: str
    rounds: int
    level: Level
    unit_variance: Floats
    mu2: float | None = None
    log_determinant: float | None = None
    trace: float | None = None
    spread: Floats | None = None
    draws: NDArray[np.float32] | None = None

    def finish(self, block: Block) -> tuple[Floats, Floats, Floats, Floats]:
        """Return estimates, total confidences, variances for w = 1 and residuals of a block's side."""
        estimates, total, residual, _ = kernel.fit_rows(block, self.estimate)
        if self.spread is not None:
            through = kernel.variances_of(block, self.spread)
        else:
            assert self.draws is not None  # noqa: S101  # one of the two is there
            through = kernel.mean_squares(block, self.draws)
        level = self.level
        unit = 1.0 / total + through + level.common - 2.0 * (level.alpha + level.beta / total) / level.slope
        return estimates, total, np.maximum(unit, 0.0), residual

    def __sizeof__(self) -> int:
        return 200 + sum(0 if array is None else array.nbytes for array in (self.estimate, self.spread, self.draws))


def solve_blocks(
    crew: Crew,
    labels: Sequence[str],
    larger: Side,
    *,
    gauge: Gauge = "weighted",
    declared: bool = False,
    seed: int = 0,
    dense_limit: int = DENSE,
) -> Solved:
    """Return the estimates of the smaller side, which has these labels, of a partitioned panel.

    ``declared`` says whether w = 1, for the accuracy that is asked for; ``dense_limit`` is the most of the smaller side
    for which a dense matrix is used.
    """
    size = len(labels)
    is_dense = size <= dense_limit and 8.0 * size * size <= 0.2 * crew.memory()
    totals = sum_up(crew, size) if is_dense else crew.sum(kernel.tally_block, size)
    _check_comparable(totals, labels, smaller_of(larger))
    why = f", more than {dense_limit:,}" if size > dense_limit else ", too many for a dense matrix in a worker's memory"
    solver = Dense(totals, larger) if is_dense else Descent(crew, crew.sum(kernel.diagonal_of, size)["diagonal"], seed)
    freedom = int(totals["assessments"]) - int(totals["rows"]) - size + 1
    rounding = float(8 * np.finfo(np.float64).eps * totals["largest_score"])

    def allowed(residual: float) -> float:
        w = 1.0 if declared else max(residual, 0.0) / max(freedom, 1)
        return max(ACCURACY**2 * w, float(rounding**2 * totals["confidence"].sum()))

    estimate, tally = np.zeros(size), totals
    for _ in range(_REFINEMENTS):
        estimate = estimate + solver.solve(tally, allowed)
        tally = crew.sum(kernel.sweep, shared=estimate)
        # exactly 0 where no residual is larger than the rounding of the scores
        residual = 0.0 if tally["largest_residual"] <= rounding else float(tally["residual"])
        if solver.square_error(tally["gradient"]) <= allowed(residual):
            break
    else:
        raise SolveError(NOT_ACCURATE)
    level = Level.of(gauge, larger, totals)
    uncertainty = solver.uncertainty(level)
    return Solved(
        estimate=level.settle(estimate, tally),
        totals=totals,
        residual=residual,
        degrees_of_freedom=freedom,
        solver=solver.name,
        reason=f"{count_of(size, smaller_of(larger))} on the smaller side{' fit a dense matrix' if is_dense else why}",
        rounds=solver.rounds,
        level=level,
        **uncertainty,
    )


def _check_comparable(totals: Tally, labels: Sequence[str], side: Side) -> None:
    """Refuse a panel in which someone of the smaller side has no assessment, or which is not connected."""
    unseen = np.flatnonzero(totals["count"] == 0)
    if unseen.size:
        raise InputError(
            f"{count_of(int(unseen.size), side)} without any assessment: {labels[int(unseen[0])]}; leave such labels "
            "out of the panel.",
            kind="bad_panel",
            where=f"{side} {labels[int(unseen[0])]}",
        )
    leader = totals["leader"]
    names = np.unique(leader)
    if names.size == 1:
        return
    members = [[labels[at] for at in np.flatnonzero(leader == one).tolist()] for one in names[:1000]]
    members.sort(key=len, reverse=True)
    shown = "; ".join(
        f"group {at}: {side if len(some) == 1 else side + 's'} {name_some(some, 4)}"
        for at, some in enumerate(members[:4], start=1)
    )
    more = f"; and {count_of(names.size - 4, 'more group')}" if names.size > 4 else ""
    raise NotConnectedError(
        f"The panel falls into {names.size:,} groups that share neither assessor nor object, so their standards cannot "
        f"be compared: {shown}{more}. Add assessments that join them, or calibrate each group on its own.",
        components=[([], some) if side == "assessor" else (some, []) for some in members],
        suggestions=(),
    )


@dataclass(frozen=True, eq=False)
class Reduced(System):
    """The equations with the larger side eliminated already: a Laplacian of the smaller side, and nothing else."""

    laplacian: Floats

    @classmethod
    def of(cls, links: Floats, confidence: Floats, count: Whole, larger: Side) -> Reduced:
        """Return the equations from the links above the diagonal, which are overwritten."""
        np.negative(links, out=links)
        np.fill_diagonal(links, 0.0)
        links += np.triu(links, 1).T  # the lower triangle is empty
        np.fill_diagonal(links, -links.sum(axis=1))
        none, nobody = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(
            larger == "object", nobody, nobody, none, confidence, none, count, nobody, np.zeros_like(count), 1, links
        )

    def schur(self, pole: int | None = None) -> Floats:
        """Return the Laplacian, which has no pole."""
        return self.laplacian

    def grounded_schur(self, free: Whole, pole: int | None = None) -> Floats:
        """Return the Laplacian without the grounded rows and columns."""
        return np.asfortranarray(self.laplacian[np.ix_(free, free)])

    def couple(self, of_kept: Floats) -> tuple[Floats, Floats]:
        """Return what the eliminated side sends back of a vector, of which nothing is known on that side."""
        return self.kept_total * of_kept - self.laplacian @ of_kept, np.zeros(0)


def sum_up(crew: Crew, size: int) -> Tally:
    """Return totals, gradient and links of the smaller side, one matrix from each worker."""
    number = min(len(crew.blocks), crew.size)
    edges = [round(at * len(crew.blocks) / number) for at in range(number + 1)]

    def question(_: Any) -> Any:
        parts = [crew.blocks[first:last] for first, last in itertools.pairwise(edges)]
        futures = [crew.submit(kernel.schur_of, part, size, worker=at) for at, part in enumerate(parts)]
        return crew.reduce(kernel.add, futures, fan_in=2)

    report("summing up", 0, 1)
    totals: Tally = crew.ask(question)
    report("summing up", 1, 1)
    return totals


class Dense:
    """The one-machine solver on the sum of all blocks."""

    name: Final = "dense"

    def __init__(self, totals: Tally, larger: Side) -> None:
        self._totals = totals
        self._solver = DirectSolver(Reduced.of(totals.pop("links"), totals["confidence"], totals["count"], larger))
        self.rounds = 1

    def solve(self, tally: Tally, _: Allowed) -> Floats:
        """Return the step to the solution from where the tally was taken."""
        self.rounds += 1
        return self._solver.solve_kept(tally["gradient"])

    def square_error(self, gradient: Floats) -> float:
        """Return the square of the error in the energy norm."""
        return float(gradient @ self._solver.solve_kept(gradient))

    def uncertainty(self, level: Level) -> dict[str, Any]:
        """Return what is known of variances, spectral gap and determinant."""
        confidence, inverse = self._totals["confidence"], self._solver.full_inverse
        along = inverse @ confidence / confidence.sum()
        reference = np.diagonal(inverse) - 2 * along + float(confidence @ along) / float(confidence.sum())
        spread = _projected(inverse, level.pull)
        return {
            "unit_variance": np.maximum(np.diagonal(spread) + level.common, 0.0),
            "mu2": self._solver.mu2() if confidence.size > 1 else 1.0,
            "log_determinant": self._solver.log_determinant() + self._totals["log_confidence"],
            # Tr M^+ in the reference gauge; sum C q^T X q over the larger side is Tr X (diag(C) - S)
            "trace": self._totals["rows"] - confidence.size + 0.5 + 2.0 * float(confidence @ reference),
            "spread": spread,
        }


def _projected(inverse: Floats, pull: Floats) -> Floats:
    """Return P G P^T with P = I - 1 pull^T / sum pull."""
    image = (inverse @ pull) / pull.sum()
    projected = inverse - image
    projected -= image[:, None]
    projected += float(pull @ image) / float(pull.sum())
    return np.asarray(projected, dtype=np.float64)


class Descent:
    """Conjugate gradients on S, preconditioned by its diagonal; each step is one round over the blocks."""

    name: Final = "iterative"

    def __init__(self, crew: Crew, diagonal: Floats, seed: int) -> None:
        self._crew, self._diagonal, self._seed = crew, diagonal, seed
        self._smallest = 1.0
        self.rounds = 0

    def _image(self, vectors: Floats) -> Floats:
        """Return S times a vector or columns, without what rounding leaves along the null vector."""
        self.rounds += 1
        columns = np.ascontiguousarray(vectors.reshape(vectors.shape[0], -1))
        image = self._crew.sum(kernel.apply_schur, shared=columns)["image"].reshape(vectors.shape)
        return np.asarray(image - image.mean(axis=0))

    def _scaled(self, vectors: Floats) -> Floats:
        """Return the preconditioner, in the space of vectors without a mean, times a vector or columns."""
        scaled = vectors / (self._diagonal if vectors.ndim == 1 else self._diagonal[:, None])
        return np.asarray(scaled - scaled.mean(axis=0))

    def square_error(self, gradient: Floats) -> float:
        """Return the square of a bound of the error in the energy norm, by the smallest Ritz value met so far."""
        left = gradient - gradient.mean()
        return float(SAFETY * np.sqrt(max(float(dot(left, self._scaled(left))), 0.0) / self._smallest)) ** 2

    def solve(self, tally: Tally, allowed: Allowed) -> Floats:
        """Return the step to the solution from where the tally was taken, as exact as is asked for."""
        right = tally["gradient"]
        steps = conjugate_gradients(
            lambda x: (self._image(x), np.zeros(0)),
            right - right.mean(),
            target=lambda drop: float(np.sqrt(allowed(tally["residual"] - drop))),
            most=_MOST_ROUNDS,
            precondition=self._scaled,
            report=lambda done, forecast: report("solving", done, forecast),
        )
        self._smallest = min(self._smallest, steps.smallest)
        if not steps.converged:
            raise SolveError(
                f"The equations were not solved in {steps.count:,} rounds over the blocks: the panel hangs together "
                "too weakly for this; calibrate its parts on their own."
            )
        return steps.answer

    def uncertainty(self, level: Level) -> dict[str, Any]:
        """Return draws of the smaller side, for w = 1, and its variances."""
        diagonal, blocks = self._diagonal, len(self._crew.blocks)
        size, own = diagonal.size, 1.0 - level.pull / level.pull.sum()
        spread, draws = np.zeros(size), np.zeros((size, _DRAWS), dtype=np.float32)
        report("drawing", 0, _DRAWS)
        for at in range(0, _DRAWS, _DRAWN_AT_ONCE):
            seeds = [(self._seed, number, at) for number in range(blocks)]
            noise = self._crew.sum(kernel.noise_gradient, size, _DRAWN_AT_ONCE, each=seeds)["gradient"]
            drawn = level.project(self._draw(noise))
            # given all others, each varies by own^2 / diagonal; draws are needed for the rest only
            spread += np.square(drawn - (own / diagonal)[:, None] * noise).sum(axis=1)
            draws[:, at : at + _DRAWN_AT_ONCE] = drawn
            report("drawing", at + _DRAWN_AT_ONCE, _DRAWS)
        unit_variance = np.maximum(own**2 / diagonal + spread / _DRAWS + level.common, 0.0)
        return {"unit_variance": unit_variance, "draws": draws}

    def _draw(self, right: Floats) -> Floats:
        """Return solutions for random right-hand sides (columns), of which three digits are enough."""
        answer, converged = conjugate_gradients_columns(
            self._image,
            right - right.mean(axis=0),
            tolerance=_DRAWN,
            smallest=self._smallest,
            most=_MOST_ROUNDS,
            precondition=self._scaled,
        )
        if not converged:
            raise SolveError(NOT_ACCURATE)
        return answer
