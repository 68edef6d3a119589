"""Parquet files and dask dataframes with labels, coded and cut into blocks on the workers of a cluster."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.cluster.blocks import Block
from evenhand.cluster.crew import Crew, watch
from evenhand.cluster.partitions import Piece, Source, load_pieces, number_of_blocks
from evenhand.compiled import Floats
from evenhand.errors import InputError, Problem
from evenhand.io.paths import existing, regular_file
from evenhand.panel.confidence import (
    FACTOR,
    Form,
    FormHint,
    check_factor,
    level_words,
    precision_of_level,
    precision_of_uncertainty,
)
from evenhand.panel.graph import Side
from evenhand.panel.roles import Roles, recognise
from evenhand.words import count_of

if TYPE_CHECKING:
    import polars as pl

_SKETCH: Final = 4096
_SAMPLES: Final = 256
_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, eq=False)
class Coded:
    """One file with its labels turned into codes; what is wrong with it is in ``problems``."""

    labels: dict[str, Any]
    codes: dict[str, NDArray[Any]]
    score: Floats
    precision: Floats | None
    form: Form | None
    missing: int
    problems: list[Problem] = field(default_factory=list)

    def __sizeof__(self) -> int:
        labels = sum(int(one.estimated_size()) for one in self.labels.values())
        return 500 + labels + 3 * self.score.nbytes


@dataclass(frozen=True, eq=False)
class Facts:
    """What the client has to know of a coded file."""

    rows: int
    missing: int
    form: Form | None
    problems: list[Problem]
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
    coded, roles = _code_all(crew, source, columns, factor)
    watch(coded, "reading")
    facts: list[Facts] = crew.gather([crew.submit(_facts, one) for one in coded])
    problems = [problem for one in facts for problem in one.problems]
    if problems:
        raise InputError(problems)
    rows = sum(one.rows for one in facts)
    if rows == 0:
        raise InputError("there is no score: a panel needs at least one row with a score.", kind="empty")
    form = _same_form(facts, roles.form)
    sides: tuple[Side, Side] = ("object", "assessor")
    counts = {side: _distinct([one.hashes[side] for one in facts]) for side in sides}
    larger: Side = "object" if counts["object"] >= counts["assessor"] else "assessor"
    smaller: Side = "assessor" if larger == "object" else "object"
    small = crew.reduce(_union, [crew.submit(_labels, one, smaller) for one in coded])
    blocks = number_of_blocks(crew, len(coded), rows)
    samples = sorted(label for one in facts for label in one.samples[larger])
    marks = sorted({samples[at * len(samples) // blocks] for at in range(1, blocks)} - {samples[0]})
    use = weighted and form != "none"
    splits = [crew.submit(_split_labels, one, larger, small, marks, use) for one in coded]
    load_pieces(crew, splits, len(marks) + 1)
    labels = crew.gather(small).to_list()
    if duplicates == "error":
        _refuse_repeats(crew, labels, larger)
    missing = sum(one.missing for one in facts)
    notes = []
    if missing:
        has = "row has no score and counts" if missing == 1 else "rows have no score and count"
        notes.append(Problem("not_assessed", f"{missing:,} {has} as not assessed."))
    return Source(larger, labels, form, float(factor) if form == "level" else None, small=small, notes=tuple(notes))


def _code_all(crew: Crew, source: Any, columns: Mapping[str, str | None], factor: float) -> tuple[list[Any], Roles]:
    """Return a future of coded labels for each file or partition, and the roles of the columns."""
    if hasattr(source, "to_delayed"):
        names = [str(name) for name in source.columns]
        roles = recognise(names, **columns, covariates=(), source="the frame")
        wanted = _wanted(names, roles)
        frames = crew.client.compute(source[wanted].to_delayed())
        parts = [
            crew.submit(code_frame, frame, wanted, roles.form, factor, f"partition {number}")
            for number, frame in enumerate(frames)
        ]
        return parts, roles
    files = _parquet_files(source)
    import polars as pl

    try:
        names = list(pl.read_parquet_schema(files[0]))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(files[0]) from None
    roles = recognise(names, **columns, covariates=(), source=Path(source).name)
    wanted = _wanted(names, roles)
    return [crew.submit(code_file, file, wanted, roles.form, factor) for file in files], roles


def _wanted(names: Sequence[str], roles: Roles) -> list[str]:
    places = [roles.object, roles.assessor, roles.score, *([] if roles.confidence is None else [roles.confidence])]
    return [names[place] for place in places]


def _parquet_files(source: Any) -> list[str]:
    place = existing(source)[0].resolve()
    if not place.is_dir():
        return [str(regular_file(place))]
    files = sorted(str(regular_file(entry)) for entry in place.iterdir() if entry.suffix.lower() == ".parquet")
    if not files:
        raise InputError(
            "This is a directory without parquet files: give one with them, or a packed panel.",
            kind="not_a_file",
            where=str(source),
        )
    return files


def _damaged(file: str) -> InputError:
    message = "The parquet file is damaged or of an unknown kind: write it again."
    return InputError(message, kind="damaged", where=Path(file).name)


def code_file(file: str, wanted: Sequence[str], hint: FormHint, factor: float) -> Coded:
    """Return one Parquet file with its labels as codes."""
    import polars as pl

    try:
        frame = pl.read_parquet(file, glob=False, columns=list(dict.fromkeys(wanted)))
    except pl.exceptions.ColumnNotFoundError:
        raise InputError(
            f"The file has not all of the columns {', '.join(map(repr, wanted))} that the first file has.",
            kind="missing_column",
            where=Path(file).name,
        ) from None
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(file) from None
    return _code(frame, wanted, hint, factor, Path(file).name, first_row=1)


def code_frame(frame: Any, wanted: Sequence[str], hint: FormHint, factor: float, where: str) -> Coded:
    """Return one partition of a dask dataframe with its labels as codes."""
    import polars as pl

    return _code(pl.from_pandas(frame), wanted, hint, factor, where, first_row=0)


def _code(
    frame: pl.DataFrame, wanted: Sequence[str], hint: FormHint, factor: float, where: str, *, first_row: int
) -> Coded:
    import polars as pl

    problems: list[Problem] = []

    def complain(bad: pl.Series, name: str, kind: str, message: str) -> None:
        for row in bad.arg_true().head(max(0, _MOST_PROBLEMS - len(problems))).to_list():
            shown = message.format(frame[name][row])
            problems.append(Problem(kind, shown, f"{where}, row {row + first_row}, column {name}"))

    score, bad_score, empty = _numbers(frame[wanted[2]])
    complain(bad_score, wanted[2], "bad_score", "the score {!r} is not a finite number: correct it, or leave it empty.")
    there = ~empty
    labels: dict[str, Any] = {}
    codes: dict[str, NDArray[Any]] = {}
    for side, name in zip(("object", "assessor"), wanted, strict=False):
        text = _texts(frame[name])
        message = f"the {side} is missing although there is a score: write its label, or empty the score."
        complain(there & text.is_null(), name, "empty_label", message)
        text = text.filter(there).fill_null("")
        labels[side] = text.unique().sort()
        codes[side] = text.cast(pl.Enum(labels[side])).to_physical().to_numpy().astype(np.uint32)
    form: Form | None = "none"
    precision = None
    if len(wanted) > 3:
        form, precision, bad = _precisions(frame[wanted[3]], there, hint, factor)
        message = f"the {form} {{!r}} cannot be used: it must be there, positive and finite, or a level."
        complain(bad, wanted[3], f"bad_{form}", message)
    if not there.any():
        form = None
    return Coded(labels, codes, score.filter(there).to_numpy(), precision, form, int(empty.sum()), problems)


def _numbers(column: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return numbers, where there is something else, and where there is nothing."""
    import polars as pl

    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        empty = column.is_null() | (column == "").fill_null(True)
        numbers = column.cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
        empty = numbers.is_null() | numbers.is_nan().fill_null(True)
    else:
        empty = column.is_null()
        numbers = pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    bad = ~empty & ~numbers.is_finite().fill_null(False)
    return numbers.fill_null(0.0), bad, empty


