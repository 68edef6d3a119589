"""The equations of a partitioned panel, reduced to its smaller side and solved there.

The larger side is eliminated block by block. Where a dense matrix of the smaller side fits, its sum over the blocks is
handed to the one-machine solver; where not, conjugate gradients ask the blocks for one product in each round.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import Level, Tally
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
from evenhand.words import count_of, name_some

ACCURACY: Final = 1e-8
"""The error of any contrast is at most this part of its own posterior standard deviation."""

DRAWS: Final = 64
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


@dataclass(frozen=True, eq=False)
class Solved:
    """Estimates of the smaller side in the gauge (``level``), and what the blocks need to work out the larger.

    ``totals`` are sums over all blocks: confidence and count of the smaller side, rows (size of the larger side) and
    assessments. Where there is a dense matrix, there are the spectral gap, log det of L with any one row and column
    left out, Tr M^+, and the covariance of the smaller side for w = 1 without the common part (``spread``). Where not,
    there are draws (columns) of the smaller side for w = 1.
    """

    estimate: Floats
    unit_variance: Floats
    totals: Tally
    residual: float
    solver: Literal["dense", "iterative"]
    reason: str
    rounds: int
    level: Level
    mu2: float | None = None
    log_determinant: float | None = None
    trace: float | None = None
    spread: Floats | None = None
    draws: NDArray[np.float32] | None = None

    @property
    def total_confidence(self) -> float:
        """Sum C of all confidences."""
        return float(self.totals["confidence"].sum())

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom nu."""
        return _freedom(self.totals)


def smaller_of(larger: Side) -> Side:
    """Return the other side."""
    return "assessor" if larger == "object" else "object"


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
    check_gauge(gauge)
    size = len(labels)
    reason = f"{count_of(size, smaller_of(larger))} on the smaller side"
    if size <= dense_limit and 8.0 * size * size <= 0.2 * crew.memory():
        return _dense(crew, labels, larger, gauge, declared, f"{reason} fit a dense matrix")
    why = f"more than {dense_limit:,}" if size > dense_limit else "too many for a dense matrix in a worker's memory"
    return _iterative(crew, labels, larger, gauge, declared, f"{reason}, {why}", seed)


def check_gauge(gauge: Gauge) -> None:
    """Refuse a gauge that a cluster does not know."""
    if shares(gauge) is None:
        raise InputError(
            f"On a cluster the gauge can be weighted, zero_sum or reference, not {gauge_name(gauge)}: a change of "
            "gauge adds a constant to all values, so shift the results instead.",
            kind="bad_gauge",
        )


def _level(gauge: Gauge, larger: Side, totals: Tally) -> Level:
    """Return the gauge as weights of both sides and what they do to variances."""
    confidence, rows = totals["confidence"], totals["rows"]
    whole = float(confidence.sum())
    of_values, of_biases = shares(gauge) or (Share(), Share())  # others were refused before any work
    large, small = (of_values, of_biases) if larger == "object" else (of_biases, of_values)
    alpha, beta = large.by_confidence, large.even
    weight = small.of(confidence)
    slope = alpha * whole + beta * rows - float(weight.sum())
    spread = alpha**2 * whole + 2 * alpha * beta * rows + beta**2 * totals["inverse_confidence"]
    return Level(
        alpha=alpha,
        beta=beta,
        weight=weight,
        pull=weight - alpha * confidence - beta * totals["share"],
        slope=slope,
        common=spread / slope**2,
        constant=gauge.value * whole if isinstance(gauge, Reference) else 0.0,
    )


def _check_all_seen(totals: Tally, labels: Sequence[str], larger: Side) -> None:
    unseen = np.flatnonzero(totals["count"] == 0)
    if unseen.size:
        side = smaller_of(larger)
        raise InputError(
            f"{count_of(int(unseen.size), side)} without any assessment: {labels[int(unseen[0])]}; leave such labels "
            "out of the panel.",
            kind="bad_panel",
            where=f"{side} {labels[int(unseen[0])]}",
        )


def _refuse_groups(group: Whole, labels: Sequence[str], larger: Side) -> None:
    """Refuse a panel that is not connected, in a sentence; each member has the number or the first of its group."""
    names = np.unique(group)
    if names.size == 1:
        return
    side = smaller_of(larger)
    members = [[labels[at] for at in np.flatnonzero(group == one).tolist()] for one in names[:1000]]
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


def _freedom(totals: Tally) -> int:
    return int(totals["assessments"]) - int(totals["rows"]) - int(totals["confidence"].size) + 1


