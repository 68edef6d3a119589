"""Ranks with their uncertainty: chances of the top places, expected ranks, rank intervals, pairwise comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenhand import frames
from evenhand.compiled import Floats, one_thread, threads
from evenhand.errors import InputError, LimitError, NotRankableError
from evenhand.memory import require
from evenhand.models.fit import Fit
from evenhand.words import percent, phrase, plural

DRAWS: Final = 10_000
"""Posterior draws behind ranks unless asked otherwise."""

_BLOCK: Final = 2**22
"""Values drawn and ranked at a time."""

_CACHED: Final = 2**17
"""Values ranked in one go: few enough to stay in the cache, many enough to keep threads out of each other's way."""

_FEW: Final = 2**12
"""Of so many objects hardly two fall into the same of the steps that keys of 32 bits leave room for."""

_TIED: Final = 0.02
"""Where a larger part of a row's neighbours share a step, longer keys are sorted instead."""

_MOST_BYTES: Final = 4 * 2**30
"""Largest table of ranks, objects by draws, that is held in memory."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(frames.Shown):
    """What posterior draws say about ranks; rank 1 is the highest value. The same in every gauge.

    Attributes
    ----------
    fit
        The fit that was drawn from.
    top
        The number k of places, where asked for.
    draws, seed
        How many draws, from which seed.
    interval
        Probability of the rank intervals.
    p_top
        Probability that each object is among the top k; None without k.
    p_first
        Probability that each object is the best.
    expected_rank
        Posterior mean of each rank.
    rank_lower, rank_upper
        Ends of the central rank intervals.
    expected_rank_error
        Monte Carlo standard error of the expected rank.
    """

    fit: Fit
    top: int | None
    draws: int
    seed: int
    interval: float
    p_top: Floats | None
    p_first: Floats
    expected_rank: Floats
    rank_lower: NDArray[np.int64]
    rank_upper: NDArray[np.int64]
    expected_rank_error: Floats

    @property
    def p_top_error(self) -> Floats | None:
        """Monte Carlo standard error of ``p_top``."""
        return None if self.p_top is None else np.sqrt(self.p_top * (1 - self.p_top) / self.draws)

    @property
    def sucra(self) -> Floats:
        """Mean rank on a scale from 0 (surely last) to 1 (surely first)."""
        count = self.expected_rank.size
        return np.ones(1) if count == 1 else (count - self.expected_rank) / (count - 1)

    def probabilities(self) -> Floats:
        """Return the probability of each rank (columns) for each object (rows), from the same draws once more."""
        count = self.expected_rank.size
        require(8.0 * count**2 + 4.0 * count * self.draws, f"the probabilities of {count:,} ranks of as many objects")
        ranks = _drawn_ranks(self.fit, self.draws, self.seed)
        counts = np.stack([np.bincount(row, minlength=count + 1)[1:] for row in ranks.T])
        return np.asarray(counts / self.draws)

    def columns(self) -> dict[str, Any]:
        """Return the table as columns, in the order of the panel's objects."""
        columns: dict[str, Any] = {
            "object": list(self.fit.values.labels),
            "value": self.fit.values.estimate,
            "rank": self.fit.values.rank,
        }
        if self.p_top is not None:
            columns |= {"p_top": self.p_top, "p_top_error": self.p_top_error}
        columns |= {
            "p_first": self.p_first,
            "expected_rank": self.expected_rank,
            "expected_rank_error": self.expected_rank_error,
            "rank_lower": self.rank_lower,
            "rank_upper": self.rank_upper,
            "sucra": self.sucra,
        }
        return columns | {name: cells for name, cells in self.fit.values.details.items() if name not in columns}

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.fit.panel.backend

    def __str__(self) -> str:
        order = np.argsort(self.expected_rank, kind="stable")[:10]
        width = max(len(str(self.fit.values.labels[i])) for i in order.tolist())
        lines = [f"ranks from {self.draws:,} draws (seed {self.seed}), {percent(self.interval)} intervals"]
        for i in order.tolist():
            line = f"  {self.fit.values.labels[i]!s:<{width}}  {self.rank_lower[i]:>4} to {self.rank_upper[i]:<4}"
            line += f" expected {self.expected_rank[i]:.1f}"
            lines.append(line + ("" if self.p_top is None else f"  P(top {self.top}) {self.p_top[i]:.2f}"))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the first ranks as a table, for notebooks."""
        order = np.argsort(self.expected_rank, kind="stable")
        columns: dict[str, Any] = {
            "value": self.fit.values.estimate,
            "expected rank": self.expected_rank,
            "from": self.rank_lower,
            "to": self.rank_upper,
            "P(first)": self.p_first,
        }
        if self.p_top is not None:
            columns[f"P(top {self.top})"] = self.p_top
        chosen = order[: frames.MOST_ROWS]
        table = {"object": [str(self.fit.values.labels[at]) for at in chosen.tolist()]}
        table |= {name: cells[chosen].tolist() for name, cells in columns.items()}
        caption = f"Ranks from {self.draws:,} draws (seed {self.seed}), {percent(self.interval)} intervals"
        return frames.html_table(caption, table, count=order.size, of="object")


def rank(
    fit: Fit, *, top: int | None = None, draws: int = DRAWS, seed: int = 0, interval: float | None = None
) -> Ranking:
    """Return ranks with their uncertainty from seeded posterior draws.

    Parameters
    ----------
    fit
        Any fit of a connected panel.
    top
        A number k of places: adds the probability of being among the top k.
    draws
        Number of posterior draws.
    seed
        Seed of the draws; the same seed gives the same ranking, in every gauge.
    interval
        Probability of the rank intervals; that of the fit where not given.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [9.0, 8.0, 9.5, 1.0, 2.0, 1.0]))
    >>> rank(fit, top=1, seed=1).p_top.round(1)
    array([1., 0.])
    """
    fit.require("ranks")
    count = fit.values.estimate.size
    probability = fit.values.interval if interval is None else interval
    if top is not None and not 1 <= top <= count:
        raise InputError(f"The top {top} of {count} objects do not exist: use 1 to {count}.", kind="bad_option")
    if draws < 1 or not 0 < probability < 1:
        raise InputError(
            "Ranks need at least one draw and an interval with a probability between 0 and 1.", kind="bad_option"
        )
    if fit.values.component.max() > 0:
        raise NotRankableError(
            phrase(
                "The panel falls into groups that were calibrated on their own, so {things} of different groups cannot "
                "be ranked against each other: rank each group by itself.",
                things=plural(fit.panel.noun),
            )
        )
    if fit.posterior.noise.quantile(0.75) is None:
        raise NotRankableError(phrase("Nobody can say how sure ranks are: {why}.", why=fit.posterior.noise.reason))
    need = draws * count * (2 if count < 2**16 else 4)
    if need > _MOST_BYTES:
        raise LimitError(
            f"{draws:,} draws of the ranks of {count:,} objects need {need / 2**30:,.0f} GiB: "
            f"{_MOST_BYTES * draws // need:,} draws fit into {_MOST_BYTES / 2**30:g} GiB."
        )
    counted = _count_ranks(_drawn_ranks(fit, draws, seed), top, probability)
    return Ranking(
        fit=fit,
        top=top,
        draws=draws,
        seed=seed,
        interval=probability,
        p_top=None if top is None else counted.top / draws,
        p_first=counted.first / draws,
        expected_rank=counted.mean,
        rank_lower=counted.lower,
        rank_upper=counted.upper,
        expected_rank_error=counted.sd / np.sqrt(draws),
    )


def ranking_of(given: Fit | Ranking, top: int | None, seed: int | None) -> Ranking:
    """Return ranks with chances of the top places, from the draws that a ranking rests on where one is given."""
    if not isinstance(given, Ranking):
        return rank(given, top=top, seed=0 if seed is None else seed)
    if (top is None or given.top == top) and seed is None:
        return given
    seed = given.seed if seed is None else seed
    return rank(given.fit, top=top or given.top, draws=given.draws, seed=seed, interval=given.interval)


def draw_values(fit: Fit, count: int, generator: np.random.Generator) -> Floats:
    """Return draws (rows) of the values from their posterior, each row up to a shift of its own."""
    drawn = fit.posterior.draw_unfixed(count, generator)
    if drawn is None:
        raise NotRankableError(f"There is no posterior to draw from: {fit.posterior.noise.reason}.")
    deviation = drawn[0]
    # about the median estimate, so that single precision is enough to rank by, whatever the scale's origin
    deviation += fit.values.latent - np.median(fit.values.latent)
    return deviation


def drawn_values(fit: Fit, draws: int, seed: int) -> Iterator[Floats]:
    """Yield all draws of the values that ranks rest on, a block of them (rows) at a time."""
    block = max(1, _BLOCK // fit.values.estimate.size)
    generator = np.random.default_rng(seed)
    for start in range(0, draws, block):
        yield draw_values(fit, min(block, draws - start), generator)


def interval_places(draws: int, interval: float) -> tuple[int, int]:
    """Return which of the draws in order, counted from 0, are the ends of a central interval.

    Examples
    --------
    >>> interval_places(1000, 0.9)
    (49, 950)
    """
    tail = (1 - interval) / 2
    return int(np.floor(tail * (draws - 1))), int(np.ceil((1 - tail) * (draws - 1)))


def _drawn_ranks(fit: Fit, draws: int, seed: int) -> NDArray[np.integer[Any]]:
    """Return the ranks in each draw (rows): one thread draws, in order, while the others rank what is drawn."""
    count = fit.values.estimate.size
    ranks = np.empty((draws, count), dtype=np.uint16 if count < 2**16 else np.uint32)
    workers, start = threads(), 0
    with one_thread(min(fit.panel.n_objects, fit.panel.n_assessors)), ThreadPoolExecutor(workers) as pool:
        pending: list[Future[None]] = []
        for values in drawn_values(fit, draws, seed):
            for done in pending:
                done.result()
            drawn = ranks[start : start + values.shape[0]]
            start += values.shape[0]
            pending = [
                pool.submit(_rank_rows, some, places)
                for some, places in zip(np.array_split(values, workers), np.array_split(drawn, workers), strict=True)
            ]
        for done in pending:
            done.result()
    return ranks


def _rank_rows(values: Floats, ranks: NDArray[np.integer[Any]]) -> None:
    """Write the rank of each value, in single precision, within its row into ``ranks``, 1 for the highest."""
    count = values.shape[1]
    places = np.arange(1, count + 1, dtype=ranks.dtype)
    rows = max(1, _CACHED // count)
    for start in range(0, values.shape[0], rows):
        falling = np.negative(values[start : start + rows], dtype=np.float32, casting="same_kind")
        order = _order_by_steps(falling) if count <= _FEW else None
        for places_of, rank_of in zip(
            _order_by_bits(falling) if order is None else order, ranks[start : start + rows], strict=True
        ):
            rank_of[places_of] = places


def _order_by_bits(numbers: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the positions of each row's numbers, from the lowest to the highest, equal ones as they stand.

    Each number is packed with its position into one whole number of 64 bits whose order is that of the number: sorting
    those is faster than sorting positions.
    """
    bits = numbers.view(np.int32)
    keys = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64)
    keys <<= 32
    keys |= np.arange(numbers.shape[1])
    keys.sort(axis=1)
    keys &= 0xFFFFFFFF
    return keys


