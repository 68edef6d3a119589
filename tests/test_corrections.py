"""Cells read as something else than stands in the file, and columns that the user names."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import InputError
from evenhand.io.panels import read_cells
from evenhand.io.settled import save

WIDE = "Proposal,Adeyemi,Brandt,Ito,Average\nP1,60,70,8O,65\nP2,50,,55,52\nP3,40,42,41,41\nP4,,52,51,51\n"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    place = tmp_path / "wide.csv"
    place.write_text(WIDE, encoding="utf-8")
    return place


def scores(panel: eh.Panel) -> dict[tuple[str, str], float]:
    pairs = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
    return {
        (panel.objects[o], panel.assessors[a]): score for (o, a), score in zip(pairs, panel.score.tolist(), strict=True)
    }


def test_a_cell_is_read_as_told_and_the_file_stays(wide: Path) -> None:
    with pytest.raises(InputError, match="8O"):
        eh.read_panel(wide)
    assert scores(eh.read_panel(wide, corrections={"2:Ito": "80"}))["P1", "Ito"] == 80
    assert ("P1", "Ito") not in scores(eh.read_panel(wide, corrections={"2:Ito": ""}))
    assert wide.read_text(encoding="utf-8") == WIDE


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".json"])
def test_every_kind_of_file_can_be_corrected(tmp_path: Path, suffix: str) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {"object": ["a", "a", "b", "b"], "assessor": ["x", "y", "x", "y"], "score": [6.0, 70.0, 50.0, 40.0]}
    )
    place = tmp_path / f"scores{suffix}"
    if suffix == ".xlsx":
        frame.write_excel(place)
    else:
        {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".json": frame.write_json}[suffix](place)
    row = int(eh.read_panel(place).rows[0])  # type: ignore[index]
    found = eh.read_panel(place, corrections={f"{row}:score": "60"})
    assert scores(found)["a", "x"] == 60
    assert scores(found)["b", "y"] == 40


def test_a_row_after_the_last_is_a_new_one_where_several_of_its_cells_are_given(tmp_path: Path) -> None:
    place = tmp_path / "scores.csv"
    place.write_text("object,assessor,score\na,x,60\na,y,70\nb,x,50\n", encoding="utf-8")
    for row in (5, 9):
        added = {f"{row}:object": "b", f"{row}:assessor": "y", f"{row}:score": "55"}
        found = eh.read_panel(place, corrections=added)
        assert scores(found) == {**scores(eh.read_panel(place)), ("b", "y"): 55}
        assert found.cell_of(3) == (row, "score")
    with pytest.raises(InputError, match="no cell in row"):
        eh.read_panel(place, corrections={"5:score": "55"})


@pytest.mark.parametrize("place", ["9:Ito", "2:Nobody", "Ito", "x:Ito", ""])
def test_a_place_that_is_none_is_refused(wide: Path, place: str) -> None:
    with pytest.raises(InputError, match="no cell in row"):
        eh.read_panel(wide, corrections={place: "5"})


def test_named_columns_are_the_assessors_whatever_they_look_like(wide: Path) -> None:
    options = {"layout": "wide", "corrections": {"2:Ito": "80"}}
    assert eh.read_panel(wide, **options).assessors == ("Adeyemi", "Brandt", "Ito")  # type: ignore[arg-type]
    told = eh.read_panel(wide, columns=["Brandt", "Average"], **options)  # type: ignore[arg-type]
    assert told.assessors == ("Brandt", "Average")
    assert told.reading is not None
    assert [one.column for one in told.reading.left_out] == ["Adeyemi", "Ito"]
    with pytest.raises(InputError, match="layout"):
        eh.read_panel(wide, columns=["Brandt", "Ito"])
    with pytest.raises(InputError, match="labels the rows"):
        eh.read_panel(wide, layout="wide", columns=["Proposal", "Ito"])


def test_the_column_of_a_score_is_known(wide: Path, tmp_path: Path) -> None:
    reading = eh.read_panel(wide, corrections={"2:Ito": "80"}).reading
    assert reading is not None
    assert reading.column_of("P1", "Ito") == "Ito"
    (tmp_path / "long.csv").write_text("object,assessor,score\na,x,1\na,y,2\nb,x,3\nb,y,5\n", encoding="utf-8")
    reading = eh.read_panel(tmp_path / "long.csv").reading
    assert reading is not None
    assert reading.column_of("a", "x") == "score"


def test_corrections_are_settled_beside_the_file_and_typed_on_the_command_line(wide: Path) -> None:
    save(wide, {"corrections": {"2:Ito": "80"}})
    assert scores(eh.read_panel(wide))["P1", "Ito"] == 80
    done = CliRunner().invoke(main, ["check", str(wide), "--correct", "2:Ito=", "--correct", "5:Brandt=50"])
    assert done.exit_code == 0, done.output
    assert "9 assessments" in done.output


def test_the_cells_of_a_file_can_be_looked_at_whatever_they_mean(wide: Path) -> None:
    table = read_cells(wide, corrections={"2:Ito": "80"})
    assert table.names == ("Proposal", "Adeyemi", "Brandt", "Ito", "Average")
    assert table.row_numbers.tolist() == [2, 3, 4, 5]
    assert table.columns[3][0] == "80"


def test_an_assessor_of_the_name_of_grant_is_one(tmp_path: Path) -> None:
    place = tmp_path / "wide.csv"
    place.write_text("proposal,Grant,Horvat,Ito\nP1,63,62,\nP2,70,,81\nP3,,55,60\nP4,44,50,52\n", encoding="utf-8")
    assert eh.read_panel(place).assessors == ("Grant", "Horvat", "Ito")
    place.write_text("grant,Anna,Ben\nG1,63,62\nG2,70,60\nG3,50,55\n", encoding="utf-8")
    assert eh.read_panel(place).objects == ("G1", "G2", "G3")
