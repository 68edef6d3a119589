"""What would change a decision: for each score of an object, which other scores would put it in, out, or in place K.

Values are linear in one score, and the sum of squares that tells the noise is quadratic in it. A posterior draw is the
estimate plus the square root of the noise variance times a deviation in which no score occurs. So the draws that a
ranking rests on, moved and scaled, are the draws of the panel with another score: its status needs no further fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, floor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.decision import Decision
from evenhand.answers.influence import score_sensitivity
from evenhand.answers.ranking import drawn_values, interval_places
from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.frames import Shown
from evenhand.look import status_word
from evenhand.models.fit import Fit
from evenhand.models.noise import EstimatedNoise, KnownNoise
from evenhand.panel.panel import Panel
from evenhand.words import called, decimals, phrase

MOST_DRAWN: Final = 2**25
"""Draws times objects that are held, in single precision and twice: 3,300 objects with 10,000 draws."""

_GUESSING: Final = 1000
"""By so many draws it is guessed where a range ends, before all draws tell it."""

_SURELY: Final = 0.1
"""What so many draws say of the share of all is never off by more: six standard deviations."""

_LOOKS: Final = 8
"""Where neither the end of the scale nor the score itself has a status, so many scores between are tried for it."""

_BYTE: Final = 255
"""As far as a byte can count."""

_ON: Final = 1e-9
"""A score closer than this part of a step to a multiple of it is that multiple."""

Span = tuple[float, float]
"""The lowest and the highest score of a range, both in it."""


@dataclass(frozen=True, slots=True)
class OtherScore:
    """What another score in place of one would do to its object, all else as it is.

    Attributes
    ----------
    assessor, score
        Who gave the score, and the score as it is.
    assessment
        Its position in the panel.
    out, inside
        Scores with which the object would be out, or in; None where no score on the scale does it. Between the two it
        is open.
    place
        The least score with which the object, by its value and without a tie, would be among the first K; None where
        none does it.
    """

    assessor: str
    score: float
    assessment: int
    out: Span | None
    inside: Span | None
    place: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Changes(Shown):
    """What would change the status of one object.

    Attributes
    ----------
    object, status, places
        The object, its status ``"in"``, ``"undecided"`` or ``"out"``, and the number K of places.
    ends, step
        The scale on which other scores were tried: its ends, and the step between scores.
    scores
        For each score of the object, in the order of the panel, what others would do; empty where that is not told.
    reason
        Why it is not told, in a sentence; None where it is.
    noun
        What the panel calls an object.
    """

    object: str
    status: str
    places: int
    ends: Span
    step: float
    scores: tuple[OtherScore, ...] = ()
    reason: str | None = None
    noun: str = "object"

    def columns(self) -> dict[str, Any]:
        """Return a row for each score: assessor, score, out_from, out_to, in_from, in_to, place_from."""

        def end(span: Span | None, at: int) -> float | None:
            return None if span is None else span[at]

        return {
            "assessor": [one.assessor for one in self.scores],
            "score": [one.score for one in self.scores],
            "out_from": [end(one.out, 0) for one in self.scores],
            "out_to": [end(one.out, 1) for one in self.scores],
            "in_from": [end(one.inside, 0) for one in self.scores],
            "in_to": [end(one.inside, 1) for one in self.scores],
            "place_from": [one.place for one in self.scores],
        }

    def words(self, span: Span | float | None) -> str:
        """Return scores in words: ``"46 or less"``, ``"76 or more"``, ``"12 to 46"``; a dash for none."""
        if span is None:
            return "–"
        low, high = span if isinstance(span, tuple) else (span, self.ends[1])
        # a step short of an end is still on the scale; less than that is not
        from_low, to_high = (away < 0.999 * self.step for away in (low - self.ends[0], self.ends[1] - high))
        if high - low < self.step / 2:
            return self._score(low)
        if from_low and to_high:
            return phrase("any")
        if from_low:
            return phrase("{score} or less", score=self._score(high))
        if to_high:
            return phrase("{score} or more", score=self._score(low))
        return phrase("{low} to {high}", low=self._score(low), high=self._score(high))

    def status_with(self, one: OtherScore, score: float) -> str:
        """Return the status of the object with another score in place of one of its own."""
        near = self.step / 2  # scores on a grid are equal up to rounding
        spans = (("out", one.out), ("in", one.inside))
        found = (name for name, span in spans if span is not None and span[0] - near < score < span[1] + near)
        return next(found, "undecided")

    @property
    def is_interrupted(self) -> bool:
        """Whether a score beyond one that settles the status leaves it open again."""
        low, high = self.ends[0] + self.step / 2, self.ends[1] - self.step / 2
        return any(
            (one.out is not None and one.out[0] > low) or (one.inside is not None and one.inside[1] < high)
            for one in self.scores
        )

    @property
    def finding(self) -> str:
        """The smallest change of one score that would change the place or the status of the object, in a sentence."""
        if self.reason is not None:
            return self.reason
        low, high = self.ends[0] - self.step / 2, self.ends[1] + self.step / 2
        turns = [turn for one in self.scores for turn in self._turns(one) if low < turn[1] < high]
        if not turns:
            return phrase(
                "No other score on the scale would change where {object} stands.", object=called(self.object, self.noun)
            )
        one, score, effect = min(turns, key=lambda turn: abs(turn[1] - turn[0].score))
        by = abs(score - one.score)
        alike = {
            other.assessment
            for other, to, what in turns
            if what == effect
            and round(abs(to - other.score) - by, 9) == 0
            and (to > other.score) == (score > one.score)
            and self.status_with(other, to) == self.status_with(one, score)
        }
        givers = dict.fromkeys(other.assessor for other in self.scores if other.assessment in alike)
        who = (
            self._any() if len(alike) == len(self.scores) > 1 else _either([called(one, "assessor") for one in givers])
        )
        told = {
            "points": self._points(by, who, is_more=score > one.score),
            "object": called(self.object, self.noun),
            "place": self.places,
        }
        after = self.status_with(one, score)
        if effect == "status":
            return _became(after, told)
        if effect == "give":
            return _gained(after, after == self.status, told)
        return _lost(after, after == self.status, told)

    def _any(self) -> str:
        """Return all who scored the object, any of whom may be meant."""
        if len(self.scores) == 2:
            return phrase("either of the two")
        if len(self.scores) == 3:
            return phrase("any of the three")
        return phrase("any of the {count}", count=f"{len(self.scores):,}")

    def _points(self, by: float, who: str, *, is_more: bool) -> str:
        """Return how many points more or less of whom make a score another."""
        if round(by, 9) == 1:
            text = phrase("One point more from {who}") if is_more else phrase("One point less from {who}")
            return text.format(who=who)
        many = phrase("{count} points more from {who}") if is_more else phrase("{count} points less from {who}")
        return many.format(count=self._score(by), who=who)

    def _turns(self, one: OtherScore) -> Iterator[tuple[OtherScore, float, str]]:
        """Yield the nearest other scores at which something changes: the place by value first, then the status."""
        if one.place is not None:
            gains = one.score < one.place - self.step / 2
            yield (one, one.place, "give") if gains else (one, one.place - self.step, "cost")
        for name, span in (("out", one.out), ("in", one.inside)):
            if span is not None:
                beyond = self.step if name == self.status else 0.0
                yield from ((one, score, "status") for score in (span[0] - beyond, span[1] + beyond))

    def _score(self, score: float) -> str:
        return f"{round(score, 9):.15g}".replace("-", "−")

    def __str__(self) -> str:
        if self.reason is not None:
            return self.reason
        return "; ".join(
            f"{one.assessor}, now {self._score(one.score)}: out with {self.words(one.out)}, "
            f"in with {self.words(one.inside)}, place {self.places} with {self.words(one.place)}"
            for one in self.scores
        )


def _either(names: Sequence[str]) -> str:
    """Return names of which any may be meant."""
    return names[0] if len(names) == 1 else phrase("{most} or {last}", most=", ".join(names[:-1]), last=names[-1])


def _became(status: str, told: Mapping[str, object]) -> str:
    """Return a sentence for a score that changes the status alone."""
    if status == "undecided":
        return phrase("{points} would make {object} open.", **told)
    if status == "in":
        return phrase("{points} would put {object} in.", **told)
    return phrase("{points} would put {object} out.", **told)


def _gained(status: str, stays: bool, told: Mapping[str, object]) -> str:
    """Return a sentence for a score that gives a rank above the line."""
    if stays:
        return phrase(
            "{points} would bring {object} above the line after place {place}; the status stays {status}.",
            **told,
            status=status_word(status),
        )
    return phrase(
        "{points} would bring {object} above the line after place {place}; the status becomes {status}.",
        **told,
        status=status_word(status),
    )


def _lost(status: str, stays: bool, told: Mapping[str, object]) -> str:
    """Return a sentence for a score that costs a rank above the line."""
    if stays:
        return phrase(
            "{points} would bring {object} below the line after place {place}; the status stays {status}.",
            **told,
            status=status_word(status),
        )
    return phrase(
        "{points} would bring {object} below the line after place {place}; the status becomes {status}.",
        **told,
        status=status_word(status),
    )


def what_would_change(decision: Decision, label: str, *, ends: Span | None = None) -> Changes:
    """Return which other scores would change the status of an object, one score at a time and all else as it is.

    A panel with such a score, fitted and ranked with as many draws from the same seed, has that status: nothing is
    approximated. It is told for the four methods, with noise that is estimated or declared; elsewhere ``reason`` says
    why not. A status is taken to have one range of scores; mostly it reaches to an end of the scale, yet a score that
    nothing bears out makes everything noise, so that a still higher one may leave open what a high one would decide.

    Parameters
    ----------
    decision
        Who is in and who is out.
    label
        The object.
    ends
        The lowest and the highest score that may be given; :func:`scale_ends` where not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    >>> found = what_would_change(decision, "P32")
    >>> [(one.assessor, one.score, found.words(one.out), found.words(one.inside)) for one in found.scores]
    [('Farouk', 44.0, '5 or less', '91 or more'), ('Jansen', 59.0, '46 or less', '76 or more')]
    """
    return what_would_change_all(decision, [label], ends=ends)[0]


def what_would_change_all(
    decision: Decision, labels: Sequence[str] | None = None, *, ends: Span | None = None
) -> list[Changes]:
    """Return the same for several objects, or for all in the order of the panel, from draws that they share.

    A score takes about ten looks at all draws. On one core, with 10,000 draws: the 101 scores of the demo 0.2 s, 900
    scores of 300 objects 6 s; one object among 3,000 2 s. Beyond :data:`MOST_DRAWN` nothing is told.
    """
    work = _Work.of(decision, ends)
    values = decision.ranking.fit.values
    return [work.changes(values.index_of(label)) for label in (values.labels if labels is None else labels)]


def scale_ends(panel: Panel) -> Span:
    """Return the ends of the scale of scores, as far as scores tell them.

    That is 0 to 100 where all scores lie there and some above 10; elsewhere the lowest and the highest score given.

    Examples
    --------
    >>> [scale_ends(Panel.from_arrays([0, 1], [0, 0], scores)) for scores in ([40.0, 70.0], [1.0, 5.0])]
    [(0.0, 100.0), (1.0, 5.0)]
    """
    low, high = float(panel.score.min()), float(panel.score.max())
    return (0.0, 100.0) if low >= 0 and 10 < high <= 100 else (low, high)


def _why_not(decision: Decision) -> str | None:
    """Return why it cannot be told what would change a decision; None where it can."""
    fit = decision.ranking.fit
    if not fit.model.is_plain:
        return phrase(
            "What another score would change is told for the four methods only, whose values are linear in a score: "
            "with this model, fit again with the score changed."
        )
    if not isinstance(fit.posterior.noise, EstimatedNoise | KnownNoise):
        return phrase(
            "What another score would change is not told with a prior of the noise: fit again with the score changed."
        )
    if fit.panel.n_objects * decision.ranking.draws > MOST_DRAWN:
        return phrase(
            "What another score would change takes all draws at once, and {draws} draws of {objects} objects are too "
            "many: fit again with the score changed.",
            draws=f"{decision.ranking.draws:,}",
            objects=f"{fit.panel.n_objects:,}",
        )
    return None


@dataclass(frozen=True, eq=False)
class _Work:
    """What all objects share: draws of their values, and the scores to be tried."""

    decision: Decision
    fit: Fit
    ends: Span
    step: float
    reason: str | None
    order: NDArray[np.int64]  # objects from the highest value
    deviation: NDArray[np.float32]  # draws less estimates, a row for each object in that order

    @classmethod
    def of(cls, decision: Decision, ends: Span | None) -> _Work:
        ranking, fit = decision.ranking, decision.ranking.fit
        found = scale_ends(fit.panel) if ends is None else ends
        if not found[0] <= found[1]:
            raise InputError("The ends of the scale must be two numbers, the lower one first.", kind="bad_option")
        step = fit.panel.step or 10.0 ** -decimals(float(np.ptp(fit.panel.score)))
        order = np.argsort(-fit.values.estimate, kind="stable")
        reason = _why_not(decision)
        deviation = np.empty((fit.panel.n_objects, 0), dtype=np.float32)
        if reason is None and decision.caution is None:
            centre = fit.values.estimate - np.median(fit.values.estimate)
            blocks = drawn_values(fit, ranking.draws, ranking.seed)
            deviation = np.concatenate([(block - centre).astype(np.float32) for block in blocks]).T[order]
        return cls(decision, fit, found, step, reason, order, deviation)

    def changes(self, at: int) -> Changes:
        """Return what would change one object."""
        panel, decision = self.fit.panel, self.decision
        empty = Changes(
            panel.objects[at], decision.status[at], decision.places, self.ends, self.step, (), self.reason, panel.noun
        )
        if self.reason is not None:
            return empty
        rows = np.flatnonzero(panel.object_index == at)
        of_values, of_biases = score_sensitivity(self.fit, rows)
        lead = None if decision.caution is not None else _Lead.of(self.deviation, int(np.argmax(self.order == at)))
        scores = []
        for column, row in enumerate(rows.tolist()):
            follows = float(of_values[at, column] + of_biases[panel.assessor_index[row], column])
            gain = of_values[at, column] - of_values[:, column]
            scores.append(self._other(lead, row, gain[self.order], follows))
        return replace(empty, scores=tuple(scores))

    def _other(self, lead: _Lead | None, row: int, gain: Floats, follows: float) -> OtherScore:
        """Return what others in place of one score would do.

        ``gain`` is what its object gains on every other by a point, ``follows`` what its own fitted score gains.
        """
        panel, decision, ranking = self.fit.panel, self.decision, self.decision.ranking
        score, values = float(panel.score[row]), self.fit.values.estimate
        gap = values[panel.object_index[row]] - values[self.order]
        first, last = ceil(self.ends[0] / self.step - _ON), floor(self.ends[1] / self.step + _ON)
        now = min(max(round(score / self.step), first), last)
        low, high = interval_places(ranking.draws, ranking.interval)

        def distance(tried: int) -> Floats:
            """Return by how much others must be ahead of the object in a draw, with another score, given in steps."""
            more = tried * self.step - score
            return np.asarray((gap + more * gain) / _widening(self.fit, row, more, follows))

        out = inside = None
        if lead is not None and first <= last:
            every = cache(lambda tried: lead.in_places(distance(tried), decision.places))
            about = cache(lambda tried: lead.in_places_about(distance(tried), decision.places))
            reach = _SURELY * ranking.draws
            out = _stretch(
                lambda tried: every(tried) <= low, lambda tried: about(tried) - low, reach, first, last, (first, now)
            )
            inside = _stretch(
                lambda tried: every(tried) > high, lambda tried: high - about(tried), reach, first, last, (last, now)
            )
        tie = max((score + _needed(gap, gain, decision.places)) / self.step, first - 1.0)
        least = floor(tie + _ON) + 1 if tie < last else last + 1
        return OtherScore(
            assessor=panel.assessors[int(panel.assessor_index[row])],
            score=score,
            assessment=row,
            out=self._span(out),
            inside=self._span(inside),
            place=least * self.step if least <= last else None,
        )

    def _span(self, found: tuple[int, int] | None) -> Span | None:
        return None if found is None else (found[0] * self.step, found[1] * self.step)


@dataclass(frozen=True, eq=False)
class _Lead:
    """How one object stands beside all others in each draw, as far as their deviations from estimates go."""

    ahead: NDArray[np.float32]  # by how much each other (rows) is further above its estimate than the object itself
    # least, most: of each row
    least: NDArray[np.float32]
    most: NDArray[np.float32]
    few: NDArray[np.float32]  # some of the draws

    @classmethod
    def of(cls, deviation: NDArray[np.float32], row: int) -> _Lead:
        ahead = deviation - deviation[row]
        return cls(ahead, ahead.min(axis=1), ahead.max(axis=1), ahead[:, :_GUESSING].copy())

    def in_places(self, distance: Floats, places: int) -> int:
        """Return in how many draws fewer others than there are places are ahead by more than given distances."""
        return self._counted(self.ahead, distance, places)

    def in_places_about(self, distance: Floats, places: int) -> float:
        """Return about the same, from a few draws."""
        return float(self._counted(self.few, distance, places) * (self.ahead.shape[1] / self.few.shape[1]))

    def _counted(self, ahead: NDArray[np.float32], distance: Floats, places: int) -> int:
        line = distance.astype(np.float32)
        surely = line < self.least
        unsure = np.flatnonzero(~surely & (line < self.most))
        # rows are in the order of values, so that those that are ahead in some draws only stand close together
        some = slice(0, 0) if unsure.size == 0 else slice(int(unsure[0]), int(unsure[-1]) + 1)
        left = places - int(np.count_nonzero(surely)) + int(np.count_nonzero(surely[some]))
        if left <= 0:
            return 0
        return int(np.count_nonzero(_true_in_columns(ahead[some] > line[some, None]) < left))


def _true_in_columns(table: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return how many of each column are true: in bytes as long as these can count, which is several times faster."""
    count = np.zeros(table.shape[1], dtype=np.uint32)
    for start in range(0, table.shape[0], _BYTE):
        count += table[start : start + _BYTE].view(np.uint8).sum(axis=0, dtype=np.uint8)
    return count


