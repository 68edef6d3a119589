"""Pictures that check a fit: residuals, what each score did, what declared confidence was worth."""

from __future__ import annotations

from typing import Any, Final, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from evenhand.answers.heldout import leverages
from evenhand.answers.influence import influence as find_influence
from evenhand.compiled import Floats, sum_by
from evenhand.errors import InputError, bad_option
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.plots import style
from evenhand.plots.style import ALERT, GREY, INK, MOST_POINTS, Chart, Codes
from evenhand.words import count_of, plural
from evenhand.words import decimals as points_digits

_HALF: Final = 360
_BINS: Final = 40
_MOST_ROWS: Final = 14
"""Up to this many assessors are shown beside the scatter plot, as names have room in a report; of more, the widest."""

_MOST_ENDS: Final = 40
"""Up to this many assessors are shown by themselves; of more, those at the two ends."""

_MOST_PULLS: Final = 20
_EDGE: Final = 0.15
"""Nearer to an axis than this share of it a name has no room."""

_LEAST_FREEDOM: Final = 1.0
"""Spread is not estimated from fewer degrees of freedom."""


def residuals(fit: Fit) -> Chart:
    """Return the residuals, score less what the fit expects: against the fitted scores, and assessor by assessor.

    Parameters
    ----------
    fit
        Any fit.
    """
    panel = fit.panel
    fitted = fit.fitted
    residual = panel.score - fitted
    digits = style.decimals(residual)
    objects, assessors = style.drawable(panel.objects), style.drawable(panel.assessors)
    few = panel.n_assessments <= MOST_POINTS
    left = _scatter(panel, fitted, objects, assessors, digits) if few else _heat(fitted, residual)
    quantiles = _quantiles(residual, panel.assessor_index, panel.n_assessors)
    order = np.argsort(quantiles[:, 3] - quantiles[:, 1], kind="stable")[::-1]
    kept = order[:_MOST_ROWS]
    right = _boxes(quantiles[kept], style.chosen(assessors, kept), panel.assessor_assessments[kept], digits)
    at = int(np.argmax(np.abs(residual)))
    largest = style.number(float(residual[at]), points_digits(float(np.ptp(panel.score))), signed=True)
    title = f"The largest residual is {largest} points: {_assessment(panel, at)}"
    if style.is_nothing(residual, panel.score):
        title = "The fit meets every score: no residuals are left"
    notes = [
        f"Residual: score less what {fit.name} expects. Right: bars from quartile to quartile, lines "
        "from 5% to 95%, longest bar first.",
        "" if few else f"Left: the stronger, the more of {panel.n_assessments:,} scores.",
        f"{count_of(order.size - kept.size, 'assessor')} with less spread left out." if kept.size < order.size else "",
    ]
    what = f"Scatter plot of {count_of(panel.n_assessments, 'residual')}, and their spread by assessor"
    return style.finish(alt.hconcat(left, right, spacing=30), title, notes, what, 2 * _HALF)


_RESIDUAL: Final = "residual in points"


def _scatter(panel: Panel, fitted: Floats, objects: list[str], assessors: list[str], digits: int) -> Any:
    data = style.data_of(
        fitted=fitted,
        residual=panel.score - fitted,
        score=panel.score,
        assessor=style.chosen(assessors, panel.assessor_index),
        object=style.chosen(objects, panel.object_index),
    )
    points = style.decimals(panel.score)
    dots = alt.Chart(data, width=_HALF, height=_HALF).mark_point(
        filled=True, color=INK, size=30 if panel.n_assessments <= 500 else 12, opacity=0.55
    )
    dots = dots.encode(
        x=alt.X("fitted:Q", title="fitted score in points", scale=alt.Scale(zero=False)),
        y=alt.Y("residual:Q", title=_RESIDUAL, scale=alt.Scale(padding=8)),
        tooltip=style.tooltips(
            *(("assessor", "assessor"), ("object", "object"), ("score", "score", points)),
            *(("fitted", "fitted", points), ("residual", "residual", digits)),
        ),
    )
    return alt.layer(style.zero_line("y"), dots)


