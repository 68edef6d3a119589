"""The options of a fit: the file, the gauge, the method with its refinements, and several criteria."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from evenhand.cli import options as ask
from evenhand.cli.options import Options, part, typed
from evenhand.cli.showing import say_beside

if TYPE_CHECKING:
    from evenhand.models.bounded import ScoreMap
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit, Method
    from evenhand.models.noise import NoiseKind
    from evenhand.models.refined import Refinements
    from evenhand.panel.gauge import Gauge
    from evenhand.panel.layout import Kind
    from evenhand.panel.panel import Panel


_CELLS: Final = "What stands in its cells"


class FileOptions(Options, heading="The file"):
    """How a file is read."""

    file: Path = ask.argument(type=click.Path(path_type=Path))
    object_: str | None = ask.text("COLUMN", "Column of objects, if its name is not recognised.")
    assessor: str | None = ask.text("COLUMN", "Column of assessors.")
    score: str | None = ask.text("COLUMN", "Column of scores.")
    uncertainty: str | None = ask.text("COLUMN", "Column of standard deviations of the scores.")
    confidence: str | None = ask.text("COLUMN", "Column of positive weights (1/variance).")
    level: str | None = ask.text("COLUMN", "Column of levels: high, medium, low (h, m, l), or steps such as 1 to 5.")
    criterion: str | None = ask.text(
        "COLUMN", "Column that says which criterion a score is for: an assessor scores an object once for each."
    )
    covariates: tuple[str, ...] = ask.text(
        "COLUMN",
        "Column of something else that may sway a score, such as the order of reading: numbers, or categories. "
        "Calibration takes its effect out. May be repeated.",
        "--covariate",
        multiple=True,
    )
    factor: float = ask.number(None, "Ratio of the uncertainties of neighbouring levels.", default=1.75, heading=_CELLS)
    aliases: dict[str, str] = ask.text(
        "WORD=LEVEL",
        "Another word for a level, such as hoch=high. May be repeated.",
        "--alias",
        multiple=True,
        callback=ask.pairs,
        heading=_CELLS,
    )
    duplicates: Literal["error", "keep", "combine", "last"] = ask.choice(
        ["error", "keep", "combine", "last"],
        "What to do where an assessor scored an object twice.",
        default="error",
        heading=_CELLS,
    )
    missing: tuple[str, ...] = ask.text(
        "TEXT", "A text that means an empty cell, such as NA. May be repeated.", multiple=True, heading=_CELLS
    )
    sheet: str | None = ask.text("NAME", "Sheet of a workbook. Default: the first that is not empty.")
    layout: Kind | None = ask.choice(
        ["long", "wide", "across", "groups"],
        "One assessment a row; objects down and assessors across; the other way round; or several named assessors a "
        "row. Default: found out.",
    )
    wide: bool = ask.flag("As --layout wide: objects down and assessors across.")
    criteria: tuple[str, ...] = ask.text(
        "COLUMN,COLUMN", "Columns of scores of which each is a criterion.", callback=ask.names
    )
    columns: tuple[str, ...] = ask.text(
        "COLUMN,COLUMN",
        "Columns of scores, where each is an assessor's (or an object's): all others are left out.",
        callback=ask.names,
    )
    scores: dict[str, float] | None = ask.text(
        "WORD=X,WORD=X",
        "What scores in words stand for, such as Reject=1,Weak accept=3.",
        callback=ask.word_numbers,
        heading=_CELLS,
    )
    level_scale: tuple[float, float] | None = ask.text(
        "LOW,HIGH",
        "Ends of a scale of confidence, least sure first, such as 1,5.",
        callback=ask.two_numbers,
        heading=_CELLS,
    )
    best: Literal["highest", "lowest"] | None = ask.choice(
        ["highest", "lowest"],
        "Which score is the best. Lowest turns scores around, as German marks from 1 to 6. Default: highest, or asked.",
        heading=_CELLS,
    )
    corrections: dict[str, str] = ask.text(
        "ROW:COLUMN=TEXT",
        "Read a cell as something else, such as 26:Ito=80; nothing after = for an empty one; what stands there to say "
        "that it is right. The file stays as it is. May be repeated.",
        "--correct",
        multiple=True,
        callback=ask.pairs,
        heading=_CELLS,
    )
    format: str | None = ask.text("NAME", "The system that wrote the file. Default: recognised by its content.")
    max_unpacked: int = ask.whole("MIB", "Refuse a workbook that unpacks to more than this.", default=512)

    def check(self) -> None:
        """Refuse two layouts at once."""
        if self.wide and self.layout not in (None, "wide"):
            raise click.UsageError("--wide is --layout wide: leave one of the two out.")

    def typed(self) -> dict[str, Any]:
        """Return what was typed of how the file is read, by the names that `read_panel` has for it."""
        context = click.get_current_context()
        return {
            name.rstrip("_"): value
            for name, value in vars(self).items()
            if name not in ("file", "max_unpacked")
            and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        }

    def kept(self) -> dict[str, Any]:
        """Return what was typed that a reading does not tell again."""
        told_again = ("object", "assessor", "score", "uncertainty", "confidence", "level", "criterion", "criteria")
        left = {*told_again, "layout", "wide", "scores"}
        return {name: value for name, value in self.typed().items() if name not in left}

    def read(self, *, is_told: bool = True) -> Panel:
        """Return the panel that the file holds, and say on standard error how it was read."""
        from evenhand.io import read_panel

        panel = read_panel(self.file, max_unpacked=self.max_unpacked * 2**20, **self.typed())
        if is_told and panel.reading is not None:
            say_beside(panel.reading.sentence())
        return panel


class Input(Options):
    """A file, and whether to say how the work on it is done."""

    reading: FileOptions = part(FileOptions)
    verbose: bool = ask.verbose_flag()

    def refuse_criteria(self) -> None:
        """Refuse a column of criteria where scores for different criteria would be taken for repeats of one another."""
        name = click.get_current_context().info_name
        ask.refuse(f"goes with calibrate and rank; for {name}, choose the rows of one criterion.", "criterion")


class Gauging(Options, heading="Where zero bias lies"):
    """The level of the biases."""

    gauge: str = ask.text(
        "weighted|zero-sum|reference|anchor:LABEL",
        "Where zero bias lies. anchor:LABEL trusts an assessor. Ranks do not depend on it.",
        default="weighted",
    )
    reference: float | None = ask.number("V", "The notional mean of --gauge reference.")
    known: dict[str, float] = ask.text(
        "OBJECT=VALUE", "Anchor on an object of known value. May be repeated.", multiple=True, callback=ask.number_pairs
    )
    per_component: bool = ask.flag(
        "Calibrate each group of a panel that is not connected on its own; groups are not comparable."
    )

    def check(self) -> None:
        """Refuse what is no gauge."""
        self.parsed()

    def parsed(self) -> Gauge:
        """Return the gauge that the options mean."""
        from evenhand.panel.gauge import Anchor, Reference

        name, colon, label = self.gauge.partition(":")
        kind = name.strip().lower().replace("_", "-")
        if self.known:
            if kind != "weighted":
                raise click.UsageError("--known is a gauge of its own: leave --gauge out.")
            return Anchor(values=self.known)
        if kind == "reference":
            if self.reference is None:
                raise click.UsageError("--gauge reference needs --reference V, the notional mean value.")
            return Reference(self.reference)
        if self.reference is not None:
            raise click.UsageError("--reference goes with --gauge reference.")
        if kind == "anchor" and colon and label:
            return Anchor(label)
        if kind == "weighted" and not colon:
            return "weighted"
        if kind == "zero-sum" and not colon:
            return "zero_sum"
        raise click.UsageError(f"{self.gauge!r} is not a gauge: use weighted, zero-sum, reference or anchor:LABEL.")


class MethodOptions(Options, heading="The method"):
    """The method, and how it treats noise."""

    method: str = ask.choice(
        ["sa", "cwa", "iba", "cwc", "medians"],
        "Simple or confidence-weighted averages, calibration without or with confidence; or the last "
        "by medians, without intervals.",
        default="cwc",
    )
    noise: NoiseKind = ask.choice(
        ["estimated", "declared"],
        "Scale of the noise: from the residual, or declared uncertainties at face value.",
        default="estimated",
    )
    interval: float = ask.number(None, "Probability of the intervals.", default=0.9)
    solver: str = ask.choice(
        ["auto", "direct", "sparse", "iterative"],
        "How the equations are solved; auto chooses by size and shape, and --verbose says why.",
        default="auto",
    )

    def plain(self) -> Method | None:
        """Return the method of the paper that was asked for; None for medians, which are none of them."""
        from evenhand.models.additive import METHODS

        return METHODS.get(self.method)


class _NumberOrEstimated(click.ParamType[float | str]):
    """A number, or the word ``estimated``."""

    name = "number"

    def __init__(self, least: float = 0.0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return the number, or ``"estimated"``."""
        if value == "estimated":
            return "estimated"
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            self.fail(f"{value!r} should be a number or the word estimated.", param, ctx)
        return ask.refuse_extreme(found, self, param, ctx, self.least)


