"""How a design differs from an earlier one, and who stands in where a reader drops out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import frames
from evenhand.compiled import Codes, Floats
from evenhand.design.find import LARGEST_WHOLE
from evenhand.design.inverse import Inverse, coarse
from evenhand.design.result import Design, Prospect
from evenhand.design.start import parts_of
from evenhand.design.there import Pair
from evenhand.errors import bad_option
from evenhand.models.additive import calibrate
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity


@dataclass(frozen=True, eq=False, repr=False)
class Changes(frames.Shown):
    """How a design differs from an earlier one.

    Attributes
    ----------
    design
        The design as it is now.
    earlier
        The pairs (assessor, object) of the earlier one.
    added, removed
        Pairs that came, and pairs that are gone.
    before
        What the earlier pairs alone would give.
    """

    design: Design
    earlier: tuple[Pair, ...]
    added: tuple[Pair, ...]
    removed: tuple[Pair, ...]
    before: Prospect

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.design.backend

    @property
    def moved(self) -> int:
        """How many assessments went from one assessor to another: as many as an object both lost and gained."""
        gone, come = (Counter(label for _, label in pairs) for pairs in (self.removed, self.added))
        return sum((gone & come).values())

    def columns(self) -> dict[str, list[Any]]:
        """Return what is new and what is gone, assessor by assessor, with what goes with each."""
        listed = [*((pair, "added") for pair in self.added), *((pair, "removed") for pair in self.removed)]
        order = {label: at for at, label in enumerate(self.design.task.assessors)}
        listed.sort(key=lambda one: (order.get(one[0][0], len(order)), one[1]))
        table: dict[str, list[Any]] = {"change": [change for _, change in listed]}
        table |= self.design.pair_columns([pair[1] for pair, _ in listed], [pair[0] for pair, _ in listed])
        if self.design.rounds:
            table["round"] = [self.design.rounds.get(pair) for pair, _ in listed]
        return table

    def assessor_columns(self) -> dict[str, list[Any]]:
        """Return how much the work of each assessor changed who gained or lost any, as columns."""
        return self._by("assessor", 0)

    def object_columns(self) -> dict[str, list[Any]]:
        """Return how the readings of each object changed that gained or lost any, as columns."""
        return self._by("object", 1)

    def _by(self, side: str, at: int) -> dict[str, list[Any]]:
        before, come, gone = (Counter(pair[at] for pair in some) for some in (self.earlier, self.added, self.removed))
        labels = dict.fromkeys(pair[at] for pair in (*self.earlier, *self.added))
        changed = [label for label in labels if come[label] or gone[label]]
        return {
            side: changed,
            "added": [come[label] for label in changed],
            "removed": [gone[label] for label in changed],
            "before": [before[label] for label in changed],
            "now": [before[label] + come[label] - gone[label] for label in changed],
        }


def changes(design: Design, earlier: Iterable[Pair] | Design | None = None) -> Changes:
    """Return how a design differs from an earlier one: by default from what it was made of by :func:`extend`.

    Examples
    --------
    >>> from evenhand.design.assign import assign, extend
    >>> made = assign(["P1", "P2", "P3"], ["Ana", "Ben", "Cy"], per_object=2)
    >>> found = changes(extend(made, left=["Ben"], assessors=["Di"]))
    >>> len(found.added), len(found.removed), found.moved
    (2, 2, 2)
    """
    if earlier is None:
        earlier = design.earlier
    if earlier is None:
        raise bad_option("This design is new: give the earlier one that it is to be compared with.")
    listed = earlier.assignments if isinstance(earlier, Design) else earlier
    before, now = tuple(dict.fromkeys(listed)), design.assignments
    was, is_now = set(before), set(now)
    return Changes(
        design=design,
        earlier=before,
        added=tuple(pair for pair in now if pair not in was),
        removed=tuple(pair for pair in before if pair not in is_now),
        before=_prospect(design, before),
    )


def _prospect(design: Design, pairs: Sequence[Pair]) -> Prospect:
    """Return what pairs alone would give, as precise as the design has them; the typical precision for the others."""
    task = design.task
    known = {
        (task.assessors[a], task.objects[o]): precision
        for a, o, precision in zip(task.assessor.tolist(), task.object.tolist(), task.precision.tolist(), strict=True)
    }
    usual = float(np.median(task.precision))
    sides = [list(dict.fromkeys(pair[at] for pair in pairs)) for at in (1, 0)]
    places = [{label: at for at, label in enumerate(labels)} for labels in sides]
    panel = Panel.from_arrays(
        np.array([places[0][label] for _, label in pairs]),
        np.array([places[1][assessor] for assessor, _ in pairs]),
        np.zeros(len(pairs)),
        np.array([known.get(pair, usual) for pair in pairs]),
    )
    unread, parts = len(set(task.objects) - set(sides[0])), len(connectivity(panel).components)
    if parts > 1:
        return Prospect(None, None, unread, parts)
    sds = np.asarray(calibrate(panel, noise="declared").values.sd, dtype=np.float64)
    return Prospect(float(sds.mean()), float(sds.max()), unread, parts)


# --- who stands in -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Alternates(frames.Shown):
    """Who could stand in for a reader of each object.

    Attributes
    ----------
    design
        The design.
    object, assessor
        Labels, object by object, whom to ask first before whom to ask next.
    place
        Whom to ask first (1), second (2) and so on.
    """

    design: Design
    object: tuple[str, ...]
    assessor: tuple[str, ...]
    place: tuple[int, ...]

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.design.backend

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as columns."""
        return {"object": [*self.object], "place": [*self.place], "assessor": [*self.assessor]}


