"""`fltheory simulate` and `fltheory results`: the same bits however an experiment is run, and what is printed."""

import hashlib
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.cli import main
from analysis.simulate_command import (
    _as_json,
    _last,
    results_diff,
    results_export,
    results_show,
    results_table,
    simulate_file,
)
from fltheory.errors import InputError
from sims import store as stored
from sims.divergence import Diverged, Stopped
from sims.experiment import parse, read
from sims.montecarlo import replicates
from sims.montecarlo.simulate import simulate
from sims.store import Run

FILES = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))
EXAMPLES = [file for file in FILES if 'kind = "simulate"' in file.read_text()]

FILE = """
kind = "simulate"
rounds = 30
replicates = 23
seed = 5

[problem]
name = "quadratic"
curvature = [1, 2, 4]
centre = [-1, "1/2", 2]
noise = { kind = "gaussian", std = 1 }

[process]
name = "markov"
p = [0.1, 0.5, 0.9]

[[algorithm]]
name = "fedavg"
label = "FedAU"
local_lr = 0.05
local_steps = 5
weighting = { name = "fedau", cutoff = inf }

[[algorithm]]
name = "mifa"
local_lr = 0.05

[record]
what = ["model", "objective_gap", "weight_error", "cohort_size"]
every = 10
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An experiment of three chunks for each algorithm."""
    monkeypatch.setattr(replicates, "LARGEST", 10)
    path = tmp_path / "experiment.toml"
    path.write_text(FILE)
    return path


def quietly(path, store, **options):
    return simulate(read(path), store=store, **options)


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
    assert quietly(file, store).sha256 == whole.sha256


def test_a_process_that_comes_second_takes_the_run_that_is_there(file, tmp_path, monkeypatch):
    """Its chunks are cleared away by the one that finished first."""
    store, original = tmp_path / "store", replicates.Replicates.__call__
    finished = quietly(file, tmp_path / "elsewhere")

    def overtaken(task, chunk, rng):
        result = original(task, chunk, rng)
        if chunk == 1:
            stored.save(store, finished.key, finished.experiment, finished.data())
            raise FileNotFoundError
        return result

    monkeypatch.setattr(replicates.Replicates, "__call__", overtaken)
    assert quietly(file, store).sha256 == finished.sha256


def diverging(**options):
    content = {
        "kind": "simulate",
        "rounds": 4000,
        "replicates": 6,
        "problem": {"name": "quadratic", "curvature": [1, 2, 4], "centre": [-1, 1, 2]},
        "process": {"name": "bernoulli", "p": [0.5, 0.5, 1]},
        "algorithm": [
            {"name": "fedavg", "label": "fine", "local_lr": 0.01},
            {"name": "fedavg", "label": "too far", "local_lr": 0.9, "local_steps": 1, "global_lr": 2},
        ],
        "record": {"what": ["model"], "every": 1},
    }
    return parse(content | options)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_divergence_keeps_what_was_recorded(tmp_path, workers):
    says = (
        r"too far, round \d+: the update of client 2 is no longer finite with local_lr 0.9 and global_lr 2; .* 0.5; .*$"
    )
    with pytest.raises(Diverged, match=says) as caught:
        simulate(diverging(), store=tmp_path, workers=workers)
    (run,) = stored.runs(tmp_path)
    assert (run.status, run.reason) == ("partial", str(caught.value))
    data = run.data()
    assert data.filter(pl.col("algorithm") == "fine").height == 6 * 4001
    rounds = data.filter(pl.col("algorithm") == "too far")["round"].max()
    assert f"round {rounds}:" in str(caught.value)
    assert np.isfinite(data["model_0"].to_numpy()).all()
    with pytest.raises(Diverged, match=says):  # and again, from the chunk that was kept
        simulate(diverging(), store=tmp_path, workers=workers)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_round_that_cannot_be_run_keeps_what_was_recorded(tmp_path, workers):
    """Sequential SGD meets two clients at some time."""
    visits = {"name": "sequential_sgd", "label": "visits", "local_lr": 0.1}
    few = {"name": "bernoulli", "p": 0.03}
    made = diverging(rounds=300, process=few, algorithm=[diverging().algorithm[0].canonical(), visits])
    says = r"^visits, round \d+: cohort must be one client a round for sequential SGD; got '2 clients'$"
    with pytest.raises(Stopped, match=says) as caught:
        simulate(made, store=tmp_path, workers=workers)
    assert not isinstance(caught.value, Diverged)
    (run,) = stored.runs(tmp_path)
    assert (run.status, run.reason) == ("partial", str(caught.value))
    data = run.data()
    assert data.filter(pl.col("algorithm") == "fine").height == 6 * 301
    rounds = data.filter(pl.col("algorithm") == "visits")["round"].max()
    assert f"round {rounds}:" in str(caught.value)


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


