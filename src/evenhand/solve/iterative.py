"""Conjugate gradients on the smaller side's Laplacian: estimates for any size, uncertainties by seeded sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import scipy.sparse as sp

from evenhand import progress
from evenhand.compiled import WIDTH, Floats, dot, squares_of_residuals, sum_by, sums_of_scores, wants_loops
from evenhand.errors import SolveError, too_extreme
from evenhand.solve.base import AT_ONCE, KeptSolver, Sides, Solution, require_draws
from evenhand.solve.digits import tells_residual
from evenhand.solve.equations import eliminate
from evenhand.solve.krylov import SAFETY, Steps, conjugate_gradients, conjugate_gradients_columns

TOLERANCE: Final = 1e-7
"""Errors of estimates are at most this part of a posterior standard deviation, safety factor included."""

_MOST: Final = 20_000
_RESTARTS: Final = 5
_NOTHING: Final = 1e-12
_UNEQUAL: Final = 100.0
"""Confidences more unequal than this are checked for links that the scores say next to nothing about."""

_HIDING: Final = 1e6
"""Confidences more unequal than this may hide in rounding how far the surest scores lie from what is expected."""

_HIDDEN: Final = 1e-12
"""Confidences smaller than this part of the largest may be lost in the rounding of sums."""

_ROUNDING: Final = 100 * float(np.finfo(np.float64).eps)
_EXACT: Final = 1e-11
"""Where scores agree perfectly, and there is no noise to measure by, errors are this small beside their spread."""

_SAMPLED: Final = 1e-3
"""Sampled vectors have this relative error, far below that of the number of samples."""

SAMPLES: Final = 64
_PROBES: Final = 16
_LANCZOS: Final = 40
_EXPLICIT: Final = 1e-6
"""A residual sum smaller than this part of all squares is summed score by score, since differences lose digits."""

Preconditioner = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class IterativeSolver(KeptSolver):
    """Solves S x = r by conjugate gradients on S scaled to unit diagonal weights, diag(C')^-1/2 S diag(C')^-1/2.

    L^- is the generalised inverse in the gauge in which the kept side's mean, weighted by total confidence, is zero.
    ``precondition`` multiplies by an approximate inverse of S. With ``patience`` it gives up where more steps are
    forecast. Variances are estimated from ``samples`` draws, which are the same for the same ``seed``.
    """

    precondition: Preconditioner | None = None
    patience: int | None = None
    samples: int = SAMPLES
    seed: int = 0

    @property
    def reason(self) -> str:
        """Which method was used."""
        done = self.__dict__.get("steps")
        told = "" if done is None else f", {done.count} steps"
        kind = "conjugate gradients" if self.precondition is None else "approximate Cholesky and conjugate gradients"
        return f"iterative: {kind}{told}"

    # The scaled operator

    @cached_property
    def _root(self) -> Floats:
        return np.sqrt(self.system.kept_total)

    def _scaled(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the scaled Laplacian times a vector or columns, and what this x means for the eliminated side."""
        root = self._root if x.ndim == 1 else self._root[:, None]
        result, below = self.system.couple(x / root)
        result /= root
        np.subtract(x, result, out=result)
        if self.system.n_components == 1:
            # rounding must not let the null vector in, which looks like a tiny eigenvalue
            null = self._null if x.ndim == 1 else self._null[:, None]
            result -= null * dot(self._null, result)
        return result, below

    @cached_property
    def _null(self) -> Floats:
        return np.asarray(self._root / np.sqrt(self.system.kept_total.sum()))

    def _only_scaled(self, x: Floats) -> Floats:
        return self._scaled(x)[0]

    @property
    def _scaled_preconditioner(self) -> Preconditioner | None:
        inverse = self.precondition
        if inverse is None:
            return None

        def precondition(r: Floats) -> Floats:
            root = self._root if r.ndim == 1 else self._root[:, None]
            return np.asarray(self._balanced(inverse(self._balanced(r * root)), weighted=True) * root)

        return precondition

    def _balanced(self, x: Floats, *, weighted: bool = False) -> Floats:
        """Return right-hand sides without what they have along the null vectors, or answers in the solver's gauge."""
        system = self.system
        total = system.kept_total
        if system.n_components == 1:
            if weighted:
                return np.asarray(x - dot(total, x) / total.sum())
            share = total if x.ndim == 1 else total[:, None]
            return np.asarray(x - share * (x.sum(axis=0) / total.sum()))
        if x.ndim == 2:
            return np.stack([self._balanced(column, weighted=weighted) for column in x.T], axis=1)
        group, count = system.kept_component, system.n_components
        whole = sum_by(group, total, count)
        if weighted:
            return np.asarray(x - (sum_by(group, total * x, count) / whole)[group])
        return np.asarray(x - total * (sum_by(group, x, count) / whole)[group])

    # Estimates

    @cached_property
    def steps(self) -> Steps:
        """What the last attempt at estimates did."""
        raise AttributeError("nothing was solved yet")

    def solve(self, score: Floats, *, declared: bool = False) -> Solution:
        """Fit values and biases to N scores, to a small part of a posterior standard deviation, or refuse."""
        found = self.attempt(score, declared=declared)
        if found is not None:
            return found
        if not self._is_resolved:
            raise SolveError(
                "Parts of the panel are joined only by confidences so small beside the others that conjugate gradients "
                "cannot tell them from rounding: ask for the direct solver, or raise those confidences."
            )
        raise SolveError(
            f"The answer did not converge in {self.steps.count:,} steps: parts of the panel are joined too weakly "
            "for this method; ask for the direct solver, or calibrate each part on its own."
        )

    def attempt(self, score: Floats, start: Floats | None = None, *, declared: bool = False) -> Solution | None:
        """Return the fit, or None where it did not converge or more steps than ``patience`` were forecast.

        ``start`` is a first guess for the kept side; ``declared`` says whether standard deviations will be those
        declared, w = 1, however large the residual is.
        """
        system = self.system
        with np.errstate(over="ignore", invalid="ignore"):
            origin = float(score[:: max(1, score.size // 10_000)].mean())
            of_kept, of_gone, squares = self._sums(score, origin)
            mean = of_gone / system.gone_total
            left = squares - float(dot(of_gone, mean))
        if not np.isfinite(left):
            raise too_extreme()
        right = self._balanced(of_kept - system.up(mean)) / self._root
        freedom = max(system.n_edges - system.n_gone - system.n_kept + system.n_components, 1)
        begun = None if start is None else self._balanced(start, weighted=True) * self._root
        least = max(_ROUNDING, _EXACT / np.sqrt(system.n_edges)) * float(np.sqrt(squares))
        taken = 0.0 if begun is None else float(2 * dot(begun, right) - dot(begun, self._scaled(begun)[0]))

        def target(energy: float) -> float:
            noise = max(left - taken - energy, 0.0) / freedom
            return float(max(TOLERANCE * np.sqrt(min(noise, 1.0) if declared else noise), least))

        steps = self._run(right, target, begun)
        self.__dict__["steps"] = steps
        if not steps.converged or not self._holds(steps, target(steps.energy)):
            return None
        kept = steps.answer / self._root
        gone = mean - steps.image
        values, biases = system.orient(kept, gone)
        residuals: Floats | None = None
        residual: float | None = None
        if not wants_loops(system.n_edges):
            residuals = (score - origin) - kept[system.kept] - gone[system.gone]
            error = float(np.finfo(np.float64).eps) * float(np.abs(values).max() + np.abs(biases).max())
            if self._inequality > _HIDING and not tells_residual(system.weight, residuals, error, score):
                return None
        elif start is None and left - steps.energy > _EXPLICIT * squares:
            residual = left - steps.energy
        else:
            residual, largest = squares_of_residuals(
                system.kept, system.gone, score, system.weight, kept + origin, gone
            )
            if largest <= 8 * np.finfo(np.float64).eps * max(abs(origin), float(np.abs(score).max())):
                residual = 0.0
        return Solution(origin + values, biases, residuals, residual)

    def _holds(self, steps: Steps, wanted: float) -> bool:
        """Whether the error is small even if the scores hardly excite the weakest links of very unequal confidences."""
        if self._inequality <= _UNEQUAL:
            return True
        if not self._is_resolved:
            return False
        try:
            return bool(steps.error * np.sqrt(steps.smallest / self._smallest) <= wanted)
        except SolveError:
            return False

    @cached_property
    def _inequality(self) -> float:
        """The largest confidence over the smallest."""
        least, most = self.system.weight_range
        return most / least

    @cached_property
    def _is_resolved(self) -> bool:
        """Whether the panel hangs together as well without the assessments that rounding of the others may hide."""
        system = self.system
        if self._inequality <= 1 / _HIDDEN:
            return True
        strong = system.weight >= _HIDDEN * float(system.weight.max())
        size = system.n_kept + system.n_gone
        links = sp.csr_array(
            (np.ones(int(strong.sum())), (system.kept[strong], system.n_kept + system.gone[strong])), (size, size)
        )
        return int(sp.csgraph.connected_components(links, directed=False)[0]) == system.n_components

    def _run(self, right: Floats, target: Callable[[float], float], begun: Floats | None) -> Steps:
        """Iterate, and where rounding may have led astray, check against the true residual and go on from there."""
        steps = self._iterate(right, target, None if begun is None else (begun, *self._scaled(begun)))
        for _ in range(_RESTARTS):
            wanted = target(steps.energy)
            drift = steps.count * float(np.finfo(np.float64).eps) * np.sqrt(max(steps.energy, 0.0)) / steps.smallest
            if not steps.converged or drift <= wanted:
                return steps
            image = self._scaled(steps.answer)
            left = right - image[0]
            precondition = self._scaled_preconditioner
            size = float(dot(left, left if precondition is None else precondition(left)))
            if SAFETY * np.sqrt(max(size, 0.0) / steps.smallest) <= wanted:
                return steps
            fixed, before = wanted, steps
            steps = self._iterate(right, lambda _: fixed, (before.answer, *image))  # noqa: B023  # used at once
            steps = replace(
                steps,
                count=before.count + steps.count,
                energy=before.energy + steps.energy,
                smallest=min(before.smallest, steps.smallest),
            )
        return replace(steps, converged=False)

    def _iterate(
        self, right: Floats, target: Callable[[float], float], start: tuple[Floats, Floats, Floats] | None
    ) -> Steps:
        return conjugate_gradients(
            self._scaled,
            right,
            target=target,
            most=_MOST,
            precondition=self._scaled_preconditioner,
            start=start,
            patience=self.patience,
            report=lambda done, forecast: progress.report("solving", done, forecast),
        )

    def _sums(self, score: Floats, origin: float) -> tuple[Floats, Floats, float]:
        system = self.system
        if wants_loops(system.n_edges):
            return sums_of_scores(system.kept, system.gone, score, system.weight, origin, system.n_kept, system.n_gone)
        centred = score - origin
        force = system.weight * centred
        of_kept = sum_by(system.kept, force, system.n_kept)
        return of_kept, sum_by(system.gone, force, system.n_gone), float(dot(force, centred))

    # Uncertainty

    def solve_kept(self, right: Floats) -> Floats:
        """Return S^- times a vector or columns on the kept side."""
        return self._solve_columns(right.reshape(right.shape[0], -1), TOLERANCE).reshape(right.shape)

    def _solve_sampled(self, right: Floats) -> Floats:
        return self._solve_columns(right, _SAMPLED)

    def _solve_columns(self, right: Floats, tolerance: float) -> Floats:
        """Solve for columns, WIDTH of them at a time."""
        answer = np.empty_like(right)
        for start in range(0, right.shape[1], WIDTH):
            some = right[:, start : start + WIDTH]
            padded = np.zeros((right.shape[0], WIDTH))
            padded[:, : some.shape[1]] = some
            scaled = self._balanced(padded) / self._root[:, None]
            # what lies along the null vectors but for rounding has no answer to look for
            whole = np.linalg.norm(padded / self._root[:, None], axis=0)
            scaled[:, np.linalg.norm(scaled, axis=0) <= _NOTHING * whole] = 0.0
            if not scaled.any():
                answer[:, start : start + WIDTH] = 0.0
                continue
            found, converged = conjugate_gradients_columns(
                self._only_scaled,
                scaled,
                tolerance=tolerance,
                smallest=self._smallest,
                most=_MOST,
                precondition=self._scaled_preconditioner,
            )
            if not converged:
                raise SolveError("A system of equations did not converge: ask for the direct solver.")
            back = self._balanced(found / self._root[:, None], weighted=True)
            answer[:, start : start + WIDTH] = back[:, : some.shape[1]]
        return answer

    def is_quick(self) -> bool:
        """Whether a system of these equations converges within the patience."""
        try:
            return self._smallest > 0
        except SolveError:
            return False

    @cached_property
    def _smallest(self) -> float:
        """The smallest eigenvalue, as conjugate gradients meet it from a random start, which leaves nothing out."""
        if self.system.n_kept == self.system.n_components:
            return 1.0  # nobody is compared with anybody, and there is nothing to iterate
        noise = np.random.default_rng(self.seed).standard_normal(self.system.n_kept) * self._root
        right = self._balanced(noise) / self._root
        steps = self._iterate(right, lambda energy: 1e-6 * float(np.sqrt(energy)), None)
        if not steps.converged:
            raise SolveError("A system of equations did not converge: ask for the direct solver.")
        return min(steps.smallest, self.steps.smallest) if "steps" in self.__dict__ else steps.smallest

    @property
    def diagonal_error(self) -> float:
        """Median over all vertices of the Monte Carlo standard error of the variance, beside the variance."""
        return self._sampled[2]

    @property
    def log_determinant_error(self) -> float:
        """Monte Carlo standard error of the log-determinant."""
        return self._log_determinant[1]

    def diagonal(self) -> Sides:
        """Return the diagonal of L^-, estimated: what is known of a vertex given its neighbours is exact.

        For the eliminated side 1/C + Var(E[v | b]), for the kept side 1/C' - 1/sum C' + Var(E[b | v]), both in the
        gauge of the solver: only the variance that comes from the neighbours is sampled.
        """
        return self._sampled[:2]

    @cached_property
    def _sampled(self) -> tuple[Floats, Floats, float]:
        system = self.system
        second = [np.zeros(system.n_kept), np.zeros(system.n_gone)]
        fourth = [np.zeros(system.n_kept), np.zeros(system.n_gone)]
        batches = -(-self.samples // WIDTH)
        for batch in range(batches):
            progress.report("estimating uncertainties", batch, batches)
            for side, drawn in enumerate(self._conditional_means(batch)[:2]):
                squares = np.square(drawn)
                second[side] += squares.sum(axis=1)
                fourth[side] += np.square(squares).sum(axis=1)
        progress.report("estimating uncertainties", batches, batches)
        count = batches * WIDTH
        group = system.kept_component
        lone = (np.bincount(group) == 1)[group]  # the gauge fixes who is alone, and nothing is sampled
        second[0][lone] = fourth[0][lone] = 0.0
        whole = sum_by(group, system.kept_total, system.n_components)[group]
        known = [1.0 / system.kept_total - 1.0 / whole, 1.0 / system.gone_total]
        variances, errors = [], []
        for exact, moments, fourths in zip(known, second, fourth, strict=True):
            mean = moments / count
            spread = np.sqrt(np.maximum(fourths / count - mean**2, 0.0) / (count - 1))
            variances.append(np.maximum(exact, 0.0) + mean)
            errors.append(np.divide(spread, variances[-1], out=np.zeros_like(spread), where=variances[-1] > 0))
        of_objects, of_assessors = system.orient(*variances)
        return of_objects, of_assessors, float(np.median(np.concatenate(errors)))

    def _conditional_means(self, batch: int) -> tuple[Floats, Floats, Floats]:
        """Return draws (columns) of E[b | v] and E[v | b], but for signs and the gauge, and of b itself."""
        system = self.system
        kept_noise, gone_noise = self._noise(batch)
        kept, below = eliminate(system, self._solve_sampled, kept_noise, gone_noise)
        given = gone_noise / system.gone_total[:, None] - below
        above = self._balanced(system.up(below) / system.kept_total[:, None], weighted=True)
        return above, given, kept

    def _noise(self, batch: int) -> tuple[Floats, Floats]:
        """Return random forces with covariance L: sums of sqrt(c) times +1 or -1 over the assessments of a vertex."""
        system = self.system
        seed = (self.seed + 1) * 1_000_003 + batch
        if system._blocks is not None:
            return system._blocks.noise(seed * 0x9E3779B1 % 2**63)
        generator = np.random.default_rng(seed)
        root = np.sqrt(system.weight)
        kept, gone = np.empty((system.n_kept, WIDTH)), np.empty((system.n_gone, WIDTH))
        for column in range(WIDTH):
            force = root * generator.choice([-1.0, 1.0], system.n_edges)
            kept[:, column] = sum_by(system.kept, force, system.n_kept)
            gone[:, column] = sum_by(system.gone, force, system.n_gone)
        return kept, gone

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-, estimated as the diagonal is.

        Their sum (o, o) + 2 (o, a) + (a, a), from which leverages come, is 1/C + Var(b - E[v | b]) for the eliminated
        side's C: again only what comes from neighbours is sampled.
        """
        system = self.system
        spread = np.zeros(system.n_edges)
        batches = -(-self.samples // WIDTH)
        for batch in range(batches):
            progress.report("estimating leverages", batch, batches)
            _, given, kept = self._conditional_means(batch)
            for start in range(0, system.n_edges, AT_ONCE // WIDTH):
                part = slice(start, start + AT_ONCE // WIDTH)
                apart = kept[system.kept[part]] - given[system.gone[part]]
                spread[part] += np.einsum("ij,ij->i", apart, apart)
        progress.report("estimating leverages", batches, batches)
        whole = 1.0 / system.gone_total[system.gone] + spread / (batches * WIDTH)
        first, last = self._own_entries()
        return first, (whole - first - last) / 2, last

    def log_determinant(self) -> float:
        """Return log det of L without one row and column of each component, estimated by Lanczos quadrature."""
        return self._log_determinant[0]

    @cached_property
    def _log_determinant(self) -> tuple[float, float]:
        """By the matrix-tree theorem det = pdet(scaled S) prod(C') / sum(C'), and log pdet is a trace of logarithms."""
        system = self.system
        group = system.kept_component
        whole = sum_by(group, system.kept_total, system.n_components)
        exact = float(np.log(system.gone_total).sum() + np.log(system.kept_total).sum() - np.log(whole).sum())
        generator = np.random.default_rng(self.seed)
        traces: list[float] = []
        for done in range(0, _PROBES, WIDTH):
            progress.report("estimating the evidence", done, _PROBES)
            probes = generator.choice([-1.0, 1.0], (system.n_kept, WIDTH))
            traces += self._log_traces(self._balanced(probes * self._root[:, None]) / self._root[:, None])
        return exact + float(np.mean(traces)), float(np.std(traces, ddof=1) / np.sqrt(len(traces)))

    def _log_traces(self, probes: Floats) -> list[float]:
        """Return z^T log(scaled S) z for each column z, by Lanczos with full orthogonalisation."""
        from scipy.linalg import eigh_tridiagonal

        sizes = np.linalg.norm(probes, axis=0)
        vectors = [probes / np.where(sizes > 0, sizes, 1.0)]
        diagonal, off = [], []
        steps = min(_LANCZOS, self.system.n_kept - self.system.n_components)
        if not steps:
            return [0.0] * probes.shape[1]
        for _ in range(steps):
            image = self._only_scaled(vectors[-1])
            diagonal.append(np.einsum("ij,ij->j", vectors[-1], image))
            for vector in vectors:
                image -= vector * np.einsum("ij,ij->j", vector, image)
            size = np.linalg.norm(image, axis=0)
            off.append(size)
            vectors.append(np.divide(image, size, out=np.zeros_like(image), where=size > 1e-13))
        traces = []
        for j in range(probes.shape[1]):
            short = np.flatnonzero(np.array(off)[:, j] <= 1e-13)
            length = int(short[0]) + 1 if short.size else len(diagonal)
            nodes, rotation = eigh_tridiagonal(np.array(diagonal)[:length, j], np.array(off)[: length - 1, j])
            positive = nodes > np.finfo(float).eps
            traces.append(float(sizes[j] ** 2 * (rotation[0, positive] ** 2 @ np.log(nodes[positive]))))
        return traces

    def draw(self, generator: np.random.Generator, count: int) -> Sides:
        """Return draws (count rows) with covariance L^-: the answers to normal noise on every score."""
        system = self.system
        require_draws(system, count)
        kept, gone = np.empty((count, system.n_kept)), np.empty((count, system.n_gone))
        for start in range(0, count, WIDTH):
            progress.report("drawing", start, count)
            stop = min(start + WIDTH, count)
            forces = [self._normal_noise(generator) for _ in range(start, stop)]
            sides = (np.stack(side, axis=1) for side in zip(*forces, strict=True))
            found = eliminate(system, self._solve_sampled, *sides)
            kept[start:stop], gone[start:stop] = found[0].T, found[1].T
        return system.orient(kept, gone)

    def _normal_noise(self, generator: np.random.Generator) -> tuple[Floats, Floats]:
        system = self.system
        kept, gone = np.zeros(system.n_kept), np.zeros(system.n_gone)
        for start in range(0, system.n_edges, 2**24):
            part = slice(start, min(start + 2**24, system.n_edges))
            force = np.sqrt(system.weight[part]) * generator.standard_normal(part.stop - part.start)
            kept += sum_by(system.kept[part], force, system.n_kept)
            gone += sum_by(system.gone[part], force, system.n_gone)
        return kept, gone
