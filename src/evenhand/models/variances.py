"""Variances of a model from the scores: where the marginal likelihood is highest, and what else is credible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import SolveError
from evenhand.models.reweighting import settle
from evenhand.models.setting import Node, Setting, Unknown, Work
from evenhand.progress import report

_STEP: Final = 1e-3
"""Step of numerical second derivatives, in logarithms of variances."""

_DIFFERENCE: Final = 1e-4
"""Step of numerical first derivatives, on the way to the peak."""

_STRIDE: Final = 1.0
"""Longest step on the way: further out the fit may not come to rest."""

_CLIMBS: Final = 200
"""Steps after which the way to the peak is given up."""

_FLAT: Final = 1e-7
"""Where a step would raise the log marginal likelihood by less than this, the peak is near."""

_WIDEST: Final = 3.0
"""Largest standard deviation of the logarithm of a variance that is believed."""

_GRIDS: Final = {1: np.linspace(-3.0, 3.0, 13), 2: np.linspace(-2.4, 2.4, 7)}
_FAR: Final = 1.1
"""With three or more unknowns, points on a sphere of this radius times the root of their number."""

_NODES: Final = 15
_BROAD: Final = 1.3
"""Points of an integral to a side, and by how much they reach further than the curvature at the peak says."""

_LEAST: Final = 1e-4
"""A part of the mixture less probable than this is left out."""


@dataclass(eq=False)
class Search:
    """The marginal likelihood of one panel and model as a function of its unknowns, and where the search ended."""

    work: Work
    base: Setting
    unknowns: Sequence[Unknown]
    nearest: Node | None = None
    calls: int = 0
    point: Floats = field(init=False)
    best: Node = field(init=False)

    def end(self, point: Floats) -> None:
        """Keep a point, and the fit there."""
        self.point, self.best = point, self.node(point)

    def node(self, point: Floats) -> Node:
        """Return the fit at a point."""
        setting = self.base
        for unknown, coordinate in zip(self.unknowns, point.tolist(), strict=True):
            setting = unknown.put(setting, coordinate)
        self.nearest = settle(self.work, setting, self.nearest)
        self.calls += 1
        report("estimating variances", self.calls, None)
        return self.nearest

    def height(self, point: Floats, *, prior: bool = False) -> float:
        """Return the log marginal likelihood at a point, times the prior if asked."""
        found = self.node(point).log_marginal
        return found + self._log_prior(point) if prior else found

    def _log_prior(self, point: Floats) -> float:
        return sum(one.log_prior(at) for one, at in zip(self.unknowns, point.tolist(), strict=True))

    def peak(self, start: Floats | None = None, *, prior: bool = False) -> Floats:
        """Return the point where the marginal likelihood, or the posterior, is highest."""
        low = np.array([one.low for one in self.unknowns])
        high = np.array([one.high for one in self.unknowns])
        point = np.array([one.start for one in self.unknowns]) if start is None else start
        height, slope = self._climbable(point, low, high, prior=prior)
        bend = np.eye(point.size)  # minus the second derivatives, learnt on the way (BFGS)
        for _ in range(_CLIMBS):
            free = ~(((point <= low) & (slope < 0)) | ((point >= high) & (slope > 0)))
            step = np.zeros(point.size)
            step[free] = np.linalg.solve(bend[np.ix_(free, free)], slope[free])
            if step @ slope < _FLAT:
                return self._polished(point, low, high, prior=prior)
            step *= min(1.0, _STRIDE / float(np.abs(step).max()))
            size, risen = 1.0, False
            while not risen and size > 1e-6:
                moved = np.clip(point + size * step, low, high)
                found = self._tried(moved, prior=prior)
                risen = found > height
                size /= 2.5
            if not risen:  # as high as differences can tell
                return self._polished(point, low, high, prior=prior)
            height, turned = self._climbable(moved, low, high, prior=prior)
            way, change = moved - point, slope - turned
            if way @ change > 1e-10:
                pushed = bend @ way
                bend = bend + np.outer(change, change) / (way @ change) - np.outer(pushed, pushed) / (way @ pushed)
            point, slope = moved, turned
        raise SolveError("The variances of the model could not be found: the scores do not determine them.")

    def _tried(self, point: Floats, *, prior: bool = False) -> float:
        """Return the height at a point, or minus infinity where the fit does not come to rest."""
        nearest = self.nearest
        try:
            return self.height(point, prior=prior)
        except SolveError:
            self.nearest = nearest
            return -np.inf

    def _climbable(self, point: Floats, low: Floats, high: Floats, *, prior: bool) -> tuple[float, Floats]:
        """Return height and slope at a point within its bounds, by differences."""
        height, slope = self.height(point, prior=prior), np.zeros(point.size)
        for at in range(point.size):
            way = np.zeros(point.size)
            way[at] = _DIFFERENCE if point[at] + _DIFFERENCE <= high[at] else -_DIFFERENCE
            slope[at] = (self._tried(point + way, prior=prior) - height) / way[at]
        return height, np.nan_to_num(slope, posinf=0.0, neginf=0.0)

    def _polished(self, point: Floats, low: Floats, high: Floats, *, prior: bool) -> Floats:
        """Return the point after Newton's steps in the coordinates that are free to move.

        A variance goes to zero, which no number of steps reaches, where that is at least as high.
        """
        height = self.height(point, prior=prior)
        for at in [at for at, one in enumerate(self.unknowns) if one.may_vanish]:
            ended = np.where(np.arange(point.size) == at, low, point)
            nearest, found = self.nearest, self._tried(ended, prior=prior)
            if found >= height:
                point, height = ended, found
            else:
                self.nearest = nearest
        for _ in range(4):
            free = np.flatnonzero((point > low + 2 * _STEP) & (point < high - 2 * _STEP))
            if not free.size:
                break
            slope, bend = self._slopes(point, free, prior=prior)
            try:
                step = np.linalg.solve(bend, slope)
            except np.linalg.LinAlgError:
                break
            moved = point.copy()
            moved[free] = np.clip(point[free] + step, low[free], high[free])
            found = self._tried(moved, prior=prior)
            if found <= height:
                break
            point, height = moved, found
            if np.abs(step).max() < 1e-6:
                break
        return point

    def _slopes(self, point: Floats, free: NDArray[np.int64], *, prior: bool) -> tuple[Floats, Floats]:
        """Return first and minus second derivatives in some coordinates, by differences."""
        count = free.size
        middle = self.height(point, prior=prior)
        unit = np.zeros((count, point.size))
        unit[np.arange(count), free] = _STEP
        up = np.array([self.height(point + one, prior=prior) for one in unit])
        down = np.array([self.height(point - one, prior=prior) for one in unit])
        bend = np.diag(-(up - 2 * middle + down))
        for i in range(count):
            for j in range(i):
                both = self.height(point + unit[i] + unit[j], prior=prior)
                none = self.height(point - unit[i] - unit[j], prior=prior)
                mixed = both + none - up[i] - up[j] - down[i] - down[j] + 2 * middle
                bend[i, j] = bend[j, i] = -mixed / 2
        return (up - down) / (2 * _STEP), bend / _STEP**2

    def _reach(self, peak: Floats, height: float, axis: Floats, low: Floats, high: Floats) -> float:
        """Return how far the posterior reaches along an axis, beside its curvature at the peak.

        At twice this distance, in units of the axis, it has fallen by 2 as a normal density would: so that a long tail
        on one side and a short one on the other are both followed.
        """

        def drop(distance: float) -> float:
            point = peak + distance * axis
            outside = ((point < low) | (point > high)).any()
            return np.inf if outside else height - self._tried(point, prior=True)

        near, far = 0.0, 2.0
        while drop(far) < 2.0 and far < 12.0:
            near, far = far, 1.6 * far
        for _ in range(5):
            middle = (near + far) / 2
            near, far = (middle, far) if drop(middle) < 2.0 else (near, middle)
        return (near + far) / 4

    def credible(self, start: Floats) -> list[tuple[float, Floats, Node]]:
        """Return settings that the scores leave credible: probabilities, points and fits, which add up to 1."""
        if not self.unknowns:
            return []
        peak = self.peak(start, prior=True)
        count = peak.size
        height = self.height(peak, prior=True)
        _, bend = self._slopes(peak, np.arange(count), prior=True)
        size, axes = np.linalg.eigh(bend)
        axes = axes / np.sqrt(np.maximum(size, _WIDEST**-2))
        low, high = (np.array([getattr(one, end) for one in self.unknowns]) for end in ("low", "high"))
        reach = np.array([[self._reach(peak, height, sign * axis, low, high) for sign in (-1, 1)] for axis in axes.T])
        places, share = _places(count)
        found = []
        for place, part in zip(places, share, strict=True):
            side = np.where(place < 0, reach[:, 0], np.where(place > 0, reach[:, 1], reach.mean(axis=1)))
            point = peak + axes @ (side * place)
            if ((point < low) | (point > high)).any():  # there the prior has no mass
                continue
            try:
                node = self.node(point)
            except SolveError:  # far out, where nothing is credible
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
    """Return the logarithm of the integral of exp(height), by points of Gauss and Hermite about its peak."""
    from scipy.optimize import minimize

    def depth(x: Floats) -> float:
        return -height(x)

    found = minimize(depth, np.clip(start, -8.0, 8.0), method="Nelder-Mead", options={"xatol": 1e-2})
    peak, top = np.asarray(found.x), -float(found.fun)
    count, step = peak.size, 0.05
    unit = np.eye(count) * step
    bend = np.empty((count, count))
    for i in range(count):
        bend[i, i] = 2 * top - height(peak + unit[i]) - height(peak - unit[i])
        for j in range(i):
            corners = [height(peak + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            bend[i, j] = bend[j, i] = -sum(corners) / 4
    size, axes = np.linalg.eigh(bend / step**2)
    turn = _BROAD * axes / np.sqrt(np.maximum(size, _WIDEST**-2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    total = 0.0
    for place in product(range(_NODES), repeat=count):
        z = nodes[list(place)]
        total += float(np.prod(weights[list(place)])) * np.exp(height(peak + turn @ z) - top + float(z @ z) / 2)
    return top + float(np.log(total)) + float(np.linalg.slogdet(turn)[1])
