"""Rules in users' words, such as a senior for each object or two kept apart, as limits on sets of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Codes
from evenhand.design.inputs import Members, Pairs, listed_pairs, pairs_of, position_of
from evenhand.design.limits import Limits
from evenhand.errors import InputError, bad_option
from evenhand.panel.headings import fold
from evenhand.panel.rules import label_text, parse_number
from evenhand.words import name_some

APART: Final = "those kept apart do not read the same object"
EACH_OTHER: Final = "no two review each other's work"


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What is asked of those who read together; all of it is as :func:`evenhand.assign` says."""

    require: Mapping[str, Any] | None = None
    limit: Mapping[str, Any] | None = None
    apart: Any = ()
    linked: Any = ()
    authors: Pairs = ()


def known_authors(authors: Pairs, assessors: Members) -> tuple[list[tuple[object, object]], list[str]]:
    """Return who wrote what of those who assess, and everybody else who wrote something."""
    listed = listed_pairs(authors, "authors")
    others = dict.fromkeys(label_text(who) for who, _ in listed)
    others = {who: None for who in others if assessors.find(who) < 0}
    return [(who, work) for who, work in listed if label_text(who) not in others], list(others)


def limits_of(asked: Asked, objects: Members, assessors: Members, keys: Codes) -> Limits:
    """Return limits on pairs that may be chosen, given by their ascending keys ``object * n_A + assessor``."""
    object_, assessor = np.divmod(keys, len(assessors.labels))
    every = np.arange(len(objects.labels))
    parts: list[Limits] = []
    for column, wanted in (asked.require or {}).items():
        if not isinstance(wanted, Mapping):
            raise bad_option(f"Say which {column} is required, and how many of it: a value and a number.")
        values = _Values.of(column, assessors)
        for value, number in wanted.items():
            least, pair = _number(number, column), np.flatnonzero(values.having(value)[assessor])
            name = f"at least {least} with {column} {value} for each object"
            parts.append(Limits.grouped(pair, object_[pair], every, (least, np.inf), name))
    for column, wanted in (asked.limit or {}).items():
        values = _Values.of(column, assessors)
        if isinstance(wanted, Mapping):
            for value, number in wanted.items():
                most, pair = _number(number, column), np.flatnonzero(values.having(value)[assessor])
                name = f"at most {most} with {column} {value} for each object"
                parts.append(Limits.grouped(pair, object_[pair], every, (0, most), name))
        else:
            most = _number(wanted, column)
            name = f"at most {most} of one {column} for each object"
            parts.append(_of_one_value(values, object_, assessor, most, name))
    parts.append(_apart(pairs_within(asked.apart, assessors, "assessors kept apart"), object_, assessor))
    parts.append(_each_other(pairs_of(asked.authors, objects, assessors, "authors"), keys, len(assessors.labels)))
    return Limits.together(*parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """What a column says of each assessor: nothing, a value, or several with semicolons between them."""

    column: str
    names: Sequence[str]
    start: Codes
    """Where the values of each assessor begin (n_A + 1)."""
    code: Codes

    @classmethod
    def of(cls, column: str, assessors: Members) -> _Values:
        name = next((one for one in assessors.told if fold(one) == fold(column)), None)
        if name is None:
            known = name_some(list(assessors.told)) if assessors.told else "none beside their labels"
            raise InputError(
                f"Assessors have no column {column}; their columns are {known}: add one, or name another.",
                kind="missing_column",
                where=column,
            )
        told, index = assessors.told[name], {}
        names: list[str] = []
        sizes, code = [], []
        for label in assessors.labels:
            ones = {fold(one): one.strip() for one in told.get(label, "").split(";") if one.strip()}
            sizes.append(len(ones))
            for key, one in ones.items():
                if key not in index:
                    index[key] = len(names)
                    names.append(one)
                code.append(index[key])
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(column, names, start, np.asarray(code, dtype=np.int64))

    def having(self, value: object) -> np.ndarray:
        """Say which assessors have a value (n_A)."""
        wanted = fold(str(value))
        at = next((at for at, name in enumerate(self.names) if fold(name) == wanted), None)
        if at is None:
            raise bad_option(
                f"No assessor has {value} in column {self.column}; the values there are {name_some(self.names)}.",
                where=self.column,
            )
        has = np.zeros(self.start.size - 1, dtype=bool)
        has[np.repeat(np.arange(has.size), np.diff(self.start))[self.code == at]] = True
        return has


def _of_one_value(values: _Values, object_: Codes, assessor: Codes, most: int, name: str) -> Limits:
    number = np.diff(values.start)[assessor]
    pair = np.repeat(np.arange(assessor.size), number)
    within = np.arange(pair.size) - np.repeat(np.cumsum(number) - number, number)
    code = values.code[values.start[assessor[pair]] + within]
    keys, group = np.unique(object_[pair] * max(len(values.names), 1) + code, return_inverse=True)
    return Limits.grouped(pair, group, keys // max(len(values.names), 1), (0, most), name)


def _number(given: object, column: str) -> int:
    number = parse_number(given)
    if number is None or not float(number).is_integer() or number < 0:
        raise bad_option(f"How many of one {column} must be a whole number that is not negative, not {given!r}.")
    return int(number)


def pairs_within(given: Any, members: Members, what: str) -> Codes:
    """Return pairs of members of one side as positions, each once and the smaller one first (m x 2).

    They come as pairs, as a mapping from one to several, or as a frame, of which the first two columns are taken.
    """
    if isinstance(given, Mapping):
        listed = [(one, other) for one, others in given.items() for other in others]
    elif hasattr(given, "columns") or hasattr(given, "column_names"):
        names = frames.column_names(given)
        if len(names) < 2:
            raise bad_option(f"A table of {what} needs two columns of {members.side}s, one for each of a pair.")
        listed = list(zip(*frames.read_columns(given, names[:2]), strict=True))
    else:
        listed = [(pair[0], pair[1]) for pair in given]
    found = np.array([[position_of(one, members, what) for one in pair] for pair in listed], dtype=np.int64)
    found = np.unique(np.sort(found.reshape(-1, 2), axis=1), axis=0)
    same = found[:, 0] == found[:, 1]
    if same.any():
        label = members.labels[int(found[same][0, 0])]
        raise bad_option(f"{what[:1].upper()}{what[1:]}: {label} is paired with itself.", where=label)
    return found


def _apart(pairs: Codes, object_: Codes, assessor: Codes) -> Limits:
    """Return limits: of two assessors one at most reads an object."""
    if not pairs.size:
        return Limits()
    order = np.argsort(assessor, kind="stable")
    begin = np.searchsorted(assessor[order], np.arange(max(assessor.max(initial=0), pairs.max(initial=0)) + 2))
    both, groups, about = [], [], []
    count = 0
    for one, other in pairs.tolist():
        mine, theirs = order[begin[one] : begin[one + 1]], order[begin[other] : begin[other + 1]]
        shared, first, second = np.intersect1d(object_[mine], object_[theirs], return_indices=True)
        group = count + np.arange(shared.size)
        both += [mine[first], theirs[second]]
        groups += [group, group]
        about.append(shared)
        count += shared.size
    return _sets_of_two(both, groups, about, APART)


def _each_other(keys_written: Codes, keys: Codes, width: int) -> Limits:
    """Return limits: where a may read what b wrote and b what a wrote, one of the two at most does."""
    if not keys_written.size:
        return Limits()
    object_, assessor = np.divmod(keys, width)
    work, author = np.divmod(keys_written, width)  # by object
    by_author = np.argsort(author, kind="stable")
    own = np.searchsorted(author[by_author], np.arange(width + 1))
    of_work = np.searchsorted(work, np.arange(object_.max(initial=-1) + 2))
    pair = np.arange(keys.size)
    # every pair (a, p) with every author b of p
    number = of_work[object_ + 1] - of_work[object_]
    pair, at = np.repeat(pair, number), _ranges(of_work[object_], number)
    writer = author[at]
    # and every work o of a
    number = own[assessor[pair] + 1] - own[assessor[pair]]
    first = own[assessor[pair]]
    pair, writer = np.repeat(pair, number), np.repeat(writer, number)
    theirs = work[by_author][_ranges(first, number)]
    wanted = theirs * width + writer
    back = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    both = np.zeros(0, dtype=bool)
    if keys.size:
        both = (keys[back] == wanted) & (pair < back) & (writer != assessor[pair])
    two = np.unique(np.stack([pair[both], back[both]], axis=1), axis=0)
    count = np.arange(two.shape[0])
    return _sets_of_two([two[:, 0], two[:, 1]], [count, count], [np.full(count.size, -1)], EACH_OTHER)


def _ranges(begin: Codes, number: Codes) -> Codes:
    """Return begin, begin + 1, ... of each, as many as its number."""
    return np.repeat(begin - (np.cumsum(number) - number), number) + np.arange(int(number.sum()))


def _sets_of_two(pairs: Sequence[Codes], groups: Sequence[Codes], about: Sequence[Codes], name: str) -> Limits:
    if not about:
        return Limits()
    return Limits.grouped(np.concatenate(pairs), np.concatenate(groups), np.concatenate(about), (0, 1), name)
