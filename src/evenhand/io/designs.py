"""Files of labels: who there is, pairs such as conflicts and fixed assignments, expertise; mistakes have a place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

import numpy as np

from evenhand.design.inputs import (
    WORDS,
    CodedPairs,
    Expected,
    Members,
    Pairs,
    expected_by_columns,
    expected_from,
    flags_of,
    floats_of,
    members_from,
    position_of,
    rating_columns,
    table_pairs,
    whole_numbers,
)
from evenhand.design.there import There
from evenhand.errors import InputError, Problem
from evenhand.io.coding import LARGE_FILE
from evenhand.io.committees import Purpose, in_our_words, markup_table
from evenhand.io.delimited import TextFile
from evenhand.io.formats.found import text_of
from evenhand.io.panels import read_panel, read_table
from evenhand.io.paths import MAX_UNPACKED, regular_file
from evenhand.io.records import read_json, to_table
from evenhand.io.table import MAX_CELLS, Cell, Table, read_whole
from evenhand.panel.confidence import FACTOR
from evenhand.panel.graph import Side
from evenhand.panel.headings import SYNONYMS, fold
from evenhand.panel.layout import find_column
from evenhand.panel.panel import Panel
from evenhand.panel.rules import label_text, parse_number
from evenhand.panel.source import Wanted
from evenhand.words import name_some

_SIDES: Final[tuple[Side, Side]] = ("assessor", "object")
_WHOLE: Final = {"object": ("per_object",), "assessor": ("min_load", "max_load")}
_DECIMAL: Final = {"object": ("expected",), "assessor": ("cost",)}
_ALSO: Final = (*WORDS["email"], "also", "name")
_EMPTY: Final = -2
_COLUMNS_OF_A_PANEL: Final = 3
_MOST_NUMBERED: Final = 1_000_000


def numbered(count: int, side: Side) -> Members:
    """Return a number of objects or assessors with labels of their own.

    Examples
    --------
    >>> numbered(3, "object").labels
    ('O1', 'O2', 'O3')
    """
    if not 1 <= count <= _MOST_NUMBERED:
        message = f"The number of {side}s must be from 1 to {_MOST_NUMBERED:,}, not {count:,}."
        raise InputError(message, kind="bad_option")
    width = len(str(count))
    return Members(side, tuple(f"{side[0].upper()}{number:0{width}d}" for number in range(1, count + 1)), {})


def read_members(path: str | os.PathLike[str], side: Side, *, column: str | None = None) -> Members:
    """Return the objects or the assessors of a file, one a row, with what its other columns say about them.

    These are recognised as in :func:`evenhand.assign`; ``column`` names that of the labels. Lists of HotCRP, EasyChair
    and CMT are read too, with e-mail addresses as labels. A label that stands twice is refused, and so is a cell of
    another column that makes no sense.
    """
    raw = _cells(path)
    if column is not None:
        find_column(raw.names, column, option=side, source=raw.source)
    table = _in_front(raw, {side: column}) if column is not None else in_our_words(raw, side)
    first: dict[str, int] = {}
    for row, (text,) in _labels(table, side):
        if text is None:
            continue
        if text in first:
            twice = f"{side.capitalize()} {text} is listed twice, here and in {table.where(first[text])}"
            raise InputError(f"{twice}: list it once.", kind="duplicate", where=f"{table.source}, {table.where(row)}")
        first[text] = row
    found = members_from(side, _columns(table), source=table.source)
    columns = dict(found.columns)
    for role in (*_WHOLE[side], *_DECIMAL[side]):
        if role in columns:
            columns[role] = [_number(cell, table) for cell in columns[role]]
    found = replace(found, columns=columns, aliases=_aliases(table, side))
    with placed(table.source):
        for role in _WHOLE[side]:
            whole_numbers(None, found, role, 0)
        for role in _DECIMAL[side]:
            floats_of(None, found, role)
        if side == "object":
            flags_of(None, found, "linking")
    return found


def typed_members(text: str, side: Side) -> Members:
    r"""Return objects or assessors that somebody typed or pasted: how many, one a line, or a table with headings.

    Examples
    --------
    >>> typed_members("Grant, R\nHorvat, J", "assessor").labels
    ('Grant, R', 'Horvat, J')
    >>> typed_members("proposal,title\nP1,On cakes", "object").details
    {'title': {'P1': 'On cakes'}}
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0].isdecimal() and len(lines[0]) < len(str(_MOST_NUMBERED)) + 2:
        return numbered(int(lines[0]), side)
    known = {*SYNONYMS[side], *(WORDS["email"] if side == "assessor" else ())}
    is_table = "\t" in text or (bool(lines) and any(fold(cell) in known for cell in re.split("[,;|]", lines[0])))
    if not is_table:
        return members_from(side, {side: lines}, source=f"{side}s")
    with _pasted(text, f"{side}s") as file:
        return read_members(file, side)


