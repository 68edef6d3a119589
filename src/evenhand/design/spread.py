"""Exchange moves for designs of any size: assessors and objects that meet time and again are spread apart.

No inverse is ever made. What a move changes is known from the assessors that it touches and the objects they read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Codes, Flags, Floats, compiled, is_compiled
from evenhand.design.limits import SLACK
from evenhand.design.task import Task

Records = NDArray[np.void]

PASSES: Final = 6
"""Passes over all objects."""

WORTH_COMPILING: Final = 200
"""From this many assessments on, compiled loops repay the second that numba takes to be imported."""

LEAST_GAIN: Final = 1e-9
"""A move must gain more than this much, of an object's variance, to be made: more than rounding ever amounts to."""

ENOUGH: Final = 0.02
"""Passes end with one that gains less than this part of what the first gained."""

TOO_LITTLE: Final = 2e-5
"""Passes end with one that gains less than this part of the mean variance."""

OFFERS: Final = 4
"""Assessors drawn in place of each one who reads an object, in a pass."""

SWAPS: Final = 3
"""Swaps tried for each assessment in a pass."""

LOOKS: Final = 40
"""Objects that are looked at for these swaps."""

MOST_STEPS: Final = 8
"""Assessments that one move may change: an assessor with as many can be relieved of all of them at once."""

WARY: Final = 1000
"""After this many moves of a kind in a pass, none is tried that costs more than twice what any saved in overlap."""

REACH: Final = 4096
"""Objects and assessors that are searched for another way between two, before a link is taken to be needed."""


def spread(task: Task, chosen: Flags, *, weight: float, seed: int, passes: int = PASSES) -> Flags:
    r"""Return a design with less overlap, or more expertise, that keeps the rules which the given one keeps.

    Let C = diag(C_o) - sum_a c_ao c_ap / C'_a be the information on the values (App. C), C_o and C'_a the sums of
    precisions c at an object and at an assessor, and m = tr C / (n_O - 1) the mean of its eigenvalues for the given
    design. To second order about m, the mean variance tr C^+ / n_O of the values, in units of 1/m, is

    .. math:: 3 - 3 \frac{\operatorname{tr} C}{m n_O} + \frac{\operatorname{tr} C^2}{m^2 n_O},

    the overlap that is made small here. Its two terms are those of the (M,S)-criterion: a large tr C, since few and
    full assessors have fewer biases to be found, and a small tr C^2, since assessors who meet at several objects
    learn little new from each other. With c = 1, n_A assessors in use, N assessments, all objects read equally often
    and lambda_ab of them by both a and b, tr C = N - n_A and tr C^2 = sum_{a != b} lambda_ab^2 / (C'_a C'_b) + const,
    for given n_A.

    What is minimised is (1 - weight) times overlap plus weight times the mean of 1 - expertise over assessments. At a
    weight of one half, a hundredth of the variance is worth as much as a hundredth of expertise.

    Assessments are visited object by object in random order. Each is offered to other assessors; one who is full
    gives an assessment away in turn, to any assessor with room or to the one who is relieved; and an assessor with
    few assessments is relieved of all of them. Moves that gain are made, their change of tr C and tr C^2 being exact,
    for any precisions. None is made unless the two ends of every link that it cuts are still joined in another way,
    as far as a search of limited reach can tell.

    The design returned has as many assessments of each object, no more components, and loads within their bounds where
    they were before.

    References
    ----------
    J. A. Eccleston and A. Hedayat, On the theory of connected designs: characterization and optimality, Annals of
    Statistics 2, 1238 (1974); K. R. Shah, Optimality criteria for incomplete block designs, Annals of Mathematical
    Statistics 31, 791 (1960).

    Examples
    --------
    Two assessors read the same two objects, two others read two others. One swap, and all are connected.

    >>> everyone = np.tile(np.arange(4), 4)
    >>> task = Task(
    ...     objects="wxyz", assessors="abcd", object=np.repeat(np.arange(4), 4), assessor=everyone,
    ...     precision=np.ones(16), expertise=None, cost=np.ones(16), fixed=np.zeros(16, dtype=bool),
    ...     least=np.full(4, 2), most=np.full(4, 2), least_load=np.full(4, 2), most_load=np.full(4, 2), total=8,
    ...     conflicts=np.empty(0, dtype=np.int64),
    ... )
    >>> apart = np.isin(task.keys, [0, 1, 4, 5, 10, 11, 14, 15])
    >>> better = spread(task, apart, weight=0.0, seed=1)
    >>> task.broken(better), int((better & apart).sum())
    ([], 6)
    """
    large = int(np.count_nonzero(chosen)) >= WORTH_COMPILING and is_compiled()
    return exchange(task, chosen, weight, seed, passes, compiled_pass() if large else one_pass)[0]


