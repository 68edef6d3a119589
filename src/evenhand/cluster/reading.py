"""Packed panels, parquet files and dask dataframes read onto the workers of a cluster, in blocks of the larger side."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster.blocks import Block, make_block
from evenhand.cluster.crew import Crew, load, watch
from evenhand.cluster.solve import smaller_of
from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.io.coding import CollisionError, Factoriser, Labels
from evenhand.io.packed import manifest_of
from evenhand.io.parquet import parquet_files
from evenhand.io.paths import MANIFEST, reason_of, regular_file
from evenhand.panel.collector import Collector
from evenhand.panel.column import Column, Table
from evenhand.panel.confidence import FACTOR, Declared, Form, check_factor
from evenhand.panel.graph import Side
from evenhand.panel.layout import Roles, recognise
from evenhand.panel.rules import ReadOptions, no_score
from evenhand.panel.source import columns_of, wanted_of
from evenhand.words import Speaker, argument, carried, count_of, spoken

if TYPE_CHECKING:
    import polars as pl

ROWS_PER_BLOCK: Final = 1_000_000
_BINS: Final = 4096
_SKETCH: Final = 4096
_SAMPLES: Final = 256
_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, eq=False)
class Loaded:
    """What is known of a partitioned panel once its blocks are on the workers."""

    larger: Side  # by which the blocks are made
    labels: list[str]  # of the smaller side
    # form, factor: how confidence was declared
    form: Form
    factor: float | None
    larger_count: int | None = None  # where the source says it
    label_file: str | None = None  # where the labels of the larger side are, for blocks that have codes only
    small: Any = None  # future of the labels of the smaller side, where residuals are written with labels
    notes: tuple[Problem, ...] = ()


# --- packed panels -------------------------------------------------------------------------------


def load_packed(crew: Crew, source: str | Path, *, weighted: bool) -> Loaded:
    """Read a packed panel onto the workers, cut by its larger side first where it is not yet."""
    import polars as pl

    facts, place = manifest_of(Path(source)), Path(source).resolve()
    larger: Side = "object" if facts["objects"] > facts["assessors"] else "assessor"
    if facts["objects"] == facts["assessors"]:
        larger = facts["partitioned_by"] or "object"
    smaller = smaller_of(larger)
    counts = {"object": int(facts["objects"]), "assessor": int(facts["assessors"])}
    files = [str(regular_file(place / part["file"])) for part in facts["parts"]]
    label_files = {side: regular_file(place / f"{side}s.parquet") for side in counts}
    question = (larger, (counts[larger], counts[smaller]), weighted and facts["confidence"] != "none")
    in_order = all(part["last"] < after["first"] for part, after in itertools.pairwise(facts["parts"]))
    load(crew, [(packed_block, (file, *question)) for file in files], "reading")
    if facts["partitioned_by"] != larger or not in_order:
        blocks = _number_of_blocks(crew, len(files), int(facts["assessments"]))
        _cut_again(crew, crew.blocks, _even_edges(crew, crew.blocks, counts[larger], blocks))
    labels = pl.read_parquet(label_files[smaller])["label"].cast(pl.String).to_list()
    if len(labels) != counts[smaller]:
        raise InputError(
            f"{MANIFEST} counts {counts[smaller]:,} {smaller}s, but there are {len(labels):,} labels: pack it again.",
            kind="damaged",
            where=str(source),
        )
    return Loaded(
        larger=larger,
        labels=labels,
        form=facts["confidence"],
        factor=facts["factor"],
        larger_count=counts[larger],
        label_file=str(label_files[larger]),
        notes=tuple(Problem(note["kind"], note["message"], note["where"]) for note in facts["notes"]),
    )


def packed_block(file: str, larger: Side, counts: tuple[int, int], weighted: bool) -> Block:
    """Return one part of a packed panel, of so many members of the larger and of the smaller side, as a block."""
    import polars as pl

    smaller = smaller_of(larger)
    names = [larger, smaller, "score", *(["confidence"] if weighted else [])]
    try:
        frame = pl.read_parquet(file, columns=names, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        message = f"The part cannot be read ({reason_of(error)}): pack the panel again."
        raise InputError(message, kind="damaged", where=file) from None
    large, other = (frame[name].to_numpy() for name in names[:2])
    score = frame["score"].cast(pl.Float64).to_numpy()
    weight = frame["confidence"].cast(pl.Float64).to_numpy() if weighted else None
    checks = [
        (~np.isfinite(score), "score", "must be a finite number."),
        (large >= counts[0], larger, "is beyond the labels."),
        (other >= counts[1], smaller, "is beyond the labels."),
    ]
    if weight is not None:
        wrong = ~(weight >= np.finfo(np.float64).tiny) | ~np.isfinite(weight)
        checks.append((wrong, "confidence", "must be positive."))
    for bad, name, message in checks:
        if bad.any():
            row = int(np.argmax(bad))
            where = f"{Path(file).name}, row {row + 1}, column {name}"
            raise InputError(f"{frame[name][row]} {message}", kind=f"bad_{name}", where=where)
    return make_block(large, other, score, weight)


def _even_edges(crew: Crew, parts: list[Any], count: int, blocks: int) -> list[int]:
    """Return the codes at which ranges of the larger side begin that have about as many assessments each."""
    histogram = np.sum(crew.gather([crew.submit(_histogram, part, count) for part in parts]), axis=0)
    totals = np.cumsum(histogram)
    marks = np.searchsorted(totals, totals[-1] * np.arange(1, blocks) / blocks, side="left") + 1
    marks = np.unique(marks[marks < np.searchsorted(totals, totals[-1]) + 1])
    return [-(-int(mark) * count // histogram.size) for mark in marks]


def _histogram(part: Block, count: int) -> Floats:
    bins = min(_BINS, count)
    return np.asarray(np.bincount(part.code * bins // count, np.diff(part.start), bins), dtype=np.float64)


# --- files and frames with labels ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CodedFacts:
    """What the client has to know of a coded partition, with what is wrong with it."""

    rows: int
    missing: int
    declared: Declared | None
    problems: list[Problem]
    score_name: str
    hashes: dict[str, NDArray[np.uint64]]
    samples: dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Coded:
    """One partition with its labels, in order, and codes in their place."""

    facts: CodedFacts
    labels: dict[str, pl.Series]
    codes: dict[str, NDArray[Any]]
    score: Floats
    declared: Floats  # precisions, or levels

    def __sizeof__(self) -> int:
        labels = sum(int(one.estimated_size()) for one in self.labels.values())
        return 500 + labels + 3 * self.score.nbytes


def load_labelled(
    crew: Crew,
    source: Any,
    *,
    weighted: bool,
    columns: Mapping[str, str | None],
    factor: float = FACTOR,
    duplicates: Literal["error", "keep"] = "error",
) -> Loaded:
    """Read a Parquet file, a directory of them, or a dask dataframe, with labels onto the workers."""
    check_factor(factor)
    coded = _code_all(crew, source, columns, ReadOptions(factor))
    watch(coded, "reading")
    facts: list[CodedFacts] = crew.gather([crew.submit(getattr, one, "facts") for one in coded])
    problems = [problem for one in facts for problem in one.problems]
    if problems:
        raise InputError(problems)
    rows = sum(one.rows for one in facts)
    if rows == 0:
        raise no_score(f"column {facts[0].score_name}")
    declared = functools.reduce(operator.or_, [one.declared for one in facts if one.declared is not None])
    _refuse_mixed(declared)
    counts = {side: _distinct([one.hashes[side] for one in facts]) for side in ("object", "assessor")}
    larger: Side = "object" if counts["object"] >= counts["assessor"] else "assessor"
    smaller = smaller_of(larger)
    small = crew.reduce(_union, [crew.submit(_labels, one, smaller) for one in coded])
    blocks = _number_of_blocks(crew, len(coded), rows)
    samples = sorted(label for one in facts for label in one.samples[larger])
    marks = sorted({samples[at * len(samples) // blocks] for at in range(1, blocks)} - {samples[0]})
    use = (declared, factor) if weighted and declared.form != "none" else None
    _cut_again(crew, [crew.submit(_coded_block, one, larger, small, use) for one in coded], marks)
    labels = crew.gather(small).to_list()
    if duplicates == "error":
        _refuse_repeats(crew, labels, larger)
    missing = sum(one.missing for one in facts)
    has = "row has no score and counts" if missing == 1 else "rows have no score and count"
    note = Problem("not_assessed", f"{missing:,} {has} as not assessed.")
    of_level = float(factor) if declared.form == "level" else None
    return Loaded(larger, labels, declared.form, of_level, small=small, notes=(note,) if missing else ())


def _code_all(crew: Crew, source: Any, columns: Mapping[str, str | None], options: ReadOptions) -> list[Any]:
    """Return a future of coded labels for each file or partition."""
    speaker = carried([one.name for one in fields(ReadOptions)])
    if hasattr(source, "to_delayed"):
        roles = recognise([str(name) for name in source.columns], **columns, covariates=(), source="the frame")
        frames = crew.client.compute(source.to_delayed())
        return [
            crew.submit(code_spoken, speaker, code_frame, frame, roles, options, f"partition {number}")
            for number, frame in enumerate(frames)
        ]
    import polars as pl

    files = [str(file.resolve()) for file in parquet_files(source, "give one with them, or a packed panel")]
    try:
        names = list(pl.read_parquet_schema(files[0]))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(files[0]) from None
    roles = recognise([name.strip() for name in names], **columns, covariates=(), source=Path(source).name)
    return [crew.submit(code_spoken, speaker, code_file, file, names, roles, options) for file in files]


def code_spoken(speaker: Speaker | None, code: Callable[..., Coded], *arguments: Any) -> Coded:
    """Return what is coded on a worker, whose messages name arguments as those of the process that asked."""
    with spoken(speaker):
        return code(*arguments)


def _damaged(file: str) -> InputError:
    message = "The parquet file is damaged or of an unknown kind: write it again."
    return InputError(message, kind="damaged", where=Path(file).name)


def code_file(file: str, names: Sequence[str], roles: Roles, options: ReadOptions) -> Coded:
    """Return one Parquet file with its labels as codes."""
    import polars as pl

    wanted = [names[index] for index in roles.used]
    try:
        frame = pl.read_parquet(file, glob=False, columns=wanted)
    except pl.exceptions.ColumnNotFoundError:
        raise InputError(
            f"The file has not all of the columns {', '.join(map(repr, wanted))} that the first file has.",
            kind="missing_column",
            where=Path(file).name,
        ) from None
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(file) from None
    parts = [frame[name] for name in wanted]
    try:
        columns = Factoriser(names, wanted_of(roles, options), frame.height).columns(parts)
    except CollisionError:
        columns = Factoriser(names, wanted_of(roles, options)).columns(parts)
    return _code(columns, roles, options, Path(file).name, first_row=1)


def code_frame(frame: Any, roles: Roles, options: ReadOptions, where: str) -> Coded:
    """Return one partition of a dask dataframe with its labels as codes."""
    names = [str(name) for name in frame.columns]
    return _code(columns_of(frame, names, wanted_of(roles, options)), roles, options, where, first_row=0)


def _code(columns: tuple[Column, ...], roles: Roles, options: ReadOptions, where: str, *, first_row: int) -> Coded:
    """Return a partition as the rules read it, with labels in order."""
    import polars as pl

    rows = len(columns[0])
    collector = Collector(roles, options, rows=rows, most_problems=_MOST_PROBLEMS)
    collector.add(Table((), columns, np.arange(first_row, first_row + rows), where))
    problems = [replace(problem, where=f"{where}, {problem.where}") for problem in collector.problems()[0]]
    declared = collector.declared if collector.size else None
    labels: dict[str, pl.Series] = {}
    codes: dict[str, NDArray[Any]] = {}
    hashes, samples = {}, {}
    score = raw = np.zeros(0)
    if not problems:
        known = collector.labels()
        *indices, score, raw = collector.arrays()
        for side, own, index in zip(("object", "assessor"), known, indices, strict=True):
            series = own.series if isinstance(own, Labels) else pl.Series(list(own), dtype=pl.String)
            order = series.arg_sort().to_numpy()
            place = np.empty(order.size, np.uint32)
            place[order] = np.arange(order.size)
            labels[side], codes[side] = series.gather(order), place[index] if order.size else index
            hashes[side] = series.hash(seed=0).unique().sort().head(_SKETCH).to_numpy()
            ordered = np.sort(codes[side])
            some = np.unique(np.linspace(0, score.size - 1, min(_SAMPLES, score.size)).astype(np.int64))
            samples[side] = labels[side].gather(ordered[some]).to_list()
    facts = CodedFacts(score.size, collector.left_out, declared, problems, columns[2].name, hashes, samples)
    return Coded(facts, labels, codes, score, raw)


def _refuse_mixed(declared: Declared) -> None:
    """Refuse files of which some declare confidence in words and others in numbers, or in numbers that are none."""
    if declared.rank is not None and declared.least < math.inf:
        form = "uncertainty" if declared.hint == "level_or_uncertainty" else "confidence"
        message = f"Some files declare confidence as {form} and others as level: use one form in all of them."
        raise InputError(message, kind="mixed_confidence")
    if declared.form == "confidence" and declared.least <= 0:
        raise InputError(f"the confidence {declared.least:g} must be a positive, finite number.", kind="bad_confidence")


def _distinct(hashes: Sequence[NDArray[np.uint64]]) -> float:
    """Return about how many labels there are, from the smallest of their hashes; exact for few."""
    smallest = np.unique(np.concatenate(list(hashes)))[:_SKETCH]
    if smallest.size < _SKETCH:
        return float(smallest.size)
    return (_SKETCH - 1) / (float(smallest[-1]) / 2.0**64)


def _labels(coded: Coded, side: str) -> pl.Series:
    return coded.labels[side]


def _union(labels: Sequence[pl.Series]) -> pl.Series:
    import polars as pl

    return pl.concat(list(labels)).unique().sort()


def _codes_in(labels: pl.Series, every: pl.Series) -> NDArray[np.uint32]:
    """Return the place of each label among all of them, which are in order."""
    import polars as pl

    return np.asarray(labels.cast(pl.Enum(every)).to_physical().to_numpy())


def _coded_block(coded: Coded, larger: Side, small: pl.Series, use: tuple[Declared, float] | None) -> Block:
    """Return a partition as a block, in which the smaller side has its codes for good; ``use`` makes levels weights."""
    smaller = smaller_of(larger)
    other = _codes_in(coded.labels[smaller], small)[coded.codes[smaller]]
    weight = None if use is None else use[0].precision(coded.declared, use[1])
    return make_block(coded.codes[larger], other, coded.score, weight, labels=coded.labels[larger])


def _refuse_repeats(crew: Crew, labels: Sequence[str], larger: Side) -> None:
    """Refuse an assessor's second score for an object."""
    found = crew.gather(crew.on_blocks(_repeats))
    count = sum(one[0] for one in found)
    if not count:
        return
    _, row, other = next(one for one in found if one[0])
    object_, assessor = (row, labels[other]) if larger == "object" else (labels[other], row)
    raise InputError(
        f"assessor {assessor} scored object {object_} more than once "
        f"({count_of(count, 'repeated assessment')} in all): "
        f"correct the files, or choose duplicates keep (separate assessments, {argument('duplicates', 'keep')}).",
        kind="duplicate",
        where=f"object {object_}",
    )


