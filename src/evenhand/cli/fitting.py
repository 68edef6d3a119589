"""The options of a fit: method, noise, refinements and criteria, with those of the file and of the gauge."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.options import (
    Command,
    add_options,
    gauge_options,
    headed,
    input_options,
    number_pairs,
    typed_options,
)
from evenhand.cli.refinements import check_refinements, refinement_options

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.models.refined import Refinements
    from evenhand.panel.panel import Panel


def fit_options(command: Command) -> Command:
    """Add the options of a fit, input and gauge included; the command gets ``fit``, which reads and calibrates."""

    @functools.wraps(command)
    def wrapped(read: Callable[[], Panel], method: str, refinements: Refinements | None, **others: Any) -> Any:
        refuse_criteria()
        check_refinements(method, refinements)
        options = {name: others.pop(name) for name in ("gauge", "noise", "interval", "per_component", "solver")}

        def fit() -> Fit:
            panel = read()
            return _fit(panel, method, _chosen(panel, method, refinements), options)

        return command(fit=fit, **others)

    return input_options(gauge_options(_method_options(refinement_options(wrapped))))


def criteria_options(command: Command) -> Command:
    """Add the options of a fit with those of several criteria; ``fit`` then returns a fit, or one of criteria."""

    @functools.wraps(command)
    def wrapped(
        read: Callable[[], Panel],
        method: str,
        refinements: Refinements | None,
        weights: dict[str, float],
        uncorrelated: bool,
        **others: Any,
    ) -> Any:
        check_refinements(method, refinements)
        of_criteria = bool(typed_options(("criterion",)))
        for option in typed_options(("weights", "uncorrelated")):
            if not of_criteria:
                raise click.UsageError(f"{option} is about several criteria: use it with --criterion COLUMN.")
        for option in typed_options(("solver",)):
            if of_criteria:
                raise click.UsageError(f"{option} has no meaning with --criterion: leave it out.")
        options = {name: others.pop(name) for name in ("gauge", "noise", "interval", "per_component", "solver")}

        def fit() -> Fit | CriteriaFit:
            panel = read()
            chosen = _chosen(panel, method, refinements)
            if not of_criteria:
                return _fit(panel, method, chosen, options)
            return _fit_criteria(panel, method, chosen, options, weights or None, uncorrelated)

        return command(fit=fit, **others)

    option = headed("Several criteria")
    with_criteria = add_options(
        [
            option(
                "--weight",
                "weights",
                multiple=True,
                metavar="CRITERION=W",
                callback=number_pairs,
                help="What a criterion counts in the combined value; one without a weight is left out. May be "
                "repeated. Default: all alike, with a sum of 1.",
            ),
            option(
                "--uncorrelated",
                is_flag=True,
                help="Take it that an assessor who errs on one criterion does not err on the others too.",
            ),
        ],
        wrapped,
    )
    return input_options(gauge_options(_method_options(refinement_options(with_criteria))))


def refuse_criteria() -> None:
    """Refuse a column of criteria where scores for different criteria would be taken for repeats of one another."""
    for option in typed_options(("criterion",)):
        name = click.get_current_context().info_name
        raise click.UsageError(f"{option} goes with calibrate and rank; for {name}, choose the rows of one criterion.")


def _method_options(command: Command) -> Command:
    option = headed("The method")
    return add_options(
        [
            option(
                "--method",
                type=click.Choice(["sa", "cwa", "iba", "cwc", "medians"]),
                default="cwc",
                show_default=True,
                help="Simple or confidence-weighted averages, incomplete block analysis, calibration with confidence; "
                "or the last by medians, without intervals.",
            ),
            option(
                "--noise",
                type=click.Choice(["estimated", "declared"]),
                default="estimated",
                show_default=True,
                help="Scale of the noise: from the residual, or declared uncertainties at face value.",
            ),
            option(
                "--interval",
                type=float,
                default=0.9,
                show_default=True,
                help="Probability of the intervals.",
            ),
            option(
                "--solver",
                type=click.Choice(["auto", "direct", "sparse", "iterative"]),
                default="auto",
                show_default=True,
                help="How the equations are solved; auto chooses by size and shape, and --verbose says why.",
            ),
        ],
        command,
    )


def _chosen(panel: Panel, method: str, refinements: Refinements | None) -> Refinements | None:
    """Return the refinements for a panel, its covariates among them; None for a plain method."""
    from evenhand.models.refined import Refinements

    if refinements is None and not panel.covariates:
        return None
    if typed_options(("power",)) and panel.precision.min() == panel.precision.max():
        raise click.UsageError("--power has no effect here: all scores are equally sure.")
    chosen = replace(refinements or Refinements(), covariates=tuple(panel.covariates))
    return replace(chosen, power=0.0) if method == "iba" else chosen


def _fit(panel: Panel, method: str, chosen: Refinements | None, options: dict[str, Any]) -> Fit:
    """Return the fit of a panel by a method, plain or refined."""
    from evenhand.models.additive import METHODS
    from evenhand.models.refined import refine

    if chosen is not None:
        return refine(panel, chosen, **options)
    if method == "medians":
        from evenhand.models.medians import median_polish

        return median_polish(panel, **options)
    if method in ("sa", "cwa"):
        options = {name: options[name] for name in ("gauge", "noise", "interval")}
    return METHODS[method](panel, **options)


def _fit_criteria(
    panel: Panel,
    method: str,
    chosen: Refinements | None,
    options: dict[str, Any],
    weights: dict[str, float] | None,
    uncorrelated: bool,
) -> CriteriaFit:
    """Return the fit of each criterion, and of all together."""
    from evenhand.models.criteria import calibrate_criteria
    from evenhand.models.medians import median_polish

    named = {name: options[name] for name in ("gauge", "noise", "interval", "per_component")}
    by = chosen if chosen is not None else median_polish if method == "medians" else method
    return calibrate_criteria(panel, weights=weights, correlated=not uncorrelated, by=by, **named)
