"""From what a user knows, labels, tables and matrices, to a task in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, overload

import numpy as np
import scipy.sparse as sp

from evenhand import frames
from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.task import Task
from evenhand.errors import InputError, NoDesignError, bad_option
from evenhand.panel import lexicon
from evenhand.panel.column import NO_CODE, Column, factorise
from evenhand.panel.confidence import check_factor, level_words
from evenhand.panel.graph import Side
from evenhand.panel.headings import SYNONYMS, fold, meaning_of
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text, parse_number
from evenhand.words import count_of, name_some

Pairs = Iterable[tuple[object, object]] | Mapping[Any, Iterable[object]] | Any
"""Pairs (assessor, object), a mapping from assessors to objects, or a frame with both columns."""

MOST_PAIRS: Final = 20_000_000
"""Up to this many pairs, all of them may be chosen; beyond, those that are listed, or some drawn at random."""

NEUTRAL: Final = 0.5
"""The expertise of a pair of which nothing is said: that of a medium assessment."""

KEENEST: Final = 20
"""The bid that counts as 1; its negative as 0."""

DRAWN: Final = 50
"""Assessors who are drawn at random for each object where there are too many pairs."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "per_object": ("per object", "assessments", "assessors", "reviews", "readings", "needed"),
    "min_load": ("min load", "least load", "minimum load", "minimum", "at least"),
    "max_load": ("max load", "most load", "maximum load", "maximum", "at most", "load", "quota", "capacity"),
    "cost": ("cost", "costs", "price", "fee"),
    "topics": ("topics", "topic", "keywords", "keyword", "areas", "area", "subjects", "subject", "field", "fields"),
    "linking": ("linking", "link", "shared", "common", "everybody", "anchor"),
    "expected": ("expected", "expected value", "prior", "first score", "screening"),
    "also": ("also",),
    "email": ("email", "e mail", "mail", "address"),
    "expertise": ("expertise", "affinity", "match", "similarity", "suitability"),
    "bids": ("bid", "bids", "preference", "preferences", "pref", "prefs"),
    "level": SYNONYMS["level"],
    "uncertainty": SYNONYMS["uncertainty"],
}
"""Names, folded, by which further columns of the tables of a design are recognised."""

Details = Mapping[str, Mapping[str, str]]
"""What goes with objects or assessors, by column and then by label."""

_IN_WORDS: Final = {
    "per_object": "The number of assessments",
    "min_load": "The least load",
    "max_load": "The most load",
    "cost": "The cost",
    "expected": "The expected value",
}
_TRUE: Final = {"true", "yes", "y", "1", "x", "ja", "oui", "si", "sí"}
_FALSE: Final = {"false", "no", "n", "0", "", "nein", "non"}


