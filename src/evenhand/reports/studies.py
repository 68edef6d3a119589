"""Summaries of studies, plans and reproductions: the tables that the command line shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evenhand.errors import Problem
from evenhand.frames import records_of
from evenhand.reports.summary import Summary, problem_records
from evenhand.studies import Plan, Reproduction, SimulationStudy
from evenhand.studies.reproduction import Verdict
from evenhand.studies.simulation import profile_name

_VERDICTS: Final[tuple[Verdict, ...]] = ("agrees", "cut off", "known", "differs", "not compared")


def summarise_study(study: SimulationStudy, figures: Sequence[Path] = ()) -> Summary:
    """Return the errors of a simulation study (``simulate --json``)."""
    numbers = study.numbers
    return {
        "setting": {
            "objects": numbers["n_objects"],
            "assessors": numbers["n_assessors"],
            "value_mean": numbers["value_mean"],
            "value_sd": numbers["value_sd"],
            "bias_sd": numbers["bias_sd"],
            "uncertainties": list(numbers["uncertainties"]),
            "bounds": None if numbers["bounds"] is None else list(numbers["bounds"]),
            "step": numbers["step"],
        },
        "runs": study.runs,
        "seed": study.seed,
        "cells": records_of(study.columns()),
        "figures": [str(path) for path in figures],
        "notes": [],
    }


def summarise_plans(plans: Sequence[Plan], seed: int) -> Summary:
    """Return how many assessors per object are needed, by profile (``simulate --target-sd SD --json``)."""
    found: list[Summary] = []
    steps: list[Summary] = []
    for one in plans:
        name, last = profile_name(one.profile), one.answer
        found.append(
            {
                "profile": name,
                "per_object": None if last is None else last.per_object,
                "sd": one.steps[-1].sd,
                "load": None if last is None else last.load,
                "words": str(one),
            }
        )
        steps += [{"profile": name, **record} for record in records_of(one.columns())]
    return {"target_sd": plans[0].target_sd, "seed": seed, "plans": found, "steps": steps, "notes": []}


def summarise_reproductions(
    parts: Sequence[Reproduction], missing: Sequence[str] = (), figures: Sequence[Path] = ()
) -> Summary:
    """Return numbers of the paper beside ours (``reproduce --json``)."""
    return {
        "parts": [
            {
                "part": part.name,
                "source": part.source,
                **{verdict.replace(" ", "_"): part.count(verdict) for verdict in _VERDICTS},
                "remarks": list(part.notes),
            }
            for part in parts
        ],
        "numbers": [{"part": part.name, **record} for part in parts for record in records_of(part.columns())],
        "figures": [str(path) for path in figures],
        "notes": problem_records(Problem("missing", sentence) for sentence in missing),
    }
