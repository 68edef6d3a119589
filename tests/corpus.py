"""Made-up panels, written out as people and systems write them: builders of small files, each with what it means."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_panels import Row, write_ods, write_xlsx

Scores = dict[tuple[str, ...], float]
"""Scores by object and assessor, and by criterion where there are several."""

Rows = list[list[Any]]
Content = Sequence[Row] | Mapping[str, Sequence[Row]] | str | bytes


@dataclass(frozen=True, slots=True)
class Case:
    """A file, the panel that it means, and what is to become of it.

    Attributes
    ----------
    name
        The name of the file, whose suffix says how it is written.
    content
        Rows, sheets by their names, or the file itself.
    means
        The panel; None where the file has none.
    form
        In which form confidence is declared.
    says
        What the refusal or the question has to say, as a regular expression; nothing where the file is to be read.
    answer
        Arguments that answer the question, and so lead to the panel.
    """

    name: str
    content: Content
    means: Scores | None
    form: str = "none"
    says: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write the file, and return where."""
        path, content = folder / self.name, self.content
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_bytes(content.encode())
        elif isinstance(content, Mapping):
            write_xlsx(str(path), dict(content))
        elif path.suffix == ".xlsx":
            write_xlsx(str(path), {"Scores": content})
        elif path.suffix == ".ods":
            write_ods(str(path), content)
        else:
            path.write_bytes(text(content, "\t" if path.suffix == ".tsv" else ",").encode())
        return path


def read(name: str, content: Content, means: Scores, form: str = "none") -> Case:
    """Return a file that is to be read without any option."""
    return Case(name, content, means, form)


def asks(
    name: str, content: Content, says: str, means: Scores | None = None, form: str = "none", **answer: Any
) -> Case:
    """Return a file that leaves a question open, with the answer that leads to the panel; or one that is refused."""
    return Case(name, content, means, form, says, answer)


