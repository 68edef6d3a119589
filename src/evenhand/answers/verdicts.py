"""How each assessor's scores fit in with those of all others: mean squares, agreement, spread, and a plain verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.solve.base import Answering

Verdict = Literal["consistent", "erratic", "bunched", "other ranking", "too few scores to tell"]

_FEW: Final = "too few scores to tell"

READ_AS: Final = {_FEW: "not clear"}
"""Verdicts that people read in other words than data has."""

CLEAR: Final = 2.1
"""Standard deviations from which a statistic speaks against an assessor: one in 56 good ones is so far out."""

SHOWN: Final = 1.645
"""Standard deviations from which following the others is shown: a probability of 95 %, one-sided."""

_INFIT: Final = 1.3
_SPREAD: Final = 0.8
_SLOPE: Final = 2 / 3
"""What is clear must also be large: the least infit of the erratic, the largest spread and slope of the others."""

_LEAST: Final = 4
"""With fewer scores there is no verdict, and with fewer objects in common with others no correlation."""

_VAGUE: Final = 10.0
"""A slope with a larger standard deviation than this is not shown."""


_Told = tuple[float | None, float | None]
"""A number and how sure it is; None for what cannot be told."""


@dataclass(frozen=True, slots=True)
class AssessorFit:
    """How the scores of one assessor fit in; None is what cannot be told.

    Attributes
    ----------
    assessor
        The label.
    scores
        Number of scores.
    verdict
        In words.
    infit, outfit
        Mean squares of the residuals beside those that the model expects, information-weighted and not: 1 is as
        expected, more is erratic, less is smoother than chance.
    infit_z, outfit_z
        How many standard deviations that is from 1 (Wilson and Hilferty).
    agreement, agreement_lower, agreement_upper
        Correlation of the scores with what all others say of the same objects, and its interval.
    slope, slope_z
        Points by which the scores rise for each point that the others expect, and how many standard deviations that
        is from 1.
    spread, spread_z
        Standard deviation of the scores beside the one expected for the same objects, and how many standard deviations
        that is from 1.
    """

    assessor: str
    scores: int
    verdict: Verdict
    infit: float | None = None
    infit_z: float | None = None
    outfit: float | None = None
    outfit_z: float | None = None
    agreement: float | None = None
    agreement_lower: float | None = None
    agreement_upper: float | None = None
    slope: float | None = None
    slope_z: float | None = None
    spread: float | None = None
    spread_z: float | None = None


def assessor_columns(assessors: Sequence[AssessorFit]) -> dict[str, Any]:
    """Return a row for each assessor as columns."""
    return {field.name: [getattr(one, field.name) for one in assessors] for field in fields(AssessorFit)}


def assess_assessors(fit: Fit, solver: Answering) -> list[AssessorFit]:
    """Return how each assessor's scores fit in with those of all others, for a shrunk fit and who answers for it.

    With H the hat matrix in units of the declared uncertainties, the residuals r of an assessor have the covariance
    w G, G = (I - H)_aa. The noise variance is that of all residuals, w = sum r^2 / tr(I - H), so that assessors are
    compared with each other even where all of them are noisier than they declared. The scores less what all others
    expect of them, d = G^-1 r, are the errors that a fit without the assessor would make, at the same variances; their
    covariance is w G^-1.

    - infit = r^T r / (w tr G), with relative variance 2 |G|^2 / (tr G)^2; outfit = mean of r_i^2 / (w G_ii). The
      variance of w, 2 / tr(I - H), is taken off both, and cube roots make them normal (Wilson and Hilferty 1931).
    - slope: generalised least squares of the scores on what all others expect, which is a mean given their scores,
      and so an explanatory variable without error: the slope is 1 on the average.
    - spread: the variance of the scores beside its expectation given what the others expect.
    - agreement: Pearson's correlation over objects that others scored too; its interval is Fisher's.

    The verdict of an assessor with four scores or more is the first of these that holds:

    - *bunched*: spread_z <= -2.1 and spread <= 0.8;
    - *other ranking*: slope_z <= -2.1 and slope <= 0;
    - *erratic*: infit_z >= 2.1 and infit >= 1.3, or slope_z <= -2.1 and slope <= 2/3;
    - *consistent*: the slope is more than 1.645 standard deviations above 0;
    - *too few scores to tell*.
    """
    panel = fit.panel
    order = np.argsort(panel.assessor_index, kind="stable")
    ends = np.cumsum(panel.assessor_assessments)[:-1]
    rows_of = np.split(order, ends)
    blocks = [_block(fit, solver, at, rows) for at, rows in enumerate(rows_of)]
    left = float(sum(np.trace(block) for block in blocks))
    largest = float(np.abs(fit.residuals).max())
    if not (left > 0 and largest > 0):
        scores = panel.assessor_assessments.tolist()
        return [AssessorFit(str(label), count, _FEW) for label, count in zip(panel.assessors, scores, strict=True)]
    with np.errstate(under="ignore"):
        squares = float(fit.weight @ np.square(fit.residuals / largest))
    noise = largest * float(np.sqrt(squares / left))
    return [_assess(fit, at, rows_of[at], block, left, noise) for at, block in enumerate(blocks)]


def _block(fit: Fit, solver: Answering, assessor: int, rows: NDArray[np.int64]) -> Floats:
    """Return G = (I - H)_aa, the residual covariance of an assessor's scores for w = 1 in declared uncertainties."""
    panel = fit.panel
    objects, columns = panel.object_index[rows], np.arange(rows.size)
    of_objects = np.zeros((panel.n_objects, rows.size))
    of_objects[objects, columns] = 1.0
    of_assessors = np.zeros((panel.n_assessors, rows.size))
    of_assessors[assessor] = 1.0
    values, biases = solver.apply(of_objects, of_assessors)
    covariance = values[objects] + biases[assessor]
    root = np.sqrt(fit.weight[rows])
    return np.asarray(np.eye(rows.size) - root[:, None] * (covariance + covariance.T) / 2 * root)