@dataclass(frozen=True, eq=False)
class Members:
    """The objects or the assessors of a design, with whatever their table says about them."""

    side: Side
    labels: tuple[str, ...]
    columns: Mapping[str, Sequence[Any]]
    """Further columns by what they are for; a cell for each member, None where it is empty."""
    backend: frames.Backend = frames.DEFAULT_BACKEND
    """The kind of frame that they came in."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Labels by what else members are called in further tables, such as e-mail addresses."""
    details: Details = field(default_factory=dict)
    """What goes with them wherever they go, such as titles and addresses: by column, and then by label."""
    told: Details = field(default_factory=dict)
    """All that their table says of them, likewise."""

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each label."""
        return {label: at for at, label in enumerate(self.labels)}

    @cached_property
    def _addresses(self) -> dict[str, int]:
        """The position of each e-mail address, without regard to case."""
        found = {alias: self.index[label] for alias, label in self.aliases.items()}
        return {name.casefold(): at for name, at in {**found, **self.index}.items() if "@" in name}

    def find(self, label: str) -> int:
        """Return the position of a member by its label or by another name; -1 where there is none.

        Examples
        --------
        >>> Members("assessor", ("Ana", "Ben"), {}, aliases={"ben@x.org": "Ben"}).find("Ben@x.org")
        1
        """
        at = self.index.get(label)
        if at is None and label in self.aliases:
            at = self.index[self.aliases[label]]
        if at is None and "@" in label:
            at = self._addresses.get(label.strip().casefold())
        return -1 if at is None else at

    def positions(self, column: Column) -> Codes:
        """Return for each row of a column where its label stands, found once for each distinct one; -1 where nowhere.

        An empty cell gives -2.
        """
        if column.numbers is not None:
            column = factorise(column.name, list(column))
        found = np.array(
            [-2 if _says_nothing(cell) else self.find(label_text(cell)) for cell in column.cells] or [-2], np.int64
        )
        empty = column.codes == NO_CODE
        return np.where(empty, -2, found[np.where(empty, 0, column.codes)])


@dataclass(frozen=True, slots=True, eq=False)
class CodedPairs(Sequence[tuple[str, str]]):
    """Pairs (assessor, object) of known members, by their positions: the fast door for many of them."""

    objects: Members
    assessors: Members
    object_index: Codes
    assessor_index: Codes

    def __len__(self) -> int:
        return int(self.object_index.size)

    @overload
    def __getitem__(self, at: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[str, str]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, str] | Sequence[tuple[str, str]]:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        return self.assessors.labels[self.assessor_index[at]], self.objects.labels[self.object_index[at]]


def members_of(given: object, side: Side) -> Members:
    """Return objects or assessors from a number of them, labels, or a frame with a column of labels."""
    if isinstance(given, Members):
        return given
    if isinstance(given, bool | str | bytes):
        raise bad_option(f"Give the {side}s as labels, as a table, or as their number.")
    if isinstance(given, int | np.integer):
        if given < 1:
            raise InputError(f"A design needs at least one {side}.", kind="empty")
        return Members(side, tuple(str(number) for number in range(1, int(given) + 1)), {})
    if isinstance(given, Sequence | np.ndarray | set | frozenset | range | dict):
        return members_from(side, {side: list(given)})
    return members_from(side, _columns(given), backend=frames.backend_of(given))


def members_from(
    side: Side,
    columns: Mapping[str, Sequence[Any]],
    *,
    source: str | None = None,
    backend: frames.Backend = frames.DEFAULT_BACKEND,
) -> Members:
    """Return objects or assessors from the columns of a table, whose names say what they are for."""
    label = _labels_column(columns, side, source)
    rows = [at for at, cell in enumerate(columns[label]) if cell is not None and str(cell).strip()]
    labels = [label_text(columns[label][at]) for at in rows]
    if not labels:
        raise InputError(f"There are no {side}s in it: write one a row.", kind="empty", where=source)
    seen: set[str] = set()
    twice = [one for one in labels if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
    if twice:
        raise InputError(
            f"{side.capitalize()} {twice[0]} is listed twice: list each {side} once.", kind="duplicate", where=source
        )
    found = {}
    for role, words in WORDS.items():
        name = _named((name for name in columns if name != label), words)
        if name is not None:
            found[role] = [columns[name][at] for at in rows]
    if side == "object":
        written = [columns[name] for name in columns if name != label and _is_of_authors(name)]
        if written:
            found["authors"] = [_listed([cells[at] for cells in written]) for at in rows]
    told: dict[str, dict[str, str]] = {}
    for name in columns:
        if name != label:
            cells = ((one, columns[name][at]) for one, at in zip(labels, rows, strict=True))
            told[name] = {one: label_text(cell).strip() for one, cell in cells if not _says_nothing(cell)}
    return Members(side, tuple(labels), found, backend, details=handed_out(side, told), told=told)


def _is_of_authors(name: str) -> bool:
    """Say whether a column of objects tells who wrote them, by name or by address.

    Examples
    --------
    >>> [_is_of_authors(name) for name in ("Authors", "author_emails", "Contact e-mail", "title")]
    [True, True, True, False]
    """
    plain = fold(name)
    return any(word.startswith("author") for word in plain.split()) or plain.endswith((*WORDS["email"], "emails"))


def _listed(cells: Sequence[Any]) -> str | None:
    """Return what cells say as one text, parted by semicolons; lists are listed."""
    told = [cell for cell in cells if not (isinstance(cell, list | tuple) or _says_nothing(cell))]
    several = [one for cell in cells if isinstance(cell, list | tuple) for one in cell]
    return "; ".join(map(label_text, [*told, *several])) or None


def people_in(members: Members) -> list[list[str]]:
    """Return by what else each member is known, beside the label: names and addresses.

    Examples
    --------
    >>> people_in(Members("assessor", ("Ana", "Ben"), {"email": ["ana@x.org", None]}, aliases={"Ben Ray": "Ben"}))
    [['Ana', 'ana@x.org'], ['Ben', 'Ben Ray']]
    """
    known = [[label] for label in members.labels]
    for name, label in members.aliases.items():
        known[members.index[label]].append(name)
    for told in members.details.values():
        for label, text in told.items():
            known[members.index[label]].append(text)
    for at, cell in enumerate(members.columns.get("email", ())):
        if not _says_nothing(cell):
            known[at].append(label_text(cell))
    return [list(dict.fromkeys(texts)) for texts in known]


def members_in(panel: Panel, side: Side) -> Members:
    """Return the objects or the assessors of a panel, with what goes with them; other names of theirs are known too."""
    labels, told = (
        (panel.objects, panel.object_details) if side == "object" else (panel.assessors, panel.assessor_details)
    )
    details = handed_out(side, told)
    names = {name: label for own in details.values() for label, name in own.items()} if side == "assessor" else {}
    aliases = {name: label for name, label in names.items() if name not in set(labels)}
    return Members(side, tuple(labels), {}, panel.backend, aliases, details)


def handed_out(side: Side, details: Details) -> dict[str, Mapping[str, str]]:
    """Return those details that may be handed out with a design.

    These are titles, links and groups of objects, not their authors, whom assessors may not be meant to know; names and
    addresses of assessors.

    Examples
    --------
    >>> list(handed_out("object", {"Paper title": {"P1": "On cakes"}, "Authors": {"P1": "Ann"}, "Track": {"P1": "A"}}))
    ['Paper title', 'Track']
    """
    return {
        name: told
        for name, told in details.items()
        if _goes_along(side, name) and any(one != label for label, one in told.items())
    }


def _goes_along(side: Side, name: str) -> bool:
    meaning, plain = meaning_of(name), fold(name)
    kind = "" if meaning is None else meaning.kind
    if side == "assessor":
        return kind in ("title", "self", "assessor") or plain in WORDS["email"]
    is_title = kind == "title" and plain not in WORDS["topics"]
    return is_title or plain.rpartition(" ")[2] in lexicon.LINKS | lexicon.GROUPS


def addresses_in(details: Details) -> dict[str, str]:
    """Return the e-mail addresses among details, by label.

    Examples
    --------
    >>> addresses_in({"name": {"m1": "Ann"}, "E-mail": {"m1": "ann@x.org"}})
    {'m1': 'ann@x.org'}
    """
    mails = (told for told in details.values() if any("@" in text for text in told.values()))
    return dict(next(mails, {}))


def _named(columns: Iterable[str], words: Iterable[str]) -> str | None:
    """Return the first column that goes by one of some names."""
    return next((name for name in columns if fold(name) in words), None)


def _labels_column(columns: Iterable[str], side: Side, source: str | None = None) -> str:
    name = _named(columns, SYNONYMS[side])
    if name is None and side == "assessor":
        name = _named(columns, WORDS["email"])
    if name is None:
        raise InputError(
            f"There is no column of {side}s; the columns are {', '.join(columns)}: name one of them {side}.",
            kind="missing_column",
            where=source,
        )
    return name


def _columns(frame: Any) -> dict[str, list[Any]]:
    names = frames.column_names(frame)
    return dict(zip(names, frames.read_columns(frame, names), strict=True))


def _cells(given: Any, members: Members, role: str) -> Sequence[Any] | None:
    """Return a cell for each member, from one for all, a mapping, a sequence, or the column of their table."""
    if given is None:
        return members.columns.get(role)
    if isinstance(given, Mapping):
        _known(given, members)
        return [given.get(label) for label in members.labels]
    if isinstance(given, int | float | np.number):
        return [given] * len(members.labels)
    return list(given)


def whole_numbers(given: object, members: Members, role: str, default: int) -> Codes:
    """Return a whole number for each member, by default where nothing is said; no cell may be empty if that is < 0."""
    count, cells = len(members.labels), _cells(given, members, role)
    if cells is None:
        return np.full(count, default)
    if len(cells) != count:
        raise bad_option(
            f"{_IN_WORDS[role]} needs a number for each of {count_of(count, members.side)}, not {len(cells)}."
        )
    read = 1 if isinstance(given, int | float | np.number) else count
    numbers = []
    for label, cell in zip(members.labels[:read], cells[:read], strict=True):
        number = default if cell is None or cell == "" else parse_number(cell)
        if number is None or not float(number).is_integer() or number < 0 or number > 2**31:
            raise bad_option(
                f"{_IN_WORDS[role]} of {members.side} {label} must be a whole number that is not negative, "
                f"not {cell!r}.",
                where=f"{members.side} {label}",
            )
        numbers.append(int(number))
    return np.resize(np.asarray(numbers, dtype=np.int64), count)


def said_of(given: object, members: Members, role: str) -> Flags:
    """Say of which members a number was given (n)."""
    cells = _cells(given, members, role)
    if cells is None or isinstance(given, int | float | np.number):
        return np.full(len(members.labels), cells is not None and not _says_nothing(given))
    return np.array([not _says_nothing(cell) for cell in cells])


def floats_of(given: object, members: Members, role: str) -> Floats | None:
    """Return a number for each member, from a mapping, a sequence, or the column of their table; None without any."""
    cells = _cells(given, members, role)
    if cells is None:
        return None
    if len(cells) != len(members.labels):
        raise bad_option(f"{_IN_WORDS[role]} needs a number for each of {count_of(len(members.labels), members.side)}.")
    numbers = [parse_number(cell) for cell in cells]
    for label, number in zip(members.labels, numbers, strict=True):
        if number is None or not np.isfinite(number):
            raise bad_option(
                f"{_IN_WORDS[role]} of {members.side} {label} must be a number.", where=f"{members.side} {label}"
            )
    return np.asarray(numbers, dtype=np.float64)


def pairs_of(given: Pairs, objects: Members, assessors: Members, what: str) -> Codes:
    """Return pairs as sorted keys ``object * n_A + assessor``, each once."""
    if isinstance(given, CodedPairs) and given.objects is objects and given.assessors is assessors:
        return np.unique(given.object_index * len(assessors.labels) + given.assessor_index)
    keys = [
        position_of(assessor, assessors, what) + position_of(object_, objects, what) * len(assessors.labels)
        for assessor, object_ in listed_pairs(given, what)
    ]
    return np.unique(np.asarray(keys, dtype=np.int64))


def listed_pairs(given: Pairs, what: str) -> list[tuple[object, object]]:
    """Return pairs (assessor, object) one by one, as they were given."""
    if isinstance(given, Mapping):
        return [(who, one) for who, ones in given.items() for one in ones]
    if isinstance(given, Iterable) and not hasattr(given, "columns"):
        return [(pair[0], pair[1]) for pair in given]
    if hasattr(given, "columns") or hasattr(given, "column_names"):
        columns = _columns(given)
        return list(zip(*(columns[_labels_column(columns, side)] for side in ("assessor", "object")), strict=True))
    raise bad_option(f"Give {what} as pairs (assessor, object) or as a table.")


@dataclass(frozen=True, eq=False)
class Expected:
    """How well assessors are expected to assess objects."""

    keys: Codes
    """The pairs of which something is known, ascending ``object * n_A + assessor``."""
    precision: Floats
    """Their precision, relative to a medium assessment's where no uncertainty in points is known."""
    expertise: Floats | None
    """Their expertise, from 0 to 1; None where uncertainties were given."""
    otherwise: float
    """The precision of all other pairs, which are ordinary: a medium assessment's, or the median of those given."""
    unnamed: float = NEUTRAL
    """The expertise of all other pairs."""


