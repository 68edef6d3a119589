"""A file in, a panel out: the one road that files of every kind and size take."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io import coding
from evenhand.io.delimited import TextFile, read_delimited
from evenhand.io.paths import MANIFEST, MAX_UNPACKED, existing, local, regular_file
from evenhand.io.settled import load, place_of
from evenhand.io.table import arrange, only_sheet, realigned
from evenhand.panel.column import Table, factorise
from evenhand.panel.confidence import FACTOR, FormHint
from evenhand.panel.headings import FORMS, bare_name, fold, meaning_of, weights_in
from evenhand.panel.layout import Given, Kind, Layout, LeftOut, Slot, by_names, find_column, listed_names
from evenhand.panel.panel import Panel, refuse_idle
from evenhand.panel.rules import Best, Duplicates, ReadOptions, score_words
from evenhand.panel.source import Read, collected, read_source
from evenhand.panel.understand import understand
from evenhand.words import argument, chained, name_some, remark

if TYPE_CHECKING:
    from evenhand.io.formats.found import Found

_TEXTS: Final = (".csv", ".tsv", ".txt", ".md")
_WORKBOOKS: Final = (".xlsx", ".xlsm", ".ods", ".xls")
ADVICE: Final = {
    "": "save the table as csv or .xlsx",
    **dict.fromkeys((".xls", ".xlsb"), "open it in a spreadsheet program and save it as .xlsx"),
    ".numbers": "export it as .xlsx or csv",
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".7z"), "unpack it first"),
    **dict.fromkeys((".doc", ".docx"), "copy the table to a spreadsheet"),
    ".pdf": "save the table as csv",
}
"""What to do with a file that is not read, by its suffix."""
_OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0"
_JSON_STARTS: Final = (b'{"', b"[{", b"{\n", b"{\r", b"{ ", b"[\n", b"[\r", b"[ ")
_FACETS: Final = re.compile(rb"^\s*(facets|title)\s*=", re.IGNORECASE | re.MULTILINE)


def read_panel(  # noqa: PLR0913
    path: str | os.PathLike[str],
    *,
    object: str | None = None,  # the public name is the paper's word
    assessor: str | None = None,
    score: str | None = None,
    uncertainty: str | None = None,
    confidence: str | None = None,
    level: str | None = None,
    factor: float | None = None,
    aliases: Mapping[str, str] | None = None,
    duplicates: Duplicates | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    wide: bool = False,
    max_unpacked: int = MAX_UNPACKED,
    criterion: str | None = None,
    covariates: Sequence[str] = (),
    layout: Kind | None = None,
    criteria: Sequence[str] = (),
    scores: Mapping[str, float] | None = None,
    level_scale: tuple[float, float] | None = None,
    format: str | None = None,
    best: Best | None = None,
    columns: Sequence[str] = (),
    corrections: Mapping[str, str] | None = None,
) -> Panel:
    """Read a panel from a file, whatever its layout; ``panel.reading`` says how it was understood.

    Parameters
    ----------
    path
        A csv, tsv, txt, xlsx, xlsm, ods, xls, json, jsonl or parquet file, plain or gzipped, a directory of parquet
        files, or a directory that :func:`evenhand.pack_panel` wrote; ``"-"`` for standard input. Text and parquet
        files with one assessment a row may be as large as memory allows; others may have 20 million cells and
        ``max_unpacked`` bytes.
    object, assessor, score, uncertainty, confidence, level
        Names of the columns; recognised by their names and cells where not given (see :mod:`evenhand.panel.layout`).
    factor
        Ratio of the uncertainties of neighbouring levels; of a longer scale, of its ends and its middle.
    aliases
        Further words for levels: ``{"hoch": "high"}``.
    duplicates
        What to do where an assessor scored an object twice (with a criterion: twice for one criterion): ``"error"``,
        ``"keep"``, ``"combine"``, or ``"last"`` for the one that stands last.
    missing
        Texts that mean an empty cell, such as ``"NA"``.
    sheet
        Name of the sheet of a workbook; the first that is not blank where not given.
    wide
        Whether the sheet has objects down and assessors across: as ``layout="wide"``.
    max_unpacked
        Most bytes that a workbook may unpack to.
    criterion
        Name of the column that says which criterion a score is for.
    covariates
        Names of further columns, by which the panel's ``covariates`` hold them. One whose cells are all numbers, or
        true and false (1 and 0), becomes numbers; any other, and one of a categorical type, becomes text.
    layout
        ``"long"`` (one assessment a row), ``"wide"`` (objects down, assessors across), ``"across"`` (assessors down,
        objects across) or ``"groups"`` (several named assessors a row); found out where not given.
    criteria
        Names of columns of scores of which each is a criterion.
    scores
        What scores in words stand for: ``{"Reject": 1, "Weak accept": 3}``.
    level_scale
        The ends of a scale of numbers that say how sure assessors were, least sure first: ``(1, 5)``.
    format
        The system that wrote the file (see :mod:`evenhand.io.formats`), recognised by its content where not given.
    best
        Which score is the best. With ``"lowest"``, as of German marks from 1 to 6, scores are turned around, so that
        higher values are better in all tables: the lowest score in the file becomes the highest and the other way
        round, s becomes low + high - s. Where the file says that the lowest may be the best, it is asked.
    columns
        Names of the columns of scores, where each is an assessor's (or, across, an object's): all others are left out.
    corrections
        Cells that are read as something else than stands in the file, which itself is never changed:
        ``{"26:Ito": "80"}`` for row 26 under the heading Ito; empty text for an empty cell. What stands there already
        says that it is right: such a score stops no decision, however far it is from all others. A row after the last
        one of which several cells are given is read as if it stood there. ``"680 (confirmed)"`` is a score that is not
        in the file, and right.

    Raises
    ------
    InputError
        With every problem found, each with its row and column; of a large file the first thousand. Where two readings
        are as likely, it says which argument chooses.
    LimitError
        If a large file does not fit into memory.
    """
    told: dict[str, Any] = {
        "object": object,
        "assessor": assessor,
        "score": score,
        "uncertainty": uncertainty,
        "confidence": confidence,
        "level": level,
        "criterion": criterion,
        "covariates": listed_names(covariates),
        "criteria": listed_names(criteria),
        "columns": listed_names(columns),
        "layout": "wide" if wide else layout,
        "factor": factor,
        "aliases": aliases,
        "duplicates": duplicates,
        "missing": tuple(missing),
        "scores": scores,
        "level_scale": level_scale,
        "best": best,
        "sheet": sheet,
        "format": format,
        "corrections": corrections,
    }
    if is_packed(path):
        from evenhand.io.packed import read_packed

        further = [*([] if criterion is None else [criterion]), *told["covariates"]]
        if further:
            said = f"A packed panel holds no criteria and no covariates: leave out {further[0]!r}"
            message = f"{said}, or read the file that was packed."
            raise InputError(message, kind="bad_option", where=os.fspath(path))
        for name in (name for name, value in told.items() if value):
            message = f"A packed panel is read as it was packed: leave {argument(name)} out."
            raise InputError(message, kind="bad_option", where=os.fspath(path))
        return read_packed(path)
    settled, typed = load(path), told
    told = _over(settled, told)
    given = Given(**{name: told[name] for name in Given.__slots__})
    if typed["format"] and typed["layout"]:
        message = remark(
            "{format} says how a file is laid out, and so does {layout}: leave one of the two out.",
            format=argument("format"),
            layout=argument("layout"),
        )
        raise InputError(message, kind="bad_option")
    if given.columns and given.layout not in ("wide", "across"):
        message = remark(
            "{columns} goes with {wide} or {across}.",
            columns=argument("columns"),
            wide=argument("layout", "wide"),
            across=argument("layout", "across"),
        )
        raise InputError(message, kind="bad_option")
    named = [name for name in (*given.named.values(), *given.covariates) if name not in (given.object, None)]
    if given.layout == "wide" and named:
        message = remark(
            "A wide sheet has a column for each assessor and nothing but scores in it: leave out {column}.",
            column=repr(named[0]),
        )
        raise InputError(message, kind="bad_option")
    options = ReadOptions(
        FACTOR if told["factor"] is None else told["factor"],
        told["aliases"],
        told["duplicates"] or "error",
        told["missing"],
        told["scores"],
        told["level_scale"],
        told["best"],
    )
    with local(path, max_unpacked) as place:
        read = _read(place, told["sheet"], max_unpacked, told["format"], given, options, told["corrections"] or {})
        panel = refuse_idle(Panel.from_read(read, factor=options.factor), **typed)
        if max_unpacked != MAX_UNPACKED and os.fspath(path) == os.fspath(place):
            _refuse_limit(place)
    if settled and panel.reading is not None:
        return replace(panel, reading=replace(panel.reading, saved=place_of(path).name))
    return panel


def demo() -> Panel:
    """Return a panel to play with: a made-up grant competition of 40 proposals, 11 assessors and 101 scores.

    It is the one of ``evenhand demo``.

    Examples
    --------
    >>> demo()
    Panel(40 objects, 11 assessors, 101 assessments, confidence levels (factor 1.75))
    """
    from evenhand.data import demo_path

    return read_panel(demo_path())


def _refuse_limit(path: str | os.PathLike[str]) -> None:
    """Refuse a limit of what is unpacked for a file of which nothing is."""
    if _kind_of(path, None) in ("text", "parquet"):
        message = remark(
            "{option} cannot apply: this file is not packed; leave it out.", option=argument("max_unpacked")
        )
        raise InputError(message, kind="bad_option", where=Path(path).name)


_SURENESS: Final = ("uncertainty", "confidence", "level")


def _over(settled: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Return what was told, and what was settled before where nothing was."""
    found = {name: value for name, value in settled.items() if not told.get(name)}
    if any(told[name] for name in _SURENESS):
        found = {name: value for name, value in found.items() if name not in _SURENESS}
    if told["score"] or told["criteria"]:
        found = {name: value for name, value in found.items() if name not in ("score", "criteria")}
    lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return told | found | lists