def _order_by_steps(numbers: NDArray[np.float32]) -> NDArray[np.int64] | None:
    """Return the same by keys of 32 bits, which are sorted in half the time; None where that would save nothing.

    What the position leaves of the 32 bits are steps between the row's lowest number and its highest. Numbers in the
    same step then stand by position, and neighbours among them change places until they stand by size.
    """
    count = numbers.shape[1]
    shift = max(1, (count - 1).bit_length())
    low = numbers.min(axis=1, keepdims=True)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        steps = np.float32(2 ** (32 - shift) * (1 - 2**-12)) / (numbers.max(axis=1, keepdims=True) - low)
        if not (np.isfinite(steps) & (steps > 0)).all():
            return None
        keys = ((numbers - low) * steps).astype(np.uint32)
    keys <<= shift
    keys |= np.arange(count, dtype=np.uint32)
    keys.sort(axis=1)
    order: NDArray[np.int64] = (keys & ((1 << shift) - 1)).astype(np.int64)
    keys >>= shift
    row, left = np.nonzero(keys[:, 1:] == keys[:, :-1])
    if row.size > _TIED * numbers.size:
        return None
    turns = [(row[left % 2 == odd], left[left % 2 == odd]) for odd in (0, 1)]  # pairs that share no number
    moved = bool(row.size)
    while moved:
        moved = False
        for at, one in turns:
            first, second = order[at, one], order[at, one + 1]
            size, other = numbers[at, first], numbers[at, second]
            wrong = (size > other) | ((size == other) & (first > second))
            order[at[wrong], one[wrong]] = second[wrong]
            order[at[wrong], one[wrong] + 1] = first[wrong]
            moved |= bool(wrong.any())
    return order


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """What the ranks of each object over all draws come to."""

    top: Floats
    first: Floats
    mean: Floats
    sd: Floats
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


