"""What can go wrong, said once: one root error, its few children, and the problem they carry."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.words import again, by_door, count_of


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with, or worth knowing about, the data.

    Attributes
    ----------
    kind
        A short lower-case identifier that programs can test, such as ``"bad_score"``.
    message
        A sentence for people: what is wrong and what to do.
    where
        The place, such as ``"row 5, column Score"`` or ``"assessor AB"``; None where the whole file is meant.
    """

    kind: str
    message: str
    where: str | None = None

    def __str__(self) -> str:
        """Return the place and the sentence in one line, in the reader's language."""
        return f"{again(self.where)}: {again(self.message)}" if self.where else again(self.message)


class EvenhandError(Exception):
    """Root of all errors that evenhand raises on purpose."""


class InputError(EvenhandError):
    """A file, a frame or an argument is wrong.

    Parameters
    ----------
    problems
        One sentence, or every problem that was found. The text of the error is the first of them,
        with a count of the others.
    kind
        The kind of problem, where a single sentence was given.
    where
        The place of the problem, where a single sentence was given.

    Attributes
    ----------
    problems
        All problems found, in the order of the data.
    """

    def __init__(self, problems: str | Sequence[Problem], *, kind: str = "bad_input", where: str | None = None) -> None:
        found = (Problem(kind, problems, where),) if isinstance(problems, str) else tuple(problems)
        self.problems: tuple[Problem, ...] = found
        more = len(found) - 1
        remedy = by_door("the attribute problems has all", "`evenhand check` lists all")
        rest = "" if more == 0 else f" ({count_of(more, 'more problem')}; {remedy}.)"
        super().__init__(f"{found[0]}{rest}")

    @property
    def kind(self) -> str:
        """Kind of the first problem."""
        return self.problems[0].kind

    @property
    def where(self) -> str | None:
        """Place of the first problem."""
        return self.problems[0].where


def bad_option(message: str, *, where: str | None = None) -> InputError:
    """Return the error for an argument or an option that makes no sense."""
    return InputError(message, kind="bad_option", where=where)


class LimitError(EvenhandError):
    """The request is sound but too large for the limits that are set."""


class MissingPackageError(EvenhandError):
    """An optional package is needed and not installed.

    Attributes
    ----------
    package
        Its name.
    """

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        self.package = package
        super().__init__(f"{purpose} needs the package {package}: pip install '{extra}'.")


def is_installed(module: str) -> bool:
    """Say whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


_EXTRAS: Final = {"polars": ("polars", "large"), "vl_convert": ("vl-convert-python", "pictures")}
"""For modules that a plain installation lacks, the package and the extra that brings it."""


def require(module: str, purpose: str) -> None:
    """Say what to install where a module of an extra is needed and is not there."""
    if not is_installed(module):
        package, extra = _EXTRAS[module]
        raise MissingPackageError(package, purpose, f"evenhand[{extra}]")


class NotConnectedError(EvenhandError):
    """The panel falls into groups whose standards cannot be compared.

    Attributes
    ----------
    components
        For each group, the labels of its objects and of its assessors.
    suggestions
        A smallest set of further assessments (assessor, object) that would join the groups.
    """

    def __init__(
        self,
        message: str,
        *,
        components: Sequence[tuple[Sequence[str], Sequence[str]]],
        suggestions: Sequence[tuple[str, str]],
    ) -> None:
        self.components = tuple(components)
        self.suggestions = tuple(suggestions)
        super().__init__(message)


class NoDesignError(EvenhandError):
    """No design keeps all rules that were asked for, or none was found.

    Attributes
    ----------
    kind
        What stands in the way: ``"object"``, ``"load"``, ``"capacity"``, ``"fixed"``, ``"groups"``, ``"connection"``,
        ``"together"`` or ``"target"``; ``"not_found"`` where a search ended without a design and without a proof that
        there is none.
    objects, assessors
        Labels of those concerned; empty where it is all of them.
    short
        How many assessments are missing, or too many; 0 where that cannot be counted.
    cause
        The rules that cannot be kept together, none of which can be left out: ``("per_object", object)``,
        ``("min_load", assessor)``, ``("max_load", assessor)``, ``("fixed", assessor, object)``, ``("conflicts",)``,
        ``("limit", name, pairs)``, ``("linked", object, object)``, ``("connected",)``. Without a label, all of a kind
        are meant. Empty where the cause is not known.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        objects: Sequence[str] = (),
        assessors: Sequence[str] = (),
        short: int = 0,
        cause: Sequence[tuple[object, ...]] = (),
    ) -> None:
        self.kind = kind
        self.objects = tuple(objects)
        self.assessors = tuple(assessors)
        self.short = short
        self.cause = tuple(cause)
        super().__init__(message)


class SolveError(EvenhandError):
    """The equations could not be solved to the accuracy that a result must have."""


def too_extreme(what: str = "scores or confidences") -> SolveError:
    """Return the error of numbers that leave the range of those that can be computed with."""
    return SolveError(f"The {what} are too extreme to compute with: rescale them.")


class NotRankableError(EvenhandError):
    """The objects cannot be ranked, or no probabilities can be given for them."""