def _assess(fit: Fit, assessor: int, rows: NDArray[np.int64], block: Floats, left: float, noise: float) -> AssessorFit:
    """Return how one assessor fits in, computed in units of the noise's standard deviation."""
    panel = fit.panel
    root = np.sqrt(fit.weight[rows])
    residual, own = root * (fit.residuals[rows] / noise), np.diagonal(block)
    trace = float(own.sum())
    infit = infit_z = outfit = outfit_z = None
    if trace > 1e-9:
        infit = float(residual @ residual) / trace
        infit_z = _standardised(infit, 2 * float(np.square(block).sum()) / trace**2 - 2 / left)
        seen = own > 1e-9
        among = block[np.ix_(seen, seen)] / np.sqrt(np.outer(own[seen], own[seen]))
        outfit = float(np.mean(np.square(residual[seen]) / own[seen]))
        outfit_z = _standardised(outfit, 2 * float(np.square(among).sum()) / seen.sum() ** 2 - 2 / left)
    score = (panel.score[rows] - panel.score.mean()) / noise
    others = _without(block, residual)
    expected = score if others is None else score - others / root
    slope = deviation = spread = spread_z = None
    shared = _seen_by_others(panel, rows) & (others is not None)
    agreement, lowest, highest = _correlation(score[shared], expected[shared], fit.values.interval)
    if others is not None and rows.size > 2:
        slope, deviation = _slope(root, expected, residual, block)
        spread, spread_z = _spread(root, score, expected, block)
    return AssessorFit(
        assessor=str(panel.assessors[assessor]),
        scores=int(rows.size),
        verdict=_FEW if rows.size < _LEAST else _verdict((infit, infit_z), (slope, deviation), (spread, spread_z)),
        infit=infit,
        infit_z=infit_z,
        outfit=outfit,
        outfit_z=outfit_z,
        agreement=agreement,
        agreement_lower=lowest,
        agreement_upper=highest,
        slope=slope if deviation is not None and deviation <= _VAGUE else None,
        slope_z=None if slope is None or deviation is None else (slope - 1) / deviation,
        spread=spread,
        spread_z=spread_z,
    )


