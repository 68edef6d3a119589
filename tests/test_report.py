"""Reports: what they say, that labels are harmless, and how they look to Chromium without a network."""

import html
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pytest
from click.testing import CliRunner

import evenhand as eh
from browser import open_browser
from evenhand.answers.alert import Alert
from evenhand.answers.alerts import all_clear
from evenhand.answers.decision import Choice, standings
from evenhand.answers.fingerprint import data_hash
from evenhand.cli import main
from evenhand.data import demo_path
from evenhand.errors import InputError
from evenhand.panel.panel import Panel
from evenhand.reports.blocks import Assessor, assessors_of, assessors_words, matrix_of, objects_of, strip_of, table_of
from evenhand.reports.page import fingerprints_in, make_report, render
from evenhand.words import quoted

HOSTILE = [
    "</script><script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "{{ 7919*7907 }}",
    "=cmd|' /C'!A0",
]


class Page(HTMLParser):
    """What a page is made of: text outside of scripts and styles, ids, and addresses that it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._silent = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._silent += tag in ("script", "style")
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("src", "href") and value and not value.startswith("#"):
                self.loads.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def demo() -> Panel:
    return eh.read_panel(demo_path())


def hostile_panel() -> Panel:
    rows = [
        (HOSTILE[o % 4] + str(o), HOSTILE[a] + "a", 40.0 + 5 * o - 3 * a + (o * a) % 4)
        for o in range(8)
        for a in range(4)
    ]
    return Panel.from_frame(pl.DataFrame(rows, schema=["object", "assessor", "score"], orient="row"))


def apart() -> Panel:
    return Panel.from_arrays(
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3],
        [60.0, 50, 71, 66, 55, 41, 80, 70, 62, 50, 55, 49],
    )


FITS: dict[str, Callable[[], Any]] = {
    "demo": lambda: eh.calibrate(demo()),
    "hostile": lambda: eh.calibrate(hostile_panel()),
    "groups": lambda: eh.calibrate(apart(), per_component=True),
    "one assessor": lambda: eh.calibrate(Panel.from_arrays([0, 1, 2], [0, 0, 0], [50.0, 60.0, 55.0])),
    "averages": lambda: eh.simple_average(demo()),
    "refined": lambda: eh.refine(demo(), shrink=True),
    "bounded": lambda: eh.refine(demo(), shrink=True, scores=eh.Bounded(0, 100)),
    "medians": lambda: eh.median_polish(demo()),
    "perfect": lambda: eh.calibrate(Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [60.0, 70, 50, 60, 40, 50])),
}


@pytest.mark.parametrize("name", FITS)
def test_every_fit_has_a_report_that_loads_nothing(name: str) -> None:
    fit = FITS[name]()
    page = Page(render(make_report(fit, comparison=False)))
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    for label in fit.panel.objects:
        assert re.sub(r"\s+", " ", label) in page.text
    assert "fingerprint" in page.text
    assert page.tags.count("h1") == 1


def headline_of(page: str) -> str:
    """Return the first heading of a page, as text."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.S)
    assert found is not None
    return re.sub(r"<[^>]+>", "", found[1])


def cells(page: str, within: str) -> list[list[str]]:
    """Return the rows of the tables in a section of a page, as text."""
    part = page[page.index(f'id="{within}"') :]
    part = part[: part.index("<section", 10)]
    rows = re.findall(r'<tr class="(?!of-group)[^>]*>(.*?)</tr>', part, re.S)
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in found]


def test_the_decision_comes_first_and_is_that_of_the_ranks() -> None:
    fit = eh.calibrate(demo())
    decision = eh.decide(eh.rank(fit, top=10, seed=3), 10)
    page = render(make_report(fit, top=10, seed=3, comparison=False))
    headline = headline_of(page)
    left = 10 - len(decision.inside)
    assert (
        headline
        == f"{len(decision.inside)} proposals are in; {len(decision.undecided)} compete for the other {left} places"
    )
    lists = page[page.index('class="counts"') : page.index('id="ranks"')]
    named = re.findall(r'<a href="#o\d+"><bdi>([^<]+)</bdi></a>', lists)
    assert named == [*decision.inside, *decision.undecided, *decision.outside]
    rows = cells(page, "ranks")
    order = np.argsort(-fit.values.estimate, kind="stable")
    assert [row[1] for row in rows] == [fit.values.labels[at] for at in order]
    assert [int(row[0]) for row in rows] == list(range(1, 41))
    words = {"in": "In", "undecided": "Open", "out": "Out"}
    assert [row[7] for row in rows] == [words[decision.status[at]] for at in order]
    assert "10 places end here." in page[: page.index(f">{rows[10][1]}<", page.index('id="ranks"'))]


def test_averages_that_would_decide_otherwise_are_named() -> None:
    fit = eh.calibrate(demo())
    text = Page(render(make_report(fit, top=10, comparison=False))).text
    averages = eh.simple_average(demo()).values.estimate
    by_average = {fit.values.labels[at] for at in np.argsort(-averages, kind="stable")[:10].tolist()}
    order = np.argsort(-fit.values.estimate, kind="stable").tolist()
    chosen = [fit.values.labels[at] for at in order[:10]]
    enter = [label for label in chosen if label not in by_average]
    # where averages are level at the line, the one with the higher value is taken to have the place
    assert re.search(rf"By plain averages \w+, .* would be among the first 10 instead of {enter[0]}, ", text)


def test_without_places_the_leader_is_named_and_who_else_may_lead() -> None:
    fit = eh.calibrate(demo())
    report = make_report(fit, comparison=False)
    best = fit.values.labels[int(np.argmax(fit.values.estimate))]
    assert report.decision[0].startswith(f"The highest value is that of {best}, {fit.values.estimate.max():.1f}.")
    ranking = eh.rank(fit)
    others = [label for label, lower in zip(fit.values.labels, ranking.rank_lower, strict=True) if lower == 1]
    assert all(label in " ".join(report.decision) for label in others)


def test_where_nothing_can_be_ranked_the_reason_comes_first() -> None:
    fit = eh.calibrate(apart(), per_component=True)
    made = make_report(fit, top=2, candidates=())
    assert made.decision[0].startswith("No decision can be given. The panel falls into groups")
    first = [fit.values.labels[members[np.argmax(fit.values.estimate[members])]] for members in ([0, 1, 2], [3, 4, 5])]
    highest = rf"Highest in group 1: object {first[0]} \([\d.]+\); in group 2: object {first[1]} \([\d.]+\)\."
    assert re.match(highest, made.decision[1])
    assert "cannot be ranked against each other" in made.decision[0], "which is said once"
    assert "were found from all scores of a group together" in made.method
    one = make_report(FITS["one assessor"](), top=2, candidates=())
    assert one.decision == [
        "No decision can be given. Nobody can say how sure ranks are: there are just enough scores to find the values, "
        "and none left over to check them (no degrees of freedom); more scores, or declared uncertainties, would tell.",
        "By value alone, and nobody can say how surely, the first 2 are objects 1, 2.",
    ]
    level = eh.calibrate(Panel.from_arrays([0, 1, 2], [0, 0, 0], [50.0, 60.0, 50.0]))
    assert (
        make_report(level, top=2, comparison=False).decision[1].endswith("are objects 1, 0, 2, of whom some are level.")
    )
    text = Page(render(one)).text
    assert "One assessor gave all scores" in text
    assert "The 0 scores" not in text
    assert "every two assessors are linked" not in text


