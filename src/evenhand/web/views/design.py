"""Who reads what: objects, assessors, conflicts and loads in; a design with its expected precision out."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_POST

from evenhand.web.models import Plan
from evenhand.web.pages import page


@require_GET
def designs(request: HttpRequest) -> HttpResponse:
    """Show what is asked for, and the designs that are there."""
    return page(request, "designs.html", plans=Plan.objects.all())


@require_POST
def make(request: HttpRequest) -> HttpResponse:
    """Make a design."""
    raise Http404


@require_GET
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a design."""
    get_object_or_404(Plan, pk=pk)
    raise Http404


@require_POST
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a design by hand."""
    raise Http404


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Drop a design."""
    get_object_or_404(Plan, pk=pk).delete()
    return redirect("designs")


@require_GET
def out(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Send a file of a design."""
    raise Http404
