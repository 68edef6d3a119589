"""Decisions that rest on ranks and values: places, lots among those whom the data cannot separate, grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np

from evenhand import frames
from evenhand.answers.ranking import Ranking, rank, ranking_of
from evenhand.compiled import Floats
from evenhand.errors import InputError, NotRankableError
from evenhand.models.average import SA, simple_average
from evenhand.models.fit import Fit
from evenhand.words import (
    called_some,
    cited,
    count_of,
    decimals,
    lowered,
    number,
    percent,
    phrase,
    plural,
    sentence,
    term,
    together,
)

_NAMED: Final = 12
"""Up to this many objects are named in a sentence."""

_FEW: Final = 6
"""Up to this many of either side are named where plain averages differ."""

LEAST_DEGREES: Final = 3
"""Nothing is sure with fewer degrees of freedom: with these, noise estimated from scores has no variance."""


def why_unsafe(fit: Fit) -> str | None:
    """Return why nothing is sure, whatever its probability; None where it may.

    Scores that leave next to nothing over cannot tell how large their own noise is. Every variance of a refined model
    that the scores had to tell takes away a degree of freedom. Where noise was declared, none are needed.
    """
    if fit.posterior.noise.kind != "estimated":
        return None
    search = fit.model.behind
    told = 0 if search is None else sum(one.name != "w" for one in search.unknowns)
    left = max(0, fit.degrees_of_freedom - told)
    if left >= LEAST_DEGREES:
        return None
    return phrase(
        "nobody is called in or out: the scores leave {degrees} of freedom to tell how far scores scatter, and that "
        "takes at least {least}; more assessments would give them",
        degrees=count_of(left, "degree"),
        least=LEAST_DEGREES,
    )


Status = Literal["in", "undecided", "out"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one object stands: a row of the table that every door shows; None is what is not known.

    Attributes
    ----------
    place
        Its place in the order of values, 1 for the highest of its group.
    object, title
        Its label, and what it is called where the file says so.
    value, lower, upper
        The value and the ends of its interval.
    average
        The plain average of its scores.
    rank_lower, rank_upper
        The interval of its rank.
    chance
        The probability of one of the places.
    status
        Whether the interval of the rank lies within the places, across the line or beyond it.
    assessments, group
        The number of its scores, and the group within which it can be compared.
    drawn, chosen
        Whether lots gave it a place; whether the panel did, of those whom the scores leave open.
    level
        The place that it shares with others of its group whose value is the same; 0 where it shares none, or where
        all can be compared, and the order of the table settles the places.
    """

    place: int
    object: str
    title: str | None
    value: float
    lower: float | None
    upper: float | None
    average: float
    assessments: int
    group: int = 0
    rank_lower: int | None = None
    rank_upper: int | None = None
    chance: float | None = None
    status: Status | None = None
    drawn: bool = False
    chosen: bool = False
    level: int = 0

    @property
    def rank_shown(self) -> str:
        """The rank as people read it: ``"3="`` where it is shared."""
        return f"{self.level:,}=" if self.level else f"{self.place:,}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Whom a panel gave places that its scores leave open, why, and who decided it: told, not computed."""

    objects: tuple[str, ...]
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Unlike:
    """How places by value differ from places by plain average.

    Attributes
    ----------
    entering, leaving
        Who has a place by value and cannot have one by plain average; who has one by plain average and not by value.
    tied
        Who have the same plain average where the places end, if that leaves open who has one.
    left, kept
        How many places there are for those who tie, and who of them has one by value.
    least, most
        How many places go to others, as the tie may be broken.
    """

    entering: tuple[str, ...]
    leaving: tuple[str, ...]
    tied: tuple[str, ...]
    left: int
    kept: tuple[str, ...]
    least: int
    most: int

    @property
    def count(self) -> str:
        """How many places go to others, in words."""
        if self.least == self.most:
            return f"{self.most:,}"
        told = {"least": f"{self.least:,}", "most": f"{self.most:,}"}
        return (
            phrase("{least} or {most}", **told) if self.most == self.least + 1 else phrase("{least} to {most}", **told)
        )

    @property
    def are_few(self) -> bool:
        """Whether a sentence names them."""
        return len(self.entering) <= _FEW


