"""The paper's case studies, rerun, and plans for panels that are still to meet."""

from evenhand.studies.reproduction import (
    PrintedNumber,
    Reproduction,
    case_study_1,
    case_study_2,
    figure_1,
    read_published,
)
from evenhand.studies.simulation import Plan, PlanStep, SimulationStudy, plan, simulation_study

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
