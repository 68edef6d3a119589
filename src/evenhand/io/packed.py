"""Packed panels: a directory of coded parquet files that loads without any text being read again."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from evenhand import memory, progress
from evenhand.errors import InputError, Problem, require
from evenhand.io.coding import Labels
from evenhand.io.paths import MANIFEST, reason_of
from evenhand.io.results import replacing_directory
from evenhand.panel.confidence import Form, check_factor
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMAT = "evenhand-panel"
VERSION = 1
_SIDES = ("objects.parquet", "assessors.parquet")
_PIECE = 2**20
_BATCH = 250_000


def pack_panel(panel: Panel, path: str | os.PathLike[str], *, parts: int = 1) -> Path:
    """Write a panel as coded parquet files, which :func:`evenhand.read_panel` loads without recoding.

    The directory holds ``panel.json``, the labels in ``objects.parquet`` and ``assessors.parquet``, whose row i is
    code i, and the assessments in ``parts/part-00000.parquet`` and so on.

    Parameters
    ----------
    panel
        The panel.
    path
        The directory to write. A packed panel that is there is replaced, anything else is refused.
    parts
        Number K of files. One keeps the order of the assessments; more are ordered by the larger of the two sides
        and cut so that each member of it is whole within one file.

    Returns
    -------
    Path
        The directory.

    Raises
    ------
    InputError
        If something else is at that place, fewer members than parts are there to be split, or the panel has
        covariates or criteria.

    Examples
    --------
    >>> import tempfile, evenhand
    >>> panel = Panel.from_arrays([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evenhand.read_panel(pack_panel(panel, f"{folder}/packed"))
    Panel(2 objects, 2 assessors, 3 assessments, no declared confidence)
    """
    require("polars", "A packed panel")
    import polars as pl

    if panel.covariates or panel.criterion is not None:
        message = "A packed panel has no room for covariates or criteria: read the file without them to pack it."
        raise InputError(message, kind="bad_option")
    place = Path(path)
    larger = max(panel.n_objects, panel.n_assessors)
    if not 1 <= parts <= larger:
        side = f"A panel whose larger side has {larger:,} members"
        raise InputError(f"{side} can be packed in 1 to {larger:,} parts, not {parts:,}.", kind="bad_option")
    check_place(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing_directory(place, check_place) as work:
            _write(panel, work, parts)
            work.chmod(0o755)
    except (OSError, pl.exceptions.PolarsError) as error:  # a full disk is either, as the library likes
        raise _unwritable(place, error) from None
    return place


def check_place(place: Path) -> None:
    """Refuse to write over anything that is not a packed panel."""
    if place.is_symlink() or (place.exists() and not _is_ours(place)):
        what = "There is something else at this place, which is not overwritten"
        raise InputError(f"{what}: choose another name for the directory.", kind="exists", where=str(place))


def _is_ours(place: Path) -> bool:
    """Say whether a directory holds a packed panel and nothing else."""
    try:
        names = {str(entry.relative_to(place)) for entry in place.rglob("*")}
        _said(place)
    except (OSError, InputError):
        return False
    ours = {MANIFEST, *_SIDES, "parts"}
    return all(name in ours or re.fullmatch(r"parts.part-\d{5,}\.parquet", name) for name in names)


def read_packed(path: str | os.PathLike[str]) -> Panel:
    """Load a packed panel, and refuse one that is damaged or was changed."""
    require("polars", "A packed panel")
    import polars as pl

    place = Path(path)
    facts = manifest_of(place)
    try:
        return _load(place, facts)
    except (OSError, pl.exceptions.PolarsError):
        raise _changed(place, "its files cannot be read") from None


def _load(place: Path, facts: dict[str, Any]) -> Panel:
    """Return the panel that a manifest describes, with all that it says checked."""
    import polars as pl

    n_objects, n_assessors, size = facts["objects"], facts["assessors"], facts["assessments"]
    types: dict[str, Any] = {"object": pl.UInt32, "assessor": pl.UInt32, "score": pl.Float64}
    if facts["confidence"] != "none":
        types["confidence"] = pl.Float64
    parts = _there(place, *(part["file"] for part in facts["parts"]))
    sides = _there(place, *_SIDES)
    if facts["fingerprint"] != _fingerprint([*sides, *parts]):  # else it could end the library that reads it
        raise _changed(place, f"the files are not those that {MANIFEST} was written for")
    objects, assessors = _labels(place, sides[0], n_objects), _labels(place, sides[1], n_assessors)
    memory.require(8 * (len(types) - 1) * size, f"the {size:,} assessments of {place.name}")
    targets: dict[str, NDArray[Any]] = {
        name: np.empty(size, np.uint32 if kind == pl.UInt32 else np.float64) for name, kind in types.items()
    }
    seen = {"object": np.zeros(n_objects, np.bool_), "assessor": np.zeros(n_assessors, np.bool_)}
    done = 0
    for part, file in zip(facts["parts"], parts, strict=True):
        progress.report(f"reading {place.name}", done, size)
        scan = pl.scan_parquet(file, glob=False)
        if dict(scan.collect_schema()) != types or scan.select(pl.len()).collect().item() != part["rows"]:
            raise _changed(place, f"its parts do not hold what {MANIFEST} says")
        for frame in scan.collect_batches(maintain_order=True, chunk_size=_BATCH):
            if any(column.null_count() for column in frame.iter_columns()):
                raise _changed(place, f"its parts do not hold what {MANIFEST} says")
            for name, target in targets.items():
                target[done : done + frame.height] = frame[name].to_numpy()
            for name, used in seen.items():
                codes = targets[name][done : done + frame.height]
                if int(codes.max(initial=0)) >= used.size:
                    raise _changed(place, f"an {name} has the code {int(codes.max())}, for which there is no label")
                used[codes] = True
            done += frame.height
            progress.report(f"reading {place.name}", done, size)
    start = 0
    for part in facts["parts"]:
        codes = targets[facts["partitioned_by"] or "object"][start : start + part["rows"]]
        if not codes.size or (int(codes.min()), int(codes.max())) != (part["first"], part["last"]):
            raise _changed(place, f"{part['file']} does not hold the codes that {MANIFEST} says")
        start += part["rows"]
    for name, used in seen.items():
        if not used.all():
            raise _changed(place, f"an {name} has no assessment")
    if not np.isfinite(targets["score"]).all():
        raise _changed(place, "a score is not finite")
    precision = targets.get("confidence", np.broadcast_to(np.float64(1.0), size).view())
    if "confidence" in targets and not (np.isfinite(precision).all() and precision.min() >= np.finfo(float).tiny):
        raise _changed(place, "a confidence is not positive and finite")
    return Panel(
        objects=objects,
        assessors=assessors,
        object_index=targets["object"],
        assessor_index=targets["assessor"],
        score=targets["score"],
        precision=precision,
        confidence=facts["confidence"],
        factor=facts["factor"],
        notes=tuple(Problem(note["kind"], note["message"], note["where"]) for note in facts["notes"]),
    )


def _write(panel: Panel, work: Path, parts: int) -> None:
    """Write all files into an empty directory."""
    import polars as pl

    (work / "parts").mkdir()
    for name, labels in zip(_SIDES, (panel.objects, panel.assessors), strict=True):
        texts = labels.series if isinstance(labels, Labels) else pl.Series(list(labels), dtype=pl.String)
        pl.DataFrame({"label": texts}).write_parquet(work / name)
    by_object = panel.n_objects >= panel.n_assessors
    side: str | None = ("object" if by_object else "assessor") if parts > 1 else None
    order, cuts = _partition(panel, parts, by_object=by_object)
    written: list[dict[str, Any]] = []
    for number in range(parts):
        progress.report("packing", number, parts)
        rows = slice(cuts[number], cuts[number + 1]) if order is None else order[cuts[number] : cuts[number + 1]]
        columns: dict[str, NDArray[Any]] = {
            "object": panel.object_index[rows].astype(np.uint32, copy=False),
            "assessor": panel.assessor_index[rows].astype(np.uint32, copy=False),
            "score": panel.score[rows],
        }
        if panel.confidence != "none":
            columns["confidence"] = np.ascontiguousarray(panel.precision[rows])
        name = f"parts/part-{number:05d}.parquet"
        pl.DataFrame(columns).write_parquet(work / name)
        codes = columns[side or "object"]
        written.append({"file": name, "rows": int(codes.size), "first": int(codes.min()), "last": int(codes.max())})
    progress.report("packing", parts, parts)
    manifest = {
        "format": _FORMAT,
        "version": VERSION,
        "objects": panel.n_objects,
        "assessors": panel.n_assessors,
        "assessments": panel.n_assessments,
        "confidence": panel.confidence,
        "factor": panel.factor,
        "partitioned_by": side,
        "parts": written,
        "notes": [{"kind": note.kind, "message": note.message, "where": note.where} for note in panel.notes],
        "fingerprint": _fingerprint([work / name for name in (*_SIDES, *(part["file"] for part in written))]),
    }
    (work / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _partition(panel: Panel, parts: int, *, by_object: bool) -> tuple[NDArray[np.int64] | None, list[int]]:
    """Return the order of the rows, None for their own, and where to cut it."""
    if parts == 1:
        return None, [0, panel.n_assessments]
    codes = panel.object_index if by_object else panel.assessor_index
    counts = panel.object_assessments if by_object else panel.assessor_assessments
    ends = np.cumsum(counts)
    # member boundaries nearest to equal shares, each part at least one member
    wanted = np.arange(1, parts) * (panel.n_assessments / parts)
    members = np.searchsorted(ends, wanted) + 1
    least = np.arange(1, parts)
    members = np.maximum.accumulate(np.maximum(members, least) - least) + least
    members = np.minimum(members, counts.size - parts + least)
    cuts = [0, *ends[members - 1].tolist(), panel.n_assessments]
    return np.argsort(codes, kind="stable"), [int(cut) for cut in cuts]


def manifest_of(place: Path) -> dict[str, Any]:
    """Return the facts about a packed panel, each of the type that it must have."""
    facts = _said(place)
    if facts.get("version") != VERSION:
        version = f"The packed panel has version {facts.get('version')!r}, and this evenhand reads version {VERSION}"
        message = f"{version}: pack it again, or install a newer evenhand."
        raise InputError(message, kind="damaged", where=str(place))
    if not _is_sound(facts):
        raise _changed(place, f"{MANIFEST} is incomplete")
    return facts


def _said(place: Path) -> dict[str, Any]:
    """Return what a manifest says, which may be anything but must be about a panel."""
    try:
        facts = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise _changed(place, f"{MANIFEST} cannot be read") from None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise _changed(place, f"{MANIFEST} is not that of a panel")
    return facts


def _is_sound(facts: dict[str, Any]) -> bool:
    """Say whether the entries of a manifest have the right types and agree with each other."""
    parts, notes, factor = facts.get("parts"), facts.get("notes"), facts.get("factor")
    if not isinstance(parts, list) or not isinstance(notes, list) or not isinstance(facts.get("fingerprint"), str):
        return False
    if facts.get("confidence") not in get_args(Form) or facts.get("partitioned_by") not in ("object", "assessor", None):
        return False
    try:
        if facts["confidence"] == "level":
            check_factor(factor if isinstance(factor, int | float) else 0.0)
        elif isinstance(factor, int | float):
            return False
    except InputError:
        return False
    return (
        all(_are_counts(facts, name) and facts[name] > 0 for name in ("objects", "assessors", "assessments"))
        and all(isinstance(one, dict) for one in (*parts, *notes))
        and all(part.get("file") == f"parts/part-{number:05d}.parquet" for number, part in enumerate(parts))
        and all(_are_counts(part, "rows", "first", "last") for part in parts)
        and all(isinstance(note.get("kind"), str) and isinstance(note.get("message"), str) for note in notes)
        and all("where" in note and isinstance(note["where"], str | None) for note in notes)
        and bool(parts)
        and sum(part["rows"] for part in parts) == facts["assessments"]
    )


def _are_counts(facts: dict[str, Any], *names: str) -> bool:
    return all(type(facts.get(name)) is int and facts[name] >= 0 for name in names)


def _labels(place: Path, file: Path, count: int) -> Labels:
    """Read the labels of one side."""
    import polars as pl

    scan = pl.scan_parquet(file, glob=False)
    if dict(scan.collect_schema()) != {"label": pl.String}:
        raise _changed(place, "its labels are not different texts")
    labels = scan.collect().to_series().rechunk()
    if len(labels) != count:
        raise _changed(place, f"there are not as many labels as {MANIFEST} says")
    if labels.null_count() or labels.n_unique() != count:
        raise _changed(place, "its labels are not different texts")
    return Labels(labels)


def _there(place: Path, *names: str) -> list[Path]:
    """Return files of a packed panel, or say which one is missing."""
    for name in names:
        if not (place / name).is_file():
            raise _changed(place, f"{name} is missing")
    return [place / name for name in names]


def _fingerprint(files: Sequence[Path]) -> str:
    """Return a hash of the contents of files, one after the other."""
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(file.stat().st_size.to_bytes(8, "little"))
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
    return digest.hexdigest()


def _changed(place: Path, what: str) -> InputError:
    message = f"The packed panel is damaged or was changed ({what}): pack it again."
    return InputError(message, kind="damaged", where=str(place))


def _unwritable(place: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or reason_of(error)
    return InputError(f"The directory cannot be written: {reason}.", kind="unwritable", where=str(place))
