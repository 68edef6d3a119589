"""Tables in and out, as frames of any kind, as plain records, and as notebooks show them.

The only core file that knows dataframes: what comes in as pandas goes out as pandas.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, MissingPackageError, is_installed
from evenhand.words import count_of, digits_of, number, printable

if TYPE_CHECKING:
    import narwhals as nw

Backend = Literal["polars", "pandas", "pyarrow"]
"""A kind of frame."""

DEFAULT_BACKEND: Final = "polars"
"""The kind of frame that panels from files and arrays give."""

MOST_ROWS: Final = 12
"""Rows of a table that are shown; the others are counted."""

_LONGEST: Final = 60
_CELL: Final = "padding: 0.15em 0.6em; text-align:"
_LEFT: Final = f' style="{_CELL} left"'
_RIGHT: Final = f' style="{_CELL} right; font-variant-numeric: tabular-nums"'


def read_columns(frame: object, names: Sequence[str]) -> list[list[Any]]:
    """Return columns of a frame as lists in which every missing cell is None."""
    native = _eager(frame)
    place = {str(name): name for name in native.columns}
    return [[None if is_missing(cell) else cell for cell in native.get_column(place[name]).to_list()] for name in names]


def plain_numbers(frame: object, name: str) -> NDArray[np.float64] | None:
    """Return a column of numbers of which none is missing as an array; None for any other column."""
    native = _eager(frame)
    column = native.get_column(next(own for own in native.columns if str(own) == name))
    if not (column.dtype.is_float() or column.dtype.is_integer()) or column.null_count():
        return None
    return np.array(column.to_numpy(), dtype=np.float64)


def categorical_columns(frame: object) -> set[str]:
    """Return the names of the columns whose type says that they hold categories, whatever these look like."""
    import narwhals as nw

    return {str(name) for name, kind in _eager(frame).schema.items() if kind in (nw.Categorical, nw.Enum)}


def column_names(frame: object) -> list[str]:
    """Return the names of a frame's columns."""
    return [str(name) for name in _eager(frame).columns]


def row_count(frame: object) -> int:
    """Return the number of rows of a frame."""
    return int(_eager(frame).shape[0])


def backend_of(frame: object) -> Backend:
    """Return the kind of frame, ``"pandas"``, ``"polars"`` or ``"pyarrow"``; any other comes back as polars."""
    kinds: dict[str, Backend] = {"PANDAS": "pandas", "PYARROW": "pyarrow"}
    return kinds.get(_eager(frame).implementation.name, DEFAULT_BACKEND)


def make_frame(columns: Mapping[str, Any], backend: Backend = DEFAULT_BACKEND) -> Any:
    """Return a native frame of the given kind from columns of equal length.

    A column whose cells are all None becomes a column of missing numbers. Where the default kind is not installed,
    another one is taken that is.
    """
    if not is_installed(backend):
        backend = _installed_instead_of(backend)
    import narwhals as nw

    frame = nw.from_dict(dict(columns), backend=backend)
    empty = [name for name, cells in columns.items() if all(cell is None for cell in cells)]
    return frame.with_columns(nw.col(*empty).cast(nw.Float64())).to_native() if empty else frame.to_native()


def _installed_instead_of(backend: str) -> Backend:
    """Return a kind of frame that is installed, where none was asked for."""
    if backend != DEFAULT_BACKEND:
        raise MissingPackageError(backend, "A table as a frame", backend)
    for other in get_args(Backend):
        if is_installed(other):
            return cast("Backend", other)
    raise MissingPackageError("polars, pandas or pyarrow", "A table as a frame", "evenhand[large]")


def records_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table; what is not a finite number is None.

    Examples
    --------
    >>> records_of({"object": ["x", "y"], "value": np.array([1.5, np.nan])})
    [{'object': 'x', 'value': 1.5}, {'object': 'y', 'value': None}]
    """
    plain = {name: _cells(cells) for name, cells in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _cells(cells: Any) -> list[Any]:
    listed = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    if isinstance(cells, np.ndarray) and (cells.dtype.kind != "f" or bool(np.isfinite(cells).all())):
        return listed
    return [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in listed]


def _eager(frame: object) -> nw.DataFrame[Any]:
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            "The frame has two columns of the same name: rename one of them.", kind="duplicate_column"
        ) from error
    except TypeError as error:
        raise InputError(
            f"A {type(frame).__name__} is not a frame that can be read: give a pandas, polars or pyarrow table "
            "(collect a lazy one first).",
            kind="not_a_frame",
        ) from error


def is_missing(cell: object) -> bool:
    """Say whether a cell holds nothing: None, NaN, or what pandas writes for them."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in {"NAType", "NaTType"}
    )


