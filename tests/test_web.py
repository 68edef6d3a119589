"""The web application without a browser: the journey of a chair, what is kept, who may come in."""

import csv
import html
import io
import json
import os
import re
import shlex
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand.answers.support import supported
from evenhand.cli import main
from evenhand.data import demo_path
from evenhand.models.fit import method_name
from evenhand.reports.page import make_report, render
from web import application, client, opened, seen, settled

WIDE = b"Proposal,Adeyemi,Brandt,Ito,Average\nP1,60,70,8O,65\nP2,50,,55,52\nP3,40,42,41,41\nP4,,52,51,51\n"


@pytest.fixture(scope="module")
def chair() -> Any:
    return client()


@pytest.fixture
def demo(chair: Any) -> int:
    return int(chair.post("/demo").url.split("/")[2])


def heading(page: Any) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page.content.decode(), re.DOTALL)
    assert found is not None, page.content[:2000]
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def text(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.content.decode()))


# --- the journey -------------------------------------------------------------------------------------


def test_the_decision_is_that_of_the_command_line(chair: Any, demo: int) -> None:
    page = seen(chair, f"/panels/{demo}/")
    assert heading(page) == "3 proposals are in by the method used; 18 compete for the other 7 places"
    told = json.loads(CliRunner().invoke(main, ["rank", str(demo_path()), "--top", "10", "--json"]).stdout)
    for one in told["objects"]:
        assert one["object"] in text(page)
    for alert in told["alerts"]:
        assert alert["headline"] in page.content.decode()


def test_a_cell_that_is_no_number_is_settled_on_the_page(chair: Any) -> None:
    panel = opened(chair, "wide.csv", WIDE)
    page = seen(chair, f"/panels/{panel}/reading")
    assert heading(page) == "Read: 9 scores by 3 assessors on 4 proposals"
    assert "It is 80" in text(page)
    sent = {"row": 2, "column": "Ito", "meant": "80"}
    assert chair.post(f"/panels/{panel}/reading/correct", sent).status_code == 302
    page = seen(chair, f"/panels/{panel}/reading")
    assert heading(page) == "Read: 10 scores by 3 assessors on 4 proposals"
    assert "Row 2, Ito 8O 80" in text(page)
    assert chair.get(f"/panels/{panel}/original").content == WIDE
    number = re.search(r"/reading/undo/(\d+)", page.content.decode())
    assert number is not None
    chair.post(f"/panels/{panel}/reading/undo/{number[1]}")
    assert heading(seen(chair, f"/panels/{panel}/reading")).startswith("Read: 9 scores")


def test_who_goes_on_leaves_cells_that_are_wrong_empty_and_the_record_says_so(chair: Any) -> None:
    panel = opened(chair, "wide.csv", WIDE)
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    seen(chair, f"/panels/{panel}/")
    assert "Row 2, Ito: 8O read as –" in text(chair.get(f"/panels/{panel}/record"))


def test_roles_of_columns_can_be_changed(chair: Any) -> None:
    panel = opened(chair, "wide.csv", WIDE.replace(b"8O", b"80"))
    page = seen(chair, f"/panels/{panel}/reading").content.decode()
    sent = dict(re.findall(r'name="((?:name|was)-\d+)" value="([^"]*)"', page)) | {"read_layout": "wide"}
    roles = {"role-0": "object", "role-1": "score", "role-2": "score", "role-3": "", "role-4": "score"}
    chair.post(f"/panels/{panel}/reading/settings", sent | roles)
    page = text(seen(chair, f"/panels/{panel}/reading"))
    assert "Read: 10 scores by 3 assessors on 4 proposals" in page
    assert "Not among the columns that were named" in page
    chair.post(f"/panels/{panel}/reading/settings", {"reset": "1"})
    assert "Looks like the mean" in text(seen(chair, f"/panels/{panel}/reading"))


def test_levels_between_high_and_low_are_shown_in_words_and_nothing_is_said_of_a_file_not_read(chair: Any) -> None:
    rows = [
        f"P{o},A{a},{o + a},{('very sure', 'fairly sure', 'no idea')[(o + a) % 3]}" for o in range(4) for a in range(3)
    ]
    content = "\n".join(["proposal,assessor,score,confidence", *rows]).encode()
    panel = opened(chair, "sure.csv", content.replace(b"no idea", b"dunno"))
    page = text(seen(chair, f"/panels/{panel}/reading"))
    assert "“dunno” stands in 4 cells of “confidence”." in page
    assert "No column is left out" not in page
    assert "says nothing on how sure" not in page
    chair.post(f"/panels/{panel}/reading/settings", {"level-dunno": "low"})
    page = text(seen(chair, f"/panels/{panel}/assessors/0"))
    assert re.search(r"P0 0 high .* P1 1 rather high .* P2 2 rather low", page)


def test_pasted_cells_are_a_panel(chair: Any) -> None:
    page = chair.post("/upload", {"cells": "proposal\tassessor\tscore\nA\tx\t6\nA\ty\t7\nB\tx\t4\nB\ty\t6\n"})
    assert heading(seen(chair, page.url)) == "Read: 4 scores by 2 assessors on 2 proposals"


def test_a_mistyped_score_stops_and_is_corrected_where_it_is_named(chair: Any) -> None:
    panel = opened(chair, "typo.csv", demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "10"})
    page = seen(chair, f"/panels/{panel}/")
    assert "No decision yet" in heading(page)
    row = re.search(r'name="row" value="(\d+)"', page.content.decode())
    assert row is not None
    sent = {"row": row[1], "column": "score", "text": "44", "reason": "a slip", "back": "decision"}
    assert chair.post(f"/panels/{panel}/reading/correct", sent).url.partition("?")[0] == f"/panels/{panel}/"
    page = seen(chair, f"/panels/{panel}/")
    assert heading(page).startswith("3 proposals are in")


def test_a_score_that_looks_mistyped_is_kept_or_taken_as_it_was_meant(chair: Any, tmp_path: Path) -> None:
    panel = opened(chair, "typo.csv", demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "10"})
    page = seen(chair, f"/panels/{panel}/")
    assert "Keep 440, it is right" in text(page)
    row = re.search(r'name="row" value="(\d+)"', page.content.decode())
    meant = re.search(r'name="meant" value="([^"]+)"', page.content.decode())
    assert row is not None
    assert meant is not None
    assert meant[1] == "44"
    sent = {"row": row[1], "column": "score", "reason": "asked", "back": "decision", "text": ""}
    chair.post(f"/panels/{panel}/reading/correct", sent | {"keep": "1"})
    page = seen(chair, f"/panels/{panel}/")
    assert "No decision yet" not in heading(page)
    assert f"Row {row[1]}: Farouk gave P32 a score of 440." in text(page)
    assert "was confirmed" in text(page)
    assert f"Row {row[1]}, score: 440 is right" in text(page)
    assert f"Row {row[1]}, score: 440 is right (Farouk on P32) asked" in text(chair.get(f"/panels/{panel}/record"))
    settled(lambda: chair.get(chair.post(f"/panels/{panel}/freeze").url, follow=True))
    assert "was confirmed" in confirmed_by_the_command_line(chair, panel, tmp_path)[1]
    undo = re.search(r'action="([^"]+/reading/undo/\d+)"', seen(chair, f"/panels/{panel}/reading").content.decode())
    assert undo is not None
    chair.post(undo[1])
    assert "No decision yet" in heading(seen(chair, f"/panels/{panel}/"))
    chair.post(f"/panels/{panel}/reading/correct", sent | {"meant": meant[1]})
    assert heading(seen(chair, f"/panels/{panel}/")).startswith("3 proposals are in")


def test_the_page_of_reading_names_a_score_that_is_far_off_and_corrects_it_there(chair: Any) -> None:
    rows = demo_path().read_text("utf-8").splitlines()
    at = next(at for at, row in enumerate(rows) if row.startswith("P20,"))
    cells = rows[at].split(",")
    meant = cells[2]
    cells[2] += "0"
    rows[at] = ",".join(cells)
    panel = opened(chair, "typo.csv", "\n".join(rows).encode())
    place = f"/panels/{panel}/reading"
    page = text(seen(chair, place))
    assert f"Row {at + 1}, score: {cells[1]} gave P20 {cells[2]}, far outside of all other scores." in page
    assert f"It is {meant}" in page
    assert "Stop One score looks mistyped" in page
    said = seen(chair, place).content.decode()
    assert f'here or on the page <a href="/panels/{panel}/">Decision</a>.' in said
    assert '<button class="button second" name="go"' in said
    given = {"row": at + 1, "column": "score", "meant": meant, "back": "reading"}
    assert "Say how you know" in text(chair.post(f"{place}/correct", given, follow=True))
    assert "looks mistyped" in text(seen(chair, place))
    by_enter = {name: value for name, value in given.items() if name != "meant"} | {"text": "", "other": "1"}
    page = chair.post(f"{place}/correct", {**by_enter, "reason": "asked <him>"}, follow=True)
    assert "Now say what the score is: press one of the buttons" in text(page)
    assert 'value="asked &lt;him&gt;"' in seen(chair, page.redirect_chain[-1][0]).content.decode(), (
        "nothing typed is lost"
    )
    sent = chair.post(f"{place}/correct", {**given, "reason": "asked"})
    assert sent.url.partition("?")[0] == place
    page = seen(chair, sent.url)
    assert f"Row {at + 1} is now read as {meant}. Undo" in text(page)
    undo = re.search(r'action="([^"]+)" class="message changed"', page.content.decode())
    assert undo is not None
    assert "looks mistyped" in text(settled(partial(chair.post, undo[1], follow=True)))
    assert "is now read as" not in text(seen(chair, sent.url))
    chair.post(f"{place}/correct", {**given, "reason": "asked"})
    page = text(seen(chair, place))
    assert "is now read as" not in page
    assert "looks mistyped" not in page
    assert f"{cells[2]} {meant} asked" in page
    assert '<button class="button" name="go"' in seen(chair, place).content.decode()


def typed_wrong(chair: Any) -> int:
    """Return a panel in which a score has a digit too many, with ten places."""
    panel = opened(chair, "typo.csv", demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "10"})
    return panel


def test_what_is_said_of_assessors_is_what_comes_out_without_a_score_that_must_be_checked(
    chair: Any, tmp_path: Path
) -> None:
    lines = demo_path().read_text("utf-8").splitlines()
    left = [line for line in lines if not line.startswith("P32,Farouk,44")]
    assert len(left) == len(lines) - 1
    panel, clean = typed_wrong(chair), opened(chair, "clean.csv", "\n".join(left).encode())
    file = tmp_path / "clean.csv"
    file.write_text("\n".join(left), "utf-8")
    fit = eh.calibrate(eh.read_panel(file))
    told = eh.reliability(fit)
    assert told.assessors is not None
    assert told.shares is not None
    page = text(seen(chair, f"/panels/{panel}/assessors"))
    luck = told.shares.estimate[list(told.shares.labels).index("bias")]
    assert f"{100 * luck:.0f}% of the differences between plain averages" in page
    for at, one in enumerate(told.assessors):
        numbers = " ".join(f"{number:.2f}" for number in (one.slope, one.infit, one.agreement, one.spread) if number)
        verdict = one.verdict.replace("too few scores to tell", "not clear")
        assert f"{one.assessor} {verdict} {one.scores} {numbers}".replace("-", "−") in page
        bias = f"{fit.biases.estimate[list(fit.biases.labels).index(one.assessor)]:+.1f}".replace("-", "−")
        assert re.search(rf"{one.assessor} {re.escape(bias)} ", page)
        verdict = f"{verdict[0].upper()}{verdict[1:]}"
        assert f"Agrees with the others? {verdict}" in text(seen(chair, f"/panels/{panel}/assessors/{at}"))
    same = text(seen(chair, f"/panels/{clean}/assessors"))
    assert page[page.index("Bias is how") :] == same[same.index("Bias is how") :]


def test_nothing_is_offered_to_try_before_a_stop_is_settled(chair: Any, demo: int) -> None:
    panel = typed_wrong(chair)
    offers = {"": "What if …", "objects/3": "Try another score", "assessors/2": "Try what comes out without"}
    for place, offer in offers.items():
        assert offer in text(seen(chair, f"/panels/{demo}/{place}"))
        assert offer not in text(seen(chair, f"/panels/{panel}/{place}"))
    page = text(seen(chair, f"/panels/{panel}/what-if"))
    said = re.search(
        r"Stop Row (\d+): Farouk gave P32 a score of 440\. +Nothing can be compared until row (\d+) is", page
    )
    assert said is not None
    assert said[1] == said[2]


