"""What conference systems say of who may read what, in the words of a design: object, assessor, expertise, topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.design.inputs import KEENEST
from evenhand.errors import InputError
from evenhand.io.formats.found import cells_of, column_named, of_rows, per_cell, text_of
from evenhand.io.formats.markup import read_markup
from evenhand.io.records import records_table
from evenhand.panel.column import NO_CODE, Cell, Column, Table, factorise, of_numbers
from evenhand.panel.headings import fold
from evenhand.panel.rules import parse_number
from evenhand.words import argument

Purpose = Literal["object", "assessor", "conflicts", "fixed pairs", "expertise", "bids"]
"""What a file is read for. Bids are expertise without what systems know of expertise itself."""

MEMBER: Final = "member #"
"""How an assessor is called whom EasyChair numbers: this, and the number."""

_REFUSED: Final = -100
"""The preference in HotCRP that is as good as a conflict."""
_HOTCRP_EXPERTISE: Final = {"x": 1.0, "y": 0.5, "z": 0.0}
_HOTCRP_ACTIONS: Final = frozenset({"review", "primaryreview", "secondaryreview", "pcreview", "externalreview"})
_EASYCHAIR_BIDS: Final = {"yes": 1.0, "maybe": 0.5, "no": 0.0}
_OPENREVIEW_BIDS: Final = {"very high": 1.0, "high": 0.75, "neutral": 0.5, "low": 0.25, "very low": 0.0}


def in_our_words(table: Table, purpose: Purpose, known: Iterable[str] = ()) -> Table:
    """Return the table of a known system with columns object, assessor and what the purpose needs; others as they are.

    Parameters
    ----------
    table
        Any table.
    purpose
        What it is read for. Of a file with conflicts and preferences only those that are asked for are taken.
    known
        Further names of the assessors, where they are known already.

    Raises
    ------
    InputError
        If a known system wrote it and what is asked for is not in it.
    """
    for reader in (_hotcrp, _easychair, _cmt, _openreview):
        found = reader(table, purpose, frozenset(known))
        if found is not None:
            if not len(found):
                what = "conflict" if purpose == "conflicts" else "pair" if "pairs" in purpose else purpose
                raise InputError(f"There is no {what} in it: give another file.", kind="empty", where=table.source)
            return found
    return table


def markup_table(text: str, source: str) -> Table:
    """Return the pairs of CMT's bids or assignments, which are XML."""
    root = read_markup(text, source)
    if root.name not in ("bids", "assignments"):
        message = f"This is XML of {root.name!r}, which is not known: export bids or assignments, or a table."
        raise InputError(message, kind="unknown_format", where=source)
    records: list[dict[str, Cell]] = []
    for submission in root.below("submission"):
        for user in submission.all("user"):
            record: dict[str, Cell] = {
                "object": submission.attributes.get("submissionId"),
                "assessor": user.attributes.get("email"),
            }
            if root.name == "bids":
                record["cmt bid"] = user.attributes.get("bid")
            records.append(record)
    if not records:
        raise InputError("There is no pair in it: give another file.", kind="empty", where=source)
    return records_table(records, source)


# --- the systems ---------------------------------------------------------------------------------


def _hotcrp(table: Table, purpose: Purpose, _: frozenset[str]) -> Table | None:
    """Read PC list, conflicts, preferences, assignments and topics of HotCRP."""
    names = {fold(name) for name in table.names}
    if purpose == "assessor" and {"email", "roles"} <= names and names & {"family name", "last"}:
        return _people(table, "email", ("given name", "first"), ("family name", "last"), _interests(table))
    if not {"paper", "title"} <= names and not {"paper", "action", "email"} <= names:
        return None
    if purpose == "object" and "topic" in names and "email" not in names:
        return _topics(table)
    if purpose in ("object", "assessor") or "email" not in names:
        if purpose in ("conflicts", "expertise", "bids") and "preference" in names:
            message = (
                "These are one member's preferences, and the file does not say whose: add a column email with the "
                "member's address, or download all PC review preferences."
            )
            raise InputError(message, kind="missing_column", where=table.source)
        return None
    if "conflicttype" in names:
        return _pairs(table, "paper", "email") if purpose == "conflicts" else None
    if "action" in names:
        acted = _words(table, "action", lambda word: word in _HOTCRP_ACTIONS)
        person = _words(table, "email", lambda word: not word.startswith("#"))
        return _pairs(table, "paper", "email", acted & person, "round") if purpose == "fixed pairs" else None
    if "preference" not in names:
        return None
    preference, expertise = _preferences(table)
    barred = np.nan_to_num(preference) <= _REFUSED
    for name in ("conflict", "notes"):
        if column_named(table, name) is not None:
            barred |= _words(table, name, lambda word: word == "conflict")
    if purpose == "conflicts":
        return _pairs(table, "paper", "email", barred)
    liked = np.clip(0.5 + preference / (2 * KEENEST), 0.0, 1.0)
    rating = liked if purpose == "bids" else np.where(np.isnan(expertise), liked, expertise)
    wanted = purpose in ("expertise", "bids")
    return _rated(table, "paper", "email", np.where(barred, 0.0, rating)) if wanted else None