class Scores(Options, heading="Refinements of cwc and iba"):
    """What kind of numbers scores are."""

    step: float | None = ask.number("X", "Scores were rounded to multiples of X, such as 10.")
    bounds: tuple[float, ...] = ask.text(
        "A,B",
        "Marks end at A and B, such as 0,100: biases fade towards the ends, and a mark at an end says 'at least'. "
        "Shrinks.",
        callback=ask.numbers,
    )
    map_: Literal["logit", "rational"] | None = ask.choice(
        ["logit", "rational"], "How the ends of --bounds are stretched.  [default: logit]"
    )
    log_scores: bool = ask.flag("Biases are factors, as of prices: they add up on a logarithmic scale. Shrinks.")
    ordinal: Literal["probit", "logit"] | None = ask.choice(
        ["probit", "logit"], "Scores are ordered categories, such as 1 to 5, of which only the order counts. Shrinks."
    )

    def check(self) -> None:
        """Refuse a scale that makes no sense."""
        if self.map_ is not None and not self.bounds:
            raise click.UsageError("--map is the shape of a bounded scale: use it with --bounds.")
        if self.bounds and self.log_scores:
            raise click.UsageError("--bounds and --log-scores are different scales: choose one of the two.")
        if typed("bounds") and len(self.bounds) != 2:
            raise click.UsageError(f"--bounds takes two numbers, A,B, not {len(self.bounds)}.")
        if self.ordinal is not None and (self.bounds or self.log_scores):
            raise click.UsageError("--ordinal takes scores for categories, which have no other scale: leave that out.")
        self.scale()

    @property
    def shrinks(self) -> bool:
        """Whether values and biases are shrunk without being asked for, since such a scale needs it."""
        return bool(self.bounds) or self.log_scores or self.ordinal is not None

    def scale(self) -> ScoreMap | None:
        """Return the map of the scores, where one was asked for."""
        if not self.bounds and not self.log_scores:
            return None
        from evenhand.models.bounded import Bounded, Logarithm

        return Bounded(self.bounds[0], self.bounds[1], self.map_ or "logit") if self.bounds else Logarithm()


