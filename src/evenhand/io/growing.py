"""Arrays that grow at their end in the place where they are, so that the whole never stands beside its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """A column of numbers that takes further ones at its end.

    Parameters
    ----------
    dtype
        The type of the numbers.
    room
        How many there will be, as far as that is known. Room that is never used takes no memory.

    Examples
    --------
    >>> column = Growing(np.float64)
    >>> column.extend(np.array([1.0, 2.0]))
    >>> column.extend(np.array([3.0]))
    >>> column.taken()
    array([1., 2., 3.])
    """

    __slots__ = ("_array", "_size")

    def __init__(self, dtype: type[np.generic], room: int = 0) -> None:
        self._array: NDArray[Any] = np.empty(room, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, numbers: NDArray[Any]) -> None:
        """Take numbers at the end."""
        end = self._size + numbers.size
        if end > self._array.size:
            self._array.resize(max(end, self._array.size + self._array.size // 8), refcheck=False)
        self._array[self._size : end] = numbers
        self._size = end

    def taken(self) -> Any:
        """Return all numbers as one array, and begin anew."""
        array, self._array = self._array, np.empty(0, self._array.dtype)
        array.resize(self._size, refcheck=False)
        self._size = 0
        return array