def expected_of(given: Any, objects: Members, assessors: Members, *, form: str, factor: float) -> Expected:
    """Return what is known of pairs, from a matrix (assessors x objects), a mapping from pairs, or a table.

    A long table has columns of assessors, objects and one named expertise, level or uncertainty; a wide one has a
    column of assessors and one for each object, or the other way round. Words are levels; numbers are what ``form``
    says, ``"expertise"`` from 0 to 1, ``"uncertainty"`` in points, or ``"bids"`` from -20 to 20.
    """
    if isinstance(given, Expected):
        return given
    if sp.issparse(given):
        return _sparse(given, objects, assessors, form, factor)
    if isinstance(given, Mapping):
        labels, cells = list(given), list(given.values())
    elif hasattr(given, "columns") or hasattr(given, "column_names"):
        form, labels, cells = table_pairs(_columns(given), objects, assessors, form)
    else:
        matrix = np.asarray(given, dtype=object if not isinstance(given, np.ndarray) else None)
        _check_shape(matrix.shape, objects, assessors, form)
        if matrix.dtype.kind == "f" and form != "bids":
            by_object = matrix.T.ravel().astype(np.float64)
            told = np.flatnonzero(~np.isnan(by_object))
            if _is_sound(by_object[told], form).all():
                return _told(told, by_object[told], objects, assessors, form, factor)
        labels = [(a, o) for a in assessors.labels for o in objects.labels]
        cells = matrix.ravel().tolist()
    return expected_from(labels, cells, objects, assessors, form=form, factor=factor)


