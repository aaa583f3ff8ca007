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
# # When does it pay to amplify updates?
#
# Generalized FedAvg (Wang & Ji, NeurIPS 2022) multiplies what an interval of $P$ rounds has achieved by $\eta$. How
# large may $P$ and $\eta$ be? That depends on how evenly clients take part within an interval: the interval divergence
# $\tilde\delta(P)$ of (7). This page computes it for seven kinds of participation, and runs the algorithm. (Of this
# paper the main text was read, not the supplement.)

# %%
import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import LINES, notebook_style
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli, Cyclic, Markov, Periodic, Permutation, UniformSubset
from sims.algorithms.amplified import Hyper, amplified
from sims.exact import Engine, Setting
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record
from sims.rounds import Setup, Simulation
from sims.scenarios import average_participating, schedule, weighted
from sims.weighting import AverageParticipating

notebook_style()

# %%
ledger["amplified.thm31"]

# %% [markdown]
# $\tilde\delta^2(P)$ is the one term that no step size makes small. By (15) it is at most $N d^2 \sum_n (\bar q_n -
# 1/N)^2$, $\bar q_n$ the weight of client $n$ averaged over the interval.
#
# ## Interval divergence by process
# 20 clients, on average 5 in a round. The mean of the right side of (15), in units of $d^2$, measured over the
# intervals of a trace of each process, for participants with equal weights.

# %%
N, S = 20, 5
rate = np.full(N, S / N)
processes = {
    "Bernoulli": Bernoulli(rate),
    "Markov": Markov(rate),
    "subsets": UniformSubset(N, S),
    "permutation": Permutation(N, S),
    "block-cyclic": Periodic.block_cyclic(N, 4, 25),
    "cyclic": Cyclic(rate, period=100),
    "day and night": Periodic.diurnal(N, 25, 75),
}


