"""evenhand: fair values from a panel of assessors who do not all see the same objects.

Names are imported when first used, so that ``import evenhand`` costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand import errors, plots
    from evenhand.advice import Recommendation
    from evenhand.compare import Comparison, MethodRow, compare
    from evenhand.decision import Classification, Decision, classify, decide
    from evenhand.design.assign import assign, extend
    from evenhand.design.outlook import DesignStep, LostAssessor, Outlook, RandomDesigns, outlook
    from evenhand.design.result import Design
    from evenhand.evidence import Evidence, Priors, default_priors, evidence
    from evenhand.explain import Explanation, explain
    from evenhand.fingerprint import Fingerprint, fingerprint
    from evenhand.fit import Contrast, Effects, Fit
    from evenhand.gauge import Affine, Anchor, Reference
    from evenhand.graph import Connectivity, assessor_graph, connectivity
    from evenhand.influence import (
        Influence,
        Robustness,
        WithoutAssessor,
        confidence_sensitivity,
        influence,
        robustness,
        score_sensitivity,
        without_assessors,
    )
    from evenhand.io import pack_panel, read_panel
    from evenhand.io.cluster import DistributedFit, calibrate_distributed
    from evenhand.live import update
    from evenhand.models.additive import calibrate, incomplete_block
    from evenhand.models.average import simple_average, weighted_average
    from evenhand.models.bounded import Bounded, Logarithm
    from evenhand.models.confidences import DeclaredConfidence, declared_confidence
    from evenhand.models.criteria import Correlation, CriteriaFit, calibrate_criteria
    from evenhand.models.medians import Medians, median_polish
    from evenhand.models.refined import Refined, Refinements, refine
    from evenhand.next_best import NextBest, next_best
    from evenhand.noise import NoisePrior
    from evenhand.panel import Panel
    from evenhand.posterior import Posterior
    from evenhand.ranking import Ranking, pairwise, rank
    from evenhand.report import report
    from evenhand.report.template import template
    from evenhand.report.workbook import workbook
    from evenhand.simulate import Simulation, simulate_panel
    from evenhand.studies.case_study_1 import case_study_1, read_published
    from evenhand.studies.case_study_2 import case_study_2
    from evenhand.studies.figure_1 import figure_1
    from evenhand.studies.planning import Plan, PlanStep, plan
    from evenhand.studies.printed import PrintedNumber, Reproduction
    from evenhand.studies.simulation import SimulationStudy, simulation_study

__version__ = "0.1.0"

_HOME = {
    "Affine": "gauge",
    "Anchor": "gauge",
    "Bounded": "models.bounded",
    "Classification": "decision",
    "Comparison": "compare",
    "Connectivity": "graph",
    "Contrast": "fit",
    "Decision": "decision",
    "DeclaredConfidence": "models.confidences",
    "Correlation": "models.criteria",
    "CriteriaFit": "models.criteria",
    "DistributedFit": "io.cluster",
    "Effects": "fit",
    "Evidence": "evidence",
    "Explanation": "explain",
    "Fingerprint": "fingerprint",
    "Fit": "fit",
    "Influence": "influence",
    "Logarithm": "models.bounded",
    "Medians": "models.medians",
    "MethodRow": "compare",
    "NextBest": "next_best",
    "NoisePrior": "noise",
    "Panel": "panel",
    "Plan": "studies.planning",
    "PlanStep": "studies.planning",
    "Posterior": "posterior",
    "PrintedNumber": "studies.printed",
    "Priors": "evidence",
    "Ranking": "ranking",
    "Recommendation": "advice",
    "Reference": "gauge",
    "Refined": "models.refined",
    "Refinements": "models.refined",
    "Reproduction": "studies.printed",
    "Robustness": "influence",
    "Simulation": "simulate",
    "SimulationStudy": "studies.simulation",
    "WithoutAssessor": "influence",
    "assessor_graph": "graph",
    "calibrate": "models.additive",
    "calibrate_criteria": "models.criteria",
    "calibrate_distributed": "io.cluster",
    "case_study_1": "studies.case_study_1",
    "case_study_2": "studies.case_study_2",
    "classify": "decision",
    "compare": "compare",
    "confidence_sensitivity": "influence",
    "connectivity": "graph",
    "decide": "decision",
    "declared_confidence": "models.confidences",
    "default_priors": "evidence",
    "errors": "errors",
    "evidence": "evidence",
    "explain": "explain",
    "fingerprint": "fingerprint",
    "figure_1": "studies.figure_1",
    "incomplete_block": "models.additive",
    "influence": "influence",
    "median_polish": "models.medians",
    "next_best": "next_best",
    "pack_panel": "io",
    "pairwise": "ranking",
    "plan": "studies.planning",
    "plots": "plots",
    "rank": "ranking",
    "read_panel": "io",
    "read_published": "studies.case_study_1",
    "refine": "models.refined",
    "report": "report",
    "robustness": "influence",
    "score_sensitivity": "influence",
    "simple_average": "models.average",
    "simulate_panel": "simulate",
    "simulation_study": "studies.simulation",
    "template": "report.template",
    "weighted_average": "models.average",
    "update": "live",
    "without_assessors": "influence",
    "workbook": "report.workbook",
    "Design": "design.result",
    "DesignStep": "design.outlook",
    "LostAssessor": "design.outlook",
    "Outlook": "design.outlook",
    "RandomDesigns": "design.outlook",
    "assign": "design.assign",
    "extend": "design.assign",
    "outlook": "design.outlook",
}

_MODULES = {"errors", "plots"}
"""Public names that are modules."""

__all__ = [
    "Affine",
    "Anchor",
    "Bounded",
    "Classification",
    "Comparison",
    "Connectivity",
    "Contrast",
    "Correlation",
    "CriteriaFit",
    "Decision",
    "DeclaredConfidence",
    "Design",
    "DesignStep",
    "DistributedFit",
    "Effects",
    "Evidence",
    "Explanation",
    "Fingerprint",
    "Fit",
    "Influence",
    "Logarithm",
    "LostAssessor",
    "Medians",
    "MethodRow",
    "NextBest",
    "NoisePrior",
    "Outlook",
    "Panel",
    "Plan",
    "PlanStep",
    "Posterior",
    "PrintedNumber",
    "Priors",
    "RandomDesigns",
    "Ranking",
    "Recommendation",
    "Reference",
    "Refined",
    "Refinements",
    "Reproduction",
    "Robustness",
    "Simulation",
    "SimulationStudy",
    "WithoutAssessor",
    "__version__",
    "assessor_graph",
    "assign",
    "calibrate",
    "calibrate_criteria",
    "calibrate_distributed",
    "case_study_1",
    "case_study_2",
    "classify",
    "compare",
    "confidence_sensitivity",
    "connectivity",
    "decide",
    "declared_confidence",
    "default_priors",
    "errors",
    "evidence",
    "explain",
    "extend",
    "figure_1",
    "fingerprint",
    "incomplete_block",
    "influence",
    "median_polish",
    "next_best",
    "outlook",
    "pack_panel",
    "pairwise",
    "plan",
    "plots",
    "rank",
    "read_panel",
    "read_published",
    "refine",
    "report",
    "robustness",
    "score_sensitivity",
    "simple_average",
    "simulate_panel",
    "simulation_study",
    "template",
    "update",
    "weighted_average",
    "without_assessors",
    "workbook",
]


class _Package(ModuleType):
    """The package, in which a public function wins over the module of the same name that defines it."""

    def __setattr__(self, name: str, value: Any) -> None:
        # importing evenhand.compare would set evenhand.compare to that module, over the function
        if not (isinstance(value, ModuleType) and _HOME.get(name) == name and name not in _MODULES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    home = importlib.import_module(f"evenhand.{_HOME[name]}")
    found = home if name in _MODULES else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
