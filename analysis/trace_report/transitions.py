"""What a two-state chain needs to know of a log: pairs of successive observations, and their likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from analysis.traces import Log, stretches
from analysis.traces.log import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Transitions:
    """Successive observations of each client: one entry for all alike pairs of a client.

    starts_on         whether the first observation is a participation, (n_clients,)
    client            whose pair it is, sorted; before, after: on or off; apart: rounds between the two, 1 where no
                      round between them is unobserved; times: how many such pairs; arrays of one length
    """

    starts_on: Bools
    client: Ints
    before: Bools
    after: Bools
    apart: Ints
    times: Ints

    @property
    def n_clients(self) -> int:
        return self.starts_on.size

    def log_likelihood(self, rate: Floats, correlation: Floats) -> Floats:
        """Of stationary two-state chains with this P(on) and this lag-1 correlation (n_clients,), of all they show.

        Across m - 1 unobserved rounds the chain takes its m-step transition: P(on | on) = p + (1 - p) c^m and
        P(on | off) = p - p c^m. Nothing is left out, so that likelihoods of different families compare.
        """
        start = np.where(self.starts_on, rate, 1 - rate)
        p, c = rate[self.client], correlation[self.client] ** self.apart
        # Each as a product or a sum of what is not negative, up to rounding at c < 0: no cancellation near 0.
        turn = np.where(self.before, 1 - p, p) * (1 - c)
        law = np.where(self.before == self.after, np.maximum(1 - turn, 0.0), turn)
        pairs = np.bincount(self.client, weights=xlogy(self.times, law), minlength=self.n_clients)
        return np.asarray(xlogy(1.0, start) + pairs)


def transitions(log: Log, clients: Ints) -> Transitions:
    """The pairs of these clients of a log, sorted indices of clients that were observed; they become 0, 1, ... ."""
    if log.observed is None:
        return _all_observed(log, clients)
    place = np.full(log.n_clients, -1, dtype=np.int64)
    place[clients] = np.arange(clients.size)
    chosen = place[log.observed[0]] >= 0
    on = log.observed_on()[chosen]
    client, when = place[log.observed[0][chosen]], log.observed[1][chosen]
    first = np.diff(client, prepend=-1) != 0
    second = np.flatnonzero(~first)
    key = np.stack([client[second], on[second - 1], on[second], when[second] - when[second - 1]])
    alike, times = np.unique(key, axis=1, return_counts=True)
    return Transitions(on[first], alike[0], alike[1] > 0, alike[2] > 0, alike[3], times)


def _all_observed(log: Log, clients: Ints) -> Transitions:
    """From runs of rounds on, where every round was observed: the cost is that of the participations."""
    cut, n = stretches(log), log.n_clients
    on, observed = log.participations(), log.observed_rounds()
    kept = np.bincount(log.client[~cut.initial & (cut.length == 1)], minlength=n)
    starts_on = np.zeros(n, dtype=np.bool_)
    starts_on[log.client[cut.initial & (cut.length == 1)]] = True
    ends_on = (cut.since == 0) & (on > 0)
    came, left = on - kept - starts_on, on - kept - ends_on
    away = observed - 1 - kept - came - left
    times = np.stack([away, came, left, kept], axis=1)[clients]
    states = np.tile([[False, False], [False, True], [True, False], [True, True]], (clients.size, 1))
    some = times.reshape(-1) > 0
    client = np.repeat(np.arange(clients.size), 4)[some]
    before, after = states[some, 0], states[some, 1]
    return Transitions(
        starts_on[clients], client, before, after, np.ones(client.size, dtype=np.int64), times.reshape(-1)[some]
    )