def _count_ranks(ranks: NDArray[np.integer[Any]], top: int | None, interval: float) -> _Counts:
    """Count over the draws (rows) for each object (columns), a block of objects at a time on all cores."""
    draws, count = ranks.shape
    low, high = interval_places(draws, interval)
    numbers, ends = np.empty((4, count)), np.empty((2, count), dtype=np.int64)
    counts = _Counts(numbers[0], numbers[1], numbers[2], numbers[3], ends[0], ends[1])
    block, places = max(1, _BLOCK // (8 * draws)), np.arange(count + 1)

    def fill(start: int) -> None:
        chosen = slice(start, start + block)
        part = np.ascontiguousarray(ranks[:, chosen].T)
        if count > 2 * draws:
            tops = 0 if top is None else np.count_nonzero(part <= top, axis=1)
            counts.first[chosen], counts.top[chosen] = np.count_nonzero(part == 1, axis=1), tops
            counts.mean[chosen] = part.sum(axis=1, dtype=np.int64) / draws
            about = part - counts.mean[chosen, None]
            counts.sd[chosen] = np.sqrt(np.einsum("ij,ij->i", about, about) / draws)
            part.partition((low, high), axis=1)
            counts.lower[chosen], counts.upper[chosen] = part[:, low], part[:, high]
            return
        for at, row in enumerate(part, start):  # while there are few ranks, how often each occurs says it all
            often = np.bincount(row, minlength=count + 1)
            below = often.cumsum()
            counts.first[at], counts.top[at] = below[1], 0 if top is None else below[top]
            counts.mean[at] = mean = (often @ places) / draws
            counts.sd[at] = np.sqrt(often @ np.square(places - mean) / draws)
            counts.lower[at], counts.upper[at] = below.searchsorted([low + 1, high + 1])

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(fill, range(0, count, block)))
    return counts