class _State(NamedTuple):
    """A design in records that moves change in place: in few arrays, since compiling takes longer with each.

    A slot is an assessment: those of an object stand together and always will, whoever reads it. Assessors have lists
    of their slots, with room for all pairs that they have.
    """

    pair: Records
    """Object, assessor, precision, expertise, whether it is fixed and taken, and where its entries begin and end (K).

    In the same records, ``offer`` is a pair and ``listed`` a slot in an order by assessors: see ``assessor``.
    """
    slot: Records
    """Pair, object, assessor, precision, and its place among those listed."""
    object: Records
    """Where its pairs and its slots begin and end, and its confidence C_o (n_O)."""
    assessor: Records
    """Where offers begin, and with them slots, and end; least, most and present load, and 1 / C'_a (n_A).

    ``met`` is sum_o c_ao c_xo of the assessor in hand with each other, and ``mark`` the pair with the object in hand.
    """
    entry: Records
    """The limit and the weight of entries, which stand pair by pair."""
    limit: Records
    """The sum of weights of each limit, the smallest and the largest."""


class _Scratch(NamedTuple):
    """Room to work in, and what a pass has done so far."""

    seen: Codes
    queue: Codes
    end: Records
    """The two ends of a search: how many are in their queue, how many of these are done, and how they mark them."""
    step: Codes
    """Slots of a move, the pairs that they get, and those that they had (3 x `MOST_STEPS`)."""
    kind: Records
    """How many moves were tried, and the most any saved: of those that leave an assessor without any, and of others."""
    change: Floats
    """Moves made, and by how much tr C, tr C^2 and the sum of expertise rose."""


Pass = Callable[[Codes, Codes, Floats, float, _State, _Scratch], None]


def exchange(
    task: Task, chosen: Flags, weight: float, seed: int, passes: int, loop: Pass, least_gain: float = LEAST_GAIN
) -> tuple[Flags, Floats]:
    """Return a design, and by how much its number of moves, tr C, tr C^2 and sum of expertise exceed those given."""
    generator = np.random.default_rng(seed)
    state = _state(task, chosen)
    precision = task.precision
    total, n_objects = int(np.count_nonzero(chosen)), task.n_objects
    if total == 0 or (weight == 1 and task.expertise is None):
        return chosen.copy(), np.zeros(4)
    at_objects = np.bincount(task.object[chosen], weights=precision[chosen], minlength=n_objects)
    at_assessors = np.bincount(task.assessor[chosen], weights=precision[chosen], minlength=task.n_assessors)
    trace = float(at_objects.sum() - (precision[chosen] ** 2 / at_assessors[task.assessor[chosen]]).sum())
    # without any information there are no eigenvalues to expand about: the most there could be takes their place
    mean = (trace if trace > 1e-9 * at_objects.sum() else float(at_objects.sum())) / max(1, n_objects - 1)
    price = np.array([-3 * (1 - weight) / mean, (1 - weight) / mean**2, -weight * n_objects / total])
    changes = np.zeros(4)
    first = 0.0
    for _ in range(passes):
        order = generator.permutation(n_objects)
        draws = generator.integers(1, 2**31 - 1, size=n_objects)
        scratch = _scratch(n_objects, task.n_assessors)
        loop(order, draws, price, least_gain, state, scratch)
        changes += scratch.change
        gain = -float(price @ scratch.change[1:])
        first = first or gain
        if scratch.change[0] == 0 or gain < max(ENOUGH * first, TOO_LITTLE * n_objects):
            break
    return state.pair["taken"].copy(), changes


