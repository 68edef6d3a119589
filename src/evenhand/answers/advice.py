"""Which model the scores support: the simplest that predicts about as well as the best, if it matters, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.heldout import HeldOut
from evenhand.compiled import Codes, Floats
from evenhand.frames import Shown
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit
from evenhand.models.refined import Refinements
from evenhand.panel.panel import Panel
from evenhand.solve.base import AT_ONCE
from evenhand.words import called, count_of

THIN: Final = 10
"""With fewer scores than this that others can predict, or fewer degrees of freedom than half of it, none is advised."""

NOTHING: Final = 2.0
"""A difference in log probability, over all scores together, that is next to nothing."""

CLEARLY, BY = 2.0, 0.01
"""Squared errors on held-out scores are clearly larger where their mean difference is more than so many of its standard
errors, and more than this part of their mean."""

SURE, UNSURE = 0.9, 0.75
CERTAIN: Final = 0.99
"""It matters where one method is sure of the order of two objects, and another unsure; or one certain, and another not
even sure."""

_TIED: Final = 1e-6
"""Of methods that are as close as this in mean log probability, the first is the best."""

NEIGHBOURS: Final = 0.05
"""And where an object moves by this part of all places or more."""

_OBJECTS, _FEWER = 60, 12
"""Objects, evenly over the ranking, whose order is asked for: all pairs of them; fewer on large panels."""

_MANY: Final = 20_000
"""Panels of more scores than this are tried with the quick refinements only."""

_WORK: Final = 6
"""Assessors must have this many scores on average before scales and noise factors of their own are tried."""


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation(Shown):
    """The method that the data support, and why.

    Attributes
    ----------
    method
        The method, or None where the panel is too thin to tell.
    reason
        The reason, in a sentence.
    """

    method: str | None
    reason: str

    def columns(self) -> dict[str, list[Any]]:
        """Return the method and the reason as columns of one row."""
        return {"method": [self.method], "reason": [self.reason]}

    def __str__(self) -> str:
        return f"{self.method or 'none'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommendation, and how far each method's predictions fall behind the best.

    Attributes
    ----------
    recommendation
        The recommendation.
    behind
        By method, the mean loss of log probability of held-out scores beside the best method, and its standard error.
    """

    recommendation: Recommendation
    behind: Mapping[str, tuple[float, float]]


def applicable(panel: Panel) -> list[Refinements]:
    """Return the refinements worth trying on a panel, from the simplest.

    Shrinkage always; without declared confidences where they differ; power, scales, noise factors and heavy tails on
    panels of some size. Bounds, steps and covariates are known only to the user.
    """
    differ = float(np.ptp(np.log(panel.precision))) > 0
    found = [Refinements(shrink=True)]
    if differ:
        found.insert(0, Refinements(shrink=True, power=0.0))
    if panel.n_assessments > _MANY:
        return found
    work = panel.n_assessments / panel.n_assessors
    if differ:
        found.append(Refinements(shrink=True, power="estimated"))
    found.append(Refinements(shrink=True, tails="student"))
    if work >= _WORK and panel.n_assessors >= 3:
        found.append(Refinements(shrink=True, calibrate_confidence=True))
        found.append(Refinements(shrink=True, scale=True))
    return found