def typed_pairs(text: str, objects: Members, assessors: Members, what: Literal["conflicts", "fixed pairs"]) -> Pairs:
    """Return pairs that somebody pasted, one a line; headings may be missing where the first line has a known label."""
    if not text.strip():
        return []
    headings = _headings(text, objects, assessors)
    with _pasted(text, what, headings) as file:
        return read_design_pairs(file, objects, assessors, what)


def typed_expertise(text: str, objects: Members, assessors: Members) -> Expected | None:
    """Return what somebody pasted on how well assessors know objects; None where that is nothing."""
    if not text.strip():
        return None
    headings = _headings(text, objects, assessors)
    with _pasted(text, "expertise", headings) as file:
        return read_expected(file, objects, assessors)


def _headings(text: str, objects: Members, assessors: Members) -> str:
    """Return the headings that pasted pairs lack: a line where their first one is a pair already, else nothing."""
    first = text.strip("\r\n").partition("\n")[0]
    mark = next((mark for mark in "\t;" if mark in first), ",")
    cells = [cell.strip().strip('"') for cell in first.split(mark)]
    members = {"assessor": assessors, "object": objects}
    for sides in (_SIDES, _SIDES[::-1]):
        named = list(zip(sides, cells, strict=False))
        if len(named) == len(sides) and any(members[side].find(cell) >= 0 for side, cell in named):
            return mark.join([*sides, "expertise"][: len(cells)]) + "\n"
    return ""


@contextmanager
def _pasted(text: str, what: str, headings: str = "") -> Iterator[Path]:
    """Give pasted text as a file to read; errors say what it is, and the row as it was pasted."""
    with TemporaryDirectory(prefix="evenhand-") as folder:
        file = Path(folder) / f"{what}.txt"
        tidy = re.sub(r"([,;])[ \t]+(?=\S)", r"\1", text.strip("\r\n"))  # as people type: Ana, P01
        file.write_text(f"{headings}{tidy}\n", encoding="utf-8")
        try:
            yield file
        except InputError as error:
            places = [(one.where or what).replace(file.name, what, 1) for one in error.problems]
            if headings:
                places = [re.sub(r"(?<=row )\d+", lambda row: str(int(row[0]) - 1), place) for place in places]
            pairs = zip(error.problems, places, strict=True)
            raise InputError([replace(one, where=place) for one, place in pairs]) from None


def _aliases(table: Table, side: Side) -> dict[str, str]:
    """Return labels of assessors by what else they are called, e-mail address, number or name, where that is unique."""
    if side == "object":
        return {}
    label = _column(table, side)
    others = [at for at, name in enumerate(table.names) if at != label and fold(name) in _ALSO]
    found: dict[str, str | None] = {}
    for at in others:
        for cell, one in zip(table.columns[at], table.columns[label], strict=True):
            if cell is not None and one is not None:
                name, text = label_text(cell).strip(), label_text(one)
                found[name] = text if found.get(name, text) == text else None
    labels = {label_text(cell) for cell in table.columns[label] if cell is not None}
    return {name: text for name, text in found.items() if text is not None and name not in labels}


