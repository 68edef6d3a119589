"""Covariates of an assessment: declared confidence, familiarity, order, round, home institution (App. F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text
from evenhand.solve.connectivity import Connectivity, connectivity
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
    dropped: tuple[str, ...] = ()  # Names of levels that the rest explains


def code_covariates(panel: Panel, chosen: Sequence[str], flat: tuple[bool, bool] = (True, True)) -> Coding | None:
    """Return the covariates of a panel as columns, or None for none.

    ``"confidence"`` means the logarithm of the declared precision, where no column has that name. ``flat`` says whether
    values, and biases, have no prior: then what is constant within an object, or an assessor, cannot be told from them.
    Levels that the rest explains are dropped; a covariate of which nothing is left is refused.
    """
    if not chosen:
        return None
    kept = _Kept(panel, flat)
    names: list[str] = []
    dropped: list[str] = []
    columns: list[Floats] = []
    for name in dict.fromkeys(chosen):
        found = dict(zip(*_code(panel, name), strict=True))
        centred = {one: column - np.average(column, weights=panel.precision) for one, column in found.items()}
        if all(np.abs(centred[one]).max() <= _ALIKE * max(1.0, np.abs(found[one]).max()) for one in found):
            raise InputError(f"Covariate {name} is the same for every assessment.", kind="bad_covariate")
        new = [one for one, column in centred.items() if kept.takes(column)]
        if not new:
            raise InputError(
                f"Covariate {name} {kept.reason(list(centred.values()))}: leave it out.",
                kind="bad_covariate",
                where=f"covariate {name}",
            )
        names += new
        dropped += [one for one in centred if one not in new]
        columns += [centred[one] for one in new]
    return Coding(tuple(names), sp.csr_array(np.stack(columns, axis=1)), tuple(dropped))


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


class _Kept:
    """The columns so far, as far as values and biases without a prior do not explain them."""

    def __init__(self, panel: Panel, flat: tuple[bool, bool]) -> None:
        self.panel, self.flat = panel, flat
        self.columns: list[Floats] = []

    def takes(self, column: Floats) -> bool:
        """Return whether a column is new, and keep it then."""
        left = self._unexplained(column)
        for earlier in self.columns:
            left = left - earlier * float(earlier @ left)
        size = float(np.linalg.norm(left))
        if not size > 1e-7 * float(np.linalg.norm(column)):
            return False
        self.columns.append(left / size)
        return True

    @cached_property
    def _parts(self) -> Connectivity:
        return connectivity(self.panel.with_equal_confidence())

    def _unexplained(self, column: Floats) -> Floats:
        """Return the part of a column that values and biases without a prior do not explain."""
        panel = self.panel
        match self.flat:
            case True, True:
                found = self._parts.solver.solve(np.ascontiguousarray(column))
                return np.asarray(column - found.values[panel.object_index] - found.biases[panel.assessor_index])
            case True, False:
                return column - self._means(column, 0)
        return column - float(column.mean())

    def _means(self, column: Floats, side: int) -> Floats:
        """Return for each assessment the mean of a column over its object, or its assessor."""
        panel = self.panel
        index, count = (
            (panel.object_index, panel.object_assessments),
            (panel.assessor_index, panel.assessor_assessments),
        )[side]
        return np.asarray((sum_by(index, column, count.size) / count)[index])

    def reason(self, columns: Sequence[Floats]) -> str:
        """Return why nothing of a covariate is new."""
        for side, what in enumerate(("object's value", "assessor's bias")):
            within = (np.abs(one - self._means(one, side)).max() <= _ALIKE * np.abs(one).max() for one in columns)
            if self.flat[side] and all(within):
                owner = what.partition("'")[0]
                return (
                    f"has one and the same value for all assessments of each {owner}, so it cannot be told from the "
                    f"{what}"
                )
        return "follows from objects, assessors and the other covariates, so its effect cannot be told from theirs"