def _rounding(totals: Tally) -> float:
    return float(8 * np.finfo(np.float64).eps * totals["largest_score"])


def _residual(tally: Tally, totals: Tally) -> float:
    """Return R, or exactly 0 where no residual is larger than the rounding of the scores."""
    return 0.0 if tally["largest_residual"] <= _rounding(totals) else float(tally["residual"])


def _allowed(residual: float, totals: Tally, declared: bool) -> float:
    """Return the largest square of the error in the energy norm; |g^T e| <= ||e|| sd(g) for every contrast g."""
    w = 1.0 if declared else max(residual, 0.0) / max(_freedom(totals), 1)
    return max(ACCURACY**2 * w, float(_rounding(totals) ** 2 * totals["confidence"].sum()))


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

    def schur(self) -> Floats:
        """Return the Laplacian."""
        return self.laplacian

    def grounded_schur(self, free: Whole) -> Floats:
        """Return the Laplacian without the grounded rows and columns."""
        return np.asfortranarray(self.laplacian[np.ix_(free, free)])

    def couple(self, of_kept: Floats) -> tuple[Floats, Floats]:
        """Return what the eliminated side sends back of a vector, of which nothing is known on that side."""
        return self.kept_total * of_kept - self.laplacian @ of_kept, np.zeros(0)

    def groups(self) -> Whole:
        """Return the group of each member, by following links outwards."""
        group = np.full(self.n_kept, -1, dtype=np.int64)
        for number in itertools.count():
            edge = np.flatnonzero(group < 0)[:1]
            if not edge.size:
                break
            while edge.size:
                group[edge] = number
                edge = np.flatnonzero((self.laplacian[edge] < 0).any(axis=0) & (group < 0))
        return group


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


def _dense(crew: Crew, labels: Sequence[str], larger: Side, gauge: Gauge, declared: bool, reason: str) -> Solved:
    size = len(labels)
    totals = sum_up(crew, size)
    _check_all_seen(totals, labels, larger)
    confidence = totals["confidence"]
    reduced = Reduced.of(totals.pop("links"), confidence, totals["count"], larger)
    _refuse_groups(reduced.groups(), labels, larger)
    solver = DirectSolver(reduced)
    estimate = solver.solve_kept(totals["gradient"])
    rounds = 1
    for _ in range(_REFINEMENTS):
        rounds += 1
        tally = crew.sum(kernel.sweep, shared=estimate)
        correction = solver.solve_kept(tally["gradient"])
        residual = _residual(tally, totals)
        if float(tally["gradient"] @ correction) <= _allowed(residual, totals, declared):
            break
        estimate = estimate + correction
    else:
        raise SolveError(NOT_ACCURATE)
    level = _level(gauge, larger, totals)
    inverse = solver.full_inverse
    along = inverse @ confidence / confidence.sum()
    reference = np.diagonal(inverse) - 2 * along + float(confidence @ along) / float(confidence.sum())
    spread = _projected(inverse, level.pull)
    return Solved(
        estimate=level.settle(estimate, tally),
        unit_variance=np.maximum(np.diagonal(spread) + level.common, 0.0),
        totals=totals,
        residual=residual,
        solver="dense",
        reason=reason,
        rounds=rounds,
        level=level,
        mu2=solver.mu2() if size > 1 else 1.0,
        log_determinant=solver.log_determinant() + totals["log_confidence"],
        # Tr M^+ in the reference gauge; sum C q^T X q over the larger side is Tr X (diag(C) - S)
        trace=totals["rows"] - size + 0.5 + 2.0 * float(confidence @ reference),
        spread=spread,
    )


def _projected(inverse: Floats, pull: Floats) -> Floats:
    """Return P G P^T with P = I - 1 pull^T / sum pull."""
    image = (inverse @ pull) / pull.sum()
    projected = inverse - image
    projected -= image[:, None]
    projected += float(pull @ image) / float(pull.sum())
    return np.asarray(projected, dtype=np.float64)