class Refining(Options, heading="Refinements of cwc and iba"):
    """What is assumed beyond value plus bias plus noise."""

    shrink: bool = ask.flag(
        "Draw values and biases towards their means: the fewer scores, the further. For thin panels."
    )
    shrink_biases: bool = ask.flag("Draw biases alone towards zero.")
    value_sd: float | None = ask.number("X", "Spread of values in points, instead of estimated.")
    bias_sd: float | None = ask.number(
        "X", "Spread of biases in points, instead of estimated; 0 for averages without biases."
    )
    likelihood: Literal["reml", "ml"] = ask.choice(
        ["reml", "ml"],
        "Whether variances are estimated with the mean and covariates averaged over (reml) or at their best (ml).",
        default="reml",
    )
    scale: bool = ask.flag(
        "Assessors have scales of their own: some spread their scores, some bunch them. With --shrink."
    )
    calibrate_confidence: bool = ask.flag("Find how noisy each assessor's scores are beside what was declared.")
    power: float | Literal["estimated"] | None = ask.option(
        "How much differences in declared confidence count: 0 not at all, 1 as declared.",
        type=_NumberOrEstimated(),
        metavar="X|estimated",
    )
    tails: Literal["student", "huber"] | None = ask.choice(
        ["student", "huber"], "Now and then a score is far off: let it pull less."
    )
    freedom: float | Literal["estimated"] | None = ask.option(
        "Degrees of freedom of --tails student; the fewer, the heavier the tails.  [default: 4]",
        type=_NumberOrEstimated(least=0.01),
        metavar="X|estimated",
    )
    scores: Scores = part(Scores)

    def check(self) -> None:
        """Refuse refinements that lack others."""
        if self.shrink and self.shrink_biases:
            raise click.UsageError("--shrink draws biases too: leave --shrink-biases out.")
        if self.freedom is not None and self.tails != "student":
            raise click.UsageError("--freedom is of Student's noise: use it with --tails student.")
        if self.value_sd is not None and not (self.shrink or self.scores.shrinks):
            raise click.UsageError("--value-sd is the spread of a prior of values: use it with --shrink.")
        if self.bias_sd is not None and not (self.shrink or self.shrink_biases or self.scores.shrinks):
            raise click.UsageError("--bias-sd is the spread of a prior of biases: use it with --shrink.")
        if typed("likelihood") and not (self.shrink or self.shrink_biases):
            raise click.UsageError("--likelihood is how variances of priors are estimated: use it with --shrink.")
        if self.scale and not (self.shrink or self.scores.shrinks):
            raise click.UsageError("--scale cannot tell scales from values and biases without priors: use --shrink.")
        self.refinements()

    def refinements(self) -> Refinements | None:
        """Return the refinements, where any was asked for."""
        if not typed(*self.names()):
            return None
        from evenhand.models.refined import Refinements

        return Refinements(
            shrink="biases" if self.shrink_biases else self.shrink,
            value_sd=self.value_sd,
            bias_sd=self.bias_sd,
            scale=self.scale,
            calibrate_confidence=self.calibrate_confidence,
            power=1.0 if self.power is None else self.power,
            tails=self.tails,
            freedom=4.0 if self.freedom is None else None if self.freedom == "estimated" else self.freedom,
            step=self.scores.step,
            scores=self.scores.scale(),
            ordinal=self.scores.ordinal,
            likelihood=self.likelihood,
        )