def read_design_pairs(
    path: str | os.PathLike[str],
    objects: Members,
    assessors: Members,
    what: Literal["conflicts", "fixed pairs"],
    *,
    object: str | None = None,
    assessor: str | None = None,
) -> CodedPairs:
    """Return the pairs (assessor, object) of a file, all of them known; ``what`` they are is said in messages.

    ``object`` and ``assessor`` name columns, where the file has them. Of files of conference systems those pairs are
    taken that are in conflict, or assigned.
    """
    table = _sheet(path, what, assessors, {"assessor": assessor, "object": object})
    columns = [table.columns[_column(table, side)] for side in _SIDES]
    places = [members.positions(column) for members, column in zip((assessors, objects), columns, strict=True)]
    is_bad = (places[0] < 0) | (places[1] < 0)
    is_blank = (places[0] == _EMPTY) & (places[1] == _EMPTY)
    if (is_bad & ~is_blank).any():
        row = int(np.argmax(is_bad & ~is_blank))
        raise _bad_pair(table, row, [column[row] for column in columns], objects, assessors, what)
    filled = ~is_blank
    return CodedPairs(objects, assessors, object_index=places[1][filled], assessor_index=places[0][filled])


def read_there(path: str | os.PathLike[str], *, object: str | None = None, assessor: str | None = None) -> There:
    """Return what a design or a panel has already: who reads what, in which round, and the scores that are in.

    A file without any score is a design: columns of assessors and objects, and perhaps round, as ``design --out``
    writes them, a score sheet that nobody has filled in, or assignments of a conference system.
    """
    try:
        table = _sheet(path, "fixed pairs", Members("assessor", (), {}), {"assessor": assessor, "object": object})
    except InputError:  # a panel in a form of its own, or nothing at all, of which its reader says why
        table = None
    if table is None or not _is_design(table):
        return There.of(read_panel(path, object=object, assessor=assessor))
    rows = [(row, labels) for row, labels in _labels(table, *_SIDES) if any(labels)]
    halves = [row for row, labels in rows if not all(labels)]
    if halves:
        message = "A pair needs both an assessor and an object: fill in both."
        raise InputError(message, kind="empty_label", where=f"{table.source}, {table.where(halves[0])}")
    rounds = next((one for name, one in zip(table.names, table.columns, strict=True) if fold(name) == "round"), None)
    pairs = {row: (str(labels[0]), str(labels[1])) for row, labels in rows}
    told = {} if rounds is None else {pair: text_of(rounds[row]) for row, pair in pairs.items()}
    with placed(table.source):
        return There.of(list(pairs.values()), rounds={pair: name for pair, name in told.items() if name})


def read_design_panel(path: str | os.PathLike[str]) -> tuple[Panel, bool]:
    """Return who reads what as a panel, without scores where there are none, and whether it says how sure, in points.

    A design says so in a column ``uncertainty``, scores by theirs.
    """
    there = read_there(path)
    if there.scores is not None:
        return there.scores, there.scores.confidence == "uncertainty"
    table = _sheet(path, "fixed pairs", Members("assessor", (), {}), {})
    at = next((at for at, name in enumerate(table.names) if fold(name) in WORDS["uncertainty"]), None)
    sds: dict[tuple[str, str], float] = {}
    for row, labels in _labels(table, *_SIDES) if at is not None else ():
        number = parse_number(text_of(table.columns[at or 0][row]), decimal_comma=table.decimal_comma)
        if all(labels) and (number is None or not 0 < number < np.inf):
            message = "An expected standard deviation must be a positive number of points, or the column be left out."
            raise InputError(message, kind="bad_cell", where=f"{table.source}, {table.where(row)}")
        sds[str(labels[0]), str(labels[1])] = float(number or 1.0)
    names = [list(dict.fromkeys(pair[side] for pair in there.pairs)) for side in (1, 0)]
    places = [{label: at for at, label in enumerate(own)} for own in names]
    panel = Panel.from_arrays(
        np.array([places[0][label] for _, label in there.pairs]),
        np.array([places[1][assessor] for assessor, _ in there.pairs]),
        np.zeros(len(there.pairs)),
        np.array([sds.get(pair, 1.0) ** -2 for pair in there.pairs]),
        objects=tuple(names[0]),
        assessors=tuple(names[1]),
    )
    return panel, at is not None


