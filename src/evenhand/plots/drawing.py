"""From a chart to a file: svg, png, pdf, html or json.

The engine that draws is a browser's. It dies with the whole process where it may not have the addresses that it asks
for, so that a limited process asks first; and it may stumble over a font of the machine, so that a PDF does without.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

from evenhand.errors import EvenhandError, InputError, LimitError, bad_option, require
from evenhand.io.results import write_whole
from evenhand.memory import in_gib

SUFFIXES: Final = (".svg", ".png", ".pdf", ".html", ".json")

_FINE: Final = 4
"""Pixels to a point where text in a PDF is an image."""

_JOINED: Final = re.compile("([\u2600-\u27bf\U0001f000-\U0001faff])\ufe0f?\u200d")
"""A sign that is joined to the next. Without a font for the joined one, both would be drawn on top of each other."""

_TEXT: Final = re.compile(r"<text\b.*?</text>", re.DOTALL)
_SIZE: Final = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_log = logging.getLogger("evenhand")

_TRIAL: Final = """
import mmap, sys
held = mmap.mmap(-1, int(sys.argv[1]))
import vl_convert
vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": [{}]}})
"""
"""Draws one point in a process that has as much less room as this one has taken."""

_ROOM: Final = 2**30
"""What a picture may need besides what the engine asks for at its start."""


def save(chart: Any, path: str | Path) -> None:
    """Write a chart to a file: svg, png, pdf, html or json, by its suffix.

    A page of html needs no network. An svg carries the chart's description for screen readers. All but json needs
    ``evenhand[pictures]``.

    Parameters
    ----------
    chart
        A chart from :mod:`evenhand.plots`.
    path
        The file.

    Raises
    ------
    LimitError
        If this process may not have the memory that drawing takes.
    """
    target = Path(path)
    check_suffix(target)
    drawn = _drawn(chart, target.suffix.lower()[1:])
    write_whole({target: lambda file: file.write_bytes(drawn)})


def check_suffix(target: Path) -> None:
    """Refuse a file whose suffix is that of no picture."""
    if target.suffix.lower() not in SUFFIXES:
        raise bad_option(
            f"A picture cannot be written as {target.suffix or 'a file without a suffix'}: "
            f"use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )


def check_engine(form: str) -> None:
    """Refuse a form of file that the engine has to draw where it is missing, or may not have the addresses it asks for.

    A process that runs without a limit, as most do, is not held up.
    """
    if form == "json":
        return
    purpose = f"A picture as {form}"
    require("vl_convert", purpose)
    limit = _address_limit()
    if limit is not None and not _starts_within(limit):
        raise LimitError(
            f"{purpose} needs the drawing engine, which asks for far more addresses than it uses, and this process may "
            f"have no more than {in_gib(limit)} of them: raise the limit (ulimit -v), or write .json, which needs no "
            "engine."
        )


def _address_limit() -> int | None:
    """Return how many bytes of addresses this process may have; None where there is no limit, or none to be told."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


@cache
def _starts_within(limit: int) -> bool:
    """Say whether the engine starts in a process of this limit that has taken what this one has."""
    try:
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * 4096
    except (OSError, ValueError):
        taken = 0
    if taken + _ROOM > limit:
        return False
    trial = [sys.executable, "-c", _TRIAL, str(taken + _ROOM)]
    tried = subprocess.run(trial, capture_output=True, check=False)  # noqa: S603  our own lines, run by this interpreter
    return tried.returncode == 0


def _drawn(chart: Any, kind: str) -> bytes:
    """Return a chart as the bytes of a file; a failure says that it is the drawing that failed, and why."""
    if kind == "json":
        return json.dumps(chart.to_dict(), indent=2, ensure_ascii=False).encode()
    check_engine(kind)
    import vl_convert

    try:
        if kind == "html":
            page: str = chart.to_html(inline=True)
            return page.encode()
        specification = json.dumps(chart.to_dict(), ensure_ascii=False)
        if kind == "svg":
            return _with_words(
                vl_convert.vegalite_to_svg(specification), chart.to_dict().get("description", "")
            ).encode()
        specification = _JOINED.sub(r"\1", specification)
        if kind == "png":
            return bytes(vl_convert.vegalite_to_png(specification, scale=2))
        return _as_pdf(vl_convert.vegalite_to_svg(specification))
    except EvenhandError:
        raise
    except Exception as error:  # whatever the engine met
        message = f"The picture cannot be drawn as {kind} ({_reason(error)}): try another of {', '.join(SUFFIXES)}."
        raise InputError(message, kind="cannot_draw") from error


def _reason(error: Exception) -> str:
    """Return the first line of what the engine says, without its stack."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def _with_words(drawing: str, said: str) -> str:
    """Return an svg that has its description for screen readers."""
    spoken = drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(said)}" ', 1)
    return spoken.replace(">", f"><desc>{escape(said)}</desc>", 1)


def _as_pdf(drawing: str) -> bytes:
    """Return an svg as a PDF, whatever fonts there are.

    Where a font cannot be taken into the file, lines and areas stay what they are and all text becomes an image.
    """
    import vl_convert

    try:
        return bytes(vl_convert.svg_to_pdf(drawing))
    except Exception as error:  # the engine knows no finer
        size = _SIZE.search(drawing)
        if "font" not in str(error) or size is None:
            raise
        _log.warning(
            "Text in the PDF is an image, since a font of this machine cannot be taken into the file (%s)",
            _reason(error),
        )
    without_marks = drawing.replace(">", "><style>path,line,rect{visibility:hidden}</style>", 1)
    text = base64.b64encode(vl_convert.svg_to_png(without_marks, scale=_FINE)).decode()
    image = f'<image width="{size[1]}" height="{size[2]}" href="data:image/png;base64,{text}"/></svg>'
    return bytes(vl_convert.svg_to_pdf(_TEXT.sub("", drawing).removesuffix("</svg>") + image))
