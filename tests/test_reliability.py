"""Reliability against psych, dense algebra and simulation, and what is said where it cannot be told."""

import csv
import html
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose as close
from numpy.typing import NDArray

import evenhand as eh
from evenhand import Panel, Reliability, reliability
from evenhand.answers.verdicts import AssessorFit, Verdict
from evenhand.cli import main
from evenhand.data import demo_path
from evenhand.errors import InputError
from evenhand.models.effects import Table
from panels import random_panel

Floats = NDArray[np.float64]

REFERENCES = Path(__file__).parent / "references"


def estimates(table: Table | None) -> dict[str, float]:
    assert table is not None
    return dict(zip(table.labels, table.estimate.tolist(), strict=True))


# -------------------------------------------------------------------------------------------------------------- psych


def stored(name: str) -> list[dict[str, str]]:
    with (REFERENCES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def complete_panel(name: str) -> Panel:
    rows = [row for row in stored("complete.csv") if row["panel"] == name]
    return Panel.from_arrays(
        [int(row["object"]) for row in rows],
        [int(row["assessor"]) for row in rows],
        [float(row["score"]) for row in rows],
    )


NAMES = {
    "ICC1": "ICC(1,1)",
    "ICC1k": "ICC(1,k)",
    "ICC2": "ICC(2,1)",
    "ICC2k": "ICC(2,k)",
    "ICC3": "ICC(3,1)",
    "ICC3k": "ICC(3,k)",
}
COMPLETE = list(dict.fromkeys(row["panel"] for row in stored("psych.csv")))


@pytest.mark.parametrize("name", COMPLETE)
def test_psych_finds_the_same_intraclass_correlations(name: str) -> None:
    found = reliability(eh.calibrate(complete_panel(name))).icc
    assert found is not None
    theirs = {NAMES[row["type"]]: row for row in stored("psych.csv") if row["panel"] == name}
    ours = estimates(found)
    assert set(ours) == set(theirs)
    # where the analysis of variance has a negative variance of biases, REML has none: scores are then as if anonymous
    is_negative = float(theirs["ICC(3,1)"]["icc"]) < float(theirs["ICC(1,1)"]["icc"])
    for label, one in ours.items():
        wanted = f"ICC(1{label[5:]}" if is_negative else label
        assert one == pytest.approx(float(theirs[wanted]["icc"]), abs=1e-6)
    for at, label in enumerate(found.labels[:2]):
        assert found.lower[at] == pytest.approx(float(theirs[label]["lower"]), abs=1e-9)
        assert found.upper[at] == pytest.approx(float(theirs[label]["upper"]), abs=1e-9)


def test_one_of_the_stored_panels_shows_no_biases() -> None:
    negative = [
        name for name in COMPLETE if estimates(reliability(eh.calibrate(complete_panel(name))).variances)["bias"] < 1e-3
    ]
    assert negative == ["many_objects"]


@pytest.mark.slow
def test_psych_still_finds_what_is_stored() -> None:
    script = shutil.which("Rscript")
    if script is None:
        pytest.skip("R is not installed")
    wanted = 'quit(status = !requireNamespace("psych", quietly = TRUE))'
    if subprocess.run([script, "-e", wanted], check=False, capture_output=True).returncode:
        pytest.skip("R has no psych")
    command = [script, "psych.R", "complete.csv"]
    done = subprocess.run(command, cwd=REFERENCES, check=True, capture_output=True, text=True)
    found, kept = list(csv.DictReader(done.stdout.splitlines())), stored("psych.csv")
    assert [(row["panel"], row["type"]) for row in found] == [(row["panel"], row["type"]) for row in kept]
    for name in ("icc", "lower", "upper"):
        close([float(row[name]) for row in found], [float(row[name]) for row in kept], rtol=1e-9)


# -------------------------------------------------------------------------------------------------------------- dense

VALUE, BIAS = 8.0, 5.0


class Dense:
    """Values of objects as linear functions of the scores, under given variances, by dense algebra."""

    def __init__(self, panel: Panel) -> None:
        self.value = np.eye(panel.n_objects)[panel.object_index.astype(int)]
        self.bias = np.eye(panel.n_assessors)[panel.assessor_index.astype(int)]
        self.noise = np.diag(1 / panel.precision)
        self.total = VALUE**2 * self.value @ self.value.T + BIAS**2 * self.bias @ self.bias.T + self.noise
        self.centred = np.eye(panel.n_objects) - 1 / panel.n_objects

    def averages(self) -> Floats:
        return np.asarray((self.value / self.value.sum(axis=0)).T)

    def calibrated(self) -> Floats:
        """Weighted least squares with biases that add up to zero."""
        design = np.hstack([self.value, self.bias])
        weight = np.linalg.inv(self.noise)
        inverse: Floats = np.linalg.pinv(design.T @ weight @ design)
        return np.asarray((inverse @ design.T @ weight)[: self.value.shape[1]])

    def shrunk(self) -> Floats:
        """Best linear unbiased predictions, of values about their mean."""
        weight = np.linalg.inv(self.total)
        one = np.ones((weight.shape[0], 1))
        level = weight @ one @ one.T @ weight / float((one.T @ weight @ one)[0, 0])
        return np.asarray(VALUE**2 * self.value.T @ (weight - level))

    def squared_correlation(self, turn: Floats) -> float:
        """Return that of estimates and true values over objects, from their expected covariances."""
        across = VALUE**2 * np.trace(self.centred @ turn @ self.value)
        own = np.trace(self.centred @ turn @ self.total @ turn.T)
        return float(across**2 / (own * VALUE**2 * np.trace(self.centred)))

    def between_averages(self, part: Floats) -> float:
        turn = self.averages()
        return float(np.trace(self.centred @ turn @ part @ turn.T) / np.trace(self.centred))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shares_and_reliabilities_are_those_of_the_dense_model(seed: int) -> None:
    panel = random_panel(seed, 10, 5, 14)
    dense = Dense(panel)
    fit = eh.refine(panel, shrink=True, value_sd=VALUE, bias_sd=BIAS, noise="declared")
    found = reliability(fit)
    assert found.own == "shrunk"
    parts = {
        "value": dense.between_averages(VALUE**2 * dense.value @ dense.value.T),
        "bias": dense.between_averages(BIAS**2 * dense.bias @ dense.bias.T),
        "noise": dense.between_averages(dense.noise),
    }
    total = sum(parts.values())
    assert estimates(found.shares) == pytest.approx({name: part / total for name, part in parts.items()})
    assert estimates(found.reliabilities) == pytest.approx(
        {name: dense.squared_correlation(getattr(dense, name)()) for name in ("averages", "calibrated", "shrunk")}
    )
    variances = {"value": VALUE**2, "bias": BIAS**2, "noise": float(np.mean(1 / panel.precision))}
    assert estimates(found.variances) == pytest.approx(variances)


def test_where_everybody_read_everything_there_is_no_luck() -> None:
    found = reliability(eh.calibrate(complete_panel("two_assessors")))
    assert estimates(found.shares)["bias"] == pytest.approx(0, abs=1e-12)
    consistency = estimates(found.icc)["ICC(3,k)"]
    assert list(estimates(found.reliabilities).values()) == pytest.approx([consistency] * 3, abs=1e-6)
    assert "luck" not in found.sentence


def test_a_plain_fit_is_shrunk_for_the_question() -> None:
    panel = eh.simulate_panel(30, 6, 3, seed=5, bounds=None).panel
    found = reliability(eh.calibrate(panel))
    for other in (eh.refine(panel, shrink=True), eh.weighted_average(panel), eh.median_polish(panel)):
        assert estimates(reliability(other).shares) == pytest.approx(estimates(found.shares), rel=1e-9)
    # without confidences the model is another one
    equal = estimates(reliability(eh.incomplete_block(panel)).shares)
    assert equal == pytest.approx(estimates(reliability(eh.simple_average(panel)).shares))
    assert equal != pytest.approx(estimates(found.shares), rel=1e-3)


def test_nothing_depends_on_gauge_order_or_scale() -> None:
    panel = eh.simulate_panel(20, 5, 3, seed=2, bounds=None).panel
    found = reliability(eh.calibrate(panel))
    anchored = reliability(eh.calibrate(panel, gauge=eh.Anchor("1")))
    order = np.random.default_rng(1).permutation(panel.n_assessments)
    ends = panel.object_index[order], panel.assessor_index[order]
    mixed = reliability(eh.calibrate(Panel.from_arrays(*ends, panel.score[order], panel.precision[order])))
    larger = Panel.from_arrays(panel.object_index, panel.assessor_index, 1e6 * panel.score - 5e8, panel.precision)
    scaled = reliability(eh.calibrate(larger))
    assert found.assessors is not None
    for other in (anchored, mixed, scaled):
        assert estimates(other.reliabilities) == pytest.approx(estimates(found.reliabilities), rel=1e-5)
        assert other.assessors is not None
        ours = {one.assessor: (one.infit, one.slope, one.spread, one.verdict) for one in found.assessors}
        for one in other.assessors:
            infit, slope, spread, verdict = ours[one.assessor]
            assert (one.infit, one.slope, one.spread) == pytest.approx((infit, slope, spread), rel=1e-4)
            assert one.verdict == verdict


# --------------------------------------------------------------------------------------------------- Spearman and Brown


def doubled(panel: Panel) -> Panel:
    """Return a panel with as many assessors again, who read what the first ones read."""
    return Panel.from_arrays(
        np.tile(panel.object_index, 2),
        np.concatenate([panel.assessor_index, panel.assessor_index + panel.n_assessors]),
        np.tile(panel.score, 2),
        np.tile(panel.precision, 2),
    )


def test_twice_the_assessors_give_what_the_curve_says() -> None:
    # all pairs of five assessors, an object each: every two of the assessors compare equally well
    pairs = [(a, b) for a in range(5) for b in range(a)]
    objects = np.repeat(np.arange(10), 2)
    # and all pairs of objects by an assessor of their own, so that every two of the objects do
    between = [(a, b) for a in range(6) for b in range(a)]
    balanced = Panel.from_arrays(np.ravel(between), np.repeat(np.arange(15), 2), np.arange(30.0))
    paired = Panel.from_arrays(objects, np.ravel(pairs), np.arange(20.0))
    for panel, names in ((balanced, ("averages", "calibrated", "shrunk")), (paired, ("averages", "calibrated"))):
        once, twice = (
            reliability(eh.refine(one, shrink=True, value_sd=2.0, bias_sd=3.0, noise="declared"))
            for one in (
                Panel.from_arrays(p.object_index, p.assessor_index, p.score, np.ones(p.n_assessments))
                for p in (panel, doubled(panel))
            )
        )
        per_object = round(once.per_object)
        curve = once.curve((per_object, 2 * per_object))
        for name in names:
            assert curve[name] == pytest.approx([estimates(one.reliabilities)[name] for one in (once, twice)])


def test_as_many_assessors_are_needed_as_the_curve_says() -> None:
    found = reliability(eh.calibrate(eh.simulate_panel(40, 8, 3, seed=1, bounds=None).panel))
    curve = found.curve(range(1, 200))
    for target in (0.6, 0.8, 0.95):
        for name, count in found.needed(target).items():
            enough = [k for k, one in zip(curve["per_object"], curve[name], strict=True) if one and one >= target]
            assert count == enough[0]
    with pytest.raises(InputError, match="between 0 and 1"):
        found.needed(1.0)


# --------------------------------------------------------------------------------------------------------- simulation


def test_variances_are_recovered_and_reliability_is_a_squared_correlation() -> None:
    generator = np.random.default_rng(7)
    count, sizes = 40, (40, 8, 3)
    truth = {"value": 10.0, "bias": 7.0, "noise": 6.0}
    found: list[dict[str, float]] = []
    stated: list[dict[str, float]] = []
    across = {name: np.zeros(3) for name in ("averages", "calibrated", "shrunk")}
    for _ in range(count):
        value, bias = generator.normal(50, truth["value"], sizes[0]), generator.normal(0, truth["bias"], sizes[1])
        objects = np.repeat(np.arange(sizes[0]), sizes[2])
        assessors = np.argsort(generator.random(sizes[:2]), axis=1)[:, : sizes[2]].ravel()
        score = value[objects] + bias[assessors] + generator.normal(0, truth["noise"], objects.size)
        panel = Panel.from_arrays(objects, assessors, score)
        shrunk, plain = eh.refine(panel, shrink=True), eh.calibrate(panel)
        one = reliability(shrunk)
        found.append(estimates(one.variances))
        stated.append(estimates(one.reliabilities))
        averages = eh.simple_average(panel)
        for name, fit in (("averages", averages), ("calibrated", plain), ("shrunk", shrunk)):
            estimate, true = fit.values.estimate - fit.values.estimate.mean(), value - value.mean()
            across[name] += (estimate @ true, estimate @ estimate, true @ true)
    for name, sd in truth.items():
        each = np.array([one[name] for one in found])
        assert abs(each.mean() - sd**2) < 2.6 * each.std(ddof=1) / np.sqrt(count)
    for name, (both, own, true) in across.items():
        assert np.mean([one[name] for one in stated]) == pytest.approx(both**2 / (own * true), abs=0.03)


@pytest.mark.study
@pytest.mark.parametrize("sizes", [(40, 10, 3), (60, 15, 2)])
def test_intervals_of_variances_and_shares_cover(sizes: tuple[int, int, int]) -> None:
    n_objects, n_assessors, per_object = sizes
    generator = np.random.default_rng(11)
    inside = []
    for _ in range(300):
        value, bias = generator.normal(50, 10, n_objects), generator.normal(0, 7, n_assessors)
        objects = np.repeat(np.arange(n_objects), per_object)
        order = np.argsort(generator.random((n_objects, n_assessors)), axis=1)[:, :per_object].ravel()
        assessors = np.unique(order, return_inverse=True)[1]
        score = value[objects] + bias[order] + generator.normal(0, 6, objects.size)
        found = reliability(eh.refine(Panel.from_arrays(objects, assessors, score), shrink=True)).variances
        assert found is not None
        inside.append((found.lower <= [100, 49, 36]) & (found.upper >= [100, 49, 36]))
    close(np.mean(inside, axis=0), 0.9, atol=0.045)


# ------------------------------------------------------------------------------------------------ what cannot be told


def untold(found: Reliability) -> str:
    """Check that nothing is said, and return why."""
    told = (found.variances, found.shares, found.reliabilities, found.icc, found.assessors)
    assert told == (None,) * 5
    assert found.sentence == "How far plain averages are luck cannot be told from these scores."
    assert (found.needed(), found.curve(), found.to_frame().height) == (
        {},
        {"per_object": found.curve()["per_object"]},
        0,
    )
    return " ".join(str(note) for note in found.notes)


def test_a_panel_that_tells_nothing_says_why() -> None:
    once = Panel.from_arrays([0, 1, 2, 3], [0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0])
    assert "no object was seen twice" in untold(reliability(eh.calibrate(once)))
    alone = Panel.from_arrays([0, 0, 0], [0, 1, 2], [1.0, 2.0, 4.0])
    assert "1 object cannot tell how values spread" in untold(reliability(eh.calibrate(alone)))
    agreed = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [8.0, 7.0, 7.0, 6.0])
    assert "no noise to estimate" in untold(reliability(eh.calibrate(agreed)))
    same = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [5.0] * 4)
    assert "all scores are the same" in untold(reliability(eh.simple_average(same)))


