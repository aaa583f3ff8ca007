"""Logs of intervals: a row says that a client was available from `start` (included) to `end` (excluded)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analysis.traces import columns
from analysis.traces.log import Bools, Ints, Log, edges_of, successive, types_of
from analysis.traces.memory import require_room
from analysis.traces.names import Asked, require_keys
from analysis.traces.table import Source, Table
from fltheory.errors import InputError
from fltheory.participation.base import MOST_EVENTS
from fltheory.participation.runs import Runs

LATE = 10**7  # no log begins in such a round, but seconds and compact dates are larger


def read(source: Source, asked: Asked) -> Log:
    """Columns `client`, `start`, `end`, and `available` where it stands."""
    table = source.observations(["client", "start", "end"])
    first = columns.first_rows(table)
    ids = columns.client_ids(first)
    since, clock = None, ""
    if asked.length is None:
        start, stop = _rounds(table)
    else:
        start, stop, since, clock = _binned(table, asked.length)
    n_rounds = int(stop.max()) if asked.rounds is None else asked.rounds
    table.require("end", stop <= n_rounds, f"within the first {n_rounds} rounds (rounds = {n_rounds})")
    names, client = asked.place_rows(table, first, ids)
    require_keys(len(names), n_rounds)
    table.require("client", client >= 0, asked.allowed)
    on = columns.available(table) if "available" in table.frame.columns else None
    n_rows = len(start)
    del table, first, ids  # the rows are held once, and not in two forms
    runs, on = _by_client(Runs(client, start, stop), on)
    unsorted = sum(_unsorted(part) for _, part, _ in _blocks(runs, None, len(names)))
    log = from_runs(names, n_rounds, runs, on)
    return replace(log, n_rows=n_rows, n_unsorted=unsorted, when="start", start=since, clock=clock)


def _rounds(table: Table) -> tuple[Ints, Ints]:
    start, stop = columns.rounds(table, "start"), columns.rounds(table, "end")
    if start.min() >= LATE:
        raise InputError(
            "the earliest start of the log",
            int(start.min()),
            f"a round below {LATE} (of times say --round-length, such as 1h)",
        )
    table.require("end", stop > start, "above start, for the round that it names is no longer part of the interval")
    return start, stop


def _binned(table: Table, length: int) -> tuple[Ints, Ints, int, str]:
    """The rounds that an interval of time touches, counted from the earliest start; that one; the kind of times."""
    (begin, kind), (end, kind_of_end) = columns.instants(table, "start"), columns.instants(table, "end")
    if kind != kind_of_end:
        raise InputError("start and end of the log", [kind, kind_of_end], "times of one kind")
    table.require("end", end > begin, "later than start, for that instant is no longer part of the interval")
    first = int(begin.to_numpy().min())
    start: Ints = (begin.to_numpy() - first) // length
    stop: Ints = -((first - end.to_numpy()) // length)
    return start, stop, first, kind


def _unsorted(runs: Runs) -> int:
    """How many rows stand after one of the same client that starts later."""
    later = runs.client * (int(runs.start.max(initial=0)) + 1) + runs.start
    return int(np.count_nonzero(later < np.maximum.accumulate(later)))


def _by_client(runs: Runs, on: Bools | None) -> tuple[Runs, Bools | None]:
    if (runs.client[1:] >= runs.client[:-1]).all():
        return runs, on
    order = np.argsort(runs.client, kind="stable")
    return Runs(*(part[order] for part in runs)), None if on is None else on[order]


def _blocks(runs: Runs, on: Bools | None, n: int) -> Iterator[tuple[slice, Runs, Bools]]:
    """Successive clients of n, their runs (sorted by client) as int64, and which of these are on."""
    edges = edges_of(runs.client, n)
    for which in successive(edges):
        there = slice(edges[which.start], edges[which.stop])
        part = Runs(*(each[there].astype(np.int64) for each in runs))
        yield which, part, np.ones(len(part.client), dtype=np.bool_) if on is None else on[there]


def from_runs(names: tuple[str, ...], n_rounds: int, runs: Runs, on: Bools | None) -> Log:
    """The log of runs of rounds, in any order; they may overlap.

    on   whether each run says that its client was available, or that it was not: rounds without a run are then
         unobserved. None: they all say available, and the other rounds of clients with a run are off
    """
    runs, said = _by_client(runs, on)
    heres, knowns, repeats, away = [], [], 0, 0
    for _, part, available in _blocks(runs, said, len(names)):
        here = union(Runs(*(each[available] for each in part)), n_rounds)
        known = here if on is None else union(part, n_rounds)
        twice = _total(part) - _total(known)
        repeats += twice
        off = union(Runs(*(each[~available] for each in part)), n_rounds) if twice else None
        away += _total(known) - _total(here) if off is None else _total(off)
        heres.append(_compact(here, len(names), n_rounds))
        knowns.append(heres[-1] if on is None else _compact(known, len(names), n_rounds))
    on_, known_ = (Runs(*map(np.concatenate, zip(*parts, strict=True))) for parts in (heres, knowns))
    del heres, knowns, runs
    events = _events(on_, len(names), n_rounds)
    if on is None:
        return Log(names, n_rounds, *events, n_duplicates=repeats)
    rounds = _rounds_of(known_, len(names))
    whole = bool(np.isin(rounds, (0, n_rounds)).all())
    return Log(
        names,
        n_rounds,
        *events,
        None if whole else _events(known_, len(names), n_rounds),
        rounds > 0 if whole else None,
        n_duplicates=repeats,
        n_contradictions=_total(on_) + away - _total(known_),
    )


def _compact(runs: Runs, n: int, n_rounds: int) -> Runs:
    client, round_ = types_of(n, n_rounds, MOST_EVENTS)
    return Runs(runs.client.astype(client), runs.start.astype(round_), runs.stop.astype(round_))


def union(runs: Runs, n_rounds: int) -> Runs:
    """The same rounds as disjoint runs that do not touch, by client, then round; all within [0, n_rounds).

    >>> union(Runs(np.array([1, 0, 0]), np.array([2, 3, 0]), np.array([4, 5, 3])), 9)
    Runs(client=array([0, 1]), start=array([0, 2]), stop=array([5, 4]))
    """
    order = np.argsort(runs.client * (n_rounds + 1) + runs.start, kind="stable")  # at once, where they are in order
    client, start, stop = (part[order] for part in runs)
    before = client * (n_rounds + 1)  # what an earlier client reaches lies below
    reach = np.maximum.accumulate(before + stop)
    first = np.flatnonzero(np.append(True, (before + start)[1:] > reach[:-1])[: len(order)])
    return Runs(client[first], start[first], np.maximum.reduceat(stop, first) if len(first) else stop)


def _total(runs: Runs) -> int:
    return int((runs.stop - runs.start).sum(dtype=np.int64))


def _rounds_of(runs: Runs, n: int) -> Ints:
    """How many rounds the runs of each client have, (n,); runs sorted by client that do not overlap."""
    before = np.append(0, np.cumsum(runs.stop - runs.start, dtype=np.int64))
    return np.diff(before[edges_of(runs.client, n)])


def _events(runs: Runs, n: int, n_rounds: int) -> tuple[Ints, Ints]:
    if (total := _total(runs)) > MOST_EVENTS:
        allowed = f"at most {MOST_EVENTS:.0e} in all (rounds that last longer are fewer)"
        raise InputError("rounds of the log's intervals", total, allowed)
    types = types_of(n, n_rounds, total)
    require_room("rounds in intervals", total, sum(np.dtype(dtype).itemsize for dtype in types))
    client, round_ = (np.empty(total, dtype=dtype) for dtype in types)
    edges = edges_of(runs.client, n)
    after = np.append(0, np.cumsum(_rounds_of(runs, n)))
    for which in successive(after):
        there, to = slice(edges[which.start], edges[which.stop]), slice(after[which.start], after[which.stop])
        client[to], round_[to] = Runs(*(each[there].astype(np.int64) for each in runs)).events()
    return client, round_
