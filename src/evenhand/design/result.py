"""A design: who reads what, and what to expect before anyone has scored.

That is, of the values, beside chance, without an assessor, and with more or less work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.compiled import Codes, Flags, Floats
from evenhand.design.find import find
from evenhand.design.floor import least_expertise
from evenhand.design.inputs import Details, addresses_in
from evenhand.design.inverse import Inverse
from evenhand.design.lottery import Lottery
from evenhand.design.program import least_cost
from evenhand.design.signals import Conflict, Effect
from evenhand.design.start import mix, parts_of
from evenhand.design.task import Aim, Task
from evenhand.errors import InputError, NoDesignError, Problem
from evenhand.models.additive import calibrate
from evenhand.models.fit import Fit
from evenhand.panel.headings import meaning_of
from evenhand.panel.panel import Panel, detail_columns
from evenhand.progress import report
from evenhand.solve.connectivity import Connectivity, connectivity
from evenhand.words import count_of

LARGEST_EXACT: Final = 2_500
"""Up to this many on the smaller side, expected sds are exact; beyond, they are estimated by sampling, in seconds."""

PRICED: Final = 0.3
"""Effort, relative to what is usual, of the search for what a floor or a lottery costs."""

LARGEST_OUTLOOK: Final = 1_500
"""Up to this many objects and assessors together, an outlook is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """How a design came about, beyond a search: what was mixed, what followed, what was required and what was drawn.

    Attributes
    ----------
    signals
        What bids, topics and expertise weigh, and what each gets.
    derived
        Conflicts that follow from who wrote what, each with its reason.
    floor, floor_bound
        The floor under the mean expertise of the readers of an object, and what no design could have; None without one.
    lottery
        What the design was drawn from.
    salt
        What went with the seed into the draw.
    freed
        What was asked without the floor and without the lottery, for their price.
    """

    signals: tuple[Effect, ...] = ()
    derived: tuple[Conflict, ...] = ()
    floor: float | None = None
    floor_bound: float | None = None
    lottery: Lottery | None = None
    salt: str = ""
    freed: Task | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Design(frames.Shown):
    """Who assesses what. What is to be expected of it is computed when first asked for.

    Attributes
    ----------
    task
        What was asked.
    chosen
        Which of its pairs are in the design (K).
    aim
        What makes a design good here.
    seed
        The seed: with the same seed, data and version the same design comes out, unless time ran out.
    descents
        How often the search went down to where no exchange helps; 0 where the design was built.
    in_time
        Whether the search ended by itself.
    notes
        What a user should know.
    backend
        The kind of frame that tables come back as.
    object_details, assessor_details
        What goes with the objects and with the assessors, such as titles and addresses: by column, and then by label.
    rounds
        The round of pairs (assessor, object) that have one.
    earlier
        The pairs of what this design changes, whether they are still in it or not; None where it is new.
    stated_load
        Most assessments by each assessor that was asked for (n_A), before work was shared evenly; None where unknown.
    record
        How it came about, beyond a search.
    """

    task: Task
    chosen: Flags
    aim: Aim
    seed: int
    descents: int = 0
    in_time: bool = True
    notes: tuple[Problem, ...] = ()
    backend: frames.Backend = frames.DEFAULT_BACKEND
    object_details: Details = field(default_factory=dict)
    assessor_details: Details = field(default_factory=dict)
    rounds: Mapping[tuple[str, str], str] = field(default_factory=dict)
    earlier: tuple[tuple[str, str], ...] | None = None
    stated_load: Codes | None = None
    record: Record = field(default_factory=Record)

    @property
    def emails(self) -> dict[str, str]:
        """Addresses of assessors, by label, where their table has them."""
        return addresses_in(self.assessor_details)

    @cached_property
    def used(self) -> Codes:
        """Positions of the assessors who have work."""
        return np.unique(self.task.assessor[self.chosen])

    @property
    def assignments(self) -> list[tuple[str, str]]:
        """All pairs (assessor, object), assessor by assessor."""
        columns = self.columns()
        return list(zip(columns["assessor"], columns["object"], strict=True))

    @property
    def loads(self) -> dict[str, int]:
        """The number of assessments by each assessor."""
        return dict(zip(self.task.assessors, self.task.loads(self.chosen).tolist(), strict=True))

    @property
    def n_assessments(self) -> int:
        """Number of assessments in all."""
        return int(self.chosen.sum())

    @property
    def cost(self) -> float:
        """What all assessments cost together."""
        return float(self.task.cost[self.chosen].sum())

    @property
    def mean_expertise(self) -> float | None:
        """Mean expertise of the pairs, from 0 to 1; None where nothing was said of it."""
        expertise = self.task.expertise
        return None if expertise is None else float(expertise[self.chosen].mean())

    @property
    def least_expertise(self) -> float | None:
        """Smallest mean expertise of the readers of an object; None where nothing was said of it."""
        return least_expertise(self.task, self.chosen)

    @cached_property
    def without(self) -> Design | None:
        """The design that would be found without a floor and without a lottery: what they cost; None without them.

        It is searched for when first asked for.
        """
        freed = self.record.freed
        if freed is None:
            return None
        found = find(freed, self.aim, seed=self.seed, effort=PRICED, time_limit=None)
        return replace(self, task=freed, chosen=found.chosen, record=Record())

    @cached_property
    def panel(self) -> Panel:
        """The panel that the design leads to if everything goes as expected, without scores: all of them zero."""
        task, pairs = self.task, np.flatnonzero(self.chosen)
        code = np.full(task.n_assessors, -1)
        code[self.used] = np.arange(self.used.size)
        panel = Panel.from_arrays(
            task.object[pairs],
            code[task.assessor[pairs]],
            np.zeros(pairs.size),
            task.precision[pairs],
            objects=tuple(task.objects),
            assessors=tuple(task.assessors[at] for at in self.used.tolist()),
        )
        return replace(panel, object_details=self.object_details, assessor_details=self.assessor_details)

    @cached_property
    def connectivity(self) -> Connectivity:
        """How well connected the panel will be."""
        return connectivity(self.panel)

    @cached_property
    def fit(self) -> Fit:
        """The fit of the panel without scores: its uncertainties are those to be expected, in the default gauge."""
        large = min(self.task.n_objects, self.used.size) > LARGEST_EXACT
        return calibrate(self.panel, noise="declared", solver="iterative" if large else "auto")

    @property
    def mu2(self) -> float:
        """The spectral gap mu_2 (App. C)."""
        return self.connectivity.mu2

    @cached_property
    def sd(self) -> Floats:
        """Expected standard deviation of each value (n_O)."""
        return np.asarray(self.fit.values.sd, dtype=np.float64)

    @cached_property
    def bias_sd(self) -> Floats:
        """Expected standard deviation of each bias (n_A); NaN for assessors without work."""
        found = np.full(self.task.n_assessors, np.nan)
        found[self.used] = np.asarray(self.fit.biases.sd, dtype=np.float64)
        return found

    @property
    def mean_sd(self) -> float:
        """Mean of the expected standard deviations of the values."""
        return float(self.sd.mean())

    @property
    def max_sd(self) -> float:
        """Largest of the expected standard deviations of the values."""
        return float(self.sd.max())

    @property
    def mean_variance(self) -> float:
        """Mean of the expected variances of the values (A)."""
        return float(np.square(self.sd).mean())

    @cached_property
    def efficiency(self) -> float | None:
        """A-efficiency factor: the harmonic mean of the canonical efficiency factors (James & Wilkinson 1971).

        These are the eigenvalues other than zero of R^-1/2 C R^-1/2, C the information on the objects once biases are
        taken out and R that without any biases, the sum of precisions at each object. It is the ratio of the mean
        variance of differences, were nobody biased, to that to be expected, where all objects are read alike. None for
        many objects, or one, or where not all can be compared.
        """
        found = self._informations
        if found is None:
            return None
        information, confidence = found
        own = np.linalg.eigvalsh(information / np.sqrt(np.outer(confidence, confidence)))[1:]
        return float(own.size / (1 / own).sum()) if own[0] > 1e-12 else None

    @cached_property
    def balance(self) -> float | None:
        """Mean variance of differences of a balanced design of as much information, divided by that of this design.

        That is (n_O - 1)^2 / (tr(C) tr(C^+)): 1 where every two objects can be compared equally well, a bound that no
        design exceeds. None where :attr:`efficiency` is.
        """
        found = self._informations
        if found is None:
            return None
        own = np.linalg.eigvalsh(found[0])[1:]
        return float(own.size**2 / (own.sum() * (1 / own).sum())) if own[0] > 1e-12 * own[-1] else None

    @cached_property
    def _informations(self) -> tuple[Floats, Floats] | None:
        """C and the sums of precisions at the objects; None for many objects, or one."""
        task, n_objects = self.task, self.task.n_objects
        if n_objects == 1 or n_objects > 2_000:
            return None
        weight = np.zeros((n_objects, task.n_assessors))
        weight[task.object[self.chosen], task.assessor[self.chosen]] = task.precision[self.chosen]
        weight = weight[:, self.used]
        confidence = weight.sum(axis=1)
        return np.diag(confidence) - (weight / weight.sum(axis=0)) @ weight.T, confidence

    def columns(self) -> dict[str, list[Any]]:
        """Return the assignment table as columns: assessor, object and, where known, what is expected of each."""
        task, pairs = self.task, np.flatnonzero(self.chosen)
        pairs = pairs[np.lexsort((task.object[pairs], task.assessor[pairs]))]
        table: dict[str, list[Any]] = {
            "assessor": [task.assessors[at] for at in task.assessor[pairs].tolist()],
            "object": [task.objects[at] for at in task.object[pairs].tolist()],
        }
        table |= self.pair_columns(table["object"], table["assessor"])
        if task.expertise is not None:
            table["expertise"] = task.expertise[pairs].tolist()
        if task.in_points:
            table["uncertainty"] = (1 / np.sqrt(task.precision[pairs])).tolist()
        if self.record.lottery is not None:
            table["probability"] = self.record.lottery.marginals[pairs].tolist()
        if task.fixed.any():
            table["fixed"] = task.fixed[pairs].tolist()
        if self.rounds:
            both = zip(table["assessor"], table["object"], strict=True)
            table["round"] = [self.rounds.get(pair) for pair in both]
        return table

    def pair_columns(self, objects: Sequence[str], assessors: Sequence[str]) -> dict[str, list[str | None]]:
        """Return the object and the assessor of each pair as columns of one table, each with what goes with it.

        A column of assessors' says so in its name where it could be taken for one of the objects'.
        """
        table: dict[str, list[str | None]] = {"object": [*objects]}
        table |= detail_columns("object", self.object_details, objects)
        table["assessor"] = [*assessors]
        for name, cells in detail_columns("assessor", self.assessor_details, assessors).items():
            meaning = meaning_of(name)
            is_clear = name not in table and meaning is not None and meaning.kind in ("self", "assessor")
            table[name if is_clear else f"assessor_{name}"] = cells
        return table

    def object_columns(self) -> dict[str, list[Any]]:
        """Return the objects as columns: their assessments and the expected standard deviation of each value."""
        readings, labels = self.task.readings(self.chosen), list(self.task.objects)
        table = {"object": labels, "assessments": readings.tolist(), "sd": self.sd.tolist()}
        return _beside(table, detail_columns("object", self.object_details, labels))

    def assessor_columns(self) -> dict[str, list[Any]]:
        """Return the assessors as columns: their load and the expected standard deviation of each bias."""
        loads, labels = self.task.loads(self.chosen), list(self.task.assessors)
        sds = [None if np.isnan(sd) else sd for sd in self.bias_sd.tolist()]
        table = {"assessor": labels, "load": loads.tolist(), "sd": sds}
        return _beside(table, detail_columns("assessor", self.assessor_details, labels))

    def __str__(self) -> str:
        loads = self.task.loads(self.chosen)
        unit = "points" if self.task.in_points else "noise of one assessment"
        few, many = int(loads.min()), int(loads.max())
        each = f"{few}" if few == many else f"{few} to {many}"
        lines = [
            f"{count_of(self.n_assessments, 'assessment')} of {count_of(self.task.n_objects, 'object')} by "
            f"{count_of(self.used.size, 'assessor')}, {each} for each",
            f"expected sd of a value {self.mean_sd:.3g}, at most {self.max_sd:.3g} ({unit})",
            str(self.connectivity),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return who reads what as a table, for notebooks."""
        listed: dict[str, list[str]] = {}
        for assessor, label in self.assignments:
            listed.setdefault(assessor, []).append(label)
        first = list(listed.items())[: frames.MOST_ROWS]
        table: dict[str, list[Any]] = {
            "assessor": [assessor for assessor, _ in first],
            "load": [len(labels) for _, labels in first],
            "objects": [", ".join(labels) for _, labels in first],
        }
        made = frames.html_table("; ".join(str(self).splitlines()), table, count=len(listed), of="assessor")
        return made + frames.html_lines(self.remarks())


def _beside(table: dict[str, list[Any]], details: dict[str, list[str | None]]) -> dict[str, list[Any]]:
    """Return a table with details beside it; none takes the place of a column."""
    return table | {name: cells for name, cells in details.items() if name not in table}


# --- the outlook ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LostAssessor:
    """What the loss of an assessor would cost.

    Attributes
    ----------
    assessor
        Who.
    mean_sd, max_sd
        Mean and largest standard deviation of the values that could still be compared; None where they fall apart.
    unread
        Objects that nobody else reads.
    parts
        Number of parts into which the rest would fall.
    fewer, fewer_sd
        Objects that others read too and that would have a reader less, and the largest standard deviation of their
        values.
    """

    assessor: str
    mean_sd: float | None
    max_sd: float | None
    unread: int
    parts: int
    fewer: int = 0
    fewer_sd: float | None = None


@dataclass(frozen=True, slots=True)
class Prospect:
    """What to expect of some pairs, whether they hold together or not.

    Attributes
    ----------
    mean_sd, max_sd
        Mean and largest standard deviation of the values of objects that are read; None where they fall apart.
    unread
        Objects that nobody reads.
    parts
        Number of parts into which the pairs fall.
    """

    mean_sd: float | None
    max_sd: float | None
    unread: int
    parts: int

    @property
    def is_whole(self) -> bool:
        """Whether all objects can be compared."""
        return self.parts == 1 and not self.unread


@dataclass(frozen=True, slots=True)
class DesignStep:
    """What another number of assessments per object would give.

    Attributes
    ----------
    per_object
        Assessments per object, on average.
    assessments
        Assessments in all.
    mean_sd, max_sd
        Mean and largest standard deviation of the values; None where no connected design was found.
    """

    per_object: float
    assessments: int
    mean_sd: float | None
    max_sd: float | None


@dataclass(frozen=True, slots=True)
class RandomDesigns:
    """What assigning at random would give, under the same rules.

    Attributes
    ----------
    count
        Designs that were drawn.
    connected
        How many of them are connected.
    mean_sd, max_sd
        Mean over these of the mean and of the largest standard deviation; None where none is connected.
    mean_variance, least_variance
        Mean and smallest of their mean variances.
    """

    count: int
    connected: int
    mean_sd: float | None
    max_sd: float | None
    mean_variance: float | None
    least_variance: float | None


@dataclass(frozen=True, slots=True)
class ExpertDesign:
    """What assigning for expertise alone would give, under the same rules.

    Attributes
    ----------
    mean_expertise
        Mean expertise of its pairs, the most that can be had.
    parts
        Number of parts into which it falls.
    mean_sd, max_sd, mean_variance
        Mean and largest standard deviation of the values, and their mean variance; None where it falls apart.
    """

    mean_expertise: float
    parts: int
    mean_sd: float | None
    max_sd: float | None
    mean_variance: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Outlook(frames.Shown):
    """What to expect of a design.

    Attributes
    ----------
    design
        The design.
    lost
        For each assessor with work, what losing them would cost, the dearest first.
    steps
        How the standard deviation falls with the number of assessments per object.
    chance
        What assigning at random would give.
    by_expertise
        What assigning for expertise alone would give; None where nothing was said of expertise.
    """

    design: Design
    lost: tuple[LostAssessor, ...]
    steps: tuple[DesignStep, ...]
    chance: RandomDesigns
    by_expertise: ExpertDesign | None

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.design.backend

    def columns(self) -> dict[str, list[Any]]:
        """Return how the standard deviation falls with the number of assessments, as columns."""
        return self.step_columns()

    def lost_columns(self) -> dict[str, list[Any]]:
        """Return what losing each assessor would cost, as columns."""
        names = ("assessor", "mean_sd", "max_sd", "unread", "parts")
        return {name: [getattr(one, name) for one in self.lost] for name in names}

    def step_columns(self) -> dict[str, list[Any]]:
        """Return how the standard deviation falls, as columns."""
        return {name: [getattr(one, name) for one in self.steps] for name in DesignStep.__slots__}


def outlook(design: Design, *, draws: int = 100, more: int = 3) -> Outlook | None:
    """Return what to expect of a design; None where it is too large for that.

    Parameters
    ----------
    design
        The design.
    draws
        Random designs to compare with.
    more
        Up to how many more assessments per object to look ahead.
    """
    task = design.task
    if task.n_objects + task.n_assessors > LARGEST_OUTLOOK:
        return None
    ahead = lost_assessors(design), with_more(design, more), chance(design, draws)
    return Outlook(design, *ahead, for_expertise(task))


def for_expertise(task: Task) -> ExpertDesign | None:
    """Return what assigning for expertise alone would give; None where nothing was said of expertise."""
    chosen = None if task.expertise is None else least_cost(task, 1 - task.expertise)
    if task.expertise is None or chosen is None:
        return None
    mean, parts = float(task.expertise[chosen].mean()), parts_of(task, chosen)[0]
    if parts > 1:
        return ExpertDesign(mean, parts, None, None, None)
    sds = _sds(task, chosen)
    return ExpertDesign(mean, parts, float(sds.mean()), float(sds.max()), float(np.square(sds).mean()))


def lost_assessors(design: Design) -> tuple[LostAssessor, ...]:
    """Return what the loss of each assessor would cost, the dearest first."""
    task, found = design.task, []
    for count, at in enumerate(design.used.tolist()):
        report("without each assessor", count, design.used.size)
        left, sds = _expected(task, design.chosen & (task.assessor != at))
        own = np.zeros(len(task.objects), dtype=bool)
        own[task.object[design.chosen & (task.assessor == at)]] = True
        own &= sds > 0
        most = None if left.max_sd is None or not own.any() else float(sds[own].max())
        name, means = task.assessors[at], (left.mean_sd, left.max_sd)
        found.append(LostAssessor(name, *means, left.unread, left.parts, int(own.sum()), most))
    return tuple(sorted(found, key=lambda one: (-one.unread, -one.parts, -float(f"{one.mean_sd or np.inf:.8g}"))))


def prospect(task: Task, chosen: Flags) -> Prospect:
    """Return what to expect of some of the pairs of a task."""
    return _expected(task, chosen)[0]


def _expected(task: Task, chosen: Flags) -> tuple[Prospect, Floats]:
    """Return what to expect of some pairs, and the standard deviation of each value.

    That is 0 of objects that nobody reads, and infinite where values fall apart.
    """
    read = task.readings(chosen) > 0
    parts = parts_of(task, chosen)[0] if chosen.any() else 0
    unread = int((~read).sum())
    if parts != 1:
        return Prospect(None, None, unread, parts), np.where(read, np.inf, 0.0)
    sds = np.zeros(len(read))
    sds[read] = _sds(task, chosen, read)
    return Prospect(float(sds[read].mean()), float(sds[read].max()), unread, parts), sds


def with_pairs(design: Design, pairs: Iterable[tuple[str, str]]) -> Design:
    """Return the design that has exactly these pairs (assessor, object), chosen by hand.

    Numbers and loads that were asked for may then be broken, which ``task.broken`` tells; a pair that must not be is
    refused.

    Examples
    --------
    >>> from evenhand.design.assign import assign
    >>> made = assign(["P1", "P2"], ["Ana", "Ben"], per_object=2)
    >>> with_pairs(made, [("Ana", "P1"), ("Ana", "P2"), ("Ben", "P2")]).loads
    {'Ana': 2, 'Ben': 1}
    """
    task, chosen = design.task, np.zeros(design.task.n_pairs, dtype=bool)
    object_at, assessor_at = ({label: at for at, label in enumerate(one)} for one in (task.objects, task.assessors))
    for assessor, label in pairs:
        for side, known, name in (("assessor", assessor_at, assessor), ("object", object_at, label)):
            if name not in known:
                raise InputError(f"There is no {side} {name} in this design.", kind="unknown_label")
        at = int(task.position(np.array([assessor_at[assessor]]), np.array([object_at[label]]))[0])
        if at < 0:
            message = f"{assessor} must not read {label}: what was asked for rules this pair out."
            raise NoDesignError(message, kind="fixed", objects=[label], assessors=[assessor])
        chosen[at] = True
    return design if np.array_equal(chosen, design.chosen) else replace(design, chosen=chosen)


def _sds(task: Task, chosen: Flags, read: Flags | None = None) -> Floats:
    """Return the standard deviations of values in the gauge of a fit, of the objects that are read."""
    if read is not None and not read.all():
        kept = read[task.object]
        code = np.cumsum(read) - 1
        task = replace(
            task,
            objects=[task.objects[at] for at in np.flatnonzero(read).tolist()],
            object=code[task.object[kept]],
            assessor=task.assessor[kept],
            precision=task.precision[kept],
            expertise=None,
            cost=task.cost[kept],
            fixed=task.fixed[kept],
            least=task.least[read],
            most=task.most[read],
        )
        chosen = chosen[kept]
    return np.sqrt(Inverse(task, chosen).variances())


def with_more(design: Design, more: int) -> tuple[DesignStep, ...]:
    """Return how the standard deviation falls with the number of assessments per object, quickly searched."""
    task = design.task
    now = task.readings(design.chosen)
    steps = []
    first = -min(int(np.median(now)) - 1, 2)
    for change in range(first, more + 1):
        report("with more and with less", change - first, more - first + 1)
        if change == 0:
            steps.append(DesignStep(float(now.mean()), int(now.sum()), design.mean_sd, design.max_sd))
            continue
        possible = np.bincount(task.object, minlength=task.n_objects)
        linked = now == possible
        wanted = np.where(linked, now, np.clip(now + change, np.maximum(1, task.readings(task.fixed)), possible))
        if (wanted == now).all() or (steps and steps[-1].assessments == wanted.sum()):
            break
        share = wanted.sum() / now.sum()
        loads = np.minimum(np.ceil(task.most_load * max(share, 1.0)).astype(np.int64), task.n_objects)
        asked = replace(
            task,
            least=wanted,
            most=wanted,
            total=int(wanted.sum()),
            least_load=np.floor(task.least_load * min(share, 1.0)).astype(np.int64),
            most_load=loads,
        )
        try:
            found = find(asked, design.aim, seed=design.seed, effort=0.05, time_limit=None)
        except NoDesignError:
            steps.append(DesignStep(float(wanted.mean()), int(wanted.sum()), None, None))
            continue
        sds = _sds(asked, found.chosen)
        steps.append(DesignStep(float(wanted.mean()), int(wanted.sum()), float(sds.mean()), float(sds.max())))
    return tuple(steps)


def chance(design: Design, draws: int) -> RandomDesigns:
    """Return what assigning at random would give, under the same rules."""
    means, worst, variances = [], [], []
    for count, chosen in enumerate(random_designs(design.task, draws, seed=design.seed)):
        report("assigning at random", count, draws)
        if parts_of(design.task, chosen)[0] > 1:
            continue
        sds = _sds(design.task, chosen)
        means.append(float(sds.mean()))
        worst.append(float(sds.max()))
        variances.append(float(np.square(sds).mean()))
    if not means:
        return RandomDesigns(draws, 0, None, None, None, None)
    average = [float(np.mean(numbers)) for numbers in (means, worst, variances)]
    return RandomDesigns(draws, len(means), average[0], average[1], average[2], min(variances))


def random_designs(task: Task, count: int, *, seed: int) -> Iterator[Flags]:
    """Yield designs at random that keep all rules, connected or not.

    A chain of exchanges, each drawn at random and made if it keeps the rules, visits all designs alike in the long run.
    """
    generator = np.random.default_rng(seed)
    chosen = least_cost(task, generator.random(task.n_pairs))
    if chosen is None:
        return
    chosen = chosen.copy()
    for _ in range(count):
        mix(task, chosen, generator)
        yield chosen.copy()
