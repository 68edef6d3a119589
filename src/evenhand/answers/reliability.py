"""How good a panel is: what its differences are made of, how reliable its values are, and who scores how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand import frames, words
from evenhand.answers.parts import Parts, between, chance, credible_rows, luck, shrunk_fit, shrunk_node
from evenhand.answers.verdicts import AssessorFit, assess_assessors, assessor_columns
from evenhand.compiled import Floats, sum_by
from evenhand.errors import EvenhandError, InputError, Problem
from evenhand.models.additive import CWC, IBA
from evenhand.models.effects import Table
from evenhand.models.fit import Fit
from evenhand.panel.graph import find_components
from evenhand.panel.panel import Panel
from evenhand.words import called_some, count_of, listed, lowered, number, phrase, sentence, term

if TYPE_CHECKING:
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.setting import Node

TARGET: Final = 0.8
"""The reliability that is asked for when nothing else is said."""

_BY_CHANCE: Final = 0.05
"""The part of good assessors that is called erratic, bunched or of another ranking by chance."""

LARGEST: Final = 20_000
_LONGEST: Final = 2_000
"""With more scores in all, or by one assessor, there are no statistics of single assessors."""

_CURVE: Final = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
_MOST: Final = 1000
"""More assessors per object than this are never needed: there is nothing to be found."""

_WORTH, _WORSE = 0.05, -0.02
"""From the first gain in reliability on calibrating is worth while, to the second averages are better."""

_VAGUE: Final = 0.4
"""Where the interval of a share is this wide, the scores can hardly tell."""

AVERAGES, CALIBRATED, SHRUNK = KINDS = ("averages", "calibrated", "shrunk")


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(frames.Shown):
    """How good a panel is. Tables and numbers that cannot be told are None, and the notes say why.

    The table of this result has a row for each assessor.

    Attributes
    ----------
    panel
        The panel.
    variances
        Variances of values, of biases, and of the noise of a single score, in squared points.
    shares
        The parts of the differences between plain averages: value, bias (the luck of who read what), noise.
    reliabilities
        Of plain averages, of calibrated values, and of shrunk values: the squared correlation with the true values.
    icc
        Intraclass correlations, of single scores and of averages of ``per_object`` scores: ICC(1) takes no notice of
        who scored, ICC(2) counts biases as error (agreement), ICC(3) does not (consistency).
    per_object
        Scores for each object, as a harmonic mean.
    assessors
        How each assessor's scores fit in with those of all others; None where there are too many.
    own
        Which of the reliabilities is that of the fit that was given.
    notes
        What a reader must know.
    """

    panel: Panel
    variances: Table | None
    shares: Table | None
    reliabilities: Table | None
    icc: Table | None
    per_object: float
    assessors: tuple[AssessorFit, ...] | None
    own: str
    notes: tuple[Problem, ...] = ()

    rows = "assessor"

    @property
    def backend(self) -> frames.Backend:
        """The kind of frame that tables come back as."""
        return self.panel.backend

    def columns(self) -> dict[str, Any]:
        """Return the table of assessors as columns: scores, infit, outfit, agreement, slope, spread, verdict."""
        return assessor_columns(self.assessors or ())

    def needed(self, target: float = TARGET) -> dict[str, int | None]:
        """Return how many assessors per object would give a reliability, by name of the values; None above 1,000.

        The rule of Spearman and Brown, with the assessors chosen as those of the panel were: calibrated values need two
        at least.
        """
        if not 0 < target < 1:
            raise InputError(f"A reliability lies between 0 and 1, not at {target:g}.", kind="bad_option")
        found: dict[str, int | None] = {}
        for name, now in self._now.items():
            least = 1 if name == AVERAGES else 2
            wanted = self.per_object * target / (1 - target) * (1 - now) / now if now > 0 else np.inf
            found[name] = max(least, ceil(wanted - 1e-9)) if wanted <= _MOST else None
        return found

    def curve(self, per_object: Sequence[int] = _CURVE) -> dict[str, list[Any]]:
        """Return the reliability for numbers of assessors per object as columns: per_object, then one for each value.

        k R / (1 + (k - 1) R), with k the number beside that of the panel (Spearman and Brown): exact where all objects
        are equally well known.
        """
        columns: dict[str, list[Any]] = {"per_object": list(per_object)}
        for name, now in self._now.items():
            times = [count / self.per_object for count in per_object]
            columns[name] = [
                None if name != AVERAGES and count < 2 else k * now / (1 + (k - 1) * now)
                for count, k in zip(per_object, times, strict=True)
            ]
        return columns

    @cached_property
    def _now(self) -> dict[str, float]:
        if self.reliabilities is None:
            return {}
        return dict(zip(self.reliabilities.labels, self.reliabilities.estimate.tolist(), strict=True))

    @property
    def sentence(self) -> str:
        """What differences between averages are made of, and whether to calibrate, in words for a chair."""
        if self.shares is None:
            return phrase("How far plain averages are luck cannot be told from these scores.")
        *most, last = self._parts(self.shares)
        parts = phrase("{most} and {last}", most=", ".join(most), last=last)
        if self._is_grouped and self.own != SHRUNK:  # nor on a method that was not used
            return phrase(
                "Of the differences between plain averages, {parts}, if the groups are equally good and their "
                "assessors equally strict on the whole.",
                parts=parts,
            )
        if self._is_vague:  # no advice rests on scores that cannot tell
            return phrase("Of the differences between plain averages, {parts}.", parts=parts)
        return phrase(
            "Of the differences between plain averages, {parts}. {advice}.", parts=parts, advice=self._advice()
        )

    @property
    def _is_vague(self) -> bool:
        """Whether the scores hardly tell how much of the differences is value."""
        return self.shares is not None and bool(self.shares.upper[0] - self.shares.lower[0] >= _VAGUE)

    def _parts(self, shares: Table) -> list[str]:
        """Return what differences between averages are made of, each part in words."""
        has_bias, found = "bias" in shares.labels, []
        for at, (name, share) in enumerate(zip(shares.labels, _percents(shares), strict=True)):
            ends = self._range(at) if name == "bias" and shares.upper[at] > 0 else ""
            if name == "bias" and not share:
                if not self._is_complete:  # else there was none
                    found.append(phrase("less than 1% is the luck of who read what"))
                continue
            told = words.chance(share / 100)  # never all or nothing
            if name == "value":
                found.append(phrase("{share} is what the work is worth", share=told))
            elif name == "bias" and ends:
                found.append(phrase("{share} is the luck of who read what (interval {ends})", share=told, ends=ends))
            elif name == "bias":
                found.append(phrase("{share} is the luck of who read what", share=told))
            elif has_bias:
                found.append(phrase("{share} is noise", share=told))
            else:
                found.append(phrase("{share} is noise or the luck of who read it", share=told))
        return found

    def _range(self, row: int) -> str:
        """Return the interval of a share in words."""
        if self.shares is None or np.isnan(self.shares.lower[row]):
            return ""
        lower, upper = (round(100 * float(end[row])) for end in (self.shares.lower, self.shares.upper))
        return phrase("{low} to {high}", low=lower, high=f"{upper}%")

    @property
    def _shown(self) -> tuple[str, ...]:
        """Averages and the calibrated values to set beside them: those of the fit, where it has any."""
        wanted = self.own if self.own != AVERAGES else CALIBRATED
        return tuple(name for name in (AVERAGES, wanted if wanted in self._now else SHRUNK) if name in self._now)

    @property
    def _is_complete(self) -> bool:
        """Whether every assessor scored everything."""
        panel = self.panel
        pairs = np.unique(panel.object_index * panel.n_assessors + panel.assessor_index)
        return pairs.size == panel.n_objects * panel.n_assessors

    @property
    def _is_even(self) -> bool:
        """Whether calibration must come to the order of plain averages: all scored all, once, and count alike."""
        panel = self.panel
        is_once = panel.n_assessments == panel.n_objects * panel.n_assessors
        return self._is_complete and is_once and float(np.ptp(panel.precision)) == 0

    def _advice(self) -> str:
        """Return whether to calibrate, in words."""
        before, after = (self._now[name] for name in self._shown)
        of = {
            AVERAGES: phrase("{number} for plain averages"),
            CALIBRATED: phrase("{number} for calibrated values"),
            SHRUNK: phrase("{number} for values pulled towards the mean"),
        }
        ends = listed([of[name].format(number=number(self._now[name])) for name in self._shown])
        gain = after - before
        if self._is_even:
            return phrase("Calibrating makes no difference to the ranking: reliability is {ends}", ends=ends)
        if gain >= _WORTH:
            return phrase("Calibrating is worth while: reliability, 1 at best, is {ends}", ends=ends)
        if gain > _WORSE:
            return phrase(
                "Calibrating makes little difference on the whole: reliability, 1 at best, is {ends}", ends=ends
            )
        return phrase(
            "Averages are better than calibration that does not pull values towards the mean: reliability is {ends}",
            ends=ends,
        )

    def sentences(self) -> list[str]:
        """Return what a report says: what differences are made of, how many assessors are needed, who stands out."""
        said = [self.sentence]
        if self._is_vague:
            said.append(
                phrase(
                    "These scores can hardly tell: the part that is value may be anything from {ends}.",
                    ends=self._range(0),
                )
            )
        # those of another method than the one used are not spoken of
        asked = [name for name in self._shown if name in (AVERAGES, self.own) or self.own == AVERAGES]
        ways = {name: count for name, count in self.needed().items() if count is not None and name in asked}
        if ways and self.own in (AVERAGES, *ways) and not self._is_complete:
            of = {
                AVERAGES: phrase("plain averages"),
                CALIBRATED: phrase("calibrated values"),
                SHRUNK: phrase("values pulled towards the mean"),
            }
            (first, count), *others = ways.items()
            said.append(
                phrase(
                    "Each {thing} has {now}. To reach a reliability of {target}, {values} would need {scores} per "
                    "{thing}{others}.",
                    target=f"{TARGET:g}",
                    values=of[first],
                    scores=count_of(count, "score"),
                    thing=term(self.panel.noun),
                    others="".join(f", {of[name]} {more:,}" for name, more in others),
                    now=_now(self.panel),
                )
            )
        return [*said, *self._verdicts()]

    def _verdicts(self) -> list[str]:
        given = [(one.assessor, one.verdict) for one in self.assessors or ()]
        return [verdicts_words(given, is_grouped=self._is_grouped)] if given else []

    @cached_property
    def _is_grouped(self) -> bool:
        """Whether the panel falls into groups that the scores alone cannot compare."""
        return find_components(self.panel).n_components > 1

    def __str__(self) -> str:
        lines = [self.sentence, ""]
        for title, table in (
            ("differences between averages", self.shares),
            ("reliability", self.reliabilities),
            ("intraclass correlation", self.icc),
        ):
            if table is not None:
                lines.append(f"{title:<30}{' ':>8}  interval")
                lines += [f"  {one}" for one in _lines(table)]
        lines += ["", *self.sentences()[1:]]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        tables = [
            frames.html_table(caption, table.columns(), of="row")
            for caption, table in (("Differences between averages", self.shares), ("Reliability", self.reliabilities))
            if table is not None
        ]
        assessors = frames.html_table("Assessors", self.columns(), of=self.rows) if self.assessors else ""
        return frames.html_lines(self.sentences()) + "".join(tables) + assessors + frames.html_lines(self.remarks())


def _now(panel: Panel) -> str:
    """Return how many scores an object has, in words."""
    least, most = int(panel.object_assessments.min()), int(panel.object_assessments.max())
    scores = count_of(most, "score")
    return scores if least == most else phrase("{least} to {most}", least=f"{least:,}", most=scores)


def _percents(shares: Table) -> list[int]:
    """Return shares in whole percent that add up to 100.

    That of value, the first, is the reliability of averages, and is rounded as that is; of the others those with the
    largest remainders are rounded up.
    """
    value = round(100 * round(float(shares.estimate[0]), 2))
    exact = 100 * shares.estimate[1:]
    whole = np.floor(exact).astype(np.int64)
    up = np.argsort(whole - exact, kind="stable")[: 100 - value - int(whole.sum())]
    whole[up] += 1
    return [value, *(int(one) for one in whole)]


def _lines(table: Table) -> list[str]:
    """Return the rows of a table as lines of text."""
    ends = [
        "" if np.isnan(low) else f"  {number(low)} to {number(high)}"
        for low, high in zip(table.lower.tolist(), table.upper.tolist(), strict=True)
    ]
    return [
        f"{label:<28}{number(estimate):>8}{end}"
        for label, estimate, end in zip(table.labels, table.estimate.tolist(), ends, strict=True)
    ]


def verdicts_words(given: Sequence[tuple[str, str]], *, is_title: bool = False, is_grouped: bool = False) -> str:
    """Return verdicts on assessors in a sentence; a title names nobody on whom there is none.

    Where groups cannot be compared assessors are so with those of their own.
    """
    who: dict[str, list[str]] = {}
    for assessor, verdict in given:
        who.setdefault(verdict, []).append(assessor)
    told = []
    if consistent := len(who.pop("consistent", [])):
        told.append(
            _of_groups(consistent, len(given))
            if is_grouped
            else phrase("All {count} assessors are consistent with each other", count=f"{consistent:,}")
            if consistent == len(given) > 1
            else phrase("1 assessor is consistent with the others")
            if consistent == 1
            else phrase("{count} assessors are consistent with the others", count=f"{consistent:,}")
        )
    order = {
        "erratic": phrase("erratic (far from the others, or hardly following them): {names}"),
        "bunched": phrase("bunched (scores too close together): {names}"),
        "other ranking": phrase("other ranking (another order than the others): {names}"),
    }
    if is_title:
        order = {
            "erratic": phrase("erratic: {names}"),
            "bunched": phrase("bunched: {names}"),
            "other ranking": phrase("other ranking: {names}"),
        }
    told += [
        words.format(names=called_some(who[verdict], "assessor")) for verdict, words in order.items() if verdict in who
    ]
    odd = sum(len(who.get(verdict, ())) for verdict in order)
    if 0 < odd <= _BY_CHANCE * len(given):
        if odd == 1:
            told[-1] = phrase("{verdicts} (may be chance)", verdicts=told[-1])
        else:
            chance = phrase("both may be chance") if odd == 2 else phrase("all {count} may be chance", count=f"{odd:,}")
            told[-1] = f"{told[-1]}; {chance}"
    if unknown := who.get("too few scores to tell"):
        known = {"count": f"{len(unknown):,}", "names": called_some(unknown, "assessor")}
        told.append(
            phrase("for {count} it is not clear", **known)
            if is_title
            else phrase("not clear (few scores, or weak agreement): {names}", **known)
        )
    return f"{sentence('; '.join(told)) if is_title else '. '.join(map(sentence, told))}."


def _of_groups(consistent: int, count: int) -> str:
    """Return how many assessors are consistent, where each is compared with those of the same group only."""
    if consistent == count:
        return phrase("Within each group all assessors are consistent with each other")
    if consistent == 1:
        return phrase("1 assessor is consistent with the others of the same group")
    return phrase("{count} assessors are consistent with the others of their group", count=f"{consistent:,}")


def reliability(found: Fit | CriteriaFit) -> Reliability:
    """Return how good a panel is: what its differences are made of, how reliable its values are, who scores how.

    The variances of values sigma_v^2, of biases tau^2 and of the noise w are those of the shrunk model (REML); a fit
    that is not shrunk is shrunk for this question. With n_o scores of an object, m_oa of them by assessor a, the
    variance between plain averages has the expectation

        sigma_v^2 + tau^2 g_b + w g_e,   g_b = sum_a sum_o (m_oa/n_o - mean)^2 / (n_O - 1),
        g_e = sum_i 1/(c_i n_o^2) / n_O:

    value, the luck of who read what, and noise. Where everybody read everything there is no such luck. The first over
    the sum is the reliability of averages. That of calibrated values is sigma_v^2 / (sigma_v^2 + w e), w e being half
    the mean variance of the difference of two values; that of shrunk values 1 - e' / sigma_v^2, e' being half the mean
    posterior variance of the difference of two values. All three are squared correlations with the true values.
    Intervals are over all variances that the scores leave credible.

    Parameters
    ----------
    found
        Any fit; with several criteria the combined one is looked at.

    Examples
    --------
    >>> from evenhand import calibrate, simulate_panel
    >>> found = reliability(calibrate(simulate_panel(40, 8, 3, seed=1).panel))
    >>> found.needed(0.8)
    {'averages': 5, 'calibrated': 3, 'shrunk': 3}
    """
    fit = found.combined
    fit.require("reliability")
    panel, interval = fit.panel, fit.values.interval
    notes: list[Problem] = []
    per_object = panel.n_objects / float((1.0 / panel.object_assessments).sum())
    own = AVERAGES if not fit.is_calibrated else CALIBRATED if shrunk_node(fit) is None else SHRUNK
    found_shrunk = shrunk_fit(fit, notes)
    if found_shrunk is None or panel.n_objects < 2:
        return Reliability(panel, None, None, None, None, per_object, None, own, tuple(notes))
    shrunk, node = found_shrunk
    parts = Parts.of(shrunk, node)
    mean_noise = float((1 / shrunk.weight).mean())
    names: tuple[str, ...] = ("value", "bias", "noise")
    if not node.setting.bias_ratio and int(panel.assessor_assessments.max()) == 1:
        names = ("value", "noise")
        message = "every assessor scored one object, so that bias and noise cannot be told apart: they count as one."
        notes.append(Problem("reliability", message))

    def table(side: str, numbers: Mapping[str, Floats]) -> Table:
        rows = credible_rows(list(numbers.values()), parts.share, interval)
        return Table(side, list(numbers), rows[0], rows[1], rows[2], rows[3], panel.backend)

    single = {"value": parts.value, "bias": parts.bias, "noise": parts.noise * mean_noise}
    spread = {"value": parts.value, "bias": parts.bias * luck(panel), "noise": parts.noise * chance(shrunk)}
    total = spread["value"] + spread["bias"] + spread["noise"]
    consistency = single["noise"]
    agreement = consistency + single["bias"]
    error = {"ICC(2,1)": agreement, "ICC(2,k)": agreement / per_object}
    error |= {"ICC(3,1)": consistency, "ICC(3,k)": consistency / per_object}
    return Reliability(
        panel=panel,
        variances=table("part", {name: single[name] for name in names}),
        shares=table("part", {name: spread[name] / total for name in names}),
        reliabilities=table("values", {AVERAGES: spread["value"] / total, **_calibrated(fit, shrunk, parts, notes)}),
        icc=_with_one_way(
            table("score", {name: parts.value / (parts.value + one) for name, one in error.items()}),
            _one_way(panel, interval),
            per_object,
        ),
        per_object=per_object,
        assessors=_assessors(shrunk, node, notes),
        own=own,
        notes=tuple(notes),
    )


def _calibrated(fit: Fit, shrunk: Fit, parts: Parts, notes: list[Problem]) -> dict[str, Floats]:
    """Return the reliability of calibrated values, where all can be compared, and of shrunk values."""
    found: dict[str, Floats] = {}
    plain = _plain(fit, notes)
    if plain is not None and np.array_equal(plain.weight, shrunk.weight):
        found[CALIBRATED] = parts.value / (parts.value + parts.noise * between(plain.posterior))
    posteriors = [shrunk.posterior, *(one.posterior for one in shrunk.posterior.alternatives)]
    left = np.array([between(one) for one in posteriors])[parts.node] * parts.noise
    known = np.divide(left, parts.value, out=np.ones_like(left), where=parts.value > 0)
    return {**found, SHRUNK: np.clip(1 - known, 0.0, 1.0)}


def _plain(fit: Fit, notes: list[Problem]) -> Fit | None:
    """Return the plain calibration of the same panel; None, with a note, where not all values can be compared."""
    if not fit.connectivity.is_connected:
        message = "the panel is not connected: calibrated values have no reliability as a whole, but shrunk ones have."
        notes.append(Problem("not_comparable", message))
        return None
    if fit.model.is_plain and fit.is_calibrated:
        return fit
    method = CWC if fit.model.uses_confidence else IBA
    try:
        return method(fit.panel)
    except EvenhandError as error:
        notes.append(Problem("reliability", f"calibrated values have no reliability: {lowered(str(error))}"))
        return None


def _one_way(panel: Panel, interval: float) -> Floats:
    """Return ICC(1) of a score, from the analysis of variance by object, with the interval of balanced panels.

    With the mean squares MSB between and MSW within objects, (MSB - MSW) / (MSB + (n_0 - 1) MSW); n_0 is the number of
    scores for each object, or (N - sum n_o^2 / N) / (n_O - 1) where it differs.
    """
    from scipy.special import fdtri

    count, sizes = panel.n_assessments, panel.object_assessments
    across, within = panel.n_objects - 1, count - panel.n_objects
    centred = panel.score - panel.score.mean()
    centred = centred / (float(np.abs(centred).max()) or 1.0)
    means = sum_by(panel.object_index, centred, panel.n_objects) / sizes
    inside = float(np.square(centred - means[panel.object_index]).sum()) / within if within else 0.0
    ratio = float(sizes @ np.square(means)) / across / inside if inside > 0 else np.nan
    typical = (count - float(np.square(sizes).sum()) / count) / across
    tail = (1 + interval) / 2
    if not np.isfinite(ratio):
        return np.full(3, np.nan)
    ends = [ratio, ratio / float(fdtri(across, within, tail)), ratio * float(fdtri(within, across, tail))]
    return np.array([(one - 1) / (one + typical - 1) for one in ends])


def _with_one_way(table: Table, single: Floats, per_object: float) -> Table:
    """Return the table of intraclass correlations with ICC(1) of a score, and of an average, in front."""
    average = per_object * single / (1 + (per_object - 1) * single)
    estimate, lower, upper = np.stack([single, average], axis=1)
    return replace(
        table,
        labels=["ICC(1,1)", "ICC(1,k)", *table.labels],
        estimate=np.concatenate([estimate, table.estimate]),
        sd=np.concatenate([np.full(2, np.nan), table.sd]),
        lower=np.concatenate([lower, table.lower]),
        upper=np.concatenate([upper, table.upper]),
    )


def _assessors(shrunk: Fit, node: Node, notes: list[Problem]) -> tuple[AssessorFit, ...] | None:
    """Return how each assessor fits in; None, with a note, where there are too many scores."""
    panel = shrunk.panel
    if panel.n_assessments > LARGEST or int(panel.assessor_assessments.max()) > _LONGEST:
        message = (
            f"no statistics of single assessors with more than {LARGEST:,} scores, or {_LONGEST:,} of one of them."
        )
        notes.append(Problem("reliability", message))
        return None
    return tuple(assess_assessors(shrunk, node.solver))
