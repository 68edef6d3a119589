"""What people read: the one summary, and what is made of it for a terminal, a page and a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit


def report(found: Fit | CriteriaFit, path: str | Path, **options: Any) -> Path:
    """Write a report of a fit as one HTML file and return its path.

    Parameters
    ----------
    found
        A fit by any method, or one of several criteria.
    path
        The file, ending in ``.html``. For a PDF print it from a browser: it is laid out for A4.
    options
        ``top``, the number of places to decide; ``seed`` and ``draws`` of the posterior draws; ``lottery_seed`` to draw
        open places by lot; ``comparison``, one of :func:`~evenhand.compare` to show (True to make one, False for none),
        and the ``candidates`` to make it of; ``choice``, an ``evenhand.answers.decision.Choice`` of whom the panel gave
        open places; ``changes``, sentences on what was left out or changed by hand, and why; ``title``.
    """
    from evenhand.io.results import check_target, write_text
    from evenhand.reports.page import make_report, refuse_pdf, render

    refuse_pdf(Path(path))
    check_target(path, known=(".html", ".htm"))
    return write_text(path, render(make_report(found, **options)))