def _of_table(table: Table, given: Given, options: ReadOptions, format: str | None) -> Read:
    """Return the assessments of a table in memory, which another system may have written."""
    fault: InputError | None = None
    try:
        system = _system(table, given, format)
    except InputError as error:
        fault, system = error, None
        if format is not None or error.kind not in ("ambiguous_layout", "ambiguous_column", "anonymous_assessors"):
            raise
    if system is not None:
        return _of_system(system, given, options)
    try:
        return collected(table, given, options)
    except InputError:
        if fault is not None:
            raise fault from None
        raise


def _system(table: Table, given: Given, format: str | None) -> Found | None:
    """Return what another system makes of a table; one whose very names say everything is nobody's."""
    if given.layout is not None:
        return None
    is_told = any("mail" in fold(name) for name in table.names) or any(
        isinstance(cell, str) and "Reviewer_" in cell for column in table.columns for cell in column.cells
    )
    if format is None and not is_told and by_names(table.names, given, table.source) is not None:
        return None
    from evenhand.io.formats import from_table

    return from_table(table, format=format)


def _of_system(found: Found, given: Given, options: ReadOptions) -> Read:
    """Return the assessments of another system's export; what the user said of it counts for more."""
    names, table = found.table.names, found.table
    if found.question is not None and not (given.score or given.criteria or given.criterion):
        raise InputError([found.question])
    scores = given.criteria or ((given.score,) if given.score else found.score)
    scores = (scores,) if isinstance(scores, str) else scores

    def place(name: str | None, option: str) -> int | None:
        return None if name is None else find_column(names, name, option=option, source=table.source)

    sure = given.uncertainty or given.level or given.confidence or found.confidence
    form: FormHint = next((FORMS[role] for role in FORMS if getattr(given, role) is not None), "level_or_confidence")
    about = place(given.criterion or found.criterion, "criterion")
    slots = tuple(
        Slot(
            place(score, "score") or 0,
            place(given.object or found.object, "object") or 0,
            place(given.assessor or found.assessor, "assessor") or 0,
            place(sure, "confidence"),
            bare_name(score) if len(scores) > 1 else about,
        )
        for score in scores
    )
    titles = [] if found.title is None else [found.title]
    layout = Layout(
        kind="long",
        slots=slots,
        form=form if sure is not None else "none",
        covariates=tuple(place(name, "covariates") or 0 for name in given.covariates),
        object_details=tuple(place(name, "object") or 0 for name in dict.fromkeys([*titles, *found.object_details])),
        assessor_details=tuple(place(name, "assessor") or 0 for name in found.assessor_details),
        left_out=tuple(LeftOut(*one) for one in found.left_out),
        weights=weights_in(scores) if len(scores) > 1 else {},
        scores=dict(found.symbols) or score_words(cell for slot in slots for cell in table.columns[slot.score].cells),
        notes=found.notes,
    )
    if found.levels:
        options = replace(options, aliases=dict(found.levels) | dict(options.aliases or {}))
    if options.duplicates == "error" and found.duplicates is not None:
        options = replace(options, duplicates=found.duplicates)
    return collected(table, given, options, layout, found.system)


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None, max_unpacked: int = MAX_UNPACKED) -> Table:
    """Read the cells of a file, whose suffix says what kind it is.

    Parameters
    ----------
    path
        A csv, tsv, txt, xlsx, xlsm, ods or parquet file, or a directory of parquet files.
    sheet
        Name of the sheet of a workbook; the first that is not blank if None.
    max_unpacked
        Most bytes that the file may hold once it is unpacked.

    Returns
    -------
    Table
        The cells as they stand, and where each came from.

    Raises
    ------
    InputError
        If there is no such file or it cannot be read, in one sentence that says what to do.
    """
    return _table(path, _kind_of(path, sheet), sheet, max_unpacked)


