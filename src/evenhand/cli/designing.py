"""``evenhand design``: who should read what, before the scores come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand.cli.design_options import (
    aim_options,
    expected_options,
    handout_options,
    load_options,
    who_options,
    work_options,
)
from evenhand.cli.group import EvenhandCommand
from evenhand.cli.options import Output, output_options, rows_option, typed_options

if TYPE_CHECKING:
    from evenhand.design.inputs import Members
    from evenhand.design.result import Design
    from evenhand.errors import Problem
    from evenhand.panel.confidence import Form

TABLES: Final = ("assignments", "objects", "assessors", "lost", "by_readings")

_NOT_WITH_EXTEND: Final = (
    *("objects", "assessors", "per_object", "min_load", "fixed", "linking", "expertise", "only_listed"),
    *("expertise_weight", "target_sd", "factor"),
)
_INPUTS: Final = ("objects", "assessors", "conflicts", "fixed", "expertise", "uncertainty", "extend")
_PICTURES: Final = (".svg", ".png", ".pdf", ".html")


@dataclass(frozen=True, slots=True)
class _Handouts:
    """Files that go to others: where, and in which form."""

    sheets: Path | None
    score_sheet: Path | None
    confidence: Form
    hotcrp: Path | None
    hotcrp_action: str
    picture: Path | None
    force: bool

    @property
    def places(self) -> list[Path]:
        """All of them that were asked for."""
        return [one for one in (self.sheets, self.score_sheet, self.hotcrp, self.picture) if one is not None]


@click.command(
    cls=EvenhandCommand,
    epilog="Example: evenhand design --objects proposals.csv --assessors panel.csv --per-object 3 "
    "--conflicts conflicts.csv --sheets sheets.xlsx",
)
@who_options
@load_options
@expected_options
@aim_options
@work_options
@handout_options
@rows_option(40)
@output_options(*TABLES)
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error how the work is done, and why.")
def design(
    no_outlook: bool,
    rows: int,
    output: Output,
    verbose: bool,
    extend: Path | None,
    add: int | None,
    sheets: Path | None,
    score_sheet: Path | None,
    confidence: Form,
    hotcrp: Path | None,
    hotcrp_action: str,
    picture: Path | None,
    force: bool,
    **asked: Any,
) -> None:
    """Say who should read what, so that calibrated values will be as precise as they can be.

    How sure values will be depends on who reads what, and is known before anyone has scored. Loads, conflicts and fixed
    pairs are kept, and all assessors stay comparable; what cannot be had is said, with the smallest cause found (exit
    code 1).

    A first look needs no file: evenhand design --objects 40 --assessors 11 --per-object 3. With --uncertainty 8,
    expected standard deviations are in points. With --target-sd 4 besides, it finds how few assessments will do.

    When a first round of scores is in, evenhand design --extend scores.csv --add 20 says where further assessments
    would help most. Sheets and files for HotCRP then have only these.
    """
    from evenhand.cli import terminal
    from evenhand.cli.showing import shown
    from evenhand.reports.designs import summarise_design, with_facts

    out = _Handouts(sheets, score_sheet, confidence, hotcrp, hotcrp_action, picture, force)
    _check_options(extend, add, asked)
    _check_places(out, output)
    with shown(verbose=verbose):
        if extend is not None and add is not None:
            found, titles = _extended(extend, add, out, asked)
        else:
            found, titles = _assigned(out, asked)
        ahead, notes = _outlook(found, wanted=not no_outlook)
        pairs = _pairs(found, only_new=extend is not None)
        if hotcrp is not None:
            from evenhand.reports.handouts import not_numbers

            notes += not_numbers(found.task.objects)
        written = _hand_out(out, found, pairs, titles)
        summary = summarise_design(found, ahead, notes, extends=extend is not None)

        def show(shown: dict[str, Any]) -> None:
            from evenhand.cli.design_tables import show_design

            show_design(shown, rows, only_new=extend is not None)

        output.give(summary, show, lambda: with_facts(summary), written)
        if score_sheet is not None and not output.as_json:
            typed = f'"{score_sheet}"' if " " in str(score_sheet) else score_sheet
            terminal.show_next_step(f"Once the scores are filled in, try: evenhand calibrate {typed}")


def _check_options(extend: Path | None, add: int | None, asked: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    if (extend is None) != (add is None):
        raise click.UsageError("--extend FILE and --add N go together: which scores, and how many to add.")
    if extend is not None:
        for option in typed_options(_NOT_WITH_EXTEND):
            raise click.UsageError(f"{option} has no meaning with --extend: leave it out.")
        if asked["uncertainty"] is not None and _as_number(asked["uncertainty"]) is None:
            raise click.UsageError("--uncertainty takes a number with --extend.")
    else:
        for name in ("objects", "assessors"):
            if asked[name] is None:
                raise click.UsageError(f"--{name} is missing: give a file with a column {name[:-1]}, or how many.")
    if asked["uncertainty"] is not None and _as_number(asked["uncertainty"]) is None and asked["expertise"] is not None:
        raise click.UsageError("--uncertainty FILE and --expertise FILE say the same thing: leave one of the two out.")
    if asked["objective"] != "top":
        for option in typed_options(("top", "value_sd")):
            raise click.UsageError(f"{option} goes with --objective top.")
    elif asked["top"] is None or asked["value_sd"] is None:
        raise click.UsageError("--objective top needs --top K, the places, and --value-sd SD, how far values spread.")
    if not click.get_current_context().params.get("hotcrp"):
        for option in typed_options(("hotcrp_action",)):
            raise click.UsageError(f"{option} goes with --hotcrp FILE.csv.")


def _check_places(out: _Handouts, output: Output) -> None:
    """Refuse, before any work is done, files that cannot or must not be written."""
    from evenhand.errors import InputError
    from evenhand.io.results import check_target, targets_of

    inputs = _inputs()
    if output.out is not None:
        check_target(output.out, output.tables, inputs)
    for place, known in (
        (out.score_sheet, (".csv", ".tsv", ".xlsx")),
        (out.hotcrp, (".csv",)),
        (out.picture, _PICTURES),
    ):
        if place is not None:
            check_target(place, protected=inputs, known=known)
    if out.sheets is not None:
        _check_sheets(out.sheets, inputs)
    for place in (out.score_sheet, out.sheets if out.sheets is not None and out.sheets.suffix else None):
        if place is not None and not place.is_dir():
            refuse_filled(place, force=out.force)
    tables = [] if output.out is None else targets_of(output.out, [*output.tables, "notes"])
    places = [place.resolve() for place in (*tables, *out.places)]
    same = [place for at, place in enumerate(places) if place in places[:at]]
    if same:
        message = "Two files would be written to the same place: give each its own name."
        raise InputError(message, kind="cannot_write", where=str(same[0]))
    if out.picture is not None:
        import evenhand.plots  # noqa: F401  # says what is missing before the work


def _inputs() -> list[str]:
    """Return the files that are read, none of which may be written to."""
    given = click.get_current_context().params
    named = [str(given[name]) for name in _INPUTS if given.get(name) is not None]
    return [one for one in named if Path(one).exists()]


def _check_sheets(place: Path, inputs: Sequence[str]) -> None:
    from evenhand.errors import InputError
    from evenhand.io.results import check_target

    if place.suffix.lower() == ".xlsx":
        check_target(place, protected=inputs, known=(".xlsx",))
    elif place.suffix.lower() in (".csv", ".tsv", ".xls", ".xlsm", ".ods", ".parquet", ".json", ".pdf", ".html"):
        message = "Sheets are written to a directory, or to a workbook that ends in .xlsx: name one of these."
        raise InputError(message, kind="unknown_format", where=str(place))
    elif place.exists() and not place.is_dir():
        raise InputError("There is a file of that name: choose another.", kind="cannot_write", where=str(place))
    elif not place.resolve().parent.is_dir():
        message = f"There is no directory {place.parent}: make it first."
        raise InputError(message, kind="cannot_write", where=str(place))


def refuse_filled(place: Path, *, force: bool) -> None:
    """Refuse to replace a sheet that may have scores in it."""
    from evenhand.errors import InputError

    if place.exists() and not force:
        message = (
            "There is a file of that name, perhaps with scores in it: choose another name, or replace it (--force)."
        )
        raise InputError(message, kind="cannot_write", where=str(place))


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _members(given: str, side: Any) -> Members:
    from evenhand.io.designs import numbered, read_members

    return numbered(int(given), side) if given.isdecimal() and given.isascii() else read_members(given, side)


def _assigned(out: _Handouts, asked: dict[str, Any]) -> tuple[Design, dict[str, str]]:
    """Return a new design, and the titles of objects, where their file has them."""
    from evenhand.design.assign import assign
    from evenhand.io.designs import read_design_pairs, read_expected

    objects, assessors = _members(asked["objects"], "object"), _members(asked["assessors"], "assessor")
    addresses = assessors.columns.get("email")
    _check_labels(out, assessors.labels, addresses)
    pairs: dict[str, Any] = {
        name: [] if asked[name] is None else read_design_pairs(asked[name], objects, assessors, words)
        for name, words in (("conflicts", "conflicts"), ("fixed", "fixed pairs"))
    }
    known: dict[str, Any] = {}
    if asked["expertise"] is not None:
        known["expertise"] = read_expected(asked["expertise"], objects, assessors, factor=asked["factor"])
    if asked["uncertainty"] is not None:
        number = _as_number(asked["uncertainty"])
        known["uncertainty"] = (
            read_expected(asked["uncertainty"], objects, assessors, form="uncertainty", factor=asked["factor"])
            if number is None
            else number
        )
    same = ("per_object", "min_load", "max_load", "linking", "only_listed", "expertise_weight", "target_sd", "factor")
    found = assign(objects, assessors, **pairs, **known, **{name: asked[name] for name in same}, **_aim(asked))
    titles = zip(objects.labels, objects.columns.get("title", ()), strict=False)
    return found, {label: str(title) for label, title in titles if title is not None}


def _extended(panel: Path, count: int, out: _Handouts, asked: dict[str, Any]) -> tuple[Design, dict[str, str]]:
    """Return a panel's design with further assessments."""
    from evenhand.design.assign import extend
    from evenhand.design.inputs import Members
    from evenhand.io import read_panel
    from evenhand.io.designs import read_design_pairs

    there = read_panel(panel)
    _check_labels(out, there.assessors, None)
    conflicts = []
    if asked["conflicts"] is not None:
        sides = Members("object", tuple(there.objects), {}), Members("assessor", tuple(there.assessors), {})
        conflicts = read_design_pairs(asked["conflicts"], *sides, "conflicts")
    sure = None if asked["uncertainty"] is None else float(asked["uncertainty"])
    found = extend(there, count, max_load=asked["max_load"], conflicts=conflicts, uncertainty=sure, **_aim(asked))
    return found, {}


