"""The one summary: plain dictionaries with the keys that every door shows, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np

from evenhand.answers.alert import LARGEST, Alert
from evenhand.answers.alerts import alerts, provisional, without_words
from evenhand.answers.decision import Decision, classify, decide
from evenhand.answers.evidence import Evidence, Priors, default_priors, evidence
from evenhand.answers.ranking import DRAWS, Ranking, rank
from evenhand.compiled import sum_by
from evenhand.errors import EvenhandError, InputError, LimitError, NotRankableError, Problem
from evenhand.frames import records_of
from evenhand.memory import require
from evenhand.models.additive import CWC, METHODS
from evenhand.models.average import SA
from evenhand.models.fit import Fit
from evenhand.panel.gauge import gauge_name
from evenhand.panel.panel import Panel
from evenhand.solve.choose import DENSE
from evenhand.solve.connectivity import Connectivity, assessor_graph, connectivity

if TYPE_CHECKING:
    from evenhand.answers.compare import Comparison
    from evenhand.answers.influence import WithoutAssessor
    from evenhand.answers.next_best import NextBest
    from evenhand.answers.robustness import Robustness
    from evenhand.models.criteria import CriteriaFit
    from evenhand.studies import DesignStudy, Plan, Reproduction, SimulationStudy

Summary = dict[str, Any]

MOST_DELETIONS: Final = 50
"""Up to this many assessors are left out in turn: each takes as long as a fit."""

COMPARED: Final = 1000
"""Up to this many scores other methods are tried by the way: that takes about a second."""

_LARGEST_GRAPH: Final = 200
"""Up to this many assessors the weights between them are listed."""


def summarise_fit(
    found: Fit | CriteriaFit,
    *,
    priors: Priors | None = None,
    top: int | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    grades: Sequence[float] = (),
    with_evidence: bool = True,
    with_reliability: bool = False,
    decision: Decision | None = None,
    alerted: Sequence[Alert] | None = None,
) -> Summary:
    """Return panel, method, gauge, fit, objects, assessors and notes of a fit (``calibrate --json``).

    With ``top`` each object also has ``p_top``, ``expected_rank``, ``rank_lower`` and ``rank_upper``; with ``grades``
    the probability of each class between those cut-offs, in ``grades``. The log-evidence takes time and notes of its
    own and can be left out. Refined models have ``variances``, ``covariates``, ``scales``, ``noise_factors`` and
    ``outlying`` too, those of categories ``thresholds`` and ``latent``. With several criteria all this is of the
    combined fit, and ``criteria`` has that of each. How good the panel is, in ``reliability``, takes a fit of its own
    and is left out unless asked for. The decision on ``top`` is made and ``alerts`` are found, unless they are given;
    where the panel has chosen among those who are open, ``choice`` says whom, why and who decided.
    """
    fit = found.combined
    panel = fit.panel
    known = _evidence(fit, priors) if with_evidence else None
    mu2, notes = _mu2(fit.connectivity)
    notes = [*fit.notes, *_noise_notes(fit), *_sampling_notes(fit), *(known.notes if known else ()), *notes]
    objects = fit.values.columns()
    if grades:
        try:
            objects["grades"] = classify(fit, grades).records()
        except NotRankableError as error:
            objects["grades"] = [None] * panel.n_objects
            notes.append(Problem("grades", str(error)))
    if top is not None:
        try:
            decision = decision or decide(rank(fit, top=top, seed=seed, draws=draws), top)
            ranks = decision.ranking.columns()
        except NotRankableError as error:
            ranks = {}
            notes.append(Problem("ranks", str(error)))
        empty = [None] * panel.n_objects
        objects |= {name: ranks.get(name, empty) for name in ("p_top", "expected_rank", "rank_lower", "rank_upper")}
    choice = None if decision is None else decision.choice
    if decision is not None and choice is not None:
        objects["chosen"] = [label in choice.objects for label in objects["object"]]
        notes.append(Problem("chosen", decision.choice_words()))
    if alerted and alerted[0].outcomes and (left_out := without_words(alerted, fit)):  # stops come first
        notes.append(Problem("provisional", left_out))
    return {
        "panel": {
            "objects": panel.n_objects,
            "assessors": panel.n_assessors,
            "assessments": panel.n_assessments,
            "components": fit.connectivity.n_components,
            "confidence": panel.confidence,
            "factor": panel.factor,
        },
        "method": fit.method,
        "gauge": gauge_name(fit.gauge),
        "noise": fit.posterior.noise.kind,
        "solver": fit.solved_by,
        "interval": fit.values.interval,
        "fit": {
            "residual": fit.residual,
            "residual_scaled": fit.residual_scaled,
            "degrees_of_freedom": fit.degrees_of_freedom,
            "noise_variance": fit.noise_variance,
            "noise_variance_ml": fit.noise_variance_ml,
            "noise_variance_mode": fit.noise_variance_mode,
            "noise_variance_printed": fit.noise_variance_printed,
            "rms_uncertainty": fit.rms_uncertainty,
            "mu2": mu2,
            "log_evidence": known.log_evidence if known else None,
        },
        "objects": records_of(objects),
        "assessors": records_of(fit.biases.columns()),
        **({} if choice is None else {"choice": asdict(choice)}),
        **_model(fit),
        **_criteria(found),
        **({"reliability": summarise_reliability(found)} if with_reliability else {}),
        "alerts": alert_records(find_alerts(fit, decision) if alerted is None else alerted),
        "notes": problem_records(notes),
    }


def standing(
    found: Fit | CriteriaFit, decision: Decision | None, alerted: Sequence[Alert]
) -> tuple[Fit | CriteriaFit, Decision | None]:
    """Return the fit and the decision that people are shown: those without what must be checked, until it is."""
    without = provisional(alerted)
    return (found, decision) if without is None else (without.fit, without.decision)


def find_alerts(fit: Fit, decision: Decision | None = None) -> list[Alert]:
    """Return what may be wrong with a result; of a decision on a panel of some hundred scores, by other methods too."""
    found = alerts(fit, decision, deletions=())
    if decision is None or provisional(found) is not None:
        return found
    compared = None
    if fit.panel.n_assessments <= COMPARED and fit.model.why_not("refit") is None:
        from evenhand.answers.compare import compare

        compared = compare(fit.panel, per_component=fit.per_component)
    return alerts(fit, decision, comparison=compared)


def alert_records(found: Iterable[Alert]) -> list[Summary]:
    """Return alerts as records."""
    return [one.record() for one in found]


def summarise_reliability(found: Fit | CriteriaFit) -> Summary:
    """Return how good a panel is: parts of the differences, reliabilities, assessors needed, how each fits in."""
    from evenhand.answers.reliability import KINDS, TARGET, reliability

    told = reliability(found)
    curve = told.curve()
    nothing = [None] * len(curve["per_object"])
    tables = {name: getattr(told, name) for name in ("variances", "shares", "reliabilities", "icc")}
    return {
        "sentences": told.sentences(),
        "per_object": told.per_object,
        **{name: [] if table is None else records_of(table.columns()) for name, table in tables.items()},
        "target": TARGET,
        "needed": dict.fromkeys(KINDS) | told.needed(),
        "curve": records_of(dict.fromkeys(("per_object", *KINDS), nothing) | curve),
        "assessors": records_of(told.columns()),
        "notes": problem_records(told.notes),
    }


def _sampling_notes(fit: Fit) -> list[Problem]:
    """Return in words how far standard deviations may be off, where they were estimated by sampling."""
    solver = fit.posterior.solver
    error = 0.0 if solver is None or fit.values.sd is None else solver.diagonal_error / 2
    if error == 0:
        return []
    off = f"estimated by sampling, with a typical error of {100 * error:.2g}% of each standard deviation"
    if min(fit.panel.n_objects, fit.panel.n_assessors) > DENSE:
        message = f"the panel is too large for exact standard deviations and leverages: they were {off}."
    else:
        message = f"standard deviations and leverages were {off}: the direct solver has exact ones."
    return [Problem("sampled", message)]


def _noise_notes(fit: Fit) -> list[Problem]:
    """Return in words whether declared uncertainties are believable: R against chi-square with nu degrees."""
    p_value = fit.noise_p_value
    if p_value is None or fit.panel.confidence != "uncertainty":
        return []
    ratio = fit.residual / fit.degrees_of_freedom
    shown = f"p = {p_value:.2g}" if p_value > 1e-12 else "p < 1e-12"
    if p_value >= 0.05:
        text = f"the declared uncertainties are believable (chi-square test of w = 1: {shown})."
    else:
        word, factor = ("small", ratio) if ratio > 1 else ("large", 1 / ratio)
        text = (
            f"the declared uncertainties look too {word}, by a factor of about {np.sqrt(factor):.2g} "
            f"(chi-square test of w = 1: {shown})."
        )
    return [Problem("declared_uncertainties", text)]


def _evidence(fit: Fit, priors: Priors | None) -> Evidence:
    """Return the log-evidence; none for sums over criteria, which are not fitted to scores of their own."""
    if fit.model.why_not("evidence") is None:
        return evidence(fit, priors)
    note = Problem("evidence", "no log-evidence for several criteria together: there is one for each on its own.")
    return Evidence(None, default_priors(fit.panel) if priors is None else priors, (note,))


def _model(fit: Fit) -> Summary:
    """Return ``model`` and, for refined models, what was found beside values and biases.

    A list is empty where the model has no such part.
    """
    _, *refinements = fit.method.split("+")
    summary: Summary = {"model": {"refinements": refinements, "words": fit.name}}
    if not fit.model.tables:
        return summary
    for name, table in fit.model.tables.items():
        summary[name] = [] if table is None else records_of(table.columns())
    summary["outlying"] = _outlying(fit)
    power = next((record for record in summary["variances"] if record["variance"] == "power"), None)
    if power is not None:
        summary["declared_confidence"] = _declared_confidence(power, fit.panel.factor)
    return summary


def _outlying(fit: Fit) -> list[Summary]:
    """Return the scores that are far from what is expected, the furthest first."""
    panel, rows = fit.panel, fit.model.outlying
    return records_of(
        {
            "assessor": [panel.assessors[at] for at in panel.assessor_index[rows].tolist()],
            "object": [panel.objects[at] for at in panel.object_index[rows].tolist()],
            "score": panel.score[rows],
            "expected": fit.fitted[rows] if rows.size else np.zeros(0),
            "surprise": np.zeros(0) if fit.model.surprise is None else fit.model.surprise[rows],
        }
    )


def _declared_confidence(power: Summary, factor: float | None) -> Summary:
    """Return what the scores tell about declared confidence, in numbers and in a sentence."""
    ends = {"": power["estimate"], "_lower": power["lower"], "_upper": power["upper"]}
    found: Summary = {"power": ends[""], "lower": ends["_lower"], "upper": ends["_upper"]}
    for end, number in ends.items():
        found[f"factor{end}"] = None if factor is None or number is None else factor**number
    return {**found, "words": _confidence_words(found)}


def _confidence_words(found: Mapping[str, Any]) -> str:
    """Return what the scores tell about declared confidence, from its power and factor with their intervals."""
    low, high = found["lower"], found["upper"]
    shown = f"power {found['power']:.2f}"
    if low is None:
        return f"{shown}; 0 would mean that declared confidence says nothing, 1 that it is as declared."
    if low <= 0 <= high:
        verdict = "no sign that declared confidence carries information"
        verdict += ", nor that it does not" if low <= 1 <= high else ""
    elif high < 0:
        verdict = "declared confidence misleads: sure scores are further off than unsure ones"
    elif low <= 1 <= high:
        verdict = "declared confidence carries information, as much as declared"
    else:
        verdict = f"declared confidence carries information, but {'less' if high < 1 else 'more'} than declared"
    text = f"{verdict} ({shown}, {low:.2f} to {high:.2f}; 0 is none, 1 as declared)."
    if found["factor"] is not None:
        text += (
            f" Neighbouring levels differ by a factor of {found['factor']:.2f} in uncertainty "
            f"({found['factor_lower']:.2f} to {found['factor_upper']:.2f})."
        )
    return text


def _criteria(found: Fit | CriteriaFit) -> Summary:
    """Return the fits of the criteria, and how errors are correlated between them; nothing without criteria."""
    if found.correlation is None:
        return {}
    criteria = [
        {
            "criterion": label,
            "weight": found.weights[label],
            "objects": records_of(fit.values.columns()),
            "assessors": records_of(fit.biases.columns()),
        }
        for label, fit in found.fits.items()
    ]
    return {"criteria": criteria, "correlation": records_of(found.correlation.columns())}


def summarise_ranking(
    ranking: Ranking, decision: Decision | None = None, alerted: Sequence[Alert] | None = None
) -> Summary:
    """Return ranks with their uncertainty and, for a number of places, the decision (``rank --json``)."""
    found = find_alerts(ranking.fit, decision) if alerted is None else alerted
    summary: Summary = {
        "method": ranking.fit.method,
        "top": ranking.top,
        "draws": ranking.draws,
        "seed": ranking.seed,
        "interval": ranking.interval,
        "objects": records_of(ranking.columns()),
        "alerts": alert_records(found),
        "notes": problem_records(ranking.fit.notes),
    }
    if decision is not None:
        summary["decision"] = {
            "places": decision.places,
            "headline": decision.headline(by_method=any(one.doubtful for one in found)),
            "in": list(decision.inside),
            "undecided": list(decision.undecided),
            "out": list(decision.outside),
            "drawn": None if decision.drawn is None else list(decision.drawn),
            "lottery_seed": decision.lottery_seed,
        }
        if decision.caution is not None:
            summary["notes"] += problem_records([Problem("few_degrees", f"{decision.caution}.")])
        drawn = set(decision.drawn or ())
        for record, status in zip(summary["objects"], decision.status, strict=True):
            record["status"] = status
            if decision.drawn is not None:
                record["drawn"] = record["object"] in drawn
        if decision.drawn is not None:
            winners = ", ".join(decision.drawn) or "nobody"
            message = f"lots drawn for the open places with seed {decision.lottery_seed}, in this order: {winners}."
            summary["notes"] += problem_records([Problem("lottery", message)])
    return summary


def summarise_influence(
    fit: Fit,
    *,
    top: int | None = None,
    deletions: Sequence[WithoutAssessor] | None = None,
    alerted: Sequence[Alert] | None = None,
) -> Summary:
    """Return what each score, each assessor and each bias did (``influence --json``).

    What would change without each assessor, and alerts, are found, unless they are given.
    """
    require(1000.0 * fit.panel.n_assessments, f"a table of {fit.panel.n_assessments:,} assessments")
    from evenhand.answers.explain import explain, explanation_columns
    from evenhand.answers.influence import influence, without_assessors, without_columns
    from evenhand.answers.robustness import robustness

    bounds = robustness(fit)
    effects = influence(fit)
    notes = [*fit.notes, *_sampling_notes(fit)]
    chosen = list(range(fit.panel.n_assessors))
    if len(chosen) > MOST_DELETIONS:
        pull = np.where(np.isfinite(effects.pull), np.abs(effects.pull), 0.0)
        strongest = np.argsort(-sum_by(fit.panel.assessor_index, pull, fit.panel.n_assessors), kind="stable")
        chosen = sorted(strongest[:MOST_DELETIONS].tolist())
        message = (
            f"of {fit.panel.n_assessors:,} assessors only the {MOST_DELETIONS} whose scores pull values the most were "
            "left out in turn."
        )
        notes.append(Problem("deletions", message))
    found = without_assessors(fit, top=top, chosen=chosen) if deletions is None else deletions
    assessors: dict[str, Any] = without_columns(found)
    objects = explanation_columns(explain(fit))
    if bounds is not None:
        assessors["bound"], objects["bound"] = bounds.bias_bound[chosen].tolist(), bounds.value_bound.tolist()
    return {
        "method": fit.method,
        "gauge": gauge_name(fit.gauge),
        "robustness": robustness_facts(bounds),
        "objects": records_of(objects),
        "assessors": records_of(assessors),
        "assessments": records_of(effects.columns()),
        "alerts": alert_records(alerts(fit) if alerted is None else alerted),
        "notes": problem_records(notes),
    }


def summarise_next(found: NextBest, top: int | None) -> Summary:
    """Return the assessments that would help most (``next --json``), to be made together."""
    return {
        "criterion": found.criterion,
        "top": top,
        "now": found.now,
        "then": found.then,
        "assessments": records_of(found.columns()),
        "alerts": alert_records(alerts(found.fit)),
        "notes": problem_records(found.fit.notes),
    }


def summarise_check(panel: Panel, alerted: Sequence[Alert] | None = None) -> Summary:
    """Return what a panel is made of, how it is connected and what is wrong with it (``check --json``)."""
    parts = connectivity(panel)
    mu2, mu2_note = _mu2(parts)
    problems = [*panel.notes, *mu2_note]
    if not parts.is_connected:
        try:
            parts.require_connected()
        except EvenhandError as error:
            problems.insert(0, Problem("not_connected", str(error)))
    return {
        "ok": parts.is_connected,
        "objects": panel.n_objects,
        "assessors": panel.n_assessors,
        "assessments": panel.n_assessments,
        "confidence": panel.confidence,
        "mu2": mu2,
        "components": [{"objects": objects, "assessors": assessors} for objects, assessors in parts.components],
        "bridges": bridge_records(parts),
        "articulation_assessors": [panel.assessors[int(at)] for at in parts.articulation_assessors],
        "assessor_graph": _links(panel),
        "alerts": alert_records(_alerts_before(panel, parts) if alerted is None else alerted),
        "problems": problem_records(problems),
        "suggestions": [{"assessor": assessor, "object": label} for assessor, label in parts.suggestions],
        "reading": None if panel.reading is None else panel.reading.to_dict(),
    }


def _alerts_before(panel: Panel, parts: Connectivity) -> list[Alert]:
    """Return what may be wrong with a panel that nobody has calibrated yet."""
    if panel.n_assessments > LARGEST or panel.criteria or panel.n_assessors == 1:
        return []
    return alerts(CWC(panel, per_component=not parts.is_connected))


def summarise_refusal(error: InputError) -> Summary:
    """Return the summary of a file that could not be read as a panel (``check --json``)."""
    return {
        "ok": False,
        **dict.fromkeys(("objects", "assessors", "assessments", "confidence", "mu2")),
        "components": [],
        "bridges": [],
        "articulation_assessors": [],
        "assessor_graph": None,
        "alerts": [],
        "problems": problem_records(error.problems),
        "suggestions": [],
        "reading": None,
    }


def summarise_comparison(comparison: Comparison, alerted: Sequence[Alert] | None = None) -> Summary:
    """Return the methods side by side (``compare --json``)."""
    rows = []
    for row, record in zip(comparison.methods, records_of(comparison.columns()), strict=True):
        if METHODS.get(row.method) == SA:
            record["rms_uncertainty_printed"] = row.rms_uncertainty_printed
        rows.append(record)
    return {
        "methods": rows,
        "r2": [{"a": a, "b": b, "r2": value} for (a, b), value in comparison.r2.items()],
        "rank_changes": [
            {"a": a, "b": b, "largest": largest, "object": label}
            for (a, b), (largest, label) in comparison.rank_changes.items()
        ],
        "recommendation": {"method": comparison.recommendation.method, "reason": comparison.recommendation.reason},
        "confidence": comparison.panel.confidence,
        "priors": asdict(comparison.priors),
        "alerts": alert_records(_alerts_of_methods(comparison) if alerted is None else alerted),
        "notes": problem_records(comparison.notes),
    }


def _alerts_of_methods(comparison: Comparison) -> list[Alert]:
    """Return what may be wrong with the scores that methods are compared by."""
    fit = next((row.fit for row in reversed(comparison.methods) if row.method == CWC.method), None)
    return [] if fit is None else alerts(fit, comparison=comparison)


def summarise_study(study: SimulationStudy, figures: Sequence[Path] = ()) -> Summary:
    """Return the errors of a simulation study (``simulate --json``)."""
    numbers = study.numbers
    return {
        "setting": {
            "objects": numbers["n_objects"],
            "assessors": numbers["n_assessors"],
            **{name: numbers[name] for name in ("value_mean", "value_sd", "bias_sd")},
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


def summarise_design_study(study: DesignStudy) -> Summary:
    """Return what error to expect of a design (``simulate --design FILE --json``)."""
    return {
        "runs": study.runs,
        "seed": study.seed,
        "mean_sd": float(study.sd.mean()),
        "mean_error": float(study.error.mean()),
        "mean_error_averages": float(study.error_averages.mean()),
        "objects": records_of(study.columns()),
        "notes": [],
    }


def summarise_plans(plans: Sequence[Plan], seed: int) -> Summary:
    """Return how many assessors per object are needed, by profile (``simulate --target-sd SD --json``)."""
    from evenhand.studies.case_1 import profile_name

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
    from evenhand.studies.printed import PrintedVerdict

    return {
        "parts": [
            {
                "part": part.name,
                "source": part.source,
                **{verdict.replace(" ", "_"): part.count(verdict) for verdict in get_args(PrintedVerdict)},
                "remarks": list(part.notes),
            }
            for part in parts
        ],
        "numbers": [{"part": part.name, **record} for part in parts for record in records_of(part.columns())],
        "figures": [str(path) for path in figures],
        "notes": problem_records(Problem("missing", sentence) for sentence in missing),
    }


def bridge_records(parts: Connectivity) -> list[Summary]:
    """Return the assessments that are bridges, as records."""
    panel = parts.panel
    return [
        {
            "assessor": panel.assessors[int(panel.assessor_index[at])],
            "object": panel.objects[int(panel.object_index[at])],
        }
        for at in parts.bridges
    ]


def _mu2(parts: Connectivity) -> tuple[float | None, list[Problem]]:
    try:
        return parts.mu2, []
    except LimitError as error:
        return None, [Problem("mu2", str(error))]


def _links(panel: Panel) -> list[Summary] | None:
    """Return the weights between assessors, or None for panels with too many of them."""
    if panel.n_assessors > _LARGEST_GRAPH:
        return None
    links = assessor_graph(panel).tocoo()
    return [
        {"a": panel.assessors[int(a)], "b": panel.assessors[int(b)], "weight": float(weight)}
        for a, b, weight in zip(links.row, links.col, links.data, strict=True)
        if a < b
    ]


def robustness_facts(bounds: Robustness | None) -> Summary | None:
    """Return what the bounds of App. C rest on."""
    return None if bounds is None else {name: getattr(bounds, name) for name in ("mu2", "lambda2", "constant")}


def problem_records(problems: Iterable[Problem]) -> list[Summary]:
    """Return notes and problems as records."""
    return [
        {"kind": one.kind, "message": str(one.message), "where": None if one.where is None else str(one.where)}
        for one in problems
    ]
