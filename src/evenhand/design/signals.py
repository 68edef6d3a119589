"""What is known of who suits what, bids, topics and expertise, as one number for a pair; and conflicts that follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.inputs import (
    KEENEST,
    NEUTRAL,
    CodedPairs,
    Expected,
    Members,
    Pairs,
    expected_of,
    expertise_of,
    pairs_of,
    people_in,
    topics_expertise,
)
from evenhand.design.program import least_cost
from evenhand.design.task import Task
from evenhand.errors import Problem, bad_option
from evenhand.panel import lexicon
from evenhand.panel.headings import fold
from evenhand.panel.rules import label_text

SIGNALS: Final = ("bids", "topics", "expertise")
"""What can be mixed, in the order in which it is shown."""

FAINT: Final = 3
"""Bids that all lie within as much of zero hardly weigh on a scale to 20."""

_ADDRESS: Final = re.compile(r"[^\s@,;<>\"()]+@[^\s@,;<>\"()]+")


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """What one source says of pairs, and what it weighs beside the others."""

    name: str
    weight: float
    said: Expected

    def numbers(self, keys: Codes) -> Floats:
        """Return what it says of some pairs, from 0 to 1; where it says nothing, what that means, one half mostly."""
        own = self.said.expertise
        if own is None or not self.said.keys.size:
            return np.full(keys.size, self.said.unnamed)
        at = np.minimum(np.searchsorted(self.said.keys, keys), self.said.keys.size - 1)
        return np.where(self.said.keys[at] == keys, own[at], self.said.unnamed)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a signal gets in a design.

    Attributes
    ----------
    signal
        Its name.
    weight
        Its share of all weights.
    mean
        Its mean over the pairs of the design, from 0 to 1; one half is neutral.
    alone
        That of the design that it would choose alone, under the same rules.
    possible
        That of all pairs that may be chosen.
    high, low
        Shares of the pairs of the design of which it speaks well (above one half) and badly.
    """

    signal: str
    weight: float
    mean: float
    alone: float | None
    possible: float
    high: float
    low: float


def heard(
    objects: Members,
    assessors: Members,
    *,
    bids: Any,
    topics: Any,
    expertise: Any,
    weights: Mapping[str, float] | None,
    factor: float,
) -> tuple[Signal, ...]:
    """Return what there is to be mixed, each with its share of the weights.

    Without weights, bids and expertise count alike, and topics stand in for expertise where there is none.
    """
    unknown = [name for name in weights or {} if name not in SIGNALS]
    if unknown:
        raise bad_option(f"There is no signal {unknown[0]!r} to weigh: there are {', '.join(SIGNALS)}.")
    if weights is None and expertise is not None and topics is not None:
        raise bad_option("Say what expertise and topics weigh beside each other, such as expertise=2 and topics=1.")
    weight = dict.fromkeys(SIGNALS, 1.0) if weights is None else {name: weights.get(name, 0.0) for name in SIGNALS}
    if not all(np.isfinite(one) and one >= 0 for one in weight.values()):
        raise bad_option("Weights must be numbers that are not negative.")
    said: dict[str, Expected | None] = {
        "bids": None if bids is None else expected_of(bids, objects, assessors, form="bids", factor=factor),
        "topics": None,
        "expertise": None
        if expertise is None
        else expected_of(expertise, objects, assessors, form="expertise", factor=factor),
    }
    if expertise is None or weights is not None:
        said["topics"] = topics_expertise(objects, assessors, topics, factor)
    for name in weights or {}:
        if weight[name] > 0 and said[name] is None:
            lacks = "no topics in both lists" if name == "topics" else f"no {name}"
            raise bad_option(f"There are {lacks} that could have a weight: give them, or leave the weight out.")
    parts = [(name, weight[name], one) for name in SIGNALS if (one := said[name]) is not None and weight[name] > 0]
    total = sum(share for _, share, _ in parts)
    if total == 0:
        raise bad_option("All weights are zero: give one of them at least a positive weight.")
    return tuple(Signal(name, share / total, one) for name, share, one in parts)


