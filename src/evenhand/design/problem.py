"""What is asked of a design: who may read what, how often, how surely, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """A design problem in arrays: K pairs (assessor, object) that may be chosen, and how many of them must be.

    Pairs stand object by object and, within an object, in the order of assessors. A design is a mask over them.

    Attributes
    ----------
    objects, assessors
        Labels.
    object, assessor
        The object and the assessor of each pair (K each).
    precision
        The precision c = 1/sigma^2 that an assessment by the pair is expected to have (K).
    expertise
        How well the assessor of each pair knows the object, from 0 to 1 (K); None where nothing was said.
    cost
        What an assessment by each pair costs (K).
    fixed
        Pairs that must be in the design (K).
    least, most
        Fewest and most assessments of each object (n_O).
    least_load, most_load
        Fewest and most assessments by each assessor (n_A).
    total
        Number of assessments in all.
    conflicts
        Pairs that must not be made, as sorted keys ``object * n_A + assessor``: for explanations.
    in_points
        Whether precisions come from uncertainties in points; otherwise sds are in units of a medium assessment's.
    """

    objects: Sequence[str]
    assessors: Sequence[str]
    object: Codes
    assessor: Codes
    precision: Floats
    expertise: Floats | None
    cost: Floats
    fixed: Flags
    least: Codes
    most: Codes
    least_load: Codes
    most_load: Codes
    total: int
    conflicts: Codes
    in_points: bool = False

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
        }
        return [words for words, wrong in checks.items() if wrong]
