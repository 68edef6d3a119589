"""The next best assessments, which narrow a decision or all values most, and what any change of a panel would do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Codes, Floats
from evenhand.errors import InputError, LimitError, NotRankableError
from evenhand.models.fit import Fit
from evenhand.words import name_some

_LARGEST: Final = 4_000
"""Largest number of objects and assessors together whose covariance is held in memory."""

_TORN: Final = 1e-10
"""A change that multiplies det L by less tears a panel into parts: rounding would have the word on what is left."""

_AGAIN: Final = 1.5
"""An object is read again only where that brings so many times what any other would: gains are expectations."""

_ENDS: Final = np.array([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
"""Which of the vertices o, a, p and b each of the pairs (o, a), (p, b), (p, a) and (o, b) joins."""

_JOINED: Final = {size: np.kron(ends, ends) for size, ends in ((1, _ENDS[:2, :1]), (2, _ENDS[:, :2]), (4, _ENDS))}
"""For changes of so many pairs, what turns entries between vertices into forms between pairs."""


@dataclass(frozen=True, eq=False, repr=False)
class NextBest(frames.Shown):
    """Further assessments, the most useful first.

    Attributes
    ----------
    fit
        The fit that they would add to.
    assessor, object
        Labels of each pair.
    gain
        What each would be expected to bring: fewer misclassified objects for a top k, or a smaller mean variance. Where
        they were chosen ``together``, in addition to those before it.
    criterion
        ``"top k"`` or ``"variance"``.
    now
        The expected number of misclassified objects, or the mean variance, as it stands.
    together
        Whether they are a set to be made together, not single ones of which each is the first.
    """

    fit: Fit
    assessor: tuple[str, ...]
    object: tuple[str, ...]
    gain: Floats
    criterion: str
    now: float
    together: bool = True

    @property
    def then(self) -> float | None:
        """What would be left of ``now`` once all of them are made; None where each was looked at alone."""
        return float(self.now - self.gain.sum()) if self.together else None

    def columns(self) -> dict[str, Any]:
        """Return the table as columns."""
        return {"assessor": list(self.assessor), "object": list(self.object), "gain": self.gain}

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.fit.panel.backend


def next_best(
    fit: Fit,
    *,
    top: int | None = None,
    confidence: float | Mapping[tuple[str, str], float] | None = None,
    conflicts: Collection[tuple[str, str]] = (),
    most: int = 10,
    together: bool = True,
) -> NextBest:
    """Choose further assessments by what they would bring, by rank-one updates without a refit.

    One more assessment of precision c changes L^- by -u u^T / (1/c + x^T u), u = L^- x. With ``top`` the gain is
    the expected fall in the number of objects on the wrong side of the line between places k and k + 1 (Gaussian
    posterior, line held where it is); otherwise the fall in the mean variance of values about their mean. Neither
    depends on the gauge.

    They are chosen one after the other, each with the earlier ones counted as made, so that all can be asked for at
    once. The same object is taken again only where that brings half as much again as any other.

    Parameters
    ----------
    fit
        A calibrated fit of a connected panel, with a noise variance.
    top
        The number k of places to decide.
    confidence
        Expected precision of a further assessment, or a mapping from (assessor, object) for some pairs;
        the geometric mean of the panel's where not given.
    conflicts
        Pairs (assessor, object) that must not be made.
    most
        How many to return.
    together
        False to rank single assessments, each as if it were the only one.
    """
    fit.require("next")
    panel, variance = fit.panel, fit.noise_variance
    if not fit.is_calibrated or int(fit.values.component.max()) > 0:
        raise NotRankableError("The next best assessment needs a calibrated fit of a connected panel.")
    if variance is None:
        reason = fit.posterior.noise.reason
        raise NotRankableError(f"What a further assessment would bring depends on the noise, and {reason}.")
    if panel.n_objects + panel.n_assessors > _LARGEST:
        raise LimitError(f"The next best assessment is computed for up to {_LARGEST:,} objects and assessors together.")
    if top is not None and not 1 <= top < panel.n_objects:
        raise InputError(f"There is no line to draw after {top} of {panel.n_objects} objects.", kind="bad_option")
    assessor, object_ = _candidates(fit, conflicts)
    criterion = "variance" if top is None else f"top {top}"
    if not assessor.size:
        return NextBest(fit, (), (), np.empty(0), criterion, 0.0, together)
    precision = _expected_precision(fit, confidence, assessor, object_)
    inverse, pairs = fit.posterior.unit_covariance(), (object_, panel.n_objects + assessor)
    start = variance * variances_about_mean(inverse, panel.n_objects)
    now, gain = _gains(fit, top, inverse, pairs, precision, start)
    best = np.argsort(-_ties(gain), kind="stable")[: min(most, assessor.size)].tolist()
    gains = gain[best]
    if together:
        for place in range(len(best)):
            worth = np.where(np.isin(object_, object_[best[:place]]), gain / _AGAIN, gain)
            worth[best[:place]] = -np.inf
            at = best[place] = int(np.argmax(_ties(worth)))
            gains[place] = gain[at]
            seen = inverse[:, pairs[0][at]] + inverse[:, pairs[1][at]]
            inverse = inverse - np.outer(seen, seen) / (1 / precision[at] + seen[pairs[0][at]] + seen[pairs[1][at]])
            gain = _gains(fit, top, inverse, pairs, precision, start)[1]
    return NextBest(
        fit,
        tuple(panel.assessors[at] for at in assessor[best].tolist()),
        tuple(panel.objects[at] for at in object_[best].tolist()),
        gains,
        criterion,
        now,
        together,
    )


def _ties(gain: Floats) -> Floats:
    """Return gains rounded, so that those equal but for rounding are in the order of the panel."""
    finite = gain[np.isfinite(gain)]
    return np.asarray(np.round(gain / np.abs(finite).max(initial=1e-300), 10), dtype=np.float64)


def variances_about_mean(inverse: Floats, n_objects: int) -> Floats:
    """Return the variance of each value about the mean of all, in units of the noise variance (n_O)."""
    values = inverse[:n_objects, :n_objects]
    return np.asarray(np.diagonal(values) - 2 * values.mean(axis=0) + values.mean(), dtype=np.float64)


def _gains(
    fit: Fit, top: int | None, inverse: Floats, pairs: tuple[Codes, Codes], precision: Floats, start: Floats
) -> tuple[float, Floats]:
    """Return what is to be lowered as it stands, and by how much each further assessment would lower it.

    ``start`` has the variances that go with the values as they were estimated: assessments counted as made since then
    have lowered them, and will have moved the values by as much as that says.
    """
    n_objects, variance = fit.panel.n_objects, float(fit.noise_variance or 0.0)
    left = low_rank(inverse, pairs, precision[:, None])[0][:, 0, 0]
    before = variance * variances_about_mean(inverse, n_objects)
    if top is None:
        outer = about_mean(inverse, np.full(n_objects, 1 / n_objects))
        return float(before.mean()), variance * left * forms(outer, pairs, 1)[:, 0, 0]
    effect = inverse[:n_objects, pairs[0]] + inverse[:n_objects, pairs[1]]
    fall = variance * left * np.square(effect - effect.mean(axis=0))
    gone = (start - before)[:, None]
    wrong = float(_misclassified_after(fit, top, start, gone).sum())
    return wrong, wrong - _misclassified_after(fit, top, start, gone + fall).sum(axis=0)


def _candidates(fit: Fit, conflicts: Collection[tuple[str, str]]) -> tuple[Codes, Codes]:
    panel = fit.panel
    open_ = np.ones((panel.n_assessors, panel.n_objects), dtype=bool)
    open_[panel.assessor_index, panel.object_index] = False
    assessors = {label: index for index, label in enumerate(panel.assessors)}
    objects = {label: index for index, label in enumerate(panel.objects)}
    for assessor, object_ in conflicts:
        for role, label, known in (("assessor", assessor, assessors), ("object", object_, objects)):
            if label not in known:
                raise InputError(
                    f"The conflict of {assessor} with {object_} names an unknown {role}: the panel has "
                    f"{name_some(list(known))}.",
                    kind="unknown_label",
                    where=f"{role} {label}",
                )
        open_[assessors[assessor], objects[object_]] = False
    found = np.nonzero(open_)
    return found[0], found[1]


def _expected_precision(
    fit: Fit,
    confidence: float | Mapping[tuple[str, str], float] | None,
    assessor: Codes,
    object_: Codes,
) -> Floats:
    typical = float(np.exp(np.log(fit.weight).mean()))
    if confidence is None or isinstance(confidence, Mapping):
        precision = np.full(assessor.size, typical)
        for at, pair in enumerate(zip(assessor.tolist(), object_.tolist(), strict=True)) if confidence else ():
            key = (fit.panel.assessors[pair[0]], fit.panel.objects[pair[1]])
            precision[at] = confidence.get(key, typical) if isinstance(confidence, Mapping) else typical
    else:
        precision = np.full(assessor.size, float(confidence))
    if not (np.isfinite(precision).all() and (precision > 0).all()):
        raise InputError("The expected confidence of an assessment must be positive and finite.", kind="bad_option")
    return precision


def _distance(fit: Fit, top: int) -> Floats:
    """Return how far each value is above the line halfway between places k and k + 1."""
    ordered = np.sort(fit.values.latent)[::-1]
    return np.asarray(fit.values.latent - (ordered[top - 1] + ordered[top]) / 2, dtype=np.float64)


def _misclassified_after(fit: Fit, top: int, before: Floats, fall: Floats) -> Floats:
    """Return the expected probability of misclassification after each further assessment (columns).

    If the value is N(m, s^2) now and its variance falls to t^2, deciding by the new mean errs with probability
    2 T(m/s, t/sqrt(s^2 - t^2)), T being Owen's function; without a fall, with that of the far side of N(m, s^2).
    """
    from scipy.special import owens_t

    fall = np.clip(fall, 0.0, before[:, None])
    ratio = np.sqrt(np.maximum(before[:, None] - fall, 0.0) / np.maximum(fall, 1e-300))
    return np.asarray(2 * owens_t((_distance(fit, top) / np.sqrt(before))[:, None], ratio), dtype=np.float64)


def low_rank(inverse: Floats, vertices: Sequence[Codes], step: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return (D^-1 + X^T G X)^-1 of a number of changes, and which of them tear a panel apart.

    An assessment of precision c adds c x x^T to the Laplacian L, x = e_o + e_a. A change takes some away and adds
    others, L' = L + X D X^T, so that of G = L^-1 is left G' = G - G X (D^-1 + X^T G X)^-1 X^T G.

    Parameters
    ----------
    inverse
        G, objects first; a generalised inverse will do, in any gauge.
    vertices
        Object and assessor of the pair that changes; or o, a, p and b if both (o, a) and (p, b) do, or all of (o, a),
        (p, b), (p, a) and (o, b): m each.
    step
        The change D of the precision of each pair (m x k, k = 1, 2 or 4).
    """
    core = forms(inverse, vertices, step.shape[1])
    core[:, np.arange(step.shape[1]), np.arange(step.shape[1])] += 1 / step
    return inverted(core, step)