def _is_design(table: Table) -> bool:
    """Say whether a table has pairs and no score: no number but those that a design has, and nothing under score."""
    names = [fold(name) for name in table.names]
    if not all(any(name in SYNONYMS[side] for name in names) for side in _SIDES):
        return False
    own = {*SYNONYMS["assessor"], *SYNONYMS["object"], *WORDS["expertise"], *WORDS["uncertainty"], "fixed", "round"}
    for name, column in zip(names, table.columns, strict=True):
        texts = [] if name in own else [text for cell in column if (text := text_of(cell))]
        if texts and (name in SYNONYMS["score"] or any(parse_number(text) is not None for text in texts)):
            return False
    return True


def read_member_pairs(path: str | os.PathLike[str], members: Members, what: str) -> list[tuple[str, str]]:
    """Return pairs of members of one side, all of them known, from the first two columns of a file.

    A first line that names two members is a pair, and no headings.
    """
    table = _cells(path)
    if len(table.names) < 2:
        message = f"The {what} need two columns of {members.side}s, one for each of a pair."
        raise InputError(message, kind="missing_column", where=table.source)
    found = [(table.names[0], table.names[1])] if all(members.find(name) >= 0 for name in table.names[:2]) else []
    for row, (one, other) in enumerate(zip(table.columns[0], table.columns[1], strict=True)):
        if one is None and other is None:
            continue
        where = f"{table.source}, {table.where(row)}"
        if one is None or other is None:
            raise InputError("A pair needs two labels: fill in both.", kind="empty_label", where=where)
        with placed(where):
            found.append(tuple(members.labels[position_of(cell, members, what)] for cell in (one, other)))  # type: ignore[arg-type]
    return found


def read_authors(path: str | os.PathLike[str], objects: Members) -> list[tuple[str, str]]:
    """Return who wrote what from a file with columns author, or assessor, and object; objects must be known."""
    table = _cells(path)
    who = next((at for at, name in enumerate(table.names) if fold(name) in ("author", "authors")), None)
    who = _column(table, "assessor") if who is None else who
    found = []
    for row, (author, work) in enumerate(zip(table.columns[who], table.columns[_column(table, "object")], strict=True)):
        if author is None and work is None:
            continue
        where = f"{table.source}, {table.where(row)}"
        if author is None or work is None:
            message = "Who wrote what needs both an author and an object: fill in both."
            raise InputError(message, kind="empty_label", where=where)
        with placed(where):
            position_of(work, objects, "authors")
        found += [(one.strip(), label_text(work)) for one in label_text(author).split(";") if one.strip()]
    return found


def _bad_pair(
    table: Table, row: int, cells: Sequence[Cell], objects: Members, assessors: Members, what: str
) -> InputError:
    """Return the error for a pair that lacks one of the two, or names somebody who is not there."""
    where = f"{table.source}, {table.where(row)}"
    if any(cell is None for cell in cells):
        message = "A pair needs both an assessor and an object: fill in both."
        return InputError(message, kind="empty_label", where=where)
    both = ((label_text(cell), members) for cell, members in zip(cells, (assessors, objects), strict=True))
    label, members = next(one for one in both if one[1].find(one[0]) < 0)
    who = "whom" if members.side == "assessor" else "which"
    known = f"the {members.side}s are {name_some(members.labels)}."
    message = f"There is no {members.side} {label}, {who} the {what} name: {known}"
    return InputError(message, kind="unknown_label", where=where)


