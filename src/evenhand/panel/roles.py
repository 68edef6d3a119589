"""Which column holds objects, assessors, scores and confidences: what a heading means, recognised by name or given."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from evenhand.errors import InputError
from evenhand.panel import lexicon
from evenhand.panel.confidence import FormHint

Role = Literal["object", "assessor", "score", "uncertainty", "confidence", "level"]
"""What a column can be for; each is also the name of the option that gives it."""

Kind = (
    Role
    | Literal["title", "self", "time", "counter", "criterion", "mean", "sum", "rank", "spread", "summary"]
    | Literal["expertise", "outcome", "fact"]
)
"""What a heading can mean: a role, or what stands beside: titles, times, counters and what is computed of scores."""

_PLURALS: Final = {"entry": "entries", "thesis": "theses"}
_TAGS: Final = (" id", " name", " number", " no", " nr", " num", " code", " label", " ref", " #", "#")


def _tagged(words: Sequence[str]) -> tuple[str, ...]:
    """Return every word alone, in the plural, and with a tag such as ``id`` or ``number`` after it."""
    return tuple(
        name for word in words for name in (word, _PLURALS.get(word, word + "s"), *(word + tag for tag in _TAGS))
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

EITHER_WEIGHT_OR_LEVEL: Final = lexicon.CONFIDENCES
"""Names of a column of levels if its cells are words or steps of a small scale, and of weights if they are not."""

_FOLDED: Final = re.compile(r"[\s_\-/.:?*!]+")
_LETTERS: Final = str.maketrans({"œ": "oe", "æ": "ae", "ı": "i", "’": "'", "`": "'"})


@functools.cache
def _roles() -> dict[str, Role]:
    """Return the role of every name by which one is recognised."""
    found: dict[str, Role] = {name: role for role, names in reversed(SYNONYMS.items()) for name in names}
    return found | dict.fromkeys(EITHER_SD_OR_LEVEL, "uncertainty")


_NEEDED: Final[tuple[Role, ...]] = ("object", "assessor", "score")
FORMS: Final[dict[Role, FormHint]] = {"uncertainty": "uncertainty", "confidence": "confidence", "level": "level"}
"""Roles of a column that says how sure the assessor was, and the form that each means where it is given."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Where the columns of a panel stand in a table, counted from 0.

    ``confidence`` is the column that says how sure the assessor was, in whatever form; ``form`` is how to read it.
    """

    object: int
    assessor: int
    score: int
    confidence: int | None = None
    form: FormHint = "none"
    criterion: int | None = None
    covariates: tuple[int, ...] = ()

    @property
    def used(self) -> tuple[int, ...]:
        """All these columns: of objects, assessors, scores, confidences, criteria and covariates, in this order."""
        further = [index for index in (self.confidence, self.criterion) if index is not None]
        return (self.object, self.assessor, self.score, *further, *self.covariates)


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
    return fold(name) in _roles()


# --- what a heading means --------------------------------------------------------------------------


class Meaning(NamedTuple):
    """What a heading means, and how plainly: 3 where it is a known name, 2 where a word of it says so."""

    kind: Kind
    strength: int


_OF: Final = frozenset(
    [
        "of",
        "for",
        "by",
        "on",
        "in",
        "der",
        "des",
        "fur",
        "von",
        "du",
        "de",
        "des",
        "del",
        "della",
        "dei",
        "di",
        "do",
        "da",
        "van",
        "voor",
        "per",
        "sur",
        "a",
    ]
)
_FILLERS: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "your",
        "this",
        "each",
        "my",
        "our",
        "their",
        "die",
        "das",
        "den",
        "le",
        "la",
        "les",
        "l",
        "el",
        "los",
        "lo",
        "il",
        "o",
        "os",
        "het",
        "een",
    ]
)
_OWN: Final = (
    "your name",
    "ihr name",
    "dein name",
    "votre nom",
    "su nombre",
    "tu nombre",
    "tuo nome",
    "seu nome",
    "uw naam",
    "your email",
    "your e mail",
)
_BRACKETS: Final = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
_NUMBERED: Final = re.compile(r"^(.*?)[\s#.]*(\d+)$")


@functools.cache
def _kinds() -> dict[str, Kind]:
    """Return what single words, and names that no role has, mean."""
    found: dict[str, Kind] = {}
    groups: list[tuple[Kind, Iterable[str]]] = [
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


@functools.lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning | None:
    """Return what a heading means; None where it says nothing that is known.

    The last known word decides, of what stands before an ``of``; what stands in brackets does not count.

    Examples
    --------
    >>> meaning_of("Reviewer e-mail"), meaning_of("Overall score (1-10)"), meaning_of("Paper title")
    (Meaning(kind='assessor', strength=2), Meaning(kind='score', strength=3), Meaning(kind='title', strength=2))
    """
    whole = fold(_BRACKETS.sub(" ", name)).strip(" #,;'\"") or fold(name)
    roles, kinds = _roles(), _kinds()
    for text in (fold(name), whole):
        if text in kinds and (text not in roles or kinds[text] in ("mean", "rank")):
            return Meaning(kinds[text], 3)
        if text in roles:
            return Meaning(roles[text], 3)
    words = [word.removesuffix("'s") for word in re.split(r"[\s,;]+", whole) if word not in _FILLERS]
    text = f" {' '.join(words)} "
    for phrase in ("how confident", "how sure", "wie sicher", "hoe zeker"):
        if f" {phrase} " in text:
            return Meaning("confidence", 2)
    if any(f" {phrase} " in f" {whole} " for phrase in _OWN):
        return Meaning("self", 2)
    if len(words) > 1 and words[-1] in ("id", "uuid", "url", "ip") and _governing(words[:-1]) is None:
        return Meaning("counter", 2)
    if any(word in lexicon.MEANS - lexicon.PERSONAL for word in words):
        return Meaning("mean", 2)
    at = next((at for at, word in enumerate(words) if word in _OF and at), len(words))
    return _governing(words[:at]) or _governing(words[at:])


def _governing(words: Sequence[str]) -> Meaning | None:
    """Return what the last known word of some means: a tag such as ``id`` goes with the word before it."""
    roles, kinds = _roles(), _kinds()
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


def without_number(name: str) -> tuple[str, int] | None:
    """Return a heading without the number at its end, and the number; None where it has none.

    Examples
    --------
    >>> without_number("Reviewer 2"), without_number("Mark #1")
    (('Reviewer', 2), ('Mark', 1))
    """
    found = _NUMBERED.match(name.strip())
    return (found[1].strip(" #_-."), int(found[2])) if found and len(found[2]) < 5 else None


# --- columns by name ---------------------------------------------------------------------------------


def find_column(names: Sequence[str], wanted: str, *, option: str, source: str) -> int:
    """Return the index of the column that the user named with an option, exactly as written or else folded.

    It is the first where the very same name stands twice; ``source`` is what to call the table in messages.
    """
    if wanted.strip() and wanted.strip() in names:
        return names.index(wanted.strip())
    alike = [index for index, name in enumerate(names) if name and fold(name) == fold(wanted)]
    if not alike:
        raise InputError(
            f"There is no column {wanted!r}, which --{option} names; the columns are {quoted(names)}.",
            kind="missing_column",
            where=source,
        )
    if len({names[index] for index in alike}) > 1:
        raise InputError(
            f"The name {wanted!r} fits the columns {quoted([names[index] for index in alike])}: "
            f"write the one that --{option} means exactly as it stands in the header.",
            kind="ambiguous_column",
            where=source,
        )
    return alike[0]


def recognise(
    names: Sequence[str],
    *,
    object: str | None = None,
    assessor: str | None = None,
    score: str | None = None,
    uncertainty: str | None = None,
    confidence: str | None = None,
    level: str | None = None,
    criterion: str | None = None,
    covariates: Sequence[str] = (),
    source: str,
) -> Roles:
    """Find the columns of a panel by their names, or take those that the user named.

    At most one of ``uncertainty``, ``confidence`` and ``level`` may be named. Criterion and covariates are never
    guessed, and a column that is named for them is read as nothing else; ``source`` is what to call the table in
    messages.

    Examples
    --------
    >>> recognise(["Objects", "Assessors", "Score", "Confidence/ Std Dev"], source="workbook.xlsx")
    Roles(object=0, assessor=1, score=2, confidence=3, form='level_or_uncertainty', criterion=None, covariates=())
    """
    asked: dict[Role, str | None] = {
        "object": object,
        "assessor": assessor,
        "score": score,
        "uncertainty": uncertainty,
        "confidence": confidence,
        "level": level,
    }
    forms = [role for role in FORMS if asked[role] is not None]
    if len(forms) > 1:
        raise InputError(
            f"Both --{forms[0]} and --{forms[1]} are given: give the one that says how sure the assessors were.",
            kind="ambiguous_column",
            where=source,
        )
    given = {
        role: find_column(names, name, option=role, source=source) for role, name in asked.items() if name is not None
    }
    about = None if criterion is None else find_column(names, criterion, option="criterion", source=source)
    further = [find_column(names, name, option="covariate", source=source) for name in listed_names(covariates)]
    taken = [*given.items(), *([] if about is None else [("criterion", about)]), *(("covariate", at) for at in further)]
    _refuse_shared(taken, names, source)
    free = _first_of_each(names, {index for _, index in taken})
    candidates: dict[Role, list[int]] = {role: [] for role in SYNONYMS}
    for index in free:
        candidates[_roles()[fold(names[index])]].append(index)
    missing = [role for role in _NEEDED if role not in given and not candidates[role]]
    if missing:
        raise missing_columns(missing, names, source)
    found = {role: given[role] if role in given else _only(candidates[role], names, [role], source) for role in _NEEDED}
    place, form = _confidence(given, candidates, names, source)
    return Roles(found["object"], found["assessor"], found["score"], place, form, about, tuple(further))


def listed_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns without outer white space; one name may stand without a list around it.

    Examples
    --------
    >>> listed_names("order"), listed_names(["order", " round"])
    (('order',), ('order', 'round'))
    """
    return tuple(name.strip() for name in ((given,) if isinstance(given, str) else given))


