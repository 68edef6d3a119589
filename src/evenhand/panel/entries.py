"""Checked assessments in arrays, and what becomes of those that stand twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats, compiled, sum_by, wants_loops
from evenhand.errors import InputError, Problem
from evenhand.panel.column import RowCodes
from evenhand.panel.confidence import Form
from evenhand.panel.rules import Duplicates, shortened
from evenhand.words import argument, name_some, remark

RowNumbersOf: TypeAlias = Callable[[NDArray[np.int64]], list[int]]
"""Tells the row numbers of some assessments."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Checked assessments in arrays: what a panel is made of."""

    objects: Sequence[str]
    assessors: Sequence[str]
    object_index: RowCodes
    assessor_index: RowCodes
    score: Floats
    precision: Floats
    form: Form
    notes: tuple[Problem, ...]
    steps: tuple[float, float] | None = None  # of a scale of levels that were numbers, least sure first
    level_words: Mapping[str, float] = field(default_factory=dict)  # and the power of factor^2 that each stands for
    score_words: Mapping[str, float] = field(default_factory=dict)
    criterion: NDArray[np.str_] | None = None
    covariates: dict[str, NDArray[Any]] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = None  # in which each stands, where there are few
    turned: float | None = None  # scores of which the lowest was the best are this less the score that stood there


def settle_duplicates(entries: Entries, duplicates: Duplicates, numbers_of: RowNumbersOf, most: int | None) -> Entries:
    """Refuse, keep or combine assessments of the same object by the same assessor, for the same criterion."""
    rows, group = _repeated(entries)
    if not rows.size:
        return entries
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)  # groups in order of appearance
    group, first = np.argsort(order)[group], rows[first[order]]
    if duplicates == "error":
        listed = [_duplicate(entries, same, numbers_of) for same in _together(rows, group, most)]
        raise shortened(listed, first.size, most)
    more = rows.size - first.size
    extra = remark("1 repeated assessment" if more == 1 else "{count} repeated assessments", count=f"{more:,}")
    if duplicates == "keep":
        note = Problem("duplicate", remark("{extra} kept as separate assessments.", extra=extra))
        return replace(entries, notes=(*entries.notes, note))
    if duplicates == "last":
        last = np.zeros(first.size, np.int64)
        last[group] = rows  # of several for one place, numpy keeps the last
        return _only(entries, rows, last, remark("{extra} replaced by the one that stands last.", extra=extra))
    _refuse_differing(entries, rows, group, numbers_of)
    weight = entries.precision[rows]
    total = sum_by(group, weight, first.size)
    for column in (entries.score, *entries.covariates.values()):
        if column.dtype.kind == "f":
            # as a step from the first number, so that equal ones stay what they are to the last digit
            step = weight * (column[rows] - column[first][group])
            column[first] += sum_by(group, step, first.size) / total
    equal = entries.form == "none"  # scores that all weigh alike go on weighing alike
    if not equal:
        entries.precision[first] = total
    what = remark("scores and covariates" if entries.covariates else "scores")
    how = remark("mean of the {what}" if equal else "weighted mean of the {what}, confidences added", what=what)
    message = remark(
        "{extra} combined with the first of the same object by the same assessor ({how})."
        if entries.criterion is None
        else "{extra} combined with the first of the same object by the same assessor for the same criterion ({how}).",
        extra=extra,
        how=how,
    )
    return _only(entries, rows, first, message)


def _only(entries: Entries, repeated: NDArray[np.int64], chosen: NDArray[np.int64], message: str) -> Entries:
    """Keep of repeated assessments the chosen ones, and say so."""
    kept = np.ones(entries.score.size, np.bool_)
    kept[repeated] = False
    kept[chosen] = True
    score = entries.score[kept]
    equal = np.broadcast_to(np.float64(1.0), score.shape).view()  # kept once, however many
    return replace(
        entries,
        object_index=entries.object_index[kept],
        assessor_index=entries.assessor_index[kept],
        score=score,
        precision=equal if entries.form == "none" else entries.precision[kept],
        notes=(*entries.notes, Problem("duplicate", message)),
        criterion=None if entries.criterion is None else entries.criterion[kept],
        covariates={name: cells[kept] for name, cells in entries.covariates.items()},
        rows=None if entries.rows is None else entries.rows[kept],
    )