def test_scores_in_a_column_have_as_many_decimals(chair: Any) -> None:
    rows = [f"{o},{who},{score}" for o, who, score in zip("aabbcc", "xyxyxy", (5.25, 6, 6.5, 8, 3, 4), strict=True)]
    panel = opened(chair, "fine.csv", "\n".join(["object,assessor,score", *rows]).encode())
    page = text(seen(chair, f"/panels/{panel}/assessors/1"))
    assert [one in page for one in ("a 6.00 ", "b 8.00 ", "c 4.00 ")] == [True] * 3
    assert re.search(r"x 5\.25 .* y 6\.00 ", text(seen(chair, f"/panels/{panel}/objects/0")))


def test_titles_on_assessors_name_nobody_of_whom_nothing_is_said(chair: Any) -> None:
    random = np.random.default_rng(4)
    rows = []
    for group, (who, first) in enumerate(((("Ana", "Ben", "Cleo", "Dan"), 0), (("Eva", "Finn", "Gus", "Hana"), 12))):
        for o in range(12):
            two = random.choice(4, 2, replace=False)
            rows += [f"{o + first + 1},{who[w]},{random.normal(6 + group, 1.5):.1f}" for w in two]
    panel = opened(chair, "apart.csv", "\n".join(["object,assessor,score", *rows]).encode())
    page = seen(chair, f"/panels/{panel}/assessors")
    assert heading(page) == "No assessor is shown to be stricter or more generous than their group"
    assert (
        "1 assessor is consistent with the others of the same group; for 7 it is not clear</h2>"
        in page.content.decode()
    )


def test_a_long_list_of_assessors_opens(chair: Any) -> None:
    random = np.random.default_rng(1)
    value, rows = random.normal(60, 9, 60), []
    for o in range(60):
        some = random.choice(30, 5, replace=False)
        rows += [f"{o},Somebody Named {w:02d},{value[o] + random.normal(0, 3):.0f}" for w in some]
    panel = opened(chair, "many.csv", "\n".join(["object,assessor,score", *rows]).encode())
    page = seen(chair, f"/panels/{panel}/assessors").content.decode()
    told = re.search(r"<dt>Consistent <span class=.quiet.>(\d+)</span></dt><dd>(.*?)</dd>", page)
    assert told is not None
    first, _fold, rest = told[2].partition("<details")
    more = re.search(r"<summary>(\d+) more", rest)
    assert more is not None
    assert int(told[1]) == first.count("<a ") + rest.count("<a ") > 20
    assert int(more[1]) == rest.count("<a ")
    assert len(re.sub(r"<[^>]*>", "", first)) < 200


def test_a_verdict_on_an_assessor_with_many_scores_does_not_say_that_they_are_few(chair: Any, demo: int) -> None:
    page = text(seen(chair, f"/panels/{demo}/assessors"))
    assert "Eriksen not clear 10" in page
    assert "too few" not in page


def test_what_if_shows_who_moves_and_undo_takes_it_back(chair: Any, demo: int) -> None:
    scenario = chair.post(f"/panels/{demo}/what-if/new").url
    chair.post(f"{scenario}/change", {"without": "Kaur"})
    chair.post(f"{scenario}/change", {"score_of": "P32\x1fJansen", "score": "61"})
    page = seen(chair, scenario)
    words = "Without Kaur and with 61 from Jansen for P32, 2 of the first 10 are replaced"
    assert heading(page) == f"{words}, and 1 of the 3 proposals that are in becomes open"
    assert (
        "P05 is no longer in; P39 is no longer out; P39 and P32 enter the first 10; P25 and P16 leave the first 10."
        in text(page)
    )
    chair.post(f"{scenario}/undo", {"which": "0"})
    assert "Kaur" not in heading(seen(chair, scenario))
    chair.post(f"{scenario}/redo")
    assert "without Kaur" in heading(seen(chair, scenario))
    assert heading(seen(chair, f"/panels/{demo}/")).startswith("3 proposals are in")


def test_what_the_alerts_speak_of_is_tried_at_a_click_and_stays_in_the_list_with_what_it_changes(
    chair: Any, demo: int
) -> None:
    place = f"/panels/{demo}/what-if"
    page = seen(chair, place)
    keys = re.findall(r'name="trial" value="([^"]+)"', page.content.decode())
    assert keys == ["without:Dubois", "without:Kaur", "method", "outliers", "averages", "places"]
    for words in (
        "Without Dubois P23 would be below the line without Dubois.",
        "Without Kaur P39 would be above the line without Kaur.",
    ):
        assert words in text(page)
    scenario = chair.post(f"{place}/new", {"trial": "without:Kaur"}).url
    page = seen(chair, scenario)
    assert (
        heading(page)
        == "Without Kaur, P39 replaces P25 in the first 10, and 1 of the 3 proposals that are in becomes open"
    )
    assert "P39, P25, P31 and P12 then rest on one score each, unchecked by a second." in text(page)
    assert "9 of the first 10 as saved" in text(page)
    assert "keep their status and their side of the line; ranks may shift." in text(page)
    assert '<th class="t" scope="col">First 10</th>' in page.content.decode()
    assert " places as saved" not in text(page), "nobody has given a place away"
    page = seen(chair, place)
    assert "without:Kaur" not in page.content.decode()
    assert "Without Kaur" in text(page)
    assert "P39 enters the first 10; P25 leaves the first 10" in text(page)
    chair.post(f"{scenario}/change", {"places": "9"})
    assert "Without Kaur, with 9 places" in text(seen(chair, place))
    evidence = seen(chair, f"/panels/{demo}/evidence")
    assert "Calibration with confidence, pulled towards the mean" in text(evidence)
    circle = re.search(r'<figure class="graph">.*?</figure>', evidence.content.decode(), re.DOTALL)
    assert circle is not None
    assert circle[0].count('class="node"') == eh.demo().n_assessors
    assert "style=" not in circle[0]
    assert "Values are pulled towards the mean" in text(page)  # as in the menu
    scenario = chair.post(f"{place}/new", {"trial": "method"}).url
    assert heading(seen(chair, scenario)).startswith("Assuming that values are pulled towards the mean, ")
    other = eh.refine(eh.demo(), eh.Refinements(shrink=True))
    made = eh.decide(eh.rank(other, top=10), 10)
    counts = [len(made.inside), len(made.undecided), len(made.outside)]
    assert "Scenario In {} Open {} Out {}".format(*counts) in text(seen(chair, scenario))
    assert counts[0] == 0  # of the three who are in by the method in use


@pytest.mark.usefixtures("chair")
def test_a_method_of_two_choices_is_named_in_the_words_of_the_menus() -> None:
    from evenhand.web.views.what_if import _named

    one = {"type": "choice", "name": "method", "value": "iba"}
    two = {"type": "choice", "name": "refinement", "value": "shrink"}
    more = {"type": "without_assessor", "assessor": "Kaur"}
    assert _named([one, two]) == "By calibration without confidence, values are pulled towards the mean"
    assert _named([two, more]) == "Values are pulled towards the mean, without Kaur"


def test_whom_another_method_moves_is_named_where_it_is_offered(chair: Any, demo: int) -> None:
    def first(fit: Any) -> list[str]:
        return [one.object for one in eh.decide(eh.rank(fit, top=10), 10).standings[:10]]

    used, other = first(eh.calibrate(eh.demo())), first(eh.refine(eh.demo(), eh.Refinements(shrink=True)))
    new, gone = ([label for label in one if label not in two] for one, two in ((other, used), (used, other)))
    assert new
    words = f"{' and '.join(new)} would be among the first 10 instead of {' and '.join(gone)}."
    chair.post(f"/panels/{demo}/choices", {"places": "10"})
    for place in ("evidence", "what-if"):
        assert words in text(seen(chair, f"/panels/{demo}/{place}"))


def test_who_is_in_stands_right_under_the_title_on_phones(chair: Any, demo: int) -> None:
    page = seen(chair, f"/panels/{demo}/").content.decode()
    under = page.partition("</h1>")[2].lstrip()
    assert under.startswith('<p class="on-phone in-first is-in">')
    made = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10)
    assert re.findall(r"<bdi>(.*?)</bdi>", under.partition("</p>")[0]) == list(made.inside)


