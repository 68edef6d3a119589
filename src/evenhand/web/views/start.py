"""Where a panel comes in: a file dropped, cells pasted, the demo; and the panels that are there already."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from typing import Final

from django.contrib import messages
from django.db import transaction
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_POST

from evenhand.web.calibrating import KNOWN_AS, METHODS, REFINEMENTS, in_brief
from evenhand.web.forms import Named, Upload
from evenhand.web.jobs import jobs
from evenhand.web.models import Panel, Plan
from evenhand.web.pages import comfort, page, style
from evenhand.web.reading import safe_name
from evenhand.web.views.decision import verdict_means
from evenhand.web.views.record import name_of, sent
from evenhand.words import phrase

_SHOWN: Final = 100


@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Show where to drop a file, and the panels that are there."""
    newest = Panel.objects.defer("content").annotate(last_frozen=Max("frozen__created")).order_by("-changed", "-pk")
    panels = list(newest if "all" in request.GET else newest[: _SHOWN + 1])
    shown = panels if "all" in request.GET else panels[:_SHOWN]
    further = len(panels) > len(shown)
    return page(request, "start.html", panels=_in_groups(shown), plans=Plan.objects.all()[:_SHOWN], further=further)


def _in_groups(panels: list[Panel]) -> list[Panel]:
    """Return panels with those of the groups of one panel after each other, in the order of the groups."""
    first: dict[object, int] = {}
    for at, one in enumerate(panels):
        first.setdefault(one.part.get("of", one.pk), at)
    return sorted(panels, key=lambda one: (first[one.part.get("of", one.pk)], one.part.get("group", 0)))


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Take in a file or pasted cells, as they are."""
    form = Upload(request.POST, request.FILES)
    if not form.is_valid():
        messages.error(request, _("That is too much to paste: save it as a file and drop that."))
        return redirect("start")
    file, cells = form.cleaned_data["file"], form.cleaned_data["cells"].strip("\r\n")
    if file is not None:
        return redirect(taken_in(safe_name(file.name), file.read()))
    if cells.strip():
        return redirect(taken_in("pasted.tsv", f"{cells}\n".encode(), name=_("Pasted cells")))
    messages.error(request, _("Choose a file, or paste cells, first."))
    return redirect("start")


@transaction.atomic
def taken_in(file_name: str, content: bytes, name: str | None = None, **options: object) -> Panel:
    """Keep a file as a new panel."""
    digest = hashlib.sha256(content).hexdigest()
    title = name or file_name.rsplit(".", 1)[0]
    panel = Panel.objects.create(name=title, file_name=file_name, content=content, digest=digest, **options)
    panel.say(_("Taken in: %(file)s") % {"file": file_name})
    return panel


@require_POST
def demo(request: HttpRequest) -> HttpResponse:
    """Open the panel that is shipped, ready to look at."""
    return redirect(open_demo())


def open_demo() -> Panel:
    """Return a new panel with the scores that are shipped."""
    from evenhand.data import DEMO, demo_path

    content = demo_path().read_bytes()
    return taken_in(DEMO, content, _("Grant competition (demo)"), choices={"places": 10}, is_read=True)


@require_GET
def template(request: HttpRequest) -> HttpResponse:
    """Return an empty workbook to fill in."""
    from evenhand.reports.template import template as write

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        place = Path(folder) / "scores.xlsx"
        write(place)
        return sent(place.name, place.read_bytes())


@require_GET
def help_page(request: HttpRequest) -> HttpResponse:
    """Show what the words mean and what to do when."""
    from evenhand.answers.support import method_means
    from evenhand.answers.verdicts import READ_AS
    from evenhand.models.fit import REFINEMENT_NAMES, method_name

    compared = _("averages of scores that are put on each assessor’s own mean and spread, for comparison only")
    refined = {name: method_means(name, "level") for name in REFINEMENT_NAMES}
    refined["ordinal-probit"] = _("only the order of marks counts, not how many points lie between two of them")
    offered = {known: in_brief(REFINEMENTS[name][0])[0] for known, name in KNOWN_AS.items()}  # as menus have it
    return page(
        request,
        "help.html",
        verdict_means=verdict_means(),
        verdicts=READ_AS,
        methods_mean=[
            *map(in_brief, METHODS.values()),
            (method_name("z"), compared),
        ],
        refined_mean=[
            (offered[name], in_brief(phrase(REFINEMENT_NAMES[name]))[0].replace("'", "’"), words)
            if name in offered
            else (phrase(REFINEMENT_NAMES[name]), "", words)
            for name, words in refined.items()
            if words
        ],
    )


@require_GET
@cache_control(max_age=3600, private=True)
def style_sheet(request: HttpRequest) -> HttpResponse:
    """Return the style of all pages."""
    return HttpResponse(style(), content_type="text/css; charset=utf-8")


@require_GET
@cache_control(max_age=3600, private=True)
def script(request: HttpRequest) -> HttpResponse:
    """Return the script of all pages."""
    return HttpResponse(comfort(), content_type="text/javascript; charset=utf-8")


@require_GET
def job(request: HttpRequest, key: str) -> HttpResponse:
    """Say how far work is; where it has ended, lead to what came out.

    That link takes the place of what asks, so that nobody asks again; the script follows it, once.
    """
    found = jobs.find(key)
    if found is not None and not found.ended.is_set():
        return page(request, "progress.html", job=found)
    address = safe_address(request.GET.get("at", "/"))
    if request.GET.get("file"):
        name, back = _file_at(address), _page_before(address)
        response, place, way = page(request, "ready.html", address=address, name=name, back=back), "#working", "inner"
    else:
        response, place, way = page(request, "there.html", address=address), "#working > .work", "outer"
    response.headers["HX-Retarget"], response.headers["HX-Reswap"] = place, f"{way}HTML"
    return response


def _file_at(address: str) -> str:
    """Return what the file at an address is called where it is kept."""
    place = address.partition("?")[0]
    found, name = re.match(r"/panels/(\d{1,17})/", place), place.rpartition("/")[2]
    panel = None if found is None else Panel.objects.defer("content").filter(pk=found[1]).first()
    if panel is None:
        return name
    is_provisional = "/out/" in place and bool(panel.known) and panel.known.get("alert") == "stop"
    return name_of(panel, f"provisional-{name}" if is_provisional else name)


def _page_before(address: str) -> str:
    """Return the page from which a file is fetched: that of the report, or of the plan; empty where it is neither."""
    found = re.match(r"/(panels|designs)/(\d{1,17})/", address)
    if found is None:
        return ""
    return reverse("record" if found[1] == "panels" else "plan", args=[int(found[2])])


def safe_address(given: str) -> str:
    """Return an address on this server; the start page for any other."""
    return given if given.startswith("/") and not given.startswith(("//", "/\\")) else "/"


@require_POST
def stop(request: HttpRequest, key: str) -> HttpResponse:
    """Stop work at its next step."""
    jobs.stop(key)
    messages.info(request, _("Stopped. Nothing was changed."))
    return redirect(safe_address(request.POST.get("back", "/")))


@require_POST
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a panel another name."""
    panel, form = get_object_or_404(Panel, pk=pk), Named(request.POST)
    if form.is_valid():
        panel.name = form.cleaned_data["name"]
        panel.keep("name")
    return redirect("record", pk)


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a panel with all that belongs to it, once that is confirmed."""
    panel = get_object_or_404(Panel, pk=pk)
    if request.POST.get("sure") != "yes":
        return page(request, "delete.html", panel=panel)
    panel.delete()
    messages.info(request, _("“%(name)s” is deleted.") % {"name": panel.name})
    return redirect("start")
