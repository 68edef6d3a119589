"""What people may send, checked by Django before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from evenhand.design.result import LARGEST_OUTLOOK
from evenhand.errors import EvenhandError, InputError
from evenhand.io.designs import typed_expertise, typed_members, typed_pairs
from evenhand.panel.reading import LAYOUTS
from evenhand.web.calibrating import METHODS, REFINEMENTS
from evenhand.web.reading import CHOICES

_NAME: Final = 200
_CELL: Final = 2000
_PASTED: Final = 1_000_000
_TOO_MANY: Final = _(
    "Up to %(most)s objects and assessors together are planned here. "
    "Larger designs are for the command line: evenhand design."
)


def said(error: EvenhandError) -> list[str]:
    """Return what is wrong, a sentence for each problem."""
    return [str(one) for one in error.problems] if isinstance(error, InputError) else [str(error)]


class Upload(forms.Form):
    """A file, or cells that were pasted."""

    file = forms.FileField(required=False, allow_empty_file=True)
    cells = forms.CharField(required=False, max_length=5_000_000, strip=False)


class Named(forms.Form):
    """A name."""

    name = forms.CharField(max_length=_NAME)


class Settings(forms.Form):
    """How a file is read, apart from the roles of its columns."""

    layout = forms.ChoiceField(required=False, choices=[("", _("find out")), *LAYOUTS.items()])
    sheet = forms.CharField(required=False, max_length=_NAME)
    format = forms.CharField(required=False, max_length=_NAME)
    best = forms.ChoiceField(required=False, choices=[("", _("ask me")), *CHOICES["best"].items()])
    duplicates = forms.ChoiceField(required=False, choices=[("", _("ask me")), *CHOICES["duplicates"].items()])
    missing = forms.CharField(required=False, max_length=_CELL)
    aliases = forms.CharField(required=False, max_length=_CELL)
    level_scale = forms.CharField(required=False, max_length=50)
    factor = forms.FloatField(required=False, min_value=1.0001, max_value=1000)
    read_layout = forms.ChoiceField(required=False, choices=[("", ""), *LAYOUTS.items()])

    def options(self) -> dict[str, Any]:
        """Return them as arguments of :func:`evenhand.read_panel`."""
        given = self.cleaned_data
        found = {name: given[name] for name in ("layout", "sheet", "format", "best", "duplicates", "factor")}
        found["missing"] = [one.strip() for one in given["missing"].split(",") if one.strip()]
        found["aliases"] = dict(given["aliases"])
        found["level_scale"] = given["level_scale"]
        return {name: value for name, value in found.items() if value}

    def clean_aliases(self) -> dict[str, str]:
        """Return words for levels: ``hoch=high, tief=low``."""
        pairs = [one.split("=", 1) for one in self.cleaned_data["aliases"].split(",") if one.strip()]
        if any(len(pair) != 2 or not pair[0].strip() for pair in pairs):
            raise forms.ValidationError(_("Write each word as word=high, word=medium or word=low."))
        return {word.strip(): level.strip() for word, level in pairs}

    def clean_level_scale(self) -> list[float]:
        """Return the two ends of a scale: ``1,5``."""
        text = self.cleaned_data["level_scale"].replace("–", ",").replace("-", ",").replace(" ", ",")
        try:
            found = [float(one) for one in text.split(",") if one]
        except ValueError:
            found = [0.0]
        if found and (len(found) != 2 or not all(abs(one) < 1e6 for one in found)):
            raise forms.ValidationError(_("Write the two ends of the scale, the least sure first: 1,5."))
        return found


class Corrected(forms.Form):
    """A cell, and what it is to be read as."""

    row = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    column = forms.CharField(max_length=1000, strip=False)
    text = forms.CharField(required=False, max_length=_CELL)
    reason = forms.CharField(required=False, max_length=_CELL)


class Added(forms.Form):
    """A score that the file lacks."""

    object = forms.CharField(max_length=1000)
    assessor = forms.CharField(max_length=1000)
    score = forms.CharField(max_length=_NAME)
    confidence = forms.CharField(required=False, max_length=_NAME)
    reason = forms.CharField(max_length=_CELL)


class Places(forms.Form):
    """How many places there are, and how values are found."""

    places = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    method = forms.ChoiceField(required=False, choices=list(METHODS.items()))
    refinement = forms.ChoiceField(
        required=False, choices=[(name, words) for name, (words, _assumed) in REFINEMENTS.items()]
    )
    gauge = forms.CharField(required=False, max_length=1000)


class Change(Places):
    """A change that is tried: an assessor or a score left out, a score that is another, another choice."""

    without = forms.CharField(required=False, max_length=1000)
    score_of = forms.CharField(required=False, max_length=3000)
    score = forms.FloatField(required=False)
    drop = forms.BooleanField(required=False)
    factor = forms.FloatField(required=False, min_value=1.0001, max_value=1000)


class Saved(forms.Form):
    """Why a scenario becomes what stands."""

    reason = forms.CharField(max_length=_CELL)


class Chosen(forms.Form):
    """Why the panel chose as it did among those who are open, and who decided."""

    reason = forms.CharField(max_length=_CELL)
    by = forms.CharField(max_length=_NAME)


class Asked(forms.Form):
    """What a design is to be: who and what there is, how much is to be read, what must not be."""

    name = forms.CharField(required=False, max_length=_NAME)
    objects = forms.CharField(max_length=_PASTED, strip=False)
    assessors = forms.CharField(max_length=_PASTED, strip=False)
    per_object = forms.IntegerField(min_value=1, max_value=1_000)
    min_load = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    max_load = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    uncertainty = forms.FloatField(required=False, min_value=1e-6, max_value=1e6)
    conflicts = forms.CharField(required=False, max_length=_PASTED, strip=False)
    expertise = forms.CharField(required=False, max_length=_PASTED, strip=False)
    seed = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def clean(self) -> dict[str, Any]:
        """Read what was pasted once, so that a mistake is said beside its field."""
        given = self.cleaned_data
        objects = self._read("objects", lambda: typed_members(given["objects"], "object"))
        assessors = self._read("assessors", lambda: typed_members(given["assessors"], "assessor"))
        if objects is not None and assessors is not None:
            if len(objects.labels) + len(assessors.labels) > LARGEST_OUTLOOK:
                self.add_error(None, _TOO_MANY % {"most": f"{LARGEST_OUTLOOK:,}"})
            self._read("conflicts", lambda: typed_pairs(given["conflicts"], objects, assessors, "conflicts"))
            self._read("expertise", lambda: typed_expertise(given["expertise"], objects, assessors))
        return given

    def _read(self, name: str, read: Callable[[], Any]) -> Any:
        """Return what a field says; None, and what is wrong with it beside the field, where it cannot be read."""
        if name not in self.cleaned_data:
            return None
        try:
            return read()
        except EvenhandError as error:
            self.add_error(name, said(error)[:5])
            return None


class Edit(forms.Form):
    """A pair that comes or goes, or the last such change taken back."""

    do = forms.ChoiceField(choices=[("add", ""), ("remove", ""), ("undo", "")])
    assessor = forms.CharField(required=False, max_length=1000, strip=False)
    object = forms.CharField(required=False, max_length=1000, strip=False)