def forms_in(part: str) -> list[tuple[str, dict[str, str], str]]:
    """Return where each form of a piece of a page goes, what it sends besides the token, and what its button says."""
    found = []
    for address, inner in re.findall(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', part, re.DOTALL):
        sent = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', inner))
        sent.pop("csrfmiddlewaretoken", None)
        found.append((address, sent, re.findall(r"<button[^>]*>(.*?)</button>", inner)[-1]))
    return found


def test_an_alert_leads_to_whom_it_names_and_does_at_a_click_what_it_speaks_of(chair: Any, demo: int) -> None:
    page = seen(chair, f"/panels/{demo}/").content.decode()
    alerts = page[page.index('<div class="alert"') : page.index('<section id="decision"')]
    panel = eh.demo()
    for label in ("P23", "P39", "P14", "P16"):
        at = list(panel.objects).index(label)
        assert f'<a href="/panels/{demo}/objects/{at}">{label}</a>' in alerts
    for label in ("Dubois", "Kaur"):
        at = list(panel.assessors).index(label)
        assert f'<a href="/panels/{demo}/assessors/{at}">{label}</a>' in alerts
    assert f'<a href="/panels/{demo}/evidence">' in alerts
    forms = [one for one in forms_in(alerts) if one[2] != "Record it"]  # which asks for a reason
    said = [words for _address, _sent, words in forms]
    assert said == ["Use the other method", "Try the other beside it", "Try without Dubois", "Try without Kaur"]
    for address, sent, words in forms:
        answer = chair.post(address, sent)
        assert answer.status_code == 302
        if words.startswith("Try without"):
            assert heading(seen(chair, answer.url)).startswith(f"Without {words.split()[-1]}, ")
        elif words == "Try the other beside it":
            assert heading(seen(chair, answer.url)) == "Nothing is changed in this scenario yet"  # as it is used by now
    made = eh.decide(eh.rank(eh.refine(panel, eh.Refinements(shrink=True)), top=10), 10)
    now = seen(chair, f"/panels/{demo}/").content.decode()
    assert "By the method that predicts better" not in now
    assert heading(seen(chair, f"/panels/{demo}/")) == made.headline()


def two_groups(layout: str) -> bytes:
    """Return a file of two groups of six projects, of which nobody has read both."""
    mark = np.random.default_rng(8).normal(60, 8, (12, 6)).round().astype(int)
    read = [[bool(row < 6) == bool(who < 3) and (row + who) % 3 > 0 for who in range(6)] for row in range(12)]
    names = ["Ana", "Ben", "Cleo", "Eva", "Finn", "Gus"]
    if layout == "wide":
        cells = [[str(mark[row, who]) if read[row][who] else "" for who in range(6)] for row in range(12)]
        rows = [",".join([f"Project {row + 1}", *cells[row]]) for row in range(12)]
        return "\n".join([",".join(["proposal", *names]), *rows]).encode()
    pairs = [(row, who) for row in range(12) for who in range(6) if read[row][who]]
    rows = [f"Project {row + 1},{names[who]},{mark[row, who]}" for row, who in pairs]
    return "\n".join(["proposal,assessor,score", *rows]).encode()


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_each_group_of_a_panel_that_falls_apart_is_decided_by_itself(chair: Any, layout: str, tmp_path: Path) -> None:
    content = two_groups(layout)
    panel = opened(chair, f"{layout} apart.csv", content)
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    page = seen(chair, f"/panels/{panel}/")
    assert "No decision yet" in heading(page)
    address, _sent, words = next(one for one in forms_in(page.content.decode()) if one[2].startswith("Decide on each"))
    assert words == "Decide on each group by itself"
    first = chair.post(address).url
    listed = chair.get("/").content.decode()
    made = re.findall(r'href="/panels/(\d+)/">' + f"{layout} apart" + r", group (\d)<", listed)
    assert [group for _number, group in made] == ["1", "2"]
    assert first == f"/panels/{made[0][0]}/"
    page = seen(chair, first)
    assert "Group 1 of 2. Next: group 2" in text(page)
    assert f'<a href="/panels/{made[1][0]}/">Next: group 2</a>' in page.content.decode()
    assert "6 proposals of other groups are left out." in text(page)
    assert re.search(r"One change was made by hand\. Other groups left out \(\d+ scores\)", text(page))
    chair.post(f"/panels/{made[1][0]}/choices", {"places": "3"})  # so that it was changed last
    again = re.findall(r'href="/panels/\d+/">' + f"{layout} apart" + r", group (\d)<", chair.get("/").content.decode())
    assert again == ["1", "2"]
    file = tmp_path / "apart.csv"
    file.write_bytes(content)
    whole = eh.read_panel(file)
    for number, group in made:
        chair.post(f"/panels/{number}/choices", {"places": "2"})
        shown = seen(chair, f"/panels/{number}/")
        objects, _assessors = eh.connectivity(whole).components[int(group) - 1]
        own = whole.restrict(np.array([whole.objects[at] in objects for at in whole.object_index.tolist()]))
        assert heading(shown) == eh.decide(eh.rank(eh.calibrate(own), top=2), 2).headline()
        record = text(chair.get(f"/panels/{number}/record"))
        assert f"Taken from {layout} apart: group {group}; the scores of other groups are left out" in record
        assert chair.get(f"/panels/{number}/original").content == content
    assert "No decision yet" in heading(seen(chair, f"/panels/{panel}/"))  # and stays as it was


def test_a_group_that_is_one_mistyped_score_is_told_as_both(chair: Any) -> None:
    scores = [7, 6, 8, 5, 5, 6, 9, 7, 8, 4, 3, 5]
    rows = [f"{'ABCD'[at // 3]},{'xyz'[at % 3]},{score}" for at, score in enumerate(scores)]
    panel = opened(chair, "apart.csv", "\n".join(["proposal,assessor,score", *rows, "E,w,900000"]).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    page = seen(chair, f"/panels/{panel}/")
    assert page.status_code == 200
    assert "Add a score that has come in" in text(page), "though without that score there would be no groups"


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_group_is_left_out_with_a_reason_or_compared_by_shrinking(chair: Any, layout: str) -> None:
    panel = opened(chair, "apart.csv", two_groups(layout))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "2"})
    place = f"/panels/{panel}/"
    assert chair.post(f"{place}groups", {"group": "2"}).url == place
    for given in ({"group": "2"}, {"group": "3", "reason": "x"}, {"group": "0", "reason": "x"}):
        chair.post(f"{place}groups", given)
        assert "No decision yet" in heading(seen(chair, place))
    forms = forms_in(seen(chair, place).content.decode())
    address, sent, _words = next(one for one in forms if one[2] == "Compare them anyway")
    assert chair.post(address, sent).url.partition("?")[0] == place
    page = seen(chair, place)
    assert "2 of 12 proposals can be chosen" in text(page)
    assert "2 groups are compared on an assumption" in text(page)
    address, sent, _words = next(one for one in forms_in(page.content.decode()) if one[2] == "Do without it")
    assert chair.post(address, sent).url.partition("?")[0] == place
    assert "No decision yet" in heading(seen(chair, place))
    assert chair.post(f"{place}groups", {"group": "2", "reason": "read for another prize"}).url == place
    page = text(seen(chair, place))
    assert "2 of 6 proposals can be chosen" in page
    assert "on an assumption" not in page
    record = text(chair.get(f"{place}record"))
    assert re.search(r"Left out: group 2, read by \w+, \w+, \w+ +read for another prize", record)
    assert record.count("read as –") == 0
    said = "6 proposals of group 2 are left out: “read for another prize”."
    assert said in page
    report = seen(chair, f"{place}out/report.html?show=report").content.decode()
    assert report.index("<h1") < report.index(said) < report.index('id="ranks"')
    assert said in report.partition("<blockquote>")[2].partition("</blockquote>")[0]
    book = openpyxl.load_workbook(io.BytesIO(seen(chair, f"{place}out/results.xlsx").content))
    assert said in [row[0] for row in book.worksheets[0].iter_rows(max_row=6, max_col=1, values_only=True)]
    settled(lambda: chair.post(f"{place}freeze", follow=True))
    at = re.search(r"/frozen/(\d+)/verify", chair.get(f"{place}record").content.decode())
    assert at is not None
    assert "Unchanged" in text(settled(lambda: chair.post(f"{place}frozen/{at[1]}/verify", follow=True)))


def test_what_was_left_out_at_one_click_is_one_change_and_taken_back_at_one(chair: Any) -> None:
    panel = opened(chair, "apart.csv", two_groups("long"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    place = f"/panels/{panel}/"
    rows = two_groups("long").decode().splitlines()
    number = next(at + 1 for at, row in enumerate(rows) if ",Gus," in row)
    corrected = {"row": number, "column": "score", "text": "55", "reason": "asked Gus"}
    chair.post(f"{place}reading/correct", corrected)
    said = rf"Gus’s score for [\w “”]+ is read as 55 instead of {rows[number - 1].split(',')[2]}: “asked Gus”\."
    assert re.search(said, html.unescape(text(seen(chair, place))))
    chair.post(f"{place}groups", {"group": "2", "reason": "another prize"})
    page, reading = text(seen(chair, place)), seen(chair, f"{place}reading")
    count = sum(row.split(",")[1] in ("Eva", "Finn", "Gus") for row in rows[1:])
    assert f"One change was made by hand. Group 2 left out ({count} scores)" in page
    assert "read as" not in page
    assert f"Group 2 left out ({count} scores)" in text(reading)
    assert "corrected by hand" not in text(reading), "the list of changes says it"
    undo = re.findall(rf'action="({place}reading/undo/\d+)"', reading.content.decode())
    assert len(undo) == 1
    chair.post(undo[0])
    assert f"Taken back: Group 2 left out ({count} scores)" in text(chair.get(f"{place}record"))
    page = text(seen(chair, place))
    assert "No decision yet" in page
    assert f"Row {number}, score:" in page, "what was corrected before holds again"
    assert "One cell was settled by hand" in page


def test_an_assessor_who_is_left_out_is_said_so_with_the_reason_under_the_headline(chair: Any) -> None:
    place = chair.post("/demo").url
    seen(chair, place)
    who = eh.demo().assessors[3]
    count = int(eh.demo().assessor_assessments[3])
    at = chair.post(f"{place}what-if/new", {"trial": f"without:{who}"}).url
    seen(chair, at)
    chair.post(f"{at}/save", {"reason": "A conflict of interest."})
    page = text(seen(chair, place))
    name = who if not who.isdigit() else f"Assessor {who}"
    assert f"{name} is left out ({count} scores): “A conflict of interest”." in page
    assert f"One change was made by hand. {name} left out ({count} scores)" in page
    record = text(chair.get(f"{place}record"))
    assert record.count("conflict of interest") == 1
    assert "read as" not in record
    answer = seen(chair, f"{place}out/report.html?show=report").content.decode()
    assert f"{name} is left out ({count} scores): “A conflict of interest”." in answer


def test_where_who_enters_is_less_likely_to_have_a_place_than_who_leaves_it_is_said_why(chair: Any, demo: int) -> None:
    place = f"/panels/{demo}/what-if/new"
    crossed = []
    for who in ("Dubois", "Kaur", "Brandt"):
        page = seen(chair, chair.post(place, {"trial": f"without:{who}"}).url)
        rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", page.content.decode(), re.DOTALL)
        moves = [re.search(r"<b>(enters|leaves)</b>.*?<b>(\d+)%</b>", row, re.DOTALL) for row in rows]
        enters, leaves = ([int(one[2]) for one in moves if one and one[1] == word] for word in ("enters", "leaves"))
        is_crossed = bool(enters and leaves) and min(enters) < max(leaves)
        assert ("The first go by value, not by chance" in text(page)) == is_crossed
        crossed.append(is_crossed)
    assert True in crossed
    assert False in crossed


def test_names_in_an_alert_lead_to_their_pages_and_numbers_do_not() -> None:
    application()
    from evenhand.answers.alert import Alert
    from evenhand.web.ways import with_links

    alert = Alert("check", "thin", "x", (("A <b> & 2.", "A <b>x and A fall from 2 to 11."),), objects=("2", "A <b>"))
    addresses = {"2": "/2", "A <b>": "/long", "A": "/short"}
    ((lead, rest),) = with_links(alert, addresses).lines
    assert lead == '<a href="/long">A &lt;b&gt;</a> &amp; 2.'
    short = '<a href="/short">A</a>'
    assert rest == f"{short} &lt;b&gt;x and {short} fall from 2 to 11."


def test_the_scores_of_an_assessor_stand_with_the_furthest_off_first(chair: Any, demo: int) -> None:
    fit = eh.calibrate(eh.demo())
    off = np.abs(fit.residuals[fit.panel.assessor_index == 3])
    objects = [fit.panel.objects[at] for at in fit.panel.object_index[fit.panel.assessor_index == 3].tolist()]
    page = seen(chair, f"/panels/{demo}/assessors/3").content.decode()
    shown = re.findall(r'<th scope="row"><a href="[^"]*">(?:<bdi>)?(P\d+)', page)
    assert shown == [objects[at] for at in np.argsort(-off, kind="stable").tolist()]
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page)[0].startswith(f"{shown[0]} is furthest off")


def test_help_says_what_to_do_about_each_check_and_what_each_method_is_called(chair: Any) -> None:
    page = text(seen(chair, "/help"))
    for words in ("Check on one assessor Try", "Check on the method The page “Evidence”", "Check on confidence Surer"):
        assert words in page
    from evenhand.models.fit import method_name

    methods = [row.method for row in eh.compare(eh.demo()).methods]
    assert len(methods) > 8
    for name in methods:
        for words in method_name(name).split(", "):
            assert words.replace("'", "’").lower() in page.lower()


def test_every_assessor_worth_a_try_has_a_reason_of_their_own(
    monkeypatch: pytest.MonkeyPatch, chair: Any, demo: int
) -> None:
    monkeypatch.setattr("evenhand.answers.hanging.LINES", 1)  # as where many statuses hang on somebody
    chair.post(f"/panels/{demo}/choices", {"gauge": "anchor:Jansen"})  # the same ranks, found anew
    page = re.sub(r"</?a\b[^>]*>", "", seen(chair, f"/panels/{demo}/").content.decode())
    assert "<b>Below the line without one assessor:</b> P23 (rank 11 without Dubois)." in page
    page = text(seen(chair, f"/panels/{demo}/what-if"))
    for words in (
        "Without Dubois P23 would be below the line without Dubois.",
        "Without Kaur P39 would be above the line without Kaur.",
    ):
        assert words in page


def test_who_has_no_score_left_drops_out_of_a_scenario(chair: Any, demo: int) -> None:
    scenario = chair.post(f"/panels/{demo}/what-if/new").url
    for who in ("Dubois", "Horvat"):
        chair.post(f"{scenario}/change", {"without": who})
    page = text(seen(chair, scenario))
    assert (
        "P05 and P23 are no longer in; P15 and P37 are no longer out; P21 has no score left and drops out; "
        "P14 enters the first 10." in page
    )
    assert "Scenario In 1 Open 21 Out 17 9 of the first 10 as saved; P21 without a score now" in page
    assert "Open → –, then no score left" in page


def test_of_many_who_move_those_whose_status_alone_changes_are_counted(chair: Any) -> None:
    drawn = eh.simulate_panel(120, 20, 3, seed=3, bias_sd=20.0).panel
    scores = zip(drawn.object_index, drawn.assessor_index, drawn.score, strict=True)
    file = "object,assessor,score\n" + "".join(f"P{at},A{who},{score:.0f}\n" for at, who, score in scores)
    panel = opened(chair, "many.csv", file.encode())
    seen(chair, f"/panels/{panel}/")
    chair.post(f"/panels/{panel}/choices", {"places": "15"})
    scenario = chair.post(f"/panels/{panel}/what-if/new").url
    chair.post(f"{scenario}/change", {"method": "sa"})
    rows = [
        len(re.findall('<tr><th scope="row">', moves_of(seen(chair, f"{scenario}{all_}")))) for all_ in ("", "?all=1")
    ]
    page = text(seen(chair, scenario))
    told = re.search(
        r"(\d+) more change status but stay on their side of the line. "
        r"The other (\d+) keep their status and their side of the line; ranks may shift.",
        page,
    )
    assert told is not None
    assert rows == [30, 120]
    assert rows[0] + int(told[1]) + int(told[2]) == rows[1]


def moves_of(page: Any) -> str:
    """Return the table of who moves."""
    return str(page.content.decode().split('class="stack moves"')[1].split("</table>")[0])


def test_an_object_and_its_assessor_say_what_the_alerts_say_of_it(chair: Any, demo: int) -> None:
    panel = eh.demo()
    at, place = panel.objects.index("P23"), f"/panels/{demo}/objects/"
    page = seen(chair, f"{place}{at}")
    assert heading(page) == "P23 is in by the method used, at rank 2; chance of a place 98%"
    assert "P23 would be below the line without Dubois." in re.sub(r" (?=\.)", "", text(page))
    assert "By that method P23 is open." in text(page)
    assert [words for _to, _sent, words in forms_in(page.content.decode()) if words != "Record it"] == [
        *("Use the other method", "Try the other beside it", "Try without Dubois"),
        "Try another score in What if",
        "Change language",
    ]
    other = seen(chair, f"{place}{panel.objects.index('P39')}")
    assert heading(other) == "P39 is out at rank 34; chance of a place 1%"
    assert "By that method P16 is open, at rank 11 instead of 10." in text(
        seen(chair, f"{place}{panel.objects.index('P16')}")
    )
    assert "alert" not in seen(chair, f"{place}{panel.objects.index('P32')}").content.decode().partition("<main")[2]
    for who, words in (
        ("Dubois", "P23 would be below the line without"),
        ("Kaur", "P39 would be above the line without"),
    ):
        assert f"{words} this assessor" in text(seen(chair, f"/panels/{demo}/assessors/{panel.assessors.index(who)}"))
    _method, mark = re.findall(r'name="mark" value="(\w+)"><input type="hidden" name="back"', page.content.decode())
    sent = chair.post(f"/panels/{demo}/checks", {"mark": mark, "reason": "read again", "back": str(at)})
    assert sent.url == f"{place}{at}"
    assert "Looked at: read again" in text(seen(chair, sent.url))


def test_menus_say_where_an_assumption_also_pulls_towards_the_mean(chair: Any, demo: int) -> None:
    from evenhand.web.calibrating import REFINEMENTS

    page = seen(chair, f"/panels/{demo}/").content.decode()
    for words, assumed in REFINEMENTS.values():
        assert ("pulled towards the mean" in str(words)) == bool(assumed.get("shrink"))
        assert str(words).partition(" (")[0] in page


def test_under_the_headline_stands_what_the_method_that_the_scores_support_decides(chair: Any, demo: int) -> None:
    other = eh.refine(eh.demo(), eh.Refinements(shrink=True))
    made = eh.decide(eh.rank(other, top=10), 10)
    assert not made.inside
    page = text(seen(chair, f"/panels/{demo}/"))
    assert f"By the method that predicts better nobody is in and {len(made.undecided)} compete for 10 places." in page


def steps_of(page: Any) -> str:
    """Return what is to be done next, as a page says it."""
    found = page.content.decode().partition('<p class="next">')[2].partition("</p>")[0]
    return re.sub("<[^>]+>", "", found).replace("&nbsp;", " ").strip()


def test_the_next_steps_stand_under_the_headline_until_they_are_done(chair: Any, demo: int) -> None:
    page = seen(chair, f"/panels/{demo}/")
    assert steps_of(page) == "Next: 1 settle the method, 2 look at P23 and P39, 3 record the choice"
    assert (
        "The scores leave 7 places open: whom does the panel choose? That is by the method used. "
        "By the other method all 10 would be open."
    ) in text(page)
    raw = page.content.decode()
    places = re.findall(r'href="#([\w-]+)"', raw.partition('<p class="next">')[2].partition("</p>")[0])
    assert places == ["check-other_method", "choice"]
    for place in places:
        assert raw.count(f'id="{place}"') == 1
    chosen = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10).undecided[:2]
    chair.post(f"/panels/{demo}/choice", {"objects": list(chosen), "reason": "lots", "by": "the panel"})
    assert steps_of(seen(chair, f"/panels/{demo}/")) == "Next: 1 settle the method, 2 look at P23 and P39"
    chair.post(f"/panels/{demo}/choices", {"method": "cwc", "refinement": "shrink"})  # no other one is supported then
    assert "settle the method" not in text(seen(chair, f"/panels/{demo}/"))


