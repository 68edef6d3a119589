"""Why a value differs from the plain average: what each assessor's standard, confidence and refinements contribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any, Final, Literal, overload

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats, sum_by
from evenhand.frames import Shown
from evenhand.models.fit import Fit
from evenhand.words import called, count_of, decimals, name_some, number, phrase, together

MOST_PARTS: Final = 6
"""An explanation has no more parts than this: the smallest standards of assessors are taken together."""

_SIDES: Final = 2000
"""Up to this many assessors, or objects, it is asked whether a bias may be none: that takes their intervals."""

_NOTHING: Final = 1e-6
"""A part of less than this of the last digit shown is rounding."""

_NOISE_WORDS: Final = {
    "student": "outlying scores count less",
    "huber": "outlying scores count less",
    "rounded": "scores stand for what they were rounded from",
    "logit": "points count for more near the ends of the scale",
    "rational": "points count for more near the ends of the scale",
    "log": "scores are compared by ratio",
    "ordinal-probit": "categories are no even steps",
    "ordinal-logit": "categories are no even steps",
    "medians": "the middle score counts, not the mean",
}
"""What a refinement, by its name in that of the method, does to scores themselves."""

Kind = Literal["strict", "generous", "other", "lone", "confidence", "covariates", "scales", "noise", "prior"]


@dataclass(frozen=True, slots=True)
class Part:
    """One contribution to the difference between a value and the plain average.

    Attributes
    ----------
    words, brief
        What it is, in full (``"Jansen is strict: undo −12.7, at a weight of 75%"``) and for a sentence.
    amount
        What it adds, rounded as it is shown: such amounts add up to the difference as it is shown.
    kind
        ``"strict"``, ``"generous"``, ``"other"``, ``"lone"``, ``"confidence"``, ``"prior"``, ``"covariates"``,
        ``"scales"`` or ``"noise"``.
    short
        What it is in a word or two, for a line that has all of them.
    """

    words: str
    brief: str
    amount: float
    kind: Kind
    short: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """Why one object's value differs from its plain average; the parts add up to the difference.

    Attributes
    ----------
    object, value, average, difference
        The object, its value, the plain mean of its scores, and value less average.
    standards
        For each of its assessors, in the order of its scores: label, bias, and what undoing the bias adds, -q b.
    weighting
        What weighing scores by confidence instead of alike adds, and leaving out those of assessors who scored nothing
        else.
    digits
        Decimals that are shown: one, and more where scores spread over less than ten points.
    drawn
        What priors, scales, covariates, medians and the map of a refined model add; 0 for the four methods.
    move
        The difference as it is shown: the value as shown, less the average as shown.
    parts
        At most six contributions in words, standards of assessors first; their amounts, as shown, add up to ``move``.
    """

    object: str
    value: float
    average: float
    difference: float
    standards: tuple[tuple[str, float, float], ...]
    weighting: float
    digits: int = 1
    drawn: float = 0.0
    move: float = 0.0
    parts: tuple[Part, ...] = ()

    def columns(self) -> dict[str, Any]:
        """Return the parts of the assessors' standards as columns: assessor, bias, part."""
        cells = zip(*self.standards, strict=True)
        return {name: list(column) for name, column in zip(("assessor", "bias", "part"), cells, strict=True)}

    def __str__(self) -> str:
        reasons = ", ".join(f"{part.brief} ({_signed(part.amount, self.digits)})" for part in self.parts)
        return f"{_signed(self.move, self.digits)}: {reasons or phrase('nothing to undo')}"


