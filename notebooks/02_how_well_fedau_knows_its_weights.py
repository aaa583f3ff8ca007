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
# # How well does FedAU know its weights?
#
# FedAU (Wang & Ji, ICLR 2024) weights a client by the mean of its participation intervals, cut off at $K$ rounds,
# because the right weight, one over its participation rate $p$, is unknown. How far off is that weight, and which
# $K$ is best?

# %%
import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import notebook_style
from fltheory.ledger import ledger
from fltheory.participation import Cyclic, Markov
from fltheory.weights import best_cutoff, corollary4_cutoff, exact_weight_law, long_run_scale, weight_error_bound
from sims.montecarlo import weight_error

notebook_style()

# %% [markdown]
# What the paper states, with the constants of its proof:

# %%
ledger["fedau.thm3"]

# %% [markdown]
# ## The exact error
# The law of the weight can be computed exactly for every round, so no simulation is needed. Theorem 3 bounds the
# average over the first $T$ rounds.

# %%
p, cutoff, rounds = 0.1, 50, 2000
law = exact_weight_law(p, cutoff, rounds)
average = np.cumsum(law.error) / np.arange(1, rounds + 1)
horizons = np.unique(np.geomspace(2, rounds, 40).astype(int))

plt.loglog(horizons, average[horizons - 1], label="exact")
for which in ("theorem3", "repaired", "improved"):
    bound = [weight_error_bound(p, cutoff, T, which) for T in horizons]
    assert (average[horizons - 1] <= bound).all()
    plt.loglog(horizons, bound, label=which)
plt.xlabel("rounds $T$")
plt.ylabel("average weight error (no unit)")
plt.title(f"p = {p}, K = {cutoff}")
plt.legend()
print(f"after {rounds} rounds: exact {average[-1]:.4f}, improved bound {bound[-1]:.4f}")

# %% [markdown]
# ## Simulation agrees
# Monte Carlo gives an interval that holds for every number of runs at once; the exact value lies inside.

# %%
estimate = weight_error(p, cutoff, rounds, replicates=20_000).average
print(estimate)
assert estimate.covers(law.error.mean())

# %% [markdown]
# ## One step of the proof
# Step (a) of (B.6.8) takes the mean of the weight to be that of one interval. That is exactly right from round $K$
# on, and wrong before: short intervals complete first.

# %%
late_mean = (1 - (1 - p) ** cutoff) / p
print(law.mean[[1, 10, 25, 49, 50, 500]].round(4), "against", round(late_mean, 4))
assert np.allclose(law.mean[cutoff:], late_mean, rtol=1e-12)
assert (law.mean[1:cutoff] < late_mean).all()

# %% [markdown]
# ## Choosing K
# A small $K$ biases the weight, a large one lets it vary. The exact minimiser, the choice of Corollary 4, and $K = 50$:

# %%
for rate in (0.02, 0.1, 0.5):
    choices = {"best": best_cutoff(rate, 1000), "Corollary 4": corollary4_cutoff(rate, 1000), "usual": 50}
    errors = {name: exact_weight_law(rate, K, 1000).error.mean() for name, K in choices.items()}
    print(f"p = {rate}: ", ", ".join(f"{name} K = {choices[name]}: {errors[name]:.4f}" for name in choices))

# %% [markdown]
# With a fixed $K$ the bias never goes away, and it depends on the kind of participation, not only on the rate:

# %%
for name, process in {"Bernoulli": 0.02, "Markov": Markov(0.02), "cyclic": Cyclic(0.02)}.items():
    print(f"{name:10s} p w tends to {float(np.squeeze(long_run_scale(process, 50))):.6f}")

# %% [markdown]
# ## Try this
# - Put your own rate and horizon into `best_cutoff`.
# - `fltheory show fedau.eqB68a` tells what is conditional about step (a), with a witness.
# - `fltheory weights LOG --cutoff 50` does all this for a participation log of yours.
