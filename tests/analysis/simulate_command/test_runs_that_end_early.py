"""Runs that diverge or cannot go on keep what was recorded, and say why and what they lack."""

import hashlib
import json
import pickle

import numpy as np
import polars as pl
import pytest

from analysis.simulate_command import (
    results_show,
    results_table,
)
from sims import store as stored
from sims.divergence import Diverged, Stopped
from sims.montecarlo.simulate import simulate
from tests.analysis.simulate_command.made import diverging


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