def test_groups_are_listed_one_after_the_other() -> None:
    fit = eh.calibrate(apart(), per_component=True)
    page = render(make_report(fit, comparison=False))
    order = np.lexsort((-fit.values.estimate, fit.values.component))
    assert [row[1] for row in cells(page, "ranks")] == [fit.values.labels[i] for i in order]
    assert [row[0] for row in cells(page, "ranks")] == ["1", "2", "3"] * 2
    order = np.lexsort((-fit.biases.estimate, fit.biases.component))
    assert [row[0] for row in cells(page, "assessors")] == [fit.biases.labels[i] for i in order]
    assert page.index("Group 1") < page.index("Group 2")
    assert "No decision yet: the panel falls into 2 groups" in page


def test_sentences_of_a_page_stand_apart_and_methods_are_called_by_words() -> None:
    thin = Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 1, 2], [50.0, 61, 42, 55, 60, 71])
    page = render(make_report(eh.calibrate(thin), comparison=False))
    assert "through others. 2 scores cannot be checked by any other: " in re.sub(r"\s+", " ", page)
    page = render(make_report(eh.calibrate(demo()), candidates=[eh.Refinements(shrink=True)]))
    name = "Calibration with confidence, pulled towards the mean"
    assert "smallest error" not in page, "its lead is too small to count"
    assert page.count(f"{name}</th>") == 1  # for statisticians
    shown = re.sub(r"<pre.*?</pre>|<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert not re.findall(r"\b(?:cwc|iba|cwa)\b", shown.split('"use strict"')[0])


def test_numbers_of_the_tables_are_those_of_the_fit() -> None:
    fit = eh.calibrate(demo())
    page = render(make_report(fit, top=10, comparison=False))
    at = {label: index for index, label in enumerate(fit.values.labels)}
    averages = eh.simple_average(demo()).values.estimate
    ranking = eh.rank(fit, top=10)
    assert ranking.p_top is not None
    for row in cells(page, "ranks"):
        here = at[row[1]]
        assert float(row[2]) == round(float(fit.values.estimate[here]), 1)
        assert float(row[4]) == round(float(averages[here]), 1)
        assert row[5] == f"{ranking.rank_lower[here]}–{ranking.rank_upper[here]}"
        if 0.005 <= ranking.p_top[here] <= 0.995:
            assert row[6] == f"{100 * ranking.p_top[here]:.0f}%"
    biases = {label: float(bias) for label, bias in zip(fit.biases.labels, fit.biases.estimate, strict=True)}
    for row in cells(page, "assessors"):
        assert float(row[1].replace("−", "-")) == round(biases[row[0]], 1)


def test_the_parts_of_a_move_add_up_as_they_are_shown() -> None:
    page = render(make_report(eh.calibrate(demo()), top=10, comparison=False))
    falls = re.findall(r'<table class="fall">(.*?)</table>', page, re.S)
    assert len(falls) == 40
    for fall in falls:
        shown = [float(cell.replace("−", "-")) for cell in re.findall(r"<td>([^<]+)</td>", fall)]
        assert round(sum(shown[:-1]), 1) == shown[-1]


def test_a_score_that_looks_mistyped_stops_the_decision() -> None:
    panel = demo()
    score = np.array(panel.score)
    score[12] *= 100
    made = make_report(eh.calibrate(replace(panel, score=score)), top=10, comparison=False)
    page = render(made)
    headline = headline_of(page)
    assert headline == "No decision yet: one score must be checked"
    assert page.index("Provisional") < page.index('id="ranks"')
    without = eh.decide(eh.rank(eh.calibrate(panel.restrict(np.arange(panel.n_assessments) != 12)), top=10), 10)
    assert [row[1] for row in cells(page, "ranks")] == [one.object for one in without.standings]
    assert made.decision[0].startswith("No decision yet: one score must be checked.")
    assert made.alerts[0].level == "stop"
    assert "Decided, for the panel" not in page
    values = {row["object"]: row["value"] for row in made.summary["objects"]}
    assert max(values.values()) < 100  # all that follows is without the score that must be checked


def test_commands_that_settle_a_mistyped_score_can_be_copied_whole(tmp_path: Path) -> None:
    scores, page = tmp_path / "my scores.csv", tmp_path / "out.html"
    rows = demo_path().read_text(encoding="utf-8").splitlines()
    cells_of = rows[20].split(",")
    at = rows[0].split(",").index("score")
    meant, cells_of[at] = cells_of[at], cells_of[at] + "00"
    scores.write_text("\n".join([*rows[:20], ",".join(cells_of), *rows[21:]]) + "\n", encoding="utf-8")
    arguments = ["report", str(scores), "--top", "10", "--quick", "-o", str(page)]
    assert run(*arguments).exit_code == 0
    found = re.search(r'<dl class="commands">(.*?)</dl>', page.read_text(encoding="utf-8"), re.S)
    assert found is not None
    commands = [html.unescape(re.sub("<[^>]+>", "", one)) for one in re.findall(r"<dd>(.*?)</dd>", found[1], re.S)]
    typed = [shlex.split(one) for one in commands]
    assert typed == [["evenhand", *arguments, "--correct", f"21:score={one}"] for one in (meant, "", f"{meant}00")]
    for one in typed[:2]:
        again = run(*one[1:], "--json")
        assert again.exit_code == 0, again.output
        assert not [alert for alert in json.loads(again.stdout)["alerts"] if alert["level"] == "stop"]


def test_that_nothing_was_found_is_said_with_what_was_looked_at() -> None:
    names, marks = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], [71, 60, 80, 62, 55, 74, 75, 66, 77, 50, 45, 61]
    panel = Panel.from_arrays(names, [0, 1, 2] * 4, np.array(marks, dtype=float))
    made = make_report(eh.calibrate(panel), top=2)
    assert not [one for one in made.alerts if one.level != "note"]
    assert made.clear == ["Nothing was found that speaks against this result."]
    assert made.looked.startswith("Looked at: scores far from all")
    assert "what other methods decide" in made.looked
    assert all(one in html.unescape(render(made)) for one in (*made.clear, made.looked))
    assert "what other methods decide" not in make_report(eh.calibrate(panel), top=2, comparison=False).looked
    assert make_report(eh.calibrate(demo()), top=10, comparison=False).clear == []


def rooms() -> Panel:
    """Return two groups, in the second of which 6 scored one object only."""
    pairs = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5), (5, 3), (6, 3)]
    objects, assessors = zip(*pairs, (6, 4), (3, 6), strict=True)
    scores = np.random.default_rng(3).integers(40, 90, len(objects)).astype(float)
    return Panel.from_arrays(objects, assessors, scores)


