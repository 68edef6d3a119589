"""What a person sees of studies, plans and reproductions: tables like the paper's, and a name for each difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from evenhand.cli.writing import add_row, make_table, number_text, open_console, printable, say, show_notes

if TYPE_CHECKING:
    from rich.console import Console

Summary = dict[str, Any]

_METHODS: Final = ("sa", "iba", "cwc")
_MARKS: Final = {"agrees": "", "cut off": "‡", "known": "†", "differs": "*", "not compared": ""}
_DIGITS: Final = {"table 2": (1, 2), "table 3": (1, 2), "table 4": (0, 1), "table 5": (0, 2), "table 6": (1, 2)}
"""Decimals of the paper's number and of ours; those of figures below, or two."""
_FIGURE_DIGITS: Final = {"figure 1": (4, 4), "figure 4": (3, 3), "figure 5": (4, 4)}
_TITLES: Final = {
    "table 2": "Table 2: the ten best by each method",
    "table 3": "Table 3: assessors",
    "table 4": "Table 4: residuals",
    "table 5": "Table 5: log-evidences",
    "table 6": "Table 6: uncertainties",
    "figure 1": "Figure 1: spectral gaps of three graphs",
    "figure 2": "Figure 2: mean errors of values",
    "figure 3": "Figure 3: largest errors of values",
    "figure 4": "Figure 4: errors of calibration over those of averages",
    "figure 5": "Figure 5: correlation of values by different methods",
    "errors of biases": "Errors of biases, which the paper describes and does not draw",
}
_FEW: Final = 5
"""Differences of one name that are listed one by one."""


def show_study(summary: Summary) -> None:
    """Print the errors of the methods by profile and assessors per object."""
    console = open_console()
    setting = summary["setting"]
    say(
        console,
        f"{setting['objects']:,} objects, {setting['assessors']:,} assessors, {summary['runs']:,} simulated "
        f"panel{'' if summary['runs'] == 1 else 's'} for each row, seed {summary['seed']}. Errors in points; "
        "a profile says how often each uncertainty occurs.",
    )
    names = [method.upper() for method in _METHODS]
    columns = ["profile", "per object", *(f"mean {name}" for name in names)]
    table = make_table([*columns, *(f"largest {name}" for name in names)], text=("profile",))
    cells = {(one["profile"], one["per_object"], one["method"]): one for one in summary["cells"]}
    for profile, per_object in dict.fromkeys((one["profile"], one["per_object"]) for one in summary["cells"]):
        found = [cells[profile, per_object, method] for method in _METHODS]
        texts = [number_text(one[key]) for key in ("value_mean_error", "value_max_error") for one in found]
        add_row(table, profile, str(per_object), *texts)
    console.print(table)
    errors = [
        max((one[f"{key}_se"] for one in summary["cells"] if one[f"{key}_se"] is not None), default=None)
        for key in ("value_mean_error", "value_max_error")
    ]
    if errors[0] is not None:
        mean, largest = (number_text(error) for error in errors)
        say(console, f"Standard errors: up to {mean} for mean errors, up to {largest} for largest errors.")
    _say_figures(console, summary)


def show_plans(summary: Summary, setting: str) -> None:
    """Print what the plan is for, what each number of assessors per object gives, and the answer for each profile."""
    console = open_console()
    say(console, setting)
    table = make_table(
        ["profile", "per object", "sd", "sd of plain averages", "objects per assessor"],
        text=("profile",),
    )
    for step in summary["steps"]:
        numbers = (number_text(step["sd"]), number_text(step["sd_averages"]), f"{step['load']:,.0f}")
        add_row(table, step["profile"], str(step["per_object"]), *numbers)
    console.print(table)
    for one in summary["plans"]:
        say(console, f"{one['profile']}: {one['words']}" if len(summary["plans"]) > 1 else one["words"])


def show_reproductions(summary: Summary) -> None:
    """Print the paper's tables beside ours, the differences by name, and a count of both."""
    console = open_console()
    for part in summary["parts"]:
        mine = [one for one in summary["numbers"] if one["part"] == part["part"]]
        say(console, part["source"])
        console.print()
        for place in dict.fromkeys(one["place"] for one in mine):
            _show_place(console, place, [one for one in mine if one["place"] == place])
        for remark in part["remarks"]:
            say(console, printable(remark))
        compared = len(mine) - part["not_compared"]
        if compared:
            agreeing = part["agrees"]
            say(
                console,
                f"{agreeing:,} of {compared:,} numbers agree, {part['cut_off']:,} were cut off, {part['known']:,} are "
                f"known to differ, {part['differs']:,} differ without a name.",
            )
        console.print()
    _say_figures(console, summary)
    show_notes(console, summary["notes"])


def _show_place(console: Console, place: str, found: list[Summary]) -> None:
    """Print one table or figure: for each column, the paper's number and ours."""
    say(console, _TITLES.get(place, place))
    columns = list(dict.fromkeys(one["column"] for one in found))
    has_printed = any(one["printed"] is not None for one in found)
    heads = [head for name in columns for head in ((name, "ours") if has_printed else (name,))]
    table = make_table(["", *heads], text=("",))
    in_paper, in_ours = {**_DIGITS, **_FIGURE_DIGITS}.get(place, (2, 2))
    by_cell = {(one["row"], one["column"]): one for one in found}
    for row in dict.fromkeys(one["row"] for one in found):
        cells = []
        for column in columns:
            one = by_cell.get((row, column))
            if one is None:
                cells += [""] * (2 if has_printed else 1)
                continue
            label = f"{one['label']} " if one["label"] else ""
            if has_printed:
                cells.append(label + number_text(one["printed"], digits=in_paper))
            cells.append(number_text(one["ours"], digits=in_ours) + _MARKS[one["verdict"]])
        add_row(table, row, *cells)
    console.print(table)
    for line in _differences(found, in_paper, in_ours):
        say(console, printable(line))
    console.print()


def _differences(found: list[Summary], in_paper: int, in_ours: int) -> Iterable[str]:
    """Yield a sentence for each difference, or one for many of the same name."""
    odd = [one for one in found if one["verdict"] not in ("agrees", "not compared")]
    for one in odd:
        if one["verdict"] == "differs":  # each has its own note, and they stand in the order of the table
            printed, ours = number_text(one["printed"], digits=in_paper), number_text(one["ours"], digits=in_ours)
            reason = one["note"] or "not explained"
            yield f"{_MARKS['differs']} {one['row']}, {one['column']}: {printed} printed, {ours} ours: {reason}."
    odd = [one for one in odd if one["verdict"] != "differs"]
    for verdict, note in dict.fromkeys((one["verdict"], one["note"]) for one in odd):
        alike = [one for one in odd if (one["verdict"], one["note"]) == (verdict, note)]
        mark, reason = _MARKS[verdict], note
        if len(alike) > _FEW:
            yield f"{mark} {len(alike)} numbers: {reason}."
            continue
        for one in alike:
            printed = number_text(one["printed"], digits=in_paper)
            ours = number_text(one["ours"], digits=in_ours)
            yield f"{mark} {one['row']}, {one['column']}: {printed} printed, {ours} ours: {reason}."


def _say_figures(console: Console, summary: Summary) -> None:
    if summary["figures"]:
        say(console, f"Drawn: {', '.join(printable(path) for path in summary['figures'])}.")
