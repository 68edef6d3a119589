"""The refinements of appendix F in one door: priors, scales, confidences, heavy tails, rounding, covariates, bounds."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from math import exp
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats, one_thread
from evenhand.errors import InputError, Problem, SolveError
from evenhand.models.covariates import code_covariates, code_rows
from evenhand.models.effects import Scale, Table, both_sides
from evenhand.models.family import INTERVAL, refuse_criteria, refuse_extreme
from evenhand.models.fit import Fit, Model, Options, Question, outlying_notes
from evenhand.models.noise import KnownNoise, Likelihood, NoiseKind, NoisePrior, Normal, notes_on
from evenhand.models.noise_factors import factor_table, power_unknown, strength_unknown
from evenhand.models.posterior import Alternative, Marginal, Posterior
from evenhand.models.predictive import Part, Rows, refined_parts
from evenhand.models.robust import Huber, Student, freedom_unknown
from evenhand.models.rounded import Rounded
from evenhand.models.scaled import scale_unknown, scales_of
from evenhand.models.setting import Node, Setting, Unknown, Work, log_unknown, put_number
from evenhand.models.shrunk import (
    ratio_unknown,
    refuse_perfect,
    refuse_random,
    refuse_untold,
    seen_once,
    starts,
    with_ratio,
)
from evenhand.models.variances import Search
from evenhand.panel.gauge import Condition, Gauge, condition
from evenhand.panel.panel import Panel
from evenhand.solve import SolverKind
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import argument, count_of, name_some, plural

if TYPE_CHECKING:
    from evenhand.models.bounded import ScoreMap
    from evenhand.models.ordinal import Laplace, Link

Tails = Literal["student", "huber"]
Criterion = Literal["reml", "ml"]

_HUGE: Final = 1e60
"""Numbers that are given lie within this factor of 1."""

_REFITTED: Final = 300
"""Up to this many scores each is left out in turn where only fits without them tell what they did."""


@dataclass(frozen=True, slots=True)
class Refinements:
    """What is assumed beyond s = v + b + noise.

    Attributes
    ----------
    shrink
        Whether values and biases have priors whose variances the scores tell (or are given): ``True``, or
        ``"biases"`` for biases alone.
    value_sd, bias_sd
        Standard deviations of these priors in points, where they are known; a bias_sd of 0 means that there are no
        biases, and the values are averages, shrunk.
    scale
        Whether each assessor has a scale of their own, drawn to 1.
    calibrate_confidence
        Whether each assessor has a noise factor of their own, drawn to 1.
    power
        What is made of differences in declared confidence: 1 as declared, 0 nothing, ``"estimated"`` what the
        scores tell.
    tails
        ``"student"`` or ``"huber"`` for noise that is now and then large.
    freedom
        Degrees of freedom of Student's noise; None to estimate them.
    step
        Step to which scores were rounded.
    scores
        A map of bounded or positive scores to a scale without ends. Values and biases are then shrunk too.
    ordinal
        ``"probit"`` or ``"logit"`` where scores are ordered categories. Values and biases are then shrunk too, and
        their standard deviations are on the latent scale, on which noise has standard deviation 1 (or that of the
        logistic density).
    covariates
        Names of covariates of the assessments.
    likelihood
        Whether the mean of the values and the coefficients of covariates are integrated out while variances are
        estimated (``"reml"``), or held at their best (``"ml"``).
    """

    shrink: bool | Literal["biases"] = False
    value_sd: float | None = None
    bias_sd: float | None = None
    scale: bool = False
    calibrate_confidence: bool = False
    power: float | Literal["estimated"] = 1.0
    tails: Tails | None = None
    freedom: float | None = 4.0
    step: float | None = None
    scores: ScoreMap | None = None
    ordinal: Link | None = field(default=None, repr=False)
    covariates: tuple[str, ...] = ()
    likelihood: Criterion = field(default="reml", repr=False)

    @classmethod
    def named(cls, given: dict[str, Any], caller: str) -> Refinements:
        """Return refinements from arguments of a function that takes them by name."""
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f": did you mean {near[0]}?" if near else f"; refinements are {', '.join(known)}"
                raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}{hint}")
        return cls(**given)

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of what is assumed, as they stand in the name of the method."""
        chosen = {
            "shrunk": self.shrink is not False or self.scores is not None or self.ordinal is not None,
            "scaled": self.scale,
            "confidences": self.calibrate_confidence,
            "power": self.power not in (0.0, 1.0),
            self.tails or "": self.tails is not None,
            "rounded": self.step is not None,
            self.scores.name if self.scores is not None else "": self.scores is not None,
            f"ordinal-{self.ordinal}": self.ordinal is not None,
            "covariates": bool(self.covariates),
            "ml": self.likelihood == "ml",
        }
        return tuple(name for name, wanted in chosen.items() if wanted)

    @property
    def method(self) -> str:
        """Name of the method: ``cwc+shrunk+student``."""
        return "+".join(["iba" if self.power == 0.0 else "cwc", *self.names])


