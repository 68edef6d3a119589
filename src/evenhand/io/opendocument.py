"""A pass over the content of an OpenDocument spreadsheet: cells, with their repetitions, and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.io.markup import MAX_COLUMN, MAX_ROW, Attributes, Findings, SheetFacts, attribute, local_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_CELLS = ("table-cell", "covered-table-cell")


class OpenDocumentPass:
    """A pass over the content of an OpenDocument spreadsheet."""

    def __init__(self, found: Findings, part: str) -> None:
        self.found = found
        self.part = part
        self.facts: SheetFacts | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._name = ""
        self._row = self._next_row = self._column = 0
        self._rows = self._repeats = 1  # how often the row and the cell at hand are repeated
        self._cell_column = 0
        self._is_filled = False
        self._error: list[str] | None = None
        self._in_cell = False
        self._cells: dict[str, int] = {}  # spread of each sheet
        self._total_cells = 0
        self._total_text = 0

    def run(self, chunks: Iterable[bytes]) -> None:
        """Pass over the part, whose unpacked bytes are ``chunks``."""
        self.found.parse(self.parser, self.part, chunks)

    def _start(self, name: str, attributes: Attributes) -> None:
        local = local_name(name)
        if local == "table":
            self._name = attribute(attributes, "name")
            self.facts = self.found.tables.setdefault(self._name, SheetFacts())
            self._row = self._next_row = 0
        elif self.facts is None:
            return
        elif local == "table-row":
            self._rows = self._repeat(attributes, "number-rows-repeated")
            self._row, self._next_row = self._next_row, self._next_row + self._rows
            self._column = 0
        elif local in _CELLS:
            self._repeats = self._repeat(attributes, "number-columns-repeated")
            self._cell_column, self._column = self._column, self._column + self._repeats
            self._is_filled, self._in_cell = False, True
            keys = {local_name(key) for key in attributes}
            if "value-type" in keys or "formula" in keys or any(key.endswith("-value") for key in keys):
                self._fill()
            if any(local_name(key) == "value-type" and value == "error" for key, value in attributes.items()):
                self._error = []
            self._count_text(len(attribute(attributes, "string-value")))
        elif local == "p":
            self._fill()
            self.parser.CharacterDataHandler = self._text
        elif local == "s":
            self._count_text(self._repeat(attributes, "c"))

    def _end(self, name: str) -> None:
        local = local_name(name)
        if local == "p":
            self.parser.CharacterDataHandler = None
        elif local in _CELLS:
            self._in_cell = False
            if self._error is None or self.facts is None:
                return
            text = "".join(self._error).strip() or "#ERROR"
            self.facts.unreadable.append((self._row, self._cell_column, self._rows, self._repeats, text))
            self._error = None

    def _text(self, data: str) -> None:
        self._count_text(len(data))
        if self._error is not None:
            self._error.append(data)

    def _fill(self) -> None:
        """Count the cell at hand, with its repetitions, once."""
        if self.facts is None or self._is_filled or not self._in_cell:
            return
        self._is_filled = True
        bottom, right = self._row + self._rows - 1, self._cell_column + self._repeats - 1
        spread = self.facts.fill(self._row, self._cell_column, bottom, right)
        self._total_cells += spread - self._cells.get(self._name, 0)  # all sheets of such a file are held at once
        self._cells[self._name] = spread
        if self._total_cells > self.found.max_cells:
            raise self.found.too_many_cells(f"{self.found.source}, sheet {self._name}", self._total_cells)
        if bottom >= MAX_ROW or right >= MAX_COLUMN:
            raise InputError(
                f"Cells beyond row {MAX_ROW:,} or column {MAX_COLUMN:,} are filled: delete them, or copy the table "
                "to a new workbook.",
                kind="too_large",
                where=f"{self.found.source}, sheet {self._name}",
            )

    def _count_text(self, length: int) -> None:
        if not self._in_cell:
            return
        self._total_text += length * self._rows * self._repeats
        if self._total_text > self.found.max_text:
            raise self.found.too_much_text(f"{self.found.source}, sheet {self._name}")

    def _repeat(self, attributes: Attributes, name: str) -> int:
        """Return how often something is repeated, once where nothing is said."""
        said = attribute(attributes, name) or "1"
        if not (said.isascii() and said.isdecimal() and len(said) < 19):
            raise InputError(
                f"The workbook is damaged: it repeats something {said[:40]!r} times; open it in a spreadsheet "
                "program and save it again.",
                kind="damaged",
                where=self.found.source,
            )
        return int(said)
