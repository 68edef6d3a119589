"""What the differences between the averages of objects are made of: variances of values, of biases and of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats, sum_by
from evenhand.errors import EvenhandError, Problem
from evenhand.models.fit import Fit
from evenhand.models.noise import noise_asked
from evenhand.models.posterior import Posterior
from evenhand.models.refined import Refinements, refine
from evenhand.panel.panel import Panel
from evenhand.words import lowered

if TYPE_CHECKING:
    from evenhand.models.setting import Node

_SLICES: Final = 9
"""The noise variance given the ratios of variances stands as this many equally probable numbers."""


def shrunk_node(fit: Fit) -> Node | None:
    """Return the fit behind one with priors of values and of biases; None where it has none, or assumes more."""
    if fit.model.behind is None:
        return None
    node = fit.model.behind.best
    setting = node.setting
    has_priors = setting.value_ratio is not None and setting.bias_ratio is not None
    is_additive = node.border is None and setting.strength is None and fit.values.scale is None
    return node if has_priors and is_additive and setting.likelihood.is_normal else None


def shrunk_fit(fit: Fit, notes: list[Problem]) -> tuple[Fit, Node] | None:
    """Return the shrunk fit of the same panel, which may be the fit itself, and what is behind it; None without."""
    known = shrunk_node(fit)
    if known is not None:
        return fit, known
    panel = fit.panel
    if float(np.ptp(panel.score)) == 0:
        notes.append(Problem("reliability", "all scores are the same: there are no differences to be explained."))
        return None
    is_declared = noise_asked(fit.posterior.noise) == "declared" and panel.confidence in ("uncertainty", "confidence")
    chosen = Refinements(shrink=True, power=1.0 if fit.model.uses_confidence else 0.0)
    try:
        found = refine(panel, chosen, noise="declared" if is_declared else "estimated", interval=fit.values.interval)
    except EvenhandError as error:
        notes.append(Problem("reliability", f"what the differences are made of cannot be told: {lowered(str(error))}"))
        return None
    if not fit.model.is_plain:
        message = (
            "shares and reliabilities are those of a fit that is pulled towards the mean and assumes nothing else."
        )
        notes.append(Problem("reliability", message))
    kept = ("no_spread", "joined_by_priors")
    notes += [note for note in found.notes if note.kind in kept]
    if fit.values.component.max():  # the method used does not join what the shrunk fit does
        message = (
            "shares and reliabilities are those of a shrunk fit, which takes the groups to be equally good, and their "
            "assessors equally strict, on the whole; the method used does not compare groups."
        )
        notes[:] = [Problem(one.kind, message) if one.kind == "joined_by_priors" else one for one in notes]
    node = shrunk_node(found)
    return None if node is None else (found, node)


@dataclass(frozen=True, eq=False)
class Parts:
    """Variances that the scores leave credible: the best estimates first, then others with their probabilities."""

    share: Floats
    value: Floats
    bias: Floats
    noise: Floats
    node: NDArray[np.int64]  # which of the credible fits each belongs to; 0 for the best one

    @classmethod
    def of(cls, shrunk: Fit, best: Node) -> Parts:
        """Return the variances of a shrunk fit."""
        share, ratios, noise, place = [0.0], [_ratios(best)], [best.w], [0]
        for at, (probability, _, node) in enumerate(shrunk.model.credible, start=1):
            credible = _credible_noise(node)
            share += [probability / len(credible)] * len(credible)
            ratios += [_ratios(node)] * len(credible)
            noise += credible
            place += [at] * len(credible)
        w = np.array(noise)
        of_values, of_biases = np.array(ratios).T * w
        return cls(np.array(share), of_values, of_biases, w, np.array(place))


def _ratios(node: Node) -> tuple[float, float]:
    """Return the variances of values and of biases over w."""
    return node.setting.value_ratio or 0.0, node.setting.bias_ratio or 0.0


def _credible_noise(node: Node) -> list[float]:
    """Return equally probable noise variances, given the ratios of the other variances to it."""
    if node.setting.w is not None or node.freedom < 1:
        return [node.w]
    from scipy.special import gammaincinv

    places = (np.arange(_SLICES) + 0.5) / _SLICES
    return list((node.residual / (2 * gammaincinv(node.freedom / 2, 1 - places))).tolist())


def credible_rows(numbers: Sequence[Floats], share: Floats, interval: float) -> Floats:
    """Return estimates, standard deviations, lower and upper ends from what is best and what else is credible."""
    rows = np.full((4, len(numbers)), np.nan)
    ends = (1 - interval) / 2, (1 + interval) / 2
    for at, each in enumerate(numbers):
        rows[0, at], drawn, weight = each[0], each[1:], share[1:]
        if drawn.size:
            order = np.argsort(drawn, kind="stable")
            below = np.cumsum(weight[order]) - weight[order] / 2
            size = float(np.abs(each).max()) or 1.0
            rows[1, at] = size * np.sqrt(weight @ np.square((drawn - each[0]) / size))
            rows[2:, at] = np.interp(ends, below, drawn[order])
    return rows


def luck(panel: Panel) -> float:
    """Return g_b: the variance between plain averages for biases of variance 1."""
    pairs = panel.object_index.astype(np.int64) * panel.n_assessors + panel.assessor_index
    distinct, times = np.unique(pairs, return_counts=True)
    weight = times / panel.object_assessments[distinct // panel.n_assessors]
    by_assessor = sum_by(distinct % panel.n_assessors, weight, panel.n_assessors)
    spread = float(weight @ weight) - float(by_assessor @ by_assessor) / panel.n_objects
    return max(spread, 0.0) / (panel.n_objects - 1)


def chance(shrunk: Fit) -> float:
    """Return g_e: the variance between plain averages for w = 1."""
    panel = shrunk.panel
    count = panel.object_assessments[panel.object_index]
    return float((1.0 / (shrunk.weight * np.square(count))).sum()) / panel.n_objects


def between(posterior: Posterior) -> float:
    """Return half the mean variance of the difference of two values, for w = 1."""
    of_values = posterior.unit_value_variance
    count = of_values.size
    together = float(posterior.contrast_variances(np.ones((count, 1)))[0])
    return (float(of_values.sum()) - together / count) / (count - 1)
