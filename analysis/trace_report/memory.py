"""How long a client's availability remembers itself: the autocorrelation over the rounds, and its reach."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.trace_report.counts import fitted_rates
from analysis.traces import Log
from analysis.traces.log import Floats, Ints

MOST_LAGS = 400
PRODUCTS = 4 * 10**9  # pairs of observations looked at, at most: some twenty seconds
WEAK = 0.1
SHIFT = 0.1  # standard deviations by which Pearson's statistic may be too large: a level of 0.01 is then 0.013


@dataclass(frozen=True, eq=False)
class Memory:
    """The autocorrelation of availability, pooled over clients, and what it says of mixing.

    correlation   [m - 1]: of lag m = 1, 2, ...; NaN where no pair of rounds so far apart was observed
    reach         the smallest lag from which on all computed correlations are below 0.1 in size; None if that is not
                  so for half of the lags computed: a habit, such as a day, or a trend does not fade
    relaxation    rounds in which the correlation falls e-fold, -1 / log(correlation at lag 1), as it does for a
                  two-state chain with this correlation at lag 1; 0 where that is not above 0, infinite where it is 1

    Both are estimates of the second order, from the lags that were computed. No finite log bounds a mixing
    coefficient.
    """

    correlation: Floats
    reach: int | None
    relaxation: float


def memory(log: Log, most_lags: int = MOST_LAGS) -> Memory:
    """Autocorrelation at lags 1, ..., at most half the log, `most_lags`, and what some seconds allow.

    At lag m it is the sum of (x_t - p)(x_{t+m} - p) over all clients and rounds t in which both were observed, over
    the sum of p (1 - p) over the same pairs, where p is the client's share of observed rounds on. Clients count in
    proportion to their variance. Estimating p makes each correlation too small, by about the reach over the rounds
    observed.

    >>> from fltheory.participation import Markov
    >>> chain = Markov.from_stability([0.3] * 50, 0.6)
    >>> log = Log(tuple("c" * 50), 2000, *chain.sample_events(2000, seed=0))
    >>> memory(log).correlation[:3].round(2).tolist(), memory(log).reach
    ([0.6, 0.36, 0.21], 5)
    """
    observations = log.client.size if log.observed is None else log.observed[0].size
    lags = max(1, min(log.n_rounds // 2, most_lags, PRODUCTS // max(observations, 1)))
    rate = np.nan_to_num(fitted_rates(log))
    sums = _all_observed(log, rate, lags) if log.observed is None else _observed(log, rate, lags)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = sums[0] / sums[1]
    return Memory(correlation, reach_of(correlation), _relaxation(correlation))


def _all_observed(log: Log, rate: Floats, lags: int) -> tuple[Floats, Floats]:
    """Covariances and variances summed, where every round of the clients that were seen was observed."""
    together, by_round = np.zeros(lags + 1), np.zeros(log.n_rounds)
    for which, part in log.blocks():
        for apart, _, _ in _pairs(part.client, part.round, lags):
            together += np.bincount(apart, minlength=lags + 1)
        by_round += np.bincount(part.round, weights=rate[which][part.client], minlength=log.n_rounds)
    before = np.concatenate([[0.0], np.cumsum(by_round)])
    lag = np.arange(1, lags + 1)
    pairs = log.n_rounds - lag
    one_on = before[pairs] + before[-1] - before[lag]  # p summed over the first, and over the second of each pair
    return together[1:] - one_on + pairs * (rate**2).sum(), pairs * (rate * (1 - rate)).sum()


def _observed(log: Log, rate: Floats, lags: int) -> tuple[Floats, Floats]:
    sums = np.zeros((2, lags + 1))
    for which, part in log.blocks():
        assert part.observed is not None
        client, when = part.observed
        deviation = part.observed_on() - rate[which][client]
        variance = (rate * (1 - rate))[which][client]
        for apart, one, other in _pairs(client, when, lags):
            sums[0] += np.bincount(apart, weights=deviation[one] * deviation[other], minlength=lags + 1)
            sums[1] += np.bincount(apart, weights=variance[one], minlength=lags + 1)
    return sums[0, 1:], sums[1, 1:]


def _pairs(client: Ints, when: Ints, lags: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Pairs of events of one client at most `lags` rounds apart: (rounds apart, index of the one, of the other)."""
    one = np.arange(client.size)
    for step in range(1, lags + 1):  # rounds of a client are distinct: `step` events on is at least as many rounds on
        one = one[: np.searchsorted(one, client.size - step)]
        other = one + step
        near = (client[one] == client[other]) & (when[other] - when[one] <= lags)
        one = one[near]  # with no event within reach there is none further on either
        if not one.size:
            return
        yield when[one + step] - when[one], one, one + step


