"""Theory beside practice: the table is what the ledger's bound gives at the estimates, and says what it rests on."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis import practice
from analysis.practice import TOTAL, beside, draw, standing, theorem_of, wanted
from fltheory.errors import InputError
from fltheory.ledger import ledger
from sims.experiment import parse
from sims.montecarlo.simulate import simulate
from sims.training.estimates import ESTIMATES

CONTENT = {
    "kind": "simulate",
    "rounds": 40,
    "replicates": 2,
    "seed": 1,
    "start": 4.0,
    "problem": {
        "name": "quadratic",
        "curvature": [2, 2, 2, 2],
        "centre": [-1, 0, 1, 2],
        "noise": {"kind": "gaussian", "std": 0.5},
    },
    "process": {"name": "bernoulli", "p": 0.5},
    "algorithm": [
        {
            "name": "fedavg",
            "label": "FedAU",
            "local_lr": 0.005,
            "local_steps": 2,
            "weighting": {"name": "fedau", "cutoff": 5},
        },
        {"name": "fedavg", "label": "FedAvg", "local_lr": 0.005, "local_steps": 2},
        {"name": "amplified", "local_lr": 0.002, "local_steps": 2, "amplification": 3, "interval": 8},
        {"name": "fedlaavg", "local_lr": 0.005, "local_steps": 2},
        {"name": "scaffold", "local_lr": 0.005},
    ],
    "record": {"what": ["squared_gradient"], "every": 4},
}


def experiment(**places):
    content = copy.deepcopy(CONTENT)
    for place, value in places.items():
        inner = content
        *path, last = place.split("__")
        for step in path:
            inner = inner[int(step) if step.isdigit() else step]
        inner[last] = value
    return content


def canonical(content):
    return json.loads(parse(content).canonical)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    what = list(wanted(canonical(CONTENT)))
    return simulate(parse(experiment(record__what=what)), store=tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def frame(run):
    return beside(run)


def row(frame, algorithm, at=40, replicate=0):
    same = (pl.col("algorithm") == algorithm) & (pl.col("round") == at) & (pl.col("replicate") == replicate)
    return frame.filter(same).row(0, named=True)


def series(run, algorithm, name, replicate=0):
    data = run.data()
    return data.filter((data["algorithm"] == algorithm) & (data["replicate"] == replicate))[name].to_numpy()


def test_there_is_a_row_for_every_record_after_the_first(frame):
    assert frame.height == 5 * 2 * 10
    assert frame["round"].unique().sort().to_list() == list(range(4, 41, 4))


def test_fedau_stands_beside_theorem_2(run, frame):
    """Equal curvatures: smoothness and heterogeneity are the exact constants, 2 and 2 max |c_n - mean c| = 3."""
    found = row(frame, "FedAU")
    assert (found["statement"], found["verdict"], found["conditions"], found["broken"]) == (
        "fedau.thm2", "proved", True, "",
    )  # fmt: skip
    assert found["smoothness"] == pytest.approx(2)
    assert found["heterogeneity"] == pytest.approx(3)
    squares = series(run, "FedAU", "squared_gradient")
    assert found["measured"] == pytest.approx(squares[:-1].mean())
    assert found["objective_gradient_bound"] == pytest.approx(np.sqrt(squares.max()))
    assert found["initial_gap"] == pytest.approx(3.5**2)  # (curvature / 2) (4 - 1/2)^2
    assert found["mean_weight_error"] == series(run, "FedAU", "mean_weight_error")[-1]
    assert found["weight_square"] == series(run, "FedAU", "largest_weight_square")[-1]
    names = {symbol.name for symbol in ledger["fedau.thm2"].bound.rhs.free_symbols} - {"rounds"}
    expected = ledger["fedau.thm2"].bound.at(rounds=40, **{name: found[name] for name in names})
    assert found["bound"] == pytest.approx(expected, rel=1e-12)
    assert found["bound"] > found["measured"]


def test_every_estimate_is_named_and_the_warning_is_there(frame):
    for algorithm in ("FedAU", "FedAvg", "amplified", "fedlaavg"):
        found = row(frame, algorithm)
        assert found["remarks"].startswith("samples and lower bounds stand for suprema")
        assert "no bound" in found["remarks"]
        assert "smoothness: lower bound, L" in found["estimates"]
        assert "noise_std: sample of a supremum, sigma" in found["estimates"]
        assert "initial_gap: exact, f(x_0) - f*" in found["estimates"]
        assert "averages are over one round in 4" in found["remarks"] or algorithm in ("amplified", "FedAvg")


def test_amplified_averages_over_the_starts_of_whole_intervals(run, frame):
    """Intervals of 8, recorded every 4: at round 36 the starts are 0, 8, 16 and 24; P <= T/2 fails before 16."""
    squares = series(run, "amplified", "squared_gradient")
    assert row(frame, "amplified", 36)["measured"] == pytest.approx(squares[[0, 2, 4, 6]].mean())
    assert row(frame, "amplified", 4)["measured"] is None
    nothing = "nothing is measured: the theorem averages over no recorded round before round"
    assert row(frame, "amplified", 4)["remarks"].endswith(f"{nothing} 4")
    assert nothing not in row(frame, "amplified", 8)["remarks"]
    assert row(frame, "amplified", 12)["broken"] == f"interval, {TOTAL}"
    found = row(frame, "amplified")
    assert (found["statement"], found["interval"], found["amplification"]) == ("amplified.thm31.average", 8, 3)
    assert found["round_divergence"] == np.nanmax(series(run, "amplified", "round_divergence"))
    names = {symbol.name for symbol in ledger["amplified.thm31"].bound.rhs.free_symbols} - {"rounds"}
    expected = ledger["amplified.thm31"].bound.at(rounds=40, **{name: found[name] for name in names})
    assert found["bound"] == pytest.approx(expected, rel=1e-12)


def test_before_the_first_whole_interval_conditions_are_those_that_can_be_told(tmp_path):
    """With intervals of 8 in 4 rounds none ends: P <= T/2 fails, and what asks for delta(P) is not known."""
    content = experiment(rounds=4, replicates=1, record__every=2)
    content["algorithm"] = [one for one in content["algorithm"] if one["name"] == "amplified"]
    content["record"]["what"] = list(wanted(canonical(content)))
    found = beside(simulate(parse(content), store=tmp_path))
    assert found["bound"].to_list() == found["measured"].to_list() == [None, None]
    assert found["conditions"].to_list() == [False, False]
    assert found["broken"].str.split(", ").list.contains("interval").all()
    assert found["remarks"].str.contains("no record has a value of interval_divergence").all()


def test_a_condition_that_cannot_be_told_is_neither_kept_nor_broken():
    claim = ledger["fedau.thm2"]
    constants = {symbol.name: 1.0 for symbol in claim.bound.rhs.free_symbols} | {"local_lr": 1e-9, "smoothness": np.nan}
    bound, holds, why = practice._evaluated(claim, constants)
    unknown = {name for name, one in claim.conditions.items() if "smoothness" in {s.name for s in one.free_symbols}}
    assert unknown
    assert holds.keys() == claim.conditions.keys() - unknown
    assert (bound, why) == (None, ["no record has a value of smoothness"])


def test_plain_fedavg_has_intervals_between_its_records(frame):
    found = row(frame, "FedAvg")
    assert (found["statement"], found["interval"], found["amplification"]) == ("amplified.thm31.average", 4, 1)


def test_weights_that_do_not_add_up_break_a_condition(run, frame):
    """Four clients with probability 1/2: in some round nobody takes part, and from there on the condition fails."""
    found = frame.filter(pl.col("algorithm") == "FedAvg")
    empty = np.concatenate([series(run, "FedAvg", "largest_total_error", one)[1:] for one in (0, 1)]) > 0.5
    assert 0 < empty.sum() < len(empty)
    assert found["broken"].str.contains(TOTAL).to_list() == empty.tolist()
    assert found["remarks"].str.contains("they do not in every round").to_list() == empty.tolist()
    assert found["conditions"].to_list() == (found["broken"] == "").to_list()
    assert not found["conditions"][-1]


def test_fedlaavg_stands_beside_its_repaired_twin(frame):
    found = row(frame, "fedlaavg")
    assert found["statement"] == "fedlaavg.thm4.repaired"
    assert "fedlaavg.thm4 is conditional, so that fedlaavg.thm4.repaired stands in its place" in found["remarks"]
    assert "virtual models" in found["remarks"]


def test_without_a_theorem_there_is_what_was_measured(frame):
    found = row(frame, "scaffold")
    assert found["bound"] is None
    assert found["measured"] > 0
    assert found["remarks"] == "none of the five papers has a theorem about scaffold"


def test_no_bound_is_below_what_was_measured_where_its_conditions_hold(frame):
    """Of these runs, also where nobody took part; an estimate may be too small: this is a habit and not a law."""
    held = frame.filter(pl.col("broken").is_in(["", TOTAL]) & pl.col("bound").is_not_null())
    held = held.filter(pl.col("measured").is_not_null())
    assert held.height > 50
    assert (held["measured"] <= held["bound"]).all()


def test_the_refuted_theorem_of_fast_is_replaced(tmp_path):
    snapshot = {"name": "snapshot", "size": 2, "otherwise": {"name": "uniform", "size": 1}, "interval": 3}
    content = experiment(
        algorithm=[{"name": "fedavg", "local_lr": 0.005, "local_steps": 2, "selection": snapshot}], rounds=12
    )
    content["record"]["what"] = list(wanted(canonical(content)))
    found = beside(simulate(parse(content), store=tmp_path)).row(-1, named=True)
    assert found["statement"] == "fast.thm1.repaired-A"
    assert "fast.thm1 is refuted, so that fast.thm1.repaired-A stands in its place" in found["remarks"]
    assert (found["snapshot_rate"], found["snapshot_clients"]) == (pytest.approx(4 / 12), 2)
    assert found["bound"] > found["measured"]


def test_a_statement_without_a_twin_that_stands_is_not_used(monkeypatch):
    assert standing("fedau.thm2")[1:] == ("proved", "")
    monkeypatch.setattr(practice.verdicts, "recorded", lambda: {"fedau.thm2": {"verdict": "refuted"}})
    with pytest.raises(InputError, match=r"one that stands, .* \(fedau.thm2 is refuted\)"):
        standing("fedau.thm2")


def test_what_is_not_recorded_is_said(tmp_path):
    found = beside(simulate(parse(experiment(rounds=8)), store=tmp_path))
    assert found["bound"].null_count() == found.height
    assert "fedau.thm2 needs heterogeneity, largest_weight_square" in row(found, "FedAU", 8)["remarks"]
    run = simulate(parse(experiment(record__what=["objective"], rounds=8)), store=tmp_path)
    with pytest.raises(InputError, match=r"record.what must be with squared_gradient"):
        beside(run)


def test_a_file_of_several_papers_records_what_all_its_algorithms_can(tmp_path):
    """FedAU's theorem needs rates, FAST's selection has none; what can be said of FAST is said."""
    snapshot = {"name": "snapshot", "size": 2, "otherwise": {"name": "uniform", "size": 1}, "interval": 3}
    fast = {"name": "fedavg", "label": "FAST", "local_lr": 0.005, "local_steps": 2, "selection": snapshot}
    fedau, fedavg = CONTENT["algorithm"][:2]
    content = experiment(algorithm=[fedau, fedavg, fast], rounds=12)
    what = wanted(canonical(content))
    assert {"heterogeneity", "largest_participation_norm"} < set(what)
    assert not {"mean_weight_error", "largest_weight_square"} & set(what)
    content["record"]["what"] = list(what)
    found = beside(simulate(parse(content), store=tmp_path))
    assert row(found, "FAST", 12)["bound"] > 0
    assert row(found, "FedAvg", 12)["bound"] > 0
    left_out = row(found, "FedAU", 12)
    assert (left_out["bound"], left_out["measured"] > 0) == (None, True)
    assert left_out["remarks"] == (
        "fedau.thm2 is left out: it needs largest_weight_square, mean_weight_error, and participation rates are not "
        "known of FAST in the same file"
    )
    assert set(wanted(canonical(experiment(algorithm=[fedau])))) > {"mean_weight_error", "largest_weight_square"}


def test_a_process_that_reacts_has_no_rates(monkeypatch):
    found = canonical(experiment(algorithm=CONTENT["algorithm"][:2]))
    assert "mean_weight_error" in wanted(found)
    monkeypatch.setattr(
        practice.plugins, "load", lambda entry, kind: type("Reacts", (), {"step": lambda self, history, rng: None})
    )
    assert "mean_weight_error" not in wanted(found)


FEDAMD = {
    "name": "fedamd",
    "local_lr": 0.02,
    "global_lr": 0.8,
    "local_steps": 2,
    "roles": {"name": "constant", "probability": 0.7},
    "warm": True,
}


def fedamd(*algorithms, **places):
    """Four clients of curvature 2, two a round, L = 2, L_sigma = 0; with the metrics that are wanted."""
    content = experiment(process={"name": "uniform-subset", "cohort_size": 2}, algorithm=list(algorithms), **places)
    content["record"]["what"] = list(wanted(canonical(content)))
    return content


def test_fedamd_stands_beside_its_proved_theorems(tmp_path):
    """Against (162) and (111) by hand, at the exact constants of the quadratic, anchors of three samples or of all."""
    constant = FEDAMD | {"label": "constant", "batch": 3}
    sequential = FEDAMD | {"label": "sequential", "batch": "all", "roles": {"name": "sequential", "period": 2}}
    run = simulate(parse(fedamd(constant, sequential, record__every=1)), store=tmp_path)
    found = beside(run)
    one, two = row(found, "constant"), row(found, "sequential")
    assert (one["statement"], one["verdict"], one["conditions"]) == ("fedamd.thm48.repaired", "proved", True)
    assert (two["statement"], two["verdict"], two["conditions"]) == ("fedamd.thm46.repaired", "proved", True)
    eta, moving = 0.02 * 0.8 * 2, 1 - 0.7**2
    assert (one["smoothness"], one["noise_smoothness"]) == (pytest.approx(2), pytest.approx(0, abs=1e-9))
    assert one["initial_gap"] == two["initial_gap"] == pytest.approx(3.5**2)
    assert one["bound"] == pytest.approx(4 * 3.5**2 / (eta * 40 * moving) + 10.5 * one["noise_std"] ** 2 / (4 * 3))
    assert two["bound"] == pytest.approx(4 * 3.5**2 / (eta * 20))  # rounds 1, 3, ..., 39 have miners
    assert one["measured"] == pytest.approx(series(run, "constant", "squared_gradient")[:-1].mean())
    assert two["measured"] == pytest.approx(series(run, "sequential", "squared_gradient")[1:-1:2].mean())
    later = found.filter(pl.col("bound").is_not_null() & pl.col("measured").is_not_null())
    assert later.height > 100
    assert (later["measured"] <= later["bound"]).all()


def test_anchor_rounds_stand_for_the_miner_rounds_after_them(tmp_path):
    """Recorded every 4 rounds with anchors every 2, all records are anchor rounds."""
    sequential = FEDAMD | {"label": "sequential", "roles": {"name": "sequential", "period": 2}}
    run = simulate(parse(fedamd(sequential, record__every=4)), store=tmp_path)
    found = row(beside(run), "sequential")
    assert found["measured"] == pytest.approx(series(run, "sequential", "squared_gradient")[:-1].mean())
    assert "anchor rounds stand for the miner rounds after them" in found["remarks"]


def test_a_larger_step_of_fedamd_breaks_its_conditions(tmp_path):
    large = FEDAMD | {"local_lr": 0.2}
    found = beside(simulate(parse(fedamd(large, rounds=8)), store=tmp_path)).row(-1, named=True)
    assert found["broken"] == "product of steps, local step"
    never = FEDAMD | {"roles": {"name": "constant", "probability": 1}}
    found = beside(simulate(parse(fedamd(never, rounds=8)), store=tmp_path)).row(-1, named=True)
    assert found["bound"] is None
    assert not found["conditions"]


@pytest.mark.parametrize(
    ("changes", "places", "why"),
    [
        ({"warm": False}, {}, "caches that all clients filled before the first round: warm = true"),
        ({}, {"process": {"name": "bernoulli", "p": 0.5}}, "uniform cohorts of one size"),
        ({}, {"dropout": 0.1}, "uniform cohorts of one size"),
        ({"selection": {"name": "uniform", "size": 1}}, {}, "uniform cohorts of one size"),
        ({"roles": {"name": "full_rounds", "probability": 0.5}}, {}, "roles constant and sequential"),
    ],
)
def test_what_fedamds_theorems_ask_for(changes, places, why):
    content = fedamd(FEDAMD | changes) | places
    found = canonical(content)
    assert why in theorem_of(found["algorithm"][0], found)


def test_fedlaavg_with_weights_has_another_objective():
    content = experiment(algorithm=[CONTENT["algorithm"][3] | {"weights": [0.1, 0.2, 0.3, 0.4]}])
    found = canonical(content)
    assert "another mean of the clients' objectives" in theorem_of(found["algorithm"][0], found)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schedule": {"name": "decay", "at": [10], "factor": 0.5}}, "the step size changes along the run"),
        ({"selection": {"name": "uniform", "size": 2}}, "FedAU's Theorem 2 asks for rates"),
    ],
)
def test_why_there_is_no_theorem(changes, why):
    content = experiment()
    content["algorithm"] = [content["algorithm"][0] | changes]
    found = canonical(content)
    assert why in theorem_of(found["algorithm"][0], found)


def test_a_process_that_is_not_independent_over_rounds_is_said():
    found = canonical(experiment(process={"name": "cyclic", "p": 0.5, "period": 4}))
    assert "Assumption 4 asks for independent rounds" in theorem_of(found["algorithm"][0], found).caveats[0]


def test_the_picture(frame, tmp_path):
    path = draw(frame, tmp_path / "practice.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


def test_no_picture_is_drawn_of_nothing(tmp_path):
    with pytest.raises(InputError, match="frame must be of a run with a record after round 0"):
        draw(pl.DataFrame(), tmp_path / "practice.png")


@pytest.mark.torch
def test_training_stands_beside_theory_too(tmp_path):
    """The loss at the start bounds the initial gap; the step is small enough for the estimated smoothness."""
    pytest.importorskip("torch", reason="needs the training extra")
    pytest.importorskip("sklearn", reason="needs the training extra")
    from sims.training.run import train

    content = experiment(
        kind="train",
        rounds=8,
        replicates=1,
        problem={
            "name": "training",
            "data": "digits",
            "model": "logistic",
            "partition": {"name": "dirichlet", "n_clients": 6, "alpha": 0.3},
            "batch": 8,
            "precision": "float64",
            "train_samples": 300,
        },
    )
    del content["start"]
    content["algorithm"] = [one | {"local_lr": 0.0005} for one in content["algorithm"][:3]]
    content["record"]["what"] = list(wanted(canonical(content)))
    found = beside(train(parse(content), store=tmp_path))
    assert found["n_clients"].unique().to_list() == [6]
    last = found.filter(pl.col("round") == 8)
    assert (last["bound"] > last["measured"]).all()
    assert (
        last["estimates"].str.contains("initial_gap: upper bound, f(x_0), as no loss is negative", literal=True).all()
    )


PAGE = (Path(__file__).parents[2] / "docs" / "practice.md").read_text(encoding="utf-8")


@pytest.mark.torch
def test_the_example_of_the_page(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs the training extra")
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown = {}
    exec(code, shown)
    last = shown["frame"].filter(pl.col("round") == 20)
    assert last["statement"].to_list() == ["fedau.thm2", "amplified.thm31.average", None]
    assert (last["bound"] > last["measured"]).to_list() == [True, True, None]
    assert Path("practice.png").stat().st_size > 20_000


def of_fedamd():
    found = canonical(fedamd(FEDAMD))
    return found["algorithm"][0], found


def test_the_page_names_every_estimate():
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    told = {name: row[-2] for row in rows for name in re.findall(r"`(\w+)`", row[-3])}
    content = experiment()
    found = canonical(content)
    needed = {"squared_gradient", "objective", *theorem_of(*of_fedamd()).needs.values()}
    for contestant in found["algorithm"]:
        theorem = theorem_of(contestant, found)
        needed |= set() if isinstance(theorem, str) else set(theorem.needs.values())
    assert needed == set(told)
    for name in needed & set(ESTIMATES):
        assert ESTIMATES[name].kind in told[name]
