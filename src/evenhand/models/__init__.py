"""Models of scores, one file per family of the paper: each takes a panel and returns a Fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.average import simple_average, weighted_average
from evenhand.models.fit import Fit
from evenhand.models.medians import MEDIANS, median_polish
from evenhand.models.noise import NoiseKind, NoisePrior, PriorNoise
from evenhand.models.refined import refine
from evenhand.panel.panel import Panel

METHODS: Final[dict[str, Callable[..., Fit]]] = {
    "sa": simple_average,
    "cwa": weighted_average,
    "iba": incomplete_block,
    "cwc": calibrate,
}
"""The four methods of the paper's table 1, from the simplest to the richest."""


def refit(fit: Fit, panel: Panel, **options: Any) -> Fit:
    """Return the fit of another panel by the same method, with the same refinements."""
    fit.refuse_criteria("A refit")
    options = {"noise": noise_kind(fit), "interval": fit.values.interval} | options
    if fit.method == MEDIANS:
        return median_polish(panel, **options)
    if fit.refined is not None:
        return refine(panel, fit.refined.refinements, **options)
    return METHODS[fit.method](panel, **options)


def noise_kind(fit: Fit) -> NoiseKind | NoisePrior:
    """Return how the noise of a fit was treated, as its method was asked."""
    noise = fit.posterior.noise
    if isinstance(noise, PriorNoise):
        return noise.prior
    return "declared" if noise.kind == "declared" else "estimated"


__all__ = [
    "MEDIANS",
    "METHODS",
    "calibrate",
    "incomplete_block",
    "noise_kind",
    "refine",
    "refit",
    "simple_average",
    "weighted_average",
]
