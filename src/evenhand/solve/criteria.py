"""Several criteria at once: least squares with errors that go together within a reading.

A reading is what one assessor said of one object: a score for each of K criteria, or for some of them. Its errors have
the covariance D^-1/2 Sigma D^-1/2, D the declared precisions, and readings are independent of each other. The normal
equations then have a K x K block W for each reading, W the inverse of that covariance among the criteria scored. The
larger side is eliminated block by block, and what is left on the smaller side is factorised as a full matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Codes, Floats, sum_by
from evenhand.errors import LimitError, SolveError
from evenhand.memory import in_gib, require
from evenhand.panel.gauge import Condition
from evenhand.progress import report
from evenhand.solve.base import Derived
from evenhand.solve.choose import choose_solver
from evenhand.solve.equations import System

Whole = NDArray[np.int64]

MOST: Final = 4_000
"""Up to this many equations, criteria times members of the smaller side, are solved (some minutes on two cores)."""

_CANCELLED: Final = 1e-13
"""A pivot that is smaller than this part of its diagonal has lost too many digits."""

_ROUNDS: Final = 2
"""Rounds of refinement: what the residuals still say is solved for as well."""

_STEP: Final = 1e-6
"""Step of first derivatives by Sigma, beside the noise variances."""

_STRIDE: Final = 0.02
"""Largest step of second derivatives, in standard errors of Sigma."""

_MANY: Final = 300
"""With so many degrees of freedom it does not matter that the weights of the least squares are estimated."""

_AT_ONCE: Final = 2**22
"""Numbers held at a time while rows of the inverse are gathered."""


@dataclass(frozen=True, eq=False)
class Readings:
    """What assessors said of objects, a row for each reading and a column for each criterion.

    Attributes
    ----------
    object_index, assessor_index
        The object and the assessor of each of P readings.
    score
        P x K scores; 0 where a criterion was not scored.
    precision
        P x K precisions; 0 where a criterion was not scored.
    n_objects, n_assessors
        Sizes of the two sides.
    """

    object_index: Whole
    assessor_index: Whole
    score: Floats
    precision: Floats
    n_objects: int
    n_assessors: int

    @property
    def n_criteria(self) -> int:
        """Number K of criteria."""
        return int(self.score.shape[1])

    @property
    def count(self) -> int:
        """Number P of readings."""
        return int(self.score.shape[0])

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each criterion was scored in each reading."""
        return self.precision > 0

    @cached_property
    def root(self) -> Floats:
        """Square roots of the precisions."""
        return np.sqrt(self.precision)

    @cached_property
    def patterns(self) -> list[tuple[Whole, Whole]]:
        """For each set of criteria that occurs, its criteria and the readings that have scores for just these."""
        found, place = np.unique(self.present, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        cuts = np.cumsum(np.bincount(place.ravel(), minlength=len(found)))[:-1]
        return [(np.flatnonzero(row), rows) for row, rows in zip(found, np.split(order, cuts), strict=True)]

    @cached_property
    def together(self) -> Whole:
        """How many readings have scores for both of two criteria."""
        present = self.present.astype(np.float64)
        return np.rint(present.T @ present).astype(np.int64)

    @cached_property
    def by_object(self) -> sp.csr_array[Any]:
        """Ones where a reading (column) is of an object (row): sums over the readings of each object."""
        return _chooser(self.object_index, self.n_objects)

    @cached_property
    def by_assessor(self) -> sp.csr_array[Any]:
        """Ones where a reading (column) is by an assessor (row)."""
        return _chooser(self.assessor_index, self.n_assessors)

    def require_room(self) -> None:
        """Refuse equations that are too many, or too large for the memory, with the figure."""
        count = self.n_criteria
        size = count * min(self.n_objects, self.n_assessors)
        need = 32.0 * size**2 + 48.0 * self.count * count**2 + 64.0 * (self.n_objects + self.n_assessors) * count**2
        if size > MOST:
            raise LimitError(
                f"Errors that go together between criteria, where some scores are missing, take a full matrix of "
                f"{size:,} equations ({in_gib(need)}), and {MOST:,} is the most: use correlated=False, which fits each "
                "criterion on its own."
            )
        require(need, f"a full matrix of {size:,} equations (correlated=False takes none)")


@dataclass(frozen=True, eq=False)
class Gauges:
    """The gauges of all criteria: for each criterion and each of its groups, one condition on values and biases.

    Attributes
    ----------
    value_weight, bias_weight
        Weights of the values (n_O x K) and of the biases (n_A x K).
    object_group, assessor_group
        The condition that holds for each value and each bias, counted over all criteria; 0 where there is no bias.
    has_bias
        Whether each assessor scored each criterion, and so has a bias (n_A x K).
    slope, constant
        For each condition, the change of its left-hand side when values rise and biases fall by 1, and its right-hand
        side.
    """

    value_weight: Floats
    bias_weight: Floats
    object_group: Whole
    assessor_group: Whole
    has_bias: NDArray[np.bool_]
    slope: Floats
    constant: Floats

    @classmethod
    def of(cls, conditions: Sequence[Condition], seats: Sequence[Whole], n_assessors: int) -> Gauges:
        """Return the gauges of several criteria.

        Parameters
        ----------
        conditions
            The gauge of each criterion, on all objects and on its own assessors.
        seats
            For each criterion the positions of its own assessors among all.
        n_assessors
            Number of all assessors.
        """
        shape = n_assessors, len(conditions)
        bias_weight, group, has_bias = np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        sizes = [one.constant.size for one in conditions]
        first = np.cumsum([0, *sizes[:-1]])
        for at, (one, seat) in enumerate(zip(conditions, seats, strict=True)):
            bias_weight[seat, at] = one.bias_weight
            group[seat, at] = one.assessor_component + first[at]
            has_bias[seat, at] = True
        return cls(
            value_weight=np.stack([one.value_weight for one in conditions], axis=1),
            bias_weight=bias_weight,
            object_group=np.stack([one.object_component for one in conditions], axis=1) + first,
            assessor_group=group,
            has_bias=has_bias,
            slope=np.concatenate([one.slope for one in conditions]),
            constant=np.concatenate([one.constant for one in conditions]),
        )

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """How far values and biases move for a change of 1 in the left-hand side of their condition."""
        return 1.0 / self.slope[self.object_group], np.where(self.has_bias, -1.0 / self.slope[self.assessor_group], 0.0)

    def left(self, values: Floats, biases: Floats) -> Floats:
        """Return the left-hand sides for values (n_O x K) and biases (n_A x K)."""
        return sum_by(self.object_group.ravel(), (self.value_weight * values).ravel(), self.slope.size) + sum_by(
            self.assessor_group.ravel(), (self.bias_weight * biases).ravel(), self.slope.size
        )

    def fixed(self, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return values and biases moved along the null vectors until all conditions hold."""
        short = self.constant - self.left(values, biases)
        of_values, of_biases = self.steps
        return values + of_values * short[self.object_group], biases + of_biases * short[self.assessor_group]

    @cached_property
    def matrices(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """The conditions, and the null vectors that they fix, as columns over values and then biases."""
        group = np.concatenate([self.object_group.ravel(), self.assessor_group.ravel()])
        rows = np.arange(group.size)
        weight = np.concatenate([self.value_weight.ravel(), self.bias_weight.ravel()])
        step = np.concatenate([side.ravel() for side in self.steps])
        shape = group.size, self.slope.size
        return sp.csr_array((weight, (rows, group)), shape=shape), sp.csr_array((step, (rows, group)), shape=shape)

    def project(self, stacked: Floats) -> Floats:
        """Return P times columns over values and then biases: each moved until all left-hand sides are zero."""
        condition, null = self.matrices
        return np.asarray(stacked - null @ (condition.T @ stacked))

    def transposed(self, stacked: Floats) -> Floats:
        """Return P^T times columns."""
        condition, null = self.matrices
        return np.asarray(stacked - condition @ (null.T @ stacked))


def project(gauge: Condition, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
    """Return P times columns of values and biases, for one criterion."""
    gauges = Gauges.of([gauge], [np.arange(biases.shape[0])], biases.shape[0])
    moved = gauges.project(np.concatenate([values, biases]))
    return moved[: values.shape[0]], moved[values.shape[0] :]


def transposed(gauge: Condition, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
    """Return P^T times columns of values and biases, for one criterion."""
    gauges = Gauges.of([gauge], [np.arange(biases.shape[0])], biases.shape[0])
    moved = gauges.transposed(np.concatenate([values, biases]))
    return moved[: values.shape[0]], moved[values.shape[0] :]


@dataclass(frozen=True, eq=False)
class JointSolver:
    """Generalised least squares for the values and biases of all criteria, given Sigma.

    Attributes
    ----------
    readings
        The scores.
    covariance
        Sigma, K x K: the noise covariance between criteria for precision 1.
    gauges
        The gauges, whose groups tell which values and biases hang together.
    """

    readings: Readings
    covariance: Floats
    gauges: Gauges

    @cached_property
    def _keeps_assessors(self) -> bool:
        return self.readings.n_assessors <= self.readings.n_objects

    def _orient(self, of_objects: Any, of_assessors: Any) -> tuple[Any, Any]:
        """Return (objects, assessors) as (kept, eliminated), and the other way round."""
        return (of_assessors, of_objects) if self._keeps_assessors else (of_objects, of_assessors)

    @cached_property
    def _ends(self) -> tuple[Whole, Whole]:
        return self._orient(self.readings.object_index, self.readings.assessor_index)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return self._orient(self.readings.n_objects, self.readings.n_assessors)

    @property
    def _choosers(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        return self._orient(self.readings.by_object, self.readings.by_assessor)

    @cached_property
    def weight(self) -> Floats:
        """W for each reading (P x K x K), with zeros for criteria that were not scored."""
        readings = self.readings
        weight = np.zeros((readings.count, readings.n_criteria, readings.n_criteria))
        for criteria, rows in readings.patterns:
            inverse = np.linalg.inv(self.covariance[np.ix_(criteria, criteria)])
            root = readings.root[np.ix_(rows, criteria)]
            weight[np.ix_(rows, criteria, criteria)] = root[:, :, None] * inverse * root[:, None, :]
        return weight

    @cached_property
    def _gone_inverse(self) -> Floats:
        """The inverse of each block of the eliminated side, with zeros for criteria that it lacks."""
        blocks = _sums(self._choosers[1], self.weight)
        every = np.arange(self.readings.n_criteria)
        absent = blocks[:, every, every] == 0
        blocks[:, every, every] += absent
        inverse = np.linalg.inv(blocks)
        inverse[:, every, every] -= absent
        return np.asarray((inverse + inverse.transpose(0, 2, 1)) / 2)

    @cached_property
    def _shares(self) -> Floats:
        """A^-1 W for each reading, A the block of its eliminated end."""
        return np.asarray(self._gone_inverse[self._ends[1]] @ self.weight)

    @cached_property
    def _share(self) -> sp.csr_array[Any]:
        """The same as a matrix, eliminated side by kept side."""
        return self._matrix(self._shares)

    def _matrix(self, blocks: Floats) -> sp.csr_array[Any]:
        count = self.readings.n_criteria
        kept, gone = self._ends
        every = np.arange(count)
        rows = np.broadcast_to((gone[:, None] * count + every)[:, :, None], blocks.shape)
        columns = np.broadcast_to((kept[:, None] * count + every)[:, None, :], blocks.shape)
        shape = self._sizes[1] * count, self._sizes[0] * count
        return sp.coo_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=shape).tocsr()

    @cached_property
    def _schur(self) -> tuple[Floats, Whole]:
        """What is left on the kept side, for those that are free: all but the heaviest of each condition's group."""
        count, size = self.readings.n_criteria, self._sizes[0] * self.readings.n_criteria
        own = _sums(self._choosers[0], self.weight)
        full = -(self._matrix(self.weight).T @ self._share).toarray()
        for at in range(count):
            for other in range(count):
                place = np.arange(self._sizes[0]) * count
                full[place + at, place + other] += own[:, at, other]
        every = np.arange(count)
        heavy = own[:, every, every].ravel()
        group = self._orient(self.gauges.object_group, self.gauges.assessor_group)[0].ravel()
        by_weight = np.lexsort((-heavy, group))
        by_weight = by_weight[heavy[by_weight] > 0]
        first = np.ones(by_weight.size, dtype=bool)
        first[1:] = np.diff(group[by_weight]) != 0
        free = np.sort(by_weight[~first])
        inner = full[np.ix_(free, free)] if free.size < size else full
        return (inner + inner.T) / 2, free

    @cached_property
    def _factor(self) -> tuple[Floats, Whole]:
        from scipy.linalg.lapack import dpotrf

        matrix, free = self._schur
        if not free.size:
            return np.zeros((0, 0)), free
        diagonal = np.array(np.diagonal(matrix))
        factor, failed = dpotrf(np.asfortranarray(matrix), lower=1, clean=1)
        if failed or not (np.square(np.diagonal(factor)) > _CANCELLED * diagonal).all():
            raise SolveError(
                "The equations of correlated criteria lose too many digits: confidences or correlations are too "
                "extreme; use correlated=False."
            )
        return np.asarray(factor), free

    @cached_property
    def _kept_inverse(self) -> Floats:
        """The inverse on the kept side, with zeros for what is not free."""
        from scipy.linalg.lapack import dpotri

        factor, free = self._factor
        size = self._sizes[0] * self.readings.n_criteria
        full = np.zeros((size, size))
        if free.size:
            lower = np.tril(dpotri(factor, lower=1)[0])
            full[np.ix_(free, free)] = lower + np.tril(lower, -1).T
        return full

    def solve(self) -> tuple[Floats, Floats, Floats]:
        """Return values (n_O x K) and biases (n_A x K) in the gauges, and residuals (P x K, 0 where not scored)."""
        readings = self.readings
        origin = np.array([np.median(readings.score[there, at]) for at, there in enumerate(readings.present.T)])
        target = np.where(readings.present, readings.score - origin, 0.0)
        values, biases = np.zeros((readings.n_objects, origin.size)), np.zeros((readings.n_assessors, origin.size))
        residuals = target
        for _ in range(1 + _ROUNDS):
            forces = np.einsum("ikl,il->ik", self.weight, residuals)
            more = self.apply(_sums(readings.by_object, forces), _sums(readings.by_assessor, forces))
            values, biases = values + more[0], biases + more[1]
            fitted = values[readings.object_index] + biases[readings.assessor_index]
            residuals = np.where(readings.present, target - fitted, 0.0)
        if not np.isfinite(residuals).all():
            raise SolveError("The scores or confidences are too extreme to compute with: rescale them.")
        return *self.gauges.fixed(values + origin, biases), residuals

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return a symmetric generalised inverse times forces on values (n_O x K) and biases (n_A x K).

        Further axes are columns.
        """
        kept, gone = self._orient(of_objects, of_assessors)
        count = self.readings.n_criteria
        columns = int(np.prod(of_objects.shape[2:]))
        right, pulled = kept.reshape(-1, columns), gone.reshape(-1, columns)
        solved = self._solve_kept(right - self._share.T @ pulled)
        own = (self._gone_inverse @ pulled.reshape(-1, count, columns)).reshape(-1, columns)
        below = own - self._share @ solved
        values, biases = self._orient(solved.reshape(kept.shape), below.reshape(gone.shape))
        return values, biases

    def _solve_kept(self, right: Floats) -> Floats:
        from scipy.linalg.lapack import dpotrs

        factor, free = self._factor
        solved = np.zeros_like(right)
        if free.size:
            solved[free] = dpotrs(factor, np.asfortranarray(right[free]), lower=1)[0]
        return solved

    @cached_property
    def blocks(self) -> tuple[Floats, Floats, Floats]:
        """The K x K blocks of the inverse at each object, at each assessor, and between the ends of each reading.

        The last have a row for each criterion of the eliminated end and a column for each of the kept end.
        """
        count, (n_kept, n_gone) = self.readings.n_criteria, self._sizes
        kept, gone = self._ends
        inverse = self._kept_inverse
        cross = np.empty_like(self.weight)
        order = np.argsort(gone, kind="stable")
        pointer = np.concatenate([[0], np.cumsum(np.bincount(gone, minlength=n_gone))])
        step = max(1, _AT_ONCE // (count * inverse.shape[0] + 1))
        every = np.arange(count)
        for start in range(0, n_gone, step):
            stop = min(start + step, n_gone)
            rows = order[pointer[start] : pointer[stop]]
            image = (self._share[start * count : stop * count] @ inverse).reshape(stop - start, count, n_kept, count)
            cross[rows] = -image[(gone[rows] - start)[:, None], every, kept[rows][:, None]]
        of_gone = self._gone_inverse - _sums(self._choosers[1], cross @ self._shares.transpose(0, 2, 1))
        squares = inverse.reshape(n_kept, count, n_kept, count)
        of_kept = squares[np.arange(n_kept), :, np.arange(n_kept), :]
        of_objects, of_assessors = self._orient(of_kept, (of_gone + of_gone.transpose(0, 2, 1)) / 2)
        return of_objects, of_assessors, cross

    def expected(self, residuals: Floats) -> Floats:
        """Return the mean of e e^T over readings, what is known of the errors e put in: one step of the EM algorithm.

        The errors of scored criteria are their residuals, with the variance of what was fitted (so that degrees of
        freedom are counted as in REML); those of others follow from them by Sigma.
        """
        readings, sigma = self.readings, self.covariance
        of_objects, of_assessors, cross = self.blocks
        scaled = residuals * readings.root
        total = np.zeros_like(sigma)
        for criteria, rows in readings.patterns:
            inner = np.ix_(criteria, criteria)
            fitted = of_objects[readings.object_index[rows]] + of_assessors[readings.assessor_index[rows]]
            fitted += cross[rows] + cross[rows].transpose(0, 2, 1)
            root = readings.root[rows]
            seen = np.einsum("ik,ikl,il->kl", root, fitted, root)[inner]
            seen += scaled[np.ix_(rows, criteria)].T @ scaled[np.ix_(rows, criteria)]
            follow = np.linalg.solve(sigma[inner], sigma[criteria]).T
            total += follow @ seen @ follow.T + rows.size * (sigma - follow @ sigma[criteria])
        return np.asarray((total + total.T) / (2 * readings.count))

    def completed(self, residuals: Floats) -> Floats:
        """Return the residuals with what is expected for criteria that were not scored (P x K), for precision 1."""
        scaled = residuals * self.readings.root
        for criteria, rows in self.readings.patterns:
            inner = self.covariance[np.ix_(criteria, criteria)]
            follow = np.linalg.solve(inner, self.covariance[criteria]).T
            scaled[rows] = scaled[np.ix_(rows, criteria)] @ follow.T
        return scaled

    @cached_property
    def gauged_blocks(self) -> tuple[Floats, Floats]:
        """The K x K covariances of the values of each object, and of the biases of each assessor, in the gauges."""
        gauges, count = self.gauges, self.readings.n_criteria
        condition = gauges.matrices[0].toarray()
        n_values = self.readings.n_objects * count
        images = self.apply(
            condition[:n_values].reshape(-1, count, condition.shape[1]),
            condition[n_values:].reshape(-1, count, condition.shape[1]),
        )
        inner = condition.T @ np.concatenate([image.reshape(-1, condition.shape[1]) for image in images])
        found = []
        for block, image, group, step in zip(
            self.blocks, images, (gauges.object_group, gauges.assessor_group), gauges.steps, strict=False
        ):
            along = np.take_along_axis(image, group[:, None, :].repeat(count, axis=1), axis=2) * step[:, None, :]
            level = inner[group[:, :, None], group[:, None, :]] * step[:, :, None] * step[:, None, :]
            found.append(block - along - along.transpose(0, 2, 1) + level)
        return found[0], found[1]

    def variances(self, weights: Floats) -> Floats:
        """Return the variances of weighted sums of each object's values: a row for each row of weights."""
        return np.asarray(np.einsum("mk,okl,ml->mo", weights, self.gauged_blocks[0], weights))

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (columns) of values (n_O x K) and biases (n_A x K) about zero, up to a shift of each group."""
        from scipy.linalg import solve_triangular

        factor, free = self._factor
        criteria = self.readings.n_criteria
        kept = np.zeros((self._sizes[0] * criteria, count))
        if free.size:
            white = generator.standard_normal((free.size, count))
            kept[free] = solve_triangular(factor, white, lower=True, trans="T", check_finite=False)
        white = generator.standard_normal((self._sizes[1], criteria, count))
        gone = (self._gone_root @ white).reshape(-1, count) - self._share @ kept
        values, biases = self._orient(kept.reshape(-1, criteria, count), gone.reshape(-1, criteria, count))
        return values, biases

    @cached_property
    def _gone_root(self) -> Floats:
        """A matrix root of each eliminated block's inverse."""
        size, vectors = np.linalg.eigh(self._gone_inverse)
        return np.asarray(vectors * np.sqrt(np.maximum(size, 0.0))[:, None, :])


def certainty(best: JointSolver, rows: Floats, drawn: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return degrees of freedom of variances of weighted sums, what not knowing Sigma adds to them, and the table.

    Degrees of freedom are Satterthwaite's, 2 f^2 / Var f, f the mean variance of the sums over objects as a function
    of Sigma, whose own covariance is the inverse of Fisher's information (REML). Not knowing the weights of the least
    squares, which Sigma gives, adds as much as f would lose by that covariance, twice (Kenward and Roger 1997): a
    factor of 1 or little more. For complete readings f is linear in Sigma: nu and 1, exactly.

    Parameters
    ----------
    best
        The solver for the best Sigma.
    rows
        Weights, a row for each sum.
    drawn
        How many readings with independent errors were added to find Sigma.
    """
    sigma, count = best.covariance, best.covariance.shape[0]
    sd = np.sqrt(np.diagonal(sigma))
    pairs = [(k, m) for k in range(count) for m in range(k + 1) if best.readings.together[k, m] > 0]
    step = _STEP * min(1.0, float(np.linalg.eigvalsh(sigma / np.outer(sd, sd))[0]))

    def answers(solver: JointSolver) -> tuple[Floats, Floats]:
        """Return the slopes of log det that information is the change of, along each pair, and f for each sum."""
        inverse = np.linalg.inv(solver.covariance)
        fitted = solver.expected(np.zeros_like(solver.readings.score))
        away = solver.readings.count * (fitted - solver.covariance) - drawn * solver.covariance
        slope = inverse @ away @ inverse / 2
        slopes = np.array([slope[k, m] * (1 if k == m else 2) * sd[k] * sd[m] for k, m in pairs])
        return slopes, solver.variances(rows).mean(axis=1)

    slopes, level = answers(best)
    bend, change = np.empty((len(pairs), len(pairs))), np.empty((level.size, len(pairs)))
    for at, (k, m) in enumerate(pairs):
        report("how sure the correlations are", at, len(pairs))
        moved = sigma.copy()
        moved[[k, m], [m, k]] = sigma[k, m] + step * sd[k] * sd[m]
        further, higher = answers(replace(best, covariance=moved))
        bend[:, at], change[:, at] = (further - slopes) / step, (higher - level) / step
    try:
        half = np.linalg.inv(np.linalg.cholesky((bend + bend.T) / 2))
    except np.linalg.LinAlgError:
        raise SolveError(
            "The scores do not tell how errors go together between criteria: there is no result; use correlated=False."
        ) from None
    spread = half.T @ half
    matrix, freedom = sigma / np.outer(sd, sd), np.zeros((count, count))
    for k, m in pairs:
        turn = np.array([float(pair == (k, m)) for pair in pairs])
        if k != m:
            turn -= matrix[k, m] / 2 * np.array([float(pair in ((k, k), (m, m))) for pair in pairs])
        size = 2.0 if k == m else (1 - matrix[k, m] ** 2) ** 2
        freedom[k, m] = freedom[m, k] = size / float(turn @ spread @ turn)
    of_sums = np.asarray(2 * level**2 / np.einsum("ma,ab,mb->m", change, spread, change))
    factor = np.ones(level.size)
    if of_sums.min() < _MANY:
        for way in half:
            turned = np.zeros_like(sigma)
            for part, (k, m) in zip(way, pairs, strict=True):
                turned[k, m] = turned[m, k] = part * sd[k] * sd[m]
            size = min(_STRIDE, 1e4 * step / float(np.abs(way).max()))
            both = [
                replace(best, covariance=sigma + sign * size * turned).variances(rows).mean(axis=1) for sign in (-1, 1)
            ]
            factor += (2 * level - both[0] - both[1]) / (size**2 * level)
    return of_sums, factor, freedom


@dataclass(frozen=True, eq=False)
class CombinedSolver(Derived):
    """Answers about weighted sums of the criteria's values and biases, in the gauges.

    An assessor's biases are summed over the criteria that the assessor scored.

    Attributes
    ----------
    base
        Answers for all criteria.
    weights
        The weight of each criterion.
    seats
        Positions, among all assessors, of those that are asked about.
    object_index, assessor_index
        Object and assessor of each assessment of the combined panel.
    system
        The equations of the combined panel, as if its scores had been given as such.
    variance
        Covariances are divided by this, the noise variance of the sums.
    """

    base: JointSolver
    weights: Floats
    seats: Whole
    object_index: Codes
    assessor_index: Codes
    system: System
    variance: float = 1.0
    diagonal_error: float = 0.0
    log_determinant_error: float = 0.0

    @property
    def reason(self) -> str:
        """Which method was used."""
        size = self.weights.size * min(self.base.readings.n_objects, self.base.readings.n_assessors)
        return f"direct: dense Cholesky factor of {size:,} equations of correlated criteria"

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment of the combined panel."""
        return self.object_index, self.assessor_index

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return the covariance times a vector, or times each column of a matrix."""
        flat = of_objects.ndim == 1
        stacked = self._pulled(of_objects, of_assessors)
        values, biases = self._summed(self.base.gauges.project(self._times(stacked)))
        return (values[:, 0], biases[:, 0]) if flat else (values, biases)

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T C x for each column x, C the covariance."""
        stacked = self._pulled(of_objects, of_assessors)
        found = (stacked * self._times(stacked)).sum(axis=0)
        return np.asarray(found[0] if of_objects.ndim == 1 else found)

    def _pulled(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return what a question about sums asks of all values and biases, one below the other: P^T (w x)."""
        readings = self.base.readings
        columns = of_objects.reshape(readings.n_objects, -1)
        biases = np.zeros((readings.n_assessors, columns.shape[1]))
        biases[self.seats] = of_assessors.reshape(self.seats.size, -1)
        own = self.weights * self.base.gauges.has_bias
        stacked = np.concatenate(
            [
                (columns[:, None] * self.weights[:, None]).reshape(-1, columns.shape[1]),
                (biases[:, None] * own[:, :, None]).reshape(-1, columns.shape[1]),
            ]
        )
        return self.base.gauges.transposed(stacked)

    def _times(self, stacked: Floats) -> Floats:
        count, readings = self.weights.size, self.base.readings
        split, columns = readings.n_objects * count, stacked.shape[1]
        sides = stacked[:split].reshape(-1, count, columns), stacked[split:].reshape(-1, count, columns)
        solved = self.base.apply(*sides)
        return np.concatenate([side.reshape(-1, columns) for side in solved]) / self.variance

    def _summed(self, stacked: Floats) -> tuple[Floats, Floats]:
        count, columns = self.weights.size, stacked.shape[1]
        split = self.base.readings.n_objects * count
        own = self.weights * self.base.gauges.has_bias
        values = np.einsum("okm,k->om", stacked[:split].reshape(-1, count, columns), self.weights)
        biases = np.einsum("akm,ak->am", stacked[split:].reshape(-1, count, columns), own)
        return values, biases[self.seats]

    def diagonal(self) -> tuple[Floats, Floats]:
        """Return variances of sums of values and of biases."""
        of_objects, of_assessors = self.base.gauged_blocks
        own = self.weights * self.base.gauges.has_bias
        values = np.einsum("k,okl,l->o", self.weights, of_objects, self.weights)
        biases = np.einsum("ak,akl,al->a", own, of_assessors, own)
        return values / self.variance, biases[self.seats] / self.variance

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the covariances (o, o), (o, a) and (a, a)."""
        return edges_of(self.apply, self.diagonal(), self.object_index, self.assessor_index)

    def log_determinant(self) -> float:
        """Return log det of the combined panel's own equations."""
        return choose_solver(self.system).log_determinant()

    def mu2(self) -> float:
        """Return mu_2 of the combined panel."""
        return choose_solver(self.system).mu2()

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of sums of values and of biases about zero, in the gauges."""
        values, biases = (side.reshape(-1, count) for side in self.base.draw(generator, count))
        drawn = self._summed(self.base.gauges.project(np.concatenate([values, biases])) / np.sqrt(self.variance))
        return np.ascontiguousarray(drawn[0].T), np.ascontiguousarray(drawn[1].T)


def edges_of(
    apply: Any,
    diagonal: tuple[Floats, Floats],
    object_index: Codes,
    assessor_index: Codes,
) -> tuple[Floats, Floats, Floats]:
    """Return the covariances (o, o), (o, a) and (a, a) at assessments, from products with the covariance.

    Parameters
    ----------
    apply
        Returns the covariance times columns of values and biases.
    diagonal
        Variances of values and of biases.
    object_index, assessor_index
        Object and assessor of each assessment.
    """
    of_objects, of_assessors = diagonal
    cross = np.empty(object_index.size)
    step = max(1, _AT_ONCE // of_objects.size)
    for start in range(0, of_assessors.size, step):
        stop = min(start + step, of_assessors.size)
        unit = np.eye(of_assessors.size, stop - start, -start)
        values = apply(np.zeros((of_objects.size, stop - start)), unit)[0]
        some = np.flatnonzero((assessor_index >= start) & (assessor_index < stop))
        cross[some] = values[object_index[some], assessor_index[some] - start]
    return of_objects[object_index], cross, of_assessors[assessor_index]


def _chooser(index: Whole, count: int) -> sp.csr_array[Any]:
    """Return a matrix that sums what shares an index."""
    return sp.csr_array((np.ones(index.size), (index, np.arange(index.size))), shape=(count, index.size))


def _sums(choose: sp.csr_array[Any], blocks: Floats) -> Floats:
    """Return the sums of blocks that share an index."""
    return np.asarray(choose @ blocks.reshape(blocks.shape[0], -1)).reshape(-1, *blocks.shape[1:])
