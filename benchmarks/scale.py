"""evenhand beside its peers, from a panel to 100 million scores: time, memory and error, all measured in one run.

``python benchmarks/scale.py [CASE ...] [--quick] [--table PAGE] [--folder FOLDER] [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from cases import CASES, SEED, Case, write_case
from page import table, write_section

HERE: Final = Path(__file__).parent
ALWAYS: Final = ("evenhand", "within", "stream, numpy", "stream, 1 thread", "stream, all threads")
QUICK: Final = ("panel", "conference", "ring", "ratings-1m")
FEW: Final = {"pyfixest": 15_000, "lme4": 15_000, "lsmr": 60_000, "lsmr tight": 60_000}
"""The most scores that these see in a quick run."""
SDS: Final = "sds"
BUSY: Final = 0.5
"""Load of the last minute that is too much."""
PATIENCE: Final = {False: 120.0, True: 30.0}
"""Seconds for a peer that no bar looks at, in a full run and in a quick one."""
NPY_HEADER: Final = 128
HEADS: Final = ("peer", "time", "beside evenhand", "error (sd)", "peak above imports", "above the data", "peak", "says")

Result = dict[str, Any]


# --- measuring -----------------------------------------------------------------------------------


def run_command(command: list[str], limit: float) -> tuple[str, str]:
    """Return what a command prints, with as many threads as it likes, and why it failed: one of them is empty."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = {name: text for name, text in os.environ.items() if name not in threads}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment, cwd=HERE, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"given up after {limit:g} s"
    if done.returncode < 0:
        return "", f"ended by signal {-done.returncode}"
    lines = done.stderr.strip().splitlines()
    return (done.stdout, "") if done.returncode == 0 else ("", lines[-1] if lines else f"exit code {done.returncode}")


def run_python(script: str, *words: object, limit: float) -> tuple[str, str]:
    """Run a script beside this one in a fresh process of Python."""
    return run_command([sys.executable, str(HERE / script), *map(str, words)], limit)


def run_peer(peer: str, case: Case, folder: Path, small: Path, limit: float) -> Result:
    """Return one round of one peer: seconds of each run and memory, or why there is none."""
    if peer == "lme4":
        return run_lme4(case, folder, limit)
    runs = case.runs if peer in ALWAYS else min(case.runs, 2)
    printed, failed = run_python("peers.py", peer, folder, small, runs, limit=limit)
    return {"failed": failed} if failed else json.loads(printed)


def run_lme4(case: Case, folder: Path, limit: float) -> Result:
    """Return one round of lme4 in R."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return {"failed": "R is not installed"}
    files = [str(folder / name) for name in ("codes.npy", "scores.npy")]
    words = [*files, NPY_HEADER, case.scores, 200, min(case.runs, 2)]
    printed, failed = run_command([rscript, str(HERE / "mixed.R"), *map(str, words)], limit)
    if failed:
        return {"failed": failed}
    lines = [line.split() for line in printed.splitlines()]
    seconds = [float(line[1]) for line in lines if line[:1] == ["seconds"]]
    loaded, peak = next((float(line[1]), float(line[2])) for line in lines if line[:1] == ["memory"])
    return {"seconds": seconds, "loaded": loaded, "peak": peak, "claim": "other model: random effects"}


def error_in_sds(folder: Path, peer: str) -> float | None:
    """Return the largest error of a value, one constant for all apart, in standard deviations; None without values.

    The standard deviation is sqrt(w / C_o), which it would be if all biases were known: the true one is larger and
    the error in true standard deviations smaller.
    """
    path = folder / f"{peer}.npy"
    if not path.exists():
        return None
    reference, values = np.load(folder / "tight.npz"), np.load(path)
    difference = values - reference["values"]
    difference -= np.average(difference, weights=reference["total"])
    return float(np.max(np.abs(difference) * np.sqrt(reference["total"] / reference["noise"])))


def measure_case(case: Case, folder: Path, *, quick: bool = False) -> Result:
    """Return the results of all peers on one case; rounds go from peer to peer, so that all see the same machine."""
    small = folder / "small"
    say(f"{case.name}: {case.objects:,} x {case.assessors:,}, {case.scores:,} scores ({case.title})")
    if not (folder / "tight.npz").exists():
        start = time.perf_counter()
        write_case(case, folder)
        write_case(case.small(), small)
        written = time.perf_counter() - start
        _, failed = run_python("tight.py", folder, *(["direct"] if case.direct else []), limit=3 * case.limit)
        if failed:
            raise RuntimeError(f"There is no tight reference of {case.name}: {failed}")
        say(f"  written in {written:.1f} s, tight reference in {time.perf_counter() - start - written:.1f} s")
    tight = np.load(folder / "tight.npz")
    results: dict[str, Result] = {}
    for number in range(2 if quick else case.rounds):
        # no bar looks at the others: one round is enough of them
        others = [peer for peer in case.peers if not quick or case.scores <= FEW.get(peer, 0)]
        for peer in (*ALWAYS, *(others if number == 0 else ())):
            before = results.get(peer, {})
            if "failed" in before:
                continue
            found = run_peer(peer, case, folder, small, case.limit if peer in ALWAYS else PATIENCE[quick])
            if "failed" in found:
                results[peer] = found
            else:
                found["seconds"] = before.get("seconds", []) + found["seconds"]
                found["peak"] = max(before.get("peak", 0), found["peak"])
                results[peer] = found
    for peer, found in results.items():
        if "failed" not in found:
            found |= {"best": min(found["seconds"]), "error": error_in_sds(folder, peer)}
    settled, mu2 = float(tight["moved"]), float(tight["mu2"])
    outcome = {"case": case.name, "peers": results, "settled": settled, "mu2": None if np.isnan(mu2) else mu2}
    print_case(outcome)
    return outcome


def measure_sds(case: Case, folder: Path) -> Result:
    """Return the times of all standard deviations of the conference and of one dense inverse."""
    small = folder / "small"
    say(f"{SDS}: all standard deviations of {case.name}")
    write_case(case, folder)
    write_case(case.small(), small)
    printed, failed = run_python("peers.py", SDS, folder, small, 2, limit=1800)
    found: Result = {"failed": failed} if failed else json.loads(printed)
    if failed:
        say(f"  failed: {failed}")
    else:
        found |= {"best": min(found["seconds"]), "best_inverse": min(found["inverse"])}
        say(f"  all of both sides {found['best']:.2f} s, one dense inverse of {found['side']:,} rows ", end="")
        say(f"{found['best_inverse']:.2f} s")
    return {"case": SDS, "peers": {"evenhand": found}}


# --- bars ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """Something to be reached: what, how much of it there is (None where it was not measured), how much is allowed."""

    text: str
    found: float | None
    most: float
    below: bool = False

    @property
    def reached(self) -> bool:
        """Whether it is reached; what could not be measured is not."""
        if self.found is None:
            return False
        return self.found < self.most if self.below else self.found <= self.most

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The bar as a row of a table."""
        found = "not measured" if self.found is None else f"{self.found:.3g}"
        return (
            self.text,
            found,
            f"{'<' if self.below else '≤'} {self.most:.3g}",
            "reached" if self.reached else "MISSED",
        )