def _heat(fitted: Floats, residual: Floats) -> Any:
    counts, across, up = np.histogram2d(fitted, residual, bins=_BINS)
    i, j = np.nonzero(counts)
    data = style.data_of(
        left=across[i], right=across[i + 1], bottom=up[j], top=up[j + 1], count=counts[i, j].astype(np.int64)
    )
    scale = alt.Scale(zero=False, nice=False)
    cells = alt.Chart(data, width=_HALF, height=_HALF).mark_rect()
    cells = cells.encode(
        x=alt.X("left:Q", title="fitted score in points", scale=scale),
        x2="right:Q",
        y=alt.Y("bottom:Q", title=_RESIDUAL, scale=scale),
        y2="top:Q",
        color=alt.Color("count:Q", scale=alt.Scale(range=list(style.SHADES), type="sqrt"), legend=None),
        tooltip=style.tooltips(("count", "scores", 0), ("left", "fitted from", 1), ("bottom", "residual from", 1)),
    )
    return alt.layer(cells, style.zero_line("y"))


def _quantiles(numbers: Floats, index: NDArray[Any], count: int) -> Floats:
    """Return the 5, 25, 50, 75 and 95 % points of the numbers of each index (count x 5)."""
    order = np.argsort(index, kind="stable")
    parts = np.split(numbers[order], np.cumsum(np.bincount(index, minlength=count))[:-1])
    return np.array([np.quantile(part, [0.05, 0.25, 0.5, 0.75, 0.95]) for part in parts])


def _boxes(quantiles: Floats, names: list[str], counts: NDArray[np.int64], digits: int) -> Any:
    columns = dict(zip(("low", "lower", "middle", "upper", "high"), quantiles.T, strict=True))
    y, _ = style.rows_of(names, "assessor", "place")
    base = alt.Chart(
        style.data_of(name=names, place=np.arange(1, len(names) + 1), scores=counts, **columns),
        width=_HALF,
        height=_HALF,
    ).encode(
        y=y,
        tooltip=style.tooltips(
            *(("name", "assessor"), ("scores", "scores", 0), ("low", "5%", digits), ("lower", "quartile", digits)),
            *(("middle", "median", digits), ("upper", "quartile", digits), ("high", "95%", digits)),
        ),
    )

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=_RESIDUAL)

    return alt.layer(
        style.zero_line("x"),
        base.mark_rule(color=GREY, aria=False).encode(x=across("low"), x2="high:Q"),
        base.mark_rule(color=style.MIDDLE, strokeWidth=9).encode(x=across("lower"), x2="upper:Q"),
        base.mark_tick(color=INK, thickness=2, size=10, aria=False).encode(x=across("middle")),
    )


