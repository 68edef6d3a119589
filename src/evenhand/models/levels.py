"""Does declared confidence carry information? The factor between its levels, its power, and a test of none at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.frames import Shown
from evenhand.models.family import INTERVAL
from evenhand.models.fit import Fit
from evenhand.models.refined import Refinements, find_refined, make_refined
from evenhand.panel.panel import Panel


@dataclass(frozen=True, slots=True, repr=False)
class DeclaredConfidence(Shown):
    """What the scores say of the confidences that were declared.

    Differences in declared confidence are raised to a power: 1 takes them as declared, 0 ignores them, and less than 0
    would mean that the confident are the unsure ones.

    Attributes
    ----------
    power, lower, upper
        The power with the highest marginal likelihood, and its interval.
    factor, factor_lower, factor_upper
        The same for the factor between neighbouring levels, where levels were declared; else None.
    p_nothing
        P-value of the power 0: small where declared confidence carries information.
    p_as_declared
        P-value of the power 1: small where it should not be taken as declared.
    fit
        The fit with the power estimated.
    """

    power: float
    lower: float
    upper: float
    factor: float | None
    factor_lower: float | None
    factor_upper: float | None
    p_nothing: float
    p_as_declared: float
    fit: Fit

    def columns(self) -> dict[str, Any]:
        """Return the power and, where levels were declared, the factor between them: estimate, lower, upper."""
        factor = [] if self.factor is None else [("factor", self.factor, self.factor_lower, self.factor_upper)]
        rows = zip(("power", self.power, self.lower, self.upper), *factor, strict=True)
        return dict(zip(("name", "estimate", "lower", "upper"), map(list, rows), strict=True))

    def __str__(self) -> str:
        said = "carries information" if self.p_nothing < 0.05 else "shows no sign of carrying information"
        taken = "" if self.p_as_declared >= 0.05 else ", and should not be taken as declared"
        level = (
            ""
            if self.factor is None
            else (f"; factor between levels {self.factor:.3g} ({self.factor_lower:.3g} to {self.factor_upper:.3g})")
        )
        return (
            f"declared confidence {said} (p = {self.p_nothing:.2g}){taken}: power {self.power:.2g} "
            f"({self.lower:.2g} to {self.upper:.2g}){level}"
        )


def declared_confidence(panel: Panel, *, interval: float = INTERVAL) -> DeclaredConfidence:
    """Return how much declared confidence is worth, by marginal likelihood with values and biases shrunk.

    Parameters
    ----------
    panel
        A panel with declared confidences that differ.
    interval
        Probability of intervals.

    Examples
    --------
    >>> from evenhand import simulate_panel
    >>> found = declared_confidence(simulate_panel(80, 10, 4, seed=1, bounds=None).panel)
    >>> found.p_nothing < 0.05 <= found.p_as_declared
    True
    """
    from scipy.special import gammaincc

    free, parts = find_refined(panel, Refinements(shrink=True, power="estimated"), interval=interval)

    def p_value(power: float) -> float:
        held, _ = find_refined(panel, Refinements(shrink=True, power=power), interval=interval)
        return float(gammaincc(0.5, max(free.log_marginal - held.log_marginal, 0.0)))  # chi-square, one degree

    table = free.variances
    at = list(table.labels).index("power")
    power, lower, upper = (float(column[at]) for column in (table.estimate, table.lower, table.upper))
    base = panel.factor
    factor, low, high = (None if base is None else base**number for number in (power, lower, upper))
    return DeclaredConfidence(
        power, lower, upper, factor, low, high, p_value(0.0), p_value(1.0), make_refined(free, parts)
    )