@overload
def explain(fit: Fit) -> list[Explanation]: ...
@overload
def explain(fit: Fit, label: str) -> Explanation: ...
def explain(fit: Fit, label: str | None = None) -> list[Explanation] | Explanation:
    """Return for each object, or for the one of that label, why its value differs from its plain average.

    With q = c/C_o, v_o = sum q (s - b), so that v_o less the mean score is the sum of -q b over its assessors
    plus the sum of (q - 1/n) s: an identity, exact up to rounding. Biases are those of the fit's gauge. A score of an
    assessor who scored nothing else fixes the bias of that assessor alone: it has q = 0, and the others tell the value.
    With a refined model q is what each score weighs after all, and what is left is named too.

    Examples
    --------
    >>> import evenhand as eh
    >>> fit = eh.calibrate(eh.demo())
    >>> print(explain(fit, "P32"))
    +18.2: Jansen is strict (+9.6), Farouk is strict (+4.8), the surer score counts more (+3.8)
    >>> explain(fit, "P32").parts[0].words
    'Jansen is strict: undo −12.7, at a weight of 75.4%'
    """
    fit.require("explain")
    work = _Work.of(fit)
    if label is not None:
        return work.explanation(fit.values.index_of(label))
    return [work.explanation(at) for at in range(fit.panel.n_objects)]


def lone_scores(fit: Fit) -> NDArray[np.bool_]:
    """Return which scores fix the bias of their assessor and tell nothing of their object, which others tell.

    Those of assessors who scored nothing else, where nothing but scores says how large a bias is.
    """
    panel = fit.panel
    if not (fit.is_calibrated and fit.model.is_plain):
        return np.zeros(panel.n_assessments, dtype=bool)
    alone = panel.assessor_assessments[panel.assessor_index] == 1
    told = _by_object(fit, np.where(alone, 0.0, 1.0)) > 0
    return np.asarray(alone & told[panel.object_index])


def explanation_columns(explanations: list[Explanation]) -> dict[str, Any]:
    """Return explanations as columns: object, value, average, difference, standards, weighting, drawn, reason."""
    return {
        "object": [item.object for item in explanations],
        "value": [item.value for item in explanations],
        "average": [item.average for item in explanations],
        "difference": [item.difference for item in explanations],
        "standards": [sum(part for _, _, part in item.standards) for item in explanations],
        "weighting": [item.weighting for item in explanations],
        "drawn": [item.drawn for item in explanations],
        "reason": [str(item) for item in explanations],
    }


