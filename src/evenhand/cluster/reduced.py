"""The equations of the smaller side: its gauge, its dense factor, and conjugate gradients where it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import Block, Tally
from evenhand.compiled import Floats, dot
from evenhand.errors import NotConnectedError, SolveError
from evenhand.panel.gauge import Gauge, Reference
from evenhand.progress import report
from evenhand.solve.krylov import SAFETY, conjugate_gradients, conjugate_gradients_columns
from evenhand.words import count_of, name_some

Side = Literal["object", "assessor"]

_MOST_ROUNDS: Final = 3000
_DRAWN: Final = 1e-3
"""Relative error of draws, far below what their number leaves."""

NOT_ACCURATE: Final = (
    "The equations cannot be solved to the accuracy that results must have: the panel hangs together too weakly for "
    "its confidences."
)


def smaller_of(larger: Side) -> Side:
    """Return the other side."""
    return "assessor" if larger == "object" else "object"


@dataclass(frozen=True, slots=True)
class Level:
    """What the gauge makes of the larger side.

    The condition is sum (alpha C + beta) y over the larger side, plus sum weight x over the smaller, = constant.

    Attributes
    ----------
    alpha, beta
        Weights of the larger side.
    slope
        Change of the condition when the larger side rises by 1 and the smaller falls by 1.
    common
        Variance, for w = 1, that all estimates share through the gauge.
    """

    alpha: float
    beta: float
    slope: float
    common: float


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What every block needs to work out its side: estimates, covariance or draws, and gauge."""

    estimate: Floats
    spread: Floats | None
    draws: NDArray[np.float32] | None
    level: Level

    def __sizeof__(self) -> int:
        return 200 + sum(0 if array is None else array.nbytes for array in (self.estimate, self.spread, self.draws))


def finish(block: Block, answer: Answer) -> tuple[Floats, Floats, Floats, Floats]:
    """Return estimates, total confidences, variances for w = 1 and residuals of a block's side."""
    estimates, total, residual = kernel.estimates_of(block, answer.estimate)
    if answer.spread is not None:
        through = kernel.variances_of(block, answer.spread)
    elif answer.draws is not None:
        through = kernel.mean_squares(block, answer.draws)
    else:
        through = np.zeros(block.rows)
    level = answer.level
    unit = 1.0 / total + through + level.common - 2.0 * (level.alpha + level.beta / total) / level.slope
    return estimates, total, np.maximum(unit, 0.0), residual


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """The gauge in terms of both sides' totals."""

    level: Level
    weight: Floats
    pull: Floats
    constant: float

    def settle(self, estimate: Floats, tally: Tally) -> Floats:
        """Return the estimate shifted so that the gauge holds."""
        left = self.level.alpha * tally["weighted_level"] + self.level.beta * tally["level"]
        shift = (self.constant - left - float(self.weight @ estimate)) / self.level.slope
        return np.asarray(estimate - shift, dtype=np.float64)

    def project(self, vectors: Floats) -> Floats:
        """Return vectors (columns) less their part along the common shift."""
        return np.asarray(vectors - (self.pull @ vectors) / self.pull.sum(), dtype=np.float64)


def make_condition(gauge: Gauge, larger: Side, totals: Tally) -> Condition:
    """Return the gauge as weights of both sides and what they do to variances."""
    confidence = totals["confidence"]
    whole = float(confidence.sum())
    assessors, objects = {"weighted": ((1.0, 0.0), (0.0, 0.0)), "zero_sum": ((0.0, 1.0), (0.0, 0.0))}.get(
        str(gauge), ((-1.0, 0.0), (1.0, 0.0))
    )
    (alpha, beta), (own, even) = (objects, assessors) if larger == "object" else (assessors, objects)
    weight = own * confidence + even
    slope = alpha * whole + beta * totals["rows"] - float(weight.sum())
    pull = weight - alpha * confidence - beta * totals["share"]
    spread = alpha**2 * whole + 2 * alpha * beta * totals["rows"] + beta**2 * totals["inverse_confidence"]
    constant = gauge.value * whole if isinstance(gauge, Reference) else 0.0
    return Condition(Level(alpha, beta, slope, spread / slope**2), weight, pull, constant)