@dataclass(frozen=True, eq=False)
class Refined(Model):
    """A refined model, with what it found beside values and biases; tables are made when first asked for.

    Attributes
    ----------
    panel
        The panel.
    refinements
        What was assumed.
    search
        The marginal likelihood of the model's variances, and the fit where it is highest, on the scale of the model.
    names
        Names of the covariates' columns.
    dropped
        Names of columns that others explain, and that were therefore left out.
    interval
        Probability of intervals.
    laplace
        The likelihood of ordered categories, where scores are that.
    """

    panel: Panel
    refinements: Refinements
    search: Search = field(repr=False)
    names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    interval: float = INTERVAL
    laplace: Laplace | None = field(default=None, repr=False)

    @property
    def method(self) -> str:
        """Its short name: ``cwc+shrunk``."""
        return self.refinements.method

    @property
    def asked(self) -> dict[str, object]:
        """The refinements that are not as they are unless asked for."""
        told, plain = self.refinements, Refinements()
        every = {one.name: getattr(told, one.name) for one in fields(told)}
        return {name: given for name, given in every.items() if given != getattr(plain, name)}

    @property
    def uses_confidence(self) -> bool:
        """Whether scores weigh by declared confidence."""
        return self.refinements.power != 0

    @property
    def tables(self) -> dict[str, Table | None]:
        """What it found beside values and biases."""
        names = ("variances", "covariates", "scales", "noise_factors")
        return {
            name: getattr(self, name) for name in (*names, *(() if self.laplace is None else ("thresholds", "latent")))
        }

    @property
    def behind(self) -> Search:
        """The search for its variances, with the fit that it ended in."""
        return self.search

    @property
    def node(self) -> Node:
        """The least-squares fit behind it, on the scale of the model."""
        return self.search.best

    @property
    def settings(self) -> dict[str, str]:
        """What was assumed."""
        likelihood, ordinal = self.refinements.likelihood, self.refinements.ordinal
        further = {"likelihood": likelihood if likelihood != "reml" else None, "ordinal": ordinal}
        return {"refinements": repr(self.refinements)} | {name: one for name, one in further.items() if one is not None}

    @property
    def step(self) -> float | None:
        """The step that scores were rounded to, where it was told."""
        return self.refinements.step

    def predict(self, fit: Fit, rows: Rows) -> tuple[Part, ...]:
        """Return what is said of assessments that have not been made."""
        chosen = self.refinements
        columns = code_rows(self.panel, chosen.covariates, self.names, rows.covariates, rows.precision)
        return refined_parts(self._nodes, self.search.work, rows, columns)

    def left_out(self, fit: Fit) -> Part | None:
        """Return what all other scores say of each score, where thresholds of categories depend on it too."""
        if self.laplace is None:
            return None
        likelihood, mean, variance = self.laplace.left_out()
        return Part(1.0, KnownNoise(1.0), likelihood, mean, variance, self.node.precision)

    def without(self, fit: Fit, row: int, shift: Floats) -> tuple[Part, ...]:
        """Return what a fit without a score says of it, its variances found anew about so far from those with it."""
        if self.laplace is not None:
            return ()
        panel, chosen, precision = self.panel, self.refinements, self.panel.precision[[row]]
        object_, assessor = panel.objects[panel.object_index[row]], panel.assessors[panel.assessor_index[row]]
        rest = panel.restrict(np.arange(panel.n_assessments) != row)
        noise: NoiseKind = "declared" if self.node.setting.is_declared else "estimated"
        with one_thread(min(panel.n_objects, panel.n_assessors)):
            near = self.search, shift
            model, _ = find_refined(
                rest, chosen, per_component=True, noise=noise, solver=self.search.work.solver, near=near
            )
        place = [
            labels.index(one) if one in labels else -1
            for labels, one in ((rest.objects, object_), (rest.assessors, assessor))
        ]
        covariates = {name: [panel.covariates[name][row]] for name in chosen.covariates}
        rows = Rows([object_], [assessor], np.array(place[:1]), np.array(place[1:]), precision, covariates)
        columns = code_rows(rest, chosen.covariates, model.names, covariates, precision)
        return refined_parts([(1.0, model.node)], model.search.work, rows, columns)

    def refit(self, panel: Panel, **options: Unpack[Options]) -> Fit:
        """Return the fit of another panel with the same refinements."""
        return refine(panel, self.refinements, **options)

    @property
    def is_heavy(self) -> bool:
        """Whether an outlying score counts for less than others, so that their weights hang on each other."""
        return isinstance(self.node.setting.likelihood, Student | Huber)

    def why_not(self, question: Question) -> str | None:
        """Return why a question cannot be answered."""
        if question == "influence" and self.is_heavy and self.panel.n_assessments > _REFITTED:
            return (
                f"With heavy tails what each score did takes a fit without it, which is done for up to {_REFITTED} "
                "scores: fit again without the one in question, or without heavy tails."
            )
        if question == "sensitivity":
            return (
                "Full sensitivities are for the four methods: for a refined model use influence, or fit again with "
                "the score changed."
            )
        if question == "log_evidence":
            names = [one.name for one in self.search.unknowns]
            normal = self.node.setting.likelihood.is_normal
            if (
                names != ["value_ratio", "bias_ratio"] or self.names or not normal
            ):  # coefficients have no prior of their own
                return (
                    f"no log-evidence for {self.method}: it is computed for averages and for calibration, with or "
                    "without confidence, each as it is or pulled towards the mean."
                )
            if self.node.freedom <= 2:
                return f"no log-evidence for {self.method}: there are too few scores."
        return None

    @property
    def log_marginal(self) -> float:
        """Log marginal likelihood at the best variances."""
        return self.node.log_marginal

    @cached_property
    def credible(self) -> list[tuple[float, Floats, Node]]:
        """Other variances that the scores leave credible, with probabilities; none for large panels."""
        if self.search.is_large:
            return []
        with one_thread(min(self.panel.n_objects, self.panel.n_assessors)):
            if self.laplace is not None:
                return self.laplace.credible(self.node)
            return self.search.credible(self.search.point)

    @property
    def _nodes(self) -> list[tuple[float, Node]]:
        return [(share, node) for share, _, node in self.credible] or [(1.0, self.node)]

    @property
    def surprise(self) -> Floats:
        """For every score how many standard deviations it lies from what is expected."""
        if self.laplace is not None:
            return self.residuals / self.laplace.deviation(-self.node.residuals)
        return np.asarray(self.residuals * np.sqrt(self.node.precision / self.node.w))

    @cached_property
    def scale(self) -> Scale | None:
        """How the scale on which the model is additive is read off in points, where it is not in points itself."""
        return self.refinements.scores if self.laplace is None else self.laplace.best.likelihood

    @cached_property
    def residuals(self) -> Floats:
        """Scores less what is expected of them, in points."""
        node, scale = self.node, self.scale
        if scale is None:
            return node.residuals
        place = self.search.work.panel.score - node.residuals
        if self.laplace is None:
            return np.asarray(self.panel.score - scale.back(place))
        sure = np.zeros_like(place)
        return np.asarray(self.panel.score - node.setting.likelihood.expected(place, sure, node.precision, node.w))

    @cached_property
    def covariates(self) -> Table | None:
        """Coefficients of the covariates, in points per unit."""
        if not self.names:
            return None
        parts = [(share, node, node.coefficients, _border_sd(node)[: len(self.names)]) for share, node in self._nodes]
        return self._table("covariate", self.names, self.node.coefficients, parts)

    @cached_property
    def scales(self) -> Table | None:
        """The assessors' scales lambda."""
        if not self.refinements.scale:
            return None
        count = self.panel.n_assessors
        parts = [(share, node, node.log_scale, _border_sd(node)[-count:]) for share, node in self._nodes]
        return scales_of(self._table("assessor", self.panel.assessors, self.node.log_scale, parts))

    @cached_property
    def noise_factors(self) -> Table | None:
        """The assessors' factors kappa of the noise variance; above 1 for the over-confident."""
        if self.node.setting.strength is None:
            return None
        return factor_table(self.panel, self.node, self._nodes, self.interval)

    @property
    def notes(self) -> list[Problem]:
        """Who is over-confident, and who under-confident."""
        table = self.noise_factors
        if table is None:
            return []
        found = []
        for word, rows in (
            ("over-confident", np.flatnonzero(table.lower > 1)),
            ("under-confident", np.flatnonzero(table.upper < 1)),
        ):
            if rows.size:
                names = name_some([self.panel.assessors[at] for at in rows.tolist()])
                found.append(Problem("confidence", f"{count_of(rows.size, 'assessor')} {word}: {names}."))
        return found

    @cached_property
    def variances(self) -> Table:
        """Whatever numbers of the model the scores had to tell: standard deviations, power, degrees of freedom."""
        if self.laplace is not None:
            return self.laplace.variances(self.interval, self.panel.backend)
        return _variance_table(self.search, self.credible, self.interval, self.panel.backend)

    @cached_property
    def thresholds(self) -> Table | None:
        """Where the latent scale of ordered categories is cut."""
        return None if self.laplace is None else self.laplace.cuts(self.interval, self.panel.backend)

    @cached_property
    def latent(self) -> Table | None:
        """Values on the latent scale of ordered categories."""
        if self.laplace is None:
            return None
        parts = [(share, node, node.values, np.sqrt(node.solver.diagonal()[0])) for share, node in self._nodes]
        return self._table("object", self.panel.objects, self.node.values, parts)

    def _table(
        self,
        side: str,
        labels: Sequence[str],
        estimate: Floats,
        parts: Sequence[tuple[float, Node, Floats, Floats]],
    ) -> Table:
        """Return estimates with what all credible variances say of them."""
        marginal = Marginal.mixed(
            [(share, node.noise, centre - estimate, np.square(spread)) for share, node, centre, spread in parts]
        )
        sd, ends = marginal.sd, marginal.interval(self.interval)
        missing = np.full(estimate.size, np.nan)
        lower, upper = (missing, missing) if ends is None else (estimate + ends[0], estimate + ends[1])
        return Table(side, labels, estimate, missing if sd is None else sd, lower, upper, self.panel.backend)