def test_where_assessors_are_seen_once_bias_and_noise_count_as_one() -> None:
    panel = complete_panel("small_biases")
    once = Panel.from_arrays(panel.object_index, np.arange(panel.n_assessments), panel.score)
    found = reliability(eh.simple_average(once))
    assert set(estimates(found.shares)) == {"value", "noise"}
    assert any("cannot be told apart" in str(note) for note in found.notes)
    assert found.assessors is not None
    assert {one.verdict for one in found.assessors} == {"too few scores to tell"}
    # the analysis of variance by object, which psych made of the same scores
    wanted = {row["type"]: float(row["icc"]) for row in stored("psych.csv") if row["panel"] == "small_biases"}
    icc = estimates(found.icc)
    assert (icc["ICC(2,1)"], icc["ICC(3,1)"]) == pytest.approx((wanted["ICC1"],) * 2, abs=1e-6)
    assert estimates(found.reliabilities)["averages"] == pytest.approx(wanted["ICC1k"], abs=1e-6)
    # uncertainties at face value do tell them apart
    sure = Panel.from_arrays(once.object_index, once.assessor_index, once.score, np.full(once.n_assessments, 1 / 25))
    assert "bias" in estimates(reliability(eh.weighted_average(sure, noise="declared")).shares)


def test_groups_have_reliability_when_shrunk_alone() -> None:
    panel = eh.simulate_panel(24, 8, 5, seed=4, bounds=None).panel
    groups = panel.restrict(panel.object_index % 2 == panel.assessor_index % 2)
    found = reliability(eh.calibrate(groups, per_component=True))
    assert set(estimates(found.reliabilities)) == {"averages", "shrunk"}
    assert {note.kind for note in found.notes} == {"joined_by_priors", "not_comparable"}
    assert found.sentence.endswith(
        "noise, if the groups are equally good and their assessors equally strict on the whole."
    )
    assert any("the method used does not compare groups" in note.message for note in found.notes)
    assert any("of their group" in one or "Within each group" in one for one in found.sentences())


