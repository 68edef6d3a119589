"""The figures of the paper as plates: 1 and 5 of panels and fits, 2 to 4 of a study of simulated panels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

import altair as alt
import numpy as np

from evenhand.answers.compare import r_squared
from evenhand.compiled import Floats
from evenhand.errors import InputError
from evenhand.look import LIGHT
from evenhand.panel.panel import Panel
from evenhand.plots import labels, style
from evenhand.plots.drawing import save
from evenhand.plots.links import links_between
from evenhand.plots.structure import assessments_drawn, assessors_drawn
from evenhand.solve.connectivity import connectivity
from evenhand.studies.case_1 import COMPARED, Published, SimulationStudy, profile_name
from evenhand.studies.printed import GRAPHS, compared_fits, figure_1_panel
from evenhand.words import count_of

FigureFormat = Literal["svg", "png"]

# methods have the colours of the paper, orange, green and blue; shapes say the same
_COLOURS: Final = {"SA": LIGHT["open-fill"], "IBA": LIGHT["generous"], "CWC": LIGHT["in"]}
_SHAPES: Final = {"SA": "square", "IBA": "triangle-up", "CWC": "circle"}
_DASHES: Final = ([1, 0], [10, 4], [5, 3], [2, 2], [10, 3, 2, 3], [1, 4])
_TITLES: Final = {"mean": "mean error in points", "max": "largest error in points"}
_WIDTH, _HEIGHT = 300, 210
_PAIRS: Final = (("sa", "iba"), ("iba", "cwc"), ("cwc", "sa"))
"""Panels a to c of figure 5: across, and up."""

_SQUARE: Final = 260


def graphs() -> style.Chart:
    """Return figure 1: three assessment graphs on the left, the graphs on their assessors on the right."""
    rows, said = [], []
    for name in GRAPHS:
        panel = figure_1_panel(name)
        parts = connectivity(panel)
        left = assessments_drawn(panel, parts)[0].properties(width=240, height=220)
        found = links_between(panel, parts)
        links, right = found.weak.size, assessors_drawn(panel, found, 300)
        pairs = panel.n_assessors * (panel.n_assessors - 1) // 2
        if not parts.is_connected:
            said.append(f"({name}) falls into {parts.n_components} groups")
        else:
            said.append(f"({name}) links " + (f"all {pairs} pairs" if links == pairs else f"{links} of {pairs} pairs"))
        heading = _heading(f"({name}) spectral gap {parts.mu2:.2f}")
        row = alt.hconcat(left, right, spacing=40).properties(title=heading)
        rows.append(row.resolve_scale(strokeWidth="independent"))
    chart = alt.vconcat(*rows, spacing=10).resolve_scale(strokeWidth="independent", shape="independent")
    title = f"The same work, shared out in three ways: {', '.join(said)}"
    notes = [
        "Left: who assessed what. Right: two assessors are linked if they assessed an object in common, the wider the "
        "more. The larger the spectral gap, the better standards can be compared.",
    ]
    return style.finish(chart, title, notes, "Figure 1 of the paper: three assessment graphs", 660)


def mean_errors(study: SimulationStudy, published: Published | None = None) -> style.Chart:
    """Return figure 2: mean errors against assessors per object, a panel for each profile.

    Parameters
    ----------
    study
        The study.
    published
        Published errors, drawn as hollow points in the colours of their methods.
    """
    return _errors(study, "mean", published)


def largest_errors(study: SimulationStudy, published: Published | None = None) -> style.Chart:
    """Return figure 3: largest errors against assessors per object, as :func:`mean_errors`."""
    return _errors(study, "max", published)


def error_ratios(study: SimulationStudy) -> style.Chart:
    """Return figure 4: errors of IBA and CWC over those of simple averages, mean errors left, largest right."""
    profiles = [profile_name(profile) for profile in study.profiles]
    ratios = study.means[:, :, 1:, :2] / study.means[:, :, :1, :2]
    shown = [method.upper() for method in COMPARED[1:]]
    dashes = alt.Scale(domain=profiles, range=[_DASHES[p % len(_DASHES)] for p in range(len(profiles))])
    legend = alt.Legend(symbolType="stroke", symbolSize=900, title="high:medium:low", orient="bottom")
    panels = []
    for k, title in enumerate(("(a) mean errors", "(b) largest errors")):
        cells = list(product(range(len(profiles)), range(len(study.per_object)), range(2)))
        data = style.data_of(
            profile=[profiles[p] for p, _, _ in cells],
            per_object=[study.per_object[r] for _, r, _ in cells],
            method=[shown[m] for _, _, m in cells],
            ratio=ratios[..., k].ravel(),
        )
        base = alt.Chart(data, width=_WIDTH, height=_HEIGHT).encode(
            x=_per_object(study),
            y=alt.Y("ratio:Q", title="error / error of SA", scale=alt.Scale(zero=False, padding=8), axis=_ALIGNED),
            color=_colour(shown),
        )
        line = base.mark_line().encode(strokeDash=alt.StrokeDash("profile:N", scale=dashes, legend=legend))
        point = base.mark_point(size=45, filled=True, opacity=1).encode(shape=_shape(shown), detail="profile:N")
        panels.append(alt.layer(line, point).properties(title=_heading(title)))
    ours = ratios[:, :, -1, 0]
    title = f"Calibration with confidence leaves {_span(ours)} of the mean error of simple averages"
    notes = [f"{_span(ratios[:, :, -1, 1])} of the largest error. {count_of(study.runs, 'run')} for each point."]
    chart = alt.hconcat(*panels, spacing=30).resolve_scale(y="shared")
    return style.finish(chart, title, notes, "Figure 4 of the paper: ratios of errors", 2 * _WIDTH + 60)


def methods_compared(panel: Panel) -> style.Chart:
    """Return figure 5: values of case study 2 by each method against another (a to c), and their differences (d)."""
    fits = compared_fits(panel)
    value = {name: fit.values.estimate for name, fit in fits.items()}
    names = labels.drawable(fits["sa"].values.labels)
    every = np.concatenate(list(value.values()))
    reach = 0.53 * float(np.ptp(every))
    middle = float(every.max() + every.min()) / 2
    scale = alt.Scale(domain=[middle - reach, middle + reach], nice=False)
    agreement, panels = {}, []
    for letter, (first, second) in zip("abc", _PAIRS, strict=True):
        agreement[first, second] = r_squared(value[first], value[second])
        data = style.data_of(name=names, first=value[first], second=value[second])
        dots = alt.Chart(data, width=_SQUARE, height=_SQUARE).mark_point(filled=True, color=style.INK, opacity=0.75)
        dots = dots.encode(
            x=alt.X("first:Q", title=f"{first.upper()} value in points", scale=scale),
            y=alt.Y("second:Q", title=f"{second.upper()} value in points", scale=scale, axis=_ALIGNED),
            tooltip=style.tooltips(("name", "object"), ("first", first.upper(), 1), ("second", second.upper(), 1)),
        )
        pair = alt.layer(style.dashed(middle - reach, middle + reach, "first", "second", scale), dots)
        r2 = agreement[first, second]
        panels.append(
            pair.properties(
                title=_heading(
                    f"({letter}) {second.upper()} against {first.upper()}: R² {'–' if r2 is None else f'{r2:.2f}'}"
                )
            )
        )
    panels.append(_all_differences(value, names, scale).properties(title=_heading("(d) differences against means")))
    known = {pair: r2 for pair, r2 in agreement.items() if r2 is not None}
    title = "The three methods cannot be compared: values do not vary"
    if known:
        low, high = (choose(known, key=known.__getitem__) for choose in (min, max))
        title = (
            f"{high[0].upper()} and {high[1].upper()} agree most (R² {known[high]:.2f}), "
            f"{low[0].upper()} and {low[1].upper()} least (R² {known[low]:.2f})"
        )
    notes = ["On the dashed line both methods give the same value."]
    rows = [alt.hconcat(*panels[at : at + 2], spacing=30) for at in (0, 2)]
    chart = alt.vconcat(*rows, spacing=24)
    return style.finish(chart, title, notes, "Figure 5 of the paper: one method against another", 2 * _SQUARE)


def _all_differences(value: Mapping[str, Floats], names: list[str], across: alt.Scale) -> Any:
    """Return the Bland-Altman plot of figure 5 (d): differences of every two methods against their means."""
    kinds = [f"{second.upper()} less {first.upper()}" for first, second in _PAIRS]
    data = style.data_of(
        name=names * len(_PAIRS),
        pair=[kind for kind in kinds for _ in names],
        mean=np.concatenate([(value[first] + value[second]) / 2 for first, second in _PAIRS]),
        difference=np.concatenate([value[second] - value[first] for first, second in _PAIRS]),
    )
    shapes = alt.Shape(
        "pair:N",
        scale=alt.Scale(domain=kinds, range=["triangle-up", "cross", "circle"]),
        legend=alt.Legend(orient="bottom", symbolFillColor="transparent", symbolStrokeColor=style.INK),
    )
    dots = alt.Chart(data, width=_SQUARE, height=_SQUARE).mark_point(color=style.INK, size=34, opacity=0.8)
    dots = dots.encode(
        x=alt.X("mean:Q", title="mean of the two in points", scale=across),
        y=alt.Y("difference:Q", title="difference in points", axis=_ALIGNED),
        shape=shapes,
        tooltip=style.tooltips(("name", "object"), ("pair", "of"), ("difference", "difference", 1)),
    )
    return alt.layer(style.zero_line("y"), dots)


def save_figures(
    study: SimulationStudy, folder: str | os.PathLike[str], format: FigureFormat, published: Published | None = None
) -> list[Path]:
    """Write figures 2 to 4 to a folder, which is made if need be, and return the files."""
    charts = {
        "figure-2-mean-errors": mean_errors(study, published),
        "figure-3-largest-errors": largest_errors(study, published),
        "figure-4-ratios": error_ratios(study),
    }
    return _save(charts, folder, format)


def save_figure_1(folder: str | os.PathLike[str], format: FigureFormat) -> list[Path]:
    """Write the graphs of figure 1 to a folder, and return the file."""
    return _save({"figure-1-graphs": graphs()}, folder, format)


def save_figure_5(panel: Panel, folder: str | os.PathLike[str], format: FigureFormat) -> list[Path]:
    """Write figure 5, the values of case study 2 by one method against another, and return the file."""
    return _save({"figure-5-methods": methods_compared(panel)}, folder, format)


def _save(charts: Mapping[str, Any], folder: str | os.PathLike[str], format: FigureFormat) -> list[Path]:
    """Write charts to a folder, which is made if need be."""
    place = Path(folder)
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        message = f"{place} cannot be made ({error.strerror or error})."
        raise InputError(message, kind="cannot_write", where=str(place)) from error
    written = [place / f"{name}.{format}" for name in charts]
    for target, chart in zip(written, charts.values(), strict=True):
        save(chart, target)
    return written


def _errors(study: SimulationStudy, measure: Literal["mean", "max"], published: Published | None) -> style.Chart:
    k = ("mean", "max").index(measure)
    means, errors = study.means[..., k], study.standard_errors[..., k]
    shown = [method.upper() for method in COMPARED]
    panels = []
    for p, profile in enumerate(study.profiles):
        name = profile_name(profile)
        cells = list(product(study.per_object, COMPARED))
        mean, band = means[p].ravel(), 2 * errors[p].ravel()
        data = style.data_of(
            per_object=[per_object for per_object, _ in cells],
            method=[method.upper() for _, method in cells],
            error=mean,
            low=mean - band,
            high=mean + band,
            published=[
                (published or {}).get((name, per_object), {}).get(f"{method}_{measure}_error")
                for per_object, method in cells
            ],
        )
        base = alt.Chart(data, width=_WIDTH, height=_HEIGHT).encode(x=_per_object(study), color=_colour(shown))
        y = alt.Y("error:Q", title=_TITLES[measure], scale=alt.Scale(zero=True), axis=_ALIGNED)
        layers = [
            base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_line(point={"size": 40, "filled": True}).encode(y=y, shape=_shape(shown)),
        ]
        if published is not None:
            hollow = base.mark_point(size=150, filled=False, strokeWidth=1.5).encode(shape=_shape(shown))
            layers.append(hollow.encode(y="published:Q").transform_filter("isValid(datum.published)"))
        letter = chr(ord("a") + p) if p < 26 else str(p + 1)
        heading = _heading(f"({letter}) high:medium:low = {name}")
        panels.append(alt.layer(*layers).properties(title=heading))
    rows = [alt.hconcat(*panels[at : at + 2], spacing=30).resolve_scale(y="shared") for at in range(0, len(panels), 2)]
    chart = alt.vconcat(*rows, spacing=24).resolve_scale(y="shared")
    best = int((means.argmin(axis=-1) == len(COMPARED) - 1).sum())
    every = means[..., 0].size
    word = "mean" if measure == "mean" else "largest"
    where = f"all {every} cases" if best == every else f"{best} of {every} cases"
    title = f"Calibration with confidence has the smallest {word} errors in {where}"
    beside = " Hollow: as published." if published is not None else ""
    notes = [f"Bars: two standard errors of {count_of(study.runs, 'run')}.{beside}"]
    number = 2 if measure == "mean" else 3
    return style.finish(chart, title, notes, f"Figure {number} of the paper: {word} errors", 2 * _WIDTH)


_ALIGNED: Final = alt.Axis(minExtent=32)
"""So wide that axes below each other begin at the same place."""


def _heading(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", frame="group", fontSize=12, fontWeight="normal", color=style.INK_2)


def _span(ratios: Floats) -> str:
    """Return from where to where shares go, in percent."""
    low, high = (f"{100 * float(end):.0f}" for end in (ratios.min(), ratios.max()))
    return f"{low}%" if low == high else f"{low} to {high}%"


def _per_object(study: SimulationStudy) -> alt.X:
    axis = alt.Axis(values=list(study.per_object), format="d", grid=False)
    return alt.X("per_object:Q", title="assessors per object", axis=axis, scale=alt.Scale(zero=False, padding=12))


def _colour(shown: list[str]) -> alt.Color:
    return alt.Color("method:N", scale=alt.Scale(domain=shown, range=[_COLOURS[name] for name in shown]), title=None)


def _shape(shown: list[str]) -> alt.Shape:
    return alt.Shape("method:N", scale=alt.Scale(domain=shown, range=[_SHAPES[name] for name in shown]), title=None)
