"""A packed panel on the workers of a cluster, cut into blocks by its larger side."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster.blocks import Block, make_block
from evenhand.cluster.crew import Crew, load, watch
from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.io.paths import regular_file
from evenhand.panel.confidence import (
    Form,
)
from evenhand.panel.graph import Side

if TYPE_CHECKING:
    pass

Piece = tuple[Any, NDArray[Any], NDArray[Any], Floats, Floats | None]
"""Assessments of one range: labels of the larger side or None, codes of both sides, scores, precisions."""

ROWS_PER_BLOCK: Final = 1_000_000
_BINS: Final = 4096
_FORMS: Final = ("none", "uncertainty", "confidence", "level")


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


def is_packed(source: object) -> bool:
    """Say whether a source is the directory of a packed panel."""
    return isinstance(source, str | Path) and (Path(source) / "panel.json").is_file()


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

    place = Path(source).resolve()
    facts = _facts_of(place)
    larger = _larger_of(facts)
    smaller: Side = "assessor" if larger == "object" else "object"
    counts = {"object": int(facts["objects"]), "assessor": int(facts["assessors"])}
    files = [str(regular_file(place / part["file"])) for part in facts["parts"]]
    label_files = {"object": place / "objects.parquet", "assessor": place / "assessors.parquet"}
    for file in label_files.values():
        regular_file(file)
    question = (larger, (counts[larger], counts[smaller]), weighted and facts["confidence"] != "none")
    if facts["partitioned_by"] == larger and _in_order(facts["parts"]):
        load(crew, [(packed_block, (file, *question)) for file in files], "reading")
    else:
        _repartition(crew, files, question, int(facts["assessments"]))
    labels = pl.read_parquet(label_files[smaller])["label"].cast(pl.String).to_list()
    if len(labels) != counts[smaller]:
        raise InputError(
            f"panel.json counts {counts[smaller]:,} {smaller}s, but there are {len(labels):,} labels: pack it again.",
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
        notes=tuple(_note(note) for note in facts.get("notes", ())),
    )


def _note(note: object) -> Problem:
    if isinstance(note, Mapping):
        return Problem(str(note.get("kind", "note")), str(note.get("message", "")), note.get("where"))
    return Problem("note", str(note))


def _facts_of(place: Path) -> dict[str, Any]:
    """Return panel.json, checked as far as the work depends on it."""
    where = str(place / "panel.json")
    try:
        facts = json.loads((place / "panel.json").read_text(encoding="utf-8"))
        known = facts["format"] == "evenhand-panel" and facts["version"] == 1
        parts = facts["parts"]
        inside = all((place / part["file"]).resolve().is_relative_to(place) for part in parts)
        sound = known and inside and len(parts) > 0 and facts["confidence"] in _FORMS
        sizes = [int(facts[name]) for name in ("objects", "assessors", "assessments")]
        facts.setdefault("factor", None)
        facts.setdefault("partitioned_by", None)
    except (OSError, ValueError, KeyError, TypeError):
        sound, sizes, facts = False, [], {}
    if not sound or min(sizes) < 1:
        raise InputError("This is not the description of a packed panel: pack it again.", kind="damaged", where=where)
    return dict(facts)


def _larger_of(facts: Mapping[str, Any]) -> Side:
    if facts["objects"] == facts["assessors"]:
        return "assessor" if facts["partitioned_by"] == "assessor" else "object"
    return "object" if facts["objects"] > facts["assessors"] else "assessor"


def _in_order(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the parts hold ranges of codes that do not overlap."""
    try:
        return all(part["last"] < after["first"] for part, after in itertools.pairwise(parts))
    except (KeyError, TypeError):
        return False


def read_packed(file: str, larger: Side, counts: tuple[int, int], weighted: bool) -> Piece:
    """Return one part of a packed panel: codes of the larger and of the smaller side, scores, precisions."""
    import polars as pl

    smaller = "assessor" if larger == "object" else "object"
    names = [larger, smaller, "score", *(["confidence"] if weighted else [])]
    try:
        frame = pl.read_parquet(file, columns=names, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).splitlines() or ["unknown"])[0][:200].rstrip(".")
        raise InputError(
            f"The part cannot be read ({reason}): pack the panel again.", kind="damaged", where=file
        ) from None
    large, other = (frame[name].to_numpy() for name in names[:2])
    score = frame["score"].cast(pl.Float64).to_numpy()
    weight = frame["confidence"].cast(pl.Float64).to_numpy() if weighted else None
    checks = [
        (~np.isfinite(score), "score", "must be a finite number."),
        (large >= counts[0], larger, "is beyond the labels."),
        (other >= counts[1], smaller, "is beyond the labels."),
    ]
    if weight is not None:
        checks.append(
            (~(weight >= np.finfo(np.float64).tiny) | ~np.isfinite(weight), "confidence", "must be positive.")
        )
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
    blocks = number_of_blocks(crew, len(files), assessments)
    totals = np.cumsum(histogram)
    marks = np.searchsorted(totals, totals[-1] * np.arange(1, blocks) / blocks, side="left") + 1
    marks = np.unique(marks[marks < np.searchsorted(totals, totals[-1]) + 1])
    edges = [-(-int(mark) * count // histogram.size) for mark in marks]
    splits = [crew.submit(_split_codes, part, edges) for part in parts]
    load_pieces(crew, splits, len(edges) + 1)


def _histogram(part: Piece, count: int) -> NDArray[np.int64]:
    bins = min(_BINS, count)
    return np.bincount(part[1].astype(np.int64) * bins // count, minlength=bins)


def _split_codes(part: Piece, edges: Sequence[int]) -> list[Piece]:
    _, large, other, score, weight = part
    where = np.searchsorted(np.asarray(edges, dtype=np.int64), large, side="right")
    order = np.argsort(where, kind="stable")
    cuts = np.searchsorted(where[order], np.arange(1, len(edges) + 1))
    chosen = np.split(order, cuts)
    return [(None, large[c], other[c], score[c], None if weight is None else weight[c]) for c in chosen]


def number_of_blocks(crew: Crew, files: int, assessments: int) -> int:
    """Return into how many blocks to cut a panel: some for every worker, none too large."""
    return max(files, crew.size, -(-assessments // ROWS_PER_BLOCK))


def load_pieces(crew: Crew, splits: list[Any], count: int) -> None:
    """Make each block from its pieces of all parts."""
    picked = [[crew.submit(_pick, split, number) for split in splits] for number in range(count)]
    load(crew, [(_join, (pieces,)) for pieces in picked], "joining")


def _pick(pieces: Sequence[Piece], number: int) -> Piece:
    return pieces[number]


def _join(pieces: Sequence[Piece]) -> Block:
    """Return the block of pieces, whose labels differ from piece to piece where there are labels."""
    labels = None
    if pieces[0][0] is not None:
        import polars as pl

        labels = pl.concat([piece[0] for piece in pieces]).unique().sort()
        kind = pl.Enum(labels)
        codes = [piece[0].cast(kind).to_physical().to_numpy()[piece[1]] for piece in pieces]
    else:
        codes = [piece[1] for piece in pieces]
    weights = [piece[4] for piece in pieces if piece[4] is not None]
    return make_block(
        np.concatenate(codes),
        np.concatenate([piece[2] for piece in pieces]),
        np.concatenate([piece[3] for piece in pieces]),
        np.concatenate(weights) if weights else None,
        labels=labels,
    )
