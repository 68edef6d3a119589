"""What headings mean: names of columns in seven languages, and headings that name a label and what is said of it."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from evenhand.panel import lexicon
from evenhand.panel.confidence import FormHint

Role = Literal["object", "assessor", "score", "uncertainty", "confidence", "level"]
"""What a column can be for; each is also the name of the option that gives it."""

HeadingKind = (
    Role
    | Literal["title", "self", "time", "counter", "criterion", "mean", "sum", "rank", "spread", "summary"]
    | Literal["expertise", "outcome", "fact", "remark"]
)
"""What a heading can mean: a role, or what stands beside: titles, times, counters and what is computed of scores."""

_PLURALS: Final = {"entry": "entries", "thesis": "theses"}
_TAGS: Final = (" id", " name", " number", " no", " nr", " num", " code", " label", " ref", " #", "#")


def _tagged(words: Sequence[str]) -> tuple[str, ...]:
    """Return every word alone, in the plural, and with a tag such as ``id`` or ``number`` after it."""
    return tuple(
        dict.fromkeys(
            name for word in words for name in (word, _PLURALS.get(word, word + "s"), *(word + tag for tag in _TAGS))
        )
    )


def _plural(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for word in words for name in (word, f"{word}s") if name != "notes"))


SYNONYMS: Final[dict[Role, tuple[str, ...]]] = {
    "object": _tagged(lexicon.THINGS),
    "assessor": (*_tagged(lexicon.PEOPLE), *_tagged(("model",))),
    "score": _plural(lexicon.SCORES),
    "uncertainty": lexicon.UNCERTAINTIES,
    "confidence": (*lexicon.CONFIDENCES, *lexicon.WEIGHTS),
    "level": lexicon.LEVELS_NAMED,
}
"""Names, folded as by `fold`, by which each role is recognised.

Words for objects and assessors are also recognised in the plural and followed by ``id``, ``name``, ``number``,
``no``, ``nr``, ``num``, ``code``, ``label``, ``ref`` or ``#``.
"""

EITHER_SD_OR_LEVEL: Final = ("confidence std dev", "confidence sd", "confidence stdev", "confidence or std dev")
"""Names of a column of levels if its cells are text and of standard deviations if they are numbers."""

_FOLDED: Final = re.compile(r"[\s_\-/.:?*!]+")
_LETTERS: Final = str.maketrans({"œ": "oe", "æ": "ae", "ı": "i", "’": "'", "`": "'"})


@functools.cache
def roles_by_name() -> dict[str, Role]:
    """Return the role of every name by which one is recognised."""
    found: dict[str, Role] = {name: role for role, names in reversed(SYNONYMS.items()) for name in names}
    return found | dict.fromkeys(EITHER_SD_OR_LEVEL, "uncertainty")


FORMS: Final[dict[Role, FormHint]] = {"uncertainty": "uncertainty", "confidence": "confidence", "level": "level"}
"""Roles of a column that says how sure the assessor was, and the form that each means where it is given."""


def plain_text(text: str) -> str:
    """Return text in lower case, without accents, and with single spaces.

    Examples
    --------
    >>> plain_text("  Très  Élevée ")
    'tres elevee'
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKD", text.translate(_LETTERS).casefold())
    return " ".join("".join(char for char in folded if not unicodedata.combining(char)).split())


def fold(name: str) -> str:
    """Fold a name for comparison: lower case, no accents, and every run of spaces and ``_ - / . : ? * !`` one space.

    Examples
    --------
    >>> fold(" Confidence/ Std_Dev. "), fold("Évaluateur")
    ('confidence std dev', 'evaluateur')
    """
    return _FOLDED.sub(" ", plain_text(name)).strip()


def is_known(name: str) -> bool:
    """Say whether a name is one by which a column is recognised."""
    return fold(name) in roles_by_name()