def read_expected(
    path: str | os.PathLike[str],
    objects: Members,
    assessors: Members,
    *,
    form: Literal["expertise", "uncertainty", "bids"] = "expertise",
    factor: float = FACTOR,
    object: str | None = None,
    assessor: str | None = None,
) -> Expected:
    """Return what a file says of how well assessors know objects, how uncertain their scores will be, or of bids.

    It has columns of assessors, objects and one named expertise, level, uncertainty or bid; or it is wide, with
    assessors down and objects across, or the other way round, and ``form`` says what its cells are. ``object`` and
    ``assessor`` name columns, where the file has them. Preferences of HotCRP, bids of EasyChair, CMT and OpenReview,
    and affinities of OpenReview are read as expertise.
    """
    purpose: Purpose = "bids" if form == "bids" else "expertise"
    table = _sheet(path, purpose, assessors, {"assessor": assessor, "object": object})
    named = [name for name in table.names if name in {*objects.labels, *assessors.labels}]
    twice = next((name for name in named if named.count(name) > 1), None) if len(named) > len(set(named)) else None
    if twice is not None:
        raise InputError(f"There are two columns {twice}: leave one out.", kind="duplicate", where=table.source)
    with placed(table.source):
        long = rating_columns(table.names)
        if long is not None:
            kind, places = long
            whose, what, ratings = (table.columns[at] for at in places)
            return expected_by_columns(
                (whose, what, ratings), objects, assessors, form=kind, factor=factor, decimal_comma=table.decimal_comma
            )
        found, pairs, cells = table_pairs(_columns(table), objects, assessors, form, None)
        numbers = [_number(cell, table) for cell in cells]
        return expected_from(pairs, numbers, objects, assessors, form=found, factor=factor)


def _sheet(
    path: str | os.PathLike[str], purpose: Purpose, assessors: Members, named: Mapping[Side, str | None]
) -> Table:
    """Return the table of a file in our words, with columns that are named, and are there, in front."""
    table = _cells(path)
    names = set(map(fold, table.names))
    there = {side: name for side, name in named.items() if name is not None and fold(name) in names}
    return _in_front(table, there) if there else in_our_words(table, purpose, assessors.aliases)


def _in_front(table: Table, named: Mapping[Side, str | None]) -> Table:
    """Return a table whose named columns come first, under the names of what they are."""
    for side, name in named.items():
        if name is not None:
            at = find_column(table.names, name, option=side, source=table.source)
            names = [one for index, one in enumerate(table.names) if index != at]
            columns = [one for index, one in enumerate(table.columns) if index != at]
            first = replace(table.columns[at], name=side)
            table = replace(table, names=(side, *names), columns=(first, *columns))
    return table


def _cells(path: str | os.PathLike[str]) -> Table:
    """Return the cells of a file; large texts by the road of large panels, JSON and XML by what they hold."""
    suffix = Path(path).suffix.lower()
    if suffix in (".json", ".jsonl", ".ndjson"):
        source = Path(path).name
        data = read_json(path, source)
        listed = data.get("edges", data.get("assignments")) if isinstance(data, dict) else None
        return to_table(data if listed is None else listed, source)
    if suffix == ".xml":
        place = regular_file(path, max_bytes=MAX_UNPACKED)
        return markup_table(place.read_text(encoding="utf-8-sig", errors="replace"), place.name)
    if suffix in (".csv", ".tsv", ".txt") and regular_file(path, max_bytes=MAX_UNPACKED).stat().st_size >= LARGE_FILE:
        return read_whole(_Padded(path, max_bytes=MAX_UNPACKED, max_cells=MAX_CELLS))
    return read_table(path)


