"""What every model returns, a Fit: values, biases, the residual, how sure they are; and what a model says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats
from evenhand.errors import InputError, NotRankableError, Problem
from evenhand.models.effects import Contrast, Effects, Table
from evenhand.models.noise import NoiseKind, NoisePrior, noise_asked
from evenhand.models.posterior import Posterior
from evenhand.panel.gauge import Gauge, Reference, condition, gauge_name
from evenhand.panel.panel import Panel
from evenhand.solve.choose import SolverKind
from evenhand.solve.connectivity import Connectivity
from evenhand.words import count_of, name_some, phrase, sentence

if TYPE_CHECKING:
    from evenhand.models.correlation import Correlation
    from evenhand.models.predictive import Part, Rows
    from evenhand.models.setting import Node
    from evenhand.models.variances import Search

METHOD_NAMES: Final[dict[str, str]] = {
    "sa": "simple averaging",
    "cwa": "confidence-weighted averaging",
    "iba": "calibration without confidence",
    "cwc": "calibration with confidence",
    "z": "z-scores of each assessor",
}

PLAIN_NAMES: Final = {
    "cwa": "simple averaging",
    "iba": "calibration",
    "cwc": "calibration",
    "confidences": "noise of each assessor's own",
}
"""What methods and refinements are called where no confidence was declared."""

REFINEMENT_NAMES: Final = {
    "shrunk": "pulled towards the mean",
    "scaled": "assessors' own scales",
    "confidences": "calibrated confidences",
    "power": "power of confidence estimated",
    "student": "heavy tails",
    "huber": "heavy tails (Huber)",
    "rounded": "rounded scores",
    "logit": "bounded scale (logit)",
    "rational": "bounded scale (rational)",
    "log": "log scores",
    "ordinal-probit": "ordered categories (probit)",
    "ordinal-logit": "ordered categories (logit)",
    "covariates": "covariates",
    "medians": "medians",
    "criteria": "several criteria",
}

OUTLYING: Final = 3.0
"""Scores further than this many standard deviations from what is expected are listed as outlying."""

Question = Literal[
    "refit",
    "update",
    "ranks",
    "explain",
    "influence",
    "sensitivity",
    "without",
    "leverages",
    "spread",
    "evidence",
    "log_evidence",
    "next",
    "reliability",
    "predict",
]
"""What may be asked of a fit, and refused by its model."""


def method_name(method: str, confidence: str | None = None) -> str:
    """Return what a method is called in words: on a panel without confidences (``"none"``) no word is of them.

    Examples
    --------
    >>> method_name("cwc+shrunk"), method_name("cwc+shrunk", "none")
    ('calibration with confidence, pulled towards the mean', 'calibration, pulled towards the mean')
    """
    base, *refinements = method.split("+")
    names = METHOD_NAMES | REFINEMENT_NAMES | (PLAIN_NAMES if confidence == "none" else {})
    words = [names.get(one, one) for one in (base, *refinements)]
    return ", ".join(phrase(one) for one in words)


class Options(TypedDict, total=False):
    """What every model can be asked for: gauge, groups, noise, intervals, solver."""

    gauge: Gauge
    per_component: bool
    noise: NoiseKind | NoisePrior
    interval: float
    solver: SolverKind


class Model(Protocol):
    """What a fit was made by. A model of one's own needs ``method`` and ``refit``; the rest are answers of most."""

    @property
    def method(self) -> str:
        """Its short name: ``"cwc"``; refinements follow after a plus: ``"cwc+shrunk"``."""

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the fit of another panel by the same model."""

    @property
    def asked(self) -> Mapping[str, object]:
        """The arguments that ask for it."""
        return {"method": self.method}

    @property
    def name(self) -> str:
        """What it is called in words."""
        return method_name(self.method)

    @property
    def is_plain(self) -> bool:
        """Whether it is one of the four methods of the paper's table 1."""
        return False

    @property
    def is_heavy(self) -> bool:
        """Whether an outlying score counts for less than others, so that their weights hang on each other."""
        return False

    @property
    def is_calibrated(self) -> bool:
        """Whether it fits biases."""
        return True

    @property
    def uses_confidence(self) -> bool:
        """Whether scores weigh by declared confidence."""
        return True

    @property
    def tables(self) -> Mapping[str, Table | None]:
        """What it found beside values and biases, by name: variances, covariates, ...; None where it has no such."""
        return {}

    @property
    def surprise(self) -> Floats | None:
        """For every score how many standard deviations it lies from what is expected; None for plain methods."""
        return None

    @property
    def outlying(self) -> NDArray[np.int64]:
        """Positions of scores more than three standard deviations from what is expected, the furthest first."""
        size = np.abs(np.zeros(0) if self.surprise is None else self.surprise)
        return np.argsort(-size, kind="stable")[: int((size > OUTLYING).sum())]

    @property
    def behind(self) -> Search | None:
        """The search for its variances, with the least-squares fit that it ended in; None where it has none."""
        return None

    @property
    def credible(self) -> Sequence[tuple[float, Floats, Node]]:
        """Other variances that the scores leave credible: probabilities, points of the search, fits; of most, none."""
        return ()

    @property
    def is_offered(self) -> bool:
        """Whether it may be recommended."""
        return True

    @property
    def step(self) -> float | None:
        """The step that scores were rounded to, where the model was told one."""
        return None

    def predict(self, fit: Fit, rows: Rows) -> tuple[Part, ...]:
        """Return what is said of assessments that have not been made."""
        from evenhand.models.predictive import plain_parts

        return plain_parts(
            fit.posterior,
            fit.values.latent,
            fit.biases.latent,
            rows,
            is_calibrated=self.is_calibrated,
            uses_confidence=self.uses_confidence,
        )

    def left_out(self, fit: Fit) -> Part | None:
        """Return what all other scores say of each score, where least squares do not tell it; None where they do."""
        return None

    def without(self, fit: Fit, row: int, shift: Floats) -> tuple[Part, ...]:
        """Return what a fit without a score says of it, its unknowns found anew, which move by about a shift.

        Nothing where it has none.
        """
        return ()

    @property
    def solved_by(self) -> str | None:
        """How values and biases were found, where that was not by a solver of normal equations."""
        return None

    @property
    def settings(self) -> Mapping[str, str]:
        """What was assumed, in words that a fingerprint can hold, where the method's name does not say it all."""
        return {}

    @property
    def notes(self) -> Sequence[Problem]:
        """What a reader must know of its further tables."""
        return ()

    @property
    def refusal(self) -> str:
        """The kind of error that a question raises which it cannot answer."""
        return "bad_option"

    def why_not(self, question: Question) -> str | None:
        """Return why a question cannot be answered, in a sentence; None where it can."""
        return None


