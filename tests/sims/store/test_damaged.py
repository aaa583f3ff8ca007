"""Runs whose data or manifest are damaged or of another form: told, in the way of no other run, and replaced."""

import json
import re
import shutil
from contextlib import suppress

import polars as pl
import pytest

from analysis.simulate_command import results_table
from fltheory.errors import InputError
from sims import store as stored
from tests.sims.store.made import EXPERIMENT, KEY, OTHER, SECOND, frame, key_of


def test_damaged_data_are_refused_and_a_damaged_manifest_is_no_run(tmp_path, caplog):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    file = run.folder / f"{run.sha256}.parquet"
    frame(shift=1e-9).write_parquet(file)
    with pytest.raises(InputError, match="run must be one whose data are what its manifest says"):
        run.data()
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(InputError, match="run must be one whose data can be read") as caught:
        run.data()
    assert "\n" not in str(caught.value)
    file.unlink()
    with pytest.raises(InputError, match=r"can be read \(\w+\.parquet is missing\); got") as caught:
        run.data()
    assert "POLARS" not in str(caught.value)
    (run.folder / "complete.json").write_text('{"key"')
    assert stored.complete(tmp_path, KEY) is None
    (tmp_path / "a folder of something else").mkdir()
    (tmp_path / "a file").touch()
    caplog.clear()
    assert stored.runs(tmp_path) == []
    manifest = run.folder / "complete.json"
    says = f"warning: {manifest} is damaged or of another version, run its experiment again"
    assert caplog.messages == [f"{says} (it is no JSON text)"]
    for content, why in (("null", "its fields are not those of a manifest"), ("{}", "it has no rows")):
        caplog.clear()
        manifest.write_text(content)
        assert stored.runs(tmp_path) == []
        assert caplog.messages == [f"{says} ({why})"]


