"""FACETS: control files with labels and data, one facet of which is the raters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import Found
from evenhand.io.records import records_table
from evenhand.panel.column import Cell
from evenhand.words import count_of, is_or_are, name_some

_RATERS: Final = re.compile(
    r"\b(rater|judge|assessor|reviewer|marker|grader|examiner|referee|evaluator|scorer|interviewer|panell?ist)s?\b",
    re.I,
)
_OBJECTS: Final = re.compile(
    r"\b(examinee|candidate|student|person|subject|object|applicant|essay|paper|proposal|participant|ratee|pupil|learner|"
    r"performer|skater|contestant|athlete|patient|writer|speaker|child|nominee|entrant)(s|ren)?\b|\bpersons\b|\bpeople\b|"
    r"\bentries\b",
    re.I,
)
_SPECIFICATION: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9 _-]*?)\s*=\s*(.*)")
_MOST: Final = 254
_MAX_ROWS: Final = 5_000_000


@dataclass(slots=True)
class _Facet:
    """One facet: its name, the labels of its elements, and whether it is there for show only."""

    name: str
    is_dummy: bool = False
    labels: dict[str, str] = field(default_factory=dict)

    def label(self, element: str) -> str:
        """Return what an element is called."""
        return self.labels.get(element) or element


@dataclass(slots=True)
class _File:
    """A control file, taken apart."""

    count: int
    facets: dict[int, _Facet]
    missing: frozenset[str]
    most: int
    lines: list[tuple[int, str]]


def from_text(text: str, source: str) -> Found | None:
    """Return the ratings of a control file with data in it."""
    bare = _lines(text)
    if not any(re.match(r"\s*facets\s*=\s*\d", line, re.I) for _, line in bare):
        return None
    if not any(re.match(r"\s*data\s*=", line, re.I) for _, line in bare):
        message = "This is a control file of FACETS without Data=: put the ratings below a line Data=."
        raise InputError(message, kind="no_scores", where=source)
    file = _taken_apart(bare, source)
    rater, object_, others = _settled(file, source)
    records: list[dict[str, Cell]] = []
    numbers: list[int] = []
    without = unread = 0
    used: set[int] = set()
    for number, line in file.lines:
        for elements, rating in _ratings(line, file.count, f"{source}, line {number}"):
            if elements[rater - 1] == "0" or elements[object_ - 1] == "0":
                without += 1
                continue
            is_score = _is_score(rating, file)
            unread += not is_score
            involved = [at for at in others if elements[at - 1] != "0"]
            used.update(involved)
            criterion = " / ".join(file.facets[at].label(elements[at - 1]) for at in involved)
            records.append(
                {
                    "object": file.facets[object_].label(elements[object_ - 1]),
                    "assessor": file.facets[rater].label(elements[rater - 1]),
                    "score": rating if is_score else None,
                    "criterion": criterion or None,
                }
            )
            numbers.append(number)
            if len(records) > _MAX_ROWS:
                raise InputError("The file of FACETS holds too many ratings.", kind="too_large", where=source)
    if not records:
        raise InputError("This is a file of FACETS without a single rating.", kind="no_scores", where=source)
    notes = []
    if unread:
        reason = "no number, negative, or above the scale"
        message = f"{count_of(unread, 'rating')} {is_or_are(unread)} missing to FACETS: {reason}."
        notes.append(Problem("not_assessed", message, source))
    if without:
        notes.append(Problem("left_out", f"{count_of(without, 'rating')} of nobody or by nobody left out.", source))
    table = records_table(records, source, rows=numbers)
    several = len({record["criterion"] for record in records}) > 1
    dummies = [facet.name for facet in file.facets.values() if facet.is_dummy]
    pairs = [(record["object"], record["assessor"], record["criterion"]) for record in records]
    return Found(
        f"FACETS (objects: {file.facets[object_].name}; assessors: {file.facets[rater].name})",
        table,
        object="object",
        assessor="assessor",
        score="score",
        criterion="criterion" if several else None,
        left_out=tuple((name, "a dummy facet") for name in dummies),
        notes=tuple(notes),
        duplicates="keep" if len(set(pairs)) < len(pairs) else None,
    )


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that say something, with their numbers; a semicolon begins a comment."""
    stripped = ((number, line.partition(";")[0].rstrip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in stripped if line.strip()]


def _taken_apart(lines: Sequence[tuple[int, str]], source: str) -> _File:
    """Return the specifications and the lines of data."""
    count, missing, most = 0, set[str](), _MOST
    facets: dict[int, _Facet] = {}
    block: str | None = None
    current: _Facet | None = None
    for at, (number, line) in enumerate(lines):
        if block is not None and line.strip() == "*":
            if block == "labels" and current is not None:
                current = None
            else:
                block = None
            continue
        found = _SPECIFICATION.fullmatch(line)
        name = found[1].strip().casefold() if found else ""
        if found and name == "data":
            if found[2].strip():
                message = f"The ratings stand in another file ({found[2].strip()}): put them below Data= in this one."
                raise InputError(message, kind="no_scores", where=f"{source}, line {number}")
            if not count:
                break
            return _File(count, _named(facets, count), frozenset(missing), most, list(lines[at + 1 :]))
        if found and name == "facets":
            leading = re.match(r"\d+", found[2].strip())
            count, block = int(leading[0]) if leading else 0, None
        elif found and name == "labels":
            block, current = "labels", None
        elif found and name in ("models", "model"):
            block = "models"
            most = _most(found[2], most)
        elif found and name == "missing":
            missing |= {code.strip() for code in found[2].split(",")}
        elif found and name == "dvalues":
            message = "Dvalues= rearranges the data, which is not read: write all elements in each line of data."
            raise InputError(message, kind="unknown_format", where=f"{source}, line {number}")
        elif block == "labels":
            current = _label(line, facets, current)
        elif block == "models":
            most = _most(line, most)
    message = "The control file of FACETS does not say how many facets there are before its data: write Facets=3."
    raise InputError(message, kind="unknown_format", where=source)


def _most(model: str, most: int) -> int:
    """Return the highest rating of a model such as ``?,?,?,R6``; the larger of several."""
    found = re.search(r"\bR(\d+)\w*\b", model.partition("*")[0])
    if found is None:
        return most
    return int(found[1]) if most == _MOST else max(most, int(found[1]))


def _label(line: str, facets: dict[int, _Facet], current: _Facet | None) -> _Facet | None:
    """Take in a line of labels: the head of a facet, or one of its elements."""
    if current is None:
        head = re.fullmatch(r"\s*(\d+)\s*[,=]\s*([^,]*)(.*)", line)
        if head is None:
            return None
        dummy = any(part.strip().casefold() == "d" for part in head[3].split(","))
        facets[int(head[1])] = found = _Facet(head[2].strip() or f"facet {head[1]}", dummy)
        return found
    element = re.fullmatch(r"\s*(\d+)\s*[=,]?\s*([^,]*).*", line)
    if element is not None and element[2].strip():
        known = current.labels.values()
        name = element[2].strip()
        current.labels[element[1]] = name if name not in known else f"{name} ({element[1]})"
    return current


def _named(facets: dict[int, _Facet], count: int) -> dict[int, _Facet]:
    return {at: facets.get(at, _Facet(f"facet {at}")) for at in range(1, count + 1)}


def _settled(file: _File, source: str) -> tuple[int, int, list[int]]:
    """Return which facet is the raters, which the objects, and which others say what was rated."""
    real = {at: facet for at, facet in file.facets.items() if not facet.is_dummy}
    raters = [at for at, facet in real.items() if _RATERS.search(facet.name)]
    objects = [at for at, facet in real.items() if _OBJECTS.search(facet.name) and at not in raters]
    if len(raters) == 1 and not objects and len(real) == 2:
        objects = [at for at in real if at not in raters]
    for found, word, example in ((raters, "assessors", "Raters"), (objects, "objects", "Examinees")):
        if len(found) != 1:
            how = "More than one facet" if found else "No facet"
            message = (
                f"{how} of this file of FACETS is labelled as the {word} are; the facets are "
                f"{name_some([facet.name for facet in file.facets.values()])}: name one of them {example} in Labels=."
            )
            raise InputError(message, kind="ambiguous_column", where=source)
    return raters[0], objects[0], [at for at in real if at not in (raters[0], objects[0])]


def _ratings(line: str, count: int, where: str) -> Iterator[tuple[list[str], str]]:
    """Yield the elements and the rating of each observation in a line of data."""
    cells = [
        cell.strip().strip("\"'")
        for cell in (line.split(",") if "," in line else line.split("\t" if "\t" in line else None))
    ]
    times = 1
    if repeat := re.fullmatch(r"R(\d{1,3})", cells[0]):
        times, cells = int(repeat[1]), cells[1:]
    elements, ratings = cells[:count], cells[count:]
    if len(elements) < count or not ratings:
        message = f"A line of data needs an element for each of {count} facets and a rating: mend it."
        raise InputError(message, kind="bad_data_line", where=where)
    ranges = [at for at, element in enumerate(elements) if re.fullmatch(r"\d+\s*-\s*\d+[A-Za-z]?", element)]
    if not ranges and len(ratings) > 1:
        message = f"The line has {len(ratings)} ratings, and no facet with as many elements (such as 1-3): mend it."
        raise InputError(message, kind="bad_data_line", where=where)
    spread = [elements]
    if ranges:
        first, last = (int(part) for part in re.findall(r"\d+", elements[ranges[0]]))
        if len(ranges) > 1 or last - first + 1 != len(ratings):
            message = f"The line has {len(ratings)} ratings for the elements {elements[ranges[0]]}: mend it."
            raise InputError(message, kind="bad_data_line", where=where)
        at = ranges[0]
        spread = [[*elements[:at], str(number), *elements[at + 1 :]] for number in range(first, last + 1)]
    else:
        spread = [elements] * len(ratings)
    for one, rating in zip(spread, ratings, strict=True):
        for _ in range(times):
            yield one, rating


def _is_score(rating: str, file: _File) -> bool:
    """Say whether a rating is none of what FACETS takes as missing."""
    return rating not in file.missing and re.fullmatch(r"\d{1,3}", rating) is not None and int(rating) <= file.most
