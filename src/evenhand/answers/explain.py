"""Why a value differs from the plain average: what each assessor's standard, confidence and refinements contribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
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

_CENTRAL: Final = 0.01
"""Residuals below this many standard deviations of the noise are too small to divide a pull by."""

_EXACT: Final = 1e-6
"""A value that differs from a weighted mean by more than this part of the spread of all scores is another one."""

_ALIKE: Final = 1e-9
"""Weights that differ by no more than this are alike."""

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
    "criteria": "each criterion weighs its own scores",
}
"""What a refinement, by its name in that of the method, does to scores themselves."""

_NOISE_SHORT: Final = {
    "student": "outliers",
    "huber": "outliers",
    "rounded": "rounding",
    "logit": "ends of the scale",
    "rational": "ends of the scale",
    "log": "ratios",
    "ordinal-probit": "categories",
    "ordinal-logit": "categories",
    "medians": "medians",
    "criteria": "criteria",
}
"""The same in a word or two."""

Kind = Literal["strict", "generous", "other", "lone", "confidence", "covariates", "scales", "noise", "prior"]


@dataclass(frozen=True, slots=True)
class Part:
    """One contribution to the difference between a value and the plain average.

    Attributes
    ----------
    words, brief
        What it is, in full (``"Jansen is strict: undo −12.7 in 1 of 2 scores"``) and for a sentence.
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
        For each of its assessors, in the order of its scores: label, bias, and what undoing the bias adds, -b/n.
    weighting
        What weighing scores less biases instead of taking all alike adds: by confidence and by how far outlying they
        are; with what leaving out scores of assessors who scored nothing else adds.
    digits
        Decimals that are shown: one, and more where scores spread over less than ten points.
    drawn
        What priors, scales, covariates, medians and the map of a refined model add; 0 for the four methods.
    move
        The difference as it is shown: the value as shown, less the average as shown.
    parts
        At most six contributions in words, standards of assessors first; their amounts, as shown, add up to ``move``.
    weights, mean
        What each of its scores weighs, in the same order, and the mean by these weights of its scores less biases: the
        parts before the first of covariates, spreads and prior lead from the average to it, the others from it to the
        value. None where a value is no such mean: with bounded and log scores, ordered categories and medians.
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
    weights: tuple[float, ...] | None = None
    mean: float | None = None

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

    With q = c/C_o, v_o = sum q (s - b), so that v_o less the mean score is the sum of -b/n over its n assessors plus
    the sum of (q - 1/n) (s - b): an identity, exact up to rounding. Standards are undone first, all scores alike; then
    confidence moves the value only as far as scores less biases still differ. Biases are those of the fit's gauge. A
    score of an assessor who scored nothing else fixes the bias of that assessor alone: it is left out before all else,
    and the others tell the value. With a refined model q is what each score weighs after all (`score_weights`), and
    what is left is named too.

    Examples
    --------
    >>> import evenhand as eh
    >>> fit = eh.calibrate(eh.demo())
    >>> print(explain(fit, "P32"))
    +18.2: Farouk is strict (+9.7), Jansen is strict (+6.4), the surer score counts more (+2.1)
    >>> explain(fit, "P32").parts[0].words
    'Farouk is strict: undo −19.4 in 1 of 2 scores'
    """
    fit.require("explain")
    work = _Work.of(fit)
    if label is not None:
        return work.explanation(fit.values.index_of(label))
    return [work.explanation(at) for at in range(fit.panel.n_objects)]


def has_free_biases(fit: Fit) -> bool:
    """Return whether nothing but scores says how large a bias is."""
    search = fit.model.behind
    return fit.is_calibrated and (fit.model.is_plain or (search is not None and search.best.setting.bias_ratio is None))


def lone_scores(fit: Fit) -> NDArray[np.bool_]:
    """Return which scores fix the bias of their assessor and tell nothing of their object, which others tell.

    Those of assessors who scored nothing else, where nothing but scores says how large a bias is.
    """
    panel = fit.panel
    if not has_free_biases(fit):
        return np.zeros(panel.n_assessments, dtype=bool)
    alone = panel.assessor_assessments[panel.assessor_index] == 1
    told = _by_object(fit, np.where(alone, 0.0, 1.0)) > 0
    return np.asarray(alone & told[panel.object_index])


def score_weights(fit: Fit) -> Floats | None:
    """Return the part of each score in the mean, of its object's scores less biases, that its value comes from.

    A score pulls at the value of its object by a force f, and the forces of all scores and of the prior balance. Of
    normal noise f = c r with the residual r; an outlying score pulls less, and its weight is f/r. Where assessors have
    scales, lambda (v - m) + m + b is compared with the score, and the force on v is lambda f. So v is the mean of
    s - b with weights lambda f/r, and what covariates, scales and the prior add: an identity again. That is not the
    weight of the normal score that stands for an outlying one in the last fit, which has another target too.

    None where values come from no such mean: bounded and log scores, ordered categories, medians, several criteria.
    """
    if fit.model.why_not("explain") is not None:
        return None
    found = _weighing(fit)
    return found.share if found.is_mean else None


def lost_weights(fit: Fit) -> Floats:
    """Return what each score loses of its part in the value because outlying or rounded scores count less."""
    found = _weighing(fit)
    return np.asarray(found.declared - found.share)


@dataclass(frozen=True, eq=False)
class _Weighing:
    """What each score weighs, as parts of the weight of its object."""

    share: Floats  # after all
    declared: Floats  # before outlying or rounded scores count less
    is_mean: bool  # whether values come from means by these weights


def _weighing(fit: Fit) -> _Weighing:
    lone, search = lone_scores(fit), fit.model.behind
    precision = fit.weight if fit.precision is None else fit.precision

    def shares(weight: Floats, *, is_mean: bool, before: Floats = precision) -> _Weighing:
        share, declared = (_shares(fit, np.where(lone, 0.0, one)) for one in (weight, before))
        return _Weighing(share, declared, is_mean)

    if search is None and fit.model.is_plain:
        plain = shares(fit.weight, is_mean=True)
        less = fit.panel.score - fit.biases.estimate[fit.panel.assessor_index]
        off = _by_object(fit, plain.share * less) - fit.values.estimate  # averages of criteria may be others
        return replace(plain, is_mean=bool(np.abs(off).max() <= _EXACT * float(np.ptp(fit.panel.score) or 1.0)))
    if search is None or fit.values.scale is not None:
        return shares(fit.weight, is_mean=False)
    node = search.best
    weight = node.weight
    if not node.setting.likelihood.is_normal:
        is_central = np.abs(node.residuals) <= _CENTRAL * np.sqrt(node.w / node.precision)
        force = node.weight * (node.residuals + node.aim)
        weight = np.where(is_central, node.weight, force / np.where(is_central, 1.0, node.residuals))
        if not (weight > 0).all():  # the sites of scores that contradict each other did not come to rest
            return shares(fit.weight, is_mean=False)
    stretch = np.exp(node.log_scale)[fit.panel.assessor_index]
    return shares(weight * stretch, is_mean=True, before=precision * stretch)


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
    undone: Floats  # what undoing the bias of its assessor in each score adds, all that count alike
    bias: Floats  # of each score, in points
    weighting: Floats  # what all weights add
    confidence: Floats  # what confidence alone adds
    without: Floats  # what leaving out scores that tell nothing adds
    lone: NDArray[np.bool_]  # these scores
    drawn: Floats
    noise: Floats  # what less weight of outlying or rounded scores adds
    weighing: _Weighing  # q of each score
    mean: Floats  # of scores less biases, by these
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
        weighing = _weighing(fit)
        share, declared = weighing.share, weighing.declared
        about = centred - average[panel.object_index]
        bias = _bias_in_points(fit)
        every = 1.0 / panel.object_assessments[panel.object_index]
        alike = _shares(fit, np.where(lone, 0.0, 1.0))
        without = _by_object(fit, (alike - every) * about)
        weighting = without + _by_object(fit, (share - alike) * (about - bias))
        difference = (fit.values.estimate - origin) - average
        undone = -alike * fit.biases.estimate[panel.assessor_index]
        mean = weighting + _by_object(fit, undone)
        return cls(
            fit=fit,
            digits=decimals(float(np.ptp(panel.score))),
            average=average + origin,
            difference=difference,
            undone=undone,
            bias=bias,
            weighting=weighting,
            confidence=_by_object(fit, (declared - alike) * (about - bias)),
            without=without,
            lone=lone,
            drawn=np.zeros(panel.n_objects) if fit.model.is_plain else difference - mean,
            noise=_by_object(fit, (share - declared) * (about - bias)),
            weighing=weighing,
            mean=average + origin + mean,
            steps=_refinement_steps(fit, weighing),
            order=np.argsort(panel.object_index, kind="stable"),
            starts=np.concatenate([[0], np.cumsum(panel.object_assessments)]),
            like_panel=_like_panel(fit),
        )

    def explanation(self, at: int) -> Explanation:
        fit, panel = self.fit, self.fit.panel
        rows = self.order[self.starts[at] : self.starts[at + 1]]
        who, share = panel.assessor_index[rows].tolist(), self.weighing.share[rows].tolist()
        standards = tuple(
            (panel.assessors[a], float(fit.biases.estimate[a]), undone)
            for a, undone in zip(who, self.undone[rows].tolist(), strict=True)
        )
        value, average = float(fit.values.estimate[at]), float(self.average[at])
        before, after = self._parts(at, rows)
        mean = value if not after else float(self.mean[at]) if before else average
        parts, move = _shown((before, after), (average, mean, value), self.digits)
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
            weights=tuple(share) if self.weighing.is_mean else None,
            mean=mean if self.weighing.is_mean else None,
        )

    def _parts(self, at: int, rows: NDArray[np.int64]) -> tuple[list[Part], list[Part]]:
        """Return the contributions to one value as they are, not rounded, in the order in which they are shown.

        First those that lead to the weighted mean of its scores less biases, where it comes from one, then the others.
        """
        descent = _Descent(self.fit, at)
        amounts: dict[Kind, float] = {"lone": float(self.without[at]), "confidence": float(self.confidence[at])}
        steps = {kind: descent.down(float(step[at])) for kind, step in self.steps.items()}
        steps_of: dict[int, float] = {}
        counted: dict[int, int] = {}
        for a, row in zip(self.fit.panel.assessor_index[rows].tolist(), rows.tolist(), strict=True):
            steps_of[a] = steps_of.get(a, 0.0) + float(self.undone[row])
            counted[a] = counted.get(a, 0) + int(not self.lone[row])
        undone = {a: descent.down(step) for a, step in steps_of.items()}
        after: dict[Kind, float] = {}
        if self.weighing.is_mean:
            amounts["noise"], after = float(self.noise[at]), steps
        else:  # what is left is what the model does to scores themselves
            amounts |= steps
            amounts["noise"] = float(self.difference[at]) - sum(undone.values()) - sum(amounts.values())
        least = _NOTHING * 10.0**-self.digits
        largest = sorted((a for a in undone if abs(undone[a]) > least), key=lambda a: -abs(undone[a]))
        others, last = (
            [Part(*self._said(kind, rows), one, kind, self._short(kind, rows)) for kind, one in some.items()]
            for some in ({kind: one for kind, one in each.items() if abs(one) > least} for each in (amounts, after))
        )
        standards = [self._standard(a, counted[a], sum(counted.values()), undone[a]) for a in largest]
        return [*_together(standards, MOST_PARTS - len(others) - len(last)), *others], last

    def _standard(self, assessor: int, count: int, scores: int, amount: float) -> Part:
        if assessor not in self.said:
            label = called(self.fit.panel.assessors[assessor], "assessor")
            bias = float(self.fit.biases.estimate[assessor])
            side: Kind = "strict" if bias < 0 else "generous"
            brief = phrase("{who} is strict", who=label) if bias < 0 else phrase("{who} is generous", who=label)
            if self.like_panel[assessor]:
                side, brief = "other", phrase("{who} is not clearly generous", who=label)
                if bias < 0:
                    brief = phrase("{who} is not clearly strict", who=label)
            self.said[assessor] = side, brief, _signed(bias, self.digits)
        side, brief, bias_words = self.said[assessor]
        told = {"standard": brief, "bias": bias_words}
        if not self.weighing.is_mean:
            words = phrase("{standard}: bias {bias}", **told)
        elif scores == 1:
            words = phrase("{standard}: undo {bias}", **told)
        else:
            words = phrase("{standard}: undo {bias} in {count} of {scores} scores", **told, count=count, scores=scores)
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
        return _noise_words(self.fit) if kind == "noise" else _step_words(kind)

    def _lone(self, rows: NDArray[np.int64]) -> list[str]:
        """Return who of those who scored an object scored nothing else."""
        return [str(self.fit.panel.assessors[at]) for at in self.fit.panel.assessor_index[rows[self.lone[rows]]]]

    def _confidence_words(self, rows: NDArray[np.int64]) -> tuple[str, str]:
        """Return what confidence did: of two scores, which counts more, or would where something else outweighs it."""
        fit, panel, declared, share = self.fit, self.fit.panel, self.weighing.declared[rows], self.weighing.share[rows]
        order = np.lexsort((-share, -declared))  # of those alike the heavier first: then weights must fall all along
        is_so = self.weighing.is_mean and bool((np.diff(share[order]) <= _ALIKE).all())
        if rows.size != 2 and is_so:
            return (phrase("surer scores count more"),) * 2
        if rows.size != 2:
            return phrase("by confidence alone surer scores would count more"), phrase("some scores were surer")
        sure, unsure = rows[order].tolist()
        first, second = (panel.assessor_index[row] for row in (sure, unsure))
        scores = [self._less(row) for row in (sure, unsure)]
        told = {"who": called(panel.assessors[first], "assessor"), "more": scores[0], "less": scores[1]}
        if not is_so:
            alone = phrase("by confidence alone {more} would count more than {less}", **told)
            return alone, phrase("one score was surer")
        brief = phrase("the surer score counts more")
        if first == second:
            return brief, brief
        if fit.model.is_plain:
            return phrase("{who} was surer, so {more} counts more than {less}", **told), brief
        return phrase("{who} counts as surer, so {more} counts more than {less}", **told), brief

    def _less(self, row: int) -> str:
        """Return a score less its bias, as it stands in a table beside the bias as shown."""
        score = float(self.fit.panel.score[row])
        if not self.fit.is_calibrated:
            return f"{score:.10g}".replace("-", "−")
        less = score - float(f"{self.bias[row]:.{self.digits}f}")
        return number(less, self.digits, minus="−", in_sentence=True)

    def _short(self, kind: Kind, rows: NDArray[np.int64]) -> str:
        """Return what a contribution that is no standard is, in a word or two."""
        if kind == "lone":
            return name_some([called(one, "assessor", is_bare=True) for one in self._lone(rows)])
        words: dict[Kind, str] = {
            "confidence": phrase("confidence"),
            "prior": phrase("pulled towards the mean"),
            "covariates": phrase("covariates"),
            "scales": phrase("spreads"),
        }
        return words.get(kind) or _of_noise(self.fit, _NOISE_SHORT) or phrase("the method")


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


def _bias_in_points(fit: Fit) -> Floats:
    """Return by how many points the bias of its assessor moves each score, about the value of its object."""
    panel = fit.panel
    if fit.values.scale is None:
        return np.asarray(fit.biases.estimate[panel.assessor_index])
    place = fit.values.latent[panel.object_index]
    moved = place + fit.biases.latent[panel.assessor_index]
    return np.asarray(fit.values.scale.back(moved) - fit.values.scale.back(place))


def _like_panel(fit: Fit) -> NDArray[np.bool_]:
    """Return which assessors are neither strict nor generous, as far as the scores tell; of a large panel, none."""
    biases = fit.biases
    if not fit.is_calibrated or min(fit.panel.n_objects, fit.panel.n_assessors) > _SIDES:
        return np.zeros(fit.panel.n_assessors, dtype=bool)
    if biases.lower is None or biases.upper is None:
        return np.zeros(fit.panel.n_assessors, dtype=bool)
    return np.asarray((biases.lower <= 0) & (biases.upper >= 0))


def _refinement_steps(fit: Fit, weighing: _Weighing) -> dict[Kind, Floats]:
    """Return what covariates, scales and prior add to each value on the scale of the model; nothing for plain methods.

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
    given: dict[Kind, Floats] = {"covariates": of_covariates}
    if node.setting.scale_ratio is not None:
        given["scales"] = work.panel.score - node.residuals - place
    if node.setting.value_ratio is not None:
        given["prior"] = node.residuals if weighing.is_mean else node.residuals + node.aim
    return {kind: -_by_object(fit, weighing.share * each) for kind, each in given.items()}


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