def pairwise(fit: Fit, first: Sequence[str], second: Sequence[str]) -> Floats:
    """Return P(v_o > v_p) for pairs of objects, in closed form and whatever the gauge.

    Parameters
    ----------
    fit
        Any fit.
    first, second
        Labels of the objects o and p, pair by pair.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [9.0, 8.0, 9.5, 7.0, 8.5, 8.0]))
    >>> pairwise(fit, ["0"], ["1"]).round(2)
    array([0.84])
    """
    position = {label: index for index, label in enumerate(fit.values.labels)}
    unknown = [label for label in (*first, *second) if label not in position]
    if unknown or len(first) != len(second):
        what = f"there is no object {unknown[0]!r}" if unknown else "the two lists differ in length"
        raise InputError(f"Objects are compared pair by pair: {what}.", kind="bad_option")
    one, two = ([position[label] for label in labels] for labels in (first, second))
    component = fit.values.component
    if any(component[a] != component[b] for a, b in zip(one, two, strict=True)):
        raise NotRankableError("Objects of different groups cannot be compared.")
    difference = fit.values.latent[one] - fit.values.latent[two]
    below = fit.posterior.of_differences(two, one).cdf(difference)
    if below is None:
        raise NotRankableError(f"No probabilities: {fit.posterior.noise.reason}.")
    return below
