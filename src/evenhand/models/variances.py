"""Variances of a model from the scores: where the marginal likelihood is highest, and what else is credible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import product
from math import exp
from typing import Final

import numpy as np

from evenhand.compiled import Floats, sum_by
from evenhand.errors import SolveError
from evenhand.models.noise_factors import factor_level
from evenhand.models.reweighting import LONGEST, TRIED, guessed_scales, settle
from evenhand.models.scaled import Guess, Ties, follows, turned_slopes
from evenhand.models.setting import Node, Setting, Unknown, Work
from evenhand.panel.panel import Panel
from evenhand.progress import report
from evenhand.solve.base import Sides
from evenhand.solve.priors import CentredSolver, PriorSolver

_STEP: Final = 1e-3
"""Step of numerical derivatives, in logarithms of variances."""

_STRIDE: Final = 2.0
"""Longest step on the way: further out the fit may not come to rest."""

_CLIMBS: Final = 100
"""Steps after which the way to the peak is given up."""

_NEAR: Final = 1e-5
"""Where a step would raise the log marginal likelihood by less than this, heights no longer tell whether it is good."""

_FLAT: Final = 1e-14
_COARSE: Final = 1e-7
_COARSER: Final = 1e-3
"""Where a step would raise it by less than this the peak is reached; the others where slopes are differences, of fits
that came to rest, and of large panels."""

_LARGE: Final = 500
"""With more than this many on the smaller side the scores fix variances so well that their uncertainty is nothing."""

_LEVEL: Final = 1e-12
_SHORT: Final = 2e-7
"""Or less than this, by a step no longer than this."""

_EVEN: Final = 1e-9
"""The same where sites stand for scores, whose own tolerance is coarser."""

_UNSURE: Final = 0.05
"""Where a step would gain less than this, what outlying scores do to the marginal likelihood hides it."""

_LOOSEST: Final = 1e6
_LOOSE: Final = 1e3
_EASE: Final = 1e5
"""Slack of the sites' tolerance on the way, at most (with scales) and for each unit of what a step would gain."""

_LAST: Final = 1e-6
_FINE: Final = 10.0
"""With scales of large panels a step that would gain less than this, by fits with less slack, is the last: another one
would gain a hundredth."""

_ENOUGH: Final = 1e-3
"""Where all but one score led to the start, a step that would gain less than this is the last."""

_LONG: Final = 0.5
"""A step of this length says nothing of how the marginal likelihood with scales is bent where it ends."""

_REACHES: Final = 12
_REACHED: Final = 0.01
_FURTHEST: Final = 12.0
"""How far a posterior reaches along an axis is looked for so often, to this part, and up to here."""

_MODEST: Final = -2.0
"""Where the spread of the scales is looked for first, in logarithms."""

_LOST: Final = "The variances of the model could not be found: the scores do not determine them."

_FEW: Final = 12
"""After so many points on the way at which the fit does not come to rest the way is given up."""

_WIDEST: Final = 3.0
"""Largest standard deviation of the logarithm of a variance that is believed."""

_GRIDS: Final = {1: np.linspace(-3.0, 3.0, 13), 2: np.linspace(-2.4, 2.4, 7)}
_FAR: Final = 1.1
"""With three or more unknowns, points on a sphere of this radius times the root of their number."""

_NODES: Final = 5
"""Points to a side of an integral of what is nearly a normal density."""

_BESIDE: Final = 0.02
_EASED: Final = 100.0
"""Step of the differences that say how a fit follows its unknowns: long beside the tolerance of fits that iterate, even
with this slack."""

_APART: Final = 0.05
_CLOSE: Final = 2e-3
"""Step of the differences about the peak, which is found where a step would gain about half of this."""

_ROUGH: Final = 0.02
"""Least information about a number of which no average information is known."""

_STIFF: Final = 1e-5
"""Log scales whose prior has a smaller variance than this follow nothing."""

_TOLD: Final = 2.0
"""With more information than this about the logarithm of a variance, the variance is not zero."""

_SUSPECT: Final = 6.0
"""So near to their largest ratio, in logarithms, variances may stand beside no noise at all."""

_LEAST: Final = 1e-4
"""A part of the mixture less probable than this is left out."""


