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
# # Is your own estimator of participation weights any good?
#
# A server does not know how often a client takes part; it estimates the inverse rate $1/p$ from the past. Say you have
# an idea of your own. What must an estimator do, how do you test that it does, and does it beat FedAU (Wang & Ji, ICLR
# 2024)?

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from hypothesis import given, settings
from scipy.stats import binom

from analysis.figures.style import notebook_style
from fltheory.participation import Bernoulli, Markov
from fltheory.testing import CheckFailed, check_weight_estimator, participation_histories
from fltheory.weights import best_cutoff, exact_weight_law, fedau_weights
from sims.algorithms.fedavg import Hyper, fedavg
from sims.problems.quadratic import DiagonalQuadratic
from sims.rounds import Setup, Simulation
from sims.weighting import KnownRates

notebook_style()

# %% [markdown]
# ## An idea
# FedAU averages intervals and has a cutoff to choose. The plainest rival counts: with $n_t$ participations in the $t$
# rounds before round $t$, take $w_t = (t+1)/(n_t+1)$. The ones keep it finite and let it start at 1.
#
# The convention of the library: a history is an array (..., rounds, clients) of truth values, the weights have the same
# shape, and the weight in row $t$ is used in round $t$, so it may look at the rows before $t$ only.


# %%
def counting_weights(history):
    """(t + 1) / (participations before round t + 1), for a history (..., rounds, clients)."""
    seen = np.asarray(history, dtype=bool)
    before = np.cumsum(seen, axis=-2) - seen
    t = np.arange(seen.shape[-2])[:, None]
    return (t + 1) / (before + 1)


print(counting_weights([[False], [True], [False], [True]]).T)

# %% [markdown]
# A server learns round by round, so the same again as a small class: `weights` for the coming round, `update` after it.


# %%
class CountingWeights:
    """The counting estimator of some clients, one after the other round."""

    def __init__(self, n_clients):
        self.seen, self.rounds = np.zeros(n_clients), 0

    @property
    def weights(self):
        return (self.rounds + 1) / (self.seen + 1)

    def update(self, participated):
        self.seen, self.rounds = self.seen + np.asarray(participated), self.rounds + 1
        return self.weights


# %% [markdown]
# ## What every estimator must do
# Properties, not examples: one call draws histories and looks for one that breaks any of them. Weights depend on the
# past alone, clients are treated alike, a saved estimator goes on where it was, both forms agree, weights come to
# estimate $1/p$ under Bernoulli, Markov and cyclic participation, and more.

# %%
check_weight_estimator(CountingWeights, whole=counting_weights)
print("every check holds")

# %% [markdown]
# A test that cannot fail is worth nothing. Here is the classical mistake, a count that includes the round itself,
# which gives every participant of round $t$ a smaller weight because it takes part. The report has the shortest
# history that shows it:


# %%
def peeking_weights(history):
    seen = np.asarray(history, dtype=bool)
    t = np.arange(seen.shape[-2])[:, None]
    return (t + 2) / (np.cumsum(seen, axis=-2) + 1)


try:
    check_weight_estimator(CountingWeights, whole=peeking_weights)
except CheckFailed as failed:
    report = str(failed)
print(report)
assert "history only" in report

# %% [markdown]
# For a property of your own take the strategies of the kit. Here: no update ever counts less than once.


# %%
@settings(derandomize=True, deadline=None, database=None)
@given(participation_histories())
def no_update_counts_less_than_once(history):
    weights = counting_weights(history)
    assert (weights[:1] == 1).all()
    assert (weights >= 1).all()


no_update_counts_less_than_once()

# %% [markdown]
# ## How far off is it?
# Under Bernoulli participation $n_t$ is binomial, so mean and error of $w_t$ are finite sums. The mean has a closed
# form, $p\,E[w_t] = 1 - (1-p)^{t+1}$: what FedAU has with a cutoff of $t + 1$, but with nothing to choose.


# %%
def exact_counting(p, rounds):
    """E[w_t] and E[(p w_t - 1)^2] for t < rounds."""
    mean, error = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        n = np.arange(t + 1)
        chance, weight = binom.pmf(n, t, p), (t + 1) / (n + 1)
        mean[t], error[t] = chance @ weight, chance @ (p * weight - 1) ** 2
    return mean, error


T = 1000
figure, panels = plt.subplots(1, 3)
for axes, p in zip(panels, (0.02, 0.1, 0.5), strict=True):
    mean, error = exact_counting(p, T)
    assert np.allclose(p * mean, 1 - (1 - p) ** np.arange(1, T + 1), rtol=1e-9)
    best = best_cutoff(p, T)
    fedau = {"FedAU, best K": exact_weight_law(p, best, T).error, "FedAU, K = 50": exact_weight_law(p, 50, T).error}
    errors = {"counting": error, **fedau}
    for name, law in errors.items():
        axes.loglog(np.arange(1, T), law[1:], label=name)
    axes.set(xlabel="round t", title=f"p = {p}, best K = {best}")
    print(f"p = {p}:", ", ".join(f"{name} {law.mean():.4f}" for name, law in errors.items()))
    assert fedau["FedAU, best K"].mean() < error.mean() < fedau["FedAU, K = 50"].mean()