def _seen_by_others(panel: Panel, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether somebody else scored the object of each of an assessor's scores."""
    objects = panel.object_index[rows]
    _, place, own = np.unique(objects, return_inverse=True, return_counts=True)
    return np.asarray(panel.object_assessments[objects] > own[place.ravel()])


def _without(block: Floats, residual: Floats) -> Floats | None:
    """Return the errors d = G^-1 r of predictions without the assessor; None where nobody else can predict."""
    try:
        found: Floats = np.linalg.solve(block, residual).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def _standardised(mean_square: float, variance: float) -> float | None:
    """Return a mean square of expectation 1 in standard deviations: its cube root is nearly normal."""
    if variance <= 1e-9:
        return None
    q = float(np.sqrt(variance))
    return (float(np.cbrt(mean_square)) - 1) * 3 / q + q / 3


def _slope(root: Floats, expected: Floats, residual: Floats, block: Floats) -> _Told:
    """Return the slope of an assessor's scores on what all others expect, and its standard deviation."""
    away = expected - np.average(expected, weights=np.square(root))
    size = float(np.abs(away).max())
    if size <= 1e-10:
        return None, None
    design = np.stack([root, root * away / size], axis=1)
    information = design.T @ block @ design
    # what the level leaves of the information about the slope
    left = information[1, 1] - information[0, 1] ** 2 / information[0, 0]
    if not left > 1e-12 * information[1, 1]:
        return None, None
    pull = design.T @ residual
    turn = (pull[1] - information[0, 1] / information[0, 0] * pull[0]) / left
    return 1 + float(turn) / size, float(np.sqrt(1 / left)) / size


def _spread(root: Floats, score: Floats, expected: Floats, block: Floats) -> _Told:
    """Return the spread of an assessor's scores beside what is expected of it, and how sure that is."""
    share = np.square(root) / np.square(root).sum()

    def centred(rows: Floats) -> Floats:
        return np.asarray(rows - share @ rows)

    covariance = np.linalg.inv(block) / np.outer(root, root)
    # the spread is a sum of squares of share^1/2 (s - mean)
    turned = np.sqrt(share)[:, None] * centred(centred(covariance).T) * np.sqrt(share)
    about = np.sqrt(share) * centred(expected)
    mean = float(np.trace(turned) + about @ about)
    if not (mean > 0 and np.isfinite(mean)):
        return None, None
    variance = float(2 * np.square(turned).sum() + 4 * about @ turned @ about)
    square = float(share @ np.square(centred(score))) / mean
    return float(np.sqrt(square)), _standardised(square, variance / mean**2)


def _correlation(score: Floats, expected: Floats, interval: float) -> tuple[float | None, float | None, float | None]:
    """Return the correlation of scores with what others expect, with Fisher's interval; None where there is none."""
    spread = float(np.ptp(score)), float(np.ptp(expected))
    if score.size < _LEAST or min(spread) <= 1e-10:
        return None, None, None
    from scipy.special import ndtri

    found = float(np.clip(np.corrcoef(score, expected)[0, 1], -1.0, 1.0))
    reach = float(ndtri(0.5 + interval / 2)) / np.sqrt(score.size - 3)
    with np.errstate(divide="ignore"):
        centre = np.arctanh(found)
    return found, float(np.tanh(centre - reach)), float(np.tanh(centre + reach))


def _verdict(infit: _Told, slope: _Told, spread: _Told) -> Verdict:
    """Return the first verdict whose rule holds, from infit and spread with their z, and the slope with its sd."""
    size, z = spread
    if size is not None and z is not None and z <= -CLEAR and size <= _SPREAD:
        return "bunched"
    rise, deviation = slope
    if rise is not None and deviation is not None and rise <= min(_SLOPE, 1 - CLEAR * deviation):
        return "other ranking" if rise <= 0 else "erratic"
    size, z = infit
    if size is not None and z is not None and z >= CLEAR and size >= _INFIT:
        return "erratic"
    follows = rise is not None and deviation is not None and rise >= SHOWN * deviation
    return "consistent" if follows else _FEW
