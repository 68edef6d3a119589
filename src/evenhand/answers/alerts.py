"""What may be wrong, before what was found: a short list, the most serious first, which every door shows."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from evenhand.answers.decision import Decision, Standing, in_order
from evenhand.answers.heldout import BRIDGE, leverages
from evenhand.compiled import Floats
from evenhand.errors import EvenhandError
from evenhand.look import status_word
from evenhand.models.additive import CWC
from evenhand.models.fit import Fit
from evenhand.models.noise import noise_floor
from evenhand.panel.panel import Panel
from evenhand.words import (
    NAMED,
    again,
    argument,
    by_door,
    called,
    called_some,
    count_of,
    decimals,
    listed,
    lowered,
    name_some,
    number,
    phrase,
    plural,
    quoted,
    sentence,
)

if TYPE_CHECKING:
    from evenhand.answers.compare import Comparison
    from evenhand.answers.influence import WithoutAssessor

Level = Literal["stop", "check", "note"]

LARGEST: Final = 20_000
"""Scores up to which a panel is looked through score by score, and assessor by assessor."""

DELETIONS: Final = 50
"""Assessors up to which each is left out in turn."""

_LINES: Final = 3
"""Cases that an alert describes one by one."""

_CROSSING: Final = 8
_CROSSING_LONG: Final = 180
"""Up to this many of those who are open and hang on one assessor are named, if their names are no longer in all."""

_GROUPS, _FIRST, _MEMBERS, _JOINS = 4, 3, 5, 3
"""Groups that are named, objects and assessors of each, and assessments that would join them."""

_SLIP, _FAR = 1e-6, 1e-3
"""A score that chance would put so far from what all others predict in one of so many panels: a slip, or far off."""

_BEYOND, _ALONE = 3.0, 10.0
"""How many times the spread of the middle half of all scores a slip lies outside of it: if others contradict it; if
nothing else on the object is anywhere near."""

_ODD: Final = 0.1
"""A score with a smaller probability than this is described where a status hangs on it."""

_ENDS: Final = 3
"""Scores at the highest, or the lowest, mark from which that is taken for an end of the scale."""


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
    beside: str = ""
    doubtful: tuple[str, ...] = ()
    instead: Decision | None = field(default=None, repr=False, compare=False)

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


def alerts(
    fit: Fit,
    decision: Decision | None = None,
    *,
    comparison: Comparison | None = None,
    deletions: Sequence[WithoutAssessor] | None = None,
) -> list[Alert]:
    """Return what may be wrong with a result, the most serious first.

    Parameters
    ----------
    fit
        The fit.
    decision
        The decision that rests on it: adds what could change it.
    comparison
        The methods side by side: adds what the method that the scores support would decide.
    deletions
        What would change without each assessor, where it is known already.

    Examples
    --------
    >>> import evenhand as eh
    >>> fit = eh.calibrate(eh.demo())
    >>> [one.headline for one in alerts(fit, eh.decide(eh.rank(fit, top=10), 10))]
    ['Check 2 statuses: each hangs on one assessor']
    """
    found = [*_groups(fit), *_far_scores(fit, decision)]
    if provisional(found) is not None:  # all else would be said of scores that must be checked first
        return found
    found[:0] = _assumed(fit)
    if decision is not None:
        found += _hanging(decision, deletions)
        found += _supported(decision, comparison)
        found += _thin(decision)
        found += _tie(decision)
    elif not fit.connectivity.is_connected:
        found += _supported_in_groups(fit, comparison)
    found += _agreement(fit, decision)
    found += _confidence(fit, comparison, next((one for one in found if one.kind == "other_method"), None))
    found += _beyond(fit)
    found += _places(fit)
    order = ("stop", "check", "note")
    return sorted(found, key=lambda one: order.index(one.level))


def _places(fit: Fit) -> Iterator[Alert]:
    """Say that labels of assessors may be places in a list, where reading found so."""
    for note in fit.panel.notes:
        if note.kind == "positions":
            headline = phrase("Labels such as {label} must each be one person", label=quoted(fit.panel.assessors[0]))
            yield Alert("note", "positions", headline, (("", again(note.message)),), where=note.where)


def provisional(alerted: Sequence[Alert]) -> Outcome | None:
    """Return what people are shown until what must be checked is settled: what comes out without it."""
    return next((one.outcomes[-1] for one in alerted if len(one.outcomes) > 1), None)


def all_clear(
    found: Sequence[Alert],
    fit: Fit,
    decision: Decision | None = None,
    *,
    comparison: Comparison | None = None,
    deletions: Sequence[WithoutAssessor] | None = None,
) -> list[str]:
    """Return that nothing need be checked, what is to be known all the same, and what was looked at, a line each.

    Nothing where something must be checked.

    The arguments after the alerts are those of :func:`alerts`.
    """
    if any(one.level != "note" for one in found):
        return []
    from evenhand.answers.support import worth_of_confidence

    panel = fit.panel
    looked = [
        (
            panel.n_assessments <= LARGEST and fit.model.why_not("refit") is None and not len(fit.model.outlying),
            phrase("scores far from all others"),
        ),
        (
            decision is not None and bool(deletions),
            phrase("whether those in or out would cross the line without one assessor"),
        ),
        (decision is not None and comparison is not None, phrase("what other methods decide")),
        (decision is not None, phrase("thin evidence and equal values at the line")),
        (worth_of_confidence(comparison) is not None, phrase("what declared confidence is worth")),
    ]
    things = [words for is_so, words in looked if is_so]
    outlying = [_outlying(fit, at, decision) for at in fit.model.outlying.tolist()]
    said = [_nothing_found([*found, *outlying], decision, bool(deletions) and looked[0][0])]
    if outlying:
        told = {"count": f"{len(outlying):,}", "scores": _clauses(outlying)}
        several = phrase("{count} scores are so far off that they count less: {scores}.", **told)
        one = phrase("One score is so far off that it counts less: {scores}.", **told)
        said += [one if len(outlying) == 1 else several, _most_moved(fit, decision)]
    if decision is not None and deletions:
        said.append(_open_crossing(decision, _crossings(decision, deletions)))
    said.append(_named_notes(found))
    if things:
        said.append(phrase("Looked at: {things}.", things="; ".join(things)))
    return [one for one in said if one]


def _clauses(said: Sequence[str]) -> str:
    """Return clauses that may have commas of their own in a line; of many, the first and how many more."""
    more = len(said) - _LINES
    return "; ".join([*said[:_LINES], *([phrase("{count} more", count=f"{more:,}")] if more > 0 else [])])


def _outlying(fit: Fit, at: int, decision: Decision | None) -> str:
    """Return a score that a robust fit leaves behind, how far it is from what the fit expects, and whom it is of."""
    panel, left = fit.panel, float(fit.residuals[at])
    who, label = _named(panel, at)
    if decision is not None:
        status = status_word(decision.status[panel.object_index[at]])
        label = phrase("{object} ({status})", object=label, status=status)
    given = _written(panel, float(panel.score[at]))
    told = {"who": who, "object": label, "score": given, "points": number(abs(left), 1)}
    said = phrase("{score} from {who} on {object}, {points} points below what is expected", **told)
    if left > 0:
        said = phrase("{score} from {who} on {object}, {points} points above what is expected", **told)
    if panel.rows is None:
        return said
    return phrase("{score}, row {row} of the file", score=said, row=f"{panel.rows[at]:,}")


def _most_moved(fit: Fit, decision: Decision | None) -> str:
    """Return whom it moves most of those who are in or open that scores far off count less; empty for nobody."""
    from evenhand.answers.explain import explain

    if decision is None or fit.panel.n_assessments > LARGEST:
        return ""
    by = {one.object: sum(part.amount for part in one.parts if part.kind == "noise") for one in explain(fit)}
    shown = [one for one in decision.standings if one.status != "out" and by[one.object]]
    if not shown:
        return ""
    most = max(shown, key=lambda one: abs(by[one.object]))
    return phrase(
        "Counting them less moves {object} most of those in or open, by {points} points (now rank {rank}, {status}).",
        object=called(most.object, fit.panel.noun),
        points=number(by[most.object], decimals(float(np.ptp(fit.panel.score))), signed=True),
        rank=f"{most.place:,}",
        status=status_word(most.status or "undecided"),
    )


def _nothing_found(found: Sequence[object], decision: Decision | None, each: bool) -> str:
    """Return that nothing need be checked, without a word that notes or the decision itself contradict.

    ``each`` is whether every score and every assessor was looked at.
    """
    if decision is not None and each and _separates_little(decision):
        told = {"things": count_of(len(decision.undecided), decision.fit.panel.noun)}
        return phrase(
            "Nothing was found that must be checked first: {things} are open because the scores do not separate them.",
            **told,
        )
    if found:
        return phrase("Nothing was found that must be checked first.")
    return phrase("Nothing was found that speaks against this result.")


def _named_notes(found: Sequence[Alert]) -> str:
    """Return what notes say in short, where there are any."""
    named = "; ".join(lowered(one.headline) for one in found)
    if len(found) == 1:
        return phrase("A note below: {headline}.", headline=named)
    return phrase("{count} notes below: {headlines}.", count=f"{len(found):,}", headlines=named) if found else ""


def _separates_little(decision: Decision) -> bool:
    """Return whether nobody is in though some compete, or more than twice as many compete as there are places left."""
    return len(decision.undecided) > 1 and (not decision.inside or len(decision.undecided) > 2 * decision.left)


# --- a panel in pieces -----------------------------------------------------------------------------


def _groups(fit: Fit) -> Iterator[Alert]:
    groups = int(fit.values.component.max()) + 1
    if groups < 2:
        return
    lines, remedy = [*_group_lines(fit)], _joining(fit)
    if fit.connectivity.is_connected:
        lines = [("", phrase("All criteria together would join them; one of the criteria alone does not."))]
        remedy = phrase("Ask for the scores that a criterion lacks, or decide by the other criteria.")
    yield Alert(
        "stop",
        "groups",
        phrase("The panel falls into {groups} groups that cannot be compared", groups=groups),
        (("", phrase("Nothing says whether one group is better or its assessors more generous.")), *lines),
        remedy=remedy,
    )


def _assumed(fit: Fit) -> Iterator[Alert]:
    """Say where groups of which nobody has read two are compared all the same."""
    groups = fit.connectivity.n_components
    if groups < 2 or fit.values.component.max():
        return
    many = {"things": plural(fit.panel.noun)}
    said = phrase("Their assessors are taken to be equally strict on the whole.")
    if fit.is_calibrated:
        said = phrase(
            "Their assessors are taken to be equally strict, and their {things} equally good, on the whole.", **many
        )
    shown = phrase("Nobody has read work of both groups, so that no score shows it.")
    if groups > 2:
        shown = phrase("Nobody has read work of two groups, so that no score shows it.")
    yield Alert(
        "check",
        "assumed",
        phrase("{groups} groups are compared on an assumption", groups=f"{groups:,}"),
        ((said, shown),),
        remedy=_joining(fit),
    )


def _group_lines(fit: Fit) -> Iterator[tuple[str, str]]:
    """Yield who is in each of the largest groups."""
    panel = fit.panel
    found = fit.connectivity.components if panel.n_assessments <= LARGEST else []
    place = {fit.values.labels[at]: place for place, at in enumerate(in_order(fit))} if found else {}
    given: dict[object, int] = {label: at for at, label in enumerate(panel.assessors)} if found else {}
    for at, (objects, assessors) in enumerate(found[:_GROUPS]):
        told = {
            "things": called_some(sorted(objects, key=place.__getitem__), panel.noun, _FIRST),
            "who": called_some(sorted(assessors, key=given.__getitem__), "assessor", _MEMBERS),
        }
        yield phrase("Group {group}:", group=at + 1), phrase("{things}, read by {who}.", **told)
    if len(found) > _GROUPS:
        yield "", phrase("{count} more groups are in the table.", count=f"{len(found) - _GROUPS:,}")


def _joining(fit: Fit) -> str:
    """Return which further assessments would join the groups."""
    if fit.panel.n_assessments > LARGEST:
        return "`evenhand check FILE` names assessments that would join them."
    pairs = [
        phrase("{assessor} on {object}", assessor=called(who, "assessor"), object=called(label, fit.panel.noun))
        for who, label in fit.connectivity.suggestions
    ]
    if len(pairs) == 1:
        return phrase(
            "One further score would join them, for example {score}; two or three would be safer.", score=pairs[0]
        )
    count, scores = f"{len(pairs):,}", name_some(pairs, _JOINS)
    return phrase("{count} further scores would join them, for example {scores}.", count=count, scores=scores)


# --- scores that look mistyped ---------------------------------------------------------------------


def _far_scores(fit: Fit, decision: Decision | None) -> Iterator[Alert]:
    panel = fit.panel
    if panel.n_assessments > LARGEST or fit.model.why_not("refit") is not None:
        return
    surprise = _surprise(fit, limit=_FAR / panel.n_assessments)
    confirmed, found = _confirmed(panel), _slips(panel, surprise)
    slips = [at for at in found if at not in confirmed]
    if slips:  # for whose sake others look far off
        yield _mistyped(fit, decision, slips)
        return
    order = np.argsort(surprise, kind="stable")
    every = order[surprise[order] < _FAR / panel.n_assessments].tolist()
    far, kept = [at for at in every if at not in confirmed], [at for at in {*found, *every} if at in confirmed]
    if kept:
        yield Alert(
            "note",
            "far_score",
            phrase("1 score far from what all others predict was confirmed")
            if len(kept) == 1
            else phrase("{count} scores far from what all others predict were confirmed", count=f"{len(kept):,}"),
            tuple(_slip_line(panel, at) for at in sorted(kept)[:_LINES]),
            where=name_some([_place(panel, at) for at in sorted(kept)]),
        )
    if far:
        yield Alert(
            "check",
            "far_score",
            phrase("1 score is far from what all others predict")
            if len(far) == 1
            else phrase("{count} scores are far from what all others predict", count=f"{len(far):,}"),
            tuple(_far_line(fit, at) for at in far[:_LINES]),
            where=name_some([_place(panel, at) for at in far]),
            scores=tuple(far),
            remedy=phrase(
                "Ask whether it is meant; {option} lets such scores pull less.", option=argument("tails", "student")
            ),
        )


def mistyped(panel: Panel) -> dict[int, float | None]:
    """Return the scores of a panel that would stop a decision, each with what was probably meant, before any is made.

    Those that look mistyped and that nobody has confirmed, the furthest first; nothing of large panels, and nothing
    where scores are of several criteria, whose sums are what is looked through.
    """
    low, high, spread = _spread(panel)
    outside = np.maximum(low - panel.score, panel.score - high) > _BEYOND * spread
    if panel.n_assessments > LARGEST or panel.criterion is not None or spread == 0 or not outside.any():
        return {}
    fit = CWC(panel, per_component=True)
    confirmed = _confirmed(panel)
    slips = [at for at in _slips(panel, _surprise(fit)) if at not in confirmed]
    guesses = [_meant(panel, at, np.delete(panel.score, slips)) for at in slips]
    return {at: None if guess is None else guess[0] for at, guess in zip(slips, guesses, strict=True)}


def _plain_fit(fit: Fit) -> Fit:
    """Return a fit by which scores are looked through: the same whatever the method of the answer."""
    if fit.model.is_plain and fit.is_calibrated:
        return fit
    return CWC(fit.panel, per_component=not fit.connectivity.is_connected)


def _surprise(fit: Fit, *, limit: float = 1.0) -> Floats:
    """Return for each score the probability that noise puts it as far from what all others predict.

    That of Student's t of the residual, its variance that of a fit without the score; not below half a step of the
    grid. Scores that nothing else can check are no surprise. Where no probability is below the limit, all may be 1.
    """
    panel = fit.panel
    plain = _plain_fit(fit)
    leverage, nu = leverages(plain), plain.degrees_of_freedom - 1
    slack = 1.0 - leverage
    known = slack > BRIDGE
    if nu < 1:
        return np.ones(panel.n_assessments)
    square = np.where(known, plain.weight * np.square(plain.residuals) / np.where(known, slack, 1.0), 0.0)
    variance = np.maximum(plain.residual - square, 0.0) / nu
    variance = np.maximum(variance, noise_floor(panel.step, panel.precision))
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(square > 0, np.sqrt(square / variance), 0.0)
    normal = math.erfc(float(size.max()) / math.sqrt(2))  # whose tail is thinner: most panels need no more
    if normal >= limit:
        return np.ones(panel.n_assessments)
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(nu, -size))


def _spread(panel: Panel) -> tuple[float, float, float]:
    """Return the quartiles of the scores, and how far apart they are: at least a step of the grid."""
    low, high = np.quantile(panel.score, [0.25, 0.75]).tolist()
    return low, high, max(high - low, panel.step or 0.0)


def _slips(panel: Panel, surprise: Floats) -> list[int]:
    """Return the scores that look mistyped, the furthest first.

    Far outside all others and contradicted by them; or so far outside that nothing else on the object is near.
    """
    low, high, spread = _spread(panel)
    if spread == 0:
        return []
    outside = np.maximum(low - panel.score, panel.score - high) / spread
    contradicted = (outside > _BEYOND) & (surprise < _SLIP / panel.n_assessments)
    found = []
    for at in np.argsort(-outside, kind="stable").tolist():
        if outside[at] <= _BEYOND:
            break
        others = outside[panel.object_index == panel.object_index[at]]
        is_alone = outside[at] > _ALONE and int((others > _BEYOND).sum()) == 1
        if contradicted[at] or is_alone:
            found.append(at)
    return found


def _confirmed(panel: Panel) -> set[int]:
    """Return the scores that somebody has looked at and found right."""
    places = () if panel.reading is None else panel.reading.confirmed
    if not places or panel.rows is None:
        return set()
    rows = np.flatnonzero(np.isin(panel.rows, [int(one.partition(":")[0]) for one in places])).tolist()
    cells = {at: panel.cell_of(at) for at in rows}
    return {at for at, cell in cells.items() if cell is not None and f"{cell[0]}:{cell[1]}" in places}


def _written(panel: Panel, score: float) -> str:
    """Return a score as it stands in the file, with the real minus sign."""
    return f"{score if panel.turned is None else panel.turned - score:g}".replace("-", "−")


def _place(panel: Panel, at: int, *, is_bare: bool = True) -> str:
    assessor, label = _named(panel, at, is_bare=is_bare)
    if panel.rows is None:
        return phrase("{assessor} on {object}", assessor=assessor, object=label)
    return phrase("row {row}, {assessor} on {object}", row=f"{panel.rows[at]:,}", assessor=assessor, object=label)


def _named(panel: Panel, at: int, *, is_bare: bool = False) -> tuple[str, str]:
    """Return who gave a score, and to what."""
    assessor, label = panel.assessors[panel.assessor_index[at]], panel.objects[panel.object_index[at]]
    return called(assessor, "assessor", is_bare=is_bare), called(label, panel.noun, is_bare=is_bare)


def _mistyped(fit: Fit, decision: Decision | None, slips: Sequence[int]) -> Alert:
    """Return the alert for scores that look mistyped, with what would come out otherwise."""
    panel = fit.panel
    rest = np.delete(panel.score, slips)
    lines = [_slip_line(panel, at) for at in slips[:_LINES]]
    ends = [_written(panel, end) for end in sorted((rest.min(), rest.max()), reverse=panel.turned is not None)]
    lines.append(("", phrase("All other scores lie between {low} and {high}.", low=ends[0], high=ends[1])))
    who = name_some(list(dict.fromkeys(_named(panel, at)[0] for at in slips)), 3)
    is_one = len(slips) == 1
    return Alert(
        "stop",
        "mistyped",
        phrase("One score must be checked")
        if is_one
        else phrase("{count} scores must be checked", count=f"{len(slips):,}"),
        tuple(lines),
        where=name_some([_place(panel, at) for at in slips]),
        remedy=phrase("Ask {who}; correct it in the file, or leave it out.", who=who)
        if is_one
        else phrase("Ask {who}; correct them in the file, or leave them out.", who=who),
        outcomes=tuple(_outcomes(fit, decision, slips)),
        scores=tuple(slips),
    )


def _slip_line(panel: Panel, at: int) -> tuple[str, str]:
    assessor, label = _named(panel, at)
    same = panel.object_index == panel.object_index[at]
    same[at] = False
    others = [_written(panel, score) for score in panel.score[same].tolist()]
    beside = phrase("There is no other score.")
    if len(others) == 1:
        beside = phrase("The other score of {object} is {score}.", object=label, score=others[0])
    elif others:
        scores = name_some(others)
        if len(others) <= NAMED:
            scores = phrase("{scores} and {last}", scores=name_some(others[:-1]), last=others[-1])
        beside = phrase("The other scores of {object} are {scores}.", object=label, scores=scores)
    told = {"who": assessor, "object": label, "score": _written(panel, panel.score[at])}
    if panel.rows is not None:
        return phrase("Row {row}: {who} gave {object} a score of {score}.", **told, row=f"{panel.rows[at]:,}"), beside
    told["who"] = called(panel.assessors[panel.assessor_index[at]], "Assessor")
    return phrase("{who} gave {object} a score of {score}.", **told), beside


def _outcomes(fit: Fit, decision: Decision | None, slips: Sequence[int]) -> Iterator[Outcome]:
    """Return what comes out as the scores stand, corrected, and without them."""
    panel, first = fit.panel, slips[0]
    label = str(panel.objects[panel.object_index[first]])
    entered = phrase("as entered")
    if len(slips) == 1:
        entered = phrase("{score}, as entered", score=_written(panel, panel.score[first]))
    cases: list[tuple[str, Callable[[], Fit]]] = [(entered, lambda: fit)]
    rest = np.delete(panel.score, slips)
    meant = [_meant(panel, at, rest) for at in slips]
    known = [one for one in meant if one is not None]
    if len(known) == len(slips):
        score = np.array(panel.score)
        score[list(slips)] = [number for number, _ in known]
        words = f"{_written(panel, known[0][0])}, {known[0][1]}" if len(slips) == 1 else phrase("corrected")
        cases.append((words, lambda: fit.refit(replace(panel, score=score))))
    kept = np.ones(panel.n_assessments, dtype=bool)
    kept[list(slips)] = False
    cases.append((phrase("left out"), lambda: fit.refit(panel.restrict(kept))))
    for case, made in cases:
        try:
            yield _outcome(case, label, made(), decision, is_one=len(slips) == 1)
        except EvenhandError:  # the panel does not hang together without it
            continue


def _meant(panel: Panel, at: int, rest: Floats) -> tuple[float, str] | None:
    """Return the score that was probably meant, and what went wrong, where zeros explain it; ``rest`` is all else."""
    if panel.turned is not None:
        return None
    room = _spread(panel)[2] / 2
    low, high = rest.min() - room, rest.max() + room
    counted = (phrase("a zero"), phrase("two zeros"), phrase("three zeros"), phrase("four zeros"))
    for power, zeros in enumerate(counted, start=1):
        for factor, words in ((10.0**-power, phrase("too many")), (10.0**power, phrase("too few"))):
            guess = float(f"{panel.score[at] * factor:.12g}")
            step = panel.step or 1.0
            if low <= guess <= high and (panel.step is None or guess == round(guess / step) * step):
                return guess, f"{zeros} {words}"
    return None


def _outcome(case: str, label: str, fit: Fit, decision: Decision | None, *, is_one: bool) -> Outcome:
    order = [fit.values.labels[at] for at in in_order(fit)]
    place = order.index(label) + 1 if label in order else None
    assuming = phrase("if the score is {case}", case=case) if is_one else phrase("if the scores are {case}", case=case)
    made = None if decision is None else replace(decision.by(fit), assuming=assuming)
    return Outcome(case, label, place, assuming, fit, made)


def _error(fit: Fit, at: int) -> float:
    """Return how far a score is from what all others predict, by the fit that says how surprising that is."""
    plain = _plain_fit(fit)
    return float(plain.residuals[at] / (1.0 - leverages(plain)[at]))


def _far_line(fit: Fit, at: int) -> tuple[str, str]:
    panel, error, digits = fit.panel, _error(fit, at), 1
    off = number(abs(error), digits, in_sentence=True)
    said = phrase("It is {points} points below what all other scores predict.", points=off)
    if error > 0:
        said = phrase("It is {points} points above what all other scores predict.", points=off)
    return f"{sentence(_place(panel, at, is_bare=False))}: {_written(panel, panel.score[at])}.", said


# --- what the decision hangs on --------------------------------------------------------------------


def _hanging(decision: Decision, deletions: Sequence[WithoutAssessor] | None) -> Iterator[Alert]:
    """Say which objects are in, or out, only thanks to one assessor."""
    fit, panel = decision.fit, decision.fit.panel
    if deletions is None:
        few = panel.n_assessors <= DELETIONS and panel.n_assessments <= LARGEST
        if not (few and fit.model.is_plain and 0 < decision.places < panel.n_objects):
            return
        from evenhand.answers.influence import without_assessors

        deletions = without_assessors(fit, top=decision.places)
    held = _crossings(decision, deletions)
    found = [one for one in decision.standings if one.object in held and one.status != "undecided"]
    if not found:
        return
    surprise = _surprise(fit) if len(found) <= _LINES and panel.n_assessments <= LARGEST else None
    lines = [_hanging_line(decision, one, *held[one.object], surprise) for one in found[:_LINES]]
    if len(found) > _LINES:
        inside, outside = ([one for one in found if one.status == which] for which in ("in", "out"))
        lines = [
            (word, f"{name_some([_held(one, *held[one.object], panel.noun) for one in some], 6)}.")
            for word, some in (
                (phrase("In only thanks to one assessor:"), inside),
                (phrase("Out only because of one assessor:"), outside),
            )
            if some
        ]
    if further := _open_crossing(decision, held):
        lines.append(("", further))
    yield Alert(
        "check",
        "hangs_on_assessor",
        phrase("Check 1 status: it hangs on one assessor")
        if len(found) == 1
        else phrase("Check {count} statuses: each hangs on one assessor", count=f"{len(found):,}"),
        tuple(lines),
        where=name_some([one.object for one in found]),
        remedy=f"Let one more assessor read {called_some([one.object for one in found], panel.noun, _LINES)}. "
        "`evenhand next FILE` lists the further scores that help most, and with "
        f"`{argument('top', decision.places)}` those that help most at the line.",
        objects=tuple(one.object for one in found),
        assessors=tuple(held[one.object][0] for one in found),
        reasons=tuple(_hangs(one, held[one.object][0], panel.noun) for one in found),
    )


def _crossings(decision: Decision, deletions: Sequence[WithoutAssessor]) -> dict[str, tuple[str, int]]:
    """Return for each object that would cross the line without one assessor the decisive one, and its place then.

    That is the one without whom it moves furthest, of its own assessors if any of these will do. Of those who are open
    only such are told: others would move them by moving their neighbours.
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
        best = max(held[label], key=lambda one: ((label, one[0]) in own, abs(one[1] - before)))  # at once
        if standing.status != "undecided" or (label, best[0]) in own:
            found[label] = best
    return found


