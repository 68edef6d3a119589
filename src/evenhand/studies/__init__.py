"""The paper's case studies, rerun, and plans for panels that are still to meet."""

from evenhand.studies.case_1 import SimulationStudy, case_study_1, read_published, simulation_study
from evenhand.studies.case_2 import case_study_2
from evenhand.studies.designs import DesignStudy, design_study
from evenhand.studies.plans import Plan, PlanStep, plan
from evenhand.studies.printed import PrintedNumber, Reproduction, figure_1

__all__ = [
    "DesignStudy",
    "Plan",
    "PlanStep",
    "PrintedNumber",
    "Reproduction",
    "SimulationStudy",
    "case_study_1",
    "case_study_2",
    "design_study",
    "figure_1",
    "plan",
    "read_published",
    "simulation_study",
]
