"""An empty input sheet: the headings that are recognised, checks of what is typed, drop-downs, instructions."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from evenhand.errors import InputError, bad_option
from evenhand.io.results import check_target, write_whole
from evenhand.io.sheets import Column, Formats, Sheet, check_fits, lay_out, open_workbook, text_width, write_sheet
from evenhand.io.spreadsheet import TEMPLATE_SHEETS
from evenhand.panel.confidence import Form
from evenhand.words import argument

_LAST: Final = 1_048_575
_WATCHED: Final = 1000
"""Rows in which a pair that stands twice is coloured."""

_MOST_LABELS: Final = 100_000
_TEXT: Final = 49
"""The number of the format of text."""
INSTRUCTIONS, _LISTS = TEMPLATE_SHEETS

_HOW_SURE: Final = {
    "level": (
        "How sure the assessor was: high, medium or low. A low score is taken to be 1.75 times as uncertain as a "
        "medium one, and that 1.75 times as uncertain as a high one.",
        "high",
    ),
    "uncertainty": (
        "How far off the score may be, in points: its standard deviation. Choose it so that you would bet two to one "
        "on the score being right to within that many points. It must be above 0.",
        "5",
    ),
    "confidence": (
        "What the score weighs: any number above 0, such as credits. A score of weight 2 counts as much as two of "
        "weight 1.",
        "2",
    ),
}
"""For each form of confidence what to write, and an example."""


def template(
    path: str | os.PathLike[str],
    *,
    confidence: Form = "level",
    objects: int | Sequence[str] = (),
    assessors: int | Sequence[str] = (),
    bounds: tuple[float, float] | None = None,
    force: bool = False,
) -> Path:
    """Write an empty workbook to fill in, which :func:`~evenhand.read_panel` reads as it is.

    The sheet ``scores`` has the headings, checks what is typed and colours pairs that stand twice. Another sheet says
    what goes where, and a third, if there is need of it, has the labels that can be chosen.

    Parameters
    ----------
    path
        Where to write: a file that ends in ``.xlsx``.
    confidence
        How assessors say how sure they are: ``"level"``, ``"uncertainty"``, ``"confidence"``, or ``"none"`` not to ask.
    objects, assessors
        Labels to choose from, or how many to number: 3 gives O1, O2, O3, or A1, A2, A3.
    bounds
        The ends of the scale of scores.
    force
        Whether to replace a file that is there.

    Raises
    ------
    InputError
        If there is a file of that name, or an argument makes no sense.
    """
    check_target(path, known=(".xlsx",))
    refuse_filled(path, force=force)
    place = Path(path)
    if confidence not in (*_HOW_SURE, "none"):
        known = ", ".join(_HOW_SURE)
        raise bad_option(f"{confidence!r} is no form of confidence: use {known} or none.")
    if bounds is not None and not (all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]):
        raise bad_option("The ends of the scale must be two numbers, the lower one first.")
    lists = {"object": _labels("object", objects), "assessor": _labels("assessor", assessors)}
    listed = Sheet(_LISTS, [Column(side, labels) for side, labels in lists.items() if labels], has_filter=False)
    check_fits(listed)

    def write(file: Path) -> None:
        book = open_workbook(file)
        formats = Formats(book)
        _write_scores(book.add_worksheet("scores"), lists, confidence, bounds, formats)
        write_sheet(book.add_worksheet(INSTRUCTIONS), _instructions(confidence, bounds, place.name), formats)
        if listed.columns:
            write_sheet(book.add_worksheet(_LISTS), listed, formats)
        book.close()

    return write_whole({place: write})[0]


def refuse_filled(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse to replace a sheet that may have scores in it, unless that is asked for."""
    if Path(path).exists() and not force:
        message = (
            "There is a file of that name, perhaps with scores in it: choose another name, or replace it "
            f"({argument('force', True)})."
        )
        raise InputError(message, kind="cannot_write", where=str(path))


def _labels(side: str, given: int | Sequence[str]) -> list[str]:
    """Return labels, each once; a number of them is counted out."""
    if isinstance(given, str):
        raise bad_option(f"Give the {side}s as a list of labels, or as a number.")
    count = given if isinstance(given, int) else len(given)
    if not 0 <= count <= _MOST_LABELS:
        raise bad_option(f"A list can have 0 to {_MOST_LABELS:,} {side}s, not {count:,}.")
    if isinstance(given, int):
        return [f"{side[0].upper()}{number:0{len(str(count))}d}" for number in range(1, count + 1)]
    return list(dict.fromkeys(str(label) for label in given if str(label).strip()))


