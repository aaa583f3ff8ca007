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
# # How long is a wait that is cut off?
#
# A client takes part in each round with probability $p$. FedAU (Wang & Ji, ICLR 2024) measures how long it stays away,
# but never waits more than $K$ rounds: an interval that has not ended by then counts as $K$. What does the cutoff do
# to the law of the interval, to its mean, and to its variance?

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import notebook_style
from fltheory.distributions import KCutoffGeometric
from fltheory.ledger import ledger
from fltheory.weights import exact_weight_law

notebook_style()

# %% [markdown]
# What the paper states, (B.6.1) and Lemma B.6.1:

# %%
ledger["fedau.lemB61"]

# %% [markdown]
# ## The law
# Below $K$ nothing changes; all that would have come later sits at $K$.

# %%
p = 0.1
k = np.arange(1, 31)
figure, panels = plt.subplots(1, 3, sharey=True)
for axes, K in zip(panels, (5, 15, np.inf), strict=True):
    law = KCutoffGeometric(p, K)
    drawn = law.rvs(20_000, np.random.default_rng(1))
    axes.bar(k, law.pmf(k), label="exact")
    axes.plot(k, np.bincount(drawn, minlength=31)[1:31] / drawn.size, "k.", markersize=3, label="20 000 draws")
    axes.set(title=f"p = {p}, K = {K if np.isfinite(K) else '∞'}", xlabel="interval (rounds)", yscale="log")
panels[0].set_ylabel("probability")
panels[0].legend()
at_cutoff = KCutoffGeometric(p, 15).pmf(15)
assert np.isclose(at_cutoff, (1 - p) ** 14, rtol=1e-12)
print(f"At K = 15 a share of {at_cutoff:.3f} of all intervals is cut off or ends there.")

# %% [markdown]
# ## Mean and variance, proved
# Computer algebra proves the lemma by induction on $K$: each step is an expression that must be 0.

# %%
symbolic = KCutoffGeometric.symbolic()
for step in symbolic.proof:
    print("holds" if step.holds else "FAILS", "|", step.statement)
assert all(step.holds for step in symbolic.proof)

# %%
print(symbolic.variance)

# %% [markdown]
# ## The trade
# FedAU weights a client by a mean of such intervals, so the right mean is $1/p$. A cutoff makes it too small by the
# factor $1 - (1-p)^K$, and in return tames the variance, which the lemma bounds by $(1-p)/p^2$.

# %%
K = np.unique(np.geomspace(1, 1000, 80).astype(int))
figure, (left, right) = plt.subplots(1, 2)
for rate in (0.02, 0.1, 0.5):
    law = KCutoffGeometric(rate, K)
    left.semilogx(K, rate * law.mean(), label=f"p = {rate}")
    right.semilogx(K, law.var() * rate**2 / (1 - rate), label=f"p = {rate}")
left.set(xlabel="cutoff K (rounds)", ylabel="mean interval times p", title="1 would be unbiased")
right.set(xlabel="cutoff K (rounds)", ylabel="variance over (1-p)/p²", title="1 is the bound of Lemma B.6.1")
left.legend()
scale = 0.02 * KCutoffGeometric(0.02, 50).mean()
print(f"At p = 0.02 and K = 50 the mean interval is {1 - scale:.0%} below 1/p.")
assert round(1 - scale, 2) == 0.36

# %% [markdown]
# ## Small rates need care
# The variance formula of the lemma loses all its digits to cancellation when $Kp$ is small; the library sums a series
# there. A hand computation in exact fractions decides who is right.

# %%
tiny, cutoff = 1e-9, 20
q = 1 - Fraction(tiny)
exact = sum(Fraction(k * k) * (1 - q) * q ** (k - 1) for k in range(1, cutoff)) + cutoff**2 * q ** (cutoff - 1)
exact -= ((1 - q**cutoff) / (1 - q)) ** 2
naive = (1 - tiny) / tiny**2 - (2 * cutoff - 1) * (1 - tiny) ** cutoff / tiny - (1 - tiny) ** (2 * cutoff) / tiny**2
library = KCutoffGeometric(tiny, cutoff).var()
print(f"exact {float(exact):.12e}\nnaive {naive:.12e}\nhere  {library:.12e}")
assert abs(library / float(exact) - 1) < 1e-12
assert abs(naive / float(exact) - 1) > 1

# %% [markdown]
# ## Estimating p
# An interval of $K$ says only that $K - 1$ rounds passed without the client. `fit` is maximum likelihood; its interval
# covers the true rate with at least the stated probability for every number of intervals, also where all are cut off.

# %%
truth, cutoff = 0.02, 50
estimates = [
    KCutoffGeometric.fit(KCutoffGeometric(truth, cutoff).rvs(40, np.random.default_rng(seed)), cutoff)
    for seed in range(40)
]
covered = sum(estimate.covers(truth) for estimate in estimates)
figure, axes = plt.subplots()
for i, e in enumerate(estimates):
    axes.plot([i, i], [e.low, e.high], color="#0072B2" if e.covers(truth) else "#D55E00", linestyle="-")
    axes.plot(i, e.value, "k.", markersize=3)
axes.axhline(truth, color="black", linestyle="--", label=f"true rate {truth}")
axes.set(xlabel="repetition (40 intervals each)", ylabel="p, with 95 % interval", title=f"{covered} of 40 cover")
axes.legend()
assert covered >= 35
print(KCutoffGeometric.fit([50] * 10, 50))

# %% [markdown]
# ## From intervals to weights
# The mean of the weight is the mean of one interval from round $K$ on; before, no interval can have been cut off, and
# the weight is smaller. Notebook 2 follows this up.

# %%
law = exact_weight_law(0.1, 50, 200)
interval = KCutoffGeometric(0.1, 50)
assert np.allclose(law.mean[50:], interval.mean(), rtol=1e-12)
assert (law.mean[1:50] < interval.mean()).all()
print(f"mean weight in rounds 10, 49, 50: {law.mean[[10, 49, 50]].round(4)}; mean interval {interval.mean():.4f}")

# %% [markdown]
# ## Try this
# - Other laws share the interface: `TwoStateInterval(enter=0.05, leave=0.45)` is a client that comes in streaks. Its
#   mean interval is 10 as well; compare the variances.
# - `KCutoffGeometric(p, K).entropy()`: which cutoff loses half of the entropy at $p = 0.02$?
# - `fltheory verify fedau.lemB61` runs the proof again, `fltheory show fedau.lemB61` tells what it rests on.