def _open_crossing(decision: Decision, held: Mapping[str, tuple[str, int]]) -> str:
    """Return who of those who are open would cross the line without one of their assessors; empty for none.

    By name where that is short.
    """
    noun = decision.fit.panel.noun
    found = [one for one in decision.standings if one.status == "undecided" and one.object in held]
    if not found:
        return ""
    above, below = (
        [
            f"{called(one.object, noun)} ({called(held[one.object][0], 'assessor')})"
            for one in found
            if (one.place <= decision.places) == is_above
        ]
        for is_above in (True, False)
    )
    is_short = len(found) <= _CROSSING and sum(map(len, above + below)) <= _CROSSING_LONG
    fallen, risen = (listed(some) if is_short else f"{len(some):,}" for some in (above, below))
    told = {"open": f"{len(decision.undecided):,}", "fallen": fallen, "risen": risen}
    if not below:
        return phrase("Of the {open} that are open, without one assessor {fallen} would fall below the line.", **told)
    if not above:
        return phrase("Of the {open} that are open, without one assessor {risen} would rise above the line.", **told)
    return phrase(
        "Of the {open} that are open, without one assessor {fallen} would fall below the line and {risen} rise above "
        "it.",
        **told,
    )


def _held(one: Standing, who: str, place: int, noun: str) -> str:
    told = {"object": called(one.object, noun), "rank": f"{place:,}", "who": called(who, "assessor")}
    return phrase("{object} (rank {rank} without {who})", **told)


