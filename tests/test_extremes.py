"""Extreme scores, confidences and options: a right answer or a refusal in a sentence, by every method and solver."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import EvenhandError
from evenhand.models.refined import refine
from evenhand.panel.panel import Panel
from evenhand.reports.summary import summarise_fit
from evenhand.solve import SolverKind
from panels import doubles, exact_fit

# 3 objects, 3 assessors, complete; and two halves that one link holds together
COMPLETE = np.divmod(np.arange(9), 3)
HALVES = np.array([0, 0, 1, 1, 2, 2, 3, 3, 1]), np.array([0, 1, 0, 1, 2, 3, 2, 3, 2])
SCORES = np.array([3.0, 4.0, 6.0, 1.0, 2.5, 2.0, 7.0, 6.0, 9.2])


def spread_out(orders: float) -> Any:
    """Return nine confidences over so many orders of magnitude, in no order."""
    return 10.0 ** np.linspace(-orders / 2, orders / 2, 9)[[4, 0, 8, 2, 6, 1, 3, 7, 5]]


def weakly_joined(orders: float) -> Any:
    return np.where(np.arange(9) == 8, 10.0**-orders, 1.0)


PANELS: dict[str, Panel] = {
    **{
        f"scores {size:g}": Panel.from_arrays(*COMPLETE, SCORES * size)
        for size in (1e300, 1e200, 1e150, 1e-150, 1e-200)
    },
    **{
        f"scores {size:g} and confidences": Panel.from_arrays(
            *COMPLETE, SCORES * size, spread_out(2), covariates={"order": np.arange(9.0)[[2, 0, 1, 5, 3, 8, 7, 6, 4]]}
        )
        for size in (1e307, 1e200, 1e-160)
    },
    **{
        f"confidences over {orders} orders": Panel.from_arrays(
            *COMPLETE, SCORES, spread_out(orders), covariates={"order": np.arange(9.0)[[2, 0, 1, 5, 3, 8, 7, 6, 4]]}
        )
        for orders in (12, 26, 60, 120, 300, 600)
    },
    **{
        f"halves joined by 1e-{orders}": Panel.from_arrays(*HALVES, SCORES, weakly_joined(orders))
        for orders in (6, 12, 16, 22, 25, 28, 200)
    },
    "confidences of 1e300": Panel.from_arrays(*COMPLETE, SCORES, np.full(9, 1e300)),
    "confidences of 1e-300": Panel.from_arrays(*COMPLETE, SCORES, np.full(9, 1e-300)),
}
PLAIN: dict[str, tuple[Callable[..., eh.Fit], bool, bool]] = {  # with equal weights, and biases
    "sa": (eh.simple_average, True, False),
    "cwa": (eh.weighted_average, False, False),
    "iba": (eh.incomplete_block, True, True),
    "cwc": (eh.calibrate, False, True),
    "cwc, direct": (lambda panel: eh.calibrate(panel, solver="direct"), False, True),
    "cwc, sparse": (lambda panel: eh.calibrate(panel, solver="sparse"), False, True),
    "cwc, iterative": (lambda panel: eh.calibrate(panel, solver="iterative"), False, True),
    "iba, iterative": (lambda panel: eh.incomplete_block(panel, solver="iterative"), True, True),
    "cwc by refine": (refine, False, True),
    "iba by refine": (lambda panel: refine(panel, power=0.0), True, True),
}
ASSUMED: dict[str, dict[str, Any]] = {
    "shrink": {"shrink": True},
    "shrink biases": {"shrink": "biases"},
    "student": {"tails": "student"},
    "huber": {"tails": "huber"},
    "scale": {"shrink": True, "scale": True},
    "confidences": {"calibrate_confidence": True},
    "power": {"power": "estimated"},
    "covariates": {"covariates": ("order",)},
}


def numbers_of(fit: eh.Fit) -> dict[str, Any]:
    """Return what a fit says in numbers."""
    sides = {
        f"{name} {what}": getattr(side, what)
        for name, side in (("values", fit.values), ("biases", fit.biases))
        for what in ("estimate", "sd", "lower", "upper")
    }
    return sides | {"residual": fit.residual, "noise": fit.noise_variance, "rms": fit.rms_uncertainty}


def check_finite(fit: eh.Fit) -> None:
    for name, numbers in numbers_of(fit).items():
        assert numbers is None or np.isfinite(numbers).all(), name


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("panel", PANELS)
def test_plain_methods_are_right_or_refuse(panel: str, method: str) -> None:
    fit_by, equal, calibrated = PLAIN[method]
    given = PANELS[panel]
    try:
        fit = fit_by(given)
    except EvenhandError as error:
        assert str(error).endswith(".")  # noqa: PT017
        return
    check_finite(fit)
    truth = exact_fit(given, equal=equal, calibrated=calibrated, digits=700)
    assert fit.residual == pytest.approx(truth.residual(), rel=1e-8)
    wanted = doubles([value - truth.values[0] for value in truth.values])
    found = fit.values.estimate - fit.values.estimate[0]
    # by their own standard deviations where an iteration was asked for, to nine digits of the scores elsewhere
    away = np.abs(found - wanted)
    sd = np.zeros(found.size) if "iterative" not in method or fit.values.sd is None else 1e-6 * fit.values.sd
    assert (away <= np.maximum(sd, 1e-9 * np.abs(given.score).max())).all()


@pytest.mark.parametrize("assumed", ASSUMED)
@pytest.mark.parametrize("panel", [name for name in PANELS if not re.search(r"halves|over (12|60|300)", name)])
def test_refined_models_give_numbers_or_refuse(panel: str, assumed: str) -> None:
    try:
        fit = refine(PANELS[panel], **ASSUMED[assumed])
    except EvenhandError as error:
        assert not re.search(r"\b(nan|inf)\b", str(error))  # noqa: PT017
        return
    check_finite(fit)


@pytest.mark.parametrize("panel", PANELS)
def test_medians_give_numbers_or_refuse(panel: str) -> None:
    try:
        check_finite(eh.median_polish(PANELS[panel]))
    except EvenhandError:
        return


def test_a_solver_asked_for_by_name_does_not_lose_a_weak_link() -> None:
    panel = Panel.from_arrays(*HALVES, SCORES, weakly_joined(22))
    for solver in ("auto", "direct", "sparse", "iterative"):
        kind: SolverKind = solver
        with pytest.raises(EvenhandError, match=r"so small beside the others|joined too weakly"):
            eh.calibrate(panel, solver=kind)


def test_a_residual_that_rounding_hides_is_found_with_more_digits_or_refused() -> None:
    generator = np.random.default_rng(11)
    told = 0
    for _ in range(60):
        score = np.round(generator.uniform(0, 100, 9), 1)
        panel = Panel.from_arrays(*COMPLETE, score, 10.0 ** generator.uniform(-30, 30, 9))
        for fit_by, calibrated in ((eh.calibrate, True), (eh.weighted_average, False)):
            try:
                fit = fit_by(panel)
            except EvenhandError as error:
                assert "rounding hides" in str(error) or "cannot be compared" in str(error)  # noqa: PT017
                continue
            wanted = exact_fit(panel, calibrated=calibrated, digits=150).residual()
            assert fit.residual == pytest.approx(wanted, rel=1e-9)
            told += 1
    assert told > 30


def test_a_small_panel_is_not_called_too_large() -> None:
    fit = eh.calibrate(Panel.from_arrays(*COMPLETE, SCORES), solver="iterative")
    notes = [note["message"] for note in summarise_fit(fit)["notes"] if note["kind"] == "sampled"]
    assert notes
    assert all("too large" not in note for note in notes)
    assert all("direct solver" in note for note in notes)


@pytest.mark.parametrize(
    "options",
    [
        {"shrink": True, "value_sd": 1e200},
        {"shrink": True, "bias_sd": 1e-200},
        {"shrink": True, "value_sd": 1e50, "bias_sd": 1e-50},
        {"tails": "student", "freedom": 1e300},
        {"tails": "student", "freedom": 1e-300},
        {"step": 1e-300},
        {"power": 5.0},
        {"power": -3.0},
    ],
    ids=str,
)
def test_extreme_options_give_numbers_or_refuse(options: dict[str, Any]) -> None:
    try:
        check_finite(refine(Panel.from_arrays(*COMPLETE, SCORES, spread_out(2)), **options))
    except EvenhandError:
        return


@pytest.mark.parametrize(
    "numbers", [(50, 1e300, 1, 1, 2), (50, 1e-300, 1, 1, 2), (1e300, 1, 1, 1, 2), (50, 1, 1e200, 1e-300, 1e300)]
)
def test_extreme_priors_are_refused(numbers: tuple[float, ...]) -> None:
    with pytest.raises(EvenhandError, match="too extreme"):
        eh.Priors(*numbers)


@pytest.mark.parametrize(
    "options", ["", "--power 0", "--shrink", "--tails student", "--solver iterative", "--method sa"]
)
def test_the_command_line_refuses_scores_that_overflow(options: str, tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    rows = [
        f"{o},{a},{s * 1e200:g},{c}" for o, a, s, c in zip(*COMPLETE, SCORES, [1, 2, 1, 1, 3, 1, 2, 1, 1], strict=True)
    ]
    path.write_text("object,assessor,score,confidence\n" + "\n".join(rows) + "\n")
    found = CliRunner().invoke(main, ["calibrate", str(path), *options.split()])
    assert found.exit_code in (1, 2), found.output
    assert "rescale them" in found.output