def refine(
    panel: Panel,
    refinements: Refinements | None = None,
    *,
    gauge: Gauge = "weighted",
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
    solver: SolverKind = "auto",
    **assumed: Any,
) -> Fit:
    """Return values and biases by a refinement of calibration with confidence (App. F).

    Parameters
    ----------
    panel
        The panel.
    refinements
        What is assumed beyond s = v + b + noise; or give its fields by name: ``refine(panel, shrink=True)``.
    gauge
        Where zero bias lies; with priors on the biases that is where the biases centre, and no gauge is needed.
    per_component
        Fit each group of a panel that is not connected on its own; priors make all groups comparable without.
    noise
        ``"estimated"`` or ``"declared"``.
    interval
        Probability of intervals.
    solver
        How the equations are solved.

    Examples
    --------
    >>> from evenhand import simulate_panel
    >>> fit = refine(simulate_panel(30, 5, 3, seed=1).panel, shrink=True)
    >>> fit.method
    'cwc+shrunk'
    """
    chosen = replace(refinements if refinements is not None else Refinements(), **assumed)
    if chosen.scores is not None:
        panel.refuse_turned("Where marks end")
    with one_thread(min(panel.n_objects, panel.n_assessors)):
        model, parts = find_refined(
            panel, chosen, per_component=per_component, noise=noise, interval=interval, solver=solver
        )
    return make_refined(model, parts, gauge, per_component=per_component)