def test_a_score_of_somebody_who_scored_nothing_else_checks_nothing() -> None:
    fit = eh.calibrate(rooms(), per_component=True)
    found = {one.standing.object: one for one in objects_of(fit, standings(fit), None)}
    one = found["3"]
    assert one.lone == ("6",)
    own = next(score for score in one.scores if score.assessor == "6")
    assert own.less == round(fit.values.estimate[3], 1), "it agrees with the value by force"
    assert not own.counts
    assert sum(score.share or 0.0 for score in one.scores if score.counts) == pytest.approx(1)
    assert one.mean == pytest.approx(fit.values.estimate[3]), "the others tell it"
    read = {who.assessor: who for who in assessors_of(fit)}
    assert read["6"].words == (read["6"].side or "cannot tell")
    less = [score.less for score in one.scores if score.assessor != "6"]
    assert one.spread(9) == pytest.approx(max(less) - min(less))
    page = html.unescape(render(make_report(fit, top=2)))
    told = "Assessor 6 scored only object 3, so this score tells the bias of assessor 6 and nothing of object 3."
    assert told in page
    assert not any(other.lone for label, other in found.items() if label != "3")
    shrunk = eh.refine(rooms(), shrink=True)
    assert not any(other.lone for other in objects_of(shrunk, standings(shrunk), None)), "a prior tells of its bias"


def test_a_report_on_groups_ranks_nothing_across_them_and_names_methods_in_words() -> None:
    page = html.unescape(render(make_report(eh.calibrate(rooms(), per_component=True), top=2)))
    assert "No log-evidence for calibration: the panel is not connected." in page
    assert "change places" not in page
    assert re.search("is not clearly (strict|generous)", page)
    assert "like the group" in page
    assert "like the panel" not in page
    assert "each judge" not in page
    assert "were found from all scores of a group together (" in page
    assert "was calibrated on its own" not in page, "the alert says that groups cannot be compared"
    assert "What the values rest on</h2>" in page
    assert "values pulled towards the mean need" not in page
    assert "the assessors of each from generous to strict." in page


def test_groups_that_are_compared_on_an_assumption_are_said_so_first_in_report_and_minutes_and_once() -> None:
    made = make_report(eh.refine(apart(), shrink=True), top=2)
    page = render(made)
    assert not made.clear
    assert made.decision[1].startswith("2 groups are compared on an assumption. Their assessors are taken to be")
    minutes = page.partition("<blockquote>")[2].partition("</blockquote>")[0]
    assert minutes.count("on an assumption") == 1
    assert page.index("2 groups are compared on an assumption") < page.index("<h1")
    assert "through the priors alone" not in page, "the alert says it"


