"""What the pictures that check a fit show: numbers, the finding and notes, before anything draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.compare import Comparison, r_squared
from evenhand.answers.heldout import leverages
from evenhand.answers.influence import influence as find_influence
from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError, bad_option
from evenhand.models.average import CWA
from evenhand.models.fit import Fit, method_name
from evenhand.panel.panel import Panel
from evenhand.plots import labels
from evenhand.plots.labels import MOST_POINTS, Codes
from evenhand.words import count_of, decimals, plural, sentence

_BINS: Final = 40
_MOST_ROWS: Final = 14
"""Up to this many assessors are shown beside the scatter plot, as names have room in a report; of more, the widest."""

_MOST_ENDS: Final = 40
"""Up to this many assessors are shown by themselves; of more, those at the two ends."""

_MOST_PULLS: Final = 20
_LEAST_FREEDOM: Final = 1.0
"""Spread is not estimated from fewer degrees of freedom."""

_MOST_METHODS: Final = 5
_ALIKE: Final = 0.995
"""With squared correlations from this on, methods hardly differ."""


@dataclass(frozen=True, eq=False, slots=True)
class Residuals:
    """Scores less what the fit expects.

    Attributes
    ----------
    fitted, residual
        Of each score.
    cells
        Of more scores than are drawn one by one, how many lie in each cell of a lattice, and the edges of its columns
        and rows; else None.
    assessors, quantiles
        The assessors whose spread is shown, the widest first, and the 5, 25, 50, 75 and 95 % points of each.
    title, meaning, notes
        What there is to see, what a residual is, and what is left out.
    """

    fitted: Floats
    residual: Floats
    cells: tuple[Floats, Floats, Floats] | None
    assessors: Codes
    quantiles: Floats
    title: str
    meaning: str
    notes: list[str]

    @property
    def what(self) -> str:
        """What kind of picture it is, and of how much."""
        return f"Scatter plot of {count_of(self.residual.size, 'residual')}, and their spread by assessor"


def residuals(fit: Fit) -> Residuals:
    """Return the residuals of a fit, and their spread by assessor."""
    panel, fitted = fit.panel, fit.fitted
    residual = panel.score - fitted
    quantiles = _quantiles(residual, panel.assessor_index, panel.n_assessors)
    order = np.argsort(quantiles[:, 3] - quantiles[:, 1], kind="stable")[::-1]
    kept = order[:_MOST_ROWS]
    at = int(np.argmax(np.abs(residual)))
    largest = labels.number(float(residual[at]), decimals(float(np.ptp(panel.score))), signed=True)
    unsure = ", given with less confidence than most" if panel.precision[at] < np.median(panel.precision) else ""
    title = f"The largest residual is {largest} points: {_assessment(panel, at)}{unsure}"
    if labels.is_nothing(residual, panel.score):
        title = "The fit meets every score: no residuals are left"
    return Residuals(
        fitted=fitted,
        residual=residual,
        cells=None if panel.n_assessments <= MOST_POINTS else np.histogram2d(fitted, residual, bins=_BINS),
        assessors=kept,
        quantiles=quantiles[kept],
        title=title,
        meaning=f"Residual: score less what {fit.name} expects.",
        notes=[f"{count_of(order.size - kept.size, 'assessor')} with less spread left out."]
        if kept.size < order.size
        else [],
    )


def _quantiles(numbers: Floats, index: NDArray[Any], count: int) -> Floats:
    """Return the 5, 25, 50, 75 and 95 % points of the numbers of each index (count x 5)."""
    order = np.argsort(index, kind="stable")
    parts = np.split(numbers[order], np.cumsum(np.bincount(index, minlength=count))[:-1])
    return np.array([np.quantile(part, [0.05, 0.25, 0.5, 0.75, 0.95]) for part in parts])


def _assessment(panel: Panel, at: int) -> str:
    """Return an assessment for a sentence: who on what."""
    who = labels.drawable(panel.assessors)[panel.assessor_index[at]]
    what = labels.drawable(panel.objects)[panel.object_index[at]]
    return f"{labels.named(who, 'assessor')} on {labels.named(what, panel.noun)}"


@dataclass(frozen=True, eq=False, slots=True)
class Pulls:
    """What each score did to the value of its object.

    Attributes
    ----------
    pull, error, leverage
        Of each score: the value with it less the value without it, the score less what the others predict, and how far
        it draws its own fitted score; not a number where no other score can check it.
    first, drawn
        The scores that pulled most, and all that are drawn, by how far they pulled.
    title, told_first, told_drawn, notes
        What there is to see, what both of these are, and what is left out.
    """

    pull: Floats
    error: Floats
    leverage: Floats
    first: Codes
    drawn: Codes
    title: str
    told_first: str
    told_drawn: str
    notes: list[str]

    @property
    def what(self) -> str:
        """What kind of picture it is, and of how much."""
        return f"Bar chart of the largest pulls and scatter plot of {count_of(self.drawn.size, 'score')}"


def influence(fit: Fit) -> Pulls:
    """Return what each score did, those that pulled most first."""
    found = find_influence(fit)
    table = found.columns()
    pull, error = (np.array(table[name], dtype=np.float64) for name in ("pull", "held_out_error"))
    usable = np.flatnonzero(np.isfinite(pull) & np.isfinite(error))
    if not usable.size:
        raise InputError(
            "No score here can be predicted from the others, so there is no telling what each one did.",
            kind="not_connected",
        )
    panel = fit.panel
    order = usable[np.argsort(-np.abs(pull[usable]), kind="stable")]
    drawn, most = order[:MOST_POINTS], order[0]
    by = labels.number(float(pull[most]), decimals(float(np.ptp(panel.score))), signed=True)
    title = f"The score that did most: {_assessment(panel, most)} pulled the value by {by} points"
    if labels.is_nothing(pull[usable], panel.score):
        title = f"No score pulled the value of its {panel.noun} anywhere: all agree"
    bridges = panel.n_assessments - usable.size
    return Pulls(
        pull=pull,
        error=error,
        leverage=found.leverage,
        first=order[:_MOST_PULLS],
        drawn=drawn,
        title=title,
        told_first=f"the {min(order.size, _MOST_PULLS)} scores that pulled their {plural(panel.noun)} most: the value "
        "with the score less the value without it",
        told_drawn="every score" if drawn.size == order.size else f"the {drawn.size:,} with the largest pull",
        notes=[f"{count_of(bridges, 'score')} that no other can check left out."] if bridges else [],
    )


@dataclass(frozen=True, eq=False, slots=True)
class Spread:
    """Declared confidence beside the actual spread of the residuals, by level or by assessor.

    Attributes
    ----------
    by
        What rows are: levels, in points, or assessors, as multiples of what they declared.
    names, declared, actual, lower, upper, counts
        Of each row, with the ends of the interval of its spread and the number of its scores.
    between
        How many assessors between the two halves of the rows are left out.
    reach
        Where the picture ends.
    unit
        What spread is measured in.
    title, notes
        What there is to see, and what to know of it.
    """

    by: Literal["level", "assessor"]
    names: list[str]
    declared: Floats
    actual: Floats
    lower: Floats
    upper: Floats
    counts: Codes
    between: int
    reach: float
    unit: str
    title: str
    notes: list[str]

    @property
    def kinds(self) -> list[str]:
        """How each row spreads beside what was declared."""
        ends = zip(self.lower > self.declared, self.upper < self.declared, strict=True)
        return [KINDS[0] if is_more else KINDS[2] if is_less else KINDS[1] for is_more, is_less in ends]


KINDS: Final = ("spread more than declared", "as declared", "spread less than declared")
"""How scores may spread."""


def confidence(
    fit: Fit, *, by: Literal["level", "assessor"] | None = None, finding: str = "", is_aside: bool = False
) -> Spread:
    """Return declared confidence beside the actual spread of the residuals.

    The residual r of a score has the variance w (1 - h)/c, h being its leverage, so that the sum of c r^2 over that of
    1 - h estimates the factor w of a level, or of an assessor, on its own.

    Parameters
    ----------
    fit
        Any fit with residuals.
    by
        ``"level"`` or ``"assessor"``; by level where levels differ.
    finding
        The title, where it is known what confidence is worth; else what the intervals say.
    is_aside
        Whether nothing but this picture rests on the fit.
    """
    panel = fit.panel
    kinds = labels.declared_kinds(panel)
    if by not in (None, "level", "assessor"):
        raise bad_option(f"Confidence can be shown by level or by assessor, not by {by!r}.")
    if by == "level" and len(kinds.names) == 1:
        raise bad_option(
            "All scores have the same declared confidence, so there are no levels to compare: use by='assessor'."
        )
    fit.require("spread")
    by = by or ("level" if len(kinds.names) > 1 else "assessor")
    slack = 1 - leverages(fit)
    squares = panel.precision * np.square(fit.residuals)
    freedom = float(slack.sum())
    nothing = freedom < _LEAST_FREEDOM or labels.is_nothing(panel.score - fit.fitted, panel.score)
    index, count = (kinds.index, len(kinds.names)) if by == "level" else (panel.assessor_index, panel.n_assessors)
    left = sum_by(index, slack, count)
    kept = np.flatnonzero(left >= _LEAST_FREEDOM)
    if nothing or not kept.size:
        raise InputError("There are no residuals whose spread could be compared with what was declared.", kind="thin")
    level = 1.0 if panel.confidence == "uncertainty" else float(squares.sum() / freedom)
    ratio = np.sqrt(sum_by(index, squares, count)[kept] / left[kept] / level)
    ratios = np.stack([ratio, *_ratio_ends(ratio, left[kept], fit.values.interval)])
    number_of = np.bincount(index, minlength=count)[kept]
    few = np.flatnonzero(left < _LEAST_FREEDOM)
    relative = "Declared confidences are relative: taken together they fit by construction."
    notes = [
        "" if panel.confidence == "uncertainty" else relative,
        f"Bars are {labels.percent(fit.values.interval)} intervals.",
    ]
    if by == "level":
        left_out = ", ".join(labels.chosen(kinds.names, few))
        notes.append(f"Too few scores to tell, and left out: {left_out}." if few.size else "")
        sd = np.sqrt(sum_by(index, level / panel.precision, count)[kept] / number_of)
        is_free = "+power" in fit.model.method
        notes.append(_worth_note(is_aside=is_aside) if is_free else "")
        notes.append("" if fit.model.uses_confidence else "For this check alone all scores count alike, however sure.")
        return _by_level(fit, labels.chosen(kinds.names, kept), sd, ratios, number_of, notes, finding)
    notes.append(f"{count_of(few.size, 'assessor')} with too few scores left out." if few.size else "")
    names = labels.chosen(labels.drawable(panel.assessors), kept)
    return _by_assessor(names, ratios, number_of, fit.values.interval, notes, finding)


def _worth_note(*, is_aside: bool) -> str:
    """Return what says how much confidence counts."""
    if is_aside:
        return "In this picture alone the scores say how much confidence counts; no other number rests on that."
    return "How much confidence counts is taken from the scores."


def _edge_note(upper: Floats, far: float) -> str:
    return "A bar that reaches the edge of the picture goes on beyond it." if upper.max() > far else ""


def _ratio_ends(ratio: Floats, freedom: Floats, interval: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals of standard deviations, by chi-square."""
    from scipy.special import chdtri

    tail = (1 - interval) / 2
    return ratio * np.sqrt(freedom / chdtri(freedom, tail)), ratio * np.sqrt(freedom / chdtri(freedom, 1 - tail))


