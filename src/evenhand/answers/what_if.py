"""What if: a fit with some scores changed or left out, and what its decision says beside the one that stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from evenhand.answers.decision import Decision, Standing, Status
from evenhand.answers.update import update
from evenhand.errors import InputError
from evenhand.models.fit import Fit
from evenhand.words import called, count_of, listed, phrase, sentence, together

_NAMED: Final = 6


def changed(
    fit: Fit,
    *,
    put: Iterable[tuple[str, str, float]] = (),
    remove: Iterable[tuple[str, str]] = (),
    without: Iterable[str] = (),
) -> Fit:
    """Return a fit with some scores changed or left out: by updating it where that is exact, else by fitting again.

    Parameters
    ----------
    fit
        The fit that stands.
    put
        Scores that are others: (object, assessor, score).
    remove
        Scores that are left out: (object, assessor).
    without
        Assessors all of whose scores are left out.

    Examples
    --------
    >>> import evenhand as eh
    >>> fit = eh.calibrate(eh.demo())
    >>> changed(fit, without=["Kaur"]).panel.n_assessors
    10
    """
    panel, put, gone = fit.panel, list(put), set(without)
    unknown = [one for one in gone if one not in set(panel.assessors)]
    if unknown:
        raise InputError(f"There is no assessor {unknown[0]!r} to leave out.", kind="bad_change")
    labels = list(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True))
    pairs = [(str(panel.objects[o]), str(panel.assessors[a])) for o, a in labels]
    dropped = {pair for pair in pairs if pair[1] in gone} | set(remove)
    put = [one for one in put if (one[0], one[1]) not in dropped]
    if fit.model.why_not("update") is None and not panel.covariates and panel.criterion is None:
        return update(fit, put=put, remove=dropped)
    for pair in [*dropped, *((o, a) for o, a, _ in put)]:
        if pair not in set(pairs):
            raise InputError(f"{pair[1]} has not scored {pair[0]}.", kind="bad_change")
    score, known = np.array(panel.score), {(o, a): value for o, a, value in put}
    for at, pair in enumerate(pairs):
        score[at] = known.get(pair, score[at])
    kept = np.array([pair not in dropped for pair in pairs])
    return fit.refit(replace(panel, score=score).restrict(kept), per_component=fit.per_component)


@dataclass(frozen=True, slots=True)
class Move:
    """One object before and after: where it stood and where it would; None where it is not there.

    ``place`` says whether it enters the first, as many as there are places, or leaves them, or stays among them.
    """

    object: str
    before: Standing | None
    after: Standing | None
    place: Literal["enters", "leaves", "stays", ""]

    @property
    def statuses(self) -> tuple[Status | None, Status | None]:
        """Its status before and after."""
        return (None if self.before is None else self.before.status, None if self.after is None else self.after.status)

    @property
    def is_shown(self) -> bool:
        """Whether it enters or leaves the first, or its status is another."""
        return self.place in ("enters", "leaves") or self.statuses[0] != self.statuses[1]


@dataclass(frozen=True, eq=False)
class Difference:
    """A decision beside the one that stands."""

    saved: Decision
    scenario: Decision

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Every object, those first that enter or leave the first, or change their status."""
        before = {one.object: one for one in self.saved.standings}
        after = {one.object: one for one in self.scenario.standings}
        had = {one.object for one in self.saved.standings[: self.saved.places]}
        has = {one.object for one in self.scenario.standings[: self.scenario.places]}
        found = []
        for label in dict.fromkeys([*after, *before]):
            place: Literal["enters", "leaves", "stays", ""] = "stays" if label in has else ""
            if (label in had) != (label in has):
                place = "enters" if label in has else "leaves"
            found.append(Move(label, before.get(label), after.get(label), place))
        order = {"enters": 0, "leaves": 1, "stays": 2, "": 3}

        def rank(one: Move) -> tuple[bool, int, int]:
            standing = one.before if one.place == "leaves" else one.after or one.before
            return not one.is_shown, order[one.place] if one.is_shown else 0, standing.place if standing else 0

        return tuple(sorted(found, key=rank))

    @property
    def shown(self) -> tuple[Move, ...]:
        """The moves that matter."""
        return tuple(one for one in self.moves if one.is_shown)

    @property
    def entering(self) -> tuple[str, ...]:
        """Who would enter the first."""
        return tuple(one.object for one in self.moves if one.place == "enters")

    @property
    def leaving(self) -> tuple[str, ...]:
        """Who would leave them."""
        return tuple(one.object for one in self.moves if one.place == "leaves")

    @property
    def crossed(self) -> tuple[Standing, Standing] | None:
        """Who would enter the first though another, who would leave, has the greater chance; the widest such.

        The first are so by value, and of two values the less certain one may be the likelier to have a place.
        """

        def then(place: str) -> list[tuple[float, Standing]]:
            found = [one.after for one in self.moves if one.place == place and one.after is not None]
            return [(one.chance, one) for one in found if one.chance is not None]

        (least, takes), (most, loses) = (
            min(then("enters"), key=lambda one: one[0], default=(1.0, None)),
            max(then("leaves"), key=lambda one: one[0], default=(0.0, None)),
        )
        return None if takes is None or loses is None or least >= most else (takes, loses)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Who would have no score left, and so neither a rank nor a status."""
        return tuple(one.object for one in self.moves if one.after is None)

    @property
    def alone(self) -> tuple[str, ...]:
        """Who would have one score left, of several."""
        both = ((one.object, one.before, one.after) for one in self.moves)
        return tuple(label for label, was, now in both if was and now and was.assessments > 1 == now.assessments)

    @property
    def kept(self) -> int:
        """How many of the first stay so."""
        return min(self.saved.places, len(self.saved.standings)) - len(self.leaving)

    def headline(self, changes: Sequence[str] = ()) -> str:
        """Return what happens under some changes, each in words such as ``"without Kaur"``."""
        words, lost = self._hands(), [one for one in self.moves if one.statuses[0] == "in" != one.statuses[1]]
        if lost:
            inside = count_of(len(self.saved.inside), self.saved.fit.panel.noun)
            told = {"hands": words, "count": f"{len(lost):,}", "inside": inside}
            is_one, are_open = len(lost) == 1, all(one.statuses[1] == "undecided" for one in lost)
            if are_open and is_one:
                words = phrase("{hands}, and {count} of the {inside} that are in becomes open", **told)
            elif are_open:
                words = phrase("{hands}, and {count} of the {inside} that are in become open", **told)
            elif is_one:
                words = phrase("{hands}, and {count} of the {inside} that are in no longer is", **told)
            else:
                words = phrase("{hands}, and {count} of the {inside} that are in no longer are", **told)
        if not changes:
            return sentence(words)
        return phrase("{assuming}, {finding}", assuming=sentence(listed(changes, _NAMED)), finding=words)

    def _hands(self) -> str:
        """Return who is among the first instead of whom; of many, how many are others."""
        entering, leaving, places = self.entering, self.leaving, f"{self.saved.places:,}"
        hands, noun = max(len(entering), len(leaving)), self.saved.fit.panel.noun
        if not hands:
            return phrase("the first {places} stay the same", places=places)
        if self.saved.places != self.scenario.places or len(entering) != len(leaving):
            counts = {"entering": f"{len(entering):,}", "leaving": f"{len(leaving):,}"}
            return phrase("{entering} enter and {leaving} leave", **counts)
        if hands > 1:
            return phrase("{count} of the first {places} are replaced", count=f"{hands:,}", places=places)
        names = {"now": called(entering[0], noun), "before": called(leaving[0], noun)}
        if self.saved.places == 1:
            return phrase("{now} is first instead of {before}", **names)
        return phrase("{now} replaces {before} in the first {places}", **names, places=places)

    def meaning(self) -> str:
        """Return whose status is another, who has no score left, and who enters and leaves the first."""
        dropped = self.dropped
        leaving = tuple(label for label in self.leaving if label not in dropped)
        lost = (*self._now("undecided", "in"), *self._now("out", "in"))
        cases = [
            (lost, phrase("{names} is no longer in"), phrase("{names} are no longer in")),
            (self._now("in"), phrase("{names} is now in"), phrase("{names} are now in")),
            (self._now("undecided", "out"), phrase("{names} is no longer out"), phrase("{names} are no longer out")),
            (self._now("out"), phrase("{names} is now out"), phrase("{names} are now out")),
            (
                dropped,
                phrase("{names} has no score left and drops out"),
                phrase("{names} have no score left and drop out"),
            ),
            (self.entering, phrase("{names} enters the first {places}"), phrase("{names} enter the first {places}")),
            (leaving, phrase("{names} leaves the first {places}"), phrase("{names} leave the first {places}")),
        ]
        places, noun = f"{self.scenario.places:,}", self.saved.fit.panel.noun
        said = [
            (one if len(labels) == 1 else several).format(names=together(labels, noun, _NAMED), places=places)
            for labels, one, several in cases
            if labels
        ]
        return f"{sentence('; '.join(said))}." if said else phrase("Nobody changes status or crosses the line.")

    def warning(self) -> str:
        """Return whose value would rest on a single score; empty where that of nobody does who has several now."""
        if not self.alone:
            return ""
        names = together(self.alone, self.saved.fit.panel.noun, _NAMED)
        if len(self.alone) == 1:
            return phrase("{names} then rests on one score only, unchecked by a second.", names=sentence(names))
        return phrase("{names} then rest on one score each, unchecked by a second.", names=sentence(names))

    def _now(self, status: Status, before: Status | None = None) -> tuple[str, ...]:
        """Return whose status has become this one, from any other or from the one before."""
        kept = (one for one in self.shown if one.statuses[1] == status != one.statuses[0])
        return tuple(one.object for one in kept if before in (None, one.statuses[0]))