def _hangs(one: Standing, who: str, noun: str) -> str:
    """Return that an object has its status only thanks to an assessor."""
    names = {"object": called(one.object, sentence(noun)), "who": called(who, "assessor")}
    if one.status == "in":
        return phrase("{object} is in only thanks to {who}.", **names)
    return phrase("{object} is out only because of {who}.", **names)


def _hanging_line(
    decision: Decision, standing: Standing, who: str, place: int, surprise: Floats | None
) -> tuple[str, str]:
    fit, panel = decision.fit, decision.fit.panel
    assessor = panel.assessors.index(who)
    told = {"who": called(who, "assessor"), "before": f"{standing.place:,}", "after": f"{place:,}"}
    told["then"] = _would_be(decision, standing, assessor)
    said = phrase("Without the scores of {who} it {then}, at rank {after} instead of {before}.", **told)
    own = (panel.object_index == fit.values.index_of(standing.object)) & (panel.assessor_index == assessor)
    at = int(np.argmax(own))
    if own.any() and surprise is not None and surprise[at] < _ODD:
        error = _error(fit, at)
        told["score"], told["points"] = _written(panel, panel.score[at]), number(abs(error), 1, in_sentence=True)
        odd = phrase("The {score} from {who} is {points} points below what all other scores predict", **told)
        if error > 0:
            odd = phrase("The {score} from {who} is {points} points above what all other scores predict", **told)
        without = phrase("without {who} it {then}, at rank {after} instead of {before}.", **told)
        said = f"{odd}; {without}"
    return _hangs(standing, who, panel.noun), said


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