def find_refined(
    panel: Panel,
    chosen: Refinements,
    *,
    per_component: bool = False,
    noise: NoiseKind | NoisePrior = "estimated",
    interval: float = INTERVAL,
    solver: SolverKind = "auto",
    near: tuple[Search, Floats] | None = None,
) -> tuple[Refined, Connectivity]:
    """Return the model with the variances that the scores tell, and how the panel hangs together.

    They are looked for near where a search ended for nearly the same panel, if that is given: about so far from it.
    """
    refuse_criteria(panel)
    chosen = _checked(panel, chosen, noise, interval)
    refuse_extreme(panel, 1.0 if chosen.power == 1.0 else 4.0)
    if chosen.scores is not None:
        chosen.scores.refuse(panel)
        chosen = replace(chosen, scores=chosen.scores.fitted_to(panel))
    parts = connectivity(panel if chosen.power != 0 else panel.with_equal_confidence(), solver)
    if chosen.ordinal is not None:
        return _find_ordinal(panel, chosen, chosen.ordinal, interval, Work(panel, parts, solver=solver)), parts
    if chosen.shrink is False and not per_component:
        parts.require_connected()
    flat = chosen.shrink is not True, chosen.shrink is False
    coding = code_covariates(panel, chosen.covariates, flat)
    seen = panel
    if chosen.scores is not None:
        from evenhand.models.bounded import Mapped

        seen = replace(panel, score=Mapped.of(panel, chosen.scores).at)
    columns, step = None if coding is None else coding.columns, panel.step
    work = Work(seen, parts, columns, solver, step if chosen.step is None and chosen.scores is None else None)
    base, unknowns = _unknowns(panel, work, chosen, noise)
    search = Search(work, base, unknowns)
    refuse_untold(panel, unknowns)
    point = np.zeros(0)
    if unknowns:
        is_near = near is not None and near[1].size == len(unknowns)
        point = search.peak_near(*near) if near is not None and is_near else search.peak()
    refuse_perfect(unknowns, point, chosen.step)
    if chosen.scores is not None:
        refuse_random(unknowns, point)
    search.end(point)
    names, dropped = ((), ()) if coding is None else (coding.names, coding.dropped)
    return Refined(panel, chosen, search, names, dropped, interval), parts