def test_a_chunk_is_bounded_in_memory_and_depends_on_the_experiment_alone():
    def size(**options):
        made = diverging(**options)
        return replicates.chunk_size(made, 0)

    assert size(replicates=10_000) == replicates.LARGEST
    assert size(replicates=10_000, rounds=10**6) == replicates.BYTES // (3 * 10**6)
    assert size(replicates=10_000, rounds=10**8) == 1
    assert size(replicates=5) == 5


# ---- what is printed -----------------------------------------------------------------------------------------


def test_the_summary_is_of_the_last_round_that_has_a_metric(file, tmp_path):
    text = simulate_file(file, store=tmp_path / "store", progress=False)
    run = stored.runs(tmp_path / "store")[0]
    lines = text.splitlines()
    assert lines[0].split() == [run.key[:12], "complete", str(run.folder)]
    assert lines[1].split() == ["algorithm", "metric", "round", "mean", "std.", "error", "replicates"]
    assert len(lines) == 2 + 4 + 3 + 1  # MIFA has no weights; the last line says that rounds differ
    gaps = run.data().filter(pl.col("algorithm") == "FedAU", pl.col("round") == 30)["objective_gap"]
    (shown,) = (line.split() for line in lines if line.startswith("FedAU") and "objective_gap" in line)
    assert shown[2:] == ["30", f"{gaps.mean():.6g}", f"{gaps.std() / 23**0.5:.2g}", "23"]
    (weights,) = (line.split() for line in lines if "weight_error" in line)
    assert weights[2] == "20"
    as_json = json.loads(simulate_file(file, store=tmp_path / "store", progress=False, as_json=True))
    assert as_json["key"] == run.key
    assert [row["round"] for row in as_json["last"]] == [20, 30, 30, 20, 20, 30, 30]
    assert json.loads(results_show(run.key[:8], tmp_path / "store", as_json=True)) == as_json


def test_the_table_lists_and_filters(file, tmp_path):
    store = tmp_path / "store"
    simulate_file(file, store=store, progress=False)
    file.write_text(FILE.replace("seed = 5", "seed = 6").replace("markov", "bernoulli"))
    simulate_file(file, store=store, progress=False)
    lines = results_table(store).splitlines()
    assert lines[0].split() == [
        "key",
        "status",
        "problem",
        "process",
        "algorithms",
        "rounds",
        "replicates",
        "seed",
        "remark",
    ]
    assert len(lines) == 3
    (only,) = results_table(store, ["process.name=bernoulli", "seed=6"]).splitlines()[1:]
    assert only.split()[1:] == ["complete", "quadratic", "bernoulli", "FedAU,", "mifa", "30", "23", "6"]
    assert len(json.loads(results_table(store, as_json=True))) == 2
    assert results_table(store, ["seed=7"]).splitlines() == [
        "key  status  problem  process  algorithms  rounds  replicates  seed  remark"
    ]
    with pytest.raises(InputError, match="where must be place=value"):
        results_table(store, ["seed"])
    a, b = (line.split()[0] for line in lines[1:])
    text, same = results_diff(a, b, store)
    assert not same
    assert "experiment.process.name: " in text
    assert "data: objective_gap differs" in text
    assert results_export(a, tmp_path / "run.csv", store) == str(tmp_path / "run.csv")
    assert pl.read_csv(tmp_path / "run.csv").height == 23 * 4 * 2