def outlying_notes(panel: Panel, model: Model) -> list[Problem]:
    """Return a note that names the outlying scores, where there are any."""
    named = [
        f"{panel.score[at]:g} for {panel.objects[int(panel.object_index[at])]} by "
        f"{panel.assessors[int(panel.assessor_index[at])]}"
        for at in model.outlying.tolist()
    ]
    said = f"{count_of(len(named), 'outlying score')}: {name_some(named, 4)}."
    return [Problem("outlying", said)] if named else []


@dataclass(frozen=True)
class Method(Model):
    """One of the four methods of the paper's table 1. To call it is to fit a panel."""

    key: str  # its short name
    # calibrates, weighs: whether it fits biases, and whether scores weigh by declared confidence
    calibrates: bool
    weighs: bool
    make: Callable[..., Fit] = field(repr=False)  # the function that fits a panel by it

    @property
    def method(self) -> str:
        """Its short name."""
        return self.key

    @property
    def is_calibrated(self) -> bool:
        """Whether it fits biases."""
        return self.calibrates

    @property
    def uses_confidence(self) -> bool:
        """Whether scores weigh by declared confidence."""
        return self.weighs

    @property
    def is_plain(self) -> bool:
        """Whether it is one of the four methods: yes."""
        return True

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the fit of a panel; averages have no use for the options of groups and solvers."""
        unused = () if self.is_calibrated else ("per_component", "solver")
        return self.make(panel, **{name: option for name, option in options.items() if name not in unused})

    __call__ = refit


class _Made(Protocol):
    @property
    def model(self) -> Model: ...


class Asked:
    """A result that says in one sentence what it cannot be asked."""

    def require(self: _Made, question: Question) -> None:
        """Refuse a question that the model cannot answer.

        Raises
        ------
        InputError
            With the reason.
        """
        reason = self.model.why_not(question)
        if reason is not None:
            raise InputError(reason, kind=self.model.refusal)


@dataclass(frozen=True, eq=False)
class Fit(Asked, frames.Shown):
    """A panel with its values and biases.

    Attributes
    ----------
    panel
        The panel as it was given.
    model
        What it was made by: its name, its further tables, and why it cannot answer a question.
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
    given_notes
        What a reader must know, as far as that was seen while the fit was made.
    given_residuals
        The residuals, where the solver had them at hand with all their digits.
    per_component
        Whether each group of a panel that is not connected was to be calibrated on its own.
    precision
        The precisions behind the residual, where an outlying or rounded score weighs less than that; None elsewhere.
    """

    criteria: ClassVar[tuple[str, ...]] = ()
    fits: ClassVar[Mapping[str, Fit]] = MappingProxyType({})
    weights: ClassVar[Mapping[str, float]] = MappingProxyType({})
    correlation: ClassVar[Correlation | None] = None
    """What a fit of several criteria has beside its combined one: a fit of scores without criteria has none."""

    panel: Panel
    model: Model
    gauge: Gauge | None
    values: Effects
    biases: Effects
    weight: Floats
    residual: float
    degrees_of_freedom: int
    connectivity: Connectivity
    posterior: Posterior
    given_notes: tuple[Problem, ...] = ()
    given_residuals: Floats | None = field(default=None, repr=False)
    per_component: bool = False
    precision: Floats | None = field(default=None, repr=False)

    @cached_property
    def notes(self) -> tuple[Problem, ...]:
        """What a reader must know, with what the model says of its own findings."""
        return (*self.given_notes, *self.model.notes)

    @property
    def combined(self) -> Fit:
        """The fit itself, which has no criteria to be combined."""
        return self

    @property
    def method(self) -> str:
        """``"sa"``, ``"cwa"``, ``"iba"`` or ``"cwc"``; refinements follow after a plus: ``"cwc+shrunk"``."""
        return self.model.method

    @property
    def is_calibrated(self) -> bool:
        """Whether biases were fitted."""
        return self.model.is_calibrated

    @property
    def solved_by(self) -> str | None:
        """How values and biases were found, in words; None for averages."""
        solver = self.posterior.solver
        return self.model.solved_by or (None if solver is None else solver.reason)

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the fit of another panel by the same model, with the same treatment of noise and intervals."""
        self.require("refit")
        same: Options = {"noise": noise_asked(self.posterior.noise), "interval": self.values.interval, **options}
        return self.model.refit(panel, **same)

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
        return np.asarray(self.panel.score - self.residuals)

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
        declared = self.panel.confidence == "uncertainty" and self.model.is_plain and self.model.uses_confidence
        if not declared or self.degrees_of_freedom < 1:
            return None
        from scipy.special import gammainc, gammaincc

        half, statistic = self.degrees_of_freedom / 2, self.residual / 2
        return min(1.0, 2 * float(min(gammainc(half, statistic), gammaincc(half, statistic))))

    @property
    def noise_variance(self) -> float | None:
        """The factor w of all variances: w* = R/(nu - 2) where estimated, 1 where declared; or half a step of the grid.

        The last, where scores agree more closely than the grid that they were recorded on can show.
        """
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

    def contrast(
        self, values: Mapping[str, float] | str | None = None, biases: Mapping[str, float] | str | None = None
    ) -> Contrast:
        """Return a weighted sum of values and biases with its uncertainty, or the difference between two.

        Differences between values, or between biases, are the same in every gauge.

        Parameters
        ----------
        values, biases
            Weights by the labels of objects and of assessors; all others weigh nothing. Or two labels, of objects or
            else of assessors: the difference between their values, or between their biases.

        Examples
        --------
        >>> from evenhand import Panel, calibrate, demo
        >>> fit = calibrate(demo())
        >>> round(fit.contrast("P28", "P23").estimate, 2), round(fit.contrast("Adeyemi", "Kaur").estimate, 2)
        (1.85, 35.73)
        >>> panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [60.0, 70.0, 50.0, 62.0, 40.0, 47.0])
        >>> round(calibrate(panel).contrast(values={"0": 1, "1": -1}).estimate, 9)
        9.0
        """
        if isinstance(values, str) or isinstance(biases, str):
            values, biases = self._difference(values, biases)
        of_values = self.values.weights(values or {})
        of_biases = self.biases.weights(biases or {})
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

    def _difference(self, one: object, other: object) -> tuple[dict[str, float], dict[str, float]]:
        """Return the weights of a difference between two values, or where these are no objects two biases."""
        if not isinstance(one, str) or not isinstance(other, str):
            message = "A contrast takes two labels, or weights by label."
            raise InputError(message, kind="bad_option")
        weights = {one: 1.0, other: -1.0} if one != other else {one: 0.0}
        are_assessors = {one, other} <= set(self.biases.labels) and not {one, other} <= set(self.values.labels)
        return ({}, weights) if are_assessors else (weights, {})

    def columns(self) -> dict[str, Any]:
        """Return the table of values as columns; that of biases is ``fit.biases.columns()``."""
        return self.values.columns()

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    @property
    def name(self) -> str:
        """What its method is called in words, on this panel."""
        own = self.model.name
        if self.panel.confidence != "none" or own != method_name(self.method):
            return own
        return method_name(self.method, self.panel.confidence)

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
            f"{sentence(self.name)} ({self.method.upper()})"
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
        lines += self.values.lines(shown)
        if self.is_calibrated:
            by_size = np.argsort(-np.abs(self.biases.estimate), kind="stable")
            chosen = by_size if by_size.size <= 10 else by_size[:5]
            lines += ["", "largest biases" if by_size.size > 10 else "biases", *self.biases.lines(chosen)]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the highest values and the largest biases as tables, for notebooks."""
        title, counts, residual = self._titles()
        biases = self.biases._repr_html_() if self.is_calibrated else ""
        return self.values.html(f"{title}; {counts}; {residual}") + biases + frames.html_lines(self.remarks())

    def __repr__(self) -> str:
        return f"Fit({self.method}, {self.panel!r}, residual {self.residual:.6g})"
