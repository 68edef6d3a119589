"""What the scores support: a method and what it means, what declared confidence is worth; every door reads it here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from evenhand.answers.advice import CLEARLY, NOTHING, Recommendation, mean_loss, small
from evenhand.answers.alert import Cases
from evenhand.answers.decision import Decision, Status
from evenhand.answers.heldout import BRIDGE, cell_of, held_out, leverages
from evenhand.look import status_word
from evenhand.models.additive import CWC
from evenhand.models.average import SA
from evenhand.models.fit import METHOD_NAMES, Fit, Model
from evenhand.words import argument, called, count_of, listed, lowered, number, phrase, quoted, sentence, together

if TYPE_CHECKING:
    from evenhand.answers.compare import Comparison

SURE: Final = 3.0
"""Standard errors by which a refinement must gain before the scores are said to support it."""

_IDLE: Final = 2.58
"""Standard deviations by which the power of declared confidence is below 1 before it is said to say nothing."""

_KINDS: Final = 5
"""Up to this many different confidences the highest is a class of its own; of more, the upper half."""


_SPREADS: Final = ("w", "value_ratio", "bias_ratio")
_EACH: Final = ("scale_ratio", "strength")
"""Numbers that a model is told by the scores: spreads; and those that stand for one unknown of each assessor."""

SAME_WITHOUT: Final = ("cwa", "iba")
"""Methods that come to the same as averages and calibration where no confidence was declared."""

_SHORT: Final = 48
"""Names that are longer together than this are counted in a headline."""

_NAMED: Final = 6
"""Objects that a sentence names."""

_MOVED: Final = 4
"""If more than these change between open and out, a warning says how many."""

_FIRST: Final = 3
"""Objects that a headline names of those who come, or go, where these are many."""

_FEW: Final = 0.25
"""If the method that the scores support gives fewer of the places than this to others, and not two, a note says so."""


def supported(fit: Fit, comparison: Comparison) -> Recommendation:
    """Return the method that the scores support and the reason, under the name of the fit where both are the same.

    One with unknowns of its own only where the gain is beyond doubt: what a score told of unknowns is taken off to
    first order only, and the best of several refinements was looked for. So a refinement beyond shrinking counts where
    it gains more than 1 for each unknown in log probability over all scores, and more than three standard errors,
    beside the best of the others; else that one is taken. The method used is not given up for a simpler one that
    predicts clearly worse.
    """
    found = _clearly(comparison)
    other = next((row.fit for row in comparison.methods if row.method == found.method), None)
    if other is None or other.method == fit.method:
        return found
    if _is_same(fit, other):
        return Recommendation(fit.method, found.reason)  # the same by another name
    kept = _kept(fit, other, comparison)
    return found if kept is None else kept


def _is_same(fit: Fit, other: Fit) -> bool:
    """Return whether two fits have the same values and are as sure of them."""
    ours, theirs = fit.values.sd, other.values.sd
    if ours is None or theirs is None:
        return bool(np.allclose(other.values.estimate, fit.values.estimate, rtol=1e-9)) and ours is theirs
    pairs = ((other.values.estimate, fit.values.estimate), (theirs, ours))
    return all(np.allclose(one, two, rtol=1e-9) for one, two in pairs)


def _kept(fit: Fit, other: Fit, comparison: Comparison) -> Recommendation | None:
    """Return the method used where the simpler one that is advised predicts clearly worse; None where it does not.

    Simplicity was then preferred because the ranking hardly changes: no reason to leave the method used.
    """
    if not _assumed(other) < _assumed(fit) or not _is_nearer(fit, other, comparison):
        return None
    gain, error = _gain(fit, other)
    unknowns, count = _unknowns(fit), fit.panel.n_assessments
    if gain <= max((NOTHING + unknowns) / count, (SURE if unknowns else CLEARLY) * error):
        return None
    reason = (
        f"“{fit.name}” predicts held-out scores clearly better than “{other.name}”, which is simpler and ranks much "
        f"the same: by {small(gain)} in log probability per score, standard error {small(error)}."
    )
    return Recommendation(fit.method, reason)


def _is_nearer(fit: Fit, other: Fit, comparison: Comparison) -> bool:
    """Return whether a fit is off by less than another from held-out scores, in points, or nobody knows."""
    error = {row.method: row.loo_rmse for row in comparison.methods}
    near, far = error.get(fit.method), error.get(other.method)
    return near is None or far is None or near < far


def rule(fit: Fit, comparison: Comparison) -> str:
    """Return by what rule the scores support the method that they do, in a sentence; empty where there is none.

    That is simplicity among those that are about as good; unless the one so found has unknowns of its own and is not
    beyond doubt, which leaves the best of those that have none.
    """
    first = comparison.recommendation.method
    if first is None or supported(fit, comparison).method is None:
        return ""
    if first == _clearly(comparison).method:
        return phrase("Of methods that do about equally well the simplest is supported.")
    names = {row.method: row.fit.name for row in comparison.methods if row.fit is not None}
    return phrase(
        "{method} is ahead, but by too little for all that it assumes; of the simpler methods the best is preferred.",
        method=sentence(names[first]),
    )


def is_clearly_better(fit: Fit, other: Fit) -> bool:
    """Return whether a fit predicts held-out scores better than another by more than the standard error of that.

    Where there is nothing to weigh them by it is not clear.
    """
    mean, error = _gain(fit, other)
    return mean > error


def _gain(fit: Fit, other: Fit) -> tuple[float, float]:
    """Return by how much a fit predicts held-out scores better than another, and the standard error of that.

    In log probability for each score; zero where there is nothing to weigh them by.
    """
    if fit.model.why_not("leverages") is not None or other.model.why_not("leverages") is not None:
        return 0.0, 0.0
    panel, cell = fit.panel, cell_of(fit.panel, [fit.model, other.model])
    ours, theirs = held_out(fit, cell), held_out(other, cell)
    both = ours.is_predicted & theirs.is_predicted
    if not both.any() or not np.isfinite(ours.log_score[both]).all():
        return 0.0, 0.0
    gain = (ours.log_score - theirs.log_score)[both]
    if not np.isfinite(gain).all():  # what came about was impossible by the other
        return (np.inf if np.isposinf(gain).any() and not np.isnan(gain).any() else 0.0), 0.0
    return mean_loss((panel.object_index[both], panel.assessor_index[both]), gain)


def is_simpler(fit: Fit, other: Fit, comparison: Comparison) -> bool:
    """Return whether a fit is simpler than another and predicts held-out scores no better.

    It is then simplicity that prefers it, not the scores: by the error in points or by the log probability.
    """
    return _assumed(fit) < _assumed(other) and not (_is_nearer(fit, other, comparison) and _gain(fit, other)[0] > 0)


How = Literal["clear", "simpler", "slight"]


def how_supported(fit: Fit, comparison: Comparison) -> How:
    """Return how the scores support another method than the one used.

    It clearly predicts better, or is preferred for being simpler, or slightly by the scores. Clear, too, where it is
    the one used, or none.
    """
    advised = supported(fit, comparison).method
    other = next((row.fit for row in comparison.methods if row.method == advised), None)
    if other is None or advised == fit.method or is_clearly_better(other, fit):
        return "clear"
    return "simpler" if is_simpler(other, fit, comparison) else "slight"


def _assumed(fit: Fit) -> tuple[int, int, int]:
    """Return how much a fit assumes, to compare: further unknowns, refinements, and what the method itself has."""
    base, *refinements = fit.method.split("+")
    return _unknowns(fit), len(refinements), list(METHOD_NAMES).index(base) if base in METHOD_NAMES else 0


def _clearly(comparison: Comparison) -> Recommendation:
    advised = comparison.recommendation
    chosen = next((row for row in comparison.methods if row.method == advised.method), None)
    if chosen is None or not _unknowns(chosen.fit):
        return advised
    count = comparison.panel.n_assessments
    behind = {
        row.method: (count * row.loo_behind, count * (row.loo_behind_error or 0.0))
        for row in comparison.methods
        if row.loo_behind is not None and row.fit is not None and row.fit.model.is_offered
    }
    plain = {
        row.method: behind[row.method] for row in comparison.methods if row.method in behind and not _unknowns(row.fit)
    }
    if not plain or chosen.method not in behind:
        return advised
    best = min(plain, key=lambda method: plain[method][0])
    gain, error = plain[best][0] - behind[chosen.method][0], plain[best][1]
    needed = max(NOTHING + _unknowns(chosen.fit), SURE * error)
    if gain > needed:
        return advised
    named = {row.method: row.fit.name for row in comparison.methods if row.fit is not None}
    reason = (
        f"“{named[best]}” is the best of the methods that have no further unknowns. “{named[chosen.method]}” predicts "
        f"held-out scores better by {gain:.2g} in log probability of all scores together, standard error {error:.2g}, "
        f"but it would take {needed:.2g} to be beyond doubt."
    )
    return Recommendation(best, reason)


def _unknowns(fit: Fit | None) -> int:
    """Return how many unknowns beside spreads of values and biases the scores had to tell, at least.

    One for each assessor with scales or noise factors of their own; one for noise that is not normal.
    """
    search = None if fit is None else fit.model.behind
    if fit is None or search is None:
        return 0
    further = [one.name for one in search.unknowns if one.name not in _SPREADS]
    if not search.base.likelihood.is_normal and "freedom" not in further:
        further.append("noise")
    return sum(fit.panel.n_assessors if name in _EACH else 1 for name in further)


def method_means(method: str, confidence: str) -> str:
    """Return what sets a method apart, in plain words; empty where there is nothing to say.

    Examples
    --------
    >>> method_means("cwc+shrunk", "none")
    'values are pulled towards the mean of all, uncertain ones most'
    """
    means = {
        "iba": phrase("declared confidence is ignored") if confidence != "none" else "",
        "shrunk": phrase("values are pulled towards the mean of all, uncertain ones most"),
        "scaled": phrase("each assessor may spread marks more or less than others"),
        "confidences": phrase("each assessor’s scores scatter in their own way"),
        "power": phrase("the scores tell how much declared confidence counts"),
        "student": phrase("scores far from all others pull less"),
    }
    return "; ".join(means[one] for one in method.split("+") if means.get(one))


def method_lacks(method: str, used: str) -> str:
    """Return what a method does without that is in the one used, in plain words; empty where it differs otherwise.

    Examples
    --------
    >>> method_lacks("cwc+shrunk", "cwc+shrunk+student"), method_lacks("iba+shrunk", "cwc+shrunk")
    ('scores far from all others pull in full', '')
    """
    lacks = {
        "shrunk": phrase("values are not pulled towards the mean"),
        "scaled": phrase("all assessors are taken to spread marks alike"),
        "confidences": phrase("all assessors’ scores are taken to scatter alike"),
        "power": phrase("confidence counts as declared"),
        "student": phrase("scores far from all others pull in full"),
    }
    (base, *kept), (own, *parts) = method.split("+"), used.split("+")
    gone = [one for one in parts if one not in kept]
    if base != own or len(kept) + len(gone) != len(parts) or not set(gone) <= set(lacks):
        return ""
    return listed([lacks[one] for one in gone])


def values_mean(fit: Fit) -> str:
    """Return what the values of a fit are, in a sentence.

    Examples
    --------
    >>> import evenhand as eh
    >>> values_mean(eh.calibrate(eh.demo()))
    'Values are in points: each assessor’s standard is taken out; surer scores count more.'
    """
    panel, model = fit.panel, fit.model
    averages = phrase("plain averages of scores") if model == SA else phrase("averages of scores")
    said = [phrase("each assessor’s standard is taken out") if fit.is_calibrated else averages]
    if model.uses_confidence and float(np.ptp(panel.precision)) > 0:
        said.append(phrase("surer scores count more"))
    further = method_means("+".join(model.method.split("+")[1:]), panel.confidence)
    return phrase("Values are in points: {means}.", means="; ".join([*said, *([further] if further else [])]))


def asked_by(model: Model) -> str:
    """Return how a model is asked for, where messages are read: ``--power 0 --shrink`` on the command line."""
    return _options(model.asked)


def _options(asked: Mapping[str, object]) -> str:
    return " ".join(
        argument(name, int(given) if isinstance(given, float) and given.is_integer() else given)
        for name, given in asked.items()
    )


def preference(ending: str, how: How) -> str:
    """Return that the scores support another method than the one used, or how far they do, and what that means."""
    finding = phrase("The scores slightly prefer another method")
    if how == "clear":
        finding = phrase("The scores support another method")
    elif how == "simpler":
        finding = phrase("A simpler method predicts about as well")
    return phrase("{finding}, and {ending}", finding=finding, ending=ending)


@dataclass(frozen=True, slots=True)
class Rival:
    """The method that the scores support where another was used, beside what that decides: in words.

    Attributes
    ----------
    made, other
        The decision that was made, and the one that it would be.
    errors
        How far either is from unseen scores, in points; None where that is not known.
    how
        How the scores support the other.
    """

    made: Decision
    other: Decision
    errors: tuple[float | None, float | None]
    how: How

    @property
    def changed(self) -> list[str]:
        """Who has another status, in the order of rank."""
        then = {one.object: one.status for one in self.other.standings}
        return [one.object for one in self.made.standings if then[one.object] != one.status]

    @property
    def gone(self) -> list[str]:
        """Who is in, and would not be."""
        return [label for label in self.made.inside if label not in self.other.inside]

    @property
    def new(self) -> list[str]:
        """Who would be in, and is not."""
        return [label for label in self.other.inside if label not in self.made.inside]

    @property
    def entering(self) -> list[str]:
        """Who would stand above the line, and does not."""
        return self._above(self.other, self.made)

    @property
    def leaving(self) -> list[str]:
        """Who stands above the line, and would not."""
        return self._above(self.made, self.other)

    def _above(self, one: Decision, other: Decision) -> list[str]:
        below = {row.object for row in other.standings[other.places :]}
        return [row.object for row in one.standings[: one.places] if row.object in below]

    @property
    def is_weighty(self) -> bool:
        """Whether it clearly predicts better, and other objects would be in, or above the line."""
        many = max(2.0, _FEW * self.made.places)
        return self.how == "clear" and bool(self.gone or self.new or len(self.entering) >= many)

    @property
    def headline(self) -> str:
        """What hangs on it, in a few words."""
        if self.is_weighty:
            return self._finding()
        return preference(self._ending(), self.how)

    def _ending(self) -> str:
        if self.gone or self.new:  # were it clear, it would be weighty
            return phrase("it changes who is in")
        if not self.changed:
            return phrase("every status stays the same") if self.entering else phrase("it decides the same")
        return phrase("who is in stays the same") if self.made.inside else phrase("nobody is in by either")

    def _finding(self) -> str:
        noun, gone, new = self.made.fit.panel.noun, self.gone, self.new
        if not gone and not new:
            counts = {"count": f"{len(self.entering):,}", "places": f"{self.made.places:,}"}
            return phrase("By the method that predicts better, {count} of the first {places} change", **counts)
        if gone and new:
            for most, room in ((max(len(gone), len(new)), _SHORT), (_FIRST, 2 * _SHORT)):  # all of them, or the first
                names = {"gone": together(gone, noun, most), "new": together(new, noun, most)}
                if sum(map(len, names.values())) > room:
                    continue
                if set(gone) <= set(self.other.undecided):
                    return phrase("By the method that predicts better, {new} would be in, {gone} only open", **names)
                return phrase("By the method that predicts better, {new} would be in, {gone} not", **names)
            counts = {"gone": f"{len(gone):,}", "new": f"{len(new):,}"}
            return phrase("The method that predicts better changes who is in: {new} new, {gone} no longer", **counts)
        names = {"names": _brief(gone or new, noun)}
        if gone and set(gone) <= set(self.other.undecided):
            if len(gone) == 1:
                return phrase("By the method that predicts better, {names} is open, not in", **names)
            return phrase("By the method that predicts better, {names} are open, not in", **names)
        if len(gone) == 1:
            return phrase("By the method that predicts better, {names} is not in", **names)
        if gone:
            return phrase("By the method that predicts better, {names} are not in", **names)
        return phrase("By the method that predicts better, {names} would be in", **names)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What it would decide, and why it is to be believed; what cannot be left out comes first."""
        panel, model = self.made.fit.panel, self.other.fit.model
        if self.is_weighty:
            said = [one for one in (*self._swapped(), self._fallen(), self._sure()) if one]
            rest, noun = self._between(), panel.noun
            if len(rest) > _MOVED:
                said.append(self._many(rest))
            elif rest:
                moved = "; ".join(self._moved(lambda labels: together(labels, noun, _NAMED), rest))
                said.append(phrase("By the method that predicts better, {moved}.", moved=moved))
            return *([(said[0], " ".join(said[1:]))] if said else []), self._nearer()
        that, means = phrase("It is {method}", method=self.other.fit.name), method_means(model.method, panel.confidence)
        if lacks := method_lacks(model.method, self.made.fit.model.method):
            that, means = phrase("By that method {means}", means=lacks), ""
        lines = [(f"{that}:", f"{means}.") if means else (f"{that}.", "")]
        if self.changed:
            moved = "; ".join(self._moved(lambda labels: together(labels, panel.noun, _NAMED), self.changed))
            lines.append((phrase("By it {moved}.", moved=moved), ""))
        return *lines, *(("", swapped) for swapped in self._swapped())

    def _between(self) -> list[str]:
        """Return who would be open instead of out, or out instead of open."""
        return [one for one in self.changed if one not in {*self.gone, *self.new}]

    def _many(self, rest: Sequence[str]) -> str:
        """Return how many of many would be open, and out."""
        opened = sum(one in self.other.undecided for one in rest)
        told = {"count": f"{len(rest):,}", "opened": f"{opened:,}", "others": f"{len(rest) - opened:,}"}
        if opened in (0, len(rest)):
            told["status"] = status_word("undecided" if opened else "out")
            return phrase("Between open and out, {count} change: all would be {status}.", **told)
        return phrase("Between open and out, {count} change: {opened} would be open, {others} out.", **told)

    @property
    def each(self) -> tuple[Cases, ...]:
        """Who would be open instead of out, or out instead of open, where the lines only count them."""
        rest, noun = self._between(), self.made.fit.panel.noun
        if not self.is_weighty or len(rest) <= _MOVED:
            return ()
        sides = (
            (phrase("Open by the method that predicts better, not out:"), self.other.undecided),
            (phrase("Out by the method that predicts better, not open:"), self.other.outside),
        )
        found = [Cases(head, tuple(called(one, noun) for one in rest if one in side)) for head, side in sides]
        return tuple(one for one in found if one.names)

    def _moved(self, name: Callable[[Sequence[str]], str], among: Sequence[str]) -> Iterator[str]:
        """Yield who of some has another status, those who are in by one of the two first, as a clause each."""
        then = {one.object: one.status for one in self.other.standings}
        moves: dict[tuple[Status, Status], list[str]] = {}
        for one in self.made.standings:
            now = then[one.object]
            if one.object in among and one.status is not None and now is not None:
                moves.setdefault((one.status, now), []).append(one.object)
        for (before, now), labels in sorted(moves.items(), key=lambda move: "in" not in move[0]):
            words = {"names": name(labels), "now": status_word(now), "before": status_word(before)}
            yield (
                phrase("{names} is {now}, not {before}", **words)
                if len(labels) == 1
                else phrase("{names} are {now}, not {before}", **words)
            )

    def _sure(self) -> str:
        """Return who is in by both, where that is to be told from who is in by one alone; empty where nobody is."""
        both = [label for label in self.made.inside if label in self.other.inside]
        if not both or not (self.gone or self.new):
            return ""
        return phrase("In by both methods: {names}.", names=together(both, self.made.fit.panel.noun, _NAMED))

    def _fallen(self) -> str:
        """Return where the one who would be in no longer would stand; empty for several, or the same rank."""
        then = {one.object: one.place for one in self.other.standings}
        one = next((one for one in self.made.standings if [one.object] == self.gone), None)
        if one is None or then[one.object] == one.place:
            return ""
        told = {"name": called(one.object, sentence(self.made.fit.panel.noun))}
        told |= {"before": f"{one.place:,}", "after": f"{then[one.object]:,}"}
        return phrase("{name} would have rank {after}, not {before}.", **told)

    def _swapped(self) -> Iterator[str]:
        """Yield who would stand above the line instead of whom: a rank, not a place, as those may be open."""
        noun, entering, leaving = self.made.fit.panel.noun, self.entering, self.leaving
        if entering:
            names = {"now": together(entering, sentence(noun), _NAMED), "before": together(leaving, noun, _NAMED)}
            names["places"] = f"{self.made.places:,}"
            if self.made.places == 1:
                yield phrase("{now} would be first instead of {before}.", **names)
            else:
                yield phrase("{now} would be among the first {places} instead of {before}.", **names)

    def _nearer(self) -> tuple[str, str]:
        """Return by how much the other method predicts better, and which it is."""
        far, near = self.errors
        lead = phrase("The other method predicts hidden scores better than the one used.")
        if far is not None and near is not None and near < far and number(near, 1) != number(far, 1):
            lead = phrase(
                "Tested by hiding each score in turn, the method used is off by {far} points, the other by {near}.",
                far=number(far, 1),
                near=number(near, 1),
            )
        return lead, phrase("The other is {method}.", method=quoted(self.other.fit.name))

    @property
    def remedy(self) -> str:
        """What to do."""
        if not self.changed and not self.entering:
            return phrase("Nothing hangs on the choice; say in the minutes which one was made.")
        now, then = (
            {name: given for name, given in one.fit.model.asked.items() if one.fit.model is not CWC}
            for one in (self.made, self.other)
        )
        options = _options({name: given for name, given in then.items() if now.get(name) != given})
        left = _options({name: given for name, given in now.items() if name not in then})
        if not left:
            return phrase(
                "Say in the minutes which method decides. To use the other: `{options}`.",
                options=options or asked_by(self.other.fit.model),
            )
        if not options:
            return phrase("Say in the minutes which method decides. To use the other, leave out `{left}`.", left=left)
        return phrase(
            "Say in the minutes which method decides. To use the other: `{options}` instead of `{left}`.",
            options=options,
            left=left,
        )

    @property
    def beside(self) -> str:
        """What must stand under the headline of the decision, which is not to be read alone.

        The alert or the note itself names the method. Empty for a note that is not of who is in.
        """
        if self.is_weighty and self.made.inside and not self.other.inside and self.other.undecided:
            return phrase(
                "By the method that predicts better nobody is in and {competing}.", competing=self.other.competing()
            )
        if self.is_weighty and (self.made.inside or self.other.inside):
            return phrase("By the method that predicts better {headline}.", headline=lowered(self.other.headline()))
        if self.is_weighty and self.other.undecided:
            return phrase(
                "By the method that predicts better nobody is in either and {competing}.",
                competing=self.other.competing(),
            )
        if not self.gone and not self.new:
            return ""
        noun = self.made.fit.panel.noun
        moved = "; ".join(self._moved(lambda labels: _brief(labels, noun), [*self.gone, *self.new]))
        if self.how == "simpler":
            return phrase("By a simpler method, which predicts about as well, {moved}.", moved=moved)
        return phrase("By another method, which the scores slightly prefer, {moved}.", moved=moved)


