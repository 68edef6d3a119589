"""Labels of a large panel: texts that become Python's only when asked for, and the codes that stand for them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from evenhand.compiled import compiled, is_compiled
from evenhand.io import hashing

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_CHUNK = 65_536


class Labels(Sequence[str]):
    """Texts kept in a polars series: a sequence that equals the tuple of the same texts.

    Examples
    --------
    >>> import polars as pl
    >>> Labels(pl.Series(["x", "y"])) == ("x", "y")
    True
    """

    __slots__ = ("series",)

    def __init__(self, series: pl.Series) -> None:
        self.series = series

    def __len__(self) -> int:
        return len(self.series)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(self.series[index].to_list())
        return cast("str", self.series[index])

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self.series), _CHUNK):
            yield from self.series.slice(start, _CHUNK).to_list()

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and bool((self.series == label).any())

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the position of a label."""
        found = (self.series == value).arg_max() if value in self else None
        if found is None or not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"{value!r} is not among the labels")
        return int(found)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Labels):
            return len(self) == len(other) and bool((self.series == other.series).all())
        if isinstance(other, tuple | list):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list: compared by content

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"Labels({shown}{', ...' if len(self) > 3 else ''})"


class CollisionError(Exception):
    """Two different texts have the same 64-bit hash: rarer than a failing memory, and told apart all the same."""


class Coder:
    """Turns columns of texts or whole numbers into codes 0, 1, ... in order of first appearance.

    Parameters
    ----------
    by_hash
        Whether to use the compiled table; if not, or without numba, polars is asked: as good below a million rows.
    """

    def __init__(self, *, by_hash: bool = True) -> None:
        self._by_hash = by_hash and is_compiled()
        self._slots = np.zeros(2**12, np.uint64)
        self._codes = np.zeros(2**12, np.uint32)
        self._seed = secrets.randbits(63)  # nobody can make a file whose texts collide
        self._known: pl.Series | None = None
        self._code_of: dict[Any, int] = {}

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    @property
    def values(self) -> pl.Series:
        """The distinct texts or numbers, in the order of their codes."""
        import polars as pl

        return pl.Series([], dtype=pl.String) if self._known is None else self._known

    @property
    def labels(self) -> Labels:
        """The distinct texts in the order of their codes; whole numbers written out."""
        import polars as pl

        return Labels(self.values.cast(pl.String).alias("label"))

    def encode(self, column: pl.Series) -> NDArray[np.uint32]:
        """Return the codes of a column without nulls, of texts or of whole numbers."""
        import polars as pl

        if not self._by_hash:
            return self._encode_slowly(column)
        encode, enlarge = compiled(hashing.encode), compiled(hashing.enlarge)
        is_text = column.dtype == pl.String
        keys = (column.hash(seed=self._seed) if is_text else column).to_numpy()
        keys = keys if keys.dtype == np.uint64 else keys.astype(np.int64).view(np.uint64)
        out = np.empty(keys.size, np.uint32)
        first = np.empty(keys.size, np.int64)
        done, count, before = 0, len(self), len(self)
        while True:
            done, count = encode(keys, self._slots, self._codes, out, first[count - before :], done, count)
            if done == keys.size:
                break
            slots, codes = np.zeros(2 * self._slots.size, np.uint64), np.zeros(2 * self._slots.size, np.uint32)
            enlarge(self._slots, self._codes, slots, codes)
            self._slots, self._codes = slots, codes
        if count > before:
            self._learn(column.gather(first[: count - before]))
        if is_text and not bool((self.values.gather(out) == column).all()):
            raise CollisionError
        return out

    def _encode_slowly(self, column: pl.Series) -> NDArray[np.uint32]:
        import polars as pl

        kinds = column.unique(maintain_order=True)
        before = len(self._code_of)
        texts = kinds.to_list()
        codes = [self._code_of.setdefault(text, len(self._code_of)) for text in texts]
        if len(self._code_of) > before:
            self._learn(kinds.filter(pl.Series(codes) >= before))
        known = pl.DataFrame({"kind": kinds, "code": pl.Series(codes, dtype=pl.UInt32)})
        joined = pl.DataFrame({"kind": column}).join(known, on="kind", how="left", maintain_order="left")
        return np.array(joined["code"].to_numpy())

    def _learn(self, kinds: pl.Series) -> None:
        import polars as pl

        own = pl.Series(kinds.to_list(), dtype=kinds.dtype)  # a slice would keep the whole column in memory
        self._known = own if self._known is None else pl.concat([self._known, own], rechunk=True)
