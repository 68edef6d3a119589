"""Small panels for tests: builders, hypothesis strategies and answers computed without evenhand's own algebra."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from click.testing import Result
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenhand.models.fit import Fit
from evenhand.models.medians import Medians
from evenhand.models.refined import Refined
from evenhand.panel.collector import Collector
from evenhand.panel.column import Table, factorise
from evenhand.panel.entries import Entries
from evenhand.panel.gauge import Affine, Anchor, Gauge, Reference
from evenhand.panel.layout import Roles
from evenhand.panel.panel import Panel
from evenhand.panel.rules import ReadOptions

Floats = NDArray[np.float64]


def refined_of(fit: Fit) -> Any:
    """Return the refined model that a fit was made by."""
    assert isinstance(fit.model, Refined)
    return fit.model


def medians_of(fit: Fit) -> Medians:
    """Return the medians that a fit was made by."""
    assert isinstance(fit.model, Medians)
    return fit.model


def random_panel(
    seed: int,
    n_objects: int = 8,
    n_assessors: int = 5,
    extra: int = 12,
    *,
    decades: float = 1.0,
    offset: float = 60.0,
) -> Panel:
    """Return a connected panel: a random tree, further assessments without repeats, log-uniform confidences."""
    generator = np.random.default_rng(seed)
    pairs = {(0, 0)}
    seen = [[0], [0]]
    rest = [(0, i) for i in range(1, n_objects)] + [(1, i) for i in range(1, n_assessors)]
    for side, index in (rest[i] for i in generator.permutation(len(rest))):
        other = int(generator.choice(seen[1 - side]))
        pairs.add((index, other) if side == 0 else (other, index))
        seen[side].append(index)
    free = [(o, a) for o in range(n_objects) for a in range(n_assessors) if (o, a) not in pairs]
    pairs |= {free[i] for i in generator.permutation(len(free))[:extra]}
    ordered = [sorted(pairs)[i] for i in generator.permutation(len(pairs))]
    score = offset + generator.normal(0.0, 10.0, len(ordered))
    confidence = 10.0 ** generator.uniform(-decades / 2, decades / 2, len(ordered))
    return Panel.from_arrays([o for o, _ in ordered], [a for _, a in ordered], score, confidence)


def panel_of(edges: Sequence[tuple[int, int]], score: Sequence[float] | None = None) -> Panel:
    """Return a panel of unit confidences from (object, assessor) pairs."""
    scores = np.arange(len(edges), dtype=np.float64) if score is None else score
    return Panel.from_arrays([o for o, _ in edges], [a for _, a in edges], scores)


def drawn_pairs(
    generator: np.random.Generator, n_objects: int, n_assessors: int, each: int
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return objects and assessors of assessments: every object by the same number of assessors, drawn at random."""
    assessors = [generator.permutation(n_assessors)[:each] for _ in range(n_objects)]
    return np.repeat(np.arange(n_objects), each), np.concatenate(assessors)


def noisy_panel(seed: int, n_objects: int, n_assessors: int) -> Panel:
    """Return a panel whose two scores an object are so noisy that shrinking helps and hardly anybody is in."""
    generator = np.random.default_rng(seed)
    objects, assessors = drawn_pairs(generator, n_objects, n_assessors, 2)
    true = generator.normal(60, 5, n_objects)[objects] + generator.normal(0, 10, n_assessors)[assessors]
    return Panel.from_arrays(objects, assessors, true + generator.normal(0, 8, objects.size))


def side_by_side(*panels: Panel) -> Panel:
    """Return panels as groups of one that share neither object nor assessor, with unit confidences."""
    objects, assessors = (
        np.concatenate([index + before for index, before in zip(indices, np.cumsum([0, *sizes]), strict=False)])
        for indices, sizes in (
            ([one.object_index for one in panels], [one.n_objects for one in panels]),
            ([one.assessor_index for one in panels], [one.n_assessors for one in panels]),
        )
    )
    return Panel.from_arrays(objects, assessors, np.concatenate([one.score for one in panels]))