def _table(path: str | os.PathLike[str], kind: FileKind, sheet: str | None, max_unpacked: int) -> Table:
    """Return the cells of a file of a known kind."""
    if kind == "text":
        return read_delimited(path, max_bytes=max_unpacked)
    if kind == "parquet":
        from evenhand.io.parquet import read_parquet

        return read_parquet(path, max_text=max_unpacked)
    if kind == "json":
        from evenhand.io.records import read_json, to_table

        name = Path(path).name
        return to_table(read_json(path, name, max_bytes=max_unpacked), name)
    from evenhand.io.spreadsheet import read_spreadsheet

    return read_spreadsheet(path, sheet, max_unpacked=max_unpacked)


def read_cells(
    path: str | os.PathLike[str],
    *,
    sheet: str | None = None,
    max_unpacked: int = MAX_UNPACKED,
    format: str | None = None,
    corrections: Mapping[str, str] | None = None,
) -> Table:
    """Return the table in which :func:`read_panel` looks for assessments: what stands in it, whatever it means."""
    with local(path, max_unpacked) as place:
        found = _whole(place, _kind_of(place, sheet), sheet, max_unpacked, format, Given())
    return (found if isinstance(found, Table) else found.table).corrected(corrections or {})


def _read(
    path: str | os.PathLike[str],
    sheet: str | None,
    max_unpacked: int,
    format: str | None,
    given: Given,
    options: ReadOptions,
    corrections: Mapping[str, str],
) -> Read:
    """Return the assessments of a file, which is read as a whole where it is small or must be."""

    def of_table(table: Table) -> Read:
        return _with_settled(_of_table(table.corrected(corrections), given, options, format), table, corrections)

    kind = _kind_of(path, sheet)
    if given.layout in (None, "long") and format is None and not corrections:
        if kind == "text" and Path(path).stat().st_size >= coding.LARGE_FILE:
            return read_source(TextFile(path), given, options, of_table)
        if kind == "parquet":
            from evenhand.io.parquet import ParquetFile

            return read_source(ParquetFile(path), given, options, of_table)
    found = _whole(path, kind, sheet, max_unpacked, format, given)
    if isinstance(found, Table):
        return of_table(found)
    read = _of_system(replace(found, table=found.table.corrected(corrections)), given, options)
    return _with_settled(read, found.table, corrections)