def _supported(decision: Decision, comparison: Comparison | None) -> Iterator[Alert]:
    """Say what the method that the scores support would decide, where that is another one."""
    if comparison is None:
        return
    from evenhand.answers.support import rival_of

    rival = rival_of(decision, comparison)
    if rival is not None:
        yield Alert(
            "check" if rival.is_weighty else "note",
            "other_method",
            rival.headline,
            rival.lines,
            where=name_some(rival.changed) or None,
            objects=tuple(rival.changed),
            remedy=rival.remedy,
            method=rival.other.fit.method,
            beside=rival.beside,
            doubtful=tuple(rival.gone) if rival.is_weighty else (),
            instead=rival.other,
        )


def _supported_in_groups(fit: Fit, comparison: Comparison | None) -> Iterator[Alert]:
    """Say whose rank within the own group is another by the method that the scores support, where that is another."""
    if comparison is None:
        return
    from evenhand.answers.support import asked_by, is_clearly_better, is_simpler, method_means, preference, supported

    advised, groups, noun = supported(fit, comparison).method, fit.values.component, fit.panel.noun
    other = next((row.fit for row in comparison.methods if row.method == advised), None)
    if other is None or advised == fit.method:
        return
    now, then = fit.values.ranks_within(groups), other.values.ranks_within(groups)
    moved = sorted(np.flatnonzero(now != then).tolist(), key=lambda at: -abs(int(now[at] - then[at])))
    if not moved:
        return
    names = [
        phrase(
            "{name} has rank {now} of group {group}, not {before}",
            name=called(fit.values.labels[at], noun),
            now=f"{then[at]:,}",
            before=f"{now[at]:,}",
            group=f"{groups[at] + 1:,}",
        )
        for at in moved
    ]
    means, that = method_means(other.method, fit.panel.confidence), phrase("It is {method}", method=other.name)
    told = {"moved": _clauses(names)}
    ending, is_clear = phrase("it changes the order within groups"), is_clearly_better(other, fit)
    yield Alert(
        "note",
        "other_method",
        preference(ending, is_clear=is_clear, is_simpler=not is_clear and is_simpler(other, fit, comparison)),
        ((f"{that}:", f"{means}.") if means else (f"{that}.", ""), (phrase("By it {moved}.", **told), "")),
        where=name_some([fit.values.labels[at] for at in moved]),
        objects=tuple(fit.values.labels[at] for at in moved),
        remedy=phrase(
            "Say in the minutes which method decides. To use the other: `{options}`.", options=asked_by(other.model)
        ),
        method=other.method,
    )


