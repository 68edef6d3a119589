"""What a format makes of a file, and the few questions that all formats ask of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, Problem
from evenhand.panel.column import NO_CODE, Cell, Column, Table, factorise
from evenhand.panel.headings import fold
from evenhand.panel.rules import label_text, parse_number
from evenhand.words import count_of, name_some

ANOTHER: Final = "another criterion: --score or --criteria chooses it"
"""Why a criterion beside an overall score is left out."""

TEXT: Final = "text"
EMPTY: Final = "empty"


@dataclass(frozen=True, slots=True)
class Found:
    """What a format makes of a file."""

    system: str
    """What wrote it, such as ``"HotCRP's scores.csv"``."""
    table: Table
    """Raw cells, one row per assessment, or per object and assessor where there are several criteria."""
    object: str
    """Name of the column of objects in the table; all the names below are such names too."""
    assessor: str
    score: str | tuple[str, ...]
    """One column, or a column for each criterion."""
    confidence: str | None = None
    """The column that says how sure the assessor was, whatever its form."""
    criterion: str | None = None
    """The column that names the criterion of each row."""
    title: str | None = None
    object_details: tuple[str, ...] = ()
    """Columns that say more of an object, the same in all its rows."""
    assessor_details: tuple[str, ...] = ()
    """Columns that say more of an assessor, such as an e-mail address."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Columns that are not read, each with the reason."""
    notes: tuple[Problem, ...] = ()
    duplicates: Literal["keep", "last"] | None = None
    """What to do with repeated assessments unless told otherwise: repeated samples of one judge are all kept, of a form
    that was sent twice the last counts."""
    time: str | None = None
    """The column by which ``"last"`` is told; rows are in its order as far as it can be read, else in the file's."""
    symbols: tuple[tuple[str, float], ...] = ()
    """What the system's own symbols for scores stand for, such as ``("C", 1.0)``."""
    levels: tuple[tuple[str, str], ...] = ()
    """What the system's own symbols for confidence stand for, such as ``("X", "high")``."""
    question: Problem | None = None
    """What the file leaves open: to be asked unless an option has said it."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which of the fields of a review are what."""

    score: str | tuple[str, ...]
    confidence: str | None
    left_out: tuple[tuple[str, str], ...]
    notes: tuple[Problem, ...] = ()
    question: Problem | None = None


def refusal(message: str, *, kind: str, source: str) -> InputError:
    """Return the error for a file of a known system that cannot be calibrated."""
    return InputError(message, kind=kind, where=source)


# --- columns -------------------------------------------------------------------------------------


def column_named(table: Table, *names: str) -> str | None:
    """Return the first column that goes by one of some folded names, in the order of these."""
    folded = _folded(table.names)
    return next((folded[name] for name in names if name in folded), None)


@lru_cache(maxsize=4)
def _folded(names: tuple[str, ...]) -> dict[str, str]:
    """Return the first column of each folded name."""
    return {fold(name): name for name in reversed(names)}


def cells_of(table: Table, name: str) -> Column:
    """Return the first column of a name."""
    return table.columns[table.names.index(name)]


def kinds_of(column: Column) -> list[Cell]:
    """Return the distinct cells of a column that are not empty; plain numbers stand for themselves."""
    codes = np.unique(column.codes)
    found = [column.cells[code] for code in codes.tolist() if code != NO_CODE]
    if column.numbers is not None and codes.size and int(codes[-1]) == NO_CODE:
        found += np.unique(column.numbers[column.codes == NO_CODE]).tolist()
    return [cell for cell in found if not _is_empty(cell)]


def _is_empty(cell: Cell) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def is_filled(column: Column) -> NDArray[np.bool_]:
    """Say for each row whether its cell is filled."""
    filled = np.array([not _is_empty(cell) for cell in column.cells] or [False], np.bool_)
    plain = column.codes == NO_CODE
    return np.where(plain, column.numbers is not None, filled[np.where(plain, 0, column.codes)])


def per_cell(column: Column, say: Callable[[Cell], bool]) -> NDArray[np.bool_]:
    """Say for each row what is true of its cell, asked once for each distinct one; plain numbers have to be text."""
    answers = np.array([say(cell) for cell in column.cells] or [False], np.bool_)
    plain = column.codes == NO_CODE
    found = answers[np.where(plain, 0, column.codes)]
    for row in np.flatnonzero(plain):
        found[row] = say(column[int(row)])
    return np.asarray(found)


def of_rows(table: Table, rows: NDArray[np.bool_]) -> Table:
    """Return the table of some rows."""
    if rows.all():
        return table
    kept = np.flatnonzero(rows)
    columns = tuple(column.take(kept) for column in table.columns)
    return replace(table, columns=columns, row_numbers=table.row_numbers[kept])


def with_columns(table: Table, further: Mapping[str, Sequence[Cell]]) -> Table:
    """Return a table with further columns in front of its own."""
    columns = (*(factorise(name, cells) for name, cells in further.items()), *table.columns)
    return replace(table, names=(*further, *table.names), columns=columns)


def text_of(cell: Cell) -> str:
    """Return a cell as text without outer white space; empty where it is."""
    return "" if _is_empty(cell) else label_text(cell).strip()


def left_out_rows(count: int, what: str) -> tuple[Problem, ...]:
    """Return the note that counts rows that are not read; ``what`` they are."""
    if not count:
        return ()
    return (Problem("left_out", f"{count_of(count, 'row')} {'was' if count == 1 else 'were'} left out: {what}."),)


# --- fields of a review --------------------------------------------------------------------------

