"""Declared confidence in words: a few kinds, each with a name, from the least sure to the surest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from evenhand.panel.panel import Panel
from evenhand.plots.style import Codes

_MOST: Final = 6
"""Up to so many different confidences are kept apart; more are put into so many classes of equal size."""

_BLUES: Final = ("#A6CDE6", "#7FB5D9", "#569CC9", "#2F81B3", "#146594", "#08476E")


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of confidence that were declared.

    Attributes
    ----------
    names
        What each is called, from the least sure to the surest.
    index
        The kind of each assessment.
    """

    names: list[str]
    index: Codes

    @property
    def shades(self) -> list[str]:
        """A colour for each, the surer the darker."""
        at = np.linspace(0, len(_BLUES) - 1, len(self.names)).round().astype(int)
        return [_BLUES[i] for i in at.tolist()]


def declared_kinds(panel: Panel, *, as_sd: bool = False) -> Kinds:
    """Return what was declared, in a few kinds; weights as standard deviations if that is asked for.

    Examples
    --------
    >>> declared_kinds(Panel.from_arrays([0, 0, 1], [0, 1, 1], [1.0, 2.0, 3.0], [4.0, 1.0, 4.0])).names
    ['weight 1', 'weight 4']
    """
    distinct, index = np.unique(panel.precision, return_inverse=True)
    if panel.confidence == "none" or distinct.size == 1:
        return Kinds(["equal confidence"], np.zeros(panel.n_assessments, dtype=np.int64))
    if panel.confidence == "level" and panel.factor is not None and panel.factor > 1:
        power = np.rint(np.log(distinct) / (2 * np.log(panel.factor))).astype(int)
        if np.unique(power).size == distinct.size and np.abs(power).max() <= 1:
            return Kinds([("medium", "high", "low")[p] for p in power.tolist()], index.astype(np.int64))
    as_sd = as_sd or panel.confidence == "uncertainty"
    shown = 1 / np.sqrt(distinct) if as_sd else distinct
    sign = "±" if as_sd else "weight "
    if distinct.size <= _MOST:
        return Kinds(_different([f"{sign}{cell:.3g}" for cell in shown.tolist()]), index.astype(np.int64))
    edges = np.quantile(panel.precision, np.arange(1, _MOST) / _MOST)
    classes = np.unique(np.searchsorted(edges, panel.precision, side="right"), return_inverse=True)[1]
    names = []
    for kind in range(int(classes.max()) + 1):
        within = shown[np.unique(index[classes == kind])]
        names.append(f"{sign}{within[0]:.3g} to {within[-1]:.3g}" if within.size > 1 else f"{sign}{within[0]:.3g}")
    return Kinds(_different(names), classes.astype(np.int64))


def _different(names: list[str]) -> list[str]:
    """Return names of which no two are the same, although they may be to three digits."""
    return [name if names.index(name) == at else f"{name} ({at + 1})" for at, name in enumerate(names)]
