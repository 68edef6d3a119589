"""JSON and JSON lines: parsed within limits, and records of any shape arranged as a table."""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.io.paths import MAX_UNPACKED, in_bytes, regular_file, too_large, unreadable
from evenhand.io.table import MAX_CELLS, arrange, is_blank
from evenhand.panel.column import Cell, Coders, Column, Table, factorise
from evenhand.words import count_of, name_some, remark

MAX_DEPTH: Final = 8
"""Most levels of records within records that a table is made of."""

_MAX_FIELDS: Final = 2000
_MAX_SAMPLES: Final = 100_000
_ZIP: Final = b"PK\x03\x04"
_ASSESSMENTS: Final = frozenset(
    {"reviews", "assessments", "scores", "ratings", "grades", "marks", "evaluations", "judgements", "judgments"}
    | {"votes"}
)
_PLAIN: Final = frozenset({"id", "name", "number", "no", "label", "code", "title", "email", "key"})
"""Names of fields that say nothing without the name of the list that they stand in."""


def read_json(given: str | os.PathLike[str] | bytes, source: str, *, max_bytes: int = MAX_UNPACKED) -> object:
    r"""Return what a file of JSON or of JSON lines, or its bytes, say; a bare ``NaN`` is None.

    Lines become the list of what each of them says. A zip of ``header.json`` and ``samples/`` (inspect_ai's ``.eval``)
    is read as the one JSON that it stands for.

    Examples
    --------
    >>> read_json(b'{"item": 1}\n{"item": NaN}\n', "judges.jsonl")
    [{'item': 1}, {'item': None}]
    """
    if isinstance(given, bytes):
        data = given
        if len(data) > max_bytes:
            raise too_large(source, remark("The file holds {size}", size=in_bytes(len(data))), max_bytes)
    else:
        place = regular_file(given, max_bytes=max_bytes)
        try:
            data = place.read_bytes()
        except OSError as error:
            raise unreadable(source, error) from None
    if data.startswith(_ZIP):
        return _eval_log(data, source, max_bytes)
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"Line {line} is not UTF-8, as JSON must be: save the file as UTF-8."
        raise InputError(message, kind="bad_encoding", where=source) from None
    if not text.strip():
        message = "The file is empty: it needs a list of records, or one record a line."
        raise InputError(message, kind="empty_file", where=source)
    try:
        return _parsed(text)
    except json.JSONDecodeError as error:
        lines = text.splitlines()
        if len(lines) > 1 and _is_record(next(line for line in lines if line.strip())):
            return _of_lines(lines, source)
        is_open = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
        raise _bad(error, error.lineno, source, at_end=is_open) from None
    except (RecursionError, ValueError) as error:
        raise _odd(error, source) from None


def _parsed(text: str) -> Any:
    return json.loads(text, parse_constant=_constant)


def _constant(name: str) -> float | None:
    return None if name == "NaN" else math.copysign(math.inf, -1 if name.startswith("-") else 1)


def _is_record(line: str) -> bool:
    try:
        return isinstance(_parsed(line), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(lines: Sequence[str], source: str) -> list[Any]:
    """Return what each line says; blank ones say nothing."""
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_parsed(line))
        except json.JSONDecodeError as error:
            raise _bad(error, number, source, at_end=number == len(lines)) from None
        except (RecursionError, ValueError) as error:
            raise _odd(error, source) from None
    return found


def _bad(error: json.JSONDecodeError, line: int, source: str, *, at_end: bool) -> InputError:
    reason = error.msg[:1].lower() + error.msg[1:]
    advice = "the file may have been cut off: export it again" if at_end else "mend that line, or export the file again"
    message = f"Line {line} is not JSON ({reason}, column {error.colno}): {advice}."
    return InputError(message, kind="bad_json", where=source)


def _odd(error: Exception, source: str) -> InputError:
    what = "nested too deeply" if isinstance(error, RecursionError) else "with a number of too many digits"
    return InputError(f"The JSON is {what} to be a panel: export it again.", kind="bad_json", where=source)