def known_names() -> dict[str, tuple[str, ...]]:
    """Return the names by which columns are recognised, by what they are for; without plurals and tags."""
    sure = [name for name in lexicon.UNCERTAINTIES if len(name) > 1]
    return {
        "objects": lexicon.THINGS,
        "assessors": lexicon.PEOPLE,
        "scores": lexicon.SCORES,
        "how sure: levels or weights": (*lexicon.CONFIDENCES, *lexicon.LEVELS_NAMED),
        "how sure: weights": tuple(dict.fromkeys(lexicon.WEIGHTS)),
        "how sure: standard deviations": tuple(sure),
    }


# --- what a heading means --------------------------------------------------------------------------


class Meaning(NamedTuple):
    """What a heading means, and how plainly: 3 where it is a known name, 2 where a word of it says so."""

    kind: HeadingKind
    strength: int


_BRACKETS: Final = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
_LAST_BRACKETS: Final = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_NUMBERED: Final = re.compile(r"^(.*?)[\s#.]*(\d+)$")


@functools.cache
def _kinds() -> dict[str, HeadingKind]:
    """Return what single words, and names that no role has, mean."""
    found: dict[str, HeadingKind] = {}
    groups: list[tuple[HeadingKind, Iterable[str]]] = [
        ("remark", lexicon.REMARKS),
        ("fact", lexicon.FACTS),
        ("outcome", lexicon.OUTCOMES),
        ("expertise", lexicon.EXPERTISE),
        ("summary", lexicon.OTHER_SUMMARIES),
        ("counter", lexicon.COUNTERS),
        ("time", lexicon.TIMES),
        ("title", lexicon.TITLES),
        ("spread", lexicon.SPREADS),
        ("criterion", lexicon.CRITERION_NAMES),
        ("self", lexicon.SELF),
        ("sum", lexicon.SUMS),
        ("rank", lexicon.RANKS),
        ("mean", lexicon.MEANS),
    ]
    for kind, words in groups:
        found |= dict.fromkeys(words, kind)
    return found


_LONGEST: Final = 1000
"""Characters of a heading that are looked at: what is longer is prose, and is neither searched nor kept in memory."""


def meaning_of(name: str) -> Meaning | None:
    """Return what a heading means; None where it says nothing that is known.

    The last known word decides, of what stands before an ``of``; what stands in brackets does not count.

    Examples
    --------
    >>> meaning_of("Reviewer e-mail"), meaning_of("Overall score (1-10)"), meaning_of("Paper title")
    (Meaning(kind='assessor', strength=2), Meaning(kind='score', strength=3), Meaning(kind='title', strength=2))
    """
    return _known_meaning(name[:_LONGEST])


@functools.lru_cache(maxsize=4096)
def _known_meaning(name: str) -> Meaning | None:
    """Return what a heading means, each found once."""
    whole = fold(_BRACKETS.sub(" ", name)).strip(" #,;'\"") or fold(name)
    roles, kinds = roles_by_name(), _kinds()
    for text in (fold(name), whole):
        if text in kinds and (text not in roles or kinds[text] in ("mean", "rank")):
            return Meaning(kinds[text], 3)
        if text in roles:
            return Meaning(roles[text], 3)
    words = [word.removesuffix("'s") for word in re.split(r"[\s,;]+", whole) if word not in lexicon.FILLERS]
    text = f" {' '.join(words)} "
    for phrase in ("how confident", "how sure", "how certain", "wie sicher", "hoe zeker"):
        if f" {phrase} " in text:
            return Meaning("confidence", 2)
    if any(f" {phrase} " in f" {whole} " for phrase in lexicon.OWN_NAMES):
        return Meaning("self", 2)
    if (
        len(words) > 1
        and words[-1] in ("id", "uuid", "url", "ip", "no", "nr", "number")
        and _governing(words[:-1]) is None
    ):
        return Meaning("counter", 2)
    if any(word in lexicon.MEANS - lexicon.PERSONAL for word in words):
        return Meaning("mean", 2)
    if any(word in lexicon.REMARKS for word in words):
        return Meaning("remark", 2)
    if any(word in lexicon.EXPERTISE for word in words):
        return Meaning("expertise", 2)
    at = next((at for at, word in enumerate(words) if word in lexicon.OF and at), len(words))
    return _governing(words[:at]) or _governing(words[at:])


