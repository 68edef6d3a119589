"""What a cell may be and what is said of a bad one: every rule once, for every door."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem, bad_option
from evenhand.panel.column import NO_CODE, Cell, Column
from evenhand.panel.confidence import FACTOR, check_factor
from evenhand.panel.headings import plain_text
from evenhand.panel.lexicon import NOT_ASSESSED, SCORE_FAMILIES
from evenhand.words import name_some, remark

Duplicates = Literal["error", "keep", "combine", "last"]
"""What to do where an assessor scored an object twice: refuse, keep both, take their weighted mean, or the last one."""

Best = Literal["highest", "lowest"]
"""Which score is the best."""

MOST_PROBLEMS: Final = 1000
"""Problems of a large file that are listed; the others are counted."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PART: Final = r"[+-]?\d+(?:[.,]\d+)?"
_DECORATED: Final = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"({_PART}) ?(%)",
        rf"({_PART}) ?(?:/|out of|von|sur|de|di|van|su) ?({_PART})",
        rf"({_PART}) ?(?:points?|pts?|p|punkte|pkt\.?|puntos|punti|pontos|punten|stars?)",
        rf"({_PART}) ?(?:[:=)]|\.(?= )| [-–—]) ?[^\d\s].*",
        rf"({_PART}) \([^()]*\)",
        rf"[^\d].* ?[(\[]({_PART})[)\]]",
        rf"[^\d+-][^\d]*? ?[:=] ?({_PART})",
    )
)
"""Scores as people write them: 85 %, 8/10, 7 points, 5: fair, 3 (weak accept), Weak accept (3), Score: 3."""

_UNCERTAIN: Final = re.compile(rf"({_PART})\s*(?:±|\+/?-)\s*(\d+(?:[.,]\d+)?)", re.ASCII)
_LETTER: Final = re.compile(r"([A-Fa-f])([+-]?)")
_INFINITY: Final = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_SUMMARY_WORDS: Final = frozenset({"average", "mean", "median", "total", "sum", "all", "overall", "sd", "std", "count"})
_ASCII_SPACES: Final = dict.fromkeys(map(ord, " \t\v\f\r\x1c\x1d\x1e\x1f"))
_CHUNK: Final = 65_536


# --- one cell ------------------------------------------------------------------------------------


def is_empty(cell: Cell, words: frozenset[str] = frozenset()) -> bool:
    """Say whether a cell is empty: nothing, NaN, white space, or text that the user said means so."""
    if isinstance(cell, str):
        return not (bare := cell.strip()) or bare in words
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def parse_number(cell: object, *, decimal_comma: bool = False) -> float | None:
    """Return the number in a cell, an infinity included, or None where it holds no number.

    Examples
    --------
    >>> parse_number(" 12,5 ", decimal_comma=True)
    12.5
    >>> parse_number("1_000") is None
    True
    """
    if isinstance(cell, bool | np.bool_):
        return None
    if not isinstance(cell, str):
        try:
            return float(cell)  # type: ignore[arg-type]  # numbers of any kind, Decimal and Fraction too
        except OverflowError:
            return math.inf
        except (TypeError, ValueError):
            return None
    text = cell.strip().replace("\u2212", "-")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).strip()  # full-width digits and signs
    if decimal_comma:
        text = text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) or _INFINITY.fullmatch(text) else None


def probably_meant(cell: str) -> str | None:
    """Return the number that a cell was probably meant to be: with a letter for a digit, or signs that slipped in.

    Examples
    --------
    >>> probably_meant("8O"), probably_meant("l2"), probably_meant("7..5"), probably_meant("late")
    ('80', '12', '7.5', None)
    """
    text = cell.strip().translate(str.maketrans("OoIl|", "00111")) if any(map(str.isdigit, cell)) else ""
    text = re.sub(r"([.,])[.,]+", r"\1", text).strip("'`´.,;: ")
    return text if text != cell.strip() and parse_number(text) is not None else None


