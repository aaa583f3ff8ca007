"""Logs of intervals: a row says that a client was available from `start` (included) to `end` (excluded)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.traces import columns
from analysis.traces.log import Bools, Ints, Log
from analysis.traces.names import Asked, require_keys
from analysis.traces.table import Source, Table
from fltheory.errors import InputError
from fltheory.participation.base import MOST_EVENTS
from fltheory.participation.runs import Runs

LATE = 10**7  # no log begins in such a round, but seconds and compact dates are larger


def read(source: Source, asked: Asked) -> Log:
    """Columns `client`, `start`, `end`, and `available` where it stands."""
    table = source.observations(["client", "start", "end"])
    ids = columns.client_ids(table)
    since, clock = None, ""
    if asked.length is None:
        start, stop = _rounds(table)
    else:
        start, stop, since, clock = _binned(table, asked.length)
    n_rounds = int(stop.max()) if asked.rounds is None else asked.rounds
    table.require("end", stop <= n_rounds, f"within the first {n_rounds} rounds (rounds = {n_rounds})")
    names, client = asked.place(ids)
    require_keys(len(names), n_rounds)
    table.require("client", client >= 0, asked.allowed)
    on = columns.available(table) if "available" in table.frame.columns else None
    log = from_runs(names, n_rounds, Runs(client, start, stop), on)
    return replace(log, n_rows=len(start), n_unsorted=_unsorted(client, start), when="start", start=since, clock=clock)


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


def _unsorted(client: Ints, start: Ints) -> int:
    """How many rows stand after one of the same client that starts later."""
    order = np.argsort(client, kind="stable")
    by_client, begin = client[order], start[order]
    later = by_client * (int(start.max()) + 1) + begin
    return int(np.count_nonzero(later < np.maximum.accumulate(later)))


def from_runs(names: tuple[str, ...], n_rounds: int, runs: Runs, on: Bools | None) -> Log:
    """The log of runs of rounds, in any order; they may overlap.

    on   whether each run says that its client was available, or that it was not: rounds without a run are then
         unobserved. None: they all say available, and the other rounds of clients with a run are off
    """
    here = union(runs if on is None else Runs(*(part[on] for part in runs)), n_rounds)
    if on is None:
        return Log(names, n_rounds, *_events(here), n_duplicates=_total(runs) - _total(here))
    known = union(runs, n_rounds)
    repeats = _total(runs) - _total(known)
    away = _total(union(Runs(*(part[~on] for part in runs)), n_rounds)) if repeats else _total(known) - _total(here)
    rounds = np.zeros(len(names), dtype=np.int64)
    np.add.at(rounds, known.client, known.stop - known.start)
    whole = bool(np.isin(rounds, (0, n_rounds)).all())
    return Log(
        names,
        n_rounds,
        *_events(here),
        None if whole else _events(known),
        rounds > 0 if whole else None,
        n_duplicates=repeats,
        n_contradictions=_total(here) + away - _total(known),
    )


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
    return int((runs.stop - runs.start).sum())


def _events(runs: Runs) -> tuple[Ints, Ints]:
    if _total(runs) > MOST_EVENTS:
        allowed = f"at most {MOST_EVENTS:.0e} in all (rounds that last longer are fewer)"
        raise InputError("rounds of the log's intervals", _total(runs), allowed)
    return runs.events()
