"""Which column holds objects, assessors, scores and confidences: what a heading means, recognised by name or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.errors import InputError
from evenhand.panel.confidence import FormHint
from evenhand.panel.headings import FORMS, SYNONYMS, Role, fold, form_of, known_names, roles_by_name
from evenhand.words import argument, by_door

_NEEDED: Final[tuple[Role, ...]] = ("object", "assessor", "score")


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
            f"There is no column {wanted!r}, which {argument(option)} names; the columns are {quoted(names)}.",
            kind="missing_column",
            where=source,
        )
    if len({names[index] for index in alike}) > 1:
        raise InputError(
            f"The name {wanted!r} fits the columns {quoted([names[index] for index in alike])}: "
            f"write the one that {argument(option)} means exactly as it stands in the header.",
            kind="ambiguous_column",
            where=source,
        )
    return alike[0]


def recognise(
    names: Sequence[str],
    *,
    source: str,
    criterion: str | None = None,
    covariates: Sequence[str] = (),
    **named: str | None,
) -> Roles:
    """Find the columns of a panel by their names, or take those that the user ``named`` for a role.

    At most one of ``uncertainty``, ``confidence`` and ``level`` may be named. Criterion and covariates are never
    guessed, and a column that is named for them is read as nothing else; ``source`` is what to call the table in
    messages.

    Examples
    --------
    >>> recognise(["Objects", "Assessors", "Score", "Confidence/ Std Dev"], source="workbook.xlsx")
    Roles(object=0, assessor=1, score=2, confidence=3, form='level_or_uncertainty', criterion=None, covariates=())
    """
    forms = [role for role in FORMS if named.get(role) is not None]
    if len(forms) > 1:
        raise InputError(
            f"Both {argument(forms[0])} and {argument(forms[1])} are given: give the one that says how sure the "
            "assessors were.",
            kind="ambiguous_column",
            where=source,
        )
    given = {
        role: find_column(names, name, option=role, source=source)
        for role in SYNONYMS
        if (name := named.get(role)) is not None
    }
    about = None if criterion is None else find_column(names, criterion, option="criterion", source=source)
    further = [find_column(names, name, option="covariates", source=source) for name in listed_names(covariates)]
    taken = [
        *given.items(),
        *([] if about is None else [("criterion", about)]),
        *(("covariates", at) for at in further),
    ]
    _refuse_shared(taken, names, source)
    free = _first_of_each(names, {index for _, index in taken})
    candidates: dict[Role, list[int]] = {role: [] for role in SYNONYMS}
    for index in free:
        candidates[roles_by_name()[fold(names[index])]].append(index)
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


def _first_of_each(names: Sequence[str], taken: set[int]) -> list[int]:
    """Return the recognised columns that are not taken, the first where the very same name stands twice."""
    seen = {names[index] for index in taken}
    free = []
    for index, name in enumerate(names):
        if name not in seen and fold(name) in roles_by_name():
            seen.add(name)
            free.append(index)
    return free


def _only(indices: Sequence[int], names: Sequence[str], options: Sequence[str], source: str) -> int:
    """Return the one candidate, or say which option settles between several."""
    if len(indices) == 1:
        return indices[0]
    chosen = [names[index] for index in indices]
    what = "how sure the assessors were" if len(options) > 1 else f"the {options[0]}s"
    settle = " or ".join(map(argument, options))
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
                message = f"The column {names[index]!r} is given twice with {argument(role)}: give it once."
            else:
                message = (
                    f"The column {names[index]!r} is given for both {argument(other)} and {argument(role)}: "
                    "name a different column for one of them."
                )
            raise InputError(message, kind="ambiguous_column", where=source)


def missing_columns(roles: Sequence[str], names: Sequence[str], source: str) -> InputError:
    """Return the error for roles that no column fits."""
    what = " and ".join(f"{role}s" for role in roles)
    known = "; ".join(f"{role}s by names such as {', '.join(known_names()[f'{role}s'][:6])}" for role in roles)
    options = " and ".join(argument(role, "NAME") for role in roles)
    return InputError(
        f"No column was recognised for {what}; the columns are {quoted(names)}: say which one it is with {options}, "
        f"or give {argument('wide', True)} if the assessors stand across the header. Recognised are {known}"
        f"{by_door('', ' (`evenhand check --help` has all)')}.",
        kind="missing_column",
        where=source,
    )


def quoted(names: Sequence[str], most: int = 30) -> str:
    """List names in quotation marks, a long list shortened."""
    shown = [repr(name) for name in dict.fromkeys(names) if name]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) + more) or "all without a name"