def rival_of(decision: Decision, comparison: Comparison) -> Rival | None:
    """Return the method that the scores support beside the one used; None where they are one, or it cannot decide."""
    fit = decision.fit
    advised = supported(fit, comparison).method
    if advised is None or advised == fit.method:
        return None
    other = next(row.fit for row in comparison.methods if row.method == advised)
    if other is None or other.model.why_not("ranks") is not None:
        return None
    error = {row.method: row.loo_rmse for row in comparison.methods}
    errors = error.get(fit.method), error.get(advised)
    return Rival(decision, decision.by(other), errors, how_supported(fit, comparison))


def _brief(labels: Sequence[str], noun: str) -> str:
    """Return objects for a headline: by name where that is short or there is one, else how many they are."""
    if len(labels) == 1:
        return called(labels[0], noun)
    names = together(labels, noun, len(labels))
    return names if len(names) <= _SHORT else count_of(len(labels), noun)


Verdict = Literal["misleads", "nothing", "cannot tell", "less", "as declared", "more"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What declared confidence is worth, by the power to which it counts: 1 as declared, 0 not at all.

    Attributes
    ----------
    verdict
        What the interval of the power says.
    sure, others
        How far scores given with high confidence are from what all others predict, and the others, as root mean
        squares, where all scores count alike; None where that is not known.
    weighed
        The fit in which confidence counts as much as the scores say.
    """

    verdict: Verdict
    sure: float | None
    others: float | None
    weighed: Fit

    @property
    def is_idle(self) -> bool:
        """Whether it should not count."""
        return self.verdict in ("misleads", "nothing")

    @property
    def headline(self) -> str:
        """What it is worth, in a few words."""
        return {
            "misleads": phrase("Declared confidence may mislead here"),
            "nothing": phrase("Declared confidence tells nothing here"),
            "cannot tell": phrase("The scores cannot tell what declared confidence is worth"),
            "less": phrase("Scores given with high confidence are nearer, though by less than declared"),
            "as declared": phrase("Scores given with high confidence are nearer, as declared"),
            "more": phrase("Scores given with high confidence are nearer, by more than declared"),
        }[self.verdict]

    def line(self, digits: int) -> str:
        """Return what was found of scores given with high confidence, in a sentence."""
        fits = self.sure is not None and self.others is not None
        if fits and (self.verdict != "misleads" or self.sure > self.others):  # type: ignore[operator]  # both known
            told = {"sure": number(self.sure, digits), "others": number(self.others, digits)}
            return phrase(
                "With all scores counted alike, those given with high confidence are {sure} points from what all "
                "others predict, the rest {others}.",
                **told,
            )
        if self.verdict == "misleads":
            return phrase("Scores given with high confidence are further off than the rest.")
        return phrase("Scores given with high confidence are as far off as the rest.")


def worth_of_confidence(comparison: Comparison | None) -> Worth | None:
    """Return what declared confidence is worth; None where none was declared or that was not looked into."""
    rows = {} if comparison is None else {row.method: row.fit for row in comparison.methods if row.fit is not None}
    # the intervals of other models are not needed, and take long
    power = next((fit for method, fit in rows.items() if "+power" in method), None)
    table = None if power is None else power.model.tables.get("variances")
    if power is None or table is None:
        return None
    cells = table.columns()
    at = cells["variance"].index("power")
    estimate, lower, upper = (cells[name][at] for name in ("estimate", "lower", "upper"))
    if lower is None or upper is None or not upper > lower:
        return None
    sd = (upper - lower) / (2 * 1.645)
    verdict: Verdict = "as declared" if upper >= 1 else "less"
    if lower > 1:
        verdict = "more"
    elif lower <= 0:
        is_clear = (1 - estimate) / sd > _IDLE
        verdict = ("misleads" if upper < 0 else "nothing") if is_clear else "cannot tell"
    return Worth(verdict, *_distances(rows.get("iba+shrunk")), power)


def _distances(fit: Fit | None) -> tuple[float | None, float | None]:
    """Return how far sure scores, and others, are from what all others predict: root mean squares."""
    if fit is None or fit.model.why_not("leverages") is not None:
        return None, None
    precision, slack = fit.panel.precision, 1.0 - leverages(fit)
    known = slack > BRIDGE
    few = np.unique(precision).size <= _KINDS
    sure = precision == precision.max() if few else precision > np.median(precision)
    error = np.square(fit.residuals / np.where(known, slack, 1.0))
    found = [float(np.sqrt(error[some].mean())) if some.any() else None for some in (known & sure, known & ~sure)]
    return found[0], found[1]
