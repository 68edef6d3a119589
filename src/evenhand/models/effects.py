"""Estimates as tables with their uncertainty: of one side of the panel, of further parts of a model, of a contrast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.models.posterior import Marginal, Posterior, mapped_sd
from evenhand.panel.panel import Panel

_TIE: Final = 1e-10
"""Values closer than this, beside the spread of all values, share a rank."""


class Scale(Protocol):
    """An increasing map from points to the scale on which a model is additive, and back."""

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model."""

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""


@dataclass(frozen=True, eq=False, repr=False)
class Effects(frames.Shown):
    """Estimates for one side of the panel: the values of objects, or the biases of assessors.

    Attributes
    ----------
    side
        ``"object"`` or ``"assessor"``.
    labels
        Labels, in the order of the panel.
    estimate
        The estimates, in the same order.
    assessments
        Number of assessments behind each.
    total_confidence
        Sum of the precisions behind each: C_o or C'_a.
    component
        The group of each; estimates of different groups cannot be compared.
    interval
        Probability of the intervals.
    posterior
        Where the uncertainty comes from.
    backend
        The kind of frame that tables come back as.
    scale
        How the scale of the model is read off in points, where scores were mapped to fit it.
    details
        What goes with each, such as a title, by column.
    """

    side: Literal["object", "assessor"]
    labels: Any
    estimate: Floats
    assessments: NDArray[np.int64]
    total_confidence: Floats
    component: NDArray[np.int64]
    interval: float
    posterior: Posterior = field(repr=False)
    backend: frames.Backend = frames.DEFAULT_BACKEND
    scale: Scale | None = field(default=None, repr=False)
    details: Mapping[str, Sequence[str | None]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What is estimated: ``"value"`` or ``"bias"``."""
        return "value" if self.side == "object" else "bias"

    @property
    def marginal(self) -> Marginal:
        """What is known about each, as a deviation from its estimate on the scale of the model."""
        return self.posterior.of_values if self.side == "object" else self.posterior.of_biases

    @cached_property
    def latent(self) -> Floats:
        """The estimates on the scale of the model: the same, unless scores were mapped to fit it."""
        return self.estimate if self.scale is None else self.scale.forward(self.estimate)

    @cached_property
    def sd(self) -> Floats | None:
        """Posterior standard deviations; None where there are none, with the reason in the notes of the fit."""
        if self.scale is None:
            return self.marginal.sd
        return mapped_sd(self.marginal, self.latent, self.scale.back)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats] | None:
        ends = self.marginal.interval(self.interval)
        if ends is None:
            return None
        lower, upper = self.latent + ends[0], self.latent + ends[1]
        return (lower, upper) if self.scale is None else (self.scale.back(lower), self.scale.back(upper))

    @property
    def lower(self) -> Floats | None:
        """Lower ends of the intervals."""
        return None if self._ends is None else self._ends[0]

    @property
    def upper(self) -> Floats | None:
        """Upper ends of the intervals."""
        return None if self._ends is None else self._ends[1]

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Ranks from 1 for the highest, within each group; equal estimates share the better rank."""
        return self.ranks_within(self.component)

    def ranks_within(self, component: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ranks from 1 for the highest within groups of one's own choice."""
        ranks = np.empty(self.estimate.size, dtype=np.int64)
        for group in np.unique(component):
            members = np.flatnonzero(component == group)
            order = members[np.argsort(-self.estimate[members], kind="stable")]
            ordered = self.estimate[order]
            rounding = 16 * np.finfo(np.float64).eps * float(np.abs(ordered).max())
            tolerance = max(_TIE * float(np.ptp(ordered)), rounding)
            starts = np.concatenate([[True], ordered[:-1] - ordered[1:] > tolerance])
            ranks[order] = np.maximum.accumulate(np.where(starts, np.arange(order.size), 0)) + 1
        return ranks

    def columns(self) -> dict[str, Any]:
        """Return the table as columns: label, estimate, sd, lower, upper, assessments, total_confidence, ..."""
        empty = [None] * self.estimate.size
        columns: dict[str, Any] = {self.side: list(self.labels), self.name: self.estimate}
        for name in ("sd", "lower", "upper"):
            cells = getattr(self, name)
            columns[name] = empty if cells is None else cells
        columns |= {"assessments": self.assessments, "total_confidence": self.total_confidence}
        if self.side == "object":
            columns["rank"] = self.rank
        if self.component.size and self.component.max() > 0:
            columns["component"] = self.component + 1
        return columns | {name: cells for name, cells in self.details.items() if name not in columns}

    def weights(self, given: Mapping[str, float]) -> Floats:
        """Return weights by label as an array in the order of the table."""
        position = {label: index for index, label in enumerate(self.labels)}
        weights = np.zeros(len(position))
        for label, weight in given.items():
            if label not in position:
                raise self._unknown(label)
            if not np.isfinite(weight):
                raise InputError(f"The weight of {label} must be a finite number.", kind="bad_option")
            weights[position[label]] = weight
        return weights

    def index_of(self, label: str) -> int:
        """Return the place of a label in the table."""
        if label not in self.labels:
            raise self._unknown(label)
        return int(self.labels.index(label))

    def _unknown(self, label: object) -> InputError:
        message = f"There is no {self.side} {label!r} in this panel."
        return InputError(message, kind="unknown_label", where=f"{self.side} {label}")

    def _repr_html_(self) -> str:
        return self.html({"object": "Values", "assessor": "Biases: positive is generous, negative strict"}[self.side])

    def html(self, caption: str) -> str:
        """Return the highest values, or the largest biases, as a table for notebooks."""
        by_size = np.argsort(-np.abs(self.estimate), kind="stable")
        order = np.lexsort((self.rank, self.component)) if self.side == "object" else by_size
        chosen = order[: frames.MOST_ROWS]
        table: dict[str, Any] = {self.side: [str(self.labels[at]) for at in chosen.tolist()]}
        columns: dict[str, Any] = {name: getattr(self, name) for name in ("sd", "lower", "upper")}
        columns = {self.name: self.estimate, **columns, "scores": self.assessments}
        columns["rank"] = self.rank if self.side == "object" else None
        columns["group"] = self.component + 1 if self.component.max(initial=0) > 0 else None
        table |= {name: cells[chosen].tolist() for name, cells in columns.items() if cells is not None}
        points = (self.name, "sd", "lower", "upper")
        signed = ("bias", "lower", "upper") if self.side == "assessor" else ()
        return frames.html_table(caption, table, count=order.size, of=self.side, alike=points, signed=signed)

    def lines(self, chosen: NDArray[np.int64]) -> list[str]:
        """Return some rows as lines of text."""
        width = max((len(str(self.labels[i])) for i in chosen), default=0)
        sd = self.sd
        return [
            f"  {self.labels[i]!s:<{width}}  {self.estimate[i]:9.3f}" + ("" if sd is None else f"  ± {sd[i]:.3f}")
            for i in chosen.tolist()
        ]


def both_sides(
    panel: Panel,
    seen: Panel,
    estimates: tuple[Floats, Floats],
    groups: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    posterior: Posterior,
    interval: float,
    scale: Scale | None = None,
) -> tuple[Effects, Effects]:
    """Return the tables of values and of biases of a panel, which a method may have seen with other confidences.

    Without groups, all can be compared. A scale is that of the values.
    """
    if groups is None:
        groups = np.zeros(panel.n_objects, dtype=np.int64), np.zeros(panel.n_assessors, dtype=np.int64)
    for array in estimates:
        array.flags.writeable = False
    values = Effects(
        side="object",
        labels=panel.objects,
        estimate=estimates[0],
        assessments=seen.object_assessments,
        total_confidence=seen.object_confidence,
        component=groups[0],
        interval=interval,
        posterior=posterior,
        backend=panel.backend,
        scale=scale,
        details=panel.details("object"),
    )
    biases = replace(
        values,
        side="assessor",
        labels=panel.assessors,
        estimate=estimates[1],
        assessments=seen.assessor_assessments,
        total_confidence=seen.assessor_confidence,
        component=groups[1],
        scale=None,
        details=panel.details("assessor"),
    )
    return values, biases


@dataclass(frozen=True, slots=True, repr=False)
class Contrast(frames.Shown):
    """A weighted sum of values and biases, such as a difference, with its uncertainty.

    Attributes
    ----------
    estimate
        The weighted sum of the estimates.
    sd
        Its posterior standard deviation; None where there is none.
    lower, upper
        Ends of its interval; None where there is none.
    """

    estimate: float
    sd: float | None
    lower: float | None
    upper: float | None

    def columns(self) -> dict[str, Any]:
        """Return the table as columns, with one row."""
        numbers = {"estimate": [self.estimate], "sd": [self.sd], "lower": [self.lower], "upper": [self.upper]}
        return {"contrast": ["weighted sum"], **numbers}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(frames.Shown):
    """Further estimates of a refined model, with their uncertainty.

    Attributes
    ----------
    side
        What the rows are: ``"covariate"``, ``"assessor"`` or ``"variance"``.
    labels, estimate, sd, lower, upper
        A row each; intervals have the probability of the fit.
    """

    side: str
    labels: Sequence[str]
    estimate: Floats
    sd: Floats
    lower: Floats
    upper: Floats
    backend: frames.Backend = frames.DEFAULT_BACKEND

    def columns(self) -> dict[str, Any]:
        """Return the table as columns."""
        names = ("estimate", "sd", "lower", "upper")
        return {self.side: list(self.labels), **{name: getattr(self, name) for name in names}}