def _confidence(
    given: dict[Role, int], candidates: dict[Role, list[int]], names: Sequence[str], source: str
) -> tuple[int | None, FormHint]:
    """Return the index and the form of the confidence column."""
    for role, form in FORMS.items():
        if role in given:
            return given[role], form
    indices = sorted(index for role in FORMS for index in candidates[role])
    if not indices:
        return None, "none"
    index = _only(indices, names, list(FORMS), source)
    return index, form_of(names[index])


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
    role = _roles().get(folded)
    if role not in FORMS:
        meaning = meaning_of(name)
        role = meaning.kind if meaning is not None and meaning.kind in FORMS else "confidence"
    if role == "confidence" and folded not in lexicon.WEIGHTS:
        return "level_or_confidence"
    return FORMS[role]


def _first_of_each(names: Sequence[str], taken: set[int]) -> list[int]:
    """Return the recognised columns that are not taken, the first where the very same name stands twice."""
    seen = {names[index] for index in taken}
    free = []
    for index, name in enumerate(names):
        if name not in seen and fold(name) in _roles():
            seen.add(name)
            free.append(index)
    return free


def _only(indices: Sequence[int], names: Sequence[str], options: Sequence[str], source: str) -> int:
    """Return the one candidate, or say which option settles between several."""
    if len(indices) == 1:
        return indices[0]
    chosen = [names[index] for index in indices]
    what = "how sure the assessors were" if len(options) > 1 else f"the {options[0]}s"
    settle = " or ".join(f"--{option}" for option in options)
    raise InputError(
        f"The columns {quoted(chosen)} could each hold {what}: say which one it is with {settle}.",
        kind="ambiguous_column",
        where=source,
    )


def _refuse_shared(given: Sequence[tuple[str, int]], names: Sequence[str], source: str) -> None:
    """Refuse one column that is given for two roles, or twice for one."""
    for position, (role, index) in enumerate(given):
        for other, there in given[:position]:
            if index != there:
                continue
            if role == other:
                message = f"The column {names[index]!r} is given twice with --{role}: give it once."
            else:
                message = (
                    f"The column {names[index]!r} is given for both --{other} and --{role}: "
                    "name a different column for one of them."
                )
            raise InputError(message, kind="ambiguous_column", where=source)


def missing_columns(roles: Sequence[str], names: Sequence[str], source: str) -> InputError:
    """Return the error for roles that no column fits."""
    what = " and ".join(f"{role}s" for role in roles)
    options = " and ".join(f"--{role} NAME" for role in roles)
    return InputError(
        f"No column was recognised for {what}; the columns are {quoted(names)}: say which one it is with {options}, "
        "or give --wide if the assessors stand across the header.",
        kind="missing_column",
        where=source,
    )


def quoted(names: Sequence[str], most: int = 30) -> str:
    """List names in quotation marks, a long list shortened."""
    shown = [repr(name) for name in dict.fromkeys(names) if name]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) + more) or "all without a name"