class _Padded(TextFile):
    """A large text file that may have fewer columns than a panel has, of which the last is read again instead.

    Ratings are read as numbers at once.
    """

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield the wanted columns."""
        if wanted is None:
            return
        count = len(wanted.used)
        padded = (*wanted.used, *wanted.used[-1:] * (_COLUMNS_OF_A_PANEL - count))
        ratings = {*WORDS["expertise"], *WORDS["level"], *WORDS["uncertainty"]}
        numeric = frozenset(at for at, name in enumerate(self.names) if fold(name) in ratings)
        for portion in super().portions(replace(wanted, used=padded, numeric=numeric)):
            yield replace(portion, columns=portion.columns[:count])


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the pairs (assessor, object) of a file with these two columns, under any name that scores may have."""
    table = in_our_words(_cells(path), "conflicts")
    rows = list(_labels(table, *_SIDES))
    message = "a pair needs both an assessor and an object: fill in the other."
    halves = [row for row, (assessor, object_) in rows if (assessor is None) != (object_ is None)]
    if halves:
        raise InputError([Problem("empty_label", message, table.where(row)) for row in halves])
    return [(assessor, object_) for _, (assessor, object_) in rows if assessor is not None and object_ is not None]


def labels_left(given: str) -> list[str]:
    """Return assessors who left: labels with commas between them, or those that a file lists."""
    if Path(given).is_file():
        return read_labels(given, "assessor")
    return [label.strip() for label in given.split(",") if label.strip()]


def read_people(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the pairs of people of a file, co-authors say, by name or by address: its first two columns."""
    table = _cells(path)
    if len(table.columns) < 2:
        message = "Pairs of people stand in two columns, and there is one: write two, such as name and coauthor."
        raise InputError(message, kind="missing_column", where=table.source)
    rows = [
        [None if cell is None else label_text(cell) for cell in cells] for cells in zip(*table.columns[:2], strict=True)
    ]
    halves = [row for row, (one, other) in enumerate(rows) if (one is None) != (other is None)]
    if halves:
        message = "a pair needs two people: fill in the other."
        raise InputError([Problem("empty_label", message, table.where(row)) for row in halves])
    found = [(one, other) for one, other in rows if one is not None and other is not None]
    if not found:
        raise InputError("There is no pair of people in it: write one a row.", kind="empty", where=table.source)
    return found


def read_labels(path: str | os.PathLike[str], side: Side) -> list[str]:
    """Return the labels of objects or of assessors that a file lists, each once, in their order; at least one."""
    table = in_our_words(_cells(path), side)
    labels = list(dict.fromkeys(text for _, (text,) in _labels(table, side) if text is not None))
    if not labels:
        raise InputError(f"There are no {side}s in it: write one a row.", kind="empty", where=table.source)
    return labels


@contextmanager
def placed(source: str) -> Iterator[None]:
    """Name the file in every error that is raised within."""
    try:
        yield
    except InputError as error:
        problems = [
            replace(one, where=source if one.where is None else f"{source}, {one.where}") for one in error.problems
        ]
        raise InputError(problems) from None


def _labels(table: Table, *sides: Side) -> Iterator[tuple[int, list[str | None]]]:
    """Yield each row with its labels of some sides, None where the cell is empty."""
    columns = [table.columns[_column(table, side)] for side in sides]
    for row, cells in enumerate(zip(*columns, strict=True)):
        yield row, [None if cell is None else label_text(cell) for cell in cells]


def _column(table: Table, side: Side) -> int:
    """Return which column has the labels of one side."""
    for words in (SYNONYMS[side], WORDS["email"] if side == "assessor" else ()):
        for at, name in enumerate(table.names):
            if fold(name) in words:
                return at
    columns = f"the columns are {name_some(table.names, 12)}"
    message = f"There is no column of {side}s; {columns}: name one of them {side}."
    raise InputError(message, kind="missing_column", where=table.source)


def _columns(table: Table) -> dict[str, Sequence[Cell]]:
    """Return columns by name; of two with one name, the first."""
    found: dict[str, Sequence[Cell]] = {}
    for name, cells in zip(table.names, table.columns, strict=True):
        found.setdefault(name, cells)
    return found


def _number(cell: Cell, table: Table) -> Cell:
    """Return the number that text with a decimal comma stands for; any other cell as it is."""
    if not (table.decimal_comma and isinstance(cell, str)):
        return cell
    number = parse_number(cell, decimal_comma=True)
    return cell if number is None else number