@dataclass(frozen=True, eq=False, repr=False)
class Decision(frames.Shown):
    """Who is in and who is out for a number of places, and whom the data cannot separate: the one that all doors show.

    Attributes
    ----------
    ranking
        The ranks that it rests on.
    places
        The number of places.
    inside, undecided, outside
        Labels: rank interval wholly above the line, across it, wholly below it; in the order of values.
    drawn
        Those of the undecided whom the lottery gave a place, in the order drawn; None without a lottery.
    lottery_seed
        Seed of the lottery: anyone can repeat the draw.
    caution
        Why nobody is called in or out, whatever the rank intervals; None where they decide.
    assuming
        What it takes for granted where that is not so as the file stands: ``"if the score is left out"``.
    choice
        Whom of the undecided the panel gave a place; None where it has not said.
    """

    ranking: Ranking
    places: int
    inside: tuple[str, ...]
    undecided: tuple[str, ...]
    outside: tuple[str, ...]
    drawn: tuple[str, ...] | None = None
    lottery_seed: int | None = None
    caution: str | None = None
    assuming: str = ""
    choice: Choice | None = None

    @property
    def fit(self) -> Fit:
        """The fit that was ranked."""
        return self.ranking.fit

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.ranking.backend

    def columns(self) -> dict[str, Any]:
        """Return the table as columns: object, status and, after a lottery, whether it was drawn."""
        labels = list(self.fit.values.labels)
        drawn = {} if self.drawn is None else {"drawn": [label in self.drawn for label in labels]}
        return {"object": labels, "status": self.status, **drawn}

    @cached_property
    def status(self) -> list[Status]:
        """``"in"``, ``"undecided"`` or ``"out"`` for each object, in the order of the panel."""
        found: dict[str, Status] = dict.fromkeys(self.inside, "in")
        found |= dict.fromkeys(self.undecided, "undecided")
        found |= dict.fromkeys(self.outside, "out")
        return [found[label] for label in self.fit.values.labels]

    @cached_property
    def chance(self) -> Floats:
        """The probability that each object is among the first, in the order of the panel."""
        found = ranking_of(self.ranking, self.places, None).p_top if self.places else None
        return np.zeros(len(self.status)) if found is None else found

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """A row for each object, in the order of values."""
        return standings(self.fit, self.ranking, self)

    @property
    def line(self) -> tuple[Standing, Standing] | None:
        """The last above the line and the first below it; None where there are places for all or none."""
        inner = 0 < self.places < len(self.standings)
        return (self.standings[self.places - 1], self.standings[self.places]) if inner else None

    @property
    def digits(self) -> int:
        """Decimals of points."""
        return decimals(float(np.ptp(self.fit.panel.score)))

    @cached_property
    def unlike_averages(self) -> Unlike:
        """Who has a place by value and not by plain average, and the other way round."""
        inside, outside = self.standings[: self.places], self.standings[self.places :]
        if not inside or not outside:
            return Unlike((), (), (), 0, (), 0, 0)
        last = sorted((one.average for one in self.standings), reverse=True)[self.places - 1]
        close = 1e-9 * max(1.0, abs(last))
        tied = [one for one in self.standings if abs(one.average - last) <= close]
        left = self.places - sum(one.average > last + close for one in self.standings)  # places for those who tie
        is_split = left < len(tied)
        entering = tuple(one.object for one in inside if one.average < last - close)
        leaving = tuple(one.object for one in outside if one.average > (last + close if is_split else last - close))
        kept = tuple(one.object for one in tied if one in inside)
        own = len(kept)
        return Unlike(
            entering,
            leaving,
            tuple(one.object for one in tied) if is_split else (),
            left,
            kept,
            len(entering) + max(0, own - left),
            len(entering) + min(own, len(tied) - left),
        )

    def headline(self, *, by_method: bool = False) -> str:
        """Return the finding: who is in, and how many compete for the other places, or whose choice gave them.

        Parameters
        ----------
        by_method
            Whether it says that this is so by the method used: another takes some of those who are in out.

        Examples
        --------
        >>> import evenhand as eh
        >>> eh.decide(eh.rank(eh.calibrate(eh.demo())), 10).headline()
        '3 proposals are in; 18 compete for the other 7 places'
        """
        if not self.assuming:
            return self._finding(by_method)
        finding = lowered(self._finding(by_method))
        return phrase("{assuming}, {finding}", assuming=sentence(self.assuming), finding=finding)

    def _finding(self, by_method: bool) -> str:
        noun, inside, open_ = self.fit.panel.noun, len(self.inside), len(self.undecided)
        things = count_of(inside, noun)
        if self.choice is not None:
            return self._given(things, by_method)
        if by_method and not open_:
            return phrase("By the method used {finding}", finding=lowered(self._finding(by_method=False)))
        if not open_ and not self.outside:
            return phrase("All {things} are in", things=things)
        if not open_ and inside == 1 == self.places:
            return phrase("{thing} is in and fills the place", thing=things)
        if not open_ and inside == 2 == self.places:
            return phrase("{things} are in and fill both places", things=things)
        if not open_ and inside == self.places:
            return phrase("{things} are in and fill all {places} places", things=things, places=f"{inside:,}")
        if not open_ and inside == 1:
            return phrase("{thing} is in, and no other competes", thing=things)
        if not open_:
            return phrase("{things} are in, and no other competes", things=things)
        if not inside:
            return phrase("No {thing} is in yet; {competing}", thing=term(noun), competing=self.competing())
        others = (
            phrase("the other place") if self.left == 1 else phrase("the other {left} places", left=f"{self.left:,}")
        )
        competing = self.competing(others)
        if by_method and inside == 1:
            return phrase("{thing} is in by the method used; {competing}", thing=things, competing=competing)
        if by_method:
            return phrase("{things} are in by the method used; {competing}", things=things, competing=competing)
        if inside == 1:
            return phrase("{thing} is in; {competing}", thing=things, competing=competing)
        return phrase("{things} are in; {competing}", things=things, competing=competing)

    def _given(self, things: str, by_method: bool) -> str:
        """Return the finding once the panel has chosen: how many places were given, and by what."""
        inside, given = len(self.inside), self.given - len(self.inside)
        told = {"inside": f"{inside:,}", "given": f"{given:,}"}
        if not inside and given == self.left:
            return phrase("{places} given by choice of the panel", places=count_of(given, "place"))
        if not inside:
            return phrase("{given} of {all} places given by choice of the panel", all=f"{self.places:,}", **told)
        if given == self.left:
            return phrase(
                "{places} given: {inside} by the scores, {given} by choice of the panel",
                places=count_of(self.places, "place"),
                **told,
            )
        rest = phrase("{given} of the other {left} places given by the panel", left=f"{self.left:,}", **told)
        if by_method and inside == 1:
            return phrase("{thing} is in by the method used; {competing}", thing=things, competing=rest)
        if by_method:
            return phrase("{things} are in by the method used; {competing}", things=things, competing=rest)
        if inside == 1:
            return phrase("{thing} is in; {competing}", thing=things, competing=rest)
        return phrase("{things} are in; {competing}", things=things, competing=rest)

    def competing(self, places: str = "") -> str:
        """Return how many compete for some places: where none are named, for all that are left."""
        count, for_ = f"{len(self.undecided):,}", places or count_of(self.left, "place")
        if len(self.undecided) == 1:
            return phrase("{count} competes for {places}", count=count, places=for_)
        if self.inside or self.outside:
            return phrase("{count} compete for {places}", count=count, places=for_)
        return phrase("all {count} compete for {places}", count=count, places=for_)

    def brief(self, *, by_method: bool = False) -> str:
        """Return the same in a few words, for narrow places."""
        if self.choice is not None:
            return f"{self.given:,} of {count_of(self.places, 'place')} given"
        inside = f"{len(self.inside):,} in{' by the method used' if by_method else ''}"
        if not self.undecided:
            return f"{inside}; none open"
        verb = "competes" if len(self.undecided) == 1 else "compete"
        places = f"{self.left:,} of {count_of(self.places, 'place')}"
        return f"{inside}; {len(self.undecided):,} {verb} for {places}"

    def meaning(self) -> str:
        """Return how many can be chosen, and what being open means."""
        places = f"{self.places:,}"
        chosen = phrase(
            "{places} of {all} {things} can be chosen.",
            places=places,
            all=f"{len(self.standings):,}",
            things=plural(self.fit.panel.noun),
        )
        if self.caution is not None:
            return f"{chosen} {sentence(self.caution)}."
        if not self.undecided:
            return chosen
        meant = phrase(
            "Open means that the scores cannot tell: the {share} range of ranks reaches both sides of the line "
            "after place {places}.",
            share=percent(self.ranking.interval),
            places=places,
        )
        return f"{chosen} {meant}"

    @property
    def line_gap(self) -> float:
        """How far apart the neighbours of the line are, as tables show their values; 0 where there is no line."""
        above, below = (0.0, 0.0) if self.line is None else (round(one.value, self.digits) for one in self.line)
        return above - below

    def line_words(self) -> str:
        """Return who stands on both sides of the line, and how far apart; empty where there is no line."""
        if self.line is None:
            return ""
        noun = self.fit.panel.noun
        last, first = cited(self.line[0].object, sentence(noun)), cited(self.line[1].object, noun)
        end = phrase("The place ends here.")
        if self.places != 1:
            end = phrase("{places} places end here.", places=f"{self.places:,}")
        values, gap = [one.value for one in self.line], self.line_gap
        least = number(10.0**-self.digits, self.digits, in_sentence=True)
        told = {"last": last, "first": first, "points": number(gap, self.digits, in_sentence=True)}
        apart = phrase("{last} and {first} are {points} points apart.", **told)
        if values[0] == values[1]:
            apart = phrase("{last} and {first} have the same value.", last=last, first=first)
        elif gap == 0:
            apart = phrase("{last} and {first} are less than {points} points apart.", **told | {"points": least})
        return f"{end} {apart}"

    def uneven_words(self) -> str:
        """Return who is open although others above are out, and why; empty where nobody is."""
        first = next((one.place for one in self.standings if one.status == "out"), len(self.standings))
        found = [one.object for one in self.standings if one.status == "undecided" and one.place > first]
        if not found:
            return ""
        named = called_some(found, sentence(self.fit.panel.noun), _NAMED)
        if len(found) == 1:
            return phrase("{name} is open below others that are out: the value is less certain.", name=named)
        if len(found) > _FEW:
            named = count_of(len(found), self.fit.panel.noun)
        return phrase("{names} are open below others that are out: their values are less certain.", names=named)

    def averages_words(self) -> str:
        """Return what plain averages would have decided."""
        if self.fit.model == SA:
            return ""
        unlike, noun, places = self.unlike_averages, self.fit.panel.noun, f"{self.places:,}"
        if not unlike.most and self.places == 1:
            return phrase("Plain averages put the same {thing} first.", thing=term(noun))
        if not unlike.most:
            return phrase("By plain averages the first {places} would be the same.", places=places)
        if not unlike.least and self.places == 1:
            return phrase("By plain averages {names} would tie for place 1.", names=together(unlike.tied, noun, _FEW))
        if not unlike.least:
            same = phrase("By plain averages the first {places} would be the same, but for a tie.", places=places)
            return f"{same} {self._tie_words()}"
        now, before = (together(labels, noun, _FEW) for labels in (unlike.entering, unlike.leaving))
        told = {"now": now, "before": before, "places": places, "count": unlike.count}
        if unlike.are_few and not now and before:
            said = phrase("By plain averages {before} would be among the first {places}.", **told)
        elif unlike.are_few and now and not before:
            said = phrase("By plain averages {now} would not be among the first {places}.", **told)
        elif not unlike.are_few and unlike.leaving and unlike.tied and not unlike.kept:
            return self._others_and_tied()
        elif not now or not unlike.are_few:
            said = phrase("By plain averages {count} of the first {places} would be others.", **told)
            if unlike.most == 1:
                said = phrase("By plain averages 1 of the first {places} would be another.", **told)
        elif self.places == 1:
            said = phrase("By plain averages {before} would be first instead of {now}.", **told)
        else:
            said = phrase("By plain averages {before} would be among the first {places} instead of {now}.", **told)
        return f"{said} {self._tie_words()}" if unlike.tied else said

    def _others_and_tied(self) -> str:
        """Return how many others would be among the first by plain averages, and of whom some would be who tie."""
        unlike, places = self.unlike_averages, f"{self.places:,}"
        told = {"count": unlike.count, "places": places}
        told["names"] = together(unlike.tied, self.fit.panel.noun, _FEW)
        if unlike.left == 1:
            return phrase(
                "By plain averages {count} of the first {places} would be others, one of them out of {names}, which "
                "tie for place {places}.",
                **told,
            )
        return phrase(
            "By plain averages {count} of the first {places} would be others, {left} of them out of {names}, which "
            "tie for the last {left} places.",
            **told,
            left=f"{unlike.left:,}",
        )

    def _tie_words(self) -> str:
        """Return who would tie for the last of the first by plain averages."""
        unlike = self.unlike_averages
        told = {"names": together(unlike.tied, sentence(self.fit.panel.noun), _FEW), "places": f"{self.places:,}"}
        if unlike.left == 1:
            return phrase("{names} would tie for place {places}.", **told)
        told["first"] = f"{self.places - unlike.left + 1:,}"
        if unlike.left == 2:
            return phrase("{names} would tie for places {first} and {places}.", **told)
        return phrase("{names} would tie for places {first} to {places}.", **told)

    def choice_words(self) -> str:
        """Return whom the panel gave open places, why and who decided it; empty where it has not said."""
        if self.choice is None:
            return ""
        names = called_some(self.choice.objects, self.fit.panel.noun, len(self.choice.objects))
        said = phrase("By choice of the panel, not by the scores alone, a place goes to {names}.", names=names)
        if self.inside and self.choice.objects:
            holders = [one.object for one in self.standings if one.object in {*self.inside, *self.choice.objects}]
            everyone = called_some(holders, self.fit.panel.noun, len(holders))
            said += " " + phrase("All {count} who have a place: {names}.", count=f"{len(holders):,}", names=everyone)
        rest = self.left - len(self.choice.objects)
        if rest == 1:
            said += " " + phrase("One place stays free.")
        elif rest:
            said += " " + phrase("{count} places stay free.", count=f"{rest:,}")
        why = phrase("Reason: {reason}. Decided by {who}.", reason=self.choice.reason.rstrip(". "), who=self.choice.by)
        return f"{said} {why}"

    def by(self, fit: Fit) -> Decision:
        """Return the decision that another fit of the same objects, or most of them, leads to, asked the same way."""
        places = min(self.places, fit.panel.n_objects)
        asked = self.ranking
        again = rank(fit, top=places, draws=asked.draws, seed=asked.seed, interval=asked.interval)
        return decide(again, places, lottery_seed=self.lottery_seed)

    @property
    def given(self) -> int:
        """The number of places that are given, by the scores or by choice of the panel."""
        return len(self.inside) + (0 if self.choice is None else len(self.choice.objects))

    @property
    def left(self) -> int:
        """The number of places for which the undecided compete."""
        return self.places - len(self.inside)

    def __str__(self) -> str:
        text = self.headline()
        if self.drawn is not None:
            text += f"; drawn by lot (seed {self.lottery_seed}): {', '.join(self.drawn) or 'nobody'}"
        if self.choice is not None:
            text += f"; chosen by the panel: {', '.join(self.choice.objects)}"
        return text if self.caution is None else f"{text}; {self.caution}"


