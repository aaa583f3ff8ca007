"""The store: whole or not at all, found again, compared and exported."""

import errno
import hashlib
import json
import multiprocessing
import os
import shutil

import numpy as np
import polars as pl
import pytest

from fltheory.errors import InputError
from sims import store as stored
from sims.store import files
from tests.sims.store.made import EXPERIMENT, KEY, OTHER, SECOND, frame, key_of


def test_what_was_saved_is_read(tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    assert (run.status, run.reason, run.rows, run.experiment) == ("complete", "", 6, EXPERIMENT)
    assert run.data().equals(frame())
    assert stored.complete(tmp_path, KEY) == run
    assert [found.key for found in stored.runs(tmp_path)] == [KEY]
    assert sorted(file.suffix for file in run.folder.iterdir()) == [".json", ".parquet"]
    manifest = json.loads((run.folder / "complete.json").read_text())
    assert manifest["seed"] == 3
    assert manifest["versions"]["numpy"] == np.__version__


def test_partial_runs_say_so_and_never_displace_a_complete_one(tmp_path):
    stored.begin(tmp_path, KEY, EXPERIMENT)
    (begun,) = stored.runs(tmp_path)
    assert (begun.status, begun.reason, begun.sha256) == ("partial", "not finished", None)
    assert begun.data().is_empty()
    assert stored.complete(tmp_path, KEY) is None
    partial = stored.save(tmp_path, KEY, EXPERIMENT, frame(rows=2), partial="interrupted")
    assert (partial.status, partial.reason, partial.rows) == ("partial", "interrupted", 2)
    stored.begin(tmp_path, KEY, EXPERIMENT)
    assert stored.runs(tmp_path)[0].reason == "interrupted"
    stored.save(tmp_path, KEY, EXPERIMENT, frame())
    after = stored.save(tmp_path, KEY, EXPERIMENT, frame(rows=2), partial="a slower process")
    assert (after.status, after.rows) == ("complete", 6)
    assert after.data().equals(frame())


def test_nothing_of_a_partial_run_stays_beside_what_replaces_it(tmp_path):
    for rows in (2, 4):
        partial = stored.save(tmp_path, KEY, EXPERIMENT, frame(rows=rows), partial="interrupted")
        assert {file.name for file in partial.folder.iterdir()} == {"partial.json", f"{partial.sha256}.parquet"}
    whole = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    files_of_a_whole_run = {"complete.json", f"{whole.sha256}.parquet"}
    assert {file.name for file in whole.folder.iterdir()} == files_of_a_whole_run
    stored.save(tmp_path, KEY, EXPERIMENT, frame(rows=2), partial="a slower process")
    assert {file.name for file in whole.folder.iterdir()} == files_of_a_whole_run
    assert partial.data().equals(frame())  # by one who found the partial run before


def test_all_rows_of_a_run_that_was_interrupted_at_its_end_are_those_of_the_whole(tmp_path):
    partial = stored.save(tmp_path, KEY, EXPERIMENT, frame(), partial="interrupted")
    whole = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    assert whole.sha256 == partial.sha256
    assert whole.data().equals(frame())


def test_the_content_hash_sees_names_types_and_every_value():
    frames = [
        frame(),
        frame(shift=1e-16),
        frame().rename({"gap": "gaps"}),
        frame().with_columns(pl.col("round").cast(pl.Int32)),
        frame().with_columns(pl.col("algorithm").str.replace("a", "c")),
        frame(rows=4),
    ]
    assert len({files.content_hash(one) for one in frames}) == len(frames)
    assert files.content_hash(frame()) == files.content_hash(frame())


def write_often(store, partial):
    for _ in range(30):
        stored.save(store, KEY, EXPERIMENT, frame(rows=2 if partial else 6), partial="half" if partial else "")


@pytest.mark.slow
def test_a_full_disk_leaves_the_run_that_was_there(tmp_path, monkeypatch):
    """Also where the data would fit and their manifest does not."""
    before = stored.save(tmp_path, KEY, EXPERIMENT, frame(rows=2), partial="half")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for write in ("write_bytes", "write_text"):
        with monkeypatch.context() as patch:
            patch.setattr(files.Path, write, full)
            with pytest.raises(OSError, match="No space left"):
                stored.save(tmp_path, KEY, EXPERIMENT, frame())
        (run,) = stored.runs(tmp_path)
        assert run == before
        assert run.data().equals(frame(rows=2))
        assert not list(tmp_path.rglob("*.tmp"))


def test_two_processes_that_write_one_key_leave_a_whole_run(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(tmp_path, partial)) for partial in (False, True, False)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        if tmp_path.exists() and (found := stored.runs(tmp_path)):
            assert found[0].data().height in (0, 2, 6)  # whatever is seen meanwhile is whole
            seen += 1
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen
    (run,) = stored.runs(tmp_path)
    assert run.data().equals(frame())
    assert sorted(file.name for file in run.folder.iterdir()) == sorted([f"{run.sha256}.parquet", "complete.json"])


@pytest.mark.parametrize(
    ("place", "text", "found"),
    [
        ("algorithm.local_lr", "5e-2", True),
        ("algorithm.local_lr", "0.05", True),
        ("algorithm.local_lr", "0.051", False),
        ("algorithm.local_steps", "1.0", True),
        ("algorithm.local_steps", "true", False),
        ("algorithm.warm", "true", True),
        ("algorithm.warm", "1", False),
        ("process.p", "[0.10, 5e-1]", True),
        ("process.p", "[" * 5000, False),
        ("process.name", "'cyclic'", True),
        ("process.name", "cyclic", True),
        ("problem.centre", "1/2", True),
        ("problem.centre", "0.5", False),
    ],
)
def test_numbers_are_found_in_any_spelling(tmp_path, place, text, found):
    contestant = {"name": "fedavg", "label": "a", "local_lr": 0.05, "local_steps": 1, "warm": True}
    experiment = {
        **EXPERIMENT,
        "problem": {"name": "quadratic", "centre": "1/2"},
        "process": {"name": "cyclic", "p": [0.1, 0.5]},
        "algorithm": [contestant],
    }
    key = hashlib.sha256(json.dumps(experiment, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    stored.save(tmp_path, key, experiment, frame())
    assert len(stored.runs(tmp_path, {place: text})) == found


def test_runs_are_found_by_key_folder_and_values(tmp_path):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    other = stored.save(tmp_path, OTHER, SECOND, frame(), partial="interrupted")
    assert stored.find(KEY[:5], tmp_path) == run
    assert stored.find(other.folder, tmp_path / "nowhere") == other
    for where, keys in (
        ({"process.name": "cyclic"}, [OTHER]),
        ({"rounds": "2"}, [KEY]),
        ({"algorithm.label": "b"}, sorted([KEY, OTHER])),
        ({"status": "partial", "seed": "3"}, [OTHER]),
        ({"rounds": "2", "process.name": "cyclic"}, []),
    ):
        assert [found.key for found in stored.runs(tmp_path, where)] == keys, where
    with pytest.raises(InputError, match="where must be a place in the experiment"):
        stored.runs(tmp_path, {"process.nme": "cyclic"})
    for nothing in ("", " "):
        with pytest.raises(InputError, match=r"run must be a folder, or the beginning of a key; got ' ?'"):
            stored.find(nothing, tmp_path)
    with pytest.raises(InputError, match="run must be the folder of a run, with its manifest"):
        stored.find(str(tmp_path / "nowhere" / KEY), tmp_path)
    third = {
        **EXPERIMENT,
        "seed": next(s for s in range(99) if key_of({**EXPERIMENT, "seed": s})[0] == KEY[0] and s != 3),
    }
    stored.save(tmp_path, key_of(third), third, frame())
    with pytest.raises(InputError, match="run must be the beginning of one key only"):
        stored.find(KEY[0], tmp_path)
    shutil.rmtree(tmp_path / key_of(third))
    with pytest.raises(InputError, match=f"run must be one of {min(KEY, OTHER)[:12]}, {max(KEY, OTHER)[:12]}"):
        stored.find("x", tmp_path)
    with pytest.raises(InputError, match="store must be a folder with results"):
        stored.find("b", tmp_path / "nowhere")


def test_the_empty_reference_is_refused_though_the_store_has_one_run(tmp_path):
    stored.save(tmp_path, KEY, EXPERIMENT, frame())
    with pytest.raises(InputError, match="run must be a folder, or the beginning of a key; got ''"):
        stored.find("", tmp_path)


def test_a_run_is_found_from_within_its_folder(tmp_path, monkeypatch):
    run = stored.save(tmp_path, KEY, EXPERIMENT, frame())
    monkeypatch.chdir(run.folder)
    assert stored.find(".", "results").key == KEY


def test_equal_numbers_of_other_bits_are_not_the_same(tmp_path):
    zero = pl.lit(0.0).alias("gap")
    size = pl.when(pl.col("size").is_null()).then(np.nan).otherwise("size").alias("size")
    for number, (one, two) in enumerate(
        [
            (frame().with_columns(zero), frame().with_columns(-zero)),
            (frame(), frame().with_columns(size)),
            (frame(), frame().reverse()),
            (frame(), frame().with_columns(pl.col("round").cast(pl.Int32))),
        ]
    ):
        first, second = (
            stored.save(tmp_path / f"{number}{x}", KEY, EXPERIMENT, data) for x, data in (("a", one), ("b", two))
        )
        (line,) = stored.differences(first, second)
        assert line.startswith("data: equal numbers, other bits"), number
        assert stored.differences(first, first) == []


def test_differences(tmp_path):
    run = stored.save(tmp_path / "one", KEY, EXPERIMENT, frame())
    assert stored.differences(run, stored.save(tmp_path / "two", KEY, EXPERIMENT, frame())) == []
    changed = frame().with_columns(
        pl.when(pl.col("replicate") == 2).then(pl.col("gap") + 1e-3).otherwise("gap").alias("gap")
    )
    other = stored.save(tmp_path / "three", KEY, EXPERIMENT, changed)
    assert stored.differences(run, other) == [
        "data: gap differs in 2 of 6 rows, by up to 0.001, first for 'a', replicate 2, round 0"
    ]
    (run.folder / f"{run.sha256}.parquet").write_bytes(b"damaged")
    with pytest.raises(InputError, match="run must be one whose data can be read"):
        stored.differences(run, stored.find(tmp_path / "two" / KEY, tmp_path))
    run = stored.save(tmp_path / "one", KEY, EXPERIMENT, frame())
    less = frame(rows=4).rename({"size": "cohort"})
    fourth = {**EXPERIMENT, "seed": 4}
    part = stored.save(tmp_path / "four", key_of(fourth), fourth, less, partial="interrupted")
    assert stored.differences(run, part) == [
        "experiment.seed: 3 and 4",
        f"status: {key_of(fourth)[:12]} is partial (interrupted)",
        "data: only the second has cohort",
        "data: only the first has size",
        "data: 2 rows are in the first only",
    ]
    begun = stored.begin(tmp_path / "five", KEY, EXPERIMENT)
    assert "data: only the first has gap" in stored.differences(run, stored.find(begun, tmp_path))
    missing = frame().with_columns(pl.lit(1.0).alias("size"))
    (line,) = stored.differences(run, stored.save(tmp_path / "six", KEY, EXPERIMENT, missing))
    assert line == (
        "data: size differs in 5 of 6 rows, by up to 4, only one of them has a number in 1, "
        "first for 'a', replicate 0, round 0"
    )
    alone = frame().with_columns(pl.col("size").fill_null(0.0))
    (line,) = stored.differences(run, stored.save(tmp_path / "seven", KEY, EXPERIMENT, alone))
    assert "size differs in 1 of 6 rows, only one of them has a number in 1, first for 'a'" in line


def test_partial_runs_with_the_same_data_are_said_to_be_the_same(tmp_path):
    one, two = (stored.save(tmp_path / name, KEY, EXPERIMENT, frame(), partial="interrupted") for name in "ab")
    assert stored.differences(one, two) == [
        *[f"status: {KEY[:12]} is partial (interrupted)"] * 2,
        "data: the same bits, 6 rows",
    ]


def test_versions_are_named_only_where_data_differ(tmp_path, monkeypatch):
    run = stored.save(tmp_path / "one", KEY, EXPERIMENT, frame())
    monkeypatch.setattr(files, "versions", lambda: {**run.versions, "numpy": "0.0"})
    assert stored.differences(run, stored.save(tmp_path / "two", KEY, EXPERIMENT, frame())) == []
    lines = stored.differences(run, stored.save(tmp_path / "three", KEY, EXPERIMENT, frame(1.0)))
    assert lines[0] == f"version of numpy: {np.__version__} and 0.0"


def test_exports(tmp_path):
    run = stored.save(tmp_path / "store", KEY, EXPERIMENT, frame().with_columns(pl.lit(np.inf).alias("bound")))
    stored.export(run, tmp_path / "data.csv")
    back = pl.read_csv(tmp_path / "data.csv", schema_overrides={"size": pl.Float64})
    assert back.equals(run.data())
    stored.export(run, tmp_path / "data.json")
    whole = json.loads((tmp_path / "data.json").read_text(), parse_constant=pytest.fail)
    assert (whole["key"], whole["experiment"], whole["status"]) == (KEY, EXPERIMENT, "complete")
    assert whole["columns"]["gap"] == run.data()["gap"].to_list()
    assert whole["columns"]["bound"] == ["inf"] * 6
    with pytest.raises(InputError, match=r"path must be a name that ends in .csv or .json"):
        stored.export(run, tmp_path / "data.xlsx")
    with pytest.raises(InputError, match="path must be a path in a folder that is there"):
        stored.export(run, tmp_path / "nowhere" / "data.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="path must be a file that can be written"):
        stored.export(run, tmp_path / "folder.csv")
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "data.json", "folder.csv", "store"]


def test_a_store_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="store must be a folder that can be written"):
        stored.begin(tmp_path / "file", KEY, EXPERIMENT)
    for use in (stored.runs, lambda store: stored.begin(store, KEY, {}), lambda store: stored.complete(store, KEY)):
        with pytest.raises(InputError, match="store must be a folder for results; got ''"):
            use("")


@pytest.mark.parametrize("name", ["complete.json", "partial.json", "models.npz", "runs/0-0.npz"])
def test_a_folder_in_the_place_of_a_file_is_told_before_a_run(name, tmp_path):
    (tmp_path / KEY / name).mkdir(parents=True)
    with pytest.raises(InputError, match=rf"^store must be one in which .*{name} is a file .*, and no folder; got"):
        stored.begin(tmp_path, KEY, EXPERIMENT)
