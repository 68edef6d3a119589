"""What may be wrong, before what was found: a short list, the most serious first, which every door shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.answers.alert import LARGEST, LINES, Alert, Outcome
from evenhand.answers.decision import Decision, in_order
from evenhand.answers.far_scores import far_scores, named, place_of, written
from evenhand.compiled import sum_by
from evenhand.look import status_word
from evenhand.models.fit import Fit
from evenhand.words import (
    again,
    argument,
    by_door,
    called,
    called_some,
    count_of,
    decimals,
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

_GROUPS, _FIRST, _MEMBERS, _JOINS = 4, 3, 5, 3
"""Groups that are named, objects and assessors of each, and assessments that would join them."""

_ENDS: Final = 3
"""Scores at the highest, or the lowest, mark from which that is taken for an end of the scale."""


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
    ['Check 2 proposals: each would cross the line without one assessor']
    """
    found = [*_groups(fit), *far_scores(fit, decision)]
    if provisional(found) is not None:  # all else would be said of scores that must be checked first
        return found
    found[:0] = _assumed(fit)
    if decision is not None:
        from evenhand.answers.hanging import hanging

        found += hanging(decision, deletions)
        found += _supported(decision, comparison)
        found += _thin(decision)
        found += _tie(decision)
    elif not fit.connectivity.is_connected:
        found += _supported_in_groups(fit, comparison)
    found += _agreement(fit, decision)
    found += _confidence(fit, comparison, next((one for one in found if one.kind == "other_method"), None))
    found += _outliers(fit, decision)
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


def without_words(found: Sequence[Alert], fit: Fit) -> str:
    """Return that a fit is without what must be checked, and where that is; empty where it is not."""
    first = next((one for one in found if len(one.outcomes) > 1 and one.outcomes[-1].fit is fit), None)
    if first is None:
        return ""
    return f"Provisional, {first.outcomes[-1].assuming}: {lowered(first.headline)} ({first.where})."


def all_clear(
    found: Sequence[Alert], fit: Fit, decision: Decision | None, *, deletions: Sequence[WithoutAssessor] | None = None
) -> list[str]:
    """Return that nothing need be checked, and what is to be known all the same, a line each.

    Nothing where something must be checked. The last argument is that of :func:`alerts`.
    """
    if any(one.level != "note" for one in found):
        return []
    said = [_nothing_found(found, decision, bool(deletions) and _is_looked_through(fit))]
    if decision is not None and deletions:
        from evenhand.answers.hanging import crossings, open_crossing

        said.append(open_crossing(decision, crossings(decision, deletions))[0])
    said.append(_named_notes(found))
    return [one for one in said if one]


def looked_at(
    fit: Fit,
    decision: Decision | None,
    *,
    comparison: Comparison | None = None,
    deletions: Sequence[WithoutAssessor] | None = None,
) -> str:
    """Return what was looked at before nothing was found, in a sentence; the arguments are those of :func:`alerts`."""
    from evenhand.answers.support import worth_of_confidence

    looked = [
        (_is_looked_through(fit), phrase("scores far from all others")),
        (
            decision is not None and bool(deletions),
            phrase("whether those in or out would cross the line without one assessor"),
        ),
        (decision is not None and comparison is not None, phrase("what other methods decide")),
        (decision is not None, phrase("thin evidence and equal values at the line")),
        (worth_of_confidence(comparison) is not None, phrase("what declared confidence is worth")),
    ]
    things = [words for is_so, words in looked if is_so]
    return phrase("Looked at: {things}.", things="; ".join(things)) if things else ""


def _is_looked_through(fit: Fit) -> bool:
    """Return whether each score was set beside what all others predict."""
    few = fit.panel.n_assessments <= LARGEST
    return few and fit.model.why_not("refit") is None and not len(fit.model.outlying)


def _outliers(fit: Fit, decision: Decision | None) -> Iterator[Alert]:
    """Name the scores that a robust fit leaves behind, and whom it moves most that such scores count less."""
    rows = fit.model.outlying.tolist()
    if not rows:
        return
    lead = phrase("Furthest off, given the confidence declared:")
    if fit.panel.is_equally_confident or not fit.model.uses_confidence:
        lead = phrase("Furthest off:")
    moved = _most_moved(fit, decision)
    yield Alert(
        "note",
        "outliers",
        phrase("Scores count less the further they lie from all others"),
        ((lead, f"{_clauses([_outlying(fit, at, decision) for at in rows])}."), *([("", moved)] if moved else [])),
        where=name_some([place_of(fit.panel, at) for at in rows]),
        scores=tuple(rows),
    )


def _clauses(said: Sequence[str]) -> str:
    """Return clauses that may have commas of their own in a line; of many, the first and how many more."""
    more = len(said) - LINES
    return "; ".join([*said[:LINES], *([phrase("{count} more", count=f"{more:,}")] if more > 0 else [])])