def _check_shape(shape: tuple[int, ...], objects: Members, assessors: Members, form: str) -> None:
    if shape != (len(assessors.labels), len(objects.labels)):
        raise bad_option(
            f"A matrix of {form} must have a row for each of {count_of(len(assessors.labels), 'assessor')} and a "
            f"column for each of {count_of(len(objects.labels), 'object')}, not the shape {shape}."
        )


def _sparse(given: Any, objects: Members, assessors: Members, form: str, factor: float) -> Expected:
    """Return what a sparse matrix says of the pairs that it stores: the fast door for many of them."""
    _check_shape(given.shape, objects, assessors, form)
    matrix = sp.csc_array(given)
    matrix.sort_indices()
    number = np.asarray(matrix.data, dtype=np.float64)
    object_ = np.repeat(np.arange(len(objects.labels)), np.diff(matrix.indptr))
    key = object_ * len(assessors.labels) + matrix.indices.astype(np.int64)
    if form == "bids":
        number = bid_number(number)
    found = _rated(key, number, "expertise" if form == "bids" else form, factor)
    if form == "expertise":  # what a sparse matrix does not store is zero
        return replace(found, otherwise=float(precision_of_expertise(np.zeros(1), factor)[0]), unnamed=0.0)
    return found


def _rated(key: Codes, number: Floats, form: str, factor: float) -> Expected:
    """Return what numbers say of pairs."""
    if form == "uncertainty":
        if not (np.isfinite(number) & (number > 0)).all():
            raise bad_option("Uncertainties must be positive numbers of points.")
        precision = 1 / np.square(number)
        return Expected(key, precision, None, float(np.median(precision)))
    if not ((number >= 0) & (number <= 1)).all():
        raise bad_option("Expertise must be a level or a number from 0 to 1.")
    precision = precision_of_expertise(number, factor)
    return Expected(key, precision, number, 1.0)


