"""One peer on one case, in a process of its own: warmed up first, then timed on the arrays in memory.

``python benchmarks/peers.py PEER FOLDER SMALL RUNS`` prints one line of JSON; SMALL is the folder to warm up on.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from cases import Codes, Floats, read_case


@dataclass(frozen=True, slots=True)
class Answer:
    """What a peer found: values of the objects (None where it finds none) and what it says about itself."""

    values: Floats | None
    claim: str = ""


Timed = Callable[[], Answer]
"""What is timed: everything that comes before has been prepared."""


def prepare_evenhand(codes: Codes, scores: Floats) -> Timed:
    """Time a calibration as a user calls it, panel and all; standard deviations are not asked for."""
    import evenhand as eh

    def run() -> Answer:
        fit = eh.calibrate(eh.Panel.from_arrays(codes[0], codes[1], scores))
        values, _ = fit.values.estimate, fit.biases.estimate
        return Answer(values)

    return run


def prepare_within(codes: Codes, scores: Floats) -> Timed:
    """Time within-py with its own options; its array of categories, column by column, is the transpose of the codes."""
    import within

    categories = codes.T
    objects = int(codes[0].max()) + 1
    last = objects - 1

    def run() -> Answer:
        result = within.solve(categories, scores)
        if (result.layout.index(0, 0, 0), result.layout.index(0, last, 0), result.layout.index(1, 0, 0)) != (
            0,
            last,
            objects,
        ):
            raise ValueError("within-py orders its coefficients in a way that is not foreseen here.")
        claim = "converged" if result.converged else "not converged"
        return Answer(result.x[:objects], f"{claim}, {result.iterations} iterations")

    return run


def prepare_pyfixest(codes: Codes, scores: Floats) -> Timed:
    """Time pyfixest: the fit and its fixed effects, from a data frame."""
    import pandas as pd
    import pyfixest

    frame = pd.DataFrame({"o": codes[0], "a": codes[1], "s": scores})
    labels = [str(code) for code in range(int(codes[0].max()) + 1)]

    def run() -> Answer:
        fit: Any = pyfixest.feols("s ~ 1 | o + a", data=frame, fixef_rm="none")
        effects = fit.fixef()["C(o)"]
        # the level that is missing is the one held at zero
        return Answer(np.array([float(effects.get(label, 0.0)) for label in labels]))

    return run


def prepare_lsmr(codes: Codes, scores: Floats, *, tight: bool = False) -> Timed:
    """Time LSMR of scipy on the sparse matrix of the design, with its own tolerances or with 1e-14."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import lsmr

    objects, assessors = int(codes[0].max()) + 1, int(codes[1].max()) + 1
    columns = np.column_stack([codes[0], codes[1] + np.uint32(objects)]).astype(np.int32).ravel()
    starts = 2 * np.arange(scores.size + 1, dtype=np.int32)
    design = sp.csr_array((np.ones(columns.size), columns, starts), shape=(scores.size, objects + assessors))
    options: dict[str, Any] = {"atol": 1e-14, "btol": 1e-14, "conlim": 0.0, "maxiter": 20_000} if tight else {}

    def run() -> Answer:
        found = lsmr(design, scores, **options)
        says = {0: "zero", 1: "converged", 2: "converged", 4: "converged to rounding", 5: "converged to rounding"}
        return Answer(found[0][:objects], f"{says.get(found[1], 'not converged')}, {found[2]} iterations")

    return run


def prepare_floor(codes: Codes, scores: Floats, *, threads: int) -> Timed:
    """Time one pass over the data: every code and every score is read and added up."""
    import numba

    @numba.njit(nogil=True, fastmath=True)
    def add_up(objects: Codes, assessors: Codes, values: Floats) -> tuple[Any, float]:
        whole, total = np.uint64(0), 0.0
        for at in range(values.size):
            whole += np.uint64(objects[at]) + np.uint64(assessors[at])
            total += values[at]
        return whole, total

    add_up(codes[0, :1], codes[1, :1], scores[:1])
    ends = np.linspace(0, scores.size, threads + 1).astype(int).tolist()
    parts = [slice(start, end) for start, end in itertools.pairwise(ends)]
    pool = ThreadPoolExecutor(threads)

    def run() -> Answer:
        list(pool.map(lambda part: add_up(codes[0, part], codes[1, part], scores[part]), parts))
        return Answer(None)

    return run


