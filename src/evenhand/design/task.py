"""What is asked of a design: who may read what, how often, how surely, at what cost, and what makes a design good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, ndtri, owens_t

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.limits import Limits
from evenhand.errors import bad_option

Move = tuple[list[int], tuple[int, ...]]
"""Pairs that come and go, and +1 or -1 for each."""

Objective = Literal["variance", "differences", "worst", "gap", "determinant", "top"]
"""What to make small (or large): the mean variance of values (A), that of differences between two objects, the largest
variance, the spectral gap mu_2 (E), the determinant of the information on values (D), or wrong decisions on a top k."""

OBJECTIVES: Final = get_args(Objective)

_POWER: Final = 12.0
"""The largest variance is sought by way of the mean of all variances to this power."""

_ASSESSMENT: Final = 0.3
"""The share of the variance of a value that one more assessment takes away, roughly."""


@dataclass(frozen=True, eq=False)
class Task:
    """A design task in arrays: K pairs (assessor, object) that may be chosen, and how many of them must be.

    Pairs stand object by object and, within an object, in the order of assessors. A design is a mask over them. Arrays
    from ``object`` to ``fixed`` have an entry for each pair (K), bounds one for each object (n_O) or assessor (n_A).
    """

    objects: Sequence[str]
    assessors: Sequence[str]
    object: Codes
    assessor: Codes
    precision: Floats
    """The precision c = 1/sigma^2 that an assessment by the pair is expected to have."""
    expertise: Floats | None
    """How well the assessor of each pair knows the object, from 0 to 1; None where nothing was said."""
    cost: Floats
    fixed: Flags
    """Pairs that must be in the design."""
    least: Codes
    most: Codes
    """Fewest and most assessments of each object."""
    least_load: Codes
    most_load: Codes
    total: int
    """Number of assessments in all."""
    conflicts: Codes
    """Pairs that must not be made, as sorted keys ``object * n_A + assessor``: for explanations."""
    in_points: bool = False
    """Whether precisions come from uncertainties in points; otherwise sds are in units of a medium assessment's."""
    limits: Limits = field(default_factory=Limits)
    """Limits on sets of pairs: who reads together, and what each object must have."""
    wide: Callable[[], Task] | None = None
    """Returns the task with every pair possible: for explanations."""
    linked: Codes = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    """Pairs of objects that must have a reader in common (L x 2)."""

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.objects)

    @property
    def n_assessors(self) -> int:
        """Number of assessors."""
        return len(self.assessors)

    @property
    def n_pairs(self) -> int:
        """Number of pairs that may be chosen."""
        return self.object.size

    @cached_property
    def start(self) -> Codes:
        """Where the pairs of each object begin (n_O + 1)."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.object, minlength=self.n_objects))]).astype(np.int64)

    @cached_property
    def keys(self) -> Codes:
        """For each pair one ascending number, ``object * n_A + assessor``."""
        return np.asarray(self.object * self.n_assessors + self.assessor, dtype=np.int64)

    @cached_property
    def is_even(self) -> bool:
        """Whether all assessments are expected to be equally precise."""
        return bool(np.ptp(self.precision) <= 1e-12 * self.precision.max()) if self.n_pairs else True

    @cached_property
    def entries(self) -> tuple[Codes, Codes]:
        """Where the entries of each pair stand among the limits."""
        return self.limits.by_pair(self.n_pairs)

    def allowed(self, sums: Floats, pairs: Sequence[Codes], signs: Sequence[int]) -> Flags:
        """Say of some moves of one kind (m) whether they break no rule; ``sums`` are those of the design."""
        return self.limits.allow(sums, self.entries, pairs, signs)

    def position(self, assessor: Codes, object_: Codes) -> Codes:
        """Return where pairs stand; -1 for those that may not be chosen."""
        wanted = object_ * self.n_assessors + assessor
        at = np.searchsorted(self.keys, wanted)
        at[at == self.keys.size] = 0
        return np.where(self.keys[at] == wanted, at, -1) if self.keys.size else np.full(wanted.shape, -1)

    def loads(self, chosen: Flags) -> Codes:
        """Return the number of assessments by each assessor."""
        return np.bincount(self.assessor[chosen], minlength=self.n_assessors)

    def readings(self, chosen: Flags) -> Codes:
        """Return the number of assessments of each object."""
        return np.bincount(self.object[chosen], minlength=self.n_objects)

    def components(self, some: Flags) -> tuple[int, Codes]:
        """Return how many components some pairs form, and that of each object and then each assessor."""
        vertices = self.n_objects + self.n_assessors
        ends = self.object[some], self.assessor[some] + self.n_objects
        links = sp.coo_array((np.ones(ends[0].size, dtype=bool), ends), shape=(vertices, vertices))
        count, label = connected_components(links, directed=False)
        return int(count), label

    def broken(self, chosen: Flags) -> list[str]:
        """Return what is wrong with a design; nothing where it keeps every rule."""
        loads, readings = self.loads(chosen), self.readings(chosen)
        checks = {
            "a fixed pair is missing": bool((self.fixed & ~chosen).any()),
            "an assessor reads too little": bool((loads < self.least_load).any()),
            "an assessor reads too much": bool((loads > self.most_load).any()),
            "an object is read too little": bool((readings < self.least).any()),
            "an object is read too often": bool((readings > self.most).any()),
            "the number of assessments differs": int(chosen.sum()) != self.total,
            "linked objects have no reader in common": bool(self.unlinked(chosen)),
        }
        return [words for words, wrong in checks.items() if wrong] + self.limits.broken(chosen)

    def common(self, some: Flags, link: int) -> tuple[Codes, Codes]:
        """Return the pairs, among some, of all who have both of two linked objects: of the one and of the other."""
        one, other = self.linked[link].tolist()
        mine, theirs = (np.arange(self.start[o], self.start[o + 1]) for o in (one, other))
        mine, theirs = mine[some[mine]], theirs[some[theirs]]
        _, first, second = np.intersect1d(self.assessor[mine], self.assessor[theirs], return_indices=True)
        return mine[first], theirs[second]

    def unlinked(self, chosen: Flags) -> list[int]:
        """Return which linked objects no one reads both of in a design."""
        return [link for link in range(len(self.linked)) if not self.common(chosen, link)[0].size]

    def held(self, chosen: Flags) -> Task:
        """Return the task in which one reader whom linked objects have in common in a design stays with them."""
        fixed = self.fixed.copy()
        for link in range(len(self.linked)):
            mine, theirs = self.common(chosen, link)
            if mine.size and not self.common(fixed, link)[0].size:
                fixed[[mine[0], theirs[0]]] = True
        return replace(self, fixed=fixed) if len(self.linked) else self


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """An objective with all that it needs."""

    objective: Objective = "variance"
    expected: Floats | None = None
    """What each value is expected to be, for a top k (n_O)."""
    value_sd: float | Floats = 1.0
    """How far values may be from that, in points: all of them, or each (n_O)."""
    top: int = 0
    """The number of places."""
    expertise_weight: float = 0.0
    """From 0, comparability alone, to 1, expertise alone."""
    known: Floats | None = None
    """The precision with which scores that are in tell each value, and by which it is expected; None without any."""

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise bad_option(f"There is no objective {self.objective!r}: use one of {', '.join(OBJECTIVES)}.")
        if not 0 <= self.expertise_weight <= 1:
            raise bad_option("The weight of expertise must be from 0 to 1.")
        if not (np.isfinite(self.value_sd) & (np.asarray(self.value_sd) > 0)).all():
            raise bad_option("The spread of values must be positive.")

    @property
    def is_linear(self) -> bool:
        """Whether the objective is a weighted mean of variances, the weights of which are known beforehand."""
        return self.objective in ("variance", "differences")

    def loss(self, variances: Floats) -> float:
        """Return how bad variances are: for all objectives that depend on these alone; less is better."""
        if self.objective == "worst":
            return float(variances.max())
        if self.objective == "top":
            return float(self._misplaced(variances).sum())
        return float(variances.mean())

    def weights(self, variances: Floats) -> Floats:
        """Return weights of the objects, which sum to one: how fast the loss grows with the variance of each."""
        if self.objective == "worst":
            slope = np.power(variances / variances.max(), _POWER - 1)
        elif self.objective == "top":
            # where scores are in, next to nothing more decides nothing: the fall is that of a whole assessment
            rise, fall = (1e-4, 1e-4) if self.known is None else (0.0, _ASSESSMENT)
            lower, upper = (1 - fall) * variances, (1 + rise) * variances
            slope = (self._misplaced(upper) - self._misplaced(lower)) / (upper - lower)
            slope = np.maximum(slope, max(1e-6 * slope.max(), 1e-300))
        else:
            slope = np.ones(variances.size)
        return np.asarray(slope / slope.sum(), dtype=np.float64)

    def _misplaced(self, variances: Floats) -> Floats:
        """Return the probability of each object to end on the wrong side of the line after place k.

        A value is N(m, s^2) beforehand. Scores that tell it with variance t^2 leave it N(m', u^2), u^2 = 1/(1/s^2 +
        1/t^2), and deciding by m' errs with probability 2 T(z, u/sqrt(s^2 - u^2)), z = (m - line)/s, T being Owen's
        function; without expected values, m is the mean of all and the line lies where k of n objects are above it.
        Where m and s are what scores say that are in, these count once: 1/u^2 = 1/s^2 + 1/t^2 less their precision.
        """
        sd, n_objects = self.value_sd, variances.size
        if self.expected is None:
            distance = np.full(n_objects, -ndtri(1 - self.top / n_objects))
        else:
            ordered = np.sort(self.expected)[::-1]
            distance = (self.expected - (ordered[self.top - 1] + ordered[self.top]) / 2) / sd
        told = 1 / variances if self.known is None else np.maximum(1 / variances - self.known, 0.0)
        left = 1 / (1 / np.square(sd) + told)
        ratio = np.sqrt(left / np.maximum(np.square(sd) - left, 1e-300))
        wrong = 2 * owens_t(distance, ratio)
        return np.asarray(np.where(np.isfinite(variances), wrong, ndtr(-np.abs(distance))), dtype=np.float64)


def spectral_gap(task: Task, chosen: Flags) -> float:
    """Return mu_2 of a design (App. C), assessors without work left out: 1 - the second singular value of D."""
    used, code = np.unique(task.assessor[chosen], return_inverse=True)
    object_, precision = task.object[chosen], task.precision[chosen]
    scaled = np.zeros((task.n_objects, used.size))
    scaled[object_, code] = precision
    scaled /= np.sqrt(np.outer(scaled.sum(axis=1), scaled.sum(axis=0)))
    if min(scaled.shape) == 1:
        return 1.0
    return float(1 - np.linalg.svd(scaled, compute_uv=False)[1])