def slopes(work: Work, node: Node, asked: Collection[str], ties: Ties | None = None) -> dict[str, float]:
    """Return how the log marginal likelihood rises with numbers of the setting, at a fit that has come to rest.

    With leverages h, the derivative by the log precision of a score, or of the prior of a value or bias, is
    (1 - h - c r^2/w)/2: priors are scores of zero. Sites, scales and noise factors are held, since they stand where it
    does not depend on them, but for what Laplace's method adds: that is followed for scales, not for noise factors.
    """
    panel, setting, w = work.panel, node.setting, node.w
    of_biases, of_values = _prior_edges(panel, node)
    solver = _Held(panel, node) if setting.is_ml else node.solver
    found: dict[str, float] = {}
    if setting.bias_ratio:
        own = float(solver.diagonal()[1].sum()) / setting.bias_ratio
        found["bias_ratio"] = (own - panel.n_assessors + of_biases / w) / 2
    if setting.scale_ratio is not None and node.border is not None:
        count = panel.n_assessors
        held = node.border.prior[-count:, -count:] * node.border.covariance[-count:, -count:]
        squares = float(np.square(node.log_scale).sum()) / setting.scale_ratio
        found["scale_ratio"] = (float(held.sum()) - count + squares / w) / 2
    if setting.value_ratio is not None:
        about, free = float(solver.diagonal()[0].sum()), panel.n_objects
        if not setting.is_ml:
            # given all values, their prior's mean is normal about their average with a variance of value_ratio / n
            average = np.full(panel.n_objects, 1.0 / panel.n_objects), np.zeros(panel.n_assessors)
            about, free = about - panel.n_objects * float(node.solver.contrasts(*average)), panel.n_objects - 1
        found["value_ratio"] = (about / setting.value_ratio - free + of_values / w) / 2
    needs_leverages = "strength" in asked or ("power" in asked and node.sites is None)
    leverage = node.weight * solver.fitted_variances() if needs_leverages else np.zeros(0)
    if node.sites is None:
        found["w"] = (node.residual / w - node.freedom) / 2
    else:
        said = (1.0 - node.sites.tilted.scatter) / 2
        found["w"] = found.get("value_ratio", 0.0) + found.get("bias_ratio", 0.0) - float(said.sum())
    if "power" in asked:
        rises = said if node.sites else (1.0 - leverage - node.precision * np.square(node.residuals) / w) / 2
        found["power"] = float(rises @ work.log_precision)
    if "freedom" in asked and node.sites is not None:
        more, less = (
            setting.likelihood.moved(x).tilted(*node.sites.others, node.precision, w) for x in (_STEP, -_STEP)
        )
        found["freedom"] = float((more.log_mass - less.log_mass).sum()) / (2 * _STEP)
    if "strength" in asked and setting.strength is not None:
        left = sum_by(panel.assessor_index, np.clip(1.0 - leverage, 0.0, 1.0), panel.n_assessors)
        up, down = (factor_level(node.noise_factor, setting.strength * exp(x), left) for x in (_STEP, -_STEP))
        found["strength"] = (up - down) / (2 * _STEP)
    if is_followed(work, node):
        for name, turned in turned_slopes(work, node, ties or Ties.at_fit(work, node)).items():
            found[name] = found.get(name, 0.0) + turned
    return found


@dataclass(frozen=True, eq=False)
class _Held:
    """Variances, for w = 1, at a fit by maximum likelihood, where all that has no prior is held."""

    panel: Panel
    node: Node

    @cached_property
    def _about_mean(self) -> CentredSolver | None:
        """What answers where the mean of the values is known, and coefficients are; None without a prior of values."""
        base = self.node.solver if self.node.border is None else self.node.border.base
        has_mean = self.node.setting.value_ratio is not None
        return CentredSolver(base) if has_mean and isinstance(base, PriorSolver) else None

    def diagonal(self) -> Sides:
        """Return the variances of values and of biases."""
        if self._about_mean is not None:
            return self._about_mean.diagonal()
        ratio, own = self.node.setting.bias_ratio, np.zeros(self.panel.n_assessors)
        if ratio:
            own = 1.0 / (sum_by(self.panel.assessor_index, self.node.weight, self.panel.n_assessors) + 1.0 / ratio)
        return np.zeros(self.panel.n_objects), own

    def fitted_variances(self) -> Floats:
        """Return the variance of each fitted score."""
        if self._about_mean is not None:
            return self._about_mean.fitted_variances()
        return np.asarray(self.diagonal()[1][self.panel.assessor_index])


def is_followed(work: Work, node: Node) -> bool:
    """Return whether scales of a fit are followed: where there are any, and they are not held at 1."""
    ratio = node.setting.scale_ratio
    return ratio is not None and follows(work, node.setting) and ratio * node.w > _STIFF


def _prior_edges(panel: Panel, node: Node) -> tuple[float, float]:
    """Return what biases and values add to the sum of squares."""
    setting = node.setting
    of_biases = float(np.square(node.biases).sum()) / setting.bias_ratio if setting.bias_ratio else 0.0
    of_values = 0.0
    if setting.value_ratio is not None:
        of_values = float(np.square(node.values - node.mean).sum()) / setting.value_ratio
    return of_biases, of_values


