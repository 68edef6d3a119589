"""How a score scatters about what the model expects, and what is known about the noise variance w.

That is declared, estimated from the residual, or by a prior of one's own. Where noise is not normal (robust, rounded),
what is asked of it is how one score bears on what all the others expect of it: the mass, mean and variance of a normal
density times the density of the score. These are closed forms.

Scores are recorded on a grid, and whoever rounds to whole points cannot be known to scatter by less than about half a
point. So wherever a standard deviation, an interval or a chance is stated, w is not less than a floor: that at which a
score of ordinary confidence (the geometric mean of all) scatters by half a step. What the scores alone say of w is
``told``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem, too_extreme
from evenhand.words import count_of, phrase

NoiseKind = Literal["estimated", "declared"]

_REACH: Final = 300
"""How far, in log w, the posterior of a prior of one's own is followed to either side."""

_DEPTH: Final = 45.0
"""How far, in log density, it is followed down."""

_HALVINGS: Final = 60
_NODES: Final = 8

_MOST_TERMS: Final = 20_000
_TAIL: Final = 1e-3
_MOST_STEPS: Final = 100
"""Quantiles of Student's t with fewer degrees of freedom, and not so far out, are sums of our own, in so many steps."""

_BLOCK: Final = 2**20
"""Confidences whose logarithms are held at a time."""


@dataclass(frozen=True, slots=True)
class NoisePrior:
    """A prior density of one's own for the noise variance w.

    Attributes
    ----------
    log_density
        The logarithm of the density of w > 0, up to a constant; called with an array.
    name
        What to call it in tables.
    """

    log_density: Callable[[Floats], Floats]
    name: str = "prior"


class Noise(Protocol):
    """The posterior of w, as it enters the posterior of values and biases: x - mean = sqrt(w) times a unit normal."""

    @property
    def kind(self) -> str:
        """``"declared"``, ``"estimated"`` or the name of the prior."""

    @property
    def variance(self) -> float | None:
        """The factor w (w*, the posterior mean of w) of all variances; None where it does not exist."""

    @property
    def told(self) -> float | None:
        """The same factor as the scores, or whoever declared it, tell it: without the floor of the grid."""

    @property
    def reason(self) -> str | None:
        """Why variances or intervals cannot be had, where they cannot."""

    @property
    def is_lifted(self) -> bool:
        """Whether half a step of the grid is more than the noise that was told."""

    def quantile(self, probability: float) -> float | None:
        """Quantile of sqrt(w) times a standard normal; None where it does not exist."""

    def cdf(self, deviation: ArrayLike) -> Floats | None:
        """Probability that sqrt(w) times a standard normal is at most this."""

    def draw_scale(self, generator: np.random.Generator, count: int) -> Floats | None:
        """Draws of sqrt(w)."""


@dataclass(frozen=True, slots=True)
class KnownNoise:
    """A noise variance w that is known: 1 where declared uncertainties are taken at face value. Gaussian posterior."""

    told: float = 1.0  # the factor w
    kind: str = "declared"  # name of this treatment
    floor: float = 0.0  # which the grid of the scores sets

    @property
    def variance(self) -> float:
        """The factor w, or the floor where that is more."""
        return max(self.told, self.floor)

    @property
    def reason(self) -> None:
        """Nothing is wanting."""
        return

    @property
    def is_lifted(self) -> bool:
        """Whether half a step of the grid is more than the noise that was told."""
        return self.told < self.floor

    def quantile(self, probability: float) -> float:
        """Return the quantile of a normal with variance w."""
        from scipy.special import ndtri

        return float(np.sqrt(self.variance) * ndtri(probability))

    def cdf(self, deviation: ArrayLike) -> Floats:
        """Return the distribution function of a normal with variance w."""
        from scipy.special import ndtr

        standard = np.asarray(deviation, dtype=np.float64) / np.sqrt(self.variance)
        return np.asarray(ndtr(standard), dtype=np.float64)

    def draw_scale(self, generator: np.random.Generator, count: int) -> Floats:
        """Return sqrt(w), as often as asked."""
        return np.full(count, np.sqrt(self.variance))


