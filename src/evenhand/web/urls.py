"""The pages, by address."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from evenhand.web import guard
from evenhand.web.views import decision, design, groups, reading, record, start, what_if

urlpatterns = [
    path("", start.start, name="start"),
    path("upload", start.upload, name="upload"),
    path("demo", start.demo, name="demo"),
    path("template.xlsx", start.template, name="template"),
    path("help", start.help_page, name="help"),
    path("look.css", start.style_sheet, name="style"),
    path("app.js", start.script, name="script"),
    path("jobs/<str:key>", start.job, name="job"),
    path("jobs/<str:key>/stop", start.stop, name="stop"),
    path("language", set_language, name="language"),
    path("panels/<int:pk>/reading", reading.reading, name="reading"),
    path("panels/<int:pk>/reading/settings", reading.settle, name="settle"),
    path("panels/<int:pk>/reading/correct", reading.correct, name="correct"),
    path("panels/<int:pk>/reading/add", reading.add, name="add-score"),
    path("panels/<int:pk>/reading/undo/<int:at>", reading.undo, name="undo-correction"),
    path("panels/<int:pk>/original", reading.original, name="original"),
    path("panels/<int:pk>/rename", start.rename, name="rename"),
    path("panels/<int:pk>/delete", start.delete, name="delete"),
    path("panels/<int:pk>/", decision.decision, name="decision"),
    path("panels/<int:pk>/choices", decision.choose, name="choose"),
    path("panels/<int:pk>/choice", decision.choice, name="choice"),
    path("panels/<int:pk>/checks", decision.look, name="look"),
    path("panels/<int:pk>/groups", groups.part, name="part"),
    path("panels/<int:pk>/objects/<int:at>", decision.one_object, name="object"),
    path("panels/<int:pk>/assessors", decision.assessors, name="assessors"),
    path("panels/<int:pk>/assessors/<int:at>", decision.one_assessor, name="assessor"),
    path("panels/<int:pk>/evidence", decision.evidence, name="evidence"),
    path("panels/<int:pk>/what-if", what_if.scenarios, name="scenarios"),
    path("panels/<int:pk>/what-if/new", what_if.begin, name="new-scenario"),
    path("panels/<int:pk>/what-if/<int:at>", what_if.scenario, name="scenario"),
    path("panels/<int:pk>/what-if/<int:at>/change", what_if.change, name="change"),
    path("panels/<int:pk>/what-if/<int:at>/undo", what_if.undo, name="undo-change"),
    path("panels/<int:pk>/what-if/<int:at>/redo", what_if.redo, name="redo-change"),
    path("panels/<int:pk>/what-if/<int:at>/rename", what_if.rename, name="rename-scenario"),
    path("panels/<int:pk>/what-if/<int:at>/delete", what_if.delete, name="delete-scenario"),
    path("panels/<int:pk>/what-if/<int:at>/save", what_if.save, name="save-scenario"),
    path("panels/<int:pk>/record", record.record, name="record"),
    path("panels/<int:pk>/out/<str:what>", record.out, name="out"),
    path("panels/<int:pk>/freeze", record.freeze, name="freeze"),
    path("panels/<int:pk>/working/<str:key>", record.working, name="working"),
    path("panels/<int:pk>/frozen/<int:at>", record.frozen, name="frozen"),
    path("panels/<int:pk>/frozen/<int:at>/verify", record.verify, name="verify"),
    path("designs", design.designs, name="designs"),
    path("designs/new", design.make, name="new-plan"),
    path("designs/<int:pk>", design.plan, name="plan"),
    path("designs/<int:pk>/edit", design.edit, name="edit-plan"),
    path("designs/<int:pk>/delete", design.delete, name="delete-plan"),
    path("designs/<int:pk>/out/<str:what>", design.out, name="plan-out"),
]

handler400 = guard.bad_request
handler404 = guard.not_found
handler500 = guard.broken