def test_the_command_takes_a_scale_and_no_nameless_store(file, tmp_path, monkeypatch, capsys):
    file.write_text(f"{FILE}\n[scale.smoke]\nrounds = 2\nreplicates = 3\n")
    monkeypatch.chdir(tmp_path)
    for arguments, code, says in (
        (["simulate", str(file), "--scale", "smoke"], 0, "complete  results/"),
        (["simulate", str(file), "--scale", "laptop"], 2, "fltheory: scale must be one of smoke; got 'laptop'"),
        (["simulate", str(file), "--store", ""], 2, "fltheory: --store must be a folder; got ''"),
        (["results", "list", "--store="], 2, "fltheory: --store must be a folder; got ''"),
        (["results", "list"], 0, "complete"),
    ):
        monkeypatch.setattr(sys, "argv", ["fltheory", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        told = capsys.readouterr()
        assert (stop.value.code or 0) == code, told
        assert says in (told.err if code else told.out)
        assert not code or told.err.count("\n") == 1
    (run,) = stored.runs("results")
    assert (run.experiment["rounds"], run.experiment["replicates"]) == (2, 3)


def test_one_replicate_has_no_standard_error(tmp_path):
    run = simulate(diverging(replicates=1, rounds=5), store=tmp_path)
    assert "nan" in results_show(run.key, tmp_path)
    assert json.loads(results_show(run.key, tmp_path, as_json=True))["last"][0]["standard_error"] is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": "threads"}, 'backend must be "loky" or "dask"'),
        ({"scheduler": "tcp://here:1"}, 'scheduler must be given with backend "dask" only'),
        ({"workers": 0}, "workers must be a whole number of at least 1"),
    ],
)
def test_bad_options_are_one_sentence(file, tmp_path, options, says):
    with pytest.raises(InputError, match=says):
        quietly(file, tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(example, tmp_path):
    from sims import preflight

    experiment = read(example)
    preflight.check(experiment)
    assert parse(json.loads(experiment.canonical)).key == experiment.key


# ---- dask ----------------------------------------------------------------------------------------------------

HAS_DASK = importlib.util.find_spec("distributed") is not None


def test_without_dask_the_extra_is_named(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(
        InputError, match=r"backend must be installed first: pip install 'fltheory\[cluster\]'; got 'dask'"
    ):
        quietly(file, tmp_path / "store", backend="dask")


@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere://", "127.0.0.1"])
def test_a_scheduler_that_is_not_there_is_one_sentence(file, tmp_path, monkeypatch, address):
    from sims.montecarlo import simulate as module

    monkeypatch.setattr(module, "CONNECT", 1)
    with pytest.raises(InputError, match="scheduler must be the address of a running Dask scheduler") as caught:
        quietly(file, tmp_path / "store", backend="dask", scheduler=address)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_scheduler_without_workers_is_one_sentence(file, tmp_path, monkeypatch):
    from dask.distributed import LocalCluster

    from sims.montecarlo import simulate as module

    monkeypatch.setattr(module, "CONNECT", 1)
    says = r"^scheduler must be a Dask scheduler with a worker \(none took a task in 1 s\); got 'tcp://.*'$"
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, pytest.raises(InputError, match=says):
        quietly(file, tmp_path / "store", backend="dask", scheduler=cluster.scheduler_address)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_of_two_processes_gives_the_same_bits(file, tmp_path):
    from dask.distributed import LocalCluster

    whole = quietly(file, tmp_path / "whole")
    assert quietly(file, tmp_path / "own", workers=2, backend="dask").sha256 == whole.sha256
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        found = quietly(file, tmp_path / "given", backend="dask", scheduler=cluster.scheduler_address)
    assert found.sha256 == whole.sha256


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_run_that_ended_early_says_what_it_lacks(tmp_path):
    other = {"name": "fedavg", "local_lr": 0.01, "label": "other"}
    made = diverging(algorithm=[diverging().algorithm[1].canonical(), other], record={"what": ["cohort_size", "model"]})
    with pytest.raises(Diverged):
        simulate(made, store=tmp_path)
    text = results_show(made.key, tmp_path)
    assert text.endswith("\nnot run, as the run ended before: other")
    told = json.loads(results_show(made.key, tmp_path, as_json=True), parse_constant=pytest.fail)
    assert told["remarks"] == ["not run, as the run ended before: other"]
    assert "too far, round " in results_table(tmp_path).splitlines()[1]


def test_an_infinite_metric_does_not_make_a_complete_run(tmp_path):
    """Local steps of this size leave the model finite for a while, but not its objective."""
    made = diverging(
        problem={"name": "quadratic", "curvature": [1e30, 1e30, 1e30], "centre": [1e60, 0, 0]},
        rounds=50,
        algorithm={"name": "fedavg", "local_lr": 1000},
        record={"what": ["squared_gradient"], "every": 2},
    )
    with pytest.raises(Diverged, match=r"^fedavg, round \d+: squared_gradient is no longer finite with local_lr 1000 "):
        simulate(made, store=tmp_path)
    assert stored.runs(tmp_path)[0].status == "partial"


def test_minus_infinity_is_shown_as_a_number(tmp_path):
    with pytest.raises(InputError, match=r"p must be a finite number; got -inf$"):
        simulate(diverging(process={"name": "bernoulli", "p": -np.inf}), store=tmp_path)


def test_a_training_that_diverged_shows_its_data_and_why(tmp_path):
    problem = {"name": "training", "data": {"name": "digits", "size": 8}, "model": "mlp", "partition": "iid"}
    made = {"problem": problem, "process": {"name": "bernoulli"}, "rounds": 9, "replicates": 2, "seed": 3}
    made |= {"algorithm": [{"label": "a"}, {"label": "b"}, {"label": "c"}]}
    key = hashlib.sha256(json.dumps(made, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    data = pl.DataFrame({"algorithm": ["a"] * 2, "replicate": [0, 1], "round": [9, 9], "train_loss": [1.0, 3.0]})
    why = (
        "b, replicate 0: round 0: the model is no longer finite; c, replicate 1: round 0: the model is no longer finite"
    )
    stored.save(tmp_path, key, made, data, remark=why)
    (line,) = results_table(tmp_path).splitlines()[1:]
    assert line.split()[1:3] == ["complete", "digits"]
    assert "b, replicate 0: round 0" in line
    shown = results_show(key[:12], tmp_path)
    assert f"complete ({why})" in shown
    assert "not run" not in shown
    told = json.loads(results_show(key[:12], tmp_path, as_json=True))
    assert (told["reason"], told["remarks"]) == (why, [])
    made["problem"] = problem | {"data": "digits"}
    key = hashlib.sha256(json.dumps(made, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    stored.save(tmp_path, key, made, data)
    assert results_table(tmp_path).count("digits") == 2


def test_metrics_of_different_rounds_are_said_to_be(file, tmp_path):
    remark = "not all of the same round"
    assert remark in simulate_file(file, store=tmp_path, progress=False)
    file.write_text(FILE.replace(', "weight_error", "cohort_size"', ""))
    assert remark not in simulate_file(file, store=tmp_path, progress=False)


def test_infinite_values_are_shown_without_a_warning(tmp_path, recwarn):
    data = pl.DataFrame({"algorithm": ["a"] * 2, "replicate": [0, 1], "round": [0, 0], "gap": [np.inf, 1.0]})
    run = Run(tmp_path, "0" * 64, "partial", "a, round 1", {"algorithm": [{"label": "a"}]}, {}, 2, None)
    rows = _last(data)
    assert rows[0]["mean"] == np.inf
    assert json.loads(_as_json(run, rows), parse_constant=pytest.fail)["last"][0]["mean"] == "inf"
    assert not recwarn.list


def test_memory_that_does_not_hold_the_run_is_one_sentence(file, tmp_path, monkeypatch):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(replicates, "Simulation", full)
    with pytest.raises(InputError, match="rounds must be fewer, or recorded less often"):
        simulate_file(file, store=tmp_path, progress=False)


@pytest.mark.parametrize("where", ["concat", "DataFrame"])
def test_memory_that_does_not_hold_the_joined_data_is_one_sentence(file, tmp_path, monkeypatch, where):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(pl, where, full)
    with pytest.raises(InputError, match=r"replicates must be fewer, or recorded less often: .*; got 23$"):
        simulate_file(file, store=tmp_path, progress=False)
