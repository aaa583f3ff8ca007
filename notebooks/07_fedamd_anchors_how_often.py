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
# # How often should anchors be renewed?
#
# In FedAMD (Wu et al., ICML 2023) some participants, the anchors, renew cached large-batch gradients, the others, the
# miners, move the model along their mean. Anchors too seldom leave the caches stale, anchors all the time move nothing.
# Which probability $p$ and which period $\tau$ are best, and what happens if $\tau$ is long?

# %%
import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import LINES, notebook_style
from analysis.trials import conditions_at
from fltheory.ledger import ledger
from sims.algorithms.fedamd import Hyper, fedamd
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import in_turn, roles, schedule, uniform_subsets

notebook_style()

# %% [markdown]
# ## The best probability
# Each of the $A$ participants is an anchor with probability $p$. The largest step of Theorem 4.8 falls with
# $a = (M/(Ap))\sqrt{1 - p^A}$ and a share $p^A$ of the rounds has no miner. Corollary 4.9: where staleness dominates
# the rounds needed grow as $1/(p\sqrt{1-p^A})$, which is least at $p^A = 2/(A+2)$.

# %%
ledger["fedamd.cor49"]

# %%
p = np.linspace(0.01, 0.995, 400)
figure, axes = plt.subplots()
for (color, dashes), A in zip(LINES, (1, 2, 10, 40), strict=False):
    rounds_needed = 1 / (p * np.sqrt(1 - p**A))
    best = (2 / (A + 2)) ** (1 / A)
    axes.plot(p, rounds_needed, color=color, linestyle=dashes, label=f"A = {A}, best p = {best:.3f}")
    axes.plot(best, 1 / (best * np.sqrt(1 - best**A)), "o", color=color, markersize=4)
    assert abs(p[np.argmin(rounds_needed)] - best) < 0.005
axes.set(
    xlabel="probability p of being an anchor", ylabel="rounds, in units of M/(A ε)", ylim=(0, 12), title="Corollary 4.9"
)
axes.legend()
assert best > 0.9

# %% [markdown]
# With many participants nearly all should be anchors; with one, two in three. Is that so in a run? Two clients, one of
# them drawn in each round ($M = 2$, $A = 1$), caches filled by a first round of all clients. At each $p$ the run takes
# the largest step that the theorem allows (with constants for which it is proved, `thm48.repaired`; no violation of the
# printed ones is known).

# %%
ledger["fedamd.thm48.repaired"]

# %%
M, A, T, local_lr = 2, 1, 400, 6**0.5 / 12
problem = DiagonalQuadratic([1.0, 0.6], [1.0, -1.0])
repaired = ledger["fedamd.thm48.repaired"]
optimum, least = problem.constants.minimiser[0], problem.constants.minimum
start, curvature = 3.0, problem.curvature.mean()
gap = float(problem.objective(np.array([start]))) - least


def average_square(p, eta):
    """The exact average of E|grad F|^2 over rounds 0, ..., T - 1 with anchors of probability p."""
    setting = Setting(fedamd, problem, Hyper(local_lr, eta / local_lr), [start])
    warm = roles(schedule([[True] * M]), 1)
    engine = Engine(setting, in_turn(warm, 1, roles(uniform_subsets(M, A), p)))
    square = engine.quadratic(lambda state: (curvature * (state["x"][:, 0] - optimum)) ** 2)
    _, average = engine.after(T + 1)  # the warm round leaves the model where it is, so round 0 counts twice
    first = (curvature * (start - optimum)) ** 2
    return (float(average.expected(square)) * (T + 1) - first) / T


probabilities = np.linspace(0.1, 0.95, 18)
exact, bound = [], []
for p in probabilities:
    a = M / (A * p) * (1 - p**A) ** 0.5
    eta = (1 - 1e-12) / (1 + 10**0.5 * a)
    exact.append(average_square(p, eta))
    constants = {
        "local_lr": local_lr,
        "global_lr": eta / local_lr,
        "anchor_probability": p,
        "cohort_size": A,
        "n_clients": M,
        "initial_gap": gap,
        "rounds": T,
        "local_steps": 1,
        "subsampled": 0,
        "noise_std": 0,
        "anchor_batch": 2,
        "batch_size": 1,
        "noise_smoothness": 0,
        "smoothness": float(problem.constants.smoothness),
    }
    assert all(conditions_at(repaired, constants).values())
    bound.append(repaired.bound.at(**constants))
assert (np.array(exact) <= bound).all()
figure, axes = plt.subplots()
axes.semilogy(probabilities, exact, label=f"exact average over {T} rounds")
axes.semilogy(probabilities, bound, label="bound (Theorem 4.8, repaired)")
axes.axvline(2 / 3, color="black", linestyle=":", lw=1, label="Corollary 4.9: p = 2/3")
axes.set(
    xlabel="probability p of being an anchor",
    ylabel=r"average of $E|\nabla F|^2$",
    title=f"M = {M}, A = {A}, one local step, no noise",
)
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
near = np.abs(probabilities - 2 / 3).argmin()
for name, values in {"bound": bound, "exact average": exact}.items():
    least_at, more = probabilities[np.argmin(values)], values[near] / min(values) - 1
    print(f"least {name} at p = {least_at:.2f}; at p = {probabilities[near]:.2f} it is {more:.1%} larger")
    assert 0.5 <= least_at <= probabilities[near]
    assert more < 0.1

