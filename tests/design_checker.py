"""Rules of designs once more, apart from the package: what a list of pairs breaks, and what CP-SAT says of a problem.

Nothing here uses the package. A problem is what a user would say, in labels.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
from ortools.sat.python import cp_model

Pair = tuple[str, str]
"""Assessor, object."""


@dataclass(frozen=True)
class Problem:
    """What is asked of a design, in labels."""

    objects: Sequence[str]
    assessors: Sequence[str]
    per_object: Mapping[str, int]
    min_load: Mapping[str, int] = field(default_factory=dict)
    max_load: Mapping[str, int] = field(default_factory=dict)
    conflicts: frozenset[Pair] = frozenset()
    fixed: frozenset[Pair] = frozenset()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    require: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    limit: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
    apart: frozenset[Pair] = frozenset()
    linked: frozenset[Pair] = frozenset()
    authors: frozenset[Pair] = frozenset()

    def table(self) -> dict[str, list[Any]]:
        """Return the assessors as columns."""
        found: dict[str, list[Any]] = {"assessor": list(self.assessors)}
        for name, cells in self.columns.items():
            found[name] = [cells.get(one) for one in self.assessors]
        return found

    def options(self) -> dict[str, Any]:
        """Return the options of ``evenhand.assign``."""
        names = ("per_object", "min_load", "max_load", "require", "limit")
        found = {name: dict(getattr(self, name)) or None for name in names}
        return found | {
            name: sorted(getattr(self, name)) for name in ("conflicts", "fixed", "apart", "linked", "authors")
        }


def broken(problem: Problem, pairs: Iterable[Pair]) -> list[str]:
    """Return every rule that a design breaks, in words; nothing where it keeps all of them and is connected."""
    pairs = list(pairs)
    chosen, wrong = set(pairs), []
    readers = {o: sorted(a for a, p in chosen if p == o) for o in problem.objects}
    loads = Counter(a for a, _ in chosen)
    if len(pairs) != len(chosen):
        wrong.append("a pair twice")
    for o in problem.objects:
        if len(readers[o]) != problem.per_object[o]:
            wrong.append(f"{o} is read {len(readers[o])} times")
        for column, wanted in problem.require.items():
            for value, least in wanted.items():
                if sum(problem.columns[column].get(a) == value for a in readers[o]) < least:
                    wrong.append(f"{o} lacks {value}")
        for column, most in problem.limit.items():
            count = Counter(problem.columns[column][a] for a in readers[o] if a in problem.columns[column])
            for value, number in count.items():
                bound = most if isinstance(most, int) else most.get(value, 10**9)
                if number > bound:
                    wrong.append(f"{o} has {number} of {value}")
    wrong += [
        f"{a} reads {loads[a]}"
        for a in problem.assessors
        if not problem.min_load.get(a, 0) <= loads[a] <= problem.max_load.get(a, 10**9)
    ]
    wrong += [f"{pair} in conflict" for pair in chosen & (problem.conflicts | problem.authors)]
    wrong += [f"{pair} not fixed" for pair in problem.fixed - chosen]
    wrong += [
        f"{a} and {b} together at {o}" for a, b in problem.apart for o in problem.objects if {a, b} <= {*readers[o]}
    ]
    wrong += [f"{o} and {p} without a common reader" for o, p in problem.linked if not {*readers[o]} & {*readers[p]}]
    for (a, o), (b, p) in itertools.combinations(sorted(problem.authors), 2):
        if a != b and (a, p) in chosen and (b, o) in chosen:
            wrong.append(f"{a} and {b} review each other")
    graph = nx.Graph((("a", a), ("o", o)) for a, o in chosen)
    graph.add_nodes_from(("o", o) for o in problem.objects)
    if not nx.is_connected(graph):
        wrong.append("not connected")
    return wrong


def all_rules(problem: Problem) -> list[tuple[Any, ...]]:
    """Return every rule of a problem on its own, as causes name them."""
    rules: list[tuple[Any, ...]] = [("per_object", o) for o in problem.objects]
    rules += [("min_load", a) for a in problem.min_load]
    rules += [("max_load", a) for a in problem.max_load]
    rules += [("fixed", *pair) for pair in problem.fixed]
    rules += [("linked", *pair) for pair in problem.linked]
    if problem.conflicts or problem.authors:
        rules.append(("conflicts",))
    rules += [("limit", pairs, least, most) for pairs, least, most in all_limits(problem)]
    return [*rules, ("connected",)]


def all_limits(problem: Problem) -> list[tuple[frozenset[Pair], int, int]]:
    """Return sets of pairs with the least and the most of each that may be chosen."""
    found: list[tuple[frozenset[Pair], int, int]] = []
    many = len(problem.assessors)
    for o in problem.objects:
        for column, wanted in problem.require.items():
            cells = problem.columns[column]
            for value, least in wanted.items():
                found.append((frozenset((a, o) for a in problem.assessors if cells.get(a) == value), least, many))
        for column, most in problem.limit.items():
            cells = problem.columns[column]
            each = dict.fromkeys(cells.values(), most) if isinstance(most, int) else most
            for value, bound in each.items():
                found.append((frozenset((a, o) for a in problem.assessors if cells.get(a) == value), 0, bound))
        found += [(frozenset([(a, o), (b, o)]), 0, 1) for a, b in problem.apart]
    for (a, o), (b, p) in itertools.permutations(problem.authors, 2):
        if a != b and (a, p) < (b, o):
            found.append((frozenset([(a, p), (b, o)]), 0, 1))
    return found


def named_rules(problem: Problem, cause: Iterable[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """Return the rules that a cause names, those of one entry together; a limit must be one of the problem's."""
    found = []
    for kind, *rest in cause:
        if kind == "limit":
            _, pairs = rest
            # where a set has a least and a most, one entry names both
            same = [("limit", *one) for one in all_limits(problem) if one[0] == frozenset(pairs)]
            assert same, f"there is no limit on {pairs}"
            found.append(same)
        elif not rest and kind in ("per_object", "min_load", "max_load", "fixed"):
            found.append([one for one in all_rules(problem) if one[0] == kind])
        else:
            rules = {(one[0], frozenset(one[1:])) for one in all_rules(problem) if one[0] != "limit"}
            assert (kind, frozenset(rest)) in rules, f"there is no rule {kind} {rest}"
            found.append([(kind, *rest)])
    return found


