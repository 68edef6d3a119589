"""What every model returns: values, biases, the residual, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.errors import InputError, NotRankableError, Problem
from evenhand.htmlrepr import MOST_ROWS, html_lines, html_table
from evenhand.models.posterior import Marginal, Posterior, mapped_sd
from evenhand.panel.gauge import Gauge, Reference, condition, gauge_name
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import Connectivity
from evenhand.words import count_of

Method = Literal["sa", "cwa", "iba", "cwc"]

METHOD_NAMES: Final[dict[str, str]] = {
    "sa": "simple averaging",
    "cwa": "confidence-weighted averaging",
    "iba": "incomplete block analysis",
    "cwc": "calibration with confidence",
}

REFINEMENT_NAMES: Final = {
    "shrunk": "shrunk to the mean",
    "scaled": "assessors' own scales",
    "confidences": "calibrated confidences",
    "power": "power of confidence estimated",
    "student": "heavy tails",
    "huber": "heavy tails (Huber)",
    "rounded": "rounded scores",
    "logit": "bounded scale (logit)",
    "rational": "bounded scale (rational)",
    "log": "log scores",
    "covariates": "covariates",
    "medians": "medians",
    "criteria": "several criteria",
}


def method_name(method: str) -> str:
    """Return what a method is called in words.

    Examples
    --------
    >>> method_name("cwc+shrunk")
    'calibration with confidence, shrunk to the mean'
    """
    base, *refinements = method.split("+")
    words = [name for key, name in METHOD_NAMES.items() if key == base] or [base]
    return ", ".join([*words, *(REFINEMENT_NAMES.get(name, name) for name in refinements)])


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


@dataclass(frozen=True, eq=False)
class Effects:
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
        return columns

    def to_frame(self) -> Any:
        """Return the table as the kind of frame that the panel came from."""
        return frames.make_frame(self.columns(), self.backend)


@dataclass(frozen=True, slots=True)
class Contrast:
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


@dataclass(frozen=True, eq=False)
class Fit:
    """A panel with its values and biases.

    Attributes
    ----------
    panel
        The panel as it was given.
    method
        ``"sa"``, ``"cwa"``, ``"iba"`` or ``"cwc"``; refinements follow after a plus: ``"cwc+shrunk"``.
    gauge
        The degeneracy-breaking condition; None for averages, which need none.
    values, biases
        Estimates for objects and for assessors.
    weight
        The precision that the method gave each assessment.
    residual
        The weighted sum of squares R of the residuals (eq. A.1).
    degrees_of_freedom
        nu: N - n_O - n_A + components, or N - n_O for averages.
    connectivity
        How well the panel hangs together, with the precisions that the method used.
    posterior
        How sure everything is.
    notes
        What a reader must know.
    given_residuals
        The residuals, where the solver had them at hand with all their digits.
    refined
        What a refined model found beside values and biases (`Refined`); None for the four methods.
    per_component
        Whether each group of a panel that is not connected was to be calibrated on its own.
    precision
        The precisions behind the residual, where an outlying or rounded score weighs less than that; None elsewhere.
    """

    panel: Panel
    method: str
    gauge: Gauge | None
    values: Effects
    biases: Effects
    weight: Floats
    residual: float
    degrees_of_freedom: int
    connectivity: Connectivity
    posterior: Posterior
    notes: tuple[Problem, ...] = ()
    given_residuals: Floats | None = field(default=None, repr=False)
    refined: Any = field(default=None, repr=False)
    per_component: bool = False
    precision: Floats | None = field(default=None, repr=False)

    def refuse_criteria(self, what: str) -> None:
        """Refuse what needs a fit of the panel alone, where scores of other criteria had their part in it."""
        if self.method.endswith("+criteria"):
            raise InputError(
                f"{what} is not for values of several criteria, in which scores of other criteria have their part: ask "
                "for it of one criterion, fitted on its own.",
                kind="bad_method",
            )

    @cached_property
    def residuals(self) -> Floats:
        """S - v - b for each assessment."""
        if self.given_residuals is not None:
            return self.given_residuals
        fitted = self.values.estimate[self.panel.object_index] + self.biases.estimate[self.panel.assessor_index]
        return np.asarray(np.subtract(self.panel.score, fitted, out=fitted))

    @cached_property
    def fitted(self) -> Floats:
        """What the model expects of each score, in points."""
        scale = self.values.scale
        if scale is None:
            return np.asarray(self.panel.score - self.residuals)
        return scale.back(scale.forward(self.panel.score) - self.residuals)

    @property
    def residual_scaled(self) -> float:
        """R divided by the mean precision, as in the paper's table of residuals."""
        return self.residual / float((self.weight if self.precision is None else self.precision).mean())

    @property
    def noise_variance_ml(self) -> float:
        """Maximum-likelihood noise variance R/N (App. A)."""
        return self.residual / self.panel.n_assessments

    @property
    def noise_variance_mode(self) -> float:
        """Noise variance R/(N + 2) at the peak of the joint posterior of (w, v, b) under Jeffreys' prior 1/w."""
        return self.residual / (self.panel.n_assessments + 2)

    @property
    def noise_variance_printed(self) -> float | None:
        """R/(N - 2), which App. D prints for that peak; the equation above it gives R/(N + 2)."""
        return self.residual / (self.panel.n_assessments - 2) if self.panel.n_assessments > 2 else None

    @property
    def noise_p_value(self) -> float | None:
        """Two-sided p-value of w = 1, R against chi-square with nu degrees; None where no sigma was declared."""
        if self.panel.confidence != "uncertainty" or self.method not in ("cwa", "cwc") or self.degrees_of_freedom < 1:
            return None
        from scipy.special import gammainc, gammaincc

        half, statistic = self.degrees_of_freedom / 2, self.residual / 2
        return min(1.0, 2 * float(min(gammainc(half, statistic), gammaincc(half, statistic))))

    @property
    def noise_variance(self) -> float | None:
        """The factor w of all variances: w* = R/(nu - 2) where estimated, 1 where declared."""
        return self.posterior.noise.variance

    @cached_property
    def rms_uncertainty(self) -> float | None:
        """Confidence-weighted root-mean-square uncertainty (eq. D.1), in the reference gauge whatever the fit's own.

        For calibrating methods sqrt(w* Tr M^+ / 2C) over values and biases; for averages its analogue
        sqrt(w* n_O / C) over values. None where there is no standard deviation.
        """
        of_values, of_biases = self._reference_variances
        sides = 2 if self.is_calibrated else 1
        return self._rms(of_values + of_biases, sides)

    @cached_property
    def rms_uncertainty_values(self) -> float | None:
        """Root-mean-square uncertainty over values alone: like for like between averages and calibration."""
        return self._rms(self._reference_variances[0], 1)

    @cached_property
    def _reference_variances(self) -> tuple[float, float]:
        """Total confidence times variance for w = 1, summed over objects and over assessors, in the reference gauge."""
        posterior = self.posterior
        if posterior.condition is not None:
            posterior = posterior.in_gauge(condition(Reference(0.0), self.connectivity.panel, self.connectivity))
        of_values, of_biases = posterior.unit_variances
        return float(self.values.total_confidence @ of_values), float(self.biases.total_confidence @ of_biases)

    def _rms(self, trace: float, sides: int) -> float | None:
        variance = self.noise_variance
        total = float(self.values.total_confidence.sum())
        return None if variance is None else float(np.sqrt(variance * trace / (sides * total)))

    @property
    def is_certain(self) -> bool:
        """Whether the scores agree perfectly and the noise, estimated from them, is therefore zero."""
        return self.residual == 0 and self.posterior.noise.kind == "estimated"

    @property
    def is_calibrated(self) -> bool:
        """Whether biases were fitted."""
        return self.method not in ("sa", "cwa")

    def contrast(
        self, values: Mapping[str, float] | None = None, biases: Mapping[str, float] | None = None
    ) -> Contrast:
        """Return a weighted sum of values and biases with its uncertainty.

        Differences between values, or between biases, are the same in every gauge.

        Parameters
        ----------
        values, biases
            Weights by the labels of objects and of assessors; all others weigh nothing.

        Examples
        --------
        >>> from evenhand import Panel, calibrate
        >>> panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [60.0, 70.0, 50.0, 62.0, 40.0, 47.0])
        >>> round(calibrate(panel).contrast(values={"0": 1, "1": -1}).estimate, 9)
        9.0
        """
        of_values = _weights(values or {}, self.values)
        of_biases = _weights(biases or {}, self.biases)
        groups = {*self.values.component[of_values != 0].tolist(), *self.biases.component[of_biases != 0].tolist()}
        if len(groups) > 1:
            raise InputError("Values and biases of different groups cannot be compared.", kind="not_comparable")
        estimate = float(of_values @ self.values.latent + of_biases @ self.biases.latent)
        marginal = self.posterior.of_contrasts(of_values[:, None], of_biases[:, None])
        sd, ends = marginal.sd, marginal.interval(self.values.interval)
        return Contrast(
            estimate,
            None if sd is None else float(sd[0]),
            None if ends is None else estimate + float(ends[0][0]),
            None if ends is None else estimate + float(ends[1][0]),
        )

    def covariance(self) -> Floats | None:
        """Return the posterior covariance of values, then biases, in the gauge of the fit; None where there is none."""
        return self.posterior.covariance()

    def draw(self, count: int, *, seed: int) -> tuple[Floats, Floats]:
        """Return draws (rows) of values and of biases from their posterior, in the gauge of the fit."""
        drawn = self.posterior.draw(count, np.random.default_rng(seed))
        if drawn is None:
            raise NotRankableError(f"There is no posterior to draw from: {self.posterior.noise.reason}.")
        values, biases = self.values.latent + drawn[0], self.biases.latent + drawn[1]
        return (
            values if self.values.scale is None else self.values.scale.back(values),
            biases if self.biases.scale is None else self.biases.scale.back(biases),
        )

    def _titles(self) -> list[str]:
        """Return method and gauge, counts, and the residual."""
        panel, dof = self.panel, self.degrees_of_freedom
        return [
            f"{_sentence(method_name(self.method))} ({self.method.upper()})"
            + (f", gauge {gauge_name(self.gauge)}" if self.gauge is not None else ""),
            f"{count_of(panel.n_objects, 'object')}, {count_of(panel.n_assessors, 'assessor')}, "
            f"{count_of(panel.n_assessments, 'assessment')}, {panel.describe_confidence()}",
            f"residual {self.residual:.6g} with {count_of(dof, 'degree')} of freedom",
        ]

    def __str__(self) -> str:
        lines = self._titles()
        order = np.argsort(self.values.rank, kind="stable")
        shown = order if order.size <= 10 else order[:5]
        lines += ["", "highest values" if order.size > 10 else "values"]
        lines += _lines(self.values, shown)
        if self.is_calibrated:
            by_size = np.argsort(-np.abs(self.biases.estimate), kind="stable")
            chosen = by_size if by_size.size <= 10 else by_size[:5]
            lines += ["", "largest biases" if by_size.size > 10 else "biases", *_lines(self.biases, chosen)]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the highest values and the largest biases as tables, for notebooks."""
        title, counts, residual = self._titles()
        by_rank = np.lexsort((self.values.rank, self.values.component))
        parts = [_html(self.values, by_rank, f"{title}; {counts}; {residual}")]
        if self.is_calibrated:
            by_size = np.argsort(-np.abs(self.biases.estimate), kind="stable")
            parts.append(_html(self.biases, by_size, "Biases: positive is generous, negative strict"))
        return "".join(parts) + html_lines(f"Note: {note}" for note in self.notes)

    def __repr__(self) -> str:
        return f"Fit({self.method}, {self.panel!r}, residual {self.residual:.6g})"


def _sentence(words: str) -> str:
    """Return words with a capital at the beginning."""
    return words[:1].upper() + words[1:]


def _weights(given: Mapping[str, float], effects: Effects) -> Floats:
    """Return weights by label as an array in the order of the effects."""
    position = {label: index for index, label in enumerate(effects.labels)}
    weights = np.zeros(len(position))
    for label, weight in given.items():
        if label not in position:
            message = f"There is no {effects.side} {label!r} in this panel."
            raise InputError(message, kind="unknown_label", where=f"{effects.side} {label}")
        if not np.isfinite(weight):
            raise InputError(f"The weight of {label} must be a finite number.", kind="bad_option")
        weights[position[label]] = weight
    return weights


def _html(effects: Effects, order: NDArray[np.int64], caption: str) -> str:
    """Return the first of some effects as a table."""
    chosen = order[:MOST_ROWS]
    table: dict[str, Any] = {effects.side: [str(effects.labels[at]) for at in chosen.tolist()]}
    columns: dict[str, Any] = {
        effects.name: effects.estimate,
        "sd": effects.sd,
        "lower": effects.lower,
        "upper": effects.upper,
    }
    columns |= {"scores": effects.assessments, "rank": effects.rank if effects.side == "object" else None}
    columns |= {"group": effects.component + 1 if effects.component.max(initial=0) > 0 else None}
    table |= {name: cells[chosen].tolist() for name, cells in columns.items() if cells is not None}
    points = (effects.name, "sd", "lower", "upper")
    signed = ("bias", "lower", "upper") if effects.side == "assessor" else ()
    return html_table(caption, table, count=order.size, of=effects.side, alike=points, signed=signed)


def _lines(effects: Effects, chosen: NDArray[np.int64]) -> list[str]:
    width = max((len(str(effects.labels[i])) for i in chosen), default=0)
    sd = effects.sd
    return [
        f"  {effects.labels[i]!s:<{width}}  {effects.estimate[i]:9.3f}" + ("" if sd is None else f"  ± {sd[i]:.3f}")
        for i in chosen.tolist()
    ]
