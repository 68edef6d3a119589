"""Live panels: a score added, changed or removed updates a fit without starting again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.models.additive import finish_additive, fit_additive
from evenhand.models.fit import Fit, Options
from evenhand.models.noise import noise_asked
from evenhand.panel.confidence import level_words, precision_of_level, precision_of_uncertainty
from evenhand.panel.gauge import Affine, Gauge, condition
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel
from evenhand.solve import Answering, Solution
from evenhand.solve.choose import SMALL
from evenhand.solve.connectivity import connectivity
from evenhand.solve.corrections import UpdatedSolver, changes_since
from evenhand.solve.equations import make_system

_MOST: Final = 48
"""After this many changed confidences the equations are solved anew, from where they stand."""


def update(fit: Fit, *, put: Iterable[Sequence[Any]] = (), remove: Iterable[tuple[str, str]] = ()) -> Fit:
    """Return the fit after some scores were added, changed or removed: same method, gauge and options.

    A large panel is not fitted again: values, biases and their uncertainty are corrected for what changed, exactly,
    in a small part of the time; where objects or assessors come or go, the fit starts from where it stood. Weights of
    an affine gauge stay with their assessors, and those who are new weigh nothing.

    Parameters
    ----------
    fit
        A fit by any method.
    put
        Assessments (object, assessor, score) or (object, assessor, score, confidence), added or, where the assessor
        has scored the object before, changed. The confidence is declared as in the panel (an uncertainty, a weight, a
        level); a changed score without one keeps its own.
    remove
        Pairs (object, assessor) whose scores are withdrawn.

    Raises
    ------
    NotConnectedError
        If the panel would fall into groups, unless each was to be calibrated on its own.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0]))
    >>> update(fit, put=[("1", "1", 60.0)]).biases.estimate
    array([-5.,  5.])
    """
    fit.require("update")
    if fit.panel.covariates or fit.panel.criterion is not None:
        raise InputError(
            "A panel with covariates or criteria cannot be updated score by score: read it again and fit anew.",
            kind="bad_change",
        )
    edit = _edit(fit.panel, list(put), list(remove))
    if not (fit.model.is_plain and fit.is_calibrated):
        same: Options = {"gauge": _gauge(fit, edit), "per_component": fit.per_component}
        return fit.refit(edit.panel, **({} if fit.gauge is None else same))
    corrected = _corrected(fit, edit)
    return _refitted(fit, edit) if corrected is None else corrected


@dataclass(frozen=True, slots=True, eq=False)
class _Edit:
    """A panel after changes; where each object and assessor stood before (-1: new), and the pairs that changed.

    For each changed pair: object, assessor (codes after), score and precision before and after; precision 0 where
    there is no score.
    """

    panel: Panel
    object_before: NDArray[np.int64]
    assessor_before: NDArray[np.int64]
    pairs: NDArray[np.int64]
    before: Floats
    after: Floats

    def keeps_members(self, panel: Panel) -> bool:
        """Whether objects and assessors are those of a panel before."""
        return np.array_equal(self.object_before, np.arange(panel.n_objects)) and self.keeps_assessors(panel)

    def keeps_assessors(self, panel: Panel) -> bool:
        """Whether assessors are those of a panel before."""
        return np.array_equal(self.assessor_before, np.arange(panel.n_assessors))


def _edit(panel: Panel, put: list[Sequence[Any]], remove: list[tuple[str, str]]) -> _Edit:
    """Return the panel after the changes, its objects and assessors in the order they had, new ones last."""
    objects = {label: code for code, label in enumerate(panel.objects)}
    assessors = {label: code for code, label in enumerate(panel.assessors)}
    rows: list[int] = []
    wanted: dict[tuple[str, str], tuple[float, float] | None] = {}
    for item in put:
        if len(item) not in (3, 4):
            raise InputError(
                f"{tuple(item)!r} is not an assessment: give (object, assessor, score) or with a confidence as fourth.",
                kind="bad_change",
            )
        pair = (str(item[0]), str(item[1]))
        at = _find(panel, objects, assessors, pair)
        _once(wanted, pair)
        declared = item[3] if len(item) == 4 else None
        wanted[pair] = (_score(item[2], pair), _precision(panel, declared, at, pair))
    for given in remove:
        pair = (str(given[0]), str(given[1]))
        _once(wanted, pair)
        if _find(panel, objects, assessors, pair) is None:
            raise InputError(f"{pair[1]} has not scored {pair[0]}: there is nothing to remove.", kind="bad_change")
        wanted[pair] = None
    for pair, new in wanted.items():
        if new is not None:
            objects.setdefault(pair[0], len(objects))
            assessors.setdefault(pair[1], len(assessors))
    object_index, assessor_index = panel.object_index.astype(np.int64), panel.assessor_index.astype(np.int64)
    score, precision = np.array(panel.score), np.array(panel.precision)
    pairs, before, after, added = [], [], [], []
    for pair, new in wanted.items():
        at = _find(panel, objects, assessors, pair)
        codes = (objects[pair[0]], assessors[pair[1]])
        pairs.append(codes)
        before.append((float(score[at]), float(precision[at])) if at is not None else (0.0, 0.0))
        after.append((0.0, 0.0) if new is None else new)
        if new is None:
            rows.append(int(at if at is not None else -1))
        elif at is None:
            added.append((*codes, *new))
        else:
            score[at], precision[at] = new
    stay = np.ones(score.size, dtype=bool)
    stay[rows] = False
    extra = np.array(added, dtype=np.float64).reshape(-1, 4)
    object_index = np.concatenate([object_index[stay], extra[:, 0].astype(np.int64)])
    assessor_index = np.concatenate([assessor_index[stay], extra[:, 1].astype(np.int64)])
    if not object_index.size:
        raise InputError("No score would be left: a panel needs at least one assessment.", kind="empty")
    kept_objects, new_objects = np.unique(object_index, return_inverse=True)
    kept_assessors, new_assessors = np.unique(assessor_index, return_inverse=True)
    names, people = list(objects), list(assessors)
    same = panel.is_equally_confident and not (extra[:, 3] != panel.precision[0]).any()
    weights = np.concatenate([precision[stay], extra[:, 3]])
    moved = replace(
        panel,
        objects=tuple(names[code] for code in kept_objects.tolist()),
        assessors=tuple(people[code] for code in kept_assessors.tolist()),
        object_index=new_objects,
        assessor_index=new_assessors,
        score=np.concatenate([score[stay], extra[:, 2]]),
        precision=np.broadcast_to(panel.precision[:1], weights.shape).view() if same else weights,
    )
    return _Edit(
        moved,
        np.where(kept_objects < panel.n_objects, kept_objects, -1),
        np.where(kept_assessors < panel.n_assessors, kept_assessors, -1),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.array(before).reshape(-1, 2),
        np.array(after).reshape(-1, 2),
    )


def _find(panel: Panel, objects: dict[str, int], assessors: dict[str, int], pair: tuple[str, str]) -> int | None:
    """Return where in the panel a pair stands; None where nowhere."""
    if pair[0] not in objects or pair[1] not in assessors:
        return None
    at = np.flatnonzero((panel.object_index == objects[pair[0]]) & (panel.assessor_index == assessors[pair[1]]))
    if at.size > 1:
        raise InputError(
            f"{pair[1]} scored {pair[0]} {at.size} times, so it is not clear which score changes: combine them first.",
            kind="bad_change",
        )
    return int(at[0]) if at.size else None


def _once(wanted: dict[tuple[str, str], Any], pair: tuple[str, str]) -> None:
    if pair in wanted:
        raise InputError(f"The score of {pair[0]} by {pair[1]} is changed twice: give it once.", kind="bad_change")


def _score(given: Any, pair: tuple[str, str]) -> float:
    try:
        score = float(given)
    except (TypeError, ValueError):
        score = np.nan
    if not np.isfinite(score):
        raise InputError(f"{given!r} is not a score for {pair[0]} by {pair[1]}.", kind="bad_score")
    return score


def _precision(panel: Panel, declared: Any, at: int | None, pair: tuple[str, str]) -> float:
    """Return the precision of a new or changed score, declared as in the panel."""
    where = f"{pair[0]} by {pair[1]}"
    if declared is None:
        if at is None and panel.confidence != "none":
            raise InputError(
                f"The panel has {panel.describe_confidence()}: give one for the new score of {where} too.",
                kind="bad_confidence",
            )
        return float(panel.precision[at]) if at is not None else 1.0
    if panel.confidence == "none":
        raise InputError(
            f"The panel has no declared confidence, so the score of {where} cannot have one.", kind="bad_confidence"
        )
    if panel.confidence == "level":
        level = level_words().get(str(declared).strip().casefold())
        if level is None or panel.factor is None:
            raise InputError(
                f"{declared!r} is not a level for {where}: use high, medium or low.", kind="bad_confidence"
            )
        return float(precision_of_level([level], panel.factor)[0])
    number = _score(declared, pair)
    if number <= 0:
        raise InputError(f"{declared!r} is not a confidence for {where}: it must be positive.", kind="bad_confidence")
    return float(precision_of_uncertainty(np.array(number))) if panel.confidence == "uncertainty" else number


def _gauge(fit: Fit, edit: _Edit) -> Gauge:
    """Return the gauge of a fit for the panel after the changes: weights of assessors go by label where they moved."""
    gauge: Gauge = fit.gauge if fit.gauge is not None else "weighted"
    if not isinstance(gauge, Affine) or edit.keeps_assessors(fit.panel):
        return gauge
    weights = gauge.beta if isinstance(gauge.beta, Mapping) else dict(zip(fit.panel.assessors, gauge.beta, strict=True))
    here = set(edit.panel.assessors)
    left = [label for label, weight in weights.items() if label not in here and weight != 0]
    if left:
        raise InputError(
            f"The affine gauge gives a weight to {left[0]}, whose last score would be withdrawn: calibrate the panel "
            "anew with weights for those who stay.",
            kind="bad_gauge",
            where=f"assessor {left[0]}",
        )
    return Affine({label: float(weight) for label, weight in weights.items() if label in here}, gauge.gamma)


def _refitted(fit: Fit, edit: _Edit) -> Fit:
    """Fit anew, from where values and biases stood; newcomers start at the mean."""

    def carried(estimate: Floats, before: NDArray[np.int64]) -> Floats:
        return np.where(before >= 0, estimate[before], estimate.mean())

    start = (
        carried(fit.values.estimate, edit.object_before),
        carried(fit.biases.estimate, edit.assessor_before),
    )
    return fit_additive(
        edit.panel,
        fit.model,
        _gauge(fit, edit),
        fit.per_component,
        noise_asked(fit.posterior.noise),
        fit.values.interval,
        fit.connectivity.solver_kind,
        start,
    )


def _corrected(fit: Fit, edit: _Edit) -> Fit | None:
    """Correct the fit for a few changes, or None where it must be made anew: a member or a group came or went."""
    panel, solver = edit.panel, fit.posterior.solver
    small = min(panel.n_objects, panel.n_assessors) <= SMALL  # as quick anew
    if small or not edit.keeps_members(fit.panel):
        return None
    seen = panel if fit.model.uses_confidence else panel.with_equal_confidence()
    parts = connectivity(seen, fit.connectivity.solver_kind)
    if solver is None or not np.array_equal(_groups(parts), _groups(fit.connectivity)):
        return None
    weighs = fit.model.uses_confidence
    before, after = (state[:, 1] if weighs else (state[:, 1] > 0) * 1.0 for state in (edit.before, edit.after))
    change = after - before
    base, pairs, total = changes_since(solver, edit.pairs, change)
    if pairs.shape[0] > _MOST:
        return None
    objects, assessors = edit.pairs.T
    fitted = fit.values.estimate[objects] + fit.biases.estimate[assessors]
    force = after * (edit.after[:, 0] - fitted) - before * (edit.before[:, 0] - fitted)
    of_objects, of_assessors = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
    np.add.at(of_objects, objects, force)
    np.add.at(of_assessors, assessors, force)
    system = make_system(seen, parts)
    estimator: Answering = base.estimator
    uncertain: Answering = base
    if pairs.shape[0] or solver is not base or change.any():
        estimator = UpdatedSolver(estimator, system, pairs[:, 0], pairs[:, 1], total)
        uncertain = UpdatedSolver(base, system, pairs[:, 0], pairs[:, 1], total)
    step_values, step_biases = estimator.apply(of_objects, of_assessors)
    raw = Solution(fit.values.estimate + step_values, fit.biases.estimate + step_biases)
    gauge = _gauge(fit, edit)
    return finish_additive(
        panel,
        parts,
        fit.model,
        raw,
        condition(gauge, seen, parts),
        gauge=gauge,
        per_component=fit.per_component,
        noise=noise_asked(fit.posterior.noise),
        interval=fit.values.interval,
        solver=uncertain,
    )


def _groups(parts: Components) -> NDArray[np.int64]:
    """Return the group of each object, named by its first member, so that equal groups have equal names."""
    return np.asarray(np.unique(parts.object_component, return_index=True)[1][parts.object_component])
