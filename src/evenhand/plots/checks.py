"""Pictures that check a fit: residuals, what each score did, what declared confidence was worth."""

from __future__ import annotations

from typing import Any, Final, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from evenhand.compiled import Floats
from evenhand.models.fit import Fit
from evenhand.panel.panel import Panel
from evenhand.plots import findings, labels, style
from evenhand.plots.findings import KINDS, Residuals, Spread
from evenhand.plots.labels import Codes
from evenhand.plots.style import ALERT, GREY, INK, Chart
from evenhand.words import count_of

_HALF: Final = 360
_EDGE: Final = 0.15
"""Nearer to an axis than this share of it a name has no room."""


def residuals(fit: Fit) -> Chart:
    """Return the residuals, score less what the fit expects: against the fitted scores, and assessor by assessor.

    Parameters
    ----------
    fit
        Any fit.
    """
    panel, found = fit.panel, findings.residuals(fit)
    digits = labels.decimals(found.residual)
    objects, assessors = labels.drawable(panel.objects), labels.drawable(panel.assessors)
    left = _scatter(panel, found, objects, assessors, digits) if found.cells is None else _heat(*found.cells)
    names, counts = labels.chosen(assessors, found.assessors), panel.assessor_assessments[found.assessors]
    right = _boxes(found.quantiles, names, counts, digits)
    notes = [
        f"{found.meaning} Right: bars from quartile to quartile, lines from 5% to 95%, longest bar first.",
        "" if found.cells is None else f"Left: the stronger, the more of {panel.n_assessments:,} scores.",
        *found.notes,
    ]
    return style.finish(alt.hconcat(left, right, spacing=30), found.title, notes, found.what, 2 * _HALF)


_RESIDUAL: Final = "residual in points"


def _scatter(panel: Panel, found: Residuals, objects: list[str], assessors: list[str], digits: int) -> Any:
    data = style.data_of(
        fitted=found.fitted,
        residual=found.residual,
        score=panel.score,
        assessor=labels.chosen(assessors, panel.assessor_index),
        object=labels.chosen(objects, panel.object_index),
    )
    points = labels.decimals(panel.score)
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


def _heat(counts: Floats, across: Floats, up: Floats) -> Any:
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
    panel, found = fit.panel, findings.influence(fit)
    pull, error = found.pull, found.error
    digits = labels.decimals(np.append(pull[np.isfinite(pull) & np.isfinite(error)], 0.0))

    def rows(chosen: Codes) -> alt.InlineData:
        return style.data_of(
            name=_on(panel, chosen),
            pull=pull[chosen],
            error=error[chosen],
            score=panel.score[chosen],
            leverage=found.leverage[chosen],
        )

    tooltip = style.tooltips(
        *(("name", "score of"), ("score", "score", labels.decimals(panel.score)), ("pull", "pull", digits)),
        *(("error", "score less what the others predict", digits), ("leverage", "leverage", 2)),
    )
    title_pull = "pull on the value in points"
    first = rows(found.first)
    names = [row["name"] for row in first.values]
    y, _ = style.rows_of(names, "score", "place")
    bars = alt.Chart(first, width=_HALF, height=_HALF).mark_bar(color=GREY)
    bars = bars.encode(y=y, x=alt.X("pull:Q", title=title_pull), tooltip=tooltip)
    dots = alt.Chart(rows(found.drawn), width=_HALF, height=_HALF).mark_point(
        filled=True, color=INK, size=30 if found.drawn.size <= 500 else 10, opacity=0.55
    )
    dots = dots.encode(
        x=alt.X("error:Q", title="score less what the others predict, in points"),
        y=alt.Y("pull:Q", title=title_pull),
        tooltip=tooltip,
    )
    cross = alt.layer(style.zero_line("x"), style.zero_line("y"), dots)
    notes = [f"Left: {found.told_first}. Right: {found.told_drawn}.", *found.notes]
    both = alt.hconcat(alt.layer(style.zero_line("x"), bars), cross, spacing=30)
    return style.finish(both, found.title, notes, found.what, 2 * _HALF)


def _on(panel: Panel, chosen: Codes) -> list[str]:
    """Return names of assessments, all different: who on what."""
    objects = [labels.clip(name, 13) for name in labels.drawable(panel.objects)]
    assessors = [labels.clip(name, 13) for name in labels.drawable(panel.assessors)]
    whom = labels.chosen(assessors, panel.assessor_index[chosen]), labels.chosen(objects, panel.object_index[chosen])
    return [
        labels.from_the_left(name) for name in labels.drawable(" on ".join(pair) for pair in zip(*whom, strict=True))
    ]


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
    found = findings.confidence(fit, by=by, finding=finding)
    return _by_level(found) if found.by == "level" else _by_assessor(found)


def _by_level(found: Spread) -> Chart:
    digits = labels.decimals(np.append(found.declared, 0.0))
    data = style.data_of(
        name=found.names,
        declared=found.declared,
        actual=found.actual,
        lower=found.lower,
        upper=found.upper,
        scores=found.counts,
    )
    scale = alt.Scale(domain=[0, found.reach], clamp=True)
    base = alt.Chart(data, width=_HALF, height=_HALF).encode(
        x=alt.X("declared:Q", title=f"declared standard deviation in {found.unit}", scale=scale),
        tooltip=style.tooltips(
            *(("name", "declared"), ("declared", "declared sd", digits), ("actual", "actual sd", digits)),
            *(*style.interval_tips(digits), ("scores", "scores", 0)),
        ),
    )
    title_y = f"actual spread in {found.unit}"
    is_left = f"datum.actual > datum.declared && datum.declared > {_EDGE * found.reach:.6g}"
    chart = alt.layer(
        style.dashed(0.0, found.reach),
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
    what = f"Scatter plot of declared and actual spread for {count_of(len(found.names), 'kind')} of score"
    return style.finish(chart, found.title, ["On the dashed line scores spread as declared.", *found.notes], what, 460)


def _by_assessor(found: Spread) -> Chart:
    half = len(found.names) // 2
    data = style.data_of(
        name=found.names,
        ratio=found.actual,
        lower=found.lower,
        upper=found.upper,
        scores=found.counts,
        kind=found.kinds,
    )
    gap = [f"… {found.between:,} between …"] if found.between else []
    y, height = style.rows_of([*found.names[:half], *gap, *found.names[half:]], "assessor", "place")
    scale = alt.Scale(domain=[0, found.reach], clamp=True)
    colour = alt.Color("kind:N", scale=style.palette(KINDS, [ALERT, GREY, INK]))
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
    what = f"Dot plot of the spread of {count_of(len(found.names) + found.between, 'assessor')}"
    return style.finish(chart, found.title, found.notes, what)