def _outlying(fit: Fit, at: int, decision: Decision | None) -> str:
    """Return a score that a robust fit leaves behind, how far it is from what the fit expects, and whom it is of."""
    panel, left = fit.panel, float(fit.residuals[at])
    who, label = named(panel, at)
    if decision is not None:
        status = status_word(decision.status[panel.object_index[at]])
        label = phrase("{object} ({status})", object=label, status=status)
    given = written(panel, float(panel.score[at]))
    told = {"who": who, "object": label, "score": given, "points": number(abs(left), 1)}
    said = phrase("{score} from {who} on {object}, {points} points below what is expected", **told)
    if left > 0:
        said = phrase("{score} from {who} on {object}, {points} points above what is expected", **told)
    if panel.rows is None:
        return said
    return phrase("{score}, row {row} of the file", score=said, row=f"{panel.rows[at]:,}")


def _most_moved(fit: Fit, decision: Decision | None) -> str:
    """Return whom it moves most of those who are in or open that scores far off count less; empty for nobody."""
    from evenhand.answers.explain import explain, lost_weights

    panel = fit.panel
    if decision is None or panel.n_assessments > LARGEST:
        return ""
    by = {one.object: sum(part.amount for part in one.parts if part.kind == "noise") for one in explain(fit)}
    shown = [one for one in decision.standings if one.status != "out" and by[one.object]]
    if not shown:
        return ""
    most = max(shown, key=lambda one: abs(by[one.object]))
    own = np.flatnonzero(panel.object_index == fit.values.index_of(most.object))
    least = int(own[np.argmax(lost_weights(fit)[own])])
    told = {
        "object": called(most.object, panel.noun),
        "points": number(by[most.object], decimals(float(np.ptp(panel.score))), signed=True),
        "rank": f"{most.place:,}",
        "status": status_word(most.status or "undecided"),
        "score": written(panel, float(panel.score[least])),
        "who": named(panel, least)[0],
    }
    if not decision.inside:
        return phrase(
            "Among those who are open this by itself changes {object} most: by {points} points (now rank {rank}), "
            "because the {score} from {who} counts less.",
            **told,
        )
    return phrase(
        "Among those in or open this by itself changes {object} most: by {points} points (now rank {rank}, {status}), "
        "because the {score} from {who} counts less.",
        **told,
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


def _groups(fit: Fit) -> Iterator[Alert]:
    groups = int(fit.values.component.max()) + 1
    if groups < 2:
        return
    lines, remedy = [*_group_lines(fit)], _joining(fit)
    why = phrase("No assessor has read work of two groups, so nothing says which is better.")
    if fit.connectivity.is_connected:
        why = phrase("Nothing says whether one group is better or its assessors more generous.")
        lines = [("", phrase("All criteria together would join them; one of the criteria alone does not."))]
        remedy = phrase("Ask for the scores that a criterion lacks, or decide by the other criteria.")
    yield Alert(
        "stop",
        "groups",
        phrase("The panel falls into {groups} groups that cannot be compared", groups=groups),
        (("", why), *lines),
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
        for who, label in joins(fit)
    ]
    if len(pairs) == 1:
        return phrase(
            "One further score would join them, but only roughly, for example {score}; ask for two or three.",
            score=pairs[0],
        )
    count, scores = f"{len(pairs):,}", name_some(pairs, _JOINS)
    return phrase("{count} further scores would join them, for example {scores}.", count=count, scores=scores)


def joins(fit: Fit) -> list[tuple[str, str]]:
    """Return further assessments that would join the groups: assessor and object.

    Any assessor of a group would do. It is who has scored least of the half of the group that is nearest to what all
    others say: the word of an erratic one on another group is worth little.
    """
    panel, count = fit.panel, fit.panel.assessor_assessments
    if not fit.is_calibrated:
        return list(fit.connectivity.suggestions)
    group = np.asarray(fit.connectivity.assessor_component)
    loss = sum_by(panel.assessor_index, fit.weight * np.square(fit.residuals), panel.n_assessors)
    error = loss / np.maximum(count - 1, 1)  # one score tells the bias
    found = []
    for who, label in fit.connectivity.suggestions:
        own = group == group[panel.assessors.index(who)]
        steady = own & (error <= np.median(error[own]))
        found.append((str(panel.assessors[int(np.argmin(np.where(steady, count, np.inf)))]), label))
    return found


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
            each=rival.each,
            beside=rival.beside,
            doubtful=tuple(rival.gone) if rival.is_weighty else (),
            instead=rival.other,
        )


def _supported_in_groups(fit: Fit, comparison: Comparison | None) -> Iterator[Alert]:
    """Say whose rank within the own group is another by the method that the scores support, where that is another."""
    if comparison is None:
        return
    from evenhand.answers.support import asked_by, how_supported, method_means, preference, supported

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
    ending = phrase("it changes the order within groups")
    yield Alert(
        "note",
        "other_method",
        preference(ending, how_supported(fit, comparison)),
        ((f"{that}:", f"{means}.") if means else (f"{that}.", ""), (phrase("By it {moved}.", **told), "")),
        where=name_some([fit.values.labels[at] for at in moved]),
        objects=tuple(fit.values.labels[at] for at in moved),
        remedy=phrase(
            "Say in the minutes which method decides. To use the other: `{options}`.", options=asked_by(other.model)
        )
        if other.is_calibrated
        else phrase("Say in the minutes which method decides. Plain averages stand beside the values."),
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
    low, high = float(score.min()), float(score.max())
    if low <= values.estimate.min() and values.estimate.max() <= high:
        return
    if values.scale is not None or not fit.is_calibrated or fit.panel.turned is not None:
        return
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