class Shown:
    """A result that has a table: it comes as a frame, as text of one screen, and as HTML in notebooks.

    A result has ``columns``, and a ``backend`` where a panel is behind it. One that says more than its table has a
    ``__str__``, whose first line is the caption in notebooks.
    """

    rows: ClassVar[str] = "row"
    """What a row of the table is, in the singular."""

    def columns(self) -> dict[str, Any]:
        """Return the table as columns of equal length, the first of which names the rows."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the table as the kind of frame that the panel came from.

        Where there was none it is polars, or pandas or pyarrow where polars is not installed.
        """
        return make_frame(self.columns(), getattr(self, "backend", DEFAULT_BACKEND))

    def remarks(self) -> Iterable[object]:
        """Return sentences that stand below the table."""
        return (f"Note: {note}" for note in getattr(self, "notes", ()))

    def __str__(self) -> str:
        columns = self.columns()
        count = len(next(iter(columns.values())))
        texts = [[name, *map(_short, cells)] for name, cells in _texts(_first_rows(columns)).items()]
        widths = [max(map(len, cells)) for cells in texts]
        rows = zip(*texts, strict=True)
        lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        more = [f"and {count_of(count - MOST_ROWS, f'more {self.rows}')}"] if count > MOST_ROWS else []
        return "\n".join([f"{type(self).__name__} of {count_of(count, self.rows)}", *lines, *more])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        caption = str(self).partition("\n")[0]
        shown = html_table(caption[:1].upper() + caption[1:], self.columns(), of=self.rows)
        return shown + html_lines(self.remarks())


def html_table(
    caption: str,
    columns: Mapping[str, Any],
    *,
    count: int | None = None,
    of: str = "row",
    alike: Sequence[str] = (),
    signed: Sequence[str] = (),
) -> str:
    """Return a table whose first column names the rows; text and labels are shown as they are, never as markup.

    No colours are set, so that it can be read in light and in dark notebooks. The first rows are shown and the others
    counted: ``count`` is how many there are in all, where not all are given, and ``of`` what they are, in the singular.
    Columns that are ``alike`` have the same decimals, those that tell the numbers of the first apart; numbers of
    ``signed`` columns have a sign.

    Examples
    --------
    >>> "&lt;x&gt;" in html_table("Values", {"object": ["<x>"], "value": [1.5]}, count=3, of="object")
    True
    """
    first, *_ = columns
    shown = _first_rows(columns)
    texts = _texts(shown, alike, signed)
    textual = {first, *(name for name, cells in shown.items() if any(isinstance(cell, str) for cell in cells))}
    side = {name: _LEFT if name in textual else _RIGHT for name in shown}
    heads = "".join(f'<th scope="col"{side[name]}>{_escape(name)}</th>' for name in shown)
    rows = []
    for cells in zip(*texts.values(), strict=True):
        head, *rest = zip(shown, cells, strict=True)
        row = f'<th scope="row"{_LEFT}>{_escape(head[1])}</th>'
        row += "".join(f"<td{side[name]}>{_escape(text)}</td>" for name, text in rest)
        rows.append(f"<tr>{row}</tr>")
    more = (len(columns[first]) if count is None else count) - len(rows)
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


def _first_rows(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the rows that are shown, as plain numbers and text."""
    parts = {name: cells[:MOST_ROWS] for name, cells in columns.items()}
    return {name: part.tolist() if hasattr(part, "tolist") else list(part) for name, part in parts.items()}


def _texts(
    shown: Mapping[str, list[Any]], alike: Sequence[str] = (), signed: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return cells as text, with the decimals that tell the numbers of a column apart."""
    texts = {}
    for name, cells in shown.items():
        source = shown[alike[0]] if name in alike else cells
        digits = digits_of(cell for cell in source if isinstance(cell, float) and math.isfinite(cell))
        texts[name] = [_text(cell, digits, name in signed) for cell in cells]
    return texts


def _text(cell: Any, digits: int, sign: bool) -> str:
    if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else number(cell, digits, signed=sign)


def _short(text: str) -> str:
    """Return the text of a cell, shortened where it is long, with control characters made visible."""
    return printable(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _escape(text: str) -> str:
    """Return the text of a cell for HTML."""
    return html.escape(_short(text))


def _visible(text: str) -> str:
    """Return text that stands for itself in HTML."""
    return html.escape(printable(text))