def information(work: Work, node: Node) -> dict[tuple[str, str], float]:
    """Return the average information about pairs of numbers of the setting (Gilmour, Thompson & Cullis 1995).

    Half the sum of c z z'/w that fitting z would leave over, where z is the residual of each score and prior times the
    derivative of its log precision.
    """
    panel, setting = work.panel, node.setting
    residuals = node.residuals + node.aim
    of_biases, of_values = _prior_edges(panel, node)
    if node.sites is None:
        squares = node.weight * np.square(residuals)
    else:  # of which the scores themselves tell how much they say
        squares = 2 * node.w * np.square((1.0 - node.sites.tilted.scatter) / 2)
    log_precision = work.log_precision
    own = {("w", "w"): float(squares.sum()) + of_biases + of_values}
    forces: dict[str, tuple[Floats, Floats]] = {}
    none = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
    if setting.value_ratio is not None:
        own["value_ratio", "value_ratio"] = own["value_ratio", "w"] = of_values
        forces["value_ratio"] = (node.values - node.mean) / setting.value_ratio, none[1]
    if setting.bias_ratio:
        own["bias_ratio", "bias_ratio"] = own["bias_ratio", "w"] = of_biases
        forces["bias_ratio"] = none[0], node.biases / setting.bias_ratio
    own["power", "power"] = float(squares @ np.square(log_precision))
    own["power", "w"] = -float(squares @ log_precision)
    if node.sites is None and float(np.ptp(log_precision)) > 0:
        pulls = node.weight * residuals * log_precision
        forces["power"] = (
            sum_by(panel.object_index, pulls, panel.n_objects),
            sum_by(panel.assessor_index, pulls, panel.n_assessors),
        )
    names = list(forces)
    if names:
        sides = [np.stack([forces[name][side] for name in names], axis=1) for side in (0, 1)]
        moved = node.solver.apply(*sides)
        across = sides[0].T @ moved[0] + sides[1].T @ moved[1]
        for i, one in enumerate(names):
            for j, other in enumerate(names):
                own[one, other] = own.get((one, other), 0.0) - float(across[i, j])
    if node.sites is not None:  # noise of its own and priors are told apart, as if there were no scores in common
        tied = [name for name in names if name != "power"]
        for one in tied:
            own[one, "w"] = sum(own[one, other] for other in tied)
        own["w", "w"] += sum(own[one, "w"] for one in tied) - of_biases - of_values
    if setting.scale_ratio is not None and node.border is not None and node.sites is None:
        pulls = node.log_scale / setting.scale_ratio
        told = float(pulls @ node.border.covariance[-pulls.size :, -pulls.size :] @ pulls)
        of_scales = float(node.log_scale @ pulls)
        own["scale_ratio", "w"] = of_scales
        own["w", "w"] += of_scales
        own["scale_ratio", "scale_ratio"] = of_scales - told
        of_objects, of_assessors = (side[:, -pulls.size :] @ pulls for side in node.border.turned)
        stretch = np.exp(node.log_scale)
        for name in names:
            own[name, "scale_ratio"] = float(forces[name][0] @ of_objects + forces[name][1] @ (stretch * of_assessors))
    own |= {(other, one): number for (one, other), number in own.items()}
    return {pair: number / (2 * node.w) for pair, number in own.items()}


