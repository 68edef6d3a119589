"""The decision laid out in blocks, for every page that shows it: its table with folds, objects, assessors, chances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from evenhand.answers.alert import Alert
from evenhand.answers.changing import Changes, what_would_change_all
from evenhand.answers.decision import Decision, Standing
from evenhand.answers.explain import Explanation, explain, has_free_biases, lone_scores, score_weights, weight_words
from evenhand.answers.support import values_mean
from evenhand.compiled import Floats
from evenhand.errors import EvenhandError
from evenhand.look import STATUS, status_word
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.reports.decision_sheets import declared
from evenhand.reports.drawing import Axis, axis
from evenhand.words import (
    called,
    called_some,
    chance,
    cited,
    count_of,
    decimals,
    more_of,
    number,
    percent,
    phrase,
    plural,
    sentence,
    term,
)

FOLDED: Final = 60
"""Up to this many objects only the tail of a table is folded away."""

FIRST, AROUND = 4, 10
"""Of more than that these are shown: the first, and those on each side of the line."""

LISTED: Final = 12
TWO_LINES: Final = {"in": 20, "undecided": 24, "out": 18}
_SIGNS: Final = {"in": 34, "undecided": 85, "out": 60}
"""So many names of a status are shown before the rest is folded; all of them where short ones fill two lines, and else
as many short ones as two lines have room for beside the fold, in signs, with two for the gap after each."""

_NEAREST, _TO_SPARE = 3, 4
PAPER: Final = 2
"""Rows below the line that a first sheet of paper has at least: the annex has all."""

PRINTED: Final = 48
"""Up to this many names of a status stand on paper; of more the first."""

_SHORT: Final = 5
"""Labels of up to so many characters are short."""

_MIDDLING: Final = 9
"""Labels of up to so many characters need a column but little wider."""

LONG: Final = 16
"""Labels of more characters than this get more room."""

LEAST: Final = 6
"""Of fewer objects than this a profile of chances shows nothing that the table does not."""

BARS: Final = 120
"""Up to this many bars stand in a profile of chances."""

_SEEN: Final = 0.015
"""Chances from this on, 2% as they are written, can be seen as bars."""

CHANGED, _OTHERS = 40, 36_000
"""Of up to so many objects it is told which other scores would change their status; of more, of those that are open or
in an alert: of the nearest to the line, as many as stand before so many others in all, where that takes long.
"""

NAMED_FAR: Final = 3
"""Of so many scores that must be checked it is said whose they are."""

ROWS: Final = 600
"""Up to this many rows a table has, and objects a page of their own within a page."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table: shown, or folded away under a summary; ``paper`` says what stands for them in print.

    Rows without a summary that have words for paper are shown on screens only; those that ``fits`` are folded away on
    screens only. Those that are ``taller`` are shown on screens and on sheets as high as A4: there ``higher``
    stands for what is left out, where that is not the same.
    """

    rows: tuple[Standing, ...]
    summary: str = ""
    paper: str = ""
    fits: bool = False
    taller: bool = False
    higher: str | None = None

    @property
    def is_printed(self) -> bool:
        """Whether the first sheet of paper has them, be it as low as letter."""
        return self.fits or not (self.summary or self.paper or self.taller)


@dataclass(frozen=True)
class Table:
    """The table of a decision.

    Attributes
    ----------
    parts
        Rows above the line, and those below it.
    line
        What is said at the line; empty where there is none.
    axis, mark
        The scale of all interval bars, and the value at the line.
    groups
        Where groups cannot be compared, the scale of each, and what it is called.
    digits
        Decimals of points.
    left_out
        Rows that are not in the page.
    """

    parts: tuple[tuple[Rows, ...], tuple[Rows, ...]]
    line: str
    axis: Axis
    mark: float | None
    digits: int
    left_out: int = 0
    groups: tuple[tuple[Axis, str], ...] = ()

    @cached_property
    def is_ranked(self) -> bool:
        """Whether ranks can be told."""
        return all(one.rank_lower is not None for part in self.parts for rows in part for one in rows.rows)

    @cached_property
    def has_intervals(self) -> bool:
        """Whether anything tells how sure values are."""
        return any(one.lower is not None for part in self.parts for rows in part for one in rows.rows)

    @cached_property
    def name_class(self) -> str:
        """What the page calls a table with labels that a narrow column would cut; empty for none."""
        longest = max((len(one.object) for part in self.parts for rows in part for one in rows.rows), default=0)
        return "" if longest <= _SHORT else "has-names" if longest <= _MIDDLING else "has-names wide-names"


def table_of(
    fit: Fit, standings: Sequence[Standing], decision: Decision | None, sheet: tuple[int, int] = (0, 0)
) -> Table:
    """Return the table of all objects, with what is far from the line folded away.

    Where a first sheet of paper has room for so many rows, and for so many more if it is as high as A4, it has all down
    to the last that is not out; else as many.
    """
    kept = list(standings[:ROWS]) if len(standings) > ROWS else list(standings)
    digits = decimals(float(np.ptp(fit.panel.score)))
    noun = fit.panel.noun
    places = 0 if decision is None or decision.line is None else decision.places
    above, below = kept[:places], kept[places:]
    if len(kept) <= FOLDED:
        if decision is not None:
            shown = max((at + 1 for at, one in enumerate(below) if one.status != "out"), default=0)
            shown += all(one.status != "out" for one in below[:shown])  # one that is out at least
            parts = _on_sheet(above, below, shown, noun, digits, sheet)
        else:
            parts = (), _parts([(below, False)])
    elif not places:
        parts = (), _parts([(below[: 2 * AROUND], False), (below[2 * AROUND :], True)], noun, digits)
    else:
        near, kept_near = max(FIRST, places - AROUND), _kept_near(sheet[0])
        parts = (
            _parts([(above[:FIRST], False), (above[FIRST:near], True), (above[near:], False)], noun, digits),
            _cut_short(below, AROUND, sheet[0] - FIRST - kept_near, sheet[1], noun, digits)
            if sheet[0]
            else _parts([(below[:AROUND], False), (below[AROUND:], True)], noun, digits),
        )
        if len(above[near:]) > kept_near:
            folded = [replace(one, paper="") for one in parts[0] if one.summary]
            hidden = above[near if folded else FIRST : places - kept_near]
            said = Rows(tuple(hidden), paper=_paper(above[FIRST : places - kept_near], noun, digits))
            parts = (Rows(tuple(above[:FIRST])), *folded, said, Rows(tuple(above[-kept_near:]))), parts[1]
    mark = None
    if decision is not None and decision.line is not None:
        mark = sum(one.value for one in decision.line) / 2
    line = "" if decision is None else decision.line_words()
    left_out = len(standings) - len(kept)
    return Table(parts, line, _axis(kept), mark, digits, left_out, _groups(kept, noun))


def _axis(rows: Sequence[Standing], length: float = 0.0) -> Axis:
    """Return a scale for the bars of some rows."""
    return axis([end for one in rows for end in (one.lower, one.upper, one.average, one.value)], length=length)


def _groups(rows: Sequence[Standing], noun: str) -> tuple[tuple[Axis, str], ...]:
    """Return for each group its own scale, as nothing says how the scales of two compare, and its name and size.

    A point is as wide in all of them.
    """
    count = max((one.group for one in rows), default=0) + 1
    if count == 1:
        return ()
    members = [[one for one in rows if one.group == group] for group in range(count)]
    length = max(one.high - one.low for one in map(_axis, members))
    return tuple(
        (_axis(some, length), phrase("Group {group}, {things}", group=at + 1, things=count_of(len(some), noun)))
        for at, some in enumerate(members)
    )


def _kept_near(room: int) -> int:
    """Return how many of the rows just above the line a sheet has that has room for so many in all; 0 for no sheet.

    The room is told with care: a few rows more fit in.
    """
    return AROUND if not room else min(AROUND, max(_NEAREST, room + _TO_SPARE - FIRST - PAPER))


def _on_sheet(
    above: Sequence[Standing], below: Sequence[Standing], shown: int, noun: str, digits: int, sheet: tuple[int, int]
) -> tuple[tuple[Rows, ...], tuple[Rows, ...]]:
    """Return rows of which a sheet of paper has those about the line alone, and a screen all but the last."""
    parts, kept_near = _parts([(above, False)]), _kept_near(sheet[0])
    if len(above) > FIRST + kept_near + 2:
        last = len(above) - kept_near
        between = Rows(tuple(above[FIRST:last]), paper=_paper(above[FIRST:last], noun, digits))
        parts = Rows(tuple(above[:FIRST])), between, Rows(tuple(above[last:]))
    if len(below) - shown <= 2:  # a fold takes as much room as a row
        shown = len(below)
    room = sheet[0] - sum(len(one.rows) for one in parts if not one.paper)
    if len(below) <= max(PAPER, room) + 1:  # there is no line then on what is left out
        folded = _parts([(below[shown:], True)], noun, digits)
        return parts, (*_parts([(below[:shown], False)]), *(replace(one, paper="", fits=True) for one in folded))
    return parts, _cut_short(below, shown, room, sheet[1], noun, digits)


def _cut_short(below: Sequence[Standing], shown: int, room: int, more: int, noun: str, digits: int) -> tuple[Rows, ...]:
    """Return the rows below the line, of which a screen shows some, and a sheet has room for so many, and so many more.

    A sheet has two at least.
    """
    low = max(PAPER, room)
    if len(below) - shown <= 2:
        shown = len(below)
    if shown <= low + 1:
        return _parts([(below[:shown], False), (below[shown:], True)], noun, digits)
    high = min(shown, max(low, room + more))
    if len(below) - high == 1:  # the line on what is left out takes as much room
        high = len(below)
    left = Rows(
        tuple(below[high:shown]),
        paper=_paper(below[low:], noun, digits),
        higher=_paper(below[high:], noun, digits) if below[high:] else "",
    )
    taller = (Rows(tuple(below[low:high]), taller=True),) if high > low else ()
    folded = _parts([(below[shown:], True)], noun, digits)
    return Rows(tuple(below[:low])), *taller, left, *(replace(one, paper="") for one in folded)


def _parts(blocks: Sequence[tuple[Sequence[Standing], bool]], noun: str = "", digits: int = 1) -> tuple[Rows, ...]:
    found = []
    for rows, is_folded in blocks:
        if rows and is_folded and len(rows) > 2:
            found.append(Rows(tuple(rows), _summary(rows, noun), _paper(rows, noun, digits)))
        elif rows:
            found.append(Rows(tuple(rows)))
    return tuple(found)


def _summary(rows: Sequence[Standing], noun: str) -> str:
    counts = Counter(one.status for one in rows)
    if set(counts) <= {None}:
        return more_of(len(rows), noun)
    if len(counts) == 1:
        return f"{more_of(len(rows), noun)}, {_statuses(rows)}"
    first, last = (f"{one.place:,}" for one in (rows[0], rows[-1]))
    return phrase("Ranks {first} to {last}: {statuses}", first=first, last=last, statuses=_statuses(rows))


def _paper(rows: Sequence[Standing], noun: str, digits: int) -> str:
    first, last = rows[0], rows[-1]
    told = {
        "first": f"{first.place:,}",
        "last": f"{last.place:,}",
        "above": called(first.object, noun),
        "most": number(first.value, digits),
        "below": called(last.object, noun),
        "least": number(last.value, digits),
    }
    if first.status is None:
        return phrase(
            "Ranks {first} to {last}, from {above} at {most} to {below} at {least} points; the annex has them.", **told
        )
    return phrase(
        "Ranks {first} to {last} are {statuses}, from {above} at {most} to {below} at {least} points; the annex has "
        "them.",
        **told,
        statuses=_statuses(rows),
    )


def _statuses(rows: Sequence[Standing]) -> str:
    counts = Counter(str(one.status) for one in rows)
    if len(counts) == 1:
        return phrase("all {status}", status=status_word(str(rows[0].status)))
    return ", ".join(f"{counts[name]:,} {status_word(name)}" for name in STATUS if counts[name])


@dataclass(frozen=True, slots=True)
class Strip:
    """All scores along their scale, with those that must be checked: where each stands, and whose it is."""

    axis: Axis
    others: tuple[float, ...]
    words: str
    far: tuple[tuple[float, str], ...]


def strip_of(alert: Alert) -> Strip | None:
    """Return the scores that an alert says to check among all others; None where it names none."""
    if not alert.scores or not alert.outcomes or alert.outcomes[0].fit.panel.turned is not None:
        return None
    panel = alert.outcomes[0].fit.panel
    rest = np.delete(panel.score, list(alert.scores))
    far = tuple(
        (
            float(panel.score[at]),
            phrase(
                "{assessor} on {object}",
                assessor=cited(panel.assessors[panel.assessor_index[at]], "assessor"),
                object=cited(panel.objects[panel.object_index[at]], panel.noun),
            ),
        )
        for at in alert.scores[:NAMED_FAR]
    )
    low, high = (f"{end:g}".replace("-", "−") for end in (rest.min(), rest.max()))
    words = phrase("{count} other scores, {low} to {high}", count=f"{rest.size:,}", low=low, high=high)
    return Strip(axis([*panel.score.tolist()]), tuple(np.unique(rest).tolist()), words, far)


@dataclass(frozen=True, slots=True)
class Profile:
    """The chance of each object, in the order of rank: bars, and where the line falls among them."""

    bars: tuple[Standing, ...]
    places: int
    words: str

    @property
    def width(self) -> float:
        """Width of a bar with its gap, in percent."""
        return 100.0 / len(self.bars)


def profile_of(decision: Decision) -> Profile | None:
    """Return the profile of chances, as far as there is anything to see; None where there is no line."""
    every = decision.standings
    if decision.line is None or len(every) < LEAST:
        return None
    seen = max((at + 1 for at, one in enumerate(every) if (one.chance or 0) >= _SEEN), default=decision.places)
    shown = len(every) if len(every) <= BARS else min(len(every), max(seen, decision.places + AROUND))
    words = phrase("Chance of the place, in order of rank")
    if decision.places != 1:
        words = phrase("Chance of one of the {places} places, in order of rank", places=f"{decision.places:,}")
    if shown < len(every):
        most = chance(max(one.chance or 0.0 for one in every[shown:]))
        told = {"last": f"{shown:,}", "share": most.removeprefix("<")}
        words += ". " + (
            phrase("Shown are ranks 1 to {last}; all after have under {share}.", **told)
            if most.startswith("<")
            else phrase("Shown are ranks 1 to {last}; all after have {share} or less.", **told)
        )
    return Profile(every[:shown], decision.places, words)


@dataclass(frozen=True, slots=True)
class Score:
    """One score of an object, and what became of it."""

    assessor: str
    score: float
    declared: str
    bias: float | None
    less: float
    share: float | None  # of its object's weight; None where values are no weighted means
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Object:
    """All that a page says about one object.

    Attributes
    ----------
    standing
        Where it stands.
    finding, move
        What is to be known of it, in a sentence; why it moved, in a sentence.
    explanation, steps
        The parts of the move, and for each where its bar begins and ends; None where there are none.
    axis
        The scale of these bars.
    scores
        Its scores.
    changes
        Which other scores would change its status; None where that is not told.
    lone
        Assessors who scored nothing else and whose bias is free, so that their scores say nothing of it.
    noun
        What it is.
    """

    standing: Standing
    finding: str
    move: str
    explanation: Explanation | None
    steps: tuple[tuple[float, float], ...]
    axis: Axis
    scores: tuple[Score, ...]
    changes: Changes | None = None
    lone: tuple[str, ...] = ()
    noun: str = "object"

    def spread(self, digits: int) -> float | None:
        """Return how far apart its scores are once biases are taken out, as shown; None where there are no two."""
        less = [
            round(one.less, digits) for one in self.scores if one.bias is not None and one.assessor not in self.lone
        ]
        return max(less) - min(less) if len(less) > 1 else None

    @property
    def lone_words(self) -> str:
        """What the scores of those who scored nothing else are good for; empty where there are none."""
        name = called(self.standing.object, self.noun)
        if len(self.lone) == 1:
            told = {"who": called(self.lone[0], "assessor"), "object": name}
            return sentence(
                phrase(
                    "{who} scored only {object}, so this score tells the bias of {who} and nothing of {object}.",
                    **told,
                )
            )
        if not self.lone:
            return ""
        told = {"who": sentence(called_some(self.lone, "assessor")), "object": name}
        return phrase("{who} scored only {object}, so these scores tell their biases and nothing of {object}.", **told)

    @property
    def weights(self) -> list[str]:
        """What its scores weigh, in words; a dash for those that do not count. Empty where values are no such means."""
        shares = [one.share for one in self.scores if one.share is not None]
        return [words if one.counts else "–" for words, one in zip(weight_words(shares), self.scores, strict=False)]

    @property
    def mean(self) -> float | None:
        """The weighted mean of its scores once biases are taken out; None where its value comes from no such mean."""
        return None if self.explanation is None else self.explanation.mean

    @property
    def scale(self) -> Axis:
        """The scale of scores, for what would change its status."""
        return axis([0.0, 1.0] if self.changes is None else self.changes.ends)


def objects_of(
    fit: Fit, standings: Sequence[Standing], decision: Decision | None, alerted: Sequence[str] = ()
) -> list[Object]:
    """Return what a page says about each object, in the order of the table; ``alerted`` are those in an alert."""
    if not standings:
        return []
    panel = fit.panel
    try:
        explanations = {one.object: one for one in explain(fit)}
    except EvenhandError:
        explanations = {}
    digits = decimals(float(np.ptp(panel.score)))
    said = declared_words(panel)
    apart, share = lone_scores(fit), score_weights(fit)
    rows: dict[int, list[Score]] = {}
    for at, (o, a) in enumerate(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)):
        bias = float(fit.biases.estimate[a]) if fit.is_calibrated else None
        taken = float(f"{bias or 0.0:.{digits}f}")  # as it is shown, so that what is left adds up with it
        rows.setdefault(o, []).append(
            Score(
                assessor=str(panel.assessors[a]),
                score=float(panel.score[at]),
                declared=said[at],
                bias=bias,
                less=float(panel.score[at]) - taken,
                share=None if share is None else float(share[at]),
                counts=not apart[at],
            )
        )
    position = {label: at for at, label in enumerate(panel.objects)}
    changes, counts = _changes_of(standings, decision, alerted), Counter(fit.values.component.tolist())
    is_free = has_free_biases(fit)
    lone = {panel.assessors[at] for at in np.flatnonzero(panel.assessor_assessments == 1).tolist() if is_free}
    found = []
    for one in standings[:ROWS]:
        told, own = explanations.get(one.object), rows[position[one.object]]
        steps = _steps(told)
        ends = [one.value, one.average, one.lower, one.upper, *(end for step in steps for end in step)]
        found.append(
            Object(
                standing=one,
                finding=_finding(one, decision, counts, panel.noun, digits),
                move=_move(told, digits),
                explanation=told,
                steps=steps,
                axis=axis(ends),
                scores=tuple(own),
                changes=changes.get(one.object),
                lone=tuple(score.assessor for score in own if score.assessor in lone),
                noun=panel.noun,
            )
        )
    return found


def _changes_of(standings: Sequence[Standing], decision: Decision | None, alerted: Sequence[str]) -> dict[str, Changes]:
    """Return what would change objects, by label: where they are many, those that are open or in an alert."""
    if decision is None or decision.line is None:
        return {}
    named = set(alerted)
    wanted = list(standings)
    if len(wanted) > CHANGED:
        wanted = [one for one in standings if one.status == "undecided" or one.object in named]
    wanted.sort(key=lambda one: (one.object not in named, abs(one.place - decision.places - 0.5)))
    most = max(CHANGED, _OTHERS // len(decision.standings))
    found = what_would_change_all(decision, [one.object for one in wanted[:most]])
    return {one.object: one for one in found if one.scores}


def _steps(told: Explanation | None) -> tuple[tuple[float, float], ...]:
    """Return where the bar of each part begins and ends, from the average on."""
    if told is None:
        return ()
    found, reached = [], told.average
    for part in told.parts:
        found.append((reached, reached + part.amount))
        reached += part.amount
    return tuple(found)


def _finding(one: Standing, decision: Decision | None, counts: Counter[int], noun: str, digits: int) -> str:
    value, name = number(one.value, digits), called(one.object, sentence(noun))
    if decision is None or one.status is None or one.chance is None:
        told = {"name": name, "rank": one.rank_shown, "count": f"{counts[one.group]:,}", "value": value}
        if len(counts) == 1:
            return phrase("{name} has rank {rank} of {count}, with a value of {value}", **told)
        return phrase(
            "{name} has rank {rank} of {count} in group {group}, with a value of {value}", **told, group=one.group + 1
        )
    likely = chance(one.chance)
    if decision.line is not None and one.status == "undecided":
        last, first = decision.line
        if one.object == first.object:
            return phrase("{name} is the first below the line; chance of a place {chance}", name=name, chance=likely)
        if one.object == last.object:
            return phrase("{name} is the last above the line; chance of a place {chance}", name=name, chance=likely)
    return phrase(
        "{name} is {status} at rank {rank}; chance of a place {chance}",
        name=name,
        status=status_word(one.status),
        rank=f"{one.place:,}",
        chance=likely,
    )


def _move(told: Explanation | None, digits: int) -> str:
    if told is None:
        return ""
    if not told.parts or round(told.difference, digits) == 0:
        return phrase("Stays at the plain average")
    if round(told.move, digits) == 0:
        return phrase("Does not move: what each part does cancels out")
    points, is_up = number(abs(told.move), digits), told.difference > 0
    main = (max if is_up else min)(told.parts, key=lambda part: part.amount)
    if main.kind == "other":  # neither strict nor generous, for all that the scores tell
        who, bias = next(
            (label, bias) for label, bias, _ in told.standards if called(label, "assessor", is_bare=True) == main.short
        )
        undone = number(bias, digits, in_sentence=True, signed=True)
        given = {"points": points, "who": called(who, "assessor"), "bias": undone}
        return (
            phrase("Moves up {points} points, most of all by undoing the {bias} of {who}", **given)
            if is_up
            else phrase("Moves down {points} points, most of all by undoing the {bias} of {who}", **given)
        )
    if is_up:
        return phrase("Moves up {points} points, most of all because {reason}", points=points, reason=main.brief)
    return phrase("Moves down {points} points, most of all because {reason}", points=points, reason=main.brief)


def declared_words(panel: Panel) -> list[str]:
    """Return how sure each assessor said to be, as a table shows it; empty where nothing was said."""
    return ["" if one is None else phrase(one) if isinstance(one, str) else f"{one:.3g}" for one in declared(panel)[1]]


def score_decimals(scores: Floats) -> int | None:
    """Return how many decimals a column of scores needs, so that all have as many; None where three are too few.

    Examples
    --------
    >>> [score_decimals(np.array(scores)) for scores in ([64.0, 71.0], [6.0, 6.5, 8.25], [6.0, 1 / 3])]
    [0, 2, None]
    """
    reach = 1e-9 * float(np.abs(scores).max(initial=1.0))
    return next((digits for digits in range(4) if np.abs(scores - np.round(scores, digits)).max() <= reach), None)


@dataclass(frozen=True, slots=True)
class Assessor:
    """One assessor: bias with its interval, and how that reads."""

    assessor: str
    bias: float
    lower: float | None
    upper: float | None
    assessments: int
    group: int
    side: str
    words: str


def assessors_of(fit: Fit) -> list[Assessor]:
    """Return the assessors from generous to strict; none where no biases were fitted."""
    if not fit.is_calibrated:
        return []
    biases = fit.biases
    found = []
    for at in np.lexsort((-biases.estimate, biases.component)).tolist():
        bias = float(biases.estimate[at])
        lower = None if biases.lower is None else float(biases.lower[at])
        upper = None if biases.upper is None else float(biases.upper[at])
        side, words = "", phrase("like the group") if biases.component.max() else phrase("like the panel")
        if lower is None or upper is None:
            words = "–"
        elif lower > 0:
            side, words = "generous", phrase("generous")
        elif upper < 0:
            side, words = "strict", phrase("strict")
        label, count = str(biases.labels[at]), int(biases.assessments[at])
        if count == 1 and not side:  # one score does not say that a bias is small
            words = phrase("cannot tell")
        found.append(Assessor(label, bias, lower, upper, count, int(biases.component[at]), side, words))
    return found


def assessors_words(assessors: Sequence[Assessor], digits: int) -> str:
    """Return the finding on assessors: who of those clearly generous gives most, and of those clearly strict least."""
    if not assessors:
        return ""
    if assessors[-1].group:
        counts = {"count": f"{sum(bool(one.side) for one in assessors):,}", "all": f"{len(assessors):,}"}
        if any(one.lower is None for one in assessors):
            return phrase("How many points each assessor gives above or below the group")
        if any(one.side for one in assessors):
            return phrase("Clearly stricter or more generous than their group: {count} of {all} assessors", **counts)
        return phrase("No assessor is shown to be stricter or more generous than their group")
    first = next((one for one in assessors if one.side == "generous"), assessors[0])
    last = next((one for one in reversed(assessors) if one.side == "strict"), assessors[-1])
    if first.side != "generous" and last.side != "strict":
        return phrase("No assessor is clearly stricter or more generous than the panel")
    more, less = number(first.bias, digits), number(-last.bias, digits)
    most, least = called(first.assessor, "Assessor"), called(last.assessor, "Assessor")
    if last.side != "strict":
        return phrase("{who} gives {points} points more than the panel", who=most, points=more)
    if first.side != "generous":
        return phrase("{who} gives {points} points less than the panel", who=least, points=less)
    least = called(last.assessor, "assessor")
    return phrase(
        "{most} gives {more} points more than the panel; {least} gives {less} less",
        most=most,
        more=more,
        least=least,
        less=less,
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """What one assessor read: for each score where its object stands, a shade for confidence, and words."""

    assessor: str
    marks: tuple[tuple[int, str, str], ...]
    words: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Who read what: a row for each assessor from generous to strict, objects in the order of rank."""

    rows: tuple[Reader, ...]
    count: int
    places: int
    kinds: tuple[tuple[str, str], ...]
    words: str
    notes: str

    @property
    def _wide(self) -> float:
        return min(3.0, (0.86 if self.count <= 80 else 1) * 100 / self.count)

    @property
    def width(self) -> str:
        """Width of a mark."""
        return f"{self._wide:.3f}%"

    @property
    def line(self) -> str:
        """Where the places end: amid the gap before the mark of the first that has none."""
        begin = 100 * self.places / self.count
        return f"{begin - (100 / self.count - self._wide) / 2:.3f}%"

    def at(self, place: int) -> str:
        """Return where the mark of the object after so many others begins."""
        return f"{100 * place / self.count:.3f}%"