def _governing(words: Sequence[str]) -> Meaning | None:
    """Return what the last known word of some means: a tag such as ``id`` goes with the word before it."""
    roles, kinds = roles_by_name(), _kinds()
    tags = {*lexicon.TAGS, "mail", "email", "e", "address"}
    for at in range(len(words), 0, -1):
        word = words[at - 1]
        pair = " ".join(words[max(at - 2, 0) : at])
        if pair in roles:
            return Meaning(roles[pair], 2)
        before = [one for one in words[: at - 1] if one in roles and roles[one] in ("object", "assessor")]
        if word in tags and before:
            return Meaning(
                "title" if word in lexicon.TITLES and roles[before[-1]] == "object" else roles[before[-1]], 2
            )
        for table in (roles, kinds):
            if word in table and word not in tags:
                return Meaning(table[word], 2)
        if word.endswith("s") and word != "notes" and word[:-1] in roles:
            return Meaning(roles[word[:-1]], 2)
    return None


_BEST, _WORST = ("|".join(words) for words in (lexicon.BEST, lexicon.WORST))
_ONE_IS_BEST: Final = re.compile(
    rf"(?<![\d.,-])1(?:[.,]0)?\s*(?:=|:|-|is|ist|\()?\s*(?:the )?(?:{_BEST})\b"
    rf"|\b(?:{_BEST})\s*(?:=|:|\()\s*1(?![\d%.])"
)
_MOST_IS_WORST: Final = re.compile(rf"(?<![\d.,])(?:[3-9]|10)(?:[.,]0)?\s*(?:=|:|-|is|ist)\s*(?:the )?(?:{_WORST})\b")
_GERMAN_NOTE: Final = re.compile(r"\b(?:\w{3,})?noten?\b")


def says_one_is_best(text: str) -> bool:
    """Say whether a cell tells that 1 is the best score.

    Examples
    --------
    >>> says_one_is_best("1 = sehr gut"), says_one_is_best("excellent (1)"), says_one_is_best("10: excellent")
    (True, True, False)
    """
    return _ONE_IS_BEST.search(plain_text(text)) is not None


def says_lowest_is_best(name: str) -> bool:
    """Say whether the legend in a heading of scores tells that the lowest one is the best.

    Examples
    --------
    >>> says_lowest_is_best("Bewertung (1 = sehr gut, 6 = ungenügend)"), says_lowest_is_best("Score (lower is better)")
    (True, True)
    >>> says_lowest_is_best("Score (1 = poor, 5 = excellent)")
    False
    """
    text = plain_text(name)
    is_said = says_one_is_best(text) or _MOST_IS_WORST.search(text) is not None
    return is_said or any(phrase in text for phrase in lexicon.LOWER_IS_BETTER)


def may_be_german_note(name: str) -> bool:
    """Say whether a heading may be the German word for marks of which 1 is the best; a scale in it may say otherwise.

    Examples
    --------
    >>> may_be_german_note("Gesamtnote"), may_be_german_note("Note globale"), may_be_german_note("Note (0-20)")
    (True, False, False)
    """
    text, scale = fold(name), SCALE.search(name)
    is_french = text.startswith("note ") and text in lexicon.SCORES
    is_short = scale is None or (int(scale[1]) == 1 and int(scale[2]) <= 6)
    return is_short and not is_french and _GERMAN_NOTE.search(text) is not None


def without_number(name: str) -> tuple[str, int] | None:
    """Return a heading without the number at its end, and the number; None where it has none.

    Examples
    --------
    >>> without_number("Reviewer 2"), without_number("Mark #1")
    (('Reviewer', 2), ('Mark', 1))
    """
    found = _NUMBERED.match(name.strip())
    return (found[1].strip(" #_-."), int(found[2])) if found and len(found[2]) < 5 else None


