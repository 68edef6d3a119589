"""What a chair hands out once there is a design: sheets for the assessors, a blank score sheet, a file for HotCRP."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evenhand.errors import InputError, Problem
from evenhand.io.results import harmless, write_tables, write_whole
from evenhand.io.sheets import Column, Formats, Sheet, check_fits, open_workbook, sheet_name, text_width, write_sheet
from evenhand.panel.confidence import Form
from evenhand.reports.template import INSTRUCTIONS, confidence_check, score_check
from evenhand.words import is_or_are, name_some

_ADDRESS = re.compile(r"[^\s@,;<>\"]+@[^\s@,;<>\"]+")
_BAD_IN_FILE_NAME = re.compile(r"[^\w.-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_LONGEST: Final = 80
_BLANK: Final = 14
"""Width of a column that is to be filled in."""
_WIDEST: Final = 50
"""Width of a column of titles; longer ones are folded."""
_TALL: Final = 21
"""Height of a row that may be filled in by hand."""
_LINE: Final = 14
"""What a further line adds to it."""
_BOX: Final = {"width": 400, "height": 290, "font": {"size": 10}, "line": {"color": "#A6A6A6"}, "object_position": 3}
"""How the instructions beside a list look."""

_HOW_SURE: Final = {
    "level": "How sure you are of the score: high, medium or low. Surer scores weigh more.",
    "uncertainty": "How far off the score may be, in points. Choose it so that you would bet two to one on the score "
    "being right to within that many points.",
    "confidence": "What the score should weigh: a number above 0. A score of weight 2 counts as much as two of "
    "weight 1.",
}


def addresses_of(labels: Sequence[str], emails: Mapping[str, str] | None) -> dict[str, str]:
    """Return the address of each assessor: that of the table, or the label where it is one.

    Raises
    ------
    InputError
        If there is none for somebody.
    """
    listed = emails or {}
    found = {label: listed.get(label) or label for label in labels}
    bad = [label for label, address in found.items() if not _ADDRESS.fullmatch(address.strip())]
    if bad:
        raise InputError(
            f"HotCRP needs an email address for each assessor, and there is none for {name_some(bad)}: add a column "
            "email to the assessors' file, or use addresses as labels.",
            kind="missing_email",
            where=f"assessor {bad[0]}",
        )
    return {label: address.strip() for label, address in found.items()}


def not_numbers(labels: Sequence[str]) -> list[Problem]:
    """Return a note on objects that HotCRP, which counts papers, would not find."""
    odd = [label for label in labels if not label.isascii() or not label.isdecimal()]
    if not odd:
        return []
    words = f"HotCRP knows papers by their number, and {name_some(odd)} {is_or_are(len(odd))} none."
    return [Problem("not_a_number", words, f"object {odd[0]}")]


def write_hotcrp(
    path: str | os.PathLike[str],
    pairs: Sequence[tuple[str, str]],
    addresses: Mapping[str, str],
    action: str = "review",
) -> Path:
    """Write pairs (assessor, object) as HotCRP's bulk assignment takes them: paper, action, email."""

    def write(file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["paper", "action", "email"])
            writer.writerows([harmless(label), action, harmless(addresses[who])] for who, label in pairs)

    return write_whole({Path(path): write})[0]


def write_score_sheet(
    path: str | os.PathLike[str],
    pairs: Sequence[tuple[str, str]],
    *,
    titles: Mapping[str, str] | None = None,
    confidence: Form = "level",
) -> list[Path]:
    """Write a score sheet with a row for each pair and nothing scored; filled in, it is a panel."""
    if Path(path).suffix.lower() == ".xlsx":
        return write_whole({Path(path): lambda file: _write_book(file, {"scores": pairs}, titles, confidence)})
    table: dict[str, list[Any]] = {name: list(cells) for name, cells in _filled(pairs, titles).items()}
    blank: list[Any] = [None] * len(pairs)
    table["score"] = blank
    if confidence != "none":
        table[confidence] = blank
    return write_tables(path, {"scores": table})


def sheet_places(folder: Path, assessors: Sequence[str]) -> dict[str, Path]:
    """Return the workbook of each assessor in a directory, under a name that every system takes.

    Examples
    --------
    >>> [place.name for place in sheet_places(Path("."), ["Ana", "ana", "../x", "con"]).values()]
    ['Ana.xlsx', 'ana-2.xlsx', 'x.xlsx', '_con.xlsx']
    """
    used: set[str] = set()
    places = {}
    for label in assessors:
        base = _BAD_IN_FILE_NAME.sub("-", label).strip(".-")[:_LONGEST] or "assessor"
        base = f"_{base}" if _RESERVED.match(base) else base
        chosen, number = base, 2
        while chosen.casefold() in used:
            chosen, number = f"{base}-{number}", number + 1
        used.add(chosen.casefold())
        places[label] = folder / f"{chosen}.xlsx"
    return places


