"""What tables are read from, portion by portion, and the one road from there to assessments, for files and frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

import numpy as np

from evenhand import frames, memory
from evenhand.errors import InputError, Problem
from evenhand.panel.collector import Collector, ReadAgainError
from evenhand.panel.column import Cell, Column, Table, factorise, of_numbers
from evenhand.panel.entries import Entries
from evenhand.panel.layout import Given, Layout, Roles, by_names, lengthen, of_names
from evenhand.panel.reading import Reading, reading_of
from evenhand.panel.rules import MOST_PROBLEMS, ReadOptions, is_empty, label_text
from evenhand.panel.understand import places, understand
from evenhand.words import remark

T = TypeVar("T")

LOOKED_AT = 100_000
"""Most rows of a table of which every cell is looked at, even where names settle how it is read."""

_LOOKED_AT_AGAIN: Final = 2_000_000
"""Most rows of a larger one of which every cell is looked at where something in the columns used is wrong."""

_LISTED: Final = 10_000
"""Of a table of up to this many rows every problem is listed."""

_SAMPLE: Final = 2000
"""Rows by which a larger one is understood where names do not settle how it is read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns of a source are read, and how."""

    used: tuple[int, ...]  # their indices in the source; the third is that of the scores
    numeric: frozenset[int] = frozenset()  # those among them that hold numbers, as far as one knows
    words: frozenset[str] = frozenset()  # numbers, in lower case, that are words in this source


def wanted_of(roles: Roles, options: ReadOptions, categories: Collection[int] = ()) -> Wanted:
    """Return which columns are read as what, given those covariates that are known to be categories."""
    numeric = {roles.score, *roles.covariates} - set(categories)
    if roles.confidence is not None and roles.form != "level":
        numeric.add(roles.confidence)
    return Wanted(roles.used, frozenset(numeric), options.numeric_words)


class Source(Protocol):
    """A file or a frame that gives its columns portion by portion.

    Attributes
    ----------
    source
        What to call it in messages.
    names
        The names of all its columns, once it is open.
    rows
        How many rows it has, about.
    most_problems
        Most problems that are listed; None for all.
    """

    source: str
    names: tuple[str, ...]
    rows: int
    most_problems: int | None

    def open(self) -> None:
        """Begin at the beginning."""

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield tables of the wanted columns, and refuse what cannot be read."""

    def notes(self) -> Sequence[Problem]:
        """Return what a reader should know, once all portions were read."""

    def close(self) -> None:
        """End, wherever that is."""


class Frame:
    """A data frame as a source of one portion."""

    def __init__(self, frame: object) -> None:
        self._frame = frame
        self.source, self.names, self.rows = "the frame", tuple(frames.column_names(frame)), frames.row_count(frame)
        self.most_problems = MOST_PROBLEMS if self.rows > LOOKED_AT else None

    def open(self) -> None:
        """Do nothing."""

    def portions(self, wanted: Wanted | None) -> Iterator[Table]:
        """Yield the wanted columns."""
        if wanted is not None:
            columns = columns_of(self._frame, self.names, wanted)
            yield Table(self.names, columns, np.arange(self.rows), self.source)

    def notes(self) -> Sequence[Problem]:
        """Return nothing."""
        return ()

    def close(self) -> None:
        """Do nothing."""


def columns_of(frame: object, names: Sequence[str], wanted: Wanted) -> tuple[Column, ...]:
    """Return the wanted columns of a frame, as arrays of numbers where they are nothing else."""
    categorical = frames.categorical_columns(frame)
    found = []
    for index in wanted.used:
        name = names[index]
        is_numeric = index in wanted.numeric and not wanted.words
        numbers = frames.plain_numbers(frame, name) if is_numeric else None
        if numbers is not None:
            found.append(of_numbers(name, numbers))
        else:
            cells = frames.read_columns(frame, [name])[0]
            found.append(factorise(name, cells, is_categorical=name in categorical))
    return tuple(found)


def from_the_beginning(source: Source, read: Callable[[], T]) -> T:
    """Return what reading gives, done again where the source has learnt how it is to be read."""
    while True:
        try:
            source.open()
            return read()
        except ReadAgainError:
            continue
        finally:
            source.close()


