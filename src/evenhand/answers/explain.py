"""Why a value differs from the plain average: the part of each assessor's standard, and the part of confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from evenhand.compiled import sum_by
from evenhand.frames import Shown
from evenhand.models.fit import Fit
from evenhand.words import is_or_are


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """Why one object's value differs from its plain average; the parts add up to the difference.

    Attributes
    ----------
    object, value, average, difference
        The object, its value, the plain mean of its scores, and value less average.
    standards
        For each of its assessors, in the order of its scores: label, bias, and what undoing the bias adds, -q b.
    weighting
        What weighing scores by confidence instead of alike adds.
    digits
        Decimals that the sentence shows: one, and more where scores spread over less than a point.
    drawn
        What priors, scales, covariates, medians and the map of a refined model add; 0 for the four methods.
    """

    object: str
    value: float
    average: float
    difference: float
    standards: tuple[tuple[str, float, float], ...]
    weighting: float
    digits: int = 1
    drawn: float = 0.0

    def columns(self) -> dict[str, Any]:
        """Return the parts of the assessors' standards as columns: assessor, bias, part."""
        cells = zip(*self.standards, strict=True)
        return {name: list(column) for name, column in zip(("assessor", "bias", "part"), cells, strict=True)}

    def __str__(self) -> str:
        least = 0.5 * 10.0**-self.digits
        bias_of = {label: bias for label, bias, _ in self.standards}
        part_of: dict[str, float] = {}
        for label, _, part in self.standards:
            part_of[label] = part_of.get(label, 0.0) + part
        sides = {
            "strict": [label for label, part in part_of.items() if part > 0],
            "generous": [label for label, part in part_of.items() if part < 0],
        }
        total = {word: abs(sum(part_of[label] for label in labels)) for word, labels in sides.items()}
        reasons = []
        for word in sorted(sides, key=lambda word: -total[word]):
            names = sides[word]
            if names and total[word] >= least:
                who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
                biases = ", ".join(f"{bias_of[label]:+.{self.digits}f}" for label in names)
                reasons.append(f"{who} {is_or_are(len(names))} {word} ({biases})")
        if abs(self.weighting) >= least:
            reasons.append(f"confident scores weigh more ({self.weighting:+.{self.digits}f})")
        if abs(self.drawn) >= least:
            reasons.append(f"priors and other refinements ({self.drawn:+.{self.digits}f})")
        return f"{self.difference:+.{self.digits}f}: {'; '.join(reasons) or 'nothing to undo'}"


@overload
def explain(fit: Fit) -> list[Explanation]: ...
@overload
def explain(fit: Fit, label: str) -> Explanation: ...
def explain(fit: Fit, label: str | None = None) -> list[Explanation] | Explanation:
    """Return for each object, or for the one of that label, why its value differs from its plain average.

    With q = c/C_o, v_o = sum q (s - b), so that v_o less the mean score is the sum of -q b over its assessors
    plus the sum of (q - 1/n) s: an identity, exact up to rounding. Biases are those of the fit's gauge. With a refined
    model q is what each score weighs after all, and what is left is named too.

    Examples
    --------
    >>> import evenhand as eh
    >>> print(explain(eh.calibrate(eh.demo()), "P24"))
    -15.2: Adeyemi and Eriksen are generous (+16.5, +13.9)
    """
    fit.require("explain")
    panel = fit.panel
    chosen = range(panel.n_objects) if label is None else [fit.values.index_of(label)]
    counts = panel.object_assessments
    spread = float(np.ptp(panel.score))
    digits = max(1, 2 - int(np.floor(np.log10(spread)))) if 0 < spread < 10 else 1
    origin = float(np.median(panel.score))
    centred = panel.score - origin
    average = sum_by(panel.object_index, centred, panel.n_objects) / counts
    share = fit.weight / sum_by(panel.object_index, fit.weight, panel.n_objects)[panel.object_index]
    part = -share * fit.biases.estimate[panel.assessor_index]
    tilt = (share - 1.0 / counts[panel.object_index]) * (centred - average[panel.object_index])
    weighting = sum_by(panel.object_index, tilt, panel.n_objects)
    difference = (fit.values.estimate - origin) - average
    drawn = difference - weighting - sum_by(panel.object_index, part, panel.n_objects)
    if fit.model.is_plain:
        drawn = np.zeros(panel.n_objects)
    standards: list[list[tuple[str, float, float]]] = [[] for _ in range(panel.n_objects)]
    biases = fit.biases.estimate.tolist()
    for at, (o, a) in enumerate(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)):
        standards[o].append((panel.assessors[a], biases[a], float(part[at])))
    found = [
        Explanation(
            object=panel.objects[o],
            value=float(fit.values.estimate[o]),
            average=float(average[o] + origin),
            difference=float(difference[o]),
            standards=tuple(standards[o]),
            weighting=float(weighting[o]),
            digits=digits,
            drawn=float(drawn[o]),
        )
        for o in chosen
    ]
    return found if label is None else found[0]


def explanation_columns(explanations: list[Explanation]) -> dict[str, Any]:
    """Return explanations as columns: object, value, average, difference, standards, weighting, drawn, reason."""
    return {
        "object": [item.object for item in explanations],
        "value": [item.value for item in explanations],
        "average": [item.average for item in explanations],
        "difference": [item.difference for item in explanations],
        "standards": [sum(part for _, _, part in item.standards) for item in explanations],
        "weighting": [item.weighting for item in explanations],
        "drawn": [item.drawn for item in explanations],
        "reason": [str(item) for item in explanations],
    }
