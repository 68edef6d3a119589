"""Bounded and positive scores: maps onto a scale without ends, on which bias is additive (App. F).

Every map has slope 1 in the middle, so that biases read as points there. Confidences are divided by the square of the
slope at the score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.panel.panel import Panel

Shape = Literal["logit", "rational"]

_WIDEST, _NARROWEST = 0.05, 0.005
"""The margin beyond either bound is at most and at least this part of the scale."""

_SHOWN: Final = 3


class ScoreMap(Protocol):
    """An increasing map from points to a scale without ends."""

    @property
    def name(self) -> str:
        """Its name in the name of a method."""

    @property
    def words(self) -> str:
        """What it does, in a few words."""

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model."""

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""

    def refuse(self, panel: Panel) -> None:
        """Refuse scores that the map does not take, by name."""

    def fitted_to(self, panel: Panel) -> ScoreMap:
        """Return the map with what it takes from the scores."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Scores between two bounds, mapped from a slightly larger interval (a, b) onto the whole line.

    The paper's two maps: ``"logit"``, log((x - a)/(b - x)) (printed upside down there), and ``"rational"``,
    (x - (a + b)/2)/((b - x)(x - a)); both with slope 1 in the middle.

    Attributes
    ----------
    low, high
        Bounds of the scale.
    shape
        Which map.
    margin
        How far a lies below ``low`` and b above ``high``, so that a score at an end stays finite.
    """

    low: float
    high: float
    shape: Shape = "logit"
    margin: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InputError(
                f"A scale needs a lower bound below its upper bound, not {self.low:g} and {self.high:g}.",
                kind="bad_option",
            )
        if self.shape not in ("logit", "rational"):
            raise InputError(f"A bounded scale can be logit or rational, not {self.shape!r}.", kind="bad_option")
        if not (np.isfinite(self.margin) and self.margin >= 0):
            raise InputError("The margin beyond the bounds must not be negative.", kind="bad_option")

    @property
    def name(self) -> str:
        """Its name in the name of a method."""
        return self.shape

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        return f"scores from {self.low:g} to {self.high:g} by the {self.shape} map, {self.margin:.3g} beyond either end"

    @property
    def _middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def _half(self) -> float:
        return (self.high - self.low) / 2 + self.margin

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model."""
        share = (points - self._middle) / self._half
        with np.errstate(divide="ignore"):
            image = np.arctanh(share) if self.shape == "logit" else share / ((1 - share) * (1 + share))
        return np.asarray(self._middle + self._half * image)

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""
        image = (latent - self._middle) / self._half
        share = np.tanh(image) if self.shape == "logit" else 2 * image / (1 + np.hypot(1.0, 2 * image))
        return np.asarray(self._middle + self._half * share)

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""
        share = (points - self._middle) / self._half
        inside = (1 - share) * (1 + share)
        if self.shape == "logit":
            return np.asarray(1.0 / inside)
        return np.asarray((1 + np.square(share)) / np.square(inside))

    def refuse(self, panel: Panel) -> None:
        """Refuse scores outside the bounds, by name."""
        outside = np.flatnonzero((panel.score < self.low) | (panel.score > self.high))
        _refuse(panel, outside, f"outside the scale from {self.low:g} to {self.high:g}", "correct them or widen it")

    def fitted_to(self, panel: Panel) -> Bounded:
        """Return the map with a margin: half the smallest step between scores, within reason."""
        if self.margin > 0:
            return self
        distinct = np.unique(np.concatenate([panel.score, [self.low, self.high]]))
        scale = self.high - self.low
        step = float(np.diff(distinct).min()) / 2
        return replace(self, margin=float(np.clip(step, _NARROWEST * scale, _WIDEST * scale)))


@dataclass(frozen=True, slots=True)
class Logarithm:
    """Positive scores, of which logarithms are taken: biases are then like exchange rates (App. F).

    Attributes
    ----------
    typical
        The score at which the map has slope 1: the geometric mean of all.
    """

    typical: float = 1.0

    @property
    def name(self) -> str:
        """Its name in the name of a method."""
        return "log"

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        return f"logarithms of scores; biases in points at a score of {self.typical:.4g}"

    def forward(self, points: Floats) -> Floats:
        """Return where points lie on the scale of the model."""
        return np.asarray(self.typical * (1 + np.log(np.asarray(points) / self.typical)))

    def back(self, latent: Floats) -> Floats:
        """Return the points at places on the scale of the model."""
        return np.asarray(self.typical * np.exp(np.asarray(latent) / self.typical - 1))

    def slope(self, points: Floats) -> Floats:
        """Return the derivative of the map."""
        return np.asarray(self.typical / np.asarray(points))

    def refuse(self, panel: Panel) -> None:
        """Refuse scores that are not positive, by name."""
        _refuse(panel, np.flatnonzero(panel.score <= 0), "not positive", "logarithms need positive scores")

    def fitted_to(self, panel: Panel) -> Logarithm:
        """Return the map for the scores of a panel."""
        return replace(self, typical=float(np.exp(np.log(panel.score).mean())))


def _refuse(panel: Panel, rows: NDArray[np.int64], what: str, remedy: str) -> None:
    if not rows.size:
        return
    named = "; ".join(
        f"{panel.score[at]:g} for {panel.objects[int(panel.object_index[at])]} "
        f"by {panel.assessors[int(panel.assessor_index[at])]}"
        for at in rows[:_SHOWN].tolist()
    )
    more = f" and {rows.size - _SHOWN} more" if rows.size > _SHOWN else ""
    first = panel.objects[int(panel.object_index[rows[0]])]
    word = "score is" if rows.size == 1 else "scores are"
    raise InputError(f"{rows.size} {word} {what} ({named}{more}): {remedy}.", kind="bad_score", where=f"object {first}")


def map_scores(panel: Panel, scores: ScoreMap) -> Panel:
    """Return the panel with its scores on the scale of a map, and its confidences scaled to it."""
    points = panel.score
    precision = panel.precision / np.square(scores.slope(points))
    return replace(panel, score=scores.forward(points), precision=precision)