@dataclass(eq=False)
class Search:
    """The marginal likelihood of one panel and model as a function of its unknowns, and where the search ended."""

    work: Work
    base: Setting
    unknowns: Sequence[Unknown]
    nearest: Node | None = None
    slack: float = 1.0
    calls: int = 0
    failures: int = 0
    guess: Guess | None = None  # of the scales where none are known
    tied: Ties | None = None
    has_arrived: bool = False
    ease: float = 1.0  # the least slack
    point: Floats = field(init=False)
    best: Node = field(init=False)

    def end(self, point: Floats) -> None:
        """Keep a point, and the fit there."""
        self.point, self.best = point, self.node(point)

    @cached_property
    def low(self) -> Floats:
        """Where the search ends below."""
        return np.array([one.low for one in self.unknowns])

    @cached_property
    def high(self) -> Floats:
        """Where the search ends above."""
        return np.array([one.high for one in self.unknowns])

    @property
    def is_exact(self) -> bool:
        """Whether slopes are those of the marginal likelihood: not quite with scales, noise factors or tails."""
        return not {"scale_ratio", "strength", "freedom"} & {one.name for one in self.unknowns}

    @property
    def is_large(self) -> bool:
        """Whether the panel is so large that the uncertainty of variances is nothing."""
        return min(self.work.panel.n_objects, self.work.panel.n_assessors) > _LARGE

    def node(self, point: Floats, *, slack: float = 1.0, is_tried: bool = False) -> Node:
        """Return the fit at a point, to a tolerance that may have some slack; given up sooner where it is but tried."""
        setting = self.base
        for unknown, coordinate in zip(self.unknowns, point.tolist(), strict=True):
            setting = unknown.put(setting, coordinate)
        slack = max(slack, self.ease)
        if self.nearest is None or setting != self.nearest.setting or slack < self.slack:
            longest = TRIED if is_tried else LONGEST
            ties = self.guess if self.nearest is None else self._ties(self.nearest)
            self.nearest = settle(self.work, setting, self.nearest, slack, longest, ties)
            self.slack = slack
            self.calls += 1
            report("working out how far scores scatter", self.calls, None)
        return self.nearest

    def _ties(self, node: Node) -> Ties | None:
        """Return how scales are tied at a fit; None where that is not followed."""
        if not is_followed(self.work, node):
            return None
        if self.tied is None or self.tied.log_scale is not node.log_scale:
            self.tied = Ties.at_fit(self.work, node)
        return self.tied

    def height(self, point: Floats, *, prior: bool = False) -> float:
        """Return the log marginal likelihood at a point, times the prior if asked."""
        return self._height(point, self.node(point), prior=prior)

    def _log_prior(self, point: Floats) -> float:
        return sum(one.log_prior(at) for one, at in zip(self.unknowns, point.tolist(), strict=True))

    def _tried(self, point: Floats, *, prior: bool = False) -> float:
        """Return the height at a point, or minus infinity where the fit does not come to rest."""
        node = self._rested(point, 1.0)
        return -np.inf if node is None else self._height(point, node, prior=prior)

    def slope(self, point: Floats) -> Floats:
        """Return the slope of the log marginal likelihood at a point."""
        return self._slope(point, self.node(point), prior=False)

    def _slope(self, point: Floats, node: Node, *, prior: bool) -> Floats:
        """Return the slope at a point from the fit there."""
        rises = slopes(self.work, node, {name for one in self.unknowns for name in one.moves}, self._ties(node))
        slope = [sum(speed * rises.get(name, 0.0) for name, speed in one.moves.items()) for one in self.unknowns]
        return np.array(slope) + (self._prior_slopes(point)[0] if prior else 0.0)

    def _prior_slopes(self, point: Floats) -> tuple[Floats, Floats]:
        """Return slope and minus the second derivative of the log prior in each coordinate, by differences."""
        three = np.array(
            [
                [one.log_prior(at + step) for step in (-_STEP, 0.0, _STEP)]
                for one, at in zip(self.unknowns, point.tolist(), strict=True)
            ]
        )
        bend = (2 * three[:, 1] - three[:, 0] - three[:, 2]) / _STEP**2
        return (three[:, 2] - three[:, 0]) / (2 * _STEP), np.maximum(bend, 0.0)

    def _bend(self, point: Floats, node: Node, *, prior: bool) -> Floats:
        """Return about minus the second derivatives at a point from the fit there."""
        pairs = information(self.work, node)

        def between(one: Unknown, other: Unknown | None) -> float:
            across = {"w": 1.0} if other is None else other.moves
            return sum(a * b * pairs.get((x, y), 0.0) for x, a in one.moves.items() for y, b in across.items())

        bend = np.array([[between(one, other) for other in self.unknowns] for one in self.unknowns])
        if self.base.w is None and "w" not in {one.name for one in self.unknowns}:  # which is integrated out
            shared = np.array([between(one, None) for one in self.unknowns])
            bend -= np.outer(shared, shared) / pairs["w", "w"]
        if prior:
            bend += np.diag(self._prior_slopes(point)[1])
        untold = np.diagonal(bend) <= 0  # scales, noise factors, tails: the longest step that way
        bend[untold, :] = bend[:, untold] = 0.0
        rough = np.maximum(np.abs(self._slope(point, node, prior=prior)) / _STRIDE, _ROUGH) if untold.any() else 0.0
        return np.asarray(bend + np.diag(np.where(untold, rough, 0.0)))

    def errors(self, names: Sequence[str]) -> dict[str, float]:
        """Return standard errors of the logs of standard deviations, and of the power, by their information.

        Those of which there is none, or at the end of their range, are left out.
        """
        pairs = information(self.work, self.best)
        ended = {one.name for one, at in zip(self.unknowns, self.point, strict=True) if at <= one.low + 1e-9}
        told = [name for name in dict.fromkeys([*names, "w"]) if (name, name) in pairs and name not in ended]
        matrix = np.array([[pairs.get((one, other), 0.0) for other in told] for one in told])
        try:
            covariance = dict(zip(told, np.linalg.inv(matrix), strict=True))
        except np.linalg.LinAlgError:
            return {}
        noise = told.index("w")
        found = {}
        for at, name in enumerate(told):
            row = covariance[name]
            own = name in ("power", "w")  # others are ratios to w
            variance = row[at] if own else row[at] + 2 * row[noise] + covariance["w"][noise]
            found[name] = float(np.sqrt(variance)) / (1 if name == "power" else 2)
        return found

    def peak(self, start: Floats | None = None, *, prior: bool = False) -> Floats:
        """Return the point where the marginal likelihood, or the posterior, is highest."""
        point = np.array([one.start for one in self.unknowns]) if start is None else start
        if self._follows:
            point = self._begun(point, is_first=start is None, prior=prior)
        point = self._climbed(point, prior=prior)
        ended = self._vanished(point, prior=prior)
        is_there = self.is_exact or (self._follows and (self.has_arrived or bool((point <= self.low).any())))
        if (ended != point).any() or not is_there:
            ended = self._climbed(ended, prior=prior, is_patient=True)
        return ended if self.is_exact or self._follows else self._polished(ended, prior=prior)

    def peak_near(self, other: Search, shift: Floats) -> Floats:
        """Return that point about so far from the peak of nearly the same panel.

        The step that gains next to nothing is the last.
        """
        self.ease = _EASED
        start = np.clip(other.point + shift, self.low, self.high)
        return self._vanished(self._climbed(start, prior=False, enough=_ENOUGH), prior=False)

    @property
    def _follows(self) -> bool:
        """Whether scales, whose spread is unknown, are followed in all slopes, so that these are exact."""
        others = {one.name for one in self.unknowns} - {"w", "value_ratio", "bias_ratio", "scale_ratio"}
        return self._scales is not None and not others and follows(self.work, self.base)

    @property
    def _scales(self) -> int | None:
        """Which of the unknowns is the spread of the scales; None where there is none."""
        return next((at for at, one in enumerate(self.unknowns) if one.name == "scale_ratio"), None)

    def _begun(self, point: Floats, *, is_first: bool, prior: bool) -> Floats:
        """Return where to start with scales: where all else is without any, and with none if modest ones are no better.

        That is so where the marginal likelihood falls from no scales at all, and is lower with modest ones.
        """
        scales = np.arange(point.size) == self._scales
        if is_first:
            without = Search(self.work, self.base, [one for one in self.unknowns if one.name != "scale_ratio"])
            point = point.copy()
            with suppress(SolveError):  # scales may be what it takes
                point[~scales] = without.peak() if without.unknowns else point[~scales]
            if not prior and (guess := self._guessed(np.where(scales, _MODEST, point))) is not None:
                return guess
        none = np.where(scales, self.low, point)
        modest = np.where(scales & (is_first | (point <= self.low)), _MODEST, point)
        if prior or self._slope(none, self.node(none), prior=False)[self._scales] >= 0:
            return modest
        start = self.nearest
        if start is not None and self.node(modest, slack=_LOOSE).log_marginal < start.log_marginal:
            self.nearest, self.slack = start, 1.0
            return none
        return modest

    def _guessed(self, modest: Floats) -> Floats | None:
        """Return a point with a spread of the scales that suits the scores, as far as can be told where all are 1.

        None where the marginal likelihood falls from there; all else stays as it is.
        """
        setting = self.base
        for unknown, coordinate in zip(self.unknowns, modest.tolist(), strict=True):
            setting = unknown.put(setting, coordinate)
        before = setting.scale_ratio or 1.0
        guess = guessed_scales(self.work, setting)
        if not guess.is_told:
            return None
        more = float(np.clip(np.log(guess.ratio(before) / before), -_STRIDE, _STRIDE))
        point = np.clip(modest + np.where(np.arange(modest.size) == self._scales, more, 0.0), self.low, self.high)
        self.guess = guess
        return point

    def _climbed(self, point: Floats, *, prior: bool, is_patient: bool = False, enough: float = 0.0) -> Floats:
        """Return the point after Newton's steps by the slopes, with what was learnt about the second derivatives.

        Far from the peak a step must go up. Near it the slope must become smaller: where sites stand for scores, that
        is the slope that is expected, which is the slope of the marginal likelihood but for outlying scores whose
        weight is held where it cannot become negative. Sites come to rest roughly while steps are long. Unless it is
        patient, a variance on its way to zero is not followed any further once all else has come to rest.
        """
        has_sites = not self.base.likelihood.is_normal
        flat = (_EVEN if has_sites else _FLAT) if self.is_exact else _NEAR
        if self._follows:
            flat = _EVEN if self.is_large else _LEVEL
        near = _UNSURE if has_sites else _NEAR
        iterates = has_sites or not self.is_exact
        slack = _LOOSE if self._follows or enough else _LOOSEST if iterates else 1.0
        may_vanish = np.array([one.may_vanish and not (is_patient or self.is_exact) for one in self.unknowns])

        def seen(at: Floats, node: Node) -> tuple[float, Floats]:
            return self._height(at, node, prior=prior), self._slope(at, node, prior=prior)

        node = self.node(point, slack=slack)
        (height, slope), bend = seen(point, node), self._bend(point, node, prior=prior)
        few, self.has_arrived = self.failures + _FEW, False
        learnt: list[tuple[Floats, Floats]] = []
        for _ in range(_CLIMBS):
            step = self._step(point, slope, bend)
            gain = float(step @ slope) / 2
            if gain < enough:
                return np.clip(point + step, self.low, self.high)
            going = may_vanish & (step < 0) & (np.diagonal(bend) < _TOLD)
            if going.any() and float(step[~going] @ slope[~going]) / 2 < _NEAR:
                return point
            is_short = gain < _LEVEL and float(np.abs(step).max(initial=0.0)) < _SHORT
            if (gain < flat or is_short) and slack <= 1.0:
                self.has_arrived = True
                return point
            if self._follows and self.is_large and gain < _LAST and slack <= _FINE and learnt:
                self.has_arrived = True
                return np.clip(point + step, self.low, self.high)
            if iterates:
                slack = float(np.clip(_EASE * gain, 1.0, slack))
            for _ in range(12):
                moved = np.clip(point + step, self.low, self.high)
                tried = self._rested(moved, slack)
                if self.failures > few:
                    self.node(moved, slack=slack)  # which says why
                    raise SolveError(_LOST)
                if tried is not None:
                    found, turned = seen(moved, tried)
                    left = abs(float(self._step(moved, turned, bend) @ turned)) / 2
                    if found > height or (gain < near and (left < gain or gain < flat)):
                        break
                step = step / 3
            else:
                if slack <= 1.0:
                    return point  # as high as can be told
                slack = 1.0
                height, slope = seen(point, self.node(point))
                continue
            fresh = self._bend(moved, tried, prior=prior)
            if self._follows:  # of which the information knows least
                learnt = [*learnt, (moved - point, slope - turned)] if float(np.abs(step).max()) <= _LONG else []
                bend = reduce(lambda known, pair: _updated(known, *pair), learnt[-point.size :], fresh)
            else:
                bend = _updated(bend if gain < near else fresh, moved - point, slope - turned)
            point, height, slope = moved, found, turned
        if gain < _NEAR:  # along a ridge that hardly rises, as where noise goes to zero
            return point
        raise SolveError(_LOST)

    def _rested(self, point: Floats, slack: float) -> Node | None:
        """Return the fit at a point, or None where it does not come to rest."""
        nearest = self.nearest
        try:
            return self.node(point, slack=slack, is_tried=True)
        except SolveError:
            self.failures += 1
            self.nearest = nearest
            return None

    def _height(self, point: Floats, node: Node, *, prior: bool) -> float:
        return node.log_marginal + (self._log_prior(point) if prior else 0.0)

    def _step(self, point: Floats, slope: Floats, bend: Floats) -> Floats:
        """Return Newton's step in the coordinates that are free to move: bent as much more as a long one takes.

        So a number of which next to nothing is known does not shorten the steps of the others.
        """
        free = ~(((point <= self.low) & (slope < 0)) | ((point >= self.high) & (slope > 0)))
        step = np.zeros(point.size)
        inner, ridge = bend[free][:, free], 0.0
        while free.any():
            diagonal = np.diagonal(inner) + ridge
            unit = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
            size, axes = np.linalg.eigh((inner + ridge * np.eye(unit.size)) * np.outer(unit, unit))
            step[free] = unit * (axes @ ((axes.T @ (unit * slope[free])) / np.maximum(size, 1e-3)))
            if float(np.abs(step).max()) <= _STRIDE:
                break
            ridge = max(4 * ridge, 1e-6 * float(np.abs(slope).max()))
        return step

    def _vanished(self, point: Floats, *, prior: bool) -> Floats:
        """Return the point with variances at zero, which no number of steps reaches, where that is at least as high.

        That of the noise is at zero where all others are as large beside it as they may become.
        """
        told = np.diagonal(self._bend(point, self.node(point), prior=prior)) > _TOLD
        height = self.height(point, prior=prior)
        for at in [at for at, one in enumerate(self.unknowns) if one.may_vanish and not told[at]]:
            ended = np.where(np.arange(point.size) == at, self.low, point)
            nearest, found = self.nearest, self._tried(ended, prior=prior)
            if found >= height:
                point, height = ended, found
            else:
                self.nearest = nearest
        ratios = np.array([one.name in ("value_ratio", "bias_ratio") for one in self.unknowns])
        room = np.min((self.high - point)[ratios], initial=np.inf)
        if 0 < room < _SUSPECT:
            ended = point + np.where(ratios, room, 0.0)
            if self._tried(ended, prior=prior) >= height:
                return ended
        return point

    def _polished(self, point: Floats, *, prior: bool) -> Floats:
        """Return the point after Newton's steps with slopes by differences, in the coordinates that are free."""
        height = self.height(point, prior=prior)
        learnt: tuple[Floats, Floats] | None = None
        bend = self._bend(point, self.node(point), prior=prior)
        before: tuple[Floats, Floats] | None = None
        coarse = _COARSER if self.is_large else _COARSE
        for _ in range(8):
            slope = self._differences(point, height, bend, prior=prior)
            if before is not None:
                learnt = (point - before[0], before[1] - slope)
                bend = _updated(bend, *learnt)
            step = self._step(point, slope, bend)
            if float(step @ slope) / 2 < coarse:
                break
            step *= min(1.0, 0.5 / float(np.abs(step).max()))
            for _ in range(4):
                moved = np.clip(point + step, self.low, self.high)
                found = self._tried(moved, prior=prior)
                if found > height:
                    break
                step = step / 3
            else:
                break
            before = point, slope
            point, height = moved, found
        return point

    def _differences(self, point: Floats, height: float, bend: Floats, *, prior: bool) -> Floats:
        """Return the slope at a point by differences, within its bounds; of large panels to one side, as it is bent."""
        slope, nearest = np.zeros(point.size), self.nearest
        for at in np.flatnonzero((point > self.low) & (point < self.high)).tolist():
            up, down = point.copy(), point.copy()
            up[at], down[at] = min(point[at] + _STEP, self.high[at]), max(point[at] - _STEP, self.low[at])
            if self.is_large:
                slope[at] = (self._tried(up, prior=prior) - height) / (up[at] - point[at])
                slope[at] += bend[at, at] * (up[at] - point[at]) / 2
            else:
                slope[at] = (self._tried(up, prior=prior) - self._tried(down, prior=prior)) / (up[at] - down[at])
        self.nearest = nearest
        return np.nan_to_num(slope, posinf=0.0, neginf=0.0)

    def _curvature(self, point: Floats) -> Floats:
        """Return minus the second derivatives of the log posterior, by differences of slopes."""
        count = point.size
        bend = np.empty((count, count))
        for at in range(count):
            ends = []
            for side in (_STEP, -_STEP):
                moved = point.copy()
                moved[at] += side
                ends.append(self._slope(moved, self.node(moved), prior=True))
            bend[at] = (ends[1] - ends[0]) / (2 * _STEP)
        return np.asarray((bend + bend.T) / 2)

    def followed(self, numbers: Callable[[Node], Floats]) -> tuple[list[int], Floats, Floats]:
        """Return which unknowns are free, how numbers of the fit follow them, and how they are tied.

        Those that are within their range and whose fit comes to rest beside the peak; a row for each; and minus the
        second derivatives of the log marginal likelihood in these. Both are differences to one side.
        """
        best, point, kept = self.best, self.point, self.nearest
        here, level = numbers(best), self._slope(point, best, prior=False)
        rows, bent, free = [], [], []
        for at in np.flatnonzero((point > self.low) & (point < self.high)).tolist():
            moved = point.copy()
            moved[at] += _BESIDE if point[at] + _BESIDE < self.high[at] else -_BESIDE
            node = self._rested(moved, _EASED)
            if node is not None:
                way = moved[at] - point[at]
                with np.errstate(invalid="ignore"):  # what has no probability at all does not follow
                    rows.append((numbers(node) - here) / way)
                bent.append((level - self._slope(moved, node, prior=False)) / way)
                free.append(at)
        self.nearest = kept
        bend = np.array(bent).reshape(len(free), point.size)[:, free]
        return free, np.array(rows).reshape(len(free), here.size), (bend + bend.T) / 2

    def _reach(self, peak: Floats, height: float, axis: Floats) -> float:
        """Return how far the posterior reaches along an axis, beside its curvature at the peak.

        At twice this distance, in units of the axis, it has fallen by 2 as a normal density would: so that a long tail
        on one side and a short one on the other are both followed.
        """

        def drop(distance: float) -> float:
            point = peak + distance * axis
            outside = ((point < self.low) | (point > self.high)).any()
            return np.inf if outside else height - self._tried(point, prior=True)

        near, far, distance, before = 0.0, np.inf, 2.0, (0.0, 0.0)
        for _ in range(_REACHES):  # secants, kept between what is known to be too near and too far
            root = float(np.sqrt(max(drop(distance), 0.0) / 2.0))  # which grows evenly with the distance if normal
            if abs(root - 1.0) < _REACHED or (root < 1.0 and distance >= _FURTHEST):
                break
            near, far = (distance, far) if root < 1.0 else (near, distance)
            rate = (root - before[1]) / (distance - before[0])
            ahead = distance + (1.0 - root) / rate if 0 < rate < np.inf else np.inf
            before = (distance, root) if np.isfinite(root) else before
            if far == np.inf:
                distance = min(ahead, 1.6 * distance)
            else:
                distance = ahead if near < ahead < far else (near + far) / 2
        return distance / 2

    def credible(self, start: Floats) -> list[tuple[float, Floats, Node]]:
        """Return settings that the scores leave credible: probabilities, points and fits, which add up to 1."""
        if not self.unknowns:
            return []
        peak = self.peak(start, prior=True)
        count = peak.size
        height = self.height(peak, prior=True)
        size, axes = np.linalg.eigh(self._curvature(peak))
        axes = axes / np.sqrt(np.maximum(size, _WIDEST**-2))
        reach = np.array([[self._reach(peak, height, sign * axis) for sign in (-1, 1)] for axis in axes.T])
        places, share = _places(count)
        found = []
        for place, part in zip(places, share, strict=True):
            side = np.where(place < 0, reach[:, 0], np.where(place > 0, reach[:, 1], reach.mean(axis=1)))
            point = peak + axes @ (side * place)
            if ((point < self.low) | (point > self.high)).any():  # there the prior has no mass
                continue
            node = self._rested(point, 1.0)
            if node is None:  # far out, where nothing is credible
                continue
            found.append((np.log(part * side.prod()) + node.log_marginal + self._log_prior(point), point, node))
        top = max(height for height, _, _ in found)
        weights = np.array([np.exp(height - top) for height, _, _ in found])
        weights /= weights.sum()
        kept = [
            (float(weight), point, node)
            for weight, (_, point, node) in zip(weights, found, strict=True)
            if weight > _LEAST
        ]
        total = sum(weight for weight, _, _ in kept)
        return [(weight / total, point, node) for weight, point, node in kept]


