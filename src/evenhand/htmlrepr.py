"""Results as small tables of HTML, which notebooks show by themselves."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evenhand.words import count_of, digits_of, number

MOST_ROWS: Final = 12
"""Rows of a table that are shown; the others are counted."""

_LONGEST: Final = 60
_CELL: Final = "padding: 0.15em 0.6em; text-align:"
_LEFT: Final = f' style="{_CELL} left"'
_RIGHT: Final = f' style="{_CELL} right; font-variant-numeric: tabular-nums"'


def html_table(
    caption: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    count: int | None = None,
    of: str = "row",
    alike: Sequence[str] = (),
    signed: Sequence[str] = (),
) -> str:
    """Return a table whose first column names the rows; text and labels are shown as they are, never as markup.

    No colours are set, so that it can be read in light and in dark notebooks.

    Parameters
    ----------
    caption
        A sentence above the table.
    columns
        Cells by heading, at most the rows that are to be shown: text, numbers, or None.
    count, of
        How many rows there are in all, and what they are, in the singular: those that are not shown are counted.
    alike
        Columns that are shown with the same decimals: those that tell the numbers of the first apart.
    signed
        Columns whose numbers have a sign.

    Examples
    --------
    >>> "&lt;x&gt;" in html_table("Values", {"object": ["<x>"], "value": [1.5]}, count=3, of="object")
    True
    """
    first, *_ = columns
    shown = {name: list(cells)[:MOST_ROWS] for name, cells in columns.items()}
    digits = {name: digits_of(_numbers(shown[alike[0] if name in alike else name])) for name in shown}
    texts = {name: [_text(cell, digits[name], name in signed) for cell in cells] for name, cells in shown.items()}
    side = {name: _LEFT if name == first or _is_text(cells) else _RIGHT for name, cells in shown.items()}
    heads = "".join(f'<th scope="col"{side[name]}>{_escape(name)}</th>' for name in shown)
    rows = []
    for cells in zip(*texts.values(), strict=True):
        head, *rest = zip(shown, cells, strict=True)
        row = f'<th scope="row"{_LEFT}>{_escape(head[1])}</th>'
        row += "".join(f"<td{side[name]}>{_escape(text)}</td>" for name, text in rest)
        rows.append(f"<tr>{row}</tr>")
    more = (len(rows) if count is None else count) - len(rows)
    foot = ""
    if more > 0:
        words = f"and {count_of(more, f'more {of}')}"
        foot = f'<tfoot><tr><td colspan="{len(shown)}"{_LEFT}>{_escape(words)}</td></tr></tfoot>'
    style = f' style="caption-side: top; {_CELL} left"'
    return (
        f"<table><caption{style}>{_visible(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody>{foot}</table>"
    )


def html_lines(lines: Iterable[object]) -> str:
    """Return sentences as paragraphs."""
    return "".join(f"<p>{_visible(str(line))}</p>" for line in lines)


def _numbers(cells: Sequence[Any]) -> list[float]:
    return [cell for cell in cells if isinstance(cell, float) and math.isfinite(cell)]


def _text(cell: Any, digits: int, sign: bool) -> str:
    if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else number(cell, digits, signed=sign)


def _is_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) for cell in cells)


def _escape(text: str) -> str:
    """Return the text of a cell, shortened where it is long."""
    return _visible(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _visible(text: str) -> str:
    """Return text that stands for itself in HTML, with control characters made visible."""
    shown = (char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
    return html.escape("".join(shown))
