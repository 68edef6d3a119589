"""Scores far from what all others predict: what looks mistyped, what was probably meant, and what would come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from evenhand.answers.alert import LARGEST, LINES, Alert, Outcome
from evenhand.answers.decision import Decision, in_order
from evenhand.answers.heldout import BRIDGE, leverages
from evenhand.compiled import Floats
from evenhand.errors import EvenhandError
from evenhand.models.additive import CWC
from evenhand.models.fit import Fit
from evenhand.models.noise import noise_floor
from evenhand.panel.panel import Panel
from evenhand.words import (
    NAMED,
    argument,
    called,
    name_some,
    number,
    phrase,
    sentence,
)

_SLIP, _FAR = 1e-6, 1e-3
"""A score that chance would put so far from what all others predict in one of so many panels: a slip, or far off."""

_BEYOND, _ALONE = 3.0, 10.0
"""How many times the spread of the middle half of all scores a slip lies outside of it: if others contradict it; if
nothing else on the object is anywhere near."""


def far_scores(fit: Fit, decision: Decision | None) -> Iterator[Alert]:
    """Say which scores look mistyped, else which are far from what all others predict."""
    panel = fit.panel
    if panel.n_assessments > LARGEST or fit.model.why_not("refit") is not None:
        return
    surprise = surprise_of(fit, limit=_FAR / panel.n_assessments)
    confirmed, found = confirmed_scores(panel), _slips(panel, surprise)
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
            tuple(_slip_line(panel, at) for at in sorted(kept)[:LINES]),
            where=name_some([place_of(panel, at) for at in sorted(kept)]),
        )
    if far:
        yield Alert(
            "check",
            "far_score",
            phrase("1 score is far from what all others predict")
            if len(far) == 1
            else phrase("{count} scores are far from what all others predict", count=f"{len(far):,}"),
            tuple(_far_line(fit, at) for at in far[:LINES]),
            where=name_some([place_of(panel, at) for at in far]),
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
    confirmed = confirmed_scores(panel)
    slips = [at for at in _slips(panel, surprise_of(fit)) if at not in confirmed]
    guesses = [_meant(panel, at, np.delete(panel.score, slips)) for at in slips]
    return {at: None if guess is None else guess[0] for at, guess in zip(slips, guesses, strict=True)}


def _plain_fit(fit: Fit) -> Fit:
    """Return a fit by which scores are looked through: the same whatever the method of the answer."""
    if fit.model.is_plain and fit.is_calibrated:
        return fit
    return CWC(fit.panel, per_component=not fit.connectivity.is_connected)


def surprise_of(fit: Fit, *, limit: float = 1.0) -> Floats:
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


def confirmed_scores(panel: Panel) -> set[int]:
    """Return the scores that somebody has looked at and found right."""
    places = () if panel.reading is None else panel.reading.confirmed
    if not places or panel.rows is None:
        return set()
    rows = np.flatnonzero(np.isin(panel.rows, [int(one.partition(":")[0]) for one in places])).tolist()
    cells = {at: panel.cell_of(at) for at in rows}
    return {at for at, cell in cells.items() if cell is not None and f"{cell[0]}:{cell[1]}" in places}


def written(panel: Panel, score: float) -> str:
    """Return a score as it stands in the file, with the real minus sign."""
    return f"{score if panel.turned is None else panel.turned - score:g}".replace("-", "−")


def place_of(panel: Panel, at: int, *, is_bare: bool = True) -> str:
    """Return whose score of what, with its row where that is known."""
    assessor, label = named(panel, at, is_bare=is_bare)
    if panel.rows is None:
        return phrase("{assessor} on {object}", assessor=assessor, object=label)
    return phrase("row {row}, {assessor} on {object}", row=f"{panel.rows[at]:,}", assessor=assessor, object=label)


def named(panel: Panel, at: int, *, is_bare: bool = False) -> tuple[str, str]:
    """Return who gave a score, and to what."""
    assessor, label = panel.assessors[panel.assessor_index[at]], panel.objects[panel.object_index[at]]
    return called(assessor, "assessor", is_bare=is_bare), called(label, panel.noun, is_bare=is_bare)


def _mistyped(fit: Fit, decision: Decision | None, slips: Sequence[int]) -> Alert:
    """Return the alert for scores that look mistyped, with what would come out otherwise."""
    panel = fit.panel
    rest = np.delete(panel.score, slips)
    lines = [_slip_line(panel, at) for at in slips[:LINES]]
    ends = [written(panel, end) for end in sorted((rest.min(), rest.max()), reverse=panel.turned is not None)]
    lines.append(("", phrase("All other scores lie between {low} and {high}.", low=ends[0], high=ends[1])))
    who = name_some(list(dict.fromkeys(named(panel, at)[0] for at in slips)), 3)
    is_one = len(slips) == 1
    return Alert(
        "stop",
        "mistyped",
        phrase("One score must be checked")
        if is_one
        else phrase("{count} scores must be checked", count=f"{len(slips):,}"),
        tuple(lines),
        where=name_some([place_of(panel, at) for at in slips]),
        remedy=phrase("Ask {who}; correct it in the file, or leave it out.", who=who)
        if is_one
        else phrase("Ask {who}; correct them in the file, or leave them out.", who=who),
        outcomes=tuple(_outcomes(fit, decision, slips)),
        scores=tuple(slips),
    )


def _slip_line(panel: Panel, at: int) -> tuple[str, str]:
    assessor, label = named(panel, at)
    same = panel.object_index == panel.object_index[at]
    same[at] = False
    others = [written(panel, score) for score in panel.score[same].tolist()]
    beside = phrase("There is no other score.")
    if len(others) == 1:
        beside = phrase("The other score of {object} is {score}.", object=label, score=others[0])
    elif others:
        scores = name_some(others)
        if len(others) <= NAMED:
            scores = phrase("{scores} and {last}", scores=name_some(others[:-1]), last=others[-1])
        beside = phrase("The other scores of {object} are {scores}.", object=label, scores=scores)
    told = {"who": assessor, "object": label, "score": written(panel, panel.score[at])}
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
        entered = phrase("{score}, as entered", score=written(panel, panel.score[first]))
    cases: list[tuple[str, Callable[[], Fit]]] = [(entered, lambda: fit)]
    rest = np.delete(panel.score, slips)
    meant = [_meant(panel, at, rest) for at in slips]
    known = [one for one in meant if one is not None]
    if len(known) == len(slips):
        score = np.array(panel.score)
        score[list(slips)] = [number for number, _ in known]
        words = f"{written(panel, known[0][0])}, {known[0][1]}" if len(slips) == 1 else phrase("corrected")
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


def error_of(fit: Fit, at: int) -> float:
    """Return how far a score is from what all others predict, by the fit that says how surprising that is."""
    plain = _plain_fit(fit)
    return float(plain.residuals[at] / (1.0 - leverages(plain)[at]))


def _far_line(fit: Fit, at: int) -> tuple[str, str]:
    panel, error, digits = fit.panel, error_of(fit, at), 1
    off = number(abs(error), digits, in_sentence=True)
    said = phrase("It is {points} points below what all other scores predict.", points=off)
    if error > 0:
        said = phrase("It is {points} points above what all other scores predict.", points=off)
    return f"{sentence(place_of(panel, at, is_bare=False))}: {written(panel, panel.score[at])}.", said