def _repeats(block: Block) -> tuple[int, str, int]:
    row = block.row
    again = np.flatnonzero((row[1:] == row[:-1]) & (block.other[1:] == block.other[:-1]))
    if not again.size:
        return 0, "", 0
    return int(again.size), str(block.labels[int(row[again[0]])]), int(block.other[again[0]])


# --- blocks --------------------------------------------------------------------------------------


def _number_of_blocks(crew: Crew, files: int, assessments: int) -> int:
    """Return into how many blocks to cut a panel: some for every worker, none too large."""
    return max(files, crew.size, -(-assessments // ROWS_PER_BLOCK))


def _cut_again(crew: Crew, parts: list[Any], edges: Sequence[Any]) -> None:
    """Make blocks of ranges of the larger side, which begin at some labels or codes in order, from any others."""
    splits = [crew.submit(_split, part, edges) for part in parts]
    picked = [[crew.submit(operator.getitem, split, at) for split in splits] for at in range(len(edges) + 1)]
    load(crew, [(_join, (pieces,)) for pieces in picked], "joining")


def _split(block: Block, edges: Sequence[Any]) -> list[Block]:
    known = block.code if block.labels is None else block.labels.to_list()
    cuts = [0, *(bisect.bisect_left(known, edge) for edge in edges), block.rows]
    return [block.between(first, last) for first, last in itertools.pairwise(cuts)]


def _join(pieces: Sequence[Block]) -> Block:
    """Return the block of several, whose labels differ from one to the other where there are labels."""
    labels = None if pieces[0].labels is None else _union([piece.labels for piece in pieces])
    codes = [piece.code if labels is None else _codes_in(piece.labels, labels) for piece in pieces]
    weights = [piece.weight for piece in pieces if piece.weight is not None]
    return make_block(
        np.concatenate([code[piece.row] for code, piece in zip(codes, pieces, strict=True)]),
        np.concatenate([piece.other for piece in pieces]),
        np.concatenate([piece.score for piece in pieces]),
        np.concatenate(weights) if weights else None,
        labels=labels,
    )
