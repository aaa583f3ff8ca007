"""Counting in a log: clients' counts over chosen rounds."""

from __future__ import annotations

import numpy as np

from analysis.traces import Log
from analysis.traces.log import Floats, Ints


def counts(log: Log, first: int, last: int, spacing: int = 1) -> tuple[Ints, Ints]:
    """Rounds on and rounds observed of each client, among the rounds first, first + spacing, ... before `last`."""
    on = _count(log.client, log.round, log.n_clients, first, last, spacing)
    if log.observed is None:
        rounds = len(range(first, last, spacing))
        return on, np.where(log.never_seen(), 0, rounds).astype(np.int64)
    return on, _count(*log.observed, log.n_clients, first, last, spacing)


def _count(client: Ints, when: Ints, n_clients: int, first: int, last: int, spacing: int) -> Ints:
    if (first, spacing) != (0, 1) or (when.size and when.max() >= last):
        client = client[(when >= first) & (when < last) & ((when - first) % spacing == 0)]
    return np.bincount(client, minlength=n_clients).astype(np.int64)


def by_phase(log: Log, period: int) -> tuple[Ints, Ints]:
    """Participations and observations of all clients in the rounds t with t mod period = 0, 1, ..., (period,)."""
    on = np.bincount(log.round % period, minlength=period)
    if log.observed is not None:
        return on, np.bincount(log.observed[1] % period, minlength=period)
    rounds = np.bincount(np.arange(log.n_rounds) % period, minlength=period)
    return on, rounds * np.count_nonzero(~log.never_seen())


def fitted_rates(log: Log) -> Floats:
    """Participations per observed round, (n_clients,); NaN for a client never seen."""
    on, observed = log.participations(), log.observed_rounds()
    return np.asarray(np.divide(on, observed, out=np.full(log.n_clients, np.nan), where=observed > 0))