def test_another_method_at_a_click_is_said_with_who_is_no_longer_in_and_undone_so_too(chair: Any, demo: int) -> None:
    from evenhand.web.models import Panel

    inside = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10).inside
    seen(chair, f"/panels/{demo}/")
    wanted = {"method": "cwc", "refinement": "shrink"}
    page = seen(chair, chair.post(f"/panels/{demo}/choices", wanted).url)
    assert f"Method changed: {inside[0]}, {inside[1]} and {inside[2]} are no longer in. Undo" in text(page)
    assert "Method changed" not in text(seen(chair, f"/panels/{demo}/"))
    notice = page.content.decode().partition("message changed")[2].partition("</form>")[0]
    was = dict(re.findall(r'name="(method|refinement)" value="(\w*)"', notice))
    assert was == {"method": "", "refinement": ""}
    back = seen(chair, chair.post(f"/panels/{demo}/choices", was).url)
    assert f"Method changed: {inside[0]}, {inside[1]} and {inside[2]} are in now. Undo" in text(back)
    assert Panel.objects.get(pk=demo).choices == {"places": 10}
    record = text(chair.get(f"/panels/{demo}/record"))
    assert record.count("Method set to calibration with confidence") == 2
    why = "the method used is off by 10.1 points, the other by 9.2."
    assert record.count(why) == 1, (
        "why the advice was followed stands in the record; that it was undone needs no reason"
    )
    assert "Method changed" not in text(seen(chair, f"/panels/{demo}/?method=nonsense"))
    assert "Method changed" not in text(seen(chair, chair.post(f"/panels/{demo}/choices", {"places": "9"}).url))


def test_a_check_that_stands_for_a_reason_is_no_next_step_and_open_again_once_it_says_something_else(
    chair: Any, demo: int
) -> None:
    def marks() -> list[str]:
        return re.findall(r'name="mark" value="(\w+)"', seen(chair, f"/panels/{demo}/").content.decode())

    method, statuses = marks()  # in the order of the next steps
    assert "Say why" in text(chair.post(f"/panels/{demo}/checks", {"mark": method, "reason": " "}, follow=True))
    chair.post(f"/panels/{demo}/checks", {"mark": method, "reason": "Announced in the call"})
    page = seen(chair, f"/panels/{demo}/")
    assert "Kept: Announced in the call" in text(page)
    assert steps_of(page) == "Next: 1 look at P23 and P39, 2 record the choice"
    assert "The scores leave 7 places open: whom does the panel choose?" in text(page)
    chair.post(f"/panels/{demo}/checks", {"mark": statuses, "reason": "Both read again"})
    page = text(seen(chair, f"/panels/{demo}/"))
    assert "Looked at: Both read again" in page
    assert "Next:" not in page
    assert 'class="warn"' not in chair.get("/").content.decode().partition(f'/panels/{demo}/"')[2].partition("</tr>")[0]
    settled(partial(chair.get, chair.post(f"/panels/{demo}/freeze").url, follow=True))
    record = text(chair.get(f"/panels/{demo}/record"))
    assert "the other 7 places (places not yet given: 7)" in record
    assert "checks to look at" not in record
    assert re.search(r"Method kept: [^.]+ Announced in the call", record)
    assert re.search(r"Looked at, stands: Check 2 proposals: [^.]+ Both read again", record)
    chair.post(f"/panels/{demo}/choices", {"places": "12"})  # it says something else then
    assert "Kept: " not in text(seen(chair, f"/panels/{demo}/"))
    chair.post(f"/panels/{demo}/choices", {"places": "10"})
    assert "Kept: Announced in the call" in text(seen(chair, f"/panels/{demo}/"))
    assert marks() == [method, statuses]
    chair.post("/language", {"language": "de"})
    assert marks() == [method, statuses]
    assert "Beibehalten: Announced in the call" in text(seen(chair, f"/panels/{demo}/"))
    chair.post("/language", {"language": "en"})
    chair.post(f"/panels/{demo}/checks", {"mark": method, "undo": "1"})
    assert "settle the method" in steps_of(seen(chair, f"/panels/{demo}/"))
    gone = chair.post(f"/panels/{demo}/checks", {"mark": "0" * 32, "reason": "x"}, follow=True)
    assert "That check is not there any more" in text(gone)


def test_a_menu_has_brief_options_and_says_what_each_means(chair: Any, demo: int) -> None:
    for place in (f"/panels/{demo}/", chair.post(f"/panels/{demo}/what-if/new").url):
        raw = seen(chair, place).content.decode()
        menu = raw.partition('<select id="method"')[2].partition("</select>")[0]
        assert all(len(words) < 32 for words in re.findall(r">([^<]+)</option>", menu))
        assert "calibration with confidence</option>" in menu
        means = "each assessor’s standard is taken out; surer scores count more"
        assert f'<span class="under means" role="status">{means}</span>' in raw
        assert "<b>simple averaging</b>: standards are not taken out; all scores count alike" in raw


def test_a_group_is_not_parted_cell_by_cell_where_a_score_has_several_cells(chair: Any) -> None:
    rows = two_groups("long").decode().splitlines()
    again = rows[-1].rsplit(",", 1)[0] + ",1"  # which would count if the last one were left out
    panel = opened(chair, "twice.csv", "\n".join([rows[0], again, *rows[1:]]).encode())
    seen(chair, f"/panels/{panel}/reading")
    chair.post(f"/panels/{panel}/reading/settings", {"duplicates": "last"})
    chair.post(f"/panels/{panel}/reading/settings", {"duplicates": "last", "go": "1"})
    place = f"/panels/{panel}/"
    page = seen(chair, place)
    assert "No decision yet" in heading(page)
    assert not [words for _address, _sent, words in forms_in(page.content.decode()) if "group by itself" in words]
    chair.post(f"{place}groups", {"group": "2", "reason": "x"})
    assert "Nothing was changed." in text(seen(chair, place))


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("cwc", "Values are in points: each assessor’s standard is taken out; surer scores count more."),
        ("sa", "Values are in points: plain averages of scores."),
        ("cwa", "Values are in points: averages of scores; surer scores count more."),
    ],
)
def test_what_values_are_goes_by_the_method_on_pages_and_in_reports(chair: Any, method: str, words: str) -> None:
    from evenhand.web.calibrating import fit_by

    place = chair.post("/demo").url
    chair.post(f"{place}choices", {"method": method})
    fit = fit_by(eh.demo(), {"method": method}).combined
    report = html.unescape(render(make_report(fit, top=10, comparison=False)))
    for page in (html.unescape(seen(chair, place).content.decode()), report):
        assert words in page
        assert ("calibrated value with 90% interval" in page) == (method == "cwc")
        assert "value with 90% interval" in page


def test_the_record_calls_a_method_as_the_menu_does(chair: Any) -> None:
    panel = opened(chair, "plain.csv", two_groups("long"))
    seen(chair, f"/panels/{panel}/")
    chair.post(f"/panels/{panel}/choices", {"method": "cwc", "refinement": "shrink"})
    said = re.search(r"Method set to ([\w -]+)", text(chair.get(f"/panels/{panel}/record")))
    assert said is not None
    assert said[1] == "calibration"
    place = chair.post("/demo").url
    seen(chair, place)
    chair.post(f"{place}choices", {"method": "cwa"})
    chair.post(f"{place}choices", {"method": "cwc"})
    assert "Method set to calibration with confidence" in text(chair.get(f"{place}record"))