@st.composite
def connected_panels(
    draw: st.DrawFn,
    *,
    most: int = 6,
    repeats: bool = False,
    least_objects: int = 1,
    least_assessors: int = 1,
    whole: bool = False,
) -> Panel:
    """Draw a connected panel with confidences between 1/16 and 16."""
    n_objects = draw(st.integers(least_objects, most))
    n_assessors = draw(st.integers(least_assessors, most))
    edges = [(0, 0)]
    counts = [1, 1]
    while counts != [n_objects, n_assessors]:
        grows = [side for side in (0, 1) if counts[side] < (n_objects, n_assessors)[side]]
        side = draw(st.sampled_from(grows))
        other = draw(st.integers(0, counts[1 - side] - 1))
        edges.append((counts[side], other) if side == 0 else (other, counts[side]))
        counts[side] += 1
    pair = st.tuples(st.integers(0, n_objects - 1), st.integers(0, n_assessors - 1))
    edges += draw(st.lists(pair, max_size=2 * most))
    if not repeats:
        edges = list(dict.fromkeys(edges))
    scores = draw(_scores(len(edges), whole=whole))
    powers = draw(st.lists(st.integers(-8, 8), min_size=len(edges), max_size=len(edges)))
    return Panel.from_arrays(
        [o for o, _ in edges], [a for _, a in edges], scores, [2.0 ** (power / 2) for power in powers]
    )


def _scores(count: int, *, whole: bool = False) -> st.SearchStrategy[list[float]]:
    step = st.integers(0, 100).map(float) if whole else st.integers(-100_000, 100_000).map(lambda n: n / 1000)
    return st.lists(step, min_size=count, max_size=count)


@st.composite
def edge_lists(draw: st.DrawFn, *, most: int = 6) -> list[tuple[int, int]]:
    """Draw any bipartite multigraph, connected or not, as pairs (object, assessor) without gaps in the codes."""
    pairs = draw(st.lists(st.tuples(st.integers(0, most), st.integers(0, most)), min_size=1, max_size=2 * most))
    objects = sorted({o for o, _ in pairs})
    assessors = sorted({a for _, a in pairs})
    return [(objects.index(o), assessors.index(a)) for o, a in pairs]


def gauges_for(panel: Panel) -> list[Gauge]:
    """Return one gauge of every kind for a panel."""
    beta = np.linspace(1.0, 2.0, panel.n_assessors)
    return [
        "weighted",
        "zero_sum",
        Reference(55.5),
        Affine(beta, 3.25),
        Affine({panel.assessors[-1]: 2.0}, -1.5),
        Anchor(assessor=panel.assessors[0], bias=1.25),
        Anchor(values={panel.objects[0]: 71.0}),
        Anchor(values={panel.objects[0]: 71.0, panel.objects[-1]: 52.0}),
    ]


def gauge_equation(gauge: Gauge, panel: Panel, weight: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
    """Return weights of values, weights of biases and the constant of a gauge, written down from App. B."""
    zero = mpmath.mpf(0)
    of_values, of_biases, constant = [zero] * panel.n_objects, [zero] * panel.n_assessors, zero
    totals_o, totals_a = list(of_values), list(of_biases)
    for o, a, c in zip(panel.object_index.tolist(), panel.assessor_index.tolist(), weight, strict=True):
        totals_o[o] += c
        totals_a[a] += c
    match gauge:
        case "weighted":
            of_biases = totals_a
        case "zero_sum":
            of_biases = [mpmath.mpf(1)] * panel.n_assessors
        case Reference(value):
            of_values, of_biases = totals_o, [-total for total in totals_a]
            constant = mpmath.mpf(value) * sum(totals_o, zero)
        case Affine(beta, gamma):
            listed = [beta.get(label, 0.0) for label in panel.assessors] if hasattr(beta, "get") else list(beta)
            of_biases, constant = [mpmath.mpf(float(b)) for b in listed], mpmath.mpf(gamma)
        case Anchor(assessor=None, values=known):
            for label, value in known.items():
                of_values[list(panel.objects).index(label)] = mpmath.mpf(1)
                constant += mpmath.mpf(value)
        case Anchor(assessor=label, bias=bias):
            of_biases[list(panel.assessors).index(str(label))] = mpmath.mpf(1)
            constant = mpmath.mpf(bias)
    return of_values, of_biases, constant


@dataclass(frozen=True)
class Exact:
    """A least-squares fit to many digits, with one assessor's bias (or, in averages, every bias) at zero."""

    panel: Panel
    weight: list[Any]
    values: list[Any]
    biases: list[Any]
    digits: int

    def in_gauge(self, gauge: Gauge) -> tuple[Floats, Floats]:
        """Return values and biases in a gauge, rounded to doubles at the very end."""
        with mpmath.workdps(self.digits):
            of_values, of_biases, constant = gauge_equation(gauge, self.panel, self.weight)
            left = mpmath.fdot(of_values, self.values) + mpmath.fdot(of_biases, self.biases)
            shift = (constant - left) / (mpmath.fsum(of_values) - mpmath.fsum(of_biases))
            return doubles([v + shift for v in self.values]), doubles([b - shift for b in self.biases])

    def residual(self) -> float:
        """Return the weighted sum of squared residuals."""
        panel = self.panel
        codes = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
        with mpmath.workdps(self.digits):
            terms = [
                c * (mpmath.mpf(s) - self.values[o] - self.biases[a]) ** 2
                for (o, a), s, c in zip(codes, panel.score.tolist(), self.weight, strict=True)
            ]
            return float(mpmath.fsum(terms))


def doubles(numbers: Sequence[Any]) -> Floats:
    """Return numbers of many digits rounded to doubles."""
    return np.array([float(number) for number in numbers])


def exact_fit(panel: Panel, *, equal: bool = False, calibrated: bool = True, digits: int = 50) -> Exact:
    """Return values and biases by dense elimination in ``digits`` decimal digits, the first bias held at zero."""
    with mpmath.workdps(digits):
        mpf = mpmath.mpf
        weight = [mpf(1) if equal else mpf(c) for c in panel.precision.tolist()]
        rows = list(
            zip(panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), weight, strict=True)
        )
        n_objects, n_assessors = panel.n_objects, panel.n_assessors
        total, rhs = [mpf(0)] * n_objects, [mpf(0)] * n_objects
        for o, _, s, c in rows:
            total[o] += c
            rhs[o] += c * mpf(s)
        biases = [mpf(0)] * n_assessors
        if calibrated:
            links = [[mpf(0)] * n_assessors for _ in range(n_objects)]
            schur = mpmath.zeros(n_assessors)
            right = mpmath.zeros(n_assessors, 1)
            for o, a, s, c in rows:
                links[o][a] += c
                schur[a, a] += c
                right[a] += c * mpf(s)
            for o, row in enumerate(links):
                used = [a for a in range(n_assessors) if row[a]]
                for a in used:
                    right[a] -= row[a] * rhs[o] / total[o]
                    for b in used:
                        schur[a, b] -= row[a] * row[b] / total[o]
            if n_assessors > 1:
                biases[1:] = list(mpmath.lu_solve(schur[1:, 1:], right[1:, 0]))
            for o, a, _, c in rows:
                rhs[o] -= c * biases[a]
        return Exact(panel, weight, [r / t for r, t in zip(rhs, total, strict=True)], biases, digits)


