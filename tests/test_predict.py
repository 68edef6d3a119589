"""Predictions of scores not yet given, against dense algebra, numerical integration and refits."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

import evenhand as eh
from evenhand.answers.heldout import held_out, held_out_predictions
from evenhand.models.additive import METHODS
from evenhand.models.fit import Fit
from evenhand.models.noise import Likelihood, Normal
from evenhand.models.predictive import Rows, refined_parts
from evenhand.models.refined import refine
from evenhand.models.robust import Huber, Student
from evenhand.models.rounded import Rounded
from evenhand.models.standardised import standardise
from evenhand.panel.panel import Panel
from panels import random_panel, refined_of

Floats = NDArray[np.float64]

# --- the probability of a recorded score --------------------------------------------------------------

CASES = [(3.0, 1.0, 0.5, 2.0, 1.5), (-4.0, 1.0, 0.01, 1.0, 1.5), (1.0, 1.0, 0.5, 2.0, 1.5), (12.0, 1.0, 30.0, 2.0, 1.5)]


@pytest.mark.parametrize("likelihood", [Normal(), Student(4.0), Student(30.0), Huber()])
@pytest.mark.parametrize(("x", "mean", "variance", "precision", "w"), CASES)
def test_the_probability_below_is_the_integral_of_the_density(
    likelihood: Likelihood, x: float, mean: float, variance: float, precision: float, w: float
) -> None:
    c = np.full(1, precision)
    found = likelihood.below(np.full(1, x), np.full(1, mean), np.full(1, variance), c, w)[0]

    def joint(noise: float) -> float:
        density = float(np.exp(likelihood.log_density(np.full(1, noise), c, w))[0])
        return density * float(stats.norm.cdf((x - mean - noise) / np.sqrt(variance)))

    ends = sorted({-2000.0, -50.0, 0.0, x - mean, 50.0, 2000.0})
    wanted = sum(integrate.quad(joint, low, high, epsabs=1e-12, limit=300)[0] for low, high in pairwise(ends))
    assert found == pytest.approx(wanted, abs=2e-8)


def test_a_rounded_score_is_at_most_x_where_its_interval_is() -> None:
    x = np.array([2.0, 2.4, 2.5, 2.9, -0.1])
    found = Rounded(0.5).below(x, np.full(5, 2.2), np.full(5, 0.3), np.ones(5), 1.2)
    ends = [2.25, 2.25, 2.75, 2.75, -0.25]  # the upper ends of the intervals of 2, 2, 2.5, 2.5 and -0.5
    assert found == pytest.approx(stats.norm.cdf(ends, 2.2, np.sqrt(1.5)))


def models(panel: Panel) -> dict[str, Fit]:
    """Return a fit by every model that has a distribution."""
    shrunk: dict[str, Any] = {"shrink": True, "value_sd": 8.0, "bias_sd": 6.0}  # known, so that nothing is searched for
    return {
        **{method: fit_by(panel) for method, fit_by in METHODS.items()},
        "declared": eh.calibrate(panel, noise="declared"),
        "prior": eh.calibrate(panel, noise=eh.NoisePrior(lambda w: -w / 50, "exponential")),
        "shrunk": refine(panel, **shrunk),
        "student": refine(panel, **shrunk, tails="student"),
        "huber": refine(panel, **shrunk, tails="huber"),
        "rounded": refine(panel, **shrunk, step=1.0),
        "scaled": refine(panel, **shrunk, scale=True),
        "confidences": refine(panel, **shrunk, calibrate_confidence=True),
        "covariates": refine(panel, **shrunk, covariates=("order",)),
        "without priors": refine(panel, tails="student"),
    }


@pytest.fixture(scope="module")
def fits() -> dict[str, Fit]:
    made = eh.simulate_panel(10, 4, 3, seed=4, uncertainties=(4.0, 8.0), effects={"order": 2.0})
    return models(made.panel)


NAMES = [
    *("sa", "cwa", "iba", "cwc", "declared", "prior", "shrunk", "student", "huber", "rounded", "scaled"),
    *("confidences", "covariates", "without priors"),
]


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_of_all_scores_that_could_be_recorded_add_up_to_one(fits: dict[str, Fit], name: str) -> None:
    fit = fits[name]
    assert fit.panel.step == 1.0
    pairs = [(fit.panel.assessors[0], fit.panel.objects[0]), (fit.panel.assessors[3], fit.panel.objects[0])]
    if name in ("shrunk", "student", "huber", "rounded", "scaled", "confidences", "covariates"):
        pairs += [("nobody", fit.panel.objects[0]), (fit.panel.assessors[0], "nothing"), ("nobody", "nothing")]
    found = eh.predict(fit, pairs)
    grid = np.arange(-20.0, 140.0)
    share = np.array([found.probability(score) for score in grid])
    tails = found.below(grid[0] - 0.5) + 1 - found.below(grid[-1] + 0.5)
    assert (share >= 0).all()
    assert (tails < 0.1).all()
    assert share.sum(axis=0) + tails == pytest.approx(1.0, abs=1e-6)
    held, is_predicted = held_out_predictions(fit)
    everybody = np.ones(fit.panel.n_assessments)
    total = sum(held.probability(score * everybody) for score in grid)
    total = total + held.below((grid[0] - 0.5) * everybody) + 1 - held.below((grid[-1] + 0.5) * everybody)
    assert np.asarray(total)[is_predicted] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_their_probability(fits: dict[str, Fit], name: str) -> None:
    fit = fits[name]
    found = eh.predict(
        fit, [(fit.panel.assessors[0], fit.panel.objects[1]), (fit.panel.assessors[1], fit.panel.objects[0])]
    )
    if name == "rounded":  # an end is a score, with a probability of its own
        assert (found.upper % 1 == 0).all()
        assert (found.lower % 1 == 0).all()
        assert (found.below(found.upper) >= 0.95 - 1e-9).all()
        assert (found.below(found.upper - 1.0) < 0.95).all()
    else:
        assert found.below(found.upper) == pytest.approx(0.95, abs=1e-6)
        assert found.below(found.lower) == pytest.approx(0.05, abs=1e-6)


# --- plain methods ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sa", "cwa", "iba", "cwc"])
def test_plain_predictions_are_those_of_a_dense_regression(method: str) -> None:
    panel = random_panel(91, 6, 4, 10)
    fit = METHODS[method](panel)
    c = panel.precision if METHODS[method].uses_confidence else np.ones(panel.n_assessments)
    design = np.eye(6)[panel.object_index]
    if fit.is_calibrated:
        design = np.hstack([design, np.eye(4)[panel.assessor_index]])
    inverse = np.linalg.pinv((design.T * c) @ design)
    estimate = inverse @ (design.T * c) @ panel.score
    nu = panel.n_assessments - np.linalg.matrix_rank(design)
    w = float(c @ np.square(panel.score - design @ estimate)) / nu
    pairs = [(a, o) for a in range(4) for o in range(6)]
    found = eh.predict(fit, [(str(a), str(o)) for a, o in pairs])
    typical = float(np.exp(np.log(c).mean()))
    for at, (a, o) in enumerate(pairs):
        row = np.concatenate([np.eye(6)[o], np.eye(4)[a]])[: design.shape[1]]
        wanted = stats.t(nu, row @ estimate, np.sqrt(w * (row @ inverse @ row + 1 / typical)))
        assert found.expected[at] == pytest.approx(row @ estimate)
        assert (found.lower[at], found.upper[at]) == pytest.approx(wanted.interval(0.9))
        assert found.below(61.0)[at] == pytest.approx(wanted.cdf(61.0))


@pytest.mark.parametrize("method", ["sa", "cwa", "iba", "cwc"])
def test_held_out_predictions_are_those_of_a_fit_without_the_score(method: str) -> None:
    panel = random_panel(92, 6, 4, 12)
    whole, is_predicted = held_out_predictions(METHODS[method](panel))
    checked = 0
    for row in np.flatnonzero(is_predicted).tolist():
        rest = panel.restrict(np.arange(panel.n_assessments) != row)
        if rest.n_objects < panel.n_objects or rest.n_assessors < panel.n_assessors:
            continue
        pair = {
            "object": [panel.objects[panel.object_index[row]]],
            "assessor": [panel.assessors[panel.assessor_index[row]]],
        }
        alone = eh.predict(METHODS[method](rest), {**pair, "confidence": [panel.precision[row]]})
        assert whole.mean[row] == pytest.approx(alone.expected[0])
        for x in (40.0, 55.0, 70.0):
            assert whole.below(np.full(panel.n_assessments, x))[row] == pytest.approx(alone.below(x)[0])
        checked += 1
    assert checked >= 10


# --- priors -------------------------------------------------------------------------------------------


def dense(panel: Panel, new: tuple[int, int], value: float, bias: float, noise: Floats) -> tuple[float, float]:
    """Return mean and variance of what is expected of a new score, by a dense normal with an unknown mean."""
    objects, assessors = np.append(panel.object_index, new[0]), np.append(panel.assessor_index, new[1])
    joint = value * (objects[:, None] == objects) + bias * (assessors[:, None] == assessors)
    covariance = joint[:-1, :-1] + np.diag(noise)
    inverse, ones, link = np.linalg.inv(covariance), np.ones(noise.size), joint[-1, :-1]
    precision = ones @ inverse @ ones
    mean = (ones @ inverse @ panel.score) / precision
    expected = mean + link @ inverse @ (panel.score - mean)
    variance = joint[-1, -1] - link @ inverse @ link + (1 - link @ inverse @ ones) ** 2 / precision
    return float(expected), float(variance)


@pytest.mark.parametrize(("o", "a"), [(2, 3), (2, 99), (99, 3), (99, 99)])
def test_priors_predict_objects_and_assessors_that_the_panel_has_not_seen(o: int, a: int) -> None:
    panel = eh.simulate_panel(9, 4, 2, seed=7, uncertainties=(4.0, 8.0)).panel
    fit = refine(panel, shrink=True, value_sd=12.0, bias_sd=6.0, noise="declared")
    found = eh.predict(fit, {"object": [o], "assessor": [a], "uncertainty": [5.0]})
    mean, variance = dense(panel, (o, a), 144.0, 36.0, 1 / panel.precision)
    assert found.expected[0] == pytest.approx(mean)
    wanted = stats.norm(mean, np.sqrt(variance + 25.0)).interval(0.9)
    assert (found.lower[0], found.upper[0]) == pytest.approx(wanted)


@pytest.mark.parametrize(("o", "a"), [(2, 3), (2, 99), (99, 3)])
def test_without_biases_an_assessor_makes_no_difference(o: int, a: int) -> None:
    panel = eh.simulate_panel(9, 4, 2, seed=7, uncertainties=(4.0, 8.0)).panel
    fit = refine(panel, shrink=True, value_sd=12.0, bias_sd=0.0, noise="declared")
    found = eh.predict(fit, {"object": [o], "assessor": [a], "uncertainty": [5.0]})
    mean, variance = dense(panel, (o, a), 144.0, 0.0, 1 / panel.precision)
    assert found.expected[0] == pytest.approx(mean)
    assert found.upper[0] == pytest.approx(mean + stats.norm.ppf(0.95) * np.sqrt(variance + 25.0))


def test_variances_that_are_unsure_widen_the_interval() -> None:
    panel = eh.simulate_panel(12, 5, 3, seed=5).panel
    fit = refine(panel, shrink=True)
    setting, w = refined_of(fit).node.setting, refined_of(fit).node.w
    known = refine(
        panel, shrink=True, value_sd=np.sqrt(setting.value_ratio * w), bias_sd=np.sqrt(setting.bias_ratio * w)
    )
    wide, narrow = (eh.predict(one, [("nobody", "nothing")]) for one in (fit, known))
    assert wide.upper[0] - wide.lower[0] > 1.02 * (narrow.upper[0] - narrow.lower[0])


def test_a_power_of_confidence_and_noise_factors_scale_the_noise() -> None:
    panel = eh.simulate_panel(9, 4, 3, seed=6, uncertainties=(3.0, 12.0)).panel
    options: dict[str, Any] = {"shrink": True, "value_sd": 10.0, "bias_sd": 6.0}
    fit = refine(panel, **options, power=0.5, calibrate_confidence=True)
    node = refined_of(fit).node
    row = 0  # a score of the panel, asked for once more: it has the precision that the fit gave it
    o, a = int(panel.object_index[row]), int(panel.assessor_index[row])
    rows = rows_of(panel, [(o, a)], panel.precision[[row]])
    (part,) = refined_parts([(1.0, node)], refined_of(fit).search.work, rows, np.zeros((1, 0)))
    assert part.precision[0] == pytest.approx(node.precision[row])
    assert part.mean[0] == pytest.approx(panel.score[row] - node.residuals[row])
    assert part.variance[0] == pytest.approx(node.solver.fitted_variances()[row])


def rows_of(panel: Panel, pairs: list[tuple[int, int]], precision: Floats) -> Rows:
    """Return pairs (object, assessor) as a model is asked about them."""
    objects, assessors = np.array(pairs).T
    labels = [panel.objects[o] for o in objects.tolist()], [panel.assessors[a] for a in assessors.tolist()]
    return Rows(*labels, objects, assessors, precision, {})


# --- further unknowns ---------------------------------------------------------------------------------


def test_covariates_are_predicted_by_a_dense_regression_and_average_conditions_where_not_given() -> None:
    generator = np.random.default_rng(3)
    panel = random_panel(93, 6, 4, 12)
    cells = {
        "order": generator.normal(5.0, 2.0, panel.n_assessments),
        "round": generator.choice(["a", "b", "c"], panel.n_assessments),
    }
    panel = Panel.from_arrays(panel.object_index, panel.assessor_index, panel.score, panel.precision, covariates=cells)
    fit = refine(panel, covariates=("order", "round"))
    common = max("abc", key=lambda level: int((cells["round"] == level).sum()))
    others = [level for level in "abc" if level != common]

    def coded(order: Floats, round_: NDArray[Any]) -> Floats:
        return np.stack([order, *[(round_ == level).astype(float) for level in others]], axis=1)

    z = coded(cells["order"], cells["round"])
    average = np.average(z, axis=0, weights=panel.precision)
    design = np.hstack([np.eye(6)[panel.object_index], np.eye(4)[panel.assessor_index], z - average])
    inverse = np.linalg.pinv((design.T * panel.precision) @ design)
    estimate = inverse @ (design.T * panel.precision) @ panel.score
    nu = panel.n_assessments - np.linalg.matrix_rank(design)
    w = float(panel.precision @ np.square(panel.score - design @ estimate)) / nu
    base = {"object": ["0", "1"], "assessor": ["1", "0"], "confidence": [2.0, 0.5]}
    given = eh.predict(fit, {**base, "order": [7.5, 1.0], "round": [others[0], common]})
    z_new = coded(np.array([7.5, 1.0]), np.array([others[0], common])) - average
    for found, further in ((given, z_new), (eh.predict(fit, base), np.zeros((2, 3)))):
        rows = np.hstack([np.eye(6)[[0, 1]], np.eye(4)[[1, 0]], further])
        spread = np.sqrt(w * (np.einsum("ij,jk,ik->i", rows, inverse, rows) + 1 / np.array([2.0, 0.5])))
        assert found.expected == pytest.approx(rows @ estimate)
        assert found.below(60.0) == pytest.approx(stats.t.cdf(60.0, nu, rows @ estimate, spread))
    with pytest.raises(eh.errors.InputError, match="round 'd'"):
        eh.predict(fit, {**base, "order": [7.5, 1.0], "round": ["d", "a"]})


def test_scales_of_assessors_are_part_of_what_is_expected_and_of_how_sure_that_is() -> None:
    panel = eh.simulate_panel(14, 4, 3, seed=8, scale_sd=0.4, uncertainties=(4.0,), bounds=None, step=None).panel
    fit = refine(panel, shrink=True, value_sd=15.0, bias_sd=8.0, scale=True, noise="declared")
    node, work = refined_of(fit).node, refined_of(fit).search.work
    scale, n_o, n_a = np.exp(node.log_scale), panel.n_objects, panel.n_assessors
    away = node.values - work.centre

    def row(o: int, a: int) -> Floats:
        """Return the derivatives of an expected score by values, biases and log scales."""
        return np.concatenate([scale[a] * np.eye(n_o)[o], np.eye(n_a)[a], scale[a] * away[o] * np.eye(n_a)[a]])

    design = np.stack([row(o, a) for o, a in zip(panel.object_index, panel.assessor_index, strict=True)])
    about_mean = np.eye(n_o) - 1 / n_o  # the mean of all values is not known
    prior = np.zeros((design.shape[1],) * 2)
    prior[:n_o, :n_o] = about_mean / 225.0
    prior[n_o : n_o + n_a, n_o : n_o + n_a] = np.eye(n_a) / 64.0
    firm = 1e6 / n_a / node.setting.scale_ratio
    prior[n_o + n_a :, n_o + n_a :] = np.eye(n_a) / node.setting.scale_ratio + firm
    covariance = np.linalg.inv((design.T * panel.precision) @ design + prior)
    pairs = [(o, a) for o in (0, 5) for a in range(n_a)]
    rows = rows_of(panel, pairs, np.full(len(pairs), 1 / 16))
    (part,) = refined_parts([(1.0, node)], work, rows, np.zeros((len(pairs), 0)))
    for at, (o, a) in enumerate(pairs):
        assert part.mean[at] == pytest.approx(work.centre + scale[a] * away[o] + node.biases[a])
        assert part.variance[at] == pytest.approx(row(o, a) @ covariance @ row(o, a), rel=1e-6)


def test_an_assessor_who_has_not_been_seen_may_have_any_scale_and_any_noise_factor() -> None:
    panel = eh.simulate_panel(9, 4, 3, seed=8, scale_sd=0.3, uncertainties=(4.0,)).panel
    options: dict[str, Any] = {"shrink": True, "value_sd": 15.0, "bias_sd": 8.0, "noise": "declared"}
    fit = refine(panel, **options, scale=True, calibrate_confidence=True)
    node, work = refined_of(fit).node, refined_of(fit).search.work
    rows = rows_of(panel, [(0, -1)], np.full(1, 1 / 16))
    parts = refined_parts([(1.0, node)], work, rows, np.zeros((1, 0)))
    of_objects = np.eye(panel.n_objects, 1)
    unsure = float(node.solver.contrasts(of_objects, np.zeros((panel.n_assessors, 1)))[0])
    for part in parts:
        further = 64.0 + node.setting.scale_ratio * (node.values[0] - work.centre) ** 2
        assert part.variance[0] == pytest.approx(unsure + further)
    # the factor has an inverse gamma density: equally probable slices of it
    factor = np.sort([1 / 16 / part.precision[0] for part in parts])
    half = node.setting.strength / 2
    share = stats.invgamma.cdf(factor, half, scale=half)
    assert share == pytest.approx((np.arange(factor.size) + 0.5) / factor.size)
    assert sum(part.probability for part in parts) == pytest.approx(1.0)


# --- criteria, groups, labels ---------------------------------------------------------------------------


def test_each_criterion_is_predicted_by_its_own_fit() -> None:
    generator = np.random.default_rng(2)
    objects, assessors = (index.ravel() for index in np.indices((6, 3)))
    score = generator.normal(60, 10, 36).round()
    panel = Panel.from_arrays(np.repeat(objects, 2), np.repeat(assessors, 2), score, criterion=["merit", "style"] * 18)
    whole = eh.calibrate_criteria(panel)
    found = eh.predict(whole, [("0", "1"), ("2", "5")])
    assert found.criterion == ("merit", "style", "merit", "style")
    for label, places in (("merit", [0, 2]), ("style", [1, 3])):
        alone = eh.predict(eh.calibrate(panel.of_criterion(label)), [("0", "1"), ("2", "5")])
        assert found.expected[places] == pytest.approx(alone.expected)
        assert found.upper[places] == pytest.approx(alone.upper)
    table = {"object": ["5"], "assessor": ["2"], "criterion": ["style"]}
    assert eh.predict(whole, table).to_frame()["expected"].to_list() == pytest.approx([found.expected[3]])
    with pytest.raises(eh.errors.InputError, match="no criterion 'wit'"):
        eh.predict(whole, {**table, "criterion": ["wit"]})


def test_pairs_across_groups_are_refused_by_name_unless_priors_join_them() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [1.0, 5, 2, 2, 3, 9, 1, 1])
    apart = eh.calibrate(panel, per_component=True)
    assert eh.predict(apart, [("0", "1")]).expected[0] == pytest.approx(apart.fitted[2])
    with pytest.raises(eh.errors.InputError, match="Object 3 is in group 2 and assessor 0 in group 1"):
        eh.predict(apart, [("0", "1"), ("0", "3")])
    eh.predict(eh.simple_average(panel), [("0", "3")])
    eh.predict(refine(panel, shrink=True, value_sd=1.0, bias_sd=1.0), [("0", "3")])


def test_who_is_not_known_is_refused_by_name_where_there_is_no_prior() -> None:
    panel = random_panel(94)
    calibrated = eh.calibrate(panel)
    for pair, wrong in ((("X", "1"), "assessor X"), (("1", "Y"), "object Y")):
        with pytest.raises(eh.errors.InputError, match=wrong):
            eh.predict(calibrated, [pair])
    average = eh.simple_average(panel)
    assert eh.predict(average, [("X", "1")]).expected[0] == average.values.estimate[1]
    with pytest.raises(eh.errors.InputError, match="object Y"):
        eh.predict(average, [("1", "Y")])
    with pytest.raises(eh.errors.InputError, match="object Y"):
        eh.predict(refine(panel, shrink="biases"), [("X", "Y")])


def test_pairs_the_wrong_way_round_and_tables_without_labels_are_refused() -> None:
    panel = eh.simulate_panel(9, 4, 2, seed=7).panel
    named = Panel.from_arrays(
        panel.object_index, panel.assessor_index, panel.score, objects=[*"abcdefghi"], assessors=[*"WXYZ"]
    )
    fit = refine(named, shrink=True, value_sd=9.0, bias_sd=9.0)
    with pytest.raises(eh.errors.InputError, match=r"pairs are \(assessor, object\)"):
        eh.predict(fit, [("a", "W")])
    with pytest.raises(eh.errors.InputError, match="no column of assessors"):
        eh.predict(fit, {"object": ["a"]})
    with pytest.raises(eh.errors.InputError, match="same length"):
        eh.predict(fit, {"object": ["a"], "assessor": ["W", "X"]})
    with pytest.raises(eh.errors.InputError, match="A pair is"):
        eh.predict(fit, [("W", "a", 3)])


def test_what_has_no_distribution_predicts_nothing() -> None:
    panel = random_panel(95)
    with pytest.raises(eh.errors.InputError, match="no distribution"):
        eh.predict(eh.median_polish(panel), [("0", "0")])
    with pytest.raises(eh.errors.InputError, match="comparison only"):
        eh.predict(standardise(Panel.from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2, 3, 5])), [("0", "0")])
    tight = Panel.from_arrays([0, 0, 1], [0, 1, 1], [3.0, 4.0, 5.0])
    with pytest.raises(eh.errors.NotRankableError, match="none left over"):
        eh.predict(eh.calibrate(tight), [("0", "1")])


def test_declared_confidence_is_read_as_the_panel_declared_it() -> None:
    frame = pl.DataFrame(
        {
            "paper": [*"aabbccdd"],
            "judge": [*"XYXYXYXY"],
            "score": [5.0, 7, 4, 5, 8, 9, 3, 3],
            "level": ["high", "low", "medium", "high", "low", "high", "medium", "low"],
        }
    )
    fit = eh.calibrate(eh.Panel.from_frame(frame))
    given = pl.DataFrame({"paper": ["a", "a", "a"], "judge": ["Y"] * 3, "level": ["high", "medium", "low"]})
    found = eh.predict(fit, given)
    width = found.upper - found.lower
    assert width[0] < width[1] < width[2]
    parts = found.distributions[0][1].parts
    assert parts[0].precision == pytest.approx([1.75**2, 1.0, 1.75**-2])
    assert isinstance(found.to_frame(), pl.DataFrame)
    with pytest.raises(eh.errors.InputError, match="'huge' is not a level"):
        eh.predict(fit, {"paper": ["a"], "judge": ["Y"], "level": ["huge"]})
    again = eh.predict(fit, {"paper": ["a"], "judge": ["Y"], "confidence": [1.75**2]})
    assert (again.lower[0], again.upper[0]) == (found.lower[0], found.upper[0])
    for cell in (0.0, -1.0, "much", None, np.inf):
        with pytest.raises(eh.errors.InputError, match="is not a positive number"):
            eh.predict(fit, {"paper": ["a"], "judge": ["Y"], "uncertainty": [cell]})
    plain = eh.calibrate(eh.Panel.from_frame(frame.drop("level")))
    with pytest.raises(eh.errors.InputError, match="a level of confidence has no size"):
        eh.predict(plain, given)


# --- z-scores -----------------------------------------------------------------------------------------


def z_values(panel: Panel) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return the average z-score of each object, and mean and sd of each judge, by label and one by one."""
    of_judge: dict[str, list[float]] = {}
    for a, score in zip(panel.assessor_index.tolist(), panel.score.tolist(), strict=True):
        of_judge.setdefault(panel.assessors[a], []).append(score)
    stats_of = {judge: (float(np.mean(own)), float(np.std(own, ddof=1))) for judge, own in of_judge.items()}
    of_object: dict[str, list[float]] = {}
    for o, a, score in zip(
        panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), strict=True
    ):
        mean, sd = stats_of[panel.assessors[a]]
        of_object.setdefault(panel.objects[o], []).append((score - mean) / sd)
    return {label: float(np.mean(own)) for label, own in of_object.items()}, stats_of