def test_criteria_are_looked_at_together() -> None:
    panel = eh.simulate_panel(24, 8, 3, seed=4, bounds=None).panel
    noise = np.random.default_rng(1).normal(0, 4, 2 * panel.n_assessments)
    criteria = Panel.from_arrays(
        np.repeat(panel.object_index, 2),
        np.repeat(panel.assessor_index, 2),
        np.repeat(panel.score, 2) + noise,
        criterion=["merit", "style"] * panel.n_assessments,
    )
    found = reliability(eh.calibrate_criteria(criteria))
    combined = Panel.from_arrays(
        panel.object_index, panel.assessor_index, panel.score + noise.reshape(-1, 2).mean(axis=1)
    )
    wanted = estimates(reliability(eh.calibrate(combined)).shares)
    assert estimates(found.shares) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    "assumed",
    [{"tails": "student"}, {"shrink": True, "scale": True}, {"shrink": "biases"}, {"scores": eh.Bounded(-50, 150)}],
)
def test_what_else_a_model_assumes_is_left_out_and_said(assumed: dict[str, Any]) -> None:
    panel = eh.simulate_panel(24, 6, 3, seed=4).panel
    found = reliability(eh.refine(panel, **assumed))
    assert estimates(found.shares) == pytest.approx(estimates(reliability(eh.calibrate(panel)).shares))
    assert any("and assumes nothing else" in str(note) for note in found.notes)


