"""A scenario tried beside what stands, and the cells that its changes come to once they are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from evenhand.errors import InputError, NotRankableError
from evenhand.progress import report as tell
from evenhand.web.calibrating import Answer, answering, fit_by, places_of
from evenhand.web.jobs import Job, jobs
from evenhand.web.models import Panel, Scenario, mark
from evenhand.web.reading import look, looking, scores_of
from evenhand.web.settling import cell_at

if TYPE_CHECKING:
    from evenhand.answers.decision import Decision
    from evenhand.answers.what_if import Difference
    from evenhand.models.fit import Fit
    from evenhand.panel.panel import Panel as Scores


@dataclass(frozen=True, eq=False)
class Tried:
    """A scenario beside what stands."""

    answer: Answer
    fit: Fit
    difference: Difference | None
    decision: Decision | None
    why: str = ""


def with_choices(state: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a state with the choices that changes make, in the order in which they were made."""
    choices, options = dict(state["choices"]), dict(state["options"])
    for one in changes:
        if one["type"] == "choice":
            (options if one["name"] == "factor" else choices)[one["name"]] = one["value"]
    return {**state, "choices": choices, "options": options}


def trying(panel: Panel, scenario: Scenario) -> Job:
    """Return the work of trying a scenario."""
    state, changes = panel.state(), list(scenario.changes)
    base, looked_at, content = answering(panel), looking(panel), bytes(panel.content)
    wanted = with_choices(state, changes)

    def work() -> Tried:
        from evenhand.answers.decision import decide
        from evenhand.answers.ranking import rank
        from evenhand.answers.what_if import Difference, changed

        answer: Answer = base.outcome()
        if answer.stops:  # what is shown then lacks a score that the scenario has, or has no ranks
            why = answer.why or _("Settle what must be checked first; then try changes.")
            return Tried(answer, answer.fit, None, None, str(why))
        found = answer.found.combined
        if wanted["options"] != state["options"]:
            looked = look(content, state["name"], wanted["options"], state["corrections"])
            if looked.scores is None:
                raise InputError(looked.problems)
            found = fit_by(looked.scores, wanted["choices"]).combined
        elif _unlike(wanted["choices"], state["choices"]):
            found = fit_by(found.panel, wanted["choices"]).combined
        tell("trying the changes", 0, None)
        told = changes_of(changes)
        if found.panel.n_assessments != scores_of(looked_at).n_assessments and any(told.values()):
            # a value is of several scores, which only the file has one by one
            why = _("With several criteria scores cannot be tried one by one: correct them on the page Reading.")
            return Tried(answer, found, None, None, str(why))
        fit = changed(found, **told) if any(told.values()) else found
        places = places_of(fit, wanted["choices"])
        if places is None:
            return Tried(answer, fit, None, None, str(_("Say how many places there are, and who has one is compared.")))
        try:
            decision = decide(rank(fit, top=places), places)
        except NotRankableError as error:
            return Tried(answer, fit, None, None, str(error))
        saved = answer.decision
        return Tried(answer, fit, None if saved is None else Difference(saved, decision), decision, answer.why)

    return jobs.start(f"try-{mark([state, changes])}", "trying", work)


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    names = ("method", "refinement", "gauge")
    return any(one.get(name) != other.get(name) for name in names)


def changes_of(changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the changes of scores as :func:`evenhand.answers.what_if.changed` takes them; a later one counts."""
    put: dict[tuple[str, str], float] = {}
    removed: dict[tuple[str, str], None] = {}
    for one in changes:
        pair = (one.get("object", ""), one.get("assessor", ""))
        if one["type"] == "score":
            removed.pop(pair, None)
            put[pair] = one["score"]
        elif one["type"] == "without_score":
            put.pop(pair, None)
            removed[pair] = None
    without = [one["assessor"] for one in changes if one["type"] == "without_assessor"]
    return {
        "put": [(*pair, score) for pair, score in put.items()],
        "remove": [pair for pair in removed if pair[1] not in without],
        "without": list(dict.fromkeys(without)),
    }


def cells_of(scores: Scores, changes: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """Return the cells, by row and column with their new text, that changes of single scores come to."""
    told = changes_of(changes)
    new = {(o, a): f"{score:g}" for o, a, score in told["put"]} | dict.fromkeys(told["remove"], "")
    found = []
    for at, (o, a) in enumerate(zip(scores.object_index.tolist(), scores.assessor_index.tolist(), strict=True)):
        pair = (str(scores.objects[o]), str(scores.assessors[a]))
        if pair[1] in told["without"] or pair not in new:
            continue
        found.append((*cell_at(scores, at), new[pair]))
    return found