def _interests(table: Table) -> list[str | None] | None:
    """Return the topics that each member of HotCRP's PC is interested in; None where no topic is in the file."""
    topics = [name for name in table.names if name.casefold().startswith("topic:")]
    if not topics:
        return None
    liked = {name: per_cell(cells_of(table, name), _is_interest) for name in topics}
    plain = {name: _topic(name.partition(":")[2]) for name in topics}
    return ["; ".join(plain[name] for name in topics if liked[name][row]) or None for row in range(len(table))]


def _is_interest(cell: Cell) -> bool:
    number = parse_number(text_of(cell))
    return number > 0 if number is not None else text_of(cell).casefold() in ("high", "interested", "yes", "expert")


def _topic(name: str) -> str:
    """Return the name of a topic without what parts topics from each other."""
    return re.sub(r"\s*[,;]\s*", " ", name).strip()


def _topics(table: Table) -> Table:
    """Return papers with their topics, of which HotCRP writes one a row."""
    papers: dict[str, tuple[Cell, list[str]]] = {}
    columns = [cells_of(table, column_named(table, name) or "") for name in ("paper", "title", "topic")]
    for paper, title, topic in zip(*columns, strict=True):
        known = papers.setdefault(text_of(paper), (title, []))[1]
        if text_of(topic) != "<none>":
            known.append(_topic(text_of(topic)))
    return records_table(
        [
            {"object": paper, "title": title, "topics": "; ".join(topics) or None}
            for paper, (title, topics) in papers.items()
        ],
        table.source,
    )


def _preferences(table: Table) -> tuple[Floats, Floats]:
    """Return preference and expertise by row, NaN where there is none; ``10X`` says both."""
    column = cells_of(table, column_named(table, "preference") or "")
    preference, letter = _numbers(column, _preferred), _numbers(column, _lettered)
    expertise = column_named(table, "expertise")
    if expertise is not None:
        said = _numbers(cells_of(table, expertise), _lettered)
        letter = np.where(np.isnan(said), letter, said)
    return preference, letter


def _preferred(cell: Cell) -> float | None:
    return parse_number(re.sub(r"[XYZxyz]\s*$", "", text_of(cell)))


def _lettered(cell: Cell) -> float | None:
    return _HOTCRP_EXPERTISE.get(text_of(cell)[-1:].casefold())


def _easychair(table: Table, purpose: Purpose, known: frozenset[str]) -> Table | None:
    """Read committee, submissions, bids and assignments of EasyChair."""
    names = {fold(name) for name in table.names}
    if purpose == "assessor" and {"#", "first name", "last name", "email"} <= names:
        found = _people(table, "email", ("first name",), ("last name",))
        return _with(found, {"also": [f"{MEMBER}{text_of(cell)}" for cell in cells_of(table, "#")]})
    if purpose == "object" and {"#", "title"} <= names and names & {"deleted", "decision"}:
        there = np.ones(len(table), np.bool_)
        if "deleted" in names:
            there = _words(table, "deleted", lambda word: word != "yes")
        kept = of_rows(table, there)
        return _with(kept, {"object": list(cells_of(kept, "#"))})
    if not {"submission #", MEMBER, "member name"} <= names:
        return None
    numbers = _mapped(cells_of(table, column_named(table, MEMBER) or ""), lambda cell: f"{MEMBER}{text_of(cell)}")
    by_number = any(name.startswith(MEMBER) for name in known)
    who = numbers if by_number else cells_of(table, column_named(table, "member name") or "")
    table = _replaced(table, "assessor", who)
    if "bid" not in names:
        return _pairs(table, "submission #", "assessor") if purpose == "fixed pairs" else None
    barred = _words(table, "bid", lambda word: "conflict" in word)
    if purpose == "conflicts":
        return _pairs(table, "submission #", "assessor", barred)
    rating = _numbers(cells_of(table, column_named(table, "bid") or ""), lambda cell: _EASYCHAIR_BIDS.get(_word(cell)))
    wanted = purpose in ("expertise", "bids")
    return _rated(table, "submission #", "assessor", np.where(barred, 0.0, rating)) if wanted else None