def _find_ordinal(panel: Panel, chosen: Refinements, link: Link, interval: float, work: Work) -> Refined:
    """Return the model of ordered categories with the thresholds and variances that the scores tell."""
    from evenhand.models.ordinal import Laplace, code_categories

    likelihood = code_categories(panel, link)
    bias_sd = 0.0 if chosen.bias_sd is None and seen_once(panel) else chosen.bias_sd  # bias and noise are one
    unknowns = [
        ratio_unknown(name, 0.0, may_vanish=False)
        for name, given in (("value_ratio", chosen.value_sd), ("bias_ratio", bias_sd))
        if given is None
    ]
    refuse_untold(panel, unknowns)
    declared = work.precision(float(chosen.power))
    precision = declared / np.exp(np.log(declared).mean())
    work = replace(work, panel=replace(panel, score=np.zeros(panel.n_assessments)))
    laplace = Laplace(work, likelihood, precision, float(chosen.power), (chosen.value_sd, bias_sd))
    search = Search(work, Setting(w=1.0, likelihood=likelihood), unknowns)
    search.point, search.best = laplace.climb()
    return Refined(panel, chosen, search, interval=interval, laplace=laplace)


def _checked(panel: Panel, chosen: Refinements, noise: NoiseKind | NoisePrior, interval: float) -> Refinements:
    """Refuse what does not go together, in a sentence."""

    def refuse(message: str) -> None:
        raise InputError(message, kind="bad_option")

    shrink: Any = chosen.shrink  # whatever a user may hand in
    covariates: Any = chosen.covariates
    if shrink != "biases" and not isinstance(shrink, bool | np.bool_):
        refuse(f"shrink can be True, False or 'biases', not {shrink!r}.")
    if isinstance(shrink, np.bool_):
        chosen = replace(chosen, shrink=bool(shrink))
    if isinstance(covariates, str):
        chosen = replace(chosen, covariates=(covariates,))
    chosen = _scaled(chosen, noise)
    if chosen.power != "estimated" and not (_is_number(chosen.power) and -3 <= chosen.power <= 5):
        refuse(f"The power of confidence is a number from -3 to 5 or 'estimated', not {chosen.power!r}.")
    if not 0 < interval < 1:
        refuse(f"An interval needs a probability between 0 and 1, not {interval:g}.")
    if noise not in ("estimated", "declared"):
        refuse("A refined model takes noise estimated or declared.")
    if chosen.shrink is False and (chosen.value_sd is not None or chosen.bias_sd is not None):
        refuse("A standard deviation of values or biases is part of a prior: ask for shrink too.")
    if chosen.shrink == "biases" and chosen.value_sd is not None:
        refuse("With shrink biases the values have no prior, and so no standard deviation to be given.")
    for name in ("value_sd", "bias_sd", "step", "freedom"):
        given = getattr(chosen, name)
        if name == "bias_sd" and _is_number(given) and given == 0:
            continue
        if given is not None and not (_is_number(given) and given > 0):
            refuse(f"{argument(name)} must be a positive number, not {given!r}.")
        if given is not None and not 1 / _HUGE <= given <= _HUGE:
            refuse(f"{argument(name)} is too extreme to compute with: {given!r}.")
    if chosen.tails not in (None, "student", "huber"):
        refuse(f"Tails can be student or huber, not {chosen.tails!r}.")
    if chosen.step is not None:
        _refuse_step(panel, chosen, chosen.step)
    if noise == "declared" and panel.confidence not in ("uncertainty", "confidence"):
        refuse(f"The noise cannot be taken as declared: the panel has {panel.describe_confidence()}.")
    if noise == "declared" and chosen.power != 1.0:
        refuse("Uncertainties taken at face value have power 1: use noise estimated to change it.")
    if chosen.power == "estimated" and float(np.ptp(np.log(panel.precision))) == 0:
        refuse("All scores were declared equally sure, so there is nothing to learn about declared confidence.")
    if chosen.scale and chosen.shrink is not True:
        refuse("Scales of assessors need priors of values and biases to be told from them: ask for shrink too.")
    if chosen.calibrate_confidence and panel.n_assessors < 3:
        refuse("Noise factors of assessors are relative to each other: at least three assessors are needed.")
    _refuse_criterion(chosen)
    if noise == "estimated" and seen_once(panel) and not chosen.bias_sd:
        _refuse_seen_once(chosen)
    return chosen