def test_whether_another_method_changes_the_order_within_groups_is_said() -> None:
    generator = np.random.default_rng(3)
    pairs = [(o, a) for o in range(24) for a in generator.permutation(4)[:2] + 4 * (o // 12)]
    objects, assessors = np.transpose(pairs)
    true = generator.normal(60, 3, 24)[objects] + generator.normal(0, 8, 8)[assessors]
    panel = Panel.from_arrays(objects, assessors, true + generator.normal(0, 6, 48))
    fit = eh.calibrate(panel, per_component=True)
    report = make_report(fit, top=4, candidates=[eh.Refinements(shrink=True)])
    assert report.supported is not None
    assert report.supported.method == "cwc+shrunk", "another must be supported for this test to say anything"
    groups, other = fit.values.component, eh.refine(panel, shrink=True)
    orders = [
        {int(g): sorted(np.flatnonzero(groups == g), key=lambda at: -one.values.estimate[at]) for g in (0, 1)}
        for one in (fit, other)
    ]
    moved = [
        [int(at) for at in sorted(orders[0][g]) if orders[0][g].index(at) != orders[1][g].index(at)] for g in (0, 1)
    ]
    assert sum(map(len, moved)) > 0, "some must move for this test to say anything"
    now, then = ({int(at): place for g in (0, 1) for place, at in enumerate(one[g], start=1)} for one in orders)
    said = next(one for one in report.alerts if one.kind == "other_method").lines[1][0]
    named = re.findall(r"object (\d+) has rank (\d+) of group (\d), not (\d+)", said)
    furthest = sorted((abs(now[at] - then[at]) for some in moved for at in some), reverse=True)[: len(named)]
    assert [abs(now[int(at)] - then[int(at)]) for at, *_ in named] == furthest
    for at, rank, group, before in named:
        assert (int(rank), int(group), int(before)) == (then[int(at)], groups[int(at)] + 1, now[int(at)])
    assert said.endswith(f"; {sum(map(len, moved)) - len(named)} more.")
    assert not any("predicts better" in said for said in report.decision), "groups must be joined first"


def test_weights_and_what_undoing_a_bias_adds_can_be_checked_by_hand() -> None:
    fit = eh.calibrate(eh.demo())
    told = 0
    for one in objects_of(fit, standings(fit), None):
        shares = [100 * score.share for score in one.scores if score.share is not None]
        assert [float(words.rstrip("%")) for words in one.weights] == pytest.approx(shares, abs=0.1)
        if len(set(one.weights)) == len(one.weights):  # equal ones read equal
            assert sum(float(words.rstrip("%")) for words in one.weights) == pytest.approx(100.0, abs=1e-9)
        for score in one.scores:
            assert score.less == pytest.approx(score.score - float(f"{score.bias:.1f}")), "it adds up as shown"
        assert one.explanation is not None
        for part in one.explanation.parts:
            said = re.match(r".* is .*: undo (\S+) in 1 of (\d+) scores$", part.words)
            if said is not None:
                undone = -float(said[1].replace("−", "-")) / int(said[2])
                assert part.amount == pytest.approx(undone, abs=0.16), "it can be checked by hand"
                told += 1
    assert told > 40, "many must be told for this test to say anything"


def test_equal_weights_read_equal() -> None:
    panel = Panel.from_arrays(np.repeat(np.arange(4), 3), [0, 1, 2] * 4, np.arange(12.0))
    fit = eh.calibrate(panel)
    for one in objects_of(fit, standings(fit), None):
        assert one.weights == ["33.3%"] * 3


def test_years_stay_on_one_line_and_a_rank_that_is_sure_is_said_once() -> None:
    panel = Panel.from_arrays(
        np.repeat(np.arange(3), 3),
        [0, 1, 2] * 3,
        np.array([90.0, 91, 90, 50, 52, 50, 10, 11, 11]),
        objects=["Works, 1900–1950", "<b> & 1–2", "P3"],
    )
    page = render(make_report(eh.calibrate(panel), top=1))
    assert 'Works, <span class="years">1900–1950</span>' in page
    assert '&lt;b&gt; &amp; <span class="years">1–2</span>' in page
    assert "1 to 1</span>" not in page


def test_nothing_found_is_not_said_where_a_note_or_the_decision_contradicts_it() -> None:
    shrunk = make_report(eh.refine(eh.demo(), shrink=True), top=10)
    assert shrunk.verdict is not None
    assert not shrunk.alerts
    assert not shrunk.verdict.inside
    count = len(shrunk.verdict.undecided)
    assert shrunk.clear[0] == (
        f"Nothing was found that must be checked first: {count} proposals are open because the scores do not separate "
        "them."
    )
    fit, decision = shrunk.fit, shrunk.verdict
    note = Alert("note", "other_method", "The scores slightly prefer another method")
    given: dict[str, Any] = {
        "deletions": eh.without_assessors(eh.calibrate(demo()), top=10),
    }
    assert all_clear([note], fit, decision, **given)[0].startswith("Nothing was found that must be checked first: ")
    settled = eh.decide(eh.rank(eh.calibrate(demo())), 40)
    assert settled.inside
    assert not settled.undecided
    found, below = all_clear([note], fit, settled, **given)
    assert found == "Nothing was found that must be checked first."
    assert below == "A note below: the scores slightly prefer another method."
    both = all_clear([note, Alert("note", "beyond_scale", "1 value lies beyond")], fit, settled, **given)
    assert both[1] == "2 notes below: the scores slightly prefer another method; 1 value lies beyond."
    assert all_clear([], fit, settled, **given)[0] == "Nothing was found that speaks against this result."


def test_a_mistyped_score_is_drawn_among_all_others() -> None:
    panel = demo()
    score = np.array(panel.score)
    score[12] = 6000.0
    fit = eh.calibrate(replace(panel, score=score))
    strip = strip_of(eh.alerts(fit)[0])
    assert strip is not None
    who, what = panel.assessors[panel.assessor_index[12]], panel.objects[panel.object_index[12]]
    assert strip.far == ((6000.0, f"{who} on {what}"),)
    assert strip.others == tuple(sorted(set(np.delete(score, 12).tolist())))
    assert strip.words == f"{score.size - 1} other scores, {min(strip.others):g} to {max(strip.others):g}"
    assert all(strip.axis.has(one) for one in score)
    assert strip_of(eh.alerts(eh.calibrate(panel), eh.decide(eh.rank(eh.calibrate(panel), top=10), 10))[0]) is None


@pytest.mark.parametrize("count", [4, 61, 300])
def test_rows_far_from_the_line_are_folded_and_none_is_lost(count: int) -> None:
    panel = eh.simulate_panel(count, 8, 3, seed=4).panel
    page = render(make_report(eh.calibrate(panel), top=max(1, count // 6), comparison=False))
    rows = cells(page, "ranks")
    assert [int(row[0]) for row in rows] == list(range(1, count + 1))
    shown = re.sub(r'<details class="fold">.*?</details>', "", page[page.index('id="ranks"') :], flags=re.S)
    assert shown.count("data-status=") - 5 * ('class="find"' in shown) <= 60


def test_a_sheet_of_paper_has_the_rows_about_the_line_and_says_what_it_leaves_out() -> None:
    panel = eh.simulate_panel(58, 8, 2, seed=4).panel
    fit = eh.calibrate(panel)
    for places in (3, 20, 50):
        decision = eh.decide(eh.rank(fit, top=places), places)
        parts = table_of(fit, decision.standings, decision).parts
        rows = [one for part in parts for block in part for one in block.rows]
        assert rows == list(decision.standings)
        printed = {
            one.place for part in parts for block in part if not block.paper and not block.summary for one in block.rows
        }
        assert len(printed) <= 27
        assert {1, places, places + 1} <= printed
        said = " ".join(block.paper for part in parts for block in part)
        gaps = [(int(first), int(last)) for first, last in re.findall(r"Ranks (\d+) to (\d+)", said)]
        assert {place for first, last in gaps for place in range(first, last + 1)} == set(range(1, 59)) - printed


def test_the_matrix_has_a_mark_for_every_score_where_its_object_stands() -> None:
    fit = eh.calibrate(demo())
    decision = eh.decide(eh.rank(fit, top=10), 10)
    found = matrix_of(fit, decision.standings, decision)
    assert found is not None
    assert [row.assessor for row in found.rows] == [fit.biases.labels[at] for at in np.argsort(-fit.biases.estimate)]
    panel = fit.panel
    place = {one.object: one.place - 1 for one in decision.standings}
    marks = {(row.assessor, at, shade) for row in found.rows for at, shade, _ in row.marks}
    shade = dict(zip(np.unique(panel.precision).tolist(), ("level-1", "level-3", "level-5"), strict=True))
    assert marks == {
        (panel.assessors[a], place[panel.objects[o]], shade[p])
        for o, a, p in zip(
            panel.object_index.tolist(), panel.assessor_index.tolist(), panel.precision.tolist(), strict=True
        )
    }
    assert [name for name, _ in found.kinds] == ["low", "medium", "high"]
    begin, end, line = (
        float(at.removesuffix("%")) for at in (found.at(found.places - 1), found.at(found.places), found.line)
    )
    assert line == pytest.approx((begin + float(found.width.removesuffix("%")) + end) / 2, abs=2e-3)
    complete = eh.calibrate(hostile_panel())
    assert matrix_of(complete, standings(complete), None) is None
    assert "Every assessor scored every object" in render(make_report(complete, comparison=False))


@pytest.mark.parametrize("places", [10, 60])
def test_who_has_a_place_by_value_alone_or_by_plain_average_alone_is_marked(places: int) -> None:
    fit = eh.calibrate(demo() if places == 10 else eh.simulate_panel(200, 20, 3, seed=6).panel)
    page = render(make_report(fit, top=places, comparison=False))
    ranks = page[page.index('id="ranks"') : page.index('id="objects"')]
    pattern = (
        r'<tr class="is-\w+ (taken|lost)".*?title="([^"]*)".*?title="among the first by ([a-z ]+), not by [a-z ]+"'
    )
    marked = re.findall(pattern, ranks)
    panel = fit.panel
    sums = np.bincount(panel.object_index, weights=panel.score)
    averages = np.round(sums / np.bincount(panel.object_index), 9)
    last = np.sort(averages)[-places]
    inside = np.argsort(-fit.values.estimate)[:places]
    is_inside = np.isin(np.arange(panel.n_objects), inside)
    taken = {(panel.objects[at], "value") for at in np.flatnonzero(is_inside & (averages < last)).tolist()}
    lost = {(panel.objects[at], "plain average") for at in np.flatnonzero(~is_inside & (averages > last)).tolist()}
    assert {(name, by) for kind, name, by in marked if kind == "taken"} == taken
    assert {(name, by) for kind, name, by in marked if kind == "lost"} >= lost
    assert {name for kind, name, _ in marked if kind == "lost"} <= {
        panel.objects[at] for at in np.flatnonzero(~is_inside & (averages >= last)).tolist()
    }
    assert len(marked) == len({name for _, name, _ in marked}) > 3
    minutes = page[page.index('id="record"') :]
    for name, _ in {*taken, *lost}:
        assert re.search(rf"\b{re.escape(name)}\b", minutes)


def test_no_line_ends_after_a_picture_at_the_beginning_of_a_name() -> None:
    panel = named(8, "👩‍🔬 Women in laboratories,")
    page = render(make_report(eh.calibrate(panel), top=3, comparison=False))
    shown = re.sub(r' (?:title|aria-label)="[^"]*"|<style>.*?</style>|<title>.*?</title>', "", page, flags=re.S)
    lists = shown[shown.index('class="counts') : shown.index('class="legend"')]
    assert lists.count("👩‍🔬\u00a0Women") >= 16
    assert "👩‍🔬 Women" not in lists


@pytest.mark.parametrize("count", [8, 32, 60, 200])
@pytest.mark.parametrize("name", ["", "P", "Proposal"])
def test_lists_of_a_status_name_everyone_once_and_fold_what_two_lines_cannot_hold(count: int, name: str) -> None:
    panel = eh.simulate_panel(count, 10, 3, seed=2).panel
    panel = replace(panel, objects=tuple(f"{name}{at + 1}" for at in range(count)))
    page = render(make_report(eh.calibrate(panel), top=count // 3, comparison=False))
    lists = page[page.index('class="counts') : page.index('id="ranks"')]
    assert sorted(re.findall(r'<li title="([^"]*)"', lists)) == sorted(panel.objects)
    for fold in re.finditer(r'<details class="more[^>]*><summary>([\d,]+) more</summary>(.*?)</details>', lists, re.S):
        assert fold[2].count("<li") == int(fold[1])
    shown = re.sub(r'<details class="more.*?</details>', "", lists, flags=re.S)
    assert all(part.count("<li") <= 24 for part in shown.split('class="of"'))


def test_names_that_run_from_right_to_left_turn_no_number_around() -> None:
    panel = hostile_panel()
    names = ["أحمد الحسن", "רות לוי", "Jo", "K. O"]
    page = render(make_report(eh.calibrate(replace(panel, assessors=tuple(names))), top=3, comparison=False))
    shown = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page, flags=re.S)
    for name in names[:2]:
        whole = name.replace(" ", "\u00a0")  # over two lines it would read from the wrong end
        assert shown.count(whole) == shown.count(f"\u2068{whole}\u2069") > 3
        assert name not in shown
    assert not re.search("\u2068[^\u2069]*\u2068", shown)


def test_methods_that_are_one_without_confidence_are_named_once() -> None:
    panel = eh.simulate_panel(12, 5, 3, seed=2).panel
    plain = replace(panel, confidence="none", precision=np.ones(panel.n_assessments))
    made = make_report(eh.calibrate(plain), top=3, candidates=())
    assert made.supported is not None
    assert made.supported.method in ("cwc", "sa")
    assert "next is calibration" not in made.supported.reason
    section = render(made).split('id="h-methods"')[1].split("</section>")[0]
    assert "Incomplete block analysis" not in section
    assert "Confidence-weighted" not in section


def test_a_panel_without_confidences_reads_no_word_of_them_but_the_title_of_the_paper() -> None:
    panel = eh.simulate_panel(12, 5, 3, seed=3).panel
    plain = replace(panel, precision=np.ones(panel.n_assessments), confidence="none")
    page = render(make_report(eh.calibrate(plain), top=4))
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    told = [text[max(0, at.start() - 60) : at.end()] for at in re.finditer("with confidence|incomplete block", text)]
    assert all("Calibration with confidence, Royal Society" in text[text.index(one) :][:150] for one in told), told
    assert "calibration" in text


def test_labels_are_data_wherever_they_stand() -> None:
    text = render(make_report(eh.calibrate(hostile_panel()), top=3, comparison=False, title="<b>A & B</b>"))
    assert "<img src=x" not in text
    assert "</script><script>window" not in text
    assert "7919*7907" in Page(text).text
    assert str(7919 * 7907) not in text
    assert "<title>&lt;b&gt;A &amp; B&lt;/b&gt;</title>" in text


def test_a_hundred_objects_take_less_than_two_megabytes() -> None:
    panel = eh.simulate_panel(100, 15, 3, seed=1).panel
    assert len(render(make_report(eh.calibrate(panel), top=20)).encode()) < 2_000_000


def test_a_pdf_is_left_to_printing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="print it to PDF from a browser"):
        eh.report(eh.calibrate(demo()), tmp_path / "report.pdf")


# ------------------------------------------------------------------------------------------------ the fingerprint


def test_the_fingerprint_does_not_depend_on_the_order_of_rows_and_on_nothing_less() -> None:
    frame = pl.read_csv(demo_path())
    panel, turned = Panel.from_frame(frame), Panel.from_frame(frame[::-1])
    assert data_hash(panel) == data_hash(turned)
    fit = eh.calibrate(panel)
    mark = eh.fingerprint(fit, top=10)
    assert mark.whole == eh.fingerprint(eh.calibrate(turned), top=10).whole
    others = [
        eh.fingerprint(fit, top=9),
        eh.fingerprint(eh.calibrate(panel, gauge="zero_sum"), top=10),
        eh.fingerprint(eh.calibrate(panel, interval=0.8), top=10),
        eh.fingerprint(eh.incomplete_block(panel), top=10),
        eh.fingerprint(eh.refine(panel, shrink=True), top=10),
        eh.fingerprint(eh.refine(panel, shrink=True, value_sd=10.0), top=10),
    ]
    score = panel.score.copy()
    score[17] = np.nextafter(score[17], 100)
    changed = Panel.from_frame(frame.with_columns(score=pl.Series(score)))
    others.append(eh.fingerprint(eh.calibrate(changed), top=10))
    assert len({mark.whole, *(one.whole for one in others)}) == len(others) + 1


def test_a_score_that_was_confirmed_is_another_result_than_one_left_out_until_it_is(tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_bytes(demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    row = next(at for at, line in enumerate(scores.read_text().splitlines(), 1) if ",440," in line)
    page, given = tmp_path / "report.html", ("report", str(scores), "--top", "10", "--quick")
    assert run(*given, "-o", str(page)).exit_code == 0
    assert "No decision yet" in page.read_text(encoding="utf-8")
    assert run(*given[:-1], "--verify", str(page)).exit_code == 0
    confirmed = run(*given[:-1], "--correct", f"{row}:score=440", "--verify", str(page))
    assert (confirmed.exit_code, confirmed.stdout.split(":")[0]) == (1, "Changed")


def test_the_fingerprint_of_the_whole_covers_the_choice_of_the_panel_in_any_order_and_that_of_the_data_does_not() -> (
    None
):
    fit = eh.calibrate(eh.demo())
    plain = eh.fingerprint(fit, top=10)
    assert eh.fingerprint(fit, top=10, choice=None).whole == plain.whole
    choices = [
        Choice(("P31", "P24"), "lots", "the panel"),
        Choice(("P31",), "lots", "the panel"),
        Choice(("P31", "P24"), "a rule", "the panel"),
        Choice(("P31", "P24"), "lots", "the chair"),
    ]
    marks = [eh.fingerprint(fit, top=10, choice=choice) for choice in choices]
    assert len({plain.whole, *(one.whole for one in marks)}) == len(marks) + 1
    assert {one.data for one in marks} == {plain.data}
    assert eh.fingerprint(fit, top=10, choice=Choice(("P24", "P31"), "lots", "the panel")).whole == marks[0].whole


def test_a_report_is_written_and_verified_with_the_choice_of_the_panel_and_with_no_other(tmp_path: Path) -> None:
    page, book, kept = (tmp_path / name for name in ("out.html", "out.xlsx", "choice.json"))
    told = {"objects": ["P31", "P24"], "reason": "Two regions had none", "by": "the panel"}
    kept.write_text(json.dumps(told))
    given = ("report", str(demo_path()), "--top", "10")
    assert run(*given, "--choice", str(kept), "--quick", "-o", str(page)).exit_code == 0
    assert "a place goes to P31, P24." in page.read_text("utf-8")
    choice = Choice(("P31", "P24"), "Two regions had none", "the panel")
    eh.workbook(eh.calibrate(eh.read_panel(demo_path())), book, top=10, choice=choice)
    found = fingerprints_in(page.read_text("utf-8"))
    assert found is not None
    notes = [row[1] for row in openpyxl.load_workbook(book)["notes"].iter_rows(values_only=True)]
    assert f"fingerprint {found[0]}" in notes
    same = run(*given, "--choice", str(kept), "--verify", str(page))
    assert same.exit_code == 0, same.output
    assert same.stdout.startswith("Unchanged: data, settings, choice and version give")
    assert run(*given, "--verify", str(page)).exit_code == 1
    for key, other in (("objects", ["P31", "P25"]), ("reason", "none"), ("by", "the chair")):
        kept.write_text(json.dumps(told | {key: other}))
        changed = run(*given, "--choice", str(kept), "--verify", str(page))
        assert changed.exit_code == 1
        assert "The options, the choice or the version are not those of" in changed.output
    for bad, said in (("{", "it is not JSON"), ("[]", "A choice is an object"), ('{"objects": "P31"}', "A choice is")):
        kept.write_text(bad)
        refused = run(*given, "--choice", str(kept), "--verify", str(page))
        assert refused.exit_code == 2
        assert said in refused.output
    assert "--choice needs --top" in run("report", str(demo_path()), "--choice", str(kept)).output


# ------------------------------------------------------------------------------------------------ the command line


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments))


def test_the_command_writes_the_page_and_verifies_it(tmp_path: Path) -> None:
    scores, page = tmp_path / "scores.csv", tmp_path / "out.html"
    scores.write_bytes(demo_path().read_bytes())
    found = run("report", str(scores), "--top", "10", "--quick", "-o", str(page))
    assert found.exit_code == 0, found.output
    text = page.read_text(encoding="utf-8")
    mark = re.search(r"<code>([0-9a-f]{64})</code>", text)
    assert mark is not None
    assert mark[1][:16] in found.output
    again = run("report", str(scores), "--top", "10", "--verify", mark[1])
    assert again.exit_code == 0
    assert "Unchanged" in again.output
    scores.write_text(scores.read_text().replace("71", "72", 1))
    changed = run("report", str(scores), "--top", "10", "--verify", mark[1][:12], "--json")
    assert changed.exit_code == 1
    assert json.loads(changed.stdout)["same"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.pdf"], "print it to PDF"),
        (["-o", "x.txt"], "html"),
        (["--lottery-seed", "1"], "--top K"),
        (["--verify", "abc"], "first eight"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / one) if one.startswith("x.") else one for one in arguments]
    found = run("report", str(demo_path()), *arguments)
    assert found.exit_code == 2
    assert message in found.output
    assert list(tmp_path.iterdir()) == []


def test_a_report_does_not_overwrite_the_scores(tmp_path: Path) -> None:
    scores = tmp_path / "scores.html"
    scores.write_bytes(demo_path().read_bytes())
    found = run("report", str(scores), "-o", str(scores))
    assert found.exit_code == 2
    assert scores.read_bytes() == demo_path().read_bytes()


def test_a_page_can_be_verified_by_its_name_and_what_changed_is_said(tmp_path: Path) -> None:
    scores, page = tmp_path / "scores.csv", tmp_path / "out.html"
    scores.write_bytes(demo_path().read_bytes())
    assert run("report", str(scores), "--top", "10", "--quick", "-o", str(page)).exit_code == 0
    assert run("report", str(scores), "--top", "10", "--verify", str(page)).stdout.startswith("Unchanged")
    other = run("report", str(scores), "--top", "9", "--verify", str(page))
    assert other.exit_code == 1
    assert "The options or the version are not those of" in other.output
    scores.write_text(scores.read_text().replace("71", "72", 1))
    changed = run("report", str(scores), "--top", "10", "--verify", str(page))
    assert changed.exit_code == 1
    assert "The scores are not those of" in changed.output
    (tmp_path / "other.html").write_text("<p>nothing</p>")
    assert "not a report" in run("report", str(scores), "--verify", str(tmp_path / "other.html")).output
    assert "cannot be read" in run("report", str(scores), "--verify", str(tmp_path / "none.html")).output


@pytest.mark.parametrize("command", [("demo",), ("calibrate", str(demo_path()))])
def test_a_report_beside_the_answer_is_said_to_be_written(command: tuple[str, ...], tmp_path: Path) -> None:
    place = tmp_path / "beside.html"
    found = run(*command, "--report", str(place))
    assert found.exit_code == 0, found.output
    assert found.output.rstrip().endswith(f"Written to {place}.")
    assert place.exists()


# ------------------------------------------------------------------------------------------------------- Chromium


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "hostile", "groups", "one assessor", "refined"])
def test_chromium_draws_it_without_a_network_and_axe_finds_nothing_serious(name: str, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    fit = FITS[name]()
    path = tmp_path / "report.html"
    eh.report(fit, path, top=2, comparison=name == "demo")
    with open_browser() as context:
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        assert said == []
        assert asked == [path.as_uri()]
        charts = page.locator("figure svg")
        assert charts.count() >= 2
        assert page.evaluate("window.broken") is None
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        for width in (320, 390, 768):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.emulate_media(media="print")
        assert len(page.pdf(format="A4")) > 10_000


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_the_whole_table(tmp_path: Path) -> None:
    fit = eh.calibrate(demo())
    path = tmp_path / "report.html"
    eh.report(fit, path, top=10, comparison=False)
    averages = eh.simple_average(demo()).values
    expected = [averages.labels[at] for at in np.argsort(-averages.estimate, kind="stable")[:2]]
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.click("#ranks thead th.a button")
        labels = page.locator("#ranks tbody th").all_inner_texts()
        assert len(labels) == 40
        assert labels[:2] == expected
        assert not page.locator("#ranks .cutline").is_visible()
        drawn = page.eval_on_selector_all(
            "#ranks tbody tr", "rows => rows.map(r => parseFloat(r.querySelector('circle.dot').getAttribute('cx')))"
        )
        value = dict(zip(fit.values.labels, fit.values.estimate, strict=True))
        slope, start = np.polyfit([value[label] for label in labels], drawn, 1)
        off = [abs(slope * value[label] + start - at) for label, at in zip(labels, drawn, strict=True)]
        assert max(off) < 0.1  # rows that were folded away stand on the scale of the others
        page.fill(".find input", "P28")
        assert page.locator("#ranks tbody th:visible").all_inner_texts() == ["P28"]


@pytest.mark.slow
def test_a_sorted_table_is_put_back_and_the_line_with_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    eh.report(eh.calibrate(eh.simulate_panel(100, 24, 3, seed=2).panel), path, top=30, comparison=False)
    with open_browser() as context:
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(path.as_uri())
        rows, line = page.locator("#ranks tbody tr:visible"), page.locator("#ranks .cutline")
        before = rows.all_inner_texts()
        page.click("#ranks thead th.c button")
        chances = page.locator("#ranks tbody td.c .pc").all_inner_texts()
        assert {">99%", "<1%", "1%"} <= set(chances)
        surer = [">99%", *(f"{share}%" for share in range(99, 0, -1)), "<1%"]
        assert chances == sorted(chances, key=surer.index)
        assert not line.is_visible()
        assert page.locator(".find button[aria-pressed=true]").inner_text() == "All 100"
        page.click(".find button[data-status='']")
        assert rows.all_inner_texts() == before
        assert line.is_visible()
        page.click("#ranks thead th.v button")
        page.click("#ranks thead th:first-child button")
        assert line.is_visible()
        ranks = page.locator("#ranks tbody tr[data-status] td:first-child").all_inner_texts()
        assert list(map(int, ranks)) == list(range(1, 101))
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#ranks th button").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.click("#ranks thead th.v button")
        assert not line.is_visible()
        page.click("#assessors thead th:nth-child(2) button")
        page.click("#assessors thead th:nth-child(2) button")
        biases = page.locator("#assessors tbody td.v").all_inner_texts()
        shown = [float(one.replace("−", "-")) for one in biases]
        assert shown == sorted(shown)
        assert len(shown) == 24
        assert not wrong


@pytest.mark.slow
def test_assessors_of_groups_that_cannot_be_compared_are_not_sorted_together(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    eh.report(eh.calibrate(apart(), per_component=True), path, top=2, comparison=False)
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        assert page.locator("#assessors h2").count() == 1
        assert page.locator("#assessors thead th").count() > 3
        assert page.locator("#assessors thead button").count() == 0


def named(objects: int, name: str = "The proposal of a long name") -> Panel:
    """Return a panel of two assessors in which values fall from the first object to the last."""
    at = np.arange(objects)
    scores = np.concatenate([80 - 3.0 * at + (at % 3), 78 - 3.0 * at - (at % 2)])
    labels = [f"{name} {one + 1}" for one in at]
    return Panel.from_arrays(np.tile(at, 2), np.repeat([0, 1], objects), scores, objects=labels)


@pytest.mark.slow
def test_rows_of_a_table_and_of_its_folds_are_drawn_on_one_scale(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    fit = eh.calibrate(named(10))
    eh.report(fit, path, top=4, comparison=False)
    where = """rows => rows.map((row) => {
        const [dot, cell] = ["circle.dot", "td.g"].map((one) => row.querySelector(one).getBoundingClientRect());
        return [Number(row.querySelector("td.v").textContent), (dot.left + dot.right) / 2, cell.left, cell.right];
    })"""
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.eval_on_selector_all("#ranks details", "all => all.forEach((one) => { one.open = true; })")
        for width in (1100, 768, 390):
            page.set_viewport_size({"width": width, "height": 900})
            value, x, left, right = np.transpose(page.eval_on_selector_all("#ranks tr[data-status]:visible", where))
            assert len(value) == 10
            assert np.all((left < x) & (x < right))
            slope, start = np.polyfit(value, x, 1)
            assert np.abs(slope * value + start - x).max() < 1
            assert np.ptp(x) > 0.5 * (right - left)[0]
        page.emulate_media(media="print")
        value, x, *_ = np.transpose(page.eval_on_selector_all("#ranks tr[data-status]:visible", where))
        assert len(value) == 10
        slope, start = np.polyfit(value, x, 1)
        assert np.abs(slope * value + start - x).max() < 1


@pytest.mark.slow
@pytest.mark.parametrize("objects", [20, 70])
@pytest.mark.parametrize("has_script", [True, False])
def test_on_a_phone_a_name_in_the_table_opens_its_object_wherever_it_is_folded(
    objects: int, has_script: bool, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    panel = named(objects, "P")
    eh.report(eh.calibrate(panel), path, top=4, comparison=False)
    with open_browser() as context:
        phone = context.browser.new_context(
            offline=True, java_script_enabled=has_script, viewport={"width": 390, "height": 844}
        )
        page = phone.new_page()
        page.goto(path.as_uri())
        name = panel.objects[2]
        body = page.locator("details.object > div").filter(has=page.locator("h3", has_text=f"{quoted(name)} is "))
        assert not body.is_visible()
        link = page.locator("#ranks tbody a", has_text=re.compile(f"^{re.escape(name)}$"))
        for _ in range(2 if has_script else 1):  # also after it was closed again
            link.click()
            body.wait_for(state="visible")
            assert 0 <= body.bounding_box()["y"] < 844
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false; })")


@pytest.mark.slow
def test_small_screens_fold_the_assessors_in_the_middle_and_show_titles_and_ranges_of_ranks(tmp_path: Path) -> None:
    panel = eh.simulate_panel(70, 30, 3, seed=3).panel
    title = "Mapping fungal networks in old forests and what is found below them, and how insulation changes it all"
    scores = tmp_path / "scores.csv"
    rows = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), strict=True)
    lines = [f'P{o},"{title if o % 2 else "Gut"}",A{a},{score:.0f}' for o, a, score in rows]
    scores.write_text("\n".join(["proposal,title,assessor,score", *lines]) + "\n", encoding="utf-8")
    fit = eh.calibrate(eh.read_panel(scores))
    path = tmp_path / "report.html"
    eh.report(fit, path, top=20, comparison=False)
    in_order = [fit.biases.labels[at] for at in np.argsort(-fit.biases.estimate)]
    with open_browser() as context:
        without = context.browser.new_context(offline=True, java_script_enabled=False)
        page = without.new_page()
        page.goto(path.as_uri())
        people = page.locator("#assessors tbody tr:visible > th")
        for width, shown in ((1100, in_order), (768, in_order), (390, [*in_order[:5], *in_order[-5:]])):
            page.set_viewport_size({"width": width, "height": 900})
            assert people.all_inner_texts() == shown
        page.locator("#assessors summary", has_text="20 more").click()
        assert people.all_inner_texts() == in_order
        page.reload()
        page.emulate_media(media="print")
        assert people.all_inner_texts() == in_order
        page = context.new_page()
        page.goto(path.as_uri())
        heights = """rows => rows.map((row) => {
            const words = document.createRange();
            words.selectNodeContents(row.querySelector("th.o > span"));
            const lines = new Set(Array.from(words.getClientRects(), (one) => Math.round(one.top)));
            const head = row.querySelector("th.o").getBoundingClientRect();
            return [lines.size, Array.from(lines).filter((top) => top < head.bottom - 8).length];
        })"""
        for width in (768, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found = page.eval_on_selector_all("#ranks tr[data-status]:visible", heights)
            assert {seen for _, seen in found} == {1, 2}
            assert max(lines for lines, _ in found) > 2  # what does not fit in two lines is cut
        page.set_viewport_size({"width": 768, "height": 900})
        ranges = page.eval_on_selector_all(
            "#ranks tr[data-status]:visible",
            """rows => rows.map((row) => [row.querySelector("th.o bdi").textContent,
                getComputedStyle(row.querySelector("td.c"), "::after").content])""",
        )
    decision = eh.decide(eh.rank(fit, top=20), 20)
    told = {one.object: (one.rank_lower, one.rank_upper) for one in decision.standings}
    assert len(ranges) > 20
    for name, words in ranges:
        low, high = told[name]
        assert words == (f'"rank {low}"' if low == high else f'"ranks {low}–{high}"')


def test_groups_that_cannot_be_compared_are_drawn_with_points_of_one_width() -> None:
    rows = [
        ("A", 0, 90.0),
        ("A", 1, 92.0),
        ("B", 0, 40.0),
        ("B", 1, 44.0),
        ("C", 2, 60.0),
        ("C", 3, 62.0),
        ("D", 2, 61.0),
    ]
    names = "ABCD"
    panel = Panel.from_arrays(
        [names.index(one) for one, *_ in rows], [one for _, one, _ in rows], [one for *_, one in rows]
    )
    fit = eh.calibrate(panel, per_component=True)
    groups = table_of(fit, standings(fit), None).groups
    assert len(groups) == 2
    lengths = [scale.high - scale.low for scale, _ in groups]
    assert lengths[0] == pytest.approx(lengths[1])
    for one in standings(fit):
        assert all(groups[one.group][0].has(end) for end in (one.value, one.average))


def test_titles_stand_beside_the_objects_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Ref.,Title,Ann,Bob\nS1,On <tea>,7,8\nS2,On jam,5,4\nS3,On rye,6,7\n", encoding="utf-8")
    page = tmp_path / "page.html"
    assert run("report", str(path), "-o", str(page), "--quick").exit_code == 0
    assert ">S1</bdi></a><span>On &lt;tea&gt;</span>" in page.read_text(encoding="utf-8")


def test_where_memory_is_capped_the_page_has_its_pictures_all_the_same(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="only some systems limit memory")
    code = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))\n"
        "from evenhand.cli import main\nmain()"
    )
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", code, "report", str(demo_path()), "--quick", "--top", "10", "-o", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Note:" not in done.stderr
    drawn = re.findall(r'<figure class="of-([\w-]+)">', page.read_text(encoding="utf-8"))
    assert sorted(drawn) == ["assessor-graph", "confidence", "influence", "methods", "residuals"]


def test_what_may_be_wrong_without_a_mistyped_score_stands_in_the_provisional_frame() -> None:
    fit = eh.calibrate(eh.demo())
    score = fit.panel.score.copy()
    score[37] = 100 * score[37]
    report = make_report(eh.calibrate(replace(fit.panel, score=score)), top=10)
    kinds = [one.kind for one in report.alerts]
    assert kinds[:2] == ["mistyped", "hangs_on_assessor"]
    page = render(report)
    frame = page.index('class="provisional"')
    assert page.index("No decision yet") < frame < page.index("each would cross the line without one assessor")


@pytest.mark.slow
def test_numbers_of_a_groups_scale_stand_where_its_bars_have_them_at_any_width(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    eh.report(eh.calibrate(rooms(), per_component=True), path, comparison=False)
    ends = "drawings => drawings.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right])"
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        for width in (1100, 768, 390):
            page.set_viewport_size({"width": width, "height": 900})
            scale, bars = (
                np.array(page.eval_on_selector_all(f"#ranks {rows} .g svg:visible", ends))
                for rows in ("tr.of-group", "tr[data-status]")
            )
            assert len(scale) == 2
            assert np.abs(bars - scale[0]).max() < 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1100])
