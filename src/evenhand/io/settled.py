"""What was settled about a file, kept beside it for later commands: how it is read, and whom the panel chose."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.answers.decision import Choice

SUFFIX: Final = ".evenhand.toml"
"""What the name of the file ends in: ``scores.csv.evenhand.toml`` is of ``scores.csv``."""

KNOWN: Final[Mapping[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("object", "assessor", "score", "uncertainty", "confidence", "level", "criterion"), str),
    **dict.fromkeys(("layout", "sheet", "format", "duplicates", "best"), str),
    **dict.fromkeys(("criteria", "missing", "covariates", "level_scale", "columns"), list),
    **dict.fromkeys(("scores", "aliases", "corrections"), dict),
    "factor": (int, float),
}
"""What may stand in it, by the names that :func:`evenhand.read_panel` has for it, and of which kind."""


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return where the settings of a file are."""
    place = Path(path)
    return place.with_name(place.name + SUFFIX)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what was settled about a file; nothing where there is no such file beside it."""
    place = place_of(path)
    if os.fspath(path) == "-" or not place.is_file():
        return {}
    try:
        found = tomllib.loads(place.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"It says how {Path(path).name} is read, but is damaged ({error}): mend or delete it."
        raise InputError(message, kind="bad_settings", where=place.name) from None
    for name, value in found.items():
        if name not in KNOWN or not isinstance(value, KNOWN[name]):
            known = f"what may stand there is {', '.join(KNOWN)}"
            message = f"The setting {name!r} is unknown or of the wrong kind; {known}: mend or delete the file."
            raise InputError(message, kind="bad_settings", where=place.name)
    if "level_scale" in found:
        found["level_scale"] = tuple(found["level_scale"])
    return found


def save(path: str | os.PathLike[str], settings: Mapping[str, Any]) -> Path:
    """Write what was settled about a file beside it, whole or not at all, and return where."""
    from evenhand.io.results import write_whole

    place = place_of(path)
    lines = [f"# How {Path(path).name} is read. Commands on it use this; their options count for more.", ""]
    tables = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{name}]", *(f"{_text(key)} = {_text(one)}" for key, one in value.items())]
        else:
            lines.append(f"{name} = {_text(list(value) if isinstance(value, tuple) else value)}")
    write_whole({place: lambda file: file.write_text("\n".join([*lines, *tables, ""]), "utf-8")})
    return place


def read_choice(path: str | os.PathLike[str]) -> Choice:
    """Return whom a panel gave open places, from a file of JSON with ``objects``, ``reason`` and ``by``."""
    from evenhand.answers.decision import Choice

    name = Path(path).name
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"The choice cannot be read ({getattr(error, 'strerror', None) or 'it is not JSON'})."
        raise InputError(message, kind="cannot_read", where=name) from error
    told = found if isinstance(found, dict) else {}
    objects, texts = told.get("objects"), [told.get("reason"), told.get("by")]
    if not isinstance(objects, list) or not all(isinstance(one, str) for one in (*objects, *texts)):
        message = "A choice is an object of JSON: objects, a list of labels; reason and by, which are text."
        raise InputError(message, kind="bad_data", where=name)
    return Choice(tuple(objects), told["reason"], told["by"])


def _text(value: object) -> str:
    """Return a text, a number or a list of them as TOML, whose strings are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
