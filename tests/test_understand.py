"""A panel is the same however it is written out: long, wide, turned or in groups, with whatever stands around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpus import Rows, Scores, across, append, by_criteria, in_groups, long, mean, objects_of, wide
from evenhand.errors import InputError
from evenhand.io.panels import read_panel
from evenhand.io.table import arrange
from evenhand.panel.layout import Given
from evenhand.panel.panel import Panel
from evenhand.panel.rules import ReadOptions
from evenhand.panel.source import collected
from evenhand.panel.understand import answers, understand

NAMES = ("Anna", "Ben", "Chloe", "Dev", "Rosa Luz", "O'Neil", "van Dyk", "Ødegård")
TITLES = ("On knots", "Ties that bind", "A theory of string", "Loops and bows", "Rope, revisited", "Yarn", "Thread")


@st.composite
def panels(draw: st.DrawFn, least: int = 2) -> Scores:
    """Draw scores of a few objects by a few assessors, each of whom has one, and most of whom have several."""
    objects = [f"P{number}" for number in draw(st.permutations(range(1, draw(st.integers(3, 7)) + 1)))]
    people = draw(st.lists(st.sampled_from(NAMES), min_size=least, max_size=5, unique=True))
    step = draw(st.sampled_from([1.0, 0.5]))
    score = st.integers(0, 20).map(lambda number: number * step)
    scores: Scores = {(one, who): draw(score) for one in objects for who in people if draw(st.integers(0, 4))}
    assume({one for one, _ in scores} == set(objects))
    assume({who for _, who in scores} == set(people))
    return scores


def read(rows: Sequence[Sequence[Any]], **told: Any) -> Panel:
    """Return the panel of rows of cells."""
    return Panel.from_read(collected(arrange(rows, source="sheet"), Given(**told), ReadOptions()))


def scores_of(panel: Panel) -> Scores:
    """Return the scores of a panel by its labels."""
    keys = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
    labels: list[tuple[str, ...]] = [(panel.objects[one], panel.assessors[who]) for one, who in keys]
    if panel.criterion is not None:
        labels = [(*key, str(criterion)) for key, criterion in zip(labels, panel.criterion, strict=True)]
    return dict(zip(labels, panel.score.tolist(), strict=True))


def shuffled(draw: Callable[..., Any], rows: Rows, fixed: int = 0) -> Rows:
    """Return rows with their columns in another order, but for the first ones."""
    order = [*range(fixed), *draw(st.permutations(range(fixed, len(rows[0]))))]
    return [[row[at] for at in order] for row in rows]


def adorned(draw: Callable[..., Any], rows: Rows) -> Rows:
    """Return rows with a banner above them or not."""
    banner = [["Round 2, 2026"], [], ["as of 3 May"]]
    return [*banner[: draw(st.integers(0, 3))], *rows]


@given(st.data())
def test_one_assessment_a_row_is_read_whatever_stands_beside(data: st.DataObject) -> None:
    scores = data.draw(panels())
    rows = long(
        scores, data.draw(st.sampled_from([("Proposal", "Reviewer", "Score"), ("Antrag", "Gutachter", "Punkte")]))
    )
    if data.draw(st.booleans()):
        rows = append(rows, "Title", lambda _, row: TITLES[int(row[0][1:]) - 1])
    if data.draw(st.booleans()):
        rows = append(rows, "Date", lambda number, _: f"2026-03-{number % 28 + 1:02}")
    body = data.draw(st.permutations(rows[1:]))
    assert scores_of(read(adorned(data.draw, shuffled(data.draw, [rows[0], *body])))) == scores


@given(st.data())
def test_a_wide_sheet_is_read_with_and_without_what_people_add(data: st.DataObject) -> None:
    scores = data.draw(panels())
    rows = wide(scores, data.draw(st.sampled_from(["Proposal", "Candidate ID", "Projekt"])))
    rows = shuffled(data.draw, rows, 1)
    width = len(rows[0])
    if data.draw(st.booleans()):
        rows = append(rows, "Average", lambda _, row: mean(row[1:width]))
    if data.draw(st.booleans()):
        rows = append(rows, "Total", lambda _, row: sum(cell for cell in row[1:width] if cell is not None))
    if data.draw(st.booleans()):
        rows = [[row[0], "Title" if number == 0 else TITLES[number % 7], *row[1:]] for number, row in enumerate(rows)]
    if data.draw(st.booleans()):
        columns = list(zip(*rows[1:], strict=True))
        means = [mean(column) if any(isinstance(cell, int | float) for cell in column) else None for column in columns]
        rows = [*rows, ["Mean", *means[1:]]]
    assert scores_of(read(adorned(data.draw, rows))) == scores


@given(st.data())
def test_a_sheet_with_assessors_down_is_the_same_panel(data: st.DataObject) -> None:
    scores = data.draw(panels())
    rows = shuffled(data.draw, across(scores, data.draw(st.sampled_from(["Reviewer", "Judge", "Gutachterin"]))), 1)
    assert scores_of(read(adorned(data.draw, rows))) == scores


@given(panels(3))
def test_a_sheet_and_the_same_sheet_turned_agree_where_the_user_says_which_is_which(scores: Scores) -> None:
    assert scores_of(read(wide(scores, "x"), layout="wide")) == scores_of(read(across(scores, "x"), layout="across"))


@given(panels())
def test_several_named_assessors_a_row_are_the_same_panel(scores: Scores) -> None:
    assume(max(sum(one == other for other, _ in scores) for one in objects_of(scores)) > 1)
    assert scores_of(read(in_groups(scores))) == scores


@given(panels(), st.booleans())
def test_criteria_in_columns_are_those_in_rows(scores: Scores, has_total: bool) -> None:
    criteria = {
        (*key, name): float((7 * row + 3 * at + row * at) % 5)
        for row, key in enumerate(scores)
        for at, name in enumerate(("Novelty", "Clarity", "Impact"))
    }
    rows = by_criteria(criteria)
    if has_total:
        rows = append(rows, "Total", lambda _, row: sum(row[2:5]))
    assert scores_of(read(rows)) == criteria


@given(panels())
def test_reading_again_what_was_settled_gives_the_same_panel(scores: Scores) -> None:
    for rows in (long(scores), across(scores), append(wide(scores), "Average", lambda _, row: mean(row[1:]))):
        panel = read(rows)
        assert panel.reading is not None
        told = {name: value for name, value in panel.reading.settings().items() if name in Given.__slots__}
        assert scores_of(read(rows, **told)) == scores_of(panel)


@given(panels())
def test_every_column_is_read_or_left_out_with_a_reason(scores: Scores) -> None:
    rows = append(append(wide(scores), "Average", lambda _, row: mean(row[1:])), "Remarks", lambda *_: "Fine.")
    table = arrange(rows, source="sheet")
    layout = understand(table)
    read_ = {table.names[place] for slot in layout.slots for place in slot if isinstance(place, int)}
    assert read_ | {one.column for one in layout.left_out} == set(table.names)
    assert all(one.reason for one in layout.left_out)


def test_a_mark_at_the_end_is_asked_for() -> None:
    rows: Rows = [["Essay", "Anna", "Ben", "Mark"], ["E1", 3, 4, 7], ["E2", 5, 5, 2], ["E3", 1, 2, 9]]
    with pytest.raises(InputError, match=r"'Mark'.*layout=.wide"):
        read(rows)
    assert read(rows, layout="wide").n_assessors == 3


def test_a_column_that_counts_the_rows_is_asked_for() -> None:
    rows: Rows = [["Essay", "Xy", "Anna", "Ben"], *([f"E{at}", at, 7 - at, at % 3] for at in range(1, 6))]
    with pytest.raises(InputError, match=r"'Xy' numbers the rows.*layout=.wide"):
        read(rows)
    assert read(rows, layout="wide").n_assessors == 3
    assert read([["Essay", "No.", "Anna", "Ben"], *rows[1:]]).n_assessors == 2


def test_a_column_of_the_mean_is_a_person_where_it_is_no_finer_and_that_is_noted() -> None:
    rows: Rows = [["Essay", "Anna", "Ben", "Chloe"], *([f"E{at}", 6 - at, 8 - at, 7 - at] for at in range(1, 6))]
    panel = read(rows)
    assert panel.n_assessors == 3
    assert "like_a_mean" in {note.kind for note in panel.notes}
    finer: Rows = [["Essay", "Anna", "Ben", "X"], *([f"E{at}", 8 - at, 9 - at, 8.5 - at] for at in range(1, 6))]
    assert read(finer).n_assessors == 2


@pytest.mark.parametrize(
    ("asked", "scores", "several"),
    [
        (("Overall merit", "Novelty"), (0,), ()),
        (("Novelty", "Clarity"), (0, 1), ()),
        (("Novelty score", "Clarity score"), (0, 1), ()),
        (("Score", "Novelty score"), (0,), ()),
        (("Score", "Rating"), (0,), (0, 1)),
    ],
)
def test_of_the_fields_of_a_review_the_overall_score_is_told_by_its_name(
    asked: tuple[str, ...], scores: tuple[int, ...], several: tuple[int, ...]
) -> None:
    table = arrange(
        [[*asked, "How sure are you?", "Comments"], [1, 2, "very", "Good"], [3, 1, "not very", "Bad"]], source="x"
    )
    found = answers(table, dict(enumerate(table.names)))
    assert (found.scores, found.several, found.confidence) == (scores, several, 2)
    assert found.left_out[3] == "text"


# --- at every size -------------------------------------------------------------------------------

NUMBERED: Scores = {(f"P{n}", f"Reviewer {k}"): float((3 * n + 2 * k) % 7) for n in range(30) for k in range(1, 4)}
PEOPLE_BY_NUMBER: Scores = {
    (f"P{n}", f"Reviewer {1 + (n + k) % 9}"): float((3 * n + 2 * k) % 7) for n in range(30) for k in (0, 4)
}
SIGNED: Scores = {
    (f"P{n}", f"Reviewer_{'abcdefghij'[n // 10]}X{n % 10}{k}"): float(n % 5) for n in range(30) for k in range(3)
}


def doors(folder: Path, scores: Scores) -> Iterator[tuple[str, Callable[..., Panel]]]:
    """Yield ways to read scores, none of which looks at the whole table first."""
    columns = {"Paper": [key[0] for key in scores], "Reviewer": [key[1] for key in scores], "Score": [*scores.values()]}
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "scores.csv")
    frame.write_parquet(folder / "scores.parquet")
    yield "csv", functools.partial(read_panel, folder / "scores.csv")
    yield "parquet", functools.partial(read_panel, folder / "scores.parquet")
    yield "frame", functools.partial(Panel.from_frame, frame)


@pytest.fixture
def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.io.coding.LARGE_FILE", 1)
    monkeypatch.setattr("evenhand.panel.source.LOOKED_AT", 1)


def test_places_that_begin_anew_for_each_object_are_noticed_in_large_files_too(
    tmp_path: Path, as_if_large: None
) -> None:
    for door, reads in doors(tmp_path, NUMBERED):
        notes = [note for note in reads().notes if note.kind == "positions"]
        assert len(notes) == 1, door
        assert "'Reviewer 1', 'Reviewer 2', 'Reviewer 3' were taken for people" in notes[0].message
    ragged: Scores = {key: score for key, score in NUMBERED.items() if key != ("P7", "Reviewer 3")}
    for _, reads in doors(tmp_path, ragged):
        with pytest.raises(InputError, match="places and not people") as caught:
            reads()
        assert caught.value.kind == "positions"
        assert reads(assessor="Reviewer").n_assessors == 3


def test_people_who_are_numbered_are_people_at_every_size(tmp_path: Path, as_if_large: None) -> None:
    gap: Scores = {
        key: score for key, score in NUMBERED.items() if key != ("P7", "Reviewer 2")
    }  # 1 and 3 are no places
    for scores in (PEOPLE_BY_NUMBER, gap):
        for _, reads in doors(tmp_path, scores):
            panel = reads()
            assert panel.n_assessments == len(scores)
            assert not [note for note in panel.notes if note.kind == "positions"]


def test_pseudonyms_of_one_paper_each_are_noticed_in_large_files_too(tmp_path: Path, as_if_large: None) -> None:
    for door, reads in doors(tmp_path, SIGNED):
        if door != "frame":  # which no system wrote
            with pytest.raises(InputError, match="makes anew for each paper"):
                reads()


def test_the_lowest_score_is_asked_about_and_turned_around_at_every_size(tmp_path: Path, as_if_large: None) -> None:
    marks: Scores = {key: 1 + score / 2 for key, score in PEOPLE_BY_NUMBER.items()}
    for _, reads in doors(tmp_path, marks):
        assert reads().reading.turned is None  # type: ignore[union-attr]
        panel = reads(best="lowest")
        turned = min(marks.values()) + max(marks.values())
        assert scores_of(panel) == pytest.approx({key: turned - score for key, score in marks.items()})
        assert panel.reading is not None
        assert panel.reading.turned == turned
        assert panel.reading.settings()["best"] == "lowest"
    pl.read_csv(tmp_path / "scores.csv").rename({"Score": "Note"}).write_csv(tmp_path / "notes.csv")
    with pytest.raises(InputError, match='best="lowest"'):
        read_panel(tmp_path / "notes.csv")