def _cmt(table: Table, purpose: Purpose, _: frozenset[str]) -> Table | None:
    """Read users, conflicts and bids of CMT."""
    names = {fold(name).removeprefix("# ") for name in table.names}
    plain = replace(table, names=tuple(re.sub(r"^#\s*", "", name) for name in table.names))
    if purpose == "assessor" and {"first name", "last name"} <= names and names & {"e mail", "email"}:
        if not any(name.startswith("#") for name in table.names):
            return None
        mail = "e mail" if "e mail" in names else "email"
        return _people(plain, mail, ("first name",), ("last name",))
    if {"paper id", "reviewer email"} <= names and purpose in ("conflicts", "fixed pairs"):
        return _pairs(plain, "paper id", "reviewer email")
    if "cmt bid" in names:
        if purpose not in ("expertise", "bids"):
            message = f"These are bids, not {purpose}: give them with {argument('bids')}."
            raise InputError(message, kind="not_pairs", where=table.source)
        bids = _numbers(cells_of(table, "cmt bid"), _leading)
        least, most = np.nanmin(bids), np.nanmax(bids)
        scaled = (bids - least) / (most - least) if most > least else np.where(np.isnan(bids), np.nan, 0.5)
        return _rated(table, "object", "assessor", scaled)
    return None


def _leading(cell: Cell) -> float | None:
    found = re.match(r"\s*(-?\d+)", text_of(cell))
    return None if found is None else float(found[1])


def _openreview(table: Table, purpose: Purpose, _: frozenset[str]) -> Table | None:
    """Read edges of OpenReview, bids, conflicts and affinities, and tables of affinities with or without a header."""
    names = {fold(name) for name in table.names}
    if {"head", "tail"} <= names and names & {"weight", "label"}:
        return _edges(table, purpose)
    if purpose != "expertise" or len(table.names) != 3:
        return None
    second, score = table.names[1:]
    if parse_number(score) is not None and _is_profile(second):
        columns = (factorise(name, [name, *column]) for name, column in zip(table.names, table.columns, strict=True))
        numbers = np.concatenate([[int(table.row_numbers[0]) - 1], table.row_numbers])
        own = ("object", "assessor", "expertise")
        named = tuple(replace(column, name=name) for column, name in zip(columns, own, strict=True))
        return replace(table, names=own, columns=named, row_numbers=numbers)
    if {"entitya", "entityb"} <= names:
        whose = next(iter(cells_of(table, second)), None)
        own = (
            ("object", "assessor", "expertise") if _is_profile(text_of(whose)) else ("assessor", "object", "expertise")
        )
        renamed = tuple(replace(column, name=name) for column, name in zip(table.columns, own, strict=True))
        return replace(table, names=own, columns=renamed)
    return None


def _is_profile(label: str) -> bool:
    return label.startswith("~") or "@" in label


def _edges(table: Table, purpose: Purpose) -> Table | None:
    """Return pairs of edges: those in conflict, those assigned, or bids and affinities."""
    rows = np.ones(len(table), np.bool_)
    if column_named(table, "ddate") is not None:
        rows &= _words(table, "ddate", lambda word: not word)
    label, invitation = column_named(table, "label"), column_named(table, "invitation")
    barred = np.zeros(len(table), np.bool_)
    for name in (label, invitation):
        if name is not None:
            barred |= _words(table, name, lambda word: word.endswith("conflict"))
    if purpose == "conflicts":
        return _pairs(table, "head", "tail", rows & barred)
    assigned = np.zeros(len(table), np.bool_)
    if invitation is not None:
        assigned = _words(table, invitation, lambda word: word.endswith("assignment"))
    if purpose == "fixed pairs":
        return _pairs(table, "head", "tail", rows & assigned, "label")
    if purpose not in ("expertise", "bids"):
        return None
    bids = np.full(len(table), np.nan)
    if label is not None:
        bids = _numbers(cells_of(table, label), lambda cell: _OPENREVIEW_BIDS.get(_word(cell)))
    weight = column_named(table, "weight")
    if weight is not None:
        unsaid = np.isnan(bids) & ~(_words(table, label, bool) if label is not None else np.zeros(len(table), np.bool_))
        bids = np.where(unsaid, _numbers(cells_of(table, weight), parse_number), bids)
    return _rated(table, "head", "tail", np.where(rows & ~barred & ~assigned, bids, np.nan))


