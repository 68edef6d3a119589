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
    """Object, assessor, precision, expertise, whether it is fixed and taken, and where its entries begin (K + 1).

    In the same records, ``offer`` is a pair and ``listed`` a slot in an order by assessors: see ``assessor``.
    """
    slot: Records
    """Pair, object, assessor, precision, and its place among those listed."""
    object: Records
    """Where its pairs and its slots begin, and its confidence C_o (n_O + 1)."""
    assessor: Records
    """Where offers and slots begin, least, most and present load, and 1 / C'_a (n_A + 1).

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
    clock: Codes
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
    return state.pair["taken"][:-1].copy(), changes


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
    return _State(
        pair=_records(
            n_pairs + 1,
            object=task.object,
            assessor=task.assessor,
            precision=task.precision,
            expertise=np.zeros(n_pairs) if task.expertise is None else task.expertise,
            entries=entries,
            offer=np.argsort(task.assessor, kind="stable"),
            listed=listed,
            fixed=task.fixed,
            taken=chosen,
        ),
        slot=_records(
            held.size, pair=held, object=task.object[held], assessor=reader, precision=precision, place=place
        ),
        object=_records(
            n_objects + 1,
            pairs=task.start,
            slots=np.concatenate([[0], np.cumsum(np.bincount(task.object[held], minlength=n_objects))]),
            confidence=np.bincount(task.object[held], weights=precision, minlength=n_objects).astype(np.float64),
        ),
        assessor=_records(
            n_assessors + 1,
            offers=offers,
            least=np.minimum(task.least_load, load),  # what was broken before need not be mended
            most=np.maximum(task.most_load, load),
            load=load,
            inverse=np.divide(1.0, total, out=np.zeros(n_assessors), where=total > 0),
            met=np.zeros(n_assessors),
            mark=np.full(n_assessors, -1),
        ),
        entry=_records(entry.size, limit=task.limits.limit[entry], weight=task.limits.weight[entry]),
        limit=_records(
            sums.size,
            sum=sums,
            least=np.minimum(task.limits.least, sums) - SLACK,
            most=np.maximum(task.limits.most, sums) + SLACK,
        ),
    )


def _records(count: int, **columns: NDArray[Any]) -> Records:
    """Return arrays of whole numbers, numbers or flags as one of records, with zeros after the last of each."""
    kinds = {"b": np.bool_, "f": np.float64}  # always alike, so that loops are compiled once
    form = [(name, kinds.get(column.dtype.kind, np.int64)) for name, column in columns.items()]
    found = np.zeros(count, dtype=np.dtype(form, align=True))
    for name, column in columns.items():
        found[name][: column.size] = column
    return found


def _scratch(n_objects: int, n_assessors: int) -> _Scratch:
    return _Scratch(
        seen=np.zeros(n_objects + n_assessors, dtype=np.int64),
        queue=np.zeros((2, REACH), dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        step=np.zeros((3, MOST_STEPS), dtype=np.int64),
        kind=_records(2, tried=np.zeros(2, dtype=np.int64), saved=np.zeros(2)),
        change=np.zeros(4),
    )


@cache
def compiled_pass() -> Pass:
    """Return a pass as machine code; what it calls has no way in from Python, which would take long to make."""
    from numba import njit

    without: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    names, inner = dict(globals()), njit(nogil=True, **without)
    for loop in (_measured, _put, _tally, _keeps, _joined, _relieved, _offered, _swapped, _gains, one_pass):
        compile_ = compiled if loop is one_pass else inner
        names[loop.__name__] = compile_(FunctionType(loop.__code__, names, loop.__name__))
    return names["one_pass"]  # type: ignore[no-any-return]


def one_pass(order: Codes, draws: Codes, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> None:
    """Visit all objects once and make every move that gains."""
    for visit in range(order.size):
        object_, random = order[visit], draws[visit]
        for pair in range(state.object[object_]["pairs"], state.object[object_ + 1]["pairs"]):
            state.assessor[state.pair[pair]["assessor"]]["mark"] = pair
        for slot in range(state.object[object_]["slots"], state.object[object_ + 1]["slots"]):
            if state.pair[state.slot[slot]["pair"]]["fixed"]:
                continue
            assessor = state.slot[slot]["assessor"]
            offered = state.assessor[assessor + 1]["offers"] - state.assessor[assessor]["offers"]
            random = random * 48271 % 2147483647
            look, looks, beside = random % offered, min(LOOKS, offered), 0 * offered
            for attempt in range(1 + OFFERS + SWAPS):
                if attempt == 0:
                    steps = _relieved(slot, price, state, scratch.step)
                elif attempt <= OFFERS:
                    steps, random = _offered(slot, random, state, scratch.step)
                else:
                    steps, look, looks, beside = _swapped(slot, look, looks, beside, state, scratch.step)
                kind = 0 if attempt == 0 or state.assessor[assessor]["load"] == 1 else 1
                if steps > 0 and _gains(steps, kind, price, least_gain, state, scratch):
                    break


def _relieved(slot: int, price: Floats, state: _State, step: Codes) -> int:
    """Relieve an assessor of everything, if this is their first slot: the fullest and most expert take over."""
    own = state.assessor[state.slot[slot]["assessor"]]
    if own["least"] > 0 or own["load"] > MOST_STEPS or state.slot[slot]["place"] != own["offers"]:
        return 0
    steps = 0
    for at in range(own["offers"], own["offers"] + own["load"]):
        s = state.pair[at]["listed"]
        o = state.slot[s]["object"]
        best, rank = -1, 0.0
        for p in range(state.object[o]["pairs"], state.object[o + 1]["pairs"]):
            pair = state.pair[p]
            by = state.assessor[pair["assessor"]]
            if pair["taken"] or by["load"] >= by["most"] or by["load"] == 0:
                continue
            worth = by["load"] / by["most"] * price[1] - pair["expertise"] * price[2]
            if best < 0 or worth > rank:
                best, rank = p, worth
        if best < 0 or state.pair[state.slot[s]["pair"]]["fixed"]:
            return 0
        step[0, steps], step[1, steps] = s, best
        steps += 1
    return steps


def _offered(slot: int, random: int, state: _State, step: Codes) -> tuple[int, int]:
    """Draw another assessor; one who is full gives something away in turn."""
    object_, assessor = state.slot[slot]["object"], state.slot[slot]["assessor"]
    low, high = state.object[object_]["pairs"], state.object[object_ + 1]["pairs"]
    random = random * 48271 % 2147483647
    pair = low + random % (high - low)
    if state.pair[pair]["taken"]:
        return 0, random
    by = state.assessor[state.pair[pair]["assessor"]]
    has_more = state.assessor[assessor]["load"] > state.assessor[assessor]["least"]
    step[0, 0], step[1, 0] = slot, pair
    if by["load"] < by["most"]:
        return (1 if has_more else 0), random
    if by["load"] == 0:
        return 0, random
    random = random * 48271 % 2147483647
    s = state.pair[by["offers"] + random % by["load"]]["listed"]
    p = state.slot[s]["object"]
    random = random * 48271 % 2147483647
    low, high = state.object[p]["pairs"], state.object[p + 1]["pairs"]
    further = low + random % (high - low)
    c = state.pair[further]["assessor"]
    if state.pair[state.slot[s]["pair"]]["fixed"] or state.pair[further]["taken"]:
        return 0, random
    if c != assessor and not (state.assessor[c]["load"] < state.assessor[c]["most"] and has_more):
        return 0, random
    step[0, 1], step[1, 1] = s, further
    return 2, random


def _swapped(slot: int, look: int, looks: int, beside: int, state: _State, step: Codes) -> tuple[int, int, int, int]:
    """Go on through what the assessor may read, to the next whose reader may read this object."""
    object_, assessor = state.slot[slot]["object"], state.slot[slot]["assessor"]
    low, high = state.object[object_]["pairs"], state.object[object_ + 1]["pairs"]
    begin = state.assessor[assessor]["offers"]
    offered = state.assessor[assessor + 1]["offers"] - begin
    while looks > 0:
        further = state.pair[begin + look]["offer"]
        p = state.pair[further]["object"]
        if not state.pair[further]["taken"]:
            while beside < state.object[p + 1]["slots"] - state.object[p]["slots"]:
                s = state.object[p]["slots"] + beside
                pair = state.assessor[state.slot[s]["assessor"]]["mark"]
                beside += 1
                if low <= pair < high and not (state.pair[pair]["taken"] or state.pair[state.slot[s]["pair"]]["fixed"]):
                    step[0, 0], step[1, 0], step[0, 1], step[1, 1] = slot, pair, s, further
                    return 2, look, looks, beside
        looks, beside = looks - 1, 0 * beside
        look = look + 1 if look + 1 < offered else 0
    return 0, look, looks, beside


def _gains(steps: int, kind: int, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> bool:
    """Make a move if it gains and keeps the rules, and say whether it did."""
    step, so_far = scratch.step, scratch.kind[kind]
    first, second, expert = 0.0, 0.0, 0.0
    for i in range(steps):
        step[2, i] = state.slot[step[0, i]]["pair"]
        expert += state.pair[step[1, i]]["expertise"] - state.pair[step[2, i]]["expertise"]
    if so_far["tried"] >= WARY and price[2] * expert > 2 * so_far["saved"] - least_gain:
        return False
    if not _keeps(steps, state, step):
        return False
    for i in range(steps):
        s, pair = step[0, i], step[1, i]
        old, new, o = state.slot[s]["assessor"], state.pair[pair]["assessor"], state.slot[s]["object"]
        for after in range(2):
            sign = 2 * after - 1
            one, two = _measured(old, new, o, state)
            first += sign * one
            second += sign * two
            if not after:
                _put(s, pair, state)
    fall = -price[0] * first - price[1] * second
    so_far["tried"] += 1
    so_far["saved"] = max(so_far["saved"], fall)
    good = price[2] * expert - fall < -least_gain
    for i in range(steps):
        had = state.assessor[state.pair[step[2, i]]["assessor"]]
        has = state.assessor[state.pair[step[1, i]]["assessor"]]
        good = good and had["load"] >= had["least"] and has["load"] <= has["most"]
    if good:
        for i in range(steps):  # only the assessor of the first step can have been left without any
            old = state.pair[step[2, i]]["assessor"]
            start = state.object.size - 1 + old if state.assessor[old]["load"] > 0 else state.slot[step[0, 0]]["object"]
            good = good and _joined(start, state.slot[step[0, i]]["object"], state, scratch)
    if good:
        scratch.change[0] += 1
        scratch.change[1] += first
        scratch.change[2] += second
        scratch.change[3] += expert
    else:
        for i in range(steps - 1, -1, -1):
            _put(step[0, i], step[2, i], state)
        _tally(steps, -1.0, state, step)
    return bool(good)


def _keeps(steps: int, state: _State, step: Codes) -> bool:
    """Count the pairs that come and go with a move, unless that takes a limit beyond its bounds; say which."""
    _tally(steps, 1.0, state, step)
    good = True
    for i in range(steps):
        for side in range(1, 3):
            pair = step[side, i]
            for entry in range(state.pair[pair]["entries"], state.pair[pair + 1]["entries"]):
                limit = state.limit[state.entry[entry]["limit"]]
                good = good and limit["least"] <= limit["sum"] <= limit["most"]
    if not good:
        _tally(steps, -1.0, state, step)
    return good


def _tally(steps: int, sign: float, state: _State, step: Codes) -> None:
    """Count the pairs of a move, made or taken back, in the sums of all limits that they are in."""
    for i in range(steps):
        for side in range(1, 3):
            pair, change = step[side, i], (sign if side == 1 else -sign)
            for entry in range(state.pair[pair]["entries"], state.pair[pair + 1]["entries"]):
                state.limit[state.entry[entry]["limit"]]["sum"] += change * state.entry[entry]["weight"]


def _measured(one: int, other: int, object_: int, state: _State) -> tuple[float, float]:
    """Return what two assessors and an object that one of them reads add to tr C and tr C^2."""
    information = state.object[object_]["confidence"]
    first, second, shared = information, information**2, 0.0
    for turn in range(2):
        own = state.assessor[one if turn == 0 else other]
        begin, end = own["offers"], own["offers"] + own["load"]
        square, diagonal, row = 0.0, 0.0, 0.0
        for at in range(begin, end):
            slot = state.slot[state.pair[at]["listed"]]
            c, o = slot["precision"], slot["object"]
            square += c * c
            diagonal += state.object[o]["confidence"] * c * c
            for e in range(state.object[o]["slots"], state.object[o + 1]["slots"]):
                by = state.assessor[state.slot[e]["assessor"]]
                product, met = c * state.slot[e]["precision"], by["met"]
                row += product * (met + met + product) * by["inverse"]
                by["met"] = met + product
        if turn == 0:
            shared = state.assessor[other]["met"]
        for at in range(begin, end):
            o = state.slot[state.pair[at]["listed"]]["object"]
            for e in range(state.object[o]["slots"], state.object[o + 1]["slots"]):
                state.assessor[state.slot[e]["assessor"]]["met"] = 0.0
        scale = own["inverse"]
        first -= square * scale
        second += 2 * (row - diagonal) * scale - (square * scale) ** 2
    second -= 2 * shared * shared * state.assessor[one]["inverse"] * state.assessor[other]["inverse"]
    for e in range(state.object[object_]["slots"], state.object[object_ + 1]["slots"]):
        x = state.slot[e]["assessor"]
        if x != one and x != other:
            second -= 2 * information * state.slot[e]["precision"] ** 2 * state.assessor[x]["inverse"]
    return first, second


def _put(slot: int, pair: int, state: _State) -> None:
    """Let the assessor of another pair of its object take over an assessment."""
    own, o = state.slot[slot], state.slot[slot]["object"]
    old, new = own["assessor"], state.pair[pair]["assessor"]
    state.assessor[old]["load"] -= 1
    last = state.pair[state.assessor[old]["offers"] + state.assessor[old]["load"]]["listed"]
    state.pair[own["place"]]["listed"] = last
    state.slot[last]["place"] = own["place"]
    own["place"] = state.assessor[new]["offers"] + state.assessor[new]["load"]
    state.pair[own["place"]]["listed"] = slot
    state.assessor[new]["load"] += 1
    state.pair[own["pair"]]["taken"] = False
    state.pair[pair]["taken"] = True
    own["pair"] = pair
    own["assessor"] = new
    own["precision"] = state.pair[pair]["precision"]
    total = 0.0
    for e in range(state.object[o]["slots"], state.object[o + 1]["slots"]):
        total += state.slot[e]["precision"]
    state.object[o]["confidence"] = total
    for turn in range(2):  # afresh, so that nothing adds up over millions of moves
        by = state.assessor[old if turn == 0 else new]
        total = 0.0
        for at in range(by["offers"], by["offers"] + by["load"]):
            total += state.slot[state.pair[at]["listed"]]["precision"]
        by["inverse"] = 1.0 / total if total > 0 else 0.0


def _joined(one: int, other: int, state: _State, scratch: _Scratch) -> bool:
    """Whether a search from both ends, of limited reach, finds a way; assessors count after the objects."""
    if one == other:
        return True
    n_objects, seen, queue, clock = state.object.size - 1, scratch.seen, scratch.queue, scratch.clock
    clock[0] += 2
    queue[0, 0], queue[1, 0] = one, other
    seen[one], seen[other] = clock[0], clock[0] + 1
    done_one, size_one, done_other, size_other = 0, 1, 0, 1
    while done_one < size_one and done_other < size_other:
        side = 0 if size_one <= size_other else 1
        vertex = queue[side, done_one if side == 0 else done_other]
        if side == 0:
            done_one += 1
        else:
            done_other += 1
        is_object = vertex < n_objects
        if is_object:
            begin, end = state.object[vertex]["slots"], state.object[vertex + 1]["slots"]
        else:
            begin = state.assessor[vertex - n_objects]["offers"]
            end = begin + state.assessor[vertex - n_objects]["load"]
        for at in range(begin, end):
            if is_object:
                near = n_objects + state.slot[at]["assessor"]
            else:
                near = state.slot[state.pair[at]["listed"]]["object"]
            size = size_one if side == 0 else size_other
            if seen[near] == clock[0] + 1 - side:
                return True
            if seen[near] != clock[0] + side and size < REACH:
                seen[near] = clock[0] + side
                queue[side, size] = near
                if side == 0:
                    size_one += 1
                else:
                    size_other += 1
    return False
