"""A panel: which assessor gave which object what score, and how sure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand import frames
from evenhand.compiled import count_by, frozen, sum_by
from evenhand.errors import InputError, Problem, bad_option
from evenhand.frames import MOST_ROWS, html_lines, html_table
from evenhand.panel.column import Numbered
from evenhand.panel.confidence import FACTOR, Form
from evenhand.panel.headings import fold, meaning_of
from evenhand.panel.layout import Given, Kind, listed_names
from evenhand.panel.reading import Reading
from evenhand.panel.rules import Best, Duplicates, ReadOptions, label_text
from evenhand.panel.source import Frame, Read, read_source
from evenhand.words import argument, count_of, name_some


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Assessments (assessor, object, score, precision) with the labels of both sides.

    Made by :meth:`from_frame`, :meth:`from_arrays` or :func:`evenhand.read_panel`; never changed afterwards.

    Attributes
    ----------
    objects, assessors
        Labels, in order of first appearance.
    object_index, assessor_index
        For each of the N assessments, the position of its object and of its assessor.
    score
        The N scores.
    precision
        The N precisions c = 1/sigma^2, all positive; ones where no confidence was declared.
    confidence
        How confidence was declared: ``"uncertainty"``, ``"confidence"``, ``"level"`` or ``"none"``.
    factor
        The factor between levels, where levels were declared.
    notes
        What was noticed and not refused: empty scores, labels that look alike, combined duplicates.
    backend
        The kind of frame that tables come back as.
    covariates
        Further columns by name, a cell for each assessment: numbers, or text for categories.
    criterion
        For each assessment the criterion that its score is for; None where no column of criteria was given.
    reading
        How the file or frame was read; None for panels of arrays.
    object_details, assessor_details
        What goes with the objects and with the assessors, such as titles: by column, and then by label.
    rows
        The row of the file that each score stands in; None where there is no file, or a large one.
    """

    objects: Sequence[str]
    assessors: Sequence[str]
    object_index: NDArray[np.integer[Any]]
    assessor_index: NDArray[np.integer[Any]]
    score: NDArray[np.float64]
    precision: NDArray[np.float64]
    confidence: Form = "none"
    factor: float | None = None
    notes: tuple[Problem, ...] = ()
    backend: frames.Backend = frames.DEFAULT_BACKEND
    covariates: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    criterion: NDArray[np.str_] | None = None
    reading: Reading | None = None
    object_details: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    assessor_details: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows.size != self.score.size:  # made of another panel, with other scores
            object.__setattr__(self, "rows", None)
        arrays = (self.object_index, self.assessor_index, self.score, self.precision, *self.covariates.values())
        for array in (*arrays, *([] if self.criterion is None else [self.criterion])):
            array.flags.writeable = False

    @classmethod
    def from_frame(  # noqa: PLR0913
        cls,
        frame: object,
        *,
        object: str | None = None,  # the public name is the paper's word
        assessor: str | None = None,
        score: str | None = None,
        uncertainty: str | None = None,
        confidence: str | None = None,
        level: str | None = None,
        factor: float = FACTOR,
        aliases: Mapping[str, str] | None = None,
        duplicates: Duplicates = "error",
        missing: Sequence[str] = (),
        criterion: str | None = None,
        covariates: Sequence[str] = (),
        wide: bool = False,
        layout: Kind | None = None,
        criteria: Sequence[str] = (),
        scores: Mapping[str, float] | None = None,
        level_scale: tuple[float, float] | None = None,
        best: Best | None = None,
    ) -> Panel:
        """Return the panel that a pandas, polars or pyarrow table holds, whatever its layout.

        Parameters
        ----------
        frame
            The table. Missing scores mean "not assessed": such rows are counted in ``notes`` and left out.
        object, assessor, score, uncertainty, confidence, level
            Names of the columns; recognised by their names where not given (see :mod:`evenhand.panel.layout`).
        factor
            Ratio of the uncertainties of neighbouring levels.
        aliases
            Further words for levels: ``{"hoch": "high"}``.
        duplicates
            What to do where an assessor scored an object twice (with a criterion: twice for one criterion).
        missing
            Texts that mean an empty cell, such as ``"NA"``.
        criterion
            Name of the column that says which criterion a score is for.
        covariates
            Names of further columns, by which :attr:`covariates` holds them. One whose cells are all numbers, or
            true and false (1 and 0), becomes numbers; any other, and one of a categorical type, becomes text.
        wide, layout, criteria, scores, level_scale, best
            As :func:`evenhand.read_panel` takes them.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"object": ["x", "y"], "assessor": ["A", "A"], "score": [1.0, 2.0]})
        >>> Panel.from_frame(frame)
        Panel(2 objects, 1 assessor, 2 assessments, no declared confidence)
        """
        given = Given(
            object=object,
            assessor=assessor,
            score=score,
            uncertainty=uncertainty,
            confidence=confidence,
            level=level,
            criterion=criterion,
            covariates=listed_names(covariates),
            criteria=listed_names(criteria),
            layout="wide" if wide else layout,
        )
        options = ReadOptions(factor, aliases, duplicates, missing, scores, level_scale, best)
        read = read_source(Frame(frame), given, options)
        panel = cls.from_read(read, factor=factor, backend=frames.backend_of(frame))
        told = {"factor": None if factor == FACTOR else factor, "aliases": aliases}
        return refuse_idle(panel, **told, scores=scores, level_scale=level_scale)

    @classmethod
    def from_read(
        cls, read: Read, *, factor: float = FACTOR, backend: frames.Backend = frames.DEFAULT_BACKEND
    ) -> Panel:
        """Return the panel of assessments that were read: the door that files and frames come through."""
        entries = read.entries
        return cls(
            objects=entries.objects,
            assessors=entries.assessors,
            object_index=entries.object_index,
            assessor_index=entries.assessor_index,
            score=entries.score,
            precision=entries.precision,
            confidence=entries.form,
            factor=float(factor) if entries.form == "level" else None,
            notes=(*read.notes, *entries.notes),
            backend=backend,
            covariates=entries.covariates,
            criterion=entries.criterion,
            reading=read.reading,
            rows=entries.rows,
            object_details=read.object_details,
            assessor_details=read.assessor_details,
        )

    @classmethod
    def from_arrays(
        cls,
        object_index: ArrayLike,
        assessor_index: ArrayLike,
        score: ArrayLike,
        confidence: ArrayLike | None = None,
        *,
        objects: Sequence[str] | None = None,
        assessors: Sequence[str] | None = None,
        covariates: Mapping[str, ArrayLike] | None = None,
        criterion: ArrayLike | None = None,
    ) -> Panel:
        """Return a panel from whole-number codes, without labels or copies: the fast door for large data.

        An assessor's second score for an object is kept as a further assessment; nothing looks for duplicates here.

        Parameters
        ----------
        object_index, assessor_index
            Codes from 0 without gaps, of any integer type.
        score
            Finite scores.
        confidence
            Positive precisions c = 1/sigma^2; all equal where not given.
        objects, assessors
            Labels, one for each code; the codes themselves as text where not given.
        covariates
            Further columns by name, a cell for each assessment: numbers, truth values (1 and 0), or text.
        criterion
            For each assessment the criterion that its score is for.

        Examples
        --------
        >>> Panel.from_arrays([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0])
        Panel(2 objects, 2 assessors, 3 assessments, no declared confidence)
        """
        scores = _numbers("score", score)
        if scores.ndim != 1:
            raise InputError(f"Scores must be one array, not one of shape {scores.shape}.", kind="bad_shape")
        if scores.size == 0:
            raise InputError("There are no scores: a panel needs at least one assessment.", kind="empty")
        object_codes, of_objects = _check_codes("object_index", object_index, scores.size, objects)
        assessor_codes, of_assessors = _check_codes("assessor_index", assessor_index, scores.size, assessors)
        _check_finite("score", scores)
        if confidence is None:
            precision: NDArray[np.float64] = np.broadcast_to(np.float64(1.0), scores.shape)
        else:
            precision = _numbers("confidence", confidence)
            if precision.shape != scores.shape:
                raise InputError(
                    f"There are {scores.size} scores but {precision.size} confidences: give one for each.",
                    kind="bad_shape",
                )
            _check_finite("confidence", precision)
            smallest = np.finfo(np.float64).tiny
            if precision.min() < smallest:
                at = int(np.argmax(precision < smallest))
                raise InputError(
                    f"{precision[at]:g} is not a confidence: it must be positive, and not too small to compute with.",
                    kind="bad_confidence",
                    where=f"confidence[{at}]",
                )
        panel = cls(
            objects=Numbered(of_objects.size) if objects is None else tuple(objects),
            assessors=Numbered(of_assessors.size) if assessors is None else tuple(assessors),
            object_index=object_codes,
            assessor_index=assessor_codes,
            score=scores.view(),
            precision=precision.view(),
            confidence="none" if confidence is None else "confidence",
            covariates={name: _further(name, given, scores.size) for name, given in (covariates or {}).items()},
            criterion=None if criterion is None else _texts("criterion", np.asarray(criterion), scores.size),
        )
        # counted already, to look for gaps
        panel.__dict__.update(object_assessments=frozen(of_objects), assessor_assessments=frozen(of_assessors))
        return panel

    @cached_property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.objects)

    @cached_property
    def n_assessors(self) -> int:
        """Number of assessors."""
        return len(self.assessors)

    @cached_property
    def n_assessments(self) -> int:
        """Number N of assessments."""
        return int(self.score.size)

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The criteria in order of first appearance; empty where no column of criteria was given."""
        return () if self.criterion is None else tuple(dict.fromkeys(self.criterion.tolist()))

    @cached_property
    def object_assessments(self) -> NDArray[np.int64]:
        """Number of assessments of each object."""
        return frozen(count_by(self.object_index, self.n_objects))

    @cached_property
    def assessor_assessments(self) -> NDArray[np.int64]:
        """Number of assessments by each assessor."""
        return frozen(count_by(self.assessor_index, self.n_assessors))

    @property
    def noun(self) -> str:
        """What the file calls an object, in a word: ``"proposal"``; ``"object"`` where it does not say."""
        return "object" if self.reading is None else self.reading.noun

    @property
    def turned(self) -> float | None:
        """What scores are taken from where the lowest was the best, and the others say what stood there; else None."""
        return None if self.reading is None else self.reading.turned

    def refuse_turned(self, what: str) -> None:
        """Refuse marks of the file's own scale, where the lowest is the best and scores were turned around."""
        if self.turned is not None:
            raise bad_option(
                f"{what} cannot be told here: the lowest score is the best, so that scores were turned around, and a "
                f"mark m is {self.turned:g} - m in all tables. Turn the scores around in the file, on any scale, "
                f"and leave {argument('best')} out."
            )

    @property
    def is_equally_confident(self) -> bool:
        """Whether all precisions are one and the same number, kept once."""
        return self.precision.strides == (0,)

    @cached_property
    def object_confidence(self) -> NDArray[np.float64]:
        """Total confidence C_o in each object."""
        if self.is_equally_confident:
            return frozen(self.object_assessments * self.precision[0])
        return frozen(sum_by(self.object_index, self.precision, self.n_objects))

    @cached_property
    def assessor_confidence(self) -> NDArray[np.float64]:
        """Total confidence C'_a of each assessor."""
        if self.is_equally_confident:
            return frozen(self.assessor_assessments * self.precision[0])
        return frozen(sum_by(self.assessor_index, self.precision, self.n_assessors))

    @cached_property
    def total_confidence(self) -> float:
        """Sum C of all precisions."""
        return float(self.object_confidence.sum())

    @cached_property
    def step(self) -> float | None:
        """The step of the grid that scores were recorded on: 1 for whole points; None where there is no grid."""
        return recorded_step(self.score)

    def details(self, side: Literal["object", "assessor"]) -> dict[str, list[str | None]]:
        """Return what goes with the objects or the assessors, such as titles: a cell for each, in the panel's order.

        Names of columns are identifiers: the one that holds titles is called ``title``.

        Examples
        --------
        >>> panel = Panel.from_arrays([0, 1], [0, 0], [3.0, 4.0], objects=["P1", "P2"])
        >>> replace(panel, object_details={"Paper title": {"P1": "On cakes"}}).details("object")
        {'title': ['On cakes', None]}
        """
        if side == "object":
            return detail_columns(side, self.object_details, self.objects)
        return detail_columns(side, self.assessor_details, self.assessors)

    def with_equal_confidence(self) -> Panel:
        """Return the same panel with every precision 1: what SA and IBA see."""
        ones: NDArray[np.float64] = np.broadcast_to(np.float64(1.0), self.score.shape)
        return replace(self, precision=ones.view())

    def cell_of(self, at: int) -> tuple[int, str] | None:
        """Return the row and the column of the file in which a score stands; None where that is not known."""
        if self.rows is None or self.reading is None:
            return None
        object_, assessor = self.objects[self.object_index[at]], self.assessors[self.assessor_index[at]]
        criterion = None if self.criterion is None else str(self.criterion[at])
        column = self.reading.column_of(str(object_), str(assessor), criterion)
        return None if column is None else (int(self.rows[at]), column)

    def restrict(self, chosen: NDArray[np.bool_]) -> Panel:
        """Return the panel of some of the assessments; objects and assessors left without any are left out."""
        objects, object_index = np.unique(self.object_index[chosen], return_inverse=True)
        assessors, assessor_index = np.unique(self.assessor_index[chosen], return_inverse=True)
        return replace(
            self,
            objects=tuple(self.objects[index] for index in objects.tolist()),
            assessors=tuple(self.assessors[index] for index in assessors.tolist()),
            object_index=object_index,
            assessor_index=assessor_index,
            score=self.score[chosen],
            precision=np.array(self.precision[chosen]),
            covariates={name: cells[chosen] for name, cells in self.covariates.items()},
            criterion=None if self.criterion is None else self.criterion[chosen],
            rows=None if self.rows is None else self.rows[chosen],
        )

    def of_criterion(self, label: str) -> Panel:
        """Return the panel of the scores for one criterion, which then is a panel without criteria.

        Parameters
        ----------
        label
            One of :attr:`criteria`.

        Raises
        ------
        InputError
            If no score is for that criterion; those that there are are named.

        Examples
        --------
        >>> panel = Panel.from_arrays([0, 0, 1], [0, 0, 0], [3.0, 4.0, 5.0], criterion=["merit", "style", "merit"])
        >>> panel.criteria
        ('merit', 'style')
        >>> panel.of_criterion("merit").score
        array([3., 5.])
        """
        if self.criterion is None:
            raise InputError(
                f"There is no criterion {label!r}: the panel was made without a column of criteria.",
                kind="unknown_criterion",
            )
        if label not in self.criteria:
            raise InputError(
                f"There is no criterion {label!r}: the criteria are {name_some(self.criteria, most=30)}.",
                kind="unknown_criterion",
            )
        return replace(self.restrict(self.criterion == label), criterion=None)

    def describe_confidence(self) -> str:
        """Return in a few words how confidence was declared."""
        return {
            "uncertainty": "declared uncertainties",
            "confidence": "declared confidences",
            "level": f"confidence levels (factor {self.factor:g})" if self.factor is not None else "confidence levels",
            "none": "no declared confidence",
        }[self.confidence]

    def to_frame(self) -> Any:
        """Return the assessments as a table: object, assessor, criterion if any, score, confidence, covariates.

        A covariate whose name is one of the other columns' is called ``covariate_`` and that name.
        """
        table: dict[str, Any] = {
            "object": [self.objects[index] for index in self.object_index.tolist()],
            "assessor": [self.assessors[index] for index in self.assessor_index.tolist()],
        }
        if self.criterion is not None:
            table["criterion"] = self.criterion.tolist()
        table["score"] = self.score
        table["confidence"] = np.array(self.precision)
        for name, cells in self.covariates.items():
            column = name
            while column in table:
                column = f"covariate_{column}"
            table[column] = np.array(cells) if cells.dtype.kind == "f" else cells.tolist()
        return frames.make_frame(table, self.backend)

    def __repr__(self) -> str:
        counts = ", ".join(
            count_of(number, word)
            for number, word in (
                (self.n_objects, "object"),
                (self.n_assessors, "assessor"),
                (self.n_assessments, "assessment"),
            )
        )
        further = "" if self.criterion is None else f", criteria {name_some(self.criteria)}"
        further += f", covariates {name_some(list(self.covariates))}" if self.covariates else ""
        return f"Panel({counts}, {self.describe_confidence()}{further})"

    def _repr_html_(self) -> str:
        """Return the first assessments as a table, for notebooks."""
        first = slice(MOST_ROWS)
        table: dict[str, Sequence[Any]] = {
            "object": [self.objects[at] for at in self.object_index[first].tolist()],
            "assessor": [self.assessors[at] for at in self.assessor_index[first].tolist()],
        }
        if self.criterion is not None:
            table["criterion"] = self.criterion[first].tolist()
        table["score"] = self.score[first].tolist()
        if self.confidence != "none":
            table["confidence"] = self.precision[first].tolist()
        table |= {name: cells[first].tolist() for name, cells in self.covariates.items() if name not in table}
        shown = html_table(repr(self), table, count=self.n_assessments, of="assessment")
        return shown + html_lines(f"Note: {note}" for note in self.notes)


