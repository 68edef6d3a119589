"""Sums over the assessments of each object, assessor or component."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sum_by(index: NDArray[np.integer[Any]], terms: NDArray[np.floating[Any]], count: int) -> NDArray[np.float64]:
    """Return the sums of terms that share an index, for the indices 0 to count - 1.

    Examples
    --------
    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.asarray(np.bincount(index, weights=terms, minlength=count), dtype=np.float64)