def test_a_fit_on_a_cluster_is_refused() -> None:
    from evenhand.cluster.calibrate import OnCluster

    method = OnCluster("cwc", calibrates=True, weighs=True, make=eh.calibrate)
    assert "workers of the cluster" in method.why_not("reliability")


# -------------------------------------------------------------------------------------------------------------- shown


def test_it_is_shown_on_one_screen_and_as_tables() -> None:
    panel = eh.simulate_panel(30, 15, 3, seed=5, bounds=None).panel
    found = reliability(eh.calibrate(panel))
    frame = found.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns[:4] == ["assessor", "scores", "verdict", "infit"]
    assert frame["scores"].to_list() == panel.assessor_assessments.tolist()
    lines = str(found).splitlines()
    assert len(lines) <= 30
    assert lines[0] == found.sentence
    assert found._repr_html_().count("<table>") == 3


def test_whole_percents_add_up() -> None:
    for seed in range(8):
        found = reliability(eh.calibrate(eh.simulate_panel(20, 6, 3, seed=seed, bounds=None).panel))
        made = found.sentence.split(":")[0]
        shares = [int(part.split()[-1]) for part in made.split("% is")[:-1]]
        assert sum(shares) == 100
        assert found.shares is not None
        exact = 100 * found.shares.estimate
        if "less than 1%" not in made:
            assert np.abs(np.array(shares) - exact).max() < 1
        assert found.reliabilities is not None  # of averages it is the same number, and looks the same
        assert f"{shares[0] / 100:.2f}" == f"{found.reliabilities.estimate[0]:.2f}"