def numbered(label: str) -> int | None:
    """Return the number of a place such as ``Reviewer 2`` or ``Second marker``; None of any other label.

    Examples
    --------
    >>> numbered("Reviewer 2"), numbered("Second marker"), numbered("R3"), numbered("Anna 2")
    (2, 2, 3, None)
    """
    parts = without_number(label) or ordinal_of(label)
    if parts is None:
        return None
    meaning = meaning_of(parts[0])
    is_person = meaning is not None and meaning.kind == "assessor"
    return parts[1] if is_person or fold(parts[0]) in ("r", "rev") else None


def form_of(name: str) -> FormHint:
    """Return how a column that says how sure the assessor was is to be read, by its name.

    Examples
    --------
    >>> form_of("sd"), form_of("Confidence"), form_of("credits"), form_of("How confident are you?")
    ('uncertainty', 'level_or_confidence', 'confidence', 'level_or_confidence')
    """
    folded = fold(name)
    if folded in EITHER_SD_OR_LEVEL:
        return "level_or_uncertainty"
    role = roles_by_name().get(folded)
    if role not in FORMS:
        meaning = meaning_of(name)
        role = meaning.kind if meaning is not None and meaning.kind in FORMS else "confidence"
    if role == "confidence" and folded not in lexicon.WEIGHTS:
        return "level_or_confidence"
    return FORMS[role]


BESIDE: Final = {
    "time": "a time",
    "counter": "a counter",
    "mean": "a mean",
    "rank": "a rank",
    "sum": "a sum",
    "outcome": "what was decided",
    "fact": "a fact about the object, by its name",
    "remark": "text",
}
"""Kinds of columns that are told of in a word where they are not read."""

# --- names of what is computed ---

COMPUTED: Final = {"mean": "a mean", "sum": "a sum", "rank": "a rank", "spread": "a spread", "summary": "a summary"}


def is_summary_name(name: str, is_loose: bool = False) -> bool:
    """Say whether a name is of something computed; ``is_loose`` where one word of it suffices."""
    meaning = meaning_of(name) if len(name) < 60 else None
    is_meant = meaning is not None and meaning.kind in COMPUTED and meaning.strength >= (2 if is_loose else 3)
    return is_meant or fold(name) in lexicon.SUMS


def is_computed(cell: object, is_loose: bool = False) -> bool:
    """Say whether the label of a row is of something computed, and no row of an object or a person.

    What can be reached counts, too, and what columns count: ``Max. points``, ``Weight``.
    """
    if not isinstance(cell, str) or fold(cell) in lexicon.PERSONAL:
        return False
    words = fold(cell).split()
    is_possible = 0 < len(words) < 4 and not lexicon.POSSIBLE.isdisjoint(words)
    return is_summary_name(cell, is_loose) or (
        is_possible and all(word in lexicon.POSSIBLE or word in lexicon.SCORES for word in words)
    )


# --- headings of two parts ---

WEIGHT: Final = re.compile(r"[(\[]\s*(\d+(?:[.,]\d+)?)\s*%\s*[)\]]")
SCALE: Final = re.compile(r"(\d+)\s*(?:-|–|—|to|bis|a|à|tot)\s*(\d+)")
_SPLITS: Final = (
    re.compile(r"(?P<rest>.+?)\s*\[(?P<label>.+)\]\s*"),
    re.compile(r"(?P<label>.+?)\s*(?::|–|—| - |\||/)\s*(?P<rest>.+)"),
    re.compile(r"(?P<label>.+?)\s*\((?P<rest>[^()]+)\)\s*"),
)