def _with_settled(read: Read, table: Table, corrections: Mapping[str, str]) -> Read:
    """Return what was read, with the cells that somebody has looked at: found right, or read as something else."""
    if not corrections or read.reading is None:
        return read
    confirmed, changed = table.settled(corrections)
    notes = [*read.notes]
    if changed:
        message = remark(
            "1 cell corrected by hand: {changes}."
            if len(changed) == 1
            else "{count} cells corrected by hand: {changes}.",
            count=f"{len(changed):,}",
            changes=chained(changed, "{one}; {other}"),
        )
        notes.append(Problem("corrected", message))
    return replace(read, notes=notes, reading=replace(read.reading, confirmed=tuple(confirmed)))


def _whole(
    path: str | os.PathLike[str], kind: FileKind, sheet: str | None, max_unpacked: int, format: str | None, given: Given
) -> Table | Found:
    """Return all cells of a file of a known kind, or what another system makes of it."""
    if kind in ("json", "markup"):
        return _data(Path(path), kind, max_unpacked, format)
    if kind == "workbook" and sheet is None:
        from evenhand.io.spreadsheet import read_sheets

        return _sheet(*read_sheets(path, max_unpacked=max_unpacked), given)
    return realigned(_table(path, kind, sheet, max_unpacked))


def _sheet(tables: Sequence[Table], further: Sequence[str], given: Given) -> Table:
    """Return the sheet of a workbook that holds the assessments, or several of them in one where each is an assessor's.

    Where more than one could be it, it is asked.
    """
    from evenhand.io.formats import from_table

    understood = list(tables) if len(tables) == 1 else []
    for table in () if len(tables) == 1 else tables:
        try:
            if from_table(table) is None:
                understand(table, given)
            understood.append(table)
        except InputError:
            continue
    names = [table.source.rpartition(", sheet ")[2] for table in tables]
    if not understood:
        return _stacked(tables, names) or tables[0]
    named = [table for table in understood if by_names(table.names, given, table.source) is not None]
    chosen = (named or understood)[0]
    several = [table for table in understood if table.names == chosen.names]
    sure = [table for table in several if _says_how_sure(names[tables.index(table)])]
    if len(several) == 2 and len(sure) == 1:
        scores = next(table for table in several if table is not sure[0])
        beside = _beside(scores, sure[0], names[tables.index(sure[0])], given)
        if beside is not None:
            return beside
    if len(several) > 1:
        which = ", ".join(repr(names[tables.index(table)]) for table in several)
        message = remark(
            "The sheets {sheets} have the same headings and scores in each: say with {option} which one to read.",
            sheets=which,
            option=argument("sheet"),
        )
        raise InputError(message, kind="several_sheets", where=chosen.source.rpartition(", sheet ")[0])
    others = ", ".join(
        repr(one) for one in [*(name for name in names if name != names[tables.index(chosen)]), *further]
    )
    if not others:
        return chosen
    file = chosen.source.rpartition(", sheet ")[0]
    note = only_sheet(names[tables.index(chosen)], others, file)
    return replace(chosen, notes=(*chosen.notes, note))