def find_bars(outcomes: dict[str, Result]) -> Iterator[Bar]:
    """Yield the bars of the cases that were measured."""

    def take(case: str, peer: str, figure: Callable[[Result], float | None]) -> float | None:
        found = outcomes[case]["peers"].get(peer, {"failed": "not run"})
        return None if "failed" in found else figure(found)

    def ratio(one: float | None, other: float | None) -> float | None:
        return None if one is None or other is None else one / other

    def best(case: str, peer: str) -> float | None:
        return take(case, peer, lambda found: float(found["best"]))

    def above_imports(case: str, peer: str) -> float | None:
        return take(case, peer, lambda found: float(found["peak"] - found["imported"]))

    for case, share, error in (("panel", 1.0, 1e-8), ("conference", 1.0, 1e-8), ("ring", 1.0, 1e-6)):
        if case in outcomes:
            yield Bar(f"{case}: time beside within-py", ratio(best(case, "evenhand"), best(case, "within")), share)
            yield Bar(f"{case}: error in sd", take(case, "evenhand", lambda found: found["error"]), error)
    for case in ("ratings-10m", "ratings-100m"):
        if case in outcomes:
            yield Bar(f"{case}: time beside within-py", ratio(best(case, "evenhand"), best(case, "within")), 1 / 5)
            memory = ratio(above_imports(case, "evenhand"), above_imports(case, "within"))
            yield Bar(f"{case}: peak memory above imports beside within-py", memory, 1 / 2)
    if "ratings-100m" in outcomes:
        own = best("ratings-100m", "evenhand")
        yield Bar(
            "ratings-100m: time beside numpy's reading the data once",
            ratio(own, best("ratings-100m", "stream, numpy")),
            12,
        )
        floors = [best("ratings-100m", f"stream, {threads}") for threads in ("1 thread", "all threads")]
        floor = min((seconds for seconds in floors if seconds is not None), default=None)
        yield Bar("ratings-100m: time beside a compiled loop's reading the data once", ratio(own, floor), 12)
    if {"hundredth", "ratings-100m"} <= set(outcomes):
        growth = ratio(best("ratings-100m", "evenhand"), best("hundredth", "evenhand"))
        yield Bar("time of 100 million scores beside 1 million of the same density", growth, 150, below=True)
    if SDS in outcomes:
        inverse = take(SDS, "evenhand", lambda found: float(found["best_inverse"]))
        yield Bar("conference: all exact sds beside one dense inverse", ratio(best(SDS, "evenhand"), inverse), 1.5)


# --- showing -------------------------------------------------------------------------------------


def say(text: str, end: str = "\n") -> None:
    """Print at once."""
    print(text, end=end, flush=True)