def prepare_one_thread(codes: Codes, scores: Floats) -> Timed:
    """Time one pass over the data with one thread."""
    return prepare_floor(codes, scores, threads=1)


def prepare_all_threads(codes: Codes, scores: Floats) -> Timed:
    """Time one pass over the data with a thread for each core."""
    return prepare_floor(codes, scores, threads=len(os.sched_getaffinity(0)))


def prepare_numpy_stream(codes: Codes, scores: Floats) -> Timed:
    """Time one pass over the data as numpy makes it: the sum of each of the three arrays."""

    def run() -> Answer:
        codes[0].sum()
        codes[1].sum()
        scores.sum()
        return Answer(None)

    return run


def prepare_lsmr_tight(codes: Codes, scores: Floats) -> Timed:
    """Time LSMR with tight tolerances."""
    return prepare_lsmr(codes, scores, tight=True)


PEERS: Final[dict[str, Callable[[Codes, Floats], Timed]]] = {
    "evenhand": prepare_evenhand,
    "within": prepare_within,
    "pyfixest": prepare_pyfixest,
    "lsmr": prepare_lsmr,
    "lsmr tight": prepare_lsmr_tight,
    "stream, numpy": prepare_numpy_stream,
    "stream, 1 thread": prepare_one_thread,
    "stream, all threads": prepare_all_threads,
}
"""Who can be measured in a process of Python; lme4 runs in R, see mixed.R."""


def memory(field: str) -> int:
    """Return a figure of this process in bytes: ``VmRSS``, what it holds, or ``VmHWM``, the most that it held."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def forget_peak() -> None:
    """Start the most that this process held afresh, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def measure(peer: str, folder: Path, small: Path, runs: int) -> dict[str, Any]:
    """Return seconds of each run and memory in bytes: after the imports, after loading, at the peak of the first run.

    The values found are written beside the scores, for their error.
    """
    prepare = PEERS[peer]
    with contextlib.suppress(ValueError):  # a peer that fails here says why below
        prepare(*read_case(small))()
    # glibc gives blocks of more than 128 KiB back to the system, and takes them again page by page, until a larger one
    # has been freed: whether the imports of a peer happened to do so must not decide on times of a millisecond
    np.ones(2**20).sum()
    gc.collect()
    imported = memory("VmRSS")
    codes, scores = read_case(folder)
    run = prepare(codes, scores)
    gc.collect()
    loaded = memory("VmRSS")
    forget_peak()
    seconds, peak, claim = [], 0, ""
    for number in range(runs):
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
        if number == 0:
            peak, claim = memory("VmHWM"), answer.claim
            if answer.values is not None:
                np.save(folder / f"{peer}.npy", answer.values)
        del answer
        gc.collect()
    return {"seconds": seconds, "imported": imported, "loaded": loaded, "peak": peak, "claim": claim}


def measure_sds(folder: Path, small: Path, runs: int) -> dict[str, Any]:
    """Return seconds of all standard deviations, and of one dense Cholesky inverse of the smaller side, turn by turn.

    Fits are made before the clock starts; so is the matrix to be inverted, and nothing copies it.
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    import evenhand as eh

    def fit_of(where: Path) -> Any:
        codes, scores = read_case(where)
        return eh.calibrate(eh.Panel.from_arrays(codes[0], codes[1], scores))

    warm = fit_of(small)
    _ = warm.values.sd, warm.biases.sd
    own, inverse = [], []
    for _ in range(runs):
        fit = fit_of(folder)
        gc.collect()
        start = time.perf_counter()
        found = fit.values.sd, fit.biases.sd
        own.append(time.perf_counter() - start)
        side = min(part.size for part in found)
        del fit, found
        gc.collect()
        matrix = np.asfortranarray(np.full((side, side), 1.0))
        matrix[np.diag_indices(side)] += side
        start = time.perf_counter()
        factor, _ = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        dpotri(factor, lower=1, overwrite_c=1)
        inverse.append(time.perf_counter() - start)
        del matrix, factor
    return {"seconds": own, "inverse": inverse, "side": side}


def main() -> None:
    """Measure the peer that the command line names."""
    peer, folder, small, runs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    found = measure_sds(folder, small, runs) if peer == "sds" else measure(peer, folder, small, runs)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