def test_labels_are_text_in_notebooks() -> None:
    cells = {"object": list("aabbccdd"), "assessor": ["<x>", "y"] * 4, "score": [1.0, 2, 3, 5, 7, 6, 9, 9]}
    panel = Panel.from_frame(pl.DataFrame(cells))
    assert "<x>" not in reliability(eh.calibrate(panel))._repr_html_()


# -------------------------------------------------------------------------------------------------------- other doors


def test_the_command_says_what_the_library_says(tmp_path: Path) -> None:
    found = reliability(eh.calibrate(eh.read_panel(demo_path())))
    told = json.loads(CliRunner().invoke(main, ["calibrate", str(demo_path()), "--reliability", "--json"]).stdout)
    assert told["reliability"]["sentences"] == found.sentences()
    assert [row["verdict"] for row in told["reliability"]["assessors"]] == found.columns()["verdict"]
    assert told["reliability"]["needed"] == found.needed()
    shown = CliRunner().invoke(main, ["calibrate", str(demo_path()), "--reliability"]).stdout
    assert found.sentence in shown.replace("\n", " ")
    plain = CliRunner().invoke(main, ["calibrate", str(demo_path()), "--json"]).stdout
    assert "reliability" not in json.loads(plain)


def test_reports_and_workbooks_have_it(tmp_path: Path) -> None:
    panel = eh.read_panel(demo_path())
    fit = eh.calibrate(panel)
    found = reliability(fit)
    page = eh.report(fit, tmp_path / "report.html", comparison=False).read_text(encoding="utf-8")
    assert all(html.escape(sentence) in page for sentence in found.sentences())
    sheet = openpyxl.load_workbook(eh.workbook(fit, tmp_path / "results.xlsx"))["assessor_fit"]
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0] == tuple(found.columns())
    assert [row[0] for row in rows[1:]] == list(panel.assessors)