def split_heading(name: str) -> tuple[str, str | None]:
    """Split a heading into a label and what its column says of it; None where it is but one thing.

    Examples
    --------
    >>> split_heading("Anna: Score"), split_heading("Anna confidence"), split_heading("Score (Anna)")
    (('Anna', 'Score'), ('Anna', 'confidence'), ('Anna', 'Score'))
    >>> split_heading("Rate each entry [Elm]"), split_heading("Anna")
    (('Elm', 'Rate each entry'), ('Anna', None))
    """
    for pattern in _SPLITS:
        found = pattern.fullmatch(name.strip())
        if found is None:
            continue
        label, rest = found["label"].strip(), found["rest"].strip()
        if "[" not in name:
            first, second = meaning_of(label), meaning_of(rest)
            if WEIGHT.search(name) or SCALE.fullmatch(rest) or re.fullmatch(r"[\d.,/ ]+|.*\d+\s*pts?.*", rest):
                return name.strip(), None
            if first is not None and second is None and first.kind in ("score", *FORMS, "assessor"):
                label, rest = rest, label
        return label, rest
    words = name.split()
    for cut in range(1, len(words)):
        for label, rest in ((words[:cut], words[cut:]), (words[cut:], words[:cut])):
            meaning = meaning_of(" ".join(rest))
            is_told = meaning is not None and meaning.strength == 3 and meaning.kind in ("score", *FORMS)
            is_free = meaning_of(" ".join(label)) is None or without_number(" ".join(label))
            if is_told and is_free and fold(" ".join(rest)) not in ("note", "notes", "total", "overall", "sure"):
                return " ".join(label), " ".join(rest)
    return name.strip(), None


def heading(name: str) -> str:
    """Return the label that the heading of a wide sheet gives: without the question that goes with all of them.

    Examples
    --------
    >>> heading("Avaliador: Ana"), heading("Score [Elm]"), heading("Anna"), heading("Reviewer 1")
    ('Ana', 'Elm', 'Anna', 'Reviewer 1')
    """
    label, rest = split_heading(name)
    if rest is None:
        return name.strip()
    first = meaning_of(label)
    if "[" not in name and first is not None and first.kind in ("assessor", "object") and meaning_of(rest) is None:
        return rest
    meaning = meaning_of(rest)
    return label if "[" in name or (meaning is not None and meaning.kind in ("score", "assessor")) else name.strip()


def headings(names: Sequence[str]) -> list[str]:
    """Return the labels that the headings of a wide sheet give, without what stands before or after each of them.

    Examples
    --------
    >>> headings(["Please rate: Elm", "Please rate: Fir"]), headings(["Anna", "Ben"])
    (['Elm', 'Fir'], ['Anna', 'Ben'])
    >>> headings(["Anna (max 10)", "Ben (max 10)"])
    ['Anna', 'Ben']
    """
    ends = [_LAST_BRACKETS.search(name) for name in names]
    if len(names) > 1 and all(ends) and len({one[0].strip() for one in ends if one}) == 1:
        names = [_LAST_BRACKETS.sub("", name) for name in names]
    parts = [name.partition(": ") for name in names]
    if len(names) > 1 and len({part[0] for part in parts}) == 1 and all(part[2] for part in parts):
        return [part[2].strip() for part in parts]
    return [heading(name) for name in names]


class GroupPart(NamedTuple):
    """Which of several assessors of a row a heading is about, what it says of the assessor, and whether by a number."""

    key: str | None
    kind: str
    is_number: bool = False


def group_of(name: str) -> GroupPart:
    """Return which of several assessors of a row a heading is about, and what it says of the assessor.

    Examples
    --------
    >>> group_of("Marker 2")[:2], group_of("Reviewer 1 score")[:2], group_of("Second marker")[:2]
    (('2', 'assessor'), ('1', 'score'), ('2', 'assessor'))
    """
    bare = re.sub(r"[(\[].*?[)\]]", " ", name)
    numbers = re.findall(r"(?<![\d.])\d{1,2}(?![\d.])", bare)
    ordinal = ordinal_of(name)
    if len(numbers) == 1:
        key, rest = numbers[0], re.sub(r"#?\b\d{1,2}\b", " ", bare)
    else:
        key, rest = (str(ordinal[1]), ordinal[0]) if ordinal else (None, bare)
    meaning = meaning_of(" ".join(rest.split())) if rest.strip() else None
    return GroupPart(key, "" if meaning is None else meaning.kind, len(numbers) == 1)


