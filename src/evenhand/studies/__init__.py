"""The paper's case studies, rerun, and plans for panels that are still to meet."""

from evenhand.studies.reproduction import (
    PrintedNumber,
    Reproduction,
    case_study_1,
    case_study_2,
    figure_1,
    read_published,
)
from evenhand.studies.simulation import (
    DesignStudy,
    Plan,
    PlanStep,
    SimulationStudy,
    design_study,
    plan,
    simulation_study,
)

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