def alternates(design: Design, count: int = 2) -> Alternates:
    """Return for each object assessors who could stand in, the one first whose assessment would help most.

    They may read it, do not read it yet, and have less work than the most that was asked for; no rule would be broken.
    Nobody is named more often than their share, unless there is nobody else.

    Examples
    --------
    >>> from evenhand.design.assign import assign
    >>> made = assign(["P1", "P2", "P3"], ["Ana", "Ben", "Cy"], per_object=2, fixed=[("Ana", "P1"), ("Ben", "P1")])
    >>> alternates(made, 1).columns()["assessor"][0]
    'Cy'
    """
    if count < 1:
        raise bad_option("The number of alternates must be at least 1.")
    task, chosen = design.task, design.chosen
    count = min(count, task.n_assessors)
    most = task.most_load if design.stated_load is None else design.stated_load
    free = ~chosen & (task.loads(chosen) < most)[task.assessor]
    pairs = np.flatnonzero(free)
    if len(task.limits):
        entries = task.limits.by_pair(task.n_pairs)
        pairs = pairs[task.limits.allow(task.limits.sums(chosen), entries, [pairs], (1,))]
    left = coarse(_left(design, pairs))
    who, what = task.assessor[pairs], task.object[pairs]
    hands = max(np.unique(who).size, 1)
    share, named = -(-count * task.n_objects // hands), np.zeros(task.n_assessors, dtype=np.int64)
    of_object: dict[int, list[int]] = {}
    start = np.searchsorted(what, np.arange(task.n_objects + 1))
    scarce = np.argsort(np.diff(start), kind="stable").tolist()
    for _ in range(count):
        for one in scarce:
            open_ = [at for at in range(start[one], start[one + 1]) if who[at] not in of_object.get(one, [])]
            if open_:
                best = min(open_, key=lambda at: (named[who[at]] >= share, left[at], named[who[at]]))
                of_object.setdefault(one, []).append(int(who[best]))
                named[who[best]] += 1
    rows = [(one, place, a) for one in range(task.n_objects) for place, a in enumerate(of_object.get(one, []), 1)]
    return Alternates(
        design,
        tuple(task.objects[one] for one, _, _ in rows),
        tuple(task.assessors[a] for _, _, a in rows),
        tuple(place for _, place, _ in rows),
    )


def _left(design: Design, pairs: Codes) -> Floats:
    """Return the mean variance of values with each pair besides; for large designs, how imprecise the pair is."""
    task = design.task
    if task.n_objects + task.n_assessors > LARGEST_WHOLE or parts_of(task, design.chosen)[0] > 1 or not pairs.size:
        return np.asarray(1 / task.precision[pairs], dtype=np.float64)
    return Inverse(task, design.chosen).mean_variances([pairs], (1,))