def in_order(fit: Fit) -> list[int]:
    """Return positions of the objects from the highest value, group by group: the order of every table."""
    return [int(at) for at in np.lexsort((-fit.values.estimate, fit.values.component))]


def standings(fit: Fit, ranking: Ranking | None = None, decision: Decision | None = None) -> tuple[Standing, ...]:
    """Return where each object stands, in the order of values; what is not known is None.

    Parameters
    ----------
    fit
        The fit.
    ranking
        Its ranks: adds their intervals.
    decision
        A decision that rests on them: adds chances and statuses.
    """
    values = fit.values
    nothing = [None] * len(values.labels)
    columns: dict[str, Sequence[Any]] = {
        "object": values.labels,
        "title": values.details.get("title") or nothing,
        "value": values.estimate.tolist(),
        "lower": nothing if values.lower is None else values.lower.tolist(),
        "upper": nothing if values.upper is None else values.upper.tolist(),
        "average": simple_average(fit.panel).values.estimate.tolist(),
        "assessments": values.assessments.tolist(),
        "group": values.component.tolist(),
    }
    if ranking is not None:
        columns |= {"rank_lower": ranking.rank_lower.tolist(), "rank_upper": ranking.rank_upper.tolist()}
    if decision is not None:
        drawn, chosen = set(decision.drawn or ()), set(() if decision.choice is None else decision.choice.objects)
        columns |= {"chance": decision.chance.tolist(), "status": decision.status}
        columns |= {"drawn": [label in drawn for label in values.labels]}
        columns |= {"chosen": [label in chosen for label in values.labels]}
        if decision.caution is not None:  # then every rank is possible
            columns |= {"rank_lower": [1] * len(nothing), "rank_upper": [len(nothing)] * len(nothing)}
    if values.component.max() > 0:
        columns |= {"level": _levels(fit)}
    order = in_order(fit)
    first = {int(group): place for place, group in reversed(list(enumerate(values.component[order])))}
    return tuple(
        Standing(
            place=place - first[int(values.component[at])] + 1, **{name: cells[at] for name, cells in columns.items()}
        )
        for place, at in enumerate(order)
    )


