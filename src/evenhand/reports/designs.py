"""What people get of a design: its summary and sentences, sheets for the assessors, a blank score sheet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evenhand.design.change import Alternates, Changes
from evenhand.design.result import Design, ExpertDesign, Outlook, RandomDesigns
from evenhand.design.there import among
from evenhand.errors import EvenhandError, InputError, Problem
from evenhand.frames import records_of
from evenhand.io.results import write_tables, write_whole
from evenhand.io.sheets import Column, Formats, Sheet, check_fits, open_workbook, sheet_name, text_width, write_sheet
from evenhand.panel.confidence import Form
from evenhand.reports.design_record import describe_record, record_of
from evenhand.reports.summary import Summary, bridge_records, problem_records
from evenhand.reports.template import INSTRUCTIONS, confidence_check, score_check
from evenhand.words import called_some, count_of, is_or_are, name_some, quoted

_Pairs = Sequence[tuple[str, str]]
"""Who reads what: assessor, object."""

_BAD_IN_FILE_NAME = re.compile(r"[^\w.-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_LONGEST: Final = 80
_BLANK: Final = 14
"""Width of a column that is to be filled in."""
_WIDEST: Final = 50
"""Width of a column of titles; longer ones are folded."""
_TALL: Final = 21
"""Height of a row that may be filled in by hand."""
_LINE: Final = 14
"""Height that each further line adds to a row."""
_BOX: Final = {"width": 400, "height": 290, "font": {"size": 10}, "line": {"color": "#A6A6A6"}, "object_position": 3}
"""How the instructions beside a list look."""

_HOW_SURE: Final = {
    "level": "How sure you are of the score: high, medium or low. Surer scores weigh more.",
    "uncertainty": "How far off the score may be, in points. Choose it so that you would bet two to one on the score "
    "being right to within that many points.",
    "confidence": "What the score should weigh: a number above 0. A score of weight 2 counts as much as two of "
    "weight 1.",
}


def summarise_design(
    design: Design,
    outlook: Outlook | None = None,
    notes: Sequence[Problem] = (),
    *,
    changed: Changes | None = None,
    alternates: Alternates | None = None,
) -> Summary:
    """Return who assesses what and what to expect of it (``design --json``).

    Without an outlook the parts on chance, lost assessors, more and less work are empty. Where the design extends
    another or a panel, ``before`` has what stays of it would give alone; where it is ``changed``, ``since`` has what
    the earlier one would have given.
    """
    mu2, found = None, [*design.notes, *notes]
    try:
        mu2 = float(design.mu2)
    except EvenhandError as error:
        found.append(Problem("mu2", f"no spectral gap: {error}"))
    return {
        "assignments": records_of(design.columns()),
        "mu2": mu2,
        "mean_sd": design.mean_sd,
        "max_sd": design.max_sd,
        "mean_variance": design.mean_variance,
        "unit": "points" if design.task.in_points else "noise of one assessment",
        "before": None if design.earlier is None else _before(design, design.earlier),
        "since": None if changed is None else _since(changed),
        "changes": [] if changed is None else records_of(changed.columns()),
        "alternates": [] if alternates is None else records_of(alternates.columns()),
        "loads": design.loads,
        "objects": records_of(design.object_columns()),
        "assessors": records_of(design.assessor_columns()),
        "bridges": bridge_records(design.connectivity),
        "random": None if outlook is None else _random(outlook.chance, design.mean_variance),
        "by_expertise": None if outlook is None else _by_expertise(outlook.by_expertise, design.mean_variance),
        "lost": [] if outlook is None else records_of(outlook.lost_columns()),
        "by_readings": [] if outlook is None else records_of(outlook.step_columns()),
        "cost": design.cost,
        "mean_expertise": design.mean_expertise,
        "efficiency": design.efficiency,
        "balance": design.balance,
        "objective": design.aim.objective,
        "seed": design.seed,
        **record_of(design, priced=outlook is not None),
        "notes": problem_records(found),
    }


def _before(design: Design, earlier: _Pairs) -> Summary:
    """Return what stays gives before anything is added to it; no sds where not all of it can be compared."""
    there = replace(design, chosen=design.chosen & among(earlier, design.task))
    is_whole = bool(there.task.readings(there.chosen).all()) and there.connectivity.is_connected
    mean, most = (there.mean_sd, there.max_sd) if is_whole else (None, None)
    return {"assessments": there.n_assessments, "mean_sd": mean, "max_sd": most}


def _since(changed: Changes) -> Summary:
    """Return how many assessments came and went, for whom, and what the earlier ones would have given."""
    return {
        "assessments": len(changed.earlier),
        "kept": len(changed.earlier) - len(changed.removed),
        "added": len(changed.added),
        "removed": len(changed.removed),
        "moved": changed.moved,
        "mean_sd": changed.before.mean_sd,
        "max_sd": changed.before.max_sd,
        "assessors": records_of(changed.assessor_columns()),
        "objects": records_of(changed.object_columns()),
    }


def _random(chance: RandomDesigns, variance: float) -> Summary:
    """Return what chance would give, and by which share the mean variance of the design is lower."""
    found = {name: getattr(chance, name) for name in RandomDesigns.__slots__}
    mean = chance.mean_variance
    return {**found, "variance_lower_by": None if not mean else 1 - variance / mean}


def _by_expertise(other: ExpertDesign | None, variance: float) -> Summary | None:
    """Return what assigning for expertise alone would give, and by which share the mean variance is lower."""
    if other is None:
        return None
    found = {name: getattr(other, name) for name in ExpertDesign.__slots__}
    mean = other.mean_variance
    return {**found, "variance_lower_by": None if not mean else 1 - variance / mean}


def with_facts(summary: Summary) -> Summary:
    """Return the summary of a design for a workbook, which has a sheet of facts."""
    names = ("mean_sd", "max_sd", "mean_variance", "mu2", "efficiency", "balance", "cost", "mean_expertise")
    facts = {name: summary[name] for name in names if summary[name] is not None}
    if summary["random"] is not None:
        facts |= {f"random_{name}": summary["random"][name] for name in ("mean_sd", "max_sd", "mean_variance")}
    if summary["by_expertise"] is not None:
        shown = ("mean_expertise", "mean_sd", "max_sd", "mean_variance")
        facts |= {f"by_expertise_{name}": summary["by_expertise"][name] for name in shown}
    return {**summary, "fit": {**facts, "unit": summary["unit"]}}


def describe_design(summary: Summary) -> list[str]:
    """Return the summary in sentences, what decides first."""
    unit = "in points" if summary["unit"] == "points" else "in units of the noise of one assessment"
    readings = [record["assessments"] for record in summary["objects"]]
    loads = [load for load in summary["loads"].values() if load]
    idle = [assessor for assessor, load in summary["loads"].items() if not load]
    lines = [
        f"{count_of(sum(readings), 'assessment')}: {_range(readings)} of each of {count_of(len(readings), 'object')}, "
        f"{_range(loads)} by each of {count_of(len(loads), 'assessor')}."
    ]
    before, since = summary["before"], summary["since"]
    fixed = sum(bool(record.get("fixed")) for record in summary["assignments"])
    done = fixed if before is None else before["assessments"]
    if done:
        lines[0] = f"{lines[0][:-1]}; {done:,} of them {'were fixed' if before is None else 'are there already'}."
    if since is not None and since["removed"]:
        taken, moved = count_of(since["removed"], "assessment"), since["moved"]
        other = (
            "" if not moved else f", {'all' if moved == since['removed'] else f'{moved:,}'} of them passed to others"
        )
        lines.append(f"Beside the earlier design, {taken} {is_or_are(since['removed'])} taken back{other}.")
    if idle:
        lines.append(f"Without work: {called_some(idle, 'assessor', 8)}.")
    digits = 2 if summary["unit"] == "points" and summary["mean_sd"] >= 0.1 else 3
    mean, most = (f"{summary[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
    lines.append(f"Expected standard deviation of a value: {mean} on average, {most} at most, {unit}.")
    if since is not None and since["removed"] and since["mean_sd"] is not None:
        mean, most = (f"{since[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
        lines.append(f"Before the change: {mean} on average, {most} at most.")
    elif before is not None and before["mean_sd"] is None:
        lines.append("Without those to be added, not all values could be compared.")
    elif before is not None:
        mean, most = (f"{before[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
        lines.append(f"Without those to be added: {mean} on average, {most} at most.")
    lines.append(_holds(summary))
    if summary["mean_expertise"] is not None:
        lines.append(f"Mean expertise of the pairs: {summary['mean_expertise']:.2f}, from 0 (none) to 1.")
    lines += describe_record(summary)
    if summary["cost"] != sum(readings):
        lines.append(f"Cost of all assessments: {summary['cost']:,.6g}.")
    if summary["random"] is not None:
        lines.append(_beside_chance(summary["random"], digits))
    if summary["by_expertise"] is not None:
        lines.append(_beside_experts(summary["by_expertise"], digits))
    if summary["lost"]:
        lines.append(_without(summary["lost"][0], digits))
    return lines


def _range(counts: Sequence[int]) -> str:
    few, many = min(counts, default=0), max(counts, default=0)
    return f"{few:,}" if few == many else f"{few:,} to {many:,}"


def _holds(summary: Summary) -> str:
    if sum(load > 0 for load in summary["loads"].values()) == 1:
        return "One assessor reads everything: there are no standards to compare, and nobody to check them."
    gap = "" if summary["mu2"] is None else f" (spectral gap {summary['mu2']:.2f}; 1 is best, 0 is disconnected)"
    bridges = [f"{quoted(one['assessor'])} on {quoted(one['object'])}" for one in summary["bridges"]]
    if not bridges:
        return f"Connected: all assessors can be compared{gap}, and no comparison hangs on a single assessment."
    hang = "one comparison hangs" if len(bridges) == 1 else f"{len(bridges):,} comparisons hang"
    each = "" if len(bridges) == 1 else " each"
    start = f"Connected: all assessors can be compared{gap}, but {hang} on a single assessment{each}: "
    return f"{start}{name_some(bridges, 5)}."


def _beside_chance(random: Summary, digits: int) -> str:
    if random["mean_sd"] is None:
        return f"Assigned at random, none of {random['count']} designs would have hung together."
    lower = random["variance_lower_by"]
    words = f"{100 * abs(lower):.1f}% {'lower' if lower >= 0 else 'higher'} than assigned at random"
    if abs(lower) < 0.0005:
        words = "the same as assigned at random"
    apart = random["count"] - random["connected"]
    fell = f", {apart} of which would not have hung together" if apart else ""
    sd = f"standard deviation {random['mean_sd']:.{digits}f}"
    return f"Mean variance of a value: {words} ({sd}; {random['count']} designs{fell})."


def _beside_experts(other: Summary, digits: int) -> str:
    expertise = f"mean expertise {other['mean_expertise']:.2f}"
    if other["mean_sd"] is None:
        return f"Assigned for expertise alone ({expertise}), it would fall into {other['parts']} parts."
    lower = other["variance_lower_by"]
    words = f"{100 * abs(lower):.1f}% {'lower' if lower >= 0 else 'higher'} than assigned for expertise alone"
    if abs(lower) < 0.0005:
        words = "the same as assigned for expertise alone"
    return f"Mean variance of a value: {words} (standard deviation {other['mean_sd']:.{digits}f}, {expertise})."


def _without(lost: Summary, digits: int) -> str:
    start = f"Losing one assessor would cost most if it were {quoted(lost['assessor'])}: "
    said = []
    if lost["unread"]:
        nobody = "object would have no reader" if lost["unread"] == 1 else "objects would have no reader"
        said.append(f"{lost['unread']:,} {nobody}")
    if lost["parts"] > 1:
        said.append(f"the panel would fall into {lost['parts']} groups")
    if lost["mean_sd"] is not None:
        mean, most = (f"{lost[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
        said.append(f"standard deviation {mean} on average, {most} at most")
    return start + "; ".join(said or ["nothing would be left"]) + "."


def write_score_sheet(
    path: str | os.PathLike[str], design: Design, pairs: _Pairs, *, confidence: Form = "level"
) -> list[Path]:
    """Write a score sheet with a row for each pair and nothing scored; filled in, it is a panel."""
    if Path(path).suffix.lower() == ".xlsx":
        return write_whole({Path(path): lambda file: _write_book(file, design, {"scores": pairs}, confidence)})
    table: dict[str, list[Any]] = {**_filled(design, pairs)}
    blank: list[Any] = [None] * len(pairs)
    table["score"] = blank
    if confidence != "none":
        table[confidence] = blank
    return write_tables(path, {"scores": table})


def sheet_places(folder: Path, assessors: Sequence[str]) -> dict[str, Path]:
    """Return the workbook of each assessor in a directory, under a name that every system takes.

    Examples
    --------
    >>> [place.name for place in sheet_places(Path("."), ["Ana", "ana", "../x", "con"]).values()]
    ['Ana.xlsx', 'ana-2.xlsx', 'x.xlsx', '_con.xlsx']
    """
    used: set[str] = set()
    places = {}
    for label in assessors:
        base = _BAD_IN_FILE_NAME.sub("-", label).strip(".-")[:_LONGEST] or "assessor"
        base = f"_{base}" if _RESERVED.match(base) else base
        chosen, number = base, 2
        while chosen.casefold() in used:
            chosen, number = f"{base}-{number}", number + 1
        used.add(chosen.casefold())
        places[label] = folder / f"{chosen}.xlsx"
    return places


def write_assessor_sheets(
    path: str | os.PathLike[str],
    design: Design,
    pairs: _Pairs,
    *,
    confidence: Form = "level",
    removed: _Pairs = (),
    alternates: Alternates | None = None,
) -> list[Path]:
    """Write for each assessor what there is to read, with cells for scores: a workbook each, or one with a sheet each.

    The path is a file that ends in ``.xlsx``, or a directory, which is made if need be. The names of files do not
    depend on who has any work. Beside the list each assessor is told what was ``removed`` from it, also where nothing
    else is on it, and where they are among the ``alternates``.
    """
    place = Path(path)
    by_assessor: dict[str, list[tuple[str, str]]] = {}
    for assessor, label in pairs:
        by_assessor.setdefault(assessor, []).append((assessor, label))
    for assessor in dict.fromkeys(assessor for assessor, _ in removed if assessor in design.task.assessors):
        by_assessor.setdefault(assessor, [])  # who has nothing new, and less than before
    told = _told(by_assessor, removed, alternates)
    if place.suffix.lower() == ".xlsx":
        return write_whole({place: lambda file: _write_book(file, design, by_assessor, confidence, told)})
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        message = f"The directory cannot be made ({error.strerror or error}): choose another place."
        raise InputError(message, kind="cannot_write", where=str(place)) from None
    jobs: dict[Path, Callable[[Path], None]] = {}
    files = sheet_places(place, design.task.assessors)
    for assessor, own in by_assessor.items():
        jobs[files[assessor]] = lambda file, assessor=assessor, own=own: _write_book(  # type: ignore[misc]
            file, design, {assessor: own}, confidence, told
        )
    return write_whole(jobs)


def _told(assessors: Iterable[str], removed: _Pairs, alternates: Alternates | None) -> dict[str, list[tuple[str, str]]]:
    """Return what else each assessor is told beside the list."""
    told: dict[str, list[tuple[str, str]]] = {}
    spare = () if alternates is None else zip(alternates.assessor, alternates.object, strict=True)
    texts = (
        (list(removed), "No longer on your list", "You need not assess {}: others will."),
        (list(spare), "In reserve", "You may be asked for {} if another reader drops out."),
    )
    for assessor in assessors:
        for pairs, about, text in texts:
            labels = [label for who, label in pairs if who == assessor]
            if labels:
                told.setdefault(assessor, []).append((about, text.format(", ".join(labels))))
    return told


def _filled(design: Design, pairs: _Pairs) -> dict[str, list[str | None]]:
    """Return the columns that are known before anybody has scored."""
    return design.pair_columns([label for _, label in pairs], [assessor for assessor, _ in pairs])


def _write_book(
    file: Path,
    design: Design,
    by_sheet: Mapping[str, _Pairs],
    confidence: Form,
    told: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> None:
    """Write a workbook with a sheet for each list of pairs, and one that says what goes where."""
    sheets = []
    blank = [Column("score"), *([] if confidence == "none" else [Column(confidence)])]
    for name, pairs in by_sheet.items():
        columns = [Column(heading, cells, wrap=heading == "title") for heading, cells in _filled(design, pairs).items()]
        sheets.append(Sheet(name, [*columns, *blank], has_filter=False))
        check_fits(sheets[-1])
    book = open_workbook(file)
    formats = Formats(book)
    used = {INSTRUCTIONS}
    said = _instructions(confidence)
    for sheet in sheets:
        made = book.add_worksheet(sheet_name(sheet.name, used))
        write_sheet(made, sheet, formats)
        _make_room(made, sheet, len(blank), confidence, formats)
        own = [*(told or {}).get(sheet.name, ()), *said]
        made.insert_textbox(0, len(sheet.columns) + 1, "\n\n".join(f"{about}: {text}" for about, text in own), _BOX)
    about, texts = zip(*said, strict=True)
    instructions = Sheet(INSTRUCTIONS, [Column("about", about), Column("note", texts, wrap=True)], has_filter=False)
    write_sheet(book.add_worksheet(INSTRUCTIONS), instructions, formats)
    book.close()


def _make_room(made: Any, sheet: Sheet, blank: int, confidence: Form, formats: Formats) -> None:
    """Frame the cells of the last columns, which are to be filled in, and check what is typed there."""
    rows, first = len(sheet.columns[0].cells), len(sheet.columns) - blank
    frame = formats(border=1, border_color="#A6A6A6")
    lines = [1] * rows
    for at, column in enumerate(sheet.columns):
        if column.wrap:
            widths = [text_width(str(cell or "")) for cell in column.cells]
            made.set_column(at, at, min(_WIDEST, max([_BLANK, *widths]) + 2))
            lines = [max(1, -(-width // (_WIDEST - 4))) for width in widths]
    for row, count in enumerate(lines, 1):
        made.set_row(row, _TALL + _LINE * (min(count, 20) - 1))
    for at in range(first, len(sheet.columns)):
        made.set_column(at, at, _BLANK)
        made.write_string(0, at, sheet.columns[at].name, formats.of_header(sheet.columns[at].name))
        for row in range(1, rows + 1):
            made.write_blank(row, at, None, frame)
    if not rows:
        return
    made.data_validation(1, first, rows, first, score_check(None))
    if confidence != "none":
        made.data_validation(1, first + 1, rows, first + 1, confidence_check(confidence))


def _instructions(confidence: Form) -> list[tuple[str, str]]:
    """Return what assessors are asked to do, in plain words."""
    return [
        (
            "What to do",
            "Read each object on your list and write a score beside it. Leave the other columns as they are.",
        ),
        ("score", "Your score, a number on the scale of the panel. Leave it empty if you could not assess the object."),
        *([] if confidence == "none" else [(confidence, _HOW_SURE[confidence])]),
        (
            "Your own standard",
            "Score as you find right and use the same standard throughout: how strict each assessor is will be worked "
            "out from objects that several assessors read, and taken out.",
        ),
        (
            "Who reads what",
            "The list was made so that assessors can be compared. Please do not swap objects with others; if one must "
            "not be yours, a conflict of interest say, tell the chair.",
        ),
    ]