panels[0].set_ylabel("weight error $E[(p w_t - 1)^2]$")
figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
print("(averages over 1000 rounds)")

# %% [markdown]
# On average over 1000 rounds counting does better than FedAU with the usual $K = 50$, and worse than FedAU with the
# best $K$, which nobody knows who does not know $p$.

# %% [markdown]
# An independent computation of the same: all $2^{10}$ histories of ten rounds, one by one. It must give FedAU's exact
# law for FedAU, and our sums for our estimator.

# %%
p, rounds = 0.3, 10
everything = np.array([[number >> t & 1 for t in range(rounds)] for number in range(2**rounds)], dtype=bool)[..., None]
chance = np.prod(np.where(everything[..., 0], p, 1 - p), axis=1)


def by_enumeration(estimator):
    return chance @ (p * estimator(everything)[..., 0] - 1) ** 2


assert np.allclose(by_enumeration(lambda h: fedau_weights(h, 4)), exact_weight_law(p, 4, rounds).error, rtol=1e-12)
assert np.allclose(by_enumeration(counting_weights), exact_counting(p, rounds)[1], rtol=1e-12)
print("both agree with the enumeration of", 2**rounds, "histories")

# %% [markdown]
# ## And if rounds are not independent?
# Then there is no binomial law; simulation with intervals does. Clients that come in streaks make every estimator
# slower.

# %%
runs, rounds, last = 4000, 400, {}
figure, axes = plt.subplots()
for name, process in {"Bernoulli": Bernoulli(np.full(runs, 0.1)), "Markov": Markov(np.full(runs, 0.1))}.items():
    trace = process.sample(rounds, seed=3)
    for label, weights in {"counting": counting_weights(trace), "FedAU, K = 50": fedau_weights(trace, 50)}.items():
        squares = (0.1 * weights - 1) ** 2
        middle, half = squares.mean(axis=1), 2 * squares.std(axis=1) / runs**0.5
        last[label, name] = middle[-1]
        (line,) = axes.loglog(np.arange(1, rounds), middle[1:], label=f"{label}, {name}")
        axes.fill_between(
            np.arange(1, rounds), (middle - half)[1:], (middle + half)[1:], color=line.get_color(), alpha=0.3
        )
axes.set(xlabel="round t", ylabel="weight error", title=f"p = 0.1, mean of {runs} clients ± 2 standard errors")
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
for label in ("counting", "FedAU, K = 50"):
    print(f"{label} in the last round: {last[label, 'Bernoulli']:.3f}, in streaks {last[label, 'Markov']:.3f}")
    assert last[label, "Markov"] > 2 * last[label, "Bernoulli"]

# %% [markdown]
# ## In a run
# A weighting rule for the round loop wraps the estimator; `weights` is asked before, `update` told after a round. The
# three clients are those of notebook 3, with the optimum at 8/7.


# %%
@dataclass(frozen=True)
class Counting:
    """The counting estimator as a rule for `sims.rounds.Setup`."""

    def start(self, replicates, n_clients, rates):
        return CountingRun(replicates, n_clients)


class CountingRun:
    """R replicates of N clients are R N clients."""

    def __init__(self, replicates, n_clients):
        self.estimator, self.shape = CountingWeights(replicates * n_clients), (replicates, n_clients)

    def weights(self, participated):
        return self.estimator.weights.reshape(self.shape)

    def update(self, participated):
        self.estimator.update(participated.reshape(-1))

    def state_dict(self):
        return {name: np.array(value) for name, value in vars(self.estimator).items()}

    def load_state_dict(self, state):
        self.estimator.seen, self.estimator.rounds = state["seen"].copy(), int(state["rounds"])


problem = DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2])
process, replicates = Bernoulli([0.1, 0.5, 0.9]), 400
optimum = float(problem.constants.minimiser[0])
for name, rule in {"known rates": KnownRates(), "counting": Counting()}.items():
    setup = Setup(problem, fedavg, Hyper(0.02), process, rule)
    simulation = Simulation(setup, np.zeros((replicates, 1)), 2000, np.random.default_rng(0))
    simulation.advance()
    x = simulation.state.linear["x"][:, 0]
    error = x.std() / replicates**0.5
    print(f"{name:12s} mean model {x.mean():.4f} ± {error:.4f}, optimum {optimum:.4f}")
    assert abs(x.mean() - optimum) < 4 * error

# %% [markdown]
# ## Try this
# - `(t + 1) / (before + 0.5)`: which check breaks, and at which history?
# - A client that has left for good: what do FedAU with $K = 50$ and the counting estimator give after 1000 rounds?
# - The closed form of the mean suggests a theorem about the error. Notebook 12 states one, and falsifies it.