@dataclass(frozen=True, eq=False)
class _Work:
    """What the explanations of all objects share: numbers for each object, and the scores of each."""

    fit: Fit
    digits: int
    average: Floats  # plain means
    difference: Floats
    weighting: Floats  # what all weights add
    confidence: Floats  # what confidence alone adds
    without: Floats  # what leaving out scores that tell nothing adds
    lone: NDArray[np.bool_]  # these scores
    drawn: Floats
    share: Floats  # q of each score
    steps: dict[Kind, Floats]  # what refinements add, for each object on the scale of the model
    order: NDArray[np.int64]  # scores by object
    starts: NDArray[np.int64]  # where each object's scores start in that order
    like_panel: NDArray[np.bool_]  # assessors whose interval of the bias holds 0
    said: dict[int, tuple[Kind, str, str]] = field(default_factory=dict)  # sides and biases of assessors, in words

    @classmethod
    def of(cls, fit: Fit) -> _Work:
        panel = fit.panel
        origin = float(np.median(panel.score))
        centred = panel.score - origin
        average = _by_object(fit, centred) / panel.object_assessments
        lone = lone_scores(fit)
        share = _shares(fit, np.where(lone, 0.0, fit.weight))
        declared = share if fit.precision is None else _shares(fit, np.where(lone, 0.0, fit.precision))
        about = centred - average[panel.object_index]
        every = 1.0 / panel.object_assessments[panel.object_index]
        alike = _shares(fit, np.where(lone, 0.0, 1.0))
        weighting = _by_object(fit, (share - every) * about)
        difference = (fit.values.estimate - origin) - average
        undone = -_by_object(fit, share * fit.biases.estimate[panel.assessor_index])
        return cls(
            fit=fit,
            digits=decimals(float(np.ptp(panel.score))),
            average=average + origin,
            difference=difference,
            weighting=weighting,
            confidence=_by_object(fit, (declared - alike) * about),
            without=_by_object(fit, (alike - every) * about),
            lone=lone,
            drawn=np.zeros(panel.n_objects) if fit.model.is_plain else difference - weighting - undone,
            share=share,
            steps=_refinement_steps(fit, share),
            order=np.argsort(panel.object_index, kind="stable"),
            starts=np.concatenate([[0], np.cumsum(panel.object_assessments)]),
            like_panel=_like_panel(fit),
        )

    def explanation(self, at: int) -> Explanation:
        fit, panel = self.fit, self.fit.panel
        rows = self.order[self.starts[at] : self.starts[at + 1]]
        who, share = panel.assessor_index[rows].tolist(), self.share[rows].tolist()
        standards = tuple(
            (panel.assessors[a], float(fit.biases.estimate[a]), -q * float(fit.biases.estimate[a]))
            for a, q in zip(who, share, strict=True)
        )
        value, average = float(fit.values.estimate[at]), float(self.average[at])
        exact = self._parts(at, rows)
        parts, move = _shown(exact, value, average, self.digits)
        return Explanation(
            object=panel.objects[at],
            value=value,
            average=average,
            difference=float(self.difference[at]),
            standards=standards,
            weighting=float(self.weighting[at]),
            digits=self.digits,
            drawn=float(self.drawn[at]),
            move=move,
            parts=parts,
        )

    def _parts(self, at: int, rows: NDArray[np.int64]) -> list[Part]:
        """Return the contributions to one value as they are, not rounded, in the order in which they are shown."""
        biases, descent = self.fit.biases.estimate, _Descent(self.fit, at)
        amounts: dict[Kind, float] = {"lone": float(self.without[at]), "confidence": float(self.confidence[at])}
        amounts |= {kind: descent.down(float(step[at])) for kind, step in self.steps.items()}
        weight: dict[int, float] = {}
        for a, q in zip(self.fit.panel.assessor_index[rows].tolist(), self.share[rows].tolist(), strict=True):
            weight[a] = weight.get(a, 0.0) + q
        undone = {a: descent.down(-q * float(biases[a])) for a, q in weight.items()}
        if not self.fit.model.is_plain:  # what is left is what the model does to scores themselves
            amounts["noise"] = float(self.difference[at]) - sum(undone.values()) - sum(amounts.values())
        least = _NOTHING * 10.0**-self.digits
        largest = sorted((a for a in undone if abs(undone[a]) > least), key=lambda a: -abs(undone[a]))
        lone = name_some([called(one, "assessor", is_bare=True) for one in self._lone(rows)])
        others = [
            Part(*self._said(kind, rows), one, kind, lone if kind == "lone" else _short(kind))
            for kind, one in amounts.items()
            if abs(one) > least
        ]
        return [
            *_together([self._standard(a, weight[a], undone[a]) for a in largest], MOST_PARTS - len(others)),
            *others,
        ]

    def _standard(self, assessor: int, weight: float, amount: float) -> Part:
        if assessor not in self.said:
            label = called(self.fit.panel.assessors[assessor], "assessor")
            bias = float(self.fit.biases.estimate[assessor])
            side: Kind = "strict" if bias < 0 else "generous"
            brief = phrase("{who} is strict", who=label) if bias < 0 else phrase("{who} is generous", who=label)
            if self.like_panel[assessor]:
                side, brief = "other", phrase("{who} is like the panel", who=label)
                if self.fit.biases.component.max():
                    brief = phrase("{who} is like the group", who=label)
            self.said[assessor] = side, brief, _signed(bias, self.digits)
        side, brief, bias_words = self.said[assessor]
        words = phrase(
            "{standard}: undo {bias}, at a weight of {weight}",
            standard=brief,
            bias=bias_words,
            weight=weight_words(weight),
        )
        short = called(self.fit.panel.assessors[assessor], "assessor", is_bare=True)
        return Part(words, brief, amount, side, short)

    def _said(self, kind: Kind, rows: NDArray[np.int64]) -> tuple[str, str]:
        """Return what a contribution that is no standard is, in full and for a sentence."""
        if kind == "confidence":
            return self._confidence_words(rows[~self.lone[rows]])
        if kind == "lone":
            brief = phrase("{who} scored nothing else", who=together(self._lone(rows), "assessor"))
            left = phrase("the score is left out") if self.lone[rows].sum() == 1 else phrase("the scores are left out")
            return f"{brief}: {left}", brief
        return _noise_words(self.fit.method) if kind == "noise" else _step_words(kind)

    def _lone(self, rows: NDArray[np.int64]) -> list[str]:
        """Return who of those who scored an object scored nothing else."""
        return [str(self.fit.panel.assessors[at]) for at in self.fit.panel.assessor_index[rows[self.lone[rows]]]]

    def _confidence_words(self, rows: NDArray[np.int64]) -> tuple[str, str]:
        """Return what confidence did: of two scores, which counts more."""
        fit, panel = self.fit, self.fit.panel
        if rows.size != 2:
            return (phrase("surer scores count more"),) * 2
        brief = phrase("the surer score counts more")
        precision = fit.weight if fit.precision is None else fit.precision
        sure, unsure = sorted(rows.tolist(), key=lambda row: -float(precision[row]))
        first, second = (panel.assessor_index[row] for row in (sure, unsure))
        scores = [f"{panel.score[row]:.10g}".replace("-", "−") for row in (sure, unsure)]
        if first == second:
            return brief, brief
        told = {"who": called(panel.assessors[first], "assessor"), "more": scores[0], "less": scores[1]}
        if fit.model.is_plain:
            return phrase("{who} was surer, so {more} counts more than {less}", **told), brief
        return phrase("{who} counts as surer, so {more} counts more than {less}", **told), brief


