"""Assessors' own scales lambda: some spread their scores, some bunch them (App. F).

The score is s = lambda (v - m) + m + b + noise, m the mean score, and the log scales have a prior centred at 0.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, log1p
from typing import Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.models.effects import Table
from evenhand.models.setting import Fitted, Setting, Unknown, Work
from evenhand.models.shrunk import ratio_prior
from evenhand.solve.bordered import BorderedSolver

_FIRM: Final = 1e6
"""How much firmer than each log scale their sum is held at zero."""


def next_scales(
    work: Work, ratio: float, found: Fitted, log_scale: Floats, target: Floats, weight: Floats, w: float
) -> Floats:
    """Return the scales that suit the scores best when values and biases are known only as far as they are.

    One step of the EM algorithm: lambda_a fits E[v - m] and E[(v - m)^2], the second of which has the variance of v, so
    that unsure values do not inflate the scales; drawn to 1 by the prior, and with a product of 1.
    """
    panel = work.panel
    of_values, cross, _ = (found.plain if found.border is None else found.border).edges()
    own = found.stretch[panel.assessor_index]
    away = found.values[panel.object_index] - work.centre
    left = target - work.centre - found.biases[panel.assessor_index]
    if work.columns is not None:
        left = left - work.columns @ found.coefficients
    squares = sum_by(panel.assessor_index, weight * (np.square(away) + w * of_values), panel.n_assessors)
    joint = own * cross  # of a value with all else that a score is made of
    if found.border is not None and work.columns is not None:
        with_coefficients = (found.border.images[0] @ found.border.covariance)[panel.object_index]
        joint = joint - (work.columns.toarray() * with_coefficients).sum(axis=1)
    product = sum_by(panel.assessor_index, weight * (away * left - w * joint), panel.n_assessors)
    logs = log_scale
    for _ in range(8):
        stretch = np.exp(logs)
        slope = stretch * (stretch * squares - product) + logs / ratio
        bend = np.maximum(stretch * (2 * stretch * squares - product), 0.1 * stretch**2 * squares) + 1.0 / ratio
        level = float((slope / bend).sum() / (1.0 / bend).sum())  # holds the sum of the logs
        step = (slope - level) / bend
        logs = logs - step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
    return np.asarray(logs)


def scale_border(work: Work, ratio: float, found: Fitted) -> BorderedSolver:
    """Return the solver bordered by the scales as well, linearised about where they stand, with a product of 1."""
    panel = work.panel
    away = found.values[panel.object_index] - work.centre
    shape = (panel.n_assessments, panel.n_assessors)
    scales = sp.csr_array((away, (np.arange(away.size), panel.assessor_index)), shape=shape)
    columns = scales if found.columns is None else sp.csr_array(sp.hstack([found.columns, scales], format="csr"))
    count = columns.shape[1] - panel.n_assessors
    prior = np.zeros((columns.shape[1], columns.shape[1]))
    own = np.eye(panel.n_assessors) / ratio
    prior[count:, count:] = own + _FIRM / ratio / panel.n_assessors
    return BorderedSolver(found.plain, panel.object_index, panel.assessor_index, found.weight, columns, prior)


def scale_level(ratio: float, count: int) -> float:
    """Return half the log-determinant of the precisions of so many log scales, their sum held."""
    return (log1p(_FIRM) - count * log(ratio)) / 2


def scale_unknown(work: Work) -> Unknown:
    """Return the spread of the log scales as a number that the scores must tell."""
    typical = work.spread**-2

    def put(setting: Setting, x: float) -> Setting:
        return replace(setting, scale_ratio=typical * exp(x))

    return Unknown("scale_ratio", put, {"scale_ratio": 1.0}, 0.0, -12.0, 6.0, ratio_prior, may_vanish=True)


def scales_of(logs: Table) -> Table:
    """Return the table of the scales from that of their logarithms."""
    estimate = np.exp(logs.estimate)
    return replace(logs, estimate=estimate, sd=estimate * logs.sd, lower=np.exp(logs.lower), upper=np.exp(logs.upper))