class Descent:
    """Conjugate gradients on S, preconditioned by its diagonal; each step is one round over the blocks.

    ``apply`` returns S times vectors (columns).
    """

    def __init__(self, apply: Callable[[Floats], Floats], diagonal: Floats) -> None:
        self._apply = apply
        self.diagonal = diagonal
        self.smallest = 1.0
        self.rounds = 0

    def _image(self, vectors: Floats) -> Floats:
        """Return S times a vector or columns, without what rounding leaves along the null vector."""
        self.rounds += 1
        image = self._apply(np.ascontiguousarray(vectors.reshape(vectors.shape[0], -1))).reshape(vectors.shape)
        return np.asarray(image - image.mean(axis=0))

    def _scaled(self, vectors: Floats) -> Floats:
        """Return the preconditioner, in the space of vectors without a mean, times a vector or columns."""
        scaled = vectors / (self.diagonal if vectors.ndim == 1 else self.diagonal[:, None])
        return np.asarray(scaled - scaled.mean(axis=0))

    def bound(self, gradient: Floats) -> float:
        """Return a bound of the error in the energy norm, by the smallest Ritz value met so far."""
        left = gradient - gradient.mean()
        return SAFETY * float(np.sqrt(max(float(dot(left, self._scaled(left))), 0.0) / self.smallest))

    def solve(self, right: Floats, enough: Callable[[float], float]) -> Floats:
        """Return the solution for a right-hand side that adds up to zero but for rounding.

        The energy norm of its error is what ``enough`` allows, given how far the residual sum has dropped.
        """
        steps = conjugate_gradients(
            lambda x: (self._image(x), np.zeros(0)),
            right - right.mean(),
            target=enough,
            most=_MOST_ROUNDS,
            precondition=self._scaled,
            report=lambda done, forecast: report("solving", done, forecast),
        )
        self.smallest = min(self.smallest, steps.smallest)
        if not steps.converged:
            raise SolveError(
                f"The equations were not solved in {steps.count:,} rounds over the blocks: the panel hangs together "
                "too weakly for this; calibrate its parts on their own."
            )
        return steps.answer

    def draw(self, right: Floats) -> Floats:
        """Return solutions for random right-hand sides (columns), of which three digits are enough."""
        answer, converged = conjugate_gradients_columns(
            self._image,
            right - right.mean(axis=0),
            tolerance=_DRAWN,
            smallest=self.smallest,
            most=_MOST_ROUNDS,
            precondition=self._scaled,
        )
        if not converged:
            raise SolveError(NOT_ACCURATE)
        return answer


def _iterative(
    crew: Crew, labels: Sequence[str], larger: Side, gauge: Gauge, declared: bool, reason: str, seed: int
) -> Solved:
    size = len(labels)
    totals = crew.sum(kernel.tally_block, size)
    _check_all_seen(totals, labels, larger)
    links = crew.ask(
        lambda _: crew.reduce(
            kernel.merge_links, [crew.submit(kernel.links_of, block, size) for block in crew.blocks], size
        )
    )
    leader = np.arange(size)
    leader[links[1]] = links[0]
    _refuse_groups(leader, labels, larger)
    diagonal = totals["diagonal"]
    descent = Descent(lambda vectors: crew.sum(kernel.apply_schur, shared=vectors)["image"], diagonal)
    estimate, tally = np.zeros(size), totals
    for _ in range(_REFINEMENTS):
        rest = tally["residual"]

        def enough(drop: float, rest: float = rest) -> float:
            return float(np.sqrt(_allowed(rest - drop, totals, declared)))

        estimate = estimate + descent.solve(tally["gradient"], enough)
        tally = crew.sum(kernel.sweep, shared=estimate)
        residual = _residual(tally, totals)
        if descent.bound(tally["gradient"]) ** 2 <= _allowed(residual, totals, declared):
            break
    else:
        raise SolveError(NOT_ACCURATE)
    level = _level(gauge, larger, totals)
    own = 1.0 - level.pull / level.pull.sum()
    spread, draws = np.zeros(size), np.zeros((size, DRAWS), dtype=np.float32)
    report("drawing", 0, DRAWS)
    for at in range(0, DRAWS, _DRAWN_AT_ONCE):
        seeds = [(seed, number, at) for number in range(len(crew.blocks))]
        noise = crew.sum(kernel.noise_gradient, size, _DRAWN_AT_ONCE, each=seeds)["gradient"]
        drawn = level.project(descent.draw(noise))
        # given all others, each varies by own^2 / diagonal; draws are needed for the rest only
        spread += np.square(drawn - (own / diagonal)[:, None] * noise).sum(axis=1)
        draws[:, at : at + _DRAWN_AT_ONCE] = drawn
        report("drawing", at + _DRAWN_AT_ONCE, DRAWS)
    return Solved(
        estimate=level.settle(estimate, tally),
        unit_variance=np.maximum(own**2 / diagonal + spread / DRAWS + level.common, 0.0),
        totals=totals,
        residual=residual,
        solver="iterative",
        reason=reason,
        rounds=descent.rounds,
        level=level,
        draws=draws,
    )