def forms(matrix: Floats, vertices: Sequence[Codes], size: int) -> Floats:
    """Return x^T matrix y for all pairs x and y of each change (m x k x k), from the vertices that they join."""
    count = vertices[-1].size
    entries = np.empty((count, len(vertices), len(vertices)))
    for i, one in enumerate(vertices):
        for j in range(i, len(vertices)):
            entries[:, i, j] = entries[:, j, i] = matrix[one, vertices[j]]
    found = entries.reshape(count, -1) @ _JOINED[size]
    return np.asarray(found.reshape(count, size, size), dtype=np.float64)


def inverted(core: Floats, step: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the inverses of D^-1 + X^T G X, and which changes tear a panel apart, by the factor of det L."""
    apart = np.linalg.det(core) * step.prod(axis=1) < _TORN
    if apart.any():
        core = np.where(apart[:, None, None], np.eye(core.shape[1]), core)
    return np.asarray(np.linalg.inv(core), dtype=np.float64), np.asarray(apart, dtype=bool)


def about_mean(inverse: Floats, weight: Floats) -> Floats:
    """Return G W G, W = diag(w) - w w^T: tr[(D^-1 + X^T G X)^-1 X^T G W G X] is what a change takes off tr(W G).

    That is the mean variance of values about their mean, sum_o w_o Var(v_o - sum_p w_p v_p), weights summing to one.
    """
    rows = inverse[: weight.size]
    rows = rows - weight @ rows
    return np.asarray((rows.T * weight) @ rows, dtype=np.float64)
