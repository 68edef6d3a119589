"""A design in words and numbers: the one summary, which the terminal, JSON and files read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from evenhand.design.outlook import Outlook, RandomDesigns
from evenhand.design.result import Design
from evenhand.errors import EvenhandError, Problem
from evenhand.frames import records_of
from evenhand.reports.summary import Summary
from evenhand.words import count_of, name_some

TABLES: Final = ("assignments", "objects", "assessors", "lost", "by_readings")
"""The tables of a summary, the main one first."""


def summarise_design(
    design: Design, outlook: Outlook | None = None, notes: Sequence[Problem] = (), *, extends: bool = False
) -> Summary:
    """Return who assesses what and what to expect of it (``design --json``).

    Parameters
    ----------
    design
        The design.
    outlook
        What is known of chance, lost assessors, more and less work; without it these parts are empty.
    notes
        What else a user should know.
    extends
        Whether the design extends a panel, whose pairs are its fixed ones: then what they alone would give is told.
    """
    parts = design.connectivity
    panel, mu2, found = design.panel, None, [*design.notes, *notes]
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
        "before": _before(design) if extends else None,
        "loads": design.loads,
        "objects": records_of(design.object_columns()),
        "assessors": records_of(design.assessor_columns()),
        "bridges": [
            {
                "assessor": panel.assessors[int(panel.assessor_index[at])],
                "object": panel.objects[int(panel.object_index[at])],
            }
            for at in parts.bridges
        ],
        "random": None if outlook is None else _random(outlook.chance, design.mean_variance),
        "lost": [] if outlook is None else records_of(outlook.lost_columns()),
        "by_readings": [] if outlook is None else records_of(outlook.step_columns()),
        "cost": design.cost,
        "mean_expertise": design.mean_expertise,
        "efficiency": design.efficiency,
        "objective": design.aim.objective,
        "seed": design.seed,
        "notes": [{"kind": note.kind, "message": note.message, "where": note.where} for note in found],
    }


def _before(design: Design) -> Summary:
    """Return what a panel gives before anything is added to it; None where not all of it can be compared."""
    there = replace(design, chosen=design.task.fixed)
    if not there.connectivity.is_connected:
        return {"assessments": there.n_assessments, "mean_sd": None, "max_sd": None}
    return {"assessments": there.n_assessments, "mean_sd": there.mean_sd, "max_sd": there.max_sd}


def _random(chance: RandomDesigns, variance: float) -> Summary:
    """Return what chance would give, and by which share the mean variance of the design is lower."""
    found = {name: getattr(chance, name) for name in RandomDesigns.__slots__}
    mean = chance.mean_variance
    return {**found, "variance_lower_by": None if not mean else 1 - variance / mean}


def with_facts(summary: Summary) -> Summary:
    """Return the summary of a design for a workbook, which has a sheet of facts."""
    names = ("mean_sd", "max_sd", "mean_variance", "mu2", "efficiency", "cost", "mean_expertise")
    facts = {name: summary[name] for name in names if summary[name] is not None}
    if summary["random"] is not None:
        facts |= {f"random_{name}": summary["random"][name] for name in ("mean_sd", "max_sd", "mean_variance")}
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
    before = summary["before"]
    done = sum(bool(record.get("fixed")) for record in summary["assignments"])
    if done:
        lines[0] = f"{lines[0][:-1]}; {done:,} of them {'were fixed' if before is None else 'are there already'}."
    if idle:
        lines.append(f"Without work: {name_some(idle, 8)}.")
    digits = 2 if summary["unit"] == "points" and summary["mean_sd"] >= 0.1 else 3
    mean, most = (f"{summary[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
    lines.append(f"Expected standard deviation of a value: {mean} on average, {most} at most, {unit}.")
    if before is not None and before["mean_sd"] is None:
        lines.append("Without those to be added, not all values could be compared.")
    elif before is not None:
        mean, most = (f"{before[name]:.{digits}f}" for name in ("mean_sd", "max_sd"))
        lines.append(f"Without those to be added: {mean} on average, {most} at most.")
    lines.append(_holds(summary))
    if summary["mean_expertise"] is not None:
        lines.append(f"Mean expertise of the pairs: {summary['mean_expertise']:.2f}, from 0 (none) to 1.")
    if summary["cost"] != sum(readings):
        lines.append(f"Cost of all assessments: {summary['cost']:,.6g}.")
    if summary["random"] is not None:
        lines.append(_beside_chance(summary["random"], digits))
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
    bridges = [f"{one['assessor']} on {one['object']}" for one in summary["bridges"]]
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
    words = f"{100 * abs(lower):.1f} % {'lower' if lower >= 0 else 'higher'} than assigned at random"
    if abs(lower) < 0.0005:
        words = "the same as assigned at random"
    apart = random["count"] - random["connected"]
    fell = f", {apart} of which would not have hung together" if apart else ""
    sd = f"standard deviation {random['mean_sd']:.{digits}f}"
    return f"Mean variance of a value: {words} ({sd}; {random['count']} designs{fell})."


def _without(lost: Summary, digits: int) -> str:
    start = f"Losing one assessor would cost most if it were {lost['assessor']}: "
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
