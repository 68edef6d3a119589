"""Time of the paper's case study 1, as a ratio to solving the full 3015 x 3015 system by dense LU as the paper did.

Both are measured in this run. The dense side builds L in full, replaces its last row by the condition on the biases,
and solves by LU, once for IBA and once for CWC; a few panels are timed and scaled up to the 2000 of the study. Our
side is the whole study: panels, averages, both calibrations, errors.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import scipy.linalg

from evenhand.models.additive import calibrate
from evenhand.panel.panel import Panel
from evenhand.panel.simulate import simulate_panel
from evenhand.studies import simulation_study

BAR, CELLS, RUNS = 20.0, 20, 100


def solve_densely(panel: Panel, confidence: np.ndarray) -> np.ndarray:
    """Return values and biases from the full normal equations by LU."""
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    matrix, right = np.zeros((size, size)), np.zeros(size)
    objects, assessors = panel.object_index, n_objects + panel.assessor_index
    matrix[objects, assessors] = confidence
    matrix[assessors, objects] = confidence
    np.fill_diagonal(matrix, matrix.sum(axis=1))
    np.add.at(right, objects, confidence * panel.score)
    np.add.at(right, assessors, confidence * panel.score)
    matrix[-1], right[-1] = 0.0, 0.0
    matrix[-1, n_objects:] = 1.0
    return np.asarray(scipy.linalg.lu_solve(scipy.linalg.lu_factor(matrix, overwrite_a=True), right))


def main() -> None:
    """Print the two times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=4, help="panels to solve densely")
    parser.add_argument("--jobs", type=int, default=1, help="our processes; the dense side uses the threads of BLAS")
    given = parser.parse_args()
    dense = 0.0
    for number in range(given.panels):
        panel = simulate_panel(per_object=2 + number % 5, seed=number, value_step=1.0).panel
        start = time.perf_counter()
        solve_densely(panel, np.ones(panel.n_assessments))
        found = solve_densely(panel, panel.precision)
        dense += time.perf_counter() - start
        fit = calibrate(panel, gauge="zero_sum")
        assert np.allclose(found, np.concatenate([fit.values.estimate, fit.biases.estimate]), atol=1e-8)
    dense *= CELLS * RUNS / given.panels
    start = time.perf_counter()
    simulation_study(jobs=given.jobs)
    ours = time.perf_counter() - start
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    print(
        f"dense LU {dense:,.0f} s (from {given.panels} panels; threads: {threads}), ours {ours:.1f} s in {given.jobs}"
    )
    ratio = dense / ours
    print(f"ratio {ratio:.0f}, to be at least {BAR:g}: {'reached' if ratio >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