def influence(fit: Fit) -> Chart:
    """Return what each score did: those that pulled their objects' values most, and all beside what others predict.

    Parameters
    ----------
    fit
        Any fit in which some scores can be predicted from the others.
    """
    found = find_influence(fit)
    table = found.columns()
    pull, error = (np.array(table[name], dtype=np.float64) for name in ("pull", "held_out_error"))
    usable = np.flatnonzero(np.isfinite(pull) & np.isfinite(error))
    if not usable.size:
        raise InputError(
            "No score here can be predicted from the others, so there is no telling what each one did.",
            kind="not_connected",
        )
    panel = fit.panel
    order = usable[np.argsort(-np.abs(pull[usable]), kind="stable")]
    digits = style.decimals(np.append(pull[usable], 0.0))

    def rows(chosen: Codes) -> alt.InlineData:
        return style.data_of(
            name=_on(panel, chosen),
            pull=pull[chosen],
            error=error[chosen],
            score=panel.score[chosen],
            leverage=found.leverage[chosen],
        )

    tooltip = style.tooltips(
        *(("name", "score of"), ("score", "score", style.decimals(panel.score)), ("pull", "pull", digits)),
        *(("error", "score less what the others predict", digits), ("leverage", "leverage", 2)),
    )
    title_pull = "pull on the value in points"
    first = rows(order[:_MOST_PULLS])
    names = [row["name"] for row in first.values]
    y, _ = style.rows_of(names, "score", "place")
    bars = alt.Chart(first, width=_HALF, height=_HALF).mark_bar(color=GREY)
    bars = bars.encode(y=y, x=alt.X("pull:Q", title=title_pull), tooltip=tooltip)
    shown = order[:MOST_POINTS]
    dots = alt.Chart(rows(shown), width=_HALF, height=_HALF).mark_point(
        filled=True, color=INK, size=30 if shown.size <= 500 else 10, opacity=0.55
    )
    dots = dots.encode(
        x=alt.X("error:Q", title="score less what the others predict, in points"),
        y=alt.Y("pull:Q", title=title_pull),
        tooltip=tooltip,
    )
    cross = alt.layer(style.zero_line("x"), style.zero_line("y"), dots)
    most = order[0]
    by = style.number(float(pull[most]), points_digits(float(np.ptp(panel.score))), signed=True)
    title = f"The score that did most: {_assessment(panel, most)} pulled the value by {by} points"
    if style.is_nothing(pull[usable], panel.score):
        title = f"No score pulled the value of its {panel.noun} anywhere: all agree"
    bridges, every = panel.n_assessments - usable.size, shown.size == order.size
    notes = [
        f"Left: the {min(order.size, _MOST_PULLS)} scores that pulled their {plural(panel.noun)} most: the value with "
        "the score less the value without it. Right: "
        + ("every score." if every else f"the {shown.size:,} with the largest pull."),
        f"{count_of(bridges, 'score')} that no other can check left out." if bridges else "",
    ]
    what = f"Bar chart of the largest pulls and scatter plot of {count_of(shown.size, 'score')}"
    return style.finish(
        alt.hconcat(alt.layer(style.zero_line("x"), bars), cross, spacing=30), title, notes, what, 2 * _HALF
    )


def _assessment(panel: Panel, at: int) -> str:
    """Return an assessment for a sentence: who on what."""
    who = style.drawable(panel.assessors)[panel.assessor_index[at]]
    what = style.drawable(panel.objects)[panel.object_index[at]]
    return f"{style.named(who, 'assessor')} on {style.named(what, panel.noun)}"


def _on(panel: Panel, chosen: Codes) -> list[str]:
    """Return names of assessments, all different: who on what."""
    objects = [style.clip(name, 13) for name in style.drawable(panel.objects)]
    assessors = [style.clip(name, 13) for name in style.drawable(panel.assessors)]
    whom = style.chosen(assessors, panel.assessor_index[chosen]), style.chosen(objects, panel.object_index[chosen])
    return [style.from_the_left(name) for name in style.drawable(" on ".join(pair) for pair in zip(*whom, strict=True))]