def write_assessor_sheets(
    path: str | os.PathLike[str],
    pairs: Sequence[tuple[str, str]],
    assessors: Sequence[str],
    *,
    titles: Mapping[str, str] | None = None,
    confidence: Form = "level",
) -> list[Path]:
    """Write for each assessor what there is to read, with cells for scores: a workbook each, or one with a sheet each.

    Parameters
    ----------
    path
        A file that ends in ``.xlsx``, or a directory, which is made if need be.
    pairs
        Who reads what: pairs (assessor, object).
    assessors
        All assessors, with work or not: the names of files do not depend on who has any.
    titles
        Titles of objects, by label.
    confidence
        How assessors say how sure they are.
    """
    place = Path(path)
    by_assessor: dict[str, list[tuple[str, str]]] = {}
    for assessor, label in pairs:
        by_assessor.setdefault(assessor, []).append((assessor, label))
    if place.suffix.lower() == ".xlsx":
        return write_whole({place: lambda file: _write_book(file, by_assessor, titles, confidence)})
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        message = f"The directory cannot be made ({error.strerror or error}): choose another place."
        raise InputError(message, kind="cannot_write", where=str(place)) from None
    jobs: dict[Path, Callable[[Path], None]] = {}
    files = sheet_places(place, assessors)
    for assessor, own in by_assessor.items():
        jobs[files[assessor]] = lambda file, assessor=assessor, own=own: _write_book(  # type: ignore[misc]
            file, {assessor: own}, titles, confidence
        )
    return write_whole(jobs)


def _filled(pairs: Sequence[tuple[str, str]], titles: Mapping[str, str] | None) -> dict[str, list[str | None]]:
    """Return the columns that are known before anybody has scored."""
    columns: dict[str, list[str | None]] = {"object": [label for _, label in pairs]}
    if titles:
        columns["title"] = [titles.get(label) for _, label in pairs]
    return {**columns, "assessor": [assessor for assessor, _ in pairs]}


def _write_book(
    file: Path,
    by_sheet: Mapping[str, Sequence[tuple[str, str]]],
    titles: Mapping[str, str] | None,
    confidence: Form,
) -> None:
    """Write a workbook with a sheet for each list of pairs, and one that says what goes where."""
    sheets = []
    for name, pairs in by_sheet.items():
        columns = [Column(heading, cells, wrap=heading == "title") for heading, cells in _filled(pairs, titles).items()]
        blank = [Column("score"), *([] if confidence == "none" else [Column(confidence)])]
        sheets.append(Sheet(name, [*columns, *blank], has_filter=False))
    for sheet in sheets:
        check_fits(sheet)
    book = open_workbook(file)
    formats = Formats(book)
    used = {INSTRUCTIONS}
    said = _instructions(confidence)
    for sheet in sheets:
        made = book.add_worksheet(sheet_name(sheet.name, used))
        write_sheet(made, sheet, formats)
        _make_room(made, sheet, 1 if confidence == "none" else 2, confidence, formats)
        made.insert_textbox(0, len(sheet.columns) + 1, "\n\n".join(f"{about}: {text}" for about, text in said), _BOX)
    about, texts = zip(*said, strict=True)
    instructions = Sheet(INSTRUCTIONS, [Column("about", about), Column("note", texts, wrap=True)], has_filter=False)
    write_sheet(book.add_worksheet(INSTRUCTIONS), instructions, formats)
    book.close()


def _make_room(made: Any, sheet: Sheet, blank: int, confidence: Form, formats: Formats) -> None:
    """Frame the cells of the last columns, which are to be filled in, and check what is typed there."""
    rows, first = len(sheet.columns[0].cells), len(sheet.columns) - blank
    frame = formats(border=1, border_color="#A6A6A6")
    lines = [1] * rows
    for at, column in enumerate(sheet.columns):
        if column.wrap:
            widths = [text_width(str(cell or "")) for cell in column.cells]
            made.set_column(at, at, min(_WIDEST, max([_BLANK, *widths]) + 2))
            lines = [max(1, -(-width // (_WIDEST - 4))) for width in widths]
    for row, count in enumerate(lines, 1):
        made.set_row(row, _TALL + _LINE * (min(count, 20) - 1))
    for at in range(first, len(sheet.columns)):
        made.set_column(at, at, _BLANK)
        made.write_string(0, at, sheet.columns[at].name, formats.of_header(sheet.columns[at].name))
        for row in range(1, rows + 1):
            made.write_blank(row, at, None, frame)
    made.data_validation(1, first, rows, first, score_check(None))
    if confidence != "none":
        made.data_validation(1, first + 1, rows, first + 1, confidence_check(confidence))


def _instructions(confidence: Form) -> list[tuple[str, str]]:
    """Return what assessors are asked to do, in plain words."""
    return [
        (
            "What to do",
            "Read each object on your list and write a score beside it. Leave the other columns as they are.",
        ),
        ("score", "Your score, a number on the scale of the panel. Leave it empty if you could not assess the object."),
        *([] if confidence == "none" else [(confidence, _HOW_SURE[confidence])]),
        (
            "Your own standard",
            "Score as you find right and use the same standard throughout: how strict each assessor is will be worked "
            "out from objects that several assessors read, and taken out.",
        ),
        (
            "Who reads what",
            "The list was made so that assessors can be compared. Please do not swap objects with others; if one must "
            "not be yours, a conflict of interest say, tell the chair.",
        ),
    ]
