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
# # Which guarantees apply to your own clients?
#
# Theorems assume things of participation: independent rounds, a window in which everybody comes, equal rates. You have
# a log of when your devices were available. Which assumptions does it bear out, which weights and cutoff fit it, and
# how old would a cached update get?

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from analysis.figures.style import notebook_style
from analysis.trace_report import trace_report
from analysis.trace_report.hypotheses import presumes_what_fails
from analysis.traces import read_log, stretches
from analysis.weights_report import weights_report
from fltheory.ledger import ledger
from fltheory.weights import best_cutoff, exact_weight_law, fedau_weights
from sims import data

notebook_style()

# %% [markdown]
# ## The log
# A log is a CSV or Parquet file with the columns `client`, `round` (or `timestamp`) and, if it was recorded,
# `available`. Here it is the hourly activity of 38 phones over 66 days, if `fltheory data fetch phone-activity` has
# fetched it (the data are loaded, never shipped; "available" means that the phone lay still). Otherwise a made-up log
# of the same kind stands in: devices with habits of their own, mostly free at night, some hours not recorded. **For
# your own log change the next cell.**

# %%
hours = 24


def made_up_log(path, clients=40, days=60, seed=0):
    """Devices that stay as they are with probability 0.6 and else follow the hour of the day; 7 % not recorded."""
    rng = np.random.default_rng(seed)
    t = np.arange(days * hours)
    night = 0.5 + 0.5 * np.cos(2 * np.pi * (t - 4) / hours)
    habit = rng.uniform(0.35, 0.75, clients)
    on = np.zeros((t.size, clients), dtype=bool)
    for s in t:
        fresh = rng.random(clients) < np.clip(habit + 0.5 * (night[s] - 0.5), 0, 1)
        on[s] = np.where(rng.random(clients) < 0.6, on[s - 1], fresh) if s else fresh
    recorded = rng.random(on.shape) < 0.93
    rows = [f"{n},{s},{int(on[s, n])}" for n in range(clients) for s in t if recorded[s, n]]
    path.write_text("\n".join(["client,round,available", *rows]))
    return path


real = data.is_fetched("phone-activity")
if real:
    log = read_log(data.path("phone-activity"), round_length="1h")
else:
    with tempfile.TemporaryDirectory() as folder:
        log = read_log(made_up_log(Path(folder) / "log.csv"))
    print("The phone log is not in the cache: what follows is about a made-up log.")
assert not real or (log.n_clients, log.n_rounds) == (38, 66 * hours)
print(weights_report(log, cutoff=50).summary_text())

# %% [markdown]
# ## Are rounds independent?
# Assumption 4 of FedAU takes every client as a coin tossed anew in each round. In a log of hours that is hardly so.

# %%
ledger["fedau.ass4"]

# %%
on, seen = log.history(np.arange(log.n_clients))
rate = on.sum(axis=0) / seen.sum(axis=0)


def autocorrelation(lag):
    """Mean over clients of the correlation of availability `lag` rounds apart, where both rounds were observed."""
    both = seen[lag:] & seen[:-lag]
    product = ((on[lag:] - rate) * (on[:-lag] - rate) * both).sum(axis=0) / both.sum(axis=0)
    return (product / (rate * (1 - rate))).mean()


lags = np.arange(1, 7 * hours + 1)
correlation = np.array([autocorrelation(lag) for lag in lags])
clock = np.arange(log.n_rounds) % hours
by_hour = np.array([on[clock == h].sum() / seen[clock == h].sum() for h in range(hours)])

