"""What would change a decision: every bound is where fitting, ranking and deciding again says it is."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.answers import changing
from evenhand.answers.changing import Changes, OtherScore, scale_ends, what_would_change, what_would_change_all
from evenhand.answers.decision import Decision
from evenhand.errors import InputError
from evenhand.models.additive import METHODS
from evenhand.panel.panel import Panel
from panels import random_panel


def decided(panel: Panel, places: int, method: str = "cwc", draws: int = 1000, **options: str) -> Decision:
    """Return a decision from a few draws."""
    fit = METHODS[method].refit(panel, **options)  # type: ignore[arg-type]
    return eh.decide(eh.rank(fit, top=max(places, 1), draws=draws, seed=7), places)


def with_score(decision: Decision, row: int, score: float) -> tuple[str, bool]:
    """Return the status, and whether the value has a place, of a score's object after all is done again."""
    ranking, fit = decision.ranking, decision.ranking.fit
    scores = np.array(fit.panel.score)
    scores[row] = score
    again = fit.refit(replace(fit.panel, score=scores))
    ranked = eh.rank(again, top=ranking.top, draws=ranking.draws, seed=ranking.seed, interval=ranking.interval)
    at = int(fit.panel.object_index[row])
    values = again.values.estimate
    as_high = int(np.count_nonzero(values >= values[at] - 1e-9))  # one that ties for the last place does not take it
    return eh.decide(ranked, decision.places).status[at], as_high <= decision.places


def told(found: Changes, one: OtherScore, score: float) -> tuple[str, bool]:
    """Return what the bounds say of another score."""
    return found.status_with(one, score), one.place is not None and score >= one.place - 1e-9


def near_bounds(found: Changes, one: OtherScore) -> Iterator[float]:
    """Yield the ends of the scale, the score, and the scores on either side of every bound."""
    bounds = [*(one.out or ()), *(one.inside or ()), *([] if one.place is None else [one.place])]
    tried = {*found.ends, one.score, *(bound + step for bound in bounds for step in (-found.step, 0.0, found.step))}
    yield from sorted(score for score in tried if found.ends[0] <= score <= found.ends[1])


def assert_bounds_hold(decision: Decision, found: Changes) -> None:
    """Check every bound against fits of the changed panel."""
    assert found.reason is None
    for one in found.scores:
        for score in near_bounds(found, one):
            assert told(found, one, score) == with_score(decision, one.assessment, score), (found.object, one, score)


def test_the_bounds_of_p32_are_those_of_the_demo_decided_again() -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    found = what_would_change(decision, "P32")
    said = {
        one.assessor: (found.words(one.out), found.words(one.inside), found.words(one.place)) for one in found.scores
    }
    assert said == {
        "Farouk": ("5 or less", "91 or more", "47 or more"),
        "Jansen": ("46 or less", "76 or more", "60 or more"),
    }
    assert (found.status, found.ends, found.step) == ("undecided", (0.0, 100.0), 1.0)
    assert_bounds_hold(decision, found)


@pytest.mark.parametrize("label", ["P01", "P23", "P28", "P30", "P17", "P16"])
def test_bounds_of_objects_that_are_in_open_and_out_hold(label: str) -> None:
    decision = decided(eh.demo(), 10)
    assert_bounds_hold(decision, what_would_change(decision, label))


def test_every_score_of_the_scale_has_the_status_that_the_bounds_tell() -> None:
    decision = decided(eh.demo(), 10)
    found = what_would_change(decision, "P32")
    one = found.scores[1]
    for score in range(101):
        assert told(found, one, float(score)) == with_score(decision, one.assessment, float(score))


@pytest.mark.parametrize("method", list(METHODS))
def test_bounds_hold_for_every_method(method: str) -> None:
    decision = decided(random_panel(2, 12, 5, 25), 4, method)
    for label in ("0", "5", "9"):
        assert_bounds_hold(decision, what_would_change(decision, label))


def test_bounds_hold_where_noise_is_declared() -> None:
    panel = random_panel(4, 10, 5, 20)
    sigma = np.random.default_rng(1).uniform(3.0, 9.0, panel.n_assessments)
    declared = replace(panel, score=panel.score.round(), precision=1 / np.square(sigma), confidence="uncertainty")
    decision = decided(declared, 3, noise="declared")
    assert {one.status for one in what_would_change_all(decision)} >= {"undecided"}
    for found in what_would_change_all(decision)[:4]:
        assert_bounds_hold(decision, found)


