"""Files in, panels out; and files of pairs."""

from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import InputError
from evenhand.io.designs import read_design_panel, read_pairs


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["case_study_2_scores.csv", "case_study_2_workbook.xlsx"])
def test_case_study_2_is_read_from_csv_and_from_the_workbook(shared_data: Path, name: str) -> None:
    panel = eh.read_panel(shared_data / name)
    assert (panel.n_objects, panel.n_assessors, panel.n_assessments) == (43, 11, 86)
    assert (panel.confidence, panel.factor, panel.notes) == ("level", 1.75, ())
    fit = eh.calibrate(panel, gauge="zero_sum")
    assert fit.values.estimate[panel.objects.index("OA")] == pytest.approx(88.8341194578904, abs=1e-9)
    assert fit.biases.estimate[panel.assessors.index("AA")] == pytest.approx(-25.215077677871694, abs=1e-9)


def test_labels_stay_as_they_are_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "paper,reviewer,score\n007,A,1\n7,A,2\n 7,B,3\n007,B,4\n")
    panel = eh.read_panel(path)
    assert panel.objects == ("007", "7", " 7")
    assert [note.kind for note in panel.notes] == ["similar_labels"]


def test_a_wide_sheet_is_read_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "candidate,Ann,Bob\nx,1,2\ny,3,\nz,5,6\n")
    panel = eh.read_panel(path, wide=True)
    assert panel.assessors == ("Ann", "Bob")
    assert panel.score.tolist() == [1.0, 2.0, 3.0, 5.0, 6.0]
    with pytest.raises(InputError, match="row 3, column Bob: the score 'bad'"):
        eh.read_panel(write(tmp_path / "b.csv", "candidate,Ann,Bob\nx,1,2\ny,3,bad\n"), wide=True)
    with pytest.raises(InputError, match="wide sheet"):
        eh.read_panel(path, wide=True, score="Ann")


def test_decimal_commas_go_with_semicolons(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "object;assessor;score;sd\nx;A;12,5;1,5\ny;A;13;0,5\n")
    panel = eh.read_panel(path)
    assert panel.score.tolist() == [12.5, 13.0]
    np.testing.assert_allclose(panel.precision, [1 / 2.25, 4.0])
    assert panel.confidence == "uncertainty"


def test_rows_that_only_hold_results_are_no_assessments(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "Objects,Assessors,Score,,Objects,True Value\nx,A,1,,x,1\ny,A,2,,y,2\n,,,,z,3\n")
    panel = eh.read_panel(path)
    assert panel.n_assessments == 2
    assert panel.notes == ()


def test_texts_for_empty_cells_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "object,assessor,score\nx,A,void\nx,B,1\n")
    with pytest.raises(InputError, match="'void' is not a number"):
        eh.read_panel(path)
    panel = eh.read_panel(path, missing=["void"])
    assert panel.n_assessments == 1
    assert {note.kind for note in panel.notes} == {"not_assessed", "unassessed_assessor"}


def test_pairs_are_read_from_columns_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "paper,why,reviewer\n1,spouse,Ann\n2,,Bob\n")
    assert read_pairs(path) == [("Ann", "1"), ("Bob", "2")]
    with pytest.raises(InputError, match="no column of assessors"):
        read_pairs(write(tmp_path / "b.csv", "paper,why\n1,x\n"))
    with pytest.raises(InputError, match="row 3: a pair needs both"):
        read_pairs(write(tmp_path / "c.csv", "object,assessor\n1,A\n2,\n"))


def test_two_columns_of_one_name_are_noted_unless_they_stand_apart(tmp_path: Path) -> None:
    for header, kinds in (
        ("object,object,assessor,score", ["column_twice"]),
        ("object,assessor,score,object", ["column_twice"]),
        ("object,assessor,score,assessor", ["column_twice"]),
        ("object,assessor,score,", []),
    ):
        panel = eh.read_panel(write(tmp_path / "a.csv", f"{header}\nx,x,x,1\n".replace("x,x,x,1", _row_of(header))))
        assert [note.kind for note in panel.notes] == kinds
        assert panel.objects == ("x",)
    apart = "object,assessor,score,,object,value\nx,A,1,,x,1\n"
    assert eh.read_panel(write(tmp_path / "b.csv", apart)).notes == ()


def _row_of(header: str) -> str:
    return ",".join({"object": "x", "assessor": "A", "score": "1", "": ""}[name] for name in header.split(","))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("1.000", "2.500"), ["decimal_point"]),
        (("1.000", "500"), ["decimal_point"]),
        (("1.000", "2.5"), []),
        (("0.125", "2.500"), []),
        (("1", "2"), []),
    ],
)
def test_points_that_may_separate_thousands_are_noted(tmp_path: Path, cells: tuple[str, str], said: list[str]) -> None:
    text = "object;assessor;score\n1.001;A;{}\n1.002;A;{}\n".format(*cells)
    panel = eh.read_panel(write(tmp_path / "a.csv", text))
    assert [note.kind for note in panel.notes] == said
    assert panel.score.tolist() == [float(cell) for cell in cells]
    if said:
        assert panel.notes[0].message == (
            "points are read as decimal marks, as in 1.000. Every one has three digits behind it: if they separate "
            "thousands, take them out."
        )
    assert eh.read_panel(write(tmp_path / "b.csv", text.replace(";", ","))).notes == ()


def test_a_cell_that_is_corrected_by_hand_is_said_and_one_that_is_confirmed_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "object,assessor,score\nx,A,770\nx,B,70\ny,A,60\ny,B,50\n")
    panel = eh.read_panel(path, corrections={"2:score": "77", "3:score": "70.0", "5:score": ""})
    told = [note.message for note in panel.notes if note.kind == "corrected"]
    assert told == [
        "2 cells corrected by hand: row 2, column score: 770 is read as 77; row 5, column score: 50 is read as empty."
    ]
    assert panel.reading is not None
    assert panel.reading.confirmed == ("3:score",)
    assert path.read_text(encoding="utf-8").startswith("object,assessor,score\nx,A,770\n")


def test_an_expected_standard_deviation_of_a_design_is_a_positive_number(tmp_path: Path) -> None:
    path = write(tmp_path / "plan.csv", "assessor,object,uncertainty\nA,x,5\nB,x,none\n")
    with pytest.raises(InputError, match="positive number of points") as caught:
        read_design_panel(path)
    assert (caught.value.kind, caught.value.where) == ("bad_cell", "plan.csv, row 3")