def read_whole(source: Source) -> Table:
    """Return all columns of a source as one table, in which blank cells are None."""
    return from_the_beginning(source, lambda: _all_of(source))


def _all_of(source: Source) -> Table:
    """Return all columns of a source that is open."""
    portions = list(source.portions(Wanted(tuple(range(len(source.names))))))
    cells = [[None if is_empty(cell) else cell for cell in column.cells] for column in portions[-1].columns]
    return Table(
        source.names,
        tuple(map(_joined, cells, zip(*(portion.columns for portion in portions), strict=True))),
        np.concatenate([portion.row_numbers for portion in portions]),
        source.source,
        portions[-1].decimal_comma,
        tuple(source.notes()),
        notes_on_numbers=getattr(source, "notes_on_numbers", None),
    )


def _joined(cells: Sequence[Cell], parts: Sequence[Column]) -> Column:
    """Return the portions of a column as one, with its distinct cells."""
    last, begins = parts[-1], np.cumsum([0, *(part.codes.size for part in parts)])

    def written(row: int) -> Cell:
        at = int(np.searchsorted(begins, row, "right")) - 1
        return parts[at][row - int(begins[at])]

    has_numbers = last.numbers is not None
    return replace(
        last,
        cells=cells,
        codes=np.concatenate([part.codes for part in parts]),
        numbers=np.concatenate([part.numbers for part in parts if part.numbers is not None]) if has_numbers else None,
        written=written if has_numbers else None,
    )


# --- the road ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """The assessments of a table, and what is to be said of them and of how they were read."""

    entries: Entries
    notes: Sequence[Problem] = ()
    reading: Reading | None = None
    object_details: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    assessor_details: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_source(
    source: Source, given: Given, options: ReadOptions, of_table: Callable[[Table], Read] | None = None
) -> Read:
    """Return the assessments of a source.

    A table of up to ``LOOKED_AT`` rows is looked at as a whole: rows may be sums, and columns be computed, whatever
    their names. Of a larger one only the columns that names settle are read, portion by portion, unless these leave
    something open, or have cells or labels that may be no assessments. ``of_table`` returns the assessments of a table
    that is looked at as a whole: :func:`collected` where not given.
    """

    def whole(table: Table) -> Read:
        return collected(table, given, options) if of_table is None else of_table(table)

    def by_its_names() -> Layout | None:
        roles = by_names(source.names, given, source.source)
        return None if roles is None else of_names(source.names, roles)

    def read() -> Table | Read | None:
        if source.rows <= LOOKED_AT or given.layout not in (None, "long"):
            return _all_of(source)
        return _in_portions(source, by_its_names(), options, given, categories)

    categories: set[str] = set()
    try:
        found = from_the_beginning(source, read)
    except InputError as error:
        is_hopeless = any(problem.kind == "more_problems" for problem in error.problems)
        if is_hopeless or not LOOKED_AT < source.rows <= _LOOKED_AT_AGAIN:
            raise
        found = read_whole(source)  # rows that are none, or words, may be the reason
    if isinstance(found, Read) and _may_be_others(found.entries) and source.rows <= _LOOKED_AT_AGAIN:
        found = read_whole(source)
    if isinstance(found, Table):
        return whole(found)
    if found is not None:
        return found
    layout = understand(from_the_beginning(source, lambda: _sample(source)), given)
    if layout.roles is None:
        return whole(read_whole(source))
    known = from_the_beginning(source, lambda: _in_portions(source, layout, options, given, categories))
    assert known is not None  # noqa: S101  a layout was given
    return known


def _may_be_others(entries: Entries) -> bool:
    """Say whether labels may be no assessors: names of sums, or pseudonyms that nobody has twice."""
    is_each_once = len(entries.assessors) == entries.score.size
    return is_each_once or any(note.kind == "summary_label" for note in entries.notes)