def text(rows: Sequence[Row], delimiter: str = ",") -> str:
    """Return rows as delimited text."""
    page = io.StringIO()
    csv.writer(page, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return page.getvalue()


# --- panels --------------------------------------------------------------------------------------


def panel(objects: Sequence[str], assessors: Sequence[str], low: int = 1, high: int = 10, gaps: bool = True) -> Scores:
    """Return scores of all objects by all assessors, or by most of them, in no order."""
    return {
        (one, who): float(low + (7 * i + 4 * j + i * i * (j + 2) + 3 * (i % 2) * j) % (high - low + 1))
        for i, one in enumerate(objects)
        for j, who in enumerate(assessors)
        if not (gaps and (i + 2 * j) % 5 == 4)
    }


PROPOSALS = tuple(f"P{number}" for number in range(1, 7))
PEOPLE = ("Anna", "Ben", "Chloe", "Dev")
SMALL = panel(PROPOSALS, PEOPLE)
FULL = panel(PROPOSALS, PEOPLE, gaps=False)
CRITERIA = ("Novelty", "Clarity", "Impact")


def with_criteria(scores: Scores, criteria: Sequence[str] = CRITERIA, high: int = 5) -> Scores:
    """Return scores for each of some criteria."""
    return {
        (*key, criterion): float(1 + (int(score) + 3 * at + 2 * index * at) % high)
        for index, (key, score) in enumerate(scores.items())
        for at, criterion in enumerate(criteria)
    }


def objects_of(scores: Scores) -> list[str]:
    """Return the objects in order of appearance."""
    return list(dict.fromkeys(key[0] for key in scores))


def assessors_of(scores: Scores) -> list[str]:
    """Return the assessors in order of appearance."""
    return list(dict.fromkeys(sorted((key[1] for key in scores), key=[key[1] for key in scores].index)))


def renamed(
    scores: Scores, objects: Mapping[str, str] | None = None, assessors: Mapping[str, str] | None = None
) -> Scores:
    """Return scores with other labels."""
    one, other = objects or {}, assessors or {}
    return {(one.get(key[0], key[0]), other.get(key[1], key[1]), *key[2:]): score for key, score in scores.items()}


def mail(name: str) -> str:
    """Return somebody's address."""
    return f"{name.lower().replace(' ', '.')}@example.org"


def mailed(scores: Scores) -> Scores:
    """Return scores by addresses in place of names."""
    return renamed(scores, assessors={name: mail(name) for name in assessors_of(scores)})


# --- layouts -------------------------------------------------------------------------------------

Cell = Callable[[float], Any]


def plain(score: float) -> Any:
    """Return a whole score without its decimal point."""
    return int(score) if score == int(score) else score


def long(
    scores: Scores,
    names: Sequence[str] = ("Proposal", "Reviewer", "Score"),
    cell: Cell = plain,
    *further: tuple[str, Callable[[int, tuple[str, ...]], Any]],
) -> Rows:
    """Return one assessment a row; further columns are made of the number of the row and its labels."""
    header = [*names[: 3 if further or len(next(iter(scores))) == 2 else 4], *(name for name, _ in further)]
    rows = [
        [*key, cell(score), *(make(row, key) for _, make in further)] for row, (key, score) in enumerate(scores.items())
    ]
    return [header, *rows]


def wide(scores: Scores, corner: str = "Proposal", cell: Cell = plain, gap: Any = None) -> Rows:
    """Return objects down and assessors across."""
    people = assessors_of(scores)
    body = [
        [one, *(cell(scores[one, who]) if (one, who) in scores else gap for who in people)]
        for one in objects_of(scores)
    ]
    return [[corner, *people], *body]


def across(scores: Scores, corner: str = "Reviewer", cell: Cell = plain) -> Rows:
    """Return assessors down and objects across."""
    return wide({(who, one): score for (one, who), score in scores.items()}, corner, cell)


def in_groups(scores: Scores, names: Sequence[str] = ("Candidate", "Marker {}", "Mark {}"), cell: Cell = plain) -> Rows:
    """Return an object a row, with each assessor's name beside the score."""
    lists = {
        one: [(who, cell(score)) for (other, who), score in scores.items() if other == one]
        for one in objects_of(scores)
    }
    most = max(map(len, lists.values()))
    header = [names[0], *(name.format(at) for at in range(1, most + 1) for name in names[1:])]
    filled = [[one, *(part for pair in found for part in pair)] for one, found in lists.items()]
    return [header, *([*row, *[None] * (len(header) - len(row))] for row in filled)]


def by_criteria(scores: Scores, names: Sequence[str] = ("Proposal", "Reviewer"), heading: str = "{}") -> Rows:
    """Return an assessment a row, with a column for each criterion."""
    criteria = list(dict.fromkeys(key[2] for key in scores))
    pairs = dict.fromkeys(key[:2] for key in scores)
    body = [[*pair, *(plain(scores[*pair, criterion]) for criterion in criteria)] for pair in pairs]
    return [[*names, *map(heading.format, criteria)], *body]


# --- what people add -----------------------------------------------------------------------------


def insert(rows: Rows, at: int, name: str, make: Callable[[int, list[Any]], Any]) -> Rows:
    """Return rows with a column put in, made of the number of the row, from 0, and its cells."""
    header, *body = rows
    return [
        [*header[:at], name, *header[at:]],
        *([*row[:at], make(number, row), *row[at:]] for number, row in enumerate(body)),
    ]


def append(rows: Rows, name: str, make: Callable[[int, list[Any]], Any]) -> Rows:
    """Return rows with a column at the end."""
    return insert(rows, len(rows[0]), name, make)


def numbers(cells: Sequence[Any]) -> list[float]:
    """Return the numbers among cells."""
    return [cell for cell in cells if isinstance(cell, int | float)]


def mean(cells: Sequence[Any], digits: int = 2) -> float:
    """Return the mean of the numbers among cells, rounded."""
    found = numbers(cells)
    return round(sum(found) / len(found), digits)


def with_means(rows: Rows, name: str = "Average", digits: int = 2) -> Rows:
    """Return a wide sheet with the mean of each row at its end."""
    return append(rows, name, lambda _, row: mean(row[1:], digits))


def with_foot(rows: Rows, label: str = "Average") -> Rows:
    """Return a wide sheet with the mean of each column below it."""
    columns = list(zip(*rows[1:], strict=True))
    return [*rows, [label, *(mean(column) if numbers(column) else None for column in columns[1:])]]


def with_titles(rows: Rows, name: str = "Title", at: int = 1) -> Rows:
    """Return rows with a title of each object beside it."""
    titles = ("On knots", "Ties that bind", "A theory of string", "Loops and bows", "Rope, revisited", "Yarn")
    known = {one: titles[number % 6] for number, one in enumerate(dict.fromkeys(row[0] for row in rows[1:]))}
    return insert(rows, at, name, lambda _, row: known[row[0]])
