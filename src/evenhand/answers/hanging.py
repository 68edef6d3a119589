"""Sides of the line that hang on one assessor: who would cross it without whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.answers.alert import LARGEST, LINES, Alert, Cases
from evenhand.answers.decision import Decision, Standing
from evenhand.answers.far_scores import error_of, surprise_of, written
from evenhand.compiled import Floats
from evenhand.errors import EvenhandError
from evenhand.look import status_word
from evenhand.words import (
    argument,
    called,
    called_some,
    count_of,
    listed,
    name_some,
    number,
    phrase,
    sentence,
)

if TYPE_CHECKING:
    from evenhand.answers.influence import WithoutAssessor
    from evenhand.models.fit import Fit

DELETIONS: Final = 50
"""Assessors up to which each is left out in turn."""

_CROSSING: Final = 12
_CROSSING_LONG: Final = 180
"""Up to this many of those who are open and hang on one assessor are named, if their names are no longer in all."""

_ODD: Final = 0.1
"""A score with a smaller probability than this is described where a status hangs on it."""


def hanging(decision: Decision, deletions: Sequence[WithoutAssessor] | None) -> Iterator[Alert]:
    """Say which objects that are in, or out, would cross the line without one assessor."""
    fit, panel = decision.fit, decision.fit.panel
    if deletions is None:
        few = panel.n_assessors <= DELETIONS and panel.n_assessments <= LARGEST
        if not (few and fit.model.is_plain and 0 < decision.places < panel.n_objects):
            return
        from evenhand.answers.influence import without_assessors

        deletions = without_assessors(fit, top=decision.places)
    held = crossings(decision, deletions)
    found = [one for one in decision.standings if one.object in held and one.status != "undecided"]
    if not found:
        return
    surprise = surprise_of(fit) if len(found) <= LINES and panel.n_assessments <= LARGEST else None
    lines = [_hanging_line(decision, one, held[one.object], surprise) for one in found[:LINES]]
    if len(found) > LINES:
        inside, outside = ([one for one in found if one.status == which] for which in ("in", "out"))
        lines = [
            (word, f"{name_some([_held(one, held[one.object][:1], panel.noun) for one in some], 6)}.")
            for word, some in (
                (phrase("Below the line without one assessor:"), inside),
                (phrase("Above the line without one assessor:"), outside),
            )
            if some
        ]
    further, each = open_crossing(decision, held)
    if further:
        lines.append(("", further))
    yield Alert(
        "check",
        "hangs_on_assessor",
        headline(len(found), panel.noun),
        tuple(lines),
        where=name_some([one.object for one in found]),
        remedy=f"Let one more assessor read {called_some([one.object for one in found], panel.noun, LINES)}. "
        "`evenhand next FILE` lists the further scores that help most, and with "
        f"`{argument('top', decision.places)}` those that help most at the line.",
        objects=tuple(one.object for one in found),
        assessors=tuple(held[one.object][0][0] for one in found),
        reasons=tuple(_hangs(one, held[one.object], panel.noun) for one in found),
        each=each,
    )


def headline(count: int, noun: str) -> str:
    """Return that so many are to be checked, since one assessor decides on which side of the line they are."""
    told = {"things": count_of(count, noun)}
    if count == 1:
        return phrase("Check {things}: it would cross the line without one assessor", **told)
    return phrase("Check {things}: each would cross the line without one assessor", **told)


Ways = list[tuple[str, int]]
"""Without whom an object would cross the line, and its place then."""


def crossings(decision: Decision, deletions: Sequence[WithoutAssessor]) -> dict[str, Ways]:
    """Return for each object that would cross the line without one assessor without whom, and its place then.

    The one without whom it moves furthest comes first. They are its own assessors if any of these will do. Of those who
    are open only such are told: others would move them by moving their neighbours.
    """
    panel, found = decision.fit.panel, {}
    pairs = np.unique(np.stack([panel.object_index, panel.assessor_index]), axis=1).tolist()
    own = {(panel.objects[at], panel.assessors[who]) for at, who in zip(*pairs, strict=True)}
    held: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for one in deletions:
        for label, place in one.crossing:
            held[label].append((one.assessor, place))
    for standing in (one for one in decision.standings if one.object in held):
        label, before = standing.object, standing.place
        ways = sorted(held[label], key=lambda one: -abs(one[1] - before))  # at once
        of_its_own = [one for one in ways if (label, one[0]) in own]
        if of_its_own or standing.status != "undecided":
            found[label] = of_its_own or ways
    return found


def open_crossing(decision: Decision, held: Mapping[str, Ways]) -> tuple[str, tuple[Cases, ...]]:
    """Return who of those who are open would cross the line without one of their assessors; empty for none.

    By name where that is short; else names, ranks and assessors come after the sentence, to be folded.
    """
    noun = decision.fit.panel.noun
    found = [one for one in decision.standings if one.status == "undecided" and one.object in held]
    if not found:
        return "", ()
    sides = [[one for one in found if (one.place <= decision.places) == is_above] for is_above in (True, False)]
    above, below = (
        [f"{called(one.object, noun)} ({_any_of(who for who, _ in held[one.object])})" for one in side]
        for side in sides
    )
    is_short = len(found) <= _CROSSING and sum(map(len, above + below)) <= _CROSSING_LONG
    down, up = (listed(some) if is_short else f"{len(some):,}" for some in (above, below))
    parts = [phrase("down {names}", names=down)] * bool(above) + [phrase("up {names}", names=up)] * bool(below)
    said = phrase(
        "Of the {open} that are open, {count} would cross the line if one of their assessors were left out: {parts}.",
        open=f"{len(decision.undecided):,}",
        count=f"{len(found):,}",
        parts="; ".join(parts),
    )
    heads = phrase("Down without one of their assessors:"), phrase("Up without one of their assessors:")
    each = [
        Cases(head, tuple(_held(one, held[one.object], noun) for one in side))
        for head, side in zip(heads, sides, strict=True)
        if side
    ]
    return said, () if is_short else tuple(each)


def _any_of(assessors: Iterable[str]) -> str:
    return phrase(" or ").join(called(who, "assessor") for who in assessors)


def _held(one: Standing, ways: Ways, noun: str) -> str:
    first, *others = ways
    told = {"object": called(one.object, noun), "rank": f"{first[1]:,}", "who": called(first[0], "assessor")}
    told["more"] = "".join(
        phrase(", {rank} without {who}", rank=f"{place:,}", who=called(who, "assessor")) for who, place in others
    )
    return phrase("{object} (rank {rank} without {who}{more})", **told)


def _hangs(one: Standing, ways: Ways, noun: str) -> str:
    """Return without whom an object would cross the line."""
    names = {"object": called(one.object, sentence(noun)), "who": _any_of(who for who, _ in ways)}
    if one.status == "in":
        return phrase("{object} would be below the line without {who}.", **names)
    return phrase("{object} would be above the line without {who}.", **names)


def _hanging_line(decision: Decision, standing: Standing, ways: Ways, surprise: Floats | None) -> tuple[str, str]:
    who, place = ways[0]
    fit, panel = decision.fit, decision.fit.panel
    assessor = panel.assessors.index(who)
    told = {"who": called(who, "assessor"), "before": f"{standing.place:,}", "after": f"{place:,}"}
    told |= {"then": _would_be(decision, standing, assessor), "count": f"{panel.assessor_assessments[assessor]:,}"}
    said = phrase("Without the {count} scores of {who} it {then}, at rank {after} instead of {before}", **told)
    if panel.assessor_assessments[assessor] == 1:
        said = phrase("Without the one score of {who} it {then}, at rank {after} instead of {before}", **told)
    own = (panel.object_index == fit.values.index_of(standing.object)) & (panel.assessor_index == assessor)
    at = int(np.argmax(own))
    if own.any() and surprise is not None and surprise[at] < _ODD:
        said = f"{said}; {_odd(fit, standing.object, who, at)}"
    return _hangs(standing, ways, panel.noun), f"{said}."


def _odd(fit: Fit, label: str, who: str, at: int) -> str:
    """Return how far a score of an object is from all others, and where the object would be without it alone."""
    error, alone = error_of(fit, at), _place_alone(fit, label, who)
    told = {"score": written(fit.panel, fit.panel.score[at]), "points": number(abs(error), 1, in_sentence=True)}
    given = phrase("its {score} from {who}", score=told["score"], who=called(who, "assessor"))
    off = phrase("{points} points below what all others predict", **told)
    if error > 0:
        off = phrase("{points} points above what all others predict", **told)
    if alone is None:
        return phrase("{given} is {off}", given=given, off=off)
    return phrase("without {given} alone ({off}), at rank {rank}", given=given, off=off, rank=f"{alone:,}")


def _place_alone(fit: Fit, label: str, who: str) -> int | None:
    """Return at what place an object would be without the score of one assessor; None where that would take long."""
    from evenhand.answers.what_if import changed

    if not fit.model.is_plain:
        return None
    with suppress(EvenhandError):  # what is left may fall apart
        values = changed(fit, remove=[(label, who)]).values
        if label in values.labels:
            order = np.argsort(-values.estimate, kind="stable")
            return int(np.flatnonzero(order == values.index_of(label))[0]) + 1
    return None


def _would_be(decision: Decision, standing: Standing, assessor: int) -> str:
    """Return what an object would be without an assessor: open, mostly, and not what the other side of the line is."""
    from evenhand.answers.influence import fit_without

    other, then = fit_without(decision.fit, assessor), None
    if not isinstance(other, str):
        with suppress(EvenhandError):  # what is left may leave ranks without probabilities
            then = next(one.status for one in decision.by(other).standings if one.object == standing.object)
    if then is None or then == standing.status:
        return phrase("would cross the line")
    return phrase("would be {status}", status=status_word(then))
