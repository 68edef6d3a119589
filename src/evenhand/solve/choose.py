"""Which solver a system gets, by its size and shape: estimates the quickest sound way, uncertainty the most exact."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from evenhand.compiled import Codes, Floats
from evenhand.errors import InputError, SolveError, too_extreme
from evenhand.memory import fits, require
from evenhand.solve.base import Solution, Solver, Wrapped
from evenhand.solve.direct import DirectSolver
from evenhand.solve.equations import System
from evenhand.solve.iterative import IterativeSolver
from evenhand.solve.sparse import SparseSolver, envelope
from evenhand.solve.spectrum import dense_mu2

SolverKind = Literal["auto", "direct", "sparse", "iterative"]
"""How the equations are solved: chosen by size and shape, or as asked for."""

KINDS: Final[tuple[SolverKind, ...]] = ("auto", "direct", "sparse", "iterative")

SMALL: Final = 200
"""Up to this size of the smaller side everything is dense: exact, and quicker than any cleverness."""

DENSE: Final = 10_000
"""Up to this size uncertainties come from a dense inverse (about ten seconds on two cores)."""

_LINKS: Final = 20_000_000
"""A sparse factor is tried where the eliminated side leaves at most this many links."""

_FILL: Final = 50_000_000
"""A sparse factor is tried where its entries are bound to be at most this many."""

_WORK: Final = 1e10
"""A sparse factor is tried where it takes at most this many products, which is some seconds."""

_LINK_BYTES: Final = 50.0
"""What a link takes while links are gathered, as measured."""

_FILL_BYTES: Final = 20.0
"""What a sparse factor takes for each entry that a banded order bounds, measured on panels drawn at random. In a better
order it has one in two or three of those entries there, and far fewer where the panel is like a grid."""

_UNEQUAL: Final = 1e6
"""Confidences more unequal than this go to a factor, whose rounding can be bounded, before anything iterative."""

_SQUARABLE: Final = 1e140
"""Confidences within this factor of 1 have squares, which all solvers but the dense one need."""

_PATIENCE: Final = 150
"""Conjugate gradients that would take more steps than this give way to a factor, where one can be had."""

_log = logging.getLogger("evenhand")


@dataclass(frozen=True, eq=False)
class AutoSolver(Wrapped):
    """Answers each question by the solver that suits the panel, or by the one kind that the user asked for."""

    system: System
    kind: SolverKind = "auto"

    @property
    def _dense_bytes(self) -> float:
        """What a dense factor and inverse take, as measured, with the links and assessments that go into them."""
        size = self.system.n_kept
        return 24.0 * size**2 + 40.0 * min(self.system.n_links, size**2) + 50.0 * self.system.n_edges

    @cached_property
    def _direct(self) -> DirectSolver:
        require(self._dense_bytes, f"a dense factor and inverse of {self.system.n_kept:,} equations")
        return DirectSolver(self.system)

    @cached_property
    def _sparse(self) -> SparseSolver | None:
        """The sparse factor, or None where it would not be sparse or fit."""
        system = self.system
        links = _LINK_BYTES * min(system.n_links, system.n_kept**2)
        if self.kind == "auto":
            if system.n_links > _LINKS or not fits(links):
                return None
            fill, work = envelope(system)
            if fill > _FILL or work > _WORK or not fits(_FILL_BYTES * fill):
                return None
        else:
            require(links, f"the links between {system.n_kept:,} members")
            fill, _ = envelope(system)
            require(_FILL_BYTES * fill, f"a sparse factor of {system.n_kept:,} equations")
        found = SparseSolver(system)
        try:
            found.factorise()
        except SolveError:
            if self.kind == "sparse":
                raise
            return None
        return found

    @cached_property
    def _iterative(self) -> IterativeSolver:
        return IterativeSolver(self.system)

    @cached_property
    def _factored(self) -> Solver | None:
        """The factor to turn to where conjugate gradients do not do."""
        if self._sparse is not None:
            return self._sparse
        return self._direct if self.system.n_kept <= DENSE and fits(self._dense_bytes) else None

    @property
    def _is_unequal(self) -> bool:
        least, most = self.system.weight_range
        return most > _UNEQUAL * least

    @property
    def _can_be_squared(self) -> bool:
        least, most = self.system.weight_range
        return least >= 1 / _SQUARABLE and most <= _SQUARABLE

    @cached_property
    def estimator(self) -> Solver:
        """The solver that found the estimates, once they are found: it makes no factor for uncertainty alone."""
        return self._direct if self.system.n_kept <= SMALL else self._iterative

    @cached_property
    def exact(self) -> Solver:
        """The solver that answers for uncertainty: a factor where one fits, sampling where none does."""
        match self.kind:
            case "direct":
                return self._direct
            case "sparse":
                assert self._sparse is not None  # noqa: S101  # it raises where there is none
                return self._sparse
            case "iterative":
                return self._iterative
        system = self.system
        if system.n_kept <= SMALL:
            return self._say(self._direct, f"the smaller side has only {system.n_kept:,} members")
        if isinstance(self.estimator, SparseSolver):
            return self._say(self.estimator, "the factor is there already")
        if system.n_kept <= DENSE and fits(self._dense_bytes):
            return self._say(self._direct, f"the smaller side has {system.n_kept:,} members, at most {DENSE:,}")
        if not isinstance(self.estimator, IterativeSolver):
            return self.estimator
        why = f"the smaller side has {system.n_kept:,} members, too many for a dense inverse"
        return self._say(self.estimator, why)

    def _say(self, solver: Solver, why: str) -> Solver:
        how = f"sampling, {solver.samples} draws" if isinstance(solver, IterativeSolver) else solver.reason
        _log.info("uncertainties by %s; %s", how, why)
        return solver

    @property
    def reason(self) -> str:
        """Which method found the estimates, and why."""
        return self._reason[-1] if self._reason else self.estimator.reason

    @cached_property
    def _reason(self) -> list[str]:
        return []

    def _found_by(self, solver: Solver, found: Solution, why: str) -> Solution:
        """Remember who found a solution, and why, and return it."""
        self.__dict__["estimator"] = solver
        self._reason.append(f"{solver.reason}; {why}")
        _log.info("estimates by %s", self._reason[-1])
        return found

    def solve(self, score: Floats, start: tuple[Floats, Floats] | None = None, *, declared: bool = False) -> Solution:
        """Fit values and biases to N scores, from a ``start`` close to the answer where there is one.

        With ``declared`` noise an iteration goes on until its error is small beside the declared standard deviations,
        even where the residual says that these are too small.
        """
        system = self.system
        if (self.kind in ("sparse", "iterative") or system.n_kept > SMALL) and not self._can_be_squared:
            raise too_extreme("confidences")
        if self.kind == "iterative":
            found = self._iterative.solve(score, declared=declared)
            return self._found_by(self._iterative, found, "as asked for")
        if self.kind != "auto":
            return self._found_by(self.exact, self.exact.solve(score), "as asked for")
        if system.n_kept <= SMALL:
            why = f"the smaller side has only {system.n_kept:,} members"
            return self._found_by(self._direct, self._direct.solve(score), why)
        if self._is_unequal and self._factored is not None:
            return self._found_by(*self._by_factor(score), "confidences differ by more than a factor of a million")
        begun = None if start is None else system.orient(*start)[0]
        hasty = IterativeSolver(system, patience=_PATIENCE)
        attempt = hasty.attempt(score, begun, declared=declared)
        if attempt is not None:
            why = f"the panel is well connected (smallest eigenvalue met {hasty.steps.smallest:.2g})"
            return self._found_by(hasty, attempt, why)
        why = f"conjugate gradients alone would take about {hasty.steps.forecast:,} steps"
        if self._factored is not None:
            return self._found_by(*self._by_factor(score), why)
        patient = self._preconditioned()
        return self._found_by(patient, patient.solve(score, declared=declared), why)

    def solve_by_factor(self, score: Floats) -> Solution:
        """Fit values and biases where uncertainty will be asked for as well: by the factor that this needs anyway."""
        size = self.system.n_kept
        if self.kind != "auto" or size <= SMALL or size > DENSE or not fits(self._dense_bytes):
            return self.solve(score)
        return self._found_by(self._direct, self._direct.solve(score), "its uncertainty needs the factor")

    def _by_factor(self, score: Floats) -> tuple[Solver, Solution]:
        """Solve by the sparse factor, and where that loses too many digits by the dense one, which does not."""
        if self._sparse is not None:
            try:
                return self._sparse, self._sparse.solve(score)
            except SolveError:
                if self.system.n_kept > DENSE:
                    raise
        return self._direct, self._direct.solve(score)

    def _preconditioned(self) -> IterativeSolver:
        """Return conjugate gradients with an approximate factor, or without where none can be had."""
        from evenhand.solve.approximate import approximate_inverse

        return IterativeSolver(self.system, precondition=approximate_inverse(self.system))

    @property
    def base(self) -> Solver:
        """The solver that is asked about uncertainty."""
        return self.exact

    @property
    def ends(self) -> tuple[Codes, Codes]:
        """The object and the assessor of each assessment."""
        return self.system.ends

    def contrasts(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return x^T L^- x for each column x, a contrast: no factor is made for a few of them."""
        few = of_objects.ndim == 1 or of_objects.shape[1] <= _PATIENCE
        quick = few and self.kind == "auto" and "exact" not in self.__dict__
        solver = self.estimator if quick else self.exact
        return solver.contrasts(of_objects, of_assessors)

    def edges(self) -> tuple[Floats, Floats, Floats]:
        """Return for each assessment the entries (o, o), (o, a) and (a, a) of L^-."""
        return self.exact.edges()

    def mu2(self) -> float:
        """Return the second smallest eigenvalue mu_2 of M (App. C), for a connected panel with two on either side."""
        found = dense_mu2(self.system)
        if found is not None:
            return found
        if self.kind != "auto":
            return self.exact.mu2()
        if "estimator" not in self.__dict__:
            self.__dict__["estimator"] = self._probed()
        return self.estimator.mu2()

    def _probed(self) -> Solver:
        """Return the solver for a panel whose estimates nobody asked for: a factor where an iteration would be slow."""
        if self.system.n_kept <= SMALL:
            return self._direct
        hasty = IterativeSolver(self.system, patience=_PATIENCE)
        if hasty.is_quick():
            return hasty
        return self._factored if self._factored is not None else self._preconditioned()


def choose_solver(system: System, kind: SolverKind = "auto") -> AutoSolver:
    """Return the solver for a system: chosen by its size and shape, or of the kind that was asked for."""
    if kind not in KINDS:
        raise InputError(f"A solver can be {', '.join(KINDS)}, not {kind!r}.", kind="bad_option")
    return AutoSolver(system, kind)