def _by_level(
    fit: Fit, names: list[str], sd: Floats, ratios: Floats, counts: Codes, notes: list[str], finding: str
) -> Spread:
    actual, lower, upper = ratios * sd
    most = float(max(sd.max(), actual.max()))
    far = max(1.05 * min(float(upper.max()), 2 * most), 1.1 * most)  # no point lies on the frame
    ratio, low, high = ratios
    off = np.flatnonzero((low > 1) | (high < 1))
    title = "No clear sign that scores spread other than declared"
    if off.size:
        at = int(off[np.argmax(np.abs(np.log(ratio[off])))])
        title = f"Scores declared “{names[at]}” spread {ratio[at]:.2f} times as far as declared"
    spread = "Spread is of the noise alone; from what all others predict, which errs too, scores are further off."
    alone = "Each bar is of its level alone; the title goes by all scores together."
    return Spread(
        by="level",
        names=names,
        declared=sd,
        actual=actual,
        lower=lower,
        upper=upper,
        counts=counts,
        between=0,
        reach=far,
        unit="points" if fit.values.scale is None else "units of the model's scale",
        title=finding or title,
        notes=[spread, *notes, alone if finding and off.size else "", _edge_note(upper, far)],
    )


def _by_assessor(
    names: list[str], ratios: Floats, counts: Codes, interval: float, notes: list[str], finding: str
) -> Spread:
    order = np.argsort(-ratios[0], kind="stable")
    half = _MOST_ENDS // 2
    kept = order if order.size <= _MOST_ENDS else np.concatenate([order[:half], order[-half:]])
    ratio, lower, upper = ratios[:, kept]
    far = float(max(ratio.max() * 1.3, 2.0))
    notes = [*notes, _edge_note(upper, far)]
    more, less = int((ratios[1] > 1).sum()), int((ratios[2] < 1).sum())
    title = "No assessor's scores spread clearly more or less than declared"
    if more or less:
        way = "more" if more else "less"
        title = f"The scores of {count_of(more or less, 'assessor')} spread {way} than declared"
        title += f", those of {less:,} less" if more and less else ""
        chance = round((1 - interval) * order.size)
        if chance:
            notes.append(f"Chance alone puts about {chance:,} of {order.size:,} intervals to one side of the line.")
    if kept.size < order.size:
        notes = [*notes, f"Shown are the {kept.size} at the ends, of {order.size:,} assessors."]
    return Spread(
        by="assessor",
        names=labels.chosen(names, kept),
        declared=np.ones(kept.size),
        actual=ratio,
        lower=lower,
        upper=upper,
        counts=counts[kept],
        between=order.size - kept.size,
        reach=far,
        unit="multiples of what was declared",
        title=finding or title,
        notes=notes,
    )


