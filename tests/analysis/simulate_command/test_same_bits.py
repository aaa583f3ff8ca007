"""The same bits however an experiment is run: workers, interruptions, kills, damaged files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from analysis.simulate_command import (
    results_diff,
    results_show,
)
from fltheory.errors import InputError
from sims import store as stored
from sims.montecarlo import replicates
from tests.analysis.simulate_command.made import quietly


def test_one_or_two_workers_give_the_same_bits(file, tmp_path):
    one = quietly(file, tmp_path / "one")
    two = quietly(file, tmp_path / "two", workers=2)
    assert one.sha256 == two.sha256
    assert one.data().equals(two.data())
    text, same = results_diff(str(one.folder), str(two.folder))
    assert same
    assert text == f"same bits: {23 * 4 * 2} rows of {one.key[:12]}"


def test_data_hold_every_replicate_and_recorded_round_once(file, tmp_path):
    data = quietly(file, tmp_path / "store").data()
    assert data.columns == [
        "algorithm",
        "replicate",
        "round",
        "cohort_size",
        "model_0",
        "objective_gap",
        "weight_error",
    ]
    index = data.select("algorithm", "replicate", "round")
    assert index.unique().height == index.height == 2 * 23 * 4
    assert data["round"].unique().sort().to_list() == [0, 10, 20, 30]
    last = data.filter(pl.col("round") == 30)
    assert last["cohort_size"].null_count() == last.height
    assert data["objective_gap"].null_count() == 0
    mifa = data.filter(pl.col("algorithm") == "mifa")
    assert mifa["weight_error"].null_count() == mifa.height  # an algorithm without weights
    # common random numbers: both see the same clients, in every replicate and round
    sizes = data.pivot("algorithm", index=["replicate", "round"], values="cohort_size")
    assert sizes["FedAU"].equals(sizes["mifa"], null_equal=True)
    models = data.filter(pl.col("round") == 30, pl.col("algorithm") == "FedAU")["model_0"]
    assert models.n_unique() == 23


def test_a_finished_run_is_not_computed_again(file, tmp_path, monkeypatch):
    run = quietly(file, tmp_path / "store")
    calls = []
    original = replicates.Replicates.__call__
    monkeypatch.setattr(replicates.Replicates, "__call__", lambda *args: calls.append(args) or original(*args))
    assert quietly(file, tmp_path / "store") == run
    assert not calls
    assert quietly(file, tmp_path / "store", resume=False) == run
    assert len(calls) == 6
    assert not (run.folder / "chunks").exists()


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(file, tmp_path, monkeypatch):
    whole = quietly(file, tmp_path / "whole")
    original, calls = replicates.Replicates.__call__, []

    def interrupted(task, chunk, rng):
        calls.append(chunk)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(task, chunk, rng)

    monkeypatch.setattr(replicates.Replicates, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quietly(file, tmp_path / "store")
    (partial,) = stored.runs(tmp_path / "store")
    assert (partial.status, partial.reason) == ("partial", "interrupted")
    assert partial.rows == (23 + 10) * 4
    assert partial.data().equals(whole.data().head(partial.rows))
    assert "partial (interrupted)" in results_show(partial.key, tmp_path / "store")
    assert quietly(file, tmp_path / "store").sha256 == whole.sha256
    assert len(calls) == 4 + 1 + 2  # four chunks were kept
    assert [run.status for run in stored.runs(tmp_path / "store")] == ["complete"]


def test_a_whole_run_stays_alone_where_computing_it_again_is_stopped(file, tmp_path, monkeypatch):
    """Whatever is kept would never be gone on with: the whole run is there."""
    run, original = quietly(file, tmp_path / "store"), replicates.Replicates.__call__
    before, seen = sorted(run.folder.iterdir()), []

    def interrupted(task, chunk, rng):
        if chunk == 1:
            seen.extend(sorted(run.folder.iterdir()))  # what a kill at this moment would leave
            raise KeyboardInterrupt
        return original(task, chunk, rng)

    monkeypatch.setattr(replicates.Replicates, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quietly(file, tmp_path / "store", resume=False)
    assert sorted(run.folder.iterdir()) == seen == before
    assert quietly(file, tmp_path / "store") == run


KILLED = """
import sys, time
from pathlib import Path
from sims.experiment import read
from sims.montecarlo import replicates
from sims.montecarlo.simulate import simulate
from sims.store import Run

