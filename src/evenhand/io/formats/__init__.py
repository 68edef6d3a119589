"""Exports of other systems: one small file for each, recognised by what is in a file, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from evenhand.errors import InputError
from evenhand.io.formats import cmt, easychair, facets, forms, hotcrp, indico, judges, moodle, openreview, pretalx
from evenhand.io.formats.found import Found
from evenhand.io.records import to_table
from evenhand.panel.column import Table
from evenhand.words import argument

__all__ = ["FORMATS", "Format", "Found", "from_data", "from_table", "from_text"]


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one system are recognised and read; None where the system writes no such file."""

    words: str
    """The system's name."""
    from_table: Callable[[Table], Found | None] | None = None
    from_data: Callable[[object, str], Found | None] | None = None
    from_text: Callable[[str, str], Found | None] | None = None
    is_guessed: bool = True
    """Whether files are tried on it without being asked to."""


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "hotcrp": Format("HotCRP", hotcrp.from_table, hotcrp.from_data),
        "openreview": Format("OpenReview", openreview.from_table, openreview.from_data),
        "easychair": Format("EasyChair", easychair.from_table),
        "cmt": Format("Microsoft CMT", cmt.from_table, from_text=cmt.from_text),
        "moodle": Format("Moodle's workshop", moodle.from_table, moodle.from_data, moodle.from_text),
        "pretalx": Format("pretalx", pretalx.from_table),
        "indico": Format("Indico", indico.from_table, indico.from_data),
        "facets": Format("FACETS", from_text=facets.from_text),
        "judges": Format("language models as judges", judges.from_table, judges.from_data),
        "forms": Format("Google Forms or Microsoft Forms", forms.from_table),
        "forms-across": Format(
            "Google Forms or Microsoft Forms, each question an object", forms.across_from_table, is_guessed=False
        ),
    }
)
"""By the name that ``--format`` takes. The order is that in which they are tried."""


def from_table(table: Table, *, format: str | None = None) -> Found | None:
    """Return what a system that writes tables makes of one; None where it is nobody's.

    Raises
    ------
    InputError
        If a system wrote it and it cannot be calibrated; or if a format is given and does not fit.
    """
    return _first(format, table.source, [(one.from_table, (table,)) for one in _tried(format)])


def from_data(data: object, source: str, *, format: str | None = None) -> Found | None:
    """Return what a system makes of parsed JSON, or of a list of records that were JSON lines; None if it is nobody's.

    Records that are no system's own are tried as a table.
    """
    tried = _tried(format)
    found = _first(None, source, [(one.from_data, (data, source)) for one in tried])
    if found is not None or not any(one.from_table for one in tried):
        return found if found is not None else _first(format, source, [])
    try:
        table = to_table(data, source)
    except InputError:
        if format is None:
            return None
        raise
    return from_table(table, format=format)


def from_text(text: str, source: str, *, format: str | None = None) -> Found | None:
    """Return what a system makes of text that is no table, such as XML; None where it is nobody's."""
    return _first(format, source, [(one.from_text, (text, source)) for one in _tried(format)])


def _tried(format: str | None) -> list[Format]:
    if format is None:
        return [one for one in FORMATS.values() if one.is_guessed]
    if format not in FORMATS:
        message = f"There is no format {format!r}: the formats are {', '.join(FORMATS)}."
        raise InputError(message, kind="bad_option")
    return [FORMATS[format]]


def _first(
    format: str | None, source: str, readers: list[tuple[Callable[..., Found | None] | None, tuple[object, ...]]]
) -> Found | None:
    """Return what the first reader finds; where a format was given, one has to find something."""
    for reader, given in readers:
        found = None if reader is None else reader(*given)
        if found is not None:
            return found
    if format is not None:
        advice = f"leave {argument('format')} out, or give another"
        message = f"This is no file of {FORMATS[format].words} that is known: {advice}."
        raise InputError(message, kind="unknown_format", where=source)
    return None