def _levels(fit: Fit) -> list[int]:
    """Return the rank that each object shares with others of its group; 0 where it is alone with its value."""
    groups = fit.values.component
    found = list(zip(groups.tolist(), fit.values.ranks_within(groups).tolist(), strict=True))
    counts = Counter(found)
    return [rank if counts[group, rank] > 1 else 0 for group, rank in found]


def decide(ranking: Ranking, places: int, *, lottery_seed: int | None = None) -> Decision:
    """Return who is in, who is out, and the group that the data cannot separate.

    An object is undecided if its rank interval crosses the line below the last place: the group among whom the
    Swiss National Science Foundation draws lots. With fewer than three degrees of freedom to estimate the noise from,
    all are undecided: nothing is sure that rests on next to nothing.

    Parameters
    ----------
    ranking
        Ranks from :func:`rank`.
    places
        The budget k.
    lottery_seed
        Draw the places that are left by lot among the undecided, from this seed.
    """
    count = ranking.expected_rank.size
    if not 0 <= places <= count:
        raise InputError(f"There are {count} objects and so between 0 and {count} places.", kind="bad_option")
    order = in_order(ranking.fit)
    labels = ranking.fit.values.labels
    caution, lower, upper = why_unsafe(ranking.fit), ranking.rank_lower, ranking.rank_upper
    if caution is not None:  # then every rank is possible
        lower, upper = np.ones_like(lower), np.full_like(upper, count)
    inside = tuple(labels[i] for i in order if upper[i] <= places)
    outside = tuple(labels[i] for i in order if lower[i] > places)
    settled = set(inside) | set(outside)
    undecided = tuple(labels[i] for i in order if labels[i] not in settled)
    drawn = None
    if lottery_seed is not None:
        # drawn from the labels in sorted order, so that the draw does not depend on the order of the file
        pool = sorted(undecided)
        chosen = np.random.default_rng(lottery_seed).permutation(len(pool))[: max(0, places - len(inside))]
        drawn = tuple(pool[i] for i in chosen.tolist())
    return Decision(ranking, places, inside, undecided, outside, drawn, lottery_seed, caution)


