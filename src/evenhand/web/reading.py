"""A file taken in: what menus offer on how it is read, its cells, its assessments, and what is wrong with it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from evenhand.errors import EvenhandError, InputError, Problem
from evenhand.panel.reading import LAYOUTS
from evenhand.panel.rules import label_text
from evenhand.progress import report as tell
from evenhand.web.jobs import Job, jobs
from evenhand.web.models import Panel, mark
from evenhand.words import remark, spoken, translated

if TYPE_CHECKING:
    from evenhand.panel.column import Table
    from evenhand.panel.panel import Panel as Scores

ROLES: Final[Mapping[str, Any]] = {
    "": _("Left out"),
    "object": _("Object"),
    "assessor": _("Assessor"),
    "score": _("Score"),
    "level": _("Confidence level"),
    "confidence": _("Confidence weight"),
    "uncertainty": _("Uncertainty"),
    "criterion": _("Criterion"),
}
"""What a column may be, in words."""

CHOICES: Final[Mapping[str, Mapping[str, Any]]] = {
    "layout": {str(name): words for name, words in LAYOUTS.items()},
    "best": {"highest": _("higher"), "lowest": _("lower")},
    "duplicates": {"keep": _("keep both"), "combine": _("take their mean"), "last": _("take the last")},
}
"""What menus about reading offer, in words."""

_CELL: Final = re.compile(r"row (\d+), column (.+)", re.DOTALL)
_UNPACKED: Final = (".csv", ".tsv", ".txt", ".parquet")
_SHEETS: Final = (".xlsx", ".xlsm", ".ods", ".xls")

T = TypeVar("T")

_MENUS: Final[Mapping[str, str]] = {
    "layout": remark("the menu “Layout”"),
    "sheet": remark("the menu “Sheet”"),
    "best": remark("the menu “Better is”"),
    "duplicates": remark("the menu “Same assessor scored twice”"),
    "missing": remark("the field “Means empty”"),
    "scores": remark("the table of words"),
    "aliases": remark("the field “Words for confidence”"),
    "level_scale": remark("the field “Scale of confidence”"),
    "factor": remark("the field “Factor”"),
    "format": remark("the menu “Written by”"),
    "columns": remark("the menus above the columns"),
}


def in_menus(name: str, value: object) -> str:
    """Return how a setting is given on the page, for messages."""
    if name == "criteria":
        return remark("the role “{role}” above each of them", role=ROLES["score"])
    if name in ROLES and value in (None, "NAME"):
        return remark("the role “{role}” above a column", role=ROLES[name])
    if name in ROLES:
        return remark("the role “{role}” above “{column}”", role=ROLES[name], column=value)
    name, value = ("layout", "wide") if name == "wide" else (name, value)
    menu = _MENUS.get(name, f"“{name}”")
    if not isinstance(value, str):
        return menu
    chosen = CHOICES.get(name, {}).get(value, value)
    return remark("“{choice}” in {menu}", choice=remark(chosen) if name == "layout" else chosen, menu=menu)


_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]+")


def safe_name(given: str) -> str:
    """Return the name of a file without a path and without what no file may be called; its ending stays."""
    name = _UNFIT.sub("_", given.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .") or "scores.csv"
    stem, dot, ending = name.rpartition(".")
    return f"{stem[:100]}.{ending[:12]}" if dot and stem else name[:100]


@dataclass(frozen=True, eq=False)
class Looked:
    """A file as it was read: its cells, its assessments, and what is wrong; cells that are wrong count as empty."""

    table: Table | None
    scores: Scores | None
    problems: tuple[Problem, ...] = ()
    sheets: tuple[str, ...] = ()
    slips: Mapping[int, float | None] = field(default_factory=dict)
    """Assessments that look mistyped, each with the score that was probably meant."""


def looking(panel: Panel) -> Job:
    """Return the work of reading a panel's file."""
    state = panel.state()
    content = bytes(panel.content)
    key = f"read-{mark({name: state[name] for name in ('file', 'name', 'options', 'corrections')})}"
    return jobs.start(key, "reading", lambda: look(content, state["name"], state["options"], state["corrections"]))