def _thin(decision: Decision) -> Iterator[Alert]:
    """Name the objects near the line that have one score, where others have more."""
    panel = decision.fit.panel
    if float(np.mean(panel.object_assessments == 1)) > 0.5:  # then this is how the panel was made
        return
    thin = [one.object for one in decision.standings if one.assessments == 1 and one.status != "out"]
    if thin:
        one, things = len(thin) == 1, count_of(len(thin), panel.noun)
        yield Alert(
            "check",
            "thin",
            phrase("{thing} that may have a place has one score only", thing=things)
            if one
            else phrase("{things} that may have a place have one score only", things=things),
            (
                (
                    f"{called_some(thin, sentence(panel.noun), 12)}.",
                    phrase("Nothing else checks it.") if one else phrase("Nothing else checks them."),
                ),
            ),
            where=name_some(thin),
            objects=tuple(thin),
            remedy="`evenhand next FILE` says who should read what.",
        )


def _tie(decision: Decision) -> Iterator[Alert]:
    """Say where the line falls between objects of the same value."""
    line = decision.line
    if line is None:
        return
    rank_of = dict(zip(decision.fit.values.labels, decision.fit.values.rank.tolist(), strict=True))
    last, first = line
    if rank_of[last.object] != rank_of[first.object]:
        return
    level = [one.object for one in decision.standings if rank_of[one.object] == rank_of[last.object]]
    yield Alert(
        "check",
        "tie",
        phrase("{things} share the value at the line", things=count_of(len(level), decision.fit.panel.noun)),
        (
            (
                f"{called_some(level, sentence(decision.fit.panel.noun), 12)}.",
                phrase("The order among them is that of the file, and says nothing."),
            ),
        ),
        where=name_some(level),
        objects=tuple(level),
        remedy=phrase(
            "Draw lots ({option}), or decide by what the scores do not say.", option=argument("lottery_seed", 1)
        ),
    )