def _state(task: Task, chosen: Flags) -> _State:
    n_pairs, n_objects, n_assessors = task.n_pairs, task.n_objects, task.n_assessors
    held = np.flatnonzero(chosen)
    reader, precision = task.assessor[held], task.precision[held]
    offers = np.concatenate([[0], np.cumsum(np.bincount(task.assessor, minlength=n_assessors))])
    by_assessor = np.argsort(reader, kind="stable")
    load = np.bincount(reader, minlength=n_assessors)
    listed = np.zeros(n_pairs, dtype=np.int64)
    place = np.empty(held.size, dtype=np.int64)
    place[by_assessor] = np.arange(held.size) - np.repeat(np.cumsum(load) - load - offers[:-1], load)
    listed[place] = np.arange(held.size)
    total = np.bincount(reader, weights=precision, minlength=n_assessors)
    sums = task.limits.sums(chosen)
    entries, entry = task.entries
    slots = np.concatenate([[0], np.cumsum(np.bincount(task.object[held], minlength=n_objects))])
    return _State(
        pair=_records(
            object=task.object,
            assessor=task.assessor,
            precision=task.precision,
            expertise=np.zeros(n_pairs) if task.expertise is None else task.expertise,
            entries=entries[:-1],
            entries_end=entries[1:],
            offer=np.argsort(task.assessor, kind="stable"),
            listed=listed,
            fixed=task.fixed,
            taken=chosen,
        ),
        slot=_records(pair=held, object=task.object[held], assessor=reader, precision=precision, place=place),
        object=_records(
            pairs=task.start[:-1],
            pairs_end=task.start[1:],
            slots=slots[:-1],
            slots_end=slots[1:],
            confidence=np.bincount(task.object[held], weights=precision, minlength=n_objects).astype(np.float64),
        ),
        assessor=_records(
            offers=offers[:-1],
            offers_end=offers[1:],
            least=np.minimum(task.least_load, load),  # what was broken before need not be mended
            most=np.maximum(task.most_load, load),
            load=load,
            inverse=np.divide(1.0, total, out=np.zeros(n_assessors), where=total > 0),
            met=np.zeros(n_assessors),
            mark=np.full(n_assessors, -1),
        ),
        entry=_records(limit=task.limits.limit[entry], weight=task.limits.weight[entry]),
        limit=_records(
            sum=sums,
            least=np.minimum(task.limits.least, sums) - SLACK,
            most=np.maximum(task.limits.most, sums) + SLACK,
        ),
    )


def _records(**columns: NDArray[Any]) -> Records:
    """Return arrays of whole numbers, numbers or flags, all of one size, as one of records."""
    kinds = {"b": np.bool_, "f": np.float64}  # always alike, so that loops are compiled once
    form = [(name, kinds.get(column.dtype.kind, np.int64)) for name, column in columns.items()]
    found = np.zeros(max(column.size for column in columns.values()), dtype=np.dtype(form, align=True))
    for name, column in columns.items():
        found[name] = column
    return found


def _scratch(n_objects: int, n_assessors: int) -> _Scratch:
    none = np.zeros(2, dtype=np.int64)
    return _Scratch(
        seen=np.zeros(n_objects + n_assessors, dtype=np.int64),
        queue=np.zeros((2, REACH), dtype=np.int64),
        end=_records(mark=np.arange(2), done=none, size=none),
        step=np.zeros((3, MOST_STEPS), dtype=np.int64),
        kind=_records(tried=none, saved=np.zeros(2)),
        change=np.zeros(4),
    )