def _repeated(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the assessments whose pair, for their criterion, occurs again, and a number for each such pair."""
    n_objects, n_assessors = len(entries.objects), len(entries.assessors)
    one, other = entries.object_index, entries.assessor_index
    if entries.criterion is not None:
        criteria, of_criterion = np.unique(entries.criterion, return_inverse=True)
        one = np.unique(one.astype(np.int64) * criteria.size + of_criterion, return_inverse=True)[1]
        n_objects = int(one.max()) + 1
    if not wants_loops(one.size):
        rows = np.arange(one.size)
    else:  # only members of the smaller side in which something is repeated are looked at closely
        small, large = (one, other) if n_objects < n_assessors else (other, one)
        sizes = sorted((n_objects, n_assessors))
        rows = np.flatnonzero(compiled(_groups_with_repeats)(small, large, *sizes)[small])
    pair = one[rows].astype(np.int64) * n_assessors + other[rows]
    _, group, size = np.unique(pair, return_inverse=True, return_counts=True)
    chosen = np.flatnonzero(size[group] > 1)
    return rows[chosen], group[chosen]


def _groups_with_repeats(group: Any, member: Any, n_groups: int, n_members: int) -> Any:
    """Say of every group whether a pair (group, member) occurs twice, in time linear in the number of rows.

    For 100 million rows this takes 0.4 GB beside the codes and a fifth of the time that sorting them takes, or asking
    polars for the number of different pairs.
    """
    begin = np.zeros(n_groups + 1, np.int64)
    for i in range(group.size):
        begin[group[i] + 1] += 1
    for g in range(n_groups):
        begin[g + 1] += begin[g]
    place = begin[:-1].copy()
    sorted_member = np.empty(member.size, np.uint32)
    for i in range(group.size):
        g = group[i]
        sorted_member[place[g]] = member[i]
        place[g] += 1
    seen = np.zeros(n_members, np.uint32)
    found = np.zeros(n_groups, np.bool_)
    for g in range(n_groups):
        for i in range(begin[g], begin[g + 1]):
            m = sorted_member[i]
            found[g] |= seen[m] == g + 1
            seen[m] = g + 1
    return found


def _together(rows: NDArray[np.int64], group: NDArray[np.int64], most: int | None = None) -> list[NDArray[np.int64]]:
    """Return rows, those of one group together."""
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    return np.split(rows[order], cuts)[:most]


def _refuse_differing(
    entries: Entries, rows: NDArray[np.int64], group: NDArray[np.int64], numbers_of: RowNumbersOf
) -> None:
    """Refuse to combine assessments whose covariates are different categories."""
    found: list[tuple[int, Problem]] = []
    for name, cells in entries.covariates.items():
        if cells.dtype.kind == "f":
            continue
        for same in _together(rows, group):
            texts = list(dict.fromkeys(cells[same].tolist()))
            if len(texts) > 1:
                message = remark(
                    "{scored} with different {name} ({texts}), so these scores cannot be combined: correct the file, "
                    "or choose duplicates keep ({keep}).",
                    scored=_scored(entries, same),
                    name=name,
                    texts=name_some(list(map(repr, texts))),
                    keep=argument("duplicates", "keep"),
                )
                found.append((int(same[0]), Problem("bad_covariate", message, _listed(numbers_of(same)))))
    if found:
        raise InputError([problem for _, problem in sorted(found, key=lambda item: item[0])])


def _duplicate(entries: Entries, rows: NDArray[np.int64], numbers_of: RowNumbersOf) -> Problem:
    message = remark(
        "{scored}: correct the file, or choose duplicates keep (separate assessments, {keep}) or combine (their "
        "weighted mean, {combine}).",
        scored=_scored(entries, rows),
        keep=argument("duplicates", "keep"),
        combine=argument("duplicates", "combine"),
    )
    return Problem("duplicate", message, _listed(numbers_of(rows)))


def _scored(entries: Entries, rows: NDArray[np.int64]) -> str:
    """Return who scored what how often."""
    first = rows[0]
    return remark(
        "assessor {assessor} scored object {object} {times}"
        if entries.criterion is None
        else "assessor {assessor} scored object {object} {times} for criterion {criterion}",
        assessor=entries.assessors[int(entries.assessor_index[first])],
        object=entries.objects[int(entries.object_index[first])],
        times=remark("twice" if rows.size == 2 else "{count} times", count=rows.size),
        criterion=None if entries.criterion is None else entries.criterion[first],
    )


def _listed(numbers: Sequence[int]) -> str:
    *most, last = map(str, numbers)
    return remark("rows {rows} and {last}", rows=", ".join(most), last=last)