def refuse_groups(group: NDArray[np.int64], labels: Sequence[str], larger: Side) -> None:
    """Refuse a panel that is not connected, in a sentence."""
    number = int(group.max()) + 1
    if number == 1:
        return
    side = smaller_of(larger)
    members = [[labels[at] for at in np.flatnonzero(group == one).tolist()] for one in range(min(number, 1000))]
    members.sort(key=len, reverse=True)
    shown = "; ".join(
        f"group {at}: {side if len(names) == 1 else side + 's'} {name_some(names, 4)}"
        for at, names in enumerate(members[:4], start=1)
    )
    more = f"; and {count_of(number - 4, 'more group')}" if number > 4 else ""
    raise NotConnectedError(
        f"The panel falls into {number:,} groups that share neither assessor nor object, so their standards cannot be "
        f"compared: {shown}{more}. Add assessments that join them, or calibrate each group on its own.",
        components=[([], names) if side == "assessor" else (names, []) for names in members],
        suggestions=(),
    )


class Dense:
    """The Laplacian of the smaller side, with the best-linked of it held at zero.

    Parameters
    ----------
    links
        Weights between members of the smaller side, above the diagonal; overwritten.
    labels, larger
        What to call those that are not connected.
    """

    def __init__(self, links: Floats, labels: Sequence[str], larger: Side) -> None:
        from scipy.linalg import LinAlgError, cholesky

        links += np.triu(links, 1).T  # the lower triangle is empty
        np.fill_diagonal(links, 0.0)
        refuse_groups(_dense_groups(links), labels, larger)
        degree = links.sum(axis=1)
        self.size = degree.size
        self.kept = np.delete(np.arange(self.size), int(degree.argmax()))
        matrix = -links[np.ix_(self.kept, self.kept)]
        np.fill_diagonal(matrix, degree[self.kept])
        try:
            self.root: Floats = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise SolveError(NOT_ACCURATE) from None

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant without one row and column, whichever."""
        return 2.0 * float(np.log(np.diagonal(self.root)).sum())

    def solve(self, gradient: Floats) -> Floats:
        """Return a solution for a right-hand side that adds up to zero."""
        from scipy.linalg import cho_solve

        found = np.zeros(self.size)
        if self.kept.size:
            found[self.kept] = cho_solve((self.root, True), gradient[self.kept], check_finite=False)
        return found

    def inverse(self) -> Floats:
        """Return a symmetric generalised inverse."""
        from scipy.linalg.lapack import dpotri

        full = np.zeros((self.size, self.size))
        if self.kept.size:
            lower, _ = dpotri(self.root, lower=1)
            full[np.ix_(self.kept, self.kept)] = np.tril(lower) + np.tril(lower, -1).T
        return full


def _dense_groups(links: Floats) -> NDArray[np.int64]:
    """Return the group of each, by following links outwards."""
    group = np.full(links.shape[0], -1, dtype=np.int64)
    number = 0
    while (group < 0).any():
        edge = np.array([int(np.argmax(group < 0))])
        while edge.size:
            group[edge] = number
            reached = (links[edge] > 0).any(axis=0)
            edge = np.flatnonzero(reached & (group < 0))
        number += 1
    return group


def projected(inverse: Floats, pull: Floats) -> Floats:
    """Return P G P^T with P = I - 1 pull^T / sum pull."""
    image = (inverse @ pull) / pull.sum()
    level = float(pull @ image) / float(pull.sum())
    projected = inverse - image
    projected -= image[:, None]
    projected += level
    return np.asarray(projected, dtype=np.float64)


def spectral_gap(reference: Floats, confidence: Floats) -> float:
    """Return mu_2 = 1 - sqrt(1 - s), 1/s the largest eigenvalue of C^(1/2) S^+ C^(1/2) in the reference gauge."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = confidence.size
    if size == 1:
        return 1.0
    root = np.sqrt(confidence)
    if size <= 50:
        largest = float(np.linalg.eigvalsh(root[:, None] * reference * root)[-1])
    else:
        operator = LinearOperator((size, size), matvec=lambda x: root * (reference @ (root * x)), dtype=np.float64)
        first = np.random.default_rng(0).standard_normal(size)
        largest = float(eigsh(operator, k=1, which="LA", v0=first, return_eigenvectors=False)[0])
    share = min(1.0 / largest, 1.0)
    return share / (1.0 + float(np.sqrt(1.0 - share)))


class Descent:
    """Conjugate gradients on S, preconditioned by its diagonal; each step is one round over the blocks.

    Parameters
    ----------
    apply
        Returns S times vectors (columns).
    diagonal
        The diagonal of S.
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

        Parameters
        ----------
        right
            The right-hand side.
        enough
            The energy norm of the error that may be left, given how far the residual sum has dropped.
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
