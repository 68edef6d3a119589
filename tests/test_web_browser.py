"""The web application in a real browser, as a chair walks it: every page, by mouse, keyboard and without a script."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner

from browser import started
from corpus import Case, Scores
from evenhand.cli import main
from evenhand.data import demo_path
from test_corpus import CASES

pytestmark = pytest.mark.slow

TYPO = demo_path().read_bytes().replace(b"P32,Farouk,44", b"P32,Farouk,440")
PASTED = "proposal\tassessor\tscore\nA\tx\t6\nA\ty\t7\nB\tx\t4\nB\ty\t6\nC\tx\t1\nC\ty\t3\n"


def is_complaint(said: Any) -> bool:
    """Return whether a line of the console is an error; that a later click took the place of a request is none."""
    return said.type == "error" and not said.text.startswith(("htmx:afterRequest, ", "htmx:sendAbort, "))


class Walk:
    """A tab of a browser that has come in by the link, and all that it complained of."""

    def __init__(self, context: Any, base: str) -> None:
        self.base = base
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        self.context = context
        context.route(re.compile(f"^(?!{re.escape(base)}/|data:|blob:)"), self._refuse)
        self.page = context.new_page()
        self.page.set_default_timeout(120_000)  # however busy the machine is
        self.page.on("console", lambda one: self.said.append(one.text) if is_complaint(one) else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def _refuse(self, route: Any) -> None:
        self.elsewhere.append(route.request.url)
        route.abort()

    def go(self, path: str) -> None:
        """Open a page, and wait until it has what it shows."""
        self.page.goto(self.base + path)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is under way."""
        self.page.locator("main .work").wait_for(state="detached")

    def heading(self, words: str | re.Pattern[str]) -> str:
        """Wait until the heading of the page says so, and return it."""
        return " ".join(self.page.locator("h1", has_text=words).inner_text().split())

    def read(self, path: Path) -> None:
        """Choose a file on the start page, and have it read."""
        self.go("/")
        self.page.set_input_files("#file", path)
        self.page.click("text=Read the file")
        self.page.wait_for_url("**/reading")
        self.settle()

    def decide(self, places: int) -> None:
        """Say how many places there are."""
        self.page.fill("#decision #places", str(places))
        self.page.click("#decision .places button")
        self.page.locator(f'#decision #places[value="{places}"]').wait_for()

    @property
    def panel(self) -> str:
        """The address of the panel that is shown."""
        found = re.search(r"/panels/\d+", self.page.url)
        assert found is not None, self.page.url
        return found[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the link of a server of its own process."""
    pytest.importorskip("django", reason="the web application is an extra")
    data = tmp_path_factory.mktemp("data") / "kept"
    command = [sys.executable, "-m", "evenhand", "serve", "--no-browser", "--data", str(data)]
    environment = {key: value for key, value in os.environ.items() if key not in ("EVENHAND_DATA", "EVENHAND_SECURE")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        link = re.search(r"http://\S+", process.stdout.readline())
        assert link is not None
        yield link[0]
        process.send_signal(signal.SIGINT)
        assert "Stopped." in process.communicate(timeout=30)[0]


@pytest.fixture(scope="module")
def known(browser: Any, server: str) -> tuple[str, Any]:
    """Return where the server is, and what a browser keeps that came in by the link, which works once."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(server)
    assert "token" not in page.url
    kept = context.storage_state()
    context.close()
    return server.partition("/?")[0], kept


@pytest.fixture
def walk(browser: Any, known: tuple[str, Any]) -> Iterator[Callable[..., Walk]]:
    """Return how to open a tab; at the end, none may have met an error or asked another host."""
    tabs: list[Walk] = []

    def opened(**options: Any) -> Walk:
        usual = {"viewport": {"width": 1200, "height": 900}, "storage_state": known[1]}
        tabs.append(Walk(browser.new_context(**usual | options), known[0]))
        return tabs[-1]

    yield opened
    for tab in tabs:
        print("the tab was at", tab.page.url, tab.page.locator("h1").all_inner_texts())  # shown where a test fails
        tab.context.close()
    assert [one for tab in tabs for one in tab.said] == []
    assert [one for tab in tabs for one in tab.elsewhere] == []


# --- files as people have them -----------------------------------------------------------------------


def counted(scores: Scores) -> str:
    """Return what the heading says of a panel."""
    objects, assessors = ({key[side] for key in scores} for side in (0, 1))
    return f"Read: {len(scores)} scores by {len(assessors)} assessors on {len(objects)} "


ANSWERED = {
    "two_rounds.xlsx": "a workbook with two sheets of scores",
    "peers.csv": "assessors who assess each other",
    "two_scores.csv": "two columns of scores",
    "note.csv": "marks of which the lowest is the best",
    "place_of_wines.csv": "places instead of scores",
    "twice.csv": "a score given twice",
    "score_typo.csv": "a word in a column of numbers",
    "unknown_levels.csv": "words of confidence that nobody knows",
    "unknown_words.csv": "scores in words that nobody knows",
}
READ = {
    "long.csv": "one assessment a row",
    "wide.ods": "objects down, assessors across, in OpenDocument",
    "across.xlsx": "assessors down, objects across, in Excel",
    "groups.csv": "several named assessors a row",
    "criteria_columns.csv": "a column for each criterion",
    "banner_and_two_heading_rows.xlsx": "two rows of headings below a banner",
    "title_and_average.csv": "titles and averages beside the scores",
    "words.csv": "scores in words",
    "german.csv": "German headings",
    "utf16.csv": "an encoding of Excel's",
    "hotcrp_reviews.csv": "an export of HotCRP",
    "openreview_2.json": "an export of OpenReview",
    "google.csv": "an export of Google Forms",
    "records.jsonl": "records of a program",
}


def changed(walk: Walk, change: Callable[[], object]) -> None:
    """Do something after which the settings of the page are made anew, and wait for that."""
    before = walk.page.query_selector("#settings")
    change()
    before.wait_for_element_state("hidden")
    walk.settle()


def answer(walk: Walk, case: Case) -> None:
    """Answer the question that a file leaves open, with the menus of the page."""
    page = walk.page
    for name, value in case.answer.items():
        if name == "aliases":
            for word, level in value.items():
                page.get_by_label(f"{word} means").select_option(level)
            changed(walk, partial(page.click, ".alert >> text=Apply these changes"))
        elif name == "scores":
            for word, score in value.items():
                page.get_by_label(f"{word} means").fill(str(score))
            changed(walk, partial(page.click, ".alert >> text=Apply these changes"))
        elif name == "missing":
            changed(walk, partial(page.click, ".alert >> text=Leave empty"))
        elif name in ("object", "assessor", "score"):
            menu = page.get_by_label(f"Role of the column {value}", exact=True)
            if menu.input_value() != name:
                changed(walk, partial(menu.select_option, name))
        else:
            changed(walk, partial(page.select_option, f"#id_{name}", value))


def decided(walk: Walk, case: Case) -> None:
    """Go on from a file that is read to a decision on it, which is on all of its objects."""
    assert case.means is not None
    assert walk.heading(re.compile("^Read: ")).startswith(counted(case.means))
    walk.page.click("text=Go on to the decision")
    walk.heading("How many places are there?")
    walk.decide(2)
    counts = [int(one) for one in walk.page.locator(".counts .of b").all_inner_texts()]
    assert sum(counts) == len({key[0] for key in case.means})
    assert 0 <= counts[0] <= 2


@pytest.mark.parametrize("name", READ)
def test_a_file_is_dropped_in_read_and_decided_on(name: str, walk: Any, tmp_path: Path) -> None:
    tab = walk()
    tab.read(CASES[name].write(tmp_path))
    decided(tab, CASES[name])


@pytest.mark.parametrize("name", ANSWERED)
def test_a_question_that_a_file_leaves_open_is_answered_on_the_page(name: str, walk: Any, tmp_path: Path) -> None:
    tab, case = walk(), CASES[name]
    tab.read(case.write(tmp_path))
    tab.page.locator(".alert h2", has_text="to be settled").wait_for()
    answer(tab, case)
    assert tab.page.locator(".alert").count() == 0
    decided(tab, case)


@pytest.mark.parametrize("name", ["empty.csv", "truncated.json", "openreview_console.csv"])
def test_a_file_that_holds_no_panel_is_refused_in_a_sentence(name: str, walk: Any, tmp_path: Path) -> None:
    tab = walk()
    tab.read(CASES[name].write(tmp_path))
    assert re.search(CASES[name].says, tab.page.locator(".alert .wrong").first.inner_text())
    assert tab.page.locator("text=Go on to the decision").count() == 0


def test_a_file_that_is_dropped_on_the_page_is_read(walk: Any, tmp_path: Path) -> None:
    tab, case = walk(), CASES["wide.xlsx"]
    path = case.write(tmp_path)
    tab.go("/")
    box = tab.page.locator("#upload").bounding_box()
    drag = {
        "x": box["x"] + box["width"] / 2,
        "y": box["y"] + 20,
        "data": {"items": [], "files": [str(path)], "dragOperationsMask": 1},
    }
    browser = tab.context.new_cdp_session(tab.page)
    for kind in ("dragEnter", "dragOver"):
        browser.send("Input.dispatchDragEvent", {"type": kind, **drag})
    tab.page.locator("#upload.is-over").wait_for()
    browser.send("Input.dispatchDragEvent", {"type": "drop", **drag})
    decided(tab, case)


def test_cells_that_are_pasted_are_read(walk: Any) -> None:
    tab = walk()
    tab.go("/")
    tab.page.focus("#cells")
    tab.page.keyboard.insert_text(PASTED)
    tab.page.click("text=Read the cells")
    tab.heading("Read: 6 scores by 2 assessors on 3 proposals")
    tab.page.click("text=Go on to the decision")
    tab.decide(1)


# --- the journey -------------------------------------------------------------------------------------


def mistyped(folder: Path) -> Path:
    """Return a file with a score that stops the decision."""
    path = folder / "typo.csv"
    path.write_bytes(TYPO)
    return path


def test_a_slip_that_the_alert_names_is_corrected_where_it_stands(walk: Any, tmp_path: Path) -> None:
    tab = walk()
    tab.read(mistyped(tmp_path))
    tab.page.click("text=Go on to the decision")
    tab.page.locator("h1").wait_for()
    tab.page.fill("#decision #places", "10")
    tab.page.click("text=Set places")
    tab.heading("No decision yet")
    tab.page.get_by_role("button", name="Keep 440, it is right").click()
    tab.heading("No decision yet")  # without a reason nothing is sent
    tab.page.get_by_label("How do you know?").fill("one nought too many")
    tab.page.get_by_label("Another score:").fill("45")
    tab.page.keyboard.press("Enter")  # takes what was typed, not what is suggested
    tab.page.locator("text=440 read as 45").wait_for()
    tab.go(f"{tab.panel}/reading")
    undo = tab.page.get_by_role("button", name="Undo")
    undo.click()
    undo.wait_for(state="hidden")
    tab.go(f"{tab.panel}/")
    tab.heading("No decision yet")
    tab.page.get_by_label("How do you know?").fill("one nought too many")
    tab.page.get_by_role("button", name="It is 44").click()
    tab.heading("3 proposals are in by the method used; 18 compete for the other 7 places")
    tab.go(f"{tab.panel}/record")
    assert "440 read as 44 (Farouk on P32) one nought too many" in tab.page.locator(".history").inner_text()


def test_a_score_that_looks_mistyped_is_kept_for_a_reason(walk: Any, tmp_path: Path) -> None:
    tab = walk()
    tab.read(mistyped(tmp_path))
    tab.page.click("text=Go on to the decision")
    tab.heading("No decision yet")
    tab.page.get_by_label("How do you know?").fill("the scale has no end")
    tab.page.get_by_role("button", name="Keep 440, it is right").click()
    tab.heading("How many places are there?")
    assert "was confirmed" in tab.page.locator("#decision").inner_text()
    tab.go(f"{tab.panel}/record")
    assert "440 is right (Farouk on P32) the scale has no end" in tab.page.locator(".history").inner_text()


def test_who_reads_what_is_planned_changed_by_hand_and_taken_along(walk: Any, tmp_path: Path) -> None:
    tab = walk(accept_downloads=True)
    page = tab.page
    tab.go("/")
    page.click("text=Plan who reads what")
    tab.heading("Plan who reads what")
    page.fill("#objects", "\n".join(f"P{at:02d}" for at in range(1, 13)))
    page.fill("#assessors", "assessor\temail\n" + "\n".join(f"{name}\t{name}@example.org" for name in NAMES))
    page.fill("#per_object", "2")
    page.fill("#conflicts", "Ana, P03\nBen, P99")
    page.click("text=Make the plan")
    page.locator("#wrong-conflicts", has_text="There is no object P99").wait_for()
    assert page.input_value("#assessors").endswith("Dan@example.org")
    page.fill("#conflicts", "Ana, P03\nBen, P01")
    page.click("text=Make the plan")
    was = tab.heading(re.compile("^2 readers each: expect ±"))
    page.locator(".curve").wait_for()
    reads = {row[0]: row[1] for row in (one.split("\t") for one in plan_rows(page))}
    assert sorted(reads) == sorted(NAMES)
    assert "P03" not in reads["Ana"]
    assert "P01" not in reads["Ben"]
    gone = reads["Cleo"].split(", ")[0]
    page.locator("#assessor").select_option("Cleo")
    page.locator("#object").select_option(gone)
    page.get_by_role("button", name="Remove").click()
    page.locator(".price", has_text=f"Cleo does not read {gone}").wait_for()
    assert tab.heading("readers each") != was
    page.get_by_role("button", name=re.compile("^Undo")).click()
    page.locator(".price").wait_for(state="detached")
    assert tab.heading("readers each") == was
    with page.expect_download() as download:
        page.click("text=One score sheet for all")
    filled = openpyxl.load_workbook(io.BytesIO(Path(download.value.path()).read_bytes()))
    sheet = filled.active
    assert sheet is not None
    head = [str(cell.value).lower() for cell in sheet[1]]
    for at, row in enumerate(sheet.iter_rows(min_row=2)):
        row[head.index("score")].value = 50 + 7 * at % 31
    filled.save(tmp_path / "filled.xlsx")
    tab.read(tmp_path / "filled.xlsx")
    assert tab.heading(re.compile("^Read: ")).startswith("Read: 24 scores by 4 assessors on 12 ")
    for ending, place in (("zip", "sheets.zip"), ("csv", "hotcrp.csv")):
        tab.go("/designs")
        page.click("section >> nth=-1 >> text=Who reads what")
        tab.heading("readers each")
        with page.expect_download() as download:
            page.click(f'a[href$="{place}"]')
        assert download.value.suggested_filename.endswith(ending)


NAMES = ("Ana", "Ben", "Cleo", "Dan")


def plan_rows(page: Any) -> list[str]:
    """Return who reads what, a line for each assessor."""
    rows = page.locator("table.reading tbody tr").all()
    return [f"{row.locator('th').inner_text()}\t{row.locator('td').last.inner_text()}" for row in rows]


def demo(tab: Walk) -> None:
    """Open the panel that is shipped."""
    tab.go("/")
    tab.page.click("text=Open the demo panel")
    tab.heading("3 proposals are in")


def test_what_if_is_undone_done_again_and_saved_with_a_reason(walk: Any) -> None:
    tab = walk()
    demo(tab)
    page = tab.page
    page.click("text=What if …")
    page.click("text=New scenario")
    tab.heading("Nothing is changed")
    page.select_option("#without", "Kaur")
    page.click("text=Apply")
    tab.heading("Without Kaur, ")
    page.locator("#score_of").select_option(label="P32 by Jansen: 59")
    page.fill("#score", "61")
    page.click("text=Apply")
    words = "Without Kaur and with 61 from Jansen for P32, 2 of the first 10 are replaced"
    tab.heading(f"{words}, and 1 of the 3 proposals that are in becomes open")
    assert "P39 and P32 enter the first 10; P25 and P16 leave the first 10" in page.locator(".lead").inner_text()
    page.get_by_label("Undo: without Kaur", exact=True).click()
    tab.heading(re.compile("^With 61 from Jansen"))
    page.click("text=Do it again")
    tab.heading(re.compile("61 from Jansen for P32 and without Kaur"))
    page.fill("#reason", "Kaur has a conflict")
    page.click("text=Save as a new version")
    page.locator(".message", has_text="Saved as a new version").wait_for()
    names = page.locator("#ranks tr[data-status]").all_inner_texts()[:10]
    assert {"P39", "P32"} <= {one.split()[1] for one in names}
    tab.go(f"{tab.panel}/record")
    assert "Kaur has a conflict" in page.locator(".history").inner_text()


def test_a_frozen_decision_outlasts_a_change_and_is_verified(
    walk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = walk(accept_downloads=True)
    demo(tab)
    page = tab.page
    page.click("text=Report and workbook")
    page.click("text=Freeze the decision as it stands")
    page.locator(".message", has_text="The decision is frozen").wait_for()
    page.click("nav >> text=Decision")
    tab.decide(3)
    page.click("nav >> text=Report")
    tab.heading("Report and record, with a decision frozen")
    box = page.locator(".panel-box", has_text="3 proposals are in; 18 compete for the other 7 places")
    box.get_by_text("Verify it here").click()
    page.locator(".message", has_text="Unchanged").wait_for()
    with page.expect_download() as download:
        page.click("text=Archive (zip)")
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    page.click("text=Confirm it elsewhere")
    command = page.locator(".panel-box code").inner_text()
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert "Unchanged" in done.output


def test_a_page_that_waits_loads_the_result_once_however_long_that_takes(walk: Any) -> None:
    """Were it loaded anew at every question, the last might arrive after the reader had gone on, and take him back."""
    tab = walk()
    demo(tab)
    asked: list[str] = []
    place = re.compile(r"/panels/\d+/$")

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        if len(asked) > 1:
            time.sleep(1.7 * (len(asked) < 6))  # three questions long
            route.continue_()
            return
        waiting = '<section id="working"><h1>This takes a moment</h1><div hx-get="/jobs/over-en?at=/" class="work" '
        waiting += 'hx-trigger="every 500ms" hx-sync="body:abort" hx-push-url="false"></div></section>'
        found = route.fetch()
        whole = re.sub(r"(?s)(<main[^>]*>).*</main>", rf"\g<1>{waiting}</main>", found.text())
        route.fulfill(response=found, body=whole)

    tab.page.route(place, answer)
    tab.page.goto(tab.base + tab.panel + "/", wait_until="commit")
    tab.heading("This takes a moment")
    tab.heading("3 proposals are in")
    assert len(asked) == 2, asked


def test_a_file_that_takes_a_while_arrives_once_and_the_page_says_so(walk: Any) -> None:
    tab = walk(accept_downloads=True)
    demo(tab)
    page = tab.page
    page.click("text=Report and workbook")
    arrived: list[str] = []
    page.on("download", lambda one: arrived.append(one.suggested_filename))
    with page.expect_download():
        page.click("text=Download the report")
    page.get_by_text("-report.html is ready").wait_for()
    page.wait_for_timeout(2_500)  # as long as five questions would take
    assert arrived == ["grant-competition-demo-report.html"]
    assert page.locator("text=Cancel").count() == 0
    page.click("text=Back to Report")
    tab.heading("Report and record")


def test_the_method_that_the_scores_support_is_used_at_a_click(walk: Any) -> None:
    tab = walk()
    demo(tab)
    said = tab.page.locator(".alert h2", has_text="By the method that predicts better").inner_text()
    gone = set(re.findall(r"P\d\d", said))
    assert gone <= set(re.findall(r"P\d\d", tab.page.locator(".counts > .is-in").inner_text()))
    tab.page.click("nav >> text=Evidence")
    tab.page.click("text=Use the method that predicts better")
    tab.heading("21 compete for 10 places")
    assert gone
    assert not gone & set(re.findall(r"P\d\d", tab.page.locator(".counts > .is-in").inner_text()))


def test_the_page_that_was_asked_for_last_is_the_one_that_stays(walk: Any) -> None:
    tab = walk()
    demo(tab)
    page = tab.page
    held: list[Any] = []
    page.route("**/choices", lambda route: held.append(route))  # noqa: PLW0108 - it is given attributes
    page.fill("#decision #places", "4")
    page.click("#decision .places button")
    page.wait_for_timeout(100)
    page.click("#decision .places button")
    page.click("nav >> text=Report")
    tab.heading("Report and record")
    (asked,) = held  # the second click asked nothing
    asked.fulfill(response=asked.fetch())
    page.wait_for_timeout(1_000)
    tab.heading("Report and record")
    page.click("nav >> text=Decision")
    page.locator('#decision #places[value="4"]').wait_for()


def test_work_goes_on_in_two_tabs(walk: Any) -> None:
    tab, other = walk(), walk()
    demo(tab)
    other.go(tab.panel + "/")
    other.decide(5)
    tab.decide(4)
    other.go(tab.panel + "/")
    assert other.page.input_value("#decision #places") == "4"


# --- every way to use it -----------------------------------------------------------------------------


def whole_way(tab: Walk, folder: Path, look: Callable[[], None]) -> bytes:
    """Go from a file to its report, looking at each page on the way, and return the report."""
    page = tab.page
    tab.go("/")
    look()
    page.set_input_files("#file", mistyped(folder))
    page.click("text=Read the file")
    tab.heading("Read: 101 scores")
    look()
    page.click("text=Go on to the decision")
    tab.heading("No decision yet")
    look()
    page.fill("#decision #places", "10")
    page.click("text=Set places")
    page.locator(".counts").wait_for()
    look()
    page.get_by_label("How do you know?").fill("one nought too many")
    page.get_by_label("Another score:").fill("44")
    page.get_by_role("button", name="Use it").click()
    tab.heading("3 proposals are in")
    page.check('#choice input[value="P31"]')
    page.fill("#choice-reason", "a region without grants")
    page.fill("#choice-by", "the panel")
    page.get_by_role("button", name="Record the choice").click()
    page.locator(".chosen", has_text="a place goes to P31").wait_for()
    look()
    for name, words in (("Assessors", "Adeyemi gives"), ("Evidence", "Another method"), ("What if", "What if")):
        page.click(f"nav >> text={name}")
        tab.heading(words)
        look()
    page.click("text=New scenario")
    tab.heading("Nothing is changed")
    look()
    page.select_option("#without", "Kaur")
    page.click("text=Apply")
    tab.heading("Without Kaur")
    look()
    page.click("nav >> text=Decision")
    page.click("#ranks >> text=P28")
    tab.heading("P28 is in")
    look()
    page.click("nav >> text=Assessors")
    page.click("table >> nth=0 >> text=Kaur")
    tab.heading("Kaur gives")
    look()
    page.click("nav >> text=Report")
    page.click("text=Freeze the decision as it stands")
    page.locator(".message", has_text="The decision is frozen").wait_for()
    look()
    with page.expect_download() as download:
        page.click("text=Download the report")
    report = Path(download.value.path()).read_bytes()
    assert b"a place goes to P31. All 4 who have a place: " in report
    assert b"6 places stay free. Reason: a region without grants. Decided by the panel." in report
    return report


def is_report(content: bytes) -> bool:
    """Say whether this is the report on the panel as it was corrected."""
    return content.startswith(b"<!DOCTYPE html>") and (
        b"18 compete for" in content or b"1 of the other 7 places given by the panel" in content
    )


def fits(tab: Walk) -> None:
    """Assert that nothing scrolls sideways, and that what is touched is large enough to touch."""
    page = tab.page
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], page.url
    small = page.evaluate(
        """() => Array.from(document.querySelectorAll(
               "button, select, nav a, .actions a, summary, input:not([type=hidden]):not([type=checkbox])"))
           .filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)
           .map(one => one.outerHTML.slice(0, 100))"""
    )
    assert small == [], page.url


def test_nothing_scrolls_sideways_on_a_phone_and_all_can_be_touched(walk: Any, tmp_path: Path) -> None:
    tab = walk(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True, accept_downloads=True)
    assert is_report(whole_way(tab, tmp_path, lambda: fits(tab)))


def test_long_names_scroll_no_page_of_a_phone_sideways(walk: Any, tmp_path: Path) -> None:
    long = "Prof. Dr. Maria-Magdalena von Hohenlohe-Schillingsfürst-Waldenburg"
    title = "A comparative history of the water works of harbour towns on the Baltic and North Sea coasts, 1900–1950"
    rows = [(f"{title}, {at}", who, 40 + 3 * at + 5 * (who == long)) for at in range(6) for who in (long, "Ng", "Ito")]
    file = tmp_path / "long.csv"
    text = "".join(f'"{one}","{who}",{score + hash_of(one, who)}\n' for one, who, score in rows)
    file.write_text("proposal,assessor,score\n" + text, encoding="utf-8")
    tab = walk(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    tab.read(file)
    fits(tab)
    tab.go(f"{tab.panel}/")
    tab.decide(2)
    fits(tab)
    panel = tab.panel
    for place in ("objects/0", "objects/5", "assessors", "assessors/0", "evidence", "what-if", "record"):
        tab.go(f"{panel}/{place}")
        fits(tab)


def hash_of(one: str, who: str) -> int:
    """Return a number from 0 to 6 that no order tells: so that assessors disagree."""
    return zlib.crc32(f"{one}{who}".encode()) % 7


def test_it_works_in_the_dark(walk: Any, tmp_path: Path) -> None:
    tab = walk(color_scheme="dark", accept_downloads=True)

    def dark() -> None:
        colour = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", colour))) < 60, colour

    assert is_report(whole_way(tab, tmp_path, dark))


def test_it_works_without_a_script(walk: Any, tmp_path: Path) -> None:
    tab = walk(java_script_enabled=False, accept_downloads=True)
    assert is_report(whole_way(tab, tmp_path, lambda: None))


class Keys:
    """A keyboard, and nothing else."""

    def __init__(self, tab: Walk) -> None:
        self.tab = tab
        self.keyboard = tab.page.keyboard

    def to(self, selector: str) -> None:
        """Go on by Tab to an element, which must be seen to have the focus."""
        for _step in range(200):
            self.keyboard.press("Tab")
            if self.tab.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                style = "getComputedStyle(document.activeElement)"
                assert self.tab.page.evaluate(f"{style}.outlineStyle") != "none", selector
                assert self.tab.page.evaluate(f"parseFloat({style}.outlineWidth)") >= 1, selector
                return
        raise AssertionError(f"{selector} cannot be reached on {self.tab.page.url}")

    def press(self, selector: str) -> None:
        """Go to an element and press it."""
        self.to(selector)
        self.keyboard.press("Enter")

    def write(self, selector: str, text: str) -> None:
        """Go to a field and write."""
        self.to(selector)
        self.keyboard.press("Control+A")
        self.keyboard.type(text)


def test_the_keyboard_alone_leads_to_the_report(walk: Any, tmp_path: Path) -> None:
    tab = walk(accept_downloads=True)
    tab.go("/")
    keys, page = Keys(tab), tab.page
    keys.to("#file")
    choosers: list[Any] = []
    page.on("filechooser", lambda one: choosers.append(one))  # noqa: PLW0108  playwright wants a function
    for key in ("Enter", "Space", "Enter", "Space"):  # a key may be pressed before the page listens
        page.keyboard.press(key)
        page.wait_for_timeout(1500)
        if choosers:
            break
    choosers[0].set_files(mistyped(tmp_path))
    keys.press("#upload .button")
    tab.heading("Read: 101 scores")
    keys.press("main .headed .button")
    tab.heading("No decision yet")
    keys.write("#slipwhy1", "asked")
    keys.press(".settle .button[name=meant]")
    tab.heading("How many places are there?")
    keys.write("#decision #places", "10")
    page.keyboard.press("Enter")
    tab.heading("3 proposals are in")
    keys.press('nav a[href$="what-if"]')
    tab.heading("What if")
    keys.press("main .actions .button")
    tab.heading("Nothing is changed")
    keys.to("#without")
    page.keyboard.type("Kaur")
    keys.press(".tries .button")
    tab.heading("Without Kaur")
    keys.press(".changes .button")
    tab.heading("Nothing is changed")
    keys.press('nav a[href$="record"]')
    tab.heading("Report and record")
    with page.expect_download() as download:
        keys.press('main a[href$="report.html"]')
    assert is_report(Path(download.value.path()).read_bytes())


# --- accessibility -----------------------------------------------------------------------------------


def test_axe_finds_nothing_serious_on_any_page(walk: Any, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = walk(bypass_csp=True, accept_downloads=True)
    found: dict[str, list[str]] = {}

    def look() -> None:
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            serious = [
                f"{one['id']}: {one['nodes'][0]['html'][:120]}"
                for one in Axe().run(tab.page).response["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            if serious:
                found[f"{tab.page.url} {scheme}"] = serious

    whole_way(tab, tmp_path, look)
    for name in ("score_typo.csv", "unknown_levels.csv", "two_rounds.xlsx", "empty.csv", "words.csv"):
        tab.read(CASES[name].write(tmp_path))
        look()
    for place in ("/help", "/designs", "/"):
        tab.go(place)
        look()
    for place, status in (
        ("/nowhere", 404),
        ("/panels/999999/", 404),
        ("/panels/1/out/nothing.txt", 404),
        ("/panels/1/choices", 405),
    ):
        assert tab.page.goto(tab.base + place).status == status
        look()
    stranger = walk(bypass_csp=True, storage_state=None)
    assert stranger.page.goto(f"{stranger.base}/").status == 403
    stranger.said.clear()
    tab.said.clear()  # a browser says of itself that a page was refused
    here, tab.page = tab.page, stranger.page
    look()
    tab.page = here
    tab.go("/")
    tab.page.click("button >> text=Delete >> nth=0")
    tab.heading("Delete “")
    look()
    assert found == {}