def with_choice(decision: Decision | None, choice: Choice) -> Decision:
    """Return a decision with whom of the undecided the panel gave a place; the scores and ranks stay what they are.

    Raises
    ------
    InputError
        If there is no decision, somebody is chosen whom the scores do not leave open, or more than there are places.

    Examples
    --------
    >>> import evenhand as eh
    >>> found = eh.decide(eh.rank(eh.calibrate(eh.demo())), 4)
    >>> with_choice(found, Choice(found.undecided[:1], "It serves a region without other grants", "the chair")).choice
    Choice(objects=('P28',), reason='It serves a region without other grants', by='the chair')
    """
    if decision is None:
        raise InputError("A choice needs a decision on a number of places, and there is none.", kind="bad_option")
    chosen = dict.fromkeys(choice.objects)
    strangers = [label for label in chosen if label not in decision.undecided]
    if strangers:
        names = called_some(strangers, decision.fit.panel.noun, _NAMED)
        raise InputError(f"Only who is open can be chosen, and {names} is not.", kind="bad_option")
    if not 0 < len(chosen) <= decision.left:
        raise InputError(
            f"{count_of(decision.left, 'place')} can be given to those who are open, and {len(chosen):,} are chosen.",
            kind="bad_option",
        )
    if not choice.reason.strip() or not choice.by.strip():
        raise InputError("A choice needs its reason and who decided it.", kind="bad_option")
    order = tuple(label for label in decision.undecided if label in chosen)
    return replace(decision, choice=replace(choice, objects=order))


