"""Calibration on a cluster gives what calibration in memory gives, whatever happens to the workers."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from evenhand.cli import main
from evenhand.cluster import blocks as kernel
from evenhand.cluster.blocks import make_block
from evenhand.cluster.calibrate import DistributedFit, calibrate_distributed
from evenhand.cluster.crew import Crew, local_cluster
from evenhand.cluster.solve import ACCURACY
from evenhand.errors import InputError, MissingPackageError, NotConnectedError, SolveError
from evenhand.io import pack_panel
from evenhand.models.additive import calibrate, incomplete_block
from evenhand.models.fit import Fit
from evenhand.panel.gauge import Anchor, Gauge, Reference
from evenhand.panel.panel import Panel
from evenhand.panel.simulate import simulate_panel
from evenhand.progress import listening
from panels import random_panel

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("dask.distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_cluster(2) as cluster, distributed.Client(cluster) as found:
        yield found


def test_workers_are_never_missed_while_a_client_renews_what_it_keeps(client: Any) -> None:
    with (
        dask.config.set({"distributed.client.scheduler-info-interval": "1ms"}),
        distributed.Client(client.scheduler.address) as other,
    ):
        crew = Crew(other)
        seen = {tuple(crew.workers()) for _time in range(300)}
        assert {len(workers) for workers in seen} == {2}
        assert crew.memory() > 0


# --- panels as files -----------------------------------------------------------------------------


def swapped(panel: Panel) -> Panel:
    """Return the panel with objects and assessors exchanged."""
    return Panel.from_arrays(panel.assessor_index, panel.object_index, panel.score, np.array(panel.precision))


def write_packed(panel: Panel, place: Path, *, parts: int = 3, by: str | None = "object") -> Path:
    """Write the directory of a packed panel, in parts by the codes of one side or in the order of the panel."""
    (place / "parts").mkdir(parents=True)
    codes = {"object": np.asarray(panel.object_index), "assessor": np.asarray(panel.assessor_index)}
    frame = pl.DataFrame(
        {
            "object": codes["object"].astype(np.uint32),
            "assessor": codes["assessor"].astype(np.uint32),
            "score": panel.score,
            "confidence": np.array(panel.precision),
        }
    )
    if panel.confidence == "none":
        frame = frame.drop("confidence")
    group = np.arange(panel.n_assessments) % parts
    if by is not None:
        group = codes[by].astype(np.int64) * parts // (int(codes[by].max()) + 1)
    listed = []
    for number in range(parts):
        part = frame.filter(pl.Series(group == number))
        file = f"parts/part-{number:05d}.parquet"
        part.write_parquet(place / file)
        entry: dict[str, Any] = {"file": file, "rows": len(part), "first": 0, "last": 0}
        if by is not None:
            entry |= {"first": int(codes[by][group == number].min()), "last": int(codes[by][group == number].max())}
        listed.append(entry)
    pl.DataFrame({"label": list(panel.objects)}).write_parquet(place / "objects.parquet")
    pl.DataFrame({"label": list(panel.assessors)}).write_parquet(place / "assessors.parquet")
    facts = {
        "format": "evenhand-panel",
        "version": 1,
        "objects": panel.n_objects,
        "assessors": panel.n_assessors,
        "assessments": panel.n_assessments,
        "confidence": panel.confidence,
        "factor": panel.factor,
        "partitioned_by": by,
        "parts": listed,
        "notes": [],
        "fingerprint": "",
    }
    (place / "panel.json").write_text(json.dumps(facts), encoding="utf-8")
    return place


def write_plain(panel: Panel, place: Path, parts: int = 3) -> Path:
    """Write a directory of Parquet files with labels."""
    place.mkdir()
    frame = panel.to_frame()
    if panel.confidence == "none":
        frame = frame.drop("confidence")
    for number in range(parts):
        frame[number::parts].write_parquet(place / f"scores-{number}.parquet")
    return place


def table(out: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(sorted((out / name).glob("*.parquet")))


def by_label(frame: pl.DataFrame, side: str, labels: Sequence[str]) -> pl.DataFrame:
    """Return the rows of a table in the order of labels, all of which must be there once."""
    assert sorted(frame[side].to_list()) == sorted(labels)
    return pl.DataFrame({side: list(labels)}).join(frame, on=side, how="left", maintain_order="left")


def assert_agrees(found: DistributedFit, fit: Fit, *, sd: float = 1e-9) -> None:
    """Compare every number that was written with the fit in memory."""
    summary = json.loads((found.out / "summary.json").read_text(encoding="utf-8"))
    assert summary == found.summary
    assert summary["panel"]["objects"] == fit.panel.n_objects
    assert summary["panel"]["assessors"] == fit.panel.n_assessors
    assert summary["panel"]["assessments"] == fit.panel.n_assessments
    assert summary["fit"]["degrees_of_freedom"] == fit.degrees_of_freedom
    np.testing.assert_allclose(summary["fit"]["residual"], fit.residual, rtol=1e-10)
    np.testing.assert_allclose(summary["fit"]["residual_scaled"], fit.residual_scaled, rtol=1e-10)
    assert summary["fit"]["noise_variance"] == pytest.approx(fit.noise_variance, rel=1e-10)
    for effects, side, name in ((fit.values, "object", "value"), (fit.biases, "assessor", "bias")):
        got = by_label(table(found.out, f"{side}s"), side, list(effects.labels))
        assert effects.sd is not None
        error = np.abs(got[name].to_numpy() - effects.estimate)
        scale = float(np.abs(effects.estimate).max())
        if sd <= 1e-9:  # dense, hence exact but for rounding
            assert error.max() <= 1e-10 * scale
        else:  # iterated: what is promised, in units of each one's own uncertainty
            assert (error <= ACCURACY * effects.sd).all()
        assert effects.lower is not None
        np.testing.assert_allclose(got["sd"], effects.sd, rtol=sd)
        np.testing.assert_allclose(got["lower"], effects.lower, rtol=0, atol=1e-10 * scale + sd * 4 * effects.sd.max())
        np.testing.assert_array_equal(got["assessments"], effects.assessments)
        np.testing.assert_allclose(got["total_confidence"], effects.total_confidence, rtol=1e-12)
    residuals = table(found.out, "residuals")
    assert len(residuals) == fit.panel.n_assessments
    np.testing.assert_allclose(
        np.sort(residuals["residual"].to_numpy()),
        np.sort(fit.residuals),
        rtol=0,
        atol=1e-9 * np.abs(fit.residuals).max(),
    )


# --- agreement -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Return a panel with more objects than assessors, some seen by nearly all, and confidences over two decades."""
    return random_panel(11, 60, 12, 240, decades=2.0)


