"""A pass over the parts of an xlsx or xlsm workbook: cells, shared texts, names of sheets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.io.markup import MAX_COLUMN, MAX_ROW, Attributes, Findings, SheetFacts, local_name, password

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_CALCULATED = "(formula without a result)"
"""What a cell is said to hold whose formula was never calculated."""

_ADDRESS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")


class OfficeOpenPass:
    """A pass over one part of an xlsx or xlsm workbook."""

    def __init__(self, found: Findings, part: str) -> None:
        self.found = found
        self.part = part
        self.facts = SheetFacts()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self._row = self._column = -1  # of the cell at hand, from 0
        self._kind: str | None = None
        self._formula = False  # whether the cell at hand has a formula
        self._result: list[str] | None = None  # text of its value, where it matters
        self._length = 0
        self._columns: dict[str, int] = {}

    def run(self, chunks: Iterable[bytes]) -> None:
        """Pass over the part, whose unpacked bytes are ``chunks``."""
        self.found.parse(self.parser, self.part, chunks)
        self._settle()

    def _start(self, name: str, attributes: Attributes) -> None:
        """Watch for what the part is about."""
        local = local_name(name)
        if local == "sheetData":
            self.facts = self.found.parts.setdefault(self.part.lower(), self.facts)
            self.parser.StartElementHandler = self._start_in_sheet
        elif local == "sst":
            self.parser.StartElementHandler = self._start_in_texts
            self.parser.EndElementHandler = self._end_in_texts
            self.parser.CharacterDataHandler = self._text_in_texts
        elif local == "sheet" and "name" in attributes:
            identity = next((value for key, value in attributes.items() if local_name(key) == "id"), "")
            self.found.add_sheet(self.part, attributes["name"], identity)
        elif local == "Relationship" and attributes.get("TargetMode") != "External":
            self.found.add_relationship(
                self.part, attributes.get("Id", ""), attributes.get("Type", ""), attributes.get("Target", "")
            )
        elif local == "encryption-data":
            raise password(self.found.source)

    def _start_in_sheet(self, name: str, attributes: Attributes) -> None:
        local = local_name(name)
        if local in ("v", "is"):
            self._fill()
        elif local == "c":
            self._settle()
            self._kind = attributes.get("t")
            address = attributes.get("r")
            if address is None:
                self._column += 1
            else:
                self._row, self._column = self._place(address)
        elif local == "row":
            self._settle()
            number = attributes.get("r")
            self._row = self._row + 1 if number is None else self._place(f"A{number}")[0]
            self._column = -1
        elif local == "f":
            self._formula = True

    def _fill(self) -> None:
        """Count a cell that has a value; gather the text of one that shows an error."""
        row, column = self._row, self._column
        if not (0 <= row < MAX_ROW and 0 <= column < MAX_COLUMN):
            raise self._bad_address(f"row {row + 1}, column {column + 1}")
        count = self.facts.fill(row, column, row, column)
        if count > self.found.max_cells:
            raise self.found.too_many_cells(self.found.name_of(self.part), count)
        if self._kind == "s":
            self.facts.shared += 1
        if self._kind == "e" or (self._formula and self._kind not in ("s", "str")):
            self._result = []
            self.parser.CharacterDataHandler = self._result.append
        self._formula = False

    def _settle(self) -> None:
        """Remember the cell at hand if it shows an error or its formula has no result."""
        if self._formula:  # no value followed it
            self._fill()
            self._result = []
        if self._result is None:
            return
        said = "".join(self._result).strip()
        if self._kind == "e":
            self.facts.unreadable.append((self._row, self._column, 1, 1, said or "#ERROR"))
        elif not said:
            self.facts.unreadable.append((self._row, self._column, 1, 1, NOT_CALCULATED))
        self._result = None
        self.parser.CharacterDataHandler = None

    def _place(self, address: str) -> tuple[int, int]:
        """Return row and column of an address such as ``AB12``, from 0."""
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise self._bad_address(address)
        letters, digits = match.groups()
        column = self._columns.get(letters)
        if column is None:
            column = 0
            for letter in letters.upper():
                column = column * 26 + ord(letter) - ord("A") + 1
            self._columns[letters] = column
        row = int(digits)
        if not (1 <= row <= MAX_ROW and column <= MAX_COLUMN):
            raise self._bad_address(address)
        return row - 1, column - 1

    def _bad_address(self, address: str) -> InputError:
        return InputError(
            f"The workbook is damaged: it names a cell {address[:40]!r} that no sheet has; open it in a spreadsheet "
            "program and save it again.",
            kind="damaged",
            where=self.found.name_of(self.part),
        )

    def _start_in_texts(self, name: str, _: Attributes) -> None:
        if local_name(name) == "si":
            self._length = 0

    def _text_in_texts(self, data: str) -> None:
        self._length += len(data)

    def _end_in_texts(self, name: str) -> None:
        if local_name(name) == "si":
            self.found.text_lengths.append(self._length)


def check_shared(found: Findings, part: str, chunks: Iterable[bytes]) -> None:
    """Add up the shared texts that the cells of one worksheet part refer to, and refuse too much of them.

    Parameters
    ----------
    found
        What the first passes found, with the lengths of all shared texts.
    part
        Name of the worksheet part.
    chunks
        Its unpacked bytes.

    Raises
    ------
    InputError
        If the cells would hold more text than the limit.
    """
    parser = expat.ParserCreate()
    lengths = found.text_lengths
    is_shared = False
    digits: list[str] = []
    total = 0

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_shared
        local = local_name(name)
        if local == "c":
            is_shared = attributes.get("t") == "s"
        elif local == "v" and is_shared:
            parser.CharacterDataHandler = digits.append

    def end(name: str) -> None:
        nonlocal total
        if not digits or local_name(name) != "v":
            return
        parser.CharacterDataHandler = None
        said = "".join(digits).strip()
        digits.clear()
        if said.isdecimal() and len(said) < 19 and int(said) < len(lengths):
            total += lengths[int(said)]
        if total > found.max_text:
            raise found.too_much_text(found.name_of(part))

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    found.parse(parser, part, chunks)