_SURE: Final = re.compile(
    r"\bconfiden|\bcertain|\bsure\b|\bzuversicht|\bsicherheit|\bsicher\b|\bconfian[cçz]|\bseguridad|\bseguro|"
    r"\bfiducia|\bsicurezza|\bconfiança|\bzeker|\bvertrouwen"
)
_EXPERT: Final = re.compile(r"\bexpert|\bfamiliar|\bknowledge|\bqualifi")
_OVERALL: Final = (
    re.compile(r"\boverall\b|\bgesamt|\bglobal|\bd'ensemble\b|\bcomplessiv|\bgeral\b|\balgeheel|\btotaal"),
    re.compile(r"^(total score|total|score|final score|rating|recommendation|merit|mark|grade|vote|evaluation)$"),
    re.compile(r"\b(total|final) (score|mark|grade|rating|points)|\brecommendation\b|\brating\b|\bmerit\b"),
    re.compile(r"\bscore\b|\bmark\b|\bgrade\b|\brecommend"),
)
_NUMBERED: Final = re.compile(
    r"\s*[-+−]?\d+([.,]\d+)?\s*([:.)=–-]|\s)\s*\S.*|.*\(\s*[-+−]?\d+([.,]\d+)?\s*\)\s*", re.DOTALL
)
_FLAGS: Final = frozenset({"yes", "no", "true", "false", "ja", "nein", "oui", "non", "sí", "si"})
_LONGEST: Final = 80
_REMARKS: Final = re.compile(
    r"\b(comments?|feedback|remarks?|summary|strengths?|weakness(es)?|notes?|justification|reasons?|explain|why|questions?|"
    r"kommentare?|bemerkung(en)?|begründung|commentaires?|remarques?|comentarios?|comentários?|commenti|opmerking(en)?)\b"
)
"""Names of fields that hold text, however short it is."""


def is_confidence(name: str) -> bool:
    """Say whether a field asks how sure the assessor is."""
    return _SURE.search(fold(name)) is not None


def is_expertise(name: str) -> bool:
    """Say whether a field asks how well the assessor knows the subject."""
    return _EXPERT.search(fold(name)) is not None


def overall_rank(name: str) -> int | None:
    """Return how clearly the name of a field says that it is the overall score, 0 most; None where it does not."""
    folded = fold(name)
    return next((at for at, pattern in enumerate(_OVERALL) if pattern.search(folded)), None)


def nature(column: Column) -> Literal["empty", "number", "choice", "flag", "text"]:
    """Say what the cells of a field are: numbers, one of a few choices, yes and no, or text."""
    kinds = kinds_of(column)
    if not kinds:
        return "empty"
    if all(str(cell).strip().casefold() in _FLAGS for cell in kinds):
        return "flag"
    if all(parse_number(cell) is not None for cell in kinds):
        return "number"
    texts = [str(cell) for cell in kinds]
    graded = sum(_NUMBERED.fullmatch(text) is not None or parse_number(text) is not None for text in texts)
    if graded == len(texts) and len(texts) <= 25:
        return "choice"
    few = len(texts) <= 12 and (len(texts) <= 2 or 2 * len(texts) <= max(len(column), 6))
    if few and all(len(text) <= _LONGEST and "\n" not in text for text in texts):
        return "choice"
    return "text"


def settle_fields(
    table: Table, names: Sequence[str], *, system: str, labels: Mapping[str, str] | None = None
) -> Fields:
    """Tell overall score, criteria and confidence among the fields of a review.

    Parameters
    ----------
    table
        The table that they stand in.
    names
        Its columns that are fields of the review.
    system
        What to call the file in messages.
    labels
        What a column asks, where its name does not say it plainly.
    """
    asks = {name: (labels or {}).get(name, name) for name in names}
    natures = {name: nature(cells_of(table, name)) for name in names}
    natures |= {
        name: "text" for name in names if natures[name] in ("choice", "flag") and _REMARKS.search(fold(asks[name]))
    }
    reasons = {"text": TEXT, "empty": EMPTY, "flag": "yes or no, not a score"}
    left_out = [(name, reasons[natures[name]]) for name in names if natures[name] in reasons]
    graded = [name for name in names if natures[name] in ("number", "choice")]
    sure = [name for name in graded if is_confidence(asks[name])]
    expert = [name for name in graded if is_expertise(asks[name]) and name not in sure]
    confidence = next(iter([*sure, *expert]), None)
    notes: list[Problem] = []
    if confidence is not None and not sure:
        message = f"{confidence!r} says how well the assessors know the subject, and is taken as how sure they were."
        notes.append(Problem("expertise_as_confidence", message, f"column {confidence}"))
    left_out += [(name, "another field on the assessor") for name in (*sure, *expert) if name != confidence]
    graded = [name for name in graded if name not in (*sure, *expert)]
    if not graded:
        said = f"The columns are {name_some(table.names, 12)}" if table.names else "There are no columns"
        message = f"This is {system} without a field that holds scores. {said}: export it with the scores."
        raise refusal(message, kind="no_scores", source=table.source)
    ranks = {name: rank for name in graded if (rank := overall_rank(asks[name])) is not None}
    best = [name for name in ranks if ranks[name] == min(ranks.values())]
    score = best[0] if best else graded[0] if len(graded) == 1 else tuple(graded)
    left_out += [(name, ANOTHER) for name in graded if best and name != best[0]]
    question = None
    if len(best) > 1:
        shown = ", ".join(map(repr, best))
        message = f"The columns {shown} could each hold the overall score: say which one it is with --score."
        question = Problem("ambiguous_column", message, table.source)
    left_out.sort(key=lambda one: table.names.index(one[0]))
    return Fields(score, confidence, tuple(left_out), tuple(notes), question)


def listed(*groups: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return reasons for columns in one list, each column once."""
    return tuple(dict(one for group in groups for one in group).items())