@dataclass(frozen=True, slots=True)
class EstimatedNoise:
    """Scale unknown, Jeffreys prior 1/w: Student posterior with nu degrees of freedom (App. D)."""

    residual: float  # the weighted residual sum of squares R
    nu: int  # degrees of freedom
    floor: float = 0.0  # of R/nu, which the grid of the scores sets

    @property
    def kind(self) -> str:
        """Name of this treatment."""
        return "estimated"

    @property
    def told(self) -> float | None:
        """The paper's w* = R/(nu - 2); None for nu <= 2."""
        return self.residual / (self.nu - 2) if self.nu > 2 else None

    @property
    def is_lifted(self) -> bool:
        """Whether half a step of the grid is more than the noise that was told."""
        return self.nu > 0 and self.residual < self.nu * self.floor

    @property
    def _total(self) -> float:
        """R, or what noise of half a step would leave of it on average."""
        return max(self.residual, self.nu * self.floor)

    @property
    def _is_told(self) -> bool:
        """Whether anything tells the noise: scores that disagree, or their grid."""
        return self.nu > 0 and self._total > 0

    @property
    def variance(self) -> float | None:
        """The factor w* = R/(nu - 2) of all variances; None for nu <= 2, and where nothing tells the noise."""
        return self._total / (self.nu - 2) if self.nu > 2 and self._is_told else None

    @property
    def reason(self) -> str | None:
        """Why variances or intervals cannot be had."""
        if self.nu <= 0:
            return phrase(
                "there are just enough scores to find the values, and none left over to check them (no degrees of "
                "freedom); more scores, or declared uncertainties, would tell"
            )
        if not self._is_told:
            return phrase(
                "the scores agree perfectly with values and biases, and lie on no grid that would tell how finely "
                "they were recorded, so that nothing tells how sure they are; declared uncertainties would"
            )
        if self.nu <= 2:
            return (
                f"with {count_of(self.nu, 'degree')} of freedom there is no standard deviation; "
                "intervals are given all the same"
            )
        return None

    def quantile(self, probability: float) -> float | None:
        """Return sqrt(R/nu) times the quantile of Student's t."""
        if not self._is_told:
            return None
        return float(np.sqrt(self._total / self.nu)) * student_quantile(self.nu, probability)

    def cdf(self, deviation: ArrayLike) -> Floats | None:
        """Return the distribution function of Student's t with scale sqrt(R/nu)."""
        from scipy.special import stdtr

        if not self._is_told:
            return None
        deviation = np.asarray(deviation, dtype=np.float64)
        return np.asarray(stdtr(self.nu, deviation / np.sqrt(self._total / self.nu)), dtype=np.float64)

    def draw_scale(self, generator: np.random.Generator, count: int) -> Floats | None:
        """Return draws of sqrt(w), w = R / chi^2_nu."""
        if not self._is_told:
            return None
        return np.sqrt(self._total / generator.chisquare(self.nu, count))