@pytest.mark.parametrize("by", ["object", "assessor", None])
@pytest.mark.parametrize("turn", [False, True], ids=["more objects", "more assessors"])
def test_a_packed_panel_gives_what_memory_gives(
    client: Any, panel: Panel, tmp_path: Path, by: str | None, turn: bool
) -> None:
    seen = swapped(panel) if turn else panel
    source = write_packed(seen, tmp_path / "packed", by=by)
    gauge: Gauge = "zero_sum" if by is None else "weighted"
    found = calibrate_distributed(source, tmp_path / "out", cluster=client, gauge=gauge)
    fit = calibrate(seen, gauge=gauge)
    assert_agrees(found, fit)
    assert found.side == ("object" if turn else "assessor")
    assert found.summary["solver"]["partitioned_by"] == ("assessor" if turn else "object")
    assert found.summary["solver"]["blocks"] >= 2
    assert found.mu2 == pytest.approx(fit.connectivity.mu2, rel=1e-9)
    assert found.summary["fit"]["rms_uncertainty"] == pytest.approx(fit.rms_uncertainty, rel=1e-9)
    residuals = table(found.out, "residuals")
    assert residuals.schema["object"] == pl.UInt32
    where = {(o, a): r for o, a, _, r in residuals.iter_rows()}
    pairs = zip(seen.object_index.tolist(), seen.assessor_index.tolist(), strict=True)
    np.testing.assert_allclose([where[pair] for pair in pairs], fit.residuals, rtol=0, atol=1e-9)