def test_z_scores_and_what_they_predict_are_those_of_a_recomputation() -> None:
    panel = eh.simulate_panel(12, 4, 3, seed=3).panel
    fit = standardise(panel)
    average, _ = z_values(panel)
    level, spread = panel.score.mean(), panel.score.std(ddof=1)
    assert fit.values.estimate == pytest.approx([level + spread * average[label] for label in panel.objects])
    errors = []
    for row in range(panel.n_assessments):
        average, judges = z_values(panel.restrict(np.arange(panel.n_assessments) != row))
        mean, sd = judges[panel.assessors[panel.assessor_index[row]]]
        errors.append(panel.score[row] - mean - sd * average[panel.objects[panel.object_index[row]]])
    found, squares = held_out(fit), np.square(errors)
    assert found.error == pytest.approx(errors)
    nu = len(errors) - 1
    for row, (error, score) in enumerate(zip(errors, panel.score, strict=True)):
        wanted = stats.t(nu, score - error, np.sqrt((squares.sum() - squares[row]) / nu))
        assert np.exp(found.log_score[row]) == pytest.approx(wanted.cdf(score + 0.5) - wanted.cdf(score - 0.5))


def test_a_judge_with_one_score_has_no_z_score_and_the_row_says_so() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 2], [5.0, 6, 7, 7, 3, 4])
    found = eh.compare(panel, candidates=[])
    row = next(row for row in found.methods if row.method == "z")
    assert row.residual is None
    assert any("One score has no spread" in note.message for note in found.notes)