def matrix_of(fit: Fit, standings: Sequence[Standing], decision: Decision | None) -> Matrix | None:
    """Return who read what; None where there is too much of it for a page, or where everybody read everything."""
    panel = fit.panel
    is_complete = panel.n_assessments >= panel.n_objects * panel.n_assessors
    if is_complete or panel.n_objects > ROWS or panel.n_assessors > ROWS:
        return None
    column = {one.object: at for at, one in enumerate(standings)}
    shades, kinds = _shades(panel)
    marks: dict[int, list[tuple[int, str, str]]] = {}
    for at, (o, a) in enumerate(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)):
        words = f"{panel.objects[o]}: {number(float(panel.score[at]), 10).rstrip('0').rstrip('.')}"
        marks.setdefault(a, []).append((column[panel.objects[o]], shades[at], words))
    order = np.lexsort((-fit.biases.estimate, fit.biases.component)).tolist() if fit.is_calibrated else sorted(marks)
    rows = tuple(
        Reader(str(panel.assessors[a]), tuple(sorted(marks[a])), count_of(len(marks[a]), "score")) for a in order
    )
    loads = [len(row.marks) for row in rows]
    readings = panel.object_assessments
    return Matrix(
        rows=rows,
        count=panel.n_objects,
        places=0 if decision is None or decision.line is None else decision.places,
        kinds=kinds,
        words=phrase(
            "Each {thing} has {scores}; each assessor gave {load}",
            thing=term(panel.noun),
            scores=_from_to(int(readings.min()), int(readings.max())),
            load=_from_to(min(loads), max(loads)),
        ),
        notes=_matrix_notes(fit),
    )