class _Fitting(Input):
    """How a file is read and fitted."""

    gauging: Gauging = part(Gauging)
    estimating: MethodOptions = part(MethodOptions)
    refining: Refining = part(Refining)

    def _check_refinements(self) -> None:
        """Refuse refinements that would have no effect, or that take effect from others."""
        method, plain = self.estimating.method, self.estimating.plain()
        if plain is None:
            ask.refuse("has no effect with medians, which have no intervals.", "interval", "noise", "seed", "draws")
            ask.refuse("is about least squares, and medians are none: leave it out.", "solver")
        elif not plain.is_calibrated:
            ask.refuse(f"is about biases, and --method {method} has none.", *Gauging.names(), "solver")
        if plain is None or not plain.is_calibrated:
            why = f"refines calibration: use it with --method cwc or iba, not {method}."
            ask.refuse(why, "covariates", *Refining.names())
            return
        if not plain.uses_confidence and typed("power"):
            raise click.UsageError(f"--method {method} is --power 0: leave one of the two out.")
        for shrinking in typed("shrink", "shrink_biases", "bounds", "log_scores", "ordinal"):
            without = f"has no effect with {shrinking}, which"
            ask.refuse(f"{without} puts zero where biases centre.", "gauge", "reference", "known")
            ask.refuse(f"{without} makes all groups comparable.", "per_component")

    def _chosen(self, panel: Panel) -> Refinements | None:
        """Return the refinements for a panel, its covariates among them; None for a plain method."""
        refinements, plain = self.refining.refinements(), self.estimating.plain()
        if refinements is None and not panel.covariates:
            return None
        from evenhand.models.refined import Refinements

        if typed("power") and panel.precision.min() == panel.precision.max():
            raise click.UsageError("--power has no effect here: all scores are equally sure.")
        chosen = replace(refinements or Refinements(), covariates=tuple(panel.covariates))
        return chosen if plain is None or plain.uses_confidence else replace(chosen, power=0.0)

    def _by(self) -> Callable[..., Fit]:
        """Return what fits a panel by the method that was asked for."""
        plain = self.estimating.plain()
        if plain is not None:
            return plain
        from evenhand.models.medians import median_polish

        return median_polish

    def _settings(self) -> dict[str, Any]:
        """Return what every way to fit is asked for."""
        gauging, estimating = self.gauging, self.estimating
        return {
            "gauge": gauging.parsed(),
            "per_component": gauging.per_component,
            "noise": estimating.noise,
            "interval": estimating.interval,
        }

    def _fit(self, panel: Panel) -> Fit:
        """Return the fit of a panel, plain or refined."""
        chosen, settings = self._chosen(panel), self._settings() | {"solver": self.estimating.solver}
        if chosen is None:
            return self._by()(panel, **settings)
        from evenhand.models.refined import refine

        return refine(panel, chosen, **settings)