def show_seconds(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def show_bytes(size: float) -> str:
    """Return an amount of memory."""
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"


def show_error(error: float | None) -> str:
    """Return an error in standard deviations."""
    return "" if error is None else f"{error:.0e}"


def cells_of(peer: str, found: Result, own: float | None) -> tuple[str, ...]:
    """Return one peer on one case as a row."""
    if "failed" in found:
        return peer, "", "", "", "", "", "", f"skipped: {found['failed']}"
    above = show_bytes(found["peak"] - found["imported"]) if "imported" in found else ""
    return (
        peer,
        show_seconds(found["best"]),
        "" if own is None else f"{found['best'] / own:.2f}",
        show_error(found["error"]),
        above,
        show_bytes(max(0, found["peak"] - found["loaded"])),
        show_bytes(found["peak"]),
        found["claim"],
    )


def rows_of(outcome: Result) -> list[tuple[str, ...]]:
    """Return all peers on one case as rows."""
    own = outcome["peers"]["evenhand"].get("best")
    return [cells_of(peer, found, own) for peer, found in outcome["peers"].items()]


def print_case(outcome: Result) -> None:
    """Print the results of one case."""
    mu2 = "" if outcome["mu2"] is None else f", mu_2 {outcome['mu2']:.3g}"
    say(f"  the reference moved by {outcome['settled']:.0e} sd in its last pass{mu2}")
    rows = [HEADS, *rows_of(outcome)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        say("  " + "  ".join(cells).rstrip())


def machine() -> str:
    """Return what the run was made on and with, in a sentence or two."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    names = ("evenhand", "numpy", "scipy", "numba", "within-py", "pyfixest")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"Measured on {platform.machine()} with {len(os.sched_getaffinity(0))} cores and {memory / 2**30:.0f} GiB of "
        f"memory; Python {platform.python_version()}, {versions}. Seed {SEED}."
    )


def company() -> str:
    """Return a warning where something else runs on this machine; to be asked before anything is measured."""
    load = os.getloadavg()[0]
    warning = f"Other work ran on the machine at the same time (load {load:.1f}): do not trust times."
    return warning if load > BUSY else ""


def make_section(outcomes: dict[str, Result], conditions: str) -> str:
    """Return the tables of the page, below a paragraph on the conditions."""
    main_rows, other_rows = [], []
    for name, outcome in outcomes.items():
        if name == SDS:
            continue
        case, peers = CASES[name], outcome["peers"]
        own, within = peers["evenhand"], peers["within"]
        pair = (own, within)
        both = "failed" not in own and "failed" not in within
        main_rows.append(
            [
                f"{name}: {case.title}",
                f"{case.objects:,} × {case.assessors:,}",
                f"{case.scores:,}",
                *("—" if "failed" in found else show_seconds(found["best"]) for found in pair),
                f"{own['best'] / within['best']:.2f}" if both else "—",
                *("—" if "failed" in found else show_error(found["error"]) for found in pair),
                *("—" if "failed" in found else show_bytes(found["peak"] - found["imported"]) for found in pair),
            ]
        )
        other_rows += [
            [name, row[0], row[1] or "—", row[2] or "—", row[3] or "—", row[4] or "—", row[6] or "—", row[7] or "—"]
            for row in rows_of(outcome)
        ]
    bars = [bar.cells for bar in find_bars(outcomes)]
    heads = ["case", "objects × assessors", "scores", "evenhand", "within-py", "ratio of times"]
    heads += ["error, evenhand", "error, within-py", "memory, evenhand", "memory, within-py"]
    others = ["case", "peer", "time", "beside evenhand", "error", "memory", "peak in all", "what it says"]
    mu2 = outcomes.get("ring", {}).get("mu2")
    ring = "" if mu2 is None else f"\n\nThe ring has $\\mu_2$ = {mu2:.2e}, found by shift and invert."
    return "\n\n".join(
        [
            conditions + ring,
            table(heads, main_rows),
            "### The bars\n\n" + table(["bar", "found", "to be", ""], bars),
            "### All peers\n\n" + table(others, other_rows),
        ]
    )


def main() -> None:
    """Measure the cases that the command line names, all of them where it names none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", nargs="*", help=f"any of {', '.join([*CASES, SDS])}")
    parser.add_argument("--quick", action="store_true", help=f"the small cases: {', '.join(QUICK)}")
    parser.add_argument("--table", type=Path, metavar="PAGE", help="renew the tables of this page")
    parser.add_argument("--folder", type=Path, help="keep panels and references here, and use those that are there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    given = parser.parse_args()
    chosen = given.case or (QUICK if given.quick else (*CASES, SDS))
    unknown = sorted(set(chosen) - {*CASES, SDS})
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join([*CASES, SDS])}")
    conditions = " ".join(filter(None, [machine(), company()]))
    say(conditions)
    outcomes: dict[str, Result] = {}
    for name in chosen:
        with tempfile.TemporaryDirectory() as temporary:
            base = (given.folder or Path(temporary)).resolve()
            if name == SDS:
                outcomes[name] = measure_sds(CASES["conference"], base / SDS)
            else:
                outcomes[name] = measure_case(CASES[name], base / name, quick=given.quick)
        if given.json:
            given.json.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    for bar in find_bars(outcomes):
        text, found, most, verdict = bar.cells
        say(f"{text}: {found}, to be {most}: {verdict}")
    if given.table:
        write_section(given.table, "scale", make_section(outcomes, conditions))


if __name__ == "__main__":
    main()