def test_large_panels_have_no_statistics_of_assessors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("answers.reliability", "reports.page", "reports.workbook"):
        monkeypatch.setattr(f"evenhand.{module}.LARGEST", 50)
    fit = eh.calibrate(eh.read_panel(demo_path()))
    found = reliability(fit)
    assert found.assessors is None
    assert found.shares is not None
    assert any("no statistics of single assessors" in str(note) for note in found.notes)
    assert "assessor_fit" not in openpyxl.load_workbook(eh.workbook(fit, tmp_path / "results.xlsx")).sheetnames
    page = eh.report(fit, tmp_path / "report.html", comparison=False).read_text(encoding="utf-8")
    assert "How good the panel is" not in page


@pytest.mark.parametrize(
    ("odd", "count", "is_chance"), [(2, 40, True), (3, 60, True), (1, 20, True), (3, 40, False), (1, 6, False)]
)
def test_odd_verdicts_no_more_than_chance_gives_are_said_to_be_that(odd: int, count: int, is_chance: bool) -> None:
    verdicts: list[Verdict] = ["erratic" if at < odd else "consistent" for at in range(count)]
    assessors = tuple(AssessorFit(f"A{at}", 9, verdict) for at, verdict in enumerate(verdicts))
    said = replace(eh.reliability(eh.calibrate(eh.demo())), assessors=assessors).sentences()[-1]
    assert (said.endswith((" (may be chance).", "; both may be chance.", "; all 3 may be chance."))) == is_chance
    assert said.count("A0") == 1