def _updated(bend: Floats, way: Floats, change: Floats) -> Floats:
    """Return second derivatives corrected by how a slope changed along a way (BFGS, damped as Powell does)."""
    pushed = bend @ way
    expected, seen = float(way @ pushed), float(way @ change)
    if not expected > 0:
        return bend
    if seen < 0.2 * expected:
        share = 0.8 * expected / (expected - seen)
        change = share * change + (1 - share) * pushed
        seen = 0.2 * expected
    return np.asarray(bend + np.outer(change, change) / seen - np.outer(pushed, pushed) / expected)


def _places(count: int) -> tuple[Floats, Floats]:
    """Return points about the peak in units of standard deviations, and what each stands for beside its density.

    One or two unknowns: a regular grid. More: the peak, the ends of the axes and the corners, on a sphere, with
    the shares that give a normal density its mean and variances.
    """
    if count in _GRIDS:
        places = np.array(list(product(_GRIDS[count], repeat=count)))
        return places, np.ones(len(places))
    axes = np.concatenate([np.eye(count), -np.eye(count)]) * np.sqrt(count)
    corners = np.array(list(product((-1.0, 1.0), repeat=count))) if count <= 4 else np.empty((0, count))
    sphere = _FAR * np.concatenate([axes, corners])
    share = np.full(len(sphere), 1 / (_FAR**2 * len(sphere)))
    places = np.concatenate([np.zeros((1, count)), sphere])
    share = np.concatenate([[1 - 1 / _FAR**2], share])
    return places, share * np.exp(np.square(places).sum(axis=1) / 2)


