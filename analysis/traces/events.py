"""Logs of events: a row says that a client took part in a round, or, with a column `available`, whether it could."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analysis.traces import columns
from analysis.traces.log import Log, edges_of, successive, types_of
from analysis.traces.names import Asked, require_keys
from analysis.traces.table import Source


def read(source: Source, asked: Asked) -> Log:
    """Columns `client`, and `round` or `timestamp`, and `available` where it stands."""
    when, other = ("round", "timestamp") if asked.length is None else ("timestamp", "round")
    table = source.observations(["client", when])
    first = columns.first_rows(table)
    ids = columns.client_ids(first)
    start, clock = None, ""
    if asked.length is None:
        round_ = columns.rounds(table)
    else:
        since, start, clock = columns.timestamps(table)
        round_ = since // asked.length
    on = columns.available(table) if "available" in table.frame.columns else None
    n_rounds = int(round_.max()) + 1 if asked.rounds is None else asked.rounds
    table.require(when, round_ < n_rounds, f"in the first {n_rounds} rounds (rounds = {n_rounds})")
    names, client = asked.place_rows(table, first, ids)
    require_keys(len(names), n_rounds)
    table.require("client", client >= 0, asked.allowed)
    ignored = other if other in source.found else ""
    del table, first, ids  # the rows are held once, and not in two forms
    return replace(_log(names, n_rounds, client, round_, on), when=when, ignored=ignored, start=start, clock=clock)


def _log(
    names: tuple[str, ...],
    n_rounds: int,
    client: npt.NDArray[np.int64],
    round_: npt.NDArray[np.int64],
    on: npt.NDArray[np.bool_] | None,
) -> Log:
    """Sort by client, then round; merge the rows of one client and round; count what had to be mended."""
    if (client[1:] < client[:-1]).any():
        order = np.argsort(client, kind="stable")
        client, round_, on = client[order], round_[order], None if on is None else on[order]
    edges = edges_of(client, len(names))
    types = types_of(len(names), n_rounds, len(client))
    logs = []
    for which in successive(edges):
        there = slice(edges[which.start], edges[which.stop])
        key = client[there].astype(np.int64) * n_rounds + round_[there]
        logs.append(_merged(names, n_rounds, types, key, None if on is None else on[there]))
    counts = ("n_rows", "n_unsorted", "n_duplicates", "n_contradictions")
    observed = [one.observed for one in logs if one.observed is not None]
    return Log(
        names,
        n_rounds,
        np.concatenate([one.client for one in logs]),
        np.concatenate([one.round for one in logs]),
        (np.concatenate([one[0] for one in observed]), np.concatenate([one[1] for one in observed]))
        if observed
        else None,
        **{name: sum(getattr(one, name) for one in logs) for name in counts},
    )


def _merged(
    names: tuple[str, ...],
    n_rounds: int,
    types: tuple[npt.DTypeLike, npt.DTypeLike],
    key: npt.NDArray[np.int64],
    on: npt.NDArray[np.bool_] | None,
) -> Log:
    """The log of some clients' rows, of which the keys are client * n_rounds + round."""
    n_unsorted = int(np.count_nonzero(key < np.maximum.accumulate(key)))
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    pair = key[first]
    observations = ((pair // n_rounds).astype(types[0]), (pair % n_rounds).astype(types[1]))
    participations, observed, n_contradictions = observations, None, 0
    if on is not None:
        on = on[order]
        some, every = np.logical_or.reduceat(on, first), np.logical_and.reduceat(on, first)
        participations, observed = (observations[0][some], observations[1][some]), observations
        n_contradictions = int(np.count_nonzero(some & ~every))
    return Log(
        names,
        n_rounds,
        *participations,
        observed,
        n_rows=key.size,
        n_unsorted=n_unsorted,
        n_duplicates=key.size - pair.size,
        n_contradictions=n_contradictions,
    )
