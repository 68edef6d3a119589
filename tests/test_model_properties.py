"""What every model owes to whoever reads a ranking: marks that rise never harm, units and names do not matter.

Variances of the models are held where a mark rises: with variances that the scores tell, a value can fall because a
mark that is now outlying makes all scores count for less.

Raising a score cannot lower its object's value where the score pulls the harder the higher it is, and the less the
higher what is expected of it (noise of log-concave density): values and biases are then potentials of a network of
resistors, and no potential rises by more than that of the object into which a current is sent. That goes for all
models but these:

- Student's noise gives up on far scores by design.
- Scales and noise factors of assessors, and coefficients of covariates, are held, as variances are. A coefficient can
  turn a value around: with scores under conditions 5, 6 and 7, the higher the last, the less is expected under 0.
- On a bounded or logarithmic scale a score pulls little where the expected score is close to an end, so that a score
  which others contradict there is given up too. On panels that the model can have made, its object's value and rank
  never fall; but another object may gain more than it, as it does in the posterior by integration over everything.
- Medians are not unique: the least and the greatest of them never fall.
- Z-scores are in units of the judge's own spread, which grows with a high score: the average z-score of its object
  never falls, but points and ranks, which the spread of all scores and other objects enter, may.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import evenhand as eh
from evenhand.answers.heldout import held_out_predictions
from evenhand.errors import InputError
from evenhand.models import reweighting
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit
from evenhand.models.ordinal import Laplace, Ordinal
from evenhand.models.refined import Refinements, refine
from evenhand.models.reweighting import settle
from evenhand.models.setting import Setting, Work
from evenhand.models.standardised import standardise
from evenhand.panel.panel import Panel
from evenhand.solve.connectivity import connectivity
from panels import connected_panels, refined_of

Floats = NDArray[np.float64]

held = settings(max_examples=25, derandomize=True, deadline=None)
"""Each property is tried on the same panels in every run."""

SDS: dict[str, Any] = {"value_sd": 12.0, "bias_sd": 6.0}
SHRUNK: dict[str, Any] = {"shrink": True, **SDS}


@dataclass(frozen=True)
class Fixed(eh.Logarithm):
    """Logarithms in a unit that does not depend on the scores."""

    def fitted_to(self, panel: Panel) -> "Fixed":
        """Return the map itself."""
        return self


def by(**assumed: Any) -> Callable[..., Floats]:
    """Return how values come of a panel, with noise as declared and all else given, so that nothing is estimated."""
    chosen = Refinements(**assumed)

    def values_of(panel: Panel) -> Floats:
        return refine(panel, chosen, noise="declared").values.estimate

    return values_of


def of_method(method: Callable[[Panel], Fit]) -> Callable[[Panel], Floats]:
    """Return how values come of a panel by one of the four methods."""
    return lambda panel: method(panel).values.estimate


def held_factors(panel: Panel, *, scales: bool) -> Floats:
    """Return values where the scales of assessors, or their noise factors, are given."""
    spread = np.linspace(-0.5, 0.5, panel.n_assessors)
    none = np.zeros(panel.n_assessors)
    work = Work(panel, connectivity(panel))
    vars(work)["centre"] = 50.0  # about which scales stretch
    setting = Setting(2.0, 0.5, scale_ratio=0.1 if scales else None, strength=None if scales else 8.0, w=1.0)
    each = np.zeros(panel.n_assessments)
    state = reweighting._State(spread if scales else none, np.exp(none if scales else spread), each, each, each)
    precision = panel.precision / state.noise_factor[panel.assessor_index]
    return reweighting._fit(work, setting, state, precision, panel.score).values


LEVELS = np.array([0.0, 20.0, 40.0, 60.0, 80.0, 100.0])
"""Categories, for models that see nothing else."""


def ordinal(link: Any) -> Callable[[Panel], Floats]:
    """Return how expected scores come of a panel of categories, for given thresholds and variances."""

    def values_of(panel: Panel) -> Floats:
        code = np.searchsorted(LEVELS, panel.score)
        likelihood = Ordinal(link, LEVELS, np.zeros(5), code, 20.0)
        work = Work(replace(panel, score=np.zeros(panel.n_assessments)), connectivity(panel))
        laplace = Laplace(work, likelihood, panel.precision / np.exp(np.log(panel.precision).mean()))
        here = laplace.at(np.array([-1.5, -0.2, -0.4, -0.3, 0.0, 0.1, -0.4]))
        return here.likelihood.back(here.values)

    return values_of


LEAST_SQUARES: dict[str, Callable[[Panel], Floats]] = {
    **{name: of_method(method) for name, method in METHODS.items()},
    "shrunk": by(**SHRUNK),
    "shrunk biases": by(shrink="biases", bias_sd=6.0),
    "no biases": by(shrink=True, value_sd=12.0, bias_sd=0.0),
    "ml": by(**SHRUNK, likelihood="ml"),
    "power": lambda panel: settle(Work(panel, connectivity(panel)), Setting(2.0, 0.5, power=0.5, w=1.0)).values,
    "held scales": lambda panel: held_factors(panel, scales=True),
    "held noise factors": lambda panel: held_factors(panel, scales=False),
}
CONCAVE: dict[str, Callable[[Panel], Floats]] = {
    "huber": by(**SHRUNK, tails="huber"),
    "rounded": by(**SHRUNK, step=1.0),
    "rounded coarsely": by(**SHRUNK, step=20.0),
    "probit": ordinal("probit"),
    "logit": ordinal("logit"),
}


def raised(values_of: Callable[[Panel], Floats], panel: Panel, row: int, by_points: float) -> tuple[Floats, int]:
    """Return by how much each value moves where one score is raised, and whose score that was."""
    score = panel.score.copy()
    score[row] += by_points
    return values_of(replace(panel, score=score)) - values_of(panel), int(panel.object_index[row])


@st.composite
def panels(draw: st.DrawFn, *, step: float = 1.0, high: float = 100.0) -> tuple[Panel, int, float]:
    """Return a panel of any scores from 0, with uncertainties from 2 to 32 points; a row, and by how much it rises."""
    panel = draw(connected_panels(least_objects=3, least_assessors=2, whole=True))
    score = np.minimum(np.round(panel.score / step) * step, high)
    panel = replace(panel, score=score, precision=panel.precision / 64)
    row = draw(st.integers(0, panel.n_assessments - 1))
    return panel, row, step * draw(st.integers(1, int(40 / step) + 1))


@pytest.mark.parametrize("name", LEAST_SQUARES)
@held
@given(panels())
def test_least_squares_never_lower_an_object_for_a_mark_that_rises(name: str, drawn: tuple[Panel, int, float]) -> None:
    moved, own = raised(LEAST_SQUARES[name], *drawn)
    assert moved[own] >= -1e-9
    assert (moved[own] - moved >= -1e-9).all()  # so nobody overtakes it


@pytest.mark.parametrize("name", CONCAVE)
@held
@given(data=st.data())
def test_noise_of_log_concave_density_never_lowers_an_object_for_a_mark_that_rises(
    name: str, data: st.DataObject
) -> None:
    coarse = name not in ("huber", "rounded")
    panel, row, more = data.draw(panels(step=20.0 if coarse else 1.0))
    if name in ("probit", "logit"):
        more = min(more, 100.0 - panel.score[row])
    moved, own = raised(CONCAVE[name], panel, row, more)
    assert moved[own] >= -1e-4  # fits come to rest within 1e-7 of the spread of the scores
    assert (moved[own] - moved >= -1e-4).all()


MAPS: dict[str, tuple[Any, dict[str, Any]]] = {
    "logit": (eh.Bounded(0.0, 100.0), {}),
    "rational": (eh.Bounded(0.0, 100.0, "rational"), {}),
    "log": (Fixed(50.0), {}),
    "logit and huber": (eh.Bounded(0.0, 100.0), {"tails": "huber"}),
}


def from_model(seed: int, scores: Any) -> Panel:
    """Return a panel as a bounded or logarithmic model makes it, with many marks at the ends, in steps of 5."""
    generator = np.random.default_rng(seed)
    n_objects, n_assessors = int(generator.integers(3, 9)), int(generator.integers(2, 6))
    objects = np.repeat(np.arange(n_objects), 2)
    assessors = (np.repeat(np.arange(n_objects), 2) + np.tile([0, 1], n_objects)) % n_assessors
    used = np.unique(assessors, return_inverse=True)[1]
    sigma = 10.0 ** generator.uniform(0.4, 1.4, objects.size)
    u = generator.normal(60.0, 40.0, n_objects)[objects] + generator.normal(0.0, 15.0, n_assessors)[assessors]
    noisy = scores.back(u) + sigma * generator.normal(size=u.size)
    low, high = scores.ends
    score = np.clip(np.round(noisy / 5.0) * 5.0, max(low, 0.0 if np.isfinite(high) else 5.0), high)
    return Panel.from_arrays(objects, used, score, sigma**-2)


@pytest.mark.parametrize("name", MAPS)
@held
@given(seed=st.integers(0, 2**31), which=st.integers(0, 100), share=st.floats(0.0, 1.0))
def test_scales_with_ends_never_lower_an_object_for_a_mark_that_rises(
    name: str, seed: int, which: int, share: float
) -> None:
    scores, further = MAPS[name]
    panel = from_model(seed, scores)
    row, top = which % panel.n_assessments, 100.0 if np.isfinite(scores.ends[1]) else 300.0
    more = 5.0 * round(max(1.0, share * (top - panel.score[row]) / 5.0))
    score = panel.score.copy()
    score[row] = max(score[row], min(score[row] + more, top))
    higher = replace(panel, score=score)
    assume(panel.step == higher.step == 5.0)
    assumed: Any = {"shrink": True, "value_sd": 40.0, "bias_sd": 15.0, "scores": scores, **further}
    before, after = (refine(one, **assumed, noise="declared").values for one in (panel, higher))
    own = int(panel.object_index[row])
    assert after.latent[own] >= before.latent[own] - 1e-4
    above = [(one.latent > one.latent[own] + 1e-4).sum() for one in (before, after)]
    assert above[1] <= above[0]


def test_marks_that_say_little_never_lower_an_object_where_it_could_be_anything() -> None:
    """Of two marks at the lower end, one that was 0 becomes 1: what both leave open is far wider than the noise."""
    objects, assessors = [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4], [1, 2, 0, 1, 0, 1, 2, 0, 2, 1, 2]
    score = np.array([70.0, 88, 100, 100, 36, 15, 35, 29, 21, 0, 1])
    sigma = np.array([0.9, 0.7, 3.0, 0.4, 0.6, 0.6, 0.3, 0.8, 1.0, 1.9, 0.65])
    assumed: Any = {"value_sd": 200.0, "bias_sd": 1.0, "scores": eh.Bounded(0, 100), "noise": "declared"}
    found = []
    for mark in (0.0, 1.0, 2.0, 3.0):
        score[9] = mark
        found.append(refine(Panel.from_arrays(objects, assessors, score, sigma**-2.0), **assumed).values.latent[4])
    assert (np.diff(found) > 0).all()


def test_the_average_z_score_of_an_object_never_falls_for_a_mark_that_rises() -> None:
    generator = np.random.default_rng(3)
    for _ in range(300):
        score = generator.integers(0, 11, (6, 4)) * 10.0
        objects, judges = np.divmod(np.arange(24), 4)
        found = []
        for _ in range(2):
            panel = Panel.from_arrays(objects, judges, score.ravel())
            average = (standardise(panel).values.estimate - score.mean()) / score.std(ddof=1)
            found.append(average[0])
            score[0, 0] += generator.integers(1, 5) * 10.0
        assert found[1] >= found[0] - 1e-12


def ends_of_medians(panel: Panel, own: int) -> tuple[float, float]:
    """Return the least and the greatest value of an object among all medians, by linear programmes."""
    n, rows = panel.n_assessments, np.arange(panel.n_assessments)
    unknowns = panel.n_objects + panel.n_assessors
    design = np.zeros((n, unknowns))
    design[rows, panel.object_index] = design[rows, panel.n_objects + panel.assessor_index] = 1.0
    weight = np.sqrt(panel.precision)
    above = np.block([[-design, -np.eye(n)], [design, -np.eye(n)]])
    ends = np.concatenate([-panel.score, panel.score])
    gauge = np.zeros((1, unknowns + n))
    gauge[0, panel.n_objects : unknowns] = np.bincount(panel.assessor_index, panel.precision)
    bounds = [(None, None)] * unknowns + [(0, None)] * n
    total = np.concatenate([np.zeros(unknowns), weight])
    least = float(linprog(total, above, ends, gauge, [0.0], bounds)["fun"])
    of_value = np.eye(unknowns + n)[own]
    further = np.vstack([above, total]), np.append(ends, least + 1e-9)
    low, high = (float(linprog(sign * of_value, *further, gauge, [0.0], bounds)["fun"]) for sign in (1, -1))
    return low, -high


@held
@given(panels())
def test_neither_end_of_the_medians_of_an_object_falls_for_a_mark_that_rises(drawn: tuple[Panel, int, float]) -> None:
    panel, row, more = drawn
    panel = replace(panel, precision=np.full(panel.n_assessments, 1 / 64))
    score = panel.score.copy()
    score[row] += more
    own, found = int(panel.object_index[row]), []
    for each in (panel, replace(panel, score=score)):
        low, high = ends_of_medians(each, own)
        assert low - 1e-5 <= eh.median_polish(each).values.estimate[own] <= high + 1e-5
        found.append((low, high))
    assert found[1][0] >= found[0][0] - 1e-5
    assert found[1][1] >= found[0][1] - 1e-5


def test_a_covariate_can_turn_a_value_around_as_it_does_in_dense_algebra() -> None:
    objects, assessors = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    order, score = np.array([5.0, 6, 7, 0, 0, 0]), np.array([60.0, 62, 61, 40, 44, 45])
    design = np.zeros((6, 6))
    design[np.arange(6), objects] = design[np.arange(6), np.array(assessors) + 2] = 1.0
    design[:, 5] = order - order.mean()
    prior = np.diag([0, 0, 1 / 36, 1 / 36, 1 / 36, 0]) + 0.0
    prior[:2, :2] = (np.eye(2) - 0.5) / 144
    found = []
    for _ in range(2):
        panel = Panel.from_arrays(objects, assessors, score, np.full(6, 1 / 9), covariates={"order": order})
        fit = refine(panel, **SHRUNK, covariates=("order",), noise="declared")
        wanted = np.linalg.solve(design.T @ design / 9 + prior, design.T @ score / 9)
        np.testing.assert_allclose(fit.values.estimate, wanted[:2], atol=1e-8)
        found.append(fit.values.estimate[0])
        score[2] += 5.0
    assert found[1] < found[0]


# --- marks at the end of a scale, with variances that the scores tell -----------------------------------------------

ENDS: dict[str, tuple[dict[str, Any], tuple[float, float]]] = {
    "logit": ({"scores": eh.Bounded(0, 100)}, (95.0, 100.0)),
    "rational": ({"scores": eh.Bounded(0, 100, "rational")}, (95.0, 100.0)),
    "logit and student": ({"scores": eh.Bounded(0, 100), "tails": "student"}, (95.0, 100.0)),
    "probit": ({"ordinal": "probit"}, (4.0, 5.0)),
    "ordinal logit": ({"ordinal": "logit"}, (4.0, 5.0)),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_mark_at_the_end_is_never_worse_than_one_below_it(name: str, seed: int) -> None:
    assumed, marks = ENDS[name]
    made: Any = {"value_mean": 70.0, "value_sd": 30.0, "bias_sd": 10.0, "uncertainties": (8.0,), "step": 5.0}
    panel = eh.simulate_panel(14, 5, 3, seed=seed, scores=eh.Bounded(0, 100), **made).panel
    if marks[1] == 5.0:
        panel = replace(panel, score=np.searchsorted([30.0, 50.0, 70.0, 90.0], panel.score) + np.float64(1.0))
    best = int(np.argmax(eh.simple_average(panel).values.estimate))
    row = int(np.flatnonzero(panel.object_index == best)[0])
    found = []
    for mark in marks:
        score = panel.score.copy()
        score[row] = mark
        found.append(refine(replace(panel, score=score), **assumed).values)
    assert found[1].estimate[best] > found[0].estimate[best]
    assert found[1].rank[best] <= found[0].rank[best]


# --- what does not matter: the order of rows, names, the unit, and where zero lies ----------------------------------


@dataclass(frozen=True)
class Symmetry:
    """A model for which nothing is estimated, with what moves along with the unit and the zero of the scores."""

    fit: Callable[[Panel, float, float], Fit]  # of a panel with scores factor * s + more
    is_latent: bool = False  # whether numbers are on a latent scale, which has a unit of its own


def declared(**assumed: Any) -> Symmetry:
    """Return a refined model whose given standard deviations and step have the unit of the scores."""

    def fit(panel: Panel, factor: float, more: float) -> Fit:
        turned = {
            name: one * factor if name in ("value_sd", "bias_sd", "step") else one for name, one in assumed.items()
        }
        return refine(panel, **turned, noise="declared")

    return Symmetry(fit)


def bounded(shape: Any, **further: Any) -> Symmetry:
    """Return a bounded model, whose bounds move with the scores."""

    def fit(panel: Panel, factor: float, more: float) -> Fit:
        scores = eh.Bounded(more, factor * 100.0 + more, shape)
        return refine(panel, value_sd=12.0 * factor, bias_sd=6.0 * factor, scores=scores, noise="declared", **further)

    return Symmetry(fit)


def plain(method: Callable[[Panel], Fit]) -> Symmetry:
    return Symmetry(lambda panel, factor, more: method(panel))


def categories(link: Any) -> Symmetry:
    """Return a model of categories, for which scores are but names of them in order."""
    assumed: Any = {"value_sd": 1.0, "bias_sd": 0.5, "ordinal": link}
    return Symmetry(lambda panel, factor, more: refine(panel, **assumed), is_latent=True)


SYMMETRIES: dict[str, Symmetry] = {
    **{name: plain(method) for name, method in METHODS.items()},
    "z": plain(standardise),
    "shrunk": declared(**SHRUNK),
    "shrunk biases": declared(shrink="biases", bias_sd=6.0),
    "no biases": declared(shrink=True, value_sd=12.0, bias_sd=0.0),
    "student": declared(**SHRUNK, tails="student"),
    "huber": declared(**SHRUNK, tails="huber"),
    "rounded": declared(**SHRUNK, step=1.0),
    "covariates": declared(**SHRUNK, covariates=("order",)),
    "logit": bounded("logit"),
    "rational": bounded("rational"),
    "logit and student": bounded("logit", tails="student"),
    "log": declared(**SHRUNK, scores=eh.Logarithm()),
    "probit": categories("probit"),
    "ordinal logit": categories("logit"),
}
NO_ZERO = ("log",)
"""Logarithms have a zero that means something: adding a constant makes another panel."""

GRIDDED = ("logit", "rational", "logit and student", "log")
"""Models that see which grid the scores lie on, which is told by their decimals: so is a unit of 1/2, but not of 4."""

GIVEN = [name for name in SYMMETRIES if name not in METHODS]


def any_panel(seed: int, *, is_latent: bool = False) -> Panel:
    """Return a panel in which every assessor has several scores, on whole points from 5 to 95 (in four categories)."""
    generator = np.random.default_rng(seed)
    n_objects, n_assessors = int(generator.integers(4, 8)), int(generator.integers(2, 5))
    objects = np.tile(np.arange(n_objects), 2)
    assessors = np.concatenate([np.arange(n_objects) % n_assessors, (np.arange(n_objects) + 1) % n_assessors])
    value, bias = generator.normal(55.0, 12.0, n_objects), generator.normal(0.0, 6.0, n_assessors)
    sigma = 10.0 ** generator.uniform(0.3, 1.3, objects.size)
    score = np.clip(np.round(value[objects] + bias[assessors] + sigma * generator.normal(size=objects.size)), 5, 95)
    if is_latent:
        score = 10.0 * (1 + np.argsort(np.argsort(score, kind="stable")) * 4 // score.size)
    order = generator.integers(1, 9, objects.size).astype(float)
    return Panel.from_arrays(objects, assessors, score, sigma**-2, covariates={"order": order})


def turned(panel: Panel, factor: float = 1.0, more: float = 0.0) -> Panel:
    """Return the panel in another unit, with zero elsewhere."""
    return replace(panel, score=factor * panel.score + more, precision=panel.precision / factor**2)


def agrees(found: Floats | None, wanted: Floats | None, unit: float) -> None:
    assert (found is None) == (wanted is None)
    if found is not None and wanted is not None:
        np.testing.assert_allclose(found, wanted, atol=2e-4 * unit)


@pytest.mark.parametrize("name", SYMMETRIES)
@settings(held, max_examples=8)
@given(
    seed=st.integers(0, 2**31),
    factor=st.sampled_from([0.1, 0.5, 4.0, 1000.0]),
    more=st.sampled_from([0.0, -64.0, 1000.0]),
)
def test_the_unit_and_the_zero_of_scores_change_those_of_the_answer_alone(
    name: str, seed: int, factor: float, more: float
) -> None:
    model = SYMMETRIES[name]
    more = 0.0 if name in NO_ZERO else factor * more
    panel = any_panel(seed, is_latent=model.is_latent)
    other = turned(panel, factor, more)
    assume(name not in GRIDDED or other.step == pytest.approx(factor * (panel.step or 0.0)))
    before, after = model.fit(panel, 1.0, 0.0), model.fit(other, factor, more)
    agrees(after.values.estimate, factor * before.values.estimate + more, factor)
    agrees(after.values.sd, None if before.values.sd is None else factor * before.values.sd, factor)
    agrees(after.biases.estimate, (1.0 if model.is_latent else factor) * before.biases.estimate, factor)
    agrees(after.fitted, factor * before.fitted + more, factor)


@pytest.mark.parametrize("name", GIVEN)
@settings(held, max_examples=8)
@given(seed=st.integers(0, 2**31), data=st.data())
def test_names_and_the_order_of_rows_permute_the_answer(name: str, seed: int, data: st.DataObject) -> None:
    model = SYMMETRIES[name]
    panel = any_panel(seed, is_latent=model.is_latent)
    counts = panel.n_assessments, panel.n_objects, panel.n_assessors
    rows, objects, assessors = (np.array(data.draw(st.permutations(range(count)))) for count in counts)
    mixed = Panel.from_arrays(
        objects[panel.object_index][rows],
        assessors[panel.assessor_index][rows],
        panel.score[rows],
        panel.precision[rows],
        covariates={"order": panel.covariates["order"][rows]},
    )
    before, after = model.fit(panel, 1.0, 0.0), model.fit(mixed, 1.0, 0.0)
    agrees(after.values.estimate[objects], before.values.estimate, 1.0)
    agrees(None if after.values.sd is None else after.values.sd[objects], before.values.sd, 1.0)
    agrees(after.biases.estimate[assessors], before.biases.estimate, 1.0)


ESTIMATED: dict[str, dict[str, Any]] = {
    "shrunk": {},
    "ml": {"likelihood": "ml"},
    "power": {"power": "estimated"},
    "scaled": {"scale": True},
    "confidences": {"calibrate_confidence": True},
    "student": {"tails": "student", "freedom": None},
    "covariates": {"covariates": ("order",)},
}


@pytest.mark.parametrize("name", ESTIMATED)
def test_unit_and_zero_do_not_matter_to_variances_that_the_scores_tell(name: str) -> None:
    made = eh.simulate_panel(12, 4, 3, seed=8, uncertainties=(4.0, 8.0), effects={"order": 2.0}).panel
    assumed: Any = {"shrink": True, **ESTIMATED[name]}
    before, after = refine(made, **assumed), refine(turned(made, 4.0, 1000.0), **assumed)
    # where the marginal likelihood is highest is known to about 1e-4
    np.testing.assert_allclose(after.values.estimate, 4.0 * before.values.estimate + 1000.0, atol=4e-3)
    np.testing.assert_allclose(after.biases.estimate, 4.0 * before.biases.estimate, atol=4e-3)
    tables = [refined_of(one).variances for one in (before, after)]
    unit = np.array([4.0 if label in ("value_sd", "bias_sd") else 1.0 for label in tables[0].labels])
    np.testing.assert_allclose(tables[1].estimate, unit * tables[0].estimate, rtol=2e-3, atol=2e-3)


# --- probabilities of all that can be recorded ----------------------------------------------------------------------

PREDICTED: dict[str, Callable[[Panel], Fit]] = {
    "power": lambda panel: refine(panel, shrink=True, power="estimated"),
    "ml": lambda panel: refine(panel, shrink=True, likelihood="ml"),
    "shrunk biases": lambda panel: refine(panel, shrink="biases", bias_sd=6.0),
    "no biases": lambda panel: refine(panel, shrink=True, value_sd=12.0, bias_sd=0.0),
    "logit": lambda panel: refine(panel, scores=eh.Bounded(0, 100)),
    "rational": lambda panel: refine(panel, **SDS, scores=eh.Bounded(0, 100, "rational")),
    "logit and student": lambda panel: refine(panel, **SDS, scores=eh.Bounded(0, 100), tails="student"),
    "logit and huber": lambda panel: refine(panel, **SDS, scores=eh.Bounded(0, 100), tails="huber"),
    "log": lambda panel: refine(panel, **SDS, scores=eh.Logarithm()),
    "log and student": lambda panel: refine(panel, **SDS, scores=eh.Logarithm(), tails="student"),
    "probit": lambda panel: refine(panel, ordinal="probit"),
    "ordinal logit": lambda panel: refine(panel, ordinal="logit", value_sd=1.0, bias_sd=0.5),
}
UNSEEN = [name for name in PREDICTED if name != "shrunk biases"]


def graded() -> Panel:
    """Return a panel in steps of 5, with marks at both ends of a scale from 0 or, for logarithms, from 5."""
    made: Any = {"value_mean": 60.0, "value_sd": 25.0, "bias_sd": 10.0, "uncertainties": (6.0, 12.0), "step": 5.0}
    panel = eh.simulate_panel(10, 4, 3, seed=6, scores=eh.Bounded(0, 100), **made).panel
    score = np.maximum(panel.score, 5.0)
    score[:2] = 100.0, 5.0
    return replace(panel, score=score)


def total(of_score: Callable[[Floats], Floats], below: Callable[[Floats], Floats], size: int, grid: Floats) -> Floats:
    """Return the sum of the probabilities of all scores on a grid, and of all beyond it."""
    everybody = np.ones(size)
    each = np.array([of_score(score * everybody) for score in grid])
    assert (each >= 0).all()
    beyond = below((grid[0] - 2.5) * everybody) + 1 - below((grid[-1] + 2.5) * everybody)
    return np.asarray(each.sum(axis=0) + beyond)


@pytest.mark.parametrize("name", PREDICTED)
def test_probabilities_of_all_scores_that_could_be_recorded_add_up_to_one(name: str) -> None:
    fit = PREDICTED[name](graded())
    objects, assessors = fit.panel.objects, fit.panel.assessors
    pairs = [(assessors[0], objects[0]), (assessors[3], objects[1])]
    if name in UNSEEN:
        pairs += [("nobody", objects[0]), (assessors[0], "nothing"), ("nobody", "nothing")]
    is_ended = isinstance(refined_of(fit).scale, eh.Bounded) or name in ("probit", "ordinal logit")
    grid = np.arange(0.0, 100.5, 5.0) if is_ended else np.arange(-300.0, 1000.0, 5.0)
    found = eh.predict(fit, pairs)
    assert total(found.probability, found.below, len(pairs), grid) == pytest.approx(1.0, abs=1e-6)
    if is_ended:  # and there is nothing beyond the ends
        assert found.below(-1e-6) == pytest.approx(0.0, abs=1e-12)
        assert found.below(100.0) == pytest.approx(1.0, abs=1e-9)
    held_out, is_predicted = held_out_predictions(fit)
    sums = total(held_out.probability, held_out.below, fit.panel.n_assessments, grid)
    assert sums[is_predicted] == pytest.approx(1.0, abs=1e-6)


def test_z_scores_predict_held_out_scores_with_probabilities_that_add_up_to_one_and_medians_none() -> None:
    panel = graded()
    found, is_predicted = held_out_predictions(standardise(panel))
    sums = total(found.probability, found.below, panel.n_assessments, np.arange(-300.0, 500.0, 5.0))
    assert is_predicted.any()
    assert sums[is_predicted] == pytest.approx(1.0, abs=1e-6)
    for fit in (standardise(panel), eh.median_polish(panel)):
        with pytest.raises(InputError):
            eh.predict(fit, [(panel.assessors[0], panel.objects[0])])


# --- criteria -------------------------------------------------------------------------------------------------------


def test_a_mark_that_rises_in_one_criterion_lowers_no_object_and_predictions_add_up_to_one() -> None:
    """Complete readings, whose values do not depend on how the errors of the criteria are correlated."""
    generator = np.random.default_rng(5)
    objects, assessors = np.array([(o, a) for o in range(5) for a in range(4) if (o + a) % 3]).T
    codes = np.tile(objects, 2), np.tile(assessors, 2)
    criterion = np.repeat(["content", "style"], objects.size)
    score = generator.integers(2, 18, criterion.size) * 5.0
    for row in range(0, criterion.size, 3):
        higher = score.copy()
        higher[row] += 10.0
        fits = [eh.calibrate_criteria(Panel.from_arrays(*codes, each, criterion=criterion)) for each in (score, higher)]
        moved = fits[1].combined.values.estimate - fits[0].combined.values.estimate
        assert moved[codes[0][row]] > 0
        assert (moved[codes[0][row]] - moved >= -1e-9).all()
    found = eh.predict(fits[0], [("0", "0"), ("1", "2")])
    sums = total(found.probability, found.below, len(found.object), np.arange(-1000.0, 1000.0, 5.0))
    assert sums == pytest.approx(1.0, abs=1e-6)
