"""How a page is made: the templates of the report and our own, one frame for all, and what is shown while work runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import jinja2
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from evenhand import __version__, look
from evenhand.reports.page import LEFTWARD, filters, isolated, kept_templates
from evenhand.web.jobs import SOON, Job, Stopped
from evenhand.words import again, translated

if TYPE_CHECKING:
    from evenhand.web.models import Panel


def environment(**options: Any) -> jinja2.Environment:
    """Return the environment of all templates: the report's filters, addresses, and words in the reader's language."""
    made = jinja2.Environment(  # noqa: S701  Django asks for escaping in its options
        **options | {"undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True},
        bytecode_cache=kept_templates("pages"),
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters |= filters() | {"again": again, "day": _day, "hour": lambda when: _day(when, ", H:i")}
    made.globals |= {
        "static": static,
        "url": lambda name, *given: reverse(name, args=given),
        "words_of": look.STATUS,
        "version": __version__,
        "language": translation.get_language,
    }
    return made


def _day(when: datetime, further: str = "") -> str:
    """Return a date by the clock of this machine, which is the reader's."""
    return date_format(when.astimezone(), f"j N Y{further}")


@cache
def style() -> str:
    """Return the style sheet: the colours, the report's, and what the application adds."""
    report = files("evenhand.reports").joinpath("templates/page.css").read_text("utf-8")
    own = files("evenhand.web").joinpath("static/evenhand/app.css").read_text("utf-8")
    return look.style_sheet() + report + own


@cache
def comfort() -> str:
    """Return the script: the report's search of a table, and what the application adds."""
    found = files("evenhand.reports").joinpath("templates/find.js").read_text("utf-8")
    return found + files("evenhand.web").joinpath("static/evenhand/app.js").read_text("utf-8")


def in_language(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let sentences about results be in the reader's language, like the pages around them."""

    def translating(request: HttpRequest) -> HttpResponse:
        with translated(gettext):
            return answer(request)

    return translating


def page(
    request: HttpRequest, template: str, panel: Panel | None = None, status: int = 200, **context: Any
) -> TemplateResponse:
    """Return a page within the frame."""
    section = request.resolver_match.url_name if request.resolver_match else ""
    made = TemplateResponse(request, template, {"panel": panel, "section": section, **context}, status=status)
    made.add_post_render_callback(_set_apart)
    return made


_PARTS: Final = re.compile(r"<(title|script|style|textarea|option|text|code)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)
"""What of a page is left as it is, tags, and text."""

_HYPHENED: Final = re.compile(r"(?<![\w-])(?=[\w-]{3,24}(?![\w-]))(?=[\w-]*\d)\w+(?:-\w+)+")
"""Names such as ``ERC-2026-0012``."""


def _set_apart(made: HttpResponse) -> None:
    """Let names that run from right to left disturb no number beside them, and keep names with hyphens in one line.

    What forms send, and drawings, stay as they are.
    """

    def spoken(text: str) -> str:
        return _HYPHENED.sub(r'<span class="id">\g<0></span>', isolated(text))

    whole = made.content.decode()
    if LEFTWARD.search(whole) or _HYPHENED.search(whole):
        made.content = _PARTS.sub(lambda part: part[0] if part[0][0] == "<" else spoken(part[0]), whole)


def when_done(
    request: HttpRequest,
    job: Job,
    show: Callable[[Any], HttpResponse],
    panel: Panel | None = None,
    *,
    file: bool = False,
) -> HttpResponse:
    """Return the page of a piece of work: what came out where it ends soon, else how far it is.

    The page that waits asks again; a ``file`` is fetched when it is ready, and the page stays.
    """
    if not job.wait(SOON):
        return page(request, "waiting.html", panel, job=job, is_file=file)
    if isinstance(job.error, Stopped):
        return page(request, "stopped.html", panel, job=job)
    if job.error is not None:
        raise job.error
    return show(job.result)
