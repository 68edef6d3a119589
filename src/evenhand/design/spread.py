"""Exchange moves for designs of any size: assessors and objects that meet time and again are spread apart.

No inverse is ever made. What a move changes is known from the assessors that it touches and the objects they read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Final, NamedTuple

import numpy as np

from evenhand.compiled import Codes, Flags, Floats, compiled, is_compiled
from evenhand.design.limits import SLACK
from evenhand.design.task import Task

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
    """A design in arrays that moves change in place.

    A slot is an assessment: those of an object stand together and always will, whoever reads it. Assessors have lists
    of their slots, with room for all pairs that they have.
    """

    pair_object: Codes
    pair_assessor: Codes
    precision: Floats
    expertise: Floats
    fixed: Flags
    pair_start: Codes
    offers: Codes
    offer_start: Codes
    """The pairs of assessor a are ``offers[offer_start[a] : offer_start[a + 1]]``."""
    least_load: Codes
    most_load: Codes
    taken: Flags
    held: Codes
    """The pair of each slot."""
    slot_start: Codes
    slot_object: Codes
    reader: Codes
    slot_precision: Floats
    listed: Codes
    """Slots of each assessor, which begin where offers do."""
    place: Codes
    """Where each slot stands in ``listed``."""
    load: Codes
    inverse: Floats
    """1 / C'_a of each assessor."""
    at_object: Floats
    """C_o of each object."""
    entry_start: Codes
    """Where the entries of each pair begin among those of the limits, which stand pair by pair."""
    entry_limit: Codes
    entry_weight: Floats
    sums: Floats
    least: Floats
    most: Floats
    """The sum of weights of each limit, the smallest and the largest."""


class _Scratch(NamedTuple):
    """Room to work in, and what a pass has done so far."""

    meetings: Floats
    """sum_o c_ao c_xo of the assessor in hand with all others."""
    mark: Codes
    """Each assessor's pair with the object in hand."""
    seen: Codes
    queue: Codes
    clock: Codes
    step: Codes
    """Slots of a move, the pairs that they get, and those that they had (3 x `MOST_STEPS`)."""
    tried: Codes
    saved: Floats
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
    return state.taken, changes


def _state(task: Task, chosen: Flags) -> _State:
    n_objects, n_assessors = task.n_objects, task.n_assessors
    held = np.flatnonzero(chosen).astype(np.int64)
    slot_object, reader = task.object[held], task.assessor[held]
    slot_precision = task.precision[held]
    offer_start = np.concatenate([[0], np.cumsum(np.bincount(task.assessor, minlength=n_assessors))])
    by_assessor = np.argsort(reader, kind="stable")
    load = np.bincount(reader, minlength=n_assessors)
    listed = np.zeros(task.n_pairs, dtype=np.int64)
    first = np.cumsum(load) - load
    place = np.empty(held.size, dtype=np.int64)
    place[by_assessor] = np.arange(held.size) - np.repeat(first - offer_start[:-1], load)
    listed[place] = np.arange(held.size)
    expertise = np.zeros(task.n_pairs) if task.expertise is None else task.expertise
    total = np.bincount(reader, weights=slot_precision, minlength=n_assessors)
    limits, sums = task.limits, task.limits.sums(chosen)
    entry_start, entry = task.entries
    return _State(
        pair_object=np.require(task.object, np.int64, ["C", "W"]),  # always alike, so that loops are compiled once
        pair_assessor=np.require(task.assessor, np.int64, ["C", "W"]),
        precision=np.require(task.precision, np.float64, ["C", "W"]),
        expertise=np.require(expertise, np.float64, ["C", "W"]),
        fixed=np.require(task.fixed, np.bool_, ["C", "W"]),
        pair_start=task.start,
        offers=np.argsort(task.assessor, kind="stable"),
        offer_start=offer_start,
        least_load=np.minimum(task.least_load, load),  # what was broken before need not be mended
        most_load=np.maximum(task.most_load, load),
        taken=chosen.copy(),
        held=held,
        slot_start=np.concatenate([[0], np.cumsum(np.bincount(slot_object, minlength=n_objects))]),
        slot_object=slot_object,
        reader=reader,
        slot_precision=slot_precision,
        listed=listed,
        place=place,
        load=load,
        inverse=np.divide(1.0, total, out=np.zeros(n_assessors), where=total > 0),
        at_object=np.bincount(slot_object, weights=slot_precision, minlength=n_objects).astype(np.float64),
        entry_start=entry_start,
        entry_limit=limits.limit[entry],
        entry_weight=limits.weight[entry],
        sums=sums,
        least=np.minimum(limits.least, sums) - SLACK,
        most=np.maximum(limits.most, sums) + SLACK,
    )


