"""What a person sees of a design: what decides, how more or less work would do, and who reads what."""

from __future__ import annotations

from typing import Any

from evenhand.cli.writing import (
    add_row,
    make_table,
    number_text,
    open_console,
    printable,
    say,
    say_left_out,
    show_notes,
)

Summary = dict[str, Any]


def show_design(summary: Summary, rows: int, *, only_new: bool = False) -> None:
    """Print a design.

    Parameters
    ----------
    summary
        The summary of the design.
    rows
        Rows of the table of assignments; 0 for all.
    only_new
        Whether only pairs are listed that were added to a panel.
    """
    from evenhand.reports.designs import describe_design

    console = open_console()
    for sentence in describe_design(summary):
        say(console, printable(sentence))
    if summary["by_readings"]:
        say(console, "With more or less work (quickly searched):")
        table = make_table(["per object", "assessments", "mean sd", "largest sd", ""], text=("",))
        now = sum(record["assessments"] for record in summary["objects"])
        for step in summary["by_readings"]:
            sds = [number_text(step[name], digits=3) for name in ("mean_sd", "max_sd")]
            words = "not connected" if step["mean_sd"] is None else "this design" if step["assessments"] == now else ""
            add_row(table, f"{step['per_object']:.4g}", f"{step['assessments']:,}", *sds, words)
        console.print(table)
    listed: dict[str, list[str]] = {}
    for record in summary["assignments"]:
        if not (only_new and record.get("fixed")):
            listed.setdefault(record["assessor"], []).append(record["object"])
    say(console, "To be added:" if only_new else "Who reads what:")
    table = make_table(["assessor", "objects", "labels"], text=("assessor", "labels"))
    limit = len(listed) if rows == 0 else rows
    for assessor, objects in list(listed.items())[:limit]:
        add_row(table, printable(assessor), f"{len(objects):,}", printable(", ".join(objects)))
    console.print(table)
    say_left_out(console, len(listed) - limit, "assessor")
    show_notes(console, summary["notes"])
