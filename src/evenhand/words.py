"""English and numbers for all doors: terminal, page, picture, workbook and notebook."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, reduce
from typing import Final

_MOST_DIGITS: Final = 300
"""Decimals of scores that are all next to zero: with more, a number of units would leave the range of numbers."""

_NAME: Final = 3
"""Words that the name of a person has at most."""

NAMED: Final = 6
"""The most labels that a sentence names."""

Speaker = Callable[[str, object], str]
"""Called with the name of an argument and its value, None for any: says how a reader would give it."""

_speaker: ContextVar[Speaker | None] = ContextVar("evenhand_speaker", default=None)

Translator = Callable[[str], str]
"""Called with a text or a noun in English: returns it in the reader's language, or as it is where it knows none."""

_translator: ContextVar[Translator | None] = ContextVar("evenhand_translator", default=None)


def phrase(text: str, /, **values: object) -> str:
    """Return a text in the reader's language, English unless whoever shows it translates, with values filled in.

    Examples
    --------
    >>> phrase("All {things} are in", things="papers")
    'All papers are in'
    >>> with translated({"All {things} are in": "Dabei sind alle {things}"}.get):
    ...     phrase("All {things} are in", things="Beiträge")
    'Dabei sind alle Beiträge'
    """
    translator = _translator.get()
    found = text if translator is None else translator(text)
    return found.format(**values) if values else found


class Remark(str):
    """A text about the data, with what it was made of: a file is read once, and its readers may have two languages."""

    __slots__ = ("text", "values")
    text: str
    values: dict[str, object]


def remark(text: str, /, **values: object) -> str:
    """Return a text as :func:`phrase` does, which can be said :func:`again` in another language.

    Examples
    --------
    >>> note = remark("{rows} left out", rows=remark("row {number}", number=7))
    >>> note
    'row 7 left out'
    >>> with translated({"{rows} left out": "{rows} ausgelassen", "row {number}": "Zeile {number}"}.get):
    ...     again(note)
    'Zeile 7 ausgelassen'
    """
    made = Remark(phrase(text, **values))
    made.text, made.values = text, values
    return made


def chained(parts: Sequence[str], pair: str = "{one} and {other}") -> str:
    """Return parts in a line that can be said again, of which every two are joined as ``pair`` says.

    Examples
    --------
    >>> chained(["objects", "assessors", "scores"])
    'objects and assessors and scores'
    """
    return reduce(lambda one, other: remark(pair, one=one, other=other), parts)


def again(text: str) -> str:
    """Return a remark in the reader's language, with the remarks in it; any other text as it is."""
    if not isinstance(text, Remark):
        return text
    told = {name: again(value) if isinstance(value, Remark) else value for name, value in text.values.items()}
    return phrase(text.text, **told)


def term(noun: str) -> str:
    """Return a noun, with a capital or without, in the reader's language; as it is where that has no word for it."""
    found = phrase(lowered(noun))
    return noun if found == lowered(noun) else found


@contextmanager
def translated(translator: Translator | None) -> Iterator[None]:
    """Let texts and nouns be in another language; None for English, as what is not translated wholly stays."""
    token = _translator.set(translator)
    try:
        yield
    finally:
        _translator.reset(token)


def argument(name: str, value: object = None) -> str:
    """Return how an argument is given, for messages: as in Python, unless whoever shows them speaks otherwise.

    The command line says ``--duplicates keep`` for the same.

    Examples
    --------
    >>> argument("sheet"), argument("duplicates", "keep"), argument("per_component", True)
    ('sheet', 'duplicates="keep"', 'per_component=True')
    """
    speaker = _speaker.get()
    if speaker is not None:
        return speaker(name, value)
    if value is None:
        return name
    import json

    return f"{name}={json.dumps(value, ensure_ascii=False) if isinstance(value, str | Mapping) else value}"


