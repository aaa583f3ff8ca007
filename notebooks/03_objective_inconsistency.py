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
# # Which objective does federated averaging really minimise?
#
# Clients that take part more often pull harder. So what does a run converge to, if not to the minimum of the average
# objective, and which weights put that right? FedAU (Wang & Ji, ICLR 2024) answers in Theorem 1; on quadratics every
# limit is a fraction that can be computed exactly.

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import LINES, band, notebook_style
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli
from sims.algorithms import implicit_weights
from sims.algorithms.fedavg import Hyper, fedavg
from sims.exact import Engine, Setting
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record
from sims.rounds import Setup, Simulation
from sims.scenarios import average_participating, bernoulli, weighted
from sims.weighting import AverageAll, AverageParticipating, FedAU, KnownRates

notebook_style()

# %%
ledger["fedau.thm1"]

# %% [markdown]
# ## Three clients
# Their losses are $a_n (x - b_n)^2 / 2$, and the first takes part in one round of ten, the last in nine of ten.

# %%
curvature, centre = [1, 2, 4], [-1, Fraction(1, 2), 2]
rates = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
problem = DiagonalQuadratic(curvature, centre)
optimum = problem.constants.minimiser[0]
print("the minimum of the average objective f, (1) of the paper:", optimum)
assert optimum == Fraction(8, 7)


def minimiser(phi):
    """Where sum of phi_n F_n is least."""
    pull = np.array(phi) * curvature
    return (pull @ np.array(centre)) / pull.sum()


# %% [markdown]
# ## What each rule minimises
# A rule that gives client $n$ the weight $w_n$ counts it in proportion to $p_n w_n$. The usual average over those who
# came is not covered by Theorem 1 with $w_n = 1$, since the number of participants is random; its proportions are
# Poisson-binomial. FedAU with a cutoff $K$ counts client $n$ in proportion to $1 - (1-p_n)^K$ in the long run.

# %%
rules = {
    "known rates": implicit_weights("known_rates", rates),
    "average all": implicit_weights("average_all", rates),
    "average participating": implicit_weights("average_participating", rates),
    "FedAU, K = 5": implicit_weights("fedau", rates, 5),
}
for name, phi in rules.items():
    shares = ", ".join(str(share) for share in phi / phi.sum())
    print(f"{name:22s} counts {shares:42s} minimum at {minimiser(phi)} = {float(minimiser(phi)):.4f}")
assert minimiser(rules["known rates"]) == optimum
assert minimiser(rules["average all"]) == Fraction(76, 47)
assert minimiser(rules["average participating"]) == Fraction(1076, 631)

# %%
x = np.linspace(-1.5, 3, 200)
figure, axes = plt.subplots()
for n, (a, b, p) in enumerate(zip(curvature, centre, rates, strict=True)):
    axes.plot(
        x,
        a * (x - float(b)) ** 2 / 2,
        color="#777777",
        linestyle=LINES[n][1],
        lw=0.8,
        label=f"$F_{n + 1}$, p = {float(p)}",
    )
for (color, dashes), (name, phi) in zip(LINES, rules.items(), strict=False):
    share = (phi / phi.sum()).astype(float)
    objective = sum(s * a * (x - float(b)) ** 2 / 2 for s, a, b in zip(share, curvature, centre, strict=True))
    least = float(minimiser(phi))
    axes.plot(x, objective, color=color, linestyle=dashes, label=f"minimised by {name}")
    axes.plot(least, np.interp(least, x, objective), "o", color=color, markersize=4)
axes.set(xlabel="x", ylabel="loss", ylim=(0, 8), title="the clients' losses, and what four rules minimise (dots)")
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
assert optimum < minimiser(rules["FedAU, K = 5"]) < minimiser(rules["average all"])

# %% [markdown]
# ## The algorithm itself agrees
# The exact engine reads the server's update off the code that also trains models and solves for where the mean of the
# model settles: in fractions, equal to the formulas, for one local step. (FedAU's weights are random at first; in the
# long run they settle at $(1 - (1-p)^K)/p$.)

