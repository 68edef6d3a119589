"""A panel that falls into groups: each is decided by itself, or some are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from evenhand.web.calibrating import Answer, answering
from evenhand.web.models import Correction, Panel
from evenhand.web.reading import looking, scores_of
from evenhand.web.settling import Settled, leave_out

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUPS: Final = 6
"""Groups up to which each can be decided by itself."""

_CELLS: Final = 1_000
"""Scores up to which those of other groups are left out one by one."""


def groups_of(panel: Panel, answer: Answer) -> list[tuple[int, int]]:
    """Return how many objects and assessors each group has; nothing where the pages can do nothing about groups.

    That is so where a score is the mean or the last of several cells: without one of them another would count.
    """
    graph, scores = answer.found.combined.connectivity, answer.found.combined.panel
    if not any(one.kind == "groups" for one in answer.stops) or graph.is_connected or scores.n_assessments > _CELLS:
        return []
    if panel.options.get("duplicates") in ("combine", "last") or scores.cell_of(0) is None:
        return []
    sizes = [(len(objects), len(assessors)) for objects, assessors in graph.components]
    return sizes if len(sizes) <= _GROUPS else []


def siblings(panel: Panel, settled: Sequence[Settled]) -> list[Panel]:
    """Return the panels of the other groups, the next one first, where a panel is of one of several groups."""
    if not panel.part or not any(one.kind == "others" for one in settled):
        return []
    every = Panel.objects.defer("content").filter(part__of=panel.part["of"]).exclude(pk=panel.pk)
    own = panel.part["group"]
    return sorted(every, key=lambda one: (one.part["group"] - own) % panel.part["groups"])


@require_POST
def part(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a panel of each group, or leave one out."""
    panel = get_object_or_404(Panel, pk=pk)
    answer: Answer = answering(panel).outcome()
    job, sizes = looking(panel), groups_of(panel, answer)
    given, reason = request.POST.get("group", ""), request.POST.get("reason", "").strip()
    if not sizes or (given and given not in {str(at + 1) for at in range(len(sizes))}):
        messages.error(request, _("There is no such group. Nothing was changed."))
        return redirect("decision", pk)
    scores, table = scores_of(job), job.result.table
    members = [set(assessors) for _objects, assessors in answer.found.combined.connectivity.components]
    if not given:
        of, made = timezone.now().isoformat(), []
        with transaction.atomic():
            for at, own in enumerate(members):
                told = {"panel": panel.name[:150], "group": at + 1}
                made.append(_copy(panel, _("%(panel)s, group %(group)s") % told))
                made[at].part = {"of": of, "group": at + 1, "groups": len(members)}
                made[at].keep("part")
                others, rest = set().union(*members) - own, sum(size for size, _who in sizes) - sizes[at][0]
                said = _("Taken from %(panel)s: group %(group)s; the scores of other groups are left out") % told
                leave_out(made[at], scores, table, others, said, kind="others", name=at + 1, objects=rest)
                made[at].say(said)
        messages.success(request, _("There is a panel for each group now: say in each how many places it has."))
        return redirect("decision", made[0].pk)
    if not reason:
        messages.error(request, _("Say why: the reason goes into the record. Nothing was changed."))
        return redirect("decision", pk)
    with transaction.atomic():
        said = _("Left out: group %(group)s, read by %(who)s")
        who, objects = members[int(given) - 1], sizes[int(given) - 1][0]
        leave_out(panel, scores, table, who, reason, kind="group", name=given, objects=objects)
        panel.say(said % {"group": given, "who": ", ".join(sorted(who))}, reason)
        panel.keep()
    return redirect("decision", pk)


def _copy(panel: Panel, name: str) -> Panel:
    """Return a new panel of the same file, read and corrected alike; how many places it has is open."""
    choices = {key: value for key, value in panel.choices.items() if key != "places"}
    kept = {field: getattr(panel, field) for field in ("file_name", "content", "digest", "options")}
    made = Panel.objects.create(name=name, choices=choices, is_read=True, **kept)
    for one in panel.corrections.filter(undone=None):
        cell = {field: getattr(one, field) for field in ("row", "column", "before", "after", "reason", "of")}
        Correction.objects.create(panel=made, **cell)
    return made
