"""How sure an assessor was: uncertainty, confidence or level turned into the precision c = 1/sigma^2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.panel.lexicon import SURENESS
from evenhand.words import remark

Form = Literal["uncertainty", "confidence", "level", "none"]
"""How confidence was declared: a standard deviation, a positive weight, a level, or not at all."""

FormHint = Form | Literal["level_or_uncertainty", "level_or_confidence"]
"""A form, or a choice that the cells themselves settle: words are levels, numbers are the other form."""

FACTOR: Final = 1.75
"""Default ratio of the uncertainties of neighbouring levels, as in the authors' workbook (sec. 4.2)."""

MOST_FACTOR: Final = 1e6
"""Largest factor: beyond it low confidence could as well be none."""

LEVELS: Final[Mapping[str, int]] = SURENESS
"""Words for a level, folded by `evenhand.panel.headings.plain_text`, from -2 (not at all sure) to 2 (very sure)."""

_MEANINGS: Final = {
    "very high": 2,
    "high": 1,
    "h": 1,
    "medium": 0,
    "med": 0,
    "m": 0,
    "low": -1,
    "l": -1,
    "very low": -2,
}

_MOST_STEPS: Final = 7
"""Whole numbers up to this one, where there may be levels, are the steps of a scale and no weights."""


LEVEL_NAMES: Final = {1.0: "high", 0.5: "rather high", 0.0: "medium", -0.5: "rather low", -1.0: "low"}
"""What levels are called, by the power to which the square of the factor is taken."""


def level_words(aliases: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return the words for levels, the user's own included, in lower case.

    Examples
    --------
    >>> level_words({"Hooch": "high"})["hooch"]
    1
    """
    words = dict(LEVELS)
    for word, meaning in (aliases or {}).items():
        power = _MEANINGS.get(meaning.strip().casefold())
        if power is None:
            raise InputError(
                remark(
                    "The alias {word} is said to mean {meaning}, which is no level: use high, medium or low.",
                    word=repr(word),
                    meaning=repr(meaning),
                ),
                kind="bad_alias",
            )
        words[" ".join(word.casefold().split())] = power
    return words


@dataclass(frozen=True, slots=True)
class Declared:
    """What the cells that say how sure assessors were turned out to be, in a portion of the data or in all of it.

    Attributes
    ----------
    hint
        How the column is to be read, as far as its name tells.
    scale
        The ends of a scale of numbers, least sure first, where the user gave them.
    rank
        How far the words for levels go from the middle, from 0 to 2; None where there are none.
    least, most
        The extremes of the numbers; infinities where there are none.
    is_whole
        Whether no number has a fraction.

    Examples
    --------
    >>> Declared("level_or_confidence", least=2.0, most=5.0).steps
    (1.0, 5.0)
    >>> Declared("level_or_confidence", least=0.5, most=5.0, is_whole=False).form
    'confidence'
    """

    hint: FormHint
    scale: tuple[float, float] | None = None
    rank: int | None = None
    least: float = math.inf
    most: float = -math.inf
    is_whole: bool = True

    def __or__(self, other: Declared) -> Declared:
        ranks = [one.rank for one in (self, other) if one.rank is not None]
        return Declared(
            self.hint,
            self.scale,
            max(ranks, default=None),
            min(self.least, other.least),
            max(self.most, other.most),
            self.is_whole and other.is_whole,
        )

    def seen(self, numbers: NDArray[np.float64], ranks: NDArray[np.float64]) -> Declared:
        """Return this with further numbers and further words."""
        rank = int(np.abs(ranks).max()) if ranks.size else None
        if not numbers.size:
            return self | Declared(self.hint, rank=rank)
        is_whole = bool((numbers == np.floor(numbers)).all())
        return self | Declared(self.hint, None, rank, float(numbers.min()), float(numbers.max()), is_whole)

    @property
    def steps(self) -> tuple[float, float] | None:
        """The ends of the scale that numbers are steps of, least sure first; None where there are words or weights.

        Whole numbers from 0 or 1 to at most 7 are steps, the highest of them the upper end.
        """
        is_open = self.hint in ("level_or_confidence", "level")
        if not is_open or self.rank is not None or not self.is_whole or not 0 <= self.least < math.inf:
            return None
        if self.scale is not None:
            return self.scale if min(self.scale) <= self.least and self.most <= max(self.scale) else None
        return (min(1.0, self.least), self.most) if 1 < self.most <= _MOST_STEPS else None

    @property
    def form(self) -> Form:
        """The form in which confidence was declared."""
        if self.hint != "level_or_uncertainty" and self.hint != "level_or_confidence":
            return self.hint
        if self.rank is not None or self.least == math.inf or self.steps is not None:
            return "level"
        return "uncertainty" if self.hint == "level_or_uncertainty" else "confidence"

    def precision(self, raw: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
        """Return precisions of cells: of levels by their ranks or steps; any other cell is one already.

        From the lower end of a scale, which is low, to its upper end, which is high, all steps are equal.
        """
        if self.form != "level":
            return raw
        if self.steps is not None:
            low, high = self.steps
            power = 2.0 * (np.arange(max(low, high) + 1.0) - low) / (high - low) - 1.0
            return precision_of_level(power, factor)[raw.astype(np.int8)]
        power = np.arange(-2.0, 3.0) / max(1, self.rank or 0)
        return precision_of_level(power, factor)[(raw + 2.0).astype(np.int8)]


def check_factor(factor: float) -> float:
    """Return the level factor, or refuse one that is not a number from 1 to a million."""
    if not 1 <= factor <= MOST_FACTOR:
        raise InputError(
            remark(
                "The factor between confidence levels must be at least 1 and at most {most}, not {factor}.",
                most=f"{MOST_FACTOR:g}",
                factor=f"{factor:g}",
            ),
            kind="bad_factor",
        )
    return float(factor)


def precision_of_uncertainty(uncertainty: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c = 1/sigma^2 (eq. 2 of the paper)."""
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        return np.asarray(1.0 / np.square(uncertainty), dtype=np.float64)


def precision_of_level(
    power: Sequence[float] | NDArray[np.floating[Any]], factor: float = FACTOR
) -> NDArray[np.float64]:
    """Return c = f^2, 1 or f^-2 for high, medium and low (1, 0 and -1), and what lies between for steps between.

    Examples
    --------
    >>> precision_of_level([1, 0, -1], factor=2.0)
    array([4.  , 1.  , 0.25])
    """
    return np.asarray(np.square(check_factor(factor)) ** np.asarray(power, dtype=np.float64), dtype=np.float64)