@dataclass(frozen=True, eq=False, slots=True)
class Agreement:
    """Methods against each other.

    Attributes
    ----------
    fits
        One for each method.
    pairs
        Which two are set against each other, by their places among the fits, with the squared correlation of their
        values; None where values do not vary.
    members
        The objects that are drawn.
    title, notes
        What there is to see, and what to know of it.
    """

    fits: list[Fit]
    pairs: list[tuple[int, int, float | None]]
    members: Codes
    title: str
    notes: list[str]

    @property
    def what(self) -> str:
        """What kind of picture it is, and of how much."""
        known = sum(r2 is not None for *_, r2 in self.pairs)
        count = count_of(self.fits[0].panel.n_objects, "object")
        return f"Scatter plots of {count} for {count_of(known, 'pair')} of methods"


def agreement(comparison: Comparison, beside: Fit | None = None) -> Agreement:
    """Return every two methods of a comparison, or each of them and the fit that they are set against."""
    wanted = {"sa", "cwa", "iba", "cwc", comparison.recommendation.method}
    rows = [row for row in comparison.methods if row.method in wanted]
    known_as = {row.fit.name: row.fit for row in rows if row.fit is not None}  # one where confidence says nothing
    if beside is not None:
        known_as = {beside.name: beside} | {name: fit for name, fit in known_as.items() if name != beside.name}
    if len(known_as) > _MOST_METHODS:  # what is recommended is told of before one more average
        known_as = {name: fit for name, fit in known_as.items() if fit is beside or fit.model != CWA}
    fits = list(known_as.values())[:_MOST_METHODS]
    missing = [method_name(row.method, comparison.panel.confidence) for row in rows if row.fit is None]
    if len(fits) < 2:
        raise InputError("There is only one method in this comparison: there is nothing to set it beside.", kind="thin")
    pairs = [
        (by, at, r_squared(fits[by].values.estimate, fits[at].values.estimate))
        for at in range(1, len(fits))
        for by in range(at if beside is None else 1)
    ]
    every = np.arange(len(fits[0].values.labels))
    notes = [
        "Values in points, one method against another; on the dashed line both give the same.",
        f"Without values, and left out: {', '.join(missing)}." if missing else "",
        labels.thin_note([every]),
        "Groups that cannot be compared are drawn together here."
        if any(fit.values.component.max() > 0 for fit in fits)
        else "",
    ]
    return Agreement(fits, pairs, labels.thin(every), _agreement_words(fits, pairs, beside is not None), notes)


