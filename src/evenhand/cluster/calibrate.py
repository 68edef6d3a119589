"""Calibration on a Dask cluster: a partitioned panel in, a directory of Parquet tables out."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.cluster.blocks import Block
from evenhand.cluster.crew import Crew, open_crew, watch
from evenhand.cluster.reading import Loaded, load_labelled, load_packed
from evenhand.cluster.solve import Solved, check_gauge, smaller_of, solve_blocks
from evenhand.compiled import Floats, Whole
from evenhand.errors import InputError, Problem
from evenhand.io.panels import is_packed
from evenhand.io.results import replacing_directory, write_summary, write_whole
from evenhand.models.additive import METHODS
from evenhand.models.family import INTERVAL
from evenhand.models.fit import Asked, Method, Model, Question
from evenhand.models.noise import Noise, NoiseKind, floor_at, make_noise, notes_on
from evenhand.models.posterior import Marginal
from evenhand.panel.confidence import FACTOR
from evenhand.panel.gauge import Gauge, gauge_name
from evenhand.panel.graph import Side
from evenhand.panel.panel import recorded_step
from evenhand.solve.choose import DENSE
from evenhand.words import count_of

if TYPE_CHECKING:
    import polars as pl

_FORMAT: Final = "evenhand-results"


class OnCluster(Method):
    """A method as fitted on a cluster, where the scores stay with the workers."""

    def why_not(self, question: Question) -> str:
        """Return why a question cannot be answered."""
        return (
            "The scores stay with the workers of the cluster, so that nothing more can be asked of this fit than its "
            "tables hold: calibrate the panel, or a part of it, on one machine for that."
        )


@dataclass(frozen=True, eq=False, repr=False)
class DistributedFit(Asked, frames.Shown):
    """What a calibration on a cluster leaves with the caller: the smaller side, and where everything is.

    Attributes
    ----------
    out
        The directory of results: ``objects``, ``assessors`` and ``residuals`` with Parquet files, ``summary.json``.
    side
        The smaller side: ``"assessor"`` or ``"object"``.
    labels, estimate
        Labels and estimates (biases or values) of the smaller side.
    sd, lower, upper
        Posterior standard deviations and ends of intervals; None where there are none.
    assessments, total_confidence
        Number of assessments of each, and sum of their precisions.
    residual, degrees_of_freedom
        R and nu.
    noise_variance
        The factor w of all variances.
    mu2
        Spectral gap; None where it was not computed.
    summary
        What ``summary.json`` holds.
    """

    out: Path
    side: Side
    labels: list[str]
    estimate: Floats
    sd: Floats | None
    lower: Floats | None
    upper: Floats | None
    assessments: NDArray[np.int64]
    total_confidence: Floats
    residual: float
    degrees_of_freedom: int
    noise_variance: float | None
    mu2: float | None
    summary: dict[str, Any]

    def columns(self) -> dict[str, Any]:
        """Return the table of the smaller side as columns, named as in :class:`~evenhand.models.effects.Effects`."""
        within = {"sd": self.sd, "lower": self.lower, "upper": self.upper}
        return _columns(self.side, self.labels, self.estimate, within, self.assessments, self.total_confidence)

    @property
    def model(self) -> Model:
        """What it was made by."""
        return OnCluster(**vars(METHODS[self.summary["method"]]))


def calibrate_distributed(  # noqa: PLR0913
    source: Any,
    out: str | os.PathLike[str],
    *,
    cluster: Any = "local:2",
    method: Literal["cwc", "iba"] = "cwc",
    gauge: Gauge = "weighted",
    noise: NoiseKind = "estimated",
    interval: float = INTERVAL,
    seed: int = 0,
    object: str | None = None,  # the public name is the paper's word
    assessor: str | None = None,
    score: str | None = None,
    uncertainty: str | None = None,
    confidence: str | None = None,
    level: str | None = None,
    factor: float = FACTOR,
    duplicates: Literal["error", "keep"] = "error",
    dense_limit: int = DENSE,
) -> DistributedFit:
    """Calibrate a panel that is too large for one machine, on the workers of a Dask cluster.

    The same model and the same numbers as :func:`~evenhand.calibrate`. The larger side never leaves the workers, which
    write its tables themselves. A worker that dies changes nothing in the answer.

    Parameters
    ----------
    source
        A packed panel, a directory of Parquet files with labels, or a dask dataframe; all workers must see the files.
    out
        Directory of the results; replaced if it holds earlier results, otherwise it must not be there.
    cluster
        ``"local:2"`` for two worker processes on this machine, ``"tcp://host:port"`` of a scheduler, or a
        ``distributed.Client``.
    method
        ``"cwc"``, or ``"iba"`` to weigh all scores alike.
    gauge
        ``"weighted"``, ``"zero_sum"`` or a :class:`~evenhand.Reference`.
    noise
        ``"estimated"`` or ``"declared"``.
    interval
        Probability of intervals.
    seed
        Seed of the draws by which uncertainties are estimated where the smaller side is too large to be exact.
    object, assessor, score, uncertainty, confidence, level
        Names of columns; recognised by their names where not given. Not for packed panels.
    factor
        Ratio of the uncertainties of neighbouring levels. Not for packed panels.
    duplicates
        Whether a second score of an object by an assessor is refused or kept. Packed panels keep what they hold.
    dense_limit
        Most of the smaller side for which the equations are solved with a dense matrix, and uncertainties exactly.

    Raises
    ------
    InputError
        If a file, a row or an option is wrong.
    NotConnectedError
        If the panel falls into groups whose standards cannot be compared.
    SolveError
        If the equations cannot be solved accurately enough, or the cluster fails again and again.
    """
    _check_options(method, noise, interval)
    check_gauge(gauge)
    names = {"object": object, "assessor": assessor, "score": score}
    names |= {"uncertainty": uncertainty, "confidence": confidence, "level": level}
    packed = is_packed(source)
    given = [name for name, column in names.items() if column is not None]
    if packed and given:
        raise InputError(f"A packed panel has no column to choose: leave out {given[0]}.", kind="bad_option")
    target = Path(out).absolute()
    check_out(target)
    weighted = METHODS[method].uses_confidence
    with open_crew(cluster) as crew:
        if packed:
            read = load_packed(crew, source, weighted=weighted)
        else:
            read = load_labelled(crew, source, weighted=weighted, columns=names, factor=factor, duplicates=duplicates)
        declared = noise == "declared"
        if declared and read.form not in ("uncertainty", "confidence"):
            raise InputError(
                "The noise cannot be taken as declared: the panel has nothing that tells its size in points; use "
                "noise estimated.",
                kind="bad_option",
            )
        solved = solve_blocks(
            crew, read.labels, read.larger, gauge=gauge, declared=declared, seed=seed, dense_limit=dense_limit
        )
        rows = solved.totals["rows"]
        if read.larger_count not in (None, rows):
            raise InputError(
                f"panel.json counts {read.larger_count:,} {read.larger}s, but {rows:,} have assessments: pack the "
                "panel again.",
                kind="bad_panel",
            )
        step = recorded_step(np.array(solved.totals["some_scores"]))
        floor = floor_at(step, solved.totals["log_weight"] / solved.totals["assessments"])
        known = make_noise(noise, solved.residual, solved.degrees_of_freedom, floor)
        asked = {"method": method, "gauge": gauge_name(gauge), "noise": known.kind, "interval": interval, "seed": seed}
        fit = DistributedFit(
            out=target,
            side=smaller_of(read.larger),
            labels=read.labels,
            estimate=solved.estimate,
            **_within(solved.estimate, solved.unit_variance, known, interval),
            assessments=solved.totals["count"],
            total_confidence=solved.totals["confidence"],
            residual=solved.residual,
            degrees_of_freedom=solved.degrees_of_freedom,
            noise_variance=known.variance,
            mu2=solved.mu2,
            summary=_summary(crew, read, solved, known, asked),
        )
        try:
            with replacing_directory(target, check_out) as temporary:
                _write(crew, temporary, read, solved, fit, known, interval)
        except OSError as error:
            raise InputError(
                f"The results cannot be written ({error.strerror or error}): choose another place.",
                kind="cannot_write",
                where=str(target),
            ) from None
    return fit


def _check_options(method: str, noise: object, interval: float) -> None:
    if method not in METHODS or not METHODS[method].is_calibrated:
        raise InputError(
            f"On a cluster the method can be cwc or iba, not {method}: averages need no cluster.", kind="bad_option"
        )
    if noise not in ("estimated", "declared"):
        raise InputError("On a cluster the noise can be 'estimated' or 'declared'.", kind="bad_option")
    if noise == "declared" and not METHODS[method].uses_confidence:
        raise InputError(
            "Method iba weighs all scores alike and so cannot take declared uncertainties at face value: use noise "
            "estimated, or method cwc.",
            kind="bad_option",
        )
    if not 0 < interval < 1:
        raise InputError(f"An interval needs a probability between 0 and 1, not {interval:g}.", kind="bad_option")


Within = dict[str, Floats | None]
"""Standard deviations and the ends of intervals by name; None where there are none."""


def _within(estimate: Floats, unit_variance: Floats, noise: Noise, interval: float) -> Within:
    marginal = Marginal.single(noise, unit_variance)
    ends = marginal.interval(interval)
    lower, upper = (None, None) if ends is None else (estimate + ends[0], estimate + ends[1])
    return {"sd": marginal.sd, "lower": lower, "upper": upper}


def _columns(
    side: Side, labels: Any, estimate: Floats, within: Within, assessments: Whole, confidence: Floats
) -> dict[str, Any]:
    columns: dict[str, Any] = {side: labels, "value" if side == "object" else "bias": estimate}
    columns |= {name: [None] * len(estimate) if cells is None else cells for name, cells in within.items()}
    return columns | {"assessments": assessments, "total_confidence": confidence}


def _summary(crew: Crew, read: Loaded, solved: Solved, noise: Noise, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    counts = {read.larger: int(solved.totals["rows"]), smaller_of(read.larger): len(read.labels)}
    assessments, variance = int(solved.totals["assessments"]), noise.variance
    confidence, rms = float(solved.totals["confidence"].sum()), None
    if variance is not None and solved.trace is not None:
        rms = float(np.sqrt(variance * solved.trace / (2 * confidence)))
    error = None if solved.draws is None else float(1 / np.sqrt(2 * solved.draws.shape[1]))
    return {
        "format": _FORMAT,
        "version": 1,
        "panel": {
            "objects": counts["object"],
            "assessors": counts["assessor"],
            "assessments": assessments,
            "components": 1,
            "confidence": read.form,
            "factor": read.factor,
        },
        **asked,
        "fit": {
            "residual": solved.residual,
            "residual_scaled": solved.residual * assessments / confidence,
            "degrees_of_freedom": solved.degrees_of_freedom,
            "noise_variance": variance,
            "noise_variance_ml": solved.residual / assessments,
            "rms_uncertainty": rms,
            "mu2": solved.mu2,
            "log_determinant": solved.log_determinant,
        },
        "solver": {
            "name": f"distributed {solved.solver}",
            "reason": solved.reason,
            "rounds": solved.rounds,
            "blocks": len(crew.blocks),
            "partitioned_by": read.larger,
            "sd_error": error,
        },
        "tables": {"objects": "objects", "assessors": "assessors", "residuals": "residuals"},
        "notes": [asdict(note) for note in (*read.notes, *_notes(solved, noise, error))],
    }


def _notes(solved: Solved, noise: Noise, error: float | None) -> list[Problem]:
    notes = notes_on(noise, recorded_step(np.array(solved.totals["some_scores"])))
    if solved.draws is not None and error is not None:
        drawn = (
            f"standard deviations come from {count_of(solved.draws.shape[1], 'draw')}, with a Monte Carlo error of "
            f"at most {100 * error:.2g} % (one standard error); values and biases are exact."
        )
        not_dense = "spectral gap, determinant and typical uncertainty need a dense matrix: not computed."
        notes += [Problem("drawn_uncertainty", drawn), Problem("mu2", not_dense)]
    return notes


def check_out(target: Path) -> None:
    """Refuse a place for results that holds anything but earlier results."""
    if not target.parent.is_dir():
        raise InputError("There is no such directory to write into.", kind="cannot_write", where=str(target.parent))
    if not (target.exists() or target.is_symlink()):
        return
    try:
        ours = json.loads((target / "summary.json").read_text(encoding="utf-8"))["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours or target.is_symlink():
        raise InputError(
            "Something is there that is not a directory of earlier results, and it is left alone: choose another name.",
            kind="cannot_write",
            where=str(target),
        )


def _write(
    crew: Crew, place: Path, read: Loaded, solved: Solved, fit: DistributedFit, noise: Noise, interval: float
) -> None:
    """Have the workers write the larger side and the residuals; write the smaller side and the summary here."""
    from scipy.stats import rankdata

    for name in ("objects", "assessors", "residuals"):
        (place / name).mkdir()
    shape = (read.larger, read.label_file, noise, interval, str(place))

    def question(sent: Any) -> list[Any]:
        futures = crew.on_blocks(write_block, sent, read.small, *shape, each=range(len(crew.blocks)))
        watch(futures, "writing")
        return futures

    rows = crew.ask(question, shared=replace(solved, totals={}))
    if sum(rows) != solved.totals["rows"]:
        raise AssertionError("a block was not written")
    for left in place.glob("*/.part-*"):  # by a worker that died while it wrote
        left.unlink()
    columns = fit.columns()
    if fit.side == "object":  # from 1 for the highest; equal estimates share the better rank
        columns["rank"] = np.asarray(rankdata(-fit.estimate, method="min"), dtype=np.int64)
    _put(columns, place / f"{fit.side}s" / "part-00000.parquet")
    write_summary(place / "summary.json", fit.summary, ())


def write_block(
    block: Block,
    number: int,
    solved: Solved,
    small: pl.Series | None,
    larger: Side,
    label_file: str | None,
    noise: Noise,
    interval: float,
    place: str,
) -> int:
    """Write estimates and residuals of one block, on the worker that holds it; return the rows written.

    Residuals are written with codes where there are no labels of the smaller side (``small``); ``label_file`` has the
    labels of the block's rows, if the block has none.
    """
    import polars as pl

    estimate, total, unit, residual = solved.finish(block)
    labels = block.labels if label_file is None else _some_labels(label_file, block.code)
    within = _within(estimate, unit, noise, interval)
    table = _columns(larger, labels, estimate, within, np.diff(block.start), total)
    _put(table, Path(place) / f"{larger}s" / f"part-{number:05d}.parquet")
    if small is None:
        own, other = pl.Series(block.code[block.row].astype(np.uint32)), pl.Series(block.other.astype(np.uint32))
    else:
        own, other = labels.gather(block.row), small.gather(block.other)
    columns = {larger: own, smaller_of(larger): other, "score": block.score, "residual": residual}
    residuals = {name: columns[name] for name in ("object", "assessor", "score", "residual")}
    _put(residuals, Path(place) / "residuals" / f"part-{number:05d}.parquet")
    return block.rows


def _some_labels(file: str, codes: NDArray[np.int64]) -> pl.Series:
    """Return the labels of some codes, reading no more of the file than their range."""
    import polars as pl

    first, last = int(codes[0]), int(codes[-1])
    labels = pl.scan_parquet(file, glob=False).slice(first, last - first + 1).collect()["label"]
    return labels.cast(pl.String).gather(codes - first)


def _put(columns: dict[str, Any], file: Path) -> None:
    """Write a table, whole or not at all."""
    import polars as pl

    kinds = dict.fromkeys(columns.keys() & {"sd", "lower", "upper"}, pl.Float64)
    write_whole({file: pl.DataFrame(columns, schema_overrides=kinds).write_parquet})