def _scaled(chosen: Refinements, noise: NoiseKind | NoisePrior) -> Refinements:
    """Return refinements with the priors that maps and categories need, and refuse what does not go with them.

    Marks at the ends alone would otherwise put a value at infinity.
    """
    if chosen.scores is None and chosen.ordinal is None:
        return chosen
    if chosen.scores is not None and (isinstance(chosen.scores, type) or not hasattr(chosen.scores, "forward")):
        message = f"scores is a map such as Bounded(0, 100) or Logarithm(), not {chosen.scores!r}."
        raise InputError(message, kind="bad_option")
    if chosen.shrink == "biases":
        message = "Where scores are bounded, logarithmic or categories, values need a prior too: ask for shrink."
        raise InputError(message, kind="bad_option")
    if chosen.ordinal is not None:
        _check_ordinal(chosen, noise)
    return replace(chosen, shrink=True)


def _check_ordinal(chosen: Refinements, noise: NoiseKind | NoisePrior) -> None:
    """Refuse what does not go with ordered categories, in a sentence."""
    if chosen.ordinal not in ("probit", "logit"):
        raise InputError(f"Ordered categories are by probit or logit, not {chosen.ordinal!r}.", kind="bad_option")
    others = {
        "scales of assessors": chosen.scale,
        "calibrated confidences": chosen.calibrate_confidence,
        "an estimated power of confidence": chosen.power == "estimated",
        "heavy tails": chosen.tails is not None,
        "a step": chosen.step is not None,
        "a map of scores": chosen.scores is not None,
        "covariates": bool(chosen.covariates),
        "declared noise": noise == "declared",
    }
    refused = [name for name, asked in others.items() if asked]
    if refused:
        raise InputError(f"Ordered categories do not go with {' or '.join(refused)}: leave it out.", kind="bad_option")


def _refuse_step(panel: Panel, chosen: Refinements, step: float) -> None:
    """Refuse rounding beside what bends or scatters scores otherwise, and scores that are no multiple of the step."""
    reason = None
    off = np.flatnonzero(np.abs(panel.score / step - np.round(panel.score / step)) > 1e-6)
    if chosen.tails is not None:
        reason = "Rounded scores and heavy tails both change how a score scatters: choose one of the two."
    elif chosen.scores is not None:
        reason = "Bounded and log scores are taken to be recorded on the grid that they lie on: leave the step out."
    elif off.size:
        score, label = panel.score[off[0]], panel.objects[int(panel.object_index[off[0]])]
        reason = f"{score:g} for {label} is not a multiple of the step {step:g}."
    if reason is not None:
        raise InputError(reason, kind="bad_option")


def _refuse_criterion(chosen: Refinements) -> None:
    """Refuse maximum likelihood for models that it is not for."""
    if chosen.likelihood not in ("reml", "ml"):
        raise InputError(f"The likelihood can be reml or ml, not {chosen.likelihood!r}.", kind="bad_option")
    beyond = (
        chosen.tails or chosen.step or chosen.scores or chosen.ordinal or chosen.scale or chosen.calibrate_confidence
    )
    if chosen.likelihood == "ml" and beyond:
        message = (
            "Maximum likelihood is for normal noise without scales or noise factors: leave these out, or use reml."
        )
        raise InputError(message, kind="bad_option")


def _refuse_seen_once(chosen: Refinements) -> None:
    """Refuse to estimate of assessors who scored one object each what that cannot tell."""
    for wanted, what in (
        (chosen.scale, "their scales"),
        (chosen.calibrate_confidence, "their noise factors"),
        (chosen.power == "estimated", "whether declared confidence carries information"),
    ):
        if wanted:
            raise SolveError(f"Every assessor scored one object, which cannot tell {what}: leave that out.")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float | np.number) and not isinstance(given, bool) and bool(np.isfinite(given))


def _likelihood(panel: Panel, chosen: Refinements, freedom: float) -> Likelihood:
    """Return how scores scatter; Student's noise with so many degrees of freedom."""
    if chosen.step is not None:
        return Rounded(chosen.step)
    noise = Normal() if chosen.tails is None else Huber() if chosen.tails == "huber" else Student(freedom)
    if chosen.scores is None:
        return noise
    from evenhand.models.bounded import Mapped

    return Mapped.of(panel, chosen.scores, noise)