def mixed(signals: Sequence[Signal], factor: float, *, only_listed: bool = False) -> Expected:
    """Return the weighted mean of signals as expertise, of all pairs of which one of them says something.

    Where a signal says nothing of such a pair it counts as neutral: who has not bid is not passed over, and not put
    before who has bid "maybe". Topics say something of all pairs, and where ``only_listed``, they list none.
    """
    listing = [one for one in signals if not (only_listed and one.name == "topics")] or signals
    keys = listing[0].said.keys
    for one in listing[1:]:
        keys = np.union1d(keys, one.said.keys)
    number = np.zeros(keys.size)
    for one in signals:
        number += one.weight * one.numbers(keys)
    return expertise_of(keys, np.clip(number, 0.0, 1.0), factor)


def effects(task: Task, chosen: Flags, signals: Sequence[Signal]) -> tuple[Effect, ...]:
    """Return what each signal gets in a design, beside what it could get."""
    found = []
    for one in signals:
        number = one.numbers(task.keys)
        alone = least_cost(task, 1 - number)
        own = number[chosen]
        found.append(
            Effect(
                one.name,
                one.weight,
                float(own.mean()),
                None if alone is None else float(number[alone].mean()),
                float(number.mean()),
                float((own > NEUTRAL).mean()),
                float((own < NEUTRAL).mean()),
            )
        )
    return tuple(found)


# --- conflicts that follow from who wrote what ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """A pair that must not be, and why."""

    assessor: str
    object: str
    reason: str


@dataclass(frozen=True, slots=True)
class Person:
    """By what somebody is known: names, folded, and e-mail addresses."""

    names: frozenset[str]
    addresses: frozenset[str]

    @property
    def known_by(self) -> frozenset[str]:
        """Names and addresses together."""
        return self.names | self.addresses

    @property
    def institutions(self) -> set[str]:
        """The domains of their addresses that are an institution's."""
        return {place for address in self.addresses if (place := institution(address)) is not None}


def person(*texts: str) -> Person:
    """Return by what somebody is known from some texts, each a name or an address or both.

    Examples
    --------
    >>> sorted(person("Ray, Bob <bob@cs.mit.edu>").known_by)
    ['bob ray', 'bob@cs.mit.edu']
    """
    names, addresses = set(), set()
    for text in texts:
        addresses |= {found.casefold().rstrip(".") for found in _ADDRESS.findall(text)}
        plain = re.sub(r"\([^)]*\)|<[^>]*>", " ", _ADDRESS.sub(" ", text))
        last, comma, first = plain.partition(",")
        name = fold(f"{first} {last}" if comma else plain)
        if name:
            names.add(name)
    return Person(frozenset(names), frozenset(addresses))


def institution(address: str) -> str | None:
    """Return the domain of an address that is an institution's, without what is below it; None for a public provider's.

    Examples
    --------
    >>> institution("ann@cs.mit.edu"), institution("bob@inf.ed.ac.uk"), institution("cy@gmail.com")
    ('mit.edu', 'ed.ac.uk', None)
    """
    parts = address.casefold().rpartition("@")[2].strip(".").split(".")
    if len(parts) < 2:
        return None
    is_country = len(parts[-1]) == 2 and parts[-2] in lexicon.SECOND_LEVELS
    own = parts[-3:] if is_country else parts[-2:]
    if is_country and len(own) < 3:
        return None
    domain = ".".join(own)
    return None if own[0] in lexicon.MAIL_PROVIDERS or domain in lexicon.MAIL_DOMAINS else domain


def authors_in(cell: Any) -> list[Person]:
    """Return the authors that a cell lists, parted by semicolons, lines or, where there are none of these, commas.

    Examples
    --------
    >>> [sorted(one.known_by) for one in authors_in("Ann Lee <ann@x.edu>; Ray, Bob")]
    [['ann lee', 'ann@x.edu'], ['bob ray']]
    """
    if cell is None:
        return []
    if not isinstance(cell, str):
        cell = "; ".join(str(one) for one in cell) if isinstance(cell, Iterable) else label_text(cell)
    mark = r"[;|\n]|\band\b" if re.search(r"[;|\n]", cell) else r"[,\n]|\band\b"
    return [found for text in re.split(mark, cell) if (found := person(text)).known_by]