def test_bounds_hold_where_the_grid_tells_the_noise() -> None:
    """Scores that agree better than whole points can: the noise stays at half a step until a score is far off."""
    value, bias = np.array([50.0, 52.0, 54.0, 51.0, 53.0]), np.array([0.0, 1.0, -1.0, 2.0])
    objects, assessors = (index.ravel() for index in np.indices((5, 4)))
    score = value[objects] + bias[assessors]
    score[3] += 1
    decision = decided(Panel.from_arrays(objects, assessors, score), 2)
    assert decision.ranking.fit.posterior.noise.is_lifted
    for found in what_would_change_all(decision, ends=(30.0, 70.0)):
        assert_bounds_hold(decision, found)


def test_a_status_that_a_high_score_gives_an_absurd_one_takes_away() -> None:
    """A score that nothing bears out makes everything noise: in with 76 to 136, and open again with more."""
    panel = random_panel(4, 8, 4, 14)
    decision = decided(replace(panel, score=panel.score.round()), 3)
    found = what_would_change(decision, "2", ends=(-100.0, 220.0))
    one = next(one for one in found.scores if one.assessor == "0")
    assert one.inside is not None
    assert one.score < one.inside[1] < 220
    assert found.words(one.inside) == f"{one.inside[0]:g} to {one.inside[1]:g}"
    assert_bounds_hold(decision, found)


@pytest.mark.parametrize("seed", range(15))
def test_bounds_hold_on_random_panels(seed: int) -> None:
    panel = random_panel(seed, 6, 4, 9)
    decision = decided(replace(panel, score=panel.score.round()), seed % 7, draws=300)
    assert_bounds_hold(decision, what_would_change(decision, str(seed % 6)))


def test_bounds_of_scores_without_a_grid_are_told_to_the_digits_that_are_shown() -> None:
    decision = decided(random_panel(8, 10, 4, 20), 4)
    found = what_would_change(decision, "3")
    assert decision.ranking.fit.panel.step is None
    assert found.step == 0.1
    assert_bounds_hold(decision, found)


def test_where_nobody_may_be_called_safe_only_the_place_is_told() -> None:
    panel = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [60.0, 70.0, 50.0, 62.0, 55.0, 68.0])
    decision = decided(panel, 1)
    assert decision.caution is not None
    for found in what_would_change_all(decision):
        assert all(one.out is None and one.inside is None for one in found.scores)
        assert_bounds_hold(decision, found)
    assert any(one.place is not None for found in what_would_change_all(decision) for one in found.scores)


def test_all_places_or_none_leave_nothing_to_change() -> None:
    panel = eh.demo()
    everyone = what_would_change(decided(panel, panel.n_objects), "P32")
    assert [everyone.words(one.inside) for one in everyone.scores] == ["any", "any"]
    assert [(one.out, everyone.words(one.place)) for one in everyone.scores] == [(None, "any")] * 2
    nobody = what_would_change(decided(panel, 0), "P32")
    assert [nobody.words(one.out) for one in nobody.scores] == ["any", "any"]
    assert [(one.inside, one.place) for one in nobody.scores] == [(None, None)] * 2


def test_one_object_has_the_bounds_that_it_has_among_all() -> None:
    decision = decided(eh.demo(), 10)
    among = {one.object: one for one in what_would_change_all(decision)}
    assert list(among) == list(decision.ranking.fit.values.labels)
    assert what_would_change(decision, "P28").scores == among["P28"].scores
    assert [one.status for one in among.values()] == decision.status


def test_models_that_are_not_linear_in_a_score_say_so() -> None:
    ranking = eh.rank(eh.calibrate(eh.demo(), shrink=True), top=10, draws=200)
    found = what_would_change(eh.decide(ranking, 10), "P32")
    assert found.scores == ()
    assert found.reason is not None
    assert "linear in a score" in found.reason
    assert str(found) == found.reason
    prior = eh.NoisePrior(lambda w: -np.log(w), "flat")
    fit = eh.calibrate(eh.demo(), noise=prior)
    assert "prior of the noise" in str(what_would_change(eh.decide(eh.rank(fit, top=10, draws=200), 10), "P32"))


def test_more_draws_than_are_held_at_once_are_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changing, "MOST_DRAWN", 1000)
    assert "1,000 draws of 40 objects are too many" in str(what_would_change(decided(eh.demo(), 10), "P32"))