@pytest.mark.parametrize("turn", [False, True], ids=["more objects", "more assessors"])
@pytest.mark.parametrize("gauge", [Reference(50.0), "zero_sum"], ids=str)
def test_files_with_labels_give_what_memory_gives(
    client: Any, panel: Panel, tmp_path: Path, turn: bool, gauge: Gauge
) -> None:
    seen = swapped(panel) if turn else panel
    found = calibrate_distributed(
        write_plain(seen, tmp_path / "plain"), tmp_path / "out", cluster=client, gauge=gauge, noise="declared"
    )
    assert_agrees(found, calibrate(seen, gauge=gauge, noise="declared"))
    assert table(found.out, "residuals").schema["object"] == pl.String


def test_perfect_agreement_is_noise_of_half_a_step_on_a_cluster_too(client: Any, panel: Panel, tmp_path: Path) -> None:
    whole = Panel.from_arrays(
        panel.object_index, panel.assessor_index, 2.0 * panel.object_index + 3.0 * panel.assessor_index, panel.precision
    )
    found = calibrate_distributed(write_plain(whole, tmp_path / "plain"), tmp_path / "out", cluster=client)
    fit = calibrate(whole)
    assert fit.residual == 0
    assert whole.step is not None
    freedom = fit.degrees_of_freedom
    wanted = (whole.step / 2) ** 2 * float(np.exp(np.log(whole.precision).mean())) * freedom / (freedom - 2)
    assert found.noise_variance == pytest.approx(wanted, rel=1e-12)
    for effects, side in ((fit.values, "object"), (fit.biases, "assessor")):
        assert effects.sd is not None
        got = by_label(table(found.out, f"{side}s"), side, list(effects.labels))
        np.testing.assert_allclose(got["sd"].to_numpy(), effects.sd, rtol=1e-9)
    assert [note["kind"] for note in found.summary["notes"]].count("grid") == 1


def test_incomplete_block_analysis_weighs_all_scores_alike(client: Any, panel: Panel, tmp_path: Path) -> None:
    source = write_plain(panel, tmp_path / "plain")
    found = calibrate_distributed(source, tmp_path / "out", cluster=client, method="iba", interval=0.5)
    assert_agrees(found, incomplete_block(panel, interval=0.5))


@pytest.mark.parametrize("parts", [1, 4])
def test_what_pack_writes_is_read(client: Any, panel: Panel, tmp_path: Path, parts: int) -> None:
    source = pack_panel(panel, tmp_path / "packed", parts=parts)
    assert_agrees(calibrate_distributed(source, tmp_path / "out", cluster=client), calibrate(panel))


def test_a_dask_frame_gives_what_memory_gives(client: Any, panel: Panel, tmp_path: Path) -> None:
    frames = pytest.importorskip("dask.dataframe")
    source = frames.from_pandas(panel.to_frame().to_pandas(), npartitions=3)
    assert_agrees(calibrate_distributed(source, tmp_path / "out", cluster=client), calibrate(panel))


def test_levels_and_whole_number_labels_are_read_as_in_memory(client: Any, tmp_path: Path) -> None:
    rows = [(o, a, 50.0 + 3 * o - 2 * a + (o * a) % 5, "hml"[(o + a) % 3]) for o in range(9) for a in range(4)]
    frame = pl.DataFrame(rows, schema=["paper", "reviewer", "mark", "confidence"], orient="row")
    (tmp_path / "plain").mkdir()
    frame[:20].write_parquet(tmp_path / "plain" / "a.parquet")
    frame[20:].write_parquet(tmp_path / "plain" / "b.parquet")
    found = calibrate_distributed(tmp_path / "plain", tmp_path / "out", cluster=client, factor=2.0)
    assert_agrees(found, calibrate(Panel.from_frame(frame, factor=2.0)))
    assert found.summary["panel"]["confidence"] == "level"
    assert found.summary["panel"]["factor"] == 2.0