def confidence(fit: Fit, *, by: Literal["level", "assessor"] | None = None, finding: str = "") -> Chart:
    """Return declared confidence beside the actual spread of the residuals.

    The residual r of a score has the variance w (1 - h)/c, h being its leverage, so that the sum of c r^2 over that of
    1 - h estimates the factor w of a level, or of an assessor, on its own. Bars are its intervals.

    Parameters
    ----------
    fit
        Any fit with residuals.
    by
        ``"level"``: spread in points for each declared level (or class of uncertainties), beside what was declared.
        ``"assessor"``: for each assessor, spread as a multiple of what they declared. By level where levels differ.
    finding
        The title, where it is known what confidence is worth; else what the drawn intervals say.
    """
    panel = fit.panel
    kinds = style.declared_kinds(panel)
    if by not in (None, "level", "assessor"):
        raise bad_option(f"Confidence can be shown by level or by assessor, not by {by!r}.")
    if by == "level" and len(kinds.names) == 1:
        raise bad_option(
            "All scores have the same declared confidence, so there are no levels to compare: use by='assessor'."
        )
    fit.require("spread")
    by = by or ("level" if len(kinds.names) > 1 else "assessor")
    slack = 1 - leverages(fit)
    squares = panel.precision * np.square(fit.residuals)
    freedom = float(slack.sum())
    nothing = freedom < _LEAST_FREEDOM or style.is_nothing(panel.score - fit.fitted, panel.score)
    index, count = (kinds.index, len(kinds.names)) if by == "level" else (panel.assessor_index, panel.n_assessors)
    left = sum_by(index, slack, count)
    kept = np.flatnonzero(left >= _LEAST_FREEDOM)
    if nothing or not kept.size:
        raise InputError("There are no residuals whose spread could be compared with what was declared.", kind="thin")
    level = 1.0 if panel.confidence == "uncertainty" else float(squares.sum() / freedom)
    ratio = np.sqrt(sum_by(index, squares, count)[kept] / left[kept] / level)
    ratios = np.stack([ratio, *_ratio_ends(ratio, left[kept], fit.values.interval)])
    number_of = np.bincount(index, minlength=count)[kept]
    few = np.flatnonzero(left < _LEAST_FREEDOM)
    relative = "Declared confidences are relative: taken together they fit by construction."
    notes = [
        "" if panel.confidence == "uncertainty" else relative,
        f"Bars are {style.percent(fit.values.interval)} intervals.",
    ]
    if by == "level":
        left_out = ", ".join(style.chosen(kinds.names, few))
        notes.append(f"Too few scores to tell, and left out: {left_out}." if few.size else "")
        sd = np.sqrt(sum_by(index, level / panel.precision, count)[kept] / number_of)
        notes.append("" if fit.model.uses_confidence else "For this check alone all scores count alike, however sure.")
        return _by_level(fit, style.chosen(kinds.names, kept), sd, ratios, number_of, notes, finding)
    notes.append(f"{count_of(few.size, 'assessor')} with too few scores left out." if few.size else "")
    names = style.chosen(style.drawable(panel.assessors), kept)
    return _by_assessor(names, ratios, number_of, fit.values.interval, notes, finding)


def _edge_note(upper: Floats, far: float) -> str:
    return "A bar that reaches the edge of the picture goes on beyond it." if upper.max() > far else ""


