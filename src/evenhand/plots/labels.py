"""What pictures call things, and how they write numbers: all of it that needs no drawing program."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand import words
from evenhand.compiled import Floats
from evenhand.look import LIGHT
from evenhand.panel.panel import Panel

Codes = NDArray[np.int64]

GROUP_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""Groups differ in shape: colour means status, alert or side of bias, and all else is ink and grey."""

MOST_GROUPS: Final = len(GROUP_SHAPES)
"""Up to this many groups of a panel that is not connected are drawn, the largest first."""

MOST_POINTS: Final = 3000
"""Up to this many scores are drawn one by one."""

MOST_MARKS: Final = 5000
"""Up to this many objects are drawn one by one; of more, evenly spaced ones."""

_MOST_KINDS: Final = 6
"""Up to this many different confidences are kept apart; more are put into this many classes of equal size."""

_GREYS: Final = (*(LIGHT[f"level-{at}"] for at in range(1, 6)), LIGHT["ink"])

_LONGEST: Final = 26
_CONTROL: Final = {"Cc", "Cs", "Co", "Zl", "Zp"}
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TO_THE_RIGHT: Final = "\u200e"
_JOINER: Final = "\u200d"
_MARKUP: Final = re.compile(r"<(?=[/!]|script)", re.IGNORECASE)


def drawable(labels: Iterable[object]) -> list[str]:
    """Return labels as text that can be drawn and written into any file, all different.

    Long ones are cut in the middle. Control characters become blanks, and an angle bracket that could end the script of
    a page becomes another sign.

    Examples
    --------
    >>> drawable(["x", "a" + chr(9) + "b", "a b", "</script>"])
    ['x', 'a b', 'a b (2)', '‹/script>']
    """
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        text = str(label)
        if not text.isprintable():
            text = "".join(" " if unicodedata.category(sign) in _CONTROL or sign in _TURNING else sign for sign in text)
        text = clip(_MARKUP.sub("‹", text), _LONGEST)
        seen[text] = seen.get(text, 0) + 1
        while seen[text] > 1:
            text = f"{text} ({seen[text]})"
            seen[text] = seen.get(text, 0) + 1
        names.append(text)
    return names


def _is_turned(text: str) -> bool:
    """Say whether a text has signs that are read from the right."""
    return any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)


def description(what: str, title: str, notes: Iterable[str]) -> str:
    """Return all that a picture says, for those who cannot see it: what it is, the finding, and notes."""
    return " ".join(said for said in (f"{what}.", f"{title}.", *notes) if said).replace("..", ".")


def from_the_left(line: str) -> str:
    """Return a line of a sentence that is read from the left, even if it begins with a name that is not."""
    return f"{_TO_THE_RIGHT}{line}" if _is_turned(line) else line


def groups_of(component: Codes, estimate: Floats | None = None) -> list[Codes]:
    """Return the members of each group, the first group first; where estimates are given, from the highest down."""
    groups = [np.flatnonzero(component == group) for group in range(int(component.max()) + 1)]
    if estimate is None:
        return groups
    return [members[np.argsort(-estimate[members], kind="stable")] for members in groups]


def decimals(numbers: Floats) -> int:
    """Return how many decimals to show of numbers that spread so far: about three digits.

    Examples
    --------
    >>> decimals(np.array([40.0, 90.0])), decimals(np.array([3.1, 4.7]))
    (1, 2)
    """
    spread = float(np.ptp(numbers[np.isfinite(numbers)])) if np.isfinite(numbers).any() else 0.0
    return 1 if spread == 0 else min(max(0, 2 - floor(log10(spread))), 9)


def is_nothing(numbers: Floats, scores: Floats) -> bool:
    """Say whether numbers are nothing but rounding, beside the scores that they come from."""
    return float(np.abs(numbers).max()) <= 1e-9 * max(float(np.ptp(scores)), 1e-3 * float(np.abs(scores).max()))


def thin(members: Codes) -> Codes:
    """Return members as they are, or where there are more than can be drawn, evenly spaced ones."""
    return members[:: -(-members.size // MOST_MARKS)]


def thin_note(groups: Iterable[Codes]) -> str:
    """Return how many members of groups are not drawn for want of room; nothing where all are."""
    left_out = sum(members.size - thin(members).size for members in groups)
    return f"{left_out:,} more between those drawn, which are evenly chosen." if left_out else ""


def number(value: float, digits: int, *, signed: bool = False) -> str:
    """Return a number for a sentence, with a true minus sign."""
    return words.number(value, digits, signed=signed, minus="−", in_sentence=True)


def percent(probability: float) -> str:
    """Return a probability for a sentence, in one piece."""
    return words.percent(probability, digits=3)


def clip(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters, cut in the middle: ends often differ where beginnings do not.

    Between words where one ends near by. No cut goes through signs that are drawn as one, such as a letter and its
    accent, or people joined to a family.
    """
    if len(name) <= most:
        return name
    head, tail = most // 2, len(name) - (most - 1) // 2
    before, after = name.rfind(" ", head - most // 4, head + 1), name.find(" ", tail - 1, tail + most // 4)
    head, tail = before if before > 0 else head, after + 1 if after > 0 else tail
    while head and _is_joined(name, head):
        head -= 1
    while tail < len(name) and _is_joined(name, tail):
        tail += 1
    return f"{name[:head]}…{name[tail:].rstrip()}"


def _is_joined(name: str, at: int) -> bool:
    """Say whether the sign at a place is drawn as one with the sign before it."""
    return name[at - 1] == _JOINER or name[at] == _JOINER or unicodedata.category(name[at]).startswith("M")


def named(name: str, side: str) -> str:
    """Return a name for a sentence; a bare number with the word for what it is.

    After a name that is read from the right a mark that takes no room turns the sentence round again.
    """
    return f"{name}{_TO_THE_RIGHT}" if _is_turned(name) else words.called(name, side, is_bare=True)


def chosen(names: Sequence[str], at: NDArray[np.integer[Any]]) -> list[str]:
    """Return the names at some places."""
    return [names[i] for i in at.tolist()]


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of confidence that were declared, from the least sure to the surest, and that of each assessment."""

    names: list[str]
    index: Codes

    @property
    def shades(self) -> list[str]:
        """A colour for each, the surer the darker."""
        at = np.linspace(0, len(_GREYS) - 1, len(self.names)).round().astype(int)
        return [_GREYS[i] for i in at.tolist()]


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
    if distinct.size <= _MOST_KINDS:
        return Kinds(_different([f"{sign}{cell:.3g}" for cell in shown.tolist()]), index.astype(np.int64))
    edges = np.quantile(panel.precision, np.arange(1, _MOST_KINDS) / _MOST_KINDS)
    classes = np.unique(np.searchsorted(edges, panel.precision, side="right"), return_inverse=True)[1]
    names = []
    for kind in range(int(classes.max()) + 1):
        within = shown[np.unique(index[classes == kind])]
        names.append(f"{sign}{within[0]:.3g} to {within[-1]:.3g}" if within.size > 1 else f"{sign}{within[0]:.3g}")
    return Kinds(_different(names), classes.astype(np.int64))


def _different(names: list[str]) -> list[str]:
    """Return names of which no two are the same, although they may be to three digits."""
    return [name if names.index(name) == at else f"{name} ({at + 1})" for at, name in enumerate(names)]