def log_integral(height: Callable[[Floats], float], start: Floats) -> float:
    """Return the logarithm of the integral of exp(height), nearly normal, by points of Gauss and Hermite."""
    peak = np.clip(start, -8.0, 8.0)
    top = height(peak)
    for _ in range(_CLIMBS):
        slope, bend = _bent(height, peak, top)
        size, axes = np.linalg.eigh(bend)
        size = np.maximum(size, _WIDEST**-2)
        step = axes @ ((axes.T @ slope) / size)
        step *= min(1.0, _STRIDE / max(float(np.abs(step).max()), 1e-300))
        found = -np.inf
        while float(slope @ step) > _CLOSE and (found := height(peak + step)) <= top:
            step = step / 3
        if not found > top:
            break
        peak, top = peak + step, found
    turn = axes / np.sqrt(size)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    total = 0.0
    for place in product(range(_NODES), repeat=peak.size):
        z, weight = nodes[list(place)], float(np.prod(weights[list(place)]))
        total += weight * np.exp(height(peak + turn @ z) - top + float(z @ z) / 2)
    return top + float(np.log(total)) + float(np.linalg.slogdet(turn)[1])


def _bent(height: Callable[[Floats], float], point: Floats, top: float) -> tuple[Floats, Floats]:
    """Return slope and minus the second derivatives of a function at a point, by differences."""
    count = point.size
    unit, slope, bend = np.eye(count) * _APART, np.empty(count), np.empty((count, count))
    for i in range(count):
        up, down = height(point + unit[i]), height(point - unit[i])
        slope[i], bend[i, i] = (up - down) / (2 * _APART), 2 * top - up - down
        for j in range(i):
            corners = [height(point + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            bend[i, j] = bend[j, i] = -sum(corners) / 4
    return slope, bend / _APART**2