def rating_columns(names: Sequence[str], source: str | None = None) -> tuple[str, tuple[int, int, int]] | None:
    """Return what the ratings of a long table are, and where assessors, objects and ratings stand; None if it is wide.

    Examples
    --------
    >>> rating_columns(["paper", "reviewer", "level"])
    ('expertise', (1, 0, 2))
    """
    folded = [fold(name) for name in names]

    def place(words: Iterable[str]) -> int | None:
        return next((at for at, name in enumerate(folded) if name in words), None)

    whose, what = place(SYNONYMS["assessor"]), place(SYNONYMS["object"])
    if whose is None or what is None:
        return None
    for kind in ("expertise", "level", "uncertainty", "bids"):
        at = place(WORDS[kind])
        if at is not None:
            return "expertise" if kind == "level" else kind, (whose, what, at)
    raise InputError(
        f"There is no column of expertise, levels, uncertainties or bids; the columns are {', '.join(names)}.",
        kind="missing_column",
        where=source,
    )


def table_pairs(
    columns: Mapping[str, Sequence[Any]], objects: Members, assessors: Members, form: str, source: str | None = None
) -> tuple[str, list[tuple[Any, Any]], list[Any]]:
    """Return what a long or wide table says: what its cells are, the pairs (assessor, object), and the cells."""
    role = {side: _named(columns, SYNONYMS[side]) for side in ("assessor", "object")}
    long = rating_columns(list(columns), source)
    if long is not None:
        kind, places = long
        whose, what, ratings = (columns[list(columns)[at]] for at in places)
        return kind, list(zip(whose, what, strict=True)), list(ratings)
    for side, members in (("assessor", objects), ("object", assessors)):
        down = role[side]
        if down is None:
            continue
        found, cells = [], []
        across = [name for name in columns if name != down and name in members.index]
        for name in across:
            for label, cell in zip(columns[down], columns[name], strict=True):
                found.append((label, name) if side == "assessor" else (name, label))
                cells.append(cell)
        if across:
            return form, found, cells
    raise InputError(
        f"A table of {form} needs columns of assessors and objects, or a column of the one and a column for each of "
        f"the other; the columns are {', '.join(columns)}.",
        kind="missing_column",
        where=source,
    )


def expected_from(
    labels: Sequence[tuple[Any, Any]],
    cells: Sequence[Any],
    objects: Members,
    assessors: Members,
    *,
    form: str,
    factor: float,
) -> Expected:
    """Return what is known of pairs from the cells of a table; empty cells say nothing."""
    width = len(assessors.labels)
    told = [at for at, cell in enumerate(cells) if not _says_nothing(cell)]
    if len(told) < len(cells):
        labels, cells = [labels[at] for at in told], [cells[at] for at in told]
    assessor = _positions([pair[0] for pair in labels], assessors, form)
    object_ = _positions([pair[1] for pair in labels], objects, form)
    words = level_words()
    numbers = [
        cell if type(cell) is float and form != "bids" else _rating(cell, pair, form, words)
        for pair, cell in zip(labels, cells, strict=True)
    ]
    for pair, number, cell in zip(labels, numbers, cells, strict=True):
        if not (0 < number < np.inf if form == "uncertainty" else 0 <= number <= 1):
            raise _bad_rating(cell, pair, form)
    return _told(object_ * width + assessor, np.asarray(numbers, dtype=np.float64), objects, assessors, form, factor)