def test_a_method_that_is_further_off_is_not_said_to_predict_better(chair: Any) -> None:
    told = 0
    for seed in (1, 9):
        drawn = eh.simulate_panel(14, 7, 3, seed=seed).panel
        drawn = eh.Panel.from_arrays(drawn.object_index, drawn.assessor_index, np.round(drawn.score))
        fit, compared = eh.calibrate(drawn), eh.compare(drawn)
        scores = zip(drawn.object_index, drawn.assessor_index, drawn.score, strict=True)
        file = "object,assessor,score\n" + "".join(f"P{at},A{who},{score:.0f}\n" for at, who, score in scores)
        panel = opened(chair, f"few-{seed}.csv", file.encode())
        finding = heading(seen(chair, f"/panels/{panel}/evidence"))
        error = {row.method: row.loo_rmse or 0.0 for row in compared.methods}
        advised = str(supported(fit, compared).method)
        if "predicts better" in finding:
            assert error[advised] < error[fit.method]
        name, used = (method_name(one, "none") for one in (advised, fit.method))
        if name != used and error[advised] > error[fit.method]:
            assert finding in ("A simpler method predicts about as well", f"The scores support {name}")
            told += 1
    assert told, "one must be supported for being simpler for this test to say anything"


def test_evidence_says_of_groups_whether_they_are_compared_and_which_methods_cannot(chair: Any) -> None:
    panel = opened(chair, "apart.csv", two_groups("long"))
    chair.post(f"/panels/{panel}/choices", {"places": "2"})
    page = seen(chair, f"/panels/{panel}/evidence")
    assert "The panel falls into 2 groups that cannot be compared" in text(page)
    assert "This says nothing on how the groups compare." in text(page)
    assert not [words for address, _sent, words in forms_in(page.content.decode()) if address.endswith("/choices")]
    chair.post(f"/panels/{panel}/choices", {"refinement": "shrink"})
    page = text(seen(chair, f"/panels/{panel}/evidence"))
    assert "2 groups are compared on an assumption" in page
    assert "cannot be compared" not in page
    assert "This says nothing" not in page
    assert re.search(r"Calibration +– +cannot join the groups", page)


def test_what_is_frozen_under_a_stop_is_provisional_and_later_edits_are_set_beside_it(chair: Any) -> None:
    panel = opened(chair, "apart.csv", two_groups("long"))
    place = f"/panels/{panel}/"
    chair.post(f"{place}choices", {"places": "2"})
    seen(chair, place)
    page = text(settled(lambda: chair.post(f"{place}freeze", follow=True)))
    assert "A provisional state is frozen. Later edits do not change it." in page
    assert "The decision is frozen" not in page
    assert re.search("code computed from the scores.*Provisional +apart ", page)
    assert "Frozen as provisional: apart" in page
    chair.post(f"{place}groups", {"group": "2", "reason": "another prize"})
    seen(chair, place)
    page = text(settled(lambda: chair.post(f"{place}freeze", follow=True)))
    assert "The decision is frozen. Later edits do not change it." in page
    assert "Nothing has changed since." in page
    counts = re.search(r"As it stands: (\d+) in, (\d+) open, (\d+) out", page)
    assert counts is not None
    chair.post(f"{place}choices", {"places": "6"})
    seen(chair, place)
    page = text(chair.get(f"{place}record"))
    assert f"Now differs from the frozen: 6 in instead of {counts[1]}" in page


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_score_that_joins_the_groups_is_added_listed_confirmed_and_taken_back(
    chair: Any, layout: str, tmp_path: Path
) -> None:
    content = two_groups(layout)
    panel = opened(chair, "apart.csv", content)
    place = f"/panels/{panel}/"
    chair.post(f"{place}reading/settings", {"go": "1"})
    chair.post(f"{place}choices", {"places": "2"})
    page = seen(chair, place)
    asked = re.search(r"Have (\w+) also score “?([\w ]+)”?:", text(page))
    assert asked is not None
    link = re.search(r'href="([^"]*#add)">Add a score that has come in<', page.content.decode())
    assert link is not None
    form = seen(chair, html.unescape(link[1]).removesuffix("#add")).content.decode()
    assert f'name="assessor" list="known-assessors" value="{asked[1]}"' in form
    given = {"object": asked[2], "assessor": asked[1], "score": "61", "reason": "came by mail"}
    for bad in ({"score": "good"}, {"object": ""}, {"reason": ""}):
        chair.post(f"{place}reading/add", given | bad)
        assert "No decision yet" in heading(seen(chair, place))
    chair.post(f"{place}reading/add", given)
    page = text(seen(chair, place))
    assert "2 of 12 proposals can be chosen" in page
    assert f"is added, 61 from {asked[1]} for " in page
    assert "“came by mail”." in page
    chair.post(f"{place}reading/add", given)
    assert "already: correct that score" in text(seen(chair, place))
    assert chair.get(f"{place}original").content == content
    settled(lambda: chair.post(f"{place}freeze", follow=True))
    confirmed_by_the_command_line(chair, panel, tmp_path)
    reading = seen(chair, f"{place}reading")
    assert f"Score added: 61 from {asked[1]} for {asked[2]}" in text(reading)
    undo = re.findall(rf'action="({place}reading/undo/\d+)"', reading.content.decode())
    assert len(undo) == 1
    chair.post(undo[0])
    assert "No decision yet" in heading(seen(chair, place))


def decided(chair: Any, layout: str) -> str:
    """Return the address of a panel to which a score was added that looks mistyped."""
    content = (
        b"proposal,Ana,Ben,Chen\nElm,,62,71\nOak,55,58,61\nAsh,48,44,52\nFir,66,60,69\nYew,51,57,49\nBox,63,59,65\n"
    )
    if layout == "long":
        names, *rows = [line.split(",") for line in content.decode().splitlines()]
        cells = [(row[0], who, score) for row in rows for who, score in zip(names[1:], row[1:], strict=True) if score]
        content = "\n".join(["proposal,assessor,score", *map(",".join, cells)]).encode()
    place = f"/panels/{opened(chair, 'trees.csv', content)}/"
    chair.post(f"{place}reading/settings", {"go": "1"})
    chair.post(f"{place}choices", {"places": "2"})
    chair.post(f"{place}reading/add", {"object": "Elm", "assessor": "Ana", "score": "680", "reason": "came by mail"})
    return place


def stop_of(chair: Any, place: str) -> tuple[Any, dict[str, str]]:
    """Return the page with the stop about a score that looks mistyped, and what its form sends."""
    page = seen(chair, place)
    assert "No decision yet" in heading(page)
    form = next(one for one in forms_in(page.content.decode()) if one[0].endswith("/reading/correct"))
    return page, {**form[1], "text": "", "reason": "asked Ana"}


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_score_that_was_added_and_then_corrected_is_still_one_that_was_added(chair: Any, layout: str) -> None:
    place = decided(chair, layout)
    page, sent = stop_of(chair, place)
    assert "It is 68" in text(page)
    after = chair.post(f"{place}reading/correct", sent | {"meant": "68"}).url
    assert "Score added: 68 from Ana for Elm. Undo" in text(seen(chair, after))
    page = html.unescape(text(seen(chair, place)))
    assert "A score that is not in the file is added, 68 from Ana for Elm: “came by mail; asked Ana”." in page
    assert "One change was made by hand. Score added: 68 from Ana for Elm" in page
    assert "changed by hand" not in page
    assert "read as" not in page
    record = text(chair.get(f"{place}record"))
    assert "Added score corrected: 68 from Ana for Elm, instead of 680 asked Ana" in record
    assert "read as" not in record
    reading = seen(chair, f"{place}reading")
    assert "Score added: 68 from Ana for Elm came by mail; asked Ana" in text(reading)
    undo = re.findall(rf'action="({place}reading/undo/\d+)"', reading.content.decode())
    assert len(undo) == 1
    chair.post(undo[0])
    assert heading(seen(chair, f"{place}reading")).startswith("Read: 17 scores")


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_an_added_score_that_is_left_out_is_taken_back(chair: Any, layout: str) -> None:
    place = decided(chair, layout)
    _page, sent = stop_of(chair, place)
    chair.post(f"{place}reading/correct", sent | {"empty": "1"})
    assert "by hand" not in text(seen(chair, place))
    assert "Taken back: Score added: 680 from Ana for Elm asked Ana" in text(chair.get(f"{place}record"))
    assert heading(seen(chair, f"{place}reading")).startswith("Read: 17 scores")


@pytest.mark.parametrize("way", [{"keep": "1"}, {"text": "680.0", "other": "1"}])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_an_added_score_can_be_kept_however_far_off_it_is(
    chair: Any, layout: str, way: dict[str, str], tmp_path: Path
) -> None:
    place = decided(chair, layout)
    page, sent = stop_of(chair, place)
    assert "Keep 680, it is right" in text(page)
    chair.post(f"{place}reading/correct", sent | way)
    page = text(seen(chair, place))
    assert "No decision yet" not in page
    assert "was confirmed" in page
    assert "is added, 680 from Ana for Elm: “came by mail; asked Ana”." in page
    assert "Added score confirmed: 680 from Ana for Elm asked Ana" in text(chair.get(f"{place}record"))
    settled(lambda: chair.get(chair.post(f"{place}freeze").url, follow=True))
    assert "was confirmed" in confirmed_by_the_command_line(chair, int(place.split("/")[2]), tmp_path)[1]
    chair.post(f"{place}reading/correct", sent | {"text": "70"})
    assert "is added, 70 from Ana for Elm: “came by mail; asked Ana”." in text(seen(chair, place))


def test_the_row_of_an_added_score_is_edited_as_that_score(chair: Any) -> None:
    place = decided(chair, "long")
    _page, sent = stop_of(chair, place)
    chair.post(f"{place}reading/correct", {"row": sent["row"], "name-0": "score", "cell-0": "66"})
    page = text(seen(chair, place))
    assert "is added, 66 from Ana for Elm: “came by mail”." in page
    assert "One change was made by hand" in page


def test_up_to_three_changed_scores_are_each_named_with_what_was_there(chair: Any, demo: int) -> None:
    content = demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440")
    panel = opened(chair, "typo.csv", content)
    rows = content.decode().splitlines()
    place = f"/panels/{panel}/"
    chair.post(f"{place}reading/settings", {"go": "1"})
    number = next(at + 1 for at, row in enumerate(rows) if row.startswith("P32,Farouk,"))
    sent = {"row": number, "column": "score", "text": "44", "reason": "Asked Farouk on the phone.", "back": "decision"}
    chair.post(f"{place}reading/correct", sent)
    said = "Farouk’s score for P32 is read as 44 instead of 440: “Asked Farouk on the phone”."
    assert said in html.unescape(text(seen(chair, place)))
    report = html.unescape(seen(chair, f"{place}out/report.html?show=report").content.decode())
    assert report.count(said) >= 2, "the head of the report, and the minutes"
    chair.post(f"{place}reading/correct", sent | {"text": "", "empty": "1", "reason": "withdrawn"})
    assert "Farouk’s score for P32, 440, is left out: “withdrawn”." in html.unescape(text(seen(chair, place)))
    others = [at + 1 for at, row in enumerate(rows) if at and at + 1 != number][:3]
    for other in others:
        chair.post(f"{place}reading/correct", {"row": other, "column": "score", "text": "50", "reason": "asked"})
    page = html.unescape(text(seen(chair, place)))
    assert "4 scores are left out or changed by hand: “withdrawn; asked”." in page


def test_pages_of_groups_speak_of_groups(chair: Any) -> None:
    rows = [
        f"{o},{who},{score}"
        for o, who, score in zip("aabbccdd", "xyxyuvuv", (5.25, 6, 6.5, 8, 3, 4, 4, 6), strict=True)
    ]
    panel = opened(chair, "apart.csv", "\n".join(["object,assessor,score", *rows]).encode())
    page = text(seen(chair, f"/panels/{panel}/assessors"))
    assert "above or below their group for the same work" in page
    assert "happened to read what" not in page
    assert re.search(
        r"\w gives (about what group 2 gives|[\d.]+ points (more|less) than group 2)",
        text(seen(chair, f"/panels/{panel}/assessors/2")),
    )
    assert "New scenario of your own" not in text(seen(chair, f"/panels/{panel}/what-if"))
    page = text(seen(chair, f"/panels/{panel}/what-if"))
    assert "Stop The panel falls into 2 groups that cannot be compared." in page
    assert "Nothing can be compared until the Stop is settled" in page
    assert "Settle it on the page Decision" in page


