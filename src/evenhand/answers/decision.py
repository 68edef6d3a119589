"""Decisions that rest on ranks and values: places, lots among those whom the data cannot separate, grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from evenhand import frames
from evenhand.answers.ranking import Ranking
from evenhand.compiled import Floats
from evenhand.errors import InputError, NotRankableError
from evenhand.models.fit import Fit
from evenhand.words import count_of

LEAST_DEGREES: Final = 3
"""Nothing is called safe with fewer degrees of freedom: with these, noise estimated from scores has no variance."""


def why_unsafe(fit: Fit) -> str | None:
    """Return why nothing may be called safe, whatever its probability; None where it may.

    Scores that leave next to nothing over cannot tell how large their own noise is. Every variance of a refined model
    that the scores had to tell takes away a degree of freedom. Where noise was declared, none are needed.
    """
    if fit.posterior.noise.kind != "estimated":
        return None
    search = fit.model.behind
    told = 0 if search is None else sum(one.name != "w" for one in search.unknowns)
    left = max(0, fit.degrees_of_freedom - told)
    if left >= LEAST_DEGREES:
        return None
    return (
        f"nobody is called safely in or out: the scores leave {count_of(left, 'degree')} of freedom to tell how far "
        f"scores scatter, and that takes at least {LEAST_DEGREES}; more assessments would give them"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Decision(frames.Shown):
    """Who is in and who is out for a number of places, and whom the data cannot separate.

    Attributes
    ----------
    ranking
        The ranks that it rests on.
    places
        The number of places.
    inside, undecided, outside
        Labels: rank interval wholly above the line, across it, wholly below it; by expected rank.
    drawn
        Those of the undecided whom the lottery gave a place, in the order drawn; None without a lottery.
    lottery_seed
        Seed of the lottery: anyone can repeat the draw.
    caution
        Why nobody is called safely in or out, whatever the rank intervals; None where they decide.
    """

    ranking: Ranking
    places: int
    inside: tuple[str, ...]
    undecided: tuple[str, ...]
    outside: tuple[str, ...]
    drawn: tuple[str, ...] | None = None
    lottery_seed: int | None = None
    caution: str | None = None

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.ranking.backend

    def columns(self) -> dict[str, Any]:
        """Return the table as columns: object, status and, after a lottery, whether it was drawn."""
        labels = list(self.ranking.fit.values.labels)
        drawn = {} if self.drawn is None else {"drawn": [label in self.drawn for label in labels]}
        return {"object": labels, "status": self.status, **drawn}

    @cached_property
    def status(self) -> list[str]:
        """``"in"``, ``"undecided"`` or ``"out"`` for each object, in the order of the panel."""
        groups = {"in": set(self.inside), "undecided": set(self.undecided), "out": set(self.outside)}
        return [
            next(name for name, group in groups.items() if label in group) for label in self.ranking.fit.values.labels
        ]

    def __str__(self) -> str:
        text = (
            f"{len(self.inside)} safely in the top {self.places}, {len(self.undecided)} that the data cannot separate, "
            f"{len(self.outside)} safely out"
        )
        if self.drawn is not None:
            text += f"; drawn by lot (seed {self.lottery_seed}): {', '.join(self.drawn) or 'nobody'}"
        return text if self.caution is None else f"{text}; {self.caution}"


def decide(ranking: Ranking, places: int, *, lottery_seed: int | None = None) -> Decision:
    """Return who is safely in, safely out, and in the group that the data cannot separate.

    An object is undecided if its rank interval crosses the line below the last place: the group among whom the
    Swiss National Science Foundation draws lots. With fewer than three degrees of freedom to estimate the noise from,
    all are undecided: nothing is safe that rests on next to nothing.

    Parameters
    ----------
    ranking
        Ranks from :func:`rank`.
    places
        The budget k.
    lottery_seed
        Draw the places that are left by lot among the undecided, from this seed.
    """
    count = ranking.expected_rank.size
    if not 0 <= places <= count:
        raise InputError(f"There are {count} objects and so between 0 and {count} places.", kind="bad_option")
    order = np.argsort(ranking.expected_rank, kind="stable").tolist()
    labels = ranking.fit.values.labels
    caution, lower, upper = why_unsafe(ranking.fit), ranking.rank_lower, ranking.rank_upper
    if caution is not None:  # then every rank is possible
        lower, upper = np.ones_like(lower), np.full_like(upper, count)
    inside = tuple(labels[i] for i in order if upper[i] <= places)
    outside = tuple(labels[i] for i in order if lower[i] > places)
    settled = set(inside) | set(outside)
    undecided = tuple(labels[i] for i in order if labels[i] not in settled)
    drawn = None
    if lottery_seed is not None:
        # drawn from the labels in sorted order, so that the draw does not depend on the order of the file
        pool = sorted(undecided)
        chosen = np.random.default_rng(lottery_seed).permutation(len(pool))[: max(0, places - len(inside))]
        drawn = tuple(pool[i] for i in chosen.tolist())
    return Decision(ranking, places, inside, undecided, outside, drawn, lottery_seed, caution)


@dataclass(frozen=True, eq=False, repr=False)
class Classification(frames.Shown):
    """Probabilities of grades.

    Attributes
    ----------
    fit
        The fit.
    cutoffs
        The boundaries between classes, increasing.
    probability
        A row for each object, a column for each class from the lowest; each row adds up to 1.
    """

    fit: Fit
    cutoffs: tuple[float, ...]
    probability: Floats

    @property
    def names(self) -> list[str]:
        """Names of the classes, from the lowest: ``below 40``, ``40 to 50``, ..., ``70 and above``."""
        edges = [f"{edge:.15g}" for edge in self.cutoffs]
        between = [f"{low} to {high}" for low, high in pairwise(edges)]
        return [f"below {edges[0]}", *between, f"{edges[-1]} and above"]

    def records(self) -> list[dict[str, float]]:
        """Return for each object the probability of each class by its name."""
        return [dict(zip(self.names, row, strict=True)) for row in self.probability.tolist()]

    def columns(self) -> dict[str, Any]:
        """Return the table as columns: object, value, and a column for each class."""
        classes = {name: self.probability[:, index] for index, name in enumerate(self.names)}
        return {"object": list(self.fit.values.labels), "value": self.fit.values.estimate, **classes}

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.fit.panel.backend


def classify(fit: Fit, cutoffs: Sequence[float]) -> Classification:
    """Return the probability that each value lies in each class between cut-offs: degree classification.

    Unlike ranks this depends on the gauge, which fixes the level of the values: anchor it, or use ``"weighted"``.

    Parameters
    ----------
    fit
        Any fit.
    cutoffs
        Increasing boundaries; the first class lies below the first, the last class above the last.

    Examples
    --------
    >>> from evenhand import Panel, calibrate
    >>> fit = calibrate(Panel.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [9.0, 8.0, 9.5, 1.0, 2.0, 1.0]))
    >>> found = classify(fit, [5.0])
    >>> found.names, found.probability.round(2).tolist()
    (['below 5', '5 and above'], [[0.01, 0.99], [0.99, 0.01]])
    """
    edges = np.asarray(cutoffs, dtype=np.float64)
    if edges.ndim != 1 or not edges.size or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise InputError("Cut-offs must be increasing, finite numbers.", kind="bad_option")
    latent = edges if fit.values.scale is None else fit.values.scale.forward(edges)
    gap = latent[:, None] - fit.values.latent
    below = fit.values.marginal.cdf(gap)
    if below is None:
        raise NotRankableError(f"No probabilities: {fit.posterior.noise.reason}.")
    known = (fit.values.marginal.spread == 0).all(axis=0)
    # a value exactly on a boundary belongs to the class above it
    below = np.where(known & (gap == 0), 0.0, below)
    return Classification(fit, tuple(edges.tolist()), np.diff(below.T, axis=1, prepend=0.0, append=1.0))