def test_without_a_dense_matrix_estimates_are_as_exact_and_uncertainties_close(client: Any, tmp_path: Path) -> None:
    seen = simulate_panel(200, 40, per_object=3, seed=5).panel
    source = write_packed(seen, tmp_path / "packed")
    found = calibrate_distributed(source, tmp_path / "out", cluster=client, dense_limit=10, seed=4)
    assert found.summary["solver"]["name"] == "distributed iterative"
    error = found.summary["solver"]["sd_error"]
    assert error == pytest.approx(1 / np.sqrt(128))
    assert_agrees(found, calibrate(seen), sd=5 * error)
    assert found.mu2 is None
    assert any(note["kind"] == "mu2" for note in found.summary["notes"])
    again = calibrate_distributed(source, tmp_path / "again", cluster=client, dense_limit=10, seed=4)
    assert again.sd is not None
    assert found.sd is not None
    assert (again.sd == found.sd).all()
    other = calibrate_distributed(source, tmp_path / "other", cluster=client, dense_limit=10, seed=5)
    assert other.sd is not None
    assert (other.sd != found.sd).any()


# --- rows ----------------------------------------------------------------------------------------


def test_rows_without_a_score_are_left_out_and_counted(client: Any, panel: Panel, tmp_path: Path) -> None:
    source = write_plain(panel, tmp_path / "plain")
    more = pl.DataFrame(
        {"object": ["new", "0"], "assessor": ["0", None], "score": [None, float("nan")], "confidence": [None, 1.0]}
    )
    more.write_parquet(source / "zz.parquet")
    found = calibrate_distributed(source, tmp_path / "out", cluster=client)
    assert_agrees(found, calibrate(panel))
    assert [note["message"] for note in found.summary["notes"] if note["kind"] == "not_assessed"] == [
        "2 rows have no score and count as not assessed."
    ]


@pytest.mark.parametrize(
    ("column", "cell", "kind"),
    [
        ("score", float("inf"), "bad_score"),
        ("object", " ", "empty_label"),
        ("assessor", None, "empty_label"),
        ("confidence", 0.0, "bad_confidence"),
        ("confidence", -1.0, "bad_confidence"),
        ("confidence", None, "empty_confidence"),
        ("confidence", float("inf"), "bad_confidence"),
    ],
)
def test_a_bad_row_is_refused_by_file_and_row(
    client: Any, panel: Panel, tmp_path: Path, column: str, cell: Any, kind: str
) -> None:
    source = write_plain(panel, tmp_path / "plain")
    rows = pl.read_parquet(source / "scores-1.parquet").to_dicts()
    rows[4][column] = cell
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(source / "scores-1.parquet")
    with pytest.raises(InputError, match=f"scores-1.parquet, row 5, column {column}") as caught:
        calibrate_distributed(source, tmp_path / "out", cluster=client)
    assert caught.value.kind == kind
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["plain"]


def test_a_bad_row_of_a_packed_panel_is_refused(client: Any, panel: Panel, tmp_path: Path) -> None:
    source = write_packed(panel, tmp_path / "packed")
    file = source / "parts" / "part-00001.parquet"
    part = pl.read_parquet(file)
    part.with_columns(part["score"].set(pl.Series([False, True] + [False] * (len(part) - 2)), None)).write_parquet(file)
    with pytest.raises(InputError, match=r"part-00001\.parquet, row 2, column score"):
        calibrate_distributed(source, tmp_path / "out", cluster=client)


def test_a_second_score_by_the_same_assessor_is_refused_or_kept(client: Any, panel: Panel, tmp_path: Path) -> None:
    source = write_plain(panel, tmp_path / "plain")
    rows = pl.read_parquet(source / "scores-0.parquet")[:2]
    rows.write_parquet(source / "zz.parquet")
    with pytest.raises(InputError, match="2 repeated assessments in all"):
        calibrate_distributed(source, tmp_path / "out", cluster=client)
    kept = Panel.from_arrays(
        np.append(panel.object_index, [int(label) for label in rows["object"]]),
        np.append(panel.assessor_index, [int(label) for label in rows["assessor"]]),
        np.append(panel.score, rows["score"]),
        np.append(panel.precision, rows["confidence"]),
    )
    for limit in (100, 2):
        out = tmp_path / f"out-{limit}"
        found = calibrate_distributed(source, out, cluster=client, duplicates="keep", dense_limit=limit)
        assert_agrees(found, calibrate(kept), sd=1e-9 if limit == 100 else 0.4)