def expected_by_columns(
    columns: tuple[Column, Column, Column],
    objects: Members,
    assessors: Members,
    *,
    form: str,
    factor: float,
    decimal_comma: bool = False,
) -> Expected:
    """Return what is known of pairs from columns of assessors, objects and ratings, each distinct cell read once."""
    ratings = columns[2]
    said = np.array([not _says_nothing(cell) for cell in ratings.cells] or [False], np.bool_)
    plain = ratings.codes == NO_CODE
    told = np.flatnonzero(np.where(plain, ratings.numbers is not None, said[np.where(plain, 0, ratings.codes)]))
    assessor, object_, ratings = (column.take(told) for column in columns)
    places = []
    for column, members in ((assessor, assessors), (object_, objects)):
        place = members.positions(column)
        if (place < 0).any():
            position_of(column[int(np.argmax(place < 0))], members, form)
        places.append(place)
    words = level_words()
    read = [_rated_cell(cell, form, words, decimal_comma) for cell in ratings.cells] or [np.nan]
    plain = ratings.codes == NO_CODE
    number = np.asarray(read, dtype=np.float64)[np.where(plain, 0, ratings.codes)]
    if ratings.numbers is not None:
        plainly = bid_number(ratings.numbers) if form == "bids" else ratings.numbers
        number = np.where(plain, plainly, number)
    is_sound = _is_sound(number, form)
    if not is_sound.all():
        row = int(np.argmin(is_sound))
        raise _bad_rating(ratings[row], (assessor[row], object_[row]), form)
    return _told(places[1] * len(assessors.labels) + places[0], number, objects, assessors, form, factor)


def _is_sound(number: Floats, form: str) -> Flags:
    """Say of some numbers whether they can be what they are for."""
    return np.asarray((number > 0) & (number < np.inf) if form == "uncertainty" else (number >= 0) & (number <= 1))


def _rated_cell(cell: Any, form: str, words: Mapping[str, int], decimal_comma: bool) -> float:
    """Return the number that a cell holds, or that its level stands for; NaN where it is neither."""
    number = parse_number(cell, decimal_comma=decimal_comma and isinstance(cell, str))
    if form == "bids":
        bid = lexicon.BIDS.get(fold(str(cell))) if number is None else float(bid_number(np.array(number)))
        return np.nan if bid is None else bid
    if number is None and form == "expertise":
        level = words.get(str(cell).strip().casefold())
        number = None if level is None else (level + 1) / 2
    return np.nan if number is None else number


def bid_number(bids: Floats) -> Floats:
    """Return bids, whole numbers from -20 to 20, as numbers from 0 to 1; beyond 20 nobody can be keener.

    Examples
    --------
    >>> bid_number(np.array([-100.0, -20.0, 0.0, 10.0, 20.0, 0.5]))
    array([0.  , 0.  , 0.5 , 0.75, 1.  ,  nan])
    """
    scaled = np.clip(0.5 + np.asarray(bids, dtype=np.float64) / (2 * KEENEST), 0.0, 1.0)
    return np.where(np.mod(bids, 1) == 0, scaled, np.nan)


def _told(keys: Codes, numbers: Floats, objects: Members, assessors: Members, form: str, factor: float) -> Expected:
    """Return what numbers say of pairs, each of which may be given once."""
    width = len(assessors.labels)
    order = np.argsort(keys, kind="stable")
    key = keys[order]
    if (np.diff(key) == 0).any():
        o, a = divmod(int(key[np.flatnonzero(np.diff(key) == 0)[0]]), width)
        raise InputError(
            f"The {form} of {assessors.labels[a]} on {objects.labels[o]} is given twice: give it once.",
            kind="duplicate",
        )
    if not key.size:
        raise InputError(f"There is no {form} in it.", kind="empty")
    return _rated(key, numbers[order], "expertise" if form == "bids" else form, factor)


def _says_nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip()) or frames.is_missing(cell)


def _positions(labels: Sequence[Any], members: Members, what: str) -> Codes:
    """Return where labels stand among the members."""
    index = members.index
    found = [index.get(label if type(label) is str else label_text(label), -1) for label in labels]
    if -1 in found and members.aliases:
        found = [members.find(label_text(label)) if at < 0 else at for at, label in zip(found, labels, strict=True)]
    if -1 in found:
        position_of(labels[found.index(-1)], members, what)
    return np.asarray(found, dtype=np.int64)


def _rating(cell: Any, pair: tuple[Any, Any], form: str, words: Mapping[str, int]) -> float:
    """Return the number that a cell holds, or that its level stands for."""
    number = _rated_cell(cell, form, words, decimal_comma=False)
    if np.isnan(number):
        raise _bad_rating(cell, pair, form)
    return number


def _bad_rating(cell: Any, pair: tuple[Any, Any], form: str) -> InputError:
    assessor, object_ = map(label_text, pair)
    wanted = {
        "expertise": "a level or a number from 0 to 1",
        "uncertainty": "a positive number of points",
        "bids": "yes, maybe or no, or a whole number from -20 to 20",
    }[form]
    return bad_option(
        f"The {form} of {assessor} on {object_} must be {wanted}, not {cell!r}.",
        where=f"assessor {assessor}, object {object_}",
    )