def _unknowns(
    panel: Panel, work: Work, chosen: Refinements, noise: NoiseKind | NoisePrior
) -> tuple[Setting, list[Unknown]]:
    """Return what is given, and what the scores must tell."""
    likelihood = _likelihood(panel, chosen, 4.0 if chosen.freedom is None else chosen.freedom)
    power = 1.0 if chosen.power == "estimated" else float(chosen.power)
    base = Setting(power=power, likelihood=likelihood, is_ml=chosen.likelihood == "ml")
    unknowns: list[Unknown] = []
    shrinks_values = chosen.shrink is True
    given = {"value_ratio": chosen.value_sd, "bias_ratio": chosen.bias_sd}
    if chosen.shrink is not False and noise == "estimated" and chosen.bias_sd is None and seen_once(work.panel):
        given["bias_ratio"] = 0.0  # bias and noise are one
    explicit = not likelihood.is_normal or any(given.values())
    weighed = replace(work, panel=replace(work.panel, precision=work.precision(power) * likelihood.first))
    begin = starts(weighed, has_biases=given["bias_ratio"] != 0)
    most = begin["w"] + 8
    if chosen.scores is not None:  # noise is in points, and as large as these tell
        in_points = starts(replace(work, panel=panel), has_biases=given["bias_ratio"] != 0)["w"]
        more = max(in_points - begin["w"], 0.0)
        begin = {name: at + more if name == "w" else at - more for name, at in begin.items()}
        most = min(begin["w"] + 8, max(begin["w"], chosen.scores.most_noise(panel)))
    if noise == "declared":
        base = replace(base, w=1.0, is_declared=True)
    elif explicit:
        unknowns.append(log_unknown("w", begin["w"], begin["w"] - 16, most, lambda x: 0.0))
    for name, wanted in (("value_ratio", shrinks_values), ("bias_ratio", chosen.shrink is not False)):
        sd = given[name]
        if not wanted:
            continue
        if sd is None:
            unknowns.append(ratio_unknown(name, begin[name], may_vanish=likelihood.is_normal))
        elif base.w is not None or sd == 0:
            base = put_number(base, name, sd**2 / (base.w or 1.0))
        else:
            unknowns[0] = with_ratio(unknowns[0], name, sd)
    asked = (
        (power_unknown(), chosen.power == "estimated"),
        (scale_unknown(work, begin["w"]), chosen.scale),
        (strength_unknown(), chosen.calibrate_confidence),
        (freedom_unknown(partial(_likelihood, panel, chosen)), chosen.tails == "student" and chosen.freedom is None),
    )
    return base, [*unknowns, *(unknown for unknown, is_asked in asked if is_asked)]


def make_refined(
    refined: Refined, parts: Connectivity, gauge: Gauge = "weighted", *, per_component: bool = False
) -> Fit:
    """Return the Fit that a refined model makes."""
    panel, chosen, best = refined.panel, refined.refinements, refined.node
    fixed = None if chosen.shrink is not False else condition(gauge, parts.panel, parts)
    values, biases = _fixed(best, fixed, parts)

    def others() -> tuple[Alternative, ...]:
        return tuple(_alternative(share, node, values, biases, fixed, parts) for share, _, node in refined.credible)

    posterior = Posterior(best.noise, parts.panel.object_confidence, panel.n_assessors, best.solver, fixed, others)
    scale, residuals = refined.scale, refined.residuals
    estimates = (values if scale is None else scale.back(values)), biases
    groups = (parts.object_component, parts.assessor_component) if chosen.shrink is False else None
    of_values, of_biases = both_sides(panel, parts.panel, estimates, groups, posterior, refined.interval, scale)
    return Fit(
        panel=panel,
        model=refined,
        gauge=None if fixed is None else gauge,
        values=of_values,
        biases=of_biases,
        weight=best.weight,
        residual=float(best.precision @ np.square(residuals)),
        degrees_of_freedom=best.freedom,
        connectivity=parts,
        posterior=posterior,
        given_notes=(*panel.notes, *_notes(panel, chosen, best, refined, parts)),
        given_residuals=residuals,
        per_component=per_component,
        precision=best.precision,
    )


def _fixed(node: Node, fixed: Condition | None, parts: Connectivity) -> tuple[Floats, Floats]:
    """Return values and biases in the gauge, where there is one."""
    if fixed is None:
        return node.values, node.biases
    shift = fixed.shift(node.values, node.biases)
    return node.values + shift[parts.object_component], node.biases - shift[parts.assessor_component]


def _alternative(
    share: float, node: Node, values: Floats, biases: Floats, fixed: Condition | None, parts: Connectivity
) -> Alternative:
    own = _fixed(node, fixed, parts)
    posterior = Posterior(node.noise, parts.panel.object_confidence, biases.size, node.solver, fixed)
    return Alternative(share, posterior, own[0] - values, own[1] - biases)