_ORDINALS: Final = {
    word: at
    for at, words in enumerate(
        (
            "first 1st erst erste erster premier premiere primer primero primo prima primeiro eerste",
            "second 2nd zweit zweite zweiter deuxieme segundo secondo segunda tweede",
            "third 3rd dritt dritte dritter troisieme tercer tercero terzo terceiro derde",
        ),
        1,
    )
    for word in words.split()
}


def ordinal_of(name: str) -> tuple[str, int] | None:
    """Return a heading without the word first, second or third in it, and which it is."""
    words = fold(name).split()
    found = [word for word in words if word in _ORDINALS]
    return (" ".join(word for word in words if word not in _ORDINALS), _ORDINALS[found[0]]) if len(found) == 1 else None


def bare_name(name: str) -> str:
    """Return a heading without the weight in it, and of a grid without its question.

    Examples
    --------
    >>> bare_name("Impact (40 %)"), bare_name("Please rate [Taste]")
    ('Impact', 'Taste')
    """
    found = re.fullmatch(r".+?\[(.+)\]\s*", name.strip())
    return WEIGHT.sub("", found[1] if found else name).strip(" :-") or name.strip()


def weights_in(names: Sequence[str]) -> dict[str, float]:
    """Return what criteria count, where every heading says so: ``Impact (40 %)``.

    Examples
    --------
    >>> weights_in(["Impact (40 %)", "Team (60%)"]), weights_in(["Impact", "Team (60%)"])
    ({'Impact': 0.4, 'Team': 0.6}, {})
    """
    found = {bare_name(name): WEIGHT.search(name) for name in names}
    if not found or any(one is None for one in found.values()):
        return {}
    return {name: float(one[1].replace(",", ".")) / 100 for name, one in found.items() if one is not None}


def is_criterion(name: str) -> bool:
    """Say whether a heading names a criterion, by a word that is known or with a weight.

    Examples
    --------
    >>> is_criterion("Novelty"), is_criterion("Team spirit (40 %)"), is_criterion("Anna")
    (True, True, False)
    """
    known = any(word in lexicon.CRITERIA for word in fold(bare_name(name)).split())
    return known or WEIGHT.search(name) is not None


def is_question(name: str) -> bool:
    """Say whether a heading names a task or a year, such as ``Q3``, ``Quiz 2`` or ``2025``, and so no assessor."""
    parts = without_number(name)
    if re.fullmatch(r"(19|20)\d\d", name.strip()):
        return True
    return fold(name if parts is None else parts[0]) in lexicon.TASKS


# --- labels ---

_CODE: Final = re.compile(r"[#(]?([A-Z]{0,5}|[A-Za-z]{0,2}|[A-Za-z]{3,5}(?=[\s._/-]))[\s._/-]?\d[\w./-]*\)?")
_INITIALS: Final = frozenset("jrameg")
"""First letters of words for assessors by which these are often numbered: J1, R2."""


def is_code(label: str) -> bool:
    """Say whether a label looks like a number or code of a thing, such as ``P07`` or ``#12``, and of no assessor.

    Examples
    --------
    >>> is_code("P07"), is_code("#12"), is_code("J1"), is_code("vet2")
    (True, True, False, False)
    """
    found = _CODE.fullmatch(label.strip())
    return found is not None and found[1].casefold() not in _INITIALS


def is_thing(label: str) -> bool:
    """Say whether a label looks like that of a thing: a code, or a title."""
    return is_code(label) or len(label.split()) > 3


def is_full_name(label: str) -> bool:
    """Say whether a label looks like a person's full name, or like a name with a title before it."""
    return len(label.replace(".", " ").split()) > 1 and is_person(label)


def is_person(label: str) -> bool:
    """Say whether a label may be a person's name or initials; many other labels may."""
    if re.fullmatch(r"[a-z]{2,3}|[A-Z]{2,3}", label.strip()):
        return True
    words = label.replace(".", " ").split()
    return 0 < len(words) < 4 and all(
        word[:1].isupper() and word.replace("-", "").replace("'", "").isalpha() for word in words
    )