class WrittenScore(NamedTuple):
    """A score as it was written: its number, and what it is out of, or ``"%"``; None where that is not said."""

    number: float
    out_of: float | str | None = None


def parse_score(cell: object, *, decimal_comma: bool = False) -> WrittenScore | None:
    """Return the score in a cell, a number with what people write beside it; None where there is none.

    Examples
    --------
    >>> parse_score("Weak accept (3)").number, parse_score("8/10"), parse_score("5: marginally above").number
    (3.0, WrittenScore(number=8.0, out_of=10.0), 5.0)
    >>> parse_score("Weak accept") is None
    True
    """
    number = parse_number(cell, decimal_comma=decimal_comma)
    if number is not None:
        return WrittenScore(number)
    if not isinstance(cell, str) or len(cell) > 400:
        return None
    text = unicodedata.normalize("NFKC", " ".join(cell.split())).replace("\u2212", "-")
    if text and set(text) <= {"★", "☆"}:
        return WrittenScore(float(text.count("★")), float(len(text)) if "☆" in text else None)
    for pattern in _DECORATED:
        found = pattern.fullmatch(text.casefold())
        if found is not None:
            number = float(found[1].replace(",", "."))
            further = found[2] if found.re.groups > 1 else None
            return WrittenScore(number, further if further in (None, "%") else float(further.replace(",", ".")))
    return None


def split_uncertain(cell: Cell) -> tuple[str, str] | None:
    """Return score and uncertainty of a cell that has both, as text; None of any other.

    Examples
    --------
    >>> split_uncertain("7.5 ± 0.8"), split_uncertain("7+/-1"), split_uncertain("7")
    (('7.5', '0.8'), ('7', '1'), None)
    """
    found = _UNCERTAIN.fullmatch(cell.strip().replace("\u2212", "-")) if isinstance(cell, str) else None
    return None if found is None else (found[1], found[2])


def score_words(cells: Iterable[Cell]) -> dict[str, float] | None:
    """Return what scores in words or letters stand for, where all that are no numbers belong to one order of them.

    Letters have A highest, and signs are thirds of a step. Cells that say that there is no score do not count.

    Examples
    --------
    >>> found = score_words(["Reject", "weak accept", "COI"])
    >>> found["reject"], found["weak accept"]
    (-2.0, 1.0)
    >>> round(score_words(["A", "B+", "F"])["b+"], 2)
    3.33
    """
    filled = [cell for cell in cells if not is_empty(cell)]
    texts = [cell for cell in filled if isinstance(cell, str) and parse_score(cell) is None]
    words = {plain_text(cell) for cell in texts if not says_nothing(cell)}
    if not words or len(words) < len({plain_text(label_text(cell)) for cell in filled if not says_nothing(cell)}):
        return None  # a word among numbers is a mistake
    for family in SCORE_FAMILIES:
        if words <= family.keys():
            return dict(family)
    if all(_LETTER.fullmatch(word) for word in words):
        letters = "abcde" if any(word.startswith("e") for word in words) else "abcd"
        heights = {letter: float(len(letters) - at) for at, letter in enumerate(letters)} | {"f": 0.0}
        signs = {"": 0.0, "+": 1 / 3, "-": -1 / 3}
        return {letter + sign: height + step for letter, height in heights.items() for sign, step in signs.items()}
    return None


def says_nothing(cell: Cell) -> bool:
    """Say whether a cell of scores says that there is none, such as ``n/a``, ``COI``, a dash or a line to write on."""
    if not isinstance(cell, str) or len(cell) >= 40:
        return False
    return plain_text(cell.strip(" ()[]")) in NOT_ASSESSED or set(cell.strip()) == {"_"}