def _eval_log(data: bytes, source: str, max_bytes: int) -> object:
    """Return the log that a zip of a header and samples stands for."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            samples = [name for name in names if re.fullmatch(r"samples/[^/]+\.json", name)]
            if header is None or len(samples) > _MAX_SAMPLES:
                message = "This is a zip, and no log of inspect_ai: unpack it, and give the file with the scores."
                raise InputError(message, kind="unknown_format", where=source)
            left = max_bytes
            parts = []
            for name in (header, *samples):
                with archive.open(name) as part:
                    text = part.read(left + 1)
                left -= len(text)
                if left < 0:
                    raise too_large(source, remark("The log unpacks to more"), max_bytes)
                parts.append(read_json(text, f"{source}, {name}", max_bytes=max_bytes))
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError) as error:
        packing = isinstance(error, NotImplementedError)
        what = "is packed in a way that this Python cannot unpack" if packing else "is damaged"
        message = f"The log {what}: turn it into JSON with inspect's own command `log convert`."
        raise InputError(message, kind="damaged_file", where=source) from None
    first = parts[0] if isinstance(parts[0], dict) else {}
    return {**first, "samples": parts[1:]}


# --- parts of JSON -------------------------------------------------------------------------------


def records_in(given: object, name: str, source: str) -> list[dict[str, Any]]:
    """Return a list of records that stands under a name; none where there is nothing, and anything else is refused."""
    if given is None:
        return []
    if not (isinstance(given, list) and all(isinstance(one, dict) for one in given)):
        message = f"The file is damaged: {name} should be a list of records. Export it again."
        raise InputError(message, kind="bad_json", where=source)
    return given


def record_of(given: object) -> dict[str, Any]:
    """Return a record; an empty one where something else stands in its place."""
    return given if isinstance(given, dict) else {}


# --- records as a table --------------------------------------------------------------------------


def records_table(records: Sequence[Mapping[str, Cell]], source: str, *, rows: Sequence[int] | None = None) -> Table:
    """Return flat records as a table, with a column for each key, in order of first appearance.

    Examples
    --------
    >>> table = records_table([{"item": "a", "score": 3}, {"item": "b"}], "scores.json")
    >>> table.names, table.cells
    (('item', 'score'), (['a', 'b'], [3, None]))
    """
    names = tuple(dict.fromkeys(name for record in records for name in record))
    if len(names) > _MAX_FIELDS or len(names) * len(records) > MAX_CELLS:
        message = f"The records have {len(names):,} fields: keep those of objects, assessors, scores and confidences."
        raise InputError(message, kind="too_large", where=source)
    cells = [[_cell(record.get(name)) for record in records] for name in names]
    numbers = np.arange(1, len(records) + 1) if rows is None else np.asarray(rows, dtype=np.int64)
    return Table(names, Coders(names).columns(cells), numbers, source)


def _cell(given: Cell) -> Cell:
    return None if is_blank(given) else given


def to_table(data: object, source: str) -> Table:
    """Return the table that parsed JSON stands for.

    It may be a list of records, a record with one list of records in it, a list of rows, lists by the names of columns,
    or scores by the names of objects and assessors. Records within records get names such as ``user.email``; a list of
    records within each record is unfolded, one row for each, with the fields of the record around it beside.

    Examples
    --------
    >>> table = to_table({"papers": [{"id": 7, "reviews": [{"by": "Ana", "score": 3}]}]}, "reviews.json")
    >>> table.names, table.cells
    (('paper id', 'by', 'score'), ([7], ['Ana'], [3]))
    """
    if isinstance(data, dict) and data and all(isinstance(part, list) for part in data.values()):
        found = _of_columns(data, source)
        if found is not None:
            return found
    if isinstance(data, list) and len(data) > 1 and all(isinstance(row, list) for row in data):
        return arrange([[scalar(cell) for cell in row] for row in data], source=source)
    inner = _by_labels(data)
    if inner is not None:
        return records_table([{"": label, **part} for label, part in inner.items()], source)
    unfolding = _Unfolding(source)
    records = data if isinstance(data, list) else [data]
    if not records or not all(isinstance(record, dict) for record in records):
        message = "The JSON holds no records: it needs a list of {object, assessor, score}, or one such record a line."
        raise InputError(message, kind="bad_json", where=source)
    rows, flat = [], []
    single = isinstance(data, dict)
    for number, record in enumerate(records, 1):
        for place, one in unfolding.unfold(record, "", MAX_DEPTH):
            flat.append(one)
            rows.append((place or number) if single else number)
            if len(flat) > MAX_CELLS:
                raise InputError("There are too many records.", kind="too_large", where=source)
    if not flat:
        message = "There is no record in its lists: export it again once there are assessments."
        raise InputError(message, kind="empty_file", where=source)
    table = records_table(flat, source, rows=rows)
    return Table(table.names, table.columns, table.row_numbers, source, notes=unfolding.notes())


def _by_labels(data: object) -> dict[str, Any] | None:
    """Return the flat records that stand under labels, in data or in the one part of it that has such; None of others.

    Examples
    --------
    >>> _by_labels({"event": "Fair", "scores": {"Elm": {"jm": 3}, "Fir": {"jm": 4, "kp": None}}})
    {'Elm': {'jm': 3}, 'Fir': {'jm': 4, 'kp': None}}
    """
    if not isinstance(data, dict):
        return None
    if len(data) > 1 and all(_is_flat(part) for part in data.values()):
        return data
    parts = [part for part in data.values() if isinstance(part, dict)]
    if len(parts) != 1 or any(_is_list_of_records(key, part) for key, part in data.items() if isinstance(part, list)):
        return None
    return _by_labels(parts[0])


def _is_flat(part: object) -> bool:
    return isinstance(part, dict) and bool(part) and not any(isinstance(one, dict | list) for one in part.values())


def _of_columns(data: dict[str, list[Any]], source: str) -> Table | None:
    """Return the table of a mapping from names to lists of equal length; None where it is something else."""
    if any(isinstance(cell, dict) for part in data.values() for cell in part):
        return None
    lengths = {name: len(part) for name, part in data.items()}
    if len(data) < 2 or not any(lengths.values()):
        return None
    if len(set(lengths.values())) > 1:
        said = name_some([f"{name!r} has {count_of(length, 'cell')}" for name, length in lengths.items()])
        message = f"The columns are not of one length ({said}): export the file again."
        raise InputError(message, kind="bad_json", where=source)
    columns: tuple[Column, ...] = tuple(factorise(name, [scalar(cell) for cell in part]) for name, part in data.items())
    return Table(tuple(data), columns, np.arange(1, len(columns[0]) + 1), source)


def scalar(given: object) -> Cell:
    """Return a cell: lists of plain values are joined, a record within a cell is written as JSON.

    Examples
    --------
    >>> scalar(["a", "b"]), scalar({"a": 1}), scalar(" ")
    ('a, b', '{"a": 1}', None)
    """
    if isinstance(given, list):
        given = ", ".join(str(part) for part in given if part is not None)
    elif isinstance(given, dict):
        given = json.dumps(given, ensure_ascii=False)
    return _cell(given) if given is None or isinstance(given, str | int | float) else str(given)


@dataclass(slots=True)
class _Unfolding:
    """Unfolds records, and remembers what it met."""

    source: str
    empty: int = 0
    """Records whose list of further records is empty."""
    others: dict[str, None] = field(default_factory=dict)
    """Lists of records that were not unfolded, because another one was."""

    def unfold(self, record: Mapping[str, Any], kind: str, depth: int) -> Iterator[tuple[int, dict[str, Cell]]]:
        """Yield flat records, each with its number within the outermost list that it came from."""
        if depth == 0:
            raise InputError("The records are nested too deeply for a table.", kind="bad_json", where=self.source)
        flat: dict[str, Cell] = {}
        lists: dict[str, list[Any]] = {}
        self._flatten(record, "", kind, flat, lists, depth)
        if not lists:
            yield 0, flat
            return
        chosen = self._chosen(lists)
        if not lists[chosen]:
            self.empty += 1
            return
        inner = _singular(chosen.rpartition(".")[2])
        for number, one in enumerate(lists[chosen], 1):
            for _, further in self.unfold(one, inner, depth - 1):
                clash = {name: f"{inner}.{name}" for name in further if name in flat}
                yield number, {**flat, **{clash.get(name, name): cell for name, cell in further.items()}}

    def _flatten(
        self,
        record: Mapping[str, Any],
        prefix: str,
        kind: str,
        flat: dict[str, Cell],
        lists: dict[str, list[Any]],
        depth: int,
    ) -> None:
        for key, part in record.items():
            name = f"{prefix}{key}"
            if isinstance(part, dict):
                if depth == 0:
                    flat[name] = scalar(part)
                else:
                    self._flatten(part, f"{name}.", "", flat, lists, depth - 1)
            elif isinstance(part, list) and _is_list_of_records(key, part):
                lists[name] = part
            else:
                flat[f"{kind} {key}" if kind and key.casefold() in _PLAIN else name] = scalar(part)

    def _chosen(self, lists: Mapping[str, list[Any]]) -> str:
        """Return the list to unfold, of several the one that is called as assessments are."""
        if len(lists) == 1:
            return next(iter(lists))
        known = [name for name in lists if name.rpartition(".")[2].casefold() in _ASSESSMENTS]
        nested = [name for name in lists if any(isinstance(part, list) for one in lists[name] for part in one.values())]
        chosen = known if len(known) == 1 else nested if not known else []
        if len(chosen) != 1:
            said = f"There are several lists of records, {name_some(list(lists))}"
            message = f"{said}: keep the one with the scores, or save it as a table."
            raise InputError(message, kind="bad_json", where=self.source)
        self.others.update(dict.fromkeys(name for name in lists if name != chosen[0]))
        return chosen[0]

    def notes(self) -> tuple[Problem, ...]:
        """Return what was left out."""
        found = []
        if self.empty:
            message = f"{count_of(self.empty, 'record')} without any assessment {_were(self.empty)} left out."
            found.append(Problem("not_assessed", message, self.source))
        if self.others:
            message = f"lists that hold no scores were left out: {name_some(list(self.others))}."
            found.append(Problem("left_out", message, self.source))
        return tuple(found)


def _is_list_of_records(key: str, part: list[Any]) -> bool:
    return all(isinstance(one, dict) for one in part) if part else key.casefold() in _ASSESSMENTS


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _singular(name: str) -> str:
    """Return the word for one member of a list.

    Examples
    --------
    >>> _singular("papers"), _singular("entries"), _singular("theses")
    ('paper', 'entry', 'thesis')
    """
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith("ses"):
        return f"{name[:-2]}is"
    return name.removesuffix("s")