@pytest.mark.parametrize("limit", [100, 1])
def test_a_panel_that_is_not_connected_is_refused_in_a_sentence(client: Any, tmp_path: Path, limit: int) -> None:
    apart = Panel.from_arrays([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 2, 3, 2], [1.0, 2, 3, 5, 1, 2, 4])
    source = write_plain(apart, tmp_path / "plain")
    with pytest.raises(NotConnectedError, match=r"falls into 2 groups.*assessors 0, 1") as caught:
        calibrate_distributed(source, tmp_path / "out", cluster=client, dense_limit=limit)
    assert {tuple(assessors) for _, assessors in caught.value.components} == {("0", "1"), ("2", "3")}


# --- options and places --------------------------------------------------------------------------


def test_what_a_cluster_cannot_do_is_refused_before_any_work(panel: Panel, tmp_path: Path) -> None:
    source = write_packed(panel, tmp_path / "packed")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"gauge": Anchor("0")}, "weighted, zero_sum or reference"),
        ({"method": "sa"}, "cwc or iba"),
        ({"method": "iba", "noise": "declared"}, "weighs all scores alike"),
        ({"interval": 1.0}, "between 0 and 1"),
        ({"object": "paper"}, "no column to choose"),
        ({"cluster": "local"}, "is not a cluster"),
    ]
    for options, message in refused:
        with pytest.raises(InputError, match=message):
            calibrate_distributed(source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_nothing_but_earlier_results_is_replaced(client: Any, panel: Panel, tmp_path: Path) -> None:
    source = write_packed(panel, tmp_path / "packed")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text('{"format": "something else"}', encoding="utf-8")
    with pytest.raises(InputError, match="left alone"):
        calibrate_distributed(source, tmp_path / "mine", cluster=client)
    assert (tmp_path / "mine" / "summary.json").read_text(encoding="utf-8") == '{"format": "something else"}'
    out = tmp_path / "out"
    calibrate_distributed(source, out, cluster=client)
    (out / "objects" / "part-09999.parquet").write_bytes(b"left over")
    found = calibrate_distributed(source, out, cluster=client, method="iba")
    assert_agrees(found, incomplete_block(panel))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine", "out", "packed"]


def test_a_cluster_without_dask_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, panel: Panel) -> None:
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(MissingPackageError, match=r"evenhand\[distributed\]"):
        calibrate_distributed(write_packed(panel, tmp_path / "packed"), tmp_path / "out")


@pytest.mark.parametrize("fault", ["os.kill(os.getpid(), 9)", "raise RuntimeError('no')"])
def test_workers_that_die_while_starting_end_in_a_sentence(tmp_path: Path, panel: Panel, fault: str) -> None:
    preload = tmp_path / "preload.py"
    preload.write_text(f"import os\n{fault}\n", encoding="utf-8")
    source = write_packed(panel, tmp_path / "packed")
    with (
        dask.config.set({"distributed.worker.preload": [str(preload)]}),
        pytest.raises(
            SolveError, match=r"^The worker processes did not start \(Nanny failed to start\): .*\"local:1\"\.$"
        ),
    ):
        calibrate_distributed(source, tmp_path / "out", cluster="local:2")
    assert not (tmp_path / "out").exists()


def test_the_command_prints_a_summary_or_its_json(client: Any, panel: Panel, tmp_path: Path) -> None:
    source, out = str(write_packed(panel, tmp_path / "packed")), str(tmp_path / "out")
    address = client.scheduler.address
    shown = CliRunner().invoke(main, ["calibrate", source, "--cluster", address, "--out", out])
    assert shown.exit_code == 0, shown.output
    assert "60 objects, 12 assessors" in shown.output
    assert "esidual" in shown.output
    printed = CliRunner().invoke(main, ["calibrate", source, "--cluster", address, "--out", out, "--json"])
    assert printed.exit_code == 0, printed.output
    assert json.loads(printed.stdout) == json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "3"], "--top"),
        (["--grades", "50,60"], "--grades"),
        (["--sheet", "a"], "--sheet"),
        (["--per-component"], "--per-component"),
        (["--duplicates", "combine"], "combine"),
        (["--method", "sa"], "cwc or iba"),
    ],
)
def test_options_without_a_meaning_on_a_cluster_are_refused(
    panel: Panel, tmp_path: Path, options: list[str], message: str
) -> None:
    source = write_packed(panel, tmp_path / "packed")
    command = ["calibrate", str(source), "--cluster", "local:1", "--out", str(tmp_path / "out"), *options]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_cluster_needs_a_directory_for_its_results(panel: Panel, tmp_path: Path) -> None:
    source = write_packed(panel, tmp_path / "packed")
    result = CliRunner().invoke(main, ["calibrate", str(source), "--cluster", "local:1"])
    assert result.exit_code == 2
    assert "--out" in result.stderr