def _needed(gap: Floats, gain: Floats, places: int) -> float:
    """Return the least change of a score with which fewer others than there are places have a higher value."""
    if places == 0:
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        # one on whom nothing is gained stays where it is
        level = np.where(gain > _ON, -gap / gain, np.where(gap >= 0, -np.inf, np.inf))
    return float(np.sort(level)[::-1][places - 1])


def _widening(fit: Fit, row: int, more: float, follows: float) -> float:
    """Return the factor by which all draws spread further with a score changed by so much.

    A fitted score follows its score by h, so that R becomes R + 2 c r ds + c (1 - h) ds^2.
    """
    noise = fit.posterior.noise
    if not isinstance(noise, EstimatedNoise):
        return 1.0
    squares = fit.residual + float(fit.weight[row]) * more * (2 * float(fit.residuals[row]) + (1 - follows) * more)
    before, after = noise.variance, replace(noise, residual=max(squares, 0.0)).variance
    return 1.0 if before is None or after is None else float(np.sqrt(after / before))


def _stretch(
    is_so: Callable[[int], bool],
    about: Callable[[int], float],
    reach: float,
    first: int,
    last: int,
    likely: tuple[int, ...],
) -> tuple[int, int] | None:
    """Return the first and the last whole number of the one run of those of which something is so; None for none.

    ``about`` is cheaper: it is so below 0, as far as one can guess, and surely not beyond ``reach``.
    """

    def is_surely(tried: int) -> bool:
        return about(tried) <= reach and is_so(tried)

    between = np.linspace(first, last, _LOOKS + 2).round().astype(int)[1:-1].tolist()
    found = next((one for one in (*likely, *between) if is_surely(one)), None)
    return None if found is None else (_edge(is_surely, about, found, first), _edge(is_surely, about, found, last))


def _edge(is_so: Callable[[int], bool], about: Callable[[int], float], inner: int, end: int) -> int:
    """Return the last number of which something is so, on the way from one of which it is to an end."""
    if is_so(end):
        return end
    way, guess = (1 if end > inner else -1), _last(lambda tried: about(tried) <= 0, inner, end)
    for away in (0, 1, -1, 3, -3):
        tried = guess + away * way
        if (tried - inner) * way > 0 and (end - tried) * way > 0:
            inner, end = (tried, end) if is_so(tried) else (inner, tried)
    return _last(is_so, inner, end)


def _last(is_so: Callable[[int], bool], inner: int, end: int) -> int:
    """Return the same by halves: it is so of the one, and not of the other."""
    while abs(end - inner) > 1:
        middle = (inner + end) // 2
        inner, end = (middle, end) if is_so(middle) else (inner, middle)
    return inner