def _matrix_notes(fit: Fit) -> str:
    things = plural(fit.panel.noun)
    if not fit.is_calibrated:
        return phrase("A mark for each score.")
    if fit.values.component.max():
        return phrase(
            "A mark for each score, the {things} from left to right in the order of the table, one group after the "
            "other, the assessors of each from generous to strict.",
            things=things,
        )
    return phrase(
        "A mark for each score, the {things} from left to right in the order of the table, the assessors from generous "
        "to strict.",
        things=things,
    )


def _from_to(least: int, most: int) -> str:
    if least == most:
        return count_of(most, "score")
    return phrase("{least} to {most}", least=f"{least:,}", most=count_of(most, "score"))


def _shades(panel: Panel) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """Return for each score a shade, the surer the darker, and what the shades mean; nothing where all are alike."""
    distinct, index = np.unique(panel.precision, return_inverse=True)
    if panel.confidence == "none" or distinct.size == 1:
        return ["ink-2"] * panel.n_assessments, ()
    steps = min(distinct.size, 5)
    if distinct.size > steps:
        edges = np.quantile(panel.precision, np.arange(1, steps) / steps)
        index = np.searchsorted(edges, panel.precision, side="right")
    tokens = [f"level-{round(1 + 4 * at / (steps - 1))}" for at in range(steps)]
    said = declared_words(panel)
    words = [phrase("least sure"), *[""] * (steps - 2), phrase("surest")]
    if distinct.size == steps and panel.confidence == "level":
        words = [next(said[at] for at in np.flatnonzero(index == kind).tolist()) for kind in range(steps)]
    return [tokens[at] for at in index.tolist()], tuple(zip(words, tokens, strict=True))