@dataclass(frozen=True)
class PriorNoise:
    """A prior density rho(w) of one's own: p(w | s) is proportional to rho(w) w^(-nu/2) exp(-R/2w), on a fine grid."""

    prior: NoisePrior  # the density
    # residual, nu: R and the degrees of freedom
    residual: float
    nu: int
    floor: float = 0.0  # of w, which the grid of the scores sets

    @cached_property
    def _grid(self) -> tuple[Floats, Floats, bool]:
        """Return w and its posterior probabilities at Gauss-Legendre nodes in log w, and whether w has a mean."""
        log_w, height = self._mesh()
        top = float(np.max(height))
        if max(height[0], height[-1]) > top - _DEPTH:
            raise InputError(
                f"With the prior {self.prior.name} these scores leave the noise variance undetermined: its posterior "
                "has no finite area. Give a proper prior.",
                kind="bad_prior",
            )
        has_mean = bool(height[-1] + log_w[-1] < float(np.max(height + log_w)) - _DEPTH)
        # wide enough for the mass and, where there is one, for the mean
        tail = np.maximum(height - top, height + log_w - float(np.max(height + log_w)) if has_mean else -np.inf)
        inside = np.flatnonzero(tail > -_DEPTH)
        edges = log_w[max(inside[0] - 1, 0) : inside[-1] + 2]
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
        points = (middle + half * nodes).ravel()
        height = self._log_posterior(points)
        mass = np.exp(height - np.max(height)) * (half * weights).ravel()
        return np.exp(points), mass / mass.sum(), has_mean

    def _mesh(self) -> tuple[Floats, Floats]:
        """Return points in log w, and the log posterior there, dense wherever it is high and steep."""
        centre = np.log(self.residual / max(self.nu, 1)) if self.residual > 0 else 0.0
        log_w = centre + np.linspace(-_REACH, _REACH, 8 * _REACH + 1)
        height = self._log_posterior(log_w)
        for _ in range(_HALVINGS):
            high = np.maximum(height[1:], height[:-1])
            top = float(np.max(high))
            if top == -np.inf:
                message = f"The prior {self.prior.name} gives no probability to any noise variance."
                raise InputError(message, kind="bad_prior")
            low = np.minimum(height[1:], height[:-1])
            steep = (high > top - _DEPTH) & (high > low + 1.0) & (np.diff(log_w) > 1e-10)
            if not steep.any():
                break
            middle = ((log_w[1:] + log_w[:-1]) / 2)[steep]
            places = np.flatnonzero(steep) + 1
            log_w = np.insert(log_w, places, middle)
            height = np.insert(height, places, self._log_posterior(middle))
        return log_w, height

    def _log_posterior(self, log_w: Floats) -> Floats:
        w = np.exp(log_w)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_prior = np.asarray(self.prior.log_density(w), dtype=np.float64)
            height = log_prior + (1 - self.nu / 2) * log_w - self.residual / (2 * w)
        return np.where(np.isfinite(height), height, -np.inf)

    @property
    def kind(self) -> str:
        """Name of the prior."""
        return self.prior.name

    @property
    def told(self) -> float | None:
        """The posterior mean of w; None where it has none."""
        w, mass, has_mean = self._grid
        return float(w @ mass) if has_mean else None

    @property
    def is_lifted(self) -> bool:
        """Whether half a step of the grid is more than the noise that was told."""
        w, mass, _ = self._grid
        return float(mass[w < self.floor].sum()) > 0.5

    @cached_property
    def _lifted(self) -> Floats:
        """The values of w, none below the floor."""
        return np.maximum(self._grid[0], self.floor)

    @property
    def variance(self) -> float | None:
        """The posterior mean of w, none below the floor; None where it has none."""
        return float(self._lifted @ self._grid[1]) if self._grid[2] else None

    @property
    def reason(self) -> str | None:
        """Why there are no standard deviations, where there are none."""
        if self._grid[2]:
            return None
        return "the posterior of the noise variance has no mean, so there are intervals but no standard deviations"

    def cdf(self, deviation: ArrayLike) -> Floats:
        """Return the distribution function of the mixture of normals."""
        from scipy.special import ndtr

        w, mass = self._lifted, self._grid[1]
        deviation = np.asarray(deviation, dtype=np.float64)
        flat = np.atleast_1d(deviation).ravel()
        return np.array([float(ndtr(x / np.sqrt(w)) @ mass) for x in flat]).reshape(deviation.shape)

    def quantile(self, probability: float) -> float:
        """Return the quantile of the mixture of normals."""
        from scipy.optimize import brentq

        if probability == 0.5:
            return 0.0
        tail = min(probability, 1 - probability)
        w = self._lifted
        # in logarithms, since a heavy tail may lie many orders of magnitude out
        near, far = 0.5 * float(np.log(w.min())) - 40.0, 0.5 * float(np.log(w.max())) + 5.0
        log_size = brentq(lambda x: float(self.cdf(-np.exp(x))) - tail, near, far, xtol=1e-13, rtol=1e-14)
        size = float(np.exp(log_size))
        return -size if probability < 0.5 else size

    def draw_scale(self, generator: np.random.Generator, count: int) -> Floats:
        """Return draws of sqrt(w)."""
        w, mass = self._lifted, self._grid[1]
        return np.exp(0.5 * np.interp(generator.random(count), np.cumsum(mass) - mass / 2, np.log(w)))


@dataclass(frozen=True, slots=True)
class NoDistribution:
    """Noise of which nothing is assumed: no standard deviations, no intervals, no chances."""

    reason: str  # why, and what to use instead

    @property
    def kind(self) -> str:
        """Name of this treatment."""
        return "none"

    @property
    def variance(self) -> None:
        """There is none."""
        return

    @property
    def told(self) -> None:
        """There is none."""
        return

    @property
    def is_lifted(self) -> bool:
        """Nothing is assumed, so nothing is lifted."""
        return False

    def quantile(self, probability: float) -> None:
        """Return None: there are no quantiles."""
        return

    def cdf(self, deviation: ArrayLike) -> None:
        """Return None: there are no chances."""
        return

    def draw_scale(self, generator: np.random.Generator, count: int) -> None:
        """Return None: there is nothing to draw from."""
        return