replicates.LARGEST = 10
compute = replicates.Replicates.__call__
def slowly(task, chunk, rng):
    time.sleep(0.2)
    return compute(task, chunk, rng)
replicates.Replicates.__call__ = slowly
simulate(read(sys.argv[1]), store=sys.argv[2])
"""


def test_kill_9_and_resume_give_the_same_bits(file, tmp_path):
    whole, store = quietly(file, tmp_path / "whole"), tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file), str(store)], env=os.environ | {"PYTHONPATH": "."}
    )
    deadline = time.monotonic() + 60
    while len(list(store.rglob("*.npz"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (partial,) = stored.runs(store)
    assert (partial.status, partial.reason) == ("partial", "not finished")
    kept = {chunk: chunk.stat().st_mtime_ns for chunk in store.rglob("*.npz")}
    assert 2 <= len(kept) < 6
    said = f"{len(kept)} parts kept beside these rows: fltheory simulate goes on with them"
    assert results_show(partial.key, store).splitlines()[-1] == said
    assert json.loads(results_show(partial.key, store, as_json=True))["remarks"] == [said]
    assert quietly(file, store).sha256 == whole.sha256


@pytest.mark.parametrize("when", ["it reads", "it writes"])
def test_a_process_that_comes_second_takes_the_run_that_is_there(when, file, tmp_path, monkeypatch):
    """Its chunks are cleared away by the one that finished first."""
    store, original = tmp_path / "store", replicates.Replicates.__call__
    finished = quietly(file, tmp_path / "elsewhere")

    def overtaken(task, chunk, rng):
        result = original(task, chunk, rng)
        if chunk == 1:
            run = stored.save(store, finished.key, finished.experiment, finished.data())
            shutil.rmtree(run.folder / "chunks")
            if when == "it reads":
                raise FileNotFoundError
        return result

    monkeypatch.setattr(replicates.Replicates, "__call__", overtaken)
    assert quietly(file, store).sha256 == finished.sha256


def test_a_process_that_begins_anew_takes_nothing_from_one_that_runs(file, tmp_path, monkeypatch):
    store, original, calls = tmp_path / "store", replicates.Replicates.__call__, []
    finished = quietly(file, tmp_path / "elsewhere")

    def joined(task, chunk, rng):
        calls.append(chunk)
        if len(calls) == 3:
            with pytest.raises(KeyboardInterrupt):
                quietly(file, store, resume=False)
        elif len(calls) == 5:
            raise KeyboardInterrupt
        return original(task, chunk, rng)

    monkeypatch.setattr(replicates.Replicates, "__call__", joined)
    assert quietly(file, store).sha256 == finished.sha256
    assert calls == [0, 1, 2, 0, 1, 0, 1, 2]  # the two between are those of the other one, which was stopped


@pytest.mark.parametrize("damage", [b"", b"PAR1"])
def test_a_damaged_run_is_computed_again(file, tmp_path, caplog, damage):
    whole, run = (quietly(file, tmp_path / name) for name in ("whole", "store"))
    data = run.folder / f"{run.sha256}.parquet"
    data.write_bytes(damage)
    with pytest.raises(InputError, match="run must be one whose data can be read"):
        results_diff(str(whole.folder), str(run.folder))
    assert quietly(file, tmp_path / "store") == run
    (said,) = caplog.messages
    assert said.startswith("warning: computing again, as run must be one whose data can be read")
    assert results_diff(str(whole.folder), str(run.folder))[1]
    caplog.clear()
    (run.folder / "complete.json").write_text("{")
    assert quietly(file, tmp_path / "store") == run
    assert "complete.json is damaged" in caplog.text