# --- what the scores cannot tell -------------------------------------------------------------------


def _agreement(fit: Fit, decision: Decision | None) -> Iterator[Alert]:
    """Say where scores agree so well, or are so few, that they do not tell how far they scatter."""
    noise = fit.posterior.noise
    if decision is not None and decision.caution is not None:
        yield Alert(
            "check",
            "few_scores",
            phrase("The scores are too few to tell how far they scatter"),
            ((f"{sentence(decision.caution)}.", ""),),
            remedy=phrase("Ask for more assessments of the same objects."),
        )
    elif noise.kind == "estimated" and fit.degrees_of_freedom > 0 and noise.is_lifted:
        yield Alert(
            "note",
            "perfect_agreement",
            phrase("The scores agree better than their own rounding allows"),
            (("", phrase("How far they scatter was taken to be half a step of their scale, and not less.")),),
            remedy=phrase("Ask whether the assessors scored independently of each other."),
        )


def _confidence(fit: Fit, comparison: Comparison | None, advised: Alert | None) -> Iterator[Alert]:
    """Say where the scores contradict that declared confidence tells anything.

    ``advised`` is the alert that says how the method that the scores support is asked for, if there is one.
    """
    if comparison is None:
        return
    from evenhand.answers.support import worth_of_confidence

    worth = worth_of_confidence(comparison)
    if worth is None or not worth.is_idle:
        return
    is_off = worth.verdict == "misleads"
    yield Alert(
        "check",
        "confidence",
        worth.headline,
        (
            (
                worth.line(decimals(float(np.ptp(fit.panel.score)))),
                "" if is_off else phrase("Counting them more gains nothing."),
            ),
        ),
        remedy=_uncounted(fit, comparison, advised),
    )


