"""The figures of the paper: 1 and 5 as pictures of panels and fits, 2 to 4 from a study of simulated panels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

import altair as alt

from evenhand.errors import InputError
from evenhand.panel.panel import Panel
from evenhand.plots.agreement import bland_altman, methods
from evenhand.plots.structure import assessor_graph
from evenhand.plots.style import BLUE, GREEN, INK, ORANGE, data_of, save
from evenhand.studies.reproduction import GRAPHS, Published, figure_1_panel
from evenhand.studies.simulation import METHODS, SimulationStudy, compared_fits, profile_name

FigureFormat = Literal["svg", "png"]

# the colours of the paper; shapes say the same
_COLOURS: Final = {"SA": ORANGE, "IBA": GREEN, "CWC": BLUE}
_SHAPES: Final = {"SA": "square", "IBA": "triangle-up", "CWC": "circle"}
_DASHES: Final = ([1, 0], [10, 4], [5, 3], [2, 2], [10, 3, 2, 3], [1, 4])
_TITLES: Final = {"mean": "mean error (points)", "max": "largest error (points)"}
_WIDTH, _HEIGHT = 300, 210


def mean_errors(study: SimulationStudy, published: Published | None = None) -> alt.ConcatChart:
    """Return figure 2: mean errors against assessors per object, a panel for each profile.

    Parameters
    ----------
    study
        The study.
    published
        Published errors, drawn as hollow points beside ours.
    """
    return _errors(study, "mean", published)


def largest_errors(study: SimulationStudy, published: Published | None = None) -> alt.ConcatChart:
    """Return figure 3: largest errors against assessors per object, as :func:`mean_errors`."""
    return _errors(study, "max", published)


def error_ratios(study: SimulationStudy) -> alt.HConcatChart:
    """Return figure 4: errors of IBA and CWC over those of simple averages, mean errors left, largest right."""
    profiles = [profile_name(profile) for profile in study.profiles]
    means = study.means
    panels = []
    for k, title in enumerate(("(a) mean errors", "(b) largest errors")):
        cells = [(p, r, m) for p in range(len(profiles)) for r in range(len(study.per_object)) for m in (1, 2)]
        data = data_of(
            profile=[profiles[p] for p, _, _ in cells],
            per_object=[study.per_object[r] for _, r, _ in cells],
            method=[METHODS[m].upper() for _, _, m in cells],
            ratio=[float(means[p, r, m, k] / means[p, r, 0, k]) for p, r, m in cells],
        )
        shown = [method.upper() for method in METHODS[1:]]
        dashes = alt.Scale(domain=profiles, range=[_DASHES[p % len(_DASHES)] for p in range(len(profiles))])
        base = alt.Chart(data).encode(
            x=_per_object(study),
            y=alt.Y("ratio:Q", title="error / error of SA", scale=alt.Scale(zero=False, padding=8)),
            color=_colour(shown),
        )
        legend = alt.Legend(symbolType="stroke", symbolSize=900, title="high:medium:low")
        line = base.mark_line().encode(strokeDash=alt.StrokeDash("profile:N", scale=dashes, legend=legend))
        point = base.mark_point(size=45, filled=True, opacity=1).encode(shape=_shape(shown), detail="profile:N")
        panels.append(alt.layer(line, point).properties(title=title, width=_WIDTH, height=_HEIGHT))
    styled: alt.HConcatChart = _styled(alt.hconcat(*panels))
    return styled


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
    """Write the three graphs on the assessors of figure 1 to a folder, and return the files."""
    charts = {f"figure-1{name}-assessors": assessor_graph(figure_1_panel(name)) for name in GRAPHS}
    return _save(charts, folder, format)


def save_figure_5(panel: Panel, folder: str | os.PathLike[str], format: FigureFormat) -> list[Path]:
    """Write the values of case study 2 by one method against another, and their differences, as in figure 5."""
    fits = compared_fits(panel)
    charts: dict[str, Any] = {}
    for first, second in combinations(fits, 2):
        charts[f"figure-5-{first}-{second}"] = methods(fits[first], fits[second])
        charts[f"figure-5-{first}-{second}-differences"] = bland_altman(fits[first], fits[second])
    return _save(charts, folder, format)


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


def _errors(study: SimulationStudy, measure: Literal["mean", "max"], published: Published | None) -> alt.ConcatChart:
    k = ("mean", "max").index(measure)
    means, errors = study.means, study.standard_errors
    shown = [method.upper() for method in METHODS]
    panels = []
    for p, profile in enumerate(study.profiles):
        name = profile_name(profile)
        cells = [(per_object, method) for per_object in study.per_object for method in METHODS]
        mean, band = means[p, :, :, k].ravel(), 2 * errors[p, :, :, k].ravel()
        printed = [
            (published or {}).get((name, per_object), {}).get(f"{method}_{measure}_error")
            for per_object, method in cells
        ]
        data = data_of(
            per_object=[per_object for per_object, _ in cells],
            method=[method.upper() for _, method in cells],
            error=mean,
            low=mean - band,
            high=mean + band,
            published=printed,
        )
        base = alt.Chart(data).encode(x=_per_object(study))
        y = alt.Y("error:Q", title=_TITLES[measure], scale=alt.Scale(zero=True))
        layers = [
            base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q", color=_colour(shown)),
            base.mark_line(point={"size": 55, "filled": True}).encode(y=y, color=_colour(shown), shape=_shape(shown)),
        ]
        if published is not None:
            hollow = base.mark_point(size=80, filled=False, strokeWidth=1.5, shape="diamond", color=INK)
            layers.append(hollow.encode(y="published:Q").transform_filter("isValid(datum.published)"))
        letter = chr(ord("a") + p) if p < 26 else str(p + 1)
        title = f"({letter}) high:medium:low = {name}"
        panels.append(alt.layer(*layers).properties(title=title, width=_WIDTH, height=_HEIGHT))
    chart = alt.concat(*panels, columns=2).resolve_scale(y="shared")
    beside = "; diamonds: as published" if published is not None else ""
    legend = alt.Title(f"bars: two standard errors of {study.runs:,} runs{beside}")
    styled: alt.ConcatChart = _styled(chart.properties(title=legend))
    return styled


def _per_object(study: SimulationStudy) -> alt.X:
    axis = alt.Axis(values=list(study.per_object), format="d", grid=False)
    return alt.X("per_object:Q", title="assessors per object", axis=axis, scale=alt.Scale(zero=False, padding=12))


def _colour(shown: list[str]) -> alt.Color:
    return alt.Color("method:N", scale=alt.Scale(domain=shown, range=[_COLOURS[name] for name in shown]), title=None)


def _shape(shown: list[str]) -> alt.Shape:
    return alt.Shape("method:N", scale=alt.Scale(domain=shown, range=[_SHAPES[name] for name in shown]), title=None)


def _styled(chart: Any) -> Any:
    return (
        chart.configure_view(stroke="#cccccc")
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#eeeeee")
        .configure_title(fontSize=12, fontWeight="normal", anchor="start")
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", symbolStrokeWidth=2)
    )