def derived_conflicts(
    objects: Members, assessors: Members, *, domains: bool, coauthors: Iterable[tuple[object, object]] | None
) -> tuple[list[Conflict], list[Problem]]:
    """Return the pairs that are in conflict for what is known of authors, each with its reason, and what to note.

    An assessor is in conflict with what they wrote themselves; by domains, with what somebody of the same institution
    wrote; and with what a co-author of theirs wrote.
    """
    cells = objects.columns.get("authors")
    if cells is None:
        raise bad_option(
            "Conflicts by domain or co-author need to know who wrote what: add a column authors, with names or e-mail "
            "addresses, to the table of objects."
        )
    wrote = [authors_in(cell) for cell in cells]
    readers = [person(*texts) for texts in people_in(assessors)]
    notes: list[Problem] = []
    if domains:
        notes += _without_address(readers, wrote, objects, assessors)
    pairs = [(person(label_text(one)), person(label_text(other))) for one, other in coauthors or ()]
    near = _acquainted(readers, pairs)
    if pairs and not any(near):
        notes.append(Problem("coauthors", "no assessor is in the list of co-authors, by name or by address."))
    by_name: dict[str, list[int]] = {}
    by_place: dict[str, list[int]] = {}
    by_friend: dict[str, list[int]] = {}
    for at, reader in enumerate(readers):
        for index, names in ((by_name, reader.known_by), (by_friend, near[at])):
            for name in names:
                index.setdefault(name, []).append(at)
        for place in reader.institutions if domains else ():
            by_place.setdefault(place, []).append(at)
    found: dict[tuple[int, int], str] = {}
    for object_, authors in enumerate(wrote):
        for author in authors:
            shown = sorted(author.names or author.addresses)[0]
            for name in author.known_by:
                for reader_at in by_name.get(name, ()):
                    found[object_, reader_at] = "author"
                for reader_at in by_friend.get(name, ()):
                    found.setdefault((object_, reader_at), f"co-author {shown}")
            for place in author.institutions if domains else ():
                for reader_at in by_place.get(place, ()):
                    found.setdefault((object_, reader_at), f"domain {place}")
    made = [
        Conflict(assessors.labels[reader_at], objects.labels[object_], reason)
        for (object_, reader_at), reason in sorted(found.items())
    ]
    return made, notes


def _without_address(
    readers: Sequence[Person], wrote: Sequence[Sequence[Person]], objects: Members, assessors: Members
) -> list[Problem]:
    """Return notes on members of whom no e-mail address is known, so that no domain can tell."""
    found = []
    for members, bare in (
        (assessors, [not one.addresses for one in readers]),
        (objects, [not any(author.addresses for author in authors) for authors in wrote]),
    ):
        count, side = sum(bare), members.side
        if count == len(bare):
            whose = "assessors" if side == "assessor" else "authors of objects"
            raise bad_option(f"There is no e-mail address of {whose} whose domain could tell a conflict: add them.")
        if count:
            whose = f"{count} of {len(bare)} {side}s" if side == "assessor" else f"the authors of {count} objects"
            found.append(Problem("no_address", f"no e-mail address is known of {whose}: no domain can tell there."))
    return found


def _acquainted(readers: Sequence[Person], pairs: Sequence[tuple[Person, Person]]) -> list[set[str]]:
    """Return for each assessor by what their co-authors are known."""
    friends: dict[str, set[str]] = {}
    for one, other in pairs:
        for mine, theirs in ((one, other), (other, one)):
            for name in mine.known_by:
                friends.setdefault(name, set()).update(theirs.known_by)
    return [set().union(*(friends.get(name, set()) for name in reader.known_by)) for reader in readers]


def with_conflicts(given: Pairs, derived: Sequence[Conflict], objects: Members, assessors: Members) -> CodedPairs:
    """Return conflicts that were given and those that follow, as one."""
    width = len(assessors.labels)
    further = [objects.index[one.object] * width + assessors.index[one.assessor] for one in derived]
    keys = np.union1d(pairs_of(given, objects, assessors, "conflicts"), np.asarray(further, dtype=np.int64))
    object_, assessor = np.divmod(keys, width)
    return CodedPairs(objects, assessors, object_index=object_, assessor_index=assessor)


def bids_notes(signals: Sequence[Signal]) -> list[Problem]:
    """Return a note on bids so near zero that they hardly weigh."""
    bids = [one.said.expertise for one in signals if one.name == "bids"]
    if not bids or bids[0] is None or not 0 < np.abs(bids[0] - NEUTRAL).max(initial=0.0) <= FAINT / (2 * KEENEST):
        return []
    words = (
        f"all bids lie within {FAINT} of zero on a scale from -20 to 20 and so hardly weigh: write yes, maybe and no, "
        "or use the whole scale."
    )
    return [Problem("faint_bids", words)]
