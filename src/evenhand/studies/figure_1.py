"""Figure 1 of the paper: three ways to share six objects among four assessors, and how firmly each holds together."""

from __future__ import annotations

from typing import Final

import numpy as np

from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import assessor_graph, connectivity
from evenhand.studies.printed import PrintedNumber, Reproduction, Verdict
from evenhand.words import count_of

GRAPHS: Final = {
    # one object for each pair of assessors
    "a": ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)),
    # a cycle of four pairs, alternate sides doubled
    "b": ((1, 2), (1, 2), (2, 3), (3, 4), (3, 4), (4, 1)),
    # two pairs of assessors with three objects each
    "c": ((1, 2), (1, 2), (1, 2), (3, 4), (3, 4), (3, 4)),
}
"""The two assessors of each object o1 to o6, by panel of the figure."""

LAMBDA_2: Final = {"a": 1 / 3, "b": 2 / 3, "c": 1.0}
"""Second eigenvalues as App. C prints them; mu_2 = 1 - sqrt(lambda_2)."""


def figure_1_panel(name: str) -> Panel:
    """Return one of the three panels, with confidences of one and scores of zero.

    Examples
    --------
    >>> figure_1_panel("a")
    Panel(6 objects, 4 assessors, 12 assessments, no declared confidence)
    """
    pairs = [(o, a - 1) for o, readers in enumerate(GRAPHS[name]) for a in readers]
    return Panel.from_arrays(
        [o for o, _ in pairs],
        [a for _, a in pairs],
        np.zeros(len(pairs)),
        objects=[f"o{at}" for at in range(1, 7)],
        assessors=[f"a{at}" for at in range(1, 5)],
    )


def figure_1() -> Reproduction:
    """Return the spectral gaps mu_2 of the three graphs of figure 1 beside those that App. C prints.

    Examples
    --------
    >>> [round(number.ours, 4) for number in figure_1().numbers]
    [0.4226, 0.1835, 0.0]
    """
    numbers, notes = [], []
    for name, lambda_2 in LAMBDA_2.items():
        panel = figure_1_panel(name)
        parts = connectivity(panel)
        printed = 1 - lambda_2**0.5
        verdict: Verdict = "agrees" if abs(parts.mu2 - printed) < 1e-9 else "differs"
        numbers.append(PrintedNumber("figure 1", f"({name})", "mu_2", printed, parts.mu2, None, verdict))
        objects = "; ".join(f"o{o} by a{a}, a{b}" for o, (a, b) in enumerate(GRAPHS[name], start=1))
        links = assessor_graph(panel).tocoo()
        joined = sorted((int(a), int(b)) for a, b in zip(*links.coords, strict=True) if a < b)
        graph = ", ".join(f"a{a + 1}-a{b + 1}" for a, b in joined)
        notes.append(f"({name}) {objects}. Assessors linked: {graph}; {count_of(parts.n_components, 'group')}.")
    return Reproduction("figure-1", "Figure 1 and App. C: three graphs of assessments", tuple(numbers), tuple(notes))
