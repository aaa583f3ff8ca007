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
# # What do old updates of absent clients buy?
#
# Clients come by day or by night, never mixed. FedAvg then drifts towards whoever is there. FedLaAvg (Yan et al.,
# arXiv:2002.07399) averages the latest update of every client, the absent ones included. Where does each end up on the
# paper's Example 1, and how old can an update get?

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import LINES, notebook_style
from analysis.trials import exact_value
from fltheory.ledger import ledger
from fltheory.participation import Periodic
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.fedlaavg import as_in_paper, fedlaavg
from sims.exact import Engine, Setting, run
from sims.problems.quadratic import DiagonalQuadratic, example_1
from sims.rounds import Setup, Simulation
from sims.scenarios import average_participating, schedule, weighted
from sims.selection import least_recently_used, uniform

notebook_style()

# %%
ledger["fedlaavg.thm1"]

# %% [markdown]
# ## FedAvg on Example 1
# Two clients have the losses $(x - e_1)^2$ and $(x - e_2)^2$ with $e = (1, -1)$, so the optimum is 0. Client 1 is there
# for $t_1 = 3$ iterations, then client 2 for $t_2 = 1$, over and over. The exact engine finds the cycle that FedAvg
# settles into; at the end of a period it is the $X$ of the proof of Theorem 1.

# %%
problem = example_1((1, -1))


def turns(first, second):
    return schedule([[True, False]] * first + [[False, True]] * second)


def fedavg_cycle(first, second, lr):
    engine = Engine(Setting(fedavg, problem, Hyper(lr), [0]), weighted(turns(first, second), average_participating))
    return [moments.mean("x")[0] for moments in engine.limit_cycle()]


def formula_X(first, second, lr):
    X = ledger["fedlaavg.thm1.X"].formulas["X"]
    where = {"first_block": first, "second_block": second, "example_lr": lr, "first_mean": 1, "second_mean": -1}
    return exact_value(X, where)


cycle = fedavg_cycle(3, 1, Fraction(1, 10))
print("before each iteration of the period:", ", ".join(map(str, cycle)))
assert cycle[0] == formula_X(3, 1, Fraction(1, 10)) == Fraction(119, 369)

# %% [markdown]
# A smaller step does not help: $X$ tends to the time-weighted mean $(t_1 e_1 + t_2 e_2)/(t_1 + t_2)$, here 1/2, and
# the swing within a period goes to 0 around the wrong point.

# %%
steps = [Fraction(1, n) for n in (3, 4, 6, 8, 12, 20, 40, 80, 160, 320)]
figure, axes = plt.subplots()
for (color, dashes), (first, second) in zip(LINES, [(1, 1), (3, 1), (9, 1)], strict=False):
    cycles = [fedavg_cycle(first, second, lr) for lr in steps]
    assert all(cycle[0] == formula_X(first, second, lr) for cycle, lr in zip(cycles, steps, strict=True))
    low, high = ([float(f(cycle)) for cycle in cycles] for f in (min, max))
    axes.fill_between([float(s) for s in steps], low, high, color=color, alpha=0.3, lw=0)
    axes.plot(
        [float(s) for s in steps],
        [float(c[0]) for c in cycles],
        color=color,
        linestyle=dashes,
        label=f"$t$ = ({first}, {second})",
    )
    axes.plot(float(steps[-1]) / 1.3, (first - second) / (first + second), "<", color=color, markersize=4)
axes.axhline(0, color="black", lw=0.6)
axes.set(
    xscale="log",
    xlabel=r"step size $\gamma$",
    ylabel="model x",
    title="FedAvg: X (lines), swing within a period (bands), limit (triangles); optimum 0",
)
axes.legend()
assert abs(cycles[-1][0] - Fraction(4, 5)) < Fraction(1, 50)

# %% [markdown]
# ## FedLaAvg on Example 1
# The same clients, the same step; each iteration uses the latest gradient of both. Exact rational runs:

# %%
lr, rounds = Fraction(1, 40), 160
laavg = [float(s.linear["x"][0]) for s in run(Setting(fedlaavg, problem, as_in_paper(lr), [0]), turns(3, 1), rounds)]
plain = weighted(turns(3, 1), average_participating)
avg = [float(s.linear["x"][0]) for s in run(Setting(fedavg, problem, Hyper(lr), [0]), plain, rounds)]
swing = [
    s.linear["x"][0]
    for s in run(Setting(fedlaavg, example_1((1.0, -1.0)), as_in_paper(0.3), [0.0]), turns(50, 50), 1000)
]
figure, (left, right) = plt.subplots(1, 2)
left.plot(avg, label="FedAvg")
left.plot(laavg, label="FedLaAvg")
left.axhline(0, color="black", lw=0.6)
left.set(xlabel="iteration", ylabel="model x", title=r"$t$ = (3, 1), $\gamma$ = 1/40; optimum 0")
left.legend()
right.plot(swing, color=LINES[1][0], lw=0.8)
right.set(xlabel="iteration", title=r"FedLaAvg, $t$ = (50, 50), $\gamma$ = 0.3")
assert abs(laavg[-1]) < 0.01
assert avg[-1] > 0.4
assert max(swing[-100:]) > 0.99