def test_ranges_are_said_in_words() -> None:
    found = Changes("X", "undecided", 3, (0.0, 10.0), 0.5)
    spans = [None, (0.0, 2.5), (8.0, 10.0), (3.0, 4.5), (0.0, 10.0), (10.0, 10.0)]
    assert [found.words(span) for span in spans] == ["–", "2.5 or less", "8 or more", "3 to 4.5", "any", "10"]
    assert [found.words(place) for place in (None, 0.0, 7.5, 10.0)] == ["–", "any", "7.5 or more", "10"]
    assert Changes("X", "in", 3, (-10.0, 10.0), 0.1).words((-10.0, -0.1 * 3)) == "−0.3 or less"
    assert Changes("X", "in", 3, (0.3, 9.95), 0.1).words((3 * 0.1, 99 * 0.1)) == "any"


def test_ends_of_the_scale_are_those_given_or_those_that_scores_tell() -> None:
    assert scale_ends(eh.demo()) == (0.0, 100.0)
    decision = decided(eh.demo(), 10)
    assert what_would_change(decision, "P32", ends=(20.0, 80.0)).scores[0].out is None
    with pytest.raises(InputError, match="lower one first"):
        what_would_change(decision, "P32", ends=(100.0, 0.0))
    with pytest.raises(InputError, match="no object"):
        what_would_change(decision, "P99")


def test_the_table_has_a_row_for_every_score() -> None:
    columns = what_would_change(decided(eh.demo(), 10, draws=10_000), "P32").columns()
    assert columns["assessor"] == ["Farouk", "Jansen"]
    assert {name: len(cells) for name, cells in columns.items()} == dict.fromkeys(columns, 2)
    assert columns["place_from"] == [47.0, 60.0]


def test_the_finding_is_the_smallest_change_of_a_score_that_turns_something() -> None:
    decision = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    findings = {one.object: one.finding for one in what_would_change_all(decision)}
    assert (
        findings["P32"]
        == "One point more from Jansen would bring P32 above the line after place 10; the status stays open."
    )
    assert findings["P05"] == "One point less from Farouk would make P05 open."
    assert (
        findings["P16"]
        == "2 points less from Farouk would bring P16 below the line after place 10; the status stays open."
    )


def test_where_the_same_change_of_any_score_does_the_same_no_assessor_is_named() -> None:
    panel = random_panel(6, 9, 4, 16)
    decision = decided(replace(panel, score=panel.score.round()), 3, "sa")
    any_of, one_of = 0, 0
    for found in what_would_change_all(decision):
        parsed = re.match(r"(\S+) points? (more|less) from (.*) would", found.finding)
        if parsed is not None and " of the " in parsed[3]:
            by = (1.0 if parsed[1] == "One" else float(parsed[1])) * (1 if parsed[2] == "more" else -1)
            turned = {with_score(decision, one.assessment, one.score + by) for one in found.scores}
            assert len(turned) == 1, "all come to the same"
            assert turned != {with_score(decision, found.scores[0].assessment, found.scores[0].score)}
            any_of += 1
        elif parsed is not None:
            named = re.split(", | or ", parsed[3])
            assert {one.removeprefix("assessor ") for one in named} < {one.assessor for one in found.scores}
            one_of += 1
    assert any_of
    assert one_of


@pytest.mark.parametrize("method", list(METHODS))
def test_the_finding_turns_what_it_says_and_nothing_smaller_does(method: str) -> None:
    panel = random_panel(6, 9, 4, 16)
    decision = decided(replace(panel, score=panel.score.round()), 3, method)
    for found in what_would_change_all(decision):
        said = r"(\S+) points? (more|less) from (any of the \w+|either of the two|assessor .+) would"
        parsed = re.match(said, found.finding)
        if parsed is None:
            assert found.finding.startswith("No other score")
            continue
        by = 1.0 if parsed[1] == "One" else float(parsed[1])
        for one in found.scores:
            now = with_score(decision, one.assessment, one.score)
            for step in np.arange(1.0, by + 0.5):
                for score in (one.score - step, one.score + step):
                    named = {one.removeprefix("assessor ") for one in re.split(", | or ", parsed[3])}
                    is_who = one.assessor in named or " of the " in parsed[3]
                    is_meant = step == by and is_who and (score > one.score) == (parsed[2] == "more")
                    if is_meant:
                        assert with_score(decision, one.assessment, score) != now
                    elif step < by and 0 <= score <= 100:
                        assert with_score(decision, one.assessment, score) == now