# --- blocks --------------------------------------------------------------------------------------


def test_long_and_short_rows_add_up_to_the_schur_complement() -> None:
    generator = np.random.default_rng(2)
    size, rows = 40, 30
    matrix = np.where(generator.random((rows, size)) < np.linspace(0.05, 0.9, rows)[:, None], 1.0, 0.0)
    matrix[:, 0] = 1.0
    matrix *= generator.uniform(0.5, 2.0, matrix.shape)
    row, column = np.nonzero(matrix)
    order = generator.permutation(row.size)
    block = make_block(row[order], column[order], generator.normal(size=row.size), matrix[row, column][order])
    whole = matrix.sum(axis=1)
    schur = np.diag(matrix.sum(axis=0)) - matrix.T @ (matrix / whole[:, None])
    tally = kernel.schur_of([block], size)
    np.testing.assert_allclose(np.triu(tally["links"], 1), -np.triu(schur, 1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal_of(block, size)["diagonal"], np.diagonal(schur), rtol=1e-12)
    vectors = generator.normal(size=(size, 3))
    np.testing.assert_allclose(kernel.apply_schur(block, vectors)["image"], schur @ vectors, atol=1e-12)
    spread = generator.normal(size=(size, size))
    spread = spread @ spread.T
    share = matrix / whole[:, None]
    np.testing.assert_allclose(kernel.variances_of(block, spread), ((share @ spread) * share).sum(axis=1), rtol=1e-12)


def test_random_scores_have_the_covariance_of_the_equations() -> None:
    seen = random_panel(4, 9, 4, 12)
    block = make_block(seen.object_index, seen.assessor_index, seen.score, np.array(seen.precision))
    noise = kernel.noise_gradient(block, (1, 0, 0), 4, 40_000)["gradient"]
    schur = kernel.apply_schur(block, np.eye(4))["image"]
    np.testing.assert_allclose(noise @ noise.T / 40_000, schur, atol=0.05 * float(np.abs(schur).max()))
    np.testing.assert_array_equal(noise, kernel.noise_gradient(block, (1, 0, 0), 4, 40_000)["gradient"])


# --- workers that die ----------------------------------------------------------------------------


def everything(out: Path) -> dict[str, Any]:
    """Return all that a result directory holds, to the last bit."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return {
        path.relative_to(out).as_posix(): pl.read_parquet(path).to_dict(as_series=False)
        if path.suffix == ".parquet"
        else path.read_text(encoding="utf-8")
        for path in files
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "task", "kind"),
    [
        (1000, "reading", "plain"),
        (1000, "summing up", "packed"),
        (1000, "writing", "plain"),
        (10, "solving", "packed"),
        (10, "writing", "plain"),
    ],
)
def test_a_worker_that_is_killed_changes_no_bit(tmp_path: Path, limit: int, task: str, kind: str) -> None:
    seen = simulate_panel(3000, 40, per_object=5, seed=8).panel
    write = write_packed if kind == "packed" else write_plain
    source = write(seen, tmp_path / "source", parts=8)
    killed: list[int] = []
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        calm = calibrate_distributed(source, tmp_path / "calm", cluster=client, dense_limit=limit)
        assert_agrees(calm, calibrate(seen), sd=1e-9 if limit > 40 else 0.5)

        def kill(doing: str, done: float, total: float | None) -> None:
            if doing == task and done >= (0 if total == 1 else 1) and not killed:
                victim = sorted(client.run(os.getpid).values())[0]
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        client.wait_for_workers(2)
        with listening(kill):
            calibrate_distributed(source, tmp_path / "rough", cluster=client, dense_limit=limit)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    assert everything(tmp_path / "rough") == everything(tmp_path / "calm")
