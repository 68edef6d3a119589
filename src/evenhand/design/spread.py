"""Exchange moves for designs of any size: assessors and objects that meet time and again are spread apart.

No inverse is ever made. What a move changes is known from the assessors that it touches and the objects they read.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Codes, Floats, compiled, is_compiled
from evenhand.design.task import Flags, Task

PASSES: Final = 6
"""Passes over all objects."""

WORTH_COMPILING: Final = 200
"""From this many assessments on, compiled loops repay the second that numba takes to be imported."""

LEAST_GAIN: Final = 1e-9
"""A move must gain more than this much, of an object's variance, to be made: more than rounding ever amounts to."""

ENOUGH: Final = 0.02
"""Passes end with the first that gains less than this part of what the first pass gained,"""

TOO_LITTLE: Final = 2e-5
"""or less than this much of the mean variance."""

DRAWS: Final = 4
"""Assessors drawn in place of each one who reads an object, in a pass."""

SWAPS: Final = 3
"""Swaps tried for each assessment in a pass."""

LOOKS: Final = 40
"""Objects that are looked at for these swaps."""

STEPS: Final = 8
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

    Parameters
    ----------
    task
        Who may read what.
    chosen
        A design (K).
    weight
        Weight of expertise, from 0 to 1.
    seed
        Seed of all random choices.
    passes
        Most passes over all objects.

    Returns
    -------
    Flags
        A design (K) with as many assessments of each object, with no more components, and with loads within their
        bounds where they were before.

    References
    ----------
    J. A. Eccleston and A. Hedayat, On the theory of connected designs: characterization and optimality, Annals of
    Statistics 2, 1238 (1974); K. R. Shah, Optimality criteria for incomplete block designs, Annals of Mathematical
    Statistics 31, 791 (1960).

    Examples
    --------
    Two assessors read the same two objects, two others read two others. One swap, and all hang together.

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
    return exchange(task, chosen, weight, seed, passes, compiled(_pass) if large else _pass)[0]


