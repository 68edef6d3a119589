"""Options that refine calibration: each says what is assumed beyond value plus bias plus noise."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

import click

from evenhand.cli.options import Command, add_options, headed, numbers, typed_options

if TYPE_CHECKING:
    from evenhand.models.bounded import ScoreMap
    from evenhand.models.refined import Refinements

_SCORES: Final = ("step", "bounds", "map_", "log_scores")
_MODEL: Final = (
    *("shrink", "shrink_biases", "value_sd", "bias_sd", "scale", "calibrate_confidence"),
    *("power", "tails", "freedom"),
)
_LEVEL: Final = ("gauge", "reference", "known")


class _NumberOrEstimated(click.ParamType[float | str]):
    """A number, or the word ``estimated``."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return the number, or ``"estimated"``."""
        if value == "estimated":
            return "estimated"
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} should be a number or the word estimated.", param, ctx)
        return number


def score_options(command: Command) -> Command:
    """Add the options that say what kind of numbers scores are; the command gets ``step`` and ``scores``, a map."""
    option = headed("Refinements of cwc and iba")

    @functools.wraps(command)
    def wrapped(bounds: tuple[float, ...], map_: Any, log_scores: bool, **others: Any) -> Any:
        return command(scores=_score_map(bounds, map_, log_scores), **others)

    return add_options(
        [
            option("--step", type=float, metavar="X", help="Scores were rounded to multiples of X, such as 10."),
            option(
                "--bounds",
                metavar="A,B",
                callback=numbers,
                help="Marks end at A and B, such as 0,100: biases fade towards the ends.",
            ),
            option(
                "--map",
                "map_",
                type=click.Choice(["logit", "rational"]),
                help="How the ends of --bounds are stretched.  [default: logit]",
            ),
            option(
                "--log-scores", is_flag=True, help="Biases are factors, as of prices: work with logarithms of scores."
            ),
        ],
        wrapped,
    )


def refinement_options(command: Command) -> Command:
    """Add the options of refined models; the command gets ``refinements``, None where none was asked for."""
    option = headed("Refinements of cwc and iba")

    @functools.wraps(command)
    def wrapped(
        shrink: bool,
        shrink_biases: bool,
        value_sd: float | None,
        bias_sd: float | None,
        scale: bool,
        calibrate_confidence: bool,
        power: Any,
        tails: Any,
        freedom: Any,
        step: float | None,
        scores: ScoreMap | None,
        **others: Any,
    ) -> Any:
        from evenhand.models.refined import Refinements

        if shrink and shrink_biases:
            raise click.UsageError("--shrink draws biases too: leave --shrink-biases out.")
        if freedom is not None and tails != "student":
            raise click.UsageError("--freedom is of Student's noise: use it with --tails student.")
        if value_sd is not None and not shrink:
            raise click.UsageError("--value-sd is the spread of a prior of values: use it with --shrink.")
        if bias_sd is not None and not (shrink or shrink_biases):
            raise click.UsageError("--bias-sd is the spread of a prior of biases: use it with --shrink.")
        if scale and not shrink:
            raise click.UsageError("--scale cannot tell scales from values and biases without priors: use --shrink.")
        typed = typed_options((*_MODEL, *_SCORES))
        asked = Refinements(
            shrink="biases" if shrink_biases else shrink,
            value_sd=value_sd,
            bias_sd=bias_sd,
            scale=scale,
            calibrate_confidence=calibrate_confidence,
            power=1.0 if power is None else power,
            tails=tails,
            freedom=4.0 if freedom is None else None if freedom == "estimated" else freedom,
            step=step,
            scores=scores,
        )
        return command(refinements=asked if typed else None, **others)

    return add_options(
        [
            option(
                "--shrink",
                is_flag=True,
                help="Draw values and biases towards their means: the fewer scores, the further. For thin panels.",
            ),
            option("--shrink-biases", is_flag=True, help="Draw biases alone towards zero."),
            option("--value-sd", type=float, metavar="X", help="Spread of values in points, instead of estimated."),
            option("--bias-sd", type=float, metavar="X", help="Spread of biases in points, instead of estimated."),
            option(
                "--scale",
                is_flag=True,
                help="Assessors have scales of their own: some spread their scores, some bunch them. With --shrink.",
            ),
            option(
                "--calibrate-confidence",
                is_flag=True,
                help="Find how noisy each assessor's scores are beside what was declared.",
            ),
            option(
                "--power",
                type=_NumberOrEstimated(),
                metavar="X|estimated",
                help="How much differences in declared confidence count: 0 not at all, 1 as declared.",
            ),
            option(
                "--tails",
                type=click.Choice(["student", "huber"]),
                help="Now and then a score is far off: let it pull less.",
            ),
            option(
                "--freedom",
                type=_NumberOrEstimated(),
                metavar="X|estimated",
                help="Degrees of freedom of --tails student; the fewer, the heavier the tails.  [default: 4]",
            ),
        ],
        score_options(wrapped),
    )


def check_refinements(method: str, refinements: Refinements | None) -> None:
    """Refuse, before anything is read, refinements that would have no effect, or that take effect from others."""
    typed = typed_options((*_MODEL, *_SCORES, "covariates"))
    if method not in ("iba", "cwc"):
        if typed:
            raise click.UsageError(f"{typed[0]} refines calibration: use it with --method cwc or iba, not {method}.")
        return
    if method == "iba" and typed_options(("power",)):
        raise click.UsageError("--method iba is --power 0: leave one of the two out.")
    if refinements is None or refinements.shrink is False:
        return
    shrinking = typed_options(("shrink", "shrink_biases"))[0]
    for option in typed_options(_LEVEL):
        raise click.UsageError(f"{option} has no effect with {shrinking}, which puts zero where biases centre.")
    for option in typed_options(("per_component",)):
        raise click.UsageError(f"{option} has no effect with {shrinking}, which makes all groups comparable.")


def _score_map(bounds: tuple[float, ...], shape: Any, log_scores: bool) -> ScoreMap | None:
    """Return the map of the scores that options ask for, or None."""
    from evenhand.models.bounded import Bounded, Logarithm

    if shape is not None and not bounds:
        raise click.UsageError("--map is the shape of a bounded scale: use it with --bounds.")
    if bounds and log_scores:
        raise click.UsageError("--bounds and --log-scores are different scales: choose one of the two.")
    if typed_options(("bounds",)) and len(bounds) != 2:
        raise click.UsageError(f"--bounds takes two numbers, A,B, not {len(bounds)}.")
    if bounds:
        return Bounded(bounds[0], bounds[1], "logit" if shape is None else shape)
    return Logarithm() if log_scores else None
