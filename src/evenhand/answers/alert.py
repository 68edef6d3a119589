"""One thing that may be wrong: what it says, where, what to do, and what else would come out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from evenhand.answers.decision import Decision
from evenhand.models.fit import Fit

if TYPE_CHECKING:
    from evenhand.answers.decision import Decision

Level = Literal["stop", "check", "note"]

LARGEST: Final = 20_000
"""Scores up to which a panel is looked through score by score, and assessor by assessor."""

LINES: Final = 3
"""Cases that an alert describes one by one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would come out if a score were another.

    Attributes
    ----------
    case
        In words: ``"6000, as entered"``.
    object, place
        The object, and its place by value; None where it would have none.
    assuming
        What it takes for granted: ``"if the score is left out"``.
    fit, decision
        The fit and the decision that would come out; no decision where none was asked for.
    """

    case: str
    object: str
    place: int | None
    assuming: str
    fit: Fit
    decision: Decision | None = None

    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        made = self.decision
        groups = {} if made is None else {"in": made.inside, "undecided": made.undecided, "out": made.outside}
        lists = {name: list(labels) for name, labels in groups.items()}
        return {"case": self.case, "object": self.object, "place": self.place, **lists}


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases of one kind: what they have in common, up to a colon, and each in a few words."""

    head: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that may be wrong.

    Attributes
    ----------
    level
        ``"stop"``: nothing should be announced before it is settled; ``"check"``: look at it; ``"note"``: know it.
    kind
        A short identifier that programs can test.
    headline
        What it is, in a few words.
    lines
        The cases: what in short, and the sentence that follows.
    where
        The place: objects, assessors, the row of a score.
    remedy
        What to do.
    outcomes
        What else would come out, side by side.
    scores
        The scores that it speaks of, by their position in the panel.
    objects
        The objects that it speaks of.
    assessors, reasons, method
        The assessor on whom each status hangs, and a sentence on it; the method that the scores support instead.
    each
        Cases that the lines count and do not name, kind by kind.
    beside
        What stands in a line under the headline of the decision, where that must not be read alone.
    doubtful
        Who is in by the method used and not by one that clearly predicts better: the headline then says by what.
    instead
        The decision that the method which the scores support leads to.
    """

    level: Level
    kind: str
    headline: str
    lines: tuple[tuple[str, str], ...] = ()
    where: str | None = None
    remedy: str = ""
    outcomes: tuple[Outcome, ...] = ()
    scores: tuple[int, ...] = ()
    objects: tuple[str, ...] = ()
    assessors: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    method: str = ""
    each: tuple[Cases, ...] = ()
    beside: str = ""
    doubtful: tuple[str, ...] = ()
    instead: Decision | None = field(default=None, repr=False, compare=False)

    @property
    def count_of_each(self) -> int:
        """How many cases the lines count and do not name."""
        return sum(len(one.names) for one in self.each)

    @property
    def advice(self) -> str:
        """What to do, without what is typed."""
        return " ".join(one for one in re.split(r"(?<=\.) ", self.remedy) if "`" not in one)

    @property
    def message(self) -> str:
        """All that is said, in a paragraph."""
        return " ".join([f"{self.headline}.", *self._cases()])

    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        outcomes = [one.record() for one in self.outcomes]
        named = {name: getattr(self, name) for name in ("level", "kind", "message", "where", "remedy", "headline")}
        further = {"beside": self.beside, "doubtful": list(self.doubtful)}
        return {**named, "lines": self._cases(), "outcomes": outcomes, **further}

    def _cases(self) -> list[str]:
        return [f"{lead} {rest}".strip() for lead, rest in self.lines]