def advise(fits: Mapping[str, Fit | None], predicted: Mapping[str, HeldOut], predictable: NDArray[np.bool_]) -> Advice:
    """Return the simplest method that predicts held-out scores about as well as the best, where that matters.

    A method is out of question if its squared errors are clearly larger than another's: their mean difference, score by
    score, is more than twice its standard error (and 1% of their mean). Of the others the simplest is taken whose mean
    log probability is within one standard error of the best's (Breiman's rule), the difference, score by score, being
    not more than twice its own standard error; differences that are next to nothing in all do not count. A simpler one
    still takes its place if the difference does not matter: if no object moves by a twentieth of all places, and there
    are no two objects of whose order one of the methods is 90% sure and the other less than 75%, or one 99% and the
    other less than 90%.

    One method is simpler than another if it assumes part of what the other does: nothing but averages, biases, or
    refinements besides. Of rivals, such as weights by confidence and equal ones, heavy tails and scales, a bounded
    scale and categories, that one is taken which predicts better. Scores of one object, or by one assessor, err
    together; standard errors are those between these where they are larger.

    Parameters
    ----------
    fits
        Fits by method, from the simplest to the richest; None where a method could not be computed.
    predicted
        How well each predicts held-out scores.
    predictable
        Which scores all of them can predict.
    """
    count = int(predictable.sum())
    scores = {method: one.log_score[predictable] for method, one in predicted.items() if fits.get(method) is not None}
    scores = {method: found for method, found in scores.items() if count and np.isfinite(found).all()}
    if not scores:
        return Advice(Recommendation(None, _THIN), {})
    first = max(scores, key=lambda method: float(scores[method].mean()))
    known = {method: fit for method, fit in fits.items() if fit is not None and method in scores}
    panel = next(iter(known.values())).panel
    loss = partial(mean_loss, (panel.object_index[predictable], panel.assessor_index[predictable]))
    behind = {method: loss(scores[first] - found) for method, found in scores.items()}
    calibrated = [fit for fit in fits.values() if fit is not None and fit.posterior.condition is not None]
    slack = min((fit.degrees_of_freedom for fit in calibrated), default=0)
    offered = [method for method, fit in known.items() if fit.model.is_offered]
    if count < THIN or (calibrated and slack < THIN / 2) or not offered:
        return Advice(Recommendation(None, _THIN), behind)
    squares = {method: np.square(predicted[method].error[predictable]) for method in offered}
    sound = [one for one in offered if not any(_is_clearly_larger(squares[one], squares[two], loss) for two in offered)]
    highest = max(float(scores[method].mean()) for method in sound)
    best = next(method for method in sound if float(scores[method].mean()) > highest - _TIED)
    assumed = {method: _assumed(method, known[method]) for method in sound}
    chosen = _simplest(assumed, best, scores, loss)
    for simpler in [method for method in sound if assumed[method] < assumed[chosen]]:
        change = changes(known[simpler], known[chosen])
        if not change.matters:
            same = "much the same" if change.moved else "the same"
            reason = (
                f"{_named(known[simpler])} is simpler, and the ranking would be {same}: {_named(known[chosen])} "
                f"predicts held-out scores better by {_loss(loss(scores[chosen] - scores[simpler])[0])}, and "
                f"{change.in_words}."
            )
            return Advice(Recommendation(simpler, reason + _aside(first, best, fits, behind)), behind)
    reason = _reason(chosen, best, {method: loss(scores[best] - scores[method]) for method in sound}, known)
    return Advice(Recommendation(chosen, reason + _aside(first, best, fits, behind)), behind)


Loss = Callable[[Floats], tuple[float, float]]
"""From losses, score by score, to their mean and its standard error."""


def mean_loss(groups: Sequence[Codes], loss: Floats) -> tuple[float, float]:
    """Return the mean of a loss and its standard error, that between groups of scores where it is larger."""
    if loss.size < 2:
        return float(loss.mean()), np.inf
    away = loss - loss.mean()
    error = float(away @ away) * loss.size / (loss.size - 1)
    for group in groups:
        count = np.unique(group).size
        if count > 1:
            error = max(error, float(np.square(np.bincount(group, away)).sum()) * count / (count - 1))
    return float(loss.mean()), float(np.sqrt(error)) / loss.size


def _is_clearly_larger(one: Floats, other: Floats, loss: Loss) -> bool:
    mean, error = loss(one - other)
    return mean > max(CLEARLY * error, BY * float(other.mean()))


def _assumed(method: str, fit: Fit) -> frozenset[str]:
    """Return what a method assumes beyond averages: biases and refinements; weights by confidence were declared."""
    refinements = method.split("+")[1:]
    return frozenset(["biases", *refinements] if fit.is_calibrated else refinements)