def _short(kind: Kind) -> str:
    """Return what a contribution that is no standard is, in a word or two."""
    words: dict[Kind, str] = {
        "confidence": phrase("confidence"),
        "prior": phrase("pulled towards the mean"),
        "covariates": phrase("covariates"),
        "scales": phrase("spreads"),
    }
    return words.get(kind, phrase("the method"))


def _step_words(kind: Kind) -> tuple[str, str]:
    """Return what a step of a refined model is, in full and for a sentence."""
    if kind == "prior":
        return phrase("pulled towards the mean, since few scores say little"), phrase("pulled towards the mean")
    if kind == "covariates":
        return (phrase("covariates are taken out"),) * 2
    return (
        phrase("assessors who spread their scores more or less are put on one scale"),
        phrase("spreads are put on one scale"),
    )


def _like_panel(fit: Fit) -> NDArray[np.bool_]:
    """Return which assessors are neither strict nor generous, as far as the scores tell; of a large panel, none."""
    biases = fit.biases
    if not fit.is_calibrated or min(fit.panel.n_objects, fit.panel.n_assessors) > _SIDES:
        return np.zeros(fit.panel.n_assessors, dtype=bool)
    if biases.lower is None or biases.upper is None:
        return np.zeros(fit.panel.n_assessors, dtype=bool)
    return np.asarray((biases.lower <= 0) & (biases.upper >= 0))


def _refinement_steps(fit: Fit, share: Floats) -> dict[Kind, Floats]:
    """Return what prior, covariates and scales add to each value on the scale of the model; nothing for plain methods.

    A score's place is v + b + covariates + what its assessor's scale stretches + residual. Without a prior of values
    the residuals of an object, as far as the noise model believes them, add up to nothing.
    """
    if fit.model.behind is None:
        return {}
    panel, work, node = fit.panel, fit.model.behind.work, fit.model.behind.best
    of_covariates = np.zeros(panel.n_assessments)
    if work.columns is not None:
        of_covariates = np.asarray(work.columns @ node.coefficients, dtype=np.float64)
    place = fit.values.latent[panel.object_index] + fit.biases.latent[panel.assessor_index] + of_covariates
    stretched = work.panel.score - node.residuals - place
    has_scales = node.setting.scale_ratio is not None
    given: dict[Kind, Floats] = {"prior": node.residuals + node.aim, "covariates": of_covariates}
    if has_scales:
        given["scales"] = stretched
    return {kind: -_by_object(fit, share * each) for kind, each in given.items()}