def test_how_far_apart_scores_are_is_the_difference_of_what_is_shown(chair: Any, demo: int) -> None:
    compared = 0
    for at in range(40):
        page = text(seen(chair, f"/panels/{demo}/objects/{at}"))
        told = re.search(r"([\d.]+) points apart once standards", page)
        if told is not None:
            table = page.partition("once standards are taken out")[2].partition("Mean, plain and weighted")[0]
            less = [float(one) for one in re.findall(r"(\d+\.\d) +[\d.]+%", table)]
            assert float(told[1]) == pytest.approx(max(less) - min(less), abs=1e-9)
            compared += len(less) > 1
    assert compared > 20


def test_a_verdict_is_explained_where_it_stands_and_in_the_help(chair: Any, demo: int) -> None:
    words = "Their scores rise with what the others say of the same work, beyond chance."
    assert f"Consistent {words}" in text(seen(chair, f"/panels/{demo}/assessors/0"))
    assert f"Consistent Said of assessors. {words}" in text(seen(chair, "/help"))


def test_a_score_that_is_far_off_is_left_out_at_a_click(chair: Any) -> None:
    rows = [f"P{o},A{a},{50 + 3 * o + a + (o * a) % 3}" for o in range(12) for a in range(6)]
    rows[20] = "P3,A2,30"
    panel = opened(chair, "far.csv", "\n".join(["proposal,assessor,score", *rows]).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "4"})
    place = f"/panels/{panel}/what-if"
    alerts = seen(chair, f"/panels/{panel}/").content.decode().partition('<section id="decision"')[0]
    assert f'<a href="/panels/{panel}/reading?row=22#correct">Row 22 on the page Reading</a>' in alerts
    reading = seen(chair, f"/panels/{panel}/reading?row=22").content.decode()
    row = reading.partition('id="correct"')[2].partition("</form>")[0]
    assert re.findall(r'value="(P3|A2|30)"', row) == ["P3", "A2", "30"]
    address, sent, words = forms_in(alerts)[0]
    assert words == "Try without A2 on P3"
    assert heading(seen(chair, chair.post(address, sent).url)).startswith("Without the score of A2 for P3,")
    page = seen(chair, place)
    assert "Without the score of A2 for P3" in text(page)
    key = "score:P3\x1fA2"
    assert heading(seen(chair, chair.post(f"{place}/new", {"trial": key}).url)).startswith(
        "Without the score of A2 for P3,"
    )


def test_saving_a_scenario_asks_why_and_makes_it_what_stands(chair: Any, demo: int) -> None:
    scenario = chair.post(f"/panels/{demo}/what-if/new").url
    chair.post(f"{scenario}/change", {"without": "Kaur", "places": "12"})
    assert chair.post(f"{scenario}/save", {"reason": ""}).url == scenario
    assert chair.post(f"{scenario}/save", {"reason": "a conflict"}).url == f"/panels/{demo}/"
    page = text(seen(chair, f"/panels/{demo}/"))
    assert "12 of 40 proposals can be chosen" in page
    record = text(chair.get(f"/panels/{demo}/record"))
    assert "Saved: without Kaur; with 12 places a conflict" in record
    assert "Kaur left out (" in text(seen(chair, f"/panels/{demo}/reading"))


def confirmed_by_the_command_line(chair: Any, panel: int, place: Path) -> tuple[str, str]:
    """Unpack the newest frozen decision, have its own command confirm it, and return its address and its report."""
    found = re.search(r"/frozen/(\d+)", chair.get(f"/panels/{panel}/record").content.decode())
    assert found is not None
    with zipfile.ZipFile(io.BytesIO(chair.get(f"/panels/{panel}/frozen/{found[1]}").content)) as archive:
        archive.extractall(place)
    command = shlex.split((place / "README.txt").read_text("utf-8").splitlines()[-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        done = CliRunner().invoke(main, command[1:])
    assert done.exit_code == 0, done.output
    assert "Unchanged" in done.output
    report = (place / "report.html").read_text("utf-8")
    assert command[-1] in report
    return f"/panels/{panel}/frozen/{found[1]}", report


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"method": "iba"},
        {"method": "cwa"},
        {"method": "sa"},
        {"method": "medians"},
        {"refinement": "shrink"},
        {"refinement": "student"},
        {"refinement": "scale"},
        {"refinement": "noise"},
        {"gauge": "zero_sum"},
        {"gauge": "anchor:Kaur"},
    ],
    ids=str,
)
def test_a_frozen_decision_is_confirmed_by_the_command_line_and_not_changed_by_later_edits(
    chair: Any, demo: int, choices: dict[str, str], tmp_path: Path
) -> None:
    chair.post(f"/panels/{demo}/reading/correct", {"row": 9, "column": "score", "text": "50"})
    chair.post(f"/panels/{demo}/choices", choices)
    settled(lambda: chair.get(chair.post(f"/panels/{demo}/freeze").url, follow=True))
    chair.post(f"/panels/{demo}/choices", {"places": "3"})
    place, _report = confirmed_by_the_command_line(chair, demo, tmp_path)
    assert "Unchanged" in text(settled(lambda: chair.get(chair.post(f"{place}/verify").url, follow=True)))


def test_a_frozen_decision_on_ordered_categories_is_confirmed_by_the_command_line(chair: Any, tmp_path: Path) -> None:
    scores = np.random.default_rng(3).integers(1, 5, size=(12, 5))
    rows = [f"P{o},A{a},{score}" for (o, a), score in np.ndenumerate(scores)]
    panel = opened(chair, "marks.csv", "\n".join(["proposal,assessor,score", *rows]).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "4", "refinement": "ordinal"})
    assert "ordered categories" in text(seen(chair, f"/panels/{panel}/"))
    settled(lambda: chair.get(chair.post(f"/panels/{panel}/freeze").url, follow=True))
    place, _report = confirmed_by_the_command_line(chair, panel, tmp_path)
    assert "Unchanged" in text(settled(lambda: chair.get(chair.post(f"{place}/verify").url, follow=True)))


def test_whom_the_panel_chooses_of_the_open_stands_in_all_that_is_taken_along_and_changes_no_estimate(
    chair: Any, demo: int, tmp_path: Path
) -> None:
    before = json.loads(seen(chair, f"/panels/{demo}/out/result.json").content)
    given = {"objects": ["P31", "P24"], "reason": "Two regions had none", "by": "the panel, 3 March"}
    page = text(chair.post(f"/panels/{demo}/choice", given, follow=True))
    words = "5 places stay free. Reason: Two regions had none. Decided by the panel, 3 March."
    assert "a place goes to P31, P24. All 5 who have a place: P28, P23, P05, P31, P24. " in page
    assert words in page
    assert "3 proposals are in by the method used; 2 of the other 7 places given by the panel" in page
    assert "5 of 10 places given" in text(chair.get("/"))
    after = json.loads(seen(chair, f"/panels/{demo}/out/result.json").content)
    assert after.pop("choice") == given
    assert [row["object"] for row in after["objects"] if row.pop("chosen")] == ["P24", "P31"]
    assert [one["kind"] for one in after["notes"] if one not in before["notes"]] == ["chosen"]
    assert {**after, "notes": before["notes"]} == before
    book = openpyxl.load_workbook(io.BytesIO(seen(chair, f"/panels/{demo}/out/results.xlsx").content))
    rows = list(book["decision"].iter_rows(values_only=True))
    assert any(words in str(row[0]) for row in rows)
    head = next(at for at, row in enumerate(rows) if "Chosen by the panel" in row)
    chosen = rows[head].index("Chosen by the panel")
    assert [row[1] for row in rows[head + 1 :] if row[chosen] == "yes"] == ["P31", "P24"]
    settled(lambda: chair.get(chair.post(f"/panels/{demo}/freeze").url, follow=True))
    chair.post(f"/panels/{demo}/choice", {"undo": "1"})
    place, report = confirmed_by_the_command_line(chair, demo, tmp_path)
    assert words in report
    assert words in (tmp_path / "README.txt").read_text("utf-8")
    assert json.loads((tmp_path / "choice.json").read_text("utf-8")) == given
    assert "Chosen by the panel: P31, P24" in (tmp_path / "record.txt").read_text("utf-8")
    assert "Unchanged" in text(settled(lambda: chair.get(chair.post(f"{place}/verify").url, follow=True)))
    assert words not in seen(chair, f"/panels/{demo}/out/report.html").content.decode()
    assert "The choice of the panel was taken back" in text(chair.get(f"/panels/{demo}/record"))


def test_a_decision_that_the_panel_has_made_is_told_as_made_on_every_page_and_in_the_report(
    chair: Any, demo: int
) -> None:
    chosen = eh.decide(eh.rank(eh.calibrate(eh.demo()), top=10), 10).undecided[:7]
    given = {"objects": list(chosen), "reason": "lots", "by": "the panel"}
    words = "10 places given: 3 by the scores, 7 by choice of the panel"
    assert heading(settled(partial(chair.post, f"/panels/{demo}/choice", given, follow=True))) == words
    assert "decided, 10 of 10 places" in text(chair.get("/"))
    report = seen(chair, f"/panels/{demo}/out/report.html").content.decode()
    assert f"{words}." in report  # the minutes
    assert "is in yet" not in report
    assert "compete for" not in report.partition("<h1")[2].partition("</h1>")[0]
    settled(partial(chair.get, chair.post(f"/panels/{demo}/freeze").url, follow=True))
    assert f"By calibration with confidence: {words} (checks open: 2)" in text(chair.get(f"/panels/{demo}/record"))


def test_a_report_that_is_mailed_names_neither_pages_nor_commands_for_what_to_do(chair: Any, demo: int) -> None:
    report = seen(chair, f"/panels/{demo}/out/report.html").content.decode()
    assert "Say in the minutes which method decides." in report
    assert [words for words in ("page What if", "page Decision", "Use the other method") if words in report] == []
    assert "shrink=True" not in report
    assert "evenhand next" not in report


def test_the_help_says_of_each_method_whether_standards_are_taken_out(chair: Any) -> None:
    page = text(chair.get("/help"))
    for words in (
        "Calibration with confidence Each assessor’s standard is taken out; surer scores count more.",
        "Calibration without confidence Each assessor’s standard is taken out; all scores count alike.",
        "Confidence-weighted averaging Standards are not taken out; surer scores count more.",
        "Simple averaging Standards are not taken out; all scores count alike.",
        "Too few scores, or too weak agreement with the others, to tell.",
        "Outlying scores count less (heavy tails) Scores far from all others pull less.",
        "Marks are grades, not points (ordered categories) Only the order of marks counts",
        "Some assessors scatter more (calibrated confidences)",
    ):
        assert words in page


def test_another_choice_frozen_has_another_fingerprint_and_does_not_verify_as_the_first(
    chair: Any, demo: int, tmp_path: Path
) -> None:
    from evenhand.web.models import Frozen

    for given in (
        {"objects": ["P31"], "reason": "lots", "by": "us"},
        {"objects": ["P24"], "reason": "lots", "by": "us"},
        {"objects": ["P24"], "reason": "a rule", "by": "us"},
    ):
        chair.post(f"/panels/{demo}/choice", given)
        done = chair.post(f"/panels/{demo}/freeze").url
        settled(partial(chair.get, done, follow=True))
    newest, *others = Frozen.objects.filter(panel=demo)
    assert len({newest.fingerprint, *(one.fingerprint for one in others)}) == 3
    names = {chair.get(f"/panels/{demo}/frozen/{one.pk}")["Content-Disposition"] for one in (newest, *others)}
    assert len(names) == 3
    place, _report = confirmed_by_the_command_line(chair, demo, tmp_path)
    assert "Unchanged" in text(settled(lambda: chair.get(chair.post(f"{place}/verify").url, follow=True)))
    Frozen.objects.filter(pk=newest.pk).update(archive=bytes(others[0].archive))  # with another reason
    page = text(settled(lambda: chair.get(chair.post(f"{place}/verify").url, follow=True)))
    assert "Changed: this version does not give the same fingerprint." in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"objects": ["P31"], "reason": "", "by": "us"}, "Say why, and who decided"),
        ({"objects": ["P31"], "reason": "a rule", "by": " "}, "Say why, and who decided"),
        ({"objects": [], "reason": "a rule", "by": "us"}, "marked are 0"),
        ({"objects": ["P28"], "reason": "a rule", "by": "us"}, "marked are 0"),
        ({"objects": ["P31", "nobody"], "reason": "a rule", "by": "us"}, "marked are 1"),
        (
            {"objects": ["P30", "P31", "P26", "P25", "P21", "P33", "P16", "P32"], "reason": "a rule", "by": "us"},
            "Mark up to 7 of those who are open; marked are 8. Nothing was changed.",
        ),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_what_was_marked_stays(
    chair: Any, demo: int, given: dict[str, Any], said: str
) -> None:
    page = chair.post(f"/panels/{demo}/choice", given, follow=True)
    assert said in text(page)
    assert said in page.content.decode().partition('<p class="refused">')[2].partition("</p>")[0]  # at the boxes too
    boxes = re.findall(r'name="objects" value="(\w+)" checked', page.content.decode())
    assert set(boxes) == set(given["objects"]) - {"P28", "nobody"}
    assert "By choice of the panel" not in text(seen(chair, f"/panels/{demo}/"))