def _border_sd(node: Node) -> Floats:
    """Return standard deviations of the further unknowns for w = 1."""
    return np.zeros(0) if node.border is None else np.sqrt(np.diagonal(node.border.covariance))


_SHOWN: Final[dict[str, tuple[str, Callable[[Node], float]]]] = {
    "value_ratio": ("value_sd", lambda node: float(np.sqrt((node.setting.value_ratio or 0.0) * node.w))),
    "bias_ratio": ("bias_sd", lambda node: float(np.sqrt((node.setting.bias_ratio or 0.0) * node.w))),
    "scale_ratio": ("scale_sd", lambda node: float(np.sqrt((node.setting.scale_ratio or 0.0) * node.w))),
    "power": ("power", lambda node: node.setting.power),
    "strength": ("factor_strength", lambda node: float(node.setting.strength or 0.0)),
    "freedom": ("freedom", lambda node: float(getattr(node.setting.likelihood, "freedom", np.nan))),
    "w": ("noise_sd", lambda node: float(np.sqrt(node.w))),
}


def _variance_table(
    search: Search, credible: Sequence[tuple[float, Floats, Node]], interval: float, backend: frames.Backend
) -> Table:
    """Return the estimated numbers of the model with intervals: from what else is credible, or by their information."""
    best = search.best
    rows = [*(one.name for one in search.unknowns if one.name != "w"), "w"]
    estimate = np.array([_SHOWN[name][1](best) for name in rows])
    sd = np.full(estimate.size, np.nan)
    lower, upper = sd.copy(), sd.copy()
    tails = (1 - interval) / 2, (1 + interval) / 2
    if credible:
        share = np.array([part for part, _, _ in credible])
        for at, name in enumerate(rows):
            drawn = np.array([_SHOWN[name][1](node) for _, _, node in credible])
            order = np.argsort(drawn)
            below = np.cumsum(share[order]) - share[order] / 2
            sd[at] = np.sqrt(share @ np.square(drawn - estimate[at]))
            lower[at], upper[at] = np.interp(tails, below, drawn[order])
    elif search.unknowns:
        from scipy.special import ndtri

        errors = search.errors(rows)
        for at, name in enumerate(rows):
            error, is_log = errors.get(name, np.nan), name != "power"
            ends = float(ndtri(tails[0])) * error, float(ndtri(tails[1])) * error
            sd[at] = estimate[at] * error if is_log else error
            lower[at], upper[at] = (
                (estimate[at] * exp(end) if is_log else estimate[at] + end) if np.isfinite(end) else np.nan
                for end in ends
            )
    return Table("variance", [_SHOWN[name][0] for name in rows], estimate, sd, lower, upper, backend)


def _notes(panel: Panel, chosen: Refinements, best: Node, refined: Refined, parts: Connectivity) -> list[Problem]:
    notes = []
    for name, ratio in (("values", best.setting.value_ratio), ("biases", best.setting.bias_ratio)):
        if ratio is not None and 0 < ratio < 1e-4:
            message = f"the scores show no spread of {name} beyond the noise: its best estimate is zero."
            notes.append(Problem("no_spread", message))
    if best.unrest:
        message = (
            f"the fit came to rest only roughly, since some scores contradict each other: fitted scores still move by "
            f"{best.unrest:.1g}."
        )
        notes.append(Problem("unrest", message))
    notes += notes_on(best.noise, panel.step)
    mapped = chosen.scores if refined.laplace is None else refined.laplace.best.likelihood
    if mapped is not None:
        notes.append(Problem("mapped", f"{mapped.words}."))
    if refined.dropped:
        message = f"left out, since objects, assessors or other covariates explain them: {name_some(refined.dropped)}."
        notes.append(Problem("aliased", message))
    if best.setting.bias_ratio == 0 and chosen.bias_sd is None:
        message = (
            "every assessor scored one object, so that bias and noise cannot be told apart: they are taken together, "
            "and the values are averages, shrunk."
        )
        notes.append(Problem("seen_once", message))
    elif best.setting.bias_ratio != 0 and chosen.shrink is not False and not parts.is_connected:
        message = (
            f"the panel falls into {parts.n_components} groups, which are compared through the priors alone: on the "
            f"assumption that their assessors are as strict, and their {plural(panel.noun)} as good, on the whole."
        )
        notes.append(Problem("joined_by_priors", message))
    elif chosen.shrink is False and not parts.is_connected:
        message = (
            f"each of the {parts.n_components} groups was calibrated on its own: values and ranks must not be "
            "compared across groups."
        )
        notes.append(Problem("not_comparable", message))
    return notes if chosen.tails is None else [*notes, *outlying_notes(panel, refined)]
