"""How text is laid out on a terminal: how wide it is, where its lines end, and tables that fit.

Nothing here prints. A terminal counts in columns: a letter with its accents takes one, an ideograph or a picture two,
however many signs make it up.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Cell = str | tuple[str, str]
"""Text, or text with its style."""

Line = list[tuple[str, str]]
"""Texts side by side, each with its style."""

LEAST_TEXT: Final = 10
"""A column of names is not made narrower than this as long as there are columns to leave out."""

_GAP: Final = 2
_JOINER, _PICTURE = "\u200d", "\ufe0f"

_SUBSTITUTES: Final = dict(zip("−–—─━│‘’“”×·●", "----=|''\"\"x*o", strict=True)) | dict(
    zip("…±√²≤≥→†‡", ("...", "+/-", "sqrt ", "^2", "<=", ">=", "->", "(known)", "(cut off)"), strict=True)
)
"""What stands for signs of ours where a terminal does not know them."""


def encodable(text: str, encoding: str) -> str:
    r"""Return text that an encoding can write: plain signs for ours, and the code of any other that it lacks.

    Examples
    --------
    >>> encodable("−3.2 … Müller", "ascii"), encodable("−3.2 … Müller", "latin-1")
    ('-3.2 ... M\\xfcller', '-3.2 ... Müller')
    """
    if can_encode(text, encoding):
        return text
    plain = "".join(char if can_encode(char, encoding) else _SUBSTITUTES.get(char, char) for char in text)
    return plain.encode(encoding, "backslashreplace").decode(encoding)


def can_encode(text: str, encoding: str) -> bool:
    """Return whether an encoding knows all signs of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def clusters(text: str) -> list[str]:
    r"""Return text in parts that are never torn: a sign with its accents, a picture joined of several, a flag.

    Examples
    --------
    >>> clusters("ae\u0301\U0001f469\u200d\U0001f680") == ["a", "e\u0301", "\U0001f469\u200d\U0001f680"]
    True
    """
    found: list[str] = []
    for char in text:
        if found and _belongs(found[-1], char):
            found[-1] += char
        else:
            found.append(char)
    return found


def _belongs(before: str, char: str) -> bool:
    """Return whether a character is part of what stands before it."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if before.endswith(_JOINER):
        return _columns(char) == 2 or unicodedata.category(char) == "So"
    return len(before) == 1 and _is_flag(before) and _is_flag(char)


def _is_flag(char: str) -> bool:
    """Return whether a character is half of a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" or _is_flag(char) else 1


def width_of(text: str) -> int:
    r"""Return how many columns of a terminal a text takes.

    Examples
    --------
    >>> width_of("Ana"), width_of("e\u0301"), width_of("山田"), width_of("\U0001f469\u200d\U0001f680")
    (3, 1, 4, 2)
    """
    if text.isascii():
        return len(text)
    return sum(2 if _PICTURE in one else max(map(_columns, one)) for one in clusters(text))


def cut(text: str, width: int, end: str = "…", tail: int = 0) -> str:
    """Return text that takes at most so many columns, with an ellipsis where some is missing: before the last signs.

    Examples
    --------
    >>> cut("Maria Anders", 8), cut("山田太郎", 5), cut("Ana", 8), cut("Maria Anders", 8, tail=3)
    ('Maria A…', '山田…', 'Ana', 'Mari…ers')
    """
    if width_of(text) <= width:
        return text
    last = "".join(clusters(text)[-tail:]) if tail else ""
    if last:
        return cut(text, width - width_of(last), end) + last
    kept, room = "", width - len(end)
    for one in clusters(text):
        if width_of(one) > room:
            break
        kept, room = kept + one, room - width_of(one)
    return kept.rstrip() + end[: max(width, 0)]