def dense_covariance(panel: Panel, gauge: Gauge, weight: Floats | None = None) -> Floats:
    """Return P L^+ P^T of MODEL.md sec. 4 from a dense pseudo-inverse: rows for values, then for biases."""
    used = panel.precision if weight is None else weight
    n_objects, size = panel.n_objects, panel.n_objects + panel.n_assessors
    design = np.zeros((panel.n_assessments, size))
    design[np.arange(panel.n_assessments), panel.object_index] = 1.0
    design[np.arange(panel.n_assessments), panel.assessor_index.astype(np.int64) + n_objects] = 1.0
    inverse = np.linalg.pinv(design.T @ (used[:, None] * design), hermitian=True, rcond=1e-13)
    of_values, of_biases, _ = gauge_equation(gauge, panel, used.tolist())
    gamma = doubles([*of_values, *of_biases])
    null = np.concatenate([np.ones(n_objects), -np.ones(panel.n_assessors)])
    project = np.eye(size) - np.outer(null, gamma) / (gamma @ null)
    return np.asarray(project @ inverse @ project.T)


def worst(found: Floats, wanted: Floats, scale: float) -> float:
    """Return the largest difference, as a part of a scale."""
    error = float(np.abs(found - wanted).max())
    return error / scale if error else 0.0


def facts(panel: Panel) -> tuple[Any, ...]:
    """Return all that a panel says, to compare two of them."""
    return (
        tuple(panel.objects),
        tuple(panel.assessors),
        panel.object_index.tolist(),
        panel.assessor_index.tolist(),
        panel.score.tolist(),
        panel.precision.tolist(),
        panel.confidence,
        panel.factor,
        panel.notes,
    )


def check_columns(
    columns: Sequence[Sequence[Any]],
    names: Sequence[str],
    roles: Roles,
    row_numbers: Sequence[int],
    *,
    covariates: Sequence[str] = (),
    decimal_comma: bool = False,
    is_wide: bool = False,
    **options: Any,
) -> Entries:
    """Return what the rules make of the used columns of a table, each given cell by cell."""
    made = tuple(factorise(name, cells) for name, cells in zip(names, columns, strict=True))
    collector = Collector(roles, ReadOptions(**options), covariates)
    numbers = np.array(row_numbers, dtype=np.int64)
    collector.add(Table(tuple(names), made, numbers, "the table", decimal_comma, headers=made[1] if is_wide else None))
    return collector.entries()


def errors_of(result: Result) -> str:
    """Return what a command said on standard error but for how it read the file."""
    return "".join(line for line in result.stderr.splitlines(keepends=True) if not line.startswith("Read as: "))