def expertise_of(keys: Codes, numbers: Floats, factor: float) -> Expected:
    """Return what numbers from 0 to 1 say of pairs, ascending keys, each once."""
    return _rated(keys, numbers, "expertise", factor)


def precision_of_expertise(expertise: Floats, factor: float) -> Floats:
    """Return the precision, relative to a medium assessment's: f^2 for 1 (high), 1 for one half, f^-2 for 0 (low).

    Examples
    --------
    >>> precision_of_expertise(np.array([1.0, 0.5, 0.0]), 2.0)
    array([4.  , 1.  , 0.25])
    """
    return np.asarray(np.square(check_factor(factor)) ** (2 * expertise - 1), dtype=np.float64)


def topics_expertise(objects: Members, assessors: Members, topics: Any, factor: float) -> Expected | None:
    """Return expertise from topics: the share of an object's topics that the assessor knows too.

    They come as two mappings, from objects and from assessors; or from tables, parted by semicolons or commas.
    """
    if topics is None:
        if "topics" not in objects.columns or "topics" not in assessors.columns:
            return None
        of_objects = dict(zip(objects.labels, objects.columns["topics"], strict=True))
        of_assessors = dict(zip(assessors.labels, assessors.columns["topics"], strict=True))
    else:
        of_objects, of_assessors = topics
        _known(of_objects, objects)
        _known(of_assessors, assessors)
    known: dict[str, int] = {}
    wanted = [_topics(of_objects.get(label), known) for label in objects.labels]
    knows = [_topics(of_assessors.get(label), known) for label in assessors.labels]
    if not known:
        return None
    has = np.zeros((len(knows), len(known)))
    for row, ones in enumerate(knows):
        has[row, list(ones)] = 1.0
    share = np.stack([has[:, list(ones)].mean(axis=1) if ones else np.full(len(knows), 0.5) for ones in wanted])
    return _rated(np.arange(share.size), share.ravel(), "expertise", factor)


def _topics(given: Any, known: dict[str, int]) -> set[int]:
    if given is None or frames.is_missing(given):
        return set()
    listed = given.replace(",", ";").split(";") if isinstance(given, str) else list(given)
    return {known.setdefault(fold(str(topic)), len(known)) for topic in listed if str(topic).strip()}


def flags_of(given: object, members: Members, role: str) -> Codes:
    """Return the members that are marked: labels that were given, or a column of yes and no."""
    if given is not None and not (isinstance(given, Sequence) and not given):
        chosen = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
        return np.asarray([position_of(one, members, role) for one in chosen], dtype=np.int64)
    cells = members.columns.get(role, ())
    marked = []
    for at, cell in enumerate(cells):
        word = "" if cell is None else str(cell).strip().casefold().removesuffix(".0")
        if word in _TRUE:
            marked.append(at)
        elif word not in _FALSE:
            raise bad_option(
                f"Whether {members.side} {members.labels[at]} is {role} must be yes or no, not {cell!r}.",
                where=f"{members.side} {members.labels[at]}",
            )
    return np.asarray(marked, dtype=np.int64)


def _known(given: Mapping[Any, Any], members: Members) -> None:
    for label in given:
        position_of(label, members, "An option")


