"""Who should assess what: from a request to a design, and from a panel to the assessments that it lacks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from evenhand.compiled import Flags
from evenhand.design.exchange import Found
from evenhand.design.find import LARGEST_INVERSE, cheapest, find, require_inverse
from evenhand.design.floor import floored
from evenhand.design.inputs import Given, Members, Pairs, floats_of, members_of, pairs_of, pose, said_of
from evenhand.design.limits import Limits
from evenhand.design.loads import even_loads, load_levels
from evenhand.design.lottery import lottery
from evenhand.design.result import LARGEST_EXACT, Design, Record
from evenhand.design.rules import Asked, known_authors, limits_of, pairs_within
from evenhand.design.signals import (
    Conflict,
    Signal,
    bids_notes,
    derived_conflicts,
    effects,
    heard,
    mixed,
    with_conflicts,
)
from evenhand.design.task import Aim, Objective, Task
from evenhand.design.there import There, without
from evenhand.errors import Problem, bad_option
from evenhand.panel.confidence import FACTOR
from evenhand.panel.panel import Panel
from evenhand.words import argument, count_of, name_some

Loads = Literal["even", "free"]
"""How work is shared: evenly, or in the way that makes values most precise."""


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
    loads: Loads = "even",
    require: Mapping[str, Any] | None = None,
    limit: Mapping[str, Any] | None = None,
    apart: Any = (),
    linked: Any = (),
    authors: Pairs = (),
    expertise: Any = None,
    topics: tuple[Mapping[Any, Any], Mapping[Any, Any]] | None = None,
    bids: Any = None,
    weights: Mapping[str, float] | None = None,
    conflict_domains: bool = False,
    coauthors: Iterable[tuple[object, object]] | None = None,
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
    floor: bool = False,
    max_probability: float | None = None,
    salt: str = "",
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
        objects ``per_object``, ``topics``, ``linking``, ``expected``, ``authors``; of assessors ``min_load``,
        ``max_load``, ``cost``, ``topics``, ``email``.
    per_object
        Assessments of each object: one number, or one for each.
    min_load, max_load
        Fewest and most assessments by each assessor: one number, or one for some or all. Whoever has no ``max_load``
        gets an even share of what is left.
    conflicts
        Pairs (assessor, object) that must not be.
    fixed
        Pairs that must be.
    linking
        Objects that everybody reads.
    loads
        ``"even"``: nobody is left without work where that can be avoided, and whoever has no ``max_load`` gets an even
        share; where all have one, at least half an even share each. ``"free"``: anything within ``min_load`` and
        ``max_load`` that makes values precise, which employs few assessors rather than many.
    require
        How many assessors of a kind every object must have at least, by a column of the table of assessors:
        ``{"role": {"senior": 1}}``.
    limit
        How many assessors of one value of a column an object may have at most, ``{"institution": 1}``, or of a certain
        one, ``{"role": {"student": 1}}``. Cells may hold several values, with semicolons between them.
    apart
        Pairs of assessors who must not read the same object.
    linked
        Pairs of objects that must have a reader in common.
    authors
        Who wrote what, pairs (assessor, object): nobody reads their own work, and no two read each other's. Authors
        who are no assessors do not matter, and are counted.
    expertise
        How well assessors know objects: levels (high, medium, low) or numbers from 0 to 1, as a matrix (assessors x
        objects; may be sparse), a mapping from pairs, or a table. Experts are expected to be surer: 1 is as high, 0
        as low. Pairs of which a mapping or a table says nothing are ordinary, as medium or one half; what a sparse
        matrix does not store is 0.
    topics
        Topics of objects and of assessors, two mappings, instead: expertise is the share of an object's topics
        that an assessor knows.
    bids
        What assessors would like to read: yes, maybe or no, or whole numbers from -20 to 20, given as expertise is. A
        bid that is not there is neutral.
    weights
        What ``"bids"``, ``"topics"`` and ``"expertise"`` weigh beside each other: expertise is then their weighted
        mean, a pair of which one of them says nothing counting one half there. Without weights, bids and
        expertise count alike, and topics stand in for expertise that is not given.
    conflict_domains
        Whether assessors are in conflict with objects by authors whose e-mail address has the same domain; addresses
        are those of the tables, in columns ``email`` and ``authors``. Providers of e-mail to everybody do not count.
    coauthors
        Pairs of people, by name or address, who wrote together: an assessor is in conflict with objects by a co-author.
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
    floor
        Whether to make the smallest mean expertise of an object's readers as large as can be first; everything else is
        then sought among designs that keep this floor.
    max_probability
        Draw the design by lot, no pair that is not fixed being likelier than this; of all such lotteries, one of the
        largest expected expertise.
    salt
        Goes with the seed into the draw and into its commitment, so that the seed cannot be guessed from that.
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
    _check_lottery(aim, max_probability, target_sd, floor, salt)
    notes: list[Problem] = []
    signals: tuple[Signal, ...] = ()
    if bids is not None or weights is not None:
        if uncertainty is not None and not isinstance(uncertainty, int | float | np.number):
            raise bad_option("Give uncertainties by pair, or bids and weights, not both.")
        signals = heard(*sides, bids=bids, topics=topics, expertise=expertise, weights=weights, factor=factor)
        expertise, topics = mixed(signals, factor, only_listed=only_listed), None
        notes += bids_notes(signals)
    derived: Sequence[Conflict] = ()
    if conflict_domains or coauthors is not None:
        derived, found = derived_conflicts(*sides, domains=conflict_domains, coauthors=coauthors)
        notes += found
        conflicts = with_conflicts(conflicts, derived, *sides)
    authors, strangers = known_authors(authors, sides[1])
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
        authors=authors,
    )
    asked = Asked(require, limit, apart, linked, authors)

    def posed(given: Given) -> Task:
        task = pose(*sides, given, is_open=target_sd is not None, seed=seed)
        asked_for = limits_of(asked, *sides, task.keys)
        return replace(
            task,
            limits=Limits.together(task.limits, asked_for),
            linked=pairs_within(linked, sides[0], "linked objects"),
        )

    everyone = replace(given, conflicts=(), authors=(), fixed=(), linking=(), only_listed=False)
    task = replace(posed(given), wide=lambda: posed(everyone))
    if loads not in get_args(Loads):
        raise bad_option(f"Loads are {' or '.join(get_args(Loads))}, not {loads}.")
    if there is not None:
        task, aim = there.upon(task, aim, more=more, is_told=uncertainty is not None)
        there.check_room(task, more)
    stated = task.most_load
    if task.expertise is None and expertise_weight > 0:
        raise bad_option("A weight of expertise needs expertise: give it, or topics.")
    record = Record(derived=tuple(derived))
    if target_sd is not None:
        require_inverse(task, "The cheapest design")
        task, outcome = cheapest(task, aim, target_sd, seed=seed, effort=effort, time_limit=time_limit)
    else:
        if loads == "even":
            bounds = (min_load, "min_load"), (max_load, "max_load")
            task = even_loads(task, *(said_of(one, sides[1], role) for one, role in bounds))
        if floor or max_probability is not None:
            record = replace(record, freed=task)
        if floor:
            task, reached, bound = floored(task, seed=seed)
            record = replace(record, floor=reached, floor_bound=bound)
        if max_probability is None:
            outcome = find(task, aim, seed=seed, effort=effort, time_limit=time_limit)
        else:
            drawn = lottery(task, max_probability)
            record = replace(record, lottery=drawn, salt=salt)
            outcome = Found(drawn.draw(seed, salt), 0, in_time=True)
            notes += _guessable(seed, salt)
        if task.n_objects + task.n_assessors > LARGEST_INVERSE and objective != "variance":
            words = (
                f"designs of this size are made for a small mean variance of values, whatever is asked ({objective})."
            )
            notes.append(Problem("large", words))
    if strangers:
        words = f"{count_of(len(strangers), 'author')} left aside, being no assessor: {name_some(strangers)}."
        notes.append(Problem("authors", words))
    if target_sd is None and more is None:
        gone = () if there is None else there.left
        notes += _load_notes(task, outcome, said_of(max_load, sides[1], "max_load"), gone)
    record = replace(record, signals=effects(record.freed or task, outcome.chosen, signals))
    return replace(_design(task, outcome, aim, seed, notes, *sides, record), stated_load=stated)


def _check_lottery(aim: Aim, max_probability: float | None, target_sd: float | None, floor: bool, salt: str) -> None:
    """Refuse what has no meaning with a floor or a lottery, or without one."""
    if (floor or max_probability is not None) and target_sd is not None:
        raise bad_option(f"{argument('target_sd')} says how few assessments will do: give it without a floor or a cap.")
    if max_probability is None:
        if salt:
            raise bad_option(f"A salt goes with a draw: give {argument('max_probability')} too.")
        return
    if aim.objective != "variance" or aim.expertise_weight > 0:
        raise bad_option(
            f"A draw is made for expertise alone: give {argument('max_probability')} without an objective and without "
            "a weight of expertise."
        )


def _guessable(seed: int, salt: str) -> list[Problem]:
    """Return a note on a draw that others could repeat beforehand."""
    if salt:
        return []
    what = "nothing is secret in it" if seed == 0 else "a seed alone can be guessed by trying"
    words = f"the draw was made without a salt, and {what}: give {argument('salt')}, some words that nobody knows."
    return [Problem("guessable", words)]


def _load_notes(task: Task, outcome: Found, most_said: Flags, gone: Collection[str]) -> list[Problem]:
    """Return notes on assessors without work, and on those who read more than an even share without being asked to."""
    load, notes = task.loads(outcome.chosen), []
    idle = [task.assessors[at] for at in np.flatnonzero((load == 0) & (task.most_load > 0)).tolist()]
    idle = [assessor for assessor in idle if assessor not in gone]
    if idle:
        words = (
            f"{count_of(len(idle), 'assessor')} of {task.n_assessors:,} read nothing: {name_some(idle)}; a least load "
            "gives them work where the rules allow it."
        )
        notes.append(Problem("idle", words))
    even = load_levels(np.where(most_said, task.most_load, task.n_objects), int(load.sum()))[1]
    over = np.flatnonzero(~most_said & (load > np.maximum(even, task.loads(task.fixed))))
    if over.size:
        names = name_some([task.assessors[at] for at in over.tolist()])
        words = (
            f"an even load would be {even}; what was asked for takes up to {int(load.max())} for some assessors "
            f"({count_of(over.size, 'assessor')}: {names})."
        )
        notes.append(Problem("uneven_load", words))
    return notes


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
    given = (
        None if objects is None else members_of(objects, "object"),
        None if assessors is None else members_of(assessors, "assessor"),
    )
    known = There.of(there, scores=scores, left=left).renamed(*given)
    sides = known.sides(*given)
    barred = _labelled(conflicts, *sides, "conflicts")
    kept = known.kept(barred)
    must = _labelled(fixed, *sides, "fixed pairs")
    pairs = [*dict.fromkeys([*kept, *must])]
    barred = [*(pair for pair in barred if pair not in set(kept)), *known.barred(sides[0])]
    if objective is None:
        objective = "variance" if top is None else "top"
    if objective == "top" and value_sd is None and expected is None and known.scores is not None:
        value_sd = 1.0  # the scores tell
    if count is not None:
        further.setdefault("loads", "free")
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
    task: Task,
    outcome: Found,
    aim: Aim,
    seed: int,
    notes: Sequence[Problem],
    objects: Members,
    assessors: Members,
    record: Record | None = None,
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
        record=Record() if record is None else record,
    )