def is_possible(problem: Problem, rules: Iterable[tuple[Any, ...]], seconds: float = 30) -> bool | None:
    """Say whether CP-SAT finds pairs that keep some rules; None where it does not know."""
    model, _ = _model(problem, list(rules))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    status = solver.solve(model)
    return None if status == cp_model.UNKNOWN else status in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def dearest(problem: Problem, worth: Mapping[Pair, float], seconds: float = 30) -> float | None:
    """Return the largest sum of worth of a design that keeps all rules; None where CP-SAT does not finish."""
    model, chosen = _model(problem, all_rules(problem))
    model.maximize(sum(round(1e6 * worth.get(pair, 0.0)) * one for pair, one in chosen.items()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    return solver.objective_value / 1e6 if solver.solve(model) == cp_model.OPTIMAL else None


def _model(problem: Problem, rules: list[tuple[Any, ...]]) -> tuple[cp_model.CpModel, dict[Pair, Any]]:
    model = cp_model.CpModel()
    x = {(a, o): model.new_bool_var(f"{a} {o}") for a in problem.assessors for o in problem.objects}
    for kind, *rest in rules:
        if kind == "per_object":
            model.add(sum(x[a, rest[0]] for a in problem.assessors) == problem.per_object[rest[0]])
        elif kind == "min_load":
            model.add(sum(x[rest[0], o] for o in problem.objects) >= problem.min_load[rest[0]])
        elif kind == "max_load":
            model.add(sum(x[rest[0], o] for o in problem.objects) <= problem.max_load[rest[0]])
        elif kind == "fixed":
            model.add(x[rest[0], rest[1]] == 1)
        elif kind == "conflicts":
            for pair in problem.conflicts | problem.authors:
                model.add(x[pair] == 0)
        elif kind == "limit":
            pairs, least, most = rest
            model.add_linear_constraint(sum(x[pair] for pair in pairs), least, most)
        elif kind == "linked":
            both = []
            for a in problem.assessors:
                one = model.new_bool_var("")
                model.add_implication(one, x[a, rest[0]])
                model.add_implication(one, x[a, rest[1]])
                both.append(one)
            model.add_bool_or(both)
        elif kind == "connected":
            _connect(problem, model, x)
        else:
            raise AssertionError(kind)
    return model, x


def _connect(problem: Problem, model: cp_model.CpModel, x: dict[Pair, Any]) -> None:
    """Ask that all objects and those who read anything are connected: each but the first has a parent nearer to it."""
    nodes = [("o", o) for o in problem.objects] + [("a", a) for a in problem.assessors]
    depth = {node: model.new_int_var(0, len(nodes), "") for node in nodes}
    parents: dict[tuple[str, str], list[Any]] = {node: [] for node in nodes}
    for (a, o), one in x.items():
        for child, parent in ((("a", a), ("o", o)), (("o", o), ("a", a))):
            arc = model.new_bool_var("")
            model.add_implication(arc, one)
            model.add(depth[child] == depth[parent] + 1).only_enforce_if(arc)
            parents[child].append(arc)
    root = ("o", problem.objects[0])
    model.add(depth[root] == 0)
    for node in nodes:
        if node == root:
            continue
        if node[0] == "o":
            model.add_exactly_one(parents[node])
        else:
            used = model.new_bool_var("")
            model.add_max_equality(used, [x[node[1], o] for o in problem.objects])
            model.add(sum(parents[node]) == used)


def drawn(seed: int, *, large: bool = False) -> Problem:
    """Return a random problem with several kinds of rules, feasible or not."""
    random = np.random.default_rng(seed)
    n_objects = int(random.integers(8, 14) if large else random.integers(2, 8))
    n_assessors = int(random.integers(5, 9) if large else random.integers(2, 7))
    objects, assessors = [f"o{at}" for at in range(n_objects)], [f"a{at}" for at in range(n_assessors)]
    few, often = random.random() < 0.4, 0.5

    def maybe() -> bool:
        return bool(random.random() < often)

    def some(members: Sequence[str], others: Sequence[str], share: float) -> frozenset[Pair]:
        return frozenset((a, o) for a in members for o in others if random.random() < share)

    readings = int(random.integers(1 if few else 2, min(4, n_assessors) + 1))
    per_object = {o: max(1, readings - int(maybe() and maybe())) for o in objects}
    even = sum(per_object.values()) / n_assessors
    max_load = {a: int(np.ceil(even + random.integers(-1, 3))) for a in assessors if maybe()} if maybe() else {}
    min_load = {a: max(int(even) - int(random.integers(0, 3)), 0) for a in assessors if maybe()} if maybe() else {}
    conflicts = some(assessors, objects, 0.15) if maybe() else frozenset()
    authors = some(assessors, objects, 0.12) if maybe() else frozenset()
    fixed = some(assessors, objects, 0.08) - conflicts - authors if maybe() else frozenset()
    columns = {
        "role": {a: str(random.choice(["senior", "junior", "student"])) for a in assessors},
        "institution": {a: f"i{random.integers(max(2, n_assessors // 2))}" for a in assessors if random.random() < 0.9},
    }
    roles, places = set(columns["role"].values()), set(columns["institution"].values())
    require = {"role": {sorted(roles)[0]: 1}} if maybe() else {}
    limit: dict[str, Any] = {"institution": int(random.integers(1, 3))} if places and maybe() else {}
    if maybe():
        limit["role"] = {sorted(roles)[-1]: 1}
    two = [pair for pair in itertools.combinations(assessors, 2) if random.random() < 0.15]
    both = [pair for pair in itertools.combinations(objects, 2) if random.random() < 0.1]
    return Problem(
        objects,
        assessors,
        per_object,
        min_load,
        max_load,
        conflicts,
        fixed,
        columns,
        require,
        limit,
        frozenset(two) if maybe() else frozenset(),
        frozenset(both) if maybe() else frozenset(),
        authors,
    )
