"""How evenhand looks, wherever it is seen: colours on a light and a dark ground, and what each status is called.

Colour means status, alert or side of bias. All else is ink and grey. A status has one word, one colour and one shape,
so that shape and word suffice where there is no colour.
"""

from __future__ import annotations

import re
from typing import Final

from evenhand.words import phrase

_TAG: Final = re.compile(r"<\w[^>]*>")
_COLOUR: Final = re.compile(r' (fill|stroke)="(#[0-9A-Fa-f]{6})"')

LIGHT: Final[dict[str, str]] = {
    "bg": "#FFFFFF",
    "surface": "#F5F6F7",
    "ink": "#15181C",
    "ink-2": "#4A525B",
    "ink-3": "#66707B",
    "rule": "#DFE3E7",
    "grid": "#ECEFF1",
    "in": "#0B5A9E",
    "in-soft": "#C6DDF1",
    "open": "#8A5300",
    "open-fill": "#C87F00",
    "open-soft": "#F7DFAE",
    "out": "#66707B",
    "out-soft": "#E2E6E9",
    "alert": "#A5113C",
    "alert-soft": "#FDF2F4",
    "alert-on": "#FFFFFF",
    "strict": "#68479B",
    "strict-soft": "#DCD2EC",
    "generous": "#0A6C61",
    "generous-soft": "#C3E3DD",
    **dict(
        zip((f"level-{at}" for at in range(1, 6)), ("#8A949D", "#76808A", "#626C76", "#4E5761", "#363D45"), strict=True)
    ),
}
"""Colours on a light ground, by what they are for; ``open`` is for text, ``open-fill`` for marks."""

DARK: Final[dict[str, str]] = {
    "bg": "#13161A",
    "surface": "#1B1F24",
    "ink": "#ECEEF0",
    "ink-2": "#B6BDC5",
    "ink-3": "#929BA5",
    "rule": "#323940",
    "grid": "#23282E",
    "in": "#74B5EC",
    "in-soft": "#1D4468",
    "open": "#F0B64C",
    "open-fill": "#F0B64C",
    "open-soft": "#574012",
    "out": "#98A1AB",
    "out-soft": "#343B42",
    "alert": "#FF7390",
    "alert-soft": "#29171D",
    "alert-on": "#2A0710",
    "strict": "#BBA3E8",
    "strict-soft": "#43356A",
    "generous": "#5FC9B8",
    "generous-soft": "#154A43",
    **dict(
        zip((f"level-{at}" for at in range(1, 6)), ("#5E6871", "#727C86", "#88929B", "#99A3AC", "#BFC7CE"), strict=True)
    ),
}
"""The same on a dark ground."""

STATUS: Final[dict[str, tuple[str, str]]] = {"in": ("In", "●"), "undecided": ("Open", "◐"), "out": ("Out", "○")}
"""For each status as data has it, the word and the shape that people see."""


def status_word(status: str) -> str:
    """Return the word of a status within a sentence.

    Examples
    --------
    >>> status_word("undecided")
    'open'
    """
    return phrase(STATUS[status][0]).lower()


def style_sheet() -> str:
    """Return the colours as variables of a style sheet: light, dark where the reader prefers that, light on paper."""
    light, dark = ("".join(f"--{name}:{colour};" for name, colour in ground.items()) for ground in (LIGHT, DARK))
    return f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def in_variables(drawing: str) -> str:
    """Return an SVG drawing whose colours, where they are ours, follow the page that it stands in."""
    names = {colour.lower(): name for name, colour in reversed(LIGHT.items())}

    def themed(tag: re.Match[str]) -> str:
        return _COLOUR.sub(
            lambda found: f' {found[1]}="var(--{names[found[2].lower()]})"' if found[2].lower() in names else found[0],
            tag[0],
        )

    return _TAG.sub(themed, drawing)
