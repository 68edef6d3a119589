"""Several criteria at once: least squares with errors that are correlated within a reading.

A reading is what one assessor said of one object: a score for each of K criteria, or for some of them. Its errors have
the covariance D^-1/2 Sigma D^-1/2, D the declared precisions, and readings are independent of each other. The normal
equations then have a K x K block W for each reading, W the inverse of that covariance among the criteria scored. The
larger side is eliminated block by block, and the Schur complement on the smaller side is factorised as a full matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evenhand.compiled import Codes, Floats, Whole
from evenhand.errors import LimitError, SolveError, too_extreme
from evenhand.memory import in_gib, require
from evenhand.panel.gauge import Condition, chooser
from evenhand.progress import report
from evenhand.solve.base import AT_ONCE, Derived, Sides
from evenhand.solve.choose import choose_solver
from evenhand.solve.direct import Cholesky, not_heaviest
from evenhand.solve.equations import System

MOST: Final = 4_000
"""Up to this many equations, criteria times members of the smaller side, are solved (some minutes on two cores)."""

_CANCELLED: Final = 1e-13
"""A pivot that is smaller than this part of its diagonal has lost too many digits."""

_ROUNDS: Final = 2
"""Rounds of refinement, each of which solves for the residuals of the one before."""

_STEP: Final = 1e-6
"""First derivatives by Sigma take steps of this size beside the noise variances."""

_STRIDE: Final = 0.02
"""Second derivatives by Sigma take steps of at most this many of its standard errors."""

_MANY: Final = 300
"""From this many degrees of freedom on it does not matter that the weights of the least squares are estimated."""


@dataclass(frozen=True, eq=False)
class Readings:
    """What assessors said of objects in P readings, with P x K scores and precisions, 0 where there is no score."""

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
        return chooser(self.object_index, self.n_objects)

    @cached_property
    def by_assessor(self) -> sp.csr_array[Any]:
        """Ones where a reading (column) is by an assessor (row)."""
        return chooser(self.assessor_index, self.n_assessors)

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
    """The gauges of all criteria as one condition on all values and all biases, criterion by criterion of each member.

    Its components are the groups of each criterion, one criterion after the other. An assessor has a bias
    (``has_bias``, n_A x K) for each criterion that the assessor scored.
    """

    condition: Condition
    has_bias: NDArray[np.bool_]

    @classmethod
    def of(cls, conditions: Sequence[Condition], seats: Sequence[Whole], n_assessors: int) -> Gauges:
        """Return the gauges of several criteria: conditions on all objects and on the assessors in their seats."""
        shape = n_assessors, len(conditions)
        bias_weight, group, has_bias = np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        first = np.cumsum([0, *[one.constant.size for one in conditions[:-1]]])
        for at, (one, seat) in enumerate(zip(conditions, seats, strict=True)):
            bias_weight[seat, at] = one.bias_weight
            group[seat, at] = one.assessor_component + first[at]
            has_bias[seat, at] = True
        condition = Condition(
            value_weight=np.stack([one.value_weight for one in conditions], axis=1).ravel(),
            bias_weight=bias_weight.ravel(),
            constant=np.concatenate([one.constant for one in conditions]),
            object_component=(np.stack([one.object_component for one in conditions], axis=1) + first).ravel(),
            assessor_component=group.ravel(),
        )
        return cls(condition, has_bias)

    @property
    def groups(self) -> tuple[Whole, Whole]:
        """The component of each value (n_O x K) and of each bias (n_A x K); 0 where there is no bias."""
        count = self.has_bias.shape[1]
        return self.condition.object_component.reshape(-1, count), self.condition.assessor_component.reshape(-1, count)

    def fixed(self, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return values and biases moved along the null vectors until all conditions hold."""
        shift = self.condition.shift(values.ravel(), biases.ravel())
        of_objects, of_assessors = self.groups
        return values + shift[of_objects], biases - np.where(self.has_bias, shift[of_assessors], 0.0)