# --- columns -------------------------------------------------------------------------------------


def _word(cell: Cell) -> str:
    return text_of(cell).casefold()


def _words(table: Table, name: str, say: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Say of each row what is true of a word, without regard to case."""
    return per_cell(cells_of(table, column_named(table, fold(name)) or name), lambda cell: say(_word(cell)))


def _numbers(column: Column, read: Callable[[Cell], float | None]) -> Floats:
    """Return a number for each row, read once from each distinct cell; NaN where there is none."""
    found = np.array([np.nan if (number := read(cell)) is None else number for cell in column.cells] or [np.nan])
    plain = column.codes == NO_CODE
    numbers = found[np.where(plain, 0, column.codes)]
    return np.where(plain, np.nan if column.numbers is None else column.numbers, numbers)


def _mapped(column: Column, change: Callable[[Cell], Cell]) -> Column:
    """Return a column with each distinct cell changed."""
    if column.numbers is not None:
        return factorise(column.name, [change(cell) for cell in column])
    return replace(column, cells=[change(cell) for cell in column.cells])


def _replaced(table: Table, name: str, column: Column) -> Table:
    return replace(table, names=(*table.names, name), columns=(*table.columns, replace(column, name=name)))


def _with(table: Table, further: Mapping[str, list[Cell] | list[str]]) -> Table:
    columns = (*table.columns, *(factorise(name, cells) for name, cells in further.items()))
    return replace(table, names=(*table.names, *further), columns=columns)


def _pairs(
    table: Table, object_: str, assessor: str, rows: NDArray[np.bool_] | None = None, round_: str | None = None
) -> Table:
    """Return the two columns of pairs, and that of their rounds where there is one, of some rows."""
    wanted = {"object": object_, "assessor": assessor}
    if round_ is not None and column_named(table, round_) is not None:
        wanted["round"] = round_
    chosen = [cells_of(table, column_named(table, name) or "") for name in wanted.values()]
    named = tuple(replace(column, name=name) for column, name in zip(chosen, wanted, strict=True))
    found = replace(table, names=tuple(wanted), columns=named)
    return found if rows is None else of_rows(found, rows)


def _rated(table: Table, object_: str, assessor: str, rating: Floats) -> Table:
    """Return the columns of pairs with their expertise, of rows that say something."""
    found = _pairs(table, object_, assessor)
    told = ~np.isnan(rating)
    found = replace(found, names=(*found.names, "expertise"), columns=(*found.columns, of_numbers("expertise", rating)))
    return of_rows(found, told)


def _people(
    table: Table, mail: str, first: tuple[str, ...], last: tuple[str, ...], topics: list[str | None] | None = None
) -> Table:
    """Return people by their e-mail addresses, with names and perhaps topics; by name where there is no address."""
    columns = [cells_of(table, column_named(table, *names) or "") for names in ((mail,), first, last)]
    rows = [tuple(map(text_of, cells)) for cells in zip(*columns, strict=True)]
    names = [f"{given} {family}".strip() for _, given, family in rows]
    records: dict[str, list[Cell]] = {
        "assessor": [address or name or None for (address, _, _), name in zip(rows, names, strict=True)],
        "email": [address or None for address, _, _ in rows],
        "name": [name or None for name in names],
    }
    if topics is not None:
        records["topics"] = list(topics)
    further = ("min load", "max load", "load", "quota", "cost")
    kept = {name: list(cells_of(table, name)) for name in table.names if fold(name) in further}
    own = {**records, **kept}
    made = tuple(factorise(name, cells) for name, cells in own.items())
    return replace(table, names=tuple(own), columns=made)