def _says_how_sure(name: str) -> bool:
    """Say whether the name of a sheet is a word for confidence."""
    meaning = meaning_of(name)
    return meaning is not None and meaning.kind in FORMS


def _beside(table: Table, sure: Table, name: str, given: Given) -> Table | None:
    """Return a sheet with the columns of another beside it that says how sure each was; None where it has no matrix."""
    layout = understand(table, given)
    slot = layout.slots[0]
    down = slot.object if layout.kind == "wide" else slot.assessor
    if layout.kind not in ("wide", "across") or not isinstance(down, int):
        return None
    rows = {cell: row for row, cell in enumerate(sure.columns[down])}
    places = [rows.get(cell) for cell in table.columns[down]]
    columns = [
        factorise(
            f"{table.names[slot.score]} confidence",
            [None if row is None else sure.columns[slot.score][row] for row in places],
        )
        for slot in layout.slots
    ]
    file = table.source.rpartition(", sheet ")[0]
    message = remark("the sheet {sheet} was read as how sure the assessors were.", sheet=repr(name))
    note = Problem("sheets", message, file)
    return replace(
        table,
        names=(*table.names, *(column.name for column in columns)),
        columns=(*table.columns, *columns),
        notes=(*table.notes, note),
    )


def _stacked(tables: Sequence[Table], names: Sequence[str]) -> Table | None:
    """Return sheets with the same headings as one table, with the name of the sheet as the assessor of each row.

    None where there are not two such sheets, or where they have assessors of their own.
    """
    kinds: dict[tuple[str, ...], list[int]] = {}
    for at, table in enumerate(tables):
        kinds.setdefault(tuple(map(fold, table.names)), []).append(at)
    alike = max(kinds.values(), key=len)
    if len(alike) < 2:
        return None
    first = tables[alike[0]]
    columns = [
        factorise(name, [cell for at in alike for cell in tables[at].columns[place]])
        for place, name in enumerate(first.names)
    ]
    whose = factorise("Assessor", [names[at] for at in alike for _ in range(len(tables[at]))])
    numbers = np.concatenate([tables[at].row_numbers for at in alike])
    notes = [note for at in alike for note in tables[at].notes]
    message = remark(
        "the sheets {sheets} have the same headings: each was read as the scores of the assessor that it is named for.",
        sheets=name_some([repr(names[at]) for at in alike]),
    )
    left = [repr(name) for at, name in enumerate(names) if at not in alike]
    if left:
        message = remark("{read} Not read: {sheets}.", read=message, sheets=name_some(left))
    file = first.source.rpartition(", sheet ")[0]
    return Table(
        (*first.names, "Assessor"),
        (*columns, whose),
        numbers,
        file,
        first.decimal_comma,
        (*notes, Problem("sheet_per_assessor", message, file)),
    )


