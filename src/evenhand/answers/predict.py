"""Predictions: what score an assessor would give an object, with an interval, in every model that has a noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from evenhand import frames
from evenhand.answers.heldout import cell_of
from evenhand.compiled import Codes, Floats
from evenhand.errors import InputError, NotRankableError
from evenhand.models.fit import Fit
from evenhand.models.predictive import Predictive, Rows
from evenhand.panel.confidence import level_words, precision_of_level, precision_of_uncertainty
from evenhand.panel.headings import SYNONYMS, Role, fold
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text, parse_number

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit

Pairs = Mapping[str, Sequence[Any]] | Iterable[tuple[Any, Any]] | Any
"""A frame or a mapping with columns ``object`` and ``assessor``, or pairs (assessor, object)."""

_PAIR: Final = 2


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(frames.Shown):
    """Scores that have not been given, as a fit expects them.

    Attributes
    ----------
    object, assessor
        Labels of each.
    criterion
        The criterion of each; None where the fit has none.
    expected
        The expected score, in points.
    lower, upper
        Ends of the interval of the score, with the probability of the fit's intervals.
    interval
        That probability.
    distributions
        For each criterion (one, where there are none) positions in this table, and the distribution of the scores.
    backend
        The kind of frame that tables come back as.
    """

    rows = "prediction"

    object: tuple[str, ...]
    assessor: tuple[str, ...]
    criterion: tuple[str, ...] | None
    interval: float
    distributions: tuple[tuple[Codes, Predictive], ...]
    backend: frames.Backend = frames.DEFAULT_BACKEND

    def _each(self, ask: Callable[[Predictive, Codes], Floats]) -> Floats:
        """Return what the distributions say, in the order of the table."""
        found = np.empty(len(self.object))
        for place, one in self.distributions:
            found[place] = ask(one, place)
        return found

    @cached_property
    def expected(self) -> Floats:
        """The expected scores."""
        return self._each(lambda one, _: one.mean)

    @cached_property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return self._each(lambda one, _: one.quantile((1 - self.interval) / 2))

    @cached_property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return self._each(lambda one, _: one.quantile((1 + self.interval) / 2))

    def probability(self, score: ArrayLike) -> Floats:
        """Return the probability that each score is recorded as this one, or as one of its own from an array.

        Recorded scores lie on a grid, such as whole points: the probabilities of all scores on it add up to 1. Where
        the panel's scores lie on none, this is the probability of a cell far narrower than the noise.
        """
        wanted = np.broadcast_to(np.asarray(score, dtype=np.float64), (len(self.object),))
        return self._each(lambda one, place: one.probability(wanted[place]))

    def below(self, score: ArrayLike) -> Floats:
        """Return the probability that each score is at most this one, or one of its own from an array."""
        wanted = np.broadcast_to(np.asarray(score, dtype=np.float64), (len(self.object),))
        return self._each(lambda one, place: one.below(wanted[place]))

    def columns(self) -> dict[str, Any]:
        """Return the table as columns."""
        criterion = {} if self.criterion is None else {"criterion": list(self.criterion)}
        numbers = {name: getattr(self, name) for name in ("expected", "lower", "upper")}
        return {"object": list(self.object), "assessor": list(self.assessor), **criterion, **numbers}


def predict(fit: Fit | CriteriaFit, pairs: Pairs) -> Predictions:
    """Return what score each assessor would give each object, with an interval.

    The interval allows for everything that is not known: the value, the bias, variances of the model where they were
    estimated, and the noise of a score. A model with priors also predicts objects and assessors that the panel has not
    seen; averages take an assessor whom they have not seen for any other.

    Parameters
    ----------
    fit
        A fit by any method that has a noise; of several criteria, every criterion is predicted.
    pairs
        A frame or a mapping with columns ``object`` and ``assessor``, or pairs (assessor, object). How sure the
        assessor would be may stand in a column ``uncertainty``, ``confidence`` or ``level``, as it was declared in
        the panel (typical of the panel, where it does not); covariates of the model in columns of their names (average
        conditions, where they do not); the criterion in a column ``criterion``.

    Raises
    ------
    InputError
        If a label is not known to a model without priors, or the object and the assessor of a pair are in groups that
        cannot be compared.
    NotRankableError
        If the scores leave nothing over to estimate the noise from.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> panel = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3], [0, 1] * 3 + [0], [60.0, 70, 50, 62, 40, 47, 55])
    >>> print(predict(calibrate(panel), [("1", "3")]))
    Predictions of 1 prediction
    object  assessor  expected  lower  upper
         3         1     64.67  56.18  73.15
    """
    table = _table(pairs)
    labels = {side: _labels(table, side) for side in ("object", "assessor")}
    if not fit.fits:
        made = _distribution(fit.combined, labels, table, slice(None))
        place = np.arange(len(labels["object"]))
        return _made(fit, labels, None, ((place, made),))
    criterion = _criteria(fit, table, len(labels["object"]))
    if criterion is None:  # every criterion of every pair
        count = len(fit.criteria)
        labels = {side: [label for label in own for _ in range(count)] for side, own in labels.items()}
        table = {name: [cell for cell in cells for _ in range(count)] for name, cells in table.items()}
        criterion = [*fit.criteria] * (len(labels["object"]) // count)
    found = []
    for label in dict.fromkeys(criterion):
        place = np.flatnonzero(np.array(criterion) == label)
        found.append((place, _distribution(fit.fits[label], labels, table, place)))
    return _made(fit, labels, tuple(criterion), tuple(found))


def _made(
    fit: Fit | CriteriaFit,
    labels: Mapping[str, Sequence[str]],
    criterion: tuple[str, ...] | None,
    distributions: tuple[tuple[Codes, Predictive], ...],
) -> Predictions:
    interval = fit.combined.values.interval
    return Predictions(
        tuple(labels["object"]), tuple(labels["assessor"]), criterion, interval, distributions, fit.backend
    )


def _distribution(
    fit: Fit, labels: Mapping[str, Sequence[str]], table: Mapping[str, Sequence[Any]], place: Codes | slice
) -> Predictive:
    """Return the distribution of some of the scores, by the fit of one criterion."""
    fit.require("predict")
    if fit.posterior.noise.cdf(0.0) is None:
        raise NotRankableError(f"There is nothing to predict scores by: {fit.posterior.noise.reason}.")
    panel = fit.panel
    chosen = np.arange(len(labels["object"]))[place].tolist()
    objects, assessors = ([labels[side][at] for at in chosen] for side in ("object", "assessor"))
    columns = {name: [cells[at] for at in chosen] for name, cells in table.items()}
    rows = Rows(
        objects,
        assessors,
        _positions(panel.objects, objects),
        _positions(panel.assessors, assessors),
        _precision(panel, columns, len(chosen)),
        {name: cells for name, cells in columns.items() if name in panel.covariates},
    )
    _refuse_turned(panel, rows)
    _refuse_groups(fit, rows)
    return Predictive(fit.model.predict(fit, rows), cell_of(panel, [fit.model]))


def _table(pairs: Pairs) -> dict[str, list[Any]]:
    """Return the columns of whatever was given."""
    if isinstance(pairs, Mapping):
        table = {str(name): list(cells) for name, cells in pairs.items()}
        if len({len(cells) for cells in table.values()}) > 1:
            raise InputError("The columns of pairs must be of the same length.", kind="bad_shape")
        return table
    if isinstance(pairs, Sequence) or not hasattr(pairs, "columns"):
        listed = [tuple(pair) for pair in pairs]
        if any(len(pair) != _PAIR for pair in listed):
            raise InputError("A pair is (assessor, object).", kind="bad_shape")
        return {"assessor": [pair[0] for pair in listed], "object": [pair[1] for pair in listed]}
    names = frames.column_names(pairs)
    return dict(zip(names, frames.read_columns(pairs, names), strict=True))


def _named(table: Mapping[str, Sequence[Any]], role: Role) -> Sequence[Any] | None:
    """Return the column that goes by the name of a role."""
    return next((cells for name, cells in table.items() if fold(name) in SYNONYMS[role]), None)


def _labels(table: Mapping[str, Sequence[Any]], side: Role) -> list[str]:
    cells = _named(table, side)
    if cells is None:
        message = f"There is no column of {side}s among {', '.join(table)}: name one of them {side}."
        raise InputError(message, kind="missing_column")
    return [label_text(cell) for cell in cells]


def _criteria(fit: Fit | CriteriaFit, table: Mapping[str, Sequence[Any]], count: int) -> list[str] | None:
    """Return the criterion of each pair, where there is such a column."""
    if "criterion" not in table:
        return None
    found = [label_text(cell) for cell in table["criterion"]]
    for label in found:
        if label not in fit.fits:
            message = f"There is no criterion {label!r}: the criteria are {', '.join(fit.criteria)}."
            raise InputError(message, kind="unknown_criterion")
    return found[:count]


def _positions(known: Sequence[str], labels: Sequence[str]) -> Codes:
    position = {label: at for at, label in enumerate(known)}
    return np.array([position.get(label, -1) for label in labels], dtype=np.int64)


def _precision(panel: Panel, table: Mapping[str, Sequence[Any]], count: int) -> Floats:
    """Return the precision that each assessor would declare; that typical of the panel where nothing is said."""
    own = {name: cells for name, cells in table.items() if name not in panel.covariates}
    for role in ("level", "uncertainty", "confidence"):
        cells = _named(own, role)
        if cells is None:
            continue
        words = level_words()
        powers = [words.get(str(cell).strip().casefold()) for cell in cells]
        if role != "uncertainty" and panel.factor is not None and None not in powers:
            return precision_of_level(np.array(powers, dtype=np.int64), panel.factor)
        if role == "level" and panel.factor is None:
            message = f"The panel has {panel.describe_confidence()}, so that a level of confidence has no size."
            raise InputError(message, kind="bad_confidence")
        numbers = np.array([parse_number(cell) or np.nan for cell in cells], dtype=np.float64)
        wrong = np.flatnonzero(np.array([one is None for one in powers]) if role == "level" else ~(numbers > 0))
        if wrong.size or not np.isfinite(numbers).all():
            at = int(wrong[0]) if wrong.size else int(np.argmin(np.isfinite(numbers)))
            what = "a level: high, medium or low" if role == "level" else "a positive number"
            raise InputError(f"{cells[at]!r} is not {what}.", kind="bad_confidence", where=f"{role}[{at}]")
        return precision_of_uncertainty(numbers) if role == "uncertainty" else numbers
    return np.full(count, float(np.exp(np.log(panel.precision).mean())))


def _refuse_turned(panel: Panel, rows: Rows) -> None:
    """Refuse pairs whose assessor is an object of the panel, and whose object is an assessor."""
    objects, assessors = set(panel.objects), set(panel.assessors)
    unseen = np.flatnonzero((rows.object_index < 0) & (rows.assessor_index < 0))
    for at in unseen.tolist():
        if rows.objects[at] in assessors and rows.assessors[at] in objects:
            message = (
                f"{rows.objects[at]} is an assessor of the panel and {rows.assessors[at]} an object: pairs are "
                "(assessor, object)."
            )
            raise InputError(message, kind="unknown_label")


def _refuse_groups(fit: Fit, rows: Rows) -> None:
    """Refuse a pair across groups, each of which was calibrated on its own."""
    of_values, of_biases = fit.values.component[rows.object_index], fit.biases.component[rows.assessor_index]
    apart = np.flatnonzero((rows.object_index >= 0) & (rows.assessor_index >= 0) & (of_values != of_biases))
    if apart.size:
        at = int(apart[0])
        message = (
            f"Object {rows.objects[at]} is in group {of_values[at] + 1} and assessor {rows.assessors[at]} in group "
            f"{of_biases[at] + 1}, which were calibrated each on its own: what one would give the "
            "other is not known. refine(panel, shrink=True) compares groups through priors."
        )
        raise InputError(message, kind="not_comparable", where=f"object {rows.objects[at]}")