# %% [markdown]
# FedLaAvg gets to the optimum where FedAvg does not (left). It is no free lunch: with blocks of 50 iterations and a
# large constant step its iterates swing all the way from one client to the other (right; `fedlaavg.E23`, which no
# statement of the paper contradicts). Steps must be small against the age of the updates, as Theorem 2 has them.
#
# ## Theorem 2, with its constants
# With $\gamma = 1/(2\sqrt T)$ the mean squared distance over $T$ iterations is at most
# $|x^0 - x^*|^2/\sqrt T + G^2 I^2/(4T)$, $I$ the longer block and $G = \max(2|x^0 - x^*|, |e_1 - e_2|)$.

# %%
ledger["fedlaavg.thm2.final"]

# %%
horizons = np.array([4**k for k in range(1, 7)])
figure, axes = plt.subplots()
for (color, _), blocks in zip(LINES, [(1, 1), (3, 1), (10, 10)], strict=False):
    exact, bound = [], []
    for T in map(int, horizons):
        setting = Setting(fedlaavg, example_1((1.0, -1.0)), as_in_paper(1 / (2 * T**0.5)), [1.0])
        path = [s.linear["x"][0] for s in run(setting, turns(*blocks), T)]
        exact.append(np.mean(np.square(path[:-1])))
        constants = {"start_distance": 1, "example_gradient": 2, "block_staleness": max(blocks), "iterations": T}
        bound.append(ledger["fedlaavg.thm2.final"].bound.at(**constants))
    assert (np.array(exact) <= bound).all()
    axes.loglog(horizons, exact, color=color, linestyle="-", marker=".", label=f"exact, t = {blocks}")
    axes.loglog(horizons, bound, color=color, linestyle="--", label="Theorem 2")
    slope = np.log(exact[-1] / exact[-2]) / np.log(4)
    print(f"t = {blocks}: exponent of T at the end {slope:.2f}, bound over exact {bound[-1] / exact[-1]:.1f}")
    assert blocks != (1, 1) or abs(slope + 0.5) < 0.03
    axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
axes.set(xlabel="iterations T", ylabel="mean of $(x - x^*)^2$", title="start at 1; the rate of Theorem 2 is attained")
print("The shorter the blocks, the sooner the exponent is -1/2, that of the theorem.")

# %% [markdown]
# ## How old can an update get?
# Lemma 1: if every client is available at least once in any $E$ iterations and the $K$ clients that took part longest
# ago are asked, no update is older than $I = \lceil N/K \rceil E - 1$ iterations. It needs what the algorithm does not
# say, that all available clients are taken where they are fewer than $K$.

# %%
ledger["fedlaavg.lem1"]

# %%
clients, rounds = 12, 400
many = DiagonalQuadratic(np.ones(clients), np.arange(clients) - (clients - 1) / 2)


def oldest(selection, process):
    """The age of the oldest update in use, iteration by iteration."""
    setup = Setup(many, fedlaavg, as_in_paper(0.01), process, selection=selection)
    simulation = Simulation(setup, np.zeros((1, 1)), rounds, np.random.default_rng(2))
    ages = []
    for t in range(1, rounds + 1):
        simulation.advance(t)
        ages.append(int(simulation.state.discrete["age"].max()))
    return ages


size = 3
processes = {
    "two groups take turns": Periodic.block_cyclic(clients, 2, 4, offset=0),
    "one hour in four": Periodic.diurnal(clients, 1, 3, offset=0),
}
figure, panels = plt.subplots(1, 2, sharey=True)
for axes, (title, process) in zip(panels, processes.items(), strict=True):
    E = int(process.max_gap.max())  # every client is there at least once in any E iterations
    limit = -(-clients // size) * E - 1
    ages = {
        "least recently used": oldest(least_recently_used(size), process),
        "uniform": oldest(uniform(size), process),
    }
    for name, age in ages.items():
        axes.plot(age, label=name, lw=0.8, linestyle="-")
    axes.axhline(limit, color="black", linestyle="--", lw=1, label="Lemma 1")
    axes.set(xlabel="iteration", title=f"{title}: N = {clients}, K = {size}, E = {E}")
    least, free = (max(ages[name]) for name in ("least recently used", "uniform"))
    print(f"{title}: I = {limit}, oldest update {least}, under uniform selection {free}")
    assert least <= limit < free
panels[0].set_ylabel("age of the oldest update")
panels[0].legend()
assert least == limit

# %% [markdown]
# The bound is attained (right); uniform selection has none (`fedlaavg.lem1.rule`).

# %% [markdown]
# ## Try this
# - Blocks of (5, 5) instead of (3, 1): both methods have the right time-weighted mean. Which one still wins, and why?
# - `fltheory show fedlaavg.eq46`: a step of the proof for rounds (Theorem 4) that needs $\max(I, 2)$ in place of $I$.
# - Unequal curvature, `DiagonalQuadratic([1, 4], [1, -1])`: which point does FedLaAvg find?
