"""Packed panels, parquet files and dask dataframes read onto the workers of a cluster, in blocks of the larger side."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster.blocks import Block, make_block
from evenhand.cluster.crew import Crew, load, watch
from evenhand.cluster.solve import smaller_of
from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.io.coding import CollisionError, Factoriser, Labels, wanted_of
from evenhand.io.packed import manifest_of
from evenhand.io.parquet import parquet_files
from evenhand.io.paths import MANIFEST, regular_file
from evenhand.panel.column import Column, Table
from evenhand.panel.confidence import FACTOR, Form, check_factor
from evenhand.panel.graph import Side
from evenhand.panel.panel import columns_of
from evenhand.panel.roles import Roles, recognise
from evenhand.panel.rules import Collector, Options, no_score
from evenhand.words import count_of

if TYPE_CHECKING:
    import polars as pl

Piece = tuple[Any, NDArray[Any], NDArray[Any], Floats, Floats | None]
"""Assessments of one range: labels of the larger side or None, codes of both sides, scores, precisions."""

ROWS_PER_BLOCK: Final = 1_000_000
_BINS: Final = 4096
_SKETCH: Final = 4096
_SAMPLES: Final = 256
_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, eq=False)
class Source:
    """What is known of a partitioned panel once its blocks are on the workers.

    Attributes
    ----------
    larger
        The side by which the blocks are made.
    labels
        Labels of the smaller side.
    form, factor
        How confidence was declared.
    larger_count
        Size of the larger side, where the source says it.
    label_file
        Where the labels of the larger side are, for blocks that have codes only.
    small
        Future of the labels of the smaller side, where residuals are written with labels.
    notes
        What was noticed.
    """

    larger: Side
    labels: list[str]
    form: Form
    factor: float | None
    larger_count: int | None = None
    label_file: str | None = None
    small: Any = None
    notes: tuple[Problem, ...] = ()


# --- packed panels -------------------------------------------------------------------------------


def load_packed(crew: Crew, source: str | Path, *, weighted: bool) -> Source:
    """Read a packed panel onto the workers, cut by its larger side first where it is not yet.

    Parameters
    ----------
    crew
        The cluster; gets the blocks.
    source
        A directory with a ``panel.json``.
    weighted
        Whether confidences count.
    """
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
    if facts["partitioned_by"] == larger and in_order:
        load(crew, [(packed_block, (file, *question)) for file in files], "reading")
    else:
        _repartition(crew, files, question, int(facts["assessments"]))
    labels = pl.read_parquet(label_files[smaller])["label"].cast(pl.String).to_list()
    if len(labels) != counts[smaller]:
        raise InputError(
            f"{MANIFEST} counts {counts[smaller]:,} {smaller}s, but there are {len(labels):,} labels: pack it again.",
            kind="damaged",
            where=str(source),
        )
    return Source(
        larger=larger,
        labels=labels,
        form=facts["confidence"],
        factor=facts["factor"],
        larger_count=counts[larger],
        label_file=str(label_files[larger]),
        notes=tuple(Problem(note["kind"], note["message"], note["where"]) for note in facts["notes"]),
    )


def read_packed(file: str, larger: Side, counts: tuple[int, int], weighted: bool) -> Piece:
    """Return one part of a packed panel: codes of the larger and of the smaller side, scores, precisions."""
    import polars as pl

    smaller = smaller_of(larger)
    names = [larger, smaller, "score", *(["confidence"] if weighted else [])]
    try:
        frame = pl.read_parquet(file, columns=names, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).splitlines() or ["unknown"])[0][:200].rstrip(".")
        message = f"The part cannot be read ({reason}): pack the panel again."
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
    return None, large, other, score, weight


def packed_block(file: str, larger: Side, counts: tuple[int, int], weighted: bool) -> Block:
    """Return one part of a packed panel as a block."""
    return make_block(*read_packed(file, larger, counts, weighted)[1:])


def _repartition(crew: Crew, files: list[str], question: tuple[Any, ...], assessments: int) -> None:
    """Cut each part by ranges of the larger side, and join what belongs together."""
    parts = [crew.submit(read_packed, file, *question) for file in files]
    watch(parts, "reading")
    count = question[1][0]
    histogram = np.sum(crew.gather([crew.submit(_histogram, part, count) for part in parts]), axis=0)
    blocks = _number_of_blocks(crew, len(files), assessments)
    totals = np.cumsum(histogram)
    marks = np.searchsorted(totals, totals[-1] * np.arange(1, blocks) / blocks, side="left") + 1
    marks = np.unique(marks[marks < np.searchsorted(totals, totals[-1]) + 1])
    edges = [-(-int(mark) * count // histogram.size) for mark in marks]
    _load_pieces(crew, [crew.submit(_split_codes, part, edges) for part in parts], len(edges) + 1)


def _histogram(part: Piece, count: int) -> NDArray[np.int64]:
    bins = min(_BINS, count)
    return np.bincount(part[1].astype(np.int64) * bins // count, minlength=bins)


def _split_codes(part: Piece, edges: Sequence[int]) -> list[Piece]:
    _, large, other, score, weight = part
    where = np.searchsorted(np.asarray(edges, dtype=np.int64), large, side="right")
    order = np.argsort(where, kind="stable")
    chosen = np.split(order, np.searchsorted(where[order], np.arange(1, len(edges) + 1)))
    return [(None, large[c], other[c], score[c], None if weight is None else weight[c]) for c in chosen]


# --- files and frames with labels ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coded:
    """One partition with its labels, in order, and codes in their place; what is wrong with it is in ``problems``."""

    labels: dict[str, Any]
    codes: dict[str, NDArray[Any]]
    score: Floats
    precision: Floats
    form: Form | None
    missing: int
    problems: list[Problem]
    score_name: str

    def __sizeof__(self) -> int:
        labels = sum(int(one.estimated_size()) for one in self.labels.values())
        return 500 + labels + 3 * self.score.nbytes


@dataclass(frozen=True, eq=False)
class Facts:
    """What the client has to know of a coded partition."""

    rows: int
    missing: int
    form: Form | None
    problems: list[Problem]
    score_name: str
    hashes: dict[str, NDArray[np.uint64]]
    samples: dict[str, list[str]]


def load_labelled(
    crew: Crew,
    source: Any,
    *,
    weighted: bool,
    columns: Mapping[str, str | None],
    factor: float = FACTOR,
    duplicates: Literal["error", "keep"] = "error",
) -> Source:
    """Read Parquet files, or a dask dataframe, with labels onto the workers.

    Parameters
    ----------
    crew
        The cluster; gets the blocks.
    source
        A directory of Parquet files, one file, or a dask dataframe.
    weighted
        Whether confidences count.
    columns
        Names of columns by role, where the user gave them.
    factor
        Ratio of the uncertainties of neighbouring levels.
    duplicates
        Whether a repeated pair is refused or kept.
    """
    check_factor(factor)
    coded = _code_all(crew, source, columns, Options(factor))
    watch(coded, "reading")
    facts: list[Facts] = crew.gather([crew.submit(_facts, one) for one in coded])
    problems = [problem for one in facts for problem in one.problems]
    if problems:
        raise InputError(problems)
    rows = sum(one.rows for one in facts)
    if rows == 0:
        raise no_score(f"column {facts[0].score_name}")
    forms = sorted({one.form for one in facts if one.form is not None})
    if len(forms) > 1:
        raise InputError(
            f"Some files declare confidence as {forms[0]} and others as {forms[1]}: use one form in all of them.",
            kind="mixed_confidence",
        )
    counts = {side: _distinct([one.hashes[side] for one in facts]) for side in ("object", "assessor")}
    larger: Side = "object" if counts["object"] >= counts["assessor"] else "assessor"
    smaller = smaller_of(larger)
    small = crew.reduce(_union, [crew.submit(_labels, one, smaller) for one in coded])
    blocks = _number_of_blocks(crew, len(coded), rows)
    samples = sorted(label for one in facts for label in one.samples[larger])
    marks = sorted({samples[at * len(samples) // blocks] for at in range(1, blocks)} - {samples[0]})
    use = weighted and forms[0] != "none"
    _load_pieces(crew, [crew.submit(_split_labels, one, larger, small, marks, use) for one in coded], len(marks) + 1)
    labels = crew.gather(small).to_list()
    if duplicates == "error":
        _refuse_repeats(crew, labels, larger)
    missing = sum(one.missing for one in facts)
    notes = []
    if missing:
        has = "row has no score and counts" if missing == 1 else "rows have no score and count"
        notes.append(Problem("not_assessed", f"{missing:,} {has} as not assessed."))
    of_level = float(factor) if forms[0] == "level" else None
    return Source(larger, labels, forms[0], of_level, small=small, notes=tuple(notes))


def _code_all(crew: Crew, source: Any, columns: Mapping[str, str | None], options: Options) -> list[Any]:
    """Return a future of coded labels for each file or partition."""
    if hasattr(source, "to_delayed"):
        roles = recognise([str(name) for name in source.columns], **columns, covariates=(), source="the frame")
        frames = crew.client.compute(source.to_delayed())
        return [
            crew.submit(code_frame, frame, roles, options, f"partition {number}") for number, frame in enumerate(frames)
        ]
    import polars as pl

    files = [str(file.resolve()) for file in parquet_files(source, "give one with them, or a packed panel")]
    try:
        names = list(pl.read_parquet_schema(files[0]))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(files[0]) from None
    roles = recognise([name.strip() for name in names], **columns, covariates=(), source=Path(source).name)
    return [crew.submit(code_file, file, names, roles, options) for file in files]


def _damaged(file: str) -> InputError:
    message = "The parquet file is damaged or of an unknown kind: write it again."
    return InputError(message, kind="damaged", where=Path(file).name)


def code_file(file: str, names: Sequence[str], roles: Roles, options: Options) -> Coded:
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


def code_frame(frame: Any, roles: Roles, options: Options, where: str) -> Coded:
    """Return one partition of a dask dataframe with its labels as codes."""
    names = [str(name) for name in frame.columns]
    return _code(columns_of(frame, names, roles, options), roles, options, where, first_row=0)


def _code(columns: tuple[Column, ...], roles: Roles, options: Options, where: str, *, first_row: int) -> Coded:
    """Return a partition as the rules read it, with labels in order."""
    import polars as pl

    rows = len(columns[0])
    collector = Collector(roles, options, rows=rows, most_problems=_MOST_PROBLEMS)
    collector.add(Table((), columns, np.arange(first_row, first_row + rows), where))
    problems = [replace(problem, where=f"{where}, {problem.where}") for problem in collector.problems()[0]]
    form = collector.form if collector.size else None
    labels: dict[str, Any] = {}
    coded: dict[str, NDArray[Any]] = {}
    if problems:
        return Coded(labels, coded, np.zeros(0), np.zeros(0), form, 0, problems, columns[2].name)
    both = collector.labels()
    *codes, score, precision = collector.arrays()
    for side, known, code in zip(("object", "assessor"), both, codes, strict=True):
        series = known.series if isinstance(known, Labels) else pl.Series(list(known), dtype=pl.String)
        order = series.arg_sort().to_numpy()
        place = np.empty(order.size, np.uint32)
        place[order] = np.arange(order.size)
        labels[side], coded[side] = series.gather(order), place[code] if order.size else code
    return Coded(labels, coded, score, precision, form, collector.left_out, problems, columns[2].name)


def _facts(coded: Coded) -> Facts:
    hashes, samples = {}, {}
    for side, labels in coded.labels.items():
        hashes[side] = labels.hash(seed=0).unique().sort().head(_SKETCH).to_numpy()
        order = np.sort(coded.codes[side])
        places = np.unique(np.linspace(0, order.size - 1, min(_SAMPLES, order.size)).astype(np.int64))
        samples[side] = labels.gather(order[places]).to_list()
    return Facts(coded.score.size, coded.missing, coded.form, coded.problems, coded.score_name, hashes, samples)


def _distinct(hashes: Sequence[NDArray[np.uint64]]) -> float:
    """Return about how many labels there are, from the smallest of their hashes; exact for few."""
    smallest = np.unique(np.concatenate(list(hashes)))[:_SKETCH]
    if smallest.size < _SKETCH:
        return float(smallest.size)
    return (_SKETCH - 1) / (float(smallest[-1]) / 2.0**64)


def _labels(coded: Coded, side: str) -> Any:
    return coded.labels[side]


def _union(labels: Sequence[pl.Series]) -> pl.Series:
    import polars as pl

    return pl.concat(list(labels)).unique().sort()


def _split_labels(coded: Coded, larger: Side, small: pl.Series, marks: Sequence[str], weighted: bool) -> list[Piece]:
    """Cut a partition by ranges of the larger side's labels; the smaller side gets its codes for good."""
    import polars as pl

    smaller = smaller_of(larger)
    labels = coded.labels[larger]
    ordered = labels.to_list()
    cuts = [0, *(bisect.bisect_left(ordered, mark) for mark in marks), len(ordered)]
    other = coded.labels[smaller].cast(pl.Enum(small)).to_physical().to_numpy()[coded.codes[smaller]]
    codes = coded.codes[larger].astype(np.int64)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], cuts)
    pieces: list[Piece] = []
    for number in range(len(marks) + 1):
        chosen = order[ends[number] : ends[number + 1]]
        names = labels.slice(cuts[number], cuts[number + 1] - cuts[number])
        weight = coded.precision[chosen] if weighted else None
        pieces.append((names, codes[chosen] - cuts[number], other[chosen], coded.score[chosen], weight))
    return pieces


