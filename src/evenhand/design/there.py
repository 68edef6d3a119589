"""What is there already when a design changes: pairs that stay, scores that are in, and who has left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.find import require_inverse
from evenhand.design.inputs import Details, Members, members_in
from evenhand.design.task import Aim, Task
from evenhand.errors import InputError, NoDesignError, bad_option
from evenhand.models.additive import calibrate
from evenhand.panel.graph import Side
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text
from evenhand.words import count_of, name_some

Pair = tuple[str, str]
"""Assessor and object."""


@dataclass(frozen=True, eq=False)
class There:
    """What is there already: pairs (assessor, object), those of them that have been scored, and who has left.

    Attributes
    ----------
    pairs
        Who was to read what, in this order, each pair once; scored ones included.
    scores
        The scores that are in; None where there are none.
    left
        Assessors who make no further assessment; scores of theirs stay.
    rounds
        The round of pairs that have one.
    members
        Objects and assessors of ``pairs``, with what goes with them.
    """

    pairs: tuple[Pair, ...]
    scores: Panel | None = None
    left: frozenset[str] = frozenset()
    rounds: Mapping[Pair, str] = field(default_factory=dict)
    members: tuple[Members, Members] | None = None

    @classmethod
    def of(
        cls,
        given: Any,
        *,
        scores: Panel | None = None,
        left: Iterable[Any] = (),
        rounds: Mapping[Pair, str] | None = None,
    ) -> There:
        """Return what is there from a panel with scores, a design, or pairs (assessor, object)."""
        known: tuple[Members, Members] | None = None
        if isinstance(given, There):
            if scores is None and not left:
                return given
            known, rounds = given.members, given.rounds
            if scores is not None and given.scores is not None:
                raise bad_option("What is to be extended has scores already: leave the other scores out.")
            scores = given.scores if scores is None else scores
            pairs = list(given.pairs)
        elif isinstance(given, Panel):
            if scores is not None:
                raise bad_option("What is to be extended has scores already: leave the other scores out.")
            pairs, scores = [], given
        elif hasattr(given, "assignments") and hasattr(given, "task"):
            pairs, rounds = given.assignments, given.rounds if rounds is None else rounds
            sides: tuple[tuple[Side, Sequence[str], Details], ...] = (
                ("object", given.task.objects, given.object_details),
                ("assessor", given.task.assessors, given.assessor_details),
            )
            known = tuple(Members(side, tuple(own), {}, details=told) for side, own, told in sides)  # type: ignore[assignment]
        else:
            pairs = [(label_text(pair[0]), label_text(pair[1])) for pair in given]
        scored = [] if scores is None else _pairs_in(scores)
        everything = tuple(dict.fromkeys([*pairs, *scored]))
        if not everything:
            raise InputError("There is no assessment to extend.", kind="empty")
        return cls(everything, scores, frozenset(label_text(one) for one in left), rounds or {}, known)

    def renamed(self, objects: Members | None, assessors: Members | None) -> There:
        """Return the same with the labels of members who go by another name here, such as an e-mail address.

        Examples
        --------
        >>> ana = Members("assessor", ("Ana",), {}, aliases={"ana@x.org": "Ana"})
        >>> There.of([("ana@x.org", "P1")], left=["ana@x.org"]).renamed(None, ana).pairs
        (('Ana', 'P1'),)
        """
        if self.scores is not None:
            return self

        def label(name: str, members: Members | None) -> str:
            at = -1 if members is None else members.find(name)
            return name if members is None or at < 0 else members.labels[at]

        names = {pair: (label(pair[0], assessors), label(pair[1], objects)) for pair in self.pairs}
        return replace(
            self,
            pairs=tuple(dict.fromkeys(names.values())),
            left=frozenset(label(one, assessors) for one in self.left),
            rounds={names.get(pair, pair): name for pair, name in self.rounds.items()},
        )

    @property
    def scored(self) -> frozenset[Pair]:
        """Pairs whose score is in."""
        return frozenset() if self.scores is None else frozenset(_pairs_in(self.scores))

    def kept(self, conflicts: Iterable[Pair] = ()) -> list[Pair]:
        """Return the pairs that stay: those that are scored, and those of assessors who are there and may read them."""
        barred, scored = set(conflicts), self.scored
        return [pair for pair in self.pairs if pair in scored or not (pair[0] in self.left or pair in barred)]

    def sides(self, objects: Members | None, assessors: Members | None) -> tuple[Members, Members]:
        """Return all members of what is there, and new ones, with what is told of them: new ones come last."""
        own: list[Members] = []
        for at, side in enumerate(("object", "assessor")):
            labels = [pair[1 - at] for pair in self.pairs]
            if self.members is not None:
                labels += self.members[at].labels
            told = None if self.scores is None else members_in(self.scores, side)  # type: ignore[arg-type]
            known = None if self.members is None else self.members[at]
            given = (objects, assessors)[at]
            own.append(_merged(side, labels, [one for one in (given, known, told) if one is not None]))  # type: ignore[arg-type]
        unknown = sorted(self.left - set(own[1].labels))
        if unknown:
            raise InputError(
                f"{name_some(unknown)} cannot have left: there is no such assessor.",
                kind="unknown_label",
                where=f"assessor {unknown[0]}",
            )
        return own[0], own[1]

    def wanted(
        self, objects: Members, per_object: int | Mapping[Any, int] | None, pairs: Sequence[Pair]
    ) -> dict[str, int]:
        """Return how many assessments each object is to have: what is said, or as many as it had and has.

        A new object of which nothing is said has those pairs that must be, and at least one.
        """
        column = dict(zip(objects.labels, objects.columns.get("per_object", [None] * len(objects.labels)), strict=True))
        said = per_object if isinstance(per_object, Mapping) else dict.fromkeys(objects.labels, per_object)
        before, now = (Counter(label for _, label in some) for some in (self.pairs, pairs))
        told = {label: said.get(label, column[label]) for label in objects.labels}
        told |= {label: column[label] for label, number in told.items() if number is None}
        new = [label for label, number in told.items() if number in (None, "") and not (before[label] or now[label])]
        if new:
            raise bad_option(
                f"Say how many assessments {name_some(new)} needs: per_object, or a column of that name.",
                where=f"object {new[0]}",
            )
        return {
            label: max(before[label], now[label]) if number in (None, "") else number for label, number in told.items()
        }

    def check_room(self, task: Task, more: int | None) -> None:
        """Refuse more assessments than there are pairs and hands for."""
        if more is None:
            return
        require_inverse(task, "Where further assessments help most")
        free = np.bincount(task.assessor[~task.fixed], minlength=task.n_assessors)
        room = int(np.minimum(task.most_load - task.loads(task.fixed), free).sum())
        if room < more:
            raise NoDesignError(
                f"{count_of(more, 'assessment')} cannot be added: conflicts and loads leave room for fewer "
                f"({count_of(room, 'assessment')}).",
                kind="capacity",
                short=more - room,
            )

    def barred(self, objects: Members) -> list[Pair]:
        """Return the pairs that those who left must not be given."""
        scored = self.scored
        return [(one, label) for one in sorted(self.left) for label in objects.labels if (one, label) not in scored]

    def upon(self, task: Task, aim: Aim, *, more: int | None, is_told: bool) -> tuple[Task, Aim]:
        """Return the task with what is there in it, and the aim with what scores say of the values.

        Pairs that stay are fixed already. With ``more``, so many are added wherever they help most; otherwise objects
        have the numbers that they are to have, or more where more is there. ``is_told`` if the uncertainty of a further
        score was given.
        """
        readings, loads = task.readings(task.fixed), task.loads(task.fixed)
        if more is None:
            most = np.maximum(task.most, readings)
            least, total = np.maximum(task.least, readings), int(most.sum())
        else:
            least = np.maximum(readings, 1)
            most = np.full(task.n_objects, task.n_assessors)
            total = int(task.fixed.sum()) + more
        gone = np.array([label in self.left for label in task.assessors])
        task = replace(
            task,
            least=least,
            most=most,
            total=total,
            least_load=np.where(gone, 0, task.least_load),
            most_load=np.where(gone, loads, np.maximum(task.most_load, loads)),
        )
        if self.scores is None:
            return task, aim
        panel, unit = self.scores, 1.0
        if is_told and panel.confidence in ("level", "none"):  # then it is that of a medium assessment
            unit = float(np.median(task.precision))
        precision = task.precision * (1.0 if is_told else _typical(panel, task))
        at, declared = _declared(panel, task)
        precision[at] = declared * unit
        task = replace(task, precision=precision, in_points=task.in_points or panel.confidence == "uncertainty")
        return task, _told(panel, task, aim, unit) if aim.objective == "top" and aim.expected is None else aim


def _typical(panel: Panel, task: Task) -> float:
    """Return the precision of a further score beside that of a medium one, where nothing is told of it."""
    if task.expertise is not None and panel.confidence in ("level", "none"):
        return 1.0
    return float(np.exp(np.log(panel.precision).mean()))


def _declared(panel: Panel, task: Task) -> tuple[Codes, Floats]:
    """Return where scored pairs stand in a task, and the precision that was declared for each."""
    sums: dict[Pair, float] = {}
    for pair, precision in zip(_pairs_in(panel), panel.precision.tolist(), strict=True):
        sums[pair] = sums.get(pair, 0.0) + precision
    places = [{label: at for at, label in enumerate(side)} for side in (task.assessors, task.objects)]
    assessor, object_ = (np.array([own[pair[at]] for pair in sums], np.int64) for at, own in enumerate(places))
    return task.position(assessor, object_), np.asarray(list(sums.values()), dtype=np.float64)


def _told(panel: Panel, task: Task, aim: Aim, unit: float) -> Aim:
    """Return the aim with the values as scores tell them, and how sure they are of each, in the task's units.

    Of objects without a score nothing is known but how far values spread.
    """
    fit = calibrate(panel)
    if fit.noise_variance is None:
        reason = fit.posterior.noise.reason
        raise bad_option(f"Where a decision is open depends on the noise, and {reason}: give expected values.")
    place = {label: at for at, label in enumerate(panel.objects)}
    at = np.array([place.get(label, -1) for label in task.objects])
    is_in = at >= 0
    value = np.asarray(fit.values.latent, dtype=np.float64) / np.sqrt(fit.noise_variance * unit)
    variance = np.square(np.asarray(fit.values.sd, dtype=np.float64)) / (fit.noise_variance * unit)
    spread = max(float(value.std()), 1e-6)
    return replace(
        aim,
        expected=np.where(is_in, value[at], value.mean()),
        value_sd=np.where(is_in, np.sqrt(variance[at]), spread),
        known=np.where(is_in, 1 / variance[at], 0.0),
    )


def _pairs_in(panel: Panel) -> list[Pair]:
    who, what = panel.assessor_index.tolist(), panel.object_index.tolist()
    return [(panel.assessors[a], panel.objects[o]) for a, o in zip(who, what, strict=True)]


def _merged(side: Side, labels: Sequence[str], known: Sequence[Members]) -> Members:
    """Return members by all labels, with what the first that knows of each says; new ones last."""
    everyone = tuple(dict.fromkeys([*labels, *(label for one in known for label in one.labels)]))
    columns: dict[str, list[Any]] = {}
    details: dict[str, dict[str, str]] = {}
    aliases: dict[str, str] = {}
    for one in reversed(known):
        for role, cells in one.columns.items():
            told = dict(zip(one.labels, cells, strict=True))
            before = columns.get(role, [None] * len(everyone))
            columns[role] = [told.get(label, cell) for label, cell in zip(everyone, before, strict=True)]
        for name, own in one.details.items():
            details[name] = {**details.get(name, {}), **own}
        aliases |= one.aliases
    aliases = {name: label for name, label in aliases.items() if name not in everyone}
    return Members(side, everyone, columns, known[0].backend if known else "polars", aliases, details)


def without(task: Task, gone: Iterable[str]) -> Task:
    """Return a task without some assessors, who have no pair in it."""
    names = set(gone)
    stay = np.array([label not in names for label in task.assessors])
    if stay.all():
        return task
    object_, assessor = np.divmod(task.conflicts, task.n_assessors)
    code, told = np.cumsum(stay) - 1, stay[assessor]
    return replace(
        task,
        assessors=[label for label, stays in zip(task.assessors, stay.tolist(), strict=True) if stays],
        assessor=code[task.assessor],
        least_load=task.least_load[stay],
        most_load=task.most_load[stay],
        conflicts=object_[told] * int(stay.sum()) + code[assessor[told]],
        wide=None,
    )


def among(pairs: Iterable[Pair], task: Task) -> Flags:
    """Say of each pair of a task whether it is one of some."""
    wanted = set(pairs)
    both = zip(task.assessor.tolist(), task.object.tolist(), strict=True)
    return np.array([(task.assessors[a], task.objects[o]) in wanted for a, o in both], dtype=bool)
