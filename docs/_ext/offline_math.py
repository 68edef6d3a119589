"""Formulas as MathML, which browsers show without any script: nothing is fetched when a page is read.

The translation from TeX is the one that docutils brings along.
"""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode  # type: ignore[import-untyped]
from docutils.utils.math import MathError  # type: ignore[import-untyped]
from docutils.utils.math.latex2mathml import tex2mathml  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def to_mathml(tex: str, *, block: bool, node: Any = None) -> str:
    """Return a formula as MathML; one that cannot be translated is a warning, and so stops the build."""
    try:
        return str(tex2mathml(tex, as_block=block))
    except MathError as error:
        logger.warning("formula %r: %s", tex, error, location=node)
        return ""


def show_inline(translator: Any, node: Any) -> None:
    """Write a formula within a line."""
    translator.body.append(to_mathml(node.astext(), block=False, node=node))
    raise SkipNode


def show_block(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own, with its number where it has one."""
    label = next(iter(node.get("ids", ())), None)
    number = node.get("number")
    translator.body.append('<div class="math">' if label is None else f'<div class="math" id="{label}">')
    translator.body.append(to_mathml(node.astext(), block=True, node=node))
    if number:
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