def exchange(
    task: Task, chosen: Flags, weight: float, seed: int, passes: int, loop: Any, least_gain: float = LEAST_GAIN
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
        change = np.zeros(4)
        loop(order, draws, price, least_gain, change, **state)
        changes += change
        gain = -float(price @ change[1:])
        first = first or gain
        if change[0] == 0 or gain < max(ENOUGH * first, TOO_LITTLE * n_objects):
            break
    return state["taken"], changes


def _state(task: Task, chosen: Flags) -> dict[str, NDArray[Any]]:
    """Return a design in arrays that moves change in place.

    A slot is an assessment: those of an object stand together and always will, whoever reads it. Assessors have lists
    of their slots, with room for all pairs that they have.
    """
    n_objects, n_assessors = task.n_objects, task.n_assessors
    held = np.flatnonzero(chosen).astype(np.int64)
    slot_object, reader = task.object[held], task.assessor[held]
    slot_precision = task.precision[held]
    offers = np.argsort(task.assessor, kind="stable")
    offered = np.bincount(task.assessor, minlength=n_assessors)
    offer_start = np.concatenate([[0], np.cumsum(offered)])
    by_assessor = np.argsort(reader, kind="stable")
    load = np.bincount(reader, minlength=n_assessors)
    listed = np.zeros(task.n_pairs, dtype=np.int64)
    first = np.cumsum(load) - load
    place = np.empty(held.size, dtype=np.int64)
    place[by_assessor] = np.arange(held.size) - np.repeat(first - offer_start[:-1], load)
    listed[place] = np.arange(held.size)
    expertise = np.zeros(task.n_pairs) if task.expertise is None else task.expertise
    total = np.bincount(reader, weights=slot_precision, minlength=n_assessors)
    return {
        "pair_object": np.require(task.object, np.int64, ["C", "W"]),  # always alike, so that loops are compiled once
        "pair_assessor": np.require(task.assessor, np.int64, ["C", "W"]),
        "precision": np.require(task.precision, np.float64, ["C", "W"]),
        "expertise": np.require(expertise, np.float64, ["C", "W"]),
        "fixed": np.require(task.fixed, np.bool_, ["C", "W"]),
        "pair_start": task.start,
        "offers": offers,
        "offer_start": offer_start,
        "least_load": np.minimum(task.least_load, load),  # what was broken before need not be mended
        "most_load": np.maximum(task.most_load, load),
        "taken": chosen.copy(),
        "held": held,
        "slot_start": np.concatenate([[0], np.cumsum(np.bincount(slot_object, minlength=n_objects))]),
        "slot_object": slot_object,
        "reader": reader,
        "slot_precision": slot_precision,
        "listed": listed,
        "place": place,
        "load": load,
        "inverse": np.divide(1.0, total, out=np.zeros(n_assessors), where=total > 0),
        "at_object": np.bincount(slot_object, weights=slot_precision, minlength=n_objects),
    }


def _pass(
    order: Codes,
    draws: Codes,
    price: Floats,
    least_gain: float,
    change: Floats,
    pair_object: Codes,
    pair_assessor: Codes,
    precision: Floats,
    expertise: Floats,
    fixed: Flags,
    pair_start: Codes,
    offers: Codes,
    offer_start: Codes,
    least_load: Codes,
    most_load: Codes,
    taken: Flags,
    held: Codes,
    slot_start: Codes,
    slot_object: Codes,
    reader: Codes,
    slot_precision: Floats,
    listed: Codes,
    place: Codes,
    load: Codes,
    inverse: Floats,
    at_object: Floats,
) -> None:
    """Visit all objects once and make every move that gains. Adds moves, tr C, tr C^2 and expertise to ``change``."""
    n_objects, n_assessors = at_object.size, load.size
    meetings = np.zeros(n_assessors)  # sum_o c_ao c_xo of the assessor in hand with all others
    mark = np.full(n_assessors, -1)  # each assessor's pair with the object in hand
    seen = np.zeros(n_objects + n_assessors, dtype=np.int64)
    queue = np.zeros((2, REACH), dtype=np.int64)
    clock = np.zeros(1, dtype=np.int64)
    step_slot, step_pair, step_old = np.zeros(STEPS, np.int64), np.zeros(STEPS, np.int64), np.zeros(STEPS, np.int64)
    part = np.zeros(2)
    tried, saved = np.zeros(2, np.int64), np.zeros(2)  # of moves that leave an assessor without any, and of others

    def measure(one: int, other: int, object_: int) -> None:
        """Put into ``part`` what two assessors and an object that one of them reads add to tr C and tr C^2."""
        information = at_object[object_]
        first, second, shared = information, information**2, 0.0
        for turn in range(2):
            assessor = one if turn == 0 else other
            begin, end = offer_start[assessor], offer_start[assessor] + load[assessor]
            square, diagonal, row = 0.0, 0.0, 0.0
            for at in range(begin, end):
                slot = listed[at]
                c, o = slot_precision[slot], slot_object[slot]
                square += c * c
                diagonal += at_object[o] * c * c
                for e in range(slot_start[o], slot_start[o + 1]):
                    x = reader[e]
                    product, met = c * slot_precision[e], meetings[x]
                    row += product * (met + met + product) * inverse[x]
                    meetings[x] = met + product
            if turn == 0:
                shared = meetings[other]
            for at in range(begin, end):
                o = slot_object[listed[at]]
                for e in range(slot_start[o], slot_start[o + 1]):
                    meetings[reader[e]] = 0.0
            scale = inverse[assessor]
            first -= square * scale
            second += 2 * (row - diagonal) * scale - (square * scale) ** 2
        second -= 2 * shared * shared * inverse[one] * inverse[other]
        for e in range(slot_start[object_], slot_start[object_ + 1]):
            if reader[e] != one and reader[e] != other:
                second -= 2 * information * slot_precision[e] ** 2 * inverse[reader[e]]
        part[0], part[1] = first, second

    def put(slot: int, pair: int) -> None:
        """Let the assessor of another pair of its object take over an assessment."""
        old, new, o = reader[slot], pair_assessor[pair], slot_object[slot]
        load[old] -= 1
        last = listed[offer_start[old] + load[old]]
        listed[place[slot]] = last
        place[last] = place[slot]
        place[slot] = offer_start[new] + load[new]
        listed[place[slot]] = slot
        load[new] += 1
        taken[held[slot]], taken[pair] = False, True
        held[slot], reader[slot], slot_precision[slot] = pair, new, precision[pair]
        at_object[o] = 0.0
        for e in range(slot_start[o], slot_start[o + 1]):
            at_object[o] += slot_precision[e]
        for turn in range(2):  # afresh, so that nothing adds up over millions of moves
            assessor, total = (old if turn == 0 else new), 0.0
            for at in range(offer_start[assessor], offer_start[assessor] + load[assessor]):
                total += slot_precision[listed[at]]
            inverse[assessor] = 1.0 / total if total > 0 else 0.0

    def joined(one: int, other: int) -> bool:
        """Whether a search from both ends, of limited reach, finds a way; assessors count after the objects."""
        if one == other:
            return True
        clock[0] += 2
        queue[0, 0], queue[1, 0] = one, other
        seen[one], seen[other] = clock[0], clock[0] + 1
        done_one, size_one, done_other, size_other = 0, 1, 0, 1
        found = False
        while not found and done_one < size_one and done_other < size_other:
            side = 0 if size_one <= size_other else 1
            vertex = queue[side, done_one if side == 0 else done_other]
            if side == 0:
                done_one += 1
            else:
                done_other += 1
            is_object = vertex < n_objects
            begin = slot_start[vertex] if is_object else offer_start[vertex - n_objects]
            end = slot_start[vertex + 1] if is_object else begin + load[vertex - n_objects]
            for at in range(begin, end):
                near = n_objects + reader[at] if is_object else slot_object[listed[at]]
                size = size_one if side == 0 else size_other
                if seen[near] == clock[0] + 1 - side:
                    found = True
                elif seen[near] != clock[0] + side and size < REACH:
                    seen[near] = clock[0] + side
                    queue[side, size] = near
                    if side == 0:
                        size_one += 1
                    else:
                        size_other += 1
        return found

    for visit in range(order.size):
        object_, random = order[visit], draws[visit]
        low, high = pair_start[object_], pair_start[object_ + 1]
        for pair in range(low, high):
            mark[pair_assessor[pair]] = pair
        for slot in range(slot_start[object_], slot_start[object_ + 1]):
            if fixed[held[slot]]:
                continue
            assessor = reader[slot]
            begin, offered = offer_start[assessor], offer_start[assessor + 1] - offer_start[assessor]
            random = random * 48271 % 2147483647
            look, looks, beside = random % offered, min(LOOKS, offered), 0
            for attempt in range(1 + DRAWS + SWAPS):
                steps = 0
                if attempt == 0:  # relieve the assessor of everything: the fullest and most expert take over
                    if least_load[assessor] > 0 or load[assessor] > STEPS or place[slot] != begin:
                        continue
                    for at in range(begin, begin + load[assessor]):
                        s = listed[at]
                        best, rank = -1, 0.0
                        for pair in range(pair_start[slot_object[s]], pair_start[slot_object[s] + 1]):
                            b = pair_assessor[pair]
                            if taken[pair] or load[b] >= most_load[b] or load[b] == 0:
                                continue
                            worth = load[b] / most_load[b] * price[1] - expertise[pair] * price[2]
                            if best < 0 or worth > rank:
                                best, rank = pair, worth
                        if best < 0 or fixed[held[s]]:
                            steps = 0
                            break
                        step_slot[steps], step_pair[steps] = s, best
                        steps += 1
                elif attempt <= DRAWS:  # draw another assessor; one who is full gives something away in turn
                    random = random * 48271 % 2147483647
                    pair = low + random % (high - low)
                    b = pair_assessor[pair]
                    if taken[pair]:
                        continue
                    step_slot[0], step_pair[0] = slot, pair
                    if load[b] < most_load[b]:
                        if load[assessor] > least_load[assessor]:
                            steps = 1
                    elif load[b] > 0:
                        random = random * 48271 % 2147483647
                        s = listed[offer_start[b] + random % load[b]]
                        p = slot_object[s]
                        random = random * 48271 % 2147483647
                        further = pair_start[p] + random % (pair_start[p + 1] - pair_start[p])
                        c = pair_assessor[further]
                        if fixed[held[s]] or taken[further]:
                            continue
                        if c == assessor or (load[c] < most_load[c] and load[assessor] > least_load[assessor]):
                            step_slot[1], step_pair[1] = s, further
                            steps = 2
                else:  # go on through what the assessor may read, to the next whose reader may read this object
                    while looks > 0 and steps == 0:
                        further = offers[begin + look]
                        p = pair_object[further]
                        if not taken[further]:
                            while beside < slot_start[p + 1] - slot_start[p] and steps == 0:
                                s = slot_start[p] + beside
                                pair = mark[reader[s]]
                                beside += 1
                                if pair >= low and pair < high and not taken[pair] and not fixed[held[s]]:
                                    step_slot[0], step_pair[0], step_slot[1], step_pair[1] = slot, pair, s, further
                                    steps = 2
                        if steps == 0:
                            looks, beside = looks - 1, 0
                            look = look + 1 if look + 1 < offered else 0
                if steps == 0:
                    continue
                first, second, expert, within = 0.0, 0.0, 0.0, True
                for i in range(steps):
                    step_old[i] = held[step_slot[i]]
                    expert += expertise[step_pair[i]] - expertise[step_old[i]]
                kind = 0 if attempt == 0 or load[assessor] == 1 else 1
                if tried[kind] >= WARY and price[2] * expert > 2 * saved[kind] - least_gain:
                    continue
                for i in range(steps):
                    s, pair = step_slot[i], step_pair[i]
                    old, new, o = reader[s], pair_assessor[pair], slot_object[s]
                    for sign in (-1, 1):
                        if sign > 0:
                            put(s, pair)
                        measure(old, new, o)
                        first += sign * part[0]
                        second += sign * part[1]
                fall = -price[0] * first - price[1] * second
                tried[kind] += 1
                saved[kind] = max(saved[kind], fall)
                gains = price[2] * expert - fall < -least_gain
                for i in range(steps):
                    old, new = pair_assessor[step_old[i]], pair_assessor[step_pair[i]]
                    within = within and load[old] >= least_load[old] and load[new] <= most_load[new]
                if gains and within:
                    for i in range(steps):  # only the assessor of the first step can have been left without any
                        old = pair_assessor[step_old[i]]
                        start = n_objects + old if load[old] > 0 else slot_object[step_slot[0]]
                        within = within and joined(start, slot_object[step_slot[i]])
                if gains and within:
                    change[0] += 1
                    change[1] += first
                    change[2] += second
                    change[3] += expert
                    break
                for i in range(steps - 1, -1, -1):
                    put(step_slot[i], step_old[i])