def test_the_list_of_runs_tells_data_that_are_missing_or_cut(tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    file = run.folder / f"{run.sha256}.parquet"
    assert run.at_a_glance == ""
    whole = file.read_bytes()
    for content in (whole[:-1], whole[:3], b""):
        file.write_bytes(content)
        assert results_table(tmp_path).endswith("  its data are damaged")
    file.unlink()
    assert results_table(tmp_path).endswith("  its data are missing")


def test_data_whose_reader_panics_are_refused(tmp_path, capfd):
    """A byte here or there makes polars panic, which is no `Exception` and prints a traceback of its own."""
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    file = run.folder / f"{run.sha256}.parquet"
    whole = file.read_bytes()
    for place in range(40, 120):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        with suppress(InputError):
            run.data()
    assert capfd.readouterr().err == ""


def test_damaged_data_can_be_replaced(tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    file = run.folder / f"{run.sha256}.parquet"
    file.write_bytes(b"damaged")
    assert stored.save(tmp_path, KEY, EXPERIMENT, frame()).data().equals(frame())
    file.write_bytes(b"damaged")
    stored.discard(run)
    assert stored.complete(tmp_path, KEY) is None
    assert not list(run.folder.iterdir())


@pytest.mark.parametrize("reference", ["store/KEY", "KEY", "KEY[:9]"])
@pytest.mark.parametrize("others", [True, False])
def test_a_damaged_manifest_is_named_however_it_is_referred_to(reference, others, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = stored.save("store", KEY, EXPERIMENT, frame())
    if others:
        stored.save("store", OTHER, SECOND, frame())
    (run.folder / "complete.json").write_text("{")
    reference = reference.replace("KEY[:9]", KEY[:9]).replace("KEY", KEY)
    with pytest.raises(
        InputError, match=rf"run must be .* not damaged or of another version \(store/{KEY}/complete\.json is\); got"
    ):
        stored.find(reference, "nowhere" if "/" in reference else "store")


@pytest.mark.parametrize(
    "change",
    [
        *({"sha256": value} for value in (None, 3, "../elsewhere")),
        *({"key": value} for value in ("x", None, 1)),
        *({"experiment": value} for value in (None, 3, [], {**EXPERIMENT, "rounds": 3})),
        *({"seed": value} for value in (EXPERIMENT["seed"] + 1, "1", None)),
        *({"rows": value} for value in ("6", None, True, -1, 6.0)),
        *({"status": None}, {"reason": None}, {"versions": {"numpy": 2}}),
    ],
)
def test_a_manifest_with_wrong_fields_is_damaged(change, tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    manifest = run.folder / "complete.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    assert stored.complete(tmp_path, KEY) is None
    assert stored.runs(tmp_path) == []


@pytest.mark.parametrize("text", ["[" * 100_000, "3", "null", "[]", "{}", '"text"'])
def test_a_manifest_that_is_none_blocks_no_other_run(text, tmp_path, caplog):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    stored.save(tmp_path, OTHER, SECOND, frame())
    (run.folder / "complete.json").write_text(text)
    assert [found.key for found in stored.runs(tmp_path)] == [OTHER]
    (said,) = caplog.messages
    assert "complete.json is damaged" in said
    assert "\n" not in said
    assert stored.save(tmp_path, KEY, EXPERIMENT, frame()) == run


def test_another_number_of_rows_than_the_manifest_says(tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    manifest = run.folder / "complete.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"rows": 7}))
    with pytest.raises(InputError, match="run must be one whose data are what its manifest says"):
        stored.find(KEY, tmp_path).data()


@pytest.mark.parametrize(
    "experiment",
    [
        {},
        {**EXPERIMENT, "algorithm": "x"},
        {**EXPERIMENT, "algorithm": []},
        {**EXPERIMENT, "algorithm": [{"name": "a"}]},
        {**EXPERIMENT, "problem": None},
        {**EXPERIMENT, "process": {"name": 3}},
        {**EXPERIMENT, "rounds": "3"},
        {name: value for name, value in EXPERIMENT.items() if name != "replicates"},
    ],
)
def test_a_manifest_of_another_form_blocks_no_other_run(experiment, tmp_path, caplog):
    """Its key is that of its experiment, as after a change of the canonical form."""
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    key = key_of(experiment)
    manifest = json.loads((run.folder / "complete.json").read_text()) | {"key": key, "experiment": experiment}
    shutil.copytree(run.folder, tmp_path / key)
    (tmp_path / key / "complete.json").write_text(json.dumps(manifest))
    assert [found.key for found in stored.runs(tmp_path)] == [KEY]
    (said,) = caplog.messages
    assert "complete.json is damaged or of another version, run its experiment again" in said
    with pytest.raises(InputError, match="run must be one whose manifest is not damaged or of another version"):
        stored.find(key, tmp_path)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (frame().drop("round"), "the first columns are not algorithm, replicate, round"),
        (frame().drop("algorithm"), "the first columns are not algorithm, replicate, round"),
        (frame().with_columns(pl.col("gap").cast(pl.String)), "gap is of type String"),
        (frame().with_columns(pl.lit(["x"]).alias("gap")), "gap is of type List(String)"),
        (frame().with_columns(pl.col("round").cast(pl.Float64)), "round is of type Float64"),
        (pl.concat([frame(), frame(rows=2)]), "not one row for each of algorithm, replicate, round"),
        (frame().with_columns(replicate=pl.lit(None, pl.Int64)), "not one row for each of algorithm, replicate, round"),
    ],
)
def test_data_of_another_form_are_refused(data, fault, tmp_path):
    """What the manifest says of them holds: they were written so."""
    run = stored.save(tmp_path, KEY, EXPERIMENT, data)
    with pytest.raises(InputError, match=rf"^run must be one whose data have the form .* \({re.escape(fault)}\); got"):
        run.data()
    other = stored.save(tmp_path, OTHER, SECOND, frame())
    assert stored.runs(tmp_path) == sorted([run, other], key=lambda one: one.key)
    with pytest.raises(InputError, match="the form of this version"):
        stored.differences(other, run)
