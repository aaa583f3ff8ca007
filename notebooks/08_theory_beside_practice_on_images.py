# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How far is theory from practice on images?
#
# A bound has constants that nobody knows before a run, but that a run can be asked for: smoothness, noise,
# heterogeneity along the path. What do the theorems then say of real training, which of their conditions does a
# sensible run keep, and do longer runs show what theory says should matter?

# %%
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from analysis.figures.style import LINES, band, notebook_style
from analysis.measured import curve, number
from analysis.practice import beside, wanted
from analysis.stored_runs import runs_of
from fltheory.ledger import ledger
from sims.experiment import parse
from sims.training.run import train

notebook_style()

# %% [markdown]
# ## Four theorems beside four runs
# The digits of scikit-learn (8 x 8 images; they come with it, so no network is needed), twelve clients with unequal
# labels, a linear classifier, 40 rounds. `wanted` names what to record, `beside` puts the explicit bound of each
# algorithm's theorem, at constants estimated along the run, next to what the run did. A statement whose recorded
# verdict does not let it stand is replaced by its repaired twin.


# %%
def experiment(process, algorithms):
    content = {
        "kind": "train",
        "rounds": 40,
        "replicates": 1,
        "seed": 1,
        "problem": {
            "name": "training",
            "data": "digits",
            "model": "logistic",
            "partition": {"name": "dirichlet", "n_clients": 12, "alpha": 0.3},
            "batch": 16,
        },
        "process": process,
        "algorithm": algorithms,
        "record": {"what": ["squared_gradient"], "every": 5},
    }
    content["record"]["what"] = [*wanted(json.loads(parse(content).canonical)), "train_loss"]
    return parse(content)


coins, subsets = {"name": "bernoulli", "p": 0.5}, {"name": "uniform-subset", "cohort_size": 4}
step = {"local_lr": 0.001, "local_steps": 2}
snapshots = {"name": "snapshot", "size": 4, "probability": 0.5, "otherwise": {"name": "uniform", "size": 4}}
experiments = [
    experiment(coins, [{"name": "fedavg", "label": "FedAU", "weighting": {"name": "fedau", "cutoff": 5}, **step}]),
    experiment(coins, [{"name": "amplified", "label": "amplified", "amplification": 2, "interval": 5, **step}]),
    experiment(
        coins,
        [
            {
                "name": "fedavg",
                "label": "FAST, q = 1/2",
                "weighting": "average_participating",
                "selection": snapshots,
                **step,
            }
        ],
    ),
    experiment(
        subsets,
        [
            {
                "name": "fedamd",
                "label": "FedAMD, p = 1/2",
                "roles": {"name": "constant", "probability": 0.5},
                "warm": True,
                **step,
            }
        ],
    ),
]
with tempfile.TemporaryDirectory() as store:
    runs = [train(one, store=store) for one in experiments]
    frames = [beside(run) for run in runs]
    frame = pl.concat(frames, how="diagonal").filter(pl.col("round") > 0)
figure, panels = plt.subplots(1, 4, sharey=True)
for axes, run, found in zip(panels, runs, frames, strict=True):
    own = found.filter(pl.col("round") > 0)
    axes.semilogy(own["round"], own["bound"], label="bound")
    axes.semilogy(own["round"], own["measured"], label="measured")
    axes.set(xlabel="rounds T", title=run.experiment["algorithm"][0]["label"])
panels[0].set_ylabel(r"average of $|\nabla f|^2$")
panels[0].legend()
last = frame.filter(pl.col("round") == 40)
for row in last.iter_rows(named=True):
    kept = "conditions kept" if row["conditions"] else f"not kept: {row['broken']}"
    ratio = row["bound"] / row["measured"]
    print(f"{row['algorithm']:16s} {row['statement']:24s} {row['verdict']:7s} bound/measured {ratio:4.0f}  {kept}")
    assert 10 < ratio < 1000

# %% [markdown]
# The bounds lie tens to hundreds of times above what is measured, and fall with $T$ as long as their first term, the
# distance to go over the steps taken, dominates. These numbers are no bounds in the strict sense: samples stand where
# the theorems have suprema, and one run where they have an expectation. (`beside` says so in its column `remarks`.)
#
# Where does the room come from? The share of each summand of the bound at the end:

# %%
for row in last.iter_rows(named=True):
    rhs = ledger[row["statement"]].bound.rhs
    at = {symbol: row["round"] if symbol.name == "rounds" else row[symbol.name] for symbol in rhs.free_symbols}
    terms = sorted(((float(term.subs(at)), str(term)) for term in rhs.as_ordered_terms()), reverse=True)
    total = sum(value for value, _ in terms)
    print(row["algorithm"])
    for value, term in terms[:2]:
        print(f"   {value / total:5.0%}  {term}")
    assert "initial_gap" in terms[0][1]
    assert terms[0][0] > total / 2

# %% [markdown]
# In all four it is mostly the distance to go: so few and small steps cannot do more, whatever participation does. The
# second place is where the papers differ: weight error, interval divergence, the floor of arbitrary rounds, the noise
# of anchors.

