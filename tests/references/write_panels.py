"""Small panels of many kinds that another program fits too.

To write them down anew, from this folder:   python write_panels.py > panels.csv

What is stored is what is tested, so that a change of the generator changes nothing until the file is written anew.
After that, lme4.R has to be run again.
"""

from __future__ import annotations

import csv
import sys

import numpy as np

import evenhand as eh


def rows() -> list[tuple[str, int, int, str, str, str, str]]:
    """Return panel, object, assessor, score, confidence, order and round of every assessment."""
    sides = {
        "balanced": eh.simulate_panel(10, 4, 4, seed=1, bounds=None, uncertainties=(1.0,)),
        "unbalanced": eh.simulate_panel(25, 6, 3, seed=2, bounds=None, effects={"order": 4.0}),
        "wide": eh.simulate_panel(7, 18, 6, seed=3, bounds=None, bias_sd=8.0),
        "two_groups": eh.simulate_panel(24, 8, 5, seed=4, bounds=None),
        "singles": eh.simulate_panel(24, 14, 6, seed=5, bounds=None, bias_sd=20.0),
        "no_biases": eh.simulate_panel(20, 5, 3, seed=7, bounds=None, bias_sd=0.0),
        "no_values": eh.simulate_panel(16, 5, 4, seed=9, bounds=None, value_sd=0.0),
        "once": eh.simulate_panel(30, 9, 3, seed=11, bounds=None, value_sd=4.0, bias_sd=3.0),
    }
    listed = []
    for name, simulation in sides.items():
        panel = simulation.panel
        objects, assessors = panel.object_index.astype(int), panel.assessor_index.astype(int)
        keep = np.ones(objects.size, dtype=bool)
        if (
            name == "two_groups"
        ):  # objects with even numbers keep the assessors with even numbers, the others the others
            keep = objects % 2 == assessors % 2
        if name == "singles":  # from the sixth on, assessors keep one object each
            first = np.array([np.flatnonzero(assessors == at)[0] for at in assessors])
            keep = (assessors < 6) | (np.arange(objects.size) == first)
        if name == "once":  # nobody knows who wrote a review
            assessors = np.arange(objects.size)
        objects, assessors = (np.unique(side[keep], return_inverse=True)[1] for side in (objects, assessors))
        generator = np.random.default_rng(99)
        order = panel.covariates.get("order", generator.normal(size=keep.size))[keep]
        rounds = generator.choice(["first", "second", "third"], size=keep.size, p=[0.3, 0.5, 0.2])[keep]
        columns = (objects, assessors, panel.score[keep], panel.precision[keep], order, rounds)
        for o, a, score, confidence, number, word in zip(*columns, strict=True):
            listed.append((name, int(o), int(a), f"{score:.17g}", f"{confidence:.17g}", f"{number:.6f}", str(word)))
    return listed


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("panel", "object", "assessor", "score", "confidence", "order", "round"))
    writer.writerows(rows())