def label_text(cell: object) -> str:
    """Return a label as text: text unchanged, numbers without a decimal point or zeros that say nothing.

    Examples
    --------
    >>> label_text("007"), label_text(7.0), label_text(Decimal("7.50"))
    ('007', '7', '7.5')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, Decimal) and cell.is_finite():
        text = f"{cell:f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) if cell else "0"
    return str(cell)


def quote(cell: object) -> str:
    """Return a cell as it stands in a message, shortened where it is long."""
    text = label_text(cell)
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


# --- a column of numbers -------------------------------------------------------------------------

FINITE, EMPTY, NO_NUMBER, INFINITE, LEVEL = range(5)
"""What a cell of a column of numbers turns out to be."""


class Judged(NamedTuple):
    """A column of numbers: the number of each row, NaN where there is none, and what it is; None if all are finite."""

    value: Floats
    status: NDArray[np.uint8] | None


class Numbers:
    """What the distinct cells of a column of numbers say, found out once for each of them."""

    def __init__(
        self,
        words: frozenset[str],
        powers: Mapping[str, float] | None = None,
        *,
        scores: Mapping[str, float] | None = None,
        truth: bool = False,
        as_written: bool = False,
    ) -> None:
        self._words, self._powers, self._truth = words, powers or {}, truth
        self._scores, self._as_written = scores or {}, as_written
        self.scales: set[float | str | None] = set()
        self.said: dict[str, float] = {}
        self._status: list[int] = []
        self._value: list[float] = []

    def read(self, column: Column, decimal_comma: bool) -> Judged:
        """Read a portion of the column."""
        fresh = column.cells[len(self._status) :]
        for cell, word in zip(fresh, self._words_in(fresh), strict=True):
            kind, number = self._judge(cell, word, decimal_comma)
            self._status.append(kind)
            self._value.append(number)
        is_plain = column.codes == NO_CODE
        if column.numbers is not None and is_plain.any():
            self.scales.add(None)
        if column.numbers is not None and is_plain.all():
            return Judged(column.numbers, None)
        at = np.where(is_plain, len(self._status), column.codes)
        without = EMPTY if column.numbers is None else FINITE
        status = np.array([*self._status, without], np.uint8)[at]
        value = np.array([*self._value, math.nan])[at]
        if column.numbers is not None:
            value = np.where(is_plain, column.numbers, value)
        return Judged(value, status if status.any() else None)

    def _words_in(self, cells: Sequence[Cell]) -> list[str]:
        """Return the cells as words for levels or scores, where there may be any."""
        if not self._powers and not self._scores:
            return [""] * len(cells)
        return [plain_text(text) for text in [label_text(cell) for cell in cells]]

    def _judge(self, cell: Cell, word: str, decimal_comma: bool) -> tuple[int, float]:
        if is_empty(cell, self._words):
            return EMPTY, math.nan
        for kind, meanings in ((LEVEL, self._powers), (FINITE, self._scores)):
            if word in meanings:
                self.said[label_text(cell).strip()] = float(meanings[word])
                return kind, meanings[word]
        is_truth = self._truth and type(cell) in (bool, np.bool_)
        number = float(cell) if is_truth else parse_number(cell, decimal_comma=decimal_comma)  # type: ignore[arg-type]
        if number is None and self._as_written:
            if says_nothing(cell):
                return EMPTY, math.nan
            if (score := parse_score(cell, decimal_comma=decimal_comma)) is not None:
                number = score.number
                self.scales.add(score.out_of)
        elif number is not None:
            self.scales.add(None)
        if number is None:
            return NO_NUMBER, math.nan
        return (FINITE if math.isfinite(number) else INFINITE), number


# --- what is told and said -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How cells are to be read, as :func:`evenhand.read_panel` takes it."""

    factor: float = FACTOR
    aliases: Mapping[str, str] | None = None
    duplicates: Duplicates = "error"
    missing: Sequence[str] = ()
    scores: Mapping[str, float] | None = None
    """Words for scores, and the number that each stands for."""
    level_scale: tuple[float, float] | None = None
    """The ends of a scale of numbers that say how sure the assessor was, least sure first."""
    best: Best | None = None
    """Which score is the best; the highest where nothing is said."""

    def __post_init__(self) -> None:
        if self.best not in (None, "highest", "lowest"):
            raise bad_option(
                remark("The best score can be the highest or the lowest, not {what}.", what=repr(self.best))
            )
        if self.duplicates not in ("error", "keep", "combine", "last"):
            raise bad_option(
                remark(
                    "Duplicates can be treated as error, keep, combine or last, not {what}.", what=repr(self.duplicates)
                )
            )
        check_factor(self.factor)

    @property
    def numeric_words(self) -> frozenset[str]:
        """Numbers, in lower case, that are to be read as words: for an empty cell, or for a level."""
        words = (word.strip().casefold() for word in (*self.missing, *(self.aliases or ()), *(self.scores or ())))
        return frozenset(word for word in words if parse_number(word) is not None)