def _scratch(n_objects: int, n_assessors: int) -> _Scratch:
    return _Scratch(
        meetings=np.zeros(n_assessors),
        mark=np.full(n_assessors, -1),
        seen=np.zeros(n_objects + n_assessors, dtype=np.int64),
        queue=np.zeros((2, REACH), dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        step=np.zeros((3, MOST_STEPS), dtype=np.int64),
        tried=np.zeros(2, dtype=np.int64),
        saved=np.zeros(2),
        change=np.zeros(4),
    )


@cache
def compiled_pass() -> Pass:
    """Return a pass as machine code, with all that it calls put in line where calls would cost a third more time."""
    from numba import njit

    names, inline = dict(globals()), njit(inline="always")
    own = (
        (inline, (_measured, _put, _tally, _keeps, _offered, _swapped, _gains)),
        (compiled, (_joined, _relieved, one_pass)),
    )
    for compile_, loops in own:
        for loop in loops:
            names[loop.__name__] = compile_(FunctionType(loop.__code__, names, loop.__name__))
    return names["one_pass"]  # type: ignore[no-any-return]


def one_pass(order: Codes, draws: Codes, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> None:
    """Visit all objects once and make every move that gains."""
    for visit in range(order.size):
        object_, random = order[visit], draws[visit]
        low, high = state.pair_start[object_], state.pair_start[object_ + 1]
        for pair in range(low, high):
            scratch.mark[state.pair_assessor[pair]] = pair
        for slot in range(state.slot_start[object_], state.slot_start[object_ + 1]):
            if state.fixed[state.held[slot]]:
                continue
            assessor = state.reader[slot]
            offered = state.offer_start[assessor + 1] - state.offer_start[assessor]
            random = random * 48271 % 2147483647
            look, looks, beside = random % offered, min(LOOKS, offered), 0
            for attempt in range(1 + OFFERS + SWAPS):
                if attempt == 0:
                    steps = _relieved(slot, price, state, scratch.step)
                elif attempt <= OFFERS:
                    steps, random = _offered(slot, random, state, scratch.step)
                else:
                    steps, look, looks, beside = _swapped(slot, look, looks, beside, state, scratch)
                kind = 0 if attempt == 0 or state.load[assessor] == 1 else 1
                if steps > 0 and _gains(steps, kind, price, least_gain, state, scratch):
                    break


def _relieved(slot: int, price: Floats, state: _State, step: Codes) -> int:
    """Relieve an assessor of everything, if this is their first slot: the fullest and most expert take over."""
    assessor = state.reader[slot]
    begin = state.offer_start[assessor]
    if state.least_load[assessor] > 0 or state.load[assessor] > MOST_STEPS or state.place[slot] != begin:
        return 0
    steps = 0
    for at in range(begin, begin + state.load[assessor]):
        s = state.listed[at]
        best, rank = -1, 0.0
        for pair in range(state.pair_start[state.slot_object[s]], state.pair_start[state.slot_object[s] + 1]):
            b = state.pair_assessor[pair]
            if state.taken[pair] or state.load[b] >= state.most_load[b] or state.load[b] == 0:
                continue
            worth = state.load[b] / state.most_load[b] * price[1] - state.expertise[pair] * price[2]
            if best < 0 or worth > rank:
                best, rank = pair, worth
        if best < 0 or state.fixed[state.held[s]]:
            return 0
        step[0, steps], step[1, steps] = s, best
        steps += 1
    return steps


def _offered(slot: int, random: int, state: _State, step: Codes) -> tuple[int, int]:
    """Draw another assessor; one who is full gives something away in turn."""
    object_, assessor = state.slot_object[slot], state.reader[slot]
    low, high = state.pair_start[object_], state.pair_start[object_ + 1]
    random = random * 48271 % 2147483647
    pair = low + random % (high - low)
    if state.taken[pair]:
        return 0, random
    b, has_more = state.pair_assessor[pair], state.load[assessor] > state.least_load[assessor]
    step[0, 0], step[1, 0] = slot, pair
    if state.load[b] < state.most_load[b]:
        return (1 if has_more else 0), random
    if state.load[b] == 0:
        return 0, random
    random = random * 48271 % 2147483647
    s = state.listed[state.offer_start[b] + random % state.load[b]]
    p = state.slot_object[s]
    random = random * 48271 % 2147483647
    further = state.pair_start[p] + random % (state.pair_start[p + 1] - state.pair_start[p])
    c = state.pair_assessor[further]
    if state.fixed[state.held[s]] or state.taken[further]:
        return 0, random
    if c != assessor and not (state.load[c] < state.most_load[c] and has_more):
        return 0, random
    step[0, 1], step[1, 1] = s, further
    return 2, random


def _swapped(
    slot: int, look: int, looks: int, beside: int, state: _State, scratch: _Scratch
) -> tuple[int, int, int, int]:
    """Go on through what the assessor may read, to the next whose reader may read this object."""
    object_, assessor, step = state.slot_object[slot], state.reader[slot], scratch.step
    low, high = state.pair_start[object_], state.pair_start[object_ + 1]
    begin, offered = state.offer_start[assessor], state.offer_start[assessor + 1] - state.offer_start[assessor]
    while looks > 0:
        further = state.offers[begin + look]
        p = state.pair_object[further]
        if not state.taken[further]:
            while beside < state.slot_start[p + 1] - state.slot_start[p]:
                s = state.slot_start[p] + beside
                pair = scratch.mark[state.reader[s]]
                beside += 1
                if pair >= low and pair < high and not state.taken[pair] and not state.fixed[state.held[s]]:
                    step[0, 0], step[1, 0], step[0, 1], step[1, 1] = slot, pair, s, further
                    return 2, look, looks, beside
        looks, beside = looks - 1, 0
        look = look + 1 if look + 1 < offered else 0
    return 0, look, looks, beside


def _gains(steps: int, kind: int, price: Floats, least_gain: float, state: _State, scratch: _Scratch) -> bool:
    """Make a move if it gains and keeps the rules, and say whether it did."""
    step, load = scratch.step, state.load
    first, second, expert = 0.0, 0.0, 0.0
    for i in range(steps):
        step[2, i] = state.held[step[0, i]]
        expert += state.expertise[step[1, i]] - state.expertise[step[2, i]]
    if scratch.tried[kind] >= WARY and price[2] * expert > 2 * scratch.saved[kind] - least_gain:
        return False
    if not _keeps(steps, state, step):
        return False
    for i in range(steps):
        s, pair = step[0, i], step[1, i]
        old, new, o = state.reader[s], state.pair_assessor[pair], state.slot_object[s]
        before = _measured(old, new, o, state, scratch.meetings)
        _put(s, pair, state)
        after = _measured(old, new, o, state, scratch.meetings)
        first += after[0] - before[0]
        second += after[1] - before[1]
    fall = -price[0] * first - price[1] * second
    scratch.tried[kind] += 1
    scratch.saved[kind] = max(scratch.saved[kind], fall)
    good = price[2] * expert - fall < -least_gain
    for i in range(steps):
        old, new = state.pair_assessor[step[2, i]], state.pair_assessor[step[1, i]]
        good = good and load[old] >= state.least_load[old] and load[new] <= state.most_load[new]
    if good:
        for i in range(steps):  # only the assessor of the first step can have been left without any
            old = state.pair_assessor[step[2, i]]
            start = state.at_object.size + old if load[old] > 0 else state.slot_object[step[0, 0]]
            good = good and _joined(start, state.slot_object[step[0, i]], state, scratch)
    if good:
        scratch.change[0] += 1
        scratch.change[1] += first
        scratch.change[2] += second
        scratch.change[3] += expert
    else:
        for i in range(steps - 1, -1, -1):
            _put(step[0, i], step[2, i], state)
            _tally(step[2, i], 1.0, state)
            _tally(step[1, i], -1.0, state)
    return bool(good)


def _tally(pair: int, sign: float, state: _State) -> None:
    """Count a pair that comes or goes in the sums of all limits that it is in."""
    for entry in range(state.entry_start[pair], state.entry_start[pair + 1]):
        state.sums[state.entry_limit[entry]] += sign * state.entry_weight[entry]


def _keeps(steps: int, state: _State, step: Codes) -> bool:
    """Count the pairs that come and go with a move, unless that takes a limit beyond its bounds; say which."""
    for i in range(steps):
        _tally(step[2, i], -1.0, state)
        _tally(step[1, i], 1.0, state)
    good = True
    for i in range(steps):
        for side in range(1, 3):
            pair = step[side, i]
            for entry in range(state.entry_start[pair], state.entry_start[pair + 1]):
                limit = state.entry_limit[entry]
                good = good and state.least[limit] <= state.sums[limit] <= state.most[limit]
    if not good:
        for i in range(steps):
            _tally(step[2, i], 1.0, state)
            _tally(step[1, i], -1.0, state)
    return good


def _measured(one: int, other: int, object_: int, state: _State, meetings: Floats) -> tuple[float, float]:
    """Return what two assessors and an object that one of them reads add to tr C and tr C^2."""
    information = state.at_object[object_]
    first, second, shared = information, information**2, 0.0
    for turn in range(2):
        assessor = one if turn == 0 else other
        begin, end = state.offer_start[assessor], state.offer_start[assessor] + state.load[assessor]
        square, diagonal, row = 0.0, 0.0, 0.0
        for at in range(begin, end):
            slot = state.listed[at]
            c, o = state.slot_precision[slot], state.slot_object[slot]
            square += c * c
            diagonal += state.at_object[o] * c * c
            for e in range(state.slot_start[o], state.slot_start[o + 1]):
                x = state.reader[e]
                product, met = c * state.slot_precision[e], meetings[x]
                row += product * (met + met + product) * state.inverse[x]
                meetings[x] = met + product
        if turn == 0:
            shared = meetings[other]
        for at in range(begin, end):
            o = state.slot_object[state.listed[at]]
            for e in range(state.slot_start[o], state.slot_start[o + 1]):
                meetings[state.reader[e]] = 0.0
        scale = state.inverse[assessor]
        first -= square * scale
        second += 2 * (row - diagonal) * scale - (square * scale) ** 2
    second -= 2 * shared * shared * state.inverse[one] * state.inverse[other]
    for e in range(state.slot_start[object_], state.slot_start[object_ + 1]):
        x = state.reader[e]
        if x != one and x != other:
            second -= 2 * information * state.slot_precision[e] ** 2 * state.inverse[x]
    return first, second


def _put(slot: int, pair: int, state: _State) -> None:
    """Let the assessor of another pair of its object take over an assessment."""
    listed, place, load = state.listed, state.place, state.load
    old, new, o = state.reader[slot], state.pair_assessor[pair], state.slot_object[slot]
    load[old] -= 1
    last = listed[state.offer_start[old] + load[old]]
    listed[place[slot]] = last
    place[last] = place[slot]
    place[slot] = state.offer_start[new] + load[new]
    listed[place[slot]] = slot
    load[new] += 1
    state.taken[state.held[slot]], state.taken[pair] = False, True
    state.held[slot], state.reader[slot], state.slot_precision[slot] = pair, new, state.precision[pair]
    state.at_object[o] = 0.0
    for e in range(state.slot_start[o], state.slot_start[o + 1]):
        state.at_object[o] += state.slot_precision[e]
    for turn in range(2):  # afresh, so that nothing adds up over millions of moves
        assessor, total = (old if turn == 0 else new), 0.0
        for at in range(state.offer_start[assessor], state.offer_start[assessor] + load[assessor]):
            total += state.slot_precision[listed[at]]
        state.inverse[assessor] = 1.0 / total if total > 0 else 0.0


def _joined(one: int, other: int, state: _State, scratch: _Scratch) -> bool:
    """Whether a search from both ends, of limited reach, finds a way; assessors count after the objects."""
    if one == other:
        return True
    n_objects, seen, queue, clock = state.at_object.size, scratch.seen, scratch.queue, scratch.clock
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
        begin = state.slot_start[vertex] if is_object else state.offer_start[vertex - n_objects]
        end = state.slot_start[vertex + 1] if is_object else begin + state.load[vertex - n_objects]
        for at in range(begin, end):
            near = n_objects + state.reader[at] if is_object else state.slot_object[state.listed[at]]
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