def guarded(text: str) -> str:
    """Return text after which numbers stay where they are: after a name from right to left with a mark that says so."""
    from_right = any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    return f"{text}\u200e" if from_right else text


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """Return text in lines of at most so many columns; all but the first begin as far in as it does, and ``hang`` more.

    Examples
    --------
    >>> wrap("  one two three", 10, hang=2)
    ['  one two', '    three']
    """
    words = text.lstrip(" ")
    first, indent = (" " * min(len(text) - len(words) + more, width // 2) for more in (0, hang))
    lines, line, is_empty = [], first, True
    for word in _words(words, width - len(indent)):
        if not is_empty and width_of(line) + 1 + width_of(word) > width:
            lines.append(line)
            line, is_empty = indent, True
        line += word if is_empty else f" {word}"
        is_empty = False
    return [*lines, line]


def _words(text: str, width: int) -> Iterator[str]:
    """Yield words, those that no line has room for in pieces."""
    for word in text.split(" "):
        rest = word
        while width_of(rest) > max(width, 2):
            piece = ""
            for one in clusters(rest):
                if width_of(piece) + width_of(one) > max(width, 2):
                    break
                piece += one
            yield piece
            rest = rest[len(piece) :]
        yield rest


def some_of(labels: Sequence[str], room: int, end: str = "…") -> str:
    """Return labels in a line of so many columns, with a count of those for which there is no room.

    Examples
    --------
    >>> some_of(["P01", "P02", "P03", "P04"], 17), some_of(["P01", "P02"], 18)
    ('P01, P02, 2 more', 'P01, P02')
    """
    whole = ", ".join(labels)
    if width_of(whole) <= room:
        return whole
    shown: list[str] = []
    used = len(f"{len(labels):,} more")
    for label in labels:
        used += width_of(label) + 2
        if used > room:
            break
        shown.append(label)
    shown = shown or [cut(labels[0], max(room - 12, 4), end)]
    more = len(labels) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


@dataclass(frozen=True, slots=True)
class Table:
    """A table before it is known how wide it may be.

    Attributes
    ----------
    columns
        The headings.
    rows
        Cells, a row each.
    text
        Headings of columns of text: flush left, and shortened where there is no room.
    whole
        Headings of those among them that are not shortened as long as there are others to leave out.
    spare
        Headings of columns that can be left out where there is no room, the first first.
    breaks
        Words of lines across the table, by the number of rows above each.
    folds
        Words in place of rows that are not shown, likewise.
    ellipsis, rule
        What names that are shortened end in, and what lines are made of.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    text: Sequence[str] = ()
    whole: Sequence[str] = ()
    spare: Sequence[str] = ()
    breaks: Mapping[int, str] = field(default_factory=dict)
    folds: Mapping[int, str] = field(default_factory=dict)
    ellipsis: str = "…"
    rule: str = "─"

    def natural(self) -> list[int]:
        """Return the width that each column would like to have."""
        return [
            max([width_of(head), *(width_of(_text(row[at])) for row in self.rows)])
            for at, head in enumerate(self.columns)
        ]

    def fit(self, width: int | None) -> tuple[list[int], list[int], list[str]]:
        """Return which columns are shown, how wide each is, and the headings of those left out."""
        wanted = self.natural()
        kept = list(range(len(self.columns)))
        if width is None:
            return kept, wanted, []
        spare = [at for head in self.spare for at in kept if self.columns[at] == head]
        least = self._least(wanted, LEAST_TEXT, self.whole)
        kept = _without(spare, kept, least, width)
        if _total(least[at] for at in kept) > width:
            least = self._least(wanted, LEAST_TEXT // 2)
            kept = _without(reversed(kept[1:]), kept, least, width)
        sizes = {at: min(least[at], width) for at in kept}
        for _ in range(width - _total(sizes.values())):  # what is left goes to names, the narrowest first
            short = [at for at in kept if sizes[at] < wanted[at]]
            if short:
                sizes[min(short, key=sizes.__getitem__)] += 1
        return kept, list(sizes.values()), [head for at, head in enumerate(self.columns) if at not in kept]

    def _least(self, wanted: Sequence[int], text: int, whole: Sequence[str] = ()) -> list[int]:
        """Return how narrow each column may become, those of text down to so many columns."""
        shortened = [head in self.text and head not in whole for head in self.columns]
        return [min(size, text) if is_short else size for size, is_short in zip(wanted, shortened, strict=True)]

    def lines(self, width: int | None) -> tuple[list[Line], list[str]]:
        """Return the table in lines of at most so many columns, None for any, and the headings left out."""
        kept, sizes, left_out = self.fit(width)
        total = _total(sizes)
        tails = {at: self._tail(at, size) for at, size in zip(kept, sizes, strict=True)}

        def line(cells: Sequence[Cell], style: str = "") -> Line:
            found: Line = []
            for place, (at, size) in enumerate(zip(kept, sizes, strict=True)):
                text = cut(_text(cells[at]), size, self.ellipsis, tails[at])
                blank = " " * (size - width_of(text))
                text = (text if width is None else guarded(text)) + blank if self._is_text(at) else blank + text
                found.append((text, style or _style(cells[at])))
                if place < len(kept) - 1:
                    found.append((" " * _GAP, ""))
            return _stripped(found)

        lines = [line(self.columns, "bold")]
        for at in range(len(self.rows) + 1):
            lines += [[(self._line_across(self.breaks[at], total), "")]] if at in self.breaks else []
            lines += [[(cut(f"   {self.folds[at]}", width or total, self.ellipsis), "dim")]] if at in self.folds else []
            lines += [line(self.rows[at])] if at < len(self.rows) else []
        return lines, left_out

    def _tail(self, at: int, size: int) -> int:
        """Return how much of the ends of texts must be seen, so that those cut short do not look the same."""
        texts = {_text(row[at]) for row in self.rows} if self._is_text(at) else set()
        alike = len({cut(text, size, self.ellipsis) for text in texts}) < len(texts)
        return size // 3 if alike else 0

    def _line_across(self, words: str, width: int) -> str:
        return f"{self.rule * max(width - width_of(words) - 3, 1)} {words} {self.rule}"

    def _is_text(self, at: int) -> bool:
        return self.columns[at] in self.text


def _without(spare: Iterable[int], kept: list[int], least: Sequence[int], width: int) -> list[int]:
    """Return the columns that are left where as many as need be are left out, the first first."""
    for at in spare:
        if _total(least[other] for other in kept) <= width:
            break
        kept = [other for other in kept if other != at]
    return kept


def _total(sizes: Iterable[int]) -> int:
    found = list(sizes)
    return sum(found) + _GAP * (len(found) - 1)


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _style(cell: Cell) -> str:
    return "" if isinstance(cell, str) else cell[1]


def _stripped(line: Line) -> Line:
    """Return a line without blanks at its end."""
    while line and not line[-1][0].strip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else line
