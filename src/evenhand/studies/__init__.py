"""The paper's case studies, rerun, and plans for panels that are still to meet."""

from evenhand.studies.case_study_1 import case_study_1, read_published
from evenhand.studies.case_study_2 import case_study_2
from evenhand.studies.planning import Plan, PlanStep, plan
from evenhand.studies.reproduction import PrintedNumber, Reproduction, figure_1
from evenhand.studies.simulation import SimulationStudy, simulation_study

__all__ = [
    "Plan",
    "PlanStep",
    "PrintedNumber",
    "Reproduction",
    "SimulationStudy",
    "case_study_1",
    "case_study_2",
    "figure_1",
    "plan",
    "read_published",
    "simulation_study",
]
