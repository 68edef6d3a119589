"""Bayesian log-evidence of the four methods, with ball priors and a truncated Jeffreys prior (App. E)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import asinh, cosh, exp, inf, isfinite, lgamma, log, pi, sinh, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import one_thread
from evenhand.errors import InputError, Problem, SolveError, too_extreme
from evenhand.frames import Shown
from evenhand.models.additive import calibrate
from evenhand.models.fit import Fit
from evenhand.panel.gauge import condition
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    from evenhand.models.variances import Search

_FINE: Final = 0.01
"""The smallest noise that is thought possible, beside the spread of scores that lie on no grid."""

_SPACING: Final = 0.8
_COARSEST: Final = 0.45
"""Spacing of a sum that stands for an integral, beside the standard deviation of what is integrated, and at most."""

_REACH: Final = 16.0
_LOW: Final = 14.0
"""So far from its peak, and where its log is so much lower, what is integrated counts for nothing."""

_LEAST: Final = 1e-7
"""Stands for a standard deviation of zero, beside that of the estimates."""

_FARTHEST = 1e150
"""Numbers of priors, in points, lie within this factor of 1, so that their squares can be had."""


_PERFECT: Final = "the scores agree perfectly, which gives the closed form an infinite evidence"


@dataclass(frozen=True, slots=True)
class Priors:
    """What was thought possible before the scores came in (App. E).

    Attributes
    ----------
    v_ref
        Anticipated average value: centre of the ball of values.
    sigma_O, sigma_A
        Upper estimates of the root-mean-square spread of values and of biases: the radii of the balls.
    w_min, w_max
        Limits of the noise variance of a score of typical confidence, in squared points.
    """

    v_ref: float
    sigma_O: float  # noqa: N815  # the paper's symbols
    sigma_A: float  # noqa: N815
    w_min: float
    w_max: float

    def __post_init__(self) -> None:
        if not all(isfinite(number) for number in (self.v_ref, self.sigma_O, self.sigma_A, self.w_min, self.w_max)):
            raise InputError("Priors must be finite numbers.", kind="bad_prior")
        if min(self.sigma_O, self.sigma_A) <= 0 or not 0 < self.w_min < self.w_max:
            raise InputError("Priors need sigma_O > 0, sigma_A > 0 and 0 < w_min < w_max.", kind="bad_prior")
        points = (abs(self.v_ref), self.sigma_O, self.sigma_A, sqrt(self.w_min), sqrt(self.w_max))
        if max(points) > _FARTHEST or min(points[1:]) < 1 / _FARTHEST:
            raise InputError("Priors have a number that is too extreme to compute with.", kind="bad_prior")


@dataclass(frozen=True, slots=True, repr=False)
class Evidence(Shown):
    """The log-evidence of a fit.

    Attributes
    ----------
    log_evidence
        Natural logarithm of the evidence; None where it does not exist.
    priors
        The priors behind it.
    notes
        Why it does not exist, or why its closed form may mislead here.
    """

    log_evidence: float | None
    priors: Priors
    notes: tuple[Problem, ...] = ()

    def columns(self) -> dict[str, Any]:
        """Return the log-evidence and its priors as columns of one row."""
        return {"log_evidence": [self.log_evidence], **{name: [part] for name, part in asdict(self.priors).items()}}

    def __str__(self) -> str:
        found = "none" if self.log_evidence is None else f"{self.log_evidence:.2f}"
        return "\n".join([f"log-evidence {found}", *(f"note: {note}" for note in self.notes)])


def default_priors(panel: Panel) -> Priors:
    """Return priors on the scale of the data.

    The ball of values is centred at the mean score and has radius 1.5 times the standard deviation d of the scores,
    the ball of biases has radius d (the paper's 22.5 and 15 stand in the same proportion), and the noise variance lies
    between what rounding to the grid of the scores makes of none at all, a twelfth of the squared step (0.01 d squared,
    where there is no grid), and the squared radius of the ball of values, as the paper advises.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(panel.score.std())
    if not np.isfinite(spread) or not np.isfinite(spread * spread):
        raise too_extreme("scores")
    if spread == 0:
        spread = max(1.0, abs(float(panel.score[0])))
    least = (_FINE * spread) ** 2 if panel.step is None else min(panel.step, spread) ** 2 / 12
    return Priors(float(panel.score.mean()), 1.5 * spread, spread, least, (1.5 * spread) ** 2)


def evidence(fit: Fit, priors: Priors | None = None) -> Evidence:
    """Return the log-evidence of a fit in closed form.

    The closed form extends the integrals over balls and interval to infinity; a note says when the bulk of the
    posterior does not lie inside them.

    Parameters
    ----------
    fit
        A fit by any of the four methods, or one of them shrunk: then values and biases are normal, and the radii of the
        balls are the largest standard deviations thought possible, all below them being equally likely.
    priors
        The priors; :func:`default_priors` of the panel where not given.
    """
    fit.require("evidence")
    priors = default_priors(fit.panel) if priors is None else priors
    refusal = fit.model.why_not("log_evidence")
    if refusal is not None:
        return Evidence(None, priors, (Problem("evidence", refusal),))
    if fit.model.behind is not None:
        return _shrunk(fit, fit.model.behind, priors)
    nu = fit.degrees_of_freedom
    if not fit.connectivity.is_connected and fit.is_calibrated:
        refusal = "the panel is not connected"
    elif nu <= 0:
        refusal = "there are no degrees of freedom left"
    elif fit.residual == 0:
        refusal = _PERFECT
    if refusal is not None:
        return _none(fit, priors, f"{refusal}.")
    n_objects, n_assessors = fit.panel.n_objects, fit.panel.n_assessors
    result = lgamma(nu / 2) - nu / 2 * log(pi * fit.residual) + float(np.log(fit.weight).sum()) / 2
    result -= _log_ball(n_objects, n_objects * priors.sigma_O**2) + log(log(priors.w_max / priors.w_min))
    solver = fit.posterior.solver
    if solver is None:
        result -= float(np.log(fit.values.total_confidence).sum()) / 2
    else:
        # det of A-tilde, for the zero-sum gauge of the paper's prior, is n_A^2 times the grounded determinant
        result -= (2 * log(n_assessors) + solver.log_determinant()) / 2
        if n_assessors > 1:
            result -= _log_ball(n_assessors - 1, n_assessors * priors.sigma_A**2) - log(n_assessors) / 2
        else:
            result -= -log(n_assessors) / 2
    return Evidence(result, priors, (*_sampling_notes(fit), *_bulk_notes(fit, priors)))


def _none(fit: Fit, priors: Priors, reason: str) -> Evidence:
    """Return that there is no log-evidence, and why."""
    return Evidence(None, priors, (Problem("evidence", f"no log-evidence for {fit.method}: {reason}"),))


def _shrunk(fit: Fit, search: Search, priors: Priors) -> Evidence:
    """Return the log-evidence of a shrunk fit: the marginal likelihood, averaged over the standard deviations.

    With sd = sqrt(theta w) the average over w under the prior 1/w is in closed form, given the two ratios theta.
    """
    panel, node = search.work.panel, search.best
    told = panel.n_objects + panel.n_assessors - search.work.parts.n_components
    if panel.n_assessments <= told:  # however small w is, the scores allow it
        return _none(fit, priors, "there are no degrees of freedom left.")
    if min(panel.n_objects, panel.n_assessors) < 3:  # two allow a spread of any size
        return _none(fit, priors, "two objects or assessors do not tell how far values or biases spread.")
    if calibrate(panel, per_component=True).residual == 0:
        return _none(fit, priors, f"{_PERFECT}.")
    average = _average_of_many if search.is_large else _average
    try:
        with one_thread(min(panel.n_objects, panel.n_assessors)):
            found = average(search, priors)
    except SolveError as error:
        return _none(fit, priors, str(error))
    notes = []
    said = [("values", node.setting.value_ratio, priors.sigma_O), ("biases", node.setting.bias_ratio, priors.sigma_A)]
    for what, ratio, most in said:
        if ratio is not None and np.sqrt(ratio * node.w) > most:
            message = (
                f"the log-evidence of {fit.method} takes it that the posterior lies inside the priors, and it does not "
                f"for {what} (standard deviation {np.sqrt(ratio * node.w):.3g} against {most:.3g})."
            )
            notes.append(Problem("evidence_bulk", message))
    return Evidence(found - log(log(priors.w_max / priors.w_min)), priors, tuple(notes))


def _about_mean(mean: Any, variance: Any, priors: Priors) -> Any:
    """Return the log prior density of the mean of all values, found with this variance: normal about v_ref."""
    variance = priors.sigma_O**2 + variance
    return -(np.log(2 * pi * variance) + np.square(mean - priors.v_ref) / variance) / 2


def _average_of_many(search: Search, priors: Priors) -> float:
    """Return the same on a large panel, whose ratios have nearly normal logarithms."""
    from evenhand.models.variances import Search, log_integral

    found = Search(search.work, replace(search.base, w=None, is_ml=False), search.unknowns, search.best)
    nu = search.work.panel.n_assessments - 1
    constant = lgamma(nu / 2 - 1) - lgamma(nu / 2) - log(8 * priors.sigma_O * priors.sigma_A)

    def height(point: NDArray[np.float64]) -> float:
        node = found.node(point)
        result = constant + node.log_marginal + log(node.residual) + float(point.sum()) / 2  # E[w], for the two sds
        return float(result + _about_mean(node.mean, node.w * node.mean_variance, priors))

    return log_integral(height, search.point)


def _average(search: Search, priors: Priors) -> float:
    """Return the log of the marginal likelihood, averaged over both standard deviations and w.

    The average is over the roots r of the two ratios, in which the marginal likelihood is even, at r = a sinh(u) for
    evenly spaced u from zero on: so the sum is as good as exact once the spacing is that of the standard deviation of u
    (Trefethen & Weideman 2014). a is where scores begin to tell a ratio. For each u of the larger side all u of the
    smaller one are had at once.
    """
    from evenhand.solve.equations import make_system
    from evenhand.solve.priors import sums_over_priors

    panel, node = search.work.panel, search.best
    nu, system = panel.n_assessments - 1, make_system(replace(panel, precision=node.precision), search.work.parts)
    kept_unit, gone_unit = (1 / sqrt(float(total.mean())) for total in (system.kept_total, system.gone_total))
    ratios = system.orient(node.setting.value_ratio or 0.0, node.setting.bias_ratio or 0.0)
    kept_peak, gone_peak = asinh(sqrt(ratios[0]) / kept_unit), asinh(sqrt(ratios[1]) / gone_unit)
    spacing = _SPACING / sqrt(2 * system.n_kept)
    kept = spacing * np.arange(max(0, int((kept_peak - _REACH) / spacing)), int((kept_peak + _REACH) / spacing) + 1)
    of_kept = np.square(kept_unit * np.maximum(np.sinh(kept), _LEAST))
    own = np.log(kept_unit * spacing * np.cosh(kept)) - system.n_kept * np.log(of_kept) / 2
    own[0] -= 0.0 if kept[0] else log(2)

    def line(u: float) -> float:
        """Return the log of the integral over the smaller side."""
        of_gone = (gone_unit * max(sinh(u), _LEAST)) ** 2
        found = sums_over_priors(system, panel.score, 1 / of_gone, 1 / of_kept)
        heights = own - (nu / 2 - 1) * np.log(found.residual) - found.log_determinant / 2
        heights += _about_mean(found.mean, found.residual / nu * found.mean_variance, priors)
        top = float(heights.max())
        level = log(gone_unit * cosh(u)) - system.n_gone * log(of_gone) / 2
        return level + top + log(float(np.exp(heights - top).sum()))

    constant = lgamma(nu / 2 - 1) - nu / 2 * log(pi) + float(np.log(node.precision).sum()) / 2
    return constant - log(2 * priors.sigma_O * priors.sigma_A) + _log_sum(line, gone_peak, 1 / sqrt(2 * system.n_gone))


def _log_sum(line: Callable[[float], float], peak: float, least: float) -> float:
    """Return the log of the integral from zero on of the exponential of an even function, whose peak is about there.

    ``least`` is the smallest standard deviation that it may have.
    """
    best = line(peak)
    bend = (2 * best - line(peak + least) - line(abs(peak - least))) / least**2
    spacing = _SPACING * max(least, min(1 / sqrt(max(bend, 1e-9)), _COARSEST))
    start, found = round(peak / spacing), {}
    for way in (range(start, -1, -1), range(start + 1, start + int(_REACH / spacing))):
        for at in way:
            found[at] = line(at * spacing) - (0.0 if at else log(2))
            best = max(best, found[at])
            if found[at] < best - _LOW:
                break
    return best + log(spacing * sum(exp(one - best) for one in found.values()))


def _sampling_notes(fit: Fit) -> list[Problem]:
    """Return a note where the determinant was estimated by sampling."""
    error = 0.0 if fit.posterior.solver is None else fit.posterior.solver.log_determinant_error / 2
    if error == 0:
        return []
    message = f"the log-evidence of {fit.method} was estimated by sampling, with a standard error of {error:.2g}."
    return [Problem("evidence_sampled", message)]


def _log_ball(dimension: int, squared_radius: float) -> float:
    """Return the log volume of a ball."""
    return dimension / 2 * log(pi * squared_radius) - lgamma(dimension / 2 + 1)


def _likely_noise(fit: Fit, priors: Priors) -> tuple[float, float]:
    """Return between what the noise variance lies with 90 %, or wider bounds where the prior holds even these.

    w is R over a chi-square; as a variance in squared points it is divided by the typical precision. The wider bounds
    are those of Laurent and Massart on a chi-square, which need no import of scipy.special.
    """
    nu, total = fit.degrees_of_freedom, fit.residual / float(np.exp(np.log(fit.weight).mean()))
    tail = log(20)
    away = 2 * sqrt(nu * tail)
    low, high = total / (nu + away + 2 * tail), total / (nu - away) if nu > away else inf
    if priors.w_min <= low and high <= priors.w_max:
        return low, high
    from scipy.special import gammaincinv

    low, high = (total / (2 * float(gammaincinv(nu / 2, p))) for p in (0.95, 0.05))
    return low, high


def _bulk_notes(fit: Fit, priors: Priors) -> list[Problem]:
    """Return a note for every ball or interval that does not hold the bulk of the posterior."""
    nu = fit.degrees_of_freedom
    wide = []
    values, biases = fit.values.estimate, fit.biases.estimate
    w = fit.residual / max(nu - 2, 1)
    of_values, of_biases = (float(side.mean()) for side in fit.posterior.unit_variances)
    if fit.posterior.solver is not None:
        level = float(biases.mean())
        values, biases = values + level, biases - level
        # with biases about their mean they are no less sure, and values by no more than the mean is unsure
        of_values = (sqrt(of_values) + sqrt(of_biases)) ** 2
        away, spread = np.square(values - priors.v_ref).mean(), np.square(biases).mean()
        if away + w * of_values > priors.sigma_O**2 or spread + w * of_biases > priors.sigma_A**2:
            zero_sum = condition("zero_sum", fit.connectivity.panel, fit.connectivity)
            of_values, of_biases = (float(side.mean()) for side in fit.posterior.in_gauge(zero_sum).unit_variances)
        if spread + w * of_biases > priors.sigma_A**2:
            wide.append(f"biases (root mean square {np.sqrt(spread):.3g} against {priors.sigma_A:g})")
    radius = np.sqrt(np.square(values - priors.v_ref).mean() + w * of_values)
    if radius > priors.sigma_O:
        wide.append(f"values ({radius:.3g} against {priors.sigma_O:.3g})")
    low, high = _likely_noise(fit, priors)
    if low < priors.w_min or high > priors.w_max:
        wide.append(f"noise variance ({low:.3g} to {high:.3g} against {priors.w_min:.3g} to {priors.w_max:.3g})")
    if not wide:
        return []
    message = (
        f"the log-evidence of {fit.method} takes it that the posterior lies inside the priors, and it does not for "
        f"{', '.join(wide)}: read it with care, or give wider priors."
    )
    return [Problem("evidence_bulk", message)]