# %% [markdown]
# Nearly: both are least at a somewhat smaller $p$, and not much larger at that of the corollary. Its order keeps
# $a = M/(Ap) \cdot \sqrt{1 - p^A}$ of the step's $1 + \sqrt{10}\,a$ alone, which is all if $M/A$ is large; the 1 that
# it drops favours fewer anchors.

# %% [markdown]
# ## The best period
# In the sequential form all participants are anchors every $\tau$ rounds. By Theorem 4.6 the rounds needed grow as
# $(1 + 2\tau M/A)\,\tau/(\tau-1)$, and $\tau = 2$ is best for every $M/A$, as the paper says (`fedamd.tau2`, proved).

# %%
tau = np.arange(2, 31)
figure, axes = plt.subplots()
for (color, dashes), ratio in zip(LINES, (1, 5, 20), strict=False):
    needed = (1 + 2 * ratio * tau) * tau / (tau - 1)
    axes.plot(tau, needed / needed[0], color=color, linestyle=dashes, marker=".", label=f"M/A = {ratio}")
    assert needed.argmin() == 0
axes.set(xlabel=r"period $\tau$ (rounds)", ylabel=r"rounds needed, over those at $\tau$ = 2", title="Theorem 4.6")
axes.legend()
print(f"at a period of 30 and M/A = 1: {((1 + 60) * 30 / 29) / ((1 + 4) * 2):.1f} times the rounds")

# %% [markdown]
# ## What breaks when the period is long
# Theorem 4.4 (everybody participates; with constants, (47) of Appendix D) has a noise term that falls with $\tau$,
# because the step must. But the noise of one anchor round moves the model in all $\tau - 1$ miner rounds of its cycle:
# the two parts of (71) are correlated from the second move on. The recommended $\tau = 2$ is not affected, nor is the
# order (5) for a bounded $\tau$.

# %%
ledger["fedamd.thm44"]

# %% [markdown]
# The smallest case: $F = x^2/2$, one client, unit noise in the anchors' gradients ($b = 4$ samples with
# $\sigma = 2$), one local step, and the largest product of steps that the theorem allows. The exact engine gives
# $E|\nabla F|^2 = E x^2$ in every round of the cycle that the run settles into; started there, all cycles are alike.

# %%
noisy = DiagonalQuadratic([1.0], [0.0], noise=Additive(1.0))
printed, mended = ledger["fedamd.thm44"], ledger["fedamd.thm44.repaired"]
local_lr = 1e-3


def long_cycle(tau):
    """Smallest and average E|grad F|^2 of the settled cycle; (47) and the repaired bound for a run of many cycles."""
    global_lr = 6**0.5 / (36 * tau) / local_lr
    anchors_first = roles(schedule([[True]]), [1] + [0] * (tau - 1))
    cycle = Engine(Setting(fedamd, noisy, Hyper(local_lr, global_lr), [0.0]), anchors_first).limit_cycle()
    squares = [float(moments.second[0, 0]) for moments in cycle]
    constants = {
        "anchor_period": tau,
        "local_lr": local_lr,
        "global_lr": global_lr * (1 - 1e-12),
        "local_steps": 1,
        "smoothness": 1,
        "n_clients": 1,
        "noise_std": 2,
        "noise_smoothness": 0,
        "batch_size": 1,
        "anchor_batch": 4,
        "subsampled": 1,
        "initial_gap": squares[0] / 2,
        "rounds": 10**9,
        "miner_rounds": 10**9,
    }
    assert all(conditions_at(printed, constants).values())
    return min(squares), np.mean(squares), printed.bound.at(**constants), mended.bound.at(**constants)


periods = np.array([2, 3, 5, 8, 12, 20, 30, 45, 64, 65, 80, 101, 130, 180, 250])
least, average, as_printed, as_repaired = np.array([long_cycle(int(tau)) for tau in periods]).T
figure, axes = plt.subplots()
axes.loglog(periods, average, label="exact average")
axes.loglog(periods, least, label="exact minimum")
axes.loglog(periods, as_printed, label="(47) as printed")
axes.loglog(periods, as_repaired, label="repaired")
axes.axvline(65, color="black", linestyle=":", lw=1, label=r"$\tau$ = 65")
axes.set(
    xlabel=r"period $\tau$ (rounds)",
    ylabel=r"$E|\nabla F|^2$",
    title="the settled cycle, and bounds for a run of a billion rounds",
)
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
beyond = periods[average > as_printed]
print(f"the average passes (47) at periods {beyond[0]}, {beyond[1]}, ...; the minimum at {periods[least > as_printed]}")
assert beyond[0] == 65
assert (average <= as_repaired).all()

# %% [markdown]
# So (47) holds with room for short periods and fails for the average from $\tau = 65$ on. (It is stated for the
# smallest gradient, which passes it a little later.) The repaired noise term
# $\frac32(\tau-1)\eta_s\eta_l KL\,\sigma^2/(Mb)$ covers all periods; the factor $\tau - 1$ is necessary.

# %%
ledger["fedamd.thm44.repaired"]

# %% [markdown]
# ## Try this
# - Take `noise=Additive(0.0)` in the last part: what is left of the difference?
# - Two clients with curvatures 1 and -0.6: `Engine(...).growth()` tells when the caches become unstable; compare
#   `fltheory show fedamd.law.stability`.
# - `fltheory falsify fedamd.thm44.proof --budget 20s` searches for an example of its own.