def test_a_choice_among_others_than_are_open_now_holds_no_more_and_is_said(chair: Any, demo: int) -> None:
    chair.post(f"/panels/{demo}/choice", {"objects": ["P31"], "reason": "a rule", "by": "us"})
    chair.post(f"/panels/{demo}/choices", {"places": "12"})
    page = text(seen(chair, f"/panels/{demo}/"))
    assert "does not hold any more" in page
    assert "P31 had been chosen" in page
    assert "By choice of the panel" not in page
    assert "choice" not in json.loads(seen(chair, f"/panels/{demo}/out/result.json").content)
    chair.post(f"/panels/{demo}/choices", {"places": "10"})
    page = text(seen(chair, f"/panels/{demo}/"))
    assert "What the scores say alone" in page.partition("By choice of the panel")[2], "who has a place stands first"
    assert "4 of 10 places given. As it stands: 3 in, 18 open, 19 out." in text(chair.get(f"/panels/{demo}/record"))


@pytest.mark.parametrize("what", ["report.html", "results.xlsx", "results.csv", "result.json", "values.svg"])
def test_files_can_be_taken_along(chair: Any, demo: int, what: str) -> None:
    page = seen(chair, f"/panels/{demo}/out/{what}")
    file = "results.zip" if what == "results.csv" else what
    assert page.headers["Content-Disposition"] == f'attachment; filename="grant-competition-demo-{file}"'
    begins = {"html": b"<!DOCTYPE html>", "xlsx": b"PK", "csv": b"PK", "json": b"{", "svg": b"<svg"}
    assert page.content.startswith(begins[what.rpartition(".")[2]])


@pytest.mark.parametrize("place", ["assessors", "assessors/3", "objects/5", "evidence", "what-if", "record", "reading"])
def test_every_page_of_a_panel_can_be_seen(chair: Any, demo: int, place: str) -> None:
    page = seen(chair, f"/panels/{demo}/{place}")
    assert page.status_code == 200
    assert heading(page)


def test_a_frozen_decision_names_its_method_and_is_frozen_again_only_after_a_change(chair: Any, demo: int) -> None:
    settled(lambda: chair.get(chair.post(f"/panels/{demo}/freeze").url, follow=True))
    page = text(chair.get(f"/panels/{demo}/record"))
    line = (
        "By calibration with confidence: 3 proposals are in; 18 compete for the other 7 places"
        " (places not yet given: 7, checks open: 2)"
    )
    raw = chair.get(f"/panels/{demo}/record").content.decode()
    assert raw.partition("<h3>")[2].startswith(line), "the newest stands first"
    assert raw.rpartition("Frozen: ")[2].startswith(line), "and last in what was done"
    assert "Nothing has changed since." in page
    assert "Freeze the decision as it stands" not in page
    chair.post(f"/panels/{demo}/choices", {"places": "11"})
    page = text(chair.get(f"/panels/{demo}/record"))
    assert "Nothing has changed since." not in page
    assert "Freeze the decision as it stands" in page