# --- coverage -----------------------------------------------------------------------------------------


def covered(fit: Fit) -> Floats:
    """Return the part of each score's cell that lies in the 90 % interval which all others predict for it.

    Without a grid that is 1 or 0. With a coarse one, whole scores at the ends of intervals make these cover more.
    """
    predicted, is_predicted = held_out_predictions(fit)
    score = fit.panel.score
    low, high = predicted.below(score - predicted.cell / 2), predicted.below(score + predicted.cell / 2)
    inside = np.clip(high, 0.05, 0.95) - np.clip(low, 0.05, 0.95)
    return np.asarray(inside / (high - low))[is_predicted]


@pytest.mark.parametrize("method", METHODS)
def test_intervals_of_held_out_scores_cover_nine_in_ten(method: str) -> None:
    found = []
    for seed in range(25):
        options: dict[str, Any] = {} if METHODS[method].is_calibrated else {"bias_sd": 0.0}
        panel = eh.simulate_panel(40, 8, 3, seed=seed, uncertainties=(6.0,), bounds=None, step=None, **options).panel
        found.append(covered(METHODS[method](panel)))
    assert 0.88 <= np.concatenate(found).mean() <= 0.92


def test_intervals_of_fresh_scores_cover_nine_in_ten_with_priors() -> None:
    found = []
    for seed in range(20):
        made = eh.simulate_panel(40, 8, 3, seed=seed, uncertainties=(6.0,), bounds=None, step=None)
        fit = refine(made.panel, shrink=True, value_sd=15.0, bias_sd=15.0)
        generator = np.random.default_rng(seed)
        objects, assessors = generator.integers(0, 40, 60), generator.integers(0, 8, 60)
        score = made.values[objects] + made.biases[assessors] + generator.normal(0, 6.0, 60)
        labels = made.panel.objects, made.panel.assessors
        predicted = eh.predict(
            fit, {"object": [labels[0][o] for o in objects], "assessor": [labels[1][a] for a in assessors]}
        )
        found.append((predicted.lower <= score) & (score <= predicted.upper))
    assert 0.88 <= np.concatenate(found).mean() <= 0.92


