"""What is kept: panels with the file as it came, corrections, scenarios, frozen decisions, designs, and the record."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import models
from django.urls import reverse

from evenhand.panel.column import CONFIRMED


class Panel(models.Model):
    """A file of scores as it was dropped in, how it is read, and what is to be decided.

    ``options`` are arguments of :func:`evenhand.read_panel`, ``choices`` say how it is calibrated and how many places
    there are. The content is never changed: corrections are kept apart.
    """

    corrections: models.QuerySet[Correction]
    scenarios: models.QuerySet[Scenario]
    frozen: models.QuerySet[Frozen]
    entries: models.QuerySet[Entry]
    name: models.CharField[Any, Any] = models.CharField(max_length=200)
    file_name: models.CharField[Any, Any] = models.CharField(max_length=255)
    content: models.BinaryField[Any, Any] = models.BinaryField()
    digest: models.CharField[Any, Any] = models.CharField(max_length=64)
    options: models.JSONField[Any, Any] = models.JSONField(default=dict)
    choices: models.JSONField[Any, Any] = models.JSONField(default=dict)
    choice: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """Whom the panel gave places that the scores leave open, with those who were open then; no estimate rests on it."""
    stands: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """Why checks stand as they are, by the marks of what they say: one that says something else is open again."""
    part: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """Which group of which panel it was made of: ``of``, ``group`` and how many ``groups``; empty as a rule."""
    known: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """What the list of panels shows: sizes, counts of the decision and the most serious alert."""
    is_read: models.BooleanField[Any, Any] = models.BooleanField(default=False)
    """Whether somebody has looked at how the file was read and gone on."""
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)
    changed: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now=True)

    class Meta:
        """The last one first."""

        ordering = ("-changed", "-pk")

    def __str__(self) -> str:
        return str(self.name)

    def get_absolute_url(self) -> str:
        """Return the page of its decision, or of how it is read where nobody has looked at that."""
        return reverse("decision" if self.is_read else "reading", args=[self.pk])

    def corrected(self) -> dict[str, str]:
        """Return the cells that are read as something else, by their place."""
        cells = self.corrections.filter(undone=None)
        return {one.place: one.after + (CONFIRMED if one.is_kept else "") for one in cells}

    def state(self) -> dict[str, Any]:
        """Return all that an answer depends on."""
        return {
            "file": self.digest,
            "name": self.file_name,
            "options": self.options,
            "corrections": self.corrected(),
            "choices": self.choices,
        }

    def keep(self, *fields: str) -> None:
        """Save some fields alone: what another tab has changed stays, and the file is not written again."""
        self.save(update_fields=[*fields, "changed"])

    def say(self, words: str, reason: str = "") -> None:
        """Write into the record what was done."""
        Entry.objects.create(panel=self, words=words[:2000], reason=reason[:2000])


class Correction(models.Model):
    """A cell that is read as something else than stands in the file, which itself stays as it is."""

    panel: models.ForeignKey[Any, Any] = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="corrections")
    row: models.PositiveIntegerField[Any, Any] = models.PositiveIntegerField()
    column: models.CharField[Any, Any] = models.CharField(max_length=1000)
    before: models.CharField[Any, Any] = models.CharField(max_length=2000, blank=True)
    after: models.CharField[Any, Any] = models.CharField(max_length=2000, blank=True)
    reason: models.CharField[Any, Any] = models.CharField(max_length=2000, blank=True)
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)
    undone: models.DateTimeField[Any, Any] = models.DateTimeField(null=True)
    of: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """The group or the assessor with whose scores it was left out at one click, or the score that was added.

    For a cell by itself whose score of what it is, where that is known; ``kept`` where somebody has looked at a score
    that is not in the file, and found it right.
    """

    class Meta:
        """In the order in which they were made."""

        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.place}: {self.before!r} → {self.after!r}"

    @property
    def is_kept(self) -> bool:
        """Whether somebody has looked at a score that is not in the file, and found it right."""
        return bool(self.of.get("kept")) and self.before != self.after

    @property
    def place(self) -> str:
        """Where it is, as :func:`evenhand.read_panel` has it."""
        return f"{self.row}:{self.column}"


class Scenario(models.Model):
    """Changes that are tried without touching the panel; each can be undone, and done again."""

    panel: models.ForeignKey[Any, Any] = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="scenarios")
    name: models.CharField[Any, Any] = models.CharField(max_length=200)
    changes: models.JSONField[Any, Any] = models.JSONField(default=list)
    undone: models.JSONField[Any, Any] = models.JSONField(default=list)
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)
    changed: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now=True)

    class Meta:
        """In the order in which they were made."""

        ordering = ("pk",)

    def __str__(self) -> str:
        return str(self.name)


class Frozen(models.Model):
    """A decision that later edits do not change: an archive with data, settings, report, workbook and fingerprint."""

    panel: models.ForeignKey[Any, Any] = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="frozen")
    fingerprint: models.CharField[Any, Any] = models.CharField(max_length=64)
    headline: models.CharField[Any, Any] = models.CharField(max_length=500)
    command: models.CharField[Any, Any] = models.CharField(max_length=2000)
    version: models.CharField[Any, Any] = models.CharField(max_length=50)
    state: models.CharField[Any, Any] = models.CharField(max_length=32, blank=True, default="")
    known: models.JSONField[Any, Any] = models.JSONField(default=dict)
    """What the list of panels showed of it then: counts, and the most serious alert."""
    archive: models.BinaryField[Any, Any] = models.BinaryField()
    page: models.BinaryField[Any, Any] = models.BinaryField()
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)

    class Meta:
        """The last one first."""

        ordering = ("-pk",)

    def __str__(self) -> str:
        return str(self.fingerprint)[:16]


class Entry(models.Model):
    """One line of the record of a panel: what was done, and why."""

    panel: models.ForeignKey[Any, Any] = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="entries")
    words: models.CharField[Any, Any] = models.CharField(max_length=2000)
    reason: models.CharField[Any, Any] = models.CharField(max_length=2000, blank=True)
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)

    class Meta:
        """In the order in which they were made."""

        ordering = ("pk",)

    def __str__(self) -> str:
        return str(self.words)


class Plan(models.Model):
    """Who reads what: what was asked for, and the pairs that came out, as far as they were not changed by hand."""

    name: models.CharField[Any, Any] = models.CharField(max_length=200)
    given: models.JSONField[Any, Any] = models.JSONField(default=dict)
    pairs: models.JSONField[Any, Any] = models.JSONField(default=list)
    created: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now_add=True)
    changed: models.DateTimeField[Any, Any] = models.DateTimeField(auto_now=True)

    class Meta:
        """The last one first."""

        ordering = ("-changed", "-pk")

    def __str__(self) -> str:
        return str(self.name)

    def get_absolute_url(self) -> str:
        """Return its page."""
        return reverse("plan", args=[self.pk])


def mark(state: object) -> str:
    """Return a short name for a state: equal states have equal names."""
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:32]