def _in_portions(
    source: Source, layout: Layout | None, options: ReadOptions, given: Given, categories: set[str]
) -> Read | None:
    """Return the assessments of an open source with one a row; None where no layout is known, once all was read.

    ``categories`` are covariates that are known to be categories, to which those are added that turn out to be.
    """
    roles, covariates = None if layout is None else layout.roles, given.covariates
    if layout is None or roles is None:
        for _ in source.portions(None):
            pass  # what is wrong with the file itself is said first
        return None
    chosen = layout.settle(options)
    needed = 12 * (len(roles.used) - 1) * source.rows
    memory.require(needed, f"the {source.rows:,} rows or so of {source.source}")
    collector = Collector(
        roles, chosen, covariates, rows=source.rows, most_problems=source.most_problems, categories=categories
    )
    known = [at for name, at in zip(covariates, roles.covariates, strict=True) if name in categories]
    for portion in source.portions(wanted_of(roles, chosen, known)):
        collector.add(portion)
        del portion  # or the last one would stay in memory
    entries = collector.entries()
    names = Table(source.names, (), np.zeros(0, np.int64), source.source)
    notes = [*source.notes(), *layout.notes, *_twice(source.names, roles)]
    if given.assessor is None:  # of all rows, not of those alone by which the layout was understood
        numbered = places(entries.assessors, entries.object_index, entries.assessor_index, source.source)
        notes = [*(note for note in notes if note.kind != "positions"), *numbered]
    return Read(entries, notes, reading_of(names, layout, entries, chosen))


def _sample(source: Source) -> Table:
    """Return the first rows of an open source, with all its columns."""
    parts: list[Table] = []
    for portion in source.portions(Wanted(tuple(range(len(source.names))))):
        parts.append(portion)
        if sum(map(len, parts)) >= _SAMPLE:
            break
    columns = [
        factorise(name, [cell for part in parts for cell in part.columns[at][:_SAMPLE]][:_SAMPLE])
        for at, name in enumerate(source.names)
    ]
    numbers = np.concatenate([part.row_numbers for part in parts])[:_SAMPLE]
    return Table(source.names, tuple(columns), numbers, source.source, parts[-1].decimal_comma)


def collected(
    table: Table, given: Given, options: ReadOptions, found: Layout | None = None, system: str | None = None
) -> Read:
    """Return the assessments of a table in memory, whatever its layout; ``found`` where that is known."""
    layout = understand(table, given) if found is None else found
    chosen = layout.settle(options)
    roles = layout.roles
    wide = table = layout.table or table
    if roles is None:
        table, roles = lengthen(table, layout)
    most = MOST_PROBLEMS if len(table) > _LISTED else None
    collector = Collector(roles, chosen, given.covariates, rows=len(table), most_problems=most)
    used = tuple(table.columns[at] for at in roles.used)
    collector.add(replace(table, columns=used))
    entries = collector.entries()
    notes = [*table.notes, *(layout.notes if table is wide else ()), *_twice(wide.names, layout.roles)]
    if wide.notes_on_numbers is not None:
        numeric = {slot.score for slot in layout.slots} | {slot.confidence for slot in layout.slots}
        notes += wide.notes_on_numbers([at for at in numeric if at is not None])
    return Read(
        entries,
        notes,
        reading_of(wide, layout, entries, chosen, system),
        _details(wide, layout, "object", layout.object_details),
        _details(wide, layout, "assessor", layout.assessor_details),
    )


def _details(table: Table, layout: Layout, side: str, columns: Sequence[int]) -> dict[str, dict[str, str]]:
    """Return what columns tell of each object or assessor, by column and label."""
    place = getattr(layout.slots[0], side)
    if not columns or not isinstance(place, int):
        return {}
    labels = [None if is_empty(cell) else label_text(cell) for cell in table.columns[place]]
    found: dict[str, dict[str, str]] = {}
    for at in columns:
        own = found.setdefault(table.names[at], {})
        for label, cell in zip(labels, table.columns[at], strict=True):
            if label is not None and not is_empty(cell):
                own.setdefault(label, label_text(cell).strip())
    return found


def _twice(names: Sequence[str], roles: Roles | None) -> list[Problem]:
    """Return notes on columns that were read and stand in the header again.

    Labels may stand again in a table of results, which a column without a name sets apart.
    """
    found = []
    for index in () if roles is None else roles.used:
        name, later = names[index], list(names[index + 1 :])
        if index in (roles.object, roles.assessor) and "" in later:  # type: ignore[union-attr]
            later = later[: later.index("")]
        if name in later or (name in names[:index] and index not in (roles.object, roles.assessor)):  # type: ignore[union-attr]
            message = remark("there is more than one column {column}: the first was read.", column=repr(name))
            found.append(Problem("column_twice", message, remark("column {name}", name=name)))
    return found