def right_side_of_15(process, P, rounds=40_000, seed=1):
    """N times the sum over clients of (averaged weight - its mean)^2, averaged over intervals; rounds without anybody
    are left out of an interval's mean, as no update is made in them."""
    trace = process.sample(rounds, seed)
    weights = trace / np.maximum(trace.sum(axis=1, keepdims=True), 1)
    whole = weights[: rounds // P * P].reshape(-1, P, N).sum(axis=1)
    active = whole.sum(axis=1, keepdims=True)
    averaged = (whole / np.where(active > 0, active, 1))[active[:, 0] > 0]
    return N * np.square(averaged - 1 / N).sum(axis=1).mean()


intervals = np.array([1, 2, 4, 8, 16, 25, 50, 100, 200, 400])
figure, axes = plt.subplots(figsize=(7, 3.2))
divergence = {}
for (color, dashes), (name, process) in zip(LINES, processes.items(), strict=False):
    divergence[name] = np.array([right_side_of_15(process, int(P)) for P in intervals])
    shown = np.where(divergence[name] > 1e-9, divergence[name], np.nan)  # 0 has no place on a logarithmic axis
    axes.loglog(
        intervals,
        shown,
        color=color,
        linestyle=dashes,
        marker=".",
        label=name if np.isfinite(shown).any() else f"{name}: 0",
    )
v2 = (N - S) / (N**2 * S)
axes.loglog(intervals, N**2 * v2 / intervals, "k.", markersize=8, alpha=0.4, label="$N^2 v^2/P$, exact")
axes.set(
    xlabel="interval P (rounds)",
    ylabel=r"right side of (15), units of $d^2$",
    title=f"N = {N} clients, {S} in a round on average",
)
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
assert np.allclose(divergence["subsets"][:5], N**2 * v2 / intervals[:5], rtol=0.05)

# %% [markdown]
# Independent subsets fall as $1/P$ with the variance $v^2 = (N-S)/(N^2 S)$ of a weight (`amplified.weights`), Markov
# clients later by the length of their streaks. Regularised participation is in a class of its own: for a permutation
# the divergence is exactly 0 whenever $P$ is a multiple of $N/S$ (Proposition 4.2; zeros are left out of the picture),
# in block-cyclic turns once $P$ covers whole cycles. Cyclic clients with phases of their own have equal rates, but not
# equal company: those who come when many do weigh less each time, and a rest stays. A common night for everybody costs
# nothing but the nights.

# %%
permuted = dict(zip(intervals.tolist(), divergence["permutation"], strict=True))
print("permutation:", {P: float(f"{value:.2g}") for P, value in permuted.items()})
assert all(value < 1e-20 for P, value in permuted.items() if P % (N // S) == 0)
assert divergence["block-cyclic"][-1] < 1e-20
assert divergence["day and night"].max() < 1e-20

# %%
ledger["amplified.prop42"]

# %% [markdown]
# ## Amplification at work
# 20 clients with the losses $(x - b_n)^2/2$ take part in a random order, 5 a round. Small local steps, and the updates
# of four rounds, which is one turn of everybody, times $\eta$. The amplified run is much faster and settles near the
# optimum; without a regular order the same $\eta$ amplifies what the interval missed.

# %%
centres = np.linspace(-3, 5, N)
problem = DiagonalQuadratic(np.ones(N), centres)
rounds, runs, every = 400, 200, 4
figure, panels = plt.subplots(1, 2, sharey=True)
final = {}
for axes, (title, process) in zip(
    panels, {"permutation": Permutation(N, S), "subsets": UniformSubset(N, S)}.items(), strict=True
):
    for (color, dashes), eta in zip(LINES, (1, 5, 20), strict=False):
        record = Record(("squared_gradient",), every=every, rounds=rounds)
        setup = Setup(problem, amplified, Hyper(0.01, eta, interval=4), process, AverageParticipating())
        Simulation(setup, np.full((runs, 1), 8.0), rounds, np.random.default_rng(0), record).advance()
        squares = record.arrays()["squared_gradient"].mean(axis=0)
        final[title, eta] = squares[-20:].mean()
        below_1 = np.argmax(squares < 1) * every
        print(f"{title}, eta = {eta}: below 1 after {below_1} rounds, {final[title, eta]:.1e} at the end")
        axes.semilogy(np.arange(squares.size) * every, squares, color=color, linestyle=dashes, label=f"$\\eta$ = {eta}")
    axes.set(xlabel="round", title=f"{title}, P = 4")
panels[0].set_ylabel(r"$|\nabla f|^2$, mean of 200 runs")
panels[0].legend()
assert final["permutation", 20] < final["subsets", 20] / 50

# %% [markdown]
# ## Zero divergence is not zero bias
# Proposition 4.2 speaks of gradients at one model. In a real cycle the model moves on, and whoever comes last pulls
# last: under a fixed order the cycle's start settles off the optimum by $O(\gamma L I P)$, whatever $\eta$
# (`amplified.law.cyclic`, exact).

# %%
two = DiagonalQuadratic([1.0, 1.0], [1.0, -1.0])
in_turn = weighted(schedule([[True, False], [False, True]]), average_participating)
steps = np.array([0.4, 0.2, 0.1, 0.05, 0.025])
figure, axes = plt.subplots()
for (color, dashes), eta in zip(LINES, (1.0, 1.5), strict=False):
    off = [
        float(Engine(Setting(amplified, two, Hyper(lr, eta, interval=2), [0.0]), in_turn).limit_cycle()[0].mean("x")[0])
        for lr in steps
    ]
    axes.plot(steps, np.abs(off), color=color, linestyle=dashes, marker=".", label=f"limit, $\\eta$ = {eta}")
    weight = (1 - steps) / (2 - steps)  # of the first client in the limit, D / (1 + D) with D = 1 - step
    assert np.allclose(off, 2 * weight - 1, rtol=1e-9)
axes.plot(steps, steps / (2 - steps), "k.", markersize=8, alpha=0.4, label="law.cyclic: γ/(2 - γ)")
axes.set(
    xlabel=r"local step $\gamma$",
    ylabel="distance from the optimum",
    title="two clients in turn, P = 2: the interval divergence is 0",
)
axes.legend()
print(f"at step 0.1: {off[2]:.4f} for eta = 1.5, formula {-0.1 / 1.9:.4f}")

# %% [markdown]
# ## Try this
# - `right_side_of_15(Markov(rate, max_enter=0.01), 100)`: longer streaks, larger intervals.
# - Take `interval=6` with the permutation: six rounds are no whole turn. What becomes of $\eta = 20$?
# - `fltheory show amplified.prop46.repaired` bounds the expectation for every stationary process and every $P$.