def decision_for(fit: Fit, top: int | None, seed: int = 0) -> Decision | None:
    """Return the decision for a number of places; None without one, or where objects cannot be ranked."""
    if top is None:
        return None
    try:
        return decide(rank(fit, top=top, seed=seed), top)
    except NotRankableError:  # the summary says why
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Classification(frames.Shown):
    """Probabilities of grades.

    Attributes
    ----------
    fit
        The fit.
    cutoffs
        The boundaries between classes, increasing.
    probability
        A row for each object, a column for each class from the lowest; each row adds up to 1.
    """

    fit: Fit
    cutoffs: tuple[float, ...]
    probability: Floats

    @property
    def names(self) -> list[str]:
        """Names of the classes, from the lowest: ``below 40``, ``40 to 50``, ..., ``70 and above``."""
        edges = [f"{edge:.15g}" for edge in self.cutoffs]
        between = [f"{low} to {high}" for low, high in pairwise(edges)]
        return [f"below {edges[0]}", *between, f"{edges[-1]} and above"]

    def records(self) -> list[dict[str, float]]:
        """Return for each object the probability of each class by its name."""
        return [dict(zip(self.names, row, strict=True)) for row in self.probability.tolist()]

    def columns(self) -> dict[str, Any]:
        """Return the table as columns: object, value, and a column for each class."""
        classes = {name: self.probability[:, index] for index, name in enumerate(self.names)}
        return {"object": list(self.fit.values.labels), "value": self.fit.values.estimate, **classes}

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.fit.panel.backend