FileKind = Literal["text", "parquet", "workbook", "json", "markup"]


def _kind_of(path: str | os.PathLike[str], sheet: str | None) -> FileKind:
    """Return which reader a file needs, by its suffix, and by its first bytes where these say more."""
    place, facts = existing(path)
    suffix = place.suffix.lower()
    if sheet is not None and suffix not in _WORKBOOKS:
        message = remark(
            "A sheet ({sheet}) is asked for, but only workbooks have sheets: leave {option} out.",
            sheet=repr(sheet),
            option=argument("sheet"),
        )
        raise InputError(message, kind="missing_sheet", where=place.name)
    if suffix == ".parquet" or stat.S_ISDIR(facts.st_mode):
        return "parquet"
    start = _first_bytes(place) if stat.S_ISREG(facts.st_mode) else b""
    if start.startswith(b"PK\x03\x04") and suffix not in _TEXTS:
        return "json" if suffix == ".eval" else "workbook"
    if suffix in _WORKBOOKS and (start.startswith(_OLD_WORKBOOK) or suffix != ".xls"):
        return "workbook"
    bare = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if suffix in (".json", ".jsonl", ".ndjson", ".eval") or (suffix in _TEXTS and bare[:2] in _JSON_STARTS):
        return "json"
    if bare[:1] == b"<" or _FACETS.search(start):
        return "markup"
    if suffix in _TEXTS:
        return "text"
    message = remark(
        "Files that end in {suffix} are not read (csv, tsv, txt, xlsx, xlsm, ods and parquet files are read): {advice}."
        if suffix
        else "The name has no suffix that says what kind of file it is (csv, tsv, txt, xlsx, xlsm, ods and parquet "
        "files are read): {advice}.",
        suffix=suffix,
        advice=remark(ADVICE.get(suffix, ADVICE[""])),
    )
    raise InputError(message, kind="unknown_format", where=place.name)


def _data(place: Path, kind: str, max_unpacked: int, format: str | None) -> Table | Found:
    """Return JSON, XML or another system's text as what a system makes of it, or as a table."""
    from evenhand.io.formats import from_data, from_text

    if kind == "json":
        from evenhand.io.records import read_json, to_table

        data = read_json(place, place.name, max_bytes=max_unpacked)
        found = from_data(data, place.name, format=format)
        return to_table(data, place.name) if found is None else found
    from evenhand.io.formats import cmt, markup

    text = regular_file(place, max_bytes=max_unpacked).read_bytes().decode("utf-8", "replace")
    if markup.is_workbook(text):
        found = from_text(text, place.name, format=format)
        return cmt.workbook_table(text, place.name) if found is None else found
    found = from_text(text, place.name, format=format)
    if found is None and markup.is_page(text):
        return arrange(markup.page_rows(text, place.name), source=place.name)
    if found is None:
        message = remark("This text is no table and no export that is known: save the table as csv or .xlsx.")
        raise InputError(message, kind="unknown_format", where=place.name)
    return found


def is_packed(path: object) -> bool:
    """Say whether a path is a directory with a panel in it that :func:`evenhand.pack_panel` wrote."""
    try:
        return isinstance(path, str | os.PathLike) and (Path(path) / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


def _first_bytes(place: Path) -> bytes:
    """Return how a file begins; nothing where it cannot be read, which is said later."""
    try:
        with place.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""
