"""Cyclic participation by likelihood: which period, and how many rounds on, could have made a log exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.traces import Log
from analysis.traces.log import Bools, Ints


@dataclass(frozen=True, eq=False)
class CyclicFit:
    """`Cyclic(on / period, period)`, as in the paper, at its maximum likelihood; `on` has a number a client."""

    period: int
    on: Ints
    log_likelihood: float


def fit_cyclic(log: Log, clients: Ints) -> CyclicFit | None:
    """The period and rounds on of cycles that make what was observed; None where none do, or no two turns show.

    `clients` are indices of clients that took part, sorted. A client on for `on` of `period` rounds in a row, with an
    offset uniform over the cycle, shows what it showed with the number of fitting offsets over the period: 1 / period
    if all of its cycle was observed. The start of a turn is seen where a round off comes before a round on. Of the
    periods that fit, which divide all distances between starts of a client, the likeliest is taken.
    """
    client, when, on = _observations(log, clients)
    starts = np.flatnonzero(on[1:] & ~on[:-1] & (np.diff(client) == 0) & (np.diff(when) == 1)) + 1
    again = client[starts[1:]] == client[starts[:-1]]
    distances = np.diff(when[starts])[again]
    if not distances.size:
        return None
    largest = int(np.gcd.reduce(distances))
    periods = {p for d in range(1, math.isqrt(largest) + 1) if largest % d == 0 for p in (d, largest // d)}
    found = [fit for period in sorted(periods) if (fit := _at(period, client, when, on)) is not None]
    return max(found, key=lambda fit: fit.log_likelihood, default=None)


def _observations(log: Log, clients: Ints) -> tuple[Ints, Ints, Bools]:
    """Client (0, 1, ...), round, and whether on, of what was observed of these clients, in order."""
    place = np.full(log.n_clients, -1, dtype=np.int64)
    place[clients] = np.arange(clients.size)
    if log.observed is not None:
        client, when = log.observed
        on = log.observed_on()
        chosen = place[client] >= 0
        return place[client[chosen]], when[chosen], on[chosen]
    client, when = np.divmod(np.arange(clients.size * log.n_rounds), log.n_rounds)
    own = place[log.client] >= 0
    on = np.zeros(client.size, dtype=np.bool_)
    on[place[log.client[own]] * log.n_rounds + log.round[own]] = True
    return client, when, on


def _at(period: int, client: Ints, when: Ints, on: Bools) -> CyclicFit | None:
    n, phase = int(client[-1]) + 1, client * period + when % period
    present, absent = np.unique(phase[on]), np.unique(phase[~on])
    if np.intersect1d(present, absent, assume_unique=True).size:
        return None
    edges = np.arange(n + 1) * period
    each = [np.split(part, np.searchsorted(part, edges[1:-1])) for part in (present, absent)]
    turns = [_turn(a - edge, b - edge, period) for a, b, edge in zip(*each, edges[:-1], strict=True)]
    if not all(turns):
        return None
    rounds, fitting = np.array(turns).T
    return CyclicFit(period, rounds, float(np.log(fitting / period).sum()))


def _turn(present: Ints, absent: Ints, period: int) -> tuple[int, int] | None:
    """The likeliest rounds on of a client, and how many offsets fit; None where rounds off part the rounds on.

    It was seen on and off at these phases of the cycle, sorted, on at least once.
    """
    if not absent.size:
        return period, period
    off = absent[np.searchsorted(absent, present[0]) - 1]  # the last one before, also round the circle
    on, until = np.sort((present - off) % period), np.sort((absent - off) % period)
    stop = int(until[1]) if until.size > 1 else period
    if on[-1] > stop:
        return None
    # The turn may begin up to `before` rounds earlier than seen, and end up to `after` rounds later.
    before, after = int(on[0]) - 1, stop - 1 - int(on[-1])
    slack = min(before, after)
    return int(on[-1] - on[0]) + 1 + slack, slack + 1