figure, (left, middle, right) = plt.subplots(1, 3)
left.hist(rate, bins=12, color="#0072B2")
left.set(xlabel="rate of a client", ylabel=f"clients (of {log.n_clients})", title="rates differ")
middle.plot(lags, correlation, lw=1)
middle.axhline(0, color="black", lw=0.6)
middle.set(xlabel="lag (rounds)", ylabel="autocorrelation", title="rounds are not independent")
right.step(range(hours), by_hour, where="mid")
right.axhline(rate.mean(), color="black", linestyle="--", lw=1)
right.set(xlabel="round, modulo 24", ylabel="share available", ylim=(0, 1), title="and neither are clients")
band = 3 / np.sqrt(seen.sum())
print(f"one round apart {correlation[0]:.2f}, a day apart {correlation[hours - 1]:.2f}; by chance within {band:.3f}")
assert correlation[0] > band
assert correlation[hours - 1] > band

# %% [markdown]
# The day shows. Clients are free together, so they are not independent of each other either, and what a theorem says
# under Assumption 4 is a first guess here, to be held against the log itself.
#
# ## Which cutoff?
# FedAU's weights and their error along the log, with the fitted rate of each client in place of $p$, beside the exact
# error of clients with the same rates and independent rounds.

# %%
rounds = int(seen.sum(axis=0).min())
traces = np.stack([on[seen[:, n], n][:rounds] for n in range(log.n_clients)], axis=1)  # each client's observed clock
cutoffs = np.array([2, 3, 5, 8, 12, 20, 35, 50, 100, 200])


def error_in_the_log(K):
    """The average over rounds and clients of (p w - 1)^2, with p the client's rate in these rounds."""
    return np.mean((traces.mean(axis=0) * fedau_weights(traces, int(K)) - 1) ** 2)


def error_if_independent(K):
    quantiles = np.quantile(rate, (0.1, 0.3, 0.5, 0.7, 0.9))
    return np.mean([exact_weight_law(float(p), int(K), rounds).error.mean() for p in quantiles])


measured = np.array([error_in_the_log(K) for K in cutoffs])
expected = np.array([error_if_independent(K) for K in cutoffs])
figure, axes = plt.subplots()
axes.loglog(cutoffs, measured, marker=".", label="in the log")
axes.loglog(cutoffs, expected, marker=".", label="if rounds were independent (exact)")
axes.set(xlabel="cutoff K (rounds)", ylabel="weight error", title=f"{log.n_clients} clients, {rounds} observed rounds")
axes.legend()
advice = best_cutoff(float(np.median(rate)), rounds)
print(f"best cutoff at the median rate {np.median(rate):.2f}, independent rounds: K = {advice}")
print(f"of the cutoffs above, the best in the log: K = {cutoffs[measured.argmin()]}")
print(f"at K = 50 the error is {measured[7] / expected[7]:.0f} times that of independent rounds")
assert measured[7] > 2 * expected[7]

# %% [markdown]
# Streaks make the weights noisier than coins of the same rates would, by the factor above. The best cutoff may move
# either way: a longer one keeps long gaps whole, a shorter one keeps them from counting too much. So take the one that
# the log itself prefers, and see how flat the curve is. With rates this high no cutoff does much harm.
#
# ## How old would an update get?
# FedLaAvg (arXiv:2002.07399) needs a window $E$ in which every client is available at least once (Assumption 4), and
# then its updates are at most $I = \lceil N/K \rceil E - 1$ iterations old. The longest absence of the log tells $E$;
# one bad day of one client decides it. Rounds that were not observed count here, for time goes on in them: the log only
# says that $E$ lies between two ends: one if clients were on in all rounds in which nobody looked, one if they were
# off. Gaps are drawn on the clock of observed rounds, as FedAU's weights count them: the longest has another length.

