"""The numbers of docs/runs.md, those of its tables and those of its sentences, against the stored runs.

Seeds are compared one by one; of the papers' tables the numbers are the published ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.checks.published import published
from analysis.measured import labels
from analysis.stored_runs import runs_of
from experiments import summarise
from experiments.summarise import COLUMNS, TABLE, table
from sims.store import Run

PAGE = Path("docs/runs.md").read_text(encoding="utf-8")
ACCURACY = "test accuracy, %"
CONSTANT, BEST, SEQUENTIAL = "FedAMD, constant", "FedAMD, optimal p", "FedAMD, sequential"
Seeds = dict[str, np.ndarray]  # label of an algorithm -> its seeds, in their order


def stored(name: str) -> Run:
    (run,) = runs_of([f"experiments/{name}.toml"], "laptop", Path("results")).values()
    return run


@cache
def seeds(name: str, column: str = ACCURACY) -> Seeds:
    data, known = stored(name).data().sort("replicate", "round"), labels(stored(name))
    own = {label: data.filter(pl.col("algorithm") == label) for label in known}
    return {k: np.array([COLUMNS[column][0](one) for one in d.partition_by("replicate")]) for k, d in own.items()}


def from_to(*differences: np.ndarray) -> str:
    least, most = min(map(np.min, differences)), max(map(np.max, differences))
    return f"{least:.1f} to {most:.1f}"


@pytest.mark.parametrize("match", list(TABLE.finditer(PAGE)), ids=lambda match: match[2])
def test_a_table_is_that_of_its_stored_run(match) -> None:
    run = stored(match[2].removeprefix("experiments/").removesuffix(".toml"))
    assert match[0] == match[1] + table(run, [name.strip() for name in match[3].split(";")]) + match[4]


def test_the_page_is_written_anew_without_data(tmp_path, monkeypatch) -> None:
    (tmp_path / "runs.md").write_text(TABLE.sub(r"\1\4", PAGE), encoding="utf-8")
    monkeypatch.setattr(summarise, "PAGE", tmp_path / "runs.md")
    monkeypatch.setenv("FLTHEORY_DATA", str(tmp_path / "none"))
    summarise.main()
    assert (tmp_path / "runs.md").read_text(encoding="utf-8") == PAGE


def fedau() -> Iterator[str]:
    runs = {process: seeds(f"fedau/fashion-{process}") for process in ("bernoulli", "markov", "cyclic")}
    k50, none, plain = "FedAU, K = 50", "FedAU, K = inf", ("average participating", "average all")
    yield f"by {from_to(*(own[k50] - own[k] for own in runs.values() for k in plain))} points of test accuracy"
    cell = {(r["pattern"], r["dataset"], r["metric"], r["method"]): float(r["mean"]) for r in published("fedau_tab1")}
    ahead = [
        value - cell[p, "cifar10", "test", k]
        for (p, *where, method), value in cell.items()
        if (where, method) == (["cifar10", "test"], "fedau_50")
        for k in ("avg_participating", "avg_all")
    ]
    yield f"(Table 1 of the paper, CIFAR-10: {from_to(*map(np.array, ahead))})"
    bernoulli = runs["bernoulli"]
    yield f"(by {from_to(bernoulli[k50] - bernoulli[none])} points in each seed under Bernoulli"
    other = max(abs(runs[p][k50] - runs[p][none]).max() for p in ("markov", "cyclic"))
    yield f"by at most {other:.1f} either way"
    yield f"K = 10 loses {from_to(bernoulli[k50] - bernoulli['FedAU, K = 10'])} points"
    lost = bernoulli[k50] - bernoulli["FedAU, K = 1"]
    yield f'"average all" with global step size 1, {lost.min():.0f} to {lost.max():.0f}.'
    yield f"MIFA by far the most ({runs['cyclic']['MIFA'].mean():.1f} %)"
    stale = [runs[p][k] - runs[p][k50] for p in ("bernoulli", "markov") for k in ("MIFA", "FedVARP")]
    yield f"{from_to(*stale)} points ahead of FedAU with K = 50 in every seed"
    away = max(abs(own["known rates"] - own[k]).max() for own in runs.values() for k in (k50, none))
    yield f"(within {away:.1f} points)"
    known = {where: value for (*where, method), value in cell.items() if method == "known_p" for where in [(*where,)]}
    assert all(value <= cell[*where, "fedau_50"] for where, value in known.items())
    better = {where: value for where, value in known.items() if value > cell[*where, "fedau_inf"]}
    yield f"better there in {len(better)} of {len(known)} cells, both cyclic"
    (svhn, cifar) = (f"({better[w]} to {cell[*w, 'fedau_inf']})" for w in better)
    yield f"training accuracy on SVHN {svhn} and test accuracy on CIFAR-100 {cifar}"


def fedlaavg() -> Iterator[str]:
    own = seeds("fedlaavg/mnist-N200-E50-D1")
    swings = seeds("fedlaavg/mnist-N200-E50-D1", "swing, %")
    assert {round(swing) for k in ("FedAvg", "FedSGD") for swing in swings[k].tolist()} == {5}
    yield f"by {(own['FedLaAvg'] - own['FedAvg']).mean():.1f} points, and in every seed"
    days = ("E50-D1", "E100-D1", "E100-D3", "E100-D5", "E200-D1")
    data = {day: stored(f"fedlaavg/mnist-{day}").data() for day in days}
    end = {day: one.filter(round=1000).group_by("algorithm").agg(pl.mean("test_accuracy")) for day, one in data.items()}
    at = {day: dict(one.iter_rows()) for day, one in end.items()}
    yield f"({from_to(*(100 * np.array(one['FedLaAvg']) for one in at.values()))} %)"
    own_best = data["E200-D1"].filter(algorithm="FedAvg").group_by("replicate").agg(pl.max("test_accuracy"))
    last, best = 100 * at["E200-D1"]["FedAvg"], 100 * float(own_best["test_accuracy"].mean())
    yield f"it ends at {last:.1f} %, {best - last:.0f} points below its best record"


def fedamd() -> Iterator[str]:
    goals = [seeds(f"fedamd/table2-{n}", "rounds to 75 %") for n in (20, 40, 100)]
    here = [one.mean() for own in goals for one in own.values()]
    four = ("FedAvg", "SCAFFOLD", "FedAMD-constant", "FedAMD-sequential")
    there = [int(row["rounds"]) for row in published("fedamd_tab2") if row["method"] in four]
    yield f"in {min(here):.0f} to {max(here):.0f} rounds instead of the paper's {min(there)} to {max(there)}"
    by_p = [seeds("fedamd/probabilities"), seeds("fedamd/probabilities-40")]
    behind = [own["FedAMD, {0,1}"] - own[k] for own in by_p for k in ("FedAMD, p = 0.9", BEST)]
    yield f"constant probabilities end {from_to(*behind)} points behind"
    less, more = (own["FedAMD, {0,1}"] - own["FedAMD, {0,0,1}"] for own in by_p)
    yield f"with 20 clients, by {from_to(less)} points in each seed"
    yield f"with 40 clients it is ahead by {from_to(-more)}."
    batches, whole = [seeds(f"fedamd/large-batch-{b}") for b in (256, 64)], seeds("fedamd/table2-20")
    yield f"the sequential form loses {from_to(whole[SEQUENTIAL] - batches[1][SEQUENTIAL])} points"
    lost = [by_p[0]["FedAMD, p = 0.9"] - own["FedAMD, p = 0.9"] for own in batches]
    yield f"p = 0.9 loses in every seed with either, {from_to(*lost)} points"
    yield f"they differ by up to {max(np.ptp(own[CONSTANT]) for own in (whole, *batches)):.1f} points"
    five, twenty = (seeds(f"fedamd/local-steps-{K}") for K in (5, 20))
    yield f"with K = 5, by {from_to(five[SEQUENTIAL] - five['FedAvg'])} points in each seed"
    files = ("local-steps-5", "table2-20", "local-steps-20")
    losses = [seeds(f"fedamd/{name}", "train loss")[CONSTANT] for name in files]
    one, two, three = (f"{own[CONSTANT].mean():.1f}" for own in (five, whole, twenty))
    yield f"{one}, {two} and {three} % with K = 5, 10 and 20"
    one, two, three = (f"{loss.mean():.2f}" for loss in losses)
    yield f"training loss {one}, {two} and {three}."
    five, twenty = (seeds(f"fedamd/probabilities-K{K}") for K in (5, 20))
    ahead, behind = five["FedAMD, {0,0,1}"] - five["FedAMD, {0,1}"], twenty["FedAMD, {0,1}"] - twenty["FedAMD, {0,0,1}"]
    yield f"by at most {ahead.max():.1f} points with K = 5, and behind it by {from_to(behind)} with K = 20"


def others() -> Iterator[str]:
    """Amplified FedAvg and FAST."""
    own, swings = (seeds("amplified/fashion", column) for column in (ACCURACY, "swing, %"))
    mean = {k: f"{one.mean():.1f}" for k, one in own.items()}
    small, smaller, large = (f"gamma = {gamma}" for gamma in ("0.0001", "3e-05", "0.0003"))
    yield f"(gamma = 3e-5: {mean[f'amplified, {smaller}']} against {mean[f'plain, {smaller}']} %; 1e-4: "
    yield f"1e-4: {mean[f'amplified, {small}']} against {mean[f'plain, {small}']} %)"
    yield f"({mean[f'amplified, {smaller}']} against {mean[f'plain, {large}']} % at 3e-4)"
    plain = [one.mean() for k, one in swings.items() if k.startswith("plain")]
    yield f"the swing grows from {min(plain):.0f} to {max(plain):.0f} points"
    yield f"best mean accuracy and loss of all ({max(mean.values())} %)"
    yield f"(loss {seeds('amplified/fashion', 'train loss')[f'amplified, {large}'].mean():.2f})"
    yield f"level with amplification ({mean['wait, minibatch']} %)"
    shares = seeds("fast/fmnist-alpha-0.1-beta")
    yield f"({', '.join(f'{one.mean():.1f}' for one in shares.values())} %)"
    low, tenth, half, full = (shares[q].mean() for q in ("q = 0", "q = 0.1", "q = 0.5", "q = 1"))
    yield f"it gets {half - low:.1f} of the {full - low:.1f} points, q = 0.1 only {tenth - low:.1f} of them"
    alike = [row for row in published("fast_tab3") if (row["dataset"], row["alpha"]) == ("fmnist", "0.1")]
    tab3 = {(row["participation"], row["q"]): row["accuracy"] for row in alike}
    first, last = tab3["beta", "0"], tab3["uniform", "1"]
    yield f"rises from {first} % (q = 0) to {last} % (q = 1)"
    yield f"against {float(last) - float(first):.0f} points in Table 3"


@pytest.mark.parametrize("section", [fedau, fedlaavg, fedamd, others])
def test_a_number_in_a_sentence_is_that_of_the_runs(section) -> None:
    page = " ".join(PAGE.split())
    assert [said for said in section() if said not in page] == []
