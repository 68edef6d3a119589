"""A fingerprint of a result: a hash of the data, the settings, the panel's choice and the version it comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.frames import Shown
from evenhand.memory import require
from evenhand.models.fit import Fit
from evenhand.panel.gauge import Gauge, gauge_name
from evenhand.panel.panel import Panel

if TYPE_CHECKING:
    from evenhand.answers.decision import Choice


@dataclass(frozen=True, slots=True, repr=False)
class Fingerprint(Shown):
    """What a result was made from, as hashes (SHA-256).

    Attributes
    ----------
    data
        Hash of the scores with their labels and precisions, whatever the order of rows.
    settings
        Everything that was chosen, in words and numbers, whom the panel gave open places where it has said so, and
        which scores somebody has confirmed, since one that looks mistyped is left out until then.
    version
        The version of evenhand.
    whole
        Hash of all three together.
    """

    data: str
    settings: Mapping[str, Any]
    version: str
    whole: str

    def columns(self) -> dict[str, Any]:
        """Return what was chosen, as columns: setting, value."""
        parts = {**self.settings, "version": self.version, "data": self.data}
        return {"setting": list(parts), "value": [str(part) for part in parts.values()]}

    def __str__(self) -> str:
        return self.whole


def fingerprint(fit: Fit, *, choice: Choice | None = None, **chosen: Any) -> Fingerprint:
    """Return the fingerprint of a fit, with whatever else was chosen on the way to the result.

    Two results with the same fingerprint come from the same scores, the same of them confirmed, and the same settings,
    choice of the panel and version.

    Parameters
    ----------
    fit
        The fit.
    choice
        Whom the panel gave places that the scores leave open, why, and who decided it; in any order.
    chosen
        Further settings, such as ``top`` and ``seed``.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> one = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0])
    >>> other = Panel.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [60.0, 70.0, 50.0, 62.5])
    >>> fingerprint(calibrate(one)).whole == fingerprint(calibrate(other)).whole
    False
    """
    from evenhand import __version__
    from evenhand.answers.far_scores import confirmed_scores

    panel = fit.panel
    settings: dict[str, Any] = {
        "method": fit.method,
        "gauge": _words(fit.gauge),
        "noise": fit.posterior.noise.kind,
        "interval": fit.values.interval,
        "confidence": panel.confidence,
        "factor": panel.factor,
        "per_component": fit.per_component,
        **fit.model.settings,
        **chosen,
    }
    if confirmed := confirmed_scores(panel):
        settings["confirmed"] = sorted(
            [panel.objects[panel.object_index[at]], panel.assessors[panel.assessor_index[at]], float(panel.score[at])]
            for at in confirmed
        )
    if choice is not None:
        settings["choice"] = {"objects": sorted(choice.objects), "reason": choice.reason, "by": choice.by}
    data = data_hash(panel)
    text = json.dumps([data, settings, __version__], sort_keys=True, ensure_ascii=True, default=repr)
    return Fingerprint(data, settings, __version__, hashlib.sha256(text.encode()).hexdigest())


def data_hash(panel: Panel) -> str:
    """Return a hash of the scores of a panel, their labels, precisions, covariates and criteria, in any order."""
    require(600.0 * panel.n_assessments, f"the fingerprint of {panel.n_assessments:,} assessments")
    objects, assessors = panel.objects, panel.assessors
    columns = [
        [objects[at] for at in panel.object_index.tolist()],
        [assessors[at] for at in panel.assessor_index.tolist()],
        [score.hex() for score in panel.score.tolist()],
        [precision.hex() for precision in panel.precision.tolist()],
    ]
    for name, cells in sorted(panel.covariates.items()):
        columns.append([f"{name}={cell!r}" for cell in cells.tolist()])
    if panel.criterion is not None:
        columns.append(panel.criterion.tolist())
    rows = sorted(json.dumps(row) for row in zip(*columns, strict=True))
    total = hashlib.sha256()
    for row in rows:
        total.update(row.encode() + b"\n")
    return total.hexdigest()


def _words(gauge: Gauge | None) -> str | None:
    return gauge_name(gauge) if gauge is None or isinstance(gauge, str) else repr(gauge)
