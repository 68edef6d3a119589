"""XML without entities; workbooks of one XML file and tables of a web page, which some systems call ``.xls``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.io.table import MAX_CELLS
from evenhand.panel.column import Cell

_MAX_DEPTH: Final = 100
_MAX_ELEMENTS: Final = 20_000_000
_MAX_INDEX: Final = 16_384
_SHEET: Final = "urn:schemas-microsoft-com:office:spreadsheet"


@dataclass(slots=True, eq=False)
class Element:
    """An element of XML: its name without a prefix, attributes likewise, elements within, and its own text."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *path: str) -> Iterator[Element]:
        """Yield the elements that a path of names leads to."""
        if not path:
            yield self
            return
        for child in self.children:
            if child.name == path[0]:
                yield from child.all(*path[1:])

    def below(self, name: str) -> Iterator[Element]:
        """Yield all elements of a name, however deep; not those within one that was yielded."""
        for child in self.children:
            if child.name == name:
                yield child
            else:
                yield from child.below(name)

    def value(self, name: str) -> str | None:
        """Return the text of the first element within that has a name; None where it is empty or missing."""
        found = next(self.all(name), None)
        return None if found is None else found.text.strip() or None


def is_markup(text: str) -> bool:
    """Say whether a text begins as XML does."""
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def read_markup(text: str, source: str) -> Element:
    """Return the outermost element of XML; document types, and so entities, are refused."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    outermost = Element("", {})
    open_elements = [outermost]
    count = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(open_elements) > _MAX_DEPTH or count > _MAX_ELEMENTS:
            raise InputError("The XML is nested too deeply or too large.", kind="too_large", where=source)
        bare = {key.rpartition(":")[2]: value for key, value in attributes.items() if not key.startswith("xmlns")}
        element = Element(name.rpartition(":")[2], bare)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        open_elements[-1].text += data

    def refuse(*_: object) -> None:
        message = "The XML has a document type or entities, which no export has: export it again."
        raise InputError(message, kind="bad_xml", where=source)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, end, characters
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n"), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        message = f"Line {error.lineno} is not XML ({reason}): the file may have been cut off; export it again."
        raise InputError(message, kind="bad_xml", where=source) from None
    return outermost.children[0]


def is_workbook(text: str) -> bool:
    """Say whether XML is a workbook of one file (SpreadsheetML 2003)."""
    return is_markup(text) and _SHEET in text[:4000]


def workbook_sheets(text: str, source: str) -> list[tuple[str, list[list[Cell]]]]:
    """Return the sheets of a workbook that is one XML file, each with its name and its rows of cells."""
    found = []
    left = MAX_CELLS
    for sheet in read_markup(text, source).all("Worksheet"):
        rows: list[list[Cell]] = []
        for row in sheet.all("Table", "Row"):
            _skip(rows, _index(row, len(rows) + 1, source) - len(rows) - 1, source)
            cells: list[Cell] = []
            for cell in row.all("Cell"):
                wanted = _index(cell, len(cells) + 1, source)
                cells += [None] * (wanted - len(cells) - 1)
                cells.append(_cell(cell))
                cells += [None] * _merged(cell)
            left -= max(len(cells), 1)
            if left < 0:
                raise InputError("The workbook has too many cells.", kind="too_large", where=source)
            rows.append(cells)
        found.append((sheet.attributes.get("Name", ""), rows))
    return found


def is_page(text: str) -> bool:
    """Say whether a text is a web page with a table in it."""
    return is_markup(text) and re.search(r"<table\b", text, re.IGNORECASE) is not None


def page_rows(text: str, source: str) -> list[list[Cell]]:
    """Return the cells of the largest table of a web page; one that spans several columns stands in the first.

    Examples
    --------
    >>> page_rows("<table><tr><th>Entry<th>Ana</tr><tr><td>Elm</td><td>&nbsp;4</td></tr></table>", "scores.xls")
    [['Entry', 'Ana'], ['Elm', '4']]
    """
    page = _Page(source)
    page.feed(text)
    page.close()
    page.end_cell()
    return max(page.tables, key=len)


class _Page(HTMLParser):
    """Gathers the cells of tables."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tables: list[list[list[Cell]]] = [[]]
        self._source, self._left = source, MAX_CELLS
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell."""
        if tag in ("table", "tr", "td", "th"):
            self.end_cell()
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            said = dict(attrs).get("colspan") or "1"
            self._span = min(int(said), 1000) if re.fullmatch(r"\d{1,5}", said) else 1
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        """End what was begun."""
        if tag in ("table", "tr", "td", "th"):
            self.end_cell()

    def handle_data(self, data: str) -> None:
        """Take the text of a cell."""
        if self._cell is not None:
            self._cell.append(data)

    def end_cell(self) -> None:
        """Put the cell that is open, if one is, into its row."""
        if self._cell is None:
            return
        rows = self.tables[-1]
        if not rows:
            rows.append([])
        self._left -= self._span
        if self._left < 0:
            raise InputError("The page has too many cells.", kind="too_large", where=self._source)
        rows[-1] += [" ".join("".join(self._cell).split()) or None, *[None] * (self._span - 1)]
        self._cell = None


def _skip(rows: list[list[Cell]], count: int, source: str) -> None:
    """Add rows that are left out of the file because they are empty."""
    if len(rows) + count > 1_048_576:
        raise InputError("The workbook has too many rows.", kind="too_large", where=source)
    rows += [[] for _ in range(count)]


def _index(element: Element, usual: int, source: str) -> int:
    """Return the number of a row or of a cell, which is said where some before it are left out."""
    said = element.attributes.get("Index")
    if said is None:
        return usual
    most = 1_048_576 if element.name == "Row" else _MAX_INDEX
    if not re.fullmatch(r"\d{1,7}", said) or not usual <= int(said) <= most:
        raise InputError(f"The XML has a {element.name} of number {said!r}.", kind="bad_xml", where=source)
    return int(said)


def _merged(cell: Element) -> int:
    said = cell.attributes.get("MergeAcross", "0")
    return min(int(said), 1000) if re.fullmatch(r"\d{1,5}", said) else 0


def _cell(cell: Element) -> Cell:
    data = next(cell.all("Data"), None)
    if data is None:
        return None
    text = "".join(_texts(data)).strip()
    if data.attributes.get("Type") == "Number":
        try:
            number = float(text)
        except ValueError:
            return text or None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text or None


def _texts(element: Element) -> Iterator[str]:
    yield element.text
    for child in element.children:
        yield from _texts(child)
