"""Sentences of summaries and reports: notes on a fit, the decision, and how it was made, for minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from evenhand.answers.decision import Decision, why_unsafe
from evenhand.answers.fingerprint import Fingerprint
from evenhand.answers.ranking import Ranking
from evenhand.errors import Problem
from evenhand.models.average import SA
from evenhand.models.fit import Fit
from evenhand.models.noise import lifted_words
from evenhand.solve.choose import DENSE
from evenhand.words import count_of, name_some, percent, sentence

NAMED: Final = 30
"""Up to this many objects are named in a sentence."""

_GROUPS: Final = 6
"""Of up to this many groups the leader is named."""

_CONFIDENCE: Final = {
    "uncertainty": "weighted by the standard deviations that the assessors declared",
    "confidence": "weighted by the confidences that the assessors declared",
    "level": "weighted by the assessors' declared levels of confidence",
}


def sampling_notes(fit: Fit) -> list[Problem]:
    """Return in words how far standard deviations may be off, where they were estimated by sampling."""
    solver = fit.posterior.solver
    error = 0.0 if solver is None or fit.values.sd is None else solver.diagonal_error / 2
    if error == 0:
        return []
    off = f"estimated by sampling, with a typical error of {100 * error:.2g} % of each standard deviation"
    if min(fit.panel.n_objects, fit.panel.n_assessors) > DENSE:
        message = f"the panel is too large for exact standard deviations and leverages: they were {off}."
    else:
        message = f"standard deviations and leverages were {off}: the direct solver has exact ones."
    return [Problem("sampled", message)]


def noise_notes(fit: Fit) -> list[Problem]:
    """Return in words whether declared uncertainties are believable: R against chi-square with nu degrees."""
    p_value = fit.noise_p_value
    if p_value is None or fit.panel.confidence != "uncertainty":
        return []
    ratio = fit.residual / fit.degrees_of_freedom
    shown = f"p = {p_value:.2g}" if p_value > 1e-12 else "p < 1e-12"
    if p_value >= 0.05:
        text = f"the declared uncertainties are believable (chi-square test of w = 1: {shown})."
    else:
        word, factor = ("small", ratio) if ratio > 1 else ("large", 1 / ratio)
        text = (
            f"the declared uncertainties look too {word}, by a factor of about {np.sqrt(factor):.2g} "
            f"(chi-square test of w = 1: {shown})."
        )
    return [Problem("declared_uncertainties", text)]


def confidence_words(found: Mapping[str, Any]) -> str:
    """Return what the scores tell about declared confidence, from its power and factor with their intervals."""
    low, high = found["lower"], found["upper"]
    shown = f"power {found['power']:.2f}"
    if low is None:
        return f"{shown}; 0 would mean that declared confidence says nothing, 1 that it is as declared."
    if low <= 0 <= high:
        verdict = "no sign that declared confidence carries information"
        verdict += ", nor that it does not" if low <= 1 <= high else ""
    elif high < 0:
        verdict = "declared confidence misleads: sure scores are further off than unsure ones"
    elif low <= 1 <= high:
        verdict = "declared confidence carries information, as much as declared"
    else:
        verdict = f"declared confidence carries information, but {'less' if high < 1 else 'more'} than declared"
    text = f"{verdict} ({shown}, {low:.2f} to {high:.2f}; 0 is none, 1 as declared)."
    if found["factor"] is not None:
        text += (
            f" Neighbouring levels differ by a factor of {found['factor']:.2f} in uncertainty "
            f"({found['factor_lower']:.2f} to {found['factor_upper']:.2f})."
        )
    return text


def no_decision_words(fit: Fit, top: int | None, reason: str) -> list[str]:
    """Return why there is no decision, and what the values say all the same."""
    labels, estimate, component = fit.values.labels, fit.values.estimate, fit.values.component
    said = [f"No {'ranks' if top is None else 'decision'} can be given. {reason}"]
    groups = int(component.max()) + 1
    firsts = [
        members[np.argsort(-estimate[members], kind="stable")].tolist()
        for members in (np.flatnonzero(component == group) for group in range(groups))
    ]
    if groups > 1:
        highest = [
            f"{labels[order[0]]} ({estimate[order[0]]:.1f}) in group {at + 1}" for at, order in enumerate(firsts)
        ]
        said.append(f"The highest value of each group: {name_some(highest, _GROUPS)}.")
    elif top is not None:
        rank = fit.values.rank  # those who share the last place are all named
        named = [labels[at] for at in firsts[0] if rank[at] <= top]
        tie = ", of whom some are level" if len(named) > top else ""
        said.append(f"By value alone, and nobody can say how surely, the first {top:,} are {_named(named)}{tie}.")
    else:
        said.append(_highest(fit, firsts[0][0]))
    return said


def decision_words(fit: Fit, ranking: Ranking, decision: Decision | None, averages: Fit) -> list[str]:
    """Return the decision in plain words, a sentence or two a paragraph."""
    if decision is None:
        return _leading(fit, ranking)
    places, inside, undecided = decision.places, decision.inside, decision.undecided
    share = percent(ranking.interval)
    safe = f"Safely in are {_named(inside)}." if inside else "None of them is safely in."
    others = "All others are safely out." if decision.outside else "None is safely out."
    said = [
        f"{places:,} of {count_of(fit.panel.n_objects, 'object')} are to be chosen. "
        f"{safe} For {count_of(places - len(inside), 'place')} the scores cannot separate "
        f"{count_of(len(undecided), 'object')}: {_named(undecided)}. {others}"
        if undecided
        else f"{places:,} of {count_of(fit.panel.n_objects, 'object')} are to be chosen, and the scores separate them "
        f"from all others: {_named(inside)}."
    ]
    said.append(
        f"“Safely” means that the {share} interval of the rank lies on one side of the line between places {places:,} "
        f"and {places + 1:,}."
        if decision.caution is None
        else f"{sentence(decision.caution)}."
    )
    if decision.drawn is not None:
        said.append(
            f"The open places were drawn by lot with seed {decision.lottery_seed}, in this order: "
            f"{_named(decision.drawn)}."
        )
    said += _changes(fit, averages, places)
    return said


def _named(labels: Sequence[str]) -> str:
    return name_some(list(labels), NAMED) if labels else "none"


def _leading(fit: Fit, ranking: Ranking) -> list[str]:
    """Return who is ahead, and who may be."""
    first, *rest = np.argsort(-fit.values.estimate, kind="stable").tolist()
    others = [fit.values.labels[at] for at in rest if ranking.rank_lower[at] == 1]
    share, caution = percent(ranking.interval), why_unsafe(fit)
    said = f"No other may be first, by the {share} intervals of ranks."
    if caution is not None:
        said = f"{sentence(caution)}."
    elif others:
        said = f"The scores do not rule out ({share} intervals of ranks) that another is first: {_named(others)}."
    return [_highest(fit, first), said]


def _highest(fit: Fit, at: int) -> str:
    return f"The highest value is that of {fit.values.labels[at]}, {fit.values.estimate[at]:.1f}."


def _changes(fit: Fit, averages: Fit, places: int) -> list[str]:
    """Return who would not be chosen by plain averages."""
    if fit.model == SA:
        return []
    labels = fit.values.labels
    ours, theirs = (
        {labels[at] for at in np.argsort(-one.values.estimate, kind="stable")[:places].tolist()}
        for one in (fit, averages)
    )
    enter, leave = sorted(ours - theirs), sorted(theirs - ours)
    if not enter:
        return [f"Plain averages would put the same {places:,} first."]
    return [
        f"Plain averages would put {count_of(len(leave), 'other object')} among the first {places:,}: {_named(leave)} "
        f"in place of {_named(enter)}."
    ]


def method_words(fit: Fit, ranking: Ranking | None, mark: Fingerprint) -> str:
    """Return how the values were found, in words that can be pasted into minutes."""
    panel = fit.panel
    said = [
        f"{count_of(panel.n_objects, 'object')} {'was' if panel.n_objects == 1 else 'were'} scored by "
        f"{count_of(panel.n_assessors, 'assessor')} in {count_of(panel.n_assessments, 'assessment')}."
    ]
    weighted = _CONFIDENCE.get(panel.confidence, "")
    if fit.model == SA:
        said.append("The value of an object is the plain average of its scores.")
    elif not fit.is_calibrated:
        said.append(f"The value of an object is the average of its scores, {weighted or 'with equal weights'}.")
    else:
        said.append(
            "Each score was taken to be the value of the object plus the bias of the assessor plus noise, and values "
            "and biases were found from all scores together (R. S. MacKay, R. Kenna, R. J. Low and S. Parker, "
            "Calibration with confidence, Royal Society Open Science 4, 160760, 2017)"
            + (f", {weighted}" if weighted and fit.model.uses_confidence else "")
            + "."
        )
    groups = int(fit.values.component.max()) + 1
    if groups > 1:
        said.append(
            f"The panel falls into {groups:,} groups that share neither assessor nor object: each was calibrated on "
            "its own, and values of different groups cannot be compared."
        )
    if not fit.model.is_plain:
        said.append(f"The method was {fit.model.name} ({fit.method}).")
    if panel.factor is not None and fit.model.uses_confidence:
        said.append(
            f"From one level of confidence to the next the standard deviation changes by a factor {panel.factor:g}."
        )
    said.append(_noise(fit))
    if ranking is not None:
        said.append(
            f"Ranks and chances come from {ranking.draws:,} draws from the posterior, seed {ranking.seed}; intervals "
            f"have probability {percent(fit.values.interval)}."
        )
    said.append(f"Computed with evenhand {mark.version}; fingerprint {mark.whole[:16]}.")
    return " ".join(part for part in said if part)


def _noise(fit: Fit) -> str:
    noise, variance, step = fit.posterior.noise, fit.noise_variance, fit.panel.step
    if noise.is_lifted and step is not None:
        return f"{sentence(lifted_words(noise, step))}."
    if noise.kind == "declared":
        return "Declared uncertainties were taken at face value."
    if variance is None:
        return f"Standard deviations are not given, since {noise.reason}."
    return f"The noise was estimated from the scores ({count_of(fit.degrees_of_freedom, 'degree')} of freedom)."