def classify(fit: Fit, cutoffs: Sequence[float]) -> Classification:
    """Return the probability that each value lies in each class between cut-offs: degree classification.

    Unlike ranks this depends on the gauge, which fixes the level of the values: anchor it, or use ``"weighted"``.

    Parameters
    ----------
    fit
        Any fit.
    cutoffs
        Increasing boundaries; the first class lies below the first, the last class above the last.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [9.0, 8.0, 9.5, 1.0, 2.0, 1.0]))
    >>> found = classify(fit, [5.0])
    >>> found.names, found.probability.round(2).tolist()
    (['below 5', '5 and above'], [[0.01, 0.99], [0.99, 0.01]])
    """
    fit.panel.refuse_turned("A cut-off")
    edges = np.asarray(cutoffs, dtype=np.float64)
    if edges.ndim != 1 or not edges.size or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise InputError("Cut-offs must be increasing, finite numbers.", kind="bad_option")
    latent = edges if fit.values.scale is None else fit.values.scale.forward(edges)
    gap = latent[:, None] - fit.values.latent
    below = fit.values.marginal.cdf(gap)
    if below is None:
        raise NotRankableError(f"No probabilities: {fit.posterior.noise.reason}.")
    known = (fit.values.marginal.spread == 0).all(axis=0)
    # a value exactly on a boundary belongs to the class above it
    below = np.where(known & (gap == 0), 0.0, below)
    return Classification(fit, tuple(edges.tolist()), np.diff(below.T, axis=1, prepend=0.0, append=1.0))
