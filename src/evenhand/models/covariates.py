"""Covariates of an assessment: declared confidence, familiarity, order, round, home institution (App. F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text
from evenhand.solve.connectivity import connectivity
from evenhand.words import name_some

_ALIKE: Final = 1e-9
"""A column whose part that neither values nor biases nor earlier columns explain is smaller than this is not new."""

_MOST_LEVELS: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """Covariates as columns of numbers, each with mean zero: values are those under average conditions."""

    # A name for each column: ``order``, or ``round=2`` for a category beside the most frequent one
    names: tuple[str, ...]
    columns: sp.csr_array[Any]  # A row for each assessment


def code_covariates(panel: Panel, chosen: Sequence[str]) -> Coding | None:
    """Return the covariates of a panel as columns, or None for none.

    ``"confidence"`` means the logarithm of the declared precision, where no column has that name.
    """
    if not chosen:
        return None
    names: list[str] = []
    columns: list[Floats] = []
    for name in dict.fromkeys(chosen):
        more_names, more = _code(panel, name)
        names += more_names
        columns += more
        if not more:
            raise InputError(f"Covariate {name} is the same for every assessment.", kind="bad_covariate")
    matrix = np.stack([column - np.average(column, weights=panel.precision) for column in columns], axis=1)
    _refuse_unidentified(panel, names, columns, matrix)
    return Coding(tuple(names), sp.csr_array(matrix))


def code_rows(
    panel: Panel, chosen: Sequence[str], names: Sequence[str], cells: Mapping[str, Sequence[Any]], precision: Floats
) -> Floats:
    """Return the columns of a panel's covariates for assessments that have not been made, a row for each.

    A covariate that is not given is what it is on average: 0 in every column.
    """
    found = np.zeros((precision.size, len(names)))
    for name in dict.fromkeys(chosen):
        own, columns = _code(panel, name)
        means = {label: np.average(column, weights=panel.precision) for label, column in zip(own, columns, strict=True)}
        if name not in panel.covariates:
            given: Floats | None = np.log(precision)
        elif name not in cells:
            given = None
        elif own == [name]:
            given = _numbers(name, cells[name])
        else:
            levels = set(panel.covariates[name].astype(str).tolist())
            texts = np.array([label_text(cell) for cell in cells[name]])
            for text in texts.tolist():
                if text not in levels:
                    raise InputError(
                        f"No score of the panel has {name} {text!r}: what it does is not known.", kind="bad_covariate"
                    )
            for label in own:
                if label in names:
                    found[:, names.index(label)] = (texts == label.removeprefix(f"{name}=")) - means[label]
            continue
        if given is not None and name in names:
            found[:, names.index(name)] = given - means[name]
    return found


def _numbers(name: str, cells: Sequence[Any]) -> Floats:
    try:
        numbers = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InputError(f"Covariate {name} must be a number for every prediction.", kind="bad_covariate")
    return numbers


def _code(panel: Panel, name: str) -> tuple[list[str], list[Floats]]:
    if name not in panel.covariates:
        if name == "confidence" and panel.confidence != "none":
            return [name], [np.log(panel.precision)]
        there = name_some(list(panel.covariates)) if panel.covariates else "none were read"
        raise InputError(f"There is no covariate {name!r}: {there}.", kind="bad_option")
    cells = panel.covariates[name]
    if np.issubdtype(cells.dtype, np.number):
        numbers = cells.astype(np.float64)
        if not np.isfinite(numbers).all():
            at = int(np.argmin(np.isfinite(numbers)))
            raise InputError(
                f"Covariate {name} is missing for {panel.objects[int(panel.object_index[at])]} by "
                f"{panel.assessors[int(panel.assessor_index[at])]}: every assessment needs one.",
                kind="bad_covariate",
            )
        return [name], [numbers]
    levels, code, count = np.unique(cells.astype(str), return_inverse=True, return_counts=True)
    if levels.size > _MOST_LEVELS:
        raise InputError(
            f"Covariate {name} has {levels.size:,} categories, more than {_MOST_LEVELS}: is it a number?",
            kind="bad_covariate",
        )
    others = [at for at in range(levels.size) if at != int(np.argmax(count))]
    return [f"{name}={levels[at]}" for at in others], [(code == at).astype(np.float64) for at in others]


def _refuse_unidentified(panel: Panel, names: Sequence[str], columns: Sequence[Floats], matrix: Floats) -> None:
    """Refuse a column that values, biases and the columns before it explain already."""
    columns_of = dict(zip(names, columns, strict=True))
    for name, column in zip(names, matrix.T, strict=True):
        size = float(np.abs(column).max())
        if size <= _ALIKE * max(1.0, float(np.abs(columns_of[name]).max())):
            raise InputError(f"Covariate {name} is the same for every assessment.", kind="bad_covariate")
        for index, count, side in (
            (panel.object_index, panel.n_objects, "object"),
            (panel.assessor_index, panel.n_assessors, "assessor"),
        ):
            mean = sum_by(index, column, count) / np.bincount(index, minlength=count)
            if np.abs(column - mean[index]).max() <= _ALIKE * size:
                what = "value" if side == "object" else "bias"
                raise InputError(
                    f"Covariate {name} has one and the same value for all assessments of each {side}, so it cannot be "
                    f"told from the {side}'s {what}: leave it out.",
                    kind="bad_covariate",
                    where=f"covariate {name}",
                )
    left = _unexplained(panel, matrix)
    kept: list[Floats] = []
    for at, name in enumerate(names):
        column = left[:, at].copy()
        for earlier in kept:
            column -= earlier * float(earlier @ column)
        size = float(np.linalg.norm(column))
        if size <= 1e-7 * float(np.linalg.norm(matrix[:, at])):
            raise InputError(
                f"Covariate {name} follows from objects, assessors and the other covariates, so its effect cannot be "
                "told from theirs: leave it out.",
                kind="bad_covariate",
                where=f"covariate {name}",
            )
        kept.append(column / size)


def _unexplained(panel: Panel, matrix: Floats) -> Floats:
    """Return the part of each column that values and biases do not explain."""
    parts = connectivity(panel.with_equal_confidence())
    left = np.empty_like(matrix)
    for at in range(matrix.shape[1]):
        found = parts.solver.solve(np.ascontiguousarray(matrix[:, at]))
        fitted = found.values[panel.object_index] + found.biases[panel.assessor_index]
        left[:, at] = matrix[:, at] - fitted
    return left