def _noise_words(fit: Fit) -> tuple[str, str]:
    """Return what a model does to scores themselves, in full and for a sentence."""
    words = _of_noise(fit, _NOISE_WORDS) or phrase("what else the model assumes")
    return words, words


def _of_noise(fit: Fit, words: dict[str, str]) -> str:
    """Return what the refinements of a method do to scores themselves, in some words; empty where they do nothing."""
    names = ["criteria"] if fit.model.is_plain else fit.method.split("+")
    return phrase(" and ").join(dict.fromkeys(phrase(words[name]) for name in names if name in words))


def _together(standards: Sequence[Part], most: int) -> list[Part]:
    """Return the largest standards, and the smaller ones in one where there are more than may be shown."""
    if len(standards) <= most:
        return list(standards)
    kept, rest = standards[: most - 1], standards[most - 1 :]
    amount = sum(part.amount for part in rest)
    words = count_of(len(rest), "other assessor" if kept else "assessor")
    full = phrase("{assessors}: undo their standards", assessors=words)
    return [*kept, Part(full, words, amount, "strict" if amount > 0 else "generous", words)]


def _shown(stages: Sequence[Sequence[Part]], ends: Sequence[float], digits: int) -> tuple[tuple[Part, ...], float]:
    """Return parts rounded so that those of each stage lead from one end as shown to the next, and the whole way.

    Those that come to nothing are left out.
    """
    unit, shown, way = 10**digits, [], 0
    for parts, begin, end in zip(stages, ends[:-1], ends[1:], strict=True):
        if not parts:
            continue
        aim = _units(end, digits) - _units(begin, digits)
        pairs = zip(parts, _whole_parts([part.amount * unit for part in parts], aim), strict=True)
        shown += [replace(part, amount=one / unit) for part, one in pairs if one]
        way += aim
    return tuple(shown), way / unit


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