def _agreement_words(fits: list[Fit], pairs: list[tuple[int, int, float | None]], is_beside: bool) -> str:
    """Return which methods agree least and most, with each other or with the one used, of those that are drawn."""
    known = {(fits[by].name, fits[at].name): r2 for by, at, r2 in pairs if r2 is not None}
    if not known:
        return "The methods cannot be compared: values do not vary"
    if all(is_same(fits[0].values.estimate, fit.values.estimate) for fit in fits[1:]):
        return f"{_these(fits)} give the same values"
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    if known[low] >= _ALIKE:
        return f"{_these(fits)} give nearly the same values (R² {floor(1000 * known[low]) / 1000:.3f} or more)"
    if low == high:
        return f"{sentence(_pair(low))} agree with R² {known[low]:.2f}"
    if is_beside:
        least, most = _pair([low[1]]), _pair([high[1]])
        return (
            f"Of these methods {least} agrees least with the method used (R² {known[low]:.2f}), {most} most "
            f"(R² {known[high]:.2f})"
        )
    return (
        f"Of these {len(fits)} methods {_pair(low)} agree least (R² {known[low]:.2f}), {_pair(high)} most "
        f"(R² {known[high]:.2f})"
    )


def _these(fits: Sequence[Fit]) -> str:
    """Return two methods by name, or how many are drawn."""
    return sentence(_pair([one.name for one in fits])) if len(fits) == 2 else f"These {len(fits)} methods"


def _pair(names: Sequence[str]) -> str:
    """Return two methods for a sentence: in quotation marks where a name has a comma."""
    return " and ".join(f"“{name}”" if "," in name else name for name in names)


def is_same(one: Floats, two: Floats) -> bool:
    """Say whether two methods give the same values, up to rounding."""
    return float(np.abs(one - two).max()) <= 1e-9 * max(float(np.ptp(one)), float(np.abs(one).max()))