def _write_scores(
    sheet: Any, lists: dict[str, list[str]], confidence: Form, bounds: tuple[float, float] | None, formats: Formats
) -> None:
    """Write the headings, and say of each column what may be typed."""
    sheet.freeze_panes(1, 0)
    lay_out(sheet)
    names = ["object", "assessor", "score", *([] if confidence == "none" else [confidence])]
    for at, name in enumerate(names):
        sheet.write_string(0, at, name, formats.of_header(name))
    for at, (side, labels) in enumerate(lists.items()):
        width = max([20, *(text_width(label) + 2 for label in labels)])
        sheet.set_column(at, at, min(60, width), formats(num_format=_TEXT))  # so that 007 stays 007
        if labels:
            letter = "AB"[[name for name, found in lists.items() if found].index(side)]
            source = f"='{_LISTS}'!${letter}$2:${letter}${len(labels) + 1}"
            sheet.data_validation(1, at, _LAST, at, _check(side, validate="list", source=source, error_type="warning"))
    sheet.set_column(2, len(names) - 1, 14)
    sheet.data_validation(1, 2, _LAST, 2, score_check(bounds))
    if confidence != "none":
        sheet.data_validation(1, 3, _LAST, 3, confidence_check(confidence))
    ranges = [f"(${letter}$2:${letter}${_WATCHED + 1}=${letter}2)" for letter in "AB"]
    twice = f'=AND($A2<>"",$B2<>"",SUMPRODUCT({"*".join(ranges)})>1)'
    colour = formats(bg_color="#F8CBAD", font_color="#000000")
    sheet.conditional_format(1, 0, _WATCHED, 1, {"type": "formula", "criteria": twice, "format": colour})


_MESSAGES: Final = {
    "object": "This object is not on the sheet with lists. Is it written as it is there?",
    "assessor": "This assessor is not on the sheet with lists. Is the name written as it is there?",
    "level": "Write high, medium or low.",
    "uncertainty": "Write a number above 0: how far off the score may be, in points.",
    "confidence": "Write a number above 0: what the score weighs.",
}


def _check(name: str, **rule: Any) -> dict[str, Any]:
    """Return a rule for what may be typed into a column, with what to say to anything else."""
    return {**rule, "error_title": f"The {name}", "error_message": _MESSAGES[name]}


def confidence_check(confidence: Form) -> dict[str, Any]:
    """Return the check of how sure an assessor was: one of three levels, or a number above 0."""
    if confidence == "level":
        return _check("level", validate="list", source=["high", "medium", "low"])
    return _check(confidence, validate="decimal", criteria=">", value=0)


def score_check(bounds: tuple[float, float] | None) -> dict[str, Any]:
    """Return the check of scores: numbers, between the ends of the scale if there are any."""
    low, high = (-1e300, 1e300) if bounds is None else bounds
    between = "" if bounds is None else f" from {low:g} to {high:g}"
    return {
        "validate": "decimal",
        "criteria": "between",
        "minimum": f"{low!r}".upper(),
        "maximum": f"{high!r}".upper(),
        "error_title": "The score",
        "error_message": f"Write a number{between}, or leave the cell empty if it was not assessed.",
    }


def _instructions(confidence: Form, bounds: tuple[float, float] | None, file: str) -> Sheet:
    """Return what to write where, in plain words."""
    scale = "" if bounds is None else f" from {bounds[0]:g} to {bounds[1]:g}"
    middle = 64.0 if bounds is None else round(0.64 * bounds[1] + 0.36 * bounds[0])
    rows = [
        ("What this is for", "Fair values from a panel of assessors who do not all see the same objects.", None),
        (
            "The sheet scores",
            "One row for each score. Leave the headings as they are. Nothing on this sheet is read.",
            None,
        ),
        ("object", "What was judged: a proposal, a paper, a student. Write its label alike each time.", "P07"),
        ("assessor", "Who judged it. Write the name alike each time.", "Ana"),
        ("score", f"The score, a number{scale}. Leave it empty if it was not assessed.", f"{middle:g}"),
    ]
    if confidence != "none":
        rows.append((confidence, *_HOW_SURE[confidence]))
    typed = f'"{file}"' if " " in file else file
    rows += [
        ("Twice the same", "An assessor scores an object once. Rows that repeat a pair turn orange.", None),
        (
            "Who reads what",
            "Assessors can be compared only through objects that they share, directly or through others: give "
            "every object to two assessors or more, and mix who reads with whom.",
            None,
        ),
        ("When it is filled in", "Look whether it is sound and hangs together:", f"evenhand check {typed}"),
        ("Then", "Calibrate, and write the results to a workbook:", f"evenhand calibrate {typed} --out results.xlsx"),
    ]
    for form, (words, _) in _HOW_SURE.items():
        if form != confidence:
            again = f"evenhand template -o other.xlsx --confidence {form}"
            rows.append((f"To ask for {form}", f"{words} Another template asks for it:", again))
    about, texts, examples = zip(*rows, strict=True)
    columns = [Column("about", about), Column("what to do", texts, wrap=True), Column("example", examples)]
    return Sheet(INSTRUCTIONS, columns, has_filter=False)