def _simplest(assumed: Mapping[str, frozenset[str]], best: str, scores: Mapping[str, Floats], loss: Loss) -> str:
    """Return the simplest method whose predictions are about as probable as those of the best; of rivals the better."""
    nothing = NOTHING / scores[best].size
    margin = float(scores[best].std(ddof=1) / np.sqrt(scores[best].size))
    behind = {method: loss(scores[best] - scores[method]) for method in assumed}
    good = [
        method
        for method, (mean, error) in behind.items()
        if mean <= nothing or (assumed[method] < assumed[best] and mean <= min(margin, 2 * error))
    ]
    simplest = [method for method in good if not any(assumed[other] < assumed[method] for other in good)]
    least = min(simplest, key=lambda method: behind[method][0])
    return next(
        method
        for method, (mean, _) in behind.items()
        if assumed[method] <= assumed[least] and mean <= behind[least][0] + nothing
    )


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the ranking if one method takes the place of another.

    Attributes
    ----------
    moved, objects
        How many objects change places, and how many there are, with their noun.
    label, before, after
        The object that moves furthest, and its ranks: within its group where groups cannot be compared.
    methods
        What the two methods are called.
    telling
        Two objects of whose order one of the methods is sure and the other is unsure, or one certain and the other not
        sure, and by either the probability that the first is better than the second; None where there are no such two.
    """

    moved: int
    objects: int
    label: str
    before: int
    after: int
    methods: tuple[str, str]
    telling: tuple[str, str, float, float] | None
    noun: str = "object"
    is_grouped: bool = False

    @property
    def matters(self) -> bool:
        """Whether there are two such objects, or one moves further than neighbours that change places."""
        far = max(1, self.objects * NEIGHBOURS)
        return self.telling is not None or abs(self.after - self.before) >= far

    @property
    def in_words(self) -> str:
        """What it comes to, without a full stop."""
        one, other = (_quoted(name) for name in self.methods)
        if not self.moved:
            moves = f"no {self.noun} changes places"
        else:
            moves = (
                f"{self.moved:,} of {count_of(self.objects, self.noun)} {'changes' if self.moved == 1 else 'change'} "
                f"places{' within their groups' if self.is_grouped else ''}, {called(self.label, self.noun)} from "
                f"{self.before} by {one} to {self.after} by {other}"
            )
        if self.telling is None:
            return moves
        above, below, old, new = self.telling
        first, second = called(above, self.noun), called(below, self.noun)
        return (
            f"{moves}; that {first} is better than {second} has probability {old:.2f} by {one} and {new:.2f} by {other}"
        )


def changes(simple: Fit, rich: Fit) -> Change:
    """Return what becomes of the ranking if a richer method takes the place of a simpler one.

    Within groups, where the panel has groups that the scores alone cannot compare. Chances are those for the best
    variances.
    """
    groups = rich.connectivity.object_component
    before, after = simple.values.ranks_within(groups), rich.values.ranks_within(groups)
    furthest = int(np.argmax(np.abs(after - before)))
    above, below = _pairs(after, groups, _OBJECTS if rich.panel.n_assessments <= _MANY else _FEWER)
    old, new = _chances(simple, above, below), _chances(rich, above, below)
    most, least = np.maximum(old, new), np.minimum(old, new)
    tell = ((most >= SURE) & (least < UNSURE)) | ((most >= CERTAIN) & (least < SURE)) | (old <= 1 - SURE)
    tells = np.where(tell, np.abs(new - old), 0.0)
    labels, telling = rich.values.labels, None
    if tells.any():
        at = int(np.argmax(tells))
        telling = (str(labels[int(above[at])]), str(labels[int(below[at])]), float(old[at]), float(new[at]))
    moved = int((before != after).sum())
    return Change(
        moved=moved,
        objects=before.size,
        label=str(labels[furthest]),
        before=int(before[furthest]),
        after=int(after[furthest]),
        methods=(simple.name, rich.name),
        telling=telling,
        noun=rich.panel.noun,
        is_grouped=bool(groups.any()),
    )


def _pairs(rank: Codes, group: Codes, most: int) -> tuple[Codes, Codes]:
    """Return pairs of objects of the same group, the first of which has the better rank."""
    order = np.lexsort((rank, group))
    order = order[np.unique(np.linspace(0, order.size - 1, min(most, order.size)).round().astype(np.int64))]
    first, second = np.triu_indices(order.size, 1)
    above, below = order[first], order[second]
    alike = group[above] == group[below]
    return above[alike], below[alike]


def _chances(fit: Fit, above: Codes, below: Codes) -> Floats:
    """Return the probability that each object is better than another; one half where nothing is known of it."""
    posterior, chance = replace(fit.posterior, others=None), np.full(above.size, 0.5)
    step = max(1, AT_ONCE // fit.panel.n_objects)
    for start in range(0, above.size, step):
        one, other = above[start : start + step], below[start : start + step]
        found = posterior.of_differences(one.tolist(), other.tolist()).cdf(
            fit.values.latent[one] - fit.values.latent[other]
        )
        if found is not None:
            chance[start : start + step] = found
    return chance


_THIN: Final = "this panel is too thin to tell: hardly any score can be predicted from the others."


def _reason(chosen: str, best: str, losses: Mapping[str, tuple[float, float]], fits: Mapping[str, Fit]) -> str:
    """Return the reason for a choice, in a sentence or two."""
    name = fits[chosen].name
    behind, error = losses[chosen]
    simplest = next(iter(fits))
    if chosen == best:
        others = sorted((mean, one) for one, (mean, _) in losses.items() if fits[one].name != name)
        second = f" (next is {_named(fits[others[0][1]])}, behind by {_loss(others[0][0])})" if others else ""
        reason = f"{_quoted(name)} predicts held-out scores best{second}"
    elif not fits[chosen].is_calibrated:
        return (
            f"no method predicts held-out scores clearly better than {_quoted(name)}: the best, {_named(fits[best])}, "
            f"is ahead by {_loss(behind)}, standard error {small(error)}."
        )
    else:
        reason = (
            f"{_quoted(name)} is the simplest method that predicts held-out scores about as well as the best, "
            f"{_named(fits[best])}: it is behind by {_loss(behind)}, standard error {small(error)}"
        )
    if chosen == simplest:
        return f"{reason}."
    return f"{reason}. Beside {_named(fits[simplest])}, {changes(fits[simplest], fits[chosen]).in_words}."


def small(number: float) -> str:
    """Return a small number with two digits, or four decimals if these are fewer.

    Examples
    --------
    >>> small(0.1257), small(0.000769), small(5.7e-05), small(2e-06)
    ('0.13', '0.0008', '0.0001', 'less than 0.0001')
    """
    if 0 < abs(number) < 0.00005:
        return "less than 0.0001"
    return f"{number:.2g}" if abs(number) >= 0.01 or not number else f"{number:.4f}".rstrip("0")


def _loss(mean: float) -> str:
    return f"{small(mean)} in log probability per score"


def _named(fit: Fit) -> str:
    return _quoted(fit.name)


def _quoted(name: str) -> str:
    """Return the name of a method for a sentence: in quotation marks where it has a comma."""
    return f"“{name}”" if "," in name else name


def _aside(first: str, best: str, fits: Mapping[str, Fit | None], behind: Mapping[str, tuple[float, float]]) -> str:
    """Return what else is to be said: of methods that cannot be computed, and of one that is not offered."""
    said = []
    missing = [method for method, fit in fits.items() if fit is None and method in METHODS]
    if missing:
        said.append(f"Not compared: {' and '.join(missing)}, which cannot be computed for this panel.")
    fit = fits[first]
    if fit is not None and not fit.model.is_offered:
        said.append(
            f"The {fit.name} predict held-out scores better still, by {small(behind[best][0])} per score, but "
            "cannot say how sure they are."
        )
    return "".join(f" {one}" for one in said)
