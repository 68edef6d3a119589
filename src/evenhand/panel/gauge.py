"""Degeneracy-breaking conditions: where zero bias lies, for v + k and b - k fit as well as v and b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.compiled import Codes, Floats, Whole, sum_by
from evenhand.errors import InputError
from evenhand.panel.graph import Components
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference gauge, sum_ao c_ao (v_o - b_a) = C v: a fixed notional mean; the tightest bounds (App. B).

    Attributes
    ----------
    value
        The notional mean value.
    """

    value: float

    def __str__(self) -> str:
        return f"reference({self.value:g})"


@dataclass(frozen=True, slots=True)
class Affine:
    """Any affine condition on the biases, sum_a beta_a b_a = gamma, with weights whose sum is not zero (App. B).

    Attributes
    ----------
    beta
        Weights in the order of the panel's assessors, or a mapping from their labels (others weigh nothing).
    gamma
        The constant.
    """

    beta: Sequence[float] | Floats | Mapping[str, float]
    gamma: float = 0.0

    def __str__(self) -> str:
        return "affine"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A trusted assessor whose bias is known, or objects whose values are known.

    With several objects the mean of their values equals the mean of the known values.

    Attributes
    ----------
    assessor
        Label of the trusted assessor.
    bias
        The trusted assessor's bias.
    values
        Known values by the labels of their objects.
    """

    assessor: str | None = None
    bias: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.assessor is None) == (not self.values):
            raise InputError("An anchor needs either an assessor or objects with known values.", kind="bad_gauge")

    def __str__(self) -> str:
        return f"anchor:{self.assessor if self.assessor is not None else ','.join(map(str, self.values))}"


Gauge = Literal["weighted", "zero_sum", "zero-sum"] | Reference | Affine | Anchor
"""What fixes the level of the biases; rankings and differences between values do not depend on it.