class _Descent:
    """The way from a value down to its scores, in points, by steps on the scale of the model."""

    def __init__(self, fit: Fit, at: int) -> None:
        self.scale, self.place = fit.values.scale, float(fit.values.latent[at])

    def down(self, step: float) -> float:
        """Return what a step that led up to here adds in points, and go down by it."""
        if self.scale is None:
            return step
        ends = self.scale.back(np.array([self.place, self.place - step]))
        self.place -= step
        return float(ends[0] - ends[1])


def _noise_words(method: str) -> tuple[str, str]:
    """Return what a model does to scores themselves, in full and for a sentence."""
    found = dict.fromkeys(phrase(_NOISE_WORDS[name]) for name in method.split("+") if name in _NOISE_WORDS)
    words = phrase(" and ").join(found) or phrase("what else the model assumes")
    return words, words


def _together(standards: Sequence[Part], most: int) -> list[Part]:
    """Return the largest standards, and the smaller ones in one where there are more than may be shown."""
    if len(standards) <= most:
        return list(standards)
    kept, rest = standards[: most - 1], standards[most - 1 :]
    amount = sum(part.amount for part in rest)
    words = count_of(len(rest), "other assessor" if kept else "assessor")
    full = phrase("{assessors}: undo their standards", assessors=words)
    return [*kept, Part(full, words, amount, "strict" if amount > 0 else "generous", words)]


def _shown(parts: Sequence[Part], value: float, average: float, digits: int) -> tuple[tuple[Part, ...], float]:
    """Return parts rounded so that they lead from the average as shown to the value as shown, and that difference.

    Those that come to nothing are left out.
    """
    unit = 10**digits
    aim = _units(value, digits) - _units(average, digits) if parts else 0
    pairs = zip(parts, _whole_parts([part.amount * unit for part in parts], aim), strict=True)
    shown = (replace(part, amount=one / unit) for part, one in pairs if one)
    return tuple(shown), aim / unit


def _whole_parts(amounts: Sequence[float], aim: int) -> list[int]:
    """Return amounts as whole numbers that add up to an aim, by largest remainders.

    All are rounded down, and those that lost most get the units that are wanting.

    Examples
    --------
    >>> _whole_parts([197.6, 197.6, 604.8], 1000)
    [198, 197, 605]
    """
    units = [floor(one) for one in amounts]
    lost = sorted(range(len(units)), key=lambda at: units[at] - amounts[at])
    each, wanting = divmod(aim - sum(units), len(units) or 1)
    for place, at in enumerate(lost):
        units[at] += each + (place < wanting)
    return units


def _units(amount: float, digits: int) -> int:
    """Return an amount as it is printed, as a whole number of the last digit."""
    return int(f"{amount:.{digits}f}".replace(".", ""))


def _signed(amount: float, digits: int) -> str:
    return number(amount, digits, signed=True, minus="−", in_sentence=True)


def weight_words(weight: float) -> str:
    """Return the part of a score in the weight of its object, as every page writes it: equal ones read equal."""
    return f"{number(100 * min(1.0, weight), 1)}%"


def _shares(fit: Fit, weight: Floats) -> Floats:
    """Return the part of each score in the weight of its object."""
    return np.asarray(weight / _by_object(fit, weight)[fit.panel.object_index])


def _by_object(fit: Fit, numbers: Floats) -> Floats:
    return sum_by(fit.panel.object_index, numbers, fit.panel.n_objects)