def reach_of(correlation: Floats) -> int | None:
    """`Memory.reach` of the correlations at lags 1, 2, ..."""
    strong = np.flatnonzero(~(np.abs(correlation) < WEAK))  # NaN counts as strong: nothing is known there
    first = int(strong[-1]) + 2 if strong.size else 1
    return first if 2 * first <= correlation.size + 1 else None  # the last lags may be weak between two days


def rounds_apart(found: Memory, n_clients: int, observations: int) -> int | None:
    """Rounds so far apart that tests of so many clients may take them for independent; None where there is no reach.

    Rounds k apart with the correlations r(k), r(2k), ... have counts whose variance is 1 + 2 r(k) + 2 r(2k) + ...
    times that of independent ones, which moves Pearson's sum over N clients by about r(k) (2 (N - 1))^(1/2) standard
    deviations. So small a correlation cannot be estimated: it is taken to fall, from lag 0 on, as slowly as it does to
    any lag up to the reach. At a reach of 1 the correlation at lag 1 is small, and its upper confidence end is taken.
    The level of a test k rounds apart presumes that; a memory with a longer, weak tail raises it.

    observations   of the clients that are tested, which tells how well the correlation at lag 1 is known
    """
    if found.reach is None:
        return None
    size, lag = np.abs(found.correlation[: found.reach]), np.arange(1, found.reach + 1)
    if found.reach == 1:
        size = np.maximum(found.correlation[:1] + (n_clients + 2 * math.sqrt(observations)) / max(observations, 1), 0)
    falls = (size > 0) & (size < 1)
    slowest = float((lag[falls] / -np.log(size[falls])).max()) if falls.any() else 0.0
    return max(found.reach, math.ceil(slowest * -math.log(harmless(n_clients))))


def harmless(n_clients: int) -> float:
    """The largest correlation that is let pass, as it moves Pearson's sum over so many clients by SHIFT."""
    return SHIFT / math.sqrt(2 * max(n_clients - 1, 1))


def own_apart(log: Log, found: Memory, base: int, rates: Floats | None = None) -> Ints:
    """Rounds apart for each client, (n_clients,), multiples of `base`: more than that for clients clearly slower.

    The pooled correlation hides a few slow clients. The correlation at lag 1 of one client is 1 less its changes
    between successive observed rounds over those of a coin of its rate; it is clearly larger than the pooled one if it
    is so with changes more by two of their square roots (those of a Poisson law). Such a client is looked at as far
    apart as a two-state chain with so many fewer changes needs, or never, where that is more than the log.

    rates   of the coins, (n_clients,), instead of the clients' own
    """
    changes, pairs = np.zeros((2, log.n_clients))
    for which, part in log.blocks():
        changes[which], pairs[which] = _changes(part)
    p = np.nan_to_num(fitted_rates(log)) if rates is None else rates
    coins = 2 * p * (1 - p) * pairs
    pooled = max(float(np.nan_to_num(found.correlation[0])), 0.0)
    slow = (coins > 0) & (changes + 2 * np.sqrt(np.maximum(changes, 1)) < (1 - pooled) * coins)
    fewer = np.maximum(changes - 2 * np.sqrt(changes), 0)[slow] / coins[slow]
    with np.errstate(divide="ignore"):
        needed = math.log(harmless(int(np.count_nonzero(coins > 0)))) / np.log1p(-np.minimum(fewer, 1))
    apart = np.full(log.n_clients, base, dtype=np.int64)
    apart[slow] = np.maximum(1, np.ceil(np.minimum(needed, log.n_rounds) / base)).astype(np.int64) * base
    return apart


def _changes(log: Log) -> tuple[Ints, Ints]:
    """Of each client: changes between successive rounds that were both observed, and how many such pairs there are."""

    def both(client: Ints, when: Ints) -> Ints:
        return np.flatnonzero((client[1:] == client[:-1]) & (when[1:] == when[:-1] + 1))

    n = log.n_clients
    if log.observed is not None:
        client, on = log.observed[0], log.observed_on()
        first = both(*log.observed)
        changed = client[first[on[first] != on[first + 1]]]
        return np.bincount(changed, minlength=n), np.bincount(client[first], minlength=n)
    together = np.bincount(log.client[both(log.client, log.round)], minlength=n)
    ends = np.bincount(log.client[(log.round == 0) | (log.round == log.n_rounds - 1)], minlength=n)
    return 2 * (log.participations() - together) - ends, np.where(log.never_seen(), 0, log.n_rounds - 1)


def _relaxation(correlation: Floats) -> float:
    first = float(correlation[0]) if correlation.size else math.nan
    if not 0 < first < 1:
        return math.inf if first >= 1 else 0.0 if first <= 0 else math.nan
    return -1 / math.log(first)