@dataclass(frozen=True, eq=False)
class JointSolver:
    """Generalised least squares for the values and biases of all criteria, given Sigma.

    Sigma (``covariance``, K x K) is the noise covariance between criteria for precision 1; the groups of the gauges
    tell which values and biases are connected.
    """

    readings: Readings
    covariance: Floats
    gauges: Gauges

    def _orient(self, of_objects: Any, of_assessors: Any) -> tuple[Any, Any]:
        """Return (objects, assessors) as (kept, eliminated), and the other way round."""
        keeps_assessors = self.readings.n_assessors <= self.readings.n_objects
        return (of_assessors, of_objects) if keeps_assessors else (of_objects, of_assessors)

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
            inverse = _inverse(self.covariance[np.ix_(criteria, criteria)])
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
        inverse = _inverse(blocks)
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
        """The Schur complement among those kept that are free: all but the heaviest of each condition's group."""
        count, size = self.readings.n_criteria, self._sizes[0] * self.readings.n_criteria
        own = _sums(self._choosers[0], self.weight)
        full = -(self._matrix(self.weight).T @ self._share).toarray()
        for at in range(count):
            for other in range(count):
                place = np.arange(self._sizes[0]) * count
                full[place + at, place + other] += own[:, at, other]
        every = np.arange(count)
        heavy = own[:, every, every].ravel()
        group = self._orient(*self.gauges.groups)[0].ravel()
        there = np.flatnonzero(heavy > 0)
        free = there[not_heaviest(heavy[there], group[there])]
        inner = full[np.ix_(free, free)] if free.size < size else full
        return (inner + inner.T) / 2, free

    @cached_property
    def _factor(self) -> tuple[Cholesky, Whole]:
        matrix, free = self._schur
        factor = Cholesky.of(np.asfortranarray(matrix), _CANCELLED)
        if factor is None:
            raise _too_correlated()
        return factor, free

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
            raise too_extreme()
        return *self.gauges.fixed(values + origin, biases), residuals

    def apply(self, of_objects: Floats, of_assessors: Floats) -> tuple[Floats, Floats]:
        """Return a symmetric generalised inverse times forces on values (n_O x K) and biases (n_A x K).

        Further axes are columns; members and criteria may be one axis.
        """
        count = self.readings.n_criteria
        kept, gone = self._orient(of_objects, of_assessors)
        right = kept.reshape(self._sizes[0] * count, -1)
        pulled = gone.reshape(self._sizes[1] * count, -1)
        factor, free = self._factor
        solved = np.zeros_like(right)
        right = right - self._share.T @ pulled
        solved[free] = factor.solve(np.asfortranarray(right[free]))
        own = (self._gone_inverse @ pulled.reshape(-1, count, pulled.shape[1])).reshape(pulled.shape)
        return self._orient(solved.reshape(kept.shape), (own - self._share @ solved).reshape(gone.shape))

    @cached_property
    def blocks(self) -> tuple[Floats, Floats, Floats]:
        """The K x K blocks of the inverse at each object, at each assessor, and between the ends of each reading.

        The last have a row for each criterion of the eliminated end and a column for each of the kept end.
        """
        count, (n_kept, n_gone) = self.readings.n_criteria, self._sizes
        kept, gone = self._ends
        factor, free = self._factor
        inverse = factor.full_inverse(free, n_kept * count)  # with zeros for what is not free
        cross = np.empty_like(self.weight)
        order = np.argsort(gone, kind="stable")
        pointer = np.concatenate([[0], np.cumsum(np.bincount(gone, minlength=n_gone))])
        step = max(1, AT_ONCE // (count * inverse.shape[0] + 1))
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
        gauge, n_groups = gauges.condition, gauges.condition.constant.size
        sides = (
            (gauge.value_weight, gauge.object_component, np.ones((self.readings.n_objects, count))),
            (gauge.bias_weight, gauge.assessor_component, -gauges.has_bias.astype(np.float64)),
        )
        weights = [(chooser(group, n_groups).toarray() * weight).T for weight, group, _ in sides]
        images = self.apply(*weights)
        inner = weights[0].T @ images[0] + weights[1].T @ images[1]
        found = []
        for block, image, (_, flat, sign) in zip(self.blocks, images, sides, strict=False):
            group = flat.reshape(-1, count)
            step = sign / gauge.slope[group]
            columns = image.reshape(-1, count, n_groups)
            along = np.take_along_axis(columns, group[:, None, :].repeat(count, axis=1), axis=2) * step[:, None, :]
            level = inner[group[:, :, None], group[:, None, :]] * step[:, :, None] * step[:, None, :]
            found.append(block - along - along.transpose(0, 2, 1) + level)
        return found[0], found[1]

    def variances(self, weights: Floats) -> Floats:
        """Return the variances of weighted sums of each object's values: a row for each row of weights."""
        return np.asarray(np.einsum("mk,okl,ml->mo", weights, self.gauged_blocks[0], weights))

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (columns) of values (n_O x K) and biases (n_A x K) about zero, up to a shift of each group."""
        factor, free = self._factor
        criteria = self.readings.n_criteria
        kept = np.zeros((self._sizes[0] * criteria, count))
        kept[free] = factor.draw(generator, count)
        white = generator.standard_normal((self._sizes[1], criteria, count))
        gone = (self._gone_root @ white).reshape(-1, count) - self._share @ kept
        return self._orient(kept.reshape(-1, criteria, count), gone.reshape(-1, criteria, count))

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

    The sums have a row of weights each; ``drawn`` readings with independent errors were added to find the best Sigma.
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


class OfSums(Derived):
    """What answers about sums over criteria share: the combined panel has equations as if its scores had been given."""

    system: System

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each combined score."""
        return self.system.ends

    @property
    def log_determinant_error(self) -> float:
        """Standard error of the log-determinant; 0 where it is exact but for rounding."""
        return choose_solver(self.system).log_determinant_error

    def log_determinant(self) -> float:
        """Return log det of the combined panel's own equations."""
        return choose_solver(self.system).log_determinant()

    def mu2(self) -> float:
        """Return mu_2 of the combined panel."""
        return choose_solver(self.system).mu2()


@dataclass(frozen=True, eq=False)
class CombinedSolver(OfSums):
    """Answers about weighted sums of the criteria's values and biases, in the gauges.

    An assessor's biases are summed over the criteria that the assessor scored; ``seats`` are the positions, among all
    assessors, of those that are asked about. Covariances are divided by ``variance``, the noise variance of the sums.
    """

    base: JointSolver
    weights: Floats
    seats: Whole
    system: System
    variance: float = 1.0
    diagonal_error: float = 0.0

    @property
    def reason(self) -> str:
        """Which method was used."""
        size = self.weights.size * min(self.base.readings.n_objects, self.base.readings.n_assessors)
        return f"direct: dense Cholesky factor of {size:,} equations of correlated criteria"

    def apply(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return the covariance times a vector, or times each column of a matrix."""
        found = self.base.apply(*self._asked(of_objects, of_assessors))
        values, biases = self._told(*(side / self.variance for side in found))
        return (values[:, 0], biases[:, 0]) if of_objects.ndim == 1 else (values, biases)

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T C x for each column x, C the covariance."""
        asked = self._asked(of_objects, of_assessors)
        found = sum((one * other).sum(axis=0) for one, other in zip(asked, self.base.apply(*asked), strict=True))
        return np.asarray((found[0] if of_objects.ndim == 1 else found) / self.variance)

    @cached_property
    def _own(self) -> Floats:
        """The weights of each assessor's biases (n_A x K)."""
        return np.asarray(self.weights * self.base.gauges.has_bias)

    def _asked(self, of_objects: Floats, of_assessors: Floats) -> Sides:
        """Return what a question about sums asks of all values and of all biases, in columns: P^T (w x)."""
        readings = self.base.readings
        values = of_objects.reshape(readings.n_objects, 1, -1) * self.weights[:, None]
        biases = np.zeros((readings.n_assessors, 1, values.shape[2]))
        biases[self.seats, 0] = of_assessors.reshape(self.seats.size, -1)
        biases = biases * self._own[:, :, None]
        columns = values.shape[2]
        return self.base.gauges.condition.transposed(values.reshape(-1, columns), biases.reshape(-1, columns))

    def _told(self, values: Floats, biases: Floats) -> Sides:
        """Return the sums, in the gauges, of all values and of all biases, in columns."""
        values, biases = self.base.gauges.condition.project(values, biases)
        shape = -1, self.weights.size, values.shape[1]
        summed = np.einsum("akm,ak->am", biases.reshape(shape), self._own)
        return np.einsum("okm,k->om", values.reshape(shape), self.weights), summed[self.seats]

    def diagonal(self) -> Sides:
        """Return variances of sums of values and of biases."""
        of_objects, of_assessors = self.base.gauged_blocks
        values = np.einsum("k,okl,l->o", self.weights, of_objects, self.weights)
        biases = np.einsum("ak,akl,al->a", self._own, of_assessors, self._own)
        return values / self.variance, biases[self.seats] / self.variance

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """Return draws (count rows) of sums of values and of biases about zero, in the gauges."""
        drawn = self._told(*(side.reshape(-1, count) for side in self.base.draw(generator, count)))
        values, biases = (np.ascontiguousarray(side.T) / np.sqrt(self.variance) for side in drawn)
        return values, biases


def _inverse(blocks: Floats) -> Floats:
    """Return the inverse of each block; a block that has none is one of criteria that go together too closely."""
    try:
        return np.asarray(np.linalg.inv(blocks), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise _too_correlated() from None


def _too_correlated() -> SolveError:
    """Return the error of criteria whose equations cannot be told apart."""
    return SolveError(
        "The equations of correlated criteria lose too many digits: confidences or correlations are too extreme; use "
        "correlated=False."
    )


def _sums(choose: sp.csr_array[Any], blocks: Floats) -> Floats:
    """Return the sums of blocks that share an index."""
    return np.asarray(choose @ blocks.reshape(blocks.shape[0], -1)).reshape(-1, *blocks.shape[1:])