# %% [markdown]
# ## Longer runs: does what should matter matter?
# `results/` holds runs of 1,000 rounds and three seeds on Fashion-MNIST (docs/runs.md); nothing is trained here. Theory
# says that FedAU's bias goes away with a growing cutoff $K$. Beside it the measured weight error and accuracy:

# %%
root = Path("..") if Path("../results").is_dir() else Path(".")
FEDAU = str(root / "experiments/fedau/fashion-bernoulli.toml")
SHIFT = str(root / "experiments/fedlaavg/mnist-N200-E50-D1.toml")
BETA = str(root / "experiments/fast/fmnist-alpha-0.1-beta.toml")
stored = runs_of([FEDAU, SHIFT, BETA], "laptop", root / "results")

# %%
cutoffs = [1, 10, 50, 200, "inf"]
figure, (left, right) = plt.subplots(1, 2)
for (color, _), (axes, metric, unit, title) in zip(
    LINES,
    [(left, "weight_error", 1, "mean of $(p_n w_n - 1)^2$"), (right, "test_accuracy", 100, "test accuracy (%)")],
    strict=False,
):
    found = [number(stored[FEDAU], f"FedAU, K = {K}", metric, "laptop", unit) for K in cutoffs]
    axes.errorbar(
        range(len(cutoffs)), [x.mean for x in found], [x.sd for x in found], fmt="o", color=color, markersize=4
    )
    axes.set(xlabel="cutoff K", title=f"{title}, ± sd over 3 seeds")
    axes.set_xticks(range(len(cutoffs)), cutoffs)
known = number(stored[FEDAU], "known rates", "test_accuracy", "laptop", 100)
right.axhline(known.mean, color="black", linestyle="--", lw=1, label="known rates")
right.legend(loc="lower right")
accuracy = {K: number(stored[FEDAU], f"FedAU, K = {K}", "test_accuracy", "laptop", 100).mean for K in cutoffs}
error = {K: number(stored[FEDAU], f"FedAU, K = {K}", "weight_error", "laptop").mean for K in cutoffs}
shown = ", ".join(f"K = {K}: {value:.1f}" for K, value in accuracy.items())
print(f"test accuracy (%): {shown}, known rates: {known.mean:.1f}")
assert error[1] > error[10] > error[50] > error[200]
assert accuracy[1] < accuracy[10] < accuracy[50]
assert error["inf"] < error[50] < 0.1
assert accuracy["inf"] < accuracy[50]

# %% [markdown]
# The order is that of the theory up to $K = 50$; beyond, a smaller weight error does not make a better model. And
# nothing in the theory compares FedAU with known rates in its favour: here they are level.
#
# FedLaAvg, by day and night (MNIST): FedAvg follows whoever is there, FedLaAvg does not; and FAST: accuracy over the
# share $q$ of snapshots, whose repaired theorem leaves a floor of $(1-q)^2\sigma_G^2$.

# %%
figure, (left, right) = plt.subplots(1, 2)
swing = {}
for line, label in zip(LINES, ("FedLaAvg", "FedAvg"), strict=False):
    c = curve(stored[SHIFT], label, "test_accuracy")
    late = c.rounds > 700
    band(
        left, c.rounds[late], 100 * c.mean[late], 100 * (c.mean - c.sd)[late], 100 * (c.mean + c.sd)[late], line, label
    )
    swing[label] = np.ptp(100 * c.mean[late])
left.set(xlabel="round", ylabel="test accuracy (%)", title="day and night, 50 rounds each (± sd, 3 seeds)")
left.legend()
shares = [0, 0.1, 0.3, 0.5, 1]
found = [number(stored[BETA], f"q = {q:g}", "train_loss", "laptop") for q in shares]
right.errorbar(shares, [x.mean for x in found], [x.sd for x in found], fmt="o", markersize=4, color=LINES[2][0])
right.set(xlabel="share q of snapshots", ylabel="train loss", title="FAST, Beta participation (± sd, 3 seeds)")
print(f"swing of the last 300 rounds: FedAvg {swing['FedAvg']:.1f} points, FedLaAvg {swing['FedLaAvg']:.1f}")
oldest = stored[SHIFT].frame.filter(pl.col("algorithm") == "FedLaAvg")["largest_staleness"].max()
process = stored[SHIFT].experiment["process"]
print(f"oldest update of FedLaAvg in the records of the run: {oldest:.0f} rounds; process {process['name']}")
assert oldest == 59
assert swing["FedAvg"] > 3 * swing["FedLaAvg"]
assert (np.diff([x.mean for x in found]) < 0).all()

# %% [markdown]
# More snapshots, less loss, at every step, as the floor has it; the differences are of the size of the spread over
# seeds.
#
# What did not hold is told in docs/runs.md: FedAMD, for one, needed more rounds than FedAvg at this scale, where 75 %
# is reached in a few rounds and anchors have little time to pay back.

# %% [markdown]
# ## Try this
# - Divide `local_lr` by 100 in the first part: the ratio of bound and measured number grows. Why?
# - `frame.select("algorithm", "remarks")` tells what each run does not share with its theorem.
# - `fltheory train experiments/fedau/fashion-bernoulli.toml --scale smoke` trains the stored comparison in small, after
#   `fltheory data fetch fashion-mnist`.
