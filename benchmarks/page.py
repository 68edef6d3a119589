"""Measured tables in the documentation: each benchmark renews its own section of a page, between two markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, all columns but the first aligned right."""
    lines = [" | ".join(heads), " | ".join(["---", *["---:"] * (len(heads) - 1)]), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def write_section(page: Path, name: str, text: str) -> None:
    """Replace what a page holds between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    whole = page.read_text(encoding="utf-8")
    section = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(section.findall(whole)) != 1:
        raise ValueError(f"{page} needs the markers {begin} and {end}, once.")
    page.write_text(section.sub(lambda _: f"{begin}\n\n{text.strip()}\n\n{end}", whole), encoding="utf-8")