def test_the_start_page_has_the_panels_that_changed_last_first_and_leads_to_the_others(
    chair: Any, demo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(place: str = "/") -> list[int]:
        return [int(one) for one in re.findall(r'"row"><a href="/panels/(\d+)/"', chair.get(place).content.decode())]

    later = int(chair.post("/demo").url.split("/")[2])
    assert listed()[:2] == [later, demo]
    chair.post(f"/panels/{demo}/rename", {"name": "Touched"})
    assert listed()[:2] == [demo, later]
    monkeypatch.setattr("evenhand.web.views.start._SHOWN", 1)
    assert listed() == [demo]
    assert "Show the older ones too" in text(chair.get("/"))
    assert listed("/?all=1")[:2] == [demo, later]
    assert "Show the older ones too" not in text(chair.get("/?all=1"))


def test_the_list_of_panels_says_when_a_decision_was_frozen(chair: Any, demo: int) -> None:
    def row() -> str:
        page = chair.get("/").content.decode()
        found = next(part for part in page.split("<tr>") if f"/panels/{demo}/" in part)
        return re.sub(r"<[^>]*>", " ", found[found.index("Frozen") :])

    chair.post(f"/panels/{demo}/choices", {"places": "9"})  # the last that changed stand first
    seen(chair, f"/panels/{demo}/")
    from evenhand.web.models import Frozen

    is_any = Frozen.objects.exists()
    assert ("Frozen" in chair.get("/").content.decode()) == is_any  # no column for what no panel has
    assert not is_any or re.search(r"Frozen\W+–", row())
    settled(lambda: chair.get(chair.post(f"/panels/{demo}/freeze").url, follow=True))
    assert re.search(r"Frozen\W+\d+ \w+\.? \d{4}, \d\d:\d\d", row())


def test_a_panel_is_deleted_with_all_that_belongs_to_it_once_that_is_confirmed(chair: Any, demo: int) -> None:
    assert "cannot be undone" in text(chair.post(f"/panels/{demo}/delete"))
    chair.post(f"/panels/{demo}/delete", {"sure": "yes"})
    assert chair.get(f"/panels/{demo}/").status_code == 404


def test_a_panel_in_groups_a_tiny_one_and_one_with_criteria_are_shown(chair: Any) -> None:
    apart = b"object,assessor,score\na,x,1\nb,x,2\na,y,2\nb,y,4\nc,u,5\nd,u,6\nc,v,7\nd,v,9\n"
    tiny = b"object,assessor,score\na,x,1\n"
    criteria = b"object,assessor,quality,impact\na,x,1,2\nb,x,2,4\na,y,2,3\nb,y,4,5\nc,x,3,3\nc,y,5,5\n"
    for content in (apart, tiny, criteria):
        panel = opened(chair, "scores.csv", content)
        scenario = chair.post(f"/panels/{panel}/what-if/new").url.rpartition("/")[2]
        for place in ("reading", "", "assessors", "evidence", "objects/0", "record", f"what-if/{scenario}", "what-if"):
            page = seen(chair, f"/panels/{panel}/{place}")
            assert page.status_code == 200, (content, place, text(page)[:500])


def test_what_joins_groups_is_asked_for_and_menus_speak_of_confidence_only_where_there_is_any(
    chair: Any, demo: int
) -> None:
    apart = b"object,assessor,score\na,x,1\nb,x,2\na,y,2\nb,y,4\nc,u,5\nd,u,6\nc,v,7\nd,v,9\n"
    panel = opened(chair, "scores.csv", apart)
    page = seen(chair, f"/panels/{panel}/")
    asked = re.search(r"Have (\w) also score (\w): one shared score joins the groups", text(page))
    assert asked is not None
    joined = opened(chair, "scores.csv", apart + f"{asked[2]},{asked[1]},3\n".encode())
    assert "falls into" not in text(seen(chair, f"/panels/{joined}/"))
    for place in (page, seen(chair, chair.post(f"/panels/{joined}/what-if/new").url)):
        menu = place.content.decode().partition('name="method"')[2].partition("</select>")[0]
        assert re.findall(r'value="(\w+)"[^>]*>(\w+)', menu) == [
            ("cwc", "calibration"),
            ("sa", "simple"),
            ("medians", "medians"),
        ]
        assert "surer" not in menu
    assert "surer scores count more" in text(seen(chair, f"/panels/{demo}/"))


# --- who may come in ---------------------------------------------------------------------------------


def test_without_the_link_nothing_is_shown_and_it_works_once() -> None:
    application()
    from django.test import Client

    from evenhand.web.guard import new_token

    stranger = Client(SERVER_NAME="localhost")
    assert stranger.get("/").status_code == 403
    assert stranger.get("/panels/1/").status_code == 403
    assert stranger.get("/?token=guess").status_code == 403
    token = new_token()
    assert Client(SERVER_NAME="localhost").get("/", {"token": token}).status_code == 302
    assert stranger.get("/", {"token": token}).status_code == 403


def test_other_hosts_and_forged_forms_are_refused() -> None:
    one = client(enforce_csrf_checks=True)
    assert one.get("/", headers={"host": "evil.example"}).status_code == 400
    assert one.post("/demo").status_code == 403
    page = one.get("/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    sent = {"csrfmiddlewaretoken": token[1]}
    assert one.post("/demo", sent, headers={"origin": "http://evil.example"}).status_code == 403
    assert one.post("/demo", sent, headers={"origin": "http://localhost"}).status_code == 302


def test_what_a_page_may_do_is_said_with_every_answer(chair: Any, demo: int) -> None:
    for place in ("/", f"/panels/{demo}/", "/nowhere", "/look.css"):
        page = chair.get(place)
        policy = page.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert page.headers["X-Frame-Options"] == "DENY"
        assert page.headers["Referrer-Policy"] == "same-origin"
        assert page.headers["X-Content-Type-Options"] == "nosniff"
    cookies = chair.cookies["evenhand"]
    assert cookies["httponly"]
    assert cookies["samesite"] == "Strict"


def test_no_page_has_a_style_or_a_script_of_its_own(chair: Any, demo: int) -> None:
    scenario = chair.post(f"/panels/{demo}/what-if/new").url
    for place in (
        "/",
        "/help",
        "/designs",
        scenario,
        *(f"/panels/{demo}/{one}" for one in ("", "reading", "evidence")),
    ):
        page = seen(chair, place).content.decode()
        assert not re.search(r"<[a-z][^>]*\sstyle=|<style|\son[a-z]+=|javascript:", page), place
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), place


def test_what_is_kept_is_for_its_owner_alone(chair: Any, demo: int) -> None:
    assert chair.get(f"/panels/{demo}/").status_code == 200
    place = application()
    assert place.stat().st_mode & 0o077 == 0
    for file in place.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


def test_failures_are_pages_with_a_sentence_and_the_log_has_no_scores(
    chair: Any, demo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.web.views import record

    def fail(*_given: object) -> None:
        raise RuntimeError("P32 has 98765")

    chair.post(f"/panels/{demo}/choices", {"places": "7"})  # so that no report on it is kept from before
    monkeypatch.setattr(record, "_made", fail)
    page = seen(chair, f"/panels/{demo}/out/report.html")
    assert page.status_code == 500
    assert "98765" not in text(page)
    name = re.search(r"number ([0-9a-f]{8})", text(page))
    assert name is not None
    log = (application() / "log.txt").read_text("utf-8")
    assert name[1] in log
    assert "98765" not in log


def test_what_is_too_large_is_refused_in_a_sentence(chair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings
    from django.core.files.uploadedfile import SimpleUploadedFile

    monkeypatch.setattr(settings, "MAX_UPLOAD", 1000)
    page = chair.post("/upload", {"file": SimpleUploadedFile("a.csv", b"1," * 200_000)})
    assert page.status_code == 413
    assert "too large" in text(page)


@pytest.mark.parametrize(
    "given", ["../../etc/passwd", "..\\..\\x.csv", "a\x00b.csv", "CON", " .csv", "x" * 400 + ".xlsx", "a/b.csv", ""]
)
def test_names_of_files_are_made_harmless(given: str) -> None:
    application()
    from evenhand.web.reading import safe_name

    name = safe_name(given)
    assert 0 < len(name) <= 120
    assert not set(name) & set('/\\\x00:*?"<>|')
    assert name not in (".", "..")


def test_names_from_right_to_left_are_set_apart_where_they_are_read_and_sent_as_they_are(chair: Any) -> None:
    rows = ["proposal,assessor,score"]
    people = ["\u05d3\u05e0\u05d4 \u05db\u05d4\u05df", "\u05d0\u05d1\u05d9", "Cleo"]
    rows += [
        f"\u05d4\u05e6\u05e2\u05d4 {o},{who},{60 + 3 * o + 5 * a}" for o in range(6) for a, who in enumerate(people)
    ]
    panel = opened(chair, "names.csv", "\n".join(rows).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "2"})
    apart = "\u2068\u05d3\u05e0\u05d4 \u05db\u05d4\u05df\u2069"
    for place in ("reading", "assessors", "assessors/0"):
        page = seen(chair, f"/panels/{panel}/{place}").content.decode()
        assert not re.search(r'="[^"]*\u2068', page), place
        assert apart in page, place
    at = chair.post(f"/panels/{panel}/what-if/new").url
    page = seen(chair, at).content.decode()
    assert f"<option>{people[0]}</option>" in page
    chair.post(f"{at}/change", {"without": people[0]})
    assert apart in seen(chair, at).content.decode()


def test_names_with_hyphens_stay_in_one_line_where_they_are_read(chair: Any) -> None:
    rows = ["proposal,assessor,score"]
    rows += [
        f"ERC-2026-{o:04d},{who},{50 + 6 * o + 4 * a + o * a % 3}" for o in range(6) for a, who in enumerate("ABC")
    ]
    panel = opened(chair, "hyphens.csv", "\n".join(rows).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "2"})
    page = re.sub(r"<title>.*?</title>", "", seen(chair, f"/panels/{panel}/").content.decode(), flags=re.DOTALL)
    told = re.sub(r'<span class="id">([^<]*)</span>', r"[\1]", page)
    assert "[ERC-2026-0003]</" in told
    assert not re.search(r'="[^"]*\[ERC', told)
    assert "ERC-2026-0003" not in re.sub(r"<[^>]*>|\[ERC-2026-0003\]", "", told)


def test_labels_are_shown_as_text(chair: Any) -> None:
    bad = (
        b"object,assessor,score\n<script>alert(1)</script>,=cmd|x,1\nb,=cmd|x,2\n<script>alert(1)</script>,y,2\nb,y,5\n"
    )
    panel = opened(chair, "a<b>.csv", bad)
    chair.post(f"/panels/{panel}/choices", {"places": "1"})
    for place in ("reading", "", "assessors", "objects/0", "evidence", "record"):
        page = seen(chair, f"/panels/{panel}/{place}").content.decode()
        assert "<script>alert" not in page


# --- the whole of it ---------------------------------------------------------------------------------


def test_settings_pass_the_checks_of_a_server_behind_an_encrypted_line(tmp_path: Path) -> None:
    pytest.importorskip("django")
    import subprocess
    import sys

    environment = os.environ | {"EVENHAND_DATA": str(tmp_path), "EVENHAND_SECURE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "evenhand.web", "check", "--deploy", "--fail-level", "WARNING"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_the_command_line_does_without_django() -> None:
    import subprocess
    import sys

    program = (
        "import sys; import evenhand.cli.commands; print(any(name.split('.')[0] == 'django' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == "False"


def test_migrations_are_complete() -> None:
    application()
    from django.core.management import call_command

    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_a_report_and_a_workbook_say_why_the_panel_lets_a_check_stand(chair: Any) -> None:
    place = chair.post("/demo").url
    page = seen(chair, place).content.decode()
    marks = list(dict.fromkeys(re.findall(r'name="mark" value="(\w+)"', page)))
    assert len(marks) == 2
    for at, one in enumerate(marks):
        chair.post(f"{place}checks", {"mark": one, "reason": f"seen and agreed, number {at}", "back": "decision"})
    page = seen(chair, place)
    assert heading(page) == "3 proposals are in; 18 compete for the other 7 places"
    assert "By the method that predicts better nobody is in" not in text(page)
    report = settled(lambda: chair.get(f"{place}out/report.html")).content.decode()
    assert "3 proposals are in; 18 compete" in re.sub(r"<[^>]*>", "", report)
    for at in range(2):
        assert f"The panel looked at this and keeps it: “seen and agreed, number {at}”." in html.unescape(report)
    assert 'role="group" aria-label="Check 2 proposals' not in report, "it is no open check"
    assert "Say in the minutes" not in report
    book = openpyxl.load_workbook(io.BytesIO(settled(lambda: chair.get(f"{place}out/results.xlsx")).content))
    first = [str(cell.value) for row in book["decision"].iter_rows() for cell in row if cell.value is not None]
    assert any("Check 2 proposals" in one and "Reason: seen and agreed" in one for one in first)


def test_what_goes_out_before_a_stop_is_settled_is_without_the_score_and_called_provisional(chair: Any) -> None:
    panel = opened(chair, "typo.csv", demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "10"})
    assert "No decision yet" in heading(seen(chair, f"/panels/{panel}/"))
    assert "All results below leave it out; the names of their files have “provisional” in them." in text(
        seen(chair, f"/panels/{panel}/record")
    )
    demo = eh.demo()
    own = (demo.object_index == demo.objects.index("P32")) & (demo.assessor_index == demo.assessors.index("Farouk"))
    without = eh.calibrate(demo.restrict(~own))
    wanted = pytest.approx(dict(zip(without.values.labels, without.values.estimate.tolist(), strict=True)))
    out = settled(lambda: chair.get(f"/panels/{panel}/out/result.json"))
    assert "provisional-result.json" in out.headers["Content-Disposition"]
    told = json.loads(out.content)
    assert {one["object"]: one["value"] for one in told["objects"]} == wanted
    assert told["alerts"][0]["level"] == "stop"
    assert any(one["kind"] == "provisional" and "Farouk on P32" in one["message"] for one in told["notes"])
    tables = settled(lambda: chair.get(f"/panels/{panel}/out/results.csv"))
    assert "provisional-results.zip" in tables.headers["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(tables.content)) as held:
        name = next(one for one in held.namelist() if "assessors" not in one and "notes" not in one)
        rows = csv.DictReader(io.StringIO(held.read(name).decode("utf-8-sig")))
        assert {one["object"]: float(one["value"]) for one in rows} == wanted
    picture = settled(lambda: chair.get(f"/panels/{panel}/out/values.svg"))
    assert "440" not in re.sub(r"<[^>]*>", " ", picture.content.decode())


def test_what_is_no_number_does_not_lift_a_stop_and_pages_say_that_all_is_provisional(chair: Any) -> None:
    panel = opened(chair, "typo.csv", demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440"))
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    chair.post(f"/panels/{panel}/choices", {"places": "10"})
    page = seen(chair, f"/panels/{panel}/")
    row = re.search(r'name="row" value="(\d+)"', page.content.decode())
    assert row is not None
    chair.post(f"/panels/{panel}/reading/correct", {"row": row[1], "column": "score", "text": "44", "back": "decision"})
    assert "Say how you know" in text(seen(chair, f"/panels/{panel}/"))
    sent = {"row": row[1], "column": "score", "text": "sixty", "back": "decision", "reason": "asked"}
    chair.post(f"/panels/{panel}/reading/correct", sent)
    page = seen(chair, f"/panels/{panel}/")
    assert "No decision yet" in heading(page)
    assert "“sixty” is not a number" in text(page)
    for place in ("objects/31", "assessors"):
        assert "This page leaves that score out." in text(seen(chair, f"/panels/{panel}/{place}"))
    page = seen(chair, f"/panels/{panel}/record")
    assert heading(page) == f"Report and record: provisional until row {row[1]} is settled"
    assert f"Row {row[1]}: Farouk gave P32 a score of 440" in text(page)
    assert "Download the provisional report" in text(page)
    page = seen(chair, f"/panels/{panel}/what-if")
    assert heading(page) == f"Nothing can be compared until row {row[1]} is settled"
    assert page.content.decode().count("Settle it on the page Decision") == 1
    assert "What can be tried then" in text(page)
    assert 'name="trial"' not in page.content.decode()
    assert "Use this method" not in text(seen(chair, f"/panels/{panel}/evidence"))
    assert "Freeze it all the same, as provisional" in text(chair.get(f"/panels/{panel}/record"))
    scenario = chair.post(f"/panels/{panel}/what-if/new").url
    chair.post(f"{scenario}/change", {"without": "Kaur"})
    assert "Settle what must be checked first" in text(seen(chair, scenario))
    chair.post(f"/panels/{panel}/reading/correct", sent | {"text": "44"})
    page = text(seen(chair, f"/panels/{panel}/"))
    assert "440 read as 44" in page
    assert "provisional" not in text(chair.get(f"/panels/{panel}/record"))


def test_a_cell_that_is_no_score_is_named_beside_the_decision(chair: Any, demo: int) -> None:
    chair.post(f"/panels/{demo}/reading/correct", {"row": 9, "column": "score", "text": "late"})
    assert "One cell is no score and is read as empty Row 9, score" in text(seen(chair, f"/panels/{demo}/"))
    settled(lambda: chair.get(chair.post(f"/panels/{demo}/freeze").url, follow=True))
    at = re.search(r"/frozen/(\d+)", chair.get(f"/panels/{demo}/record").content.decode())
    assert at is not None
    verified = chair.post(f"/panels/{demo}/frozen/{at[1]}/verify").url
    assert "Unchanged" in text(settled(lambda: chair.get(verified, follow=True)))


def test_scores_of_several_criteria_are_not_tried_as_if_they_were_one(chair: Any) -> None:
    rows = [f"P{o},A{a},{o + a},{9 - o}" for o in range(4) for a in range(3)]
    panel = opened(chair, "criteria.csv", "\n".join(["object,assessor,quality,impact", *rows]).encode())
    chair.post(f"/panels/{panel}/choices", {"places": "2"})
    scenario = chair.post(f"/panels/{panel}/what-if/new").url
    chair.post(f"{scenario}/change", {"without": "A1"})
    page = seen(chair, scenario)
    assert page.status_code == 200
    assert "With several criteria" in text(page)
    assert "Undo" in text(page)


def test_scores_that_count_alike_can_be_shrunk_and_the_command_line_comes_to_the_same(chair: Any) -> None:
    from evenhand.web.calibrating import fit_by, typed  # after the settings of ``chair``

    choices = {"method": "iba", "refinement": "shrink"}
    found = fit_by(eh.demo(), choices).combined
    alone = eh.refine(eh.demo().with_equal_confidence(), shrink=True)
    np.testing.assert_allclose(found.values.estimate, alone.values.estimate, rtol=1e-6)
    assert typed(found, choices) == ["--shrink", "--method", "iba"]


def test_cells_that_are_no_scores_are_a_check_in_the_list_of_panels(chair: Any) -> None:
    rows = ["proposal,assessor,score", *(f"{what},{who},{6 + at}" for at, what in enumerate("ABC") for who in "xyz")]
    panel = opened(chair, "bad cell.csv", "\n".join([*rows[:-1], "C,z,seven"]).encode())
    assert "One cell is no score and is read as empty" in text(seen(chair, f"/panels/{panel}/"))
    seen(chair, f"/panels/{panel}/assessors")  # which does not look at cells, and takes nothing back

    def listed() -> str:
        return text(chair.get("/")).partition("bad cell")[2].partition("Delete")[0]

    assert "Check" in listed()
    chair.post(f"/panels/{panel}/reading/correct", {"row": "10", "column": "score", "text": "7"})
    seen(chair, f"/panels/{panel}/")
    assert "Check" not in listed()


def test_scores_at_the_end_of_the_scale_come_after_those_that_could_be_nearer(chair: Any) -> None:
    given = {"x": (9, 8, 6, 4, 3, 2), "y": (8, 9, 5, 5, 2, 3), "z": (10, 10, 10, 9, 6, 8)}  # to whom 10 is the most
    rows = [
        "proposal,assessor,score",
        *(f"P{at},{who},{one}" for who, all_ in given.items() for at, one in enumerate(all_)),
    ]
    panel = opened(chair, "ends.csv", "\n".join(rows).encode())
    chair.post(f"/panels/{panel}/reading/settings", {"go": "1"})
    page = seen(chair, f"/panels/{panel}/assessors/2").content.decode()
    noted = [
        "is the highest score there is" in row
        for row in re.findall(r"<tr.*?</tr>", page.partition("of-four")[2], re.S)[1:]
    ]
    assert noted == sorted(noted)
    assert any(noted)
    assert "is furthest off" in page