def _uncounted(fit: Fit, comparison: Comparison, said: Alert | None) -> str:
    """Return how declared confidence is made to count for nothing: by the method that the scores support, if that."""
    from evenhand.answers.support import asked_by, supported

    advised = supported(fit, comparison).method
    other = next((row.fit for row in comparison.methods if row.method == advised), None)
    if other is None or other.model.uses_confidence:
        return phrase("Let it count for nothing: `{option}`.", option=argument("power", 0))
    if said is not None:
        return phrase("The method that the scores prefer ignores declared confidence.")
    return phrase(
        "Let it count for nothing: `{option}`, the method that the scores support.", option=asked_by(other.model)
    )


def _beyond(fit: Fit) -> Iterator[Alert]:
    """Say which values lie beyond the ends of the scale that scores show."""
    score, values = fit.panel.score, fit.values
    if values.scale is not None or not fit.is_calibrated or fit.panel.turned is not None:
        return
    low, high = float(score.min()), float(score.max())
    step = 10.0 ** -decimals(float(np.ptp(score)))
    ends = (
        (
            values.estimate > high + step,
            int((score == high).sum()),
            phrase("above {end}, the highest score, since strictness is taken out.", end=f"{high:g}"),
        ),
        (
            values.estimate < low - step,
            int((score == low).sum()),
            phrase("below {end}, the lowest score, since generosity is taken out.", end=f"{low:g}"),
        ),
    )
    found = [
        ([values.labels[at] for at in np.flatnonzero(is_beyond).tolist()], words)
        for is_beyond, count, words in ends
        if count >= _ENDS and is_beyond.any()
    ]
    beyond = [label for labels, _words in found for label in labels]
    if beyond:
        noun = fit.panel.noun
        yield Alert(
            "note",
            "beyond_scale",
            phrase("1 value lies beyond the ends of the scale")
            if len(beyond) == 1
            else phrase("{count} values lie beyond the ends of the scale", count=f"{len(beyond):,}"),
            tuple((f"{called_some(labels, sentence(noun), 12)}:", words) for labels, words in found),
            where=name_some(beyond),
            objects=tuple(beyond),
            remedy=phrase(
                "If marks end there, say so: `{option}`.",
                option=by_door(f"scores=Bounded({low:g}, {high:g})", f"--bounds {low:g},{high:g}"),
            ),
        )