class Fitting(_Fitting):
    """How a file is read and fitted, for questions that know no criteria."""

    reading: FileOptions = part(FileOptions, hidden=["criterion"])

    def check(self) -> None:
        """Refuse criteria, intervals that are not shown, and refinements without effect."""
        self.refuse_criteria()
        ask.refuse(f"has no effect here: {click.get_current_context().info_name} shows no intervals.", "interval")
        self._check_refinements()

    def fit(self) -> Fit:
        """Read and fit."""
        panel = self.reading.read()
        refuse_criteria_of(panel)
        return self._fit(panel)


def refuse_criteria_of(panel: Panel) -> None:
    """Refuse a panel of several criteria where scores for different ones would be taken for repeats of one another."""
    if panel.criterion is None:
        return
    from evenhand.errors import InputError
    from evenhand.words import name_some

    raise InputError(
        f"The file has scores for the criteria {name_some(panel.criteria)}: choose one column with --score, or "
        "use calibrate or rank, which take all of them together.",
        kind="several_criteria",
    )


class _OfLeastSquares(MethodOptions, heading="The method"):
    """The method, where medians have no answer."""

    method: str = ask.choice(
        ["sa", "cwa", "iba", "cwc"],
        "Simple or confidence-weighted averages, calibration without or with confidence.",
        default="cwc",
    )


class _OfCalibration(MethodOptions, heading="The method"):
    """The method, where averages have no answer either."""

    method: str = ask.choice(["iba", "cwc"], "Calibration without or with confidence.", default="cwc")


class LeastSquares(Fitting):
    """How a file is read and fitted by least squares."""

    estimating: MethodOptions = part(_OfLeastSquares, hidden=["interval"])


class Calibrating(Fitting):
    """How a file is read and calibrated."""

    estimating: MethodOptions = part(_OfCalibration, hidden=["interval"])


class Combining(Options, heading="Several criteria"):
    """How criteria are put together."""

    weights: dict[str, float] = ask.text(
        "CRITERION=W",
        "What a criterion counts in the combined value; one without a weight is left out. May be repeated. Default: "
        "all alike, with a sum of 1.",
        "--weight",
        multiple=True,
        callback=ask.number_pairs,
    )
    uncorrelated: bool = ask.flag("Take it that an assessor who errs on one criterion does not err on the others too.")


class CriteriaFitting(_Fitting):
    """How a file of one criterion or several is read and fitted."""

    combining: Combining = part(Combining)

    def check(self) -> None:
        """Refuse options of criteria without them, and refinements without effect."""
        self._check_refinements()
        if self.reading.criterion is not None or self.reading.criteria:
            ask.refuse("has no meaning with --criterion: leave it out.", "solver")

    def fit(self) -> Fit | CriteriaFit:
        """Read and fit, each criterion and all together where there are several."""
        panel = self.reading.read()
        if panel.criterion is None:
            ask.refuse("is about several criteria: use it with --criterion COLUMN.", "weights", "uncorrelated")
            return self._fit(panel)
        from evenhand.models.criteria import calibrate_criteria

        return calibrate_criteria(
            panel,
            weights=self.combining.weights or (dict(panel.reading.weights) if panel.reading else None) or None,
            correlated=not self.combining.uncorrelated,
            by=self._chosen(panel) or self._by(),
            **self._settings(),
        )
