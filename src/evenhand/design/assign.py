"""Who should assess what: from a request to a design, and from a panel to the assessments that it lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.design.exchange import Found
from evenhand.design.find import LARGEST_INVERSE, cheapest, even_loads, find, require_inverse
from evenhand.design.inputs import Given, Members, Pairs, floats_of, members_of, pairs_of, pose
from evenhand.design.result import LARGEST_EXACT, Design
from evenhand.design.task import Aim, Objective, Task
from evenhand.design.there import There, without
from evenhand.errors import Problem, bad_option
from evenhand.panel.confidence import FACTOR
from evenhand.panel.panel import Panel


def assign(  # noqa: PLR0913
    objects: Any,
    assessors: Any,
    *,
    per_object: int | Mapping[Any, int] | Sequence[int] | None = None,
    min_load: int | Mapping[Any, int] | Sequence[int] | None = None,
    max_load: int | Mapping[Any, int] | Sequence[int] | None = None,
    conflicts: Pairs = (),
    fixed: Pairs = (),
    linking: Sequence[Any] = (),
    expertise: Any = None,
    topics: tuple[Mapping[Any, Any], Mapping[Any, Any]] | None = None,
    uncertainty: Any = None,
    factor: float = FACTOR,
    only_listed: bool = False,
    cost: Any = None,
    objective: Objective = "variance",
    top: int | None = None,
    expected: Any = None,
    value_sd: float | None = None,
    expertise_weight: float = 0.0,
    target_sd: float | None = None,
    seed: int = 0,
    effort: float = 1.0,
    time_limit: float | None = None,
    there: There | None = None,
    more: int | None = None,
) -> Design:
    """Return who should assess what, so that calibrated values will be as precise as they can be.

    The variances of values after calibration depend on who reads what and how surely, not on the scores (App. D):
    Cov(v) = diag(1/C_o) + Q Sigma_b Q^T. A design that keeps all rules comes from a flow of least cost, is joined
    into one piece, and is then improved by exchanging assessments, each exchange a change of low rank of the inverse
    Laplacian. Balanced designs are built where they are known to exist.

    Parameters
    ----------
    objects, assessors
        Labels, a number of them, or tables with a column ``object`` or ``assessor``. Further columns are recognised: of
        objects ``per_object``, ``topics``, ``linking``, ``expected``; of assessors ``min_load``, ``max_load``,
        ``cost``, ``topics``, ``email``.
    per_object
        Assessments of each object: one number, or one for each.
    min_load, max_load
        Fewest and most assessments by each assessor. Without ``max_load`` the work is shared as evenly as can be.
    conflicts
        Pairs (assessor, object) that must not be.
    fixed
        Pairs that must be.
    linking
        Objects that everybody reads.
    expertise
        How well assessors know objects: levels (high, medium, low) or numbers from 0 to 1, as a matrix (assessors x
        objects; may be sparse), a mapping from pairs, or a table. Experts are expected to be surer: 1 is as high, 0
        as low. Pairs of which nothing is said count as 0.
    topics
        Topics of objects and of assessors, two mappings, instead: expertise is the share of an object's topics
        that an assessor knows.
    uncertainty
        Expected standard deviation of a score in points: one number, or as for expertise, by pair.
    factor
        Ratio of the uncertainties of neighbouring levels.
    only_listed
        Only pairs of which expertise or uncertainty is given may be chosen.
    cost
        What an assessment costs, one number for each assessor (see ``target_sd``).
    objective
        What to make good: ``"variance"`` (mean variance of values, A), ``"differences"`` (mean variance of the
        difference of two objects), ``"worst"`` (largest variance), ``"gap"`` (mu_2, E), ``"determinant"`` (D),
        ``"top"`` (decisions on a top k).
    top, expected, value_sd
        For ``"top"``: the number of places, what each value is expected to be (all alike where not given), and how far
        it may be from that; in points, or in units of one assessment's noise.
    expertise_weight
        From 0, comparability alone, to 1, expertise alone.
    target_sd
        Find the cheapest design whose values have this mean standard deviation (largest, with ``"worst"``);
        ``per_object`` is then the most assessments of an object.
    seed
        Of all random choices.
    effort
        How long to search, relative to what is usual.
    time_limit
        Seconds to search at most; with it, the outcome may depend on the machine.
    there, more
        What is there already and how many to add to it, as :func:`extend` says.

    Raises
    ------
    NoDesignError
        If no design keeps all rules, or none is connected: with the smallest cause that was found.

    Examples
    --------
    >>> print(assign(6, 4, per_object=2))
    12 assessments of 6 objects by 4 assessors, 3 for each
    expected sd of a value 0.791, at most 0.791 (noise of one assessment)
    1 component, spectral gap 0.423, 0 bridges
    """
    sides = members_of(objects, "object"), members_of(assessors, "assessor")
    _check_options(seed, effort, time_limit, target_sd)
    aim = _aim(sides[0], objective, top, expected, value_sd, expertise_weight)
    given = Given(
        per_object=per_object,
        min_load=min_load,
        max_load=max_load,
        conflicts=conflicts,
        fixed=fixed,
        linking=linking,
        expertise=expertise,
        topics=topics,
        uncertainty=uncertainty,
        factor=factor,
        only_listed=only_listed,
        cost=cost,
    )
    task = pose(*sides, given, is_open=target_sd is not None, seed=seed)
    if there is not None:
        task, aim = there.upon(task, aim, more=more, is_told=uncertainty is not None)
        there.check_room(task, more)
    notes, stated = list[Problem](), task.most_load
    if task.expertise is None and expertise_weight > 0:
        raise bad_option("A weight of expertise needs expertise: give it, or topics.")
    if target_sd is not None:
        require_inverse(task, "The cheapest design")
        task, outcome = cheapest(task, aim, target_sd, seed=seed, effort=effort, time_limit=time_limit)
    else:
        if more is None and max_load is None and "max_load" not in sides[1].columns:
            task, note = even_loads(task, at_least=min_load is None and "min_load" not in sides[1].columns)
            notes += note
        outcome = find(task, aim, seed=seed, effort=effort, time_limit=time_limit)
        if task.n_objects + task.n_assessors > LARGEST_INVERSE and objective != "variance":
            words = (
                f"designs of this size are made for a small mean variance of values, whatever is asked ({objective})."
            )
            notes.append(Problem("large", words))
    return replace(_design(task, outcome, aim, seed, notes, *sides), stated_load=stated)


def extend(  # noqa: PLR0913
    there: Any,
    count: int | None = None,
    *,
    scores: Panel | None = None,
    objects: Any = None,
    assessors: Any = None,
    left: Sequence[Any] = (),
    per_object: int | Mapping[Any, int] | None = None,
    conflicts: Pairs = (),
    fixed: Pairs = (),
    objective: Objective | None = None,
    top: int | None = None,
    expected: Any = None,
    value_sd: float | None = None,
    **further: Any,
) -> Design:
    """Return a design that changes another or goes on from a panel: what is there stays, and the rest is made good.

    Pairs that are there stay, unless their assessor has left or a conflict has come up; those that are scored stay in
    any case, with the confidence that was declared. What is added is chosen as :func:`assign` chooses.

    Parameters
    ----------
    there
        A panel with scores, a design, or pairs (assessor, object).
    count
        How many assessments to add, wherever they help most. Where it is not given, objects get ``per_object``.
    scores
        Scores that are in, as a panel, where ``there`` is a design or pairs.
    objects, assessors
        New ones, or all of them, as for :func:`assign`: whoever and whatever is not there yet is added.
    left
        Assessors who have left: what they have not scored is taken from them, and they get nothing more.
    per_object
        Assessments that each object is to have, one number or by label; as many as before where nothing is said.
    conflicts
        Pairs that must not be; one that is there and not scored is taken back.
    fixed
        Pairs that must be added.
    objective, top, expected, value_sd
        As for :func:`assign`. With ``top`` alone, further assessments go where the scores that are in leave the
        decision on so many places open.
    further
        What else :func:`assign` takes. Without ``max_load``, assessments that go wherever they help most have no limit.

    Examples
    --------
    >>> made = assign(["P1", "P2", "P3"], ["Ana", "Ben", "Cy"], per_object=2)
    >>> changed = extend(made, left=["Ben"], assessors=["Di"])
    >>> changed.loads["Di"], len(set(made.assignments) & set(changed.assignments))
    (2, 4)
    """
    if count is not None and count < 1:
        raise bad_option("The number of assessments to add must be at least 1.")
    if count is not None and per_object is not None:
        raise bad_option("Give the number of assessments to add, or how many each object is to have, not both.")
    known = There.of(there, scores=scores, left=left)
    sides = known.sides(
        None if objects is None else members_of(objects, "object"),
        None if assessors is None else members_of(assessors, "assessor"),
    )
    barred = _labelled(conflicts, *sides, "conflicts")
    kept = known.kept(barred)
    must = _labelled(fixed, *sides, "fixed pairs")
    pairs = [*dict.fromkeys([*kept, *must])]
    barred = [*(pair for pair in barred if pair not in set(kept)), *known.barred(sides[0])]
    if objective is None:
        objective = "variance" if top is None else "top"
    if objective == "top" and value_sd is None and expected is None and known.scores is not None:
        value_sd = 1.0  # the scores tell
    made = assign(
        *sides,
        per_object=known.wanted(sides[0], per_object, pairs),
        conflicts=barred,
        fixed=pairs,
        objective=objective,
        top=top,
        expected=expected,
        value_sd=value_sd,
        there=known,
        more=count,
        **further,
    )
    idle = [assessor for assessor, load in made.loads.items() if assessor in known.left and not load]
    stays = np.array([assessor not in idle for assessor in made.task.assessors])
    made = replace(made, stated_load=None if made.stated_load is None else made.stated_load[stays])
    return replace(made, task=without(made.task, idle), earlier=known.pairs, rounds=known.rounds)


def _labelled(given: Pairs, objects: Members, assessors: Members, what: str) -> list[tuple[str, str]]:
    """Return pairs by their labels."""
    object_, assessor = np.divmod(pairs_of(given, objects, assessors, what), len(assessors.labels))
    both = zip(assessor.tolist(), object_.tolist(), strict=True)
    return [(assessors.labels[a], objects.labels[o]) for a, o in both]


def _check_options(seed: int, effort: float, time_limit: float | None, target_sd: float | None) -> None:
    if seed < 0:
        raise bad_option("The seed must not be negative.")
    if not 0 < effort <= 1_000:
        raise bad_option("The effort must be positive and at most 1000.")
    if time_limit is not None and not time_limit > 0:
        raise bad_option("The time limit must be a positive number of seconds.")
    if target_sd is not None and not (target_sd > 0 and math.isfinite(target_sd)):
        raise bad_option("The standard deviation that is wanted must be positive.")


def _aim(
    objects: Members,
    objective: Objective,
    top: int | None,
    expected: Any,
    value_sd: float | None,
    expertise_weight: float,
) -> Aim:
    if objective == "top" and not (top is not None and 1 <= top < len(objects.labels)):
        raise bad_option(
            f"A decision on a top k needs k from 1 to {len(objects.labels) - 1}, the number of objects less one."
        )
    if objective == "top" and value_sd is None:
        raise bad_option("A decision on a top k depends on how far values spread: give their standard deviation.")
    values = floats_of(expected, objects, "expected")
    return Aim(objective, values, 1.0 if value_sd is None else value_sd, top or 0, expertise_weight)


def _design(
    task: Task, outcome: Found, aim: Aim, seed: int, notes: Sequence[Problem], objects: Members, assessors: Members
) -> Design:
    said = [*notes]
    if not outcome.in_time:
        said.append(Problem("time_limit", "the time was over before the search had come to its end."))
    if min(task.n_objects, int((task.loads(outcome.chosen) > 0).sum())) > LARGEST_EXACT:
        words = "expected standard deviations are estimated by sampling, each to a few per cent."
        said.append(Problem("sampled", words))
    return Design(
        task=task,
        chosen=outcome.chosen,
        aim=aim,
        seed=seed,
        descents=outcome.descents,
        in_time=outcome.in_time,
        notes=tuple(said),
        backend=objects.backend,
        object_details=objects.details,
        assessor_details=assessors.details,
    )