# %%
setting = Setting(fedavg, problem, Hyper(Fraction(1, 20)), [0])
weights = {
    "known rates": [1 / p for p in rates],
    "average all": [1, 1, 1],
    "average participating": average_participating,
    "FedAU, K = 5": [(1 - (1 - p) ** 5) / p for p in rates],
}
for name, weight in weights.items():
    settled = Engine(setting, weighted(bernoulli(rates), weight)).stationary().mean("x")[0]
    assert settled == minimiser(rules[name])
    print(f"{name:22s} settles at {settled}")

# %% [markdown]
# ## So does simulation
# 300 runs of each rule, FedAU's weights estimated on the way. All rules see the same participation.

# %%
rounds, every, runs = 600, 5, 300
process = Bernoulli([float(p) for p in rates])
measured = {
    "known rates": KnownRates(),
    "average all": AverageAll(),
    "average participating": AverageParticipating(),
    "FedAU, K = 5": FedAU(5),
}
figure, axes = plt.subplots()
for line, (name, rule) in zip(LINES, measured.items(), strict=False):
    record = Record(("model",), every=every, rounds=rounds)
    setup = Setup(problem, fedavg, Hyper(0.02), process, rule)
    Simulation(setup, np.zeros((runs, 1)), rounds, np.random.default_rng(0), record).advance()
    path = record.arrays()["model"][:, :, 0]
    mean, error = path.mean(axis=0), 3 * path.std(axis=0) / np.sqrt(runs)
    t = np.arange(path.shape[1]) * every
    band(axes, t, mean, mean - error, mean + error, line, name)
    limit = float(minimiser(rules[name]))
    axes.axhline(limit, color=line[0], linestyle=":", lw=0.8)
    assert mean[-1] - error[-1] < limit < mean[-1] + error[-1]
axes.set(xlabel="round", ylabel="model x", title=f"mean of {runs} runs ± 3 standard errors; dotted: exact limits")
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
print(f"after {rounds} rounds every mean is within 3 standard errors of its limit")

# %% [markdown]
# ## How large a cutoff?
# The bias of FedAU vanishes with growing $K$. It is the rarest client that decides.

# %%
cutoffs = np.arange(1, 61)
figure, axes = plt.subplots()
bias = [float(minimiser(implicit_weights("fedau", rates, int(K))) - optimum) for K in cutoffs]
axes.semilogy(cutoffs, bias, ".-", label="FedAU")
axes.axhline(float(Fraction(76, 47) - optimum), color="#D55E00", linestyle="--", label="average all (same as K = 1)")
axes.set(xlabel="cutoff K (rounds)", ylabel="limit less optimum", title="what a fixed cutoff costs, exactly")
axes.legend()
assert np.isclose(bias[0], float(Fraction(76, 47) - optimum), rtol=1e-12)
assert (np.diff(bias) < 0).all()

# %% [markdown]
# ## Local steps add a bias of their own
# With several local steps and unequal curvatures even known rates miss the optimum, by an amount proportional to the
# step size; `fedau.law.bias` gives the slope. Small steps cure this one, they do not cure wrong weights.

# %%
steps, known = 5, [1 / p for p in rates]
for lr in (Fraction(1, 50), Fraction(1, 100), Fraction(1, 200)):
    local = Setting(fedavg, problem, Hyper(lr, local_steps=steps), [0])
    limit = Engine(local, weighted(bernoulli(rates), known)).stationary().mean("x")[0]
    away = np.array(centre) - optimum
    slope = -(np.square(curvature) @ away) / sum(curvature) * Fraction(steps - 1, 2)
    print(f"local step {lr}: limit less optimum {float(limit - optimum):+.5f}, first order {float(lr * slope):+.5f}")
assert abs((limit - optimum) / (lr * slope) - 1) < Fraction(1, 10)

# %% [markdown]
# ## Try this
# - Give the three clients equal curvature: which of the two biases is left?
# - `Engine(...).stationary().second` has the exact spread around the limit; how does it depend on the rule?
# - `fltheory show fedau.thm1` names the hypothesis that the theorem needs, with a witness;
#   `fltheory simulate experiments/fedau/objective-inconsistency.toml` runs this page's comparison into a store.
