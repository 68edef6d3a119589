"""Small panels in which everybody scored everything, for programs that know no others.

To write them down anew, from this folder:   python write_complete.py > complete.csv

What is stored is what is tested. After a change, psych.R has to be run again.
"""

from __future__ import annotations

import csv
import sys

import evenhand as eh

SIZES = {
    "many_objects": (30, 3, 15.0, 8.0, 10.0),
    "many_assessors": (8, 12, 10.0, 15.0, 8.0),
    "two_assessors": (25, 2, 12.0, 20.0, 6.0),
    "noisy": (40, 5, 6.0, 5.0, 14.0),
    "small_biases": (20, 6, 12.0, 3.0, 7.0),
}
"""Objects, assessors, and standard deviations of values, biases and noise."""


def rows() -> list[tuple[str, int, int, str]]:
    """Return panel, object, assessor and score of every assessment."""
    listed = []
    for seed, (name, (n_objects, n_assessors, value_sd, bias_sd, noise_sd)) in enumerate(SIZES.items()):
        panel = eh.simulate_panel(
            n_objects,
            n_assessors,
            n_assessors,
            seed=seed,
            value_sd=value_sd,
            bias_sd=bias_sd,
            uncertainties=(noise_sd,),
            bounds=None,
        ).panel
        cells = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), strict=True)
        listed += [(name, o, a, f"{score:g}") for o, a, score in cells]
    return listed


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("panel", "object", "assessor", "score"))
    writer.writerows(rows())