@cache
def compiled_pass() -> Pass:
    """Return a pass as machine code.

    What would take long to make is left out: ways in from Python to what it calls, counts of references, which nothing
    here changes, and checks for a division by zero.
    """
    from numba import njit

    without: dict[str, Any] = {"no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False}
    within: dict[str, Any] = {"no_cpython_wrapper": True, "nogil": True, **without}
    names, inner = dict(globals()), njit(**within)
    for loop in (_measured, _put, _tally, _joined, _relieved, _offered, _swapped, _gains, one_pass):
        alone = FunctionType(loop.__code__, names, loop.__name__)
        names[loop.__name__] = compiled(alone, **without) if loop is one_pass else inner(alone)
    return names["one_pass"]  # type: ignore[no-any-return]


# What follows is compiled, for which each operation takes about a millisecond: hence no powers, no minima, and records
# that are looked up once.


def one_pass(order: Codes, draws: Codes, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> None:
    """Visit all objects once and make every move that gains."""
    for visit in range(order.size):
        random, at = draws[visit], state.object[order[visit]]
        for pair in range(at["pairs"], at["pairs_end"]):
            state.assessor[state.pair[pair]["assessor"]]["mark"] = pair
        for slot in range(at["slots"], at["slots_end"]):
            if state.pair[state.slot[slot]["pair"]]["fixed"]:
                continue
            own = state.assessor[state.slot[slot]["assessor"]]
            offered = own["offers_end"] - own["offers"]
            random = random * 48271 % 2147483647
            look, looks, beside = random % offered, offered if offered < LOOKS else LOOKS, 0 * offered
            for attempt in range(1 + OFFERS + SWAPS):
                if attempt == 0:
                    steps = _relieved(slot, price, state, scratch.step)
                elif attempt <= OFFERS:
                    steps, random = _offered(slot, random, state, scratch.step)
                else:
                    steps, look, looks, beside = _swapped(slot, look, looks, beside, state, scratch.step)
                kind = 0 if attempt == 0 or own["load"] == 1 else 1
                if steps > 0 and _gains(steps, kind, price, least_gain, state, scratch):
                    break


def _relieved(slot: int, price: Floats, state: _State, step: Codes) -> int:
    """Relieve an assessor of everything, if this is their first slot: the fullest and most expert take over."""
    own = state.assessor[state.slot[slot]["assessor"]]
    if own["least"] > 0 or own["load"] > MOST_STEPS or state.slot[slot]["place"] != own["offers"]:
        return 0
    steps = 0
    for place in range(own["offers"], own["offers"] + own["load"]):
        listed = state.pair[place]["listed"]
        given = state.slot[listed]
        at = state.object[given["object"]]
        best, rank = -1, 0.0
        for p in range(at["pairs"], at["pairs_end"]):
            pair = state.pair[p]
            by = state.assessor[pair["assessor"]]
            if pair["taken"] or by["load"] >= by["most"] or by["load"] == 0:
                continue
            worth = by["load"] / by["most"] * price[1] - pair["expertise"] * price[2]
            if best < 0 or worth > rank:
                best, rank = p, worth
        if best < 0 or state.pair[given["pair"]]["fixed"]:
            return 0
        step[0, steps], step[1, steps] = listed, best
        steps += 1
    return steps


def _offered(slot: int, random: int, state: _State, step: Codes) -> tuple[int, int]:
    """Draw another assessor; one who is full gives something away in turn."""
    own, at = state.slot[slot], state.object[state.slot[slot]["object"]]
    random = random * 48271 % 2147483647
    drawn = at["pairs"] + random % (at["pairs_end"] - at["pairs"])
    pair, before = state.pair[drawn], state.assessor[own["assessor"]]
    by = state.assessor[pair["assessor"]]
    if pair["taken"] or by["most"] == 0:
        return 0, random
    has_more = before["load"] > before["least"]
    step[0, 0], step[1, 0] = slot, drawn
    if by["load"] < by["most"]:
        return (1 if has_more else 0), random
    random = random * 48271 % 2147483647
    passed = state.pair[by["offers"] + random % by["load"]]["listed"]
    given = state.slot[passed]
    there = state.object[given["object"]]
    random = random * 48271 % 2147483647
    further = there["pairs"] + random % (there["pairs_end"] - there["pairs"])
    last = state.pair[further]
    to = state.assessor[last["assessor"]]
    if state.pair[given["pair"]]["fixed"] or last["taken"]:
        return 0, random
    if last["assessor"] != own["assessor"] and not (to["load"] < to["most"] and has_more):
        return 0, random
    step[0, 1], step[1, 1] = passed, further
    return 2, random


def _swapped(slot: int, look: int, looks: int, beside: int, state: _State, step: Codes) -> tuple[int, int, int, int]:
    """Go on through what the assessor may read, to the next whose reader may read this object."""
    at, own = state.object[state.slot[slot]["object"]], state.assessor[state.slot[slot]["assessor"]]
    while looks > 0:
        further = state.pair[own["offers"] + look]["offer"]
        offer = state.pair[further]
        there = state.object[offer["object"]]
        if not offer["taken"]:
            while beside < there["slots_end"] - there["slots"]:
                s = there["slots"] + beside
                held = state.slot[s]
                pair = state.assessor[held["assessor"]]["mark"]
                beside += 1
                is_possible = at["pairs"] <= pair < at["pairs_end"]
                if is_possible and not (state.pair[pair]["taken"] or state.pair[held["pair"]]["fixed"]):
                    step[0, 0], step[1, 0], step[0, 1], step[1, 1] = slot, pair, s, further
                    return 2, look, looks, beside
        looks, beside = looks - 1, 0 * beside
        look = look + 1 if own["offers"] + look + 1 < own["offers_end"] else 0
    return 0, look, looks, beside


def _gains(steps: int, kind: int, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> bool:
    """Make a move if it gains and keeps the rules, and say whether it did."""
    step, so_far, change = scratch.step, scratch.kind[kind], scratch.change
    first, second, expert = 0.0, 0.0, 0.0
    for i in range(steps):
        step[2, i] = state.slot[step[0, i]]["pair"]
        expert += state.pair[step[1, i]]["expertise"] - state.pair[step[2, i]]["expertise"]
    if so_far["tried"] >= WARY and price[2] * expert > 2 * so_far["saved"] - least_gain:
        return False
    made, good = 0, _tally(steps, 1.0, state, step)
    if good:
        for i in range(steps):
            for sign in range(-1, 2, 2):
                one, two = _measured(step[2, i], step[1, i], state)
                first += sign * one
                second += sign * two
                if sign < 0:
                    _put(step[0, i], step[1, i], state)
        made = steps
        fall = -price[0] * first - price[1] * second
        so_far["tried"] += 1
        if fall > so_far["saved"]:
            so_far["saved"] = fall
        good = price[2] * expert - fall < -least_gain
    for i in range(made):
        had = state.assessor[state.pair[step[2, i]]["assessor"]]
        has = state.assessor[state.pair[step[1, i]]["assessor"]]
        good = good and had["load"] >= had["least"] and has["load"] <= has["most"]
    for i in range(made):  # only the assessor of the first step can have been left without any
        if good:
            old = state.pair[step[2, i]]
            is_left = state.assessor[old["assessor"]]["load"] == 0
            start = state.pair[step[2, 0]]["object"] if is_left else state.object.size + old["assessor"]
            good = _joined(start, old["object"], state, scratch)
    if good:
        change[0] += 1
        change[1] += first
        change[2] += second
        change[3] += expert
        return True
    for i in range(made - 1, -1, -1):
        _put(step[0, i], step[2, i], state)
    _tally(steps, -1.0, state, step)
    return False


def _tally(steps: int, sign: float, state: _State, step: Codes) -> bool:
    """Count the pairs of a move, made or taken back, in the sums of their limits; say whether these are kept."""
    good = True
    for turn in range(2):
        for i in range(2 * steps):
            pair = state.pair[step[1 + i % 2, i // 2]]
            for at in range(pair["entries"], pair["entries_end"]):
                entry = state.entry[at]
                limit = state.limit[entry["limit"]]
                if turn == 0:
                    limit["sum"] += (1 - 2 * (i % 2)) * sign * entry["weight"]
                elif not limit["least"] <= limit["sum"] <= limit["most"]:
                    good = False
    return good


def _measured(before: int, after: int, state: _State) -> tuple[float, float]:
    """Return what the assessors of two pairs of an object, which one of them reads, and it add to tr C and tr C^2."""
    one, other, here = state.pair[before]["assessor"], state.pair[after]["assessor"], state.pair[before]["object"]
    at = state.object[here]
    information = at["confidence"]
    first, second, shared = information, information * information, 0.0
    for turn in range(2):
        own = state.assessor[one if turn == 0 else other]
        begin, end = own["offers"], own["offers"] + own["load"]
        square, diagonal, row = 0.0, 0.0, 0.0
        for place in range(begin, end):
            slot = state.slot[state.pair[place]["listed"]]
            read, c = state.object[slot["object"]], slot["precision"]
            square += c * c
            diagonal += read["confidence"] * c * c
            for e in range(read["slots"], read["slots_end"]):
                beside = state.slot[e]
                by = state.assessor[beside["assessor"]]
                product, met = c * beside["precision"], by["met"]
                row += product * (met + met + product) * by["inverse"]
                by["met"] = met + product
        if turn == 0:
            shared = state.assessor[other]["met"]
        for place in range(begin, end):
            read = state.object[state.slot[state.pair[place]["listed"]]["object"]]
            for e in range(read["slots"], read["slots_end"]):
                state.assessor[state.slot[e]["assessor"]]["met"] = 0.0
        scale = own["inverse"]
        part = square * scale
        first -= part
        second += 2 * (row - diagonal) * scale - part * part
    second -= 2 * shared * shared * state.assessor[one]["inverse"] * state.assessor[other]["inverse"]
    for e in range(at["slots"], at["slots_end"]):
        beside = state.slot[e]
        if beside["assessor"] != one and beside["assessor"] != other:
            c = beside["precision"]
            second -= 2 * information * (c * c) * state.assessor[beside["assessor"]]["inverse"]
    return first, second


def _put(slot: int, pair: int, state: _State) -> None:
    """Let the assessor of another pair of its object take over an assessment."""
    own, taken = state.slot[slot], state.pair[pair]
    at, old, new = state.object[own["object"]], state.assessor[own["assessor"]], state.assessor[taken["assessor"]]
    old["load"] -= 1
    last = state.pair[old["offers"] + old["load"]]["listed"]
    state.pair[own["place"]]["listed"] = last
    state.slot[last]["place"] = own["place"]
    own["place"] = new["offers"] + new["load"]
    state.pair[own["place"]]["listed"] = slot
    new["load"] += 1
    state.pair[own["pair"]]["taken"] = False
    taken["taken"] = True
    own["pair"] = pair
    own["assessor"] = taken["assessor"]
    own["precision"] = taken["precision"]
    total = 0.0
    for e in range(at["slots"], at["slots_end"]):
        total += state.slot[e]["precision"]
    at["confidence"] = total
    for turn in range(2):  # afresh, so that nothing adds up over millions of moves
        by = old if turn == 0 else new
        total = 0.0
        for place in range(by["offers"], by["offers"] + by["load"]):
            total += state.slot[state.pair[place]["listed"]]["precision"]
        by["inverse"] = 1.0 / total if total > 0 else 0.0


def _joined(one: int, other: int, state: _State, scratch: _Scratch) -> bool:
    """Whether a search from both ends, of limited reach, finds a way; assessors count after the objects."""
    if one == other:
        return True
    n_objects, seen, queue, first, second = (
        state.object.size,
        scratch.seen,
        scratch.queue,
        scratch.end[0],
        scratch.end[1],
    )
    for side in range(2):
        own, vertex = scratch.end[side], one if side == 0 else other
        own["mark"] += 2
        own["done"], own["size"], queue[side, 0], seen[vertex] = 0, 1, vertex, own["mark"]
    while first["done"] < first["size"] and second["done"] < second["size"]:
        side = 0 if first["size"] <= second["size"] else 1
        own, goal = scratch.end[side], scratch.end[1 - side]["mark"]
        vertex = queue[side, own["done"]]
        own["done"] += 1
        is_object = vertex < n_objects
        if is_object:
            begin, end = state.object[vertex]["slots"], state.object[vertex]["slots_end"]
        else:
            by = state.assessor[vertex - n_objects]
            begin, end = by["offers"], by["offers"] + by["load"]
        for at in range(begin, end):
            if is_object:
                near = n_objects + state.slot[at]["assessor"]
            else:
                near = state.slot[state.pair[at]["listed"]]["object"]
            if seen[near] == goal:
                return True
            if seen[near] != own["mark"] and own["size"] < REACH:
                seen[near] = own["mark"]
                queue[side, own["size"]] = near
                own["size"] += 1
    return False