# %%
cut = stretches(log)
gaps = cut.length[~cut.initial]
report = trace_report(log, day=hours)
E = report.absences.window
lengths = np.arange(1, gaps.max() + 1)
share = np.array([(gaps >= length).mean() for length in lengths])
figure, axes = plt.subplots()
axes.loglog(lengths, share, label="the log")
coins = np.mean([(1 - p) ** (lengths - 1) for p in rate], axis=0)
shown = coins > share.min() / 3
axes.loglog(lengths[shown], coins[shown], label="if rounds were independent")
axes.set(
    xlabel="gap (observed rounds)",
    ylabel="share of gaps at least that long",
    title="how far apart participations are",
)
axes.legend()
print(f"smallest E on this log: {E[0]} rounds, or up to {E[1]} if clients were off in rounds that nobody observed")
for cohort in (log.n_clients, log.n_clients // 4):
    least, most = report.staleness(cohort)
    print(f"{cohort} clients a round: updates at most {least:.0f} to {most:.0f} rounds old; ", end="")
    print(f"the median gap is {np.median(gaps):.0f} observed rounds")

# %% [markdown]
# ## All of it at once
# `trace_report` (`fltheory trace LOG`) holds the log against every theorem of the ledger, assumption by assumption,
# with tests that say their null and their level, and draws the conclusions. On the right the interval divergence of
# amplified FedAvg, (7): what averaging over $P$ rounds leaves of the heterogeneity $d^2$, whatever the objectives.

# %%
for name in ("fedau.thm3", "fedlaavg.thm3", "amplified.thm31", "fast.thm1"):
    ruling = report.theorems[name].ruling
    print(f"{name} {ruling.word}: {ruling.why}")
for test in report.findings:
    moot = (
        "; it presumes independent rounds, and tells nothing more" if presumes_what_fails(test, report.findings) else ""
    )
    if (test.spacing or 1) > 1:
        moot = "; its level presumes no correlation of rounds so far apart"
    found = "nothing to tell" if np.isnan(test.p_value) else "rejected" if test.rejected else "not rejected"
    print(f"{test.name}: {found} at level {test.level} ({test.correction}){moot}")
print(f"likeliest family: {report.best_fit.family}; K = {report.cutoff.advised} for its chain")
assert report.theorems["fedau.thm3"].ruling.word == "fails"
assert report.best_fit.family.startswith("Markov")

figure, (left, right) = plt.subplots(1, 2)
by_bic = sorted(report.fits, key=lambda fit: fit.bic)
possible = [fit for fit in by_bic if np.isfinite(fit.bic)]
left.barh([fit.family for fit in possible], [fit.bic - possible[0].bic for fit in possible])
left.invert_yaxis()
left.set(xlabel="BIC above the least", title="families by likelihood")
P = [one.interval for one in report.divergences]
right.loglog(P, [one.largest for one in report.divergences], marker=".", label="largest over intervals")
right.loglog(P, [one.mean for one in report.divergences], marker=".", label="mean over intervals")
right.set(
    xlabel="interval P (rounds)",
    ylabel=r"$\tilde\delta^2(P)/d^2$",
    title="what amplification asks about",
    ylim=(0.01, 1.5),
)
right.legend(loc="lower left")
assert report.divergences[-1].largest < report.divergences[0].largest

# %% [markdown]
# The day and the streaks refute coins; a chain with one stability describes the log far better, though it knows of no
# day, so the likeliest family is not the truth either. Rates differ, so the divergence does not vanish with $P$.
#
# ## What to take from it
# - Independence fails, so Theorem 3 of FedAU, which assumes it, says nothing about these clients; its weights still
#   settle where `fedau.longrun` says for stationary processes.
# - Rates differ: averaging whoever comes minimises a tilted objective (notebook 3).
# - FedLaAvg's window holds as far as the log goes; its bound is governed by the worst absence, far from the usual gap.

# %%
print(
    f"rates from {rate.min():.2f} to {rate.max():.2f}; the smallest E over the median gap {E[0] / np.median(gaps):.0f}"
)
assert np.median(gaps) * 5 < E[0]

# %% [markdown]
# ## Try this
# - `fltheory trace YOUR.csv` (with `--round-length 1h` for timestamps) tells which theorems apply to your clients, and
#   `fltheory weights YOUR.csv --cutoff 50` gives the weights of each.
# - Without a column `available` each row is a participation and all other rounds count as off. What does yours record?
# - `Recorded.from_events(log.client, log.round, n_clients=..., n_rounds=..., end="repeat")` makes a process of a log:
#   use it wherever this project takes one, in a simulation, for instance.
