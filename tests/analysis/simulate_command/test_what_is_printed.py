"""What `fltheory simulate` and `fltheory results` print of a run, as text and as JSON."""

import json
import re
import sys

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
from sims.montecarlo.simulate import simulate
from sims.store import Run
from tests.analysis.simulate_command.made import FILE, diverging


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
        "memory",
        "remark",
    ]
    assert len(lines) == 3
    (only,) = results_table(store, ["process.name=bernoulli", "seed=6"]).splitlines()[1:]
    assert only.split()[1:] == ["complete", "quadratic", "bernoulli", "FedAU,", "mifa", "30", "23", "6"]
    assert len(json.loads(results_table(store, as_json=True))) == 2
    assert results_table(store, ["seed=7"]).splitlines() == [
        "key  status  problem  process  algorithms  rounds  replicates  seed  memory  remark"
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


def test_a_folder_where_a_file_of_the_store_would_be_is_told(file, tmp_path, monkeypatch, capsys):
    run = simulate_file(file, store=tmp_path, progress=False) and stored.runs(tmp_path)[0]
    (run.folder / "complete.json").unlink()
    (run.folder / "complete.json").mkdir()
    monkeypatch.setattr(sys, "argv", ["fltheory", "simulate", str(file), "--store", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.match(r"fltheory: store must be one in which .*complete.json is a file .*, and no folder; got", said)
    assert not (run.folder / "chunks").exists()  # before the run


def test_one_replicate_has_no_standard_error(tmp_path):
    run = simulate(diverging(replicates=1, rounds=5), store=tmp_path)
    assert "nan" in results_show(run.key, tmp_path)
    assert json.loads(results_show(run.key, tmp_path, as_json=True))["last"][0]["standard_error"] is None


def test_means_of_large_numbers_have_a_standard_error(tmp_path):
    for scale in (1.0, 2.0**-1074, 2.0**1022):
        values = [3 * scale, 1 * scale, 1 * scale, 3 * scale]
        data = pl.DataFrame({"algorithm": ["a"] * 4, "replicate": [0, 1, 2, 3], "round": [0] * 4, "gap": values})
        (row,) = _last(data)
        assert row["mean"] == 2 * scale
        assert row["standard_error"] == pytest.approx(scale / 3**0.5, rel=1e-14, abs=2.0**-1074)


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
