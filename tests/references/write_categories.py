"""Small panels of ordered categories that another program fits too.

To write them down anew, from this folder:   python write_categories.py > categories.csv

After that, ordinal.R has to be run again.
"""

from __future__ import annotations

import csv
import sys
from typing import Any

import numpy as np

import evenhand as eh

PANELS = {
    # objects, assessors, assessors of each object, sd of values, sd of biases, where categories end
    "even": (30, 8, 4, 1.2, 0.7, (-1.5, -0.4, 0.5, 1.6)),
    "skewed": (40, 10, 3, 1.0, 0.9, (-2.2, -1.6, -0.9, 0.3)),
    "thin": (60, 12, 2, 0.9, 0.7, (-1.0, 0.8)),
    "two": (30, 6, 5, 0.8, 1.1, (0.2,)),
    "many": (25, 9, 5, 1.3, 0.6, (-2.0, -1.4, -0.8, -0.3, 0.3, 0.9, 1.5, 2.2)),
    "wide": (12, 25, 9, 0.9, 1.4, (-1.2, 0.0, 1.1)),
}


def rows() -> list[tuple[str, int, int, int]]:
    """Return panel, object, assessor and category of every assessment."""
    listed = []
    for at, (name, (objects, assessors, each, value_sd, bias_sd, ends)) in enumerate(PANELS.items()):
        options: Any = {"value_mean": 0.0, "value_sd": value_sd, "bias_sd": bias_sd, "bounds": None, "step": None}
        panel = eh.simulate_panel(objects, assessors, each, seed=at, uncertainties=(1.0,), **options).panel
        category = 1 + np.searchsorted(ends, panel.score)
        pairs = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), category.tolist(), strict=True)
        listed += [(name, *pair) for pair in pairs]
    return listed


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("panel", "object", "assessor", "score"))
    writer.writerows(rows())