``"zero-sum"``, as the command line spells it, is ``"zero_sum"``.
"""


@dataclass(frozen=True, slots=True)
class Share:
    """Weights that a gauge gives to one side: ``by_confidence`` times total confidence, plus ``even``."""

    by_confidence: float = 0.0
    even: float = 0.0

    def of(self, confidence: Floats) -> Floats:
        """Return the weights of members with these total confidences."""
        if not self.by_confidence:
            return np.full(confidence.shape, self.even)
        return self.by_confidence * confidence + self.even


def shares(gauge: Gauge) -> tuple[Share, Share] | None:
    """Return what a gauge gives to values and to biases; None where it weighs members by label."""
    match gauge:
        case "weighted":
            return Share(), Share(by_confidence=1.0)
        case "zero_sum" | "zero-sum":
            return Share(), Share(even=1.0)
        case Reference(value):
            _finite(value, "reference value")
            return Share(by_confidence=1.0), Share(by_confidence=-1.0)
        case _:
            return None


@dataclass(frozen=True, eq=False)
class Condition:
    """A gauge for one panel: for each component, sum value_weight v + sum bias_weight b = constant."""

    value_weight: Floats
    bias_weight: Floats
    constant: Floats
    object_component: Whole
    assessor_component: Whole

    @cached_property
    def slope(self) -> Floats:
        """Change of each component's left-hand side when its values rise by 1 and its biases fall by 1."""
        return self.sums(self.value_weight, -self.bias_weight)

    def shift(self, values: Floats, biases: Floats) -> Floats:
        """Return for each component the k by which values must rise, and biases fall, to meet the condition."""
        return (self.constant - self._left(values, biases)) / self.slope

    def project(self, values: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return P times a vector or columns: values rise and biases fall until all left-hand sides are zero."""
        shift = -(self._left(values, biases).T / self.slope).T
        return values + shift[self.object_component], biases - shift[self.assessor_component]

    def transposed(self, of_values: Floats, of_biases: Floats) -> tuple[Floats, Floats]:
        """Return P^T times a vector or columns: what a question in this gauge asks of any other."""
        along = (self.sums(of_values, -of_biases).T / self.slope).T
        return (
            of_values - (self.value_weight * along[self.object_component].T).T,
            of_biases - (self.bias_weight * along[self.assessor_component].T).T,
        )

    def _left(self, values: Floats, biases: Floats) -> Floats:
        return self.sums((self.value_weight * values.T).T, (self.bias_weight * biases.T).T)

    def sums(self, of_objects: Floats, of_assessors: Floats) -> Floats:
        """Return the sums over each component, of a vector or of columns."""
        if of_objects.ndim > 1:
            return np.asarray(self._members[0] @ of_objects + self._members[1] @ of_assessors)
        count = self.constant.size
        return sum_by(self.object_component, of_objects, count) + sum_by(self.assessor_component, of_assessors, count)

    @cached_property
    def _members(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """For objects and for assessors a matrix that sums over each component."""
        count = self.constant.size
        return chooser(self.object_component, count), chooser(self.assessor_component, count)


def chooser(index: Codes, count: int) -> sp.csr_array[Any]:
    """Return a matrix that sums what shares an index."""
    import scipy.sparse as sp

    return sp.csr_array((np.ones(index.size), (index, np.arange(index.size))), shape=(count, index.size))


def condition(gauge: Gauge, panel: Panel, parts: Components) -> Condition:
    """Return the conditions that a gauge means for each component of a panel with the precisions of the method."""
    constant = np.zeros(parts.n_components)
    simple = shares(gauge)
    match gauge:
        case _ if simple is not None:
            value_weight = simple[0].of(panel.object_confidence)
            bias_weight = simple[1].of(panel.assessor_confidence)
            if isinstance(gauge, Reference):
                constant = gauge.value * sum_by(parts.object_component, value_weight, parts.n_components)
        case Affine(beta, gamma):
            _finite(gamma, "constant of the affine gauge")
            value_weight = np.zeros(panel.n_objects)
            bias_weight = _affine_weights(beta, panel)
            constant = np.full(parts.n_components, float(gamma))
        case Anchor(assessor=label, bias=bias) if label is not None:
            _finite(bias, "bias of the anchor")
            value_weight, bias_weight = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
            bias_weight[_find(label, panel.assessors, "assessor")] = 1.0
            constant = np.full(parts.n_components, float(bias))
        case Anchor(values=known):
            value_weight, bias_weight = np.zeros(panel.n_objects), np.zeros(panel.n_assessors)
            for label, value in known.items():
                _finite(value, f"known value of {label}")
                index = _find(label, panel.objects, "object")
                value_weight[index] = 1.0
                constant[parts.object_component[index]] += value
        case _:
            raise InputError(
                f"{gauge!r} is not a gauge: use 'weighted', 'zero_sum', Reference(v), Affine(beta, gamma) or "
                "Anchor(...).",
                kind="bad_gauge",
            )
    result = Condition(value_weight, bias_weight, constant, parts.object_component, parts.assessor_component)
    if simple is not None:  # whose left-hand side always changes
        return result
    weight = result.sums(np.abs(value_weight), np.abs(bias_weight))
    loose = np.flatnonzero(np.abs(result.slope) <= 1e-12 * weight)
    if loose.size:
        group = f" for group {int(loose[0]) + 1} of {parts.n_components}" if parts.n_components > 1 else ""
        raise InputError(
            f"The gauge {gauge_name(gauge)} does not fix the level of the biases{group}: "
            "its weights must not add up to zero; choose 'weighted', or anchor each group.",
            kind="bad_gauge",
        )
    return result


def gauge_name(gauge: Gauge | None) -> str | None:
    """Return the name of a gauge for tables and JSON."""
    return None if gauge is None else "zero_sum" if gauge == "zero-sum" else str(gauge)


def _affine_weights(beta: object, panel: Panel) -> Floats:
    if isinstance(beta, Mapping):
        weights = np.zeros(panel.n_assessors)
        for label, weight in beta.items():
            weights[_find(label, panel.assessors, "assessor")] = weight
    else:
        weights = np.array(beta, dtype=np.float64)
    if weights.shape != (panel.n_assessors,):
        raise InputError(
            f"The affine gauge needs {panel.n_assessors} weights, one for each assessor, not {weights.size}.",
            kind="bad_gauge",
        )
    if not np.isfinite(weights).all():
        raise InputError("The weights of the affine gauge must be finite numbers.", kind="bad_gauge")
    return weights


def _find(label: str, labels: Sequence[str], role: str) -> int:
    try:
        return labels.index(label)
    except ValueError:
        near = [other for other in labels[:10_000] if other.casefold().strip() == str(label).casefold().strip()]
        hint = f" (did you mean {near[0]!r}?)" if near else f"; there are {', '.join(labels[:6])}"
        more = " and others" if not near and len(labels) > 6 else ""
        raise InputError(
            f"There is no {role} {label!r} to anchor on{hint}{more}.", kind="bad_gauge", where=f"{role} {label}"
        ) from None


def _finite(number: float, what: str) -> None:
    if not np.isfinite(number):
        raise InputError(f"The {what} must be a finite number, not {number}.", kind="bad_gauge")