def position_of(given: object, members: Members, what: str) -> int:
    """Return where a member stands; ``what`` names it is said where there is none of that label."""
    label = label_text(given)
    at = members.find(label)
    if at < 0:
        raise InputError(
            f"{what[:1].upper()}{what[1:]}: there is no {members.side} {label}; "
            f"the {members.side}s are {name_some(members.labels)}.",
            kind="unknown_label",
            where=f"{members.side} {label}",
        )
    return at


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What was given with objects and assessors; all of it is as :func:`evenhand.assign` says."""

    per_object: Any
    min_load: Any
    max_load: Any
    conflicts: Pairs
    fixed: Pairs
    linking: Sequence[Any]
    expertise: Any
    topics: Any
    uncertainty: Any
    factor: float
    only_listed: bool
    cost: Any
    authors: Pairs = ()


def pose(objects: Members, assessors: Members, given: Given, *, is_open: bool, seed: int) -> Task:
    """Return the task in arrays; ``is_open`` if objects may have fewer assessments than they are given."""
    n_objects, n_assessors = len(objects.labels), len(assessors.labels)
    is_said = given.per_object is not None or "per_object" in objects.columns
    if not is_said and not is_open:
        raise bad_option("Say how many assessments each object needs: per_object, or a column of that name.")
    most = whole_numbers(given.per_object, objects, "per_object", -1) if is_said else np.full(n_objects, n_assessors)
    if (most < 1).any():
        label = objects.labels[int(np.argmin(most))]
        raise bad_option(f"Object {label} needs at least one assessment to have a value.", where=f"object {label}")
    taken = np.union1d(
        pairs_of(given.conflicts, objects, assessors, "conflicts"),
        pairs_of(given.authors, objects, assessors, "authors"),
    )
    must = pairs_of(given.fixed, objects, assessors, "fixed pairs")
    _refuse_both(taken, must, objects, assessors)
    everybody = flags_of(given.linking, objects, "linking")
    linked = np.setdiff1d((everybody[:, None] * n_assessors + np.arange(n_assessors)).ravel(), taken)
    must = np.union1d(must, linked)
    known = _expected(objects, assessors, given)
    if given.only_listed and known is None:
        raise bad_option("Only listed pairs may be chosen, and none are listed: give expertise.")
    keys = _possible((n_objects, n_assessors), known, taken, must, only_listed=given.only_listed, seed=seed)
    object_, assessor = np.divmod(keys, n_assessors)
    precision, skill, in_points = _expectations(keys, known, given.uncertainty)
    prices = floats_of(given.cost, assessors, "cost")
    if prices is not None and (prices < 0).any():
        raise bad_option("Costs must not be negative.")
    least = np.ones(n_objects, dtype=np.int64) if is_open else most.copy()
    least[everybody] = most[everybody] = np.bincount(linked // n_assessors, minlength=n_objects)[everybody]
    return Task(
        objects=objects.labels,
        assessors=assessors.labels,
        object=object_,
        assessor=assessor,
        precision=precision,
        expertise=skill,
        cost=np.ones(keys.size) if prices is None else prices[assessor],
        fixed=np.isin(keys, must, assume_unique=True),
        least=least,
        most=most,
        least_load=whole_numbers(given.min_load, assessors, "min_load", 0),
        most_load=whole_numbers(given.max_load, assessors, "max_load", n_objects),
        total=int(most.sum()),
        conflicts=taken,
        in_points=in_points,
    )


def _refuse_both(taken: Codes, must: Codes, objects: Members, assessors: Members) -> None:
    both = np.intersect1d(taken, must)
    if both.size:
        o, a = divmod(int(both[0]), len(assessors.labels))
        raise NoDesignError(
            f"Assessor {assessors.labels[a]} and object {objects.labels[o]} are a fixed pair and in conflict: lift the "
            "conflict, or free the pair.",
            kind="fixed",
            objects=[objects.labels[o]],
            assessors=[assessors.labels[a]],
            short=int(both.size),
        )


def _expected(objects: Members, assessors: Members, given: Given) -> Expected | None:
    """Return what is known of pairs: uncertainties, expertise or topics, whichever was given."""
    by_pair = given.uncertainty is not None and not isinstance(given.uncertainty, int | float | np.number)
    if given.expertise is not None and (given.topics is not None or by_pair):
        raise bad_option("Give one of expertise, topics and uncertainties by pair.")
    if by_pair:
        return expected_of(given.uncertainty, objects, assessors, form="uncertainty", factor=given.factor)
    if given.expertise is not None:
        return expected_of(given.expertise, objects, assessors, form="expertise", factor=given.factor)
    return topics_expertise(objects, assessors, given.topics, given.factor)


def _possible(
    shape: tuple[int, int], known: Expected | None, taken: Codes, must: Codes, *, only_listed: bool, seed: int
) -> Codes:
    """Return the keys of all pairs that may be chosen."""
    n_objects, n_assessors = shape
    count = n_objects * n_assessors
    if known is not None and (only_listed or count > MOST_PAIRS):
        keys = np.union1d(known.keys, must) if must.size else known.keys
    elif count > MOST_PAIRS:
        generator = np.random.default_rng(seed)
        drawn = generator.integers(0, n_assessors, (n_objects, DRAWN)) + n_assessors * np.arange(n_objects)[:, None]
        keys = np.union1d(drawn, must)
    else:
        keys = np.arange(count)
    return np.setdiff1d(keys, taken, assume_unique=True)


def _expectations(keys: Codes, known: Expected | None, uncertainty: Any) -> tuple[Floats, Floats | None, bool]:
    """Return precision and expertise of pairs, and whether precisions are in points."""
    usual = 1.0
    in_points = isinstance(uncertainty, int | float | np.number)
    if in_points:
        if not (np.isfinite(uncertainty) and uncertainty > 0):
            raise bad_option("The uncertainty of a score must be positive.")
        usual = 1 / float(uncertainty) ** 2
    if known is None:
        return np.full(keys.size, usual), None, in_points
    at = np.minimum(np.searchsorted(known.keys, keys), known.keys.size - 1)
    is_known = known.keys[at] == keys
    precision = np.where(is_known, known.precision[at], known.otherwise)
    if known.expertise is None:
        return precision, None, True
    return usual * precision, np.where(is_known, known.expertise[at], known.unnamed), in_points