def _ratio_ends(ratio: Floats, freedom: Floats, interval: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals of standard deviations, by chi-square."""
    from scipy.special import chdtri

    tail = (1 - interval) / 2
    return ratio * np.sqrt(freedom / chdtri(freedom, tail)), ratio * np.sqrt(freedom / chdtri(freedom, 1 - tail))


def _by_level(
    fit: Fit, names: list[str], sd: Floats, ratios: Floats, counts: Codes, notes: list[str], finding: str
) -> Chart:
    unit = "points" if fit.values.scale is None else "units of the model's scale"
    digits = style.decimals(np.append(sd, 0.0))
    actual, lower, upper = ratios * sd
    data = style.data_of(name=names, declared=sd, actual=actual, lower=lower, upper=upper, scores=counts)
    most = float(max(sd.max(), actual.max()))
    far = max(1.05 * min(float(upper.max()), 2 * most), 1.1 * most)  # no point lies on the frame
    scale = alt.Scale(domain=[0, far], clamp=True)
    base = alt.Chart(data, width=_HALF, height=_HALF).encode(
        x=alt.X("declared:Q", title=f"declared standard deviation in {unit}", scale=scale),
        tooltip=style.tooltips(
            *(("name", "declared"), ("declared", "declared sd", digits), ("actual", "actual sd", digits)),
            *(*style.interval_tips(digits), ("scores", "scores", 0)),
        ),
    )
    title_y = f"actual spread in {unit}"
    is_left = f"datum.actual > datum.declared && datum.declared > {_EDGE * far:.6g}"
    chart = alt.layer(
        style.dashed(0.0, far),
        base.mark_rule(color=style.MIDDLE, strokeWidth=5, aria=False).encode(
            y=alt.Y("lower:Q", title=title_y, scale=scale), y2="upper:Q"
        ),
        base.mark_point(filled=True, color=INK, size=80, opacity=1).encode(y=alt.Y("actual:Q", title=title_y)),
        # above the dashed line to the left, so that it crosses no name
        base.mark_text(align="left", dx=8, dy=10, color=INK, fontSize=11, aria=False)
        .encode(y="actual:Q", text="name:N")
        .transform_filter(f"!({is_left})"),
        base.mark_text(align="right", dx=-8, dy=-8, color=INK, fontSize=11, aria=False)
        .encode(y="actual:Q", text="name:N")
        .transform_filter(is_left),
    )
    ratio, low, high = ratios
    off = np.flatnonzero((low > 1) | (high < 1))
    title = "No clear sign that scores spread other than declared"
    if finding:
        title = finding
    elif off.size:
        at = int(off[np.argmax(np.abs(np.log(ratio[off])))])
        title = f"Scores declared “{names[at]}” spread {ratio[at]:.2f} times as far as declared"
    what = f"Scatter plot of declared and actual spread for {count_of(len(names), 'kind')} of score"
    spread = "Spread is of the noise alone; from what all others predict, which errs too, scores are further off."
    notes = ["On the dashed line scores spread as declared.", spread, *notes, _edge_note(upper, far)]
    return style.finish(chart, title, notes, what, 460)


def _by_assessor(
    names: list[str], ratios: Floats, counts: Codes, interval: float, notes: list[str], finding: str
) -> Chart:
    order = np.argsort(-ratios[0], kind="stable")
    half = _MOST_ENDS // 2
    kept = order if order.size <= _MOST_ENDS else np.concatenate([order[:half], order[-half:]])
    shown = style.chosen(names, kept)
    ratio, lower, upper = ratios[:, kept]
    kinds = ["spread more than declared", "as declared", "spread less than declared"]
    kind = [kinds[0] if low > 1 else kinds[2] if high < 1 else kinds[1] for low, high in zip(lower, upper, strict=True)]
    data = style.data_of(name=shown, ratio=ratio, lower=lower, upper=upper, scores=counts[kept], kind=kind)
    gap = [] if kept.size == order.size else [f"… {order.size - kept.size:,} between …"]
    y, height = style.rows_of([*shown[:half], *gap, *shown[half:]], "assessor", "place")
    far = float(max(ratio.max() * 1.3, 2.0))
    scale = alt.Scale(domain=[0, far], clamp=True)
    colour = alt.Color("kind:N", scale=style.palette(kinds, [ALERT, GREY, INK]))
    base = alt.Chart(data, width=style.WIDTH, height=height).encode(
        y=y,
        color=colour,
        tooltip=style.tooltips(
            *(("name", "assessor"), ("ratio", "spread beside declared", 2), *style.interval_tips(2)),
            ("scores", "scores", 0),
        ),
    )
    title_x = "spread of residuals, as a multiple of what was declared"
    one = alt.Chart(style.data_of(one=[1.0])).mark_rule(color=INK, aria=False).encode(x=alt.X("one:Q", title=title_x))
    chart = alt.layer(
        base.mark_rule(strokeWidth=8, opacity=0.25, aria=False).encode(
            x=alt.X("lower:Q", title=title_x, scale=scale), x2="upper:Q"
        ),
        one,
        base.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X("ratio:Q", title=title_x)),
    )
    notes = [*notes, _edge_note(upper, far)]
    more, less = int((ratios[1] > 1).sum()), int((ratios[2] < 1).sum())
    title = "No assessor's scores spread clearly more or less than declared"
    if more or less:
        way = "more" if more else "less"
        title = f"The scores of {count_of(more or less, 'assessor')} spread {way} than declared"
        title += f", those of {less:,} less" if more and less else ""
        chance = round((1 - interval) * order.size)
        if chance:
            notes.append(f"Chance alone puts about {chance:,} of {order.size:,} intervals to one side of the line.")
    if kept.size < order.size:
        notes = [*notes, f"Shown are the {kept.size} at the ends, of {order.size:,} assessors."]
    return style.finish(chart, finding or title, notes, f"Dot plot of the spread of {count_of(order.size, 'assessor')}")