def make_noise(noise: NoiseKind | NoisePrior, residual: float, nu: int, floor: float = 0.0) -> Noise:
    """Return what is known about w after a fit with residual R and nu degrees of freedom."""
    if isinstance(noise, NoisePrior):
        return PriorNoise(noise, residual, nu, floor)
    if noise == "declared":
        return KnownNoise(floor=floor)
    if noise == "estimated":
        return EstimatedNoise(residual, nu, floor)
    raise InputError(f"Noise can be 'estimated', 'declared' or a NoisePrior, not {noise!r}.", kind="bad_option")


def noise_floor(step: float | None, precision: Floats) -> float:
    """Return the w at which a score of ordinary confidence, the geometric mean of all, scatters by half a step.

    Zero where scores lie on no grid. (One score of next to no confidence, or of next to no doubt, hardly moves a
    geometric mean; and the power of declared confidence leaves it as it is.)
    """
    if step is None:
        return 0.0
    if precision.strides == (0,):  # all alike
        return floor_at(step, float(np.log(precision[0])))
    blocks = range(0, precision.size, _BLOCK)
    return floor_at(step, sum(float(np.log(precision[at : at + _BLOCK]).sum()) for at in blocks) / precision.size)


def floor_at(step: float | None, log_confidence: float) -> float:
    """Return the same for a confidence that is known by its logarithm."""
    if step is None:
        return 0.0
    log_floor = 2 * float(np.log(step / 2)) + log_confidence
    if log_floor > np.log(np.finfo(np.float64).max):
        raise too_extreme()
    return float(np.exp(log_floor))


def notes_on(noise: Noise, step: float | None) -> list[Problem]:
    """Return what a reader must know of the noise: why there are no uncertainties, and where half a step was taken."""
    notes = [] if noise.reason is None else [Problem("uncertainty", f"{noise.reason}.")]
    if noise.is_lifted and step is not None:
        notes.append(Problem("grid", f"{lifted_words(noise, step)}."))
    return notes


def lifted_words(noise: Noise, step: float) -> str:
    """Return in words that the noise was taken as half a step of the grid."""
    close = "the declared uncertainties are smaller" if noise.kind == "declared" else "the scores agree more closely"
    return f"{close} than scores in steps of {step:g} can show: the noise is taken as half a step ({step / 2:g})"


def noise_asked(noise: Noise) -> NoiseKind | NoisePrior:
    """Return how the noise was treated, as a method is asked for it."""
    if isinstance(noise, PriorNoise):
        return noise.prior
    return "declared" if noise.kind == "declared" else "estimated"


LEAST: Final = 1e-6
"""A score keeps this part of its precision at least, so that no object or assessor is left without any."""

MOST: Final = 10.0
"""And weighs no more than this many times its precision."""


class Tilted(NamedTuple):
    """What a score says where all others expect a residual r = s - fitted of ``away``, with a variance u.

    Once it has been seen, the mean of r is away - u slope, and its variance u (1 - u bend).
    """

    log_mass: Floats  # log of the predictive density of the score, given all others
    # slope, bend: minus the first and second derivatives of the log mass in ``away``
    slope: Floats
    bend: Floats
    # what the score says of the noise, the expectation of 1 - 2 d log p / d log c: of c r^2 / w where it is normal
    scatter: Floats


class Likelihood(Protocol):
    """The density of residuals r = s - fitted, for precisions c and noise variance w."""

    @property
    def is_normal(self) -> bool:
        """Whether one weighted least-squares fit is the answer."""

    @property
    def least(self) -> Floats | float:
        """The smallest part of its precision that a score weighs."""

    @property
    def most(self) -> float:
        """The largest part of its precision that a score weighs."""

    @property
    def first(self) -> Floats | float:
        """The part of its precision that a score weighs at first."""

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that the recorded score is at most x, where what is expected is normal."""

    def between(self, low: Floats, high: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that it is above one number and not above another, to digits of its own."""

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return what each score says beside what all others expect."""

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""

    def expected(self, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mean of a recorded score where what the model is additive in is normal."""

    def moved(self, step: float) -> Likelihood:
        """Return the density with the log of its shape moved by a step; itself where it has but one shape."""


class OneShape:
    """A density of which nothing but the noise variance is unknown."""

    def moved(self, step: float) -> Self:
        """Return the density itself."""
        return self