def by_door(in_python: str, on_command_line: str) -> str:
    """Return the one of two remedies that the reader of a message can use.

    Examples
    --------
    >>> by_door("error.problems has all", "`evenhand check` lists all")
    'error.problems has all'
    """
    return in_python if _speaker.get() is None else on_command_line


def with_value(option: str, value: object) -> str:
    """Return how an option is typed with its value, None and True for none.

    Examples
    --------
    >>> with_value("--duplicates", "keep"), with_value("--alias", {"hoch": "high"}), with_value("--wide", True)
    ('--duplicates keep', '--alias hoch=high', '--wide')
    """
    if value is None or value is True:
        return option
    given = ",".join(f"{key}={one}" for key, one in value.items()) if isinstance(value, Mapping) else value
    return f"{option} {given}"


def carried(names: Iterable[str]) -> Speaker | None:
    """Return how messages name some arguments here, for a process that knows nothing of who shows them.

    Examples
    --------
    >>> with spoken(lambda name, value: f"--{name}"):
    ...     carried(["sheet"])("sheet", "May")
    '--sheet May'
    """
    speaker = _speaker.get()
    return None if speaker is None else partial(_as_carried, {name: speaker(name, None) for name in names})


def _as_carried(spelt: Mapping[str, str], name: str, value: object) -> str:
    return with_value(spelt.get(name, f"--{name}"), value)


@contextmanager
def spoken(speaker: Speaker | None) -> Iterator[None]:
    """Let messages name arguments in another way.

    Examples
    --------
    >>> with spoken(lambda name, value: f"--{name}"):
    ...     argument("sheet")
    '--sheet'
    """
    token = _speaker.set(speaker)
    try:
        yield
    finally:
        _speaker.reset(token)


def count_of(number: int, word: str) -> str:
    """Return a count with its word.

    Examples
    --------
    >>> count_of(1, "object"), count_of(2400, "object")
    ('1 object', '2,400 objects')
    """
    return f"{number:,} {term(word) if number == 1 else plural(word)}"


def more_of(number: int, word: str) -> str:
    """Return a count of those that are left, with their word, as a sentence begins with it.

    Examples
    --------
    >>> more_of(1, "entry"), more_of(2400, "entry")
    ('1 more entry', '2,400 more entries')
    """
    return phrase("{count} more {things}", count=f"{number:,}", things=term(word) if number == 1 else plural(word))