def no_score(where: str | None) -> InputError:
    """Return the error for a panel without a single score."""
    return InputError(
        remark("there is no score: a panel needs at least one row with an object, an assessor and a score."),
        kind="empty",
        where=where,
    )


def shortened(problems: Sequence[Problem], total: int, most: int | None = MOST_PROBLEMS) -> InputError:
    """Return the error for the first problems of a large file, with a count of those that are not listed."""
    listed = list(problems[:most])
    if total > len(listed):
        more = total - len(listed)
        count = f"{more:,}"
        several = remark("{count} further problems are not listed.", count=count)
        listed.append(Problem("more_problems", remark("1 further problem is not listed.") if more == 1 else several))
    return InputError(listed)


# --- labels that look odd ------------------------------------------------------------------------


def odd_labels(role: str, labels: Sequence[str], plural: str | None = None) -> tuple[list[Problem], list[Problem]]:
    """Return notes on labels that differ only in case, white space or Unicode form, and on those of sums or means."""
    hashes = np.empty(len(labels), np.int64)
    sums: list[str] = []
    for start in range(0, len(labels), _CHUNK):
        some = labels[start : start + _CHUNK]
        keys = _alike_keys(some)
        hashes[start : start + len(keys)] = list(map(hash, keys))
        if not _SUMMARY_WORDS.isdisjoint(keys):
            sums += [label for label in some if label.strip().casefold() in _SUMMARY_WORDS]
    kinds, count = np.unique(hashes, return_counts=True)
    groups: dict[str, list[str]] = {}
    if kinds.size < hashes.size:
        some = [labels[at] for at in np.flatnonzero(np.isin(hashes, kinds[count > 1])).tolist()]
        for key, label in zip(_alike_keys(some), some, strict=True):
            groups.setdefault(key, []).append(label)
    alike_notes = [
        Problem(
            "similar_labels",
            remark(
                "the {things} {labels} differ only in case or white space and were kept apart: write them alike if "
                "they are the same.",
                things=plural or remark(f"{role}s"),
                labels=", ".join(map(repr, alike)),
            ),
            label_place(role, alike[0]),
        )
        for alike in groups.values()
        if len(alike) > 1
    ]
    summary_notes = [
        Problem(
            "summary_label",
            remark(
                "the {role} {label} was taken for a true {thing}: leave it out of the file if it holds sums or "
                "averages.",
                role=remark(role),
                label=repr(label),
                thing=remark(role),
            ),
            label_place(role, label),
        )
        for label in sums
    ]
    return alike_notes, summary_notes


def label_place(role: str, label: str) -> str:
    """Return the place of what is wrong with a label: ``"assessor AB"``."""
    return remark("{role} {label}", role=remark(role), label=label)


def rows_place(numbers: Sequence[int]) -> str:
    """Return the place of what is wrong in some rows."""
    return remark("row {rows}" if len(numbers) == 1 else "rows {rows}", rows=name_some(numbers))


def _alike_keys(labels: Sequence[str]) -> list[str]:
    """Return of each label what those that differ only in case, white space or Unicode form have in common."""
    text = "\n".join(labels)
    if text.isascii() and text.count("\n") < len(labels):  # all at once
        return text.lower().translate(_ASCII_SPACES).split("\n")
    return ["".join(unicodedata.normalize("NFKC", label).casefold().split()) for label in labels]
