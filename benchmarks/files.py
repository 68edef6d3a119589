"""Time and memory of reading large files, as ratios to what polars alone takes to read and code them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROWS = 25_000_000
OBJECTS, ASSESSORS = 160_000, 60_000
REPEATS = 3
TIME_BAR = {"csv": 1.3}
"""Largest ratio of times for that many rows, for the kinds of file that have one; Parquet has none."""

MEMORY_BAR = 3.0
"""Largest ratio of memory; with fewer rows, what polars and numba take to be imported weighs more."""

_PROGRAM = """
import json, resource, sys, time
path, reader = sys.argv[1:]
if reader == "polars":
    import polars as pl
    start = time.perf_counter()
    labels = ["object", "assessor"]
    if path.endswith(".csv"):
        frame = pl.read_csv(path, schema_overrides=dict.fromkeys(labels, pl.Categorical))
    else:
        frame = pl.read_parquet(path).with_columns(pl.col(labels).cast(pl.Categorical))
    found = frame.with_columns(pl.col(labels).to_physical()).height
elif reader == "imports":
    if path.endswith(".parquet"):  # read by a process of its own, started while this one is small
        import subprocess
        subprocess.run([sys.executable, "-c", "import polars"], check=True)
    import evenhand.io.panels
    import polars as pl
    import numpy as np
    from evenhand.io import coding
    from evenhand.compiled import compiled
    start, found = time.perf_counter(), 0
    keys, codes = np.zeros(8, np.uint64), np.zeros(8, np.uint32)
    compiled(coding._encode)(keys, keys, codes, codes, np.zeros(8, np.int64), 0, 0)
else:
    from evenhand.io import read_panel
    start = time.perf_counter()
    found = read_panel(path).n_assessments
seconds = time.perf_counter() - start
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"rows": found, "seconds": seconds, "peak": 1024 * (own + child)}))
"""


def write_files(folder: Path, rows: int, seed: int = 1) -> None:
    """Write the same panel, without repeated pairs and with a power law on both sides, as csv and as parquet."""
    generator = np.random.default_rng(seed)

    def drawn(count: int, size: int) -> Any:
        weight = 1.0 / (np.arange(count) + 20.0) ** 0.7
        return np.searchsorted(np.cumsum(weight) / weight.sum(), generator.random(size)).clip(max=count - 1)

    pairs = np.zeros(0, np.int64)
    while pairs.size < rows:
        size = int(1.2 * (rows - pairs.size)) + 100
        more = drawn(OBJECTS, size) * ASSESSORS + drawn(ASSESSORS, size)
        pairs = pl.Series(np.concatenate([pairs, more])).unique(maintain_order=True).to_numpy()
    pairs = pairs[:rows]
    objects = pl.Series([f"item-{number}" for number in generator.permutation(OBJECTS)])
    assessors = pl.Series([f"user-{number}" for number in generator.permutation(ASSESSORS) + 100_000])
    frame = pl.DataFrame(
        {
            "object": objects.gather(pairs // ASSESSORS),
            "assessor": assessors.gather(pairs % ASSESSORS),
            "score": generator.normal(50.0, 15.0, rows).round(2),
        }
    )
    frame.write_csv(folder / "scores.csv")
    frame.write_parquet(folder / "scores.parquet")


def measure(path: Path, reader: str) -> dict[str, float]:
    """Read a file in a fresh process; return seconds without start-up, peak memory in bytes, and rows.

    The reader ``"imports"`` reads nothing, and has only what evenhand imports to read so large a file.
    """
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), reader], capture_output=True, text=True, check=True
    )
    return dict(json.loads(run.stdout))


def rows(count: int = ROWS, repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Return for each kind of file the best times of polars and of evenhand, back to back, and their ratios."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        # in a process of its own: on Linux the peak memory of a process counts as that of those it starts
        subprocess.run([sys.executable, __file__, str(count), "--write", folder], check=True)
        for kind in ("csv", "parquet"):
            path = Path(folder) / f"scores.{kind}"
            measure(path, "evenhand")  # compiles what is not compiled yet
            runs = [(measure(path, "polars"), measure(path, "evenhand")) for _ in range(repeats)]
            imports = measure(path, "imports")["peak"]
            if any(one["rows"] != count for run in runs for one in run):
                raise RuntimeError("a file was not read in full")
            peak = max(run[1]["peak"] for run in runs)
            polars, evenhand = (min(run[at]["seconds"] for run in runs) for at in (0, 1))
            found.append(
                {
                    "file": kind,
                    "rows": count,
                    "polars_seconds": polars,
                    "evenhand_seconds": evenhand,
                    "ratio": min(ours["seconds"] / theirs["seconds"] for theirs, ours in runs),
                    "ratio_of_best": evenhand / polars,
                    "polars_peak": min(run[0]["peak"] for run in runs),
                    "evenhand_peak": peak,
                    "imports_peak": imports,
                    "memory_ratio": peak / (16 * count),
                    "memory_ratio_without_imports": (peak - imports) / (16 * count),
                    "time_bar": TIME_BAR.get(kind),
                    "memory_bar": MEMORY_BAR,
                }
            )
    return found


def verdict(row: dict[str, Any], name: str, bar: float | None) -> str:
    """Return whether a ratio is within its bar, in words; nothing where there is no bar or there are too few rows.

    Examples
    --------
    >>> verdict({"rows": ROWS, "ratio": 1.4}, "ratio", 1.3), verdict({"rows": ROWS, "ratio": 1.4}, "ratio", None)
    (', to be at most 1.3: MISSED', '')
    """
    if bar is None or row["rows"] < ROWS:
        return ""
    return f", to be at most {bar:g}: {'reached' if row[name] <= bar else 'MISSED'}"


def main() -> None:
    """Print the figures with their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=lambda text: int(float(text)), default=ROWS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write the files, to this folder")
    given = parser.parse_args()
    if given.write is not None:
        write_files(given.write, given.rows)
        return
    for row in rows(given.rows, given.repeats):
        print(f"{row['file']}, {row['rows']:,} rows: polars {row['polars_seconds']:.2f} s, ", end="")
        print(f"evenhand {row['evenhand_seconds']:.2f} s; ", end="")
        print(f"time to polars {row['ratio_of_best']:.2f}{verdict(row, 'ratio_of_best', row['time_bar'])}; ", end="")
        print(f"peak memory to coded data {row['memory_ratio']:.2f}", end="")
        print(f"{verdict(row, 'memory_ratio', row['memory_bar'])}; ", end="")
        print(f"peaks {row['polars_peak'] / 2**20:.0f} and {row['evenhand_peak'] / 2**20:.0f} MiB, ", end="")
        print(f"of which {row['imports_peak'] / 2**20:.0f} MiB are polars and numba as imported, ", end="")
        print(f"and without these {row['memory_ratio_without_imports']:.2f} of the coded data")


if __name__ == "__main__":
    main()