def values_words(fit: Fit, table: Table, decision: Decision | None) -> str:
    """Return the finding of the table: how far apart neighbours of the line are beside how sure they are."""
    if decision is None or decision.line is None:
        things = plural(fit.panel.noun)
        if fit.values.component.max():
            return phrase("Values of the {things} within each group", things=things)
        return phrase("Values of the {things}", things=things)
    last, first = decision.line
    gap = last.value - first.value
    above, below = (cited(one.object, fit.panel.noun) for one in decision.line)
    if last.lower is None or first.upper is None:
        return phrase("The line falls between {above} and {below}", above=above, below=below)
    if gap < 0.25 * (first.upper - last.lower):
        return phrase(
            "The line falls between {above} and {below}, which the scores hardly separate", above=above, below=below
        )
    return phrase(
        "The line falls between {above} and {below}, {points} points apart",
        above=above,
        below=below,
        points=number(decision.line_gap, table.digits),
    )


def _listed(decision: Decision) -> dict[str, int]:
    """Return how many names of each status are shown before the rest is folded."""
    longest = max((len(one.object) for one in decision.standings), default=0)
    counts = {"in": len(decision.inside), "undecided": len(decision.undecided), "out": len(decision.outside)}
    found = {name: min(count, LISTED) for name, count in counts.items()}
    if longest <= _SHORT:
        for name, count in counts.items():
            if count <= TWO_LINES[name]:
                found[name] = count
            elif count <= PRINTED:
                found[name] = max(LISTED, _SIGNS[name] // (longest + 2))
    return found


def context(
    fit: Fit,
    decision: Decision | None,
    standings: Sequence[Standing],
    shown: Sequence[Standing] | None = None,
    sheet: tuple[int, int] = (0, 0),
    alerted: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the templates of the decision show; of the objects only some in full, where that is said."""
    table = table_of(fit, standings, decision, sheet)
    assessors = assessors_of(fit)
    reach = [end for one in assessors for end in (one.bias, one.lower, one.upper)]
    return {
        "decision": decision,
        "table": table,
        "table_words": values_words(fit, table, decision),
        "points_words": values_mean(fit),
        "is_calibrated": fit.is_calibrated,
        "profile": None if decision is None else profile_of(decision),
        "objects": objects_of(fit, standings if shown is None else shown, decision, alerted),
        "assessors": assessors,
        "assessors_axis": axis([*reach, 0.0], about=0.0),
        "assessors_words": assessors_words(assessors, table.digits),
        "matrix": matrix_of(fit, standings, decision) if shown is None else None,
        "noun": fit.panel.noun,
        "heading": sentence(term(fit.panel.noun)),
        "nouns": plural(fit.panel.noun),
        "scored": score_decimals(fit.panel.score),
        "words_of": STATUS,
        "listed": {} if decision is None else _listed(decision),
        "share": percent(fit.values.interval),
        "titled": any(one.title for one in standings),
        "is_long": any(len(one.object) > LONG for one in standings),
        "grouped": any(one.group for one in standings),
        "sides": {one.assessor: one.side for one in assessors if one.side},
    }