def _texts(column: pl.Series) -> pl.Series:
    """Return labels as text, null where blank; whole numbers without a decimal point."""
    import polars as pl

    if column.dtype.is_float():
        whole = (column == column.round(0)) & (column.abs() < 2**53)
        texts = pl.select(
            pl.when(whole).then(column.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(column.cast(pl.String))
        ).to_series()
        missing = column.is_null() | column.is_nan().fill_null(True)
    else:
        texts = column.cast(pl.String)
        missing = texts.is_null() | (texts.str.strip_chars() == "").fill_null(True)
    return texts.set(missing, None)


def _precisions(column: pl.Series, there: pl.Series, hint: FormHint, factor: float) -> tuple[Form, Floats, pl.Series]:
    """Return the form of the confidences, their precisions, and where they are bad."""
    import polars as pl

    numbers, bad, empty = _numbers(column)
    form: Form
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    power = words.replace_strict(level_words(), default=None, return_dtype=pl.Int64)
    if hint == "level_or_uncertainty" or hint == "level_or_confidence":
        other: Form = "uncertainty" if hint == "level_or_uncertainty" else "confidence"
        form = "level" if (power.is_not_null() & there).any() else other
    else:
        form = hint
    if form == "level":
        bad = there & power.is_null()
        precision = precision_of_level(power.fill_null(0).filter(there).to_numpy(), factor)
        return form, precision, bad
    values = numbers.to_numpy()
    precision = precision_of_uncertainty(values) if form == "uncertainty" else values
    extreme = ~np.isfinite(precision) | (precision < np.finfo(np.float64).tiny) | (values <= 0)
    bad = there & (bad | empty | pl.Series(extreme))
    return form, np.asarray(precision, dtype=np.float64)[there.to_numpy()], bad


def _facts(coded: Coded) -> Facts:
    hashes, samples = {}, {}
    for side, labels in coded.labels.items():
        hashes[side] = labels.hash(seed=0).unique().sort().head(_SKETCH).to_numpy()
        order = np.sort(coded.codes[side])
        places = np.unique(np.linspace(0, order.size - 1, min(_SAMPLES, order.size)).astype(np.int64))
        samples[side] = labels.gather(order[places]).to_list()
    return Facts(coded.score.size, coded.missing, coded.form, coded.problems, hashes, samples)


def _distinct(hashes: Sequence[NDArray[np.uint64]]) -> float:
    """Return about how many labels there are, from the smallest of their hashes; exact for few."""
    smallest = np.unique(np.concatenate(list(hashes)))[:_SKETCH]
    if smallest.size < _SKETCH:
        return float(smallest.size)
    return (_SKETCH - 1) / (float(smallest[-1]) / 2.0**64)


def _same_form(facts: Sequence[Facts], hint: FormHint) -> Form:
    forms = sorted({one.form for one in facts if one.form is not None})
    if len(forms) > 1:
        raise InputError(
            f"Some files declare confidence as {forms[0]} and others as {forms[1]}: use one form in all of them.",
            kind="mixed_confidence",
        )
    return forms[0]


def _labels(coded: Coded, side: str) -> Any:
    return coded.labels[side]


def _union(labels: Sequence[pl.Series]) -> pl.Series:
    import polars as pl

    return pl.concat(list(labels)).unique().sort()


def _split_labels(coded: Coded, larger: str, small: pl.Series, marks: Sequence[str], weighted: bool) -> list[Piece]:
    """Cut a file by ranges of the larger side's labels; the smaller side gets its codes for good."""
    import polars as pl

    smaller = "assessor" if larger == "object" else "object"
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
        weight = coded.precision[chosen] if weighted and coded.precision is not None else None
        if weighted and weight is None:
            weight = np.zeros(0)
        names = labels.slice(cuts[number], cuts[number + 1] - cuts[number])
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
