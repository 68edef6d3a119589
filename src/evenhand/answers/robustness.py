"""How far errors of scores can move values and biases at most: the bounds of App. C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Robustness(frames.Shown):
    """How far values can move when scores change (App. C): |dv_o| <= value_bound_o * sqrt(sum c ds^2).

    Attributes
    ----------
    mu2, lambda2
        Second smallest eigenvalue of M and second largest of D^T D; mu_2 = 1 - sqrt(lambda_2).
    constant
        k in ||(dv, db)|| <= k ||ds||: 1/sqrt(mu_2) in the reference gauge, sqrt(2/mu_2) in the weighted one.
    value_bound, bias_bound
        k/sqrt(C_o) for each object and k/sqrt(C'_a) for each assessor.
    panel
        The panel.
    """

    mu2: float
    lambda2: float | None
    constant: float
    value_bound: Floats
    bias_bound: Floats
    panel: Panel

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    def columns(self) -> dict[str, Any]:
        """Return the bounds as columns: label, side, bound."""
        sides = ["object"] * self.panel.n_objects + ["assessor"] * self.panel.n_assessors
        labels = [*self.panel.objects, *self.panel.assessors]
        return {"label": labels, "side": sides, "bound": np.concatenate([self.value_bound, self.bias_bound])}

    def __str__(self) -> str:
        return (
            "a change of all scores of size d moves no value of total confidence C by more than "
            f"{self.constant:.3g} d / √C; spectral gap {self.mu2:.3g}"
        )


def robustness(fit: Fit) -> Robustness | None:
    """Return the bounds of App. C in the gauge of the fit, or None for averages and panels that are not connected.

    For a gauge gamma the constant is |gamma|* sqrt(2C) / |gamma n| / sqrt(mu_2), with |gamma|*^2 the sum of
    gamma_o^2/C_o and gamma_a^2/C'_a: the paper's two constants are the reference and the weighted case of it.
    """
    gauge = fit.posterior.condition
    if gauge is None or not fit.connectivity.is_connected:
        return None
    mu2 = fit.connectivity.mu2
    of_objects, of_assessors = fit.values.total_confidence, fit.biases.total_confidence
    dual = np.sqrt((gauge.value_weight**2 / of_objects).sum() + (gauge.bias_weight**2 / of_assessors).sum())
    stretch = float(dual * np.sqrt(2 * of_objects.sum()) / np.abs(gauge.slope[0]))
    constant = stretch / float(np.sqrt(mu2))
    lambda2 = (1 - mu2) ** 2 if fit.panel.n_assessors > 1 else None
    bounds = constant / np.sqrt(of_objects), constant / np.sqrt(of_assessors)
    return Robustness(mu2, lambda2, constant, *bounds, fit.panel)