def plural(word: str) -> str:
    """Return the plural of a noun for what is assessed or who assesses.

    Examples
    --------
    >>> plural("proposal"), plural("entry"), plural("thesis"), plural("dish")
    ('proposals', 'entries', 'theses', 'dishes')
    """
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return term(f"{word[:-1]}ies")
    if word.endswith("sis"):
        return term(f"{word[:-2]}es")
    return term(f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s")


def sentence(words: str) -> str:
    """Return words with a capital at the beginning."""
    return words[:1].upper() + words[1:]


def lowered(words: str) -> str:
    """Return words without the capital at the beginning, for a sentence that goes on with them."""
    return words[:1].lower() + words[1:]


def is_or_are(number: int) -> str:
    """Return the verb that goes with a count."""
    return "is" if number == 1 else "are"


def name_some(labels: Sequence[object], most: int = NAMED, of: int | None = None) -> str:
    """Return labels in a line, with a count of those left out; ``of`` is how many there are where only some are given.

    Examples
    --------
    >>> name_some(["A", "B", "C", "D"], 2), name_some(["A", "B"], 2, of=1000)
    ('A, B and 2 more', 'A, B and 998 more')
    >>> name_some(["A", "B", "C"], 2)  # a name takes no more room than that there is one
    'A, B, C'
    """
    shown = [str(label) for label in labels[: most + (len(labels) == most + 1)]]
    more = (len(labels) if of is None else of) - len(shown)
    names = ", ".join(shown)
    return remark("{names} and {more} more", names=names, more=f"{more:,}") if more else names


_JOINERS: Final = "\u200c\u200d"
"""Invisible signs that make one picture of several, or keep letters of Persian and Hindi names as they are written."""

_CITED, _WHOLE, _TAIL = 24, 80, 16
"""Of a label that is cut, the characters of its beginning and of its end; up to so many it stands whole."""


def quoted(label: object) -> str:
    """Return a label for a sentence: in quotation marks if it begins with a sign, or has several words as titles do.

    The names of people and numbered things, up to three words that begin with a capital or a digit, have none.

    Examples
    --------
    >>> quoted("P290"), quoted("Anna Brown"), quoted("Trust and turnout"), quoted("=SUM(A1)")
    ('P290', 'Anna Brown', '“Trust and turnout”', '“=SUM(A1)”')
    """
    name = str(label)
    words = name.split()
    is_name = len(words) <= _NAME and all(word[0].isalnum() and not word[0].islower() for word in words)
    return name if name[:1].isalnum() and (len(words) == 1 or is_name) else phrase("“{name}”", name=name)


def called(label: object, noun: str, *, is_bare: bool = False) -> str:
    """Return a label for a sentence: a bare number with the noun for what it is, a title in quotation marks.

    ``is_bare`` is for tables and figures, which have no quotation marks.

    Examples
    --------
    >>> called("290", "proposal"), called("P290", "proposal"), called("Trust and turnout", "proposal")
    ('proposal 290', 'P290', '“Trust and turnout”')
    """
    name = str(label)
    if name.isdigit():
        return f"{term(noun)} {name}"
    return name if is_bare else quoted(name)


def cited(label: object, noun: str) -> str:
    """Return a label for a heading or a figure: as in a sentence, and a very long one without its middle.

    Examples
    --------
    >>> cited("P290", "proposal"), cited("Water works in northern harbour towns", "proposal")
    ('P290', '“Water works in northern harbour towns”')
    >>> cited("A comparative history of municipal water works in northern harbour towns, second part", "proposal")
    '“A comparative history … second part”'
    """
    name = str(label)
    if len(name) <= _WHOLE:
        return called(name, noun)
    head, tail = name[:_CITED].rpartition(" ")[0] or name[:_CITED], name[-_TAIL:].partition(" ")[2] or name[-_TAIL:]
    return phrase("“{name}”", name=f"{head.rstrip(_JOINERS)} … {tail.lstrip(_JOINERS)}")


def called_some(labels: Sequence[object], noun: str, most: int = NAMED) -> str:
    """Return labels in a line of a sentence: bare numbers with the noun for what they are.

    Examples
    --------
    >>> called_some(["5", "78"], "proposal"), called_some(["A", "78"], "proposal")
    ('proposals 5, 78', 'A, 78')
    """
    return _after(labels, noun) + name_some([quoted(label) for label in labels], most)


def _after(labels: Sequence[object], noun: str) -> str:
    """Return the noun that goes before labels which are bare numbers; empty where they are not."""
    if not labels or not all(str(label).isdigit() for label in labels):
        return ""
    return f"{term(noun) if len(labels) == 1 else plural(noun)} "


def together(labels: Sequence[object], noun: str, most: int = NAMED) -> str:
    """Return labels as a sentence has them that goes on about them: with an "and" before the last.

    Examples
    --------
    >>> together(["A", "B", "C"], "proposal"), together(["5", "78"], "proposal"), together(["A"], "proposal")
    ('A, B and C', 'proposals 5 and 78', 'A')
    """
    return _after(labels, noun) + listed([quoted(label) for label in labels], most)


def listed(clauses: Sequence[str], most: int = NAMED) -> str:
    """Return names or clauses in a line with an "and" before the last; of many, the first and how many more.

    Examples
    --------
    >>> listed(["without Kaur", "with 4 places"]), listed(["A", "B", "C", "D"], 2)
    ('without Kaur and with 4 places', 'A, B and 2 more')
    """
    if not 1 < len(clauses) <= most + 1:
        return name_some(clauses, most)
    return phrase("{most} and {last}", most=", ".join(clauses[:-1]), last=clauses[-1])


def printable(text: object) -> str:
    r"""Return text in one line, with control characters made visible so that no label can steer a terminal.

    Signs that join or part the letters of a name stay within it, and so do spaces of any kind.

    Examples
    --------
    >>> printable("\x1b[2J a\nb"), printable("\U0001f469\u200d\U0001f680") == "\U0001f469\u200d\U0001f680"
    ('\\x1b[2J a\\nb', True)
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(
        char if _is_visible(whole, at) else char.encode("unicode_escape").decode("ascii")
        for at, char in enumerate(whole)
    )


def _is_visible(text: str, at: int) -> bool:
    """Return whether a character of a text shows, or belongs to what shows."""
    char = text[at]
    if char in _JOINERS:
        beside = text[at - 1 : at] + text[at + 1 : at + 2]
        return len(beside) == 2 and not any(one.isascii() for one in beside) and beside.isprintable()
    return char.isprintable() or unicodedata.category(char) == "Zs"


def number(
    value: float | None,
    digits: int = 2,
    *,
    signed: bool = False,
    minus: str = "−",
    small: bool = False,
    in_sentence: bool = False,
) -> str:
    """Return a number for reading, with some decimals; a dash where there is none.

    From ten million on it has three digits and a power of ten. ``signed`` numbers above zero have a plus sign; with
    ``small``, numbers that would look like zero have three digits instead; ``in_sentence`` sets thousands apart,
    however large the number, and gives zero no sign. The minus sign is the real one, unless another is asked for.

    Examples
    --------
    >>> number(-0.004), number(-0.004, small=True), number(-1234.5, 1, in_sentence=True), number(None)
    ('−0.00', '−0.004', '−1,234.5', '–')
    """
    if value is None or value != value:
        return "–"
    form = f".{digits}f"
    if in_sentence:
        value = round(value, digits) + 0.0
        signed, form = signed and value != 0, f",{form}"
    elif small and abs(value) < 10.0**-digits:
        value, form = (value, ".3g") if abs(value) >= 1e-9 else (0.0, form)
    elif abs(value) >= 1e7:
        form = ".3g"
    return f"{value:{'+' if signed else ''}{form}}".replace("-", minus)


def percent(share: float, digits: int = 6) -> str:
    """Return a share in percent, with this many digits at most: ``90%``."""
    return f"{100 * share:.{digits}g}%"


def chance(probability: float | None) -> str:
    """Return a probability in whole percent that never claim certainty; a dash where there is none.

    Examples
    --------
    >>> chance(0.123), chance(0.9999), chance(1.0), chance(0.0), chance(0.995), chance(0.005)
    ('12%', '>99%', '>99%', '<1%', '>99%', '<1%')
    """
    if probability is None:
        return "–"
    whole = f"{100 * probability:.0f}%"
    return {"0%": "<1%", "100%": ">99%"}.get(whole, whole)


def decimals(spread: float) -> int:
    """Return the decimals of points where scores spread so far: one, and more where that is less than ten points.

    Examples
    --------
    >>> decimals(61.0), decimals(4.0), decimals(0.2), decimals(0.0)
    (1, 2, 3, 1)
    """
    return min(_MOST_DIGITS, max(1, 2 - math.floor(math.log10(spread)))) if 0 < spread < 10 else 1


def digits_of(numbers: Iterable[float]) -> int:
    """Return the decimals that tell numbers apart: two, and more where all lie within a point.

    Examples
    --------
    >>> digits_of([60.0, 70.0]), digits_of([0.001, 0.002])
    (2, 5)
    """
    found = list(numbers)
    spread = max(found, default=0.0) - min(found, default=0.0)
    return 2 if spread >= 1 or spread <= 1e-9 else min(9, 2 - math.floor(math.log10(spread)))
