"""What the scores support: a method and what it means, what declared confidence is worth; every door reads it here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from evenhand.answers.advice import NOTHING, Recommendation, mean_loss
from evenhand.answers.heldout import BRIDGE, cell_of, held_out, leverages
from evenhand.models.fit import Fit
from evenhand.words import number, phrase, sentence

if TYPE_CHECKING:
    from evenhand.answers.compare import Comparison, MethodRow

_SURE: Final = 3.0
"""Standard errors by which a refinement must gain before the scores are said to support it."""

_IDLE: Final = 2.58
"""Standard deviations by which the power of declared confidence is below 1 before it is said to say nothing."""

_KINDS: Final = 5
"""Up to this many different confidences the highest is a class of its own; of more, the upper half."""


def supported(fit: Fit, comparison: Comparison) -> Recommendation:
    """Return the method that the scores support and the reason, under the name of the fit where both are the same.

    One with unknowns of its own only where the gain is beyond doubt: what a score told of unknowns is taken off to
    first order only, and the best of several refinements was looked for. So a refinement beyond shrinking counts where
    it gains more than 1 for each unknown in log probability over all scores, and more than three standard errors,
    beside the best of the others; else that one is taken.
    """
    found = _clearly(comparison)
    other = next((row.fit for row in comparison.methods if row.method == found.method), None)
    if other is not None and np.allclose(other.values.estimate, fit.values.estimate, rtol=1e-9):
        return Recommendation(fit.method, found.reason)  # the same by another name
    return found


def is_clearly_better(fit: Fit, other: Fit) -> bool:
    """Return whether a fit predicts held-out scores better than another by more than the standard error of that."""
    panel, cell = fit.panel, cell_of(fit.panel, [fit.model, other.model])
    ours, theirs = held_out(fit, cell), held_out(other, cell)
    both = ours.is_predicted & theirs.is_predicted
    gain = (ours.log_score - theirs.log_score)[both]
    if not gain.size or not np.isfinite(gain).all():
        return True  # nothing to weigh it by but the recommendation itself
    mean, error = mean_loss((panel.object_index[both], panel.assessor_index[both]), gain)
    return mean > error


def _clearly(comparison: Comparison) -> Recommendation:
    advised = comparison.recommendation
    chosen = next((row for row in comparison.methods if row.method == advised.method), None)
    if chosen is None or not _unknowns(chosen):
        return advised
    count = comparison.panel.n_assessments
    behind = {
        row.method: (count * row.loo_behind, count * (row.loo_behind_error or 0.0))
        for row in comparison.methods
        if row.loo_behind is not None and row.fit is not None and row.fit.model.is_offered
    }
    plain = {
        row.method: behind[row.method] for row in comparison.methods if row.method in behind and not _unknowns(row)
    }
    if not plain or chosen.method not in behind:
        return advised
    best = min(plain, key=lambda method: plain[method][0])
    gain, error = plain[best][0] - behind[chosen.method][0], plain[best][1]
    needed = max(NOTHING + _unknowns(chosen), _SURE * error)
    if gain > needed:
        return advised
    named = {row.method: row.fit.name for row in comparison.methods if row.fit is not None}
    reason = (
        f"{named[best]} is the best of the methods that have no further unknowns. "
        f"{sentence(named[chosen.method])} predicts held-out scores better by {gain:.2g} in all (log "
        f"probability, standard error {error:.2g}), but it would take {needed:.2g} to be beyond doubt."
    )
    return Recommendation(best, reason)


def _unknowns(row: MethodRow) -> int:
    """Return how many unknowns beside spreads of values and biases the scores had to tell."""
    fit = row.fit
    further = [] if fit is None else [name for name in row.method.split("+")[1:] if name != "shrunk"]
    return sum(fit.panel.n_assessors if name in ("scaled", "confidences") else 1 for name in further if fit is not None)


def method_means(method: str, confidence: str) -> str:
    """Return what sets a method apart, in plain words; empty where there is nothing to say.

    Examples
    --------
    >>> method_means("cwc+shrunk", "none")
    'values that rest on few scores are moved further towards the average'
    """
    means = {
        "iba": phrase("all scores count alike, whatever confidence was declared") if confidence != "none" else "",
        "shrunk": phrase("values that rest on few scores are moved further towards the average"),
        "scaled": phrase("each assessor may spread marks more or less than others"),
        "confidences": phrase("each assessor’s scores scatter in their own way"),
        "power": phrase("the scores tell how much declared confidence counts"),
        "student": phrase("scores far from all others pull less"),
    }
    return "; ".join(means[one] for one in method.split("+") if means.get(one))


Verdict = Literal["misleads", "nothing", "cannot tell", "less", "as declared", "more"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What declared confidence is worth, by the power to which it counts: 1 as declared, 0 not at all.

    Attributes
    ----------
    verdict
        What the interval of the power says.
    sure, others
        How far scores given with high confidence are from what all others predict, as a rule, and the others, where all
        scores count alike; None where that is not known.
    equal
        The fit in which all scores count alike, where there is one: it presupposes nothing of confidence.
    """

    verdict: Verdict
    sure: float | None
    others: float | None
    equal: Fit | None

    @property
    def is_idle(self) -> bool:
        """Whether it should not count."""
        return self.verdict in ("misleads", "nothing")

    @property
    def headline(self) -> str:
        """What it is worth, in a few words."""
        return {
            "misleads": phrase("Declared confidence may mislead here"),
            "nothing": phrase("Declared confidence tells nothing here"),
            "cannot tell": phrase("The scores cannot tell what declared confidence is worth"),
            "less": phrase("Scores given with high confidence are nearer, though by less than declared"),
            "as declared": phrase("Scores given with high confidence are nearer, as declared"),
            "more": phrase("Scores given with high confidence are nearer, by more than declared"),
        }[self.verdict]

    def line(self, digits: int) -> str:
        """Return what was found of scores given with high confidence, in a sentence."""
        fits = self.sure is not None and self.others is not None
        if fits and (self.verdict != "misleads" or self.sure > self.others):  # type: ignore[operator]  # both known
            told = {"sure": number(self.sure, digits), "others": number(self.others, digits)}
            return phrase(
                "Scores given with high confidence are {sure} points from what all others predict, as a rule; the rest "
                "{others}.",
                **told,
            )
        if self.verdict == "misleads":
            return phrase("Scores given with high confidence are further off than the rest.")
        return phrase("Scores given with high confidence are as far off as the rest.")


