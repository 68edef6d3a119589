"""A feasible start: who reads what at least cost, as a flow from assessors to objects."""

from __future__ import annotations

import importlib.util
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from evenhand.compiled import Floats
from evenhand.design.problem import Codes, Flags, Problem

STEPS: Final = 1_000_000
"""Costs are whole numbers up to this, as flows need them."""


def least_cost(problem: Problem, cost: Floats) -> Flags | None:
    """Return the design of least total cost that keeps all rules; None where there is none.

    Work flows from a source to assessors, between their fewest and most assessments, on to objects, one to a pair,
    and between the fewest and most assessments of each object to a sink. The part of a flow that must be there has a
    cost so low that it always pays.

    Parameters
    ----------
    problem
        What is asked.
    cost
        What each pair costs, from 0 to 1 (K).
    """
    fixed = problem.fixed
    loads, readings = problem.loads(fixed), problem.readings(fixed)
    if (loads > problem.most_load).any() or (readings > problem.most).any():
        return None
    amount = problem.total - int(fixed.sum())
    open_ = np.flatnonzero(~fixed)
    must_load, may_load = np.maximum(problem.least_load - loads, 0), problem.most_load - loads
    must_read, may_read = np.maximum(problem.least - readings, 0), problem.most - readings
    if amount < 0 or must_load.sum() > amount or must_read.sum() > amount:
        return None
    if (must_load > may_load).any() or (must_read > may_read).any():
        return None
    if amount == 0:
        return fixed.copy()
    source = problem.n_objects + problem.n_assessors
    sink, node = source + 1, problem.n_objects + np.arange(problem.n_assessors)
    must = -(2 * STEPS + 1) * 1_000
    arcs = [
        (np.full(node.size, source), node, must_load, np.full(node.size, must)),
        (np.full(node.size, source), node, may_load - must_load, np.zeros(node.size, dtype=np.int64)),
        (np.arange(problem.n_objects), np.full(problem.n_objects, sink), must_read, np.full(problem.n_objects, must)),
        (
            np.arange(problem.n_objects),
            np.full(problem.n_objects, sink),
            may_read - must_read,
            np.zeros(problem.n_objects, dtype=np.int64),
        ),
        (
            problem.assessor[open_] + problem.n_objects,
            problem.object[open_],
            np.ones(open_.size, dtype=np.int64),
            np.rint(cost[open_] * STEPS).astype(np.int64),
        ),
    ]
    tail, head, capacity, price = (np.concatenate(part).astype(np.int64) for part in zip(*arcs, strict=True))
    solve = _by_ortools if has_ortools() else _by_linear_program
    flow = solve(tail, head, capacity, price, source, sink, amount)
    if flow is None:
        return None
    chosen = fixed.copy()
    chosen[open_] = flow[-open_.size :] > 0 if open_.size else False
    return None if problem.broken(chosen) else chosen


def has_ortools() -> bool:
    """Whether OR-Tools can be had; otherwise HiGHS solves the same problem, more slowly."""
    return importlib.util.find_spec("ortools") is not None


def _by_ortools(
    tail: Codes, head: Codes, capacity: Codes, price: Codes, source: int, sink: int, amount: int
) -> Codes | None:
    from ortools.graph.python import min_cost_flow

    network = min_cost_flow.SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, price)
    network.set_node_supply(source, amount)
    network.set_node_supply(sink, -amount)
    if network.solve() != network.OPTIMAL:
        return None
    return np.asarray(network.flows(arcs), dtype=np.int64)


def _by_linear_program(
    tail: Codes, head: Codes, capacity: Codes, price: Codes, source: int, sink: int, amount: int
) -> Codes | None:
    from scipy.optimize import linprog

    count, arcs = max(source, sink) + 1, np.arange(tail.size)
    balance = sp.coo_array(
        (np.repeat([1.0, -1.0], tail.size), (np.concatenate([tail, head]), np.concatenate([arcs, arcs]))),
        shape=(count, tail.size),
    ).tocsr()
    supply = np.zeros(count)
    supply[source], supply[sink] = amount, -amount
    # corners of flow polytopes are whole numbers, and the simplex method ends in a corner
    bounds: Any = np.stack([0 * capacity, capacity], axis=1)
    matrix: Any = balance
    found = linprog(price / STEPS, A_eq=matrix, b_eq=supply, bounds=bounds, method="highs-ds")
    return None if found.x is None or found.status != 0 else np.rint(found.x).astype(np.int64)
