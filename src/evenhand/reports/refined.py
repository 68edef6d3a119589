"""What a refined model found, as plain dictionaries: its name, variances, covariates, scales, factors, outliers."""

from __future__ import annotations

import numpy as np

from evenhand.models.fit import Fit
from evenhand.reports.records import Summary, records_of


def summarise_model(fit: Fit) -> Summary:
    """Return ``model`` and, for refined models, what was found beside values and biases.

    A list is empty where the model has no such part.
    """
    _, *refinements = fit.method.split("+")
    summary: Summary = {"model": {"refinements": refinements, "words": fit.model.name}}
    if not fit.model.tables:
        return summary
    for name, table in fit.model.tables.items():
        summary[name] = [] if table is None else records_of(table.columns())
    summary["outlying"] = _outlying(fit)
    power = next((record for record in summary["variances"] if record["variance"] == "power"), None)
    if power is not None:
        summary["declared_confidence"] = _declared_confidence(power, fit.panel.factor)
    return summary


def _outlying(fit: Fit) -> list[Summary]:
    """Return the scores that are far from what is expected, the furthest first."""
    panel, rows = fit.panel, fit.model.outlying
    return records_of(
        {
            "assessor": [panel.assessors[at] for at in panel.assessor_index[rows].tolist()],
            "object": [panel.objects[at] for at in panel.object_index[rows].tolist()],
            "score": panel.score[rows],
            "expected": fit.fitted[rows] if rows.size else np.zeros(0),
            "surprise": np.zeros(0) if fit.model.surprise is None else fit.model.surprise[rows],
        }
    )


def _declared_confidence(power: Summary, factor: float | None) -> Summary:
    """Return what the scores tell about declared confidence, in numbers and in a sentence."""
    ends = {name: power[name] for name in ("estimate", "lower", "upper")}
    found: Summary = {"power": power["estimate"], "lower": power["lower"], "upper": power["upper"]}
    names = {"estimate": "factor", "lower": "factor_lower", "upper": "factor_upper"}
    for end, number in ends.items():
        found[names[end]] = None if factor is None or number is None else factor**number
    found["words"] = _in_words(found)
    return found


def _in_words(found: Summary) -> str:
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