def worth_of_confidence(comparison: Comparison | None) -> Worth | None:
    """Return what declared confidence is worth; None where none was declared or that was not looked into."""
    rows = {} if comparison is None else {row.method: row.fit for row in comparison.methods if row.fit is not None}
    # the intervals of other models are not needed, and take long
    power = next((fit for method, fit in rows.items() if "+power" in method), None)
    table = None if power is None else power.model.tables.get("variances")
    if power is None or table is None:
        return None
    cells = table.columns()
    at = cells["variance"].index("power")
    estimate, lower, upper = (cells[name][at] for name in ("estimate", "lower", "upper"))
    if lower is None or upper is None or not upper > lower:
        return None
    sd = (upper - lower) / (2 * 1.645)
    verdict: Verdict = "as declared" if upper >= 1 else "less"
    if lower > 1:
        verdict = "more"
    elif lower <= 0:
        is_clear = (1 - estimate) / sd > _IDLE
        verdict = ("misleads" if upper < 0 else "nothing") if is_clear else "cannot tell"
    equal = rows.get("iba+shrunk")
    return Worth(verdict, *_distances(equal), equal)


def _distances(fit: Fit | None) -> tuple[float | None, float | None]:
    """Return how far sure scores, and others, are from what all others predict: root mean squares."""
    if fit is None or fit.model.why_not("leverages") is not None:
        return None, None
    precision, slack = fit.panel.precision, 1.0 - leverages(fit)
    known = slack > BRIDGE
    few = np.unique(precision).size <= _KINDS
    sure = precision == precision.max() if few else precision > np.median(precision)
    error = np.square(fit.residuals / np.where(known, slack, 1.0))
    found = [float(np.sqrt(error[some].mean())) if some.any() else None for some in (known & sure, known & ~sure)]
    return found[0], found[1]