def test_a_search_and_a_filter_leave_only_what_they_say(width: int, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    eh.report(eh.calibrate(eh.demo()), path, top=10, comparison=False)
    with open_browser() as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.set_viewport_size({"width": width, "height": 900})
        page.click("#ranks .find button[data-status=out]")
        assert set(
            page.eval_on_selector_all(
                "#ranks tr[data-status]:visible td.s", "all => all.map((one) => one.innerText.trim())"
            )
        ) == {"Out"}
        page.click("#ranks .find button[data-status=all]")
        page.fill("#ranks .find input", "P39")
        shown = page.locator("#ranks tr[data-status]:visible th.o")
        assert shown.all_inner_texts() == ["P39"]
        page.fill("#ranks .find input", "")
        page.click("#ranks .find button[data-status=in]")
        page.fill("#ranks .find input", "P39")
        assert shown.all_inner_texts() == ["P39"], "what a filter leaves out is found all the same"


def test_the_outermost_assessor_who_is_clearly_strict_is_named_whoever_lies_further_out() -> None:
    rows = [
        Assessor("Ann", 7.0, -1.0, 15.0, 2, 0, "", "like the panel"),
        Assessor("Bo", 5.8, 2.0, 9.6, 9, 0, "generous", "generous"),
        Assessor("Cy", -3.4, -6.5, -0.4, 9, 0, "strict", "strict"),
        Assessor("Dee", -3.8, -8.0, 0.4, 3, 0, "", "like the panel"),
    ]
    assert assessors_words(rows, 1) == "Bo gives 5.8 points more than the panel; Cy gives 3.4 less"
    assert assessors_words(rows[:2], 1) == "Bo gives 5.8 points more than the panel"


@pytest.mark.parametrize(("count", "places"), [(120, 60), (120, 12), (40, 25)])
@pytest.mark.parametrize("room", [3, 7, 12, 30])
def test_a_sheet_with_little_room_has_few_rows_above_the_line_and_says_what_it_leaves_out(
    count: int, places: int, room: int
) -> None:
    fit = eh.calibrate(eh.simulate_panel(count, 20, 3, seed=3).panel)
    decision = eh.decide(eh.rank(fit, top=places), places)
    above, below = table_of(fit, decision.standings, decision, (room, 0)).parts
    shown = [row for block in above for row in block.rows]
    assert [row.place for row in shown] == list(range(1, places + 1)), "a screen has each once"
    printed = [row for block in (*above, *below) if block.is_printed for row in block.rows]
    assert len(printed) <= max(room + 4, 9)
    assert {row.place for row in printed} >= {1, 2, 3, 4, places - 2, places - 1, places, places + 1}
    left = [block.paper for block in above if block.paper]
    missing = [row.place for row in shown if row not in printed]
    assert len(left) == bool(missing)
    if missing:
        assert left[0].startswith(f"Ranks {missing[0]} to {missing[-1]} are ")


def test_numbers_for_statisticians_say_what_they_are_of() -> None:
    fit = eh.calibrate(eh.demo(), shrink=True, tails="student")
    page = render(make_report(fit, top=10, comparison=False))
    assert "points from the scores (root mean square, weighted by confidence), with" in page
    values, biases = (np.median(side.sd) for side in (fit.values, fit.biases) if side.sd is not None)
    assert (
        f"The standard deviation of a typical value is {values:.1f} points, that of a typical bias {biases:.1f}."
        in page
    )
    assert ">Spread of noise of a score of medium confidence (heavy tails not counted)<" in page
    plain = eh.calibrate(eh.simulate_panel(20, 5, 3, seed=2, uncertainties=(5.0,)).panel)
    alone = render(make_report(plain, comparison=False))
    assert "points from the scores (root mean square), with" in alone
    assert "per unit" not in alone


def test_what_is_said_of_groups_is_said_within_them() -> None:
    panel = eh.simulate_panel(24, 8, 5, seed=4, bounds=None).panel
    apart = panel.restrict(panel.object_index % 2 == panel.assessor_index % 2)
    made = make_report(eh.calibrate(apart, per_component=True), comparison=False)
    assert re.match(
        r"Highest in group 1: .* \(\d+\.\d\); in group 2: .* \(\d+\.\d\)\. The two scales", made.decision[1]
    )
    page = render(made)
    assert "The others are those of the same group." in page
    assert "with each other." not in page.replace("Within each group all assessors are consistent with each other.", "")
