"""Pictures of panels and fits: each function returns an Altair chart, which ``save`` writes to a file."""

from evenhand.plots.agreement import bland_altman, methods
from evenhand.plots.checks import confidence, influence, residuals
from evenhand.plots.ranks import rankogram, top
from evenhand.plots.results import biases, values
from evenhand.plots.structure import assessor_graph, design, graph
from evenhand.plots.style import save

__all__ = [
    "assessor_graph",
    "biases",
    "bland_altman",
    "confidence",
    "design",
    "graph",
    "influence",
    "methods",
    "rankogram",
    "residuals",
    "save",
    "top",
    "values",
]
