"""Decisions: three groups, lots that can be repeated, grades with their chances."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.answers.decision import Choice, with_choice
from evenhand.errors import InputError
from evenhand.panel.panel import Panel
from evenhand.panel.simulate import simulate_panel
from panels import random_panel

PANEL = random_panel(51, 9, 5, 20)
FIT = eh.calibrate(PANEL)


def test_a_decision_puts_every_object_into_one_of_three_groups() -> None:
    ranking = eh.rank(FIT, draws=2000, seed=1)
    decision = eh.decide(ranking, 3)
    groups = [*decision.inside, *decision.undecided, *decision.outside]
    assert sorted(groups) == sorted(PANEL.objects)
    for label, status in zip(PANEL.objects, decision.status, strict=True):
        index = PANEL.objects.index(label)
        low, high = ranking.rank_lower[index], ranking.rank_upper[index]
        assert status == ("in" if high <= 3 else "out" if low > 3 else "undecided")
    assert decision.drawn is None
    assert eh.decide(ranking, 0).outside == tuple(
        PANEL.objects[i] for i in np.argsort(ranking.expected_rank, kind="stable").tolist()
    )


def test_places_that_plain_averages_give_to_others_are_counted_however_a_tie_is_broken() -> None:
    generator = np.random.default_rng(4)
    seen = set()
    for _ in range(60):
        pairs = [generator.permutation(4)[:2] for _ in range(5)]
        assessors = np.concatenate([[0, 1], *pairs, [2, 3]])
        panel = Panel.from_arrays(np.repeat(np.arange(7), 2), assessors, generator.integers(1, 4, 14).astype(float))
        if not eh.connectivity(panel).is_connected:
            continue
        fit = eh.calibrate(panel)
        places = int(generator.integers(1, 7))
        decision = eh.decide(eh.rank(fit, draws=20), places)
        ours = {one.object for one in decision.standings[:places]}
        average = {one.object: one.average for one in decision.standings}
        least_average = sorted(average.values(), reverse=True)[places - 1]
        counts, always, never = [], set(average), set(average)
        for chosen in itertools.combinations(average, places):
            rest = set(average) - set(chosen)
            if min(average[one] for one in chosen) >= max(average[one] for one in rest) - 1e-9:
                counts.append(len(ours - set(chosen)))
                always, never = always & set(chosen), never & rest
        found = decision.unlike_averages
        assert (found.least, found.most) == (min(counts), max(counts))
        assert set(found.entering) == ours & never
        assert set(found.leaving) == always - ours
        tied = {one for one in average if abs(average[one] - least_average) < 1e-9}
        assert set(found.tied) == (tied if len(counts) > 1 else set())
        if found.tied:
            assert set(found.kept) == tied & ours
            assert found.left == places - len(always)
            last = decision.averages_words().rstrip(".").rpartition(". ")[2]
            assert last[0].isupper()
            assert re.search(rf" would tie for (place|places \d (and|to)) {places}$", last)
            assert {one for one in average if re.search(rf"\b{one}\b", last.partition(" would")[0])} == tied
        seen.add((found.least == found.most, bool(found.tied)))
    assert len(seen) > 2, seen


@pytest.mark.parametrize(
    ("seed", "places", "tied"), [(6, 32, "one of them out of {who}, which"), (40, 31, "2 of them out of {who}, which")]
)
def test_who_ties_by_plain_averages_is_not_counted_with_those_who_are_named_by_a_mark(
    seed: int, places: int, tied: str
) -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.simulate_panel(120, 12, 3, seed=seed).panel), draws=20), places)
    unlike = decision.unlike_averages
    who = re.escape("objects ") + r"[\d, ]+ and \d+"
    said = decision.averages_words()
    assert said.startswith(f"By plain averages {unlike.count} of the first {places} would be others, ")
    assert re.search(tied.format(who=who), said)
    assert unlike.most == len(unlike.leaving) + unlike.left


def test_a_lottery_fills_the_open_places_and_can_be_repeated_from_a_file_in_any_order() -> None:
    order = np.random.default_rng(0).permutation(PANEL.n_assessments)
    labels = [f"object {i}" for i in range(9)]
    first = Panel.from_arrays(PANEL.object_index, PANEL.assessor_index, PANEL.score, PANEL.precision, objects=labels)
    codes, index = np.unique(PANEL.object_index[order], return_inverse=True)
    renamed = 8 - index  # the same objects under other codes
    second = Panel.from_arrays(
        renamed,
        PANEL.assessor_index[order],
        PANEL.score[order],
        PANEL.precision[order],
        objects=[labels[codes[8 - i]] for i in range(9)],
    )
    drawn = []
    for panel in (first, second):
        ranking = eh.rank(eh.calibrate(panel), draws=20_000, seed=1)
        decision = eh.decide(ranking, 4, lottery_seed=2026)
        assert decision.drawn is not None
        assert len(decision.drawn) == 4 - len(decision.inside)
        assert set(decision.drawn) <= set(decision.undecided)
        drawn.append((set(decision.undecided), decision.drawn))
    assert drawn[0][0] == drawn[1][0], "the two groups must agree for this test to say anything"
    assert drawn[0][1] == drawn[1][1]
    others = {eh.decide(eh.rank(FIT, draws=500, seed=1), 4, lottery_seed=s).drawn for s in range(20)}
    assert len(others) > 1


def test_a_panel_chooses_among_the_open_alone_for_a_reason_and_no_estimate_moves() -> None:
    decision = eh.decide(eh.rank(FIT, draws=2000, seed=1), 4)
    assert len(decision.undecided) > decision.left > 1
    last, first = decision.undecided[-1], decision.undecided[0]
    made = with_choice(decision, Choice((last, first), "Both were heard.", "the panel"))
    assert made.choice is not None
    assert made.choice.objects == (first, last)  # in the order of values
    assert {one.object for one in made.standings if one.chosen} == {first, last}
    assert [(one.value, one.status, one.chance) for one in made.standings] == [
        (one.value, one.status, one.chance) for one in decision.standings
    ]
    words = made.choice_words()
    everyone = [one.object for one in made.standings if one.status == "in" or one.chosen]
    assert f"All {len(everyone)} who have a place: objects {', '.join(everyone)}." in words
    assert words.endswith("Reason: Both were heard. Decided by the panel.")
    left = decision.left - 2
    assert ("free" in words) == (left > 0)
    settled = (*decision.inside, *decision.outside)[0]
    for choice, said in (
        (Choice((settled,), "why", "who"), "Only who is open can be chosen"),
        (Choice((), "why", "who"), "0 are chosen"),
        (Choice(decision.undecided[: decision.left + 1], "why", "who"), f"and {decision.left + 1} are chosen"),
        (Choice((first,), " ", "who"), "needs its reason"),
        (Choice((first,), "why", ""), "who decided it"),
    ):
        with pytest.raises(InputError, match=said):
            with_choice(decision, choice)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_headline_does_not_deny_the_choice_of_the_panel(count: int) -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo())), 10)
    assert len(decision.inside) == 3
    made = with_choice(decision, Choice(decision.undecided[:count], "lots", "the panel"))
    words = f"3 proposals are in; {count} of the other 7 places given by the panel"
    if count == 7:
        words = "10 places given: 3 by the scores, 7 by choice of the panel"
    assert made.headline() == words
    assert made.brief() == f"{3 + count} of 10 places given"
    assert str(made).startswith(words)
    alone = replace(made, inside=(), places=7, assuming="if the score is left out")
    said = "7 places given" if count == 7 else f"{count} of 7 places given"
    assert alone.headline() == f"If the score is left out, {said} by choice of the panel"
    one = replace(made, inside=decision.inside[:1], places=8)
    said = f"1 proposal is in; {count} of the other 7 places given by the panel"
    assert one.headline() == ("8 places given: 1 by the scores, 7 by choice of the panel" if count == 7 else said)


def test_one_place_is_given_in_the_singular() -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo())), 1)
    made = with_choice(decision, Choice(decision.undecided[:1], "lots", "the panel"))
    assert made.headline() == "1 place given by choice of the panel"


def test_grade_probabilities_add_up_and_agree_with_draws() -> None:
    cutoffs = [50.0, 60.0, 70.0]
    found = eh.classify(FIT, cutoffs).probability
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    drawn = FIT.posterior.draw(60_000, np.random.default_rng(2))
    assert drawn is not None
    values = drawn[0] + FIT.values.estimate
    counted = np.stack([(np.searchsorted(cutoffs, values) == k).mean(axis=0) for k in range(4)], axis=1)
    np.testing.assert_allclose(found, counted, atol=5 * np.sqrt(0.25 / 60_000))
    with pytest.raises(InputError, match="increasing"):
        eh.classify(FIT, [2.0, 1.0])


def test_values_at_the_line_are_as_far_apart_as_they_are_shown() -> None:
    said = set()
    for seed in range(60):
        panel = simulate_panel(40, 8, 3, seed=seed).panel
        decision = eh.decide(eh.rank(eh.calibrate(panel), top=12), 12)
        assert decision.line is not None
        above, below = (f"{one.value:.{decision.digits}f}" for one in decision.line)
        words = decision.line_words()
        if above == below:
            assert words.endswith(f" are less than {10**-decision.digits:.{decision.digits}f} points apart.")
        else:
            assert words.endswith(f" are {float(above) - float(below):.{decision.digits}f} points apart.")
        said.add(above == below)
    assert said == {True, False}, "both must occur for this test to say anything"


def test_many_who_are_open_below_others_are_counted() -> None:
    counted = False
    for seed in range(10):
        panel = simulate_panel(120, 12, 2, seed=seed).panel
        decision = eh.decide(eh.rank(eh.calibrate(panel), top=30), 30)
        order = [one.status for one in decision.standings]
        found = order[order.index("out") :].count("undecided") if "out" in order else 0
        if found > 6:
            counted = True
            assert decision.uneven_words().startswith(f"{found} objects are open below others")
    assert counted, "some panel must have many for this test to say anything"


def test_a_choice_without_a_decision_is_refused_and_not_dropped(tmp_path: Path) -> None:
    fit = eh.calibrate(eh.demo())
    choice = Choice(("P28",), "a discussion", "the panel")
    for write, name in ((eh.report, "x.html"), (eh.workbook, "x.xlsx")):
        with pytest.raises(InputError, match="needs a decision"):
            write(fit, tmp_path / name, choice=choice)
        assert not (tmp_path / name).exists()
