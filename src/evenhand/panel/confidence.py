"""How sure an assessor was: uncertainty, confidence or level turned into the precision c = 1/sigma^2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError

Form = Literal["uncertainty", "confidence", "level", "none"]
"""How confidence was declared: a standard deviation, a positive weight, a level, or not at all."""

FormHint = Form | Literal["level_or_uncertainty", "level_or_confidence"]
"""A form, or a choice that the cells themselves settle: words are levels, numbers are the other form."""

FACTOR: Final = 1.75
"""Default ratio of the uncertainties of neighbouring levels, as in the authors' workbook (sec. 4.2)."""

MOST_FACTOR: Final = 1e6
"""Largest factor: beyond it low confidence could as well be none."""

LEVELS: Final[Mapping[str, int]] = {"h": 1, "high": 1, "m": 0, "med": 0, "medium": 0, "l": -1, "low": -1}
"""Words for a level, in lower case, and the power of factor^2 that each stands for."""


def level_words(aliases: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return the words for levels, the user's own included, in lower case.

    Examples
    --------
    >>> level_words({"Hoch": "high"})["hoch"]
    1
    """
    words = dict(LEVELS)
    for word, meaning in (aliases or {}).items():
        power = LEVELS.get(meaning.strip().casefold())
        if power is None:
            raise InputError(
                f"The alias {word!r} is said to mean {meaning!r}, which is no level: use high, medium or low.",
                kind="bad_alias",
            )
        words[word.strip().casefold()] = power
    return words


def check_factor(factor: float) -> float:
    """Return the level factor, or refuse one that is not a number from 1 to a million."""
    if not 1 <= factor <= MOST_FACTOR:
        raise InputError(
            f"The factor between confidence levels must be at least 1 and at most {MOST_FACTOR:g}, not {factor:g}.",
            kind="bad_factor",
        )
    return float(factor)


def precision_of_uncertainty(uncertainty: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c = 1/sigma^2 (eq. 2 of the paper)."""
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        return np.asarray(1.0 / np.square(uncertainty), dtype=np.float64)


def precision_of_level(power: Sequence[int] | NDArray[np.int_], factor: float = FACTOR) -> NDArray[np.float64]:
    """Return c = f^2, 1 or f^-2 for high, medium and low (1, 0 and -1).

    Examples
    --------
    >>> precision_of_level([1, 0, -1], factor=2.0)
    array([4.  , 1.  , 0.25])
    """
    return np.asarray(np.square(check_factor(factor)) ** np.asarray(power, dtype=np.float64), dtype=np.float64)
