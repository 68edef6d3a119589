"""Streaming passes over the XML parts of a workbook that count what a reader would have to hold.

The library that reads workbooks allocates every cell between the outermost ones, writes repeated cells out, and
copies a shared text to each cell that uses it, so that a small file can ask for terabytes. The passes hold one chunk
at a time and refuse such a file before it is read. They also remember the cells that the library would give as empty
or zero although the sheet shows an error there, so that no score is lost.
"""

from __future__ import annotations

import posixpath
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.io.paths import in_bytes
from evenhand.io.table import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_ROW = 1_048_576
MAX_COLUMN = 16_384

_XML_TARGETS = ("officeDocument", "worksheet", "chartsheet", "dialogsheet", "macrosheet", "sharedStrings", "styles")
Attributes = dict[str, str]
"""Attributes of one XML element."""


@dataclass(slots=True)
class SheetFacts:
    """What a pass has found out about one sheet.

    Attributes
    ----------
    filled
        Number of cells that hold something.
    shared
        Number of cells that refer to a text kept once for the whole workbook.
    unreadable
        Blocks of cells that show an error, as first row, first column, rows, columns (from 0) and the text shown.
    """

    filled: int = 0
    shared: int = 0
    unreadable: list[tuple[int, int, int, int, str]] = field(default_factory=list)
    _top: int = MAX_ROW
    _left: int = MAX_COLUMN
    _bottom: int = -1
    _right: int = -1

    def fill(self, top: int, left: int, bottom: int, right: int) -> int:
        """Count a block of filled cells and return the number of cells between the outermost filled ones."""
        self.filled += 1
        self._top, self._left = min(self._top, top), min(self._left, left)
        self._bottom, self._right = max(self._bottom, bottom), max(self._right, right)
        return (self._bottom - self._top + 1) * (self._right - self._left + 1)


class Findings:
    """What the passes over the parts of one workbook have found so far.

    Parameters
    ----------
    source
        What to call the workbook in messages.
    max_text
        Most characters that the cells may hold once repeated and shared texts are written out.
    max_cells
        Most cells that a sheet may spread over.
    """

    def __init__(self, source: str, *, max_text: int, max_cells: int = MAX_CELLS) -> None:
        self.source = source
        self.max_text = max_text
        self.max_cells = max_cells
        self.text_lengths = array("Q")
        self.parts: dict[str, SheetFacts] = {}  # worksheets by the lower-case name of their part
        self.tables: dict[str, SheetFacts] = {}  # sheets of an OpenDocument file by their name
        self._sheet_ids: list[tuple[str, str, str]] = []  # workbook part, name of sheet, id of relationship
        self._targets: dict[tuple[str, str], str] = {}  # relationships part in lower case, id -> part

    def sheets(self) -> dict[str, SheetFacts]:
        """Return what was found by the name of the sheet, for the sheets whose part is known."""
        found = dict(self.tables)
        for workbook, name, identity in self._sheet_ids:
            target = self._targets.get((_relationships_of(workbook), identity), "")
            if target in self.parts:
                found[name] = self.parts[target]
        return found

    def name_of(self, part: str) -> str:
        """Return what to call a worksheet part in a message."""
        for workbook, name, identity in self._sheet_ids:
            if self._targets.get((_relationships_of(workbook), identity)) == part.lower():
                return f"{self.source}, sheet {name}"
        return self.source

    def suspects(self) -> list[str]:
        """Return the worksheet parts whose shared texts might be too much and need an exact count."""
        longest = max(self.text_lengths, default=0)
        return [part for part, facts in self.parts.items() if facts.shared * longest > self.max_text]

    def too_much_text(self, where: str) -> InputError:
        """Return the error for texts that are repeated beyond the limit."""
        return InputError(
            f"The cells would hold more than {in_bytes(self.max_text)} of text once repeated texts are written out: "
            "keep only the columns that are needed.",
            kind="too_large",
            where=where,
        )

    def too_many_cells(self, where: str, count: int) -> InputError:
        """Return the error for a sheet that spreads too far."""
        return InputError(
            f"The filled cells spread over {count:,} cells, more than the limit of {self.max_cells:,}: delete stray "
            "cells far from the table, or copy the table to a new workbook.",
            kind="too_large",
            where=where,
        )

    def add_sheet(self, workbook: str, name: str, identity: str) -> None:
        """Remember a sheet that the workbook part lists."""
        self._sheet_ids.append((workbook, name, identity))

    def add_relationship(self, part: str, identity: str, kind: str, target: str) -> None:
        """Remember which part a relationship points to; parts that are read as XML must be named so."""
        if kind.rpartition("/")[2] in _XML_TARGETS and not target.lower().endswith(".xml"):
            raise InputError(
                f"The workbook keeps a sheet under the unusual name {target!r}: save it again from a "
                "spreadsheet program.",
                kind="damaged",
                where=self.source,
            )
        folder = posixpath.dirname(posixpath.dirname(part))
        place = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        self._targets[part.lower(), identity] = place.lower()

    def parse(self, parser: expat.XMLParserType, part: str, chunks: Iterable[bytes]) -> None:
        """Feed a parser, with document type declarations and malformed XML refused."""

        def refuse(*_: object) -> None:
            raise InputError(
                "The workbook declares XML entities or a document type, which no spreadsheet program writes: it is not "
                "read, since such files are used for attacks; save the table as csv.",
                kind="forbidden_xml",
                where=self.source,
            )

        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        anything = False
        try:
            for chunk in chunks:
                anything = anything or bool(chunk)
                parser.Parse(chunk, False)
            if anything:
                parser.Parse(b"", True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise InputError(
                f"The workbook is damaged: its part {part} is not well-formed XML ({error}); open it in a spreadsheet "
                "program and save it again.",
                kind="damaged",
                where=self.source,
            ) from None


def password(source: str) -> InputError:
    """Return the error for a workbook that is protected by a password."""
    return InputError(
        "The workbook is protected by a password: open it, remove the password and save a copy.",
        kind="password",
        where=source,
    )


def local_name(name: str) -> str:
    """Return a name without its namespace prefix."""
    return name.rpartition(":")[2] if ":" in name else name


def attribute(attributes: Attributes, name: str) -> str:
    """Return the attribute of a local name, or an empty text."""
    return next((value for key, value in attributes.items() if local_name(key) == name), "")


def _relationships_of(part: str) -> str:
    """Return the lower-case name of the part that holds the relationships of a part."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels").lower()