def _aim(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in ("objective", "top", "value_sd", "seed", "effort", "time_limit")}


def _check_labels(out: _Handouts, labels: Sequence[str], emails: Sequence[Any] | None) -> None:
    """Refuse, before the search, assessors whom HotCRP could not find, and sheets of theirs that are there already."""
    from evenhand.io.results import check_target
    from evenhand.reports.handouts import addresses_of, sheet_places

    if out.sheets is not None and out.sheets.suffix.lower() != ".xlsx":
        for place in sheet_places(out.sheets, labels).values():
            refuse_filled(place, force=out.force)
            if out.sheets.is_dir():
                check_target(place, protected=_inputs(), known=(".xlsx",))
    if out.hotcrp is not None:
        listed = zip(labels, emails or (), strict=False)
        addresses_of(labels, {label: str(email) for label, email in listed if email is not None})


def _outlook(found: Design, *, wanted: bool) -> tuple[Any, list[Problem]]:
    """Return what to expect beyond the design itself, and a note where it is too large for that."""
    from evenhand.design.outlook import outlook
    from evenhand.errors import Problem

    if not wanted:
        return None, []
    ahead = outlook(found)
    if ahead is not None:
        return ahead, []
    words = "the panel is too large to say what chance, a lost assessor, or more and less work would give."
    return None, [Problem("too_large", words)]