def _refuse_repeats(crew: Crew, labels: Sequence[str], larger: Side) -> None:
    """Refuse an assessor's second score for an object."""
    found = crew.gather([crew.submit(_repeats, block) for block in crew.blocks])
    count = sum(one[0] for one in found)
    if not count:
        return
    _, row, other = next(one for one in found if one[0])
    object_, assessor = (row, labels[other]) if larger == "object" else (labels[other], row)
    raise InputError(
        f"assessor {assessor} scored object {object_} more than once "
        f"({count_of(count, 'repeated assessment')} in all): "
        "correct the files, or choose duplicates keep (separate assessments, --duplicates keep).",
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


def _load_pieces(crew: Crew, splits: list[Any], count: int) -> None:
    """Make each block from its pieces of all parts."""
    picked = [[crew.submit(_pick, split, number) for split in splits] for number in range(count)]
    load(crew, [(_join, (pieces,)) for pieces in picked], "joining")


def _pick(pieces: Sequence[Piece], number: int) -> Piece:
    return pieces[number]


def _join(pieces: Sequence[Piece]) -> Block:
    """Return the block of pieces, whose labels differ from piece to piece where there are labels."""
    labels = None
    codes = [piece[1] for piece in pieces]
    if pieces[0][0] is not None:
        import polars as pl

        labels = pl.concat([piece[0] for piece in pieces]).unique().sort()
        kind = pl.Enum(labels)
        codes = [piece[0].cast(kind).to_physical().to_numpy()[piece[1]] for piece in pieces]
    weights = [piece[4] for piece in pieces if piece[4] is not None]
    return make_block(
        np.concatenate(codes),
        np.concatenate([piece[2] for piece in pieces]),
        np.concatenate([piece[3] for piece in pieces]),
        np.concatenate(weights) if weights else None,
        labels=labels,
    )