def weight_words(shares: Sequence[float]) -> list[str]:
    """Return the parts of scores in the weight of their object, as every page writes them.

    They add up to 100%, but where equal ones would not read equal.

    Examples
    --------
    >>> weight_words([0.1976, 0.1976, 0.6048]), weight_words([0.2, 0.4666, 0.3334])
    (['19.8%', '19.8%', '60.5%'], ['20.0%', '46.7%', '33.3%'])
    """
    return [_percent(one) for one in _tenths(shares)]


def _tenths(shares: Sequence[float]) -> list[int]:
    """Return parts of a whole in tenths of a percent."""
    units = _whole_parts([1000 * one for one in shares], 1000)
    order = sorted(range(len(shares)), key=lambda at: shares[at])
    pairs = pairwise(order)
    if any(shares[two] - shares[one] <= _ALIKE and units[one] != units[two] for one, two in pairs):
        return [round(1000 * one) for one in shares]
    return units


def _percent(tenths: int) -> str:
    return f"{number(tenths / 10, 1)}%"


def _shares(fit: Fit, weight: Floats) -> Floats:
    """Return the part of each score in the weight of its object."""
    return np.asarray(weight / _by_object(fit, weight)[fit.panel.object_index])


def _by_object(fit: Fit, numbers: Floats) -> Floats:
    return sum_by(fit.panel.object_index, numbers, fit.panel.n_objects)