class Symmetric(Protocol):
    """Noise that is as likely to either side: a score has for its mean what is expected."""

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that the recorded score is at most x, where what is expected is normal."""

    def between(self, low: Floats, high: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the probability that it is above one number and not above another, to digits of its own."""
        return between_tails(lambda x, centre: self.below(x, centre, variance, precision, w), low, high, mean)

    def expected(self, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the mean of a score: where it is expected."""
        return mean


def between_tails(below: Callable[[Floats, Floats], Floats], low: Floats, high: Floats, mean: Floats) -> Floats:
    """Return the mass of symmetric densities about their means between two ends, from whichever tail is the smaller.

    Differences of numbers close to 1 would have no digits left.
    """
    sign = np.where(low > mean, -1.0, 1.0)
    first, last = np.where(sign < 0, -high, low), np.where(sign < 0, -low, high)
    found = below(last, sign * mean)
    return found if np.all(first == -np.inf) else found - below(first, sign * mean)


@dataclass(frozen=True, slots=True)
class Normal(Symmetric, OneShape):
    """The paper's own: s = fitted + sigma eta."""

    is_normal: bool = True
    least: float = LEAST
    most: float = MOST
    first: float = 1.0

    def below(self, x: Floats, mean: Floats, variance: Floats, precision: Floats, w: float) -> Floats:
        """Return the distribution function of the sum of what is expected and its noise."""
        from scipy.special import ndtr

        return np.asarray(ndtr((x - mean) / np.sqrt(variance + w / precision)), dtype=np.float64)

    def tilted(self, away: Floats, variance: Floats, precision: Floats, w: float) -> Tilted:
        """Return the product of two normal densities."""
        noise = w / precision
        total = variance + noise
        squares = np.square(away / total) * noise + variance / total
        return Tilted(log_normal(away, total), away / total, 1.0 / total, squares)

    def log_density(self, residual: Floats, precision: Floats, w: float) -> Floats:
        """Return the log density of each residual."""
        return log_normal(residual, w / precision)

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """Return the log probability of standard normal noise between two ends."""
        from scipy.special import log_ndtr

        low, high = lower_half(low, high)
        below, up_to = log_ndtr(low), log_ndtr(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = up_to + np.log(-np.expm1(below - up_to))
        return np.where(up_to == -np.inf, -np.inf, found)

    def fall(self, z: Floats) -> Floats:
        """Return minus the derivative of the log density in log z."""
        return np.square(z)

    def partial_mean(self, z: Floats) -> Floats:
        """Return the integral of z times its density up to a point."""
        return np.asarray(-np.exp(-np.square(z) / 2) / np.sqrt(2 * math.pi))


def student_quantile(nu: int, probability: float) -> float:
    """Return the quantile of Student's t with nu degrees of freedom.

    With t = sqrt(nu) tan(x) the distribution function is a finite sum of powers of cos(x), and concave for x > 0, so
    that Newton's steps from zero come up to the answer. Every calibration needs one quantile; to import scipy.special
    for it took a fifth of the time of the whole command.

    Examples
    --------
    >>> round(student_quantile(33, 0.95), 9)
    1.692360309
    """
    if nu > _MOST_TERMS or not _TAIL < probability < 1 - _TAIL:
        from scipy.special import stdtrit

        return float(stdtrit(nu, probability))
    is_odd = nu % 2
    powers = np.arange(is_odd, nu - 1, 2)
    factors = np.cumprod(np.concatenate([[1.0], (powers[1:] - 1) / powers[1:]]))[: powers.size]
    unit = 1 / math.pi if is_odd else 0.5
    height = unit * (is_odd + float(factors.sum()))
    x, aim = 0.0, abs(probability - 0.5)
    for _ in range(_MOST_STEPS):
        reached = unit * (is_odd * x + math.sin(x) * float(factors @ math.cos(x) ** powers))
        step = (aim - reached) / (height * math.cos(x) ** (nu - 1))
        x += step
        if step <= 1e-15 * x:
            break
    return math.copysign(math.sqrt(nu) * math.tan(x), probability - 0.5)


def lower_half(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return an interval, or its image about zero, with most of it below, where differences of tails keep digits."""
    turned = high > -low
    return np.where(turned, -high, low), np.where(turned, -low, high)


def log_normal(away: Floats, variance: Floats) -> Floats:
    """Return the log of a normal density about zero."""
    return np.asarray(-(np.log(2 * math.pi * variance) + np.square(away) / variance) / 2)