_DECIMALS = 6
"""Scores with more decimals than this are taken for measurements without a grid."""

_CHANCE = 1e-3
"""A step coarser than the last decimal is believed where chance would hardly make all scores its multiples."""

_GLANCE, _SEEN = 64, 20_000
"""The grid is looked for in this many scores, taken evenly: at a glance, and then with more care."""


def recorded_step(score: NDArray[np.float64]) -> float | None:
    """Return the step of the grid that scores lie on, or None where they lie on none.

    It is the last decimal that any score has; or 25, 10, 5 or 2 times that, where so many different
    scores lie on the coarser grid that chance cannot be the reason.
    """
    distinct = score[:: max(1, score.size // _GLANCE)]

    def lies_on(step: float) -> bool:
        steps = distinct / step
        if (np.abs(steps) < 0.5).all() and distinct.any():  # small beside the step, which then says nothing
            return False
        return bool((np.abs(steps - np.round(steps)) <= 1e-6 + 1e-12 * np.abs(steps)).all())

    if distinct.any() and not lies_on(10.0**-_DECIMALS):
        return None
    distinct = np.unique(score[:: max(1, score.size // _SEEN)])
    fine = next((step for step in (10.0**-digits for digits in range(_DECIMALS + 1)) if lies_on(step)), None)
    if fine is None:
        return None
    coarser = (times * fine for times in (25.0, 10.0, 5.0, 2.0))
    return next((step for step in coarser if (fine / step) ** distinct.size <= _CHANCE and lies_on(step)), fine)


def refuse_idle(panel: Panel, **told: object) -> Panel:
    """Return a panel, unless something was told of cells that it has none of: nothing that is told is dropped."""
    has_words = panel.reading is not None and bool(panel.reading.scores)
    needed = {
        **dict.fromkeys(
            ("factor", "aliases", "level_scale"), (panel.confidence == "level", "confidence has no levels here")
        ),
        "scores": (has_words, "none of these words stands for a score here"),
    }
    for name, (is_there, why) in needed.items():
        if told.get(name) and not is_there:
            raise bad_option(f"{argument(name)} cannot apply: {why}; leave it out.")
    return panel


def detail_columns(
    side: Literal["object", "assessor"], told: Mapping[str, Mapping[str, str]], labels: Sequence[str]
) -> dict[str, list[str | None]]:
    """Return details as columns with a cell for each label, under names that are identifiers."""
    found: dict[str, list[str | None]] = {}
    for name, cells in told.items():
        meaning = meaning_of(name)
        is_title = side == "object" and meaning is not None and meaning.kind == "title" and "title" not in found
        key = "title" if is_title else "_".join(re.findall(r"\w+", fold(name))) or "detail"
        found.setdefault(key, [cells.get(label) for label in labels])
    return found


def _further(name: str, given: ArrayLike, size: int) -> NDArray[Any]:
    """Return a further column as an array of numbers or of text, one cell for each assessment."""
    cells = np.asarray(given)
    numbers = cells.dtype.kind == "O" and all(isinstance(cell, bool | int | float | np.number) for cell in cells.flat)
    if cells.shape == (size,) and (numbers or cells.dtype.kind in "biuf"):
        return cells.astype(np.float64)
    return _texts(name, cells, size)


def _texts(name: str, cells: NDArray[Any], size: int) -> NDArray[np.str_]:
    """Return a further column as an array of text; no cell may be missing."""
    if cells.shape != (size,):
        raise InputError(f"There are {size} scores, so {name} needs {size} cells.", kind="bad_shape")
    if cells.dtype.kind not in "fO":
        return cells.astype(np.str_)
    for at, cell in enumerate(cells.tolist()):
        if frames.is_missing(cell):
            raise InputError(f"There is a score but no {name}.", kind="bad_covariate", where=f"{name}[{at}]")
    return np.array([label_text(cell) for cell in cells.tolist()], dtype=np.str_)


def _check_codes(
    name: str, codes: ArrayLike, size: int, labels: Sequence[str] | None
) -> tuple[NDArray[np.integer[Any]], NDArray[np.int64]]:
    """Return codes and how often each occurs."""
    array = np.asarray(codes)
    if array.ndim != 1 or array.size != size:
        raise InputError(
            f"There are {size} scores, so {name} must be one array of {size} codes, not one of shape {array.shape}.",
            kind="bad_shape",
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"{name} holds {array.dtype}, not whole-number codes: use np.unique(labels, return_inverse=True).",
            kind="bad_codes",
        )
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise InputError(
            f"{int(array.min())} is not a code: codes count from 0.",
            kind="bad_codes",
            where=f"{name}[{int(np.argmin(array))}]",
        )
    # sums of two codes must not overflow the codes' own type
    numbers = array.view() if array.dtype.itemsize >= 4 else array.astype(np.int64)
    count = int(array.max()) + 1
    counts = count_by(numbers, count) if count <= 4 * size else np.zeros(1, dtype=np.int64)
    if counts.min() == 0:
        unused = int(np.argmin(counts)) if count <= 4 * size else count - 1
        raise InputError(
            f"{name} goes up to {count - 1} but has gaps (for example around {unused}): every code from 0 needs at "
            "least one score; np.unique(codes, return_inverse=True) closes the gaps.",
            kind="bad_codes",
        )
    if labels is not None and (len(labels) != count or len(set(labels)) != count):
        raise InputError(
            f"{name} has {count} codes, so it needs {count} different labels, not {len(labels)}.", kind="bad_labels"
        )
    return numbers, counts


def _numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be an array of numbers ({error}).", kind=f"bad_{name}") from None


def _check_finite(name: str, array: NDArray[np.float64]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # then so is every one of them
            return
    finite = np.isfinite(array)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InputError(f"{array[at]} is not a finite number.", kind=f"bad_{name}", where=f"{name}[{at}]")
