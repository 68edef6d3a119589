"""How the errors of one reading go together between criteria."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evenhand import frames
from evenhand.compiled import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(frames.Shown):
    """How the errors of one assessor on one object go together between criteria.

    Attributes
    ----------
    criteria
        The criteria.
    matrix
        Correlations (K x K); not a number between criteria that nobody scored together.
    sd
        Standard deviation of the noise of each criterion, for precision 1.
    freedom
        Degrees of freedom behind each correlation and, on the diagonal, behind each variance. The standard error of a
        correlation r is about (1 - r^2)/sqrt(freedom).
    backend
        The kind of frame that tables come back as.
    """

    criteria: tuple[str, ...]
    matrix: Floats
    sd: Floats
    freedom: Floats
    backend: frames.Backend = frames.DEFAULT_BACKEND

    @property
    def covariance(self) -> Floats:
        """Noise covariance Sigma between criteria, for precision 1."""
        return np.asarray(self.matrix * np.outer(self.sd, self.sd))

    @property
    def error(self) -> Floats:
        """Standard errors of the correlations; infinite where nothing is known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.freedom > 0, (1 - np.square(self.matrix)) / np.sqrt(self.freedom), np.inf)

    def columns(self) -> dict[str, Any]:
        """Return a row for each pair of criteria: first, second, correlation, error, freedom."""
        pairs = list(combinations(range(len(self.criteria)), 2))

        def cells(matrix: Floats) -> list[float | None]:
            return [float(matrix[pair]) if np.isfinite(matrix[pair]) else None for pair in pairs]

        return {
            "first": [self.criteria[one] for one, _ in pairs],
            "second": [self.criteria[other] for _, other in pairs],
            "correlation": cells(self.matrix),
            "error": cells(self.error),
            "freedom": cells(self.freedom),
        }
