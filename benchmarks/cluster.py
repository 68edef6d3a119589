"""Time of the dense equations of 20 million ratings in Parquet on Dask, as a ratio to a pool of as many processes.

Both read the same files, make the same blocks, run the same loops and solve on the caller's side; both are warm, so
neither pays for its start. ``--assessments`` and ``--repeats`` make it smaller.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import polars as pl

from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import Tally
from evenhand.cluster.crew import Crew, load, local_cluster
from evenhand.cluster.reading import packed_block
from evenhand.cluster.solve import Reduced, sum_up
from evenhand.compiled import Floats
from evenhand.solve.direct import DirectSolver

OBJECTS, ASSESSORS, ASSESSMENTS, PARTS, WORKERS, BAR = 200_000, 2_000, 20_000_000, 16, 2, 1.2


def write_ratings(place: Path, assessments: int = ASSESSMENTS) -> list[str]:
    """Write ratings in parts by object, popular objects and busy assessors by a power law; return the files."""
    generator = np.random.default_rng(1)
    objects = OBJECTS * assessments // ASSESSMENTS
    popular = generator.permutation((np.arange(objects) + 0.02 * objects) ** -0.6)
    busy = np.cumsum((np.arange(ASSESSORS) + 0.02 * ASSESSORS) ** -0.6)
    count = popular / popular.sum() * assessments
    value, bias = generator.normal(3.5, 0.5, objects), generator.normal(0.0, 0.4, ASSESSORS)
    files = []
    for number, part in enumerate(np.array_split(np.arange(objects), PARTS)):
        rows = np.repeat(part, np.ceil(1.3 * count[part]).astype(np.int64))
        columns = np.searchsorted(busy, generator.random(rows.size) * busy[-1])
        pair = np.unique(rows * ASSESSORS + columns)
        wanted = round(float(count[part].sum()))
        pair = np.sort(generator.choice(pair, min(wanted, pair.size), replace=False))
        rows, columns = pair // ASSESSORS, pair % ASSESSORS
        score = np.round(2 * (value[rows] + bias[columns] + generator.normal(0.0, 0.8, rows.size))) / 2
        frame = pl.DataFrame(
            {"object": rows.astype(np.uint32), "assessor": columns.astype(np.uint32), "score": score},
        )
        file = place / f"part-{number:05d}.parquet"
        frame.write_parquet(file)
        files.append(str(file))
    return files


def _question(file: str) -> tuple[Any, ...]:
    return (file, "object", (OBJECTS, ASSESSORS), False)


def on_dask(client: Any, files: list[str]) -> tuple[Floats, Tally]:
    """Read the files into blocks on the workers, sum up the equations there and solve them here."""
    crew = Crew(client)
    load(crew, [(packed_block, _question(file)) for file in files], "reading")
    totals = sum_up(crew, ASSESSORS)
    return _solve(totals), totals


def _solve(totals: Tally) -> Floats:
    system = Reduced.of(totals.pop("links"), totals["confidence"], totals["count"], "object")
    return DirectSolver(system).solve_kept(totals["gradient"])


def _part(files: list[str]) -> Tally:
    return kernel.schur_of([packed_block(*_question(file)) for file in files], ASSESSORS)


def on_pool(pool: ProcessPoolExecutor, files: list[str]) -> tuple[Floats, Tally]:
    """Do the same with a pool: one list of files for each process, one sum back from each."""
    edges = [round(at * len(files) / WORKERS) for at in range(WORKERS + 1)]
    parts = [files[first:last] for first, last in itertools.pairwise(edges)]
    totals = kernel.add(list(pool.map(_part, parts)))
    return _solve(totals), totals


def measure(assessments: int = ASSESSMENTS, repeats: int = 3) -> list[dict[str, Any]]:
    """Return the figures: seconds of both, best of several in turn, and their ratio with its bar."""
    from dask.distributed import Client

    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        local_cluster(WORKERS) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
    ):
        files = write_ratings(Path(folder), assessments)
        warm = files[:WORKERS]
        on_dask(client, warm)
        on_pool(pool, warm)
        times: dict[str, list[float]] = {"dask": [], "pool": []}
        answers: dict[str, Floats] = {}
        count = 0
        for _ in range(repeats):
            for name in times:
                start = time.perf_counter()
                answers[name], totals = on_pool(pool, files) if name == "pool" else on_dask(client, files)
                times[name].append(time.perf_counter() - start)
                count = int(totals["assessments"])
    if not np.allclose(answers["dask"], answers["pool"], rtol=0, atol=1e-9):
        raise AssertionError("Dask and the pool disagree")
    ratio = min(times["dask"]) / min(times["pool"])
    return [
        {
            "name": "distributed",
            "what": f"dense equations of {count:,} ratings ({OBJECTS * assessments // ASSESSMENTS:,} x {ASSESSORS:,}), "
            f"{WORKERS} workers",
            "dask_seconds": min(times["dask"]),
            "pool_seconds": min(times["pool"]),
            "all_seconds": times,
            "ratio": ratio,
            "bar": BAR,
            "reached": ratio <= BAR,
        }
    ]


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assessments", type=int, default=ASSESSMENTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.assessments, options.repeats)
    if options.json:
        print(json.dumps(figures))
        return
    for figure in figures:
        print(figure["what"])
        for name in ("pool", "dask"):
            print(f"  {name} {', '.join(f'{one:.2f}' for one in figure['all_seconds'][name])} s")
        verdict = "reached" if figure["reached"] else "MISSED"
        print(f"  ratio of the best {figure['ratio']:.2f}, to be at most {figure['bar']:g}: {verdict}")


if __name__ == "__main__":
    main()