def _pairs(found: Design, *, only_new: bool) -> list[tuple[str, str]]:
    """Return who is to read what: all pairs, or those that were added to a panel."""
    columns = found.columns()
    fixed = columns.get("fixed", [False] * len(columns["object"]))
    rows = zip(columns["assessor"], columns["object"], fixed, strict=True)
    return [(assessor, label) for assessor, label, is_fixed in rows if not (only_new and is_fixed)]


def _hand_out(out: _Handouts, found: Design, pairs: Sequence[tuple[str, str]], titles: dict[str, str]) -> list[Path]:
    """Write what is to be handed out, and return the files."""
    from evenhand.reports import handouts

    written: list[Path] = []
    if out.sheets is not None:
        labels = found.task.assessors
        handouts.write_assessor_sheets(out.sheets, pairs, labels, titles=titles, confidence=out.confidence)
        written.append(out.sheets)
    if out.score_sheet is not None:
        sheet = handouts.write_score_sheet(out.score_sheet, pairs, titles=titles, confidence=out.confidence)
        written += sheet
    if out.hotcrp is not None:
        addresses = handouts.addresses_of(list(found.task.assessors), found.emails)
        written.append(handouts.write_hotcrp(out.hotcrp, pairs, addresses, out.hotcrp_action))
    if out.picture is not None:
        from evenhand import plots

        plots.save(plots.design(found), out.picture)
        written.append(out.picture)
    return written