@translated(None)
def look(content: bytes, name: str, options: Mapping[str, Any], corrections: Mapping[str, str]) -> Looked:
    """Read a file, and say what stands in it even where it holds no assessments."""
    from evenhand.answers.far_scores import mistyped
    from evenhand.io.panels import read_cells, read_panel
    from evenhand.io.spreadsheet import sheet_names

    tell("reading the file", 0, None)
    told: dict[str, Any] = {one: tuple(value) if one == "level_scale" else value for one, value in options.items()}
    limit = settings.MAX_UNPACKED
    problems: list[Problem] = []

    def tried(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except EvenhandError as error:
            problems.extend(error.problems if isinstance(error, InputError) else [Problem("too_large", str(error))])
            return None

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder, spoken(in_menus), override("en"):
        place = Path(folder) / name
        place.write_bytes(content)
        packed = {} if place.suffix.lower() in _UNPACKED else {"max_unpacked": limit}
        table = tried(
            lambda: read_cells(
                place, sheet=told.get("sheet"), max_unpacked=limit, format=told.get("format"), corrections=corrections
            )
        )
        problems.clear()  # those of the panel say more
        if table is not None and tried(lambda: _narrow(table)) is None:
            return Looked(table, None, tuple(problems))

        def read(given: Mapping[str, str]) -> Scores:
            return _few(read_panel(place, corrections=dict(given) or None, **told, **packed))

        scores = tried(lambda: read(corrections))
        wrong = cells_in(problems, table)
        if scores is None and wrong and len(wrong) == len(problems):  # until they are settled, such cells are empty
            settled = {**corrections, **dict.fromkeys(wrong, "")}
            with suppress(EvenhandError):
                scores = read(settled)
        sheets = tried(lambda: sheet_names(place, max_unpacked=limit)) if place.suffix.lower() in _SHEETS else ()
    slips = None if scores is None else tried(lambda: mistyped(scores))
    return Looked(table, scores, tuple(problems), tuple(sheets or ()), slips or {})


def cells_in(problems: Sequence[Problem], table: Table | None) -> dict[str, tuple[int, str]]:
    """Return the cells, by their place, that problems are about."""
    found: dict[str, tuple[int, str]] = {}
    names = () if table is None else table.names
    for one in problems:
        place = _CELL.fullmatch(one.where or "")
        if place is not None and place[2] in names:
            found[f"{place[1]}:{place[2]}"] = int(place[1]), place[2]
    return found


def text_at(table: Table | None, row: int, column: str) -> str:
    """Return what stands in a cell; nothing where there is none."""
    rows = [] if table is None else table.row_numbers.tolist()
    if table is None or row not in rows or column not in table.names:
        return ""
    cell = table.columns[table.names.index(column)][rows.index(row)]
    return "" if cell is None else label_text(cell)[:2000]


def _narrow(table: Table) -> Table:
    """Return a table, unless it has more columns or cells than can be understood while somebody waits.

    Every column is compared with all others, so that the time grows with the square of their number.
    """
    columns, cells = len(table.names), len(table.names) * len(table.row_numbers)
    if columns > settings.MAX_COLUMNS or cells > settings.MAX_CELLS:
        message = remark(
            "It has {columns} columns and {cells} cells; up to {most} columns and {most_cells} cells are read here. "
            "The command line takes any number.",
            columns=f"{columns:,}",
            cells=f"{cells:,}",
            most=f"{settings.MAX_COLUMNS:,}",
            most_cells=f"{settings.MAX_CELLS:,}",
        )
        raise InputError(message, kind="too_large")
    return table


def _few(scores: Scores) -> Scores:
    """Return a panel, unless it is too large for a page."""
    most = settings.MAX_SCORES
    if scores.n_assessments > most:
        message = remark(
            "It has {count} scores; up to {most} are shown here. The command line takes any number.",
            count=f"{scores.n_assessments:,}",
            most=f"{most:,}",
        )
        raise InputError(message, kind="too_large")
    return scores


def scores_of(looked: Job) -> Scores:
    """Return the assessments of a file, or raise what is wrong with it."""
    found: Looked = looked.outcome()
    if found.scores is None:
        raise InputError(found.problems or remark("There are no scores."))
    return found.scores
