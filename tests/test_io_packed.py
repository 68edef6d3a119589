"""Packed panels: what goes in comes out, parts are whole, and what is damaged is refused."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli import main
from evenhand.errors import InputError
from evenhand.io import packed
from evenhand.io.coding import Labels
from evenhand.panel.panel import Panel
from panels import facts

TEXT = (
    "paper,reviewer,score,sd\nA1,Lee,6.5,0.5\nA1,Mo,8,1\nA2,Lee,4,0.5\nA2,Mo,5,2\nA3,Mo,7,1\nA3,Lee,,1\na3,Lee,6,1.5\n"
)


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    path = tmp_path / "scores.csv"
    path.write_text(TEXT)
    return eh.read_panel(path)


def random_panel(seed: int, objects: int, assessors: int, size: int) -> Panel:
    generator = np.random.default_rng(seed)
    size = max(size, objects, assessors)
    one = np.concatenate([np.arange(objects), generator.integers(0, objects, size - objects)])
    two = np.concatenate([np.arange(assessors), generator.integers(0, assessors, size - assessors)])
    return Panel.from_arrays(generator.permutation(one), generator.permutation(two), generator.normal(size=size))


def test_a_packed_panel_is_the_panel(panel: Panel, tmp_path: Path) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    again = eh.read_panel(place)
    assert facts(again) == facts(panel)
    assert [note.kind for note in again.notes] == ["not_assessed", "similar_labels"]
    assert isinstance(again.objects, Labels)
    assert again.object_index.dtype == np.uint32
    np.testing.assert_array_equal(eh.calibrate(again).values.estimate, eh.calibrate(panel).values.estimate)


def test_levels_keep_their_factor(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("object,assessor,score,level\nx,A,1,h\ny,A,2,l\n")
    panel = eh.read_panel(tmp_path / "a.csv", factor=2.0)
    assert facts(eh.read_panel(eh.pack_panel(panel, tmp_path / "packed"))) == facts(panel)


def test_the_layout_is_the_documented_one(panel: Panel, tmp_path: Path) -> None:
    place = eh.pack_panel(panel, tmp_path / "deep" / "packed", parts=2)
    files = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    assert files == [
        "assessors.parquet",
        "objects.parquet",
        "panel.json",
        "parts/part-00000.parquet",
        "parts/part-00001.parquet",
    ]
    manifest = json.loads((place / "panel.json").read_text())
    assert manifest.pop("fingerprint")
    assert [note["kind"] for note in manifest.pop("notes")] == [note.kind for note in panel.notes]
    assert manifest == {
        "format": "evenhand-panel",
        "version": 1,
        "objects": 4,
        "assessors": 2,
        "assessments": 6,
        "confidence": "uncertainty",
        "factor": None,
        "partitioned_by": "object",
        "parts": [
            {"file": "parts/part-00000.parquet", "rows": 4, "first": 0, "last": 1},
            {"file": "parts/part-00001.parquet", "rows": 2, "first": 2, "last": 3},
        ],
    }
    assert pl.read_parquet(place / "objects.parquet").to_dict(as_series=False) == {"label": ["A1", "A2", "A3", "a3"]}
    part = pl.read_parquet(place / "parts" / "part-00001.parquet")
    types = {"object": pl.UInt32, "assessor": pl.UInt32, "score": pl.Float64, "confidence": pl.Float64}
    assert dict(part.schema) == types


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 99), st.integers(1, 12), st.integers(1, 12), st.integers(1, 60), st.data())
def test_parts_hold_whole_members_of_the_larger_side_in_order(
    seed: int, objects: int, assessors: int, size: int, data: st.DataObject
) -> None:
    panel = random_panel(seed, objects, assessors, size)
    parts = data.draw(st.integers(1, max(objects, assessors)))
    with tempfile.TemporaryDirectory() as folder:
        place = eh.pack_panel(panel, Path(folder) / "packed", parts=parts)
        manifest = json.loads((place / "panel.json").read_text())
        again = eh.read_panel(place)
    rows = list(zip(panel.object_index.tolist(), panel.assessor_index.tolist(), panel.score.tolist(), strict=True))
    found = list(zip(again.object_index.tolist(), again.assessor_index.tolist(), again.score.tolist(), strict=True))
    side = 0 if objects >= assessors else 1
    if parts == 1:
        assert manifest["partitioned_by"] is None
        assert found == rows
        return
    assert manifest["partitioned_by"] == ("object", "assessor")[side]
    assert found == sorted(rows, key=lambda row: row[side])
    ends = [(part["first"], part["last"]) for part in manifest["parts"]]
    assert len(ends) == parts
    assert ends[0][0] == 0
    assert all(one[1] + 1 == two[0] for one, two in itertools.pairwise(ends))


def test_parts_are_about_equal(tmp_path: Path) -> None:
    panel = random_panel(3, 500, 40, 20_000)
    place = eh.pack_panel(panel, tmp_path / "packed", parts=7)
    rows = [part["rows"] for part in json.loads((place / "panel.json").read_text())["parts"]]
    most = int(panel.object_assessments.max())
    assert max(abs(count - 20_000 / 7) for count in rows) <= most


@pytest.mark.parametrize("parts", [0, 5])
def test_a_number_of_parts_that_cannot_be_is_refused(panel: Panel, tmp_path: Path, parts: int) -> None:
    with pytest.raises(InputError, match="1 to 4 parts"):
        eh.pack_panel(panel, tmp_path / "packed", parts=parts)
    assert not (tmp_path / "packed").exists()


def test_nothing_but_a_packed_panel_is_written_over(panel: Panel, tmp_path: Path) -> None:
    place = tmp_path / "packed"
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not overwritten"):
        eh.pack_panel(panel, place)
    assert (place / "thesis.txt").read_text() == "years of work"
    file = tmp_path / "file"
    file.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(place)
    for other in (file, link):
        with pytest.raises(InputError, match="not overwritten"):
            eh.pack_panel(panel, other)
    first = eh.pack_panel(panel, tmp_path / "twice", parts=2)
    eh.pack_panel(panel, first)
    assert not (first / "parts" / "part-00001.parquet").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "packed", "scores.csv", "twice"]


def test_a_directory_with_the_users_own_files_in_it_is_kept(panel: Panel, tmp_path: Path) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    (place / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not overwritten"):
        eh.pack_panel(panel, place)
    assert (place / "notes.txt").read_text() == "mine"


def test_what_fails_half_way_leaves_nothing_behind(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    before = (place / "panel.json").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(InputError, match="No space left"):
        eh.pack_panel(panel, place, parts=2)
    assert (place / "panel.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed", "scores.csv"]


def change_manifest(**changes: Any) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        manifest = json.loads((place / "panel.json").read_text())
        (place / "panel.json").write_text(json.dumps({**manifest, **changes}))

    return change


def change_part(**columns: Any) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        file = place / "parts" / "part-00000.parquet"
        frame = pl.read_parquet(file)
        frame.with_columns(pl.Series(name, cells, frame[name].dtype) for name, cells in columns.items()).write_parquet(
            file
        )

    return change


def seal(place: Path) -> None:
    """Make the fingerprint that of the files as they are now."""
    parts = json.loads((place / "panel.json").read_text())["parts"]
    files = [place / name for name in ("objects.parquet", "assessors.parquet", *(part["file"] for part in parts))]
    change_manifest(fingerprint=packed._fingerprint(files))(place)


def cut(name: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        (place / name).write_bytes((place / name).read_bytes()[:-20])

    return change


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "no json": lambda place: (place / "panel.json").write_text("{"),
    "not an object": lambda place: (place / "panel.json").write_text("[]"),
    "another format": change_manifest(format="other"),
    "another version": change_manifest(version=2),
    "no parts": change_manifest(parts=[]),
    "bad part": change_manifest(parts=[{"file": "../../secret", "rows": 6, "first": 0, "last": 2}]),
    "fewer rows": change_manifest(assessments=5),
    "more objects": change_manifest(objects=9),
    "no confidence": change_manifest(confidence="none"),
    "levels without factor": change_manifest(confidence="level"),
    "bad note": change_manifest(notes=[{"kind": 3}]),
    "cut part": cut("parts/part-00000.parquet"),
    "cut labels": cut("objects.parquet"),
    "missing part": lambda place: (place / "parts" / "part-00000.parquet").unlink(),
    "missing labels": lambda place: (place / "assessors.parquet").unlink(),
    "labels twice": lambda place: pl.DataFrame({"label": ["x", "x"]}).write_parquet(place / "assessors.parquet"),
    "other labels": lambda place: pl.DataFrame({"label": [1, 2]}).write_parquet(place / "assessors.parquet"),
    "code out of range": change_part(assessor=[0, 1, 0, 1, 1, 2]),
    "unused label": change_part(assessor=[0, 0, 0, 0, 0, 0]),
    "infinite score": change_part(score=[1.0, 2.0, 3.0, 4.0, 5.0, float("inf")]),
    "empty score": change_part(score=[1.0, 2.0, 3.0, 4.0, 5.0, None]),
    "zero confidence": change_part(confidence=[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
    "too few rows": lambda place: (
        pl.read_parquet(place / "parts" / "part-00000.parquet")
        .head(5)
        .write_parquet(place / "parts" / "part-00000.parquet")
    ),
    "another type": lambda place: (
        pl.read_parquet(place / "parts" / "part-00000.parquet")
        .cast({"object": pl.Int64})
        .write_parquet(place / "parts" / "part-00000.parquet")
    ),
}


@pytest.mark.parametrize(
    ("damage", "sealed"),
    [(damage, False) for damage in DAMAGES]
    + [(damage, True) for damage in list(DAMAGES)[list(DAMAGES).index("cut part") :] if "missing" not in damage],
)
def test_a_packed_panel_that_was_damaged_or_changed_is_refused_in_one_sentence(
    panel: Panel, tmp_path: Path, damage: str, sealed: bool
) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    DAMAGES[damage](place)
    if sealed:
        seal(place)
    with pytest.raises(InputError) as caught:
        eh.read_panel(place)
    assert caught.value.kind == "damaged"
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(". ") == 0


def test_a_changed_score_is_noticed(panel: Panel, tmp_path: Path) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    change_part(score=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])(place)
    with pytest.raises(InputError, match="the files are not those"):
        eh.read_panel(place)


def test_a_packed_panel_needs_no_other_process(panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed", parts=2)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("another process was started")

    monkeypatch.setattr("subprocess.Popen", refuse)
    assert eh.read_panel(place).n_assessments == panel.n_assessments


def test_parts_that_were_exchanged_are_noticed(panel: Panel, tmp_path: Path) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed", parts=2)
    change_part(object=[2, 2, 0, 0])(place)
    for words in ("the files are not those", "does not hold the codes"):
        with pytest.raises(InputError, match=words):
            eh.read_panel(place)
        seal(place)


def test_the_command_packs_and_all_others_read_what_it_packed(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(TEXT)
    place = tmp_path / "packed"
    run = CliRunner().invoke(main, ["pack", str(path), "-o", str(place), "--parts", "2"])
    assert run.exit_code == 0, run.output
    assert "packed in 2 parts." in run.stdout
    assert "Note: column score: 1 row has no score" in run.stdout
    answers = [CliRunner().invoke(main, ["check", str(file), "--json"]) for file in (path, place)]
    read, packed = (json.loads(answer.stdout) for answer in answers)
    assert (read.pop("reading")["object"], packed.pop("reading")) == ("paper", None)
    assert read == packed
    other = tmp_path / "other"
    other.write_text("mine")
    refused = CliRunner().invoke(main, ["pack", str(path), "-o", str(other)])
    assert refused.exit_code == 2
    assert "not overwritten" in refused.stderr


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        pl.exceptions.ComputeError("parquet: No space left on device (os error 28)\nmore"),
    ],
    ids=["of the system", "of the library"],
)
def test_a_full_disk_is_said_in_a_sentence_and_leaves_everything_as_it_was(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    place = eh.pack_panel(panel, tmp_path / "packed")
    before = sorted(tmp_path.rglob("*"))
    write = pl.DataFrame.write_parquet

    def fail(self: pl.DataFrame, file: Path, **options: Any) -> None:
        if "part-" in Path(file).name:
            raise error
        write(self, file, **options)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    for target in (place, tmp_path / "other"):
        with pytest.raises(InputError, match=r"cannot be written: .*No space left on device") as caught:
            eh.pack_panel(panel, target)
        assert (caught.value.kind, str(caught.value).count("\n")) == ("unwritable", 0)
    assert sorted(tmp_path.rglob("*")) == before
    assert facts(eh.read_panel(place)) == facts(panel)