LOGIT = eh.Bounded(0.0, 100.0)
STUDY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "shrunk": ({}, {"shrink": True}),
    "student": ({"freedom": 3.0}, {"shrink": True, "tails": "student"}),
    "confidences": ({"factor_sd": 0.8}, {"shrink": True, "calibrate_confidence": True}),
    "scaled": ({"scale_sd": 0.3}, {"shrink": True, "scale": True}),
    "rounded": ({"step": 10.0}, {"shrink": True, "step": 10.0}),
    "covariates": ({"effects": {"order": 5.0}}, {"shrink": True, "covariates": ("order",)}),
    "huber": ({"freedom": 3.0}, {"shrink": True, "tails": "huber"}),
    "logit": ({"scores": LOGIT, "value_sd": 45.0, "step": 5.0}, {"scores": LOGIT}),
    "log": (
        {"scores": eh.Logarithm(50.0), "value_sd": 12.0, "bias_sd": 6.0, "uncertainties": (3.0,), "step": 1.0},
        {"scores": eh.Logarithm()},
    ),
    "probit": ({"step": 10.0, "value_sd": 10.0, "bias_sd": 6.0}, {"ordinal": "probit"}),
}


@pytest.mark.study
@pytest.mark.parametrize("kind", STUDY)
def test_intervals_of_held_out_scores_cover_nine_in_ten_in_every_model(kind: str) -> None:
    made, told = STUDY[kind]
    found = []
    for seed in range(20):
        options: dict[str, Any] = {"bounds": None, "step": None, "uncertainties": (6.0,), **made}
        found.append(covered(refine(eh.simulate_panel(60, 12, 4, seed=seed, **options).panel, **told)))
    assert 0.88 <= np.concatenate(found).mean() <= 0.92
