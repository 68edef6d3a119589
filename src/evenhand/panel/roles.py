"""Which column holds objects, assessors, scores and confidences: recognised by name, or given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evenhand.errors import InputError
from evenhand.panel.confidence import FormHint

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal["object", "assessor", "score", "uncertainty", "confidence", "level"]
"""What a column can be for; each is also the name of the option that gives it."""

_THINGS = (
    *("object", "proposal", "paper", "submission", "candidate", "student", "applicant", "application", "entry"),
    *("entrant", "item", "essay", "script", "work", "project", "abstract", "manuscript", "article"),
    *("poster", "thesis", "dissertation", "portfolio", "nominee", "nomination", "pupil"),
)
_PEOPLE = (
    *("assessor", "reviewer", "judge", "marker", "grader", "rater", "examiner", "referee", "evaluator"),
    *("panellist", "panelist", "interviewer", "scorer", "annotator", "juror", "voter", "model"),
)
_TAGS = (" id", " name", " number", " no", " nr", " num", " code", " label", " ref", " #", "#")
_PLURALS = {"entry": "entries", "thesis": "theses"}


def _tagged(words: Sequence[str]) -> tuple[str, ...]:
    """Return every word alone, in the plural, and with a tag such as ``id`` or ``number`` after it."""
    return tuple(
        name for word in words for name in (word, _PLURALS.get(word, word + "s"), *(word + tag for tag in _TAGS))
    )


SYNONYMS: dict[Role, tuple[str, ...]] = {
    "object": _tagged(_THINGS),
    "assessor": _tagged(_PEOPLE),
    "score": (
        *("score", "scores", "mark", "marks", "grade", "grades", "rating", "ratings", "points", "total", "overall"),
        *("score value", "raw score", "overall score", "overall mark", "overall grade", "overall rating"),
        *("overall merit", "overall evaluation", "overall recommendation", "total score", "total mark", "total points"),
        *("final score", "final mark", "review score", "review rating"),
    ),
    "uncertainty": (
        *("uncertainty", "uncertainties", "sd", "s d", "sigma", "σ", "std", "stdev", "st dev", "std dev", "stddev"),
        *("standard deviation", "std deviation", "se", "s e", "std err", "std error", "standard error", "error"),
        *("score sd", "score uncertainty", "score error", "uncertainty sd"),
    ),
    "confidence": (
        *("confidence", "confidences", "confidence score", "reviewer confidence", "assessor confidence"),
        *("weight", "weights", "weighting", "precision", "credit", "credits", "cats", "ects"),
    ),
    "level": ("level", "levels", "confidence level", "confidence levels", "level of confidence"),
}
"""Names, folded as by `fold`, by which each role is recognised.

Words for objects and assessors are also recognised in the plural and followed by ``id``, ``name``, ``number``,
``no``, ``nr``, ``num``, ``code``, ``label``, ``ref`` or ``#``.
"""

EITHER_SD_OR_LEVEL = ("confidence std dev", "confidence sd", "confidence stdev", "confidence or std dev")
"""Names of a column of levels if its cells are text and of standard deviations if they are numbers."""

EITHER_WEIGHT_OR_LEVEL = ("confidence", "confidences", "confidence score", "reviewer confidence", "assessor confidence")
"""Names of a column of levels if its cells are text and of positive weights if they are numbers."""

_FOLDED = re.compile(r"[\s_\-/.]+")
_ROLES: dict[str, Role] = {name: role for role, names in SYNONYMS.items() for name in names}
_ROLES.update(dict.fromkeys(EITHER_SD_OR_LEVEL, "uncertainty"))
_NEEDED: tuple[Role, ...] = ("object", "assessor", "score")
_FORMS: dict[Role, FormHint] = {"uncertainty": "uncertainty", "confidence": "confidence", "level": "level"}


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


def fold(name: str) -> str:
    """Fold a name for comparison: lower case, and every run of spaces and ``_ - / .`` one space.

    Examples
    --------
    >>> fold(" Confidence/ Std_Dev. ")
    'confidence std dev'
    """
    return _FOLDED.sub(" ", name.casefold()).strip()


def is_known(name: str) -> bool:
    """Say whether a name is one by which a column is recognised."""
    return fold(name) in _ROLES


def find_column(names: Sequence[str], wanted: str, *, option: str, source: str) -> int:
    """Return the index of the column that the user named with an option, exactly as written or else folded.

    It is the first where the very same name stands twice; ``source`` is what to call the table in messages.
    """
    if wanted.strip() and wanted.strip() in names:
        return names.index(wanted.strip())
    alike = [index for index, name in enumerate(names) if name and fold(name) == fold(wanted)]
    if not alike:
        raise InputError(
            f"There is no column {wanted!r}, which --{option} names; the columns are {_quoted(names)}.",
            kind="missing_column",
            where=source,
        )
    if len({names[index] for index in alike}) > 1:
        raise InputError(
            f"The name {wanted!r} fits the columns {_quoted([names[index] for index in alike])}: "
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
    forms = [role for role in _FORMS if asked[role] is not None]
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
        candidates[_ROLES[fold(names[index])]].append(index)
    missing = [role for role in _NEEDED if role not in given and not candidates[role]]
    if missing:
        raise _missing(missing, names, source)
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
    for role, form in _FORMS.items():
        if role in given:
            return given[role], form
    indices = sorted(index for role in _FORMS for index in candidates[role])
    if not indices:
        return None, "none"
    index = _only(indices, names, list(_FORMS), source)
    name = fold(names[index])
    if name in EITHER_SD_OR_LEVEL:
        return index, "level_or_uncertainty"
    if name in EITHER_WEIGHT_OR_LEVEL:
        return index, "level_or_confidence"
    return index, _FORMS[_ROLES[name]]


def _first_of_each(names: Sequence[str], taken: set[int]) -> list[int]:
    """Return the recognised columns that are not taken, the first where the very same name stands twice."""
    seen = {names[index] for index in taken}
    free = []
    for index, name in enumerate(names):
        if name not in seen and fold(name) in _ROLES:
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
        f"The columns {_quoted(chosen)} could each hold {what}: say which one it is with {settle}.",
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


def _missing(roles: Sequence[str], names: Sequence[str], source: str) -> InputError:
    """Return the error for roles that no column fits."""
    what = " and ".join(f"{role}s" for role in roles)
    options = " and ".join(f"--{role} NAME" for role in roles)
    return InputError(
        f"No column was recognised for {what}; the columns are {_quoted(names)}: say which one it is with {options}, "
        "give --wide if the assessors stand across the header, or delete what stands above the header.",
        kind="missing_column",
        where=source,
    )


def _quoted(names: Sequence[str], most: int = 30) -> str:
    """List names in quotation marks, a long list shortened."""
    shown = [repr(name) for name in dict.fromkeys(names) if name]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) + more) or "all without a name"
