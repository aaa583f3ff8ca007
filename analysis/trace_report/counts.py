"""Counting in a log: clients' counts over chosen rounds."""

from __future__ import annotations

import numpy as np

from analysis.traces import Log
from analysis.traces.log import Bools, Floats, Ints


def counts(log: Log, first: int, last: int, spacing: int | Ints = 1) -> tuple[Ints, Ints]:
    """Rounds on and rounds observed of each client, among the rounds from `first` on and before `last`.

    Of these the multiples of `spacing`, so that parts of a log are looked at in the same hours of a day.

    spacing   one for all, or one a client, (n_clients,)
    """
    each = np.broadcast_to(np.asarray(spacing, dtype=np.int64), log.n_clients)
    parts = [_counts(part, first, last, each[which]) for which, part in log.blocks()]
    on, observed = (np.concatenate(each) for each in zip(*parts, strict=True))
    return on, observed


def _counts(log: Log, first: int, last: int, spacing: Ints) -> tuple[Ints, Ints]:
    on = _count(log.client, log.round, log.n_clients, first, last, spacing)
    if log.observed is None:
        rounds = -(-last // spacing) - -(-first // spacing)
        return on, np.where(log.never_seen(), 0, np.maximum(rounds, 0)).astype(np.int64)
    return on, _count(*log.observed, log.n_clients, first, last, spacing)


def _count(client: Ints, when: Ints, n_clients: int, first: int, last: int, spacing: Ints) -> Ints:
    if first != 0 or (spacing != 1).any() or (when.size and when.max() >= last):
        client = client[(when >= first) & (when < last) & (when % spacing[client] == 0)]
    return np.bincount(client, minlength=n_clients).astype(np.int64)


def by_phase(log: Log, period: int) -> tuple[Ints, Ints]:
    """Participations and observations of all clients in the rounds t with t mod period = 0, 1, ..., (period,)."""
    on, rounds = (_phases(each, period) for each in (participants(log), np.ones(log.n_rounds, dtype=np.int64)))
    if log.observed is not None:
        return on, _phases(observers(log), period)
    return on, rounds * np.count_nonzero(~log.never_seen())


def _phases(of_rounds: Ints, period: int) -> Ints:
    padded = np.append(of_rounds, np.zeros(-of_rounds.size % period, dtype=np.int64))
    return np.asarray(padded.reshape(-1, period).sum(axis=0))


def participants(log: Log) -> Ints:
    """Clients seen on in each round, (n_rounds,)."""
    parts = (np.bincount(part.round, minlength=log.n_rounds) for _, part in log.blocks())
    return sum(parts, start=np.zeros(log.n_rounds, dtype=np.int64))


def observers(log: Log, among: Bools | None = None) -> Ints:
    """Clients whose observation the log lists in each round, all or those `among` them (n_clients,); (n_rounds,)."""
    found = np.zeros(log.n_rounds, dtype=np.int64)
    for which, part in log.blocks():
        if part.observed is not None:
            client, when = part.observed
            found += np.bincount(when if among is None else when[among[which][client]], minlength=log.n_rounds)
    return found


def fitted_rates(log: Log) -> Floats:
    """Participations per observed round, (n_clients,); NaN for a client never seen."""
    on, observed = log.participations(), log.observed_rounds()
    return np.asarray(np.divide(on, observed, out=np.full(log.n_clients, np.nan), where=observed > 0))


def participants_at_most(log: Log, among: Bools | None = None) -> Ints:
    """Clients, all or those `among` them (n_clients,), seen on or not observed in each round, (n_rounds,)."""
    some = np.ones(log.n_clients, dtype=np.bool_) if among is None else among
    unobserved = np.count_nonzero(some) - observers(log, some)
    if log.observed is None:
        unobserved = np.full(log.n_rounds, np.count_nonzero(some & log.never_seen()))
    return participants(log) + unobserved
